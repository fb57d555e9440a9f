/* SPDX-License-Identifier: MIT
 *
 * Between the two products of attention_prefill: a lane's scores of a tile come in,
 * weights go out, maxima and sums follow; at the end sums of weighted values are
 * divided and stored.
 */
#include <float.h>
#include <math.h>

#include "kernels/attention/attention_prefill_gpu.h"

enum {
	QUAD = 4, /* lanes that share a row */
	EXPS = 8, /* of which the knob exp says how many are polynomials */
	EXPONENT = 23
};
#define LOG2_E 1.4426950408889634

void prefill_rows_clear(struct prefill_writer *w, struct prefill_rows *rows)
{
	for (unsigned r = 0; r < 2; r++) {
		rows->max[r] = tcb_kit_constant(&w->kit.b, "f32", F(-FLT_MAX));
		rows->sum[r] = tcb_kit_constant(&w->kit.b, "f32", F(0));
	}
}

/* cap * tanh(score / (cap sqrt(k))) in units of log2(e): 1 - 2 / (1 + e^2x), which ends in 1 and -1.  SCALE: what makes
 * 2x of the score; NULL: the same for all rows. */
static kit_op capped(struct prefill_writer *w, kit_op score, const kit_op *scale)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const double cap = w->g->cap, inner = 2 * LOG2_E / (cap * sqrt((double)w->g->k));
	const kit_op power =
		OP1(b, "ex2.approx.ftz.f32", OP2(b, "mul.rn.f32", score, scale ? *scale : F((float)inner)));
	const kit_op part = OP1(b, "rcp.approx.ftz.f32", OP2(b, "add.rn.f32", power, F(1)));
	return OP3(b, "fma.rn.f32", part, F((float)(-2 * cap * LOG2_E)), F((float)(cap * LOG2_E)));
}

/* Row of score I, 0 or 1; its KV token within the tile, but for 2c. */
static unsigned row_of(unsigned i)
{
	return i / 2 % 2;
}
static unsigned token_of(unsigned i)
{
	return i / 4 * 8 + i % 2;
}

/* -inf for what a row does not see. */
static void mask(struct prefill_writer *w, const struct prefill_rows *rows, kit_op *scores, unsigned count,
		 kit_op first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op own = OP3(b, "mad.lo.u32", OP2(b, "and.b32", w->kit.lane, I(QUAD - 1)), I(2), first);
	for (unsigned r = 0; r < 2; r++) {
		const kit_op left = OP2(b, "sub.s32", rows->to[r], own);
		const kit_op before = w->g->window ? OP2(b, "sub.s32", rows->from[r], own) : I(0);
		for (unsigned i = 0; i < count; i++) {
			if (row_of(i) != r)
				continue;
			kit_op seen = OP2(b, "setp.gt.s32", left, I(token_of(i)));
			if (w->g->window)
				seen = OP3(b, "setp.le.and.s32", before, I(token_of(i)), seen);
			scores[i] = OP3(b, "selp.f32", scores[i], F(-INFINITY), seen);
		}
	}
}

/* VALUES of row R, side by side. */
static unsigned of_row(const kit_op *values, unsigned count, unsigned r, kit_op *out)
{
	unsigned found = 0;
	for (unsigned i = 0; i < count; i++)
		if (row_of(i) == r)
			out[found++] = values[i];
	return found;
}

/*
 * What scores of row R are multiplied by before their maximum is taken off, in one instruction.  The fused sum is off
 * by what the product loses for the maximum alone, for scores from 2^24 on whole numbers, which exp makes 0 or infinity
 * of. There it is a power of two near by, with which both products are exact: what lies below the maximum weighs
 * nothing either way.
 */
static kit_op scale_of(struct prefill_writer *w, const struct prefill_rows *rows, unsigned r)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const double scale = LOG2_E / sqrt((double)w->g->k);
	const kit_op is_huge = OP2(b, "setp.gt.f32", OP1(b, "abs.f32", rows->max[r]), F((float)(0x1p24 / scale)));
	return OP3(b, "selp.f32", F((float)exp2(floor(log2(scale)))), F((float)scale), is_huge);
}

/*
 * 2^x without the unit of transcendental functions, whose rate is an eighth of fused products' on sm_90
 * (FlashAttention-4's way; Cody, Waite 1980).  Adding WHOLE rounds x down to a whole number, in the sum's lowest
 * bits; what is left is from 0 to 1, where a polynomial, 1 at 0, is off by PREFILL_EXP_OFF of its value (minimax, by
 * Remez' algorithm).  The lowest bits are 127 more than the whole number: shifted they are its power of two.  From -126
 * down that is 0, like ex2.approx.ftz, and so is the result; a NaN stays one.  Scores that ask for more than 2^1 are
 * none: they are against their maximum.
 */
