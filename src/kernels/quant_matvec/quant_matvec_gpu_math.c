/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the quantised matvec's GPU kernels: a lane's weights of one
 * row and step and its activations come in, two sums go on.
 *
 * Contract q8: dp4a; where they fit, sums start at the bits of 1.5 * 2^23, so
 * that the result is a float without a conversion.  Else: a code that lands in
 * the low bits of a half is the half 2^-24 q (2^-20 q for a high nibble), which
 * converts exactly.
 */
#include "kernels/quant_matvec/quant_matvec_gpu_math.h"
#include "kernels/quant_matvec/quant_matvec_gpu_lane.h"

enum { BIAS_BITS = 0x4b400000 /* of BIAS */ };
#define BIAS 12582912.0f /* 1.5 * 2^23: integers below 2^22 in magnitude fit beside it */

/* --- scales --- */

static kit_op float_of_half(struct qmv_writer *w, kit_op half)
{
	return f_from_f16(&w->kit.b, half);
}

static void decode_k(struct qmv_writer *w, const kit_op word[4], struct qmv_unit_scales *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op half[2], all, pair, low;
	tcb_kit_halves(b, word[0], half);
	out->d = float_of_half(w, half[0]);
	out->dmin = float_of_half(w, half[1]);
	if (w->g->layout == TCB_LAYOUT_S) {
		all = u_permute(b, b_select(b, word[2], word[1], w->is_late), b_select(b, word[3], word[2], w->is_late),
				w->select_field);
		out->scale[0] = u_and(b, u_shr(b, all, w->shift), I(63));
		out->min = u_and(b, u_shr(b, all, w->shift_min), w->mask_m);
		return;
	}
	pair = u_permute(b, word[1], word[2], w->select_pair);
	low = u_permute(b, word[3], I(0), w->select_low);
	all = u_and(b, pair, w->mask_early);
	all = u_and_or(b, u_shr(b, pair, I(2)), w->mask_top, all);
	all = u_and_or(b, low, w->mask_c, all);
	all = u_and_or(b, u_shr(b, low, I(4)), w->mask_d, all);
	out->scale[0] = u_permute(b, all, I(0), I(0x4440));
	out->scale[1] = u_permute(b, all, I(0), I(0x4441));
	out->min = u_permute(b, all, I(0), w->select_min);
}

/* 2^(e - 128): (e - 1) << 23, but for e = 0 and 1 what is below the smallest normal float. */
static kit_op float_of_power(struct qmv_writer *w, kit_op e)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op normal = s_sub(b, u_shl(b, e, I(23)), I(1 << 23));
	const kit_op small = u_shl(b, I(1 << 21), u_min(b, e, I(1)));
	const kit_op is_small = u_lt(b, e, I(2));
	return b_set(b, b_select(b, small, normal, is_small));
}

kit_op qmv_write_whole_scale(struct qmv_writer *w, kit_op scale, kit_op d)
{
	switch (w->g->format->scales) {
	case QMV_SCALES_POWERS:
		return float_of_power(w, scale);
	case QMV_SCALES_SIXES:
		return f_mul(&w->kit.b, f_from_s(&w->kit.b, scale), float_of_half(w, d));
	default:
		return float_of_half(w, scale);
	}
}

static void decode_scales(struct qmv_writer *w, const struct qmv_lane_w *weights, struct qmv_unit_scales *out)
{
	switch (w->g->format->scales) {
	case QMV_SCALES_K:
		decode_k(w, weights->scale, out);
		break;
	case QMV_SCALES_HALVES:
		out->d = float_of_half(w, weights->scale[0]);
		break;
	case QMV_SCALES_POWERS:
	case QMV_SCALES_SIXES:
		out->d = qmv_write_whole_scale(w, weights->scale[0], weights->d[0]);
		break;
	case QMV_SCALES_BYTES:
		out->d = float_of_half(w, weights->d[0]);
		out->scale[0] = weights->scale[0];
		out->scale[1] = weights->scale[1];
		break;
	case QMV_SCALES_PIECES:
		*out = (struct qmv_unit_scales){ .d = weights->piece.d,
						 .dmin = weights->piece.dmin,
						 .min = weights->piece.min };
		for (unsigned i = 0; i < 2; i++) {
			out->scale[i] = weights->piece.scale[i];
			out->mins[i] = weights->piece.mins[i];
		}
		break;
	case QMV_SCALES_FLOATS: /* of 2^-8 of the values */
		out->d = f_mul(&w->kit.b, weights->scale[0], F(256));
		break;
	case QMV_SCALES_NONE:
		break;
	}
}

/* --- products --- */

