/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of attention_prefill on CPUs, written once in vector operations:
 * two matrix products a tile, S = Q K^T and O += P V, by one register tile of ROWS
 * query rows by VECTORS vectors.  K and V become floats once for all query rows of a
 * tile: K transposed, so that lanes are KV tokens in S; V as it is, so that lanes are
 * the head's values in O; both as columns of vectors, [vector][depth][lane].
 *
 * Rows up to whole register tiles are in memory; those past the last are zeros.
 */
#include "kernels/attention/attention_micro.h"

/* --- to floats --- */

SIMD_INLINE void pack_k(const struct attention_call *call, const enum tcb_kv_kind kind)
{
	for (size_t t = 0; t < call->tokens; t += LANES)
		for (size_t at = 0; at < call->k; at += LANES) {
			const size_t left = call->k - at;
			vfloat r[LANES];
			SIMD_FOR (size_t i = 0; i < LANES; i++)
				r[i] = load_kv_left(kind, call->k_rows[t + i], at, left);
#if LANES > 1
			v_transpose(r);
#endif
			SIMD_FOR (size_t i = 0; i < LANES; i++)
				if (i < left)
					v_store(call->packed + t * call->k + (at + i) * LANES, r[i]);
		}
}

SIMD_INLINE void pack_v(const struct attention_call *call, const enum tcb_kv_kind kind)
{
	for (size_t t = 0; t < call->tokens; t++)
		for (size_t at = 0; at < call->v; at += LANES)
			v_store(call->packed + at * call->lead + t * LANES,
				load_kv_left(kind, call->v_rows[t], at, call->v - at));
}

/* --- products --- */

/* C of ROWS by VECTORS vectors, or what is added to it: sums over DEPTH of A's rows and B's vectors.  Rows of A and C
 * and vectors of B lie A_LEAD, C_LEAD and B_LEAD floats apart. */
SIMD_BODY void product(const int rows, const int vectors, const int adds, size_t depth, const float *a, size_t a_lead,
		       const float *b, size_t b_lead, float *c, size_t c_lead)
{
	vfloat sum[16][4];
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < vectors; v++)
			sum[r][v] = adds ? v_load(c + (size_t)r * c_lead + (size_t)v * LANES) : v_set(0);
	for (size_t i = 0; i < depth; i++) {
		vfloat column[4];
		SIMD_FOR (int v = 0; v < vectors; v++)
			column[v] = v_load(b + (size_t)v * b_lead + i * LANES);
		SIMD_FOR (int r = 0; r < rows; r++) {
			const vfloat x = v_set(a[(size_t)r * a_lead + i]);
			SIMD_FOR (int v = 0; v < vectors; v++)
				sum[r][v] = v_fma(x, column[v], sum[r][v]);
		}
	}
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < vectors; v++)
			v_store(c + (size_t)r * c_lead + (size_t)v * LANES, sum[r][v]);
}

/* All register tiles of a product of COLUMNS vectors: those of a column of B one after the other, while it is near. */
SIMD_INLINE void products(const struct attention_call *call, const int rows, const int vectors, const int adds,
			  size_t columns, size_t depth, const float *a, size_t a_lead, size_t b_lead, float *c,
			  size_t c_lead)
{
	const size_t first = call->first_row / (size_t)rows * (size_t)rows;
	size_t v = 0;
	for (; v + (size_t)vectors <= columns; v += (size_t)vectors)
		for (size_t r = first; r < call->end_row; r += (size_t)rows)
			product(rows, vectors, adds, depth, a + r * a_lead, a_lead, call->packed + v * b_lead, b_lead,
				c + r * c_lead + v * LANES, c_lead);
	for (; v < columns; v++)
		for (size_t r = first; r < call->end_row; r += (size_t)rows)
			product(rows, 1, adds, depth, a + r * a_lead, a_lead, call->packed + v * b_lead, b_lead,
				c + r * c_lead + v * LANES, c_lead);
}

/* --- a tile --- */

