/* SPDX-License-Identifier: MIT
 *
 * A geometry of attention_decode for a GPU in numbers, what the constraints judge,
 * and the rules (V4) that it keeps.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/attention/attention_gpu_wgmma.h"
#include "kernels/gpu/gpu_rules.h"

enum {
	SPLITS_MAX = 256,
	PIECES_MAX = 8,
	COLUMNS_MAX = 4,
	MERGE_WARPS_MAX = 16,
	STAGES_MAX = 8,
	BARRIER = 8,
	UNIT_MOST = 16,
	LEAD_MAX = 8,
	TOGETHER_MOST = 4, /* blocks on a multiprocessor, of which no more are kept away */
	DEALT_REGISTERS = 16,
	LAST_MERGE_REGISTERS = 48
};

/* Warps that have a piece together: at least 1, for divisors. */
static unsigned row_warps(const struct tcb_geometry *geometry)
{
	const size_t own = tcb_most(geometry->tile[TCB_MICRO].m, 1);
	return (unsigned)tcb_most(geometry->tile[TCB_MIDI].m / own, 1);
}

/* Warps that share a row's values of V: at least 1. */
static unsigned value_warps(const struct tcb_geometry *geometry)
{
	const size_t own = tcb_most(geometry->tile[TCB_MICRO].k, 1);
	return (unsigned)tcb_most(geometry->tile[TCB_MIDI].k / own, 1);
}

static unsigned team(const struct tcb_geometry *geometry)
{
	return row_warps(geometry) * value_warps(geometry);
}

/* The smallest number from BYTES on that is REST modulo MODULUS. */
static unsigned pitch(unsigned bytes, unsigned rest, unsigned modulus)
{
	return bytes + (rest + modulus - bytes % modulus) % modulus;
}

/* How far heads of K, or of V (V), are apart. */
static unsigned head_bytes(const struct tcb_problem *problem, unsigned v)
{
	const struct tcb_shape *s = &problem->shape;
	return (unsigned)(v ? tcb_kv_kind_bytes(attention_v_kind(problem), attention_v_apart(s))
			    : tcb_kv_kind_bytes(attention_k_kind(problem), s->k));
}

/* A slot of the ring: what a row is copied by, and where rows are (attention_gpu_read.c on banks). */
static void plan_slot(struct attention_gpu *g, unsigned vec)
{
	const unsigned each[2] = { g->head_bytes[0] & -g->head_bytes[0], g->head_bytes[1] & -g->head_bytes[1] };
	/* Rows that begin anywhere in 16 bytes are copied from there on where they begin, if all tokens' do so alike.
	 */
	g->is_within = vec == UNIT_MOST && tcb_least(each[0], each[1]) < UNIT_MOST;
	for (unsigned v = 0; v < 2; v++) {
		const unsigned aligned = (unsigned)tcb_least(each[v], UNIT_MOST);
		const unsigned blocks = v ? g->v_blocks : g->k_blocks;
		g->is_odd[v] = aligned < 4;
		g->unit[v] = g->is_within ? UNIT_MOST : (unsigned)tcb_most(aligned, 4);
		g->units[v] =
			(unsigned)tcb_div_up(g->row_bytes[v] + (g->is_within ? UNIT_MOST - aligned : 0), g->unit[v]);
		g->copies[v] = (unsigned)tcb_div_up((size_t)g->kv * g->units[v], g->team * WARP);
		const unsigned bytes = (unsigned)tcb_most(g->units[v] * g->unit[v], blocks * g->block_bytes[v]);
		g->pitch[v] = g->is_blocks[v] || v ? pitch(bytes, 16, 32)
			      : g->is_short[v]     ? pitch(bytes, 32, 64)
						   : pitch(bytes, 64, 128);
	}
	g->is_kept = g->copy == TCB_COPY_ASYNC && g->k <= 128 && !g->v_own &&
		     g->copies[0] <= ATTENTION_UNITS_MAX; /* else there are too few registers */
	const unsigned align = g->copy == TCB_COPY_BULK ? ATTENTION_BULK_ALIGN : 4;
	const unsigned k_bytes = (unsigned)tcb_round_up((size_t)g->kv * g->pitch[0], align);
	const unsigned shifts = g->is_within ? 0 : 4 * (unsigned)tcb_round_up(g->kv, 4);
	if (g->is_view)
		g->pitch[1] = g->pitch[0];
	else
		g->v_at = k_bytes;
	g->shifts_at[0] = g->v_at + (unsigned)tcb_round_up((size_t)g->kv * g->pitch[1], align);
	g->shifts_at[1] = g->shifts_at[0] + (g->is_odd[0] && g->v_own ? shifts : 0);
	g->slot_bytes = g->shifts_at[1] + (g->is_odd[g->v_own] ? shifts : 0);
}

