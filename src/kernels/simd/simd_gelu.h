/* SPDX-License-Identifier: MIT
 *
 * x / (1 + exp(-z)) with zeros as the formula has them, and gelu, in the vector operations of simd.h, once for each
 * instruction set: whichever the including file is compiled for.
 */
#ifndef TCB_KERNELS_SIMD_GELU_H
#define TCB_KERNELS_SIMD_GELU_H

#include "kernels/simd/gelu_gate.h"
#include "kernels/simd/simd_exp.h"

/* exp(-|x|); NaN for a NaN */
SIMD_INLINE vfloat v_exp_below(vfloat x)
{
	const vfloat minus_zero = v_set(-0.0f);
	return v_exp(v_sub(minus_zero, v_max(v_sub(minus_zero, x), x)));
}

/*
 * x / (1 + exp(-z)), z of x's sign, as (max(x, 0) + min(x, 0) t) / (1 + t) with t = exp(-|z|): one of the two is 0.
 * v_exp does not go below exp(-88), so x does not go below -128 there.  Of -inf the formula makes a NaN, -inf / inf; so
 * does 0 times that.  A NaN is in the second operand of v_max, which lets it through, and so it does a -0: every 0 here
 * has the sign with which one of x comes out as it is.
 */
SIMD_INLINE vfloat v_logistic(vfloat x, vfloat z)
{
	const vfloat zero = v_set(0), minus_zero = v_set(-0.0f), t = v_exp_below(z);
	const vfloat above = v_max(zero, x), below = v_max(zero, v_sub(minus_zero, x));
	const vfloat least = v_max(v_set(-128), v_sub(minus_zero, below));
	return v_add(v_add(above, v_mul(least, t)), v_mul(below, minus_zero)) / v_add(v_set(1), t);
}

SIMD_INLINE vfloat v_gelu(vfloat x)
{
	const vfloat slope = v_fma(v_set((float)TCB_GELU_Z3), v_mul(x, x), v_set((float)TCB_GELU_Z1));
	return v_logistic(x, v_mul(x, slope));
}

#endif
