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

#include "kernels/gpu/barrier.h"

enum {
	VALUES_MAX = REDUCE2D_GPU_UNROLL_MAX * REDUCE2D_GPU_WIDTH_MAX,
	COUNTER_AT = 0,
	FLAG_AT = 4,
	TOTAL_AT = 8,
	QUIET_NAN = 0x7fc00000
};

struct writer {
	struct tcb_kit kit;
	const struct reduce2d_gpu *g;
	kit_op x, y, partials, state; /* global: matrix, result; the workspace's */
	kit_op vectors, rest;
	kit_op block, blocks;
	kit_op sum[VALUES_MAX], lost[VALUES_MAX]; /* accumulators; kahan: what they are too large by */
	kit_op total;                             /* pairwise: f64 */
	kit_op is_nan;                            /* max, min before sm_80: a NaN was seen */
};

static int is_sum(const struct writer *w)
{
	return w->g->kind == REDUCE2D_SUM;
}

/* What an element that is not there counts as. */
static kit_op identity(const struct writer *w)
{
	if (w->g->program)
		return F(w->g->program->identity);
	return F(is_sum(w) ? -0.0f : w->g->kind == REDUCE2D_MAX ? -INFINITY : INFINITY);
}

static kit_op widen(struct writer *w, kit_op value)
{
	return is_sum(w) ? d_from_f(&w->kit.b, value) : value;
}

/* The larger or smaller of two f32, NaN if either is. */
static kit_op extreme(struct writer *w, int is_max, kit_op x, kit_op y)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->capability >= 80)
		return (is_max ? f_max_nan : f_min_nan)(b, x, y);
	const kit_op value = (is_max ? f_max : f_min)(b, x, y);
	const kit_op nan = u_set(b, I(QUIET_NAN));
	return b_select(b, b_set(b, nan), value, f_unordered(b, x, y));
}

/* An instruction for each step of the program. */
static kit_op run_program(struct writer *w, kit_op x, kit_op y)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct reduce2d_program *program = w->g->program;
	kit_op stack[REDUCE2D_STACK_MAX];
	int top = -1;
	for (unsigned i = 0; i < program->count; i++) {
		const enum reduce2d_code code = program->step[i].code;
		const int operands = reduce2d_code_operands(code);
		top -= operands - 1;
		const kit_op *from = &stack[top];
		switch (code) {
		case REDUCE2D_CODE_A:
			stack[top] = x;
			break;
		case REDUCE2D_CODE_B:
			stack[top] = y;
			break;
		case REDUCE2D_CODE_NUMBER:
			stack[top] = f_set(b, F(program->step[i].value));
			break;
		case REDUCE2D_CODE_NEG:
			stack[top] = f_neg(b, from[0]);
			break;
		case REDUCE2D_CODE_ABS:
			stack[top] = f_abs(b, from[0]);
			break;
		case REDUCE2D_CODE_ADD:
			stack[top] = f_add(b, from[0], from[1]);
			break;
		case REDUCE2D_CODE_SUB:
			stack[top] = f_sub(b, from[0], from[1]);
			break;
		case REDUCE2D_CODE_MUL:
			stack[top] = f_mul(b, from[0], from[1]);
			break;
		case REDUCE2D_CODE_MIN:
		case REDUCE2D_CODE_MAX:
			stack[top] = extreme(w, code == REDUCE2D_CODE_MAX, from[0], from[1]);
			break;
		}
	}
	return stack[0];
}

/* Two values of a lane's end: f64 sums; f32 of all else. */
static kit_op combine(struct writer *w, kit_op x, kit_op y)
{
	if (is_sum(w))
		return d_add(&w->kit.b, x, y);
	return w->g->program ? run_program(w, x, y) : extreme(w, w->g->kind == REDUCE2D_MAX, x, y);
}

