/* SPDX-License-Identifier: MIT
 *
 * Quantised weight formats: blocks in, f32 values out (layouts in SPEC section 3),
 * by the kinds of codes and scales of a format's row.  The float conversions are integer code so that
 * every machine gives the same bits; NaNs come out quiet, as F16C does it.
 */
#include "kernels/formats.h"

#include <string.h>

enum { RUN = 32, HALF_BYTES = 2 };

float tcb_f16_to_f32(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
	uint32_t exponent = (half >> 10) & 0x1fu, mantissa = half & 0x3ffu;
	uint32_t bits;
	if (exponent == 0x1f) { /* infinity, or NaN made quiet */
		bits = sign | 0x7f800000u | mantissa << 13 | (mantissa ? 0x00400000u : 0);
	} else if (exponent) {
		bits = sign | (exponent + 112) << 23 | mantissa << 13;
	} else if (mantissa) { /* subnormal half, normal float: move the leading one up to bit 10 */
		unsigned shift = (unsigned)__builtin_clz(mantissa) - 21;
		bits = sign | (113 - shift) << 23 | ((mantissa << shift) & 0x3ffu) << 13;
	} else {
		bits = sign;
	}
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* MANTISSA >> SHIFT, rounded to nearest even; 1 <= SHIFT <= 31. */
static uint32_t shift_round(uint32_t mantissa, unsigned shift)
{
	uint32_t half = 1u << (shift - 1), rest = mantissa & (2 * half - 1), kept = mantissa >> shift;
	return kept + (rest > half || (rest == half && (kept & 1u)));
}

uint16_t tcb_f32_to_f16(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
	if (magnitude > 0x7f800000u)
		return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
	if (magnitude >= 0x477ff000u) /* 65520 is the first value that rounds to infinity */
		return (uint16_t)(sign | 0x7c00u);
	if (magnitude >= 0x38800000u) /* 2^-14: normal; a carry out of the mantissa steps the exponent as it should */
		return (uint16_t)(sign | shift_round(magnitude - (112u << 23), 13));
	unsigned exponent = magnitude >> 23;
	if (exponent < 102) /* below 2^-25 */
		return (uint16_t)sign;
	return (uint16_t)(sign | shift_round((magnitude & 0x7fffffu) | 0x800000u, 126 - exponent));
}

float tcb_bf16_to_f32(uint16_t half)
{
	uint32_t bits = (uint32_t)half << 16;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

uint16_t tcb_f32_to_bf16(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof(bits));
	if ((bits & 0x7fffffffu) > 0x7f800000u) /* NaN, made quiet */
		return (uint16_t)(bits >> 16 | 0x40u);
	return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16); /* a carry into the exponent is right */
}

void tcb_k_scales(const uint8_t packed[12], uint8_t scale_out[8], uint8_t min_out[8])
{
	for (int j = 0; j < 4; j++) {
		scale_out[j] = packed[j] & 63;
		min_out[j] = packed[j + 4] & 63;
		scale_out[j + 4] = (uint8_t)((packed[j + 8] & 15) | (packed[j] >> 6) << 4);
		min_out[j + 4] = (uint8_t)((packed[j + 8] >> 4) | (packed[j + 4] >> 6) << 4);
	}
}

void tcb_k_scales_pack(const uint8_t scale[8], const uint8_t min[8], uint8_t packed_out[12])
{
	for (int j = 0; j < 4; j++) {
		packed_out[j] = (uint8_t)(scale[j] | scale[j + 4] >> 4 << 6);
		packed_out[j + 4] = (uint8_t)(min[j] | min[j + 4] >> 4 << 6);
		packed_out[j + 8] = (uint8_t)((scale[j + 4] & 15) | (min[j + 4] & 15) << 4);
	}
}

