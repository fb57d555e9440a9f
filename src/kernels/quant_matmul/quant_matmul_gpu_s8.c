/* SPDX-License-Identifier: MIT
 *
 * Contract q8 of the quantised matmuls' GPU kernels: a lane's words of a unit of
 * layout g and records of activations come in, products are added to sums of
 * floats.
 *
 * A mask each makes a word's nibbles bytes of A, of rows l / 4 and l / 4 + 8; those
 * of the second row stay where they are, times 16, where eight bits have room for
 * that; codes in a table are looked up instead.  Sums of a run are integers S:
 *   group=256  S times the run's integer scale (and mins by a product of their own,
 *              of halves) is added up over the unit, and scaled once.
 *   group=32   S is added by the matrix instruction to bits of a float whose last
 *              place counts as much as S does: F = base + S / 2^shift.  Then
 *              F D - base D is one fma, since base D is exact, and one more is that
 *              times the activations' scale; D = scale of row and run, exact too.
 *              A scale that is a power of two may be at most 2^104: base D is a float.
 * Expanded formats, group=32: of a chunk each of four lanes takes one piece apart, and they turn its words round.
 */
#include "kernels/quant_matmul/quant_matmul_gpu_s8.h"

#include <string.h>

#include "kernels/gpu/quant_gpu.h"

enum {
	BASE_BITS = 0x4b400000,
	SIGNS = -0x7f7f7f80, /* 0x80 in each byte */
	HALVES = 2,
	RUNS_MAX = 4,    /* of a chunk */
	LOOP_FLOATS = 4, /* tiles of rows times groups of tokens from which on chunks are a loop */
	LOOP_INTEGERS = 8
};
#define BASE 12582912.0f /* 1.5 * 2^23: integers below 2^22 in magnitude fit beside it */

/* Of a row tile and unit: by row half. */
struct header {
	kit_op d[HALVES], dmin[HALVES];
	kit_op minus_mins[HALVES];      /* of runs p and p + 4, as halves */
	kit_op scales[HALVES][4];       /* bytes */
	kit_op scale[HALVES][RUNS_MAX]; /* of the chunk in use: integers, or D */
	kit_op less[HALVES][RUNS_MAX];  /* -base D */
};

struct unit {
	struct qmm_writer *w;
	const struct qmm_gpu *g;
	unsigned shift[HALVES]; /* codes as bytes are 2^shift times what they stand for */
	int is_signed, is_fine; /* bytes; group=32 */
	unsigned runs;          /* of a chunk */
	struct header header[QMM_ROW_TILES_MAX];
	kit_op whole[QMM_ROW_TILES_MAX][QMM_TOKENS_MAX / 8][4]; /* group=256: the unit's sums */
};

/* As bytes_of() leaves codes.  Powers of two are twice what they stand for: qmm_write_power(). */
static unsigned shift_of(const struct qmm_gpu *g, unsigned half)
{
	const struct tcb_format *f = tcb_format(g->unit.format);
	if (f->scales == TCB_SCALES_POWER)
		return 1;
	if (f->codes == TCB_CODES_PAIRS)
		return !half ? 0 : f->high_at ? 2 : 4;
	if (f->codes == TCB_CODES_RUNS)
		return tcb_has_table(f->id) ? 0 : 4;
	return f->codes == TCB_CODES_QUARTERS ? 2 : 0;
}

/* A base is a sum with what the assembler cannot know to be 0: it would make a new constant for each product. */
void qmm_write_s8_constants(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op zero = u_shr(b, w->rows, I(31));
	for (unsigned i = 0; i < 4; i++) {
		const int64_t base = BASE_BITS - ((int64_t)shift_of(w->g, i / 2) << 23);
		w->start[i] = w->g->group == 32 ? u_add(b, zero, I(base)) : b_set(b, I(0));
	}
}

