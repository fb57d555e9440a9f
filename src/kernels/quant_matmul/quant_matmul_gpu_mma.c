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
#include "kernels/quant_matmul/quant_matmul_gpu.h"

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

enum { WARP = 32, PIECE = 16 };

struct ring {
	qmm_op first_slot, slots_end, first_barrier; /* of the warp */
	qmm_op slot, barrier, parity;                /* of the tile in use */
	qmm_op fill_group, fill_unit;                /* of the next tile to ask for: group, unit of the warp's share */
};

struct kernel {
	qmm_op image, b_lane[QMM_X_PARTS]; /* where a lane reads activations: halves of a row; of q8 the other parts */
	qmm_op x_at[QMM_X_PARTS];          /* the same for the unit in use */
	qmm_op barrier_first, barrier_at;  /* x_is_bulk: the first unit's barrier, that of the unit in use */
	struct qmm_sums sums;
	struct qmm_lane_at lane_at[QMM_ROW_TILES_MAX]; /* of the tile, or of the warp's rows in memory */
	struct qmm_raw raw[QMM_ROW_TILES_MAX];
	struct qmm_scales scales[QMM_ROW_TILES_MAX];
	struct qmm_chunks chunks; /* wgmma: instead of these two */
	struct ring ring;
};

/* --- the ring --- */

static void ring_open(struct qmm_writer *w, struct ring *r)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	r->first_slot = OP3(b, "mad.lo.u32", w->warp, I(g->stages * g->tile_bytes), w->shared);
	r->slot = OP1(b, "mov.u32", r->first_slot);
	r->slots_end = OP2(b, "add.u32", r->first_slot, I(g->stages * g->tile_bytes));
	r->fill_group = OP2(b, "add.u32", w->first, w->side);
	r->fill_unit = qmm_write_constant(w, "u32", I(0));
	if (g->copy == TCB_COPY_ASYNC)
		return;
	r->first_barrier =
		OP3(b, "mad.lo.u32", w->warp, I(g->stages * 8), OP2(b, "add.u32", w->shared, I(g->barrier_at)));
	r->barrier = OP1(b, "mov.u32", r->first_barrier);
	r->parity = qmm_write_constant(w, "u32", I(0));
	tcb_ptx_guard(b, OP2(b, "setp.eq.u32", w->lane, I(0)));
	for (unsigned i = 0; i < g->stages; i++)
		OP2(b, "mbarrier.init.shared::cta.b64", tcb_ptx_at(r->first_barrier, 8 * i), I(1));
	tcb_ptx_op0(b, "fence.mbarrier_init.release.cluster");
	tcb_ptx_op0(b, "fence.proxy.async.shared::cta"); /* the copies count on the barriers before any other thread */
	tcb_ptx_unguard(b);
	tcb_ptx_op1(b, "bar.warp.sync", I(-1));
}

/* Which 16 rows of a group are the warp's tile I. */
static qmm_op warp_tile(struct qmm_writer *w, unsigned i)
{
	struct tcb_ptx_build *b = &w->b;
	return w->g->is_wgmma ? OP2(b, "add.u32", OP2(b, "and.b32", w->warp, I(3)), I(4 * i)) : I(i);
}

/* The lanes' part of BYTES, 16 bytes each at a time. */
static void copy_async(struct qmm_writer *w, qmm_op source, qmm_op slot, unsigned slot_at, unsigned bytes)
{
	struct tcb_ptx_build *b = &w->b;
	const qmm_op lane_at = OP2(b, "shl.b32", w->lane, I(4));
	const qmm_op from = qmm_write_element(w, source, lane_at, 1), to = OP2(b, "add.u32", slot, lane_at);
	for (unsigned at = 0; at < bytes; at += WARP * PIECE) {
		const unsigned left = bytes - at;
		if (left < WARP * PIECE)
			tcb_ptx_guard(b, OP2(b, "setp.lt.u32", lane_at, I(left)));
		OP3(b, "cp.async.cg.shared.global", tcb_ptx_at(to, slot_at + at),
		    tcb_ptx_at(tcb_ptx_assume_aligned(b, from, PIECE), at), I(PIECE));
		if (left < WARP * PIECE)
			tcb_ptx_unguard(b);
	}
}

