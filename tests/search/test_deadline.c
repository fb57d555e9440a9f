/* SPDX-License-Identifier: MIT
 *
 * Budgets on the simulated machine, whose clock is its own: whatever takes long, a command ends in time.
 */
#include <math.h>
#include <string.h>

#include "base/deadline.h"
#include "cmocka_all.h"
#include "fake_evaluator.h"
#include "search/finals.h"
#include "trial_store.h"

enum { BOTH = 1u << TCB_COLD | 1u << TCB_HOT };
static const double BUDGET_S = 6, MOST = 1.1; /* of a budget */

static void the_clock(void **state)
{
	(void)state;
	struct tcb_problem problem;
	const struct tcb_deadline none = { 0 };
	fake_world_reset(1, &problem);
	const struct tcb_deadline soon = tcb_deadline_in(2);
	assert_true(isinf(tcb_deadline_left_s(none)) && !tcb_deadline_is_over(none));
	assert_true(fabs(tcb_deadline_left_s(soon) - 2) < 1e-6 && !tcb_deadline_is_over(soon));
	fake_world.now_s += 2;
	assert_true(tcb_deadline_left_s(soon) == 0 && tcb_deadline_is_over(soon));
	assert_true(tcb_deadline_is_over(tcb_deadline_in(-5)));
}

/* A sweep of BUDGET_S in the world as it is; what it took in all. */
static double sweep(const struct tcb_problem *problem, struct store *store, struct tcb_sweep_result *result)
{
	struct tcb_sweep_options options = { .states = BOTH, .seed = 1, .budget_s = BUDGET_S };
	const double start = fake_world.now_s;
	assert_int_equal(sweep_known(problem, &options, NULL, store, result, NULL), TCB_OK);
	return fake_world.now_s - start;
}

static void expect_winners(const struct tcb_sweep_result *result)
{
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		assert_true(result->decision[s].valid);
		assert_true(result->decision[s].finalists[0].ns.median > 0);
		assert_int_equal(result->decision[s].tie_count > 0, 1);
	}
}

/* Finals of many candidates, each of which wants operands of its own prepared: seen to take a minute. */
static void preparing_the_finals(void **state)
{
	(void)state;
	static const double PREPARE_S[] = { 0.02, 0.1, 0.3 };
	for (size_t i = 0; i < sizeof PREPARE_S / sizeof *PREPARE_S; i++) {
		struct tcb_problem problem;
		struct store store = { 0 };
		struct tcb_sweep_result result;
		fake_world_reset(1, &problem);
		fake_world.prepare_s = PREPARE_S[i];
		fake_world.renew_s = PREPARE_S[i];
		const double took_s = sweep(&problem, &store, &result);
		print_message("%.2f s each: %.2f s, %zu tried\n", PREPARE_S[i], took_s, result.tried);
		assert_true(took_s <= MOST * BUDGET_S);
		expect_winners(&result);
		tcb_sweep_result_fini(&result);
		store_fini(&store);
	}
}

/* Where the finals cannot hold a round, what the screening says stands, and is called provisional. */
static void no_time_for_finals(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(1, &problem);
	fake_world.prepare_s = 1.2; /* of the default alone, twice: all that there is time for */
	assert_true(sweep(&problem, &store, &result) <= MOST * BUDGET_S);
	expect_winners(&result);
	assert_true(result.decision[TCB_COLD].provisional || result.decision[TCB_HOT].provisional);
	tcb_sweep_result_fini(&result);
	store_fini(&store);

	fake_world_reset(1, &problem);
	(void)sweep(&problem, &store, &result);
	expect_winners(&result);
	assert_false(result.decision[TCB_COLD].provisional || result.decision[TCB_HOT].provisional);
	tcb_sweep_result_fini(&result);
	store_fini(&store);
}

static enum tcb_outcome some_take_a_minute(const struct tcb_geometry *geometry)
{
	fake_world.try_s = fake_hash(geometry, 3) < 0.02 ? 60 : 0.003;
	return TCB_OUTCOME_OK;
}

