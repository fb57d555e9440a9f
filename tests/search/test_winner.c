/* SPDX-License-Identifier: MIT
 *
 * The winner of finals, and what is said of it: over many finals of the same
 * candidates, the stored probability of another winner and the stored regret
 * are held against what finals held again really show.
 */
#include <math.h>
#include <stdio.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "search/winner.h"

enum { COUNT_MOST = 8, ROUNDS = 60, PROBLEMS = 100 };

/* Candidates that differ in one knob: the lower the index, the simpler. */
static void fill_geometries(struct tcb_geometry *geometries, size_t count)
{
	for (size_t g = 0; g < count; g++) {
		tcb_geometry_init(&geometries[g]);
		geometries[g].knob[TCB_KNOB_UNROLL] = (int32_t)(1 + g);
	}
}

/* Rounds under drift, with lognormal noise and now and then a burst. */
static void fill_samples(double *samples, const double *truth, size_t count, struct tcb_rng *rng)
{
	for (size_t r = 0; r < ROUNDS; r++) {
		const double drift = 1 + 0.2 * sin(0.3 * (double)r);
		for (size_t g = 0; g < count; g++) {
			const double burst = tcb_rng_unit(rng) < 0.05 ? 1.5 : 1;
			samples[g * ROUNDS + r] = truth[g] * drift * burst * exp(0.01 * tcb_rng_normal(rng));
		}
	}
}

static struct tcb_winner hold_finals(const double *truth, size_t count, struct tcb_rng *rng)
{
	struct tcb_geometry geometries[COUNT_MOST];
	double samples[COUNT_MOST * ROUNDS];
	struct tcb_winner winner;
	struct tcb_error err;
	fill_geometries(geometries, count);
	fill_samples(samples, truth, count, rng);
	assert_int_equal(tcb_winner_choose(samples, geometries, count, ROUNDS, 1, &winner, &err), TCB_OK);
	return winner;
}

static void test_clear(void **state)
{
	(void)state;
	struct tcb_rng rng;
	tcb_rng_init(&rng, 1);
	const struct tcb_winner winner = hold_finals((double[]){ 110, 100, 120 }, 3, &rng);
	assert_int_equal(winner.index, 1);
	assert_true(winner.regret < 1e-9 && winner.flip == 0);
}

static void test_alone(void **state)
{
	(void)state;
	struct tcb_rng rng;
	tcb_rng_init(&rng, 2);
	const struct tcb_winner winner = hold_finals((double[]){ 100 }, 1, &rng);
	assert_int_equal(winner.index, 0);
	assert_true(isnan(winner.regret) && isnan(winner.flip));
}

static void test_same_seed_same_answer(void **state)
{
	(void)state;
	struct tcb_rng rng[2];
	tcb_rng_init(&rng[0], 3);
	tcb_rng_init(&rng[1], 3);
	const double truth[] = { 100.2, 100, 100.1 };
	const struct tcb_winner a = hold_finals(truth, 3, &rng[0]), b = hold_finals(truth, 3, &rng[1]);
	assert_true(a.index == b.index && a.regret == b.regret && a.flip == b.flip);
}

/* What the finals of many problems say in the mean, and what the next finals of each show.  The candidates of a problem
 * lie apart as drawn, SPREAD in the mean. */
static void check_calibration(double spread, size_t count, double flip_tolerance, double regret_tolerance)
{
	struct tcb_rng rng;
	size_t flips = 0;
	double flip = 0, regret = 0, loss = 0;
	tcb_rng_init(&rng, 4);
	for (int i = 0; i < PROBLEMS; i++) {
		double truth[COUNT_MOST], best = INFINITY;
		for (size_t g = 0; g < count; g++) {
			truth[g] = 100 * exp(spread * tcb_rng_normal(&rng));
			best = fmin(best, truth[g]);
		}
		const struct tcb_winner winner = hold_finals(truth, count, &rng);
		flips += hold_finals(truth, count, &rng).index != winner.index;
		flip += winner.flip / PROBLEMS;
		regret += winner.regret / PROBLEMS;
		loss += (truth[winner.index] / best - 1) / PROBLEMS;
	}
	const double shown = (double)flips / PROBLEMS;
	printf("%.3f apart: flips said %.3f, shown %.3f; regret said %.5f, shown %.5f\n", spread, flip, shown, regret,
	       loss);
	assert_true(fabs(flip - shown) <= flip_tolerance);
	assert_true(fabs(regret - loss) <= regret_tolerance);
}

static void test_calibration(void **state)
{
	(void)state;
	/* The noise of a median of 60 rounds is 0.16 %.  Of candidates that are all alike the simplest wins more often
	 * than half of the rounds tell. */
	check_calibration(0.05, 4, 0.05, 0.0005);
	check_calibration(0.01, 4, 0.1, 0.001);
	check_calibration(0.003, 4, 0.15, 0.001);
	check_calibration(0.0005, 4, 0.25, 0.002);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_same_seed_same_answer),
		cmocka_unit_test(test_calibration),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