static void unit_init(struct unit *u, struct qmm_writer *w)
{
	const struct qmm_gpu *g = w->g;
	*u = (struct unit){ .w = w, .g = g, .is_fine = g->group == 32, .runs = QMM_CHUNK / g->unit.run };
	u->is_signed = g->unit.is_pieces || !tcb_format(g->unit.format)->has_offsets;
	if (g->unit.is_pieces)
		u->runs = tcb_piece_is_split(g->unit.format) ? 4 : 2;
	for (unsigned half = 0; half < HALVES; half++)
		u->shift[half] = shift_of(g, half);
}

static enum tcb_scales_kind kind_of(const struct unit *u)
{
	return tcb_format(u->g->unit.format)->scales;
}

/* --- headers --- */

static float power_of(int exponent)
{
	return exponent < 0 ? 1.0f / (float)(1u << -exponent) : (float)(1u << exponent);
}

static kit_op times(struct qmm_writer *w, kit_op value, float by)
{
	return by == 1 ? value : f_mul(&w->kit.b, value, F(by));
}

/* Four scales that have a sign, above -128: for group=256 without that. */
static kit_op bytes_of_header(struct unit *u, kit_op word)
{
	return u->is_fine ? word : u_xor(&u->w->kit.b, word, I(SIGNS));
}

/* The same of scales of 6 bits that come above -32, d in the bits over them. */
static kit_op bytes_of_six(struct unit *u, kit_op word)
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	const kit_op field = u_and(b, word, I(0x3f3f3f3f));
	return bytes_of_header(u, u_add(b, field, I(0x60606060)));
}

/* What a row's scales have in common, and the bytes that they are. */
static void open_row(struct unit *u, const struct qmm_raw *raw, unsigned half, struct header *h)
{
	struct qmm_writer *w = u->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const enum tcb_scales_kind kind = kind_of(u);
	const float whole = u->is_fine ? 1 : power_of(-(int)u->shift[half]);
	const kit_op *word = raw->header[half];
	kit_op pair[2];
	tcb_kit_floats(b,
		       kind == TCB_SCALES_BYTES ? raw->last[half]
		       : kind == TCB_SCALES_SIX ? qmm_write_six_d(w, word)
						: word[0],
		       pair);
	h->d[half] = times(w, pair[0], whole);
	for (unsigned i = 0; i < 4 && kind == TCB_SCALES_BYTES; i++)
		h->scales[half][i] = bytes_of_header(u, word[i]);
	for (unsigned i = 0; i < 2 && kind == TCB_SCALES_SIX; i++)
		h->scales[half][i] = bytes_of_six(u, word[i]);
	if (kind != TCB_SCALES_K)
		return;
	for (unsigned i = 0; i < 2; i++)
		h->scales[half][i] = u_and(b, word[1 + i], I(0x3f3f3f3f));
	h->dmin[half] = pair[1];
	h->minus_mins[half] = qmm_write_minus_mins(w, word);
}

static void open_header(struct unit *u, const struct qmm_raw *raw, struct header *h)
{
	for (unsigned half = 0; half < HALVES; half++)
		if (kind_of(u) == TCB_SCALES_POWER)
			memcpy(h->scales[half], raw->header[half], 2 * sizeof(kit_op));
		else if (kind_of(u) != TCB_SCALES_HALF)
			open_row(u, raw, half, h);
}

/*
 * The scale that is byte BYTE of WORD: an integer, or, group=32, times D.  For that it becomes byte 1 of a float that
 * is it and 2^15, so that one fma is exact; one that IS_SIGNED comes 128 above what it is.
 */
static kit_op scale_of(struct unit *u, kit_op word, unsigned byte, int is_signed, kit_op d)
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	const unsigned upper = is_signed ? 8 | byte : 4;
	kit_op field;
	if (!u->is_fine)
		return u_permute(b, word, I(0), I(upper << 12 | upper << 8 | upper << 4 | byte));
	field = u_permute(b, word, I(0x47000000), I(0x7604 | byte << 4));
	return f_fma(b, b_set(b, field), d, times(u->w, d, is_signed ? -32896.0f : -32768.0f));
}

/* 2^(e - 127), which for e = 0 is below the normal floats. */
static kit_op power_of_byte(struct unit *u, kit_op word, unsigned byte)
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	return b_set(b, u_max(b, qmm_write_power(u->w, word, byte), I(1 << 22)));
}

