/* SPDX-License-Identifier: MIT
 *
 * A geometry of a quantised matmul for a GPU in numbers: how rows, tokens and
 * units along k are dealt, what lies where in shared memory, what the constraints
 * judge; and the rules (V4) that a geometry keeps so that a kernel can be written
 * for it and no two legal ones are the same computation.
 */
#include <string.h>

#include "base/sizes.h"
#include "kernels/constraint.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/gpu/pieces_gpu.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"
#include "kernels/quant_matmul/quant_matmul_gpu_plan.h"

enum {
	SHARED_ALIGN = 128,
	IMAGE_ALIGN = 1024,
	UNROLL_MAX = 8,
	SHARED_OF_SYSTEM = 1024, /* that each block has besides */
	FILE_REGISTERS = 65536,  /* of an SM */
	REGISTER_STEP = 8        /* that threads are given at a time */
};

/* --- numbers --- */

/*
 * SMs that clusters of SIZE blocks, one per SM, can use: the rest of a GPC's that is too small for a cluster stays
 * idle. An H200 (132 SMs) has room for 66 clusters of 2, 30 of 4, 15 of 8 (cuOccupancyMaxActiveClusters).
 */
static unsigned cluster_sms(const struct tcb_target *target, unsigned size)
{
	const unsigned sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	return size > 2 && sms > 11 ? sms * 10 / 11 : sms;
}

static void plan_rows(const struct tcb_target *target, struct qmm_gpu *g)
{
	const unsigned sms = cluster_sms(target, g->join == TCB_JOIN_CLUSTER ? g->splitk : 1),
		       of_row = g->splitk * g->token_tiles;
	g->groups = tcb_div_up(g->n, g->rows);
	if (g->resident) {
		const unsigned most = g->resident * sms / of_row;
		g->grid = most < 1 ? 1 : most < g->groups ? most : g->groups;
		g->least = g->groups / g->grid;
		g->longer = g->groups % g->grid;
	} else {
		g->grid = tcb_round_up(tcb_div_up(g->groups, g->side), g->cast);
		g->least = g->side;
		g->longer = 0;
	}
	g->block_rows = (g->least + (g->longer ? 1 : 0)) * g->rows;
}

static void plan_parts(struct qmm_gpu *g, unsigned at)
{
	g->has_parts = g->ksplit > 1 || g->splitk > 1;
	g->part_at = at;
	g->own_rows = g->block_rows;
	if (g->join == TCB_JOIN_CLUSTER)
		g->own_rows = tcb_round_up(tcb_div_up(g->block_rows, g->splitk), 8);
	g->part_pitch = g->tokens + (g->tokens % 32 == 8 ? 0 : 8);
	g->part_bytes = g->has_parts ? g->own_rows * g->part_pitch * 4 : 0;
	g->flag_at = at + g->ksplit * (g->join == TCB_JOIN_CLUSTER ? g->splitk : 1) * g->part_bytes;
}

/*
 * Contract q8: a record's codes, then scales: two tokens' 16 bytes apart, or where a group is 32, 8 bytes of an even
 * run and 8 of the odd one; where there are mins to multiply them with, sums of codes: of 16 as halves (group 256), or
 * of 32 times their scale as two halves, less a power of two.
 */
static void plan_record(struct qmm_gpu *g)
{
	const unsigned scales = QMM_GROUP_TOKENS / 2 * QMM_SCALE_STRIDE, is_fine = g->group == 32;
	const unsigned has_sums = tcb_format(g->unit.format)->has_offsets;
	g->unit_tiles = 1;
	g->x_scale_at = QMM_GROUP_TOKENS * QMM_UNIT_VALUES;
	g->x_power_at = g->x_scale_at + scales * (is_fine ? QMM_CHUNKS : 1);
	g->x_sum_at = g->x_power_at + (is_fine && has_sums ? scales : 0);
	g->x_group_bytes = g->x_sum_at + (has_sums ? QMM_GROUP_TOKENS * 32 : 0);
}

/* Entries without signs, since there is no room for more beside tiles. */
unsigned qmm_gpu_plan_grid(struct qmm_gpu *g, unsigned at)
{
	const unsigned bytes = g->unit.is_pieces ? tcb_piece_table_bytes(g->unit.format, 0) : 0;
	if (!bytes)
		return at;
	g->grid_at = tcb_round_up(at, TCB_PIECE_TABLE_ALIGN);
	return g->grid_at + bytes;
}

