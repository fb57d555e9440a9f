/* SPDX-License-Identifier: MIT
 *
 * A geometry of the quantised matmuls for WebGPU in numbers; the rules (V4) that
 * it keeps; the axes of the space and the default geometry.
 */
#include <stdint.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/quant_matmul/quant_matmul_wgsl.h"
#include "kernels/wgsl/wgsl_quant.h"
#include "kernels/wgsl/wgsl_rules.h"

enum {
	STEP_MOST = 256,
	TILE_MOST = 128,
	WORKGROUP_USUAL = 64, /* at least */
	GRID_MAX = 65535,
	USUAL_LOADS = 16,
	FILLED_GROUPS = 256, /* workgroups that fill any device */
	SPLIT_MOST = 32,
	PART_LEAST = 256 /* values of k, in default geometries */
};

/* Tiles of standard geometries, the largest first, with the sums of an invocation and units of a step: as an H100 likes
 * them. */
static const struct standard {
	size_t m, n, micro_m, micro_n, units;
} standards[] = { { 64, 64, 4, 8, 1 }, { 32, 64, 4, 4, 1 }, { 32, 16, 4, 2, 4 } };
/* Of 16 tokens and more that fill no device with tiles alone: parts of k do, as an H200 likes it. */
static const struct standard in_parts = { 32, 128, 8, 4, 1 };
enum { IN_PARTS_LEAST = 16 /* tokens */ };

/* Values of a row that lie across each other as stored: a step has all of them. */
static size_t unit_of(const struct tcb_format *format)
{
	return (size_t)tcb_wgsl_apart(format) * TCB_WGSL_PIECE;
}

static unsigned bounded(size_t value, size_t most)
{
	return (unsigned)tcb_most(tcb_least(value, most), 1);
}

void qmm_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct qmm_wgsl *out)
{
	struct qmm_wgsl *g = out;
	const struct tcb_tile *tile = geometry->tile;
	const unsigned step = bounded(tile[TCB_MIDI].k, STEP_MOST);

	memset(g, 0, sizeof(*g));
	g->format = problem->op->format;
	g->is_q8 = problem->contract == TCB_CONTRACT_Q8;
	g->is_dp4a = geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGSL_DP4A;
	g->has_offset = tcb_wgsl_has_offset(g->format);
	g->workgroup = KNOB_COUNT(WORKGROUP);
	g->stages = KNOB_COUNT(STAGES);
	g->splitk = KNOB_COUNT(SPLITK);
	g->tile_m = bounded(tile[TCB_MIDI].m, TILE_MOST);
	g->tile_n = bounded(tile[TCB_MIDI].n, TILE_MOST);
	g->micro_m = bounded(tile[TCB_MICRO].m, QMM_WGSL_MICRO_MAX);
	g->micro_n = bounded(tile[TCB_MICRO].n, QMM_WGSL_MICRO_MAX);
	g->across_m = bounded(g->tile_m / g->micro_m, TILE_MOST);
	g->across_n = bounded(g->tile_n / g->micro_n, TILE_MOST);
	g->pitch_m = g->tile_m + 1;
	g->pitch_n = g->tile_n + 1;
	g->pieces = (unsigned)tcb_div_up(step, TCB_WGSL_PIECE);
	g->sixteens = 2 * g->pieces;
	g->vectors = 4 * g->sixteens;
	g->run = g->format->run_values == TCB_WGSL_SIXTEEN ? 1 : 2;
	g->runs = g->sixteens / g->run;
	g->k = (unsigned)problem->shape.k;
	g->n = (unsigned)problem->shape.n;
	g->tokens = (unsigned)problem->shape.m;
	g->steps = (unsigned)tcb_div_up(g->k / TCB_WGSL_PIECE, g->pieces);
	g->groups_m = (unsigned)tcb_div_up(g->tokens, g->tile_m);
	g->groups_n = (unsigned)tcb_div_up(g->n, g->tile_n);
	g->join_groups = g->splitk > 1 ? (unsigned)tcb_div_up((size_t)g->tokens * g->n, QMM_WGSL_JOIN_WORKGROUP) : 0;
}

static unsigned loads_of(const struct qmm_wgsl *g, size_t pieces)
{
	return (unsigned)tcb_div_up(pieces, g->workgroup);
}

unsigned qmm_wgsl_weight_loads(const struct qmm_wgsl *g)
{
	return loads_of(g, (size_t)g->pieces * g->tile_n);
}

unsigned qmm_wgsl_x_loads(const struct qmm_wgsl *g)
{
	return loads_of(g, (size_t)(g->is_q8 ? g->sixteens : g->vectors) * g->tile_m);
}

