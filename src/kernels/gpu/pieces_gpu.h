/* SPDX-License-Identifier: MIT
 *
 * PTX that takes a piece apart: 32 values of an expanded format (formats_pieces.h),
 * of which the thread has the words, become eight words of codes, a byte each, and
 * scales.  Grids are looked up in shared memory, which a block fills first.
 */
#ifndef TCB_KERNELS_GPU_PIECES_GPU_H
#define TCB_KERNELS_GPU_PIECES_GPU_H

#include "kernels/decode/formats_pieces.h"
#include "kernels/gpu/values.h"

enum {
	TCB_PIECE_CODE_WORDS = 4, /* of a piece, at most */
	TCB_PIECE_TABLE_ALIGN = 16
};

/* What is taken off codes; whether they have a sign; whether halves of pieces have scales of their own, and whether
 * these are integers. */
unsigned tcb_piece_centre(enum tcb_format_id id);
int tcb_piece_is_signed(enum tcb_format_id id);
int tcb_piece_is_split(enum tcb_format_id id);
int tcb_piece_has_integers(enum tcb_format_id id);

/* Bytes of shared memory for the grid of ID, 0 where it has none; HAS_SIGNS: entries of four values once for each of
 * their signs (16 or 32 KiB rather than 1 or 2). */
unsigned tcb_piece_table_bytes(enum tcb_format_id id, int has_signs);

/* What lanes need besides: the grid's address (.u32) and, in registers, what nibbles stand for. */
struct tcb_piece_tables {
	kit_op grid, nibble[4], word_bytes;
	int has_signs;
};
/* OUT has the grid's address already. */
void tcb_piece_write_constants(struct tcb_ptx_build *b, enum tcb_format_id id, struct tcb_piece_tables *out);
/* Fills the grid at TABLES->grid by THREADS threads, of which this is TID; a barrier of the block must follow. */
void tcb_piece_write_grid(struct tcb_ptx_build *b, enum tcb_format_id id, const struct tcb_piece_tables *tables,
			  kit_op tid, unsigned threads);

/* A piece as loaded: words of codes, the word (IQ1_M: the half, .u32) of high bits, its fields (.u32: one word, or the
 * low bits of it), the superblock's d (.u32: a half, or two). */
struct tcb_piece {
	kit_op code[TCB_PIECE_CODE_WORDS], high, fields, d;
};
/* Word K: the codes of values 4 K to 4 K + 3. */
void tcb_piece_write_words(struct tcb_ptx_build *b, enum tcb_format_id id, const struct tcb_piece_tables *tables,
			   const struct tcb_piece *piece, kit_op out[TCB_PIECE_WORDS]);

/* D (f32) times what is in SCALE: the whole scale where there is one for a piece, else of integers or floats (f32) of
 * its halves.  What is taken off: MIN (f32) of a piece, or DMIN (f32) times the integers MINS. */
struct tcb_piece_scales {
	kit_op d, scale[2], min, dmin, mins[2];
};
void tcb_piece_write_scales(struct tcb_ptx_build *b, enum tcb_format_id id, const struct tcb_piece *piece,
			    struct tcb_piece_scales *out);

#endif
