/* SPDX-License-Identifier: MIT
 *
 * Register tiles of attention_decode for families with 16 registers of LANES = 8
 * floats, and K and V of 16 bits: twelve sums, or twelve weights, of ROWS query rows
 * by 12 / ROWS tokens.  Beside one vector of q, or of o, and a vector of each token they
 * are all registers; a vector of q or o is loaded, and one of o stored, for all of these
 * tokens, where eight would take as many loads as products.  Sums of a row and token are
 * added up in the same order as in attention_kernels.c.
 */
#ifndef TCB_KERNELS_ATTENTION_TWELVE_H
#define TCB_KERNELS_ATTENTION_TWELVE_H

#include "kernels/attention/attention_ahead.h"

/* Whether these tiles go over KIND: of three query rows of a KV head and more, and whole blocks of heads; scores are of
 * long enough ones that adding up sums costs little. */
SIMD_INLINE int has_twelve(const struct attention_call *call, const int kind, const int is_v)
{
	const size_t values = is_v ? call->v : call->k;
	return LANES == 8 && (kind == TCB_KV_KIND_F16 || kind == TCB_KV_KIND_BF16) && call->head_rows >= 3 &&
	       values % ATTENTION_BLOCK == 0 && (is_v || values >= 3 * ATTENTION_BLOCK);
}

#if LANES == 8

enum { TWELVE = 12 };

/* COUNT tokens' rows, and how far from these what is asked for meanwhile is; AHEAD may be NULL. */
SIMD_INLINE void find_tokens(const void *const *rows, const void *const *ahead, const int count, const char *out[],
			     ptrdiff_t apart[])
{
	SIMD_FOR (int j = 0; j < count; j++) {
		out[j] = rows[j];
		apart[j] = ahead ? (const char *)ahead[j] - (const char *)rows[j] : 0;
	}
}

/* One vector of q of each row by one of each token. */
SIMD_INLINE void score_vector(const int kind, const int rows, const int tokens, const char *const k[], size_t at,
			      const float *q, vfloat sum[TWELVE])
{
	vfloat value[TWELVE];
	SIMD_FOR (int j = 0; j < tokens; j++)
		value[j] = load_kv(kind, k[j], at);
	SIMD_FOR (int r = 0; r < rows; r++) {
		const vfloat of_q = v_load(q + r * LANES);
		SIMD_FOR (int j = 0; j < tokens; j++)
			sum[r * tokens + j] = v_fma_into(sum[r * tokens + j], of_q, value[j]);
	}
}

/* Sums of ROWS rows by TOKENS tokens, added up, to OUT and where other rows' are. */
SIMD_INLINE void store_scores(const int rows, const int tokens, vfloat sum[16], float *out)
{
	float result[16];
	SIMD_FOR (int i = rows * tokens; i < 16; i++)
		sum[i] = v_set(0);
	SIMD_FOR (int i = 0; i + LANES <= rows * tokens; i += LANES)
		v_store(result + i, v_reduce_each(sum + i));
	SIMD_FOR (int i = rows * tokens / LANES * LANES; i < rows * tokens; i += 4)
		v_reduce_four(sum + i, result + i);
	SIMD_FOR (int r = 0; r < rows; r++)
		memcpy(out + r * ATTENTION_DECODE_LEAD, result + r * tokens, (size_t)tokens * sizeof(float));
}

/* Scores of ROWS rows of each head from its row FIRST on by TOKENS tokens from T on. */
SIMD_BODY void score_twelve(const struct attention_call *call, const int kind, const int rows, const int tokens,
			    size_t t, size_t first)
{
	const size_t head_rows = call->head_rows, units = call->k / ATTENTION_BLOCK * ATTENTION_BLOCK;
	const size_t q_apart = head_rows * LANES;
	const int asks = first == 0 && call->k_ahead;
	const char *k[TWELVE];
	ptrdiff_t ahead[TWELVE];
	find_tokens(call->k_rows + t, call->k_ahead ? call->k_ahead + t : NULL, tokens, k, ahead);
	for (size_t h = 0; h < call->heads; h++) {
		const float *q = call->q + h * head_rows * call->q_lead + first * LANES;
		vfloat sum[16];
		size_t at = 0;
		SIMD_FOR (int i = 0; i < rows * tokens; i++)
			sum[i] = v_set(0);
		for (; at < units; at += ATTENTION_BLOCK) {
			if (asks)
				SIMD_FOR (int j = 0; j < tokens; j++)
					__builtin_prefetch(k[j] + ahead[j], 0, 3);
			SIMD_FOR (size_t v = 0; v < ATTENTION_BLOCK; v += LANES) {
				SIMD_ADDRESS(q);
				score_vector(kind, rows, tokens, k, v, q, sum);
				q += q_apart;
			}
			SIMD_FOR (int j = 0; j < tokens; j++) {
				k[j] += kv_bytes(kind, ATTENTION_BLOCK);
				SIMD_ADDRESS(k[j]);
			}
		}
		for (; at < call->k; at += LANES, q += q_apart) {
			score_vector(kind, rows, tokens, k, 0, q, sum);
			SIMD_FOR (int j = 0; j < tokens; j++)
				k[j] += kv_bytes(kind, LANES);
		}
		store_scores(rows, tokens, sum, call->scores + (h * head_rows + first) * ATTENTION_DECODE_LEAD + t);
	}
}

