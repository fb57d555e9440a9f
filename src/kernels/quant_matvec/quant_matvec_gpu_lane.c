/* SPDX-License-Identifier: MIT
 *
 * A lane of a warp in the quantised matvec's GPU kernels: where its piece of a
 * superblock is, by format and layout, how it gets into registers, and how words
 * of codes come out of these.
 *
 * What differs between lanes is in registers that are computed once (struct
 * qmv_writer), so that all lanes run the same instructions.  Blocks of formats
 * without a layout of ours may be aligned to two bytes only: their codes are read
 * as the words around them, one more than needed, and moved into place.
 */
#include "kernels/quant_matvec/quant_matvec_gpu_lane.h"

#include "kernels/gpu/quant_gpu.h"

enum {
	NIBBLES = 0x0f0f0f0f,
	LOG_SUB = 5, /* a sub-block has 32 values */
	LOG_CHUNK = 4
};

/* --- constants of a lane --- */

static unsigned log_of(unsigned power)
{
	unsigned log = 0;
	while (1u << log < power)
		log++;
	return log;
}

static kit_op shifted(struct qmv_writer *w, kit_op value, unsigned by)
{
	return by ? u_shl(&w->kit.b, value, I(by)) : value;
}

/* Native and p: bytes of the words of 6-bit scales; s: 12 bits each, twelve bytes in all (quant_matvec_planes.c). */
static void k_constants(struct qmv_writer *w, kit_op order)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op first = u_eq(b, order, I(0)), second = u_eq(b, order, I(1));
	kit_op is_odd, at;
	if (w->g->layout == TCB_LAYOUT_S) {
		/* Bit 12 j of three words: from byte 3 j / 2 of the first two, or, from j = 5 on, of the last two. */
		w->is_late = u_ge(b, w->sub_block, I(5));
		at = u_shr(b, u_mul(b, w->sub_block, I(3)), I(1));
		at = u_select(b, u_sub(b, at, I(4)), at, w->is_late);
		w->select_field = u_mad(b, at, I(0x11), I(0x10));
		w->shift = u_shl(b, u_and(b, w->sub_block, I(1)), I(2));
		w->shift_min = u_add(b, w->shift, I(6));
		w->mask_m = b_select(b, I(63), I(0), first);
		return;
	}
	w->is_late = u_ge(b, w->sub_block, I(4));
	is_odd = u_ne(b, u_and(b, w->sub_block, I(2)), I(0));
	w->select_pair = b_select(b, I(0x7632), I(0x5410), is_odd);
	w->select_low = b_select(b, I(0x3232), I(0x1010), is_odd);
	w->mask_early = b_select(b, I(0), I(0x3f3f3f3f), w->is_late);
	w->mask_top = b_select(b, I(0x30303030), I(0), w->is_late);
	w->mask_c = b_select(b, I(0x00000f0f), I(0), w->is_late);
	w->mask_d = b_select(b, I(0x0f0f0000), I(0), w->is_late);
	/* Byte 2 or 3 for the one lane of a piece's sub-block that takes its min; the others take nothing. */
	w->select_min = b_select(b, I(0x4442), b_select(b, I(0x4443), I(0x4444), second), first);
}

/* A lane's bytes of the parts of formats_pieces.h; from a bit of the fields on, which begin anywhere in a byte. */
static void piece_constants(struct qmv_writer *w, kit_op at[QMV_PARTS])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_format *f = w->g->format;
	const kit_op bit = u_mul(b, w->piece, I(f->bytes[QMV_SCALES]));
	at[QMV_CODES] = u_mul(b, w->piece, I(f->bytes[QMV_CODES] / TCB_PIECES));
	at[QMV_HIGH] = u_mul(b, w->piece, I(f->bytes[QMV_HIGH] / TCB_PIECES));
	at[QMV_SCALES] = u_shr(b, bit, I(3));
	w->shift = u_and(b, bit, I(7));
}

