/* SPDX-License-Identifier: MIT
 *
 * The recurrent ops on GPUs: how a geometry drives the kernel.
 *
 * A warp has values of one head of one sequence, each with its part of the state, k numbers that
 * lie together, in registers: read once, carried through all tokens, written once.  `lanes`
 * lanes share a value: vectors of vec bytes along k go to them in turn, so that they read
 * neighbours; 32 / lanes values are side by side in a warp, micro.n of them in so many rounds.  Products with key and
 * query are summed over the lanes by exchanges, nothing goes through shared memory.  While a token is worked on, the
 * next one's query and key are on their way.  stream=1: states are stored for no one to read soon.
 *
 * micro's k is k, rounded up to a power of two, over lanes, its m 1; midi.n is warps times
 * micro.n, midi's and macro's k the head's, so rounded; macro.n is n, so rounded, or
 * midi.n; macro.m and midi.m are m, so rounded.
 *
 * isa=mma: a prompt in chunks of midi.m tokens, 16, 32 or 64, on tensor cores (delta_chunk_gpu.h).  midi.n values are
 * of a block of the second launch, of whose warps each has micro, 16 tokens by some of the values by 16 keys at a time,
 * vec is 16.  `stages` chunks are in shared memory or on their way there, by copy=async, or by copy=bulk, which a warp
 * more asks for; `cluster` blocks of a head copy a part each for all of them.  heads: how many heads of those that
 * share keys a block of the first launch takes.
 */
#ifndef TCB_KERNELS_DELTA_GPU_PLAN_H
#define TCB_KERNELS_DELTA_GPU_PLAN_H

#include "kernels/delta/delta.h"

enum { DELTA_VALUES_MAX = 8 /* of a lane */, DELTA_NUMBERS_MAX = 64 /* of a value, in a lane */ };

/* A geometry and a problem in numbers. */
struct delta_gpu {
	enum tcb_type state;
	int has_correction, is_prefill;
	unsigned k, n, m, heads, key_heads, sequences;
	unsigned row, slots;            /* elements of a row of qkv, and of slots */
	unsigned width, vectors, lanes; /* numbers of a vector; vectors of a value in a lane; lanes of a value */
	unsigned beside, unroll;        /* values side by side in a warp; of a lane */
	unsigned warps, threads;        /* of chunks: the second launch's */
	unsigned tile, tiles;           /* values of a block; blocks of a head */
	int pdl, stream;
	/* Of chunks. */
	int is_chunked, is_bulk;
	unsigned chunk, chunks, warp_values, stages, cluster;
	unsigned key_groups;   /* 16 keys each that a warp has of the state */
	unsigned taken, parts; /* heads that a block of the first launch takes at a time; blocks that share them */
	unsigned prepare_shared, shared_bytes;
	size_t records_at, workspace_bytes;
};

/* --- chunks --- */

enum {
	CHUNK_TILE = 16, /* tokens, values or keys of a product */
	CHUNK_EIGHT = 8,
	CHUNK_TILE_BYTES = 1024, /* of a tile of tokens by tokens: of each lane its terms in the order of registers, the
				  * high ones first */
	CHUNK_PAD = 16,          /* bytes behind a row: eight rows are in different banks */
	CHUNK_KEY_GROUPS_MAX = 16,
	DELTA_TILE_MAX = 128, /* values of a block */
	CHUNK_NUMBERS = 3,    /* arrays of a chunk's tokens in shared memory: */
	CHUNK_HIGH = 0,       /* the sum of g up to the token, a multiple of 2^-8, */
	CHUNK_LOW,            /* and the rest */
	CHUNK_BETA,
	CHUNK_BARRIERS_BYTES = 64, /* room for those of a ring */
	CHUNK_BARRIER = 1,         /* of the warps that have keys, or tokens */
	CHUNK_CLUSTER_MAX = 8,
};

/* Rows of a chunk's keys and queries: high terms, low ones, as they are copied to shared memory. */
static inline unsigned chunk_row(const struct delta_gpu *g)
{
	return 4 * g->k + CHUNK_PAD;
}
static inline unsigned chunk_rows_bytes(const struct delta_gpu *g)
{
	return 2 * g->chunk * chunk_row(g);
}
/* The same of a block's values. */
static inline unsigned chunk_value_row(const struct delta_gpu *g)
{
	return 4 * g->tile + CHUNK_PAD;
}
static inline unsigned chunk_tiles(const struct delta_gpu *g)
{
	return g->chunk / CHUNK_TILE;
}
/* Tiles on the diagonal and below it, row by row. */
static inline unsigned chunk_triangle(const struct delta_gpu *g)
{
	return chunk_tiles(g) * (chunk_tiles(g) + 1) / 2;
}

/* A record, of a head's chunk: T if there is a correction, P, then of each token exp(G), exp(G_end - G), without the
 * correction beta, and exp(G_end). */
static inline unsigned chunk_weights_at(const struct delta_gpu *g)
{
	return g->has_correction ? chunk_triangle(g) * CHUNK_TILE_BYTES : 0;
}
static inline unsigned chunk_out_at(const struct delta_gpu *g)
{
	return chunk_weights_at(g) + chunk_triangle(g) * CHUNK_TILE_BYTES;
}
static inline unsigned chunk_left_at(const struct delta_gpu *g)
{
	return chunk_out_at(g) + 4 * g->chunk;
}
static inline unsigned chunk_beta_at(const struct delta_gpu *g)
{
	return chunk_left_at(g) + 4 * g->chunk;
}
static inline unsigned chunk_end_at(const struct delta_gpu *g)
{
	return chunk_beta_at(g) + (g->has_correction ? 0 : 4 * g->chunk);
}
static inline unsigned chunk_record_bytes(const struct delta_gpu *g)
{
	return (chunk_end_at(g) + 16 * CHUNK_CLUSTER_MAX) / (16 * CHUNK_CLUSTER_MAX) * (16 * CHUNK_CLUSTER_MAX);
}

/* Floats of tokens by tokens, a system. */
static inline unsigned chunk_system_row(const struct delta_gpu *g)
{
	return 4 * (g->chunk + 8);
}
static inline unsigned chunk_system_bytes(const struct delta_gpu *g)
{
	return g->chunk * chunk_system_row(g);
}
static inline unsigned chunk_slot_bytes(const struct delta_gpu *g)
{
	return chunk_rows_bytes(g) + chunk_record_bytes(g);
}

/* delta_gpu_plan.c */
extern const struct tcb_side_space delta_gpu_space;
void delta_gpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct delta_gpu *out);

#endif
