/* SPDX-License-Identifier: MIT
 *
 * Vectors as wide as the file that includes this is compiled for: 16 lanes of
 * four bytes with AVX-512 BW, eight with AVX2, four on Arm with dot products
 * (quant_matvec_neon.h).  Files compiled for none of them do not get
 * QMV_HAS_VECTORS.  What VNNI does in one instruction takes others several.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_VECTOR_H
#define TCB_KERNELS_QUANT_MATVEC_VECTOR_H

#include "kernels/quant_matvec/quant_matvec_micro.h"

#include <string.h>

#if defined(__AVX2__) || defined(__ARM_FEATURE_DOTPROD)
#define QMV_HAS_VECTORS
#endif

#if defined(__AVX512BW__)
#include <immintrin.h>

enum { LANES = 16, VECTOR_BYTES = 64 };
typedef __m512i vint;
typedef __m512 vfloat;

QMV_INLINE vint load(const void *p)
{
	return _mm512_loadu_si512(p);
}

QMV_INLINE vint bytes_of(int byte)
{
	return _mm512_set1_epi8((char)byte);
}

QMV_INLINE vint words_of(int32_t word)
{
	return _mm512_set1_epi32(word);
}

QMV_INLINE vint zero(void)
{
	return _mm512_setzero_si512();
}

QMV_INLINE vint and_bits(vint a, vint b)
{
	return _mm512_and_si512(a, b);
}

QMV_INLINE vint xor_bits(vint a, vint b)
{
	return _mm512_xor_si512(a, b);
}

/* A | (B & MASK) */
QMV_INLINE vint merge(vint a, vint b, vint mask)
{
	return _mm512_ternarylogic_epi32(a, b, mask, 0xf8);
}

/* Of words: what crosses from byte to byte is masked away by callers. */
QMV_INLINE vint shift_right(vint v, int bits)
{
	return _mm512_srli_epi32(v, (unsigned)bits);
}

QMV_INLINE vint shift_left(vint v, int bits)
{
	return _mm512_slli_epi32(v, (unsigned)bits);
}

/* Byte INDEX of each lane. */
QMV_INLINE vint unsigned_byte(vint v, int index)
{
	if (index == 3)
		return _mm512_srli_epi32(v, 24);
	return _mm512_and_si512(_mm512_srli_epi32(v, (unsigned)(8 * index)), _mm512_set1_epi32(255));
}

QMV_INLINE vint signed_byte(vint v, int index)
{
	return _mm512_srai_epi32(_mm512_slli_epi32(v, (unsigned)(24 - 8 * index)), 24);
}

QMV_INLINE vfloat to_float(vint v)
{
	return _mm512_cvtepi32_ps(v);
}

/* The low (INDEX 0) or high half of each lane, an f16. */
QMV_INLINE vfloat half_of(vint v, int index)
{
	return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(v, (unsigned)(16 * index))));
}

/* An f16 for each lane, side by side. */
QMV_INLINE vfloat halves_at(const uint8_t *p)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}

QMV_INLINE vfloat fzero(void)
{
	return _mm512_setzero_ps();
}

QMV_INLINE vfloat fload(const float *p)
{
	return _mm512_loadu_ps(p);
}

QMV_INLINE vfloat fspread(const float *p)
{
	return _mm512_set1_ps(*p);
}

QMV_INLINE vfloat mul(vfloat a, vfloat b)
{
	return _mm512_mul_ps(a, b);
}

QMV_INLINE vfloat add(vfloat a, vfloat b)
{
	return _mm512_add_ps(a, b);
}

/* a * b + c, c - a * b */
QMV_INLINE vfloat fma_add(vfloat a, vfloat b, vfloat c)
{
	return _mm512_fmadd_ps(a, b, c);
}

QMV_INLINE vfloat fma_from(vfloat a, vfloat b, vfloat c)
{
	return _mm512_fnmadd_ps(a, b, c);
}

QMV_INLINE float sum_of(vfloat v)
{
	return _mm512_reduce_add_ps(v);
}

/* The first COUNT lanes of P, or all; zeros in the others. */
QMV_INLINE vfloat fload_part(const float *p, size_t count)
{
	return _mm512_maskz_loadu_ps((__mmask16)(count >= LANES ? 0xffff : (1u << count) - 1), p);
}

QMV_INLINE void fstore_part(float *p, size_t count, vfloat v)
{
	_mm512_mask_storeu_ps(p, (__mmask16)(count >= LANES ? 0xffff : (1u << count) - 1), v);
}

/* Sums of four products of unsigned U, up to 63 without VNNI, and signed S. */
QMV_INLINE vint dot_add(vint sum, vint u, vint s)
{
#ifdef __AVX512VNNI__
	return _mm512_dpbusd_epi32(sum, u, s);
#else
	return _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(u, s), _mm512_set1_epi16(1)));
#endif
}

