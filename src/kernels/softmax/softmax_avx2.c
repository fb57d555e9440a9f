/* SPDX-License-Identifier: MIT
 *
 * softmax, f32, AVX2 and FMA: the micro-kernel of softmax_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/softmax/softmax_micro.h"

_Static_assert(LANES == 8, "compiled with the wrong ISA flags");

SOFTMAX_KERNEL(avx2, 1, 8)
SOFTMAX_KERNEL(avx2, 2, 16)
SOFTMAX_KERNEL(avx2, 4, 32)
SOFTMAX_KERNEL(avx2, 8, 64)

const struct tcb_variant softmax_variants_avx2[] = {
	SOFTMAX_ROW(avx2, AVX2, 8),
	SOFTMAX_ROW(avx2, AVX2, 16),
	SOFTMAX_ROW(avx2, AVX2, 32),
	SOFTMAX_ROW(avx2, AVX2, 64),
	{ 0 },
};
