/* SPDX-License-Identifier: MIT
 *
 * Private to the softmax op: y[r][c] = exp(x[r][c] - max_r) / sum_r, rows of f32.
 *
 * kernels/rows/rows.h says how the geometry drives the loops.  Each block is reduced on its own (Milakov and
 * Gimelshein 2018): its maximum, and the sum of its exponentials against that maximum.
 *   twopass  the maximum first, then the exponentials, which wait until all blocks of the row are known: in y, or with
 *            stream=1 in scratch, so that y is written once, past the caches.  exp is computed once an element
 *   onepass  maximum and sum together, a sum rescaled where its lane's maximum moves (online softmax); the results take
 *            exp again, but nothing has to wait anywhere
 *   running  the exponentials of a part of a row (midi.n) against the largest of it and the parts before, and on the
 * way the next part's maximum: x is read once, and exp is computed once an element, which waits as in twopass
 *
 * On a GPU it drives kernels as kernels/rows/rows_gpu.h says, in WGSL as rows_wgsl.h.
 *
 * Elsewhere than in WGSL NaN anywhere in a row, +inf, or nothing but -inf makes the row NaN, as the formula does.
 */
#ifndef TCB_KERNELS_SOFTMAX_H
#define TCB_KERNELS_SOFTMAX_H

#include "kernels/rows/rows.h"

/*
 * Error of one exp(x): SOFTMAX_EXP_ULPS ulp (2^-23 of the result) and SOFTMAX_EXP_DEPTH |x| of the result, for every
 * ISA.  The first is the largest over all floats in [-110, -2^-31], rounded up; the second is what ln2 as a float
 * lacks, 2^-28.9 ln2, n times.  Results below 2^-126 are 0.  tests/kernels/test_softmax.c holds a sample to this.
 */
#define SOFTMAX_EXP_ULPS 1.0
#define SOFTMAX_EXP_DEPTH 0x1.8p-29

enum { SOFTMAX_X, SOFTMAX_Y, SOFTMAX_OPERANDS };
enum { SOFTMAX_MAX, SOFTMAX_SUM, SOFTMAX_STATS };

/* softmax.c */
extern const struct tcb_op tcb_op_softmax;

/* softmax_gpu.c */
extern const struct tcb_rows_math softmax_gpu_math;
extern const struct tcb_side softmax_gpu;

/* softmax_wgsl.c */
extern const struct rows_wgsl_math softmax_wgsl_math;
extern const struct tcb_side softmax_wgsl;

#endif
