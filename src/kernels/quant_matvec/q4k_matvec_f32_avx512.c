/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of q4k_matvec, contract f32, AVX-512 F/BW/VL/DQ.  In: blocks
 * as stored, or interleaved groups, and prepared activations (struct q4k_x32).
 * Out: f32 results, bit-equal to q4k_exact().
 *
 * A code becomes a float by one vpermps: the table 0..15 is looked up with the
 * word that holds the code, since vpermps reads the low four bits of its index
 * only.  The next byte of every word comes to its low bits by loading from one
 * byte further on, and the high nibbles by one shift: 2.5 operations on the two
 * 512-bit ports for 16 weights, where widening, masking and converting take 4.
 * Loading from further on reads up to three bytes of the next block, so the
 * last block of a call shifts instead.
 */
#include <assert.h>
#include <immintrin.h>
#include <string.h>

#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec_micro.h"

/* Sixteen words at P: FLOATS[4 h + b] are their codes in byte b, low nibble (h = 0) or high. */
SIMD_INLINE void codes_to_floats(const uint8_t *p, int last, __m512 floats[8])
{
	const __m512 table = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	__m512i first = _mm512_loadu_si512(p);
	SIMD_FOR (unsigned b = 0; b < 4; b++) {
		__m512i low = b == 0 ? first : last ? _mm512_srli_epi32(first, 8 * b) : _mm512_loadu_si512(p + b);
		/* Kept in a register: as the shift's memory operand it would be loaded, and split over two lines,
		 * twice. */
		__asm__("" : "+v"(low));
		floats[b] = _mm512_permutexvar_ps(low, table);
		floats[4 + b] = _mm512_permutexvar_ps(_mm512_srli_epi32(low, 4), table);
	}
}

/* Lanes i and i + 8, then i and i + 4, i and i + 2, i and i + 1. */
SIMD_INLINE float add_lanes(__m512 v)
{
	__m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
	__m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
	__m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
	return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/* The headers (d, dmin, 12 scale bytes) in the four lanes of H: eight scales, then eight mins in each lane. */
SIMD_INLINE __m512i unpack_headers(__m512i h)
{
	const __m512i low_order =
		_mm512_broadcast_i32x4(_mm_setr_epi8(4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15));
	const __m512i high_order =
		_mm512_broadcast_i32x4(_mm_setr_epi8(-1, -1, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1, 8, 9, 10, 11));
	const __m512i low_mask = _mm512_broadcast_i32x4(_mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
	const __m512i shifts = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0, 0, 4));
	__m512i low = _mm512_srlv_epi32(_mm512_shuffle_epi8(h, low_order), shifts);
	__m512i high = _mm512_srli_epi16(_mm512_shuffle_epi8(h, high_order), 2);
	/* (low & low_mask) | (high & ~low_mask), without the two bits that the shift brought in */
	return _mm512_and_si512(_mm512_ternarylogic_epi32(low_mask, low, high, 0xca), _mm512_set1_epi8(0x3f));
}

/* d times the eight scales, dmin times the eight mins, all exact: BYTES as unpack_headers gives them. */
SIMD_INLINE __m512 scale_floats(const uint8_t *block, __m128i bytes)
{
	const __m256i spread = _mm256_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 2, 3,
						2, 3, 2, 3, 2, 3, 2, 3);
	int32_t halves;
	memcpy(&halves, block, sizeof(halves));
	const __m512 d = _mm512_cvtph_ps(_mm256_shuffle_epi8(_mm256_set1_epi32(halves), spread));
	return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)), d);
}

/*
 * One block position of ROWS rows, native layout.  Lane 8 p + w of acc holds the products of half p, word w of the
 * activations' order; lanes 8 + j also take the min of sub-block j.
 */
