/* SPDX-License-Identifier: MIT
 *
 * A piece of KV in attention on a GPU: fragments of q, K and V come in, the sums of
 * weights and of weighted values go out, against a maximum that rises where it must.
 *
 *   S     query rows g, g + 8 by tokens 2c, 2c + 1: as 16 bits, what P^T wants; of
 *         terms of q rows g of two of them
 *   O^T   values by query rows 2c, 2c + 1: those that a lane has of V
 *
 * tf32 takes half as many tokens at a time: its k number c is token 2c, c + 4 token
 * 2c + 1.
 */
#include <math.h>

#include "kernels/attention/attention_gpu.h"

enum {
	SUMS = ATTENTION_SUMS,
	PAIR = ATTENTION_PAIR,
	HALVES = ATTENTION_HALVES,
	SETS_MAX = ATTENTION_SETS_MAX,
	SUBS_MAX = ATTENTION_SUBS_MAX,
	WEIGHT_TERMS_MAX = 2
};
#define LOG2_E 1.4426950408889634

/* SUMS = BEFORE + A * X, over 16 of k, or 8. */
static void multiply(struct attention_reader *r, kit_op sums[SUMS], const kit_op *before, const kit_op a[4],
		     const kit_op x[2], unsigned k)
{
	tcb_kit_multiply(&r->w->kit.b, attention_word(r->w->g), k, sums, before, a, x);
}

/* --- scores --- */

/*
 * mma's 16 rows are those of two of the tile's columns, or two terms of one.  What is left without another, one of the
 * columns or a third term, has two steps of k as its two halves: with the first step's K its rows 0 to 7 are right,
 * with the second's the others, each in sums of its own.
 */
struct products {
	kit_op pair[SUMS], single[2][SUMS]; /* is_coded: .s32, ATTENTION_WHOLE and the sum; of single the first */
};

static int has_pair(const struct attention_gpu *g, unsigned n)
{
	return g->q_terms > 1 || n + 1 < g->columns;
}

static int has_single(const struct attention_gpu *g, unsigned n)
{
	return g->q_terms == ATTENTION_TERMS_MAX || (g->q_terms == 1 && n + 1 == g->columns);
}

static unsigned columns_together(const struct attention_gpu *g)
{
	return g->q_terms > 1 ? 1 : 2;
}

static void new_products(struct attention_reader *r, struct products *out)
{
	const char *type = r->w->g->is_coded ? "s32" : "f32";
	for (unsigned i = 0; i < SUMS; i++) {
		out->pair[i] = tcb_ptx_reg(&r->w->kit.b, type);
		for (unsigned step = 0; step < 2; step++)
			out->single[step][i] = tcb_ptx_reg(&r->w->kit.b, type);
	}
}

/* Block I of K, of the columns from N on, added to SUMS, or as their first. */
static void multiply_block(struct attention_reader *r, unsigned n, unsigned i, const kit_op words[4],
			   struct products *sums, int is_first)
{
	const struct attention_gpu *g = r->w->g;
	const kit_op zeros[SUMS] = { r->zero, r->zero, r->zero, r->zero };
	const kit_op *first = r->q[n][0][i],
		     *second = g->q_terms > 1 ? r->q[n][1][i] : r->q[n + 1 < g->columns ? n + 1 : n][0][i];
	const kit_op *single = r->q[n][g->q_terms == 1 ? 0 : ATTENTION_TERMS_MAX - 1][i];
	/* Words that were loaded together stay neighbours: K's, or of blocks q's. */
	const unsigned next = g->is_blocks[0] ? 2 : 1, other = 3 - next;
	const kit_op both_steps[4] = { single[0], single[other], single[next], single[3] };
	for (unsigned step = 0; step < 2; step++) {
		const unsigned w = 2 * step;
		const kit_op a[4] = { first[w], second[w], first[w + 1], second[w + 1] };
		if (has_pair(g, n))
			multiply(r, sums->pair, is_first && !step ? zeros : sums->pair, a, words + w, 16);
		const kit_op x[2] = { words[step * other], words[step * other + next] };
		if (has_single(g, n))
			multiply(r, sums->single[step], is_first ? zeros : sums->single[step], both_steps, x, 16);
	}
}

