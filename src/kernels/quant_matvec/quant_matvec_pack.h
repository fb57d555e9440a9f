/* SPDX-License-Identifier: MIT
 *
 * Layouts for CPUs that q4k_matvec has beside r16, which all formats and ops share (quant_lines.h), and what rows take
 * in any.
 */
#ifndef TCB_KERNELS_QUANT_MATVEC_PACK_H
#define TCB_KERNELS_QUANT_MATVEC_PACK_H

#include "kernels/quant_matvec/quant_matvec_layout.h"

/*
 * Layout rR: R rows of one block position become one group block,
 *     f16 { d, dmin }[R]; scale words [3][R]; nibbles [4][R / 2][R][64 / R]
 * which of 16 rows is r16.  Word w of row r holds bytes 4w..4w+3 of its 12 scale bytes, and the nibble bytes of each
 * 64-value pair of sub-blocks are cut into pieces of 64 / R bytes, so that 64 bytes hold one piece of every row.  rRw:
 * scale words [4][R] hold the eight scales, then the eight mins, one byte each.  Group blocks follow each other along
 * k, groups along n: one call reads one strictly sequential stream.  N is padded up to the group with zero blocks in
 * the packed copy. */
size_t q4k_packed_bytes(enum tcb_layout layout, size_t n, size_t k);
size_t q4k_layout_rows(enum tcb_layout layout);        /* rows in a group; 1 for native */
size_t q4k_layout_block_bytes(enum tcb_layout layout); /* bytes of one group block */
void q4k_pack(enum tcb_layout layout, size_t n, size_t k, const void *weights, void *packed);
void q4k_unpack(enum tcb_layout layout, size_t n, size_t k, const void *packed, void *weights);

/* Of all formats: bytes of a superblock of a row, or of a row group; of a row as stored, or of a row group. */
size_t qmv_block_bytes(const struct tcb_format *format, enum tcb_layout layout);
size_t qmv_group_bytes(const struct tcb_problem *problem, enum tcb_layout layout);

#endif
