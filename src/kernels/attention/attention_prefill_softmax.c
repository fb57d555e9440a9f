/* SPDX-License-Identifier: MIT
 *
 * Between the two products of attention_prefill: a lane's scores of a tile come in,
 * weights go out, maxima and sums follow; at the end sums of weighted values are
 * divided and stored.
 */
#include <float.h>
#include <math.h>

#include "base/sizes.h"
#include "kernels/attention/attention_prefill_gpu.h"

enum {
	QUAD = 4, /* lanes that share a row */
	EXPS = 8, /* of which the knob exp says how many are polynomials */
	EXPONENT = 23
};
#define LOG2_E 1.4426950408889634

/* Are scores in units of log2(e) before their maximum is known? */
static int is_scaled_first(const struct prefill_gpu *g)
{
	return g->cap || g->is_f32 || g->has_alibi;
}

static double scale_of_scores(const struct prefill_gpu *g)
{
	return LOG2_E / sqrt((double)g->k);
}

static kit_op of_head(struct prefill_writer *w, kit_op values, kit_op row)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op head = u_add(b, w->head, u_rem(b, row, I(w->g->heads)));
	return b_set(b, tcb_kit_get(b, tcb_kit_input(w->g->pdl), "f32", tcb_kit_element(b, values, head, 4)));
}

/* The row's sink, a score that the first lane of those that share the row has seen. */
static void begin_with_sink(struct prefill_writer *w, struct prefill_rows *rows, unsigned r)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const double to_max = is_scaled_first(w->g) ? LOG2_E : sqrt((double)w->g->k);
	const double to_log2 = is_scaled_first(w->g) ? 1 : scale_of_scores(w->g);
	const kit_op is_first = u_eq(b, u_and(b, w->kit.lane, I(QUAD - 1)), I(0));
	kit_op sink = f_mul(b, of_head(w, w->sinks, rows->row[r]), F((float)to_max));
	if (w->g->kv_parts) /* the first one counts it */
		sink = f_select(b, sink, F(-INFINITY), u_eq(b, w->part, I(0)));
	rows->max[r] = f_set(b, f_max(b, sink, F(-FLT_MAX)));
	const kit_op weight = f_power2(b, f_mul(b, f_sub(b, sink, rows->max[r]), F((float)to_log2)));
	rows->sum[r] = f_select(b, weight, F(0), is_first);
}

void prefill_rows_clear(struct prefill_writer *w, struct prefill_rows *rows)
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned r = 0; r < 2; r++) {
		if (w->g->has_alibi)
			rows->slope[r] = f_mul(b, of_head(w, w->slopes, rows->row[r]), F((float)-LOG2_E));
		if (w->g->has_sinks) {
			begin_with_sink(w, rows, r);
			continue;
		}
		rows->max[r] = f_set(b, F(-FLT_MAX));
		rows->sum[r] = f_set(b, F(0));
	}
}

/* cap * tanh(score / (cap sqrt(k))) in units of log2(e): 1 - 2 / (1 + e^2x), which ends in 1 and -1.  SCALE: what makes
 * 2x of the score; NULL: the same for all rows. */
static kit_op capped(struct prefill_writer *w, kit_op score, const kit_op *scale)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const double cap = w->g->cap, inner = 2 * LOG2_E / (cap * sqrt((double)w->g->k));
	const kit_op power = f_power2(b, f_mul(b, score, scale ? *scale : F((float)inner)));
	const kit_op part = f_reciprocal_near(b, f_add(b, power, F(1)));
	return f_fma(b, part, F((float)(-2 * cap * LOG2_E)), F((float)(cap * LOG2_E)));
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

/* ALiBi: less the slope for each token from the row's own one. */
static void add_distances(struct prefill_writer *w, const struct prefill_rows *rows, kit_op *scores, unsigned count,
			  kit_op first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op own = u_mad(b, u_and(b, w->kit.lane, I(QUAD - 1)), I(2), first);
	const int has_later = !w->g->causal || w->g->has_prefix;
	for (unsigned r = 0; r < 2; r++) {
		const kit_op before = f_from_s(b, s_sub(b, rows->own[r], own));
		for (unsigned i = 0; i < count; i++) {
			if (row_of(i) != r)
				continue;
			kit_op distance = f_add(b, before, F(-(float)token_of(i)));
			if (has_later)
				distance = f_abs(b, distance);
			scores[i] = f_fma(b, distance, rows->slope[r], scores[i]);
		}
	}
}