/* Bytes of a superblock's parts, from its start, or in its planes. */
static void part_constants(struct qmv_writer *w, kit_op byte)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const struct qmv_format *f = g->format;
	const int is_native = g->layout == TCB_LAYOUT_NATIVE, is_s = g->layout == TCB_LAYOUT_S;
	kit_op at[QMV_PARTS] = { byte, I(0), I(0), I(0) };
	if (qmv_is_float(f))
		at[QMV_CODES] = u_mul(b, byte, I(f->bytes[QMV_CODES] / QMV_VALUES));
	if (f->is_pieces) {
		piece_constants(w, at);
	} else if (f->high_bits) {
		const kit_op chunk = u_shr(b, byte, I(LOG_CHUNK)), in_run = u_and(b, byte, I(31));
		const kit_op run = u_shr(b, byte, I(5));
		at[QMV_HIGH] = is_s                ? u_shl(b, chunk, I(1 + f->high_bits))
			       : f->high_bits == 1 ? in_run
						   : u_mad(b, u_shr(b, run, I(1)), I(32), in_run);
		w->shift_high =
			is_s ? u_and(b, u_shr(b, byte, I(2)), I(3)) : u_and(b, run, I(f->high_bits == 1 ? 3 : 1));
		w->shift_high = shifted(w, w->shift_high, is_s ? f->high_bits - 1 : 1);
	}
	if (f->scales == QMV_SCALES_HALVES)
		at[QMV_SCALES] = u_shl(b, w->sub_block, I(1));
	if (f->scales == QMV_SCALES_POWERS || f->scales == QMV_SCALES_SIXES)
		at[QMV_SCALES] = w->sub_block;
	if (f->scales == QMV_SCALES_FLOATS) /* four bytes for four sub-blocks */
		at[QMV_SCALES] = u_and(b, w->sub_block, I(4));
	if (f->scales == QMV_SCALES_BYTES) /* runs of 16 */
		at[QMV_SCALES] = w->sum_run;
	if (is_native && f->block) {
		const kit_op inner = u_and(b, byte, I(f->bytes[QMV_CODES] / 8 - 1));
		at[QMV_SCALES] = u_mul(b, w->sub_block, I(f->block));
		at[QMV_CODES] = u_add(b, at[QMV_SCALES], inner);
	}
	for (unsigned part = 0; part < QMV_PARTS; part++)
		w->part[part] = is_native && at[part].kind == TCB_PTX_O_REG && f->native_at[part]
					? u_add(b, at[part], I(f->native_at[part]))
				: is_native && at[part].kind != TCB_PTX_O_REG ? I(f->native_at[part])
									      : at[part];
}

void qmv_write_table_constants(struct qmv_writer *w)
{
	uint8_t bytes[16];
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)w->g->format->table[i] ^ (w->g->is_q8 ? 0 : 0x80);
	tcb_quant_write_table(&w->kit.b, bytes, w->table);
}

void qmv_write_lane_constants(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const unsigned log_vec = log_of(g->vec), log_lanes = log_of(g->piece_lanes), log_run = g->log_run;
	const unsigned shared =
		g->format->is_pieces ? 0 : (g->format->scales == QMV_SCALES_K ? log_run : LOG_CHUNK) - log_vec;
	kit_op byte, order, value;
	w->piece = u_and(b, w->kit.lane, I(g->piece_lanes - 1));
	w->within = u_shr(b, w->kit.lane, I(log_lanes));
	byte = u_shl(b, w->piece, I(log_vec));
	/* The first value of its low codes. */
	value = byte;
	if (g->halves == 2)
		value = u_mad(b, u_shr(b, byte, I(log_run)), I(2 << log_run), u_and(b, byte, I((1 << log_run) - 1)));
	w->sub_block = u_shr(b, value, I(LOG_SUB));
	order = u_and(b, w->piece, I((1 << shared) - 1));
	w->sum_run = g->is_split ? u_shr(b, value, I(LOG_CHUNK)) : w->sub_block;
	if (g->format->scales == QMV_SCALES_K && g->layout != TCB_LAYOUT_S)
		w->sum_run = u_add(b, w->sub_block, u_and(b, order, I(1)));
	if (g->format->scales == QMV_SCALES_K)
		k_constants(w, order);
	else
		w->is_first = u_eq(b, order, I(0));
	part_constants(w, byte);
}

