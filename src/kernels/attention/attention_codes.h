/* SPDX-License-Identifier: MIT
 *
 * What the micro-kernels of attention_decode share that multiply K's and V's codes as they are
 * (attention_codes_kernels.c, attention_halves_kernels.c): scales of blocks beside each other, the unit of a query
 * row's whole numbers, and weights times scales as integers of 16 bits.
 */
#ifndef TCB_KERNELS_ATTENTION_CODES_H
#define TCB_KERNELS_ATTENTION_CODES_H

#include "kernels/attention/attention_ahead.h"

#if LANES > 1

enum {
	UNIT = ATTENTION_BLOCK,
	UNITS_MAX = ATTENTION_HEAD_MAX / UNIT,
	VECTORS = UNIT / LANES, /* of floats in a unit */
	CODES_AT = 2,
	SHARE_TOKENS = ATTENTION_DECODE_SHARE, /* their weights share a scale, too */
	ROWS_MOST = 4,
	WEIGHTS_MOST = ROWS_MOST * UNITS_MAX,
	MOST_WEIGHT = 32767, /* times a code and SHARE_TOKENS fits a word */
};
/* Of weights times scales: smaller ones are zeros, so that what makes integers of them fits a float. */
static const float LEAST = 0x1p-60f;

/* Bytes of a block. */
SIMD_INLINE size_t block_of(const int kind)
{
	return kv_bytes(kind, UNIT);
}

/* The power of two, the smallest of which LARGEST is at most 32,639: what two signed bytes are. */
SIMD_INLINE float unit_of(float largest)
{
	int exponent;
	const int is_next = 2 * frexpf(largest, &exponent) >= 2 - 0x10101 * 0x1p-23f;
	return ldexpf(1, exponent + is_next - 15);
}

/* A row of q: what it is multiplied by to be whole numbers, 0 if it has a NaN or an infinity, which make NaN of its
 * SCALE, by which scores are multiplied. */
SIMD_INLINE float query_factor(const struct attention_call *call, const void *row, float *scale)
{
	vfloat top = v_set(0), odd = v_set(0);
	for (size_t at = 0; at < call->k; at += LANES) {
		const vfloat value = load_half(call->io, row, at);
		top = v_max(v_abs(value), top);
		odd = v_fma(value, v_set(0), odd);
	}
	const float largest = v_reduce_max(top);
	const int is_finite = !v_is_set(v_unordered(odd, odd));
	const float unit = is_finite && largest > 0 ? unit_of(largest) : 1;
	*scale = is_finite ? unit * call->scale : NAN;
	return is_finite ? 1 / unit : 0;
}

SIMD_INLINE size_t whole_vectors(size_t tokens)
{
	return (tokens + LANES - 1) / LANES * LANES;
}

/* The scales of COUNT tokens whose rows are ROWS, of the UNITS units of the head at AT, to [unit][token]. */
SIMD_INLINE const uint16_t *load_scales(const struct attention_call *call, const int kind, const void *const *rows,
					size_t count, size_t units, size_t at)
{
	enum { TOGETHER = 4 };
	uint16_t *to = call->scales + at / block_of(kind) * SHARE_TOKENS;
	for (size_t t = 0; t < count; t += 8) {
		const char *row[8];
		size_t u = 0;
		SIMD_FOR (int i = 0; i < 8; i++)
			row[i] = (const char *)rows[t + (size_t)i] + at;
		for (; u + TOGETHER <= units; u += TOGETHER)
			SIMD_FOR (size_t j = 0; j < TOGETHER; j++)
				vi_store_eight(to + (u + j) * SHARE_TOKENS + t, row, (u + j) * block_of(kind));
		for (; u < units; u++)
			vi_store_eight(to + u * SHARE_TOKENS + t, row, u * block_of(kind));
	}
	return to;
}

/* The weights of a few rows times scales, [unit][row], and what makes floats of sums of their products. */
struct weights {
	int16_t w[WEIGHTS_MOST][SHARE_TOKENS];
	float back[WEIGHTS_MOST];
};

