/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec on a GPU: a geometry comes in, a module of PTX and its launches go
 * out.  Here are the frames of the kernels: who computes which rows, in which
 * order weights and activations are asked for; where results go is in
 * quant_matvec_gpu_results.c.
 *
 * Without dependent launch the activations are asked for first, then `lead`
 * tiles of weights, so that the former do not queue behind the latter.  With it
 * (pdl) the weights, which no kernel before this one writes, are asked for before
 * griddepcontrol.wait and the activations after it.
 * Which call waits when in a chain (pdl=2, pdl=3) is said above write_wait.
 */
#include "base/sizes.h"
#include "kernels/gpu/barrier.h"
#include "kernels/quant_matmul/quant_matmul_gpu.h"
#include "kernels/quant_matvec/quant_matvec_gpu.h"
#include "kernels/quant_matvec/quant_matvec_gpu_fused.h"
#include "kernels/quant_matvec/quant_matvec_gpu_math.h"
#include "kernels/quant_matvec/quant_matvec_gpu_mma.h"
#include "kernels/quant_matvec/quant_matvec_gpu_ring.h"
#include "kernels/quant_matvec/quant_matvec_gpu_x.h"

enum { CHUNK = 16, IMAGE_WARPS = 4 };

/* --- what all kernels begin with --- */

static void write_threads(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned ksplit = w->g->ksplit;
	tcb_kit_threads(&w->kit);
	w->ks = ksplit > 1 ? u_rem(b, w->kit.warp, I(ksplit)) : u_set(b, I(0));
	w->rw = ksplit > 1 ? u_div(b, w->kit.warp, I(ksplit)) : w->kit.warp;
}

/* Where the planes of a packed matrix begin (quant_matvec_planes.c). */
static void write_planes(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	for (unsigned i = 1; i < g->stream_count; i++) {
		const unsigned row_bytes = g->row_blocks * g->stream[i - 1].stride;
		if (row_bytes % CHUNK) {
			kit_op bytes = u_mad(b, w->weight_rows, I(row_bytes), I(CHUNK - 1));
			bytes = u_and(b, bytes, I(-CHUNK));
			w->weights[i] = tcb_kit_behind(b, w->weights[i - 1], bytes);
		} else {
			w->weights[i] = tcb_kit_element(b, w->weights[i - 1], w->weight_rows, row_bytes);
		}
	}
}

/* The block's slice of k. */
static void write_slice(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const unsigned slice_values = g->slice * QMV_VALUES;
	kit_op slice;
	w->x_values = I(g->k < slice_values ? g->k : slice_values);
	w->row_x = w->x;
	if (g->splitk == 1)
		return;
	slice = u_block_y(b);
	for (unsigned i = 0; i < g->stream_count; i++)
		w->weights[i] = tcb_kit_element(b, w->weights[i], slice, g->slice * g->stream[i].stride);
	w->x = tcb_kit_element(b, w->x, slice, slice_values * g->x_bytes);
	if (g->has_norm)
		w->norm = tcb_kit_element(b, w->norm, slice, slice_values * 4);
	if (g->k % QMV_VALUES) {
		const kit_op left = u_sub(b, I(g->k), u_mul(b, slice, I(slice_values)));
		w->x_values = u_min(b, left, I(slice_values));
	}
}

