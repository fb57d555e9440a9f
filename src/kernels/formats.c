/* SPDX-License-Identifier: MIT
 *
 * Quantised weight formats, one table row each: blocks in, f32 values out
 * (layouts in SPEC section 3).  The float conversions are integer code so that
 * every machine gives the same bits; NaNs come out quiet, as F16C does it.
 */
#include "kernels/formats.h"

#include <string.h>

enum { K_VALUES = 256, RUN = 32, K_HEADER = 4, K_SCALE_BYTES = 12, HALF_BYTES = 2 };
enum { Q4_0_BYTES = 18, Q8_0_BYTES = 34, Q4_K_BYTES = 144, Q5_K_BYTES = 176, Q6_K_BYTES = 210 };
enum { Q6_K_HIGH = 128, Q6_K_SCALES = 192, Q6_K_D = 208, Q6_K_RUN = 16 };

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

static void q4_0_decode(const void *block, struct tcb_codes *out)
{
	const uint8_t *bytes = (const uint8_t *)block + HALF_BYTES;
	for (int i = 0; i < RUN / 2; i++) {
		out->code[i] = (int8_t)((bytes[i] & 15) - 8);
		out->code[i + RUN / 2] = (int8_t)((bytes[i] >> 4) - 8);
	}
	out->scale[0] = tcb_f16_load(block);
	out->offset[0] = 0;
}

static void q8_0_decode(const void *block, struct tcb_codes *out)
{
	memcpy(out->code, (const uint8_t *)block + HALF_BYTES, RUN);
	out->scale[0] = tcb_f16_load(block);
	out->offset[0] = 0;
}

/* d * sc and dmin * m have at most 17 significant bits, times a code 22: exact. */
static void k_scales_decode(const uint8_t *block, struct tcb_codes *out)
{
	const float d = tcb_f16_load(block), dmin = tcb_f16_load(block + HALF_BYTES);
	uint8_t scale[8], min[8];
	tcb_k_scales(block + K_HEADER, scale, min);
	for (int j = 0; j < 8; j++) {
		out->scale[j] = d * scale[j];
		out->offset[j] = dmin * min[j];
	}
}

static void q4_k_decode(const void *block, struct tcb_codes *out)
{
	const uint8_t *low = (const uint8_t *)block + K_HEADER + K_SCALE_BYTES;
	int8_t *code = out->code;
	for (int pair = 0; pair < 4; pair++, low += RUN, code += 2 * RUN)
		for (int i = 0; i < RUN; i++) {
			code[i] = (int8_t)(low[i] & 15);
			code[i + RUN] = (int8_t)(low[i] >> 4);
		}
	k_scales_decode(block, out);
}

static void q5_k_decode(const void *block, struct tcb_codes *out)
{
	const uint8_t *high = (const uint8_t *)block + K_HEADER + K_SCALE_BYTES, *low = high + RUN;
	int8_t *code = out->code;
	for (int pair = 0; pair < 4; pair++, low += RUN, code += 2 * RUN)
		for (int i = 0; i < RUN; i++) {
			code[i] = (int8_t)((low[i] & 15) | (high[i] >> 2 * pair & 1) << 4);
			code[i + RUN] = (int8_t)(low[i] >> 4 | (high[i] >> (2 * pair + 1) & 1) << 4);
		}
	k_scales_decode(block, out);
}

/* d * sc has at most 18 significant bits, times a code 23: exact. */
static void q6_k_decode(const void *block, struct tcb_codes *out)
{
	const uint8_t *low = block, *high = low + Q6_K_HIGH, *scales = low + Q6_K_SCALES;
	const float d = tcb_f16_load(low + Q6_K_D);
	int8_t *code = out->code;
	for (int half = 0; half < 2; half++, low += 2 * RUN, high += RUN, code += 4 * RUN)
		for (int i = 0; i < RUN; i++)
			for (int part = 0; part < 4; part++) {
				const int nibble = low[i + RUN * (part & 1)] >> 4 * (part >> 1) & 15;
				code[i + RUN * part] = (int8_t)((nibble | (high[i] >> 2 * part & 3) << 4) - 32);
			}
	for (int r = 0; r < K_VALUES / Q6_K_RUN; r++) {
		out->scale[r] = d * (float)(int8_t)scales[r];
		out->offset[r] = 0;
	}
}

