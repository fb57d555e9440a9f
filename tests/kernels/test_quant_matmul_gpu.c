/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls' GPU kernels: layout f, rules and spaces; kernels assembled;
 * mutants of them, caught.  test_quant_matmul_emulated.c has what they compute.
 */
#include "quant_matmul_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "instrumented.h"
#include "kernels/gpu/ptx_code.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_fragments.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"
#include "kernels/quant_matmul/quant_matmul_gpu_plan.h"
#include "ptx/assemble/assemble.h"

/* --- layout f --- */

static int has_gpu_matmul(const struct tcb_format *format)
{
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);
	for (size_t i = 0; i < count; i++)
		if (ops[i]->format == format && tcb_op_gpu(ops[i]) == &qmm_gpu)
			return 1;
	return 0;
}

static void fragments_round_trip(void **state)
{
	static const size_t shapes[][2] = { { 1, 256 }, { 17, 512 }, { 33, 768 }, { 5, 32 }, { 11, 288 }, { 19, 301 } };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 1);
	for (int f = 0; f < TCB_FORMAT_COUNT; f++)
		for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
			const struct tcb_format *format = tcb_format((enum tcb_format_id)f);
			const size_t n = shapes[s][0], k = shapes[s][1];
			if (k % format->block_values || !has_gpu_matmul(format))
				continue;
			const size_t bytes = n * k / format->block_values * format->block_bytes;
			const size_t packed_bytes = qmm_fragments_bytes(format->id, n, k);
			uint8_t *stored = test_malloc(bytes), *packed = test_malloc(packed_bytes);
			uint8_t *back = test_malloc(bytes);
			for (size_t i = 0; i < bytes; i++) /* any bytes are blocks, as far as packing goes */
				stored[i] = (uint8_t)tcb_rng_next(&rng);
			for (int of_bytes = 0; of_bytes < 2; of_bytes++) {
				const enum tcb_layout layout = of_bytes ? TCB_LAYOUT_G : TCB_LAYOUT_F;
				qmm_fragments_pack(format->id, layout, n, k, stored, packed);
				memset(back, 0x5a, bytes);
				qmm_fragments_unpack(format->id, layout, n, k, packed, back);
				assert_memory_equal(stored, back, bytes);
			}
			if (n % QMM_UNIT_ROWS == 0 && k % QMM_UNIT_VALUES == 0)
				assert_int_equal(packed_bytes, bytes);
			test_free(stored);
			test_free(packed);
			test_free(back);
		}
}

/* --- spaces and rules --- */

static void spaces_have_hundreds(void **state)
{
	static const struct tcb_shape shapes[] = { { 8, 4096, 4096 }, { 512, 4096, 14336 }, { 33, 49, 512 } };
	(void)state;
	for (size_t c = 0; c < GPU_CAPABILITIES; c++) {
		const size_t i = c % 3;
		const struct tcb_problem p = problem_of("q4k_matmul", shapes[i].m, shapes[i].n, shapes[i].k);
		const struct tcb_target target = gpu_target(gpu_capabilities[c], 0);
		struct tcb_space *space = gpu_space(&p, &target, 0);
		assert_in_range(space->count, i ? 1 : 50, 8000);
		tcb_space_destroy(space);
		const struct tcb_problem q8 = problem_q8(op_names[c % OPS], shapes[i].m, shapes[i].n, shapes[i].k);
		space = gpu_space(&q8, &target, 0);
		assert_in_range(space->count, i ? 1 : 50, 8000);
		tcb_space_destroy(space);
	}
}

