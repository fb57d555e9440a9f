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
#ifndef TCB_KERNELS_DELTA_GPU_H
#define TCB_KERNELS_DELTA_GPU_H

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

/* delta_gpu_plan.c */
extern const struct tcb_side_space delta_gpu_space;
void delta_gpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct delta_gpu *out);

/* delta_gpu.c */
#define DELTA_SIDE(state, ID, type, text, rule) \
	extern const struct tcb_side rule##_decode_##state##_gpu, rule##_prefill_##state##_gpu;
DELTA_STATE_LIST(DELTA_SIDE, delta)
DELTA_STATE_LIST(DELTA_SIDE, ssd)
#undef DELTA_SIDE

#endif
