/* SPDX-License-Identifier: MIT
 *
 * The few vector operations that the softmax micro-kernel is written in, once
 * for each instruction set: whichever the including file is compiled for.
 *
 * exp(x) for x <= 0: x = n ln2 + r with |r| <= ln2/2 (Cody and Waite's two-part
 * ln2), exp(r) by a polynomial of degree 6, times 2^n.  Results below 2^-126
 * are flushed to 0, because a subnormal number costs a microcode assist of more
 * than a hundred cycles and a row of spread values is full of them.  -inf gives
 * 0, NaN stays NaN.
 */
#ifndef TCB_KERNELS_SOFTMAX_VEC_H
#define TCB_KERNELS_SOFTMAX_VEC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

/* Relative minimax on |r| <= ln2/2 with 1 + r kept exact: Remez, then rounded to binary32; error 2^-28. */
#define EXP_C2 0x1.fffffcp-2f
#define EXP_C3 0x1.555492p-3f
#define EXP_C4 0x1.5558f2p-5f
#define EXP_C5 0x1.1239e2p-7f
#define EXP_C6 0x1.6a2434p-10f
#define EXP_LOG2E 0x1.715476p+0f
#define EXP_LN2_HI 0x1.63p-1f /* 9 bits: n * hi is exact without fused arithmetic */
#define EXP_LN2_LO -0x1.bd0106p-13f
#define EXP_LOWEST -88.0f /* exp of it is below 2^-126; n = -127 gives a power of 0 */

/* Between the two calls subnormal results and operands count as 0 (MXCSR's FTZ and DAZ). */
static inline unsigned v_flush_begin(void)
{
#if defined(__SSE2__)
	unsigned before = _mm_getcsr();
	_mm_setcsr(before | 0x8040);
	return before;
#else
	return 0;
#endif
}
static inline void v_flush_end(unsigned before)
{
#if defined(__SSE2__)
	_mm_setcsr(before);
#else
	(void)before;
#endif
}

#if defined(__AVX512F__)

enum { LANES = 16 };
typedef __m512 vec;

