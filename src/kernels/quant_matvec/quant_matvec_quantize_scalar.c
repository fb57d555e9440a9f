/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits for contract q8 of q4k_matvec, plain C.  In: K floats.
 * Out: K/256 blocks as quant_matvec.h describes.  The maximum is taken over the
 * magnitude bits as integers, so that NaN and infinity need no case of their
 * own until the end.
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/quant_matvec/quant_matvec_prepare.h"

static void quantize_block(const float *x, struct q4k_x8 *out)
{
	uint32_t largest = 0;
	for (int i = 0; i < 256; i++) {
		uint32_t bits;
		memcpy(&bits, &x[i], sizeof(bits));
		bits &= 0x7fffffffu;
		largest = bits > largest ? bits : largest;
	}
	float max;
	memcpy(&max, &largest, sizeof(max));
	memset(out, 0, sizeof(*out));
	if (largest >= 0x7f800000u) {
		out->d = NAN;
		return;
	}
	if (max < 127 * FLT_MIN)
		return;
	float inverse = 127 / max;
	out->d = max / 127;
	for (unsigned j = 0; j < 8; j++) {
		int sum = 0;
		for (unsigned i = 0; i < 32; i++) {
			int code = (int)lrintf(x[32 * j + i] * inverse);
			out->q[32 * q4k_x8_run(j) + i] = (int8_t)code;
			sum += code;
		}
		int high = (sum + 32) >> 6;
		out->sums[j] = (int16_t)sum;
		out->sums_high[j] = (int8_t)high;
		out->sums_low[j] = (int8_t)(sum - 64 * high);
	}
}

void q4k_quantize_scalar(const float *x, size_t blocks, struct q4k_x8 *out)
{
	assert(blocks >= 1);
	for (size_t b = 0; b < blocks; b++)
		quantize_block(x + 256 * b, out + b);
}
