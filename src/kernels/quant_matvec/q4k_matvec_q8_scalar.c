/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of q4k_matvec, contract q8, plain C: what runs where nothing
 * better does, and the plainest statement of what the others compute.  Per
 * block and row: y += (d * S - dmin * M) * dx with S and M exact integers.
 */
#include <assert.h>

#include "kernels/formats.h"
#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec_micro.h"

static float block_dot(const uint8_t *block, const struct q4k_x8 *x)
{
	uint8_t scale[8], min[8];
	int32_t s = 0, m = 0;
	tcb_k_scales(block + 4, scale, min);
	for (unsigned j = 0; j < 4; j++) {
		const uint8_t *nibbles = block + 16 + 32 * j;
		const int8_t *x_low = x->q + 32 * q4k_x8_run(2 * j), *x_high = x->q + 32 * q4k_x8_run(2 * j + 1);
		int32_t low = 0, high = 0;
		for (unsigned i = 0; i < 32; i++) {
			low += (nibbles[i] & 15) * x_low[i];
			high += (nibbles[i] >> 4) * x_high[i];
		}
		s += low * scale[2 * j] + high * scale[2 * j + 1];
	}
	for (unsigned j = 0; j < 8; j++)
		m += min[j] * x->sums[j];
	const float d = tcb_f16_to_f32((uint16_t)(block[0] | block[1] << 8));
	const float dmin = tcb_f16_to_f32((uint16_t)(block[2] | block[3] << 8));
	return (d * (float)s - dmin * (float)m) * x->d;
}

/* Native layout: up to ROWS rows, no prefetching. */
static void native_rows(const struct qmv_call *call, size_t rows)
{
	const struct q4k_x8 *x = call->x;
	float acc[4] = { 0 };
	assert(call->rows <= rows);
	(void)rows;
	for (size_t b = 0; b < call->blocks; b++)
		for (size_t r = 0; r < call->rows; r++)
			acc[r] += block_dot(call->weights + r * call->row_bytes + b * Q4K_BLOCK_BYTES, x + b);
	for (size_t r = 0; r < call->rows; r++)
		call->y[r] = call->accumulate ? call->y[r] + acc[r] : acc[r];
}

static void native_1_u1(const struct qmv_call *call)
{
	native_rows(call, 1);
}

static void native_4_u1(const struct qmv_call *call)
{
	native_rows(call, 4);
}

#define ROW(kind, class, rows) Q4K_ROW(kind, q8, Q8, native, NATIVE, rows, 1, class, native_##rows##_u1),
#define ROWS(kind, class) ROW(kind, class, 1) ROW(kind, class, 4)
Q4K_TABLES(q8, ROWS, TCB_CLASS_BOUNDED)
