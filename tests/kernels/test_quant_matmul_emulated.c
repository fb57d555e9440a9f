/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls' GPU kernels of all formats in the emulator: every way to
 * write one, and some drawn from the whole space, at odd shapes and with extreme
 * values, right and without findings.
 */
#include "quant_matmul_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "instrumented.h"
#include "kernels/constraint.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_fragments.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"
#include "kernels/quant_matmul/quant_matmul_gpu_plan.h"

/* A way in which weights, activations and results can go. */
struct way {
	unsigned capability;
	struct tcb_shape shape;
	const char *geometry;
};

static void try_one(const struct tcb_problem *problem, unsigned capability, const char *text)
{
	const struct tcb_problem p = *problem;
	const struct tcb_target target = gpu_target(capability, 2);
	const struct tcb_geometry g = gpu_geometry(text);
	struct gpu_bench bench;
	gpu_check_rule(&p, capability, &g, 1, NULL);
	gpu_bench_open(&bench, &p, 1);
	gpu_bench_check(&bench, &target, &g, 1, NULL);
	gpu_bench_close(&bench);
}

/* P with the word bits, if TEXT is a geometry of it then, too: sums of each half of K. */
static struct tcb_problem in_halves(struct tcb_problem p, unsigned capability, const char *text)
{
	const struct tcb_target target = gpu_target(capability, 0);
	const struct tcb_geometry g = gpu_geometry(text);
	char why[TCB_WHY_MAX];
	p.shape.words.bits = 1;
	p.shape.words.bits = !tcb_constraint_violated(p.op, &p, &target, &g, 1, why);
	return p;
}

/* Of the ways, a few, each like no other: the parts have them by turns, instrumented every sixth one is taken. */
static int is_of_part(size_t i)
{
	return TEST_IS_INSTRUMENTED ? i % 6 == 0 : !test_part() || i % TEST_PARTS + 1 == test_part();
}

