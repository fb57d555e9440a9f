/* SPDX-License-Identifier: MIT
 *
 * Packed weight layouts of q4k_matvec alone (TCB-01): R rows interleaved so that one
 * 64-byte vector holds a piece of every row, scales kept as 6 bits or widened
 * to bytes.  In: Q4_K blocks as stored, rows of K/256 blocks.  Out: the group
 * blocks that q4k_matvec.h describes.  Packing loses nothing; unpacking gives
 * the stored bytes back.
 */
#include <assert.h>
#include <string.h>

#include "kernels/formats.h"
#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec_pack.h"

enum { NIBBLE_BYTES = 128, PAIR_BYTES = 32, SCALE_BYTES = 12, ROWS_MAX = 16 };

static int is_wide(enum tcb_layout layout)
{
	return layout == TCB_LAYOUT_R8W || layout == TCB_LAYOUT_R16W;
}

size_t q4k_layout_block_bytes(enum tcb_layout layout)
{
	return qmv_layout_rows(layout) * (Q4K_BLOCK_BYTES + (is_wide(layout) ? 16 - SCALE_BYTES : 0));
}

size_t q4k_packed_bytes(enum tcb_layout layout, size_t n, size_t k)
{
	size_t rows = qmv_layout_rows(layout);
	return (n + rows - 1) / rows * (k / Q4K_BLOCK_VALUES) * q4k_layout_block_bytes(layout);
}

/* PIECE and ROWS are constants after inlining, so that each piece is one move. */
static inline __attribute__((always_inline)) void pack_nibbles(const uint8_t *const source[ROWS_MAX], unsigned rows,
							       uint8_t *out)
{
	size_t piece = 64 / rows;
	for (size_t at = 16; at < Q4K_BLOCK_BYTES; at += piece)
		for (unsigned r = 0; r < rows; r++, out += piece)
			memcpy(out, source[r] + at, piece);
}

static inline __attribute__((always_inline)) void unpack_nibbles(const uint8_t *packed, unsigned rows, unsigned row,
								 uint8_t *out)
{
	size_t piece = 64 / rows;
	for (size_t at = 0; at < NIBBLE_BYTES; at += piece)
		memcpy(out + at, packed + at * rows + row * piece, piece);
}

static void pack_block(enum tcb_layout layout, const uint8_t *const source[ROWS_MAX], uint8_t *out)
{
	unsigned rows = (unsigned)qmv_layout_rows(layout), words = is_wide(layout) ? 4 : 3;
	uint8_t *scales = out + 4 * rows;
	for (unsigned r = 0; r < rows; r++) {
		memcpy(out + 4 * r, source[r], 4);
		uint8_t bytes[16];
		if (is_wide(layout))
			tcb_k_scales(source[r] + 4, bytes, bytes + 8);
		else
			memcpy(bytes, source[r] + 4, SCALE_BYTES);
		for (unsigned w = 0; w < words; w++)
			memcpy(scales + 4 * (w * rows + r), bytes + 4 * w, 4);
	}
	uint8_t *nibbles = scales + 4 * words * rows;
	if (rows == 4)
		pack_nibbles(source, 4, nibbles);
	else if (rows == 8)
		pack_nibbles(source, 8, nibbles);
	else
		pack_nibbles(source, 16, nibbles);
}

static void unpack_row(enum tcb_layout layout, const uint8_t *packed, unsigned r, uint8_t *out)
{
	unsigned rows = (unsigned)qmv_layout_rows(layout), words = is_wide(layout) ? 4 : 3;
	const uint8_t *scales = packed + 4 * rows;
	uint8_t bytes[16];
	memcpy(out, packed + 4 * r, 4);
	for (unsigned w = 0; w < words; w++)
		memcpy(bytes + 4 * w, scales + 4 * (w * rows + r), 4);
	if (is_wide(layout))
		tcb_k_scales_pack(bytes, bytes + 8, out + 4);
	else
		memcpy(out + 4, bytes, SCALE_BYTES);
	const uint8_t *nibbles = scales + 4 * words * rows;
	if (rows == 4)
		unpack_nibbles(nibbles, 4, r, out + 16);
	else if (rows == 8)
		unpack_nibbles(nibbles, 8, r, out + 16);
	else
		unpack_nibbles(nibbles, 16, r, out + 16);
}

void q4k_pack(enum tcb_layout layout, size_t n, size_t k, const void *weights, void *packed)
{
	static const uint8_t zeros[Q4K_BLOCK_BYTES];
	size_t rows = qmv_layout_rows(layout), blocks = k / Q4K_BLOCK_VALUES;
	size_t row_bytes = blocks * Q4K_BLOCK_BYTES, group_block = q4k_layout_block_bytes(layout);
	const uint8_t *in = weights;
	uint8_t *out = packed;
	assert(rows > 1 && layout != TCB_LAYOUT_R16 && k % Q4K_BLOCK_VALUES == 0);
	for (size_t first = 0; first < n; first += rows)
		for (size_t b = 0; b < blocks; b++, out += group_block) {
			const uint8_t *source[ROWS_MAX];
			for (size_t r = 0; r < rows; r++)
				source[r] = first + r < n ? in + (first + r) * row_bytes + b * Q4K_BLOCK_BYTES : zeros;
			pack_block(layout, source, out);
		}
}

void q4k_unpack(enum tcb_layout layout, size_t n, size_t k, const void *packed, void *weights)
{
	size_t rows = qmv_layout_rows(layout), blocks = k / Q4K_BLOCK_VALUES;
	size_t group_block = q4k_layout_block_bytes(layout);
	const uint8_t *in = packed;
	uint8_t *out = weights;
	assert(rows > 1 && layout != TCB_LAYOUT_R16 && k % Q4K_BLOCK_VALUES == 0);
	for (size_t row = 0; row < n; row++)
		for (size_t b = 0; b < blocks; b++, out += Q4K_BLOCK_BYTES)
			unpack_row(layout, in + (row / rows * blocks + b) * group_block, (unsigned)(row % rows), out);
}
