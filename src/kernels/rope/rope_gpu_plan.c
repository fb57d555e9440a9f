/* SPDX-License-Identifier: MIT
 *
 * A geometry of rope_append for a GPU in numbers, what the constraints judge, the rules
 * (V4) that it keeps, the axes of its space and its default.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/axes.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/rope/rope_gpu.h"

enum {
	UNROLL_MAX = 8,
	VALUES_MAX = 64,
	DEFAULT_WARPS = 4,
	THREADS_WANTED = 256 /* of each multiprocessor: with fewer, each has less to do */
};

void rope_gpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct rope_gpu *out)
{
	const struct tcb_shape *s = &problem->shape;
	struct rope_gpu *g = out;
	memset(g, 0, sizeof(*g));
	g->io = rope_io_type(problem);
	g->q = rope_q_type(problem);
	g->kind[0] = tcb_kv_row(rope_kv(problem))->k;
	g->kind[1] = tcb_kv_row(rope_kv(problem))->v;
	g->k = (unsigned)s->k;
	g->query = s->words.query;
	g->kv_heads = s->words.kv;
	g->page = s->words.page;
	const size_t heads[3] = { rope_first_heads(s), s->words.kv, s->words.kv };
	for (unsigned i = 0; i < 3; i++)
		g->x_gap[i] = (unsigned)(rope_new_apart(problem, heads[i]) - heads[i] * s->k);
	g->q_gap = (unsigned)(rope_q_apart(problem) - s->words.query * s->k);
	g->is_pairs = s->words.pairs;
	g->rotated = (unsigned)rope_rotated(s);
	g->has_norm = s->words.qknorm != 0;
	g->has_mrope = s->words.mrope != 0;
	g->is_apart = s->words.apart != 0;
	g->eps = (float)tcb_words_power(s->words.qknorm);
	g->m = (unsigned)s->m;
	g->sequences = s->words.sequences;
	g->tokens = (unsigned)rope_tokens(s);
	g->pages = (unsigned)tcb_kv_pages(s);
	g->cache = g->page ? g->pages : (unsigned)s->n;
	g->width = KNOB(VEC) / 2;
	g->chunks = g->k / 2 / g->width;
	g->unroll = KNOB(UNROLL);
	g->warps = KNOB(WARPS);
	g->threads = g->warps * WARP;
	g->parts = KNOB(PARTS);
	g->pdl = KNOB(PDL) != 0;
	g->is_early = KNOB(PDL) == TCB_PDL_EARLY;
	g->stream = KNOB(STREAM) == 1;
	if (g->parts == ROPE_PARTS)
		g->workspace_bytes = (size_t)g->tokens * g->kv_heads * g->k * sizeof(float);
}

unsigned rope_gpu_launches(const struct rope_gpu *g, struct rope_launch out[ROPE_LAUNCHES_MAX])
{
	const unsigned q = g->query, kv = g->kv_heads;
	const int is_even = g->kind[0] == g->kind[1];
	if (g->parts == ROPE_WHOLE && !(is_even && g->q == tcb_kv_kind_row(g->kind[0])->type)) {
		out[0] = (struct rope_launch){ "rope_append", 0, q, q, ROPE_FROM_QKV, ROPE_TO_OUTPUTS, 0 };
		out[1] = (struct rope_launch){ "rope_append",   q, is_even ? 2 * kv : kv, kv, ROPE_FROM_QKV,
					       ROPE_TO_OUTPUTS, 1 };
		out[2] = (struct rope_launch){ "rope_append", q + kv, kv, 0, ROPE_FROM_QKV, ROPE_TO_OUTPUTS, 1 };
		return is_even ? 2 : ROPE_TOGETHER_MAX;
	}
	if (g->parts == ROPE_WHOLE) {
		out[0] = (struct rope_launch){ "rope_append", 0, q + 2 * kv, q + kv, ROPE_FROM_QKV, ROPE_TO_OUTPUTS };
		return 1;
	}
	out[0] = (struct rope_launch){ "rope_q", 0, q, q, ROPE_FROM_QKV, ROPE_TO_OUTPUTS };
	out[1] = (struct rope_launch){ "rope_k", q, kv, kv, ROPE_FROM_QKV, ROPE_WORKSPACE };
	out[2] = (struct rope_launch){ "append_k", q, kv, 0, ROPE_WORKSPACE, ROPE_TO_OUTPUTS };
	out[3] = (struct rope_launch){ "append_v", q + kv, kv, 0, ROPE_FROM_QKV, ROPE_TO_OUTPUTS };
	return ROPE_PARTS;
}