/* Each way in which weights, activations and results can go. */
static void every_way_is_right(void **state)
{
	static const struct way cases[] = {
		{ 90,
		  { 5, 37, 512 },
		  "macro=8x64x512,midi=8x16x512,micro=8x16x256,isa=mma,layout=f,unroll=1,warps=1,stages=1,splitk=1,"
		  "ksplit=1,copy=ldg,prep=block,lead=1,blocks=0,pdl=0,occ=1,join=none,xstages=1,cluster=1" },
		{ 75,
		  { 1, 37, 512 },
		  "macro=8x64x512,midi=8x32x512,micro=8x16x256,isa=mma,layout=f,unroll=1,warps=2,stages=1,splitk=1,"
		  "ksplit=1,copy=ldg,prep=launch,lead=0,blocks=0,pdl=0,occ=1,join=none,xstages=1,cluster=1" },
		{ 90,
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=32x64x1024,micro=32x32x256,isa=mma,layout=f,unroll=1,warps=4,stages=2,splitk="
		  "1,ksplit=2,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=none,xstages=1,cluster=1" },
		{ 90,
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=16x32x1024,micro=16x16x256,isa=mma,layout=f,unroll=2,warps=2,stages=1,splitk="
		  "2,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,xstages=1,cluster=1" },
		{ 80,
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=16x64x1024,micro=16x32x256,isa=mma,layout=f,unroll=1,warps=2,stages=2,splitk="
		  "2,ksplit=1,copy=async,prep=launch,lead=1,blocks=1,pdl=0,occ=1,join=last,xstages=1,cluster=1" },
		{ 90,
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=16x64x1024,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,"
		  "splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,xstages=4,cluster=1" },
		{ 90,
		  { 65, 65, 512 },
		  "macro=128x128x512,midi=32x128x512,micro=32x128x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=1,"
		  "splitk=2,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=0,occ=1,join=last,xstages=3,cluster=1" },
		{ 90,
		  { 19, 257, 1024 },
		  "macro=32x512x1024,midi=16x128x1024,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,"
		  "splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,xstages=4,cluster="
		  "2" },
		{ 90,
		  { 27, 157, 512 },
		  "macro=32x256x512,midi=32x64x512,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,"
		  "splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,xstages=4,cluster="
		  "4" },
		{ 90,
		  { 15, 157, 512 },
		  "macro=16x256x512,midi=16x64x512,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,"
		  "splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,xstages=2,cluster=2" },
		{ 90,
		  { 21, 205, 1024 },
		  "macro=32x256x1024,midi=16x64x1024,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,"
		  "splitk=2,ksplit=2,copy=bulk,prep=block,lead=1,blocks=1,pdl=1,occ=1,join=cluster,xstages=1,cluster="
		  "1" },
		{ 90,
		  { 9, 141, 1024 },
		  "macro=16x256x1024,midi=16x128x1024,micro=16x128x256,isa=wgmma,layout=f,unroll=2,warps=4,stages=1,"
		  "splitk=1,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=none,xstages=1,cluster=1" },
		{ 80,
		  { 37, 85, 1024 },
		  "macro=64x128x1024,midi=32x64x1024,micro=32x16x256,isa=mma,layout=f,unroll=1,warps=4,stages=2,splitk="
		  "2,ksplit=1,copy=async,prep=launch,lead=2,blocks=0,pdl=0,occ=1,join=last,xstages=2,cluster=1" },
		/* Shares that are asked for as a whole, without a loop. */
		{ 90,
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=16x64x1024,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=4,"
		  "splitk=1,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=none,xstages=1,cluster=1" },
		/* Warps that prepare beside those that multiply. */
		{ 90,
		  { 29, 141, 1024 },
		  "macro=32x256x1024,midi=32x64x1024,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=1,"
		  "splitk=2,ksplit=2,copy=bulk,prep=warps,lead=1,blocks=0,pdl=1,occ=1,join=cluster,xstages=1,cluster="
		  "1" },
		{ 120,
		  { 61, 77, 512 },
		  "macro=64x128x512,midi=64x64x512,micro=64x16x256,isa=mma,layout=f,unroll=1,warps=4,stages=2,splitk=1,"
		  "ksplit=1,copy=bulk,prep=warps,lead=1,blocks=1,pdl=1,occ=1,join=none,xstages=1,cluster=1" },
		{ 100,
		  { 9, 77, 1280 },
		  "macro=16x128x1280,midi=16x32x1280,micro=16x16x256,isa=mma,layout=f,unroll=1,warps=2,stages=3,splitk="
		  "1,ksplit=1,copy=bulk,prep=warps,lead=3,blocks=0,pdl=0,occ=1,join=none,xstages=1,cluster=1" },
		/* Two groups of warps that take registers from a third. */
		{ 90,
		  { 250, 205, 512 },
		  "macro=256x256x512,midi=256x128x512,micro=256x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,"
		  "splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,xstages=3,cluster=2" },
		/* Clusters of eight, whose blocks wait for each other: most of the time of all these, so part slow
		   only. */
		{ 90,
		  { 35, 129, 1024 },
		  "macro=64x256x1024,midi=32x64x1024,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,"
		  "splitk=2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,xstages=4,cluster="
		  "4" },
	};
	(void)state;
	const size_t count = sizeof cases / sizeof *cases - (TEST_IS_INSTRUMENTED || test_part() == 1);
	size_t piece = 0, halves = 0;
	/* The formats by turns: all of them meet both kernels. */
	for (size_t i = 0; i < count; i++) {
		if (!is_of_part(i))
			continue;
		const struct tcb_shape *s = &cases[i].shape;
		struct tcb_problem p = problem_of(op_names[i % OPS], s->m, s->n, s->k);
		p.shape.words.add = i % 2;
		p.shape.words.bias = i / 2 % 2;
		gpu_problem_rows(&p, i);
		if (i % 2)
			p = in_halves(p, cases[i].capability, cases[i].geometry);
		halves += p.shape.words.bits && qmm_has_halves(&p);
		try_one(&p, cases[i].capability, cases[i].geometry);
		/* Expanded formats, whose weights alone differ, where there are registers for them. */
		struct tcb_problem pieces = problem_of(piece_names[piece % PIECE_OPS], s->m, s->n, s->k);
		if (i % 2 == 0)
			pieces = in_halves(pieces, cases[i].capability, cases[i].geometry);
		const struct tcb_target target = gpu_target(cases[i].capability, 0);
		const struct tcb_geometry g = gpu_geometry(cases[i].geometry);
		char why[TCB_WHY_MAX];
		if (tcb_constraint_violated(pieces.op, &pieces, &target, &g, 1, why))
			continue;
		try_one(&pieces, cases[i].capability, cases[i].geometry);
		piece++;
	}
	assert_true(!test_takes_all() || (piece >= PIECE_OPS && halves >= 4));
}

/* prep=grid: units of activations that warps of all blocks prepare; slices, clusters, tiles of tokens, one block alone.
 */
#define SHARED(tokens, rows, warps)                                                                          \
	"midi=" #tokens "x" #rows "x1024,micro=" #tokens "x64x256,isa=wgmma,layout=f,unroll=1,warps=" #warps \
	",stages=2,ksplit=1,copy=bulk,prep=grid,lead=2,blocks=0,occ=1,xstages=4,"