/* Asks for the next tile, if the block has it, into slot number SLOT, or into the one in use (-1). */
static void ring_fill(struct qmm_writer *w, struct ring *r, int slot)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	const unsigned bytes = g->unroll * g->unit.bytes, slot_at = slot < 0 ? 0 : (unsigned)slot * g->tile_bytes;
	const qmm_op base = slot < 0 ? r->slot : r->first_slot;
	const int is_bulk = g->copy == TCB_COPY_BULK;
	const qmm_op barrier =
		is_bulk ? tcb_ptx_at(slot < 0 ? r->barrier : r->first_barrier, slot < 0 ? 0 : 8 * slot) : I(0);
	qmm_op has = OP2(b, "setp.lt.u32", r->fill_group, w->end), unit;
	struct tcb_ptx_if scope;
	if (is_bulk)
		has = OP3(b, "setp.eq.and.u32", w->lane, I(0), has);
	tcb_ptx_if_begin(b, &scope, has);
	if (is_bulk)
		OP2(b, "mbarrier.arrive.expect_tx.shared::cta.b64", barrier, I((int64_t)g->row_tiles * bytes));
	unit = r->fill_unit;
	if (g->ksplit > 1)
		unit = OP3(b, "mad.lo.u32", w->ks, I(g->share), unit);
	for (unsigned i = 0; i < g->row_tiles; i++) {
		const qmm_op rows = qmm_write_rows_at(w, r->fill_group, warp_tile(w, i));
		const qmm_op from = qmm_write_element(w, rows, unit, g->unit.bytes);
		if (is_bulk)
			tcb_ptx_op4(b, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
				    tcb_ptx_at(base, slot_at + i * bytes), tcb_ptx_at(from, 0), I(bytes), barrier);
		else
			copy_async(w, from, base, slot_at + i * bytes, bytes);
	}
	tcb_ptx_if_end(b, &scope);
	if (!is_bulk)
		tcb_ptx_op0(b, "cp.async.commit_group"); /* empty ones past the end, too: groups count tiles */
	if (g->steps > 1) {
		const qmm_op next = OP2(b, "add.u32", r->fill_unit, I(g->unroll));
		const qmm_op is_last = OP2(b, "setp.eq.u32", next, I(g->share));
		tcb_ptx_into3(b, "selp.u32", r->fill_unit, I(0), next, is_last);
		tcb_ptx_guard(b, is_last);
		tcb_ptx_into2(b, "add.u32", r->fill_group, r->fill_group, I(g->side));
		tcb_ptx_unguard(b);
	} else {
		tcb_ptx_into2(b, "add.u32", r->fill_group, r->fill_group, I(g->side));
	}
}

static void ring_wait(struct qmm_writer *w, struct ring *r)
{
	if (w->g->copy == TCB_COPY_ASYNC) {
		tcb_ptx_op1(&w->b, "cp.async.wait_group", I(w->g->stages - 1));
		tcb_ptx_op1(&w->b, "bar.warp.sync", I(-1));
		return;
	}
	qmm_write_wait(w, tcb_ptx_at(r->barrier, 0), r->parity);
}

static void ring_next(struct qmm_writer *w, struct ring *r)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	qmm_op again;
	tcb_ptx_into2(b, "add.u32", r->slot, r->slot, I(g->tile_bytes));
	again = OP2(b, "setp.eq.u32", r->slot, r->slots_end);
	tcb_ptx_into3(b, "selp.u32", r->slot, r->first_slot, r->slot, again);
	if (g->copy == TCB_COPY_ASYNC)
		return;
	tcb_ptx_into2(b, "add.u32", r->barrier, r->barrier, I(8));
	tcb_ptx_into3(b, "selp.u32", r->barrier, r->first_barrier, r->barrier, again);
	tcb_ptx_guard(b, again);
	tcb_ptx_into2(b, "xor.b32", r->parity, r->parity, I(1));
	tcb_ptx_unguard(b);
}

/* --- products --- */

/* mma: the lane's row of matrices.  wgmma: the warp's first tile. */
static void x_open(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->b;
	const unsigned share_bytes = w->g->share * w->g->unit_tiles * w->g->x_tile_bytes;
	if (w->g->x_is_bulk)
		k->barrier_first = OP3(b, "mad.lo.u32", w->ks, I(w->g->share * 8), w->x_barrier);
	if (w->g->is_wgmma) {
		k->b_lane[0] = OP3(b, "mad.lo.u32", w->ks, I(share_bytes), k->image);
		k->b_lane[1] = k->b_lane[0];
		return;
	}
	const qmm_op share = w->g->ksplit > 1 ? OP3(b, "mad.lo.u32", w->ks, I(share_bytes), k->image) : k->image;
	qmm_write_lane_rows(w, share, k->b_lane);
	if (w->g->group) {
		k->b_lane[QMM_X_SUMS] = OP3(b, "mad.lo.u32", w->lane, I(8), share);
		k->b_lane[QMM_X_SCALES] = OP3(b, "mad.lo.u32", w->pair, I(QMM_SCALE_STRIDE), share);
	}
}

