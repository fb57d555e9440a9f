/* SPDX-License-Identifier: MIT
 *
 * A geometry of the ops qXX_get_rows for a GPU in numbers, what the constraints judge, the rules
 * (V4) that it keeps, the axes of its space and its default.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/get_rows/get_rows_gpu.h"
#include "kernels/gpu/gpu_rules.h"

enum { WARPS_USUAL = 8, VALUES_UNIT = 8 };

static unsigned unit_of(const struct tcb_problem *problem)
{
	unsigned unit = VALUES_UNIT;
	if (!qmv_is_float(qmv_format(problem)))
		return GET_ROWS_PIECE;
	while (problem->shape.k % unit)
		unit /= 2;
	return unit;
}

static size_t macro_k(const struct tcb_problem *problem)
{
	return tcb_most(tcb_power_of_two_up(problem->shape.k), unit_of(problem));
}
/* A block's values, as far as a row has so many. */
static size_t midi_k(const struct tcb_problem *problem, size_t warps)
{
	return tcb_least(macro_k(problem), unit_of(problem) * WARP * warps);
}

void get_rows_gpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct get_rows_gpu *out)
{
	struct get_rows_gpu *g = out;
	memset(g, 0, sizeof(*g));
	g->f = qmv_format(problem);
	g->is_native = geometry->knob[TCB_KNOB_LAYOUT] == TCB_LAYOUT_NATIVE;
	g->is_half = problem->contract == TCB_CONTRACT_F16;
	g->pdl = KNOB(PDL) == 1;
	g->unit = unit_of(problem);
	g->pieces = (unsigned)(problem->shape.k / g->unit);
	g->warps = KNOB_COUNT(WARPS);
	g->threads = WARP * g->warps;
	g->blocks = tcb_div_up(g->pieces, g->threads);
	g->superblocks = (unsigned)tcb_div_up(problem->shape.k, QMV_VALUES);
	g->row_bytes = tcb_quant_row_bytes(problem->op->format, problem->shape.k);
	g->tokens = problem->shape.m;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct get_rows_gpu g;
	(void)target;
	memset(out, 0, sizeof(*out));
	get_rows_gpu_plan(problem, geometry, &g);
	out->element_bytes = tcb_type_bytes(get_rows_type(problem));
	out->block_threads = g.threads;
	out->thread_registers = 72;
	out->blocks_together = 1;
	out->grid[0] = (size_t)g.blocks * g.tokens;
	out->grid[1] = out->grid[2] = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = out->element_bytes * geometry->tile[level].m * geometry->tile[level].k;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(LAYOUT) | KNOB_BIT(WARPS) | KNOB_BIT(PDL);
	if (!tcb_gpu_sets_knobs(geometry, set, 0))
		return "a GPU's geometry sets isa, layout, warps and pdl, and no other knob";
	return geometry->knob[TCB_KNOB_ISA] != TCB_ISA_FMA ? "isa must be fma on a GPU"
							   : tcb_gpu_rule_isa(problem, target, geometry);
}

RULE(rule_layout)
{
	const struct qmv_format *f = qmv_format(problem);
	const int32_t layout = geometry->knob[TCB_KNOB_LAYOUT];
	if (layout != TCB_LAYOUT_NATIVE && layout != TCB_LAYOUT_P)
		return "layout must be native or p on a GPU";
	if (layout == TCB_LAYOUT_NATIVE && f->is_packed)
		return "layout must be p: blocks as stored are not aligned, and in order";
	return layout == TCB_LAYOUT_NATIVE && !qmv_is_float(f) && problem->shape.k % QMV_VALUES
		       ? "layout must be p where K is not a multiple of 256: rows are filled up"
		       : NULL;
}

RULE(rule_warps)
{
	const unsigned warps = KNOB(WARPS);
	if (!tcb_is_power_of_two(warps) || warps > WARPS_MAX)
		return "warps must be a power of two up to 32";
	return tcb_gpu_rule_pdl(problem, target, geometry);
}

RULE(rule_size)
{
	size_t blocks;
	if (problem->shape.k > INT32_MAX / 16 ||
	    tcb_mul_size(problem->shape.m, tcb_div_up(problem->shape.k, WARP), &blocks) || blocks > INT32_MAX)
		return "more than 2^31 pieces of rows, or rows of more than 2^27 values, have no GPU kernel";
	return NULL;
}

/* What a smaller block does as well. */
RULE(rule_idle)
{
	const size_t warps = KNOB(WARPS);
	return warps > 1 && warps / 2 * WARP * unit_of(problem) >= problem->shape.k
		       ? "half of a block's warps have nothing to do: fewer warps"
		       : NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *tile = geometry->tile;
	if (tile[TCB_MICRO].m != 1 || tile[TCB_MIDI].m != 1 || tile[TCB_MACRO].n != 1)
		return "micro.m, midi.m and n of all tiles must be 1: rows are found by their ids";
	if (tile[TCB_MICRO].k != unit_of(problem) || tile[TCB_MIDI].k != midi_k(problem, KNOB(WARPS)))
		return "micro.k must be a thread's values, and midi.k as many for each thread of a block, at most "
		       "macro.k";
	return tile[TCB_MACRO].m != tcb_power_of_two_up(problem->shape.m) || tile[TCB_MACRO].k != macro_k(problem)
		       ? "macro must be tokens x 1 x k, rounded up to powers of two, k to micro.k at least"
		       : NULL;
}

static const struct tcb_rule rules[] = {
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, rule_size },
	{ TCB_FIELD_KNOB(LAYOUT), TCB_RULE_KERNEL, rule_layout },
	{ TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(PDL), TCB_RULE_KERNEL, rule_warps },
	{ TCB_FIELD_KNOB(WARPS), TCB_RULE_DOUBLE, rule_idle },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(WARPS), TCB_RULE_DOUBLE, rule_tiles },
	{ 0, 0, NULL },
};

/* --- the space --- */

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t m = tcb_power_of_two_up(problem->shape.m), unit = unit_of(problem);
	size_t count = 0;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_FMA);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_LAYOUT), TCB_LAYOUT_NATIVE, TCB_LAYOUT_P);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WARPS), 1, 2, 4, 8, 16, 32);
	struct tcb_axis *axis = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(axis, 0);
	if (target->cuda.capability >= 90)
		tcb_axis_add(axis, 1);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MICRO), unit);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI), midi_k(problem, 1), 2,
			    midi_k(problem, WARPS_MAX));
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MACRO), macro_k(problem));
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level),
			     level == TCB_MACRO ? m : 1);
		ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, (enum tcb_level)level), 1);
	}
	return count;
}

/* A row to a block, up to eight warps, but parts of one where rows leave multiprocessors idle; the table as it is
 * stored, where that will do. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct qmv_format *f = qmv_format(problem);
	const size_t unit = unit_of(problem);
	const int is_native = !f->is_packed && (qmv_is_float(f) || problem->shape.k % QMV_VALUES == 0);
	size_t warps = 1;
	while (warps < WARPS_USUAL && warps * WARP * unit < problem->shape.k)
		warps *= 2;
	while (warps > 1 &&
	       problem->shape.m * tcb_div_up(problem->shape.k, warps * WARP * unit) < target->cuda.sm_count)
		warps /= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, unit };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, 1, midi_k(problem, warps) };
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(problem->shape.m), 1, macro_k(problem) };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_FMA;
	out->knob[TCB_KNOB_LAYOUT] = is_native ? TCB_LAYOUT_NATIVE : TCB_LAYOUT_P;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
}

const struct tcb_side_space get_rows_gpu_space = { rules, axes, default_geometry, footprint };
