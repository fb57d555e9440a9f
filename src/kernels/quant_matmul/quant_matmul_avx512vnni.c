/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the quantised matmul (quant_matmul_tile.h), contract q8,
 * AVX-512 with VNNI.  Formats with equal panels share the tiles from panels.
 */
#include "kernels/quant_matmul/quant_matmul_rows.h"
#include "kernels/quant_matmul/quant_matmul_tile.h"

/* X(m, n) for each size of tile. */
#define SIZES(X, ...)         \
	X(1, 16, __VA_ARGS__) \
	X(1, 32, __VA_ARGS__) \
	X(2, 16, __VA_ARGS__) \
	X(2, 32, __VA_ARGS__) \
	X(4, 16, __VA_ARGS__) \
	X(4, 32, __VA_ARGS__) X(8, 16, __VA_ARGS__) X(8, 32, __VA_ARGS__) X(16, 16, __VA_ARGS__)

#define PANEL_TILE(m, n, name, format)                                    \
	static void panel_##name##_##m##x##n(const struct qmm_call *call) \
	{                                                                 \
		q8_tile(call, format, 0, m, n / 16);                      \
	}
SIZES(PANEL_TILE, plain, TCB_FORMAT_Q4_0)
SIZES(PANEL_TILE, mins, TCB_FORMAT_Q4_K)
SIZES(PANEL_TILE, q6k, TCB_FORMAT_Q6_K)

#define LINES_TILE(m, n, op, panel, format)                             \
	static void lines_##op##_##m##x##n(const struct qmm_call *call) \
	{                                                               \
		q8_tile(call, format, 1, m, n / 16);                    \
	}                                                               \
	QMM_ENTRY(op##_##m##x##n, panel_##panel##_##m##x##n, lines_##op##_##m##x##n)
SIZES(LINES_TILE, q40, plain, TCB_FORMAT_Q4_0)
SIZES(LINES_TILE, q80, plain, TCB_FORMAT_Q8_0)
SIZES(LINES_TILE, q4k, mins, TCB_FORMAT_Q4_K)
SIZES(LINES_TILE, q5k, mins, TCB_FORMAT_Q5_K)
SIZES(LINES_TILE, q6k, q6k, TCB_FORMAT_Q6_K)

#define ROW(m, n, op, k) QMM_ROWS_Q8(op, k, avx512vnni, AVX512VNNI, m, n, op##_##m##x##n##_entry),
const struct tcb_variant qmm_avx512vnni_q40[] = { SIZES(ROW, q40, 32){ 0 } };
const struct tcb_variant qmm_avx512vnni_q80[] = { SIZES(ROW, q80, 32){ 0 } };
const struct tcb_variant qmm_avx512vnni_q4k[] = { SIZES(ROW, q4k, 256){ 0 } };
const struct tcb_variant qmm_avx512vnni_q5k[] = { SIZES(ROW, q5k, 256){ 0 } };
const struct tcb_variant qmm_avx512vnni_q6k[] = { SIZES(ROW, q6k, 256){ 0 } };
