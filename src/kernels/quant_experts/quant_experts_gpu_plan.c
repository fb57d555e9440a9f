/* SPDX-License-Identifier: MIT
 *
 * A geometry of the products of experts for a GPU in numbers: how rows, chunks of
 * tokens and units along k are dealt, what lies where in shared memory and in the
 * workspace, what the constraints judge.
 */
#include "kernels/quant_experts/quant_experts_gpu_plan.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/gpu/gpu_rules.h"
#include "kernels/gpu/pieces_gpu.h"
#include "kernels/quant_experts/quant_experts_gpu.h"

enum { SHARED_ALIGN = 128, TILE_ALIGN = 1024 /* that wgmma wants */, WORKSPACE_ALIGN = 256, WORD = 4, BARRIER = 8 };

static void plan_gather(struct qex_gpu *g)
{
	const unsigned fours = g->tile.tokens / QEX_GATHER_ROWS;
	g->gatherers = 1;
	while (2 * g->gatherers <= g->tile.warps)
		g->gatherers *= 2;
	g->across = g->gatherers < fours ? g->gatherers : fours;
	g->fours = fours / g->across;
}

static void plan_shared(struct qex_gpu *g)
{
	struct qmm_gpu *t = &g->tile;
	g->warp_bytes = t->row_tiles * t->unit.bytes;
	const unsigned x_align = t->is_wgmma ? TILE_ALIGN : SHARED_ALIGN;
	g->slot_x_at = tcb_round_up(t->warps * g->warp_bytes, g->is_in_block ? SHARED_ALIGN : x_align);
	g->slot_bytes = g->slot_x_at;
	if (!g->is_in_block)
		g->slot_bytes = tcb_round_up(g->slot_x_at + t->ksplit * t->unit_tiles * t->x_tile_bytes, x_align);
	g->items_at = t->stages * g->slot_bytes;
	g->item_bytes = QEX_ITEM_BYTES + t->tokens * WORD;
	g->part_at = tcb_round_up(g->items_at + t->stages * g->item_bytes, SHARED_ALIGN);
	/* 8 words modulo 32: lanes of 8 rows by 4 pairs of tokens meet no bank conflict. */
	g->part_pitch = t->tokens + (t->tokens % 32 == 8 ? 0 : 8);
	g->part_bytes = t->ksplit > 1 ? t->side * g->matrices * t->rows * g->part_pitch * WORD : 0;
	g->x_at = tcb_round_up(g->part_at + t->ksplit * g->part_bytes, x_align);
	/* Of each expert, of those that are none, and where the last ends: its first place, its first chunk, its
	 * count; a warp's lanes have places for all. */
	g->route_entries = tcb_round_up(g->experts + 2, WARP);
	g->route_bytes = g->routes_itself && g->pairs <= WARP ? 4 * WORD : 3 * g->route_entries * WORD;
	g->barrier_at = g->x_at + (g->is_in_block ? t->row_units * t->unit_tiles * t->x_tile_bytes : 0);
	g->counts_at = g->barrier_at;
	if (t->copy == TCB_COPY_BULK)
		g->counts_at += tcb_round_up(t->warps * t->stages * BARRIER, 16);
	g->table_in_block_at = g->order_in_block_at = g->shared_bytes = g->counts_at;
	if (g->routes_itself) {
		g->table_in_block_at = g->counts_at + g->route_bytes;
		g->order_in_block_at = g->table_in_block_at + tcb_round_up(g->most_chunks * QEX_CHUNK_WORDS, 4) * WORD;
		g->shared_bytes = g->order_in_block_at + g->most_chunks * t->tokens * WORD;
	}
	g->shared_bytes = qmm_gpu_plan_grid(t, g->shared_bytes);
}

static void plan_workspace(struct qex_gpu *g)
{
	const struct qmm_gpu *i = &g->image;
	size_t at = 0;
	if (g->is_in_block) {
		g->workspace_bytes = g->is_summed ? (size_t)g->pairs * g->tile.n * sizeof(float) : 0;
		return;
	}
	at = (size_t)g->padded / QMM_GROUP_TOKENS * i->row_units * i->unit_tiles * i->x_group_bytes;
	if (!g->routes_itself) {
		g->count_at = at = tcb_round_up(at, WORKSPACE_ALIGN);
		g->table_at = at = tcb_round_up(at + WORD, WORKSPACE_ALIGN);
		g->order_at = at = tcb_round_up(at + (size_t)g->most_chunks * QEX_CHUNK_WORDS * WORD, WORKSPACE_ALIGN);
		at += (size_t)g->most_chunks * g->tile.tokens * WORD;
	}
	g->products_at = at = tcb_round_up(at, WORKSPACE_ALIGN);
	g->workspace_bytes = at + (g->is_summed ? (size_t)g->pairs * g->tile.n * sizeof(float) : 0);
}