/* Scale RUN of the unit, as write_header() lays it down. */
static kit_op unit_scale(struct unit *u, const struct header *h, unsigned half, unsigned run)
{
	const kit_op word = h->scales[half][run / 4];
	if (kind_of(u) == TCB_SCALES_POWER)
		return power_of_byte(u, word, run % 4);
	return scale_of(u, word, run % 4, kind_of(u) != TCB_SCALES_K, h->d[half]);
}

static void open_chunk(struct unit *u, const struct qmm_raw *raw, unsigned chunk, struct header *h)
{
	const int is_plain = kind_of(u) == TCB_SCALES_HALF;
	for (unsigned half = 0; half < HALVES; half++)
		for (unsigned i = 0; i < u->runs; i++) {
			const unsigned run = chunk * u->runs + i;
			kit_op pair[2];
			if (is_plain)
				tcb_kit_floats(&u->w->kit.b, raw->header[half][run / 2], pair);
			h->scale[half][i] = is_plain ? pair[run % 2] : unit_scale(u, h, half, run);
			if (u->is_fine)
				h->less[half][i] =
					times(u->w, h->scale[half][i], -BASE * power_of(-(int)u->shift[half]));
		}
}

/* --- codes to bytes --- */

static kit_op shifted(struct qmm_writer *w, kit_op word, int left)
{
	return left ? (left > 0 ? u_shl : u_shr)(&w->kit.b, word, I(left > 0 ? left : -left)) : word;
}

/* (WORD << LEFT & MASK) | or ^ OTHER. */
static kit_op masked(struct qmm_writer *w, kit_op word, int left, uint32_t mask, kit_op other, kit_word3 *op)
{
	return op(&w->kit.b, shifted(w, word, left), I((int32_t)mask), other);
}

/* Registers of A of 16 values, PIECE of CHUNK: of rows l / 4 and l / 4 + 8. */
static void bytes_of(struct unit *u, const struct qmm_raw *raw, unsigned chunk, unsigned piece, kit_op out[HALVES])
{
	static const signed char fifth[4] = { 0, -1, 4, 3 }; /* to bit 4 of the first row's; the other's is 2 above */
	struct qmm_writer *w = u->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op all = raw->code[chunk][piece];
	kit_op high;
	if (tcb_has_table(u->g->unit.format)) {
		tcb_quant_write_lookup(b, w->table, all, out);
		return;
	}
	switch (tcb_format(u->g->unit.format)->codes) {
	case TCB_CODES_RUNS: /* codes less 8 in the upper half of a byte */
		for (unsigned half = 0; half < HALVES; half++)
			out[half] = masked(w, all, half ? 0 : 4, 0xf0f0f0f0, I(SIGNS), u_and_xor);
		break;
	case TCB_CODES_PAIRS: /* the second row's times 16; where there are fifth bits, times 4 */
		if (!tcb_format(u->g->unit.format)->high_at) {
			out[0] = u_and(b, all, I(0x0f0f0f0f));
			out[1] = u_and(b, all, I((int32_t)0xf0f0f0f0));
			break;
		}
		high = shifted(w, raw->high[chunk], fifth[piece]);
		out[0] = masked(w, high, 0, 0x10101010, u_and(b, all, I(0x0f0f0f0f)), u_and_or);
		out[1] = masked(w, high, 0, 0x40404040, u_and(b, shifted(w, all, -2), I(0x3c3c3c3c)), u_and_or);
		break;
	case TCB_CODES_QUARTERS: /* codes less 32 in the upper six bits */
		high = raw->high[2 * chunk + piece / 2];
		for (int half = 0; half < HALVES; half++)
			out[half] = masked(w, high, 6 - 2 * half - 4 * (int)(piece % 2), 0xc0c0c0c0,
					   masked(w, all, 2 - 4 * half, 0x3c3c3c3c, I(SIGNS), u_and_xor), u_and_xor);
		break;
	case TCB_CODES_BYTES:
		for (unsigned half = 0; half < HALVES; half++)
			out[half] = raw->code[chunk][2 * piece + half];
		break;
	default: /* expanded formats have no kernels here */
		break;
	}
}

