/* SPDX-License-Identifier: MIT
 *
 * q4k_matvec on a GPU: a geometry comes in, a module of PTX and its launches go
 * out.  Here are the frames of the kernels: who computes which rows, in which
 * order weights and activations are asked for, where results go.
 *
 * Without dependent launch the activations are asked for first, then `lead`
 * tiles of weights, so that the former do not queue behind the latter.  With it
 * (pdl) the weights, which no kernel before this one writes, are asked for before
 * griddepcontrol.wait and the activations after it.
 */
#include <string.h>

#include "kernels/quant_matvec/quant_matvec_gpu.h"

#define I tcb_ptx_int
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

enum { WARP = 32, HEADER_BYTES = 16, OPERAND_WEIGHTS = 0, OPERAND_X = 1, OPERAND_Y = 2, IMAGE_WARPS = 4 };

/* --- what all kernels begin with --- */

static void write_threads(struct q4k_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const unsigned ksplit = w->g->ksplit;
	w->tid = tcb_ptx_special(b, "tid.x");
	w->lane = OP2(b, "and.b32", w->tid, I(WARP - 1));
	w->warp = OP2(b, "shr.u32", w->tid, I(5));
	w->ks = ksplit > 1 ? OP2(b, "rem.u32", w->warp, I(ksplit)) : q4k_write_constant(w, "u32", I(0));
	w->rw = ksplit > 1 ? OP2(b, "div.u32", w->warp, I(ksplit)) : w->warp;
}

/* BASE + INDEX * BYTES */
static q4k_op element(struct q4k_writer *w, q4k_op base, q4k_op index, unsigned bytes)
{
	return OP3(&w->b, "mad.wide.u32", index, I(bytes), base);
}

static void write_parameters(struct q4k_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	q4k_op least, longer, token, block, slice;
	w->codes = w->headers = tcb_ptx_param_pointer(b, "weights", 16);
	w->x = tcb_ptx_param_pointer(b, "x", 16);
	w->y = tcb_ptx_param_pointer(b, "y", 4);
	if (g->splitk > 1) {
		w->slices = tcb_ptx_param_pointer(b, "slices", 4);
		w->counters = tcb_ptx_param_pointer(b, "counters", 4);
	}
	w->rows = tcb_ptx_param(b, "u32", "rows");
	w->last_row = OP2(b, "sub.u32", w->rows, I(1));
	least = tcb_ptx_param(b, "u32", "least");
	longer = tcb_ptx_param(b, "u32", "longer");
	token = tcb_ptx_special(b, "ctaid.z");
	block = tcb_ptx_special(b, "ctaid.x");
	w->x = element(w, w->x, token, g->own_launch ? g->image.bytes : g->row_blocks * Q4K_BLOCK_VALUES * 4);
	w->y = element(w, w->y, OP2(b, "mul.lo.u32", token, w->rows), 4);
	if (g->layout != TCB_LAYOUT_NATIVE)
		w->headers = element(w, w->codes, w->rows, g->row_blocks * g->code_stride);
	if (g->splitk > 1) {
		slice = tcb_ptx_special(b, "ctaid.y");
		w->codes = element(w, w->codes, slice, g->slice * g->code_stride);
		w->headers = element(w, w->headers, slice, g->slice * g->header_stride);
		w->x = element(w, w->x, slice, g->slice * Q4K_BLOCK_VALUES * 4);
		w->slices = element(w, w->slices, OP2(b, "mul.lo.u32", token, w->rows), 4 * g->splitk);
		w->counters =
			element(w, w->counters, OP3(b, "mad.lo.u32", token, tcb_ptx_special(b, "nctaid.x"), block), 4);
	}
	w->first = OP3(b, "mad.lo.u32", block, least, OP2(b, "min.u32", block, longer));
	w->end = OP2(b, "add.u32", w->first, least);
	w->end = OP2(b, "add.u32", w->end, OP3(b, "selp.u32", I(1), I(0), OP2(b, "setp.lt.u32", block, longer)));
	if (!g->resident) {
		const q4k_op groups = OP2(b, "div.u32", OP2(b, "add.u32", w->rows, I(g->rows - 1)), I(g->rows));
		w->end = OP2(b, "min.u32", w->end, groups);
	}
}

