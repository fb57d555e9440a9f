/* SPDX-License-Identifier: MIT
 *
 * The dense products' GPU kernels: rules and spaces; kernels drawn from them in
 * the emulator at odd shapes, right and without findings; special values; mutants
 * of them, caught.
 */
#include "gpu_bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "instrumented.h"
#include "kernels/formats.h"
#include "kernels/matmul/matmul_gpu.h"
#include "kernels/matmul/matmul_gpu_plan.h"

enum { OPS = 3 };

static const struct tcb_op *const ops[OPS] = { &tcb_op_matmul_f32, &tcb_op_matmul_f16, &tcb_op_matmul_bf16 };

static struct tcb_problem problem_of(const struct tcb_op *op, struct tcb_shape shape)
{
	return gpu_problem(op, op->default_contract, shape);
}

static int has_kernels(const struct tcb_op *op, unsigned capability)
{
	return op != &tcb_op_matmul_bf16 || capability >= 80;
}

/* --- spaces and rules --- */

static void defaults_are_legal(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 1, 1 },    { 1, 4099, 64 },      { 4099, 1, 63 },
						   { 77, 130, 9 }, { 1024, 1024, 1024 }, { 4096, 4096, 4096 },
						   { 33, 34, 36 }, { 3, 5, 2 } };
	(void)state;
	for (size_t o = 0; o < OPS; o++)
		for (size_t c = 0; c < GPU_CAPABILITIES; c++)
			for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
				const struct tcb_problem p = problem_of(ops[o], shapes[s]);
				if (has_kernels(ops[o], gpu_capabilities[c]))
					gpu_check_default(&p, gpu_capabilities[c]);
			}
}

static void spaces_have_hundreds_and_the_default(void **state)
{
	(void)state;
	/* Half of them: what changes with the capability is the same for all ops but for the instructions. */
	for (size_t o = 0; o < OPS; o++)
		for (size_t c = o % 2; c < GPU_CAPABILITIES; c += 2) {
			const struct tcb_problem p = problem_of(ops[o], (struct tcb_shape){ 1024, 1024, 1024 });
			const struct tcb_target target = gpu_target(gpu_capabilities[c], 0);
			struct tcb_geometry g;
			if (!has_kernels(ops[o], gpu_capabilities[c]))
				continue;
			struct tcb_space *space = gpu_space(&p, &target, 0);
			tcb_op_standard(&p, &target, &g);
			assert_true(tcb_space_find(space, &g) != SIZE_MAX);
			assert_true(space->count > 300);
			tcb_space_destroy(space);
		}
}

#define FMA                                                                                                       \
	"macro=128x1024x1024,midi=128x128x16,micro=64x32x16,vec=4,isa=fma,stages=3,splitk=1,copy=async,blocks=0," \
	"pdl=0,occ=1,cluster=1"
#define MMA                                                                                                        \
	"macro=128x1024x1024,midi=128x128x32,micro=64x32x32,vec=16,isa=mma,stages=3,splitk=1,copy=async,blocks=0," \
	"pdl=0,occ=1,cluster=1"
#define WGMMA                                                                                                      \
	"macro=256x1024x1024,midi=128x128x64,micro=64x128x64,vec=16,isa=wgmma,stages=3,splitk=1,copy=bulk,blocks=" \
	"0,pdl=0,occ=1,cluster=1"

/* The first op that a geometry of this ISA is for. */
static const struct tcb_op *op_for(const char *standard)
{
	return strstr(standard, "isa=fma") ? ops[0] : ops[1];
}

