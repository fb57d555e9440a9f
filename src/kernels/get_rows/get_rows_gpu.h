/* SPDX-License-Identifier: MIT
 *
 * The ops qXX_get_rows on GPUs: how a geometry drives the kernel.
 *
 * A thread has a piece of a token's row: 32 values of formats in blocks, 8, 4, 2 or 1 of rows of values, as many as
 * divide K (micro.k).  A block has 32 * warps pieces of one token, one after another (midi.k); id and row are the same
 * for all of its threads.  The table is as <format>_matvec has it on GPUs: layout p, or as stored where blocks are in
 * order there and K is a multiple of 256, rows of values with any K.
 */
#ifndef TCB_KERNELS_GET_ROWS_GPU_H
#define TCB_KERNELS_GET_ROWS_GPU_H

#include "kernels/get_rows/get_rows.h"
#include "kernels/quant_matvec/quant_matvec_planes.h"

enum { GET_ROWS_PIECE = 32 };

/* A geometry and a problem in numbers. */
struct get_rows_gpu {
	const struct qmv_format *f;
	int is_native, is_half, pdl;
	unsigned unit, pieces;           /* values of a thread; pieces of a row */
	unsigned warps, threads, blocks; /* blocks: of a row */
	unsigned superblocks;            /* of a row */
	size_t row_bytes;                /* as stored */
	size_t tokens;
};

/* get_rows_gpu_plan.c */
void get_rows_gpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
		       struct get_rows_gpu *out);
extern const struct tcb_side_space get_rows_gpu_space;

/* get_rows_gpu.c */
extern const struct tcb_side get_rows_gpu;

#endif