SIMD_INLINE void native_block(const uint8_t *const row[8], size_t at, struct qmv_offsets ahead, const struct q4k_x32 *x,
			      const __m128i bytes[8], int rows, int last, int hint, __m512 acc[8])
{
	const __m512 sums = _mm512_broadcast_f32x8(_mm256_load_ps(x->sums));
	__m512 scale[8];
	SIMD_FOR (int r = 0; r < rows; r++) {
		scale[r] = scale_floats(row[r] + at, bytes[r]);
		acc[r] = _mm512_mask3_fnmadd_ps(scale[r], sums, acc[r], 0xff00);
		for (size_t line = 0; line < Q4K_BLOCK_BYTES; line += 64)
			qmv_prefetch(row[r] + at + line, ahead, hint);
	}
	SIMD_FOR (int g = 0; g < 2; g++) {
		const __m512i low_scale = _mm512_add_epi32(
			_mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2), _mm512_set1_epi32(4 * g));
		const __m512i high_scale = _mm512_add_epi32(low_scale, _mm512_set1_epi32(1));
		const float *xg = x->x + 128 * g;
		SIMD_FOR (int r = 0; r < rows; r++) {
			__m512 q[8];
			codes_to_floats(row[r] + at + 16 + 64 * g, last && g == 1, q);
			__m512 low = _mm512_mul_ps(q[0], _mm512_load_ps(xg));
			__m512 high = _mm512_mul_ps(q[4], _mm512_load_ps(xg + 64));
			SIMD_FOR (int b = 1; b < 4; b++) {
				low = _mm512_fmadd_ps(q[b], _mm512_load_ps(xg + 16 * b), low);
				high = _mm512_fmadd_ps(q[4 + b], _mm512_load_ps(xg + 64 + 16 * b), high);
			}
			acc[r] = _mm512_fmadd_ps(low, _mm512_permutexvar_ps(low_scale, scale[r]), acc[r]);
			acc[r] = _mm512_fmadd_ps(high, _mm512_permutexvar_ps(high_scale, scale[r]), acc[r]);
		}
	}
}

/* BLOCKS block positions from byte AT on; the headers of four rows or blocks are unpacked together. */
SIMD_INLINE void native_step(const uint8_t *const row[8], size_t at, struct qmv_offsets ahead, const struct q4k_x32 *x,
			     int rows, int blocks, int last, int hint, __m512 acc[8])
{
	const int headers = rows * blocks;
	_Alignas(64) __m128i bytes[32];
	SIMD_FOR (int i = 0; i < headers; i += 4) {
		__m128i header[4] = { 0 };
		for (int j = 0; j < 4 && i + j < headers; j++)
			header[j] = _mm_loadu_si128((const __m128i *)(row[(i + j) % rows] + at +
								      (size_t)((i + j) / rows) * Q4K_BLOCK_BYTES));
		__m512i four = _mm512_castsi128_si512(header[0]);
		if (headers > 1)
			four = _mm512_inserti32x4(four, header[1], 1);
		if (headers > 2)
			four = _mm512_inserti32x4(_mm512_inserti32x4(four, header[2], 2), header[3], 3);
		_mm512_store_si512(bytes + i, unpack_headers(four));
	}
	SIMD_FOR (int u = 0; u < blocks; u++)
		native_block(row, at + (size_t)u * Q4K_BLOCK_BYTES, ahead, x + u, bytes + rows * u, rows,
			     last && u == blocks - 1, hint, acc);
}

/* The last block positions, without prefetching: a few of many, so that their own copy of the loop stays small. */
typedef void native_tail_fn(const uint8_t *const row[8], size_t at, const struct q4k_x32 *x, __m512 acc[8]);

/* ROWS rows of stored blocks, UNROLL blocks an iteration; TAIL does one iteration, ONE a single block. */
SIMD_BODY void native_rows(const struct qmv_call *call, int rows, int unroll, native_tail_fn *tail, native_tail_fn *one,
			   int hint)
{
	const struct qmv_stages stages = qmv_stages(call, Q4K_BLOCK_BYTES);
	const struct q4k_x32 *x = call->x;
	const uint8_t *row[8];
	__m512 acc[8];
	assert(call->rows <= (size_t)rows);
	for (int r = 0; r < rows; r++) {
		/* Rows past the edge compute the last one again; nothing outside the weights is read. */
		size_t from = (size_t)r < call->rows ? (size_t)r : call->rows - 1;
		row[r] = call->weights + from * call->row_bytes;
		acc[r] = _mm512_setzero_ps();
	}
	size_t b = 0, at = 0;
	for (; b + (size_t)unroll < call->blocks; b += (size_t)unroll, at += (size_t)unroll * Q4K_BLOCK_BYTES)
		native_step(row, at, qmv_offsets(&stages, b), x + b, rows, unroll, 0, hint, acc);
	for (int r = 0; r < rows; r++)
		for (size_t line = at; line < call->blocks * Q4K_BLOCK_BYTES; line += 64)
			qmv_prefetch(row[r] + line, qmv_offsets(&stages, b), hint);
	if (b + (size_t)unroll == call->blocks)
		tail(row, at, x + b, acc);
	else
		for (; b < call->blocks; b++, at += Q4K_BLOCK_BYTES)
			one(row, at, x + b, acc);
	for (int r = 0; r < rows && (size_t)r < call->rows; r++)
		call->y[r] = call->accumulate ? call->y[r] + add_lanes(acc[r]) : add_lanes(acc[r]);
}

/* ROWS 32-bit words, each repeated for the lanes of its row. */
SIMD_INLINE __m512i spread_words(const uint8_t *p, int rows)
{
	if (rows == 16)
		return _mm512_loadu_si512(p);
	return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7),
					_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)p)));
}

