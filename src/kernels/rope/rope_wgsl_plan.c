/* SPDX-License-Identifier: MIT
 *
 * A geometry of rope_append for WebGPU in numbers; the rules (V4) that it keeps;
 * the axes of the space and the default geometry.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/rope/rope_gpu.h"
#include "kernels/rope/rope_wgsl.h"
#include "kernels/wgsl/wgsl_rules.h"

enum { GRID_MOST = 65535, DEFAULT_WORKGROUP = 128 };

static void launch(size_t items, unsigned workgroup, struct rope_wgsl_launch *out)
{
	const size_t groups = tcb_div_up(items, workgroup);

	out->items = items;
	out->grid[0] = (uint32_t)tcb_least(groups, GRID_MOST);
	out->grid[1] = (uint32_t)tcb_least(tcb_div_up(groups, GRID_MOST), UINT32_MAX);
	out->grid[2] = 1;
}

void rope_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct rope_wgsl *out)
{
	const struct tcb_shape *s = &problem->shape;
	struct rope_wgsl *g = out;

	memset(g, 0, sizeof *g);
	g->io = rope_io_type(problem);
	g->q = rope_q_type(problem);
	g->kv = tcb_kv_row(rope_kv(problem))->type;
	g->has_pages = s->words.page != 0;
	g->is_pairs = s->words.pairs;
	g->k = (unsigned)s->k;
	g->width = (unsigned)tcb_most(tcb_least(KNOB(VEC) / 2, ROPE_WGSL_WIDTH_MAX), ROPE_WGSL_FOUR);
	g->chunks = g->k / 2 / g->width;
	g->unroll = KNOB_COUNT(UNROLL);
	g->workgroup = KNOB_COUNT(WORKGROUP);
	g->m = (unsigned)s->m;
	g->tokens = (unsigned)rope_tokens(s);
	g->query = s->words.query;
	g->kv_heads = s->words.kv;
	const size_t heads = g->kv == TCB_TYPE_BLOCKS ? g->query : rope_row_heads(s);
	launch(g->tokens * tcb_div_up(heads, g->unroll) * g->chunks, g->workgroup, &g->heads);
	if (g->kv == TCB_TYPE_BLOCKS)
		launch((size_t)g->tokens * 2 * g->kv_heads * (g->k / ROPE_BLOCK), g->workgroup, &g->blocks);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct rope_wgsl g;
	(void)target;

	memset(out, 0, sizeof *out);
	rope_wgsl_plan(problem, geometry, &g);
	out->element_bytes = 2;
	out->alignment_bytes = out->vector_bytes = 2 * g.width;
	out->base_bytes = 256;
	out->leading_bytes = (size_t)g.k * 2;
	out->tile_offset_bytes = g.k; /* half a head */
	out->block_threads = g.workgroup;
	for (int i = 0; i < 3; i++)
		out->grid[i] = tcb_most(g.heads.grid[i], g.blocks.grid[i]);
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 4 * geometry->tile[level].m * geometry->tile[level].k;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(VEC) | KNOB_BIT(UNROLL) | KNOB_BIT(WORKGROUP);

	if (!tcb_wgsl_sets_knobs(geometry, set, 0))
		return "a WebGPU geometry sets isa, unroll, vec and workgroup, and no other knob";
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_WGSL)
		return "isa must be wgsl";
	return KNOB(VEC) == 8 || KNOB(VEC) == 16 ? NULL : "vec must be 8 or 16";
}

RULE(rule_words)
{
	const struct tcb_words *words = &problem->shape.words;
	(void)target, (void)geometry;

	if (words->rotated || words->qknorm || words->mrope || words->apart)
		return "WebGPU's kernels of rope_append have none of rot, qknorm, mrope and apart";
	if (problem->x_stride || problem->y_stride)
		return "there is no kernel for rows that do not follow each other";
	return problem->shape.k % ROPE_WGSL_HEAD_UNIT || problem->shape.k > ROPE_WGSL_HEAD_MAX
		       ? "WebGPU's kernels of rope_append have heads of 32 to 256 values in steps of 32"
		       : NULL;
}

RULE(rule_unroll)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t heads = tcb_kv_has_blocks(rope_kv(problem)) ? s->words.query : rope_row_heads(s);

	if (!tcb_is_power_of_two(KNOB(UNROLL)) || KNOB(UNROLL) > ROPE_WGSL_UNROLL_MAX)
		return "unroll must be 1, 2 or 4";
	return KNOB(UNROLL) > heads ? "unroll is more heads than a token has" : NULL;
}

/* Invocations are counted in 32 bits. */
RULE(rule_size)
{
	struct rope_wgsl g;

	rope_wgsl_plan(problem, geometry, &g);
	return tcb_most(g.heads.items, g.blocks.items) > INT32_MAX ? "more than 2^31 invocations" : NULL;
}

static const struct tcb_rule rules[] = {
	{ TCB_FIELD_KNOB(ISA), TCB_RULE_KERNEL, rule_words },
	{ 0, TCB_RULE_KERNEL, rule_knobs },
	{ TCB_FIELD_KNOB(UNROLL), TCB_RULE_KERNEL, rule_unroll },
	{ TCB_FIELD_KNOB(WORKGROUP), TCB_RULE_KERNEL, tcb_wgsl_rule_workgroup },
	{ TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(UNROLL), TCB_RULE_KERNEL, rule_size },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(VEC), TCB_RULE_DOUBLE, rope_rule_gpu_tiles },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_size },
	{ 0, TCB_RULE_KERNEL, tcb_wgsl_rule_bindings },
	{ 0, 0, NULL },
};

/* --- space --- */

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t k = tcb_power_of_two_up(problem->shape.k);
	size_t count = 0;
	(void)target;

	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_WGSL);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 8, 16);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MICRO), 4, 8);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_UNROLL), 1, 2, 4);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WORKGROUP), 32, 64, 128, 256, 512);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		if (level != TCB_MICRO)
			tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), k);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, (enum tcb_level)level), 1);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level),
			     level == TCB_MACRO ? tcb_power_of_two_up(problem->shape.m) : 1);
	}
	return count;
}

/* The widest stores, a head in each invocation. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const size_t k = tcb_power_of_two_up(problem->shape.k);
	(void)target;

	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(problem->shape.m), 1, k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, 1, k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, ROPE_WGSL_WIDTH_MAX };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_WGSL;
	out->knob[TCB_KNOB_UNROLL] = 1;
	out->knob[TCB_KNOB_VEC] = 2 * ROPE_WGSL_WIDTH_MAX;
	out->knob[TCB_KNOB_WORKGROUP] = DEFAULT_WORKGROUP;
}

const struct tcb_side_space rope_wgsl_space = { rules, axes, default_geometry, footprint };