q4k_op q4k_write_row(struct q4k_writer *w, q4k_op group, unsigned i)
{
	struct tcb_ptx_build *b = &w->b;
	const q4k_op row = OP3(b, "mad.lo.u32", group, I(w->g->rows), I(i));
	return OP2(b, "min.u32", row, w->last_row);
}

/* --- results --- */

/* SUMS less MINS of group GROUP's rows, over the warp; to y, or beside those of the other warps of the row. */
static void write_results(struct q4k_writer *w, q4k_op group, const q4k_op *sums, const q4k_op *mins)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const unsigned lanes = WARP / g->rows;
	q4k_op value[Q4K_GPU_ROWS_MAX], total, row, is_writer, part;
	for (unsigned i = 0; i < g->rows; i++)
		value[i] = OP2(b, "sub.rn.f32", sums[i], mins[i]);
	total = q4k_write_warp_sum(w, value, g->rows);
	row = OP3(b, "mad.lo.u32", group, I(g->rows), OP2(b, "div.u32", w->lane, I(lanes)));
	is_writer = OP2(b, "setp.lt.u32", row, w->rows);
	is_writer = OP3(b, "setp.eq.and.u32", OP2(b, "and.b32", w->lane, I(lanes - 1)), I(0), is_writer);
	if (g->ksplit == 1 && g->splitk == 1) {
		const q4k_op at = element(w, w->y, row, 4);
		tcb_ptx_guard(b, is_writer);
		tcb_ptx_store(b, "st.global.f32", tcb_ptx_at(at, 0), &total, 1);
		tcb_ptx_unguard(b);
		return;
	}
	row = OP2(b, "sub.u32", row, OP2(b, "mul.lo.u32", w->first, I(g->rows)));
	part = OP3(b, "mad.lo.u32", OP3(b, "mad.lo.u32", row, I(g->ksplit), w->ks), I(4), w->shared);
	tcb_ptx_guard(b, is_writer);
	tcb_ptx_store(b, "st.shared.f32", tcb_ptx_at(part, g->part_at), &total, 1);
	tcb_ptx_unguard(b);
}

/* The parts of the ksplit warps of row I of the block, added in order. */
static q4k_op write_parts_sum(struct q4k_writer *w, q4k_op i)
{
	struct tcb_ptx_build *b = &w->b;
	const unsigned ksplit = w->g->ksplit, width = ksplit % 4 == 0 ? 4 : ksplit % 2 == 0 ? 2 : 1;
	static const char *const loads[] = { "", "ld.shared.f32", "ld.shared.v2.f32", "", "ld.shared.v4.f32" };
	const q4k_op at = OP3(b, "mad.lo.u32", i, I(4 * ksplit), w->shared);
	q4k_op part[4], sum = I(0);
	for (unsigned k = 0; k < ksplit; k++) {
		if (k % width == 0)
			tcb_ptx_load(b, loads[width], tcb_ptx_at(at, w->g->part_at + 4 * k), part, width);
		sum = k ? OP2(b, "add.rn.f32", sum, part[k % width]) : part[0];
	}
	return sum;
}

/* The last of the blocks that share rows adds their slices in order; its atomic increment leaves the counter at 0. */
static void write_slices_sum(struct q4k_writer *w, q4k_op first_row, q4k_op count)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	struct tcb_ptx_if last;
	struct tcb_ptx_for loop;
	q4k_op arrived, flag, row, sum, part, at;
	tcb_ptx_op0(b, "fence.acq_rel.gpu");
	tcb_ptx_op1(b, "bar.sync", I(0));
	tcb_ptx_if_begin(b, &last, OP2(b, "setp.eq.u32", w->tid, I(0)));
	arrived = OP2(b, "atom.global.inc.u32", tcb_ptx_at(w->counters, 0), I(g->splitk - 1));
	tcb_ptx_op0(b, "fence.acq_rel.gpu");
	tcb_ptx_store(b, "st.shared.u32", tcb_ptx_at(w->shared, g->flag_at), &arrived, 1);
	tcb_ptx_if_end(b, &last);
	tcb_ptx_op1(b, "bar.sync", I(0));
	tcb_ptx_load(b, "ld.shared.u32", tcb_ptx_at(w->shared, g->flag_at), &flag, 1);
	tcb_ptx_if_begin(b, &last, OP2(b, "setp.eq.u32", flag, I(g->splitk - 1)));
	tcb_ptx_for_begin(b, &loop, w->tid, count, I(g->warps * WARP), 0);
	row = OP2(b, "add.u32", first_row, loop.iv);
	at = element(w, w->slices, row, 4);
	sum = q4k_write_constant(w, "f32", tcb_ptx_f32(0));
	struct tcb_ptx_for inner;
	tcb_ptx_for_begin(b, &inner, I(0), I(g->splitk), I(1), 1);
	tcb_ptx_load(b, "ld.global.cg.f32", tcb_ptx_at(at, 0), &part, 1);
	tcb_ptx_into2(b, "add.rn.f32", sum, sum, part);
	tcb_ptx_into3(b, "mad.wide.u32", at, w->rows, I(4), at);
	tcb_ptx_for_end(b, &inner);
	tcb_ptx_store(b, "st.global.f32", tcb_ptx_at(element(w, w->y, row, 4), 0), &sum, 1);
	tcb_ptx_for_end(b, &loop);
	tcb_ptx_if_end(b, &last);
}

