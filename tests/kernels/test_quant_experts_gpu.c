/* SPDX-License-Identifier: MIT
 *
 * The products of experts on GPUs, in the emulator: every kind and format, every
 * way to write a kernel, any routing: nobody, everybody, twice, and ids that are
 * no expert's; what the rules say; spaces, defaults; kernels assembled, and
 * mutants of them, caught.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "expert_routings.h"
#include "gpu_bench.h"
#include "instrumented.h"
#include "kernels/quant_experts/quant_experts.h"
#include "kernels/signature.h"
#include "ptx/assemble/assemble.h"

static const char *const formats[] = { "q4k", "q40", "q80", "q5k", "q6k", "mxfp4", "iq4xs", "iq4nl" };
enum { FORMATS = sizeof formats / sizeof *formats };
/* Those whose codes are expanded. */
static const char *const expanded[] = { "q50",  "q51",   "q41",    "q3k",  "q2k",  "iq3s", "iq3xxs",
					"iq2s", "iq2xs", "iq2xxs", "iq1s", "iq1m", "nvfp4" };
enum { EXPANDED = sizeof expanded / sizeof *expanded };
static const char *const kinds[] = { "experts_matmul", "experts_swiglu_matmul", "experts_sum_matmul" };
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct tcb_problem problem_under(enum tcb_contract contract, const char *format, const char *kind,
					const char *text)
{
	char name[TCB_OP_NAME_MAX];
	struct tcb_shape shape;
	struct tcb_error err;
	if (tcb_shape_parse(text, &shape, &err) != TCB_OK)
		fail_msg("%s", err.message);
	snprintf(name, sizeof name, "%s_%s", format, kind);
	return gpu_problem(tcb_op_find(name), contract, shape);
}

static struct tcb_problem problem_of(const char *format, const char *kind, const char *text)
{
	return problem_under(TCB_CONTRACT_F16, format, kind, text);
}

/* --- any routing --- */

/* All but those of the bits of BUT. */
static void check_routings(const struct tcb_problem *p, const struct tcb_target *target, const struct tcb_geometry *g,
			   unsigned but)
{
	struct gpu_bench bench;
	gpu_bench_open(&bench, p, 1);
	for (int r = 0; r < ROUTINGS; r++) {
		if (but >> r & 1)
			continue;
		route(&p->shape, (enum routing)r, bench.data[QEX_IDS]);
		snprintf(bench.what, sizeof bench.what, "%s", routing_names[r]);
		gpu_bench_refer(&bench);
		gpu_bench_check(&bench, target, g, (uint64_t)r, NULL);
	}
	gpu_bench_close(&bench);
}

