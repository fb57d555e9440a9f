/* SPDX-License-Identifier: MIT
 *
 * Layouts f and g of quantised weights, for the matrix instructions of GPUs: rows of
 * blocks as stored come in, units of 16 rows by 256 of k come out, those of 16
 * rows one after another along k; no bytes are added but for rows and values
 * that fill up the last units, which are zeros.
 *
 * Layout f, for halves: a lane of a warp has 8 weights of each step of 16 along k: rows l / 4 and
 * l / 4 + 8, places 2 (l % 4), the next, and 8 more of both.  A unit:
 *   codes    [chunk of 64][lane][16 bytes], a word per step: bits 0, 4, 8 and 12 on
 *            have the first of each pair (row, row + 8, row at 8 more, row + 8 at
 *            8 more), bits 16, 20, 24 and 28 on the second.  Codes in a table: the first
 *            half of a word has the nibbles of row, then of row + 8, the other those 8
 *            more; where they are a sign and three bits, byte i has above the latter the
 *            signs of nibbles 4 + i and i.  Bytes: in the same order, two words a step, a byte a code above -128, or
 *            of E4M3 as it is.
 *            Values of 16 bits: [step of 16][lane], the four words of A's registers; of 32: [step][half][lane], the
 *            values of two of these.
 *   high     [four words][lane], a word four steps (Q5_K) or two (Q6_K):
 *            qmm_high_at().
 * Layout g, for bytes: a lane has rows l / 4 and l / 4 + 8, values 4 (l % 4) to
 * 4 (l % 4) + 3 of each 16, k in its order.
 *   codes    [chunk of 64][lane][16 bytes], a word 16 values: the low nibbles are the
 *            first row's, the high ones the other's; codes in a table: the first half
 *            of a word is the first row's.  Bytes: [run of 32][lane], the
 *            four words of A's registers, as stored.
 *   high     [chunk][lane].  Q5_K: a word: of each byte, from bits 4, 5, 0 and 1 on, one
 *            bit of the first row's 16 values and, 2 above, of the other's.  Q6_K: a
 *            word 32 values: pairs of bits, of the first 16 of one row, of the other,
 *            of the next 16 of both.
 * Of expanded formats both are quant_matmul_pieces.c's.
 * Both:
 *   headers  a row's scales, 16 bytes or 8: write_header(); in layout g in their order.
 */
#include <assert.h>
#include <string.h>

#include "kernels/decode/formats_pieces.h"
#include "kernels/quant_matmul/quant_matmul_fragments.h"

enum { LANES = 32, STEPS = 4, REGISTERS = 4 };

/* Pieces have 32 values, whatever of these share a scale. */
static void unit_of_pieces(enum tcb_format_id format, struct qmm_unit *out)
{
	out->is_pieces = 1;
	out->run = TCB_PIECE_VALUES;
	out->piece_bytes = (unsigned)tcb_piece_part_bytes(format, TCB_PIECE_CODES) / TCB_PIECES;
	out->piece_high = (unsigned)tcb_piece_part_bytes(format, TCB_PIECE_HIGH) / TCB_PIECES;
	out->header_bytes = (unsigned)tcb_piece_part_bytes(format, TCB_PIECE_FIELDS);
	out->d_bytes = (unsigned)tcb_piece_part_bytes(format, TCB_PIECE_D);
	out->high_at = QMM_UNIT_ROWS * TCB_PIECES * out->piece_bytes;
	out->header_at = out->high_at + QMM_UNIT_ROWS * TCB_PIECES * out->piece_high;
	out->last_at = out->header_at + QMM_UNIT_ROWS * out->header_bytes;
	out->bytes = out->last_at + QMM_UNIT_ROWS * out->d_bytes;
}