/* The same of codes; a block is one step.  A third term has eight rows for itself, the others are not looked at. */
static void multiply_codes(struct attention_reader *r, unsigned n, unsigned i, const kit_op words[2],
			   struct products *sums)
{
	const kit_op zeros[SUMS] = { r->whole, r->whole, r->whole, r->whole };
	for (unsigned term = 0; term < r->w->g->q_terms; term += 2) {
		const kit_op *first = r->q[n][term][i], *second = term ? first : r->q[n][1][i];
		const kit_op a[4] = { first[0], second[0], first[1], second[1] };
		tcb_kit_multiply_bytes(&r->w->kit.b, 16, 32, 1, term ? sums->single[0] : sums->pair, zeros, a, words);
	}
}

/* Sums of codes as a float, in the unit of the highest term; ATTENTION_WHOLE is taken off the first for all of them. */
static kit_op collect_codes(struct attention_reader *r, const struct products *sums, unsigned x)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const kit_op terms[ATTENTION_TERMS_MAX] = { sums->pair[x], sums->pair[PAIR + x], sums->single[0][x] };
	double more = 0, unit = 1;
	for (unsigned i = 0; i < r->w->g->q_terms; i++, unit /= 256)
		more += 0x1.8p23 * unit;
	kit_op sum = f_sub(b, b_set(b, terms[0]), F((float)more));
	for (unsigned i = 1; i < r->w->g->q_terms; i++)
		sum = f_fma(b, b_set(b, terms[i]), F(i > 1 ? 0x1p-16f : 0x1p-8f), sum);
	return sum;
}

/*
 * FIRST term's product and the REST's.  An infinity in K makes FIRST what it is; the REST, of which a term may be 0 or
 * of the other sign, is not added where it is not finite.  (The same asked of FIRST takes up to eight registers more.)
 */
static kit_op add_terms(struct tcb_ptx_build *b, kit_op first, kit_op rest)
{
	const kit_op is_finite = f_lt(b, f_abs(b, rest), F(INFINITY));
	return f_select(b, f_add(b, first, rest), first, is_finite);
}

/* Of tokens 2c and 2c + 1, of columns N and, where these are together, the next. */
static void collect(struct attention_reader *r, unsigned n, const struct products *sums, kit_op out[2][PAIR])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	for (unsigned x = 0; x < PAIR; x++) {
		kit_op single = I(0);
		if (g->is_coded) {
			out[0][x] = collect_codes(r, sums, x);
			continue;
		}
		if (has_single(g, n))
			single = f_add(b, sums->single[0][x], sums->single[1][PAIR + x]);
		out[0][x] = sums->pair[x];
		out[1][x] = sums->pair[PAIR + x];
		if (g->q_terms == ATTENTION_TERMS_MAX)
			out[1][x] = f_add(b, out[1][x], single);
		if (g->q_terms > 1 && g->is_blocks[0]) /* codes are finite */
			out[0][x] = f_add(b, out[0][x], out[1][x]);
		else if (g->q_terms > 1)
			out[0][x] = add_terms(b, out[0][x], out[1][x]);
		else if (has_single(g, n))
			out[0][x] = single;
	}
}

/* What block I adds to the scores of columns N, and of the next where these are together, in SUMS; SCALE: K's. */
static void collect_block(struct attention_reader *r, unsigned n, unsigned i, const struct products *sums,
			  const kit_op scale[PAIR], kit_op scores[SETS_MAX][PAIR])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	kit_op found[2][PAIR];
	collect(r, n, sums, found);
	for (unsigned j = 0; j < columns_together(g) * PAIR && n + j / PAIR < g->columns; j++) {
		kit_op *score = &scores[n + j / PAIR][j % PAIR], *sum = &found[j / PAIR][j % PAIR];
		if (!g->is_blocks[0])
			*score = *sum;
		else
			*score = i ? f_fma(b, *sum, scale[j % PAIR], *score) : f_mul(b, *sum, scale[j % PAIR]);
	}
}

/* The scores of COUNT halves from number FIRST on, which have q's fragments together. */
static void write_halves(struct attention_reader *r, unsigned first, unsigned count, attention_scores scores)
{
	const struct attention_gpu *g = r->w->g;
	const unsigned together = columns_together(g), last = g->k_blocks - 1;
	struct products sums[SUBS_MAX * HALVES][SETS_MAX];
	kit_op words[4], scale[PAIR];
	for (unsigned x = 0; x < count; x++)
		for (unsigned n = 0; n < g->columns; n += together)
			new_products(r, &sums[x][n]);
	for (unsigned i = 0; i <= last; i++) {
		attention_fetch_q(r, i);
		for (unsigned x = 0; x < count; x++) {
			const unsigned s = (first + x) / g->halves, h = (first + x) % g->halves;
			attention_k_block(r, s, h, i, words, scale);
			for (unsigned n = 0; n < g->columns; n += together) {
				if (g->is_blocks[0])
					new_products(r, &sums[x][n]);
				if (g->is_coded)
					multiply_codes(r, n, i, words, &sums[x][n]);
				else
					multiply_block(r, n, i, words, &sums[x][n], g->is_blocks[0] || i == 0);
				if (g->is_blocks[0] || i == last)
					collect_block(r, n, i, &sums[x][n], scale, scores[s][h]);
			}
		}
	}
}