static void rules_name_what_is_wrong(void **state)
{
	static const struct {
		const char *standard, *changes, *says;
		unsigned capability;
	} cases[] = {
		{ FMA, "isa=mma", "isa must be fma", 90 },
		{ MMA, "isa=fma", "isa must be mma or wgmma", 90 },
		{ WGMMA, "pdl=0", "sm_90's alone", 100 },
		{ FMA, "macro=128x512x1024", "macro.n and macro.k", 90 },
		{ FMA, "micro=16x16x16", "512 to 4096 values", 90 },
		{ FMA, "vec=8", "vec must be 4 or 16", 90 },
		{ FMA, "midi=128x128x64,micro=64x32x64", "midi.k must be 8, 16 or 32", 90 },
		{ MMA, "micro=64x32x16", "micro.k must be midi.k", 90 },
		{ MMA, "vec=2", "vec must be", 90 },
		{ WGMMA, "micro=64x32x64", "with isa=wgmma", 90 },
		{ WGMMA, "micro=64x64x64,midi=128x128x64", "at most three warpgroups", 90 },
		{ WGMMA, "midi=128x128x32,micro=64x128x32", "midi.k must be 64 or 128", 90 },
		{ WGMMA, "copy=async", "copy must be bulk", 90 },
		{ FMA, "copy=async", "needs sm_80", 75 },
		{ FMA, "copy=ldg", "stages must be 2 with copy=ldg", 90 },
		{ FMA, "stages=1", "stages must be 2 to 12", 90 },
		{ FMA, "cluster=2", "cluster must be 1", 90 },
		{ WGMMA, "cluster=4", "divide midi.n / 64", 90 },
		{ WGMMA, "cluster=2,macro=128x1024x1024", "macro.m must be at least", 90 },
		{ WGMMA, "splitk=2", "1 with isa=wgmma", 90 },
		{ WGMMA, "blocks=2,occ=1", "as many as blocks", 90 },
		{ WGMMA, "blocks=1", "blocks=0 does the same", 90 },
		{ WGMMA, "turns=1", "need blocks that stay", 90 },
		{ WGMMA, "sched=streamk", "need blocks that stay", 90 },
		{ WGMMA, "turns=0", "turns must be 1, or left out", 90 },
		{ WGMMA, "sched=dynamic", "sched must be streamk, or left out", 90 },
		{ WGMMA, "blocks=1,turns=1,midi=64x128x64", "turns=1 needs two or three", 90 },
		{ WGMMA, "blocks=1,turns=1,midi=64x128x64,micro=64x64x64,cluster=2", "cluster must divide micro.n",
		  90 },
		{ WGMMA, "blocks=1,sched=streamk,midi=256x256x64,micro=128x256x64", "micro must be", 90 },
		{ WGMMA, "blocks=1,sched=streamk,midi=64x64x64,micro=64x64x64,macro=256x256x1024", "macro.n", 90 },
		{ MMA, "sched=streamk", "need blocks that stay", 90 },
		{ FMA, "pdl=1", "pdl=1 needs sm_90", 89 },
		{ FMA, "splitk=64,midi=128x128x32,micro=64x32x32", "splitk is more than", 90 },
	};
	static const struct tcb_shape shape = { 1024, 1024, 1024 };
	static const char *const good[] = { FMA, MMA, WGMMA };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tcb_problem p = problem_of(op_for(cases[i].standard), shape);
		const struct tcb_geometry g = gpu_geometry_changed(cases[i].standard, cases[i].changes);
		gpu_check_rule(&p, cases[i].capability, &g, 1, cases[i].says);
	}
	for (size_t i = 0; i < 3; i++) {
		struct tcb_problem p = problem_of(op_for(good[i]), shape);
		const struct tcb_geometry g = gpu_geometry(good[i]);
		const struct tcb_geometry split = gpu_geometry_changed(good[i], "splitk=2");
		gpu_check_rule(&p, 90, &g, 1, NULL);
		p.shape.words.bits = 1; /* one sum in the order of k, by mma.sync and wgmma alike */
		gpu_check_rule(&p, 90, &g, 1, NULL);
		gpu_check_rule(&p, 90, &split, 1, "splitk must be 1");
	}
}

/* --- kernels --- */

/* Outputs begin where arrays do. */
static void open_bench(struct gpu_bench *bench, const struct tcb_problem *p, uint64_t seed)
{
	gpu_bench_open(bench, p, seed);
	bench->output_align = 16;
}

