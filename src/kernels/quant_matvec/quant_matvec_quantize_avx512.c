/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits for contract q8 of q4k_matvec, AVX-512 BW; the same
 * bits as quant_matvec_quantize_scalar.c.
 */
#include <assert.h>
#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "kernels/quant_matvec/quant_matvec_prepare.h"

/* 16 codes of x * inverse, rounded by the current mode (to nearest even). */
static inline __m128i codes16(const float *x, __m512 inverse)
{
	return _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), inverse)));
}

static void quantize_block(const float *x, struct q4k_x8 *out)
{
	const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
	__m512i largest = _mm512_setzero_si512();
	for (int i = 0; i < 256; i += 16)
		largest = _mm512_max_epi32(largest, _mm512_and_si512(_mm512_loadu_si512(x + i), magnitude));
	int bits = _mm512_reduce_max_epi32(largest);
	float max;
	memcpy(&max, &bits, sizeof(max));
	memset(out, 0, sizeof(*out));
	if (bits >= 0x7f800000) {
		out->d = NAN;
		return;
	}
	if (max < 127 * FLT_MIN)
		return;
	__m512 inverse = _mm512_set1_ps(127 / max);
	out->d = max / 127;
	__m256i sums[8];
	for (unsigned j = 0; j < 8; j++) {
		__m256i q = _mm256_set_m128i(codes16(x + 32 * j + 16, inverse), codes16(x + 32 * j, inverse));
		_mm256_store_si256((__m256i *)(out->q + 32 * q4k_x8_run(j)), q);
		sums[j] = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), q), _mm256_set1_epi16(1));
	}
	__m256i a = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
	__m256i b = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[4], sums[5]), _mm256_hadd_epi32(sums[6], sums[7]));
	__m256i sum = _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
	__m256i high = _mm256_srai_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(32)), 6);
	__m256i low = _mm256_sub_epi32(sum, _mm256_slli_epi32(high, 6));
	_mm_storeu_si128((__m128i *)out->sums, _mm256_cvtepi32_epi16(sum));
	_mm_storel_epi64((__m128i *)out->sums_high, _mm256_cvtepi32_epi8(high));
	_mm_storel_epi64((__m128i *)out->sums_low, _mm256_cvtepi32_epi8(low));
}

void q4k_quantize_avx512(const float *x, size_t blocks, struct q4k_x8 *out)
{
	assert(blocks >= 1);
	for (size_t b = 0; b < blocks; b++)
		quantize_block(x + 256 * b, out + b);
}
