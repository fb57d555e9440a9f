/* SPDX-License-Identifier: MIT
 *
 * The score: 0 for random search, 1 for what begins with the optimum, less than
 * 0 for what begins with the worst; on a space that is computed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "landscape.h"
#include "search/isotonic.h"
#include "search/replay/replay_stop.h"

static struct tcb_recorded space;

static int set_up(void **state)
{
	(void)state;
	return landscape_make(0.5, &space);
}

static int tear_down(void **state)
{
	(void)state;
	tcb_recorded_fini(&space);
	return 0;
}

/* A strategy that knows: every candidate in the order of values, forwards or backwards. */
struct oracle {
	size_t at, *order;
};

static int by_value(const void *a, const void *b)
{
	const double x = space.value[*(const size_t *)a], y = space.value[*(const size_t *)b];
	return (x > y) - (x < y);
}

static enum tcb_status oracle_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	struct oracle *oracle = calloc(1, sizeof *oracle);
	(void)err;
	assert_non_null(oracle);
	oracle->order = malloc(setup->lattice->count * sizeof *oracle->order);
	assert_non_null(oracle->order);
	for (size_t i = 0; i < setup->lattice->count; i++)
		oracle->order[i] = i;
	qsort(oracle->order, setup->lattice->count, sizeof *oracle->order, by_value);
	*out = oracle;
	return TCB_OK;
}

static size_t oracle_ask(void *self, double spent)
{
	struct oracle *oracle = self;
	assert_true(spent >= 0 && spent <= 1);
	return oracle->at < space.lattice.count ? oracle->order[oracle->at++] : TCB_ASK_NONE;
}

static size_t antioracle_ask(void *self, double spent)
{
	struct oracle *oracle = self;
	(void)spent;
	return oracle->at < space.valid ? oracle->order[space.valid - 1 - oracle->at++] : TCB_ASK_NONE;
}

static size_t silent_ask(void *self, double spent)
{
	(void)self;
	(void)spent;
	return TCB_ASK_NONE;
}

static void oracle_tell(void *self, size_t index, const struct tcb_told *told)
{
	(void)self;
	assert_true((told->outcome == TCB_OUTCOME_OK) == (space.value[index] < INFINITY));
	assert_true(told->cost[TCB_COLD] == space.value[index] && isnan(told->cost[TCB_HOT]));
	assert_true(told->seconds == space.price[index]);
}

static void oracle_destroy(void *self)
{
	struct oracle *oracle = self;
	free(oracle->order);
	free(oracle);
}

static const struct tcb_strategy ORACLE = {
	.name = "oracle", .create = oracle_create, .ask = oracle_ask, .tell = oracle_tell, .destroy = oracle_destroy
};

enum { REPEATS_MAX = 200 };

/* Of REPEATS runs. */
static struct tcb_replay_score score_of(const struct tcb_strategy *strategy, size_t repeats, uint64_t seed)
{
	static struct tcb_replay_run runs[REPEATS_MAX];
	struct tcb_replay replay;
	struct tcb_replay_score score;
	assert_int_equal(tcb_replay_init(&replay, &space, NULL), TCB_OK);
	for (size_t r = 0; r < repeats; r++)
		assert_int_equal(tcb_replay_run(&replay, strategy, seed + r, &runs[r], NULL), TCB_OK);
	assert_int_equal(tcb_replay_judge(&replay, runs, repeats, &score, NULL), TCB_OK);
	for (size_t r = 0; r < repeats; r++)
		tcb_replay_run_fini(&runs[r]);
	tcb_replay_fini(&replay);
	return score;
}

