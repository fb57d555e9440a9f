/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of q4k_matvec, contract q8, on 512-bit vectors, generic over
 * rows and layout, without VNNI and with it.  Per block and row:
 * y += (d * S - dmin * M) * dx with S and M exact integers.
 */
#include <assert.h>
#include <immintrin.h>
#include <string.h>

#include "kernels/quant_matvec/q4k_matvec_q8_rows.h"
#include "kernels/simd/simd.h"

/*
 * What VNNI changes:
 *     scale_add(sum, dots, sc)  int32 sum + dots * sc, dots exact in 16 bits
 *     dot_add(acc, u, s)        acc + products of unsigned nibbles and codes, per group of 4 bytes
 *     PIECES_EXACT              how many dot_add keep acc within what scale_add takes
 *     pick_scale(words, byte)   that byte of each int32, spread as scale_add wants it for sums of dot_add
 */
#ifdef SIMD_HAS_DOT

/* 4 pieces of 4 products in 16 bits: 4 * 4 * 15 * 127 = 30480. */
enum { PIECES_EXACT = 4 };

SIMD_INLINE __m512i dot_add(__m512i acc, __m512i u, __m512i s)
{
	return _mm512_dpbusd_epi32(acc, u, s);
}

SIMD_INLINE __m512i scale_add(__m512i sum, __m512i dots, __m512i scales)
{
	return _mm512_dpwssd_epi32(sum, dots, scales);
}

/* The upper word is 0: the sum is in the lower word, its sign in the upper. */
SIMD_INLINE __m512i pick_scale(__m512i words, int byte)
{
	const __m128i order = _mm_add_epi8(
		_mm_setr_epi8(0, -128, -128, -128, 4, -128, -128, -128, 8, -128, -128, -128, 12, -128, -128, -128),
		_mm_set1_epi32(byte));
	return _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(order));
}

#else

/* 8 pieces of 2 products in 16 bits: 8 * 2 * 15 * 127 = 30480. */
enum { PIECES_EXACT = 8 };

SIMD_INLINE __m512i dot_add(__m512i acc, __m512i u, __m512i s)
{
	return _mm512_add_epi16(acc, _mm512_maddubs_epi16(u, s));
}

SIMD_INLINE __m512i scale_add(__m512i sum, __m512i dots, __m512i scales)
{
	return _mm512_add_epi32(sum, _mm512_madd_epi16(dots, scales));
}

SIMD_INLINE __m512i pick_scale(__m512i words, int byte)
{
	const __m128i order =
		_mm_add_epi8(_mm_setr_epi8(0, -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12, -128),
			     _mm_set1_epi16((short)byte));
	return _mm512_shuffle_epi8(words, _mm512_broadcast_i32x4(order));
}

#endif

/* The eight 6-bit scales and mins of the four headers (d, dmin, 12 bytes) in the lanes of H: scales in bytes 0-7 of a
 * lane, mins in bytes 8-15. */
SIMD_INLINE __m512i unpack_headers(__m512i h)
{
	const __m512i low_order =
		_mm512_broadcast_i32x4(_mm_setr_epi8(4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15));
	const __m512i high_order =
		_mm512_broadcast_i32x4(_mm_setr_epi8(-1, -1, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1, 8, 9, 10, 11));
	const __m512i shifts = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0, 0, 4));
	const __m512i low_mask = _mm512_broadcast_i32x4(_mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
	const __m512i high_mask = _mm512_set1_epi8(0x30);
	__m512i low = _mm512_srlv_epi32(_mm512_shuffle_epi8(h, low_order), shifts);
	__m512i high = _mm512_srli_epi16(_mm512_shuffle_epi8(h, high_order), 2);
	/* (low & low_mask) | (high & 0x30) */
	return _mm512_ternarylogic_epi32(_mm512_and_si512(low, low_mask), high, high_mask, 0xf8);
}

/* Scale vectors of row LANE: bytes A of the lane widened to words in the low half, byte B in the high half. */
SIMD_INLINE __m512i pick_scales(__m512i row, int a, int b)
{
	__m512i order =
		_mm512_inserti64x4(_mm512_set1_epi16((short)(0x8000 | a)), _mm256_set1_epi16((short)(0x8000 | b)), 1);
	return _mm512_shuffle_epi8(row, order);
}

