/* SPDX-License-Identifier: MIT
 *
 * isa=mma: sixteen rows of a quantised matvec by a warp, with mma.sync.
 *
 * A is codes, as denormal halves (2^-24 q): masks and shifts, no conversions.  B is activations: of the eight columns
 * that a product has, column s is for sub-block s, so that one column of x gives the sums of the eight sub-blocks
 * apart, exactly as their scales need them, without a product of a code and a scale.  Lane (g, t) of the warp (g = lane
 * / 4) has of rows g and g + 8 the 16-byte pieces t, 4 + t, ...; it holds activations where its column g is its piece's
 * sub-block, and zeros elsewhere.  What comes out in it are the sums of sub-blocks 2 t and 2 t + 1.
 *
 * Contract f16: activations as halves, behind a norm multiplied as under f32.  Contract f32: an activation is
 * multiplied by a power of two, the same for a superblock, such that the largest is just below 2^15, and is then the
 * sum of a half and of 2^-12 times another, of which each product has sums of its own.  Each half has 11 bits and
 * rounds to nearest, so what is left out is at most 2^-23 of the activation, as much as two roundings to f32; of
 * activations below 2^-28 of their superblock's largest it is 2^-51 of the latter (quant_reference.c has the proof and
 * the term of the bound).
 *
 * The products are exact; the sums of one instruction are cut off below the last
 * bit of the largest.
 */
#include "kernels/quant_matvec/quant_matvec_gpu_mma.h"
#include "kernels/quant_matvec/quant_matvec_gpu_math.h"
#include "kernels/quant_matvec/quant_matvec_gpu_x_mma.h"

enum { PIECE_WORDS = 4, PIECE_LANES = 4, SETS = QMV_B_WORDS / 4 };

static unsigned pieces_of(const struct qmv_gpu *g) /* of a lane's row */
{
	return g->format->bytes[QMV_CODES] / QMV_PIECE / PIECE_LANES;
}

/* --- a lane's place --- */

void qmv_write_mma_constants(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_format *f = w->g->format;
	const unsigned scales = QMV_TILE_ROWS * (f->bytes[QMV_CODES] + f->bytes[QMV_HIGH]);
	const kit_op row = u_shr(b, w->kit.lane, I(2));
	w->piece = u_and(b, w->kit.lane, I(PIECE_LANES - 1));
	w->within = I(0);
	w->column = row;
	w->part[QMV_CODES] = u_shl(b, w->kit.lane, I(4));
	if (f->high_bits)
		w->part[QMV_HIGH] = u_add(b, w->part[QMV_CODES], I(QMV_TILE_ROWS * f->bytes[QMV_CODES]));
	w->part[QMV_SCALES] = u_mad(b, row, I(f->bytes[QMV_SCALES]), I(scales));
	if (f->scales != QMV_SCALES_K)
		w->part[QMV_SCALES] = u_mad(b, w->piece, I(f->bytes[QMV_SCALES] / PIECE_LANES), w->part[QMV_SCALES]);
	if (f->bytes[QMV_D])
		w->part[QMV_D] = u_mad(b, row, I(f->bytes[QMV_D]), I(scales + QMV_TILE_ROWS * f->bytes[QMV_SCALES]));
	if (f->scales == QMV_SCALES_K) {
		/* 24 bits of twelve bytes, from byte 3 t on: of the first two words or of the last two. */
		const kit_op at = u_mul(b, w->piece, I(3));
		w->is_late = u_ge(b, w->piece, I(2));
		const kit_op in_pair = u_select(b, u_sub(b, at, I(4)), at, w->is_late);
		w->select_field = u_mad(b, in_pair, I(0x111), I(0x210));
	}
}

/* --- from memory --- */

static void load(struct qmv_writer *w, enum tcb_kit_memory memory, const char *type, unsigned count, kit_op at,
		 int64_t offset, int is_again, kit_op *to)
{
	for (unsigned i = 0; !is_again && i < count; i++)
		to[i] = tcb_ptx_reg(&w->kit.b, type);
	tcb_kit_load_into(&w->kit.b, memory, type, tcb_ptx_at(at, offset), to, count);
}

