/* SPDX-License-Identifier: MIT
 *
 * Every op's GPU kernel in the emulator against its reference, as it is
 * emitted, with passes=all, and mutated: each mutation must be
 * noticed, by a wrong result or by a finding.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/gpu.h"
#include "instrumented.h"
#include "kernels/emulation.h"
#include "kernels/gpu/ptx_code.h"
#include "ptx/optimise/passes.h"
#include "ptx/text/text.h"
#include "shape_for.h"

static const unsigned capabilities[] = { 75, 80, 90, 120 };
enum { CAPABILITIES = sizeof capabilities / sizeof *capabilities, SEED = 7 };

struct seen {
	unsigned count;
	char first[400];
};

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct seen *seen = ctx;

	if (!seen->count++)
		snprintf(seen->first, sizeof seen->first, "line %u: %.380s", finding->line, finding->message);
}

/* What an op whose shape needs words takes instead: one of them, by SHAPE's n. */
enum { WORDS = 3 };
static const char *const words[WORDS] = { "1x64x128,h8/2", "3x77x64,h14/2,b4,p16,c30,causal,ragged,pairs",
					  "2x33x256,h8/1,b4,w9,ragged" };
static const char *const of_experts[WORDS] = { "3x64x256,e4/2", "1x77x512,e6/3,each", "9x33x256,e3/1,one" };

/* OP's default kernel for SHAPE, or what it takes instead, with PASSES; 0 when it has none for the contract. */
static int emit_with(const struct tcb_op *op, unsigned capability, enum tcb_contract contract,
		     const struct tcb_shape *shape, enum tcb_passes passes, struct tcb_kernel *out)
{
	struct tcb_shape fitting = tcb_op_needs_words(op) ? *shape : shape_for(op, *shape);
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_gpu gpu;
	struct tcb_error err;

	if (!tcb_op_gpu(op) || !(op->contracts >> contract & 1u))
		return 0;
	assert_int_equal(tcb_gpu_table(capability, &gpu, &err), TCB_OK);
	if (tcb_op_needs_words(op))
		fitting = shape_taken(op, (op->words >> TCB_WORD_EXPERTS & 1u ? of_experts : words)[shape->n % WORDS]);
	assert_int_equal(tcb_problem_init(op, contract, &fitting, &problem, &err), TCB_OK);
	tcb_op_standard(&problem, &gpu.device.target, &geometry);
	geometry.knob[TCB_KNOB_PASSES] = (int32_t)passes;
	const enum tcb_status status = tcb_kernel_emit(&problem, &gpu.device.target, &geometry, out, &err);
	/* Products have no GPU kernels of contract f32, nor of bf16 below sm_80; attention none below that. */
	const int has_none = status == TCB_E_ILLEGAL &&
			     (strstr(err.message, "the contract must be") || strstr(err.message, "needs sm_80"));
	if (status != TCB_OK && !has_none)
		fail_msg("%s: %s", op->name, err.message);
	return status == TCB_OK;
}

static int emit(const struct tcb_op *op, unsigned capability, enum tcb_contract contract, const struct tcb_shape *shape,
		struct tcb_kernel *out)
{
	return emit_with(op, capability, contract, shape, TCB_PASSES_NONE, out);
}

static struct tcb_ptx_module *parse(const char *text)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;

	if (tcb_ptx_parse("kernel", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return module;
}

static int is_right(const struct tcb_op *op, const struct tcb_kernel *kernel, struct tcb_ptx_module *module,
		    struct seen *seen)
{
	const struct tcb_ptx_sink sink = { see, seen };
	struct tcb_kernel_emulation result;
	struct tcb_error err;

	memset(seen, 0, sizeof *seen);
	if (tcb_kernel_emulate(op, kernel, module, SEED, &sink, &result, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_true((result.findings > 0) == (seen->count > 0));
	if (!seen->count && !module)
		assert_true(result.total.threads > 0 && result.total.warps > 0);
	return !result.findings && result.error_ratio <= 1;
}

static void assert_same_text(const struct tcb_kernel *a, const struct tcb_kernel *b)
{
	struct tcb_str text_a = { 0 }, text_b = { 0 };

	tcb_kernel_print(a, &text_a);
	tcb_kernel_print(b, &text_b);
	assert_string_equal(text_a.data, text_b.data);
	tcb_str_fini(&text_a);
	tcb_str_fini(&text_b);
}

static void default_kernels_are_right(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 64, 512 }, { 3, 77, 1280 }, { 1, 1, 256 } };
	unsigned checked = 0;
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);

	(void)state;
	/* The shapes by turns: an op meets each of them, on one GPU or another.  Formats are many, so that each has but
	 * one of the GPUs, its neighbour the next. */
	for (size_t i = 0; i < count * CAPABILITIES * TCB_CONTRACT_COUNT; i++) {
		const struct tcb_op *op = ops[i % count];
		unsigned capability = capabilities[i / count % CAPABILITIES];
		enum tcb_contract contract = (enum tcb_contract)(i / count / CAPABILITIES);
		const struct tcb_shape *shape = &shapes[(i % count + i / count) % 3];
		struct tcb_kernel kernel, with_passes;
		struct tcb_error err;
		struct seen seen;
		const int is_for_another = op->format && (i % count + i / count) % CAPABILITIES != 0;
		if (is_for_another || test_leaves_out(i) || !emit(op, capability, contract, shape, &kernel))
			continue;
		if (!is_right(op, &kernel, NULL, &seen))
			fail_msg("%s on sm_%u is wrong; %s", op->name, capability, seen.first);
		if (tcb_ptx_optimise(tcb_kernel_ptx(&kernel)->module, NULL,
				     &(struct tcb_ptx_pipeline_debug){ .verify = 1 }, &err) != TCB_OK)
			fail_msg("%s", err.message);
		assert_true(emit_with(op, capability, contract, shape, TCB_PASSES_ALL, &with_passes));
		assert_same_text(&kernel, &with_passes);
		if (!is_right(op, &with_passes, NULL, &seen))
			fail_msg("%s on sm_%u is wrong with passes=all; %s", op->name, capability, seen.first);
		tcb_kernel_fini(&with_passes);
		tcb_kernel_fini(&kernel);
		checked++;
	}
	print_message("%u kernels, each as emitted and with passes=all\n", checked);
	assert_true(checked > 0);
}

