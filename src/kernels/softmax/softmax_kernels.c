/* SPDX-License-Identifier: MIT
 *
 * The softmax micro-kernel, written once in the operations of rows_vec.h and
 * simd_exp.h.  ROWS_REDUCE leaves a block's maximum and sum, ROWS_APPLY its
 * results, ROWS_WHOLE does rows of at most a step in registers.  CHAINS, a
 * constant of each variant, is the number of vectors in one step and of
 * independent accumulators.
 */
#include <float.h>
#include <math.h>

#include "kernels/rows/rows_micro.h"
#include "kernels/simd/simd_exp.h"
#include "kernels/softmax/softmax.h"

/* By lanes. */
SIMD_BODY vfloat block_top(const float *x, size_t count, const int chains)
{
	const size_t step = (size_t)chains * LANES;
	vfloat top[CHAINS_MAX];
	size_t i = 0;
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		top[u] = v_set(-INFINITY);
	for (; i + step <= count; i += step) {
		ROWS_UNROLL
		for (int u = 0; u < chains; u++)
			top[u] = v_max(top[u], v_load(x + i + (size_t)u * LANES));
	}
	for (; i < count; i += LANES)
		top[0] = v_max(top[0], v_load_left(x + i, count - i, -INFINITY));
	ROWS_UNROLL
	for (int u = 1; u < chains; u++)
		top[0] = v_max(top[0], top[u]);
	return top[0];
}

/* A maximum of -inf counts nothing: exp(-inf - 0) = 0, where -inf - -inf would be NaN. */
SIMD_INLINE vfloat base_of(float max)
{
	return v_set(max == -INFINITY ? 0 : max);
}

SIMD_INLINE vfloat scaled(const struct rows_call *call, vfloat value, size_t at, size_t left)
{
	(void)at, (void)left;
	return v_mul(value, v_set(call->factor));
}

SIMD_INLINE vfloat exp_scaled(const struct rows_call *call, vfloat value, size_t at, size_t left)
{
	(void)at, (void)left;
	return v_mul(v_exp(v_sub(value, v_set(call->shift))), v_set(call->factor));
}

/* The exponentials go to e; prefetches are in the second pass, where there is time to wait for memory. */
SIMD_BODY void reduce_twice(struct rows_call *call, const int chains, const enum v_fetch fetch,
			    const enum rows_store late)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const struct rows_call before = late ? *call->late : *call; /* copies: stores cannot change them */
	const struct v_ahead ahead = rows_ahead(call);
	const float *x = call->x;
	float *e = call->e;
	float max = v_reduce_max(block_top(x, count, chains));
	vfloat base = base_of(max), sum[CHAINS_MAX];
	size_t i = 0;
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		sum[u] = v_set(0);
	for (; i + step <= count; i += step) {
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(x + i, u, ahead, fetch);
			vfloat value = v_exp(v_sub(v_load(x + i + (size_t)u * LANES), base));
			v_store(e + i + (size_t)u * LANES, value);
			sum[u] = v_add(sum[u], value);
		}
		ROWS_UNROLL
		for (int u = 0; late && u < chains; u++)
			rows_store(&before, before.e, i + (size_t)u * LANES, LANES, late, scaled);
	}
	for (; i < count; i += LANES) {
		vfloat value =
			v_exp(v_sub(v_load_left(x + i, count - i, -INFINITY), base)); /* adds 0 beyond the edge */
		v_store_left(e + i, value, count - i, 0);
		sum[0] = v_add(sum[0], value);
		if (late)
			rows_store(&before, before.e, i, count - i, late, scaled);
	}
	ROWS_UNROLL
	for (int u = 1; u < chains; u++)
		sum[0] = v_add(sum[0], sum[u]);
	call->stat[SOFTMAX_MAX] = (double)max;
	call->stat[SOFTMAX_SUM] = (double)v_reduce_add(sum[0]);
}

/* What a lane has seen so far: its maximum, and the sum of exponentials against it, of each chain. */
struct running {
	vfloat max, sum[CHAINS_MAX];
};

/* Makes room for VALUES: maxima never become NaN, and begin at the lowest finite float, so that differences are none.
 */
SIMD_INLINE void raise_max(struct running *run, vfloat top, const int chains)
{
	if (!v_any_above(top, run->max))
		return;
	vfloat max = v_max(top, run->max), factor = v_exp(v_sub(run->max, max));
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		run->sum[u] = v_mul(run->sum[u], factor);
	run->max = max;
}

