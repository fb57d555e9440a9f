/* SPDX-License-Identifier: MIT
 *
 * Vectors of quantised weights, as the kernels of MatVec and matmul share them:
 * codes of nibbles, by the format's table if it has one, and scales that are
 * neither halves nor bytes.  FORMAT is a constant after inlining.
 */
#ifndef TCB_KERNELS_QUANT_VECTORS_H
#define TCB_KERNELS_QUANT_VECTORS_H

#include "kernels/formats.h"
#include "kernels/simd/simd.h"

#ifdef SIMD_HAS_BYTES

SIMD_INLINE enum tcb_codes_kind codes_kind(enum tcb_format_id format)
{
	return tcb_format_row(format)->codes;
}

SIMD_INLINE enum tcb_scales_kind scales_kind(enum tcb_format_id format)
{
	return tcb_format_row(format)->scales;
}

/* The first byte of a block's codes, and of their bits beyond four. */
SIMD_INLINE int codes_at(enum tcb_format_id format)
{
	return (int)tcb_format_row(format)->codes_at;
}

SIMD_INLINE int high_at(enum tcb_format_id format)
{
	return (int)tcb_format_row(format)->high_at;
}

/* Codes have bits beyond their nibbles. */
SIMD_INLINE int has_high_bits(enum tcb_format_id format)
{
	return tcb_format_row(format)->high_at != 0;
}

#ifndef SIMD_HAS_DOT
/* Codes of a small table, of -15 to 15 (MXFP4, NVFP4, IQ3_S, IQ1), are multiplied + SMALL_CENTRE by vectors of AVX2: of
 * signed codes magnitudes and signs would have to be told apart for each product. */
enum { SMALL_CENTRE = 16 };
SIMD_INLINE int quant_is_raised(enum tcb_format_id format)
{
	const struct tcb_format *row = tcb_format_row(format);
	return LANES == 8 && tcb_has_table(format) && row->code_bits == 4 && row->table[0] > -SMALL_CENTRE;
}

/* What their sums start from, of START for codes + 128. */
SIMD_INLINE int32_t quant_raised_start(int32_t start)
{
	return start >> 3;
}

/*
 * Sums of two products that 16 bits hold: with codes up to 15, 31 and 63, eight, four and two of them (15 * 127 * 2 * 8
 * = 30480), with raised ones, up to 31, four.  Codes with a sign are taken apart into magnitude and sign: up to 128
 * one, of mxfp4, up to 12, eight; no more than the STEPS that a run has.
 */
SIMD_INLINE int quant_pieces(enum tcb_format_id format, int steps)
{
	const int bits = tcb_format_row(format)->code_bits;
	if (tcb_has_table(format) && tcb_format_row(format)->table[0] < -15)
		return 1;
	const int most = bits == 8 ? 1 : bits == 6 ? 2 : bits == 5 || quant_is_raised(format) ? 4 : 8;
	return most < steps ? most : steps;
}
#endif

/* NIBBLES, a byte each, as codes: signed where there is a table, else as stored. */
SIMD_INLINE vint quant_nibble_codes(vint nibbles, enum tcb_format_id format)
{
	return tcb_has_table(format) ? vi_lookup16(vi_table16(tcb_format_row(format)->table), nibbles) : nibbles;
}

/* 2^(e - 128) for words e, 0 to 255: of two normal factors, so that it may be subnormal. */
SIMD_INLINE vfloat quant_power_scale(vint e)
{
	const vint half = vi_shift_right(e, 1), bias = vi_words(63);
	const vint first = vi_shift_left(vi_add(half, bias), 23);
	return v_mul(v_from_bits(first), v_from_bits(vi_shift_left(vi_add(vi_sub(e, half), bias), 23)));
}

/* Scale RUN of TCB_SCALES_SIX, an integer, of the words d | high bits << 16 and LOW of each lane's block. */
SIMD_INLINE vint quant_six_scale(vint first, vint low, int run)
{
	const vint four = vi_and(vi_shift_right(low, 4 * run), vi_words(15));
	return vi_sub(vi_merge(four, vi_shift_right(first, 12 + 2 * run), vi_words(0x30)), vi_words(32));
}

#endif
#endif