/* Native layout: one block of each of ROWS rows. */
SIMD_INLINE void native_block(const uint8_t *const *row, struct qmv_offsets ahead, const struct q4k_x8 *x, int rows,
			      int hint, __m512 acc[8], __m512 min_acc[2])
{
	const __m512i mask = _mm512_set1_epi8(15), zero = _mm512_setzero_si512();
	const __m512i x0 = _mm512_load_si512(x->q), x1 = _mm512_load_si512(x->q + 64);
	const __m512i x2 = _mm512_load_si512(x->q + 128), x3 = _mm512_load_si512(x->q + 192);
	const __m512i sums = _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)x->sums));
	const __m256 dx = _mm256_set1_ps(x->d);
	SIMD_FOR (int quad = 0; quad < rows; quad += 4) {
		int lanes = rows - quad < 4 ? rows - quad : 4;
		__m512i header = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)row[quad]));
		if (lanes > 1)
			header = _mm512_inserti32x4(header, _mm_loadu_si128((const __m128i *)row[quad + 1]), 1);
		if (lanes > 2) {
			header = _mm512_inserti32x4(header, _mm_loadu_si128((const __m128i *)row[quad + 2]), 2);
			header = _mm512_inserti32x4(header, _mm_loadu_si128((const __m128i *)row[quad + 3]), 3);
		}
		const __m512i scales = unpack_headers(header);
		/* d, dmin of each row, times the activations' d */
		const __m512i firsts =
			_mm512_permutexvar_epi32(_mm512_castsi128_si512(_mm_setr_epi32(0, 4, 8, 12)), header);
		const __m256 d = _mm256_mul_ps(_mm256_cvtph_ps(_mm512_castsi512_si128(firsts)), dx);
		const __m512 d_wide = _mm512_castps256_ps512(d);
		const __m512i mins = _mm512_madd_epi16(_mm512_unpackhi_epi8(scales, zero), sums);
		const __m512 dmin = _mm512_permutexvar_ps(
			_mm512_setr_epi32(1, 1, 1, 1, 3, 3, 3, 3, 5, 5, 5, 5, 7, 7, 7, 7), d_wide);
		min_acc[quad / 4] = _mm512_fmadd_ps(dmin, _mm512_cvtepi32_ps(mins), min_acc[quad / 4]);
		/* Through memory: a broadcast load costs no shuffle, the scarcest port here. */
		_Alignas(64) __m128i by_row[4];
		_Alignas(32) float d_of[8];
		_mm512_store_si512(by_row, scales);
		_mm256_store_ps(d_of, d);
		__asm__("" : "+m"(by_row), "+m"(d_of));
		SIMD_FOR (int r = 0; r < lanes; r++) {
			const uint8_t *p = row[quad + r];
			qmv_prefetch(p, ahead, hint);
			qmv_prefetch(p + 64, ahead, hint);
			qmv_prefetch(p + 128, ahead, hint);
			const __m512i v = _mm512_loadu_si512(p + 16), w = _mm512_loadu_si512(p + 80);
			const __m512i own = _mm512_broadcast_i32x4(_mm_load_si128(&by_row[r]));
			__m512i s = scale_add(zero, _mm512_maddubs_epi16(_mm512_and_si512(v, mask), x0),
					      pick_scales(own, 0, 2));
			__m512i t = scale_add(zero,
					      _mm512_maddubs_epi16(_mm512_and_si512(_mm512_srli_epi16(v, 4), mask), x1),
					      pick_scales(own, 1, 3));
			s = scale_add(s, _mm512_maddubs_epi16(_mm512_and_si512(w, mask), x2), pick_scales(own, 4, 6));
			t = scale_add(t, _mm512_maddubs_epi16(_mm512_and_si512(_mm512_srli_epi16(w, 4), mask), x3),
				      pick_scales(own, 5, 7));
			const __m512 dr = _mm512_set1_ps(d_of[2 * r]);
			acc[quad + r] = _mm512_fmadd_ps(dr, _mm512_cvtepi32_ps(_mm512_add_epi32(s, t)), acc[quad + r]);
		}
	}
}