/* A slot of boxes: K's, then V's. */
static void plan_boxes(struct attention_gpu *g, unsigned vec)
{
	(void)vec;
	for (unsigned v = 0; v < 2; v++) {
		g->pitch[v] = ATTENTION_BOX_BYTES;
		g->boxes[v] = (unsigned)tcb_div_up(v ? g->v : g->k, ATTENTION_BOX);
	}
	g->v_at = g->is_view ? 0 : g->boxes[0] * g->kv * ATTENTION_BOX_BYTES;
	g->slot_bytes = g->v_at + g->boxes[g->is_view ? 0 : 1] * g->kv * ATTENTION_BOX_BYTES;
}

static void plan_memory(struct attention_gpu *g, unsigned vec)
{
	const unsigned o_bytes = g->rows * g->v_wide * 4, ml_bytes = g->rows * 8;
	g->o_at = 0;
	g->block_o_at = g->turns * o_bytes;
	g->ml_at = g->block_o_at + (g->cluster > 1 ? o_bytes : 0);
	g->block_ml_at = g->ml_at + g->turns * ml_bytes;
	g->flag_at = g->block_ml_at + (g->cluster > 1 ? ml_bytes : 0);
	g->q_at = (unsigned)tcb_round_up(g->flag_at + 16, 16);
	g->q_block = g->k <= ATTENTION_Q_LONG && g->v <= ATTENTION_Q_LONG ? 0 : WARP * (g->is_coded ? 8 : 16);
	const unsigned q_bytes = g->row_warps * g->columns * g->q_terms * g->k_blocks * g->q_block;
	g->ring_at = (unsigned)tcb_round_up(g->q_at + q_bytes, g->is_boxed                ? ATTENTION_BOX_ALIGN
							       : g->copy == TCB_COPY_BULK ? ATTENTION_BULK_ALIGN
											  : 16);
	g->shared_bytes = g->ring_at;
	if (g->copy != TCB_COPY_LDG) {
		(g->is_boxed ? plan_boxes : plan_slot)(g, vec);
		g->shared_bytes += g->turns * g->stages * g->slot_bytes;
	}
	g->barrier_at = g->shared_bytes;
	if (g->copy == TCB_COPY_BULK)
		g->shared_bytes += g->turns * g->stages * BARRIER;
	g->workspace_bytes = 0;
	if (g->has_parts) {
		const size_t items = (size_t)g->sequences * g->tiles;
		const size_t parts = g->is_dealt ? g->grid[0] + items : items * g->slots;
		g->parts_ml_at = tcb_round_up(parts * o_bytes, 256);
		g->counters_at = g->parts_ml_at + tcb_round_up(parts * ml_bytes, 256);
		g->workspace_bytes = g->counters_at + items * 4;
	}
}

/* Under dependent launch blocks begin where those of the launch before end: a multiprocessor that is free sooner would
 * take more of them than its share, if they had room. */
static void keep_apart(struct attention_gpu *g, const struct tcb_target *target, unsigned sms)
{
	const size_t together = tcb_div_up((size_t)g->grid[0] * g->grid[1] * g->grid[2], sms);
	const size_t all = tcb_shared_limit(target) + ATTENTION_BLOCK_SHARED;
	g->used_bytes = g->shared_bytes;
	if (g->pdl && together <= TOGETHER_MOST && !(g->is_early && g->occ > 1))
		g->shared_bytes = (unsigned)tcb_most(g->shared_bytes,
						     tcb_round_up(all / (together + 1) + 1, ATTENTION_BULK_ALIGN) -
							     ATTENTION_BLOCK_SHARED);
}

/* is_dealt: no more blocks than there are pieces. */
static void plan_grid(struct attention_gpu *g, unsigned resident, unsigned sms)
{
	const size_t pieces = (size_t)g->sequences * g->tiles * tcb_div_up(g->n, g->kv);
	g->has_parts = g->is_dealt || g->slots > 1;
	g->grid[0] = g->is_dealt ? (unsigned)tcb_least(pieces, (size_t)resident * sms) : g->splitk;
	g->grid[1] = g->is_dealt ? 1 : g->tiles;
	g->grid[2] = g->is_dealt ? 1 : g->sequences;
}