/* Ways in which items, warps and tokens go. */
static const struct way {
	const char *shape, *geometry;
	unsigned capability;
} ways[] = {
	{ "13x37x512,e5/3",
	  "macro=16x64x512,midi=8x64x512,micro=8x16x256,isa=mma,layout=f,warps=4,stages=2,ksplit=1,copy=async,"
	  "prep=launch,blocks=1,pdl=0,occ=1",
	  80 },
	{ "13x37x512,e5/3",
	  "macro=16x64x512,midi=16x32x512,micro=16x16x256,isa=mma,layout=f,warps=4,stages=3,ksplit=2,copy=async,"
	  "prep=launch,blocks=2,pdl=1,occ=2",
	  90 },
	{ "39x37x768,e3/2",
	  "macro=64x64x768,midi=16x16x768,micro=16x16x256,isa=mma,layout=f,warps=3,stages=2,ksplit=3,copy=async,"
	  "prep=launch,blocks=1,pdl=1,occ=1",
	  90 },
	{ "5x37x512,e4/1",
	  "macro=8x64x512,midi=8x32x512,micro=8x16x256,isa=mma,layout=f,warps=2,stages=2,ksplit=1,copy=ldg,"
	  "prep=launch,blocks=1,pdl=0,occ=1",
	  75 },
	{ "70x37x256,e2/2",
	  "macro=128x64x256,midi=64x64x256,micro=64x16x256,isa=mma,layout=f,warps=4,stages=4,ksplit=1,copy=async,"
	  "prep=launch,blocks=1,pdl=0,occ=1",
	  100 },
	{ "13x37x512,e5/3",
	  "macro=16x64x512,midi=8x32x512,micro=8x16x256,isa=mma,layout=f,warps=4,stages=2,ksplit=2,copy=async,"
	  "prep=block,blocks=2,pdl=1,occ=2",
	  90 },
	{ "5x37x512,e40/6",
	  "macro=8x64x512,midi=8x64x512,micro=8x16x256,isa=mma,layout=f,warps=4,stages=3,ksplit=1,copy=async,"
	  "prep=block,blocks=1,pdl=0,occ=1",
	  80 },
	{ "21x37x256,e2/2",
	  "macro=32x64x256,midi=16x32x256,micro=16x16x256,isa=mma,layout=f,warps=2,stages=2,ksplit=1,copy=ldg,"
	  "prep=block,blocks=1,pdl=0,occ=1",
	  75 },
	{ "70x150x512,e2/2",
	  "macro=128x256x512,midi=64x128x512,micro=64x64x256,isa=wgmma,layout=f,warps=8,stages=2,ksplit=1,copy=async,"
	  "prep=launch,blocks=1,pdl=1,occ=1",
	  90 },
	{ "21x150x512,e3/2",
	  "macro=32x256x512,midi=16x64x512,micro=16x64x256,isa=wgmma,layout=f,warps=8,stages=2,ksplit=2,copy=async,"
	  "prep=block,blocks=1,pdl=0,occ=1",
	  90 },
	{ "13x37x1024,e5/3",
	  "macro=16x64x1024,midi=16x32x1024,micro=16x16x256,isa=mma,layout=f,warps=4,stages=3,ksplit=2,copy=bulk,"
	  "prep=launch,blocks=2,pdl=1,occ=2",
	  90 },
	{ "13x37x1024,e5/3",
	  "macro=16x64x1024,midi=8x32x1024,micro=8x16x256,isa=mma,layout=f,warps=4,stages=2,ksplit=2,copy=bulk,"
	  "prep=block,blocks=2,pdl=1,occ=2",
	  120 },
	{ "5x37x768,e40/6",
	  "macro=8x64x768,midi=8x64x768,micro=8x16x256,isa=mma,layout=f,warps=4,stages=3,ksplit=1,copy=bulk,"
	  "prep=block,blocks=1,pdl=0,occ=1",
	  100 },
	{ "21x37x256,e5/2",
	  "macro=32x64x256,midi=8x32x256,micro=8x16x256,isa=mma,layout=f,warps=2,stages=2,ksplit=1,copy=bulk,"
	  "prep=block,blocks=1,pdl=0,occ=1",
	  90 },
	{ "70x150x512,e2/2",
	  "macro=128x256x512,midi=64x128x512,micro=64x64x256,isa=wgmma,layout=f,warps=8,stages=3,ksplit=1,copy=bulk,"
	  "prep=launch,blocks=1,pdl=1,occ=1",
	  90 },
	{ "21x150x512,e3/2",
	  "macro=32x256x512,midi=16x64x512,micro=16x64x256,isa=wgmma,layout=f,warps=8,stages=2,ksplit=2,copy=bulk,"
	  "prep=block,blocks=1,pdl=0,occ=1",
	  90 },
};
enum { WAYS = sizeof ways / sizeof *ways };

static void any_routing_is_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS * KINDS; i++) {
		const struct way *way = &ways[i % WAYS];
		const struct tcb_problem p = problem_of(formats[(i + i / WAYS) % FORMATS], kinds[i / WAYS], way->shape);
		const struct tcb_target target = gpu_target(way->capability, 2);
		const struct tcb_geometry g = gpu_geometry(way->geometry);
		if (test_leaves_out(i))
			continue;
		gpu_check_rule(&p, way->capability, &g, 1, NULL);
		gpu_check_emitted(&p, &target, &g);
		check_routings(&p, &target, &g, i / WAYS == 0 ? 0 : 5u << i % 2);
	}
}

