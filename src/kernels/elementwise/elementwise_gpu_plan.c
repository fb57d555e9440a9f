/* SPDX-License-Identifier: MIT
 *
 * A geometry of the element-wise ops for a GPU in numbers, what the constraints judge, the
 * rules (V4) that it keeps, the axes of the space and the default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/elementwise/elementwise_gpu.h"
#include "kernels/gpu/gpu_rules.h"

enum { DEFAULT_WARPS = 8, VEC_MOST = 16, RESIDENT_MOST = 16, STEP_MOST = 1 << 17 };

void elementwise_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
			  const struct tcb_geometry *geometry, struct elementwise_gpu *out)
{
	struct elementwise_gpu *g = out;
	const uint64_t count = (uint64_t)problem->shape.m * problem->shape.n;
	const uint64_t sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	memset(g, 0, sizeof(*g));
	g->kind = elementwise_kind(problem);
	g->type = problem->op->type;
	g->inputs = (unsigned)elementwise_inputs(g->kind);
	g->vec = KNOB(VEC);
	g->words = g->vec / 4;
	g->width = g->vec / (unsigned)tcb_type_bytes(g->type);
	g->warps = KNOB(WARPS);
	g->threads = WARP * g->warps;
	g->unroll = KNOB(UNROLL);
	g->resident = KNOB(BLOCKS);
	g->together = KNOB(OCC);
	g->pdl = KNOB(PDL) == 1;
	g->stream = KNOB(STREAM) == 1;
	g->step = g->threads * g->unroll;
	g->vectors = count / g->width;
	g->rest = (unsigned)(count % g->width);
	g->steps = (g->vectors + g->step - 1) / g->step;
	g->steps += !g->steps;
	/* Matrices of more steps than a grid has blocks break a rule. */
	const uint64_t blocks = tcb_least(g->steps, INT32_MAX);
	g->grid = (unsigned)(g->resident ? tcb_least(g->resident * sms, blocks) : blocks);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct elementwise_gpu g;
	memset(out, 0, sizeof(*out));
	elementwise_gpu_plan(problem, target, geometry, &g);
	out->element_bytes = tcb_type_bytes(g.type);
	out->alignment_bytes = out->vector_bytes = g.vec;
	out->base_bytes = 256;
	out->block_threads = g.threads;
	out->thread_registers = 24 + g.unroll * g.words * g.inputs + 4 * g.words;
	out->blocks_together = g.together;
	out->grid[0] = g.grid;
	out->grid[1] = out->grid[2] = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] =
			(g.inputs + 1) * out->element_bytes * geometry->tile[level].m * geometry->tile[level].n;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(UNROLL) | KNOB_BIT(WARPS) | KNOB_BIT(VEC) | KNOB_BIT(STREAM) |
			     KNOB_BIT(BLOCKS) | KNOB_BIT(PDL) | KNOB_BIT(OCC);
	if (!tcb_gpu_sets_knobs(geometry, set, 0))
		return "a GPU's geometry sets isa, unroll, warps, vec, stream, blocks, pdl and occ, and no other knob";
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_FMA)
		return "isa must be fma on a GPU";
	return KNOB(STREAM) > 1 ? "stream must be 0 or 1" : NULL;
}

RULE(rule_block)
{
	const unsigned vec = KNOB(VEC), warps = KNOB(WARPS), unroll = KNOB(UNROLL);
	if (vec != 4 && vec != 8 && vec != VEC_MOST)
		return "vec must be 4, 8 or 16";
	if (!tcb_is_power_of_two(warps) || warps > WARP)
		return "warps must be a power of two up to 32";
	if (!tcb_is_power_of_two(unroll) || unroll > ELEMENTWISE_UNROLL_MAX)
		return "unroll must be 1, 2, 4 or 8";
	const uint64_t vectors =
		(uint64_t)problem->shape.m * problem->shape.n / (vec / tcb_type_bytes(problem->op->type));
	return vectors > INT32_MAX ? "more than 2^31 vectors: a wider vec" : NULL;
}

