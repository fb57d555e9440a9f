/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of attention_decode on CPUs, written once in vector operations.
 *
 * Scores: LANES sums are in registers, of ROWS query rows by LANES / ROWS tokens;
 * they are added up to one vector of results.  Values: ROWS query rows by
 * a few vectors of the head are in registers while the tile's tokens go by.
 */
#include "kernels/attention/attention_ahead.h"

enum {
	ROWS_TOGETHER = LANES < 8 ? LANES : 8,
	FETCHES_OF_SCORES = 2, /* a unit of the head */
	/* Whose values are added up before another head's: rows of V lie apart by all heads, and more of them would
	 * fall into few sets of the first cache. */
	TOKENS_TOGETHER = 16,
	WHOLE = 8, /* vectors: as many of a head's are added up in whole passes for any number of rows */
};

/* --- scores --- */

/* ROWS rows from FIRST on.  q is [unit of the head][vector][row][lane], so that one address and constants find it. */
SIMD_INLINE void score_rows(const struct attention_call *call, const enum tcb_type type, const int rows,
			    const struct head *head, size_t first, struct ahead *ahead)
{
	enum { SUMS = LANES, VECTORS = ATTENTION_HEAD_UNIT / LANES };
	const int tokens = SUMS / rows;
	for (size_t t = 0; t < call->tokens; t += (size_t)tokens) {
		const float *q = head->q + first * LANES;
		const char *k[SUMS];
		vfloat sum[SUMS];
		float result[LANES];
		SIMD_UNROLL
		for (int j = 0; j < tokens; j++)
			k[j] = (const char *)call->k_rows[t + (size_t)j] + head->at;
		SIMD_UNROLL
		for (int i = 0; i < SUMS; i++)
			sum[i] = v_set(0);
		for (size_t at = 0; at < call->k; at += ATTENTION_HEAD_UNIT) {
			if (first == 0)
				fetch(call, ahead, FETCHES_OF_SCORES);
			SIMD_UNROLL
			for (int v = 0; v < VECTORS; v++) {
				SIMD_ADDRESS(q);
				SIMD_UNROLL
				for (int j = 0; j < tokens; j++) {
					const vfloat value = load_kv(type, k[j], (size_t)v * LANES);
					SIMD_UNROLL
					for (int r = 0; r < rows; r++)
						sum[r * tokens + j] =
							v_fma(v_load(q + r * LANES), value, sum[r * tokens + j]);
				}
				q += head->rows * LANES;
			}
			SIMD_UNROLL
			for (int j = 0; j < tokens; j++) {
				k[j] += tcb_kv_bytes(type, ATTENTION_HEAD_UNIT);
				SIMD_ADDRESS(k[j]);
			}
		}
		v_store(result, v_reduce_each(sum));
		SIMD_UNROLL
		for (int r = 0; r < rows; r++)
			memcpy(head->scores + (first + (size_t)r) * ATTENTION_DECODE_LEAD + t, result + r * tokens,
			       (size_t)tokens * sizeof(float));
	}
}

SIMD_INLINE void scores(const struct attention_call *call, const enum tcb_type type, const struct head *head,
			struct ahead *ahead)
{
	size_t r = 0;
	for (; ROWS_TOGETHER >= 8 && r + 8 <= head->rows; r += 8)
		score_rows(call, type, ROWS_TOGETHER >= 8 ? 8 : 1, head, r, ahead);
	for (; ROWS_TOGETHER >= 4 && r + 4 <= head->rows; r += 4)
		score_rows(call, type, ROWS_TOGETHER >= 4 ? 4 : 1, head, r, ahead);
	for (; ROWS_TOGETHER >= 2 && r + 2 <= head->rows; r += 2)
		score_rows(call, type, ROWS_TOGETHER >= 2 ? 2 : 1, head, r, ahead);
	for (; r < head->rows; r++)
		score_rows(call, type, 1, head, r, ahead);
}