/* The default is legal whatever the shape. */
static void defaults_are_legal(void **state)
{
	static const size_t rows[] = { 1, 7, 17, 1023, 4096, 128256 }, tokens[] = { 1, 2, 8, 33, 4096 };
	static const size_t units[] = { 1, 2, 3, 7, 16, 43, 56, 61, 112, 211 };
	(void)state;
	for (size_t c = 0; c < GPU_CAPABILITIES; c++)
		for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
			for (size_t u = 0; u < sizeof units / sizeof *units; u++)
				for (size_t o = 0; o < OPS; o++) {
					const size_t k = 256 * units[u] + (o == 1 && u < 3 ? 32 * u : 0);
					const size_t m = tokens[(r + u + o) % 5];
					const struct tcb_problem p =
						((r + u) % 2 ? problem_q8 : problem_of)(op_names[o], m, rows[r], k);
					gpu_check_default(&p, gpu_capabilities[c]);
					if (o > 1)
						continue;
					/* Halves, and of few rows of any length. */
					const struct tcb_problem halves =
						problem_of("f16_matmul", m, rows[r], k - (o == 1 && u < 3 ? u : 0));
					gpu_check_default(&halves, gpu_capabilities[c]);
					const struct tcb_problem terms =
						gpu_problem(op_of(o ? "f32_matmul" : "bf16_matmul"), TCB_CONTRACT_F32,
							    halves.shape);
					if (gpu_capabilities[c] >= 80)
						gpu_check_default(&terms, gpu_capabilities[c]);
				}
}

#define STANDARD                                                                                                      \
	"macro=128x4096x4096,midi=128x128x4096,micro=128x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=3,splitk=" \
	"4,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=cluster,xstages=4,cluster=2"

#define TRADED                                                                                                        \
	"macro=512x8192x8192,midi=256x128x8192,micro=256x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=" \
	"1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,xstages=4,cluster=1"

#define MMA "isa=mma,xstages=1,cluster=1,micro=32x16x256,midi=32x128x4096"

static void rules_name_what_is_wrong(void **state)
{
	static const struct {
		const char *changes, *says;
		unsigned capability;
	} cases[] = {
		{ "isa=fma", "isa must be mma or wgmma", 90 },
		{ "isa=wgmma", "no such instructions", 100 },
		{ "layout=g", "layout must be f under contracts f16", 90 },
		{ "macro=128x2048x4096", "macro.n must be", 90 },
		{ "macro=256x4096x4096", "larger than the problem's 128 needs", 90 },
		{ "micro=64x64x256", "midi.m as much", 90 },
		{ "micro=128x32x256,midi=128x64x4096", "micro.n must be 64 or 128", 90 },
		{ "isa=mma,xstages=1,cluster=1", "micro.m must be at most 64", 90 },
		{ MMA ",micro=32x128x256,midi=32x1024x4096", "micro.n must be 16", 90 },
		{ "warps=6", "warps must be 4, 8, 12 or 16", 90 },
		{ MMA ",ksplit=3", "ksplit must divide warps", 90 },
		{ "midi=128x256x4096", "midi.n must be micro.n times", 90 },
		{ "splitk=3,cluster=1", "splitk must divide", 90 },
		{ "splitk=1", "join must be none", 90 },
		{ "join=none", "join must be cluster or last", 90 },
		{ "splitk=16,cluster=1", "8 blocks at most", 90 },
		{ MMA ",copy=ldg", "stages and unroll must be 1", 90 },
		{ MMA ",lead=4", "lead must be at most", 90 },
		{ MMA ",copy=async,join=last,pdl=0", "needs sm_80", 75 },
		{ MMA ",join=last,pdl=0", "needs sm_90", 89 },
		{ MMA ",join=last", "needs sm_90", 89 },
		{ "stages=6,lead=6", "more stages than tiles", 90 },
		{ "stages=1,lead=1,xstages=4", "stages must be 2 or more", 90 },
		{ "ksplit=2,midi=128x64x4096", "ksplit must be 1", 90 },
		{ MMA ",xstages=2", "xstages must be 1", 90 },
		{ "blocks=1", "splitk and cluster must be 1 where streamed blocks stay", 90 },
		{ "blocks=1,splitk=1,cluster=1", "join must be last where streamed blocks stay", 90 },
		{ MMA ",copy=async,prep=launch,xstages=3,blocks=1,splitk=1,join=none", "blocks must be 0", 90 },
		{ "cluster=3", "cluster must be 1, 2 or 4", 90 },
		{ "cluster=4", "more than the 8", 90 },
		{ "occ=16", "more warps than an SM holds", 90 },
		{ "warps=16,midi=128x256x4096", "quarter of an SM", 90 },
		{ "prep=block", "xstages must be 1", 90 },
		{ MMA ",copy=async,prep=grid", "copy must be bulk with prep=grid", 90 },
		{ "xstages=1", "cluster must be 1", 90 },
		{ MMA ",join=last,copy=async,pdl=1", "pdl=1 needs sm_90", 89 },
		{ MMA ",splitk=2,blocks=2,occ=2", "one round of rows", 90 },
		{ MMA ",prep=warps,copy=async,join=last,pdl=0", "copy must be bulk with prep=warps", 90 },
		{ "prep=warps,xstages=1,cluster=1,micro=128x64x256", "at most 64 with prep=warps", 90 },
		{ "pdl=0,micro=128x64x256,occ=1,stages=2,lead=2,join=last,cluster=1", "more than one knob", 90 },
	};
	const struct tcb_problem p = problem_of("q4k_matmul", 128, 4096, 4096);
	const struct tcb_geometry standard = gpu_geometry(STANDARD);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tcb_geometry g = gpu_geometry_changed(STANDARD, cases[i].changes);
		gpu_check_rule(&p, cases[i].capability, &g, 0, cases[i].says);
	}
	gpu_check_rule(&p, 90, &standard, 0, NULL);
}

