/* SPDX-License-Identifier: MIT
 *
 * Moving values of the dense products, in the vector operations of rows_vec.h:
 * operands as stored to panels of f32, and sums to 16 bits.
 */
#ifndef TCB_KERNELS_MATMUL_MOVE_H
#define TCB_KERNELS_MATMUL_MOVE_H

#include "kernels/formats.h"
#include "kernels/matmul/matmul_cpu.h"
#include "kernels/rows/rows_vec.h"

#define MATMUL_UNROLL _Pragma("GCC unroll 32")

enum {
	MOVE_ROWS_MAX = 32, /* the tallest register tile */
	MOVE_STEPS = 16,    /* rows of B that are packed together: as many streams as prefetchers follow */
	MOVE_VECTORS_MAX = MOVE_ROWS_MAX / LANES,
};

#if defined(__AVX512F__)

ROWS_INLINE vec from_f16(const uint16_t *from)
{
	return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i_u *)from));
}
ROWS_INLINE vec from_bf16(const uint16_t *from)
{
	const __m256i half = _mm256_loadu_si256((const __m256i_u *)from);
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(half), 16));
}
ROWS_INLINE void to_f16(uint16_t *to, vec value)
{
	_mm256_storeu_si256((__m256i_u *)to, _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
/* Rounds to nearest even in integers, so that subnormal numbers stay; a NaN keeps its first bits and becomes quiet. */
ROWS_INLINE void to_bf16(uint16_t *to, vec value)
{
	const __m512i bits = _mm512_castps_si512(value), half = _mm512_srli_epi32(bits, 16);
	const __m512i odd = _mm512_and_si512(half, _mm512_set1_epi32(1));
	const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
	const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
	const __m512i rounded = _mm512_mask_or_epi32(_mm512_srli_epi32(up, 16), is_nan, half, _mm512_set1_epi32(0x40));
	_mm256_storeu_si256((__m256i_u *)to, _mm512_cvtepi32_epi16(rounded));
}

/* R[i][j] to R[j][i]: 32-bit pairs, 64-bit pairs, then quarters of vectors. */
ROWS_INLINE void transpose(vec r[LANES])
{
	vec t[LANES];
	MATMUL_UNROLL
	for (int i = 0; i < LANES; i += 2) {
		t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
	}
	MATMUL_UNROLL
	for (int i = 0; i < LANES; i += 4)
		MATMUL_UNROLL
	for (int j = 0; j < 2; j++) {
		const __m512d a = _mm512_castps_pd(t[i + j]), b = _mm512_castps_pd(t[i + j + 2]);
		r[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
		r[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
	}
	/* Now r[4 * q + j] has rows 4q to 4q + 3 of columns j, 4 + j, 8 + j and 12 + j in its quarters. */
	MATMUL_UNROLL
	for (int j = 0; j < 4; j++) {
		const vec a = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x44),
			  b = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xee);
		const vec c = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x44);
		const vec d = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xee);
		t[j] = _mm512_shuffle_f32x4(a, c, 0x88);
		t[4 + j] = _mm512_shuffle_f32x4(a, c, 0xdd);
		t[8 + j] = _mm512_shuffle_f32x4(b, d, 0x88);
		t[12 + j] = _mm512_shuffle_f32x4(b, d, 0xdd);
	}
	MATMUL_UNROLL
	for (int i = 0; i < LANES; i++)
		r[i] = t[i];
}

#elif defined(__AVX2__)