static void test_scale(void **state)
{
	struct tcb_strategy strategy = ORACLE;
	(void)state;
	struct tcb_replay_score best = score_of(&strategy, 1, 1);
	assert_true(best.score > 0.99);
	assert_true(best.median[0] == 1 && best.worst[3] == 1);
	strategy.ask = antioracle_ask;
	assert_true(score_of(&strategy, 1, 1).score < -1);
	strategy.ask = silent_ask; /* it stands at the median, and is never better */
	struct tcb_replay_score none = score_of(&strategy, 1, 1);
	assert_true(none.score < -0.5 && none.median[0] > 1 && none.median[0] == none.worst[3]);
	struct tcb_replay_score random = score_of(tcb_strategy_find("random"), REPEATS_MAX, 1);
	print_message("random: %.3f\n", random.score);
	assert_true(fabs(random.score) < 0.15);
	for (int m = 0; m < TCB_REPLAY_MARKS; m++)
		assert_true(random.median[m] <= random.worst[m] &&
			    (m == 0 || random.median[m] <= random.median[m - 1]));
}

static void test_seed(void **state)
{
	(void)state;
	const struct tcb_strategy *strategy = tcb_strategy_find("exhaustive");
	assert_true(score_of(strategy, 3, 1).score == score_of(strategy, 3, 1).score);
	assert_true(score_of(strategy, 3, 1).score != score_of(strategy, 3, 1000).score);
}

/* The moments by hand: 5 values, of which the fourth is the first at 95 % of the way or beyond. */
static void test_moments(void **state)
{
	const double values[] = { 10, 8, 6, 2, 1, INFINITY }, prices[] = { 4, 4, 4, 4, 4, 10 };
	struct tcb_recorded small;
	struct tcb_replay replay;
	(void)state;
	assert_int_equal(tcb_recorded_alloc(&small, 6, "small", NULL), TCB_OK);
	memcpy(small.value, values, sizeof values);
	memcpy(small.price, prices, sizeof prices);
	small.lattice.count = 6;
	small.valid = 5;
	assert_int_equal(tcb_replay_init(&replay, &small, NULL), TCB_OK);
	assert_true(replay.optimum == 1 && replay.median == 6);
	assert_true(fabs(replay.trial - (4 + 10.0 / 6)) < 1e-12);
	assert_int_equal(replay.trials, 2); /* rank 4 of 5: 4 / (5 + 1 - 4) */
	assert_true(replay.from == 4 && replay.until == 8);
	tcb_replay_fini(&replay);

	struct tcb_error err;
	small.price[0] = small.price[1] = small.price[2] = small.price[3] = 0;
	assert_int_equal(tcb_replay_init(&replay, &small, &err), TCB_E_FORMAT);
	assert_non_null(strstr(err.message, "how long"));
	small.value[2] = 1;
	small.value[3] = 1;
	assert_int_equal(tcb_replay_init(&replay, &small, &err), TCB_E_FORMAT);
	assert_non_null(strstr(err.message, "nothing to search"));
	tcb_recorded_fini(&small);
}

/* Isotonic regression by hand: 3 and 5 are the wrong way round, so both are 4; two points at one x are their mean
 * first. */
static void test_isotonic(void **state)
{
	struct tcb_isotonic_point points[] = { { 4, 1, 1 }, { 1, 9, 1 }, { 2, 3, 1 }, { 3, 4, 1 }, { 3, 6, 1 } };
	size_t count = 5;
	(void)state;
	assert_int_equal(tcb_isotonic_fit(points, &count, NULL), TCB_OK);
	assert_int_equal(count, 4);
	const double at_2_and_3 = (3 + 4 + 6) / 3.0; /* weights 1 and 2 */
	assert_true(points[0].y == 9 && points[3].y == 1);
	assert_true(fabs(points[1].y - at_2_and_3) < 1e-12 && points[1].y == points[2].y);
	assert_true(tcb_isotonic_at(points, count, 0) == 9 && tcb_isotonic_at(points, count, 5) == 1);
	assert_true(tcb_isotonic_at(points, count, 1) == 9);
	assert_true(fabs(tcb_isotonic_at(points, count, 1.5) - (9 + at_2_and_3) / 2) < 1e-12);
	assert_true(fabs(tcb_isotonic_at(points, count, 3.5) - (1 + at_2_and_3) / 2) < 1e-12);

	struct tcb_isotonic_point rising[] = { { 1, 1, 1 }, { 2, 2, 1 }, { 3, 6, 1 } }; /* one pool: the mean */
	count = 3;
	assert_int_equal(tcb_isotonic_fit(rising, &count, NULL), TCB_OK);
	assert_true(count == 3 && rising[0].y == 3 && rising[1].y == 3 && rising[2].y == 3);
}

