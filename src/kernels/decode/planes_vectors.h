/* SPDX-License-Identifier: MIT
 *
 * Vectors (simd.h) of codes and scales out of words of planes (planes.h) that
 * lie in lines: a lane is a row, LINES are those of its first row's superblock.
 * FORMAT, RUN and STEP are constants after inlining, so that shifts are.
 */
#ifndef TCB_KERNELS_DECODE_PLANES_VECTORS_H
#define TCB_KERNELS_DECODE_PLANES_VECTORS_H

#include "kernels/decode/planes.h"
#include "kernels/quant_vectors.h"

#ifdef SIMD_HAS_BYTES

enum { PLANES_LINE = 64 };

SIMD_INLINE vint planes_line(const uint8_t *lines, int word)
{
	return vi_load(lines + word * PLANES_LINE);
}

/* Bit FROM of each byte, and those above it, as bits TO on; others are rubbish. */
SIMD_INLINE vint planes_move(vint v, int from, int to)
{
	return from > to ? vi_shift_right(v, from - to) : from < to ? vi_shift_left(v, to - from) : v;
}

/* Whether the values of bit BIT of WORD are marked: all bits or none. */
SIMD_INLINE vint planes_mark(const uint8_t *lines, int word, int bit)
{
	return vi_sub(vi_zero(), vi_and(vi_shift_right(planes_line(lines, word), bit), vi_words(1)));
}

/* That of step STEP of run RUN: of 16 values the second eight have marks of their own. */
SIMD_INLINE vint planes_mark_of(const uint8_t *lines, enum tcb_format_id format, int run, int step)
{
	if (tcb_format_row(format)->run_values == 16 && step >= 2)
		return planes_mark(lines, 0, 16 + run);
	return planes_mark(lines, 1 + run / 8, 4 * (run % 8) + 3);
}

/* The numbers of step STEP of GROUP, which may be no constant. */
SIMD_INLINE vint planes_numbers(const uint8_t *lines, enum tcb_format_id format, int group, int step)
{
	const int low_bits = tcb_planes_of(format)->low_bits, is_wide = low_bits == 4;
	const uint8_t *words =
		lines + (tcb_planes_of(format)->head_words + group * (int)tcb_planes_group_words(format)) * PLANES_LINE;
	const vint low = planes_line(words, is_wide ? step / 8 * 4 + step % 4 : step % 4);
	const vint numbers =
		vi_and(planes_move(low, is_wide ? step / 4 % 2 * 4 : step / 4 * 2, 0), vi_bytes(is_wide ? 15 : 3));
	if (!tcb_planes_of(format)->high_bits)
		return numbers;
	return vi_merge(numbers, planes_move(planes_line(words, 2 * low_bits + step / 8), step % 8, low_bits),
			vi_bytes(1 << low_bits));
}

/* The codes of step STEP of run RUN of a superblock, of FIRST + RUN, FIRST being no constant; + centre, or signed ones
 * of the table. */
SIMD_INLINE vint planes_codes(const uint8_t *lines, enum tcb_format_id format, int first, int run, int step)
{
	const int each = (int)tcb_format_row(format)->run_values / 4, groups = TCB_PLANES_STEPS / each;
	const vint numbers = planes_numbers(lines, format, first / groups + run / groups, run % groups * each + step);
	if (tcb_planes_of(format)->scales != TCB_PLANES_MARKED)
		return quant_nibble_codes(numbers, format);
	return quant_nibble_codes(vi_merge(numbers, planes_mark_of(lines, format, first + run, step), vi_bytes(4)),
				  format);
}

/* Four E4M3 of a line, without those that are none. */
SIMD_INLINE vfloat planes_e4m3(vint four, int byte)
{
	const vint all = vi_and(vi_clear_where(four, 0x7f), vi_bytes(0x7f));
	/* Seven bits up they are halves, 2^-8 of what they are. */
	const vint half = vi_shift_left(vi_unsigned_byte(all, byte), 7);
	return v_mul(v_from_halves(half, 0), v_set(0x1p7f));
}

/* What the sums of run FIRST + RUN are multiplied with: of blocks of 256 an integer, which d comes to. */
SIMD_INLINE vfloat planes_scale(const uint8_t *lines, enum tcb_format_id format, int first, int run)
{
	const int half = first / 8 + run / 8, r = run % 8; /* of words of eight nibbles */
	const vint nibbles = planes_line(lines, 1 + half);
	vint high;
	switch (tcb_planes_of(format)->scales) {
	case TCB_PLANES_HALVES:
		return v_from_halves(planes_line(lines, first / 2 + run / 2), run % 2);
	case TCB_PLANES_PAIRS:
		return v_from_halves(planes_line(lines, first + run), 0);
	case TCB_PLANES_E4M3S:
		return planes_e4m3(planes_line(lines, first / 4 + run / 4), run % 4);
	case TCB_PLANES_BYTES:
		return v_from_words(
			vi_unsigned_byte(vi_and(planes_line(lines, 1 + first / 4 + run / 4), vi_bytes(15)), run % 4));
	case TCB_PLANES_SIXES:
		high = planes_line(lines, 3);
		high = half ? vi_shift_right(high, 16) : high;
		return v_from_words(vi_sub(vi_merge(vi_and(planes_move(nibbles, 4 * r, 0), vi_words(15)),
						    planes_move(high, 2 * r, 4), vi_words(0x30)),
					   vi_words(32)));
	case TCB_PLANES_ODDS:
		return v_from_words(vi_merge(vi_words(1), planes_move(nibbles, 4 * r, 1), vi_words(30)));
	case TCB_PLANES_MARKED:
		return v_from_words(vi_merge(vi_words(1), planes_move(nibbles, 4 * r, 1), vi_words(14)));
	}
	return v_set(0);
}

/* Of blocks of 256: d, and of TCB_PLANES_BYTES what mins are multiplied with. */
SIMD_INLINE vfloat planes_d(const uint8_t *lines, enum tcb_format_id format)
{
	const vfloat d = v_from_halves(planes_line(lines, 0), 0);
	const float factor = tcb_planes_of(format)->factor;
	return factor == 1 ? d : v_mul(d, v_set(factor));
}

SIMD_INLINE vfloat planes_dmin(const uint8_t *lines)
{
	return v_from_halves(planes_line(lines, 0), 1);
}

/* The mins of runs 4 QUARTER to 4 QUARTER + 3 as bytes. */
SIMD_INLINE vint planes_mins(const uint8_t *lines, int quarter)
{
	return vi_and(vi_shift_right(planes_line(lines, 1 + quarter), 4), vi_bytes(15));
}

/* What TCB_PLANES_PAIRS adds to the values of run RUN. */
SIMD_INLINE vfloat planes_added(const uint8_t *lines, int run)
{
	return v_from_halves(planes_line(lines, run), 1);
}

#endif
#endif