static void plan_resident_memory(struct qmm_gpu *g)
{
	unsigned at = 0;
	if (g->copy != TCB_COPY_LDG) {
		g->tile_bytes = tcb_round_up(g->row_tiles * g->unroll * g->unit.bytes, SHARED_ALIGN);
		at = g->warps * g->stages * g->tile_bytes;
	}
	g->barrier_at = at;
	if (g->copy == TCB_COPY_BULK)
		at += g->warps * g->stages * 8;
	g->x_is_bulk = g->copy == TCB_COPY_BULK && (g->own_launch || g->by_grid);
	g->x_is_counted = g->x_is_bulk || g->beside;
	g->x_barrier_at = at;
	at += g->x_is_counted ? 8 * g->slice : 0;
	g->image_at = tcb_round_up(at, IMAGE_ALIGN);
	plan_parts(g, g->image_at + (g->is_rolling ? g->xstages : g->slice) * g->unit_tiles * g->x_tile_bytes);
	g->shared_bytes = qmm_gpu_plan_grid(g, g->flag_at + (g->splitk > 1 ? 16 : 0));
}

/* Rings and barriers; the parts take the rings' place, unless other blocks may store them at any time. */
static void plan_stream_memory(struct qmm_gpu *g)
{
	unsigned at;
	g->tile_bytes = g->side * g->rows / QMM_UNIT_ROWS * g->unit.bytes;
	at = g->xstages * g->x_tile_bytes + tcb_round_up(g->stages * g->tile_bytes, 16);
	plan_parts(g, g->join == TCB_JOIN_CLUSTER ? at : 0);
	if (at < g->flag_at)
		at = g->flag_at;
	g->barrier_at = at;
	g->flag_at = at + (2 * g->xstages + g->stages) * 8;
	g->shared_bytes = qmm_gpu_plan_grid(g, g->flag_at + (g->splitk > 1 ? 16 : 0));
}

/*
 * SMs that a grid leaves over would be given several blocks of the next one, which starts before this one ends, or of
 * the clusters that found no room elsewhere, and take twice as long as the others.  So a block then asks for so much
 * shared memory that no SM holds more than its share of blocks.  On an H200, four bits x 64 tokens x 4096x4096 on 128
 * of 132 SMs: 12.6 us without, 9.8 with; x 8 tokens in clusters of 4: 8.9 and 5.3.
 */
static void plan_spread(const struct tcb_target *target, struct qmm_gpu *g)
{
	const unsigned cluster = g->cast * (g->join == TCB_JOIN_CLUSTER ? g->splitk : 1);
	const unsigned blocks = g->grid * g->splitk * g->token_tiles;
	const unsigned share = tcb_div_up(blocks, cluster_sms(target, cluster));
	const size_t of_sm = tcb_shared_limit(target) + SHARED_OF_SYSTEM;
	g->launch_bytes = g->shared_bytes;
	if (target->cuda.sm_count && (g->pdl || cluster > 1) && blocks < share * target->cuda.sm_count) {
		const unsigned least = (unsigned)(of_sm / (share + 1)) / SHARED_ALIGN * SHARED_ALIGN + SHARED_ALIGN;
		if (least > SHARED_OF_SYSTEM && g->launch_bytes < least - SHARED_OF_SYSTEM)
			g->launch_bytes = least - SHARED_OF_SYSTEM;
	}
}

static void plan_workspace(struct qmm_gpu *g)
{
	const size_t padded = (size_t)g->token_tiles * g->tokens;
	g->slices_at = g->counters_at = g->workspace_bytes = 0;
	if (g->own_launch || g->by_grid) {
		g->image_bytes = padded / QMM_GROUP_TOKENS * g->row_units * g->unit_tiles * g->x_group_bytes;
		g->slices_at = g->workspace_bytes = (g->image_bytes + 255) / 256 * 256;
	}
	if (g->join == TCB_JOIN_LAST) {
		g->counters_at = g->slices_at + (size_t)g->splitk * g->m * g->n * 4;
		g->workspace_bytes = g->counters_at + (size_t)g->grid * g->token_tiles * 4;
	}
	if (g->by_grid) {
		g->claims_at = (g->workspace_bytes + 15) / 16 * 16;
		g->workspace_bytes = g->claims_at + (QMM_CLAIM_WORDS + (size_t)g->row_units) * 4;
	}
}

unsigned qmm_prepare_tokens(const struct qmm_gpu *g)
{
	return (size_t)g->token_tiles * g->tokens <= QMM_PREPARE_FEW ? 1 : QMM_PREPARE_TOKENS;
}

/* Two leave the warps that compute no registers where pairs go to other places for each half. */
unsigned qmm_share_tokens(const struct qmm_gpu *g)
{
	return g->unit.run == WARP ? 2 : 1;
}

