/* SPDX-License-Identifier: MIT
 *
 * Weights of the quantised matmuls' GPU kernels: a lane's words of a unit of
 * layout f (quant_matmul_fragments.c) come in, pairs of halves in the order of
 * the matrix instructions' A go out.
 *
 * A code c in the low bits of a half becomes 1024 + c by setting its upper bits,
 * one from bit 4 on 64 + c, and taking off 1024 or 64 is exact; so is the code.
 * Scales d * sc and offsets dmin * m are rounded once, as is the weight (fma).
 *
 * Codes in a table are looked up as bytes: above -128, to be the low bits of halves;
 * where scales are powers of two, the upper bytes of halves that have no more bits, by
 * three bits of a code, its fourth being the sign.  These halves are codes times 1/2, and
 * powers 2^(e - 127), a float with e as its exponent.
 *
 * Bytes of E4M3 become halves that are 2^-8 of them, exact; their scales, of both halves of a unit, are multiplied with
 * 2^8 before they are rounded, so that those of models are not among the subnormal halves.
 *
 * Values of 16 bits are loaded as A's registers: there is nothing to scale.  A float is the sum of three numbers of
 * bf16, its bits in eights, of which each is what is cut off the rest: exact, but for what is below 2^-133.
 */
#include "kernels/quant_matmul/quant_matmul_gpu_weights.h"

#include <assert.h>
#include <string.h>

#include "kernels/gpu/quant_gpu.h"

enum {
	ADD_1024 = 0x64006400, /* pairs of halves */
	ADD_64 = 0x54005400,
	ADD_64_1024 = 0x54006400,
	ADD_256 = 0x5c005c00,
	SIGNS = -0x7f7f7f80, /* 0x80 in each byte */
	LANE_BYTES = 16,
	LANES = 32
};

/* A half above 0 whose low bits count by 1, or from bit 4 on, that has the sign set: -(1024 + CENTRE), -(64 + CENTRE).
 */
static uint32_t minus_half(unsigned base, unsigned centre)
{
	return 0x8000u | (base == 1024 ? 0x6400u + centre : 0x5400u + 16 * centre);
}

static enum tcb_scales_kind scales_kind(const struct qmm_writer *w)
{
	return tcb_format(w->g->unit.format)->scales;
}

/* The upper byte of the half that is half of CODE; the lower one is 0. */
static uint8_t half_of_code(int8_t code)
{
	const uint16_t half = tcb_f32_to_f16((float)code / 2);
	assert(!(half & 0xff));
	return (uint8_t)(half >> 8);
}

static void write_table(struct qmm_writer *w)
{
	const int8_t *code = tcb_format(w->g->unit.format)->table;
	uint8_t bytes[16];
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = w->g->group                          ? (uint8_t)code[i]
			   : scales_kind(w) == TCB_SCALES_POWER ? half_of_code(code[i])
								: (uint8_t)code[i] ^ 0x80;
	tcb_quant_write_table(&w->kit.b, bytes, w->table);
}

/* What is taken off codes of pieces, and of bytes that have a sign once that is turned round. */
static unsigned piece_centre(enum tcb_format_id format)
{
	return tcb_piece_is_signed(format) ? 128 : tcb_piece_centre(format);
}

void qmm_write_code_constants(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const enum tcb_format_id format = w->g->unit.format;
	const unsigned centre = w->g->unit.is_pieces ? piece_centre(format) : (unsigned)tcb_code_bias(format);
	const uint32_t low = minus_half(1024, centre), high = minus_half(64, centre);
	if (w->g->unit.is_plain)
		return;
	if (w->g->unit.is_pieces) {
		w->tables.grid = u_add(b, w->kit.shared, I(w->g->grid_at));
		tcb_piece_write_constants(b, format, &w->tables);
		tcb_piece_write_grid(b, format, &w->tables, w->kit.tid, w->g->threads);
	} else if (tcb_has_table(format)) {
		write_table(w);
	}
	w->bias_low = b_set(b, I(low | low << 16));
	w->bias_high = b_set(b, I(high | high << 16));
}

