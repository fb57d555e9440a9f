/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls' GPU kernel with mma.sync, or wgmma, for few tokens:
 * weights in layout f and activations come in, sums of groups of rows go to
 * quant_matmul_gpu_join.c.
 *
 * A warp's weights pass through a ring of its own in shared memory, which no other
 * warp sees (copy=bulk: lane 0 asks, an mbarrier a slot counts the bytes;
 * copy=async: each lane copies 16 bytes at a time), or go straight to registers, a
 * unit ahead (copy=ldg).  The block's activations stay in shared memory.
 */
#include "kernels/quant_matmul/quant_matmul_gpu_join.h"
#include "kernels/quant_matmul/quant_matmul_gpu_s8.h"
#include "kernels/quant_matmul/quant_matmul_gpu_unit.h"
#include "kernels/quant_matmul/quant_matmul_gpu_wgmma.h"
#include "kernels/quant_matmul/quant_matmul_gpu_x.h"

struct ring {
	struct tcb_kit_ring kit;      /* of the warp */
	kit_op fill_group, fill_unit; /* of the next tile to ask for: group, unit of the warp's share */
};

struct kernel {
	kit_op image, b_lane[QMM_X_PARTS]; /* where a lane reads activations: halves of a row; of q8 the other parts */
	kit_op x_at[QMM_X_PARTS];          /* the same for the unit in use */
	kit_op barrier_first, barrier_at;  /* x_is_counted: the first unit's barrier, that of the unit in use */
	struct qmm_sums sums;
	struct qmm_lane_at lane_at[QMM_ROW_TILES_MAX]; /* of the tile, or of the warp's rows in memory */
	struct qmm_raw raw[QMM_ROW_TILES_MAX];
	struct qmm_chunks chunks; /* wgmma: instead of these */
	struct ring ring;
};

/* --- the ring --- */

static void ring_open(struct qmm_writer *w, struct ring *r)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	r->kit = (struct tcb_kit_ring){ .stages = g->stages,
					.slot_bytes = g->tile_bytes,
					.is_bulk = g->copy == TCB_COPY_BULK };
	tcb_kit_ring_slots(b, &r->kit, w->kit.warp, w->kit.shared);
	r->fill_group = u_add(b, w->first, w->side);
	r->fill_unit = u_set(b, I(0));
	if (!r->kit.is_bulk)
		return;
	tcb_kit_ring_barriers(b, &r->kit, w->kit.warp, u_add(b, w->kit.shared, I(g->barrier_at)));
	tcb_kit_ring_barriers_init(b, &r->kit, u_eq(b, w->kit.lane, I(0)));
	tcb_kit_warp_barrier(b);
}

/* Which 16 rows of a group are the warp's tile I. */
static kit_op warp_tile(struct qmm_writer *w, unsigned i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	return w->g->is_wgmma ? u_add(b, u_and(b, w->kit.warp, I(3)), I(4 * i)) : I(i);
}

/* BYTES by all lanes. */
static void copy_async(struct qmm_writer *w, kit_op source, kit_op slot, unsigned slot_at, unsigned bytes)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op lane_at = u_shl(b, w->kit.lane, I(4));
	const kit_op from = tcb_ptx_assume_aligned(b, tcb_kit_element(b, source, lane_at, 1), 16);
	tcb_kit_copy_lanes(b, lane_at, from, u_add(b, slot, lane_at), slot_at, bytes);
}