/* Weights that are values: contract f16 alone, decoded by bits and by the conversion of sm_89; with the registers that
 * their kernels take. */
static void any_routing_is_right_fp8(void **state)
{
	size_t tried = 0;
	(void)state;
	for (size_t i = 0; i < WAYS; i++) {
		const struct tcb_problem p = problem_of("fp8", kinds[i % KINDS], ways[i].shape);
		const struct tcb_target target = gpu_target(ways[i].capability, 2);
		const struct tcb_geometry g = gpu_geometry(ways[i].geometry);
		char why[TCB_WHY_MAX];
		if (test_leaves_out(i) || tcb_constraint_violated(p.op, &p, &target, &g, 1, why))
			continue;
		gpu_check_emitted(&p, &target, &g);
		check_routings(&p, &target, &g, ~(1u << SOME_BAD | 1u << i % ROUTINGS));
		tried++;
	}
	assert_true(!test_takes_all() || tried > WAYS / 4);
}

/* Where 256 does not divide K, units are as long as the others, and full of zeros. */
static void any_k_is_right(void **state)
{
	static const char geometry[] = "macro=16x64x544,midi=8x64x544,micro=8x16x32,isa=mma,layout=f,warps=4,stages=2,"
				       "ksplit=1,copy=bulk,prep=launch,blocks=1,pdl=1,occ=1";
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const struct tcb_problem p = problem_under(i / 2 ? TCB_CONTRACT_Q8 : TCB_CONTRACT_F16,
							   i / 2 ? "q80" : "q40", kinds[i % KINDS], "13x37x544,e5/3");
		struct tcb_geometry g = gpu_geometry_changed(geometry, i % 2 ? "prep=block,stages=3" : "copy=bulk");
		if (i / 2) {
			g.knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_G;
			g.knob[TCB_KNOB_GROUP] = 32;
		}
		gpu_check_rule(&p, 90, &g, 1, NULL);
		gpu_check_emitted(&p, &target, &g);
		check_routings(&p, &target, &g, ~(1u << DRAWN));
	}
}

/* Contract q8: records with scales of 32 values or of 256, with sums for mins or without, gathered or made. */
static void any_routing_is_right_q8(void **state)
{
	(void)state;
	for (size_t i = 0; i < FORMATS * 3; i++) {
		const struct way *way = &ways[i % WAYS];
		const struct tcb_problem p =
			problem_under(TCB_CONTRACT_Q8, formats[i % FORMATS], kinds[i % KINDS], way->shape);
		const struct tcb_target target = gpu_target(way->capability, 2);
		const int is_coarse = i / FORMATS == 1 && tcb_quant_group(p.op->format) == 256;
		char text[TCB_GEOMETRY_TEXT_MAX];
		if (strstr(way->geometry, "wgmma") || strstr(way->geometry, "micro=64x") || test_leaves_out(i))
			continue;
		snprintf(text, sizeof text, "%s,group=%d", way->geometry, is_coarse ? 256 : 32);
		strstr(text, "layout=f")[7] = 'g';
		const struct tcb_geometry g = gpu_geometry(text);
		gpu_check_rule(&p, way->capability, &g, 1, NULL);
		gpu_check_emitted(&p, &target, &g);
		check_routings(&p, &target, &g, ~(1u << SOME_BAD | 1u << i % ROUTINGS));
	}
}

/* What words ask for besides: gpt-oss's biases and gate, and experts that all tokens use; where a warp has a group's
 * whole sums and where several add theirs, of both instructions and contracts. */
