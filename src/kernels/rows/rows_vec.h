/* SPDX-License-Identifier: MIT
 *
 * The few vector operations that the micro-kernels of row ops are written in,
 * once for each instruction set: whichever the including file is compiled for.
 * Maximum and minimum take the second operand where one is NaN.
 */
#ifndef TCB_KERNELS_ROWS_VEC_H
#define TCB_KERNELS_ROWS_VEC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_DOTPROD) /* what tells the files for NEON from others: Advanced SIMD all may use */
#include <arm_neon.h>
#endif

#include "base/geometry.h"

#define ROWS_INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)

enum { LANES = 16 };
typedef __m512 vec;

ROWS_INLINE vec v_set(float value)
{
	return _mm512_set1_ps(value);
}
ROWS_INLINE vec v_load(const float *from)
{
	return _mm512_loadu_ps(from);
}
/* The first COUNT < LANES values, the rest FILL. */
ROWS_INLINE vec v_load_part(const float *from, size_t count, float fill)
{
	return _mm512_mask_loadu_ps(v_set(fill), (__mmask16)((1u << count) - 1), from);
}
/* VALUE in the first COUNT < LANES lanes, 0 in the rest. */
ROWS_INLINE vec v_part(vec value, size_t count)
{
	return _mm512_maskz_mov_ps((__mmask16)((1u << count) - 1), value);
}
ROWS_INLINE void v_store(float *to, vec value)
{
	_mm512_storeu_ps(to, value);
}
ROWS_INLINE void v_store_part(float *to, vec value, size_t count)
{
	_mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), value);
}
ROWS_INLINE void v_stream(float *to, vec value)
{
	_mm512_stream_ps(to, value);
}
ROWS_INLINE vec v_max(vec a, vec b)
{
	return _mm512_max_ps(a, b);
}
ROWS_INLINE vec v_add(vec a, vec b)
{
	return _mm512_add_ps(a, b);
}
ROWS_INLINE vec v_sub(vec a, vec b)
{
	return _mm512_sub_ps(a, b);
}
ROWS_INLINE vec v_mul(vec a, vec b)
{
	return _mm512_mul_ps(a, b);
}
ROWS_INLINE vec v_fma(vec a, vec b, vec c)
{
	return _mm512_fmadd_ps(a, b, c);
}
ROWS_INLINE int v_any_above(vec a, vec b)
{
	return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0;
}
ROWS_INLINE float v_reduce_max(vec value)
{
	return _mm512_reduce_max_ps(value);
}
ROWS_INLINE float v_reduce_add(vec value)
{
	return _mm512_reduce_add_ps(value);
}

#elif defined(__AVX2__)

enum { LANES = 8 };
typedef __m256 vec;

ROWS_INLINE vec v_set(float value)
{
	return _mm256_set1_ps(value);
}
ROWS_INLINE vec v_load(const float *from)
{
	return _mm256_loadu_ps(from);
}
ROWS_INLINE __m256i v_mask(size_t count)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
/* The first COUNT < LANES values, the rest FILL. */
ROWS_INLINE vec v_load_part(const float *from, size_t count, float fill)
{
	__m256i part = v_mask(count);
	return _mm256_blendv_ps(v_set(fill), _mm256_maskload_ps(from, part), _mm256_castsi256_ps(part));
}
/* VALUE in the first COUNT < LANES lanes, 0 in the rest. */
ROWS_INLINE vec v_part(vec value, size_t count)
{
	return _mm256_and_ps(value, _mm256_castsi256_ps(v_mask(count)));
}
ROWS_INLINE void v_store(float *to, vec value)
{
	_mm256_storeu_ps(to, value);
}
ROWS_INLINE void v_store_part(float *to, vec value, size_t count)
{
	_mm256_maskstore_ps(to, v_mask(count), value);
}
ROWS_INLINE void v_stream(float *to, vec value)
{
	_mm256_stream_ps(to, value);
}
ROWS_INLINE vec v_max(vec a, vec b)
{
	return _mm256_max_ps(a, b);
}
ROWS_INLINE vec v_add(vec a, vec b)
{
	return _mm256_add_ps(a, b);
}
ROWS_INLINE vec v_sub(vec a, vec b)
{
	return _mm256_sub_ps(a, b);
}
ROWS_INLINE vec v_mul(vec a, vec b)
{
	return _mm256_mul_ps(a, b);
}
ROWS_INLINE vec v_fma(vec a, vec b, vec c)
{
	return _mm256_fmadd_ps(a, b, c);
}
ROWS_INLINE int v_any_above(vec a, vec b)
{
	return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
}
ROWS_INLINE float v_reduce_max(vec value)
{
	__m128 half = _mm_max_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
	half = _mm_max_ps(half, _mm_movehl_ps(half, half));
	return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}
