/* SPDX-License-Identifier: MIT
 *
 * The rmsnorm micro-kernel, written once in the operations of rows_vec.h.
 * ROWS_REDUCE leaves the sum of a block's squares, ROWS_APPLY its results,
 * ROWS_WHOLE does rows of at most a step in registers.  CHAINS, a constant of
 * each variant, is the number of vectors in one step and of independent sums.
 */
#ifndef TCB_KERNELS_RMSNORM_MICRO_H
#define TCB_KERNELS_RMSNORM_MICRO_H

#include "kernels/rmsnorm/rmsnorm.h"
#include "kernels/rows/rows_vec.h"

enum { CHAINS_MAX = 16 };

ROWS_INLINE void reduce(struct rows_call *call, const int chains, const int fetch)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const float *x = call->x;
	vec sum[CHAINS_MAX];
	size_t i = 0;
	for (int u = 0; u < chains; u++)
		sum[u] = v_set(0);
	for (; i + step <= count; i += step) {
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(x + i, u, call->prefetch, fetch);
			vec value = v_load(x + i + (size_t)u * LANES);
			sum[u] = v_fma(value, value, sum[u]);
		}
	}
	for (; i < count; i += LANES) {
		vec value = v_load_left(x + i, count - i, 0);
		sum[0] = v_fma(value, value, sum[0]);
	}
	for (int u = 1; u < chains; u++)
		sum[0] = v_add(sum[0], sum[u]);
	call->stat[0] = (double)v_reduce_add(sum[0]);
}

ROWS_INLINE void apply(const struct rows_call *call, const int chains, const int stream, const int fetch)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const float *x = call->x, *w = call->weight;
	float *y = call->y;
	vec factor = v_set(call->factor);
	size_t i = 0;
	for (; i + step <= count; i += step) {
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(x + i, u, call->prefetch, fetch);
			size_t at = i + (size_t)u * LANES;
			vec value = v_mul(v_mul(v_load(x + at), factor), v_load(w + at));
			v_store_left(y + at, value, LANES, stream);
		}
	}
	for (; i < count; i += LANES) {
		vec value = v_mul(v_mul(v_load_left(x + i, count - i, 0), factor), v_load_left(w + i, count - i, 0));
		v_store_left(y + i, value, count - i, stream);
	}
}

ROWS_INLINE void whole(struct rows_call *call, const int chains, const int stream)
{
	const size_t count = call->count;
	const float *w = call->weight;
	const int fetch = call->prefetch ? 1 + (int)call->hint : 0;
	for (call->rows_done = 0; call->rows_done < call->rows; call->rows_done++) {
		const float *x = call->x + call->rows_done * call->stride;
		float *y = call->y + call->rows_done * call->stride;
		vec value[CHAINS_MAX], sum = v_set(0);
		v_prefetch_row(x, count, call->prefetch, fetch);
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES;
			value[u] = v_load_left(x + at, left_of(count, at), 0);
			sum = v_fma(value[u], value[u], sum);
		}
		float squares = v_reduce_add(sum);
		if (!isfinite(squares))
			return;
		vec factor = v_set((float)(1 / sqrt((double)squares / (double)count + RMSNORM_EPS)));
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES, left = left_of(count, at);
			vec weight = v_load_left(w + at, left, 0);
			v_store_left(y + at, v_mul(v_mul(value[u], factor), weight), left, stream);
		}
	}
}

ROWS_INLINE void rmsnorm_fetching(struct rows_call *call, const int chains, const int fetch)
{
	if (call->stage == ROWS_REDUCE)
		reduce(call, chains, fetch);
	else if (call->stream)
		apply(call, chains, 1, fetch);
	else
		apply(call, chains, 0, fetch);
}

ROWS_INLINE void rmsnorm_micro(struct rows_call *call, const int chains)
{
	if (call->stage == ROWS_WHOLE && call->stream)
		whole(call, chains, 1);
	else if (call->stage == ROWS_WHOLE)
		whole(call, chains, 0);
	else if (!call->prefetch)
		rmsnorm_fetching(call, chains, 0);
	else if (call->hint == TCB_HINT_T0)
		rmsnorm_fetching(call, chains, 1 + TCB_HINT_T0);
	else if (call->hint == TCB_HINT_T1)
		rmsnorm_fetching(call, chains, 1 + TCB_HINT_T1);
	else
		rmsnorm_fetching(call, chains, 1 + TCB_HINT_NTA);
	if (call->stage != ROWS_REDUCE && call->fence)
		v_fence();
}

/* Defines the kernel rmsnorm_f32_<isa>_1x<n>, and its row of the variant table. */
#define RMSNORM_KERNEL(isa, chains, n)                                     \
	static void rmsnorm_f32_##isa##_1x##n(struct rows_call *call)      \
	{                                                                  \
		_Static_assert((chains)*LANES == (n), "tile of the name"); \
		rmsnorm_micro(call, chains);                               \
	}
#define RMSNORM_ROW(isa, ISA, n)                                                                                  \
	{                                                                                                         \
		"rmsnorm_f32_" #isa "_1x" #n, TCB_CONTRACT_F32, TCB_ISA_##ISA, TCB_LAYOUT_NATIVE, { 1, n, 1 }, 1, \
			TCB_CLASS_BOUNDED, TCB_SOURCE_HASH, (void (*)(void))rmsnorm_f32_##isa##_1x##n             \
	}

#endif