void qmv_write_mma_load(struct qmv_writer *w, enum tcb_kit_memory memory, const struct qmv_where *where,
			const int64_t offset[QMV_PARTS], int is_again, struct qmv_lane_w *out)
{
	const struct qmv_gpu *g = w->g;
	const struct qmv_format *f = g->format;
	const unsigned pieces = 2 * pieces_of(g), high = g->high_words * pieces;
	for (unsigned i = 0; i < pieces; i++)
		load(w, memory, "b32", 4, where->at[QMV_CODES], offset[QMV_CODES] + i * 32 * QMV_PIECE, is_again,
		     out->code + PIECE_WORDS * i);
	for (unsigned i = 0; i < high; i += 4)
		load(w, memory, "b32", 4, where->at[QMV_HIGH], offset[QMV_HIGH] + i / 4 * 32 * QMV_PIECE, is_again,
		     out->high + i);
	for (unsigned r = 0; r < 2; r++) {
		const unsigned words = f->scales == QMV_SCALES_K ? 4 : 1;
		/* Two bytes of a lane's sub-blocks, or words. */
		load(w, memory, f->bytes[QMV_SCALES] == 8 ? "b16" : "b32", words, where->at[QMV_SCALES],
		     offset[QMV_SCALES] + r * 8 * f->bytes[QMV_SCALES], is_again, out->scale + 4 * r);
		if (f->bytes[QMV_D])
			load(w, memory, "b16", 1, where->at[QMV_D], offset[QMV_D] + r * 8 * f->bytes[QMV_D], is_again,
			     out->d + r);
	}
}

/* --- activations --- */

/* Registers of activations, zero where a lane is not of the column; loads leave them so. */
void qmv_write_mma_open(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const kit_op of_piece = g->halves == 2 ? w->piece : u_shr(b, w->piece, I(1));
	const kit_op beyond = u_sub(b, w->column, of_piece);
	for (unsigned h = 0; h < pieces_of(g); h++) {
		w->is_column[h] = u_eq(b, beyond, I(h * PIECE_LANES / (g->halves == 2 ? 1 : 2)));
		for (unsigned i = 0; i < SETS * 4; i++)
			w->b_words[h][i] = b_set(b, I(0));
	}
}

/* The activations of part PART for units of 16 bytes; SET is used in turn. */
static const kit_op *read_unit(struct qmv_writer *w, const struct qmv_x_bases *bases, unsigned step, unsigned h,
			       unsigned unit, unsigned part, unsigned set)
{
	const struct qmv_gpu *g = w->g;
	kit_op *to = w->b_words[h] + 4 * (set % SETS);
	const int64_t at = (int64_t)step * g->image.code_stride + part * QMV_VALUES * 2 +
			   h * PIECE_LANES * qmv_gpu_piece_bytes(g) + unit * 16;
	tcb_kit_load_where(&w->kit.b, w->is_column[h], TCB_KIT_SHARED, "b32", tcb_ptx_at(bases->codes, at), to, 4);
	return to;
}

/* --- products --- */

struct sums {
	kit_op low[QMV_PARTS_MAX][4], high[QMV_PARTS_MAX][4]; /* rows g and g + 8: sub-blocks 2 t and 2 t + 1 */
};

/* Two rows' halves of four codes, the low or the high ones. */
static void halves_of(struct qmv_writer *w, const struct qmv_lane_w row[2], unsigned word, int is_high, kit_op out[4])
{
	for (int odd = 0; odd < 2; odd++)
		for (int r = 0; r < 2; r++)
			out[2 * odd + r] = qmv_write_halves(w, &row[r], word, is_high, odd);
}

static void multiply(struct qmv_writer *w, const kit_op a[4], const kit_op x[2], kit_op c[4])
{
	tcb_kit_multiply(&w->kit.b, "f16", 16, c, c, a, x);
}

/* What a lane has of rows r = 0 and 1 in its piece H, as one lane of the other kernels has it. */
static void piece_of(const struct qmv_gpu *g, const struct qmv_lane_w *all, unsigned r, unsigned h,
		     struct qmv_lane_w *out)
{
	const unsigned piece = r * pieces_of(g) + h;
	for (unsigned i = 0; i < PIECE_WORDS; i++)
		out->code[i] = all->code[PIECE_WORDS * piece + i];
	for (unsigned i = 0; i < g->high_words; i++)
		out->high[i] = all->high[g->high_words * piece + i];
}

