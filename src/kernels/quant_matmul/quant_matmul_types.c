/* SPDX-License-Identifier: MIT
 *
 * Activations and results of 16 bits as floats and back, for products that work in f32 inside.
 */
#include <string.h>

#include "kernels/quant_matmul/quant_matmul_types.h"
#include "kernels/simd/simd.h"

void SIMD_NAME(qmm_widen)(enum tcb_type type, const void *from, size_t count, float *out)
{
	const uint16_t *half = from;
	uint16_t part[LANES] = { 0 };
	const size_t whole = count - count % LANES;
	if (type == TCB_TYPE_F32) {
		memcpy(out, from, count * sizeof(float));
		return;
	}
	for (size_t i = 0; i < whole; i += LANES)
		v_store(out + i, type == TCB_TYPE_F16 ? v_from_f16(half + i) : v_from_bf16(half + i));
	if (whole == count)
		return;
	memcpy(part, half + whole, (count - whole) * sizeof(*part));
	v_store_part(out + whole, type == TCB_TYPE_F16 ? v_from_f16(part) : v_from_bf16(part), count - whole);
}

void SIMD_NAME(qmm_narrow)(enum tcb_type type, const float *from, size_t count, void *out)
{
	uint16_t *half = out, part[LANES];
	const size_t whole = count - count % LANES;
	if (type == TCB_TYPE_F32) {
		memcpy(out, from, count * sizeof(float));
		return;
	}
	for (size_t i = 0; i < count; i += LANES) {
		const vfloat value = i < whole ? v_load(from + i) : v_load_part(from + i, count - i, 0);
		uint16_t *to = i < whole ? half + i : part;
		if (type == TCB_TYPE_F16)
			v_to_f16(to, value);
		else
			v_to_bf16(to, value);
	}
	if (whole < count)
		memcpy(half + whole, part, (count - whole) * sizeof(*part));
}