void qmm_unit_of(enum tcb_format_id format, struct qmm_unit *out)
{
	const struct tcb_format *f = tcb_format(format);
	*out = (struct qmm_unit){ .format = format, .run = f->run_values == 16 ? 16 : 32, .terms = 1, .x_terms = 1 };
	if (tcb_is_expanded(format)) {
		unit_of_pieces(format, out);
		return;
	}
	if (tcb_is_float(format) && f->block_values == 1) {
		out->is_plain = 1;
		out->terms = f->codes == TCB_CODES_F32 ? QMM_TERMS_MAX : 1;
		out->x_terms = f->codes == TCB_CODES_F16 ? 1 : QMM_TERMS_MAX;
		out->code_words = STEPS * REGISTERS * (unsigned)f->block_bytes / 2;
		out->high_at = out->header_at = out->last_at = out->bytes = QMM_CHUNKS * LANES * 4 * out->code_words;
		return;
	}
	out->code_words = f->code_bits == 8 ? 8 : 4;
	out->high_bits = f->code_bits == 8 ? 0 : (unsigned)f->code_bits - 4;
	out->high_words = 4 * out->high_bits;
	out->header_bytes =
		f->scales == TCB_SCALES_POWER || f->scales == TCB_SCALES_SIX || f->scales == TCB_SCALES_FLOAT ? 8 : 16;
	out->high_at = QMM_CHUNKS * LANES * 4 * out->code_words;
	out->header_at = out->high_at + LANES * 4 * out->high_words;
	out->last_at = out->header_at + QMM_UNIT_ROWS * out->header_bytes;
	out->bytes = out->last_at + (f->scales == TCB_SCALES_BYTES ? QMM_UNIT_ROWS * 2 : 0);
}

void qmm_high_at(const struct qmm_unit *unit, unsigned chunk, unsigned step, unsigned reg, unsigned odd,
		 struct qmm_high_place *out)
{
	const unsigned steps = STEPS / unit->high_bits, of_word = 2 * steps; /* pairs of registers of a word */
	const unsigned pair = (chunk * STEPS + step) % steps * 2 + reg / 2, up = pair / (of_word / 2);
	out->word = (chunk * STEPS + step) / steps;
	out->turn = 8 * up + pair % (of_word / 2) * unit->high_bits;
	out->bit = (out->turn + (reg % 2 ? 8 : 4) + 16 * odd) % 32;
}

size_t qmm_units_along_k(size_t k)
{
	return (k + QMM_UNIT_VALUES - 1) / QMM_UNIT_VALUES;
}

size_t qmm_fragments_bytes(enum tcb_format_id format, size_t n, size_t k)
{
	struct qmm_unit unit;
	qmm_unit_of(format, &unit);
	return (n + QMM_UNIT_ROWS - 1) / QMM_UNIT_ROWS * qmm_units_along_k(k) * unit.bytes;
}

/* --- headers --- */

/*
 * TCB_SCALES_K: d and dmin, then four bytes, a lane's each, three times.  First those of the sub-blocks 0 to 3: the
 * scale, and from bit 6 on the upper two bits of the min; then those of 4 to 7 likewise; then the mins' lower four
 * bits, that of a sub-block below that of the fourth after it.
 */
static void write_k_header(const uint8_t *block, uint8_t *out)
{
	uint8_t scale[8], min[8];
	tcb_k_scales(block + 4, scale, min);
	memcpy(out, block, 4);
	for (unsigned j = 0; j < 8; j++)
		out[4 + j] = (uint8_t)(scale[j] | min[j] >> 4 << 6);
	for (unsigned j = 0; j < 4; j++)
		out[12 + j] = (uint8_t)((min[j] & 15) | (min[4 + j] & 15) << 4);
}

static void read_k_header(const uint8_t *in, uint8_t *block)
{
	uint8_t scale[8], min[8];
	for (unsigned j = 0; j < 8; j++) {
		scale[j] = in[4 + j] & 63;
		min[j] = (uint8_t)(in[4 + j] >> 6 << 4 | (in[12 + j % 4] >> j / 4 * 4 & 15));
	}
	memcpy(block, in, 4);
	tcb_k_scales_pack(scale, min, block + 4);
}

/* Place I of a header's scales, a lane's together, is that of which of the COUNT runs: first halves and second ones. */
static unsigned run_at(enum tcb_layout layout, unsigned i, unsigned count)
{
	const unsigned pairs = count / 8; /* of a lane */
	if (layout == TCB_LAYOUT_G)
		return i;
	return i % 2 * count / 2 + i / 2 % pairs * 4 + i / (2 * pairs);
}

/*
 * Scales of 6 bits: a byte each, above -32; from bit 6 on, in the first four the lower two bits of each four of d, in
 * the others the upper two.
 */
