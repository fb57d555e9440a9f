/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on GPUs: activations, from floats to what the products read.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_GPU_X_H
#define TCB_KERNELS_QUANT_MATMUL_GPU_X_H

#include "kernels/quant_matmul/quant_matmul_gpu_writer.h"

/* By all threads of a block, of its k and tokens, to shared memory at IMAGE. */
void qmm_write_x_prepare(struct qmm_writer *w, kit_op image);
/* The same from the image that a launch of its own made: what comes first, and asking; where x_is_bulk each unit of the
 * block's slice has a barrier at X_BARRIER, whose first phase ends when it is there. */
void qmm_write_x_open(struct qmm_writer *w);
void qmm_write_x_copy(struct qmm_writer *w, kit_op image);
/* By all threads: copies of unit UNIT of the block's slice to a slot, which are waited for by groups. */
void qmm_write_x_ask(struct qmm_writer *w, kit_op slot, kit_op unit);
/* prep=warps: by the warps behind those that compute, a unit after the other, in the order in which
 * they are wanted; the last of them to be done with a unit ends the first phase of its barrier. */
void qmm_write_x_beside(struct qmm_writer *w, kit_op image);
/* By a warp: a lane's 8 values of unit UNIT of row TOKEN of w->x, if HAS, else zeros; and these to the tiles or records
 * of a unit in shared memory at UNIT, place ROW of w->g->tokens. */
void qmm_write_row_load(struct qmm_writer *w, kit_op token, kit_op unit, kit_op has, kit_op value[]);
void qmm_write_row_store(struct qmm_writer *w, kit_op unit, kit_op row, const kit_op value[]);
/* Where a lane's row of matrices is in tiles at BASE: ldmatrix.x4 reads 32 of k there, and the tile's other 32. */
void qmm_write_lane_rows(struct qmm_writer *w, kit_op base, kit_op out[2]);
/* That launch: qmm_prepare_tokens() tokens by 256 of k a warp. */
void qmm_write_prepare_kernel(struct qmm_writer *w);
/* COUNT tokens from FIRST on, a unit of each, by a warp: from w->x to the image at IMAGE, of w->padded tokens. */
void qmm_write_into_image(struct qmm_writer *w, kit_op image, kit_op unit, kit_op first, unsigned count);

/*
 * prep=grid, where no launch makes the image: pieces of it, unit after unit, are taken by warps of all blocks as they
 * get free, who wait for nobody; so whatever blocks there are, it gets done.  By a warp: all that it gets.  By a
 * thread: until a unit of the block's slice is there; and that it wants no more: the last thread to say so, of a warp
 * that prepares or one that waits, leaves the counters as the next call needs them.
 */
void qmm_write_x_share(struct qmm_writer *w);
void qmm_write_x_ready(struct qmm_writer *w, kit_op unit);
void qmm_write_x_done(struct qmm_writer *w);

/* quant_matmul_gpu_x_s8.c: 8 consecutive values per lane, 256 per warp, of the token in row ROW of the record at
 * RECORD, in shared or in global memory. */
void qmm_write_x_codes(struct qmm_writer *w, int is_global, kit_op record, kit_op row, const kit_op value[]);

#endif