ROWS_INLINE vec from_f16(const uint16_t *from)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)from));
}
ROWS_INLINE vec from_bf16(const uint16_t *from)
{
	const __m128i half = _mm_loadu_si128((const __m128i_u *)from);
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
}
ROWS_INLINE void to_f16(uint16_t *to, vec value)
{
	_mm_storeu_si128((__m128i_u *)to, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
/* Rounds to nearest even in integers, so that subnormal numbers stay; a NaN keeps its first bits and becomes quiet. */
ROWS_INLINE void to_bf16(uint16_t *to, vec value)
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

/* R[i][j] to R[j][i]: 32-bit pairs, 64-bit pairs, then halves of vectors. */
ROWS_INLINE void transpose(vec r[LANES])
{
	vec t[LANES];
	MATMUL_UNROLL
	for (int i = 0; i < LANES; i += 2) {
		t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
	MATMUL_UNROLL
	for (int i = 0; i < LANES; i += 4)
		MATMUL_UNROLL
	for (int j = 0; j < 2; j++) {
		r[i + 2 * j] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0x44);
		r[i + 2 * j + 1] = _mm256_shuffle_ps(t[i + j], t[i + j + 2], 0xee);
	}
	MATMUL_UNROLL
	for (int j = 0; j < 4; j++) {
		t[j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x20);
		t[4 + j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x31);
	}
	MATMUL_UNROLL
	for (int i = 0; i < LANES; i++)
		r[i] = t[i];
}

#elif defined(__ARM_FEATURE_DOTPROD)

ROWS_INLINE vec from_f16(const uint16_t *from)
{
	return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
}
ROWS_INLINE vec from_bf16(const uint16_t *from)
{
	return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(from), 16));
}
ROWS_INLINE void to_f16(uint16_t *to, vec value)
{
	vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(value)));
}
/* Rounds to nearest even in integers, so that subnormal numbers stay; a NaN keeps its first bits and becomes quiet. */
ROWS_INLINE void to_bf16(uint16_t *to, vec value)
{
	const uint32x4_t bits = vreinterpretq_u32_f32(value), half = vshrq_n_u32(bits, 16);
	const uint32x4_t odd = vandq_u32(half, vdupq_n_u32(1));
	const uint32x4_t up = vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
	const uint32x4_t quiet = vorrq_u32(half, vdupq_n_u32(0x40));
	vst1_u16(to, vmovn_u32(vbslq_u32(vceqq_f32(value, value), vshrq_n_u32(up, 16), quiet)));
}

/* R[i][j] to R[j][i]: 32-bit pairs, then 64-bit pairs. */
ROWS_INLINE void transpose(vec r[LANES])
{
	const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(r[0], r[1]));
	const float64x2_t b = vreinterpretq_f64_f32(vtrn2q_f32(r[0], r[1]));
	const float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(r[2], r[3]));
	const float64x2_t d = vreinterpretq_f64_f32(vtrn2q_f32(r[2], r[3]));
	r[0] = vreinterpretq_f32_f64(vtrn1q_f64(a, c));
	r[1] = vreinterpretq_f32_f64(vtrn1q_f64(b, d));
	r[2] = vreinterpretq_f32_f64(vtrn2q_f64(a, c));
	r[3] = vreinterpretq_f32_f64(vtrn2q_f64(b, d));
}

#else

ROWS_INLINE vec from_f16(const uint16_t *from)
{
	return tcb_f16_to_f32(*from);
}
ROWS_INLINE vec from_bf16(const uint16_t *from)
{
	return tcb_bf16_to_f32(*from);
}
ROWS_INLINE void to_f16(uint16_t *to, vec value)
{
	*to = tcb_f32_to_f16(value);
}
ROWS_INLINE void to_bf16(uint16_t *to, vec value)
{
	*to = tcb_f32_to_bf16(value);
}
ROWS_INLINE void transpose(vec r[LANES])
{
	(void)r;
}

#endif

/* LANES values of TYPE. */
ROWS_INLINE vec load_as(const enum matmul_type type, const void *from)
{
	return type == MATMUL_F32 ? v_load(from) : type == MATMUL_F16 ? from_f16(from) : from_bf16(from);
}

/* COUNT < LANES values of TYPE, then zeros. */
ROWS_INLINE vec load_part_as(const enum matmul_type type, const void *from, size_t count)
{
	uint16_t half[LANES] = { 0 };
	if (type == MATMUL_F32)
		return v_load_part(from, count, 0);
	memcpy(half, from, count * sizeof(*half));
	return load_as(type, half);
}

/* At most LANES of the LEFT values at FROM, then zeros. */
ROWS_INLINE vec load_left_as(const enum matmul_type type, const void *from, size_t left)
{
	return left >= LANES ? load_as(type, from) : left ? load_part_as(type, from, left) : v_set(0);
}

ROWS_INLINE void store_half(const enum matmul_type type, uint16_t *to, vec value)
{
	if (type == MATMUL_F16)
		to_f16(to, value);
	else
		to_bf16(to, value);
}

