/* SPDX-License-Identifier: MIT
 *
 * The micro-kernel of attention_decode_bf16 under contract f16 on CPUs that multiply
 * pairs of bf16, in vector operations; what attention_kernels.c does with floats.
 *
 * Scores: a unit of a token's K is a vector; LANES sums, of ROWS query rows by
 * LANES / ROWS tokens, are in registers and are added up to one vector of results.
 * Values: rows of V of two tokens are interleaved, and multiplied by the pair of their weights.
 */
#include "kernels/attention/attention_ahead.h"
#include "kernels/attention/attention_bf16.h"

enum {
	TOKENS_TOGETHER = 16, /* attention_kernels.c */
	WHOLE = 4,            /* units: as many of a head's are added up in whole passes for any number of rows */
};

/* --- scores --- */

/* ROWS rows from FIRST on. */
SIMD_BODY void score_rows(const struct attention_call *call, const int rows, const struct head *head, size_t first,
			  struct ahead *ahead)
{
	const int tokens = LANES / rows;
	const vfloat rest = v_set(rest_of(call));
	const size_t whole = call->k / UNIT * UNIT;
	for (size_t t = 0; t < call->tokens; t += (size_t)tokens) {
		const uint16_t *q = (const uint16_t *)(const void *)head->q + first * UNIT;
		const char *k[LANES];
		vfloat sum[LANES];
		float result[LANES];
		SIMD_FOR (int j = 0; j < tokens; j++)
			k[j] = (const char *)call->k_rows[t + (size_t)j] + head->at;
		SIMD_FOR (int i = 0; i < LANES; i++)
			sum[i] = v_set(0);
		for (size_t at = 0; at < whole; at += UNIT) {
			vint of_q[8];
			if (first == 0)
				fetch(ahead, tokens * UNIT_BYTES / LINE);
			SIMD_ADDRESS(q);
			SIMD_FOR (int r = 0; r < rows; r++)
				of_q[r] = vi_load(q + r * UNIT);
			SIMD_FOR (int j = 0; j < tokens; j++) {
				const vint of_k = vi_load(k[j]);
				SIMD_FOR (int r = 0; r < rows; r++)
					sum[r * tokens + j] = v_dot_bf16(sum[r * tokens + j], of_q[r], of_k);
				k[j] += UNIT_BYTES;
				SIMD_ADDRESS(k[j]);
			}
			q += head->rows * UNIT;
		}
		SIMD_FOR (int j = 0; j < tokens; j++)
			if (whole < call->k) {
				const vint of_k = load_unit(k[j], call->k - whole);
				SIMD_FOR (int r = 0; r < rows; r++)
					sum[r * tokens + j] =
						v_dot_bf16(sum[r * tokens + j], vi_load(q + r * UNIT), of_k);
			}
		v_store(result, v_mul(v_reduce_each(sum), rest));
		SIMD_FOR (int r = 0; r < rows; r++)
			memcpy(head->scores + (first + (size_t)r) * ATTENTION_DECODE_LEAD + t, result + r * tokens,
			       (size_t)tokens * sizeof(float));
	}
}

SIMD_INLINE void scores(const struct attention_call *call, const struct head *head, struct ahead *ahead)
{
	size_t r = 0;
	for (; r + 8 <= head->rows; r += 8)
		score_rows(call, 8, head, r, ahead);
	for (; r + 4 <= head->rows; r += 4)
		score_rows(call, 4, head, r, ahead);
	for (; r + 2 <= head->rows; r += 2)
		score_rows(call, 2, head, r, ahead);
	for (; r < head->rows; r++)
		score_rows(call, 1, head, r, ahead);
}

/* --- values --- */

/* ROWS rows from FIRST on, UNITS units of the head from AT on, or one of LEFT values, tokens BEGIN to END - 1, of which
 * there are two or a last one: its weight's neighbour is 0. */
