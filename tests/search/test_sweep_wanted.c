/* SPDX-License-Identifier: MIT
 *
 * Sweeps on the simulated machine that are asked for other than the least time of any candidate: the least energy, and
 * candidates that are as required.
 */
#include <math.h>
#include <string.h>

#include "cmocka_all.h"
#include "fake_evaluator.h"
#include "trial_store.h"

enum { SPACE = 2520 };

static double some_are_frugal(const struct tcb_geometry *geometry)
{
	return fake_hash(geometry, 7) < 0.5 ? 100 : 130;
}

/* The finalists, the default, ties and neighbours are metered, and the least of what is asked for wins among them. */
static void check_objective(enum tcb_objective objective)
{
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(3, &problem);
	fake_world.watts = some_are_frugal;
	struct tcb_sweep_options options = {
		.states = 1u << TCB_COLD, .seed = 3, .max_trials = 600, .objective = objective
	};
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	const struct tcb_decision *decision = &result.decision[TCB_COLD];
	assert_true(decision->valid && decision->objective == objective && decision->finalist_count > 2);
	assert_int_equal(fake_world.metered, 3 * decision->finalist_count);
	double least = INFINITY, first = NAN, fallback = NAN;
	for (size_t i = 0; i < decision->finalist_count; i++) {
		const struct tcb_geometry *geometry = &decision->finalists[i].geometry;
		const double s = 1e-9 * fake_world.true_ns(geometry, TCB_COLD);
		const double cost = some_are_frugal(geometry) * s * (objective == TCB_OBJECTIVE_EDP ? s : 1);
		least = fmin(least, cost);
		first = i ? first : cost;
		assert_true(fabs(decision->finalists[i].ratio.median / (cost / first) - 1) < 0.03); /* the meter's */
		assert_int_equal(decision->finalists[i].tied, i == 0 || decision->finalists[i].ratio.lo <= 1);
		assert_int_equal(decision->finalists[i].tied, tie_set_has(decision, geometry));
		if (tcb_geometry_equal(geometry, &decision->fallback.geometry))
			fallback = cost;
	}
	assert_true(first < 1.03 * least && fabs(decision->speedup.median / (fallback / first) - 1) < 0.03);
	assert_true(decision->joules > 0 && decision->default_joules > 0);
	tcb_sweep_result_fini(&result);
	store_fini(&store);
}

static void test_objectives(void **state)
{
	(void)state;
	check_objective(TCB_OBJECTIVE_ENERGY);
	check_objective(TCB_OBJECTIVE_EDP);
}

static int half_are_refused(const struct tcb_geometry *geometry)
{
	return fake_hash(geometry, 9) < 0.5 || fake_is_default(geometry);
}

/* Who is not as required is neither stored nor chosen, the default included. */
static void test_refused(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(4, &problem);
	fake_world.refuses = half_are_refused;
	struct tcb_sweep_options options = { .states = 1u << TCB_COLD, .seed = 4 };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	assert_int_equal(result.refused + result.tried, SPACE);
	assert_true(result.complete && result.failed == 0 && result.refused > SPACE / 3 && result.tried > SPACE / 3);
	for (size_t i = 0; i < store.count; i++)
		assert_false(half_are_refused(&store.trials[i].geometry));
	const struct tcb_decision *decision = &result.decision[TCB_COLD];
	assert_true(decision->valid);
	for (size_t i = 0; i < decision->finalist_count; i++)
		assert_false(half_are_refused(&decision->finalists[i].geometry));
	for (size_t i = 0; i < decision->tie_count; i++)
		assert_false(half_are_refused(&decision->tie_set[i]));
	tcb_sweep_result_fini(&result);
	store_fini(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objectives),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
