/* SPDX-License-Identifier: MIT
 *
 * A row's values on their way in a row op's GPU kernel: from global memory to
 * registers, through a ring of rows in shared memory, and results back.  A
 * vector that is past the end of its row is neither read nor written: its
 * values are what the op says absent ones are.  The edge of a shifted row goes
 * value by value.
 */
#include "kernels/rows/rows_gpu.h"

#include "kernels/gpu/quant_gpu.h"

/*
 * Under dependent launch a row may have been written while this kernel was there already, so it is not read through the
 * path for data that is constant for a kernel's life.
 */
static enum tcb_kit_memory memory_of(const struct tcb_rows_writer *w, enum tcb_rows_source source)
{
	const int is_written = w->g->pdl || w->g->is_added; /* sums may go there */
	switch (source) {
	case TCB_ROWS_ONCE:
		return tcb_kit_input_once(is_written);
	case TCB_ROWS_TWICE:
		return tcb_kit_input(is_written);
	case TCB_ROWS_WEIGHT:
		return TCB_KIT_INPUT;
	default:
		return TCB_KIT_SHARED;
	}
}

/* The values of one array of rows, or per column, from FROM on; of the edge, BEYOND bytes (.u64, or none) from x's. */
static void load_array(struct tcb_rows_writer *w, enum tcb_rows_source source, kit_op from, const kit_op *beyond,
		       struct tcb_rows_values *values, const kit_op *again_if)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const int is_x = source == TCB_ROWS_ONCE || source == TCB_ROWS_TWICE;
	const enum tcb_type type = is_x ? g->x_type : TCB_TYPE_F32;
	const int64_t each = (int64_t)tcb_type_bytes(type);
	for (unsigned i = 0; i < tcb_rows_floats(w, values); i++) {
		if (!again_if)
			values->value[i] = tcb_ptx_reg(b, "f32");
		/* Where the row before had a value, this one may have none if it is shifted. */
		if (values->unsure[i / g->width] && (!again_if || g->shifted))
			b_set_to(b, values->value[i], F(source == TCB_ROWS_WEIGHT ? 0 : w->math->absent));
	}
	for (unsigned i = 0; i < values->count; i++) {
		if (values->unsure[i] && again_if)
			tcb_ptx_guard(b, p_and(b, values->present[i], *again_if));
		else if (values->unsure[i])
			tcb_ptx_guard(b, values->present[i]);
		else if (again_if)
			tcb_ptx_guard(b, *again_if);
		tcb_quant_load_floats(b, NULL, memory_of(w, source), type,
				      tcb_ptx_at(from, (int64_t)i * g->pass * each), values->value + i * g->width,
				      g->width);
		tcb_ptx_unguard(b);
	}
	if (!values->edge)
		return;
	kit_op at = source == TCB_ROWS_SHARED ? u_mad(b, w->thread, I(4), u_add(b, w->ring.slot, I(g->edge_at)))
					      : l_add(b, w->x_base, w->shift.edge[0]);
	if (beyond)
		at = l_add(b, at, *beyond);
	kit_op is_there = values->present[values->count];
	if (again_if)
		is_there = p_and(b, is_there, *again_if);
	tcb_quant_load_floats(b, &is_there, memory_of(w, source), type, at, values->value + values->count * g->width,
			      1);
}

void tcb_rows_write_load(struct tcb_rows_writer *w, enum tcb_rows_source source, kit_op from,
			 struct tcb_rows_values *values, const kit_op *again_if)
{
	struct tcb_ptx_build *b = &w->kit.b;
	struct tcb_rows_values more = *values;
	load_array(w, source, from, NULL, values, again_if);
	if (!w->g->is_added || (source != TCB_ROWS_ONCE && source != TCB_ROWS_TWICE))
		return;
	load_array(w, source, l_add(b, from, w->added), &w->added, &more, NULL);
	for (unsigned i = 0; i < tcb_rows_floats(w, values); i++)
		values->value[i] = tcb_quant_rounded(b, w->g->x_type, f_add(b, values->value[i], more.value[i]));
}

