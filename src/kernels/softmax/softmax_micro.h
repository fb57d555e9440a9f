/* SPDX-License-Identifier: MIT
 *
 * The softmax micro-kernel, written once in the operations of rows_vec.h and
 * softmax_vec.h.  ROWS_REDUCE leaves a block's maximum and sum, ROWS_APPLY its
 * results, ROWS_WHOLE does rows of at most a step in registers.  CHAINS, a
 * constant of each variant, is the number of vectors in one step and of
 * independent accumulators.
 */
#ifndef TCB_KERNELS_SOFTMAX_MICRO_H
#define TCB_KERNELS_SOFTMAX_MICRO_H

#include <float.h>

#include "kernels/softmax/softmax.h"
#include "kernels/softmax/softmax_vec.h"

enum { CHAINS_MAX = 16 };

ROWS_INLINE float block_max(const float *x, size_t count, const int chains)
{
	const size_t step = (size_t)chains * LANES;
	vec top[CHAINS_MAX];
	size_t i = 0;
	for (int u = 0; u < chains; u++)
		top[u] = v_set(-INFINITY);
	for (; i + step <= count; i += step) {
		for (int u = 0; u < chains; u++)
			top[u] = v_max(top[u], v_load(x + i + (size_t)u * LANES));
	}
	for (; i < count; i += LANES)
		top[0] = v_max(top[0], v_load_left(x + i, count - i, -INFINITY));
	for (int u = 1; u < chains; u++)
		top[0] = v_max(top[0], top[u]);
	return v_reduce_max(top[0]);
}

/* A maximum of -inf counts nothing: exp(-inf - 0) = 0, where -inf - -inf would be NaN. */
ROWS_INLINE vec base_of(float max)
{
	return v_set(max == -INFINITY ? 0 : max);
}

/* The exponentials go to e; prefetches are in the second pass, where there is time to wait for memory. */
ROWS_INLINE void reduce_twice(struct rows_call *call, const int chains, const int fetch)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const float *x = call->x;
	float *e = call->e;
	float max = block_max(x, count, chains);
	vec base = base_of(max), sum[CHAINS_MAX];
	size_t i = 0;
	for (int u = 0; u < chains; u++)
		sum[u] = v_set(0);
	for (; i + step <= count; i += step) {
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(x + i, u, call->prefetch, fetch);
			vec value = v_exp(v_sub(v_load(x + i + (size_t)u * LANES), base));
			v_store(e + i + (size_t)u * LANES, value);
			sum[u] = v_add(sum[u], value);
		}
	}
	for (; i < count; i += LANES) {
		vec value = v_exp(v_sub(v_load_left(x + i, count - i, -INFINITY), base)); /* adds 0 beyond the edge */
		v_store_left(e + i, value, count - i, 0);
		sum[0] = v_add(sum[0], value);
	}
	for (int u = 1; u < chains; u++)
		sum[0] = v_add(sum[0], sum[u]);
	call->stat[SOFTMAX_MAX] = (double)max;
	call->stat[SOFTMAX_SUM] = (double)v_reduce_add(sum[0]);
}

/* What a lane has seen so far: its maximum, and the sum of exponentials against it, of each chain. */
struct running {
	vec max, sum[CHAINS_MAX];
};

/* Makes room for VALUES: maxima never become NaN, and begin at the lowest finite float, so that differences are none.
 */
ROWS_INLINE void raise_max(struct running *run, vec top, const int chains)
{
	if (!v_any_above(top, run->max))
		return;
	vec max = v_max(top, run->max), factor = v_exp(v_sub(run->max, max));
	for (int u = 0; u < chains; u++)
		run->sum[u] = v_mul(run->sum[u], factor);
	run->max = max;
}

/* Nothing is stored: APPLY takes the exponentials again, against the row's maximum. */
ROWS_INLINE void reduce_once(struct rows_call *call, const int chains, const int fetch)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const float *x = call->x;
	struct running run;
	size_t i = 0;
	run.max = v_set(-FLT_MAX);
	for (int u = 0; u < chains; u++)
		run.sum[u] = v_set(0);
	for (; i + step <= count; i += step) {
		vec value[CHAINS_MAX], top = v_set(-FLT_MAX);
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(x + i, u, call->prefetch, fetch);
			value[u] = v_load(x + i + (size_t)u * LANES);
			top = v_max(value[u], top); /* NaN in the first operand stays out */
		}
		raise_max(&run, top, chains);
		for (int u = 0; u < chains; u++)
			run.sum[u] = v_add(run.sum[u], v_exp(v_sub(value[u], run.max)));
	}
	for (; i < count; i += LANES) {
		vec value = v_load_left(x + i, count - i, -INFINITY);
		raise_max(&run, v_max(value, run.max), chains);
		run.sum[0] = v_add(run.sum[0], v_exp(v_sub(value, run.max)));
	}
	for (int u = 1; u < chains; u++)
		run.sum[0] = v_add(run.sum[0], run.sum[u]);
	float max = v_reduce_max(run.max);
	call->stat[SOFTMAX_MAX] = (double)max;
	call->stat[SOFTMAX_SUM] = (double)v_reduce_add(v_mul(run.sum[0], v_exp(v_sub(run.max, v_set(max)))));
}

