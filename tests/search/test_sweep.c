/* SPDX-License-Identifier: MIT
 *
 * Whole sweeps on the simulated machine: winners, tie sets that hold from seed
 * to seed, budgets, resuming, failures.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "fake_evaluator.h"
#include "instrumented.h"
#include "kernels/signature.h"
#include "trial_store.h"

enum { BOTH = 1u << TCB_COLD | 1u << TCB_HOT, SPACE = 2520 };

/* The shortest true time in the space. */
static double best_true_ns(const struct tcb_problem *problem, enum tcb_state state)
{
	struct tcb_space *space;
	assert_int_equal(tcb_space_create(&fake_op, problem, &fake_cpu.device.target, 0, &space, NULL), TCB_OK);
	assert_int_equal(space->count, SPACE);
	double best = INFINITY;
	for (size_t i = 0; i < space->count; i++)
		best = fmin(best, fake_world.true_ns(&space->geometries[i], state));
	tcb_space_destroy(space);
	return best;
}

static void check_decision(const struct tcb_problem *problem, const struct tcb_decision *decision)
{
	assert_true(decision->valid);
	const struct tcb_finalist *winner = &decision->finalists[0];
	double truth = fake_world.true_ns(&winner->geometry, decision->state);
	assert_true(truth <= 1.015 * best_true_ns(problem, decision->state));
	assert_true(decision->tie_count >= 1 && tcb_geometry_equal(&decision->tie_set[0], &winner->geometry));
	assert_true(winner->ratio.median == 1 && winner->tied);
	assert_true(winner->ns.lo <= winner->ns.median && winner->ns.median <= winner->ns.hi);
	double fallback = fake_world.true_ns(&decision->fallback.geometry, decision->state);
	assert_true(fabs(decision->speedup.median / (fallback / truth) - 1) < 0.02);
	assert_true(decision->regret >= 0 && decision->regret < 0.02);
	assert_true(decision->limit_ns.median > 0 && !strcmp(decision->limit_method, "simulated"));
	assert_true(strlen(winner->variant) > 0 && strlen(winner->signature) > 0);
	for (size_t f = 1; f < decision->finalist_count; f++)
		assert_int_equal(decision->finalists[f].tied, tie_set_has(decision, &decision->finalists[f].geometry));
}

static void test_whole_space(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(1, &problem);
	struct tcb_sweep_options options = { .states = BOTH, .seed = 1, .counters = TCB_COUNTERS_BEST };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	assert_int_equal(result.space_count, SPACE);
	assert_int_equal(result.tried, SPACE);
	assert_int_equal(result.failed, 0);
	assert_true(result.complete);
	check_decision(&problem, &result.decision[TCB_COLD]);
	check_decision(&problem, &result.decision[TCB_HOT]);
	/* Nobody who is 10 % slower is called a tie. */
	for (size_t i = 0; i < result.decision[TCB_COLD].tie_count; i++)
		assert_true(fake_landscape(&result.decision[TCB_COLD].tie_set[i], TCB_COLD) < 1.1e6);
	assert_int_equal(count_stage(&store, TCB_STAGE_SCREEN), 2 * SPACE);
	assert_int_equal(count_stage(&store, TCB_STAGE_FINAL),
			 result.decision[TCB_COLD].finalist_count + result.decision[TCB_HOT].finalist_count);
	assert_int_equal(fake_world.counted, 2);
	tcb_sweep_result_fini(&result);
	store_fini(&store);
}

static void test_death_while_counted_costs_the_counters_only(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(1, &problem);
	fake_world.counting_kills = 1;
	struct tcb_sweep_options options = { .states = 1u << TCB_COLD, .seed = 1, .counters = TCB_COUNTERS_ALL };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	check_decision(&problem, &result.decision[TCB_COLD]);
	assert_int_equal(fake_world.counted, result.decision[TCB_COLD].finalist_count);
	tcb_sweep_result_fini(&result);
	store_fini(&store);
}

