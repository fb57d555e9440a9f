/* SPDX-License-Identifier: MIT
 *
 * reduce2d, f32, AVX-512: the micro-kernels of reduce2d_micro.h
 * with each number of rows and chains worth trying.
 */
#include "kernels/reduce2d/reduce2d_micro.h"

_Static_assert(LANES == 16, "compiled with the wrong ISA flags");

REDUCE2D_KERNELS(avx512, 1, 1, 16)
REDUCE2D_KERNELS(avx512, 1, 2, 32)
REDUCE2D_KERNELS(avx512, 1, 4, 64)
REDUCE2D_KERNELS(avx512, 1, 8, 128)
REDUCE2D_KERNELS(avx512, 2, 4, 64)
REDUCE2D_KERNELS(avx512, 4, 2, 32)
REDUCE2D_KERNELS(avx512, 8, 1, 16)
REDUCE2D_KERNELS(avx512, 4, 4, 64)

const struct tcb_variant reduce2d_sum_variants_avx512[] = {
	REDUCE2D_ROW(sum, BOUNDED, avx512, AVX512, 1, 16),
	REDUCE2D_ROW(sum, BOUNDED, avx512, AVX512, 1, 32),
	REDUCE2D_ROW(sum, BOUNDED, avx512, AVX512, 1, 64),
	REDUCE2D_ROW(sum, BOUNDED, avx512, AVX512, 1, 128),
	REDUCE2D_ROW(sum, BOUNDED, avx512, AVX512, 2, 64),
	REDUCE2D_ROW(sum, BOUNDED, avx512, AVX512, 4, 32),
	REDUCE2D_ROW(sum, BOUNDED, avx512, AVX512, 8, 16),
	REDUCE2D_ROW(sum, BOUNDED, avx512, AVX512, 4, 64),
	{ 0 },
};

const struct tcb_variant reduce2d_max_variants_avx512[] = {
	REDUCE2D_ROW(max, EXACT, avx512, AVX512, 1, 16),
	REDUCE2D_ROW(max, EXACT, avx512, AVX512, 1, 32),
	REDUCE2D_ROW(max, EXACT, avx512, AVX512, 1, 64),
	REDUCE2D_ROW(max, EXACT, avx512, AVX512, 1, 128),
	REDUCE2D_ROW(max, EXACT, avx512, AVX512, 2, 64),
	REDUCE2D_ROW(max, EXACT, avx512, AVX512, 4, 32),
	REDUCE2D_ROW(max, EXACT, avx512, AVX512, 8, 16),
	REDUCE2D_ROW(max, EXACT, avx512, AVX512, 4, 64),
	{ 0 },
};

const struct tcb_variant reduce2d_min_variants_avx512[] = {
	REDUCE2D_ROW(min, EXACT, avx512, AVX512, 1, 16),
	REDUCE2D_ROW(min, EXACT, avx512, AVX512, 1, 32),
	REDUCE2D_ROW(min, EXACT, avx512, AVX512, 1, 64),
	REDUCE2D_ROW(min, EXACT, avx512, AVX512, 1, 128),
	REDUCE2D_ROW(min, EXACT, avx512, AVX512, 2, 64),
	REDUCE2D_ROW(min, EXACT, avx512, AVX512, 4, 32),
	REDUCE2D_ROW(min, EXACT, avx512, AVX512, 8, 16),
	REDUCE2D_ROW(min, EXACT, avx512, AVX512, 4, 64),
	{ 0 },
};
