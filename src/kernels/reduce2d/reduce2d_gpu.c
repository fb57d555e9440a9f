/* SPDX-License-Identifier: MIT
 *
 * The reduce2d ops on a GPU: a geometry comes in, a module of PTX and its
 * launches go out.  reduce2d_gpu.h says how the geometry drives them.
 *
 * Two types of values: those of a lane's accumulators, f32, and what a lane
 * ends with, f64 for sums and f32 for max and min.  The workspace begins with a
 * counter of blocks that are done, a flag and the atomic result, all 0 between
 * calls; then the blocks' results.
 */
#include "kernels/reduce2d/reduce2d_gpu.h"

#include <math.h>
#include <string.h>

#define I tcb_ptx_int
#define F tcb_ptx_f32
#define OP1 tcb_ptx_op1
#define OP2 tcb_ptx_op2
#define OP3 tcb_ptx_op3

typedef struct tcb_ptx_operand red_op;

enum {
	WARP = 32,
	VALUES_MAX = REDUCE2D_GPU_UNROLL_MAX * REDUCE2D_GPU_WIDTH_MAX,
	COUNTER_AT = 0,
	FLAG_AT = 4,
	TOTAL_AT = 8,
	QUIET_NAN = 0x7fc00000
};

struct writer {
	struct tcb_ptx_build b;
	const struct reduce2d_gpu *g;
	red_op x, y, partials, state; /* global: matrix, result; the workspace's */
	red_op vectors, rest;
	red_op tid, lane, warp, block, blocks;
	red_op shared;
	red_op sum[VALUES_MAX], lost[VALUES_MAX]; /* accumulators; kahan: what they are too large by */
	red_op total;                             /* pairwise: f64 */
	red_op is_nan;                            /* max, min before sm_80: a NaN was seen */
};

static red_op constant(struct writer *w, const char *type, red_op value)
{
	const red_op to = tcb_ptx_reg(&w->b, type);
	tcb_ptx_into1(&w->b, type[0] == 'f' ? type[1] == '3' ? "mov.f32" : "mov.f64" : "mov.u32", to, value);
	return to;
}

static int is_sum(const struct writer *w)
{
	return w->g->kind == REDUCE2D_SUM;
}

/* What an element that is not there counts as. */
static red_op identity(const struct writer *w)
{
	return F(is_sum(w) ? -0.0f : w->g->kind == REDUCE2D_MAX ? -INFINITY : INFINITY);
}

static red_op widen(struct writer *w, red_op value)
{
	return is_sum(w) ? OP1(&w->b, "cvt.f64.f32", value) : value;
}

/* Two values of a lane's end: f64 sums; f32 extremes, NaN if either is. */
static red_op combine(struct writer *w, red_op x, red_op y)
{
	struct tcb_ptx_build *b = &w->b;
	const int is_max = w->g->kind == REDUCE2D_MAX;
	if (is_sum(w))
		return OP2(b, "add.rn.f64", x, y);
	if (w->g->capability >= 80)
		return OP2(b, is_max ? "max.NaN.f32" : "min.NaN.f32", x, y);
	const red_op value = OP2(b, is_max ? "max.f32" : "min.f32", x, y);
	const red_op nan = constant(w, "u32", I(QUIET_NAN));
	return OP3(b, "selp.b32", OP1(b, "mov.b32", nan), value, OP2(b, "setp.nan.f32", x, y));
}

static red_op exchange(struct writer *w, red_op value, unsigned distance)
{
	struct tcb_ptx_build *b = &w->b;
	red_op half[2], other[2];
	if (!is_sum(w))
		return tcb_ptx_op4(b, "shfl.sync.bfly.b32", value, I(distance), I(31), I(-1));
	for (int i = 0; i < 2; i++)
		half[i] = tcb_ptx_reg(b, "b32");
	tcb_ptx_into1(b, "mov.b64", tcb_ptx_vector(b, half, 2), value);
	for (int i = 0; i < 2; i++)
		other[i] = tcb_ptx_op4(b, "shfl.sync.bfly.b32", half[i], I(distance), I(31), I(-1));
	const red_op whole = tcb_ptx_reg(b, "f64");
	tcb_ptx_into1(b, "mov.b64", whole, tcb_ptx_vector(b, other, 2));
	return whole;
}

