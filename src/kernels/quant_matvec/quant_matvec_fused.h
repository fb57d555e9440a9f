/* SPDX-License-Identifier: MIT
 *
 * What the ops qXX_matvec are fused with, each an op of its own:
 *   qXX_rmsnorm_matvec         y = W a, a = x / sqrt(mean(x^2) + eps) * norm: rmsnorm, then the MatVec
 *   qXX_swiglu_matvec          y = silu(G x) * (U x), silu(p) = p / (1 + exp(-p)): gate and up in one pass over x
 *   qXX_rmsnorm_swiglu_matvec  y = silu(G a) * (U a)
 * With the word gelu a gate is joined by gelu(p) = p (1 + tanh(sqrt(2 / pi) (p + 0.044715 p^3))) / 2 in place of silu.
 * norm is operand QMV_NORM, K floats; eps is QMV_NORM_EPS, rmsnorm's, or what the word
 * of that name says.
 *
 * Gate and up are one weights operand of 2 N rows: the N rows of G, then those of U.  A layout keeps row n of both
 * close to each other:
 *   native, p, s   the 2 N rows as they are: that of U is N rows on
 *   r4 to r16w     each row group of G followed by that of U, both filled up with zeros where N ends
 *   f              tiles whose rows 0 to 7 are 8 of G and 8 to 15 those of U
 *
 * Where a norm is, the factor 1 / sqrt(mean(x^2) + eps) is one number, and all else is linear in it.  CPUs multiply the
 * activations with it as they prepare them; GPUs prepare x * norm, which needs no other thread, and multiply the sums
 * of products with it, so that nothing waits for the sum of squares.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_FUSED_H
#define TCB_KERNELS_QUANT_MATVEC_FUSED_H

#include "kernels/quant.h"

enum { QMV_NORM = TCB_QUANT_OPERANDS }; /* operand */
#define QMV_NORM_EPS 1e-5

/* X(word, has_norm, is_gated, ...) of each kind, all of them and those that are fused; op names are format_WORD. */
#define QMV_FUSED(X, ...)                    \
	X(rmsnorm_matvec, 1, 0, __VA_ARGS__) \
	X(swiglu_matvec, 0, 1, __VA_ARGS__)  \
	X(rmsnorm_swiglu_matvec, 1, 1, __VA_ARGS__)
#define QMV_KINDS(X, ...) X(matvec, 0, 0, __VA_ARGS__) QMV_FUSED(X, __VA_ARGS__)

/* The member of an op. */
struct qmv_kind {
	int has_norm, is_gated;
	const struct qmv_own *own; /* kernels of the format's own, where it has any (quant_matvec_layout.h) */
};

static inline const struct qmv_kind *qmv_kind(const struct tcb_problem *problem)
{
	return problem->op->member;
}

static inline double qmv_eps(const struct tcb_problem *problem)
{
	const struct tcb_words *words = &problem->shape.words;
	return words->eps ? tcb_words_power(words->eps) : QMV_NORM_EPS;
}

/* Rows of the weights. */
static inline size_t qmv_weight_rows(const struct tcb_problem *problem)
{
	return problem->shape.n << qmv_kind(problem)->is_gated;
}

/* quant_matvec_fused.c: for struct tcb_op; those of quant.h where nothing is fused. */
enum tcb_status qmv_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err);
size_t qmv_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX]);
void qmv_fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[]);
void qmv_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
double qmv_flops(const struct tcb_problem *problem);

#endif
