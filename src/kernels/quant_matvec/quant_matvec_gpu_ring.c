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
#include "kernels/quant_matvec/quant_matvec_gpu.h"

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

enum { WARP = 32, CHUNK = 16 };

/* The lane's parts of a superblock, the WITHIN-th of a step, from the slot's beginning. */
static void lane_parts(struct qmv_writer *w, struct qmv_ring *ring, qmv_op within, struct qmv_where *out)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmv_gpu *g = w->g;
	for (unsigned part = 0; part < QMV_PARTS; part++) {
		const struct qmv_stream *s = &g->stream[g->stream_of[part]];
		if (!g->format->bytes[part])
			continue;
		out->at[part] = OP3(b, "mad.lo.u32", within, I(s->stride), w->part[part]);
		if (g->stream_count > 1 && s->stride % CHUNK) { /* what was copied begins at the 16 bytes before */
			const qmv_op at = OP1(b, "cvt.u32.u64", ring->source[g->stream_of[part]]);
			out->at[part] = OP2(b, "add.u32", out->at[part], OP2(b, "and.b32", at, I(CHUNK - 1)));
		}
	}
	qmv_write_where(w, "u32", out);
}

void qmv_write_ring_open(struct qmv_writer *w, struct qmv_ring *ring)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmv_gpu *g = w->g;
	const qmv_op first = OP2(b, "mul.lo.u32", w->ks, I(g->share));
	*ring = (struct qmv_ring){ 0 };
	ring->first_slot = OP3(b, "mad.lo.u32", w->warp, I(g->stages * g->slot_bytes), w->shared);
	ring->slot = OP1(b, "mov.u32", ring->first_slot);
	ring->slots_end = OP2(b, "add.u32", ring->first_slot, I(g->stages * g->slot_bytes));
	for (unsigned i = 0; i < g->stream_count; i++)
		ring->source[i] = OP3(b, "mad.wide.u32", first, I(g->stream[i].stride), w->weights[i]);
	lane_parts(w, ring, w->within, &ring->lane);
	if (g->is_partial) {
		const unsigned left = g->share - (g->steps - 1) * g->step;
		lane_parts(w, ring, OP2(b, "min.u32", w->within, I(left - 1)), &ring->last);
	}
	if (g->copy == TCB_COPY_ASYNC)
		return;
	ring->first_barrier =
		OP3(b, "mad.lo.u32", w->warp, I(g->stages * 8), OP2(b, "add.u32", w->shared, I(g->barrier_at)));
	ring->barrier = OP1(b, "mov.u32", ring->first_barrier);
	ring->parity = qmv_write_constant(w, "u32", I(0));
	tcb_ptx_guard(b, OP2(b, "setp.eq.u32", w->lane, I(0)));
	for (unsigned i = 0; i < g->stages; i++)
		OP2(b, "mbarrier.init.shared::cta.b64", tcb_ptx_at(ring->first_barrier, 8 * i), I(1));
	tcb_ptx_op0(b, "fence.mbarrier_init.release.cluster");
	tcb_ptx_op0(b, "fence.proxy.async.shared::cta"); /* the copies count on the barriers before any other thread */
	tcb_ptx_unguard(b);
	tcb_ptx_op1(b, "bar.warp.sync", I(-1)); /* says to all lanes, and to who looks for races, that they are there */
}

/* BYTES of a row by lane 0: one copy. */
static void fill_bulk(struct qmv_writer *w, unsigned bytes, qmv_op source, qmv_op slot, unsigned slot_at,
		      qmv_op barrier)
{
	tcb_ptx_op4(&w->b, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
		    tcb_ptx_at(slot, slot_at), tcb_ptx_at(source, 0), I(bytes), barrier);
}

/* The same by all lanes, 16 bytes each at a time. */
static void fill_async(struct qmv_writer *w, unsigned bytes, qmv_op source, qmv_op slot, unsigned slot_at)
{
	struct tcb_ptx_build *b = &w->b;
	const qmv_op lane_at = OP2(b, "shl.b32", w->lane, I(4));
	const qmv_op from = OP2(b, "add.u64", source, OP1(b, "cvt.u64.u32", lane_at)),
		     to = OP2(b, "add.u32", slot, lane_at);
	for (unsigned at = 0; at < bytes; at += WARP * CHUNK) {
		const unsigned left = bytes - at;
		if (left < WARP * CHUNK)
			tcb_ptx_guard(b, OP2(b, "setp.lt.u32", lane_at, I(left)));
		OP3(b, "cp.async.cg.shared.global", tcb_ptx_at(to, slot_at + at), tcb_ptx_at(from, at), I(CHUNK));
		if (left < WARP * CHUNK)
			tcb_ptx_unguard(b);
	}
}

