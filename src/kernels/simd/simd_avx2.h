/* SPDX-License-Identifier: MIT
 *
 * The vocabulary of simd.h in 256-bit vectors: AVX2, FMA and F16C.  Empty for a
 * file that is not compiled for them.
 */
#ifndef TCB_KERNELS_SIMD_AVX2_H
#define TCB_KERNELS_SIMD_AVX2_H

#include "kernels/simd/simd_inline.h"

#if defined(__AVX2__) && !defined(__AVX512BW__)
#include <immintrin.h>

#define SIMD_ISA avx2
#define SIMD_ID AVX2
#define SIMD_HAS_BYTES
#define LANES 8
typedef __m256 vfloat;
typedef __m256i vint;
typedef __m256i vmask;
typedef __m256 vflag;

/* --- floats --- */

SIMD_FROM(vfloat, v_set, float, _mm256_set1_ps)

SIMD_INLINE vfloat v_load(const float *from)
{
	return _mm256_loadu_ps(from);
}

SIMD_INLINE void v_store(float *to, vfloat value)
{
	_mm256_storeu_ps(to, value);
}

SIMD_INLINE void v_stream(float *to, vfloat value)
{
	_mm256_stream_ps(to, value);
}

SIMD_INLINE vmask part_mask(size_t count)
{
	return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

SIMD_INLINE vmask v_first(size_t count)
{
	return part_mask(count > LANES ? LANES : count);
}

SIMD_INLINE vfloat v_load_first(const float *from, vmask first)
{
	return _mm256_maskload_ps(from, first);
}

SIMD_INLINE void v_store_first(float *to, vfloat value, vmask first)
{
	_mm256_maskstore_ps(to, first, value);
}

SIMD_INLINE vfloat v_load_part(const float *from, size_t count, float fill)
{
	const vmask part = part_mask(count);
	return _mm256_blendv_ps(v_set(fill), _mm256_maskload_ps(from, part), _mm256_castsi256_ps(part));
}

SIMD_INLINE void v_store_part(float *to, vfloat value, size_t count)
{
	v_store_first(to, value, part_mask(count));
}

SIMD_INLINE vfloat v_part(vfloat value, size_t count)
{
	return _mm256_and_ps(value, _mm256_castsi256_ps(part_mask(count)));
}

SIMD_OF_2(vfloat, v_add, _mm256_add_ps)
SIMD_OF_2(vfloat, v_sub, _mm256_sub_ps)
SIMD_OF_2(vfloat, v_mul, _mm256_mul_ps)
SIMD_OF_3(vfloat, v_fma, _mm256_fmadd_ps)
SIMD_OF_3(vfloat, v_fms, _mm256_fmsub_ps)
SIMD_OF_3(vfloat, v_fnma, _mm256_fnmadd_ps)
SIMD_OF_2(vfloat, v_max, _mm256_max_ps)

/* SUM of a b, in place: where sums are most of the registers, compilers that choose between the forms of this
 * instruction move sums between them and run out. */
SIMD_INLINE vfloat v_fma_into(vfloat sum, vfloat a, vfloat b)
{
	__asm__("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
	return sum;
}

/* Of equal values only +0 and -0 differ, in the sign bit, and the two orders of the operands give both of them. */
SIMD_INLINE vfloat v_maximum(vfloat a, vfloat b)
{
	return _mm256_and_ps(_mm256_max_ps(a, b), _mm256_max_ps(b, a));
}

SIMD_INLINE vfloat v_minimum(vfloat a, vfloat b)
{
	return _mm256_or_ps(_mm256_min_ps(a, b), _mm256_min_ps(b, a));
}

SIMD_INLINE vfloat v_round(vfloat v)
{
	return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

SIMD_INLINE vfloat v_power2(vfloat n)
{
	const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
	return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
}

SIMD_INLINE int v_any_above(vfloat a, vfloat b)
{
	return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)) != 0;
}

SIMD_INLINE vflag v_unordered(vfloat a, vfloat b)
{
	return _mm256_cmp_ps(a, b, _CMP_UNORD_Q);
}

SIMD_INLINE vflag v_no_flag(void)
{
	return _mm256_setzero_ps();
}

SIMD_OF_2(vflag, v_either, _mm256_or_ps)

SIMD_INLINE int v_is_set(vflag a)
{
	return _mm256_movemask_ps(a) != 0;
}

SIMD_INLINE float v_reduce_add(vfloat value)
{
	const __m128 four = _mm_add_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
	const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

SIMD_INLINE float v_reduce_max(vfloat value)
{
	const __m128 four = _mm_max_ps(_mm256_castps256_ps128(value), _mm256_extractf128_ps(value, 1));
	const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

SIMD_INLINE vfloat v_from_f16(const void *from)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)from));
}

