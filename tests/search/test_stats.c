/* SPDX-License-Identifier: MIT
 *
 * Exact small cases, and coverage by simulation with distributions that kernel
 * times resemble: lognormal noise with outliers on one side.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/stats.h"
#include "base/util.h"
#include "cmocka_all.h"

static void assert_interval(struct tcb_interval got, double median, double lo, double hi)
{
	assert_true(got.median == median);
	assert_true(got.lo == lo);
	assert_true(got.hi == hi);
}

static void test_small_counts(void **state)
{
	(void)state;
	assert_true(isnan(tcb_median_interval(NULL, 0).median));
	assert_interval(tcb_median_interval((double[]){ 7 }, 1), 7, 7, 7);
	assert_interval(tcb_median_interval((double[]){ 9, 7 }, 2), 8, 7, 9);
	assert_interval(tcb_median_interval((double[]){ 5, 1, 4, 2, 3 }, 5), 3, 1, 5);
	assert_interval(tcb_median_interval((double[]){ NAN, 5, NAN, 1 }, 4), 3, 1, 5);
	assert_true(isnan(tcb_median_interval((double[]){ NAN, NAN }, 2).lo));
	assert_true(tcb_median((double[]){ 4, NAN, 1, 10 }, 4) == 4);
}

/* Ranks of the two-sided 95 % sign-test interval as in the published tables. */
static void test_ranks_match_the_tables(void **state)
{
	(void)state;
	static const size_t TABLE[][2] = { { 6, 1 },   { 8, 1 },   { 9, 2 },   { 11, 2 },  { 12, 3 },
					   { 15, 4 },  { 20, 6 },  { 25, 8 },  { 30, 10 }, { 40, 14 },
					   { 50, 18 }, { 60, 22 }, { 80, 31 }, { 100, 40 } };
	double samples[100];
	for (size_t t = 0; t < sizeof TABLE / sizeof *TABLE; t++) {
		size_t n = TABLE[t][0], k = TABLE[t][1];
		for (size_t i = 0; i < n; i++)
			samples[i] = (double)(n - i); /* n .. 1: must be sorted first */
		struct tcb_interval interval = tcb_median_interval(samples, n);
		assert_true(interval.lo == (double)k);
		assert_true(interval.hi == (double)(n + 1 - k));
		assert_true(interval.median == 0.5 * (double)(n + 1));
	}
}

/* The normal approximation takes over at 1000 without a step. */
static void test_large_counts(void **state)
{
	(void)state;
	enum { MOST = 1002 };
	double *samples = malloc(MOST * sizeof *samples);
	assert_non_null(samples);
	for (size_t i = 0; i < MOST; i++)
		samples[i] = (double)(i + 1);
	double exact = tcb_median_interval(samples, 1000).lo, approximate = tcb_median_interval(samples, 1002).lo;
	assert_true(approximate >= exact && approximate <= exact + 2);
	free(samples);
}

static double noisy(struct tcb_rng *rng)
{
	double value = exp(0.03 * tcb_rng_normal(rng));
	return tcb_rng_below(rng, 20) ? value : value * (1.2 + tcb_rng_unit(rng));
}

