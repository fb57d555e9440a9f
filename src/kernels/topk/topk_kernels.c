/* SPDX-License-Identifier: MIT
 *
 * The micro-kernels of topk: a part of a row comes in, keys of its best scores go out.
 *
 * Few scores of a row are above the k-th best of those before them, and a score that
 * equals it is of a higher column: so vectors are compared with it, and only those that
 * have more are looked at.  Keys gather in twice the room that they need; when it is
 * full, half of them go, and the k-th best is another.
 */
#include <math.h>

#include "kernels/simd/simd.h"
#include "kernels/topk/topk.h"
#include "kernels/topk/topk_keys.h"

/* The keys held, COUNT of them; the k-th best's score, and its rank (0, of NaN, also while there are fewer than K). */
struct held {
	uint64_t *keys;
	size_t count, k;
	float least;
	uint32_t rank;
};

/* Down to K keys. */
static __attribute__((noinline)) void halve(struct held *h, const struct topk_call *call)
{
	topk_select(h->keys, h->count, h->k);
	h->count = h->k;
	uint64_t least = h->keys[0];
	for (size_t i = 1; i < h->k; i++)
		least = h->keys[i] < least ? h->keys[i] : least;
	h->least = call->x[topk_column(least) - call->first];
	h->rank = topk_rank(h->least);
}

/* COUNT scores from AT on, one by one. */
static __attribute__((noinline)) void look(struct held *h, const struct topk_call *call, size_t at, size_t count)
{
	for (size_t i = at; i < at + count; i++) {
		if (h->count >= h->k && topk_rank(call->x[i]) <= h->rank)
			continue;
		h->keys[h->count++] = topk_key(call->x[i], call->first + i);
		if (h->count == 2 * h->k || h->count == h->k)
			halve(h, call);
	}
}

/* The scores of some vectors at AT, of which one is above the k-th best, a number. */
SIMD_INLINE void look_at_vectors(struct held *h, const struct topk_call *call, size_t at, const int vectors)
{
	for (int u = 0; u < vectors; u++) {
		const size_t first = at + (size_t)u * LANES;
		if (!v_any_above(v_load(call->x + first), v_set(h->least)))
			continue;
		for (size_t i = first; i < first + LANES; i++) {
			if (!(call->x[i] > h->least))
				continue;
			h->keys[h->count++] = topk_key(call->x[i], call->first + i);
			if (h->count == 2 * h->k)
				halve(h, call);
		}
	}
}

SIMD_INLINE void best(struct topk_call *call, const int vectors)
{
	const size_t step = (size_t)vectors * LANES, count = call->columns;
	struct held h = { call->keys, 0, call->k, NAN, 0 };
	size_t i = count < call->k ? count : call->k;
	look(&h, call, 0, i);
	for (; i + step <= count; i += step) {
		vfloat most = v_set(h.least);
		if (h.rank == 0) { /* above a NaN is every number */
			look(&h, call, i, step);
			continue;
		}
		SIMD_FOR (int u = 0; u < vectors; u++)
			most = v_max(v_load(call->x + i + (size_t)u * LANES), most); /* of a NaN what was before */
		if (v_any_above(most, v_set(h.least)))
			look_at_vectors(&h, call, i, vectors);
	}
	look(&h, call, i, count - i);
	if (h.count > h.k)
		halve(&h, call);
	call->count = h.count;
}

#define KERNEL(vectors, n)                                 \
	static void topk_f32_1x##n(struct topk_call *call) \
	{                                                  \
		best(call, vectors);                       \
	}
#define ROW(vectors, n)                   \
	{ "topk_f32_" SIMD_TEXT "_1x" #n, \
	  TCB_CONTRACT_F32,               \
	  SIMD_ISA_ID,                    \
	  TCB_LAYOUT_NATIVE,              \
	  { 1, (vectors)*LANES, 1 },      \
	  1,                              \
	  TCB_CLASS_EXACT,                \
	  tcb_signed_variants,            \
	  (void (*)(void))topk_f32_1x##n },
/* The scores of 4 and of 8 vectors. */
#if LANES == 1
#define SIZES(X) X(4, 4) X(8, 8)
#elif LANES == 4
#define SIZES(X) X(4, 16) X(8, 32)
#elif LANES == 8
#define SIZES(X) X(4, 32) X(8, 64)
#else
#define SIZES(X) X(4, 64) X(8, 128)
#endif
SIZES(KERNEL)
const struct tcb_variant SIMD_NAME(topk_variants)[] = { SIZES(ROW){ 0 } };
