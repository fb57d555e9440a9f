/* SPDX-License-Identifier: MIT
 *
 * A warp's own ring of tiles in shared memory: a tile is the warp's superblocks
 * of one group of rows.  No other warp sees it, so a tile in use needs no
 * barrier of the block, only one of the warp before its slot is filled again.
 *
 * copy=bulk: lane 0 asks for whole rows with cp.async.bulk; an mbarrier a slot
 * counts the bytes.  copy=async: each lane copies 16 bytes at a time; a group of
 * copies a tile, empty ones past the end included, so that counting groups
 * counts tiles.
 *
 * In a slot: native, rows of superblocks as stored; else the codes of all rows,
 * then the headers.
 */
#include "kernels/quant_matvec/quant_matvec_gpu.h"

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

enum { WARP = 32, CHUNK = 16, HEADER_BYTES = 16 };

/* One array that a tile takes bytes from: codes (with the headers when native), or headers. */
struct stream {
	q4k_op source;              /* the warp's part of row 0 */
	unsigned stride, row_bytes; /* of a superblock; of a row of the tile */
	unsigned at;                /* in the slot */
};

static unsigned streams_of(const struct q4k_writer *w, const struct q4k_ring *ring, struct stream out[2])
{
	const struct q4k_gpu *g = w->g;
	out[0] = (struct stream){ ring->codes, g->code_stride, g->share * g->code_stride, 0 };
	out[1] = (struct stream){ ring->headers, g->header_stride, g->share * g->header_stride, g->slot_headers };
	return g->layout == TCB_LAYOUT_NATIVE ? 1 : 2;
}

void q4k_write_ring_open(struct q4k_writer *w, struct q4k_ring *ring)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const unsigned is_native = g->layout == TCB_LAYOUT_NATIVE;
	const q4k_op first = OP2(b, "mul.lo.u32", w->ks, I(g->share));
	*ring = (struct q4k_ring){ 0 };
	ring->first_slot = OP3(b, "mad.lo.u32", w->warp, I(g->stages * g->slot_bytes), w->shared);
	ring->slot = OP1(b, "mov.u32", ring->first_slot);
	ring->slots_end = OP2(b, "add.u32", ring->first_slot, I(g->stages * g->slot_bytes));
	ring->codes = OP3(b, "mad.wide.u32", first, I(g->code_stride), w->codes);
	ring->headers = is_native ? ring->codes : OP3(b, "mad.wide.u32", first, I(g->header_stride), w->headers);
	ring->code_lane = OP3(b, "mad.lo.u32", w->within, I(g->code_stride), I(is_native ? HEADER_BYTES : 0));
	ring->code_lane = OP3(b, "mad.lo.u32", w->piece, I(g->vec), ring->code_lane);
	ring->header_lane = OP3(b, "mad.lo.u32", w->within, I(g->header_stride), I(g->slot_headers));
	if (g->is_partial) {
		const unsigned left = g->share - (g->steps - 1) * g->step;
		const q4k_op within = OP2(b, "min.u32", w->within, I(left - 1));
		ring->code_last = OP3(b, "mad.lo.u32", within, I(g->code_stride), I(is_native ? HEADER_BYTES : 0));
		ring->code_last = OP3(b, "mad.lo.u32", w->piece, I(g->vec), ring->code_last);
		ring->header_last = OP3(b, "mad.lo.u32", within, I(g->header_stride), I(g->slot_headers));
	}
	if (g->copy == TCB_COPY_ASYNC)
		return;
	ring->first_barrier =
		OP3(b, "mad.lo.u32", w->warp, I(g->stages * 8), OP2(b, "add.u32", w->shared, I(g->barrier_at)));
	ring->barrier = OP1(b, "mov.u32", ring->first_barrier);
	ring->parity = q4k_write_constant(w, "u32", I(0));
	tcb_ptx_guard(b, OP2(b, "setp.eq.u32", w->lane, I(0)));
	for (unsigned i = 0; i < g->stages; i++)
		OP2(b, "mbarrier.init.shared::cta.b64", tcb_ptx_at(ring->first_barrier, 8 * i), I(1));
	tcb_ptx_op0(b, "fence.mbarrier_init.release.cluster");
	tcb_ptx_op0(b, "fence.proxy.async.shared::cta"); /* the copies count on the barriers before any other thread */
	tcb_ptx_unguard(b);
	tcb_ptx_op1(b, "bar.warp.sync", I(-1)); /* says to all lanes, and to who looks for races, that they are there */
}

/* A row of a tile by lane 0: one copy. */
static void fill_bulk(struct q4k_writer *w, const struct stream *s, q4k_op source, q4k_op slot, unsigned slot_at,
		      q4k_op barrier)
{
	tcb_ptx_op4(&w->b, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
		    tcb_ptx_at(slot, slot_at), tcb_ptx_at(source, 0), I(s->row_bytes), barrier);
}

