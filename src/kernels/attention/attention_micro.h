/* SPDX-License-Identifier: MIT
 *
 * What the micro-kernels of attention_decode and attention_prefill on CPUs share,
 * written once in vector operations: K and V as floats, weights of a row of scores,
 * and what comes before and after all tiles.
 */
#ifndef TCB_KERNELS_ATTENTION_MICRO_H
#define TCB_KERNELS_ATTENTION_MICRO_H

#include <float.h>
#include <math.h>

#include "kernels/attention/attention_cpu.h"
#include "kernels/formats.h"
#include "kernels/simd/simd_exp.h"

/* Kernels are of kinds of K and V, constants that compilers fold before what they read of a row. */
SIMD_INLINE int has_blocks(const int kind)
{
	return kind == TCB_KV_KIND_Q80 || kind == TCB_KV_KIND_Q40;
}

/* Values of E4M3 in parts of 1 / E4M3_PARTS, which is what v_from_e4m3 makes, and the same where none is a NaN. */
enum { KV_PARTS = TCB_KV_KIND_COUNT, KV_FINITE_PARTS, E4M3_PARTS = LANES > 1 ? 256 : 1 };

/* Bytes of COUNT values; whole blocks. */
SIMD_INLINE size_t kv_bytes(const int kind, size_t count)
{
	const struct tcb_format *f = tcb_format_row(kind == TCB_KV_KIND_Q40 ? TCB_FORMAT_Q4_0 : TCB_FORMAT_Q8_0);
	return has_blocks(kind)                                      ? count / f->block_values * f->block_bytes
	       : kind == TCB_KV_KIND_F16 || kind == TCB_KV_KIND_BF16 ? 2 * count
								     : count;
}

SIMD_INLINE vfloat load_half(const enum tcb_type type, const void *row, size_t at)
{
	const uint16_t *half = (const uint16_t *)row + at;
	return type == TCB_TYPE_F16 ? v_from_f16(half) : v_from_bf16(half);
}

/* LANES values of E4M3, in parts: what comes of a NaN is past the largest float when it is multiplied so, and then a
 * NaN. */
SIMD_INLINE vfloat load_parts(const uint8_t *from, const int is_finite)
{
#if LANES > 1
	const vfloat value = v_from_e4m3(from);
	return is_finite ? value : v_fma(v_mul(value, v_set(1.9e38f)), v_set(0), value);
#else
	(void)is_finite;
	return tcb_e4m3_to_f32(*from);
#endif
}

/* LANES codes of a block of Q4_0, of which each byte has two: one of the first half and one of the second. */
SIMD_INLINE vfloat load_nibbles(const uint8_t *codes, size_t at)
{
	const size_t half = ATTENTION_BLOCK / 2;
	int8_t signed_codes[LANES];
#if LANES > 1
	typedef uint8_t some __attribute__((vector_size(LANES)));
	some both;
	memcpy(&both, codes + at % half, sizeof(both));
	both = (at < half ? both & 15 : both >> 4) - 8;
	memcpy(signed_codes, &both, sizeof(both));
#else
	*signed_codes = (int8_t)((at < half ? codes[at] & 15 : codes[at - half] >> 4) - 8);
#endif
	return v_from_bytes(signed_codes);
}

SIMD_INLINE vfloat load_block(const enum tcb_format_id format, const void *row, size_t at)
{
	const struct tcb_format *f = tcb_format_row(format);
	const size_t within = at % f->block_values;
	const uint8_t *block = (const uint8_t *)row + at / f->block_values * f->block_bytes;
	const vfloat code = format == TCB_FORMAT_Q4_0 ? load_nibbles(block + f->codes_at, within)
						      : v_from_bytes((const int8_t *)block + f->codes_at + within);
	return v_mul(code, v_set_f16(block + f->d_at));
}

SIMD_INLINE vfloat load_kv(const int kind, const void *row, size_t at)
{
	if (has_blocks(kind))
		return load_block(kind == TCB_KV_KIND_Q40 ? TCB_FORMAT_Q4_0 : TCB_FORMAT_Q8_0, row, at);
	if (kind == TCB_KV_KIND_FP8)
		return v_mul(load_parts((const uint8_t *)row + at, 0), v_set(E4M3_PARTS));
	if (kind == KV_PARTS || kind == KV_FINITE_PARTS)
		return load_parts((const uint8_t *)row + at, kind == KV_FINITE_PARTS);
	return load_half(kind == TCB_KV_KIND_F16 ? TCB_TYPE_F16 : TCB_TYPE_BF16, row, at);
}