/* Asks for the next tile, if the block has it, into slot WHICH (tcb_kit_ring_slot). */
static void ring_fill(struct qmm_writer *w, struct ring *r, int which)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const struct tcb_kit_slot slot = tcb_kit_ring_slot(&r->kit, which);
	const unsigned bytes = g->unroll * g->unit.bytes;
	kit_op has = u_lt(b, r->fill_group, w->end), unit;
	if (r->kit.is_bulk)
		has = u_eq_and(b, w->kit.lane, I(0), has);
	tcb_ptx_if_begin(b, has);
	if (r->kit.is_bulk)
		tcb_kit_expect(b, slot.barrier, I((int64_t)g->row_tiles * bytes));
	unit = r->fill_unit;
	if (g->ksplit > 1)
		unit = u_mad(b, w->ks, I(g->share), unit);
	for (unsigned i = 0; i < g->row_tiles; i++) {
		const kit_op rows = qmm_write_rows_at(w, r->fill_group, warp_tile(w, i));
		const kit_op from = tcb_kit_element(b, rows, unit, g->unit.bytes);
		if (r->kit.is_bulk)
			tcb_kit_copy_bulk(b, tcb_ptx_at(slot.base, slot.at + i * bytes), from, I(bytes), slot.barrier,
					  NULL);
		else
			copy_async(w, from, slot.base, slot.at + i * bytes, bytes);
	}
	tcb_ptx_if_end(b);
	tcb_kit_ring_filled(b, &r->kit);
	if (g->steps > 1) {
		const kit_op next = u_add(b, r->fill_unit, I(g->unroll));
		const kit_op is_last = u_eq(b, next, I(g->share));
		u_select_to(b, r->fill_unit, I(0), next, is_last);
		tcb_ptx_guard(b, is_last);
		u_add_to(b, r->fill_group, r->fill_group, I(g->side));
		tcb_ptx_unguard(b);
	} else {
		u_add_to(b, r->fill_group, r->fill_group, I(g->side));
	}
}

static void ring_wait(struct qmm_writer *w, const struct ring *r)
{
	tcb_kit_ring_wait(&w->kit.b, &r->kit);
	if (!r->kit.is_bulk)
		tcb_kit_warp_barrier(&w->kit.b);
}

/* --- products --- */

/* mma: the lane's row of matrices.  wgmma: the warp's first tile. */
static void x_open(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned share_bytes = w->g->share * w->g->unit_tiles * w->g->x_tile_bytes;
	if (w->g->x_is_counted)
		k->barrier_first = u_mad(b, w->ks, I(w->g->share * 8), w->x_barrier);
	if (w->g->is_wgmma) {
		k->b_lane[0] = u_mad(b, w->ks, I(share_bytes), k->image);
		k->b_lane[1] = k->b_lane[0];
		return;
	}
	const kit_op share = w->g->ksplit > 1 ? u_mad(b, w->ks, I(share_bytes), k->image) : k->image;
	qmm_write_lane_rows(w, share, k->b_lane);
	if (w->g->group) {
		k->b_lane[QMM_X_SUMS] = u_mad(b, w->kit.lane, I(8), share);
		k->b_lane[QMM_X_SCALES] = u_mad(b, w->pair, I(QMM_SCALE_STRIDE), share);
	}
}

/* One unit, OFFSET units behind the tile's first, of all rows; codes come from raw, or from the ring's tile. */
static void write_unit(struct qmm_writer *w, struct kernel *k, unsigned offset)
{
	const struct qmm_gpu *g = w->g;
	qmm_write_unit(w, &k->lane_at[0], offset * g->unit.bytes, g->unroll * g->unit.bytes, k->raw, k->x_at,
		       offset * g->unit_tiles * g->x_tile_bytes, g->token_groups, &k->sums);
}

/* The same under contract q8. */
static void write_unit_s8(struct qmm_writer *w, struct kernel *k, unsigned offset)
{
	const struct qmm_gpu *g = w->g;
	qmm_write_unit_s8(w, &k->lane_at[0], offset * g->unit.bytes, g->unroll * g->unit.bytes, k->raw, k->x_at,
			  offset * g->x_tile_bytes, k->sums.of[0]);
}

/* The same with wgmma. */
static void write_unit_wgmma(struct qmm_writer *w, struct kernel *k, unsigned offset)
{
	const struct qmm_gpu *g = w->g;
	for (unsigned chunk = 0; chunk < QMM_CHUNKS; chunk++) {
		qmm_write_expand(w, &k->chunks, &k->lane_at[0], offset * g->unit.bytes, g->unroll * g->unit.bytes,
				 chunk);
		for (unsigned term = 0; term < g->unit.x_terms; term++) {
			const unsigned tile = offset * g->unit_tiles + chunk * g->unit.x_terms + term;
			qmm_write_products(w, &k->chunks, chunk,
					   u_add(&w->kit.b, k->x_at[0], I(tile * g->x_tile_bytes)), &k->sums);
		}
	}
}

