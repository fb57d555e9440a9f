/* SPDX-License-Identifier: MIT
 *
 * The packed form of expanded formats (struct tcb_planes of formats.h): 256
 * values of a row as words of four bytes, which layouts put side by side.
 *
 * First come the scales, then four groups of 64 values, each the words of its
 * low bits and those of its high bits.  Step s of a group is values 4 s to
 * 4 s + 3, one a byte:
 *   four low bits   eight words; word 4 (s / 8) + s mod 4 from bit 4 (s / 4 mod 2) of each byte on
 *   two low bits    four words; word s mod 4 from bit 2 (s / 4) on
 *   a high bit      two words; word s / 8, bit s mod 8
 * Scales (head words), by kind:
 *   HALVES   d of run r is half r           PAIRS   word r: d, and what is added
 *   SIXES    d; then nibble r from word 1 on, their upper two bits from bit 2 r of word 3 on
 *   BYTES    d, dmin; then byte r from word 1 on      E4M3S   byte r
 *   ODDS     d; then nibble r from word 1 on
 *   MARKED   the same with the mark of a run (of its first eight values) above; those of second eight values are bits
 *            16 + r of word 0
 * Nothing is lost: grids name the places of values, and a grid's entry is found by these.
 */
#ifndef TCB_KERNELS_DECODE_PLANES_H
#define TCB_KERNELS_DECODE_PLANES_H

#include "kernels/formats.h"

enum { TCB_PLANES_WORDS_MAX = 48, TCB_PLANES_GROUPS = 4, TCB_PLANES_STEPS = 16 /* of a group */ };

/* Words of a group, and of 256 values. */
static inline size_t tcb_planes_group_words(enum tcb_format_id id)
{
	return 2 * (size_t)(tcb_planes_of(id)->low_bits + tcb_planes_of(id)->high_bits);
}

static inline size_t tcb_planes_words(enum tcb_format_id id)
{
	return (size_t)tcb_planes_of(id)->head_words + TCB_PLANES_GROUPS * tcb_planes_group_words(id);
}

/* BLOCK_COUNT blocks (up to 256 values) of an expanded format to its words, and back; words of values that no block has
 * are 0. */
void tcb_planes_pack(const struct tcb_format *format, const uint8_t *blocks, size_t block_count,
		     uint32_t words[TCB_PLANES_WORDS_MAX]);
void tcb_planes_unpack(const struct tcb_format *format, const uint32_t words[TCB_PLANES_WORDS_MAX], size_t block_count,
		       uint8_t *blocks);

#endif
