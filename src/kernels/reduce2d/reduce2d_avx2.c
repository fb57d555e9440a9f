/* SPDX-License-Identifier: MIT
 *
 * reduce2d, f32, AVX2: the micro-kernels of reduce2d_micro.h
 * with each number of rows and chains worth trying.
 */
#include "kernels/reduce2d/reduce2d_micro.h"

_Static_assert(LANES == 8, "compiled with the wrong ISA flags");

REDUCE2D_KERNELS(avx2, 1, 1, 8)
REDUCE2D_KERNELS(avx2, 1, 2, 16)
REDUCE2D_KERNELS(avx2, 1, 4, 32)
REDUCE2D_KERNELS(avx2, 1, 8, 64)
REDUCE2D_KERNELS(avx2, 2, 4, 32)
REDUCE2D_KERNELS(avx2, 4, 2, 16)
REDUCE2D_KERNELS(avx2, 8, 1, 8)

const struct tcb_variant reduce2d_sum_variants_avx2[] = {
	REDUCE2D_ROW(sum, BOUNDED, avx2, AVX2, 1, 8),  REDUCE2D_ROW(sum, BOUNDED, avx2, AVX2, 1, 16),
	REDUCE2D_ROW(sum, BOUNDED, avx2, AVX2, 1, 32), REDUCE2D_ROW(sum, BOUNDED, avx2, AVX2, 1, 64),
	REDUCE2D_ROW(sum, BOUNDED, avx2, AVX2, 2, 32), REDUCE2D_ROW(sum, BOUNDED, avx2, AVX2, 4, 16),
	REDUCE2D_ROW(sum, BOUNDED, avx2, AVX2, 8, 8),  { 0 },
};

const struct tcb_variant reduce2d_max_variants_avx2[] = {
	REDUCE2D_ROW(max, EXACT, avx2, AVX2, 1, 8),  REDUCE2D_ROW(max, EXACT, avx2, AVX2, 1, 16),
	REDUCE2D_ROW(max, EXACT, avx2, AVX2, 1, 32), REDUCE2D_ROW(max, EXACT, avx2, AVX2, 1, 64),
	REDUCE2D_ROW(max, EXACT, avx2, AVX2, 2, 32), REDUCE2D_ROW(max, EXACT, avx2, AVX2, 4, 16),
	REDUCE2D_ROW(max, EXACT, avx2, AVX2, 8, 8),  { 0 },
};

const struct tcb_variant reduce2d_min_variants_avx2[] = {
	REDUCE2D_ROW(min, EXACT, avx2, AVX2, 1, 8),  REDUCE2D_ROW(min, EXACT, avx2, AVX2, 1, 16),
	REDUCE2D_ROW(min, EXACT, avx2, AVX2, 1, 32), REDUCE2D_ROW(min, EXACT, avx2, AVX2, 1, 64),
	REDUCE2D_ROW(min, EXACT, avx2, AVX2, 2, 32), REDUCE2D_ROW(min, EXACT, avx2, AVX2, 4, 16),
	REDUCE2D_ROW(min, EXACT, avx2, AVX2, 8, 8),  { 0 },
};
