/* SPDX-License-Identifier: MIT
 *
 * The table of weight formats, numbers of 16 bits and scales of 6, and random
 * blocks; decode/formats_decode.c takes blocks apart.  The float conversions are integer code so that
 * every machine gives the same bits; NaNs come out quiet, as F16C does it.
 */
#include "kernels/formats.h"

#include <math.h>
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

float tcb_e4m3_to_f32(uint8_t bits)
{
	if (tcb_e4m3_is_nan(bits))
		return tcb_f16_to_f32((uint16_t)((bits & 0x80u) << 8 | 0x7e00u));
	/* Seven bits up they are halves, 2^-8 of what they are. */
	return 256 * tcb_f16_to_f32((uint16_t)((bits & 0x80u) << 8 | (bits & 0x7fu) << 7));
}

uint8_t tcb_f32_to_e4m3(float value)
{
	const uint8_t sign = signbit(value) ? 0x80 : 0;
	const float size = fabsf(value), most = 448;
	if (isnan(value))
		return sign | 0x7f;
	if (size >= most)
		return sign | 0x7e;
	/* Of less than 2^-6 all steps are 2^-9; else there are eight to a power of two. */
	int exponent = -6;
	if (size >= 0x1p-6f)
		exponent = ilogbf(size);
	const float steps = rintf(ldexpf(size, 3 - exponent));
	return (uint8_t)(sign | ((exponent + 6) * 8 + (int)steps));
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

/* Codes are uniform, but none is a NaN; scales as above. */
static void random_fp8(const struct tcb_format *format, struct tcb_rng *rng, uint8_t *block)
{
	uint8_t half[HALF_BYTES];
	random_scale(rng, format->size, half);
	const float scale = tcb_f16_load(half) * (1 + 0x1p-13f); /* more bits than a half has */
	memcpy(block + format->d_at, &scale, sizeof(scale));
	for (size_t i = format->codes_at; i < format->block_bytes; i++)
		while (tcb_e4m3_is_nan(block[i]))
			block[i] = (uint8_t)tcb_rng_below(rng, 256);
}

/* Four bits of a half on top of each of four words. */
static void spread_half(const uint8_t half[2], uint8_t *words)
{
	for (int i = 0; i < 4; i++)
		words[2 * i + 1] = (uint8_t)((words[2 * i + 1] & 15) | (half[i / 2] >> i % 2 * 4 & 15) << 4);
}

void tcb_block_random(const struct tcb_format *format, struct tcb_rng *rng, void *block)
{
	uint8_t *bytes = block, *d = bytes + format->d_at;
	if (tcb_is_float(format->id) && format->block_values == 1) {
		const float value = (float)format->size * tcb_rng_normal(rng);
		const uint16_t half = format->codes == TCB_CODES_F16 ? tcb_f32_to_f16(value) : tcb_f32_to_bf16(value);
		memcpy(block, format->codes == TCB_CODES_F32 ? (const void *)&value : &half, format->block_bytes);
		return;
	}
	for (size_t i = 0; i < format->block_bytes; i += sizeof(uint64_t)) {
		const size_t left = format->block_bytes - i;
		const uint64_t random = tcb_rng_next(rng);
		memcpy(bytes + i, &random, left < sizeof(random) ? left : sizeof(random));
	}
	if (format->codes == TCB_CODES_E4M3) {
		random_fp8(format, rng, bytes);
		return;
	}
	if (format->scales == TCB_SCALES_POWER) { /* few subnormal ones: processors take many times as long for them */
		*d = (uint8_t)(tcb_rng_below(rng, 16384) ? 118 + tcb_rng_below(rng, 5) : tcb_rng_below(rng, 3));
		return;
	}
	if (format->scales == TCB_SCALES_E4M3) { /* up to 2^-6 */
		for (int i = 0; i < 4; i++)
			d[i] = (uint8_t)tcb_rng_below(rng, 16);
		return;
	}
	if (format->scales == TCB_SCALES_SPREAD) {
		uint8_t half[HALF_BYTES];
		random_scale(rng, format->size, half);
		spread_half(half, d);
		return;
	}
	random_scale(rng, format->size, d);
	if (format->has_offsets) { /* dmin is half the largest code times d, so that the values centre on 0 */
		const int sign = format->block_values == RUN ? -1 : 1; /* it is added there */
		const double centre = sign * ((1 << format->code_bits) - 1) / 2.0;
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
