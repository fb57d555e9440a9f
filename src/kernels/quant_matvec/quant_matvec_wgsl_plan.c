/* SPDX-License-Identifier: MIT
 *
 * A geometry of the quantised MatVecs for WebGPU in numbers; the rules (V4) that
 * it keeps; the axes of the space and the default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/quant_matvec/quant_matvec_planes.h"
#include "kernels/quant_matvec/quant_matvec_wgsl.h"
#include "kernels/wgsl/wgsl_quant.h"
#include "kernels/wgsl/wgsl_rules.h"

enum {
	LANES = 32, /* of a row, where nothing speaks against it */
	WORKGROUP_LEAST = 32,
	WORKGROUP_MOST = 256,
	DEFAULT_UNROLL = 4,
	ROUNDS_MAX = 64,
	TEXT_PIECES = 32, /* of an invocation, that are written one after another */
	KEPT_PIECES = 4,  /* whose activations it keeps: 12 words each */
	GRID_MAX = 65535,
	FLOATS_CHAIN = 12, /* of a term within its piece */
	CODES_CHAIN = 6,
};

void qmv_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct qmv_wgsl *out)
{
	struct qmv_wgsl *g = out;
	const struct tcb_tile *tile = geometry->tile;
	const size_t at_once = tcb_most(tile[TCB_MIDI].n, 1);

	memset(g, 0, sizeof(*g));
	g->format = problem->op->format;
	g->layout = (enum tcb_layout)KNOB(LAYOUT);
	g->tree = (enum tcb_tree)KNOB(TREE);
	g->is_q8 = problem->contract == TCB_CONTRACT_Q8;
	g->is_dp4a = geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGSL_DP4A;
	g->own_launch = g->is_q8 && KNOB(PREP) == TCB_PREP_LAUNCH;
	g->x_in_shared = KNOB(XIN) == TCB_XIN_SHARED;
	g->group = KNOB_COUNT(GROUP);
	g->workgroup = KNOB_COUNT(WORKGROUP);
	g->rows = (unsigned)tcb_least(tcb_most(tile[TCB_MICRO].n, 1), QMV_WGSL_ROWS_MAX);
	g->lanes = (unsigned)tcb_most(g->workgroup * g->rows / tcb_least(at_once, g->workgroup * g->rows), 1);
	g->unroll = (unsigned)tcb_least(KNOB_COUNT(UNROLL), QMV_WGSL_UNROLL_MAX);
	g->stages = KNOB_COUNT(STAGES);
	g->at_once = (unsigned)at_once;
	g->rounds = (unsigned)tcb_least(tcb_most(tile[TCB_MACRO].n / at_once, 1), ROUNDS_MAX);
	g->k = (unsigned)problem->shape.k;
	g->step = g->lanes * g->unroll;
	g->pieces = g->k / TCB_WGSL_PIECE;
	g->steps = (unsigned)tcb_div_up(g->pieces, g->step);
	g->x_by_lanes = g->is_q8 && g->x_in_shared && !g->own_launch && g->tree == TCB_TREE_SUBGROUP;
	g->is_looped = (size_t)g->rounds * g->steps * g->unroll * g->rows > TEXT_PIECES;
	g->keeps_x = g->is_q8 && !g->is_looped && g->rounds * g->rows > 1 && g->steps * g->unroll <= KEPT_PIECES;
	g->tokens = (unsigned)problem->shape.m;
	g->n = (unsigned)problem->shape.n;
	g->groups = (unsigned)tcb_div_up(g->n, at_once * g->rounds);
}

/* Of a term in its piece, of a lane's pieces, of the lanes. */
double qmv_wgsl_chain(const struct qmv_wgsl *g)
{
	return (g->is_q8 ? CODES_CHAIN : FLOATS_CHAIN) + (double)g->steps * g->unroll + tcb_log2_up(g->lanes);
}

/* Of a token's activations in workgroup memory. */
static size_t x_bytes(const struct qmv_wgsl *g)
{
	if (!g->x_in_shared)
		return 0;
	return g->is_q8 ? g->k + g->k / 2 : 4 * (size_t)g->k;
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct qmv_wgsl g;
	const struct tcb_format *format = problem->op->format;
	(void)target;

	memset(out, 0, sizeof(*out));
	qmv_wgsl_plan(problem, geometry, &g);
	out->k_multiple = format->block_values;
	out->k_step_multiple = TCB_WGSL_PIECE;
	out->element_bytes = 1;
	out->alignment_bytes = 1;
	out->base_bytes = 256;
	out->shared_bytes = x_bytes(&g) + tcb_wgsl_weights_bytes(format) +
			    (g.tree == TCB_TREE_SHARED ? 4 * (size_t)g.workgroup : 0);
	out->block_threads = g.workgroup;
	out->accumulators = g.rows * g.unroll;
	out->grid[0] = g.groups;
	out->grid[1] = g.tokens;
	out->grid[2] = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] =
			tcb_quant_row_bytes(format, tcb_round_up(geometry->tile[level].k, format->block_values)) *
			geometry->tile[level].n;
}

