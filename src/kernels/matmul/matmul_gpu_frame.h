/* SPDX-License-Identifier: MIT
 *
 * The dense products on GPUs: what their kernels begin with, and in which order
 * they take the tiles of C.
 */
#ifndef TCB_KERNELS_MATMUL_GPU_FRAME_H
#define TCB_KERNELS_MATMUL_GPU_FRAME_H

#include "kernels/gpu/frame.h"
#include "kernels/matmul/matmul_gpu_plan.h"

enum { MM_MEMORY_ALIGN = 1024, MM_ACCUMULATORS_MAX = 256 };

/* A kernel being written. */
struct mm_writer {
	struct tcb_kit kit; /* its warp number is uniform */
	const struct matmul_gpu *g;
	kit_op a, b_, c;       /* addresses of the operands (fma, mma), maps (wgmma) */
	kit_op m, n, k, steps; /* steps: along k, of a slice */
	kit_op tiles_m, tiles_n, group;
	kit_op slices, counters; /* splitk > 1: of the workspace */
	kit_op row, column;      /* where the block's tile begins */
	kit_op acc[MM_ACCUMULATORS_MAX];
};

void mm_write_begin(struct mm_writer *w, const char *name);
/* Parameters behind the operands, shared memory, threads. */
void mm_write_parameters(struct mm_writer *w);
/* Tile number TILE: sets w->row (of the first block of a cluster) and w->column. */
void mm_write_tile(struct mm_writer *w, kit_op tile);
/* fma, mma: where the warp's tile begins in the block's. */
void mm_write_warp_origin(struct mm_writer *w, kit_op *m_out, kit_op *n_out);

/* The kernels, in files of their own: wgmma's, and fma's and mma's. */
void mm_write_wgmma(struct mm_writer *w);
void mm_write_tiles(struct mm_writer *w);

#endif
