/* SPDX-License-Identifier: MIT
 *
 * Dense matrix product C[MxN] = A[MxK] * B[KxN], all row-major: what the files
 * of matmul_f32, matmul_f16 and matmul_bf16 share.  Sums are in f32; C has the
 * type of A and B.
 * matmul_cpu.h and matmul_gpu.h say how a geometry drives them.
 */
#ifndef TCB_KERNELS_MATMUL_H
#define TCB_KERNELS_MATMUL_H

#include "kernels/op.h"

enum { MATMUL_A, MATMUL_B, MATMUL_C, MATMUL_OPERANDS };

extern const struct tcb_op tcb_op_matmul_f32, tcb_op_matmul_f16, tcb_op_matmul_bf16;

/* matmul_pack.c: COUNT values of TYPE from element FIRST on, as f32. */
void matmul_widen(enum tcb_type type, const void *values, size_t first, size_t count, float *out);
void matmul_narrow(enum tcb_type type, const float *values, size_t count, void *out, size_t first);

/* matmul_reference.c */
void matmul_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
void matmul_reference_sums(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
size_t matmul_drawn_columns(const struct tcb_problem *problem);

#endif
