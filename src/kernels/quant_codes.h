/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits (tcb_quant_codes() of quant.h), in plain C that
 * compilers turn into vectors of whatever the including file is compiled for.
 */
#ifndef TCB_KERNELS_QUANT_CODES_H
#define TCB_KERNELS_QUANT_CODES_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#define QUANT_INLINE static inline __attribute__((always_inline))

/* COUNT is a multiple of 32. */
QUANT_INLINE void tcb_quant_codes_inline(const float *x, size_t count, int8_t *code_out, float *d_out)
{
	uint32_t largest = 0; /* as bits: those of infinities and NaNs are above FLT_MAX's */
	for (size_t i = 0; i < count; i++) {
		uint32_t bits;
		memcpy(&bits, x + i, sizeof(bits));
		bits &= 0x7fffffff;
		largest = bits > largest ? bits : largest;
	}
	float max;
	memcpy(&max, &largest, sizeof(max));
	*d_out = largest >= 0x7f800000 ? NAN : 0;
	if (largest >= 0x7f800000 || max < 127 * FLT_MIN) {
		memset(code_out, 0, count);
		return;
	}
	const float inverse = 127 / max;
	*d_out = max / 127;
#ifdef __AVX2__
	const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7); /* undoes the packs' lanes */
	for (size_t i = 0; i < count; i += 32) {
		__m256i eight[4];
		for (int j = 0; j < 4; j++)
			eight[j] = _mm256_cvtps_epi32(
				_mm256_mul_ps(_mm256_loadu_ps(x + i + 8 * j), _mm256_set1_ps(inverse)));
		const __m256i low = _mm256_packs_epi32(eight[0], eight[1]),
			      high = _mm256_packs_epi32(eight[2], eight[3]);
		_mm256_storeu_si256((__m256i *)(code_out + i),
				    _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order));
	}
#else
	for (size_t i = 0; i < count; i++) {
		/* 1.5 * 2^23: the sum's unit is 1, so that adding rounds to the nearest even integer. */
		const float shifted = x[i] * inverse + 0x1.8p23f;
		int32_t bits;
		memcpy(&bits, &shifted, sizeof(bits));
		code_out[i] = (int8_t)(bits - 0x4b400000);
	}
#endif
}

/* Sums of four of COUNT codes each, 64-byte aligned. */
QUANT_INLINE void tcb_quant_sum_fours(const int8_t *code, size_t count, int32_t *out)
{
#ifdef __AVX2__
	const __m256i one8 = _mm256_set1_epi8(1), one16 = _mm256_set1_epi16(1);
	for (size_t i = 0; i < count; i += 32) {
		const __m256i codes = _mm256_load_si256((const __m256i *)(code + i));
		_mm256_store_si256((__m256i *)(out + i / 4),
				   _mm256_madd_epi16(_mm256_maddubs_epi16(one8, codes), one16));
	}
#else
	for (size_t i = 0; i < count / 4; i++)
		out[i] = code[4 * i] + code[4 * i + 1] + code[4 * i + 2] + code[4 * i + 3];
#endif
}

#endif
