/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls on GPUs: products with wgmma.
 */
#ifndef TCB_KERNELS_QUANT_MATMUL_GPU_WGMMA_H
#define TCB_KERNELS_QUANT_MATMUL_GPU_WGMMA_H

#include "kernels/quant_matmul/quant_matmul_gpu_weights.h"

/* A of two chunks, expanded in turn, so that one can be expanded while the tensor cores read
 * the other. */
struct qmm_chunks {
	kit_op a[2][QMM_WGMMA_TILES_MAX][QMM_CHUNK_STEPS][4];
	struct qmm_raw raw[QMM_WGMMA_TILES_MAX];
	struct qmm_scales scales[QMM_WGMMA_TILES_MAX];
};
/* The registers of A, which loops then share. */
void qmm_write_chunks_open(struct qmm_writer *w, struct qmm_chunks *c);
/* Chunk CHUNK of the unit that LANE is at, of tiles of 64 rows TILE_BYTES apart; chunk 0 comes first. */
void qmm_write_expand(struct qmm_writer *w, struct qmm_chunks *c, const struct qmm_lane_at *lane, unsigned at,
		      unsigned tile_bytes, unsigned chunk);
/* SUMS += that chunk times the tile of activations at TILE; then waits for all products but these. */
void qmm_write_products(struct qmm_writer *w, struct qmm_chunks *c, unsigned chunk, kit_op tile, struct qmm_sums *sums);

#endif