/* To rows at TO, of y or with IS_SUM of the sums, which begin at BASE. */
static void store_array(struct tcb_rows_writer *w, int is_sum, kit_op to, kit_op base,
			const struct tcb_rows_values *values)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const enum tcb_type type = is_sum ? g->x_type : g->y_type;
	const enum tcb_kit_memory memory = g->stream ? TCB_KIT_STREAM : TCB_KIT_GLOBAL;
	const int64_t each = is_sum ? g->x_bytes : g->y_bytes;
	for (unsigned i = 0; i < values->count; i++) {
		if (values->unsure[i] && g->rows > 1)
			tcb_ptx_guard(b, p_and(b, values->present[i], w->has_row));
		else if (values->unsure[i])
			tcb_ptx_guard(b, values->present[i]);
		else if (g->rows > 1)
			tcb_ptx_guard(b, w->has_row);
		tcb_quant_store_floats(b, memory, type, tcb_ptx_at(to, (int64_t)i * g->pass * each),
				       values->value + i * g->width, g->width);
		tcb_ptx_unguard(b);
	}
	if (!values->edge)
		return;
	const kit_op is_there = values->present[values->count];
	tcb_ptx_guard(b, g->rows > 1 ? p_and(b, is_there, w->has_row) : is_there);
	tcb_quant_store_floats(b, memory, type, l_add(b, base, w->shift.edge[!is_sum]),
			       values->value + values->count * g->width, 1);
	tcb_ptx_unguard(b);
}

void tcb_rows_write_store(struct tcb_rows_writer *w, kit_op to, const struct tcb_rows_values *values)
{
	store_array(w, 0, to, w->y_base, values);
}

void tcb_rows_write_sums(struct tcb_rows_writer *w, kit_op from, int64_t at, const struct tcb_rows_values *values)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->is_added)
		store_array(w, 1, tcb_ptx_at(l_add(b, from, w->sum), at), l_add(b, w->x_base, w->sum), values);
}

/* --- the ring --- */

void tcb_rows_write_ring_open(struct tcb_rows_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	w->ring = (struct tcb_kit_ring){
		.stages = g->stages, .slot_bytes = g->slot_bytes, .is_bulk = g->copy == TCB_COPY_BULK, .has_before = 1
	};
	tcb_kit_ring_slots(b, &w->ring, w->rw, w->kit.shared);
	if (!w->ring.is_bulk)
		return;
	tcb_kit_ring_barriers(b, &w->ring, w->rw, u_add(b, w->kit.shared, I(g->barrier_at)));
	w->is_filler = u_eq(b, w->place, I(0));
	tcb_kit_ring_barriers_init(b, &w->ring, w->is_filler);
	tcb_kit_block_barrier(b);
}

/* Rows past the last are the last. */
void tcb_rows_write_ring_fill(struct tcb_rows_writer *w, kit_op tile, int which)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const struct tcb_kit_slot slot = tcb_kit_ring_slot(&w->ring, which);
	kit_op has = u_lt(b, tile, w->tiles);
	if (w->ring.is_bulk)
		has = u_lt_and(b, tile, w->tiles, w->is_filler);
	tcb_ptx_if_begin(b, has);
	const kit_op row = u_min(b, u_mad(b, tile, I(g->rows), w->rw), w->last_row);
	struct tcb_rows_values places = w->held;
	struct tcb_rows_shift shift;
	if (g->shifted) {
		tcb_rows_write_shift(w, row, &shift);
		tcb_rows_write_presence(w, &shift, &places);
	}
	const kit_op from = g->shifted ? l_add(b, w->x, shift.from[0]) : l_mad_wide(b, row, I((int64_t)g->n * 4), w->x);
	if (w->ring.is_bulk) {
		tcb_kit_expect(b, slot.barrier, w->slice_bytes);
		tcb_kit_copy_bulk(b, tcb_ptx_at(slot.base, slot.at), from, w->slice_bytes, slot.barrier, NULL);
	} else {
		const kit_op to = u_add(b, slot.base, w->place_bytes);
		for (unsigned i = 0; i < g->passes; i++) {
			if (places.unsure[i])
				tcb_ptx_guard(b, places.present[i]);
			tcb_kit_copy(b, tcb_ptx_at(to, slot.at + (int64_t)i * g->pass * 4),
				     tcb_ptx_at(from, (int64_t)i * g->pass * 4), g->width * 4, 0, NULL);
			tcb_ptx_unguard(b);
		}
		if (g->shifted) {
			tcb_ptx_guard(b, shift.has_edge);
			tcb_kit_copy(b, tcb_ptx_at(u_mad(b, w->thread, I(4), slot.base), slot.at + g->edge_at),
				     l_add(b, w->x_base, shift.edge[0]), 4, 0, NULL);
			tcb_ptx_unguard(b);
		}
	}
	tcb_ptx_if_end(b);
	tcb_kit_ring_filled(b, &w->ring);
}