/* --- rules --- */

RULE(rule_words)
{
	(void)target, (void)geometry;
	const struct tcb_words *words = &problem->shape.words;
	return words->add || words->bias || words->x_type || words->y_type || problem->x_stride || problem->y_stride
		       ? "WebGPU's kernels of products have no words add, bias, x and y, and no strides"
		       : NULL;
}

RULE(rule_knobs)
{
	const int is_q8 = problem->contract == TCB_CONTRACT_Q8;
	if (problem->contract == TCB_CONTRACT_F16)
		return "there are no WebGPU kernels of contract f16";
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(LAYOUT) | KNOB_BIT(UNROLL) | KNOB_BIT(STAGES) | KNOB_BIT(XIN) |
			     KNOB_BIT(WORKGROUP) | KNOB_BIT(TREE);

	if (!tcb_wgsl_sets_knobs(geometry, is_q8 ? set | KNOB_BIT(PREP) | KNOB_BIT(GROUP) : set, 0))
		return is_q8 ? "a WebGPU geometry sets isa, layout, unroll, stages, xin, group, prep, workgroup and "
			       "tree, and "
			       "no other knob"
			     : "a WebGPU geometry of contract f32 sets isa, layout, unroll, stages, xin, workgroup and "
			       "tree, "
			       "and no other knob";
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGSL ||
			       (is_q8 && geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGSL_DP4A)
		       ? NULL
		       : "isa must be wgsl, or of contract q8 wgsl_dp4a";
}

RULE(rule_values)
{
	const unsigned unroll = KNOB(UNROLL);

	if (KNOB(LAYOUT) != TCB_LAYOUT_NATIVE && KNOB(LAYOUT) != TCB_LAYOUT_P)
		return "layout must be native or p";
	if (!tcb_is_power_of_two(unroll) || unroll > QMV_WGSL_UNROLL_MAX)
		return "unroll must be 1, 2, 4 or 8";
	return KNOB(STAGES) == 1 || KNOB(STAGES) == 2 ? NULL : "stages must be 1 or 2";
}

RULE(rule_x)
{
	if (KNOB(XIN) != TCB_XIN_SHARED && KNOB(XIN) != TCB_XIN_L2)
		return "xin must be shared or l2";
	if (problem->contract != TCB_CONTRACT_Q8)
		return NULL;
	if (KNOB(GROUP) != 16 && KNOB(GROUP) != 32)
		return "group must be 16 or 32";
	if (KNOB(PREP) != TCB_PREP_BLOCK && KNOB(PREP) != TCB_PREP_LAUNCH)
		return "prep must be block or launch";
	return KNOB(PREP) == TCB_PREP_BLOCK && KNOB(XIN) != TCB_XIN_SHARED
		       ? "xin must be shared where workgroups prepare activations"
		       : NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *tile = geometry->tile;
	const size_t rows = tile[TCB_MICRO].n, at_once = tile[TCB_MIDI].n, k = problem->shape.k;

	if (tile[TCB_MACRO].m != 1 || tile[TCB_MIDI].m != 1 || tile[TCB_MICRO].m != 1)
		return "tiles must have an m of 1: a token at a time";
	if (tile[TCB_MACRO].k != k || tile[TCB_MIDI].k != k || tile[TCB_MICRO].k != TCB_WGSL_PIECE)
		return "macro and midi must have all of k, micro 32";
	if (!tcb_is_power_of_two(rows) || rows > QMV_WGSL_ROWS_MAX)
		return "micro.n must be 1, 2 or 4";
	if (!tcb_is_power_of_two(at_once) || at_once < rows || at_once / rows > KNOB(WORKGROUP))
		return "midi.n must be a power of two, from micro.n to micro.n * workgroup";
	return rows * KNOB(UNROLL) > QMV_WGSL_AT_ONCE_MAX
		       ? "micro.n * unroll must be 8 at most: pieces of an invocation"
		       : NULL;
}

RULE(rule_rounds)
{
	const struct tcb_tile *tile = geometry->tile;

	return tile[TCB_MACRO].n / tcb_most(tile[TCB_MIDI].n, 1) > ROUNDS_MAX ? "macro.n must be 64 midi.n at most"
									      : NULL;
}

