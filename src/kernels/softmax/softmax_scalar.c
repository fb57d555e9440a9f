/* SPDX-License-Identifier: MIT
 *
 * softmax, f32, one value at a time: the micro-kernel of softmax_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/softmax/softmax_micro.h"

_Static_assert(LANES == 1, "compiled with the wrong ISA flags");

SOFTMAX_KERNEL(scalar, 1, 1)
SOFTMAX_KERNEL(scalar, 4, 4)
SOFTMAX_KERNEL(scalar, 8, 8)

const struct tcb_variant softmax_variants_scalar[] = {
	SOFTMAX_ROW(scalar, SCALAR, 1),
	SOFTMAX_ROW(scalar, SCALAR, 4),
	SOFTMAX_ROW(scalar, SCALAR, 8),
	{ 0 },
};
