/* SPDX-License-Identifier: MIT
 *
 * A geometry of the reduce2d ops for a GPU in numbers; the rules (V4) that it
 * keeps; the axes of the space and the default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/reduce2d/reduce2d_gpu.h"

enum {
	DEFAULT_WARPS = 8,
	DEFAULT_UNROLL = 4,
	ONE_BLOCK = 1 << 14, /* elements that one block reduces sooner than several meet */
	LARGE_STEPS = 8,     /* of each multiprocessor: larger blocks, of which fewer results are joined */
	PARTIAL_BYTES = 8,
	PARTIALS_AT = 256,
	LAST_MAX = 1 << 16
};

static enum reduce2d_kind kind_of(const struct tcb_problem *problem)
{
	if (reduce2d_is_sum(problem))
		return REDUCE2D_SUM;
	if (reduce2d_program(reduce2d_operation(problem)))
		return REDUCE2D_OWN;
	return problem->op->member == &reduce2d_max ? REDUCE2D_MAX : REDUCE2D_MIN;
}

void reduce2d_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct reduce2d_gpu *out)
{
	struct reduce2d_gpu *g = out;
	const uint64_t count = (uint64_t)problem->shape.m * problem->shape.n;
	const uint64_t sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	memset(g, 0, sizeof(*g));
	g->capability = target->cuda.capability;
	g->kind = kind_of(problem);
	g->program = reduce2d_program(reduce2d_operation(problem));
	g->form = (enum tcb_form)KNOB(FORM);
	g->join = (enum tcb_join)KNOB(JOIN);
	g->width = KNOB(VEC) / 4;
	g->warps = KNOB(WARPS);
	g->threads = WARP * g->warps;
	g->unroll = KNOB(UNROLL);
	g->stages = KNOB(STAGES);
	g->resident = KNOB(BLOCKS);
	g->together = KNOB(OCC);
	g->pdl = KNOB(PDL) == 1;
	g->step = g->threads * g->unroll;
	g->vectors = count / g->width;
	g->rest = (unsigned)(count % g->width);
	g->steps = (g->vectors + g->step - 1) / g->step;
	g->steps += !g->steps;
	/* Matrices of more steps than a grid has blocks break a rule. */
	const uint64_t blocks = tcb_least(g->steps, INT32_MAX);
	g->grid = (unsigned)(g->resident ? tcb_least(g->resident * sms, blocks) : blocks);
	g->rounds = (unsigned)((g->steps + g->grid - 1) / g->grid);
	g->partials_at = PARTIALS_AT;
	if (g->join != TCB_JOIN_NONE)
		g->workspace_bytes = PARTIALS_AT + (g->join == TCB_JOIN_ATOMIC ? 0 : (size_t)g->grid * PARTIAL_BYTES);
}

/* Roundings in f32 that a term goes through; those in f64, and that of the result, are the ulps. */
double reduce2d_gpu_chain(const struct reduce2d_gpu *g)
{
	const double tree = tcb_log2_up(g->unroll * g->width);
	if (g->program) { /* a lane's, its warp's and block's with the elements left over, and all blocks' */
		const double block = tcb_log2_up(WARP) + tcb_log2_up(g->warps), each = g->grid / g->threads + 1;
		const double combines = g->rounds + tree + block + 1 + (g->grid > 1 ? each + block : 0);
		const double all = (double)g->vectors * g->width + g->rest;
		return reduce2d_program_roundings(g->program) *
		       (reduce2d_program_multiplies(g->program) ? all + combines : combines);
	}
	switch (g->form) {
	case TCB_FORM_PAIRWISE:
		return tree + 1;
	case TCB_FORM_KAHAN: /* 2u + O(rounds u^2) (Higham 2002, 4.3) */
		return 2 + 4.0 * g->rounds * 0x1p-24 + 0.1;
	default:
		return g->rounds + 1 + tree;
	}
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct reduce2d_gpu g;
	memset(out, 0, sizeof(*out));
	reduce2d_gpu_plan(problem, target, geometry, &g);
	const unsigned values = g.unroll * g.width;
	out->element_bytes = sizeof(float);
	out->alignment_bytes = out->vector_bytes = 4 * g.width;
	out->base_bytes = 256;
	out->shared_bytes = (g.warps + 2) * PARTIAL_BYTES;
	out->block_threads = g.threads;
	/* Sums and what is loaded; a compensated sum has two. */
	out->thread_registers = 32 + values * (1 + (g.form == TCB_FORM_PAIRWISE ? 0 : 1) + (g.stages - 1) +
					       (g.form == TCB_FORM_KAHAN ? 1 : 0));
	out->blocks_together = g.together;
	out->accumulators = values;
	out->grid[0] = g.grid;
	out->grid[1] = out->grid[2] = 1;
	out->barriers = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = sizeof(float) * geometry->tile[level].m * geometry->tile[level].n;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(UNROLL) | KNOB_BIT(WARPS) | KNOB_BIT(VEC) | KNOB_BIT(STAGES) |
			     KNOB_BIT(BLOCKS) | KNOB_BIT(PDL) | KNOB_BIT(OCC) | KNOB_BIT(JOIN);
	if (!tcb_gpu_sets_knobs(geometry, set, KNOB_BIT(FORM)))
		return "a GPU's geometry sets isa, unroll, warps, vec, stages, blocks, pdl, occ and join, and no other "
		       "knob but form";
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_FMA)
		return "isa must be fma on a GPU";
	const int32_t form = geometry->knob[TCB_KNOB_FORM];
	if (!reduce2d_is_sum(problem))
		return form == TCB_KNOB_UNSET ? NULL : "form has no effect on max and min and must not be set";
	return form == TCB_FORM_LANES || form == TCB_FORM_PAIRWISE || form == TCB_FORM_KAHAN
		       ? NULL
		       : "form must be lanes, pairwise or kahan";
}

