/* SPDX-License-Identifier: MIT
 *
 * Rows that wait in pieces: the ring of a warp, what is asked for when, and the two walks over a row's
 * pieces, one for its statistics and one for its results.
 *
 * All slots are full or on their way from the beginning on.  The statistics' walk goes ahead and waits for copies; the
 * results' walk follows a row behind it, knows that all is there, and asks for the next piece into each slot that it
 * leaves.  A slot is the warp's own, so that lanes of one warp are all who have to be done with it.
 *
 * Done with a slot is who has stored what came of its values.  Who has only asked for them is not: a bulk copy does not
 * queue behind loads, a barrier of a warp waits for none, and on an H200 copies have overtaken loads before them.
 */
#include "kernels/rows/rows_gpu.h"

#include <string.h>

enum { BARRIER = 8 };

void tcb_rows_write_share(struct tcb_rows_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	w->slice = w->ks;
	if (g->splitk > 1)
		w->slice = u_mad(b, u_and(b, u_block_x(b), I(g->splitk - 1)), I(g->ksplit), w->ks);
	w->place = u_mul(b, w->kit.lane, I(g->width));
	w->place_bytes = u_mul(b, w->kit.lane, I(g->width * 4));
	const kit_op start = u_mul(b, w->slice, I(g->slice));
	w->column = u_add(b, w->place, start);
	w->end = u_min(b, u_add(b, start, I(g->slice)), I(g->n));
	w->columns = u_sub(b, w->end, u_min(b, start, w->end));
	w->is_filler = u_eq(b, w->kit.lane, I(0));
}

/* --- copies --- */

/* COUNT columns from FROM on to TO, counted by BARRIER, which knows of them. */
static void write_copy(struct tcb_rows_writer *w, kit_op to, kit_op from, kit_op count, kit_op barrier)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op bytes = tcb_ptx_assume_aligned(b, u_shl(b, count, I(2)), 16);
	tcb_kit_copy_bulk(b, to, from, bytes, barrier, NULL);
}

/* Asks for the next piece, if there is one, into the slot that the results' walk is at. */
static void write_fill(struct tcb_rows_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const struct tcb_kit_slot slot = tcb_kit_ring_slot(&w->back, TCB_KIT_SLOT_NOW);
	const kit_op count = u_min(b, w->fill.left, I(g->piece));
	tcb_ptx_if_begin(b, u_lt_and(b, w->fill.tile, w->tiles, w->is_filler));
	tcb_kit_expect(b, slot.barrier, tcb_ptx_assume_aligned(b, u_shl(b, count, I(2)), 16));
	write_copy(w, tcb_ptx_at(slot.base, slot.at), w->fill.from, count, slot.barrier);
	tcb_ptx_if_end(b);
	const kit_op is_last = u_le(b, w->fill.left, I(g->piece));
	const kit_op next = l_add(b, w->fill.from, I((int64_t)g->piece * 4));
	l_select_to(b, w->fill.from, l_add(b, next, w->fill.to_next_row), next, is_last);
	u_select_to(b, w->fill.left, w->columns, u_sub(b, w->fill.left, count), is_last);
	u_add_to(b, w->fill.tile, w->fill.tile, u_select(b, w->fill.step, I(0), is_last));
}

/* The share's values per column, array after array. */
static void write_lead(struct tcb_rows_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const unsigned arrays = w->math->weights;
	const kit_op barrier = tcb_ptx_at(
		u_mad(b, w->ks, I(BARRIER), u_add(b, w->kit.shared, I(g->lead_at - g->ksplit * BARRIER))), 0);
	w->lead = u_mad(b, w->ks, I(arrays * g->slice * 4), u_add(b, w->kit.shared, I(g->lead_at)));
	tcb_ptx_if_begin(b, w->is_filler);
	tcb_kit_expect(b, barrier, u_mul(b, w->columns, I(arrays * 4)));
	tcb_ptx_if_begin(b, u_gt(b, w->columns, I(0)));
	for (unsigned i = 0; i < arrays; i++)
		write_copy(w, tcb_ptx_at(w->lead, (int64_t)i * g->slice * 4), w->weight[i], w->columns, barrier);
	tcb_ptx_if_end(b);
	tcb_ptx_if_end(b);
	w->lead_barrier = barrier;
}