#if LANES > 8
/* Vectors are longer than heads' steps on one family: EIGHT values' BYTES that are left of a head, zeros in the rest.
 */
struct eight {
	uint64_t words[4];
};
SIMD_INLINE struct eight load_eight(const void *from, const size_t bytes)
{
	struct eight out = { { 0, 0, 0, 0 } };
	memcpy(out.words, from, bytes);
	return out;
}
#endif

/* LANES values, or the eight that are left; never of blocks. */
SIMD_INLINE vfloat load_kv_left(const int kind, const void *row, size_t at, size_t left)
{
#if LANES > 8
	if (left < LANES) {
		const struct eight eight = load_eight((const char *)row + kv_bytes(kind, at), kv_bytes(kind, 8));
		return load_kv(kind, &eight, 0);
	}
#endif
	(void)left;
	return load_kv(kind, row, at);
}

/* The same of q. */
SIMD_INLINE vfloat load_q_left(const enum tcb_type io, const void *row, size_t at, size_t left)
{
	if (io == TCB_TYPE_F32)
		return v_load_left((const float *)row + at, left, 0);
	return load_kv_left(io == TCB_TYPE_F16 ? TCB_KV_KIND_F16 : TCB_KV_KIND_BF16, row, at, left);
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

/* ALiBi: from scores SLOPE times how far tokens are from the query's own, which is OWN tokens past the first.  Rare,
 * and apart so that others keep their registers. */
static __attribute__((noinline)) void subtract_distances(float *s, size_t end, float own, float slope)
{
	float lane[LANES];
	for (int i = 0; i < LANES; i++)
		lane[i] = (float)i;
	for (size_t t = 0; t < end; t += LANES) {
		const vfloat before = v_sub(v_set(own - (float)t), v_load(lane));
		const vfloat distance = v_max(before, v_sub(v_set(0), before));
		v_store(s + t, v_fma(distance, v_set(-slope), v_load(s + t)));
	}
}

/* What row R does not see of the tile, and what is past its end, becomes -inf; returns the largest of each lane. */
SIMD_INLINE vfloat find_largest(const struct attention_call *call, size_t r, size_t end)
{
	const size_t of_head = r % call->head_rows, from = call->from[of_head], to = call->to[of_head];
	float *s = call->scores + r * call->lead;
	vfloat top = v_set(-FLT_MAX);
	if (call->cap > 0)
		for (size_t t = 0; t < end; t += LANES)
			v_store(s + t, capped(v_load(s + t), call->cap));
	if (call->slope)
		subtract_distances(s, end, call->own[of_head], call->slope[r]);
	for (size_t t = 0; t < from; t++)
		s[t] = -INFINITY;
	for (size_t t = to; t < end; t++)
		s[t] = -INFINITY;
	for (size_t t = 0; t < end; t += LANES)
		top = v_max(v_load(s + t), top); /* NaN in the first operand stays out */
	return top;
}

/* Scores to weights against BASE, times FACTOR, with AS_BF16 as bf16 in the first half of the row; returns the sum of
 * each lane without it. */
SIMD_INLINE vfloat weigh(float *s, size_t end, float base, const int factor, const int as_bf16)
{
	vfloat sum = v_set(0);
	for (size_t t = 0; t < end; t += LANES) {
		const vfloat p = v_exp(v_sub(v_load(s + t), v_set(base)));
#ifdef SIMD_HAS_BF16
		if (as_bf16)
			v_round_bf16((uint16_t *)(void *)s + t, p);
#endif
		if (!as_bf16)
			v_store(s + t, factor == 1 ? p : v_mul(p, v_set((float)factor)));
		sum = v_add(sum, p);
	}
	return sum;
}

/* COUNT rows from R on, LANES or fewer: one lane each where they meet in a vector, so that no row waits for another's
 * maximum.  Their sums are brought to the new maximum.  Weights are stored times TIMES. */
SIMD_INLINE void weigh_rows(const struct attention_call *call, size_t r, size_t count, const int times,
			    const int as_bf16)
{
	const size_t end = (call->tokens + LANES - 1) / LANES * LANES;
	float factor[LANES];
	vfloat each[LANES];
	for (size_t i = 0; i < LANES; i++)
		each[i] = i < count ? find_largest(call, r + i, end) : v_set(0);
	const vfloat max = v_load_left(call->max + r, count, 0);
	const vfloat next = v_max(v_reduce_each_max(each), max);
	const int is_new = v_any_above(next, max);
	v_store(factor, v_exp(v_sub(max, next)));
	v_store_left(call->max + r, next, count, 0);
	for (size_t i = 0; i < count; i++)
		each[i] = weigh(call->scores + (r + i) * call->lead, end, call->max[r + i], times, as_bf16);
	const vfloat sum = v_load_left(call->sum + r, count, 0);
	v_store_left(call->sum + r, v_fma(sum, v_load(factor), v_reduce_each(each)), count, 0);
	for (size_t i = 0; is_new && i < count; i++) {
		float *o = call->o + (r + i) * call->o_lead;
		if (factor[i] < 1)
			for (size_t at = 0; at < call->o_lead; at += LANES)
				v_store(o + at, v_mul(v_load(o + at), v_set(factor[i])));
	}
}

/* --- what comes before and after --- */

/* q as [row][k], or with IS_SIDE_BY_SIDE for each KV head as [k / lanes][row][lane]. */
SIMD_INLINE void load_q(const struct attention_call *call, const int is_side_by_side)
{
	for (size_t r = 0; r < call->rows; r++) {
		const void *row = call->io_row[r];
		const size_t of_head = r % call->head_rows;
		float *q = is_side_by_side ? call->q + (r - of_head) * call->q_lead + of_head * LANES
					   : call->q + r * call->q_lead;
		for (size_t at = 0; at < call->k; at += LANES) {
			const vfloat value = load_q_left(call->io, row, at, call->k - at);
			v_store(q + (is_side_by_side ? at * call->head_rows : at), v_mul(value, v_set(call->scale)));
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
		for (size_t i = r * call->o_lead; i < (r + 1) * call->o_lead; i += LANES)
			v_store(call->o + i, v_fma(v_load(call->part_o + i), v_set(*other),
						   v_mul(v_load(call->o + i), v_set(*own))));
		call->sum[r] = call->sum[r] * *own + call->part_sum[r] * *other;
		call->max[r] = next;
	}
}

/* LANES values, or the LEFT ones. */
SIMD_INLINE void store_left(enum tcb_type type, void *to, size_t left, vfloat value)
{
	uint16_t halves[LANES];
	void *all = left < LANES ? halves : to;
	if (type == TCB_TYPE_F32 && left < LANES)
		v_store_part(to, value, left);
	else if (type == TCB_TYPE_F32)
		v_store(to, value);
	else if (type == TCB_TYPE_F16)
		v_to_f16(all, value);
	else
		v_to_bf16(all, value);
	if (type != TCB_TYPE_F32 && left < LANES)
		memcpy(to, halves, left * sizeof(*halves));
}

SIMD_INLINE void store(const struct attention_call *call)
{
	for (size_t r = 0; r < call->rows; r++) {
		const vfloat factor = v_set(call->sum[r] == 0 ? 0 : 1 / call->sum[r]);
		char *row = call->io_row[r];
		for (size_t at = 0; at < call->v; at += LANES)
			store_left(call->io, row + at * tcb_type_bytes(call->io), call->v - at,
				   v_mul(v_load(call->o + r * call->o_lead + at), factor));
	}
}

SIMD_INLINE void around_tiles(const struct attention_call *call, const int is_side_by_side)
{
	if (call->stage == ATTENTION_LOAD)
		load_q(call, is_side_by_side);
	else if (call->stage == ATTENTION_MERGE)
		merge(call);
	else
		store(call);
}

#ifdef SIMD_HAS_HALVES
/* Columns of o, which products of 16 bits leave as vi_interleave has them, as they are in V. */
SIMD_INLINE void order_columns(const struct attention_call *call)
{
	for (size_t at = 0; at < call->rows * call->o_lead; at += 2 * LANES) {
		vfloat pair[2] = { v_load(call->o + at), v_load(call->o + at + LANES) };
		v_deinterleave(pair);
		v_store(call->o + at, pair[0]);
		v_store(call->o + at + LANES, pair[1]);
	}
}
#endif

/* A variant of both contracts: all arithmetic is in f32. */
#define ATTENTION_ROW(op, contract_, word, m_, n_, entry_)                                               \
	{                                                                                                \
		.name = "attention_" #op "_" word "_" SIMD_TEXT "_" SIMD_STRING(m_) "x" SIMD_STRING(n_), \
		.contract = contract_,                                                                   \
		.isa = SIMD_ISA_ID,                                                                      \
		.layout = TCB_LAYOUT_NATIVE,                                                             \
		.micro = { m_, n_, 1 },                                                                  \
		.unroll = 1,                                                                             \
		.class = TCB_CLASS_BOUNDED,                                                              \
		.signed_in = tcb_signed_variants,                                                        \
		.entry = (void (*)(void))entry_,                                                         \
	},

#endif
