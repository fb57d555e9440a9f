/* SPDX-License-Identifier: MIT
 *
 * rmsnorm, f32, NEON: the micro-kernel of rmsnorm_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/rmsnorm/rmsnorm_micro.h"

_Static_assert(LANES == 4, "compiled with the wrong ISA flags");

RMSNORM_KERNEL(neon, 1, 4)
RMSNORM_KERNEL(neon, 2, 8)
RMSNORM_KERNEL(neon, 4, 16)
RMSNORM_KERNEL(neon, 8, 32)

const struct tcb_variant rmsnorm_variants_neon[] = {
	RMSNORM_ROW(neon, NEON, 4),
	RMSNORM_ROW(neon, NEON, 8),
	RMSNORM_ROW(neon, NEON, 16),
	RMSNORM_ROW(neon, NEON, 32),
	{ 0 },
};
