/* SPDX-License-Identifier: MIT
 *
 * A geometry of attention_decode for WebGPU in numbers; the rules (V4) that it
 * keeps; the axes of the space and the default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/attention/attention_decode_wgsl.h"
#include "kernels/axes.h"
#include "kernels/wgsl/wgsl_team.h"

enum {
	FOUR = ATTENTION_WGSL_FOUR,
	ROWS_MAX = ATTENTION_DECODE_WGSL_ROWS_MAX,
	TOGETHER_MAX = ATTENTION_DECODE_WGSL_TOGETHER_MAX,
	JOIN_WORKGROUP = ATTENTION_DECODE_WGSL_JOIN_WORKGROUP,
	VALUES_MAX = 128, /* of q, and of sums, in an invocation: registers */
	VALUES_USUAL = 32,
	LOADED_MAX = 16, /* vectors of K at a time */
	SPLIT_MOST = 128,
	TEAM_USUAL = 8,
	TEAM_EXCHANGE = 16, /* with tree=exchange, where weights cost a team no more than one of its invocations */
	DEFAULT_WORKGROUP = 128,
	EXCHANGE_WORKGROUP = 256,
	EXCHANGE_VALUES = 16, /* of q in an invocation: what an H200 likes best up to LONG_KV */
	LONG_KV = 8192,
	DEFAULT_WIDTH = 4,
	MERGED_BYTES = 8192, /* of teams' sums of a row in workgroup memory, in default geometries */
	/* Of several rows; devices with subgroups have more than the 16 KiB that all have. */
	MERGED_ANY_BYTES = 8192,
	MERGED_SUBGROUP_BYTES = 16384,
	/* KV is shared among workgroups until there are as many as fill any GPU. */
	GROUPS_WANTED = 256,
	PART_LEAST = 64 /* KV tokens */
};

void attention_decode_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				struct attention_decode_wgsl *out)
{
	struct attention_decode_wgsl *g = out;
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];

	memset(g, 0, sizeof *g);
	attention_wgsl_plan(problem, geometry, &g->a);
	g->team = (unsigned)tcb_most(tcb_least(tcb_power_of_two_up(g->a.k) / tcb_most(micro->k, 1), g->a.workgroup), 1);
	g->teams = g->a.workgroup / g->team;
	g->vectors = (unsigned)tcb_most(g->a.k / g->team / g->a.width, 1);
	g->fours = g->vectors * g->a.width / FOUR;
	g->together = (unsigned)tcb_most(micro->n, 1);
	g->piece = g->teams * g->together;
	g->splitk = KNOB_COUNT(SPLITK);
	g->stages = KNOB_COUNT(STAGES);
	if (g->a.tree == TCB_TREE_EXCHANGE) {
		const unsigned scores = g->together * g->a.rows;

		g->exchanges = 1;
		g->a.tree = TCB_TREE_SUBGROUP;
		g->own = (unsigned)tcb_most(scores / g->team, 1);
		g->alike = (unsigned)tcb_most(g->team / scores, 1);
		g->states = (unsigned)tcb_least(g->own, g->a.rows);
	}
	g->merged = 1;
	const size_t most = g->a.tree == TCB_TREE_SUBGROUP ? MERGED_SUBGROUP_BYTES : MERGED_ANY_BYTES;
	while (2 * g->merged <= g->a.rows && 2 * (size_t)g->merged * g->teams * g->a.k * sizeof(float) <= most)
		g->merged *= 2;
	g->steps = (unsigned)tcb_div_up(tcb_div_up(problem->shape.n, g->piece), g->splitk);
	g->grid[0] = g->splitk;
	g->grid[1] = g->a.kv_heads * g->a.head_tiles;
	g->grid[2] = g->a.sequences * g->a.token_tiles;
	g->join_rows =
		(uint32_t)tcb_least((size_t)g->a.sequences * g->a.queries * g->a.kv_heads * g->a.sharing, UINT32_MAX);
	g->join_shares = 1;
	while (2 * g->join_shares <= tcb_least(g->splitk, JOIN_WORKGROUP / (g->a.k / FOUR)))
		g->join_shares *= 2;
}

