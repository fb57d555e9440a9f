/* SPDX-License-Identifier: MIT
 *
 * Attention's GPU kernels on KV caches of less than 16 bits in K or V, of one kind and of two, in the emulator: rows
 * that begin anywhere, heads that are no whole blocks, every way to copy; their defaults; and sinks and slopes that
 * are not finite, on all kinds of cache.
 */
#include <math.h>
#include <string.h>

#include "attention_emulated.h"
#include "base/cpu_identity.h"
#include "base/gpu_table.h"
#include "base/tiles.h"
#include "instrumented.h"
#include "kernels/constraint.h"
#include "kernels/gpu/ptx_code.h"
#include "ptx/ir/opcodes.h"

#define NAME(word, id, k, v, io, text, kind) kind #word,
static const char *const decodes[] = { TCB_KV_CPU_LIST(NAME, "attention_decode_") };
static const char *const prefills[] = { TCB_KV_CPU_LIST(NAME, "attention_prefill_") };
static const char *const all_ops[] = { TCB_KV_LIST(NAME, "attention_decode_") TCB_KV_LIST(NAME, "attention_prefill_") };
#undef NAME
static const enum tcb_contract contracts[] = { TCB_CONTRACT_F16, TCB_CONTRACT_F32 };
enum { CACHES = sizeof(decodes) / sizeof(*decodes), ALL = sizeof(all_ops) / sizeof(*all_ops), CONTRACTS = 2 };

static void target_of(unsigned capability, struct tcb_target *out)
{
	struct tcb_gpu gpu;
	assert_int_equal(tcb_gpu_table(capability, &gpu, NULL), TCB_OK);
	*out = gpu.device.target;
}

/* The default geometry, and those of decode with copies of other sizes, tensor copies, K's codes as f16. */
static void check_shape(const char *name, enum tcb_contract contract, unsigned capability, const char *shape)
{
	static const struct {
		int32_t vec, copy, group;
	} changes[] = { { 16, TCB_COPY_ASYNC, 0 }, { 4, TCB_COPY_ASYNC, 256 }, { 16, TCB_COPY_BULK, 256 } };
	const struct tcb_op *op = tcb_op_find(name);
	struct tcb_target target;
	struct tcb_problem problem;
	struct tcb_geometry standard;
	attention_strided(op, contract, shape, capability + strlen(shape), &problem);
	target_of(capability, &target);
	tcb_op_standard(&problem, &target, &standard);
	attention_emulate(op, &problem, &target, &standard, shape);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct tcb_geometry changed = standard;
		if (standard.knob[TCB_KNOB_VEC] == TCB_KNOB_UNSET)
			continue; /* of prefill */
		changed.knob[TCB_KNOB_VEC] = changes[i].vec;
		changed.knob[TCB_KNOB_COPY] = changes[i].copy;
		if (standard.knob[TCB_KNOB_GROUP] != TCB_KNOB_UNSET)
			changed.knob[TCB_KNOB_GROUP] = changes[i].group;
		if (!tcb_geometry_equal(&changed, &standard) &&
		    tcb_constraint_require(&problem, &target, &changed, NULL) == TCB_OK)
			attention_emulate(op, &problem, &target, &changed, shape);
	}
}

static void check_all(const char *const names[CACHES], const char *const *shapes, size_t count)
{
	static const unsigned capabilities[] = { 80, 89, 90, 120 };
	for (size_t i = 0; i < CACHES * count; i++) {
		const char *name = names[i % CACHES], *shape = shapes[i / CACHES];
		if (!test_leaves_out(i) && attention_takes(name, shape))
			check_shape(name, contracts[(i + i / CACHES) % CONTRACTS],
				    capabilities[(i + i / 5) % (sizeof(capabilities) / sizeof(*capabilities))], shape);
	}
}

static void decode_is_right(void **state)
{
	static const char *const shapes[] = {
		"1x300x128,h8/2",
		"1x129x64,h7/1,p5",
		"3x70x96,h6/3,causal",
		"9x150x160,h4/2,b2,p7,w33,causal,ragged",
		"1x61x224,h8/8,w40,sinks",
		"32x50x64,h2/1,causal",
		"2x77x72,h8/2,b2,p7,causal,ragged,sinks",
		"1x90x40,v32,h6/2,b3,sinks,alibi,ragged",
		"3x70x192,v128,h4/1,w20,causal,alibi,c5",
		"2x60x64,v96,h8/2,b3,causal,prefix,ragged",
		"3x70x160,v64,vk,h8/1,b2,causal,prefix,w30",
		"2x50x104,v72,vk,h8/2,b3,p6,ragged,causal",
		"2x40x512,h4/1,b2,causal,sinks",
		"1x40x352,h12/1,b2,p16",
		"1x50x328,v320,h3/1,b2,alibi",
		"1x40x544,v416,h40/1",
	};
	(void)state;
	check_all(decodes, shapes, sizeof(shapes) / sizeof(*shapes));
}