/* --- from memory --- */

void qmv_write_where(struct qmv_writer *w, const char *type, struct qmv_where *where)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const int is_wide = type[1] == '6';
	if (!g->is_narrow)
		return;
	for (unsigned part = QMV_CODES; part <= QMV_HIGH; part++) {
		if (!g->format->bytes[part])
			continue;
		const kit_op at = where->at[part], low = is_wide ? u_from_l(b, at) : at;
		const kit_op odd = u_and(b, low, I(2)); /* 0 or 2 */
		const unsigned bytes = part == QMV_CODES ? g->vec : 4 * g->high_words;
		/* Without the rest of two bytes the last word is not needed: the one before it is read again. */
		const kit_op rest = u_mad(b, odd, I(2), I(bytes - 4));
		where->select[part] = u_mad(b, odd, I(0x1111), I(0x3210));
		where->at[part] = is_wide ? l_and(b, at, I(-4)) : u_and(b, at, I(-4));
		where->tail[part] =
			is_wide ? l_add(b, where->at[part], l_from_u(b, rest)) : u_add(b, where->at[part], rest);
	}
}

/* COUNT registers of TYPE, in one access where that is allowed. */
static void load(struct qmv_writer *w, enum tcb_kit_memory memory, const char *type, kit_op at, int64_t offset,
		 kit_op *to, unsigned count, const char *reg_type, int is_again)
{
	for (unsigned i = 0; !is_again && i < count; i++)
		to[i] = tcb_ptx_reg(&w->kit.b, reg_type);
	tcb_kit_load_into(&w->kit.b, memory, type, tcb_ptx_at(at, offset), to, count);
}

static void load_words(struct qmv_writer *w, enum tcb_kit_memory memory, const struct qmv_where *where, unsigned part,
		       int64_t offset, kit_op *to, unsigned words, int is_again)
{
	if (!w->g->is_narrow) {
		load(w, memory, "b32", where->at[part], offset, to, words, "b32", is_again);
		return;
	}
	for (unsigned i = 0; i < words; i++)
		load(w, memory, "b32", where->at[part], offset + 4 * i, &to[i], 1, "b32", is_again);
	load(w, memory, "b32", where->tail[part], offset, &to[words], 1, "b32", is_again);
}

/* Fields of 16 and 32 bits are a word; of 8 a byte; others lie in two. */
static void load_piece(struct qmv_writer *w, enum tcb_kit_memory memory, const struct qmv_where *where,
		       const int64_t offset[QMV_PARTS], int is_again, struct qmv_lane_w *out)
{
	const struct qmv_format *f = w->g->format;
	const unsigned fields = f->bytes[QMV_SCALES];
	const kit_op scales = where->at[QMV_SCALES];
	const int64_t at = offset[QMV_SCALES];
	load(w, memory, "b32", where->at[QMV_CODES], offset[QMV_CODES], out->code, w->g->code_words, "b32", is_again);
	if (f->bytes[QMV_HIGH])
		load(w, memory, f->bytes[QMV_HIGH] == 2 * TCB_PIECES ? "u16" : "u32", where->at[QMV_HIGH],
		     offset[QMV_HIGH], out->high, 1, "u32", is_again);
	if (fields == 32 || fields == 16)
		load(w, memory, fields == 32 ? "u32" : "u16", scales, at, out->scale, 1, "u32", is_again);
	else /* bytes */
		for (unsigned i = 0; fields && i < (fields % 8 ? 2 : 1); i++)
			load(w, memory, "u8", scales, at + i, &out->scale[i], 1, "u32", is_again);
	if (f->bytes[QMV_D])
		load(w, memory, f->bytes[QMV_D] == 4 ? "u32" : "u16", where->at[QMV_D], offset[QMV_D], out->d, 1, "u32",
		     is_again);
}

