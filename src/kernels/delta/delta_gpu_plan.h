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
 * isa=mma: a prompt in chunks of midi.m tokens, 16, 32 or 64, on tensor cores (delta_chunk_gpu.h): micro is 8x16x8, the
 * tokens, values and keys of a product, vec 16.  What a chunk's tokens have to do with each other all warps work out
 * first, with prep=block, or, with prep=warps, two warps beside those for the next chunk.
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
	unsigned warps, threads;
	unsigned tile, tiles; /* values of a block; blocks of a head */
	int pdl, stream;
	int is_chunked;
	unsigned chunk, helpers, shared_bytes; /* of chunks: tokens; warps that prepare the next one */
};

/* --- chunks --- */

enum {
	CHUNK_VALUES = 16, /* of a warp */
	CHUNK_EIGHT = 8,   /* tokens or keys of a product */
	CHUNK_PAD = 8,     /* floats behind each row in shared memory: pairs of four rows are in different banks */
	CHUNK_HELPERS = 2, /* warps that prepare chunks, with prep=warps */
	CHUNK_BARRIER = 1, /* theirs */
};

/* Numbers of a chunk's tokens in shared memory, an array each. */
enum {
	CHUNK_HIGH,  /* the sum of g up to the token, a multiple of 2^-8, */
	CHUNK_LOW,   /* and the rest */
	CHUNK_KEY,   /* 1 over the key's norm */
	CHUNK_QUERY, /* scale over the query's norm */
	CHUNK_OWN,   /* -beta over the key's norm */
	CHUNK_BETA,  /* beta */
	CHUNK_RHS,   /* -decay over the key's norm */
	CHUNK_OUT,   /* decay times CHUNK_QUERY */
	CHUNK_LEFT,  /* what is left of the token at the end, over the key's norm */
	CHUNK_END,   /* in its first: what is left of the state before */
	CHUNK_NUMBERS
};

static inline unsigned chunk_key_pitch(const struct delta_gpu *g)
{
	return 4 * (g->k + CHUNK_PAD);
}
static inline unsigned chunk_token_pitch(const struct delta_gpu *g)
{
	return 4 * (g->chunk + CHUNK_PAD);
}
/* Keys, then queries. */
static inline unsigned chunk_slot_bytes(const struct delta_gpu *g)
{
	return 2 * g->chunk * chunk_key_pitch(g);
}
/* One in use, one being filled; between them one that is being prepared. */
static inline unsigned chunk_slots(const struct delta_gpu *g)
{
	return g->helpers ? 3 : 2;
}
/* What is prepared of a chunk: two matrices, numbers. */
static inline unsigned chunk_set_bytes(const struct delta_gpu *g)
{
	return 2 * g->chunk * chunk_token_pitch(g) + CHUNK_NUMBERS * g->chunk * 4;
}

/* delta_gpu_plan.c */
extern const struct tcb_side_space delta_gpu_space;
void delta_gpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct delta_gpu *out);

#endif