/* -inf for what a row does not see. */
static void mask(struct prefill_writer *w, const struct prefill_rows *rows, kit_op *scores, unsigned count,
		 kit_op first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op own = u_mad(b, u_and(b, w->kit.lane, I(QUAD - 1)), I(2), first);
	for (unsigned r = 0; r < 2; r++) {
		const kit_op left = s_sub(b, rows->to[r], own);
		const kit_op before = w->g->window ? s_sub(b, rows->from[r], own) : I(0);
		for (unsigned i = 0; i < count; i++) {
			if (row_of(i) != r)
				continue;
			kit_op seen = s_gt(b, left, I(token_of(i)));
			if (w->g->window)
				seen = s_le_and(b, before, I(token_of(i)), seen);
			scores[i] = f_select(b, scores[i], F(-INFINITY), seen);
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
	const double scale = scale_of_scores(w->g);
	const kit_op is_huge = f_gt(b, f_abs(b, rows->max[r]), F((float)(0x1p24 / scale)));
	return f_select(b, F((float)exp2(floor(log2(scale)))), F((float)scale), is_huge);
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
	const kit_op above = f_max_nan(b, x, F(-127));
	const kit_op down = f_add_down(b, above, whole);
	const kit_op rest = f_sub(b, above, f_sub(b, down, whole));
	kit_op y = F(c[0]);
	for (unsigned i = 1; i < sizeof(c) / sizeof(*c); i++)
		y = f_fma(b, rest, y, F(c[i]));
	return f_mul(b, y, u_shl(b, down, I(EXPONENT)));
}

/* 2^x of the row's score number INDEX; those by polynomials are spread evenly. */
static kit_op weight_of(struct prefill_writer *w, unsigned index, kit_op x)
{
	const unsigned at = index % EXPS, count = w->g->polynomials;
	const int is_polynomial = (at + 1) * count / EXPS > at * count / EXPS;
	return is_polynomial ? prefill_write_exp(&w->kit.b, x) : f_power2(&w->kit.b, x);
}

void prefill_write_weights(struct prefill_writer *w, struct prefill_rows *rows, kit_op *scores, unsigned count,
			   kit_op first, int is_masked, kit_op factor[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int has_cap = w->g->cap > 0, is_scaled = is_scaled_first(w->g);
	const kit_op scale = F((float)scale_of_scores(w->g));
	kit_op own[PREFILL_KV_MAX], of_row_scale[2];
	for (unsigned i = 0; is_scaled && i < count; i++) {
		const kit_op *of_row = w->g->is_f32 ? &rows->scale[row_of(i)] : NULL;
		scores[i] = has_cap ? capped(w, scores[i], of_row) : f_mul(b, scores[i], of_row ? *of_row : scale);
	}
	if (w->g->has_alibi)
		add_distances(w, rows, scores, count, first);
	if (is_masked)
		mask(w, rows, scores, count, first);
	for (unsigned r = 0; r < 2; r++) {
		const kit_op top = tcb_kit_fold(b, f_max, own, of_row(scores, count, r, own));
		const kit_op next = f_max(b, tcb_kit_over_lanes(b, f_max, top, QUAD), rows->max[r]);
		kit_op more = f_sub(b, rows->max[r], next);
		if (!is_scaled)
			more = f_mul(b, more, scale);
		factor[r] = f_power2(b, more);
		f_set_to(b, rows->max[r], next);
		if (!is_scaled)
			of_row_scale[r] = scale_of(w, rows, r);
	}
	for (unsigned r = 0; r < 2; r++) {
		const kit_op top = is_scaled ? rows->max[r] : f_mul(b, rows->max[r], of_row_scale[r]);
		const kit_op against = f_neg(b, top);
		for (unsigned i = 0, of_row = 0; i < count; i++)
			if (row_of(i) == r)
				scores[i] = weight_of(w, of_row++,
						      is_scaled ? f_add(b, scores[i], against)
								: f_fma(b, scores[i], of_row_scale[r], against));
	}
	for (unsigned r = 0; r < 2; r++) {
		const kit_op more = tcb_kit_fold(b, f_add, own, of_row(scores, count, r, own));
		f_fma_to(b, rows->sum[r], rows->sum[r], factor[r], more);
	}
}

void prefill_write_packed(struct prefill_writer *w, const kit_op *weights, unsigned count, const kit_op *to)
{
	for (unsigned i = 0; i < count / 2; i++)
		(w->g->type == TCB_TYPE_F16 ? f16x2_from_f_to : bf16x2_from_f_to)(&w->kit.b, to[i], weights[2 * i + 1],
										  weights[2 * i]);
}

/* Word J of lane I of a quad to word I of lane J; IS_ODD: of the lane's two lowest bits. */
static void transpose(struct tcb_ptx_build *b, kit_op word[QUAD], const kit_op is_odd[2])
{
	for (unsigned bit = 0; bit < 2; bit++)
		for (unsigned i = 0; i < QUAD; i++) {
			const unsigned other = i | 1u << bit;
			if (i == other)
				continue;
			const kit_op sent = b_select(b, word[i], word[other], is_odd[bit]);
			const kit_op got = tcb_kit_butterfly(b, sent, 1u << bit);
			word[i] = b_select(b, got, word[i], is_odd[bit]);
			word[other] = b_select(b, word[other], got, is_odd[bit]);
		}
}

/* Contract f32: SUMS of a row times INVERSE, values 2c and 2c + 1 of each eight, to a head of out, at ROW. */
static void store_floats(struct prefill_writer *w, const kit_op *sums, kit_op inverse, kit_op row, kit_op is_there,
			 unsigned from, unsigned count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op c = u_and(b, w->kit.lane, I(QUAD - 1));
	const kit_op at = tcb_ptx_assume_aligned(b, l_mad_wide(b, c, I(8), row), 8);
	tcb_ptx_guard(b, is_there);
	for (unsigned i = 0; i < count / 8; i++) {
		const kit_op value[2] = { f_mul(b, sums[4 * i], inverse), f_mul(b, sums[4 * i + 1], inverse) };
		tcb_kit_store(b, TCB_KIT_GLOBAL, "f32", tcb_ptx_at(at, 32 * i + 4 * from), value, 2);
	}
	tcb_ptx_unguard(b);
}

/* The same of contract f16, of each 32 values eight by a lane, to AT; of the last fewer lanes have any. */
static void store_halves(struct prefill_writer *w, const kit_op *sums, kit_op inverse, kit_op at, kit_op is_there,
			 unsigned count, const kit_op is_odd[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned i = 0; i < count; i += 8 * QUAD) {
		const unsigned lanes = (unsigned)tcb_least((count - i) / 8, QUAD);
		const kit_op zero = lanes < QUAD ? b_set(b, I(0)) : I(0);
		kit_op word[QUAD], stores = is_there;
		for (unsigned j = 0; j < QUAD; j++) {
			const kit_op *own = sums + i / 2 + 4 * j;
			word[j] = zero;
			if (j >= lanes)
				continue;
			const kit_op low = f_mul(b, own[0], inverse);
			word[j] = tcb_kit_pack(b, prefill_type_word(w->g), low, f_mul(b, own[1], inverse));
		}
		transpose(b, word, is_odd);
		if (lanes < QUAD)
			stores = u_lt_and(b, u_and(b, w->kit.lane, I(QUAD - 1)), I(lanes), is_there);
		tcb_kit_store_where(b, stores, TCB_KIT_GLOBAL, "b32", tcb_ptx_at(at, 2 * i), word, QUAD);
	}
}

void prefill_write_out(struct prefill_writer *w, struct prefill_rows *rows, const kit_op *sums, unsigned from,
		       unsigned count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const kit_op c = u_and(b, w->kit.lane, I(QUAD - 1));
	kit_op is_odd[2];
	for (unsigned bit = 0; bit < 2; bit++)
		is_odd[bit] = u_ne(b, u_and(b, c, I(1 << bit)), I(0));
	for (unsigned r = 0; r < 2; r++) {
		const kit_op total = tcb_kit_over_lanes(b, f_add, rows->sum[r], QUAD);
		const kit_op inverse = f_select(b, F(0), f_reciprocal(b, total), f_eq(b, total, F(0)));
		const kit_op within = u_div(b, rows->row[r], I(g->heads));
		const kit_op token = u_add(b, w->first_token, within);
		const kit_op head = u_add(b, w->head, u_sub(b, rows->row[r], u_mul(b, within, I(g->heads))));
		const kit_op of_all = u_mad(b, w->sequence, w->m, token);
		const kit_op index = u_mad(b, of_all, I((int64_t)g->kv_heads * g->group), head);
		const kit_op out = tcb_kit_past_gaps(b, w->out, of_all, g->out_gap);
		const kit_op row = tcb_kit_element(b, out, index, g->v * (g->is_f32 ? 4 : 2));
		if (g->is_f32) {
			store_floats(w, sums + 2 * r, inverse, row, u_lt(b, token, w->m), from, count);
			continue;
		}
		const kit_op at = tcb_ptx_assume_aligned(b, l_mad_wide(b, c, I(16), row), 16);
		store_halves(w, sums + 2 * r, inverse,
			     from ? tcb_ptx_assume_aligned(b, l_add(b, at, I(2 * from)), 16) : at, u_lt(b, token, w->m),
			     count, is_odd);
	}
}

void prefill_write_part(struct prefill_writer *w, struct prefill_rows *rows, const kit_op *sums, unsigned from,
			unsigned count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const kit_op c = u_and(b, w->kit.lane, I(QUAD - 1)), zero = f_set(b, F(0));
	const kit_op token_tile = u_div(b, w->first_token, I(g->tokens));
	const kit_op head_tile = u_div(b, w->head, I(g->heads));
	const unsigned head_tiles = g->kv_heads * g->group / g->heads;
	const kit_op tile = u_mad(b, u_mad(b, w->sequence, I(head_tiles), head_tile), w->token_tiles, token_tile);
	const kit_op number = u_mad(b, tile, I(g->kv_parts), w->part);
	const unsigned rest = from + count == g->v ? g->part_wide - g->v : 0;
	for (unsigned r = 0; r < 2; r++) {
		const kit_op max =
			is_scaled_first(g) ? rows->max[r] : f_mul(b, rows->max[r], F((float)scale_of_scores(g)));
		const kit_op stat[2] = { max, tcb_kit_over_lanes(b, f_add, rows->sum[r], QUAD) };
		const kit_op is_there = u_lt(b, rows->row[r], I(g->part_rows));
		const kit_op row = u_mad(b, number, I(g->part_rows), rows->row[r]);
		const kit_op at = tcb_ptx_assume_aligned(
			b, l_mad_wide(b, c, I(8), tcb_kit_element(b, w->parts, row, g->part_wide * 4)), 8);
		if (!from)
			tcb_kit_store_where(b, u_eq_and(b, c, I(0), is_there), TCB_KIT_GLOBAL, "f32",
					    tcb_ptx_assume_aligned(b, tcb_kit_element(b, w->parts_ml, row, 8), 8), stat,
					    2);
		tcb_ptx_guard(b, is_there);
		for (unsigned i = 0; i < (count + rest) / 8; i++) {
			const kit_op *own = sums + 4 * i + 2 * r;
			const kit_op value[2] = { i < count / 8 ? own[0] : zero, i < count / 8 ? own[1] : zero };
			tcb_kit_store(b, TCB_KIT_GLOBAL, "f32", tcb_ptx_at(at, 32 * i + 4 * from), value, 2);
		}
		tcb_ptx_unguard(b);
	}
}