RULE(rule_blocks)
{
	return KNOB(BLOCKS) > RESIDENT_MOST ? "blocks must be at most 16" : tcb_gpu_rule_pdl(problem, target, geometry);
}

/* What a smaller block, or one that does not stay, does as well. */
RULE(rule_idle)
{
	const unsigned warps = KNOB(WARPS), unroll = KNOB(UNROLL);
	struct elementwise_gpu g;
	elementwise_gpu_plan(problem, target, geometry, &g);
	if ((warps > 1 || unroll > 1) && g.vectors < (uint64_t)warps * WARP * unroll / 2)
		return "half of a block's step is idle: fewer warps or a smaller unroll";
	return g.resident && g.steps <= g.grid ? "so many blocks stay that each has one step: blocks=0 does the same"
					       : NULL;
}

static size_t step_elements(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	return (size_t)WARP * KNOB(WARPS) * KNOB(UNROLL) * KNOB(VEC) / tcb_type_bytes(problem->op->type);
}

RULE(rule_tiles)
{
	if (geometry->tile[TCB_MICRO].n * tcb_type_bytes(problem->op->type) != KNOB(VEC))
		return "micro must be 1 x the elements of vec bytes";
	return elementwise_tiles_broken(problem, geometry, step_elements(problem, geometry));
}

/* The default space is at most one step away from what is usual. */
RULE(policy_usual)
{
	unsigned unusual = 0;
	unusual += KNOB(VEC) != VEC_MOST;
	unusual += KNOB(PDL) == 0 && target->cuda.capability >= 90;
	unusual += KNOB(WARPS) < 4;
	unusual += !KNOB(BLOCKS) && KNOB(OCC) > 2;
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

#define READS_BLOCK (TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(UNROLL))

static const struct tcb_rule rules[] = {
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ READS_BLOCK, TCB_RULE_KERNEL, rule_block },
	{ TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(PDL), TCB_RULE_KERNEL, rule_blocks },
	{ READS_BLOCK | TCB_FIELD_KNOB(BLOCKS), TCB_RULE_DOUBLE, rule_idle },
	{ READS_BLOCK | TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ TCB_FIELD_KNOB(OCC) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(WARPS), TCB_RULE_KERNEL, tcb_gpu_rule_occ },
	{ 0, TCB_RULE_POLICY, policy_usual },
	{ 0, 0, NULL },
};

/* --- space --- */

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	size_t count = 0;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_FMA);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 16, 8, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WARPS), 1, 2, 4, 8, 16, 32);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_UNROLL), 1, 2, 4, 8);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_BLOCKS), 0, 1, 2, 4, 8);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_OCC), 1, 2, 4, 8);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STREAM), 0, 1);
	struct tcb_axis *axis = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(axis, 0);
	if (target->cuda.capability >= 90)
		tcb_axis_add(axis, 1);
	elementwise_add_tiles(problem, VEC_MOST / tcb_type_bytes(problem->op->type), STEP_MOST, out, &count);
	return count;
}

/* Blocks of 256 threads with one of the widest vectors each, read once, so that L2 keeps something else.  Small
 * matrices take fewer threads, and smaller blocks where multiprocessors had none. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t width = VEC_MOST / tcb_type_bytes(problem->op->type);
	const size_t vectors = problem->shape.m * problem->shape.n / width;
	size_t warps = DEFAULT_WARPS;
	while (warps > 1 && vectors < warps * WARP / 2)
		warps /= 2;
	while (warps > 2 && vectors < warps * WARP * target->cuda.sm_count)
		warps /= 2;
	tcb_geometry_init(out);
	out->knob[TCB_KNOB_ISA] = TCB_ISA_FMA;
	out->knob[TCB_KNOB_UNROLL] = 1;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_VEC] = VEC_MOST;
	out->knob[TCB_KNOB_STREAM] = vectors >= WARP * DEFAULT_WARPS;
	out->knob[TCB_KNOB_BLOCKS] = 0;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
	out->knob[TCB_KNOB_OCC] = 1;
	elementwise_set_tiles(problem, step_elements(problem, out), width, out);
}

const struct tcb_side_space elementwise_gpu_space = { rules, axes, default_geometry, footprint };
