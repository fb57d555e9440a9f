/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of the recurrent ops on CPUs, written once in vector operations.
 *
 * y of a token is taken from the state before it: with d = beta (v - a s'key),
 *
 *     y = (a s + d key)'query = a s'query + d key'query
 *
 * so that the pass over the state that finds s'key finds all of y, and the pass that
 * writes a s + d key finds the next token's products on its way.
 */
#include <math.h>

#include "kernels/delta/delta_cpu.h"
#include "kernels/delta/delta_take.h"
#include "kernels/simd/simd_pairs.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { PAIR = 2 * LANES, LINE = 64 };

/* Streamed stores are not ordered by locks. */
SIMD_INLINE void fence(void)
{
#if defined(__x86_64__)
	_mm_sfence();
#endif
}

/* What differs between the kernels. */
struct form {
	enum tcb_type type;
	int has_correction;
};

/* All tokens' keys and queries as they are multiplied, and their numbers.  With states in bf16 each PAIR has its even
 * places first, as v_unpack_bf16 has it; a last vector that is left is as it was. */
struct tokens {
	_Alignas(64) float key[DELTA_DECODE_TOKENS_MAX * DELTA_KEY_MAX];
	_Alignas(64) float query[DELTA_DECODE_TOKENS_MAX * DELTA_KEY_MAX];
	float a[DELTA_DECODE_TOKENS_MAX], product[DELTA_DECODE_TOKENS_MAX];
};

/* K numbers in place. */
SIMD_INLINE void turn_pairs(float *x, size_t k)
{
	for (size_t at = 0; at + PAIR <= k; at += PAIR) {
		float pair[PAIR];
		memcpy(pair, x + at, sizeof(pair));
		for (size_t i = 0; i < LANES; i++) {
			x[at + i] = pair[2 * i];
			x[at + LANES + i] = pair[2 * i + 1];
		}
	}
}

SIMD_BODY void take_tokens(const struct delta_call *call, const struct form form, struct tokens *out)
{
	const size_t k = call->k;
	for (size_t t = 0; t < call->tokens; t++) {
		float *key = out->key + t * k, *query = out->query + t * k;
		vfloat product = v_set(0);
		delta_take(form.has_correction, call->key + t * call->row, k, 1, key);
		delta_take(form.has_correction, call->query + t * call->row, k, call->scale, query);
		for (size_t i = 0; i < k; i += LANES)
			product = v_fma(v_load(key + i), v_load(query + i), product);
		if (form.type != TCB_TYPE_F32) {
			turn_pairs(key, k);
			turn_pairs(query, k);
		}
		out->product[t] = v_reduce_add(product);
		out->a[t] = expf(call->g[t * call->heads]);
	}
}

/* COUNT vectors of a row from AT on: two, or the one that is left. */
SIMD_INLINE void load(const enum tcb_type type, const int count, const void *from, size_t at, vfloat out[2])
{
	if (type != TCB_TYPE_F32 && count == 2)
		v_unpack_bf16((const uint16_t *)from + at, out);
	else
		SIMD_FOR (int v = 0; v < count; v++)
			out[v] = type == TCB_TYPE_F32 ? v_load((const float *)from + at + v * LANES)
						      : v_from_bf16((const uint16_t *)from + at);
}

SIMD_INLINE void store_vector(float *to, vfloat value, int is_streamed)
{
	if (is_streamed)
		v_stream(to, value);
	else
		v_store(to, value);
}

SIMD_INLINE void store(const enum tcb_type type, const int count, void *to, size_t at, const vfloat value[2],
		       int is_streamed)
{
	if (type == TCB_TYPE_F32)
		SIMD_FOR (int v = 0; v < count; v++)
			store_vector((float *)to + at + v * LANES, value[v], is_streamed);
	else if (count == 2)
		store_vector((float *)(void *)((uint16_t *)to + at), v_pack_bf16(value), is_streamed);
	else
		v_to_bf16((uint16_t *)to + at, *value);
}

enum { ROWS_MAX = 8 };

/* Products of the state's rows with a key and a query. */
struct products {
	float by_key[ROWS_MAX], by_query[ROWS_MAX];
};

/* Sums of both lie side by side, so that LANES of them are added up together. */
SIMD_INLINE void reduce(const size_t rows, const int has_correction, const vfloat *by_key, const vfloat *by_query,
			struct products *out)
{
	enum { MOST = 2 * ROWS_MAX < LANES ? LANES : 2 * ROWS_MAX };
	const size_t keys = has_correction ? rows : 0;
	vfloat all[MOST];
	float sum[MOST];
	SIMD_FOR (size_t i = 0; i < MOST; i++)
		all[i] = i < keys ? by_key[i] : i < keys + rows ? by_query[i - keys] : v_set(0);
	SIMD_FOR (size_t i = 0; i < keys + rows; i += LANES)
		v_store(sum + i, v_reduce_each(all + i));
	SIMD_FOR (size_t r = 0; r < rows; r++) {
		out->by_key[r] = has_correction ? sum[r] : 0;
		out->by_query[r] = sum[keys + r];
	}
}

/* The first token's, of ROWS rows of a state at FROM, of COUNT vectors from AT on. */
SIMD_INLINE void multiply_at(const struct form form, const size_t rows, const int count, const void *from, size_t k,
			     size_t at, const float *key, const float *query, vfloat *by_key, vfloat *by_query)
{
	SIMD_FOR (size_t r = 0; r < rows; r++) {
		vfloat s[2];
		load(form.type, count, from, r * k + at, s);
		SIMD_FOR (int v = 0; v < count; v++) {
			by_query[r] = v_fma(s[v], v_load(query + at + v * LANES), by_query[r]);
			if (form.has_correction)
				by_key[r] = v_fma(s[v], v_load(key + at + v * LANES), by_key[r]);
		}
	}
}

/* FROM is asked for PREFETCH bytes ahead. */
SIMD_BODY void multiply(const struct form form, const size_t rows, const void *from, size_t k, const float *key,
			const float *query, size_t prefetch, struct products *out)
{
	const size_t element = tcb_type_bytes(form.type);
	vfloat by_key[ROWS_MAX], by_query[ROWS_MAX];
	size_t i = 0;
	SIMD_FOR (size_t r = 0; r < rows; r++)
		by_key[r] = by_query[r] = v_set(0);
	for (; i + PAIR <= k; i += PAIR) {
		if (prefetch && i * element % LINE == 0)
			SIMD_FOR (size_t r = 0; r < rows; r++)
				for (size_t at = 0; at < PAIR * element; at += LINE)
					__builtin_prefetch((const char *)from + (r * k + i) * element + at + prefetch);
		multiply_at(form, rows, 2, from, k, i, key, query, by_key, by_query);
	}
	if (i < k)
		multiply_at(form, rows, 1, from, k, i, key, query, by_key, by_query);
	reduce(rows, form.has_correction, by_key, by_query, out);
}

/*
 * ROWS rows at FROM, of TYPE, become A times themselves plus D of the row times KEY: in KEPT, where there is a next
 * token, whose key and query NEXT_KEY and NEXT_QUERY are, and in STORED, unless that is NULL.
 */
struct update {
	const void *from;
	float *kept;
	void *stored;
	const float *key, *next_key, *next_query;
	float a;
	const float *d;
	int is_streamed;
};
/* COUNT vectors from AT on. */
SIMD_INLINE void change_at(const struct form form, const size_t rows, const int count, const enum tcb_type type,
			   const int has_next, const int is_stored, const struct update *u, size_t k, size_t at,
			   vfloat *by_key, vfloat *by_query)
{
	const vfloat a = v_set(u->a);
	SIMD_FOR (size_t r = 0; r < rows; r++) {
		vfloat s[2];
		load(type, count, u->from, r * k + at, s);
		SIMD_FOR (int v = 0; v < count; v++) {
			const size_t here = at + (size_t)v * LANES;
			s[v] = v_fma(v_load(u->key + here), v_set(u->d[r]), v_mul(s[v], a));
			if (!has_next)
				continue;
			v_store(u->kept + r * k + here, s[v]);
			by_query[r] = v_fma(s[v], v_load(u->next_query + here), by_query[r]);
			if (form.has_correction)
				by_key[r] = v_fma(s[v], v_load(u->next_key + here), by_key[r]);
		}
		if (is_stored)
			store(form.type, count, u->stored, r * k + at, s, u->is_streamed);
	}
}

SIMD_BODY void change(const struct form form, const size_t rows, const enum tcb_type type, const int has_next,
		      const int is_stored, const struct update *u, size_t k, struct products *out)
{
	vfloat by_key[ROWS_MAX], by_query[ROWS_MAX];
	size_t i = 0;
	SIMD_FOR (size_t r = 0; r < rows; r++)
		by_key[r] = by_query[r] = v_set(0);
	for (; i + PAIR <= k; i += PAIR)
		change_at(form, rows, 2, type, has_next, is_stored, u, k, i, by_key, by_query);
	if (i < k)
		change_at(form, rows, 1, type, has_next, is_stored, u, k, i, by_key, by_query);
	if (has_next)
		reduce(rows, form.has_correction, by_key, by_query, out);
}

SIMD_INLINE void change_any(const struct form form, const size_t rows, const enum tcb_type type, int has_next,
			    const struct update *u, size_t k, struct products *out)
{
	if (has_next && u->stored)
		change(form, rows, type, 1, 1, u, k, out);
	else if (has_next)
		change(form, rows, type, 1, 0, u, k, out);
	else if (u->stored)
		change(form, rows, type, 0, 1, u, k, out);
}

/* What a sequence goes on from that goes on from nothing. */
static const float zeros[ROWS_MAX * DELTA_KEY_MAX];

/* ROWS rows from FIRST on, through all tokens. */
SIMD_BODY void rows_of(const struct delta_call *call, const struct tokens *tokens, const struct form form,
		       const size_t rows, size_t first)
{
	const size_t k = call->k, part = k * tcb_type_bytes(form.type);
	_Alignas(64) float kept[ROWS_MAX * DELTA_KEY_MAX];
	const void *from = call->from ? (const char *)call->from + first * part : (const void *)zeros;
	struct products products;
	multiply(form, rows, from, k, tokens->key, tokens->query, call->from ? call->prefetch : 0, &products);
	for (size_t t = 0; t < call->tokens; t++) {
		const float *v = call->v + t * call->row + first;
		float *y = call->y + t * call->y_row + first;
		const float a = tokens->a[t], beta = call->beta[t * call->heads], product = tokens->product[t];
		float d[ROWS_MAX];
		SIMD_FOR (size_t r = 0; r < rows; r++) {
			const float old = form.has_correction ? a * products.by_key[r] : 0;
			d[r] = beta * (v[r] - old);
			y[r] = a * products.by_query[r] + product * d[r];
			if (!form.has_correction)
				y[r] += call->skip * v[r];
		}
		const int has_next = t + 1 < call->tokens;
		void *to = call->to[t] ? (char *)call->to[t] + first * part : NULL;
		const struct update update = { .from = t ? kept : from,
					       .kept = kept,
					       .stored = to,
					       .is_streamed = call->stream,
					       .key = tokens->key + t * k,
					       .next_key = tokens->key + (t + 1) * k,
					       .next_query = tokens->query + (t + 1) * k,
					       .a = a,
					       .d = d };
		if (t)
			change_any(form, rows, TCB_TYPE_F32, has_next, &update, k, &products);
		else
			change_any(form, rows, form.type, has_next, &update, k, &products);
	}
}

SIMD_INLINE void micro(const struct delta_call *call, const struct form form, const size_t rows)
{
	struct tokens tokens;
	size_t row = 0;
	take_tokens(call, form, &tokens);
	for (; row + rows <= call->rows; row += rows)
		rows_of(call, &tokens, form, rows, row);
	for (; row < call->rows; row++)
		rows_of(call, &tokens, form, 1, row);
	if (call->stream)
		fence();
}

#define DELTA_ROW(rule, kind, state, rows_, entry_)                                                        \
	{                                                                                                  \
		.name = #rule "_" #kind "_" #state "_" #rows_ "_" SIMD_TEXT, .contract = TCB_CONTRACT_F32, \
		.isa = SIMD_ISA_ID, .layout = TCB_LAYOUT_NATIVE, .micro = { 1, rows_, 1 }, .unroll = 1,    \
		.class = TCB_CLASS_BOUNDED, .signed_in = tcb_signed_variants,                              \
		.entry = (void (*)(void))SIMD_NAME(rule##_##entry_##_##rows_),                             \
	}
#define DELTA_MICRO(rule, state, type_, has_correction_, rows)                        \
	static void SIMD_NAME(rule##_##state##_##rows)(const struct delta_call *call) \
	{                                                                             \
		micro(call, (struct form){ type_, has_correction_ }, rows);           \
	}
/* Eight rows have 16 sums, which 16 registers do not hold. */
#if LANES == 8
#define DELTA_EIGHT(...)
#define DELTA_EIGHT_ROW(...)
#else
#define DELTA_EIGHT DELTA_MICRO
#define DELTA_EIGHT_ROW(...) DELTA_ROW(__VA_ARGS__),
#endif
/* A prompt's states are carried in f32, whatever they are stored as. */
#define DELTA_ROWS(rule, kind, state, entry)                                         \
	const struct tcb_variant SIMD_NAME(rule##_##kind##_##state##_variants)[] = { \
		DELTA_ROW(rule, kind, state, 2, entry),                              \
		DELTA_ROW(rule, kind, state, 4, entry),                              \
		DELTA_EIGHT_ROW(rule, kind, state, 8, entry){ .name = NULL },        \
	};
#define DELTA_TABLE(state, ID, type, text, rule, has_correction) \
	DELTA_MICRO(rule, state, type, has_correction, 2)        \
	DELTA_MICRO(rule, state, type, has_correction, 4)        \
	DELTA_EIGHT(rule, state, type, has_correction, 8)        \
	DELTA_ROWS(rule, decode, state, state)                   \
	DELTA_ROWS(rule, prefill, state, f32)

DELTA_STATE_LIST(DELTA_TABLE, delta, 1)
DELTA_STATE_LIST(DELTA_TABLE, ssd, 0)