static void words_are_right(void **state)
{
	static const struct {
		const char *kind, *words;
		size_t way;
	} cases[] = {
		{ "experts_swiglu_matmul", ",bias,oai", 0 },   { "experts_swiglu_matmul", ",oai", 3 },
		{ "experts_swiglu_matmul", ",bias,oai", 5 },   { "experts_swiglu_matmul", ",shared1,bias,gelu", 1 },
		{ "experts_sum_matmul", ",bias", 1 },          { "experts_sum_matmul", ",shared2,bias", 6 },
		{ "experts_matmul", ",each,shared1,bias", 7 }, { "experts_swiglu_matmul", ",bias,oai", 8 },
		{ "experts_sum_matmul", ",shared1,bias", 9 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct way *way = &ways[cases[i].way];
		const int is_q8 = i % 2 == 0 && !strstr(way->geometry, "wgmma");
		char shape[TCB_SHAPE_TEXT_MAX], text[TCB_GEOMETRY_TEXT_MAX];
		snprintf(shape, sizeof shape, "%s%s", way->shape, cases[i].words);
		snprintf(text, sizeof text, "%s%s", way->geometry, is_q8 ? ",group=32" : "");
		if (is_q8)
			strstr(text, "layout=f")[7] = 'g';
		const struct tcb_problem p = problem_under(is_q8 ? TCB_CONTRACT_Q8 : TCB_CONTRACT_F16,
							   i % 3 ? "mxfp4" : "q4k", cases[i].kind, shape);
		const struct tcb_target target = gpu_target(way->capability, 2);
		const struct tcb_geometry g = gpu_geometry(text);
		if (test_leaves_out(i))
			continue;
		gpu_check_rule(&p, way->capability, &g, 1, NULL);
		gpu_check_emitted(&p, &target, &g);
		check_routings(&p, &target, &g, ~(1u << SOME_BAD | 1u << DRAWN));
	}
}

/* A pair for many tokens is a mixture of one expert, whose matrices are packed as the matmul has them: by the layouts
 * of GPUs and of CPUs. */
static void one_expert_is_packed_as_a_product(void **state)
{
	static const enum tcb_layout layouts[] = { TCB_LAYOUT_F, TCB_LAYOUT_G, TCB_LAYOUT_R16 };
	(void)state;
	for (size_t i = 0; i < 3 * FORMATS; i++) {
		const struct tcb_problem pair = problem_of(formats[i % FORMATS], kinds[1], "40x48x512,e1/1");
		const struct tcb_problem product = problem_of(formats[i % FORMATS], "matmul", "40x48x512");
		const enum tcb_layout layout = layouts[i / FORMATS];
		struct gpu_bench bench;
		gpu_bench_open(&bench, &pair, i);
		const size_t bytes = 2 * bench.operand[0].bytes;
		unsigned char *own = test_calloc(bytes, 1), *wanted = test_calloc(bytes, 1);
		for (size_t which = TCB_QUANT_WEIGHTS; which <= QEX_UP; which += QEX_UP) {
			pair.op->pack(&pair, which, layout, bench.data[which], own);
			product.op->pack(&product, TCB_QUANT_WEIGHTS, layout, bench.data[which], wanted);
			assert_memory_equal(own, wanted, bytes);
		}
		test_free(own);
		test_free(wanted);
		gpu_bench_close(&bench);
	}
}

/* Expanded formats: places meet their grids in shared memory beside all that a step has there. */
static void expanded_formats_are_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * EXPANDED; i++) {
		const size_t turn = i / EXPANDED;
		const struct way *way = &ways[(i + turn) % WAYS];
		const int is_wide = strstr(way->geometry, "micro=64x16") != NULL; /* registers for one matrix */
		const int is_q8 = turn && !is_wide && !strstr(way->geometry, "wgmma");
		const struct tcb_problem p =
			problem_under(is_q8 ? TCB_CONTRACT_Q8 : TCB_CONTRACT_F16, expanded[i % EXPANDED],
				      kinds[is_wide ? 0 : (i + turn) % KINDS], way->shape);
		const struct tcb_target target = gpu_target(way->capability, 2);
		char text[TCB_GEOMETRY_TEXT_MAX];
		if (test_leaves_out(i))
			continue;
		snprintf(text, sizeof text, "%s%s", way->geometry, is_q8 ? ",group=32" : "");
		if (is_q8)
			strstr(text, "layout=f")[7] = 'g';
		const struct tcb_geometry g = gpu_geometry(text);
		gpu_check_rule(&p, way->capability, &g, 1, NULL);
		gpu_check_emitted(&p, &target, &g);
		check_routings(&p, &target, &g, ~(1u << SOME_BAD | 1u << i % ROUTINGS));
	}
}

