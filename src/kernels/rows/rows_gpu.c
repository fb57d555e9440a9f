/* SPDX-License-Identifier: MIT
 *
 * Row ops on a GPU: a geometry and an op's arithmetic on a row come in, a module
 * of PTX and its launches go out.  Here are the frames of the kernels: who has
 * which rows and columns, in which order rows are asked for, where the parts of
 * a row meet.
 *
 * Under dependent launch (pdl) only arrays of a value per column, which no kernel
 * before this one writes, are touched before griddepcontrol.wait.  Of two
 * launches of one call the second may load its rows before its wait: the first
 * lets it start only when it has waited itself.
 */
#include "kernels/rows/rows_gpu.h"

#include <string.h>

#include "base/sizes.h"

enum { STORE_BATCH = 4 };

/* Which kernel of a call: the only one, or the first and second of join=launch. */
enum role { SOLE, PARTS, RESULTS };

/* --- what all kernels begin with --- */

/* Whole rows, or a block's part of them, lie in a ring. */
static int has_ring(const struct tcb_rows_gpu *g)
{
	return g->copy != TCB_COPY_LDG && !g->has_pieces;
}

static void write_places(struct tcb_rows_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const kit_op tid = u_thread(b), block = u_block_x(b);
	const kit_op warp = u_shr(b, tid, I(5)), zero = u_set(b, I(0));
	kit_op thread = tid, start;
	w->kit.lane = u_and(b, tid, I(WARP - 1));
	w->ks = zero;
	w->rw = warp;
	if (g->rows == 1) {
		w->ks = warp;
		w->rw = zero;
	} else if (g->ksplit > 1) {
		w->ks = u_and(b, warp, I(g->ksplit - 1));
		w->rw = u_div(b, warp, I(g->ksplit));
	}
	if (g->rows > 1)
		thread = u_and(b, tid, I(WARP * g->ksplit - 1));
	w->thread = thread;
	if (g->has_pieces) {
		tcb_rows_write_share(w);
		return;
	}
	w->place = u_mul(b, thread, I(g->width));
	w->place_bytes = u_mul(b, thread, I(g->width * 4));
	w->column = w->place;
	w->end = u_set(b, I(g->n));
	w->slice_bytes = I((int64_t)g->n * 4);
	if (g->splitk == 1)
		return;
	w->slice = u_and(b, block, I(g->splitk - 1));
	start = u_mul(b, w->slice, I(g->slice));
	w->column = u_add(b, w->place, start);
	w->end = u_min(b, u_add(b, start, I(g->slice)), I(g->n));
	if (g->copy == TCB_COPY_BULK)
		w->slice_bytes = tcb_ptx_assume_aligned(b, u_shl(b, u_sub(b, w->end, start), I(2)), 16);
}

/* BYTES, of f32, in an array whose elements have EACH; .u32. */
static kit_op scaled(struct tcb_rows_writer *w, kit_op bytes, unsigned each)
{
	return each == 4 ? bytes : u_shr(&w->kit.b, bytes, I(1));
}

/* ARRAY, whose elements have EACH bytes, at the lane's first column. */
static kit_op at_lane(struct tcb_rows_writer *w, kit_op array, unsigned each)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->splitk > 1 || w->g->has_pieces)
		array = tcb_kit_element(b, array, w->slice, w->g->slice * each);
	return tcb_kit_behind(b, array, scaled(w, w->place_bytes, each));
}

