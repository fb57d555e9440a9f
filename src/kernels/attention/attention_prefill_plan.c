/* SPDX-License-Identifier: MIT
 *
 * A geometry of attention_prefill for a GPU in numbers, what the constraints judge,
 * and the rules (V4) that it keeps.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/attention/attention_prefill_gpu.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/gpu/tile_ring.h"

enum {
	GROUP_THREADS = 128,
	COPIER_LEAST = 24,    /* registers that setmaxnreg leaves a thread */
	CONVERTER_LEAST = 56, /* the same of one that converts */
	RAW_ALIGN = 128,
	RAW_UNIT = 16, /* bytes that boxes begin with and have multiples of */
	WORKER_MOST = 232,
	WARPS_PREFILL_MAX = 16,
	STAGES_MAX = 6,
	WORKSPACE_ALIGN = 256,
	Q_REGISTERS_MOST = 128, /* isa=mma: longer heads of Q, times terms, are in shared memory */
	SCALE_PAD = 8,          /* tokens: scales of four blocks are in different banks */
	ITEM_BYTES = 32,
	SHORT_HEAD = 64,
	CHUNKS_UNIT = 32, /* isa=mma: rows in shared memory are of whole 64 bytes */
	OWN_V_MOST = 256, /* columns of V that registers of a warp or warpgroup have sums for */
	OWN_V_MOST_MMA = 288,
	OWN_V_MOST_PAGED = 160 /* contract f32 */
};

/* isa=mma: of the longest heads a warp has as many columns as its registers have sums for beside what pages take. */
static unsigned splits_of(const struct tcb_problem *problem, enum tcb_isa isa)
{
	const size_t v = attention_v(&problem->shape);
	const int has_pages = problem->shape.words.page && !attention_has_codes(problem);
	const int is_f16 = problem->contract == TCB_CONTRACT_F16;
	size_t most = OWN_V_MOST;
	if (isa == TCB_ISA_MMA && v > 2 * OWN_V_MOST && is_f16 != has_pages)
		most = is_f16 ? OWN_V_MOST_MMA : OWN_V_MOST_PAGED;
	return (unsigned)tcb_div_up(v, most);
}

/* Registers that a thread begins with, as ptxas hands them out, to two warps at a time; with more than one warpgroup
 * that multiplies the one that copies gives of its own. */
static void plan_registers(struct prefill_gpu *g)
{
	g->threads = g->workers * GROUP_THREADS + (g->workers > 1 ? GROUP_THREADS : WARP);
	g->registers = (unsigned)(PREFILL_REGISTERS / (tcb_round_up(g->threads, 2 * WARP) * g->occ) / 8 * 8);
	if (g->registers > 255)
		g->registers = 255;
	if (g->workers < 2 || g->registers <= COPIER_LEAST)
		return;
	const unsigned all = g->registers * (g->workers + 1), least = g->converts ? CONVERTER_LEAST : COPIER_LEAST;
	if (all <= least)
		return;
	g->of_worker = (unsigned)tcb_least((all - least) / g->workers / 8 * 8, WORKER_MOST);
	g->of_copier = all - g->workers * g->of_worker;
}

/* Columns of V are dealt to as few warps or warpgroups as have registers for their sums, in whole steps of a product,
 * or in whole boxes. */
static void plan_columns(struct prefill_gpu *g)
{
	const int is_wgmma = g->isa == TCB_ISA_WGMMA;
	const size_t k_unit = is_wgmma ? PREFILL_BOX : PREFILL_STEP, unit = is_wgmma ? PREFILL_BOX : CHUNKS_UNIT;
	const size_t alone = is_wgmma ? ATTENTION_HEAD_UNIT : k_unit;
	g->own_v = (unsigned)tcb_round_up(tcb_div_up(g->v, g->splits), g->splits > 1 ? unit : alone);
	g->k_columns = (unsigned)tcb_round_up(g->k, k_unit);
	g->v_columns = (unsigned)tcb_round_up((size_t)g->splits * g->own_v, k_unit);
	if (g->is_view)
		g->k_columns = (unsigned)tcb_most(g->k_columns, g->v_columns);
	g->k_apart = (unsigned)tcb_round_up(g->k_columns, unit);
	g->v_apart = g->is_view ? g->k_apart : (unsigned)tcb_round_up(g->v_columns, unit);
	g->k_bytes = g->kv * g->k_apart * 2;
	g->v_bytes = g->is_view ? 0 : g->kv * g->v_apart * 2;
}

