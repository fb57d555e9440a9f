/* SPDX-License-Identifier: MIT
 *
 * A geometry of topk for a GPU in numbers, what the constraints judge, the rules (V4) that it
 * keeps, the axes of its space and its default.
 */
#include <string.h>

#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/topk/topk_gpu.h"

enum {
	KEY_BYTES = 8,
	HEAD_BYTES = 16, /* flag, count and least */
	FEW = 512,       /* K, of which there is room for more at a time */
	AHEAD_OF_MANY = 4,
	DEFAULT_WARPS = 8,
	DEFAULT_VALUES = 16, /* of a thread */
	DEFAULT_BLOCKS = 2,  /* of an SM that are few */
	SLICE_USUAL = 1024,  /* columns; smaller slices only add keys to join */
	MANY = 256           /* K from which on a block has long to do */
};

/* Rows begin at multiples of the widest vector. */
static unsigned widest(const struct tcb_problem *problem)
{
	return problem->shape.n % 4 == 0 ? 16 : problem->shape.n % 2 == 0 ? 8 : 4;
}

/* Scores that are found. */
static size_t found(const struct tcb_problem *problem)
{
	return tcb_least(problem->shape.k, problem->shape.n);
}

/* Twice K, so that few keys pass; lanes that share a group count two keys each at least. */
static unsigned groups_of(const struct topk_gpu *g)
{
	unsigned groups = WARP;
	while (groups < g->threads && (groups < 2 * g->k || groups * groups < 2 * g->threads))
		groups *= 2;
	return groups < g->threads ? groups : g->threads;
}

/* Keys that may pass, of EACH of a thread's, ALL together. */
static size_t room(const struct topk_gpu *g, size_t each, size_t all)
{
	return g->groups < g->k ? all : tcb_least(all, (size_t)g->k * g->sharers * each);
}

void topk_gpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct topk_gpu *out)
{
	struct topk_gpu *g = out;
	memset(g, 0, sizeof(*g));
	g->m = problem->shape.m;
	g->n = (unsigned)problem->shape.n;
	g->k = (unsigned)problem->shape.k;
	g->width = KNOB_COUNT(VEC) < 4 ? 1 : KNOB(VEC) / 4;
	g->warps = KNOB_COUNT(WARPS);
	g->threads = WARP * g->warps;
	g->unroll = KNOB_COUNT(UNROLL);
	g->together = KNOB(OCC);
	g->pdl = KNOB(PDL) == 1;
	/* Blocks of the next launch beside this one's: these would lie on fewer SMs, and that takes longer than a
	 * launch. */
	g->is_late = g->k >= MANY;
	g->pass = g->threads * g->width;
	g->slice = g->unroll * g->pass;
	g->slices = tcb_div_up(g->n, g->slice);
	g->groups = groups_of(g);
	g->sharers = g->threads / g->groups;
	g->joined = g->slices > 1 ? g->slices * g->k : 0;
	const size_t of_slice = room(g, (size_t)g->unroll * g->width, g->slice);
	g->ahead = tcb_least(tcb_div_up(g->joined, g->threads), g->k > FEW ? AHEAD_OF_MANY : TOPK_GPU_AHEAD_MOST);
	g->is_joined_in_turns = g->joined > g->ahead * g->threads;
	const size_t at_once = g->ahead + (g->is_joined_in_turns ? 1 : 0);
	const size_t of_row = room(g, at_once, at_once * g->threads);
	g->count_at = 4;
	g->least_at = 8;
	g->groups_at = HEAD_BYTES;
	g->best_at = g->groups_at + g->groups * KEY_BYTES;
	g->keys_at = g->best_at + (g->is_joined_in_turns ? g->k * KEY_BYTES : 0);
	g->shared_bytes = (unsigned)tcb_least(g->keys_at + tcb_most(of_slice, of_row) * KEY_BYTES, INT32_MAX);
	if (g->slices > 1) {
		g->counters_at = g->m * g->joined * KEY_BYTES;
		g->workspace_bytes = g->counters_at + g->m * 4;
	}
}

