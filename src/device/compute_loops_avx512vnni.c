/* SPDX-License-Identifier: MIT
 *
 * Arithmetic loops (compute_loops.h): byte dot products of VNNI.
 */
#include "device/compute_loops.h"

#include <immintrin.h>

enum { CHAINS = 16 };

static inline __m512i dot(__m512i acc)
{
	return _mm512_dpbusd_epi32(acc, _mm512_set1_epi8(3), _mm512_set1_epi8(-1));
}

static inline double low_sum(__m512i acc)
{
	return _mm_cvtsi128_si32(_mm512_castsi512_si128(acc));
}

TCB_COMPUTE_LOOP(bytes, __m512i, CHAINS, _mm512_setzero_si512(), dot, low_sum)

const struct tcb_compute_loop tcb_compute_loops_avx512vnni[] = {
	{ TCB_ISA_AVX512VNNI, TCB_COMPUTE_INT8, "512-bit dpbusd", 128.0 * CHAINS, bytes, -12.0 * CHAINS },
	{ .run = NULL },
};