#define FEW "isa=mma,xstages=1,cluster=1,micro=8x16x256,midi=8x128x4096"

/* The word bits: sums of each half of K, whatever multiplies. */
static void rules_of_the_word_bits(void **state)
{
	static const struct {
		const char *op, *changes, *says;
		size_t k;
	} cases[] = {
		{ "q4k_matmul", "splitk=2", NULL, 4096 },
		{ "q4k_matmul", "splitk=1,join=none", NULL, 4096 },
		{ "q4k_matmul", FEW ",splitk=2", NULL, 4096 },
		{ "q4k_matmul", FEW ",splitk=1,join=none,ksplit=2,midi=8x64x4096", NULL, 4096 },
		{ "q4k_matmul", FEW ",splitk=1,join=none,unroll=4,stages=2,lead=2", NULL, 4096 },
		{ "q4k_matmul", "splitk=4", "splitk times ksplit must be 1, or 2", 4096 },
		{ "q4k_matmul", FEW ",splitk=2,ksplit=2,midi=8x64x4096", "splitk times ksplit must be 1, or 2", 4096 },
		{ "q4k_matmul", "splitk=1,blocks=1,join=last,cluster=1", "blocks may not stay", 4096 },
		{ "q4k_matmul", FEW ",splitk=1,join=none,unroll=2,stages=2,lead=2", "must divide the units", 1536 },
		{ "q4k_matmul", FEW ",splitk=3,join=cluster,stages=1,lead=1", "splitk times ksplit must be 1", 768 },
		{ "bf16_matmul", "splitk=1,join=none,stages=2,lead=2,cluster=1,micro=64x64x256,midi=64x128x4096",
		  "isa must be mma where activations are in terms", 4096 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const size_t k = cases[i].k;
		const int has_terms = strncmp(cases[i].op, "bf16", 4) == 0;
		const struct tcb_shape shape = { .m = 128, .n = 4096, .k = k, .words.bits = 1 };
		const struct tcb_problem p =
			gpu_problem(tcb_op_find(cases[i].op), has_terms ? TCB_CONTRACT_F32 : TCB_CONTRACT_F16, shape);
		struct tcb_geometry g = gpu_geometry_changed(STANDARD, cases[i].changes);
		g.tile[TCB_MACRO].k = g.tile[TCB_MIDI].k = (uint32_t)k;
		gpu_check_rule(&p, 90, &g, 1, cases[i].says);
	}
}

static void rules_of_q8(void **state)
{
	static const struct {
		const char *op, *changes, *says;
	} cases[] = {
		{ "q4k_matmul", MMA ",layout=f", "layout must be g under contract q8" },
		{ "q4k_matmul", MMA ",group=32", NULL },
		{ "q6k_matmul", MMA ",group=256", NULL },
		{ "q4k_matmul", MMA ",group=64", "group must be 32 or 256" },
		{ "q40_matmul", MMA ",group=256", "blocks are of 32" },
		{ "q4k_matmul", "group=32", "isa must be mma under contract q8" },
	};
	const struct tcb_problem f16 = problem_of("q4k_matmul", 128, 4096, 4096);
	struct tcb_geometry g = gpu_geometry(STANDARD ",group=32");
	char q8_standard[TCB_GEOMETRY_TEXT_MAX];
	(void)state;
	gpu_check_rule(&f16, 90, &g, 0, "group has no effect");
	g.knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_G;
	tcb_geometry_print(&g, q8_standard);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tcb_problem p = problem_q8(cases[i].op, 128, 4096, 4096);
		g = gpu_geometry_changed(q8_standard, cases[i].changes);
		gpu_check_rule(&p, 90, &g, 1, cases[i].says);
	}
}

