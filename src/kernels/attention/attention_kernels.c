/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of attention_decode on CPUs, written once in vector operations.
 *
 * Scores: LANES sums are in registers, of ROWS query rows by LANES / ROWS tokens;
 * a transposition turns them into one vector of results.  Values: ROWS query rows by
 * a few vectors of the head are in registers while the tile's tokens go by.
 */
#include "kernels/attention/attention_micro.h"

enum { LINE = 64, ROWS_TOGETHER = LANES < 8 ? LANES : 8 };

/* Asks for all of a row. */
SIMD_INLINE void fetch(const struct attention_call *call, const enum tcb_type type, size_t token)
{
	const char *row = call->kv[token + call->ahead];
	for (size_t at = 0; at < attention_kv_bytes(type, call->k); at += LINE)
		__builtin_prefetch(row + at, 0, 3);
}

/* --- scores --- */

/* ROWS rows from FIRST on. */
SIMD_INLINE void score_rows(const struct attention_call *call, const enum tcb_type type, const int rows, size_t first)
{
	enum { SUMS = LANES };
	const int tokens = SUMS / rows;
	const float *q = call->q + first * call->k;
	for (size_t t = 0; t < call->tokens; t += (size_t)tokens) {
		vfloat sum[SUMS];
		float result[LANES];
		if (call->ahead && first == 0)
			for (int j = 0; j < tokens; j++)
				fetch(call, type, t + (size_t)j);
		SIMD_UNROLL
		for (int i = 0; i < SUMS; i++)
			sum[i] = v_set(0);
		for (size_t at = 0; at < call->k; at += LANES) {
			SIMD_UNROLL
			for (int j = 0; j < tokens; j++) {
				const vfloat k = load_kv(type, call->kv[t + (size_t)j], at);
				SIMD_UNROLL
				for (int r = 0; r < rows; r++)
					sum[r * tokens + j] =
						v_fma(v_load(q + (size_t)r * call->k + at), k, sum[r * tokens + j]);
			}
		}
#if LANES > 1
		v_transpose(sum);
#endif
		SIMD_UNROLL
		for (int i = SUMS / 2; i > 0; i /= 2)
			for (int j = 0; j < i; j++)
				sum[j] = v_add(sum[j], sum[j + i]);
		v_store(result, sum[0]);
		SIMD_UNROLL
		for (int r = 0; r < rows; r++)
			memcpy(call->scores + (first + (size_t)r) * call->lead + t, result + r * tokens,
			       (size_t)tokens * sizeof(float));
	}
}

SIMD_INLINE void scores(const struct attention_call *call, const enum tcb_type type)
{
	size_t r = 0;
	for (; ROWS_TOGETHER >= 8 && r + 8 <= call->rows; r += 8)
		score_rows(call, type, ROWS_TOGETHER >= 8 ? 8 : 1, r);
	for (; ROWS_TOGETHER >= 4 && r + 4 <= call->rows; r += 4)
		score_rows(call, type, ROWS_TOGETHER >= 4 ? 4 : 1, r);
	for (; ROWS_TOGETHER >= 2 && r + 2 <= call->rows; r += 2)
		score_rows(call, type, ROWS_TOGETHER >= 2 ? 2 : 1, r);
	for (; r < call->rows; r++)
		score_rows(call, type, 1, r);
}

/* --- values --- */

/* ROWS rows from FIRST on, VECTORS vectors of the head from AT on. */
SIMD_INLINE void add_values(const struct attention_call *call, const enum tcb_type type, const int rows,
			    const int vectors, size_t first, size_t at)
{
	vfloat sum[8][8];
	float *o = call->o + first * call->k + at;
	const float *p = call->scores + first * call->lead;
	SIMD_UNROLL
	for (int r = 0; r < rows; r++)
		SIMD_UNROLL
	for (int v = 0; v < vectors; v++)
		sum[r][v] = v_load(o + (size_t)r * call->k + (size_t)v * LANES);
	for (size_t t = 0; t < call->tokens; t++) {
		if (call->ahead && first == 0 && at == 0)
			fetch(call, type, t);
		SIMD_UNROLL
		for (int v = 0; v < vectors; v++) {
			const vfloat value = load_kv(type, call->kv[t], at + (size_t)v * LANES);
			SIMD_UNROLL
			for (int r = 0; r < rows; r++)
				sum[r][v] = v_fma(v_set(p[(size_t)r * call->lead + t]), value, sum[r][v]);
		}
	}
	SIMD_UNROLL
	for (int r = 0; r < rows; r++)
		SIMD_UNROLL
	for (int v = 0; v < vectors; v++)
		v_store(o + (size_t)r * call->k + (size_t)v * LANES, sum[r][v]);
}

SIMD_INLINE void values_of_rows(const struct attention_call *call, const enum tcb_type type, const int rows,
				size_t first)
{
	const int vectors = LANES == 8 || rows < 2 ? 8 / rows : 16 / rows; /* registers for sums */
	size_t at = 0;
	for (; at + (size_t)vectors * LANES <= call->k; at += (size_t)vectors * LANES)
		add_values(call, type, rows, vectors, first, at);
	for (; at < call->k; at += LANES)
		add_values(call, type, rows, 1, first, at);
}

SIMD_INLINE void values(const struct attention_call *call, const enum tcb_type type)
{
	size_t r = 0;
	for (; r + 8 <= call->rows; r += 8)
		values_of_rows(call, type, 8, r);
	for (; r + 4 <= call->rows; r += 4)
		values_of_rows(call, type, 4, r);
	for (; r + 2 <= call->rows; r += 2)
		values_of_rows(call, type, 2, r);
	for (; r < call->rows; r++)
		values_of_rows(call, type, 1, r);
}

SIMD_INLINE void micro(const struct attention_call *call, const enum tcb_type type)
{
	const unsigned before = v_flush_begin();
	switch (call->stage) {
	case ATTENTION_LOAD:
		load_q(call);
		break;
	case ATTENTION_SCORES:
		scores(call, type);
		break;
	case ATTENTION_WEIGHTS:
		for (size_t r = 0; r < call->rows; r++)
			weigh_row(call, r);
		break;
	case ATTENTION_VALUES:
		values(call, type);
		break;
	case ATTENTION_PACK_K:
	case ATTENTION_PACK_V:
		break;
	case ATTENTION_MERGE:
		merge(call);
		break;
	case ATTENTION_STORE:
		store(call);
		break;
	}
	v_flush_end(before);
}

#define ATTENTION_KERNEL(kv, TYPE)                                               \
	static void SIMD_NAME(attention_##kv)(const struct attention_call *call) \
	{                                                                        \
		micro(call, TYPE);                                               \
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
