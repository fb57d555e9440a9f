/* SPDX-License-Identifier: MIT
 *
 * The compute limit's kernels: they do as many operations as is counted, with the
 * instruction that they are named for, on numbers that are no zeros, and assemble
 * for every target.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "device/gpu.h"
#include "kernels/compute_limit.h"
#include "kernels/limit.h"
#include "ptx/emulate/emulate.h"
#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

/* A product of each contract. */
static const struct {
	const char *op;
	enum tcb_contract contract;
	enum tcb_compute_kind kind;
	double terms;
} products[] = {
	{ "matmul_f32", TCB_CONTRACT_F32, TCB_COMPUTE_F32, 1 },
	{ "matmul_f16", TCB_CONTRACT_F16, TCB_COMPUTE_F16, 1 },
	{ "matmul_bf16", TCB_CONTRACT_F16, TCB_COMPUTE_BF16, 1 },
	{ "q4k_matmul", TCB_CONTRACT_F16, TCB_COMPUTE_F16, 1 },
	{ "q4k_matmul", TCB_CONTRACT_Q8, TCB_COMPUTE_INT8_SYNC, 1 },
	/* f32 times halves, or bf16, without rounding: in two terms, or three */
	{ "attention_prefill_f16", TCB_CONTRACT_F32, TCB_COMPUTE_F16, 2 },
	{ "attention_prefill_bf16", TCB_CONTRACT_F32, TCB_COMPUTE_BF16, 3 },
};
enum { PRODUCTS = sizeof products / sizeof *products };