/* --- spaces and rules --- */

/* The default is legal whatever the shape. */
static void defaults_are_legal(void **state)
{
	static const char *const routings[] = { "e1/1",      "e8/2,shared1", "e128/8", "e32/4,even,bias",
						"e4096/256", "e7/3,one" };
	static const size_t rows[] = { 1, 17, 96, 768, 14336 }, tokens[] = { 1, 2, 33, 512, 4096 };
	static const size_t units[] = { 1, 3, 8, 11, 12, 28 };
	(void)state;
	for (size_t c = 0; c < GPU_CAPABILITIES; c++)
		for (size_t i = 0; i < 6 * 5 * 5; i++) {
			const char *format = i % 3 ? formats[i % FORMATS] : expanded[i / 3 % EXPANDED];
			const size_t k = 256 * units[i % 6] + (format[1] == '8' ? 32 * (i % 3) : 0);
			char shape[64];
			snprintf(shape, sizeof shape, "%zux%zux%zu,%s", tokens[i / 5 % 5], rows[i % 5], k,
				 routings[i / 25]);
			const struct tcb_problem p = problem_under(i % 4 ? TCB_CONTRACT_F16 : TCB_CONTRACT_Q8, format,
								   kinds[i % KINDS], shape);
			gpu_check_default(&p, gpu_capabilities[c]);
		}
}

static void spaces_have_hundreds(void **state)
{
	static const char *const shapes[] = { "1x768x2048,e128/8", "32x2048x768,e128/8", "512x768x2048,e128/8" };
	(void)state;
	for (size_t c = 0; c < GPU_CAPABILITIES; c++) {
		const struct tcb_problem p = problem_of("q4k", kinds[c % KINDS], shapes[c % 3]);
		const struct tcb_target target = gpu_target(gpu_capabilities[c], 0);
		struct tcb_space *space = gpu_space(&p, &target, 0);
		assert_in_range(space->count, 20, 8000);
		tcb_space_destroy(space);
	}
}

#define STANDARD                                                                                                  \
	"macro=32x1024x2048,midi=8x64x2048,micro=8x16x256,isa=mma,layout=f,warps=8,stages=4,ksplit=2,copy=async," \
	"prep=launch,blocks=2,pdl=1,occ=2"

static void rules_name_what_is_wrong(void **state)
{
	static const struct {
		const char *changes, *says;
		unsigned capability;
	} cases[] = {
		{ "isa=fma", "isa must be mma or wgmma", 90 },
		{ "isa=wgmma,warps=4,ksplit=1,micro=8x64x256", "no such instructions", 100 },
		{ "layout=g", "layout must be f under contracts f16", 90 },
		{ "group=32", "group has no effect", 90 },
		{ "unroll=1", "and no other knob", 90 },
		{ "macro=16x1024x2048", "macro.m must be", 90 },
		{ "macro=32x512x2048", "macro.n must be", 90 },
		{ "midi=16x64x2048", "midi.m as much", 90 },
		{ "macro=128x1024x2048,midi=128x64x2048,micro=128x16x256", "at most 64 with isa=mma", 90 },
		{ "midi=8x512x2048,micro=8x128x256", "micro.n must be 16, 32 or 64", 90 },
		{ "isa=wgmma", "micro.n must be 64 or 128", 90 },
		{ "isa=wgmma,warps=6,midi=8x64x2048,micro=8x64x256", "warps must be 4, 8, 12", 90 },
		{ "ksplit=3", "ksplit must divide warps", 90 },
		{ "midi=8x128x2048", "midi.n must be micro.n times", 90 },
		{ "macro=64x1024x2048,midi=64x16x2048,micro=64x16x256,warps=1,ksplit=1", "warps are too few", 90 },
		{ "copy=bulk", NULL, 90 },
		{ "copy=bulk,pdl=0", "copy=bulk needs sm_90", 89 },
		{ "isa=wgmma,warps=4,ksplit=1,midi=8x64x2048,micro=8x64x256,copy=ldg", "copy must be async or bulk",
		  90 },
		{ "copy=ldg", "stages must be 2 with copy=ldg", 90 },
		{ "copy=async,pdl=0", "needs sm_80", 75 },
		{ "stages=1", "stages must be 2 to 8", 90 },
		{ "prep=grid", "prep must be block or launch", 90 },
		{ "blocks=0", "blocks must be 1 to 8", 90 },
		{ "occ=1", "occ must be as many as blocks", 90 },
		{ "pdl=1", "pdl=1 needs sm_90", 89 },
		{ "macro=64x1024x2048,midi=64x64x2048,micro=64x16x256,blocks=1,occ=1", "chunks of more tokens", 90 },
		{ "pdl=0,stages=8,blocks=1,occ=1", "more than one knob", 90 },
	};
	const struct tcb_problem p = problem_of("q4k", kinds[0], "32x768x2048,e128/8");
	const struct tcb_problem many = problem_of("q4k", kinds[0], "64x768x2048,e128/8");
	const struct tcb_problem q8 = problem_under(TCB_CONTRACT_Q8, "q4k", kinds[0], "32x768x2048,e128/8");
	struct tcb_geometry g = gpu_geometry(STANDARD);
	(void)state;
	gpu_check_rule(&p, 90, &g, 0, NULL);
	gpu_check_rule(&q8, 90, &g, 0, "layout must be g");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		g = gpu_geometry_changed(STANDARD, cases[i].changes);
		gpu_check_rule(&p, cases[i].capability, &g, 0, cases[i].says);
	}
	g = gpu_geometry_changed(STANDARD, "macro=64x1024x2048,prep=block");
	gpu_check_rule(&many, 90, &g, 0, "each block would route them all");
}