/* A of each run of CHUNK: registers as the matrix instruction has them, of 32 along k or of 16. */
static void expand(struct unit *u, const struct qmm_raw *raw, unsigned chunk, kit_op a[RUNS_MAX][4])
{
	for (unsigned piece = 0; piece < 4; piece++)
		bytes_of(u, raw, chunk, piece, u->runs == 4 ? a[piece] : a[piece / 2] + piece % 2 * 2);
}

/* --- products --- */

/* OUT = A * X + C, 32 along k or 16; before sm_80 there are only products of 8 by 8 by 16. */
static void multiply(struct unit *u, const kit_op a[4], const kit_op x[2], const kit_op c[4], kit_op out[4])
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	const unsigned steps = u->runs == 4 ? 1 : 2; /* of 16 */
	for (unsigned i = 0; i < 4; i++)
		out[i] = tcb_ptx_reg(b, "s32");
	if (u->g->capability >= 80) {
		tcb_kit_multiply_bytes(b, 16, 16 * steps, steps == 1 || u->is_signed, out, c, a, x);
		return;
	}
	for (unsigned half = 0; half < HALVES; half++)
		for (unsigned step = 0; step < steps; step++) {
			const kit_op *from = step ? out : c;
			tcb_kit_multiply_bytes(b, 8, 16, u->is_signed, out + 2 * half, from + 2 * half,
					       a + 2 * step + half, x + step);
		}
}

/* group=32: SUMS += PRODUCT times scales. */
static void add_scaled(struct unit *u, const struct header *h, unsigned run, const kit_op product[4],
		       const kit_op x_scale[2], kit_op sums[4])
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	for (unsigned i = 0; i < 4; i++) {
		const kit_op value = f_fma(b, b_set(b, product[i]), h->scale[i / 2][run], h->less[i / 2][run]);
		f_fma_to(b, sums[i], value, x_scale[i % 2], sums[i]);
	}
}

/* group=256: WHOLE += PRODUCT times scales, or is that where there are no registers yet. */
static void add_integers(struct unit *u, const struct header *h, unsigned run, const kit_op product[4], kit_op whole[4])
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	for (unsigned i = 0; i < 4; i++)
		if (!whole[i].kind)
			whole[i] = s_mul(b, product[i], h->scale[i / 2][run]);
		else
			s_mad_to(b, whole[i], product[i], h->scale[i / 2][run], whole[i]);
}

/* Minus the sums over the unit of mins times sums of activations. */
static void multiply_mins(struct unit *u, const struct header *h, const kit_op x[2], kit_op out[4])
{
	const kit_op a[4] = { h->minus_mins[0], h->minus_mins[1], h->minus_mins[0], h->minus_mins[1] };
	for (unsigned i = 0; i < 4; i++)
		out[i] = f_set(&u->w->kit.b, F(0));
	tcb_kit_multiply_f16(&u->w->kit.b, out, a, x);
}

/* Behind a unit's products: mins, and what is scaled only now. */
static void close_unit(struct unit *u, const struct header *h, const kit_op x_at[QMM_X_PARTS], unsigned record,
		       const kit_op whole[4], kit_op sums[4])
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	const struct qmm_gpu *g = u->g;
	const int has_mins = !u->is_signed;
	kit_op of_mins[4], x[2], x_scale[2];
	if (u->is_fine && !has_mins)
		return;
	tcb_kit_load(b, TCB_KIT_SHARED, "f32",
		     tcb_ptx_at(x_at[QMM_X_SCALES], record + (u->is_fine ? g->x_power_at : g->x_scale_at)), x_scale, 2);
	if (has_mins) {
		tcb_kit_load(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(x_at[QMM_X_SUMS], record + g->x_sum_at), x, 2);
		multiply_mins(u, h, x, of_mins);
	}
	for (unsigned i = 0; i < 4; i++) {
		kit_op value;
		if (u->is_fine) {
			value = f_mul(b, of_mins[i], h->dmin[i / 2]);
		} else {
			value = f_mul(b, f_from_s(b, whole[i]), h->d[i / 2]);
			if (has_mins)
				value = f_fma(b, of_mins[i], h->dmin[i / 2], value);
		}
		f_fma_to(b, sums[i], value, x_scale[i % 2], sums[i]);
	}
}