SIMD_INLINE vfloat v_from_bf16(const uint16_t *from)
{
	const __m128i half = _mm_loadu_si128((const __m128i_u *)from);
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}

SIMD_INLINE vfloat v_set_f16(const void *from)
{
	uint16_t half;
	memcpy(&half, from, sizeof(half));
	return _mm256_cvtph_ps(_mm_set1_epi16((int16_t)half));
}

SIMD_INLINE vfloat v_from_bytes(const int8_t *from)
{
	return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i_u *)from)));
}

/* Seven bits up they are halves; processors take subnormal halves as fast as others. */
SIMD_INLINE vfloat v_from_e4m3(const uint8_t *from)
{
	const __m128i wide = _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i_u *)from));
	return _mm256_cvtph_ps(_mm_and_si128(_mm_slli_epi16(wide, 7), _mm_set1_epi16((int16_t)0xbf80)));
}

SIMD_INLINE void v_to_f16(uint16_t *to, vfloat value)
{
	_mm_storeu_si128((__m128i_u *)to, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

SIMD_INLINE void v_to_bf16(uint16_t *to, vfloat value)
{
	const __m256i bits = _mm256_castps_si256(value), half = _mm256_srli_epi32(bits, 16);
	const __m256i odd = _mm256_and_si256(half, _mm256_set1_epi32(1));
	const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
	const __m256i quiet = _mm256_or_si256(half, _mm256_set1_epi32(0x40));
	const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
	const __m256i rounded = _mm256_blendv_epi8(_mm256_srli_epi32(up, 16), quiet, is_nan);
	_mm_storeu_si128((__m128i_u *)to,
			 _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1)));
}

/* 32-bit pairs, 64-bit pairs, then halves of vectors. */
SIMD_INLINE void v_transpose(vfloat r[LANES])
{
	vfloat t[LANES];
	SIMD_FOR (int i = 0; i < LANES; i += 2) {
		t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
	SIMD_FOR (int i = 0; i < LANES; i += 4)
		SIMD_FOR (int j = 0; j < 2; j++) {
			r[i + 2 * j] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0x44);
			r[i + 2 * j + 1] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0xee);
		}
	SIMD_FOR (int j = 0; j < 4; j++) {
		t[j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x20);
		t[4 + j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x31);
	}
	SIMD_FOR (int i = 0; i < LANES; i++)
		r[i] = t[i];
}

/* Pairs of words, of 64 bits and of 128 bits are taken together as they come. */
#define SIMD_REDUCE_EACH(name, both)                                                                   \
	SIMD_INLINE vfloat name(const vfloat r[LANES])                                                 \
	{                                                                                              \
		vfloat four[2];                                                                        \
		SIMD_FOR (int i = 0; i < 2; i++) {                                                     \
			const vfloat *a = r + 4 * i;                                                   \
			const __m256d low = _mm256_castps_pd(                                          \
				both(_mm256_unpacklo_ps(a[0], a[1]), _mm256_unpackhi_ps(a[0], a[1]))); \
			const __m256d high = _mm256_castps_pd(                                         \
				both(_mm256_unpacklo_ps(a[2], a[3]), _mm256_unpackhi_ps(a[2], a[3]))); \
			four[i] = both(_mm256_castpd_ps(_mm256_unpacklo_pd(low, high)),                \
				       _mm256_castpd_ps(_mm256_unpackhi_pd(low, high)));               \
		}                                                                                      \
		return both(_mm256_permute2f128_ps(four[0], four[1], 0x20),                            \
			    _mm256_permute2f128_ps(four[0], four[1], 0x31));                           \
	}