void attention_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
			const struct tcb_geometry *geometry, struct attention_gpu *out)
{
	struct attention_gpu *g = out;
	const struct tcb_shape *s = &problem->shape;
	memset(g, 0, sizeof(*g));
	g->cache = attention_of(problem)->kv;
	g->io = attention_io_type(problem);
	g->kind[0] = attention_k_kind(problem);
	g->kind[1] = attention_v_kind(problem);
	for (unsigned v = 0; v < 2; v++) {
		g->is_blocks[v] = tcb_kv_kind_format(g->kind[v]) != NULL;
		g->is_short[v] = tcb_kv_kind_is_short(g->kind[v]);
		g->block_bytes[v] = (unsigned)tcb_kv_kind_bytes(g->kind[v], ATTENTION_K_BLOCK);
	}
	g->is_bf16 = g->kind[0] == TCB_KV_KIND_BF16;
	g->is_wide = g->io == TCB_TYPE_F32;
	g->is_coded = g->is_blocks[0] && KNOB(GROUP) > 0;
	g->q_terms = g->io != TCB_TYPE_F32 ? 1 : g->is_bf16 ? 3 : 2;
	g->q_terms += g->is_coded;
	g->weight_terms = g->io == TCB_TYPE_F32 ? 2 : 1;
	g->capability = target->cuda.capability;
	g->m = (unsigned)s->m;
	g->n = (unsigned)s->n;
	g->k = (unsigned)s->k;
	g->v = (unsigned)attention_v(s);
	g->copy = (enum tcb_copy)KNOB(COPY);
	g->is_boxed = g->copy == TCB_COPY_BULK && !g->is_short[0] && !g->is_short[1];
	g->k_blocks = (unsigned)(g->is_boxed ? ATTENTION_BOX / ATTENTION_K_BLOCK * tcb_div_up(g->k, ATTENTION_BOX)
					     : tcb_div_up(g->k, ATTENTION_K_BLOCK));
	g->v_blocks = (unsigned)tcb_div_up(g->v, ATTENTION_K_BLOCK);
	g->k_rest = g->k % ATTENTION_K_BLOCK;
	g->v_rest = g->v % ATTENTION_K_BLOCK;
	g->q_gap = attention_q_gap(problem);
	g->out_gap = attention_out_gap(problem);
	g->group = (unsigned)attention_group(s);
	g->kv_heads = s->words.kv;
	g->sequences = s->words.sequences;
	g->page = s->words.page;
	g->pages = (unsigned)tcb_kv_pages(s);
	g->window = s->words.window;
	g->cap = s->words.cap;
	g->causal = s->words.causal;
	g->words = &s->words;
	g->has_sinks = attention_has(&s->words, ATTENTION_SINKS);
	g->has_slopes = attention_has(&s->words, ATTENTION_SLOPES);
	g->has_prefix = attention_has(&s->words, ATTENTION_PREFIX);
	g->is_view = s->words.view != 0;
	g->tokens = (unsigned)geometry->tile[TCB_MIDI].m;
	g->has_own_limits = g->tokens > 1 && (g->causal || g->window);
	g->heads = KNOB_COUNT(HEADS);
	g->rows = g->tokens * g->heads;
	g->own_rows = (unsigned)geometry->tile[TCB_MICRO].m * g->heads;
	g->columns = (unsigned)tcb_div_up(g->own_rows, ATTENTION_COLUMNS);
	g->kv = (unsigned)geometry->tile[TCB_MICRO].n;
	g->subs = (unsigned)tcb_most(g->kv / (2 * ATTENTION_PIECE), 1);
	g->halves = g->kv > ATTENTION_PIECE ? 2 : 1;
	g->warps = KNOB_COUNT(WARPS);
	g->threads = g->warps * WARP;
	g->row_warps = row_warps(geometry);
	g->value_warps = value_warps(geometry);
	g->team = g->row_warps * g->value_warps;
	g->turns = (unsigned)tcb_most(g->warps / g->team, 1);
	g->v_part = (unsigned)attention_gpu_part(problem, g->value_warps);
	g->v_wide = g->v_part * g->value_warps;
	g->splitk = KNOB_COUNT(SPLITK);
	g->cluster = KNOB_COUNT(CLUSTER);
	g->slots = g->splitk / g->cluster;
	g->is_dealt = geometry->knob[TCB_KNOB_SCHED] == TCB_SCHED_STREAMK;
	g->occ = KNOB_COUNT(OCC);
	g->pdl = KNOB(PDL) != 0;
	g->is_early = KNOB(PDL) == TCB_PDL_EARLY;
	g->join = (enum tcb_join)KNOB(JOIN);
	g->token_tiles = (unsigned)tcb_div_up(g->m, g->tokens);
	g->head_tiles = (unsigned)tcb_div_up(g->group, g->heads);
	g->tiles = g->kv_heads * g->head_tiles * g->token_tiles;
	g->v_words = g->v % 64 || g->v_part % 64 || g->is_short[1] ? 2 : 4;
	g->v_own = !g->is_view && (g->v != g->k || g->kind[0] != g->kind[1]);
	for (unsigned v = 0; v < 2; v++) {
		g->row_bytes[v] = (unsigned)tcb_kv_kind_bytes(g->kind[v], v ? g->v : g->k);
		g->head_bytes[v] = head_bytes(problem, v);
		g->token_bytes[v] = g->kv_heads * g->head_bytes[v];
	}
	g->stages = KNOB_COUNT(STAGES);
	g->lead = KNOB(LEAD);
	const unsigned sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	plan_grid(g, KNOB(BLOCKS), sms);
	plan_memory(g, KNOB_COUNT(VEC));
	keep_apart(g, target, sms);
}