int rope_gpu_has_split_block(const struct rope_gpu *g)
{
	const int has_blocks = tcb_kv_kind_format(g->kind[0]) || tcb_kv_kind_format(g->kind[1]);
	return has_blocks && !g->is_pairs && g->k / 2 % ROPE_BLOCK != 0;
}

unsigned rope_gpu_lanes(const struct rope_gpu *g, const struct rope_launch *launch)
{
	return rope_gpu_norms(g, launch) || (rope_gpu_has_blocks(g, launch) && rope_gpu_has_split_block(g))
		       ? (unsigned)tcb_power_of_two_up(g->chunks)
		       : g->chunks;
}

/* In 64 bits, for the constraints. */
static size_t blocks_of(const struct rope_gpu *g, const struct rope_launch *launch)
{
	const size_t items = (size_t)g->tokens * tcb_div_up(launch->heads, g->unroll) * rope_gpu_lanes(g, launch);
	return tcb_div_up(items, g->threads);
}

unsigned rope_gpu_blocks(const struct rope_gpu *g, const struct rope_launch *launch)
{
	return (unsigned)blocks_of(g, launch);
}

static void footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct rope_gpu g;
	struct rope_launch launches[ROPE_LAUNCHES_MAX];
	(void)target;
	memset(out, 0, sizeof(*out));
	rope_gpu_plan(problem, geometry, &g);
	const unsigned count = rope_gpu_launches(&g, launches);
	out->element_bytes = 2;
	out->alignment_bytes = out->vector_bytes = 2 * g.width;
	out->base_bytes = 256;
	out->leading_bytes = (size_t)g.k * 2;
	out->tile_offset_bytes = g.k; /* half a head */
	out->block_threads = g.threads;
	out->thread_registers = 2 * g.width * (g.unroll + 1) + 4 * g.unroll + (rope_has_blocks(problem) ? 48 : 36) +
				(g.has_norm ? 2 * g.width + 8 : 0) + (g.has_mrope ? g.width + 8 : 0);
	out->blocks_together = 1;
	out->grid[0] = blocks_of(&g, &launches[0]);
	for (unsigned i = 1; i < count && launches[i].is_behind; i++)
		out->grid[0] += blocks_of(&g, &launches[i]);
	out->grid[1] = out->grid[2] = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 4 * geometry->tile[level].m * geometry->tile[level].k;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(WARPS) | KNOB_BIT(VEC) | KNOB_BIT(UNROLL) | KNOB_BIT(STREAM) |
			     KNOB_BIT(PDL) | KNOB_BIT(PARTS);
	return tcb_gpu_sets_knobs(geometry, set, 0)
		       ? NULL
		       : "a GPU's geometry sets isa, unroll, warps, vec, stream, pdl and parts, and no other knob";
}

RULE(rule_isa)
{
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_FMA)
		return "isa must be fma on a GPU";
	if (tcb_kv_row(rope_kv(problem))->type == TCB_TYPE_BF16 && target->cuda.capability < 80)
		return "a bf16 cache needs sm_80";
	return tcb_gpu_rule_isa(problem, target, geometry);
}

/* Blocks and a thread's parts of them are halves of a head, or of its parts. */
RULE(rule_words)
{
	const struct tcb_shape *s = &problem->shape;
	const int is_split = rope_has_blocks(problem) && s->words.rotated && !s->words.pairs;
	(void)target, (void)geometry;
	return is_split && (s->words.rotated % (2 * ROPE_BLOCK) || s->k % (2 * ROPE_BLOCK))
		       ? "with a cache of blocks, the rotated part and the rest of a head must be multiples of 64"
		       : NULL;
}

