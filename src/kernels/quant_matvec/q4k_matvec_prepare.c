/* SPDX-License-Identifier: MIT
 *
 * Activations as Q4_K's own kernels want them (struct q4k_x8, struct q4k_x32), in plain C that compilers turn into
 * vectors of whatever the including file is compiled for.
 */
#include <string.h>

#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec_sums.h"

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