RULE(rule_block)
{
	const unsigned vec = KNOB(VEC), warps = KNOB(WARPS);
	const unsigned unroll = KNOB(UNROLL);
	if (vec != 4 && vec != 8 && vec != 16)
		return "vec must be 4, 8 or 16";
	if (warps < 1 || warps > WARP || (warps & (warps - 1)))
		return "warps must be a power of two up to 32";
	if (unroll < 1 || unroll > REDUCE2D_GPU_UNROLL_MAX || (unroll & (unroll - 1)))
		return "unroll must be 1, 2, 4 or 8";
	const uint64_t vectors = (uint64_t)problem->shape.m * problem->shape.n / (vec / 4);
	return vectors > INT32_MAX ? "more than 2^31 vectors: a wider vec" : NULL;
}

RULE(rule_blocks)
{
	const unsigned stages = KNOB(STAGES), resident = KNOB(BLOCKS);
	struct reduce2d_gpu g;
	if (resident > 16)
		return "blocks must be at most 16";
	if (stages < 1 || stages > (resident ? 2 : 1))
		return "stages must be 1, or 2 with blocks above 0";
	reduce2d_gpu_plan(problem, target, geometry, &g);
	if (g.grid > 1 && g.join == TCB_JOIN_NONE)
		return "join must be last, launch or atomic with several blocks";
	if (g.program && g.join == TCB_JOIN_ATOMIC)
		return "a program is not an atomic operation: join must be last or launch";
	if (g.join == TCB_JOIN_CLUSTER || g.join == TCB_JOIN_WHOLE)
		return "join must be none, last, launch or atomic";
	if (g.join == TCB_JOIN_LAST && g.grid > LAST_MAX)
		return "one block would add up more than 65536 results: blocks above 0, or join=launch";
	return NULL;
}

/* What a smaller block, or one without a second to join with, does as well. */
RULE(rule_idle)
{
	const unsigned warps = KNOB(WARPS), unroll = KNOB(UNROLL);
	struct reduce2d_gpu g;
	reduce2d_gpu_plan(problem, target, geometry, &g);
	if ((warps > 1 || unroll > 1) && g.vectors < (uint64_t)warps * WARP * unroll / 2)
		return "half of a block's step is idle: fewer warps or a smaller unroll";
	if (g.grid == 1 && g.join != TCB_JOIN_NONE)
		return "join must be none with one block";
	return g.resident && g.rounds == 1 ? "so many blocks stay that each has one step: blocks=0 does the same"
					   : NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *tile = geometry->tile;
	const unsigned width = KNOB(VEC) / 4;
	const size_t step = (size_t)WARP * KNOB(WARPS) * KNOB(UNROLL) * width;
	const size_t rows = tcb_power_of_two_up(problem->shape.m), columns = tcb_power_of_two_up(problem->shape.n);
	if (tile[TCB_MACRO].m != rows || tile[TCB_MACRO].n != (columns < width ? width : columns))
		return "macro must be the problem's shape, rounded up to powers of two, and vec / 4 columns at least";
	if (tile[TCB_MIDI].n != tcb_least(tile[TCB_MACRO].n, step) ||
	    tile[TCB_MIDI].m != tcb_least(tile[TCB_MACRO].m, step / tile[TCB_MIDI].n))
		return "midi must be a block's step, 8 * unroll * warps * vec elements, folded into macro";
	if (tile[TCB_MICRO].m != 1 || tile[TCB_MICRO].n != width)
		return "micro must be 1 x vec / 4: a lane's vector";
	return NULL;
}