static const struct shared_case {
	struct tcb_shape shape;
	unsigned sms;
	const char *geometry;
} shared_cases[] = {
	{ { 35, 129, 1024 }, 2, "macro=64x256x1024," SHARED(32, 64, 4) "splitk=1,join=none,cluster=1,pdl=1" },
	{ { 35, 129, 1024 }, 8, "macro=64x256x1024," SHARED(32, 64, 4) "splitk=2,join=cluster,cluster=2,pdl=1" },
	{ { 64, 129, 1024 }, 4, "macro=64x256x1024," SHARED(64, 128, 8) "splitk=2,join=last,cluster=1,pdl=0" },
	{ { 21, 77, 1024 },
	  4,
	  "macro=32x128x1024,midi=16x32x1024,micro=16x16x256,isa=mma,layout=f,unroll=2,warps=2,stages=1,splitk=2,"
	  "ksplit=1,"
	  "copy=bulk,prep=grid,lead=1,blocks=0,pdl=1,occ=1,join=cluster,xstages=1,cluster=1" },
	{ { 21, 77, 1024 },
	  2,
	  "macro=32x128x1024,midi=32x64x1024,micro=32x32x256,isa=mma,layout=f,unroll=1,warps=4,stages=2,splitk=1,"
	  "ksplit=2,"
	  "copy=bulk,prep=grid,lead=1,blocks=1,pdl=1,occ=1,join=none,xstages=1,cluster=1" },
	{ { 21, 140, 1024 },
	  4,
	  "macro=32x256x1024,midi=32x64x1024,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=1,splitk=2,"
	  "ksplit=2,"
	  "copy=bulk,prep=grid,lead=1,blocks=0,pdl=1,occ=1,join=last,xstages=1,cluster=1" },
	{ { 21, 77, 1024 },
	  4,
	  "macro=32x128x1024,midi=16x16x1024,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=1,stages=2,splitk=2,"
	  "ksplit=1,"
	  "copy=bulk,group=32,prep=grid,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1" },
	{ { 40, 140, 1024 },
	  4,
	  "macro=64x256x1024,midi=16x64x1024,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=1,"
	  "ksplit=2,"
	  "copy=bulk,group=256,prep=grid,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=1" },
	{ { 300, 200, 1024 }, 4, "macro=512x256x1024," SHARED(256, 128, 8) "splitk=1,join=none,cluster=1,pdl=1" },
	{ { 5, 40, 1024 }, 2, "macro=8x64x1024," SHARED(8, 64, 4) "splitk=1,join=none,cluster=1,pdl=1" },
};

static void open_shared(struct gpu_bench *bench, const struct shared_case *c, unsigned number,
			struct tcb_target *target, struct tcb_geometry *g)
{
	const char *op = strstr(c->geometry, "group=256") ? "q6k_matmul" : op_names[number % OPS];
	const struct tcb_problem p =
		(strstr(c->geometry, "layout=g") ? problem_q8 : problem_of)(op, c->shape.m, c->shape.n, c->shape.k);
	struct qmm_gpu plan;
	*target = gpu_target(90, c->sms);
	*g = gpu_geometry(c->geometry);
	gpu_check_rule(&p, 90, g, 1, NULL);
	qmm_gpu_plan(&p, target, g, &plan);
	gpu_bench_open(bench, &p, number);
	bench->zeros_at = plan.is_dealt ? plan.counters_at : plan.claims_at;
}

static void shares_meet(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof shared_cases / sizeof *shared_cases; i++) {
		struct tcb_target target;
		struct tcb_geometry g;
		struct gpu_bench bench;
		if (test_defers(i)) /* warps that wait for others take the emulator long */
			continue;
		open_shared(&bench, &shared_cases[i], i, &target, &g);
		gpu_bench_check(&bench, &target, &g, i, NULL);
		gpu_bench_close(&bench);
	}
}

/* Streamed blocks that stay: tiles that one block has, two, or many; more blocks than tiles, and blocks of one unit;
 * tiles of tokens beside each other; one block alone, and two on each multiprocessor; registers traded. */
#define DEALT(tokens, rows, micro, warps, stages, blocks)                                                            \
	"midi=" #tokens "x" #rows "x1024,micro=" #tokens "x" #micro "x256,isa=wgmma,layout=f,unroll=1,warps=" #warps \
	",stages=" #stages ",splitk=1,ksplit=1,copy=bulk,lead=" #stages ",blocks=" #blocks ",occ=" #blocks           \
	",join=last,cluster=1,xstages=4,"