/* --- the assembler --- */

/* The default geometry of each format for each target, and one with wgmma; likewise of halves, whose default is
 * that on sm_90. */
static void kernels_assemble(void **state)
{
	struct tcb_assembler_info info;
	(void)state;
	if (tcb_assembler_find(&info, NULL) != TCB_OK)
		skip_because("no assembler for PTX");
	for (size_t i = 0; i <= 2 * GPU_CAPABILITIES; i++) {
		const size_t c = i / 2;
		const int is_wgmma = c == GPU_CAPABILITIES, is_half = i % 2;
		const struct tcb_problem p = (c % 2 && !is_wgmma && !is_half ? problem_q8 : problem_of)(
			is_half ? "f16_matmul" : op_names[c / 2 % OPS], 128, 4096, 4096);
		const struct tcb_target target = gpu_target(is_wgmma ? 90 : gpu_capabilities[c], 0);
		struct tcb_geometry g = gpu_geometry(STANDARD);
		struct tcb_kernel kernel;
		struct tcb_str text = { 0 };
		struct tcb_assembly assembly;
		struct tcb_ptx_resources resources;
		if (!is_wgmma)
			tcb_op_standard(&p, &target, &g);
		gpu_emit(&p, &target, &g, &kernel);
		tcb_kernel_print(&kernel, &text);
		tcb_assemble(&info, text.data, text.length, &tcb_kernel_ptx(&kernel)->module->target, 60, &assembly);
		if (assembly.status != TCB_OK || strstr(assembly.log, "serialized"))
			fail_msg("%s, sm_%u: %s", p.op_name, target.cuda.capability, assembly.log);
		assert_true(tcb_assembly_resources(&assembly, "qmm_matmul", &resources));
		tcb_assembly_fini(&assembly);
		tcb_str_fini(&text);
		tcb_kernel_fini(&kernel);
	}
}

