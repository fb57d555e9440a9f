/* SPDX-License-Identifier: MIT
 *
 * Comparing a few geometries on the simulated machine.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "cmocka_all.h"
#include "fake_evaluator.h"

enum { BOTH = 1u << TCB_COLD | 1u << TCB_HOT };

static struct tcb_problem problem;
static struct tcb_geometry pair[9];

static int set_up(void **state)
{
	(void)state;
	fake_world_reset(1, &problem);
	for (int i = 0; i < 9; i++)
		tcb_op_standard(&problem, &fake_cpu.device.target, &pair[i]);
	pair[1].knob[TCB_KNOB_ISA] = TCB_ISA_AVX512;
	pair[1].knob[TCB_KNOB_UNROLL] = 2;
	return 0;
}

static void test_ratios(void **state)
{
	(void)state;
	struct tcb_bench_result result;
	struct tcb_sweep_options options = { .states = BOTH, .seed = 1 };
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 2, &result, NULL), TCB_OK);
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		double first = fake_landscape(&pair[0], (enum tcb_state)s);
		double truth = fake_landscape(&pair[1], (enum tcb_state)s) / first;
		assert_true(result.ratio[s][0].median == 1);
		assert_true(fabs(result.ratio[s][1].median / truth - 1) < 0.01);
		assert_true(result.ratio[s][1].lo < result.ratio[s][1].median);
		assert_true(result.ratio[s][1].hi > result.ratio[s][1].median);
		assert_true(fabs(result.ns[s][0].median / first - 1) < 0.08); /* drift shows here, not in the ratio */
		assert_true(result.limit_ns[s].median > 0);
		assert_true(fabs(result.limit_ratio[s].median / (result.ns[s][0].median / result.limit_ns[s].median) -
				 1) < 0.05);
		assert_string_equal(result.limit_method[s], "simulated");
	}
}

static void test_budget_and_states(void **state)
{
	(void)state;
	struct tcb_bench_result result;
	struct tcb_sweep_options options = { .states = 1u << TCB_HOT, .seed = 1, .budget_s = 0.2 };
	double start = fake_world.now_s;
	fake_world.noise = 0.2; /* never tight */
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 1, &result, NULL), TCB_OK);
	assert_true(fake_world.now_s - start < 1.5); /* a second of it is setting up */
	assert_true(result.ns[TCB_HOT][0].median > 0);
	assert_true(result.ns[TCB_COLD][0].median == 0);
}

/* The ratio moves from process to process: its interval is of several, and the budget is kept. */
static void test_legs(void **state)
{
	(void)state;
	size_t missed = 0;
	for (unsigned seed = 0; seed < 40; seed++) {
		struct tcb_bench_result result;
		struct tcb_sweep_options options = { .states = 1u << TCB_COLD, .seed = seed, .budget_s = 10 };
		fake_world_reset(seed + 1, &problem);
		fake_world.placement = 0.05;
		fake_world.renew_s = 0.1;
		const double start = fake_world.now_s;
		assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 2, &result, NULL),
				 TCB_OK);
		assert_true(fake_world.now_s - start < 11 && fake_world.renewals >= 5);
		const double truth = fake_landscape(&pair[1], TCB_COLD) / fake_landscape(&pair[0], TCB_COLD);
		missed += !(result.ratio[TCB_COLD][1].lo <= truth && truth <= result.ratio[TCB_COLD][1].hi);
	}
	print_message("intervals that miss: %zu of 40\n", missed);
	assert_true(missed <= 6);
}

static enum tcb_outcome wrong(const struct tcb_geometry *geometry)
{
	return tcb_geometry_equal(geometry, &pair[1]) ? TCB_OUTCOME_WRONG : TCB_OUTCOME_OK;
}

static int all_break(const struct tcb_geometry *geometry)
{
	(void)geometry;
	return 1;
}

static void test_errors(void **state)
{
	(void)state;
	struct tcb_bench_result result;
	struct tcb_error err;
	struct tcb_sweep_options options = { .states = BOTH, .seed = 1 };
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 0, &result, &err), TCB_E_USAGE);
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 9, &result, &err), TCB_E_USAGE);
	fake_world.outcome = wrong;
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 2, &result, &err), TCB_E_VERIFY);
	assert_non_null(strstr(err.message, "isa=avx512"));
	assert_non_null(strstr(err.message, "wrong: planted"));
	fake_world.outcome = NULL;
	fake_world.broken = all_break;
	fake_world.break_rounds_after = 5;
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 2, &result, &err), TCB_E_FAILED);
	fake_world.break_rounds_after = 0;
	fake_world.stop = 1;
	options.stop = &fake_world.stop;
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 2, &result, &err),
			 TCB_E_INTERRUPTED);
}

struct waiting {
	double seconds;
	size_t asked;
};

/* Others are gone after some time. */
static double await_quiet(void *ctx)
{
	struct waiting *waiting = ctx;
	waiting->asked++;
	fake_world.others = 0;
	fake_world.now_s += waiting->seconds;
	return waiting->seconds;
}

/* After rounds that others disturbed a bench lets the caller wait, and has its budget after it. */
static void test_waits_between_rounds(void **state)
{
	(void)state;
	struct tcb_bench_result result;
	struct waiting waiting = { .seconds = 100 };
	struct tcb_sweep_options options = {
		.states = 1u << TCB_COLD, .seed = 1, .budget_s = 6, .await_quiet = await_quiet, .await_ctx = &waiting
	};
	fake_world.others = 0.5;
	fake_world.slice_s = 0.0004; /* of less than a call: all of them are disturbed */
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 2, &result, NULL), TCB_OK);
	assert_int_equal(waiting.asked, 1);
	assert_true(result.quiet_rounds[TCB_COLD] >= 30);
	assert_true(result.rounds[TCB_COLD] - result.quiet_rounds[TCB_COLD] == 10);
	assert_true(fake_world.now_s > 100 && fake_world.now_s < 100 + 1.1 * options.budget_s);
}

static int see_counter(void *ctx, const struct tcb_counter *counter)
{
	size_t *seen = ctx;
	assert_string_equal(counter->name, "page-faults");
	seen[counter->state]++;
	return 0;
}

/* What is asked for is counted of each state, and no reason to fail. */
static void test_counts_the_first(void **state)
{
	(void)state;
	struct tcb_bench_result result;
	size_t seen[TCB_STATE_COUNT] = { 0 };
	struct tcb_sweep_options options = {
		.states = BOTH, .seed = 1, .budget_s = 20, .count = see_counter, .count_ctx = seen
	};
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 2, &result, NULL), TCB_OK);
	assert_true(seen[TCB_COLD] == 1 && seen[TCB_HOT] == 1);
	fake_world.counting_kills = 1;
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 2, &result, NULL), TCB_OK);
	assert_int_equal(fake_world.counted, 4);
	assert_true(result.ns[TCB_HOT][0].median > 0 && seen[TCB_HOT] == 1);
	options.count = NULL;
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 2, &result, NULL), TCB_OK);
	assert_int_equal(fake_world.counted, 4);
	/* Not where the time is over. */
	options.count = see_counter;
	options.budget_s = 1.3; /* a second of it is setting up */
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, pair, 2, &result, NULL), TCB_OK);
	assert_int_equal(fake_world.counted, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_ratios, set_up),
		cmocka_unit_test_setup(test_budget_and_states, set_up),
		cmocka_unit_test_setup(test_legs, set_up),
		cmocka_unit_test_setup(test_errors, set_up),
		cmocka_unit_test_setup(test_waits_between_rounds, set_up),
		cmocka_unit_test_setup(test_counts_the_first, set_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