static void write_parameters(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	kit_op least, longer, token, block;
	w->weights[0] = tcb_kit_operand(&w->kit, "weights", 16, TCB_QUANT_WEIGHTS);
	w->x = g->own_launch ? tcb_kit_workspace(&w->kit, "x", 16, 0) : tcb_kit_operand(&w->kit, "x", 16, TCB_QUANT_X);
	if (g->has_norm && !g->own_launch)
		w->norm = tcb_kit_operand(&w->kit, "norm", 16, QMV_NORM);
	w->y = tcb_kit_operand(&w->kit, "y", 4, TCB_QUANT_Y);
	if (g->has_added)
		w->added = tcb_kit_operand(&w->kit, "added", 4, TCB_QUANT_ADDED);
	if (g->has_bias)
		w->bias = tcb_kit_operand(&w->kit, "bias", 4, tcb_quant_bias_at(&w->kit.out->problem));
	if (g->splitk > 1 && !g->is_joined) {
		w->slices = tcb_kit_workspace(&w->kit, "slices", 4, g->slices_at);
		w->counters = tcb_kit_workspace(&w->kit, "counters", 4, g->counters_at);
	}
	w->rows = tcb_kit_number(&w->kit, "rows", g->n);
	w->last_row = u_sub(b, w->rows, I(1));
	if (g->is_mma) /* of tiles */
		w->last_row = u_div(b, w->last_row, I(g->group_rows));
	w->weight_rows = g->is_gated ? u_shl(b, w->rows, I(1)) : w->rows;
	least = tcb_kit_number(&w->kit, "least", g->least);
	longer = tcb_kit_number(&w->kit, "longer", g->longer);
	token = u_block_z(b);
	if (g->at_once > 1) {
		w->tokens = tcb_kit_number(&w->kit, "tokens", g->tokens);
		w->first_token = token = u_mul(b, token, I(g->at_once));
	}
	block = u_block_x(b);
	if (g->at_once == 1)
		w->x = tcb_kit_element(b, w->x, token, g->own_launch ? g->image.bytes : g->x_stride * g->x_bytes);
	w->y = tcb_kit_element(b, w->y, qmv_write_y_row(w, token), g->y_bytes);
	if (g->has_added)
		w->added = tcb_kit_element(b, w->added, u_mul(b, token, w->rows), 4);
	if (g->splitk > 1 && !g->is_joined) {
		w->slices = tcb_kit_element(b, w->slices, u_mul(b, token, w->weight_rows), 4 * g->splitk);
		w->counters = tcb_kit_element(b, w->counters, u_mad(b, token, u_blocks_x(b), block), 4);
	}
	write_planes(w);
	write_slice(w);
	w->first = u_mad(b, block, least, u_min(b, block, longer));
	w->end = u_add(b, w->first, least);
	w->end = u_add(b, w->end, u_select(b, I(1), I(0), u_lt(b, block, longer)));
	if (!g->resident) {
		const kit_op groups = u_div_up(b, w->rows, g->group_rows);
		w->end = u_min(b, w->end, groups);
	}
}

/* --- weights straight to registers --- */

struct direct {
	kit_op lane[QMV_PARTS], last[QMV_PARTS]; /* of row 0 for the lane; in the partial step */
	struct qmv_where row[QMV_GPU_ROWS_MAX], row_last[QMV_GPU_ROWS_MAX]; /* the same of the group's rows */
	struct qmv_lane_w batch[QMV_GPU_ROWS_MAX][QMV_GPU_STEPS_MAX], rest[QMV_GPU_ROWS_MAX];
};

static void direct_open(struct qmv_writer *w, struct direct *d)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const kit_op first = u_mul(b, w->ks, I(g->share)), block = u_add(b, first, w->within);
	kit_op last = block;
	if (g->is_partial) {
		const unsigned done = (g->steps - 1) * g->step;
		last = u_min(b, u_add(b, w->within, I(done)), I(g->share - 1));
		last = u_add(b, first, last);
	}
	for (unsigned part = 0; part < QMV_PARTS; part++) {
		const unsigned stream = g->stream_of[part], stride = g->stream[stream].stride;
		kit_op base = w->weights[stream];
		if (!g->format->bytes[part])
			continue;
		if (w->part[part].kind == TCB_PTX_O_REG)
			base = tcb_kit_behind(b, base, w->part[part]);
		else if (w->part[part].bits)
			base = l_add(b, base, w->part[part]);
		d->lane[part] = tcb_kit_element(b, base, block, stride);
		if (g->is_partial)
			d->last[part] = tcb_kit_element(b, base, last, stride);
	}
}

static void direct_row(struct qmv_writer *w, const kit_op lane[QMV_PARTS], kit_op row, struct qmv_where *out)
{
	const struct qmv_gpu *g = w->g;
	for (unsigned part = 0; part < QMV_PARTS; part++)
		if (g->format->bytes[part])
			out->at[part] = tcb_kit_element(&w->kit.b, lane[part], row,
							g->row_blocks * g->stream[g->stream_of[part]].stride);
	qmv_write_where(w, "u64", out);
}

