/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of q4k_matvec, contract f32, portable C.  In: blocks as stored
 * and prepared activations (struct q4k_x32).  Out: f32 results, bit-equal to
 * q4k_exact().  The sixteen lanes of the vector kernels are kept, so that the
 * additions are independent, but every multiplication and addition rounds by
 * itself: without hardware support a fused one is a slow library call.
 */
#include <assert.h>

#include "kernels/formats.h"
#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec_micro.h"

static const float code_value[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* Lanes i and i + 8, then i and i + 4, i and i + 2, i and i + 1. */
SIMD_INLINE float add_lanes(const float lane[16])
{
	float eight[8];
	for (int i = 0; i < 8; i++)
		eight[i] = lane[i] + lane[i + 8];
	for (int i = 0; i < 4; i++)
		eight[i] += eight[i + 4];
	return (eight[0] + eight[2]) + (eight[1] + eight[3]);
}

SIMD_INLINE float load_half(const uint8_t *bytes)
{
	return tcb_f16_to_f32((uint16_t)(bytes[0] | bytes[1] << 8));
}

SIMD_INLINE void native_block(const uint8_t *block, const struct q4k_x32 *x, float acc[16])
{
	const float d = load_half(block), dmin = load_half(block + 2);
	uint8_t scale[8], min[8];
	tcb_k_scales(block + 4, scale, min);
	for (int j = 0; j < 8; j++)
		acc[8 + j] -= dmin * (float)min[j] * x->sums[j];
	for (int run = 0; run < 4; run++) {
		const uint8_t *codes = block + 16 + 32 * run;
		const float *xr = x->x + 128 * (run / 2) + 8 * (run % 2);
		const float low_scale = d * (float)scale[2 * run], high_scale = d * (float)scale[2 * run + 1];
		float *lane = acc + 8 * (run % 2);
		for (int w = 0; w < 8; w++) {
			float low = code_value[codes[4 * w] & 15] * xr[w];
			float high = code_value[codes[4 * w] >> 4] * xr[64 + w];
			for (int b = 1; b < 4; b++) {
				low += code_value[codes[4 * w + b] & 15] * xr[16 * b + w];
				high += code_value[codes[4 * w + b] >> 4] * xr[64 + 16 * b + w];
			}
			lane[w] += low * low_scale;
			lane[w] += high * high_scale;
		}
	}
}

/* Up to ROWS rows, no prefetching. */
static void native_rows(const struct qmv_call *call, size_t rows)
{
	const struct q4k_x32 *x = call->x;
	float acc[4][16] = { { 0 } };
	assert(call->rows <= rows);
	(void)rows;
	for (size_t b = 0; b < call->blocks; b++)
		for (size_t r = 0; r < call->rows; r++)
			native_block(call->weights + r * call->row_bytes + b * Q4K_BLOCK_BYTES, x + b, acc[r]);
	for (size_t r = 0; r < call->rows; r++)
		call->y[r] = call->accumulate ? call->y[r] + add_lanes(acc[r]) : add_lanes(acc[r]);
}

static void native_1(const struct qmv_call *call)
{
	native_rows(call, 1);
}

static void native_4(const struct qmv_call *call)
{
	native_rows(call, 4);
}

#define ROW(kind, class, rows) Q4K_ROW(kind, f32, F32, native, NATIVE, rows, 1, class, native_##rows),
#define ROWS(kind, class) ROW(kind, class, 1) ROW(kind, class, 4)
Q4K_TABLES(f32, ROWS, TCB_CLASS_EXACT)
