/* SPDX-License-Identifier: MIT
 *
 * A geometry of ops on rows for WebGPU in numbers; the rules (V4) that it keeps;
 * the axes of the space and the default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/rows/rows.h"
#include "kernels/rows/rows_wgsl.h"
#include "kernels/wgsl/wgsl_rules.h"
#include "kernels/wgsl/wgsl_team.h"

enum {
	WORKGROUP_LEAST = 32,
	WORKGROUP_MOST = 1024,
	DEFAULT_WORKGROUP = 256,
	DEFAULT_WORKGROUP_MOST = 512, /* where a row is held so, and the device has as many */
	DEFAULT_HELD = 8,             /* vectors of an invocation, before rows are read twice */
	DEFAULT_UNROLL = 4,
	ROWS_MOST = 64,    /* of a workgroup */
	SPLIT_MOST = 64,   /* workgroups of a row */
	SLICE_LEAST = 512, /* columns; smaller shares of a row only add work */
	/* Rows are shared where they give fewer workgroups than any GPU wants. */
	GROUPS_WANTED = 256,
	LONG_ROW = 2048,
	GRID_MOST = 65535
};

/* --- plan --- */

void rows_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct rows_wgsl *out)
{
	struct rows_wgsl *g = out;
	uint64_t deep;
	memset(g, 0, sizeof(*g));
	g->tree = (enum tcb_tree)KNOB(TREE);
	g->form = (enum tcb_form)KNOB(FORM);
	g->is_held = KNOB(XIN) == TCB_XIN_REGS;
	g->lead = geometry->knob[TCB_KNOB_LEAD] == 1;
	g->is_added = problem->shape.words.add != 0;
	g->eps = rows_eps(&problem->shape);
	g->x_type = rows_x_type(problem);
	g->y_type = rows_y_type(problem);
	g->width = (unsigned)tcb_most(KNOB(VEC) / 4, 1);
	g->workgroup = KNOB_COUNT(WORKGROUP);
	g->rows = (unsigned)tcb_most(tcb_least(geometry->tile[TCB_MIDI].m, g->workgroup), 1);
	g->team = g->workgroup / g->rows;
	g->unroll = KNOB_COUNT(UNROLL);
	g->splitk = KNOB_COUNT(SPLITK);
	g->step = g->team * g->unroll;
	g->columns = problem->shape.n / g->width;
	/* A workgroup's first vector lies as a team's do. */
	g->slice = g->columns;
	if (g->splitk > 1)
		g->slice = tcb_round_up(tcb_div_up(g->columns, g->splitk), g->team);
	g->passes = tcb_div_up(g->slice, g->step);
	g->tiles = tcb_div_up(problem->shape.m, g->rows);
	deep = tcb_div_up(g->tiles, GRID_MOST);
	g->grid[0] = g->splitk;
	g->grid[1] = (uint32_t)tcb_least(tcb_div_up(g->tiles, deep), GRID_MOST);
	g->grid[2] = (uint32_t)tcb_least(deep, GRID_MOST);
	g->is_whole = g->passes * g->step * g->splitk == g->columns && g->tiles * g->rows == problem->shape.m &&
		      (uint64_t)g->grid[1] * g->grid[2] == g->tiles;
}

double rows_wgsl_chain(const struct rows_wgsl *g)
{
	const double tree = tcb_wgsl_team_chain(g->tree, g->workgroup, g->team);
	const double own = tcb_log2_up(g->unroll * g->width) + (double)g->passes + tree;
	return own + (g->splitk > 1 ? tcb_div_up(g->splitk, g->team) + tree : 0);
}