/* What was loaded, as a piece. */
static struct tcb_piece piece_of(struct qmv_writer *w, const struct qmv_lane_w *loaded)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned fields = w->g->format->bytes[QMV_SCALES];
	struct tcb_piece piece = { .high = loaded->high[0], .fields = loaded->scale[0], .d = loaded->d[0] };
	for (unsigned i = 0; i < w->g->code_words; i++)
		piece.code[i] = loaded->code[i];
	if (fields % 8) /* two bytes */
		piece.fields = u_shr(b, u_mad(b, loaded->scale[1], I(256), loaded->scale[0]), w->shift);
	return piece;
}

void qmv_write_lane_load(struct qmv_writer *w, enum tcb_kit_memory memory, const struct qmv_where *where,
			 const int64_t offset[QMV_PARTS], int is_again, struct qmv_lane_w *out)
{
	const struct qmv_gpu *g = w->g;
	const kit_op scales = where->at[QMV_SCALES];
	const int64_t at = offset[QMV_SCALES];
	if (g->format->is_pieces) {
		load_piece(w, memory, where, offset, is_again, out);
		return;
	}
	for (unsigned i = 0; qmv_is_float(g->format) && i < g->code_words; i += 4)
		load_words(w, memory, where, QMV_CODES, offset[QMV_CODES] + 4 * i, out->code + i, 4, is_again);
	if (qmv_is_float(g->format))
		return;
	load_words(w, memory, where, QMV_CODES, offset[QMV_CODES], out->code, g->code_words, is_again);
	if (g->high_words)
		load_words(w, memory, where, QMV_HIGH, offset[QMV_HIGH], out->high, g->high_words, is_again);
	if (g->format->scales == QMV_SCALES_K) {
		load(w, memory, "b32", scales, at, out->scale, 4, "b32", is_again);
	} else if (g->format->scales == QMV_SCALES_HALVES) {
		load(w, memory, "b16", scales, at, out->scale, 1, "b16", is_again);
	} else if (g->format->scales == QMV_SCALES_POWERS) {
		load(w, memory, "u8", scales, at, out->scale, 1, "u32", is_again);
	} else if (g->format->scales == QMV_SCALES_FLOATS) {
		load(w, memory, "f32", scales, at, out->scale, 1, "f32", is_again);
	} else if (g->format->scales == QMV_SCALES_SIXES) {
		load(w, memory, "s8", scales, at, out->scale, 1, "s32", is_again);
		load(w, memory, "b16", where->at[QMV_D], offset[QMV_D], out->d, 1, "b16", is_again);
	} else {
		load(w, memory, "s8", scales, at, &out->scale[0], 1, "s32", is_again);
		load(w, memory, "s8", scales, at + (g->layout == TCB_LAYOUT_S ? 1 : 4), &out->scale[1], 1, "s32",
		     is_again);
		load(w, memory, "b16", where->at[QMV_D], offset[QMV_D], out->d, 1, "b16", is_again);
	}
	if (g->is_narrow && !is_again) {
		out->select[QMV_CODES] = where->select[QMV_CODES];
		out->select[QMV_HIGH] = where->select[QMV_HIGH];
	}
}

void qmv_write_lane_align(struct qmv_writer *w, const struct qmv_lane_w *loaded, struct qmv_lane_w *out)
{
	const struct qmv_gpu *g = w->g;
	*out = *loaded;
	if (g->format->is_pieces) {
		const struct tcb_piece piece = piece_of(w, loaded);
		tcb_piece_write_words(&w->kit.b, g->format->id, &w->tables, &piece, out->byte);
		tcb_piece_write_scales(&w->kit.b, g->format->id, &piece, &out->piece);
	}
	if (!g->is_narrow)
		return;
	for (unsigned i = 0; i < g->vec / 4; i++)
		out->code[i] = u_permute(&w->kit.b, loaded->code[i], loaded->code[i + 1], loaded->select[QMV_CODES]);
	for (unsigned i = 0; i < g->high_words; i++)
		out->high[i] = u_permute(&w->kit.b, loaded->high[i], loaded->high[i + 1], loaded->select[QMV_HIGH]);
}

/* --- codes --- */

/* WORD with the byte shift of BY bits to the left, or -BY to the right; bits that cross bytes are masked by the caller.
 */
