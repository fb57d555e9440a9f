/* SPDX-License-Identifier: MIT
 *
 * FLIP over whole sweeps on the simulated machine: what a sweep says of the
 * next one, held against pairs of sweeps with different seeds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "fake_evaluator.h"
#include "instrumented.h"
#include "trial_store.h"

/* Hundreds of candidates within 1 % of each other. */
static double plateau(const struct tcb_geometry *geometry, enum tcb_state state)
{
	double base = fake_landscape(geometry, state) / (state == TCB_COLD ? 1e6 : 0.5e6);
	double floor_ns = state == TCB_COLD ? 1e6 : 0.5e6;
	return floor_ns * (fmax(base, 1.15) / 1.15 + 0.01 * fake_hash(geometry, 3));
}

static double rugged(const struct tcb_geometry *geometry, enum tcb_state state)
{
	return fake_landscape(geometry, state) * (1 + 0.2 * fake_hash(geometry, 5));
}

struct kind {
	const char *name;
	double (*true_ns)(const struct tcb_geometry *geometry, enum tcb_state state);
	double noise, burst_share, placement, budget_s;
};

static void run_one(const struct kind *kind, uint64_t seed, struct tcb_sweep_result *result)
{
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_options options = { .states = 1u << TCB_COLD, .seed = seed, .budget_s = kind->budget_s };
	fake_world_reset(seed, &problem);
	fake_world.true_ns = kind->true_ns;
	fake_world.noise = kind->noise;
	fake_world.burst_share = kind->burst_share;
	fake_world.placement = kind->placement;
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, result, NULL), TCB_OK);
	store_fini(&store);
}

/* PAIRS of sweeps: what they say in the mean, and what they show. */
static void check_pairs(const struct kind *kind, int pairs)
{
	double said = 0, shown = 0;
	for (int i = 0; i < pairs; i++) {
		struct tcb_sweep_result results[2];
		const struct tcb_geometry *winners[2];
		for (int s = 0; s < 2; s++) {
			const struct tcb_decision *decision = &results[s].decision[TCB_COLD];
			run_one(kind, (uint64_t)(100 + 2 * i + s), &results[s]);
			winners[s] = &decision->finalists[0].geometry;
			said += decision->flip_probability / 2 / pairs;
		}
		shown += (double)!tcb_geometry_equal(winners[0], winners[1]) / pairs;
		tcb_sweep_result_fini(&results[0]);
		tcb_sweep_result_fini(&results[1]);
	}
	printf("%-16s said %.2f, shown %.2f\n", kind->name, said, shown);
	/* Twice the standard deviation of what so few pairs show, and a tenth that may be wrong. */
	assert_true(fabs(said - shown) <= 0.1 + 2 * sqrt(fmax(said * (1 - said), 0.05) / pairs));
}

/* Too short for every candidate; noisy, so that many cannot be told apart.  Before who gets into the finals was drawn,
 * too, the four said 0.16, 0.39, 0.96 and 0.17. */
static void test_calibration(void **state)
{
	(void)state;
	static const struct kind KINDS[] = {
		{ "bowl", fake_landscape, 0.02, 0.05, 0.01, 6 },
		{ "bowl, noisy", fake_landscape, 0.05, 0.2, 0.03, 10 },
		{ "plateau", plateau, 0.02, 0.05, 0.01, 6 },
		{ "rugged", rugged, 0.02, 0.05, 0.01, 6 },
	};
	for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
		check_pairs(&KINDS[i], TEST_IS_INSTRUMENTED ? 1 : test_part() == 1 ? 2 : 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calibration),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