/* A * B + C, a float's bits that count from BIAS_BITS in C, as a float. */
static kit_op float_product(struct qmv_writer *w, kit_op a, kit_op b, kit_op c)
{
	const kit_op bits = s_mad(&w->kit.b, a, b, c);
	return f_sub(&w->kit.b, b_set(&w->kit.b, bits), F(BIAS));
}

static kit_op code_of(struct qmv_writer *w, struct qmv_unit *unit, unsigned i, int is_high)
{
	kit_op *code = &unit->code[is_high][i];
	if (!code->kind)
		*code = qmv_write_codes(w, &unit->weights, i, is_high);
	return *code;
}

/* START + sums of code times activation code, of the low or of the high codes. */
static kit_op dot(struct qmv_writer *w, struct qmv_unit *unit, const kit_op *x, int is_high, kit_op start)
{
	const struct qmv_format *f = w->g->format;
	const int is_signed = f->is_pieces ? tcb_piece_is_signed(f->id) : w->g->halves == 1 || f->table;
	kit_word3 *word = is_signed ? s_dot : s_dot_unsigned;
	for (unsigned i = 0; i < w->g->vec / 4; i++)
		start = word(&w->kit.b, code_of(w, unit, i, is_high), x[i], start);
	return start;
}

/* The same of high codes, which may be 16 times as large. */
static kit_op dot_high(struct qmv_writer *w, struct qmv_unit *unit, const kit_op *x, kit_op start)
{
	const kit_op sum = dot(w, unit, x, 1, start);
	return !qmv_has_large_high(w->g->format) ? sum : s_shr(&w->kit.b, sum, I(4));
}

static kit_op float_of(struct qmv_writer *w, kit_op integer)
{
	return f_from_s(&w->kit.b, integer);
}

/*
 * Adds the products of codes under contract q8 to SUM.  They are integers up to the scale of the sub-block, and up to
 * the superblock's end where activations of both share a scale.  K-quants with mins: at most 63 * 31 * 127 * 32 < 2^23,
 * beside BIAS half of it: what is there twice as large comes by conversion.
 */
static void add_k_products(struct qmv_writer *w, struct qmv_unit *unit, const struct qmv_lane_x *x, kit_op sum)
{
	const struct qmv_unit_scales *scales = &unit->scales;
	struct tcb_ptx_build *b = &w->kit.b;
	const int is_one = w->g->layout == TCB_LAYOUT_S, is_shared = is_one || !w->g->scales_apart;
	const int fits = !w->g->format->high_bits;
	const kit_op high = dot_high(w, unit, x->high, I(0));
	const kit_op low = dot(w, unit, x->low, 0, is_one ? high : I(0));
	const kit_op d = f_mul(b, scales->d, x->scale[0]);
	kit_op start = I(fits ? BIAS_BITS : 0), product;
	if (is_shared && !is_one)
		start = s_mad(b, high, scales->scale[1], start);
	product = fits ? float_product(w, low, scales->scale[0], start)
		       : float_of(w, s_mad(b, low, scales->scale[0], start));
	f_fma_to(b, sum, product, d, sum);
	if (is_shared)
		return;
	product = fits ? float_product(w, high, scales->scale[1], I(BIAS_BITS))
		       : float_of(w, s_mul(b, high, scales->scale[1]));
	f_fma_to(b, sum, product, f_mul(b, scales->d, x->scale[1]), sum);
}

/* A scale that is a float: 127 * 127 * 32 < 2^20.  x->sum: what the centre takes off. */
static void add_half_products(struct qmv_writer *w, struct qmv_unit *unit, const struct qmv_lane_x *x, kit_op sum)
{
	const struct qmv_unit_scales *scales = &unit->scales;
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op all = w->g->format->centre ? x->sum[0] : I(0);
	if (w->g->halves == 2)
		all = u_add(b, dot_high(w, unit, x->high, I(0)), all);
	all = dot(w, unit, x->low, 0, all);
	f_fma_to(b, sum, float_of(w, all), f_mul(b, scales->d, x->scale[0]), sum);
}

/* Signed scales of 16 codes each; with the centre taken off at most 128 * 32 * 127 * 32 < 2^24: floats hold it. */
static void add_byte_products(struct qmv_writer *w, struct qmv_unit *unit, const struct qmv_lane_x *x, kit_op sum)
{
	const struct qmv_unit_scales *scales = &unit->scales;
	struct tcb_ptx_build *b = &w->kit.b;
	const int has_sums = w->g->format->centre != 0;
	const kit_op low = dot(w, unit, x->low, 0, has_sums ? x->sum[0] : I(0));
	const kit_op high = dot_high(w, unit, x->high, has_sums ? x->sum[1] : I(0));
	const kit_op d = f_mul(b, scales->d, x->scale[0]);
	kit_op all = s_mul(b, low, scales->scale[0]);
	if (!w->g->scales_apart)
		all = s_mad(b, high, scales->scale[1], all);
	f_fma_to(b, sum, float_of(w, all), d, sum);
	if (w->g->scales_apart)
		f_fma_to(b, sum, float_of(w, s_mul(b, high, scales->scale[1])), f_mul(b, scales->d, x->scale[1]), sum);
}

