/* SPDX-License-Identifier: MIT
 *
 * Read and copy loops of 64-byte loads (bandwidth_loops.h).
 */
#include "device/bandwidth_loops.h"

#include <immintrin.h>

struct sums {
	__m512i a;
};

static inline __attribute__((always_inline)) void read_line(struct sums *sums, const char *p)
{
	sums->a = _mm512_xor_si512(sums->a, _mm512_load_si512(p));
}

static inline uint64_t fold(const struct sums *sums)
{
	uint64_t word[8], all = 0;
	_mm512_storeu_si512(word, sums->a);
	for (int i = 0; i < 8; i++)
		all ^= word[i];
	return all;
}

static inline __attribute__((always_inline)) void store_line(char *to, const char *from)
{
	_mm512_store_si512(to, _mm512_load_si512(from));
}

static inline __attribute__((always_inline)) void stream_line(char *to, const char *from)
{
	_mm512_stream_si512((__m512i *)to, _mm512_load_si512(from));
}

static inline void fence(void)
{
	_mm_sfence();
}

TCB_READ_LOOPS(TCB_ISA_AVX512, tcb_read_loops_avx512)
TCB_COPY_LOOPS(TCB_ISA_AVX512, tcb_copy_loops_avx512)
