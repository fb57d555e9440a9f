/* SPDX-License-Identifier: MIT
 *
 * The layernorm micro-kernel, written once in the operations of rows_vec.h.
 * ROWS_REDUCE leaves a block's mean and the squared deviations from it,
 * ROWS_APPLY its results, ROWS_WHOLE does rows of at most a step in registers.
 * CHAINS, a constant of each variant, is the number of vectors in one step and
 * of independent sums.
 */
#ifndef TCB_KERNELS_LAYERNORM_MICRO_H
#define TCB_KERNELS_LAYERNORM_MICRO_H

#include "kernels/layernorm/layernorm.h"
#include "kernels/rows/rows_vec.h"

enum { CHAINS_MAX = 16 };

ROWS_INLINE float block_mean(const float *x, size_t count, const int chains, size_t distance, const int fetch)
{
	const size_t step = (size_t)chains * LANES;
	vec sum[CHAINS_MAX];
	size_t i = 0;
	for (int u = 0; u < chains; u++)
		sum[u] = v_set(0);
	for (; i + step <= count; i += step) {
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(x + i, u, distance, fetch);
			sum[u] = v_add(sum[u], v_load(x + i + (size_t)u * LANES));
		}
	}
	for (; i < count; i += LANES)
		sum[0] = v_add(sum[0], v_load_left(x + i, count - i, 0));
	for (int u = 1; u < chains; u++)
		sum[0] = v_add(sum[0], sum[u]);
	return v_reduce_add(sum[0]) / (float)count;
}

ROWS_INLINE void reduce(struct rows_call *call, const int chains, const int fetch)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const float *x = call->x;
	const int is_known = call->form == TCB_FORM_ONEPASS && call->before;
	/* Who goes over the block first asks for what comes later. */
	const float p =
		is_known ? (float)call->before[LAYERNORM_MEAN] : block_mean(x, count, chains, call->prefetch, fetch);
	const vec pivot = v_set(p);
	vec sum[CHAINS_MAX], squares[CHAINS_MAX];
	size_t i = 0;
	for (int u = 0; u < chains; u++)
		sum[u] = squares[u] = v_set(0);
	for (; i + step <= count; i += step) {
		for (int u = 0; u < chains; u++) {
			if (is_known)
				v_prefetch_step(x + i, u, call->prefetch, fetch);
			vec value = v_sub(v_load(x + i + (size_t)u * LANES), pivot);
			sum[u] = v_add(sum[u], value);
			squares[u] = v_fma(value, value, squares[u]);
		}
	}
	for (; i < count; i += LANES) {
		vec value = v_sub(v_load_left(x + i, count - i, p), pivot);
		sum[0] = v_add(sum[0], value);
		squares[0] = v_fma(value, value, squares[0]);
	}
	for (int u = 1; u < chains; u++) {
		sum[0] = v_add(sum[0], sum[u]);
		squares[0] = v_add(squares[0], squares[u]);
	}
	double s = (double)v_reduce_add(sum[0]), q = (double)v_reduce_add(squares[0]), n = (double)count;
	double m2 = q - s * s / n; /* of equal values it may come out below 0, by roundings */
	call->stat[LAYERNORM_MEAN] = (double)p + s / n;
	call->stat[LAYERNORM_M2] = m2 < 0 ? 0 : m2;
}

ROWS_INLINE void apply(const struct rows_call *call, const int chains, const int stream, const int fetch)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const float *x = call->x, *w = call->weight, *b = call->bias;
	float *y = call->y;
	vec factor = v_set(call->factor), mean = v_set(call->shift);
	size_t i = 0;
	for (; i + step <= count; i += step) {
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(x + i, u, call->prefetch, fetch);
			size_t at = i + (size_t)u * LANES;
			vec value = v_mul(v_sub(v_load(x + at), mean), factor);
			v_store_left(y + at, v_fma(value, v_load(w + at), v_load(b + at)), LANES, stream);
		}
	}
	for (; i < count; i += LANES) {
		size_t left = count - i;
		vec value = v_mul(v_sub(v_load_left(x + i, left, 0), mean), factor);
		value = v_fma(value, v_load_left(w + i, left, 0), v_load_left(b + i, left, 0));
		v_store_left(y + i, value, left, stream);
	}
}