/* Lanes of a row are part of one subgroup, however large it is. */
RULE(rule_lanes)
{
	const size_t lanes =
		tcb_most(KNOB(WORKGROUP) * geometry->tile[TCB_MICRO].n / tcb_most(geometry->tile[TCB_MIDI].n, 1), 1);

	if (KNOB(TREE) != TCB_TREE_SUBGROUP)
		return NULL;
	return lanes > target->wgpu.subgroup_least
		       ? "a row's lanes, workgroup * micro.n / midi.n, must be within a subgroup "
			 "with tree=subgroup"
		       : NULL;
}

RULE(rule_size)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	const size_t packed = KNOB(LAYOUT) == TCB_LAYOUT_NATIVE ? 0 : qmv_packed_bytes(problem, TCB_LAYOUT_P);

	(void)problem->op->operands(problem, operands);
	if (tcb_most(operands[TCB_QUANT_WEIGHTS].bytes, packed) > UINT32_MAX)
		return "weights are counted in bytes of 32 bits";
	if (packed > target->wgpu.binding_bytes)
		return "an operand is larger than what the device binds";
	return operands[TCB_QUANT_X].bytes > UINT32_MAX || operands[TCB_QUANT_Y].bytes > UINT32_MAX
		       ? "activations and results are counted in bytes of 32 bits"
		       : NULL;
}

/* A launch prepares groups of x by 64 invocations, along x alone. */
RULE(rule_launch)
{
	return problem->contract == TCB_CONTRACT_Q8 && KNOB(PREP) == TCB_PREP_LAUNCH &&
			       problem->shape.m * problem->shape.k / KNOB_COUNT(GROUP) > (size_t)TCB_WGSL_PREPARED
		       ? "more activations than a launch prepares"
		       : NULL;
}

/* What fewer lanes or pieces do as well. */
RULE(rule_idle)
{
	struct qmv_wgsl g;

	qmv_wgsl_plan(problem, geometry, &g);
	if (g.unroll > 1 && g.step / 2 >= g.pieces)
		return "half of a step is idle: a smaller unroll";
	return g.lanes > LANES && g.lanes / 2 >= g.pieces ? "half of a row's lanes are idle: a larger midi.n" : NULL;
}

/* What the figures of such kernels speak for; the default space has of the others one at a time. */
RULE(rule_usual)
{
	struct qmv_wgsl g;
	unsigned unusual;
	const int has_subgroups = target->wgpu.subgroup_least >= 4;
	const unsigned lanes = has_subgroups ? (unsigned)tcb_least(LANES, target->wgpu.subgroup_least) : LANES;
	const int is_aligned = problem->op->format->block_bytes % 16 == 0;

	qmv_wgsl_plan(problem, geometry, &g);
	unusual = (g.lanes != lanes) + (g.stages != 2) + (has_subgroups != (g.tree == TCB_TREE_SUBGROUP)) +
		  (g.rounds > 1) + (g.workgroup == WORKGROUP_LEAST) + (g.rows > 2) + (g.unroll == 1 || g.unroll > 4) +
		  (is_aligned && g.layout != TCB_LAYOUT_NATIVE) + (g.own_launch || !g.x_in_shared) +
		  (g.is_q8 && g.group != 32);
	if ((g.lanes > lanes || 4 * g.lanes < lanes || g.rounds > 8) && !tcb_gpu_is_default(problem, target, geometry))
		return "lanes of a row, or rows of a workgroup, are too few or too many";
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

#define READS_LANES (TCB_FIELD_KNOB(WORKGROUP) | TCB_FIELD_MIDI_N | TCB_FIELD_MICRO_N)

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, rule_words },
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, tcb_gpu_rule_isa },
	{ TCB_FIELD_KNOB(LAYOUT) | TCB_FIELD_KNOB(UNROLL) | TCB_FIELD_KNOB(STAGES), TCB_RULE_KERNEL, rule_values },
	{ TCB_FIELD_KNOB(XIN) | TCB_FIELD_KNOB(GROUP) | TCB_FIELD_KNOB(PREP), TCB_RULE_KERNEL, rule_x },
	{ TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, tcb_wgsl_rule_workgroup },
	{ TCB_WGSL_READS_TREE, TCB_RULE_KERNEL, tcb_wgsl_rule_tree },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(WORKGROUP) | TCB_FIELD_KNOB(UNROLL), TCB_RULE_KERNEL, rule_tiles },
	{ READS_LANES | TCB_FIELD_KNOB(TREE), TCB_RULE_KERNEL, rule_lanes },
	{ TCB_FIELD_TILES, TCB_RULE_KERNEL, rule_rounds },
	{ READS_LANES | TCB_FIELD_KNOB(UNROLL), TCB_RULE_DOUBLE, rule_idle },
	{ TCB_FIELD_KNOB(LAYOUT), TCB_RULE_KERNEL, rule_size },
	{ TCB_FIELD_KNOB(PREP) | TCB_FIELD_KNOB(GROUP), TCB_RULE_KERNEL, rule_launch },
	{ 0, TCB_RULE_POLICY, rule_usual },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_bindings },
	{ 0, 0, NULL },
};