/* Geometries of the whole product at odd shapes, with two SMs so that resident blocks have several tiles. */
static void samples_are_right(void **state)
{
	static const struct tcb_shape shapes[] = { { 1, 1, 1 },    { 17, 31, 29 }, { 65, 72, 40 },   { 130, 136, 72 },
						   { 3, 200, 67 }, { 129, 9, 34 }, { 40, 264, 136 }, { 200, 64, 8 } };
	const size_t count = gpu_sample_size(36);
	struct gpu_tally tally = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 22);
	for (size_t i = 0; i < count; i++) {
		if (test_leaves_out(i))
			continue;
		const struct tcb_op *op = ops[i % OPS];
		const struct tcb_problem p =
			problem_of(op, shapes[tcb_rng_below(&rng, sizeof shapes / sizeof *shapes)]);
		unsigned capability = gpu_capabilities[tcb_rng_below(&rng, GPU_CAPABILITIES)];
		if (i % 2 || !has_kernels(op, capability))
			capability = 90;
		const struct tcb_target target = gpu_target(capability, 2);
		const struct tcb_geometry g = gpu_geometry_drawn(&p, &target, &rng);
		struct gpu_bench bench;
		open_bench(&bench, &p, i);
		gpu_bench_check(&bench, &target, &g, i, &tally);
		gpu_bench_close(&bench);
	}
	gpu_tally_print(&tally);
}

/* What serves large matrices serves small ones: clusters, resident blocks, slices, stages past the end of k. */
static void large_tiles_at_small_shapes(void **state)
{
	static const struct {
		const char *standard, *changes;
		struct tcb_shape shape;
	} cases[] = {
		{ WGMMA, "cluster=2,stages=4", { 300, 136, 200 } },
		{ WGMMA, "midi=64x256x64,cluster=4,stages=2,macro=256x1024x1024,micro=64x256x64", { 100, 264, 72 } },
		{ WGMMA, "midi=128x64x128,micro=64x64x128,blocks=1,pdl=1", { 390, 200, 136 } },
		{ WGMMA, "midi=256x128x64,micro=128x128x64,blocks=1,cluster=2,macro=512x1024x1024", { 520, 384, 64 } },
		{ WGMMA, "midi=128x64x64,micro=64x64x64", { 1, 8, 8 } },
		{ WGMMA, "midi=128x128x64,micro=64x128x64,blocks=1,turns=1", { 390, 200, 136 } },
		{ WGMMA, "midi=128x64x64,micro=64x64x64,blocks=1,turns=1,stages=2", { 390, 72, 264 } },
		{ WGMMA, "midi=128x128x64,micro=64x128x64,blocks=1,sched=streamk", { 290, 200, 264 } },
		{ WGMMA, "midi=128x128x64,micro=64x128x64,blocks=1,sched=streamk", { 60, 104, 456 } },
		{ WGMMA, "midi=64x128x64,micro=64x128x64,blocks=1,sched=streamk,stages=2", { 330, 136, 328 } },
		{ WGMMA, "midi=128x128x64,micro=64x128x64,blocks=1,sched=streamk,turns=1", { 330, 136, 328 } },
		{ WGMMA,
		  "midi=128x256x64,micro=64x256x64,blocks=1,sched=streamk,turns=1,cluster=2,stages=3,pdl=1",
		  { 300, 264, 264 } },
		{ MMA, "splitk=4,stages=4", { 65, 66, 520 } },
		{ MMA, "micro=32x64x32,splitk=2", { 5, 6, 8 } },
		{ MMA, "copy=ldg,stages=2,vec=2", { 70, 33, 43 } },
		{ FMA, "splitk=4,pdl=1", { 65, 66, 67 } },
		{ FMA, "splitk=2", { 5, 7, 3 } },
		{ FMA, "midi=128x128x32,micro=32x64x32,vec=16", { 70, 68, 36 } },
		{ FMA, "copy=ldg,stages=2", { 70, 33, 43 } },
	};
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tcb_op *op = strstr(cases[i].standard, "isa=fma") ? ops[0] : ops[1 + i % 2];
		const struct tcb_problem p = problem_of(op, cases[i].shape);
		const struct tcb_geometry g = gpu_geometry_changed(cases[i].standard, cases[i].changes);
		struct gpu_bench bench;
		open_bench(&bench, &p, i);
		gpu_bench_check(&bench, &target, &g, i, NULL);
		gpu_bench_close(&bench);
	}
}

