/* SPDX-License-Identifier: MIT
 *
 * Register tiles of the dense products, generic over size and vector width: M
 * rows x VECTORS vectors of columns.  One call walks a block of k.  A step
 * takes a row of the panel of B in registers and spreads the values of A's
 * panel one by one.
 */
#include <assert.h>

#include "kernels/matmul/matmul_move.h"

enum {
	TILE_VECTORS_MAX = 32,
	STEPS = 4,      /* in a loop's body: what counts and compares takes the place of products */
	A_AHEAD = 1024, /* bytes */
};

/* Asks for the lines of vectors V of a row of B, PREFETCH bytes on: to the second cache, because rows that are a power
 * of two apart share few sets of the first. */
SIMD_INLINE void prefetch_b(const void *row, size_t each, size_t prefetch, const int vectors)
{
	for (size_t at = 0; at < (size_t)vectors * LANES * each; at += MATMUL_LINE)
		__builtin_prefetch((const void *)((uintptr_t)row + at + prefetch), 0, 2);
}

/* The rows of C are asked for long before they are needed. */
SIMD_INLINE void prefetch_c(const struct matmul_call *call, const int m, const int vectors)
{
	for (int i = 0; i < m; i++) {
		const uintptr_t row = (uintptr_t)(call->c + (size_t)i * call->c_stride);
		for (size_t at = 0; at < (size_t)vectors * LANES * sizeof(float); at += MATMUL_LINE)
			__builtin_prefetch((const void *)(row + at), 1, 3);
	}
}

/* Leaves the sums in C, added to what it has if the call says so. */
SIMD_INLINE void close_tile(const struct matmul_call *call, const int m, const int vectors,
			    vfloat sum[TILE_VECTORS_MAX])
{
	const int is_whole = call->rows == (size_t)m && call->columns == (size_t)vectors * LANES;
	const int accumulate = call->accumulate; /* which no store can change */
	SIMD_FOR (int i = 0; i < m; i++) {
		float *row = call->c + (size_t)i * call->c_stride;
		SIMD_FOR (int v = 0; v < vectors; v++) {
			const size_t first = (size_t)v * LANES, left = left_of(call->columns, first);
			float *to = row + first;
			vfloat value = sum[i * vectors + v];
			if (is_whole) {
				v_store(to, accumulate ? v_add(v_load(to), value) : value);
			} else if ((size_t)i < call->rows && left) {
				value = accumulate ? v_add(v_load_left(to, left, 0), value) : value;
				v_store_left(to, value, left, 0);
			}
		}
	}
}

/* The panel of A goes by once, out of the second cache, and the next one follows it. */
SIMD_INLINE void prefetch_a(const float *a, const int m)
{
	for (size_t at = 0; at < STEPS * (size_t)m * sizeof(float); at += MATMUL_LINE)
		__builtin_prefetch((const void *)((uintptr_t)a + A_AHEAD + at), 0, 3);
}

/* A row of B, at B, and as many values of A, at A. */
SIMD_INLINE void take_step(const struct matmul_call *call, const int m, const int vectors, const int is_stored,
			   const enum tcb_type type, const float *a, const char *b, vfloat sum[TILE_VECTORS_MAX])
{
	const size_t each = is_stored ? tcb_type_bytes(type) : sizeof(float);
	vfloat row[TILE_VECTORS_MAX];
	if (is_stored && call->prefetch)
		prefetch_b(b, each, call->prefetch, vectors);
	SIMD_FOR (int v = 0; v < vectors; v++)
		row[v] = load_as(type, b + (size_t)v * LANES * each);
	SIMD_FOR (int i = 0; i < m; i++) {
		const vfloat value = v_set(a[i]);
		SIMD_FOR (int v = 0; v < vectors; v++)
			sum[i * vectors + v] = v_fma(value, row[v], sum[i * vectors + v]);
	}
}

/* The sums start from 0, not from C, so that they need not wait for it. */
SIMD_BODY void run_tile(const struct matmul_call *call, const int m, const int vectors, const int is_stored,
			const enum tcb_type type)
{
	const size_t each = is_stored ? tcb_type_bytes(type) : sizeof(float);
	const size_t b_step = (is_stored ? call->b_stride : (size_t)vectors * LANES) * each;
	const float *a = call->a;
	const char *b = call->b;
	vfloat sum[TILE_VECTORS_MAX];
	assert(call->k && call->rows <= (size_t)m && call->columns <= (size_t)vectors * LANES);
	prefetch_c(call, m, vectors);
	SIMD_FOR (int i = 0; i < m * vectors; i++)
		sum[i] = v_set(0);
	size_t k = call->k;
	for (; k >= STEPS; k -= STEPS, a += STEPS * m, b += STEPS * b_step) {
		prefetch_a(a, m);
		SIMD_FOR (int i = 0; i < STEPS; i++)
			take_step(call, m, vectors, is_stored, type, a + i * m, b + (size_t)i * b_step, sum);
	}
	for (; k; k--, a += m, b += b_step)
		take_step(call, m, vectors, is_stored, type, a, b, sum);
	close_tile(call, m, vectors, sum);
}

