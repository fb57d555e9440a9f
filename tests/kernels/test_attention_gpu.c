/* SPDX-License-Identifier: MIT
 *
 * Attention's GPU kernels in the emulator, of decode and prefill: at data with -inf and
 * NaN, at scores far above what exp has, and of prefill tiles of many kinds.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "attention_case.h"
#include "base/gpu_table.h"
#include "instrumented.h"
#include "kernels/emulation.h"

static const char *const op_names[] = { "attention_decode_f16",  "attention_decode_bf16",  "attention_decode_q80",
					"attention_prefill_f16", "attention_prefill_bf16", "attention_prefill_q80" };
enum { OPS = sizeof(op_names) / sizeof(*op_names) };

static void kernels_of_gpus(void **state)
{
	(void)state;
	for (size_t n = 0; n < 2 * OPS; n++) {
		const char *name = op_names[n % OPS];
		const int is_f32 = n >= OPS;
		const struct tcb_ptx_sink sink = { attention_print_finding, NULL };
		struct tcb_kernel_emulation emulation;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_kernel kernel;
		struct tcb_error err;
		struct tcb_op op;
		struct tcb_gpu gpu;
		assert_int_equal(tcb_gpu_table(90, &gpu, &err), TCB_OK);
		attention_odd_problem(name, is_f32 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16, &op, &problem);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		if (tcb_op_side(&op, &gpu.device.target)
				    ->emit(&problem, &gpu.device.target, &geometry, &kernel, &err) != TCB_OK ||
		    tcb_kernel_emulate(&op, &kernel, NULL, ATTENTION_SEED, &sink, &emulation, &err) != TCB_OK)
			fail_msg("%s", err.message);
		assert_int_equal(emulation.findings, 0);
		if (!(emulation.error_ratio <= 1))
			fail_msg("%s: %g of what is allowed", op.name, emulation.error_ratio);
		tcb_kernel_fini(&kernel);
	}
}

/* Tiles of query rows with geometries of their own: more than one warp or warpgroup, heads packed into a tile, blocks
 * that stay, every mask, ends within tiles. */
