/* SPDX-License-Identifier: MIT
 *
 * A geometry of attention_prefill for WebGPU in numbers; the rules (V4) that it
 * keeps; the axes of the space and the default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/attention/attention_prefill_wgsl.h"
#include "kernels/axes.h"
#include "kernels/wgsl/wgsl_team.h"

enum {
	FOUR = ATTENTION_WGSL_FOUR,
	OWN_MOST = 8,
	KEYS_MOST = 8,
	TEAM_MOST = 32,
	TOKENS_MOST = 64,
	TILE_MOST = 64,
	STEP_MOST = 32, /* values of a head */
	SUMS_MAX = 128, /* of an invocation: registers */
	SUMS_USUAL = 64,
	V_FOURS = 512, /* of V in workgroup memory */
	DEFAULT_ROWS = 32,
	DEFAULT_TILE = 32,
	DEFAULT_TEAM = 8,
	DEFAULT_STEP = 16,
};

void attention_prefill_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				 struct attention_prefill_wgsl *out)
{
	struct attention_prefill_wgsl *g = out;
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];

	memset(g, 0, sizeof *g);
	attention_wgsl_plan(problem, geometry, &g->a);
	g->tile = (unsigned)tcb_most(tcb_least(midi->n, TILE_MOST), FOUR);
	g->own = (unsigned)tcb_most(tcb_least(micro->m, OWN_MOST), 1);
	g->teams = (unsigned)tcb_most(g->a.rows / g->own, 1);
	g->team = (unsigned)tcb_most(g->a.workgroup / g->teams, 1);
	g->keys = (unsigned)tcb_most(g->tile / g->team, 1);
	g->columns = (unsigned)tcb_most(g->a.k / FOUR / g->team, 1);
	g->step = (unsigned)tcb_most(tcb_least(midi->k, STEP_MOST) / FOUR, 1);
	g->pitch = g->step + 1; /* so that banks differ */
	g->p_pitch = g->tile / FOUR + 1;
	for (g->v_tokens = g->tile; g->v_tokens > FOUR && g->v_tokens * (g->a.k / FOUR) > V_FOURS;)
		g->v_tokens /= 2;
	g->tile_fours = (unsigned)tcb_most((g->a.rows + g->tile) * g->pitch, g->v_tokens * (g->a.k / FOUR));
	g->weight_fours = g->a.rows * g->p_pitch;
	g->tiles = (unsigned)tcb_div_up(problem->shape.n, g->tile);
}

double attention_prefill_wgsl_chain(const struct tcb_problem *problem, const struct attention_prefill_wgsl *g)
{
	const unsigned tree = tcb_wgsl_team_chain(g->a.tree, g->a.workgroup, g->team);

	return attention_wgsl_chain(g->tiles + 1.0, (double)problem->shape.n + g->tile + tree);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct attention_prefill_wgsl g;
	(void)target;

	memset(out, 0, sizeof *out);
	attention_prefill_wgsl_plan(problem, geometry, &g);
	out->element_bytes = out->alignment_bytes = 2;
	out->base_bytes = 256;
	out->shared_bytes =
		((size_t)g.tile_fours + g.weight_fours) * FOUR * sizeof(float) +
		2 * (size_t)attention_wgsl_chunk(g.own) * tcb_wgsl_team_bytes(g.a.tree, g.a.workgroup, g.team);
	out->block_threads = g.a.workgroup;
	out->accumulators = g.own * g.columns * FOUR;
	out->grid[0] = g.a.token_tiles;
	out->grid[1] = (size_t)g.a.kv_heads * g.a.head_tiles;
	out->grid[2] = g.a.sequences;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *tile = &geometry->tile[level];

		out->level_bytes[level] = sizeof(float) * (tile->m + 2 * tile->n) * tile->k;
	}
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(VEC) | KNOB_BIT(HEADS) | KNOB_BIT(WORKGROUP) | KNOB_BIT(TREE);

	if (!tcb_wgsl_sets_knobs(geometry, set, 0))
		return "a WebGPU geometry sets isa, vec, heads, workgroup and tree, and no other knob";
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGSL ? NULL : "isa must be wgsl";
}

RULE(rule_tiles)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];

	if (micro->m != FOUR && micro->m != OWN_MOST)
		return "micro.m must be 4 or 8: query rows of an invocation";
	if (micro->m > midi->m)
		return "micro.m must be midi.m at most";
	if (!tcb_is_power_of_two(midi->n) || midi->n < FOUR || midi->n > TILE_MOST || micro->n != midi->n)
		return "midi.n must be a power of two from 4 to 64, and micro.n the same";
	if ((midi->k != STEP_MOST / 2 && midi->k != STEP_MOST) || micro->k != FOUR)
		return "midi.k must be 16 or 32, and micro.k 4";
	if (macro->n != tcb_most(tcb_power_of_two_up(problem->shape.n), midi->n) ||
	    macro->k != tcb_power_of_two_up(problem->shape.k))
		return "macro's n and k must be the problem's, rounded up to powers of two";
	return midi->m > FOUR && midi->m > tcb_power_of_two_up(problem->shape.m)
		       ? "midi.m is more than the query tokens take"
		       : NULL;
}

RULE(rule_team)
{
	struct attention_prefill_wgsl g;

	attention_prefill_wgsl_plan(problem, geometry, &g);
	if (g.teams * g.team != g.a.workgroup || g.team > TEAM_MOST || (g.a.k / FOUR) % g.team)
		return "workgroup must be teams of up to 32 invocations, midi.m * heads / micro.m of them, each of "
		       "which "
		       "has as many fours of the head";
	if (g.keys < FOUR || g.keys > KEYS_MOST || g.keys * g.team != g.tile)
		return "an invocation must have 4 or 8 of midi.n KV tokens: midi.n over its team";
	return g.own * g.columns * FOUR > SUMS_MAX ? "an invocation has more than 128 sums: a larger workgroup" : NULL;
}