double attention_decode_wgsl_chain(const struct attention_decode_wgsl *g)
{
	const unsigned tree = tcb_wgsl_tree_chain(g->a.tree, g->a.workgroup);
	const double added =
		(double)g->steps * g->together + (double)tcb_most(g->teams, tree) + g->splitk + g->join_shares;

	return attention_wgsl_chain(g->steps + 2.0, added);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct attention_decode_wgsl g;
	(void)target;

	memset(out, 0, sizeof *out);
	attention_decode_wgsl_plan(problem, geometry, &g);
	out->element_bytes = out->alignment_bytes = 2;
	out->base_bytes = 256;
	out->shared_bytes = (size_t)g.merged * g.teams * g.a.k * sizeof(float) + g.a.rows * 2 * sizeof(float) +
			    2 * (size_t)attention_wgsl_chunk(g.a.rows) * tcb_wgsl_tree_bytes(g.a.tree, g.a.workgroup);
	if (g.team > 1 && !g.exchanges)
		out->shared_bytes += attention_wgsl_chunk(g.a.rows * g.together) *
				     tcb_wgsl_team_bytes(g.a.tree, g.a.workgroup, g.team);
	out->block_threads = g.a.workgroup;
	out->accumulators = g.a.rows * g.fours * FOUR;
	for (int i = 0; i < 3; i++)
		out->grid[i] = g.grid[i];
	if (g.splitk > 1)
		out->grid[0] = tcb_most(g.grid[0], g.join_rows);
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 2 *
					  tcb_kv_bytes(g.a.kv, tcb_round_up(geometry->tile[level].k, ATTENTION_BLOCK)) *
					  geometry->tile[level].n;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(VEC) | KNOB_BIT(STAGES) | KNOB_BIT(SPLITK) | KNOB_BIT(JOIN) |
			     KNOB_BIT(HEADS) | KNOB_BIT(WORKGROUP) | KNOB_BIT(TREE);

	if (!tcb_wgsl_sets_knobs(geometry, set, 0))
		return "a WebGPU geometry sets isa, vec, stages, splitk, join, heads, workgroup and tree, and no other "
		       "knob";
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_WGSL)
		return "isa must be wgsl";
	return KNOB(STAGES) == 1 || KNOB(STAGES) == 2 ? NULL : "stages must be 1 or 2";
}

RULE(rule_team)
{
	const size_t k = tcb_power_of_two_up(problem->shape.k), own = geometry->tile[TCB_MICRO].k;
	struct attention_decode_wgsl g;

	if (geometry->tile[TCB_MACRO].k != k || geometry->tile[TCB_MIDI].k != k)
		return "macro.k and midi.k must be the head size rounded up to a power of two";
	if (!tcb_is_power_of_two(own) || own > k || k / own > KNOB(WORKGROUP))
		return "micro.k must be a power of two, and midi.k / micro.k, the invocations of a KV token, at most "
		       "workgroup";
	attention_decode_wgsl_plan(problem, geometry, &g);
	return g.team * g.vectors * g.a.width != g.a.k ? "an invocation's values must be whole vectors of vec bytes"
						       : NULL;
}

RULE(rule_exchange)
{
	struct attention_decode_wgsl g;

	if (geometry->knob[TCB_KNOB_TREE] != TCB_TREE_EXCHANGE)
		return tcb_wgsl_rule_tree(problem, target, geometry);
	if (!target->wgpu.subgroup_least)
		return "the device has no subgroups";
	if (KNOB(WORKGROUP) < target->wgpu.subgroup_most)
		return "a workgroup must have whole subgroups with tree=exchange";
	attention_decode_wgsl_plan(problem, geometry, &g);
	return g.team < 2 || g.team > target->wgpu.subgroup_least
		       ? "midi.k / micro.k, the invocations of a KV token, must be 2 or more and fit the device's "
			 "smallest subgroup with tree=exchange"
		       : NULL;
}

RULE(rule_rows)
{
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];

	if (micro->m != midi->m || midi->m * KNOB(HEADS) > ROWS_MAX)
		return "midi.m * heads must be at most 8, and micro.m be midi.m: an invocation has all query rows";
	if (midi->m > tcb_power_of_two_up(problem->shape.m))
		return "midi.m is more than the query tokens take";
	return midi->m * KNOB(HEADS) * micro->k > VALUES_MAX ? "midi.m * heads * micro.k must be at most 128: registers"
							     : NULL;
}

RULE(rule_tokens)
{
	const size_t together = geometry->tile[TCB_MICRO].n;
	struct attention_decode_wgsl g;

	if (!tcb_is_power_of_two(together) || together > TOGETHER_MAX)
		return "micro.n must be 1, 2 or 4";
	attention_decode_wgsl_plan(problem, geometry, &g);
	if (g.piece != geometry->tile[TCB_MIDI].n)
		return "midi.n must be workgroup * micro.k / midi.k * micro.n: KV tokens of a workgroup at a time";
	return together * g.vectors > LOADED_MAX ? "micro.n * micro.k must be at most 16 vectors: registers" : NULL;
}

