/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls' GPU kernel with wgmma (sm_90a) for many tokens: weights
 * in layout f and the image of the activations come in, sums of groups of rows go
 * to quant_matmul_gpu_join.c.
 *
 * Each four warps compute; one more warp asks for the copies, a thread of it:
 * whole units of 256 along k of all rows into one ring, tiles of 64 along k of all
 * tokens, which B's descriptors describe as they lie, into another.  The slot of a
 * unit is free when the activations of its last 64 are, so only the latter have
 * barriers that say so.
 *
 * prep=grid: three more warps beside that one prepare activations, which go through the workspace
 * (qmm_write_x_share()); before it asks for the first of a unit's it waits until all of that are there.
 */
#include "kernels/quant_matmul/quant_matmul_gpu_deal.h"
#include "kernels/quant_matmul/quant_matmul_gpu_join.h"
#include "kernels/quant_matmul/quant_matmul_gpu_wgmma.h"
#include "kernels/quant_matmul/quant_matmul_gpu_x.h"

/* Addresses in shared memory that go round. */
struct ring {
	kit_op at, barrier, parity; /* of the slot in use: bytes from the ring's start, its barrier */
	unsigned bytes, count;      /* of a slot; slots */
	kit_op first_barrier;
};

struct kernel {
	kit_op x_ring, x_full, x_empty, w_ring, w_full; /* .u32 */
	struct qmm_sums sums;
	struct qmm_chunks chunks;
};

static void ring_open(struct qmm_writer *w, struct ring *r, unsigned count, unsigned bytes, kit_op first_barrier)
{
	struct tcb_ptx_build *b = &w->kit.b;
	r->at = u_set(b, I(0));
	r->barrier = u_set(b, first_barrier);
	r->parity = u_set(b, I(0));
	r->bytes = bytes;
	r->count = count;
	r->first_barrier = first_barrier;
}

static void ring_next(struct qmm_writer *w, struct ring *r)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op again;
	u_add_to(b, r->at, r->at, I(r->bytes));
	u_add_to(b, r->barrier, r->barrier, I(8));
	again = u_eq(b, r->at, I(r->count * r->bytes));
	u_select_to(b, r->at, I(0), r->at, again);
	u_select_to(b, r->barrier, r->first_barrier, r->barrier, again);
	tcb_ptx_guard(b, again);
	u_xor_to(b, r->parity, r->parity, I(1));
	tcb_ptx_unguard(b);
}

static void open_memory(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	k->x_ring = w->kit.shared;
	k->w_ring = u_add(b, w->kit.shared, I(g->xstages * g->x_tile_bytes));
	k->x_full = u_add(b, w->kit.shared, I(g->barrier_at));
	k->x_empty = u_add(b, k->x_full, I(8 * g->xstages));
	k->w_full = u_add(b, k->x_empty, I(8 * g->xstages));
	tcb_ptx_guard(b, u_eq(b, w->kit.tid, I(0)));
	for (unsigned i = 0; i < g->xstages; i++) {
		tcb_kit_barriers_init(b, tcb_ptx_at(k->x_full, 8 * i), 1, 1);
		tcb_kit_barriers_init(b, tcb_ptx_at(k->x_empty, 8 * i), 1, g->warps * g->cast);
	}
	tcb_kit_barriers_init(b, k->w_full, g->stages, 1);
	tcb_kit_barriers_ready(b);
	tcb_ptx_unguard(b);
	if (g->cast > 1)
		tcb_kit_cluster_barrier(b);
	else
		tcb_kit_block_barrier(b);
}

/* --- the warp that asks --- */

/* Tile TILE (.u32) of activations is which one of its unit's, and that is which unit. */
static kit_op within_unit(struct qmm_writer *w, kit_op tile)
{
	if (w->g->unit.x_terms == 1)
		return u_and(&w->kit.b, tile, I(QMM_CHUNKS - 1));
	return u_rem(&w->kit.b, tile, I(w->g->unit_tiles));
}

static kit_op unit_of_tile(struct qmm_writer *w, kit_op tile)
{
	if (w->g->unit.x_terms == 1)
		return u_shr(&w->kit.b, tile, I(__builtin_ctz(QMM_CHUNKS)));
	return u_div(&w->kit.b, tile, I(w->g->unit_tiles));
}