/* Where several warps or blocks share a row: their parts are added. */
static void write_shared_rows(struct q4k_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const q4k_op first_row = OP2(b, "mul.lo.u32", w->first, I(g->rows));
	const q4k_op end_row = OP2(b, "min.u32", OP2(b, "mul.lo.u32", w->end, I(g->rows)), w->rows);
	const q4k_op count = OP2(b, "sub.u32", end_row, first_row);
	struct tcb_ptx_for loop;
	q4k_op sum, row, at;
	tcb_ptx_op1(b, "bar.sync", I(0));
	tcb_ptx_for_begin(b, &loop, w->tid, count, I(g->warps * WARP), 0);
	sum = write_parts_sum(w, loop.iv);
	row = OP2(b, "add.u32", first_row, loop.iv);
	if (g->splitk > 1)
		at = element(w, w->slices, OP3(b, "mad.lo.u32", tcb_ptx_special(b, "ctaid.y"), w->rows, row), 4);
	else
		at = element(w, w->y, row, 4);
	tcb_ptx_store(b, "st.global.f32", tcb_ptx_at(at, 0), &sum, 1);
	tcb_ptx_for_end(b, &loop);
	if (g->splitk > 1)
		write_slices_sum(w, first_row, count);
}

/* --- weights straight to registers --- */

struct direct {
	q4k_op code_lane, header_lane, code_last, header_last; /* of row 0 for the lane; in the partial step */
	/* the same of the group's rows */
	q4k_op code[Q4K_GPU_ROWS_MAX], header[Q4K_GPU_ROWS_MAX], code_end[Q4K_GPU_ROWS_MAX],
		header_end[Q4K_GPU_ROWS_MAX];
	struct q4k_lane_w batch[Q4K_GPU_ROWS_MAX][Q4K_GPU_STEPS_MAX];
};

static void direct_open(struct q4k_writer *w, struct direct *d)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const unsigned skip = g->layout == TCB_LAYOUT_NATIVE ? HEADER_BYTES : 0;
	const q4k_op first = OP2(b, "mul.lo.u32", w->ks, I(g->share)), block = OP2(b, "add.u32", first, w->within);
	const q4k_op piece = OP3(b, "mad.lo.u32", w->piece, I(g->vec), I(skip));
	const q4k_op codes = OP2(b, "add.u64", w->codes, OP1(b, "cvt.u64.u32", piece));
	d->code_lane = element(w, codes, block, g->code_stride);
	d->header_lane = element(w, w->headers, block, g->header_stride);
	if (g->is_partial) {
		const unsigned done = (g->steps - 1) * g->step;
		const q4k_op within = OP2(b, "min.u32", OP2(b, "add.u32", w->within, I(done)), I(g->share - 1));
		const q4k_op last = OP2(b, "add.u32", first, within);
		d->code_last = element(w, codes, last, g->code_stride);
		d->header_last = element(w, w->headers, last, g->header_stride);
	}
}

