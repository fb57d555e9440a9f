/* SPDX-License-Identifier: MIT
 *
 * The ops qXX_get_rows on a GPU: a geometry comes in, a module of PTX and its launch go
 * out.  get_rows_gpu.h says how the geometry drives it, quant_matvec_planes.h where the parts of a superblock are.
 *
 * A thread loads the words of its piece, takes codes out of them, four to a word, and makes of each scale * code, less
 * an offset where there is one.  Products are exact, as in ggml.
 */
#include "kernels/get_rows/get_rows_gpu.h"

#include <math.h>
#include <string.h>

#include "kernels/gpu/barrier.h"
#include "kernels/gpu/frame.h"
#include "kernels/gpu/pieces_gpu.h"
#include "kernels/gpu/quant_gpu.h"

enum { WORDS = GET_ROWS_PIECE / 4, NIBBLES = 0x0f0f0f0f };

struct writer {
	struct tcb_kit kit;
	const struct get_rows_gpu *g;
	const struct tcb_format *format;
	struct tcb_problem product;
	kit_op weights, ids, y, rows;
	kit_op token, piece, sub, row, is_there; /* sub: of a superblock */
	kit_op block;                            /* native: where the piece's block, or superblock, begins */
	kit_op superblock;                       /* p: its number, .u64 */
	struct tcb_piece_tables tables;
	kit_op table[4];
	kit_op word[WORDS];         /* codes of the piece's values, four each */
	kit_op scale[2], offset[2]; /* of its halves */
};

static enum tcb_kit_memory input(const struct writer *w)
{
	return tcb_kit_input(w->g->pdl);
}

/* --- memory --- */

/* PART of the piece's superblock, INNER bytes on (.u32, or NULL), of a block of 32 values AT itself. */
static kit_op place(struct writer *w, enum qmv_part part, const kit_op *inner)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_format *f = w->g->f;
	kit_op at;
	if (w->g->is_native)
		at = l_add(b, w->block, I(f->native_at[part]));
	else
		at = l_mad(b, w->superblock, I(f->bytes[part]),
			   l_add(b, w->weights, I((int64_t)qmv_plane_at(&w->product, part))));
	return inner && !(w->g->is_native && f->block) ? tcb_kit_behind(b, at, *inner) : at;
}

/* COUNT words at AT, which is aligned to two bytes where blocks as stored are. */
static void load_words(struct writer *w, kit_op at, kit_op *out, unsigned count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int is_narrow = w->g->is_native && w->format->block_bytes % 4;
	for (unsigned i = 0; i < count; i++) {
		if (!is_narrow) {
			out[i] = tcb_kit_get(b, input(w), "u32", tcb_ptx_at(at, 4 * i));
			continue;
		}
		const kit_op low = tcb_ptx_reg(b, "u32"), high = tcb_ptx_reg(b, "u32");
		tcb_kit_load_into(b, input(w), "u16", tcb_ptx_at(at, 4 * i), &low, 1);
		tcb_kit_load_into(b, input(w), "u16", tcb_ptx_at(at, 4 * i + 2), &high, 1);
		out[i] = u_mad(b, high, I(65536), low);
	}
}

static kit_op load_byte(struct writer *w, kit_op at, int64_t offset, int is_signed)
{
	const kit_op to = tcb_ptx_reg(&w->kit.b, is_signed ? "s32" : "u32");
	tcb_kit_load_into(&w->kit.b, input(w), is_signed ? "s8" : "u8", tcb_ptx_at(at, offset), &to, 1);
	return to;
}

static kit_op load_half(struct writer *w, kit_op at, int64_t offset)
{
	return f_from_f16(&w->kit.b, tcb_kit_get(&w->kit.b, input(w), "b16", tcb_ptx_at(at, offset)));
}

/* --- codes --- */