/* Two groups of warps with 256 tokens: what a third gives them is enough in all formats. */
static void traded_registers_are_enough(void **state)
{
	struct tcb_assembler_info info;
	(void)state;
	if (tcb_assembler_find(&info, NULL) != TCB_OK)
		skip_because("no assembler for PTX");
	for (size_t i = 0; i < 2 * OPS; i++) {
		if (test_defers(i))
			continue;
		const size_t o = i % OPS;
		const struct tcb_problem p = problem_of(op_names[o], 512, 8192, 8192);
		const struct tcb_target target = gpu_target(90, 0);
		const struct tcb_ptx_target ptx_target = { 90, 'a' };
		const struct tcb_geometry g = gpu_geometry_changed(TRADED, i < OPS ? "prep=launch" : "prep=grid");
		struct tcb_kernel kernel;
		struct tcb_str text = { 0 };
		struct tcb_assembly assembly;
		struct tcb_ptx_resources resources;
		gpu_check_rule(&p, 90, &g, 0, NULL);
		gpu_emit(&p, &target, &g, &kernel);
		assert_int_equal(kernel.launch[kernel.launch_count - 1].block[0], 384);
		tcb_kernel_print(&kernel, &text);
		tcb_assemble(&info, text.data, text.length, &ptx_target, 60, &assembly);
		if (assembly.status != TCB_OK)
			fail_msg("%s: %s", op_names[o], assembly.log);
		assert_true(tcb_assembly_resources(&assembly, "qmm_matmul", &resources));
		assert_int_equal(resources.registers, 168);
		if (resources.spill_store_bytes || strstr(assembly.log, "serialized") ||
		    strstr(assembly.log, "ignored"))
			fail_msg("%s: %s", op_names[o], assembly.log);
		tcb_assembly_fini(&assembly);
		tcb_str_fini(&text);
		tcb_kernel_fini(&kernel);
	}
}

/* --- launches --- */

/* SMs that a grid leaves over do not get two blocks of the next one; where none are left over, nothing is asked for. */
static void grids_are_spread(void **state)
{
	static const struct {
		const char *geometry;
		int is_spread;
	} cases[] = {
		{ "macro=64x4096x4096,midi=64x64x4096,micro=64x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=3,"
		  "splitk=2,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages="
		  "4",
		  1 },
		{ "macro=8x4096x4096,midi=8x32x4096,micro=8x16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,"
		  "splitk=2,ksplit=4,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1",
		  0 },
		{ "macro=8x4096x4096,midi=8x64x4096,micro=8x16x256,isa=mma,layout=f,unroll=1,warps=8,stages=2,"
		  "splitk=4,ksplit=2,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,cluster=1,xstages=1",
		  1 },
	};
	const struct tcb_target target = gpu_target(90, 132);
	const size_t half = (tcb_shared_limit(&target) + 1024) / 2;
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tcb_geometry g = gpu_geometry(cases[i].geometry);
		const struct tcb_problem p = problem_of("q4k_matmul", g.tile[TCB_MACRO].m, 4096, 4096);
		const struct tcb_launch *last;
		struct tcb_footprint footprint;
		struct tcb_kernel kernel;
		gpu_emit(&p, &target, &g, &kernel);
		last = &kernel.launch[kernel.launch_count - 1];
		tcb_space_of(&p, &target, &g)->footprint(&p, &target, &g, &footprint);
		assert_int_equal(last->shared_bytes, footprint.shared_bytes);
		if (cases[i].is_spread)
			assert_true(last->shared_bytes + 1024 > half &&
				    last->shared_bytes <= tcb_shared_limit(&target));
		else
			assert_true(last->shared_bytes + 1024 <= half);
		tcb_kernel_fini(&kernel);
	}
}

/* --- mutants --- */