unsigned qmm_prepare_blocks(const struct qmm_gpu *g)
{
	const size_t padded = (size_t)g->token_tiles * g->tokens;
	return (unsigned)tcb_div_up(padded, QMM_PREPARE_WARPS * qmm_prepare_tokens(g));
}

/* Registers for four blocks per SM where three would leave blocks for a second wave. */
unsigned qmm_prepare_together(const struct qmm_gpu *g)
{
	return g->row_units * qmm_prepare_blocks(g) > (QMM_PREPARE_TOGETHER - 1) * g->sms ? QMM_PREPARE_TOGETHER : 1;
}

/* Products of few tokens that add to the same sums would wait for each other; wgmma's do not. */
static unsigned chains_of(const struct qmm_gpu *g)
{
	const unsigned products = g->row_tiles * g->token_groups;
	return g->is_wgmma || g->group || products >= QMM_CHAINS_MAX ? 1 : QMM_CHAINS_MAX / products;
}

/* Registers of a thread that WARPS warps of an SM can have: each quarter has every fourth of them. */
static unsigned registers_of(unsigned warps)
{
	return FILE_REGISTERS / 4 / WARP / tcb_div_up(warps, 4);
}

/*
 * A streamed block of two warp groups whose threads need more registers than nine warps leave them: the warp that asks
 * is one of four then, and these give registers away (setmaxnreg).  Not where all threads add parts in the end.
 */
static void plan_threads(struct qmm_gpu *g)
{
	g->askers = !g->is_streamed ? 0 : g->by_grid ? 4 : 1;
	g->sharers = g->is_streamed ? g->askers : g->warps < QMM_SHARE_WARPS ? g->warps : QMM_SHARE_WARPS;
	g->is_traded = g->is_streamed && g->warps == QMM_TRADE_WARPS && g->together == 1 && g->splitk == 1 &&
		       qmm_gpu_registers(g) > registers_of(g->warps + g->askers);
	if (g->is_traded)
		g->askers = 4;
	if (g->beside && qmm_gpu_registers(g) > registers_of(g->together * (g->warps + g->beside)))
		g->beside /= 2;
	g->threads = (g->warps + g->askers + g->beside) * WARP;
}

void qmm_gpu_plan_tile(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, unsigned matrices, struct qmm_gpu *out)
{
	struct qmm_gpu *g = out;
	memset(g, 0, sizeof(*g));
	g->capability = target->cuda.capability;
	g->sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	qmm_unit_of(problem->op->format->id, &g->unit);
	g->is_wgmma = geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
	if (problem->contract == TCB_CONTRACT_Q8)
		g->group = KNOB(GROUP);
	g->copy = (enum tcb_copy)KNOB(COPY);
	g->own_launch = KNOB(PREP) == TCB_PREP_LAUNCH;
	g->pdl = KNOB(PDL) == 1;
	g->rows = (unsigned)geometry->tile[TCB_MICRO].n;
	g->row_tiles = matrices * g->rows / (g->is_wgmma ? 4 * QMM_UNIT_ROWS : QMM_UNIT_ROWS);
	g->tokens = (unsigned)geometry->tile[TCB_MIDI].m;
	g->token_groups = g->tokens / QMM_GROUP_TOKENS;
	g->chains = chains_of(g);
	g->warps = KNOB(WARPS);
	g->ksplit = KNOB(KSPLIT);
	g->side = g->warps / (g->is_wgmma ? 4 : 1) / g->ksplit;
	g->unit_tiles = QMM_CHUNKS * g->unit.x_terms;
	g->x_group_bytes = QMM_TILE_BYTES;
	if (g->group)
		plan_record(g);
	g->x_tile_bytes = g->token_groups * g->x_group_bytes;
	g->together = KNOB(OCC);
	g->stages = KNOB(STAGES);
	g->resident = KNOB(BLOCKS);
	g->n = (unsigned)problem->shape.n;
	g->m = (unsigned)problem->shape.m;
	g->has_added = problem->shape.words.add != 0;
	g->k = (unsigned)problem->shape.k;
	g->row_units = (unsigned)qmm_units_along_k(problem->shape.k);
}

