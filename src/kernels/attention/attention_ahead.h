/* SPDX-License-Identifier: MIT
 *
 * What the micro-kernels of attention_decode on CPUs share: asking for K and V ahead,
 * and where a KV head's rows are.
 */
#ifndef TCB_KERNELS_ATTENTION_AHEAD_H
#define TCB_KERNELS_ATTENTION_AHEAD_H

#include "kernels/attention/attention_micro.h"

enum { LINE = 64 };

/*
 * While scores and values of a tile go over its tokens, they ask for K and V of the tile that lies AHEAD tokens further
 * on, in the order in which it lies in memory.  A line of each at a time, evenly: processors drop what they are asked
 * for faster than memory answers.
 */
struct ahead {
	const char *k;        /* the next line; V's is TO_V bytes further on */
	ptrdiff_t to_v, left; /* lines of this token */
	size_t each;          /* times that what a call asks for is asked for */
	size_t token, end;    /* whose lines they are; the first not to ask for */
	size_t row_lines;     /* of a token */
};

/* Calls of fetch for LINES lines in all are to come. */
SIMD_INLINE struct ahead ahead_of(const struct attention_call *call, const enum tcb_type type, size_t lines)
{
	struct ahead a = { .token = call->ahead, .end = call->ahead + call->tokens };
	if (!call->ahead)
		return a;
	a.row_lines = (call->heads * tcb_kv_bytes(type, call->k) + LINE - 1) / LINE;
	a.each = (call->tokens * a.row_lines + lines - 1) / lines;
	a.k = call->k_rows[a.token];
	a.to_v = (const char *)call->v_rows[a.token] - a.k;
	a.left = (ptrdiff_t)a.row_lines;
	return a;
}

SIMD_INLINE void fetch(const struct attention_call *call, struct ahead *a, const int lines)
{
	for (size_t i = a->each; i; i--) {
		const char *k = a->k, *v = k + a->to_v;
		SIMD_UNROLL
		for (int line = 0; line < lines; line++) {
			__builtin_prefetch(k + line * LINE, 0, 3);
			__builtin_prefetch(v + line * LINE, 0, 3);
		}
		a->k = k + lines * LINE;
		a->left -= lines;
		if (__builtin_expect(a->left <= 0, 0)) {
			if (++a->token >= a->end) {
				a->each = 0;
				return;
			}
			/* What was too much of one row is the beginning of the next, which mostly lies behind it. */
			a->k = call->k_rows[a->token];
			a->to_v = (const char *)call->v_rows[a->token] - a->k;
			a->k -= a->left * LINE;
			a->left += (ptrdiff_t)a->row_lines;
		}
	}
}

/* One KV head: its query rows, and where in a token's rows of K and V it is. */
struct head {
	float *q, *o, *scores;
	size_t rows, at;
};

SIMD_INLINE struct head head_of(const struct attention_call *call, const enum tcb_type type, size_t head)
{
	const size_t first = head * call->head_rows;
	return (struct head){ call->q + first * call->k, call->o + first * call->k,
			      call->scores + first * ATTENTION_DECODE_LEAD, call->head_rows,
			      head * tcb_kv_bytes(type, call->k) };
}

#endif
