/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of q4k_matvec, contract f32, AVX2 with FMA and F16C.  In:
 * blocks as stored, or interleaved groups of eight rows, and prepared
 * activations (struct q4k_x32).  Out: f32 results, bit-equal to q4k_exact()
 * and so to the AVX-512 kernels of the same layout.
 *
 * Each byte of a word comes to its low bits by loading from that byte on, is
 * masked and converted.  That reads up to three bytes of the next block, so
 * the last block of a call shifts instead.
 */
#include <assert.h>
#include <immintrin.h>
#include <string.h>

#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec_micro.h"

/* Eight words at P: FLOATS[4 h + b] are their codes in byte b, low nibble (h = 0) or high. */
SIMD_INLINE void codes_to_floats(const uint8_t *p, int last, __m256 floats[8])
{
	const __m256i mask = _mm256_set1_epi32(15);
	SIMD_FOR (int b = 0; b < 4; b++) {
		__m256i word = _mm256_loadu_si256((const __m256i *)(p + (last ? 0 : b)));
		if (last)
			word = _mm256_srli_epi32(word, 8 * b);
		floats[b] = _mm256_cvtepi32_ps(_mm256_and_si256(word, mask));
		floats[4 + b] = _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(word, 4), mask));
	}
}

/* Lanes i and i + 4, i and i + 2, i and i + 1. */
SIMD_INLINE float add_lanes(__m256 eight)
{
	__m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
	__m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

SIMD_INLINE __m256 half_at(const uint8_t *p)
{
	uint16_t half;
	memcpy(&half, p, sizeof(half));
	return _mm256_set1_ps(_cvtsh_ss(half));
}

/* The eight scales of a block times d, its eight mins times dmin, all exact. */
SIMD_INLINE void scale_floats(const uint8_t *block, float scale[8], __m256 *min)
{
	const __m128i header = _mm_loadu_si128((const __m128i *)block);
	const __m128i low_order = _mm_setr_epi8(4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15);
	const __m128i high_order = _mm_setr_epi8(-1, -1, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1, 8, 9, 10, 11);
	const __m128i low_mask = _mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f);
	__m128i low = _mm_srlv_epi32(_mm_shuffle_epi8(header, low_order), _mm_setr_epi32(0, 0, 0, 4));
	__m128i high = _mm_srli_epi16(_mm_shuffle_epi8(header, high_order), 2);
	__m128i bytes = _mm_or_si128(_mm_and_si128(low, low_mask), _mm_and_si128(high, _mm_set1_epi8(0x30)));
	const __m256i mins = _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8));
	_mm256_store_ps(scale, _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), half_at(block)));
	*min = _mm256_mul_ps(_mm256_cvtepi32_ps(mins), half_at(block + 2));
}

/* One block of one row: lanes 8 p + w of the order that native_block of the AVX-512 kernels has, in acc[p]. */
SIMD_INLINE void native_block(const uint8_t *p, const struct q4k_x32 *x, int last, __m256 acc[2])
{
	_Alignas(32) float scale[8];
	__m256 min;
	scale_floats(p, scale, &min);
	acc[1] = _mm256_fnmadd_ps(min, _mm256_load_ps(x->sums), acc[1]);
	SIMD_FOR (int run = 0; run < 4; run++) {
		const float *xr = x->x + 128 * (run / 2) + 8 * (run % 2);
		__m256 q[8];
		codes_to_floats(p + 16 + 32 * run, last && run == 3, q);
		__m256 low = _mm256_mul_ps(q[0], _mm256_load_ps(xr)),
		       high = _mm256_mul_ps(q[4], _mm256_load_ps(xr + 64));
		SIMD_FOR (int b = 1; b < 4; b++) {
			low = _mm256_fmadd_ps(q[b], _mm256_load_ps(xr + 16 * b), low);
			high = _mm256_fmadd_ps(q[4 + b], _mm256_load_ps(xr + 64 + 16 * b), high);
		}
		acc[run % 2] = _mm256_fmadd_ps(low, _mm256_set1_ps(scale[2 * run]), acc[run % 2]);
		acc[run % 2] = _mm256_fmadd_ps(high, _mm256_set1_ps(scale[2 * run + 1]), acc[run % 2]);
	}
}

