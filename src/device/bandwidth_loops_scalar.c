/* SPDX-License-Identifier: MIT
 *
 * Read and copy loops of 8-byte loads, for any processor (bandwidth_loops.h).
 */
#include "device/bandwidth_loops.h"

#include <string.h>

struct sums {
	uint64_t a, b;
};

static inline __attribute__((always_inline)) void read_line(struct sums *sums, const char *p)
{
	uint64_t word[TCB_READ_LINE / 8];
	memcpy(word, p, sizeof word);
	sums->a ^= word[0] ^ word[2] ^ word[4] ^ word[6];
	sums->b ^= word[1] ^ word[3] ^ word[5] ^ word[7];
}

static inline uint64_t fold(const struct sums *sums)
{
	return sums->a ^ sums->b;
}

static inline __attribute__((always_inline)) void store_line(char *to, const char *from)
{
	memcpy(to, from, TCB_READ_LINE);
}

/* Portable code has no such stores; the rows that ask for them are as the others. */
static inline __attribute__((always_inline)) void stream_line(char *to, const char *from)
{
	store_line(to, from);
}

static inline void fence(void)
{
}

TCB_READ_LOOPS(TCB_ISA_SCALAR, tcb_read_loops_scalar)
TCB_COPY_LOOPS(TCB_ISA_SCALAR, tcb_copy_loops_scalar)
