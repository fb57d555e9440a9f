/* SPDX-License-Identifier: MIT
 *
 * Activations as the kernels of quant_matvec_native.h want them (struct qmv_x8,
 * struct qmv_x32), in plain C that compilers turn into vectors of whatever the including file is compiled for.  In: K
 * floats.  Out: superblocks of 256, the last one filled up with zeros.  And the neighbours that a MatVec is fused with:
 * the norm before that, the gate after the products.
 */
#include <math.h>

#include "kernels/quant_codes.h"
#include "kernels/quant_matvec/quant_matvec_fused.h"
#include "kernels/quant_matvec/quant_matvec_prepare.h"
#include "kernels/quant_matvec/quant_matvec_sums.h"
#include "kernels/simd/simd_silu.h"

static inline size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

void SIMD_NAME(qmv_prepare_q8)(const struct tcb_format *format, const float *x, size_t k, struct qmv_x8 *out)
{
	const int centre = qmv_centre(format->id);
	const size_t group = tcb_quant_group(format), run = format->run_values;
	const int is_expanded = tcb_is_expanded(format->id);
	for (; k > 0; out++) {
		const size_t values = least(k, QMV_SUPER);
		memset(out, 0, sizeof(*out));
		for (size_t g = 0; g < values; g += group) {
			float d;
			tcb_quant_codes_inline(x + g, group, out->q + g, &d);
			for (size_t r = g / run; r < (group == QMV_SUPER ? QMV_RUNS : (g + group) / run); r++)
				out->d[r] = d;
		}
		for (size_t i = 0; i < QMV_SUPER / 4; i++) {
			const int8_t *q = out->q + 4 * i;
			out->start[i] = -centre * (q[0] + q[1] + q[2] + q[3]);
		}
		const size_t words = run / 4;
		for (size_t r = 0; r < QMV_RUNS; r++) {
			for (size_t i = words * r; i < words * (r + 1) && i < QMV_SUPER / 4; i++)
				out->run_start[r] += out->start[i];
		}
		for (size_t r = 0; is_expanded && format->has_offsets && r < QMV_SUPER / run; r++) {
			int sum = 0;
			for (size_t i = run * r; i < run * (r + 1); i++)
				sum += out->q[i];
			out->sums[r] = (float)sum * out->d[r];
			split_sum(sum, &out->sums_high[r], &out->sums_low[r]);
		}
		if (!is_expanded && format->has_offsets) {
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

/* Sum of run R of COUNT values, 16 or 32. */
static inline float sum_run(const float *x, size_t count, size_t r)
{
	return count == 16 ? sum_halves(x + 16 * r, 16) : sum_halves(x + 32 * r, 16) + sum_halves(x + 32 * r + 16, 16);
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
			if (tcb_is_expanded(format->id) && !format->centre) {
				if (format->has_offsets && r < QMV_SUPER / format->run_values)
					out->sums[r] = sum_run(filled, format->run_values, r);
			} else if (format->run_values == 16)
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

/* Activations for weights without sums. */
static void order_by_pairs(const float *x, size_t k, struct qmv_x32 *out)
{
	for (; k > 0; out++) {
		const size_t values = least(k, QMV_SUPER);
		memset(out, 0, sizeof(*out));
		for (size_t i = 0; i < values; i++)
			out->x[i / 64 * 64 + i / 8 % 2 * 32 + i % 2 * 16 + i / 16 % 4 * 4 + i / 2 % 4] = x[i];
		x += values;
		k -= values;
	}
}

void SIMD_NAME(qmv_prepare_f32)(const struct tcb_format *format, enum qmv_order order, const float *x, size_t k,
				struct qmv_x32 *out)
{
	if (order == QMV_BY_PAIRS)
		order_by_pairs(x, k, out);
	else if (order == QMV_AS_THEY_ARE)
		prepare_f32(format, 1, x, k, out);
	else
		prepare_f32(format, LANES, x, k, out);
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

void SIMD_NAME(qmv_norm)(const float *x, const float *norm, double eps, size_t k, float *out)
{
	const double factor = 1 / sqrt(sum_squares(x, k) / (double)k + eps);
	/* Powers of two, so that neither product leaves the range of f32 where the result does not. */
	const double root = factor < 0x1p-60 ? 0x1p-64 : 1;
	const float first = (float)root, second = (float)(factor / root);
	for (size_t i = 0; i < k; i++)
		out[i] = x[i] * first * second * norm[i];
}

void SIMD_NAME(qmv_gate)(float *gate, const float *up, size_t count)
{
	size_t i = 0;
	for (; i + LANES <= count; i += LANES)
		v_store(gate + i, v_mul(v_silu(v_load(gate + i), 1), v_load(up + i)));
	if (i < count) {
		const vfloat p = v_load_part(gate + i, count - i, 0), u = v_load_part(up + i, count - i, 0);
		v_store_part(gate + i, v_mul(v_silu(p, 1), u), count - i);
	}
}