void attention_write_scores(struct attention_reader *r, attention_scores scores)
{
	const struct attention_gpu *g = r->w->g;
	const unsigned halves = g->subs * g->halves, each = g->q_block ? halves : 1;
	for (unsigned first = 0; first < halves; first += each)
		write_halves(r, first, each, scores);
}

/* --- weights --- */

/* cap * tanh(score / (cap sqrt(k))) in units of log2(e): 1 - 2 / (1 + e^2x), which ends in 1 and -1. */
static kit_op capped(struct attention_reader *r, unsigned n, kit_op score)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const double cap = r->w->g->cap;
	const kit_op power = f_power2(b, f_mul(b, score, r->scale[n]));
	const kit_op part = f_reciprocal_near(b, f_add(b, power, F(1)));
	return f_fma(b, part, F((float)(-2 * cap * LOG2_E)), F((float)(cap * LOG2_E)));
}

/* Are scores in units of log2(e) before their maximum is looked for? */
static int is_scaled(const struct attention_gpu *g)
{
	return g->cap || g->has_slopes;
}

/* ALiBi: less what tokens are away, times a slope; FIRST is the piece's first. */
static void lower(struct attention_reader *r, attention_scores scores, kit_op first)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op own = u_mad(b, r->c, I(PAIR), first);
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op left = f_from_s(b, s_sub(b, r->place[n], own));
		for (unsigned i = 0; i < g->subs * g->halves * PAIR; i++) {
			kit_op *score = &scores[i / 4][i / 2 % 2][n][i % 2];
			const kit_op distance = f_abs(b, f_sub(b, left, F((float)(i / 2 * 8 + i % 2))));
			if (!g->cap)
				*score = f_mul(b, *score, r->scale[n]);
			*score = f_fma(b, distance, r->slope[n], *score);
		}
	}
}

/* -inf for tokens that a query row does not see; FIRST is the piece's first. */
static void mask(struct attention_reader *r, attention_scores scores, kit_op first)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op own = u_mad(b, r->c, I(PAIR), first);
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op left = s_sub(b, r->to[n], own), before = s_sub(b, r->from[n], own);
		for (unsigned i = 0; i < g->subs * g->halves * PAIR; i++) {
			kit_op *score = &scores[i / 4][i / 2 % 2][n][i % 2];
			const unsigned token = i / 2 * 8 + i % 2;
			kit_op seen = s_gt(b, left, I(token));
			if (g->has_own_limits && g->window)
				seen = s_le_and(b, before, I(token), seen);
			*score = f_select(b, *score, F(-INFINITY), seen);
		}
	}
}

/* What was summed against the maxima so far, for those that became NEXT. */
static void rescale(struct attention_reader *r, const kit_op next[SETS_MAX], kit_op is_more)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	tcb_ptx_if_begin(b, p_any(b, is_more));
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op factor = f_power2(b, f_sub(b, r->max[n], next[n]));
		f_mul_to(b, r->sum[n], r->sum[n], factor);
		f_set_to(b, r->max[n], next[n]);
		for (unsigned x = 0; x < PAIR; x++) {
			const kit_op lane = u_mad(b, r->c, I(8), I(4 * x)); /* g = 2c + x */
			const kit_op own = u_lane(b, factor, lane);
			for (unsigned i = 0; i < g->v_part / 16; i++)
				for (unsigned half = 0; half < 2; half++) {
					const kit_op sum = r->acc[n][i][2 * half + x];
					f_mul_to(b, sum, sum, own);
				}
		}
	}
	tcb_ptx_if_end(b);
}

