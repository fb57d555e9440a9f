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
 *            signs of nibbles 4 + i and i.  Q8_0: in the same order, two words a step, a byte a code above -128.
 *   high     [four words][lane], a word four steps (Q5_K) or two (Q6_K):
 *            qmm_high_at().
 * Layout g, for bytes: a lane has rows l / 4 and l / 4 + 8, values 4 (l % 4) to
 * 4 (l % 4) + 3 of each 16, k in its order.
 *   codes    [chunk of 64][lane][16 bytes], a word 16 values: the low nibbles are the
 *            first row's, the high ones the other's; codes in a table: the first half
 *            of a word is the first row's.  Q8_0: [run of 32][lane], the
 *            four words of A's registers, as stored.
 *   high     [chunk][lane].  Q5_K: a word: of each byte, from bits 4, 5, 0 and 1 on, one
 *            bit of the first row's 16 values and, 2 above, of the other's.  Q6_K: a
 *            word 32 values: pairs of bits, of the first 16 of one row, of the other,
 *            of the next 16 of both.
 * Both:
 *   headers  a row's scales, 16 bytes or 8: write_header(); in layout g in their order.
 */
#include <assert.h>
#include <string.h>

#include "kernels/quant_matmul/quant_matmul_fragments.h"

enum { LANES = 32, STEPS = 4, REGISTERS = 4 };

void qmm_unit_of(enum tcb_format_id format, struct qmm_unit *out)
{
	const struct tcb_format *f = tcb_format(format);
	*out = (struct qmm_unit){ .format = format, .run = (unsigned)f->run_values };
	out->code_words = f->code_bits == 8 ? 8 : 4;
	out->high_bits = f->code_bits == 8 ? 0 : (unsigned)f->code_bits - 4;
	out->high_words = 4 * out->high_bits;
	out->header_bytes = f->scales == TCB_SCALES_POWER || f->scales == TCB_SCALES_SIX ? 8 : 16;
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

/* --- codes in blocks as stored --- */

/* Codes as stored. */
static unsigned get_code(const struct tcb_code_place *p, const uint8_t *block)
{
	unsigned code = block[p->low] >> p->low_shift & ((1u << p->low_bits) - 1);
	if (p->high_bits)
		code |= (block[p->high] >> p->high_shift & ((1u << p->high_bits) - 1)) << p->low_bits;
	return code;
}

/* Into a block of zeros. */
static void put_code(const struct tcb_code_place *p, uint8_t *block, unsigned code)
{
	block[p->low] = (uint8_t)(block[p->low] | (code & ((1u << p->low_bits) - 1)) << p->low_shift);
	if (p->high_bits)
		block[p->high] = (uint8_t)(block[p->high] | code >> p->low_bits << p->high_shift);
}

/* --- headers --- */

/*
 * Q4_K, Q5_K: d and dmin, then four bytes, a lane's each, three times.  First those of the sub-blocks 0 to 3: the
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

/* Halves, powers: the eight blocks'.  Bytes: the scales above -128, and d in the unit's last part. */
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
	default:
		for (unsigned i = 0; i < 8; i++)
			if (run_at(layout, i, 8) < count)
				memcpy(blocks + run_at(layout, i, 8) * f->block_bytes, in + bytes * i, bytes);
		break;
	}
}

/* --- units --- */

/* Where the code at place KK of row R of a unit is: the byte and from which bit on; likewise its high bits. */
struct spot {
	uint16_t at, high_at;
	uint8_t shift, high_shift;
};

