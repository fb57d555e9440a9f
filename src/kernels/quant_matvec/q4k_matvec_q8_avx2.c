/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of q4k_matvec, contract q8, AVX2: byte products summed in 16
 * bits, exact (8 * 2 * 15 * 127 = 30480 at most).  Per block and row:
 * y += (d * S - dmin * M) * dx with S and M exact integers.
 */
#include <assert.h>
#include <immintrin.h>
#include <string.h>

#include "kernels/quant_matvec/q4k_matvec_q8_rows.h"
#include "kernels/simd/simd.h"

/* The eight 6-bit scales and mins of the two headers (d, dmin, 12 bytes) in the lanes of H: scales in bytes 0-7 of a
 * lane, mins in bytes 8-15. */
SIMD_INLINE __m256i unpack_headers(__m256i h)
{
	const __m256i low_order =
		_mm256_broadcastsi128_si256(_mm_setr_epi8(4, 5, 6, 7, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15));
	const __m256i high_order =
		_mm256_broadcastsi128_si256(_mm_setr_epi8(-1, -1, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1, 8, 9, 10, 11));
	const __m256i shifts = _mm256_setr_epi32(0, 0, 0, 4, 0, 0, 0, 4);
	const __m256i low_mask =
		_mm256_broadcastsi128_si256(_mm_setr_epi32(0x3f3f3f3f, 0x0f0f0f0f, 0x3f3f3f3f, 0x0f0f0f0f));
	__m256i low = _mm256_srlv_epi32(_mm256_shuffle_epi8(h, low_order), shifts);
	__m256i high = _mm256_srli_epi16(_mm256_shuffle_epi8(h, high_order), 2);
	return _mm256_or_si256(_mm256_and_si256(low, low_mask), _mm256_and_si256(high, _mm256_set1_epi8(0x30)));
}

/* Byte J of each lane, widened to all words of the lane. */
SIMD_INLINE __m256i pick_byte(__m256i bytes, int j)
{
	return _mm256_shuffle_epi8(bytes, _mm256_set1_epi16((short)(0x8000 | j)));
}

/* S of one native block in int32 lanes; OWN holds the row's scales in both lanes. */
SIMD_INLINE __m256i native_dot(const uint8_t *nibbles, const struct q4k_x8 *x, __m256i own)
{
	const __m256i mask = _mm256_set1_epi8(15);
	__m256i s = _mm256_setzero_si256(), t = s;
	for (int j = 0; j < 4; j++) {
		const __m256i v = _mm256_loadu_si256((const __m256i *)(nibbles + 32 * j));
		const __m256i low = _mm256_and_si256(v, mask);
		const __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), mask);
		const int8_t *x_low = x->q + 32 * q4k_x8_run(2 * (unsigned)j);
		const int8_t *x_high = x->q + 32 * q4k_x8_run(2 * (unsigned)j + 1);
		const __m256i a = _mm256_maddubs_epi16(low, _mm256_load_si256((const __m256i *)x_low));
		const __m256i b = _mm256_maddubs_epi16(high, _mm256_load_si256((const __m256i *)x_high));
		s = _mm256_add_epi32(s, _mm256_madd_epi16(a, pick_byte(own, 2 * j)));
		t = _mm256_add_epi32(t, _mm256_madd_epi16(b, pick_byte(own, 2 * j + 1)));
	}
	return _mm256_add_epi32(s, t);
}

/* Native layout: one block of each of ROWS rows. */
SIMD_INLINE void native_block(const uint8_t *const *row, struct qmv_offsets ahead, const struct q4k_x8 *x, int rows,
			      int hint, __m256 acc[4], __m256 min_acc[2])
{
	const __m256i sums = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)x->sums));
	const __m128 dx = _mm_set1_ps(x->d);
	SIMD_FOR (int pair = 0; pair < rows; pair += 2) {
		const int lanes = rows - pair < 2 ? 1 : 2;
		const __m128i first = _mm_loadu_si128((const __m128i *)row[pair]);
		const __m128i second = lanes > 1 ? _mm_loadu_si128((const __m128i *)row[pair + 1]) : first;
		const __m256i scales = unpack_headers(_mm256_set_m128i(second, first));
		/* d and dmin of the first row, d and dmin of the second, times the activations' d */
		const __m128 d = _mm_mul_ps(_mm_cvtph_ps(_mm_unpacklo_epi32(first, second)), dx);
		const __m256i mins = _mm256_madd_epi16(_mm256_unpackhi_epi8(scales, _mm256_setzero_si256()), sums);
		const __m256 dmin = _mm256_set_m128(_mm_permute_ps(d, 0xff), _mm_permute_ps(d, 0x55));
		min_acc[pair / 2] = _mm256_fmadd_ps(dmin, _mm256_cvtepi32_ps(mins), min_acc[pair / 2]);
		SIMD_FOR (int r = 0; r < lanes; r++) {
			const uint8_t *p = row[pair + r];
			qmv_prefetch(p, ahead, hint);
			qmv_prefetch(p + 64, ahead, hint);
			qmv_prefetch(p + 128, ahead, hint);
			const __m256i own =
				r ? _mm256_permute4x64_epi64(scales, 0xee) : _mm256_permute4x64_epi64(scales, 0x44);
			const __m128 dr = r ? _mm_permute_ps(d, 0xaa) : d;
			acc[pair + r] = _mm256_fmadd_ps(_mm256_broadcastss_ps(dr),
							_mm256_cvtepi32_ps(native_dot(p + 16, x, own)), acc[pair + r]);
		}
	}
}

