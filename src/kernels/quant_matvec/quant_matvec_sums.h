/* SPDX-License-Identifier: MIT
 *
 * Sums of runs of activations, and of their codes, as prepared activations have them.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_SUMS_H
#define TCB_KERNELS_QUANT_MATVEC_SUMS_H

#include "kernels/quant_codes.h"
#include "kernels/quant_matvec/quant_matvec_layout.h"
#include "kernels/simd/simd.h"

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

#endif
