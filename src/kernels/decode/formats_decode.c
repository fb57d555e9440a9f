/* SPDX-License-Identifier: MIT
 *
 * Weight formats: blocks in, f32 values out (layouts in SPEC section 3), by the
 * kinds of codes and scales of a format's row, or by its function where its
 * codes are expanded.
 */
#include <assert.h>
#include <string.h>

#include "kernels/decode/formats_expand.h"

enum { RUN = 32, HALF_BYTES = 2 };

/* Nibbles of PAIRS bytes at LOW: the low ones, then the high ones. */
static void split(const uint8_t *low, size_t pairs, int8_t *code)
{
	for (size_t i = 0; i < pairs; i++) {
		code[i] = (int8_t)(low[i] & 15);
		code[i + pairs] = (int8_t)(low[i] >> 4);
	}
}

static void pairs_decode(const uint8_t *low, const uint8_t *high, int8_t *code)
{
	for (int pair = 0; pair < 4; pair++, low += RUN, code += 2 * RUN) {
		split(low, RUN, code);
		for (int i = 0; high && i < RUN; i++) {
			code[i] = (int8_t)(code[i] | (high[i] >> 2 * pair & 1) << 4);
			code[i + RUN] = (int8_t)(code[i + RUN] | (high[i] >> (2 * pair + 1) & 1) << 4);
		}
	}
}

static void quarters_decode(const uint8_t *low, const uint8_t *high, int8_t *code)
{
	for (int half = 0; half < 2; half++, low += 2 * RUN, high += RUN, code += 4 * RUN)
		for (int i = 0; i < RUN; i++)
			for (int part = 0; part < 4; part++) {
				const int nibble = low[i + RUN * (part & 1)] >> 4 * (part >> 1) & 15;
				code[i + RUN * part] = (int8_t)(nibble | (high[i] >> 2 * part & 3) << 4);
			}
}

/* Codes as stored, then less what they are stored above, or what the table says. */
static void codes_decode(const struct tcb_format *f, const uint8_t *block, int8_t *code)
{
	const uint8_t *at = block + f->codes_at;
	switch (f->codes) {
	case TCB_CODES_BYTES:
		memcpy(code, at, f->block_values);
		break;
	case TCB_CODES_RUNS:
		for (size_t i = 0; i < f->block_values; i += RUN)
			split(at + i / 2, RUN / 2, code + i);
		break;
	case TCB_CODES_PAIRS:
		pairs_decode(at, f->high_at ? block + f->high_at : NULL, code);
		break;
	case TCB_CODES_QUARTERS:
		quarters_decode(at, block + f->high_at, code);
		break;
	default:
		assert(!"reached");
		break;
	}
	for (size_t i = 0; i < f->block_values; i++)
		code[i] = (int8_t)(tcb_has_table(f->id) ? f->table[code[i]] : code[i] - f->centre);
}

/* Scales and offsets: d * sc and dmin * m have at most 18 significant bits, times a code 23: exact. */
static void scales_decode(const struct tcb_format *f, const uint8_t *block, struct tcb_codes *out)
{
	const float d = tcb_f16_load(block + f->d_at);
	uint8_t scale[8], min[8];
	int8_t six[8];
	memset(out->offset, 0, sizeof(out->offset));
	switch (f->scales) {
	case TCB_SCALES_HALF:
		out->scale[0] = d;
		break;
	case TCB_SCALES_K:
		tcb_k_scales(block + f->scales_at, scale, min);
		for (int j = 0; j < 8; j++) {
			out->scale[j] = d * scale[j];
			out->offset[j] = tcb_f16_load(block + f->d_at + HALF_BYTES) * min[j];
		}
		break;
	case TCB_SCALES_BYTES:
		for (size_t r = 0; r < f->block_values / f->run_values; r++)
			out->scale[r] = d * (float)(int8_t)block[f->scales_at + r];
		break;
	case TCB_SCALES_POWER:
		out->scale[0] = tcb_power_scale(block[f->scales_at]);
		break;
	case TCB_SCALES_SIX:
		tcb_six_scales(block + f->scales_at, six);
		for (int j = 0; j < 8; j++)
			out->scale[j] = d * (float)six[j];
		break;
	case TCB_SCALES_MINS:
	case TCB_SCALES_SPREAD:
	case TCB_SCALES_E4M3:
	case TCB_SCALES_FLOAT:
		assert(!"reached");
		break;
	}
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
	scales_decode(format, block, out);
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