SIMD_BODY void add_values(const struct attention_call *call, const int rows, const int units, const size_t left,
			  const struct head *head, size_t first, size_t at, size_t begin, size_t end,
			  struct ahead *ahead)
{
	vfloat sum[8][8];
	float *o = head->o + first * call->o_lead + at;
	const int16_t *p = (const int16_t *)(const void *)(head->scores + first * ATTENTION_DECODE_LEAD);
	const size_t from = head->at + 2 * at;
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < units * UNIT_VECTORS; v++)
			sum[r][v] = v_load(o + (size_t)r * call->o_lead + (size_t)v * LANES);
	for (size_t t = begin; t < end; t += 2) {
		const char *even = (const char *)call->v_rows[t] + from,
			   *odd = (const char *)call->v_rows[t + 1] + from;
		const int16_t *weight = p + t;
		vint both[8];
		SIMD_ADDRESS(even);
		SIMD_ADDRESS(odd);
		SIMD_ADDRESS(weight);
		if (first == 0)
			fetch(ahead, 2 * units * UNIT_BYTES / LINE);
		SIMD_FOR (int r = 0; r < rows; r++)
			both[r] = vi_two_halves(weight + r * 2 * ATTENTION_DECODE_LEAD);
		SIMD_FOR (int u = 0; u < units; u++) {
			vint pair[UNIT_VECTORS];
			vi_interleave(load_unit(even + u * UNIT_BYTES, left), load_unit(odd + u * UNIT_BYTES, left),
				      pair);
			SIMD_FOR (int v = 0; v < UNIT_VECTORS; v++)
				SIMD_FOR (int r = 0; r < rows; r++)
					sum[r][u * UNIT_VECTORS + v] =
						v_dot_bf16(sum[r][u * UNIT_VECTORS + v], both[r], pair[v]);
		}
	}
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < units * UNIT_VECTORS; v++)
			v_store(o + (size_t)r * call->o_lead + (size_t)v * LANES, sum[r][v]);
}

/* Of the head, with ROWS rows: registers for sums; WHOLE is a multiple. */
SIMD_INLINE int units_of(const int rows)
{
	return rows < 2 ? 4 : 8 / rows;
}

SIMD_INLINE void values_of_rows(const struct attention_call *call, const int is_whole, const int rows,
				const struct head *head, size_t first, size_t begin, size_t end, struct ahead *ahead)
{
	const int units = units_of(rows);
	size_t at = 0;
	for (; at + (size_t)units * UNIT <= call->v; at += (size_t)units * UNIT)
		add_values(call, rows, units, UNIT, head, first, at, begin, end, ahead);
	if (is_whole)
		return;
	for (; units > 2 && at + 2 * UNIT <= call->v; at += 2 * UNIT)
		add_values(call, rows, 2, UNIT, head, first, at, begin, end, ahead);
	for (; at + UNIT <= call->v; at += UNIT)
		add_values(call, rows, 1, UNIT, head, first, at, begin, end, ahead);
	if (at < call->v)
		add_values(call, rows, 1, call->v - at, head, first, at, begin, end, ahead);
}

SIMD_INLINE void values(const struct attention_call *call, const int is_whole, const struct head *head, size_t begin,
			size_t end, struct ahead *ahead)
{
	size_t r = 0;
	for (; r + 8 <= head->rows; r += 8)
		values_of_rows(call, is_whole, 8, head, r, begin, end, ahead);
	for (; r + 4 <= head->rows; r += 4)
		values_of_rows(call, is_whole, 4, head, r, begin, end, ahead);
	for (; r + 2 <= head->rows; r += 2)
		values_of_rows(call, is_whole, 2, head, r, begin, end, ahead);
	for (; r < head->rows; r++)
		values_of_rows(call, is_whole, 1, head, r, begin, end, ahead);
}

/* --- a tile --- */

SIMD_INLINE void tile(const struct attention_call *call, const int is_whole)
{
	struct ahead ahead = ahead_of(call, call->k_apart, call->k_ahead);
	for (size_t h = 0; h < call->heads; h++) {
		const struct head head = head_of(call, h, call->k_apart);
		scores(call, &head, &ahead);
	}
	for (size_t r = 0; r < call->rows; r += LANES)
		weigh_rows(call, r, call->rows - r < LANES ? call->rows - r : LANES, 1, 1);
	ahead = ahead_of(call, call->v_apart, call->v_ahead);
	for (size_t t = 0; t < call->tokens; t += TOKENS_TOGETHER) {
		const size_t end = t + TOKENS_TOGETHER < call->tokens ? t + TOKENS_TOGETHER : call->tokens;
		for (size_t h = 0; h < call->heads; h++) {
			const struct head head = head_of(call, h, call->v_apart);
			values(call, is_whole, &head, t, end, &ahead);
		}
	}
}

static __attribute__((noinline)) void SIMD_NAME(part_bf16)(const struct attention_call *call)
{
	tile(call, 0);
}

static void SIMD_NAME(attention_bf16_half)(const struct attention_call *call)
{
	const unsigned before = v_flush_begin();
	if (call->stage != ATTENTION_TILE)
		around_tiles_bf16(call, 1);
	else if (call->v % (WHOLE * UNIT) == 0)
		tile(call, 1);
	else
		SIMD_NAME(part_bf16)(call);
	v_flush_end(before);
}

const struct tcb_variant SIMD_NAME(attention_decode_bf16_half_variants)[] = {
	ATTENTION_ROW(decode_bf16, TCB_CONTRACT_F16, "half", 1, LANES, SIMD_NAME(attention_bf16_half)){ .name = NULL },
};