ROWS_INLINE void apply(const struct rows_call *call, const int chains, const int stream, const int fetch,
		       const int is_raw)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const float *from = is_raw ? call->x : call->e;
	float *y = call->y;
	vec factor = v_set(call->factor), max = v_set(call->shift);
	size_t i = 0;
	for (; i + step <= count; i += step) {
		for (int u = 0; u < chains; u++) {
			size_t at = i + (size_t)u * LANES;
			vec value = v_load(from + at);
			v_prefetch_step(call->x + i, u, call->prefetch, fetch);
			if (is_raw)
				value = v_exp(v_sub(value, max));
			v_store_left(y + at, v_mul(value, factor), LANES, stream);
		}
	}
	for (; i < count; i += LANES) {
		vec value = v_load_left(from + i, count - i, 0);
		if (is_raw)
			value = v_exp(v_sub(value, max));
		v_store_left(y + i, v_mul(value, factor), count - i, stream);
	}
}

ROWS_INLINE void whole(struct rows_call *call, const int chains, const int stream)
{
	const size_t count = call->count;
	const int fetch = call->prefetch ? 1 + (int)call->hint : 0;
	for (call->rows_done = 0; call->rows_done < call->rows; call->rows_done++) {
		const float *x = call->x + call->rows_done * call->stride;
		float *y = call->y + call->rows_done * call->stride;
		vec value[CHAINS_MAX], top = v_set(-INFINITY), sum = v_set(0);
		v_prefetch_row(x, count, call->prefetch, fetch);
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES;
			value[u] = v_load_left(x + at, left_of(count, at), -INFINITY);
			top = v_max(top, value[u]);
		}
		vec base = base_of(v_reduce_max(top));
		for (int u = 0; u < chains; u++) {
			value[u] = v_exp(v_sub(value[u], base));
			sum = v_add(sum, value[u]);
		}
		vec factor = v_set(1 / v_reduce_add(sum));
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES;
			v_store_left(y + at, v_mul(value[u], factor), left_of(count, at), stream);
		}
	}
}

ROWS_INLINE void softmax_fetching(struct rows_call *call, const int chains, const int fetch)
{
	const int is_once = call->form == TCB_FORM_ONEPASS;
	if (call->stage == ROWS_REDUCE && is_once)
		reduce_once(call, chains, fetch);
	else if (call->stage == ROWS_REDUCE)
		reduce_twice(call, chains, fetch);
	else if (is_once && call->stream)
		apply(call, chains, 1, fetch, 1);
	else if (is_once)
		apply(call, chains, 0, fetch, 1);
	else if (call->stream)
		apply(call, chains, 1, fetch, 0);
	else
		apply(call, chains, 0, fetch, 0);
}

ROWS_INLINE void softmax_micro(struct rows_call *call, const int chains)
{
	unsigned before = v_flush_begin();
	if (call->stage == ROWS_WHOLE && call->stream)
		whole(call, chains, 1);
	else if (call->stage == ROWS_WHOLE)
		whole(call, chains, 0);
	else if (!call->prefetch)
		softmax_fetching(call, chains, 0);
	else if (call->hint == TCB_HINT_T0)
		softmax_fetching(call, chains, 1 + TCB_HINT_T0);
	else if (call->hint == TCB_HINT_T1)
		softmax_fetching(call, chains, 1 + TCB_HINT_T1);
	else
		softmax_fetching(call, chains, 1 + TCB_HINT_NTA);
	if (call->stage != ROWS_REDUCE && call->fence)
		v_fence();
	v_flush_end(before);
}

/* Defines the kernel softmax_f32_<isa>_1x<n>, and its row of the variant table. */
#define SOFTMAX_KERNEL(isa, chains, n)                                     \
	static void softmax_f32_##isa##_1x##n(struct rows_call *call)      \
	{                                                                  \
		_Static_assert((chains)*LANES == (n), "tile of the name"); \
		softmax_micro(call, chains);                               \
	}
#define SOFTMAX_ROW(isa, ISA, n)                                                                                  \
	{                                                                                                         \
		"softmax_f32_" #isa "_1x" #n, TCB_CONTRACT_F32, TCB_ISA_##ISA, TCB_LAYOUT_NATIVE, { 1, n, 1 }, 1, \
			TCB_CLASS_APPROX, TCB_SOURCE_HASH, (void (*)(void))softmax_f32_##isa##_1x##n              \
	}

#endif
