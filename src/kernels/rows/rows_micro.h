/* SPDX-License-Identifier: MIT
 *
 * What the micro-kernels of row ops share, in the operations of rows_vec.h: an
 * op hands in the loops that are its own, and rows_micro() calls the instance
 * that the call asks for.
 */
#ifndef TCB_KERNELS_ROWS_MICRO_H
#define TCB_KERNELS_ROWS_MICRO_H

#include <assert.h>

#include "kernels/rows/rows.h"
#include "kernels/rows/rows_vec.h"

enum { CHAINS_MAX = 16 };

/* Before a loop over chains: early, so that what it indexes can be registers; as SIMD_FOR. */
#if SIMD_SOON
#define ROWS_UNROLL
#else
#define ROWS_UNROLL _Pragma("GCC unroll 16")
#endif

/* How results are stored; of a LATE row, which is stored while the next one is reduced, NONE where there is none. */
enum rows_store { STORE_NONE, STORE_PLAIN, STORE_STREAM };

/*
 * An op's loops, each with CHAINS (the vectors in one step, and independent sums), how to prefetch and how to store as
 * constants, and each a function of its own.  In one function with all the others an inner loop runs out of registers,
 * and with stores past the caches that is dear: a load waits for an earlier store at the same place of another page,
 * these wait for memory, and some of them are always on their way to every place of a page.  So loops that stream load
 * nothing but their operands.
 */
enum { ROWS_FETCHES = 3 }; /* none, once, often; without a row to be stored none, t0, t1 */
struct rows_loops {
	rows_micro_fn *reduce[ROWS_FETCHES];
	rows_micro_fn *late[ROWS_FETCHES][2], *apply[ROWS_FETCHES][2]; /* [fetch][stream] */
	rows_micro_fn *group[ROWS_FETCHES][3];                         /* [fetch][enum rows_store]; or NULL */
	rows_micro_fn *whole[2];                                       /* [stream] */
};

/* An op's results from VALUE, of x or e, at column AT, from which on LEFT are left in the block. */
typedef vfloat rows_result(const struct rows_call *call, vfloat value, size_t at, size_t left);

SIMD_INLINE struct v_ahead rows_ahead(const struct rows_call *call)
{
	return (struct v_ahead){ call->prefetch, call->asks };
}

/* The results from one vector of FROM, of which there are LEFT or more than fill it. */
SIMD_INLINE void rows_store(const struct rows_call *call, const float *from, size_t at, size_t left,
			    const enum rows_store store, rows_result *result)
{
	v_store_left(call->y + at, result(call, v_load_left(from + at, left, 0), at, left), left,
		     store == STORE_STREAM);
}

