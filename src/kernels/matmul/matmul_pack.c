/* SPDX-License-Identifier: MIT
 *
 * Values of the three types to f32 and back.
 */
#include <string.h>

#include "kernels/formats.h"
#include "kernels/matmul/matmul.h"

void matmul_widen(enum tcb_type type, const void *values, size_t first, size_t count, float *out)
{
	const uint16_t *half = (const uint16_t *)values + first;
	if (type == TCB_TYPE_F32)
		memcpy(out, (const float *)values + first, count * sizeof(float));
	for (size_t i = 0; type == TCB_TYPE_F16 && i < count; i++)
		out[i] = tcb_f16_to_f32(half[i]);
	for (size_t i = 0; type == TCB_TYPE_BF16 && i < count; i++)
		out[i] = tcb_bf16_to_f32(half[i]);
}

void matmul_narrow(enum tcb_type type, const float *values, size_t count, void *out, size_t first)
{
	uint16_t *half = (uint16_t *)out + first;
	if (type == TCB_TYPE_F32)
		memcpy((float *)out + first, values, count * sizeof(float));
	for (size_t i = 0; type == TCB_TYPE_F16 && i < count; i++)
		half[i] = tcb_f32_to_f16(values[i]);
	for (size_t i = 0; type == TCB_TYPE_BF16 && i < count; i++)
		half[i] = tcb_f32_to_bf16(values[i]);
}
