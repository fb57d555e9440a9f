/* SPDX-License-Identifier: MIT
 *
 * The gate of one family of CPU instructions, written once in vector operations.
 */
#include "kernels/simd/gelu_gate.h"
#include "kernels/simd/simd_gelu.h"

void SIMD_NAME(tcb_gelu_gate)(float *gate, const float *up, size_t count)
{
	size_t i = 0;
	for (; i + LANES <= count; i += LANES)
		v_store(gate + i, v_mul(v_gelu(v_load(gate + i)), v_load(up + i)));
	if (i < count) {
		const vfloat p = v_load_part(gate + i, count - i, 0), u = v_load_part(up + i, count - i, 0);
		v_store_part(gate + i, v_mul(v_gelu(p), u), count - i);
	}
}