SIMD_INLINE float sum4(__m128 v)
{
	v = _mm_add_ps(v, _mm_movehl_ps(v, v));
	return _mm_cvtss_f32(_mm_add_ss(v, _mm_movehdup_ps(v)));
}

/* Native layout: ROWS rows, UNROLL blocks an iteration. */
SIMD_BODY void native_rows(const struct qmv_call *call, int rows, int unroll, int hint)
{
	const struct qmv_stages stages = qmv_stages(call, Q4K_BLOCK_BYTES);
	const struct q4k_x8 *x = call->x;
	const uint8_t *row[4];
	__m256 acc[4], min_acc[2];
	assert(call->rows <= (size_t)rows);
	SIMD_FOR (int r = 0; r < rows; r++) {
		/* Rows past the edge compute the last one again; nothing outside the weights is read. */
		size_t at = (size_t)r < call->rows ? (size_t)r : call->rows - 1;
		row[r] = call->weights + at * call->row_bytes;
		acc[r] = min_acc[r / 2] = _mm256_setzero_ps();
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
		const __m256 m = min_acc[r / 2];
		const __m128 min = r % 2 ? _mm256_extractf128_ps(m, 1) : _mm256_castps256_ps128(m);
		const __m128 v = _mm_add_ps(_mm256_castps256_ps128(acc[r]), _mm256_extractf128_ps(acc[r], 1));
		const float value = sum4(v) - sum4(min);
		call->y[r] = call->accumulate ? call->y[r] + value : value;
	}
}

/* PIECE bytes of codes, repeated over the vector. */
SIMD_INLINE __m256i repeat_piece(const int8_t *q, int piece)
{
	if (piece == 4) {
		int32_t four;
		memcpy(&four, q, sizeof(four));
		return _mm256_set1_epi32(four);
	}
	if (piece == 8) {
		int64_t eight;
		memcpy(&eight, q, sizeof(eight));
		return _mm256_set1_epi64x(eight);
	}
	return _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)q));
}

/* Words of ROWS / 2 rows, each repeated for the 16 / ROWS lanes of its row. */
SIMD_INLINE __m256i spread_words(const uint8_t *p, int rows)
{
	if (rows == 16)
		return _mm256_loadu_si256((const __m256i *)p);
	if (rows == 8)
		return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p)),
						   _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
	return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(_mm_loadl_epi64((const __m128i *)p)),
					   _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
}

/* Scales and mins of sub-blocks 0-3 and 4-7 as bytes of int32 lanes, for one half of the rows of a group block. */
struct group_scales {
	__m256i scale[2], min[2];
};

SIMD_INLINE struct group_scales group_scales(const uint8_t *at, int rows, int wide)
{
	struct group_scales out;
	const __m256i a = spread_words(at, rows), b = spread_words(at + 4 * rows, rows);
	const __m256i c = spread_words(at + 8 * rows, rows);
	if (wide) {
		out.scale[0] = a;
		out.scale[1] = b;
		out.min[0] = c;
		out.min[1] = spread_words(at + 12 * rows, rows);
		return out;
	}
	const __m256i six = _mm256_set1_epi8(0x3f), two = _mm256_set1_epi8(0x30), four = _mm256_set1_epi8(15);
	out.scale[0] = _mm256_and_si256(a, six);
	out.min[0] = _mm256_and_si256(b, six);
	out.scale[1] = _mm256_or_si256(_mm256_and_si256(c, four), _mm256_and_si256(_mm256_srli_epi16(a, 2), two));
	out.min[1] = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16(c, 4), four),
				     _mm256_and_si256(_mm256_srli_epi16(b, 2), two));
	return out;
}

/* Byte J of each int32 lane in both words of the lane. */
SIMD_INLINE __m256i pick_scale(__m256i words, int j)
{
	const __m128i order =
		_mm_add_epi8(_mm_setr_epi8(0, -128, 0, -128, 4, -128, 4, -128, 8, -128, 8, -128, 12, -128, 12, -128),
			     _mm_set1_epi16((short)j));
	return _mm256_shuffle_epi8(words, _mm256_broadcastsi128_si256(order));
}