static void write_parameters(struct tcb_rows_writer *w, enum role role)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const struct tcb_rows_math *math = w->math;
	static const char *const names[TCB_ROWS_WEIGHTS_MAX] = { "weight", "bias" };
	kit_op rows;
	w->x = tcb_kit_operand(&w->kit, "x", g->width * g->x_bytes, math->input);
	for (unsigned i = 0; role != PARTS && i < math->weights; i++)
		w->weight[i] = tcb_kit_operand(&w->kit, names[i], g->width * 4, math->weight[i]);
	if (role != PARTS)
		w->y = tcb_kit_operand(&w->kit, "y", g->width * g->y_bytes, math->output);
	if (g->is_added)
		w->added = tcb_kit_operand(&w->kit, "added", g->width * g->x_bytes,
					   rows_added(rows_of(&w->kit.out->problem)));
	if (g->is_added && role != PARTS)
		w->sum =
			tcb_kit_operand(&w->kit, "sum", g->width * g->x_bytes, rows_sum(rows_of(&w->kit.out->problem)));
	if (role != SOLE)
		w->parts = tcb_kit_workspace(&w->kit, "parts", 16, 0);
	rows = tcb_kit_number(&w->kit, "rows", g->m);
	if (role != PARTS)
		tcb_kit_dependents(&w->kit, 0);
	w->last_row = u_sub(b, rows, I(1));
	w->tiles = g->rows > 1 ? u_div_up(b, rows, g->rows) : rows;
	if (g->is_added)
		w->added = l_sub(b, w->added, w->x);
	if (g->is_added && role != PARTS)
		w->sum = l_sub(b, w->sum, w->x);
	write_places(w);
	w->x_base = w->x;
	w->y_base = w->y;
	memcpy(w->weight_base, w->weight, sizeof w->weight_base);
	w->x = at_lane(w, w->x, g->x_bytes);
	for (unsigned i = 0; role != PARTS && i < math->weights; i++)
		w->weight[i] = at_lane(w, w->weight[i], 4);
	if (role != PARTS)
		w->y = at_lane(w, w->y, g->y_bytes);
	if (g->shared_bytes)
		tcb_kit_memory(&w->kit, 128);
	/* All vectors of a lane's slice. */
	w->held.count = g->passes;
	if (!g->shifted && !g->has_pieces && g->passes <= TCB_ROWS_VALUES_MAX)
		tcb_rows_write_presence(w, NULL, &w->held);
}

/* The warp's row of TILE; the last row where there is none. */
static void write_row_number(struct tcb_rows_writer *w, kit_op tile)
{
	struct tcb_ptx_build *b = &w->kit.b;
	w->row = tile;
	if (w->g->rows == 1)
		return;
	w->row = u_mad(b, tile, I(w->g->rows), w->rw);
	w->has_row = u_le(b, w->row, w->last_row);
	w->row = u_min(b, w->row, w->last_row);
}

/* The same, and where it is. */
static void write_row(struct tcb_rows_writer *w, kit_op tile)
{
	write_row_number(w, tile);
	if (!w->g->shifted)
		return;
	tcb_rows_write_shift(w, w->row, &w->shift);
	if (w->g->keep == TCB_XIN_REGS)
		tcb_rows_write_presence(w, &w->shift, &w->held);
}

/* The row's first vector of the lane, in x, and in y. */
static kit_op row_of_x(struct tcb_rows_writer *w)
{
	if (w->g->shifted)
		return l_add(&w->kit.b, w->x, w->shift.from[0]);
	return l_mad_wide(&w->kit.b, w->row, I((int64_t)w->g->n * w->g->x_bytes), w->x);
}

static kit_op row_of_y(struct tcb_rows_writer *w)
{
	if (w->g->shifted)
		return l_add(&w->kit.b, w->y, w->shift.from[1]);
	return l_mad_wide(&w->kit.b, w->row, I((int64_t)w->g->n * w->g->y_bytes), w->y);
}

/* --- parts of a row --- */

/* Of part P of the row: in shared memory, or in the workspace. */
static kit_op part_address(struct tcb_rows_writer *w, kit_op p, int is_global)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const unsigned bytes = w->math->part * 4;
	if (is_global)
		return tcb_kit_element(b, w->parts, u_mad(b, w->row, I(g->parts), p), bytes);
	const kit_op base = u_add(b, w->kit.shared, I(g->parts_at));
	const kit_op index = g->rows > 1 ? u_mad(b, w->rw, I(g->parts), p) : p;
	const kit_op at = u_mad(b, index, I(bytes), base);
	return g->resident ? u_add(b, at, w->buffer) : at;
}

static kit_op part_number(struct tcb_rows_writer *w)
{
	const struct tcb_rows_gpu *g = w->g;
	if (g->splitk == 1 || g->join == TCB_JOIN_WHOLE)
		return w->ks;
	if (g->has_pieces)
		return w->slice;
	return u_mad(&w->kit.b, w->slice, I(g->ksplit), w->ks);
}