static const struct shared_case dealt_cases[] = {
	{ { 35, 129, 1024 }, 2, "macro=64x256x1024," DEALT(32, 64, 64, 4, 2, 1) "prep=launch,pdl=1" },
	{ { 35, 300, 1024 }, 3, "macro=64x512x1024," DEALT(32, 64, 64, 4, 3, 1) "prep=grid,pdl=1" },
	{ { 64, 129, 1024 }, 16, "macro=64x256x1024," DEALT(64, 128, 64, 8, 2, 1) "prep=launch,pdl=0" },
	{ { 64, 300, 1024 }, 5, "macro=64x512x1024," DEALT(16, 128, 64, 8, 2, 1) "prep=grid,pdl=0" },
	{ { 21, 200, 1024 }, 3, "macro=32x256x1024," DEALT(32, 64, 64, 4, 4, 2) "prep=launch,pdl=1" },
	{ { 300, 200, 1024 }, 3, "macro=512x256x1024," DEALT(256, 128, 64, 8, 2, 1) "prep=launch,pdl=1" },
	{ { 5, 40, 1024 }, 1, "macro=8x64x1024," DEALT(8, 64, 64, 4, 2, 1) "prep=launch,pdl=1" },
	{ { 40, 140, 1024 }, 7, "macro=64x256x1024," DEALT(64, 64, 64, 4, 2, 1) "prep=grid,pdl=1" },
	{ { 21, 200, 1024 }, 3, "macro=32x256x1024," DEALT(32, 64, 64, 4, 2, 1) "prep=launch,pdl=1" },
};

static void dealt_parts_meet(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof dealt_cases / sizeof *dealt_cases; i++) {
		struct tcb_target target;
		struct tcb_geometry g;
		struct gpu_bench bench;
		if (TEST_IS_INSTRUMENTED && i % 4 != 0)
			continue;
		open_shared(&bench, &dealt_cases[i], i, &target, &g);
		gpu_bench_check(&bench, &target, &g, i, NULL);
		gpu_bench_close(&bench);
	}
}

static void mutants_of_dealt_parts(void **state)
{
	static const struct {
		const char *what;
		unsigned of; /* dealt_cases: tiles of many blocks, of two */
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", 2, { NOTHING, TCB_PTX_OP_LD, 0 } },
		{ "parts of many that are not ordered", 2, { REMOVE, TCB_PTX_OP_FENCE, 2 } },
		{ "a part at the wrong place", 2, { MOVE, TCB_PTX_OP_ST, 0 } },
		{ "nothing, of two", 8, { NOTHING, TCB_PTX_OP_LD, 0 } },
		{ "a part of two that is not ordered", 8, { REMOVE, TCB_PTX_OP_FENCE, 1 } },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_target target;
		struct tcb_geometry g;
		struct gpu_bench bench;
		open_shared(&bench, &dealt_cases[cases[i].of], 0, &target, &g);
		snprintf(bench.what, sizeof bench.what, "%s", cases[i].what);
		gpu_bench_check_mutant(&bench, &target, &g, &cases[i].mutation);
		gpu_bench_close(&bench);
	}
}

static void mutants_of_shares(void **state)
{
	static const struct {
		const char *what;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", { NOTHING, TCB_PTX_OP_LD, 0 } },
		{ "a piece that is not ordered", { REMOVE, TCB_PTX_OP_FENCE, 0 } },
		{ "a piece at the wrong place", { MOVE, TCB_PTX_OP_ST, 1 } },
		{ "claims that stay", { REMOVE, TCB_PTX_OP_ST, 10 } },
		{ "units that stay ready", { REMOVE, TCB_PTX_OP_ST, 11 } },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_target target;
		struct tcb_geometry g;
		struct gpu_bench bench;
		open_shared(&bench, &shared_cases[0], 0, &target, &g);
		snprintf(bench.what, sizeof bench.what, "%s", cases[i].what);
		gpu_bench_check_mutant(&bench, &target, &g, &cases[i].mutation);
		gpu_bench_close(&bench);
	}
}