static unsigned x_parts(const struct qmm_gpu *g)
{
	return g->group ? QMM_X_PARTS : 2;
}

static void x_start(struct qmm_writer *w, struct kernel *k)
{
	for (unsigned i = 0; i < x_parts(w->g); i++)
		k->x_at[i] = u_set(&w->kit.b, k->b_lane[i]);
	if (w->g->x_is_counted)
		k->barrier_at = u_set(&w->kit.b, k->barrier_first);
}

static void x_next(struct qmm_writer *w, struct kernel *k)
{
	const unsigned bytes = w->g->unroll * w->g->unit_tiles * w->g->x_tile_bytes;
	for (unsigned i = 0; i < x_parts(w->g); i++)
		u_add_to(&w->kit.b, k->x_at[i], k->x_at[i], I(bytes));
	if (w->g->x_is_counted)
		u_add_to(&w->kit.b, k->barrier_at, k->barrier_at, I(8 * w->g->unroll));
}

/* --- weights through the ring --- */

/* The tile of weights in SLOT, which is there, and activations from x_at on. */
static void write_tile(struct qmm_writer *w, struct kernel *k, kit_op slot)
{
	const struct qmm_gpu *g = w->g;
	qmm_write_lane_at(w, slot, &k->lane_at[0]);
	for (unsigned i = 0; i < g->unroll; i++) {
		if (g->x_is_counted) /* its first phase stays over: later groups pass at once */
			tcb_kit_wait(&w->kit.b, tcb_ptx_at(k->barrier_at, 8 * i), I(0));
		(g->is_wgmma ? write_unit_wgmma : g->group ? write_unit_s8 : write_unit)(w, k, i);
	}
}

/* All of a share is asked for from the start: one tile after the other, without a loop. */
static void write_whole_share(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned step = 0; step < w->g->steps; step++) {
		if (w->g->is_halved && step == w->g->steps / 2) {
			if (w->g->is_wgmma)
				wgmma_wait(b, I(0));
			qmm_write_half_over(w, &k->sums);
		}
		const struct tcb_kit_slot slot = tcb_kit_ring_slot(&k->ring.kit, (int)step);
		tcb_kit_wait(b, slot.barrier, I(0));
		write_tile(w, k, slot.at ? u_add(b, slot.base, I(slot.at)) : slot.base);
		if (step + 1 < w->g->steps)
			x_next(w, k);
	}
	if (w->g->is_wgmma)
		wgmma_wait(b, I(0));
}

static void write_share(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const unsigned steps = g->is_halved ? g->steps / 2 : g->steps;
	if (steps > 1)
		tcb_ptx_for_begin(b, I(0), I(steps), I(1), 1);
	const kit_op slot = u_set(b, k->ring.kit.slot); /* so that a waiting loop has a header of its own */
	ring_wait(w, &k->ring);
	write_tile(w, k, slot);
	tcb_kit_warp_barrier(b);
	ring_fill(w, &k->ring, TCB_KIT_SLOT_NOW);
	tcb_kit_ring_next(b, &k->ring.kit);
	if (g->steps > 1)
		x_next(w, k);
	if (steps > 1)
		tcb_ptx_for_end(b);
}

/* The share in halves of K, where sums are to be of these. */
static void write_share_in_halves(struct qmm_writer *w, struct kernel *k)
{
	kit_op half;
	qmm_write_halves_begin(w, &k->sums, &half);
	write_share(w, k);
	if (w->g->is_wgmma)
		wgmma_wait(&w->kit.b, I(0));
	qmm_write_halves_end(w, &k->sums, half);
}

static void write_ring_rows(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const kit_op groups = tcb_ptx_for_begin(b, u_add(b, w->first, w->side), w->end, I(g->side), 0);
	qmm_write_zero(w, &k->sums);
	x_start(w, k);
	(g->is_whole ? write_whole_share : write_share_in_halves)(w, k);
	qmm_write_results(w, groups, &k->sums);
	tcb_ptx_for_end(b);
}

/* --- weights and activations through rings --- */

static unsigned slot_bytes(const struct qmm_gpu *g)
{
	return g->unit_tiles * g->x_tile_bytes;
}

