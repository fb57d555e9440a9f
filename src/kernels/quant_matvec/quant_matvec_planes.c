/* SPDX-License-Identifier: MIT
 *
 * Weight layouts for GPUs: the parts of superblocks (struct qmv_format) in planes
 * of their own, so that a warp's lanes read consecutive, aligned bytes.  In: N
 * rows of blocks as stored.  Out: the codes of all superblocks, then their high
 * bits, d (padded to 16 bytes in all) and scales; rows whose blocks of 32 values
 * do not fill superblocks get zero blocks behind them.
 *   p  every part as stored, but scales of six bits as bytes; of expanded formats the parts of formats_pieces.h
 *   s  byte i of sub-block j's 16 has value i in the low nibble and value i + 16
 *      in the high one.  High bits: word w of these bytes has its b bits of byte
 *      i at bit 8 i + b w of a word of the sub-block's; those of the high nibbles
 *      follow at bit 4 (b = 1) or in a second word (b = 2).  TCB_SCALES_K: d, dmin
 *      and eight fields of 12 bits, scale + 64 min, field j from bit 12 j on.
 *   f  tiles instead of planes: 16 rows of one superblock, row groups one after
 *      another, zeros past the last row.  With lane (g, t) = 4 g + t of a warp
 *      and pieces of 16 bytes of codes as in s, piece 4 h + t of row g + 8 r is
 *      at [r][h][lane]; a lane's words of high bits, by r and h, are cut into 16
 *      bytes, at [cut][lane]; then the rows' scales and d.
 */
#include <assert.h>
#include <string.h>

#include "kernels/decode/formats_pieces.h"
#include "kernels/formats.h"
#include "kernels/quant_matvec/quant_matvec_fused.h"
#include "kernels/quant_matvec/quant_matvec_planes.h"

enum { SUB_BLOCKS = 8, SUB_VALUES = 32, HALF_BYTES = 2, K_HEADER = 4, S_LOG_RUN = 4, D_ALIGN = 16, TILE_PIECE = 16 };

/* By kinds of codes: values of a byte's two codes are 2^LOG_RUN apart; 8 where a byte is one code. */
enum { LOG_RUN_BYTES = 8, LOG_RUN_RUNS = 4, LOG_RUN_PAIRS = 5, LOG_RUN_QUARTERS = 6 };
/* By kinds of scales: which of the kernels' kinds, the planes' bytes of a superblock, whether the first one is d. */
enum {
	SCALES_HALF = QMV_SCALES_HALVES,
	SCALES_K = QMV_SCALES_K,
	SCALES_BYTES = QMV_SCALES_BYTES,
	SCALES_POWER = QMV_SCALES_POWERS,
	SCALES_SIX = QMV_SCALES_SIXES,
	D_BYTES_HALF = 0,
	D_BYTES_K = 0,
	D_BYTES_BYTES = 2,
	D_BYTES_POWER = 0,
	D_BYTES_SIX = 2,
	SCALE_BYTES_HALF = 16,
	SCALE_BYTES_K = 16,
	SCALE_BYTES_BYTES = 16,
	SCALE_BYTES_POWER = 8,
	SCALE_BYTES_SIX = 8
};

/* Whether there is a table, by what rows write for it. */
enum { HAS_TCB_NO_TABLE = 0, HAS_TCB_MXFP4_TABLE = 1, HAS_TCB_IQ4_TABLE = 1 };