static void add_products(struct qmv_writer *w, const struct qmv_lane_w *weights, const struct qmv_x_bases *bases,
			 unsigned step, struct sums *sums)
{
	const struct qmv_gpu *g = w->g;
	unsigned set = 0;
	for (unsigned h = 0; h < pieces_of(g); h++) {
		struct qmv_lane_w row[2];
		piece_of(g, weights, 0, h, &row[0]);
		piece_of(g, weights, 1, h, &row[1]);
		/* A unit of activations: a word's low and high codes, or two words. */
		for (unsigned unit = 0; unit < PIECE_WORDS * g->halves / 2; unit++) {
			kit_op first[4], second[4];
			halves_of(w, row, g->halves == 2 ? unit : 2 * unit, 0, first);
			halves_of(w, row, g->halves == 2 ? unit : 2 * unit + 1, g->halves == 2, second);
			for (unsigned part = 0; part < g->parts; part++) {
				const kit_op *x = read_unit(w, bases, step, h, unit, part, set++);
				multiply(w, first, x, sums->low[part]);
				multiply(w, second, x + 2, g->halves == 2 ? sums->high[part] : sums->low[part]);
			}
		}
	}
}

/* --- scales --- */

static kit_op float_of(struct qmv_writer *w, kit_op integer)
{
	return f_from_s(&w->kit.b, integer);
}

/* D times what a sum of products of codes with the image's activations falls short. */
static kit_op scaled(struct qmv_writer *w, kit_op d, kit_op inverse)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (!w->g->has_scale)
		return f_mul(b, d, F(0x1p24f));
	return f_mul(b, f_mul(b, d, F(0x1p14f)), inverse);
}

/* Row R of TCB_SCALES_K. */
static void add_k(struct qmv_writer *w, const kit_op *word, const kit_op dot[2], kit_op inverse, const kit_op *x_sum,
		  kit_op sum, kit_op mins)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op d[2], field, product;
	tcb_kit_floats(b, word[0], d);
	field = u_permute(b, b_select(b, word[2], word[1], w->is_late), b_select(b, word[3], word[2], w->is_late),
			  w->select_field);
	for (unsigned s = 0; s < 2; s++) {
		const kit_op shifted = s ? u_shr(b, field, I(12)) : field;
		const kit_op scale = float_of(w, u_and(b, shifted, I(63)));
		const kit_op min = float_of(w, u_and(b, u_shr(b, shifted, I(6)), I(63)));
		product = s ? f_fma(b, dot[s], scale, product) : f_mul(b, dot[s], scale);
		f_fma_to(b, mins, f_mul(b, min, d[1]), x_sum[s], mins);
	}
	f_fma_to(b, sum, product, scaled(w, d[0], inverse), sum);
}

/* The scales of a lane's two sub-blocks as floats, of what was loaded of them and of d. */
static void whole_scales(struct qmv_writer *w, kit_op word, kit_op half, kit_op d[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->format->scales == QMV_SCALES_HALVES) {
		tcb_kit_floats(b, word, d);
		return;
	}
	const int is_six = w->g->format->scales == QMV_SCALES_SIXES;
	const kit_op both = u_from_u16(b, word);
	for (int s = 0; s < 2; s++) /* byte S, with its sign, or with zeros above */
		d[s] = qmv_write_whole_scale(
			w, u_permute(b, both, I(0), I(is_six ? (s ? 0x9991 : 0x8880) : (s ? 0x4441 : 0x4440))), half);
}

/* Formats without mins, runs of 32. */
static void add_halves(struct qmv_writer *w, const kit_op *word, kit_op half, const kit_op dot[2], kit_op inverse,
		       const kit_op *x_sum, kit_op sum, kit_op mins)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op centre = F((float)w->g->format->centre);
	kit_op d[2];
	whole_scales(w, word[0], half, d);
	for (unsigned s = 0; s < 2; s++) {
		f_fma_to(b, sum, dot[s], scaled(w, d[s], inverse), sum);
		if (w->g->format->centre)
			f_fma_to(b, mins, f_mul(b, d[s], centre), x_sum[s], mins);
	}
}

