/* SPDX-License-Identifier: MIT
 *
 * The planted GPU op on a real GPU, where faults, watchdogs and lost contexts
 * are the driver's own: 20 bad candidates among 200 good ones cost no good
 * result, and after each kind of fault the next candidate is soon served.
 * test_sweep_gpu.c asks more of the fake driver, which does as it is told.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "planted_gpu.h"
#include "search/search.h"
#include "worker/evaluate.h"

enum { GOOD = 200, BAD = 20, SEEN_MAX = GOOD + BAD };
/* A new worker starts the driver and makes a context, then it serves a whole candidate. */
static const double TAKEOVER_LIMIT_S = 5;

static const char *const behaviours[] = {
#define PLANTED_TEXT(id) #id,
	PLANTED_GPU_LIST(PLANTED_TEXT)
#undef PLANTED_TEXT
};

static struct tcb_place place;
static char no_gpu[sizeof((struct tcb_error *)0)->message]; /* why */

static int open_gpu(void **state)
{
	struct tcb_error err;

	(void)state;
	if (tcb_place_open("cuda:0", 0, 1, &place, &err) != TCB_OK)
		snprintf(no_gpu, sizeof no_gpu, "%s", err.message);
	return 0;
}

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

static enum planted_gpu behaviour_of(const struct tcb_geometry *geometry)
{
	return (enum planted_gpu)(geometry->knob[TCB_KNOB_UNROLL] - 1);
}

struct seen {
	size_t count, good, bad_as_ok;
	int outcome[PLANTED_GPU_COUNT]; /* the first one; -1: none yet */
	char message[PLANTED_GPU_COUNT][160];
};

static enum tcb_status put(void *ctx, const struct tcb_trial *trial, struct tcb_error *err)
{
	struct seen *seen = ctx;
	enum planted_gpu behaviour = behaviour_of(&trial->geometry);

	(void)err;
	if (trial->measurement_count == 1 && trial->measurements[0].stage == TCB_STAGE_FINAL)
		return TCB_OK;
	seen->count++;
	if (behaviour == PLANTED_GPU_GOOD) {
		seen->good += trial->outcome == TCB_OUTCOME_OK;
		if (trial->outcome != TCB_OUTCOME_OK)
			printf("a good candidate: %s: %s\n", tcb_outcome_text(trial->outcome), trial->message);
	} else {
		seen->bad_as_ok += trial->outcome == TCB_OUTCOME_OK;
	}
	if (seen->outcome[behaviour] < 0) {
		seen->outcome[behaviour] = trial->outcome;
		snprintf(seen->message[behaviour], sizeof seen->message[behaviour], "%.150s", trial->message);
	}
	return TCB_OK;
}

static void bad_ones_cost_no_good_result(void **state)
{
	struct seen seen = { 0 };
	struct tcb_sink sink = { .ctx = &seen, .trial = put };
	struct tcb_sweep_options options = {
		.seed = 3, .states = 1u << TCB_COLD, .rotation_bytes = 5 << 10, .timeout_s = 1, .finalists = 4
	};
	struct tcb_sweep_result result;
	struct tcb_problem problem;
	struct tcb_error err = { .message = "" };

	(void)state;
	if (no_gpu[0])
		skip_because("%s", no_gpu);
	for (int i = 0; i < PLANTED_GPU_COUNT; i++)
		seen.outcome[i] = -1;
	planted_gpu_problem(&problem);
	double start = now_s();
	if (tcb_sweep_run(&planted_gpu_op, &problem, &place, &options, NULL, 0, &sink, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	double seconds = now_s() - start;
	for (int i = 0; i < PLANTED_GPU_COUNT; i++)
		if (seen.outcome[i] > TCB_OUTCOME_OK)
			printf("%-14s %-14s %s\n", behaviours[i], tcb_outcome_text((enum tcb_outcome)seen.outcome[i]),
			       seen.message[i]);
	printf("%zu candidates, %zu failed, in %.1f s\n", result.tried, result.failed, seconds);
	assert_true(result.complete);
	assert_int_equal(result.tried, GOOD + BAD);
	assert_int_equal(result.failed, BAD);
	assert_int_equal(seen.good, GOOD + result.with_passes);
	assert_int_equal(seen.bad_as_ok, 0);
	const struct tcb_decision *decision = &result.decision[TCB_COLD];
	assert_true(decision->valid);
	assert_int_equal(behaviour_of(&decision->finalists[0].geometry), PLANTED_GPU_GOOD);
	tcb_sweep_result_fini(&result);
}

static void the_next_one_is_soon_served(void **state)
{
	static const struct {
		enum planted_gpu behaviour;
		enum tcb_outcome wanted;
	} cases[] = {
		{ PLANTED_GPU_ILLEGAL_WRITE, TCB_OUTCOME_CRASHED },
		{ PLANTED_GPU_ILLEGAL_READ, TCB_OUTCOME_CRASHED },
		{ PLANTED_GPU_MISALIGNED, TCB_OUTCOME_CRASHED },
		{ PLANTED_GPU_TRAPS, TCB_OUTCOME_CRASHED },
		{ PLANTED_GPU_ENDLESS, TCB_OUTCOME_TIMEOUT },
		{ PLANTED_GPU_BIG_SHARED, TCB_OUTCOME_LAUNCH_FAILED },
	};
	struct tcb_evaluate_options options = { .seed = 5, .states = 1, .rotation_bytes = 6 << 10, .timeout_s = 1 };
	struct tcb_screen_rule rule = { .samples_min = 3, .samples_max = 4, .width = 0.01 };
	struct tcb_evaluator *evaluator = NULL;
	struct tcb_geometry good, bad;
	const struct tcb_trial *trial;
	struct tcb_problem problem;
	struct tcb_error err;
	double worst = 0;

	(void)state;
	if (no_gpu[0])
		skip_because("%s", no_gpu);
	planted_gpu_problem(&problem);
	planted_gpu_geometry(PLANTED_GPU_GOOD, 0, 2, 1, &good);
	if (tcb_evaluator_create(&planted_gpu_op, &problem, &place, &options, &evaluator, &err) != TCB_OK)
		fail_msg("%s", err.message);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		planted_gpu_geometry(cases[i].behaviour, 0, 2, 1, &bad);
		if (tcb_evaluator_try(evaluator, &bad, &rule, &trial, &err) != TCB_OK)
			fail_msg("%s", err.message);
		if (trial->outcome != cases[i].wanted)
			fail_msg("%s: %s, not %s: %s", behaviours[cases[i].behaviour], tcb_outcome_text(trial->outcome),
				 tcb_outcome_text(cases[i].wanted), trial->message);
		double start = now_s();
		if (tcb_evaluator_try(evaluator, &good, &rule, &trial, &err) != TCB_OK)
			fail_msg("%s", err.message);
		double seconds = now_s() - start;
		if (trial->outcome != TCB_OUTCOME_OK)
			fail_msg("after %s a good one: %s", behaviours[cases[i].behaviour], trial->message);
		printf("after %-14s the next result came in %.2f s\n", behaviours[cases[i].behaviour], seconds);
		worst = seconds > worst ? seconds : worst;
	}
	tcb_evaluator_destroy(evaluator);
	printf("worst take-over: %.2f s\n", worst);
	assert_true(worst < TAKEOVER_LIMIT_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_ones_cost_no_good_result),
		cmocka_unit_test(the_next_one_is_soon_served),
	};
	return cmocka_run_group_tests(tests, open_gpu, NULL);
}