SIMD_REDUCE_EACH(v_reduce_each, _mm256_add_ps)
SIMD_REDUCE_EACH(v_reduce_each_max, _mm256_max_ps)
#undef SIMD_REDUCE_EACH

/* Of four vectors, each in v_reduce_each's order. */
SIMD_INLINE void v_reduce_four(const vfloat r[4], float out[4])
{
	const __m256d low = _mm256_castps_pd(v_add(_mm256_unpacklo_ps(r[0], r[1]), _mm256_unpackhi_ps(r[0], r[1])));
	const __m256d high = _mm256_castps_pd(v_add(_mm256_unpacklo_ps(r[2], r[3]), _mm256_unpackhi_ps(r[2], r[3])));
	const vfloat four =
		v_add(_mm256_castpd_ps(_mm256_unpacklo_pd(low, high)), _mm256_castpd_ps(_mm256_unpackhi_pd(low, high)));
	_mm_storeu_ps(out, _mm_add_ps(_mm256_castps256_ps128(four), _mm256_extractf128_ps(four, 1)));
}

/* --- words and bytes --- */

SIMD_INLINE vint vi_load(const void *from)
{
	return _mm256_loadu_si256((const __m256i_u *)from);
}

SIMD_INLINE void vi_store(void *to, vint v)
{
	_mm256_storeu_si256((__m256i_u *)to, v);
}

SIMD_INLINE vint vi_zero(void)
{
	return _mm256_setzero_si256();
}

SIMD_INLINE vint vi_bytes(int byte)
{
	return _mm256_set1_epi8((char)byte);
}

SIMD_FROM(vint, vi_words, int32_t, _mm256_set1_epi32)

SIMD_INLINE vint vi_first_word(int32_t word)
{
	return _mm256_zextsi128_si256(_mm_cvtsi32_si128(word));
}

SIMD_OF_2(vint, vi_and, _mm256_and_si256)
SIMD_OF_2(vint, vi_xor, _mm256_xor_si256)

SIMD_INLINE vint vi_merge(vint a, vint b, vint mask)
{
	return _mm256_or_si256(a, _mm256_and_si256(b, mask));
}

SIMD_OF_2(vint, vi_add, _mm256_add_epi32)
SIMD_OF_2(vint, vi_sub, _mm256_sub_epi32)

SIMD_INLINE vint vi_shift_right(vint v, int bits)
{
	return _mm256_srli_epi32(v, bits);
}

SIMD_INLINE vint vi_shift_left(vint v, int bits)
{
	return _mm256_slli_epi32(v, bits);
}

SIMD_INLINE vint vi_unsigned_byte(vint v, int index)
{
	const vint low = _mm256_srli_epi32(v, 8 * index);
	return index == 3 ? low : _mm256_and_si256(low, _mm256_set1_epi32(255));
}

SIMD_INLINE vint vi_signed_byte(vint v, int index)
{
	return _mm256_srai_epi32(_mm256_slli_epi32(v, 24 - 8 * index), 24);
}

SIMD_INLINE vint vi_add_where(vint v, int value, vint bits, int bit)
{
	const vint mask = vi_bytes(bit);
	return _mm256_add_epi8(v, vi_and(_mm256_cmpeq_epi8(vi_and(bits, mask), mask), vi_bytes(value)));
}

SIMD_INLINE vint vi_clear_where(vint v, int byte)
{
	return _mm256_andnot_si256(_mm256_cmpeq_epi8(v, vi_bytes(byte)), v);
}

SIMD_INLINE vint vi_table16(const int8_t table[16])
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i_u *)table));
}

SIMD_OF_2(vint, vi_lookup16, _mm256_shuffle_epi8)
SIMD_FROM(vfloat, v_from_bits, vint, _mm256_castsi256_ps)
SIMD_FROM(vfloat, v_from_words, vint, _mm256_cvtepi32_ps)

SIMD_INLINE vfloat v_from_halves(vint v, int index)
{
	/* All low halves, then all high ones: where both are asked for this is done once. */
	const __m128i apart = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
	const vint lanes = _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(apart));
	const vint halves = _mm256_permute4x64_epi64(lanes, 0xd8);
	return _mm256_cvtph_ps(index ? _mm256_extracti128_si256(halves, 1) : _mm256_castsi256_si128(halves));
}