static void direct_group(struct qmv_writer *w, struct direct *d, kit_op group)
{
	for (unsigned i = 0; i < w->g->rows; i++) {
		const kit_op row = qmv_write_row(w, group, i);
		direct_row(w, d->lane, row, &d->row[i]);
		if (w->g->is_partial)
			direct_row(w, d->last, row, &d->row_last[i]);
	}
}

/* Loads one unit into registers, new ones unless IS_AGAIN. */
static void direct_load_unit(struct qmv_writer *w, struct direct *d, unsigned row, unsigned step, int is_last,
			     int is_again, struct qmv_lane_w *out)
{
	const struct qmv_gpu *g = w->g;
	/* The parts of a native block share sectors: those stay in L1 for the other loads. */
	const enum tcb_kit_memory memory = g->layout == TCB_LAYOUT_NATIVE ? TCB_KIT_INPUT_PASSING : TCB_KIT_INPUT_ONCE;
	int64_t offset[QMV_PARTS];
	for (unsigned part = 0; part < QMV_PARTS; part++)
		offset[part] = is_last ? 0 : (int64_t)step * g->step * g->stream[g->stream_of[part]].stride;
	(g->is_mma ? qmv_write_mma_load : qmv_write_lane_load)(w, memory, is_last ? &d->row_last[row] : &d->row[row],
							       offset, is_again, out);
}

static void direct_load(struct qmv_writer *w, struct direct *d, unsigned row, unsigned step, int is_again)
{
	const struct qmv_gpu *g = w->g;
	const int is_last = g->is_partial && !g->has_rest && step == g->steps - 1;
	direct_load_unit(w, d, row, step, is_last, is_again, &d->batch[row][step % g->unroll]);
}

/* Moves on by the superblocks of a round of the loop over k. */
static void direct_advance(struct qmv_writer *w, struct direct *d)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	for (unsigned i = 0; i < g->rows; i++)
		for (unsigned part = 0; part < QMV_PARTS; part++) {
			struct qmv_where *where = &d->row[i];
			const kit_op by = I((int64_t)g->unroll * g->step * g->stream[g->stream_of[part]].stride);
			if (!g->format->bytes[part])
				continue;
			l_add_to(b, where->at[part], where->at[part], by);
			if (g->is_narrow && part <= QMV_HIGH)
				l_add_to(b, where->tail[part], where->tail[part], by);
		}
}

static void direct_load_all(struct qmv_writer *w, struct direct *d)
{
	for (unsigned step = 0; step < w->g->unroll; step++)
		for (unsigned row = 0; row < w->g->rows; row++)
			direct_load(w, d, row, step, 0);
	for (unsigned row = 0; w->g->has_rest && row < w->g->rows; row++)
		direct_load_unit(w, d, row, 0, 1, 0, &d->rest[row]);
}

/* --- the loops over k and over rows --- */

/* Activations of a lane: in registers for good, or read when a step needs them. */
struct lane_xs {
	struct qmv_x_bases bases, last;
	struct qmv_lane_x held[QMV_GPU_STEPS_MAX];
};

static void xs_open(struct qmv_writer *w, struct lane_xs *xs)
{
	const struct qmv_gpu *g = w->g;
	qmv_write_x_bases(w, u_mad(&w->kit.b, w->ks, I(g->share), w->within), &xs->bases);
	if (g->is_mma)
		qmv_write_mma_open(w);
	if (g->is_partial)
		qmv_write_x_bases(w, qmv_write_x_last(w), &xs->last);
}

static void xs_read(struct qmv_writer *w, struct lane_xs *xs, unsigned step, unsigned token, struct qmv_lane_x *out)
{
	const int is_last = w->g->is_partial && step == w->g->steps - 1;
	qmv_write_x_lane(w, is_last ? &xs->last : &xs->bases, is_last ? 0 : step, token, out);
}

/* Before a step's units. */
static void xs_step(struct qmv_writer *w, struct lane_xs *xs, unsigned step)
{
	if (!w->g->x_in_regs && !w->g->is_mma && w->g->at_once == 1)
		xs_read(w, xs, step, 0, &xs->held[step]);
}

