/* SPDX-License-Identifier: MIT
 *
 * rope_append: what a layer does between the product that makes q, k and v and
 * attention.  Of shape m x n x k with TCB_KV_WORDS, pairs, rot, qknorm, mrope and apart:
 * each sequence gets m new tokens, the last m of its length, and its KV cache has
 * memory for n; heads are of k values.  q and k of the new tokens are rotated
 * (rotary embedding), and k and v are appended to the cache.
 *
 * A head at position p is rotated in pairs of values j and j + r / 2 (NeoX), with the
 * word pairs 2 j and 2 j + 1 (GPT-J; ggml's "normal" order):
 *
 *     out[low]  = x[low] * cos - x[high] * sin
 *     out[high] = x[high] * cos + x[low] * sin
 *
 * with cos and sin of angle j from row p of an operand, [n][cos of r / 2 | sin of
 * r / 2] in f32, as engines keep them: how exact an angle is, is its maker's business, and
 * so are frequencies of a model's own and a factor of both cos and sin (YaRN).
 *
 * r is k, with the word rot its number: the first r values of a head are rotated, the rest
 * stays.  With qknorm, whose number is e, a head of q or k is first divided by
 * sqrt(mean of its squares + 10^-e) and multiplied by k weights, in f32, of which q's heads have
 * some and k's others; the squares' sum must be one that f32 has.  With mrope a new token has
 * three positions, in an operand of three rows, and angle j is that of the one which an
 * operand's element j (0, 1 or 2) says: where a token is in the cache they do not tell.
 *
 * qkv has a row for each new token: query heads, then K's, then V's; with apart it has the query heads, and K's and V's
 * are in rows of two operands more (with a stride, of all three, parts of the rows of one buffer), and q is written in
 * qkv's type, as attention of the same contract takes it.  New token i of a sequence of length L (with the new ones) is
 * its token p = L - m + i; below 0 there is none, and nothing of it is read or written.  The outputs are q, with a row
 * for each new token, and K and V of the cache, all as attention reads them (kv_cache.h).  What is not new stays as it
 * is.
 *
 * Arithmetic is in f32, results are rounded once to the cache's type.  Contract f32: qkv
 * is f32; contract f16: it has the cache's type, and V is copied bit by bit but for NaN.
 *
 * Any other cache: q has qkv's type, f32 or (contract f16) f16, as attention reads it.  Of
 * blocks heads are k / 32 each.  Of Q8_0 a block's scale is the largest magnitude over 127, of
 * Q4_0 the value that is the largest over -8, rounded to f16; its codes are the values over the
 * scale as it was before, rounded to the nearest (Q4_0: of two the one above, and 7 at most), as
 * ggml's are; of a block with a NaN or an infinity the scale is a NaN.  FP8 is E4M3 without a scale,
 * of two the even, and what is larger than 448, infinities too, becomes 448.
 */
#ifndef TCB_KERNELS_ROPE_H
#define TCB_KERNELS_ROPE_H

#include "kernels/kv_cache.h"

enum { ROPE_QKV, ROPE_ROTATION, ROPE_LENGTHS, ROPE_Q, ROPE_K, ROPE_V, ROPE_MORE };
/* Those from ROPE_MORE on, in this order, that the shape's words ask for: p, and two each qknorm, mrope and apart. */
enum rope_more {
	ROPE_TABLE,
	ROPE_Q_NORM,
	ROPE_K_NORM,
	ROPE_POSITIONS,
	ROPE_SECTIONS,
	ROPE_NEW_K,
	ROPE_NEW_V,
	ROPE_MORE_COUNT
};
enum { ROPE_HEAD_UNIT = 8, ROPE_HEAD_MAX = 576, ROPE_BLOCK = 32 /* values of a block */ };
enum { ROPE_POSITIONS_OF_TOKEN = 3 };

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
/* Of qkv. */
static inline enum tcb_type rope_io_type(const struct tcb_problem *problem)
{
	return tcb_kv_io_type(rope_kv(problem), problem->contract);
}
/* Are K's values, or V's, in blocks? */
static inline int rope_has_blocks(const struct tcb_problem *problem)
{
	const struct tcb_kv_row *row = tcb_kv_row(rope_kv(problem));
	return tcb_kv_kind_format(row->k) || tcb_kv_kind_format(row->v);
}
/* Whether K and V are the same 16 bits. */
static inline int rope_is_of_halves(const struct tcb_problem *problem)
{
	const struct tcb_kv_row *row = tcb_kv_row(rope_kv(problem));
	return row->k == row->v && (row->k == TCB_KV_KIND_F16 || row->k == TCB_KV_KIND_BF16);
}
/* As attention of the same contract takes it: with the word apart always, else where the cache is of other than halves.
 */