static void prefill_of_gpus(void **state)
{
#define MMA(midi, micro, more) "midi=" midi ",micro=" micro ",isa=mma,blocks=0,turns=0," more
#define WGMMA(midi, micro, more) "midi=" midi ",micro=" micro ",isa=wgmma," more
	static const struct {
		unsigned capability;
		const char *shape, *geometry;
	} rows[] = {
		{ 80, "45x45x32,h2/1,causal",
		  "macro=64x64x32," MMA("32x32x32", "16x32x32", "stages=2,pdl=0,occ=1,heads=1") },
		{ 86, "19x130x64,h4/1,causal,w40,c9",
		  "macro=32x160x64," MMA("16x80x64", "8x80x64", "stages=3,pdl=0,occ=1,heads=2") },
		{ 89, "70x50x96,h2/2,p5,b2,ragged",
		  "macro=128x64x96," MMA("64x16x96", "32x16x96", "stages=2,pdl=0,occ=1,heads=1") },
		{ 120, "20x75x256,h3/1,b2,ragged,w20",
		  "macro=32x128x256," MMA("16x16x256", "16x16x256", "stages=4,pdl=1,occ=1,heads=1") },
		{ 90, "150x150x64,h1/1,causal",
		  "macro=256x192x64," WGMMA("128x48x64", "64x48x64", "stages=2,blocks=0,pdl=0,occ=1,heads=1,turns=1") },
		{ 90, "130x270x64,h4/2,causal,w100",
		  "macro=192x512x64," WGMMA("96x64x64", "32x64x64", "stages=3,blocks=0,pdl=1,occ=1,heads=2,turns=1") },
		{ 90, "40x140x128,h2/1,p16,b2,ragged,c7",
		  "macro=64x256x128," WGMMA("64x64x128", "64x64x128",
					    "stages=2,blocks=0,pdl=0,occ=1,heads=1,turns=0") },
		{ 90, "90x60x192,h1/1,b2,ragged,causal",
		  "macro=128x64x192," WGMMA("128x32x192", "64x32x192",
					    "stages=2,blocks=0,pdl=0,occ=1,heads=1,turns=0") },
		{ 90, "150x300x128,h4/2,causal,b2,ragged",
		  "macro=256x512x128," WGMMA("128x128x128", "64x128x128",
					     "stages=2,prep=warps,blocks=0,pdl=0,occ=1,heads=1,turns=1") },
		{ 90, "100x130x64,h4/4,w50,c9",
		  "macro=192x192x64," WGMMA("192x64x64", "64x64x64",
					    "stages=3,prep=warps,blocks=0,pdl=1,occ=1,heads=1,turns=0") },
		{ 90, "70x90x256,h2/2,causal,b3,ragged",
		  "macro=128x128x256," WGMMA("128x32x256", "64x32x256",
					     "stages=2,prep=warps,blocks=1,pdl=0,occ=1,heads=1,turns=1") },
		/* three tiles for a block, whose multiprocessors are taken for two */
		{ 90, "300x300x64,h2/1,causal",
		  "macro=512x512x64," WGMMA("128x64x64", "64x64x64", "stages=2,blocks=1,pdl=0,occ=1,heads=1,turns=1") },
	};
	(void)state;
	enum { PREFILLS = 3, FIRST = OPS - PREFILLS };
	for (size_t i = 0; i < 2 * PREFILLS * sizeof(rows) / sizeof(*rows); i++) {
		const struct tcb_ptx_sink sink = { attention_print_finding, NULL };
		const size_t n = i / 2;
		const struct tcb_op *op = tcb_op_find(op_names[FIRST + n % PREFILLS]);
		const int is_blocks = tcb_kv_has_blocks(((const struct attention_op *)op->member)->kv);
		struct tcb_kernel_emulation emulation;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_kernel kernel;
		struct tcb_error err;
		struct tcb_gpu gpu;
		char text[200];
		const int has_prep = strstr(rows[n / PREFILLS].geometry, "prep=") != NULL;
		if ((has_prep && !is_blocks) || test_leaves_out(i) ||
		    (i % 2 && strstr(rows[n / PREFILLS].geometry, "wgmma")))
			continue;
		snprintf(text, sizeof(text), "%s%s", rows[n / PREFILLS].geometry,
			 is_blocks && !has_prep ? ",prep=launch" : "");
		assert_int_equal(tcb_gpu_table(rows[n / PREFILLS].capability, &gpu, &err), TCB_OK);
		attention_strided(op, i % 2 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16, rows[n / PREFILLS].shape,
				  n / PREFILLS, &problem);
		if (strstr(text, "blocks=1"))
			gpu.device.target.cuda.sm_count = 2;
		if (tcb_geometry_parse(text, &geometry, &err) != TCB_OK ||
		    tcb_op_side(op, &gpu.device.target)->emit(&problem, &gpu.device.target, &geometry, &kernel, &err) !=
			    TCB_OK ||
		    tcb_kernel_emulate(op, &kernel, NULL, ATTENTION_SEED, &sink, &emulation, &err) != TCB_OK)
			fail_msg("%s %s %s: %s", op->name, rows[n / PREFILLS].shape, text, err.message);
		assert_int_equal(emulation.findings, 0);
		if (!(emulation.error_ratio <= 1))
			fail_msg("%s %s %s: %g of what is allowed", op->name, rows[n / PREFILLS].shape, text,
				 emulation.error_ratio);
		tcb_kernel_fini(&kernel);
	}
}

/* Scores far above what exp has, from 2^24 units up to what sums in f32 have, equal ones among them; heads of usual
 * ones; and with the last KV head infinite ones only, as far as K may be infinite. */