static red_op over_lanes(struct writer *w, red_op value, unsigned lanes)
{
	for (unsigned distance = lanes / 2; distance; distance /= 2)
		value = combine(w, value, exchange(w, value, distance));
	return value;
}

/* --- a lane's accumulators --- */

static void open_sums(struct writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct reduce2d_gpu *g = w->g;
	for (unsigned i = 0; i < g->unroll * g->width; i++) {
		if (!is_sum(w) || g->form != TCB_FORM_PAIRWISE)
			w->sum[i] = constant(w, "f32", identity(w));
		if (is_sum(w) && g->form == TCB_FORM_KAHAN)
			w->lost[i] = constant(w, "f32", F(0));
	}
	if (is_sum(w) && g->form == TCB_FORM_PAIRWISE)
		w->total = OP1(b, "cvt.f64.f32", identity(w));
	if (!is_sum(w) && g->capability < 80)
		w->is_nan = OP2(b, "setp.ne.u32", w->tid, w->tid);
}

/* The values of a vector's place I and of accumulator I. */
static void add_value(struct writer *w, unsigned i, red_op value)
{
	struct tcb_ptx_build *b = &w->b;
	const struct reduce2d_gpu *g = w->g;
	if (!is_sum(w)) {
		const int is_max = g->kind == REDUCE2D_MAX;
		if (g->capability >= 80) {
			tcb_ptx_into2(b, is_max ? "max.NaN.f32" : "min.NaN.f32", w->sum[i], w->sum[i], value);
			return;
		}
		tcb_ptx_into2(b, is_max ? "max.f32" : "min.f32", w->sum[i], w->sum[i], value);
		tcb_ptx_into3(b, "setp.nan.or.f32", w->is_nan, value, value, w->is_nan);
		return;
	}
	if (g->form == TCB_FORM_LANES) {
		tcb_ptx_into2(b, "add.rn.f32", w->sum[i], w->sum[i], value);
		return;
	}
	/* y = value - lost; t = sum + y; lost = (t - sum) - y */
	const red_op y = OP2(b, "sub.rn.f32", value, w->lost[i]);
	const red_op t = OP2(b, "add.rn.f32", w->sum[i], y);
	const red_op moved = OP2(b, "sub.rn.f32", t, w->sum[i]);
	tcb_ptx_into2(b, "sub.rn.f32", w->lost[i], moved, y);
	tcb_ptx_into1(b, "mov.f32", w->sum[i], t);
}

static void add_step(struct writer *w, const red_op *value)
{
	struct tcb_ptx_build *b = &w->b;
	unsigned count = w->g->unroll * w->g->width;
	if (!is_sum(w) || w->g->form != TCB_FORM_PAIRWISE) {
		for (unsigned i = 0; i < count; i++)
			add_value(w, i, value[i]);
		return;
	}
	red_op tree[VALUES_MAX];
	memcpy(tree, value, count * sizeof *tree);
	for (; count > 1; count /= 2)
		for (unsigned i = 0; i < count / 2; i++)
			tree[i] = OP2(b, "add.rn.f32", tree[i], tree[i + count / 2]);
	tcb_ptx_into2(b, "add.rn.f64", w->total, w->total, OP1(b, "cvt.f64.f32", tree[0]));
}

