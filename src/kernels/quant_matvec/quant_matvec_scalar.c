/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of the MatVecs that formats share, in portable
 * C, on rows as stored; the plainest statement of what the others compute.
 * Contract f32: per run of values that share a scale, scale times the sum of
 * products of codes and activations, less the offset times the activations'
 * sum.  Contract q8: the same with exact integer sums.
 */
#include <assert.h>

#include "kernels/quant_matvec/quant_matvec_micro.h"

static float run_q8(const int8_t *code, size_t values, float scale, float offset, const int8_t *q, float d)
{
	int32_t dot = 0, sum = 0;
	for (size_t i = 0; i < values; i++) {
		dot += code[i] * q[i];
		sum += q[i];
	}
	return (scale * (float)dot - offset * (float)sum) * d;
}

static float run_f32(const int8_t *code, size_t values, float scale, float offset, const float *x)
{
	float dot = 0, sum = 0;
	for (size_t i = 0; i < values; i++) {
		dot += (float)code[i] * x[i];
		sum += x[i];
	}
	return scale * dot - offset * sum;
}

SIMD_INLINE void native_rows(const struct qmv_call *call, enum tcb_format_id id, int q8)
{
	const struct tcb_format *format = tcb_format(id);
	const struct qmv_x8 *x8 = call->x;
	const struct qmv_x32 *x32 = call->x;
	struct tcb_codes codes;
	for (size_t r = 0; r < call->rows; r++) {
		const uint8_t *block = call->weights + r * call->row_bytes;
		float sum = 0;
		for (size_t k = 0; k < call->values; k += format->block_values, block += format->block_bytes) {
			tcb_block_decode(format, block, &codes);
			for (size_t i = 0, run = 0; i < format->block_values; i += format->run_values, run++) {
				const size_t super = (k + i) / QMV_SUPER, at = (k + i) % QMV_SUPER;
				sum += q8 ? run_q8(codes.code + i, format->run_values, codes.scale[run],
						   codes.offset[run], x8[super].q + at,
						   x8[super].d[at / format->run_values])
					  : run_f32(codes.code + i, format->run_values, codes.scale[run],
						    codes.offset[run], x32[super].x + at);
			}
		}
		call->y[r] = call->accumulate ? call->y[r] + sum : sum;
	}
}

/* Of weights that are values. */
SIMD_INLINE void value_rows(const struct qmv_call *call, enum tcb_format_id id)
{
	const struct tcb_format *format = tcb_format(id);
	const struct qmv_x32 *x = call->x;
	float w[QMV_SUPER];
	for (size_t r = 0; r < call->rows; r++) {
		const uint8_t *row = call->weights + r * call->row_bytes;
		float sum = 0;
		for (size_t b = 0; b < call->blocks; b++, row += qmv_super_bytes(id)) {
			const size_t left = call->values - b * QMV_SUPER, values = left < QMV_SUPER ? left : QMV_SUPER;
			tcb_dequantize(format, row, values / format->block_values, w);
			for (size_t i = 0; i < values; i++)
				sum += w[i] * x[b].x[i];
		}
		call->y[r] = call->accumulate ? call->y[r] + sum : sum;
	}
}

#define KERNELS(id, name, op, ...)                        \
	static void op##_q8(const struct qmv_call *call)  \
	{                                                 \
		native_rows(call, TCB_FORMAT_##id, 1);    \
	}                                                 \
	static void op##_f32(const struct qmv_call *call) \
	{                                                 \
		native_rows(call, TCB_FORMAT_##id, 0);    \
	}
TCB_FORMAT_SHARED_ROWS(KERNELS)
TCB_FORMAT_EXPANDED_ROWS(KERNELS)

#define TABLE(kind, has_norm, is_gated, op, k)                               \
	const struct tcb_variant SIMD_NAME(qmv_##op##_##kind)[] = {          \
		QMV_ROW(kind, op, k, q8, Q8, native, NATIVE, 1, op##_q8),    \
		QMV_ROW(kind, op, k, q8, Q8, native, NATIVE, 4, op##_q8),    \
		QMV_ROW(kind, op, k, f32, F32, native, NATIVE, 1, op##_f32), \
		QMV_ROW(kind, op, k, f32, F32, native, NATIVE, 4, op##_f32), \
		{ 0 },                                                       \
	};
#define TABLES(id, name, op, k, ...) QMV_KINDS(TABLE, op, k)
TCB_FORMAT_SHARED_ROWS(TABLES)
TCB_FORMAT_EXPANDED_ROWS(TABLES)

/* Weights that are values. */
#define FLOAT_KERNEL(id, name, op, ...)                   \
	static void op##_f32(const struct qmv_call *call) \
	{                                                 \
		value_rows(call, TCB_FORMAT_##id);        \
	}
TCB_FORMAT_FLOAT_ROWS(FLOAT_KERNEL)
#define FLOAT_TABLE(kind, has_norm, is_gated, op, k)                         \
	const struct tcb_variant SIMD_NAME(qmv_##op##_##kind)[] = {          \
		QMV_ROW(kind, op, k, f32, F32, native, NATIVE, 1, op##_f32), \
		QMV_ROW(kind, op, k, f32, F32, native, NATIVE, 4, op##_f32), \
		{ 0 },                                                       \
	};
#define FLOAT_TABLES(id, name, op, k, ...) QMV_KINDS(FLOAT_TABLE, op, k)
TCB_FORMAT_FLOAT_ROWS(FLOAT_TABLES)
