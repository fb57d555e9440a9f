/* SPDX-License-Identifier: MIT
 *
 * rmsnorm, f32, AVX2: the micro-kernel of rmsnorm_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/rmsnorm/rmsnorm_micro.h"

_Static_assert(LANES == 8, "compiled with the wrong ISA flags");

RMSNORM_KERNEL(avx2, 1, 8)
RMSNORM_KERNEL(avx2, 2, 16)
RMSNORM_KERNEL(avx2, 4, 32)
RMSNORM_KERNEL(avx2, 8, 64)

const struct tcb_variant rmsnorm_variants_avx2[] = {
	RMSNORM_ROW(avx2, AVX2, 8),
	RMSNORM_ROW(avx2, AVX2, 16),
	RMSNORM_ROW(avx2, AVX2, 32),
	RMSNORM_ROW(avx2, AVX2, 64),
	{ 0 },
};
