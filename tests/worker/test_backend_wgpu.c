/* SPDX-License-Identifier: MIT
 *
 * Candidates in WGSL that are wrong, stray, hang, do not compile or lose the device, on a
 * WebGPU device: each costs its own trial only and is named for what it did, the next one
 * finds a device that works, and a sweep goes on.  The op is y = 2 x; the knob unroll picks
 * the behaviour.  Devices are lost where TCBTUNE_WGPU is losing_wgpu.c.
 */
#include "wgpu_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernels/axes.h"
#include "kernels/wgsl/wgsl.h"
#include "search/search.h"
#include "worker/evaluate.h"
#include "worker/gpu_runner.h"

enum { N = 1002, WORKGROUP = 64, STAGES = 2 };

/* X(id, outcome, words of its message) */
#define PLANTED_LIST(X)                                                                         \
	X(GOOD, OK, "")                                                                         \
	X(WRONG, WRONG, "at 1x1002 output [0][0] is")                                           \
	X(WRONG_END, WRONG, "output [0][1001] is")                                              \
	X(NO_STORE, WRONG, "was never written")                                                 \
	X(PAST_OUTPUT, WRONG, "wrote outside of y (guard zone)")                                \
	X(READS_PAST, WRONG, "output [0][1001] is")                                             \
	X(DIRTY, WRONG, "output [0][0] is")                                                     \
	X(WRITES_INPUT, WRONG, "output [0][0] is")                                              \
	X(NOT_WGSL, COMPILE_FAILED, "compiling it: no definition in scope for identifier: `z`") \
	X(TOO_LARGE, COMPILE_FAILED, "compiling it: ")                                          \
	X(UNBOUND, LAUNCH_FAILED, "binding its operands: ")                                     \
	X(MANY_GROUPS, LAUNCH_FAILED, "launching it: ")

enum planted {
#define PLANTED_ENUM(id, outcome, words) PLANTED_##id,
	PLANTED_LIST(PLANTED_ENUM) PLANTED_COUNT,
#undef PLANTED_ENUM
	PLANTED_ENDLESS,
	PLANTED_LOST_AT_ONCE,
	PLANTED_LOST_VERIFIED,
	PLANTED_LOST_MEASURED
};

/* Behind how many submissions losing_wgpu.c loses the device: while the module is made, verified, measured. */
static const unsigned lost_at[] = {
	[PLANTED_LOST_AT_ONCE] = 0, [PLANTED_LOST_VERIFIED] = 2, [PLANTED_LOST_MEASURED] = 16
};

static enum tcb_status check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	(void)op, (void)shape, (void)err;
	return TCB_OK;
}

static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const size_t n = problem->shape.n;

	out[0] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, n, n * sizeof(float), 1 };
	out[1] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, TCB_TYPE_F32, 1, n, n * sizeof(float), 1 };
	return 2;
}

static void fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	struct tcb_rng rng;

	tcb_rng_init(&rng, seed);
	for (size_t i = 0; i < problem->shape.n; i++)
		((float *)operand[0])[i] = 1 + (float)tcb_rng_unit(&rng);
}

static void reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	for (size_t i = 0; i < problem->shape.n; i++) {
		out->y[i] = out->magnitude[i] = 2 * (double)((const float *)operand[0])[i];
		out->extra[i] = 0;
	}
}

static double count_of(const struct tcb_problem *problem)
{
	return 8 * (double)problem->shape.n;
}

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	static const enum planted some[] = { PLANTED_GOOD, PLANTED_WRONG, PLANTED_ENDLESS, PLANTED_LOST_VERIFIED };
	struct tcb_axis *axis;
	size_t count = 0;

	(void)problem, (void)target;
	axis = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	tcb_axis_add(axis, TCB_ISA_WGSL);
	axis = tcb_axis_knob(out, &count, TCB_KNOB_STAGES);
	for (int64_t i = 1; i <= STAGES; i++)
		tcb_axis_add(axis, i);
	axis = tcb_axis_knob(out, &count, TCB_KNOB_UNROLL);
	for (size_t i = 0; i < sizeof some / sizeof *some; i++)
		tcb_axis_add(axis, 1 + (int64_t)some[i]);
	return count;
}

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	(void)problem, (void)target;
	tcb_geometry_init(out);
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGSL;
	out->knob[TCB_KNOB_STAGES] = 1;
	out->knob[TCB_KNOB_UNROLL] = 1 + PLANTED_GOOD;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	(void)problem, (void)target, (void)geometry;
	memset(out, 0, sizeof *out);
	out->block_threads = WORKGROUP;
}