static void direct_group(struct q4k_writer *w, struct direct *d, q4k_op group)
{
	const struct q4k_gpu *g = w->g;
	const unsigned codes = g->row_blocks * g->code_stride, headers = g->row_blocks * g->header_stride;
	for (unsigned i = 0; i < g->rows; i++) {
		const q4k_op row = q4k_write_row(w, group, i);
		d->code[i] = element(w, d->code_lane, row, codes);
		d->header[i] = element(w, d->header_lane, row, headers);
		if (g->is_partial) {
			d->code_end[i] = element(w, d->code_last, row, codes);
			d->header_end[i] = element(w, d->header_last, row, headers);
		}
	}
}

/* Loads one unit into registers, new ones unless IS_AGAIN. */
static void direct_load(struct q4k_writer *w, struct direct *d, unsigned row, unsigned step, int is_again)
{
	/* A native block's header shares sectors with its codes: those stay in L1 for the other load. */
	static const char *const keep[] = { "", "ld.global.nc.L1::evict_first.b32",
					    "ld.global.nc.L1::evict_first.v2.b32", "",
					    "ld.global.nc.L1::evict_first.v4.b32" };
	static const char *const pass[] = { "", "ld.global.nc.L1::no_allocate.b32",
					    "ld.global.nc.L1::no_allocate.v2.b32", "",
					    "ld.global.nc.L1::no_allocate.v4.b32" };
	const struct q4k_gpu *g = w->g;
	const char *const *load = g->layout == TCB_LAYOUT_NATIVE ? keep : pass;
	const unsigned words = g->vec / 4;
	const int is_last = g->is_partial && step == g->steps - 1;
	const int64_t block = is_last ? 0 : (int64_t)step * g->step;
	const q4k_op code = tcb_ptx_at(is_last ? d->code_end[row] : d->code[row], block * g->code_stride);
	const q4k_op header = tcb_ptx_at(is_last ? d->header_end[row] : d->header[row], block * g->header_stride);
	struct q4k_lane_w *to = &d->batch[row][step % g->unroll];
	if (!is_again) {
		tcb_ptx_load(&w->b, load[words], code, to->code, words);
		tcb_ptx_load(&w->b, load[4], header, to->header, 4);
		return;
	}
	if (words == 1)
		tcb_ptx_into1(&w->b, load[1], to->code[0], code);
	else
		tcb_ptx_into1(&w->b, load[words], tcb_ptx_vector(&w->b, to->code, words), code);
	tcb_ptx_into1(&w->b, load[4], tcb_ptx_vector(&w->b, to->header, 4), header);
}

static void direct_load_all(struct q4k_writer *w, struct direct *d)
{
	for (unsigned step = 0; step < w->g->unroll; step++)
		for (unsigned row = 0; row < w->g->rows; row++)
			direct_load(w, d, row, step, 0);
}

/* --- the loops over k and over rows --- */

/* Activations of a lane: in registers for good, or read when a step needs them. */
struct lane_xs {
	struct q4k_x_bases bases, last;
	struct q4k_lane_x held[Q4K_GPU_STEPS_MAX];
};

static void xs_open(struct q4k_writer *w, struct lane_xs *xs)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	q4k_write_x_bases(w, OP3(b, "mad.lo.u32", w->ks, I(g->share), w->within), &xs->bases);
	if (g->is_partial)
		q4k_write_x_bases(w, q4k_write_x_last(w), &xs->last);
}

static void xs_read(struct q4k_writer *w, struct lane_xs *xs, unsigned step, struct q4k_lane_x *out)
{
	const int is_last = w->g->is_partial && step == w->g->steps - 1;
	q4k_write_x_lane(w, is_last ? &xs->last : &xs->bases, is_last ? 0 : step, out);
}

static const struct q4k_lane_x *xs_step(struct q4k_writer *w, struct lane_xs *xs, unsigned step)
{
	if (!w->g->x_in_regs)
		xs_read(w, xs, step, &xs->held[step]);
	return &xs->held[step];
}

static void zero(struct q4k_writer *w, q4k_op *values)
{
	for (unsigned i = 0; i < w->g->rows; i++)
		values[i] = q4k_write_constant(w, "f32", tcb_ptx_f32(0));
}