RULE(rule_vec)
{
	const struct tcb_shape *s = &problem->shape;
	const unsigned vec = KNOB(VEC);
	const size_t values = vec / 2;
	if (vec != 4 && vec != 8 && vec != 16)
		return "vec must be 4, 8 or 16";
	if (s->k / 2 % values || rope_rotated(s) / 2 % values)
		return "vec / 2 values must divide half a head, and half its rotated part";
	const int has_blocks = rope_has_blocks(problem);
	const int is_split = has_blocks && s->k / 2 % ROPE_BLOCK != 0 && !s->words.pairs;
	return (is_split || s->words.qknorm) && tcb_power_of_two_up(s->k / vec) > WARP
		       ? "vec must be larger: a head with a norm, or with a block of both halves, is one warp's"
		       : NULL;
}

RULE(rule_warps)
{
	return !tcb_is_power_of_two(KNOB(WARPS)) || KNOB(WARPS) > WARPS_MAX ? "warps must be a power of two up to 32"
									    : NULL;
}

/* Of a launch that has fewer, the others would be nobody's. */
RULE(rule_unroll)
{
	const struct tcb_words *words = &problem->shape.words;
	const size_t of_both = tcb_kv_is_even(rope_kv(problem)) ? 2 : 1;
	const size_t of_cache = rope_is_of_halves(problem) ? words->query : of_both * words->kv;
	const size_t least = KNOB(PARTS) == ROPE_PARTS ? words->kv : tcb_least(words->query, of_cache);
	const unsigned unroll = KNOB(UNROLL);
	if (unroll < 1 || unroll > UNROLL_MAX || unroll * KNOB(VEC) > VALUES_MAX)
		return "unroll must be 1 to 8, and unroll times vec at most 64: registers";
	return unroll > tcb_most(least, 1) ? "unroll is more heads than a token has" : NULL;
}

RULE(rule_switches)
{
	if (KNOB(STREAM) > 1)
		return "stream must be 0 or 1";
	if (KNOB(PARTS) != ROPE_WHOLE && KNOB(PARTS) != ROPE_PARTS)
		return "parts must be 1 or 4";
	if (KNOB(PDL) != TCB_PDL_EARLY)
		return tcb_gpu_rule_pdl(problem, target, geometry);
	return target->cuda.capability < 90 || KNOB(PARTS) != ROPE_WHOLE || problem->shape.words.mrope
		       ? "pdl=4 needs sm_90, parts=1, and no mrope"
		       : NULL;
}

/* Numbers of threads are counted in 32 bits. */
RULE(rule_size)
{
	const struct tcb_shape *s = &problem->shape;
	/* With a norm, and with blocks of both halves of a head, lanes are left over. */
	const size_t k = rope_has_blocks(problem) || s->words.qknorm ? tcb_power_of_two_up(s->k) : s->k;
	const size_t items =
		(tcb_div_up(rope_row_heads(s), tcb_most(KNOB(UNROLL), 1)) + 1) * k / tcb_most(KNOB(VEC), 1);
	return rope_tokens(s) > (INT32_MAX - 1024) / tcb_most(items, 1) ? "more than 2^31 threads" : NULL;
}

const char *rope_rule_gpu_tiles(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	(void)target;
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const size_t k = tcb_power_of_two_up(problem->shape.k);
	if (micro->k * 2 != KNOB(VEC) || micro->m != 1 || micro->n != 1)
		return "micro must be 1 x 1 x vec / 2";
	if (midi->m != 1 || midi->n != 1 || midi->k != k || macro->n != 1 || macro->k != k)
		return "midi must be 1 x 1 x the head size rounded up to a power of two, and so macro's n and k";
	return macro->m != tcb_power_of_two_up(problem->shape.m)
		       ? "macro.m must be the problem's, rounded up to a power of two"
		       : NULL;
}

RULE(policy_parts)
{
	return KNOB(PARTS) == ROPE_PARTS ? "parts=4 is there to compare with" : NULL;
}

