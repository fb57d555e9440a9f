/* SPDX-License-Identifier: MIT
 *
 * Whole sweeps on the fake GPU: 20 bad candidates among 200 good ones cost no
 * good result, the sweep ends by itself, and what failed is not tried again.
 */
#include "fake_gpu.h"

#include <stdio.h>
#include <unistd.h>

#include "base/util.h"
#include "planted_gpu.h"
#include "search/search.h"

enum { GOOD = 200, BAD = 20, TRIALS_MAX = 512 };

/* What the sink was sent: the first trial of each geometry, and how often it came. */
struct store {
	struct tcb_trial trials[TRIALS_MAX];
	struct tcb_measurement measurements[TRIALS_MAX][TCB_STATE_COUNT];
	size_t count, finals;
};

static enum tcb_status put(void *ctx, const struct tcb_trial *trial, struct tcb_error *err)
{
	struct store *store = ctx;
	(void)err;
	if (trial->measurement_count == 1 && trial->measurements[0].stage == TCB_STAGE_FINAL) {
		store->finals++;
		return TCB_OK;
	}
	assert_true(store->count < TRIALS_MAX);
	struct tcb_trial *copy = &store->trials[store->count];
	*copy = *trial;
	for (size_t i = 0; i < trial->measurement_count; i++)
		store->measurements[store->count][i] = trial->measurements[i];
	copy->measurements = store->measurements[store->count++];
	return TCB_OK;
}

static enum tcb_status sweep(struct store *store, const struct store *known, size_t max_trials,
			     struct tcb_sweep_result *result, struct tcb_error *err)
{
	struct tcb_problem problem;
	struct tcb_place gpu;
	struct tcb_sink sink = { .ctx = store, .trial = put };
	struct tcb_sweep_options options = { .seed = 3,
					     .states = 1u << TCB_COLD,
					     .rotation_bytes = 5 << 10,
					     .timeout_s = 1,
					     .max_trials = max_trials,
					     .finalists = 4 };
	planted_gpu_problem(&problem);
	fake_gpu_place("cuda:0", &gpu);
	return tcb_sweep_run(&planted_gpu_op, &problem, &gpu, &options, known ? known->trials : NULL,
			     known ? known->count : 0, &sink, result, err);
}

static size_t count(const struct store *store, enum tcb_outcome outcome)
{
	size_t found = 0;
	for (size_t i = 0; i < store->count; i++)
		found += store->trials[i].outcome == outcome;
	return found;
}

static enum planted_gpu behaviour(const struct tcb_geometry *geometry)
{
	return (enum planted_gpu)(geometry->knob[TCB_KNOB_UNROLL] - 1);
}

static void bad_ones_cost_no_good_result(void **state)
{
	(void)state;
	struct store *first = calloc(1, sizeof *first), *second = calloc(1, sizeof *second);
	struct tcb_sweep_result result;
	struct tcb_error err = { .message = "" };
	assert_true(first && second);
	if (sweep(first, NULL, 0, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_true(result.complete);
	assert_int_equal(result.space_count, GOOD + BAD);
	assert_int_equal(result.tried, GOOD + BAD);
	assert_int_equal(result.failed, BAD);
	assert_int_equal(first->count, GOOD + BAD);
	assert_int_equal(count(first, TCB_OUTCOME_OK), GOOD);
	assert_int_equal(count(first, TCB_OUTCOME_WRONG), 8);
	assert_int_equal(count(first, TCB_OUTCOME_CRASHED), 8);
	assert_int_equal(count(first, TCB_OUTCOME_TIMEOUT), 2);
	assert_int_equal(count(first, TCB_OUTCOME_LAUNCH_FAILED), 2);
	for (size_t i = 0; i < first->count; i++) {
		const struct tcb_trial *trial = &first->trials[i];
		assert_int_equal(trial->outcome == TCB_OUTCOME_OK, behaviour(&trial->geometry) == PLANTED_GPU_GOOD);
		assert_int_equal(trial->measurement_count, trial->outcome == TCB_OUTCOME_OK);
	}
	const struct tcb_verdict *verdict = &result.verdict[TCB_COLD];
	assert_true(verdict->valid && !result.verdict[TCB_HOT].valid);
	/* The fewest stages. */
	assert_int_equal(verdict->finalists[0].geometry.knob[TCB_KNOB_STAGES], 1);
	assert_true(verdict->speedup.median > 1.001);
	assert_true(verdict->limit_ns.median > 0 && strncmp(verdict->limit_method, "read_", 5) == 0);
	assert_int_equal(first->finals, verdict->finalist_count);
	tcb_sweep_result_fini(&result);

	/* The same again: nothing is tried, the failed ones neither. */
	if (sweep(second, first, 0, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(result.known, GOOD + BAD);
	assert_int_equal(result.tried, 0);
	assert_int_equal(second->count, 0);
	assert_true(result.verdict[TCB_COLD].valid);
	tcb_sweep_result_fini(&result);
	free(first);
	free(second);
}

static void a_gpu_that_dies_ends_the_sweep_with_what_it_has(void **state)
{
	(void)state;
	char mark[] = "/tmp/fake_cuda_XXXXXX", path[64];
	int fd = mkstemp(mark);
	struct store *store = calloc(1, sizeof *store);
	struct tcb_sweep_result result;
	struct tcb_error err;
	assert_true(fd >= 0 && store);
	close(fd);
	setenv("FAKE_CUDA_DEAD", mark, 1);
	fake_gpu_load("90:dies=2000");
	assert_int_equal(sweep(store, NULL, 60, &result, &err), TCB_E_FAILED);
	assert_non_null(strstr(err.message, "cuda:0"));
	assert_true(store->count > 2);
	assert_int_equal(count(store, TCB_OUTCOME_OK), store->count);
	tcb_sweep_result_fini(&result);
	snprintf(path, sizeof path, "%s.0", mark);
	assert_int_equal(unlink(path), 0);
	unlink(mark);
	unsetenv("FAKE_CUDA_DEAD");
	fake_gpu_load("90");
	free(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_ones_cost_no_good_result),
		cmocka_unit_test(a_gpu_that_dies_ends_the_sweep_with_what_it_has),
	};
	fake_gpu_load("90");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