static void fill_huge(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	static const float spread[4] = { 3e4f, 1, 200, 4e3f };
	const struct tcb_shape *s = &problem->shape;
	const enum tcb_kv kv = attention_of(problem)->kv;
	const enum tcb_type io = attention_io_type(problem);
	const float most = kv == TCB_KV_BF16 ? 1e16f : 3e4f;
	tcb_op_find(problem->op_name)->fill(problem, seed, operand);
	for (size_t i = 0; i < s->words.sequences * s->m * s->words.query * s->k; i++) {
		const size_t h = i / s->k % s->words.query;
		const float value = spread[h % 4] / spread[0] * most * (i % 3 ? 1 : -0.75f);
		tcb_type_from_f32(io, &value, 1, (char *)operand[ATTENTION_Q] + i * tcb_type_bytes(io));
	}
	for (size_t i = 0; i < tcb_kv_tokens(s) * s->words.kv * s->k; i += ATTENTION_BLOCK) {
		const size_t h = i / s->k % s->words.kv, t = i / s->k / s->words.kv;
		float values[ATTENTION_BLOCK];
		for (size_t d = 0; d < ATTENTION_BLOCK; d++)
			values[d] = (h ? 1 : most) * ((float)((t % 5 * 7 + d * 3) % 11) - 5) / 8;
		if (h == s->words.kv - 1 && t < s->n && !tcb_kv_has_blocks(kv))
			values[1] = -INFINITY; /* q is above or below 0 there */
		tcb_kv_from_f32(kv, values, ATTENTION_BLOCK, (char *)operand[ATTENTION_K] + tcb_kv_bytes(kv, i));
	}
}

static void huge_scores_on_gpus(void **state)
{
	static const char *const shapes[] = { "70x70x64,h8/4,causal,b2", "33x90x128,h8/2,w20,causal",
					      "3x60x64,h8/4,b2,causal", "20x75x256,h2/1" };
	static const unsigned capabilities[] = { 80, 90 };
	unsigned checked = 0;
	(void)state;
	for (size_t n = 0; n < OPS * 4 * 2 * 3; n++) { /* once more with group=256, once more of contract f32 */
		const struct tcb_ptx_sink sink = { attention_print_finding, NULL };
		struct tcb_op op = *tcb_op_find(op_names[n % OPS]);
		struct tcb_kernel_emulation emulation;
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		struct tcb_kernel kernel;
		struct tcb_error err;
		struct tcb_shape shape;
		struct tcb_gpu gpu;
		const char *text = shapes[n / OPS % 4];
		if (test_leaves_out(n))
			continue;
		op.fill = fill_huge;
		assert_int_equal(tcb_shape_parse(text, &shape, &err), TCB_OK);
		const size_t most = ((const struct attention_op *)op.member)->tokens_max;
		if (most && shape.m > most)
			continue;
		assert_int_equal(tcb_gpu_table(capabilities[n / OPS / 4 % 2], &gpu, &err), TCB_OK);
		const int is_f32 = n / OPS / 8 == 2;
		attention_problem(&op, is_f32 ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16, text, &problem);
		tcb_op_standard(&problem, &gpu.device.target, &geometry);
		const struct attention_op *of = op.member;
		const int has_group = tcb_kv_has_blocks(of->kv) && of->multiplies_codes;
		if (n / OPS / 8 == 1 && !has_group)
			continue;
		if (has_group)
			geometry.knob[TCB_KNOB_GROUP] = n / OPS / 8 == 1 ? 256 : 0;
		if (tcb_op_side(&op, &gpu.device.target)
				    ->emit(&problem, &gpu.device.target, &geometry, &kernel, &err) != TCB_OK ||
		    tcb_kernel_emulate(&op, &kernel, NULL, ATTENTION_SEED, &sink, &emulation, &err) != TCB_OK)
			fail_msg("%s %s: %s", op.name, text, err.message);
		assert_int_equal(emulation.findings, 0);
		if (!(emulation.error_ratio <= 1))
			fail_msg("%s %s %s sm_%u: %g of what is allowed", op.name, tcb_contract_text(problem.contract),
				 text, capabilities[n / OPS / 4 % 2], emulation.error_ratio);
		tcb_kernel_fini(&kernel);
		checked++;
	}
	assert_in_range(checked, test_takes_all() ? 64 : TEST_IS_INSTRUMENTED ? 1 : 8, 84);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_gpus),
		cmocka_unit_test(prefill_of_gpus),
		cmocka_unit_test(huge_scores_on_gpus),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