static const char *const bodies[PLANTED_COUNT] = {
	[PLANTED_WRONG] = "y[at] = 2.0 * x[at] + 1.0;\n",
	[PLANTED_WRONG_END] = "y[at] = 2.0 * x[min(at, 1000u)];\n",
	[PLANTED_NO_STORE] = "if (at % 2u == 1u) { y[at] = 2.0 * x[at]; }\n",
	[PLANTED_PAST_OUTPUT] = "y[at] = 2.0 * x[at];\nif (at == count - 1u) { y[count + 1u] = 1.0; }\n",
	[PLANTED_READS_PAST] = "y[at] = 2.0 * x[at] + f32(bitcast<u32>(x[at + 1u]) >> 31u);\n",
	[PLANTED_DIRTY] = "kept[at] += 1.0;\ny[at] = 2.0 * x[at] * kept[at];\n",
	[PLANTED_WRITES_INPUT] = "y[at] = 2.0 * x[at];\nx[at] += 1.0;\n",
	[PLANTED_NOT_WGSL] = "y[at] = 2.0 * z[at];\n",
};

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const enum planted behaviour = (enum planted)(geometry->knob[TCB_KNOB_UNROLL] - 1);
	const char *body = behaviour < PLANTED_COUNT ? bodies[behaviour] : NULL;
	struct tcb_wgsl w;

	(void)target;
	TCB_TRY(tcb_wgsl_open(&w, problem, geometry, out, err));
	const int x = behaviour == PLANTED_WRITES_INPUT ? tcb_wgsl_output(&w, "x", "array<f32>", 0)
							: tcb_wgsl_input(&w, "x", "array<f32>", 0);
	const int y = tcb_wgsl_output(&w, "y", "array<f32>", 1);
	const int kept = behaviour == PLANTED_DIRTY
				 ? tcb_wgsl_workspace(&w, "kept", "array<f32>", problem->shape.n * sizeof(float))
				 : 0;
	const int turns = behaviour == PLANTED_ENDLESS ? tcb_wgsl_workspace(&w, "turns", "array<atomic<u32>>", 4) : 0;
	/* lavapipe leaves a loop after 65,535 turns: it takes many that do not end. */
	const uint32_t groups = behaviour == PLANTED_MANY_GROUPS ? 1 << 20
				: behaviour == PLANTED_ENDLESS   ? 65535
								 : (uint32_t)problem->shape.n / WORKGROUP + 1;
	if (behaviour >= PLANTED_LOST_AT_ONCE)
		tcb_wgsl_add(&w, "// lost at %u\n", lost_at[behaviour]);
	tcb_wgsl_number(&w, "count", problem->shape.n);
	tcb_wgsl_begin(
		&w, "twice",
		&(struct tcb_wgsl_entry){ .workgroup = behaviour == PLANTED_TOO_LARGE ? 1 << 20 : WORKGROUP,
					  .grid = { groups },
					  .uses = { x, behaviour == PLANTED_UNBOUND ? 0 : y, kept ? kept : turns } });
	tcb_wgsl_add(&w, "let at = group.x * %uu + local;\n", WORKGROUP);
	if (behaviour == PLANTED_ENDLESS)
		tcb_wgsl_add(&w, "loop {\nif (atomicAdd(&turns[0], 1u) == 0xfffffff0u) {\nbreak;\n}\n}\n");
	tcb_wgsl_add(&w, "if (at < count) {\n");
	tcb_wgsl_add(&w, "%s", body ? body : "y[at] = 2.0 * x[at];\n");
	tcb_wgsl_add(&w, "}\n");
	tcb_wgsl_end(&w);
	out->class = TCB_CLASS_BOUNDED;
	out->chain = 1;
	return tcb_wgsl_close(&w, err);
}