static kit_op exchange(struct writer *w, kit_op value, unsigned distance)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op half[2], other[2];
	if (!is_sum(w))
		return tcb_kit_butterfly(b, value, distance);
	for (int i = 0; i < 2; i++)
		half[i] = tcb_ptx_reg(b, "b32");
	lb_set_to(b, tcb_ptx_vector(b, half, 2), value);
	for (int i = 0; i < 2; i++)
		other[i] = tcb_kit_butterfly(b, half[i], distance);
	const kit_op whole = tcb_ptx_reg(b, "f64");
	lb_set_to(b, whole, tcb_ptx_vector(b, other, 2));
	return whole;
}

static kit_op over_lanes(struct writer *w, kit_op value, unsigned lanes)
{
	for (unsigned distance = lanes / 2; distance; distance /= 2)
		value = combine(w, value, exchange(w, value, distance));
	return value;
}

/* --- a lane's accumulators --- */

static void open_sums(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct reduce2d_gpu *g = w->g;
	for (unsigned i = 0; i < g->unroll * g->width; i++) {
		if (!is_sum(w) || g->form != TCB_FORM_PAIRWISE)
			w->sum[i] = f_set(b, identity(w));
		if (is_sum(w) && g->form == TCB_FORM_KAHAN)
			w->lost[i] = f_set(b, F(0));
	}
	if (is_sum(w) && g->form == TCB_FORM_PAIRWISE)
		w->total = d_from_f(b, identity(w));
	if (!is_sum(w) && !g->program && g->capability < 80)
		w->is_nan = u_ne(b, w->kit.tid, w->kit.tid);
}

/* The values of a vector's place I and of accumulator I. */
static void add_value(struct writer *w, unsigned i, kit_op value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct reduce2d_gpu *g = w->g;
	if (g->program) {
		f_set_to(b, w->sum[i], run_program(w, w->sum[i], value));
		return;
	}
	if (!is_sum(w)) {
		const int is_max = g->kind == REDUCE2D_MAX;
		if (g->capability >= 80) {
			(is_max ? f_max_nan_to : f_min_nan_to)(b, w->sum[i], w->sum[i], value);
			return;
		}
		(is_max ? f_max_to : f_min_to)(b, w->sum[i], w->sum[i], value);
		f_unordered_or_to(b, w->is_nan, value, value, w->is_nan);
		return;
	}
	if (g->form == TCB_FORM_LANES) {
		f_add_to(b, w->sum[i], w->sum[i], value);
		return;
	}
	/* y = value - lost; t = sum + y; lost = (t - sum) - y */
	const kit_op y = f_sub(b, value, w->lost[i]);
	const kit_op t = f_add(b, w->sum[i], y);
	const kit_op moved = f_sub(b, t, w->sum[i]);
	f_sub_to(b, w->lost[i], moved, y);
	f_set_to(b, w->sum[i], t);
}

static void add_step(struct writer *w, const kit_op *value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	unsigned count = w->g->unroll * w->g->width;
	if (!is_sum(w) || w->g->form != TCB_FORM_PAIRWISE) {
		for (unsigned i = 0; i < count; i++)
			add_value(w, i, value[i]);
		return;
	}
	kit_op tree[VALUES_MAX];
	memcpy(tree, value, count * sizeof *tree);
	for (; count > 1; count /= 2)
		for (unsigned i = 0; i < count / 2; i++)
			tree[i] = f_add(b, tree[i], tree[i + count / 2]);
	d_add_to(b, w->total, w->total, d_from_f(b, tree[0]));
}