/* An upper bound, held against ptxas by tests/kernels/check_gpu_space.c: of many scores it has several keys at once. */
static unsigned registers(const struct topk_gpu *g)
{
	const unsigned values = g->unroll * g->width;
	return 40 + values + values * values / TOPK_GPU_VALUES_MOST;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct topk_gpu g;
	(void)target;
	memset(out, 0, sizeof(*out));
	topk_gpu_plan(problem, geometry, &g);
	out->element_bytes = sizeof(float);
	out->alignment_bytes = out->vector_bytes = 4 * g.width;
	out->base_bytes = 256;
	out->leading_bytes = (size_t)g.n * 4;
	out->tile_offset_bytes = (size_t)g.slice * 4;
	out->shared_bytes = g.shared_bytes;
	out->shared_dynamic = 1;
	out->block_threads = g.threads;
	out->thread_registers = registers(&g);
	out->blocks_together = g.together;
	out->grid[0] = g.m * g.slices;
	out->grid[1] = out->grid[2] = 1;
	out->barriers = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = sizeof(float) * geometry->tile[level].m * geometry->tile[level].n;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set =
		KNOB_BIT(ISA) | KNOB_BIT(WARPS) | KNOB_BIT(VEC) | KNOB_BIT(UNROLL) | KNOB_BIT(PDL) | KNOB_BIT(OCC);
	if (!tcb_gpu_sets_knobs(geometry, set, 0))
		return "a GPU's geometry sets isa, unroll, warps, vec, pdl and occ, and no other knob";
	return geometry->knob[TCB_KNOB_ISA] != TCB_ISA_FMA ? "isa must be fma on a GPU"
							   : tcb_gpu_rule_isa(problem, target, geometry);
}

RULE(rule_size)
{
	if (found(problem) > TOPK_GPU_MOST)
		return "GPU kernels find the 1024 largest of a row at most";
	return problem->shape.n > TOPK_GPU_COLUMNS_MOST ? "rows of more than 2^27 scores have no GPU kernel" : NULL;
}

RULE(rule_block)
{
	const unsigned vec = KNOB(VEC), warps = KNOB(WARPS), unroll = KNOB(UNROLL);
	struct topk_gpu g;
	size_t blocks;
	if (vec != 4 && vec != 8 && vec != 16)
		return "vec must be 4, 8 or 16";
	if (vec > widest(problem))
		return "rows do not begin at multiples of vec";
	if (!tcb_is_power_of_two(warps) || warps > WARPS_MAX)
		return "warps must be a power of two up to 32";
	if (!tcb_is_power_of_two(unroll) || unroll * vec / 4 > TOPK_GPU_VALUES_MOST)
		return "unroll must be a power of two, and a thread have 64 scores at most";
	topk_gpu_plan(problem, geometry, &g);
	if (g.threads < found(problem))
		return "warps must make as many threads as K, or as a row has scores";
	return tcb_mul_size(g.m, g.slices, &blocks) || blocks > INT32_MAX ? "more than 2^31 slices of rows" : NULL;
}

/* What a smaller block does as well. */
RULE(rule_idle)
{
	struct topk_gpu g;
	topk_gpu_plan(problem, geometry, &g);
	if (g.unroll > 1 && g.slice / 2 >= g.n)
		return "half of a thread's vectors have no scores: a smaller unroll";
	return g.warps > 1 && g.slice / 2 >= g.n && g.threads / 2 >= found(problem)
		       ? "half of a block's warps have no scores: fewer warps"
		       : NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *tile = geometry->tile;
	const size_t width = KNOB(VEC) / 4, n = tcb_most(tcb_power_of_two_up(problem->shape.n), width);
	if (tile[TCB_MACRO].m != tcb_power_of_two_up(problem->shape.m) || tile[TCB_MACRO].n != n)
		return "macro must be m x n, rounded up to powers of two, and n to a vector at least";
	if (tile[TCB_MIDI].m != 1 || tile[TCB_MIDI].n != tcb_least(n, WARP * KNOB(WARPS) * KNOB(UNROLL) * width))
		return "midi must be 1 x a block's vectors, at most macro.n";
	return tile[TCB_MICRO].m != 1 || tile[TCB_MICRO].n != width || tile[TCB_MACRO].k != 1
		       ? "micro must be 1 x vec / 4, a lane's vector, and k of all tiles 1"
		       : NULL;
}

/* Slices whose keys are soon more work than their scores. */
RULE(policy_slices)
{
	struct topk_gpu g;
	topk_gpu_plan(problem, geometry, &g);
	return g.slices > 1 && g.slice < tcb_most(SLICE_USUAL, 8 * problem->shape.k) &&
			       !tcb_gpu_is_default(problem, target, geometry)
		       ? "slices of few scores: joining them is most of the work"
		       : NULL;
}