/* 16 bytes have the low nibbles of 16 values and the high ones of the next. */
static void run_codes(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op inner = u_shl(b, w->sub, I(4));
	kit_op low[4], four[2];
	load_words(w, place(w, QMV_CODES, &inner), low, 4);
	for (unsigned i = 0; i < 4; i++) {
		if (w->g->f->table) {
			tcb_quant_write_lookup(b, w->table, low[i], four);
			w->word[i] = u_permute(b, four[0], four[1], I(0x6420));
			w->word[4 + i] = u_permute(b, four[0], four[1], I(0x7531));
			continue;
		}
		w->word[i] = u_and(b, low[i], I(NIBBLES));
		w->word[4 + i] = u_and(b, u_shr(b, low[i], I(4)), I(NIBBLES));
	}
}

/* 32 bytes have nibbles of two or four pieces, and other bytes what is above them. */
static void wide_codes(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_format *f = w->g->f;
	const int is_quarters = w->format->codes == TCB_CODES_QUARTERS;
	const kit_op half = u_shr(b, w->sub, I(2)), odd = u_and(b, w->sub, I(1));
	kit_op inner, shift, high[WORDS], high_shift = w->sub;
	if (is_quarters) {
		inner = u_mad(b, half, I(64), u_shl(b, odd, I(5)));
		shift = u_shl(b, u_and(b, w->sub, I(2)), I(1));
		high_shift = u_shl(b, u_and(b, w->sub, I(3)), I(1));
	} else {
		inner = u_shl(b, u_shr(b, w->sub, I(1)), I(5));
		shift = u_shl(b, odd, I(2));
	}
	load_words(w, place(w, QMV_CODES, &inner), w->word, WORDS);
	if (f->high_bits) {
		const kit_op high_inner = is_quarters ? u_shl(b, half, I(5)) : u_set(b, I(0));
		load_words(w, place(w, QMV_HIGH, &high_inner), high, WORDS);
	}
	for (unsigned i = 0; i < WORDS; i++) {
		w->word[i] = u_and(b, u_shr(b, w->word[i], shift), I(NIBBLES));
		if (f->high_bits)
			w->word[i] = u_or(
				b, w->word[i],
				u_shl(b,
				      u_and(b, u_shr(b, high[i], high_shift), I(is_quarters ? 0x03030303 : 0x01010101)),
				      I(4)));
	}
}

/* A piece as formats_pieces.h has it. */
static void piece_codes(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_format *f = w->g->f;
	const unsigned words = f->bytes[QMV_CODES] / TCB_PIECES / 4, high = f->bytes[QMV_HIGH] / TCB_PIECES;
	const unsigned bits = f->bytes[QMV_SCALES];
	const kit_op codes_at = u_mul(b, w->sub, I(4 * words)), high_at = u_mul(b, w->sub, I(high));
	const kit_op bit = u_mul(b, w->sub, I(bits)), fields_at = u_shr(b, bit, I(3));
	struct tcb_piece piece = { .high = I(0), .fields = I(0), .d = I(0) };
	struct tcb_piece_scales s;
	load_words(w, place(w, QMV_CODES, &codes_at), piece.code, words);
	if (high) {
		piece.high = tcb_ptx_reg(b, "u32");
		tcb_kit_load_into(b, input(w), high == 2 ? "u16" : "u32", tcb_ptx_at(place(w, QMV_HIGH, &high_at), 0),
				  &piece.high, 1);
	}
	if (f->bytes[QMV_D]) {
		piece.d = tcb_ptx_reg(b, "u32");
		tcb_kit_load_into(b, input(w), f->bytes[QMV_D] == 4 ? "u32" : "u16",
				  tcb_ptx_at(place(w, QMV_D, NULL), 0), &piece.d, 1);
	}
	if (bits) { /* in up to four bytes, from a bit of the first one on */
		const kit_op at = place(w, QMV_SCALES, &fields_at);
		const unsigned bytes = bits % 8 ? 2 : bits / 8;
		piece.fields = load_byte(w, at, 0, 0);
		for (unsigned i = 1; i < bytes; i++)
			piece.fields = u_mad(b, load_byte(w, at, i, 0), I(1 << 8 * i), piece.fields);
		if (bits % 8)
			piece.fields = u_shr(b, piece.fields, u_and(b, bit, I(7)));
	}
	tcb_piece_write_words(b, f->id, &w->tables, &piece, w->word);
	tcb_piece_write_scales(b, f->id, &piece, &s);
	for (unsigned i = 0; i < 2; i++) {
		w->scale[i] = s.d;
		if (f->is_split && tcb_piece_has_integers(f->id))
			w->scale[i] = f_mul(b, s.d, f_from_s(b, s.scale[i]));
		else if (f->is_split)
			w->scale[i] = f_mul(b, s.d, s.scale[i]);
		if (f->has_mins)
			w->offset[i] = f->is_split ? f_mul(b, s.dmin, f_from_s(b, s.mins[i])) : s.min;
	}
}

