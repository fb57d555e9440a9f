/* SPDX-License-Identifier: MIT
 *
 * A geometry of the reduce2d ops for WebGPU in numbers; the rules (V4) that it
 * keeps; the axes of the space and the default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/reduce2d/reduce2d_wgsl.h"
#include "kernels/wgsl/wgsl.h"
#include "kernels/wgsl/wgsl_rules.h"

enum {
	DEFAULT_WORKGROUP = 256,
	DEFAULT_UNROLL = 4,
	GROUPS_LEAST = 256, /* of the default, before an invocation loads more than a vector at a time */
	GROUPS_MOST = 1024, /* several waves of a large device's; more are more for the second launch to read */
	WORKGROUP_LEAST = 32,
	WORKGROUP_MOST = 1024,
	JOINED_MAX = 1 << 16,
	ROUNDS_MAX = 1 << 24
};

void reduce2d_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			struct reduce2d_wgsl *out)
{
	struct reduce2d_wgsl *g = out;
	const struct tcb_tile *tile = geometry->tile;
	const uint64_t count = (uint64_t)problem->shape.m * problem->shape.n;
	const size_t midi = tile[TCB_MIDI].m * tile[TCB_MIDI].n, macro = tile[TCB_MACRO].m * tile[TCB_MACRO].n;
	memset(g, 0, sizeof(*g));
	g->form = (enum tcb_form)KNOB(FORM);
	g->tree = (enum tcb_tree)KNOB(TREE);
	g->program = reduce2d_program(reduce2d_operation(problem));
	g->has_join = KNOB(JOIN) == TCB_JOIN_LAUNCH;
	g->width = (unsigned)tcb_most(KNOB(VEC) / 4, 1);
	g->workgroup = KNOB_COUNT(WORKGROUP);
	g->unroll = KNOB_COUNT(UNROLL);
	g->step = g->workgroup * g->unroll;
	g->rounds = (unsigned)tcb_least(midi ? macro / midi : 1, ROUNDS_MAX);
	g->rounds += !g->rounds;
	g->count = count;
	g->vectors = count / g->width;
	/* What is left of a vector is one more. */
	g->steps = tcb_most(tcb_div_up(tcb_div_up(count, g->width), g->step), 1);
	g->groups = tcb_div_up(g->steps, g->rounds);
}

/* Of an invocation's own sum, of how these come together, and of the second launch. */
double reduce2d_wgsl_chain(const struct reduce2d_wgsl *g)
{
	const double tree = tcb_log2_up(g->unroll * g->width) + tcb_wgsl_tree_chain(g->tree, g->workgroup);
	const uint64_t joined = g->has_join ? tcb_div_up(g->groups, g->workgroup) : 0;
	const double join = g->has_join ? 1 + tcb_wgsl_tree_chain(g->tree, g->workgroup) : 0;
	if (g->form == TCB_FORM_KAHAN) /* 2u + O(rounds u^2) (Higham 2002, 4.3) */
		return 5 + 4.0 * (g->rounds + (double)joined) * 0x1p-24 + tree + join;
	const double combines = g->rounds + 1 + tree + (double)joined + join;
	if (!g->program)
		return combines;
	/* Rounded either way (WGSL, "Floating Point Evaluation"). */
	return 2 * reduce2d_program_roundings(g->program) *
	       (reduce2d_program_multiplies(g->program) ? (double)g->count + combines : combines);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct reduce2d_wgsl g;
	(void)target;
	memset(out, 0, sizeof(*out));
	reduce2d_wgsl_plan(problem, geometry, &g);
	out->element_bytes = sizeof(float);
	out->alignment_bytes = out->vector_bytes = 4 * g.width;
	out->base_bytes = 256;
	out->shared_bytes = tcb_wgsl_tree_bytes(g.tree, g.workgroup);
	out->block_threads = g.workgroup;
	out->accumulators = g.unroll * g.width;
	out->grid[0] = g.groups;
	out->grid[1] = out->grid[2] = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = sizeof(float) * geometry->tile[level].m * geometry->tile[level].n;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(UNROLL) | KNOB_BIT(VEC) | KNOB_BIT(JOIN) | KNOB_BIT(WORKGROUP) |
			     KNOB_BIT(TREE);
	const int32_t form = geometry->knob[TCB_KNOB_FORM];
	if (!tcb_wgsl_sets_knobs(geometry, set, KNOB_BIT(FORM)))
		return "a WebGPU geometry sets isa, unroll, vec, join, workgroup and tree, and no other knob but form";
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_WGSL)
		return "isa must be wgsl";
	if (reduce2d_program(reduce2d_operation(problem)) && geometry->knob[TCB_KNOB_TREE] != TCB_TREE_SHARED)
		return "tree must be shared for a reduction of one's own";
	if (!reduce2d_is_sum(problem))
		return form == TCB_KNOB_UNSET ? NULL : "form has an effect on sums alone and must not be set";
	return form == TCB_FORM_LANES || form == TCB_FORM_KAHAN ? NULL : "form must be lanes or kahan";
}