RULE(policy_usual)
{
	unsigned unusual = 0;
	unusual += KNOB(VEC) != widest(problem);
	unusual += KNOB(PDL) == 0 && target->cuda.capability >= 90;
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

#define READS_BLOCK (TCB_FIELD_KNOB(UNROLL) | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(WARPS))

static const struct tcb_rule rules[] = {
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, rule_size },
	{ READS_BLOCK, TCB_RULE_KERNEL, rule_block },
	{ READS_BLOCK, TCB_RULE_DOUBLE, rule_idle },
	{ TCB_FIELD_KNOB(OCC) | TCB_FIELD_KNOB(WARPS), TCB_RULE_KERNEL, tcb_gpu_rule_occ },
	{ TCB_FIELD_KNOB(PDL), TCB_RULE_KERNEL, tcb_gpu_rule_pdl },
	{ TCB_FIELD_TILES | READS_BLOCK, TCB_RULE_DOUBLE, rule_tiles },
	{ 0, TCB_RULE_POLICY, policy_slices },
	{ 0, TCB_RULE_POLICY, policy_usual },
	{ 0, 0, NULL },
};

/* --- the space --- */

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t m = tcb_power_of_two_up(problem->shape.m), n = tcb_power_of_two_up(problem->shape.n);
	const unsigned vec = widest(problem);
	size_t count = 0;
	struct tcb_axis *a;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_FMA);
	tcb_axis_add_powers(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 4, 2, vec);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WARPS), 1, 2, 4, 8, 16, 32);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_UNROLL), 1, 2, 4, 8, 16);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 1, 2, vec / 4);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), n, 2, tcb_most(n, vec / 4));
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 1, 2, tcb_most(n, vec / 4));
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level),
			     level == TCB_MACRO ? m : 1);
		ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), 1);
	}
	a = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(a, 0);
	if (target->cuda.capability >= 90)
		tcb_axis_add(a, 1);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_OCC), 1, 2, 4);
	return count;
}

static int has_room(const struct tcb_problem *problem, const struct tcb_target *target,
		    const struct tcb_geometry *geometry)
{
	struct topk_gpu g;
	topk_gpu_plan(problem, geometry, &g);
	return g.shared_bytes <= tcb_shared_limit(target);
}

/*
 * Blocks of 4096 scores: of 256 threads, or of twice K; of short rows less.  Where SMs have few of them, of 1024
 * threads, which find what a slice has sooner (by the model: 1x151936, K 40, in 4.5 us instead of 9.6).  Joining slices
 * takes a block K keys of each: of many there is one slice where a block has room for it (8x11008, K 256, on an
 * H200 13.6 us instead of 24.6).
 */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t n = problem->shape.n, k = found(problem), width = widest(problem) / 4;
	const size_t macro = tcb_most(tcb_power_of_two_up(n), width);
	/* Of many there is room for fewer on sm_75. */
	const int is_whole = k >= MANY && target->cuda.capability >= 80;
	const size_t values = DEFAULT_VALUES / (is_whole ? 1 : k > FEW ? 4 : k > FEW / 2 ? 2 : 1);
	const size_t slices = problem->shape.m * tcb_div_up(n, DEFAULT_WARPS * WARP * DEFAULT_VALUES);
	const size_t more = slices <= (size_t)DEFAULT_BLOCKS * target->cuda.sm_count ? WARPS_MAX / DEFAULT_WARPS : 1;
	size_t warps = more * DEFAULT_WARPS;
	size_t unroll = tcb_most(tcb_least(values, is_whole ? DEFAULT_VALUES : DEFAULT_VALUES / more) / width, 1);
	while (warps < WARPS_MAX && warps * WARP < 2 * k)
		warps *= 2;
	while (unroll > 1 && unroll / 2 * warps * WARP * width >= n)
		unroll /= 2;
	while (warps > 1 && unroll * warps / 2 * WARP * width >= n && warps / 2 * WARP >= k)
		warps /= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(problem->shape.m), macro, 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, tcb_least(macro, WARP * warps * unroll * width), 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, width, 1 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_FMA;
	out->knob[TCB_KNOB_UNROLL] = (int32_t)unroll;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_VEC] = (int32_t)(4 * width);
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
	out->knob[TCB_KNOB_OCC] = 1;
	while (out->knob[TCB_KNOB_UNROLL] > 1 && !has_room(problem, target, out)) {
		out->knob[TCB_KNOB_UNROLL] /= 2;
		out->tile[TCB_MIDI].n = tcb_least(macro, WARP * warps * (size_t)out->knob[TCB_KNOB_UNROLL] * width);
	}
}

const struct tcb_side_space topk_gpu_space = { rules, axes, default_geometry, footprint };