static kit_op moved(struct qmv_writer *w, kit_op word, int by)
{
	return by > 0 ? u_shl(&w->kit.b, word, I(by)) : by < 0 ? u_shr(&w->kit.b, word, I(-by)) : word;
}

/* Word I of codes of five or six bits. */
static kit_op wide_codes(struct qmv_writer *w, const struct qmv_lane_w *weights, unsigned i, int is_high)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const int bits = (int)g->format->high_bits;
	const kit_op code = is_high ? u_shr(b, weights->code[i], I(4)) : weights->code[i];
	const kit_op nibbles = u_and(b, code, I(NIBBLES));
	kit_op high;
	if (g->layout == TCB_LAYOUT_S || g->is_mma) {
		high = weights->high[bits == 2 && is_high ? 1 : 0];
		if (g->vec < 16)
			high = u_shr(b, high, w->shift_high);
		high = moved(w, high, 4 - bits * (int)i - (bits == 1 && is_high ? 4 : 0));
	} else {
		high = u_shr(b, weights->high[i], w->shift_high);
		high = moved(w, high, bits == 1 ? 4 - is_high : 4 - 4 * is_high);
	}
	return u_and_or(b, high, I(bits == 1 ? 0x10101010 : 0x30303030), nibbles);
}

/* The codes of WORD's eight nibbles, of which the low ones or the high ones of each byte are taken. */
static kit_op table_codes(struct qmv_writer *w, kit_op word, int is_high)
{
	kit_op four[2];
	tcb_quant_write_lookup(&w->kit.b, w->table, word, four);
	return u_permute(&w->kit.b, four[0], four[1], I(is_high ? 0x7531 : 0x6420));
}

kit_op qmv_write_codes(struct qmv_writer *w, const struct qmv_lane_w *weights, unsigned i, int is_high)
{
	if (w->g->halves == 1)
		return weights->code[i];
	if (w->g->format->is_pieces)
		return weights->byte[i + (is_high ? TCB_PIECE_WORDS / 2 : 0)];
	if (w->g->format->table)
		return table_codes(w, weights->code[i], is_high);
	if (w->g->format->high_bits)
		return wide_codes(w, weights, i, is_high);
	return u_and(&w->kit.b, weights->code[i], I(is_high ? (int64_t)0xf0f0f0f0 : (int64_t)NIBBLES));
}

void qmv_write_values(struct qmv_writer *w, const struct qmv_lane_w *weights, kit_op value[QMV_FLOAT_VALUES])
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned i = 0; i < w->g->code_words; i++) {
		const kit_op word = weights->code[i];
		if (w->g->format->id == TCB_FORMAT_F32) {
			value[i] = b_set(b, word);
		} else if (w->g->format->id == TCB_FORMAT_BF16) {
			value[2 * i] = b_set(b, u_shl(b, word, I(16)));
			value[2 * i + 1] = b_set(b, u_and(b, word, I((int64_t)0xffff0000)));
		} else {
			tcb_kit_floats(b, word, value + 2 * i);
		}
	}
}

kit_op qmv_write_halves(struct qmv_writer *w, const struct qmv_lane_w *weights, unsigned i, int is_high, int is_odd)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const int is_signed = g->halves == 1 || (g->format->is_pieces && tcb_piece_is_signed(g->format->id));
	kit_op word = weights->code[i];
	if (g->format->is_pieces)
		word = qmv_write_codes(w, weights, i, is_high);
	else if (g->format->table)
		word = table_codes(w, word, is_high); /* code + 128 */
	else if (g->format->high_bits)
		word = wide_codes(w, weights, i, is_high);
	if (is_signed)
		word = u_xor(b, word, I(0x80808080)); /* code + 128 */
	if (is_odd)
		word = u_shr(b, word, I(8));
	if (g->halves == 2 && qmv_has_large_high(g->format))
		return u_and(b, word, I(is_high ? 0x00f000f0 : 0x000f000f));
	word = u_and(b, word, I(0x00ff00ff));
	if (!is_signed && !g->format->table)
		return word;
	return h_sub_loose(b, word, b_set(b, I(0x00800080)));
}