/* S of the two halves of an interleaved group block, exact, in int32 lanes. */
SIMD_INLINE void group_dot(const uint8_t *nibbles, struct qmv_offsets ahead, const struct q4k_x8 *x,
			   const struct group_scales *sc, int rows, int hint, __m256i sum[2])
{
	const int piece = 64 / rows, pieces = 32 / piece;
	const __m256i mask = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
	sum[0] = sum[1] = zero;
	for (int j = 0; j < 8; j += 2) {
		const int8_t *x_low = x->q + 32 * q4k_x8_run((unsigned)j);
		const int8_t *x_high = x->q + 32 * q4k_x8_run((unsigned)j + 1);
		__m256i low[2] = { zero, zero }, high[2] = { zero, zero };
		for (int c = 0; c < pieces; c++, nibbles += 64) {
			const __m256i xl = repeat_piece(x_low + c * piece, piece);
			const __m256i xh = repeat_piece(x_high + c * piece, piece);
			qmv_prefetch(nibbles, ahead, hint);
			SIMD_FOR (int half = 0; half < 2; half++) {
				const __m256i v = _mm256_loadu_si256((const __m256i *)(nibbles + 32 * half));
				const __m256i vl = _mm256_and_si256(v, mask);
				const __m256i vh = _mm256_and_si256(_mm256_srli_epi16(v, 4), mask);
				low[half] = _mm256_add_epi16(low[half], _mm256_maddubs_epi16(vl, xl));
				high[half] = _mm256_add_epi16(high[half], _mm256_maddubs_epi16(vh, xh));
			}
		}
		SIMD_FOR (int half = 0; half < 2; half++) {
			const __m256i words = sc[half].scale[j / 4];
			const __m256i a = _mm256_madd_epi16(low[half], pick_scale(words, j % 4));
			const __m256i b = _mm256_madd_epi16(high[half], pick_scale(words, j % 4 + 1));
			sum[half] = _mm256_add_epi32(sum[half], _mm256_add_epi32(a, b));
		}
	}
}

/* One interleaved group block of ROWS rows: products added to ACC, mins to MIN_ACC, a half of the rows in each. */
SIMD_INLINE void group_block(const uint8_t *p, struct qmv_offsets ahead, const struct q4k_x8 *x, int rows, int wide,
			     int hint, __m256 acc[2], __m256 min_acc[2])
{
	const int head = (wide ? 20 : 16) * rows;
	struct group_scales sc[2];
	__m256i sum[2];
	for (int line = 0; line * 64 < head; line++)
		qmv_prefetch(p + line * 64, ahead, hint);
	sc[0] = group_scales(p + 4 * rows, rows, wide);
	sc[1] = group_scales(p + 6 * rows, rows, wide);
	group_dot(p + head, ahead, x, sc, rows, hint, sum);
	const __m256 dx = _mm256_set1_ps(x->d);
	SIMD_FOR (int half = 0; half < 2; half++) {
		__m256i m = vi_dot(_mm256_setzero_si256(), sc[half].min[0], repeat_piece(x->sums_high, 4));
		m = vi_dot(m, sc[half].min[1], repeat_piece(x->sums_high + 4, 4));
		m = vi_dot(_mm256_slli_epi32(m, 6), sc[half].min[0], repeat_piece(x->sums_low, 4));
		m = vi_dot(m, sc[half].min[1], repeat_piece(x->sums_low + 4, 4));
		const __m256i halves = spread_words(p + 2 * rows * half, rows);
		const __m256 d = _mm256_mul_ps(v_from_halves(halves, 0), dx);
		const __m256 dmin = _mm256_mul_ps(v_from_halves(halves, 1), dx);
		acc[half] = _mm256_fmadd_ps(d, _mm256_cvtepi32_ps(sum[half]), acc[half]);
		min_acc[half] = _mm256_fmadd_ps(dmin, _mm256_cvtepi32_ps(m), min_acc[half]);
	}
}

/* Interleaved layouts: one group of ROWS rows. */
SIMD_BODY void group_rows(const struct qmv_call *call, int rows, int wide, int hint)
{
	const size_t block_bytes = (size_t)(wide ? 148 : 144) * (size_t)rows;
	const struct qmv_stages stages = qmv_stages(call, block_bytes);
	const struct q4k_x8 *x = call->x;
	const uint8_t *p = call->weights;
	__m256 acc[2] = { _mm256_setzero_ps(), _mm256_setzero_ps() };
	__m256 min_acc[2] = { _mm256_setzero_ps(), _mm256_setzero_ps() };
	assert(call->rows <= (size_t)rows);
	for (size_t b = 0; b < call->blocks; b++, p += block_bytes)
		group_block(p, qmv_offsets(&stages, b), x + b, rows, wide, hint, acc, min_acc);
	/* All lanes of a row hold parts of its S, and each the whole of its M. */
	float lane[2][16];
	SIMD_FOR (int half = 0; half < 2; half++) {
		_mm256_storeu_ps(lane[0] + 8 * half, acc[half]);
		_mm256_storeu_ps(lane[1] + 8 * half, min_acc[half]);
	}
	for (size_t r = 0; r < call->rows; r++) {
		const float *part = lane[0] + r * (size_t)(16 / rows);
		float value = part[0];
		for (int i = 1; i < 16 / rows; i++)
			value += part[i];
		value -= lane[1][r * (size_t)(16 / rows)];
		call->y[r] = call->accumulate ? call->y[r] + value : value;
	}
}

Q4K_Q8_KERNELS()

#define ROWS(kind, class) Q4K_Q8_ROWS(kind, class, )
Q4K_TABLES(q8, ROWS, TCB_CLASS_BOUNDED)
