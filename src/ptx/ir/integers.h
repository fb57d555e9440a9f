/* SPDX-License-Identifier: MIT
 *
 * Integer operations of PTX that the emulator, the analyses and the passes all
 * compute, and the words of its comparisons.
 */
#ifndef TCB_PTX_INTEGERS_H
#define TCB_PTX_INTEGERS_H

#include "ptx/ir/words.h"

/* COMPARE as eq ne lt le gt ge, with the type as u or s of the same size; others stay what they are. */
static inline enum tcb_ptx_word tcb_ptx_compare_plain(enum tcb_ptx_word compare)
{
	return compare >= TCB_PTX_LO && compare <= TCB_PTX_HS ? (enum tcb_ptx_word)(compare - TCB_PTX_LO + TCB_PTX_LT)
							      : compare;
}

/* Whether COMPARE is one of those six. */
static inline int tcb_ptx_compare_is_plain(enum tcb_ptx_word compare)
{
	return compare >= TCB_PTX_EQ && compare <= TCB_PTX_GE;
}

/* Of a plain one: what holds where it does not, and the same of its sides swapped. */
enum tcb_ptx_word tcb_ptx_compare_inverse(enum tcb_ptx_word compare);
enum tcb_ptx_word tcb_ptx_compare_swapped(enum tcb_ptx_word compare);

/* Whether COMPARE holds of the lowest BITS of X and Y, beyond which both are zeros or the sign; lo, ls, hi and hs are
 * of unsigned ones. */
static inline int tcb_ptx_compare(enum tcb_ptx_word compare, uint64_t x, uint64_t y, unsigned bits, int is_signed)
{
	enum tcb_ptx_word plain = tcb_ptx_compare_plain(compare);
	unsigned gap = 64 - bits;
	int less = is_signed && plain == compare ? (int64_t)(x << gap) < (int64_t)(y << gap) : x < y;

	switch ((int)plain) {
	case TCB_PTX_EQ:
		return x == y;
	case TCB_PTX_NE:
		return x != y;
	case TCB_PTX_LT:
		return less;
	case TCB_PTX_LE:
		return less || x == y;
	case TCB_PTX_GT:
		return !less && x != y;
	default: /* ge */
		return !less;
	}
}

/* lop3: each bit of the result is that of TABLE which the bits of A, B and C number. */
static inline uint64_t tcb_ptx_lop3(uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
	uint64_t out = 0;

	for (unsigned i = 0; i < 8; i++)
		if (table >> i & 1)
			out |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
	return out;
}

#endif
