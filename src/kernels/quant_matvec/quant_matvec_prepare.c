/* SPDX-License-Identifier: MIT
 *
 * Activations as the kernels of quant_matvec_native.h want them (struct qmv_x8,
 * struct qmv_x32), in plain C that compilers turn into vectors of whatever the
 * including file is compiled for.  In: K floats.  Out: superblocks of 256, the
 * last one filled up with zeros.
 */
#include "kernels/quant_matvec/quant_matvec_prepare.h"
#include "kernels/quant_codes.h"
#include "kernels/simd/simd.h"

static inline size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
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
		for (size_t r = 0; format->has_offsets && r < 8; r++) {
			int sum = 0;
			for (size_t i = 32 * r; i < 32 * (r + 1); i++)
				sum += out->q[i];
			out->sums[8 + r] = (float)sum;
			out->sums_high[r] = (int8_t)((sum + 32) >> 6);
			out->sums_low[r] = (int8_t)(sum - 64 * out->sums_high[r]);
		}
		x += values;
		k -= values;
	}
}

/* The sums of 16 values in pairs, four times. */
static inline float sum_16(const float *x)
{
	float eight[8];
	for (int i = 0; i < 8; i++)
		eight[i] = x[i] + x[i + 8];
	for (int i = 0; i < 4; i++)
		eight[i] += eight[i + 4];
	return (eight[0] + eight[2]) + (eight[1] + eight[3]);
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
				out->sums[r] = (float)format->centre * sum_16(filled + 16 * r);
			else if (r < 8 && format->centre)
				out->sums[r] = (float)format->centre *
					       (sum_16(filled + 32 * r) + sum_16(filled + 32 * r + 16));
			else if (r >= 8 && format->has_offsets)
				out->sums[r] = sum_16(filled + 32 * (r - 8)) + sum_16(filled + 32 * (r - 8) + 16);
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