/* Rows of register tiles that look at this tile of KV, too: who sees none of it gets weights of 0. */
SIMD_INLINE void weights(const struct attention_call *call, const int rows)
{
	const size_t first = call->first_row / (size_t)rows * (size_t)rows;
	const size_t end = (call->end_row + (size_t)rows - 1) / (size_t)rows * (size_t)rows;
	const size_t here = end < call->rows ? end : call->rows;
	for (size_t r = first; r < here; r += LANES)
		weigh_rows(call, r, here - r < LANES ? here - r : LANES, 1, 0);
	for (size_t r = here; r < end; r++)
		memset(call->scores + r * call->lead, 0, call->tokens * sizeof(float));
}

typedef void pack_fn(const struct attention_call *call);

SIMD_BODY void tile(const struct attention_call *call, pack_fn *k, pack_fn *v, const int rows, const int vectors)
{
	const size_t token_vectors = (call->tokens + LANES - 1) / LANES;
	k(call);
	products(call, rows, vectors, 0, token_vectors, call->k, call->q, call->q_lead, call->k * LANES, call->scores,
		 call->lead);
	weights(call, rows);
	v(call);
	products(call, rows, vectors, 1, (call->v + LANES - 1) / LANES, call->tokens, call->scores, call->lead,
		 call->lead * LANES, call->o, call->o_lead);
}

/* Registers hold the sums, a column and a value: 16 of 8 lanes, 32 of others. */
#if LANES == 1
#define SIZES(X, ...) X(2, 4, __VA_ARGS__) X(4, 4, __VA_ARGS__)
#elif LANES == 4
#define SIZES(X, ...) X(4, 16, __VA_ARGS__) X(8, 8, __VA_ARGS__)
#elif LANES == 8
#define SIZES(X, ...) X(2, 32, __VA_ARGS__) X(4, 16, __VA_ARGS__) X(8, 8, __VA_ARGS__)
#else
#define SIZES(X, ...) X(4, 64, __VA_ARGS__) X(8, 32, __VA_ARGS__) X(16, 16, __VA_ARGS__)
#endif

/* Of a kind of K or V what makes floats of it, of a size of register tiles all else. */
#define OF_KIND(ID, ...)                                                                     \
	static __attribute__((noinline)) void pack_k_##ID(const struct attention_call *call) \
	{                                                                                    \
		pack_k(call, TCB_KV_KIND_##ID);                                              \
	}                                                                                    \
	static __attribute__((noinline)) void pack_v_##ID(const struct attention_call *call) \
	{                                                                                    \
		pack_v(call, TCB_KV_KIND_##ID);                                              \
	}
TCB_KV_KIND_LIST(OF_KIND)

#define OF_SIZE(m, n, ...)                                                                                  \
	static __attribute__((noinline)) void tile_##m##x##n(const struct attention_call *call, pack_fn *k, \
							     pack_fn *v)                                    \
	{                                                                                                   \
		tile(call, k, v, m, n / LANES);                                                             \
	}
SIZES(OF_SIZE, )

#define ATTENTION_KERNEL(m, n, kv, K, V)                                      \
	static void micro_##kv##_##m##x##n(const struct attention_call *call) \
	{                                                                     \
		const unsigned before = v_flush_begin();                      \
		if (call->stage == ATTENTION_TILE)                            \
			tile_##m##x##n(call, pack_k_##K, pack_v_##V);         \
		else                                                          \
			around_tiles(call, 0);                                \
		v_flush_end(before);                                          \
	}
#define ATTENTION_ROWS(m, n, kv, ...)                                                      \
	ATTENTION_ROW(prefill_##kv, TCB_CONTRACT_F32, "f32", m, n, micro_##kv##_##m##x##n) \
	ATTENTION_ROW(prefill_##kv, TCB_CONTRACT_F16, "half", m, n, micro_##kv##_##m##x##n)
#define ATTENTION_TABLE(kv, ID, K, V, ...)                                          \
	SIZES(ATTENTION_KERNEL, kv, K, V)                                           \
	const struct tcb_variant SIMD_NAME(attention_prefill_##kv##_variants)[] = { \
		SIZES(ATTENTION_ROWS, kv, ){ .name = NULL },                        \
	};

TCB_KV_LIST(ATTENTION_TABLE, )
