/* SPDX-License-Identifier: MIT
 *
 * Attention, forward: what the files of attention_decode_* and attention_prefill_*
 * share.  Of shape m x n x k with words (shape_words.h): each of the sequences
 * has m query tokens, the last m of its length, and up to n KV tokens; heads are of
 * k values; query heads h * group to h * group + group - 1 read KV head h.
 *
 *     s[t] = q . K[t] / sqrt(k);  with a cap c: c * tanh(s / c)
 *     out  = sum over visible t of exp(s[t] - max s) * V[t] / sum of exp(s[t] - max s)
 *
 * Query token i of a sequence of length L is its token p = L - m + i.  It sees tokens
 * t < L; with causal, t <= p; with a window w, which is causal, t > p - w.  Who sees none, or scores of
 * -inf only, gets zeros.  A NaN in a visible row, or an infinity in V, makes NaN of
 * any result of that sequence and KV head; what no query sees does not matter.
 *
 * Where K and V have a token, and what values they have, is kv_cache.h's.
 *
 * Contract f32: q and out are f32, and so is all arithmetic.  Contract f16: q and out
 * have K's type, of blocks f16, and the weights exp(s - max) are rounded to it; sums are
 * in f32.
 * Online softmax: Milakov, Gimelshein 2018; splits of KV: Dao et al. 2023.
 */
#ifndef TCB_KERNELS_ATTENTION_H
#define TCB_KERNELS_ATTENTION_H

#include "kernels/kv_cache.h"

/* ATTENTION_TABLE: with pages only. */
enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_LENGTHS, ATTENTION_OUT, ATTENTION_TABLE };
enum { ATTENTION_HEAD_UNIT = 32, ATTENTION_HEAD_MAX = 256, ATTENTION_DECODE_TOKENS_MAX = 32 };

/* What tells the ops apart (op->member). */
struct attention_op {
	enum tcb_kv kv;       /* of K and V */
	int multiplies_codes; /* contract f16, blocks: their codes by whole numbers; else they become f16 */
	size_t tokens_max;    /* query tokens of a sequence; 0: any number */
	const char *example;  /* a shape */
};
static inline const struct attention_op *attention_of(const struct tcb_problem *problem)
{
	return problem->op->member;
}
static inline int attention_has_blocks(const struct tcb_problem *problem)
{
	return tcb_kv_has_blocks(attention_of(problem)->kv);
}
/* Of q and out. */
static inline enum tcb_type attention_io_type(const struct tcb_problem *problem)
{
	return tcb_kv_io_type(attention_of(problem)->kv, problem->contract);
}

static inline size_t attention_group(const struct tcb_shape *shape)
{
	return shape->words.query / shape->words.kv;
}
/* KV tokens that query token I of a sequence of LENGTH sees: *FROM <= t < *TO. */
static inline void attention_visible(const struct tcb_shape *shape, size_t length, size_t i, size_t *from, size_t *to)
{
	const ptrdiff_t end = (ptrdiff_t)length - (ptrdiff_t)shape->m + (ptrdiff_t)i + 1;
	const ptrdiff_t begin = shape->words.window ? end - (ptrdiff_t)shape->words.window : 0;
	*to = shape->words.causal ? (end > 0 ? (size_t)end : 0) : length;
	*from = begin > 0 ? (size_t)begin : 0;
	if (*from > *to)
		*from = *to;
}

/* attention_reference.c */
void attention_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
size_t attention_drawn_columns(const struct tcb_problem *problem); /* those of a head come together */

#endif