/* A scale for each half of a piece that is a float. */
static void add_float_scaled(struct qmv_writer *w, struct qmv_unit *unit, const struct qmv_lane_x *x, kit_op sum)
{
	const struct qmv_unit_scales *scales = &unit->scales;
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op all = f_mul(b, float_of(w, dot(w, unit, x->low, 0, I(0))), scales->scale[0]);
	all = f_fma(b, float_of(w, dot(w, unit, x->high, 1, I(0))), scales->scale[1], all);
	f_fma_to(b, sum, all, x->scale[0], sum);
}

/* Pieces of expanded formats: one scale, or those of the halves. */
static void add_piece_products(struct qmv_writer *w, struct qmv_unit *unit, const struct qmv_lane_x *x, kit_op sum)
{
	if (!w->g->is_split)
		add_half_products(w, unit, x, sum);
	else if (tcb_piece_has_integers(w->g->format->id))
		add_byte_products(w, unit, x, sum);
	else
		add_float_scaled(w, unit, x, sum);
}

/* The products of low or of high codes with floats, even and odd bytes apart. */
static kit_op float_dot(struct qmv_writer *w, struct qmv_unit *unit, const kit_op *x, int is_high)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sum[2];
	for (unsigned i = 0; i < w->g->vec / 4; i++)
		for (unsigned odd = 0; odd < 2; odd++) {
			kit_op half[2], *value = unit->value[is_high][i][odd];
			const int is_new = !value[0].kind;
			if (is_new)
				tcb_kit_halves(b, qmv_write_halves(w, &unit->weights, i, is_high, (int)odd), half);
			for (unsigned j = 0; j < 2; j++) {
				const kit_op by = x[4 * i + 2 * j + odd];
				if (is_new)
					value[j] = float_of_half(w, half[j]);
				sum[odd] = i + j == 0 ? f_mul(b, value[j], by) : f_fma(b, value[j], by, sum[odd]);
			}
		}
	return f_add(b, sum[0], sum[1]);
}

/* The products of bytes of E4M3, 2^-8 of them; of the values each two that follow each other are a pair. */
static kit_op e4m3_dot(struct qmv_writer *w, struct qmv_unit *unit, const kit_op *x)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sum[2];
	for (unsigned i = 0; i < w->g->vec / 4; i++) {
		kit_op pair[2], (*value)[2] = unit->value[0][i];
		const int is_new = !value[0][0].kind;
		if (is_new)
			tcb_kit_e4m3(b, unit->weights.code[i], pair);
		for (unsigned p = 0; p < 2; p++) {
			if (is_new)
				tcb_kit_floats(b, pair[p], value[p]);
			for (unsigned j = 0; j < 2; j++) {
				const kit_op by = x[4 * i + 2 * p + j];
				sum[j] = i + p == 0 ? f_mul(b, value[p][j], by) : f_fma(b, value[p][j], by, sum[j]);
			}
		}
	}
	return f_add(b, sum[0], sum[1]);
}

/* A half's SCALE as a float. */
static kit_op scale_of(struct qmv_writer *w, kit_op scale)
{
	const struct qmv_format *f = w->g->format;
	return f->is_pieces && !tcb_piece_has_integers(f->id) ? scale : float_of(w, scale);
}

/* Up to d, which is the superblock's or the sub-block's. */
static kit_op float_products(struct qmv_writer *w, struct qmv_unit *unit, const struct qmv_lane_x *x)
{
	const struct qmv_unit_scales *scales = &unit->scales;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	const int is_one = g->layout == TCB_LAYOUT_S && g->format->scales == QMV_SCALES_K;
	const kit_op small = F(qmv_has_large_high(g->format) ? 0x1p-4f : 1);
	if (g->format->scales == QMV_SCALES_FLOATS)
		return e4m3_dot(w, unit, x->low);
	kit_op low = float_dot(w, unit, x->low, 0), high;
	if (g->halves == 1)
		return low;
	high = float_dot(w, unit, x->high, 1);
	if (is_one || qmv_has_whole_scales(g->format)) {
		low = f_fma(b, high, small, low);
		return is_one ? f_mul(b, low, float_of(w, scales->scale[0])) : low;
	}
	if (qmv_has_large_high(g->format))
		high = f_mul(b, high, small);
	low = f_mul(b, low, scale_of(w, scales->scale[0]));
	return f_fma(b, high, scale_of(w, scales->scale[1]), low);
}

