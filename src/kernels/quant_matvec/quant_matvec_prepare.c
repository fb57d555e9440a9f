/* SPDX-License-Identifier: MIT
 *
 * Activations as the kernels of quant_matvec_native.h want them (struct qmv_x8,
 * struct qmv_x32), and as Q4_K's own do (struct q4k_x8, struct q4k_x32), in plain C that compilers turn into vectors of
 * whatever the including file is compiled for.  In: K floats.  Out: superblocks of 256, the last one filled up with
 * zeros.  And the neighbours that a MatVec is fused with: the norm before that, the gate after the products.
 */
#include <math.h>

#include "kernels/quant_codes.h"
#include "kernels/quant_matvec/quant_matvec_fused.h"
#include "kernels/quant_matvec/quant_matvec_prepare.h"
#include "kernels/simd/simd_exp.h"

static inline size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* SUM == 64 HIGH + LOW, -32 <= LOW < 32. */
static inline void split_sum(int sum, int8_t *high, int8_t *low)
{
	*high = (int8_t)((sum + 32) >> 6);
	*low = (int8_t)(sum - 64 * *high);
}

/* Sums of 32 codes each. */
static inline void sum_runs(const int8_t q[QMV_SUPER], int out[8])
{
	_Alignas(64) int32_t fours[QMV_SUPER / 4];
	tcb_quant_sum_fours(q, QMV_SUPER, fours);
#ifdef __AVX2__
	__m256i pairs[4], sums[2];
	for (int i = 0; i < 4; i++)
		pairs[i] = _mm256_hadd_epi32(_mm256_load_si256((const __m256i *)(fours + 16 * i)),
					     _mm256_load_si256((const __m256i *)(fours + 16 * i + 8)));
	for (int i = 0; i < 2; i++)
		sums[i] = _mm256_hadd_epi32(pairs[2 * i], pairs[2 * i + 1]);
	_mm256_storeu_si256((__m256i *)out, _mm256_add_epi32(_mm256_permute2x128_si256(sums[0], sums[1], 0x20),
							     _mm256_permute2x128_si256(sums[0], sums[1], 0x31)));
#else
	for (int r = 0; r < 8; r++) {
		out[r] = 0;
		for (int i = 8 * r; i < 8 * (r + 1); i++)
			out[r] += fours[i];
	}
#endif
}

void SIMD_NAME(qmv_prepare_q8)(const struct tcb_format *format, const float *x, size_t k, struct qmv_x8 *out)
{
	const int centre = qmv_centre(format->id);
	const size_t group = tcb_quant_group(format);
	for (; k > 0; out++) {
		const size_t values = least(k, QMV_SUPER);
		memset(out, 0, sizeof(*out));
		for (size_t g = 0; g < values; g += group)
			tcb_quant_codes_inline(x + g, group, out->q + g, &out->d[g / group]);
		for (size_t r = 1; group == QMV_SUPER && r < QMV_RUNS; r++)
			out->d[r] = out->d[0];
		for (size_t i = 0; i < QMV_SUPER / 4; i++) {
			const int8_t *q = out->q + 4 * i;
			out->start[i] = -centre * (q[0] + q[1] + q[2] + q[3]);
		}
		const size_t words = format->run_values / 4;
		for (size_t r = 0; r < QMV_RUNS; r++) {
			for (size_t i = words * r; i < words * (r + 1) && i < QMV_SUPER / 4; i++)
				out->run_start[r] += out->start[i];
		}
		if (format->has_offsets) {
			int sums[8];
			sum_runs(out->q, sums);
			for (size_t r = 0; r < 8; r++) {
				out->sums[8 + r] = (float)sums[r];
				split_sum(sums[r], &out->sums_high[r], &out->sums_low[r]);
			}
		}
		x += values;
		k -= values;
	}
}

/* COUNT values, 16 or 32, each half of them added to the other until one is left. */
static inline float sum_halves(const float *x, size_t count)
{
	vfloat sum[32 / LANES];
	size_t vectors = count / LANES;
	for (size_t i = 0; i < vectors; i++)
		sum[i] = v_load(x + LANES * i);
	while (vectors /= 2)
		for (size_t i = 0; i < vectors; i++)
			sum[i] = v_add(sum[i], sum[vectors + i]);
	return v_reduce_add(sum[0]);
}

static inline void prepare_f32(const struct tcb_format *format, size_t lanes, const float *x, size_t k,
			       struct qmv_x32 *out)
{
	for (; k > 0; out++) {
		const size_t values = least(k, QMV_SUPER);
		float filled[QMV_SUPER] = { 0 };
		memcpy(filled, x, values * sizeof(float));
		for (size_t first = 0; first < QMV_SUPER; first += 4 * lanes)
			for (size_t b = 0; b < 4; b++)
				for (size_t w = 0; w < lanes; w++)
					out->x[first + lanes * b + w] = filled[first + 4 * w + b];
		for (size_t r = 0; r < QMV_RUNS; r++) {
			out->sums[r] = 0;
			if (format->run_values == 16)
				out->sums[r] = (float)format->centre * sum_halves(filled + 16 * r, 16);
			else if (r < 8 && format->centre)
				out->sums[r] = (float)format->centre *
					       (sum_halves(filled + 32 * r, 16) + sum_halves(filled + 32 * r + 16, 16));
			else if (r >= 8 && format->has_offsets)
				out->sums[r] = sum_halves(filled + 32 * (r - 8), 16) +
					       sum_halves(filled + 32 * (r - 8) + 16, 16);
		}
		x += values;
		k -= values;
	}
}

