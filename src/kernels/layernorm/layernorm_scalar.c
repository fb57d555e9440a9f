/* SPDX-License-Identifier: MIT
 *
 * layernorm, f32, one value at a time: the micro-kernel of layernorm_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/layernorm/layernorm_micro.h"

_Static_assert(LANES == 1, "compiled with the wrong ISA flags");

LAYERNORM_KERNEL(scalar, 1, 1)
LAYERNORM_KERNEL(scalar, 4, 4)
LAYERNORM_KERNEL(scalar, 8, 8)

const struct tcb_variant layernorm_variants_scalar[] = {
	LAYERNORM_ROW(scalar, SCALAR, 1),
	LAYERNORM_ROW(scalar, SCALAR, 4),
	LAYERNORM_ROW(scalar, SCALAR, 8),
	{ 0 },
};
