/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels on rows as stored, one for all formats, generic over vector
 * width.  FORMAT is a constant after inlining.  In: superblocks of 256 values
 * of ROWS rows, prepared activations.  Out: f32 sums.
 *
 * A superblock's codes come out in the order of k, VECTOR_BYTES at a time, four
 * to a lane.  Contract q8: a lane's four products are added exactly, turned into
 * a float and multiplied with the scale of the lane's run (d of the activations
 * included).  Contract f32: the four codes of a lane become floats one after the
 * other, and the sum of their products is multiplied with the run's scale.
 * Offsets, and what codes without a sign are too large by (f32), are taken off
 * with the sums of the activations' runs.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_NATIVE_H
#define TCB_KERNELS_QUANT_MATVEC_NATIVE_H

#include <assert.h>

#include "kernels/quant_matvec/quant_matvec_micro.h"
#include "kernels/quant_vectors.h"
#include "kernels/simd/simd.h"

#ifdef SIMD_HAS_BYTES

enum {
	NATIVE_ROWS_MAX = 8,
	VECTORS = QMV_SUPER / VECTOR_BYTES,
	SUPER_BYTES_MAX = 1024,
	CHAINS = VECTORS > 8 ? 2 : 1, /* of sums in a superblock: no addition waits for more than eight others */
};

/* Runs are of 16 values, not 32. */
SIMD_INLINE int has_short_runs(enum tcb_format_id format)
{
	return tcb_format_row(format)->run_values == 16;
}

/* Scales of the runs of a superblock: runs 0 to 7, then runs 8 to 15 or the offsets of runs 0 to 7. */
struct heads {
#if defined(__AVX512BW__)
	__m512 all;
#elif defined(__AVX2__)
	__m256 low, high;
#else
	float32x4_t four[4];
#endif
};

#if defined(__AVX2__)

SIMD_INLINE __m256 eight_halves(const uint8_t *p, size_t stride)
{
	uint16_t half[8];
	SIMD_FOR (int i = 0; i < 8; i++)
		memcpy(&half[i], p + (size_t)i * stride, 2);
	const __m128i v = _mm_setr_epi16((short)half[0], (short)half[1], (short)half[2], (short)half[3], (short)half[4],
					 (short)half[5], (short)half[6], (short)half[7]);
	return _mm256_cvtph_ps(v);
}

/* The eight 6-bit scales, then the eight mins of a K-quant's header (d, dmin, 12 bytes), as bytes. */
SIMD_INLINE __m128i k_scales(const uint8_t *p)
{
	const __m128i h = _mm_loadu_si128((const __m128i *)p);
	const __m128i low_order = _mm_setr_epi8(4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15);
	const __m128i high_order = _mm_setr_epi8(-1, -1, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1, 8, 9, 10, 11);
	const __m128i low_mask = _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f);
	const __m128i low = _mm_srlv_epi32(_mm_shuffle_epi8(h, low_order), _mm_setr_epi32(0, 0, 0, 4));
	const __m128i high = _mm_srli_epi16(_mm_shuffle_epi8(h, high_order), 2);
	return _mm_or_si128(_mm_and_si128(low, low_mask), _mm_and_si128(high, _mm_set1_epi8(0x30)));
}

SIMD_INLINE __m256 half_everywhere(const uint8_t *p)
{
	uint16_t half;
	memcpy(&half, p, sizeof(half));
	return _mm256_cvtph_ps(_mm_set1_epi16((short)half));
}
#endif

/* Where the 16 bytes of run R of 32 codes are (TCB_CODES_RUNS). */
SIMD_INLINE const uint8_t *run_at(const uint8_t *p, enum tcb_format_id format, int r)
{
	return p + tcb_format_row(format)->codes_at + (size_t)r * tcb_run_stride(format);
}

#if defined(__AVX2__)
/* A byte of each of eight blocks as powers of two. */
SIMD_INLINE __m256 eight_powers(const uint8_t *p, size_t stride)
{
	uint8_t e[8];
	SIMD_FOR (int i = 0; i < 8; i++)
		e[i] = p[(size_t)i * stride];
	const __m256i word = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)e));
	const __m256i half = _mm256_srli_epi32(word, 1), bias = _mm256_set1_epi32(63);
	const __m256i other = _mm256_sub_epi32(word, half);
	return _mm256_mul_ps(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23)),
			     _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(other, bias), 23)));
}

