/* SPDX-License-Identifier: MIT
 *
 * The dense products on GPUs (wgmma): what a block does, piece by piece.  A piece
 * is a tile of C, or with sched=streamk some of its steps along k (stream-K; Osama et
 * al., PPoPP 2023).
 *
 * Where tiles fill no whole number of rounds over the blocks that stay, the steps
 * of those of the last full round and of what is left over are dealt evenly: one
 * range of steps a block, one to two tiles long, which comes before its whole
 * tiles.  A range may begin within a tile: these sums go to the workspace, and a
 * flag says so.  Who has the first steps of the tile adds them to its own, in the
 * order of k, so that results do not depend on who was first.  Ranges go down as
 * blocks' numbers go up: a block waits for lower numbers only, and for what they
 * did first of all.
 */
#ifndef TCB_KERNELS_MATMUL_GPU_PIECES_H
#define TCB_KERNELS_MATMUL_GPU_PIECES_H

#include "kernels/matmul/matmul_gpu_frame.h"

/* Of a thread; all .u32 */
struct mm_pieces {
	kit_op number, blocks, rank; /* of the cluster, of all of them, of the block in its cluster */
	kit_op tiles;                /* how many */
	kit_op tile, step, count;    /* the piece at hand: its first step, its steps */
	/* sched=streamk */
	kit_op shared, share, spare; /* tiles that are dealt; steps of a range, as many ranges have one more */
	kit_op range;                /* whose is the block's, from below */
	kit_op left, whole;          /* steps of the range, the piece's included; the next whole tile */
	kit_op parts, flags;         /* of the workspace */
};

/* sched=streamk: its parameters. */
void mm_write_pieces_parameters(struct mm_writer *w, struct mm_pieces *p);
void mm_write_pieces_open(struct mm_writer *w, struct mm_pieces *p);
/* A loop over the pieces. */
void mm_write_pieces_begin(struct mm_writer *w, struct mm_pieces *p);
void mm_write_pieces_end(struct mm_writer *w, struct mm_pieces *p);
/* Sets w->row and w->column to where this block's part of the piece's tile begins. */
void mm_write_piece_place(struct mm_writer *w, const struct mm_pieces *p);

/* Of a warpgroup that multiplies: its number in the tile, its named barrier, its thread that is the leader. */
struct mm_piece_group {
	kit_op index, barrier, leader;
};
/* sched=streamk: is the piece the first of its tile?  Opens a scope for those that are, with the sums of the tile's
 * other pieces added to w->acc; of the others the sums are left in the workspace. */
void mm_write_parts_begin(struct mm_writer *w, struct mm_pieces *p, const struct mm_piece_group *group);

#endif