SIMD_INLINE void vi_four_words(const uint8_t *const row[LANES], size_t offset, vint out[4])
{
	vint v[4];
	SIMD_FOR (int i = 0; i < 4; i++) {
		v[i] = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i_u *)(row[i] + offset)));
		v[i] = _mm256_inserti128_si256(v[i], _mm_loadu_si128((const __m128i_u *)(row[4 + i] + offset)), 1);
	}
	const vint a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]);
	const vint c = _mm256_unpacklo_epi32(v[2], v[3]), d = _mm256_unpackhi_epi32(v[2], v[3]);
	out[0] = _mm256_unpacklo_epi64(a, c);
	out[1] = _mm256_unpackhi_epi64(a, c);
	out[2] = _mm256_unpacklo_epi64(b, d);
	out[3] = _mm256_unpackhi_epi64(b, d);
}

/* --- byte products --- */

SIMD_OF_2(vint, vi_pairs, _mm256_maddubs_epi16)
SIMD_OF_2(vint, vi_add16, _mm256_add_epi16)

SIMD_INLINE vint vi_pairs16(vint a)
{
	return _mm256_madd_epi16(a, _mm256_set1_epi16(1));
}

SIMD_FROM(vint, vi_magnitude, vint, _mm256_abs_epi8)
SIMD_OF_2(vint, vi_signed_like, _mm256_sign_epi8)

/* --- halves --- */

#define SIMD_HAS_HALF_PRODUCTS
SIMD_OF_2(vfloat, v_div, _mm256_div_ps)
SIMD_FROM(vint, vi_to_words, vfloat, _mm256_cvtps_epi32)

SIMD_INLINE vfloat v_abs(vfloat v)
{
	return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), v);
}

SIMD_INLINE void vi_halves_of_words(vint v, vint out[2])
{
	out[0] = _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8);
	out[1] = _mm256_srai_epi16(v, 8);
}

SIMD_INLINE void vi_halves_of_nibbles(vint v, vint out[4])
{
	const vint low = _mm256_set1_epi16(15);
	out[0] = _mm256_and_si256(v, low);
	out[1] = _mm256_and_si256(_mm256_srli_epi16(v, 8), low);
	out[2] = _mm256_and_si256(_mm256_srli_epi16(v, 4), low);
	out[3] = _mm256_srli_epi16(v, 12);
}

SIMD_INLINE void vi_byte_pairs(const int8_t *a, const int8_t *b, vint out[2])
{
	const __m128i first = _mm_loadu_si128((const __m128i_u *)a), second = _mm_loadu_si128((const __m128i_u *)b);
	out[0] = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(first, second));
	out[1] = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(first, second));
}

SIMD_INLINE void vi_eight_nibble_pairs(const uint8_t *a, const uint8_t *b, vint out[2])
{
	const __m128i first = _mm_loadl_epi64((const __m128i_u *)a), second = _mm_loadl_epi64((const __m128i_u *)b);
	const vint wide = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(first, second)), centre = _mm256_set1_epi16(8);
	out[0] = _mm256_sub_epi16(_mm256_and_si256(wide, _mm256_set1_epi16(15)), centre);
	out[1] = _mm256_sub_epi16(_mm256_srli_epi16(wide, 4), centre);
}

SIMD_INLINE void vi_store_halves(int16_t *to, vint v)
{
	_mm_storeu_si128((__m128i_u *)to, _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
}

SIMD_OF_2(vint, vi_products16, _mm256_madd_epi16)

/* In place, as v_fma_into. */
SIMD_INLINE vint vi_dot16(vint sum, vint a, vint b)
{
	__asm__("vpaddd %1, %0, %0" : "+x"(sum) : "x"(vi_products16(a, b)));
	return sum;
}

typedef uint16_t half_anywhere __attribute__((aligned(1), may_alias));
SIMD_INLINE void vi_store_eight(uint16_t *to, const char *const from[8], size_t offset)
{
	__m128i v = _mm_setzero_si128();
#define SIMD_HALF(i) (*(const half_anywhere *)(const void *)(from[i] + offset))
	v = _mm_insert_epi16(v, SIMD_HALF(0), 0);
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

#endif
#endif
