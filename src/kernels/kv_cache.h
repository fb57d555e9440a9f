/* SPDX-License-Identifier: MIT
 *
 * KV caches: where a token is and how many values there are, for the ops that read or
 * write them (attention, rope_append).  A shape comes in whose n is the tokens that each
 * sequence has memory for, with TCB_KV_WORDS.
 *
 * K and V are rows of all KV heads of a token, side by side: contiguous, [sequences][n],
 * or with page size P in pages of P tokens, page table[sequence][t / P] for token t;
 * entries past a length are no pages and are not read.
 *
 * Values are of one of the types of TCB_KV_LIST; blocks are along the head.
 */
#ifndef TCB_KERNELS_KV_CACHE_H
#define TCB_KERNELS_KV_CACHE_H

#include "base/util.h"
#include "kernels/formats.h"
#include "kernels/op.h"

/* What every op with a KV cache takes. */
enum {
	TCB_KV_WORDS = 1u << TCB_WORD_QUERY | 1u << TCB_WORD_KV | 1u << TCB_WORD_SEQUENCES | 1u << TCB_WORD_PAGE |
		       1u << TCB_WORD_RAGGED
};

/*
 * X(word, TYPE, IO, text, ...): what values of K and V may be.  The word is part of the names of ops and kernels, IO
 * the type of q and out under contract f16.
 */
#define TCB_KV_LIST(X, ...)                                                   \
	X(f16, TCB_TYPE_F16, TCB_TYPE_F16, "an f16 KV cache", __VA_ARGS__)    \
	X(bf16, TCB_TYPE_BF16, TCB_TYPE_BF16, "a bf16 KV cache", __VA_ARGS__) \
	X(q80, TCB_TYPE_BLOCKS, TCB_TYPE_F16, "a KV cache of Q8_0 blocks", __VA_ARGS__)

#define TCB_KV_FORMAT TCB_FORMAT_Q8_0 /* of blocks */
const char *tcb_kv_word(enum tcb_type kv);

/* Pages of one sequence in the table; 0: contiguous. */
static inline size_t tcb_kv_pages(const struct tcb_shape *shape)
{
	return shape->words.page ? (shape->n + shape->words.page - 1) / shape->words.page : 0;
}
/* Tokens that K, and V, have memory for. */
static inline size_t tcb_kv_tokens(const struct tcb_shape *shape)
{
	return shape->words.sequences * (shape->words.page ? tcb_kv_pages(shape) * shape->words.page : shape->n);
}
/* Where token T of SEQUENCE is in K and V, in tokens. */
static inline size_t tcb_kv_token(const struct tcb_shape *shape, const int32_t *table, size_t sequence, size_t t)
{
	const size_t page = shape->words.page;
	if (!page)
		return sequence * shape->n + t;
	return (size_t)table[sequence * tcb_kv_pages(shape) + t / page] * page + t % page;
}

/* What the blocks of a cache of blocks are; of other caches NULL. */
static inline const struct tcb_format *tcb_kv_format(enum tcb_type kv)
{
	return kv == TCB_TYPE_BLOCKS ? tcb_format_row(TCB_FORMAT_Q8_0) : NULL;
}

/* Bytes of COUNT values; whole blocks. */
static inline size_t tcb_kv_bytes(enum tcb_type kv, size_t count)
{
	const struct tcb_format *blocks = tcb_format_row(TCB_KV_FORMAT);
	return kv == TCB_TYPE_BLOCKS ? count / blocks->block_values * blocks->block_bytes : count * tcb_type_bytes(kv);
}
/* COUNT of them as floats, and back; whole blocks. */
void tcb_kv_to_f32(enum tcb_type kv, const void *from, size_t count, float *out);
void tcb_kv_from_f32(enum tcb_type kv, const float *values, size_t count, void *out);

/* The length of SEQUENCE in test data and in measurements: n, or with ragged n, n (b - 1) / b, ...; from four
 * sequences on the last but one has one token and the last none. */
size_t tcb_kv_length(const struct tcb_shape *shape, size_t sequence);
/* The lengths of all sequences, and with pages a table of them in a random order. */
void tcb_kv_fill(const struct tcb_shape *shape, struct tcb_rng *rng, int32_t *lengths, int32_t *table);

#endif