/* --- values --- */

/* ROWS rows from FIRST on, VECTORS vectors of the head from AT on, tokens BEGIN to END - 1. */
SIMD_INLINE void add_values(const struct attention_call *call, const enum tcb_type type, const int rows,
			    const int vectors, const struct head *head, size_t first, size_t at, size_t begin,
			    size_t end, struct ahead *ahead)
{
	vfloat sum[8][8];
	float *o = head->o + first * call->k + at;
	const float *p = head->scores + first * ATTENTION_DECODE_LEAD;
	/* Constants below where all that is added up here begins with a block: compilers then keep one address. */
	const size_t within = vectors * LANES % ATTENTION_HEAD_UNIT ? at % ATTENTION_HEAD_UNIT : 0;
	const size_t from = head->at + tcb_kv_bytes(type, at - within);
	SIMD_UNROLL
	for (int r = 0; r < rows; r++)
		SIMD_UNROLL
	for (int v = 0; v < vectors; v++)
		sum[r][v] = v_load(o + (size_t)r * call->k + (size_t)v * LANES);
	for (size_t t = begin; t < end; t++) {
		const char *row = (const char *)call->v_rows[t] + from;
		const float *weight = p + t;
		SIMD_ADDRESS(row);
		SIMD_ADDRESS(weight);
		if (first == 0)
			fetch(call, ahead, 1);
		SIMD_UNROLL
		for (int v = 0; v < vectors; v++) {
			const vfloat value = load_kv(type, row, within + (size_t)v * LANES);
			SIMD_UNROLL
			for (int r = 0; r < rows; r++)
				sum[r][v] = v_fma(v_set(weight[r * ATTENTION_DECODE_LEAD]), value, sum[r][v]);
		}
	}
	SIMD_UNROLL
	for (int r = 0; r < rows; r++)
		SIMD_UNROLL
	for (int v = 0; v < vectors; v++)
		v_store(o + (size_t)r * call->k + (size_t)v * LANES, sum[r][v]);
}

/* Of the head, with ROWS rows: registers for sums; WHOLE is a multiple. */
SIMD_INLINE int vectors_of(const int rows)
{
	return LANES == 8 || rows < 2 ? 8 / rows : 16 / rows;
}

SIMD_INLINE void values_of_rows(const struct attention_call *call, const enum tcb_type type, const int is_whole,
				const int rows, const struct head *head, size_t first, size_t begin, size_t end,
				struct ahead *ahead)
{
	const int vectors = vectors_of(rows);
	size_t at = 0;
	for (; at + (size_t)vectors * LANES <= call->k; at += (size_t)vectors * LANES)
		add_values(call, type, rows, vectors, head, first, at, begin, end, ahead);
	if (is_whole)
		return;
	for (; vectors > 4 && at + 4 * LANES <= call->k; at += 4 * LANES)
		add_values(call, type, rows, 4, head, first, at, begin, end, ahead);
	for (; vectors > 2 && at + 2 * LANES <= call->k; at += 2 * LANES)
		add_values(call, type, rows, 2, head, first, at, begin, end, ahead);
	for (; at < call->k; at += LANES)
		add_values(call, type, rows, 1, head, first, at, begin, end, ahead);
}

SIMD_INLINE void values(const struct attention_call *call, const enum tcb_type type, const int is_whole,
			const struct head *head, size_t begin, size_t end, struct ahead *ahead)
{
	size_t r = 0;
	for (; r + 8 <= head->rows; r += 8)
		values_of_rows(call, type, is_whole, 8, head, r, begin, end, ahead);
	for (; r + 4 <= head->rows; r += 4)
		values_of_rows(call, type, is_whole, 4, head, r, begin, end, ahead);
	for (; r + 2 <= head->rows; r += 2)
		values_of_rows(call, type, is_whole, 2, head, r, begin, end, ahead);
	for (; r < head->rows; r++)
		values_of_rows(call, type, is_whole, 1, head, r, begin, end, ahead);
}