void SIMD_NAME(qmv_prepare_f32)(const struct tcb_format *format, int as_they_are, const float *x, size_t k,
				struct qmv_x32 *out)
{
	if (as_they_are)
		prepare_f32(format, 1, x, k, out);
	else
		prepare_f32(format, LANES, x, k, out);
}

void SIMD_NAME(q4k_quantize)(const float *x, size_t blocks, struct q4k_x8 *out)
{
	for (; blocks > 0; blocks--, x += Q4K_BLOCK_VALUES, out++) {
		_Alignas(64) int8_t q[Q4K_BLOCK_VALUES];
		int sums[8];
		memset(out, 0, sizeof(*out));
		tcb_quant_codes_inline(x, Q4K_BLOCK_VALUES, q, &out->d);
		sum_runs(q, sums);
		for (unsigned j = 0; j < 8; j++) {
			memcpy(out->q + 32 * q4k_x8_run(j), q + 32 * j, 32);
			out->sums[j] = (int16_t)sums[j];
			split_sum(sums[j], &out->sums_high[j], &out->sums_low[j]);
		}
	}
}

/* Values 4 w + b of the 32 at X to 16 b + w. */
static inline void spread_words(const float *x, float *to)
{
#ifdef __AVX2__
	const __m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(x + 8);
	const __m256 c = _mm256_loadu_ps(x + 16), d = _mm256_loadu_ps(x + 24);
	/* words 0 and 4, 1 and 5, 2 and 6, 3 and 7 */
	const __m256 w0 = _mm256_permute2f128_ps(a, c, 0x20), w1 = _mm256_permute2f128_ps(a, c, 0x31);
	const __m256 w2 = _mm256_permute2f128_ps(b, d, 0x20), w3 = _mm256_permute2f128_ps(b, d, 0x31);
	const __m256 t0 = _mm256_unpacklo_ps(w0, w2), t1 = _mm256_unpackhi_ps(w0, w2);
	const __m256 t2 = _mm256_unpacklo_ps(w1, w3), t3 = _mm256_unpackhi_ps(w1, w3);
	_mm256_store_ps(to, _mm256_unpacklo_ps(t0, t2));
	_mm256_store_ps(to + 16, _mm256_unpackhi_ps(t0, t2));
	_mm256_store_ps(to + 32, _mm256_unpacklo_ps(t1, t3));
	_mm256_store_ps(to + 48, _mm256_unpackhi_ps(t1, t3));
#else
	for (unsigned b = 0; b < 4; b++)
		for (unsigned w = 0; w < 8; w++)
			to[16 * b + w] = x[4 * w + b];
#endif
}

void SIMD_NAME(q4k_prepare)(const float *x, size_t blocks, struct q4k_x32 *out)
{
	for (; blocks > 0; blocks--, x += Q4K_BLOCK_VALUES, out++)
		for (unsigned j = 0; j < 8; j++) {
			spread_words(x + 32 * j, out->x + q4k_x32_index(32 * j));
			out->sums[j] = sum_halves(x + 32 * j, 32);
		}
}

/* --- fused --- */

/* Squares in double, so that none overflows.  FOLD sums: as many as hide the latency of additions. */
static double sum_squares(const float *x, size_t k)
{
	enum { FOLD = 32 };
	double sum[FOLD] = { 0 };
	size_t i = 0;
	for (; i + FOLD <= k; i += FOLD)
		for (size_t j = 0; j < FOLD; j++)
			sum[j] += (double)x[i + j] * (double)x[i + j];
	for (; i < k; i++)
		sum[0] += (double)x[i] * (double)x[i];
	for (size_t half = FOLD / 2; half > 0; half /= 2)
		for (size_t j = 0; j < half; j++)
			sum[j] += sum[half + j];
	return sum[0];
}

void SIMD_NAME(qmv_norm)(const float *x, const float *norm, size_t k, float *out)
{
	const double factor = 1 / sqrt(sum_squares(x, k) / (double)k + QMV_NORM_EPS);
	/* Powers of two, so that neither product leaves the range of f32 where the result does not. */
	const double root = factor < 0x1p-60 ? 0x1p-64 : 1;
	const float first = (float)root, second = (float)(factor / root);
	for (size_t i = 0; i < k; i++)
		out[i] = x[i] * first * second * norm[i];
}

/*
 * silu(p) = (max(p, 0) + min(p, 0) t) / (1 + t), t = exp(-|p|): one of the two is 0.  v_exp does not go below exp(-88),
 * so p does not go below -128 there: what is left is below 2^-119.  Of -inf the formula makes a NaN, -inf / inf; so
 * does 0 times that.  A NaN is in the second operand of v_max, which lets it through.
 */
SIMD_INLINE vfloat silu(vfloat p)
{
	const vfloat zero = v_set(0), minus = v_sub(zero, p);
	const vfloat t = v_exp(v_sub(zero, v_max(minus, p)));
	const vfloat above = v_max(zero, p), below = v_max(zero, minus);
	const vfloat least = v_max(v_set(-128), v_sub(zero, below));
	return v_add(v_add(above, v_mul(least, t)), v_mul(below, zero)) / v_add(v_set(1), t);
}

void SIMD_NAME(qmv_gate)(float *gate, const float *up, size_t count)
{
	size_t i = 0;
	for (; i + LANES <= count; i += LANES)
		v_store(gate + i, v_mul(silu(v_load(gate + i)), v_load(up + i)));
	if (i < count) {
		const vfloat p = v_load_part(gate + i, count - i, 0), u = v_load_part(up + i, count - i, 0);
		v_store_part(gate + i, v_mul(silu(p), u), count - i);
	}
}