static void write_meeting(struct tcb_rows_writer *w)
{
	if (w->g->join == TCB_JOIN_CLUSTER && !w->is_met)
		cluster_wait(&w->kit.b);
	w->is_met = 1;
}

/* The warp's part to where all that need it look; then all of the row's are there. */
static void write_part_out(struct tcb_rows_writer *w, const kit_op *part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const unsigned floats = w->math->part;
	const kit_op at = part_address(w, part_number(w), g->join == TCB_JOIN_LAUNCH);
	if (g->join == TCB_JOIN_CLUSTER) {
		write_meeting(w);
		const kit_op to = u_in_rank(b, at, u_min(b, w->kit.lane, I(g->splitk - 1)));
		tcb_kit_store_where(b, u_lt(b, w->kit.lane, I(g->splitk)), TCB_KIT_CLUSTER, "f32", to, part, floats);
		tcb_kit_cluster_barrier(b);
		return;
	}
	kit_op is_writer = u_eq(b, w->kit.lane, I(0));
	if (g->join == TCB_JOIN_LAUNCH && g->rows > 1)
		is_writer = p_and(b, is_writer, w->has_row);
	tcb_kit_store_where(b, is_writer, g->join == TCB_JOIN_LAUNCH ? TCB_KIT_GLOBAL : TCB_KIT_SHARED, "f32", at, part,
			    floats);
	if (g->join != TCB_JOIN_LAUNCH)
		tcb_kit_block_barrier(b);
}

/* The row's statistics from its parts, in every lane; OWN: the warp's part (sole launch). */
static void write_join(struct tcb_rows_writer *w, const kit_op *own, kit_op *stat)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const unsigned floats = w->math->part, lanes = g->parts < WARP ? g->parts : WARP, count = g->parts / lanes;
	const int is_global = g->join == TCB_JOIN_LAUNCH;
	kit_op parts[TCB_ROWS_CHUNKS_MAX][TCB_ROWS_PART_MAX];
	if (g->parts == 1 && !is_global) {
		memcpy(parts[0], own, floats * sizeof *own);
		w->math->join(w, parts, 1, 1, own, stat);
		return;
	}
	const kit_op p = lanes < WARP ? u_and(b, w->kit.lane, I(lanes - 1)) : w->kit.lane;
	const kit_op at = part_address(w, p, is_global);
	for (unsigned i = 0; i < count; i++)
		tcb_kit_load(b, is_global ? TCB_KIT_OTHERS : TCB_KIT_SHARED, "f32",
			     tcb_ptx_at(at, (int64_t)i * WARP * floats * 4), parts[i], floats);
	w->math->join(w, parts, count, lanes, own, stat);
	if (g->resident)
		u_xor_to(b, w->buffer, w->buffer, I(g->parts_bytes));
}

/* --- rows in registers --- */

/* Results of HELD, a few vectors at a time so that weights do not fill the registers; ALL: weights that are there. */
static void write_held_results(struct tcb_rows_writer *w, const struct tcb_rows_values *held,
			       const struct tcb_rows_values *all, const kit_op *stat, int is_raw)
{
	const struct tcb_rows_gpu *g = w->g;
	const kit_op y = row_of_y(w), x = g->is_added ? row_of_x(w) : y;
	for (unsigned first = 0; first < held->count; first += STORE_BATCH) {
		const unsigned left = held->count - first, count = left < STORE_BATCH ? left : STORE_BATCH;
		const unsigned edge = count == left ? held->edge : 0, floats = count * g->width + edge;
		struct tcb_rows_values some = { .count = count, .edge = edge }, weights[TCB_ROWS_WEIGHTS_MAX];
		memcpy(some.value, held->value + first * g->width, floats * sizeof *some.value);
		memcpy(some.present, held->present + first, (count + edge) * sizeof *some.present);
		memcpy(some.unsure, held->unsure + first, count + edge);
		for (unsigned i = 0; i < w->math->weights; i++) {
			weights[i] = some;
			if (g->lead)
				memcpy(weights[i].value, all[i].value + first * g->width, floats * sizeof *some.value);
			else if (g->shifted)
				tcb_rows_write_shifted_weights(w, i, l_set(&w->kit.b, I((int64_t)first * g->pass * 4)),
							       &weights[i]);
			else
				tcb_rows_write_load(w, TCB_ROWS_WEIGHT,
						    tcb_ptx_at(w->weight[i], (int64_t)first * g->pass * 4), &weights[i],
						    NULL);
		}
		tcb_rows_write_sums(w, x, (int64_t)first * g->pass * g->x_bytes, &some);
		w->math->result(w, &some, weights, stat, is_raw);
		tcb_rows_write_store(w, tcb_ptx_at(y, (int64_t)first * g->pass * g->y_bytes), &some);
	}
}