/* Of the first rows of a head those that are taken together. */
SIMD_INLINE size_t least_rows(const struct attention_call *call, size_t most)
{
	const size_t rows = call->head_rows >= 8 ? 8 : call->head_rows >= 4 ? 4 : call->head_rows >= 2 ? 2 : 1;
	return rows < most ? rows : most;
}

/* How often values_of_rows goes over the tokens. */
SIMD_INLINE size_t passes_of(const struct attention_call *call)
{
	const size_t vectors = (size_t)vectors_of((int)least_rows(call, 8)), all = call->k / LANES;
	return all / vectors + (size_t)__builtin_popcountll(all % vectors);
}

/* Scores of all heads before the first weights: these are long chains, and of many rows at a time. */
SIMD_INLINE void tile(const struct attention_call *call, const enum tcb_type type, const int is_whole)
{
	const size_t of_scores = (call->tokens * least_rows(call, ROWS_TOGETHER) + LANES - 1) / LANES *
				 FETCHES_OF_SCORES * (call->k / ATTENTION_HEAD_UNIT);
	const size_t of_values = call->tokens * passes_of(call);
	struct ahead ahead = ahead_of(call, type, call->heads * (of_scores + of_values));
	for (size_t h = 0; h < call->heads; h++) {
		const struct head head = head_of(call, type, h);
		scores(call, type, &head, &ahead);
	}
	for (size_t r = 0; r < call->rows; r += LANES)
		weigh_rows(call, r, call->rows - r < LANES ? call->rows - r : LANES, 0);
	for (size_t t = 0; t < call->tokens; t += TOKENS_TOGETHER) {
		const size_t end = t + TOKENS_TOGETHER < call->tokens ? t + TOKENS_TOGETHER : call->tokens;
		for (size_t h = 0; h < call->heads; h++) {
			const struct head head = head_of(call, type, h);
			values(call, type, is_whole, &head, t, end, &ahead);
		}
	}
}

/* Heads that are no whole number of what registers hold have a function of their own, whose many ways to go over V
 * leave others' registers alone. */
#define ATTENTION_KERNEL(kv, TYPE)                                                                    \
	static __attribute__((noinline)) void SIMD_NAME(part_##kv)(const struct attention_call *call) \
	{                                                                                             \
		tile(call, TYPE, 0);                                                                  \
	}                                                                                             \
	static void SIMD_NAME(attention_##kv)(const struct attention_call *call)                      \
	{                                                                                             \
		const unsigned before = v_flush_begin();                                              \
		if (call->stage == ATTENTION_TILE && call->k % (WHOLE * LANES) == 0)                  \
			tile(call, TYPE, 1);                                                          \
		else if (call->stage == ATTENTION_TILE)                                               \
			SIMD_NAME(part_##kv)(call);                                                   \
		else                                                                                  \
			around_tiles(call, 1);                                                        \
		v_flush_end(before);                                                                  \
	}
#define ATTENTION_TABLE(kv)                                                                              \
	const struct tcb_variant SIMD_NAME(attention_decode_##kv##_variants)[] = {                       \
		ATTENTION_ROW(decode_##kv, TCB_CONTRACT_F32, "f32", 1, LANES, SIMD_NAME(attention_##kv)) \
			ATTENTION_ROW(decode_##kv, TCB_CONTRACT_F16, "half", 1, LANES,                   \
				      SIMD_NAME(attention_##kv)){ .name = NULL },                        \
	};

ATTENTION_KERNEL(f16, TCB_TYPE_F16)
ATTENTION_KERNEL(bf16, TCB_TYPE_BF16)
ATTENTION_KERNEL(q80, TCB_TYPE_BLOCKS)
ATTENTION_TABLE(f16)
ATTENTION_TABLE(bf16)
ATTENTION_TABLE(q80)