void tcb_dequantize(const struct tcb_format *format, const void *blocks, size_t block_count, float *out)
{
	const uint8_t *block = blocks;
	struct tcb_codes codes;
	for (size_t b = 0; b < block_count; b++, block += format->block_bytes) {
		format->decode(block, &codes);
		for (size_t first = 0, r = 0; first < format->block_values; first += format->run_values, r++)
			for (size_t i = first; i < first + format->run_values; i++)
				*out++ = codes.scale[r] * (float)codes.code[i] - codes.offset[r];
	}
}

static void random_bytes(struct tcb_rng *rng, uint8_t *out, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
		const uint64_t random = tcb_rng_next(rng);
		memcpy(out + i, &random, bytes - i < sizeof(random) ? bytes - i : sizeof(random));
	}
}

/*
 * All codes, scales and mins are uniform; d is such that values are some 1e-2, as in models of a few thousand columns.
 * One block in 16 has d = 0, one a negative d: rare in models, legal in the format.
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

static void q4_0_random(struct tcb_rng *rng, void *block)
{
	random_bytes(rng, block, Q4_0_BYTES);
	random_scale(rng, 4e-3, block);
}

static void q8_0_random(struct tcb_rng *rng, void *block)
{
	random_bytes(rng, block, Q8_0_BYTES);
	random_scale(rng, 2.5e-4, block);
}

/* dmin is half the largest code times d, so that the values centre on 0. */
static void k_random(struct tcb_rng *rng, uint8_t *block, size_t bytes, double d, double centre)
{
	random_bytes(rng, block, bytes);
	random_scale(rng, d, block);
	tcb_f16_store((float)(centre * d * (0.5 + tcb_rng_unit(rng))), block + HALF_BYTES);
}

static void q4_k_random(struct tcb_rng *rng, void *block)
{
	k_random(rng, block, Q4_K_BYTES, 1e-4, 7.5);
}

static void q5_k_random(struct tcb_rng *rng, void *block)
{
	k_random(rng, block, Q5_K_BYTES, 5e-5, 15.5);
}

static void q6_k_random(struct tcb_rng *rng, void *block)
{
	random_bytes(rng, block, Q6_K_BYTES);
	random_scale(rng, 1.3e-5, (uint8_t *)block + Q6_K_D);
}

static const struct tcb_format formats[TCB_FORMAT_COUNT] = {
	[TCB_FORMAT_Q4_0] = { TCB_FORMAT_Q4_0, "q4_0", "Q4_0", RUN, Q4_0_BYTES, RUN, 8, 0, 4, q4_0_decode,
			      tcb_q4_0_quantize, q4_0_random },
	[TCB_FORMAT_Q8_0] = { TCB_FORMAT_Q8_0, "q8_0", "Q8_0", RUN, Q8_0_BYTES, RUN, 0, 0, 8, q8_0_decode,
			      tcb_q8_0_quantize, q8_0_random },
	[TCB_FORMAT_Q4_K] = { TCB_FORMAT_Q4_K, "q4_k", "Q4_K", K_VALUES, Q4_K_BYTES, RUN, 0, 1, 4, q4_k_decode,
			      tcb_q4_k_quantize, q4_k_random },
	[TCB_FORMAT_Q5_K] = { TCB_FORMAT_Q5_K, "q5_k", "Q5_K", K_VALUES, Q5_K_BYTES, RUN, 0, 1, 5, q5_k_decode,
			      tcb_q5_k_quantize, q5_k_random },
	[TCB_FORMAT_Q6_K] = { TCB_FORMAT_Q6_K, "q6_k", "Q6_K", K_VALUES, Q6_K_BYTES, Q6_K_RUN, 32, 0, 6, q6_k_decode,
			      tcb_q6_k_quantize, q6_k_random },
};

const struct tcb_format *tcb_format(enum tcb_format_id id)
{
	return &formats[id];
}

const struct tcb_format *tcb_format_find(const char *gguf_name)
{
	for (size_t i = 0; i < TCB_FORMAT_COUNT; i++) {
		if (strcmp(formats[i].gguf_name, gguf_name) == 0)
			return &formats[i];
	}
	return NULL;
}