/* Sums of both products, q, what is loaded of K and V, and what else there is; as ptxas took at most. */
static unsigned registers(const struct attention_gpu *g)
{
	const unsigned k = g->k_blocks * ATTENTION_K_BLOCK, words = g->has_slopes ? 2 * g->columns : 0;
	const unsigned in_registers = g->q_block ? ATTENTION_K_BLOCK : k;
	const unsigned q = g->columns * g->q_terms * in_registers / (g->is_coded ? 16 : 8);
	const unsigned sums = (g->columns + 1) / 2 * g->kv / 2 + g->columns * (g->v_part / 4 + 4) + words;
	/* Of long heads places of more copies than a loop has registers for. */
	const unsigned places = g->q_block && g->copy == TCB_COPY_ASYNC ? (unsigned)tcb_most(g->copies[0], 16) : 16;
	const unsigned loaded = g->copy == TCB_COPY_LDG ? g->kv * (k + g->v_wide) / 64 : places;
	const unsigned coded = g->is_coded ? 8 + (g->is_wide ? 8 + g->kv * g->k / 256 : 0) : 0;
	const unsigned dealt = g->is_dealt ? DEALT_REGISTERS : 0;
	/* The last block's merge, beside two ways to take codes apart, or of long rows. */
	const unsigned merge =
		g->join == TCB_JOIN_LAST && (g->kind[0] != g->kind[1] || g->q_block) ? LAST_MERGE_REGISTERS : 0;
	return q + sums + loaded + coded + dealt + merge + (g->is_wide ? 16 : 0) + (g->is_kept ? 2 * g->copies[0] : 0) +
	       46;
}

void attention_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct attention_gpu g;
	if (attention_is_wgmma(geometry)) {
		attention_wgmma_footprint(problem, target, geometry, out);
		return;
	}
	memset(out, 0, sizeof(*out));
	attention_gpu_plan(problem, target, geometry, &g);
	out->element_bytes = g.is_short[0] || g.is_short[1] ? 1 : 2;
	out->alignment_bytes = out->vector_bytes =
		tcb_least(g.head_bytes[0] & -g.head_bytes[0], tcb_least(g.head_bytes[1] & -g.head_bytes[1], 16));
	out->base_bytes = 256;
	out->leading_bytes = g.token_bytes[0];
	out->tile_offset_bytes = g.row_bytes[0];
	out->shared_bytes = g.shared_bytes;
	out->shared_dynamic = 1;
	out->block_threads = g.threads;
	out->thread_registers = registers(&g);
	out->blocks_together = g.occ;
	out->accumulators = g.columns * g.v_part / 4;
	for (size_t i = 0; i < 3; i++)
		out->grid[i] = g.grid[i];
	out->barriers = 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->level_bytes[level] = 4 * geometry->tile[level].n * geometry->tile[level].k;
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(WARPS) | KNOB_BIT(SPLITK) | KNOB_BIT(JOIN) | KNOB_BIT(CLUSTER) |
			     KNOB_BIT(PDL) | KNOB_BIT(OCC) | KNOB_BIT(HEADS) | KNOB_BIT(COPY) | KNOB_BIT(STAGES) |
			     KNOB_BIT(VEC) | (attention_has_blocks(problem) ? KNOB_BIT(GROUP) : 0);
	const uint64_t free = KNOB_BIT(SCHED) | KNOB_BIT(BLOCKS) | KNOB_BIT(LEAD); /* rule_dealing, rule_lead */
	return tcb_gpu_sets_knobs(geometry, set, free)
		       ? NULL
		       : "a GPU's geometry sets isa, warps, vec, stages, splitk, copy, pdl, occ, join, cluster and "
			 "heads, with KV of blocks group, may set sched, blocks and lead, and sets no other knob";
}