void qmm_write_header_constants(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->unit.is_pieces) {
		w->field_shift = u_and(b, u_mul(b, w->pair, I(w->g->unit.header_bytes)), I(7));
		return;
	}
	if (scales_kind(w) == TCB_SCALES_SIX && !w->g->group)
		w->select_two = u_mad(b, w->pair, I(0x1111), I(0x4400));
	if (!tcb_format(w->g->unit.format)->has_offsets)
		return;
	w->minus_1024 = b_set(b, I((int64_t)0xe400e400));
	w->mins_bias = b_set(b, I(0x5d006500)); /* 64 + 256, 1024 + 256 */
	/* Byte l of the first word in the lower half, of the second in the upper one; of the only word in both. */
	w->select_two = u_mad(b, w->pair, I(0x1111), I(0x4400));
	w->select_one = u_mul(b, w->pair, I(0x1111));
}

/* --- loads --- */

kit_op qmm_write_rows_at(struct qmm_writer *w, kit_op group, kit_op i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const kit_op last = u_shr(b, u_sub(b, w->rows, I(1)), I(4));
	const kit_op at = u_mad(b, group, I(g->rows / QMM_UNIT_ROWS), i);
	return tcb_kit_element(b, w->weights, u_min(b, at, last), g->row_units * g->unit.bytes);
}

void qmm_write_load(struct qmm_writer *w, kit_op address, unsigned at, kit_op *out, unsigned count)
{
	const enum tcb_kit_memory memory = w->is_direct ? TCB_KIT_INPUT_ONCE : TCB_KIT_SHARED;
	if (out[0].kind)
		tcb_kit_load_into(&w->kit.b, memory, "b32", tcb_ptx_at(address, at), out, count);
	else
		tcb_kit_load(&w->kit.b, memory, "b32", tcb_ptx_at(address, at), out, count);
}

void qmm_write_load_half(struct qmm_writer *w, kit_op address, unsigned at, kit_op *out)
{
	const enum tcb_kit_memory memory = w->is_direct ? TCB_KIT_INPUT : TCB_KIT_SHARED;
	if (!out->kind)
		*out = tcb_ptx_reg(&w->kit.b, "u32");
	tcb_kit_load_into(&w->kit.b, memory, "u16", tcb_ptx_at(address, at), out, 1);
}

/* Lanes need more of a row's header than two scales, or four. */
static int has_row_header(const struct qmm_gpu *g)
{
	const enum tcb_scales_kind scales = tcb_format(g->unit.format)->scales;
	return g->group || scales == TCB_SCALES_K || scales == TCB_SCALES_SIX || scales == TCB_SCALES_FLOAT;
}

void qmm_write_lane_at(struct qmm_writer *w, kit_op unit, struct qmm_lane_at *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int is_wide = unit.kind == TCB_PTX_O_REG && w->is_direct;
	kit_word3 *mad = is_wide ? l_mad_wide : u_mad;
	if (w->g->unit.is_pieces) {
		const struct qmm_unit *u = &w->g->unit;
		const kit_op byte = u_shr(b, u_mul(b, w->pair, I(u->header_bytes)), I(3));
		out->codes = mad(b, w->kit.lane, I(u->piece_bytes), unit);
		out->high = mad(b, w->kit.lane, I(u->piece_high), unit);
		if (w->g->group) { /* one row's */
			const kit_op row = u_mad(b, u_and(b, w->pair, I(1)), I(8), w->quad);
			out->header = mad(b, row, I(u->header_bytes), unit);
			out->last = mad(b, row, I(u->d_bytes), unit);
			return;
		}
		out->header = mad(b, w->quad, I(u->header_bytes), mad(b, byte, I(1), unit));
		out->last = mad(b, w->quad, I(u->d_bytes), unit);
		return;
	}
	out->codes = mad(b, w->kit.lane, I(LANE_BYTES), unit);
	if (w->g->unit.is_plain)
		return;
	out->header = mad(b, w->quad, I(w->g->unit.header_bytes), unit);
	if (!has_row_header(w->g)) /* a part of a lane's own */
		out->header = mad(b, w->pair, I(w->g->unit.header_bytes / 4), out->header);
	if (tcb_format(w->g->unit.format)->scales == TCB_SCALES_BYTES)
		out->last = mad(b, w->quad, I(2), unit);
	if (w->g->group && w->g->unit.high_words)
		out->high = mad(b, w->kit.lane, I(4 * w->g->unit.high_words / QMM_CHUNKS), unit);
}