static inline enum tcb_type rope_q_type(const struct tcb_problem *problem)
{
	const int is_io = !rope_is_of_halves(problem) || problem->shape.words.apart;
	return is_io ? rope_io_type(problem) : tcb_kv_row(rope_kv(problem))->type;
}

static inline int rope_has(const struct tcb_words *words, enum rope_more operand)
{
	return operand == ROPE_TABLE      ? words->page != 0
	       : operand <= ROPE_K_NORM   ? words->qknorm != 0
	       : operand <= ROPE_SECTIONS ? words->mrope != 0
					  : words->apart != 0;
}
/* Which operand it is where there is one; of ROPE_MORE_COUNT how many there are. */
static inline size_t rope_operand(const struct tcb_words *words, enum rope_more operand)
{
	size_t at = ROPE_MORE;
	for (enum rope_more before = 0; before < operand; before++)
		at += (size_t)rope_has(words, before);
	return at;
}
/* NULL: there is none. */
static inline void *rope_data(const struct tcb_words *words, void *const operand[], enum rope_more which)
{
	return rope_has(words, which) ? operand[rope_operand(words, which)] : NULL;
}

/* Values of a head that are rotated: r. */
static inline size_t rope_rotated(const struct tcb_shape *shape)
{
	return shape->words.rotated ? shape->words.rotated : shape->k;
}
/* Roundings that a result goes through: two products and their sum; of a norm before that half of those of its sum of
 * squares, of which LANES values are added at a time and then these, the mean, an approximate root, and two products.
 */
static inline double rope_chain(const struct tcb_shape *shape, size_t lanes)
{
	const double lanes_tree = 6;
	return 3 + (shape->words.qknorm ? ((double)shape->k / (double)lanes + lanes_tree) / 2 + 6 : 0);
}

/* New tokens of all sequences; heads of one, of q, K and V. */
static inline size_t rope_tokens(const struct tcb_shape *shape)
{
	return shape->words.sequences * shape->m;
}
static inline size_t rope_row_heads(const struct tcb_shape *shape)
{
	return (size_t)shape->words.query + 2 * (size_t)shape->words.kv;
}
/* Heads of a row of qkv. */
static inline size_t rope_first_heads(const struct tcb_shape *shape)
{
	return shape->words.apart ? shape->words.query : rope_row_heads(shape);
}
/* From a new token's row to the next, in elements, where it has HEADS heads; and of q that is written. */
static inline size_t rope_new_apart(const struct tcb_problem *problem, size_t heads)
{
	return problem->x_stride ? problem->x_stride : heads * problem->shape.k;
}
static inline size_t rope_q_apart(const struct tcb_problem *problem)
{
	return problem->y_stride ? problem->y_stride : problem->shape.words.query * problem->shape.k;
}
/* The new tokens' heads in OPERAND: q's, K's and V's of token TOKEN. */
static inline void rope_new_heads(const struct tcb_problem *problem, void *const operand[], size_t token, char *out[3])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t each = tcb_type_bytes(rope_io_type(problem)), head = s->k * each;
	const size_t kv_apart = token * rope_new_apart(problem, s->words.kv) * each;
	out[0] = (char *)operand[ROPE_QKV] + token * rope_new_apart(problem, rope_first_heads(s)) * each;
	out[1] = out[0] + s->words.query * head;
	out[2] = out[1] + s->words.kv * head;
	if (s->words.apart) {
		out[1] = (char *)rope_data(&s->words, operand, ROPE_NEW_K) + kv_apart;
		out[2] = (char *)rope_data(&s->words, operand, ROPE_NEW_V) + kv_apart;
	}
}
/* Written of a new token. */
static inline size_t rope_token_bytes(const struct tcb_problem *problem)
{
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_kv_row *row = tcb_kv_row(rope_kv(problem));
	return s->words.query * s->k * tcb_type_bytes(rope_q_type(problem)) +
	       tcb_kv_kind_bytes(row->k, s->words.kv * s->k) + tcb_kv_kind_bytes(row->v, s->words.kv * s->k);
}
#endif
