/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the quantised matmul (quant_matmul_amx.h), contract q8, on
 * the tile instructions of AMX-INT8.
 */
#include <immintrin.h>

#define AMX_CONFIGURE(config) _tile_loadconfig(config)
#define AMX_ZERO(t) _tile_zero(t)
#define AMX_LOAD(t, p, stride) _tile_loadd(t, p, stride)
#define AMX_STORE(t, p, stride) _tile_stored(t, p, stride)
#define AMX_DOT(c, a, b) _tile_dpbsud(c, a, b)
#define AMX_RELEASE() _tile_release()

#include "kernels/quant_matmul/quant_matmul_amx.h"
#include "kernels/quant_matmul/quant_matmul_rows.h"

#define SIZES(X, ...) X(16, 16, __VA_ARGS__) X(16, 32, __VA_ARGS__) X(32, 16, __VA_ARGS__) X(32, 32, __VA_ARGS__)

#define TILE(m, n, op, format)                                  \
	static void op##_##m##x##n(const struct qmm_call *call) \
	{                                                       \
		amx_tile(call, format, m, n);                   \
	}                                                       \
	QMM_ENTRY(op##_##m##x##n, op##_##m##x##n, NULL)
SIZES(TILE, q40, TCB_FORMAT_Q4_0)
SIZES(TILE, q80, TCB_FORMAT_Q8_0)
SIZES(TILE, q4k, TCB_FORMAT_Q4_K)
SIZES(TILE, q5k, TCB_FORMAT_Q5_K)
SIZES(TILE, q6k, TCB_FORMAT_Q6_K)

#define ROW(m, n, op, k) QMM_ROWS_Q8(op, k, amx, AMX, m, n, op##_##m##x##n##_entry),
const struct tcb_variant qmm_amx_q40[] = { SIZES(ROW, q40, 32){ 0 } };
const struct tcb_variant qmm_amx_q80[] = { SIZES(ROW, q80, 32){ 0 } };
const struct tcb_variant qmm_amx_q4k[] = { SIZES(ROW, q4k, 256){ 0 } };
const struct tcb_variant qmm_amx_q5k[] = { SIZES(ROW, q5k, 256){ 0 } };
const struct tcb_variant qmm_amx_q6k[] = { SIZES(ROW, q6k, 256){ 0 } };
