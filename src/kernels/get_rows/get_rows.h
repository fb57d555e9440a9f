/* SPDX-License-Identifier: MIT
 *
 * Private to the ops qXX_get_rows: the embedding look-up, ggml's GET_ROWS.  Of shape
 * m x n x k: ids says which of n rows of k weights each of m tokens gets,
 *
 *     y[i][j] = w[ids[i]][j]
 *
 * with the weights as ggml dequantises them, bit for bit in f32; contract f16: rounded to
 * halves.  An id that no row has, negative or n and more, makes its token's row NaNs and
 * reads nothing; ids may repeat.
 *
 * The table is that of a product, as stored or packed as <format>_matvec packs it, byte for byte, so that where
 * embeddings and the output head are one tensor one copy serves both.
 *
 * On a CPU:
 *   macro m x 1 x k   all tokens and all of a row, rounded up to powers of two
 *   midi  m x 1 x k   a task: so many tokens, so many values of each
 *   micro 1 x 1 x 256 a superblock
 * prefetch is the distance in bytes of the table.
 */
#ifndef TCB_KERNELS_GET_ROWS_H
#define TCB_KERNELS_GET_ROWS_H

#include "kernels/quant.h"

enum { GET_ROWS_WEIGHTS, GET_ROWS_IDS, GET_ROWS_Y, GET_ROWS_OPERANDS };
enum { GET_ROWS_SUPER = 256 };

/* Whose packed tables the op reads. */
static inline const struct tcb_op *get_rows_matvec(const struct tcb_op *op)
{
	return op->member;
}
/* PROBLEM's table as that product has it. */
struct tcb_problem get_rows_product(const struct tcb_problem *problem);
static inline enum tcb_type get_rows_type(const struct tcb_problem *problem)
{
	return problem->contract == TCB_CONTRACT_F16 ? TCB_TYPE_F16 : TCB_TYPE_F32;
}

/* The micro-kernel: VALUES of a row. */
struct get_rows_call {
	const uint8_t *from; /* native: the first block; r16: the superblock of the row's group */
	size_t row;          /* r16: which of the group's */
	size_t values;       /* whole blocks, a superblock and more unless the row ends */
	void *y;
	size_t prefetch;
};
typedef void get_rows_micro_fn(const struct get_rows_call *call);

/* get_rows_cpu_space.c */
extern const struct tcb_side_space get_rows_cpu_space;

/* get_rows_cpu.c */
#define GET_ROWS_SIDES(id, name, op, ...) extern const struct tcb_side op##_get_rows_cpu;
TCB_FORMAT_LIST(GET_ROWS_SIDES)
#undef GET_ROWS_SIDES

#endif