/* Tiles in two to six parts, ranges within a tile, as many ranges as steps: by the number of SMs. */
static size_t flags_at(const struct tcb_problem *p, const struct tcb_target *target, const struct tcb_geometry *g)
{
	struct matmul_gpu plan;
	matmul_gpu_plan(p, target, g, &plan);
	return plan.counters_at;
}

static void tiles_in_parts(void **state)
{
	static const struct {
		const char *changes;
		struct tcb_shape shape;
		unsigned sms;
	} cases[] = {
		{ "midi=64x64x64,micro=64x64x64", { 64, 64, 640 }, 6 },
		{ "midi=64x64x64,micro=64x64x64", { 64, 64, 256 }, 6 }, /* fewer steps than SMs */
		{ "midi=64x64x64,micro=64x64x64,cluster=1", { 300, 64, 200 }, 4 },
		{ "midi=64x128x64,micro=64x128x64,cluster=2,macro=128x1024x1024", { 380, 136, 320 }, 8 },
		{ "midi=128x64x64,micro=64x64x64,turns=1", { 300, 72, 320 }, 4 },
		{ "midi=128x64x64,micro=64x64x64,blocks=2,occ=2,stages=2", { 300, 72, 320 }, 1 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct tcb_target target = gpu_target(90, cases[i].sms);
		const struct tcb_problem p = problem_of(ops[1 + i % 2], cases[i].shape);
		char changes[200];
		snprintf(changes, sizeof changes, "blocks=1,sched=streamk,%s", cases[i].changes);
		const struct tcb_geometry g = gpu_geometry_changed(WGMMA, changes);
		struct gpu_bench bench;
		open_bench(&bench, &p, i);
		bench.zeros_at = flags_at(&p, &target, &g);
		assert_true(bench.zeros_at > 0);
		gpu_bench_check(&bench, &target, &g, i, NULL);
		gpu_bench_close(&bench);
	}
}

/* NaN, infinity and numbers below the normal ones in A and B, as the reference has them. */
static void special_values(void **state)
{
	static const char *const geometries[] = { FMA, MMA, WGMMA };
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct tcb_problem p = problem_of(ops[i ? 1 : 0], (struct tcb_shape){ 24, 16, 40 });
		const struct tcb_target target = gpu_target(90, 2);
		const struct tcb_geometry g = gpu_geometry(geometries[i]);
		struct gpu_bench bench;
		open_bench(&bench, &p, 3);
		for (int o = 0; o < 2; o++)
			for (size_t at = 0; at < 5; at++) {
				static const float values[] = { NAN, INFINITY, -INFINITY, 0x1p-20f, 0 };
				const uint16_t half = tcb_f32_to_f16(values[at]);
				const size_t where = 7 + 83 * at;
				if (i)
					memcpy((uint16_t *)bench.data[o] + where, &half, sizeof half);
				else
					memcpy((float *)bench.data[o] + where, &values[at], sizeof(float));
			}
		gpu_bench_refer(&bench);
		gpu_bench_check(&bench, &target, &g, 1, NULL);
		gpu_bench_close(&bench);
	}
}

/* --- mutants --- */

#define IN_PARTS "blocks=1,sched=streamk,midi=64x256x64,micro=64x256x64,stages=2"
#define IN_TURNS "blocks=1,turns=1,midi=128x64x64,micro=64x64x64,stages=2"

