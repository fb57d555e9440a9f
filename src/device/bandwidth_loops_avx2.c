/* SPDX-License-Identifier: MIT
 *
 * Read and copy loops of 32-byte loads (bandwidth_loops.h).
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

static inline __attribute__((always_inline)) void store_line(char *to, const char *from)
{
	__m256i low = _mm256_load_si256((const __m256i *)from), high = _mm256_load_si256((const __m256i *)(from + 32));
	_mm256_store_si256((__m256i *)to, low);
	_mm256_store_si256((__m256i *)(to + 32), high);
}

static inline __attribute__((always_inline)) void stream_line(char *to, const char *from)
{
	__m256i low = _mm256_load_si256((const __m256i *)from), high = _mm256_load_si256((const __m256i *)(from + 32));
	_mm256_stream_si256((__m256i *)to, low);
	_mm256_stream_si256((__m256i *)(to + 32), high);
}

static inline void fence(void)
{
	_mm_sfence();
}

TCB_READ_LOOPS(TCB_ISA_AVX2, tcb_read_loops_avx2)
TCB_COPY_LOOPS(TCB_ISA_AVX2, tcb_copy_loops_avx2)