#define READS_UNROLL (TCB_FIELD_KNOB(UNROLL) | TCB_FIELD_KNOB(VEC) | TCB_FIELD_KNOB(PARTS))

static const struct tcb_rule rules[] = {
	{ 0, 0, rule_knobs },
	{ TCB_FIELD_KNOB(ISA), 0, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), 0, rule_isa },
	{ TCB_FIELD_KNOB(ISA), 0, rule_words },
	{ TCB_FIELD_KNOB(VEC), 0, rule_vec },
	{ TCB_FIELD_KNOB(WARPS), 0, rule_warps },
	{ TCB_FIELD_KNOB(STREAM) | TCB_FIELD_KNOB(PARTS) | TCB_FIELD_KNOB(PDL), 0, rule_switches },
	{ READS_UNROLL, 0, rule_unroll },
	{ READS_UNROLL, 0, rule_size },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(VEC), TCB_RULE_DOUBLE, rope_rule_gpu_tiles },
	{ TCB_FIELD_KNOB(PARTS), TCB_RULE_POLICY, policy_parts },
	{ 0, 0, NULL },
};

/* --- the space --- */

static size_t axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const size_t k = tcb_power_of_two_up(problem->shape.k);
	size_t count = 0;
	struct tcb_axis *a;
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_ISA), TCB_ISA_FMA);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_VEC), 4, 8, 16);
	ADD(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, TCB_MICRO), 2, 4, 8);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_PARTS), ROPE_WHOLE, ROPE_PARTS);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_UNROLL), 1, 2, 3, 4, 6, 8);
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_WARPS), 1, 2, 4, 8, 16, 32);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		if (level != TCB_MICRO)
			tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_K, (enum tcb_level)level), k);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_N, (enum tcb_level)level), 1);
		tcb_axis_add(tcb_axis_tile(out, &count, TCB_AXIS_TILE_M, (enum tcb_level)level),
			     level == TCB_MACRO ? tcb_power_of_two_up(problem->shape.m) : 1);
	}
	ADD(tcb_axis_knob(out, &count, TCB_KNOB_STREAM), 0, 1);
	a = tcb_axis_knob(out, &count, TCB_KNOB_PDL);
	tcb_axis_add(a, 0);
	if (target->cuda.capability >= 90)
		tcb_axis_add(a, 1);
	return count;
}

/* The widest stores, a head in each thread; narrower ones, down to the least that a head's warp has lanes for, where
 * the GPU had few threads, and as small blocks as give each multiprocessor one. */
static void default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_shape *s = &problem->shape;
	const size_t k = tcb_power_of_two_up(s->k);
	const size_t sms = tcb_most(target->cuda.sm_count, 1), halves = rope_tokens(s) * rope_row_heads(s) * (s->k / 2);
	const int is_one_warp =
		s->words.qknorm || (rope_has_blocks(problem) && s->k / 2 % ROPE_BLOCK != 0 && !s->words.pairs);
	size_t values = s->k / 2 % 8 || rope_rotated(s) / 2 % 8 ? 4 : 8, warps = DEFAULT_WARPS;
	while (values > 2 && halves / values < sms * THREADS_WANTED &&
	       (!is_one_warp || tcb_power_of_two_up(s->k / values) <= WARP))
		values /= 2;
	while (warps > 1 && halves / values < sms * warps * WARP)
		warps /= 2;
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ tcb_power_of_two_up(s->m), 1, k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ 1, 1, k };
	out->tile[TCB_MICRO] = (struct tcb_tile){ 1, 1, values };
	out->knob[TCB_KNOB_ISA] = TCB_ISA_FMA;
	out->knob[TCB_KNOB_UNROLL] = 1;
	out->knob[TCB_KNOB_WARPS] = (int32_t)warps;
	out->knob[TCB_KNOB_VEC] = (int32_t)(2 * values);
	out->knob[TCB_KNOB_STREAM] = 0;
	out->knob[TCB_KNOB_PDL] = target->cuda.capability >= 90;
	out->knob[TCB_KNOB_PARTS] = ROPE_WHOLE;
}

const struct tcb_side_space rope_gpu_space = { rules, axes, default_geometry, footprint };