static void write_six_header(const struct tcb_format *f, const uint8_t *block, uint8_t *out)
{
	const unsigned d = block[f->d_at] | (unsigned)block[f->d_at + 1] << 8;
	int8_t scale[8];
	tcb_six_scales(block + f->scales_at, scale);
	for (unsigned j = 0; j < 8; j++)
		out[j] = (uint8_t)((unsigned)(scale[j] + 32) | (d >> (4 * (j % 4) + j / 4 * 2) & 3) << 6);
}

static void read_six_header(const struct tcb_format *f, const uint8_t *in, uint8_t *block)
{
	unsigned d = 0;
	int8_t scale[8];
	for (unsigned j = 0; j < 8; j++) {
		scale[j] = (int8_t)((in[j] & 63) - 32);
		d |= (unsigned)in[j] >> 6 << (4 * (j % 4) + j / 4 * 2);
	}
	block[f->d_at] = (uint8_t)d;
	block[f->d_at + 1] = (uint8_t)(d >> 8);
	tcb_six_scales_pack(scale, block + f->scales_at);
}

/* Floats: the two blocks'.  Halves, powers: the eight blocks'.  Bytes: the scales above -128, and d in the unit's last
 * part. */
static void write_header(const struct tcb_format *f, enum tcb_layout layout, const uint8_t *blocks, unsigned count,
			 uint8_t *out, uint8_t *last)
{
	const size_t bytes = f->scales == TCB_SCALES_POWER ? 1 : 2;
	switch (f->scales) {
	case TCB_SCALES_BYTES:
		for (unsigned i = 0; i < 16; i++)
			out[i] = blocks[f->scales_at + run_at(layout, i, 16)] ^ 128;
		memcpy(last, blocks + f->d_at, 2);
		break;
	case TCB_SCALES_K:
		write_k_header(blocks, out);
		break;
	case TCB_SCALES_SIX:
		write_six_header(f, blocks, out);
		break;
	case TCB_SCALES_FLOAT:
		for (unsigned i = 0; i < count; i++)
			memcpy(out + sizeof(float) * i, blocks + f->scales_at + i * f->block_bytes, sizeof(float));
		break;
	default:
		for (unsigned i = 0; i < 8; i++)
			if (run_at(layout, i, 8) < count)
				memcpy(out + bytes * i, blocks + run_at(layout, i, 8) * f->block_bytes, bytes);
		break;
	}
}

static void read_header(const struct tcb_format *f, enum tcb_layout layout, const uint8_t *in, const uint8_t *last,
			unsigned count, uint8_t *blocks)
{
	const size_t bytes = f->scales == TCB_SCALES_POWER ? 1 : 2;
	switch (f->scales) {
	case TCB_SCALES_BYTES:
		for (unsigned i = 0; i < 16; i++)
			blocks[f->scales_at + run_at(layout, i, 16)] = in[i] ^ 128;
		memcpy(blocks + f->d_at, last, 2);
		break;
	case TCB_SCALES_K:
		read_k_header(in, blocks);
		break;
	case TCB_SCALES_SIX:
		read_six_header(f, in, blocks);
		break;
	case TCB_SCALES_FLOAT:
		for (unsigned i = 0; i < count; i++)
			memcpy(blocks + f->scales_at + i * f->block_bytes, in + sizeof(float) * i, sizeof(float));
		break;
	default:
		for (unsigned i = 0; i < 8; i++)
			if (run_at(layout, i, 8) < count)
				memcpy(blocks + run_at(layout, i, 8) * f->block_bytes, in + bytes * i, bytes);
		break;
	}
}

/* --- where codes are --- */

/* Where the code at place KK of row R of a unit is: the byte and from which bit on; likewise its high bits. */
struct spot {
	uint16_t at, high_at;
	uint8_t shift, high_shift;
};

/* Layout f of codes that are a sign and three bits: these are apart. */
static int has_signs(const struct tcb_format *f, enum tcb_layout layout)
{
	return f->scales == TCB_SCALES_POWER && layout == TCB_LAYOUT_F;
}