static const struct tcb_variant variants[] = {
	{ .name = "twice_wgsl", .contract = TCB_CONTRACT_F32, .isa = TCB_ISA_WGSL, .class = TCB_CLASS_BOUNDED },
	{ .name = NULL },
};
static const struct tcb_shape shapes[] = { { 1, N, 0 } };
static const struct tcb_side side = {
	.variants = TCB_VARIANT_LIST(variants),
	.space = &(const struct tcb_side_space){ NULL, axes, default_geometry, footprint },
	.emit = emit,
};
static const struct tcb_op twice = {
	.name = "twice",
	.summary = "misbehaves on request",
	.shape_form = "MxN",
	.contracts = 1u << TCB_CONTRACT_F32,
	.default_contract = TCB_CONTRACT_F32,
	.default_shapes = shapes,
	.default_shape_count = 1,
	.side = TCB_SIDES(NULL, NULL, &side),
	.check_shape = check_shape,
	.operands = operands,
	.fill = fill,
	.reference = reference,
	.flops = count_of,
	.traffic = count_of,
};

static struct tcb_evaluator *evaluator_with(double timeout_s)
{
	const struct tcb_problem problem = {
		.op = &twice, .op_name = "twice", .contract = TCB_CONTRACT_F32, .shape = shapes[0]
	};
	const struct tcb_evaluate_options options = {
		.seed = 5, .states = 3, .rotation_bytes = 64 << 10, .timeout_s = timeout_s
	};
	struct tcb_evaluator *evaluator = NULL;
	struct tcb_place place;
	struct tcb_error err;

