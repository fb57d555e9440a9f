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
 * What values may be is a line of TCB_KV_LIST; blocks are along the head.
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
 * X(word, ID, TYPE, IO, FORMAT, text, ...): what values of K and V may be, an op of each family a line.  The word is
 * part of the names of ops and kernels, IO the type of q and out under contract f16, FORMAT that of TCB_TYPE_BLOCKS.
 */
/* clang-format off */
#define TCB_KV_LIST(X, ...) \
	X(f16, F16, TCB_TYPE_F16, TCB_TYPE_F16, TCB_FORMAT_COUNT, "an f16 KV cache", __VA_ARGS__) \
	X(bf16, BF16, TCB_TYPE_BF16, TCB_TYPE_BF16, TCB_FORMAT_COUNT, "a bf16 KV cache", __VA_ARGS__) \
	X(q80, Q80, TCB_TYPE_BLOCKS, TCB_TYPE_F16, TCB_FORMAT_Q8_0, "a KV cache of Q8_0 blocks", __VA_ARGS__)
/* clang-format on */

#define TCB_KV_ID(word, id, ...) TCB_KV_##id,
enum tcb_kv { TCB_KV_LIST(TCB_KV_ID, ) TCB_KV_COUNT };
#undef TCB_KV_ID

struct tcb_kv_row {
	const char *word;
	enum tcb_type type, io;
	enum tcb_format_id blocks; /* TCB_FORMAT_COUNT: there are none */
};

/* Compilers see what the row of a constant says. */
static inline const struct tcb_kv_row *tcb_kv_row(enum tcb_kv kv)
{
#define TCB_KV_ROW(word, id, type, io, format, ...) { #word, type, io, format },
	static const struct tcb_kv_row rows[TCB_KV_COUNT] = { TCB_KV_LIST(TCB_KV_ROW, ) };
#undef TCB_KV_ROW
	return &rows[kv];
}
static inline int tcb_kv_has_blocks(enum tcb_kv kv)
{
	return tcb_kv_row(kv)->type == TCB_TYPE_BLOCKS;
}
/* Of q and out, of what goes into a cache. */
static inline enum tcb_type tcb_kv_io_type(enum tcb_kv kv, enum tcb_contract contract)
{
	return contract == TCB_CONTRACT_F16 ? tcb_kv_row(kv)->io : TCB_TYPE_F32;
}

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
static inline const struct tcb_format *tcb_kv_format(enum tcb_kv kv)
{
	return tcb_kv_has_blocks(kv) ? tcb_format_row(tcb_kv_row(kv)->blocks) : NULL;
}

/* Bytes of COUNT values; whole blocks. */
static inline size_t tcb_kv_bytes(enum tcb_kv kv, size_t count)
{
	const struct tcb_format *blocks = tcb_kv_format(kv);
	return blocks ? count / blocks->block_values * blocks->block_bytes
		      : count * tcb_type_bytes(tcb_kv_row(kv)->type);
}
/* COUNT of them as floats, and back; whole blocks. */
void tcb_kv_to_f32(enum tcb_kv kv, const void *from, size_t count, float *out);
void tcb_kv_from_f32(enum tcb_kv kv, const float *values, size_t count, void *out);

/* The length of SEQUENCE in test data and in measurements: n, or with ragged n, n (b - 1) / b, ...; from four
 * sequences on the last but one has one token and the last none. */
size_t tcb_kv_length(const struct tcb_shape *shape, size_t sequence);
/* The lengths of all sequences, and with pages a table of them in a random order. */
void tcb_kv_fill(const struct tcb_shape *shape, struct tcb_rng *rng, int32_t *lengths, int32_t *table);

#endif
