/* SPDX-License-Identifier: MIT
 *
 * Layout r16, the same bytes for every op with weights of a format: 16 rows of a superblock of 256 values become lines
 * of 64 bytes, word w (4 bytes) of each row side by side.  Superblocks follow each other along k, groups of rows along
 * n.  N is padded up to the group with zeros, and so is the last superblock.  Packing loses nothing; unpacking gives
 * the stored bytes back.  The words of a row's superblock are
 *     blocks of 32    what is before the codes of eight blocks (TCB_SCALES_HALF: 4 words of two d each, POWER: 2 of
 *                     four exponents), then each block's codes, 4 or 8 words
 *     of 256          as stored (TCB_SCALES_K: d and dmin, 3 of scales and mins, then 8 of fifth bits if there are any,
 *                     32 of nibbles; SIX: d and high bits of scales, their low bits, 32 of nibbles)
 *     QUARTERS        d (its upper half is zero), 4 of scales, then of each half of the values 8 of high bits and 16 of
 *                     nibbles: the order in which kernels need them, so that they read line after line
 *     EXPANDED        planes of few bits (decode/planes.h)
 * Of values as they are rows are not cut into words: the superblocks of 16 rows follow each other as stored, each
 * filled up with zeros to words.
 */
#ifndef TCB_KERNELS_QUANT_LINES_H
#define TCB_KERNELS_QUANT_LINES_H

#include "kernels/decode/places.h"
#include "kernels/quant.h"

enum { TCB_LINE_BYTES = 64, TCB_LINE_ROWS = 16, TCB_LINES_MAX = 256 };

/* Bytes that lie together, in a row's 256 values as stored and among its words. */
struct tcb_lines_piece {
	size_t at, bytes, to;
};
enum { TCB_LINES_PIECES_MAX = 16 };

/* Words of a row's superblock as stored; lines of a superblock. */
static inline size_t tcb_stored_words(enum tcb_format_id format)
{
	return (256 / tcb_format_row(format)->block_values * tcb_format_row(format)->block_bytes + 3) / 4;
}

static inline size_t tcb_lines(enum tcb_format_id format)
{
	return tcb_is_expanded(format) ? tcb_planes_words(format) : tcb_stored_words(format);
}

/* Rows are not cut into words; then, and among rows that are gathered, bytes from a row to the next in a superblock. */
static inline int tcb_lines_are_rows(enum tcb_format_id format)
{
	return tcb_is_float(format);
}

static inline size_t tcb_lines_row_bytes(enum tcb_format_id format)
{
	return tcb_stored_words(format) * (TCB_LINE_BYTES / TCB_LINE_ROWS);
}

/* The pieces of a superblock that holds VALUES values, in the order as stored; returns how many. */
static inline size_t tcb_lines_pieces(enum tcb_format_id id, size_t values,
				      struct tcb_lines_piece out[TCB_LINES_PIECES_MAX])
{
	static const struct tcb_lines_piece quarters[] = { { 0, 64, 52 },    { 64, 64, 148 }, { 128, 32, 20 },
							   { 160, 32, 116 }, { 192, 16, 4 },  { 208, 2, 0 } };
	const struct tcb_format *format = tcb_format_row(id);
	const size_t head = format->codes_at, codes = format->block_bytes - head, blocks = values / 32;
	if (tcb_has_quarters(id)) {
		for (size_t i = 0; i < sizeof(quarters) / sizeof(quarters[0]); i++)
			out[i] = quarters[i];
		return sizeof(quarters) / sizeof(quarters[0]);
	}
	if (format->block_values == 256) {
		out[0] = (struct tcb_lines_piece){ 0, format->block_bytes, 0 };
		return 1;
	}
	for (size_t b = 0; b < blocks; b++) {
		out[2 * b] = (struct tcb_lines_piece){ b * format->block_bytes, head, b * head };
		out[2 * b + 1] =
			(struct tcb_lines_piece){ b * format->block_bytes + head, codes, 8 * head + b * codes };
	}
	return 2 * blocks;
}

/* One superblock of ROW_COUNT (up to 16) rows, ROW_BYTES apart, that holds VALUES values, to LINES; and one row of
 * LINES to BLOCKS. */
void tcb_lines_gather(const struct tcb_format *format, const uint8_t *rows, size_t row_bytes, size_t row_count,
		      size_t values, uint8_t *lines);
void tcb_lines_row(const struct tcb_format *format, const uint8_t *lines, size_t row, size_t values, uint8_t *blocks);
/* The same superblock as 16 rows one after another, each filled up with zeros to tcb_lines_row_bytes(). */
void tcb_rows_gather(const struct tcb_format *format, const uint8_t *rows, size_t row_bytes, size_t row_count,
		     size_t values, uint8_t *out);
/* Where the superblock begins that has value COLUMN of row ROW, in bytes of a packed matrix. */
size_t tcb_lines_at(const struct tcb_problem *problem, size_t row, size_t column);
/* Whole matrices. */
size_t tcb_lines_bytes(const struct tcb_problem *problem);
void tcb_lines_pack(const struct tcb_problem *problem, const void *weights, void *packed);
void tcb_lines_unpack(const struct tcb_problem *problem, const void *packed, void *weights);
/* The same of words of places (decode/places.h), layout r16g. */
void tcb_places_lines_pack(const struct tcb_problem *problem, const void *weights, void *packed);
void tcb_places_lines_unpack(const struct tcb_problem *problem, const void *packed, void *weights);

#endif