/* All that a chunk of one group of 8 tokens adds. */
static void write_chunk(struct unit *u, unsigned chunk, kit_op a[][RUNS_MAX][4], const kit_op x_at[QMM_X_PARTS],
			unsigned record, unsigned group8, kit_op sums[][QMM_TOKENS_MAX / 8][4])
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	const struct qmm_gpu *g = u->g;
	kit_op x[4], x_scale[4];
	tcb_kit_load_matrices(b, 0, tcb_ptx_at(x_at[chunk % 2], record + chunk / 2 * QMM_TILE_BYTES), x, 4);
	if (u->is_fine)
		tcb_kit_load(b, TCB_KIT_SHARED, "f32",
			     tcb_ptx_at(x_at[QMM_X_SCALES],
					record + g->x_scale_at + chunk * (QMM_GROUP_TOKENS / 2 * QMM_SCALE_STRIDE)),
			     x_scale, 4);
	for (unsigned i = 0; i < g->row_tiles; i++)
		for (unsigned run = 0; run < u->runs; run++) {
			kit_op product[4];
			multiply(u, a[i][run], x + run * (4 / u->runs), u->w->start, product);
			if (u->is_fine)
				add_scaled(u, &u->header[i], run, product, x_scale + run * 2 / u->runs * 2,
					   sums[i][group8]);
			else
				add_integers(u, &u->header[i], run, product, u->whole[i][group8]);
		}
}

/* Chunk CHUNK, its codes and scales in RAW. */
static void write_products(struct unit *u, const struct qmm_raw raw[], unsigned chunk, const kit_op x_at[QMM_X_PARTS],
			   unsigned x_offset, kit_op sums[][QMM_TOKENS_MAX / 8][4])
{
	const struct qmm_gpu *g = u->g;
	kit_op a[QMM_ROW_TILES_MAX][RUNS_MAX][4];
	for (unsigned i = 0; i < g->row_tiles; i++) {
		open_chunk(u, &raw[i], chunk, &u->header[i]);
		expand(u, &raw[i], chunk, a[i]);
	}
	for (unsigned group8 = 0; group8 < g->token_groups; group8++)
		write_chunk(u, chunk, a, x_at, x_offset + group8 * g->x_group_bytes, group8, sums);
}

static void write_chunks(struct unit *u, const struct qmm_lane_at *lane, unsigned at, unsigned tile_rows,
			 struct qmm_raw raw[], const kit_op x_at[QMM_X_PARTS], unsigned x_offset,
			 kit_op sums[][QMM_TOKENS_MAX / 8][4])
{
	for (unsigned chunk = 0; chunk < QMM_CHUNKS; chunk++) {
		for (unsigned i = 0; i < u->g->row_tiles && !u->w->is_direct; i++)
			qmm_write_load_codes(u->w, lane, at + i * tile_rows, chunk, &raw[i]);
		write_products(u, raw, chunk, x_at, x_offset, sums);
	}
}

/* --- chunks in a loop --- */

/* Scales of the chunk that HEADER is at, as those of a unit's first. */
static void load_scales(struct unit *u, kit_op header, unsigned at, struct qmm_raw *raw, struct header *h)
{
	struct qmm_writer *w = u->w;
	for (unsigned half = 0; half < HALVES; half++) {
		const unsigned row = at + half * 8 * u->g->unit.header_bytes;
		kit_op word = { 0 };
		switch (kind_of(u)) {
		case TCB_SCALES_K:
			qmm_write_load_half(w, header, row + 4, &word);
			h->scales[half][0] = u_and(&w->kit.b, word, I(0x3f3f));
			break;
		case TCB_SCALES_POWER:
			qmm_write_load_half(w, header, row, &word);
			h->scales[half][0] = word;
			break;
		case TCB_SCALES_SIX:
			qmm_write_load_half(w, header, row, &word);
			h->scales[half][0] = bytes_of_six(u, word);
			break;
		default:
			qmm_write_load(w, header, row, raw->header[half], 1);
			h->scales[half][0] = bytes_of_header(u, raw->header[half][0]);
		}
	}
}