static void plan_memory(struct prefill_gpu *g)
{
	const unsigned columns = (unsigned)tcb_round_up(g->k, g->isa == TCB_ISA_WGMMA ? PREFILL_BOX : PREFILL_STEP);
	const unsigned q_bytes = g->rows * columns * 2 * g->terms;
	const unsigned scales =
		(g->has_scales[0] ? g->k_columns : 0) + (g->has_scales[1] && !g->is_view ? g->v_columns : 0);
	const unsigned item_bytes = g->is_dynamic ? ITEM_BYTES : 0;
	if (g->isa == TCB_ISA_WGMMA) {
		g->k_at = q_bytes;
		g->v_at = g->k_at + g->stages * g->k_bytes;
		g->raw_at = g->v_at + g->stages * g->v_bytes;
		g->barrier_at = g->raw_at + (g->converts ? PREFILL_RAW_STAGES * g->raw_bytes : 0);
		g->shared_bytes = g->barrier_at + 2 * TCB_KIT_TILE_BARRIERS * g->stages + 16 +
				  (g->converts ? TCB_KIT_TILE_BARRIERS * PREFILL_RAW_STAGES : 0);
		g->item_at = g->shared_bytes;
		g->shared_bytes += item_bytes;
		return;
	}
	g->scales_at = g->k_bytes + g->v_bytes;
	g->scale_pitch = (g->kv + SCALE_PAD) * 4;
	g->slot_bytes = g->scales_at + scales / ATTENTION_BLOCK * g->scale_pitch;
	g->shared_bytes = g->stages * g->slot_bytes;
	g->q_at = columns * g->terms > Q_REGISTERS_MOST ? g->shared_bytes : 0;
	g->shared_bytes += g->q_at ? q_bytes : 0;
	g->item_at = g->shared_bytes;
	g->shared_bytes += item_bytes;
}

/* f16 of K's values, or of its codes, then V's, then scales. */
static void plan_workspace(struct prefill_gpu *g)
{
	const size_t heads = (size_t)g->sequences * g->n * g->kv_heads;
	const size_t k_bytes = heads * g->k * 2, v_bytes = g->made[1] ? heads * g->v * 2 : 0;
	const size_t of_k = g->has_scales[0] ? k_bytes / 2 / ATTENTION_BLOCK * 4 : 0;
	const size_t of_v = g->has_scales[1] ? v_bytes / 2 / ATTENTION_BLOCK * 4 : 0;
	g->v16_at = tcb_round_up(k_bytes, WORKSPACE_ALIGN);
	g->workspace_bytes = g->made[1] ? g->v16_at + v_bytes : k_bytes;
	g->k_scales_at = tcb_round_up(g->workspace_bytes, WORKSPACE_ALIGN);
	g->v_scales_at = g->k_scales_at + tcb_round_up(of_k, WORKSPACE_ALIGN);
	if (of_k || of_v)
		g->workspace_bytes = g->v_scales_at + of_v;
}