/* The eight scales of TCB_SCALES_SIX, with d. */
SIMD_INLINE __m256 eight_sixes(const uint8_t *p)
{
	uint32_t first, low;
	memcpy(&first, p, sizeof(first));
	memcpy(&low, p + 4, sizeof(low));
	const __m256i fours =
		_mm256_srlv_epi32(_mm256_set1_epi32((int)low), _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28));
	const __m256i twos =
		_mm256_srlv_epi32(_mm256_set1_epi32((int)first), _mm256_setr_epi32(12, 14, 16, 18, 20, 22, 24, 26));
	const __m256i six = _mm256_or_si256(_mm256_and_si256(fours, _mm256_set1_epi32(15)),
					    _mm256_and_si256(twos, _mm256_set1_epi32(0x30)));
	return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(six, _mm256_set1_epi32(32))), half_everywhere(p));
}
#endif

#if defined(__AVX512BW__)

SIMD_INLINE struct heads read_heads(const uint8_t *p, enum tcb_format_id format)
{
	struct heads out;
	if (scales_kind(format) == TCB_SCALES_HALF) {
		out.all = _mm512_zextps256_ps512(eight_halves(p, qmv_super_bytes(format) / 8));
	} else if (scales_kind(format) == TCB_SCALES_POWER) {
		out.all = _mm512_zextps256_ps512(eight_powers(p, qmv_super_bytes(format) / 8));
	} else if (scales_kind(format) == TCB_SCALES_SIX) {
		out.all = _mm512_zextps256_ps512(eight_sixes(p));
	} else if (scales_kind(format) == TCB_SCALES_BYTES) {
		const struct tcb_format *f = tcb_format_row(format);
		const __m512i sc = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(p + f->scales_at)));
		const __m256 d = half_everywhere(p + f->d_at);
		out.all = _mm512_mul_ps(_mm512_cvtepi32_ps(sc), _mm512_broadcastss_ps(_mm256_castps256_ps128(d)));
	} else {
		const __m256 d = half_everywhere(p), dmin = half_everywhere(p + 2);
		out.all = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(k_scales(p))),
					_mm512_insertf32x8(_mm512_castps256_ps512(d), dmin, 1));
	}
	return out;
}

SIMD_INLINE struct heads scaled(struct heads h, const float *d)
{
	h.all = _mm512_mul_ps(h.all, _mm512_loadu_ps(d));
	return h;
}

/* ACC less scales times SUMS. */
SIMD_INLINE vfloat take_off(struct heads h, const float *sums, vfloat acc)
{
	return _mm512_fnmadd_ps(h.all, _mm512_loadu_ps(sums), acc);
}

/* The scale of each lane's run in vector V of codes. */
SIMD_INLINE vfloat scales_of(struct heads h, enum tcb_format_id format, int v)
{
	const __m512i two = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
	const __m512i four = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
	if (has_short_runs(format))
		return _mm512_permutexvar_ps(_mm512_add_epi32(four, _mm512_set1_epi32(4 * v)), h.all);
	return _mm512_permutexvar_ps(_mm512_add_epi32(two, _mm512_set1_epi32(2 * v)), h.all);
}

/* 16 or 32 bytes, in each half of a vector. */
SIMD_INLINE __m512i two_times_32(const uint8_t *p)
{
	return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)p));
}

/* Bits LOW on of each byte of the lower half, HIGH on of the upper one, as bits TO on; others are rubbish. */
SIMD_INLINE __m512i move_bits(__m512i v, int low, int high, int to)
{
	const __m512i bits =
		_mm512_inserti64x4(_mm512_set1_epi32((to - low) & 31), _mm256_set1_epi32((to - high) & 31), 1);
	return _mm512_rolv_epi32(v, bits);
}

