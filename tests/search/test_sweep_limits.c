/* SPDX-License-Identifier: MIT
 *
 * What ends a sweep before its budget: a target, little left to expect; the
 * best so far, which the sink has from the first trial on; and waiting for a
 * quiet machine, which the budget does not pay for.
 */
#include <math.h>
#include <string.h>

#include "cmocka_all.h"
#include "fake_evaluator.h"

enum { BOTH = 1u << TCB_COLD | 1u << TCB_HOT };

struct seen {
	size_t trials, bests;
	size_t trials_at_first; /* when the first best came */
	double ns[TCB_STATE_COUNT];
	struct tcb_geometry geometry[TCB_STATE_COUNT];
};

static enum tcb_status see_trial(void *ctx, const struct tcb_trial *trial, struct tcb_error *err)
{
	struct seen *seen = ctx;
	(void)trial;
	(void)err;
	seen->trials++;
	return TCB_OK;
}

static enum tcb_status see_best(void *ctx, const struct tcb_decision *best, struct tcb_error *err)
{
	struct seen *seen = ctx;
	(void)err;
	if (seen->bests++ == 0)
		seen->trials_at_first = seen->trials;
	assert_true(best->valid && best->finalist_count == 1 && best->tie_count == 1);
	assert_true(tcb_geometry_equal(&best->tie_set[0], &best->finalists[0].geometry));
	assert_true(strlen(best->finalists[0].variant) > 0 && strlen(best->finalists[0].signature) > 0);
	assert_true(best->finalists[0].ns.median > 0 && isnan(best->regret));
	seen->ns[best->state] = best->finalists[0].ns.median;
	seen->geometry[best->state] = best->finalists[0].geometry;
	return TCB_OK;
}

static void sweep(const struct tcb_sweep_options *options, struct seen *seen, struct tcb_sweep_result *out)
{
	struct tcb_problem problem;
	struct tcb_sink sink = { .ctx = seen, .trial = see_trial, .best = see_best };
	*seen = (struct seen){ 0 };
	fake_world_reset(options->seed, &problem);
	assert_int_equal(tcb_sweep_run(&fake_op, &problem, &fake_cpu, options, NULL, 0, &sink, out, NULL), TCB_OK);
}

static void test_until_stable(void **state)
{
	struct tcb_sweep_options options = { .states = BOTH, .seed = 3, .until_stable = 0.02, .strategy = "auto" };
	struct tcb_sweep_result result;
	struct seen seen;
	(void)state;
	sweep(&options, &seen, &result);
	assert_int_equal(result.ended, TCB_ENDED_STABLE);
	assert_true(result.expected_gain > 0 && result.expected_gain < 0.02);
	assert_true(!result.complete && result.tried < result.space_count);
	assert_true(result.decision[TCB_COLD].valid && result.decision[TCB_HOT].valid);
	tcb_sweep_result_fini(&result);
}

static void test_target_ratio(void **state)
{
	/* The simulated limit is 0.9 of the best when cold, 0.6 when hot; the default is at 1.8 and 2.7. */
	struct tcb_sweep_options options = { .states = BOTH, .seed = 4, .target_ratio = 2.2 };
	struct tcb_sweep_result result;
	struct seen seen;
	(void)state;
	sweep(&options, &seen, &result);
	assert_int_equal(result.ended, TCB_ENDED_TARGET);
	assert_true(result.of_limit[TCB_COLD] > 1 && result.of_limit[TCB_COLD] <= 2.2);
	assert_true(result.of_limit[TCB_HOT] > 1.4 && result.of_limit[TCB_HOT] <= 2.2);
	assert_true(result.tried < result.space_count);
	tcb_sweep_result_fini(&result);
	options.target_ratio = 0.5; /* nothing is faster than the limit */
	options.max_trials = 100;
	sweep(&options, &seen, &result);
	assert_int_equal(result.ended, TCB_ENDED_TRIALS);
	tcb_sweep_result_fini(&result);
}

static void test_other_ends(void **state)
{
	struct tcb_sweep_options options = { .states = BOTH, .seed = 5, .budget_s = 10 };
	struct tcb_sweep_result result;
	struct seen seen;
	(void)state;
	sweep(&options, &seen, &result);
	assert_int_equal(result.ended, TCB_ENDED_BUDGET);
	assert_string_equal(tcb_ended_text(result.ended), "budget");
	assert_true(fake_world.now_s < 1.1 * options.budget_s);
	tcb_sweep_result_fini(&result);
}

static void test_best_so_far(void **state)
{
	/* Random search finds better ones all the time; one that learns may have the best after a second. */
	struct tcb_sweep_options options = { .states = BOTH, .seed = 6, .budget_s = 30, .strategy = "random" };
	struct tcb_sweep_result result;
	struct seen seen;
	(void)state;
	sweep(&options, &seen, &result);
	assert_int_equal(seen.trials_at_first, 1);
	/* Once a second at most, for each state, beside the first and the last. */
	assert_true(seen.bests > 4 && seen.bests < 2 * 34);
	/* The last of them is near what the finals found. */
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		const double winner = fake_landscape(&result.decision[s].finalists[0].geometry, (enum tcb_state)s);
		assert_true(fake_landscape(&seen.geometry[s], (enum tcb_state)s) < 1.1 * winner);
	}
	tcb_sweep_result_fini(&result);
}

/* A machine that becomes quiet after so long, when it is waited for the first time. */
struct waiting {
	double seconds;
	size_t asked, tries[TCB_STATE_COUNT]; /* how many were tried by then */
};

static double await_quiet(void *ctx)
{
	struct waiting *waiting = ctx;
	const double waited_s = waiting->asked == 0 ? waiting->seconds : 0;
	assert_true(waiting->asked < TCB_STATE_COUNT);
	waiting->tries[waiting->asked++] = fake_world.tries;
	fake_world.now_s += waited_s;
	return waited_s;
}

/* A sweep waits for a quiet machine before the finals of each state, and its budget does not pay for it. */
static void test_waits_between(void **state)
{
	struct waiting waiting = { .seconds = 100 };
	struct tcb_sweep_options options = {
		.states = BOTH, .seed = 5, .budget_s = 10, .await_quiet = await_quiet, .await_ctx = &waiting
	};
	struct tcb_sweep_result result;
	struct seen seen;
	(void)state;
	sweep(&options, &seen, &result);
	assert_int_equal(waiting.asked, TCB_STATE_COUNT);
	assert_true(waiting.tries[0] > 20); /* after the screening */
	assert_int_equal(fake_world.tries, waiting.tries[0]);
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		assert_true(!result.decision[s].provisional && result.decision[s].rounds > 20);
	assert_true(fake_world.now_s > waiting.seconds && fake_world.now_s < waiting.seconds + 1.1 * options.budget_s);
	assert_true(result.took_s < 1.1 * options.budget_s);
	tcb_sweep_result_fini(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_until_stable),  cmocka_unit_test(test_target_ratio),
		cmocka_unit_test(test_other_ends),    cmocka_unit_test(test_best_so_far),
		cmocka_unit_test(test_waits_between),
	};
	return cmocka_run_group_tests_name("search.sweep_limits", tests, NULL, NULL);
}