static void write_lead(struct tcb_rows_writer *w, struct tcb_rows_values *weights)
{
	for (unsigned i = 0; w->g->lead && !w->g->has_pieces && i < w->math->weights; i++) {
		weights[i] = w->held;
		if (w->g->shifted)
			tcb_rows_write_shifted_weights(w, i, l_set(&w->kit.b, I(0)), &weights[i]);
		else
			tcb_rows_write_load(w, TCB_ROWS_WEIGHT, w->weight[i], &weights[i], NULL);
	}
}

/* --- rows in a loop --- */

enum loop_goal { GOAL_STATISTICS, GOAL_RESULTS };

/* A group of vectors at OFFSET bytes past the lane's first. */
static void write_group(struct tcb_rows_writer *w, enum loop_goal goal, kit_op source, kit_op offset,
			struct tcb_rows_values *values, kit_op *regs)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int is_shared = w->g->keep == TCB_XIN_SHARED;
	const enum tcb_rows_source kind = is_shared                 ? TCB_ROWS_SHARED
					  : goal == GOAL_STATISTICS ? TCB_ROWS_TWICE
								    : TCB_ROWS_ONCE;
	const kit_op wide = l_from_u(b, offset);
	const kit_op in_x = w->g->x_bytes == 4 ? wide : l_from_u(b, scaled(w, offset, w->g->x_bytes));
	struct tcb_rows_values weights[TCB_ROWS_WEIGHTS_MAX];
	tcb_rows_write_load(w, kind, is_shared ? u_add(b, source, offset) : l_add(b, source, in_x), values, NULL);
	if (goal == GOAL_STATISTICS) {
		w->math->to_part.add(w, values, regs);
		return;
	}
	for (unsigned i = 0; i < w->math->weights; i++) {
		weights[i] = *values;
		if (w->g->shifted)
			tcb_rows_write_shifted_weights(w, i, wide, &weights[i]);
		else
			tcb_rows_write_load(w, TCB_ROWS_WEIGHT, l_add(b, w->weight[i], wide), &weights[i], NULL);
	}
	if (w->g->is_added)
		tcb_rows_write_sums(w, l_add(b, row_of_x(w), in_x), 0, values);
	w->math->result(w, values, weights, regs, 1);
	const kit_op in_y = w->g->y_bytes == 4 ? wide : l_from_u(b, scaled(w, offset, w->g->y_bytes));
	tcb_rows_write_store(w, l_add(b, row_of_y(w), in_y), values);
}