/* On to the next chunk's activations. */
static void step_x(struct unit *u, kit_op x_now[QMM_X_PARTS])
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	const kit_op next = u_add(b, x_now[QMM_X_LOW], I(QMM_TILE_BYTES));
	u_set_to(b, x_now[QMM_X_LOW], x_now[QMM_X_HIGH]);
	u_set_to(b, x_now[QMM_X_HIGH], next);
	u_add_to(b, x_now[QMM_X_SCALES], x_now[QMM_X_SCALES], I(QMM_GROUP_TOKENS / 2 * QMM_SCALE_STRIDE));
}

/*
 * The same as write_chunks(), the first chunk's code in a loop: the assembler would begin the products of all of them
 * early, and run out of registers.
 */
static void write_loop(struct unit *u, const struct qmm_lane_at *lane, unsigned at, unsigned tile_rows,
		       const kit_op x_at[QMM_X_PARTS], unsigned x_offset, kit_op sums[][QMM_TOKENS_MAX / 8][4])
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	const struct qmm_gpu *g = u->g;
	const unsigned high = g->unit.high_words / QMM_CHUNKS;
	const unsigned scale_bytes = kind_of(u) == TCB_SCALES_HALF || kind_of(u) == TCB_SCALES_BYTES ? 4 : 2;
	struct qmm_lane_at now = { .codes = u_set(b, lane->codes), .header = u_set(b, lane->header) };
	kit_op x_now[QMM_X_PARTS];
	if (high)
		now.high = u_set(b, lane->high);
	for (unsigned i = 0; i < QMM_X_PARTS; i++)
		x_now[i] = i == QMM_X_SUMS ? x_at[i] : u_set(b, x_at[i]);
	for (unsigned i = 0; i < g->row_tiles * g->token_groups * 4 && !u->is_fine; i++)
		u->whole[i / 4 % g->row_tiles][i / 4 / g->row_tiles][i % 4] = b_set(&u->w->kit.b, I(0));
	tcb_ptx_for_begin(b, I(0), I(QMM_CHUNKS), I(1), 1);
	if (tcb_has_table(g->unit.format))
		tcb_kit_nounroll(b);
	struct qmm_raw raw[QMM_ROW_TILES_MAX] = { 0 };
	for (unsigned i = 0; i < g->row_tiles; i++) {
		qmm_write_load_codes(u->w, &now, at + i * tile_rows, 0, &raw[i]);
		load_scales(u, now.header, at + i * tile_rows + g->unit.header_at, &raw[i], &u->header[i]);
	}
	write_products(u, raw, 0, x_now, x_offset, sums);
	u_add_to(b, now.codes, now.codes, I(WARP * 4 * g->unit.code_words));
	u_add_to(b, now.header, now.header, I(scale_bytes));
	if (high)
		u_add_to(b, now.high, now.high, I(WARP * 4 * high));
	step_x(u, x_now);
	tcb_ptx_for_end(b);
}

/* --- pieces of expanded formats --- */

/* The words V of four neighbouring lanes, so that lane p has word p of each. */
static void turn_words(struct qmm_writer *w, kit_op v[4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned distance = 1; distance < 4; distance *= 2) {
		const kit_op upper = u_ne(b, u_and(b, w->kit.lane, I(distance)), I(0));
		for (unsigned i = 0; i < 4; i++) {
			const unsigned j = i | distance;
			if (i & distance)
				continue;
			const kit_op keep = b_select(b, v[j], v[i], upper), give = b_select(b, v[i], v[j], upper);
			const kit_op other = tcb_kit_butterfly(b, give, distance);
			v[i] = b_select(b, other, keep, upper);
			v[j] = b_select(b, keep, other, upper);
		}
	}
}

