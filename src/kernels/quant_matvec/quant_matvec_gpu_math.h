/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec on GPUs: the arithmetic of a lane.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_MATH_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_MATH_H

#include "kernels/quant_matvec/quant_matvec_gpu_writer.h"

/* What a lane has of one row and step, taken apart once, by products with the first token. */
struct qmv_unit_scales {
	kit_op d, dmin;       /* f32 */
	kit_op scale[2], min; /* integers, of low and high codes; K in layout s has one scale; NVFP4's are floats */
	kit_op mins[2];       /* a piece of an expanded format: floats, or integers of its halves */
};
struct qmv_unit {
	struct qmv_lane_w weights;
	struct qmv_unit_scales scales;
	kit_op code[2][QMV_GPU_WORDS_MAX];        /* words of low and of high codes */
	kit_op value[2][QMV_GPU_WORDS_MAX][2][2]; /* even and odd bytes of these as floats; of E4M3 pairs */
	kit_op row_value[QMV_FLOAT_VALUES];       /* of rows of values */
};
void qmv_write_unit_open(struct qmv_writer *w, const struct qmv_lane_w *loaded, struct qmv_unit *out);
/* Adds to SUM what a lane has of a token's products, and to MINS what the mins take off. */
void qmv_write_unit(struct qmv_writer *w, struct qmv_unit *unit, const struct qmv_lane_x *x, kit_op sum, kit_op mins);
/* One sub-block's scale as a float, of formats that have whole ones: of what was loaded, and d (a half). */
kit_op qmv_write_whole_scale(struct qmv_writer *w, kit_op scale, kit_op d);
/* VALUES of COUNT rows added over the warp; a lane gets that of row lane / (32 / COUNT).  VALUES are used up. */
kit_op qmv_write_warp_sum(struct qmv_writer *w, kit_op *values, unsigned count);

#endif
