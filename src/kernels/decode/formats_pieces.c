/* SPDX-License-Identifier: MIT
 *
 * Superblocks of expanded formats as parts and back (formats_pieces.h): a function a format says once which bits
 * of a block as stored are which of a piece, for both directions.
 */
#include "kernels/decode/formats_pieces.h"

#include <assert.h>
#include <string.h>

enum { BYTE = 8 };

#define PART_BYTES(id, name, codes, high, d, field_bits, ...) \
	[TCB_FORMAT_##id] = { TCB_PIECES * (codes), TCB_PIECES * (high), d, field_bits },
static const unsigned char part_bytes[TCB_FORMAT_COUNT][TCB_PIECE_PARTS] = { TCB_PIECE_LIST(PART_BYTES) };

size_t tcb_piece_part_bytes(enum tcb_format_id id, enum tcb_piece_part part)
{
	return part_bytes[id][part];
}

/* One part of one superblock on its way. */
struct move {
	enum tcb_piece_part part;
	int is_take;
	uint8_t *stored, *piece; /* PIECE: the part */
	size_t blocks;
};

/* COUNT bits from bit AT of the part on, from bit FROM as stored or to it. */
static void bits(const struct move *m, enum tcb_piece_part part, size_t at, size_t from, size_t count)
{
	if (part != m->part)
		return;
	const uint8_t *in = m->is_take ? m->stored : m->piece;
	uint8_t *out = m->is_take ? m->piece : m->stored;
	const size_t in_at = m->is_take ? from : at, out_at = m->is_take ? at : from;
	if (in_at % BYTE == 0 && out_at % BYTE == 0 && count % BYTE == 0) {
		memcpy(out + out_at / BYTE, in + in_at / BYTE, count / BYTE);
		return;
	}
	if (in_at % BYTE + count <= BYTE && out_at % BYTE + count <= BYTE) {
		const unsigned mask = (1u << count) - 1, value = in[in_at / BYTE] >> in_at % BYTE & mask;
		uint8_t *to = &out[out_at / BYTE];
		*to = (uint8_t)((*to & ~(mask << out_at % BYTE)) | value << out_at % BYTE);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const unsigned bit = in[(in_at + i) / BYTE] >> (in_at + i) % BYTE & 1;
		uint8_t *to = &out[(out_at + i) / BYTE];
		*to = (uint8_t)((*to & ~(1u << (out_at + i) % BYTE)) | bit << (out_at + i) % BYTE);
	}
}

/* COUNT bytes of a part, likewise. */
static void bytes(const struct move *m, enum tcb_piece_part part, size_t at, size_t from, size_t count)
{
	bits(m, part, at * BYTE, from * BYTE, count * BYTE);
}

/* 32 bits as stored, a value each in order, those of value 4 k + i at 8 i + k. */
static void turned_bits(const struct move *m, enum tcb_piece_part part, size_t at, size_t from)
{
	for (size_t v = 0; part == m->part && v < TCB_PIECE_VALUES; v++)
		bits(m, part, at + 8 * (v % 4) + v / 4, from + v, 1);
}

/* --- blocks of 32 --- */

static void fives(const struct move *m, size_t block_bytes, size_t header)
{
	for (size_t j = 0; j < m->blocks; j++) {
		const size_t block = j * block_bytes;
		bytes(m, TCB_PIECE_FIELDS, j * header, block, header);
		turned_bits(m, TCB_PIECE_HIGH, j * 32, (block + header) * BYTE);
		bytes(m, TCB_PIECE_CODES, j * 16, block + header + 4, 16);
	}
}

static void q5_0(const struct move *m)
{
	fives(m, 22, 2);
}

static void q5_1(const struct move *m)
{
	fives(m, 24, 4);
}

static void q4_1(const struct move *m)
{
	for (size_t j = 0; j < m->blocks; j++) {
		bytes(m, TCB_PIECE_FIELDS, j * 4, j * 20, 4);
		bytes(m, TCB_PIECE_CODES, j * 16, j * 20 + 4, 16);
	}
}

/* --- K-quants --- */

/* Two bits of 128 values in 32 bytes, from byte FROM on. */
static void twos(const struct move *m, size_t from)
{
	for (size_t v = 0; m->part == TCB_PIECE_CODES && v < TCB_BLOCK_VALUES_MAX; v++) {
		const size_t j = v / 32, k = v % 32 / 4, stored = from + v / 128 * 32 + v % 32;
		bits(m, TCB_PIECE_CODES, j * 64 + k / 4 * 32 + 8 * (v % 4) + 2 * (k % 4), stored * BYTE + 2 * (j % 4),
		     2);
	}
}

static void q3_k(const struct move *m)
{
	twos(m, 32);
	for (size_t v = 0; m->part == TCB_PIECE_HIGH && v < TCB_BLOCK_VALUES_MAX; v++)
		bits(m, TCB_PIECE_HIGH, v / 32 * 32 + 8 * (v % 4) + v % 32 / 4, v % 32 * BYTE + v / 32, 1);
	for (size_t s = 0; s < 16; s++) {
		bits(m, TCB_PIECE_FIELDS, 6 * s, (96 + s % 8) * BYTE + s / 8 * 4, 4);
		bits(m, TCB_PIECE_FIELDS, 6 * s + 4, (104 + s % 4) * BYTE + s / 4 * 2, 2);
	}
	bytes(m, TCB_PIECE_D, 0, 108, 2);
}

static void q2_k(const struct move *m)
{
	twos(m, 16);
	bytes(m, TCB_PIECE_FIELDS, 0, 0, 16);
	bytes(m, TCB_PIECE_D, 0, 80, 4);
}

/* --- grids of four values --- */

static void iq3_s(const struct move *m)
{
	bytes(m, TCB_PIECE_D, 0, 0, 2);
	bytes(m, TCB_PIECE_CODES, 0, 2, 64);
	bytes(m, TCB_PIECE_HIGH, 0, 74, 32);
	for (size_t j = 0; j < TCB_PIECES; j++) {
		bits(m, TCB_PIECE_FIELDS, 12 * j, (66 + j) * BYTE, 8);
		bits(m, TCB_PIECE_FIELDS, 12 * j + 8, 106 * BYTE + 4 * j, 4);
	}
}

static void iq3_xxs(const struct move *m)
{
	bytes(m, TCB_PIECE_D, 0, 0, 2);
	bytes(m, TCB_PIECE_CODES, 0, 2, 64);
	for (size_t j = 0; j < TCB_PIECES; j++)
		for (size_t four = 0; four < 4; four++) {
			const size_t word = (66 + 4 * j) * BYTE;
			bits(m, TCB_PIECE_HIGH, 32 * j + 8 * four, word + 7 * four, 7);
			bits(m, TCB_PIECE_HIGH, 32 * j + 8 * four + 7, word + 28 + four, 1);
		}
}

/* --- grids of eight values --- */

/* COUNT signs of eight values, the OF-th of a piece, to the second word of its codes. */
static void signs_of_eight(const struct move *m, size_t piece, size_t of, size_t from, size_t count)
{
	for (size_t n = 0; n < count; n++)
		bits(m, TCB_PIECE_CODES, 64 * piece + 32 + 4 * n + of, from + n, 1);
}

static void iq2_s(const struct move *m)
{
	bytes(m, TCB_PIECE_D, 0, 0, 2);
	for (size_t j = 0; j < TCB_PIECES; j++) {
		bytes(m, TCB_PIECE_CODES, 8 * j, 2 + 4 * j, 4);
		for (size_t of = 0; of < 4; of++)
			signs_of_eight(m, j, of, (34 + 4 * j + of) * BYTE, 8);
		bytes(m, TCB_PIECE_FIELDS, 2 * j, 66 + j, 1);
		bytes(m, TCB_PIECE_FIELDS, 2 * j + 1, 74 + j, 1);
	}
}

static void iq2_xs(const struct move *m)
{
	bytes(m, TCB_PIECE_D, 0, 0, 2);
	bytes(m, TCB_PIECE_FIELDS, 0, 66, 8);
	for (size_t j = 0; j < TCB_PIECES; j++)
		for (size_t of = 0; of < 4; of++) {
			const size_t word = (2 + 8 * j + 2 * of) * BYTE;
			bits(m, TCB_PIECE_CODES, 64 * j + 8 * of, word, 8);
			bits(m, TCB_PIECE_CODES, 64 * j + 32 + 28 + of, word + 8, 1);
			signs_of_eight(m, j, of, word + 9, 7);
		}
}

static void iq2_xxs(const struct move *m)
{
	bytes(m, TCB_PIECE_D, 0, 0, 2);
	for (size_t j = 0; j < TCB_PIECES; j++) {
		const size_t at = 2 + 8 * j;
		bytes(m, TCB_PIECE_CODES, 8 * j, at, 4);
		for (size_t of = 0; of < 4; of++)
			signs_of_eight(m, j, of, (at + 4) * BYTE + 7 * of, 7);
		bits(m, TCB_PIECE_CODES, 64 * j + 32 + 28, (at + 4) * BYTE + 28, 4);
	}
}

static void iq1_s(const struct move *m)
{
	bytes(m, TCB_PIECE_D, 0, 0, 2);
	bytes(m, TCB_PIECE_CODES, 0, 2, 32);
	bytes(m, TCB_PIECE_FIELDS, 0, 34, 16);
}

static void iq1_m(const struct move *m)
{
	bytes(m, TCB_PIECE_CODES, 0, 0, 32);
	bytes(m, TCB_PIECE_HIGH, 0, 32, 16);
	for (size_t word = 0; word < 4; word++) {
		bits(m, TCB_PIECE_FIELDS, 12 * word, (48 + 2 * word) * BYTE, 12);
		bits(m, TCB_PIECE_D, 4 * word, (48 + 2 * word) * BYTE + 12, 4);
	}
}

/* --- NVFP4 --- */

static void nvfp4(const struct move *m)
{
	for (size_t b = 0; b < m->blocks; b++) {
		bytes(m, TCB_PIECE_FIELDS, 4 * b, 36 * b, 4);
		for (size_t v = 0; m->part == TCB_PIECE_CODES && v < 64; v++)
			bits(m, TCB_PIECE_CODES, 4 * (64 * b + v),
			     (36 * b + 4 + v / 16 * 8 + v % 8) * BYTE + v % 16 / 8 * 4, 4);
	}
}

static void move(enum tcb_format_id id, const struct move *m)
{
	switch (id) {
#define MOVE(id_, name, ...)   \
	case TCB_FORMAT_##id_: \
		name(m);       \
		break;
		TCB_PIECE_LIST(MOVE)
	default:
		assert(!"reached");
		break;
	}
}

void tcb_pieces_take(enum tcb_format_id id, enum tcb_piece_part part, const uint8_t *stored, size_t blocks,
		     uint8_t *out)
{
	memset(out, 0, tcb_piece_part_bytes(id, part));
	move(id, &(struct move){ part, 1, (uint8_t *)stored, out, blocks });
}

void tcb_pieces_put(enum tcb_format_id id, enum tcb_piece_part part, const uint8_t *in, size_t blocks, uint8_t *stored)
{
	move(id, &(struct move){ part, 0, stored, (uint8_t *)in, blocks });
}