/* X(m, n, ...) over a family's sizes. */
#define MATMUL_STORED(m, n, type, id)                                                                                 \
	static void stored_##type##_##m##x##n(const struct matmul_call *call)                                         \
	{                                                                                                             \
		run_tile(call, m, n / LANES, 1, id);                                                                  \
	}                                                                                                             \
	static const struct matmul_kernels *entry_##type##_##m##x##n(void)                                            \
	{                                                                                                             \
		static const struct matmul_kernels kernels = { panel_##m##x##n, stored_##type##_##m##x##n, &movers }; \
		return &kernels;                                                                                      \
	}
#define MATMUL_TILE(m, n, unused)                                   \
	static void panel_##m##x##n(const struct matmul_call *call) \
	{                                                           \
		run_tile(call, m, n / LANES, 0, TCB_TYPE_F32);      \
	}                                                           \
	MATMUL_STORED(m, n, f32, TCB_TYPE_F32)                      \
	MATMUL_STORED(m, n, f16, TCB_TYPE_F16)                      \
	MATMUL_STORED(m, n, bf16, TCB_TYPE_BF16)

/* Sizes of tiles: registers hold their sums, a row of B and a value of A; there are 16 with 8 lanes, or 32. */
#if LANES == 1
#define SIZES(X, ...) X(2, 4, __VA_ARGS__) X(4, 2, __VA_ARGS__) X(4, 4, __VA_ARGS__)
#elif LANES == 4
#define SIZES(X, ...)         \
	X(1, 32, __VA_ARGS__) \
	X(2, 32, __VA_ARGS__) X(4, 16, __VA_ARGS__) X(6, 16, __VA_ARGS__) X(8, 12, __VA_ARGS__) X(12, 8, __VA_ARGS__)
#elif LANES == 8
#define SIZES(X, ...)         \
	X(1, 32, __VA_ARGS__) \
	X(2, 32, __VA_ARGS__) X(4, 16, __VA_ARGS__) X(4, 24, __VA_ARGS__) X(6, 16, __VA_ARGS__) X(12, 8, __VA_ARGS__)
#else
#define SIZES(X, ...)         \
	X(1, 64, __VA_ARGS__) \
	X(2, 64, __VA_ARGS__) \
	X(4, 64, __VA_ARGS__) \
	X(6, 64, __VA_ARGS__) \
	X(8, 32, __VA_ARGS__) X(8, 48, __VA_ARGS__) X(12, 32, __VA_ARGS__) X(14, 32, __VA_ARGS__) X(30, 16, __VA_ARGS__)
#endif
static void pack_a(const struct matmul_part *part, size_t wide, float *out)
{
	if (part->type == TCB_TYPE_F32)
		pack_a_as(part, TCB_TYPE_F32, wide, out);
	else if (part->type == TCB_TYPE_F16)
		pack_a_as(part, TCB_TYPE_F16, wide, out);
	else
		pack_a_as(part, TCB_TYPE_BF16, wide, out);
}

static void pack_b(const struct matmul_part *part, size_t wide, size_t prefetch, float *out)
{
	if (part->type == TCB_TYPE_F32)
		pack_b_as(part, TCB_TYPE_F32, wide, prefetch, out);
	else if (part->type == TCB_TYPE_F16)
		pack_b_as(part, TCB_TYPE_F16, wide, prefetch, out);
	else
		pack_b_as(part, TCB_TYPE_BF16, wide, prefetch, out);
}

static void narrow(enum tcb_type type, const float *sums, size_t count, void *out)
{
	if (type == TCB_TYPE_F16)
		narrow_as(TCB_TYPE_F16, sums, count, out);
	else
		narrow_as(TCB_TYPE_BF16, sums, count, out);
}

static const struct matmul_movers movers = { pack_a, pack_b, narrow };
SIZES(MATMUL_TILE, 0)
const struct tcb_variant SIMD_NAME(matmul_f32_variants)[] = { SIZES(MATMUL_ROW, f32, F32, EXACT){ .name = NULL } };
const struct tcb_variant SIMD_NAME(matmul_f16_variants)[] = { SIZES(MATMUL_ROW, f16, F16, BOUNDED){ .name = NULL } };
const struct tcb_variant SIMD_NAME(matmul_bf16_variants)[] = { SIZES(MATMUL_ROW, bf16, F16, BOUNDED){ .name = NULL } };