/* A row's unit with all of the block's tokens, whose activations are those of step STEP, or X of the only one. */
static void write_lane_unit(struct qmv_writer *w, const struct qmv_lane_w *weights, struct lane_xs *xs, unsigned step,
			    const struct qmv_lane_x *x, kit_op *sums, kit_op *mins)
{
	struct qmv_unit unit;
	struct qmv_lane_x of_token;
	qmv_write_unit_open(w, weights, &unit);
	for (unsigned token = 0; token < w->g->at_once; token++) {
		if (w->g->at_once > 1) {
			xs_read(w, xs, step, token, &of_token);
			x = &of_token;
		}
		qmv_write_unit(w, &unit, x, sums[token], mins[token]);
	}
}

/* The partial step behind the loop. */
static void write_rest(struct qmv_writer *w, const struct direct *d, struct lane_xs *xs, kit_op *sums, kit_op *mins)
{
	const unsigned last = w->g->steps - 1, at_once = w->g->at_once;
	struct qmv_lane_x x;
	if (at_once == 1)
		xs_read(w, xs, last, 0, &x);
	for (unsigned row = 0; row < w->g->rows; row++)
		write_lane_unit(w, &d->rest[row], xs, last, &x, sums + row * at_once, mins + row * at_once);
}

static void write_unit(struct qmv_writer *w, const struct qmv_lane_w *weights, struct lane_xs *xs, unsigned step,
		       unsigned row, kit_op *sums, kit_op *mins)
{
	if (w->g->is_mma)
		qmv_write_mma_unit(w, weights, &xs->bases, step, sums, mins);
	else
		write_lane_unit(w, weights, xs, step, &xs->held[step], sums + row * w->g->at_once,
				mins + row * w->g->at_once);
}

static void zero(struct qmv_writer *w, kit_op *values)
{
	for (unsigned i = 0; i < w->g->sums; i++)
		values[i] = f_set(&w->kit.b, F(0));
}

/* A block per tile: one group per warp, all steps at once or in a loop that loads the next ones as it goes. */
static void write_direct(struct qmv_writer *w, struct direct *d, struct lane_xs *xs)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const kit_op group = u_add(b, w->first, w->rw);
	kit_op sums[QMV_GPU_SUMS_MAX], mins[QMV_GPU_SUMS_MAX], more;
	const int is_loop = g->unroll < g->steps;
	zero(w, sums);
	zero(w, mins);
	if (is_loop) {
		const kit_op loop = tcb_ptx_for_begin(b, I(0), I(g->rounds), I(1), 1);
		more = u_lt(b, loop, I(g->rounds - 1));
	}
	for (unsigned step = 0; step < g->unroll; step++) {
		xs_step(w, xs, step);
		for (unsigned row = 0; row < g->rows; row++) {
			write_unit(w, &d->batch[row][step], xs, step, row, sums, mins);
			if (is_loop) {
				tcb_ptx_guard(b, more);
				direct_load(w, d, row, step + g->unroll, 1);
				tcb_ptx_unguard(b);
			}
		}
	}
	if (is_loop) {
		direct_advance(w, d);
		qmv_write_x_advance(w, &xs->bases, g->unroll * g->step);
		tcb_ptx_for_end(b);
	}
	if (g->has_rest)
		write_rest(w, d, xs, sums, mins);
	qmv_write_results(w, group, sums, mins);
}

/* A block that stays: a unit's registers are loaded for the next group as soon as they were used. */
static void write_direct_rows(struct qmv_writer *w, struct direct *d, struct lane_xs *xs)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	kit_op sums[QMV_GPU_SUMS_MAX], mins[QMV_GPU_SUMS_MAX], next, more;
	const kit_op loop = tcb_ptx_for_begin(b, u_add(b, w->first, w->rw), w->end, I(g->row_warps), 0);
	next = u_add(b, loop, I(g->row_warps));
	more = u_lt(b, next, w->end);
	direct_group(w, d, next);
	zero(w, sums);
	zero(w, mins);
	for (unsigned step = 0; step < g->steps; step++) {
		xs_step(w, xs, step);
		for (unsigned row = 0; row < g->rows; row++) {
			write_unit(w, &d->batch[row][step], xs, step, row, sums, mins);
			tcb_ptx_guard(b, more);
			direct_load(w, d, row, step, 1);
			tcb_ptx_unguard(b);
		}
	}
	qmv_write_results(w, loop, sums, mins);
	tcb_ptx_for_end(b);
}

