/* SPDX-License-Identifier: MIT
 *
 * Read and copy loops of 16-byte loads of 64-bit Arm (bandwidth_loops.h).
 */
#include "device/bandwidth_loops.h"

#include <arm_neon.h>

struct sums {
	uint64x2_t sum[4];
};

static inline __attribute__((always_inline)) void read_line(struct sums *sums, const char *p)
{
	const uint64_t *words = (const uint64_t *)p;
	sums->sum[0] = veorq_u64(sums->sum[0], vld1q_u64(words));
	sums->sum[1] = veorq_u64(sums->sum[1], vld1q_u64(words + 2));
	sums->sum[2] = veorq_u64(sums->sum[2], vld1q_u64(words + 4));
	sums->sum[3] = veorq_u64(sums->sum[3], vld1q_u64(words + 6));
}

static inline uint64_t fold(const struct sums *sums)
{
	const uint64x2_t all = veorq_u64(veorq_u64(sums->sum[0], sums->sum[1]), veorq_u64(sums->sum[2], sums->sum[3]));
	return vgetq_lane_u64(all, 0) ^ vgetq_lane_u64(all, 1);
}

static inline __attribute__((always_inline)) void store_line(char *to, const char *from)
{
	const uint64_t *words = (const uint64_t *)from;
	const uint64x2_t a = vld1q_u64(words), b = vld1q_u64(words + 2), c = vld1q_u64(words + 4),
			 d = vld1q_u64(words + 6);
	vst1q_u64((uint64_t *)to, a);
	vst1q_u64((uint64_t *)to + 2, b);
	vst1q_u64((uint64_t *)to + 4, c);
	vst1q_u64((uint64_t *)to + 6, d);
}

/* Pairs of vectors with the hint that they are not needed soon. */
static inline __attribute__((always_inline)) void stream_line(char *to, const char *from)
{
	const uint64_t *words = (const uint64_t *)from;
	const uint64x2_t a = vld1q_u64(words), b = vld1q_u64(words + 2), c = vld1q_u64(words + 4),
			 d = vld1q_u64(words + 6);
	__asm__ volatile("stnp %q1, %q2, [%0]\n\tstnp %q3, %q4, [%0, #32]"
			 :
			 : "r"(to), "w"(a), "w"(b), "w"(c), "w"(d)
			 : "memory");
}

/* Other threads see such stores as they see any. */
static inline void fence(void)
{
}

TCB_READ_LOOPS(TCB_ISA_NEON, tcb_read_loops_neon)
TCB_COPY_LOOPS(TCB_ISA_NEON, tcb_copy_loops_neon)
