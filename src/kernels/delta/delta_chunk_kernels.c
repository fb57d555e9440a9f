/* SPDX-License-Identifier: MIT
 *
 * The recurrent ops on CPUs, a chunk of tokens at once, written once in vector operations.
 *
 * With c = exp(g_1 + ... + g_i) of the chunk's token i, S the state before the chunk and u_i what token i adds to it
 * (S_i = exp(g_i) S_i-1 + key_i u_i'), the recurrence says (Yang et al. 2024; of SSD Dao and Gu 2024, without the sum)
 *
 *     u_i  = beta_i (v_i - c_i S'key_i - sum over j < i of c_i / c_j (key_i'key_j) u_j)
 *     y_i  = c_i S'query_i + sum over j <= i of c_i / c_j (query_i'key_j) u_j
 *     S'   = c S + sum over j of c / c_j key_j u_j'
 *
 * of which all but the triangular system for u are products of matrices, whose tiles stay in registers.  The system is
 * solved forwards, tile by tile; no inverse is formed.  Ratios of decays are exponentials of differences of sums, kept
 * in double, so that nothing overflows and a token that forgets all spoils none behind it.
 *
 * The state is here in panels of as many values as a tile has: [panel][k][tile], filled up with zeros.
 */
#include <math.h>

#include "kernels/delta/delta_cpu.h"
#include "kernels/delta/delta_take.h"
#include "kernels/simd/simd_exp.h"

enum {
	GROUP = 8,                            /* tokens of a product with keys */
	STEP = LANES > GROUP ? LANES : GROUP, /* what tokens are filled up to */
};
#define EXP_MOST 88.0f
#define FORGETS_ALL (-1000.0)

/* A chunk's keys and queries as they are multiplied, and numbers of its tokens; those that fill it up add nothing. */
struct chunk {
	size_t k, count;             /* of tokens, filled up */
	float *key, *query, *turned; /* TURNED: keys as columns, panels of LANES tokens */
	float *by_keys, *by_queries; /* what token i adds of u_j to its own u, to y */
	float *added;                /* u, of a panel */
	float beta[DELTA_CHUNK_MAX];
	float decay[DELTA_CHUNK_MAX]; /* c */
	float left[DELTA_CHUNK_MAX];  /* of what the token adds at the end of the chunk */
};

/* LANES tokens' keys as columns. */
SIMD_BODY void turn(const float *key, size_t k, float *out)
{
	for (size_t i = 0; i < k; i += LANES) {
		vfloat r[LANES];
		SIMD_FOR (size_t t = 0; t < LANES; t++)
			r[t] = v_load(key + t * k + i);
		v_transpose(r);
		SIMD_FOR (size_t t = 0; t < LANES; t++)
			v_store(out + (i + t) * LANES, r[t]);
	}
}

SIMD_BODY void take_tokens(const struct delta_call *call, const int has_correction, struct chunk *out)
{
	const size_t k = out->k;
	for (size_t t = 0; t < call->tokens; t++) {
		delta_take(has_correction, call->key + t * call->row, k, 1, out->key + t * k);
		delta_take(has_correction, call->query + t * call->row, k, call->scale, out->query + t * k);
	}
	memset(out->key + call->tokens * k, 0, (out->count - call->tokens) * k * sizeof(float));
	memset(out->query + call->tokens * k, 0, (out->count - call->tokens) * k * sizeof(float));
	for (size_t t = 0; t < out->count; t += LANES)
		turn(out->key + t * k, k, out->turned + t * k);
}

/* exp of COUNT numbers, in place: 0 where it is subnormal, which what is multiplied by it would be, too. */
SIMD_INLINE void exps(float *x, size_t count)
{
	const unsigned before = v_flush_begin();
	for (size_t i = 0; i < count; i += LANES) {
		const vfloat at = v_load(x + i), most = v_set(EXP_MOST);
		v_store(x + i, v_exp(v_any_above(at, most) ? v_minimum(at, most) : at));
	}
	v_flush_end(before);
}

/* SUMS has the sum of g up to each token. */
SIMD_BODY void take_gates(const struct delta_call *call, struct chunk *out, double *sums)
{
	double sum = 0;
	for (size_t t = 0; t < out->count; t++) {
		const int is_token = t < call->tokens;
		const double g = is_token ? (double)call->g[t * call->heads] : 0;
		sum += g < FORGETS_ALL ? FORGETS_ALL : g;
		sums[t] = sum;
		out->decay[t] = (float)sum;
		out->beta[t] = is_token ? call->beta[t * call->heads] : 0;
	}
	for (size_t t = 0; t < out->count; t++)
		out->left[t] = (float)(sum - sums[t]);
	exps(out->decay, out->count);
	exps(out->left, out->count);
}

