/* SPDX-License-Identifier: MIT
 *
 * Shapes that an op takes, made of three sizes: k is left out where there is none;
 * where the shape has words, it is of a few query tokens and heads, and n says which.
 */
#ifndef TCB_TESTS_SHAPE_FOR_H
#define TCB_TESTS_SHAPE_FOR_H

#include <string.h>

#include "kernels/op.h"

static inline struct tcb_shape shape_for(const struct tcb_op *op, struct tcb_shape shape)
{
	if (strcmp(op->shape_form, "MxN") == 0)
		shape.k = 0;
	if (!op->has_words)
		return shape;
	shape.m = 1 + (shape.m - 1) % 8;
	shape.k = 32 * (1 + shape.k / 32 % 8);
	shape.heads = (struct tcb_heads){ .query = 6, .kv = shape.n % 2 ? 2 : 1, .sequences = 1 + shape.n % 3 };
	shape.heads.causal = shape.n % 5 == 1;
	shape.heads.page = shape.n % 7 == 1 ? 16 : 0;
	shape.heads.ragged = shape.heads.sequences > 1;
	if (op->check_shape(op, &shape, NULL) != TCB_OK) /* without a mask, where the op has none */
		shape.heads.causal = 0;
	return shape;
}

#endif
