/* SPDX-License-Identifier: MIT
 *
 * A second packed form of formats whose values are entries of a grid of up to
 * 512: the places of the entries stay as they are stored, and processors with
 * tables of bytes in registers look them up.  A row's 256 values as words of
 * four bytes: the scales as planes.h has them (TCB_PLANES_ODDS); of IQ2_XS one
 * word more, bit R of its byte G the ninth of the place of the eight values G of
 * run R of 32; then for each run of 32 values
 *     places   a byte each; of entries of four, word h has those of values 16 h on, in the order 0, 2, 1, 3
 *     signs    byte b has those of values 16 h + v + 4 o, o = 0, 2, 1, 3 for b = 0 to 3: of entries of eight at bit
 *              2 - 2 h + 2 (v & 2) + (v & 1), of four at bit 3 - 2 h - v / 2 + 4 (v & 1)
 * so that four values that a word's bytes stand for at once are v, v + 8, v + 4 and v + 12 of 16: the order in which
 * activations are prepared (tcb_places_order()).
 */
#ifndef TCB_KERNELS_DECODE_PLACES_H
#define TCB_KERNELS_DECODE_PLACES_H

#include "kernels/decode/planes.h"

/* X(ID, bits of a place, values of an entry) */
#define TCB_PLACES_ROWS(X) X(IQ3_XXS, 8, 4) X(IQ2_XS, 9, 8) X(IQ2_XXS, 8, 8)

/* Bits of a place; 0 where there is no such form. */
static inline int tcb_places_bits(enum tcb_format_id id)
{
#define TCB_IF_PLACES(id_, bits, values) id == TCB_FORMAT_##id_ ? (bits):
	return TCB_PLACES_ROWS(TCB_IF_PLACES) 0;
#undef TCB_IF_PLACES
}

static inline int tcb_places_values(enum tcb_format_id id)
{
#define TCB_IF_PLACES(id_, bits, values) id == TCB_FORMAT_##id_ ? (values):
	return TCB_PLACES_ROWS(TCB_IF_PLACES) 0;
#undef TCB_IF_PLACES
}

/* Words before those of the runs, of a run, and of 256 values. */
static inline size_t tcb_places_head(enum tcb_format_id id)
{
	return (size_t)tcb_planes_of(id)->head_words + (tcb_places_bits(id) > 8);
}

static inline size_t tcb_places_run_words(enum tcb_format_id id)
{
	return tcb_places_values(id) == 8 ? 2 : 3;
}

static inline size_t tcb_places_words(enum tcb_format_id id)
{
	return tcb_places_head(id) + 8 * tcb_places_run_words(id);
}

/* Value I of those that four bytes after four stand for, in values: within each 16. */
static inline size_t tcb_places_order(size_t i)
{
	return i / 16 * 16 + i % 16 / 4 + (i % 4 % 2 * 2 + i % 4 / 2) * 4;
}

/* A block of 256 values to its words, and back. */
void tcb_places_pack(const struct tcb_format *format, const uint8_t *block, uint32_t words[TCB_PLANES_WORDS_MAX]);
void tcb_places_unpack(const struct tcb_format *format, const uint32_t words[TCB_PLANES_WORDS_MAX], uint8_t *block);

#endif