static void prefill_is_right(void **state)
{
	static const char *const shapes[] = {
		"70x90x128,h4/2,causal",
		"40x70x64,h4/2,v96,p16,b2,ragged",
		"33x50x72,v40,h2/1,causal,sinks",
		"20x44x96,h3/3,b2,p5,w9,causal,alibi",
		"17x40x160,v64,vk,h4/1,causal,prefix",
		"40x60x288,v320,h2/1,p16",
	};
	(void)state;
	check_all(prefills, shapes, sizeof(shapes) / sizeof(*shapes));
}

/* Heads of every width, V's drawn, with and without all that a shape may have. */
static void defaults_are_legal(void **state)
{
	static const unsigned capabilities[] = { 80, 86, 90, 120 }, groups[] = { 1, 5, 8, 16, 24, 128 };
	(void)state;
	for (unsigned i = 0; i < CACHES * 2 * CONTRACTS * 4 * 18; i++) {
		const struct tcb_op *op = tcb_op_find((i / CACHES % 2 ? prefills : decodes)[i % CACHES]);
		const struct tcb_kv_row *kv = tcb_kv_row(((const struct attention_op *)op->member)->kv);
		const unsigned step = i / CACHES / 2 / CONTRACTS / 4;
		const unsigned k_unit = tcb_kv_kind_format(kv->k) ? 32 : 8, v_unit = tcb_kv_kind_format(kv->v) ? 32 : 8;
		struct tcb_shape shape = { i % 11 ? 1 : 9, i % 13 ? 4096 : 7, 32 * (1 + step) - (k_unit == 8 ? 8 : 0) };
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_target target;
		struct tcb_error err;
		char text[TCB_SHAPE_TEXT_MAX];
		shape.words = (struct tcb_words){ .query = groups[i / 7 % 6], .kv = 1, .sequences = 2 };
		shape.words.values = v_unit * (1 + i * 29 % (ATTENTION_HEAD_MAX / v_unit));
		shape.words.causal = shape.words.sinks = shape.words.alibi = shape.words.prefix = i % 2;
		shape.words.page = i % 3 ? 0 : 16;
		assert_int_equal(tcb_problem_init(op, contracts[i / CACHES / 2 % CONTRACTS], &shape, &problem, &err),
				 TCB_OK);
		target_of(capabilities[i / CACHES / 2 / CONTRACTS % 4], &target);
		tcb_op_standard(&problem, &target, &geometry);
		tcb_shape_print(&shape, text);
		if (tcb_constraint_require(&problem, &target, &geometry, &err) != TCB_OK)
			fail_msg("%s %s on sm_%u: %s", op->name, text, target.cuda.capability, err.message);
	}
}

/* --- what is not finite --- */

/* The last half of a cache that ends between two words comes without a copy of which two bytes are left out. */
static void odd_ends_are_not_copied(void **state)
{
	static const char *const shapes[] = { "1x75x32,h1/1", "2x25x32,h6/3,b2", "1x21x96,h3/3,b3,p7,ragged",
					      "1x15x160,h2/1,v96", "1x16x96,h2/1,p2" };
	static const char *const names[] = { "attention_decode_q80", "attention_decode_q40",
					     "attention_decode_q80q40" };
	(void)state;
	for (size_t i = 0; i < 5 * 3; i++) {
		const struct tcb_op *op = tcb_op_find(names[i / 5]);
		struct tcb_target target;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_kernel kernel;
		attention_problem(op, contracts[i % CONTRACTS], shapes[i % 5], &problem);
		target_of(90, &target);
		tcb_op_standard(&problem, &target, &geometry);
		geometry.knob[TCB_KNOB_VEC] = 4;
		geometry.knob[TCB_KNOB_COPY] = TCB_COPY_ASYNC;
		assert_int_equal(tcb_constraint_require(&problem, &target, &geometry, NULL), TCB_OK);
		attention_emulate(op, &problem, &target, &geometry, shapes[i % 5]);
		assert_int_equal(tcb_kernel_emit(&problem, &target, &geometry, &kernel, NULL), TCB_OK);
		for (struct tcb_ptx_block *block = tcb_kernel_ptx(&kernel)->module->last_function->first; block;
		     block = block->next)
			for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
				assert_false(ins->op == TCB_PTX_OP_CP_ASYNC && ins->operand_count > 3);
		tcb_kernel_fini(&kernel);
	}
}