void prefill_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct prefill_gpu *out)
{
	struct prefill_gpu *g = out;
	const struct tcb_shape *s = &problem->shape;
	const unsigned sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	memset(g, 0, sizeof(*g));
	const int has_codes = attention_has_codes(problem);
	g->converts = has_codes && KNOB(PREP) == TCB_PREP_WARPS;
	g->has_launch = has_codes && !g->converts;
	g->cache = attention_of(problem)->kv;
	g->kind[0] = attention_k_kind(problem);
	g->kind[1] = attention_v_kind(problem);
	g->type = tcb_kv_row(g->cache)->io;
	g->is_f32 = problem->contract == TCB_CONTRACT_F32;
	g->is_wide = g->is_f32 && g->type == TCB_TYPE_F16;
	g->terms = !g->is_f32 ? 1 : g->is_wide ? 2 : 3;
	for (unsigned v = 0; v < 2; v++) {
		const int is_made = tcb_kv_kind_is_short(g->kind[v]) || s->words.page;
		g->has_scales[v] = g->is_f32 && tcb_kv_kind_format(g->kind[v]);
		g->made[v] = g->has_launch && is_made && !(v && s->words.view);
	}
	g->isa = (enum tcb_isa)KNOB(ISA);
	g->capability = target->cuda.capability;
	g->m = (unsigned)s->m;
	g->n = (unsigned)s->n;
	g->k = (unsigned)s->k;
	g->v = (unsigned)attention_v(s);
	g->is_view = s->words.view;
	g->has_sinks = s->words.sinks;
	g->has_alibi = s->words.alibi;
	g->has_prefix = s->words.prefix;
	g->q_gap = attention_q_gap(problem);
	g->out_gap = attention_out_gap(problem);
	g->group = (unsigned)attention_group(s);
	g->kv_heads = s->words.kv;
	g->sequences = s->words.sequences;
	*(has_codes ? &g->block_page : &g->page) = s->words.page;
	*(has_codes ? &g->block_pages : &g->pages) = (unsigned)tcb_kv_pages(s);
	g->window = s->words.window;
	g->cap = s->words.cap;
	g->causal = s->words.causal;
	g->heads = KNOB_COUNT(HEADS);
	g->tokens = (unsigned)geometry->tile[TCB_MIDI].m;
	g->rows = g->tokens * g->heads;
	g->own_rows = (unsigned)geometry->tile[TCB_MICRO].m * g->heads;
	g->kv = (unsigned)geometry->tile[TCB_MICRO].n;
	g->splits = splits_of(problem, g->isa);
	plan_columns(g);
	g->workers = g->rows / g->own_rows * g->splits;
	g->stages = KNOB_COUNT(STAGES);
	const size_t raw = tcb_kv_bytes(g->cache, g->k), aligned = tcb_least(raw & -raw, RAW_UNIT);
	g->raw_pitch = (unsigned)tcb_round_up(raw + RAW_UNIT - aligned, RAW_UNIT);
	g->raw_bytes = (unsigned)tcb_round_up((size_t)g->kv * g->raw_pitch, RAW_ALIGN);
	g->resident = KNOB(BLOCKS);
	g->occ = KNOB_COUNT(OCC);
	g->pdl = KNOB(PDL) == 1;
	g->turns = KNOB(TURNS) == 1;
	g->is_dynamic = g->resident && geometry->knob[TCB_KNOB_SCHED] == TCB_SCHED_DYNAMIC;
	g->polynomials = KNOB(EXP);
	g->token_tiles = (unsigned)tcb_div_up(g->m, g->tokens);
	g->width = (unsigned)tcb_least((size_t)g->sequences * g->kv_heads * (g->group / g->heads), UINT32_MAX);
	g->grid = (unsigned)tcb_least((size_t)g->token_tiles * g->width, UINT32_MAX);
	if (g->resident)
		g->grid = (unsigned)tcb_least(g->grid, (size_t)g->resident * sms);
	if (g->isa == TCB_ISA_WGMMA)
		plan_registers(g);
	else
		g->threads = g->workers * WARP;
	plan_memory(g);
	if (g->has_launch)
		plan_workspace(g);
	if (g->is_dynamic) {
		g->counter_at = tcb_round_up(g->workspace_bytes, WORKSPACE_ALIGN);
		g->workspace_bytes = g->counter_at + WORKSPACE_ALIGN;
	}
}

/* Contract f32: what terms take beside the first, and scales; with a loop over tiles more of it is loaded ahead. */
static unsigned of_terms(const struct prefill_gpu *g)
{
	if (!g->is_f32)
		return 0;
	const unsigned scales = g->has_scales[0] || g->has_scales[1] ? 32 + g->kv / 8 : 0, wide = g->is_wide ? 20 : 8;
	return (scales ? scales : wide) + (g->resident ? 40 : 0);
}

/* Of a thread that multiplies: O, S, P, and what else there is; as ptxas took at most. */
static unsigned registers(const struct prefill_gpu *g)
{
	const unsigned more = (g->polynomials ? 12 : 0) + (g->has_alibi ? 8 : 0);
	if (g->isa == TCB_ISA_WGMMA)
		return g->own_v / 2 + g->kv / 2 + g->kv / 4 + more + 40;
	const unsigned q = g->terms * (g->q_at ? 4 : g->k / 4), scores = g->kv / 2 * (g->is_f32 ? 2 : 1);
	return g->own_rows / PREFILL_ROWS * (g->own_v / 2 + q + scores) + more + of_terms(g) + (g->resident ? 8 : 0) +
	       60;
}

int prefill_has_registers(const struct prefill_gpu *g)
{
	return registers(g) <= (g->of_worker ? g->of_worker : g->registers);
}

unsigned prefill_wgmma_splits(const struct tcb_problem *problem)
{
	return splits_of(problem, TCB_ISA_WGMMA);
}

