/* SPDX-License-Identifier: MIT
 *
 * Read loops of 32-byte loads (bandwidth_loops.h).
 */
#include "device/bandwidth_loops.h"

#include <immintrin.h>

struct sums {
	__m256i a, b;
};

static inline __attribute__((always_inline)) void read_line(struct sums *sums, const char *p)
{
	sums->a = _mm256_xor_si256(sums->a, _mm256_load_si256((const __m256i *)p));
	sums->b = _mm256_xor_si256(sums->b, _mm256_load_si256((const __m256i *)(p + 32)));
}

static inline uint64_t fold(const struct sums *sums)
{
	__m256i both = _mm256_xor_si256(sums->a, sums->b);
	__m128i half = _mm_xor_si128(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
	return (uint64_t)_mm_extract_epi64(half, 0) ^ (uint64_t)_mm_extract_epi64(half, 1);
}

TCB_READ_LOOPS(TCB_ISA_AVX2, tcb_read_loops_avx2)