/* --- scales of fields --- */

static void k_scales(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op at = place(w, QMV_SCALES, NULL), four = u_and(b, w->sub, I(3));
	const kit_op bytes = tcb_kit_behind(b, at, four), is_late = u_ge(b, w->sub, I(4));
	const kit_op first = load_byte(w, bytes, 4, 0), second = load_byte(w, bytes, 8, 0),
		     third = load_byte(w, bytes, 12, 0);
	const kit_op late_scale = u_or(b, u_and(b, third, I(15)), u_shl(b, u_shr(b, first, I(6)), I(4)));
	const kit_op late_min = u_or(b, u_shr(b, third, I(4)), u_shl(b, u_shr(b, second, I(6)), I(4)));
	const kit_op scale = u_select(b, late_scale, u_and(b, first, I(63)), is_late);
	const kit_op min = u_select(b, late_min, u_and(b, second, I(63)), is_late);
	w->scale[0] = w->scale[1] = f_mul(b, load_half(w, at, 0), f_from_s(b, b_set(b, scale)));
	w->offset[0] = w->offset[1] = f_mul(b, load_half(w, at, 2), f_from_s(b, b_set(b, min)));
}

static void field_scales(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_format *f = w->g->f;
	kit_op inner = w->sub, at, d;
	if (f->scales == QMV_SCALES_K) {
		k_scales(w);
		return;
	}
	if (f->scales == QMV_SCALES_HALVES || f->scales == QMV_SCALES_BYTES)
		inner = u_shl(b, w->sub, I(1));
	if (f->scales == QMV_SCALES_FLOATS)
		inner = u_and(b, w->sub, I(4));
	at = place(w, QMV_SCALES, &inner);
	switch (f->scales) {
	case QMV_SCALES_HALVES:
		w->scale[0] = load_half(w, at, 0);
		break;
	case QMV_SCALES_POWERS: { /* 2^(e - 128), of which the lowest two are subnormal */
		const kit_op e = load_byte(w, at, 0, 0);
		const kit_op normal = u_shl(b, u_sub(b, e, I(1)), I(23)), least = u_shl(b, u_set(b, I(0x200000)), e);
		w->scale[0] = f_set(b, b_select(b, normal, least, u_gt(b, e, I(1))));
		break;
	}
	case QMV_SCALES_FLOATS:
		w->scale[0] = tcb_kit_get(b, input(w), "f32", tcb_ptx_at(at, 0));
		break;
	default: /* SIXES, BYTES */
		d = load_half(w, place(w, QMV_D, NULL), 0);
		w->scale[0] = f_mul(b, d, f_from_s(b, load_byte(w, at, 0, 1)));
		if (f->scales == QMV_SCALES_BYTES) {
			w->scale[1] = f_mul(b, d, f_from_s(b, load_byte(w, at, 1, 1)));
			return;
		}
	}
	w->scale[1] = w->scale[0];
}

/* --- values --- */

static int is_signed(const struct writer *w)
{
	const struct qmv_format *f = w->g->f;
	return f->is_pieces ? tcb_piece_is_signed(f->id) : tcb_has_signed_codes(f->id);
}