static void test_one_state_only(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(2, &problem);
	struct tcb_sweep_options options = { .states = 1u << TCB_HOT, .seed = 1 };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	check_decision(&problem, &result.decision[TCB_HOT]);
	assert_false(result.decision[TCB_COLD].valid);
	assert_int_equal(result.decision[TCB_COLD].state, TCB_COLD);
	assert_int_equal(fake_world.counted, 0);
	/* Known in one state only is unknown where both are asked for. */
	struct tcb_sweep_result both;
	struct store more = { 0 };
	fake_world.tries = 0;
	options = (struct tcb_sweep_options){ .states = BOTH, .seed = 2, .max_trials = 50 };
	assert_int_equal(sweep_known(&problem, &options, &store, &more, &both, NULL), TCB_OK);
	assert_int_equal(both.known, 0);
	assert_int_equal(fake_world.tries, 50);
	tcb_sweep_result_fini(&both);
	tcb_sweep_result_fini(&result);
	store_fini(&more);
	store_fini(&store);
}

/* Hundreds of candidates within 1 % of each other. */
static double plateau(const struct tcb_geometry *geometry, enum tcb_state state)
{
	double base = fake_landscape(geometry, state) / (state == TCB_COLD ? 1e6 : 0.5e6);
	double floor_ns = state == TCB_COLD ? 1e6 : 0.5e6;
	return floor_ns * (fmax(base, 1.15) / 1.15 + 0.01 * fake_hash(geometry, 3));
}

/*
 * What the issue asks: of two sweeps with different seeds, the second's winner is in the first's tie set.  Machines of
 * several kinds; each pair of sweeps runs in two processes, so placement differs, too.
 */
static void test_winner_stays_in_tie_set(void **state)
{
	(void)state;
	static const struct {
		double noise, drift, outlier_share, placement;
		double (*true_ns)(const struct tcb_geometry *, enum tcb_state);
	} WORLDS[] = {
		{ 0.01, 0.02, 0.01, 0.000, plateau },        { 0.02, 0.08, 0.03, 0.003, plateau },
		{ 0.05, 0.10, 0.10, 0.003, plateau },        { 0.02, 0.08, 0.03, 0.003, fake_landscape },
		{ 0.05, 0.15, 0.10, 0.003, fake_landscape },
	};
	enum { WORLD_COUNT = sizeof WORLDS / sizeof *WORLDS };
	const int is_short = TEST_IS_INSTRUMENTED || test_part() == 1;
	const uint64_t pairs = is_short ? 1 : 8;
	size_t judged = 0, flipped = 0;
	double most_regret = 0;
	for (size_t w = 0; w < WORLD_COUNT; w++) {
		struct tcb_problem problem;
		fake_world_reset(100 + w, &problem);
		fake_world.noise = WORLDS[w].noise;
		fake_world.drift = WORLDS[w].drift;
		fake_world.outlier_share = WORLDS[w].outlier_share;
		fake_world.placement = WORLDS[w].placement;
		fake_world.true_ns = WORLDS[w].true_ns;
		size_t ties = 0, world_flips = 0;
		for (uint64_t pair = 0; pair < pairs; pair++) {
			struct tcb_sweep_result result[2];
			for (uint64_t i = 0; i < 2; i++) {
				struct store store = { 0 };
				struct tcb_sweep_options options = { .states = BOTH,
								     .seed = 2 * pair + i,
								     .budget_s = 150 };
				double start = fake_world.now_s;
				assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result[i], NULL),
						 TCB_OK);
				assert_true(fake_world.now_s - start < 155);
				assert_true(result[i].complete);
				store_fini(&store);
			}
			for (int s = 0; s < TCB_STATE_COUNT; s++) {
				const struct tcb_geometry *second = &result[1].decision[s].finalists[0].geometry;
				double loss = fake_world.true_ns(second, (enum tcb_state)s) /
						      best_true_ns(&problem, (enum tcb_state)s) -
					      1;
				most_regret = fmax(most_regret, loss);
				judged++;
				world_flips += !tie_set_has(&result[0].decision[s], second);
				ties += result[0].decision[s].tie_count;
			}
			tcb_sweep_result_fini(&result[0]);
			tcb_sweep_result_fini(&result[1]);
		}
		flipped += world_flips;
		print_message("noise %.2f drift %.2f: %zu of %zu winners outside, mean tie set %zu\n", WORLDS[w].noise,
			      WORLDS[w].drift, world_flips, 2 * (size_t)pairs, ties / (2 * (size_t)pairs));
	}
	print_message("%zu of %zu outside, worst winner %.2f %% over the best\n", flipped, judged, 100 * most_regret);
	assert_true((double)flipped < 0.05 * (double)judged || (is_short && flipped == 1));
	assert_true(most_regret < 0.03);
}