static void mutants_are_caught(void **state)
{
	static const char mma[] = "macro=32x128x1024,midi=16x32x1024,micro=16x16x256,isa=mma,layout=f,unroll=1,warps=4,"
				  "stages=1,splitk=2,ksplit=2,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,"
				  "join=cluster,xstages=1,cluster=1";
	static const char wgmma[] = "macro=32x128x1024,midi=16x64x1024,micro=16x64x256,isa=wgmma,layout=f,unroll=1,"
				    "warps=4,stages=2,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,"
				    "occ=1,join=none,xstages=3,cluster=2";
	static const char fine[] =
		"macro=32x128x1024,midi=16x64x1024,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=4,"
		"stages=1,splitk=1,ksplit=1,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,"
		"join=none,xstages=1,cluster=1,group=32";
	static const char rolling[] = "macro=32x128x1024,midi=16x64x1024,micro=16x16x256,isa=mma,layout=g,unroll=1,"
				      "warps=4,stages=2,splitk=1,ksplit=1,copy=async,prep=launch,lead=2,blocks=0,pdl=0,"
				      "occ=1,join=none,xstages=2,cluster=1,group=32";
	static const char coarse[] = "macro=32x128x1024,midi=16x64x1024,micro=16x16x256,isa=mma,layout=g,unroll=1,"
				     "warps=4,stages=1,splitk=1,ksplit=1,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,"
				     "occ=1,join=none,xstages=1,cluster=1,group=256";
	static const char beside[] = "macro=32x128x1024,midi=32x32x1024,micro=32x16x256,isa=mma,layout=f,unroll=1,"
				     "warps=4,stages=2,splitk=1,ksplit=2,copy=bulk,prep=warps,lead=2,blocks=0,pdl=1,"
				     "occ=1,join=none,xstages=1,cluster=1";
	static const struct {
		const char *what, *geometry;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing, warps that prepare", beside, { NOTHING, TCB_PTX_OP_MMA, 0 } },
		{ "no wait for what they prepare", beside, { REMOVE, TCB_PTX_OP_MBARRIER_TRY_WAIT, 1 } },
		{ "a unit that is never there", beside, { REMOVE, TCB_PTX_OP_MBARRIER_ARRIVE, 1 } },
		{ "activations stored at the wrong place", beside, { MOVE, TCB_PTX_OP_ST, 3 } },
		{ "nothing", mma, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "nothing, wgmma", wgmma, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "no barrier behind the activations", mma, { REMOVE, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "no wait for the copy", mma, { REMOVE, TCB_PTX_OP_MBARRIER_TRY_WAIT, 0 } },
		{ "too few bytes waited for", mma, { CONSTANT, TCB_PTX_OP_MBARRIER_ARRIVE_EXPECT_TX, 1 } },
		{ "activations from the wrong place", mma, { MOVE, TCB_PTX_OP_LDMATRIX, 3 } },
		{ "a product left out", mma, { REMOVE, TCB_PTX_OP_MMA, 5 } },
		{ "parts sent to the wrong place", mma, { MOVE, TCB_PTX_OP_ST_ASYNC, 1 } },
		{ "no wait for the parts", mma, { REMOVE, TCB_PTX_OP_MBARRIER_TRY_WAIT, 1 } },
		{ "results past the last row", wgmma, { UNGUARD, TCB_PTX_OP_ST, 2 } },
		{ "registers not fenced", wgmma, { REMOVE, TCB_PTX_OP_WGMMA_FENCE, 1 } },
		{ "no wait for the products", wgmma, { REMOVE, TCB_PTX_OP_WGMMA_WAIT_GROUP, 4 } },
		{ "a slot never freed", wgmma, { REMOVE, TCB_PTX_OP_MBARRIER_ARRIVE, 0 } },
		{ "nothing, q8", fine, { NOTHING, TCB_PTX_OP_MMA, 0 } },
		{ "a product left out, q8", fine, { REMOVE, TCB_PTX_OP_MMA, 3 } },
		{ "the product of mins left out, q8", fine, { REMOVE, TCB_PTX_OP_MMA, 16 } },
		{ "activations from the wrong place, q8", fine, { MOVE, TCB_PTX_OP_LDMATRIX, 3 } },
		{ "the largest of the wrong lanes, q8", fine, { CONSTANT, TCB_PTX_OP_SHFL, 1 } },
		{ "nothing, q8 in groups of 256", coarse, { NOTHING, TCB_PTX_OP_MMA, 0 } },
		{ "a scale of the wrong run, q8", coarse, { CONSTANT, TCB_PTX_OP_SHR, 30 } },
		{ "the product of mins left out, 256", coarse, { REMOVE, TCB_PTX_OP_MMA, 17 } },
		{ "nothing, activations in a ring", rolling, { NOTHING, TCB_PTX_OP_MMA, 0 } },
		{ "no barrier between slots", rolling, { REMOVE, TCB_PTX_OP_BAR_SYNC, 1 } },
		{ "copies not waited for", rolling, { REMOVE, TCB_PTX_OP_CP_ASYNC_WAIT_GROUP, 0 } },
		{ "a copy to the wrong place", rolling, { MOVE, TCB_PTX_OP_CP_ASYNC, 12 } },
		{ "a wrong code, q8", coarse, { CONSTANT, TCB_PTX_OP_PRMT, 12 } },
	};
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_geometry g = gpu_geometry(cases[i].geometry);
		const struct tcb_problem p = (g.knob[TCB_KNOB_GROUP] == TCB_KNOB_UNSET ? problem_of : problem_q8)(
			"q4k_matmul", 21, 77, 1024);
		struct gpu_bench bench;
		gpu_bench_open(&bench, &p, 9);
		snprintf(bench.what, sizeof bench.what, "%s", cases[i].what);
		gpu_bench_check_mutant(&bench, &target, &g, &cases[i].mutation);
		gpu_bench_close(&bench);
	}
}

