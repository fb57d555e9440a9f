/* SPDX-License-Identifier: MIT
 *
 * The ops qXX_matvec, and those that they are part of (quant_matvec_fused.h): their space on a CPU, and what a variant
 * gives bit by bit.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_H
#define TCB_KERNELS_QUANT_MATVEC_H

#include "base/sizes.h"
#include "kernels/formats.h"
#include "kernels/op.h"
#include "kernels/quant_matvec/quant_matvec_fused.h"

/*
 * The range of contract f32, of all formats and families: activations (behind a norm, normed ones) are at most this
 * large.  Codes and integer scales are multiplied with them, and a superblock's products added up, before the block's
 * scale: 2^21 times the largest activation at most, and 2^7 to spare.  Scaling first would be one more product for each
 * weight.  Beyond it a result may be infinite or NaN, also where its weights are zeros.
 */
#define QMV_X_MOST 0x1p100f

/* Of formats with kernels of their own: these, for the ops of each kind, and what PLAN's f32 variant gives, bit by bit.
 */
#define QMV_DECLARE_LIST(kind, has_norm, is_gated, op) \
	extern const struct tcb_variant *const qmv_##op##_##kind##_variants[];
#define QMV_DECLARE_OWN(id, name, op, ...)    \
	QMV_KINDS(QMV_DECLARE_LIST, op)       \
	extern const struct qmv_own op##_own; \
	void op##_exact(const struct tcb_plan *plan, void *const operand[], float *y);
TCB_FORMAT_OWN_ROWS(QMV_DECLARE_OWN)
#undef QMV_DECLARE_OWN
#undef QMV_DECLARE_LIST

/* quant_matvec_cpu.c */
#define QMV_DECLARE_SIDE(kind, has_norm, is_gated, op) extern const struct tcb_side qmv_##op##_##kind##_cpu;
#define QMV_DECLARE_SIDES(id, name, op, ...) QMV_KINDS(QMV_DECLARE_SIDE, op)
TCB_FORMAT_LIST(QMV_DECLARE_SIDES)
#undef QMV_DECLARE_SIDES
#undef QMV_DECLARE_SIDE

/* quant_matvec_cpu_space.c */
extern const struct tcb_side_space qmv_cpu_space;
/* macro.m and midi.m of a geometry whose micro.m is MICRO_M, at TOKENS: 1 where each is a product of its own. */
static inline size_t qmv_tile_tokens(size_t micro_m, size_t tokens)
{
	return micro_m > 1 ? tcb_most(tcb_power_of_two_up(tokens), micro_m) : 1;
}
/* Why the op cannot run GEOMETRY whatever the variant, NULL if it can. */
const char *qmv_geometry_refused(const struct tcb_problem *problem, const struct tcb_geometry *geometry);

#define QMV_DECLARE_OP(kind, has_norm, is_gated, op) extern const struct tcb_op tcb_op_##op##_##kind;
#define QMV_DECLARE_OPS(id, name, op, ...) QMV_KINDS(QMV_DECLARE_OP, op)
TCB_FORMAT_LIST(QMV_DECLARE_OPS)
#undef QMV_DECLARE_OPS
#undef QMV_DECLARE_OP

#endif
