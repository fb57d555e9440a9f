/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of attention_prefill_bf16 under contract f16 on CPUs that multiply
 * pairs of bf16, in vector operations; what attention_tile_kernels.c does with floats.
 *
 * Both products are sums over pairs: S over two values of the head, whose words of K
 * are transposed so that lanes are KV tokens; O over two tokens, whose rows of V are
 * interleaved so that lanes are the head's values.  Both lie as columns of vectors,
 * [vector][pair][lane], in half of the memory that floats take.
 */
#include "kernels/attention/attention_bf16.h"

/* --- to pairs --- */

/* A unit of LANES tokens from T on, or the LEFT values of it. */
SIMD_INLINE void pack_k_unit(const struct attention_call *call, size_t t, size_t at, size_t left)
{
	float *to = call->packed + (t * call->q_lead + at * LANES) / 2;
	vfloat r[LANES];
	SIMD_FOR (size_t i = 0; i < LANES; i++)
		r[i] = v_from_bits(load_unit((const char *)call->k_rows[t + i] + 2 * at, left));
	v_transpose(r);
	SIMD_FOR (size_t i = 0; i < PAIRS; i++)
		v_store(to + i * LANES, r[i]);
}

SIMD_INLINE void pack_k(const struct attention_call *call)
{
	const size_t whole = call->k / UNIT * UNIT;
	for (size_t t = 0; t < call->tokens; t += LANES) {
		for (size_t at = 0; at < whole; at += UNIT)
			pack_k_unit(call, t, at, UNIT);
		if (whole < call->k)
			pack_k_unit(call, t, whole, call->k - whole);
	}
}

SIMD_INLINE void pack_v_unit(const struct attention_call *call, size_t t, size_t at, size_t left)
{
	const size_t column = call->lead / 2 * LANES;
	const char *even = (const char *)call->v_rows[t] + 2 * at, *odd = (const char *)call->v_rows[t + 1] + 2 * at;
	float *to = call->packed + at / LANES * column + t / 2 * LANES;
	vint pair[UNIT_VECTORS];
	vi_interleave(load_unit(even, left), load_unit(odd, left), pair);
	SIMD_FOR (size_t v = 0; v < UNIT_VECTORS; v++)
		vi_store(to + v * column, pair[v]);
}

/* Past an odd number of tokens is another that has weights of 0. */
SIMD_INLINE void pack_v(const struct attention_call *call)
{
	const size_t whole = call->v / UNIT * UNIT;
	for (size_t t = 0; t < call->tokens; t += 2) {
		for (size_t at = 0; at < whole; at += UNIT)
			pack_v_unit(call, t, at, UNIT);
		if (whole < call->v)
			pack_v_unit(call, t, whole, call->v - whole);
	}
}

/* --- products --- */

/* C of ROWS by VECTORS vectors, times FACTOR, or what is added to it: sums over PAIRS_ pairs of A's rows and B's
 * vectors.  Rows of A and C and vectors of B lie A_LEAD bf16, C_LEAD floats and B_LEAD words apart. */
SIMD_BODY void product(const int rows, const int vectors, const int adds, size_t depth, const int16_t *a, size_t a_lead,
		       const float *b, size_t b_lead, float *c, size_t c_lead, float factor)
{
	vfloat sum[16][4];
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < vectors; v++)
			sum[r][v] = adds ? v_load(c + (size_t)r * c_lead + (size_t)v * LANES) : v_set(0);
	for (size_t i = 0; i < depth; i++) {
		vint column[4];
		SIMD_FOR (int v = 0; v < vectors; v++)
			column[v] = vi_load(b + (size_t)v * b_lead + i * LANES);
		SIMD_FOR (int r = 0; r < rows; r++) {
			const vint x = vi_two_halves(a + (size_t)r * a_lead + 2 * i);
			SIMD_FOR (int v = 0; v < vectors; v++)
				sum[r][v] = v_dot_bf16(sum[r][v], x, column[v]);
		}
	}
	SIMD_FOR (int r = 0; r < rows; r++)
		SIMD_FOR (int v = 0; v < vectors; v++)
			v_store(c + (size_t)r * c_lead + (size_t)v * LANES,
				adds ? sum[r][v] : v_mul(sum[r][v], v_set(factor)));
}