ROWS_INLINE void whole(struct rows_call *call, const int chains, const int stream)
{
	const size_t count = call->count;
	const float *w = call->weight, *b = call->bias;
	const int fetch = call->prefetch ? 1 + (int)call->hint : 0;
	for (call->rows_done = 0; call->rows_done < call->rows; call->rows_done++) {
		const float *x = call->x + call->rows_done * call->stride;
		float *y = call->y + call->rows_done * call->stride;
		vec value[CHAINS_MAX], sum = v_set(0), squares = v_set(0);
		v_prefetch_row(x, count, call->prefetch, fetch);
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES;
			value[u] = v_load_left(x + at, left_of(count, at), 0);
			sum = v_add(sum, value[u]);
		}
		vec mean = v_set(v_reduce_add(sum) / (float)count);
		sum = v_set(0);
		for (int u = 0; u < chains; u++) {
			size_t left = left_of(count, (size_t)u * LANES);
			value[u] = v_sub(value[u], mean);
			if (left < LANES)
				value[u] = v_part(value[u], left);
			sum = v_add(sum, value[u]);
			squares = v_fma(value[u], value[u], squares);
		}
		/* The sum of what should sum to 0 says how far the mean is off. */
		double off = (double)v_reduce_add(sum) / (double)count;
		double variance = (double)v_reduce_add(squares) / (double)count - off * off;
		if (!isfinite(variance))
			return;
		vec factor = v_set((float)(1 / sqrt((variance < 0 ? 0 : variance) + LAYERNORM_EPS)));
		vec rest = v_set((float)off);
		for (int u = 0; u < chains; u++) {
			size_t at = (size_t)u * LANES, left = left_of(count, at);
			vec result = v_mul(v_sub(value[u], rest), factor);
			result = v_fma(result, v_load_left(w + at, left, 0), v_load_left(b + at, left, 0));
			v_store_left(y + at, result, left, stream);
		}
	}
}

ROWS_INLINE void layernorm_fetching(struct rows_call *call, const int chains, const int fetch)
{
	if (call->stage == ROWS_REDUCE)
		reduce(call, chains, fetch);
	else if (call->stream)
		apply(call, chains, 1, fetch);
	else
		apply(call, chains, 0, fetch);
}

ROWS_INLINE void layernorm_micro(struct rows_call *call, const int chains)
{
	if (call->stage == ROWS_WHOLE && call->stream)
		whole(call, chains, 1);
	else if (call->stage == ROWS_WHOLE)
		whole(call, chains, 0);
	else if (!call->prefetch)
		layernorm_fetching(call, chains, 0);
	else if (call->hint == TCB_HINT_T0)
		layernorm_fetching(call, chains, 1 + TCB_HINT_T0);
	else if (call->hint == TCB_HINT_T1)
		layernorm_fetching(call, chains, 1 + TCB_HINT_T1);
	else
		layernorm_fetching(call, chains, 1 + TCB_HINT_NTA);
	if (call->stage != ROWS_REDUCE && call->fence)
		v_fence();
}

/* Defines the kernel layernorm_f32_<isa>_1x<n>, and its row of the variant table. */
#define LAYERNORM_KERNEL(isa, chains, n)                                   \
	static void layernorm_f32_##isa##_1x##n(struct rows_call *call)    \
	{                                                                  \
		_Static_assert((chains)*LANES == (n), "tile of the name"); \
		layernorm_micro(call, chains);                             \
	}
#define LAYERNORM_ROW(isa, ISA, n)                                                                                  \
	{                                                                                                           \
		"layernorm_f32_" #isa "_1x" #n, TCB_CONTRACT_F32, TCB_ISA_##ISA, TCB_LAYOUT_NATIVE, { 1, n, 1 }, 1, \
			TCB_CLASS_BOUNDED, TCB_SOURCE_HASH, (void (*)(void))layernorm_f32_##isa##_1x##n             \
	}

#endif