/* Byte I of every word, below 64, as a float. */
SIMD_INLINE __m512 byte_floats(__m512i words, unsigned i)
{
	return _mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32(words, 8 * i), _mm512_set1_epi32(63)));
}

/* The 16 / ROWS activations that one piece's words need for one byte, repeated for each row. */
SIMD_INLINE __m512 repeat_activations(const float *x, int rows)
{
	double two;
	if (rows == 16)
		return _mm512_set1_ps(*x);
	memcpy(&two, x, sizeof(two));
	return _mm512_castpd_ps(_mm512_set1_pd(two));
}

/* Scale words of a group block: words[0..1] the scales, words[2..3] the mins, a byte each. */
SIMD_INLINE void group_scales(const uint8_t *p, int rows, int wide, __m512i words[4])
{
	const __m512i six = _mm512_set1_epi8(0x3f), low = _mm512_set1_epi8(0x0f), two = _mm512_set1_epi8(0x30);
	__m512i a = spread_words(p, rows), b = spread_words(p + 4 * rows, rows), c = spread_words(p + 8 * rows, rows);
	if (wide) {
		words[0] = a;
		words[1] = b;
		words[2] = c;
		words[3] = spread_words(p + 12 * rows, rows);
		return;
	}
	words[0] = _mm512_and_si512(a, six);
	words[2] = _mm512_and_si512(b, six);
	/* (c & 15) | (a >> 2 & 0x30), and the same with c >> 4 and b */
	words[1] = _mm512_ternarylogic_epi32(_mm512_and_si512(c, low), _mm512_srli_epi16(a, 2), two, 0xf8);
	words[3] = _mm512_ternarylogic_epi32(_mm512_and_si512(_mm512_srli_epi16(c, 4), low), _mm512_srli_epi16(b, 2),
					     two, 0xf8);
}

/* One group block of ROWS interleaved rows, 16 / ROWS lanes each; the mins are in the first lane of each row. */
SIMD_INLINE void group_block(const uint8_t *p, struct qmv_offsets ahead, const struct q4k_x32 *x, int rows, int wide,
			     int last, int hint, __m512 *acc, __m512 *min_acc)
{
	const int lanes = 16 / rows, pieces = 8 / lanes, head = (wide ? 20 : 16) * rows;
	const __mmask16 first = rows == 16 ? 0xffff : 0x5555;
	__m512i words[4];
	__m512 sum = _mm512_setzero_ps(), min_sum = sum;
	group_scales(p + 4 * rows, rows, wide, words);
	for (int line = 0; line < head; line += 64)
		qmv_prefetch(p + line, ahead, hint);
	SIMD_FOR (int s = 0; s < 4; s++) {
		const float *xs = x->x + 128 * (s / 2) + 8 * (s % 2);
		__m512 part[4] = { 0 }; /* low nibbles of even and of odd bytes, then high nibbles */
		SIMD_FOR (int c = 0; c < pieces; c++) {
			const int at = head + 64 * (pieces * s + c);
			__m512 q[8];
			codes_to_floats(p + at, last && s == 3 && c == pieces - 1, q);
			qmv_prefetch(p + at, ahead, hint);
			SIMD_FOR (int i = 0; i < 8; i++) {
				const int b = i % 4, k = 2 * (i / 4) + b % 2;
				const __m512 xv = repeat_activations(xs + 64 * (i / 4) + 16 * b + c * lanes, rows);
				part[k] =
					c == 0 && b < 2 ? _mm512_mul_ps(q[i], xv) : _mm512_fmadd_ps(q[i], xv, part[k]);
			}
		}
		SIMD_FOR (int h = 0; h < 2; h++) {
			const unsigned j = 2 * (unsigned)s + (unsigned)h;
			const __m512 dot = _mm512_add_ps(part[2 * h], part[2 * h + 1]);
			const __m512 scale = byte_floats(words[j / 4], j % 4),
				     min = byte_floats(words[2 + j / 4], j % 4);
			const __m512 total = _mm512_set1_ps(x->sums[j]);
			sum = j == 0 ? _mm512_mul_ps(dot, scale) : _mm512_fmadd_ps(dot, scale, sum);
			min_sum = j == 0 ? _mm512_mul_ps(total, min) : _mm512_fmadd_ps(total, min, min_sum);
		}
	}
	const __m512i halves = spread_words(p, rows);
	*acc = _mm512_fmadd_ps(sum, v_from_halves(halves, 0), *acc);
	*min_acc = _mm512_fmadd_ps(min_sum, _mm512_maskz_mov_ps(first, v_from_halves(halves, 1)), *min_acc);
}

