/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the quantised matmul on AMX: contract q8 on products of bytes
 * (quant_matmul_amx.h), f16 on products of bf16 (quant_matmul_bf16.h).
 */
#include "kernels/quant_matmul/quant_matmul_amx.h"
#include "kernels/quant_matmul/quant_matmul_bf16.h"
#include "kernels/quant_matmul/quant_matmul_rows.h"
#include "kernels/quant_matmul/quant_matmul_sizes.h"

/* Formats whose panels are alike share their tiles: X(kind, the format that stands for it), by the length of runs and
 * by what scales them beside a float: mins, offsets or a d of activations each. */
#define KINDS(X)                \
	X(RUNS, IQ4_XS)         \
	X(RUNS_MINS, Q4_K)      \
	X(RUNS_D, Q8_0)         \
	X(RUNS_D_OFFSETS, Q5_1) \
	X(SHORT, Q6_K)          \
	X(SHORT_OFFSETS, Q2_K)  \
	X(SHORT_D, NVFP4)
#define KIND_ID(kind, format) kind,
enum { KINDS(KIND_ID) KIND_COUNT };
#define KIND_OF(values, run, scales)                                                          \
	((run) < 32                 ? ((values) < QMM_VALUES         ? SHORT_D                \
				       : (scales) == TCB_SCALES_MINS ? SHORT_OFFSETS          \
								     : SHORT)                 \
	 : (values) < QMM_VALUES    ? ((scales) == TCB_SCALES_MINS ? RUNS_D_OFFSETS : RUNS_D) \
	 : (scales) == TCB_SCALES_K ? RUNS_MINS                                               \
				    : RUNS)

#define TILE(m, n, kind, format)                                  \
	static void kind##_##m##x##n(const struct qmm_call *call) \
	{                                                         \
		amx_tile(call, format, m, n);                     \
	}
#define TILES(kind, format)                                  \
	static void kind##_enter(struct qmm_before *before)  \
	{                                                    \
		amx_enter_runs(TCB_FORMAT_##format, before); \
	}                                                    \
	QMM_SIZES(TILE, kind, TCB_FORMAT_##format)
KINDS(TILES)
#define RUNS_settle amx_settle
#define RUNS_D_settle amx_settle
#define SHORT_settle amx_settle
#define SHORT_D_settle amx_settle
#define RUNS_MINS_settle NULL
#define RUNS_D_OFFSETS_settle NULL
#define SHORT_OFFSETS_settle NULL

#define AT(m, n) [(m) / AMX_SIDE - 1][(n) / AMX_SIDE - 1]
#define KERNELS(m, n, kind, format) \
	[kind] AT(m, n) = { kind##_##m##x##n, NULL, kind##_enter, amx_leave_runs, kind##_settle },
#define KERNELS_OF(kind, format) QMM_SIZES(KERNELS, kind, format)
static const struct qmm_kernels runs_kernels[KIND_COUNT][2][2] = { KINDS(KERNELS_OF) };

#define ENTRY(m, n, op, kind)                                         \
	static const struct qmm_kernels *op##_##m##x##n##_entry(void) \
	{                                                             \
		return &runs_kernels[kind] AT(m, n);                  \
	}
#define ENTRIES(id, name, op, values, bytes, run, bits, centre, codes, codes_at, high_at, scales, ...) \
	QMM_SIZES(ENTRY, op, KIND_OF(values, run, TCB_SCALES_##scales))
TCB_FORMAT_CODE_LIST(ENTRIES)

#define TILE_F16(m, n, unused)                                                      \
	static void f16_##m##x##n(const struct qmm_call *call)                      \
	{                                                                           \
		bf16_tile(call, m, n);                                              \
	}                                                                           \
	static const struct qmm_kernels *f16_##m##x##n##_entry(void)                \
	{                                                                           \
		static const struct qmm_kernels kernels = { .panel = f16_##m##x##n, \
							    .enter = bf16_enter,    \
							    .leave = bf16_leave };  \
		return &kernels;                                                    \
	}
QMM_SIZES_F16(TILE_F16, 0)

#define ROW(m, n, op, k) QMM_ROWS_Q8(op##_matmul, k, m, n, op##_##m##x##n##_entry),
#define ROW_F16(m, n, op, k) QMM_ROWS_F16(op##_matmul, k, m, n, f16_##m##x##n##_entry),
#define TABLE(id, name, op, values, ...)                                              \
	const struct tcb_variant SIMD_NAME(qmm_##op)[] = { QMM_SIZES(ROW, op, values) \
								   QMM_SIZES_F16(ROW_F16, op, values){ 0 } };
TCB_FORMAT_CODE_LIST(TABLE)
#define SCALED_TABLE(id, name, op, values, ...) \
	const struct tcb_variant SIMD_NAME(qmm_##op)[] = { QMM_SIZES_F16(ROW_F16, op, values){ 0 } };
TCB_FORMAT_SCALED_ROWS(SCALED_TABLE)
#define NO_TABLE(id, name, op, ...) const struct tcb_variant SIMD_NAME(qmm_##op)[] = { { 0 } };
TCB_FORMAT_VALUE_ROWS(NO_TABLE)