/* A vector of each token by its weights, added to one of o of each row. */
SIMD_INLINE void value_vector(const int kind, const int rows, const int tokens, const char *const row[], size_t at,
			      const vfloat weight[TWELVE], float *o, size_t o_lead)
{
	vfloat value[TWELVE];
	SIMD_FOR (int j = 0; j < tokens; j++)
		value[j] = load_kv(kind, row[j], at);
	SIMD_FOR (int r = 0; r < rows; r++) {
		vfloat sum = v_load(o + (size_t)r * o_lead);
		SIMD_FOR (int j = 0; j < tokens; j++)
			sum = v_fma_into(sum, weight[r * tokens + j], value[j]);
		v_store(o + (size_t)r * o_lead, sum);
	}
}

/* Values of TOKENS tokens from T on, by weights of ROWS rows of each head from its row FIRST on. */
SIMD_BODY void add_twelve(const struct attention_call *call, const int kind, const int rows, const int tokens, size_t t,
			  size_t first)
{
	const size_t head_rows = call->head_rows, units = call->v / ATTENTION_BLOCK * ATTENTION_BLOCK;
	const size_t past = call->v_apart - kv_bytes(kind, call->v), o_lead = call->o_lead;
	const int asks = first == 0 && call->v_ahead;
	const float *p = call->scores + first * ATTENTION_DECODE_LEAD + t;
	float *head_o = call->o + first * o_lead;
	const char *row[TWELVE];
	ptrdiff_t ahead[TWELVE];
	find_tokens(call->v_rows + t, call->v_ahead ? call->v_ahead + t : NULL, tokens, row, ahead);
	for (size_t h = 0; h < call->heads; h++) {
		vfloat weight[TWELVE];
		float *o = head_o;
		size_t at = 0;
		SIMD_FOR (int i = 0; i < rows * tokens; i++)
			weight[i] = v_set(p[i / tokens * ATTENTION_DECODE_LEAD + i % tokens]);
		for (; at < units; at += ATTENTION_BLOCK) {
			if (asks)
				SIMD_FOR (int j = 0; j < tokens; j++)
					__builtin_prefetch(row[j] + ahead[j], 0, 3);
			SIMD_FOR (size_t v = 0; v < ATTENTION_BLOCK; v += LANES)
				value_vector(kind, rows, tokens, row, v, weight, o + v, o_lead);
			SIMD_FOR (int j = 0; j < tokens; j++) {
				row[j] += kv_bytes(kind, ATTENTION_BLOCK);
				SIMD_ADDRESS(row[j]);
			}
			o += ATTENTION_BLOCK;
			SIMD_ADDRESS(o);
		}
		for (; at < call->v; at += LANES, o += LANES) {
			value_vector(kind, rows, tokens, row, 0, weight, o, o_lead);
			SIMD_FOR (int j = 0; j < tokens; j++)
				row[j] += kv_bytes(kind, LANES);
		}
		SIMD_FOR (int j = 0; j < tokens; j++)
			row[j] += past;
		head_o += head_rows * o_lead;
		p += head_rows * ATTENTION_DECODE_LEAD;
	}
}

/* Scores, or with IS_V values, of ROWS rows of each head from its row FIRST on by tokens BEGIN to END - 1, TOKENS at a
 * time and then one. */
SIMD_INLINE void twelve_of_rows(const struct attention_call *call, const int kind, const int is_v, const int rows,
				const int tokens, size_t first, size_t begin, size_t end)
{
	size_t t = begin;
	for (; t + (size_t)tokens <= end; t += (size_t)tokens)
		if (is_v)
			add_twelve(call, kind, rows, tokens, t, first);
		else
			score_twelve(call, kind, rows, tokens, t, first);
	for (; t < end; t++)
		if (is_v)
			add_twelve(call, kind, rows, 1, t, first);
		else
			score_twelve(call, kind, rows, 1, t, first);
}

/* As many tokens of all heads before the next as all rows take whole numbers of. */
SIMD_INLINE void all_twelve(const struct attention_call *call, const int kind, const int is_v)
{
	const size_t rows = call->head_rows, step = rows % 4 == 1 || rows % 4 == 2 ? 6 : 3;
	for (size_t t = 0; has_twelve(call, kind, is_v) && t < call->tokens; t += step) {
		const size_t end = t + step < call->tokens ? t + step : call->tokens;
		size_t r = 0;
		for (; r + 4 <= rows; r += 4)
			twelve_of_rows(call, kind, is_v, 4, 3, r, t, end);
		for (; r + 3 <= rows; r += 3)
			twelve_of_rows(call, kind, is_v, 3, 3, r, t, end);
		for (; r + 2 <= rows; r += 2)
			twelve_of_rows(call, kind, is_v, 2, 6, r, t, end);
		for (; r < rows; r++)
			twelve_of_rows(call, kind, is_v, 1, 6, r, t, end);
	}
}

#else

SIMD_INLINE void all_twelve(const struct attention_call *call, const int kind, const int is_v)
{
	(void)call, (void)kind, (void)is_v;
}

#endif
#endif
