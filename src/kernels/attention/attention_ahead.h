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
 * While scores go over a tile's rows of K, or values over those of V, they ask for the rows that come a constant number
 * of tokens later, whole rows in the order in which they lie in memory, a few lines at a time: processors drop what
 * they are asked for faster than memory answers, and what prefetches by itself follows few streams.
 */
struct ahead {
	const void *const *row, *const *end; /* the one under way, and those to come */
	const char *at;                      /* the next line */
	ptrdiff_t left;                      /* lines of this row */
	size_t row_lines;                    /* 0: nothing is asked for any more */
};

/* ROWS: the call's k_ahead or v_ahead, whose heads lie APART bytes from each other. */
SIMD_INLINE struct ahead ahead_of(const struct attention_call *call, size_t apart, const void *const *rows)
{
	struct ahead a = { .row = rows };
	if (!rows)
		return a;
	a.end = rows + call->tokens;
	a.at = *rows;
	a.row_lines = (call->heads * apart + LINE - 1) / LINE;
	a.left = (ptrdiff_t)a.row_lines;
	return a;
}

/* LINES lines were asked for. */
SIMD_INLINE void move_on(struct ahead *a, ptrdiff_t lines)
{
	a->at += lines * LINE;
	a->left -= lines;
	while (__builtin_expect(a->left <= 0, 0)) {
		if (++a->row == a->end) {
			a->row_lines = 0;
			return;
		}
		/* What was too much of one row is the beginning of the next, which mostly lies behind it. */
		a->at = (const char *)*a->row - a->left * LINE;
		a->left += (ptrdiff_t)a->row_lines;
	}
}

SIMD_INLINE void fetch(struct ahead *a, const int lines)
{
	if (!a->row_lines)
		return;
	SIMD_FOR (int line = 0; line < lines; line++)
		__builtin_prefetch(a->at + line * LINE, 0, 3);
	move_on(a, lines);
}

/* One KV head: its query rows, and where in a token's rows of K, or of V, it is. */
struct head {
	float *q, *o, *scores;
	size_t rows, at;
};

/* APART: bytes from one to the next. */
SIMD_INLINE struct head head_of(const struct attention_call *call, size_t head, size_t apart)
{
	const size_t first = head * call->head_rows;
	return (struct head){ .q = call->q + first * call->q_lead,
			      .o = call->o + first * call->o_lead,
			      .scores = call->scores + first * ATTENTION_DECODE_LEAD,
			      .rows = call->head_rows,
			      .at = head * apart };
}

#endif