ROWS_INLINE const char *part_row(const struct matmul_part *part, const enum matmul_type type, size_t row)
{
	return (const char *)part->first + row * part->stride * matmul_type_bytes(type);
}

/*
 * One panel of A: ROWS of its WIDE rows, the rest zeros.  LANES steps at a time are transposed in registers.  Whole
 * vectors are stored in the order of their addresses: what one has too many, the next one overwrites.
 */
ROWS_INLINE void pack_panel_a(const struct matmul_part *part, const enum matmul_type type, size_t first, size_t wide,
			      float *out)
{
	const size_t each = matmul_type_bytes(type), rows = part->rows - first;
	const size_t groups = (wide + LANES - 1) / LANES;
	for (size_t k = 0; k < part->count; k += LANES) {
		const size_t left = part->count - k, steps = left < LANES ? left : LANES;
		vec r[MOVE_VECTORS_MAX][LANES];
		for (size_t g = 0; g < groups; g++) {
			for (size_t i = 0; i < LANES; i++)
				r[g][i] = g * LANES + i < wide && g * LANES + i < rows
						  ? load_left_as(type,
								 part_row(part, type, first + g * LANES + i) + k * each,
								 left)
						  : v_set(0);
			transpose(r[g]);
		}
		for (size_t s = 0; s < steps; s++)
			for (size_t g = 0; g < groups; g++)
				v_store(out + (k + s) * wide + g * LANES, r[g][s]);
	}
}

ROWS_INLINE void pack_a_as(const struct matmul_part *part, const enum matmul_type type, size_t wide, float *out)
{
	for (size_t first = 0; first < part->rows; first += wide, out += wide * part->count)
		pack_panel_a(part, type, first, wide, out);
}

static void pack_a(const struct matmul_part *part, size_t wide, float *out)
{
	if (part->type == MATMUL_F32)
		pack_a_as(part, MATMUL_F32, wide, out);
	else if (part->type == MATMUL_F16)
		pack_a_as(part, MATMUL_F16, wide, out);
	else
		pack_a_as(part, MATMUL_BF16, wide, out);
}

/* MOVE_STEPS rows go through all panels before the next ones: B is read along its rows, panels are written in runs. */
ROWS_INLINE void pack_b_as(const struct matmul_part *part, const enum matmul_type type, size_t wide, size_t prefetch,
			   float *out)
{
	const size_t each = matmul_type_bytes(type), vectors = wide / LANES;
	for (size_t k = 0; k < part->rows; k += MOVE_STEPS) {
		const size_t end = k + MOVE_STEPS < part->rows ? k + MOVE_STEPS : part->rows;
		for (size_t j = 0; j < part->count; j += wide)
			for (size_t s = k; s < end; s++) {
				const char *from = part_row(part, type, s) + j * each;
				float *to = out + j * part->rows + s * wide;
				for (size_t at = 0; prefetch && at < wide * each; at += MATMUL_LINE)
					__builtin_prefetch((const void *)((uintptr_t)from + at + prefetch), 0, 3);
				for (size_t v = 0; v < vectors; v++)
					v_store(to + v * LANES, load_left_as(type, from + v * LANES * each,
									     left_of(part->count, j + v * LANES)));
			}
	}
}

static void pack_b(const struct matmul_part *part, size_t wide, size_t prefetch, float *out)
{
	if (part->type == MATMUL_F32)
		pack_b_as(part, MATMUL_F32, wide, prefetch, out);
	else if (part->type == MATMUL_F16)
		pack_b_as(part, MATMUL_F16, wide, prefetch, out);
	else
		pack_b_as(part, MATMUL_BF16, wide, prefetch, out);
}

ROWS_INLINE void narrow_as(const enum matmul_type type, const float *sums, size_t count, uint16_t *out)
{
	size_t i = 0;
	for (; i + LANES <= count; i += LANES)
		store_half(type, out + i, v_load(sums + i));
	if (i < count) {
		uint16_t half[LANES];
		store_half(type, half, v_load_part(sums + i, count - i, 0));
		memcpy(out + i, half, (count - i) * sizeof(*half));
	}
}

static void narrow(enum matmul_type type, const float *sums, size_t count, void *out)
{
	if (type == MATMUL_F16)
		narrow_as(MATMUL_F16, sums, count, out);
	else
		narrow_as(MATMUL_BF16, sums, count, out);
}

#endif
