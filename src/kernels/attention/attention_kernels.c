/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of attention on CPUs, written once in vector operations.
 *
 * Scores: LANES sums are in registers, of ROWS query rows by LANES / ROWS tokens;
 * a transposition turns them into one vector of results.  Values: ROWS query rows by
 * a few vectors of the head are in registers while the tile's tokens go by.
 */
#include <float.h>
#include <math.h>

#include "kernels/attention/attention_cpu.h"
#include "kernels/formats.h"
#include "kernels/simd/simd_exp.h"

enum { LINE = 64, ROWS_TOGETHER = LANES < 8 ? LANES : 8 };

SIMD_INLINE vfloat load_half(const enum tcb_type type, const void *row, size_t at)
{
	const uint16_t *half = (const uint16_t *)row + at;
	return type == TCB_TYPE_F16 ? v_from_f16(half) : v_from_bf16(half);
}

SIMD_INLINE vfloat load_kv(const enum tcb_type type, const void *row, size_t at)
{
	if (type != TCB_TYPE_BLOCKS)
		return load_half(type, row, at);
	const struct tcb_format *f = tcb_format_row(TCB_FORMAT_Q8_0);
	const uint8_t *block = (const uint8_t *)row + at / f->block_values * f->block_bytes;
	const int8_t *codes = (const int8_t *)block + f->codes_at + at % f->block_values;
	return v_mul(v_from_bytes(codes), v_set_f16(block + f->d_at));
}

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

/* --- weights --- */

/* cap * tanh(x / cap), lane by lane: caps are rare, and a call of the library costs less than K and V. */
SIMD_INLINE vfloat capped(vfloat x, float cap)
{
	float value[LANES];
	v_store(value, x);
	for (int i = 0; i < LANES; i++)
		value[i] = cap * tanhf(value[i] / cap);
	return v_load(value);
}

/* The scores of row R become weights; its sums are brought to the new maximum. */
SIMD_INLINE void weigh_row(const struct attention_call *call, size_t r)
{
	float *s = call->scores + r * call->lead;
	const size_t from = call->from[r], to = call->to[r], end = (call->tokens + LANES - 1) / LANES * LANES;
	vfloat top = v_set(-FLT_MAX), sum = v_set(0);
	if (call->cap > 0)
		for (size_t t = 0; t < end; t += LANES)
			v_store(s + t, capped(v_load(s + t), call->cap));
	for (size_t t = 0; t < from; t++)
		s[t] = -INFINITY;
	for (size_t t = to; t < end; t++)
		s[t] = -INFINITY;
	for (size_t t = 0; t < end; t += LANES)
		top = v_max(v_load(s + t), top); /* NaN in the first operand stays out */
	const float max = call->max[r], next = fmaxf(v_reduce_max(top), max);
	const vfloat base = v_set(next);
	for (size_t t = 0; t < end; t += LANES) {
		const vfloat p = v_exp(v_sub(v_load(s + t), base));
		v_store(s + t, p);
		sum = v_add(sum, p);
	}
	if (next > max) {
		float factor[LANES];
		v_store(factor, v_exp(v_set(max - next)));
		float *o = call->o + r * call->k;
		for (size_t at = 0; at < call->k; at += LANES)
			v_store(o + at, v_mul(v_load(o + at), v_set(*factor)));
		call->sum[r] *= *factor;
		call->max[r] = next;
	}
	call->sum[r] += v_reduce_add(sum);
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

/* --- what comes before and after --- */

SIMD_INLINE void load_q(const struct attention_call *call)
{
	for (size_t r = 0; r < call->rows; r++) {
		const void *row = call->io_row[r];
		float *q = call->q + r * call->k;
		for (size_t at = 0; at < call->k; at += LANES) {
			const vfloat value = call->io == TCB_TYPE_F32 ? v_load((const float *)row + at)
								      : load_half(call->io, row, at);
			v_store(q + at, v_mul(value, v_set(call->scale)));
		}
	}
}

SIMD_INLINE void merge(const struct attention_call *call)
{
	for (size_t r = 0; r < call->rows; r++) {
		const float next = fmaxf(call->max[r], call->part_max[r]);
		float own[LANES], other[LANES];
		v_store(own, v_exp(v_set(call->max[r] - next)));
		v_store(other, v_exp(v_set(call->part_max[r] - next)));
		for (size_t i = r * call->k; i < (r + 1) * call->k; i += LANES)
			v_store(call->o + i, v_fma(v_load(call->part_o + i), v_set(*other),
						   v_mul(v_load(call->o + i), v_set(*own))));
		call->sum[r] = call->sum[r] * *own + call->part_sum[r] * *other;
		call->max[r] = next;
	}
}

SIMD_INLINE void store(const struct attention_call *call)
{
	for (size_t r = 0; r < call->rows; r++) {
		const vfloat factor = v_set(call->sum[r] == 0 ? 0 : 1 / call->sum[r]);
		char *row = call->io_row[r];
		for (size_t at = 0; at < call->k; at += LANES) {
			const vfloat value = v_mul(v_load(call->o + r * call->k + at), factor);
			void *to = row + at * tcb_type_bytes(call->io);
			if (call->io == TCB_TYPE_F32)
				v_store(to, value);
			else if (call->io == TCB_TYPE_F16)
				v_to_f16(to, value);
			else
				v_to_bf16(to, value);
		}
	}
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
#define ATTENTION_ROW(kind, kv, contract_, word)                                                                      \
	{                                                                                                             \
		.name = "attention_" #kind "_" #kv "_" word "_" SIMD_TEXT, .contract = contract_, .isa = SIMD_ISA_ID, \
		.layout = TCB_LAYOUT_NATIVE, .micro = { 1, LANES, 1 }, .unroll = 1, .class = TCB_CLASS_BOUNDED,       \
		.signature = TCB_SOURCE_HASH, .entry = (void (*)(void))SIMD_NAME(attention_##kv),                     \
	}
#define ATTENTION_TABLE(kind, kv)                                                    \
	const struct tcb_variant SIMD_NAME(attention_##kind##_##kv##_variants)[] = { \
		ATTENTION_ROW(kind, kv, TCB_CONTRACT_F32, "f32"),                    \
		ATTENTION_ROW(kind, kv, TCB_CONTRACT_F16, "half"),                   \
		{ .name = NULL },                                                    \
	};

ATTENTION_KERNEL(f16, TCB_TYPE_F16)
ATTENTION_KERNEL(bf16, TCB_TYPE_BF16)
ATTENTION_KERNEL(q80, TCB_TYPE_BLOCKS)
ATTENTION_TABLE(decode, f16)
ATTENTION_TABLE(decode, bf16)
ATTENTION_TABLE(decode, q80)
ATTENTION_TABLE(prefill, f16)
ATTENTION_TABLE(prefill, bf16)
ATTENTION_TABLE(prefill, q80)