static void test_stop_and_resume(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_result result;
	struct tcb_error err;
	fake_world_reset(3, &problem);
	fake_world.stop_after = 1000;
	struct tcb_sweep_options options = { .states = BOTH, .seed = 5, .stop = &fake_world.stop };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, &err), TCB_E_INTERRUPTED);
	assert_int_equal(store.count, 1000);
	assert_int_equal(result.tried, 1000);
	assert_false(result.complete);
	assert_false(result.decision[TCB_COLD].valid);
	tcb_sweep_result_fini(&result);

	fake_world.stop = 0;
	fake_world.stop_after = 0;
	fake_world.tries = 0;
	size_t before = store.count;
	struct store known = { 0 };
	for (size_t i = 0; i < before; i++)
		assert_int_equal(store_trial(&known, &store.trials[i], NULL), TCB_OK);
	assert_int_equal(sweep_known(&problem, &options, &known, &store, &result, &err), TCB_OK);
	assert_int_equal(result.known, 1000);
	assert_int_equal(fake_world.tries, SPACE - 1000);
	assert_true(result.complete);
	check_decision(&problem, &result.decision[TCB_COLD]);
	check_decision(&problem, &result.decision[TCB_HOT]);
	tcb_sweep_result_fini(&result);
	store_fini(&known);

	/* A third time: all is known, the finals are held again. */
	fake_world.tries = 0;
	struct store last = { 0 };
	assert_int_equal(sweep_known(&problem, &options, &store, &last, &result, &err), TCB_OK);
	assert_int_equal(result.known, SPACE);
	assert_int_equal(fake_world.tries, 0);
	assert_int_equal(count_stage(&last, TCB_STAGE_SCREEN), 0);
	check_decision(&problem, &result.decision[TCB_COLD]);
	tcb_sweep_result_fini(&result);
	store_fini(&last);
	store_fini(&store);
}

static void test_changed_kernels_are_tried_again(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 }, more = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(4, &problem);
	struct tcb_sweep_options options = { .states = BOTH, .seed = 5, .max_trials = 200 };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	tcb_sweep_result_fini(&result);
	size_t stale = 0;
	for (size_t i = 0; i < store.count; i++) {
		if (store.trials[i].geometry.knob[TCB_KNOB_UNROLL] == 2) {
			store.trials[i].signature[0] = 'x';
			stale += store.trials[i].measurements[0].stage == TCB_STAGE_SCREEN;
		}
	}
	assert_true(stale > 0);
	struct tcb_current current;
	const size_t stored = store.count;
	assert_int_equal(tcb_trials_current(&problem, &fake_cpu.device.target, store.trials, stored, 0, &current, NULL),
			 TCB_OK);
	assert_int_equal(current.unseen, 0);
	store.count = current.count;
	assert_int_equal(sweep_known(&problem, &options, &store, &more, &result, NULL), TCB_OK);
	assert_int_equal(result.known, 200 - stale);
	tcb_sweep_result_fini(&result);
	store.count = stored;
	store_fini(&more);
	store_fini(&store);
}

static enum tcb_outcome some_fail(const struct tcb_geometry *geometry)
{
	double x = fake_hash(geometry, 9);
	return x < 0.03   ? TCB_OUTCOME_WRONG
	       : x < 0.06 ? TCB_OUTCOME_CRASHED
	       : x < 0.09 ? TCB_OUTCOME_TIMEOUT
			  : TCB_OUTCOME_OK;
}

static void test_failures_are_data_and_remembered(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 }, more = { 0 };
	struct tcb_sweep_result result, again;
	fake_world_reset(5, &problem);
	fake_world.outcome = some_fail;
	struct tcb_sweep_options options = { .states = BOTH, .seed = 5 };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	assert_true(result.failed > 200 && result.failed < 350);
	assert_true(result.complete);
	for (size_t i = 0; i < result.decision[TCB_COLD].tie_count; i++)
		assert_int_equal(some_fail(&result.decision[TCB_COLD].tie_set[i]), TCB_OUTCOME_OK);
	fake_world.tries = 0;
	assert_int_equal(sweep_known(&problem, &options, &store, &more, &again, NULL), TCB_OK);
	assert_int_equal(fake_world.tries, 0);
	assert_int_equal(again.failed, result.failed);
	tcb_sweep_result_fini(&result);
	tcb_sweep_result_fini(&again);
	store_fini(&more);
	store_fini(&store);
}