struct asking {
	kit_op rows_at[QMM_ROW_TILES_MAX * 8]; /* the next unit of each 16 rows */
	unsigned row_units;
	const struct qmm_deal *deal; /* dealt: the block's units, and of all the next that is asked for */
	kit_op next;
	struct ring w, x;
	kit_op x_at, x_pitch;
	kit_op x_ring, mask; /* where this block's part of a tile goes, and to which of the cluster's blocks */
};

/* Where unit UNIT of the rows of 16 rows number I of tile AT is. */
static kit_op unit_at(struct qmm_writer *w, const struct qmm_tile_at *at, unsigned i, kit_op unit)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned of_group = w->g->rows / QMM_UNIT_ROWS;
	const kit_op group = u_add(b, at->group, I(i / of_group));
	return tcb_kit_element(b, qmm_write_rows_at(w, group, I(i % of_group)), unit, w->g->unit.bytes);
}

static void ask_weights(struct qmm_writer *w, struct kernel *k, struct asking *a)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned bytes = w->g->unit.bytes;
	struct qmm_tile_at tile;
	struct kit_split next = { { 0 }, { 0 } };
	kit_op to;
	if (a->deal) {
		next = u_split(b, a->next, I(w->g->row_units));
		qmm_write_tile_at(w, next.whole, &tile);
		u_add_to(b, a->next, a->next, I(1));
	}
	to = u_add(b, k->w_ring, a->w.at);
	tcb_kit_expect(b, tcb_ptx_at(a->w.barrier, 0), I(a->row_units * bytes));
	for (unsigned i = 0; i < a->row_units; i++) {
		const kit_op from = a->deal ? unit_at(w, &tile, i, next.rest) : a->rows_at[i];
		tcb_kit_copy_bulk(b, tcb_ptx_at(tcb_ptx_assume_aligned(b, u_add(b, to, I(i * bytes)), 16), 0), from,
				  I(bytes), tcb_ptx_at(a->w.barrier, 0), NULL);
		if (!a->deal)
			l_add_to(b, a->rows_at[i], a->rows_at[i], I(bytes));
	}
	ring_next(w, &a->w);
}

/* A tile of activations, or this block's part of it to all that share it. */
static void ask_x(struct qmm_writer *w, const struct asking *a)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op to = tcb_ptx_assume_aligned(b, u_add(b, a->x_ring, a->x.at), 16);
	tcb_kit_copy_bulk(b, tcb_ptx_at(to, 0), a->x_at, I(w->g->x_tile_bytes / w->g->cast),
			  tcb_ptx_at(a->x.barrier, 0), w->g->cast > 1 ? &a->mask : NULL);
}

/* The activations of the unit that tile TILE_OF_X of the block begins. */
static void find_x(struct qmm_writer *w, struct asking *a, kit_op tile_of_x, kit_op pitch)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op unit = u_add(b, a->deal->begin, unit_of_tile(w, tile_of_x));
	const struct kit_split at = u_split(b, unit, I(w->g->row_units));
	struct qmm_tile_at tile;
	if (w->g->by_grid) { /* once round, and all are there */
		tcb_ptx_if_begin(b, u_lt(b, tile_of_x, I(w->g->row_units * w->g->unit_tiles)));
		qmm_write_x_ready(w, at.rest);
		tcb_ptx_if_end(b);
	}
	qmm_write_tile_at(w, at.whole, &tile);
	const kit_op of_tile = tcb_kit_element(b, w->x, u_shr(b, tile.first_token, I(3)), QMM_TILE_BYTES);
	l_mad_wide_to(b, a->x_at, u_mul(b, at.rest, I(w->g->unit_tiles)), pitch, of_tile);
}