/* GROUP rows at X by the keys of LANES tokens, to OUT. */
SIMD_BODY void multiply_keys(const float *x, const float *turned, size_t k, float *out, size_t pitch)
{
	vfloat sum[GROUP];
	SIMD_FOR (size_t r = 0; r < GROUP; r++)
		sum[r] = v_set(0);
	for (size_t i = 0; i < k; i++) {
		const vfloat key = v_load(turned + i * LANES);
		SIMD_FOR (size_t r = 0; r < GROUP; r++)
			sum[r] = v_fma(v_set(x[r * k + i]), key, sum[r]);
	}
	SIMD_FOR (size_t r = 0; r < GROUP; r++)
		v_store(out + r * pitch, sum[r]);
}

/* Of token T and the END first ones. */
SIMD_INLINE void weigh_products(const struct chunk *c, const int has_correction, size_t t, const float *ratio,
				size_t end)
{
	float *by_queries = c->by_queries + t * c->count, *by_keys = c->by_keys + t * c->count;
	const vfloat minus_beta = v_set(-c->beta[t]);
	for (size_t j = 0; j < end; j += LANES) {
		const vfloat r = v_load(ratio + j);
		v_store(by_queries + j, v_mul(v_load(by_queries + j), r));
		if (has_correction)
			v_store(by_keys + j, v_mul(v_load(by_keys + j), v_mul(r, minus_beta)));
	}
}

SIMD_BODY void take_products(const struct chunk *c, const int has_correction, const double *sums)
{
	const size_t count = c->count, k = c->k;
	for (size_t t = 0; t < count; t += GROUP)
		for (size_t j = 0; j < t + GROUP; j += LANES) {
			const size_t at = t * count + j;
			multiply_keys(c->query + t * k, c->turned + j * k, k, c->by_queries + at, count);
			if (has_correction)
				multiply_keys(c->key + t * k, c->turned + j * k, k, c->by_keys + at, count);
		}
	for (size_t t = 0; t < count; t += GROUP) {
		const size_t end = (t / STEP + 1) * STEP;
		_Alignas(64) float ratio[GROUP * DELTA_CHUNK_MAX];
		for (size_t r = 0; r < GROUP; r++)
			for (size_t j = 0; j < end; j++)
				ratio[r * end + j] = j <= t + r ? (float)(sums[t + r] - sums[j]) : -INFINITY;
		exps(ratio, GROUP * end);
		for (size_t r = 0; r < GROUP; r++)
			weigh_products(c, has_correction, t + r, ratio + r * end, end);
	}
}

/* --- tiles: ROWS of a matrix by VECTORS of a panel --- */

enum { ROWS_MAX = 8, VECTORS_MAX = 4 /* of the scalar one */ };
typedef vfloat tile[ROWS_MAX][VECTORS_MAX];

/*
 * SUM += the ROWS rows at X, which are ROW apart and their elements STEP, by DEPTH rows of the panel.
 */
SIMD_INLINE void add_product(const size_t rows, const size_t vectors, const float *x, size_t row, size_t step,
			     const float *panel, size_t depth, tile sum)
{
	for (size_t i = 0; i < depth; i++) {
		vfloat b[VECTORS_MAX];
		SIMD_FOR (size_t v = 0; v < vectors; v++)
			b[v] = v_load(panel + (i * vectors + v) * LANES);
		SIMD_FOR (size_t r = 0; r < rows; r++) {
			const vfloat a = v_set(x[r * row + i * step]);
			SIMD_FOR (size_t v = 0; v < vectors; v++)
				sum[r][v] = v_fma(a, b[v], sum[r][v]);
		}
	}
}

SIMD_INLINE void clear(const size_t rows, const size_t vectors, tile sum)
{
	SIMD_FOR (size_t r = 0; r < rows; r++)
		SIMD_FOR (size_t v = 0; v < vectors; v++)
			sum[r][v] = v_set(0);
}

/* A tile's first token and a panel's first value. */
struct at {
	size_t token, value;
};

/* Vector V of token R of the tile of values: zeros, where there are none. */
SIMD_INLINE vfloat load_value(const struct delta_call *call, struct at at, size_t r, size_t v)
{
	const size_t value = at.value + v * LANES;
	if (at.token + r >= call->tokens || value >= call->rows)
		return v_set(0);
	return v_load_left(call->v + (at.token + r) * call->row + value, call->rows - value, 0);
}

