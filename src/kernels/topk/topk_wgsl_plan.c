/* SPDX-License-Identifier: MIT
 *
 * A geometry of the op topk for WebGPU in numbers; the rules (V4) that it keeps; the axes of the space and the default
 * geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/topk/topk_wgsl.h"
#include "kernels/wgsl/wgsl_rules.h"

enum {
	WORKGROUP_LEAST = 32,
	DEFAULT_WORKGROUP = 256,
	DEFAULT_SLICE = 4096, /* scores, at least, where workgroups share a row */
	SPLIT_MOST = 64,
	GROUPS_WANTED = 256, /* fewer leave a GPU idle */
	GRID_MOST = 65535,
	COUNT_BYTES = (256 + 16 + 1 + 4) * 4 /* of digits, and what is found */
};

/* Of a row: K, or all its scores. */
static size_t kept_of(const struct tcb_problem *problem)
{
	return tcb_least(problem->shape.k, problem->shape.n);
}

void topk_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct topk_wgsl *out)
{
	struct topk_wgsl *g = out;
	memset(g, 0, sizeof(*g));
	g->width = KNOB(VEC) >= 16 ? 4 : 1;
	g->workgroup = KNOB_COUNT(WORKGROUP);
	g->splitk = KNOB_COUNT(SPLITK);
	g->room = (unsigned)tcb_most(geometry->tile[TCB_MIDI].k, 1);
	g->rows = problem->shape.m;
	g->scores = problem->shape.n;
	g->k = problem->shape.k;
	g->kept = kept_of(problem);
	g->vectors = g->scores / g->width;
	g->slice = tcb_div_up(g->vectors, g->splitk);
	const size_t deep = tcb_div_up(g->rows, GRID_MOST);
	g->grid[0] = g->splitk;
	g->grid[1] = (uint32_t)tcb_least(tcb_div_up(g->rows, deep), GRID_MOST);
	g->grid[2] = (uint32_t)tcb_least(deep, GRID_MOST);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct topk_wgsl g;
	(void)target;
	memset(out, 0, sizeof(*out));
	topk_wgsl_plan(problem, geometry, &g);
	out->element_bytes = sizeof(float);
	out->alignment_bytes = out->vector_bytes = 4 * g.width;
	out->base_bytes = 256;
	out->leading_bytes = g.scores * sizeof(float);
	out->shared_bytes = (size_t)g.room * 8 + COUNT_BYTES;
	out->block_threads = g.workgroup;
	for (int i = 0; i < 3; i++)
		out->grid[i] = g.grid[i];
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = sizeof(float) * geometry->tile[level].m * geometry->tile[level].n;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(VEC) | KNOB_BIT(SPLITK) | KNOB_BIT(JOIN) | KNOB_BIT(WORKGROUP);
	if (!tcb_wgsl_sets_knobs(geometry, set, 0))
		return "a WebGPU geometry sets isa, vec, splitk, join and workgroup, and no other knob";
	return geometry->knob[TCB_KNOB_ISA] != TCB_ISA_WGSL ? "isa must be wgsl" : NULL;
}

RULE(rule_size)
{
	if (kept_of(problem) > TOPK_WGSL_MOST)
		return "WebGPU's kernels find the 1024 largest of a row at most";
	return (uint64_t)problem->shape.m * tcb_most(problem->shape.n, problem->shape.k) > INT32_MAX
		       ? "more than 2^31 elements"
		       : NULL;
}

RULE(rule_vec)
{
	if (KNOB(VEC) != 4 && KNOB(VEC) != 16)
		return "vec must be 4 or 16";
	return problem->shape.n % (KNOB(VEC) / 4) ? "a row must be whole vectors: vec=4" : NULL;
}

RULE(rule_split)
{
	struct topk_wgsl g;
	topk_wgsl_plan(problem, geometry, &g);
	if (!tcb_is_power_of_two(KNOB(SPLITK)) || KNOB(SPLITK) > SPLIT_MOST)
		return "splitk must be a power of two up to 64";
	if (KNOB(JOIN) != (KNOB(SPLITK) > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE))
		return "join must be none with splitk=1, and launch otherwise";
	return (g.splitk - 1) * g.slice >= g.vectors
		       ? "the last of the workgroups that share a row has no scores: a smaller splitk"
		       : NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *tile = geometry->tile;
	const size_t m = tcb_power_of_two_up(problem->shape.m), n = tcb_power_of_two_up(problem->shape.n);
	const size_t room = tcb_power_of_two_up(kept_of(problem));
	if (tile[TCB_MACRO].m != m || tile[TCB_MACRO].n != n || tile[TCB_MACRO].k != room)
		return "macro must be m x n x the smaller of k and n, rounded up to powers of two";
	if (tile[TCB_MIDI].m != 1 || tile[TCB_MIDI].n * KNOB(SPLITK) != n || tile[TCB_MIDI].k != room)
		return "midi must be 1 x macro.n / splitk x macro.k";
	return tile[TCB_MICRO].m != 1 || tile[TCB_MICRO].n * 4 != KNOB(VEC) || tile[TCB_MICRO].k != 1
		       ? "micro must be 1 x vec / 4 x 1, an invocation's vector"
		       : NULL;
}