/* Scores become weights; what they are against rises where it must.  Scores that are not yet scaled become so. */
static void weigh(struct attention_reader *r, attention_scores scores)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned count = g->subs * g->halves * PAIR;
	kit_op next[SETS_MAX], is_more = I(0);
	for (unsigned n = 0; n < g->columns; n++) {
		kit_op all[SUBS_MAX * HALVES * PAIR];
		for (unsigned i = 0; i < count; i++)
			all[i] = scores[i / 4][i / 2 % 2][n][i % 2];
		kit_op top = tcb_kit_over_lanes(b, f_max, tcb_kit_fold(b, f_max, all, count), 4);
		if (!is_scaled(g))
			top = f_mul(b, top, r->scale[n]);
		next[n] = f_max(b, top, r->max[n]);
		is_more = n ? f_gt_or(b, next[n], r->max[n], is_more) : f_gt(b, next[n], r->max[n]);
	}
	rescale(r, next, is_more);
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op against = f_neg(b, r->max[n]);
		for (unsigned i = 0; i < count; i++) {
			kit_op *score = &scores[i / 4][i / 2 % 2][n][i % 2];
			/* Rounded as the maximum is: the fused sum of a huge score may be far above 0. */
			if (!is_scaled(g))
				*score = f_mul(b, *score, r->scale[n]);
			*score = f_power2(b, f_add(b, *score, against));
			f_add_to(b, r->sum[n], r->sum[n], *score);
		}
	}
}

void attention_write_weights(struct attention_reader *r, attention_scores scores, kit_op here)
{
	const struct attention_gpu *g = r->w->g;
	for (unsigned i = 0; g->cap && i < g->subs * g->halves * PAIR * g->columns; i++) {
		const unsigned n = i % g->columns, token = i / g->columns;
		kit_op *score = &scores[token / 4][token / 2 % 2][n][token % 2];
		*score = capped(r, n, *score);
	}
	if (g->has_slopes)
		lower(r, scores, here);
	mask(r, scores, here);
	weigh(r, scores);
}

/* --- values --- */

/* Value 2 i (+ 1) of a lane's values of V, of two tokens side by side. */
static kit_op pair_of(struct attention_reader *r, const kit_op *first, const kit_op *second, unsigned value)
{
	return u_permute(&r->w->kit.b, first[value / 2], second[value / 2], I(value % 2 ? 0x7632 : 0x5410));
}

/* Block I of V of less than 16 bits as f16: the four values of a lane, of its tokens 2c and 2c + 1 (P = 0) of sub S, or
 * those 8 on, side by side.  Values of blocks are rounded to f16, as the reference allows. */
static void values_of_block(struct attention_reader *r, unsigned s, unsigned p, unsigned i, kit_op out[4])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	kit_op words[PAIR][4], scales[PAIR];
	for (unsigned x = 0; x < PAIR; x++) {
		attention_v_block(r, s, 2 * p + x, i, words[x]);
		if (g->is_blocks[1])
			scales[x] = attention_v_scale(r, s, 2 * p + x, i);
	}
	for (unsigned half = 0; half < 2; half++)
		attention_codes_f16(b, g->kind[1], u_permute(b, words[0][0], words[1][0], I(half ? 0x7362 : 0x5140)),
				    out + 2 * half);
	if (!g->is_blocks[1])
		return;
	const kit_op scale = b_set(b, tcb_ptx_vector(b, scales, PAIR));
	for (unsigned v = 0; v < 4; v++)
		out[v] = h_mul(b, out[v], scale);
}

/* Step STEP of a part of V, of which v_words have words together, is past V's values where the part is the last: those
 * are skipped from the first of them (IS_END 0) to the last (1). */
static void skip_missing(struct attention_reader *r, unsigned step, int is_end)
{
	const struct attention_gpu *g = r->w->g;
	const unsigned together = g->v_words,
		       before = (g->value_warps - 1) * g->v_part + step / together * 16 * together;
	if (before < g->v_blocks * ATTENTION_K_BLOCK || step % together != (is_end ? together - 1 : 0))
		return;
	if (is_end)
		tcb_ptx_if_end(&r->w->kit.b);
	else
		tcb_ptx_if_begin(&r->w->kit.b, u_lt(&r->w->kit.b, r->part, I(g->value_warps - 1)));
}

/* Of 16 tokens (or 8) of sub S, in K's type. */
static void add_narrow(struct attention_reader *r, unsigned s, attention_scores weights)
{
	const struct attention_gpu *g = r->w->g;
	kit_op p[SETS_MAX][HALVES], v[ATTENTION_TOKENS][4];
	for (unsigned n = 0; n < g->columns; n++)
		for (unsigned h = 0; h < g->halves; h++)
			p[n][h] =
				tcb_kit_pack(&r->w->kit.b, attention_word(g), weights[s][h][n][0], weights[s][h][n][1]);
	for (unsigned step = 0; step < g->v_part / 16; step++) {
		const unsigned value = step % g->v_words * 2;
		kit_op a[4];
		skip_missing(r, step, 0);
		for (unsigned t = 0; t < 2 * g->halves && value == 0 && !g->is_short[1]; t++)
			attention_v_block(r, s, t, step / g->v_words, v[t]);
		for (unsigned t = 0; t < g->halves && value == 0 && g->is_short[1]; t++)
			values_of_block(r, s, t, step / g->v_words, v[t]);
		for (unsigned i = 0; i < 2 * g->halves; i++)
			a[i] = g->is_short[1] ? v[i / 2][value + i % 2]
					      : pair_of(r, v[i / 2 * 2], v[i / 2 * 2 + 1], value + i % 2);
		for (unsigned n = 0; n < g->columns; n++)
			multiply(r, r->acc[n][step], r->acc[n][step], a, p[n], 8 * g->halves);
		skip_missing(r, step, 1);
	}
}

