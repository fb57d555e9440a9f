/* SPDX-License-Identifier: MIT
 *
 * reduce2d, f32, one value at a time: the micro-kernels of reduce2d_micro.h
 * with each number of rows and chains worth trying.
 */
#include "kernels/reduce2d/reduce2d_micro.h"

_Static_assert(LANES == 1, "compiled with the wrong ISA flags");

REDUCE2D_KERNELS(scalar, 1, 1, 1)
REDUCE2D_KERNELS(scalar, 1, 4, 4)
REDUCE2D_KERNELS(scalar, 1, 8, 8)
REDUCE2D_KERNELS(scalar, 4, 1, 1)
REDUCE2D_KERNELS(scalar, 4, 2, 2)

const struct tcb_variant reduce2d_sum_variants_scalar[] = {
	REDUCE2D_ROW(sum, BOUNDED, scalar, SCALAR, 1, 1), REDUCE2D_ROW(sum, BOUNDED, scalar, SCALAR, 1, 4),
	REDUCE2D_ROW(sum, BOUNDED, scalar, SCALAR, 1, 8), REDUCE2D_ROW(sum, BOUNDED, scalar, SCALAR, 4, 1),
	REDUCE2D_ROW(sum, BOUNDED, scalar, SCALAR, 4, 2), { 0 },
};

const struct tcb_variant reduce2d_max_variants_scalar[] = {
	REDUCE2D_ROW(max, EXACT, scalar, SCALAR, 1, 1), REDUCE2D_ROW(max, EXACT, scalar, SCALAR, 1, 4),
	REDUCE2D_ROW(max, EXACT, scalar, SCALAR, 1, 8), REDUCE2D_ROW(max, EXACT, scalar, SCALAR, 4, 1),
	REDUCE2D_ROW(max, EXACT, scalar, SCALAR, 4, 2), { 0 },
};

const struct tcb_variant reduce2d_min_variants_scalar[] = {
	REDUCE2D_ROW(min, EXACT, scalar, SCALAR, 1, 1), REDUCE2D_ROW(min, EXACT, scalar, SCALAR, 1, 4),
	REDUCE2D_ROW(min, EXACT, scalar, SCALAR, 1, 8), REDUCE2D_ROW(min, EXACT, scalar, SCALAR, 4, 1),
	REDUCE2D_ROW(min, EXACT, scalar, SCALAR, 4, 2), { 0 },
};
