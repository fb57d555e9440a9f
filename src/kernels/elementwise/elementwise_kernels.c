/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of the element-wise ops, written once in vector operations.
 */
#include "kernels/elementwise/elementwise.h"
#include "kernels/simd/simd_gelu.h"

SIMD_INLINE size_t bytes_of(const enum tcb_type type)
{
	return type == TCB_TYPE_F32 ? sizeof(float) : sizeof(uint16_t);
}

SIMD_INLINE vfloat load(const enum tcb_type type, const void *from, size_t at)
{
	return type == TCB_TYPE_F32 ? v_load((const float *)from + at) : v_from_f16((const uint16_t *)from + at);
}

SIMD_INLINE vfloat load_part(const enum tcb_type type, const void *from, size_t at, size_t left)
{
	uint16_t part[LANES] = { 0 };
	if (type == TCB_TYPE_F32)
		return v_load_part((const float *)from + at, left, 0);
	memcpy(part, (const uint16_t *)from + at, left * sizeof(*part));
	return v_from_f16(part);
}

SIMD_INLINE void store_part(const enum tcb_type type, void *to, size_t at, vfloat value, size_t left)
{
	uint16_t part[LANES];
	if (type == TCB_TYPE_F32) {
		v_store_part((float *)to + at, value, left);
		return;
	}
	v_to_f16(part, value);
	memcpy((uint16_t *)to + at, part, left * sizeof(*part));
}