/* --- the assembler --- */

static void check_assembles(const struct tcb_assembler_info *info, const struct tcb_problem *p,
			    const struct tcb_target *target, const struct tcb_geometry *g)
{
	const int is_wgmma = g->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
	const struct tcb_ptx_target ptx_target = { target->cuda.capability, is_wgmma ? 'a' : 0 };
	struct tcb_str text = { 0 };
	struct tcb_ptx_resources resources;
	struct tcb_assembly assembly;
	struct tcb_kernel kernel;
	gpu_emit(p, target, g, &kernel);
	tcb_kernel_print(&kernel, &text);
	tcb_assemble(info, text.data, text.length, &ptx_target, 60, &assembly);
	if (assembly.status != TCB_OK)
		fail_msg("sm_%u: %s", target->cuda.capability, assembly.log);
	assert_true(tcb_assembly_resources(&assembly, "qex_product", &resources));
	tcb_assembly_fini(&assembly);
	tcb_str_fini(&text);
	tcb_kernel_fini(&kernel);
}

static void kernels_assemble(void **state)
{
	static const struct {
		const char *format, *kind;
		enum tcb_contract contract;
		unsigned capability;
		const char *words;
	} cases[] = {
		{ "mxfp4", "experts_swiglu_matmul", TCB_CONTRACT_F16, 75, ",bias,oai" },
		{ "mxfp4", "experts_swiglu_matmul", TCB_CONTRACT_Q8, 90, ",bias,oai" },
		{ "mxfp4", "experts_sum_matmul", TCB_CONTRACT_F16, 100, ",shared1,bias" },
		{ "q4k", "experts_matmul", TCB_CONTRACT_F16, 75 },
		{ "iq4xs", "experts_swiglu_matmul", TCB_CONTRACT_Q8, 75 },
		{ "q40", "experts_swiglu_matmul", TCB_CONTRACT_F16, 80 },
		{ "q80", "experts_sum_matmul", TCB_CONTRACT_Q8, 80 },
		{ "q5k", "experts_matmul", TCB_CONTRACT_Q8, 86 },
		{ "q6k", "experts_swiglu_matmul", TCB_CONTRACT_F16, 89 },
		{ "mxfp4", "experts_swiglu_matmul", TCB_CONTRACT_F16, 90 },
		{ "iq4nl", "experts_sum_matmul", TCB_CONTRACT_F16, 100 },
		{ "q4k", "experts_swiglu_matmul", TCB_CONTRACT_Q8, 120 },
		{ "iq2s", "experts_matmul", TCB_CONTRACT_F16, 75 },
		{ "q51", "experts_swiglu_matmul", TCB_CONTRACT_Q8, 80 },
		{ "iq3s", "experts_swiglu_matmul", TCB_CONTRACT_F16, 86 },
		{ "iq1m", "experts_sum_matmul", TCB_CONTRACT_Q8, 89 },
		{ "q2k", "experts_swiglu_matmul", TCB_CONTRACT_F16, 90 },
		{ "nvfp4", "experts_matmul", TCB_CONTRACT_Q8, 100 },
		{ "iq1s", "experts_swiglu_matmul", TCB_CONTRACT_F16, 120 },
	};
	struct tcb_assembler_info info;
	(void)state;
	if (tcb_assembler_find(&info, NULL) != TCB_OK)
		skip_because("no assembler for PTX");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (test_defers(i))
			continue;
		char shape[TCB_SHAPE_TEXT_MAX];
		snprintf(shape, sizeof shape, "32x768x2048,e16/4%s", cases[i].words ? cases[i].words : "");
		const struct tcb_problem p = problem_under(cases[i].contract, cases[i].format, cases[i].kind, shape);
		const struct tcb_target target = gpu_target(cases[i].capability, 0);
		struct tcb_geometry g;
		tcb_op_standard(&p, &target, &g);
		check_assembles(&info, &p, &target, &g);
	}
	const struct tcb_problem p = problem_of("q4k", kinds[1], "512x768x2048,e128/8");
	const struct tcb_target target = gpu_target(90, 0);
	const struct tcb_geometry g = gpu_geometry(
		"macro=512x1024x2048,midi=64x128x2048,micro=64x64x256,isa=wgmma,layout=f,warps=8,stages=2,ksplit=1,"
		"copy=async,prep=launch,blocks=1,pdl=1,occ=1");
	check_assembles(&info, &p, &target, &g);
	for (size_t i = 0; i < WAYS; i++) {
		if (test_defers(i))
			continue;
		const struct tcb_problem bulk = problem_of("q4k", kinds[i % KINDS], ways[i].shape);
		const struct tcb_target bulk_target = gpu_target(ways[i].capability, 0);
		const struct tcb_geometry bulk_way = gpu_geometry(ways[i].geometry);
		if (bulk_way.knob[TCB_KNOB_COPY] == TCB_COPY_BULK)
			check_assembles(&info, &bulk, &bulk_target, &bulk_way);
	}
}

