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

/* An op's loops.  CHAINS: the vectors in one step, and independent sums. */
struct rows_loops {
	void (*reduce)(struct rows_call *call, const int chains, const enum v_fetch fetch, const enum rows_store late);
	void (*apply)(const struct rows_call *call, const int chains, const enum v_fetch fetch,
		      const enum rows_store store);
	void (*whole)(struct rows_call *call, const int chains, const enum rows_store store);
};

/* An op's results from VALUE, of x or e, at column AT, from which on LEFT are left in the block. */
typedef vec rows_result(const struct rows_call *call, vec value, size_t at, size_t left);

ROWS_INLINE struct v_ahead rows_ahead(const struct rows_call *call)
{
	return (struct v_ahead){ call->prefetch, call->asks };
}

/* The results from one vector of FROM, of which there are LEFT or more than fill it. */
ROWS_INLINE void rows_store(const struct rows_call *call, const float *from, size_t at, size_t left,
			    const enum rows_store store, rows_result *result)
{
	v_store_left(call->y + at, result(call, v_load_left(from + at, left, 0), at, left), left,
		     store == STORE_STREAM);
}

ROWS_INLINE void rows_apply(const struct rows_call *call, const float *from, const int chains, const enum v_fetch fetch,
			    const enum rows_store store, rows_result *result)
{
	const size_t step = (size_t)chains * LANES, count = call->count;
	const struct rows_call own = *call; /* which no store can change: what is in it stays in registers */
	size_t i = 0;
	for (; i + step <= count; i += step) {
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(own.x + i, u, rows_ahead(&own), fetch);
			rows_store(&own, from, i + (size_t)u * LANES, LANES, store, result);
		}
	}
	for (; i < count; i += LANES)
		rows_store(&own, from, i, count - i, store, result);
}

/* APPLY, or REDUCE with a row to be stored on the way: with stages above 1, which ask with t1. */
ROWS_INLINE void rows_storing(struct rows_call *call, const struct rows_loops *loops, const int chains,
			      const enum v_fetch fetch)
{
	if (call->stage == ROWS_REDUCE && call->late->stream)
		loops->reduce(call, chains, fetch, STORE_STREAM);
	else if (call->stage == ROWS_REDUCE)
		loops->reduce(call, chains, fetch, STORE_PLAIN);
	else if (call->stream)
		loops->apply(call, chains, fetch, STORE_STREAM);
	else
		loops->apply(call, chains, fetch, STORE_PLAIN);
}

ROWS_INLINE void rows_reducing(struct rows_call *call, const struct rows_loops *loops, const int chains)
{
	if (!call->prefetch)
		loops->reduce(call, chains, FETCH_NONE, STORE_NONE);
	else if (call->hint == TCB_HINT_T0)
		loops->reduce(call, chains, FETCH_T0, STORE_NONE);
	else /* of stages=3 the first row of a task, too */
		loops->reduce(call, chains, FETCH_T1, STORE_NONE);
}

/* The instances that a plan can ask for (rows.c), and no others: each is a few loops to compile. */
ROWS_INLINE void rows_micro(struct rows_call *call, const struct rows_loops *loops, const int chains)
{
	assert(call->stage == ROWS_WHOLE || rows_has_loops((size_t)chains));
	if (call->stage == ROWS_WHOLE && call->stream)
		loops->whole(call, chains, STORE_STREAM);
	else if (call->stage == ROWS_WHOLE)
		loops->whole(call, chains, STORE_PLAIN);
	else if (!rows_has_loops((size_t)chains))
		return;
	else if (call->stage == ROWS_REDUCE && !call->late)
		rows_reducing(call, loops, chains);
	else if (!call->prefetch)
		rows_storing(call, loops, chains, FETCH_NONE);
	else if (call->asks == 1)
		rows_storing(call, loops, chains, FETCH_T1);
	else
		rows_storing(call, loops, chains, FETCH_T1_OFTEN);
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
