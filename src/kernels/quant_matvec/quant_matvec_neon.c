/* SPDX-License-Identifier: MIT
 *
 * Micro-kernels of all ops qXX_matvec, 64-bit Arm with dot products: the
 * generics of quant_matvec_native.h and quant_matvec_lines.h.
 */
#include "kernels/quant_matvec/quant_matvec_lines.h"

/* The kernels of one format under one contract. */
#define KERNELS(op, format, contract)                                               \
	QMV_KERNEL_LONG(op##_##contract##_1, native_rows, format, IS_##contract, 1) \
	QMV_KERNEL_LONG(op##_##contract##_2, native_rows, format, IS_##contract, 2) \
	QMV_KERNEL_LONG(op##_##contract##_4, native_rows, format, IS_##contract, 4) \
	QMV_KERNEL_LONG(op##_##contract##_r16, line_rows, format, IS_##contract)
#define BOTH(op, format)        \
	KERNELS(op, format, q8) \
	KERNELS(op, format, f32)
enum { IS_q8 = 1, IS_f32 = 0 };
BOTH(q40, TCB_FORMAT_Q4_0)
BOTH(q80, TCB_FORMAT_Q8_0)
BOTH(q4k, TCB_FORMAT_Q4_K)
BOTH(q5k, TCB_FORMAT_Q5_K)
BOTH(q6k, TCB_FORMAT_Q6_K)

#define ROWS(op, k, contract, CONTRACT)                                                                 \
	QMV_ROW(op, k, contract, CONTRACT, neon, NEON, native, NATIVE, 1, op##_##contract##_1),         \
		QMV_ROW(op, k, contract, CONTRACT, neon, NEON, native, NATIVE, 2, op##_##contract##_2), \
		QMV_ROW(op, k, contract, CONTRACT, neon, NEON, native, NATIVE, 4, op##_##contract##_4), \
		QMV_ROW(op, k, contract, CONTRACT, neon, NEON, r16, R16, 16, op##_##contract##_r16)
const struct tcb_variant qmv_neon_q40[] = { ROWS(q40, 32, q8, Q8), ROWS(q40, 32, f32, F32), { .name = NULL } };
const struct tcb_variant qmv_neon_q80[] = { ROWS(q80, 32, q8, Q8), ROWS(q80, 32, f32, F32), { .name = NULL } };
const struct tcb_variant qmv_neon_q4k[] = { ROWS(q4k, 256, q8, Q8), ROWS(q4k, 256, f32, F32), { .name = NULL } };
const struct tcb_variant qmv_neon_q5k[] = { ROWS(q5k, 256, q8, Q8), ROWS(q5k, 256, f32, F32), { .name = NULL } };
const struct tcb_variant qmv_neon_q6k[] = { ROWS(q6k, 256, q8, Q8), ROWS(q6k, 256, f32, F32), { .name = NULL } };
