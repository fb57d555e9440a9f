/* SPDX-License-Identifier: MIT
 *
 * A row's values on their way in a row op's GPU kernel: from global memory to
 * registers, through a ring of rows in shared memory, and results back.  A
 * vector that is past the end of its row is neither read nor written: its
 * values are what the op says absent ones are.
 */
#include "kernels/rows/rows_gpu.h"

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

/* Of vectors of one, two and four floats. */
#define WIDTHS(prefix)                                            \
	{                                                         \
		prefix ".f32", prefix ".v2.f32", prefix ".v4.f32" \
	}

static unsigned width_index(unsigned width)
{
	return width == 4 ? 2 : width - 1;
}

/*
 * Under dependent launch a row may have been written while this kernel was there already, so it is not read through the
 * path for data that is constant for a kernel's life.
 */
static const char *load_name(const struct tcb_rows_writer *w, enum tcb_rows_source source)
{
	static const char *const once[2][3] = { WIDTHS("ld.global.nc.L1::no_allocate"),
						WIDTHS("ld.global.L1::no_allocate") };
	static const char *const kept[2][3] = { WIDTHS("ld.global.nc"), WIDTHS("ld.global") };
	static const char *const shared[3] = WIDTHS("ld.shared");
	const unsigned i = width_index(w->g->width);
	switch (source) {
	case TCB_ROWS_ONCE:
		return once[w->g->pdl][i];
	case TCB_ROWS_TWICE:
		return kept[w->g->pdl][i];
	case TCB_ROWS_WEIGHT:
		return kept[0][i];
	default:
		return shared[i];
	}
}

static tcb_rows_op vector_of(struct tcb_rows_writer *w, const tcb_rows_op *values)
{
	return w->g->width > 1 ? tcb_ptx_vector(&w->b, values, w->g->width) : values[0];
}

void tcb_rows_write_load(struct tcb_rows_writer *w, enum tcb_rows_source source, tcb_rows_op from,
			 struct tcb_rows_values *values, const tcb_rows_op *again_if)
{
	struct tcb_ptx_build *b = &w->b;
	const struct tcb_rows_gpu *g = w->g;
	const char *load = load_name(w, source);
	for (unsigned i = 0; !again_if && i < values->count * g->width; i++) {
		values->value[i] = tcb_ptx_reg(b, "f32");
		if (values->unsure[i / g->width])
			tcb_ptx_into1(b, "mov.b32", values->value[i],
				      tcb_ptx_f32(source == TCB_ROWS_WEIGHT ? 0 : w->math->absent));
	}
	for (unsigned i = 0; i < values->count; i++) {
		const tcb_rows_op operands[2] = { vector_of(w, values->value + i * g->width),
						  tcb_ptx_at(from, (int64_t)i * g->pass * 4) };
		if (values->unsure[i] && again_if)
			tcb_ptx_guard(b, OP2(b, "and.pred", values->present[i], *again_if));
		else if (values->unsure[i])
			tcb_ptx_guard(b, values->present[i]);
		else if (again_if)
			tcb_ptx_guard(b, *again_if);
		tcb_ptx_into(b, load, 2, operands);
		tcb_ptx_unguard(b);
	}
}

void tcb_rows_write_store(struct tcb_rows_writer *w, tcb_rows_op to, const struct tcb_rows_values *values)
{
	static const char *const stores[2][3] = { WIDTHS("st.global"), WIDTHS("st.global.cs") };
	struct tcb_ptx_build *b = &w->b;
	const struct tcb_rows_gpu *g = w->g;
	const char *store = stores[g->stream][width_index(g->width)];
	for (unsigned i = 0; i < values->count; i++) {
		if (values->unsure[i] && g->rows > 1)
			tcb_ptx_guard(b, OP2(b, "and.pred", values->present[i], w->has_row));
		else if (values->unsure[i])
			tcb_ptx_guard(b, values->present[i]);
		else if (g->rows > 1)
			tcb_ptx_guard(b, w->has_row);
		tcb_ptx_store(b, store, tcb_ptx_at(to, (int64_t)i * g->pass * 4), values->value + i * g->width,
			      g->width);
		tcb_ptx_unguard(b);
	}
}

/* --- the ring --- */

void tcb_rows_write_ring_open(struct tcb_rows_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct tcb_rows_gpu *g = w->g;
	const unsigned bytes = g->stages * g->slot_bytes;
	w->slot_first = OP3(b, "mad.lo.u32", w->rw, I(bytes), w->shared);
	w->slot = OP1(b, "mov.u32", w->slot_first);
	w->slot_end = OP2(b, "add.u32", w->slot_first, I(bytes));
	w->slot_before = OP2(b, "add.u32", w->slot_first, I(bytes - g->slot_bytes));
	if (g->copy == TCB_COPY_ASYNC)
		return;
	w->barrier_first =
		OP3(b, "mad.lo.u32", w->rw, I(g->stages * 8), OP2(b, "add.u32", w->shared, I(g->barrier_at)));
	w->barrier = OP1(b, "mov.u32", w->barrier_first);
	w->barrier_before = OP2(b, "add.u32", w->barrier_first, I(g->stages * 8 - 8));
	w->parity = tcb_rows_constant(w, "u32", I(0));
	w->is_filler = OP2(b, "setp.eq.u32", w->place, I(0));
	tcb_ptx_guard(b, w->is_filler);
	for (unsigned i = 0; i < g->stages; i++)
		OP2(b, "mbarrier.init.shared::cta.b64", tcb_ptx_at(w->barrier_first, 8 * i), I(1));
	tcb_ptx_op0(b, "fence.mbarrier_init.release.cluster");
	tcb_ptx_op0(b, "fence.proxy.async.shared::cta"); /* the copies count on the barriers before any other thread */
	tcb_ptx_unguard(b);
	tcb_ptx_op1(b, "bar.sync", I(0));
}