/* What the lane ends with. */
static kit_op close_sums(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct reduce2d_gpu *g = w->g;
	unsigned count = g->unroll * g->width;
	kit_op end[VALUES_MAX];
	if (is_sum(w) && g->form == TCB_FORM_PAIRWISE)
		return w->total;
	const int is_wide = is_sum(w) && g->form == TCB_FORM_KAHAN;
	for (unsigned i = 0; i < count; i++) {
		end[i] = w->sum[i];
		if (is_wide)
			end[i] = d_sub(b, widen(w, w->sum[i]), widen(w, w->lost[i]));
	}
	for (; count > 1; count /= 2)
		for (unsigned i = 0; i < count / 2; i++)
			end[i] = is_wide || !is_sum(w) ? combine(w, end[i], end[i + count / 2])
						       : f_add(b, end[i], end[i + count / 2]);
	if (!is_sum(w) && !g->program && g->capability < 80)
		end[0] = b_select(b, b_set(b, I(QUIET_NAN)), end[0], w->is_nan);
	return is_wide ? end[0] : widen(w, end[0]);
}

/* --- a block's steps --- */

/* The lane's vectors of step number STEP to VALUE: new registers unless IS_AGAIN; IS_CUT: where they are; IF: if. */
static void load_step(struct writer *w, kit_op step, kit_op *value, int is_again, int is_cut, const kit_op *only_if)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct reduce2d_gpu *g = w->g;
	const kit_op first = u_mad(b, step, I(g->step), w->kit.tid);
	const kit_op from = l_mad_wide(b, first, I(4 * g->width), w->x);
	for (unsigned i = 0; !is_again && i < g->unroll * g->width; i++)
		value[i] = is_cut ? f_set(b, identity(w)) : tcb_ptx_reg(b, "f32");
	for (unsigned i = 0; i < g->unroll; i++) {
		if (is_cut)
			tcb_ptx_guard(b, u_lt(b, u_add(b, first, I(i * g->threads)), w->vectors));
		else if (only_if)
			tcb_ptx_guard(b, *only_if);
		tcb_kit_load_into(b, tcb_kit_input_once(g->pdl), "f32",
				  tcb_ptx_at(from, (int64_t)i * g->threads * 4 * g->width), value + i * g->width,
				  g->width);
		tcb_ptx_unguard(b);
	}
}

/* What to do with a step's values. */
typedef void take_fn(struct writer *w, const kit_op *value);

/* Whole steps in turn, then the cut one, which is the next block's turn. */
static void write_steps(struct writer *w, take_fn *take, int is_ahead)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct reduce2d_gpu *g = w->g;
	kit_op value[VALUES_MAX], next[VALUES_MAX];
	if (!g->resident) {
		load_step(w, w->block, value, 0, 1, NULL);
		take(w, value);
		return;
	}
	const kit_op whole = u_div(b, w->vectors, I(g->step));
	if (is_ahead) {
		for (unsigned i = 0; i < g->unroll * g->width; i++)
			next[i] = f_set(b, identity(w));
		const kit_op has = u_lt(b, w->block, whole);
		load_step(w, w->block, next, 1, 0, &has);
	}
	const kit_op loop = tcb_ptx_for_begin(b, w->block, whole, w->blocks, 0);
	tcb_kit_nounroll(b);
	if (is_ahead) {
		const kit_op after = u_add(b, loop, w->blocks);
		const kit_op more = u_lt(b, after, whole);
		for (unsigned i = 0; i < g->unroll * g->width; i++)
			value[i] = b_set(b, next[i]);
		load_step(w, after, next, 1, 0, &more);
	} else {
		load_step(w, loop, value, 0, 0, NULL);
	}
	take(w, value);
	tcb_ptx_for_end(b);
	tcb_ptx_if_begin(b, u_eq(b, u_rem(b, whole, w->blocks), w->block));
	load_step(w, whole, value, 0, 1, NULL);
	take(w, value);
	tcb_ptx_if_end(b);
}

/* Elements past the last whole vector: one each for the first lanes of block 0; others get the identity. */
static kit_op load_rest(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op value = f_set(b, identity(w));
	const kit_op base = l_mad_wide(b, w->vectors, I(4 * w->g->width), w->x);
	const kit_op from = l_mad_wide(b, w->kit.tid, I(4), base);
	const kit_op is_first = u_eq(b, w->block, I(0));
	tcb_kit_load_where(b, u_lt_and(b, w->kit.tid, w->rest, is_first), tcb_kit_input(w->g->pdl), "f32", from, &value,
			   1);
	return value;
}