/* --- space --- */

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const int is_q8 = problem->contract == TCB_CONTRACT_Q8, has_subgroups = target->wgpu.subgroup_least >= 4;
	struct tcb_axis *axis;
	size_t count = 0;

	axis = tcb_axis_knob(out, &count, TCB_KNOB_ISA);
	tcb_axis_add(axis, is_q8 && tcb_target_has(target, TCB_ISA_WGSL_DP4A) ? TCB_ISA_WGSL_DP4A : TCB_ISA_WGSL);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_LAYOUT), TCB_LAYOUT_NATIVE, TCB_LAYOUT_P);
	if (is_q8) {
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_GROUP), 32, 16);
		ADD(tcb_axis_knob(out, &count, TCB_KNOB_PREP), TCB_PREP_BLOCK, TCB_PREP_LAUNCH);
	}
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_XIN), TCB_XIN_SHARED, TCB_XIN_L2);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STAGES), 1, 2);
	axis = tcb_axis_knob(out, &count, TCB_KNOB_TREE);
	tcb_axis_add(axis, TCB_TREE_SHARED);
	if (has_subgroups)
		tcb_axis_add(axis, TCB_TREE_SUBGROUP);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WORKGROUP), 32, 64, 128, 256, 512);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_UNROLL), 1, 2, 4, 8);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 1, 2, 4);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 1, 2, 256);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), 1, 2,
			    tcb_least(tcb_power_of_two_up(problem->shape.n), 1024));
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MICRO), TCB_WGSL_PIECE);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI), problem->shape.k);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MACRO), problem->shape.k);
	return count;
}

/* On any device: 32 lanes a row, eight rows a workgroup where there are as many.  Sums go through subgroups of 32 where
 * that is what there is, else through workgroup memory.  A launch prepares what does not fit there. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t k = problem->shape.k, n = problem->shape.n;
	const size_t rows = tcb_least(tcb_power_of_two_up(n), WORKGROUP_MOST / LANES);
	const size_t passes = tcb_div_up(k / TCB_WGSL_PIECE, LANES);
	const int is_q8 = problem->contract == TCB_CONTRACT_Q8;
	const int has_subgroups = target->wgpu.subgroup_least >= LANES && target->wgpu.subgroup_most <= LANES * rows;
	struct tcb_footprint taken;
	size_t unroll = DEFAULT_UNROLL;

	while (unroll > 1 && unroll / 2 >= passes)
		unroll /= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = out->tile[TCB_MIDI] = (struct tcb_tile){ 1, rows, k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, TCB_WGSL_PIECE };
	while (tcb_div_up(n, out->tile[TCB_MACRO].n) > GRID_MAX)
		out->tile[TCB_MACRO].n *= 2;
	out->knob[TCB_KNOB_ISA] = is_q8 && tcb_target_has(target, TCB_ISA_WGSL_DP4A) ? TCB_ISA_WGSL_DP4A : TCB_ISA_WGSL;
	out->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_NATIVE;
	out->knob[TCB_KNOB_UNROLL] = (int32_t)unroll;
	out->knob[TCB_KNOB_STAGES] = 2;
	out->knob[TCB_KNOB_XIN] = is_q8 ? TCB_XIN_SHARED : TCB_XIN_L2;
	out->knob[TCB_KNOB_WORKGROUP] = (int32_t)(LANES * rows);
	out->knob[TCB_KNOB_TREE] = has_subgroups ? TCB_TREE_SUBGROUP : TCB_TREE_SHARED;
	if (!is_q8)
		return;
	out->knob[TCB_KNOB_GROUP] = 32;
	out->knob[TCB_KNOB_PREP] = TCB_PREP_BLOCK;
	footprint(problem, target, out, &taken);
	if (taken.shared_bytes <= target->wgpu.workgroup_bytes)
		return;
	out->knob[TCB_KNOB_PREP] = TCB_PREP_LAUNCH;
	out->knob[TCB_KNOB_XIN] = TCB_XIN_L2;
}

const struct tcb_side_space qmv_wgsl_space = { rules, axes, default_geometry, footprint };