static void write_ring_rows(struct qmv_writer *w, struct qmv_ring *ring, struct lane_xs *xs)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	kit_op sums[QMV_GPU_SUMS_MAX], mins[QMV_GPU_SUMS_MAX];
	const kit_op loop = tcb_ptx_for_begin(b, u_add(b, w->first, w->rw), w->end, I(g->row_warps), 0);
	zero(w, sums); /* before the loop that waits, so that the two loops have headers of their own */
	zero(w, mins);
	for (unsigned chunk = 0; chunk < g->chunks; chunk++) {
		const unsigned later = chunk + g->stages, steps = g->steps / g->chunks;
		const kit_op group = u_add(b, loop, I(later / g->chunks * g->row_warps));
		qmv_write_ring_wait(w, ring);
		for (unsigned step = 0; step < steps; step++)
			for (unsigned row = 0; row < g->rows; row++) {
				struct qmv_lane_w weights;
				qmv_write_ring_take(w, ring, row, step, &weights);
				write_unit(w, &weights, xs, chunk * steps + step, row, sums, mins);
			}
		tcb_kit_warp_barrier(b);
		qmv_write_ring_fill(w, ring, group, later % g->chunks, TCB_KIT_SLOT_NOW);
		if (chunk + 1 == g->chunks)
			qmv_write_results(w, loop, sums, mins);
		tcb_kit_ring_next(b, &ring->kit);
	}
	tcb_ptx_for_end(b);
}

/* --- a kernel --- */

struct parts {
	struct direct direct;
	struct qmv_ring ring;
	struct lane_xs xs;
	struct qmv_x_loads loads;
};

/* Asks for the tiles FROM to TO - 1 of each warp. */
static void write_ask(struct qmv_writer *w, struct parts *p, unsigned from, unsigned to)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op mine = u_add(b, w->first, w->rw);
	for (unsigned i = from; i < to; i++) {
		if (w->g->copy == TCB_COPY_LDG)
			direct_load_all(w, &p->direct);
		else
			qmv_write_ring_fill(w, &p->ring, u_add(b, mine, I(i / w->g->chunks * w->g->row_warps)),
					    i % w->g->chunks, (int)i);
	}
}

/* What is added to the thread's row, so that it is there when the sums are. */
static void write_added_early(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const kit_op row = qmv_write_own_row(w, w->kit.tid);
	const kit_op end = u_min(b, u_mul(b, w->end, I(g->group_rows)), w->rows);
	w->early = f_set(b, F(0));
	tcb_kit_load_where(b, u_lt(b, row, end), qmv_input(g), "f32", tcb_kit_element(b, w->added, row, 4), &w->early,
			   1);
}

/*
 * Call C of a chain follows B, which follows A.  Usually each lets the next one begin at once and waits for the one
 * before, whose end is that of all before it, since that one waited too, before it wrote.
 *
 * Where C needs nothing of B and overwrites nothing that B touches, C need not wait for B, only for A.  So B (pdl=2)
 * lets C begin behind its own wait: a block counts once one of its threads has said so, that thread has waited before,
 * and C begins when all of B's blocks have; so A has ended and what it wrote is visible when C's first thread runs
 * (C reads it past the L1).  C (pdl=3) does not wait at its beginning but at its end, in each thread: it ends after B,
 * so that whoever waits for C waits for B, and for all before it.  Who begins early behind C touches nothing but
 * weights before it waits.
 */
static void write_wait(struct qmv_writer *w)
{
	if (!w->g->is_beside)
		tcb_kit_depend(&w->kit);
	if (w->g->opens)
		tcb_kit_dependents(&w->kit, 0);
}

