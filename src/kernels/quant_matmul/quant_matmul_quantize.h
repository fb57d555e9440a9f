/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits (struct qmm_x8), in plain C that compilers turn into
 * vectors of whatever the including file is compiled for; the same bits as
 * tcb_quant_codes().
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_QUANTIZE_H
#define TCB_KERNELS_QUANT_MATMUL_QUANTIZE_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/quant_matmul/quant_matmul_cpu.h"

/* The largest magnitude as bits: those of infinities and NaNs are above FLT_MAX's. */
static inline uint32_t largest_bits(const float *x, int count)
{
	uint32_t largest = 0;
	for (int i = 0; i < count; i++) {
		uint32_t bits;
		memcpy(&bits, x + i, sizeof(bits));
		bits &= 0x7fffffff;
		largest = bits > largest ? bits : largest;
	}
	return largest;
}

/* COUNT codes of X and their scale. */
static inline void quantize_group(const float *x, int count, int8_t *q, float *d)
{
	const uint32_t bits = largest_bits(x, count);
	float max;
	memcpy(&max, &bits, sizeof(max));
	memset(q, 0, (size_t)count);
	*d = 0;
	if (bits >= 0x7f800000) {
		*d = NAN;
		return;
	}
	if (max < 127 * FLT_MIN)
		return;
	const float inverse = 127 / max;
	*d = max / 127;
	for (int i = 0; i < count; i++) {
		/* 1.5 * 2^23: the sum's unit is 1, so that adding rounds to the nearest even integer. */
		const float shifted = x[i] * inverse + 12582912.0f;
		int32_t code;
		memcpy(&code, &shifted, sizeof(code));
		q[i] = (int8_t)(code - 0x4b400000);
	}
}

static inline void add_sums(enum tcb_format_id format, struct qmm_x8 *x)
{
	int sum[QMM_RUNS_MAX] = { 0 };
	for (int g = 0; g < QMM_RUNS_MAX; g++)
		for (int i = 0; i < QMM_VALUES / QMM_RUNS_MAX; i++)
			sum[g] += x->q[QMM_VALUES / QMM_RUNS_MAX * g + i];
	for (int g = 0; g < QMM_RUNS_MAX / 2; g++) {
		const int both = sum[2 * g] + sum[2 * g + 1], high = (both + 32) >> 6;
		x->sums_high[g] = (int8_t)high;
		x->sums_low[g] = (int8_t)(both - 64 * high);
		x->start[g] = -qmm_centre(format) * both;
	}
	for (int g = 0; qmm_run_values(format) == 16 && g < QMM_RUNS_MAX; g++)
		x->start[g] = -qmm_centre(format) * sum[g];
}

static inline void quantize(enum tcb_format_id format, const float *x, size_t x_stride, size_t tokens, size_t tile,
			    size_t k, struct qmm_x8 *out)
{
	const size_t group = (size_t)qmm_group_values(format);
	for (size_t first = 0; first < k; first += QMM_VALUES)
		for (size_t t = 0; t < tile; t++, out++) {
			const size_t left = k - first, values = left < QMM_VALUES ? left : QMM_VALUES;
			memset(out, 0, sizeof(*out));
			for (size_t at = 0; t < tokens && at < values; at += group)
				quantize_group(x + t * x_stride + first + at, (int)group, out->q + at,
					       &out->d[at / group]);
			add_sums(format, out);
		}
}

#endif
