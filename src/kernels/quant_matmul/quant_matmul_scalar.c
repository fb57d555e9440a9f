/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the quantised matmul in portable code, contracts q8 and
 * f32, from panels and values only.
 */
#include <assert.h>
#include <string.h>

#include "kernels/quant_matmul/quant_matmul_rows.h"
#include "kernels/quant_matmul/quant_matmul_sizes.h"

/* One superblock of the outputs of a token. */
SIMD_INLINE void q8_superblock(enum tcb_format_id format, const struct qmm_panel *w, const struct qmm_x8 *x,
			       float total[QMM_ROWS])
{
	const int runs = QMM_VALUES / qmm_run_values(format), steps = QMM_STEPS / runs;
	const int grouped = qmm_group_values(format) < QMM_VALUES;
	const int has_mins = qmm_has_mins(format), has_offsets = qmm_has_offsets(format);
	float acc[QMM_ROWS] = { 0 };
	for (int g = 0; g < runs; g++)
		for (int r = 0; r < QMM_ROWS; r++) {
			int32_t sum = qmm_starts_from_zero(format) ? 0 : x->start[g];
			for (int i = 4 * steps * g; i < 4 * steps * (g + 1); i++)
				sum += w->code[i / 4][4 * r + i % 4] * x->q[i];
			float run = (float)sum * w->scale[g][r];
			if (has_offsets)
				run += w->scale[runs + g][r] * qmm_less_sum(x, g);
			if (grouped)
				total[r] += run * x->d[g * qmm_run_values(format) / 32];
			else
				acc[r] += run;
		}
	for (int r = 0; r < QMM_ROWS && !grouped; r++) {
		int32_t sum = 0;
		for (int g = 0; has_mins && g < 8; g++)
			sum += w->min[g / 4][4 * r + g % 4] * (64 * x->sums_high[g] + x->sums_low[g]);
		total[r] += (has_mins ? acc[r] - w->offset[r] * (float)sum : acc[r]) * x->d[0];
	}
}

SIMD_INLINE void q8_tile(const struct qmm_call *call, enum tcb_format_id format, size_t micro_m)
{
	assert(call->superblocks >= 1 && call->tokens <= micro_m && call->rows <= QMM_ROWS);
	for (size_t m = 0; m < call->tokens; m++) {
		const struct qmm_x8 *x = (const struct qmm_x8 *)call->x + m;
		const uint8_t *panel = call->weights;
		float *y = call->y + m * call->y_stride, total[QMM_ROWS] = { 0 };
		for (size_t r = 0; call->accumulate && r < call->rows; r++)
			total[r] = y[r];
		for (size_t b = 0; b < call->superblocks; b++, x += micro_m, panel += qmm_panel_bytes(format))
			q8_superblock(format, (const struct qmm_panel *)(const void *)panel, x, total);
		memcpy(y, total, call->rows * sizeof(*y));
	}
}

SIMD_INLINE void f32_tile(const struct qmm_call *call, size_t micro_m)
{
	const float *w = (const float *)(const void *)call->weights;
	assert(call->values >= 1 && call->tokens <= micro_m && call->rows <= QMM_ROWS);
	for (size_t m = 0; m < call->tokens; m++) {
		const float *x = (const float *)call->x + m;
		float *y = call->y + m * call->y_stride, total[QMM_ROWS] = { 0 };
		for (size_t r = 0; call->accumulate && r < call->rows; r++)
			total[r] = y[r];
		for (size_t k = 0; k < call->values; k++)
			for (size_t r = 0; r < QMM_ROWS; r++)
				total[r] = w[k * QMM_ROWS + r] * x[k * micro_m] + total[r];
		memcpy(y, total, call->rows * sizeof(*y));
	}
}

#define TILE(m, n, op, format)                                  \
	static void op##_##m##x##n(const struct qmm_call *call) \
	{                                                       \
		q8_tile(call, format, m);                       \
	}                                                       \
	QMM_ENTRY(op##_##m##x##n, op##_##m##x##n, NULL)
#define OF_FORMAT(id, name, op, ...) QMM_SIZES(TILE, op, TCB_FORMAT_##id)
TCB_FORMAT_CODE_LIST(OF_FORMAT)

#define TILE_F32(m, n, unused)                                 \
	static void f32_##m##x##n(const struct qmm_call *call) \
	{                                                      \
		f32_tile(call, m);                             \
	}                                                      \
	QMM_ENTRY(f32_##m##x##n, f32_##m##x##n, NULL)
QMM_SIZES(TILE_F32, 0)

#define ROW(m, n, op, k)                                           \
	QMM_ROWS_Q8(op##_matmul, k, m, n, op##_##m##x##n##_entry), \
		QMM_ROWS_F32(op##_matmul, k, m, n, TCB_CLASS_EXACT, f32_##m##x##n##_entry),
#define TABLE(id, name, op, values, ...) \
	const struct tcb_variant SIMD_NAME(qmm_##op)[] = { QMM_SIZES(ROW, op, values){ 0 } };
TCB_FORMAT_CODE_LIST(TABLE)

#define FLOAT_ROW(m, n, op, k) QMM_ROWS_F32(op##_matmul, k, m, n, TCB_CLASS_EXACT, f32_##m##x##n##_entry),
#define FLOAT_TABLE(id, name, op, values, ...) \
	const struct tcb_variant SIMD_NAME(qmm_##op)[] = { QMM_SIZES(FLOAT_ROW, op, values){ 0 } };
TCB_FORMAT_WIDE_ROWS(FLOAT_TABLE)
#define HALF_ROW(m, n, op, k) QMM_ROWS_F16(op##_matmul, k, m, n, f32_##m##x##n##_entry),
#define HALVES_TABLE(id, name, op, values, ...)                                             \
	const struct tcb_variant SIMD_NAME(qmm_##op)[] = { QMM_SIZES(FLOAT_ROW, op, values) \
								   QMM_SIZES(HALF_ROW, op, values){ 0 } };
TCB_FORMAT_HALVES_LIST(HALVES_TABLE)