static void take_wide(struct writer *w, const kit_op *value)
{
	for (unsigned i = 0; i < w->g->unroll * w->g->width; i++)
		d_add_to(&w->kit.b, w->total, w->total, d_from_f(&w->kit.b, value[i]));
}

/* The warp's end of all its steps, in every lane. */
static kit_op write_warp(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	open_sums(w);
	const kit_op rest = w->g->width > 1 ? load_rest(w) : identity(w);
	write_steps(w, add_step, w->g->stages > 1);
	kit_op end = close_sums(w);
	if (is_sum(w)) { /* what f32 could not hold, or what is infinite or a NaN */
		const kit_op kept = d_set(b, end);
		const kit_op size = d_abs(b, end);
		const kit_op huge = d_from_f(b, F(INFINITY));
		tcb_ptx_if_begin(b, p_any(b, d_not_lt(b, size, huge)));
		w->total = d_from_f(b, identity(w));
		write_steps(w, take_wide, 0);
		d_set_to(b, kept, w->total);
		tcb_ptx_if_end(b);
		end = kept;
	}
	if (w->g->width > 1)
		end = combine(w, end, widen(w, rest));
	return over_lanes(w, end, WARP);
}

/* --- a block, and all of them --- */

static const char *value_type(const struct writer *w)
{
	return is_sum(w) ? "f64" : "f32";
}

static unsigned value_bytes(const struct writer *w)
{
	return is_sum(w) ? 8 : 4;
}

/* The block's end of its warps' VALUE, in every lane of warp 0. */
static kit_op write_block(struct writer *w, kit_op value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned warps = w->g->warps, bytes = value_bytes(w);
	if (warps == 1)
		return value;
	const kit_op at = u_mad(b, w->kit.warp, I(bytes), w->kit.shared);
	tcb_kit_put_where(b, u_eq(b, w->kit.lane, I(0)), TCB_KIT_SHARED, value_type(w), at, value);
	tcb_kit_block_barrier(b);
	const kit_op from = u_mad(b, u_and(b, w->kit.lane, I(warps - 1)), I(bytes), w->kit.shared);
	const kit_op all = tcb_ptx_reg(b, value_type(w));
	tcb_kit_load_into(b, TCB_KIT_SHARED, value_type(w), from, &all, 1);
	return over_lanes(w, all, warps);
}

/* By thread 0. */
static void write_result(struct writer *w, kit_op value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op y;
	if (is_sum(w)) {
		y = f_from_d(b, value);
	} else { /* a NaN is the quiet one of reduce2d.h */
		y = b_select(b, b_set(b, I(QUIET_NAN)), value, f_unordered(b, value, value));
	}
	tcb_kit_put(b, TCB_KIT_GLOBAL, "b32", w->y, y);
}

/* All blocks' results, in a fixed order, by the threads of this one; thread 0 writes the end. */
static void write_all(struct writer *w, kit_op count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op all = (is_sum(w) ? d_set : f_set)(b, F(0));
	if (is_sum(w))
		d_from_f_to(b, all, identity(w));
	else
		f_set_to(b, all, identity(w));
	const kit_op loop = tcb_ptx_for_begin(b, w->kit.tid, count, I(w->g->threads), 0);
	const kit_op value = tcb_ptx_reg(b, value_type(w));
	tcb_kit_load_into(b, TCB_KIT_OTHERS, value_type(w), l_mad_wide(b, loop, I(value_bytes(w)), w->partials), &value,
			  1);
	(is_sum(w) ? d_set_to : f_set_to)(b, all, combine(w, all, value));
	tcb_ptx_for_end(b);
	if (w->g->warps > 1)
		tcb_kit_block_barrier(b); /* shared memory has been read */
	const kit_op end = write_block(w, over_lanes(w, all, WARP));
	tcb_kit_one_begin(&w->kit);
	write_result(w, end);
	tcb_ptx_if_end(b);
}