/* A block a tile: one group a warp, all steps at once or in a loop that loads the next ones as it goes. */
static void write_direct(struct q4k_writer *w, struct direct *d, struct lane_xs *xs)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	const q4k_op group = OP2(b, "add.u32", w->first, w->rw);
	q4k_op sums[Q4K_GPU_ROWS_MAX], mins[Q4K_GPU_ROWS_MAX], more;
	struct tcb_ptx_for loop;
	const int is_loop = g->unroll < g->steps;
	zero(w, sums);
	zero(w, mins);
	if (is_loop) {
		tcb_ptx_for_begin(b, &loop, I(0), I(g->steps / g->unroll), I(1), 1);
		more = OP2(b, "setp.lt.u32", loop.iv, I(g->steps / g->unroll - 1));
	}
	for (unsigned step = 0; step < g->unroll; step++) {
		const struct q4k_lane_x *x = xs_step(w, xs, step);
		for (unsigned row = 0; row < g->rows; row++) {
			q4k_write_unit(w, &d->batch[row][step], x, sums[row], mins[row]);
			if (is_loop) {
				tcb_ptx_guard(b, more);
				direct_load(w, d, row, step + g->unroll, 1);
				tcb_ptx_unguard(b);
			}
		}
	}
	if (is_loop) {
		const unsigned blocks = g->unroll * g->step;
		for (unsigned i = 0; i < g->rows; i++) {
			tcb_ptx_into2(b, "add.u64", d->code[i], d->code[i], I((int64_t)blocks * g->code_stride));
			tcb_ptx_into2(b, "add.u64", d->header[i], d->header[i], I((int64_t)blocks * g->header_stride));
		}
		tcb_ptx_into2(b, "add.u32", xs->bases.codes, xs->bases.codes, I(blocks * (g->is_q8 ? 128 : 1024)));
		tcb_ptx_into2(b, "add.u32", xs->bases.scale, xs->bases.scale, I(blocks * (g->group == 32 ? 32 : 4)));
		tcb_ptx_into2(b, "add.u32", xs->bases.sum, xs->bases.sum, I(blocks * 32));
		for (unsigned i = 0; !g->is_q8 && i < (g->vec == 4 ? 2 : g->vec / 4); i++)
			tcb_ptx_into2(b, "add.u32", xs->bases.values[i], xs->bases.values[i], I(blocks * 1024));
		tcb_ptx_for_end(b, &loop);
	}
	write_results(w, group, sums, mins);
}

/* A block that stays: a unit's registers are loaded for the next group as soon as they were used. */
static void write_direct_rows(struct q4k_writer *w, struct direct *d, struct lane_xs *xs)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	struct tcb_ptx_for loop;
	q4k_op sums[Q4K_GPU_ROWS_MAX], mins[Q4K_GPU_ROWS_MAX], next, more;
	tcb_ptx_for_begin(b, &loop, OP2(b, "add.u32", w->first, w->rw), w->end, I(g->row_warps), 0);
	next = OP2(b, "add.u32", loop.iv, I(g->row_warps));
	more = OP2(b, "setp.lt.u32", next, w->end);
	direct_group(w, d, next);
	zero(w, sums);
	zero(w, mins);
	for (unsigned step = 0; step < g->steps; step++) {
		const struct q4k_lane_x *x = xs_step(w, xs, step);
		for (unsigned row = 0; row < g->rows; row++) {
			q4k_write_unit(w, &d->batch[row][step], x, sums[row], mins[row]);
			tcb_ptx_guard(b, more);
			direct_load(w, d, row, step, 1);
			tcb_ptx_unguard(b);
		}
	}
	write_results(w, loop.iv, sums, mins);
	tcb_ptx_for_end(b, &loop);
}

static void write_ring_rows(struct q4k_writer *w, struct q4k_ring *ring, struct lane_xs *xs)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	struct tcb_ptx_for loop;
	q4k_op sums[Q4K_GPU_ROWS_MAX], mins[Q4K_GPU_ROWS_MAX];
	tcb_ptx_for_begin(b, &loop, OP2(b, "add.u32", w->first, w->rw), w->end, I(g->row_warps), 0);
	zero(w, sums); /* before the loop that waits, so that the two loops have headers of their own */
	zero(w, mins);
	q4k_write_ring_wait(w, ring);
	for (unsigned step = 0; step < g->steps; step++)
		for (unsigned row = 0; row < g->rows; row++) {
			struct q4k_lane_w weights;
			q4k_write_ring_take(w, ring, row, step, &weights);
			q4k_write_unit(w, &weights, &xs->held[step], sums[row], mins[row]);
		}
	tcb_ptx_op1(b, "bar.warp.sync", I(-1));
	q4k_write_ring_fill(w, ring, OP2(b, "add.u32", loop.iv, I(g->stages * g->row_warps)), -1);
	write_results(w, loop.iv, sums, mins);
	q4k_write_ring_next(w, ring);
	tcb_ptx_for_end(b, &loop);
}