/* A step of midi.k is whole vectors. */
RULE(rule_vec)
{
	struct attention_prefill_wgsl g;

	attention_prefill_wgsl_plan(problem, geometry, &g);
	return g.step * FOUR % g.a.width ? "midi.k must be whole vectors of vec bytes" : NULL;
}

/* Wide loads, whole tiles, what registers hold; the default space has of the others one at a time. */
RULE(policy_usual)
{
	const struct tcb_shape *s = &problem->shape;
	const int has_subgroups = target->wgpu.subgroup_least >= 4;
	struct attention_prefill_wgsl g;
	unsigned unusual;

	attention_prefill_wgsl_plan(problem, geometry, &g);
	const size_t rows =
		tcb_least(DEFAULT_ROWS, tcb_power_of_two_up(s->m) * tcb_power_of_two_up(attention_group(s)));
	unusual = (g.a.width < 2 * FOUR) + (g.a.rows < rows) + (g.a.heads > 1 && s->m >= DEFAULT_ROWS) +
		  (g.tile < DEFAULT_TILE) + (has_subgroups != (g.a.tree == TCB_TREE_SUBGROUP)) +
		  (g.own * g.columns * FOUR > SUMS_USUAL);
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

#define READS_TEAM                                                                                   \
	(TCB_FIELD_TILES | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(HEADS) | TCB_FIELD_KNOB(WORKGROUP) | \
	 TCB_FIELD_KNOB(TREE))

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_KNOB(VEC), TCB_RULE_KERNEL, attention_rule_plain },
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(VEC), TCB_RULE_KERNEL, attention_wgsl_rule_vec },
	{ ATTENTION_WGSL_READS_HEADS, TCB_RULE_KERNEL, attention_wgsl_rule_heads },
	{ TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, tcb_wgsl_rule_workgroup },
	{ TCB_WGSL_READS_TREE, TCB_RULE_KERNEL, tcb_wgsl_rule_tree },
	{ TCB_FIELD_TILES, TCB_RULE_KERNEL, rule_tiles },
	{ READS_TEAM, TCB_RULE_KERNEL, rule_team },
	{ READS_TEAM, TCB_RULE_KERNEL, rule_vec },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_size },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_bindings },
	{ 0, TCB_RULE_POLICY, policy_usual },
	{ 0, 0, NULL },
};

/* --- space --- */

/* In an order in which the rules cut early. */
static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t m = tcb_most(tcb_least(tcb_power_of_two_up(s->m), TOKENS_MOST), FOUR);
	const size_t heads = tcb_least(tcb_power_of_two_up(attention_group(s)), TOKENS_MOST / FOUR);
	const size_t n = tcb_power_of_two_up(s->n);
	size_t count = 0;
	struct tcb_axis *a;

	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_WGSL);
	tcb_axis_add_powers(tcb_axis_knob(out, &count, TCB_KNOB_VEC), attention_wgsl_vec_least(problem), 2,
			    ATTENTION_WGSL_VEC_MOST);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MICRO), FOUR);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MIDI), 16, 32);
	tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MACRO), tcb_power_of_two_up(s->k));
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MICRO), 16, 32, 64);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), 16, 32, 64);
	a = tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, TCB_MACRO);
	for (size_t tile = 16; tile <= TILE_MOST; tile *= 2)
		tcb_axis_add(a, tcb_most(n, tile));
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MICRO), 4, 8);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), FOUR, 2, m);
	tcb_axis_add_powers(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, TCB_MACRO), FOUR, 2, m);
	tcb_axis_add_powers(tcb_axis_knob(out, &count, TCB_KNOB_HEADS), 1, 2, heads);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WORKGROUP), 4, 8, 16, 32, 64, 128, 256);
	tcb_wgsl_axis_tree(out, &count, target);
	return count;
}

/* On any device: tiles of 32 query rows, of tokens first, by 32 KV tokens, of which an invocation has 4 x 4. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t tokens = tcb_most(tcb_least(tcb_power_of_two_up(s->m), DEFAULT_ROWS), FOUR);
	size_t heads = 1;

	while (heads * tokens < DEFAULT_ROWS && heads < attention_group(s))
		heads *= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MICRO] = (struct tcb_tile){ FOUR, DEFAULT_TILE, FOUR };
	out->tile[TCB_MIDI] = (struct tcb_tile){ tokens, DEFAULT_TILE, DEFAULT_STEP };
	out->tile[TCB_MACRO] = (struct tcb_tile){ tokens, tcb_most(tcb_power_of_two_up(s->n), DEFAULT_TILE),
						  tcb_power_of_two_up(s->k) };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGSL;
	out->knob[TCB_KNOB_VEC] = (int32_t)(2 * attention_wgsl_vec_least(problem));
	out->knob[TCB_KNOB_HEADS] = (int32_t)heads;
	out->knob[TCB_KNOB_WORKGROUP] = (int32_t)(tokens * heads / FOUR * DEFAULT_TEAM);
	out->knob[TCB_KNOB_TREE] = TCB_TREE_SUBGROUP;
	if (tcb_wgsl_rule_tree(problem, target, out))
		out->knob[TCB_KNOB_TREE] = TCB_TREE_SHARED;
}

const struct tcb_side_space attention_prefill_wgsl_space = { rules, axes, default_geometry, footprint };