kit_op prefill_write_exp(struct tcb_ptx_build *b, kit_op x)
{
	static const float c[] = { 0.07706704f, 0.22764499f, 0.69511679f, 1 };
	const kit_op whole = F(0x1.8p23f + 127);
	const kit_op above = OP2(b, "max.NaN.f32", x, F(-127));
	const kit_op down = OP2(b, "add.rm.f32", above, whole);
	const kit_op rest = OP2(b, "sub.rn.f32", above, OP2(b, "sub.rn.f32", down, whole));
	kit_op y = F(c[0]);
	for (unsigned i = 1; i < sizeof(c) / sizeof(*c); i++)
		y = OP3(b, "fma.rn.f32", rest, y, F(c[i]));
	return OP2(b, "mul.rn.f32", y, OP2(b, "shl.b32", down, I(EXPONENT)));
}

/* 2^x of the row's score number INDEX; those by polynomials are spread evenly. */
static kit_op weight_of(struct prefill_writer *w, unsigned index, kit_op x)
{
	const unsigned at = index % EXPS, count = w->g->polynomials;
	const int is_polynomial = (at + 1) * count / EXPS > at * count / EXPS;
	return is_polynomial ? prefill_write_exp(&w->kit.b, x) : OP1(&w->kit.b, "ex2.approx.ftz.f32", x);
}

void prefill_write_weights(struct prefill_writer *w, struct prefill_rows *rows, kit_op *scores, unsigned count,
			   kit_op first, int is_masked, kit_op factor[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int has_cap = w->g->cap > 0, is_scaled = has_cap || w->g->is_f32;
	const kit_op scale = F((float)(LOG2_E / sqrt((double)w->g->k)));
	kit_op own[PREFILL_KV_MAX], of_row_scale[2];
	for (unsigned i = 0; is_scaled && i < count; i++) {
		const kit_op *of_row = w->g->is_f32 ? &rows->scale[row_of(i)] : NULL;
		scores[i] = has_cap ? capped(w, scores[i], of_row) : OP2(b, "mul.rn.f32", scores[i], *of_row);
	}
	if (is_masked)
		mask(w, rows, scores, count, first);
	for (unsigned r = 0; r < 2; r++) {
		const kit_op top = tcb_kit_fold(b, "max.f32", own, of_row(scores, count, r, own));
		const kit_op next = OP2(b, "max.f32", tcb_kit_over_lanes(b, "max.f32", top, QUAD), rows->max[r]);
		kit_op more = OP2(b, "sub.rn.f32", rows->max[r], next);
		if (!is_scaled)
			more = OP2(b, "mul.rn.f32", more, scale);
		factor[r] = OP1(b, "ex2.approx.ftz.f32", more);
		tcb_ptx_into1(b, "mov.f32", rows->max[r], next);
		if (!is_scaled)
			of_row_scale[r] = scale_of(w, rows, r);
	}
	for (unsigned r = 0; r < 2; r++) {
		const kit_op top = is_scaled ? rows->max[r] : OP2(b, "mul.rn.f32", rows->max[r], of_row_scale[r]);
		const kit_op against = OP1(b, "neg.f32", top);
		for (unsigned i = 0, of_row = 0; i < count; i++)
			if (row_of(i) == r)
				scores[i] = weight_of(
					w, of_row++,
					is_scaled ? OP2(b, "add.rn.f32", scores[i], against)
						  : OP3(b, "fma.rn.f32", scores[i], of_row_scale[r], against));
	}
	for (unsigned r = 0; r < 2; r++) {
		const kit_op more = tcb_kit_fold(b, "add.rn.f32", own, of_row(scores, count, r, own));
		tcb_ptx_into3(b, "fma.rn.f32", rows->sum[r], rows->sum[r], factor[r], more);
	}
}

void prefill_write_packed(struct prefill_writer *w, const kit_op *weights, unsigned count, const kit_op *to)
{
	const char *pack = w->g->type == TCB_TYPE_F16 ? "cvt.rn.f16x2.f32" : "cvt.rn.bf16x2.f32";
	for (unsigned i = 0; i < count / 2; i++)
		tcb_ptx_into2(&w->kit.b, pack, to[i], weights[2 * i + 1], weights[2 * i]);
}

/* Word J of lane I of a quad to word I of lane J; IS_ODD: of the lane's two lowest bits. */
static void transpose(struct tcb_ptx_build *b, kit_op word[QUAD], const kit_op is_odd[2])
{
	for (unsigned bit = 0; bit < 2; bit++)
		for (unsigned i = 0; i < QUAD; i++) {
			const unsigned other = i | 1u << bit;
			if (i == other)
				continue;
			const kit_op sent = OP3(b, "selp.b32", word[i], word[other], is_odd[bit]);
			const kit_op got = tcb_kit_butterfly(b, sent, 1u << bit);
			word[i] = OP3(b, "selp.b32", got, word[i], is_odd[bit]);
			word[other] = OP3(b, "selp.b32", word[other], got, is_odd[bit]);
		}
}

/* Contract f32: SUMS of a row times INVERSE, values 2c and 2c + 1 of each eight, to row INDEX of out. */
static void store_floats(struct prefill_writer *w, const kit_op *sums, kit_op inverse, kit_op index, kit_op is_there)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op c = OP2(b, "and.b32", w->kit.lane, I(QUAD - 1));
	const kit_op at = tcb_ptx_assume_aligned(
		b, OP3(b, "mad.wide.u32", c, I(8), tcb_kit_element(b, w->out, index, w->g->k * 4)), 8);
	tcb_ptx_guard(b, is_there);
	for (unsigned i = 0; i < w->g->k / 8; i++) {
		const kit_op value[2] = { OP2(b, "mul.rn.f32", sums[4 * i], inverse),
					  OP2(b, "mul.rn.f32", sums[4 * i + 1], inverse) };
		tcb_kit_store(b, "st.global", "f32", tcb_ptx_at(at, 32 * i), value, 2);
	}
	tcb_ptx_unguard(b);
}