void qmm_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct qmm_gpu *out)
{
	struct qmm_gpu *g = out;
	qmm_gpu_plan_tile(problem, target, geometry, 1, g);
	g->join = (enum tcb_join)KNOB(JOIN);
	g->beside = KNOB(PREP) == TCB_PREP_WARPS ? QMM_BESIDE_WARPS : 0;
	/* Products of few tokens do not hide what it takes to load codes; those of many have no registers to spare.
	 * Halves are loaded to the registers that the products before the last ones are done with. */
	g->is_ahead = g->is_wgmma && g->tokens <= QMM_AHEAD_TOKENS && !g->unit.is_plain;
	g->xstages = KNOB(XSTAGES);
	g->is_streamed = g->xstages > 1 && g->is_wgmma;
	g->is_rolling = g->xstages > 1 && !g->is_wgmma;
	g->by_grid = KNOB(PREP) == TCB_PREP_GRID;
	g->splitk = KNOB(SPLITK);
	plan_threads(g);
	g->lead = KNOB(LEAD);
	g->cast = KNOB(CLUSTER) > 1 ? KNOB(CLUSTER) : 1;
	g->unroll = KNOB(UNROLL);
	g->token_tiles = tcb_div_up(g->m, g->tokens);
	g->slice = g->row_units / g->splitk;
	g->share = g->slice / g->ksplit;
	g->steps = g->unroll ? g->share / g->unroll : 1;
	g->is_whole = !g->resident && g->copy == TCB_COPY_BULK && g->steps <= g->stages && g->share <= QMM_WHOLE_UNITS;
	plan_rows(target, g);
	(g->is_streamed ? plan_stream_memory : plan_resident_memory)(g);
	plan_spread(target, g);
	plan_workspace(g);
}

/* The tensor cores add in an order of their own, a term at a time at worst; then chains, warps and blocks. */
double qmm_gpu_chain(const struct qmm_gpu *g)
{
	if (g->group) /* two roundings a run, or a unit, and a product of mins: at most 2 * 11 where it is not exact */
		return (double)g->share * (g->group == 32 ? g->unit.run == 16 ? 17 : 9 : 2) + 32 + g->ksplit +
		       g->splitk;
	/* Of terms all products but those that are below all terms of the product: less than 3 units in its last place.
	 */
	const unsigned products = g->unit.terms > 1 ? 6 : g->unit.x_terms;
	return (double)g->share * QMM_UNIT_VALUES * products + g->chains + g->ksplit + g->splitk + 2 +
	       (g->unit.terms > 1 ? 3 : 0);
}

/* --- footprint --- */

void qmm_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_format *format = problem->op->format;
	struct qmm_gpu g;
	size_t of_row;
	memset(out, 0, sizeof(*out));
	if (!geometry->tile[TCB_MICRO].n || geometry->tile[TCB_MICRO].n % QMM_UNIT_ROWS ||
	    !geometry->tile[TCB_MIDI].m || KNOB(SPLITK) < 1 || KNOB(KSPLIT) < 1 ||
	    KNOB(WARPS) < 4 * (geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA) || KNOB(WARPS) < KNOB(KSPLIT))
		return; /* broken by a rule */
	qmm_gpu_plan(problem, target, geometry, &g);
	of_row = (size_t)g.row_units * g.unit.bytes / QMM_UNIT_ROWS;
	out->k_multiple = out->k_step_multiple = format->block_values;
	out->element_bytes = 1;
	out->alignment_bytes = 16;
	out->vector_bytes = 16;
	out->base_bytes = 256;
	out->leading_bytes = (size_t)g.row_units * g.unit.bytes;
	out->tile_offset_bytes = g.unit.bytes;
	out->shared_bytes = g.launch_bytes;
	out->shared_dynamic = 1;
	out->block_threads = g.threads;
	out->thread_registers =
		g.is_traded ? registers_of(g.threads / WARP) / REGISTER_STEP * REGISTER_STEP : qmm_gpu_registers(&g);
	out->blocks_together = g.together;
	out->accumulators = g.row_tiles * g.token_groups;
	out->grid[0] = g.grid;
	out->grid[1] = tcb_most(g.splitk, g.own_launch ? qmm_prepare_blocks(&g) : 1);
	out->grid[2] = g.token_tiles;
	out->barriers = 2;
	out->level_bytes[TCB_MACRO] = g.n * of_row + (size_t)g.m * g.k * (g.group ? 1 : 2);
	out->level_bytes[TCB_MIDI] = g.shared_bytes;
	out->level_bytes[TCB_MICRO] = g.tile_bytes;
}

/* --- rules --- */

static int is_wgmma(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
}

static int is_streamed(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_XSTAGES] > 1;
}

static int is_power(size_t value)
{
	return value && !(value & (value - 1));
}

const char *qmm_gpu_rule_isa(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry)
{
	const int32_t isa = geometry->knob[TCB_KNOB_ISA];
	struct qmm_unit unit;
	qmm_unit_of(problem->op->format->id, &unit);
	if (problem->contract == TCB_CONTRACT_F32 && unit.x_terms == 1)
		return "the contract must be f16 or q8 on a GPU, f32 for rows of BF16 and F32";
	if (isa != TCB_ISA_MMA && isa != TCB_ISA_WGMMA)
		return "isa must be mma or wgmma on a GPU";
	if (unit.x_terms > 1 && target->cuda.capability < 80)
		return "rows of BF16 and F32 need sm_80";
	if (unit.terms > 1 && isa != TCB_ISA_MMA)
		return "isa must be mma for rows of F32";
	if (isa != TCB_ISA_MMA && problem->contract == TCB_CONTRACT_Q8)
		return "isa must be mma under contract q8 on a GPU";
	return tcb_gpu_rule_isa(problem, target, geometry);
}

