/* SPDX-License-Identifier: MIT
 *
 * attention_decode with wgmma in the emulator: many query heads of a KV head, at shapes with everything that a shape
 * may have, whole and in parts of which some are empty; what it refuses; and data with -inf and NaN.
 */
#include <math.h>
#include <string.h>

#include "attention_emulated.h"
#include "base/gpu_table.h"
#include "base/sizes.h"
#include "instrumented.h"
#include "kernels/attention/attention_gpu_wgmma.h"
#include "kernels/constraint.h"

static const char *const op_names[] = { "attention_decode_f16", "attention_decode_bf16" };
enum { OPS = sizeof(op_names) / sizeof(*op_names) };
#define COUNT(values) (sizeof(values) / sizeof(*(values)))

/* What differs from the default geometry. */
static const struct way {
	unsigned kv, splitk, heads, stages;
	int lead; /* 0: left out */
} ways[] = { { 32, 1, 8, 3, 0 },  { 32, 3, 64, 2, 2 },  { 64, 2, 16, 2, 0 },
	     { 32, 2, 32, 4, 1 }, { 128, 1, 64, 2, 0 }, { 32, 2, 4, 2, 1 } };

static const char *const shapes[] = {
	"1x77x64,h64/1",
	"1x150x128,h32/2,b2,ragged,sinks",
	"3x130x96,h64/2,causal,b2,p8",
	"5x90x72,v40,h16/1,causal,prefix,c20,b3,ragged",
	"4x100x192,v128,h24/1,b3,ragged,causal,alibi",
	"9x140x64,h8/1,w30,causal,sinks,alibi",
	"2x70x80,v16,vk,h48/1,p64,causal,prefix,b2",
	"1x200x64,h64/1,w20,b2,ragged",
	"1x90x576,v512,vk,h128/1,sinks",
	"2x60x576,v512,vk,h16/1,b2,p16,causal,ragged",
	"1x70x328,v264,h32/1,alibi",
	"5x130x64,h8/1,causal", /* two tiles have a mask */
	"1x90x512,h4/1,b2,sinks",
	"20x70x128,h12/3,causal,ragged,b2",
};

static void apply(const struct way *way, const struct tcb_problem *problem, struct tcb_geometry *out)
{
	const size_t heads = tcb_least(way->heads, attention_wgmma_heads(problem)), tokens = 64 / heads;
	const size_t m = tcb_power_of_two_up(problem->shape.m), n = tcb_power_of_two_up(problem->shape.n);
	const size_t k = tcb_power_of_two_up(problem->shape.k);
	out->tile[TCB_MICRO] = out->tile[TCB_MIDI] = (struct tcb_tile){ tokens, way->kv, k };
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_most(m, tokens), tcb_most(n, way->kv), k };
	out->knob[TCB_KNOB_HEADS] = (int32_t)heads;
	out->knob[TCB_KNOB_STAGES] = (int32_t)way->stages;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)tcb_least(way->splitk, tcb_div_up(problem->shape.n, way->kv));
	out->knob[TCB_KNOB_JOIN] = out->knob[TCB_KNOB_SPLITK] > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE;
	if (!way->lead || problem->shape.words.page || problem->shape.words.prefix)
		return;
	out->knob[TCB_KNOB_LEAD] = way->lead;
	out->knob[TCB_KNOB_PDL] = 1;
}

static void open_problem(const struct tcb_op *op, const char *text, struct tcb_problem *problem, struct tcb_gpu *gpu,
			 struct tcb_geometry *out)
{
	struct tcb_error err;
	attention_strided(op, TCB_CONTRACT_F16, text, strlen(text), problem);
	assert_int_equal(tcb_gpu_table(90, gpu, &err), TCB_OK);
	attention_wgmma_default(problem, &gpu->device.target, out);
}

static void every_way_is_right(void **state)
{
	unsigned legal[COUNT(ways)] = { 0 };
	(void)state;
	for (size_t i = 0; i < OPS * COUNT(ways) * COUNT(shapes); i++) {
		const size_t at = i / OPS % COUNT(ways);
		const char *shape = shapes[i / OPS / COUNT(ways)];
		const struct tcb_op *op = tcb_op_find(op_names[i % OPS]);
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		open_problem(op, shape, &problem, &gpu, &geometry);
		apply(&ways[at], &problem, &geometry);
		if (tcb_constraint_require(&problem, &gpu.device.target, &geometry, NULL) != TCB_OK)
			continue; /* too much shared memory, a tile and pages */
		legal[at]++;
		if (!test_leaves_out(i))
			attention_emulate(op, &problem, &gpu.device.target, &geometry, shape);
	}
	for (size_t i = 0; i < COUNT(ways); i++)
		assert_true(legal[i] > 0);
}