/* All groups of the lane's part of a row: the slice, or IS_WHOLE the row.  REGS: state or statistics. */
static void write_loop(struct tcb_rows_writer *w, enum loop_goal goal, kit_op source, int is_whole, kit_op *regs)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const unsigned span = g->pass * g->unroll, n = g->least;
	const int is_fixed = is_whole || g->splitk == 1;
	struct tcb_rows_values values = { .count = g->unroll };
	kit_op groups = I(n / span), first = is_whole ? w->place : w->column, end = is_whole ? I(n) : w->end;
	if (g->shifted)
		end = is_fixed ? w->shift.end : u_min(b, w->end, w->shift.end);
	if (!is_fixed)
		groups = u_div(b, u_sub(b, g->shifted ? u_min(b, w->end, I(n)) : w->end, u_sub(b, w->column, w->place)),
			       I(span));
	if (!is_fixed || n / span) {
		const kit_op loop = tcb_ptx_for_begin(b, I(0), groups, I(1), is_fixed);
		tcb_kit_nounroll(b);
		write_group(w, goal, source, u_mul(b, loop, I(span * 4)), &values, regs);
		tcb_ptx_for_end(b);
	}
	if (is_fixed && g->most % span == 0 && !g->shifted)
		return;
	struct tcb_rows_values tail = { .count = g->unroll, .edge = g->shifted };
	if (is_fixed)
		tail.count = tcb_div_up(g->most - n / span * span, g->pass);
	const kit_op done = u_mul(b, is_fixed ? u_set(b, groups) : groups, I(span));
	for (unsigned i = 0; i < tail.count; i++) {
		tail.unsure[i] = !is_fixed || n / span * span + (i + 1) * g->pass > n;
		tail.present[i] = tcb_rows_is_vector(w, u_add(b, first, done), end, done, i * g->pass);
	}
	if (tail.edge) {
		tail.present[tail.count] = is_whole ? w->shift.is_edge : w->shift.has_edge;
		tail.unsure[tail.count] = 1;
	}
	write_group(w, goal, source, u_shl(b, done, I(2)), &tail, regs);
}

/* --- the ring's order --- */

/* When a slot is free again: its values were asked for; they are in the row's part, of all its warps; the results are
 * out. */
enum moment { LOADED, JOINED, DONE };

/*
 * Asks for the row that comes into a slot that is free now.  Rows that several warps read are known to be done with
 * when the block has met for the parts; if they wait in shared memory, that goes for the row before.  A copy by lanes
 * queues behind their loads; a bulk copy does not (rows_gpu_pieces.c), so that it waits for a part of what was loaded.
 */
static void write_refill(struct tcb_rows_writer *w, enum moment now, kit_op tile, kit_op step)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const int holds = g->keep == TCB_XIN_REGS, is_own = g->copy == TCB_COPY_ASYNC || g->parts == 1;
	const int is_before = !is_own && !holds;
	const enum moment free = !is_own ? JOINED : !holds ? DONE : g->copy == TCB_COPY_BULK ? JOINED : LOADED;
	if (!has_ring(g) || !g->resident || now != free)
		return;
	if (is_own)
		tcb_kit_warp_barrier(b);
	tcb_rows_write_ring_fill(w, u_mad(b, step, I(is_before ? g->stages - 1 : g->stages), tile),
				 is_before ? TCB_KIT_SLOT_BEFORE : TCB_KIT_SLOT_NOW);
}

/* The rows that are asked for before the first. */
static void write_first_fills(struct tcb_rows_writer *w, kit_op tile, kit_op step)
{
	const struct tcb_rows_gpu *g = w->g;
	const int is_before = g->copy == TCB_COPY_BULK && g->parts > 1 && g->keep != TCB_XIN_REGS && g->resident;
	const unsigned count = is_before ? g->stages - 1 : g->stages;
	tcb_rows_write_ring_open(w);
	for (unsigned i = 0; i < count; i++) {
		tcb_rows_write_ring_fill(w, tile, (int)i);
		if (i + 1 < count)
			tile = u_add(&w->kit.b, tile, step);
	}
}

/* --- a tile --- */

struct tile {
	kit_op number, step;
	struct tcb_rows_values values, next, weights[TCB_ROWS_WEIGHTS_MAX];
};

static void load_held(struct tcb_rows_writer *w, struct tile *t)
{
	const int is_ring = has_ring(w->g);
	t->values = w->held;
	tcb_rows_write_load(w, is_ring ? TCB_ROWS_SHARED : TCB_ROWS_ONCE,
			    is_ring ? u_add(&w->kit.b, w->ring.slot, w->place_bytes) : row_of_x(w), &t->values, NULL);
}

/* VALUES are those of a row that the writer is at now. */
static void take_places(struct tcb_rows_writer *w, struct tcb_rows_values *values)
{
	memcpy(values->present, w->held.present, sizeof values->present);
}