const char *qmm_gpu_rule_layout(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry)
{
	(void)target;
	const int32_t layout = geometry->knob[TCB_KNOB_LAYOUT];
	if (problem->contract == TCB_CONTRACT_Q8)
		return layout == TCB_LAYOUT_G ? NULL : "layout must be g under contract q8 on a GPU";
	return layout == TCB_LAYOUT_F ? NULL : "layout must be f under contracts f16 and f32 on a GPU";
}

const char *qmm_gpu_rule_group(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	(void)target;
	const int32_t group = geometry->knob[TCB_KNOB_GROUP];
	if (problem->contract != TCB_CONTRACT_Q8)
		return group == TCB_KNOB_UNSET ? NULL : "group has no effect but under contract q8";
	if (group != 32 && group != 256)
		return "group must be 32 or 256 under contract q8";
	if (group != 32 && tcb_is_expanded(problem->op->format->id))
		return "group must be 32 for formats whose codes are expanded";
	return (size_t)group > tcb_quant_group(problem->op->format)
		       ? "group must be 32 where weights' blocks are of 32 values"
		       : NULL;
}

/* The kernel knows none of these tiles. */
RULE(rule_whole)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const struct tcb_shape *s = &problem->shape;
	const size_t rows = tcb_power_of_two_up(s->n), tokens = tcb_power_of_two_up(s->m);
	if (macro->k != s->k || midi->k != s->k)
		return "macro.k and midi.k must be the problem's K: splitk and ksplit cut it";
	if (micro->k != (s->k % QMM_UNIT_VALUES ? problem->op->format->block_values : QMM_UNIT_VALUES))
		return "micro.k must be 256, or the format's block where 256 does not divide K";
	if (macro->m != (tokens > midi->m ? tokens : midi->m))
		return "macro.m must be the problem's M, rounded up to a power of two and to midi.m: the grid has all";
	if (macro->n != (rows > midi->n ? rows : midi->n))
		return "macro.n must be the problem's N, rounded up to a power of two and to midi.n: the grid has all";
	return NULL;
}

RULE(rule_tiles)
{
	const size_t tokens = geometry->tile[TCB_MICRO].m;
	return tokens != geometry->tile[TCB_MIDI].m || !is_power(tokens) || tokens < QMM_GROUP_TOKENS
		       ? "micro.m must be 8 or more, a power of two, and midi.m as much"
		       : NULL;
}

RULE(rule_micro)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	if (is_wgmma(geometry))
		return micro->n != 64 && micro->n != 128 ? "micro.n must be 64 or 128 with isa=wgmma"
		       : micro->m > QMM_TOKENS_MAX       ? "micro.m must be at most 256 with isa=wgmma"
							 : NULL;
	return micro->n != 16 && micro->n != 32 && micro->n != 64 ? "micro.n must be 16, 32 or 64 with isa=mma"
	       : micro->m > 64                                    ? "micro.m must be at most 64 with isa=mma"
								  : NULL;
}

RULE(rule_idle)
{
	const uint64_t set = KNOB_BIT(ISA) | KNOB_BIT(LAYOUT) | KNOB_BIT(UNROLL) | KNOB_BIT(WARPS) | KNOB_BIT(STAGES) |
			     KNOB_BIT(SPLITK) | KNOB_BIT(KSPLIT) | KNOB_BIT(COPY) | KNOB_BIT(PREP) | KNOB_BIT(LEAD) |
			     KNOB_BIT(BLOCKS) | KNOB_BIT(PDL) | KNOB_BIT(OCC) | KNOB_BIT(JOIN) | KNOB_BIT(XSTAGES) |
			     KNOB_BIT(CLUSTER);
	return tcb_gpu_sets_knobs(geometry, set, KNOB_BIT(GROUP)) /* qmm_gpu_rule_group */
		       ? NULL
		       : "a GPU's geometry sets isa, layout, unroll, warps, stages, splitk, ksplit, copy, prep, lead, "
			 "blocks, pdl, occ, join, xstages and cluster, and no other knob";
}