/* Halves past the caches, where there are such stores. */
SIMD_INLINE void stream_halves(uint16_t *to, vfloat value)
{
#if LANES == 16
	_mm256_stream_si256((__m256i *)(void *)to,
			    _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif LANES == 8
	_mm_stream_si128((__m128i *)(void *)to, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
	v_to_f16(to, value);
#endif
}

SIMD_INLINE void store(const enum tcb_type type, void *to, size_t at, vfloat value, const int stream)
{
	float *floats = (float *)to + at;
	uint16_t *halves = (uint16_t *)to + at;
	if (type == TCB_TYPE_F32 && stream)
		v_stream(floats, value);
	else if (type == TCB_TYPE_F32)
		v_store(floats, value);
	else if (stream)
		stream_halves(halves, value);
	else
		v_to_f16(halves, value);
}

/* (x < 0 ? t : 1) / (1 + t) with t = exp(-|x|), which is 1 where x times 2^30 does not show its sign. */
SIMD_INLINE vfloat sigmoid(vfloat x)
{
	const vfloat t = v_exp_below(x), one = v_set(1);
	const vfloat is_above = v_minimum(one, v_max(v_set(0), v_mul(x, v_set(0x1p30f))));
	return v_max(is_above, t) / v_add(one, t);
}

SIMD_INLINE vfloat softplus(vfloat x)
{
	const vfloat t = v_exp_below(x), s = t / v_add(v_set(2), t), square = v_mul(s, s);
	vfloat sum = v_set(2.0f / ELEMENTWISE_ATANH_LAST);
	SIMD_FOR (int i = ELEMENTWISE_ATANH_LAST - 2; i > 0; i -= 2)
		sum = v_fma(sum, square, v_set(2.0f / (float)i));
	return v_add(v_max(v_set(0), x), v_mul(s, sum));
}

SIMD_INLINE vfloat result(const enum elementwise_kind kind, vfloat x, vfloat b)
{
	switch (kind) {
	case ELEMENTWISE_RELU:
		return v_add(v_max(v_set(0), x), v_set(0)); /* no -0 */
	case ELEMENTWISE_GELU:
		return v_gelu(x);
	case ELEMENTWISE_SILU:
		return v_logistic(x, x);
	case ELEMENTWISE_ADD:
		return v_add(x, b);
	case ELEMENTWISE_MUL:
		return v_mul(x, b);
	case ELEMENTWISE_GELU_MUL:
		return v_mul(v_gelu(x), b);
	case ELEMENTWISE_SIGMOID_MUL:
		return v_mul(sigmoid(x), b);
	case ELEMENTWISE_SOFTPLUS_MUL:
		return v_mul(softplus(x), b);
	default:
		return v_mul(v_logistic(x, x), b);
	}
}

/* Asks ahead in INPUT, once a line where lines are longer than vectors; vector U of a step is at AT. */
SIMD_INLINE void ask(const void *input, const enum tcb_type type, size_t at, int u, const struct v_ahead ahead,
		     const enum v_fetch fetch)
{
	enum { LINE = 64 };
	if ((size_t)u * LANES * bytes_of(type) % LINE == 0)
		v_prefetch((const float *)(const void *)((const char *)input + at * bytes_of(type)), ahead, fetch);
}

SIMD_INLINE void elements(const struct elementwise_call *call, const enum elementwise_kind kind,
			  const enum tcb_type type, const int chains, const int stream)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const void *x = call->x, *b = elementwise_inputs(kind) > 1 ? call->b : call->x;
	void *y = call->y;
	const enum v_fetch fetch = v_fetch(call->prefetch, call->hint);
	const struct v_ahead ahead = { call->prefetch, 1 };
	size_t i = 0;
	for (; i + step <= count; i += step) {
		SIMD_FOR (int u = 0; u < chains; u++) {
			const size_t at = i + (size_t)u * LANES;
			ask(x, type, at, u, ahead, fetch);
			if (elementwise_inputs(kind) > 1)
				ask(b, type, at, u, ahead, fetch);
			store(type, y, at, result(kind, load(type, x, at), load(type, b, at)), stream);
		}
	}
	for (; i + LANES <= count; i += LANES)
		store(type, y, i, result(kind, load(type, x, i), load(type, b, i)), stream);
	if (i < count)
		store_part(type, y, i, result(kind, load_part(type, x, i, count - i), load_part(type, b, i, count - i)),
			   count - i);
	if (stream)
		v_fence();
}

/* Kernel elementwise_<f>_<type>_1x<n>, and its row. */
#define KERNEL(f, KIND, CLASS, type, TYPE, chains)                                      \
	static void f##_##type##_##chains(const struct elementwise_call *call)          \
	{                                                                               \
		if (call->stream)                                                       \
			elements(call, ELEMENTWISE_##KIND, TCB_TYPE_##TYPE, chains, 1); \
		else                                                                    \
			elements(call, ELEMENTWISE_##KIND, TCB_TYPE_##TYPE, chains, 0); \
	}
#define ROW(f, class_, type, TYPE, chains, n)                 \
	{ "elementwise_" #f "_" #type "_" SIMD_TEXT "_1x" #n, \
	  TCB_CONTRACT_##TYPE,                                \
	  SIMD_ISA_ID,                                        \
	  TCB_LAYOUT_NATIVE,                                  \
	  { 1, (chains)*LANES, 1 },                           \
	  1,                                                  \
	  TCB_CLASS_##class_,                                 \
	  tcb_signed_variants,                                \
	  (void (*)(void))f##_##type##_##chains },

/* The values of 1, 2 and 4 vectors. */
#if LANES == 1
#define SIZES(X, ...) X(__VA_ARGS__, 1, 1) X(__VA_ARGS__, 2, 2) X(__VA_ARGS__, 4, 4)
#elif LANES == 4
#define SIZES(X, ...) X(__VA_ARGS__, 1, 4) X(__VA_ARGS__, 2, 8) X(__VA_ARGS__, 4, 16)
#elif LANES == 8
#define SIZES(X, ...) X(__VA_ARGS__, 1, 8) X(__VA_ARGS__, 2, 16) X(__VA_ARGS__, 4, 32)
#else
#define SIZES(X, ...) X(__VA_ARGS__, 1, 16) X(__VA_ARGS__, 2, 32) X(__VA_ARGS__, 4, 64)
#endif
#define TABLE(f, KIND, CLASS, type, TYPE, ...) \
	KERNEL(f, KIND, CLASS, type, TYPE, 1)  \
	KERNEL(f, KIND, CLASS, type, TYPE, 2)  \
	KERNEL(f, KIND, CLASS, type, TYPE, 4)  \
	const struct tcb_variant SIMD_NAME(    \
		elementwise_##f##_##type##_variants)[] = { SIZES(ROW, f, CLASS, type, TYPE){ 0 } };
ELEMENTWISE_LIST(TABLE, )