/* The warp's part of the row: of values in registers, or of those at SOURCE. */
static void write_part_once(struct tcb_rows_writer *w, struct tile *t, kit_op source, kit_op *part)
{
	const int is_whole = w->g->join == TCB_JOIN_WHOLE;
	kit_op state[TCB_ROWS_STATE_MAX];
	if (w->g->keep == TCB_XIN_REGS) {
		w->math->to_part.reduce(w, &t->values, part);
		return;
	}
	w->math->to_part.begin(w, state);
	if (w->g->has_pieces)
		tcb_rows_write_pieces_statistics(w, state);
	else
		write_loop(w, GOAL_STATISTICS, source, is_whole, state);
	w->math->to_part.close(w, state, part);
}

static void write_part(struct tcb_rows_writer *w, struct tile *t, kit_op source, kit_op *part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	kit_op again[TCB_ROWS_PART_MAX], kept[TCB_ROWS_PART_MAX];
	if (g->join == TCB_JOIN_WHOLE) /* from the slice back to the row's beginning */
		source = l_sub(b, source, l_mul_wide(b, w->slice, I((int64_t)g->slice * g->x_bytes)));
	write_part_once(w, t, source, part);
	if (!w->math->to_part.is_lost)
		return;
	for (unsigned i = 0; i < w->math->part; i++)
		kept[i] = f_set(b, part[i]);
	tcb_ptx_if_begin(b, p_any(b, w->math->to_part.is_lost(w, part)));
	w->is_rescue = 1;
	write_part_once(w, t, source, again);
	w->is_rescue = 0;
	for (unsigned i = 0; i < w->math->part; i++)
		f_set_to(b, kept[i], again[i]);
	tcb_ptx_if_end(b);
	memcpy(part, kept, sizeof kept);
}

/* The tile's statistics and results; its row is set, and what registers hold is loaded. */
static void write_tile(struct tcb_rows_writer *w, struct tile *t, enum role role)
{
	const struct tcb_rows_gpu *g = w->g;
	const int holds = g->keep == TCB_XIN_REGS;
	kit_op part[TCB_ROWS_PART_MAX], stat[TCB_ROWS_STAT_MAX], source = t->number;
	if (!holds && !g->has_pieces)
		source = g->keep == TCB_XIN_SHARED ? u_add(&w->kit.b, w->ring.slot, w->place_bytes) : row_of_x(w);
	if (role != RESULTS) {
		write_part(w, t, source, part);
		if (g->parts > 1 || role == PARTS)
			write_part_out(w, part);
		write_refill(w, JOINED, t->number, t->step);
	}
	if (role == PARTS)
		return;
	write_join(w, role == RESULTS ? NULL : part, stat);
	if (holds)
		write_held_results(w, &t->values, t->weights, stat, role == RESULTS);
	else if (g->has_pieces)
		tcb_rows_write_pieces_results(w, stat);
	else
		write_loop(w, GOAL_RESULTS, source, 0, stat);
	write_refill(w, DONE, t->number, t->step);
}

/* A block that stays: tile after tile, later ones on their way. */
static void write_tiles(struct tcb_rows_writer *w, struct tile *t)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const kit_op first = t->number;
	const int is_ring = has_ring(g), is_ahead = !is_ring && g->stages > 1;
	w->buffer = u_set(b, I(0));
	if (is_ring)
		write_first_fills(w, first, t->step);
	if (g->has_pieces)
		tcb_rows_write_pieces_open(w, first, t->step);
	if (is_ahead) {
		write_row(w, first);
		load_held(w, t);
		t->next = t->values;
	}
	write_meeting(w);
	const kit_op loop = tcb_ptx_for_begin(b, first, w->tiles, t->step, 1);
	t->number = loop;
	if (is_ahead) {
		const kit_op next = u_add(b, loop, t->step);
		const kit_op more = u_lt(b, next, w->tiles);
		for (unsigned i = 0; i < tcb_rows_floats(w, &t->values); i++)
			t->values.value[i] = b_set(b, t->next.value[i]);
		write_row(w, next);
		take_places(w, &t->next);
		tcb_rows_write_load(w, TCB_ROWS_ONCE, row_of_x(w), &t->next, &more);
	}
	write_row(w, loop);
	if (is_ahead)
		take_places(w, &t->values);
	if (is_ring)
		tcb_kit_ring_wait(&w->kit.b, &w->ring);
	if (g->keep == TCB_XIN_REGS && !is_ahead)
		load_held(w, t);
	write_refill(w, LOADED, t->number, t->step);
	write_tile(w, t, SOLE);
	if (is_ring)
		tcb_kit_ring_next(&w->kit.b, &w->ring);
	tcb_ptx_for_end(b);
}