static struct spot spot_of(const struct qmm_unit *unit, unsigned r, unsigned kk)
{
	const unsigned chunk = kk / QMM_CHUNK, step = kk % QMM_CHUNK / 16, k = kk % 16;
	const unsigned lane = r % 8 * 4 + k % 8 / 2, odd = k % 2, reg = r / 8 + 2 * (k / 8);
	unsigned at, shift, high_at = unit->high_at, high_shift = 0;
	if (unit->code_words == 4) {
		at = ((chunk * LANES + lane) * 4 + step) * 4;
		shift = tcb_has_table(unit->format) ? 16 * (reg / 2) + 8 * (reg % 2) + 4 * odd : 4 * reg + 16 * odd;
		if (has_signs(tcb_format(unit->format), TCB_LAYOUT_F)) {
			high_at = at;
			high_shift = 8 * (2 * (reg % 2) + odd) + (reg / 2 ? 3 : 7);
		}
	} else { /* [half of 4 words][lane]: words of two steps each, a step's registers 0 and 1, then 2 and 3 */
		at = ((chunk * 2 + step / 2) * LANES + lane) * 16 + (step % 2 * 2 + reg / 2) * 4;
		shift = 8 * (2 * (reg % 2) + odd);
	}
	if (unit->high_words) {
		struct qmm_high_place place;
		qmm_high_at(unit, chunk, step, reg, odd, &place);
		high_at += ((place.word / 4 * LANES + lane) * 4 + place.word % 4) * 4;
		high_shift = place.bit;
	}
	return (struct spot){ (uint16_t)(at + shift / 8), (uint16_t)(high_at + high_shift / 8), (uint8_t)(shift % 8),
			      (uint8_t)(high_shift % 8) };
}

static struct spot spot_of_bytes(const struct qmm_unit *unit, unsigned r, unsigned v)
{
	static const unsigned char fifth[4] = { 4, 5, 0, 1 };
	const unsigned chunk = v / QMM_CHUNK, piece = v % QMM_CHUNK / 16, byte = v % 4, row = r / 8;
	const unsigned lane = r % 8 * 4 + v % 16 / 4;
	unsigned at, shift = 8 * byte, high_at = 0, high_shift = 8 * byte;
	if (unit->code_words == 4) {
		at = ((chunk * LANES + lane) * 4 + piece) * 4;
		shift = tcb_has_table(unit->format) ? 4 * byte + 16 * row : shift + 4 * row;
	} else {
		at = ((chunk * 2 + piece / 2) * LANES + lane) * 16 + (row + piece % 2 * 2) * 4;
	}
	if (unit->high_words == 4) {
		high_at = (chunk * LANES + lane) * 4;
		high_shift += fifth[piece] + 2 * row;
	} else if (unit->high_words == 8) {
		high_at = ((chunk * LANES + lane) * 2 + piece / 2) * 4;
		high_shift += 2 * (piece % 2 * 2 + row);
	}
	return (struct spot){ (uint16_t)(at + shift / 8), (uint16_t)(unit->high_at + high_at + high_shift / 8),
			      (uint8_t)(shift % 8), (uint8_t)(high_shift % 8) };
}

/*
 * Eight rows, 0 to 7 or 8 to 15, have their codes of one place along k in bytes of a unit STRIDE apart, the first
 * one's at AT, from bit SHIFT on.
 */
enum { OCTET = 8, HALVES = QMM_UNIT_ROWS / OCTET, ROW_BYTES = 8 * 34, UNIT_BYTES = ROW_BYTES * QMM_UNIT_ROWS };

struct octet {
	uint16_t at, stride;
	uint8_t shift;
};

/* A unit's codes at each place along k: the block of a row and the bits in it, and those in the unit. */
struct map {
	struct place {
		unsigned block;
		struct tcb_code_place code;
		struct octet low[HALVES], high[HALVES];
	} place[QMM_UNIT_VALUES];
	struct octet first[UNIT_BYTES / OCTET / OCTET]; /* all eights of bytes that first rows have codes in, once */
	unsigned first_count;
	unsigned low_bits;            /* as the unit divides a code */
	uint64_t low_mask, high_mask; /* of each byte, bits of low codes and of high ones; no high ones: 0 */
	uint64_t stored_low_mask, stored_high_mask;
	unsigned flip; /* bits of a code */
	enum tcb_layout layout;
};

static void map_octet(struct map *map, unsigned at, unsigned next_at, unsigned shift, struct octet *out)
{
	*out = (struct octet){ (uint16_t)at, (uint16_t)(next_at - at), (uint8_t)shift };
	assert(next_at > at && out->stride % OCTET == 0);
	for (unsigned i = map->first_count; i-- > 0;)
		if (map->first[i].at == at / OCTET * OCTET)
			return;
	map->first[map->first_count] = *out;
	map->first[map->first_count++].at = (uint16_t)(at / OCTET * OCTET);
}