/* WORD's bytes, which have no sign, less the format's centre. */
static kit_op less_centre(struct qmm_writer *w, kit_op word)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned centre = tcb_piece_centre(w->g->unit.format);
	if (!centre)
		return word;
	word = u_sub(b, u_or(b, word, I(SIGNS)), I((int32_t)(centre * 0x01010101)));
	return u_xor(b, word, I(SIGNS));
}

/* VALUE of the lane that has the chunk's run RUN, of two, of row half HALF. */
static kit_op of_piece(struct unit *u, kit_op value, unsigned half, unsigned run)
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	return u_lane(b, value, u_or(b, u_and(b, u->w->kit.lane, I(WARP - 4)), I(2 * run + half)));
}

/* Scales of the lane's piece, of both halves of it where these have their own, and what is taken off. */
static void own_scales(struct unit *u, const struct tcb_piece *piece, kit_op scale[2], kit_op min[2])
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	const enum tcb_format_id id = u->g->unit.format;
	struct tcb_piece_scales of;
	tcb_piece_write_scales(b, id, piece, &of);
	for (unsigned i = 0; i < 2; i++) {
		scale[i] = of.d;
		min[i] = of.min;
		if (!tcb_piece_is_split(id))
			continue;
		scale[i] = tcb_piece_has_integers(id) ? f_mul(b, of.d, f_from_s(b, of.scale[i])) : of.scale[i];
		if (tcb_format(id)->has_offsets)
			min[i] = f_mul(b, of.dmin, f_from_s(b, of.mins[i]));
	}
}

/* A of the runs of a chunk, their scales, and what is taken off. */
static void expand_pieces(struct unit *u, const struct tcb_piece *piece, struct header *h, kit_op a[RUNS_MAX][4],
			  kit_op minus[HALVES][RUNS_MAX])
{
	struct qmm_writer *w = u->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const int has_mins = tcb_format(u->g->unit.format)->has_offsets;
	kit_op word[TCB_PIECE_WORDS], scale[2], min[2];
	tcb_piece_write_words(b, u->g->unit.format, &w->tables, piece, word);
	for (unsigned k = 0; k < TCB_PIECE_WORDS; k++)
		word[k] = less_centre(w, word[k]);
	for (unsigned upper = 0; upper < 2; upper++)
		turn_words(w, word + 4 * upper);
	own_scales(u, piece, scale, min);
	for (unsigned run = 0; run < u->runs; run++)
		for (unsigned half = 0; half < HALVES; half++) {
			const unsigned of = u->runs == 4 ? run / 2 : run, part = u->runs == 4 ? run % 2 : 0;
			for (unsigned upper = part; upper < (u->runs == 4 ? part + 1 : 2); upper++)
				a[run][2 * (upper - part) + half] = word[4 * upper + 2 * of + half];
			h->scale[half][run] = of_piece(u, scale[part], half, of);
			h->less[half][run] = f_mul(b, h->scale[half][run], F(-BASE));
			if (has_mins)
				minus[half][run] = f_neg(b, of_piece(u, min[part], half, of));
		}
}

/* All that a chunk of one group of 8 tokens adds: as write_chunk(); mins times sums of codes, which are products with
 * ones. */
static void write_piece_chunk(struct unit *u, kit_op a[][RUNS_MAX][4], kit_op minus[][HALVES][RUNS_MAX],
			      const kit_op x_at[QMM_X_PARTS], unsigned record, unsigned group8,
			      kit_op sums[][QMM_TOKENS_MAX / 8][4])
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	const struct qmm_gpu *g = u->g;
	kit_op x[4], x_scale[4], one[4];
	tcb_kit_load_matrices(b, 0, tcb_ptx_at(x_at[QMM_X_LOW], record), x, 4);
	tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(x_at[QMM_X_SCALES], record + g->x_scale_at), x_scale, 4);
	for (unsigned i = 0; i < 4; i++)
		one[i] = b_set(b, I(0x01010101));
	for (unsigned run = 0; run < u->runs; run++) {
		const kit_op *of_run = x + run * (4 / u->runs), *scale = x_scale + run * 2 / u->runs * 2;
		kit_op sum[4];
		if (tcb_format(g->unit.format)->has_offsets) {
			multiply(u, one, of_run, u->w->start, sum);
			for (unsigned i = 0; i < 2; i++)
				sum[i] = f_sub(b, b_set(b, sum[i]), F(BASE));
		}
		for (unsigned t = 0; t < g->row_tiles; t++) {
			kit_op product[4];
			multiply(u, a[t][run], of_run, u->w->start, product);
			for (unsigned i = 0; i < 4; i++) {
				kit_op *to = &sums[t][group8][i];
				kit_op value = f_fma(b, b_set(b, product[i]), u->header[t].scale[i / 2][run],
						     u->header[t].less[i / 2][run]);
				if (tcb_format(g->unit.format)->has_offsets)
					value = f_fma(b, sum[i % 2], minus[t][i / 2][run], value);
				f_fma_to(b, *to, value, scale[i % 2], *to);
			}
		}
	}
}