/* The fragments of B of 32 of k, half HALF of chunk CHUNK of the unit that is OFFSET units behind x_at. */
static void load_x(struct qmm_writer *w, struct kernel *k, unsigned offset, unsigned chunk, unsigned half,
		   unsigned group, qmm_op out[4])
{
	const unsigned tile = (offset * QMM_CHUNKS + chunk) * w->g->token_groups + group;
	tcb_ptx_load(&w->b, "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
		     tcb_ptx_at(k->x_at[half], (int64_t)tile * QMM_TILE_BYTES), out, 4);
}

void qmm_write_multiply(struct qmm_writer *w, qmm_op sums[4], const qmm_op a[4], const qmm_op x[2])
{
	struct tcb_ptx_build *b = &w->b;
	const qmm_op d = tcb_ptx_vector(b, sums, 4);
	if (w->g->capability >= 80) {
		const qmm_op all[4] = { d, tcb_ptx_vector(b, a, 4), tcb_ptx_vector(b, x, 2), d };
		tcb_ptx_into(b, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, all);
		return;
	}
	for (unsigned i = 0; i < 2; i++) {
		const qmm_op all[4] = { d, tcb_ptx_vector(b, a + 2 * i, 2), tcb_ptx_vector(b, x + i, 1), d };
		tcb_ptx_into(b, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 4, all);
	}
}

/* One unit, OFFSET units behind the tile's first, of all rows; codes come from raw, or from the ring's tile. */
static void write_unit(struct qmm_writer *w, struct kernel *k, unsigned offset)
{
	const struct qmm_gpu *g = w->g;
	const unsigned tile_rows = g->unroll * g->unit.bytes, at = offset * g->unit.bytes;
	for (unsigned i = 0; i < g->row_tiles; i++) {
		if (!w->is_direct) {
			k->raw[i] = (struct qmm_raw){ 0 };
			qmm_write_load_header(w, &k->lane_at[0], at + i * tile_rows, &k->raw[i]);
		}
		qmm_write_scales(w, &k->raw[i], &k->scales[i]);
	}
	for (unsigned chunk = 0; chunk < QMM_CHUNKS; chunk++) {
		for (unsigned i = 0; i < g->row_tiles && !w->is_direct; i++)
			qmm_write_load_codes(w, &k->lane_at[0], at + i * tile_rows, chunk, &k->raw[i]);
		for (unsigned half = 0; half < 2; half++) {
			qmm_op x[QMM_TOKENS_MAX / 8][4];
			for (unsigned group = 0; group < g->token_groups; group++)
				load_x(w, k, offset, chunk, half, group, x[group]);
			for (unsigned i = 0; i < g->row_tiles; i++)
				for (unsigned step = 2 * half; step < 2 * half + 2; step++) {
					qmm_op a[4] = { 0 };
					qmm_write_fragment(w, &k->raw[i], &k->scales[i], chunk, step, a);
					for (unsigned group = 0; group < g->token_groups; group++)
						qmm_write_multiply(w, k->sums.of[step % g->chains][i][group], a,
								   x[group] + step % 2 * 2);
				}
		}
	}
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
		qmm_write_products(
			w, &k->chunks, chunk,
			OP2(&w->b, "add.u32", k->x_at[0], I((offset * QMM_CHUNKS + chunk) * g->x_tile_bytes)),
			&k->sums);
	}
}

static unsigned x_parts(const struct qmm_gpu *g)
{
	return g->group ? QMM_X_PARTS : 2;
}

static void x_start(struct qmm_writer *w, struct kernel *k)
{
	for (unsigned i = 0; i < x_parts(w->g); i++)
		k->x_at[i] = OP1(&w->b, "mov.u32", k->b_lane[i]);
	if (w->g->x_is_bulk)
		k->barrier_at = OP1(&w->b, "mov.u32", k->barrier_first);
}