/* What is packed for a signature has room, however many experts there are; and is the same for more of them. */
static void signatures_of_stacks(void **state)
{
	static const char *const shapes[] = { "1x768x2048,e128/8", "1x768x2048,e2/1", "1x768x2048,e2/1,shared3" };
	enum { SHAPES = sizeof shapes / sizeof *shapes };
	const struct tcb_target target = gpu_target(90, 0);
	struct tcb_packings packings[SHAPES];
	(void)state;
	for (size_t i = 0; i < SHAPES; i++) {
		const struct tcb_problem p = problem_of("q6k", kinds[1], shapes[i]);
		char variant[TCB_VARIANT_NAME_MAX], signature[TCB_SIGNATURE_MAX];
		struct tcb_geometry g;
		tcb_op_standard(&p, &target, &g);
		memset(&packings[i], 0, sizeof packings[i]);
		assert_int_equal(tcb_candidate_identify(&p, &target, &g, &packings[i], variant, signature, NULL),
				 TCB_OK);
	}
	for (size_t i = 1; i < SHAPES; i++)
		assert_true(packings[0].hash[TCB_LAYOUT_F] == packings[i].hash[TCB_LAYOUT_F]);
}

/* --- mutants --- */

static void mutants_are_caught(void **state)
{
	static const struct {
		const char *what;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "an item's step that nobody waits for", { REMOVE, TCB_PTX_OP_CP_ASYNC_WAIT_GROUP, 0 } },
		{ "counts that are added to before they are cleared", { REMOVE, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "chunks that are cut before all are counted", { REMOVE, TCB_PTX_OP_BAR_SYNC, 1 } },
		{ "items that begin before all are routed", { REMOVE, TCB_PTX_OP_BAR_SYNC, 2 } },
		{ "a slot that is filled while it is read", { REMOVE, TCB_PTX_OP_BAR_SYNC, 3 } },
		{ "parts that are added before they are there", { REMOVE, TCB_PTX_OP_BAR_SYNC, 4 } },
		{ "weights at the wrong place", { MOVE, TCB_PTX_OP_CP_ASYNC, 0 } },
		{ "an item that nobody is told of", { REMOVE, TCB_PTX_OP_ST, 0 } },
	};
	const struct tcb_problem p = problem_of("q4k", kinds[0], "13x37x512,e5/3");
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		gpu_check_mutant(&p, &target, ways[1].geometry, cases[i].what, &cases[i].mutation);
}