static void mutants_are_caught(void **state)
{
	static const struct {
		const char *what, *standard, *changes;
		struct gpu_mutation mutation;
	} cases[] = {
		{ "nothing", FMA, "splitk=2", { NOTHING, TCB_PTX_OP_LD, 0 } },
		{ "no wait for the first step", FMA, "pdl=0", { REMOVE, TCB_PTX_OP_CP_ASYNC_WAIT_GROUP, 0 } },
		{ "no barrier in the loop", FMA, "pdl=0", { REMOVE, TCB_PTX_OP_BAR_SYNC, 1 } },
		{ "a result past the last row", FMA, "pdl=0", { UNGUARD, TCB_PTX_OP_ST, 15 } },
		{ "B from the wrong place", FMA, "pdl=0", { MOVE, TCB_PTX_OP_LD, 14 } },
		{ "a counter that is not ordered", FMA, "splitk=2", { REMOVE, TCB_PTX_OP_FENCE, 0 } },
		{ "nothing, mma", MMA, "pdl=0", { NOTHING, TCB_PTX_OP_LD, 0 } },
		{ "a fragment from the wrong place", MMA, "pdl=0", { MOVE, TCB_PTX_OP_LDMATRIX, 1 } },
		{ "a product left out", MMA, "pdl=0", { REMOVE, TCB_PTX_OP_MMA, 3 } },
		{ "nothing, wgmma", WGMMA, "cluster=2", { NOTHING, TCB_PTX_OP_LD, 0 } },
		{ "too few bytes waited for",
		  WGMMA,
		  "cluster=1",
		  { CONSTANT, TCB_PTX_OP_MBARRIER_ARRIVE_EXPECT_TX, 0 } },
		{ "no wait for an empty stage", WGMMA, "stages=2", { REMOVE, TCB_PTX_OP_MBARRIER_ARRIVE, 0 } },
		{ "a product not waited for", WGMMA, "cluster=1", { CONSTANT, TCB_PTX_OP_WGMMA_WAIT_GROUP, 1 } },
		{ "no fence before the products", WGMMA, "cluster=1", { REMOVE, TCB_PTX_OP_WGMMA_FENCE, 0 } },
		{ "nothing, in parts", WGMMA, IN_PARTS, { NOTHING, TCB_PTX_OP_LD, 0 } },
		{ "a part that is not ordered", WGMMA, IN_PARTS, { REMOVE, TCB_PTX_OP_FENCE, 0 } },
		{ "a flag that stays", WGMMA, IN_PARTS, { REMOVE, TCB_PTX_OP_ST, 33 } },
		{ "a part from the wrong place", WGMMA, IN_PARTS, { MOVE, TCB_PTX_OP_LD, 12 } },
		{ "a turn out of order", WGMMA, IN_TURNS, { REMOVE, TCB_PTX_OP_BAR_SYNC, 1 } },
		{ "a block that leaves its cluster early",
		  WGMMA,
		  "cluster=2",
		  { REMOVE, TCB_PTX_OP_BARRIER_CLUSTER_WAIT, 0 } },
	};
	const struct tcb_target target = gpu_target(90, 2);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (test_defers(i))
			continue;
		const struct tcb_problem p = problem_of(op_for(cases[i].standard), (struct tcb_shape){ 160, 136, 288 });
		const struct tcb_geometry g = gpu_geometry_changed(cases[i].standard, cases[i].changes);
		struct gpu_bench bench;
		open_bench(&bench, &p, 9);
		snprintf(bench.what, sizeof bench.what, "%s", cases[i].what);
		bench.zeros_at = flags_at(&p, &target, &g);
		gpu_bench_check_mutant(&bench, &target, &g, &cases[i].mutation);
		gpu_bench_close(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_legal),
		cmocka_unit_test(spaces_have_hundreds_and_the_default),
		cmocka_unit_test(rules_name_what_is_wrong),
		cmocka_unit_test(samples_are_right),
		cmocka_unit_test(large_tiles_at_small_shapes),
		cmocka_unit_test(tiles_in_parts),
		cmocka_unit_test(special_values),
		cmocka_unit_test(mutants_are_caught),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