RULE(rule_idle)
{
	struct topk_wgsl g;
	topk_wgsl_plan(problem, geometry, &g);
	return g.workgroup > WORKGROUP_LEAST && g.slice <= g.workgroup / 2
		       ? "half of a workgroup's invocations have no scores: a smaller workgroup"
		       : NULL;
}

/* Digits are counted by 16 invocations at least. */
RULE(rule_workgroup)
{
	return KNOB(WORKGROUP) < WORKGROUP_LEAST ? "workgroup must be 32 or more"
						 : tcb_wgsl_rule_workgroup(problem, target, geometry);
}

RULE(policy_usual)
{
	struct topk_wgsl g;
	unsigned unusual = 0;
	topk_wgsl_plan(problem, geometry, &g);
	unusual += g.width == 1 && problem->shape.n % 4 == 0;
	unusual += g.splitk > 1 && g.slice * g.width < tcb_most(DEFAULT_SLICE / 4, 8 * g.kept);
	unusual += g.workgroup == WORKGROUP_LEAST && g.slice > DEFAULT_WORKGROUP;
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

#define READS_SLICE (TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(WORKGROUP) | TCB_FIELD_KNOB(JOIN))

static const struct tcb_rule rules[] = {
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, rule_size },
	{ TCB_FIELD_KNOB(VEC), TCB_RULE_KERNEL, rule_vec },
	{ TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, rule_workgroup },
	{ TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ READS_SLICE, TCB_RULE_KERNEL, rule_split },
	{ READS_SLICE, TCB_RULE_DOUBLE, rule_idle },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_bindings },
	{ 0, TCB_RULE_POLICY, policy_usual },
	{ 0, 0, NULL },
};

/* --- space --- */

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t m = tcb_power_of_two_up(problem->shape.m), n = tcb_power_of_two_up(problem->shape.n);
	const size_t room = tcb_power_of_two_up(kept_of(problem)), shares = tcb_least(n, SPLIT_MOST);
	size_t count = 0;
	struct tcb_axis *a;
	(void)target;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_WGSL);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 16, 4);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 1, 4);
	a = tcb_axis_knob(out, &count, TCB_KNOB_JOIN);
	tcb_axis_add(a, TCB_JOIN_NONE);
	if (shares > 1)
		tcb_axis_add(a, TCB_JOIN_LAUNCH);
	tcb_axis_add_powers(tcb_axis_knob(out, &count, TCB_KNOB_SPLITK), 1, 2, shares);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI);
	for (size_t share = 1; share <= shares; share *= 2)
		tcb_axis_add(a, n / share);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), n);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level),
			     level == TCB_MACRO ? m : 1);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level),
			     level == TCB_MICRO ? 1 : room);
	}
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WORKGROUP), 32, 64, 128, 256, 512, 1024);
	return count;
}

/* Workgroups of 256, or of as many as a short row has vectors; several for a row where rows alone are few. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t m = problem->shape.m, n = problem->shape.n, width = n % 4 == 0 ? 4 : 1;
	const size_t room = tcb_power_of_two_up(kept_of(problem));
	size_t workgroup = DEFAULT_WORKGROUP, splitk = 1;
	(void)target;
	while (splitk < SPLIT_MOST && m * splitk < GROUPS_WANTED && n / (2 * splitk) >= DEFAULT_SLICE)
		splitk *= 2;
	while (workgroup > WORKGROUP_LEAST && n / width <= workgroup / 2)
		workgroup /= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(m), tcb_power_of_two_up(n), room };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, tcb_power_of_two_up(n) / splitk, room };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, width, 1 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGSL;
	out->knob[TCB_KNOB_VEC] = (int32_t)(4 * width);
	out->knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
	out->knob[TCB_KNOB_JOIN] = splitk > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE;
	out->knob[TCB_KNOB_WORKGROUP] = (int32_t)workgroup;
}

const struct tcb_side_space topk_wgsl_space = { rules, axes, default_geometry, footprint };
