/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the quantised matmul (quant_matmul_tile.h), contracts q8
 * and f32, 64-bit Arm with dot products.  Formats with equal panels share the
 * tiles from panels.
 */
#include "kernels/quant_matmul/quant_matmul_rows.h"
#include "kernels/quant_matmul/quant_matmul_tile.h"

/* X(m, n) for each size of tile, contract q8; then f32. */
#define SIZES(X, ...) X(1, 16, __VA_ARGS__) X(2, 16, __VA_ARGS__) X(4, 8, __VA_ARGS__) X(4, 16, __VA_ARGS__)
#define SIZES_F32(X, ...) X(1, 16, __VA_ARGS__) X(4, 16, __VA_ARGS__) X(8, 8, __VA_ARGS__)

#define PANEL_TILE(m, n, name, format)                                    \
	static void panel_##name##_##m##x##n(const struct qmm_call *call) \
	{                                                                 \
		q8_tile(call, format, 0, m, n / LANES);                   \
	}
SIZES(PANEL_TILE, q40, TCB_FORMAT_Q4_0)
SIZES(PANEL_TILE, q80, TCB_FORMAT_Q8_0)
SIZES(PANEL_TILE, mins, TCB_FORMAT_Q4_K)
SIZES(PANEL_TILE, q6k, TCB_FORMAT_Q6_K)

#define LINES_TILE(m, n, op, panel, format)                             \
	static void lines_##op##_##m##x##n(const struct qmm_call *call) \
	{                                                               \
		q8_tile(call, format, 1, m, n / LANES);                 \
	}                                                               \
	QMM_ENTRY(op##_##m##x##n, panel_##panel##_##m##x##n, lines_##op##_##m##x##n)
SIZES(LINES_TILE, q40, q40, TCB_FORMAT_Q4_0)
SIZES(LINES_TILE, q80, q80, TCB_FORMAT_Q8_0)
SIZES(LINES_TILE, q4k, mins, TCB_FORMAT_Q4_K)
SIZES(LINES_TILE, q5k, mins, TCB_FORMAT_Q5_K)
SIZES(LINES_TILE, q6k, q6k, TCB_FORMAT_Q6_K)

#define TILE_F32(m, n, unused)                                 \
	static void f32_##m##x##n(const struct qmm_call *call) \
	{                                                      \
		f32_tile(call, m, n / LANES);                  \
	}                                                      \
	QMM_ENTRY(f32_##m##x##n, f32_##m##x##n, NULL)
SIZES_F32(TILE_F32, 0)

#define ROW(m, n, op, k) QMM_ROWS_Q8(op, k, neon, NEON, m, n, op##_##m##x##n##_entry),
#define ROW_F32(m, n, op, k) QMM_ROWS_F32(op, k, neon, NEON, m, n, f32_##m##x##n##_entry),
const struct tcb_variant qmm_neon_q40[] = { SIZES(ROW, q40, 32) SIZES_F32(ROW_F32, q40, 32){ 0 } };
const struct tcb_variant qmm_neon_q80[] = { SIZES(ROW, q80, 32) SIZES_F32(ROW_F32, q80, 32){ 0 } };
const struct tcb_variant qmm_neon_q4k[] = { SIZES(ROW, q4k, 256) SIZES_F32(ROW_F32, q4k, 256){ 0 } };
const struct tcb_variant qmm_neon_q5k[] = { SIZES(ROW, q5k, 256) SIZES_F32(ROW_F32, q5k, 256){ 0 } };
const struct tcb_variant qmm_neon_q6k[] = { SIZES(ROW, q6k, 256) SIZES_F32(ROW_F32, q6k, 256){ 0 } };