/* The lowest BITS bits of each byte. */
static uint64_t each_byte(unsigned bits)
{
	return 0x0101010101010101u * ((1u << bits) - 1);
}

static void map_init(struct map *map, const struct tcb_format *f, enum tcb_layout layout, const struct qmm_unit *unit)
{
	const int of_bytes = layout == TCB_LAYOUT_G;
	const unsigned values = (unsigned)f->block_values;
	map->layout = layout;
	map->first_count = 0;
	map->low_bits = f->code_bits == 8 ? 8 : 4;
	/* Halves are made of what integers are above -128. */
	map->flip = f->codes == TCB_CODES_BYTES && !of_bytes ? 128 : 0;
	if (has_signs(f, layout))
		map->low_bits = 3;
	map->low_mask = each_byte(map->low_bits);
	map->high_mask = each_byte(has_signs(f, layout) ? 1 : unit->high_words ? (unsigned)f->code_bits - 4 : 0);
	map->stored_low_mask = each_byte(tcb_code_place(f, 0).low_bits);
	map->stored_high_mask = each_byte(tcb_code_place(f, 0).high_bits);
	for (unsigned kk = 0; kk < QMM_UNIT_VALUES; kk++) {
		const unsigned v = of_bytes ? kk : qmm_k_of(unit->run, kk);
		struct place *place = &map->place[kk];
		place->block = v / values;
		place->code = tcb_code_place(f, v % values);
		for (unsigned h = 0; h < HALVES; h++) {
			const struct spot spot = (of_bytes ? spot_of_bytes : spot_of)(unit, h * OCTET, kk);
			const struct spot next = (of_bytes ? spot_of_bytes : spot_of)(unit, h * OCTET + 1, kk);
			map_octet(map, spot.at, next.at, spot.shift, &place->low[h]);
			if (map->high_mask)
				map_octet(map, spot.high_at, next.high_at, spot.high_shift, &place->high[h]);
		}
	}
}

/* The rows that UNIT_ROWS rows from N0 on have, cut at N; BLOCKS of one at unit column U. */
struct span {
	unsigned rows, blocks;
	size_t first_block; /* of a row */
};

static struct span span_of(const struct tcb_format *f, size_t n, size_t k, size_t group, size_t u)
{
	const size_t per = QMM_UNIT_VALUES / f->block_values, of_row = k / f->block_values;
	const size_t rows = n - group * QMM_UNIT_ROWS, blocks = of_row - u * per;
	return (struct span){ rows < QMM_UNIT_ROWS ? (unsigned)rows : QMM_UNIT_ROWS,
			      blocks < per ? (unsigned)blocks : (unsigned)per, u * per };
}

/* --- eight rows at a time --- */

/* A byte of each of eight rows, the first one's the lowest.  As stored: of each byte of a row, both halves of the
 * rows; of a unit: of the bytes that first rows have codes in. */
struct rows {
	uint64_t stored[HALVES][ROW_BYTES + OCTET], unit[UNIT_BYTES];
};

/* Row I of eight by eight bytes becomes column I. */
static void transpose(uint64_t row[OCTET])
{
	static const uint64_t masks[] = { 0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff };
	for (unsigned s = 0; s < sizeof(masks) / sizeof(masks[0]); s++) {
		const unsigned far = 1u << s;
		for (unsigned i = 0; i < OCTET; i++) {
			if (i & far)
				continue;
			const uint64_t swap = (row[i] >> 8 * far ^ row[i + far]) & masks[s];
			row[i] ^= swap << 8 * far;
			row[i + far] ^= swap;
		}
	}
}

/* COUNT bytes of ROW_COUNT rows ROW_BYTES apart, and zeros for the rows after them. */
static void load_rows(const uint8_t *in, size_t row_bytes, unsigned row_count, size_t count, uint64_t *out)
{
	for (size_t i = 0; i < count; i += OCTET, out += OCTET) {
		memset(out, 0, sizeof(uint64_t) * OCTET);
		for (unsigned r = 0; r < row_count; r++)
			memcpy(&out[r], in + r * row_bytes + i, count - i < OCTET ? count - i : OCTET);
		transpose(out);
	}
}

static void store_rows(const uint64_t *in, size_t row_bytes, unsigned row_count, size_t count, uint8_t *out)
{
	for (size_t i = 0; i < count; i += OCTET) {
		uint64_t row[OCTET];
		memcpy(row, in + i, sizeof(row));
		transpose(row);
		for (unsigned r = 0; r < row_count; r++)
			memcpy(out + r * row_bytes + i, &row[r], count - i < OCTET ? count - i : OCTET);
	}
}

