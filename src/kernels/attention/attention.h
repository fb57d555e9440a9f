/* SPDX-License-Identifier: MIT
 *
 * Attention, forward: what the files of attention_decode_* and attention_prefill_*
 * share.  Of shape m x n x k with words (shape_words.h): each of the sequences
 * has m query tokens, the last m of its length, and up to n KV tokens; heads of q and K
 * are of k values, those of V and out of v; query heads h * group to h * group + group - 1
 * read KV head h.
 *
 *     s[t] = q . K[t] / sqrt(k);  with a cap c: c * tanh(s / c);  with ALiBi: less slope * |p - t|
 *     out  = sum over visible t of exp(s[t] - max s) * V[t] / sum of exp(s[t] - max s)
 *
 * Query token i of a sequence of length L is its token p = L - m + i.  It sees tokens
 * t < L; with causal, t <= p or t < the sequence's prefix; with a window w, which is causal,
 * t > p - w.  Who sees none, or scores of -inf only, gets zeros.  A sink is one score more of its
 * query head, without a value: it counts in max s and in the sum below.
 * With vk V is the first v values of each head of K.  A NaN in a visible row, or an infinity in V, makes NaN of
 * any result of that sequence and KV head; what no query sees does not matter.
 *
 * Where K and V have a token, and what values they have, is kv_cache.h's.
 *
 * Contract f32: q and out are f32, and so is all arithmetic.  Contract f16: q and out
 * have K's type, of blocks f16, and the weights exp(s - max) are rounded to it; sums are
 * in f32.
 * Online softmax: Milakov, Gimelshein 2018; splits of KV: Dao et al. 2023; ALiBi: Press et al. 2022;
 * latent attention: DeepSeek-AI 2024 (V2); sinks: OpenAI 2025 (gpt-oss).
 */
#ifndef TCB_KERNELS_ATTENTION_H
#define TCB_KERNELS_ATTENTION_H

#include "kernels/kv_cache.h"