void qmv_write_ring_fill(struct qmv_writer *w, struct qmv_ring *ring, qmv_op group, unsigned chunk, int slot)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmv_gpu *g = w->g;
	const unsigned slot_at = slot < 0 ? 0 : (unsigned)slot * g->slot_bytes;
	const qmv_op base = slot < 0 ? ring->slot : ring->first_slot;
	const int is_bulk = g->copy == TCB_COPY_BULK;
	const qmv_op barrier = tcb_ptx_at(slot < 0 ? ring->barrier : ring->first_barrier, slot < 0 ? 0 : 8 * slot);
	qmv_op has = OP2(b, "setp.lt.u32", group, w->end);
	struct tcb_ptx_if scope;
	if (is_bulk)
		has = OP3(b, "setp.eq.and.u32", w->lane, I(0), has);
	tcb_ptx_if_begin(b, &scope, has);
	if (is_bulk)
		OP2(b, "mbarrier.arrive.expect_tx.shared::cta.b64", barrier, I(g->slot_copied));
	for (unsigned i = 0; i < g->rows; i++) {
		const qmv_op row = qmv_write_row(w, group, i);
		for (unsigned k = 0; k < g->stream_count; k++) {
			const struct qmv_stream *s = &g->stream[k];
			const unsigned at = slot_at + s->slot_at + i * s->pitch;
			qmv_op from =
				OP3(b, "mad.wide.u32", row, I((int64_t)g->row_blocks * s->stride), ring->source[k]);
			if (chunk)
				from = OP2(b, "add.u64", from, I((int64_t)chunk * (g->share / g->chunks) * s->stride));
			if (s->stride % CHUNK)
				from = OP2(b, "and.b64", from, I(-CHUNK));
			if (is_bulk)
				fill_bulk(w, s->copied, from, base, at, barrier);
			else
				fill_async(w, s->copied, from, base, at);
		}
	}
	tcb_ptx_if_end(b, &scope);
	if (!is_bulk)
		tcb_ptx_op0(b, "cp.async.commit_group");
}

void qmv_write_ring_wait(struct qmv_writer *w, struct qmv_ring *ring)
{
	struct tcb_ptx_build *b = &w->b;
	if (w->g->copy == TCB_COPY_ASYNC) {
		tcb_ptx_op1(b, "cp.async.wait_group", I(w->g->stages - 1));
		tcb_ptx_op1(b, "bar.warp.sync", I(-1));
		return;
	}
	struct tcb_ptx_for wait;
	tcb_ptx_repeat_begin(b, &wait);
	const qmv_op done =
		OP2(b, "mbarrier.try_wait.parity.shared::cta.b64", tcb_ptx_at(ring->barrier, 0), ring->parity);
	tcb_ptx_repeat_end(b, &wait, tcb_ptx_not(done));
}

void qmv_write_ring_take(struct qmv_writer *w, struct qmv_ring *ring, unsigned row, unsigned step,
			 struct qmv_lane_w *out)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmv_gpu *g = w->g;
	const struct qmv_where *lane = g->is_partial && step == g->steps - 1 ? &ring->last : &ring->lane;
	struct qmv_where where = *lane;
	int64_t offset[QMV_PARTS];
	for (unsigned part = 0; part < QMV_PARTS; part++) {
		const struct qmv_stream *s = &g->stream[g->stream_of[part]];
		offset[part] = s->slot_at + (int64_t)row * s->pitch + (int64_t)step * g->step * s->stride;
		if (!g->format->bytes[part])
			continue;
		where.at[part] = OP2(b, "add.u32", ring->slot, lane->at[part]);
		if (g->is_narrow && part <= QMV_HIGH)
			where.tail[part] = OP2(b, "add.u32", ring->slot, lane->tail[part]);
	}
	qmv_write_lane_load(w, "ld.shared", &where, offset, 0, out);
}

void qmv_write_ring_next(struct qmv_writer *w, struct qmv_ring *ring)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmv_gpu *g = w->g;
	qmv_op again;
	tcb_ptx_into2(b, "add.u32", ring->slot, ring->slot, I(g->slot_bytes));
	again = OP2(b, "setp.eq.u32", ring->slot, ring->slots_end);
	tcb_ptx_into3(b, "selp.u32", ring->slot, ring->first_slot, ring->slot, again);
	if (g->copy == TCB_COPY_ASYNC)
		return;
	tcb_ptx_into2(b, "add.u32", ring->barrier, ring->barrier, I(8));
	tcb_ptx_into3(b, "selp.u32", ring->barrier, ring->first_barrier, ring->barrier, again);
	tcb_ptx_guard(b, again);
	tcb_ptx_into2(b, "xor.b32", ring->parity, ring->parity, I(1));
	tcb_ptx_unguard(b);
}
