/* SPDX-License-Identifier: MIT
 *
 * The few vector operations that the micro-kernels of row ops are written in,
 * once for each instruction set: whichever the including file is compiled for.
 * Maximum and minimum take the second operand where one is NaN.
 */
#ifndef TCB_KERNELS_ROWS_VEC_H
#define TCB_KERNELS_ROWS_VEC_H

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "base/geometry.h"
#include "kernels/simd/simd.h"

/* LEFT values at most. */
SIMD_INLINE void v_store_left(float *to, vfloat value, size_t left, int stream)
{
	if (left < LANES)
		v_store_part(to, value, left);
	else if (stream)
		v_stream(to, value);
	else
		v_store(to, value);
}
/* What of COUNT values comes after the first AT. */
SIMD_INLINE size_t left_of(size_t count, size_t at)
{
	return count > at ? count - at : 0;
}

/* Makes streamed stores visible to other threads before what follows. */
SIMD_INLINE void v_fence(void)
{
#if defined(__SSE2__)
	_mm_sfence();
#endif
}

/*
 * What a loop prefetches with, a constant of each instance, and how far ahead.  A busy processor drops prefetches to
 * its second cache, so asking once for what comes soon and again, farther ahead, for what comes later gets more of them
 * through than asking once does.
 */
enum v_fetch { FETCH_NONE, FETCH_T0, FETCH_T1, FETCH_NTA, FETCH_T1_OFTEN };
enum { FETCH_ASKS_APART = 4096, FETCH_OFTEN = 2, FETCH_MOST_OFTEN = 4 };
struct v_ahead {
	size_t bytes;
	int asks; /* of FETCH_T1_OFTEN: FETCH_OFTEN or FETCH_MOST_OFTEN */
};

SIMD_INLINE enum v_fetch v_fetch(size_t distance, enum tcb_hint hint)
{
	return !distance ? FETCH_NONE : hint == TCB_HINT_T0 ? FETCH_T0 : hint == TCB_HINT_T1 ? FETCH_T1 : FETCH_NTA;
}

/* Asks for the line that far after X, and with FETCH_T1_OFTEN for later ones. */
SIMD_INLINE void v_prefetch(const float *x, const struct v_ahead ahead, const enum v_fetch fetch)
{
	/* Beyond an array, too: prefetches do not fault. */
	const uintptr_t line = (uintptr_t)x + ahead.bytes;
	if (fetch == FETCH_T0)
		__builtin_prefetch((const void *)line, 0, 3);
	else if (fetch == FETCH_NTA)
		__builtin_prefetch((const void *)line, 0, 0);
	else if (fetch != FETCH_NONE)
		__builtin_prefetch((const void *)line, 0, 2);
	if (fetch != FETCH_T1_OFTEN)
		return;
	__builtin_prefetch((const void *)(line + FETCH_ASKS_APART), 0, 2);
	if (ahead.asks == FETCH_OFTEN)
		return;
	for (uintptr_t ask = FETCH_OFTEN; ask < FETCH_MOST_OFTEN; ask++)
		__builtin_prefetch((const void *)(line + ask * FETCH_ASKS_APART), 0, 2);
}
/* The same for vector U of a step at X, once a line where lines are longer than vectors. */
SIMD_INLINE void v_prefetch_step(const float *x, int u, const struct v_ahead ahead, const enum v_fetch fetch)
{
	enum { LINE_VECTORS = 16 / LANES };
	if (u % LINE_VECTORS == 0)
		v_prefetch(x + (size_t)u * LANES, ahead, fetch);
}
/* The same for COUNT floats. */
SIMD_INLINE void v_prefetch_row(const float *x, size_t count, const struct v_ahead ahead, const enum v_fetch fetch)
{
	for (size_t i = 0; fetch != FETCH_NONE && i < count; i += 16)
		v_prefetch(x + i, ahead, fetch);
}

#endif