/* Nothing is stored: APPLY takes the exponentials again, against the row's maximum. */
SIMD_BODY void reduce_once(struct rows_call *call, const int chains, const enum v_fetch fetch,
			   const enum rows_store late)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const float *x = call->x;
	const struct rows_call before = late ? *call->late : *call;
	const struct v_ahead ahead = rows_ahead(call);
	struct running run;
	size_t i = 0;
	run.max = v_set(-FLT_MAX);
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		run.sum[u] = v_set(0);
	for (; i + step <= count; i += step) {
		vfloat value[CHAINS_MAX], top = v_set(-FLT_MAX);
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(x + i, u, ahead, fetch);
			value[u] = v_load(x + i + (size_t)u * LANES);
			top = v_max(value[u], top); /* NaN in the first operand stays out */
		}
		raise_max(&run, top, chains);
		ROWS_UNROLL
		for (int u = 0; u < chains; u++)
			run.sum[u] = v_add(run.sum[u], v_exp(v_sub(value[u], run.max)));
		ROWS_UNROLL
		for (int u = 0; late && u < chains; u++)
			rows_store(&before, before.x, i + (size_t)u * LANES, LANES, late, exp_scaled);
	}
	for (; i < count; i += LANES) {
		vfloat value = v_load_left(x + i, count - i, -INFINITY);
		raise_max(&run, v_max(value, run.max), chains);
		run.sum[0] = v_add(run.sum[0], v_exp(v_sub(value, run.max)));
		if (late)
			rows_store(&before, before.x, i, count - i, late, exp_scaled);
	}
	ROWS_UNROLL
	for (int u = 1; u < chains; u++)
		run.sum[0] = v_add(run.sum[0], run.sum[u]);
	float max = v_reduce_max(run.max);
	call->stat[SOFTMAX_MAX] = (double)max;
	call->stat[SOFTMAX_SUM] = (double)v_reduce_add(v_mul(run.sum[0], v_exp(v_sub(run.max, v_set(max)))));
}

/* What reduce_parts() has seen: the largest so far, in all lanes, and the sums of exponentials against it. */
struct seen {
	float max;
	vfloat base, sum[CHAINS_MAX];
};

/* Makes room for a part whose largest values are TOP. */
SIMD_INLINE void raise_base(struct seen *seen, vfloat top, const int chains)
{
	if (!v_any_above(top, seen->base))
		return;
	seen->max = v_reduce_max(top);
	const vfloat base = v_set(seen->max), factor = v_exp(v_sub(seen->base, base));
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		seen->sum[u] = v_mul(seen->sum[u], factor);
	seen->base = base;
}

/* One vector's exponentials, to e and to chain U of the sums. */
SIMD_INLINE void see(const struct rows_call *call, struct seen *seen, size_t at, size_t left, int u)
{
	const vfloat value = v_exp(v_sub(v_load_left(call->x + at, left, -INFINITY), seen->base));
	v_store_left(call->e + at, value, left, 0);
	seen->sum[u] = v_add(seen->sum[u], value);
}

/*
 * Columns AT to END, one part or its left-over vectors, and on the way BEFORE's results; returns the largest values, by
 * lanes, of as many columns after END, or with IS_LAST, which has none, anything.
 */
SIMD_BODY vfloat reduce_part(const struct rows_call *call, const struct rows_call *before, struct seen *seen, size_t at,
			     size_t end, const int is_last, const int chains, const enum v_fetch fetch,
			     const enum rows_store late)
{
	const size_t step = (size_t)chains * LANES, ahead = end - at;
	vfloat top[CHAINS_MAX];
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		top[u] = v_set(-INFINITY);
	for (; at + step <= end; at += step) {
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			const size_t column = at + (size_t)u * LANES;
			v_prefetch_step(call->x + at, u, rows_ahead(call), fetch);
			if (!is_last)
				top[u] = v_max(top[u], v_load(call->x + column + ahead));
			see(call, seen, column, LANES, u);
		}
		ROWS_UNROLL
		for (int u = 0; late && u < chains; u++)
			rows_store(before, before->e, at + (size_t)u * LANES, LANES, late, scaled);
	}
	for (; at < end; at += LANES) {
		if (!is_last)
			top[0] = v_max(top[0], v_load_left(call->x + at + ahead, end - at, -INFINITY));
		see(call, seen, at, end - at, 0);
		if (late)
			rows_store(before, before->e, at, end - at, late, scaled);
	}
	ROWS_UNROLL
	for (int u = 1; u < chains; u++)
		top[0] = v_max(top[0], top[u]);
	return top[0];
}

/*
 * Against the largest value so far, which the loop over one part finds for the next: so x is read once, and arithmetic
 * and memory are as busy at every column.  The exponentials go to e; what a part's still miss goes to parts.
 */