SIMD_INLINE void store_y(const struct delta_call *call, struct at at, size_t r, size_t v, vfloat y)
{
	const size_t value = at.value + v * LANES;
	if (at.token + r >= call->tokens || value >= call->rows)
		return;
	float *to = call->y + (at.token + r) * call->y_row + value;
	if (call->rows - value >= LANES)
		v_store(to, y);
	else
		v_store_part(to, y, call->rows - value);
}

/* What the tile's tokens add, after those before them in the chunk are known. */
SIMD_BODY void solve_tile(const struct delta_call *call, const struct chunk *c, const float *state, const size_t rows,
			  const size_t vectors, struct at at)
{
	const float *own = c->by_keys + at.token * c->count;
	tile sum;
	clear(rows, vectors, sum);
	add_product(rows, vectors, c->key + at.token * c->k, c->k, 1, state, c->k, sum);
	SIMD_FOR (size_t r = 0; r < rows; r++) {
		const vfloat minus_decay = v_set(-c->decay[at.token + r]), beta = v_set(c->beta[at.token + r]);
		SIMD_FOR (size_t v = 0; v < vectors; v++)
			sum[r][v] = v_mul(beta, v_fma(minus_decay, sum[r][v], load_value(call, at, r, v)));
	}
	add_product(rows, vectors, own, c->count, 1, c->added, at.token, sum);
	SIMD_FOR (size_t i = 0; i < rows; i++)
		SIMD_FOR (size_t r = i + 1; r < rows; r++) {
			const vfloat a = v_set(own[r * c->count + at.token + i]);
			SIMD_FOR (size_t v = 0; v < vectors; v++)
				sum[r][v] = v_fma(a, sum[i][v], sum[r][v]);
		}
	SIMD_FOR (size_t r = 0; r < rows; r++)
		SIMD_FOR (size_t v = 0; v < vectors; v++)
			v_store(c->added + ((at.token + r) * vectors + v) * LANES, sum[r][v]);
}

/* The same without the correction. */
SIMD_BODY void add_tile(const struct delta_call *call, const struct chunk *c, const size_t rows, const size_t vectors,
			struct at at)
{
	SIMD_FOR (size_t r = 0; r < rows; r++)
		SIMD_FOR (size_t v = 0; v < vectors; v++)
			v_store(c->added + ((at.token + r) * vectors + v) * LANES,
				v_mul(v_set(c->beta[at.token + r]), load_value(call, at, r, v)));
}

SIMD_BODY void y_tile(const struct delta_call *call, const struct chunk *c, const float *state,
		      const int has_correction, const size_t rows, const size_t vectors, struct at at)
{
	const float *own = c->by_queries + at.token * c->count;
	tile sum;
	clear(rows, vectors, sum);
	add_product(rows, vectors, c->query + at.token * c->k, c->k, 1, state, c->k, sum);
	SIMD_FOR (size_t r = 0; r < rows; r++)
		SIMD_FOR (size_t v = 0; v < vectors; v++)
			sum[r][v] = v_mul(v_set(c->decay[at.token + r]), sum[r][v]);
	add_product(rows, vectors, own, c->count, 1, c->added, at.token, sum);
	/* Not of tokens behind a row's own, whose NaNs are theirs alone. */
	SIMD_FOR (size_t i = 0; i < rows; i++) {
		vfloat added[VECTORS_MAX];
		SIMD_FOR (size_t v = 0; v < vectors; v++)
			added[v] = v_load(c->added + ((at.token + i) * vectors + v) * LANES);
		SIMD_FOR (size_t r = i; r < rows; r++) {
			const vfloat a = v_set(own[r * c->count + at.token + i]);
			SIMD_FOR (size_t v = 0; v < vectors; v++)
				sum[r][v] = v_fma(a, added[v], sum[r][v]);
		}
	}
	SIMD_FOR (size_t r = 0; r < rows; r++)
		SIMD_FOR (size_t v = 0; v < vectors; v++) {
			const vfloat skip = v_set(call->skip);
			store_y(call, at, r, v,
				has_correction ? sum[r][v] : v_fma(skip, load_value(call, at, r, v), sum[r][v]));
		}
}

