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
#define AMX_SAVE(config) _tile_storeconfig(config)
#define AMX_RELEASE() _tile_release()

#include "kernels/quant_matmul/quant_matmul_amx.h"
#include "kernels/quant_matmul/quant_matmul_rows.h"
#include "kernels/quant_matmul/quant_matmul_sizes.h"

#define TILE(m, n, op, format)                                  \
	static void op##_##m##x##n(const struct qmm_call *call) \
	{                                                       \
		amx_tile(call, format, m, n);                   \
	}                                                       \
	QMM_ENTRY(op##_##m##x##n, op##_##m##x##n, NULL)
#define OF_FORMAT(id, name, op, ...) QMM_SIZES(TILE, op, TCB_FORMAT_##id)
TCB_FORMAT_CODE_LIST(OF_FORMAT)

#define ROW(m, n, op, k) QMM_ROWS_Q8(op##_matmul, k, m, n, op##_##m##x##n##_entry),
#define TABLE(id, name, op, values, ...) \
	const struct tcb_variant SIMD_NAME(qmm_##op)[] = { QMM_SIZES(ROW, op, values){ 0 } };
TCB_FORMAT_CODE_LIST(TABLE)
#define NO_TABLE(id, name, op, ...) const struct tcb_variant SIMD_NAME(qmm_##op)[] = { { 0 } };
TCB_FORMAT_FLOAT_ROWS(NO_TABLE)
