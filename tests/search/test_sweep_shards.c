/* SPDX-License-Identifier: MIT
 *
 * A sweep in shards on the simulated machine, and finals among what is known.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "fake_evaluator.h"
#include "trial_store.h"

enum { BOTH = 1u << TCB_COLD | 1u << TCB_HOT, SPACE = 2520 };

/* As fast as BEST, but for what finals cannot tell apart. */
static void check_winner(const struct tcb_decision *decision, const struct tcb_geometry *best)
{
	assert_true(decision->valid);
	assert_true(fake_world.true_ns(&decision->finalists[0].geometry, decision->state) <=
		    1.015 * fake_world.true_ns(best, decision->state));
}

/* The best geometry there is, cold. */
static struct tcb_geometry best_geometry(const struct tcb_problem *problem)
{
	struct tcb_space *space;
	size_t best = 0;
	assert_int_equal(tcb_space_create(&fake_op, problem, &fake_cpu.device.target, 0, &space, NULL), TCB_OK);
	for (size_t i = 0; i < space->count; i++)
		if (fake_world.true_ns(&space->geometries[i], TCB_COLD) <
		    fake_world.true_ns(&space->geometries[best], TCB_COLD))
			best = i;
	const struct tcb_geometry geometry = space->geometries[best];
	tcb_space_destroy(space);
	return geometry;
}

/* Four machines have a quarter each; that with the best is three times as slow.  The finals see all four. */
static void test_finals_among_shards(void **state)
{
	(void)state;
	enum { SHARDS = 4 };
	struct tcb_problem problem;
	struct store together = { 0 }, last = { 0 };
	struct tcb_sweep_result result;
	struct tcb_geometry fallback;
	size_t tried = 0;
	fake_world_reset(1, &problem);
	const struct tcb_geometry best = best_geometry(&problem);
	tcb_geometry_init(&fallback);
	tcb_op_standard(&problem, &fake_cpu.device.target, &fallback);
	for (unsigned i = 1; i <= SHARDS; i++) {
		struct store store = { 0 };
		struct tcb_sweep_options options = { .states = BOTH, .seed = i, .shard = { i, SHARDS } };
		assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
		assert_true(result.complete && result.tried == result.space_count);
		tried += result.tried;
		tcb_sweep_result_fini(&result);
		const double slow = tcb_shard_has(&options.shard, &best) ? 3 : 1;
		double anchor_ns[TCB_STATE_COUNT] = { 0 };
		for (size_t t = 0; t < store.count; t++) {
			assert_true(tcb_geometry_equal(&store.trials[t].geometry, &fallback) ||
				    tcb_shard_has(&options.shard, &store.trials[t].geometry));
			struct tcb_measurement *m = (struct tcb_measurement *)(uintptr_t)store.trials[t].measurements;
			for (size_t k = 0; k < store.trials[t].measurement_count; k++) {
				if (t == 0) /* the default comes first */
					anchor_ns[m[k].state] = slow * m[k].ns.median;
				m[k].ns = (struct tcb_interval){ slow * m[k].ns.median, slow * m[k].ns.lo,
								 slow * m[k].ns.hi };
				m[k].anchor_ns = anchor_ns[m[k].state];
			}
			if (m->stage != TCB_STAGE_SCREEN)
				continue; /* as if it had been killed before its finals */
			assert_int_equal(store_trial(&together, &store.trials[t], NULL), TCB_OK);
		}
		store_fini(&store);
	}
	assert_int_equal(tried, SPACE + SHARDS - 1);
	fake_world.tries = 0;
	struct tcb_sweep_options options = { .states = BOTH, .seed = 9, .finals_only = 1 };
	assert_int_equal(sweep_known(&problem, &options, &together, &last, &result, NULL), TCB_OK);
	assert_int_equal(fake_world.tries, 0);
	assert_true(result.known == SPACE && result.complete && result.tried == 0);
	check_winner(&result.decision[TCB_COLD], &best);
	tcb_sweep_result_fini(&result);
	store_fini(&last);
	/* Finals of a part are of that part, and nothing is tried for them. */
	const size_t all = together.count;
	together.count /= 2;
	assert_int_equal(sweep_known(&problem, &options, &together, &last, &result, NULL), TCB_OK);
	assert_int_equal(fake_world.tries, 0);
	assert_true(result.known < SPACE && !result.complete && result.decision[TCB_COLD].valid);
	tcb_sweep_result_fini(&result);
	store_fini(&last);
	together.count = all;
	store_fini(&together);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finals_among_shards),
	};
	return cmocka_run_group_tests_name("search.sweep_shards", tests, NULL, NULL);
}
