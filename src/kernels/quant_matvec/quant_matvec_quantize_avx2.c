/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits for contract q8 of q4k_matvec, AVX2; the same bits as
 * quant_matvec_quantize_scalar.c.
 */
#include <assert.h>
#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "kernels/quant_matvec/quant_matvec_prepare.h"

static int largest_magnitude(const float *x)
{
	const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
	__m256i largest = _mm256_setzero_si256();
	for (int i = 0; i < 256; i += 8)
		largest = _mm256_max_epi32(largest,
					   _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(x + i)), magnitude));
	__m128i four = _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
	__m128i two = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
	return _mm_cvtsi128_si32(_mm_max_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
}

static inline __m256i codes8(const float *x, __m256 inverse)
{
	return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inverse));
}

/* Eight int32 of at most 16 bits to int16. */
static inline __m128i narrow16(__m256i v)
{
	return _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

static void quantize_block(const float *x, struct q4k_x8 *out)
{
	int bits = largest_magnitude(x);
	float max;
	memcpy(&max, &bits, sizeof(max));
	memset(out, 0, sizeof(*out));
	if (bits >= 0x7f800000) {
		out->d = NAN;
		return;
	}
	if (max < 127 * FLT_MIN)
		return;
	__m256 inverse = _mm256_set1_ps(127 / max);
	out->d = max / 127;
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* undoes the packs' lanes */
	__m256i sums[8];
	for (unsigned j = 0; j < 8; j++) {
		const float *run = x + 32 * j;
		__m256i low = _mm256_packs_epi32(codes8(run, inverse), codes8(run + 8, inverse));
		__m256i high = _mm256_packs_epi32(codes8(run + 16, inverse), codes8(run + 24, inverse));
		__m256i q = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
		_mm256_store_si256((__m256i *)(out->q + 32 * q4k_x8_run(j)), q);
		sums[j] = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), q), _mm256_set1_epi16(1));
	}
	__m256i a = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]), _mm256_hadd_epi32(sums[2], sums[3]));
	__m256i b = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[4], sums[5]), _mm256_hadd_epi32(sums[6], sums[7]));
	__m256i sum = _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
	__m256i high = _mm256_srai_epi32(_mm256_add_epi32(sum, _mm256_set1_epi32(32)), 6);
	__m256i low = _mm256_sub_epi32(sum, _mm256_slli_epi32(high, 6));
	_mm_storeu_si128((__m128i *)out->sums, narrow16(sum));
	_mm_storeu_si128((__m128i *)out->sums_high, _mm_packs_epi16(narrow16(high), narrow16(low)));
}

void q4k_quantize_avx2(const float *x, size_t blocks, struct q4k_x8 *out)
{
	assert(blocks >= 1);
	for (size_t b = 0; b < blocks; b++)
		quantize_block(x + 256 * b, out + b);
}