/* All register tiles of a product of COLUMNS vectors: those of a column of B one after the other, while it is near.
 * Rows of A lie where rows of A_LEAD floats would. */
SIMD_INLINE void products(const struct attention_call *call, const int rows, const int vectors, const int adds,
			  size_t columns, size_t depth, const float *a, size_t a_lead, size_t b_lead, float *c,
			  size_t c_lead)
{
	const size_t first = call->first_row / (size_t)rows * (size_t)rows;
	const int16_t *of_a = (const int16_t *)(const void *)a;
	const float factor = rest_of(call);
	size_t v = 0;
	for (; v + (size_t)vectors <= columns; v += (size_t)vectors)
		for (size_t r = first; r < call->end_row; r += (size_t)rows)
			product(rows, vectors, adds, depth, of_a + 2 * r * a_lead, 2 * a_lead,
				call->packed + v * b_lead, b_lead, c + r * c_lead + v * LANES, c_lead, factor);
	for (; v < columns; v++)
		for (size_t r = first; r < call->end_row; r += (size_t)rows)
			product(rows, 1, adds, depth, of_a + 2 * r * a_lead, 2 * a_lead, call->packed + v * b_lead,
				b_lead, c + r * c_lead + v * LANES, c_lead, factor);
}

/* --- a tile --- */

/* As in attention_tile_kernels.c, but for bf16. */
SIMD_INLINE void weights(const struct attention_call *call, const int rows)
{
	const size_t first = call->first_row / (size_t)rows * (size_t)rows;
	const size_t end = (call->end_row + (size_t)rows - 1) / (size_t)rows * (size_t)rows;
	const size_t here = end < call->rows ? end : call->rows;
	for (size_t r = first; r < here; r += LANES)
		weigh_rows(call, r, here - r < LANES ? here - r : LANES, 1, 1);
	for (size_t r = here; r < end; r++)
		memset(call->scores + r * call->lead, 0, call->tokens * sizeof(float));
}

SIMD_BODY void tile(const struct attention_call *call, const int rows, const int vectors)
{
	const size_t token_vectors = (call->tokens + LANES - 1) / LANES;
	pack_k(call);
	products(call, rows, vectors, 0, token_vectors, call->q_lead / 2, call->q, call->q_lead,
		 call->q_lead / 2 * LANES, call->scores, call->lead);
	weights(call, rows);
	pack_v(call);
	products(call, rows, vectors, 1, call->o_lead / LANES, (call->tokens + 1) / 2, call->scores, call->lead,
		 call->lead / 2 * LANES, call->o, call->o_lead);
}

/* Registers hold the sums, a column and a pair of values. */
#define SIZES(X) X(4, 64) X(8, 32) X(16, 16)

#define ATTENTION_KERNEL(m, n)                                              \
	static void micro_bf16_##m##x##n(const struct attention_call *call) \
	{                                                                   \
		const unsigned before = v_flush_begin();                    \
		if (call->stage == ATTENTION_TILE)                          \
			tile(call, m, n / LANES);                           \
		else                                                        \
			around_tiles_bf16(call, 0);                         \
		v_flush_end(before);                                        \
	}
#define ATTENTION_ROWS(m, n) ATTENTION_ROW(prefill_bf16, TCB_CONTRACT_F16, "half", m, n, micro_bf16_##m##x##n)

SIZES(ATTENTION_KERNEL)
const struct tcb_variant SIMD_NAME(attention_prefill_bf16_half_variants)[] = {
	SIZES(ATTENTION_ROWS){ .name = NULL },
};