static enum tcb_outcome some_too_slow(const struct tcb_geometry *geometry)
{
	return fake_hash(geometry, 9) < 0.03 ? TCB_OUTCOME_TOO_SLOW : TCB_OUTCOME_OK;
}

/* What was too slow for one budget is no failure, and is tried again by another sweep. */
static void test_too_slow_is_tried_again(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 }, more = { 0 };
	struct tcb_sweep_result result, again;
	fake_world_reset(5, &problem);
	fake_world.outcome = some_too_slow;
	struct tcb_sweep_options options = { .states = 1u << TCB_COLD, .seed = 5 };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	assert_true(result.too_slow > 0 && result.failed == 0);
	size_t stored = 0;
	for (size_t i = 0; i < store.count; i++)
		stored += store.trials[i].outcome == TCB_OUTCOME_TOO_SLOW;
	assert_int_equal(stored, result.too_slow);
	fake_world.outcome = NULL;
	fake_world.tries = 0;
	assert_int_equal(sweep_known(&problem, &options, &store, &more, &again, NULL), TCB_OK);
	assert_int_equal(fake_world.tries, result.too_slow);
	assert_int_equal(again.known, SPACE - result.too_slow);
	assert_int_equal(again.too_slow, 0);
	tcb_sweep_result_fini(&result);
	tcb_sweep_result_fini(&again);
	store_fini(&more);
	store_fini(&store);
}

static enum tcb_outcome default_fails(const struct tcb_geometry *geometry)
{
	return fake_is_default(geometry) ? TCB_OUTCOME_WRONG : TCB_OUTCOME_OK;
}

static enum tcb_outcome all_fail(const struct tcb_geometry *geometry)
{
	(void)geometry;
	return TCB_OUTCOME_CRASHED;
}

static void test_broken_default(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(6, &problem);
	fake_world.outcome = default_fails;
	struct tcb_sweep_options options = { .states = 1u << TCB_COLD, .seed = 5 };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	const struct tcb_decision *decision = &result.decision[TCB_COLD];
	assert_true(decision->valid);
	assert_true(fake_landscape(&decision->finalists[0].geometry, TCB_COLD) <
		    1.015 * best_true_ns(&problem, TCB_COLD));
	assert_true(decision->speedup.median == 0 && decision->fallback.ns.median == 0);
	assert_int_equal(default_fails(&decision->fallback.geometry), TCB_OUTCOME_WRONG); /* its name is there */
	tcb_sweep_result_fini(&result);
	store_fini(&store);

	fake_world_reset(6, &problem);
	fake_world.outcome = all_fail;
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	assert_int_equal(result.failed, SPACE);
	assert_false(result.decision[TCB_COLD].valid);
	tcb_sweep_result_fini(&result);
	store_fini(&store);
}

static int breaks_late(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_AVX512 && geometry->knob[TCB_KNOB_UNROLL] == 2;
}

/* The best family fails once the finals have begun: the winner is another, and the failures are on record. */
static void test_failure_in_the_finals(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(7, &problem);
	fake_world.broken = breaks_late;
	fake_world.break_rounds_after = 500; /* the anchor takes 5 every 0.3 s, so that is during or after screening */
	struct tcb_sweep_options options = { .states = 1u << TCB_COLD, .seed = 5 };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	assert_true(result.decision[TCB_COLD].valid);
	assert_true(result.failed > 0);
	size_t on_record = 0;
	for (size_t i = 0; i < store.count; i++)
		on_record += store.trials[i].outcome == TCB_OUTCOME_CRASHED;
	assert_int_equal(on_record, result.failed);
	for (size_t f = 0; f < result.decision[TCB_COLD].finalist_count; f++)
		assert_false(breaks_late(&result.decision[TCB_COLD].finalists[f].geometry));
	tcb_sweep_result_fini(&result);
	store_fini(&store);
}

struct seen {
	size_t calls, last_done;
	double promised_end_s, least_end_s, most_end_s;
};