RULE(rule_warps)
{
	const unsigned warps = KNOB(WARPS), ksplit = KNOB(KSPLIT);
	const unsigned of_group = (is_wgmma(geometry) ? 4 : 1) * (ksplit ? ksplit : 1);
	if (warps < 1 || warps > WARPS_MAX)
		return "warps must be 1 to 32";
	if (is_wgmma(geometry) && (warps % 4 || warps > 16))
		return "warps must be 4, 8, 12 or 16 with isa=wgmma";
	if (ksplit < 1 || warps % of_group)
		return "ksplit must divide warps, or groups of four warps with isa=wgmma";
	if (is_streamed(geometry) && ksplit != 1)
		return "ksplit must be 1 where xstages is more than 1";
	if (geometry->tile[TCB_MIDI].n != warps / of_group * geometry->tile[TCB_MICRO].n)
		return "midi.n must be micro.n times the groups of warps";
	return NULL;
}

RULE(rule_k)
{
	const unsigned splitk = KNOB(SPLITK), ksplit = KNOB(KSPLIT);
	const unsigned unroll = KNOB(UNROLL), units = (unsigned)qmm_units_along_k(problem->shape.k);
	if (splitk < 1 || units % splitk)
		return "splitk must divide the units of 256 along k";
	if (ksplit < 1 || units / splitk % ksplit)
		return "ksplit must divide the units of 256 of a slice";
	if (problem->shape.k % QMM_UNIT_VALUES && splitk > 1)
		return "splitk must be 1 where 256 does not divide K";
	if (unroll < 1 || unroll > UNROLL_MAX || units / splitk / ksplit % unroll)
		return "unroll must be at most 8 and divide the units that a warp takes along k";
	return NULL;
}

RULE(rule_join)
{
	const int32_t join = geometry->knob[TCB_KNOB_JOIN];
	const unsigned splitk = KNOB(SPLITK);
	if (splitk == 1)
		return join == TCB_JOIN_NONE ? NULL : "join must be none with splitk=1";
	if (join == TCB_JOIN_CLUSTER && target->cuda.capability < 90)
		return "join=cluster needs sm_90";
	if (join == TCB_JOIN_CLUSTER && splitk > CLUSTER_MAX)
		return "join=cluster takes 8 blocks at most";
	return join == TCB_JOIN_CLUSTER || join == TCB_JOIN_LAST ? NULL : "join must be cluster or last with splitk";
}

RULE(rule_copy)
{
	const unsigned copy = KNOB(COPY), stages = KNOB(STAGES);
	const unsigned lead = KNOB(LEAD), unroll = KNOB(UNROLL);
	if (copy == TCB_COPY_LDG && (stages != 1 || unroll != 1))
		return "stages and unroll must be 1 with copy=ldg: weights go to registers, a unit at a time";
	if (copy != TCB_COPY_LDG && (stages < 1 || stages > QMM_STAGES_MAX))
		return "stages must be 1 to 16";
	if (lead > stages)
		return "lead must be at most stages";
	if (is_wgmma(geometry) && copy != TCB_COPY_BULK)
		return "copy must be bulk with isa=wgmma";
	return tcb_gpu_rule_copy(problem, target, geometry);
}

/* Stages beyond a warp's tiles of weights stay empty. */
RULE(rule_stages)
{
	const unsigned stages = KNOB(STAGES), xstages = KNOB(XSTAGES);
	const unsigned slice = (unsigned)qmm_units_along_k(problem->shape.k) / KNOB(SPLITK);
	const unsigned tiles = slice / KNOB(KSPLIT) / KNOB(UNROLL);
	if (!KNOB(BLOCKS) && stages > tiles)
		return "more stages than tiles of weights that a warp has";
	if (xstages < 1 || xstages > QMM_STAGES_MAX || xstages > QMM_CHUNKS * stages)
		return "xstages must be 1 to 16, and at most 4 times stages";
	const int32_t prep = geometry->knob[TCB_KNOB_PREP];
	if (prep == TCB_PREP_GRID && geometry->knob[TCB_KNOB_COPY] != TCB_COPY_BULK)
		return "copy must be bulk with prep=grid";
	if (!is_streamed(geometry))
		return NULL;
	if (prep != TCB_PREP_LAUNCH && prep != TCB_PREP_GRID)
		return "xstages must be 1, activations stay, but with prep=launch or grid";
	if (!is_wgmma(geometry) && (geometry->knob[TCB_KNOB_COPY] != TCB_COPY_ASYNC || xstages != stages))
		return "xstages must be 1 with isa=mma, or as many as stages and copy async";
	if (stages == 1 && tiles > 1) /* a slot is free when the next tile's first product has begun */
		return "stages must be 2 or more where xstages is";
	if (KNOB(LEAD) != stages || KNOB(UNROLL) != 1)
		return "lead must be as many as stages and unroll 1 where xstages is more than 1";
	return NULL;
}