RULE(rule_split)
{
	const size_t all = tcb_power_of_two_up(problem->shape.n), midi = geometry->tile[TCB_MIDI].n;
	const unsigned splitk = KNOB(SPLITK);

	if (!tcb_is_power_of_two(splitk) || splitk > SPLIT_MOST)
		return "splitk must be a power of two up to 128";
	if (KNOB(JOIN) != (splitk > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE))
		return "join must be none with splitk=1, and launch otherwise";
	if (splitk > 1 && all / splitk < midi)
		return "a part of KV must have midi.n tokens: a smaller splitk";
	return geometry->tile[TCB_MACRO].n != tcb_most(all / splitk, midi)
		       ? "macro.n must be the KV tokens, rounded up to a power of two, over splitk, or midi.n where "
			 "that is more"
		       : NULL;
}

/* The workspace is bound as any operand. */
RULE(rule_parts)
{
	const struct tcb_shape *s = &problem->shape;
	const double bytes = (double)s->words.sequences * (double)s->m * s->words.query * KNOB_COUNT(SPLITK) *
			     (double)s->k * sizeof(float);

	return KNOB(SPLITK) > 1 && bytes > (double)tcb_least(target->wgpu.binding_bytes, UINT32_MAX - UINT16_MAX)
		       ? "the parts of all query rows are larger than what the device binds: a smaller splitk"
		       : NULL;
}

/* Wide loads, a team of 4 to 16 invocations, all rows that share a KV head; the default space has of the others one at
 * a time. */
RULE(policy_usual)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t rows = tcb_least(ROWS_MAX, tcb_power_of_two_up(attention_group(s)) * tcb_power_of_two_up(s->m));
	const int has_subgroups = target->wgpu.subgroup_least >= 4;
	struct attention_decode_wgsl g;
	unsigned unusual;

	attention_decode_wgsl_plan(problem, geometry, &g);
	unusual = (g.a.width < DEFAULT_WIDTH) + (g.a.rows * 2 < rows) +
		  (g.team > (g.exchanges ? TEAM_EXCHANGE : TEAM_USUAL)) + (g.team < 4) + (g.a.workgroup < 64) +
		  (g.a.workgroup > 256) + (has_subgroups != (g.a.tree == TCB_TREE_SUBGROUP)) +
		  (g.a.rows * g.fours * FOUR > VALUES_USUAL);
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

#define READS_TEAM (TCB_FIELD_TILES | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(WORKGROUP))

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_KNOB(VEC), TCB_RULE_KERNEL, attention_rule_plain },
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(VEC), TCB_RULE_KERNEL, attention_wgsl_rule_vec },
	{ ATTENTION_WGSL_READS_HEADS, TCB_RULE_KERNEL, attention_wgsl_rule_heads },
	{ TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, tcb_wgsl_rule_workgroup },
	{ READS_TEAM, TCB_RULE_KERNEL, rule_team },
	{ TCB_WGSL_READS_TREE | READS_TEAM, TCB_RULE_KERNEL, rule_exchange },
	{ ATTENTION_WGSL_READS_HEADS, TCB_RULE_KERNEL, rule_rows },
	{ READS_TEAM, TCB_RULE_KERNEL, rule_tokens },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(JOIN), TCB_RULE_KERNEL, rule_split },
	{ TCB_FIELD_KNOB(SPLITK), TCB_RULE_KERNEL, rule_parts },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_size },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_bindings },
	{ 0, TCB_RULE_POLICY, policy_usual },
	{ 0, 0, NULL },
};

/* --- space --- */

/* The most workgroups that may share a tile's KV. */
static size_t most_parts(const struct tcb_shape *shape)
{
	const size_t n = tcb_power_of_two_up(shape->n);
	const size_t others = (size_t)shape->words.sequences * shape->words.kv;
	size_t parts = 1;

	while (parts < SPLIT_MOST && others * parts < 2 * GROUPS_WANTED && n / (2 * parts) >= PART_LEAST)
		parts *= 2;
	return parts;
}

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t m = tcb_least(tcb_power_of_two_up(s->m), ROWS_MAX), n = tcb_power_of_two_up(s->n);
	const size_t heads = tcb_least(tcb_power_of_two_up(attention_group(s)), ROWS_MAX), parts = most_parts(s);
	size_t count = 0;
	struct tcb_axis *a;

	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_WGSL);
	tcb_axis_add_powers(tcb_axis_knob(out, &count, TCB_KNOB_VEC), attention_wgsl_vec_least(problem), 2,
			    ATTENTION_WGSL_VEC_MOST);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MACRO), tcb_power_of_two_up(s->k));
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI), tcb_power_of_two_up(s->k));
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MICRO), FOUR, 2, VALUES_MAX);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STAGES), 1, 2);
	tcb_axis_add_powers(tcb_axis_knob(out, &count, TCB_KNOB_HEADS), 1, 2, heads);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 1, 2, m);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), 1, 2, m);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO), 1, 2, m);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 1, 2, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WORKGROUP), 32, 64, 128, 256, 512);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 1, 2, tcb_least(n, 512));
	tcb_axis_add_powers(tcb_axis_knob(out, &count, TCB_KNOB_SPLITK), 1, 2, parts);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	for (size_t part = 1; part <= parts; part *= 2)
		tcb_axis_add(a, n / part);
	a = tcb_axis_knob(out, &count, TCB_KNOB_JOIN);
	tcb_axis_add(a, TCB_JOIN_NONE);
	if (parts > 1)
		tcb_axis_add(a, TCB_JOIN_LAUNCH);
	a = tcb_wgsl_axis_tree(out, &count, target);
	if (target->wgpu.subgroup_least > 1)
		tcb_axis_add(a, TCB_TREE_EXCHANGE);
	return count;
}

