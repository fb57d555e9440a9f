/* SPDX-License-Identifier: MIT
 *
 * Activations of the ops qXX_matvec as their kernels want them, of each
 * instruction family; and what is done to them before, to results after.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_PREPARE_H
#define TCB_KERNELS_QUANT_MATVEC_PREPARE_H

#include "kernels/quant_matvec/quant_matvec_layout.h"
#include "kernels/simd/isas.h"

/* For the kernels that formats share: K values, K a multiple of the format's block; q8 gives the same bits everywhere.
 */
typedef void qmv_prepare_q8_fn(const struct tcb_format *format, const float *x, size_t k, struct qmv_x8 *out);
typedef void qmv_prepare_f32_fn(const struct tcb_format *format, enum qmv_order order, const float *x, size_t k,
				struct qmv_x32 *out);

/* OUT: K activations over their root mean square, times NORM.  Whatever their size: a NaN makes all of them NaN, an
 * infinity itself NaN and the others 0. */
typedef void qmv_norm_fn(const float *x, const float *norm, double eps, size_t k, float *out);
/* GATE becomes silu(GATE) * UP. */
typedef void qmv_gate_fn(float *gate, const float *up, size_t count);
/* What their roundings add to a chain, in ulps of the result: the factor and two products; exp, the sum, the quotient
 * and the product, where fused multiply-adds are missing (scalar) one more. */
#define QMV_NORM_CHAIN 4
#define QMV_GATE_ULPS 3

#define QMV_DECLARE_PREPARERS(isa, ...)         \
	qmv_norm_fn qmv_norm_##isa;             \
	qmv_gate_fn qmv_gate_##isa;             \
	qmv_prepare_q8_fn qmv_prepare_q8_##isa; \
	qmv_prepare_f32_fn qmv_prepare_f32_##isa;
TCB_ISAS_FLOATS(QMV_DECLARE_PREPARERS, )
#undef QMV_DECLARE_PREPARERS

#endif
