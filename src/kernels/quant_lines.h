/* SPDX-License-Identifier: MIT
 *
 * Layout r16 as the ops with quantised weights share it: 16 rows of a superblock of 256 values become lines of 64
 * bytes, word w (4 bytes) of each row side by side.  Superblocks follow each other along k, groups of rows along n.  N
 * is padded up to the group with zeros, and so is the last superblock.  Packing loses nothing; unpacking gives the
 * stored bytes back.  The words of a row's superblock are
 *     blocks of 32 values   the scales of eight blocks, then eight times the block's codes
 *     K-quants              the block as stored, or in pieces
 */
#ifndef TCB_KERNELS_QUANT_LINES_H
#define TCB_KERNELS_QUANT_LINES_H

#include "kernels/quant.h"

enum { TCB_LINE_BYTES = 64, TCB_LINE_ROWS = 16, TCB_LINES_MAX = 68 };

/* Bytes that lie together, in a block of 256 values and among the words; the last row has none. */
struct tcb_lines_piece {
	size_t at, bytes, to;
};

/* Lines of a superblock. */
static inline size_t tcb_lines(enum tcb_format_id format)
{
	return (256 / tcb_format_row(format)->block_values * tcb_format_row(format)->block_bytes + 3) / 4;
}

/* One superblock of ROW_COUNT (up to 16) rows, ROW_BYTES apart, that holds VALUES values, to LINES; and one row, or
 * what its 256 values would be, of LINES to BLOCKS.  PIECES: NULL for blocks as stored. */
void tcb_lines_gather(const struct tcb_format *format, const struct tcb_lines_piece *pieces, const uint8_t *rows,
		      size_t row_bytes, size_t row_count, size_t values, uint8_t *lines);
void tcb_lines_row(const struct tcb_format *format, const struct tcb_lines_piece *pieces, const uint8_t *lines,
		   size_t row, size_t values, uint8_t *blocks);
/* Whole matrices. */
void tcb_lines_pack(const struct tcb_problem *problem, const struct tcb_lines_piece *pieces, const void *weights,
		    void *packed);
void tcb_lines_unpack(const struct tcb_problem *problem, const struct tcb_lines_piece *pieces, const void *packed,
		      void *weights);

#endif