/*
 * On any device: 16 values of a head per invocation, or as few as are a power of two of them; of the query rows that
 * share a KV head a few, heads first, since registers hold K and V of several tokens that are asked for ahead; parts of
 * KV until there are 256 workgroups.  Where a subgroup has 16 lanes, 8 values per invocation and scores exchanged.
 */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t m = tcb_power_of_two_up(s->m), n = tcb_power_of_two_up(s->n);
	const size_t group = tcb_power_of_two_up(attention_group(s));
	const size_t vec = DEFAULT_WIDTH / FOUR * attention_wgsl_vec_least(problem);
	const size_t k = tcb_power_of_two_up(s->k);
	const int exchanges =
		target->wgpu.subgroup_least >= TEAM_EXCHANGE && target->wgpu.subgroup_most <= EXCHANGE_WORKGROUP / 2;
	const size_t values = exchanges && n < LONG_KV ? EXCHANGE_VALUES : VALUES_USUAL;
	size_t own = s->k, heads = 1, tokens = 1, splitk = 1, together = 1;

	while (own % (2 * DEFAULT_WIDTH) == 0 && s->k / own < (exchanges ? TEAM_EXCHANGE : TEAM_USUAL))
		own /= 2;
	const size_t team = s->k / own;
	while (heads < group && 2 * heads <= ROWS_MAX && 2 * heads * k / team <= values)
		heads *= 2;
	while (tokens < m && 2 * tokens * heads <= ROWS_MAX && 2 * tokens * heads * k / team <= values)
		tokens *= 2;
	size_t teams = tcb_least((exchanges ? EXCHANGE_WORKGROUP : DEFAULT_WORKGROUP) / team, n);
	while (teams > 1 && teams * s->k * sizeof(float) > MERGED_BYTES)
		teams /= 2;
	const size_t scores = exchanges ? TEAM_EXCHANGE : ROWS_MAX; /* of a team at a time */
	while (together < TOGETHER_MAX && 2 * together * teams <= n && 2 * together * heads * tokens <= scores &&
	       2 * together * (k / team) <= (size_t)LOADED_MAX * DEFAULT_WIDTH)
		together *= 2;
	const size_t others = (size_t)s->words.sequences * tcb_div_up(s->m, tokens) * s->words.kv *
			      tcb_div_up(attention_group(s), heads);
	while (2 * splitk * others <= GROUPS_WANTED && splitk < SPLIT_MOST &&
	       n / (2 * splitk) >= tcb_most(PART_LEAST, teams * together))
		splitk *= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MICRO] = (struct tcb_tile){ tokens, together, k / team };
	out->tile[TCB_MIDI] = (struct tcb_tile){ tokens, teams * together, k };
	out->tile[TCB_MACRO] = (struct tcb_tile){ tokens, tcb_most(n / splitk, teams * together), k };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGSL;
	out->knob[TCB_KNOB_VEC] = (int32_t)vec;
	out->knob[TCB_KNOB_STAGES] = exchanges ? 1 : 2;
	out->knob[TCB_KNOB_SPLITK] = (int32_t)splitk;
	out->knob[TCB_KNOB_JOIN] = splitk > 1 ? TCB_JOIN_LAUNCH : TCB_JOIN_NONE;
	out->knob[TCB_KNOB_HEADS] = (int32_t)heads;
	out->knob[TCB_KNOB_WORKGROUP] = (int32_t)(team * teams);
	out->knob[TCB_KNOB_TREE] = exchanges ? TCB_TREE_EXCHANGE : TCB_TREE_SUBGROUP;
	if (rule_exchange(problem, target, out))
		out->knob[TCB_KNOB_TREE] = TCB_TREE_SUBGROUP;
	if (rule_exchange(problem, target, out))
		out->knob[TCB_KNOB_TREE] = TCB_TREE_SHARED;
}

const struct tcb_side_space attention_decode_wgsl_space = { rules, axes, default_geometry, footprint };