static void watch_progress(void *ctx, const struct tcb_progress *progress)
{
	struct seen *seen = ctx;
	seen->calls++;
	assert_true(progress->done >= seen->last_done && progress->done <= progress->total);
	seen->last_done = progress->done;
	if (!strcmp(progress->phase, "screen") && progress->elapsed_s > 5) {
		double end = progress->elapsed_s + progress->left_s;
		seen->least_end_s = fmin(seen->least_end_s, end);
		seen->most_end_s = fmax(seen->most_end_s, end);
		assert_non_null(progress->best[TCB_COLD]);
		assert_true(progress->best_ns[TCB_COLD] > 0 && progress->default_ns[TCB_COLD] > 0);
	}
}

/* A budget far too small for the space: it is kept, and the finals are still held. */
static void test_budget(void **state)
{
	(void)state;
	static const double BUDGETS[] = { 6, 20, 60 };
	for (size_t b = 0; b < 3; b++) {
		struct tcb_problem problem;
		struct store store = { 0 };
		struct tcb_sweep_result result;
		struct seen seen = { .least_end_s = INFINITY };
		fake_world_reset(8 + b, &problem);
		fake_world.try_s = 0.05;
		struct tcb_sweep_options options = { .states = BOTH,
						     .seed = 5,
						     .budget_s = BUDGETS[b],
						     .progress = watch_progress,
						     .progress_ctx = &seen };
		assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
		assert_true(fake_world.now_s < BUDGETS[b] * 1.05 + 1);
		assert_true(fake_world.now_s > BUDGETS[b] * 0.5);
		assert_false(result.complete);
		assert_true(result.decision[TCB_COLD].valid && result.decision[TCB_HOT].valid);
		assert_true(result.decision[TCB_COLD].speedup.median > 1.2);
		assert_true(seen.calls >= 8);
		if (b > 0) {
			assert_true(seen.most_end_s < BUDGETS[b] * 1.3);
			assert_true(seen.least_end_s > BUDGETS[b] * 0.6);
		}
		tcb_sweep_result_fini(&result);
		store_fini(&store);
	}
}

static double long_calls(const struct tcb_geometry *geometry, enum tcb_state state)
{
	return 60 * fake_landscape(geometry, state);
}

/* Calls so long that the usual rounds would take many times the budget: it is kept, and not by trying nothing. */
static void test_budget_of_long_calls(void **state)
{
	(void)state;
	static const double BUDGETS[] = { 10, 30 };
	for (size_t b = 0; b < 2; b++) {
		struct tcb_problem problem;
		struct store store = { 0 };
		struct tcb_sweep_result result;
		fake_world_reset(3 + b, &problem);
		fake_world.true_ns = long_calls;
		struct tcb_sweep_options options = { .states = BOTH, .seed = 5, .budget_s = BUDGETS[b] };
		assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
		if (fake_world.now_s > 1.15 * BUDGETS[b] + 1) /* a second to start with */
			fail_msg("%g s instead of %g", fake_world.now_s, BUDGETS[b]);
		assert_true((double)result.tried >= 0.3 * BUDGETS[b]);
		assert_true(result.decision[TCB_COLD].valid && result.decision[TCB_HOT].valid);
		tcb_sweep_result_fini(&result);
		store_fini(&store);
	}
}

/* The geometry with the least true time, as if it had won for another shape. */
static struct tcb_start_winner best_elsewhere(const struct tcb_problem *problem, enum tcb_state state)
{
	struct tcb_start_winner winner = { .problem = *problem, .threads = 2, .tried = SPACE };
	struct tcb_space *space;
	winner.problem.shape.n *= 2;
	assert_int_equal(tcb_space_create(&fake_op, &winner.problem, &fake_cpu.device.target, 0, &space, NULL), TCB_OK);
	double best = INFINITY;
	for (size_t i = 0; i < space->count; i++) {
		const double ns = fake_world.true_ns(&space->geometries[i], state);
		if (ns < best) {
			best = ns;
			winner.geometry = space->geometries[i];
		}
	}
	tcb_space_destroy(space);
	return winner;
}

/* The first start is near enough to the limit: the second is not tried. */
static void test_start_at_target(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(3, &problem);
	const struct tcb_start_winner winners[] = { best_elsewhere(&problem, TCB_COLD),
						    best_elsewhere(&problem, TCB_HOT) };
	const struct tcb_sweep_options options = {
		.states = BOTH, .seed = 3, .target_ratio = 2.2, .winners = winners, .winner_count = 2
	};
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	assert_int_equal(result.ended, TCB_ENDED_TARGET);
	assert_int_equal(result.start_count, 1);
	assert_int_equal(result.tried, 2);
	tcb_sweep_result_fini(&result);
	store_fini(&store);
}

