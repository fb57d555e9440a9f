/* SPDX-License-Identifier: MIT
 *
 * The vocabulary of simd.h in 512-bit vectors: AVX-512 F, BW, VL and DQ, and
 * VNNI's and BF16's dot products where the file is compiled for them.  Empty for a file that
 * is compiled for neither.
 */
#ifndef TCB_KERNELS_SIMD_AVX512_H
#define TCB_KERNELS_SIMD_AVX512_H

#include "kernels/simd/simd_inline.h"

#if defined(__AVX512BW__)
#include <immintrin.h>

#if defined(__AMX_INT8__) || defined(__AMXINT8__) /* the second: clang 14 */
#define SIMD_ISA amx
#define SIMD_ID AMX
#elif defined(__AVX512BF16__)
#define SIMD_ISA avx512bf16
#define SIMD_ID AVX512BF16
#elif defined(__AVX512VNNI__)
#define SIMD_ISA avx512vnni
#define SIMD_ID AVX512VNNI
#else
#define SIMD_ISA avx512
#define SIMD_ID AVX512
#endif
#if defined(__AVX512VNNI__)
#define SIMD_HAS_DOT
#endif
#define SIMD_HAS_BYTES
#define LANES 16
typedef __m512 vfloat;
typedef __m512i vint;
typedef __mmask16 vmask;
typedef __mmask16 vflag;

/* --- floats --- */

SIMD_FROM(vfloat, v_set, float, _mm512_set1_ps)

SIMD_INLINE vfloat v_load(const float *from)
{
	return _mm512_loadu_ps(from);
}

SIMD_INLINE void v_store(float *to, vfloat value)
{
	_mm512_storeu_ps(to, value);
}

SIMD_INLINE void v_stream(float *to, vfloat value)
{
	_mm512_stream_ps(to, value);
}

SIMD_INLINE vmask part_mask(size_t count)
{
	return (vmask)((1u << count) - 1);
}

SIMD_INLINE vmask v_first(size_t count)
{
	return (vmask)(count >= LANES ? 0xffff : (1u << count) - 1);
}

SIMD_INLINE vfloat v_load_first(const float *from, vmask first)
{
	return _mm512_maskz_loadu_ps(first, from);
}

SIMD_INLINE void v_store_first(float *to, vfloat value, vmask first)
{
	_mm512_mask_storeu_ps(to, first, value);
}

SIMD_INLINE vfloat v_load_part(const float *from, size_t count, float fill)
{
	return _mm512_mask_loadu_ps(v_set(fill), part_mask(count), from);
}

SIMD_INLINE void v_store_part(float *to, vfloat value, size_t count)
{
	v_store_first(to, value, part_mask(count));
}

SIMD_INLINE vfloat v_part(vfloat value, size_t count)
{
	return _mm512_maskz_mov_ps(part_mask(count), value);
}

SIMD_OF_2(vfloat, v_add, _mm512_add_ps)
SIMD_OF_2(vfloat, v_sub, _mm512_sub_ps)
SIMD_OF_2(vfloat, v_mul, _mm512_mul_ps)
SIMD_OF_3(vfloat, v_fma, _mm512_fmadd_ps)
SIMD_OF_3(vfloat, v_fms, _mm512_fmsub_ps)
SIMD_OF_3(vfloat, v_fnma, _mm512_fnmadd_ps)
SIMD_OF_2(vfloat, v_max, _mm512_max_ps)

SIMD_INLINE vfloat v_maximum(vfloat a, vfloat b)
{
	return _mm512_range_ps(a, b, 5); /* VRANGE: the larger one, with its sign, -0 < +0 */
}

SIMD_INLINE vfloat v_minimum(vfloat a, vfloat b)
{
	return _mm512_range_ps(a, b, 4);
}

SIMD_INLINE vfloat v_round(vfloat v)
{
	return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

SIMD_INLINE vfloat v_power2(vfloat n)
{
	return _mm512_scalef_ps(v_set(1), n);
}

SIMD_INLINE int v_any_above(vfloat a, vfloat b)
{
	return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ) != 0;
}