/* One value of TYPE without a sign. */
static void load_small(struct qmm_writer *w, const char *type, kit_op address, unsigned at, kit_op *out)
{
	const enum tcb_kit_memory memory = w->is_direct ? TCB_KIT_INPUT : TCB_KIT_SHARED;
	if (!out->kind)
		*out = tcb_ptx_reg(&w->kit.b, "u32");
	tcb_kit_load_into(&w->kit.b, memory, type, tcb_ptx_at(address, at), out, 1);
}

/* Fields of 16 and 32 bits are a word, of 8 a byte; others lie in two. */
static void load_fields(struct qmm_writer *w, kit_op address, unsigned at, kit_op *out)
{
	const unsigned bits = w->g->unit.header_bytes;
	if (bits == 32 || bits == 16)
		load_small(w, bits == 32 ? "u32" : "u16", address, at, out);
	else
		for (unsigned i = 0; bits && i < (bits % 8 ? 2 : 1); i++)
			load_small(w, "u8", address, at + i, &out[i]);
}

static void load_pieces(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, struct qmm_raw *out)
{
	const struct qmm_unit *u = &w->g->unit;
	if (w->g->group) /* loaded one by one: qmm_write_load_piece() */
		return;
	for (unsigned i = 0; i < 4; i++) {
		const unsigned row = i / 2 * 8, of_lanes = i * LANES;
		qmm_write_load(w, lane->codes, at + of_lanes * u->piece_bytes, out->code[i], u->piece_bytes / 4);
		if (u->piece_high)
			load_small(w, u->piece_high == 4 ? "u32" : "u16", lane->high,
				   at + u->high_at + of_lanes * u->piece_high, &out->high[i]);
		load_fields(w, lane->header, at + u->header_at + row * u->header_bytes + i % 2 * u->header_bytes / 2,
			    &out->header[i / 2][i % 2 * 2]);
	}
	for (unsigned half = 0; u->d_bytes && half < 2; half++)
		load_small(w, u->d_bytes == 4 ? "u32" : "u16", lane->last, at + u->last_at + half * 8 * u->d_bytes,
			   &out->last[half]);
}

void qmm_write_load_header(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, struct qmm_raw *out)
{
	const struct qmm_unit *u = &w->g->unit;
	if (u->is_pieces) {
		load_pieces(w, lane, at, out);
		return;
	}
	if (u->is_plain)
		return;
	for (unsigned half = 0; half < 2; half++) {
		const unsigned row = at + u->header_at + half * 8 * u->header_bytes;
		if (has_row_header(w->g) || u->header_bytes == 16)
			qmm_write_load(w, lane->header, row, out->header[half],
				       has_row_header(w->g) ? u->header_bytes / 4 : 1);
		else
			qmm_write_load_half(w, lane->header, row, &out->header[half][0]);
		if (tcb_format(u->format)->scales == TCB_SCALES_BYTES)
			qmm_write_load_half(w, lane->last, at + u->last_at + half * 8 * 2, &out->last[half]);
	}
	for (unsigned i = 0; i < u->high_words && !w->g->group; i += 4)
		qmm_write_load(w, lane->codes, at + u->high_at + i / 4 * LANES * LANE_BYTES, out->high + i, 4);
}

void qmm_write_load_codes(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, unsigned chunk,
			  struct qmm_raw *out)
{
	const unsigned words = w->g->unit.code_words, high = w->g->unit.high_words / QMM_CHUNKS;
	if (w->g->unit.is_pieces) /* loaded with the header: a chunk has some of all words */
		return;
	if (w->g->group && high) /* layout g */
		qmm_write_load(w, lane->high, at + w->g->unit.high_at + chunk * LANES * 4 * high,
			       out->high + chunk * high, high);
	for (unsigned i = 0; i < words; i += 4)
		qmm_write_load(w, lane->codes, at + (chunk * words + i) / 4 * LANES * LANE_BYTES, out->code[chunk] + i,
			       4);
}