/* FLIP are the bits of codes that units have the other way round; they are zeros for rows that are not there. */
static void pack_codes(const struct map *map, const struct place *place, size_t h, uint64_t flip, const uint64_t *block,
		       uint64_t *unit)
{
	const struct tcb_code_place *c = &place->code;
	uint64_t code = block[c->low] >> c->low_shift & map->stored_low_mask;
	if (map->stored_high_mask)
		code |= (block[c->high] >> c->high_shift & map->stored_high_mask) << c->low_bits;
	code ^= flip;
	unit[place->low[h].at] |= (code & map->low_mask) << place->low[h].shift;
	if (map->high_mask)
		unit[place->high[h].at] |= (code >> map->low_bits & map->high_mask) << place->high[h].shift;
}

static void unpack_codes(const struct map *map, const struct place *place, size_t h, uint64_t flip,
			 const uint64_t *unit, uint64_t *block)
{
	const struct tcb_code_place *c = &place->code;
	uint64_t code = unit[place->low[h].at] >> place->low[h].shift & map->low_mask;
	if (map->high_mask)
		code |= (unit[place->high[h].at] >> place->high[h].shift & map->high_mask) << map->low_bits;
	code ^= flip;
	block[c->low] |= (code & map->stored_low_mask) << c->low_shift;
	if (map->stored_high_mask)
		block[c->high] |= (code >> c->low_bits & map->stored_high_mask) << c->high_shift;
}

/* Of SPAN's rows, those of half H. */
static unsigned rows_of_half(const struct span *span, unsigned h)
{
	return span->rows <= h * OCTET ? 0 : span->rows - h * OCTET < OCTET ? span->rows - h * OCTET : OCTET;
}

/* The map's FLIP, in ROW_COUNT bytes. */
static uint64_t flip_of(const struct map *map, unsigned row_count)
{
	return row_count == 0 ? 0 : 0x0101010101010101u * map->flip >> 8 * (OCTET - row_count);
}

static void pack_unit(const struct tcb_format *f, const struct qmm_unit *unit, const struct map *map,
		      const struct span *span, const uint8_t *in, size_t row_bytes, struct rows *rows, uint8_t *out)
{
	const size_t bytes = span->blocks * f->block_bytes;
	for (unsigned i = 0; i < map->first_count; i++)
		memset(&rows->unit[map->first[i].at], 0, sizeof(uint64_t) * OCTET);
	for (unsigned h = 0; h < HALVES; h++) {
		const unsigned row_count = rows_of_half(span, h);
		load_rows(in + h * OCTET * row_bytes, row_bytes, row_count, bytes, rows->stored[h]);
		for (unsigned kk = 0; kk < QMM_UNIT_VALUES; kk++)
			if (map->place[kk].block < span->blocks)
				pack_codes(map, &map->place[kk], h, flip_of(map, row_count),
					   rows->stored[h] + map->place[kk].block * f->block_bytes, rows->unit);
	}
	memset(out, 0, unit->bytes);
	for (unsigned i = 0; i < map->first_count; i++)
		store_rows(&rows->unit[map->first[i].at], map->first[i].stride, OCTET, OCTET, out + map->first[i].at);
	for (unsigned r = 0; r < span->rows; r++)
		write_header(f, map->layout, in + r * row_bytes, span->blocks,
			     out + unit->header_at + r * unit->header_bytes, out + unit->last_at + 2 * r);
}

static void unpack_unit(const struct tcb_format *f, const struct qmm_unit *unit, const struct map *map,
			const struct span *span, const uint8_t *in, struct rows *rows, uint8_t *out, size_t row_bytes)
{
	const size_t bytes = span->blocks * f->block_bytes;
	for (unsigned i = 0; i < map->first_count; i++)
		load_rows(in + map->first[i].at, map->first[i].stride, OCTET, OCTET, &rows->unit[map->first[i].at]);
	memset(rows->stored, 0, sizeof(rows->stored));
	for (unsigned h = 0; h < HALVES; h++) {
		const unsigned row_count = rows_of_half(span, h);
		for (unsigned kk = 0; kk < QMM_UNIT_VALUES; kk++)
			if (map->place[kk].block < span->blocks)
				unpack_codes(map, &map->place[kk], h, flip_of(map, row_count), rows->unit,
					     rows->stored[h] + map->place[kk].block * f->block_bytes);
		store_rows(rows->stored[h], row_bytes, row_count, bytes, out + h * OCTET * row_bytes);
	}
	for (unsigned r = 0; r < span->rows; r++)
		read_header(f, map->layout, in + unit->header_at + r * unit->header_bytes, in + unit->last_at + 2 * r,
			    span->blocks, out + r * row_bytes);
}

