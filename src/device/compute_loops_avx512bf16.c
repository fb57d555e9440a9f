/* SPDX-License-Identifier: MIT
 *
 * Arithmetic loops (compute_loops.h): dot products of bf16.
 */
#include "device/compute_loops.h"

#include <immintrin.h>

enum { CHAINS = 16 };

static inline __m512 dot(__m512 acc)
{
	const __m512i ones = _mm512_set1_epi32(0x3f803f80); /* two of bf16 */
	return _mm512_dpbf16_ps(acc, (__m512bh)ones, (__m512bh)ones);
}

static inline double low_float(__m512 acc)
{
	return (double)_mm512_cvtss_f32(acc);
}

TCB_COMPUTE_LOOP(pairs, __m512, CHAINS, _mm512_setzero_ps(), dot, low_float)

const struct tcb_compute_loop tcb_compute_loops_avx512bf16[] = {
	{ TCB_ISA_AVX512BF16, TCB_COMPUTE_BF16, "512-bit dpbf16", 64.0 * CHAINS, pairs, 2.0 * CHAINS },
	{ .run = NULL },
};