/* What the lane ends with. */
static red_op close_sums(struct writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct reduce2d_gpu *g = w->g;
	unsigned count = g->unroll * g->width;
	red_op end[VALUES_MAX];
	if (is_sum(w) && g->form == TCB_FORM_PAIRWISE)
		return w->total;
	const int is_wide = is_sum(w) && g->form == TCB_FORM_KAHAN;
	for (unsigned i = 0; i < count; i++) {
		end[i] = w->sum[i];
		if (is_wide)
			end[i] = OP2(b, "sub.rn.f64", widen(w, w->sum[i]), widen(w, w->lost[i]));
	}
	for (; count > 1; count /= 2)
		for (unsigned i = 0; i < count / 2; i++)
			end[i] = is_wide || !is_sum(w) ? combine(w, end[i], end[i + count / 2])
						       : OP2(b, "add.rn.f32", end[i], end[i + count / 2]);
	if (!is_sum(w) && g->capability < 80)
		end[0] = OP3(b, "selp.b32", OP1(b, "mov.b32", I(QUIET_NAN)), end[0], w->is_nan);
	return is_wide ? end[0] : widen(w, end[0]);
}

/* --- a block's steps --- */

static const char *load_name(const struct writer *w)
{
	static const char *const loads[2][5] = {
		{ "", "ld.global.nc.L1::no_allocate.f32", "ld.global.nc.L1::no_allocate.v2.f32", "",
		  "ld.global.nc.L1::no_allocate.v4.f32" },
		{ "", "ld.global.L1::no_allocate.f32", "ld.global.L1::no_allocate.v2.f32", "",
		  "ld.global.L1::no_allocate.v4.f32" },
	};
	return loads[w->g->pdl][w->g->width];
}

static red_op vector_of(struct writer *w, const red_op *values)
{
	return w->g->width > 1 ? tcb_ptx_vector(&w->b, values, w->g->width) : values[0];
}

/* The lane's vectors of step number STEP to VALUE: new registers unless IS_AGAIN; IS_CUT: where they are; IF: if. */
static void load_step(struct writer *w, red_op step, red_op *value, int is_again, int is_cut, const red_op *only_if)
{
	struct tcb_ptx_build *b = &w->b;
	const struct reduce2d_gpu *g = w->g;
	const red_op first = OP3(b, "mad.lo.u32", step, I(g->step), w->tid);
	const red_op from = OP3(b, "mad.wide.u32", first, I(4 * g->width), w->x);
	for (unsigned i = 0; !is_again && i < g->unroll * g->width; i++)
		value[i] = is_cut ? constant(w, "f32", identity(w)) : tcb_ptx_reg(b, "f32");
	for (unsigned i = 0; i < g->unroll; i++) {
		const red_op operands[2] = { vector_of(w, value + i * g->width),
					     tcb_ptx_at(from, (int64_t)i * g->threads * 4 * g->width) };
		if (is_cut)
			tcb_ptx_guard(b,
				      OP2(b, "setp.lt.u32", OP2(b, "add.u32", first, I(i * g->threads)), w->vectors));
		else if (only_if)
			tcb_ptx_guard(b, *only_if);
		tcb_ptx_into(b, load_name(w), 2, operands);
		tcb_ptx_unguard(b);
	}
}

/* What to do with a step's values. */
typedef void take_fn(struct writer *w, const red_op *value);

/* Whole steps in turn, then the cut one, which is the next block's turn. */
static void write_steps(struct writer *w, take_fn *take, int is_ahead)
{
	struct tcb_ptx_build *b = &w->b;
	const struct reduce2d_gpu *g = w->g;
	red_op value[VALUES_MAX], next[VALUES_MAX];
	struct tcb_ptx_for loop;
	struct tcb_ptx_if cut;
	if (!g->resident) {
		load_step(w, w->block, value, 0, 1, NULL);
		take(w, value);
		return;
	}
	const red_op whole = OP2(b, "div.u32", w->vectors, I(g->step));
	if (is_ahead) {
		for (unsigned i = 0; i < g->unroll * g->width; i++)
			next[i] = constant(w, "f32", identity(w));
		const red_op has = OP2(b, "setp.lt.u32", w->block, whole);
		load_step(w, w->block, next, 1, 0, &has);
	}
	tcb_ptx_for_begin(b, &loop, w->block, whole, w->blocks, 0);
	const red_op text = { .kind = TCB_PTX_O_TEXT, .reg = TCB_PTX_NO_REG, .text = "nounroll" };
	tcb_ptx_op1(b, ".pragma", text);
	if (is_ahead) {
		const red_op after = OP2(b, "add.u32", loop.iv, w->blocks);
		const red_op more = OP2(b, "setp.lt.u32", after, whole);
		for (unsigned i = 0; i < g->unroll * g->width; i++)
			value[i] = OP1(b, "mov.b32", next[i]);
		load_step(w, after, next, 1, 0, &more);
	} else {
		load_step(w, loop.iv, value, 0, 0, NULL);
	}
	take(w, value);
	tcb_ptx_for_end(b, &loop);
	tcb_ptx_if_begin(b, &cut, OP2(b, "setp.eq.u32", OP2(b, "rem.u32", whole, w->blocks), w->block));
	load_step(w, whole, value, 0, 1, NULL);
	take(w, value);
	tcb_ptx_if_end(b, &cut);
}

