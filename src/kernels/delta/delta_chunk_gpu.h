/* SPDX-License-Identifier: MIT
 *
 * Chunks of tokens on a GPU's tensor cores: what the parts of the emitter share.  delta_gpu_plan.h says how a geometry
 * drives it.
 *
 * A call is two launches.  The first has all chunks of all heads at once and works out what does not depend on the
 * state: of each head of keys its normed keys and queries as terms, of each head what its tokens have to do with each
 * other (delta_chunk_gpu_prepare.c, delta_chunk_gpu_solve.c).  The second has heads and groups of values at once and
 * goes from chunk to chunk (delta_chunk_gpu_states.c).  With the state S before a chunk, G the sums of g from the
 * chunk's first token on, K and Q the keys and queries as rows,
 *
 *     A_ij = beta_i exp(G_i - G_j) K_i'K_j, j < i      T = (I + A)^-1 diag(beta)
 *     P_ij = exp(G_i - G_j) Q_i'K_j, j <= i
 *     U    = T (V - diag(exp(G)) K S)                  of ssd_*: diag(beta) V
 *     Y    = diag(exp(G)) Q S + P U                    of ssd_*: + skip V
 *     S    = exp(G_end) S + K' diag(exp(G_end - G)) U
 *
 * A float is multiplied as two bf16, the nearest and that of the rest, of which the product of the small parts is left
 * out: together 3 * 2^-18 of a product.
 */
#ifndef TCB_KERNELS_DELTA_CHUNK_GPU_H
#define TCB_KERNELS_DELTA_CHUNK_GPU_H

#include "kernels/delta/delta_gpu_plan.h"
#include "kernels/gpu/ring.h"
#include "kernels/gpu/tile_ring.h"

/* Values as terms: of pairs of them a word each. */
struct chunk_words {
	kit_op high, low;
};

/* The first launch. */
struct chunk_preparer {
	struct tcb_kit kit;
	const struct delta_gpu *g;
	kit_op qkv, decay, beta, key_heads, counts, rows, records;
	kit_op sequence, chunk, key_head, first,
		count;     /* first: the chunk's first token; count: the sequence's tokens */
	kit_op quad, pair; /* of the lane: / 4, % 4 */
	/* Shared memory: keys, then queries; of each head numbers; two systems; how many heads have these keys, which.
	 */
	kit_op keys, numbers, systems, list;
	kit_op head_count, first_head,
		heads_here; /* all of the list's; of those now: the first one's place, how many */
	/* The warp's products: of 16 tokens, queries or keys, with the keys of 16 tokens each. */
	kit_op is_query, tile;
	kit_op product[DELTA_CHUNK_MAX / CHUNK_TILE][2][4];
};

/* The second launch. */
struct chunk_writer {
	struct tcb_kit kit;
	const struct delta_gpu *g;
	kit_op qkv, key_heads, counts, slots, states, y, states_out, skips, rows, records;
	kit_op head, sequence, count, skip;
	kit_op quad, pair;
	kit_op tile, value;      /* the warp's tokens, / 16; its first value, of the block's */
	kit_op v_at[2], y_at[2]; /* rows quad and quad + 8 of the chunk: addresses of the lane's first value */
	kit_op token;            /* the lane's first one, of the prompt */
	kit_op has_value[DELTA_TILE_MAX / CHUNK_EIGHT][2];
	kit_op rows_at, records_at; /* of the chunk that is asked for next */
	kit_op slot;                /* of the chunk in use, which one of these goes round with: */
	struct tcb_kit_ring ring;   /* copy=async */
	struct tcb_kit_tiles tiles; /* copy=bulk */
	kit_op asked;               /* async: the first token of what is asked for next */
	/* Shared memory, at what the lane reads or writes there: of all states (rows of keys), of V - K S and of U,
	 * both as it is and as it is left at the end (rows of values). */
	kit_op states_from, states_to, right_from, right_to, added_from, added_to, left_from, left_to;
	kit_op group[CHUNK_KEY_GROUPS_MAX]; /* which 16 keys the warp has; a warp without has others' */
	kit_op state[CHUNK_KEY_GROUPS_MAX][DELTA_TILE_MAX / CHUNK_TILE][2][4]; /* 16 values by twice eight keys */
	/* By eight values, of two tokens two each. */
	kit_op v[DELTA_TILE_MAX / CHUNK_EIGHT][4], out[DELTA_TILE_MAX / CHUNK_EIGHT][4],
		added[DELTA_TILE_MAX / CHUNK_EIGHT][4];
};

/* delta_chunk_gpu_terms.c */
struct chunk_words chunk_split_pair(struct tcb_ptx_build *b, kit_op x, kit_op y);
/* SUMS += A X, 16 rows by 8 columns, 16 of k. */
struct chunk_product {
	kit_op *sums, (*a)[4];
	const kit_op *high, *low; /* of X */
};
/* In turn, so that none waits for what it adds to; and those of one group's SMALL terms to sums of their own, 4 each.
 */
void chunk_multiply(struct tcb_ptx_build *b, const struct chunk_product *products, unsigned count);
void chunk_multiply_apart(struct tcb_ptx_build *b, const struct chunk_product *products, unsigned count,
			  kit_op small[][4]);
/* Where LANE's row of four matrices begins, of rows of PITCH bytes: those below each other first, or side by side. */
kit_op chunk_lane_down(struct tcb_ptx_build *b, kit_op lane, unsigned pitch);
kit_op chunk_lane_across(struct tcb_ptx_build *b, kit_op lane, unsigned pitch);
/* Four matrices' high terms AT, low ones LOW bytes behind. */
void chunk_load(struct tcb_ptx_build *b, int is_turned, kit_op at, int64_t offset, int64_t low, kit_op out[2][4]);
/* 2^(log2(e) (HIGH + LOW)), of a HIGH that is exact. */
kit_op chunk_ratio(struct tcb_ptx_build *b, kit_op high, kit_op low);
/* 16 by 16 values in the order of sums, as terms to the lane's part of a tile AT. */
void chunk_put_tile(struct tcb_ptx_build *b, kit_op at, kit_op value[2][4]);

/* delta_chunk_gpu_prepare.c */
void chunk_write_prepare(struct chunk_preparer *w);
/* delta_chunk_gpu_solve.c: T of up to two heads by the warps that have keys; RECORD: of each where its tiles are,
 * HAS_SECOND: whether there is another one. */
void chunk_write_solution(struct chunk_preparer *w, const kit_op record[2], const kit_op number[2], kit_op has_second);
/* delta_chunk_gpu_states.c */
void chunk_write_states(struct chunk_writer *w);

/* delta_chunk_gpu.c */
enum tcb_status delta_chunk_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err);

#endif
