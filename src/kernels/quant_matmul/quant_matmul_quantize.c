/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits (struct qmm_x8), in plain C that compilers turn into
 * vectors of whatever the including file is compiled for; the same bits as
 * tcb_quant_codes().
 */
#include <float.h>
#include <math.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "kernels/quant_matmul/quant_matmul_pack.h"
#include "kernels/simd/simd.h"

/* The largest magnitude as bits: those of infinities and NaNs are above FLT_MAX's. */
SIMD_INLINE uint32_t largest_bits(const float *x, int count)
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

/* COUNT codes of X and their scale; COUNT is a constant after inlining. */
SIMD_INLINE void quantize_group(const float *x, int count, int8_t *q, float *d)
{
	const uint32_t bits = largest_bits(x, count);
	float max;
	memcpy(&max, &bits, sizeof(max));
	if (bits >= 0x7f800000 || max < 127 * FLT_MIN) {
		memset(q, 0, (size_t)count);
		*d = bits >= 0x7f800000 ? NAN : 0;
		return;
	}
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

/* Sums of four codes each. */
SIMD_INLINE void sum_fours(const int8_t q[QMM_VALUES], int32_t out[QMM_STEPS])
{
#ifdef __AVX2__
	const __m256i one8 = _mm256_set1_epi8(1), one16 = _mm256_set1_epi16(1);
	for (int i = 0; i < QMM_VALUES / 32; i++) {
		const __m256i codes = _mm256_load_si256((const __m256i *)(q + 32 * i));
		_mm256_store_si256((__m256i *)(out + 8 * i),
				   _mm256_madd_epi16(_mm256_maddubs_epi16(one8, codes), one16));
	}
#else
	for (int i = 0; i < QMM_STEPS; i++)
		out[i] = q[4 * i] + q[4 * i + 1] + q[4 * i + 2] + q[4 * i + 3];
#endif
}

SIMD_INLINE void add_sums(enum tcb_format_id format, struct qmm_x8 *x)
{
	const int runs_of_16 = qmm_run_values(format) == 16,
		  less = -qmm_centre(format); /* read once, not in the loop */
	_Alignas(64) int32_t four[QMM_STEPS];
	sum_fours(x->q, four);
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
SIMD_INLINE void quantize_groups(enum tcb_format_id format, const int group, const float *x, size_t x_stride,
				 size_t tokens, size_t tile, size_t k, struct qmm_x8 *out)
{
	for (size_t first = 0; first < k; first += QMM_VALUES)
		for (size_t t = 0; t < tile; t++, out++) {
			const size_t left = k - first, values = left < QMM_VALUES ? left : QMM_VALUES;
			const float *from = x + t * x_stride + first;
			if (t >= tokens || values < QMM_VALUES)
				memset(out, 0, sizeof(*out));
			for (size_t at = 0; t < tokens && at < values; at += (size_t)group)
				quantize_group(from + at, group, out->q + at, &out->d[at / (size_t)group]);
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