SIMD_BODY void rows_apply(const struct rows_call *call, const float *from, const int chains, const enum v_fetch fetch,
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

/* What GROUP needs of an op: sums of values against a pivot, and the statistics from these. */
struct rows_grouping {
	float (*pivot)(const struct rows_call *call, const float *x, const int chains);
	void (*add)(vfloat sums[ROWS_STATS_MAX], vfloat value);
	void (*finish)(double pivot, const double sums[ROWS_STATS_MAX], double count, double *stats);
	rows_result *result;
	size_t stats;
};

/* One row's columns AT to END, added to SUMS, and on the way BEFORE's results. */
SIMD_BODY void rows_group_part(const struct rows_call *call, const struct rows_call *before, const float *x, float p,
			       size_t at, size_t end, vfloat sums[ROWS_STATS_MAX], const struct rows_grouping *op,
			       const int chains, const enum v_fetch fetch, const enum rows_store late)
{
	const size_t step = (size_t)chains * LANES;
	const vfloat pivot = v_set(p);
	vfloat chain[CHAINS_MAX][ROWS_STATS_MAX];
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		for (size_t s = 0; s < ROWS_STATS_MAX; s++)
			chain[u][s] = v_set(0);
	for (; at + step <= end; at += step) {
		ROWS_UNROLL
		for (int u = 0; u < chains; u++) {
			v_prefetch_step(x + at, u, rows_ahead(call), fetch);
			op->add(chain[u], v_sub(v_load(x + at + (size_t)u * LANES), pivot));
		}
		ROWS_UNROLL
		for (int u = 0; late && u < chains; u++)
			rows_store(before, before->x, at + (size_t)u * LANES, LANES, late, op->result);
	}
	for (; at < end; at += LANES) {
		op->add(chain[0], v_sub(v_load_left(x + at, end - at, p), pivot));
		if (late)
			rows_store(before, before->x, at, end - at, late, op->result);
	}
	ROWS_UNROLL
	for (int u = 0; u < chains; u++)
		for (size_t s = 0; s < ROWS_STATS_MAX; s++)
			sums[s] = v_add(sums[s], chain[u][s]);
}

/*
 * All in one call, because a load that happens to look like a store before it waits for that store, and stores past
 * the caches wait for memory: what a call needs from the stack costs more than the arithmetic of a part.
 */
SIMD_BODY void rows_group(struct rows_call *call, const struct rows_grouping *op, const int chains,
			  const enum v_fetch fetch, const enum rows_store late)
{
	const struct rows_call own = *call;
	struct rows_call before = late ? *call->late : *call;
	const float *late_x = before.x;
	float *late_y = before.y;
	float pivot[ROWS_GROUP_MAX], factor[ROWS_GROUP_MAX], shift[ROWS_GROUP_MAX];
	vfloat sums[ROWS_GROUP_MAX][ROWS_STATS_MAX];
	for (size_t r = 0; r < own.rows; r++) {
		pivot[r] = op->pivot(&own, own.x + r * own.stride, chains);
		sums[r][0] = sums[r][1] = v_set(0);
		factor[r] = late ? own.done[r].factors[0] : 0;
		shift[r] = late ? own.done[r].shift : 0;
	}
	for (size_t at = 0; at < own.count; at += own.part) {
		const size_t end = own.count - at < own.part ? own.count : at + own.part;
		for (size_t r = 0; r < own.rows; r++) {
			const size_t row = r * own.stride;
			before.x = late_x + row;
			before.y = late_y + row;
			before.factor = factor[r];
			before.shift = shift[r];
			rows_group_part(&own, &before, own.x + row, pivot[r], at, end, sums[r], op, chains, fetch,
					late);
		}
	}
	for (size_t r = 0; r < own.rows; r++) {
		double sum[ROWS_STATS_MAX];
		for (size_t s = 0; s < ROWS_STATS_MAX; s++)
			sum[s] = (double)v_reduce_add(sums[r][s]);
		op->finish((double)pivot[r], sum, (double)own.count, own.group_stats + r * op->stats);
	}
}

/* The loop that a plan asks for (rows_run.c). */
SIMD_INLINE rows_micro_fn *rows_loop(const struct rows_call *call, const struct rows_loops *loops)
{
	const int often = !call->prefetch ? 0 : call->asks == 1 ? 1 : 2;
	switch (call->stage) {
	case ROWS_WHOLE:
		return loops->whole[call->stream != 0];
	case ROWS_GROUP:
		return loops->group[often][!call->late ? STORE_NONE : call->late->stream ? STORE_STREAM : STORE_PLAIN];
	case ROWS_APPLY:
		return loops->apply[often][call->stream != 0];
	default:
		break;
	}
	if (call->late)
		return loops->late[often][call->late->stream != 0];
	/* of stages=3 the first row of a task, too: once */
	return loops->reduce[!call->prefetch ? 0 : call->hint == TCB_HINT_T0 ? 1 : 2];
}

SIMD_INLINE void rows_micro(struct rows_call *call, const struct rows_loops *loops, const int chains)
{
	(void)chains;
	assert(call->stage == ROWS_WHOLE || rows_has_loops((size_t)chains));
	rows_loop(call, loops)(call);
	if (call->stage != ROWS_REDUCE && call->stage != ROWS_GROUP && call->fence)
		v_fence();
}

/* Functions NAME_... of the loop that SIMD_INLINE function LOOP is, where rows are longer than a step of CHAINS. */
#define ROWS_INSTANCE(name, loop, chains, ...)                             \
	static __attribute__((noinline)) void name(struct rows_call *call) \
	{                                                                  \
		if (rows_has_loops(chains))                                \
			loop(call, chains, __VA_ARGS__);                   \
	}
#define ROWS_STORING(name, loop, chains)                                             \
	ROWS_INSTANCE(name##_plain, loop, chains, FETCH_NONE, STORE_PLAIN)           \
	ROWS_INSTANCE(name##_stream, loop, chains, FETCH_NONE, STORE_STREAM)         \
	ROWS_INSTANCE(name##_t1_plain, loop, chains, FETCH_T1, STORE_PLAIN)          \
	ROWS_INSTANCE(name##_t1_stream, loop, chains, FETCH_T1, STORE_STREAM)        \
	ROWS_INSTANCE(name##_often_plain, loop, chains, FETCH_T1_OFTEN, STORE_PLAIN) \
	ROWS_INSTANCE(name##_often_stream, loop, chains, FETCH_T1_OFTEN, STORE_STREAM)
#define ROWS_STORING_TABLE(name)                                                        \
	{                                                                               \
		{ name##_plain, name##_stream }, { name##_t1_plain, name##_t1_stream }, \
			{ name##_often_plain, name##_often_stream },                    \
	}
#define ROWS_REDUCING(name, loop, chains)                            \
	ROWS_INSTANCE(name, loop, chains, FETCH_NONE, STORE_NONE)    \
	ROWS_INSTANCE(name##_t0, loop, chains, FETCH_T0, STORE_NONE) \
	ROWS_INSTANCE(name##_t1, loop, chains, FETCH_T1, STORE_NONE) \
	ROWS_STORING(name, loop, chains)
#define ROWS_GROUPING(name, loop, chains)                                     \
	ROWS_INSTANCE(name, loop, chains, FETCH_NONE, STORE_NONE)             \
	ROWS_INSTANCE(name##_t1, loop, chains, FETCH_T1, STORE_NONE)          \
	ROWS_INSTANCE(name##_often, loop, chains, FETCH_T1_OFTEN, STORE_NONE) \
	ROWS_STORING(name, loop, chains)
#define ROWS_GROUP_TABLE(name)                                                                           \
	{                                                                                                \
		{ name, name##_plain, name##_stream }, { name##_t1, name##_t1_plain, name##_t1_stream }, \
			{ name##_often, name##_often_plain, name##_often_stream },                       \
	}
#define ROWS_WHOLE_LOOPS(name, loop, chains)              \
	static void name##_plain(struct rows_call *call)  \
	{                                                 \
		loop(call, chains, STORE_PLAIN);          \
	}                                                 \
	static void name##_stream(struct rows_call *call) \
	{                                                 \
		loop(call, chains, STORE_STREAM);         \
	}

/* Defines the struct rows_loops NAME of loops that are SIMD_INLINE functions; GROUP_TABLE: those on several rows. */
#define ROWS_LOOPS(name, reduce, apply, whole, chains, group_table)    \
	ROWS_REDUCING(name##_reduce, reduce, chains)                   \
	ROWS_STORING(name##_apply, apply, chains)                      \
	ROWS_WHOLE_LOOPS(name##_whole, whole, chains)                  \
	static const struct rows_loops name = {                        \
		{ name##_reduce, name##_reduce_t0, name##_reduce_t1 }, \
		ROWS_STORING_TABLE(name##_reduce),                     \
		ROWS_STORING_TABLE(name##_apply),                      \
		group_table,                                           \
		{ name##_whole_plain, name##_whole_stream },           \
	};

/* Defines the kernel <op>_f32_1x<n> of functions <op>_reduce, _apply, _whole and _group; and its row of the variant
 * table. */
#define ROWS_KERNEL(op, chains, n)                                                                            \
	ROWS_GROUPING(op##_##n##_group, op##_group, chains)                                                   \
	ROWS_LOOPS(op##_##n, op##_reduce, op##_apply, op##_whole, chains, ROWS_GROUP_TABLE(op##_##n##_group)) \
	static void op##_f32_1x##n(struct rows_call *call)                                                    \
	{                                                                                                     \
		_Static_assert((chains)*LANES == (n), "tile of the name");                                    \
		rows_micro(call, &op##_##n, chains);                                                          \
	}
#define ROWS_VARIANT(op, n, class)        \
	{ #op "_f32_" SIMD_TEXT "_1x" #n, \
	  TCB_CONTRACT_F32,               \
	  SIMD_ISA_ID,                    \
	  TCB_LAYOUT_NATIVE,              \
	  { 1, n, 1 },                    \
	  1,                              \
	  class,                          \
	  tcb_signed_variants,            \
	  (void (*)(void))op##_f32_1x##n },

/* X(chains, values) for each number of chains worth trying; with MORE for ops that have one sum a chain. */
#if LANES == 1
#define ROWS_SIZES(X) X(1, 1) X(4, 4) X(8, 8)
#define ROWS_SIZES_MORE ROWS_SIZES
#elif LANES == 4
#define ROWS_SIZES(X) X(1, 4) X(2, 8) X(4, 16) X(8, 32)
#define ROWS_SIZES_MORE ROWS_SIZES
#elif LANES == 8
#define ROWS_SIZES(X) X(1, 8) X(2, 16) X(4, 32)
#define ROWS_SIZES_MORE(X) ROWS_SIZES(X) X(8, 64)
#else
#define ROWS_SIZES(X) X(1, 16) X(2, 32) X(4, 64) X(8, 128)
#define ROWS_SIZES_MORE(X) ROWS_SIZES(X) X(16, 256)
#endif

#endif