/* A candidate that is not done by then is given up: it is neither tried nor failed, and nothing is stored of it. */
static void long_trials(void **state)
{
	(void)state;
	size_t given_up = 0;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct tcb_problem problem;
		struct store store = { 0 };
		struct tcb_sweep_result result;
		fake_world_reset(seed, &problem);
		fake_world.outcome = some_take_a_minute;
		assert_true(sweep(&problem, &store, &result) <= MOST * BUDGET_S);
		expect_winners(&result);
		assert_int_equal(result.failed, 0);
		assert_int_equal(result.too_slow, 0);
		for (size_t i = 0; i < store.count; i++)
			assert_int_equal(store.trials[i].outcome, TCB_OUTCOME_OK);
		assert_int_equal(result.ended, TCB_ENDED_BUDGET);
		given_up += fake_world.tries > result.tried;
		tcb_sweep_result_fini(&result);
		store_fini(&store);
	}
	assert_true(given_up > 0);
}

/* The default is waited for some seconds, so that the same command gets on the next time; then an error says what to
 * do. */
static void the_first_is_waited_for(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(1, &problem);
	fake_world.try_s = TCB_FIRST_S - 2;
	assert_true(sweep(&problem, &store, &result) <= TCB_FIRST_S + 2);
	assert_int_equal(result.tried, 1);
	expect_winners(&result);
	tcb_sweep_result_fini(&result);
	store_fini(&store);

	struct tcb_sweep_options options = { .states = BOTH, .seed = 1, .budget_s = BUDGET_S };
	struct tcb_error err;
	fake_world_reset(1, &problem);
	fake_world.try_s = 60;
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, &err), TCB_E_FAILED);
	assert_non_null(strstr(err.message, "--budget"));
	assert_true(fake_world.now_s <= TCB_FIRST_S + 2);
	assert_int_equal(store.count, 0);
	tcb_sweep_result_fini(&result);
	store_fini(&store);
}

/* --- bench ------------------------------------------------------------------------------------------------------ */

static double scalar_is_slow(const struct tcb_geometry *geometry, enum tcb_state state)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_SCALAR ? 0.8e9 : fake_landscape(geometry, state);
}

static double bench(double budget_s, struct tcb_bench_result *result)
{
	struct tcb_problem problem;
	struct tcb_geometry geometries[3];
	struct tcb_sweep_options options = { .states = BOTH, .seed = 1, .budget_s = budget_s, .bench_needed = 2 };
	fake_world_reset(1, &problem);
	fake_world.true_ns = scalar_is_slow;
	for (int i = 0; i < 3; i++)
		tcb_op_standard(&problem, &fake_cpu.device.target, &geometries[i]);
	geometries[0].knob[TCB_KNOB_ISA] = TCB_ISA_AVX512;
	geometries[2].knob[TCB_KNOB_ISA] = TCB_ISA_SCALAR;
	const double start = fake_world.now_s;
	assert_int_equal(tcb_bench_run(&fake_op, &problem, &fake_cpu, &options, geometries, 3, result, NULL), TCB_OK);
	return fake_world.now_s - start;
}

/* A call of 0.8 s in every round took 76 s of 8: it has a few rounds, or none, and the others as many as they need. */
static void a_slow_row(void **state)
{
	(void)state;
	struct tcb_bench_result result;
	const double took_s = bench(8, &result);
	print_message("%.2f s of 8\n", took_s);
	assert_true(took_s <= MOST * 8);
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		assert_true(result.ns[s][0].median > 0 && result.ns[s][1].median > 0);
		assert_true(result.ratio[s][1].hi / result.ratio[s][1].lo < 1.05);
		assert_true(result.limit_ns[s].median > 0);
		assert_true(result.ns[s][2].median == 0);
	}
	assert_true(bench(120, &result) <= MOST * 120);
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		assert_true(fabs(result.ns[s][2].median / 0.8e9 - 1) < 0.2);
		assert_true(result.ratio[s][2].lo < result.ratio[s][2].median); /* several rounds: not one call alone */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clock),
		cmocka_unit_test(preparing_the_finals),
		cmocka_unit_test(no_time_for_finals),
		cmocka_unit_test(long_trials),
		cmocka_unit_test(the_first_is_waited_for),
		cmocka_unit_test(a_slow_row),
	};
	return cmocka_run_group_tests_name("search.deadline", tests, NULL, NULL);
}