/* In this order, those that the shape's words ask for (attention_has): with vk there is no V. */
enum attention_operand {
	ATTENTION_Q,
	ATTENTION_K,
	ATTENTION_V,
	ATTENTION_LENGTHS,
	ATTENTION_OUT,
	ATTENTION_TABLE,  /* of pages */
	ATTENTION_SINKS,  /* a score of each query head, f32 */
	ATTENTION_SLOPES, /* ALiBi's, of each query head, f32 */
	ATTENTION_PREFIX, /* tokens of each sequence that all its queries see, i32 */
	ATTENTION_OPERANDS_MAX
};
enum {
	ATTENTION_HEAD_UNIT = 8, /* a head has a multiple of as many values */
	ATTENTION_BLOCK = 32,    /* where it is of blocks, of as many as one has */
	ATTENTION_HEAD_MAX = 576,
	ATTENTION_DECODE_TOKENS_MAX = 32
};

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
/* Of what kinds values of K and V are. */
static inline enum tcb_kv_kind attention_k_kind(const struct tcb_problem *problem)
{
	return tcb_kv_row(attention_of(problem)->kv)->k;
}
static inline enum tcb_kv_kind attention_v_kind(const struct tcb_problem *problem)
{
	return tcb_kv_row(attention_of(problem)->kv)->v;
}
/* Is a value of K, or of V, less than 16 bits? */
static inline int attention_has_codes(const struct tcb_problem *problem)
{
	return tcb_kv_kind_is_short(attention_k_kind(problem)) || tcb_kv_kind_is_short(attention_v_kind(problem));
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
static inline int attention_has(const struct tcb_words *words, enum attention_operand operand)
{
	return operand == ATTENTION_V        ? !words->view
	       : operand == ATTENTION_TABLE  ? words->page != 0
	       : operand == ATTENTION_SINKS  ? words->sinks != 0
	       : operand == ATTENTION_SLOPES ? words->alibi != 0
	       : operand == ATTENTION_PREFIX ? words->prefix != 0
					     : 1;
}
/* Which operand it is where there is one; of ATTENTION_OPERANDS_MAX how many there are. */
static inline size_t attention_at(const struct tcb_words *words, enum attention_operand operand)
{
	size_t at = 0;
	for (enum attention_operand before = 0; before < operand; before++)
		at += (size_t)attention_has(words, before);
	return at;
}
/* NULL: there is none. */
static inline void *attention_data(const struct tcb_words *words, void *const operand[], enum attention_operand which)
{
	return attention_has(words, which) ? operand[attention_at(words, which)] : NULL;
}
/* Values of a head of V and of out; and how far heads of V are apart, in values: with vk they are K's. */
static inline size_t attention_v(const struct tcb_shape *shape)
{
	return shape->words.values ? shape->words.values : shape->k;
}
static inline size_t attention_v_apart(const struct tcb_shape *shape)
{
	return shape->words.view ? shape->k : attention_v(shape);
}
/* From a token's row to the next, of q and of out, in elements. */
static inline size_t attention_q_apart(const struct tcb_problem *problem)
{
	return problem->x_stride ? problem->x_stride : problem->shape.words.query * problem->shape.k;
}
static inline size_t attention_out_apart(const struct tcb_problem *problem)
{
	return problem->y_stride ? problem->y_stride : problem->shape.words.query * attention_v(&problem->shape);
}
/* What lies between them, in bytes. */
static inline size_t attention_q_gap(const struct tcb_problem *problem)
{
	return (attention_q_apart(problem) - problem->shape.words.query * problem->shape.k) *
	       tcb_type_bytes(attention_io_type(problem));
}
static inline size_t attention_out_gap(const struct tcb_problem *problem)
{
	return (attention_out_apart(problem) - problem->shape.words.query * attention_v(&problem->shape)) *
	       tcb_type_bytes(attention_io_type(problem));
}
/* Where V is, whether K's or its own. */
static inline enum attention_operand attention_v_operand(const struct tcb_words *words)
{
	return words->view ? ATTENTION_K : ATTENTION_V;
}
/* The prefix of SEQUENCE; 0: there is none. */
static inline size_t attention_prefix(const struct tcb_words *words, void *const operand[], size_t sequence)
{
	const int32_t *prefix = attention_data(words, operand, ATTENTION_PREFIX);
	return prefix && prefix[sequence] > 0 ? (size_t)prefix[sequence] : 0;
}

/* KV tokens that query token I of a sequence of LENGTH with a PREFIX sees: *FROM <= t < *TO. */
static inline void attention_visible(const struct tcb_shape *shape, size_t length, size_t prefix, size_t i,
				     size_t *from, size_t *to)
{
	const ptrdiff_t end = (ptrdiff_t)length - (ptrdiff_t)shape->m + (ptrdiff_t)i + 1;
	const ptrdiff_t begin = shape->words.window ? end - (ptrdiff_t)shape->words.window : 0;
	const size_t shown = prefix < length ? prefix : length;
	*to = shape->words.causal ? (end > 0 ? (size_t)end : 0) : length;
	if (*to < shown)
		*to = shown;
	*from = begin > 0 ? (size_t)begin : 0;
	if (*from > *to)
		*from = *to;
}

/* As many as M query tokens at a sequence's end see together, prefix or not. */
static inline size_t attention_visible_most(const struct tcb_shape *shape)
{
	const size_t seen = shape->words.window + shape->m - 1;
	return shape->words.window && seen < shape->n ? seen : shape->n;
}

/* attention_ops.c: a rule (op.h) of those that take heads of 32 to 256 values in steps of 32, of V as of K, rows that
 * follow each other, and of the words of attention none that says more than what a query sees. */
const char *attention_rule_plain(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry);

/* attention_reference.c */
void attention_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);
size_t attention_drawn_columns(const struct tcb_problem *problem); /* those of a head come together */

#endif
