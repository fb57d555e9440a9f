/* SPDX-License-Identifier: MIT
 *
 * Blocks of formats whose codes are fields of bits, and their scales, by the kinds
 * that a format's row names (formats.h).  Inline: of a row that is a constant
 * compilers fold what is asked of it, and make vectors of the loops where a file's
 * flags allow them.
 */
#ifndef TCB_KERNELS_DECODE_BLOCK_CODES_H
#define TCB_KERNELS_DECODE_BLOCK_CODES_H

#include <assert.h>
#include <string.h>

#include "kernels/decode/formats_expand.h"

enum { BLOCK_RUN = 32, BLOCK_HALF_BYTES = 2 };

/* Nibbles of PAIRS bytes at LOW: the low ones, then the high ones. */
SIMD_INLINE void block_split(const uint8_t *low, size_t pairs, int8_t *code)
{
	for (size_t i = 0; i < pairs; i++) {
		code[i] = (int8_t)(low[i] & 15);
		code[i + pairs] = (int8_t)(low[i] >> 4);
	}
}

SIMD_INLINE void block_pairs(const uint8_t *low, const uint8_t *high, int8_t *code)
{
	for (int pair = 0; pair < 4; pair++, low += BLOCK_RUN, code += 2 * BLOCK_RUN) {
		block_split(low, BLOCK_RUN, code);
		for (int i = 0; high && i < BLOCK_RUN; i++) {
			code[i] = (int8_t)(code[i] | (high[i] >> 2 * pair & 1) << 4);
			code[i + BLOCK_RUN] = (int8_t)(code[i + BLOCK_RUN] | (high[i] >> (2 * pair + 1) & 1) << 4);
		}
	}
}

SIMD_INLINE void block_quarters(const uint8_t *low, const uint8_t *high, int8_t *code)
{
	for (int half = 0; half < 2; half++, low += 2 * BLOCK_RUN, high += BLOCK_RUN, code += 4 * BLOCK_RUN)
		for (int part = 0; part < 4; part++)
			for (int i = 0; i < BLOCK_RUN; i++) {
				const int nibble = low[i + BLOCK_RUN * (part & 1)] >> 4 * (part >> 1) & 15;
				code[i + BLOCK_RUN * part] = (int8_t)(nibble | (high[i] >> 2 * part & 3) << 4);
			}
}

/* Codes as stored: what they are above, or what a table says of them, is for the caller. */
SIMD_INLINE void block_codes(const struct tcb_format *f, const uint8_t *block, int8_t *code)
{
	const uint8_t *at = block + f->codes_at;
	switch (f->codes) {
	case TCB_CODES_BYTES:
		memcpy(code, at, f->block_values);
		break;
	case TCB_CODES_RUNS:
		for (size_t i = 0; i < f->block_values; i += BLOCK_RUN)
			expand_put_nibbles(code + i, at + i / 2);
		break;
	case TCB_CODES_PAIRS:
		block_pairs(at, f->high_at ? block + f->high_at : NULL, code);
		break;
	case TCB_CODES_QUARTERS:
		block_quarters(at, block + f->high_at, code);
		break;
	default:
		assert(!"reached");
		break;
	}
}

/* Scales and offsets: d * sc and dmin * m have at most 18 significant bits, times a code 23: exact. */
SIMD_INLINE void block_scales(const struct tcb_format *f, const uint8_t *block, struct tcb_codes *out)
{
	const float d = expand_half(block + f->d_at);
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
			out->offset[j] = expand_half(block + f->d_at + BLOCK_HALF_BYTES) * min[j];
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

#endif
