/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the quantised matmul (quant_matmul_tile.h), contracts q8
 * and f32, AVX2.
 */
#include "kernels/quant_matmul/quant_matmul_rows.h"
#include "kernels/quant_matmul/quant_matmul_tile.h"

/* X(m, n) for each size of tile, contract q8; then f32. */
#define SIZES(X, ...) X(1, 8, __VA_ARGS__) X(2, 8, __VA_ARGS__) X(4, 8, __VA_ARGS__) X(2, 16, __VA_ARGS__)
#define SIZES_F32(X, ...) \
	X(1, 8, __VA_ARGS__) X(4, 8, __VA_ARGS__) X(8, 8, __VA_ARGS__) X(2, 16, __VA_ARGS__) X(4, 16, __VA_ARGS__)

#define TILES(m, n, op, format)                                         \
	static void panel_##op##_##m##x##n(const struct qmm_call *call) \
	{                                                               \
		q8_tile(call, format, 0, m, n / LANES);                 \
	}                                                               \
	static void lines_##op##_##m##x##n(const struct qmm_call *call) \
	{                                                               \
		q8_tile(call, format, 1, m, n / LANES);                 \
	}                                                               \
	QMM_ENTRY(op##_##m##x##n, panel_##op##_##m##x##n, lines_##op##_##m##x##n)
SIZES(TILES, q40, TCB_FORMAT_Q4_0)
SIZES(TILES, q80, TCB_FORMAT_Q8_0)
SIZES(TILES, q4k, TCB_FORMAT_Q4_K)
SIZES(TILES, q5k, TCB_FORMAT_Q5_K)
SIZES(TILES, q6k, TCB_FORMAT_Q6_K)

#define TILE_F32(m, n, unused)                                 \
	static void f32_##m##x##n(const struct qmm_call *call) \
	{                                                      \
		f32_tile(call, m, n / LANES);                  \
	}                                                      \
	QMM_ENTRY(f32_##m##x##n, f32_##m##x##n, NULL)
SIZES_F32(TILE_F32, 0)

#define ROW(m, n, op, k) QMM_ROWS_Q8(op, k, avx2, AVX2, m, n, op##_##m##x##n##_entry),
#define ROW_F32(m, n, op, k) QMM_ROWS_F32(op, k, avx2, AVX2, m, n, f32_##m##x##n##_entry),
const struct tcb_variant qmm_avx2_q40[] = { SIZES(ROW, q40, 32) SIZES_F32(ROW_F32, q40, 32){ 0 } };
const struct tcb_variant qmm_avx2_q80[] = { SIZES(ROW, q80, 32) SIZES_F32(ROW_F32, q80, 32){ 0 } };
const struct tcb_variant qmm_avx2_q4k[] = { SIZES(ROW, q4k, 256) SIZES_F32(ROW_F32, q4k, 256){ 0 } };
const struct tcb_variant qmm_avx2_q5k[] = { SIZES(ROW, q5k, 256) SIZES_F32(ROW_F32, q5k, 256){ 0 } };
const struct tcb_variant qmm_avx2_q6k[] = { SIZES(ROW, q6k, 256) SIZES_F32(ROW_F32, q6k, 256){ 0 } };
