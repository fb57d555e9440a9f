/* SPDX-License-Identifier: MIT
 *
 * softmax, f32, NEON: the micro-kernel of softmax_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/softmax/softmax_micro.h"

_Static_assert(LANES == 4, "compiled with the wrong ISA flags");

SOFTMAX_KERNEL(neon, 1, 4)
SOFTMAX_KERNEL(neon, 2, 8)
SOFTMAX_KERNEL(neon, 4, 16)
SOFTMAX_KERNEL(neon, 8, 32)

const struct tcb_variant softmax_variants_neon[] = {
	SOFTMAX_ROW(neon, NEON, 4),
	SOFTMAX_ROW(neon, NEON, 8),
	SOFTMAX_ROW(neon, NEON, 16),
	SOFTMAX_ROW(neon, NEON, 32),
	{ 0 },
};
