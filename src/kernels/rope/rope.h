/* SPDX-License-Identifier: MIT
 *
 * rope_append: what a layer does between the product that makes q, k and v and
 * attention.  Of shape m x n x k with TCB_KV_WORDS and pairs:
 * each sequence gets m new tokens, the last m of its length, and its KV cache has
 * memory for n; heads are of k values.  q and k of the new tokens are rotated
 * (rotary embedding), and k and v are appended to the cache.
 *
 * A head at position p is rotated in pairs of values j and j + k / 2 (NeoX), with the
 * word pairs 2 j and 2 j + 1 (GPT-J; ggml's "normal" order):
 *
 *     out[low]  = x[low] * cos - x[high] * sin
 *     out[high] = x[high] * cos + x[low] * sin
 *
 * with cos and sin of angle j from row p of an operand, [n][cos of k / 2 | sin of
 * k / 2] in f32, as engines keep them: how exact an angle is, is its maker's business.
 *
 * qkv has a row for each new token: query heads, then K's, then V's.  New token i of a
 * sequence of length L (with the new ones) is its token p = L - m + i; below 0 there is
 * none, and nothing of it is read or written.  The outputs are q, with a row for each new
 * token, and K and V of the cache, all as attention reads them (kv_cache.h).  What is not
 * new stays as it is.
 *
 * Arithmetic is in f32, results are rounded once to the cache's type.  Contract f32: qkv
 * is f32; contract f16: it has the cache's type, and V is copied bit by bit but for NaN.
 *
 * A cache of blocks: q has qkv's type, f32 or (contract f16) f16, as attention reads
 * it, and the cache's heads are k / 32 blocks each.  A block's scale is the largest
 * magnitude over 127, rounded to f16; its codes are the values over the scale as it was
 * before, rounded to the nearest, as ggml's are; of a block with a NaN or an infinity the
 * scale is a NaN.
 */
#ifndef TCB_KERNELS_ROPE_H
#define TCB_KERNELS_ROPE_H

#include "kernels/kv_cache.h"

/* ROPE_TABLE: with pages only. */
enum { ROPE_QKV, ROPE_ROTATION, ROPE_LENGTHS, ROPE_Q, ROPE_K, ROPE_V, ROPE_TABLE };
enum { ROPE_HEAD_UNIT = 32, ROPE_HEAD_MAX = 256, ROPE_BLOCK = 32 /* values of a block */ };

/* parts=1: all of a token in one go.  As separate kernels do it: q; k, to memory; from there to the cache; v. */
enum { ROPE_WHOLE = 1, ROPE_PARTS = 4 };

/* What tells the ops apart (op->member). */
struct rope_op {
	enum tcb_kv kv;
};
static inline enum tcb_kv rope_kv(const struct tcb_problem *problem)
{
	return ((const struct rope_op *)problem->op->member)->kv;
}
/* Of qkv, and of q that is written. */
static inline enum tcb_type rope_io_type(const struct tcb_problem *problem)
{
	return tcb_kv_io_type(rope_kv(problem), problem->contract);
}
static inline enum tcb_type rope_q_type(const struct tcb_problem *problem)
{
	const enum tcb_kv kv = rope_kv(problem);
	return tcb_kv_has_blocks(kv) ? rope_io_type(problem) : tcb_kv_row(kv)->type;
}

/* New tokens of all sequences; heads of a row of qkv. */
static inline size_t rope_tokens(const struct tcb_shape *shape)
{
	return shape->words.sequences * shape->m;
}
static inline size_t rope_row_heads(const struct tcb_shape *shape)
{
	return (size_t)shape->words.query + 2 * (size_t)shape->words.kv;
}
/* Written of a new token. */
static inline size_t rope_token_bytes(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	return s->words.query * s->k * tcb_type_bytes(rope_q_type(problem)) +
	       tcb_kv_bytes(rope_kv(problem), 2 * s->words.kv * s->k);
}
#endif
