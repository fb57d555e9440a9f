/* SPDX-License-Identifier: MIT
 *
 * Weight formats: blocks in, f32 values out (layouts in SPEC section 3), by the
 * kinds of codes and scales of a format's row, or by its function where its
 * codes are expanded.
 */
#include <assert.h>
#include <string.h>

#include "kernels/decode/block_codes.h"

/* Codes as stored, then less what they are stored above, or what the table says. */
static void codes_decode(const struct tcb_format *f, const uint8_t *block, int8_t *code)
{
	block_codes(f, block, code);
	for (size_t i = 0; i < f->block_values; i++)
		code[i] = (int8_t)(tcb_has_table(f->id) ? f->table[code[i]] : code[i] - f->centre);
}

static float float_at(const struct tcb_format *format, const uint8_t *at)
{
	const uint16_t half = (uint16_t)(at[0] | at[1] << 8);
	float value;
	if (format->codes == TCB_CODES_F16)
		return tcb_f16_to_f32(half);
	if (format->codes == TCB_CODES_BF16)
		return tcb_bf16_to_f32(half);
	memcpy(&value, at, sizeof(value));
	return value;
}

/* Values with a scale; each product rounds once. */
static void scaled_decode(const struct tcb_format *format, const uint8_t *block, float *out)
{
	float scale;
	memcpy(&scale, block + format->d_at, sizeof(scale));
	for (size_t i = 0; i < format->block_values; i++)
		out[i] = scale * tcb_e4m3_to_f32(block[format->codes_at + i]);
}

void tcb_block_decode(const struct tcb_format *format, const void *block, struct tcb_codes *out)
{
	assert(format->codes != TCB_CODES_E4M3);
	if (tcb_is_float(format->id)) {
		out->code[0] = 1;
		out->scale[0] = float_at(format, block);
		out->offset[0] = 0;
		return;
	}
	if (tcb_is_expanded(format->id)) {
		memset(out->offset, 0, sizeof(out->offset));
		tcb_expand_block(format->id, block, out->code, out->scale, out->offset);
		for (size_t i = 0; i < format->block_values; i++)
			out->code[i] = (int8_t)(out->code[i] - format->centre);
		return;
	}
	codes_decode(format, block, out->code);
	block_scales(format, block, out);
}

void tcb_dequantize(const struct tcb_format *format, const void *blocks, size_t block_count, float *out)
{
	const uint8_t *block = blocks;
	struct tcb_codes codes;
	if (format->codes == TCB_CODES_E4M3) {
		for (size_t b = 0; b < block_count; b++)
			scaled_decode(format, block + b * format->block_bytes, out + b * format->block_values);
		return;
	}
	if (tcb_is_float(format->id)) {
		for (size_t i = 0; i < block_count; i++)
			out[i] = float_at(format, block + i * format->block_bytes);
		return;
	}
	for (size_t b = 0; b < block_count; b++, block += format->block_bytes) {
		tcb_block_decode(format, block, &codes);
		for (size_t first = 0, r = 0; first < format->block_values; first += format->run_values, r++)
			for (size_t i = first; i < first + format->run_values; i++)
				*out++ = codes.scale[r] * (float)codes.code[i] - codes.offset[r];
	}
}