/* Codes 64 V to 64 V + 63 of a superblock: + centre, but bytes as they are. */
SIMD_INLINE vint codes_of(const uint8_t *p, enum tcb_format_id format, int v)
{
	const vint nibble = vi_bytes(15);
	if (codes_kind(format) == TCB_CODES_BYTES) {
		const int block = (int)tcb_format_row(format)->block_bytes;
		const uint8_t *first = p + 2 * block * v + codes_at(format);
		return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)first)),
					  _mm256_loadu_si256((const __m256i *)(first + block)), 1);
	}
	if (codes_kind(format) == TCB_CODES_RUNS) {
		const __m128i *first = (const __m128i *)run_at(p, format, 2 * v);
		const __m128i *second = (const __m128i *)run_at(p, format, 2 * v + 1);
		const __m256i a = _mm256_broadcastsi128_si256(_mm_loadu_si128(first));
		const __m256i b = _mm256_broadcastsi128_si256(_mm_loadu_si128(second));
		const __m512i bits = _mm512_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4, 0, 0, 0, 0, 4, 4, 4, 4);
		const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
		return quant_nibble_codes(vi_and(_mm512_srlv_epi32(both, bits), nibble), format);
	}
	if (codes_kind(format) == TCB_CODES_PAIRS) {
		const vint low = vi_and(move_bits(two_times_32(p + codes_at(format) + 32 * v), 0, 4, 0), nibble);
		return has_high_bits(format)
			       ? vi_merge(low, move_bits(two_times_32(p + high_at(format)), 2 * v, 2 * v + 1, 4),
					  vi_bytes(16))
			       : low;
	}
	const vint low = vi_load(p + codes_at(format) + 64 * (v / 2));
	const vint high = two_times_32(p + high_at(format) + 32 * (v / 2));
	return vi_merge(vi_and(v % 2 ? vi_shift_right(low, 4) : low, nibble),
			move_bits(high, v % 2 ? 4 : 0, v % 2 ? 6 : 2, 4), vi_bytes(0x30));
}

#elif defined(__AVX2__)

SIMD_INLINE struct heads read_heads(const uint8_t *p, enum tcb_format_id format)
{
	struct heads out = { _mm256_setzero_ps(), _mm256_setzero_ps() };
	if (scales_kind(format) == TCB_SCALES_HALF) {
		out.low = eight_halves(p, qmv_super_bytes(format) / 8);
		return out;
	}
	if (scales_kind(format) == TCB_SCALES_POWER || scales_kind(format) == TCB_SCALES_SIX) {
		out.low = scales_kind(format) == TCB_SCALES_SIX ? eight_sixes(p)
								: eight_powers(p, qmv_super_bytes(format) / 8);
		return out;
	}
	const struct tcb_format *f = tcb_format_row(format);
	const int are_bytes = scales_kind(format) == TCB_SCALES_BYTES;
	const __m128i sc = are_bytes ? _mm_loadu_si128((const __m128i *)(p + f->scales_at)) : k_scales(p);
	const __m256 d = half_everywhere(are_bytes ? p + f->d_at : p), dmin = are_bytes ? d : half_everywhere(p + 2);
	/* The scales and mins of 6 bits are the same with a sign. */
	out.low = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(sc)), d);
	out.high = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_unpackhi_epi64(sc, sc))), dmin);
	return out;
}

SIMD_INLINE struct heads scaled(struct heads h, const float *d)
{
	h.low = _mm256_mul_ps(h.low, _mm256_loadu_ps(d));
	h.high = _mm256_mul_ps(h.high, _mm256_loadu_ps(d + 8));
	return h;
}

SIMD_INLINE vfloat take_off(struct heads h, const float *sums, vfloat acc)
{
	acc = _mm256_fnmadd_ps(h.low, _mm256_loadu_ps(sums), acc);
	return _mm256_fnmadd_ps(h.high, _mm256_loadu_ps(sums + 8), acc);
}

SIMD_INLINE vfloat scales_of(struct heads h, enum tcb_format_id format, int v)
{
	if (has_short_runs(format)) {
		const __m256i pair =
			_mm256_add_epi32(_mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1), _mm256_set1_epi32(2 * v % 8));
		return _mm256_permutevar8x32_ps(v < 4 ? h.low : h.high, pair);
	}
	return _mm256_permutevar8x32_ps(h.low, _mm256_set1_epi32(v));
}

/* Bits FROM on of each byte as bits TO on; others are rubbish. */
SIMD_INLINE __m256i move_bits(__m256i v, int from, int to)
{
	return from > to ? _mm256_srli_epi32(v, from - to) : _mm256_slli_epi32(v, to - from);
}

