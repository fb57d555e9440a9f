/* SPDX-License-Identifier: MIT
 *
 * attention_decode on GPUs: how a geometry drives the kernel.
 *
 * A block has the query rows of one tile: midi.m query tokens by `heads` query heads
 * that share a KV head, against a part of that sequence's KV: blocks of one tile are
 * splitk along x; tiles are along y, sequences along z.  Its warps take turns at
 * pieces of micro.n KV tokens, each with the whole tile and its own running maximum
 * and sum; at the end their parts are merged in shared memory, those of `cluster`
 * blocks through each other's shared memory, the rest as `join` says: by the last
 * block (last) or a second launch (launch) from the workspace.
 *
 * Tensor cores: S = Q K^T has query rows as mma's 16 rows, O^T += V^T P^T as its 8
 * columns, so that S is already what P^T wants and few query rows waste little.  K and
 * V go from memory to the fragments without shared memory: which value of a head is
 * which k of an instruction does not matter as long as Q agrees, nor which is which
 * row of V^T as long as the store does.
 *
 * The next piece's K is asked for as soon as this one's is multiplied, its V after
 * this one's: they are on their way meanwhile.
 */
#ifndef TCB_KERNELS_ATTENTION_GPU_H
#define TCB_KERNELS_ATTENTION_GPU_H

#include "kernels/attention/attention.h"
#include "kernels/gpu/frame.h"

enum { ATTENTION_COLUMNS = 8 /* query rows of an mma */, ATTENTION_PIECE = 8 /* KV tokens, at least, of a piece */ };

/* A geometry in numbers. */
struct attention_gpu {
	enum tcb_type type; /* of K and V, q and out */
	unsigned capability, m, n, k, group, kv_heads, sequences, page, pages, window, cap, causal;
	unsigned tokens, heads, rows, columns; /* of a tile: query tokens, heads, their product, mma's columns / 8 */
	unsigned kv, subs, halves; /* KV tokens of a warp's piece; in units of 16; in units of 8, of these */
	unsigned warps, threads, splitk, cluster, slots, occ;
	int pdl;
	enum tcb_join join;
	unsigned token_tiles, head_tiles, tiles; /* tiles: of all KV heads of a sequence */
	unsigned v_words;                        /* of V that a lane loads from a token at a time: 4, or 2 */
	/* shared memory: parts of the warps, that of the block, the last block's flag */
	unsigned o_at, ml_at, block_o_at, block_ml_at, flag_at, shared_bytes;
	size_t parts_ml_at, counters_at, workspace_bytes; /* workspace: parts of the blocks from 0 on */
};

/* attention_gpu_plan.c */
void attention_gpu_plan(const struct tcb_problem *problem, const struct tcb_target *target,
			const struct tcb_geometry *geometry, struct attention_gpu *out);
void attention_gpu_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, struct tcb_footprint *out);
extern const struct tcb_rule attention_gpu_rules[];

/* attention_gpu_space.c */
size_t attention_gpu_axes(const struct tcb_problem *problem, const struct tcb_target *target,
			  struct tcb_axis out[TCB_AXES_MAX]);
void attention_gpu_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
				    struct tcb_geometry *out);

/* attention_gpu.c */
enum tcb_status attention_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);
extern const struct tcb_variant attention_decode_f16_gpu_variants[], attention_decode_bf16_gpu_variants[];

/* What the files that write the kernel share. */
struct attention_writer {
	struct tcb_kit kit;
	const struct attention_gpu *g;
	kit_op out;                              /* .u64 */
	kit_op parts, parts_ml;                  /* .u64: the workspace */
	kit_op counters;                         /* .u64 */
	kit_op tile, sequence;                   /* .u32: the block's */
	kit_op first_token, first_head, kv_head; /* of the tile; the head within its group */
	kit_op split;                            /* which part of KV; .u32 */
};

/* attention_gpu_merge.c: the parts of the block's warps lie in shared memory, all threads have passed a barrier: merges
 * them, with those of other blocks, and stores the results. */
void attention_write_merge(struct attention_writer *w);
/* join=launch: the second kernel. */
void attention_write_second(struct attention_writer *w);
/* Where the tile is: first_token, first_head and kv_head from tile. */
void attention_write_tile(struct attention_writer *w);

#endif