/* ROWS rows of stored blocks, UNROLL blocks an iteration. */
SIMD_BODY void native_rows(const struct qmv_call *call, int rows, int unroll, int hint)
{
	const struct qmv_stages stages = qmv_stages(call, Q4K_BLOCK_BYTES);
	const struct q4k_x32 *x = call->x;
	const uint8_t *row[4];
	__m256 acc[4][2];
	assert(call->rows <= (size_t)rows);
	for (int r = 0; r < rows; r++) {
		/* Rows past the edge compute the last one again; nothing outside the weights is read. */
		size_t from = (size_t)r < call->rows ? (size_t)r : call->rows - 1;
		row[r] = call->weights + from * call->row_bytes;
		acc[r][0] = acc[r][1] = _mm256_setzero_ps();
	}
	size_t b = 0;
	for (; b + (size_t)unroll < call->blocks; b += (size_t)unroll)
		SIMD_FOR (int u = 0; u < unroll; u++) {
			const struct qmv_offsets ahead = qmv_offsets(&stages, b + (size_t)u);
			SIMD_FOR (int r = 0; r < rows; r++) {
				const uint8_t *p = row[r] + (b + (size_t)u) * Q4K_BLOCK_BYTES;
				for (size_t line = 0; line < Q4K_BLOCK_BYTES; line += 64)
					qmv_prefetch(p + line, ahead, hint);
				native_block(p, x + b + u, 0, acc[r]);
			}
		}
	for (; b < call->blocks; b++)
		for (int r = 0; r < rows; r++) {
			const uint8_t *p = row[r] + b * Q4K_BLOCK_BYTES;
			for (size_t line = 0; line < Q4K_BLOCK_BYTES; line += 64)
				qmv_prefetch(p + line, qmv_offsets(&stages, b), hint);
			native_block(p, x + b, 1, acc[r]);
		}
	for (int r = 0; r < rows && (size_t)r < call->rows; r++) {
		const float value = add_lanes(_mm256_add_ps(acc[r][0], acc[r][1]));
		call->y[r] = call->accumulate ? call->y[r] + value : value;
	}
}

/* Four 32-bit words, each in two lanes. */
SIMD_INLINE __m256i spread_words(const uint8_t *p)
{
	const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
	return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p)), twice);
}

/* Byte I of every word, below 64, as a float. */
SIMD_INLINE __m256 byte_floats(__m256i words, int i)
{
	return _mm256_cvtepi32_ps(_mm256_and_si256(_mm256_srli_epi32(words, 8 * i), _mm256_set1_epi32(63)));
}

/* Scale words of four rows of a group of eight: words[0..1] the scales, words[2..3] the mins, a byte each. */
SIMD_INLINE void group_scales(const uint8_t *p, int wide, __m256i words[4])
{
	const __m256i six = _mm256_set1_epi8(0x3f), low = _mm256_set1_epi8(0x0f), two = _mm256_set1_epi8(0x30);
	const __m256i a = spread_words(p), b = spread_words(p + 32), c = spread_words(p + 64);
	if (wide) {
		words[0] = a;
		words[1] = b;
		words[2] = c;
		words[3] = spread_words(p + 96);
		return;
	}
	words[0] = _mm256_and_si256(a, six);
	words[2] = _mm256_and_si256(b, six);
	words[1] = _mm256_or_si256(_mm256_and_si256(c, low), _mm256_and_si256(_mm256_srli_epi16(a, 2), two));
	words[3] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(c, 4), low),
				   _mm256_and_si256(_mm256_srli_epi16(b, 2), two));
}

/* Rows 4 HALF to 4 HALF + 3 of one group block of eight, two lanes per row; the mins are in the first of them. */
SIMD_INLINE void group_half(const uint8_t *p, const struct q4k_x32 *x, int half, int wide, int last, __m256 *acc,
			    __m256 *min_acc)
{
	const uint8_t *codes = p + (wide ? 160 : 128) + 32 * half;
	__m256i words[4];
	__m256 sum = _mm256_setzero_ps(), min_sum = sum;
	group_scales(p + 32 + 16 * half, wide, words);
	SIMD_FOR (int s = 0; s < 4; s++) {
		const float *xs = x->x + 128 * (s / 2) + 8 * (s % 2);
		__m256 part[4] = { 0 }; /* low nibbles of even and of odd bytes, then high nibbles */
		SIMD_FOR (int c = 0; c < 4; c++) {
			__m256 q[8];
			codes_to_floats(codes + 64 * (4 * s + c), last && s == 3 && c == 3, q);
			SIMD_FOR (int i = 0; i < 8; i++) {
				const int b = i % 4, k = 2 * (i / 4) + b % 2;
				double two;
				memcpy(&two, xs + 64 * (i / 4) + 16 * b + 2 * c, sizeof(two));
				const __m256 xv = _mm256_castpd_ps(_mm256_set1_pd(two));
				part[k] =
					c == 0 && b < 2 ? _mm256_mul_ps(q[i], xv) : _mm256_fmadd_ps(q[i], xv, part[k]);
			}
		}
		SIMD_FOR (int h = 0; h < 2; h++) {
			const int j = 2 * s + h;
			const __m256 dot = _mm256_add_ps(part[2 * h], part[2 * h + 1]);
			const __m256 scale = byte_floats(words[j / 4], j % 4),
				     min = byte_floats(words[2 + j / 4], j % 4);
			const __m256 total = _mm256_set1_ps(x->sums[j]);
			sum = j == 0 ? _mm256_mul_ps(dot, scale) : _mm256_fmadd_ps(dot, scale, sum);
			min_sum = j == 0 ? _mm256_mul_ps(total, min) : _mm256_fmadd_ps(total, min, min_sum);
		}
	}
	const __m256 first = _mm256_castsi256_ps(_mm256_setr_epi32(-1, 0, -1, 0, -1, 0, -1, 0));
	const __m256i halves = spread_words(p + 16 * half);
	*acc = _mm256_fmadd_ps(sum, v_from_halves(halves, 0), *acc);
	*min_acc = _mm256_fmadd_ps(min_sum, _mm256_and_ps(v_from_halves(halves, 1), first), *min_acc);
}