SIMD_INLINE vflag v_unordered(vfloat a, vfloat b)
{
	return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
}

SIMD_INLINE vflag v_no_flag(void)
{
	return 0;
}

SIMD_INLINE vflag v_either(vflag a, vflag b)
{
	return (vflag)(a | b);
}

SIMD_INLINE int v_is_set(vflag a)
{
	return a != 0;
}

SIMD_FROM(float, v_reduce_add, vfloat, _mm512_reduce_add_ps)
SIMD_FROM(float, v_reduce_max, vfloat, _mm512_reduce_max_ps)

SIMD_INLINE vfloat v_from_f16(const void *from)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)from));
}

SIMD_INLINE vfloat v_from_bf16(const uint16_t *from)
{
	const __m256i half = _mm256_loadu_si256((const __m256i_u *)from);
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}

SIMD_INLINE vfloat v_set_f16(const void *from)
{
	uint16_t half;
	memcpy(&half, from, sizeof(half));
	return _mm512_cvtph_ps(_mm256_set1_epi16((int16_t)half));
}

SIMD_INLINE vfloat v_from_bytes(const int8_t *from)
{
	return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i_u *)from)));
}

/* Seven bits up they are halves; processors take subnormal halves as fast as others. */
SIMD_INLINE vfloat v_from_e4m3(const uint8_t *from)
{
	const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i_u *)from));
	const __m256i half = _mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16((int16_t)0xbf80));
	return _mm512_cvtph_ps(half);
}

SIMD_INLINE void v_to_f16(uint16_t *to, vfloat value)
{
	_mm256_storeu_si256((__m256i_u *)to, _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

SIMD_INLINE void v_to_bf16(uint16_t *to, vfloat value)
{
	const __m512i bits = _mm512_castps_si512(value), half = _mm512_srli_epi32(bits, 16);
	const __m512i odd = _mm512_and_si512(half, _mm512_set1_epi32(1));
	const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
	const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
	const __m512i rounded = _mm512_mask_or_epi32(_mm512_srli_epi32(up, 16), is_nan, half, _mm512_set1_epi32(0x40));
	_mm256_storeu_si256((__m256i_u *)to, _mm512_cvtepi32_epi16(rounded));
}

/* 32-bit pairs, 64-bit pairs, then quarters of vectors. */
SIMD_INLINE void v_transpose(vfloat r[LANES])
{
	vfloat t[LANES];
	SIMD_FOR (int i = 0; i < LANES; i += 2) {
		t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
	}
	SIMD_FOR (int i = 0; i < LANES; i += 4)
		SIMD_FOR (int j = 0; j < 2; j++) {
			const __m512d a = _mm512_castps_pd(t[i + j]), b = _mm512_castps_pd(t[i + j + 2]);
			r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
			r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
		}
	/* Now r[4 * q + j] has rows 4q to 4q + 3 of columns j, 4 + j, 8 + j and 12 + j in its quarters. */
	SIMD_FOR (int j = 0; j < 4; j++) {
		const vfloat a = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x44),
			     b = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xee);
		const vfloat c = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x44);
		const vfloat d = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xee);
		t[j] = _mm512_shuffle_f32x4(a, c, 0x88);
		t[4 + j] = _mm512_shuffle_f32x4(a, c, 0xdd);
		t[8 + j] = _mm512_shuffle_f32x4(b, d, 0x88);
		t[12 + j] = _mm512_shuffle_f32x4(b, d, 0xdd);
	}
	SIMD_FOR (int i = 0; i < LANES; i++)
		r[i] = t[i];
}