/* --- a kernel --- */

struct parts {
	struct direct direct;
	struct q4k_ring ring;
	struct lane_xs xs;
	struct q4k_x_loads loads;
};

/* Asks for the tiles FROM to TO - 1 of each warp. */
static void write_ask(struct q4k_writer *w, struct parts *p, unsigned from, unsigned to)
{
	struct tcb_ptx_build *b = &w->b;
	const q4k_op mine = OP2(b, "add.u32", w->first, w->rw);
	for (unsigned i = from; i < to; i++) {
		if (w->g->copy == TCB_COPY_LDG)
			direct_load_all(w, &p->direct);
		else
			q4k_write_ring_fill(w, &p->ring, OP2(b, "add.u32", mine, I(i * w->g->row_warps)), (int)i);
	}
}

static void write_start(struct q4k_writer *w, struct parts *p)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	if (g->copy == TCB_COPY_LDG) {
		direct_open(w, &p->direct);
		direct_group(w, &p->direct, OP2(b, "add.u32", w->first, w->rw));
	} else {
		q4k_write_ring_open(w, &p->ring);
	}
	if (!g->pdl && !g->own_launch)
		q4k_write_x_load(w, &p->loads);
	write_ask(w, p, 0, g->lead);
	if (g->pdl)
		tcb_ptx_op0(b, "griddepcontrol.wait");
	if (g->own_launch) {
		q4k_write_x_copy(w);
	} else {
		if (g->pdl)
			q4k_write_x_load(w, &p->loads);
		q4k_write_x_prepare(w, &p->loads);
	}
	write_ask(w, p, g->lead, g->stages);
	tcb_ptx_op1(b, "bar.sync", I(0));
	xs_open(w, &p->xs);
	for (unsigned step = 0; g->x_in_regs && step < g->steps; step++)
		xs_read(w, &p->xs, step, &p->xs.held[step]);
}

/* Without a number of blocks ptxas takes one of its own, and spills a register or two to reach it. */
static void begin(struct q4k_writer *w, const char *name, unsigned threads, unsigned blocks)
{
	const struct tcb_ptx_directives directives = { .reqntid = { threads, 1, 1 }, .minnctapersm = blocks };
	tcb_ptx_kernel_begin(&w->b, name, &directives);
}

static void write_matvec(struct q4k_writer *w, struct parts *p)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	begin(w, "q4k_matvec", g->warps * WARP, g->together);
	write_parameters(w);
	if (g->pdl)
		tcb_ptx_op0(b, "griddepcontrol.launch_dependents");
	write_threads(w);
	w->shared = OP1(b, "mov.u32", tcb_ptx_shared_dynamic(b, "memory", 128));
	w->image = OP2(b, "add.u32", w->shared, I(g->image_at));
	w->image_space = "shared";
	q4k_write_lane_constants(w);
	write_start(w, p);
	if (g->copy != TCB_COPY_LDG)
		write_ring_rows(w, &p->ring, &p->xs);
	else if (g->resident)
		write_direct_rows(w, &p->direct, &p->xs);
	else
		write_direct(w, &p->direct, &p->xs);
	if (g->ksplit > 1 || g->splitk > 1)
		write_shared_rows(w);
	tcb_ptx_kernel_end(b);
}

/* prep=launch: the images of all tokens, a superblock a warp. */
static void write_prepare(struct q4k_writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct q4k_gpu *g = w->g;
	q4k_op token;
	begin(w, "q4k_prepare", IMAGE_WARPS * WARP, 1);
	w->x = tcb_ptx_param_pointer(b, "x", 16);
	w->image = tcb_ptx_param_pointer(b, "image", 16);
	if (g->pdl) {
		tcb_ptx_op0(b, "griddepcontrol.launch_dependents");
		tcb_ptx_op0(b, "griddepcontrol.wait");
	}
	token = tcb_ptx_special(b, "ctaid.z");
	w->x = element(w, w->x, token, g->row_blocks * Q4K_BLOCK_VALUES * 4);
	w->image = element(w, w->image, token, g->image.bytes);
	w->image_space = "global";
	write_threads(w);
	q4k_write_x_block(w, OP3(b, "mad.lo.u32", tcb_ptx_special(b, "ctaid.x"), I(IMAGE_WARPS), w->warp));
	tcb_ptx_kernel_end(b);
}