static size_t memory_of(const struct qmm_wgsl *g)
{
	const size_t pitches = g->pitch_m + g->pitch_n;

	if (!g->is_q8)
		return 16 * g->vectors * pitches + tcb_wgsl_weights_bytes(g->format);
	return 16 * g->sixteens * pitches + 8 * g->runs * pitches + tcb_wgsl_weights_bytes(g->format);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct qmm_wgsl g;
	(void)target;

	memset(out, 0, sizeof(*out));
	qmm_wgsl_plan(problem, geometry, &g);
	out->k_step_multiple = TCB_WGSL_PIECE;
	out->element_bytes = out->alignment_bytes = 1;
	out->base_bytes = 256;
	out->shared_bytes = memory_of(&g);
	out->block_threads = g.workgroup;
	out->accumulators = g.micro_m * g.micro_n;
	out->grid[0] = tcb_most(g.groups_n, g.join_groups);
	out->grid[1] = g.groups_m;
	out->grid[2] = g.splitk;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *tile = &geometry->tile[level];

		out->level_bytes[level] = (tile->m + tile->n) * tile->k + sizeof(float) * tile->m * tile->n;
	}
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
	const int32_t isa = geometry->knob[TCB_KNOB_ISA];
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(LAYOUT) | KNOB_BIT(STAGES) | KNOB_BIT(SPLITK) | KNOB_BIT(JOIN) |
			     KNOB_BIT(WORKGROUP);

	if (problem->contract == TCB_CONTRACT_F16)
		return "there are no WebGPU kernels of contract f16";
	if (!tcb_wgsl_sets_knobs(geometry, set, 0))
		return "a WebGPU geometry sets isa, layout, stages, splitk, join and workgroup, and no "
		       "other knob";
	if (isa != TCB_ISA_WGSL && !(is_q8 && isa == TCB_ISA_WGSL_DP4A))
		return "isa must be wgsl, or of contract q8 wgsl_dp4a";
	if (KNOB(LAYOUT) != TCB_LAYOUT_NATIVE)
		return "layout must be native";
	return KNOB(STAGES) == 1 || KNOB(STAGES) == 2 ? NULL : "stages must be 1 or 2";
}

RULE(rule_tiles)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];

	if (macro->m != midi->m || macro->n != midi->n || macro->k != midi->k)
		return "macro must be as midi: a workgroup's tile";
	if (!tcb_is_power_of_two(midi->m) || !tcb_is_power_of_two(midi->n) || midi->m > TILE_MOST ||
	    midi->n > TILE_MOST)
		return "midi.m and midi.n must be powers of two up to 128";
	if (!tcb_is_power_of_two(micro->m) || !tcb_is_power_of_two(micro->n) || micro->m > QMM_WGSL_MICRO_MAX ||
	    micro->n > QMM_WGSL_MICRO_MAX || micro->k != TCB_WGSL_PIECE)
		return "micro must be 1, 2, 4 or 8 tokens and rows, and 32 of k";
	if (midi->k > STEP_MOST || !tcb_is_power_of_two(midi->k) || midi->k % unit_of(problem->op->format))
		return "midi.k must be a power of two up to 256, and of whole pieces that lie across each other";
	return NULL;
}

RULE(rule_share)
{
	struct qmm_wgsl g;

	qmm_wgsl_plan(problem, geometry, &g);
	if (g.across_m * g.across_n != g.workgroup)
		return "workgroup must be midi.m / micro.m * midi.n / micro.n";
	return qmm_wgsl_weight_loads(&g) > QMM_WGSL_LOADS_MAX || qmm_wgsl_x_loads(&g) > QMM_WGSL_LOADS_MAX
		       ? "an invocation would load more than 32 vectors a step"
		       : NULL;
}

RULE(rule_split)
{
	const unsigned splitk = KNOB(SPLITK);
	const double bytes = (double)splitk * (double)problem->shape.m * (double)problem->shape.n * sizeof(float);
	struct qmm_wgsl g;

	if (!tcb_is_power_of_two(splitk) || splitk > SPLIT_MOST)
		return "splitk must be a power of two up to 32";
	if (KNOB(JOIN) != (splitk > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE))
		return "join must be none with splitk=1, and launch otherwise";
	qmm_wgsl_plan(problem, geometry, &g);
	if (splitk > 1 && g.steps < splitk)
		return "each part of k must have a step of midi.k: a smaller splitk";
	return splitk > 1 && bytes > (double)tcb_least(target->wgpu.binding_bytes, UINT32_MAX - UINT16_MAX)
		       ? "the parts of all results are larger than what the device binds: a smaller splitk"
		       : NULL;
}

