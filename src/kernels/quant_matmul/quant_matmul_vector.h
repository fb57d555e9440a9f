/* SPDX-License-Identifier: MIT
 *
 * Vectors of one 4-byte lane a row, as wide as the file that includes this is
 * compiled for: 16 rows with AVX-512 BW, 8 with AVX2, 4 on Arm with dot products
 * (quant_matmul_neon.h).  Lines are 16 rows wide, so narrower vectors work on
 * parts of them.  Files compiled for none of these do not get QMM_HAS_VECTORS.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_VECTOR_H
#define TCB_KERNELS_QUANT_MATMUL_VECTOR_H

#include <stdint.h>
#include <string.h>

#define QMM_INLINE static inline __attribute__((always_inline))

/* Before a loop with a constant count: unrolled before arrays of vectors are split into registers.  Sanitizers would
 * take minutes to compile that. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define QMM_UNROLL
#elif defined(__clang__)
#define QMM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define QMM_UNROLL _Pragma("GCC unroll 32")
#endif

#if defined(__AVX2__) || defined(__ARM_FEATURE_DOTPROD)
#define QMM_HAS_VECTORS
#endif

#if defined(__AVX512BW__)
#include <immintrin.h>

enum { LANES = 16 };
typedef __m512i vint;
typedef __m512 vfloat;
typedef __mmask16 vmask;

QMM_INLINE vint load(const void *p)
{
	return _mm512_load_si512(p);
}

QMM_INLINE void store(void *p, vint v)
{
	_mm512_store_si512(p, v);
}

QMM_INLINE vint zero(void)
{
	return _mm512_setzero_si512();
}

QMM_INLINE vint bytes_of(int byte)
{
	return _mm512_set1_epi8((char)byte);
}

QMM_INLINE vint words_of(int32_t word)
{
	return _mm512_set1_epi32(word);
}

QMM_INLINE vint and_bits(vint a, vint b)
{
	return _mm512_and_si512(a, b);
}

QMM_INLINE vint xor_bits(vint a, vint b)
{
	return _mm512_xor_si512(a, b);
}

/* A | (B & MASK) */
QMM_INLINE vint merge(vint a, vint b, vint mask)
{
	return _mm512_ternarylogic_epi32(a, b, mask, 0xf8);
}

/* Of 16-bit units, to be masked. */
QMM_INLINE vint shift_right(vint v, int bits)
{
	return _mm512_srli_epi16(v, bits);
}

QMM_INLINE vint shift_left(vint v, int bits)
{
	return _mm512_slli_epi16(v, bits);
}

/* VALUE more in the bytes where those of BITS have BIT. */
QMM_INLINE vint add_where(vint v, int value, vint bits, int bit)
{
	return _mm512_mask_add_epi8(v, _mm512_test_epi8_mask(bits, bytes_of(bit)), v, bytes_of(value));
}

/* Byte INDEX of each lane. */
QMM_INLINE vint unsigned_byte(vint v, int index)
{
	return _mm512_and_si512(_mm512_srli_epi32(v, 8 * index), _mm512_set1_epi32(255));
}

QMM_INLINE vint signed_byte(vint v, int index)
{
	return _mm512_srai_epi32(_mm512_slli_epi32(v, 24 - 8 * index), 24);
}

QMM_INLINE vint add(vint a, vint b)
{
	return _mm512_add_epi32(a, b);
}

QMM_INLINE vint times_64(vint v)
{
	return _mm512_slli_epi32(v, 6);
}

QMM_INLINE vfloat to_float(vint v)
{
	return _mm512_cvtepi32_ps(v);
}

/* The low (INDEX 0) or high half of each lane, an f16. */
QMM_INLINE vfloat half_of(vint v, int index)
{
	return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(_mm512_srli_epi32(v, 16 * index)));
}

QMM_INLINE vfloat fzero(void)
{
	return _mm512_setzero_ps();
}

QMM_INLINE vfloat fload(const float *p)
{
	return _mm512_load_ps(p);
}

QMM_INLINE void fstore(float *p, vfloat v)
{
	_mm512_store_ps(p, v);
}

QMM_INLINE vfloat fspread(const float *p)
{
	return _mm512_set1_ps(*p);
}

QMM_INLINE vfloat mul(vfloat a, vfloat b)
{
	return _mm512_mul_ps(a, b);
}

/* a * b + c, a * b - c, c - a * b */
QMM_INLINE vfloat fma_add(vfloat a, vfloat b, vfloat c)
{
	return _mm512_fmadd_ps(a, b, c);
}

QMM_INLINE vfloat fma_less(vfloat a, vfloat b, vfloat c)
{
	return _mm512_fmsub_ps(a, b, c);
}

QMM_INLINE vfloat fma_from(vfloat a, vfloat b, vfloat c)
{
	return _mm512_fnmadd_ps(a, b, c);
}

/* The first COUNT lanes; COUNT up to LANES. */
QMM_INLINE vmask first_lanes(size_t count)
{
	return (vmask)(count >= LANES ? 0xffff : (1u << count) - 1);
}

QMM_INLINE vfloat fload_part(const float *p, vmask lanes)
{
	return _mm512_maskz_loadu_ps(lanes, p);
}

QMM_INLINE void fstore_part(float *p, vmask lanes, vfloat v)
{
	_mm512_mask_storeu_ps(p, lanes, v);
}