/* Elements past the last whole vector: one each for the first lanes of block 0; others get the identity. */
static red_op load_rest(struct writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const red_op value = constant(w, "f32", identity(w));
	const red_op base = OP3(b, "mad.wide.u32", w->vectors, I(4 * w->g->width), w->x);
	const red_op from = OP3(b, "mad.wide.u32", w->tid, I(4), base);
	const red_op is_first = OP2(b, "setp.eq.u32", w->block, I(0));
	tcb_ptx_guard(b, OP3(b, "setp.lt.and.u32", w->tid, w->rest, is_first));
	tcb_ptx_into1(b, w->g->pdl ? "ld.global.f32" : "ld.global.nc.f32", value, tcb_ptx_at(from, 0));
	tcb_ptx_unguard(b);
	return value;
}

static void take_wide(struct writer *w, const red_op *value)
{
	for (unsigned i = 0; i < w->g->unroll * w->g->width; i++)
		tcb_ptx_into2(&w->b, "add.rn.f64", w->total, w->total, OP1(&w->b, "cvt.f64.f32", value[i]));
}

/* The warp's end of all its steps, in every lane. */
static red_op write_warp(struct writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	struct tcb_ptx_if lost;
	open_sums(w);
	const red_op rest = w->g->width > 1 ? load_rest(w) : identity(w);
	write_steps(w, add_step, w->g->stages > 1);
	red_op end = close_sums(w);
	if (is_sum(w)) { /* what f32 could not hold, or what is infinite or a NaN */
		const red_op kept = constant(w, "f64", end);
		const red_op size = OP1(b, "abs.f64", end);
		const red_op huge = OP1(b, "cvt.f64.f32", F(INFINITY));
		tcb_ptx_if_begin(b, &lost, OP2(b, "vote.sync.any.pred", OP2(b, "setp.geu.f64", size, huge), I(-1)));
		w->total = OP1(b, "cvt.f64.f32", identity(w));
		write_steps(w, take_wide, 0);
		tcb_ptx_into1(b, "mov.f64", kept, w->total);
		tcb_ptx_if_end(b, &lost);
		end = kept;
	}
	if (w->g->width > 1)
		end = combine(w, end, widen(w, rest));
	return over_lanes(w, end, WARP);
}

/* --- a block, and all of them --- */

static unsigned value_bytes(const struct writer *w)
{
	return is_sum(w) ? 8 : 4;
}

static void load_value(struct writer *w, const char *space, red_op to, red_op at)
{
	char name[32] = "ld.";
	strcat(strcat(name, space), is_sum(w) ? ".f64" : ".f32");
	tcb_ptx_into1(&w->b, tcb_ptx_namef(&w->b, "%s", name), to, at);
}

static void store_value(struct writer *w, const char *space, red_op at, red_op value)
{
	char name[32] = "st.";
	strcat(strcat(name, space), is_sum(w) ? ".f64" : ".f32");
	tcb_ptx_store(&w->b, tcb_ptx_namef(&w->b, "%s", name), at, &value, 1);
}

