/* SPDX-License-Identifier: MIT
 *
 * layernorm, f32, NEON: the micro-kernel of layernorm_micro.h
 * with each number of chains worth trying.
 */
#include "kernels/layernorm/layernorm_micro.h"

_Static_assert(LANES == 4, "compiled with the wrong ISA flags");

LAYERNORM_KERNEL(neon, 1, 4)
LAYERNORM_KERNEL(neon, 2, 8)
LAYERNORM_KERNEL(neon, 4, 16)
LAYERNORM_KERNEL(neon, 8, 32)

const struct tcb_variant layernorm_variants_neon[] = {
	LAYERNORM_ROW(neon, NEON, 4),
	LAYERNORM_ROW(neon, NEON, 8),
	LAYERNORM_ROW(neon, NEON, 16),
	LAYERNORM_ROW(neon, NEON, 32),
	{ 0 },
};