/* VALUE as COUNT terms in tf32. */
static void write_terms(struct tcb_ptx_build *b, kit_op value, unsigned count, kit_op out[WEIGHT_TERMS_MAX])
{
	out[0] = tf32_from_f(b, value);
	if (count > 1)
		out[1] = tf32_from_f(b, f_sub(b, value, out[0]));
}

/* The weights of half H of sub S, of tokens 2c and 2c + 1, times SCALE (NULL: 1), as terms. */
typedef kit_op term_pairs[SETS_MAX][WEIGHT_TERMS_MAX][PAIR];

static void write_weight_terms(struct attention_reader *r, kit_op weights[SETS_MAX][PAIR], const kit_op *scale,
			       term_pairs out)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	for (unsigned n = 0; n < g->columns; n++)
		for (unsigned x = 0; x < PAIR; x++) {
			kit_op terms[WEIGHT_TERMS_MAX];
			write_terms(b, scale ? f_mul(b, weights[n][x], scale[x]) : weights[n][x], g->weight_terms,
				    terms);
			for (unsigned i = 0; i < g->weight_terms; i++)
				out[n][i][x] = terms[i];
		}
}

/* Value I of a word of 16 bits as a float. */
static kit_op float_of(struct attention_reader *r, kit_op word, unsigned i)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const kit_op out = tcb_ptx_reg(b, "b32"); /* mma takes no .f32 */
	kit_op half[2];
	if (r->w->g->is_bf16)
		return i ? u_and(b, word, I(-65536)) : u_shl(b, word, I(16));
	tcb_kit_halves(b, word, half);
	f_from_f16_to(b, out, half[i]);
	return out;
}

/* Of the eight tokens of half H of sub S, in tf32. */
static void add_wide(struct attention_reader *r, unsigned s, unsigned h, attention_scores weights)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const int is_blocks = g->is_blocks[1], is_fp8 = g->is_short[1] && !is_blocks;
	const unsigned steps = g->v_words; /* that have the same words */
	kit_op words[PAIR][4], a[4];
	term_pairs terms;
	if (!is_blocks)
		write_weight_terms(r, weights[s][h], NULL, terms);
	for (unsigned step = 0; step < g->v_part / 16; step++) {
		const unsigned within = step % steps;
		skip_missing(r, step, 0);
		for (unsigned x = 0; x < PAIR && within == 0; x++) {
			kit_op codes[4];
			attention_v_block(r, s, 2 * h + x, step / steps, is_fp8 ? codes : words[x]);
			if (is_fp8)
				attention_codes_f16(b, g->kind[1], codes[0], words[x]);
		}
		if (is_blocks && within == 0) {
			kit_op scale[PAIR];
			for (unsigned x = 0; x < PAIR; x++)
				scale[x] = f_from_f16(b, attention_v_scale(r, s, 2 * h + x, step / steps));
			write_weight_terms(r, weights[s][h], scale, terms);
		}
		for (unsigned i = 0; i < 4; i++)
			a[i] = is_blocks ? attention_code_f32(b, g->kind[1], words[i / 2][0], 2 * within + i % 2)
					 : float_of(r, words[i / 2][within], i % 2);
		for (unsigned n = 0; n < g->columns; n++)
			for (unsigned i = 0; i < g->weight_terms; i++)
				tcb_kit_multiply(b, "tf32", 8, r->acc[n][step], r->acc[n][step], a, terms[n][i]);
		skip_missing(r, step, 1);
	}
}

void attention_add_values(struct attention_reader *r, attention_scores weights)
{
	const struct attention_gpu *g = r->w->g;
	for (unsigned s = 0; s < g->subs; s++) {
		if (!g->is_wide)
			add_narrow(r, s, weights);
		for (unsigned h = 0; g->is_wide && h < g->halves; h++)
			add_wide(r, s, h, weights);
	}
}