/* A block of equal shares: as write_asking() does for one tile, for one after the other. */
static void write_asking_dealt(struct qmm_writer *w, struct kernel *k, const struct qmm_deal *deal)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	struct asking asking = { .deal = deal }, *a = &asking;
	const kit_op units = u_sub(b, deal->end, deal->begin);
	const kit_op pitch = u_mul(b, u_shr(b, w->padded, I(3)), I(QMM_TILE_BYTES));
	a->row_units = g->side * g->rows / QMM_UNIT_ROWS;
	a->next = u_set(b, deal->begin);
	a->x_at = lb_set(b, w->x);
	a->x_ring = k->x_ring;
	ring_open(w, &a->w, g->stages, a->row_units * g->unit.bytes, k->w_full);
	ring_open(w, &a->x, g->xstages, g->x_tile_bytes, k->x_full);
	(void)tcb_ptx_for_begin(b, I(0), u_min(b, units, I(g->stages)), I(1), 1);
	ask_weights(w, k, a);
	tcb_ptx_for_end(b);
	tcb_kit_depend(&w->kit);
	const kit_op loop = tcb_ptx_for_begin(b, I(0), u_mul(b, units, I(g->unit_tiles)), I(1), 1);
	tcb_ptx_if_begin(b, u_ge(b, loop, I(g->xstages)));
	tcb_kit_wait(b, tcb_ptx_at(u_add(b, a->x.barrier, I(8 * g->xstages)), 0), u_xor(b, a->x.parity, I(1)));
	const kit_op done = u_sub(b, loop, I(g->xstages));
	const kit_op is_last = u_eq(b, within_unit(w, done), I(g->unit_tiles - 1));
	tcb_ptx_if_begin(b, u_lt_and(b, a->next, deal->end, is_last));
	ask_weights(w, k, a);
	tcb_ptx_if_end(b);
	tcb_ptx_if_end(b);
	tcb_ptx_if_begin(b, u_eq(b, within_unit(w, loop), I(0)));
	find_x(w, a, loop, pitch);
	tcb_ptx_if_end(b);
	tcb_kit_expect(b, tcb_ptx_at(a->x.barrier, 0), I(g->x_tile_bytes));
	ask_x(w, a);
	l_add_to(b, a->x_at, a->x_at, l_from_u(b, pitch));
	ring_next(w, &a->x);
	tcb_ptx_for_end(b);
	if (g->by_grid)
		qmm_write_x_done(w);
}

static void write_asking(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	struct asking asking = { 0 }, *a = &asking;
	const unsigned tiles = g->slice * g->unit_tiles, first = g->stages < g->slice ? g->stages : g->slice;
	kit_op done, x_pitch, groups, empty;
	a->row_units = g->side * g->rows / QMM_UNIT_ROWS;
	for (unsigned side = 0, i = 0; side < g->side; side++)
		for (unsigned j = 0; j < g->rows / QMM_UNIT_ROWS; j++, i++) {
			const kit_op at = qmm_write_rows_at(w, u_add(b, w->first, I(side)), I(j));
			a->rows_at[i] = lb_set(b, at);
		}
	ring_open(w, &a->w, g->stages, a->row_units * g->unit.bytes, k->w_full);
	ring_open(w, &a->x, g->xstages, g->x_tile_bytes, k->x_full);
	for (unsigned i = 0; i < first; i++)
		ask_weights(w, k, a);
	tcb_kit_depend(&w->kit);
	groups = u_shr(b, w->padded, I(3));
	x_pitch = l_mul_wide(b, groups, I(QMM_TILE_BYTES));
	a->x_at = tcb_kit_element(b, w->x, u_shr(b, w->first_token, I(3)), QMM_TILE_BYTES);
	a->x_ring = k->x_ring;
	if (g->cast > 1) {
		const kit_op rank = qmm_write_cast_rank(w);
		kit_op bits = I((1 << g->cast) - 1);
		a->x_at = tcb_kit_element(b, a->x_at, rank, g->x_tile_bytes / g->cast);
		a->x_ring = u_mad(b, rank, I(g->x_tile_bytes / g->cast), k->x_ring);
		if (g->join == TCB_JOIN_CLUSTER)
			bits = u_shl(b, bits, u_mul(b, u_block_y(b), I(g->cast)));
		a->mask = u16_from_u(b, bits);
	}
	const kit_op loop = tcb_ptx_for_begin(b, I(0), I(tiles), I(1), 1);
	tcb_ptx_if_begin(b, u_ge(b, loop, I(g->xstages)));
	/* The slot was filled once more than it was emptied: the other parity. */
	empty = u_add(b, a->x.barrier, I(8 * g->xstages));
	tcb_kit_wait(b, tcb_ptx_at(empty, 0), u_xor(b, a->x.parity, I(1)));
	if (g->slice > g->stages) {
		done = u_sub(b, loop, I(g->xstages));
		const kit_op is_last = u_eq(b, within_unit(w, done), I(g->unit_tiles - 1));
		const kit_op has = u_lt_and(b, unit_of_tile(w, done), I(g->slice - g->stages), is_last);
		tcb_ptx_if_begin(b, has);
		ask_weights(w, k, a);
		tcb_ptx_if_end(b);
	}
	tcb_ptx_if_end(b);
	if (g->by_grid) {
		tcb_ptx_if_begin(b, u_eq(b, within_unit(w, loop), I(0)));
		const kit_op unit = unit_of_tile(w, loop);
		qmm_write_x_ready(w, unit);
		tcb_ptx_if_end(b);
	}
	tcb_kit_expect(b, tcb_ptx_at(a->x.barrier, 0), I(g->x_tile_bytes));
	ask_x(w, a);
	l_add_to(b, a->x_at, a->x_at, x_pitch);
	ring_next(w, &a->x);
	tcb_ptx_for_end(b);
	if (g->by_grid)
		qmm_write_x_done(w);
}