/* --- scales --- */

/* WORD's lower or upper half, twice. */
static kit_op twice(struct qmm_writer *w, kit_op word, int is_upper)
{
	return u_permute(&w->kit.b, word, I(0), I(is_upper ? 0x3232 : 0x1010));
}

/* Fields of 6 bits, exact: what is set above them makes them 1024 and more, 64 and more, 256 and more. */
kit_op qmm_write_minus_mins(struct qmm_writer *w, const kit_op word[4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op scales = u_permute(b, word[1], word[2], w->select_two);
	const kit_op mins = u_permute(b, word[3], I(0), w->select_one);
	const kit_op field = u_and_or(b, mins, I(0x00f0000f), I(ADD_64_1024));
	const kit_op upper = u_and_or(b, scales, I(0x00c000c0), I(ADD_256));
	return h_sub(b, w->mins_bias, h_add(b, field, upper));
}

static void k_scales(struct qmm_writer *w, const kit_op word[4], kit_op *scale, kit_op *offset)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op scales = u_permute(b, word[1], word[2], w->select_two);
	kit_op field = u_and_or(b, scales, I(0x003f003f), I(ADD_1024));
	field = h_add(b, field, w->minus_1024);
	*scale = h_mul(b, field, twice(w, word[0], 0));
	*offset = h_mul(b, qmm_write_minus_mins(w, word), twice(w, word[0], 1));
}

static void q6_scales(struct qmm_writer *w, kit_op word, kit_op d, kit_op scale[QMM_TURNS_MAX])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op centre = b_set(b, I((int64_t)0xe480e480)); /* -(1024 + 128) */
	d = twice(w, d, 0);
	for (unsigned turn = 0; turn < QMM_TURNS_MAX; turn++) {
		const kit_op field = u_permute(b, word, I(0x64646464), I(turn ? 0x4342 : 0x4140));
		scale[turn] = h_mul(b, h_add(b, field, centre), d);
	}
}

kit_op qmm_write_six_d(struct qmm_writer *w, const kit_op word[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op low = u_and(b, u_shr(b, word[0], I(6)), I(0x03030303));
	kit_op four = u_and_or(b, u_shr(b, word[1], I(4)), I(0x0c0c0c0c), low);
	four = u_or(b, four, u_shr(b, four, I(4))); /* bytes 0 and 2 */
	return u_permute(b, four, I(0), I(0x2020));
}

static kit_op six_scales(struct qmm_writer *w, const kit_op word[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op centre = b_set(b, I((int64_t)0xe420e420)); /* -(1024 + 32) */
	kit_op field = u_permute(b, word[0], word[1], w->select_two);
	field = u_and_or(b, field, I(0x003f003f), I(ADD_1024));
	return h_mul(b, h_add(b, field, centre), qmm_write_six_d(w, word));
}

kit_op qmm_write_power(struct qmm_writer *w, kit_op word, unsigned byte)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op top = u_permute(b, word, I(0), I(byte << 12 | 0x444));
	return u_shr(b, top, I(1));
}

/* Those that are too small for halves round to 0, or to the smallest. */
static kit_op power_scales(struct qmm_writer *w, kit_op word)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op power[2];
	for (unsigned i = 0; i < 2; i++)
		power[i] = b_set(b, qmm_write_power(w, word, i));
	return tcb_kit_pack_f16(b, power[0], power[1]);
}

