/* SPDX-License-Identifier: MIT
 *
 * The dense products on GPUs: tiles of A and B on their way to shared memory, by
 * the threads of a block (fma, mma).
 */
#ifndef TCB_KERNELS_MATMUL_GPU_COPY_H
#define TCB_KERNELS_MATMUL_GPU_COPY_H

#include "kernels/matmul/matmul_gpu_frame.h"

enum { MM_PASSES_MAX = 64, MM_GROUPS_MAX = 8 };

/* What a thread copies; the step along k that is next. */
struct mm_copy {
	kit_op a, b_;                                        /* where the block's part of the step begins */
	kit_op a_from[MM_PASSES_MAX], b_from[MM_PASSES_MAX]; /* the thread's bytes from there on, by pass */
	kit_op b_step;                                       /* bytes to B's rows of the next step */
	kit_op k, k_end;                                     /* of the step, of the slice */
	kit_op a_k, b_k;                           /* of the thread's values of A, of its first row of B, in the step */
	kit_op a_rows, b_is_inside[MM_GROUPS_MAX]; /* rows of A from its first on (signed); columns of B are there */
	kit_op a_to[MM_PASSES_MAX], b_to[MM_PASSES_MAX]; /* in a slot */
	kit_op slot;                                     /* where the step goes */
	int is_plain;                                    /* all of the tile is there in all steps: no piece is tested */
	kit_op more;                                     /* plain: there is such a step */
	kit_op held[MM_PASSES_MAX * 8];                  /* copy=ldg: values on their way */
};
/* Pieces that a thread takes of A or of B, whichever has more: MM_PASSES_MAX at most. */
unsigned mm_copy_pieces(const struct matmul_gpu *g);
/* Is the block's tile inside of C, and its part of k a multiple of midi k? */
kit_op mm_write_copy_is_plain(struct mm_writer *w, const struct mm_copy *copy);
void mm_write_copy_open(struct mm_writer *w, struct mm_copy *copy, kit_op k_first, kit_op k_end);
/* The copies of the next step: async, one group of them; ldg, to registers. */
void mm_write_copy_load(struct mm_writer *w, struct mm_copy *copy);
/* ldg: from registers to the slot. */
void mm_write_copy_store(struct mm_writer *w, struct mm_copy *copy);
/* SLOT becomes the one behind it in the ring. */
void mm_write_next_slot(struct mm_writer *w, kit_op slot);
/* 16-byte chunks of a row of PITCH bytes change places by row: what is exclusive-ored to the offset in row ROW. */
kit_op mm_write_swizzle(struct mm_writer *w, unsigned pitch, kit_op row);

#endif
