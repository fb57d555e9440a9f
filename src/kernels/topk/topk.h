/* SPDX-License-Identifier: MIT
 *
 * Private to the op topk: of each of m rows of n scores the k largest and their columns,
 * in descending order, as sampling takes them of a vocabulary's logits.
 *
 * Of equal scores the one of the lower column comes first (-0 equals +0), NaNs come last,
 * behind -inf; so the answer is one and the op EXACT.  Values are the scores' own bits.  Where k is more
 * than n, what is left has the value NaN and the column -1.
 *
 * On a CPU:
 *   macro m x n x 1   the shape, rounded up to powers of two
 *   midi  1 x n x 1   a task: so many columns of a row; n < N lets threads share rows, whose best are brought together
 *                     when all tasks are done
 *   micro 1 x n x 1   columns of which only the largest is compared with the k-th best so far
 */
#ifndef TCB_KERNELS_TOPK_H
#define TCB_KERNELS_TOPK_H

#include "kernels/op.h"

enum { TOPK_X, TOPK_VALUES, TOPK_COLUMNS, TOPK_OPERANDS };
enum { TOPK_MOST = 1 << 20, TOPK_COLUMNS_MOST = 1 << 30, TOPK_VECTORS_MOST = 8 };

/* What a task has found: keys (topk_keys.h), the best K among COUNT, of room for twice as many. */
struct topk_call {
	const float *x;
	size_t first, columns; /* X's first one's number, and how many */
	size_t k;
	uint64_t *keys;
	size_t count; /* out: K at most */
};
typedef void topk_micro_fn(struct topk_call *call);

/* topk_cpu.c; topk_cpu_space.c */
extern const struct tcb_side topk_cpu;
extern const struct tcb_side_space topk_cpu_space;

#endif