/* Pairs of words, of 64 bits and of 128 bits, twice, are taken together as they come. */
#define SIMD_REDUCE_EACH(name, both)                                                                   \
	SIMD_INLINE vfloat name(const vfloat r[LANES])                                                 \
	{                                                                                              \
		vfloat four[LANES / 4];                                                                \
		SIMD_FOR (int i = 0; i < LANES / 4; i++) {                                             \
			const vfloat *a = r + 4 * i;                                                   \
			const __m512d low = _mm512_castps_pd(                                          \
				both(_mm512_unpacklo_ps(a[0], a[1]), _mm512_unpackhi_ps(a[0], a[1]))); \
			const __m512d high = _mm512_castps_pd(                                         \
				both(_mm512_unpacklo_ps(a[2], a[3]), _mm512_unpackhi_ps(a[2], a[3]))); \
			four[i] = both(_mm512_castpd_ps(_mm512_unpacklo_pd(low, high)),                \
				       _mm512_castpd_ps(_mm512_unpackhi_pd(low, high)));               \
		}                                                                                      \
		SIMD_FOR (int i = 0; i < 4; i += 2)                                                    \
			four[i] = both(_mm512_shuffle_f32x4(four[i], four[i + 1], 0x88),               \
				       _mm512_shuffle_f32x4(four[i], four[i + 1], 0xdd));              \
		return both(_mm512_shuffle_f32x4(four[0], four[2], 0x88),                              \
			    _mm512_shuffle_f32x4(four[0], four[2], 0xdd));                             \
	}
SIMD_REDUCE_EACH(v_reduce_each, _mm512_add_ps)
SIMD_REDUCE_EACH(v_reduce_each_max, _mm512_max_ps)
#undef SIMD_REDUCE_EACH

/* --- words and bytes --- */

SIMD_INLINE vint vi_load(const void *from)
{
	return _mm512_loadu_si512(from);
}

SIMD_INLINE void vi_store(void *to, vint v)
{
	_mm512_storeu_si512(to, v);
}

SIMD_INLINE vint vi_zero(void)
{
	return _mm512_setzero_si512();
}

SIMD_INLINE vint vi_bytes(int byte)
{
	return _mm512_set1_epi8((char)byte);
}

SIMD_FROM(vint, vi_words, int32_t, _mm512_set1_epi32)

SIMD_INLINE vint vi_first_word(int32_t word)
{
	return _mm512_zextsi128_si512(_mm_cvtsi32_si128(word));
}

SIMD_OF_2(vint, vi_and, _mm512_and_si512)
SIMD_OF_2(vint, vi_xor, _mm512_xor_si512)

SIMD_INLINE vint vi_merge(vint a, vint b, vint mask)
{
	return _mm512_ternarylogic_epi32(a, b, mask, 0xf8);
}

SIMD_OF_2(vint, vi_add, _mm512_add_epi32)
SIMD_OF_2(vint, vi_sub, _mm512_sub_epi32)

SIMD_INLINE vint vi_shift_right(vint v, int bits)
{
	return _mm512_srli_epi32(v, (unsigned)bits);
}

SIMD_INLINE vint vi_shift_left(vint v, int bits)
{
	return _mm512_slli_epi32(v, (unsigned)bits);
}

SIMD_INLINE vint vi_unsigned_byte(vint v, int index)
{
	const vint low = _mm512_srli_epi32(v, (unsigned)(8 * index));
	return index == 3 ? low : _mm512_and_si512(low, _mm512_set1_epi32(255));
}

SIMD_INLINE vint vi_signed_byte(vint v, int index)
{
	return _mm512_srai_epi32(_mm512_slli_epi32(v, (unsigned)(24 - 8 * index)), 24);
}

SIMD_INLINE vint vi_add_where(vint v, int value, vint bits, int bit)
{
	return _mm512_mask_add_epi8(v, _mm512_test_epi8_mask(bits, vi_bytes(bit)), v, vi_bytes(value));
}

SIMD_INLINE vint vi_clear_where(vint v, int byte)
{
	return _mm512_maskz_mov_epi8(_mm512_cmpneq_epi8_mask(v, vi_bytes(byte)), v);
}