void prefill_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			   const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	struct prefill_gpu g;
	memset(out, 0, sizeof(*out));
	prefill_gpu_plan(problem, target, geometry, &g);
	out->element_bytes = 2;
	out->alignment_bytes = out->vector_bytes = 16;
	out->base_bytes = 256;
	out->leading_bytes = (size_t)g.kv_heads * g.k * 2;
	out->tile_offset_bytes = (size_t)g.k * 2;
	out->shared_bytes = g.shared_bytes;
	out->shared_dynamic = 1;
	out->block_threads = g.threads;
	out->thread_registers = g.of_worker ? g.registers : registers(&g);
	out->blocks_together = g.occ;
	out->accumulators = g.own_v / 2;
	out->grid[0] = g.grid;
	out->grid[1] = g.has_launch ? g.sequences : 1;
	out->grid[2] = 1;
	out->barriers = g.isa == TCB_ISA_WGMMA ? 9 : 1;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *t = &geometry->tile[level];
		out->level_bytes[level] = 2 * (t->m * KNOB(HEADS) * t->k + t->n * (g.is_view ? t->k : t->k + g.v));
	}
}

/* --- rules --- */

RULE(rule_knobs)
{
	const uint64_t set = (attention_has_codes(problem) ? KNOB_BIT(PREP) : 0) | KNOB_BIT(ISA) | KNOB_BIT(STAGES) |
			     KNOB_BIT(HEADS) | KNOB_BIT(BLOCKS) | KNOB_BIT(PDL) | KNOB_BIT(OCC) | KNOB_BIT(TURNS);
	return tcb_gpu_sets_knobs(geometry, set, KNOB_BIT(SCHED) | KNOB_BIT(EXP))
		       ? NULL
		       : "a GPU's geometry sets isa, stages, heads, blocks, pdl, occ and turns, where K or V is of "
			 "less "
			 "than 16 bits prep, may set sched and exp, and sets no other knob";
}

RULE(rule_exp)
{
	const int32_t polynomials = geometry->knob[TCB_KNOB_EXP];
	if (polynomials == TCB_KNOB_UNSET)
		return NULL;
	if (problem->contract != TCB_CONTRACT_F16)
		return "exp needs contract f16: weights of more bits would show what polynomials are off by";
	return polynomials < 1 || polynomials > 8 ? "exp must be 1 to 8, or left out" : NULL;
}

/* A warpgroup that converts takes whole eights of tokens, and tensor copies rows of 16 bytes. */
RULE(rule_prep)
{
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];
	const struct tcb_shape *s = &problem->shape;
	if (!attention_has_codes(problem) || KNOB(PREP) == TCB_PREP_LAUNCH)
		return NULL;
	if (KNOB(PREP) != TCB_PREP_WARPS)
		return "prep must be launch or warps: a launch of its own makes f16 of K and V, or warps of each block "
		       "do";
	if (attention_of(problem)->kv != TCB_KV_Q80)
		return "prep=warps takes KV of Q8_0";
	if (KNOB(ISA) != TCB_ISA_WGMMA || midi->m <= micro->m)
		return "prep=warps needs isa=wgmma and two or three warpgroups, beside which one converts";
	if (s->words.view || attention_v(s) != s->k)
		return "prep=warps takes heads of V that are apart from K's and as long";
	if (!tcb_is_power_of_two(s->k) || s->k < PREFILL_BOX || s->k > OWN_V_MOST || s->words.page ||
	    tcb_kv_bytes(attention_of(problem)->kv, s->k) * s->words.kv % 16)
		return "prep=warps takes heads of 64, 128 and 256 values, no pages, and tokens of a multiple of 16 "
		       "bytes";
	return micro->n * s->k % (PREFILL_CONVERTERS * 32)
		       ? "micro.n must be what a warpgroup converts at a time, or more of it, with prep=warps"
		       : NULL;
}

/* Of K and V as the kernel reads them: what is made f16 has none. */
static size_t page_of(const struct tcb_problem *problem)
{
	return attention_has_codes(problem) ? 0 : problem->shape.words.page;
}

/* With pages a tensor copy takes one, or a tile's part of one, whole swizzled groups of 8 rows. */
static const char *refused_by_wgmma(const struct tcb_problem *problem, const struct tcb_target *target)
{
	const struct tcb_shape *s = &problem->shape;
	if (target->cuda.capability != 90)
		return "isa=wgmma is sm_90's alone";
	if (problem->contract != TCB_CONTRACT_F16)
		return "the contract must be f16 with isa=wgmma";
	if (attention_v(s) > 2 * OWN_V_MOST)
		return "isa=wgmma takes V of at most 512 values";
	const size_t page = page_of(problem);
	if (page && (page < 8 || !tcb_is_power_of_two(page)))
		return "isa=wgmma takes pages of 8, 16, 32, ... tokens";
	return page && s->words.window ? "isa=wgmma takes no window with pages" : NULL;
}

