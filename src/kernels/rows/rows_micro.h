/* SPDX-License-Identifier: MIT
 *
 * What the micro-kernels of row ops share, in the operations of rows_vec.h: an
 * op hands in the loops that are its own, and rows_micro() calls the instance
 * that the call asks for.  All of it is inlined, so that the number of chains,
 * how to prefetch and how to store are constants in every loop.
 */
#ifndef TCB_KERNELS_ROWS_MICRO_H
#define TCB_KERNELS_ROWS_MICRO_H

#include <assert.h>

#include "kernels/rows/rows.h"
#include "kernels/rows/rows_vec.h"

enum { CHAINS_MAX = 16 };

/* Before a loop over chains: early, so that what it indexes can be registers. */
#define ROWS_UNROLL _Pragma("GCC unroll 16")

/* How results are stored; of a LATE row, which is stored while the next one is reduced, NONE where there is none. */
enum rows_store { STORE_NONE, STORE_PLAIN, STORE_STREAM };

/* An op's loops.  CHAINS: the vectors in one step, and independent sums; FETCH: as v_prefetch takes it. */
struct rows_loops {
	void (*reduce)(struct rows_call *call, const int chains, const int fetch, const enum rows_store late);
	void (*apply)(const struct rows_call *call, const int chains, const int fetch, const enum rows_store store);
	void (*whole)(struct rows_call *call, const int chains, const enum rows_store store);
};

/* An op's results from VALUE, of x or e, at column AT, from which on LEFT are left in the block. */
typedef vec rows_result(const struct rows_call *call, vec value, size_t at, size_t left);

/* The results from one vector of FROM, of which there are LEFT or more than fill it. */
ROWS_INLINE void rows_store(const struct rows_call *call, const float *from, size_t at, size_t left,
			    const enum rows_store store, rows_result *result)
{
	v_store_left(call->y + at, result(call, v_load_left(from + at, left, 0), at, left), left,
		     store == STORE_STREAM);
}

ROWS_INLINE void rows_apply(const struct rows_call *call, const float *from, const int chains, const int fetch,
			    const enum rows_store store, rows_result *result)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const struct rows_call own = *call; /* which no store can change: what is in it stays in registers */
	size_t i = 0;
	for (; i + step <= count; i += step) {
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(own.x + i, u, own.prefetch, fetch);
			rows_store(&own, from, i + (size_t)u * LANES, LANES, store, result);
		}
	}
	for (; i < count; i += LANES)
		rows_store(&own, from, i, count - i, store, result);
}

ROWS_INLINE void rows_instance(struct rows_call *call, const struct rows_loops *loops, const int chains,
			       const int fetch)
{
	if (call->stage == ROWS_REDUCE && !call->late)
		loops->reduce(call, chains, fetch, STORE_NONE);
	else if (call->stage == ROWS_REDUCE && call->late->stream)
		loops->reduce(call, chains, fetch, STORE_STREAM);
	else if (call->stage == ROWS_REDUCE)
		loops->reduce(call, chains, fetch, STORE_PLAIN);
	else if (call->stream)
		loops->apply(call, chains, fetch, STORE_STREAM);
	else
		loops->apply(call, chains, fetch, STORE_PLAIN);
}

ROWS_INLINE void rows_micro(struct rows_call *call, const struct rows_loops *loops, const int chains)
{
	if (call->stage == ROWS_WHOLE && call->stream)
		loops->whole(call, chains, STORE_STREAM);
	else if (call->stage == ROWS_WHOLE)
		loops->whole(call, chains, STORE_PLAIN);
	else if (!call->prefetch)
		rows_instance(call, loops, chains, 0);
	else if (call->hint == TCB_HINT_T0)
		rows_instance(call, loops, chains, v_fetch(TCB_HINT_T0, 1));
	else if (call->hint == TCB_HINT_NTA)
		rows_instance(call, loops, chains, v_fetch(TCB_HINT_NTA, 1));
	else if (call->asks == 1)
		rows_instance(call, loops, chains, v_fetch(TCB_HINT_T1, 1));
	else if (call->asks == 2)
		rows_instance(call, loops, chains, v_fetch(TCB_HINT_T1, 2));
	else
		rows_instance(call, loops, chains, v_fetch(TCB_HINT_T1, ROWS_ASKS_MAX));
	if (call->stage != ROWS_REDUCE && call->fence)
		v_fence();
}

/* Defines the kernel <op>_f32_<isa>_1x<n> of LOOPS, and its row of the variant table. */
#define ROWS_KERNEL(op, isa, chains, n)                                    \
	static void op##_f32_##isa##_1x##n(struct rows_call *call)         \
	{                                                                  \
		_Static_assert((chains)*LANES == (n), "tile of the name"); \
		op##_micro(call, chains);                                  \
	}
#define ROWS_VARIANT(op, isa, ISA, n, class)                                                           \
	{                                                                                              \
#op "_f32_" #isa "_1x" #n, TCB_CONTRACT_F32, TCB_ISA_##ISA, TCB_LAYOUT_NATIVE,         \
			{ 1, n, 1 }, 1, class, TCB_SOURCE_HASH, (void (*)(void))op##_f32_##isa##_1x##n \
	}

#endif
