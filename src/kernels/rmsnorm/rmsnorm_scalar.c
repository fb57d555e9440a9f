/* SPDX-License-Identifier: MIT
 *
 * rmsnorm, f32, one value at a time: the micro-kernel of rmsnorm_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/rmsnorm/rmsnorm_micro.h"

_Static_assert(LANES == 1, "compiled with the wrong ISA flags");

RMSNORM_KERNEL(scalar, 1, 1)
RMSNORM_KERNEL(scalar, 4, 4)
RMSNORM_KERNEL(scalar, 8, 8)

const struct tcb_variant rmsnorm_variants_scalar[] = {
	RMSNORM_ROW(scalar, SCALAR, 1),
	RMSNORM_ROW(scalar, SCALAR, 4),
	RMSNORM_ROW(scalar, SCALAR, 8),
	{ 0 },
};