static void defaults_are_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < OPS * COUNT(shapes); i++) {
		const struct tcb_op *op = tcb_op_find(op_names[i % OPS]);
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		open_problem(op, shapes[i / OPS], &problem, &gpu, &geometry);
		if (!test_leaves_out(i))
			attention_emulate(op, &problem, &gpu.device.target, &geometry, shapes[i / OPS]);
	}
}

/* Latent attention's 128 heads have it by default, 8 heads of a KV head have not; blocks, contract f32 and other
 * devices never do. */
static void who_has_it(void **state)
{
	static const struct {
		const char *op, *shape;
		enum tcb_contract contract;
		unsigned capability;
		int has, is_usual;
	} rows[] = {
		{ "attention_decode_f16", "1x4096x576,v512,vk,h128/1", TCB_CONTRACT_F16, 90, 1, 1 },
		{ "attention_decode_bf16", "4x4096x576,v512,vk,h16/1,causal", TCB_CONTRACT_F16, 90, 1, 1 },
		{ "attention_decode_f16", "1x4096x64,h64/8", TCB_CONTRACT_F16, 90, 1, 0 },
		{ "attention_decode_f16", "1x4096x128,h32/8", TCB_CONTRACT_F16, 90, 1, 0 },
		{ "attention_decode_f16", "1x4096x128,h16/8", TCB_CONTRACT_F16, 90, 0, 0 },
		{ "attention_decode_f16", "1x4096x128,h80/2", TCB_CONTRACT_F16, 90, 1, 0 },
		{ "attention_decode_f16", "1x4096x576,v512,vk,h128/1", TCB_CONTRACT_F32, 90, 0, 0 },
		{ "attention_decode_f16", "1x4096x576,v512,vk,h128/1", TCB_CONTRACT_F16, 100, 0, 0 },
		{ "attention_decode_q80", "1x4096x576,v512,vk,h128/1", TCB_CONTRACT_F16, 90, 0, 0 },
		{ "attention_decode_f16", "1x4096x576,h64/1", TCB_CONTRACT_F16, 90, 0, 0 }, /* V of 576 */
		{ "attention_decode_f16", "1x4096x64,h64/1,p5", TCB_CONTRACT_F16, 90, 0, 0 },
		{ "attention_decode_f16", "1x4096x64,h64/1,p16,w99", TCB_CONTRACT_F16, 90, 0, 0 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		struct tcb_error err;
		attention_problem(tcb_op_find(rows[i].op), rows[i].contract, rows[i].shape, &problem);
		assert_int_equal(tcb_gpu_table(rows[i].capability, &gpu, &err), TCB_OK);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		assert_int_equal(attention_is_wgmma(&geometry), rows[i].is_usual);
		attention_wgmma_default(&problem, &gpu.device.target, &geometry);
		if ((tcb_constraint_require(&problem, &gpu.device.target, &geometry, NULL) == TCB_OK) != rows[i].has)
			fail_msg("%s %s sm_%u: isa=wgmma is%s legal", rows[i].op, rows[i].shape, rows[i].capability,
				 rows[i].has ? " not" : "");
	}
}

/* A NaN in K of sequence 1, in V of sequence 0; an infinite query head, and K of -inf. */
static void fill_odd(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t row = (size_t)s->words.kv * s->k, v = attention_v(s);
	tcb_op_find(problem->op_name)->fill(problem, seed, operand);
	attention_put(problem, operand, ATTENTION_K, (s->n + 1) * row + 3, NAN);
	attention_put(problem, operand, ATTENTION_V, 2 * s->words.kv * v + 3, NAN);
	for (size_t d = 0; d < s->k; d++) {
		attention_put(problem, operand, ATTENTION_Q, d, d % 2 ? INFINITY : 1);
		attention_put(problem, operand, ATTENTION_Q, s->k + d, 1);
	}
	attention_put(problem, operand, ATTENTION_K, 5 * row + 1, -INFINITY);
}

static void data_that_are_not_finite(void **state)
{
	static const char *const odd[] = { "1x90x64,h64/1,b3", "2x70x96,h32/2,b2,causal,sinks" };
	(void)state;
	for (size_t i = 0; i < OPS * COUNT(odd) * 2; i++) {
		static const struct way parts = { 32, 3, 64, 2 }, whole = { 32, 1, 16, 2 };
		struct tcb_op op = *tcb_op_find(op_names[i % OPS]);
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_gpu gpu;
		op.fill = fill_odd;
		open_problem(&op, odd[i / OPS / 2], &problem, &gpu, &geometry);
		apply(i / OPS % 2 ? &parts : &whole, &problem, &geometry);
		attention_emulate(&op, &problem, &gpu.device.target, &geometry, odd[i / OPS / 2]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_is_right),
		cmocka_unit_test(defaults_are_right),
		cmocka_unit_test(who_has_it),
		cmocka_unit_test(data_that_are_not_finite),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