/* Codes 32 V to 32 V + 31. */
SIMD_INLINE vint codes_of(const uint8_t *p, enum tcb_format_id format, int v)
{
	const vint nibble = vi_bytes(15);
	if (codes_kind(format) == TCB_CODES_BYTES)
		return vi_load(p + (int)tcb_format_row(format)->block_bytes * v + codes_at(format));
	if (codes_kind(format) == TCB_CODES_RUNS) {
		const __m128i both = _mm_loadu_si128((const __m128i *)run_at(p, format, v));
		const __m256i a = _mm256_broadcastsi128_si256(both);
		const vint nibbles = vi_and(_mm256_srlv_epi32(a, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4)), nibble);
		return quant_nibble_codes(nibbles, format);
	}
	if (codes_kind(format) == TCB_CODES_PAIRS) {
		const vint low =
			vi_and(move_bits(vi_load(p + (codes_at(format) + 32 * (v / 2))), 4 * (v % 2), 0), nibble);
		if (!has_high_bits(format))
			return low;
		return vi_merge(low, move_bits(vi_load(p + high_at(format)), v, 4), vi_bytes(16));
	}
	const int half = v / 4, part = v % 4;
	const vint low = vi_load(p + codes_at(format) + 64 * half + 32 * (part % 2));
	return vi_merge(vi_and(move_bits(low, 4 * (part / 2), 0), nibble),
			move_bits(vi_load(p + high_at(format) + 32 * half), 2 * part, 4), vi_bytes(0x30));
}

#else

/* The eight 6-bit scales, then the eight mins of a K-quant's header (d, dmin, 12 bytes), as bytes. */
SIMD_INLINE uint8x16_t k_scales(const uint8_t *p)
{
	static const uint8_t low_order[16] = { 4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15 };
	static const uint8_t high_order[16] = { 255, 255, 255, 255, 4, 5, 6, 7, 255, 255, 255, 255, 8, 9, 10, 11 };
	static const int32_t shifts[4] = { 0, 0, 0, -4 };
	static const uint32_t masks[4] = { 0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f };
	const uint8x16_t h = vld1q_u8(p);
	const uint32x4_t low = vshlq_u32(vreinterpretq_u32_u8(vqtbl1q_u8(h, vld1q_u8(low_order))), vld1q_s32(shifts));
	const uint8x16_t high = vshrq_n_u8(vqtbl1q_u8(h, vld1q_u8(high_order)), 2); /* past the table: 0 */
	return vorrq_u8(vreinterpretq_u8_u32(vandq_u32(low, vld1q_u32(masks))), vandq_u8(high, vdupq_n_u8(0x30)));
}

/* FOUR from the 16 signed bytes SC, the lower eight times D, the upper ones times DMIN. */
SIMD_INLINE struct heads widen_heads(int8x16_t sc, float32x4_t d, float32x4_t dmin)
{
	const int16x8_t low = vmovl_s8(vget_low_s8(sc)), high = vmovl_high_s8(sc);
	struct heads out;
	out.four[0] = v_mul(v_from_words(vmovl_s16(vget_low_s16(low))), d);
	out.four[1] = v_mul(v_from_words(vmovl_high_s16(low)), d);
	out.four[2] = v_mul(v_from_words(vmovl_s16(vget_low_s16(high))), dmin);
	out.four[3] = v_mul(v_from_words(vmovl_high_s16(high)), dmin);
	return out;
}

SIMD_INLINE float32x4_t half_everywhere(const uint8_t *p)
{
	uint16_t half;
	memcpy(&half, p, sizeof(half));
	return vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half)));
}

SIMD_INLINE struct heads read_heads(const uint8_t *p, enum tcb_format_id format)
{
	struct heads out = { { v_set(0), v_set(0), v_set(0), v_set(0) } };
	if (scales_kind(format) == TCB_SCALES_HALF) {
		uint8_t halves[16];
		SIMD_FOR (size_t i = 0; i < 8; i++)
			memcpy(halves + 2 * i, p + i * (qmv_super_bytes(format) / 8), 2);
		out.four[0] = v_from_f16(halves);
		out.four[1] = v_from_f16(halves + 8);
		return out;
	}
	if (scales_kind(format) == TCB_SCALES_POWER || scales_kind(format) == TCB_SCALES_SIX) {
		const int is_six = scales_kind(format) == TCB_SCALES_SIX;
		int8_t six[8];
		float scale[8];
		if (is_six)
			tcb_six_scales(p + 2, six);
		SIMD_FOR (size_t i = 0; i < 8; i++)
			scale[i] = is_six ? (float)six[i] : tcb_power_scale(p[i * (qmv_super_bytes(format) / 8)]);
		out.four[0] = is_six ? v_mul(v_load(scale), half_everywhere(p)) : v_load(scale);
		out.four[1] = is_six ? v_mul(v_load(scale + 4), half_everywhere(p)) : v_load(scale + 4);
		return out;
	}
	if (scales_kind(format) == TCB_SCALES_BYTES) {
		const float32x4_t d = half_everywhere(p + tcb_format_row(format)->d_at);
		return widen_heads(vreinterpretq_s8_u8(vld1q_u8(p + tcb_format_row(format)->scales_at)), d, d);
	}
	/* Scales and mins of 6 bits are the same with a sign. */
	return widen_heads(vreinterpretq_s8_u8(k_scales(p)), half_everywhere(p), half_everywhere(p + 2));
}