/* What won elsewhere is tried after the default, once, counts as a trial, and ten trials find the best. */
static void test_starts(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { 0 }, more = { 0 };
	struct tcb_sweep_result result;
	fake_world_reset(3, &problem);
	struct tcb_start_winner winners[] = { best_elsewhere(&problem, TCB_COLD), best_elsewhere(&problem, TCB_HOT),
					      best_elsewhere(&problem, TCB_COLD) };
	winners[2].rank = 1; /* the same geometry again */
	struct tcb_sweep_options options = {
		.states = BOTH, .seed = 3, .max_trials = 10, .winners = winners, .winner_count = 3
	};
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	assert_int_equal(result.tried, 10);
	assert_int_equal(result.start_count, 2);
	for (size_t i = 0; i < result.start_count; i++) {
		assert_true(result.starts[i].is_carried && result.starts[i].winner == i);
		assert_int_equal(result.starts[i].geometry.tile[TCB_MACRO].n, problem.shape.n);
		assert_true(tcb_geometry_equal(&store.trials[1 + i].geometry, &result.starts[i].geometry));
		for (size_t j = 2 + i; j < 10; j++)
			assert_false(tcb_geometry_equal(&store.trials[j].geometry, &result.starts[i].geometry));
	}
	check_decision(&problem, &result.decision[TCB_COLD]);
	check_decision(&problem, &result.decision[TCB_HOT]);
	tcb_sweep_result_fini(&result);
	/* Known ones are not tried again, and no more are tried than may be. */
	assert_int_equal(sweep_known(&problem, &options, &store, &more, &result, NULL), TCB_OK);
	assert_int_equal(result.start_count, 0);
	tcb_sweep_result_fini(&result);
	store_fini(&more);
	store_fini(&store);
	options.max_trials = 2;
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
	assert_int_equal(result.start_count, 1);
	assert_int_equal(result.tried, 2);
	tcb_sweep_result_fini(&result);
	store_fini(&store);
}

static void test_errors(void **state)
{
	(void)state;
	struct tcb_problem problem;
	struct store store = { .fail_after = 100 };
	struct tcb_sweep_result result;
	struct tcb_error err;
	fake_world_reset(9, &problem);
	struct tcb_sweep_options options = { .states = BOTH };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, &err), TCB_E_IO);
	assert_int_equal(store.count, 100);
	tcb_sweep_result_fini(&result);
	store_fini(&store);

	options.strategy = "divination";
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, "auto, exhaustive, random, hillclimb"));
	tcb_sweep_result_fini(&result);
	options = (struct tcb_sweep_options){ 0 };
	assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, &err), TCB_E_USAGE);
	tcb_sweep_result_fini(&result);
}

static void test_strategies_in_a_sweep(void **state)
{
	(void)state;
	static const char *const NAMES[] = { "random", "hillclimb" };
	for (size_t i = 0; i < 2; i++) {
		struct tcb_problem problem;
		struct store store = { 0 };
		struct tcb_sweep_result result;
		fake_world_reset(10, &problem);
		struct tcb_sweep_options options = {
			.states = BOTH, .seed = 5, .strategy = NAMES[i], .max_trials = 600
		};
		assert_int_equal(sweep_known(&problem, &options, NULL, &store, &result, NULL), TCB_OK);
		assert_int_equal(result.tried, 600);
		double best = best_true_ns(&problem, TCB_COLD);
		assert_true(fake_landscape(&result.decision[TCB_COLD].finalists[0].geometry, TCB_COLD) < 1.08 * best);
		tcb_sweep_result_fini(&result);
		store_fini(&store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_space),
		cmocka_unit_test(test_death_while_counted_costs_the_counters_only),
		cmocka_unit_test(test_one_state_only),
		cmocka_unit_test(test_winner_stays_in_tie_set),
		cmocka_unit_test(test_stop_and_resume),
		cmocka_unit_test(test_changed_kernels_are_tried_again),
		cmocka_unit_test(test_failures_are_data_and_remembered),
		cmocka_unit_test(test_too_slow_is_tried_again),
		cmocka_unit_test(test_broken_default),
		cmocka_unit_test(test_failure_in_the_finals),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_budget_of_long_calls),
		cmocka_unit_test(test_start_at_target),
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_strategies_in_a_sweep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