RULE(rule_beside)
{
	if (geometry->knob[TCB_KNOB_PREP] != TCB_PREP_WARPS)
		return NULL;
	if (geometry->knob[TCB_KNOB_COPY] != TCB_COPY_BULK)
		return "copy must be bulk with prep=warps";
	return geometry->tile[TCB_MIDI].m > QMM_BESIDE_WARPS * QMM_BESIDE_TOKENS
		       ? "midi.m must be at most 64 with prep=warps"
		       : NULL;
}

RULE(rule_resident)
{
	const unsigned copy = KNOB(COPY), resident = KNOB(BLOCKS);
	if (resident > 4)
		return "blocks must be at most 4";
	if (resident && (copy == TCB_COPY_LDG || is_streamed(geometry)))
		return "blocks must be 0 with copy=ldg, and where xstages is more than 1";
	return NULL;
}

RULE(rule_cast)
{
	const unsigned cast = KNOB(CLUSTER);
	const unsigned splitk = geometry->knob[TCB_KNOB_JOIN] == TCB_JOIN_CLUSTER ? KNOB(SPLITK) : 1;
	if (!is_streamed(geometry) || !is_wgmma(geometry))
		return cast == 1 ? NULL : "cluster must be 1 where xstages is, and with isa=mma";
	if (cast != 1 && cast != 2 && cast != 4)
		return "cluster must be 1, 2 or 4";
	if (cast * splitk > CLUSTER_MAX)
		return "cluster times splitk blocks are more than the 8 of a cluster";
	if (geometry->tile[TCB_MIDI].m < cast * QMM_GROUP_TOKENS)
		return "cluster blocks share tiles of 8 tokens each at least";
	return cast > 1 && problem->shape.n <= geometry->tile[TCB_MIDI].n ? "cluster has no other block of rows" : NULL;
}

/* Each quarter of an SM has a quarter of its registers, for every fourth warp. */
RULE(rule_registers)
{
	struct qmm_gpu g;
	qmm_gpu_plan(problem, target, geometry, &g);
	if (g.beside && g.tokens > g.beside * QMM_BESIDE_TOKENS)
		return "registers are left for four warps that prepare: midi.m must be at most 32";
	return qmm_gpu_registers(&g) > (g.is_traded ? QMM_TRADE_TAKEN : registers_of(g.together * g.threads / WARP))
		       ? "every fourth warp's registers are more than a quarter of an SM's"
		       : NULL;
}

/* A resident block that gets no second round does what a block per tile does. */
RULE(policy_rounds)
{
	const size_t resident = KNOB(BLOCKS), sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	const size_t tiles = (problem->shape.m + geometry->tile[TCB_MIDI].m - 1) / geometry->tile[TCB_MIDI].m;
	const size_t all = tiles * KNOB(SPLITK) *
			   ((problem->shape.n + geometry->tile[TCB_MIDI].n - 1) / geometry->tile[TCB_MIDI].n);
	if (resident && all <= resident * sms)
		return "so many blocks stay that each has one round of rows: blocks=0 does the same";
	return NULL;
}

/* Tokens: no tile of more than there are; of many, large ones. */
RULE(policy_tokens)
{
	const size_t tokens = tcb_power_of_two_up(problem->shape.m), tile = geometry->tile[TCB_MIDI].m;
	if (tile > QMM_GROUP_TOKENS && tile > tokens)
		return "tiles of more tokens than there are";
	return NULL;
}

/*
 * The default space is what is at most one step away from what reasoning, and an H200, found good: one knob may have an
 * unusual value.
 */