/* The median of noisy(): 0.95 Phi(ln m / 0.03) = 1/2, as outliers lie above it all but surely. */
static double true_median(void)
{
	double lo = 0.9, hi = 1.1;
	for (int i = 0; i < 60; i++) {
		double mid = 0.5 * (lo + hi), phi = 0.5 * erfc(-log(mid) / 0.03 / sqrt(2));
		if (0.95 * phi < 0.5)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static void test_coverage(void **state)
{
	(void)state;
	enum { REPEATS = 4000 };
	static const size_t COUNTS[] = { 6, 9, 12, 30, 61, 200 };
	struct tcb_rng rng;
	tcb_rng_init(&rng, 11);
	double truth = true_median(), samples[200];
	for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
		int covered = 0;
		for (int repeat = 0; repeat < REPEATS; repeat++) {
			for (size_t i = 0; i < COUNTS[c]; i++)
				samples[i] = noisy(&rng);
			struct tcb_interval interval = tcb_median_interval(samples, COUNTS[c]);
			covered += interval.lo <= truth && truth <= interval.hi;
		}
		/* At least 95 % by theory, less three standard deviations of the count; and no wider than need be. */
		assert_true(covered >= 0.94 * REPEATS);
		assert_true(covered <= 0.985 * REPEATS);
	}
}

/* Pairing removes a drift that is ten times the noise. */
static void test_ratio_interval_cancels_drift(void **state)
{
	(void)state;
	enum { ROUNDS = 40, REPEATS = 2000 };
	struct tcb_rng rng;
	tcb_rng_init(&rng, 12);
	int covered = 0;
	double width = 0;
	for (int repeat = 0; repeat < REPEATS; repeat++) {
		double a[ROUNDS], b[ROUNDS];
		for (size_t r = 0; r < ROUNDS; r++) {
			double drift = 1 + 0.3 * sin(0.2 * (double)r);
			b[r] = 100 * drift * noisy(&rng);
			a[r] = 103 * drift * noisy(&rng);
		}
		a[repeat % ROUNDS] = NAN;
		struct tcb_interval ratio = tcb_ratio_interval(a, b, ROUNDS);
		covered += ratio.lo <= 1.03 && 1.03 <= ratio.hi; /* the same noise on both sides: symmetric in log */
		width += (ratio.hi - ratio.lo) / REPEATS;
	}
	assert_true(covered >= 0.94 * REPEATS);
	assert_true(width < 0.05);
	assert_interval(tcb_ratio_interval((double[]){ 2, NAN, 9 }, (double[]){ 1, 1, NAN }, 3), 2, 2, 2);
}

/* Half of the samples disturbed: the interval holds, and finds 5 % by the other half. */
static void test_precedence_of_disturbed_samples(void **state)
{
	(void)state;
	enum { SAMPLES = 40, REPEATS = 2000 };
	const double MISS = 0.05;
	struct tcb_rng rng;
	tcb_rng_init(&rng, 13);
	int covered = 0, found = 0;
	for (int repeat = 0; repeat < REPEATS; repeat++) {
		double a[SAMPLES], b[SAMPLES];
		for (size_t i = 0; i < SAMPLES; i++) {
			a[i] = 100 * exp(0.005 * tcb_rng_normal(&rng)) * (tcb_rng_below(&rng, 2) ? 1 : 1.4);
			b[i] = 105 * exp(0.005 * tcb_rng_normal(&rng)) * (tcb_rng_below(&rng, 2) ? 1 : 1.4);
		}
		struct tcb_interval ratio = tcb_precedence_interval(a, SAMPLES, b, SAMPLES, MISS);
		covered += ratio.lo <= 1.05 && 1.05 <= ratio.hi;
		found += ratio.lo > 1.02 && ratio.hi < 1.08;
	}
	assert_true(covered >= (1 - MISS) * REPEATS);
	assert_true(found >= 0.9 * REPEATS);
}

/* With N of each all of A precede B with probability 1 in C(2N, N): 1 in 70 for 4. */
static void test_precedence_of_few(void **state)
{
	(void)state;
	double a[] = { 4, 1, 3, 2 }, b[] = { 13, 11, 14, 12 };
	assert_int_equal(tcb_precedence_least(0.05), 4);
	assert_int_equal(tcb_precedence_least(2.0 / 70), 4);
	assert_int_equal(tcb_precedence_least(2.0 / 71), 5);
	assert_int_equal(tcb_precedence_least(0.05 / 40), 7);
	assert_interval(tcb_precedence_interval(a, 4, b, 4, 0.05), 11, 11.0 / 4, 14);
	assert_interval(tcb_precedence_interval(a, 3, b, 3, 0.05), 11, 0, (double)INFINITY);
	assert_true(isnan(tcb_precedence_interval(a, 0, b, 4, 0.05).median));
}

static void test_low_decile(void **state)
{
	(void)state;
	double samples[] = { 9, NAN, 8, 7, 6, 5, 4, 3, 2, 1, 0, 10 };
	assert_true(tcb_low_decile(samples, 12) == 1);
	assert_true(tcb_low_decile(samples, 1) == 9);
	assert_true(isnan(tcb_low_decile(samples + 1, 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_counts),
		cmocka_unit_test(test_ranks_match_the_tables),
		cmocka_unit_test(test_large_counts),
		cmocka_unit_test(test_coverage),
		cmocka_unit_test(test_ratio_interval_cancels_drift),
		cmocka_unit_test(test_precedence_of_disturbed_samples),
		cmocka_unit_test(test_precedence_of_few),
		cmocka_unit_test(test_low_decile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
