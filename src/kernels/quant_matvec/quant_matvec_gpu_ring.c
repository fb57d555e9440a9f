/* SPDX-License-Identifier: MIT
 *
 * A warp's own ring of tiles in shared memory: a tile is the warp's superblocks,
 * or an equal part of these (a chunk), of one group of rows.  No other warp sees it, so a tile in use needs no
 * barrier of the block, only one of the warp before its slot is filled again.
 *
 * copy=bulk: lane 0 asks for whole rows with cp.async.bulk; an mbarrier a slot
 * counts the bytes.  copy=async: each lane copies 16 bytes at a time; a group of
 * copies a tile, empty ones past the end included, so that counting groups
 * counts tiles.
 *
 * In a slot: native, rows of superblocks as stored; else the codes of all rows,
 * then their high bits, d and scales.
 */
#include "kernels/quant_matvec/quant_matvec_gpu_ring.h"
#include "kernels/quant_matvec/quant_matvec_gpu_mma.h"

enum { CHUNK = 16 };

/* The lane's parts of a superblock, the WITHIN-th of a step, from the slot's beginning. */
static void lane_parts(struct qmv_writer *w, struct qmv_ring *ring, kit_op within, struct qmv_where *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	for (unsigned part = 0; part < QMV_PARTS; part++) {
		const struct qmv_stream *s = &g->stream[g->stream_of[part]];
		if (!g->format->bytes[part])
			continue;
		out->at[part] = u_mad(b, within, I(s->stride), w->part[part]);
		if (g->stream_count > 1 && s->stride % CHUNK) { /* what was copied begins at the 16 bytes before */
			const kit_op at = u_from_l(b, ring->source[g->stream_of[part]]);
			out->at[part] = u_add(b, out->at[part], u_and(b, at, I(CHUNK - 1)));
		}
	}
	qmv_write_where(w, "u32", out);
}

void qmv_write_ring_open(struct qmv_writer *w, struct qmv_ring *ring)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const kit_op first = u_mul(b, w->ks, I(g->share));
	*ring = (struct qmv_ring){
		.kit = { .stages = g->stages, .slot_bytes = g->slot_bytes, .is_bulk = g->copy == TCB_COPY_BULK }
	};
	tcb_kit_ring_slots(b, &ring->kit, w->kit.warp, w->kit.shared);
	for (unsigned i = 0; i < g->stream_count; i++)
		ring->source[i] = l_mad_wide(b, first, I(g->stream[i].stride), w->weights[i]);
	lane_parts(w, ring, w->within, &ring->lane);
	if (g->is_partial) {
		const unsigned left = g->share - (g->steps - 1) * g->step;
		lane_parts(w, ring, u_min(b, w->within, I(left - 1)), &ring->last);
	}
	if (!ring->kit.is_bulk)
		return;
	tcb_kit_ring_barriers(b, &ring->kit, w->kit.warp, u_add(b, w->kit.shared, I(g->barrier_at)));
	tcb_kit_ring_barriers_init(b, &ring->kit, u_eq(b, w->kit.lane, I(0)));
	tcb_kit_warp_barrier(b); /* says to all lanes, and to who looks for races, that they are there */
}

kit_op qmv_write_row(struct qmv_writer *w, kit_op group, unsigned i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned rows = w->g->rows >> (w->g->is_gated && !w->g->is_mma); /* isa=mma: of tiles */
	const kit_op row = u_mad(b, group, I(rows), I(i % rows));              /* i from ROWS on: of up */
	const kit_op least = u_min(b, row, w->last_row);
	return i < rows ? least : u_add(b, least, w->rows);
}

/* BYTES of a row by all lanes. */
static void fill_async(struct qmv_writer *w, unsigned bytes, kit_op source, kit_op slot, unsigned slot_at)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op lane_at = u_shl(b, w->kit.lane, I(4));
	const kit_op from = tcb_kit_behind(b, source, lane_at);
	tcb_kit_copy_lanes(b, lane_at, from, u_add(b, slot, lane_at), slot_at, bytes);
}

void qmv_write_ring_fill(struct qmv_writer *w, struct qmv_ring *ring, kit_op group, unsigned chunk, int which)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const struct tcb_kit_slot slot = tcb_kit_ring_slot(&ring->kit, which);
	kit_op has = u_lt(b, group, w->end);
	if (ring->kit.is_bulk)
		has = u_eq_and(b, w->kit.lane, I(0), has);
	tcb_ptx_if_begin(b, has);
	if (ring->kit.is_bulk)
		tcb_kit_expect(b, slot.barrier, I(g->slot_copied));
	for (unsigned i = 0; i < g->rows; i++) {
		const kit_op row = qmv_write_row(w, group, i);
		for (unsigned k = 0; k < g->stream_count; k++) {
			const struct qmv_stream *s = &g->stream[k];
			const unsigned at = slot.at + s->slot_at + i * s->pitch;
			kit_op from = l_mad_wide(b, row, I((int64_t)g->row_blocks * s->stride), ring->source[k]);
			if (chunk)
				from = l_add(b, from, I((int64_t)chunk * (g->share / g->chunks) * s->stride));
			if (s->stride % CHUNK)
				from = l_and(b, from, I(-CHUNK));
			if (ring->kit.is_bulk)
				tcb_kit_copy_bulk(b, tcb_ptx_at(slot.base, at), from, I(s->copied), slot.barrier, NULL);
			else
				fill_async(w, s->copied, from, slot.base, at);
		}
	}
	tcb_ptx_if_end(b);
	tcb_kit_ring_filled(b, &ring->kit);
}

void qmv_write_ring_wait(struct qmv_writer *w, const struct qmv_ring *ring)
{
	tcb_kit_ring_wait(&w->kit.b, &ring->kit);
	if (!ring->kit.is_bulk)
		tcb_kit_warp_barrier(&w->kit.b);
}

void qmv_write_ring_take(struct qmv_writer *w, struct qmv_ring *ring, unsigned row, unsigned step,
			 struct qmv_lane_w *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const struct qmv_where *lane = g->is_partial && step == g->steps - 1 ? &ring->last : &ring->lane;
	struct qmv_where where = *lane;
	int64_t offset[QMV_PARTS];
	for (unsigned part = 0; part < QMV_PARTS; part++) {
		const struct qmv_stream *s = &g->stream[g->stream_of[part]];
		offset[part] = s->slot_at + (int64_t)row * s->pitch + (int64_t)step * g->step * s->stride;
		if (!g->format->bytes[part])
			continue;
		where.at[part] = u_add(b, ring->kit.slot, lane->at[part]);
		if (g->is_narrow && part <= QMV_HIGH)
			where.tail[part] = u_add(b, ring->kit.slot, lane->tail[part]);
	}
	(g->is_mma ? qmv_write_mma_load : qmv_write_lane_load)(w, TCB_KIT_SHARED, &where, offset, 0, out);
}