	wgpu_place(&place);
	if (tcb_evaluator_create(&twice, &problem, &place, &options, &evaluator, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return evaluator;
}

static const struct tcb_trial *try(struct tcb_evaluator *evaluator, enum planted behaviour)
{
	static const struct tcb_screen_rule few_samples = { .samples_min = 3, .samples_max = 4, .width = 0.01 };
	const struct tcb_trial *trial = NULL;
	struct tcb_geometry geometry;
	struct tcb_error err;

	default_geometry(NULL, NULL, &geometry);
	geometry.knob[TCB_KNOB_UNROLL] = 1 + (int32_t)behaviour;
	if (tcb_evaluator_try(evaluator, &geometry, &few_samples, &trial, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return trial;
}

static void assert_good(const struct tcb_trial *trial)
{
	if (trial->outcome != TCB_OUTCOME_OK)
		fail_msg("%s: %s", tcb_outcome_text(trial->outcome), trial->message);
	assert_string_equal(trial->message, "");
	assert_int_equal(trial->measurement_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_in_range(trial->measurements[i].sample_count, 3, 4);
		assert_true(trial->measurements[i].ns.median > 0);
	}
}

static void each_costs_its_own_trial(void **state)
{
	static const struct {
		const char *name;
		enum tcb_outcome outcome;
		const char *words;
	} expected[] = {
#define PLANTED_ROW(id, outcome, words) { #id, TCB_OUTCOME_##outcome, words },
		PLANTED_LIST(PLANTED_ROW)
#undef PLANTED_ROW
	};
	struct tcb_evaluator *evaluator = evaluator_with(60);

	(void)state;
	for (int i = 0; i < PLANTED_COUNT; i++) {
		const struct tcb_trial *trial = try(evaluator, (enum planted)i);

		print_message("%s: %s: %s\n", expected[i].name, tcb_outcome_text(trial->outcome), trial->message);
		assert_int_equal(trial->outcome, expected[i].outcome);
		if (!strstr(trial->message, expected[i].words))
			fail_msg("'%s' is not in '%s'", expected[i].words, trial->message);
		assert_good(try(evaluator, PLANTED_GOOD));
	}
	tcb_evaluator_destroy(evaluator);
}

static void endless(void **state)
{
	struct tcb_evaluator *evaluator = evaluator_with(3);
	const struct tcb_trial *trial = try(evaluator, PLANTED_ENDLESS);

	(void)state;
	assert_int_equal(trial->outcome, TCB_OUTCOME_TIMEOUT);
	if (!strstr(trial->message, "no end after 3 s while verifying 1x1002"))
		fail_msg("%s", trial->message);
	assert_good(try(evaluator, PLANTED_GOOD));
	tcb_evaluator_destroy(evaluator);
}

static int can_lose(void)
{
	const char *library = getenv("TCBTUNE_WGPU");

	return library && strstr(library, "losing_wgpu") != NULL;
}

static void lost_devices_cost_their_candidate(void **state)
{
	struct tcb_evaluator *evaluator = evaluator_with(60);

	(void)state;
	for (int i = PLANTED_LOST_AT_ONCE; i <= PLANTED_LOST_MEASURED; i++) {
		const struct tcb_trial *trial = try(evaluator, (enum planted)i);

		print_message("lost at %u: %s: %s\n", lost_at[i], tcb_outcome_text(trial->outcome), trial->message);
		assert_int_equal(trial->outcome, TCB_OUTCOME_CRASHED);
		assert_true(trial->message[0] != '\0');
		assert_good(try(evaluator, PLANTED_GOOD));
	}
	tcb_evaluator_destroy(evaluator);
}

/* ---- a sweep ---- */

enum { BEHAVIOURS = 4 };

static enum tcb_status put(void *ctx, const struct tcb_trial *trial, struct tcb_error *err)
{
	size_t *seen = ctx;

	(void)err;
	if (trial->measurement_count != 1 || trial->measurements[0].stage != TCB_STAGE_FINAL)
		seen[trial->outcome]++;
	return TCB_OK;
}

/* Without a library that loses devices those that would lose one are good. */
static void a_sweep_goes_on(void **state)
{
	const struct tcb_problem problem = {
		.op = &twice, .op_name = "twice", .contract = TCB_CONTRACT_F32, .shape = shapes[0]
	};
	const struct tcb_sweep_options options = {
		.seed = 3, .states = 1u << TCB_COLD, .rotation_bytes = 64 << 10, .timeout_s = 2, .finalists = 2
	};
	size_t seen[TCB_OUTCOME_COUNT] = { 0 };
	struct tcb_sink sink = { .ctx = seen, .trial = put };
	const size_t lost = can_lose() ? STAGES : 0;
	struct tcb_sweep_result result;
	struct tcb_place place;
	struct tcb_error err;

	(void)state;
	wgpu_place(&place);
	if (tcb_sweep_run(&twice, &problem, &place, &options, NULL, 0, &sink, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_true(result.complete);
	assert_int_equal(result.tried, BEHAVIOURS * STAGES);
	assert_int_equal(seen[TCB_OUTCOME_TIMEOUT], STAGES);
	assert_int_equal(seen[TCB_OUTCOME_WRONG], STAGES);
	assert_int_equal(seen[TCB_OUTCOME_CRASHED], lost);
	assert_int_equal(seen[TCB_OUTCOME_OK], (BEHAVIOURS - 2) * STAGES - lost);
	assert_true(result.decision[TCB_COLD].valid);
	tcb_sweep_result_fini(&result);
}

/* A bench's: the first against itself where no call waits, which leaves its own time as it is. */
static void calls_that_do_not_wait_are_timed(void **state)
{
	struct tcb_evaluator *evaluator = evaluator_with(60);
	struct tcb_geometry geometry;
	struct tcb_error err;
	double ns[3], limit[3];

	(void)state;
	default_geometry(NULL, NULL, &geometry);
	assert_good(try(evaluator, PLANTED_GOOD));
	assert_int_equal(tcb_evaluator_use_limit(evaluator, TCB_LIMIT_OVERLAP), -1);
	assert_int_equal(tcb_evaluator_use_limit(evaluator, TCB_LIMIT_INDEPENDENT), 0);
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		if (tcb_evaluator_interleave(evaluator, &geometry, 1, (enum tcb_state)s, 3, 1, ns, limit, NULL, &err) !=
		    TCB_OK)
			fail_msg("%s", err.message);
		for (int i = 0; i < 3; i++)
			assert_true(ns[i] > 0 && limit[i] > 0);
		assert_string_equal(tcb_evaluator_limit_method(evaluator, (enum tcb_state)s), "twice");
	}
	tcb_evaluator_destroy(evaluator);
}

/* Each of them finds the inputs of its copy, a workspace of zeros, and an output that nobody else writes. */
static void calls_that_do_not_wait_write_their_own(void **state)
{
	enum { CALLS = 5, COPIES = 2 };
	const struct tcb_problem problem = {
		.op = &twice, .op_name = "twice", .contract = TCB_CONTRACT_F32, .shape = shapes[0]
	};
	const size_t unpacked[TCB_OPERANDS_MAX] = { 0 };
	struct tcb_gpu_session session = { 0 };
	struct tcb_gpu_runner runner = { 0 };
	struct tcb_gpu_own own = { 0 };
	struct tcb_gpu_memory *memory = NULL;
	struct tcb_instance *instance = NULL;
	struct tcb_code_image *image = NULL;
	struct tcb_geometry geometry;
	struct tcb_kernel kernel;
	struct tcb_place place;
	struct tcb_error err;
	enum tcb_gpu_fault fault = TCB_GPU_FINE;
	char why[TCB_GPU_WHY_MAX] = "";
	float got[N];
	double pack_ns;

	(void)state;
	wgpu_place(&place);
	default_geometry(NULL, NULL, &geometry);
	geometry.knob[TCB_KNOB_UNROLL] = 1 + PLANTED_DIRTY; /* twice as much the second time */
	if (tcb_kernel_emit(&problem, &place.device.target, &geometry, &kernel, &err) != TCB_OK ||
	    tcb_code_compile(&kernel, 1, &place.device.target, &image, &err) != TCB_OK ||
	    tcb_gpu_session_open(&place, &session, &err) != TCB_OK ||
	    tcb_instance_create(&twice, &problem, 5, NULL, &instance, &err) != TCB_OK ||
	    tcb_gpu_memory_create(&session, instance, &memory, &err) != TCB_OK ||
	    tcb_gpu_memory_need(memory, TCB_LAYOUT_NATIVE, unpacked, COPIES, &pack_ns, &err) != TCB_OK ||
	    tcb_gpu_runner_init(&runner, &session, image, 0, &fault, why, &err) != TCB_OK ||
	    tcb_gpu_runner_record_independent(&runner, memory, TCB_LAYOUT_NATIVE, COPIES, CALLS, &own, &fault, why,
					      &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(fault, TCB_GPU_FINE);
	assert_int_equal(own.calls, CALLS);
	assert_int_equal(runner.calls, CALLS);
	for (int turn = 1; turn <= 2; turn++) {
		for (size_t i = 0; i < CALLS; i++) {
			const struct tcb_gpu_buffer *y = &own.outputs[i * TCB_OPERANDS_MAX + 1];

			assert_int_equal(
				session.driver->copy_out(session.own, y->base, y->first, sizeof got, got, &err),
				TCB_OK);
			for (size_t j = 0; j < N; j++)
				assert_float_equal(got[j], 2 * turn * ((const float *)instance->data[0].data)[j], 0);
		}
		assert_true(tcb_gpu_runner_sample(&runner, why) > 0);
	}
	tcb_gpu_runner_fini(&runner);
	tcb_gpu_own_fini(&session, &own);
	tcb_gpu_memory_destroy(memory);
	tcb_instance_destroy(instance);
	tcb_gpu_session_close(&session);
	tcb_kernel_fini(&kernel);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_costs_its_own_trial),
		cmocka_unit_test(endless),
		cmocka_unit_test(a_sweep_goes_on),
		cmocka_unit_test(calls_that_do_not_wait_are_timed),
		cmocka_unit_test(calls_that_do_not_wait_write_their_own), /* the last: it opens the library here */
	};
	const struct CMUnitTest of_losses[] = {
		cmocka_unit_test(lost_devices_cost_their_candidate),
		cmocka_unit_test(a_sweep_goes_on),
	};

	return can_lose() ? cmocka_run_group_tests(of_losses, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