RULE(rule_group)
{
	return KNOB(GROUP) && KNOB(GROUP) != ATTENTION_Q_GROUP
		       ? "group must be 0, or 256: q is bytes and a row's values share a scale"
		       : NULL;
}

RULE(rule_isa)
{
	if (geometry->knob[TCB_KNOB_ISA] != TCB_ISA_MMA && !attention_is_wgmma(geometry))
		return "isa must be mma or wgmma";
	if (target->cuda.capability < 80)
		return "attention on a GPU needs sm_80";
	return tcb_gpu_rule_isa(problem, target, geometry);
}

/* micro.k is less than a head: warps share a row's values. */
static const char *check_values(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const size_t k = geometry->tile[TCB_MIDI].k, own = geometry->tile[TCB_MICRO].k;
	const size_t warps = value_warps(geometry), before = (warps - 1) * attention_gpu_part(problem, warps);
	if (own != k && (!attention_gpu_is_long(&problem->shape) || (2 * own != k && 4 * own != k)))
		return "micro.k must be midi.k, or half or a quarter of it for heads of more than 256 values";
	return before >= attention_v(&problem->shape)
		       ? "midi.k / micro.k must be few enough that all have values of V, 32 or in blocks 64"
		       : NULL;
}

/* What the kernel has tiles for. */
RULE(rule_tiles)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const size_t k = tcb_power_of_two_up(problem->shape.k), rows = micro->m * KNOB(HEADS);
	if (attention_is_wgmma(geometry))
		return NULL; /* attention_rule_wgmma */
	if (midi->k != k || macro->k != k)
		return "tiles' k must be the head size, rounded up to a power of two";
	if (micro->k != k && check_values(problem, geometry))
		return check_values(problem, geometry);
	if (!tcb_is_power_of_two(micro->m) || !tcb_is_power_of_two(midi->m))
		return "micro.m and midi.m must be powers of two";
	if (KNOB(WARPS) % team(geometry) || midi->m > tcb_most(tcb_power_of_two_up(problem->shape.m), micro->m))
		return "midi.m must be micro.m for as many warps as divide the block's, and no more than the problem's";
	if (KNOB(HEADS) < 1 || KNOB(HEADS) > attention_group(&problem->shape))
		return "heads must be 1 to as many query heads as share a KV head";
	if (!rows || tcb_div_up(rows, ATTENTION_COLUMNS) > COLUMNS_MAX)
		return "micro.m times heads must be at most 32 query rows";
	if (micro->n % ATTENTION_PIECE || !tcb_is_power_of_two(micro->n) || micro->n / ATTENTION_PIECE > PIECES_MAX)
		return "micro.n must be 8, 16, 32 or 64 KV tokens";
	return NULL;
}

size_t attention_gpu_part(const struct tcb_problem *problem, size_t warps)
{
	const size_t v = attention_v(&problem->shape);
	/* A word of codes is not split by where a part of them begins. */
	const size_t unit = warps > 1 && tcb_kv_kind_format(attention_v_kind(problem)) ? 2 : 1;
	return tcb_round_up(tcb_div_up(v, warps), unit * ATTENTION_K_BLOCK);
}

/* Behind FP8 that is no whole blocks there are zeros in the ring, which a copy from below where a row begins would
 * bring something else to. */
int attention_gpu_copies(const struct tcb_problem *problem, unsigned vec)
{
	size_t all = UNIT_MOST;
	int is_anywhere = 1;
	for (unsigned v = 0; v < 2; v++) {
		const size_t head = head_bytes(problem, v), aligned = head & -head;
		const enum tcb_kv_kind kind = v ? attention_v_kind(problem) : attention_k_kind(problem);
		is_anywhere &= head * problem->shape.words.kv % UNIT_MOST == 0 &&
			       (aligned >= UNIT_MOST || tcb_kv_kind_format(kind));
		all = tcb_least(all, aligned);
	}
	return vec == UNIT_MOST ? all == UNIT_MOST || is_anywhere : vec == tcb_most(all, 4);
}

