/* SPDX-License-Identifier: MIT
 *
 * softmax, f32, AVX-512: the micro-kernel of softmax_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/softmax/softmax_micro.h"

_Static_assert(LANES == 16, "compiled with the wrong ISA flags");

SOFTMAX_KERNEL(avx512, 1, 16)
SOFTMAX_KERNEL(avx512, 2, 32)
SOFTMAX_KERNEL(avx512, 4, 64)
SOFTMAX_KERNEL(avx512, 8, 128)
SOFTMAX_KERNEL(avx512, 16, 256)

const struct tcb_variant softmax_variants_avx512[] = {
	SOFTMAX_ROW(avx512, AVX512, 16),  SOFTMAX_ROW(avx512, AVX512, 32),  SOFTMAX_ROW(avx512, AVX512, 64),
	SOFTMAX_ROW(avx512, AVX512, 128), SOFTMAX_ROW(avx512, AVX512, 256), { 0 },
};
