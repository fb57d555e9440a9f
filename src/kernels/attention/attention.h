/* SPDX-License-Identifier: MIT
 *
 * Attention, forward: what the files of attention_decode_* and attention_prefill_*
 * share.  Of shape m x n x k with words (struct tcb_heads): each of the sequences
 * has m query tokens, the last m of its length, and up to n KV tokens; heads are of
 * k values; query heads h * group to h * group + group - 1 read KV head h.
 *
 *     s[t] = q . K[t] / sqrt(k);  with a cap c: c * tanh(s / c)
 *     out  = sum over visible t of exp(s[t] - max s) * V[t] / sum of exp(s[t] - max s)
 *
 * Query token i of a sequence of length L is its token p = L - m + i.  It sees tokens
 * t < L; with causal, t <= p; with a window w, t > p - w.  Who sees none, or scores of
 * -inf only, gets zeros.  A NaN in a visible row, or an infinity in V, makes NaN of
 * any result of that sequence and KV head; what no query sees does not matter.
 *
 * K and V are rows of all KV heads of a token, side by side: contiguous, [sequences][n],
 * or with page size P in pages of P tokens, page table[sequence][t / P] for token t;
 * entries past a length are not read.
 *
 * q8_0: K and V in ggml's blocks of 32 values along the head (formats.h).
 *
 * Contract f32: q and out are f32, and so is all arithmetic.  Contract f16: q and out
 * have K's type, of q8_0 f16, and the weights exp(s - max) are rounded to it; sums are
 * in f32.
 * Online softmax: Milakov, Gimelshein 2018; splits of KV: Dao et al. 2023.
 */
#ifndef TCB_KERNELS_ATTENTION_H
#define TCB_KERNELS_ATTENTION_H

#include "kernels/formats.h"
#include "kernels/op.h"

/* ATTENTION_TABLE: with pages only. */
enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_LENGTHS, ATTENTION_OUT, ATTENTION_TABLE };
enum { ATTENTION_HEAD_UNIT = 32, ATTENTION_HEAD_MAX = 256, ATTENTION_DECODE_TOKENS_MAX = 32 };

/* What tells the ops apart (op->member).  kv: of K and V; TCB_TYPE_BLOCKS: of q8_0. */
struct attention_op {
	int is_prefill;
	enum tcb_type kv;
};
static inline const struct attention_op *attention_of(const struct tcb_problem *problem)
{
	return problem->op->member;
}
/* Of q and out. */
static inline enum tcb_type attention_io_type(const struct tcb_problem *problem)
{
	const enum tcb_type kv = attention_of(problem)->kv;
	if (problem->contract != TCB_CONTRACT_F16)
		return TCB_TYPE_F32;
	return kv == TCB_TYPE_BLOCKS ? TCB_TYPE_F16 : kv;
}

/* Bytes of COUNT values of K or V; whole blocks. */
static inline size_t attention_kv_bytes(enum tcb_type kv, size_t count)
{
	const struct tcb_format *blocks = tcb_format_row(TCB_FORMAT_Q8_0);
	return kv == TCB_TYPE_BLOCKS ? count / blocks->block_values * blocks->block_bytes : count * tcb_type_bytes(kv);
}
/* attention.c: COUNT of them as floats, and back; whole blocks. */
void attention_kv_to_f32(enum tcb_type kv, const void *from, size_t count, float *out);
void attention_kv_from_f32(enum tcb_type kv, const float *values, size_t count, void *out);

static inline size_t attention_group(const struct tcb_shape *shape)
{
	return shape->heads.query / shape->heads.kv;
}
/* Pages of one sequence in the table; 0: contiguous. */
static inline size_t attention_pages(const struct tcb_shape *shape)
{
	return shape->heads.page ? (shape->n + shape->heads.page - 1) / shape->heads.page : 0;
}
/* KV tokens that K and V have memory for. */
static inline size_t attention_kv_tokens(const struct tcb_shape *shape)
{
	return shape->heads.sequences * (shape->heads.page ? attention_pages(shape) * shape->heads.page : shape->n);
}
/* Where token T of SEQUENCE is in K and V, in tokens. */
static inline size_t attention_token(const struct tcb_shape *shape, const int32_t *table, size_t sequence, size_t t)
{
	const size_t page = shape->heads.page;
	if (!page)
		return sequence * shape->n + t;
	return (size_t)table[sequence * attention_pages(shape) + t / page] * page + t % page;
}

/* KV tokens that query token I of a sequence of LENGTH sees: *FROM <= t < *TO. */
static inline void attention_visible(const struct tcb_shape *shape, size_t length, size_t i, size_t *from, size_t *to)
{
	const ptrdiff_t end = (ptrdiff_t)length - (ptrdiff_t)shape->m + (ptrdiff_t)i + 1;
	const ptrdiff_t begin = shape->heads.window ? end - (ptrdiff_t)shape->heads.window : 0;
	*to = shape->heads.causal ? (end > 0 ? (size_t)end : 0) : length;
	*from = begin > 0 ? (size_t)begin : 0;
	if (*from > *to)
		*from = *to;
}

/* attention.c: the length of SEQUENCE in test data and in measurements: n, or with ragged n, n (b - 1) / b, ...; from
 * four sequences on the last but one has one token and the last none. */
size_t attention_length(const struct tcb_shape *shape, size_t sequence);

/* attention_reference.c */
void attention_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out);

#endif