/* Four words of each row, from OFFSET of its bytes: one vector for each word. */
QMM_INLINE void four_words(const uint8_t *const row[LANES], size_t offset, vint out[4])
{
	vint v[4];
	QMM_UNROLL
	for (int i = 0; i < 4; i++) {
		v[i] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(row[i] + offset)));
		v[i] = _mm512_inserti32x4(v[i], _mm_loadu_si128((const __m128i *)(row[4 + i] + offset)), 1);
		v[i] = _mm512_inserti32x4(v[i], _mm_loadu_si128((const __m128i *)(row[8 + i] + offset)), 2);
		v[i] = _mm512_inserti32x4(v[i], _mm_loadu_si128((const __m128i *)(row[12 + i] + offset)), 3);
	}
	const vint a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]);
	const vint c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
	out[0] = _mm512_unpacklo_epi64(a, c);
	out[1] = _mm512_unpackhi_epi64(a, c);
	out[2] = _mm512_unpacklo_epi64(b, d);
	out[3] = _mm512_unpackhi_epi64(b, d);
}

#elif defined(__AVX2__)
#include <immintrin.h>

enum { LANES = 8 };
typedef __m256i vint;
typedef __m256 vfloat;
typedef __m256i vmask;

QMM_INLINE vint load(const void *p)
{
	return _mm256_load_si256((const __m256i *)p);
}

QMM_INLINE void store(void *p, vint v)
{
	_mm256_store_si256((__m256i *)p, v);
}

QMM_INLINE vint zero(void)
{
	return _mm256_setzero_si256();
}

QMM_INLINE vint bytes_of(int byte)
{
	return _mm256_set1_epi8((char)byte);
}

QMM_INLINE vint words_of(int32_t word)
{
	return _mm256_set1_epi32(word);
}

QMM_INLINE vint and_bits(vint a, vint b)
{
	return _mm256_and_si256(a, b);
}

QMM_INLINE vint xor_bits(vint a, vint b)
{
	return _mm256_xor_si256(a, b);
}

QMM_INLINE vint merge(vint a, vint b, vint mask)
{
	return _mm256_or_si256(a, _mm256_and_si256(b, mask));
}

QMM_INLINE vint shift_right(vint v, int bits)
{
	return _mm256_srli_epi16(v, bits);
}

QMM_INLINE vint shift_left(vint v, int bits)
{
	return _mm256_slli_epi16(v, bits);
}

QMM_INLINE vint add_where(vint v, int value, vint bits, int bit)
{
	const vint mask = bytes_of(bit);
	return _mm256_add_epi8(v, and_bits(_mm256_cmpeq_epi8(and_bits(bits, mask), mask), bytes_of(value)));
}

QMM_INLINE vint unsigned_byte(vint v, int index)
{
	return _mm256_and_si256(_mm256_srli_epi32(v, 8 * index), _mm256_set1_epi32(255));
}

QMM_INLINE vint signed_byte(vint v, int index)
{
	return _mm256_srai_epi32(_mm256_slli_epi32(v, 24 - 8 * index), 24);
}

QMM_INLINE vint add(vint a, vint b)
{
	return _mm256_add_epi32(a, b);
}

QMM_INLINE vint times_64(vint v)
{
	return _mm256_slli_epi32(v, 6);
}

QMM_INLINE vfloat to_float(vint v)
{
	return _mm256_cvtepi32_ps(v);
}

QMM_INLINE vfloat half_of(vint v, int index)
{
	const vint low = _mm256_and_si256(_mm256_srli_epi32(v, 16 * index), _mm256_set1_epi32(65535));
	const vint packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
	return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
}

QMM_INLINE vfloat fzero(void)
{
	return _mm256_setzero_ps();
}

QMM_INLINE vfloat fload(const float *p)
{
	return _mm256_load_ps(p);
}

QMM_INLINE void fstore(float *p, vfloat v)
{
	_mm256_store_ps(p, v);
}

QMM_INLINE vfloat fspread(const float *p)
{
	return _mm256_broadcast_ss(p);
}

QMM_INLINE vfloat mul(vfloat a, vfloat b)
{
	return _mm256_mul_ps(a, b);
}

QMM_INLINE vfloat fma_add(vfloat a, vfloat b, vfloat c)
{
	return _mm256_fmadd_ps(a, b, c);
}

QMM_INLINE vfloat fma_less(vfloat a, vfloat b, vfloat c)
{
	return _mm256_fmsub_ps(a, b, c);
}

QMM_INLINE vfloat fma_from(vfloat a, vfloat b, vfloat c)
{
	return _mm256_fnmadd_ps(a, b, c);
}

QMM_INLINE vmask first_lanes(size_t count)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(count > LANES ? LANES : count)),
				  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

QMM_INLINE vfloat fload_part(const float *p, vmask lanes)
{
	return _mm256_maskload_ps(p, lanes);
}

QMM_INLINE void fstore_part(float *p, vmask lanes, vfloat v)
{
	_mm256_maskstore_ps(p, lanes, v);
}

QMM_INLINE void four_words(const uint8_t *const row[LANES], size_t offset, vint out[4])
{
	vint v[4];
	QMM_UNROLL
	for (int i = 0; i < 4; i++) {
		v[i] = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(row[i] + offset)));
		v[i] = _mm256_inserti128_si256(v[i], _mm_loadu_si128((const __m128i *)(row[4 + i] + offset)), 1);
	}
	const vint a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]);
	const vint c = _mm256_unpacklo_epi32(v[2], v[3]), d = _mm256_unpackhi_epi32(v[2], v[3]);
	out[0] = _mm256_unpacklo_epi64(a, c);
	out[1] = _mm256_unpackhi_epi64(a, c);
	out[2] = _mm256_unpacklo_epi64(b, d);
	out[3] = _mm256_unpackhi_epi64(b, d);
}

#elif defined(__ARM_FEATURE_DOTPROD)
#include "kernels/quant_matmul/quant_matmul_neon.h"
#endif

#endif
