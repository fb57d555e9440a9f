/* SPDX-License-Identifier: MIT
 *
 * Arithmetic loops (compute_loops.h) on 512-bit vectors.  Bytes: the least that
 * a sum of byte products takes is maddubs and an addition of 16 bits.
 */
#include "device/compute_loops.h"

#include <immintrin.h>

enum { CHAINS = 16 };

/* The empty statements keep the compiler from knowing the factors, so that the products are formed each time. */
static inline __m512i add_products(__m512i acc)
{
	__m512i s = _mm512_set1_epi8(1);
	__asm__ volatile("" : "+v"(s));
	return _mm512_add_epi16(acc, _mm512_maddubs_epi16(s, s));
}

static inline double low_product(__m512i acc)
{
	return (int16_t)_mm_extract_epi16(_mm512_castsi512_si128(acc), 0);
}

static inline __m512 fuse(__m512 acc)
{
	return _mm512_fmadd_ps(acc, _mm512_set1_ps(1), _mm512_set1_ps(0.5f));
}

static inline double low_float(__m512 acc)
{
	return (double)_mm512_cvtss_f32(acc);
}

TCB_COMPUTE_LOOP(bytes, __m512i, CHAINS, _mm512_setzero_si512(), add_products, low_product)
TCB_COMPUTE_LOOP(floats, __m512, CHAINS, _mm512_setzero_ps(), fuse, low_float)

const struct tcb_compute_loop tcb_compute_loops_avx512[] = {
	{ TCB_ISA_AVX512, TCB_COMPUTE_INT8, "512-bit maddubs and add", 128.0 * CHAINS, bytes, 2.0 * CHAINS },
	{ TCB_ISA_AVX512, TCB_COMPUTE_F32, "512-bit fma", 32.0 * CHAINS, floats, 0.5 * CHAINS },
	{ .run = NULL },
};