/* Contract q8: each format and group, each way of weights, activations and results. */
static void every_way_is_right_q8(void **state)
{
	static const struct way cases[] = {
		{ 89,
		  { 5, 37, 512 },
		  "macro=8x64x512,midi=8x16x512,micro=8x16x256,isa=mma,layout=g,unroll=1,warps=1,stages=1,splitk=1,"
		  "ksplit=1,copy=ldg,prep=block,lead=1,blocks=0,pdl=0,occ=1,join=none,xstages=1,cluster=1" },
		{ 75,
		  { 3, 37, 512 },
		  "macro=8x64x512,midi=8x32x512,micro=8x16x256,isa=mma,layout=g,unroll=1,warps=2,stages=1,splitk=1,"
		  "ksplit=1,copy=ldg,prep=launch,lead=0,blocks=0,pdl=0,occ=1,join=none,xstages=1,cluster=1" },
		{ 80,
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=16x32x1024,micro=16x16x256,isa=mma,layout=g,unroll=2,warps=4,stages=2,splitk="
		  "1,ksplit=2,copy=async,prep=launch,lead=1,blocks=1,pdl=0,occ=1,join=none,xstages=1,cluster=1" },
		{ 90,
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=16x64x1024,micro=16x32x256,isa=mma,layout=g,unroll=1,warps=2,stages=2,splitk="
		  "2,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,xstages=1,cluster=1" },
		{ 90,
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=16x64x1024,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk="
		  "1,ksplit=2,copy=bulk,prep=warps,lead=1,blocks=0,pdl=1,occ=1,join=none,xstages=1,cluster=1" },
		{ 90, /* four of them: the others need so many registers */
		  { 27, 77, 1024 },
		  "macro=32x128x1024,midi=32x64x1024,micro=32x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=1,splitk="
		  "2,ksplit=2,copy=bulk,prep=warps,lead=1,blocks=0,pdl=1,occ=1,join=cluster,xstages=1,cluster=1" },
		{ 89,
		  { 37, 85, 1280 },
		  "macro=64x128x1280,midi=32x64x1280,micro=32x16x256,isa=mma,layout=g,unroll=1,warps=4,stages=3,splitk="
		  "1,ksplit=1,copy=async,prep=launch,lead=3,blocks=0,pdl=0,occ=1,join=none,xstages=3,cluster=1" },
		{ 89,
		  { 41, 21, 512 },
		  "macro=64x32x512,midi=64x16x512,micro=64x16x256,isa=mma,layout=g,unroll=1,warps=1,stages=2,splitk="
		  "1,ksplit=1,copy=async,prep=launch,lead=2,blocks=0,pdl=0,occ=1,join=none,xstages=2,cluster=1" },
	};
	enum { CASES = sizeof cases / sizeof *cases };
	size_t pieces = 0;
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t i = 0; i < CASES; i++) {
			const struct tcb_shape *s = &cases[i].shape;
			struct tcb_problem p = problem_q8(op_names[o], s->m, s->n, s->k);
			const int is_coarse = (o + i) % 2 && tcb_quant_group(p.op->format) == 256;
			char text[400];
			if (!is_of_part(o / 2 + i))
				continue;
			snprintf(text, sizeof text, "%s,group=%d", cases[i].geometry, is_coarse ? 256 : 32);
			if (o % 2)
				p = in_halves(p, cases[i].capability, text);
			try_one(&p, cases[i].capability, text);
		}
	for (size_t o = 0; o < PIECE_OPS; o++) /* each meets a direct way and three others */
		for (size_t i = o % 2; i < CASES; i += 2) {
			const struct tcb_shape *s = &cases[i].shape;
			const struct tcb_problem p = problem_q8(piece_names[o], s->m, s->n, s->k);
			const struct tcb_target target = gpu_target(cases[i].capability, 0);
			char text[400], why[TCB_WHY_MAX];
			snprintf(text, sizeof text, "%s,group=32", cases[i].geometry);
			const struct tcb_geometry g = gpu_geometry(text);
			if (!is_of_part(o / 2 + i) || tcb_constraint_violated(p.op, &p, &target, &g, 1, why))
				continue;
			try_one(&p, cases[i].capability, text);
			pieces++;
		}
	assert_true(!test_takes_all() || pieces >= 2 * PIECE_OPS);
}

/* COUNT shapes of the op NAME in turn: the default and a geometry drawn from SEED of each capability that has its
 * kernels of CONTRACT. */
static void try_shapes(const char *name, enum tcb_contract contract, const struct tcb_shape *shapes, size_t count,
		       uint64_t seed)
{
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t i = 0; i < 2 * GPU_CAPABILITIES; i++) {
		const struct tcb_shape *s = &shapes[i % count];
		struct tcb_problem p = gpu_problem(op_of(name), contract, (struct tcb_shape){ s->m, s->n, s->k });
		p.shape.words.add = i % 2;
		p.shape.words.bias = i / 2 % 2;
		gpu_problem_rows(&p, i);
		const struct tcb_target target = gpu_target(gpu_capabilities[i % GPU_CAPABILITIES], 2);
		struct tcb_geometry g;
		struct gpu_bench bench;
		if (test_leaves_out(i) || (contract == TCB_CONTRACT_F32 && target.cuda.capability < 80))
			continue;
		tcb_op_standard(&p, &target, &g);
		if (i >= GPU_CAPABILITIES)
			g = gpu_geometry_drawn(&p, &target, &rng);
		gpu_bench_open(&bench, &p, i);
		gpu_bench_check(&bench, &target, &g, i, NULL);
		gpu_bench_close(&bench);
	}
}