void tcb_rows_write_pieces_open(struct tcb_rows_writer *w, kit_op tile, kit_op step)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const kit_op barriers = u_add(b, w->kit.shared, I(g->barrier_at));
	w->ring = (struct tcb_kit_ring){ .stages = g->slots, .slot_bytes = g->piece * 4, .is_bulk = 1 };
	w->back = w->ring;
	tcb_kit_ring_slots(b, &w->ring, w->ks, w->kit.shared);
	tcb_kit_ring_barriers(b, &w->ring, w->ks, barriers);
	tcb_kit_ring_slots(b, &w->back, w->ks, w->kit.shared);
	tcb_kit_ring_barriers(b, &w->back, w->ks, barriers);
	tcb_ptx_if_begin(b, w->is_filler);
	tcb_kit_barriers_init(b, w->ring.first_barrier, g->slots, 1);
	if (g->lead)
		tcb_kit_barriers_init(
			b, u_mad(b, w->ks, I(BARRIER), u_add(b, w->kit.shared, I(g->lead_at - g->ksplit * BARRIER))), 1,
			1);
	tcb_kit_barriers_ready(b);
	tcb_ptx_if_end(b);
	tcb_kit_warp_barrier(b);
	if (g->lead)
		write_lead(w);
	const kit_op pieces = u_div_up(b, w->columns, g->piece);
	w->fill.step = step;
	w->fill.left = u_set(b, w->columns);
	w->fill.tile = u_set(b, u_select(b, tile, w->tiles, u_gt(b, w->columns, I(0))));
	w->fill.from = l_mad_wide(b, tile, I((int64_t)g->n * 4), w->x);
	w->fill.to_next_row =
		l_sub(b, l_mul_wide(b, step, I((int64_t)g->n * 4)), l_mul_wide(b, pieces, I((int64_t)g->piece * 4)));
	(void)tcb_ptx_for_begin(b, I(0), I(g->slots), I(1), 1);
	tcb_kit_nounroll(b);
	write_fill(w);
	tcb_kit_ring_next(b, &w->back);
	tcb_ptx_for_end(b);
}

/* --- walks --- */

enum walk { STATISTICS, STATISTICS_AGAIN, RESULTS };

/* What is to be done with the piece BYTES behind the share's beginning: VALUES, which are not loaded yet. */
static void write_piece(struct tcb_rows_writer *w, enum walk walk, struct tcb_kit_ring *ring, kit_op bytes,
			struct tcb_rows_values *values, kit_op *regs)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	struct tcb_rows_values weights[TCB_ROWS_WEIGHTS_MAX];
	if (walk == STATISTICS)
		tcb_kit_ring_wait(b, ring);
	tcb_rows_write_load(w, TCB_ROWS_SHARED, u_add(b, ring->slot, w->place_bytes), values, NULL);
	if (walk != RESULTS) {
		w->math->to_part.add(w, values, regs);
		tcb_kit_ring_next(b, ring);
		return;
	}
	const kit_op wide = l_from_u(b, bytes);
	for (unsigned i = 0; i < w->math->weights; i++) {
		weights[i] = *values;
		if (g->lead)
			tcb_rows_write_load(w, TCB_ROWS_SHARED,
					    tcb_ptx_at(u_add(b, u_add(b, w->lead, w->place_bytes), bytes),
						       (int64_t)i * g->slice * 4),
					    &weights[i], NULL);
		else
			tcb_rows_write_load(w, TCB_ROWS_WEIGHT, l_add(b, w->weight[i], wide), &weights[i], NULL);
	}
	w->math->result(w, values, weights, regs, 1);
	tcb_rows_write_store(w, l_add(b, l_mad_wide(b, w->row, I((int64_t)g->n * 4), w->y), wide), values);
	tcb_kit_warp_barrier(b);
	write_fill(w);
	tcb_kit_ring_next(b, ring);
}

/* Over the share's pieces: whole ones, and one that is not. */
static void write_walk(struct tcb_rows_writer *w, enum walk walk, struct tcb_kit_ring *ring, kit_op *regs)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const kit_op whole = u_div(b, w->columns, I(g->piece)), done = u_mul(b, whole, I(g->piece));
	struct tcb_rows_values values = { .count = g->unroll };
	if (g->slice >= g->piece) {
		const kit_op loop = tcb_ptx_for_begin(b, I(0), whole, I(1), 0);
		tcb_kit_nounroll(b);
		write_piece(w, walk, ring, u_mul(b, loop, I(g->piece * 4)), &values, regs);
		tcb_ptx_for_end(b);
	}
	if (g->slice % g->piece == 0 && g->n % g->piece == 0)
		return;
	const kit_op left = u_sub(b, w->columns, done);
	tcb_ptx_if_begin(b, u_gt(b, left, I(0)));
	for (unsigned i = 0; i < values.count; i++) {
		values.unsure[i] = 1;
		values.present[i] = u_lt(b, u_add(b, w->place, I(i * g->pass)), left);
	}
	write_piece(w, walk, ring, u_shl(b, done, I(2)), &values, regs);
	tcb_ptx_if_end(b);
}

void tcb_rows_write_pieces_statistics(struct tcb_rows_writer *w, kit_op *state)
{
	if (!w->is_rescue) {
		write_walk(w, STATISTICS, &w->ring, state);
		return;
	}
	struct tcb_kit_ring again = w->back;
	again.slot = u_set(&w->kit.b, w->back.slot);
	again.is_bulk = 0; /* there is nothing to wait for */
	write_walk(w, STATISTICS_AGAIN, &again, state);
}

void tcb_rows_write_pieces_results(struct tcb_rows_writer *w, const kit_op *stat)
{
	kit_op regs[TCB_ROWS_STAT_MAX];
	if (w->g->lead)
		tcb_kit_wait(&w->kit.b, w->lead_barrier, I(0));
	memcpy(regs, stat, sizeof regs);
	write_walk(w, RESULTS, &w->back, regs);
}