/* Ten values of one price each.  1 % of the way from the median, 50.5, to the optimum is passed at the rank 5 from the
 * worst, so after 5 / 6 trials, rounded up; 95 % of it, 3.475, at the rank 9, after 9 / 2. */
static void make_ten(struct tcb_recorded *ten)
{
	static const double values[] = { 100, 90, 80, 70, 60, 41, 30, 20, 10, 1 };
	assert_int_equal(tcb_recorded_alloc(ten, 10, "ten", NULL), TCB_OK);
	memcpy(ten->value, values, sizeof values);
	for (size_t i = 0; i < 10; i++)
		ten->price[i] = 1;
	ten->lattice.count = ten->valid = 10;
}

/* The score by hand of runs whose mean rank falls from FIRST at trial 1 to LAST at trial 2 and stays there.  After 1 to
 * 5 trials random search is expected at the ranks 6, 7, 8, 9 and 9 from the worst: 30, 20, 10, 1 and 1. */
static double ten_by_hand(const struct tcb_recorded *ten, double first, double last)
{
	static const double RANDOM[] = { 30, 20, 10, 1, 1 };
	double sum = 0;
	for (int t = 0; t < TCB_REPLAY_MOMENTS; t++) {
		const double time = 1 + 4.0 * t / (TCB_REPLAY_MOMENTS - 1);
		const double rank = time < 2 ? first + (last - first) * (time - 1) : last;
		const double value = ten->value[9 - (int)rint(rank)], random = RANDOM[(int)rint(time) - 1];
		sum += random > 1 ? (random - value) / (random - 1) : 0;
	}
	return sum / TCB_REPLAY_MOMENTS;
}

/* Runs are averaged by rank: one that stands at the worst (100) beside one at the optimum makes 41 of them, not 50.5.
 */
static void test_ranks(void **state)
{
	struct tcb_replay_point best[] = { { 1, 0 }, { 2, 0 }, { 3, 0 }, { 4, 0 }, { 5, 0 } };
	struct tcb_replay_point falls[] = { { 1, 8 }, { 2, 4 }, { 3, 4 }, { 4, 4 }, { 5, 4 } };
	struct tcb_replay_point worst[] = { { 1, 9 }, { 2, 9 } };
	const struct tcb_replay_run falling[] = { { best, 5, { 1, 1, 1, 1 } }, { falls, 5, { 41, 41, 41, 41 } } };
	const struct tcb_replay_run apart[] = { { best, 2, { 1, 1, 1, 1 } }, { worst, 2, { 100, 100, 100, 100 } } };
	const struct tcb_replay_run none[] = { { NULL, 0, { INFINITY, INFINITY, INFINITY, INFINITY } } };
	struct tcb_recorded ten;
	struct tcb_replay replay;
	struct tcb_replay_score score;
	(void)state;
	make_ten(&ten);
	assert_int_equal(tcb_replay_init(&replay, &ten, NULL), TCB_OK);
	assert_true(replay.from == 1 && replay.until == 5 && replay.trial == 1);
	assert_int_equal(tcb_replay_judge(&replay, falling, 2, &score, NULL), TCB_OK);
	assert_true(fabs(score.score - ten_by_hand(&ten, 4, 2)) < 1e-12);
	assert_int_equal(tcb_replay_judge(&replay, &falling[0], 1, &score, NULL), TCB_OK);
	assert_true(fabs(score.score - ten_by_hand(&ten, 0, 0)) < 1e-12);
	assert_true(score.median[0] == 1);
	assert_int_equal(tcb_replay_judge(&replay, apart, 2, &score, NULL), TCB_OK);
	assert_true(fabs(score.score - ten_by_hand(&ten, 4.5, 4.5)) < 1e-12);
	/* No result: the median's 50.5 is no rank, and stands for itself. */
	assert_int_equal(tcb_replay_judge(&replay, none, 1, &score, NULL), TCB_OK);
	assert_true(score.score < ten_by_hand(&ten, 4.5, 4.5) && score.median[0] == 50.5);
	tcb_replay_fini(&replay);
	tcb_recorded_fini(&ten);
}

