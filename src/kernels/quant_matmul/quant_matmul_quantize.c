/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits (struct qmm_x8), in plain C that compilers turn into
 * vectors of whatever the including file is compiled for; the same bits as
 * tcb_quant_codes().
 */
#include "kernels/quant_codes.h"
#include "kernels/quant_matmul/quant_matmul_pack.h"
#include "kernels/simd/simd.h"

SIMD_INLINE void add_sums(enum tcb_format_id format, struct qmm_x8 *x)
{
	const int runs_of_16 = qmm_run_values(format) == 16,
		  less = -qmm_start_factor(format); /* read once, not in the loop */
	_Alignas(64) int32_t four[QMM_STEPS];
	tcb_quant_sum_fours(x->q, QMM_VALUES, four);
	for (int g = 0; g < QMM_RUNS_MAX / 2; g++) {
		const int32_t *f = four + 8 * g;
		const int a = f[0] + f[1] + f[2] + f[3], b = f[4] + f[5] + f[6] + f[7];
		const int high = (a + b + 32) >> 6;
		x->sums_high[g] = (int8_t)high;
		x->sums_low[g] = (int8_t)(a + b - 64 * high);
		if (runs_of_16) {
			x->start[2 * g] = less * a;
			x->start[2 * g + 1] = less * b;
		} else {
			x->start[g] = less * (a + b);
		}
	}
}

/* FORMAT is one of those that GROUP, a constant after inlining, belongs to. */
SIMD_INLINE void quantize_groups(enum tcb_format_id format, const size_t group, const float *x, size_t x_stride,
				 size_t tokens, size_t tile, size_t k, struct qmm_x8 *out)
{
	for (size_t first = 0; first < k; first += QMM_VALUES)
		for (size_t t = 0; t < tile; t++, out++) {
			const size_t left = k - first, values = left < QMM_VALUES ? left : QMM_VALUES;
			const float *from = x + t * x_stride + first;
			if (t >= tokens || values < QMM_VALUES)
				memset(out, 0, sizeof(*out));
			for (size_t at = 0; t < tokens && at < values; at += group)
				tcb_quant_codes_inline(from + at, group, out->q + at, &out->d[at / group]);
			add_sums(format, out);
		}
}

void SIMD_NAME(qmm_quantize)(enum tcb_format_id format, const float *x, size_t x_stride, size_t tokens, size_t tile,
			     size_t k, struct qmm_x8 *out)
{
	if (qmm_group_values(format) == 32)
		quantize_groups(format, 32, x, x_stride, tokens, tile, k, out);
	else
		quantize_groups(format, QMM_VALUES, x, x_stride, tokens, tile, k, out);
}
