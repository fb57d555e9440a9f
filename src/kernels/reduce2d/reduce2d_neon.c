/* SPDX-License-Identifier: MIT
 *
 * reduce2d, f32, NEON: the micro-kernels of reduce2d_micro.h
 * with each number of rows and chains worth trying.
 */
#include "kernels/reduce2d/reduce2d_micro.h"

_Static_assert(LANES == 4, "compiled with the wrong ISA flags");

REDUCE2D_KERNELS(neon, 1, 1, 4)
REDUCE2D_KERNELS(neon, 1, 2, 8)
REDUCE2D_KERNELS(neon, 1, 4, 16)
REDUCE2D_KERNELS(neon, 1, 8, 32)
REDUCE2D_KERNELS(neon, 2, 4, 16)
REDUCE2D_KERNELS(neon, 4, 2, 8)
REDUCE2D_KERNELS(neon, 8, 1, 4)

const struct tcb_variant reduce2d_sum_variants_neon[] = {
	REDUCE2D_ROW(sum, BOUNDED, neon, NEON, 1, 4),  REDUCE2D_ROW(sum, BOUNDED, neon, NEON, 1, 8),
	REDUCE2D_ROW(sum, BOUNDED, neon, NEON, 1, 16), REDUCE2D_ROW(sum, BOUNDED, neon, NEON, 1, 32),
	REDUCE2D_ROW(sum, BOUNDED, neon, NEON, 2, 16), REDUCE2D_ROW(sum, BOUNDED, neon, NEON, 4, 8),
	REDUCE2D_ROW(sum, BOUNDED, neon, NEON, 8, 4),  { 0 },
};

const struct tcb_variant reduce2d_max_variants_neon[] = {
	REDUCE2D_ROW(max, EXACT, neon, NEON, 1, 4),  REDUCE2D_ROW(max, EXACT, neon, NEON, 1, 8),
	REDUCE2D_ROW(max, EXACT, neon, NEON, 1, 16), REDUCE2D_ROW(max, EXACT, neon, NEON, 1, 32),
	REDUCE2D_ROW(max, EXACT, neon, NEON, 2, 16), REDUCE2D_ROW(max, EXACT, neon, NEON, 4, 8),
	REDUCE2D_ROW(max, EXACT, neon, NEON, 8, 4),  { 0 },
};

const struct tcb_variant reduce2d_min_variants_neon[] = {
	REDUCE2D_ROW(min, EXACT, neon, NEON, 1, 4),  REDUCE2D_ROW(min, EXACT, neon, NEON, 1, 8),
	REDUCE2D_ROW(min, EXACT, neon, NEON, 1, 16), REDUCE2D_ROW(min, EXACT, neon, NEON, 1, 32),
	REDUCE2D_ROW(min, EXACT, neon, NEON, 2, 16), REDUCE2D_ROW(min, EXACT, neon, NEON, 4, 8),
	REDUCE2D_ROW(min, EXACT, neon, NEON, 8, 4),  { 0 },
};