/* A run's points: where its trials ended, with the rank of its best, from the first result to 15 % beyond the last
 * moment. */
static void test_points(void **state)
{
	struct tcb_strategy strategy = ORACLE;
	struct tcb_replay replay;
	struct tcb_replay_run run;
	(void)state;
	strategy.ask = antioracle_ask;
	assert_int_equal(tcb_replay_init(&replay, &space, NULL), TCB_OK);
	assert_int_equal(tcb_replay_run(&replay, &strategy, 1, &run, NULL), TCB_OK);
	assert_true(run.count > 10);
	for (size_t i = 0; i < run.count; i++) {
		assert_true(run.points[i].clock >= replay.from * (1 - replay.margin));
		assert_true(run.points[i].clock <= replay.until * (1 + replay.margin));
		assert_true(i == 0 || (run.points[i].clock > run.points[i - 1].clock &&
				       run.points[i].rank <= run.points[i - 1].rank));
	}
	size_t better = 0;
	for (size_t i = 0; i < space.lattice.count; i++)
		better += space.value[i] < run.after[0];
	assert_true(run.points[0].rank >= (double)better);
	tcb_replay_run_fini(&run);
	tcb_replay_fini(&replay);
}

static struct tcb_replay_stop stop_of(const struct tcb_strategy *strategy, uint64_t seed, double until)
{
	struct tcb_replay replay;
	struct tcb_replay_stop stop;
	assert_int_equal(tcb_replay_init(&replay, &space, NULL), TCB_OK);
	assert_int_equal(tcb_replay_stop(&replay, strategy, seed, until, &stop, NULL), TCB_OK);
	tcb_replay_fini(&replay);
	return stop;
}

/* The rule: at once where any gain is too little, never where none is, and soon after the optimum is found. */
static void test_stop(void **state)
{
	const struct tcb_strategy *random = tcb_strategy_find("random");
	struct tcb_strategy strategy = ORACLE;
	(void)state;
	struct tcb_replay_stop stop = stop_of(random, 1, 1e9), later;
	assert_true(stop.is_stopped && stop.trials == 60); /* as soon as the gain is known */
	struct tcb_replay_walk walk;
	assert_int_equal(tcb_replay_walk_init(&walk, &space, random, 1, NULL), TCB_OK);
	double optimum = INFINITY, best_at_60 = INFINITY;
	for (size_t i = 0; i < space.lattice.count; i++)
		optimum = fmin(optimum, space.value[i]);
	while (walk.trials < 120 && tcb_replay_walk_next(&walk, 0))
		best_at_60 = walk.trials == 60 ? walk.best : best_at_60;
	assert_true(stop.gap == best_at_60 / optimum - 1 && stop.again == best_at_60 / walk.best - 1);
	tcb_replay_walk_fini(&walk);
	assert_true(stop.gap > 0 && stop.predicted > 0);

	later = stop_of(random, 1, 0.09);
	assert_true(later.is_stopped && later.trials > 60 && later.predicted < 0.09 && later.gap < stop.gap);
	assert_false(stop_of(random, 1, 1e-9).is_stopped);
	stop = stop_of(&strategy, 1, 0.05);
	assert_true(stop.is_stopped && stop.trials == 60 && stop.gap == 0 && stop.again == 0);
	strategy.ask = silent_ask;
	assert_false(stop_of(&strategy, 1, 0.05).is_stopped);
}