/* Sinks and slopes of NaN, and of both infinities, of a query head each; the others' are as drawn. */
static void fill_wild(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	static const float wild[] = { NAN, INFINITY, -INFINITY };
	const struct tcb_words *words = &problem->shape.words;
	float *sinks = attention_data(words, operand, ATTENTION_SINKS);
	float *slopes = attention_data(words, operand, ATTENTION_SLOPES);
	tcb_op_find(problem->op_name)->fill(problem, seed, operand);
	for (size_t i = 0; i < 3; i++) {
		if (sinks)
			sinks[2 * i] = wild[i];
		if (slopes)
			slopes[2 * i + (sinks ? 1 : 0)] = wild[i];
	}
}

static void check_cpu(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_pool *pool)
{
	void *operand[TCB_OPERANDS_MAX];
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	const size_t count = problem->op->operands(problem, operands);
	const size_t output = attention_at(&problem->shape.words, ATTENTION_OUT);
	const size_t outputs = operands[output].rows * operands[output].cols;
	struct tcb_geometry geometry;
	struct tcb_plan plan;
	struct tcb_error err;
	size_t bad = 0;
	for (size_t i = 0; i < count; i++)
		assert_non_null(operand[i] = calloc(1, operands[i].bytes));
	double *values = calloc(3 * outputs, sizeof(*values));
	float *got = calloc(outputs, sizeof(*got));
	assert_true(values && got);
	struct tcb_reference reference = { values, values + outputs, values + 2 * outputs, NULL };
	fill_wild(problem, ATTENTION_SEED, operand);
	problem->op->reference(problem, operand, &reference);
	tcb_op_standard(problem, target, &geometry);
	if (tcb_op_cpu(problem->op)->plan(problem, &geometry, &plan, &err) != TCB_OK)
		fail_msg("%s: %s", problem->op_name, err.message);
	void *workspace = aligned_alloc(64, (plan.workspace_bytes + 64) / 64 * 64);
	assert_non_null(workspace);
	tcb_op_cpu(problem->op)->run(&plan, operand, workspace, pool);
	tcb_type_to_f32(operands[output].type, operand[output], outputs, got);
	if (!(tcb_error_ratio(&plan, &reference, got, outputs, &bad) <= 1))
		fail_msg("%s with %s: output %zu is %g, not %g", problem->op_name, plan.variant->name, bad,
			 (double)got[bad], values[bad]);
	free(workspace);
	free(got);
	free(values);
	for (size_t i = 0; i < count; i++)
		free(operand[i]);
}

static void sinks_and_slopes_that_are_not_finite(void **state)
{
	static const char *const shapes[] = { "3x40x64,h8/2,b2,causal,sinks", "3x40x64,h8/2,b2,causal,alibi",
					      "3x40x64,h8/2,b5,causal,ragged,sinks,alibi,c5" };
	struct tcb_device device;
	struct tcb_pool *pool;
	struct tcb_error err;
	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, &err), TCB_OK);
	assert_int_equal(tcb_pool_create(1, NULL, &pool, &err), TCB_OK);
	for (size_t i = 0; i < (size_t)ALL * 3; i++) {
		struct tcb_op op = *tcb_op_find(all_ops[i % ALL]);
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_target target;
		op.fill = fill_wild;
		attention_problem(&op, contracts[(i + i / ALL) % CONTRACTS], shapes[i / ALL], &problem);
		for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
			struct tcb_target own = device.target;
			own.isa_mask = 1u << isa | 1u << TCB_ISA_SCALAR;
			if (tcb_target_has(&device.target, (enum tcb_isa)isa) && tcb_isa_is_of_cpu((enum tcb_isa)isa))
				check_cpu(&problem, &own, pool);
		}
		target_of(i % 2 ? 90 : 80, &target);
		tcb_op_standard(&problem, &target, &geometry);
		if (!test_leaves_out(i))
			attention_emulate(&op, &problem, &target, &geometry, shapes[i / ALL]);
	}
	tcb_pool_destroy(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode_is_right),
		cmocka_unit_test(prefill_is_right),
		cmocka_unit_test(defaults_are_legal),
		cmocka_unit_test(odd_ends_are_not_copied),
		cmocka_unit_test(sinks_and_slopes_that_are_not_finite),
	};
	(void)tcb_tiles_ask(NULL); /* CPU defaults may be of tiles, where there are any */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