/* The same for all of a unit, and for each place the block along k and where the code is in it. */
struct map {
	struct spot spot[QMM_UNIT_ROWS][QMM_UNIT_VALUES];
	unsigned block[QMM_UNIT_VALUES];
	struct tcb_code_place place[QMM_UNIT_VALUES];
	unsigned low_mask, low_bits, high_mask;
	unsigned flip; /* bits of a code */
	enum tcb_layout layout;
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

static void map_init(struct map *map, const struct tcb_format *f, enum tcb_layout layout, const struct qmm_unit *unit)
{
	const int of_bytes = layout == TCB_LAYOUT_G;
	const unsigned values = (unsigned)f->block_values;
	map->layout = layout;
	map->low_bits = f->code_bits == 8 ? 8 : 4;
	map->flip = f->code_bits == 8 && !of_bytes ? 128 : 0; /* halves are made of what is above -128 */
	map->high_mask = unit->high_words ? (1u << (f->code_bits - 4)) - 1 : 0;
	if (has_signs(f, layout)) {
		map->low_bits = 3;
		map->high_mask = 1;
	}
	map->low_mask = (1u << map->low_bits) - 1;
	for (unsigned kk = 0; kk < QMM_UNIT_VALUES; kk++) {
		const unsigned v = of_bytes ? kk : qmm_k_of(unit->run, kk);
		map->block[kk] = v / values;
		map->place[kk] = tcb_code_place(f, v % values);
		for (unsigned r = 0; r < QMM_UNIT_ROWS; r++)
			map->spot[r][kk] = (of_bytes ? spot_of_bytes : spot_of)(unit, r, kk);
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

static void pack_row(const struct tcb_format *f, const struct qmm_unit *unit, const struct map *map,
		     const uint8_t *blocks, unsigned count, unsigned r, uint8_t *out)
{
	write_header(f, map->layout, blocks, count, out + unit->header_at + r * unit->header_bytes,
		     out + unit->last_at + 2 * r);
	for (unsigned kk = 0; kk < QMM_UNIT_VALUES; kk++) {
		const struct spot *spot = &map->spot[r][kk];
		unsigned code;
		if (map->block[kk] >= count)
			continue;
		code = get_code(&map->place[kk], blocks + map->block[kk] * f->block_bytes) ^ map->flip;
		out[spot->at] = (uint8_t)(out[spot->at] | (code & map->low_mask) << spot->shift);
		if (map->high_mask)
			out[spot->high_at] = (uint8_t)(out[spot->high_at] | code >> map->low_bits << spot->high_shift);
	}
}

static void unpack_row(const struct tcb_format *f, const struct qmm_unit *unit, const struct map *map,
		       const uint8_t *in, unsigned r, unsigned count, uint8_t *blocks)
{
	memset(blocks, 0, count * f->block_bytes);
	for (unsigned kk = 0; kk < QMM_UNIT_VALUES; kk++) {
		const struct spot *spot = &map->spot[r][kk];
		unsigned code = in[spot->at] >> spot->shift & map->low_mask;
		if (map->block[kk] >= count)
			continue;
		if (map->high_mask)
			code |= (in[spot->high_at] >> spot->high_shift & map->high_mask) << map->low_bits;
		put_code(&map->place[kk], blocks + map->block[kk] * f->block_bytes, code ^ map->flip);
	}
	read_header(f, map->layout, in + unit->header_at + r * unit->header_bytes, in + unit->last_at + 2 * r, count,
		    blocks);
}

void qmm_fragments_pack(enum tcb_format_id format, enum tcb_layout layout, size_t n, size_t k, const void *weights,
			void *packed)
{
	const struct tcb_format *f = tcb_format(format);
	const size_t units = qmm_units_along_k(k), row_bytes = k / f->block_values * f->block_bytes;
	struct qmm_unit unit;
	struct map map;
	uint8_t *out = packed;
	qmm_unit_of(format, &unit);
	map_init(&map, f, layout, &unit);
	memset(packed, 0, qmm_fragments_bytes(format, n, k));
	for (size_t group = 0; group * QMM_UNIT_ROWS < n; group++)
		for (size_t u = 0; u < units; u++, out += unit.bytes) {
			const struct span span = span_of(f, n, k, group, u);
			const uint8_t *in = (const uint8_t *)weights + group * QMM_UNIT_ROWS * row_bytes +
					    span.first_block * f->block_bytes;
			for (unsigned r = 0; r < span.rows; r++, in += row_bytes)
				pack_row(f, &unit, &map, in, span.blocks, r, out);
		}
}

void qmm_fragments_unpack(enum tcb_format_id format, enum tcb_layout layout, size_t n, size_t k, const void *packed,
			  void *weights)
{
	const struct tcb_format *f = tcb_format(format);
	const size_t units = qmm_units_along_k(k), row_bytes = k / f->block_values * f->block_bytes;
	struct qmm_unit unit;
	struct map map;
	const uint8_t *in = packed;
	qmm_unit_of(format, &unit);
	map_init(&map, f, layout, &unit);
	for (size_t group = 0; group * QMM_UNIT_ROWS < n; group++)
		for (size_t u = 0; u < units; u++, in += unit.bytes) {
			const struct span span = span_of(f, n, k, group, u);
			uint8_t *out = (uint8_t *)weights + group * QMM_UNIT_ROWS * row_bytes +
				       span.first_block * f->block_bytes;
			for (unsigned r = 0; r < span.rows; r++, out += row_bytes)
				unpack_row(f, &unit, &map, in, r, span.blocks, out);
		}
}
