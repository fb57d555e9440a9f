/* SPDX-License-Identifier: MIT
 *
 * What the writers of rope_append's PTX share: rope_gpu_emit.c writes kernels, rope_gpu_blocks.c
 * what makes values blocks.
 */
#ifndef TCB_KERNELS_ROPE_GPU_WRITER_H
#define TCB_KERNELS_ROPE_GPU_WRITER_H

#include "kernels/gpu/frame.h"
#include "kernels/rope/rope_gpu.h"

enum { ROPE_WIDTH_MAX = 8, ROPE_HEADS_MAX = 8 /* of a thread */, ROPE_WORDS_MAX = 4 };

struct rope_writer {
	struct tcb_kit kit;
	const struct rope_gpu *g;
	const struct rope_launch *launch;
	kit_op from, q, k, v, workspace, rotation, table;
	kit_op tokens, m, cache;
	kit_op q_norm, k_norm, positions, sections, new_k, new_v; /* where there are any */
	/* The thread's: its number; new token; which of the vectors of half a head; of all sequences; first head of the
	 * launch's. */
	kit_op item, token, chunk, sequence, first;
	kit_op has_token, position, is_new; /* is_new: there is such a token */
	kit_op cosine[ROPE_WIDTH_MAX], sine[ROPE_WIDTH_MAX];
	kit_op lane;      /* in the warp: where a head has a block of both halves */
	kit_op has_chunk; /* where lanes are left over (rope_gpu_lanes): whether it is none of these */
	/* Where a head has a part that is not rotated: whether the chunk is of it; the chunk's first value and how far
	 * behind it the second vector is (values half a head apart only). */
	kit_op is_rest, offset, apart;
};

/* A thread's vectors of a head as codes of blocks: neighbours of one block (word pairs), or parts of two.  Of Q4_0 the
 * words have the nibbles of as many values and of those that are 16 further in the block. */
struct rope_codes {
	kit_op word[2][ROPE_WORDS_MAX];
	kit_op scale[2];  /* f16, in both halves of a word */
	kit_op before[2]; /* the word that comes before the first one, of the lane before; its scale's where it has the
			   * first codes of a block */
};

/* rope_gpu_blocks.c.  All lanes come to the first one. */
void rope_write_codes(struct rope_writer *w, const kit_op first[], const kit_op second[], struct rope_codes *out);
/* To HEAD of CACHE, where PREDICATE, if there is one. */
void rope_store_codes(struct rope_writer *w, kit_op cache, kit_op head, const struct rope_codes *codes,
		      const kit_op *predicate);

/* rope_gpu_bytes.c: the thread's vector as FP8 (E4M3). */
void rope_store_bytes(struct rope_writer *w, enum tcb_kit_memory memory, kit_op address, const kit_op *values);

#endif