static kit_op float_scales(struct qmm_writer *w, const kit_op word[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op scale[2];
	for (unsigned i = 0; i < 2; i++)
		scale[i] = f_mul(b, b_set(b, word[i]), F(256));
	return tcb_kit_pack_f16(b, scale[0], scale[1]);
}

/* Piece I of the lane's four, of those loaded. */
static struct tcb_piece piece_of(struct qmm_writer *w, const struct qmm_raw *raw, unsigned i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_unit *u = &w->g->unit;
	const kit_op *fields = &raw->header[i / 2][i % 2 * 2];
	struct tcb_piece piece = { .high = raw->high[i], .fields = fields[0], .d = raw->last[i / 2] };
	for (unsigned word = 0; word < u->piece_bytes / 4; word++)
		piece.code[word] = raw->code[i][word];
	if (u->header_bytes % 8)
		piece.fields = u_shr(b, u_mad(b, fields[1], I(256), fields[0]), w->field_shift);
	return piece;
}

struct tcb_piece qmm_write_load_piece(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, kit_op chunk)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_unit *u = &w->g->unit;
	kit_word3 *mad = w->is_direct ? l_mad_wide : u_mad;
	const kit_op bit =
		u_mad(b, chunk, I(2 * u->header_bytes), u_mul(b, u_shr(b, w->pair, I(1)), I(u->header_bytes)));
	kit_op code[TCB_PIECE_CODE_WORDS] = { 0 }, fields[2] = { 0 };
	struct tcb_piece piece = { 0 };
	const kit_op codes = mad(b, chunk, I(LANES * u->piece_bytes), lane->codes);
	qmm_write_load(w, codes, at, code, u->piece_bytes / 4);
	memcpy(piece.code, code, sizeof code);
	if (u->piece_high)
		load_small(w, u->piece_high == 4 ? "u32" : "u16", mad(b, chunk, I(LANES * u->piece_high), lane->high),
			   at + u->high_at, &piece.high);
	if (u->d_bytes)
		load_small(w, u->d_bytes == 4 ? "u32" : "u16", lane->last, at + u->last_at, &piece.d);
	load_fields(w, mad(b, u_shr(b, bit, I(3)), I(1), lane->header), at + u->header_at, fields);
	piece.fields = fields[0];
	if (u->header_bytes % 8)
		piece.fields = u_shr(b, u_mad(b, fields[1], I(256), fields[0]), u_and(b, bit, I(7)));
	return piece;
}

/* Scales of two pieces as pairs of halves, by turns: one for each half of a piece, or the same. */
static void piece_scales(struct qmm_writer *w, const struct tcb_piece piece[2], kit_op scale[QMM_TURNS_MAX],
			 kit_op offset[QMM_TURNS_MAX])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const enum tcb_format_id id = w->g->unit.format;
	const int has_mins = tcb_format(id)->has_offsets, is_split = tcb_piece_is_split(id);
	struct tcb_piece_scales of[2];
	for (unsigned i = 0; i < 2; i++)
		tcb_piece_write_scales(b, id, &piece[i], &of[i]);
	for (unsigned turn = 0; turn < (is_split ? 2u : 1u); turn++) {
		kit_op float_scale[2], min[2];
		for (unsigned i = 0; i < 2; i++) {
			float_scale[i] = of[i].d;
			min[i] = of[i].min;
			if (is_split && tcb_piece_has_integers(id))
				float_scale[i] = f_mul(b, of[i].d, f_from_s(b, of[i].scale[turn]));
			else if (is_split)
				float_scale[i] = of[i].scale[turn];
			if (is_split && has_mins)
				min[i] = f_mul(b, of[i].dmin, f_from_s(b, of[i].mins[turn]));
		}
		scale[turn] = tcb_kit_pack_f16(b, float_scale[0], float_scale[1]);
		if (has_mins)
			offset[turn] = tcb_kit_pack_f16(b, f_neg(b, min[0]), f_neg(b, min[1]));
	}
	if (!is_split) {
		scale[1] = scale[0];
		offset[1] = offset[0];
	}
}

static void take_pieces_apart(struct qmm_writer *w, const struct qmm_raw *raw, struct qmm_scales *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const enum tcb_format_id id = w->g->unit.format;
	for (unsigned half = 0; half < 2; half++) {
		struct tcb_piece piece[2];
		kit_op word[2][TCB_PIECE_WORDS];
		for (unsigned i = 0; i < 2; i++) {
			piece[i] = piece_of(w, raw, 2 * half + i);
			tcb_piece_write_words(b, id, &w->tables, &piece[i], word[i]);
			for (unsigned k = 0; tcb_piece_is_signed(id) && k < TCB_PIECE_WORDS; k++)
				word[i][k] = u_xor(b, word[i][k], I(0x80808080));
		}
		for (unsigned k = 0; k < TCB_PIECE_WORDS; k++)
			for (unsigned upper = 0; upper < 2; upper++)
				out->turns[half][k][upper] =
					u_permute(b, word[0][k], word[1][k], I(upper ? 0x7362 : 0x5140));
		piece_scales(w, piece, out->scale[half], out->offset[half]);
	}
}