int attention_gpu_has_bulk(const struct tcb_problem *problem, const struct tcb_target *target)
{
	if (!attention_has_codes(problem))
		return target->cuda.capability >= 90 && !problem->shape.words.page;
	const size_t row = tcb_kv_bytes(attention_of(problem)->kv, problem->shape.k);
	const int are_blocks = attention_has_blocks(problem) && tcb_kv_is_even(attention_of(problem)->kv);
	/* Rows of an odd number of 16 bytes are in banks as they are wanted. */
	const size_t units = tcb_div_up(row + 16 - tcb_least(row & -row, 16), 16);
	return target->cuda.capability >= 90 && are_blocks && units % 2 &&
	       attention_v_apart(&problem->shape) == problem->shape.k && !problem->shape.words.page &&
	       row * problem->shape.words.kv % 16 == 0;
}

RULE(rule_copy)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const int32_t copy = geometry->knob[TCB_KNOB_COPY], stages = geometry->knob[TCB_KNOB_STAGES];
	if (attention_is_wgmma(geometry))
		return NULL; /* attention_rule_wgmma */
	if (copy != TCB_COPY_LDG && copy != TCB_COPY_ASYNC && copy != TCB_COPY_BULK)
		return "copy must be ldg, async or bulk";
	if (copy == TCB_COPY_LDG && attention_has_codes(problem))
		return "copy must be async, or of blocks bulk: K or V has values of less than 16 bits";
	if (copy == TCB_COPY_LDG ? stages != 1 : stages < 2 || stages > STAGES_MAX)
		return "stages must be 1 with copy=ldg, else 2 to 8";
	if (copy == TCB_COPY_BULK && !attention_gpu_has_bulk(problem, target))
		return "copy=bulk needs sm_90 and no pages, and K and V of 16 bits, or in blocks of one kind, heads of "
		       "32, 64, 128 or 256 values in both and tokens of a multiple of 16 bytes";
	if (copy == TCB_COPY_BULK && !attention_has_codes(problem) && value_warps(geometry) > 1 &&
	    attention_gpu_part(problem, value_warps(geometry)) % ATTENTION_BOX)
		return "with copy=bulk warps that share a row's values must have a multiple of 64 each";
	if (copy == TCB_COPY_BULK && KNOB(VEC) != 16)
		return "vec must be 16 with copy=bulk";
	if (!attention_gpu_copies(problem, KNOB(VEC)))
		return "vec must be what rows are aligned to, 4 to 16 bytes, or 16 where it divides a token's bytes";
	if (copy == TCB_COPY_LDG && team(geometry) > 1)
		return "midi.m and midi.k must be micro's with copy=ldg: warps have a piece together in shared memory";
	if (copy != TCB_COPY_LDG && micro->n > WARP)
		return "micro.n must be at most 32 but with copy=ldg: a lane looks up a token";
	return NULL;
}

/* One text for one kernel: they follow from the shape and other fields. */
RULE(rule_same)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	if (!attention_is_wgmma(geometry) &&
	    midi->n * midi->m * value_warps(geometry) != micro->n * micro->m * KNOB(WARPS))
		return "midi.n must be what a block takes at a time: micro.n for each warp, or for each midi.m / "
		       "micro.m by midi.k / micro.k";
	if (macro->m != tcb_most(midi->m, tcb_power_of_two_up(problem->shape.m)) ||
	    macro->n != tcb_most(midi->n, tcb_power_of_two_up(problem->shape.n)))
		return "macro.m and macro.n must be the problem's, rounded up to powers of two";
	return NULL;
}

static int is_dealt(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_SCHED] == TCB_SCHED_STREAMK;
}

/* Tiles of all sequences. */
static size_t tiles_of(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	const struct tcb_shape *s = &problem->shape;
	return (size_t)s->words.sequences * s->words.kv * tcb_div_up(attention_group(s), tcb_most(KNOB(HEADS), 1)) *
	       tcb_div_up(s->m, tcb_most(geometry->tile[TCB_MIDI].m, 1));
}

RULE(rule_dealing)
{
	const int32_t sched = geometry->knob[TCB_KNOB_SCHED], blocks = geometry->knob[TCB_KNOB_BLOCKS];
	if (sched == TCB_KNOB_UNSET)
		return blocks == TCB_KNOB_UNSET ? NULL : "blocks needs sched=streamk: else there is one for each part";
	if (sched != TCB_SCHED_STREAMK || blocks < 1 || blocks > 4)
		return "sched must be streamk, with blocks=1 to 4, or both left out";
	if (KNOB(SPLITK) != 1 || KNOB(CLUSTER) != 1 || geometry->knob[TCB_KNOB_JOIN] != TCB_JOIN_LAST)
		return "sched=streamk needs splitk=1, cluster=1 and join=last";
	const size_t pieces = tcb_div_up(problem->shape.n, tcb_most(geometry->tile[TCB_MICRO].n, 1));
	return tiles_of(problem, geometry) * pieces > INT32_MAX ? "sched=streamk counts pieces to 2^31 only" : NULL;
}

