/* SPDX-License-Identifier: MIT
 *
 * The dense products on GPUs: the arithmetic of a warp (fma, mma).  Fragments of
 * the next step along k are loaded while those of one are multiplied.
 */
#ifndef TCB_KERNELS_MATMUL_GPU_MATH_H
#define TCB_KERNELS_MATMUL_GPU_MATH_H

#include "kernels/matmul/matmul_gpu_frame.h"

/* Fragments of two steps along k. */
struct mm_fragments {
	kit_op a_at, b_at; /* where the lane reads in a slot */
	kit_op a_odd;      /* fma, A in rows: for every other row, where these are swizzled otherwise */
	kit_op a[2][128], b[2][64];
};
struct mm_math {
	unsigned steps; /* of a stage */
	void (*open)(struct mm_writer *w, struct mm_fragments *f);
	/* Fragments of step STEP of the stage in SLOT to set STEP % 2. */
	void (*load)(struct mm_writer *w, struct mm_fragments *f, kit_op slot, unsigned step);
	void (*multiply)(struct mm_writer *w, struct mm_fragments *f, unsigned step);
	/* Calls STORE for each COUNT values that lie side by side, from the accumulators. */
	void (*results)(struct mm_writer *w, void (*store)(struct mm_writer *w, kit_op row, kit_op column,
							   const kit_op *values, unsigned count));
};
/* matmul_gpu_fma.c, matmul_gpu_mma.c */
struct mm_math mm_math_fma(const struct matmul_gpu *g);
struct mm_math mm_math_mma(const struct matmul_gpu *g);

#endif