/* The four values of word I. */
static void word_values(struct writer *w, unsigned i, kit_op out[4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_format *f = w->g->f;
	const unsigned half = i / (WORDS / 2);
	const unsigned centre = f->is_pieces ? tcb_piece_centre(f->id) : f->centre;
	if (f->scales == QMV_SCALES_FLOATS) {
		kit_op pair[2];
		tcb_kit_e4m3(b, w->word[i], pair);
		tcb_kit_floats(b, pair[0], out);
		tcb_kit_floats(b, pair[1], out + 2);
		for (unsigned j = 0; j < 4; j++)
			out[j] = f_mul(b, w->scale[half], f_mul(b, out[j], F(256)));
		return;
	}
	for (unsigned j = 0; j < 4; j++) {
		const unsigned sign = is_signed(w) ? 8 + j : 4;
		kit_op code = u_permute(b, w->word[i], I(0), I(sign << 12 | sign << 8 | sign << 4 | j));
		if (centre)
			code = u_sub(b, code, I(centre));
		out[j] = f_mul(b, w->scale[half], f_from_s(b, b_set(b, code)));
		if (f->has_mins)
			out[j] = f_sub(b, out[j], w->offset[half]);
	}
}

/* COUNT values, 4 or fewer, from value AT of the thread on. */
static void put(struct writer *w, kit_op to, unsigned at, const kit_op *values, unsigned count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op word[2];
	if (!w->g->is_half) {
		tcb_kit_store(b, TCB_KIT_GLOBAL, "f32", tcb_ptx_at(to, 4 * at), values, count);
		return;
	}
	if (count == 1) {
		tcb_kit_put(b, TCB_KIT_GLOBAL, "b16", tcb_ptx_at(to, 2 * at), f16_from_f(b, values[0]));
		return;
	}
	for (unsigned i = 0; i < count / 2; i++)
		word[i] = tcb_kit_pack_f16(b, values[2 * i], values[2 * i + 1]);
	tcb_kit_store(b, TCB_KIT_GLOBAL, "b32", tcb_ptx_at(to, 2 * at), word, count / 2);
}

/* Rows of values: UNIT of them as they are. */
static void write_plain(struct writer *w, kit_op to)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct get_rows_gpu *g = w->g;
	const unsigned bytes = (unsigned)w->format->block_bytes;
	const size_t row_bytes = g->is_native ? g->row_bytes : (size_t)g->superblocks * QMV_VALUES * bytes;
	const kit_op row = l_mad(b, l_from_u(b, w->row), I((int64_t)row_bytes), w->weights);
	const kit_op from = l_mad_wide(b, w->piece, I(g->unit * bytes), row);
	kit_op value[8];
	for (unsigned i = 0; i < g->unit; i++) {
		if (bytes == 4) {
			value[i] = tcb_kit_get(b, input(w), "f32", tcb_ptx_at(from, 4 * i));
		} else if (w->format->id == TCB_FORMAT_F16) {
			value[i] = load_half(w, from, 2 * i);
		} else {
			const kit_op half = tcb_ptx_reg(b, "u32");
			tcb_kit_load_into(b, input(w), "u16", tcb_ptx_at(from, 2 * i), &half, 1);
			value[i] = f_set(b, b_set(b, u_shl(b, half, I(16))));
		}
		value[i] = f_select(b, value[i], F(NAN), w->is_there);
	}
	for (unsigned i = 0; i < g->unit; i += 4)
		put(w, to, i, value + i, g->unit < 4 ? g->unit : 4);
}

static void write_coded(struct writer *w, kit_op to)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct get_rows_gpu *g = w->g;
	const kit_op inner = u_shl(b, w->sub, I(5));
	kit_op value[4];
	if (g->is_native) {
		const kit_op row = l_mad(b, l_from_u(b, w->row), I((int64_t)g->row_bytes), w->weights);
		const kit_op block = g->f->block ? w->piece : u_shr(b, w->piece, I(3));
		w->block = l_mad_wide(b, block, I((int64_t)w->format->block_bytes), row);
	} else {
		w->superblock = l_mad_wide(b, w->row, I(g->superblocks), l_from_u(b, u_shr(b, w->piece, I(3))));
	}
	if (g->f->is_pieces) {
		piece_codes(w);
	} else {
		if (w->format->codes == TCB_CODES_RUNS)
			run_codes(w);
		else if (g->f->log_run == 8) /* bytes */
			load_words(w, place(w, QMV_CODES, &inner), w->word, WORDS);
		else
			wide_codes(w);
		field_scales(w);
	}
	for (unsigned i = 0; i < 2; i++)
		w->scale[i] = f_select(b, w->scale[i], F(NAN), w->is_there);
	for (unsigned i = 0; i < WORDS; i++) {
		word_values(w, i, value);
		put(w, to, 4 * i, value, 4);
	}
}