SIMD_BODY void reduce_parts(struct rows_call *call, const int chains, const enum v_fetch fetch,
			    const enum rows_store late)
{
	const size_t count = call->count, part = call->part;
	const struct rows_call own = *call;
	struct rows_call before = late ? *call->late : *call; /* copies: stores cannot change them */
	const float late_factor = before.factor;
	struct seen seen = { .max = -FLT_MAX, .base = v_set(-FLT_MAX) };
	size_t at = 0, p = 0;
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		seen.sum[u] = v_set(0);
	vfloat top = block_top(own.x, part < count ? part : count, chains);
	for (; at < count; at += part, p++) {
		const size_t left = count - at;
		raise_base(&seen, top, chains);
		own.parts[p] = seen.max;
		if (late)
			before.factor = late_factor * before.parts[p];
		if (left >= 2 * part) {
			top = reduce_part(&own, &before, &seen, at, at + part, 0, chains, fetch, late);
			continue;
		}
		if (left > part)
			top = block_top(own.x + at + part, left - part, chains);
		reduce_part(&own, &before, &seen, at, left > part ? at + part : count, 1, chains, fetch, late);
	}
	for (size_t i = 0; i < p; i += LANES) {
		const vfloat factor = v_exp(v_sub(v_load_left(own.parts + i, p - i, 0), seen.base));
		v_store_left(own.parts + i, factor, p - i, 0);
	}
	ROWS_UNROLL
	for (int u = 1; u < chains; u++)
		seen.sum[0] = v_add(seen.sum[0], seen.sum[u]);
	call->stat[SOFTMAX_MAX] = (double)seen.max;
	call->stat[SOFTMAX_SUM] = (double)v_reduce_add(seen.sum[0]);
}

SIMD_INLINE void apply_twice(const struct rows_call *call, const int chains, const enum v_fetch fetch,
			     const enum rows_store store)
{
	rows_apply(call, call->e, chains, fetch, store, scaled);
}

SIMD_INLINE void apply_once(const struct rows_call *call, const int chains, const enum v_fetch fetch,
			    const enum rows_store store)
{
	rows_apply(call, call->x, chains, fetch, store, exp_scaled);
}

SIMD_INLINE void apply_parts(const struct rows_call *call, const int chains, const enum v_fetch fetch,
			     const enum rows_store store)
{
	struct rows_call part = *call;
	for (size_t at = 0, p = 0; at < call->count; at += call->part, p++) {
		part.count = call->count - at < call->part ? call->count - at : call->part;
		part.factor = call->factor * call->parts[p];
		part.x = call->x + at;
		part.e = call->e + at;
		part.y = call->y + at;
		rows_apply(&part, part.e, chains, fetch, store, scaled);
	}
}

SIMD_BODY void softmax_whole(struct rows_call *call, const int chains, const enum rows_store store)
{
	const size_t count = call->count;
	const enum v_fetch fetch = v_fetch(call->prefetch, call->hint);
	for (call->rows_done = 0; call->rows_done < call->rows; call->rows_done++) {
		const float *x = call->x + call->rows_done * call->stride;
		float *y = call->y + call->rows_done * call->stride;
		vfloat value[CHAINS_MAX], top = v_set(-INFINITY), sum = v_set(0);
		v_prefetch_row(x, count, rows_ahead(call), fetch);
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES;
			value[u] = v_load_left(x + at, left_of(count, at), -INFINITY);
			top = v_max(top, value[u]);
		}
		vfloat base = base_of(v_reduce_max(top));
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			value[u] = v_exp(v_sub(value[u], base));
			sum = v_add(sum, value[u]);
		}
		vfloat factor = v_set(1 / v_reduce_add(sum));
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES;
			v_store_left(y + at, v_mul(value[u], factor), left_of(count, at), store == STORE_STREAM);
		}
	}
}

/* LOOPS by form */
SIMD_INLINE void softmax_micro(struct rows_call *call, const struct rows_loops *const loops[TCB_FORM_COUNT],
			       const int chains)
{
	unsigned before = v_flush_begin();
	rows_micro(call, loops[call->form], chains);
	v_flush_end(before);
}

#define KERNEL(chains, n)                                                                                 \
	ROWS_LOOPS(softmax_##n##_twopass, reduce_twice, apply_twice, softmax_whole, chains, { { NULL } }) \
	ROWS_LOOPS(softmax_##n##_onepass, reduce_once, apply_once, softmax_whole, chains, { { NULL } })   \
	ROWS_LOOPS(softmax_##n##_running, reduce_parts, apply_parts, softmax_whole, chains, { { NULL } }) \
	static void softmax_f32_1x##n(struct rows_call *call)                                             \
	{                                                                                                 \
		_Static_assert((chains)*LANES == (n), "tile of the name");                                \
		static const struct rows_loops *const loops[TCB_FORM_COUNT] = {                           \
			[TCB_FORM_TWOPASS] = &softmax_##n##_twopass,                                      \
			[TCB_FORM_ONEPASS] = &softmax_##n##_onepass,                                      \
			[TCB_FORM_RUNNING] = &softmax_##n##_running,                                      \
		};                                                                                        \
		softmax_micro(call, loops, chains);                                                       \
	}
#define ROW(chains, n) ROWS_VARIANT(softmax, n, TCB_CLASS_APPROX)

ROWS_SIZES_MORE(KERNEL)
const struct tcb_variant SIMD_NAME(softmax_variants)[] = { ROWS_SIZES_MORE(ROW){ 0 } };