/* Q6_K: runs of 16, so that DOT has four. */
static void add_bytes(struct qmv_writer *w, const kit_op *word, kit_op half, const kit_op dot[4], kit_op inverse,
		      const kit_op *x_sum, kit_op sum, kit_op mins)
{
	static const int selectors[] = { 0x8880, 0x9991, 0xaaa2, 0xbbb3 };
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op d = f_from_f16(b, half), centre = F((float)w->g->format->centre);
	kit_op product, taken;
	for (unsigned s = 0; s < 4; s++) {
		const kit_op scale = float_of(w, u_permute(b, word[0], I(0), I(selectors[s])));
		product = s ? f_fma(b, dot[s], scale, product) : f_mul(b, dot[s], scale);
		taken = s ? f_fma(b, x_sum[s], scale, taken) : f_mul(b, x_sum[s], scale);
	}
	f_fma_to(b, sum, product, scaled(w, d, inverse), sum);
	f_fma_to(b, mins, taken, f_mul(b, d, centre), mins);
}

void qmv_write_mma_unit(struct qmv_writer *w, const struct qmv_lane_w *weights, const struct qmv_x_bases *bases,
			unsigned step, kit_op sum[2], kit_op mins[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const int is_bytes = g->format->scales == QMV_SCALES_BYTES;
	const int64_t sums_at = g->image.sum + (int64_t)step * g->image.sum_stride;
	struct sums dots;
	kit_op inverse = I(0), x_sum[4];
	for (unsigned i = 0; i < 4 * g->parts; i++) {
		dots.low[i / 4][i % 4] = f_set(b, F(0));
		if (g->halves == 2)
			dots.high[i / 4][i % 4] = f_set(b, F(0));
	}
	add_products(w, weights, bases, step, &dots);
	for (unsigned i = 0; g->parts > 1 && i < 4; i++) {
		dots.low[0][i] = f_fma(b, dots.low[1][i], F(1 / QMV_REST), dots.low[0][i]);
		if (g->halves == 2)
			dots.high[0][i] = f_fma(b, dots.high[1][i], F(1 / QMV_REST), dots.high[0][i]);
	}
	if (g->has_scale)
		inverse = tcb_kit_get(b, TCB_KIT_SHARED, "f32",
				      tcb_ptx_at(bases->scale, g->image.scale + (int64_t)step * g->image.scale_stride));
	if (g->runs)
		tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(bases->sum, sums_at), x_sum, is_bytes ? 4 : 2);
	for (unsigned r = 0; r < 2; r++) {
		const kit_op *low = dots.low[0] + 2 * r, *high = g->halves == 2 ? dots.high[0] + 2 * r : low;
		const kit_op four[] = { low[0], high[0], low[1], high[1] };
		const kit_op *word = weights->scale + 4 * r;
		kit_op two[2] = { low[0], low[1] };
		for (unsigned s = 0; g->halves == 2 && s < 2; s++)
			two[s] = f_fma(b, high[s], F(qmv_has_large_high(g->format) ? 0x1p-4f : 1), low[s]);
		if (is_bytes)
			add_bytes(w, word, weights->d[r], four, inverse, x_sum, sum[r], mins[r]);
		else if (g->format->scales == QMV_SCALES_K)
			add_k(w, word, two, inverse, x_sum, sum[r], mins[r]);
		else
			add_halves(w, word, weights->d[r], two, inverse, x_sum, sum[r], mins[r]);
	}
}

kit_op qmv_write_mma_sum(struct qmv_writer *w, kit_op value[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op is_odd = u_ne(b, u_and(b, w->kit.lane, I(1)), I(0));
	/* An odd lane keeps row g + 8 and gives row g to its neighbour. */
	const kit_op keep = f_select(b, value[1], value[0], is_odd);
	const kit_op give = f_select(b, value[0], value[1], is_odd);
	const kit_op sum = f_add(b, keep, tcb_kit_butterfly(b, give, 1));
	return f_add(b, sum, tcb_kit_butterfly(b, sum, 2));
}