static void write_kernel(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct get_rows_gpu *g = w->g;
	const unsigned element = g->is_half ? 2 : 4;
	w->token = u_block_x(b);
	kit_op first = I(0);
	if (g->blocks > 1) {
		const struct kit_split split = u_split(b, w->token, I(g->blocks));
		w->token = split.whole;
		first = u_mul(b, split.rest, I(g->threads));
	}
	if (g->f->is_pieces) {
		const unsigned bytes = tcb_piece_table_bytes(g->f->id, 0);
		w->tables.grid = bytes ? w->kit.shared : I(0);
		tcb_piece_write_constants(b, g->f->id, &w->tables);
		tcb_piece_write_grid(b, g->f->id, &w->tables, w->kit.tid, g->threads);
		if (bytes)
			tcb_kit_block_barrier(b);
	} else if (g->f->table) {
		tcb_quant_write_table(b, (const uint8_t *)g->f->table, w->table);
	}
	w->piece = u_add(b, w->kit.tid, first);
	tcb_ptx_if_begin(b, u_lt(b, w->piece, I(g->pieces)));
	w->sub = u_and(b, w->piece, I(7));
	const kit_op id = tcb_kit_get(b, input(w), "u32", tcb_kit_element(b, w->ids, w->token, 4));
	w->is_there = u_lt(b, id, w->rows);
	w->row = u_select(b, id, I(0), w->is_there);
	const kit_op row = l_mad(b, l_from_u(b, w->token), I((int64_t)g->pieces * g->unit * element), w->y);
	const kit_op to = l_mad_wide(b, w->piece, I(g->unit * element), row);
	if (qmv_is_float(g->f))
		write_plain(w, to);
	else
		write_coded(w, to);
	tcb_ptx_if_end(b);
}

static enum tcb_status get_rows_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				     const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct get_rows_gpu g;
	struct writer w = { .g = &g, .format = problem->op->format, .product = get_rows_product(problem) };
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	get_rows_gpu_plan(problem, geometry, &g);
	const unsigned shared = g.f->is_pieces ? tcb_piece_table_bytes(g.f->id, 0) : 0;
	tcb_kit_begin(&w.kit, "get_rows",
		      &(struct tcb_kit_kernel){ .threads = g.threads,
						.blocks_together = 1,
						.grid = { (uint32_t)(g.blocks * g.tokens) },
						.shared_bytes = shared,
						.is_dependent = g.pdl });
	w.weights = tcb_kit_operand(&w.kit, "weights", 16, GET_ROWS_WEIGHTS);
	w.ids = tcb_kit_operand(&w.kit, "ids", 4, GET_ROWS_IDS);
	w.y = tcb_kit_operand(&w.kit, "y", 16, GET_ROWS_Y);
	w.rows = tcb_kit_number(&w.kit, "rows", problem->shape.n);
	tcb_kit_dependents(&w.kit, 1);
	w.kit.tid = u_thread(&w.kit.b);
	if (shared)
		tcb_kit_memory(&w.kit, TCB_PIECE_TABLE_ALIGN);
	write_kernel(&w);
	tcb_kit_end(&w.kit);
	out->class = TCB_CLASS_EXACT;
	if (!g.is_native)
		out->packed_bytes[GET_ROWS_WEIGHTS] = qmv_packed_bytes(&w.product, TCB_LAYOUT_P);
	return tcb_kit_close(&w.kit, err);
}

const struct tcb_side get_rows_gpu = {
	.variants = TCB_EMITTED(TCB_EMITTED_ROW("get_rows_f32_ptx", F32, FMA, EXACT),
				TCB_EMITTED_ROW("get_rows_f16_ptx", F16, FMA, EXACT)),
	.space = &get_rows_gpu_space,
	.emit = get_rows_emit,
};