static void write_start(struct qmv_writer *w, struct parts *p)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	if (g->copy == TCB_COPY_LDG) {
		direct_open(w, &p->direct);
		direct_group(w, &p->direct, u_add(b, w->first, w->rw));
	} else {
		qmv_write_ring_open(w, &p->ring);
	}
	if (!g->pdl && !g->own_launch && g->at_once == 1)
		qmv_write_x_load(w, &p->loads);
	if (!g->own_launch)
		qmv_write_norm_load(w, &p->loads);
	write_ask(w, p, 0, g->lead);
	if (g->format->is_pieces)
		tcb_piece_write_grid(b, g->format->id, &w->tables, w->kit.tid, g->warps * WARP);
	write_wait(w);
	if (g->own_launch) {
		if (g->is_added_early)
			write_added_early(w);
		qmv_write_x_copy(w);
	} else if (g->at_once > 1) {
		qmv_write_x_tokens(w, &p->loads);
	} else {
		if (g->pdl)
			qmv_write_x_load(w, &p->loads);
		if (g->is_added_early)
			write_added_early(w);
		qmv_write_x_prepare(w, &p->loads);
	}
	write_ask(w, p, g->lead, g->stages);
	tcb_kit_block_barrier(b);
	if (g->is_joined) /* the others' blocks are there, whose shared memory gets sums */
		cluster_wait(b);
	if (g->has_norm)
		qmv_write_factor(w);
	xs_open(w, &p->xs);
	for (unsigned step = 0; g->x_in_regs && step < g->steps; step++)
		xs_read(w, &p->xs, step, 0, &p->xs.held[step]);
}

static void write_matvec(struct qmv_writer *w, struct parts *p)
{
	const struct qmv_gpu *g = w->g;
	tcb_kit_begin(&w->kit, "quant_matvec",
		      &(struct tcb_kit_kernel){ .threads = g->warps * WARP,
						.blocks_together = g->together,
						.grid = { g->grid, g->splitk, g->token_tiles },
						.cluster = { g->is_joined ? 1 : 0, g->is_joined ? g->splitk : 0 },
						.shared_bytes = g->shared_bytes,
						.is_dependent = g->pdl });
	write_parameters(w);
	if (!g->opens)
		tcb_kit_dependents(&w->kit, 0);
	if (g->is_joined)
		cluster_arrive(&w->kit.b);
	write_threads(w);
	tcb_kit_memory(&w->kit, 128);
	w->image = u_add(&w->kit.b, w->kit.shared, I(g->image_at));
	w->image_memory = TCB_KIT_SHARED;
	w->image_is_global = 0;
	if (g->format->table)
		qmv_write_table_constants(w);
	if (g->format->is_pieces) {
		w->tables.has_signs = g->has_signs;
		w->tables.grid = u_add(&w->kit.b, w->kit.shared, I(g->grid_at));
		tcb_piece_write_constants(&w->kit.b, g->format->id, &w->tables);
	}
	(g->is_mma ? qmv_write_mma_constants : qmv_write_lane_constants)(w);
	write_start(w, p);
	if (g->copy != TCB_COPY_LDG)
		write_ring_rows(w, &p->ring, &p->xs);
	else if (g->resident)
		write_direct_rows(w, &p->direct, &p->xs);
	else
		write_direct(w, &p->direct, &p->xs);
	if (g->ksplit > 1 || g->splitk > 1)
		qmv_write_shared_rows(w);
	if (g->is_beside)
		tcb_kit_depend(&w->kit);
	tcb_kit_end(&w->kit);
}

/* prep=launch: the images of all tokens, a superblock a warp. */
static void write_prepare(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	kit_op token;
	tcb_kit_begin(
		&w->kit, "quant_prepare",
		&(struct tcb_kit_kernel){ .threads = IMAGE_WARPS * WARP,
					  .blocks_together = 1,
					  .grid = { (unsigned)tcb_div_up(g->image.blocks, IMAGE_WARPS), 1, g->tokens },
					  .is_dependent = g->pdl });
	w->x = tcb_kit_operand(&w->kit, "x", 16, TCB_QUANT_X);
	if (g->has_norm)
		w->norm = tcb_kit_operand(&w->kit, "norm", 16, QMV_NORM);
	w->image = tcb_kit_workspace(&w->kit, "image", 16, 0);
	tcb_kit_dependents(&w->kit, 1);
	token = u_block_z(b);
	w->x = tcb_kit_element(b, w->x, token, g->x_stride * g->x_bytes);
	w->x_values = I(g->k);
	w->image = tcb_kit_element(b, w->image, token, g->image.bytes);
	w->image_memory = TCB_KIT_GLOBAL;
	w->image_is_global = 1;
	write_threads(w);
	qmv_write_x_block(w, u_mad(b, u_block_x(b), I(IMAGE_WARPS), w->kit.warp));
	tcb_kit_end(&w->kit);
}

