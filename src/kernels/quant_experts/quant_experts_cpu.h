/* SPDX-License-Identifier: MIT
 *
 * The CPU side of the products of experts, contracts q8 and f32, and what its
 * variants run with: the register tiles of the plain matmul.
 */
#ifndef TCB_KERNELS_QUANT_EXPERTS_CPU_H
#define TCB_KERNELS_QUANT_EXPERTS_CPU_H

#include "kernels/quant_experts/quant_experts.h"
#include "kernels/quant_matmul/quant_matmul_block.h"
#include "kernels/quant_matvec/quant_matvec_prepare.h"

/* Of gpt-oss's gate: a sum more than QMV_GATE_ULPS has. */
#define QEX_GATE_OAI_ULPS (QMV_GATE_ULPS + 1)

/* TO += FACTOR * FROM, COUNT values. */
typedef void qex_add_fn(float *to, const float *from, float factor, size_t count);

/* What a variant's entry gives. */
struct qex_kernels {
	/* Of the plain matmul, those of the variant's family and format up to one without a name. */
	const struct tcb_variant *tiles;
	struct qmm_conversions conversions;
	qmv_gate_fn *gate, *gate_oai;
	qex_add_fn *add;
};
typedef const struct qex_kernels *qex_kernels_fn(void);

/* quant_experts_cpu.c */
#define QEX_DECLARE_SIDE(kind, is_gated, is_summed, op) extern const struct tcb_side qex_##op##_##kind##_cpu;
#define QEX_DECLARE_SIDES(id, name, op, ...) QEX_KINDS(QEX_DECLARE_SIDE, op)
TCB_FORMAT_EXPERTS_LIST(QEX_DECLARE_SIDES)
#undef QEX_DECLARE_SIDES
#undef QEX_DECLARE_SIDE

/* quant_experts_cpu_space.c */
extern const struct tcb_side_space qex_cpu_space;

#endif