/* The block's end of its warps' VALUE, in every lane of warp 0. */
static red_op write_block(struct writer *w, red_op value)
{
	struct tcb_ptx_build *b = &w->b;
	const unsigned warps = w->g->warps, bytes = value_bytes(w);
	if (warps == 1)
		return value;
	const red_op at = OP3(b, "mad.lo.u32", w->warp, I(bytes), w->shared);
	tcb_ptx_guard(b, OP2(b, "setp.eq.u32", w->lane, I(0)));
	store_value(w, "shared", tcb_ptx_at(at, 0), value);
	tcb_ptx_unguard(b);
	tcb_ptx_op1(b, "bar.sync", I(0));
	const red_op from = OP3(b, "mad.lo.u32", OP2(b, "and.b32", w->lane, I(warps - 1)), I(bytes), w->shared);
	const red_op all = tcb_ptx_reg(b, is_sum(w) ? "f64" : "f32");
	load_value(w, "shared", all, tcb_ptx_at(from, 0));
	return over_lanes(w, all, warps);
}

/* By thread 0. */
static void write_result(struct writer *w, red_op value)
{
	struct tcb_ptx_build *b = &w->b;
	red_op y;
	if (is_sum(w)) {
		y = OP1(b, "cvt.rn.f32.f64", value);
	} else { /* a NaN is the quiet one of reduce2d.h */
		y = OP3(b, "selp.b32", OP1(b, "mov.b32", I(QUIET_NAN)), value, OP2(b, "setp.nan.f32", value, value));
	}
	tcb_ptx_store(b, "st.global.b32", tcb_ptx_at(w->y, 0), &y, 1);
}

/* All blocks' results, in a fixed order, by the threads of this one; thread 0 writes the end. */
static void write_all(struct writer *w, red_op count)
{
	struct tcb_ptx_build *b = &w->b;
	struct tcb_ptx_for loop;
	struct tcb_ptx_if first;
	const red_op all = constant(w, is_sum(w) ? "f64" : "f32", F(0));
	if (is_sum(w))
		tcb_ptx_into1(b, "cvt.f64.f32", all, identity(w));
	else
		tcb_ptx_into1(b, "mov.f32", all, identity(w));
	tcb_ptx_for_begin(b, &loop, w->tid, count, I(w->g->threads), 0);
	const red_op value = tcb_ptx_reg(b, is_sum(w) ? "f64" : "f32");
	load_value(w, "global.cg", value,
		   tcb_ptx_at(OP3(b, "mad.wide.u32", loop.iv, I(value_bytes(w)), w->partials), 0));
	tcb_ptx_into1(b, is_sum(w) ? "mov.f64" : "mov.f32", all, combine(w, all, value));
	tcb_ptx_for_end(b, &loop);
	if (w->g->warps > 1)
		tcb_ptx_op1(b, "bar.sync", I(0)); /* shared memory has been read */
	const red_op end = write_block(w, over_lanes(w, all, WARP));
	tcb_ptx_if_begin(b, &first, OP2(b, "setp.eq.u32", w->tid, I(0)));
	write_result(w, end);
	tcb_ptx_if_end(b, &first);
}

/* Is this block the last?  The counter is 0 again then.  In every thread. */
static red_op write_arrival(struct writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	struct tcb_ptx_if first;
	const red_op last = OP2(b, "sub.u32", w->blocks, I(1));
	red_op seen;
	tcb_ptx_if_begin(b, &first, OP2(b, "setp.eq.u32", w->tid, I(0)));
	tcb_ptx_op0(b, "fence.acq_rel.gpu");
	const red_op arrived = OP2(b, "atom.global.inc.u32", tcb_ptx_at(w->state, COUNTER_AT), last);
	tcb_ptx_op0(b, "fence.acq_rel.gpu");
	tcb_ptx_store(b, "st.shared.u32", tcb_ptx_at(w->shared, w->g->warps * 8), &arrived, 1);
	tcb_ptx_if_end(b, &first);
	tcb_ptx_op1(b, "bar.sync", I(0));
	tcb_ptx_load(b, "ld.shared.u32", tcb_ptx_at(w->shared, w->g->warps * 8), &seen, 1);
	return OP2(b, "setp.eq.u32", seen, last);
}

