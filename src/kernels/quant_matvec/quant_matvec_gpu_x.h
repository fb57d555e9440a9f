/* SPDX-License-Identifier: MIT
 *
 * The quantised matvec on GPUs: the image of the activations, made by all warps of a
 * block, and what a lane reads of it.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_GPU_X_H
#define TCB_KERNELS_QUANT_MATVEC_GPU_X_H

#include "kernels/quant_matvec/quant_matvec_gpu_writer.h"

struct qmv_x_loads {
	kit_op value[QMV_GPU_X_AHEAD][8], norm[QMV_GPU_X_AHEAD][8];
};
/* Asks for the first superblocks, and the norm's weights for them; prepares these and the others and stores them. */
void qmv_write_x_load(struct qmv_writer *w, struct qmv_x_loads *loads);
void qmv_write_norm_load(struct qmv_writer *w, struct qmv_x_loads *loads);
void qmv_write_x_prepare(struct qmv_writer *w, struct qmv_x_loads *loads);
/* One superblock, by the calling warp, where the image has it. */
void qmv_write_x_block(struct qmv_writer *w, kit_op block);
/* The images of the block's tokens, which lie one behind the other: of those past the last, the last's. */
void qmv_write_x_tokens(struct qmv_writer *w, struct qmv_x_loads *loads);
/* The image of the token from X (global memory) to shared memory. */
void qmv_write_x_copy(struct qmv_writer *w);
/* Where a lane reads superblock BLOCK (.u32) of the image. */
struct qmv_x_bases {
	kit_op codes, scale, sum;
	kit_op values[4]; /* f32: by the four orders of lanes */
};
void qmv_write_x_bases(struct qmv_writer *w, kit_op block, struct qmv_x_bases *out);
/* Of the block's token TOKEN. */
void qmv_write_x_lane(struct qmv_writer *w, const struct qmv_x_bases *bases, unsigned step, unsigned token,
		      struct qmv_lane_x *out);
/* Moves the bases on by BLOCKS superblocks. */
void qmv_write_x_advance(struct qmv_writer *w, struct qmv_x_bases *bases, unsigned blocks);
/* The superblock of the image for the lane's place in the last, partial step: the zeros where it has none. */
kit_op qmv_write_x_last(struct qmv_writer *w);

#endif
