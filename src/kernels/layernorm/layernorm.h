/* SPDX-License-Identifier: MIT
 *
 * Private to the layernorm op, rows of f32:
 *     y[r][c] = (x[r][c] - mean_r) / sqrt(variance_r + eps) * w[c] + b[c]
 * with the mean of the squared deviations as variance.
 *
 * kernels/rows/rows.h says how the geometry drives the loops.  A block leaves its mean and the sum of squared
 * deviations from it, M2; blocks are combined in double (Chan, Golub, LeVeque 1979).  A block is summed against a pivot
 * p: S = sum(x - p), Q = sum((x - p)^2), mean = p + S / count, M2 = Q - S^2 / count.
 *   twopass  p is the block's own mean, from a pass before over the block in cache
 *   onepass  p is the mean of the block before; in a strip's first block that of its first columns, a 16th of them or
 *            LAYERNORM_PIVOT_MIN
 * Neither cancels: with u_b the mean of block b and u that of the row, sum((x - u_(b-1))^2) over block b is at most
 * 2 sum((x - u)^2) over b + 2 sum((x - u)^2) over b - 1, so all Q together are at most 4 M2 of the row.  In the first
 * block, of n columns, p the mean of c: Q = M2 + n (p - u_0)^2, and c (p - u_0)^2 is at most M2, so Q is at most 17 M2.
 *
 * NaN or an infinite value anywhere in a row makes the row NaN, as the formula does.  Rows whose squares are beyond f32
 * are done in double as a whole.
 */
#ifndef TCB_KERNELS_LAYERNORM_H
#define TCB_KERNELS_LAYERNORM_H

#include "kernels/rows/rows.h"

enum { LAYERNORM_X, LAYERNORM_W, LAYERNORM_B, LAYERNORM_Y, LAYERNORM_OPERANDS };
enum { LAYERNORM_MEAN, LAYERNORM_M2, LAYERNORM_STATS };
enum { LAYERNORM_PIVOT_MIN = 256, LAYERNORM_PIVOT_SHARE = 16 };

/* layernorm.c */
extern const struct tcb_op tcb_op_layernorm;

/* layernorm_gpu.c */
extern const struct tcb_rows_math layernorm_gpu_math;
extern const struct tcb_side layernorm_gpu;

/* layernorm_wgsl.c */
extern const struct rows_wgsl_math layernorm_wgsl_math;
extern const struct tcb_side layernorm_wgsl;

#endif