RULE(rule_step)
{
	const unsigned vec = KNOB(VEC), unroll = KNOB(UNROLL);
	if (vec != 4 && vec != 8 && vec != 16)
		return "vec must be 4, 8 or 16";
	if (unroll < 1 || unroll > REDUCE2D_WGSL_UNROLL_MAX || (unroll & (unroll - 1)))
		return "unroll must be 1, 2, 4 or 8";
	return (uint64_t)problem->shape.m * problem->shape.n > INT32_MAX ? "more than 2^31 elements" : NULL;
}

RULE(rule_join)
{
	struct reduce2d_wgsl g;
	reduce2d_wgsl_plan(problem, geometry, &g);
	if (KNOB(JOIN) != TCB_JOIN_NONE && KNOB(JOIN) != TCB_JOIN_LAUNCH)
		return "join must be none or launch";
	if (g.groups > 1 && !g.has_join)
		return "join must be launch with several workgroups";
	return g.groups > JOINED_MAX ? "one workgroup would add up more than 65536 results: a larger macro" : NULL;
}

/* What a smaller workgroup, or one without others to join with, does as well. */
RULE(rule_idle)
{
	struct reduce2d_wgsl g;
	reduce2d_wgsl_plan(problem, geometry, &g);
	if (g.groups == 1 && g.has_join)
		return "join must be none with one workgroup";
	return g.step > WORKGROUP_LEAST && g.vectors < g.step / 2
		       ? "half of a step is idle: a smaller workgroup or unroll"
		       : NULL;
}

/* ELEMENTS of the matrix, one after another, as a tile of it: whole rows where they are more than one, vectors of
 * WIDTH, and no more than there is. */
static struct tcb_tile fold(const struct tcb_shape *shape, size_t elements, size_t width)
{
	const size_t columns = tcb_most(tcb_least(elements, tcb_most(tcb_power_of_two_up(shape->n), width)), 1);
	return (struct tcb_tile){ tcb_least(elements / columns, tcb_power_of_two_up(shape->m)), columns, 1 };
}

static int is_fold(const struct tcb_tile *tile, size_t elements, const struct tcb_shape *shape, size_t width)
{
	const struct tcb_tile folded = fold(shape, elements, width);
	return folded.m == tile->m && folded.n == tile->n;
}

RULE(rule_tiles)
{
	const struct tcb_tile *tile = geometry->tile;
	const size_t width = KNOB_COUNT(VEC) / 4, step = (size_t)KNOB(WORKGROUP) * KNOB(UNROLL) * width;
	const size_t share = tile[TCB_MACRO].m * tile[TCB_MACRO].n;
	if (tile[TCB_MICRO].m != 1 || tile[TCB_MICRO].n != width)
		return "micro must be 1 x vec / 4: an invocation's vector";
	if (!is_fold(&tile[TCB_MIDI], step, &problem->shape, width))
		return "midi must be a workgroup's step, workgroup * unroll * vec / 4 elements, folded into the matrix";
	return tcb_is_power_of_two(share) && is_fold(&tile[TCB_MACRO], share, &problem->shape, width)
		       ? NULL
		       : "macro must be a workgroup's share, folded into the matrix";
}

#define READS_STEP (TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(WORKGROUP) | TCB_FIELD_KNOB(UNROLL))