static void add_piece_mins(struct qmv_writer *w, const struct qmv_lane_x *x, const struct qmv_unit_scales *scales,
			   kit_op mins)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (!w->g->is_split) {
		f_fma_to(b, mins, scales->min, x->sum[0], mins);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		f_fma_to(b, mins, f_mul(b, scales->dmin, float_of(w, scales->mins[i])), x->sum[i], mins);
}

/* What mins take off, or the centre of codes that are added as floats; products with d or dmin are exact, and cannot
 * overflow where the value that they belong to does not. */
static void add_mins(struct qmv_writer *w, const struct qmv_lane_x *x, const struct qmv_unit_scales *scales,
		     kit_op mins)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_format *f = w->g->format;
	const kit_op centre = F((float)f->centre);
	if (f->is_pieces && f->has_mins) {
		add_piece_mins(w, x, scales, mins);
	} else if (f->has_mins) {
		const kit_op min = f_mul(b, float_of(w, scales->min), scales->dmin);
		f_fma_to(b, mins, min, x->sum[0], mins);
	} else if (!w->g->is_q8 && f->centre) {
		kit_op sum = x->sum[0], d = f_mul(b, scales->d, centre);
		if (w->g->is_split) {
			sum = f_mul(b, sum, float_of(w, scales->scale[0]));
			sum = f_fma(b, x->sum[1], float_of(w, scales->scale[1]), sum);
		}
		f_fma_to(b, mins, sum, d, mins);
	}
}

/* Rows of values: no scales. */
static void add_values(struct qmv_writer *w, struct qmv_unit *unit, const struct qmv_lane_x *x, kit_op sum)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op *value = unit->row_value, chain[2];
	if (!value[0].kind)
		qmv_write_values(w, &unit->weights, value);
	for (unsigned i = 0; i < QMV_FLOAT_VALUES; i++)
		chain[i % 2] = i < 2 ? f_mul(b, value[i], x->low[i]) : f_fma(b, value[i], x->low[i], chain[i % 2]);
	f_add_to(b, sum, sum, f_add(b, chain[0], chain[1]));
}

void qmv_write_unit_open(struct qmv_writer *w, const struct qmv_lane_w *loaded, struct qmv_unit *out)
{
	*out = (struct qmv_unit){ .weights = *loaded };
	if (qmv_is_float(w->g->format))
		return;
	qmv_write_lane_align(w, loaded, &out->weights);
	decode_scales(w, &out->weights, &out->scales);
}

void qmv_write_unit(struct qmv_writer *w, struct qmv_unit *unit, const struct qmv_lane_x *x, kit_op sum, kit_op mins)
{
	static void (*const add_products[])(struct qmv_writer *, struct qmv_unit *, const struct qmv_lane_x *,
					    kit_op) = {
		[QMV_SCALES_K] = add_k_products,        [QMV_SCALES_HALVES] = add_half_products,
		[QMV_SCALES_BYTES] = add_byte_products, [QMV_SCALES_POWERS] = add_half_products,
		[QMV_SCALES_SIXES] = add_half_products, [QMV_SCALES_PIECES] = add_piece_products,
	};
	struct tcb_ptx_build *b = &w->kit.b;
	if (qmv_is_float(w->g->format)) {
		add_values(w, unit, x, sum);
		return;
	}
	if (w->g->is_q8)
		add_products[w->g->format->scales](w, unit, x, sum);
	else
		f_fma_to(b, sum, float_products(w, unit, x), f_mul(b, unit->scales.d, x->scale[0]), sum);
	add_mins(w, x, &unit->scales, mins);
}

/* --- over the warp --- */

/*
 * While there are several values, a lane keeps half of them and gives the others to the lane that keeps those, so that
 * COUNT values take log2(32) rounds and about 2 COUNT + 5 shuffles and additions rather than 5 COUNT.
 */
kit_op qmv_write_warp_sum(struct qmv_writer *w, kit_op *values, unsigned count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned distance = 16; distance; distance /= 2) {
		if (count == 1) {
			const kit_op other = tcb_kit_butterfly(b, values[0], distance);
			values[0] = f_add(b, values[0], other);
			continue;
		}
		const kit_op upper = u_ne(b, u_and(b, w->kit.lane, I(distance)), I(0));
		count /= 2;
		for (unsigned i = 0; i < count; i++) {
			const kit_op keep = f_select(b, values[i + count], values[i], upper);
			const kit_op give = f_select(b, values[i], values[i + count], upper);
			const kit_op other = tcb_kit_butterfly(b, give, distance);
			values[i] = f_add(b, keep, other);
		}
	}
	return values[0];
}
