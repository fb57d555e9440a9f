/* SPDX-License-Identifier: MIT
 *
 * Private to the rmsnorm op: y[r][c] = x[r][c] / sqrt(mean_c(x[r][c]^2) + eps) * w[c], rows of f32.
 *
 * kernels/rows/rows.h says how the geometry drives the loops.  A block leaves the sum of its squares; the row's factor
 * is worked out in double.  Rows whose squares are beyond f32 are done in double as a whole: no row overflows whose
 * results are finite.  NaN anywhere in a row makes the row NaN; an infinite value is NaN and makes the others 0, as the
 * formula does.
 */
#ifndef TCB_KERNELS_RMSNORM_H
#define TCB_KERNELS_RMSNORM_H

#include "kernels/rows/rows.h"

enum { RMSNORM_X, RMSNORM_W, RMSNORM_Y, RMSNORM_OPERANDS };

/* rmsnorm.c */
extern const struct tcb_op tcb_op_rmsnorm;

/* rmsnorm_gpu.c */
extern const struct tcb_rows_math rmsnorm_gpu_math;
extern const struct tcb_side rmsnorm_gpu;

/* rmsnorm_wgsl.c */
extern const struct rows_wgsl_math rmsnorm_wgsl_math;
extern const struct tcb_side rmsnorm_wgsl;

#endif