/* A value as a word whose unsigned order is its own (max) or the opposite (min), above 0; NaN is above all. */
static red_op order_word(struct writer *w, red_op value)
{
	struct tcb_ptx_build *b = &w->b;
	const red_op bits = OP1(b, "mov.b32", value);
	const red_op sign = OP2(b, "shr.s32", bits, I(31));
	const red_op flip = OP2(b, "or.b32", sign, I((int64_t)0x80000000));
	red_op word = OP2(b, "xor.b32", bits, flip);
	if (w->g->kind == REDUCE2D_MIN)
		word = OP1(b, "not.b32", word);
	return OP3(b, "selp.b32", I(-1), word, OP2(b, "setp.nan.f32", value, value));
}

static red_op value_of_word(struct writer *w, red_op word)
{
	struct tcb_ptx_build *b = &w->b;
	const red_op is_nan = OP2(b, "setp.eq.u32", word, I((int64_t)0xffffffff));
	const red_op up = w->g->kind == REDUCE2D_MIN ? OP1(b, "not.b32", word) : word;
	const red_op sign = OP2(b, "shr.s32", OP1(b, "not.b32", up), I(31));
	const red_op bits = OP2(b, "xor.b32", up, OP2(b, "or.b32", sign, I((int64_t)0x80000000)));
	const red_op value = tcb_ptx_reg(b, "f32");
	tcb_ptx_into1(b, "mov.b32", value, OP3(b, "selp.b32", I(QUIET_NAN), bits, is_nan));
	return value;
}

/*
 * Thread 0 adds the block's VALUE to the total; the last block's takes it out, and leaves 0.  The flag says that one of
 * the sums was not -0: the total begins at +0, and would lose that.
 */
static void write_atomic(struct writer *w, red_op value)
{
	struct tcb_ptx_build *b = &w->b;
	struct tcb_ptx_if first, is_last;
	const red_op last = OP2(b, "sub.u32", w->blocks, I(1));
	tcb_ptx_if_begin(b, &first, OP2(b, "setp.eq.u32", w->tid, I(0)));
	if (is_sum(w)) {
		const red_op bits = tcb_ptx_reg(b, "b64");
		tcb_ptx_into1(b, "mov.b64", bits, value);
		const red_op some = OP2(b, "setp.ne.u64", OP2(b, "xor.b64", bits, I(INT64_MIN)), I(0));
		OP2(b, "red.global.or.b32", tcb_ptx_at(w->state, FLAG_AT), OP3(b, "selp.b32", I(1), I(0), some));
		OP2(b, "red.global.add.f64", tcb_ptx_at(w->state, TOTAL_AT), value);
	} else {
		OP2(b, "red.global.max.u32", tcb_ptx_at(w->state, TOTAL_AT), order_word(w, value));
	}
	tcb_ptx_op0(b, "fence.acq_rel.gpu");
	const red_op arrived = OP2(b, "atom.global.inc.u32", tcb_ptx_at(w->state, COUNTER_AT), last);
	tcb_ptx_op0(b, "fence.acq_rel.gpu");
	tcb_ptx_if_begin(b, &is_last, OP2(b, "setp.eq.u32", arrived, last));
	if (is_sum(w)) {
		const red_op some = OP2(b, "atom.global.exch.b32", tcb_ptx_at(w->state, FLAG_AT), I(0));
		const red_op bits = OP2(b, "atom.global.exch.b64", tcb_ptx_at(w->state, TOTAL_AT), I(0));
		const red_op total = tcb_ptx_reg(b, "f64"), none = OP1(b, "cvt.f64.f32", F(-0.0f));
		tcb_ptx_into1(b, "mov.b64", total, bits);
		write_result(w, OP3(b, "selp.f64", total, none, OP2(b, "setp.ne.u32", some, I(0))));
	} else {
		const red_op word = OP2(b, "atom.global.exch.b32", tcb_ptx_at(w->state, TOTAL_AT), I(0));
		write_result(w, value_of_word(w, word));
	}
	tcb_ptx_if_end(b, &is_last);
	tcb_ptx_if_end(b, &first);
}