/* The last group block, without prefetching, compiled once for all unrolls. */
typedef void group_tail_fn(const uint8_t *p, const struct q4k_x32 *x, __m512 *acc, __m512 *min_acc);

/* One group of ROWS interleaved rows. */
SIMD_BODY void group_rows(const struct qmv_call *call, int rows, int wide, group_tail_fn *tail, int hint)
{
	const size_t block_bytes = (size_t)(wide ? 148 : 144) * (size_t)rows;
	const struct qmv_stages stages = qmv_stages(call, block_bytes);
	const struct q4k_x32 *x = call->x;
	const uint8_t *p = call->weights;
	__m512 acc = _mm512_setzero_ps(), min_acc = _mm512_setzero_ps();
	assert(call->rows <= (size_t)rows);
	size_t b = 0;
	for (; b + 1 < call->blocks; b++, p += block_bytes)
		group_block(p, qmv_offsets(&stages, b), x + b, rows, wide, 0, hint, &acc, &min_acc);
	for (size_t line = 0; line < block_bytes; line += 64)
		qmv_prefetch(p + line, qmv_offsets(&stages, b), hint);
	tail(p, x + b, &acc, &min_acc);
	acc = _mm512_sub_ps(acc, min_acc);
	if (rows == 8) {
		acc = _mm512_add_ps(acc, _mm512_permute_ps(acc, 0xb1));
		acc = _mm512_permutexvar_ps(_mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 0, 0, 0, 0, 0, 0, 0), acc);
	}
	const __mmask16 live = (__mmask16)((1u << call->rows) - 1);
	if (call->accumulate)
		acc = _mm512_add_ps(_mm512_maskz_loadu_ps(live, call->y), acc);
	_mm512_mask_storeu_ps(call->y, live, acc);
}

#define NATIVE(rows, unroll)                                                                                        \
	__attribute__((noinline)) static void native_tail_##rows##_##unroll(const uint8_t *const row[8], size_t at, \
									    const struct q4k_x32 *x, __m512 acc[8]) \
	{                                                                                                           \
		native_step(row, at, (struct qmv_offsets){ 0, 0 }, x, rows, unroll, 1, QMV_HINT_NONE, acc);         \
	}                                                                                                           \
	QMV_KERNEL_LONG(native_##rows##_##unroll, native_rows, rows, unroll, native_tail_##rows##_##unroll,         \
			native_tail_##rows##_1)
NATIVE(1, 1)
NATIVE(1, 2)
NATIVE(1, 4)
NATIVE(2, 1)
NATIVE(2, 2)
NATIVE(4, 1)
NATIVE(4, 2)
NATIVE(8, 1)
#define GROUP(layout, rows, wide)                                                                                   \
	__attribute__((noinline)) static void layout##_tail(const uint8_t *p, const struct q4k_x32 *x, __m512 *acc, \
							    __m512 *min_acc)                                        \
	{                                                                                                           \
		group_block(p, (struct qmv_offsets){ 0, 0 }, x, rows, wide, 1, QMV_HINT_NONE, acc, min_acc);        \
	}                                                                                                           \
	QMV_KERNEL_LONG(layout##_1, group_rows, rows, wide, layout##_tail)
GROUP(r8, 8, 0)
GROUP(r8w, 8, 1)
GROUP(r16, 16, 0)
GROUP(r16w, 16, 1)

#define ROW(kind, class, layout, LAYOUT, rows, unroll) \
	Q4K_ROW(kind, f32, F32, layout, LAYOUT, rows, unroll, class, layout##_##rows##_##unroll),
#define GROUP_ROW(kind, class, layout, LAYOUT, rows) \
	Q4K_ROW(kind, f32, F32, layout, LAYOUT, rows, 1, class, layout##_1),
#define ROWS(kind, class)                      \
	ROW(kind, class, native, NATIVE, 1, 1) \
	ROW(kind, class, native, NATIVE, 1, 2) \
	ROW(kind, class, native, NATIVE, 1, 4) \
	ROW(kind, class, native, NATIVE, 2, 1) \
	ROW(kind, class, native, NATIVE, 2, 2) \
	ROW(kind, class, native, NATIVE, 4, 1) \
	ROW(kind, class, native, NATIVE, 4, 2) \
	ROW(kind, class, native, NATIVE, 8, 1) \
	GROUP_ROW(kind, class, r8, R8, 8)      \
	GROUP_ROW(kind, class, r8w, R8W, 8)    \
	GROUP_ROW(kind, class, r16, R16, 16)   \
	GROUP_ROW(kind, class, r16w, R16W, 16)
Q4K_TABLES(f32, ROWS, TCB_CLASS_EXACT)
