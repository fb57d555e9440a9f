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
 * What values of K and of V may be is a line of TCB_KV_LIST; blocks are along the head.
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

/* X(KIND, TYPE, FORMAT): what values of K, or of V, may be; FORMAT is that of TCB_TYPE_BLOCKS. */
#define TCB_KV_KIND_LIST(X)                      \
	X(F16, TCB_TYPE_F16, TCB_FORMAT_COUNT)   \
	X(BF16, TCB_TYPE_BF16, TCB_FORMAT_COUNT) \
	X(Q80, TCB_TYPE_BLOCKS, TCB_FORMAT_Q8_0) \
	X(Q40, TCB_TYPE_BLOCKS, TCB_FORMAT_Q4_0) \
	X(FP8, TCB_TYPE_E4M3, TCB_FORMAT_COUNT)

/*
 * X(word, ID, K, V, IO, text, ...): the caches that there are, an op of each family a line.  The word is part of the
 * names of ops and kernels, K and V are kinds, IO the type of q and out under contract f16.  All kinds of device have
 * kernels for the first ones, CPUs and NVIDIA GPUs for the rest.
 */
/* clang-format off */
#define TCB_KV_ALL_LIST(X, ...) \
	X(f16, F16, F16, F16, TCB_TYPE_F16, "an f16 KV cache", __VA_ARGS__) \
	X(bf16, BF16, BF16, BF16, TCB_TYPE_BF16, "a bf16 KV cache", __VA_ARGS__) \
	X(q80, Q80, Q80, Q80, TCB_TYPE_F16, "a KV cache of Q8_0 blocks", __VA_ARGS__)
#define TCB_KV_CPU_LIST(X, ...) \
	X(q40, Q40, Q40, Q40, TCB_TYPE_F16, "a KV cache of Q4_0 blocks", __VA_ARGS__) \
	X(fp8, FP8, FP8, FP8, TCB_TYPE_F16, "a KV cache of FP8 (E4M3)", __VA_ARGS__) \
	X(q80q40, Q80Q40, Q80, Q40, TCB_TYPE_F16, "a cache of K in Q8_0 and V in Q4_0", __VA_ARGS__) \
	X(q80f16, Q80F16, Q80, F16, TCB_TYPE_F16, "a cache of K in Q8_0 and V in f16", __VA_ARGS__) \
	X(fp8q40, FP8Q40, FP8, Q40, TCB_TYPE_F16, "a cache of K in FP8 (E4M3) and V in Q4_0", __VA_ARGS__) \
	X(fp8f16, FP8F16, FP8, F16, TCB_TYPE_F16, "a cache of K in FP8 (E4M3) and V in f16", __VA_ARGS__)
#define TCB_KV_LIST(X, ...) TCB_KV_ALL_LIST(X, __VA_ARGS__) TCB_KV_CPU_LIST(X, __VA_ARGS__)
/* clang-format on */

#define TCB_KV_KIND_ID(kind, ...) TCB_KV_KIND_##kind,
enum tcb_kv_kind { TCB_KV_KIND_LIST(TCB_KV_KIND_ID) TCB_KV_KIND_COUNT };
#undef TCB_KV_KIND_ID
#define TCB_KV_ID(word, id, ...) TCB_KV_##id,
enum tcb_kv { TCB_KV_LIST(TCB_KV_ID, ) TCB_KV_COUNT };
#undef TCB_KV_ID

/* --- kinds of values; compilers see what the row of a constant says --- */