void qmm_write_scales(struct qmm_writer *w, const struct qmm_raw *raw, struct qmm_scales *out)
{
	if (w->g->unit.is_pieces) {
		take_pieces_apart(w, raw, out);
		return;
	}
	if (w->g->unit.is_plain)
		return;
	for (unsigned half = 0; half < 2; half++)
		switch (scales_kind(w)) {
		case TCB_SCALES_K:
			k_scales(w, raw->header[half], &out->scale[half][0], &out->offset[half][0]);
			break;
		case TCB_SCALES_BYTES:
			q6_scales(w, raw->header[half][0], raw->last[half], out->scale[half]);
			break;
		case TCB_SCALES_HALF:
			out->scale[half][0] = raw->header[half][0];
			break;
		case TCB_SCALES_POWER:
			out->scale[half][0] = power_scales(w, raw->header[half][0]);
			break;
		case TCB_SCALES_SIX:
			out->scale[half][0] = six_scales(w, raw->header[half]);
			break;
		case TCB_SCALES_FLOAT:
			out->scale[half][0] = float_scales(w, raw->header[half]);
			break;
		default: /* expanded formats have no kernels here */
			break;
		}
}

/* --- codes --- */

/* WORD's bits so that those above the nibbles of both registers of pair PAIR of a step are where these go. */
static kit_op turn_high(struct qmm_writer *w, const struct qmm_raw *raw, unsigned chunk, unsigned step, unsigned pair)
{
	struct qmm_high_place place;
	qmm_high_at(&w->g->unit, chunk, step, 2 * pair, 0, &place);
	return place.turn ? u_rotate(&w->kit.b, raw->high[place.word], raw->high[place.word], I(place.turn))
			  : raw->high[place.word];
}

/* The same as tcb_quant_write_lookup() of codes that are a sign and three bits. */
static void signed_lookup(struct qmm_writer *w, kit_op word, kit_op out[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op index = u_and(b, word, I(0x77777777));
	for (unsigned i = 0; i < 2; i++) {
		const kit_op at = i ? u_shr(b, index, I(16)) : index;
		const kit_op sign = i ? u_shl(b, word, I(4)) : word;
		const kit_op size = u_permute(b, w->table[0], w->table[1], at);
		out[i] = u_and_or(b, sign, I(SIGNS), size);
	}
}

/* A step's codes of registers 0 and 1, and of 2 and 3, at the same places of two words: bytes, or nibbles. */
static void code_words(struct qmm_writer *w, const struct qmm_raw *raw, unsigned chunk, unsigned step, kit_op out[2])
{
	const kit_op *of_chunk = raw->code[chunk];
	const struct qmm_unit *u = &w->g->unit;
	if (scales_kind(w) == TCB_SCALES_POWER) {
		signed_lookup(w, of_chunk[step], out);
		return;
	}
	if (tcb_has_table(u->format)) {
		tcb_quant_write_lookup(&w->kit.b, w->table, of_chunk[step], out);
		return;
	}
	out[0] = of_chunk[u->code_words == 8 ? 2 * step : step];
	out[1] = u->code_words == 8 ? of_chunk[2 * step + 1] : u_shr(&w->kit.b, out[0], I(8));
}

/* The pair of codes of register REG of a step of pieces, exact: byte CHUNK of words 2 STEP, or of the next ones. */
static kit_op piece_pair(struct qmm_writer *w, const struct qmm_scales *scales, unsigned chunk, unsigned step,
			 unsigned reg)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op both = scales->turns[reg % 2][2 * step + reg / 2][chunk / 2];
	const kit_op pair = u_permute(b, both, I(0x64646464), I(chunk % 2 ? 0x4342 : 0x4140));
	return h_add(b, pair, w->bias_low);
}