SIMD_INLINE struct heads scaled(struct heads h, const float *d)
{
	SIMD_FOR (int i = 0; i < 4; i++)
		h.four[i] = v_mul(h.four[i], v_load(d + 4 * i));
	return h;
}

SIMD_INLINE vfloat take_off(struct heads h, const float *sums, vfloat acc)
{
	SIMD_FOR (int i = 0; i < 4; i++)
		acc = v_fnma(h.four[i], v_load(sums + 4 * i), acc);
	return acc;
}

SIMD_INLINE vfloat scales_of(struct heads h, enum tcb_format_id format, int v)
{
	const int run = has_short_runs(format) ? v : v / 2;
	return vdupq_n_f32(h.four[run / 4][run % 4]);
}

/* Bits FROM on of each byte as bits TO on; others are rubbish. */
SIMD_INLINE vint move_bits(vint v, int from, int to)
{
	return from > to ? vi_shift_right(v, from - to) : vi_shift_left(v, to - from);
}

/* Codes 16 V to 16 V + 15. */
SIMD_INLINE vint codes_of(const uint8_t *p, enum tcb_format_id format, int v)
{
	const vint nibble = vi_bytes(15);
	const uint8_t *codes = p + codes_at(format), *bits = p + high_at(format) + 16 * (v % 2);
	if (codes_kind(format) == TCB_CODES_BYTES)
		return vi_load(codes + (int)tcb_format_row(format)->block_bytes * (v / 2) + 16 * (v % 2));
	if (codes_kind(format) == TCB_CODES_RUNS)
		return quant_nibble_codes(vi_and(move_bits(vi_load(run_at(p, format, v / 2)), 4 * (v % 2), 0), nibble),
					  format);
	if (codes_kind(format) == TCB_CODES_PAIRS) {
		const int run = v / 2;
		const vint low =
			vi_and(move_bits(vi_load(codes + 32 * (run / 2) + 16 * (v % 2)), 4 * (run % 2), 0), nibble);
		return has_high_bits(format) ? vi_merge(low, move_bits(vi_load(bits), run, 4), vi_bytes(16)) : low;
	}
	const int half = v / 8, part = v % 8 / 2;
	const vint low = vi_load(codes + 64 * half + 32 * (part % 2) + 16 * (v % 2));
	return vi_merge(vi_and(move_bits(low, 4 * (part / 2), 0), nibble),
			move_bits(vi_load(bits + 32 * half), 2 * part, 4), vi_bytes(0x30));
}
#endif

SIMD_INLINE int has_small_blocks(enum tcb_format_id format)
{
	return tcb_format_row(format)->block_values < QMV_SUPER;
}

SIMD_INLINE int has_mins(enum tcb_format_id format)
{
	return tcb_format_row(format)->has_offsets;
}

/* How many vectors of codes are summed up before they are scaled. */
SIMD_INLINE int joined(enum tcb_format_id format)
{
	const int run = has_short_runs(format) ? 16 : 32;
	return run < VECTOR_BYTES ? 1 : run / VECTOR_BYTES;
}

/* The exact sums of vector V, and of the others of its run. */
SIMD_INLINE vint q8_sums(const uint8_t *p, enum tcb_format_id format, const struct qmv_x8 *x, int v)
{
	const int is_signed = tcb_has_signed_codes(format), each = joined(format);
	if (each == 1 && VECTOR_BYTES >= 32) { /* a start for each lane: vectors may hold several runs */
		const vint w = codes_of(p, format, v), q = vi_load(x->q + VECTOR_BYTES * v);
		const vint start = vi_load(x->start + LANES * v);
		return is_signed ? vi_dot_signed(vi_signed_start(start), w, q)
				 : vi_dot(has_mins(format) ? vi_zero() : start, w, q);
	}
	vint sum = is_signed || has_mins(format) ? vi_zero() : vi_first_word(x->run_start[v / each]);
	SIMD_FOR (int i = v; i < v + each; i++)
		sum = vi_dot(sum, codes_of(p, format, i), vi_load(x->q + VECTOR_BYTES * i));
	return sum;
}