/* E4M3, by bits before sm_89 and by its conversion from there on: the default and a drawn geometry of each capability,
 * with rows that end in half a unit. */
static void values_are_right(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 1, 128 },   { 2, 15, 512 }, { 8, 17, 384 }, { 9, 33, 1024 },
						   { 33, 49, 512 }, { 3, 18, 640 }, { 65, 70, 512 } };
	(void)state;
	try_shapes("fp8_matmul", TCB_CONTRACT_F16, shapes, sizeof shapes / sizeof *shapes, 4);
}

/* Of rows of floats, which have any K. */
static const struct tcb_shape row_shapes[] = { { 1, 1, 1 },    { 2, 15, 257 },  { 8, 17, 386 }, { 9, 33, 1024 },
					       { 3, 18, 644 }, { 33, 49, 512 }, { 5, 70, 7 },   { 65, 70, 511 } };

/* Halves as they are: the ways of weights that differ for them, and drawn geometries of each capability, with rows of
 * any length. */
static void halves_are_right(void **state)
{
	static const struct way ways[] = {
		{ 90,
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=16x64x1024,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,"
		  "splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,xstages=4,cluster=1" },
		{ 90,
		  { 9, 141, 1024 },
		  "macro=16x256x1024,midi=16x128x1024,micro=16x128x256,isa=wgmma,layout=f,unroll=2,warps=4,stages=1,"
		  "splitk=1,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=none,xstages=1,cluster=1" },
		{ 120,
		  { 29, 77, 512 },
		  "macro=32x128x512,midi=32x64x512,micro=32x16x256,isa=mma,layout=f,unroll=1,warps=4,stages=2,splitk=1,"
		  "ksplit=1,copy=bulk,prep=warps,lead=1,blocks=1,pdl=1,occ=1,join=none,xstages=1,cluster=1" },
		{ 80,
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=16x64x1024,micro=16x32x256,isa=mma,layout=f,unroll=1,warps=2,stages=2,splitk="
		  "2,ksplit=1,copy=async,prep=launch,lead=1,blocks=1,pdl=0,occ=1,join=last,xstages=1,cluster=1" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		const struct tcb_shape *s = &ways[i].shape;
		const struct tcb_problem p = problem_of("f16_matmul", s->m, s->n, s->k);
		if (!test_leaves_out(i))
			try_one(&p, ways[i].capability, ways[i].geometry);
	}
	try_shapes("f16_matmul", TCB_CONTRACT_F16, row_shapes, sizeof row_shapes / sizeof *row_shapes, 6);
}

static const char *const terms_names[] = { "bf16_matmul", "f32_matmul" };

static struct tcb_problem problem_of_terms(size_t op, const struct tcb_shape *s)
{
	return gpu_problem(op_of(terms_names[op]), TCB_CONTRACT_F32, (struct tcb_shape){ s->m, s->n, s->k });
}

/* Rows of BF16 and F32, contract f32: ways of weights and activations in terms, defaults and drawn geometries. */
static void terms_are_right(void **state)
{
	static const struct way ways[] = {
		{ 90, /* BF16 alone: wgmma */
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=16x64x1024,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,"
		  "splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,xstages=4,cluster=1" },
		{ 90,
		  { 9, 141, 512 },
		  "macro=16x256x512,midi=16x128x512,micro=16x128x256,isa=wgmma,layout=f,unroll=2,warps=4,stages=1,"
		  "splitk=1,ksplit=1,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=none,xstages=1,cluster=1" },
		{ 90,
		  { 21, 70, 1024 },
		  "macro=32x128x1024,midi=16x64x1024,micro=16x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=2,"
		  "splitk=2,ksplit=1,copy=bulk,prep=grid,lead=2,blocks=0,pdl=1,occ=1,join=cluster,xstages=8,cluster="
		  "1" },
		{ 80,
		  { 21, 77, 1024 },
		  "macro=32x128x1024,midi=16x32x1024,micro=16x16x256,isa=mma,layout=f,unroll=1,warps=2,stages=2,splitk="
		  "1,ksplit=1,copy=async,prep=launch,lead=2,blocks=0,pdl=0,occ=1,join=none,xstages=2,cluster=1" },
		{ 120,
		  { 9, 37, 512 },
		  "macro=16x64x512,midi=16x16x512,micro=16x16x256,isa=mma,layout=f,unroll=1,warps=1,stages=1,splitk=1,"
		  "ksplit=1,copy=bulk,prep=warps,lead=1,blocks=0,pdl=1,occ=1,join=none,xstages=1,cluster=1" },
	};
	(void)state;
	for (size_t i = 0; i < 2 * (sizeof ways / sizeof *ways); i++) {
		const struct tcb_problem p = problem_of_terms(i % 2, &ways[i / 2].shape);
		if (!test_leaves_out(i) && !(i % 2 && strstr(ways[i / 2].geometry, "wgmma")))
			try_one(&p, ways[i / 2].capability, ways[i / 2].geometry);
	}
	for (size_t o = 0; o < 2; o++)
		try_shapes(terms_names[o], TCB_CONTRACT_F32, row_shapes, sizeof row_shapes / sizeof *row_shapes, 8 + o);
}

/* Activations that terms have all of, or hardly, and those that make NaN of their token. */
static void extreme_activations_in_terms(void **state)
{
	static const float values[] = { 0, 1e-38f, 1e-30f, 1e36f, NAN, INFINITY };
	(void)state;
	for (size_t i = 0; i < 2 * (sizeof values / sizeof *values); i++) {
		const float value = values[i / 2];
		const struct tcb_problem p = problem_of_terms(i % 2, &(struct tcb_shape){ 2, 18, 512 });
		const struct tcb_target target = gpu_target(90, 2);
		struct tcb_geometry g;
		struct gpu_bench bench;
		tcb_op_standard(&p, &target, &g);
		gpu_bench_open(&bench, &p, i);
		float *x = bench.data[TCB_QUANT_X];
		for (size_t k = 0; k < 512; k++)
			x[k] = isfinite(value) ? x[k] * value : k == 77 ? value : x[k];
		snprintf(bench.what, sizeof bench.what, "activations of %g", (double)value);
		gpu_bench_refer(&bench);
		for (size_t n = 0; n < p.shape.n && !isfinite(value); n++) /* of the first token */
			bench.reference->y[n] = NAN;
		gpu_bench_check(&bench, &target, &g, 1, NULL);
		gpu_bench_close(&bench);
	}
}

/* Formats of 32 values per block take rows that 256 does not divide. */
static void short_rows_are_right(void **state)
{
	static const size_t ks[] = { 32, 288, 480 };
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
			if (op_of(op_names[o])->format->block_values == 256)
				continue;
			const struct tcb_problem p = ((o + i) % 2 ? problem_q8 : problem_of)(op_names[o], 3, 18, ks[i]);
			const struct tcb_target target = gpu_target(i % 2 ? 90 : 75, 2);
			struct tcb_geometry g;
			struct gpu_bench bench;
			tcb_op_standard(&p, &target, &g);
			if (i == 2)
				g.knob[TCB_KNOB_PREP] = TCB_PREP_LAUNCH;
			gpu_bench_open(&bench, &p, i);
			gpu_bench_check(&bench, &target, &g, 1, NULL);
			gpu_bench_close(&bench);
		}
}