/* Codes that are looked up. */
static void mutants_of_tables(void **state)
{
	static const char f16[] = "macro=32x128x1024,midi=16x32x1024,micro=16x16x256,isa=mma,layout=f,unroll=1,warps=4,"
				  "stages=1,splitk=2,ksplit=2,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,occ=1,"
				  "join=cluster,xstages=1,cluster=1";
	static const char q8[] = "macro=32x128x1024,midi=16x64x1024,micro=16x16x256,isa=mma,layout=g,unroll=1,"
				 "warps=4,stages=1,splitk=1,ksplit=1,copy=bulk,prep=block,lead=1,blocks=0,pdl=1,"
				 "occ=1,join=none,xstages=1,cluster=1,group=256";
	static const struct {
		const char *what, *op, *geometry;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", "mxfp4_matmul", f16, { NOTHING, TCB_PTX_OP_LOP3, 0 } },
		{ "signs of the wrong bits", "mxfp4_matmul", f16, { CONSTANT, TCB_PTX_OP_SHL, 18 } },
		{ "sizes of the wrong codes", "mxfp4_matmul", f16, { CONSTANT, TCB_PTX_OP_SHR, 18 } },
		{ "a power of the wrong bits", "mxfp4_matmul", f16, { CONSTANT, TCB_PTX_OP_SHR, 14 } },
		{ "nothing", "iq4xs_matmul", f16, { NOTHING, TCB_PTX_OP_LOP3, 0 } },
		{ "nothing, q8", "iq4xs_matmul", q8, { NOTHING, TCB_PTX_OP_LOP3, 0 } },
		{ "the wrong half of the table", "iq4xs_matmul", q8, { CONSTANT, TCB_PTX_OP_LOP3, 2 } },
	};
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_geometry g = gpu_geometry(cases[i].geometry);
		const struct tcb_problem p =
			(cases[i].geometry == q8 ? problem_q8 : problem_of)(cases[i].op, 21, 77, 1024);
		struct gpu_bench bench;
		gpu_bench_open(&bench, &p, 9);
		snprintf(bench.what, sizeof bench.what, "%s", cases[i].what);
		gpu_bench_check_mutant(&bench, &target, &g, &cases[i].mutation);
		gpu_bench_close(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fragments_round_trip),        cmocka_unit_test(spaces_have_hundreds),
		cmocka_unit_test(defaults_are_legal),          cmocka_unit_test(rules_name_what_is_wrong),
		cmocka_unit_test(rules_of_the_word_bits),      cmocka_unit_test(kernels_assemble),
		cmocka_unit_test(traded_registers_are_enough), cmocka_unit_test(grids_are_spread),
		cmocka_unit_test(mutants_are_caught),          cmocka_unit_test(rules_of_q8),
		cmocka_unit_test(mutants_of_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