/* Rows past the last are the last. */
void tcb_rows_write_ring_fill(struct tcb_rows_writer *w, tcb_rows_op tile, int which)
{
	struct tcb_ptx_build *b = &w->b;
	const struct tcb_rows_gpu *g = w->g;
	const int is_now = which == TCB_ROWS_SLOT_NOW, is_before = which == TCB_ROWS_SLOT_BEFORE;
	const tcb_rows_op slot = is_now ? w->slot : is_before ? w->slot_before : w->slot_first;
	const unsigned slot_at = which < 0 ? 0 : (unsigned)which * g->slot_bytes;
	const int is_bulk = g->copy == TCB_COPY_BULK;
	tcb_rows_op has = OP2(b, "setp.lt.u32", tile, w->tiles);
	struct tcb_ptx_if scope;
	if (is_bulk)
		has = OP3(b, "setp.lt.and.u32", tile, w->tiles, w->is_filler);
	tcb_ptx_if_begin(b, &scope, has);
	const tcb_rows_op row = OP2(b, "min.u32", OP3(b, "mad.lo.u32", tile, I(g->rows), w->rw), w->last_row);
	const tcb_rows_op from = OP3(b, "mad.wide.u32", row, I((int64_t)g->n * 4), w->x);
	if (is_bulk) {
		const tcb_rows_op base = is_now ? w->barrier : is_before ? w->barrier_before : w->barrier_first;
		const tcb_rows_op barrier = tcb_ptx_at(base, which < 0 ? 0 : 8 * (int64_t)which);
		OP2(b, "mbarrier.arrive.expect_tx.shared::cta.b64", barrier, w->slice_bytes);
		tcb_ptx_op4(b, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
			    tcb_ptx_at(slot, slot_at), tcb_ptx_at(from, 0), w->slice_bytes, barrier);
	} else {
		const char *copy = g->width == 4 ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global";
		const tcb_rows_op to = OP2(b, "add.u32", slot, w->place_bytes);
		for (unsigned i = 0; i < g->passes; i++) {
			if (w->held.unsure[i])
				tcb_ptx_guard(b, w->held.present[i]);
			OP3(b, copy, tcb_ptx_at(to, slot_at + (int64_t)i * g->pass * 4),
			    tcb_ptx_at(from, (int64_t)i * g->pass * 4), I(g->width * 4));
			tcb_ptx_unguard(b);
		}
	}
	tcb_ptx_if_end(b, &scope);
	if (!is_bulk)
		tcb_ptx_op0(b, "cp.async.commit_group");
}

void tcb_rows_write_ring_wait(struct tcb_rows_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	struct tcb_ptx_for wait;
	if (w->g->copy == TCB_COPY_ASYNC) { /* a lane reads what it copied itself */
		tcb_ptx_op1(b, "cp.async.wait_group", I(w->g->stages - 1));
		return;
	}
	tcb_ptx_repeat_begin(b, &wait);
	const tcb_rows_op done =
		OP2(b, "mbarrier.try_wait.parity.shared::cta.b64", tcb_ptx_at(w->barrier, 0), w->parity);
	tcb_ptx_repeat_end(b, &wait, tcb_ptx_not(done));
}

void tcb_rows_write_ring_next(struct tcb_rows_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct tcb_rows_gpu *g = w->g;
	tcb_rows_op again;
	tcb_ptx_into1(b, "mov.u32", w->slot_before, w->slot);
	tcb_ptx_into2(b, "add.u32", w->slot, w->slot, I(g->slot_bytes));
	again = OP2(b, "setp.eq.u32", w->slot, w->slot_end);
	tcb_ptx_into3(b, "selp.u32", w->slot, w->slot_first, w->slot, again);
	if (g->copy == TCB_COPY_ASYNC)
		return;
	tcb_ptx_into1(b, "mov.u32", w->barrier_before, w->barrier);
	tcb_ptx_into2(b, "add.u32", w->barrier, w->barrier, I(8));
	tcb_ptx_into3(b, "selp.u32", w->barrier, w->barrier_first, w->barrier, again);
	tcb_ptx_guard(b, again);
	tcb_ptx_into2(b, "xor.b32", w->parity, w->parity, I(1));
	tcb_ptx_unguard(b);
}
