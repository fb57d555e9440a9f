/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits (tcb_quant_codes() of quant.h), in plain C that
 * compilers turn into vectors of whatever the including file is compiled for.
 */
#ifndef TCB_KERNELS_QUANT_CODES_H
#define TCB_KERNELS_QUANT_CODES_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void tcb_quant_codes_inline(const float *x, size_t count, int8_t *code_out, float *d_out)
{
	uint32_t largest = 0; /* as bits: those of infinities and NaNs are above FLT_MAX's */
	for (size_t i = 0; i < count; i++) {
		uint32_t bits;
		memcpy(&bits, x + i, sizeof(bits));
		bits &= 0x7fffffff;
		largest = bits > largest ? bits : largest;
	}
	float max;
	memcpy(&max, &largest, sizeof(max));
	*d_out = largest >= 0x7f800000 ? NAN : 0;
	if (largest >= 0x7f800000 || max < 127 * FLT_MIN) {
		memset(code_out, 0, count);
		return;
	}
	const float inverse = 127 / max;
	*d_out = max / 127;
	for (size_t i = 0; i < count; i++) {
		/* 1.5 * 2^23: the sum's unit is 1, so that adding rounds to the nearest even integer. */
		const float shifted = x[i] * inverse + 0x1.8p23f;
		int32_t bits;
		memcpy(&bits, &shifted, sizeof(bits));
		code_out[i] = (int8_t)(bits - 0x4b400000);
	}
}

#endif