#define FORMAT(id_, name, op, values, bytes_, run, bits, centre_, codes, codes_at, high_at, scales_, scales_at, d_at, \
	       size, ...)                                                                                             \
	[TCB_FORMAT_##id_] = {                                                                                        \
		.id = TCB_FORMAT_##id_,                                                                               \
		.scales = (enum qmv_scales)SCALES_##scales_,                                                          \
		.bytes = { bits == 8 ? 256 : 128, bits == 8 ? 0 : (bits - 4) * 32, D_BYTES_##scales_,                 \
			   SCALE_BYTES_##scales_ },                                                                   \
		.native_at = { codes_at, high_at, D_BYTES_##scales_ ? d_at : 0,                                       \
			       D_BYTES_##scales_ ? scales_at : d_at },                                                \
		.block = values == QMV_VALUES ? 0 : bytes_,                                                           \
		.blocks = QMV_VALUES / (values),                                                                      \
		.high_bits = bits == 8 ? 0 : bits - 4,                                                                \
		.log_run = LOG_RUN_##codes,                                                                           \
		.centre = centre_,                                                                                    \
		.has_mins = TCB_SCALES_##scales_ == TCB_SCALES_K,                                                     \
		.table = HAS_##__VA_ARGS__ ? tcb_formats[TCB_FORMAT_##id_].table : NULL,                              \
		.is_split = TCB_SCALES_##scales_ == TCB_SCALES_BYTES,                                                 \
		.is_packed = HAS_##__VA_ARGS__,                                                                       \
	},
#define PIECES(id_, name, codes, high, d, field_bits, centre_, has_mins_, is_split_)   \
	[TCB_FORMAT_##id_] = {                                                         \
		.id = TCB_FORMAT_##id_,                                                \
		.scales = QMV_SCALES_PIECES,                                           \
		.bytes = { TCB_PIECES * (codes), TCB_PIECES * (high), d, field_bits }, \
		.log_run = LOG_RUN_RUNS,                                               \
		.centre = centre_,                                                     \
		.has_mins = has_mins_,                                                 \
		.is_split = is_split_,                                                 \
		.is_pieces = 1,                                                        \
		.is_packed = 1,                                                        \
	},
#define FLOATS(id_, name, op, values, value_bytes, ...)  \
	[TCB_FORMAT_##id_] = {                           \
		.id = TCB_FORMAT_##id_,                  \
		.scales = QMV_SCALES_NONE,               \
		.bytes = { QMV_VALUES * (value_bytes) }, \
		.log_run = LOG_RUN_BYTES,                \
	},
#define SCALED(id_, name, op, values, bytes_, run, bits, centre_, codes, codes_at, high_at, scales_, scales_at, ...) \
	[TCB_FORMAT_##id_] = {                                                                                       \
		.id = TCB_FORMAT_##id_,                                                                              \
		.scales = QMV_SCALES_FLOATS,                                                                         \
		.bytes = { QMV_VALUES, 0, 0, QMV_VALUES / (values)*4 },                                              \
		.native_at = { codes_at, 0, 0, scales_at },                                                          \
		.block = bytes_,                                                                                     \
		.blocks = QMV_VALUES / (values),                                                                     \
		.log_run = LOG_RUN_BYTES,                                                                            \
		.is_packed = 1,                                                                                      \
	},
static const struct qmv_format formats[TCB_FORMAT_COUNT] = { TCB_FORMAT_FIELD_LIST(FORMAT) TCB_PIECE_LIST(
	PIECES) TCB_FORMAT_VALUE_ROWS(FLOATS) TCB_FORMAT_SCALED_ROWS(SCALED) };

const struct qmv_format *qmv_format(const struct tcb_problem *problem)
{
	return &formats[problem->op->format->id];
}

/* --- one part of a superblock, as stored and in layout s --- */

/* The low nibbles of A and B to LOW and their high ones to HIGH, 16 bytes each; those of A are the low ones there. The
 * inverse is the same. */
static void swap_nibbles(const uint8_t *a, const uint8_t *b, uint8_t *low, uint8_t *high)
{
	for (unsigned i = 0; i < 16; i++) {
		const unsigned x = a[i], y = b[i];
		low[i] = (uint8_t)((x & 15) | y << 4);
		high[i] = (uint8_t)(x >> 4 | (y & 0xf0));
	}
}

/* Nibbles whose bytes hold values 2^LOG apart as stored, 2^S_LOG_RUN when sorted. */
static void convert_nibbles(const uint8_t *in, uint8_t *out, unsigned log, int is_pack)
{
	const unsigned run = 1u << log; /* bytes, of twice as many values */
	if (log == S_LOG_RUN) {
		memcpy(out, in, QMV_VALUES / 2);
		return;
	}
	for (unsigned at = 0; at < QMV_VALUES / 2; at += run)
		for (unsigned i = 0; i < run; i += 32) {
			const unsigned stored = at + i, low = at + i / 2, high = low + run / 2;
			if (is_pack)
				swap_nibbles(in + stored, in + stored + 16, out + low, out + high);
			else
				swap_nibbles(in + low, in + high, out + stored, out + stored + 16);
		}
}

/* Bits beyond four are fields of bytes, of which words hold four: as stored, word I of a group has those of sub-block J
 * in field J; sorted, the word of sub-block J has them in field I.  The inverse is the same. */
static void convert_high(const uint8_t *in, uint8_t *out, unsigned bits, int is_pack)
{
	enum { WORD = 4 };
	const unsigned fields = 8 / bits;
	const uint32_t mask = 0x01010101u * ((1u << bits) - 1);
	for (unsigned g = 0; g < bits * bits; g++) {
		uint32_t word[SUB_BLOCKS], turned[SUB_BLOCKS] = { 0 };
		const unsigned stored = g * fields, sorted = g / bits * SUB_BLOCKS + g % bits;
		for (unsigned i = 0; i < fields; i++)
			memcpy(&word[i], in + (size_t)WORD * (is_pack ? stored + i : sorted + bits * i), WORD);
		for (unsigned j = 0; j < fields; j++)
			for (unsigned i = 0; i < fields; i++)
				turned[j] |= (word[i] >> bits * j & mask) << bits * i;
		for (unsigned j = 0; j < fields; j++)
			memcpy(out + (size_t)WORD * (is_pack ? sorted + bits * j : stored + j), &turned[j], WORD);
	}
}

/* Two fields make three bytes. */
static void pack_header(const uint8_t *in, uint8_t *out)
{
	uint8_t scale[SUB_BLOCKS], min[SUB_BLOCKS];
	memcpy(out, in, K_HEADER);
	tcb_k_scales(in + K_HEADER, scale, min);
	for (unsigned j = 0; j < SUB_BLOCKS; j += 2) {
		const unsigned even = scale[j] | min[j] << 6, odd = scale[j + 1] | min[j + 1] << 6;
		uint8_t *field = out + K_HEADER + 3 * j / 2;
		field[0] = (uint8_t)even;
		field[1] = (uint8_t)(even >> 8 | odd << 4);
		field[2] = (uint8_t)(odd >> 4);
	}
}

static void unpack_header(const uint8_t *in, uint8_t *out)
{
	uint8_t scale[SUB_BLOCKS], min[SUB_BLOCKS];
	memcpy(out, in, K_HEADER);
	for (unsigned j = 0; j < SUB_BLOCKS; j += 2) {
		const uint8_t *field = in + K_HEADER + 3 * j / 2;
		const unsigned even = field[0] | (field[1] & 15u) << 8, odd = field[1] >> 4 | (unsigned)field[2] << 4;
		scale[j] = even & 63;
		min[j] = (uint8_t)(even >> 6);
		scale[j + 1] = odd & 63;
		min[j + 1] = (uint8_t)(odd >> 6);
	}
	tcb_k_scales_pack(scale, min, out + K_HEADER);
}

static void convert_part(const struct qmv_format *f, enum qmv_part part, enum tcb_layout layout, int is_pack,
			 const uint8_t *in, uint8_t *out)
{
	if (layout == TCB_LAYOUT_S && part == QMV_CODES && f->log_run < 8)
		convert_nibbles(in, out, f->log_run, is_pack);
	else if (layout == TCB_LAYOUT_S && part == QMV_HIGH && f->high_bits)
		convert_high(in, out, f->high_bits, is_pack);
	else if (layout == TCB_LAYOUT_S && part == QMV_SCALES && f->scales == QMV_SCALES_K)
		(is_pack ? pack_header : unpack_header)(in, out);
	else
		memcpy(out, in, f->bytes[part]);
}

/* --- superblocks as stored --- */

/* PART of the superblock at STORED, which has COUNT blocks, to OUT or from it.  Of expanded formats parts are those of
 * formats_pieces.h, in the same order. */
static void gather(const struct qmv_format *f, enum qmv_part part, const uint8_t *stored, size_t count, uint8_t *out)
{
	const size_t piece = f->block ? f->bytes[part] / f->blocks : 0;
	if (f->is_pieces) {
		tcb_pieces_take(f->id, (enum tcb_piece_part)part, stored, count, out);
		return;
	}
	if (qmv_is_float(f)) { /* a block is a value */
		memset(out, 0, f->bytes[part]);
		memcpy(out, stored, count * f->bytes[part] / QMV_VALUES);
		return;
	}
	if (f->scales == QMV_SCALES_SIXES && part == QMV_SCALES) {
		tcb_six_scales(stored + f->native_at[part], (int8_t *)out);
		return;
	}
	if (!f->block) {
		memcpy(out, stored + f->native_at[part], f->bytes[part]);
		return;
	}
	memset(out, 0, f->bytes[part]);
	for (size_t j = 0; j < count; j++)
		memcpy(out + j * piece, stored + j * f->block + f->native_at[part], piece);
}

static void scatter(const struct qmv_format *f, enum qmv_part part, const uint8_t *in, size_t count, uint8_t *stored)
{
	const size_t piece = f->block ? f->bytes[part] / f->blocks : 0;
	if (f->is_pieces) {
		tcb_pieces_put(f->id, (enum tcb_piece_part)part, in, count, stored);
		return;
	}
	if (qmv_is_float(f)) {
		memcpy(stored, in, count * f->bytes[part] / QMV_VALUES);
		return;
	}
	if (f->scales == QMV_SCALES_SIXES && part == QMV_SCALES) {
		tcb_six_scales_pack((const int8_t *)in, stored + f->native_at[part]);
		return;
	}
	if (!f->block) {
		memcpy(stored + f->native_at[part], in, f->bytes[part]);
		return;
	}
	for (size_t j = 0; j < count; j++)
		memcpy(stored + j * f->block + f->native_at[part], in + j * piece, piece);
}

/* --- whole matrices --- */

static size_t plane_bytes(const struct qmv_format *f, enum qmv_part part, size_t superblocks)
{
	/* Copies of narrow parts take what is around them; behind the last plane there is nothing. */
	const size_t around = part == QMV_SCALES && (f->is_pieces || f->bytes[part] % D_ALIGN) ? 2 * D_ALIGN : 0;
	return (superblocks * f->bytes[part] + D_ALIGN - 1) / D_ALIGN * D_ALIGN + around;
}

static size_t superblocks_of_row(const struct tcb_problem *problem)
{
	return (problem->shape.k + QMV_VALUES - 1) / QMV_VALUES;
}

static size_t tile_bytes(const struct qmv_format *f)
{
	size_t bytes = 0;
	for (unsigned part = 0; part < QMV_PARTS; part++)
		bytes += (size_t)QMV_TILE_ROWS * f->bytes[part];
	return bytes;
}

/* Rows of y that a tile has: 16, or 8 of which it has gate's row and up's. */
static size_t tile_outputs(const struct tcb_problem *problem)
{
	return (size_t)QMV_TILE_ROWS >> qmv_kind(problem)->is_gated;
}

static size_t tile_groups(const struct tcb_problem *problem)
{
	return (problem->shape.n + tile_outputs(problem) - 1) / tile_outputs(problem);
}

size_t qmv_plane_at(const struct tcb_problem *problem, enum qmv_part part)
{
	const size_t superblocks = qmv_weight_rows(problem) * superblocks_of_row(problem);
	size_t bytes = 0;
	for (unsigned before = 0; before < part; before++)
		bytes += plane_bytes(qmv_format(problem), (enum qmv_part)before, superblocks);
	return bytes;
}

size_t qmv_packed_bytes(const struct tcb_problem *problem, enum tcb_layout layout)
{
	const struct qmv_format *f = qmv_format(problem);
	if (layout == TCB_LAYOUT_F)
		return tile_groups(problem) * superblocks_of_row(problem) * tile_bytes(f);
	return qmv_plane_at(problem, QMV_PARTS);
}

struct matrix {
	const struct qmv_format *f;
	size_t row_bytes, superblock_bytes, superblocks; /* as stored; of a row, the last one not always full */
	size_t block_bytes;
};

static struct matrix matrix_of(const struct tcb_problem *problem)
{
	const struct tcb_format *format = problem->op->format;
	return (struct matrix){ qmv_format(problem), tcb_quant_row_bytes(format, problem->shape.k),
				QMV_VALUES / format->block_values * format->block_bytes, superblocks_of_row(problem),
				format->block_bytes };
}

/* Blocks that superblock S of a row has. */
static size_t blocks_of(const struct matrix *m, size_t s)
{
	const size_t left = m->row_bytes - s * m->superblock_bytes;
	return (left < m->superblock_bytes ? left : m->superblock_bytes) / m->block_bytes;
}

/* Bytes of a row's PART that lie together in a tile. */
static unsigned tile_piece(const struct qmv_format *f, enum qmv_part part)
{
	if (part == QMV_CODES)
		return TILE_PIECE;
	return part == QMV_HIGH ? 4 * f->high_bits : (unsigned)f->bytes[part];
}

/* Where byte I of PART of ROW, the first of a piece, is in a tile. */
static size_t tile_at(const struct qmv_format *f, enum qmv_part part, unsigned row, unsigned i)
{
	const unsigned g = row % 8, r = row / 8, pieces = f->bytes[QMV_CODES] / TILE_PIECE / 4;
	const size_t codes = (size_t)QMV_TILE_ROWS * f->bytes[QMV_CODES];
	const size_t scales = codes + (size_t)QMV_TILE_ROWS * f->bytes[QMV_HIGH];
	if (part == QMV_SCALES)
		return scales + row * f->bytes[part];
	if (part == QMV_D)
		return scales + (size_t)QMV_TILE_ROWS * f->bytes[QMV_SCALES] + row * f->bytes[part];
	/* cuts of 16 bytes of each lane */
	const unsigned unit = tile_piece(f, part), lane = 4 * g + i / unit % 4, h = i / unit / 4;
	const unsigned of_lane = (r * pieces + h) * unit;
	return (part == QMV_HIGH ? codes : 0) + (of_lane / TILE_PIECE * 32 + lane) * TILE_PIECE + of_lane % TILE_PIECE;
}

/* All tiles, to PACKED or from it. */
static void convert_tiles(const struct tcb_problem *problem, int is_pack, uint8_t *weights, uint8_t *packed)
{
	const struct matrix m = matrix_of(problem);
	uint8_t stored[4 * QMV_VALUES], sorted[4 * QMV_VALUES];
	for (size_t n = 0; n < qmv_weight_rows(problem); n++)
		for (size_t s = 0; s < m.superblocks; s++) {
			const size_t is_up = n >= problem->shape.n, of_side = n - is_up * problem->shape.n;
			const size_t group = of_side / tile_outputs(problem);
			uint8_t *tile = packed + (group * m.superblocks + s) * tile_bytes(m.f);
			uint8_t *block = weights + n * m.row_bytes + s * m.superblock_bytes;
			for (unsigned p = 0; p < QMV_PARTS; p++) {
				const enum qmv_part part = (enum qmv_part)p;
				const unsigned row =
					(unsigned)(of_side % tile_outputs(problem) + is_up * QMV_TILE_ROWS / 2);
				if (is_pack) {
					gather(m.f, part, block, blocks_of(&m, s), stored);
					convert_part(m.f, part, TCB_LAYOUT_S, 1, stored, sorted);
				}
				const unsigned piece = tile_piece(m.f, part);
				for (unsigned i = 0; i < m.f->bytes[part]; i += piece) {
					uint8_t *at = tile + tile_at(m.f, part, row, i);
					memcpy(is_pack ? at : sorted + i, is_pack ? sorted + i : at, piece);
				}
				if (!is_pack) {
					convert_part(m.f, part, TCB_LAYOUT_S, 0, sorted, stored);
					scatter(m.f, part, stored, blocks_of(&m, s), block);
				}
			}
		}
}

void qmv_plane_pack(const struct tcb_problem *problem, enum tcb_layout layout, const void *weights, void *packed)
{
	const struct matrix m = matrix_of(problem);
	uint8_t *out = packed, stored[4 * QMV_VALUES];
	if (layout == TCB_LAYOUT_F) {
		memset(packed, 0, qmv_packed_bytes(problem, layout));
		convert_tiles(problem, 1, (uint8_t *)weights, packed);
		return;
	}
	assert(layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S);
	for (unsigned p = 0; p < QMV_PARTS; p++) {
		const enum qmv_part part = (enum qmv_part)p;
		const size_t bytes = plane_bytes(m.f, part, qmv_weight_rows(problem) * m.superblocks);
		uint8_t *to = out;
		memset(out, 0, bytes);
		for (size_t n = 0; m.f->bytes[part] && n < qmv_weight_rows(problem); n++)
			for (size_t s = 0; s < m.superblocks; s++, to += m.f->bytes[part]) {
				gather(m.f, part, (const uint8_t *)weights + n * m.row_bytes + s * m.superblock_bytes,
				       blocks_of(&m, s), stored);
				convert_part(m.f, part, layout, 1, stored, to);
			}
		out += bytes;
	}
}

void qmv_plane_unpack(const struct tcb_problem *problem, enum tcb_layout layout, const void *packed, void *weights)
{
	const struct matrix m = matrix_of(problem);
	const uint8_t *in = packed;
	uint8_t stored[4 * QMV_VALUES];
	if (layout == TCB_LAYOUT_F) {
		convert_tiles(problem, 0, weights, (uint8_t *)packed);
		return;
	}
	assert(layout == TCB_LAYOUT_P || layout == TCB_LAYOUT_S);
	for (unsigned p = 0; p < QMV_PARTS; p++) {
		const enum qmv_part part = (enum qmv_part)p;
		const uint8_t *from = in;
		for (size_t n = 0; m.f->bytes[part] && n < qmv_weight_rows(problem); n++)
			for (size_t s = 0; s < m.superblocks; s++, from += m.f->bytes[part]) {
				convert_part(m.f, part, layout, 0, from, stored);
				scatter(m.f, part, stored, blocks_of(&m, s),
					(uint8_t *)weights + n * m.row_bytes + s * m.superblock_bytes);
			}
		in += plane_bytes(m.f, part, qmv_weight_rows(problem) * m.superblocks);
	}
}
