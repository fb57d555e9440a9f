/* SPDX-License-Identifier: MIT
 *
 * Arithmetic loops (compute_loops.h) on 256-bit vectors.  Bytes: the least that
 * a sum of byte products takes is maddubs and an addition of 16 bits.
 */
#include "device/compute_loops.h"

#include <immintrin.h>

enum { CHAINS = 10 };

/* The empty statements keep the compiler from knowing the factors, so that the products are formed each time. */
static inline __m256i add_products(__m256i acc)
{
	__m256i s = _mm256_set1_epi8(1);
	__asm__ volatile("" : "+x"(s));
	return _mm256_add_epi16(acc, _mm256_maddubs_epi16(s, s));
}

static inline double low_product(__m256i acc)
{
	return (int16_t)_mm256_extract_epi16(acc, 0);
}

static inline __m256 fuse(__m256 acc)
{
	return _mm256_fmadd_ps(acc, _mm256_set1_ps(1), _mm256_set1_ps(0.5f));
}

static inline double low_float(__m256 acc)
{
	return (double)_mm256_cvtss_f32(acc);
}

TCB_COMPUTE_LOOP(bytes, __m256i, CHAINS, _mm256_setzero_si256(), add_products, low_product)
TCB_COMPUTE_LOOP(floats, __m256, CHAINS, _mm256_setzero_ps(), fuse, low_float)

const struct tcb_compute_loop tcb_compute_loops_avx2[] = {
	{ TCB_ISA_AVX2, TCB_COMPUTE_INT8, "256-bit maddubs and add", 64.0 * CHAINS, bytes, 2.0 * CHAINS },
	{ TCB_ISA_AVX2, TCB_COMPUTE_F32, "256-bit fma", 16.0 * CHAINS, floats, 0.5 * CHAINS },
	{ .run = NULL },
};