int prefill_has_one_stage(const struct tcb_problem *problem)
{
	return problem->shape.k > OWN_V_MOST || attention_v(&problem->shape) > OWN_V_MOST;
}

int prefill_has_wgmma(const struct tcb_problem *problem, const struct tcb_target *target)
{
	return !refused_by_wgmma(problem, target) && tcb_target_has(target, TCB_ISA_WGMMA);
}

RULE(rule_isa)
{
	const int32_t isa = geometry->knob[TCB_KNOB_ISA];
	if (isa != TCB_ISA_MMA && isa != TCB_ISA_WGMMA)
		return "isa must be mma or wgmma";
	if (target->cuda.capability < 80)
		return "attention on a GPU needs sm_80";
	const char *reason = isa == TCB_ISA_WGMMA ? refused_by_wgmma(problem, target) : NULL;
	return reason ? reason : tcb_gpu_rule_isa(problem, target, geometry);
}

RULE(rule_heads)
{
	const size_t heads = KNOB(HEADS);
	return heads < 1 || !tcb_is_power_of_two(heads) || attention_group(&problem->shape) % heads
		       ? "heads must be a power of two that divides the query heads of a KV head"
		       : NULL;
}

/* What the kernels have tiles for. */
RULE(rule_tiles)
{
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];
	const size_t rows = micro->m * KNOB(HEADS), workers = midi->m / micro->m;
	if (micro->k != problem->shape.k || midi->k != micro->k || geometry->tile[TCB_MACRO].k != micro->k)
		return "tiles' k must be the head size";
	if (midi->n != micro->n)
		return "midi.n must be micro.n: all warps of a block go over the same KV tokens";
	if (KNOB(ISA) == TCB_ISA_WGMMA) {
		if (rows != PREFILL_GROUP_ROWS)
			return "micro.m times heads must be the 64 query rows of a warpgroup with isa=wgmma";
		if (workers * splits_of(problem, TCB_ISA_WGMMA) > PREFILL_GROUPS_MAX)
			return "at most three warpgroups multiply, where V has more than 256 values two, of the same "
			       "rows";
		return micro->n % 16 || micro->n < 32 || micro->n > PREFILL_KV_MAX
			       ? "micro.n must be a multiple of 16 KV tokens, 32 to 256, with isa=wgmma"
			       : NULL;
	}
	if (rows != PREFILL_ROWS && rows != 2 * PREFILL_ROWS)
		return "micro.m times heads must be 16 or 32 query rows of a warp with isa=mma";
	if (workers * splits_of(problem, TCB_ISA_MMA) > WARPS_PREFILL_MAX || !tcb_is_power_of_two(workers))
		return "a block has 1, 2, 4, 8 or 16 warps with isa=mma";
	return micro->n % 16 || micro->n < 16 || micro->n > 128
		       ? "micro.n must be a multiple of 16 KV tokens, 16 to 128, with isa=mma"
		       : NULL;
}

/* The tile's pages are whole, or it is in one. */
RULE(rule_pages)
{
	const size_t page = page_of(problem), kv = geometry->tile[TCB_MICRO].n;
	return KNOB(ISA) == TCB_ISA_WGMMA && page && page % kv && kv % page
		       ? "micro.n must be whole pages or a part of one with isa=wgmma"
		       : NULL;
}

/* One text for one kernel: they follow from the shape and other fields. */
RULE(rule_same)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_shape *s = &problem->shape;
	return macro->m != midi->m * tcb_power_of_two_up(tcb_div_up(s->m, midi->m)) ||
			       macro->n != midi->n * tcb_power_of_two_up(tcb_div_up(s->n, midi->n))
		       ? "macro.m and macro.n must be the problem's, rounded up to midi's, 1, 2, 4, ... times"
		       : NULL;
}

RULE(rule_sched)
{
	const int32_t sched = geometry->knob[TCB_KNOB_SCHED];
	return sched != TCB_KNOB_UNSET && (sched != TCB_SCHED_DYNAMIC || !KNOB(BLOCKS))
		       ? "sched must be dynamic, with blocks that stay, or left out"
		       : NULL;
}