static void test_stops(void **state)
{
	const struct tcb_replay_stop runs[] = {
		{ 1, 100, 0.01, 0.3, 0.02 }, { 0, 3000, 9, 9, 9 }, { 1, 50, 0.03, 0.1, 0 }, { 1, 60, 0.02, 0.2, 0.1 }
	};
	struct tcb_replay_stops stops;
	(void)state;
	assert_int_equal(tcb_replay_stops_judge(runs, 4, &stops, NULL), TCB_OK);
	assert_true(stops.count == 4 && stops.stopped == 3);
	assert_true(stops.trials_median == 60 && stops.trials_high == 100);
	assert_true(fabs(stops.predicted - 0.02) < 1e-12 && fabs(stops.again - 0.04) < 1e-12);
	assert_int_equal(stops.exceeded, 2); /* 0.02 to 0.01, 0.1 to 0.02 */
	assert_true(stops.gap_median == 0.2 && stops.gap_high == 0.3 && stops.again_high == 0.1);
	assert_int_equal(tcb_replay_stops_judge(runs + 1, 1, &stops, NULL), TCB_OK);
	assert_true(stops.count == 1 && stops.stopped == 0 && isnan(stops.gap_median) && isnan(stops.again));
}

/* How many of DRAWS random searches of TRIALS trials, none repeated, find a value of at most LIMIT; or, strictly, less.
 */
static double share_of(size_t trials, double limit, int strictly, uint64_t seed)
{
	enum { DRAWS = 20000 };
	double *values = malloc(space.lattice.count * sizeof *values);
	size_t count = 0, found = 0;
	struct tcb_rng rng;
	assert_non_null(values);
	for (size_t i = 0; i < space.lattice.count; i++)
		if (space.value[i] < INFINITY)
			values[count++] = space.value[i];
	tcb_rng_init(&rng, seed);
	for (size_t d = 0; d < DRAWS; d++) {
		double best = INFINITY;
		for (size_t t = 0; t < trials; t++) {
			const size_t at = t + (size_t)tcb_rng_below(&rng, count - t);
			const double value = values[at];
			values[at] = values[t];
			values[t] = value;
			best = fmin(best, value);
		}
		found += strictly ? best < limit : best <= limit;
	}
	free(values);
	return (double)found / DRAWS;
}

/* The band of random search is what draws show: no smaller value is reached as often. */
static void test_random_band(void **state)
{
	static const double shares[] = { 0.1, 0.5, 0.9 };
	static const size_t trials[] = { 1, 7, 40 };
	struct tcb_replay replay;
	(void)state;
	assert_int_equal(tcb_replay_init(&replay, &space, NULL), TCB_OK);
	for (size_t t = 0; t < 3; t++)
		for (size_t s = 0; s < 3; s++) {
			const double value = tcb_replay_random(&replay, replay.trial * (double)trials[t], shares[s]);
			assert_true(share_of(trials[t], value, 0, 5) > shares[s] - 0.015);
			assert_true(share_of(trials[t], value, 1, 6) < shares[s] + 0.015);
		}
	/* All of them: the optimum, however sure. */
	assert_true(tcb_replay_random(&replay, replay.trial * (double)space.valid, 0.999) == replay.optimum);
	tcb_replay_fini(&replay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scale),    cmocka_unit_test(test_seed),  cmocka_unit_test(test_moments),
		cmocka_unit_test(test_stop),     cmocka_unit_test(test_stops), cmocka_unit_test(test_random_band),
		cmocka_unit_test(test_isotonic), cmocka_unit_test(test_ranks), cmocka_unit_test(test_points),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