/* --- kernels --- */

static void begin(struct writer *w, const char *name)
{
	struct tcb_ptx_build *b = &w->b;
	const struct tcb_ptx_directives directives = { .reqntid = { w->g->threads, 1, 1 },
						       .minnctapersm = w->g->together };
	tcb_ptx_kernel_begin(b, name, &directives);
}

static void write_places(struct writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	w->tid = tcb_ptx_special(b, "tid.x");
	w->lane = OP2(b, "and.b32", w->tid, I(WARP - 1));
	w->warp = OP2(b, "shr.u32", w->tid, I(5));
	w->shared = OP1(b, "mov.u32", tcb_ptx_shared(b, "parts", 8, (w->g->warps + 2) * 8));
}

static void write_reduce(struct writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	const struct reduce2d_gpu *g = w->g;
	struct tcb_ptx_if scope;
	begin(w, "reduce2d");
	w->x = tcb_ptx_param_pointer(b, "x", 16);
	if (g->join != TCB_JOIN_LAUNCH)
		w->y = tcb_ptx_param_pointer(b, "y", 4);
	if (g->join == TCB_JOIN_LAST || g->join == TCB_JOIN_ATOMIC)
		w->state = tcb_ptx_param_pointer(b, "state", 16);
	if (g->join == TCB_JOIN_LAST || g->join == TCB_JOIN_LAUNCH)
		w->partials = tcb_ptx_param_pointer(b, "partials", 16);
	w->vectors = tcb_ptx_param(b, "u32", "vectors");
	w->rest = tcb_ptx_param(b, "u32", "rest");
	if (g->pdl) {
		tcb_ptx_op0(b, "griddepcontrol.launch_dependents");
		tcb_ptx_op0(b, "griddepcontrol.wait");
	}
	write_places(w);
	w->block = tcb_ptx_special(b, "ctaid.x");
	w->blocks = tcb_ptx_special(b, "nctaid.x");
	const red_op end = write_block(w, write_warp(w));
	if (g->join == TCB_JOIN_ATOMIC) {
		write_atomic(w, end);
		tcb_ptx_kernel_end(b);
		return;
	}
	tcb_ptx_if_begin(b, &scope, OP2(b, "setp.eq.u32", w->tid, I(0)));
	if (g->join == TCB_JOIN_NONE)
		write_result(w, end);
	else
		store_value(w, "global",
			    tcb_ptx_at(OP3(b, "mad.wide.u32", w->block, I(value_bytes(w)), w->partials), 0), end);
	tcb_ptx_if_end(b, &scope);
	if (g->join == TCB_JOIN_LAST) {
		tcb_ptx_if_begin(b, &scope, write_arrival(w));
		write_all(w, w->blocks);
		tcb_ptx_if_end(b, &scope);
	}
	tcb_ptx_kernel_end(b);
}

static void write_second(struct writer *w)
{
	struct tcb_ptx_build *b = &w->b;
	begin(w, "reduce2d_results");
	w->y = tcb_ptx_param_pointer(b, "y", 4);
	w->partials = tcb_ptx_param_pointer(b, "partials", 16);
	const red_op count = tcb_ptx_param(b, "u32", "count");
	if (w->g->pdl) {
		tcb_ptx_op0(b, "griddepcontrol.launch_dependents");
		tcb_ptx_op0(b, "griddepcontrol.wait");
	}
	write_places(w);
	write_all(w, count);
	tcb_ptx_kernel_end(b);
}

/* --- launches --- */