double rows_wgsl_steps(const struct rows_wgsl *g)
{
	const double own = g->is_held || g->form == TCB_FORM_TWOPASS ? 0 : (double)g->passes + 1;
	return own + (g->splitk > 1 ? tcb_div_up(g->splitk, g->team) + 1 : 0);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct rows_wgsl_math *math = rows_of(problem)->wgsl;
	struct rows_wgsl g;
	(void)target;
	memset(out, 0, sizeof(*out));
	rows_wgsl_plan(problem, geometry, &g);
	out->element_bytes = tcb_type_bytes(g.x_type);
	out->alignment_bytes = out->vector_bytes = out->element_bytes * g.width;
	out->base_bytes = 256;
	out->leading_bytes = problem->shape.n * out->element_bytes;
	out->shared_bytes = (1 + (size_t)(math->has_max != 0)) * tcb_wgsl_team_bytes(g.tree, g.workgroup, g.team);
	out->block_threads = g.workgroup;
	out->accumulators = g.unroll * g.width;
	for (int i = 0; i < 3; i++)
		out->grid[i] = g.grid[i];
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 2 * sizeof(float) * geometry->tile[level].m * geometry->tile[level].n;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const struct rows_wgsl_math *math = rows_of(problem)->wgsl;
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(UNROLL) | KNOB_BIT(VEC) | KNOB_BIT(SPLITK) | KNOB_BIT(XIN) |
			     KNOB_BIT(JOIN) | KNOB_BIT(WORKGROUP) | KNOB_BIT(TREE);
	const int32_t form = geometry->knob[TCB_KNOB_FORM], lead = geometry->knob[TCB_KNOB_LEAD];
	if (!tcb_wgsl_sets_knobs(geometry, set, KNOB_BIT(FORM) | KNOB_BIT(LEAD)))
		return "a WebGPU geometry sets isa, unroll, vec, splitk, xin, join, workgroup and tree, and no other "
		       "knob but form and lead";
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_WGSL)
		return "isa must be wgsl";
	if (KNOB(XIN) != TCB_XIN_REGS && KNOB(XIN) != TCB_XIN_L2)
		return "xin must be regs or l2";
	if (!math->has_sweeps || KNOB(XIN) == TCB_XIN_REGS) {
		if (form != TCB_KNOB_UNSET)
			return "form has no effect on rows that are held, nor on rmsnorm, and must not be set";
	} else if (form != TCB_FORM_ONEPASS && form != TCB_FORM_TWOPASS)
		return "form must be onepass or twopass with xin=l2";
	if (!math->weights || KNOB(XIN) != TCB_XIN_REGS)
		return lead == TCB_KNOB_UNSET ? NULL : "lead has no effect without weights and xin=regs";
	return lead == 0 || lead == 1 ? NULL : "lead must be 0 or 1";
}

RULE(rule_vec)
{
	const unsigned vec = KNOB(VEC);
	if (vec != 4 && vec != 8 && vec != 16)
		return "vec must be 4, 8 or 16";
	if (problem->shape.n % (vec / 4))
		return "a row must be whole vectors: a narrower vec";
	return (uint64_t)problem->shape.m * problem->shape.n > INT32_MAX ? "more than 2^31 elements" : NULL;
}

RULE(rule_rows)
{
	const size_t rows = geometry->tile[TCB_MIDI].m;
	if (!tcb_is_power_of_two(rows) || rows > KNOB(WORKGROUP))
		return "midi.m, a workgroup's rows, must be a power of two up to workgroup";
	return rows > tcb_power_of_two_up(problem->shape.m) ? "midi.m must be at most the matrix's rows" : NULL;
}

RULE(rule_keep)
{
	const unsigned unroll = KNOB(UNROLL),
		       most = KNOB(XIN) == TCB_XIN_REGS ? ROWS_WGSL_HELD_MAX : ROWS_WGSL_UNROLL_MAX;
	struct rows_wgsl g;
	if (!tcb_is_power_of_two(unroll) || unroll > most)
		return "unroll must be a power of two up to 8, or up to 16 with xin=regs";
	rows_wgsl_plan(problem, geometry, &g);
	if (g.is_held && (g.passes > 1 || g.splitk > 1))
		return "with xin=regs a row must be one step of one workgroup: a larger workgroup or unroll, or xin=l2";
	return NULL;
}

RULE(rule_split)
{
	struct rows_wgsl g;
	rows_wgsl_plan(problem, geometry, &g);
	if (!tcb_is_power_of_two(KNOB(SPLITK)) || KNOB(SPLITK) > SPLIT_MOST)
		return "splitk must be a power of two up to 64";
	if (KNOB(JOIN) != (KNOB(SPLITK) > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE))
		return "join must be none with splitk=1, and launch otherwise";
	return (g.splitk - 1) * g.slice >= g.columns
		       ? "the last of the workgroups that share a row has no columns: a smaller splitk or workgroup"
		       : NULL;
}

