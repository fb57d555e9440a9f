/* SPDX-License-Identifier: MIT
 *
 * Keys and queries of the recurrent ops as CPU kernels multiply them, in the vector operations of simd.h.
 */
#ifndef TCB_KERNELS_DELTA_TAKE_H
#define TCB_KERNELS_DELTA_TAKE_H

#include <math.h>

#include "kernels/delta/delta.h"
#include "kernels/simd/simd.h"

/* X times FACTOR, of the delta rule over its norm, to OUT. */
SIMD_INLINE void delta_take(const int has_correction, const float *x, size_t k, float factor, float *out)
{
	if (has_correction) {
		vfloat squares = v_set(0);
		for (size_t i = 0; i < k; i += LANES)
			squares = v_fma(v_load(x + i), v_load(x + i), squares);
		factor /= sqrtf(v_reduce_add(squares) + DELTA_NORM_EPSILON);
	}
	for (size_t i = 0; i < k; i += LANES)
		v_store(out + i, v_mul(v_load(x + i), v_set(factor)));
}

#endif