/* A value as a word whose unsigned order is its own (max) or the opposite (min), above 0; NaN is above all. */
static kit_op order_word(struct writer *w, kit_op value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op bits = b_set(b, value);
	const kit_op sign = s_shr(b, bits, I(31));
	const kit_op flip = u_or(b, sign, I((int64_t)0x80000000));
	kit_op word = u_xor(b, bits, flip);
	if (w->g->kind == REDUCE2D_MIN)
		word = u_not(b, word);
	return b_select(b, I(-1), word, f_unordered(b, value, value));
}

static kit_op value_of_word(struct writer *w, kit_op word)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op is_nan = u_eq(b, word, I((int64_t)0xffffffff));
	const kit_op up = w->g->kind == REDUCE2D_MIN ? u_not(b, word) : word;
	const kit_op sign = s_shr(b, u_not(b, up), I(31));
	const kit_op bits = u_xor(b, up, u_or(b, sign, I((int64_t)0x80000000)));
	const kit_op value = tcb_ptx_reg(b, "f32");
	b_set_to(b, value, b_select(b, I(QUIET_NAN), bits, is_nan));
	return value;
}

/*
 * Thread 0 adds the block's VALUE to the total; the last block's takes it out, and leaves 0.  The flag says that one of
 * the sums was not -0: the total begins at +0, and would lose that.
 */
static void write_atomic(struct writer *w, kit_op value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op last = u_sub(b, w->blocks, I(1));
	tcb_kit_one_begin(&w->kit);
	if (is_sum(w)) {
		const kit_op bits = tcb_ptx_reg(b, "b64");
		lb_set_to(b, bits, value);
		const kit_op some = l_ne(b, l_xor(b, bits, I(INT64_MIN)), I(0));
		u_atomic_or(b, tcb_ptx_at(w->state, FLAG_AT), b_select(b, I(1), I(0), some));
		d_atomic_add(b, tcb_ptx_at(w->state, TOTAL_AT), value);
	} else {
		u_atomic_max(b, tcb_ptx_at(w->state, TOTAL_AT), order_word(w, value));
	}
	fence_gpu(b);
	const kit_op arrived = tcb_kit_arrive(b, tcb_ptx_at(w->state, COUNTER_AT), last);
	tcb_ptx_if_begin(b, u_eq(b, arrived, last));
	if (is_sum(w)) {
		const kit_op some = b_atomic_swap(b, tcb_ptx_at(w->state, FLAG_AT), I(0));
		const kit_op bits = lb_atomic_swap(b, tcb_ptx_at(w->state, TOTAL_AT), I(0));
		const kit_op total = tcb_ptx_reg(b, "f64"), none = d_from_f(b, F(-0.0f));
		lb_set_to(b, total, bits);
		write_result(w, d_select(b, total, none, u_ne(b, some, I(0))));
	} else {
		const kit_op word = b_atomic_swap(b, tcb_ptx_at(w->state, TOTAL_AT), I(0));
		write_result(w, value_of_word(w, word));
	}
	tcb_ptx_if_end(b);
	tcb_ptx_if_end(b);
}

/* --- kernels --- */

static void begin(struct writer *w, const char *name, unsigned grid)
{
	tcb_kit_begin(&w->kit, name,
		      &(struct tcb_kit_kernel){ .threads = w->g->threads,
						.blocks_together = w->g->together,
						.grid = { grid },
						.is_dependent = w->g->pdl });
}

static void write_places(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_kit_dependents(&w->kit, 1);
	tcb_kit_threads(&w->kit);
	w->kit.shared = u_set(b, tcb_ptx_shared(b, "parts", 8, (w->g->warps + 2) * 8));
}