struct tcb_kv_kind_row {
	enum tcb_type type;
	enum tcb_format_id blocks; /* TCB_FORMAT_COUNT: there are none */
};
static inline const struct tcb_kv_kind_row *tcb_kv_kind_row(enum tcb_kv_kind kind)
{
#define TCB_KV_KIND_ROW(kind, type, format) { type, format },
	static const struct tcb_kv_kind_row rows[TCB_KV_KIND_COUNT] = { TCB_KV_KIND_LIST(TCB_KV_KIND_ROW) };
#undef TCB_KV_KIND_ROW
	return &rows[kind];
}
/* What their blocks are; of values without NULL. */
static inline const struct tcb_format *tcb_kv_kind_format(enum tcb_kv_kind kind)
{
	const struct tcb_kv_kind_row *row = tcb_kv_kind_row(kind);
	return row->type == TCB_TYPE_BLOCKS ? tcb_format_row(row->blocks) : NULL;
}
/* Is a value less than 16 bits? */
static inline int tcb_kv_kind_is_short(enum tcb_kv_kind kind)
{
	const enum tcb_type type = tcb_kv_kind_row(kind)->type;
	return type == TCB_TYPE_BLOCKS || type == TCB_TYPE_E4M3;
}
/* Bytes of COUNT values; whole blocks. */
static inline size_t tcb_kv_kind_bytes(enum tcb_kv_kind kind, size_t count)
{
	const struct tcb_format *blocks = tcb_kv_kind_format(kind);
	return blocks ? count / blocks->block_values * blocks->block_bytes
		      : count * tcb_type_bytes(tcb_kv_kind_row(kind)->type);
}
/* COUNT of them as floats, and back; whole blocks. */
void tcb_kv_kind_to_f32(enum tcb_kv_kind kind, const void *from, size_t count, float *out);
void tcb_kv_kind_from_f32(enum tcb_kv_kind kind, const float *values, size_t count, void *out);

/* --- caches --- */

struct tcb_kv_row {
	const char *word;
	enum tcb_kv_kind k, v;
	enum tcb_type io;          /* of q and out */
	enum tcb_type type;        /* K's, and of caches that all devices have kernels for V's */
	enum tcb_format_id blocks; /* TCB_FORMAT_COUNT: there are none */
};

static inline const struct tcb_kv_row *tcb_kv_row(enum tcb_kv kv)
{
#define TCB_KV_KIND_PARTS(kind, type, format) TCB_KV_TYPE_##kind = type, TCB_KV_BLOCKS_##kind = format,
	enum { TCB_KV_KIND_LIST(TCB_KV_KIND_PARTS) };
#define TCB_KV_ROW(word, id, k, v, io, ...) \
	{ #word,                            \
	  TCB_KV_KIND_##k,                  \
	  TCB_KV_KIND_##v,                  \
	  io,                               \
	  (enum tcb_type)TCB_KV_TYPE_##k,   \
	  (enum tcb_format_id)TCB_KV_BLOCKS_##k },
	static const struct tcb_kv_row rows[TCB_KV_COUNT] = { TCB_KV_LIST(TCB_KV_ROW, ) };
#undef TCB_KV_ROW
#undef TCB_KV_KIND_PARTS
	return &rows[kv];
}
/* Are K and V of one kind?  Then what follows is both's, else K's. */
static inline int tcb_kv_is_even(enum tcb_kv kv)
{
	return tcb_kv_row(kv)->k == tcb_kv_row(kv)->v;
}
static inline int tcb_kv_has_blocks(enum tcb_kv kv)
{
	return tcb_kv_row(kv)->type == TCB_TYPE_BLOCKS;
}
static inline const struct tcb_format *tcb_kv_format(enum tcb_kv kv)
{
	return tcb_kv_kind_format(tcb_kv_row(kv)->k);
}
static inline size_t tcb_kv_bytes(enum tcb_kv kv, size_t count)
{
	return tcb_kv_kind_bytes(tcb_kv_row(kv)->k, count);
}
static inline void tcb_kv_to_f32(enum tcb_kv kv, const void *from, size_t count, float *out)
{
	tcb_kv_kind_to_f32(tcb_kv_row(kv)->k, from, count, out);
}
static inline void tcb_kv_from_f32(enum tcb_kv kv, const float *values, size_t count, void *out)
{
	tcb_kv_kind_from_f32(tcb_kv_row(kv)->k, values, count, out);
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

/* The length of SEQUENCE in test data and in measurements: n, or with ragged n, n (b - 1) / b, ...; from four
 * sequences on the last but one has one token and the last none. */
size_t tcb_kv_length(const struct tcb_shape *shape, size_t sequence);
/* The lengths of all sequences, and with pages a table of them in a random order. */
void tcb_kv_fill(const struct tcb_shape *shape, struct tcb_rng *rng, int32_t *lengths, int32_t *table);

#endif
