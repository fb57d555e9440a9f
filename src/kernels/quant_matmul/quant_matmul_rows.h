/* SPDX-License-Identifier: MIT
 *
 * How a file of register tiles lists its variants: a row for each layout,
 * their names, and the functions that rows lead to.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_ROWS_H
#define TCB_KERNELS_QUANT_MATMUL_ROWS_H

#include "kernels/quant_matmul/quant_matmul_layout.h"
#include "kernels/simd/simd.h"

/* The entry NAME_entry: PANEL is a tile from panels, LINES from lines or NULL. */
#define QMM_ENTRY(name, panel_, lines_)                                                         \
	static const struct qmm_kernels *name##_entry(void)                                     \
	{                                                                                       \
		static const struct qmm_kernels kernels = { .panel = panel_, .lines = lines_ }; \
		return &kernels;                                                                \
	}

/* One row of OP, "q4k_matmul"; the name carries op, contract, layout, ISA and micro tile. */
#define QMM_ROW(op, contract_, CONTRACT, layout_, LAYOUT_, m_, n_, k_, class_, entry_)                               \
	{                                                                                                            \
#op "_" #contract_ "_" #layout_ "_" SIMD_TEXT "_" #m_ "x" #n_, TCB_CONTRACT_##CONTRACT, SIMD_ISA_ID, \
			TCB_LAYOUT_##LAYOUT_, { m_, n_, k_ }, 1, class_, tcb_signed_variants, (void (*)(void))entry_ \
	}

/* One row of a MatVec's variants, whose layout's lines the tile takes. */
#define QMM_ROW_FEW(kind_, op_, k_, m_, n_, entry_)                                                               \
	{                                                                                                         \
#op_ "_" #kind_ "_q8_r16_" SIMD_TEXT "_" #m_ "x" #n_ "x" #k_ "_u1", TCB_CONTRACT_Q8, SIMD_ISA_ID, \
			TCB_LAYOUT_R16,                                                                           \
			{ m_, n_, k_ }, 1, TCB_CLASS_BOUNDED, tcb_signed_variants, (void (*)(void))entry_         \
	}

/* Both layouts. */
#define QMM_ROWS_Q8(op, k_, m_, n_, entry_)                                         \
	QMM_ROW(op, q8, Q8, native, NATIVE, m_, n_, k_, TCB_CLASS_BOUNDED, entry_), \
		QMM_ROW(op, q8, Q8, r16, R16, m_, n_, k_, TCB_CLASS_BOUNDED, entry_)
/* Contract f16, of activations that were rounded before. */
#define QMM_ROWS_F16(op, k_, m_, n_, entry_)                                          \
	QMM_ROW(op, f16, F16, native, NATIVE, m_, n_, k_, TCB_CLASS_BOUNDED, entry_), \
		QMM_ROW(op, f16, F16, r16, R16, m_, n_, k_, TCB_CLASS_BOUNDED, entry_)
#define QMM_ROWS_F32(op, k_, m_, n_, class_, entry_)                       \
	QMM_ROW(op, f32, F32, native, NATIVE, m_, n_, k_, class_, entry_), \
		QMM_ROW(op, f32, F32, r16, R16, m_, n_, k_, class_, entry_)

#endif