RULE(policy_usual)
{
	const int32_t *of = geometry->knob;
	const unsigned splitk = KNOB(SPLITK), occ = KNOB(OCC);
	const size_t tokens = geometry->tile[TCB_MIDI].m, m = tcb_power_of_two_up(problem->shape.m);
	const int is_modern = target->cuda.capability >= 90;
	unsigned unusual = 0;
	unusual += of[TCB_KNOB_PDL] == 0 && is_modern;
	unusual += of[TCB_KNOB_COPY] == TCB_COPY_LDG && target->cuda.capability >= 80;
	unusual += of[TCB_KNOB_LEAD] != of[TCB_KNOB_STAGES];
	unusual += of[TCB_KNOB_JOIN] == TCB_JOIN_LAST && is_modern && splitk <= CLUSTER_MAX;
	unusual += occ > 1;
	unusual += of[TCB_KNOB_GROUP] == QMM_UNIT_VALUES;
	unusual += of[TCB_KNOB_COPY] == TCB_COPY_ASYNC && is_modern && !is_streamed(geometry);
	if (is_streamed(geometry) && !is_wgmma(geometry)) {
		unusual += tokens < 32 && tokens < m;
		unusual += splitk > 2;
	} else if (is_streamed(geometry)) {
		unusual += of[TCB_KNOB_WARPS] != 8;
		unusual += tokens < 64 && tokens < m;
		unusual += geometry->tile[TCB_MICRO].n != 64;
		unusual += of[TCB_KNOB_STAGES] > 4;
		unusual += of[TCB_KNOB_CLUSTER] > 1; /* on an H200 multicasts are slow: 46 us where copies take 30 */
	} else {
		unusual += of[TCB_KNOB_WARPS] == 4 && !is_wgmma(geometry);
		unusual += of[TCB_KNOB_UNROLL] > 2;
		unusual += of[TCB_KNOB_KSPLIT] > (m <= 16 ? 8 : 2); /* few tokens: all warps on few rows */
		unusual += of[TCB_KNOB_STAGES] > 6;
		unusual += tokens < 16 && tokens < m;
		unusual += is_wgmma(geometry) && of[TCB_KNOB_BLOCKS] > 0;
	}
	/* The time of a launch, or that of preparing all activations in each block. */
	if (of[TCB_KNOB_PREP] == TCB_PREP_GRID) /* not yet timed: beside what is usual only */
		unusual += m <= 16 ? 2 : 1;
	else
		unusual += of[TCB_KNOB_PREP] == TCB_PREP_LAUNCH ? m <= 16 : m > 32;
	unusual += of[TCB_KNOB_PREP] == TCB_PREP_WARPS && (m <= 8 || tokens < m);
	unusual += of[TCB_KNOB_JOIN] == TCB_JOIN_CLUSTER && splitk > 4;
	return tcb_gpu_unusual(unusual, problem, target, geometry);
}

/* Blocks that leave many SMs without work, in the last wave or altogether. */
RULE(policy_waves)
{
	const size_t slots = (size_t)KNOB(OCC) * (target->cuda.sm_count ? target->cuda.sm_count : 1);
	struct qmm_gpu g;
	size_t blocks;
	qmm_gpu_plan(problem, target, geometry, &g);
	blocks = (size_t)g.grid * g.splitk * g.token_tiles;
	if (blocks * 4 >= 3 * ((blocks + slots - 1) / slots * slots))
		return NULL;
	return problem->shape.n < 1024 || tcb_gpu_is_default(problem, target, geometry)
		       ? NULL
		       : "more than a quarter of the SMs idle";
}

const struct tcb_rule qmm_gpu_rules[] = {
	{ 0, 0, rule_idle },
	{ TCB_FIELD_KNOB(ISA), 0, tcb_gpu_rule_shape },
	{ TCB_FIELD_KNOB(ISA), 0, qmm_gpu_rule_isa },
	{ TCB_FIELD_KNOB(LAYOUT), 0, qmm_gpu_rule_layout },
	{ TCB_FIELD_KNOB(GROUP), 0, qmm_gpu_rule_group },
	{ TCB_FIELD_TILES, TCB_RULE_DOUBLE, rule_whole },
	{ TCB_FIELD_TILES, 0, rule_tiles },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_MICRO_N | TCB_FIELD_MICRO_M, 0, rule_micro },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(WARPS) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_MICRO_N | TCB_FIELD_MIDI_N,
	  0, rule_warps },
	{ TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(KSPLIT) | TCB_FIELD_KNOB(UNROLL), 0, rule_k },
	{ TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_KNOB(JOIN), 0, rule_join },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(STAGES) | TCB_FIELD_KNOB(LEAD) |
		  TCB_FIELD_KNOB(UNROLL),
	  0, rule_copy },
	{ 0, 0, rule_stages },
	{ TCB_FIELD_KNOB(PREP) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_MIDI_M, 0, rule_beside },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(COPY) | TCB_FIELD_KNOB(BLOCKS), 0, rule_resident },
	{ 0, 0, rule_cast },
	{ TCB_FIELD_KNOB(OCC) | TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(WARPS), 0, tcb_gpu_rule_occ },
	{ TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(PREP) | TCB_FIELD_KNOB(PDL), 0, tcb_gpu_rule_pdl },
	{ 0, 0, rule_registers },
	{ TCB_FIELD_KNOB(BLOCKS) | TCB_FIELD_KNOB(SPLITK) | TCB_FIELD_MIDI_M | TCB_FIELD_MIDI_N, 1, policy_rounds },
	{ TCB_FIELD_MIDI_M, 1, policy_tokens },
	{ 0, 1, policy_usual },
	{ 0, 1, policy_waves },
	{ 0, 0, NULL },
};