/* Whether any of the scales of COUNT tokens is infinite or NaN. */
SIMD_INLINE int has_odd(const uint16_t *d, const size_t count)
{
	vfloat odd = v_set(0);
	SIMD_FOR (size_t t = 0; t < count; t += LANES)
		odd = v_fma(v_from_f16(d + t), v_set(0), odd);
	return v_is_set(v_unordered(odd, odd));
}

/* Weights of ROWS rows from P on and of COUNT tokens with scales D, of as many units as are done together.  An infinite
 * scale, or one that is NaN, makes NaN of what comes back. */
SIMD_BODY void quantise_units(const int rows, const int units, const size_t count, const float *p, const uint16_t *d,
			      int16_t w[][SHARE_TOKENS], float *back)
{
	const int all = rows * units, vectors = (int)(count / LANES);
	vfloat top[LANES], odd = v_set(0);
	float factor[LANES];
	SIMD_FOR (int i = 0; i < LANES; i++)
		top[i] = v_set(0);
	SIMD_FOR (int u = 0; u < units; u++)
		SIMD_FOR (int j = 0; j < vectors; j++) {
			const vfloat scale = v_from_f16(d + u * SHARE_TOKENS + j * LANES), size = v_abs(scale);
			odd = v_fma(scale, v_set(0), odd);
			SIMD_FOR (int r = 0; r < rows; r++) {
				const vfloat x = v_mul(v_load(p + r * ATTENTION_DECODE_LEAD + j * LANES), size);
				top[u * rows + r] = j ? v_max(x, top[u * rows + r]) : x;
			}
		}
	const vfloat largest = v_max(v_reduce_each_max(top), v_set(LEAST));
	v_store(factor, v_div(v_set(MOST_WEIGHT), largest));
	v_store_left(back, v_mul(largest, v_set(1.0f / MOST_WEIGHT)), (size_t)all, 0);
	SIMD_FOR (int u = 0; u < units; u++)
		SIMD_FOR (int j = 0; j < vectors; j++) {
			const vfloat scale = v_from_f16(d + u * SHARE_TOKENS + j * LANES);
			SIMD_FOR (int r = 0; r < rows; r++) {
				const vfloat by = v_mul(scale, v_set(factor[u * rows + r]));
				vi_store_halves(
					w[u * rows + r] + j * LANES,
					vi_to_words(v_mul(v_load(p + r * ATTENTION_DECODE_LEAD + j * LANES), by)));
			}
		}
	if (!v_is_set(v_unordered(odd, odd)))
		return;
	for (int u = 0; u < units; u++)
		for (int r = 0; r < rows && has_odd(d + u * SHARE_TOKENS, count); r++)
			back[u * rows + r] = NAN;
}

SIMD_INLINE void quantise(const struct attention_call *call, const int rows, const size_t count, const float *p,
			  const uint16_t *d, struct weights *out)
{
	enum { LEAST_UNITS = LANES / ROWS_MOST };
	const size_t units = call->v / UNIT;
	size_t u = 0;
	for (; u + LEAST_UNITS <= units; u += LEAST_UNITS)
		quantise_units(rows, LEAST_UNITS, count, p, d + u * SHARE_TOKENS, out->w + u * (size_t)rows,
			       out->back + u * (size_t)rows);
	for (; u < units; u++)
		quantise_units(rows, 1, count, p, d + u * SHARE_TOKENS, out->w + u * (size_t)rows,
			       out->back + u * (size_t)rows);
}

/* Scores of all heads before the first weights: these are long chains, and of many rows at a time. */
SIMD_INLINE void weigh_all(const struct attention_call *call)
{
	for (size_t r = 0; r < call->rows; r += LANES)
		weigh_rows(call, r, call->rows - r < LANES ? call->rows - r : LANES, 1, 0);
}

#endif
#endif
