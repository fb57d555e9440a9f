/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls' CPU side, contracts q8 and f32, as their ops take it.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_CPU_H
#define TCB_KERNELS_QUANT_MATMUL_CPU_H

#include "kernels/formats.h"
#include "kernels/op.h"

/* quant_matmul_cpu.c */
#define QMM_DECLARE_SIDE(id, format, name, ...) extern const struct tcb_side qmm_##name##_cpu;
TCB_FORMAT_LIST(QMM_DECLARE_SIDE)
#undef QMM_DECLARE_SIDE
void qmm_exact(const struct tcb_plan *plan, void *const operand[], float *y);

/* quant_matmul_cpu_space.c */
extern const struct tcb_side_space qmm_cpu_space;
/* Why the op cannot run GEOMETRY whatever the variant, NULL if it can. */
const char *qmm_cpu_refused(const struct tcb_problem *problem, const struct tcb_geometry *geometry);

#endif
