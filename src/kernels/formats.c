/* SPDX-License-Identifier: MIT
 *
 * Quantised weight formats, one table row each: blocks in, f32 values out
 * (layouts in SPEC section 3).  The float conversions are integer code so that
 * every machine gives the same bits; NaNs come out quiet, as F16C does it.
 */
#include "kernels/formats.h"

#include <string.h>

enum { K_VALUES = 256, Q4_K_BYTES = 144, Q4_K_SCALES = 4, Q4_K_CODES = 16 };

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

void tcb_k_scales(const uint8_t packed[12], uint8_t scale_out[8], uint8_t min_out[8])
{
	for (int j = 0; j < 4; j++) {
		scale_out[j] = packed[j] & 63;
		min_out[j] = packed[j + 4] & 63;
		scale_out[j + 4] = (uint8_t)((packed[j + 8] & 15) | (packed[j] >> 6) << 4);
		min_out[j + 4] = (uint8_t)((packed[j + 8] >> 4) | (packed[j + 4] >> 6) << 4);
	}
}

static float load_half(const uint8_t *bytes)
{
	return tcb_f16_to_f32((uint16_t)(bytes[0] | bytes[1] << 8));
}

static void store_half(float value, uint8_t *bytes)
{
	uint16_t half = tcb_f32_to_f16(value);
	bytes[0] = (uint8_t)half;
	bytes[1] = (uint8_t)(half >> 8);
}

/* d * sc * q and dmin * m have at most 21 significant bits, so only the subtraction rounds: fused or not is the same.
 */
static void q4_k_dequantize(const void *blocks, size_t block_count, float *out)
{
	const uint8_t *block = blocks;
	for (size_t b = 0; b < block_count; b++, block += Q4_K_BYTES) {
		float d = load_half(block), dmin = load_half(block + 2);
		uint8_t scale[8], min[8];
		tcb_k_scales(block + Q4_K_SCALES, scale, min);
		const uint8_t *codes = block + Q4_K_CODES;
		for (int j = 0; j < 8; j += 2, codes += 32) {
			float d_low = d * scale[j], m_low = dmin * min[j];
			float d_high = d * scale[j + 1], m_high = dmin * min[j + 1];
			for (int i = 0; i < 32; i++)
				*out++ = d_low * (float)(codes[i] & 15) - m_low;
			for (int i = 0; i < 32; i++)
				*out++ = d_high * (float)(codes[i] >> 4) - m_high;
		}
	}
}

/*
 * All scales, mins and codes are uniform; d is some 1e-4 as in models of a few thousand columns, and dmin is 7.5 d so
 * that the values centre on 0.  One block in 16 has d = 0, one a negative d: rare in models, legal in the format.
 */
static void q4_k_random(struct tcb_rng *rng, void *block)
{
	uint8_t *bytes = block;
	for (int i = Q4_K_SCALES; i < Q4_K_BYTES; i += 4) {
		uint64_t random = tcb_rng_next(rng);
		memcpy(bytes + i, &random, 4);
	}
	float d = (float)(1e-4 * (0.5 + tcb_rng_unit(rng)));
	float dmin = (float)(7.5e-4 * (0.5 + tcb_rng_unit(rng)));
	uint64_t kind = tcb_rng_below(rng, 16);
	if (kind == 0)
		d = 0;
	else if (kind == 1)
		d = -d;
	store_half(d, bytes);
	store_half(dmin, bytes + 2);
}

static const struct tcb_format formats[TCB_FORMAT_COUNT] = {
	[TCB_FORMAT_Q4_K] = { "q4_k", "Q4_K", K_VALUES, Q4_K_BYTES, q4_k_dequantize, q4_k_random },
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
