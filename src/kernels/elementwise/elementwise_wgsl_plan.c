/* SPDX-License-Identifier: MIT
 *
 * A geometry of the element-wise ops for WebGPU in numbers; the rules (V4) that it
 * keeps; the axes of the space and the default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/elementwise/elementwise_wgsl.h"
#include "kernels/wgsl/wgsl_rules.h"

enum { DEFAULT_WORKGROUP = 256, WORKGROUP_LEAST = 32, VEC_MOST = 16, STEP_MOST = 1 << 17, GRID_MOST = 65535 };

void elementwise_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			   struct elementwise_wgsl *out)
{
	struct elementwise_wgsl *g = out;
	uint64_t steps, deep;
	memset(g, 0, sizeof(*g));
	g->kind = elementwise_kind(problem);
	g->type = problem->op->type;
	g->inputs = (unsigned)elementwise_inputs(g->kind);
	g->vec = (unsigned)tcb_most(KNOB(VEC), 4);
	g->words = g->vec / 4;
	g->width = g->vec / (unsigned)tcb_type_bytes(g->type);
	g->workgroup = KNOB_COUNT(WORKGROUP);
	g->unroll = KNOB_COUNT(UNROLL);
	g->step = g->workgroup * g->unroll;
	g->count = (uint64_t)problem->shape.m * problem->shape.n;
	g->vectors = tcb_div_up(g->count, g->width);
	steps = tcb_div_up(g->vectors, g->step);
	deep = tcb_div_up(steps, GRID_MOST);
	g->grid[0] = (uint32_t)tcb_least(tcb_div_up(steps, deep), GRID_MOST);
	g->grid[1] = (uint32_t)tcb_least(deep, UINT32_MAX);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct elementwise_wgsl g;
	(void)target;
	memset(out, 0, sizeof(*out));
	elementwise_wgsl_plan(problem, geometry, &g);
	out->element_bytes = tcb_type_bytes(g.type);
	out->alignment_bytes = out->vector_bytes = g.vec;
	out->base_bytes = 256;
	out->block_threads = g.workgroup;
	out->grid[0] = g.grid[0];
	out->grid[1] = g.grid[1];
	out->grid[2] = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] =
			(g.inputs + 1) * out->element_bytes * geometry->tile[level].m * geometry->tile[level].n;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(UNROLL) | KNOB_BIT(VEC) | KNOB_BIT(WORKGROUP);
	if (!tcb_wgsl_sets_knobs(geometry, set, 0))
		return "a WebGPU geometry sets isa, unroll, vec and workgroup, and no other knob";
	return geometry->knob[TCB_KNOB_ISA] != TCB_ISA_WGSL ? "isa must be wgsl" : NULL;
}

RULE(rule_step)
{
	const unsigned vec = KNOB(VEC), unroll = KNOB(UNROLL);
	if (vec != 4 && vec != 8 && vec != VEC_MOST)
		return "vec must be 4, 8 or 16";
	if (!tcb_is_power_of_two(unroll) || unroll > ELEMENTWISE_WGSL_UNROLL_MAX)
		return "unroll must be 1, 2, 4 or 8";
	return (uint64_t)problem->shape.m * problem->shape.n > INT32_MAX ? "more than 2^31 elements" : NULL;
}

RULE(rule_idle)
{
	struct elementwise_wgsl g;
	elementwise_wgsl_plan(problem, geometry, &g);
	return (g.workgroup > WORKGROUP_LEAST || g.unroll > 1) && g.vectors < g.step / 2
		       ? "half of a step is idle: a smaller workgroup or unroll"
		       : NULL;
}

static size_t step_elements(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return (size_t)KNOB(WORKGROUP) * KNOB(UNROLL) * KNOB(VEC) / tcb_type_bytes(problem->op->type);
}

RULE(rule_tiles)
{
	if (geometry->tile[TCB_MICRO].n * tcb_type_bytes(problem->op->type) != KNOB(VEC))
		return "micro must be 1 x the elements of vec bytes";
	return elementwise_tiles_broken(problem, geometry, step_elements(problem, geometry));
}

#define READS_STEP (TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(WORKGROUP) | TCB_FIELD_KNOB(UNROLL))

static const struct tcb_rule rules[] = {
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(UNROLL), TCB_RULE_KERNEL, rule_step },
	{ TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, tcb_wgsl_rule_workgroup },
	{ READS_STEP, TCB_RULE_DOUBLE, rule_idle },
	{ READS_STEP | TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_bindings },
	{ 0, 0, NULL },
};

/* --- space --- */

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	size_t count = 0;
	(void)target;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_WGSL);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 16, 8, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WORKGROUP), 32, 64, 128, 256, 512, 1024);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_UNROLL), 1, 2, 4, 8);
	elementwise_add_tiles(problem, VEC_MOST / tcb_type_bytes(problem->op->type), STEP_MOST, out, &count);
	return count;
}

/* Workgroups of 256 invocations with one of the widest vectors each.  Small matrices take fewer invocations. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t width = VEC_MOST / tcb_type_bytes(problem->op->type);
	const size_t vectors = tcb_div_up(problem->shape.m * problem->shape.n, width);
	size_t workgroup = DEFAULT_WORKGROUP;
	(void)target;
	while (workgroup > WORKGROUP_LEAST && vectors < workgroup / 2)
		workgroup /= 2;
	tcb_geometry_init(out);
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGSL;
	out->knob[TCB_KNOB_UNROLL] = 1;
	out->knob[TCB_KNOB_VEC] = VEC_MOST;
	out->knob[TCB_KNOB_WORKGROUP] = (int32_t)workgroup;
	elementwise_set_tiles(problem, step_elements(problem, out), width, out);
}

const struct tcb_side_space elementwise_wgsl_space = { rules, axes, default_geometry, footprint };
