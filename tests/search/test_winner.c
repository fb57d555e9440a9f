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

static double placement; /* of a candidate in one leg, relative */
static const struct tcb_legs LEGS = { 6, { 0, 10, 20, 30, 40, 50 } };

/* Rounds under drift, with lognormal noise and now and then a burst. */
static void fill_samples(double *samples, const double *truth, size_t count, struct tcb_rng *rng)
{
	double luck[COUNT_MOST];
	for (size_t r = 0; r < ROUNDS; r++) {
		for (size_t g = 0; g < count && r % 10 == 0; g++)
			luck[g] = exp(placement > 0 ? placement * tcb_rng_normal(rng) : 0);
		const double drift = 1 + 0.2 * sin(0.3 * (double)r);
		for (size_t g = 0; g < count; g++) {
			const double burst = tcb_rng_unit(rng) < 0.05 ? 1.5 : 1;
			samples[g * ROUNDS + r] = truth[g] * luck[g] * drift * burst * exp(0.01 * tcb_rng_normal(rng));
		}
	}
}

struct decision {
	size_t winner;
	double regret, flip;
};

static double score_bias = 1; /* of the candidates' scores in the screening */

static struct tcb_interval scored(double score)
{
	return (struct tcb_interval){ score, 0.97 * score, 1.03 * score };
}

/* OTHERS may be NULL; the first candidate is the anchor. */
static struct decision judge(const double *truth, size_t count, const struct tcb_winner_other *others,
			     size_t other_count, struct tcb_rng *rng)
{
	struct tcb_geometry geometries[COUNT_MOST];
	double samples[COUNT_MOST * ROUNDS];
	struct tcb_interval scores[COUNT_MOST];
	for (size_t g = 0; g < count; g++)
		scores[g] = scored(score_bias * truth[g] / truth[0]);
	const struct tcb_winner_field field = { .samples = samples,
						.geometries = geometries,
						.count = count,
						.rounds = ROUNDS,
						.legs = placement > 0 ? &LEGS : NULL,
						.anchor = 0,
						.places = count,
						.keys = { [TCB_KEY_SCORE] = scores },
						.others = others,
						.other_count = other_count };
	struct decision decision;
	struct tcb_error err;
	fill_geometries(geometries, count);
	fill_samples(samples, truth, count, rng);
	assert_int_equal(tcb_winner_choose(&field, &decision.winner, &err), TCB_OK);
	assert_int_equal(tcb_winner_judge(&field, decision.winner, 1, &decision.regret, &decision.flip, &err), TCB_OK);
	return decision;
}

static struct decision hold_finals(const double *truth, size_t count, struct tcb_rng *rng)
{
	return judge(truth, count, NULL, 0, rng);
}

static void test_clear(void **state)
{
	(void)state;
	struct tcb_rng rng;
	tcb_rng_init(&rng, 1);
	const struct decision winner = hold_finals((double[]){ 110, 100, 120 }, 3, &rng);
	assert_int_equal(winner.winner, 1);
	assert_true(winner.regret < 1e-9 && winner.flip == 0);
}

static void test_alone(void **state)
{
	(void)state;
	struct tcb_rng rng;
	tcb_rng_init(&rng, 2);
	const struct decision winner = hold_finals((double[]){ 100 }, 1, &rng);
	assert_int_equal(winner.winner, 0);
	assert_true(isnan(winner.regret) && isnan(winner.flip));
}

static void test_same_seed_same_answer(void **state)
{
	(void)state;
	struct tcb_rng rng[2];
	tcb_rng_init(&rng[0], 3);
	tcb_rng_init(&rng[1], 3);
	const double truth[] = { 100.2, 100, 100.1 };
	const struct decision a = hold_finals(truth, 3, &rng[0]), b = hold_finals(truth, 3, &rng[1]);
	assert_true(a.winner == b.winner && a.regret == b.regret && a.flip == b.flip);
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
		const struct decision winner = hold_finals(truth, count, &rng);
		flips += hold_finals(truth, count, &rng).winner != winner.winner;
		flip += winner.flip / PROBLEMS;
		regret += winner.regret / PROBLEMS;
		loss += (truth[winner.winner] / best - 1) / PROBLEMS;
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

/* The rounds of a leg have their candidates' luck in common. */
static void test_calibration_of_legs(void **state)
{
	(void)state;
	placement = 0.02;
	check_calibration(0.1, 4, 0.1, 0.003);
	check_calibration(0.02, 4, 0.2, 0.004);
	check_calibration(0.005, 4, 0.25, 0.004);
	placement = 0;
}

/* Those who were not in the finals: by their scores, which are SCALE's with noise of SIGMA, and less simple than all
 * finalists. */
static void fill_others(struct tcb_winner_other *others, size_t count, double scale, double sigma, struct tcb_rng *rng)
{
	for (size_t i = 0; i < count; i++) {
		others[i] = (struct tcb_winner_other){ .key = scored(scale * exp(sigma * tcb_rng_normal(rng))) };
		tcb_geometry_init(&others[i].geometry);
		others[i].geometry.knob[TCB_KNOB_UNROLL] = (int32_t)(100 + i);
	}
}

/* Who was not in the finals counts by its score: the more may be as fast, the less sure is the winner. */
static void test_others(void **state)
{
	(void)state;
	enum { OTHERS = 50 };
	const double truth[] = { 200, 100, 104 };
	struct tcb_winner_other others[OTHERS];
	struct tcb_rng rng;
	tcb_rng_init(&rng, 5);
	const struct decision alone = hold_finals(truth, 3, &rng);
	assert_true(alone.winner == 1 && alone.flip < 0.01 && alone.regret < 0.001);
	fill_others(others, OTHERS, 1, 0.02, &rng); /* twice as slow, with scores that are a little noisy */
	const struct decision beside_slow = judge(truth, 3, others, OTHERS, &rng);
	assert_true(beside_slow.winner == 1 && beside_slow.flip < 0.01 && beside_slow.regret < 0.001);
	fill_others(others, OTHERS, 0.5, 0.02,
		    &rng); /* as fast as the winner, with scores that differ by their noise */
	const struct decision beside_equal = judge(truth, 3, others, OTHERS, &rng);
	printf("50 others as fast: flip %.2f, regret %.4f\n", beside_equal.flip, beside_equal.regret);
	assert_true(beside_equal.flip > 0.9 && beside_equal.regret < 0.03); /* three places, 51 who ask for them */
	/* All scores were a third too low, those of the finalists too: the others are as fast as the winner. */
	score_bias = 0.7;
	fill_others(others, OTHERS, 0.35, 0.02, &rng);
	const struct decision beside_biased = judge(truth, 3, others, OTHERS, &rng);
	score_bias = 1;
	printf("50 others as fast, scores too low: flip %.2f, regret %.4f\n", beside_biased.flip, beside_biased.regret);
	assert_true(beside_biased.flip > 0.9 && beside_biased.regret < 0.03);
	fill_others(others, OTHERS, 0.5, 0.1, &rng); /* some of them really faster */
	const struct decision beside_faster = judge(truth, 3, others, OTHERS, &rng);
	printf("50 others, some faster: flip %.2f, regret %.4f\n", beside_faster.flip, beside_faster.regret);
	assert_true(beside_faster.flip > 0.95 && beside_faster.regret > 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_same_seed_same_answer),
		cmocka_unit_test(test_calibration),
		cmocka_unit_test(test_calibration_of_legs),
		cmocka_unit_test(test_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