SIMD_INLINE vfloat q8_super(const uint8_t *p, enum tcb_format_id format, const struct qmv_x8 *x, vfloat acc)
{
	const struct heads h = scaled(read_heads(p, format), x->d);
	vfloat sum[2] = { acc, v_set(0) };
	if (has_mins(format))
		sum[CHAINS - 1] = take_off(h, x->sums, sum[CHAINS - 1]);
	SIMD_FOR (int v = 0; v < VECTORS; v += joined(format)) {
		const int c = v / joined(format) % CHAINS;
		sum[c] = v_fma(v_from_words(q8_sums(p, format, x, v)), scales_of(h, format, v), sum[c]);
	}
	return CHAINS > 1 ? v_add(sum[0], sum[1]) : sum[0];
}

SIMD_INLINE vfloat f32_super(const uint8_t *p, enum tcb_format_id format, const struct qmv_x32 *x, vfloat acc)
{
	const struct heads h = read_heads(p, format);
	vfloat total[2] = { acc, v_set(0) };
	if (has_mins(format) || tcb_format_row(format)->centre)
		total[CHAINS - 1] = take_off(h, x->sums, total[CHAINS - 1]);
	SIMD_FOR (int v = 0; v < VECTORS; v++) {
		const vint w = codes_of(p, format, v);
		vfloat sum = v_set(0);
		SIMD_FOR (int b = 0; b < 4; b++) {
			const vfloat q = v_from_words(tcb_has_signed_codes(format) ? vi_signed_byte(w, b)
										   : vi_unsigned_byte(w, b));
			const vfloat xs = v_load(x->x + VECTOR_BYTES * v + LANES * b);
			sum = b ? v_fma(q, xs, sum) : v_mul(q, xs);
		}
		total[v % CHAINS] = v_fma(sum, scales_of(h, format, v), total[v % CHAINS]);
	}
	return CHAINS > 1 ? v_add(total[0], total[1]) : total[0];
}

SIMD_INLINE vfloat one_super(const uint8_t *p, enum tcb_format_id format, int q8, const void *x, size_t b, vfloat acc)
{
	if (q8)
		return q8_super(p, format, (const struct qmv_x8 *)x + b, acc);
	return f32_super(p, format, (const struct qmv_x32 *)x + b, acc);
}

/* ROWS rows as stored. */
SIMD_BODY void native_rows(const struct qmv_call *call, enum tcb_format_id format, int q8, int rows, int hint)
{
	const size_t bytes = qmv_super_bytes(format), whole = call->values / QMV_SUPER;
	const struct qmv_stages stages = qmv_stages(call, bytes);
	const uint8_t *row[NATIVE_ROWS_MAX];
	vfloat acc[NATIVE_ROWS_MAX];
	assert(call->rows <= (size_t)rows);
	SIMD_FOR (int r = 0; r < rows; r++) {
		/* Rows past the edge compute the last one again; nothing outside the weights is read. */
		const size_t at = (size_t)r < call->rows ? (size_t)r : call->rows - 1;
		row[r] = call->weights + at * call->row_bytes;
		acc[r] = v_set(0);
	}
	for (size_t b = 0; b < whole; b++) {
		const struct qmv_offsets ahead = qmv_offsets(&stages, b);
		SIMD_FOR (int r = 0; r < rows; r++) {
			qmv_prefetch_lines(row[r], (bytes + QMV_LINE - 1) / QMV_LINE, ahead, hint);
			acc[r] = one_super(row[r], format, q8, call->x, b, acc[r]);
			row[r] += bytes;
		}
	}
	if (has_small_blocks(format) && whole < call->blocks) { /* what is left of the row, filled up with zeros */
		const size_t left = bytes * (call->values % QMV_SUPER) / QMV_SUPER;
		for (int r = 0; r < rows; r++) {
			uint8_t filled[SUPER_BYTES_MAX] = { 0 };
			memcpy(filled, row[r], left);
			acc[r] = one_super(filled, format, q8, call->x, whole, acc[r]);
		}
	}
	SIMD_FOR (int r = 0; r < rows; r++) {
		if ((size_t)r >= call->rows)
			break;
		const float value = v_reduce_add(acc[r]);
		call->y[r] = call->accumulate ? call->y[r] + value : value;
	}
}

#endif
#endif