/* MXFP4: powers of all sizes that a contract's kernels hold, in rows of their own so that none hides another. */
static void powers_of_all_sizes(void **state)
{
	enum { ROWS = 36, K = 512 };
	const struct tcb_target target = gpu_target(80, 2);
	(void)state;
	for (int is_q8 = 0; is_q8 < 2; is_q8++) {
		const struct tcb_problem p = (is_q8 ? problem_q8 : problem_of)("mxfp4_matmul", 3, ROWS, K);
		const size_t blocks = K / p.op->format->block_values, most = is_q8 ? 200 : 139;
		struct tcb_geometry g;
		struct gpu_bench bench;
		gpu_bench_open(&bench, &p, 3);
		uint8_t *block = bench.data[TCB_QUANT_WEIGHTS];
		float *x = bench.data[TCB_QUANT_X];
		for (size_t i = 0; i < ROWS * blocks; i++, block += p.op->format->block_bytes)
			block[0] = (uint8_t)(i / blocks * most / (ROWS - 1) + i % 2);
		for (size_t i = 0; i < p.shape.m * K && is_q8; i++) /* sums are normal */
			x[i] *= 0x1p20f;
		gpu_bench_refer(&bench);
		tcb_op_standard(&p, &target, &g);
		snprintf(bench.what, sizeof bench.what, "powers, q8 %d", is_q8);
		gpu_bench_check(&bench, &target, &g, 1, NULL);
		gpu_bench_close(&bench);
	}
}