/* Whether tokens are multiples of 16 bytes in K and V. */
static int has_whole_units(const struct tcb_problem *problem)
{
	const size_t heads = problem->shape.words.kv;
	return heads * head_bytes(problem, 0) % UNIT_MOST == 0 && heads * head_bytes(problem, 1) % UNIT_MOST == 0;
}

int attention_gpu_has_lead(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const struct tcb_words *words = &problem->shape.words;
	return target->cuda.capability >= 90 && !words->page && !words->prefix && has_whole_units(problem);
}

RULE(rule_lead)
{
	const int32_t lead = geometry->knob[TCB_KNOB_LEAD];
	const struct tcb_words *words = &problem->shape.words;
	if (lead == TCB_KNOB_UNSET)
		return NULL;
	if (lead < 1 || lead > LEAD_MAX)
		return "lead must be 1 to 8, or left out";
	if (KNOB(PDL) != 1 || is_dealt(geometry))
		return "lead needs pdl=1, and no sched: else no launch before is waited for where pieces are known";
	if (words->page || words->prefix)
		return "lead needs a shape without pages and prefix";
	return attention_is_wgmma(geometry) || has_whole_units(problem)
		       ? NULL
		       : "lead needs tokens of a multiple of 16 bytes in K and V";
}

RULE(rule_blocks)
{
	const unsigned warps = KNOB(WARPS), splitk = KNOB(SPLITK);
	const int32_t cluster = geometry->knob[TCB_KNOB_CLUSTER], join = geometry->knob[TCB_KNOB_JOIN];
	if (warps < 1 || warps > MERGE_WARPS_MAX || !tcb_is_power_of_two(warps))
		return "warps must be a power of two up to 16";
	if (splitk < 1 || splitk > SPLITS_MAX)
		return "splitk must be 1 to 256";
	if (cluster < 1 || cluster > CLUSTER_MAX || !tcb_is_power_of_two((size_t)cluster) || splitk % (unsigned)cluster)
		return "cluster must be 1, 2, 4 or 8 and divide splitk";
	if (cluster > 1 && target->cuda.capability < 90)
		return "cluster above 1 needs sm_90";
	if (is_dealt(geometry))
		return NULL; /* rule_dealing */
	const int is_whole = splitk == (unsigned)cluster;
	if (is_whole && join != (cluster > 1 ? TCB_JOIN_CLUSTER : TCB_JOIN_NONE))
		return "join must be none where splitk is 1, cluster where a cluster has all splits";
	if (!is_whole && join != TCB_JOIN_LAST && join != TCB_JOIN_LAUNCH)
		return "join must be last or launch where splits are more than a cluster has";
	return NULL;
}

/* A block without a piece of KV only waits for the others. */
RULE(rule_idle)
{
	const size_t pieces = tcb_div_up(problem->shape.n, tcb_most(geometry->tile[TCB_MICRO].n, 1));
	if (KNOB(SPLITK) > 1 && KNOB(SPLITK) > pieces)
		return "splitk is more than there are pieces of micro.n KV tokens";
	const size_t turns = attention_is_wgmma(geometry) ? 1 : KNOB(WARPS) / team(geometry);
	if (turns > 1 && turns * KNOB(SPLITK) / 2 >= pieces)
		return "half of the warps have nothing to do: fewer warps or a smaller splitk";
	return NULL;
}

static size_t blocks_of(const struct tcb_problem *problem, const struct tcb_target *target,
			const struct tcb_geometry *geometry)
{
	return is_dealt(geometry) ? (size_t)KNOB(BLOCKS) * tcb_most(target->cuda.sm_count, 1)
				  : tiles_of(problem, geometry) * KNOB(SPLITK);
}