/* The chunks of a unit in a loop: a lane has one piece of each. */
static void write_pieces(struct unit *u, const struct qmm_lane_at *lane, unsigned at, unsigned tile_rows,
			 const kit_op x_at[QMM_X_PARTS], unsigned x_offset, kit_op sums[][QMM_TOKENS_MAX / 8][4])
{
	struct tcb_ptx_build *b = &u->w->kit.b;
	const struct qmm_gpu *g = u->g;
	kit_op x_now[QMM_X_PARTS], a[QMM_ROW_TILES_MAX][RUNS_MAX][4], minus[QMM_ROW_TILES_MAX][HALVES][RUNS_MAX];
	for (unsigned i = 0; i < QMM_X_PARTS; i++)
		x_now[i] = i == QMM_X_SUMS ? x_at[i] : u_set(b, x_at[i]);
	const kit_op chunk = tcb_ptx_for_begin(b, I(0), I(QMM_CHUNKS), I(1), 1);
	tcb_kit_nounroll(b);
	for (unsigned i = 0; i < g->row_tiles; i++) {
		/* From global memory each tile has addresses of its own. */
		const struct tcb_piece piece = u->w->is_direct
						       ? qmm_write_load_piece(u->w, &lane[i], at, chunk)
						       : qmm_write_load_piece(u->w, lane, at + i * tile_rows, chunk);
		expand_pieces(u, &piece, &u->header[i], a[i], minus[i]);
	}
	for (unsigned group8 = 0; group8 < g->token_groups; group8++)
		write_piece_chunk(u, a, minus, x_now, x_offset + group8 * g->x_group_bytes, group8, sums);
	step_x(u, x_now);
	tcb_ptx_for_end(b);
}

void qmm_write_unit_s8(struct qmm_writer *w, const struct qmm_lane_at *lane, unsigned at, unsigned tile_rows,
		       struct qmm_raw raw[], const kit_op x_at[QMM_X_PARTS], unsigned x_offset,
		       kit_op sums[][QMM_TOKENS_MAX / 8][4])
{
	const struct qmm_gpu *g = w->g;
	struct unit unit, *u = &unit;
	unit_init(u, w);
	if (g->unit.is_pieces) {
		write_pieces(u, lane, at, tile_rows, x_at, x_offset, sums);
		return;
	}
	for (unsigned i = 0; i < g->row_tiles; i++) {
		if (!w->is_direct) {
			raw[i] = (struct qmm_raw){ 0 };
			qmm_write_load_header(w, lane, at + i * tile_rows, &raw[i]);
		}
		open_header(u, &raw[i], &u->header[i]);
	}
	if (!w->is_direct && g->row_tiles * g->token_groups >= (u->is_fine ? LOOP_FLOATS : LOOP_INTEGERS))
		write_loop(u, lane, at, tile_rows, x_at, x_offset, sums);
	else
		write_chunks(u, lane, at, tile_rows, raw, x_at, x_offset, sums);
	for (unsigned group8 = 0; group8 < g->token_groups; group8++)
		for (unsigned i = 0; i < g->row_tiles; i++)
			close_unit(u, &u->header[i], x_at, x_offset + group8 * g->x_group_bytes, u->whole[i][group8],
				   sums[i][group8]);
}
