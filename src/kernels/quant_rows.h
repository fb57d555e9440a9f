/* SPDX-License-Identifier: MIT
 *
 * How products with quantised weights (quant.h) stand among their neighbours: what x and y are in memory, types and
 * strides of their rows, and what is added to a product, a bias (word bias) and what passes a layer by (word add).
 */
#ifndef TCB_KERNELS_QUANT_ROWS_H
#define TCB_KERNELS_QUANT_ROWS_H

#include "kernels/quant.h"

/* Words that all products take which are not of experts. */
enum { TCB_QUANT_WORDS = 1 << TCB_WORD_BIAS | 1 << TCB_WORD_X_TYPE | 1 << TCB_WORD_Y_TYPE };

/* Of x and y in memory: their types, and elements from a row to the next. */
static inline enum tcb_type tcb_quant_x_type(const struct tcb_problem *problem)
{
	return tcb_worded_type(problem->shape.words.x_type, TCB_TYPE_F32);
}
static inline enum tcb_type tcb_quant_y_type(const struct tcb_problem *problem)
{
	return tcb_worded_type(problem->shape.words.y_type, TCB_TYPE_F32);
}
static inline size_t tcb_quant_x_stride(const struct tcb_problem *problem)
{
	return problem->x_stride ? problem->x_stride : problem->shape.k;
}
static inline size_t tcb_quant_y_stride(const struct tcb_problem *problem)
{
	return problem->y_stride ? problem->y_stride : problem->shape.n;
}

/* The operand that the bias is, the last one: behind the norm's weights, which ops with the word eps have, and ADDED.
 * It has N values, or of a gated pair the gate's and then up's. */
static inline size_t tcb_quant_bias_at(const struct tcb_problem *problem)
{
	const size_t has_norm = problem->op->words >> TCB_WORD_EPS & 1u;
	return TCB_QUANT_OPERANDS + has_norm + problem->shape.words.add;
}
struct tcb_operand tcb_quant_bias_operand(size_t values);

/* VALUES activations of row TOKEN from FIRST on, where they are or, of another type than f32, in ROOM. */
const float *tcb_quant_x_values(const struct tcb_problem *problem, const void *x, size_t token, size_t first,
				size_t values, float *room);

/* What is added to a product of N outputs; NULL: nothing.  Rows of the sums are STRIDE floats apart. */
struct tcb_quant_more {
	size_t n, stride;
	const float *bias, *added;
};
struct tcb_quant_more tcb_quant_more(const struct tcb_problem *problem, void *const operand[]);
/* Adds MORE, its bias first, to ROWS rows of COLUMNS sums Y, the problem's from ROW and COLUMN on. */
void tcb_quant_add_more(const struct tcb_quant_more *more, size_t row, size_t rows, size_t column, size_t columns,
			float *y);

/* quant_reference.c: tcb_quant_reference_fused with MORE, whose bias is added before a gate, and y of its type. */
void tcb_quant_reference_rows(const struct tcb_problem *problem, void *const operand[],
			      const struct tcb_quant_fused *fused, const struct tcb_quant_more *more,
			      struct tcb_reference *out);

#endif