/* --- the warps that compute --- */

/* Lanes that are PREDICATE say so, each to one of the blocks that fill the slot.  It has nothing to see that was
 * written here, only reads that are over: a release for the whole cluster would wait for every store of the block. */
static void free_slot(struct qmm_writer *w, kit_op barrier, kit_op predicate)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	kit_op rank = w->kit.lane;
	if (g->cast > 1 && g->join == TCB_JOIN_CLUSTER)
		rank = u_mad(b, u_block_y(b), I(g->cast), rank);
	tcb_ptx_guard(b, predicate);
	if (g->cast == 1)
		barrier_arrive(b, tcb_ptx_at(barrier, 0));
	else
		barrier_arrive_far(b, tcb_ptx_at(u_in_rank(b, barrier, rank), 0));
	tcb_ptx_unguard(b);
}

struct computing {
	struct ring w, x;
	kit_op unit, previous,
		frees; /* this warp's part of the first slot; the slot before; who says that it is free */
};

static void computing_open(struct qmm_writer *w, struct kernel *k, struct computing *c)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const unsigned of_side = g->rows / QMM_UNIT_ROWS * g->unit.bytes;
	c->frees = u_lt(b, w->kit.lane, I(g->cast));
	c->unit = u_mad(b, w->side, I(of_side), k->w_ring);
	c->unit = u_mad(b, u_and(b, w->kit.warp, I(3)), I(g->unit.bytes), c->unit);
	ring_open(w, &c->w, g->stages, g->side * of_side, k->w_full);
	ring_open(w, &c->x, g->xstages, g->x_tile_bytes, k->x_full);
	c->previous = u_set(b, k->x_empty);
}

/* The sums of COUNT units; the last slot of activations is not said to be free. */
static void write_units(struct qmm_writer *w, struct kernel *k, struct computing *c, kit_op count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const kit_op loop = tcb_ptx_for_begin(b, I(0), count, I(1), 1);
	const kit_op first = u_eq(b, loop, I(0));
	tcb_kit_wait(b, tcb_ptx_at(c->w.barrier, 0), c->w.parity);
	struct qmm_lane_at lane;
	qmm_write_lane_at(w, tcb_ptx_assume_aligned(b, u_add(b, c->unit, c->w.at), 16), &lane);
	for (unsigned chunk = 0; chunk < QMM_CHUNKS; chunk++) {
		qmm_write_expand(w, &k->chunks, &lane, 0, 4 * g->unit.bytes, chunk);
		for (unsigned term = 0; term < g->unit.x_terms; term++) {
			const int is_first = chunk == 0 && term == 0;
			tcb_kit_wait(b, tcb_ptx_at(c->x.barrier, 0), c->x.parity);
			qmm_write_products(w, &k->chunks, chunk, u_add(b, k->x_ring, c->x.at), &k->sums);
			/* The products before these are done: their activations may go. */
			free_slot(w, c->previous,
				  is_first ? u_lt_and(b, w->kit.lane, I(g->cast), tcb_ptx_not(first)) : c->frees);
			u_add_to(b, c->previous, c->x.barrier, I(8 * g->xstages));
			ring_next(w, &c->x);
		}
	}
	ring_next(w, &c->w);
	tcb_ptx_for_end(b);
	wgmma_wait(b, I(0));
}