static enum tcb_status qmv_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct qmv_gpu g;
	struct qmv_writer w = { .g = &g };
	struct parts parts;
	if (qmv_gpu_is_product(geometry))
		return qmm_gpu_emit(problem, target, geometry, out, err);
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	qmv_gpu_plan(problem, target, geometry, &g);
	if (g.own_launch)
		write_prepare(&w);
	write_matvec(&w, &parts);
	out->packed_bytes[TCB_QUANT_WEIGHTS] = g.layout == TCB_LAYOUT_NATIVE ? 0 : qmv_packed_bytes(problem, g.layout);
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = qmv_gpu_chain(&g) + qmv_gpu_norm_chain(&g) + (g.is_gated || g.has_added) +
		     problem->shape.words.gelu + g.has_bias; /* of exp's argument, of what is added */
	out->ulps = qmv_gpu_gate_ulps(&g);
	return tcb_kit_close(&w.kit, err);
}

#define ROW(op, kind, contract, isa, word) TCB_EMITTED_ROW(#op "_" #kind "_" word, contract, isa, BOUNDED)
/* The last of a list: the quantised matmul's kernels, of what is fused with nothing. */
#define ROW_OF_PRODUCTS(op, kind, is_fused)                                                           \
	{                                                                                             \
		.name = (is_fused) ? NULL : #op "_" #kind "_q8_ptx_mma", .contract = TCB_CONTRACT_Q8, \
		.isa = TCB_ISA_MMA, .class = TCB_CLASS_BOUNDED                                        \
	}
#define SIDE(kind, has_norm, is_gated, op)                                                                        \
	const struct tcb_side qmv_##op##_##kind##_gpu = {                                                         \
		.variants = TCB_EMITTED(                                                                          \
			ROW(op, kind, Q8, DP4A, "q8_ptx_dp4a"), ROW(op, kind, F32, FMA, "f32_ptx_fma"),           \
			ROW(op, kind, F16, FMA, "f16_ptx_fma"), ROW(op, kind, F32, MMA, "f32_ptx_mma"),           \
			ROW(op, kind, F16, MMA, "f16_ptx_mma"), ROW_OF_PRODUCTS(op, kind, has_norm || is_gated)), \
		.space = &qmv_gpu_space,                                                                          \
		.emit = qmv_emit                                                                                  \
	};
#define SIDES(id, name, op, ...) QMV_KINDS(SIDE, op)
TCB_FORMAT_FIELD_LIST(SIDES)
#define SIDE_OF_PIECES(kind, has_norm, is_gated, op)                                                              \
	const struct tcb_side qmv_##op##_##kind##_gpu = {                                                         \
		.variants = TCB_EMITTED(                                                                          \
			ROW(op, kind, Q8, DP4A, "q8_ptx_dp4a"), ROW(op, kind, F32, FMA, "f32_ptx_fma"),           \
			ROW(op, kind, F16, FMA, "f16_ptx_fma"), ROW_OF_PRODUCTS(op, kind, has_norm || is_gated)), \
		.space = &qmv_gpu_space,                                                                          \
		.emit = qmv_emit                                                                                  \
	};
#define SIDE_OF_FLOATS(kind, has_norm, is_gated, op)                                                                   \
	const struct tcb_side qmv_##op##_##kind##_gpu = { .variants =                                                  \
								  TCB_EMITTED(ROW(op, kind, F32, FMA, "f32_ptx_fma")), \
							  .space = &qmv_gpu_space,                                     \
							  .emit = qmv_emit };
#define SIDES_OF_FLOATS(id, name, op, ...) QMV_KINDS(SIDE_OF_FLOATS, op)
TCB_FORMAT_FLOAT_ROWS(SIDES_OF_FLOATS)
#define SIDES_OF_PIECES(id, name, op, ...) QMV_KINDS(SIDE_OF_PIECES, op)
TCB_FORMAT_EXPANDED_ROWS(SIDES_OF_PIECES)