RULE(rule_tiles)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	if (macro->n != tcb_power_of_two_up(problem->shape.n) || macro->m != tcb_power_of_two_up(problem->shape.m))
		return "macro must be the problem's shape, rounded up to powers of two: the grid has all rows";
	if (midi->n * KNOB(SPLITK) != macro->n)
		return "midi.n must be macro.n / splitk";
	return micro->m != 1 || micro->n * 4 != KNOB(VEC) ? "micro must be 1 x vec / 4: an invocation's vector" : NULL;
}

/* What fewer invocations or vectors do as well. */
RULE(rule_idle)
{
	struct rows_wgsl g;
	rows_wgsl_plan(problem, geometry, &g);
	if (g.unroll > 1 && g.slice <= g.step / 2)
		return "half of a step is idle: a smaller unroll";
	if (g.team == 1 || g.slice > g.team / 2)
		return NULL;
	if (g.workgroup > WORKGROUP_LEAST)
		return "half of a row's invocations are idle: a smaller workgroup, or more rows in it";
	return g.rows < tcb_least(tcb_power_of_two_up(problem->shape.m), ROWS_MOST)
		       ? "half of a row's invocations are idle: more rows in a workgroup"
		       : NULL;
}

/* Long rows have a workgroup each, and narrow vectors are for rows that are no whole numbers of wide ones. */
RULE(policy_usual)
{
	const size_t n = problem->shape.n;
	const unsigned wide = n % 4 == 0 ? 16 : n % 2 == 0 ? 8 : 4;
	const int is_held = KNOB(XIN) == TCB_XIN_REGS;
	struct rows_wgsl g;
	unsigned unusual = 0;
	rows_wgsl_plan(problem, geometry, &g);
	unusual += KNOB(VEC) != wide;
	unusual += KNOB(VEC) != wide && !is_held;
	unusual += n >= LONG_ROW && g.rows > (is_held ? 4 : 1);
	unusual += n >= LONG_ROW && g.rows > 1 && g.splitk > 1;
	unusual += g.workgroup == WORKGROUP_MOST || g.workgroup < 64;
	unusual += !is_held && (g.unroll == 1 || g.unroll == 8);
	unusual += !is_held && g.form == TCB_FORM_TWOPASS;
	unusual += !is_held && g.splitk == 1 && g.columns <= (uint64_t)g.team * DEFAULT_HELD;
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

RULE(rule_halves)
{
	return rows_has_halves(problem) && KNOB(VEC) == 4
		       ? "WebGPU's kernels have two halves a word: rows of an even number of values, and vec 8 or 16"
		       : NULL;
}

#define READS_ROWS (TCB_FIELD_KNOB(WORKGROUP) | TCB_FIELD_TILES)
#define READS_STEP \
	(READS_ROWS | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(UNROLL) | TCB_FIELD_KNOB(XIN) | TCB_FIELD_KNOB(SPLITK))

static const struct tcb_rule rules[] = {
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(VEC), TCB_RULE_KERNEL, rule_vec },
	{ TCB_FIELD_KNOB(VEC), TCB_RULE_KERNEL, rule_halves },
	{ TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, tcb_wgsl_rule_workgroup },
	{ TCB_WGSL_READS_TREE, TCB_RULE_KERNEL, tcb_wgsl_rule_tree },
	{ READS_ROWS, TCB_RULE_KERNEL, rule_rows },
	{ TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_tiles },
	{ READS_STEP | TCB_FIELD_KNOB(JOIN), TCB_RULE_KERNEL, rule_split },
	{ READS_STEP, TCB_RULE_KERNEL, rule_keep },
	{ READS_STEP, TCB_RULE_DOUBLE, rule_idle },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_bindings },
	{ 0, TCB_RULE_POLICY, policy_usual },
	{ 0, 0, NULL },
};

/* --- space --- */