/* Native layout: ROWS rows, UNROLL blocks an iteration. */
SIMD_BODY void native_rows(const struct qmv_call *call, int rows, int unroll, int hint)
{
	const struct qmv_stages stages = qmv_stages(call, Q4K_BLOCK_BYTES);
	const struct q4k_x8 *x = call->x;
	const uint8_t *row[8];
	__m512 acc[8], min_acc[2] = { _mm512_setzero_ps(), _mm512_setzero_ps() };
	assert(call->rows <= (size_t)rows);
	SIMD_FOR (int r = 0; r < rows; r++) {
		/* Rows past the edge compute the last one again; nothing outside the weights is read. */
		size_t at = (size_t)r < call->rows ? (size_t)r : call->rows - 1;
		row[r] = call->weights + at * call->row_bytes;
		acc[r] = _mm512_setzero_ps();
	}
	size_t b = 0;
	for (; b + (size_t)unroll <= call->blocks; b += (size_t)unroll)
		SIMD_FOR (int u = 0; u < unroll; u++) {
			native_block(row, qmv_offsets(&stages, b + (size_t)u), x + b + u, rows, hint, acc, min_acc);
			SIMD_FOR (int r = 0; r < rows; r++)
				row[r] += Q4K_BLOCK_BYTES;
		}
	for (; b < call->blocks; b++) {
		native_block(row, qmv_offsets(&stages, b), x + b, rows, hint, acc, min_acc);
		SIMD_FOR (int r = 0; r < rows; r++)
			row[r] += Q4K_BLOCK_BYTES;
	}
	SIMD_FOR (int r = 0; r < rows; r++) {
		if ((size_t)r >= call->rows)
			break;
		__mmask16 lane = (__mmask16)(0xfu << 4 * (r % 4));
		float value = _mm512_reduce_add_ps(acc[r]) - _mm512_mask_reduce_add_ps(lane, min_acc[r / 4]);
		call->y[r] = call->accumulate ? call->y[r] + value : value;
	}
}

/* PIECE bytes of codes, repeated over the vector. */
SIMD_INLINE __m512i repeat_piece(const int8_t *q, int piece)
{
	if (piece == 4) {
		int32_t four;
		memcpy(&four, q, sizeof(four));
		return _mm512_set1_epi32(four);
	}
	if (piece == 8) {
		int64_t eight;
		memcpy(&eight, q, sizeof(eight));
		return _mm512_set1_epi64(eight);
	}
	return _mm512_broadcast_i32x4(_mm_load_si128((const __m128i *)q));
}

/* R int32 words, each repeated for the 16 / R lanes of its row. */
SIMD_INLINE __m512i spread_words(const uint8_t *p, int rows)
{
	if (rows == 16)
		return _mm512_loadu_si512(p);
	if (rows == 8)
		return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7),
						_mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)p)));
	return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3),
					_mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p)));
}