static void x_next(struct qmm_writer *w, struct kernel *k)
{
	const unsigned bytes = w->g->unroll * w->g->unit_tiles * w->g->x_tile_bytes;
	for (unsigned i = 0; i < x_parts(w->g); i++)
		tcb_ptx_into2(&w->b, "add.u32", k->x_at[i], k->x_at[i], I(bytes));
	if (w->g->x_is_bulk)
		tcb_ptx_into2(&w->b, "add.u32", k->barrier_at, k->barrier_at, I(8 * w->g->unroll));
}

/* --- weights through the ring --- */

static void write_ring_rows(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	struct tcb_ptx_for groups, steps;
	tcb_ptx_for_begin(b, &groups, OP2(b, "add.u32", w->first, w->side), w->end, I(g->side), 0);
	qmm_write_zero(w, &k->sums);
	x_start(w, k);
	if (g->steps > 1)
		tcb_ptx_for_begin(b, &steps, I(0), I(g->steps), I(1), 1);
	const qmm_op slot = OP1(b, "mov.u32", k->ring.slot); /* so that a waiting loop has a header of its own */
	ring_wait(w, &k->ring);
	qmm_write_lane_at(w, slot, &k->lane_at[0]);
	for (unsigned i = 0; i < g->unroll; i++) {
		if (g->x_is_bulk) /* its first phase stays over: later groups pass at once */
			qmm_write_wait(w, tcb_ptx_at(k->barrier_at, 8 * i), I(0));
		(g->is_wgmma ? write_unit_wgmma : g->group ? write_unit_s8 : write_unit)(w, k, i);
	}
	tcb_ptx_op1(b, "bar.warp.sync", I(-1));
	ring_fill(w, &k->ring, -1);
	ring_next(w, &k->ring);
	if (g->steps > 1) {
		x_next(w, k);
		tcb_ptx_for_end(b, &steps);
	}
	if (g->is_wgmma)
		tcb_ptx_op1(b, "wgmma.wait_group.sync.aligned", I(0));
	qmm_write_results(w, groups.iv, &k->sums);
	tcb_ptx_for_end(b, &groups);
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
		qmm_write_x_ask(w, OP2(&w->b, "add.u32", k->image, I(i * slot_bytes(w->g))), I(i));
		tcb_ptx_op0(&w->b, "cp.async.commit_group");
	}
}

/*
 * A unit at a time.  The barrier says that all copies of its slots are there, and that the slots before are free, which
 * the next copies then fill: one barrier a unit.
 */
static void write_rolling_rows(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	struct ring *r = &k->ring;
	const unsigned last = g->xstages - 1;
	struct tcb_ptx_for units;
	struct tcb_ptx_if scope;
	qmm_op free_slot = OP1(b, "mov.u32", OP2(b, "add.u32", r->first_slot, I(last * g->tile_bytes)));
	qmm_op x_free = qmm_write_constant(w, "u32", I(last * slot_bytes(g)));
	qmm_op x_offset = qmm_write_constant(w, "u32", I(0));
	qmm_write_zero(w, &k->sums);
	tcb_ptx_for_begin(b, &units, I(0), I(g->slice), I(1), 1);
	tcb_ptx_op1(b, "cp.async.wait_group", I(g->xstages - 2));
	tcb_ptx_op1(b, "bar.sync", I(0));
	const qmm_op next = OP2(b, "add.u32", units.iv, I(last)), slot = OP1(b, "mov.u32", r->slot);
	tcb_ptx_if_begin(b, &scope, OP2(b, "setp.lt.u32", next, I(g->slice)));
	qmm_write_x_ask(w, OP2(b, "add.u32", k->image, x_free), next);
	tcb_ptx_if_end(b, &scope);
	tcb_ptx_into1(b, "mov.u32", r->slot, free_slot);
	ring_fill(w, r, -1);
	tcb_ptx_into1(b, "mov.u32", r->slot, slot);
	qmm_write_lane_at(w, slot, &k->lane_at[0]);
	for (unsigned i = 0; i < x_parts(g); i++)
		k->x_at[i] = tcb_ptx_assume_aligned(b, OP2(b, "add.u32", k->b_lane[i], x_offset), i < 2 ? 16 : 8);
	(g->group ? write_unit_s8 : write_unit)(w, k, 0);
	tcb_ptx_into1(b, "mov.u32", free_slot, slot);
	ring_next(w, r);
	tcb_ptx_into1(b, "mov.u32", x_free, x_offset);
	tcb_ptx_into2(b, "add.u32", x_offset, x_offset, I(slot_bytes(g)));
	tcb_ptx_into3(b, "selp.u32", x_offset, I(0), x_offset,
		      OP2(b, "setp.eq.u32", x_offset, I(g->xstages * slot_bytes(g))));
	tcb_ptx_for_end(b, &units);
	qmm_write_results(w, OP2(b, "add.u32", w->first, w->side), &k->sums);
}