ROWS_INLINE float v_reduce_add(vec value)
{
	__m128 half = _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
	half = _mm_add_ps(half, _mm_movehl_ps(half, half));
	return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

#elif defined(__ARM_FEATURE_DOTPROD)

enum { LANES = 4 };
typedef float32x4_t vec;

ROWS_INLINE vec v_set(float value)
{
	return vdupq_n_f32(value);
}
ROWS_INLINE vec v_load(const float *from)
{
	return vld1q_f32(from);
}
/* The first COUNT < LANES values, the rest FILL. */
ROWS_INLINE vec v_load_part(const float *from, size_t count, float fill)
{
	float part[LANES] = { fill, fill, fill, fill };
	memcpy(part, from, count * sizeof(*from));
	return vld1q_f32(part);
}
/* VALUE in the first COUNT < LANES lanes, 0 in the rest. */
ROWS_INLINE vec v_part(vec value, size_t count)
{
	static const uint32_t index[LANES] = { 0, 1, 2, 3 };
	const uint32x4_t part = vcltq_u32(vld1q_u32(index), vdupq_n_u32((uint32_t)count));
	return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(value), part));
}
ROWS_INLINE void v_store(float *to, vec value)
{
	vst1q_f32(to, value);
}
ROWS_INLINE void v_store_part(float *to, vec value, size_t count)
{
	float part[LANES];
	vst1q_f32(part, value);
	memcpy(to, part, count * sizeof(*to));
}
/* rows_plan refuses stream=1 here: such stores are a hint for pairs of vectors, which no intrinsic gives. */
ROWS_INLINE void v_stream(float *to, vec value)
{
	vst1q_f32(to, value);
}
ROWS_INLINE vec v_max(vec a, vec b)
{
	return vbslq_f32(vcgtq_f32(a, b), a, b);
}
ROWS_INLINE vec v_add(vec a, vec b)
{
	return vaddq_f32(a, b);
}
ROWS_INLINE vec v_sub(vec a, vec b)
{
	return vsubq_f32(a, b);
}
ROWS_INLINE vec v_mul(vec a, vec b)
{
	return vmulq_f32(a, b);
}
ROWS_INLINE vec v_fma(vec a, vec b, vec c)
{
	return vfmaq_f32(c, a, b);
}
ROWS_INLINE int v_any_above(vec a, vec b)
{
	return vmaxvq_u32(vcgtq_f32(a, b)) != 0;
}
ROWS_INLINE float v_reduce_max(vec value)
{
	return vmaxvq_f32(value);
}
ROWS_INLINE float v_reduce_add(vec value)
{
	return vaddvq_f32(value);
}

#else

enum { LANES = 1 };
typedef float vec;

ROWS_INLINE vec v_set(float value)
{
	return value;
}
ROWS_INLINE vec v_load(const float *from)
{
	return *from;
}
/* One lane has no parts but the empty one. */
ROWS_INLINE vec v_load_part(const float *from, size_t count, float fill)
{
	return count ? *from : fill;
}
ROWS_INLINE vec v_part(vec value, size_t count)
{
	return count ? value : 0;
}
ROWS_INLINE void v_store(float *to, vec value)
{
	*to = value;
}
ROWS_INLINE void v_store_part(float *to, vec value, size_t count)
{
	if (count)
		*to = value;
}
/* rows_plan refuses stream=1 here: portable C has no such store. */
ROWS_INLINE void v_stream(float *to, vec value)
{
	*to = value;
}
ROWS_INLINE vec v_max(vec a, vec b)
{
	return a > b ? a : b;
}
ROWS_INLINE vec v_add(vec a, vec b)
{
	return a + b;
}
ROWS_INLINE vec v_sub(vec a, vec b)
{
	return a - b;
}
ROWS_INLINE vec v_mul(vec a, vec b)
{
	return a * b;
}
/* Two roundings: fused arithmetic is a call of the library here. */
ROWS_INLINE vec v_fma(vec a, vec b, vec c)
{
	return a * b + c;
}
ROWS_INLINE int v_any_above(vec a, vec b)
{
	return a > b;
}
ROWS_INLINE float v_reduce_max(vec value)
{
	return value;
}
ROWS_INLINE float v_reduce_add(vec value)
{
	return value;
}

