/* SPDX-License-Identifier: MIT
 *
 * What a trial took, from the team that tried it to the strategy that is told.
 */
#include "cmocka_all.h"
#include "fake_evaluator.h"
#include "search/team.h"
#include "trial_store.h"

/* What a trial took is its own: verifying and measuring, not what came before. */
static void test_a_trial_has_a_price(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct tcb_space *space;
	struct tcb_team *team;
	struct tcb_sweep_options options = { .states = 1u << TCB_COLD | 1u << TCB_HOT, .seed = 1 };
	const struct tcb_screen_rule rule = { .samples_min = 3, .samples_max = 3, .width = 1 };
	fake_world_reset(1, &problem);
	assert_int_equal(tcb_space_create(&fake_op, &problem, &fake_cpu.device.target, 0, &space, NULL), TCB_OK);
	assert_int_equal(tcb_team_create(&fake_op, &problem, &fake_cpu, &options, &team, NULL), TCB_OK);
	for (int dear = 0; dear < 2; dear++) {
		struct tcb_team_task task = { .geometry = &space->geometries[dear] };
		fake_world.now_s += 100;
		fake_world.try_s = dear ? 5 : 0.003;
		assert_int_equal(tcb_team_try(team, &task, 1, &rule, NULL), TCB_OK);
		assert_true(task.took_s >= fake_world.try_s && task.took_s < fake_world.try_s + 1);
		tcb_team_task_fini(&task);
	}
	tcb_team_destroy(team);
	tcb_space_destroy(space);
}

static double dear_s; /* what some trials take besides */

static enum tcb_outcome take_long(const struct tcb_geometry *geometry)
{
	fake_world.now_s += fake_hash(geometry, 11) < 0.3 ? dear_s : 0;
	return TCB_OUTCOME_OK;
}

/* On a machine without any noise, where times are the same whenever they are measured, it matters what trials take. */
static void test_strategies_are_told_prices(void **state)
{
	(void)state;
	enum { TRIALS = 150, SWEEPS = 3 };
	static const double DEAR_S[SWEEPS] = { 0, 0, 0.1 };
	struct tcb_problem problem;
	struct store store[SWEEPS] = { { 0 } };
	size_t differ = 0;
	for (size_t i = 0; i < SWEEPS; i++) {
		struct tcb_sweep_options options = { .states = 1u << TCB_COLD, .seed = 1, .max_trials = TRIALS };
		struct tcb_sweep_result result;
		fake_world_reset(1, &problem);
		fake_world.noise = fake_world.drift = fake_world.burst_share = fake_world.outlier_share = 0;
		fake_world.outcome = take_long;
		dear_s = DEAR_S[i];
		assert_int_equal(sweep_known(&problem, &options, NULL, &store[i], &result, NULL), TCB_OK);
		assert_int_equal(result.tried, TRIALS);
		tcb_sweep_result_fini(&result);
	}
	for (size_t t = 0; t < TRIALS; t++) {
		assert_true(tcb_geometry_equal(&store[0].trials[t].geometry, &store[1].trials[t].geometry));
		differ += !tcb_geometry_equal(&store[0].trials[t].geometry, &store[2].trials[t].geometry);
	}
	print_message("%zu of %d trials differ\n", differ, TRIALS);
	assert_true(differ > 0);
	for (size_t i = 0; i < SWEEPS; i++)
		store_fini(&store[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_trial_has_a_price),
		cmocka_unit_test(test_strategies_are_told_prices),
	};
	return cmocka_run_group_tests_name("search.sweep_price", tests, NULL, NULL);
}
