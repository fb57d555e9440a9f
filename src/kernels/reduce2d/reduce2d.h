/* SPDX-License-Identifier: MIT
 *
 * Private to the reduce2d ops: all elements of an M x N matrix of f32 to one value,
 * tile by tile (seed 003).
 *
 * The geometry drives the loops (reduce2d_cpu.c):
 *   macro m x n x 1   one task: a tile of the matrix that one thread goes over
 *   midi  m x n x 1   tiles of that tile; each is reduced to a partial result of its own (16x16 in the seed)
 *   micro m x n x 1   rows x columns of one step of the micro-kernel, each vector of it with its own accumulator
 * At the edges tiles are cut as base/view.h cuts them.  The partial results are combined in row-major order of the midi
 * tiles, in double, so a result depends on midi, micro, isa and form, and not on threads, schedule or macro tiles.
 *
 * What is computed, whatever the geometry:
 *   sum       identity -0, so that nothing but -0 sums to -0.  NaN, or infinities of both signs, give NaN.  A sum
 *             overflows only if it is too large itself: tiles whose f32 sum is not finite are summed in double.
 *             form=lanes adds on as it goes, pairwise keeps a cascade of partial sums of 1, 2, 4, ... strides,
 *             kahan carries each accumulator's rounding error along.
 *   max, min  maximum and minimum of IEEE 754-2019: NaN if there is one (the quiet NaN 0x7fc00000), and -0 < +0.
 *             Identities -inf and +inf.  EXACT: the order does not matter.
 *   others    an identity and an expression that combines (reduce2d_program.h), each element with what a tile, or on a
 *             GPU a lane, has so far, and these with each other; on a CPU tiles in double.  NaN if there is one.
 *             EXACT where it rounds nothing, else BOUNDED.  reduce2d_absmax is one, and any may be made
 *             (reduce2d_made.h).
 */
#ifndef TCB_KERNELS_REDUCE2D_H
#define TCB_KERNELS_REDUCE2D_H

#include <stddef.h>

#include "base/view.h"
#include "kernels/reduce2d/reduce2d_operation.h"

enum { REDUCE2D_X, REDUCE2D_Y, REDUCE2D_OPERANDS };

/* One micro-kernel call: one midi tile. */
struct reduce2d_call {
	const float *x;
	size_t rows, columns;                   /* >= 1 */
	size_t stride;                          /* floats from one row to the next */
	enum tcb_form form;                     /* sum only */
	size_t prefetch;                        /* bytes ahead in each row, 0 for none */
	enum tcb_hint hint;                     /* which cache level to prefetch to */
	double result;                          /* out */
	const struct reduce2d_program *program; /* of reductions that are one */
};
typedef void reduce2d_micro_fn(struct reduce2d_call *call);

/* The matrix that VIEW shows of X, reduced by OPERATION tile by tile as TILES cuts it: elements of a tile in row-major
 * order to a partial result, these in row-major order of the tiles.  Any operation; scalar. */
double reduce2d_tiles(const struct reduce2d_operation *operation, const struct tcb_partition *tiles, const float *x);

/* reduce2d_ops.c */
extern const struct tcb_op tcb_op_reduce2d_sum, tcb_op_reduce2d_max, tcb_op_reduce2d_min, tcb_op_reduce2d_absmax;
/* Of reductions that multiply a and b: whose roundings all add up. */
enum { REDUCE2D_FACTORS_MAX = 1 << 20 };

/* reduce2d_cpu.c */
extern const struct tcb_side reduce2d_sum_cpu, reduce2d_max_cpu, reduce2d_min_cpu, reduce2d_absmax_cpu;
void reduce2d_exact(const struct tcb_plan *plan, void *const operand[], float *y);

/* reduce2d_cpu_space.c */
extern const struct tcb_side_space reduce2d_cpu_space;

/* Strides of a pairwise sum: steps of the micro-kernel that one leaf of the cascade adds up. */
enum { REDUCE2D_LEAF_STEPS = 8, REDUCE2D_LEVELS = 40 };

#endif
