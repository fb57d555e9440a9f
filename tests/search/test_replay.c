/* SPDX-License-Identifier: MIT
 *
 * The score: 0 for random search, 1 for what begins with the optimum, less than
 * 0 for what begins with the worst; on a space that is computed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "landscape.h"
#include "search/replay.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_seed),
		cmocka_unit_test(test_moments),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