/* The pair of codes of register REG of a step, exact, less the format's centre. */
static kit_op code_pair(struct qmm_writer *w, const kit_op words[2], const kit_op turned[2], unsigned reg)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned high = reg % 2;
	kit_op pair = words[reg / 2];
	if (scales_kind(w) == TCB_SCALES_POWER)
		return u_permute(b, pair, I(0), I(high ? 0x3424 : 0x1404));
	if (tcb_has_signed_codes(w->g->unit.format)) {
		pair = u_permute(b, pair, I(0x64646464), I(high ? 0x4342 : 0x4140));
		return h_add(b, pair, w->bias_low);
	}
	pair = u_and_or(b, pair, I(high ? 0x00f000f0 : 0x000f000f), I(high ? ADD_64 : ADD_1024));
	if (w->g->unit.high_words) {
		const unsigned mask = ((1u << w->g->unit.high_bits) - 1) << (high ? 8 : 4);
		pair = u_and_or(b, turned[reg / 2], I((int64_t)mask << 16 | mask), pair);
	}
	return h_add(b, pair, high ? w->bias_high : w->bias_low);
}

kit_op qmm_write_pair_term(struct qmm_writer *w, kit_op *low, kit_op *high)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op first = b_set(b, *low), second = b_set(b, *high);
	*low = f_sub(b, *low, f_set(b, u_and(b, first, I((int64_t)0xffff0000))));
	*high = f_sub(b, *high, f_set(b, u_and(b, second, I((int64_t)0xffff0000))));
	return u_permute(b, first, second, I(0x7632));
}

void qmm_write_terms(struct qmm_writer *w, const struct qmm_raw *raw, unsigned chunk, unsigned step,
		     kit_op a[QMM_TERMS_MAX][4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->unit.terms == 1) {
		memcpy(a[0], raw->code[chunk] + 4 * step, 4 * sizeof *a[0]);
		return;
	}
	for (unsigned reg = 0; reg < 4; reg++) {
		kit_op low = f_set(b, raw->code[chunk][8 * step + 2 * reg]);
		kit_op high = f_set(b, raw->code[chunk][8 * step + 2 * reg + 1]);
		for (unsigned term = 0; term < w->g->unit.terms; term++)
			a[term][reg] = qmm_write_pair_term(w, &low, &high);
	}
}

void qmm_write_fragment(struct qmm_writer *w, const struct qmm_raw *raw, const struct qmm_scales *scales,
			unsigned chunk, unsigned step, kit_op a[4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_unit *u = &w->g->unit;
	const unsigned turn = u->is_pieces ? step / 2 : chunk * QMM_CHUNK / (8 * u->run);
	const int is_e4m3 = tcb_format(u->format)->codes == TCB_CODES_E4M3;
	kit_op words[2], turned[2] = { 0 }, pairs[2][2];
	if (u->is_plain) {
		memcpy(a, raw->code[chunk] + 4 * step, 4 * sizeof *a);
		return;
	}
	if (!u->is_pieces)
		code_words(w, raw, chunk, step, words);
	for (unsigned pair = 0; u->high_words && pair < 2; pair++)
		turned[pair] = turn_high(w, raw, chunk, step, pair);
	for (unsigned pair = 0; is_e4m3 && pair < 2; pair++)
		tcb_kit_e4m3(b, words[pair], pairs[pair]);
	for (unsigned reg = 0; reg < 4; reg++) {
		const kit_op pair = is_e4m3        ? pairs[reg / 2][reg % 2]
				    : u->is_pieces ? piece_pair(w, scales, chunk, step, reg)
						   : code_pair(w, words, turned, reg);
		const kit_op scale = scales->scale[reg % 2][turn];
		/* written to A's own register when there is one: those in flight are used in turn */
		if (!a[reg].kind)
			a[reg] = tcb_ptx_reg(b, "b32");
		if (tcb_format(u->format)->has_offsets)
			h_fma_to(b, a[reg], pair, scale, scales->offset[reg % 2][turn]);
		else
			h_mul_to(b, a[reg], pair, scale);
	}
}