static void problem_of(size_t i, struct tcb_problem *out)
{
	struct tcb_error err;
	const struct tcb_op *op = tcb_op_find(products[i].op);
	assert_non_null(op);
	if (tcb_problem_init(op, products[i].contract, &op->default_shapes[0], out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static struct tcb_code_image *image_of(unsigned capability, size_t product)
{
	struct tcb_code_image *image = NULL;
	struct tcb_problem problem;
	struct tcb_error err;
	struct tcb_gpu gpu;
	problem_of(product, &problem);
	assert_int_equal(tcb_gpu_table(capability, &gpu, &err), TCB_OK);
	gpu.device.target.cuda.sm_count = 2;
	if (tcb_compute_limit_image(&problem, &gpu.device.target, &image, &err) != TCB_OK)
		fail_msg("sm_%u, %s: %s", capability, products[product].op, err.message);
	assert_true(tcb_code_image_valid(&tcb_language_ptx, image, image->bytes));
	return image;
}

static void contracts_say_what_is_multiplied(void **state)
{
	(void)state;
	struct tcb_gpu gpu;
	const struct tcb_target cpu = { .kind = TCB_TARGET_CPU };
	assert_int_equal(tcb_gpu_table(90, &gpu, NULL), TCB_OK);
	for (size_t i = 0; i < PRODUCTS; i++) {
		struct tcb_problem problem;
		problem_of(i, &problem);
		const double flops = problem.op->flops(&problem);
		const struct tcb_compute_need need = tcb_compute_need(&problem, &gpu.device.target);
		assert_int_equal(need.kind, products[i].kind);
		assert_true(need.operations == products[i].terms * flops);
		assert_true(tcb_compute_need(&problem, &cpu).operations == flops);
		assert_true(tcb_compute_need(&problem, &cpu).kind != TCB_COMPUTE_F16);
		assert_true(tcb_compute_need(&problem, &cpu).kind != TCB_COMPUTE_INT8_SYNC);
	}
	/* What nobody says it multiplies with has no limit. */
	struct tcb_problem other;
	problem_of(0, &other);
	struct tcb_op own = *other.op;
	own.has_own_arithmetic = 1;
	other.op = &own;
	assert_true(tcb_compute_need(&other, &gpu.device.target).operations == 0);
	/* A rate of bytes that was measured with wgmma, and stored, is no rate of them with mma.sync. */
	struct tcb_problem bytes;
	problem_of(4, &bytes);
	assert_int_equal(tcb_gpu_table(89, &gpu, NULL), TCB_OK);
	assert_int_equal(tcb_compute_need(&bytes, &gpu.device.target).kind, TCB_COMPUTE_INT8);
}

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	(void)ctx;
	print_error("%s\n", finding->message);
}

/* Multiplications and additions of INS by a warp; 0 of what does none that count. */
static double operations_of(const struct tcb_ptx_ins *ins)
{
	unsigned m, n, k;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_FMA:
		return 2.0 * 32;
	case TCB_PTX_OP_DP4A:
		return 2.0 * 32 * 4;
	case TCB_PTX_OP_MMA:
	case TCB_PTX_OP_WGMMA:
		tcb_ptx_shape(tcb_ptx_mod(ins, TCB_PTX_SLOT_SHAPE), &m, &n, &k);
		return 2.0 * m * n * k / (ins->op == TCB_PTX_OP_WGMMA ? 4 : 1);
	default:
		return 0;
	}
}

/* What a launch does. */
struct work {
	double operations, instructions; /* the latter of a warp */
};

/* Runs UNIT's launch with STEPS. */
static struct work emulate(const struct tcb_code_image *image, size_t index, uint32_t steps)
{
	const struct tcb_code_unit *unit = &image->unit[index];
	const struct tcb_code_launch *launch = &unit->launch[0];
	const char *text = (const char *)image + unit->offset;
	struct tcb_ptx_emulation counted;
	struct tcb_ptx_module *module;
	struct tcb_ptx_program *program;
	struct tcb_ptx_memory *memory;
	struct tcb_error err;
	uint32_t stored = 0;
	uint64_t values[2] = { 0, steps };
	struct work done = { 0, 0 };
	if (tcb_ptx_parse("limit", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	if (tcb_ptx_program_create(module->functions, &program, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_ptx_memory_create(&memory, &err), TCB_OK);
	assert_int_equal(tcb_ptx_memory_add(memory, "to", &stored, unit->workspace_bytes, 256, TCB_PTX_MAY_WRITE,
					    &values[0], &err),
			 TCB_OK);
	struct tcb_ptx_launch run = { .params = values, .param_bytes = 12, .dynamic_shared = launch->shared_bytes };
	memcpy(run.grid, launch->grid, sizeof run.grid);
	memcpy(run.block, launch->block, sizeof run.block);
	if (tcb_ptx_emulate(program, &run, memory, &(struct tcb_ptx_sink){ .see = see }, &counted, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(counted.findings, 0);
	assert_int_equal(counted.global_read_bytes, 0);
	for (const struct tcb_ptx_block *block = module->functions->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			const double warps = (double)counted.by_ins[ins->number].warps;
			done.operations += operations_of(ins) * warps;
			done.instructions += warps / (launch->grid[0] * launch->block[0] / 32.0);
		}
	tcb_ptx_memory_destroy(memory);
	tcb_ptx_program_destroy(program);
	tcb_ptx_module_destroy(module);
	return done;
}

static void operations_are_those_that_are_counted(void **state)
{
	(void)state;
	static const unsigned capabilities[] = { 75, 80, 90 };
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	for (size_t c = 0; c < sizeof capabilities / sizeof *capabilities; c++)
		for (size_t i = 0; i < PRODUCTS; i++) {
			struct tcb_code_image *image = image_of(capabilities[c], i);
			for (size_t u = 0; u < image->unit_count; u++) {
				const struct tcb_code_unit *unit = &image->unit[u];
				assert_true(unit->step_operations > 0);
				for (uint32_t steps = 1; steps < 3; steps++) {
					const double done = emulate(image, u, steps).operations;
					if (done != steps * unit->step_operations)
						fail_msg("sm_%u %s: %.0f operations in %u steps, not %.0f",
							 capabilities[c], unit->launch[0].entry, done, steps,
							 steps * unit->step_operations);
				}
			}
			free(image);
		}
}

/* By measurement 256 instructions are issued one a cycle with all quarters of a multiprocessor at them, and 512 one in
 * two: a limit does not come near that. */
static void loops_stay_in_the_instruction_cache(void **state)
{
	(void)state;
	enum { KEPT = 256, TO_SPARE = 16 };
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	for (size_t i = 0; i < PRODUCTS; i++) {
		struct tcb_code_image *image = image_of(90, i);
		for (size_t u = 0; u < image->unit_count; u++) {
			const double step = emulate(image, u, 2).instructions - emulate(image, u, 1).instructions;
			if (!(step > 0 && step <= KEPT - TO_SPARE))
				fail_msg("%s: %.0f instructions a step", image->unit[u].launch[0].entry, step);
		}
		free(image);
	}
}

/* The instructions that each GPU has, the fastest first. */
static void each_instruction_has_a_kernel(void **state)
{
	(void)state;
	static const struct {
		unsigned capability;
		size_t product;
		const char *entries[3];
	} expected[] = {
		{ 75, 1, { "compute_mma_f16" } },
		{ 75, 2, { "compute_fma_f32" } }, /* nothing multiplies bf16 there */
		{ 89, 2, { "compute_mma_bf16" } },
		{ 89, 4, { "compute_mma_int8", "compute_dp4a_int8" } },
		{ 90, 0, { "compute_fma_f32" } },
		{ 90, 1, { "compute_wgmma_f16", "compute_mma_f16" } },
		{ 90, 4, { "compute_mma_int8", "compute_dp4a_int8" } }, /* kernels of ours issue no other there */
		{ 120, 1, { "compute_mma_f16" } },
	};
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		struct tcb_code_image *image = image_of(expected[i].capability, expected[i].product);
		size_t count = 0;
		for (; count < 3 && expected[i].entries[count]; count++)
			assert_string_equal(image->unit[count].launch[0].entry, expected[i].entries[count]);
		assert_int_equal(image->unit_count, count);
		free(image);
	}
}

/* With and without an assembler that could see that nothing is stored. */
static void every_target_assembles(void **state)
{
	(void)state;
	struct tcb_assembler_info info;
	struct tcb_gpu gpu;
	unsetenv("TCBTUNE_ASSEMBLER");
	if (tcb_assembler_find(&info, NULL) != TCB_OK)
		skip_because("no assembler for PTX");
	for (size_t row = 0; tcb_gpu_table_row(row, &gpu); row++) {
		const unsigned capability = gpu.device.target.cuda.capability;
		if (!tcb_assembler_knows(&info, capability))
			continue;
		for (size_t i = 0; i < 5; i++) {
			struct tcb_code_image *image = image_of(capability, i);
			assert_false(image->is_text);
			for (size_t u = 0; u < image->unit_count; u++)
				assert_memory_equal((const char *)image + image->unit[u].offset, "\177ELF", 4);
			free(image);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contracts_say_what_is_multiplied),
		cmocka_unit_test(operations_are_those_that_are_counted),
		cmocka_unit_test(loops_stay_in_the_instruction_cache),
		cmocka_unit_test(each_instruction_has_a_kernel),
		cmocka_unit_test(every_target_assembles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