#endif

/* At most LANES of the LEFT values that begin at FROM, the rest FILL. */
ROWS_INLINE vec v_load_left(const float *from, size_t left, float fill)
{
	return left >= LANES ? v_load(from) : v_load_part(from, left, fill);
}
ROWS_INLINE void v_store_left(float *to, vec value, size_t left, int stream)
{
	if (left < LANES)
		v_store_part(to, value, left);
	else if (stream)
		v_stream(to, value);
	else
		v_store(to, value);
}
/* What of COUNT values comes after the first AT. */
ROWS_INLINE size_t left_of(size_t count, size_t at)
{
	return count > at ? count - at : 0;
}

/* Makes streamed stores visible to other threads before what follows. */
ROWS_INLINE void v_fence(void)
{
#if defined(__SSE2__)
	_mm_sfence();
#endif
}

/*
 * What a loop prefetches with, a constant of each instance, and how far ahead.  A busy processor drops prefetches to
 * its second cache, so asking once for what comes soon and again, farther ahead, for what comes later gets more of them
 * through than asking once does.
 */
enum v_fetch { FETCH_NONE, FETCH_T0, FETCH_T1, FETCH_NTA, FETCH_T1_OFTEN };
enum { FETCH_ASKS_APART = 4096, FETCH_OFTEN = 2, FETCH_MOST_OFTEN = 4 };
struct v_ahead {
	size_t bytes;
	int asks; /* of FETCH_T1_OFTEN: FETCH_OFTEN or FETCH_MOST_OFTEN */
};

ROWS_INLINE enum v_fetch v_fetch(size_t distance, enum tcb_hint hint)
{
	return !distance ? FETCH_NONE : hint == TCB_HINT_T0 ? FETCH_T0 : hint == TCB_HINT_T1 ? FETCH_T1 : FETCH_NTA;
}

/* Asks for the line that far after X, and with FETCH_T1_OFTEN for later ones. */
ROWS_INLINE void v_prefetch(const float *x, const struct v_ahead ahead, const enum v_fetch fetch)
{
	/* Beyond an array, too: prefetches do not fault. */
	const uintptr_t line = (uintptr_t)x + ahead.bytes;
	if (fetch == FETCH_T0)
		__builtin_prefetch((const void *)line, 0, 3);
	else if (fetch == FETCH_NTA)
		__builtin_prefetch((const void *)line, 0, 0);
	else if (fetch != FETCH_NONE)
		__builtin_prefetch((const void *)line, 0, 2);
	if (fetch != FETCH_T1_OFTEN)
		return;
	__builtin_prefetch((const void *)(line + FETCH_ASKS_APART), 0, 2);
	if (ahead.asks == FETCH_OFTEN)
		return;
	for (uintptr_t ask = FETCH_OFTEN; ask < FETCH_MOST_OFTEN; ask++)
		__builtin_prefetch((const void *)(line + ask * FETCH_ASKS_APART), 0, 2);
}
/* The same for vector U of a step at X, once a line where lines are longer than vectors. */
ROWS_INLINE void v_prefetch_step(const float *x, int u, const struct v_ahead ahead, const enum v_fetch fetch)
{
	enum { LINE_VECTORS = 16 / LANES };
	if (u % LINE_VECTORS == 0)
		v_prefetch(x + (size_t)u * LANES, ahead, fetch);
}
/* The same for COUNT floats. */
ROWS_INLINE void v_prefetch_row(const float *x, size_t count, const struct v_ahead ahead, const enum v_fetch fetch)
{
	for (size_t i = 0; fetch != FETCH_NONE && i < count; i += 16)
		v_prefetch(x + i, ahead, fetch);
}

#endif
