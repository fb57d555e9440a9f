/* SPDX-License-Identifier: MIT
 *
 * Products of a mixture of experts, whatever runs them: each of M tokens uses
 * some of E matrices of N x K in blocks of a format, as its ids say.
 *   FORMAT_experts_matmul         y[t][u] = W[id] x,  id = ids[t][u]; x is the token's row, or with word `each` row
 *                                 [t][u]
 *   FORMAT_experts_swiglu_matmul  y[t][u] = silu(G[id] x) * (U[id] x),  silu(p) = p / (1 + exp(-p)): gate and up
 *   FORMAT_experts_sum_matmul     y[t] = sum over u of factors[t][u] * W[id] x[t][u]: down
 * A layer of experts is the second and then the third.
 *   bias     W[id] x + b[id] in place of each product W[id] x
 *   oai      gpt-oss's gate in place of silu(p) * u: (u + 1) p / (1 + exp(-1.702 p)), p at most 7, u from -7 to 7
 *   gelu     gelu(p) u in its tanh form in place of silu(p) u, as in Gemma
 *   shared1  one expert more, which all tokens use: E + 1 matrices, and one id and one factor more of each token
 *
 * ids are data of the call: any routing is computed, also one that uses an expert never, twice in a token, or for all
 * tokens.  An id that is not 0 to E - 1 is the caller's error: nothing is read for it, and its product counts as zeros.
 *
 * Operands: weights [E][N][K] as stored, x, y, ids (int32 [M][used]); then up [E][N][K], weights being the gate's, or
 * factors (f32 [M][used]); then, with word bias, that of weights (f32 [E][N]) and that of up.  Packed (layout r16) each
 * expert's matrix is what the plain matmul has.
 */
#ifndef TCB_KERNELS_QUANT_EXPERTS_H
#define TCB_KERNELS_QUANT_EXPERTS_H

#include "kernels/quant.h"

/* Operands behind those of quant.h. */
enum { QEX_IDS = TCB_QUANT_OPERANDS, QEX_UP, QEX_FACTORS = QEX_UP };

/* X(word, is_gated, is_summed, ...): op names are FORMAT_WORD. */
#define QEX_KINDS(X, ...)                           \
	X(experts_matmul, 0, 0, __VA_ARGS__)        \
	X(experts_swiglu_matmul, 1, 0, __VA_ARGS__) \
	X(experts_sum_matmul, 0, 1, __VA_ARGS__)

/* The member of an op. */
struct qex_kind {
	int is_gated, is_summed;
};

static inline const struct qex_kind *qex_kind(const struct tcb_problem *problem)
{
	return problem->op->member;
}

/* Matrices of a stack, and those that a token uses: the shared ones are among both. */
static inline size_t qex_experts(const struct tcb_shape *shape)
{
	return (size_t)shape->words.experts + shape->words.shared;
}

static inline size_t qex_used(const struct tcb_shape *shape)
{
	return (size_t)shape->words.used + shape->words.shared;
}

/* Products of a token's row and an expert; [t][u] is number t * qex_used + u. */
static inline size_t qex_pairs(const struct tcb_shape *shape)
{
	return shape->m * qex_used(shape);
}

/* Where a bias is: behind what the kind has. */
static inline size_t qex_bias(const struct tcb_problem *problem)
{
	const struct qex_kind *kind = qex_kind(problem);
	return QEX_IDS + 1 + (size_t)(kind->is_gated || kind->is_summed);
}

/* Has each product a row of x of its own? */
static inline int qex_has_rows_each(const struct tcb_problem *problem)
{
	return qex_kind(problem)->is_summed || problem->shape.words.each;
}

/* quant_experts_routing.c */
/* The routing that data for tuning has: ids of SHAPE by its words.  Which experts are the popular ones depends on SEED;
 * how many tokens they have does not.  Those of seeds that follow each other touch other experts, as far as there are
 * any. */
void qex_draw(const struct tcb_shape *shape, uint64_t seed, int32_t *ids);
size_t qex_touched(const struct tcb_shape *shape); /* experts that any token uses then */

/* quant_experts_reference.c */
void qex_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);

#endif