static const struct tcb_rule rules[] = {
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(UNROLL), TCB_RULE_KERNEL, rule_step },
	{ TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, tcb_wgsl_rule_workgroup },
	{ TCB_WGSL_READS_TREE, TCB_RULE_KERNEL, tcb_wgsl_rule_tree },
	{ READS_STEP | TCB_FIELD_TILES, TCB_RULE_KERNEL, rule_tiles },
	{ READS_STEP | TCB_FIELD_TILES | TCB_FIELD_KNOB(JOIN), TCB_RULE_KERNEL, rule_join },
	{ READS_STEP | TCB_FIELD_TILES | TCB_FIELD_KNOB(JOIN), TCB_RULE_DOUBLE, rule_idle },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_bindings },
	{ 0, 0, NULL },
};

/* --- space --- */

static int has_subgroup_tree(const struct tcb_problem *problem, const struct tcb_target *target)
{
	return (target->wgpu.features >> TCB_WGPU_SUBGROUPS & 1u) && !reduce2d_program(reduce2d_operation(problem));
}

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t rows = tcb_power_of_two_up(problem->shape.m);
	const size_t columns = tcb_most(tcb_power_of_two_up(problem->shape.n), REDUCE2D_WGSL_WIDTH_MAX);
	const size_t step_most = WORKGROUP_MOST * REDUCE2D_WGSL_UNROLL_MAX * REDUCE2D_WGSL_WIDTH_MAX;
	size_t count = 0;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_WGSL);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 16, 8, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WORKGROUP), 32, 64, 128, 256, 512, 1024);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_UNROLL), 1, 2, 4, 8);
	if (has_subgroup_tree(problem, target))
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_TREE), TCB_TREE_SHARED, TCB_TREE_SUBGROUP);
	else
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_TREE), TCB_TREE_SHARED);
	if (reduce2d_is_sum(problem))
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_FORM), TCB_FORM_LANES, TCB_FORM_KAHAN);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 1, 2, 4);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 1, 2, tcb_least(columns, step_most));
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), 1, 2, tcb_least(rows, step_most));
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), 1, 2, columns);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO), 1, 2, rows);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_JOIN), TCB_JOIN_NONE, TCB_JOIN_LAUNCH);
	return count;
}

/* What a textbook has, on any device: a workgroup of 256 for each 256 vectors, then one for their results.  Small
 * matrices take fewer invocations, large ones larger shares. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t elements = problem->shape.m * problem->shape.n;
	size_t workgroup = DEFAULT_WORKGROUP, unroll = 1, span;
	struct reduce2d_wgsl g;
	while (workgroup > WORKGROUP_LEAST && elements / 4 < workgroup / 2)
		workgroup /= 2;
	while (unroll < DEFAULT_UNROLL && elements / (8 * workgroup * unroll) >= GROUPS_LEAST)
		unroll *= 2;
	span = 4 * workgroup * unroll;
	tcb_geometry_init(out);
	out->tile[TCB_MIDI] = fold(&problem->shape, span, 4);
	while (tcb_div_up(elements, span) > GROUPS_MOST)
		span *= 2;
	out->tile[TCB_MACRO] = fold(&problem->shape, span, 4);
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 4, 1 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGSL;
	out->knob[TCB_KNOB_UNROLL] = (int32_t)unroll;
	out->knob[TCB_KNOB_VEC] = 16;
	out->knob[TCB_KNOB_WORKGROUP] = (int32_t)workgroup;
	out->knob[TCB_KNOB_TREE] = has_subgroup_tree(problem, target) ? TCB_TREE_SUBGROUP : TCB_TREE_SHARED;
	if (reduce2d_is_sum(problem))
		out->knob[TCB_KNOB_FORM] = TCB_FORM_LANES;
	out->knob[TCB_KNOB_JOIN] = TCB_JOIN_LAUNCH;
	reduce2d_wgsl_plan(problem, out, &g);
	if (g.groups == 1)
		out->knob[TCB_KNOB_JOIN] = TCB_JOIN_NONE;
}

const struct tcb_side_space reduce2d_wgsl_space = { rules, axes, default_geometry, footprint };