static void write_computing(struct qmm_writer *w, struct kernel *k)
{
	struct computing c;
	kit_op half;
	computing_open(w, k, &c);
	qmm_write_zero(w, &k->sums);
	qmm_write_chunks_open(w, &k->chunks);
	qmm_write_halves_begin(w, &k->sums, &half);
	write_units(w, k, &c, I(w->g->is_halved ? w->g->slice / 2 : w->g->slice));
	if (w->g->is_halved)
		free_slot(w, c.previous, c.frees);
	qmm_write_halves_end(w, &k->sums, half);
}

/* Each tile that the block has units of. */
static void write_computing_dealt(struct qmm_writer *w, struct kernel *k, const struct qmm_deal *deal)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op units = I(w->g->row_units);
	struct computing c;
	computing_open(w, k, &c);
	qmm_write_chunks_open(w, &k->chunks);
	tcb_kit_depend(&w->kit);
	const kit_op last = u_div(b, u_sub(b, deal->end, I(1)), units);
	const kit_op tile = tcb_ptx_for_begin(b, u_div(b, deal->begin, units), u_add(b, last, I(1)), I(1), 1);
	const kit_op first = u_mul(b, tile, units), end = u_min(b, u_add(b, first, units), deal->end);
	const kit_op count = u_sub(b, end, u_max(b, first, deal->begin));
	qmm_write_zero(w, &k->sums);
	write_units(w, k, &c, count);
	free_slot(w, c.previous, c.frees);
	qmm_write_dealt_results(w, deal, tile, u_eq(b, count, units), &k->sums);
	tcb_ptx_for_end(b);
}

void qmm_write_stream(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	struct kernel kernel = { 0 }, *k = &kernel;
	struct qmm_deal deal;
	open_memory(w, k);
	if (g->is_dealt)
		qmm_write_deal_open(w, &deal);
	qmm_write_join_open(w);
	tcb_ptx_if_begin(b, (g->askers > 1 ? u_ge : u_eq)(b, w->kit.warp, I(g->warps)));
	if (g->is_traded)
		registers_fewer(b, I(QMM_TRADE_LEFT));
	if (g->by_grid) {
		tcb_ptx_if_begin(b, u_gt(b, w->kit.warp, I(g->warps)));
		tcb_kit_depend(&w->kit);
		qmm_write_x_share(w);
		tcb_ptx_if_begin(b, u_eq(b, w->kit.lane, I(0)));
		qmm_write_x_done(w);
		tcb_ptx_if_end(b);
		tcb_ptx_if_end(b);
	}
	if (g->askers > 1) {
		tcb_ptx_if_begin(b, u_eq(b, w->kit.tid, I(g->warps * WARP)));
	} else {
		tcb_ptx_if_begin(b, u_eq(b, w->kit.lane, I(0)));
	}
	if (g->is_dealt)
		write_asking_dealt(w, k, &deal);
	else
		write_asking(w, k);
	tcb_ptx_if_end(b);
	qmm_write_join_meet(w);
	tcb_ptx_if_else(b);
	if (g->is_traded)
		registers_more(b, I(QMM_TRADE_TAKEN));
	if (g->is_dealt) {
		write_computing_dealt(w, k, &deal);
		tcb_ptx_if_end(b);
		return;
	}
	write_computing(w, k);
	qmm_write_join_meet(w);
	if (g->has_parts && g->join != TCB_JOIN_CLUSTER) /* the parts lie where the rings were */
		barrier_named(b, I(1), I(g->warps * WARP));
	else
		tcb_kit_depend(&w->kit);
	qmm_write_results(w, u_add(b, w->first, w->side), &k->sums);
	tcb_ptx_if_end(b);
}