/* --- values --- */

/* All values of a unit's SPAN from STORED, or back. */
static void move_values(const struct qmm_unit *unit, const struct span *span, int is_pack, uint8_t *stored,
			size_t row_bytes, uint8_t *values)
{
	const unsigned bytes = unit->code_words / (STEPS * REGISTERS) * 2, together = 8 / bytes; /* registers */
	for (unsigned kk = 0; kk < QMM_UNIT_VALUES; kk++) {
		const unsigned v = qmm_k_of(unit->run, kk), k = kk % 16;
		for (unsigned r = 0; v < span->blocks && r < span->rows; r++) {
			const unsigned lane = r % 8 * 4 + k % 8 / 2, reg = r / 8 + 2 * (k / 8);
			const unsigned piece = (kk / 16 * (REGISTERS / together) + reg / together) * LANES + lane;
			uint8_t *row = stored + r * row_bytes + v * bytes;
			uint8_t *value = values + piece * 16 + (reg % together * 2 + k % 2) * bytes;
			memcpy(is_pack ? value : row, is_pack ? row : value, bytes);
		}
	}
}

void qmm_fragments_pack(enum tcb_format_id format, enum tcb_layout layout, size_t n, size_t k, const void *weights,
			void *packed)
{
	const struct tcb_format *f = tcb_format(format);
	const size_t units = qmm_units_along_k(k), row_bytes = k / f->block_values * f->block_bytes;
	struct qmm_unit unit;
	struct map map;
	struct rows rows;
	uint8_t *out = packed;
	qmm_unit_of(format, &unit);
	if (!unit.is_pieces && !unit.is_plain)
		map_init(&map, f, layout, &unit);
	for (size_t group = 0; group * QMM_UNIT_ROWS < n; group++)
		for (size_t u = 0; u < units; u++, out += unit.bytes) {
			const struct span span = span_of(f, n, k, group, u);
			const uint8_t *in = (const uint8_t *)weights + group * QMM_UNIT_ROWS * row_bytes +
					    span.first_block * f->block_bytes;
			if (unit.is_pieces) {
				qmm_pieces_pack(&unit, layout, in, row_bytes, span.rows, span.blocks, out);
				continue;
			}
			if (unit.is_plain) {
				memset(out, 0, unit.bytes);
				move_values(&unit, &span, 1, (uint8_t *)in, row_bytes, out);
				continue;
			}
			pack_unit(f, &unit, &map, &span, in, row_bytes, &rows, out);
		}
}

void qmm_fragments_unpack(enum tcb_format_id format, enum tcb_layout layout, size_t n, size_t k, const void *packed,
			  void *weights)
{
	const struct tcb_format *f = tcb_format(format);
	const size_t units = qmm_units_along_k(k), row_bytes = k / f->block_values * f->block_bytes;
	struct qmm_unit unit;
	struct map map;
	struct rows rows;
	const uint8_t *in = packed;
	qmm_unit_of(format, &unit);
	if (!unit.is_pieces && !unit.is_plain)
		map_init(&map, f, layout, &unit);
	for (size_t group = 0; group * QMM_UNIT_ROWS < n; group++)
		for (size_t u = 0; u < units; u++, in += unit.bytes) {
			const struct span span = span_of(f, n, k, group, u);
			uint8_t *out = (uint8_t *)weights + group * QMM_UNIT_ROWS * row_bytes +
				       span.first_block * f->block_bytes;
			if (unit.is_pieces) {
				qmm_pieces_unpack(&unit, layout, in, row_bytes, span.rows, span.blocks, out);
				continue;
			}
			if (unit.is_plain) {
				move_values(&unit, &span, 0, out, row_bytes, (uint8_t *)in);
				continue;
			}
			unpack_unit(f, &unit, &map, &span, in, &rows, out, row_bytes);
		}
}