RULE(rule_size)
{
	const struct tcb_shape *shape = &problem->shape;
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	const size_t count = problem->op->operands(problem, operands);

	for (size_t i = 0; i < count; i++)
		if (operands[i].bytes > UINT32_MAX)
			return "operands are counted in bytes of 32 bits";
	return problem->contract == TCB_CONTRACT_Q8 && shape->m * shape->k / TCB_WGSL_PIECE > (size_t)TCB_WGSL_PREPARED
		       ? "more activations than a launch prepares"
		       : NULL;
}

/* What the figures of dense products speak for; the default space has of the others one at a time. */
RULE(rule_usual)
{
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];
	const size_t sums = micro->m * micro->n, unit = unit_of(problem->op->format);

	struct qmm_wgsl g;

	if (tcb_gpu_is_default(problem, target, geometry))
		return NULL;
	qmm_wgsl_plan(problem, geometry, &g);
	if (qmm_wgsl_weight_loads(&g) > USUAL_LOADS || qmm_wgsl_x_loads(&g) > USUAL_LOADS)
		return "an invocation would load more than 16 vectors a step";
	if (KNOB(WORKGROUP) < WORKGROUP_USUAL || sums > 32 || (sums < 8 && midi->m >= 8) || midi->k > 4 * unit)
		return "a workgroup of less than 64, or an invocation with less than 8 or more than 32 sums";
	return tcb_gpu_unusual((KNOB(STAGES) != 2) + (midi->k > tcb_most(unit, 64)) + (midi->k < 64) + (sums < 16) +
				       (midi->m > 4 * midi->n) + (midi->n > 4 * midi->m),
			       problem, target, geometry);
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, rule_words },
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, tcb_gpu_rule_isa },
	{ TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, tcb_wgsl_rule_workgroup },
	{ TCB_FIELD_TILES, TCB_RULE_KERNEL, rule_tiles },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, rule_share },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(JOIN), TCB_RULE_KERNEL, rule_split },
	{ 0, TCB_RULE_KERNEL, rule_size },
	{ 0, TCB_RULE_POLICY, rule_usual },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_bindings },
	{ 0, 0, NULL },
};

/* --- space --- */

static void add_tiles(struct tcb_axis *out, size_t *count, enum tcb_axis_kind kind, size_t least, size_t size)
{
	const size_t most = tcb_least(tcb_power_of_two_up(size), TILE_MOST);

	tcb_axis_add_powers(tcb_axis_tile(out, count, kind, TCB_MIDI), tcb_least(least, most), 2, most);
	tcb_axis_add_powers(tcb_axis_tile(out, count, kind, TCB_MACRO), tcb_least(least, most), 2, most);
}

/* May workgroups of a tile of 64 x 64 be so few that PARTS of k make more of them? */
static int is_worth_parts(const struct tcb_problem *problem, size_t parts)
{
	const size_t tiles = tcb_div_up(problem->shape.m, 64) * tcb_div_up(problem->shape.n, 64);

	return parts <= SPLIT_MOST && tiles * parts <= (size_t)8 * FILLED_GROUPS &&
	       problem->shape.k / parts >= TCB_WGSL_PIECE * 2;
}

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const int has_dp4a = problem->contract == TCB_CONTRACT_Q8 && tcb_target_has(target, TCB_ISA_WGSL_DP4A);
	size_t count = 0;
	struct tcb_axis *a;

	tcb_axis_add(tcb_axis_knob(out, &count, TCB_KNOB_ISA), has_dp4a ? TCB_ISA_WGSL_DP4A : TCB_ISA_WGSL);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_LAYOUT), TCB_LAYOUT_NATIVE);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STAGES), 1, 2);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WORKGROUP), 64, 128, 256);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 1, 2, 4, 8);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 1, 2, 4, 8);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MICRO), TCB_WGSL_PIECE);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI), TCB_WGSL_PIECE, 2, STEP_MOST);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MACRO), TCB_WGSL_PIECE, 2, STEP_MOST);
	add_tiles(out, &count, TCB_AXIS_TILE_M, 8, problem->shape.m);
	add_tiles(out, &count, TCB_AXIS_TILE_N, 16, problem->shape.n);
	a = tcb_axis_knob(out, &count, TCB_KNOB_SPLITK);
	for (size_t parts = 1; parts == 1 || is_worth_parts(problem, parts); parts *= 2)
		tcb_axis_add(a, parts);
	a = tcb_axis_knob(out, &count, TCB_KNOB_JOIN);
	tcb_axis_add(a, TCB_JOIN_NONE);
	if (is_worth_parts(problem, 2))
		tcb_axis_add(a, TCB_JOIN_LAUNCH);
	return count;
}

