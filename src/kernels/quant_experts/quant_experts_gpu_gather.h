/* SPDX-License-Identifier: MIT
 *
 * The products of experts on GPUs: a chunk's tokens, from x or its image to shared
 * memory.
 */
#ifndef TCB_KERNELS_QUANT_EXPERTS_GPU_GATHER_H
#define TCB_KERNELS_QUANT_EXPERTS_GPU_GATHER_H

#include "kernels/quant_experts/quant_experts_gpu_writer.h"

/* Where a lane gathers: registers that go on from step to step. */
struct qex_gather {
	kit_op token[QEX_GATHER_POINTERS];   /* of each four rows, in the image: the lane's 16 bytes of codes or halves;
					      */
	kit_op record[QEX_GATHER_POINTERS];  /* q8: the record, */
	kit_op source[QEX_GATHER_POINTERS];  /* and which of its eight rows */
	kit_op bytes[QEX_GATHER_POINTERS];   /* 16, or 0 where there is no such token */
	kit_op four, deep;                   /* the warp's first four rows; its first tile along k */
	kit_op to;                           /* where that goes, behind a slot's start */
	kit_op piece;                        /* the lane's of a row's eight */
	kit_op pitch;                        /* of the image, from a tile along k to the next */
	kit_op product[QEX_GATHER_POINTERS]; /* of the chunk that comes next, as far as it has them */
};

void qex_gather_open(struct qex_writer *x, struct qex_gather *gather);
/* Asks for the numbers of CHUNK's products, COUNT of them, which are wanted later. */
void qex_gather_fetch(struct qex_writer *x, struct qex_gather *gather, kit_op chunk, kit_op count);
/* These, of CHUNK (COUNT of them), go to ENTRY, and are gathered next. */
void qex_gather_look_up(struct qex_writer *x, struct qex_gather *gather, kit_op entry, kit_op chunk, kit_op count);
/* A step's tiles into the slot that begins SLOT bytes behind the first. */
void qex_gather_copy(struct qex_writer *x, struct qex_gather *gather, kit_op slot);
/* is_in_block, instead: all of the item at ENTRY; by all threads, which meet behind it. */
void qex_gather_whole(struct qex_writer *x, kit_op entry);

/* BYTES, of which SOME (NULL: all) and then zeros, in the background where the geometry says so. */
void qex_copy(struct qex_writer *x, kit_op to, kit_op from, unsigned bytes, const kit_op *some);

#endif