SIMD_INLINE vint vi_table16(const int8_t table[16])
{
	return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i_u *)table));
}

SIMD_OF_2(vint, vi_lookup16, _mm512_shuffle_epi8)
SIMD_FROM(vfloat, v_from_bits, vint, _mm512_castsi512_ps)
SIMD_FROM(vfloat, v_from_words, vint, _mm512_cvtepi32_ps)

#define SIMD_HAS_POWERS
SIMD_INLINE vfloat v_times_power(vfloat x, vint n)
{
	return _mm512_scalef_ps(x, _mm512_cvtepi32_ps(n));
}

SIMD_INLINE vfloat v_from_halves(vint v, int index)
{
	/* All low halves, then all high ones: where both are asked for this is done once. */
	const vint apart = _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1, 30, 28, 26, 24,
					    22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
	const vint halves = _mm512_permutexvar_epi16(apart, v);
	return _mm512_cvtph_ps(index ? _mm512_extracti64x4_epi64(halves, 1) : _mm512_castsi512_si256(halves));
}

SIMD_INLINE void vi_four_words(const uint8_t *const row[LANES], size_t offset, vint out[4])
{
	vint v[4];
	SIMD_FOR (int i = 0; i < 4; i++) {
		v[i] = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i_u *)(row[i] + offset)));
		v[i] = _mm512_inserti32x4(v[i], _mm_loadu_si128((const __m128i_u *)(row[4 + i] + offset)), 1);
		v[i] = _mm512_inserti32x4(v[i], _mm_loadu_si128((const __m128i_u *)(row[8 + i] + offset)), 2);
		v[i] = _mm512_inserti32x4(v[i], _mm_loadu_si128((const __m128i_u *)(row[12 + i] + offset)), 3);
	}
	const vint a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]);
	const vint c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
	out[0] = _mm512_unpacklo_epi64(a, c);
	out[1] = _mm512_unpackhi_epi64(a, c);
	out[2] = _mm512_unpacklo_epi64(b, d);
	out[3] = _mm512_unpackhi_epi64(b, d);
}

/* --- byte products --- */

#ifdef SIMD_HAS_DOT

SIMD_OF_3(vint, vi_dot, _mm512_dpbusd_epi32)

SIMD_INLINE vint vi_signed_start(vint start)
{
	return start;
}

SIMD_INLINE vint vi_dot_signed(vint sum, vint w, vint s)
{
	return _mm512_dpbusd_epi32(sum, _mm512_xor_si512(w, _mm512_set1_epi8(-128)), s);
}

/* --- halves --- */

#define SIMD_HAS_HALVES
typedef uint16_t half_anywhere __attribute__((aligned(1), may_alias));
SIMD_FROM(vfloat, v_abs, vfloat, _mm512_abs_ps)
SIMD_OF_2(vfloat, v_div, _mm512_div_ps)
SIMD_FROM(vint, vi_to_words, vfloat, _mm512_cvtps_epi32)

SIMD_INLINE vint vi_halves_of_bytes(const int8_t *from)
{
	return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i_u *)from));
}

SIMD_INLINE void vi_store_halves(int16_t *to, vint v)
{
	_mm256_storeu_si256((__m256i_u *)to, _mm512_cvtepi32_epi16(v));
}

SIMD_INLINE void vi_interleave(vint a, vint b, vint out[2])
{
	out[0] = _mm512_unpacklo_epi16(a, b);
	out[1] = _mm512_unpackhi_epi16(a, b);
}

SIMD_INLINE void v_deinterleave(vfloat pair[2])
{
	const vfloat low = pair[0], high = pair[1];
	const vint first = _mm512_set_epi32(23, 22, 21, 20, 7, 6, 5, 4, 19, 18, 17, 16, 3, 2, 1, 0);
	const vint second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
	pair[0] = _mm512_permutex2var_ps(low, first, high);
	pair[1] = _mm512_permutex2var_ps(low, second, high);
}