/* The same by all lanes, 16 bytes each at a time. */
static void fill_async(struct q4k_writer *w, const struct stream *s, q4k_op source, q4k_op slot, unsigned slot_at)
{
	struct tcb_ptx_build *b = &w->b;
	const q4k_op lane_at = OP2(b, "shl.b32", w->lane, I(4));
	const q4k_op from = OP2(b, "add.u64", source, OP1(b, "cvt.u64.u32", lane_at)),
		     to = OP2(b, "add.u32", slot, lane_at);
	for (unsigned at = 0; at < s->row_bytes; at += WARP * CHUNK) {
		const unsigned left = s->row_bytes - at;
		if (left < WARP * CHUNK)
			tcb_ptx_guard(b, OP2(b, "setp.lt.u32", lane_at, I(left)));
		OP3(b, "cp.async.cg.shared.global", tcb_ptx_at(to, slot_at + at), tcb_ptx_at(from, at), I(CHUNK));
		if (left < WARP * CHUNK)
			tcb_ptx_unguard(b);
	}
}

void q4k_write_ring_fill(struct q4k_writer *w, struct q4k_ring *ring, q4k_op group, int slot)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const unsigned slot_at = slot < 0 ? 0 : (unsigned)slot * g->slot_bytes;
	const q4k_op base = slot < 0 ? ring->slot : ring->first_slot;
	const int is_bulk = g->copy == TCB_COPY_BULK;
	const q4k_op barrier = tcb_ptx_at(slot < 0 ? ring->barrier : ring->first_barrier, slot < 0 ? 0 : 8 * slot);
	q4k_op has = OP2(b, "setp.lt.u32", group, w->end);
	struct stream stream[2];
	struct tcb_ptx_if scope;
	const unsigned count = streams_of(w, ring, stream);
	if (is_bulk)
		has = OP3(b, "setp.eq.and.u32", w->lane, I(0), has);
	tcb_ptx_if_begin(b, &scope, has);
	if (is_bulk)
		OP2(b, "mbarrier.arrive.expect_tx.shared::cta.b64", barrier,
		    I((int64_t)g->rows * g->share * Q4K_BLOCK_BYTES));
	for (unsigned i = 0; i < g->rows; i++) {
		const q4k_op row = q4k_write_row(w, group, i);
		for (unsigned k = 0; k < count; k++) {
			const struct stream *s = &stream[k];
			const q4k_op from =
				OP3(b, "mad.wide.u32", row, I((int64_t)g->row_blocks * s->stride), s->source);
			const unsigned at = slot_at + s->at + i * s->row_bytes;
			if (is_bulk)
				fill_bulk(w, s, from, base, at, barrier);
			else
				fill_async(w, s, from, base, at);
		}
	}
	tcb_ptx_if_end(b, &scope);
	if (!is_bulk)
		tcb_ptx_op0(b, "cp.async.commit_group");
}

void q4k_write_ring_wait(struct q4k_writer *w, struct q4k_ring *ring)
{
	struct tcb_ptx_build *b = &w->b;
	if (w->g->copy == TCB_COPY_ASYNC) {
		tcb_ptx_op1(b, "cp.async.wait_group", I(w->g->stages - 1));
		tcb_ptx_op1(b, "bar.warp.sync", I(-1));
		return;
	}
	struct tcb_ptx_for wait;
	tcb_ptx_repeat_begin(b, &wait);
	const q4k_op done =
		OP2(b, "mbarrier.try_wait.parity.shared::cta.b64", tcb_ptx_at(ring->barrier, 0), ring->parity);
	tcb_ptx_repeat_end(b, &wait, tcb_ptx_not(done));
}

void q4k_write_ring_take(struct q4k_writer *w, struct q4k_ring *ring, unsigned row, unsigned step,
			 struct q4k_lane_w *out)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	static const char *const loads[] = { "", "ld.shared.b32", "ld.shared.v2.b32", "", "ld.shared.v4.b32" };
	const int is_last = g->is_partial && step == g->steps - 1;
	const unsigned block = row * g->share + step * g->step;
	const q4k_op code = OP2(b, "add.u32", ring->slot, is_last ? ring->code_last : ring->code_lane);
	const q4k_op header = OP2(b, "add.u32", ring->slot, is_last ? ring->header_last : ring->header_lane);
	tcb_ptx_load(b, "ld.shared.v4.b32", tcb_ptx_at(header, block * g->header_stride), out->header, 4);
	tcb_ptx_load(b, loads[g->vec / 4], tcb_ptx_at(code, block * g->code_stride), out->code, g->vec / 4);
}

void q4k_write_ring_next(struct q4k_writer *w, struct q4k_ring *ring)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	q4k_op again;
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