/* --- weights straight to registers --- */

/* The rows of GROUP, from the warp's part of k on. */
static void direct_group(struct qmm_writer *w, struct kernel *k, qmm_op group)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	for (unsigned i = 0; i < g->row_tiles; i++) {
		qmm_op rows = qmm_write_rows_at(w, group, I(i));
		if (g->ksplit > 1)
			rows = qmm_write_element(w, rows, OP2(b, "mul.lo.u32", w->ks, I(g->share)), g->unit.bytes);
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
		tcb_ptx_into2(&w->b, "add.u64", at->codes, at->codes, I(w->g->unit.bytes));
		tcb_ptx_into2(&w->b, "add.u64", at->header, at->header, I(w->g->unit.bytes));
		if (at->last.kind)
			tcb_ptx_into2(&w->b, "add.u64", at->last, at->last, I(w->g->unit.bytes));
		if (at->high.kind)
			tcb_ptx_into2(&w->b, "add.u64", at->high, at->high, I(w->g->unit.bytes));
	}
}

/* The first unit's registers were loaded; each unit's are loaded again as soon as they were used. */
static void write_direct_rows(struct qmm_writer *w, struct kernel *k)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	struct tcb_ptx_for steps;
	struct tcb_ptx_if scope;
	const qmm_op group = OP2(b, "add.u32", w->first, w->side);
	tcb_ptx_if_begin(b, &scope, OP2(b, "setp.lt.u32", group, w->end));
	qmm_write_zero(w, &k->sums);
	x_start(w, k);
	tcb_ptx_for_begin(b, &steps, I(0), I(g->share), I(1), 1);
	(g->group ? write_unit_s8 : write_unit)(w, k, 0);
	direct_next(w, k);
	tcb_ptx_guard(b, OP2(b, "setp.lt.u32", steps.iv, I(g->share - 1)));
	direct_load(w, k);
	tcb_ptx_unguard(b);
	x_next(w, k);
	tcb_ptx_for_end(b, &steps);
	qmm_write_results(w, group, &k->sums);
	tcb_ptx_if_end(b, &scope);
}

void qmm_write_mma(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct qmm_gpu *g = w->g;
	struct kernel kernel = { 0 }, *k = &kernel;
	unsigned asked = 0;
	k->image = OP2(b, "add.u32", w->shared, I(g->image_at));
	w->is_direct = g->copy == TCB_COPY_LDG;
	if (w->is_direct)
		direct_group(w, k, OP2(b, "add.u32", w->first, w->side));
	else
		ring_open(w, &k->ring);
	qmm_write_x_open(w);
	qmm_write_join_open(w);
	if (w->is_direct && g->lead)
		direct_load(w, k);
	const unsigned most = g->stages - (g->is_rolling ? 1 : 0);
	for (; !w->is_direct && asked < g->lead && asked < most; asked++)
		ring_fill(w, &k->ring, (int)asked);
	if (g->pdl)
		tcb_ptx_op0(b, "griddepcontrol.wait");
	if (g->is_rolling)
		roll_open(w, k);
	else
		(g->own_launch ? qmm_write_x_copy : qmm_write_x_prepare)(w, k->image);
	for (; !w->is_direct && asked < most; asked++)
		ring_fill(w, &k->ring, (int)asked);
	if (w->is_direct && !g->lead)
		direct_load(w, k);
	if (g->is_wgmma)
		tcb_ptx_op0(b, "fence.proxy.async.shared::cta"); /* wgmma reads what this thread stored */
	tcb_ptx_op1(b, "bar.sync", I(0));
	qmm_write_join_meet(w);
	x_open(w, k);
	if (g->is_wgmma)
		qmm_write_chunks_open(w, &k->chunks);
	(w->is_direct ? write_direct_rows : g->is_rolling ? write_rolling_rows : write_ring_rows)(w, k);
}
