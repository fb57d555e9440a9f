/* SPDX-License-Identifier: MIT
 *
 * Formats whose codes are expanded (formats.h), as GPUs read them: a superblock
 * of 256 values is eight pieces of 32, one a lane, and what it is made of are four
 * parts, of which a lane reads its share with aligned accesses.  No bit is added and
 * none is lost, so that a part's order is all that is new.
 *
 * The parts, by the order of a piece's bits (value v of the 32, 4 k + i; word W):
 *   codes  nibbles        Q5_0, Q5_1, Q4_1: byte b of 16 has value b, and above it value 16 + b
 *                         NVFP4: nibble n of word j has value 8 j + n
 *          two bits       Q3_K, Q2_K: from bit 8 i + 2 (k mod 4) of word k / 4 on
 *          places         IQ3: a byte for four values; IQ2, IQ1: a byte for eight
 *          signs          IQ2, second word: bit 4 n + j is that of value 8 j + n; of IQ2_XXS and IQ2_XS those of n = 7
 *                         follow from the others, and in their place is the scale, and the places' ninth bits
 *   high   fifth bits     Q5_0, Q5_1, and third bits of Q3_K: bit 8 i + k
 *          signs          IQ3: bit v; of IQ3_XXS bits 7, 15, 23 and 31 are the scale
 *          more places    IQ1_M, as stored
 *   d      of the superblock: d, and dmin
 *   fields of a piece: d and m of a block; two scales (of NVFP4 bytes, of Q3_K 6 bits each, of IQ2 and Q2_K nibbles,
 *          with mins above these); IQ3_S ninth bits of places, then a scale; IQ2_S two bits more of places, then
 * scales; IQ1_S as stored; IQ1_M two scales of 3 bits
 */
#ifndef TCB_KERNELS_FORMATS_PIECES_H
#define TCB_KERNELS_FORMATS_PIECES_H

#include "kernels/formats.h"

enum { TCB_PIECES = 8, TCB_PIECE_VALUES = 32, TCB_PIECE_WORDS = TCB_PIECE_VALUES / 4 };

enum tcb_piece_part { TCB_PIECE_CODES, TCB_PIECE_HIGH, TCB_PIECE_D, TCB_PIECE_FIELDS, TCB_PIECE_PARTS };

/*
 * A row: bytes of a piece's codes and high bits, of the superblock's d, bits of a piece's fields (bytes of a
 * superblock's); what is taken off the codes as GPUs look them up; whether something is taken off all values of a run;
 * whether each half of a piece has a scale of its own.
 */
/* clang-format off */
#define TCB_PIECE_LIST(X)                         \
	X(Q5_0, q5_0, 16, 4, 0, 16, 16, 0, 0)     \
	X(Q5_1, q5_1, 16, 4, 0, 32, 0, 1, 0)      \
	X(Q4_1, q4_1, 16, 0, 0, 32, 0, 1, 0)      \
	X(Q3_K, q3_k, 8, 4, 2, 12, 4, 0, 1)       \
	X(Q2_K, q2_k, 8, 0, 4, 16, 0, 1, 1)       \
	X(IQ3_S, iq3_s, 8, 4, 2, 12, 0, 0, 0)     \
	X(IQ3_XXS, iq3_xxs, 8, 4, 2, 0, 0, 0, 0)  \
	X(IQ2_S, iq2_s, 8, 0, 2, 16, 0, 0, 1)     \
	X(IQ2_XS, iq2_xs, 8, 0, 2, 8, 0, 0, 1)    \
	X(IQ2_XXS, iq2_xxs, 8, 0, 2, 0, 0, 0, 0)  \
	X(IQ1_S, iq1_s, 4, 0, 2, 16, 9, 0, 0)     \
	X(IQ1_M, iq1_m, 4, 2, 2, 6, 9, 0, 1)      \
	X(NVFP4, nvfp4, 16, 0, 0, 16, 0, 0, 1)
/* clang-format on */

/* Bytes of PART of a superblock; a piece has an eighth of these, but for d, which is the superblock's. */
size_t tcb_piece_part_bytes(enum tcb_format_id id, enum tcb_piece_part part);
/* PART of the superblock of BLOCKS blocks at STORED, which may be fewer than 256 values have: then those that are not
 * there are zeros; and back, to blocks whose other parts stay as they are. */
void tcb_pieces_take(enum tcb_format_id id, enum tcb_piece_part part, const uint8_t *stored, size_t blocks,
		     uint8_t *out);
void tcb_pieces_put(enum tcb_format_id id, enum tcb_piece_part part, const uint8_t *in, size_t blocks, uint8_t *stored);

#endif