/* ROWS keys of the state, from KEY on, become what they are behind the chunk. */
SIMD_BODY void state_tile(const struct chunk *c, float *state, const size_t rows, const size_t vectors, size_t key)
{
	const vfloat decay = v_set(c->decay[c->count - 1]);
	tile sum;
	SIMD_FOR (size_t r = 0; r < rows; r++)
		SIMD_FOR (size_t v = 0; v < vectors; v++)
			sum[r][v] = v_mul(decay, v_load(state + ((key + r) * vectors + v) * LANES));
	add_product(rows, vectors, c->key + key, 1, c->k, c->added, c->count, sum);
	SIMD_FOR (size_t r = 0; r < rows; r++)
		SIMD_FOR (size_t v = 0; v < vectors; v++)
			v_store(state + ((key + r) * vectors + v) * LANES, sum[r][v]);
}

/* The panel of values from VALUE on. */
SIMD_BODY void write_panel(const struct delta_call *call, const struct chunk *c, float *state, const int has_correction,
			   const size_t rows, const size_t vectors, size_t value)
{
	for (size_t t = 0; t < c->count; t += rows) {
		if (has_correction)
			solve_tile(call, c, state, rows, vectors, (struct at){ t, value });
		else
			add_tile(call, c, rows, vectors, (struct at){ t, value });
	}
	for (size_t t = 0; t < call->tokens; t += rows)
		y_tile(call, c, state, has_correction, rows, vectors, (struct at){ t, value });
	for (size_t t = 0; t < c->count; t++)
		for (size_t v = 0; v < vectors; v++) {
			float *added = c->added + (t * vectors + v) * LANES;
			v_store(added, v_mul(v_load(added), v_set(c->left[t])));
		}
	for (size_t i = 0; i < c->k; i += rows)
		state_tile(c, state, rows, vectors, i);
}

SIMD_INLINE void write_chunk(const struct delta_call *call, float *state, float *room, const int has_correction,
			     const size_t rows, const size_t vectors)
{
	const size_t k = call->k, count = (call->tokens + STEP - 1) / STEP * STEP, all = count * k;
	struct chunk c = { .k = k,
			   .count = count,
			   .key = room,
			   .query = room + all,
			   .turned = room + 2 * all,
			   .by_keys = room + 3 * all,
			   .by_queries = room + 3 * all + count * count,
			   .added = room + 3 * all + 2 * count * count };
	double sums[DELTA_CHUNK_MAX];
	take_tokens(call, has_correction, &c);
	take_gates(call, &c, sums);
	take_products(&c, has_correction, sums);
	for (size_t value = 0; value < call->rows; value += vectors * LANES)
		write_panel(call, &c, state + value * k, has_correction, rows, vectors, value);
}

#define CHUNK_ROW(rule, state, rows_, vectors_)                                                   \
	{                                                                                         \
		.name = #rule "_prefill_" #state "_chunk_" #rows_ "x" #vectors_ "_" SIMD_TEXT,    \
		.contract = TCB_CONTRACT_F32, .isa = SIMD_ISA_ID, .layout = TCB_LAYOUT_NATIVE,    \
		.micro = { rows_, (vectors_)*LANES, 1 }, .unroll = 1, .class = TCB_CLASS_BOUNDED, \
		.signed_in = tcb_signed_variants,                                                 \
		.entry = (void (*)(void))SIMD_NAME(rule##_chunk_##rows_##x##vectors_),            \
	}
#define CHUNK_ENTRY(rule, has_correction, rows, vectors)                                                    \
	static void SIMD_NAME(rule##_chunk_##rows##x##vectors)(const struct delta_call *call, float *state, \
							       float *room)                                 \
	{                                                                                                   \
		write_chunk(call, state, room, has_correction, rows, vectors);                              \
	}
/* A tile has as many vectors as registers hold beside those of a row of the panel and a number in all lanes. */
#if LANES == 8
#define TILE(X, ...) X(__VA_ARGS__, 4, 2)
#elif LANES == 1
#define TILE(X, ...) X(__VA_ARGS__, 2, 4)
#else
#define TILE(X, ...) X(__VA_ARGS__, 8, 2)
#endif
#define CHUNK_TABLE(state, ID, type, text, rule)                                  \
	const struct tcb_variant SIMD_NAME(rule##_chunk_##state##_variants)[] = { \
		TILE(CHUNK_ROW, rule, state),                                     \
		{ .name = NULL },                                                 \
	};

TILE(CHUNK_ENTRY, delta, 1)
TILE(CHUNK_ENTRY, ssd, 0)
DELTA_STATE_LIST(CHUNK_TABLE, delta)
DELTA_STATE_LIST(CHUNK_TABLE, ssd)
