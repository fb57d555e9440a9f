/* SPDX-License-Identifier: MIT
 *
 * layernorm, f32, AVX-512: the micro-kernel of layernorm_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/layernorm/layernorm_micro.h"

_Static_assert(LANES == 16, "compiled with the wrong ISA flags");

LAYERNORM_KERNEL(avx512, 1, 16)
LAYERNORM_KERNEL(avx512, 2, 32)
LAYERNORM_KERNEL(avx512, 4, 64)
LAYERNORM_KERNEL(avx512, 8, 128)

const struct tcb_variant layernorm_variants_avx512[] = {
	LAYERNORM_ROW(avx512, AVX512, 16),
	LAYERNORM_ROW(avx512, AVX512, 32),
	LAYERNORM_ROW(avx512, AVX512, 64),
	LAYERNORM_ROW(avx512, AVX512, 128),
	{ 0 },
};