/* The first tiles of activations, behind those of weights: a slot stays free. */
static void roll_open(struct qmm_writer *w, struct kernel *k)
{
	for (unsigned i = 0; i < w->g->xstages - 1; i++) {
		qmm_write_x_ask(w, u_add(&w->kit.b, k->image, I(i * slot_bytes(w->g))), I(i));
		copies_commit(&w->kit.b);
	}
}

/* A loop over the units of half HALF of COUNT, or over all. */
static kit_op units_begin(struct qmm_writer *w, kit_op half, unsigned count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (!w->g->is_halved)
		return tcb_ptx_for_begin(b, I(0), I(count), I(1), 1);
	const kit_op first = u_mul(b, half, I(count / 2));
	return tcb_ptx_for_begin(b, first, u_add(b, first, I(count / 2)), I(1), 1);
}

/*
 * A unit at a time.  The barrier says that all copies of its slots are there, and that the slots before are free, which
 * the next copies then fill: one barrier a unit.
 */
static void write_rolling_rows(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	struct ring *r = &k->ring;
	const unsigned last = g->xstages - 1;
	kit_op free_slot = u_set(b, u_add(b, r->kit.first_slot, I(last * g->tile_bytes)));
	kit_op x_free = u_set(b, I(last * slot_bytes(g)));
	kit_op x_offset = u_set(b, I(0)), half;
	qmm_write_zero(w, &k->sums);
	qmm_write_halves_begin(w, &k->sums, &half);
	const kit_op units = units_begin(w, half, g->slice);
	copies_wait(b, I(g->xstages - 2));
	tcb_kit_block_barrier(b);
	const kit_op next = u_add(b, units, I(last)), slot = u_set(b, r->kit.slot);
	tcb_ptx_if_begin(b, u_lt(b, next, I(g->slice)));
	qmm_write_x_ask(w, u_add(b, k->image, x_free), next);
	tcb_ptx_if_end(b);
	u_set_to(b, r->kit.slot, free_slot);
	ring_fill(w, r, TCB_KIT_SLOT_NOW);
	u_set_to(b, r->kit.slot, slot);
	qmm_write_lane_at(w, slot, &k->lane_at[0]);
	for (unsigned i = 0; i < x_parts(g); i++)
		k->x_at[i] = tcb_ptx_assume_aligned(b, u_add(b, k->b_lane[i], x_offset), i < 2 ? 16 : 8);
	(g->group ? write_unit_s8 : write_unit)(w, k, 0);
	u_set_to(b, free_slot, slot);
	tcb_kit_ring_next(b, &r->kit);
	u_set_to(b, x_free, x_offset);
	u_add_to(b, x_offset, x_offset, I(slot_bytes(g)));
	u_select_to(b, x_offset, I(0), x_offset, u_eq(b, x_offset, I(g->xstages * slot_bytes(g))));
	tcb_ptx_for_end(b);
	qmm_write_halves_end(w, &k->sums, half);
	qmm_write_results(w, u_add(b, w->first, w->side), &k->sums);
}

/* --- weights straight to registers --- */

/* The rows of GROUP, from the warp's part of k on. */
static void direct_group(struct qmm_writer *w, struct kernel *k, kit_op group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	for (unsigned i = 0; i < g->row_tiles; i++) {
		kit_op rows = qmm_write_rows_at(w, group, I(i));
		if (g->ksplit > 1)
			rows = tcb_kit_element(b, rows, u_mul(b, w->ks, I(g->share)), g->unit.bytes);
		qmm_write_lane_at(w, rows, &k->lane_at[i]);
	}
}

static void direct_load(struct qmm_writer *w, struct kernel *k)
{
	for (unsigned i = 0; i < w->g->row_tiles; i++) {
		qmm_write_load_header(w, &k->lane_at[i], 0, &k->raw[i]);
		for (unsigned chunk = 0; chunk < QMM_CHUNKS; chunk++)
			qmm_write_load_codes(w, &k->lane_at[i], 0, chunk, &k->raw[i]);
	}
}

