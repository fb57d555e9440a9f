/* SPDX-License-Identifier: MIT
 *
 * Candidates on a GPU (the fake one) that are wrong, stray, fault, hang or
 * cannot be launched: each costs its own trial only and is named for what it
 * did, and the next one finds a GPU that works.
 */
#include "fake_gpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "kernels/op.h"
#include "planted_gpu.h"
#include "worker/evaluate.h"

static const struct tcb_screen_rule few_samples = { .samples_min = 3, .samples_max = 4, .width = 0.01 };

static struct tcb_evaluator *evaluator_with(double timeout_s)
{
	struct tcb_problem problem;
	struct tcb_place gpu;
	planted_gpu_problem(&problem);
	fake_gpu_place("cuda:0", &gpu);
	struct tcb_evaluate_options options = {
		.seed = 5, .states = 3, .rotation_bytes = 6 << 10, .timeout_s = timeout_s
	};
	struct tcb_evaluator *evaluator = NULL;
	struct tcb_error err;
	if (tcb_evaluator_create(&planted_gpu_op, &problem, &gpu, &options, &evaluator, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return evaluator;
}

static const struct tcb_trial *try(struct tcb_evaluator *evaluator, enum planted_gpu behaviour, int is_packed)
{
	struct tcb_geometry geometry;
	const struct tcb_trial *trial = NULL;
	struct tcb_error err;
	planted_gpu_geometry(behaviour, is_packed, 2, 1, &geometry);
	if (tcb_evaluator_try(evaluator, &geometry, &few_samples, &trial, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_true(tcb_geometry_equal(&trial->geometry, &geometry));
	return trial;
}

static void assert_good(const struct tcb_trial *trial)
{
	if (trial->outcome != TCB_OUTCOME_OK)
		fail_msg("%s: %s", tcb_outcome_text(trial->outcome), trial->message);
	assert_string_equal(trial->message, "");
	assert_string_equal(trial->variant, "planted_f32_fma");
	assert_true(trial->error_ratio > 0 && trial->error_ratio < 1);
	assert_int_equal(trial->measurement_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(trial->measurements[i].state, i == 0 ? TCB_COLD : TCB_HOT);
		assert_in_range(trial->measurements[i].sample_count, 3, 4);
		assert_true(trial->measurements[i].ns.median > 700 && trial->measurements[i].ns.median < 50000);
	}
}

static void good_candidates(void **state)
{
	(void)state;
	struct tcb_evaluator *evaluator = evaluator_with(60);
	const struct tcb_trial *trial = try(evaluator, PLANTED_GPU_GOOD, 0);
	assert_good(trial);
	assert_true(trial->pack_ns == 0);
	trial = try(evaluator, PLANTED_GPU_GOOD, 1);
	assert_good(trial);
	assert_true(trial->pack_ns > 0);
	assert_good(try(evaluator, PLANTED_GPU_KEEPS, 0));
	tcb_evaluator_destroy(evaluator);
}

/* Every misbehaviour, its outcome, and what the message must say; a good candidate after each. */
static void planted_ones(void **state)
{
	(void)state;
	static const struct {
		enum planted_gpu behaviour;
		enum tcb_outcome outcome;
		const char *words[2];
	} expected[] = {
		{ PLANTED_GPU_WRONG, TCB_OUTCOME_WRONG, { "at 1x1x8 output [0][0] is", "within" } },
		{ PLANTED_GPU_WRONG_FULL, TCB_OUTCOME_WRONG, { "at 1x40x8 output [0][7] is" } },
		{ PLANTED_GPU_WRONG_LATER, TCB_OUTCOME_WRONG, { "in the timed runs" } },
		{ PLANTED_GPU_PAST_OUTPUT, TCB_OUTCOME_WRONG, { "wrote outside of y (guard zone)" } },
		{ PLANTED_GPU_ILLEGAL_WRITE, TCB_OUTCOME_CRASHED, { "CUDA_ERROR_ILLEGAL_ADDRESS" } },
		{ PLANTED_GPU_ILLEGAL_READ, TCB_OUTCOME_CRASHED, { "CUDA_ERROR_ILLEGAL_ADDRESS" } },
		{ PLANTED_GPU_MISALIGNED, TCB_OUTCOME_CRASHED, { "CUDA_ERROR_MISALIGNED_ADDRESS" } },
		{ PLANTED_GPU_BIG_SHARED, TCB_OUTCOME_LAUNCH_FAILED, { "CUDA_ERROR_INVALID_VALUE" } },
		{ PLANTED_GPU_MANY_THREADS, TCB_OUTCOME_LAUNCH_FAILED, { "launching it" } },
		{ PLANTED_GPU_DIRTY, TCB_OUTCOME_WRONG, { "at 1x1x8 output [0][0] is" } },
		{ PLANTED_GPU_NO_STORE, TCB_OUTCOME_WRONG, { "was never written" } },
		{ PLANTED_GPU_NOT_A_NUMBER, TCB_OUTCOME_WRONG, { "is nan" } },
		{ PLANTED_GPU_TRAPS, TCB_OUTCOME_CRASHED, { "CUDA_ERROR_LAUNCH_FAILED" } },
		{ PLANTED_GPU_TOO_NEW, TCB_OUTCOME_COMPILE_FAILED, { "NO_BINARY_FOR_GPU" } },
		{ PLANTED_GPU_UNEMITTED, TCB_OUTCOME_LAUNCH_FAILED, { "planted: no such kernel" } },
		{ PLANTED_GPU_PAST_WORKSPACE, TCB_OUTCOME_WRONG, { "outside of its workspace" } },
		{ PLANTED_GPU_WRITES_INPUT, TCB_OUTCOME_WRONG, { "output [0][0] is" } },
		{ PLANTED_GPU_CRASHES_LATER, TCB_OUTCOME_CRASHED, { "CUDA_ERROR_ILLEGAL_ADDRESS" } },
	};
	/* All but the three good ones, the endless one (below), and those for assemblers. */
	assert_int_equal(sizeof expected / sizeof *expected, PLANTED_GPU_COUNT - 4 - 3);
	struct tcb_evaluator *evaluator = evaluator_with(60);
	uint64_t fastest = UINT64_MAX;
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		const struct tcb_trial *trial = try(evaluator, expected[i].behaviour, i % 2);
		if (trial->outcome != expected[i].outcome)
			fail_msg("%d: %s: %s", (int)expected[i].behaviour, tcb_outcome_text(trial->outcome),
				 trial->message);
		assert_int_equal(trial->measurement_count, 0);
		for (size_t w = 0; w < 2 && expected[i].words[w]; w++)
			if (!strstr(trial->message, expected[i].words[w]))
				fail_msg("%d: '%s' is not in '%s'", (int)expected[i].behaviour, expected[i].words[w],
					 trial->message);
		uint64_t start = tcb_clock_ns();
		assert_good(try(evaluator, PLANTED_GPU_GOOD, i % 3 == 0));
		uint64_t took = tcb_clock_ns() - start;
		fastest = took < fastest ? took : fastest;
	}
	/* A new worker takes over, and has verified and measured the next one, within a second; others may be using
	 * the processors at times. */
	assert_true(fastest < 1000000000u);
	tcb_evaluator_destroy(evaluator);
}

static void endless(void **state)
{
	(void)state;
	struct tcb_evaluator *evaluator = evaluator_with(1);
	const struct tcb_trial *trial = try(evaluator, PLANTED_GPU_ENDLESS, 0);
	assert_int_equal(trial->outcome, TCB_OUTCOME_TIMEOUT);
	assert_non_null(strstr(trial->message, "no end after 1 s while verifying 1x1x8"));
	tcb_evaluator_destroy(evaluator);
}

/* What a good candidate did to the GPU's memory costs the next one a second try, not its result. */
static void spoilt_inputs_are_made_again(void **state)
{
	(void)state;
	struct tcb_evaluator *evaluator = evaluator_with(60);
	assert_good(try(evaluator, PLANTED_GPU_SPOILS, 0));
	assert_good(try(evaluator, PLANTED_GPU_GOOD, 0));
	assert_int_equal(try(evaluator, PLANTED_GPU_WRONG, 0)->outcome, TCB_OUTCOME_WRONG);
	tcb_evaluator_destroy(evaluator);
}

/* A GPU that is gone is no fault of the candidate that was on it. */
static void gpu_that_dies(void **state)
{
	(void)state;
	char mark[] = "/tmp/fake_cuda_XXXXXX", path[64];
	int fd = mkstemp(mark);
	assert_true(fd >= 0);
	close(fd);
	setenv("FAKE_CUDA_DEAD", mark, 1);
	fake_gpu_load("90:dies=400");
	struct tcb_evaluator *evaluator = evaluator_with(60);
	struct tcb_geometry geometry;
	const struct tcb_trial *trial;
	struct tcb_error err;
	enum tcb_status status = TCB_OK;
	planted_gpu_geometry(PLANTED_GPU_GOOD, 0, 2, 1, &geometry);
	for (int i = 0; i < 10 && status == TCB_OK; i++) {
		status = tcb_evaluator_try(evaluator, &geometry, &few_samples, &trial, &err);
		if (status == TCB_OK)
			assert_int_equal(trial->outcome, TCB_OUTCOME_OK);
	}
	assert_int_equal(status, TCB_E_FAILED);
	assert_non_null(strstr(err.message, "cuda:0 does not work any more"));
	tcb_evaluator_destroy(evaluator);
	snprintf(path, sizeof path, "%s.0", mark);
	assert_int_equal(unlink(path), 0);
	unlink(mark);
	unsetenv("FAKE_CUDA_DEAD");
	fake_gpu_load("90");
}

/* A kernel of a real op whose operands come as tensor maps, and whose output is not f32. */
static void tensor_maps_reach_the_kernel(void **state)
{
	(void)state;
	const struct tcb_op *op = tcb_op_find("matmul_f16");
	const struct tcb_evaluate_options options = { .seed = 5, .states = 1u << TCB_HOT, .timeout_s = 60 };
	struct tcb_evaluator *evaluator = NULL;
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	struct tcb_place gpu;
	struct tcb_error err;
	const struct tcb_trial *trial;
	assert_int_equal(tcb_problem_init(op, TCB_CONTRACT_F16, &(struct tcb_shape){ 9, 16, 8 }, &problem, NULL),
			 TCB_OK);
	assert_int_equal(
		tcb_geometry_parse("macro=64x64x64,midi=64x64x64,micro=64x64x64,isa=wgmma,vec=16,stages=2,splitk=1,"
				   "copy=bulk,blocks=0,pdl=0,occ=1,cluster=1",
				   &geometry, NULL),
		TCB_OK);
	fake_gpu_place("cuda:0", &gpu);
	if (tcb_evaluator_create(op, &problem, &gpu, &options, &evaluator, &err) != TCB_OK ||
	    tcb_evaluator_try(evaluator, &geometry, &few_samples, &trial, &err) != TCB_OK)
		fail_msg("%s", err.message);
	if (trial->outcome != TCB_OUTCOME_OK)
		fail_msg("%s: %s", tcb_outcome_text(trial->outcome), trial->message);
	assert_true(trial->error_ratio > 0 && trial->error_ratio < 1);
	assert_string_equal(trial->variant, "matmul_f16_ptx_wgmma");
	tcb_evaluator_destroy(evaluator);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_candidates), cmocka_unit_test(planted_ones),
		cmocka_unit_test(endless),         cmocka_unit_test(spoilt_inputs_are_made_again),
		cmocka_unit_test(gpu_that_dies),   cmocka_unit_test(tensor_maps_reach_the_kernel),
	};
	fake_gpu_load("90");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