static void add_launches(const struct reduce2d_gpu *g, struct tcb_kernel *out)
{
	struct tcb_launch *launch = out->launch;
	struct tcb_argument *a = launch->argument;
	*a++ = (struct tcb_argument){ TCB_ARGUMENT_OPERAND, REDUCE2D_X };
	if (g->join != TCB_JOIN_LAUNCH)
		*a++ = (struct tcb_argument){ TCB_ARGUMENT_OPERAND, REDUCE2D_Y };
	if (g->join == TCB_JOIN_LAST || g->join == TCB_JOIN_ATOMIC)
		*a++ = (struct tcb_argument){ TCB_ARGUMENT_WORKSPACE, 0 };
	if (g->join == TCB_JOIN_LAST || g->join == TCB_JOIN_LAUNCH)
		*a++ = (struct tcb_argument){ TCB_ARGUMENT_WORKSPACE, g->partials_at };
	*a++ = (struct tcb_argument){ TCB_ARGUMENT_U32, g->vectors };
	*a++ = (struct tcb_argument){ TCB_ARGUMENT_U32, g->rest };
	launch->entry = "reduce2d";
	launch->grid[0] = g->grid;
	launch->argument_count = (size_t)(a - launch->argument);
	out->launch_count = 1;
	if (g->join == TCB_JOIN_LAUNCH) {
		launch = &out->launch[out->launch_count++];
		launch->entry = "reduce2d_results";
		launch->grid[0] = 1;
		launch->argument[0] = (struct tcb_argument){ TCB_ARGUMENT_OPERAND, REDUCE2D_Y };
		launch->argument[1] = (struct tcb_argument){ TCB_ARGUMENT_WORKSPACE, g->partials_at };
		launch->argument[2] = (struct tcb_argument){ TCB_ARGUMENT_U32, g->grid };
		launch->argument_count = 3;
	}
	for (size_t i = 0; i < out->launch_count; i++) {
		out->launch[i].grid[1] = out->launch[i].grid[2] = 1;
		out->launch[i].block[0] = g->threads;
		out->launch[i].block[1] = out->launch[i].block[2] = 1;
		out->launch[i].is_dependent = g->pdl;
	}
}

enum tcb_status reduce2d_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			      const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const struct tcb_ptx_target ptx_target = { target->capability, 0 };
	struct reduce2d_gpu g;
	struct writer w = { .g = &g };
	memset(out, 0, sizeof(*out));
	reduce2d_gpu_plan(problem, target, geometry, &g);
	TCB_TRY(tcb_ptx_build_init(&w.b, &ptx_target, err));
	write_reduce(&w);
	if (g.join == TCB_JOIN_LAUNCH)
		write_second(&w);
	TCB_TRY(tcb_ptx_build_finish(&w.b, &out->module, err));
	out->problem = *problem;
	out->geometry = *geometry;
	add_launches(&g, out);
	out->workspace_bytes = g.workspace_bytes;
	out->class = is_sum(&w) ? TCB_CLASS_BOUNDED : TCB_CLASS_EXACT;
	if (is_sum(&w)) {
		out->chain = reduce2d_gpu_chain(&g);
		out->ulps = 0.51; /* the result's rounding, and what f64 leaves */
	}
	return TCB_OK;
}

#define VARIANT(kind, its_class)                        \
	{                                               \
		{ .name = "reduce2d_" #kind "_f32_ptx", \
		  .contract = TCB_CONTRACT_F32,         \
		  .isa = TCB_ISA_FMA,                   \
		  .class = TCB_CLASS_##its_class,       \
		  .signature = TCB_SOURCE_HASH },       \
		{                                       \
			.name = NULL                    \
		}                                       \
	}
const struct tcb_variant reduce2d_sum_gpu_variants[] = VARIANT(sum, BOUNDED);
const struct tcb_variant reduce2d_max_gpu_variants[] = VARIANT(max, EXACT);
const struct tcb_variant reduce2d_min_gpu_variants[] = VARIANT(min, EXACT);