void prefill_write_out(struct prefill_writer *w, struct prefill_rows *rows, const kit_op *sums)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const char *pack = g->type == TCB_TYPE_F16 ? "cvt.rn.f16x2.f32" : "cvt.rn.bf16x2.f32";
	const kit_op c = OP2(b, "and.b32", w->kit.lane, I(QUAD - 1));
	kit_op is_odd[2];
	for (unsigned bit = 0; bit < 2; bit++)
		is_odd[bit] = OP2(b, "setp.ne.u32", OP2(b, "and.b32", c, I(1 << bit)), I(0));
	for (unsigned r = 0; r < 2; r++) {
		const kit_op total = tcb_kit_over_lanes(b, "add.rn.f32", rows->sum[r], QUAD);
		const kit_op inverse =
			OP3(b, "selp.f32", F(0), OP1(b, "rcp.rn.f32", total), OP2(b, "setp.eq.f32", total, F(0)));
		const kit_op within = OP2(b, "div.u32", rows->row[r], I(g->heads));
		const kit_op token = OP2(b, "add.u32", w->first_token, within);
		const kit_op head = OP2(b, "add.u32", w->head,
					OP2(b, "sub.u32", rows->row[r], OP2(b, "mul.lo.u32", within, I(g->heads))));
		const kit_op index = OP3(b, "mad.lo.u32", OP3(b, "mad.lo.u32", w->sequence, w->m, token),
					 I((int64_t)g->kv_heads * g->group), head);
		if (g->is_f32) {
			store_floats(w, sums + 2 * r, inverse, index, OP2(b, "setp.lt.u32", token, w->m));
			continue;
		}
		const kit_op at = tcb_ptx_assume_aligned(
			b, OP3(b, "mad.wide.u32", c, I(16), tcb_kit_element(b, w->out, index, g->k * 2)), 16);
		const kit_op is_there = OP2(b, "setp.lt.u32", token, w->m);
		for (unsigned i = 0; i < g->k / 32; i++) {
			kit_op word[QUAD];
			for (unsigned j = 0; j < QUAD; j++) {
				const kit_op *own = sums + 16 * i + 4 * j + 2 * r;
				word[j] = OP2(b, pack, OP2(b, "mul.rn.f32", own[1], inverse),
					      OP2(b, "mul.rn.f32", own[0], inverse));
			}
			transpose(b, word, is_odd);
			tcb_ptx_guard(b, is_there);
			tcb_kit_store(b, "st.global", "b32", tcb_ptx_at(at, 64 * i), word, QUAD);
			tcb_ptx_unguard(b);
		}
	}
}
