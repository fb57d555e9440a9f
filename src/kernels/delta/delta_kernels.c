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

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { STEP = DELTA_KEY_UNIT, VECTORS = STEP / LANES, LINE = 64 };

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

/* All tokens' keys and queries as they are multiplied, and their numbers. */
struct tokens {
	_Alignas(64) float key[DELTA_DECODE_TOKENS_MAX * DELTA_KEY_MAX];
	_Alignas(64) float query[DELTA_DECODE_TOKENS_MAX * DELTA_KEY_MAX];
	float a[DELTA_DECODE_TOKENS_MAX], product[DELTA_DECODE_TOKENS_MAX];
};

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
		out->product[t] = v_reduce_add(product);
		out->a[t] = expf(call->g[t * call->heads]);
	}
}

SIMD_INLINE vfloat load(const enum tcb_type type, const void *from, size_t at)
{
	return type == TCB_TYPE_F32 ? v_load((const float *)from + at) : v_from_bf16((const uint16_t *)from + at);
}

SIMD_INLINE void store(const enum tcb_type type, void *to, size_t at, vfloat value)
{
	if (type == TCB_TYPE_F32)
		v_store((float *)to + at, value);
	else
		v_to_bf16((uint16_t *)to + at, value);
}

/* Are states stored past the caches as they are made?  Others go through memory of the kernel's own first. */
SIMD_INLINE int is_direct(const struct form form)
{
	return LANES > 1 && form.type == TCB_TYPE_F32;
}

enum { ROWS_MAX = 8 };

/* Products of the state's rows with a key and a query. */
struct products {
	float by_key[ROWS_MAX], by_query[ROWS_MAX];
};

SIMD_INLINE void reduce(const size_t rows, const int has_correction, const vfloat *by_key, const vfloat *by_query,
			struct products *out)
{
	SIMD_FOR (size_t r = 0; r < rows; r++) {
		out->by_key[r] = has_correction ? v_reduce_add(by_key[r]) : 0;
		out->by_query[r] = v_reduce_add(by_query[r]);
	}
}

/* The first token's, of ROWS rows of a state at FROM, which is asked for PREFETCH bytes ahead. */
SIMD_BODY void multiply(const struct form form, const size_t rows, const void *from, size_t k, const float *key,
			const float *query, size_t prefetch, struct products *out)
{
	const size_t element = tcb_type_bytes(form.type);
	vfloat by_key[ROWS_MAX], by_query[ROWS_MAX];
	SIMD_FOR (size_t r = 0; r < rows; r++)
		by_key[r] = by_query[r] = v_set(0);
	for (size_t i = 0; i < k; i += STEP) {
		if (prefetch && i * element % LINE == 0)
			SIMD_FOR (size_t r = 0; r < rows; r++)
				__builtin_prefetch((const char *)from + (r * k + i) * element + prefetch);
		SIMD_FOR (size_t j = 0; j < VECTORS; j++) {
			const size_t at = i + j * LANES;
			const vfloat q = v_load(query + at), x = form.has_correction ? v_load(key + at) : q;
			SIMD_FOR (size_t r = 0; r < rows; r++) {
				const vfloat s = load(form.type, from, r * k + at);
				by_query[r] = v_fma(s, q, by_query[r]);
				if (form.has_correction)
					by_key[r] = v_fma(s, x, by_key[r]);
			}
		}
	}
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
SIMD_BODY void change(const struct form form, const size_t rows, const enum tcb_type type, const int has_next,
		      const int is_stored, const struct update *u, size_t k, struct products *out)
{
	const vfloat a = v_set(u->a);
	vfloat by_key[ROWS_MAX], by_query[ROWS_MAX];
	SIMD_FOR (size_t r = 0; r < rows; r++)
		by_key[r] = by_query[r] = v_set(0);
	for (size_t i = 0; i < k; i += LANES) {
		const vfloat key = v_load(u->key + i);
		const vfloat next_query = has_next ? v_load(u->next_query + i) : key;
		const vfloat next_key = has_next && form.has_correction ? v_load(u->next_key + i) : key;
		SIMD_FOR (size_t r = 0; r < rows; r++) {
			const vfloat s = load(type, u->from, r * k + i);
			const vfloat changed = v_fma(key, v_set(u->d[r]), v_mul(s, a));
			if (is_stored && u->is_streamed && is_direct(form))
				v_stream((float *)u->stored + r * k + i, changed);
			else if (is_stored)
				store(form.type, u->stored, r * k + i, changed);
			if (!has_next)
				continue;
			v_store(u->kept + r * k + i, changed);
			by_query[r] = v_fma(changed, next_query, by_query[r]);
			if (form.has_correction)
				by_key[r] = v_fma(changed, next_key, by_key[r]);
		}
	}
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

SIMD_INLINE void stream(const void *from, void *to, size_t bytes)
{
	if (LANES == 1)
		memcpy(to, from, bytes);
	for (size_t at = 0; LANES > 1 && at < bytes; at += VECTOR_BYTES)
		v_stream((float *)(void *)((char *)to + at),
			 v_load((const float *)(const void *)((const char *)from + at)));
}

/* What a sequence goes on from that goes on from nothing. */
static const float zeros[ROWS_MAX * DELTA_KEY_MAX];

/* ROWS rows from FIRST on, through all tokens. */
SIMD_BODY void rows_of(const struct delta_call *call, const struct tokens *tokens, const struct form form,
		       const size_t rows, size_t first)
{
	const size_t k = call->k, part = k * tcb_type_bytes(form.type);
	_Alignas(64) float kept[ROWS_MAX * DELTA_KEY_MAX];
	_Alignas(64) char staged[ROWS_MAX * DELTA_KEY_MAX * sizeof(float)];
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
					       .stored = to && call->stream && !is_direct(form) ? (void *)staged : to,
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
		if (to && call->stream && !is_direct(form))
			stream(staged, to, rows * part);
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