/* --- a kernel --- */

static void write_number(struct tcb_rows_writer *w, struct tile *t)
{
	struct tcb_ptx_build *b = &w->kit.b;
	t->number = u_block_x(b);
	t->step = u_blocks_x(b);
	if (w->g->splitk == 1)
		return;
	t->number = u_div(b, t->number, I(w->g->splitk));
	t->step = u_div(b, t->step, I(w->g->splitk));
}

static void write_kernel(struct tcb_rows_writer *w, struct tile *t, enum role role)
{
	static const char *const names[] = { "%s", "%s_parts", "%s_results" };
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const int is_early = g->shifted && g->lead; /* the values per column lie as the row does */
	const struct tcb_kit_kernel kernel = { .threads = g->warps * WARP,
					       .blocks_together = g->together,
					       .grid = { g->grid },
					       .cluster = { g->join == TCB_JOIN_CLUSTER ? g->splitk : 0 },
					       .is_cluster_fixed = 1,
					       .shared_bytes = g->shared_bytes,
					       .is_dependent = g->pdl };
	tcb_kit_begin(&w->kit, tcb_ptx_namef(b, names[role], w->math->name), &kernel);
	write_parameters(w, role);
	if (g->join == TCB_JOIN_CLUSTER)
		cluster_arrive_relaxed(b);
	w->is_met = 0;
	if (is_early) {
		write_number(w, t);
		write_row(w, t->number);
	}
	if (role != PARTS)
		write_lead(w, t->weights);
	if (role != RESULTS || g->keep != TCB_XIN_REGS)
		tcb_kit_depend(&w->kit);
	if (role == PARTS)
		tcb_kit_dependents(&w->kit, 0);
	if (!is_early)
		write_number(w, t);
	if (g->resident) {
		write_tiles(w, t);
		tcb_kit_end(&w->kit);
		return;
	}
	if (!is_early)
		write_row(w, t->number);
	if (has_ring(g)) {
		write_first_fills(w, t->number, t->step);
		tcb_kit_ring_wait(&w->kit.b, &w->ring);
	}
	if (g->keep == TCB_XIN_REGS)
		load_held(w, t);
	if (role == RESULTS && g->keep == TCB_XIN_REGS)
		tcb_kit_depend(&w->kit);
	write_tile(w, t, role);
	tcb_kit_end(&w->kit);
}

enum tcb_status tcb_rows_gpu_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				  const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct tcb_rows_gpu g;
	struct tcb_rows_writer w = { .g = &g, .math = rows_of(problem)->gpu };
	struct tile tile = { .values = { 0 } };
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	tcb_rows_gpu_plan(problem, target, geometry, &g);
	const enum role first = g.join == TCB_JOIN_LAUNCH ? PARTS : SOLE;
	write_kernel(&w, &tile, first);
	if (first == PARTS)
		write_kernel(&w, &tile, RESULTS);
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_APPROX;
	w.math->bound(&g, out);
	return tcb_kit_close(&w.kit, err);
}

kit_op tcb_rows_least_scale(struct tcb_rows_writer *w, kit_op (*parts)[TCB_ROWS_PART_MAX], unsigned at, unsigned count,
			    unsigned lanes)
{
	kit_op scale = parts[0][at];
	for (unsigned i = 1; i < count; i++)
		scale = f_min(&w->kit.b, scale, parts[i][at]);
	return tcb_kit_over_lanes(&w->kit.b, f_min, scale, lanes);
}

kit_op tcb_rows_to_scale(struct tcb_rows_writer *w, const kit_op *part, unsigned at, kit_op scale)
{
	return f_select(&w->kit.b, F(1), F(TCB_ROWS_RESCUE), f_eq(&w->kit.b, part[at], scale));
}
