/* SPDX-License-Identifier: MIT
 *
 * Layouts f and g of expanded formats, for the matrix instructions of GPUs: units of
 * pieces (formats_pieces.h).  Layout f: a lane has p and p + 4 of rows q and q + 8, p = lane % 4,
 * q = lane / 4, whose values take the same turns along k as those of runs of 32 (qmm_k_of()).  Layout g: of
 * each chunk of 64 along k it has one, the first one of row q, of row q + 8, the second one of both by turns.  A unit:
 *   codes   f: [row / 8][piece / 4][lane], g: [chunk][lane], a piece's
 *   high    the same
 *   fields  of a row, then of the next
 *   d       likewise
 */
#include <string.h>

#include "kernels/decode/formats_pieces.h"
#include "kernels/quant_matmul/quant_matmul_fragments.h"

enum { LANES = 32, PAIRS = 4 };

/* Where the share of piece J of row R, of BYTES bytes, is in a unit's codes or high bits. */
static size_t piece_at(enum tcb_layout layout, unsigned r, unsigned j, unsigned bytes)
{
	if (layout == TCB_LAYOUT_G)
		return (size_t)(j / 2 * LANES + r % 8 * PAIRS + j % 2 * 2 + r / 8) * bytes;
	const unsigned quarter = r / 8 * 2 + j / PAIRS, lane = r % 8 * PAIRS + j % PAIRS;
	return (size_t)(quarter * LANES + lane) * bytes;
}

/* PART of row R of UNIT from STORED, or back. */
static void move_part(const struct qmm_unit *u, enum tcb_layout layout, enum tcb_piece_part part, unsigned r,
		      int is_pack, uint8_t *stored, size_t blocks, uint8_t *unit)
{
	uint8_t bytes[TCB_BLOCK_VALUES_MAX];
	const unsigned each = part == TCB_PIECE_CODES ? u->piece_bytes : u->piece_high;
	if (is_pack)
		tcb_pieces_take(u->format, part, stored, blocks, bytes);
	if (part == TCB_PIECE_FIELDS || part == TCB_PIECE_D) {
		const size_t row = part == TCB_PIECE_D ? u->d_bytes : u->header_bytes;
		uint8_t *at = unit + (part == TCB_PIECE_D ? u->last_at : u->header_at) + r * row;
		memcpy(is_pack ? at : bytes, is_pack ? bytes : at, row);
	} else {
		for (unsigned j = 0; j < TCB_PIECES; j++) {
			uint8_t *at = unit + (part == TCB_PIECE_HIGH ? u->high_at : 0) + piece_at(layout, r, j, each);
			memcpy(is_pack ? at : bytes + j * each, is_pack ? bytes + j * each : at, each);
		}
	}
	if (!is_pack)
		tcb_pieces_put(u->format, part, bytes, blocks, stored);
}

static void move_unit(const struct qmm_unit *u, enum tcb_layout layout, int is_pack, uint8_t *stored, size_t row_bytes,
		      unsigned rows, size_t blocks, uint8_t *unit)
{
	for (unsigned r = 0; r < rows; r++)
		for (int part = 0; part < TCB_PIECE_PARTS; part++)
			move_part(u, layout, (enum tcb_piece_part)part, r, is_pack, stored + r * row_bytes, blocks,
				  unit);
}

void qmm_pieces_pack(const struct qmm_unit *unit, enum tcb_layout layout, const uint8_t *in, size_t row_bytes,
		     unsigned rows, size_t blocks, uint8_t *out)
{
	memset(out, 0, unit->bytes);
	move_unit(unit, layout, 1, (uint8_t *)in, row_bytes, rows, blocks, out);
}

void qmm_pieces_unpack(const struct qmm_unit *unit, enum tcb_layout layout, const uint8_t *in, size_t row_bytes,
		       unsigned rows, size_t blocks, uint8_t *out)
{
	move_unit(unit, layout, 0, out, row_bytes, rows, blocks, (uint8_t *)in);
}
