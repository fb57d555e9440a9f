/* SPDX-License-Identifier: MIT
 *
 * rmsnorm, f32, AVX-512: the micro-kernel of rmsnorm_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/rmsnorm/rmsnorm_micro.h"

_Static_assert(LANES == 16, "compiled with the wrong ISA flags");

RMSNORM_KERNEL(avx512, 1, 16)
RMSNORM_KERNEL(avx512, 2, 32)
RMSNORM_KERNEL(avx512, 4, 64)
RMSNORM_KERNEL(avx512, 8, 128)
RMSNORM_KERNEL(avx512, 16, 256)

const struct tcb_variant rmsnorm_variants_avx512[] = {
	RMSNORM_ROW(avx512, AVX512, 16),  RMSNORM_ROW(avx512, AVX512, 32),  RMSNORM_ROW(avx512, AVX512, 64),
	RMSNORM_ROW(avx512, AVX512, 128), RMSNORM_ROW(avx512, AVX512, 256), { 0 },
};