/* The default space is at most one step away from what was found good on an H200. */
RULE(policy_usual)
{
	const unsigned occ = KNOB(OCC), resident = KNOB(BLOCKS);
	unsigned unusual = 0;
	unusual += KNOB(VEC) != 16;
	unusual += KNOB(PDL) == 0 && target->cuda.capability >= 90;
	unusual += KNOB(WARPS) < 4;
	unusual += !resident && occ > 2;
	unusual += KNOB(UNROLL) == 1;
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

#define READS_BLOCK (TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(UNROLL))

static const struct tcb_rule rules[] = {
	{ 0, 0, rule_knobs },
	{ READS_BLOCK, 0, rule_block },
	{ READS_BLOCK | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(JOIN), 0, rule_blocks },
	{ READS_BLOCK | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(JOIN), TCB_RULE_DOUBLE,
	  rule_idle },
	{ READS_BLOCK | TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ TCB_FIELD_KNOB(OCC) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(PDL), 0,
	  tcb_gpu_rule_occ },
	{ 0, 1, policy_usual },
	{ 0, 0, NULL },
};

/* --- space --- */

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t rows = tcb_power_of_two_up(problem->shape.m), columns = tcb_power_of_two_up(problem->shape.n);
	size_t count = 0;
	struct tcb_axis *a;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_FMA);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 16, 8, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WARPS), 1, 2, 4, 8, 16, 32);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_UNROLL), 1, 2, 4, 8);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STAGES), 1, 2);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_BLOCKS), 0, 1, 2, 4, 8);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_JOIN), TCB_JOIN_NONE, TCB_JOIN_LAST, TCB_JOIN_LAUNCH, TCB_JOIN_ATOMIC);
	if (reduce2d_is_sum(problem))
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_FORM), TCB_FORM_LANES, TCB_FORM_PAIRWISE, TCB_FORM_KAHAN);
	if (target->cuda.capability >= 90)
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_PDL), 0, 1);
	else
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_PDL), 0);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_OCC), 1, 2, 4, 8);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO);
	for (size_t width = 1; width <= REDUCE2D_GPU_WIDTH_MAX; width *= 2)
		tcb_axis_add(a, width);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	for (size_t width = 1; width <= REDUCE2D_GPU_WIDTH_MAX; width *= 2)
		tcb_axis_add(a, columns < width ? width : columns);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO);
	tcb_axis_add(a, rows);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI);
	for (size_t n = 1; n <= tcb_least(columns < 4 ? 4 : columns, 32768); n *= 2)
		tcb_axis_add(a, n);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI);
	for (size_t m = 1; m <= tcb_least(rows, 32768); m *= 2)
		tcb_axis_add(a, m);
	return count;
}

/* Blocks of 256 threads, two launches: what a textbook has.  Small matrices take fewer threads, one block where it has
 * less to do than a second launch takes (on an H200 256x19 in 1.43 us instead of 2.25), and smaller blocks where half
 * of the multiprocessors had none: of 1x32000 on an H200 blocks of 1024 values lose 1 % to the best, of 4096 3 to 9 %.
 * Large ones take larger blocks. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t vectors = problem->shape.m * problem->shape.n / 4, columns = tcb_power_of_two_up(problem->shape.n);
	const size_t sms = tcb_most(target->cuda.sm_count, 1);
	size_t warps = DEFAULT_WARPS, unroll = DEFAULT_UNROLL;
	struct reduce2d_gpu g;
	while (unroll > 1 && vectors < warps * WARP * unroll / 2)
		unroll /= 2;
	while (warps > 1 && vectors < warps * WARP * unroll / 2)
		warps /= 2;
	const int is_one = 4 * vectors <= ONE_BLOCK;
	if (is_one && vectors > warps * WARP * unroll)
		unroll *= 2;
	while (is_one && vectors > warps * WARP * unroll)
		warps *= 2;
	if (vectors >= sms * LARGE_STEPS * warps * WARP * unroll)
		warps *= 2;
	while (!is_one && warps > 2 && vectors > 2 * warps * WARP * unroll && 2 * vectors < sms * warps * WARP * unroll)
		warps /= 2;
	const size_t step = WARP * warps * unroll * 4;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(problem->shape.m), columns < 4 ? 4 : columns, 1 };
	out->tile[TCB_MIDI].n = tcb_least(out->tile[TCB_MACRO].n, step);
	out->tile[TCB_MIDI].m = tcb_least(out->tile[TCB_MACRO].m, step / out->tile[TCB_MIDI].n);
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 4, 1 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_FMA;
	out->knob[TCB_KNOB_UNROLL] = (int32_t)unroll;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_VEC] = 16;
	out->knob[TCB_KNOB_STAGES] = 1;
	out->knob[TCB_KNOB_BLOCKS] = 0;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
	out->knob[TCB_KNOB_OCC] = 1;
	if (reduce2d_is_sum(problem))
		out->knob[TCB_KNOB_FORM] = TCB_FORM_LANES;
	out->knob[TCB_KNOB_JOIN] = TCB_JOIN_LAUNCH;
	reduce2d_gpu_plan(problem, target, out, &g);
	if (g.grid == 1)
		out->knob[TCB_KNOB_JOIN] = TCB_JOIN_NONE;
}

const struct tcb_side_space reduce2d_gpu_space = { rules, axes, default_geometry, footprint };