static const struct tcb_shape odd_shapes[] = { { 1, 1, 256 },   { 2, 15, 512 },  { 8, 17, 768 },
					       { 9, 33, 1024 }, { 33, 49, 512 }, { 65, 130, 512 } };
enum { ODD_SHAPES = sizeof odd_shapes / sizeof *odd_shapes };

/* Geometries of the whole product (policies lifted) at odd shapes, with two SMs so that blocks have several rounds. */
static void samples_are_right(void **state)
{
	const size_t count = gpu_sample_size(18);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 20);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_shape *s = &odd_shapes[i % ODD_SHAPES];
		struct tcb_problem p =
			(i / 2 % 2 ? problem_q8 : problem_of)(op_names[tcb_rng_below(&rng, OPS)], s->m, s->n, s->k);
		p.shape.words.add = i % 2;
		p.shape.words.bias = i / 2 % 2;
		gpu_problem_rows(&p, i);
		const struct tcb_target target = gpu_target(gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)], 2);
		const struct tcb_geometry g = gpu_geometry_drawn(&p, &target, &rng);
		struct gpu_bench bench;
		gpu_bench_open(&bench, &p, i);
		gpu_bench_check(&bench, &target, &g, i, &tally);
		gpu_bench_close(&bench);
	}
	gpu_tally_print(&tally);
}

/* Activations that f16 cannot hold, and what is not a number: as the contract says. */
static void extreme_activations(void **state)
{
	static const float values[] = { 0, 1e-30f, 1e-6f, 60000, NAN };
	(void)state;
	const struct tcb_problem p = problem_of("q4k_matmul", 2, 5, 512);
	const struct tcb_target target = gpu_target(90, 2);
	struct tcb_geometry g;
	tcb_op_standard(&p, &target, &g);
	for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
		struct gpu_bench bench;
		gpu_bench_open(&bench, &p, 3);
		float *x = bench.data[1];
		for (int i = 0; i < 256; i++)
			x[i] = isnan(values[v]) && i == 77 ? NAN : isnan(values[v]) ? x[i] : values[v];
		snprintf(bench.what, sizeof bench.what, "activations of %g", (double)values[v]);
		gpu_bench_refer(&bench);
		gpu_bench_check(&bench, &target, &g, 1, NULL);
		gpu_bench_close(&bench);
	}
}

/* Groups that count as zeros, that hold what is not a number, or the largest and the least there are. */
static void extreme_activations_q8(void **state)
{
	static const float values[] = { 0, 1e-44f, 1e-37f, 1e-30f, 1e36f, NAN, INFINITY };
	(void)state;
	for (size_t v = 0; v < sizeof values / sizeof *values; v++)
		for (size_t o = 0; o < OPS; o++) {
			const struct tcb_problem p = problem_q8(op_names[o], 2, 5, 512);
			const struct tcb_target target = gpu_target(90, 2);
			struct tcb_geometry g;
			struct gpu_bench bench;
			if ((v + o) % 2 || test_leaves_out(v * OPS + o))
				continue;
			tcb_op_standard(&p, &target, &g);
			if (v / 2 % 2 && tcb_quant_group(p.op->format) == 256)
				g.knob[TCB_KNOB_GROUP] = 256;
			gpu_bench_open(&bench, &p, 3);
			float *x = bench.data[1];
			for (int i = 0; i < 256; i++)
				if (isfinite(values[v]) ? i % 3 != 2 || values[v] < 1 : i == 77)
					x[i] = i % 2 && isfinite(values[v]) ? -values[v] : values[v];
			snprintf(bench.what, sizeof bench.what, "%s, activations of %g", op_names[o],
				 (double)values[v]);
			gpu_bench_refer(&bench);
			for (size_t i = 0; i < p.shape.n && !isfinite(values[v]); i++) /* of the first token */
				bench.reference->y[i] = NAN;
			gpu_bench_check(&bench, &target, &g, 1, NULL);
			gpu_bench_close(&bench);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_is_right),
		cmocka_unit_test(values_are_right),
		cmocka_unit_test(halves_are_right),
		cmocka_unit_test(shares_meet),
		cmocka_unit_test(dealt_parts_meet),
		cmocka_unit_test(mutants_of_dealt_parts),
		cmocka_unit_test(mutants_of_shares),
		cmocka_unit_test(short_rows_are_right),
		cmocka_unit_test(samples_are_right),
		cmocka_unit_test(extreme_activations),
		cmocka_unit_test(every_way_is_right_q8),
		cmocka_unit_test(extreme_activations_q8),
		cmocka_unit_test(powers_of_all_sizes),
		cmocka_unit_test(terms_are_right),
		cmocka_unit_test(extreme_activations_in_terms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