void qex_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
		  const struct tcb_geometry *geometry, struct qex_gpu *out)
{
	const struct tcb_shape *s = &problem->shape;
	const struct qex_kind *kind = qex_kind(problem);
	struct qex_gpu *g = out;
	memset(g, 0, sizeof(*g));
	g->matrices = 1 + (unsigned)kind->is_gated;
	g->is_summed = kind->is_summed;
	g->has_rows_each = qex_has_rows_each(problem);
	g->has_bias = s->words.bias;
	g->is_oai = s->words.oai != 0;
	g->is_gelu = s->words.gelu != 0;
	qmm_gpu_plan_tile(problem, target, geometry, g->matrices, &g->tile);
	g->tile.threads = g->tile.warps * WARP;
	g->tile.is_ahead = g->tile.is_wgmma && g->tile.tokens <= QMM_AHEAD_TOKENS;
	g->is_in_block = !g->tile.own_launch;
	g->has_groups = g->tile.copy == TCB_COPY_ASYNC || (g->tile.copy == TCB_COPY_BULK && !g->is_in_block);
	g->experts = (unsigned)qex_experts(s);
	g->used = (unsigned)qex_used(s);
	g->pairs = (unsigned)qex_pairs(s);
	g->x_rows = g->has_rows_each ? g->pairs : (unsigned)s->m;
	g->padded = tcb_round_up(g->x_rows, QMM_GROUP_TOKENS);
	g->routes_itself = g->is_in_block || g->pairs <= WARP ||
			   (g->pairs <= QEX_IN_BLOCK_MOST && g->experts <= QEX_IN_BLOCK_EXPERTS);
	g->image = g->tile;
	g->image.m = g->x_rows;
	g->image.tokens = QMM_GROUP_TOKENS;
	g->image.token_groups = 1;
	g->image.token_tiles = g->padded / QMM_GROUP_TOKENS;
	g->image.x_tile_bytes = g->image.x_group_bytes;
	g->steps = g->tile.row_units / g->tile.ksplit;
	g->row_blocks = tcb_div_up(g->tile.n, g->tile.side * g->tile.rows);
	/* Each expert's last chunk may have one token. */
	g->most_chunks = g->pairs / g->tile.tokens + (unsigned)tcb_least(g->experts + 1, g->pairs);
	g->grid = (unsigned)tcb_least((size_t)g->tile.resident * g->tile.sms, (size_t)g->most_chunks * g->row_blocks);
	g->matrix_bytes = qmm_fragments_bytes(g->tile.unit.format, s->n, s->k);
	plan_gather(g);
	plan_shared(g);
	plan_workspace(g);
}

/* What the plain matmul's tiles take out of shared memory, pointers of what is gathered and of weights, and where the
 * block is; biases of the lane's rows, and pointers to them. */
unsigned qex_gpu_registers(const struct qex_gpu *g)
{
	struct qmm_gpu tile = g->tile;
	tile.copy = TCB_COPY_ASYNC;
	/* Q2_K under q8: sums for the mins of four runs, of all tokens, since ptxas begins them early. */
	const int has_sums = tile.group && tile.unit.is_pieces && tcb_piece_is_split(tile.unit.format) &&
			     tcb_format(tile.unit.format)->has_offsets;
	const unsigned sums = has_sums ? 28 * (tile.token_groups - 1) + 16 * (g->matrices - 1) : 0;
	/* Pieces of a pair's two matrices are taken apart at once, the more so the more products there are to begin. */
	const unsigned ahead = !tile.group && tile.unit.is_pieces && !tile.is_wgmma
				       ? 28 * (g->matrices - 1) * (tile.token_groups - 1)
				       : 0;
	return qmm_gpu_registers(&tile) + (g->tile.group ? 4 : 2) * g->fours + sums + ahead +
	       (g->has_bias ? 2 * g->tile.row_tiles + 2 * g->matrices : 0);
}

double qex_gpu_chain(const struct qex_gpu *g)
{
	struct qmm_gpu plain = g->tile;
	plain.share = g->steps;
	plain.splitk = 1;
	/* A bias; exp's argument and its factor; a product and an addition of each expert, the first addition to 0. */
	return qmm_gpu_chain(&plain) + g->has_bias + (g->matrices - 1) + g->is_oai + g->is_gelu +
	       (g->is_summed ? g->used + 1 : 0);
}

void qex_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_format *format = problem->op->format;
	struct qex_gpu g;
	memset(out, 0, sizeof(*out));
	if (!geometry->tile[TCB_MICRO].n || geometry->tile[TCB_MICRO].n % QMM_UNIT_ROWS ||
	    !geometry->tile[TCB_MIDI].m || geometry->tile[TCB_MIDI].m % QMM_GROUP_TOKENS || KNOB(KSPLIT) < 1 ||
	    KNOB(WARPS) < KNOB(KSPLIT) * (geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA ? 4 : 1))
		return; /* broken by a rule */
	qex_gpu_plan(problem, target, geometry, &g);
	out->k_multiple = out->k_step_multiple = format->block_values;
	out->element_bytes = 1;
	out->alignment_bytes = 16;
	out->vector_bytes = 16;
	out->base_bytes = 256;
	out->leading_bytes = (size_t)g.tile.row_units * g.tile.unit.bytes;
	out->tile_offset_bytes = g.tile.unit.bytes;
	out->shared_bytes = g.shared_bytes;
	out->shared_dynamic = 1;
	out->block_threads = g.tile.threads;
	out->thread_registers = qex_gpu_registers(&g);
	out->blocks_together = g.tile.together;
	out->accumulators = g.tile.row_tiles * g.tile.token_groups;
	out->grid[0] = tcb_most(g.grid, problem->shape.m);
	out->grid[1] = tcb_most(qmm_prepare_blocks(&g.image) + !g.routes_itself, tcb_div_up(g.tile.n, QEX_SUM_THREADS));
	out->grid[2] = 1;
	out->barriers = 1;
	out->level_bytes[TCB_MACRO] = g.experts * g.matrices * g.matrix_bytes + (size_t)g.x_rows * g.tile.k * 2;
	out->level_bytes[TCB_MIDI] = g.shared_bytes;
	out->level_bytes[TCB_MICRO] = g.slot_bytes;
}
