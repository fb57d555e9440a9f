/* SPDX-License-Identifier: MIT
 *
 * A geometry of a quantised matmul for a GPU in numbers: how rows, tokens and
 * units along k are dealt, what lies where in shared memory, what the constraints
 * judge.  quant_matmul_gpu_rules.c has what a geometry must keep.
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
	SHARED_OF_SYSTEM = 1024, /* that each block has besides */
	REGISTER_STEP = 8        /* that threads are given at a time */
};

/* --- numbers --- */

/* Equal runs of units: no block has none. */
static void plan_deal(struct qmm_gpu *g)
{
	const size_t units = (size_t)tcb_div_up(g->groups, g->side) * g->token_tiles * g->row_units;
	g->grid = (unsigned)tcb_least((size_t)g->resident * g->sms, units);
	g->least = (unsigned)(units / g->grid);
	g->longer = (unsigned)(units % g->grid);
	g->block_rows = g->side * g->rows;
}

static void plan_rows(const struct tcb_target *target, struct qmm_gpu *g)
{
	const unsigned sms = tcb_gpu_cluster_sms(target, g->join == TCB_JOIN_CLUSTER ? g->splitk : 1),
		       of_row = g->splitk * g->token_tiles;
	g->groups = tcb_div_up(g->n, g->rows);
	if (g->is_dealt) {
		plan_deal(g);
		return;
	}
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
	g->part_bytes = g->has_parts ? g->own_rows * g->part_pitch * 4 : g->is_dealt ? g->own_rows * g->tokens * 4 : 0;
	g->flag_at = at + (g->is_dealt ? 0 : g->ksplit * (g->join == TCB_JOIN_CLUSTER ? g->splitk : 1) * g->part_bytes);
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
	const unsigned blocks = g->grid * g->splitk * (g->is_dealt ? 1 : g->token_tiles);
	const unsigned share = tcb_div_up(blocks, tcb_gpu_cluster_sms(target, cluster));
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
	if (g->is_dealt) { /* two places of each block; warps count for themselves */
		const size_t tiles = (size_t)tcb_div_up(g->groups, g->side) * g->token_tiles;
		g->counters_at = g->slices_at + (size_t)2 * g->grid * g->part_bytes;
		g->workspace_bytes = g->counters_at + tiles * g->warps * QMM_DEAL_WORDS * 4;
	} else if (g->join == TCB_JOIN_LAST) {
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

int qmm_has_halves(const struct tcb_problem *problem)
{
	return problem->shape.words.bits && qmm_units_along_k(problem->shape.k) % 2 == 0;
}

/* Products of few tokens that add to the same sums would wait for each other; wgmma's do not. */
static unsigned chains_of(const struct qmm_gpu *g)
{
	const unsigned products = g->row_tiles * g->token_groups;
	return g->is_wgmma || g->group || products >= QMM_CHAINS_MAX ? 1 : QMM_CHAINS_MAX / products;
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
		       qmm_gpu_registers(g) > qmm_registers_of(g->warps + g->askers);
	if (g->is_traded)
		g->askers = 4;
	if (g->beside && qmm_gpu_registers(g) > qmm_registers_of(g->together * (g->warps + g->beside)))
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
	g->chains = problem->shape.words.bits ? 1 : chains_of(g);
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
	g->x_type = tcb_quant_x_type(problem);
	g->y_type = tcb_quant_y_type(problem);
	g->x_bytes = (unsigned)tcb_type_bytes(g->x_type);
	g->y_bytes = (unsigned)tcb_type_bytes(g->y_type);
	g->x_stride = (unsigned)tcb_quant_x_stride(problem);
	g->y_stride = (unsigned)tcb_quant_y_stride(problem);
	g->row_units = (unsigned)qmm_units_along_k(problem->shape.k);
}

void qmm_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct qmm_gpu *out)
{
	struct qmm_gpu *g = out;
	qmm_gpu_plan_tile(problem, target, geometry, 1, g);
	g->has_bias = problem->shape.words.bias != 0;
	g->join = (enum tcb_join)KNOB(JOIN);
	g->beside = KNOB(PREP) == TCB_PREP_WARPS ? QMM_BESIDE_WARPS : 0;
	/* Products of few tokens do not hide what it takes to load codes; those of many have no registers to spare.
	 * Halves are loaded to the registers that the products before the last ones are done with. */
	g->is_ahead = g->is_wgmma && g->tokens <= QMM_AHEAD_TOKENS && !g->unit.is_plain;
	g->xstages = KNOB(XSTAGES);
	g->is_streamed = g->xstages > 1 && g->is_wgmma;
	g->is_rolling = g->xstages > 1 && !g->is_wgmma;
	g->is_dealt = g->is_streamed && g->resident;
	g->by_grid = KNOB(PREP) == TCB_PREP_GRID;
	g->splitk = KNOB(SPLITK);
	g->is_halved = qmm_has_halves(problem) && g->splitk * g->ksplit == 1;
	if (g->is_halved)
		g->chains = 2;
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
	return (double)g->share * QMM_UNIT_VALUES * products + g->chains + g->ksplit +
	       (g->is_dealt ? tcb_div_up(g->row_units, g->least) + 1 : g->splitk) + 2 + (g->unit.terms > 1 ? 3 : 0);
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
	out->thread_registers = g.is_traded ? qmm_registers_of(g.threads / WARP) / REGISTER_STEP * REGISTER_STEP
					    : qmm_gpu_registers(&g);
	out->blocks_together = g.together;
	out->accumulators = g.row_tiles * g.token_groups;
	out->grid[0] = g.grid;
	out->grid[1] = tcb_most(g.splitk, g.own_launch ? qmm_prepare_blocks(&g) : 1);
	out->grid[2] = g.is_dealt ? 1 : g.token_tiles;
	out->barriers = 2;
	out->level_bytes[TCB_MACRO] = g.n * of_row + (size_t)g.m * g.k * (g.group ? 1 : 2);
	out->level_bytes[TCB_MIDI] = g.shared_bytes;
	out->level_bytes[TCB_MICRO] = g.tile_bytes;
}
