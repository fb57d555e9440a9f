/* SPDX-License-Identifier: MIT
 *
 * layernorm, f32, AVX2: the micro-kernel of layernorm_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/layernorm/layernorm_micro.h"

_Static_assert(LANES == 8, "compiled with the wrong ISA flags");

LAYERNORM_KERNEL(avx2, 1, 8)
LAYERNORM_KERNEL(avx2, 2, 16)
LAYERNORM_KERNEL(avx2, 4, 32)

const struct tcb_variant layernorm_variants_avx2[] = {
	LAYERNORM_ROW(avx2, AVX2, 8),
	LAYERNORM_ROW(avx2, AVX2, 16),
	LAYERNORM_ROW(avx2, AVX2, 32),
	{ 0 },
};
