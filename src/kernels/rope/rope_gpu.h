/* SPDX-License-Identifier: MIT
 *
 * rope_append on GPUs: how a geometry drives the kernel.
 *
 * A thread has vec / 2 neighbouring values of the first half of a head and as many of the
 * second, which are their partners (word pairs: vec neighbouring values), of `unroll`
 * neighbouring heads of a token: so cos and sin are loaded once for these.  Threads go along
 * the head, then over heads, then over tokens, warps * 32 of them a block.  vec is the bytes
 * of a store.  parts=1: one launch has q's, K's and V's heads, which differ in where they go
 * and whether they are rotated.  parts=4 are the launches that this fuses: q; k, to the
 * workspace in f32; from there to the cache; v.  stream=1: results are stored for no one to
 * read soon.
 *
 * Of values that are less than 16 bits, vec is twice the bytes of a thread's Q8_0 codes, or of its FP8, of half a head;
 * of Q4_0 the lane with a block's first sixteen stores the nibbles of both.  Where q is not of the cache's type, the
 * launch of parts=1 has blocks of threads for q, and behind them blocks for K and V, where these are of two kinds for
 * one and the other: a warp's lanes store one type, and those that find the scales of blocks together all have K or V.
 *
 * With the word rot the chunks of a head are first those of its rotated part, halves as above, and then those of the
 * rest, halves again.  With qknorm a head's lanes add up its squares, so they are of one warp and a power of two, of
 * which some may have nothing.  With mrope each of a thread's angles comes from a row of its own.
 *
 * micro is 1 x 1 x vec / 2; midi.m, tiles' n are 1; macro.m is m, rounded up to a power of two.
 */
#ifndef TCB_KERNELS_ROPE_GPU_H
#define TCB_KERNELS_ROPE_GPU_H

#include "kernels/rope/rope.h"

/* A geometry and a problem in numbers. */
struct rope_gpu {
	enum tcb_type io, q;               /* of qkv, and of q that is written */
	enum tcb_kv_kind kind[2];          /* of K and of V in the cache */
	unsigned k, query, kv_heads, page; /* in the PTX */
	unsigned rotated;                  /* values of a head, k where all are */
	unsigned x_gap[3], q_gap;          /* between rows of q, K and V that come in, and of q, elements */
	float eps;                         /* of a norm */
	unsigned m, sequences, tokens;     /* tokens: new ones, of all sequences; not in the PTX */
	unsigned cache, pages;             /* tokens, or pages in the table, of a sequence */
	unsigned width, chunks, unroll;    /* values of a vector; vectors of half a head; heads of a thread */
	unsigned warps, threads, parts;
	int is_pairs, has_norm, has_mrope, is_apart, pdl, is_early, stream;
	size_t workspace_bytes;
};

/* A launch: HEADS heads of each token, of which the first ROTATED are rotated. */
enum rope_place { ROPE_FROM_QKV, ROPE_TO_OUTPUTS, ROPE_WORKSPACE };
struct rope_launch {
	const char *name;
	unsigned first, heads; /* of a row of qkv */
	unsigned rotated;
	enum rope_place from, to;
	int is_behind; /* in one kernel with the launch before it, in blocks of threads behind that one's */
};
enum { ROPE_LAUNCHES_MAX = 4, ROPE_TOGETHER_MAX = 3 /* in one kernel */ };

/* Of what kind LAUNCH's heads are that go to the cache. */
static inline enum tcb_kv_kind rope_gpu_kind(const struct rope_gpu *g, const struct rope_launch *launch)
{
	return g->kind[launch->first >= g->query + g->kv_heads];
}
static inline int rope_gpu_is_to_cache(const struct rope_gpu *g, const struct rope_launch *launch)
{
	return launch->to == ROPE_TO_OUTPUTS && launch->first + launch->heads > g->query;
}
/* Does LAUNCH write blocks? */
static inline int rope_gpu_has_blocks(const struct rope_gpu *g, const struct rope_launch *launch)
{
	return rope_gpu_is_to_cache(g, launch) && tcb_kv_kind_format(rope_gpu_kind(g, launch)) != NULL;
}

/* rope_gpu_plan.c */
extern const struct tcb_side_space rope_gpu_space;
void rope_gpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct rope_gpu *out);
/* The launches of a call; returns how many. */
unsigned rope_gpu_launches(const struct rope_gpu *g, struct rope_launch out[ROPE_LAUNCHES_MAX]);
/* A rule of kernels in any language: tiles say what vec does, so that one text is one kernel. */
const char *rope_rule_gpu_tiles(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry);
/* Is there a block of values of both halves of a head? */
int rope_gpu_has_split_block(const struct rope_gpu *g);
/* Does LAUNCH norm heads? */
static inline int rope_gpu_norms(const struct rope_gpu *g, const struct rope_launch *launch)
{
	return g->has_norm && launch->rotated > 0;
}
/* Has a head a part that is not rotated, halves of which lie elsewhere than those of a head that is? */
static inline int rope_gpu_has_rest(const struct rope_gpu *g)
{
	return g->rotated < g->k;
}
/* Lanes that have a head, or unroll of them: where they look up each other's magnitudes or squares across the head a
 * power of two, of which some are left over. */
unsigned rope_gpu_lanes(const struct rope_gpu *g, const struct rope_launch *launch);
/* Threads of a launch, as blocks. */
unsigned rope_gpu_blocks(const struct rope_gpu *g, const struct rope_launch *launch);

/* rope_gpu_emit.c */
#define ROPE_SIDE(kv, ...) extern const struct tcb_side rope_##kv##_gpu;
TCB_KV_LIST(ROPE_SIDE, )
#undef ROPE_SIDE

#endif