static inline vec v_set(float value)
{
	return _mm512_set1_ps(value);
}
static inline vec v_load(const float *from)
{
	return _mm512_loadu_ps(from);
}
/* The first COUNT < LANES values, the rest -inf. */
static inline vec v_load_part(const float *from, size_t count)
{
	return _mm512_mask_loadu_ps(v_set(-INFINITY), (__mmask16)((1u << count) - 1), from);
}
static inline void v_store(float *to, vec value)
{
	_mm512_storeu_ps(to, value);
}
static inline void v_store_part(float *to, vec value, size_t count)
{
	_mm512_mask_storeu_ps(to, (__mmask16)((1u << count) - 1), value);
}
static inline void v_stream(float *to, vec value)
{
	_mm512_stream_ps(to, value);
}
static inline void v_fence(void)
{
	_mm_sfence();
}
static inline vec v_max(vec a, vec b)
{
	return _mm512_max_ps(a, b);
}
static inline vec v_add(vec a, vec b)
{
	return _mm512_add_ps(a, b);
}
static inline vec v_sub(vec a, vec b)
{
	return _mm512_sub_ps(a, b);
}
static inline vec v_mul(vec a, vec b)
{
	return _mm512_mul_ps(a, b);
}
static inline float v_reduce_max(vec value)
{
	return _mm512_reduce_max_ps(value);
}
static inline float v_reduce_add(vec value)
{
	return _mm512_reduce_add_ps(value);
}
static inline vec v_exp(vec x)
{
	x = _mm512_max_ps(v_set(EXP_LOWEST), x); /* NaN in the second operand comes through */
	vec n = _mm512_roundscale_ps(_mm512_mul_ps(x, v_set(EXP_LOG2E)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
	vec r = _mm512_fnmadd_ps(n, v_set(EXP_LN2_HI), x);
	r = _mm512_fnmadd_ps(n, v_set(EXP_LN2_LO), r);
	vec p = _mm512_fmadd_ps(v_set(EXP_C6), r, v_set(EXP_C5));
	p = _mm512_fmadd_ps(p, r, v_set(EXP_C4));
	p = _mm512_fmadd_ps(p, r, v_set(EXP_C3));
	p = _mm512_fmadd_ps(p, r, v_set(EXP_C2));
	p = _mm512_fmadd_ps(p, r, v_set(1));
	p = _mm512_fmadd_ps(p, r, v_set(1));
	return _mm512_scalef_ps(p, n);
}

#elif defined(__AVX2__)

enum { LANES = 8 };
typedef __m256 vec;

static inline vec v_set(float value)
{
	return _mm256_set1_ps(value);
}
static inline vec v_load(const float *from)
{
	return _mm256_loadu_ps(from);
}
static inline __m256i v_part(size_t count)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
/* The first COUNT < LANES values, the rest -inf. */
static inline vec v_load_part(const float *from, size_t count)
{
	__m256i part = v_part(count);
	return _mm256_blendv_ps(v_set(-INFINITY), _mm256_maskload_ps(from, part), _mm256_castsi256_ps(part));
}
static inline void v_store(float *to, vec value)
{
	_mm256_storeu_ps(to, value);
}
static inline void v_store_part(float *to, vec value, size_t count)
{
	_mm256_maskstore_ps(to, v_part(count), value);
}
static inline void v_stream(float *to, vec value)
{
	_mm256_stream_ps(to, value);
}
static inline void v_fence(void)
{
	_mm_sfence();
}
static inline vec v_max(vec a, vec b)
{
	return _mm256_max_ps(a, b);
}
static inline vec v_add(vec a, vec b)
{
	return _mm256_add_ps(a, b);
}
static inline vec v_sub(vec a, vec b)
{
	return _mm256_sub_ps(a, b);
}
static inline vec v_mul(vec a, vec b)
{
	return _mm256_mul_ps(a, b);
}
static inline float v_reduce_max(vec value)
{
	__m128 half = _mm_max_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
	half = _mm_max_ps(half, _mm_movehl_ps(half, half));
	return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}
static inline float v_reduce_add(vec value)
{
	__m128 half = _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
	half = _mm_add_ps(half, _mm_movehl_ps(half, half));
	return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}
static inline vec v_exp(vec x)
{
	x = _mm256_max_ps(v_set(EXP_LOWEST), x); /* NaN in the second operand comes through */
	vec n = _mm256_round_ps(_mm256_mul_ps(x, v_set(EXP_LOG2E)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
	vec r = _mm256_fnmadd_ps(n, v_set(EXP_LN2_HI), x);
	r = _mm256_fnmadd_ps(n, v_set(EXP_LN2_LO), r);
	vec p = _mm256_fmadd_ps(v_set(EXP_C6), r, v_set(EXP_C5));
	p = _mm256_fmadd_ps(p, r, v_set(EXP_C4));
	p = _mm256_fmadd_ps(p, r, v_set(EXP_C3));
	p = _mm256_fmadd_ps(p, r, v_set(EXP_C2));
	p = _mm256_fmadd_ps(p, r, v_set(1));
	p = _mm256_fmadd_ps(p, r, v_set(1));
	__m256i exponent = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
	return _mm256_mul_ps(p, _mm256_castsi256_ps(exponent));
}

#else

enum { LANES = 1 };
typedef float vec;

static inline vec v_set(float value)
{
	return value;
}
static inline vec v_load(const float *from)
{
	return *from;
}
/* Never called: one lane has no parts. */
static inline vec v_load_part(const float *from, size_t count)
{
	return count ? *from : -INFINITY;
}
static inline void v_store(float *to, vec value)
{
	*to = value;
}
static inline void v_store_part(float *to, vec value, size_t count)
{
	if (count)
		*to = value;
}
/* The op's plan refuses stream=1 here: portable C has no such store. */
static inline void v_stream(float *to, vec value)
{
	*to = value;
}
static inline void v_fence(void)
{
}
static inline vec v_max(vec a, vec b)
{
	return a > b ? a : b;
}
static inline vec v_add(vec a, vec b)
{
	return a + b;
}
static inline vec v_sub(vec a, vec b)
{
	return a - b;
}
static inline vec v_mul(vec a, vec b)
{
	return a * b;
}
static inline float v_reduce_max(vec value)
{
	return value;
}
static inline float v_reduce_add(vec value)
{
	return value;
}
static inline vec v_exp(vec x)
{
	const float magic = 0x1.8p23f; /* adding it leaves no fraction bits: rounds to the nearest integer */
	if (x < EXP_LOWEST)
		x = EXP_LOWEST;
	float n = (x * EXP_LOG2E + magic) - magic;
	float r = (x - n * EXP_LN2_HI) - n * EXP_LN2_LO;
	float p = EXP_C6 * r + EXP_C5;
	p = p * r + EXP_C4;
	p = p * r + EXP_C3;
	p = p * r + EXP_C2;
	p = r * r * p + r + 1;
	if (n != n)
		return n;
	uint32_t bits = (uint32_t)((int32_t)n + 127) << 23;
	float power;
	memcpy(&power, &bits, sizeof(power));
	return p * power;
}

#endif

#endif