RULE(rule_pdl)
{
	const struct tcb_words *words = &problem->shape.words;
	if (KNOB(PDL) != TCB_PDL_EARLY)
		return tcb_gpu_rule_pdl(problem, target, geometry);
	if (target->cuda.capability < 90 || attention_is_wgmma(geometry) || KNOB(COPY) != TCB_COPY_ASYNC ||
	    geometry->knob[TCB_KNOB_SCHED] == TCB_SCHED_STREAMK)
		return "pdl=4 needs sm_90 and copy=async, and neither wgmma nor sched=streamk";
	return words->page || words->prefix || tcb_kv_kind_format(attention_k_kind(problem)) ||
			       tcb_kv_kind_format(attention_v_kind(problem))
		       ? "pdl=4 wants K and V in one piece and not in blocks, and no prefix"
		       : NULL;
}

/* The default space. */
RULE(policy_usual)
{
	const size_t group = attention_group(&problem->shape), rows = geometry->tile[TCB_MICRO].m * KNOB(HEADS);
	unsigned unusual = 0;
	unusual += KNOB(HEADS) != group && rows < ATTENTION_COLUMNS && problem->shape.m * group > rows;
	const int has_codes = attention_has_codes(problem);
	const size_t blocks = blocks_of(problem, target, geometry), sms = tcb_most(target->cuda.sm_count, 1);
	if (attention_is_wgmma(
		    geometry)) /* rows without a query, more of those with long heads, of which a warp has few */
		unusual +=
			2 * (problem->shape.m < geometry->tile[TCB_MICRO].m &&
			     rows / (attention_gpu_is_long(&problem->shape) ? 16 : 4) > problem->shape.m * KNOB(HEADS));
	else
		unusual += 2 * (geometry->tile[TCB_MICRO].m > tcb_power_of_two_up(problem->shape.m));
	unusual += KNOB(PDL) == 0 && target->cuda.capability >= 90 && !has_codes;
	unusual += KNOB(WARPS) < 2 || KNOB(WARPS) > 8;
	unusual += row_warps(geometry) > 1 && rows <= ATTENTION_COLUMNS;
	unusual += KNOB(STAGES) > 4;
	unusual += KNOB(OCC) > 2;
	unusual +=
		KNOB(CLUSTER) > 1 && (blocks > sms || KNOB(CLUSTER) != KNOB(SPLITK)); /* few blocks, joined at once */
	unusual += !has_codes && KNOB(COPY) == TCB_COPY_ASYNC && row_warps(geometry) == 1 &&
		   !attention_gpu_is_long(&problem->shape) && !problem->shape.words.view;
	unusual += has_codes && KNOB(COPY) == TCB_COPY_ASYNC && KNOB(VEC) == 16 &&
		   attention_gpu_copies(problem, 8); /* it was slower */
	unusual += problem->shape.k <= 128 && !attention_is_wgmma(geometry) && geometry->tile[TCB_MICRO].n != 16 &&
		   geometry->tile[TCB_MICRO].n != 32;
	unusual += KNOB(SPLITK) > 1 && blocks > 8 * sms;
	unusual += is_dealt(geometry) && !problem->shape.words.ragged;
	unusual += 2 * blocks < sms && problem->shape.n > 64 * (size_t)KNOB(SPLITK);
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

#define READS_DEALING (TCB_FIELD_KNOB(SCHED) | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(CLUSTER) | TCB_FIELD_KNOB(JOIN))
#define READS_BLOCKS (READS_DEALING | TCB_FIELD_KNOB(WARPS))

const struct tcb_rule attention_decode_gpu_rules[] = {
	{ 0, 0, rule_knobs },
	{ TCB_FIELD_KNOB(ISA), 0, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), 0, rule_isa },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_TILES | TCB_FIELD_KNOB(HEADS) | TCB_FIELD_KNOB(WARPS), 0, rule_tiles },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(VEC) | TCB_FIELD_TILES,
	  0, rule_copy },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_TILES | TCB_FIELD_KNOB(WARPS), TCB_RULE_DOUBLE, rule_same },
	{ 0, 0, attention_rule_wgmma },
	{ TCB_FIELD_KNOB(GROUP), 0, rule_group },
	{ READS_DEALING | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(HEADS) | TCB_FIELD_TILES, 0, rule_dealing },
	{ READS_DEALING | TCB_FIELD_KNOB(LEAD) | TCB_FIELD_KNOB(PDL) | TCB_FIELD_KNOB(ISA), 0, rule_lead },
	{ READS_BLOCKS, 0, rule_blocks },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_TILES, TCB_RULE_DOUBLE,
	  rule_idle },
	{ 0, 0, rule_pdl },
	{ TCB_FIELD_KNOB(OCC) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(BLOCKS), 0, tcb_gpu_rule_occ },
	{ 0, TCB_RULE_POLICY, policy_usual },
	{ 0, 0, NULL },
};