/* The first that makes enough workgroups of PROBLEM, or the last. */
static const struct standard *standard_of(const struct tcb_problem *problem)
{
	const size_t last = sizeof standards / sizeof *standards - 1;
	size_t i = 0;

	while (i < last && tcb_div_up(problem->shape.m, standards[i].m) * tcb_div_up(problem->shape.n, standards[i].n) <
				   FILLED_GROUPS)
		i++;
	return &standards[i];
}

/* A tile of M x N with steps of K in workgroups of as few invocations as load a step; what it takes of their memory,
 * SIZE_MAX: none load that much. */
static size_t set_tile(const struct tcb_problem *problem, const struct standard *standard, size_t m, size_t n, size_t k,
		       struct tcb_geometry *out)
{
	struct qmm_wgsl g;

	out->tile[TCB_MACRO] = out->tile[TCB_MIDI] = (struct tcb_tile){ m, n, k };
	for (size_t part = 1; part <= standard->micro_m; part *= 2) {
		const size_t most_m = standard->micro_m / part, most_n = tcb_most(standard->micro_n / part, 1);
		const size_t micro_m = tcb_least(m, most_m), micro_n = tcb_least(n, m < most_m ? 1 : most_n);

		out->tile[TCB_MICRO] = (struct tcb_tile){ micro_m, micro_n, TCB_WGSL_PIECE };
		out->knob[TCB_KNOB_WORKGROUP] = (int32_t)(m / micro_m * (n / micro_n));
		qmm_wgsl_plan(problem, out, &g);
		if (qmm_wgsl_weight_loads(&g) <= QMM_WGSL_LOADS_MAX && qmm_wgsl_x_loads(&g) <= QMM_WGSL_LOADS_MAX)
			return memory_of(&g);
	}
	return SIZE_MAX;
}

/* As many parts of k as fill a device, none of less than PART_LEAST. */
static void set_parts(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_geometry *out)
{
	const struct tcb_tile *tile = &out->tile[TCB_MIDI];
	const size_t tiles = tcb_div_up(problem->shape.m, tile->m) * tcb_div_up(problem->shape.n, tile->n);
	size_t parts = 1;

	while (tiles * parts < FILLED_GROUPS && 2 * parts <= SPLIT_MOST && problem->shape.k / (2 * parts) >= PART_LEAST)
		parts *= 2;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)parts;
	out->knob[TCB_KNOB_JOIN] = parts > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE;
	if (rule_split(problem, target, out)) {
		out->knob[TCB_KNOB_SPLITK] = 1;
		out->knob[TCB_KNOB_JOIN] = TCB_JOIN_NONE;
	}
}

/* On any device: a tile that makes enough workgroups, by parts of k if need be, or, where it does not fit in its
 * memory, as much less as it takes. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct standard *standard = standard_of(problem);
	const size_t unit = unit_of(problem->op->format);
	const int is_in_parts =
		standard != standards && problem->shape.m >= IN_PARTS_LEAST && problem->shape.k >= 2 * PART_LEAST;
	if (is_in_parts)
		standard = &in_parts;
	size_t m = tcb_least(tcb_power_of_two_up(problem->shape.m), standard->m);
	size_t n = tcb_least(tcb_power_of_two_up(problem->shape.n), standard->n);
	size_t k = tcb_least(standard->units * unit, tcb_most(tcb_power_of_two_up(problem->shape.k), unit));
	const int has_dp4a = problem->contract == TCB_CONTRACT_Q8 && tcb_target_has(target, TCB_ISA_WGSL_DP4A);

	tcb_geometry_init(out);
	out->knob[TCB_KNOB_ISA] = has_dp4a ? TCB_ISA_WGSL_DP4A : TCB_ISA_WGSL;
	out->knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_NATIVE;
	out->knob[TCB_KNOB_STAGES] = is_in_parts ? 2 : 1;
	out->knob[TCB_KNOB_SPLITK] = 1;
	out->knob[TCB_KNOB_JOIN] = TCB_JOIN_NONE;
	k = tcb_least(k, STEP_MOST);
	while (set_tile(problem, standard, m, n, k, out) > target->wgpu.workgroup_bytes && (k > unit || m * n > 1)) {
		if (k > unit)
			k /= 2;
		else if (m > n)
			m /= 2;
		else
			n /= 2;
	}
	if (is_in_parts)
		set_parts(problem, target, out);
}

const struct tcb_side_space qmm_wgsl_space = { rules, axes, default_geometry, footprint };