/* --- launches --- */

static struct tcb_argument argument(enum tcb_argument_kind kind, size_t value)
{
	return (struct tcb_argument){ kind, value };
}

static void add_launches(const struct q4k_gpu *g, struct tcb_kernel *out)
{
	struct tcb_launch *launch = out->launch;
	struct tcb_argument *a;
	if (g->own_launch) {
		launch->entry = "q4k_prepare";
		launch->grid[0] = (g->image.blocks + IMAGE_WARPS - 1) / IMAGE_WARPS;
		launch->block[0] = IMAGE_WARPS * WARP;
		launch->argument[0] = argument(TCB_ARGUMENT_OPERAND, OPERAND_X);
		launch->argument[1] = argument(TCB_ARGUMENT_WORKSPACE, 0);
		launch->argument_count = 2;
		launch++;
	}
	a = launch->argument;
	launch->entry = "q4k_matvec";
	launch->grid[0] = g->grid;
	launch->block[0] = g->warps * WARP;
	launch->shared_bytes = g->shared_bytes;
	*a++ = argument(TCB_ARGUMENT_OPERAND, OPERAND_WEIGHTS);
	*a++ = g->own_launch ? argument(TCB_ARGUMENT_WORKSPACE, 0) : argument(TCB_ARGUMENT_OPERAND, OPERAND_X);
	*a++ = argument(TCB_ARGUMENT_OPERAND, OPERAND_Y);
	if (g->splitk > 1) {
		*a++ = argument(TCB_ARGUMENT_WORKSPACE, g->slices_at);
		*a++ = argument(TCB_ARGUMENT_WORKSPACE, g->counters_at);
	}
	*a++ = argument(TCB_ARGUMENT_U32, g->n);
	*a++ = argument(TCB_ARGUMENT_U32, g->least);
	*a++ = argument(TCB_ARGUMENT_U32, g->longer);
	launch->argument_count = (size_t)(a - launch->argument);
	out->launch_count = (size_t)(launch - out->launch) + 1;
	for (size_t i = 0; i < out->launch_count; i++) {
		out->launch[i].grid[1] = i + 1 == out->launch_count ? g->splitk : 1;
		out->launch[i].grid[2] = g->tokens;
		out->launch[i].block[1] = out->launch[i].block[2] = 1;
		out->launch[i].is_dependent = g->pdl;
	}
}

enum tcb_status q4k_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const struct tcb_ptx_target ptx_target = { target->capability, 0 };
	struct q4k_gpu g;
	struct q4k_writer w = { .g = &g };
	struct parts parts;
	memset(out, 0, sizeof(*out));
	q4k_gpu_plan(problem, target, geometry, &g);
	TCB_TRY(tcb_ptx_build_init(&w.b, &ptx_target, err));
	if (g.own_launch)
		write_prepare(&w);
	write_matvec(&w, &parts);
	TCB_TRY(tcb_ptx_build_finish(&w.b, &out->module, err));
	out->problem = *problem;
	out->geometry = *geometry;
	add_launches(&g, out);
	out->packed_bytes = g.layout == TCB_LAYOUT_NATIVE ? 0 : (size_t)g.n * g.row_blocks * Q4K_BLOCK_BYTES;
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = q4k_gpu_chain(&g);
	return TCB_OK;
}

const struct tcb_variant q4k_gpu_variants[] = {
	{ .name = "q4k_matvec_q8_ptx_dp4a",
	  .contract = TCB_CONTRACT_Q8,
	  .isa = TCB_ISA_DP4A,
	  .class = TCB_CLASS_BOUNDED,
	  .signature = TCB_SOURCE_HASH },
	{ .name = "q4k_matvec_f32_ptx_fma",
	  .contract = TCB_CONTRACT_F32,
	  .isa = TCB_ISA_FMA,
	  .class = TCB_CLASS_BOUNDED,
	  .signature = TCB_SOURCE_HASH },
	{ .name = NULL },
};
