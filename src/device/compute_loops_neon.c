/* SPDX-License-Identifier: MIT
 *
 * Arithmetic loops (compute_loops.h) on the 128-bit vectors of 64-bit Arm with
 * dot products.
 */
#include "device/compute_loops.h"

#include <arm_neon.h>

enum { CHAINS = 16 };

/* The empty statement keeps the compiler from knowing the factors, so that the products are formed each time. */
static inline int32x4_t add_products(int32x4_t acc)
{
	int8x16_t s = vdupq_n_s8(1);
	__asm__ volatile("" : "+w"(s));
	return vdotq_s32(acc, s, s);
}

static inline double low_product(int32x4_t acc)
{
	return vgetq_lane_s32(acc, 0);
}

static inline float32x4_t fuse(float32x4_t acc)
{
	return vfmaq_f32(vdupq_n_f32(0.5f), acc, vdupq_n_f32(1));
}

static inline double low_float(float32x4_t acc)
{
	return (double)vgetq_lane_f32(acc, 0);
}

TCB_COMPUTE_LOOP(bytes, int32x4_t, CHAINS, vdupq_n_s32(0), add_products, low_product)
TCB_COMPUTE_LOOP(floats, float32x4_t, CHAINS, vdupq_n_f32(0), fuse, low_float)

const struct tcb_compute_loop tcb_compute_loops_neon[] = {
	{ TCB_ISA_NEON, TCB_COMPUTE_INT8, "128-bit sdot", 32.0 * CHAINS, bytes, 4.0 * CHAINS },
	{ TCB_ISA_NEON, TCB_COMPUTE_F32, "128-bit fmla", 8.0 * CHAINS, floats, 0.5 * CHAINS },
	{ .run = NULL },
};