typedef void group_half_fn(const uint8_t *p, const struct q4k_x32 *x, int half, __m256 *acc, __m256 *min_acc);

/* One group of eight interleaved rows: HALF for all blocks but the last, TAIL for that. */
SIMD_BODY void group_rows(const struct qmv_call *call, int wide, group_half_fn *half_block, group_half_fn *tail,
			  int hint)
{
	const size_t block_bytes = (size_t)(wide ? 148 : 144) * 8;
	const struct qmv_stages stages = qmv_stages(call, block_bytes);
	const struct q4k_x32 *x = call->x;
	const uint8_t *p = call->weights;
	__m256 acc[2], min_acc[2];
	assert(call->rows <= 8);
	acc[0] = acc[1] = min_acc[0] = min_acc[1] = _mm256_setzero_ps();
	for (size_t b = 0; b < call->blocks; b++, p += block_bytes) {
		const struct qmv_offsets ahead = qmv_offsets(&stages, b);
		group_half_fn *run = b + 1 < call->blocks ? half_block : tail;
		for (int half = 0; half < 2; half++) {
			for (size_t line = (size_t)half * 64; line < block_bytes; line += 128)
				qmv_prefetch(p + line, ahead, hint);
			run(p, x + b, half, &acc[half], &min_acc[half]);
		}
	}
	float y[8];
	for (int half = 0; half < 2; half++) {
		const __m256 pairs = _mm256_sub_ps(acc[half], min_acc[half]);
		const __m256 sums = _mm256_add_ps(pairs, _mm256_permute_ps(pairs, 0xb1));
		_mm_storeu_ps(y + 4 * half, _mm256_castps256_ps128(_mm256_permutevar8x32_ps(
						    sums, _mm256_setr_epi32(0, 2, 4, 6, 0, 0, 0, 0))));
	}
	for (size_t r = 0; r < call->rows; r++)
		call->y[r] = call->accumulate ? call->y[r] + y[r] : y[r];
}

#define NATIVE(rows, unroll) QMV_KERNEL_LONG(native_##rows##_##unroll, native_rows, rows, unroll)
NATIVE(1, 1)
NATIVE(1, 2)
NATIVE(2, 1)
NATIVE(2, 2)
NATIVE(4, 1)
#define GROUP_HALF(name, wide, last)                                                                                 \
	__attribute__((noinline)) static void name(const uint8_t *p, const struct q4k_x32 *x, int half, __m256 *acc, \
						   __m256 *min_acc)                                                  \
	{                                                                                                            \
		group_half(p, x, half, wide, last, acc, min_acc);                                                    \
	}
GROUP_HALF(r8_half, 0, 0)
GROUP_HALF(r8_tail, 0, 1)
GROUP_HALF(r8w_half, 1, 0)
GROUP_HALF(r8w_tail, 1, 1)
QMV_KERNEL_LONG(r8_1, group_rows, 0, r8_half, r8_tail)
QMV_KERNEL_LONG(r8w_1, group_rows, 1, r8w_half, r8w_tail)

#define ROW(kind, class, rows, unroll) \
	Q4K_ROW(kind, f32, F32, native, NATIVE, rows, unroll, class, native_##rows##_##unroll),
#define GROUP_ROW(kind, class, layout, LAYOUT) Q4K_ROW(kind, f32, F32, layout, LAYOUT, 8, 1, class, layout##_1),
#define ROWS(kind, class)              \
	ROW(kind, class, 1, 1)         \
	ROW(kind, class, 1, 2)         \
	ROW(kind, class, 2, 1)         \
	ROW(kind, class, 2, 2)         \
	ROW(kind, class, 4, 1)         \
	GROUP_ROW(kind, class, r8, R8) \
	GROUP_ROW(kind, class, r8w, R8W)
Q4K_TABLES(f32, ROWS, TCB_CLASS_EXACT)