float tcb_power_scale(uint8_t exponent)
{
	const uint32_t bits = exponent < 2 ? 0x00200000u << exponent : (exponent - 1u) << 23;
	float value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

void tcb_six_scales(const uint8_t packed[6], int8_t scale_out[8])
{
	const unsigned high = packed[0] | (unsigned)packed[1] << 8;
	for (int j = 0; j < 8; j++)
		scale_out[j] = (int8_t)(((packed[2 + j / 2] >> j % 2 * 4 & 15) | (high >> 2 * j & 3) << 4) - 32);
}

void tcb_six_scales_pack(const int8_t scale[8], uint8_t packed_out[6])
{
	memset(packed_out, 0, 6);
	for (int j = 0; j < 8; j++) {
		const unsigned stored = (unsigned)(scale[j] + 32);
		packed_out[j / 4] = (uint8_t)(packed_out[j / 4] | stored >> 4 << j % 4 * 2);
		packed_out[2 + j / 2] = (uint8_t)(packed_out[2 + j / 2] | (stored & 15) << j % 2 * 4);
	}
}

float tcb_f16_load(const void *bytes)
{
	const uint8_t *b = bytes;
	return tcb_f16_to_f32((uint16_t)(b[0] | b[1] << 8));
}

void tcb_f16_store(float value, void *bytes)
{
	const uint16_t half = tcb_f32_to_f16(value);
	uint8_t *b = bytes;
	b[0] = (uint8_t)half;
	b[1] = (uint8_t)(half >> 8);
}

const struct tcb_format tcb_formats[TCB_FORMAT_COUNT] = { TCB_FORMAT_LIST(TCB_FORMAT_STRUCT) };

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
	}
}

void tcb_block_decode(const struct tcb_format *format, const void *block, struct tcb_codes *out)
{
	codes_decode(format, block, out->code);
	scales_decode(format, block, out);
}

void tcb_dequantize(const struct tcb_format *format, const void *blocks, size_t block_count, float *out)
{
	const uint8_t *block = blocks;
	struct tcb_codes codes;
	for (size_t b = 0; b < block_count; b++, block += format->block_bytes) {
		tcb_block_decode(format, block, &codes);
		for (size_t first = 0, r = 0; first < format->block_values; first += format->run_values, r++)
			for (size_t i = first; i < first + format->run_values; i++)
				*out++ = codes.scale[r] * (float)codes.code[i] - codes.offset[r];
	}
}

/*
 * All codes, scales and mins are uniform; d is SIZE, within a factor of 1.5.  One block in 16 has d = 0, one a negative
 * d: rare in models, legal in the format.  Of powers one in 16 is subnormal or the smallest normal one.
 */
static void random_scale(struct tcb_rng *rng, double size, void *half)
{
	float d = (float)(size * (0.5 + tcb_rng_unit(rng)));
	const uint64_t kind = tcb_rng_below(rng, 16);
	if (kind == 0)
		d = 0;
	else if (kind == 1)
		d = -d;
	tcb_f16_store(d, half);
}

void tcb_block_random(const struct tcb_format *format, struct tcb_rng *rng, void *block)
{
	uint8_t *bytes = block, *d = bytes + format->d_at;
	for (size_t i = 0; i < format->block_bytes; i += sizeof(uint64_t)) {
		const size_t left = format->block_bytes - i;
		const uint64_t random = tcb_rng_next(rng);
		memcpy(bytes + i, &random, left < sizeof(random) ? left : sizeof(random));
	}
	if (format->scales == TCB_SCALES_POWER) { /* few subnormal ones: processors take many times as long for them */
		*d = (uint8_t)(tcb_rng_below(rng, 1024) ? 118 + tcb_rng_below(rng, 5) : tcb_rng_below(rng, 3));
		return;
	}
	random_scale(rng, format->size, d);
	if (format->has_offsets) { /* dmin is half the largest code times d, so that the values centre on 0 */
		const double centre = ((1 << format->code_bits) - 1) / 2.0;
		tcb_f16_store((float)(centre * format->size * (0.5 + tcb_rng_unit(rng))), d + HALF_BYTES);
	}
}

const struct tcb_format *tcb_format_find(const char *gguf_name)
{
	for (int id = 0; id < TCB_FORMAT_COUNT; id++) {
		const struct tcb_format *format = tcb_format((enum tcb_format_id)id);
		if (strcmp(format->gguf_name, gguf_name) == 0)
			return format;
	}
	return NULL;
}
