/* SPDX-License-Identifier: MIT
 *
 * rope_append in WGSL: how a geometry drives it.
 *
 * An invocation has vec / 2 neighbouring values of the first half of a head and as many of the second, which are their
 * partners (word pairs: vec neighbouring values), of `unroll` neighbouring heads of a token: so cos and sin are loaded
 * once for these.  Invocations go along the head, then over heads, then over tokens, `workgroup` of them together.
 * vec is the bytes of a store of 16-bit values.
 *
 * Of a cache of blocks that is q alone; a second launch has an invocation for each block of K and V, which begin at
 * any two bytes: of a word that two blocks share, each stores its half by atomics.
 *
 * micro is 1 x 1 x vec / 2; midi.m, tiles' n are 1; macro.m is m, rounded up to a power of two.  The text is that of
 * the geometry, the contract, the head size, and of whether there are pages and pairs.
 *
 * V is copied bit by bit where it has the cache's type; a NaN or an infinity makes its block's scale a NaN where the
 * device keeps it through a rotation, which WGSL does not promise.
 */
#ifndef TCB_KERNELS_ROPE_WGSL_H
#define TCB_KERNELS_ROPE_WGSL_H

#include "kernels/rope/rope.h"

enum { ROPE_WGSL_FOUR = 4, ROPE_WGSL_WIDTH_MAX = 8, ROPE_WGSL_UNROLL_MAX = 4 };
enum { ROPE_WGSL_HEAD_UNIT = 32, ROPE_WGSL_HEAD_MAX = 256 };

/* Invocations of a launch, and what it is launched as. */
struct rope_wgsl_launch {
	size_t items;
	uint32_t grid[3];
};

/* A geometry and a problem in numbers. */
struct rope_wgsl {
	enum tcb_type io, q, kv; /* of qkv, of q that is written and of the cache */
	int has_pages, is_pairs;
	unsigned k, width, chunks, unroll, workgroup; /* width: values of a vector; chunks: vectors of half a head */
	/* not in the text */
	unsigned m, tokens, query, kv_heads;
	struct rope_wgsl_launch heads, blocks;
};

/* rope_wgsl_plan.c */
void rope_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct rope_wgsl *out);
extern const struct tcb_side_space rope_wgsl_space;

/* rope_wgsl.c */
#define ROPE_WGSL_SIDE(kv, ...) extern const struct tcb_side rope_##kv##_wgsl;
TCB_KV_ALL_LIST(ROPE_WGSL_SIDE, )
#undef ROPE_WGSL_SIDE

#endif