static void direct_next(struct qmm_writer *w, struct kernel *k)
{
	for (unsigned i = 0; i < w->g->row_tiles; i++) {
		struct qmm_lane_at *at = &k->lane_at[i];
		l_add_to(&w->kit.b, at->codes, at->codes, I(w->g->unit.bytes));
		if (at->header.kind)
			l_add_to(&w->kit.b, at->header, at->header, I(w->g->unit.bytes));
		if (at->last.kind)
			l_add_to(&w->kit.b, at->last, at->last, I(w->g->unit.bytes));
		if (at->high.kind)
			l_add_to(&w->kit.b, at->high, at->high, I(w->g->unit.bytes));
	}
}

/* The first unit's registers were loaded; each unit's are loaded again as soon as they were used. */
static void write_direct_rows(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const kit_op group = u_add(b, w->first, w->side);
	kit_op half;
	tcb_ptx_if_begin(b, u_lt(b, group, w->end));
	qmm_write_zero(w, &k->sums);
	x_start(w, k);
	qmm_write_halves_begin(w, &k->sums, &half);
	const kit_op steps = units_begin(w, half, g->share);
	(g->group ? write_unit_s8 : write_unit)(w, k, 0);
	direct_next(w, k);
	tcb_ptx_guard(b, u_lt(b, steps, I(g->share - 1)));
	direct_load(w, k);
	tcb_ptx_unguard(b);
	x_next(w, k);
	tcb_ptx_for_end(b);
	qmm_write_halves_end(w, &k->sums, half);
	qmm_write_results(w, group, &k->sums);
	tcb_ptx_if_end(b);
}

static void write_rows(struct qmm_writer *w, struct kernel *k)
{
	x_open(w, k);
	if (w->g->is_wgmma)
		qmm_write_chunks_open(w, &k->chunks);
	(w->is_direct ? write_direct_rows : w->g->is_rolling ? write_rolling_rows : write_ring_rows)(w, k);
}

/* prep=warps: the barriers that tell when units are there stand before the warps part; then none waits for all. */
static void write_beside(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	unsigned asked = 0;
	qmm_write_x_open(w);
	qmm_write_join_open(w);
	tcb_kit_block_barrier(b);
	tcb_ptx_if_begin(b, u_ge(b, w->kit.warp, I(g->warps)));
	tcb_kit_depend(&w->kit);
	qmm_write_x_beside(w, k->image);
	qmm_write_join_meet(w);
	tcb_ptx_if_else(b);
	ring_open(w, &k->ring);
	for (; asked < g->lead && asked < g->stages; asked++)
		ring_fill(w, &k->ring, (int)asked);
	tcb_kit_depend(&w->kit);
	for (; asked < g->stages; asked++)
		ring_fill(w, &k->ring, (int)asked);
	qmm_write_join_meet(w);
	write_rows(w, k);
	tcb_ptx_if_end(b);
}

void qmm_write_mma(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	struct kernel kernel = { 0 }, *k = &kernel;
	unsigned asked = 0;
	k->image = u_add(b, w->kit.shared, I(g->image_at));
	w->is_direct = g->copy == TCB_COPY_LDG;
	if (g->beside) {
		write_beside(w, k);
		return;
	}
	if (w->is_direct)
		direct_group(w, k, u_add(b, w->first, w->side));
	else
		ring_open(w, &k->ring);
	qmm_write_x_open(w);
	qmm_write_join_open(w);
	if (w->is_direct && g->lead)
		direct_load(w, k);
	const unsigned most = g->stages - (g->is_rolling ? 1 : 0);
	for (; !w->is_direct && asked < g->lead && asked < most; asked++)
		ring_fill(w, &k->ring, (int)asked);
	tcb_kit_depend(&w->kit);
	if (g->is_rolling)
		roll_open(w, k);
	else
		(g->own_launch || g->by_grid ? qmm_write_x_copy : qmm_write_x_prepare)(w, k->image);
	for (; !w->is_direct && asked < most; asked++)
		ring_fill(w, &k->ring, (int)asked);
	if (w->is_direct && !g->lead)
		direct_load(w, k);
	if (g->is_wgmma)
		fence_async_shared(b); /* wgmma reads what this thread stored */
	tcb_kit_block_barrier(b);
	qmm_write_join_meet(w);
	write_rows(w, k);
}