static void mutants_of_bulk_copies(void **state)
{
	static const struct {
		const char *what;
		size_t way;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", 10, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "weights that nobody waits for", 10, { REMOVE, TCB_PTX_OP_MBARRIER_TRY_WAIT, 0 } },
		{ "tokens that nobody waits for", 10, { REMOVE, TCB_PTX_OP_CP_ASYNC_WAIT_GROUP, 0 } },
		{ "too few bytes", 10, { CONSTANT, TCB_PTX_OP_MBARRIER_ARRIVE_EXPECT_TX, 2 } },
		{ "a slot that is filled while it is read", 10, { REMOVE, TCB_PTX_OP_BAR_SYNC, 3 } },
		{ "nothing, prep=block", 11, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "nothing, an item a step", 13, { NOTHING, TCB_PTX_OP_BAR_SYNC, 0 } },
		{ "weights that nobody waits for, prep=block", 11, { REMOVE, TCB_PTX_OP_MBARRIER_TRY_WAIT, 0 } },
		{ "weights at the wrong place", 11, { MOVE, TCB_PTX_OP_CP_ASYNC_BULK, 1 } },
		{ "barriers that a lane waits at before they are", 11, { REMOVE, TCB_PTX_OP_BAR_WARP_SYNC, 0 } },
		{ "a slot that the warp still reads", 11, { REMOVE, TCB_PTX_OP_BAR_WARP_SYNC, 1 } },
		{ "an item whose tokens are gathered before they are told", 11, { REMOVE, TCB_PTX_OP_BAR_SYNC, 3 } },
		{ "tokens that are read before all are there", 11, { REMOVE, TCB_PTX_OP_BAR_SYNC, 4 } },
		{ "tokens that are gathered over those in use", 13, { REMOVE, TCB_PTX_OP_BAR_SYNC, 5 } },
		{ "tokens of later items that are read before all are there", 11, { REMOVE, TCB_PTX_OP_BAR_SYNC, 6 } },
		{ "parts that are added before they are there", 11, { REMOVE, TCB_PTX_OP_BAR_SYNC, 7 } },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (test_defers(i))
			continue;
		const struct way *way = &ways[cases[i].way];
		const struct tcb_problem p = problem_of("q4k", kinds[0], way->shape);
		const struct tcb_target target = gpu_target(way->capability, 2);
		gpu_check_mutant(&p, &target, way->geometry, cases[i].what, &cases[i].mutation);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_legal),         cmocka_unit_test(spaces_have_hundreds),
		cmocka_unit_test(rules_name_what_is_wrong),   cmocka_unit_test(kernels_assemble),
		cmocka_unit_test(mutants_are_caught),         cmocka_unit_test(mutants_of_bulk_copies),
		cmocka_unit_test(signatures_of_stacks),       cmocka_unit_test(any_routing_is_right),
		cmocka_unit_test(any_routing_is_right_q8),    cmocka_unit_test(any_k_is_right),
		cmocka_unit_test(expanded_formats_are_right), cmocka_unit_test(words_are_right),
		cmocka_unit_test(any_routing_is_right_fp8),   cmocka_unit_test(one_expert_is_packed_as_a_product),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
