/* SPDX-License-Identifier: MIT
 *
 * The softmax micro-kernel, written once in the operations of softmax_vec.h.
 * A block of one row comes in; SOFTMAX_REDUCE leaves its maximum, exponentials
 * and sum, SOFTMAX_SCALE its results.  CHAINS, a constant of each variant, is
 * the number of vectors in one step and of independent accumulators.
 */
#ifndef TCB_KERNELS_SOFTMAX_MICRO_H
#define TCB_KERNELS_SOFTMAX_MICRO_H

#include "kernels/softmax/softmax.h"
#include "kernels/softmax/softmax_vec.h"

enum { CHAINS_MAX = 8, LINE_BYTES = 64 };
#define SOFTMAX_INLINE static inline __attribute__((always_inline))

SOFTMAX_INLINE float block_max(const float *x, size_t count, const int chains)
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
	for (; i + LANES <= count; i += LANES)
		top[0] = v_max(top[0], v_load(x + i));
	if (i < count)
		top[0] = v_max(top[0], v_load_part(x + i, count - i));
	for (int u = 1; u < chains; u++)
		top[0] = v_max(top[0], top[u]);
	return v_reduce_max(top[0]);
}

/* FETCH: 0 none, else 1 + enum tcb_hint.  Here and not in block_max, because here there is time to wait for memory. */
SOFTMAX_INLINE void prefetch_step(const float *x, size_t bytes, size_t distance, const int fetch)
{
	uintptr_t ahead = (uintptr_t)x + distance; /* may lie beyond the array: prefetches do not fault */
	for (size_t line = 0; line < bytes; line += LINE_BYTES) {
		if (fetch == 1 + TCB_HINT_T0)
			__builtin_prefetch((const void *)(ahead + line), 0, 3);
		else if (fetch == 1 + TCB_HINT_T1)
			__builtin_prefetch((const void *)(ahead + line), 0, 2);
		else if (fetch == 1 + TCB_HINT_NTA)
			__builtin_prefetch((const void *)(ahead + line), 0, 0);
	}
}

SOFTMAX_INLINE void reduce(struct softmax_call *call, const int chains, const int fetch)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const float *x = call->x;
	float *e = call->e;
	float max = block_max(x, count, chains);
	/* A block of nothing but -inf counts nothing: exp(-inf - 0) = 0, where -inf - -inf would be NaN. */
	vec base = v_set(max == -INFINITY ? 0 : max);
	vec sum[CHAINS_MAX];
	size_t i = 0;
	for (int u = 0; u < chains; u++)
		sum[u] = v_set(0);
	for (; i + step <= count; i += step) {
		prefetch_step(x + i, step * sizeof(float), call->prefetch, fetch);
		for (int u = 0; u < chains; u++) {
			vec value = v_exp(v_sub(v_load(x + i + (size_t)u * LANES), base));
			v_store(e + i + (size_t)u * LANES, value);
			sum[u] = v_add(sum[u], value);
		}
	}
	for (; i + LANES <= count; i += LANES) {
		vec value = v_exp(v_sub(v_load(x + i), base));
		v_store(e + i, value);
		sum[0] = v_add(sum[0], value);
	}
	if (i < count) {
		vec value = v_exp(v_sub(v_load_part(x + i, count - i), base)); /* -inf beyond the edge adds 0 */
		v_store_part(e + i, value, count - i);
		sum[0] = v_add(sum[0], value);
	}
	for (int u = 1; u < chains; u++)
		sum[0] = v_add(sum[0], sum[u]);
	call->max_out = max;
	call->sum_out = v_reduce_add(sum[0]);
}

SOFTMAX_INLINE void scale(const struct softmax_call *call, const int chains, const int stream)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const float *e = call->e;
	float *y = call->y;
	vec factor = v_set(call->scale);
	size_t i = 0;
	for (; i + step <= count; i += step) {
		for (int u = 0; u < chains; u++) {
			vec value = v_mul(v_load(e + i + (size_t)u * LANES), factor);
			if (stream)
				v_stream(y + i + (size_t)u * LANES, value);
			else
				v_store(y + i + (size_t)u * LANES, value);
		}
	}
	for (; i + LANES <= count; i += LANES)
		v_store(y + i, v_mul(v_load(e + i), factor));
	if (i < count)
		v_store_part(y + i, v_mul(v_load_part(e + i, count - i), factor), count - i);
	if (call->fence)
		v_fence();
}

SOFTMAX_INLINE void softmax_micro(struct softmax_call *call, const int chains)
{
	unsigned before = v_flush_begin();
	if (call->stage == SOFTMAX_SCALE) {
		if (call->stream)
			scale(call, chains, 1);
		else
			scale(call, chains, 0);
	} else if (!call->prefetch) {
		reduce(call, chains, 0);
	} else if (call->hint == TCB_HINT_T0) {
		reduce(call, chains, 1 + TCB_HINT_T0);
	} else if (call->hint == TCB_HINT_T1) {
		reduce(call, chains, 1 + TCB_HINT_T1);
	} else {
		reduce(call, chains, 1 + TCB_HINT_NTA);
	}
	v_flush_end(before);
}

/* Defines the kernel softmax_f32_<isa>_1x<n>, and its row of the variant table. */
#define SOFTMAX_KERNEL(isa, chains, n)                                     \
	static void softmax_f32_##isa##_1x##n(struct softmax_call *call)   \
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