/* The most workgroups that may share a row. */
static size_t most_shares(const struct tcb_problem *problem)
{
	size_t most = 1;
	while (most < SPLIT_MOST && problem->shape.m * most < GROUPS_WANTED &&
	       problem->shape.n / (2 * most) >= SLICE_LEAST)
		most *= 2;
	return most;
}

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct rows_wgsl_math *math = rows_of(problem)->wgsl;
	const size_t rows = tcb_power_of_two_up(problem->shape.m), columns = tcb_power_of_two_up(problem->shape.n);
	const size_t shares = most_shares(problem);
	size_t count = 0;
	struct tcb_axis *a;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_WGSL);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 16, 8, 4);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 1, 2, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_XIN), TCB_XIN_REGS, TCB_XIN_L2);
	a = tcb_axis_knob(out, &count, TCB_KNOB_JOIN);
	tcb_axis_add(a, TCB_JOIN_NONE);
	if (shares > 1)
		tcb_axis_add(a, TCB_JOIN_LAUNCH);
	tcb_axis_add_powers(tcb_axis_knob(out, &count, TCB_KNOB_SPLITK), 1, 2, shares);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI);
	for (size_t share = 1; share <= shares; share *= 2)
		tcb_axis_add(a, tcb_most(columns / share, 1));
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), columns);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO), rows);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WORKGROUP), 32, 64, 128, 256, 512, 1024);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), 1, 2, tcb_least(rows, ROWS_MOST));
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_UNROLL), 1, 2, 4, 8, 16);
	tcb_wgsl_axis_tree(out, &count, target);
	if (math->has_sweeps)
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_FORM), TCB_FORM_ONEPASS, TCB_FORM_TWOPASS);
	if (math->weights)
		ADD(tcb_axis_knob_or_none(out, &count, TCB_KNOB_LEAD), 0, 1);
	return count;
}

static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct rows_wgsl_math *math = rows_of(problem)->wgsl;
	const size_t m = problem->shape.m, n = problem->shape.n;
	const size_t width = n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1, columns = n / width;
	const size_t most =
		tcb_least(DEFAULT_WORKGROUP_MOST, tcb_least(target->wgpu.workgroup_most, target->wgpu.size_most[0]));
	size_t team = tcb_least(tcb_power_of_two_up(columns), DEFAULT_WORKGROUP);
	size_t rows = 1, unroll = 1;
	while (team * DEFAULT_HELD < columns && 2 * team <= most)
		team *= 2;
	if (team * DEFAULT_HELD < columns)
		team = DEFAULT_WORKGROUP;
	while (team * rows < DEFAULT_WORKGROUP && rows < ROWS_MOST && rows < tcb_power_of_two_up(m))
		rows *= 2;
	while (team * unroll < columns && unroll < DEFAULT_HELD)
		unroll *= 2;
	const int is_held = team * unroll >= columns;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(m), tcb_power_of_two_up(n), 1 };
	out->tile[TCB_MIDI] = (struct tcb_tile){ rows, tcb_power_of_two_up(n), 1 };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, width, 1 };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGSL;
	out->knob[TCB_KNOB_UNROLL] = is_held ? (int32_t)unroll : DEFAULT_UNROLL;
	out->knob[TCB_KNOB_VEC] = (int32_t)(4 * width);
	out->knob[TCB_KNOB_SPLITK] = 1;
	out->knob[TCB_KNOB_XIN] = is_held ? TCB_XIN_REGS : TCB_XIN_L2;
	out->knob[TCB_KNOB_JOIN] = TCB_JOIN_NONE;
	out->knob[TCB_KNOB_WORKGROUP] = (int32_t)tcb_most(team * rows, WORKGROUP_LEAST);
	out->knob[TCB_KNOB_TREE] = TCB_TREE_SHARED;
	if (math->has_sweeps && !is_held)
		out->knob[TCB_KNOB_FORM] = TCB_FORM_ONEPASS;
	if (math->weights && is_held)
		out->knob[TCB_KNOB_LEAD] = 0;
}

const struct tcb_side_space rows_wgsl_space = { rules, axes, default_geometry, footprint };