/* The same for signed W.  START is -128 times the sums of S; what sums start from is signed_start() of it. */
QMV_INLINE vint signed_start(vint start)
{
#ifdef __AVX512VNNI__
	return start;
#else
	return _mm512_sub_epi32(start, start);
#endif
}

QMV_INLINE vint dot_add_signed(vint sum, vint w, vint s)
{
#ifdef __AVX512VNNI__
	return _mm512_dpbusd_epi32(sum, _mm512_xor_si512(w, _mm512_set1_epi8(-128)), s);
#else
	const vint t = _mm512_mask_sub_epi8(s, _mm512_movepi8_mask(w), _mm512_setzero_si512(), s);
	const vint two = _mm512_maddubs_epi16(_mm512_abs_epi8(w), t);
	return _mm512_add_epi32(sum, _mm512_madd_epi16(two, _mm512_set1_epi16(1)));
#endif
}

#elif defined(__AVX2__)
#include <immintrin.h>

enum { LANES = 8, VECTOR_BYTES = 32 };
typedef __m256i vint;
typedef __m256 vfloat;

QMV_INLINE vint load(const void *p)
{
	return _mm256_loadu_si256((const __m256i *)p);
}

QMV_INLINE vint bytes_of(int byte)
{
	return _mm256_set1_epi8((char)byte);
}

QMV_INLINE vint words_of(int32_t word)
{
	return _mm256_set1_epi32(word);
}

QMV_INLINE vint zero(void)
{
	return _mm256_setzero_si256();
}

QMV_INLINE vint and_bits(vint a, vint b)
{
	return _mm256_and_si256(a, b);
}

QMV_INLINE vint xor_bits(vint a, vint b)
{
	return _mm256_xor_si256(a, b);
}

QMV_INLINE vint merge(vint a, vint b, vint mask)
{
	return _mm256_or_si256(a, _mm256_and_si256(b, mask));
}

QMV_INLINE vint shift_right(vint v, int bits)
{
	return _mm256_srli_epi32(v, bits);
}

QMV_INLINE vint shift_left(vint v, int bits)
{
	return _mm256_slli_epi32(v, bits);
}

QMV_INLINE vint unsigned_byte(vint v, int index)
{
	if (index == 3)
		return _mm256_srli_epi32(v, 24);
	return _mm256_and_si256(_mm256_srli_epi32(v, 8 * index), _mm256_set1_epi32(255));
}

QMV_INLINE vint signed_byte(vint v, int index)
{
	return _mm256_srai_epi32(_mm256_slli_epi32(v, 24 - 8 * index), 24);
}

QMV_INLINE vfloat to_float(vint v)
{
	return _mm256_cvtepi32_ps(v);
}

QMV_INLINE vfloat half_of(vint v, int index)
{
	const vint low = _mm256_and_si256(_mm256_srli_epi32(v, 16 * index), _mm256_set1_epi32(65535));
	const vint packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
	return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}

QMV_INLINE vfloat halves_at(const uint8_t *p)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}

QMV_INLINE vfloat fzero(void)
{
	return _mm256_setzero_ps();
}

QMV_INLINE vfloat fload(const float *p)
{
	return _mm256_loadu_ps(p);
}

QMV_INLINE vfloat fspread(const float *p)
{
	return _mm256_broadcast_ss(p);
}

QMV_INLINE vfloat mul(vfloat a, vfloat b)
{
	return _mm256_mul_ps(a, b);
}

QMV_INLINE vfloat add(vfloat a, vfloat b)
{
	return _mm256_add_ps(a, b);
}

QMV_INLINE vfloat fma_add(vfloat a, vfloat b, vfloat c)
{
	return _mm256_fmadd_ps(a, b, c);
}

QMV_INLINE vfloat fma_from(vfloat a, vfloat b, vfloat c)
{
	return _mm256_fnmadd_ps(a, b, c);
}

QMV_INLINE float sum_of(vfloat v)
{
	const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
	const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

QMV_INLINE __m256i first_lanes(size_t count)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(count > LANES ? LANES : count)),
				  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

QMV_INLINE vfloat fload_part(const float *p, size_t count)
{
	return _mm256_maskload_ps(p, first_lanes(count));
}

QMV_INLINE void fstore_part(float *p, size_t count, vfloat v)
{
	_mm256_maskstore_ps(p, first_lanes(count), v);
}

QMV_INLINE vint dot_add(vint sum, vint u, vint s)
{
	return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(u, s), _mm256_set1_epi16(1)));
}

QMV_INLINE vint signed_start(vint start)
{
	return _mm256_sub_epi32(start, start);
}

QMV_INLINE vint dot_add_signed(vint sum, vint w, vint s)
{
	const vint two = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(s, w));
	return _mm256_add_epi32(sum, _mm256_madd_epi16(two, _mm256_set1_epi16(1)));
}

#elif defined(__ARM_FEATURE_DOTPROD)
#include "kernels/quant_matvec/quant_matvec_neon.h"
#endif

#endif
