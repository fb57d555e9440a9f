/* SPDX-License-Identifier: MIT
 *
 * Dense matrix product C[MxN] = A[MxK] * B[KxN], all row-major: what the files
 * of matmul_f32, matmul_f16 and matmul_bf16 share.  Sums are in f32; C has the
 * type of A and B.
 *
 * On a CPU the geometry drives the loops so:
 *   macro m x n  one task of the pool: a part of C
 *   midi m x n   a block of C whose sums stay in the thread's workspace (L2) while k runs
 *   midi k       how much of A and B is packed at a time
 *   micro m x n  the register tile of the variant; packed panels are as wide
 */
#ifndef TCB_KERNELS_MATMUL_H
#define TCB_KERNELS_MATMUL_H

#include "kernels/op.h"

enum matmul_type { MATMUL_F32, MATMUL_F16, MATMUL_BF16 };
enum { MATMUL_A, MATMUL_B, MATMUL_C, MATMUL_OPERANDS };

extern const struct tcb_op tcb_op_matmul_f32, tcb_op_matmul_f16, tcb_op_matmul_bf16;

/* matmul.c */
enum matmul_type matmul_type(const struct tcb_problem *problem);
static inline size_t matmul_type_bytes(enum matmul_type type)
{
	return type == MATMUL_F32 ? 4 : 2;
}

/*
 * A micro-kernel: C (micro.m rows of micro.n, contiguous) is set to, or gets added, the product of two packed panels.
 * A has micro.m values for each step of k, B has micro.n; all are 64-byte aligned.
 */
struct matmul_call {
	const float *a, *b;
	float *c;
	size_t k;
	int accumulate;
};
typedef void matmul_micro_fn(const struct matmul_call *call);

/* matmul_pack.c: COUNT values of TYPE from element FIRST on, as f32. */
void matmul_widen(enum matmul_type type, const void *values, size_t first, size_t count, float *out);
void matmul_narrow(enum matmul_type type, const float *values, size_t count, void *out, size_t first);

/* matmul_reference.c */
void matmul_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);

/* matmul_space.c */
size_t matmul_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX]);
void matmul_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out);
void matmul_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out);

/* Each in the file of its instructions, one list a type, in the order of enum matmul_type. */
extern const struct tcb_variant matmul_f32_variants_scalar[], matmul_f16_variants_scalar[],
	matmul_bf16_variants_scalar[];

#endif
