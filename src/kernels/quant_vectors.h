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