static void write_reduce(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct reduce2d_gpu *g = w->g;
	begin(w, "reduce2d", g->grid);
	w->x = tcb_kit_operand(&w->kit, "x", 16, REDUCE2D_X);
	if (g->join != TCB_JOIN_LAUNCH)
		w->y = tcb_kit_operand(&w->kit, "y", 4, REDUCE2D_Y);
	if (g->join == TCB_JOIN_LAST || g->join == TCB_JOIN_ATOMIC)
		w->state = tcb_kit_workspace(&w->kit, "state", 16, 0);
	if (g->join == TCB_JOIN_LAST || g->join == TCB_JOIN_LAUNCH)
		w->partials = tcb_kit_workspace(&w->kit, "partials", 16, g->partials_at);
	w->vectors = tcb_kit_number(&w->kit, "vectors", g->vectors);
	w->rest = tcb_kit_number(&w->kit, "rest", g->rest);
	write_places(w);
	w->block = u_block_x(b);
	w->blocks = u_blocks_x(b);
	const kit_op end = write_block(w, write_warp(w));
	if (g->join == TCB_JOIN_ATOMIC) {
		write_atomic(w, end);
		tcb_kit_end(&w->kit);
		return;
	}
	tcb_kit_one_begin(&w->kit);
	if (g->join == TCB_JOIN_NONE)
		write_result(w, end);
	else
		tcb_kit_put(b, TCB_KIT_GLOBAL, value_type(w), tcb_kit_element(b, w->partials, w->block, value_bytes(w)),
			    end);
	tcb_ptx_if_end(b);
	if (g->join == TCB_JOIN_LAST) {
		const kit_op last = u_sub(b, w->blocks, I(1));
		tcb_kit_last_begin(&w->kit);
		tcb_kit_last_of(&w->kit, tcb_ptx_at(w->state, COUNTER_AT), last, g->warps * 8);
		write_all(w, w->blocks);
		tcb_ptx_if_end(b);
	}
	tcb_kit_end(&w->kit);
}

static void write_second(struct writer *w)
{
	begin(w, "reduce2d_results", 1);
	w->y = tcb_kit_operand(&w->kit, "y", 4, REDUCE2D_Y);
	w->partials = tcb_kit_workspace(&w->kit, "partials", 16, w->g->partials_at);
	const kit_op count = tcb_kit_number(&w->kit, "count", w->g->grid);
	write_places(w);
	write_all(w, count);
	tcb_kit_end(&w->kit);
}

static enum tcb_status reduce2d_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				     const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct reduce2d_gpu g;
	struct writer w = { .g = &g };
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	reduce2d_gpu_plan(problem, target, geometry, &g);
	write_reduce(&w);
	if (g.join == TCB_JOIN_LAUNCH)
		write_second(&w);
	out->workspace_bytes = g.workspace_bytes;
	const int is_bounded = is_sum(&w) || (g.program && reduce2d_program_roundings(g.program));
	out->class = is_bounded ? TCB_CLASS_BOUNDED : TCB_CLASS_EXACT;
	if (is_bounded) {
		out->chain = reduce2d_gpu_chain(&g);
		out->ulps = 0.51; /* the result's rounding, and what f64 leaves */
	}
	return tcb_kit_close(&w.kit, err);
}

#define SIDE(what, class)                                                                                        \
	const struct tcb_side reduce2d_##what##_gpu = { .variants = TCB_EMITTED(TCB_EMITTED_ROW(                 \
								"reduce2d_" #what "_f32_ptx", F32, FMA, class)), \
							.space = &reduce2d_gpu_space,                            \
							.emit = reduce2d_emit }
SIDE(sum, BOUNDED);
SIDE(max, EXACT);
SIDE(min, EXACT);
SIDE(absmax, EXACT);
