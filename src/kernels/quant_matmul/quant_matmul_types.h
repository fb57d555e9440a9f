/* SPDX-License-Identifier: MIT
 *
 * Activations and results that are not f32 in memory, for products that work in f32 inside.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_TYPES_H
#define TCB_KERNELS_QUANT_MATMUL_TYPES_H

#include "kernels/op.h"
#include "kernels/simd/isas.h"

/* COUNT elements of TYPE, f32, f16 or bf16, as floats; and back, rounded to nearest even. */
typedef void qmm_widen_fn(enum tcb_type type, const void *from, size_t count, float *out);
typedef void qmm_narrow_fn(enum tcb_type type, const float *from, size_t count, void *out);

/* quant_matmul_cpu.c: both, of the floats of a family. */
struct qmm_types {
	qmm_widen_fn *widen;
	qmm_narrow_fn *narrow;
};
const struct qmm_types *qmm_types_of(enum tcb_isa isa);

#define QMM_DECLARE_TYPES(isa, ...)   \
	qmm_widen_fn qmm_widen_##isa; \
	qmm_narrow_fn qmm_narrow_##isa;
TCB_ISAS_FLOATS(QMM_DECLARE_TYPES, )
#undef QMM_DECLARE_TYPES

#endif