RULE(rule_blocks)
{
	const unsigned blocks = KNOB(BLOCKS), occ = KNOB(OCC), stages = KNOB(STAGES), turns = KNOB(TURNS);
	const int is_wgmma = KNOB(ISA) == TCB_ISA_WGMMA;
	const size_t workers =
		geometry->tile[TCB_MIDI].m / geometry->tile[TCB_MICRO].m * splits_of(problem, TCB_ISA_WGMMA);
	if (stages == 1 && (is_wgmma || !prefill_has_one_stage(problem)))
		return "stages must be 2 to 6: 1 is for heads of more than 256 values with isa=mma";
	if (stages < 1 || stages > STAGES_MAX)
		return "stages must be 2 to 6";
	if (blocks > 4 || (blocks && blocks != occ))
		return "occ must be as many as blocks, if these stay, and at most 4";
	if (occ < 1 || occ > 8)
		return "occ must be 1 to 8";
	return turns > 1 || (turns && (!is_wgmma || workers < 2))
		       ? "turns must be 0, or 1 with isa=wgmma and two or three warpgroups"
		       : NULL;
}

/* Of a thread that multiplies, after setmaxnreg. */
RULE(rule_registers)
{
	struct prefill_gpu g;
	prefill_gpu_plan(problem, target, geometry, &g);
	return g.isa == TCB_ISA_WGMMA && !prefill_has_registers(&g)
		       ? "O, S and P of a warpgroup's tile need more registers than its threads have"
		       : NULL;
}

/* A resident block that gets no second tile does what a block per tile does. */
RULE(rule_rounds)
{
	struct prefill_gpu g;
	prefill_gpu_plan(problem, target, geometry, &g);
	return g.resident && (size_t)g.token_tiles * g.width <= g.grid
		       ? "so many blocks stay that each has one tile: blocks=0 does the same"
		       : NULL;
}

/* The default space. */
RULE(policy_usual)
{
	const int is_wgmma = KNOB(ISA) == TCB_ISA_WGMMA;
	unsigned unusual = 0;
	struct prefill_gpu g;
	prefill_gpu_plan(problem, target, geometry, &g);
	unusual += !is_wgmma && prefill_has_wgmma(problem, target) ? 2 : 0;
	unusual += is_wgmma && g.workers == 1 && g.occ == 1;
	unusual += is_wgmma && g.workers > 1 && !g.turns;
	unusual += g.heads > 1;
	unusual += g.heads > 4;
	unusual += !is_wgmma && (g.threads < 128 || g.threads > 256);
	unusual += !is_wgmma && g.stages > 2;
	unusual += g.kv < 32;
	unusual += g.pdl;
	/* Blocks that stay copy ahead with isa=wgmma only; lengths that differ ask for tiles to be drawn. */
	unusual += !is_wgmma && g.resident;
	unusual += g.is_dynamic && !problem->shape.words.ragged;
	/* Where tensor cores are slower exponentials are not what they wait for. */
	unusual += g.polynomials ? is_wgmma || g.k <= SHORT_HEAD ? 1 : 2 : 0;
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

#define FIELD(level, dim) (UINT64_C(1) << (3 * (level) + (dim)))

const struct tcb_rule attention_prefill_gpu_rules[] = {
	{ 0, 0, rule_knobs },
	{ TCB_FIELD_KNOB(PREP) | TCB_FIELD_KNOB(ISA) | TCB_FIELD_TILES, 0, rule_prep },
	{ TCB_FIELD_KNOB(ISA), 0, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), 0, rule_isa },
	{ TCB_FIELD_KNOB(HEADS), 0, rule_heads },
	{ TCB_FIELD_TILES | TCB_FIELD_KNOB(HEADS) | TCB_FIELD_KNOB(ISA), 0, rule_tiles },
	{ FIELD(TCB_MICRO, 1) | TCB_FIELD_KNOB(ISA), 0, rule_pages },
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_same },
	{ TCB_FIELD_KNOB(EXP), 0, rule_exp },
	{ TCB_FIELD_KNOB(SCHED) | TCB_FIELD_KNOB(BLOCKS), 0, rule_sched },
	{ 0, 0, rule_blocks },
	{ TCB_FIELD_KNOB(PDL), 0, tcb_gpu_rule_pdl },
	{ 0, 0, rule_registers },
	{ 0, TCB_RULE_DOUBLE, rule_rounds },
	{ 0, TCB_RULE_POLICY, policy_usual },
	{ 0, 0, NULL },
};
