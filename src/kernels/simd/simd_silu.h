/* SPDX-License-Identifier: MIT
 *
 * silu of any slope in the vector operations of simd.h, once for each instruction
 * set: whichever the including file is compiled for.
 */
#ifndef TCB_KERNELS_SIMD_SILU_H
#define TCB_KERNELS_SIMD_SILU_H

#include "kernels/simd/simd_exp.h"

/*
 * p / (1 + exp(-s p)) = (max(p, 0) + min(p, 0) t) / (1 + t), t = exp(-|s p|): one of the two is 0.  v_exp does not go
 * below exp(-88), so p does not go below -128 there: what is left is below 2^-119.  Of -inf the formula makes a NaN,
 * -inf / inf; so does 0 times that.  A NaN is in the second operand of v_max, which lets it through.
 */
SIMD_INLINE vfloat v_silu(vfloat p, float slope)
{
	const vfloat zero = v_set(0), minus = v_sub(zero, p), size = v_max(minus, p);
	const vfloat t = v_exp(v_sub(zero, slope == 1 ? size : v_mul(v_set(slope), size)));
	const vfloat above = v_max(zero, p), below = v_max(zero, minus);
	const vfloat least = v_max(v_set(-128), v_sub(zero, below));
	return v_add(v_add(above, v_mul(least, t)), v_mul(below, zero)) / v_add(v_set(1), t);
}

#endif
