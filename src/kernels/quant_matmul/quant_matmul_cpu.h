/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls' CPU side, contracts q8, f16 and f32, as their ops take it.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_CPU_H
#define TCB_KERNELS_QUANT_MATMUL_CPU_H

#include "base/cpu_isas.h"
#include "kernels/formats.h"
#include "kernels/op.h"

/* quant_matmul_cpu.c */
#define QMM_DECLARE_SIDE(id, format, name, ...) extern const struct tcb_side qmm_##name##_cpu;
TCB_FORMAT_LIST(QMM_DECLARE_SIDE)
#undef QMM_DECLARE_SIDE
/* What a plan on register tiles has before its sizes: variant, geometry and threads.  TCB_E_ILLEGAL: none was built for
 * GEOMETRY, or qmm_cpu_refused() says why. */
enum tcb_status qmm_plan_begin(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			       struct tcb_plan *out, struct tcb_error *err);
void qmm_exact(const struct tcb_plan *plan, void *const operand[], float *y);

/* quant_matmul_cpu_space.c */
extern const struct tcb_side_space qmm_cpu_space;
/* Its members, for ops with the same kernels. */
size_t qmm_cpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		    struct tcb_axis out[TCB_AXES_MAX]);
void qmm_cpu_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			      struct tcb_geometry *out);
/* Whether so few TOKENS take weights apart in registers by default, with the vectors of ISA, rather than in blocks. */
int qmm_cpu_takes_few(const struct tcb_problem *problem, enum tcb_isa isa, size_t tokens);
void qmm_cpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry, struct tcb_footprint *out);
const char *qmm_cpu_reorders(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry);
/* Why the op cannot run GEOMETRY whatever the variant, NULL if it can. */
const char *qmm_cpu_refused(const struct tcb_problem *problem, const struct tcb_geometry *geometry);
/* What the innermost loop of a register tile keeps in registers of FAMILY: sums (without products of bytes also those
 * of 16 bits), weights, activations, two constants. */
void qmm_cpu_registers(const struct tcb_tile *micro, const struct tcb_cpu_isa *family, int q8,
		       struct tcb_footprint *out);

#endif
