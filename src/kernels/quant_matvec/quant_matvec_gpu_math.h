/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec on GPUs: the arithmetic of a lane.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_MATH_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_MATH_H

#include "kernels/quant_matvec/quant_matvec_gpu_writer.h"

/* Adds to SUM what a lane has of one row and step, and to MINS what the mins take off. */
void qmv_write_unit(struct qmv_writer *w, const struct qmv_lane_w *weights, const struct qmv_lane_x *x, kit_op sum,
		    kit_op mins);
/* One sub-block's scale as a float, of formats that have whole ones: of what was loaded, and d (a half). */
kit_op qmv_write_whole_scale(struct qmv_writer *w, kit_op scale, kit_op d);
/* VALUES of COUNT rows added over the warp; a lane gets that of row lane / (32 / COUNT).  VALUES are used up. */
kit_op qmv_write_warp_sum(struct qmv_writer *w, kit_op *values, unsigned count);

#endif