/* Sums stay in the registers where they are: compilers copy those of the intrinsics. */
SIMD_INLINE vint vi_dot16(vint sum, vint a, vint b)
{
	__asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
	return sum;
}

SIMD_INLINE vint vi_as_unsigned(vint w)
{
	return _mm512_xor_si512(w, _mm512_set1_epi8(-128));
}

SIMD_INLINE vint vi_dot_in_place(vint sum, vint u, vint s)
{
	__asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(u), "v"(s));
	return sum;
}

SIMD_INLINE void vi_store_eight(uint16_t *to, const char *const from[8], size_t offset)
{
#define SIMD_HALF(i) (*(const half_anywhere *)(const void *)(from[i] + offset))
	__m128i v = _mm_cvtsi32_si128(SIMD_HALF(0));
	v = _mm_insert_epi16(v, SIMD_HALF(1), 1);
	v = _mm_insert_epi16(v, SIMD_HALF(2), 2);
	v = _mm_insert_epi16(v, SIMD_HALF(3), 3);
	v = _mm_insert_epi16(v, SIMD_HALF(4), 4);
	v = _mm_insert_epi16(v, SIMD_HALF(5), 5);
	v = _mm_insert_epi16(v, SIMD_HALF(6), 6);
	v = _mm_insert_epi16(v, SIMD_HALF(7), 7);
#undef SIMD_HALF
	_mm_storeu_si128((__m128i_u *)(void *)to, v);
}

SIMD_INLINE void vi_eight_words(const uint8_t *const row[LANES], size_t offset, vint out[8])
{
	/* Rows I and I + 4 in halves: of quarters, four words of four rows, even ones have words 0 to 3. */
	vint v[8];
	SIMD_FOR (int i = 0; i < 8; i++) {
		const uint8_t *from = row[i % 4 + i / 4 * 8] + offset, *next = row[i % 4 + i / 4 * 8 + 4] + offset;
		v[i] = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i_u *)from));
		v[i] = _mm512_inserti64x4(v[i], _mm256_loadu_si256((const __m256i_u *)next), 1);
	}
	SIMD_FOR (int i = 0; i < 8; i += 4) {
		const vint a = _mm512_unpacklo_epi32(v[i], v[i + 1]), b = _mm512_unpackhi_epi32(v[i], v[i + 1]);
		const vint c = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]);
		const vint d = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
		v[i] = _mm512_unpacklo_epi64(a, c);
		v[i + 1] = _mm512_unpackhi_epi64(a, c);
		v[i + 2] = _mm512_unpacklo_epi64(b, d);
		v[i + 3] = _mm512_unpackhi_epi64(b, d);
	}
	SIMD_FOR (int i = 0; i < 4; i++) {
		out[i] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0x88);
		out[i + 4] = _mm512_shuffle_i32x4(v[i], v[i + 4], 0xdd);
	}
}

#if defined(__AVX512BF16__)
#define SIMD_HAS_BF16
SIMD_INLINE vfloat v_dot_bf16(vfloat sum, vint a, vint b)
{
	__asm__("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
	return sum;
}

SIMD_INLINE void v_round_bf16(uint16_t *to, vfloat value)
{
	_mm256_storeu_si256((__m256i_u *)(void *)to, (__m256i)_mm512_cvtneps_pbh(value));
}
#endif

#else

SIMD_OF_2(vint, vi_pairs, _mm512_maddubs_epi16)
SIMD_OF_2(vint, vi_add16, _mm512_add_epi16)

SIMD_INLINE vint vi_dot16(vint sum, vint a, vint b)
{
	return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
}

SIMD_INLINE vint vi_pairs16(vint a)
{
	return _mm512_madd_epi16(a, _mm512_set1_epi16(1));
}

SIMD_FROM(vint, vi_magnitude, vint, _mm512_abs_epi8)

SIMD_INLINE vint vi_signed_like(vint x, vint s)
{
	return _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(s), _mm512_setzero_si512(), x);
}

#endif
#endif
#endif