/* One interleaved group block of ROWS rows, added to ACC. */
SIMD_INLINE __m512 group_block(const uint8_t *p, struct qmv_offsets ahead, const struct q4k_x8 *x, int rows, int wide,
			       int hint, __m512 acc)
{
	const int piece = 64 / rows, pieces = 32 / piece, words = wide ? 4 : 3;
	const __m512i nibble = _mm512_set1_epi8(15), zero = _mm512_setzero_si512();
	const uint8_t *words_at = p + 4 * rows, *nibbles = words_at + 4 * words * rows;
	__m512i scale[2], min[2];
	if (wide) {
		scale[0] = spread_words(words_at, rows);
		scale[1] = spread_words(words_at + 4 * rows, rows);
		min[0] = spread_words(words_at + 8 * rows, rows);
		min[1] = spread_words(words_at + 12 * rows, rows);
	} else {
		const __m512i six = _mm512_set1_epi8(0x3f), two = _mm512_set1_epi8(0x30);
		__m512i a = spread_words(words_at, rows), b = spread_words(words_at + 4 * rows, rows);
		__m512i c = spread_words(words_at + 8 * rows, rows);
		scale[0] = _mm512_and_si512(a, six);
		min[0] = _mm512_and_si512(b, six);
		/* (c & 15) | (a >> 2 & 0x30) and (c >> 4 & 15) | (b >> 2 & 0x30) */
		scale[1] = _mm512_ternarylogic_epi32(_mm512_and_si512(c, nibble), _mm512_srli_epi16(a, 2), two, 0xf8);
		min[1] = _mm512_ternarylogic_epi32(_mm512_and_si512(_mm512_srli_epi16(c, 4), nibble),
						   _mm512_srli_epi16(b, 2), two, 0xf8);
	}
	for (int line = 0; line * 64 < (4 + 4 * words) * rows; line++)
		qmv_prefetch(p + line * 64, ahead, hint);

	__m512i s = zero, t = zero;
	for (int j = 0; j < 8; j += 2) {
		const int8_t *x_low = x->q + 32 * q4k_x8_run((unsigned)j);
		const int8_t *x_high = x->q + 32 * q4k_x8_run((unsigned)j + 1);
		const __m512i sc_low = pick_scale(scale[j / 4], j % 4), sc_high = pick_scale(scale[j / 4], j % 4 + 1);
		for (int c = 0; c < pieces;) {
			__m512i low = zero, high = zero;
			for (int end = c + PIECES_EXACT < pieces ? c + PIECES_EXACT : pieces; c < end; c++) {
				const __m512i v = _mm512_loadu_si512(nibbles);
				low = dot_add(low, _mm512_and_si512(v, nibble), repeat_piece(x_low + c * piece, piece));
				high = dot_add(high, _mm512_and_si512(_mm512_srli_epi16(v, 4), nibble),
					       repeat_piece(x_high + c * piece, piece));
				qmv_prefetch(nibbles, ahead, hint);
				nibbles += 64;
			}
			s = scale_add(s, low, sc_low);
			t = scale_add(t, high, sc_high);
		}
	}

	__m512i m = vi_dot(zero, min[0], repeat_piece(x->sums_high, 4));
	m = vi_dot(m, min[1], repeat_piece(x->sums_high + 4, 4));
	m = vi_dot(_mm512_slli_epi32(m, 6), min[0], repeat_piece(x->sums_low, 4));
	m = vi_dot(m, min[1], repeat_piece(x->sums_low + 4, 4));
	const __m512i halves = spread_words(p, rows);
	const __mmask16 first = rows == 16 ? 0xffff : rows == 8 ? 0x5555 : 0x1111; /* lane of each row */
	const __m512 d = v_from_halves(halves, 0), dmin = _mm512_maskz_mov_ps(first, v_from_halves(halves, 1));
	const __m512 mins = _mm512_mul_ps(dmin, _mm512_cvtepi32_ps(m));
	const __m512 term = _mm512_fmsub_ps(d, _mm512_cvtepi32_ps(_mm512_add_epi32(s, t)), mins);
	return _mm512_fmadd_ps(term, _mm512_set1_ps(x->d), acc);
}

/* Interleaved layouts: one group of ROWS rows. */
SIMD_BODY void group_rows(const struct qmv_call *call, int rows, int wide, int hint)
{
	const size_t block_bytes = (size_t)(wide ? 148 : 144) * (size_t)rows;
	const struct qmv_stages stages = qmv_stages(call, block_bytes);
	const struct q4k_x8 *x = call->x;
	const uint8_t *p = call->weights;
	__m512 acc = _mm512_setzero_ps();
	assert(call->rows <= (size_t)rows);
	for (size_t b = 0; b < call->blocks; b++, p += block_bytes)
		acc = group_block(p, qmv_offsets(&stages, b), x + b, rows, wide, hint, acc);
	/* Lanes of a row are added up, then gathered to the front. */
	if (rows <= 8)
		acc = _mm512_add_ps(acc, _mm512_permute_ps(acc, 0xb1));
	if (rows <= 4)
		acc = _mm512_add_ps(acc, _mm512_permute_ps(acc, 0x4e));
	if (rows == 8)
		acc = _mm512_permutexvar_ps(_mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 0, 0, 0, 0, 0, 0, 0), acc);
	if (rows == 4)
		acc = _mm512_permutexvar_ps(_mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), acc);
	const __mmask16 live = (__mmask16)((1u << call->rows) - 1);
	if (call->accumulate)
		acc = _mm512_add_ps(acc, _mm512_maskz_loadu_ps(live, call->y));
	_mm512_mask_storeu_ps(call->y, live, acc);
}

Q4K_Q8_KERNELS(Q4K_Q8_NATIVE(8, 1))

#define ROWS(kind, class) Q4K_Q8_ROWS(kind, class, Q4K_Q8_ROW(kind, class, native, NATIVE, 8, 1, native_8_u1))
Q4K_TABLES(q8, ROWS, TCB_CLASS_BOUNDED)