/* TEXT with the occurrence NUMBER of FROM replaced; NULL when there are fewer. */
static char *mutate(const char *text, const char *from, const char *to, unsigned number)
{
	struct tcb_str out = { 0 };
	const char *at = text;

	for (unsigned i = 0; (at = strstr(at, from)) && i < number; i++)
		at += strlen(from);
	if (!at)
		return NULL;
	tcb_str_addf(&out, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
	return out.data;
}

static void mutations_are_noticed(void **state)
{
	/* ALL: every occurrence matters; else some may change nothing, as the sign of what is added to 0. */
	static const struct {
		const char *from, *to;
		enum { NONE, SOME, ALL } noticed;
	} rows[] = {
		{ "mul.rn.f32", "add.rn.f32", ALL },
		{ "dp4a.u32.s32", "dp4a.u32.u32", ALL },
		{ "and.b32", "or.b32", ALL },
		{ "bar.sync 0;", "", ALL },
		{ "add.rn.f32", "sub.rn.f32", SOME },
		{ "shfl.sync.bfly.b32", "shfl.sync.up.b32", SOME },
		/* the control: the same computation */
		{ "ld.global.v4.f32", "ld.global.v4.b32", NONE },
	};
	enum { ROWS = sizeof rows / sizeof *rows };
	unsigned tried[ROWS] = { 0 }, noticed[ROWS] = { 0 };
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);

	(void)state;
	for (size_t i = 0; i < count * TCB_CONTRACT_COUNT; i++) {
		struct tcb_str text = { 0 };
		struct tcb_kernel kernel;
		/* The changes are to what this op's kernels have; other ops' tests have their own. */
		if (strcmp(ops[i % count]->name, "q4k_matvec") != 0 ||
		    !emit(ops[i % count], 89, (enum tcb_contract)(i / count), &(struct tcb_shape){ 1, 77, 4096 },
			  &kernel))
			continue;
		tcb_kernel_print(&kernel, &text);
		for (int row = 0; row < ROWS; row++) {
			for (unsigned number = 0; number < 3; number++) {
				char *changed = mutate(text.data, rows[row].from, rows[row].to, number);
				struct tcb_ptx_module *module;
				struct seen seen;
				if (!changed)
					break;
				module = parse(changed);
				tried[row]++;
				noticed[row] += !is_right(ops[i % count], &kernel, module, &seen);
				tcb_ptx_module_destroy(module);
				free(changed);
			}
		}
		tcb_str_fini(&text);
		tcb_kernel_fini(&kernel);
	}
	for (int row = 0; row < ROWS; row++)
		print_message("%-20s -> %-20s: %u of %u noticed\n", rows[row].from, rows[row].to, noticed[row],
			      tried[row]);
	for (int row = 0; row < ROWS; row++) {
		assert_true(tried[row] > 0);
		assert_true(rows[row].noticed == NONE ? noticed[row] == 0 : noticed[row] * 2 > tried[row]);
		assert_true(rows[row].noticed != ALL || noticed[row] == tried[row]);
	}
}

/* One row too many is a read beyond the weights or a write beyond the output. */
static void a_bound_off_by_one_is_noticed(void **state)
{
	unsigned tried = 0;
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);

	(void)state;
	for (size_t i = 0; i < count * TCB_CONTRACT_COUNT; i++) {
		struct tcb_kernel kernel;
		struct seen seen;
		if (!strstr(ops[i % count]->name, "_matvec") ||
		    !emit(ops[i % count], 89, (enum tcb_contract)(i / count), &(struct tcb_shape){ 1, 77, 512 },
			  &kernel))
			continue;
		for (size_t l = 0; l < kernel.launch_count; l++)
			for (size_t a = 0; a < kernel.launch[l].argument_count; a++)
				if (kernel.launch[l].argument[a].kind == TCB_ARGUMENT_U32 &&
				    kernel.launch[l].argument[a].value == 77) {
					kernel.launch[l].argument[a].value++;
					tried++;
				}
		assert_false(is_right(ops[i % count], &kernel, NULL, &seen));
		assert_true(seen.count > 0);
		tcb_kernel_fini(&kernel);
	}
	assert_true(tried > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_kernels_are_right),
		cmocka_unit_test(mutations_are_noticed),
		cmocka_unit_test(a_bound_off_by_one_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
