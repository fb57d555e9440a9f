/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on GPUs: streamed blocks that stay (blocks=1 where xstages is more than 1).  All tiles, of
 * midi.n rows and midi.m tokens, times the units of 256 along k are one row of work, of which each block has an equal
 * run ("stream-K"): the end of one tile, whole ones, the beginning of another.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_GPU_DEAL_H
#define TCB_KERNELS_QUANT_MATMUL_GPU_DEAL_H

#include "kernels/quant_matmul/quant_matmul_gpu_writer.h"

/* A block's units: BEGIN to END - 1, END > BEGIN.  Unit U of a row is unit U of the tiles in turn. */
struct qmm_deal {
	kit_op begin, end;
};
void qmm_write_deal_open(struct qmm_writer *w, struct qmm_deal *d);

/* A tile by its number, those of the same rows one after the other. */
struct qmm_tile_at {
	kit_op group, first_token; /* its first group of rows, its first token */
};
void qmm_write_tile_at(struct qmm_writer *w, kit_op tile, struct qmm_tile_at *out);

/* SUMS of the block's units of TILE: to y where WHOLE, else to the workspace, from which the warp that comes last adds
 * up what all blocks have of these rows, in the order of k. */
void qmm_write_dealt_results(struct qmm_writer *w, const struct qmm_deal *d, kit_op tile, kit_op whole,
			     struct qmm_sums *sums);

#endif
