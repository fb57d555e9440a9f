/* SPDX-License-Identifier: MIT
 *
 * attention_prefill with mma.sync: tiles of query rows come in, their results go out.
 *
 * Each warp has rows of its own, or with splits, which are neighbours' too, columns of V;
 * all copy the next tiles of K and V (attention_prefill_copy.h).  Q stays in registers, that
 * of long heads in shared memory, where each lane finds what it has put there itself, or the
 * first of those that share its rows.
 *
 * Contract f32: q's terms are multiplied one after the other, the weights' likewise, 16
 * tokens at a time, or eight in tf32 (attention_prefill_terms.c).
 */
#include "base/sizes.h"
#include "kernels/attention/attention_prefill_copy.h"
#include "kernels/gpu/barrier.h"

enum {
	SUBS_MAX = 2, /* products of 16 rows of a warp */
	STEPS_MAX = ATTENTION_HEAD_MAX / 16,
	CHUNK = PREFILL_CHUNK,
	VARIANTS = PREFILL_VARIANTS,
	SUMS = 4,
	ITEM_WORD = 4
};

/* Where a lane's ldmatrix begins in a tile: by the step's place among those whose chunks are exchanged. */
struct fragment_at {
	kit_op at[VARIANTS];
};

struct mma_writer {
	struct prefill_writer *w;
	struct prefill_copies copies;
	unsigned steps, o_steps; /* products along the head; along a warp's part of V's */
	unsigned subs;
	kit_op part; /* with splits: which columns of V the warp has */
	struct fragment_at of_k, of_v;
	kit_op slot, fill_slot, last_slot; /* in use; filled next; .u32 */
	kit_op q_at;
	kit_op q[SUBS_MAX][PREFILL_TERMS_MAX][STEPS_MAX][4], o[SUBS_MAX][ATTENTION_HEAD_MAX / 2];
	struct prefill_rows rows[SUBS_MAX];
	kit_op first; /* token of the tile in use */
	kit_op zero;
	kit_op item; /* is_dynamic: where the next tile's number will be, in one of two words by turns */
};

static void next_slot(struct mma_writer *x, kit_op slot)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const kit_op is_last = u_eq(b, slot, x->last_slot);
	const kit_op next = u_add(b, slot, I(x->w->g->slot_bytes));
	u_select_to(b, slot, x->w->kit.shared, next, is_last);
}

/* Tile INDEX, counted from the last token, if there is one; a group in any case. */
static void fill(struct mma_writer *x, kit_op index)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_ptx_if_begin(b, u_lt(b, index, w->count));
	const kit_op tile = u_sub(b, u_sub(b, w->count, I(1)), index);
	prefill_copy_tile(&x->copies, x->fill_slot, u_mad(b, tile, I(w->g->kv), w->begin));
	next_slot(x, x->fill_slot);
	tcb_ptx_if_end(b);
	copies_commit(b);
}

/* --- fragments --- */

/* K: rows of eight tokens, first and second half of 16 values, then the next eight tokens.  V, transposed: of eight
 * tokens, the next eight, then the same of the next eight values. */
static void open_fragments(struct mma_writer *x)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const kit_op lane = x->w->kit.lane, eight = u_and(b, lane, I(7));
	const kit_op low = u_and(b, u_shr(b, lane, I(3)), I(1)), high = u_shr(b, lane, I(4));
	for (unsigned v = 0; v < 2; v++) {
		const struct prefill_tile_rows *rows = &x->copies.of_tile[v];
		struct fragment_at *to = v ? &x->of_v : &x->of_k;
		const kit_op row = u_mad(b, v ? low : high, I(8), eight);
		const kit_op chunk = u_xor(b, v ? high : low, prefill_swizzle(b, rows, row));
		for (unsigned i = 0; i < rows->variants; i++)
			to->at[i] = u_mad(b, row, I(rows->pitch), u_mul(b, u_xor(b, chunk, I(2 * i)), I(CHUNK)));
	}
}

/* Sixteen tokens from TOKENS on of the slot's K or V, values 16 STEP on, to two operands of a product. */
static void load_fragment(struct mma_writer *x, const kit_op *at, int is_v, unsigned tokens, unsigned step,
			  kit_op out[4])
{
	const struct prefill_tile_rows *rows = &x->copies.of_tile[is_v];
	const unsigned group = step / rows->variants * rows->variants * 2 * CHUNK;
	tcb_kit_load_matrices(&x->w->kit.b, is_v,
			      tcb_ptx_at(at[step % rows->variants], (int64_t)tokens * rows->pitch + group), out, 4);
}

/* The places of K's or V's fragments in the slot in use. */
static void fragments_of_slot(struct mma_writer *x, int is_v, kit_op out[VARIANTS])
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct fragment_at *from = is_v ? &x->of_v : &x->of_k;
	kit_op slot = is_v && x->copies.v_at ? u_add(b, x->slot, I(x->copies.v_at)) : x->slot;
	if (is_v && x->w->g->splits > 1)
		slot = u_mad(b, x->part, I(x->w->g->own_v * 2), slot);
	for (unsigned i = 0; i < x->copies.of_tile[is_v].variants; i++)
		out[i] = tcb_ptx_assume_aligned(b, u_add(b, slot, from->at[i]), CHUNK);
}

static void multiply(struct mma_writer *x, const kit_op *sums, const kit_op *before, const kit_op a[4],
		     const kit_op b_[2])
{
	tcb_kit_multiply(&x->w->kit.b, prefill_type_word(x->w->g), 16, sums, before, a, b_);
}

/* --- Q --- */

/* Which rows the warp has: with splits neighbours have the same. */
static kit_op rows_warp(struct mma_writer *x)
{
	const unsigned splits = x->w->g->splits;
	return splits > 1 ? u_div(&x->w->kit.b, x->w->kit.warp, I(splits)) : x->w->kit.warp;
}

/* With splits the first of the warps that share Q stores it; a barrier comes before it is read. */
static void begin_shared_q(struct mma_writer *x)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	if (x->w->g->splits > 1)
		tcb_ptx_if_begin(b, u_eq(b, x->part, I(0)));
}

static void end_shared_q(struct mma_writer *x)
{
	if (x->w->g->splits > 1)
		tcb_ptx_if_end(&x->w->kit.b);
}

/* Where the sub's fragments of a term and step are. */
static unsigned q_place(const struct mma_writer *x, unsigned sub, unsigned term, unsigned step)
{
	return ((sub * x->w->g->terms + term) * x->steps + step) * WARP * CHUNK;
}

/* Contract f32: row r (0), r + 8 (1) of the sub; in shared memory the words of the first are side by side. */
static void load_q_terms(struct mma_writer *x, unsigned sub, unsigned r, kit_op at)
{
	const struct prefill_gpu *g = x->w->g;
	kit_op words[PREFILL_TERMS_MAX][PREFILL_WORDS_MAX];
	prefill_load_terms(x->w, &x->rows[sub], r, at, words);
	if (g->q_at)
		begin_shared_q(x);
	for (unsigned i = 0; i < g->terms * x->steps; i++) {
		const unsigned term = i / x->steps, step = i % x->steps;
		kit_op *own = words[term] + 2 * step;
		if (PREFILL_STEP * step + 8 == g->k)
			own[1] = b_set(&x->w->kit.b, I(0));
		for (unsigned half = 0; half < 2; half++)
			x->q[sub][term][step][2 * half + r] = own[half];
		if (g->q_at)
			tcb_kit_store(&x->w->kit.b, TCB_KIT_SHARED, "b32",
				      tcb_ptx_at(x->q_at, q_place(x, sub, term, step) + 8 * r), own, 2);
	}
	if (g->q_at)
		end_shared_q(x);
}

/* Rows row and row + 8, values 16 i + 2c (+ 1), then those 8 on; rows past the last token are the last again. */
static void load_q(struct mma_writer *x, unsigned sub)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const kit_op c = u_and(b, w->kit.lane, I(3));
	const unsigned bytes = g->is_f32 ? 4 : 2;
	for (unsigned r = 0; r < 2; r++) {
		const struct kit_split row = u_split(b, x->rows[sub].row[r], I(g->heads));
		const kit_op head = u_add(b, w->head, row.rest);
		const kit_op token = u_min(b, u_add(b, w->first_token, row.whole), u_sub(b, w->m, I(1)));
		const kit_op of_all = u_mad(b, w->sequence, w->m, token);
		const kit_op index = u_mad(b, of_all, I((int64_t)g->kv_heads * g->group), head);
		const kit_op q = tcb_kit_past_gaps(b, w->q, of_all, g->q_gap);
		const kit_op at = l_mad_wide(b, c, I(2 * bytes), tcb_kit_element(b, q, index, g->k * bytes));
		if (g->is_f32) {
			load_q_terms(x, sub, r, at);
			continue;
		}
		for (unsigned i = 0; i < 2 * x->steps; i++) {
			kit_op *to = &x->q[sub][0][i / 2][2 * (i % 2) + r];
			if (8 * i < g->k)
				tcb_kit_load(b, tcb_kit_input(g->pdl), "b32", tcb_ptx_at(at, 16 * i), to, 1);
			else
				*to = b_set(b, I(0));
		}
	}
	if (!g->q_at || g->is_f32)
		return;
	begin_shared_q(x);
	for (unsigned i = 0; i < x->steps; i++)
		tcb_kit_store(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(x->q_at, q_place(x, sub, 0, i)), x->q[sub][0][i], 4);
	end_shared_q(x);
}

static const kit_op *q_of(struct mma_writer *x, unsigned sub, unsigned term, unsigned step, kit_op room[4])
{
	const struct prefill_gpu *g = x->w->g;
	if (!g->q_at)
		return x->q[sub][term][step];
	tcb_kit_load(&x->w->kit.b, TCB_KIT_SHARED, "b32", tcb_ptx_at(x->q_at, q_place(x, sub, term, step)), room, 4);
	if (g->is_f32) {
		const kit_op second = room[1];
		room[1] = room[2];
		room[2] = second;
	}
	return room;
}

/* --- a tile of KV --- */

typedef kit_op score_tiles[SUBS_MAX][PREFILL_KV_MAX / 2];

static void write_scores(struct mma_writer *x, score_tiles scores)
{
	const struct prefill_gpu *g = x->w->g;
	const kit_op zeros[SUMS] = { x->zero, x->zero, x->zero, x->zero };
	kit_op at[VARIANTS];
	fragments_of_slot(x, 0, at);
	for (unsigned s = 0; s < x->subs; s++)
		for (unsigned i = 0; i < g->kv / 2; i++)
			scores[s][i] = tcb_ptx_reg(&x->w->kit.b, "f32");
	for (unsigned step = 0; step < x->steps; step++) {
		kit_op room[SUBS_MAX][4];
		const kit_op *q[SUBS_MAX];
		for (unsigned s = 0; s < x->subs; s++)
			q[s] = q_of(x, s, 0, step, room[s]);
		for (unsigned t = 0; t < g->kv; t += 16) {
			kit_op k[4];
			load_fragment(x, at, 0, t, step, k);
			for (unsigned s = 0; s < x->subs; s++)
				for (unsigned half = 0; half < 2; half++) {
					const kit_op *sums = scores[s] + t / 2 + SUMS * half;
					multiply(x, sums, step ? sums : zeros, q[s], k + 2 * half);
				}
		}
	}
}

/*
 * Of longer heads than this, or by warps of 32 rows, every BLOCK_STEPS steps of V, and of K's codes, are a branch of
 * their own, always taken: else the assembler loads and converts so far ahead that registers spill.
 */
enum { BLOCK_STEPS = ATTENTION_BLOCK / 16, TOGETHER = 64, TOGETHER_OF_SUBS = 32 };

struct steps {
	unsigned last;
	int is_split;
	kit_op always;
};

/* Along VALUES, a multiple of a product's. */
static struct steps open_steps(struct mma_writer *x, unsigned values)
{
	struct steps out = { .last = values / PREFILL_STEP - 1,
			     .is_split = values > (x->subs > 1 ? TOGETHER_OF_SUBS : TOGETHER) };
	if (out.is_split)
		out.always = u_ne(&x->w->kit.b, x->w->token_tiles, I(0));
	return out;
}

static void begin_step(struct mma_writer *x, struct steps *steps, unsigned step)
{
	if (steps->is_split && step % BLOCK_STEPS == 0)
		tcb_ptx_if_begin(&x->w->kit.b, steps->always);
}

static void end_step(struct mma_writer *x, struct steps *steps, unsigned step)
{
	if (steps->is_split && (step % BLOCK_STEPS == BLOCK_STEPS - 1 || step == steps->last))
		tcb_ptx_if_end(&x->w->kit.b);
}

/* Contract f32: the first term's part and the rest are summed apart. */
static void write_scores_of_terms(struct mma_writer *x, score_tiles scores)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct prefill_gpu *g = x->w->g;
	const kit_op zeros[SUMS] = { x->zero, x->zero, x->zero, x->zero };
	score_tiles rest;
	kit_op at[VARIANTS];
	fragments_of_slot(x, 0, at);
	for (unsigned s = 0; s < x->subs; s++)
		for (unsigned i = 0; i < g->kv / 2; i++) {
			scores[s][i] = tcb_ptx_reg(b, "f32");
			rest[s][i] = tcb_ptx_reg(b, "f32");
		}
	for (unsigned step = 0; step < x->steps; step++) {
		kit_op room[SUBS_MAX * PREFILL_TERMS_MAX][4];
		const kit_op *q[SUBS_MAX * PREFILL_TERMS_MAX];
		const unsigned products = x->subs * g->terms;
		for (unsigned i = 0; i < products; i++)
			q[i] = q_of(x, i / g->terms, i % g->terms, step, room[i]);
		for (unsigned t = 0; t < g->kv; t += 16) {
			kit_op k[4];
			load_fragment(x, at, 0, t, step, k);
			for (unsigned i = 0; i < 2 * products; i++) {
				const unsigned s = i / 2 / g->terms, term = i / 2 % g->terms, half = i % 2;
				const kit_op *sums = (term ? rest : scores)[s] + t / 2 + SUMS * half;
				multiply(x, sums, step || term > 1 ? sums : zeros, q[i / 2], k + 2 * half);
			}
		}
	}
	for (unsigned i = 0; i < x->subs * g->kv / 2; i++) {
		kit_op *score = &scores[i / (g->kv / 2)][i % (g->kv / 2)];
		*score = prefill_write_score(x->w, *score, rest[i / (g->kv / 2)][i % (g->kv / 2)]);
	}
}

/* This lane's scales in the slot in use. */
static kit_op scales_of_slot(struct mma_writer *x)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const kit_op c = u_and(b, x->w->kit.lane, I(3));
	return tcb_ptx_assume_aligned(b, u_mad(b, c, I(8), x->slot), 8);
}

/* Codes of block I of K of 16 tokens from T on, times Q, times SCALE, added to SCORES, or as their first. */
static void multiply_block(struct mma_writer *x, const kit_op *q[BLOCK_STEPS * PREFILL_TERMS_MAX],
			   kit_op k[BLOCK_STEPS][4], kit_op scale[2][2], kit_op *scores, int is_first)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const unsigned terms = x->w->g->terms;
	const kit_op zeros[SUMS] = { x->zero, x->zero, x->zero, x->zero };
	kit_op sums[2][SUMS];
	for (unsigned i = 0; i < 2 * SUMS; i++)
		sums[i / SUMS][i % SUMS] = tcb_ptx_reg(b, "f32");
	for (unsigned i = 0; i < BLOCK_STEPS * terms; i++)
		for (unsigned half = 0; half < 2; half++)
			multiply(x, sums[half], i ? sums[half] : zeros, q[i], k[i / terms] + 2 * half);
	for (unsigned i = 0; i < 2 * SUMS; i++) {
		const kit_op sum = sums[i / SUMS][i % SUMS], own = scale[i / SUMS][i % 2];
		if (is_first)
			scores[i] = f_mul(b, sum, own);
		else
			f_fma_to(b, scores[i], sum, own, scores[i]);
	}
}

static void write_scores_of_codes(struct mma_writer *x, score_tiles scores)
{
	const struct prefill_gpu *g = x->w->g;
	const kit_op of_slot = scales_of_slot(x);
	const unsigned each = BLOCK_STEPS * g->terms;
	struct steps steps = open_steps(x, g->k);
	kit_op at[VARIANTS];
	fragments_of_slot(x, 0, at);
	for (unsigned block = 0; block < g->k / ATTENTION_BLOCK; block++) {
		kit_op room[SUBS_MAX * BLOCK_STEPS * PREFILL_TERMS_MAX][4];
		const kit_op *q[SUBS_MAX * BLOCK_STEPS * PREFILL_TERMS_MAX];
		if (block > 0) /* the first makes the registers */
			begin_step(x, &steps, block * BLOCK_STEPS);
		for (unsigned i = 0; i < x->subs * each; i++)
			q[i] = q_of(x, i / each, i % g->terms, block * BLOCK_STEPS + i % each / g->terms, room[i]);
		for (unsigned t = 0; t < g->kv; t += 16) {
			kit_op k[BLOCK_STEPS][4], scale[2][2];
			prefill_load_scales(x->w, of_slot, 0, block, t, scale);
			for (unsigned i = 0; i < BLOCK_STEPS; i++)
				load_fragment(x, at, 0, t, block * BLOCK_STEPS + i, k[i]);
			for (unsigned s = 0; s < x->subs; s++)
				multiply_block(x, q + s * each, k, scale, scores[s] + t / 2, block == 0);
		}
		if (block > 0)
			end_step(x, &steps, block * BLOCK_STEPS + BLOCK_STEPS - 1);
	}
}

static void add_values(struct mma_writer *x, kit_op p[SUBS_MAX][PREFILL_KV_MAX / 4])
{
	const struct prefill_gpu *g = x->w->g;
	kit_op at[VARIANTS];
	fragments_of_slot(x, 1, at);
	for (unsigned t = 0; t < g->kv; t += 16)
		for (unsigned step = 0; step < x->o_steps; step++) {
			kit_op v[4];
			load_fragment(x, at, 1, t, step, v);
			for (unsigned s = 0; s < x->subs; s++)
				for (unsigned half = 0; half < 2; half++) {
					const kit_op *sums = x->o[s] + SUMS * (2 * step + half);
					multiply(x, sums, sums, p[s] + t / 4, v + 2 * half);
				}
		}
}

/* Contract f32: weights as terms of 16 bits. */
static void add_values_narrow(struct mma_writer *x, score_tiles weights)
{
	const struct prefill_gpu *g = x->w->g;
	struct steps steps = open_steps(x, g->own_v);
	kit_op at[VARIANTS];
	fragments_of_slot(x, 1, at);
	for (unsigned t = 0; t < g->kv; t += 16) {
		kit_op p[SUBS_MAX][PREFILL_TERMS_MAX][4];
		for (unsigned s = 0; s < x->subs; s++)
			prefill_write_narrow(x->w, weights[s] + t / 2, p[s]);
		for (unsigned step = 0; step < x->o_steps; step++) {
			kit_op v[4];
			begin_step(x, &steps, step);
			load_fragment(x, at, 1, t, step, v);
			for (unsigned i = 0; i < 2 * x->subs * g->terms; i++) {
				const unsigned s = i / 2 / g->terms, term = i / 2 % g->terms, half = i % 2;
				const kit_op *sums = x->o[s] + SUMS * (2 * step + half);
				multiply(x, sums, sums, p[s][term], v + 2 * half);
			}
			end_step(x, &steps, step);
		}
	}
}

enum { WIDE_TERMS = 2 };

/* 16 tokens' weights, two times eight, as terms in tf32. */
typedef kit_op wide_tiles[SUBS_MAX][2][WIDE_TERMS][4];

static void write_wide(struct mma_writer *x, score_tiles weights, unsigned t, kit_op (*scale)[2], wide_tiles out)
{
	for (unsigned i = 0; i < 2 * x->subs; i++)
		prefill_write_wide(x->w, weights[i / 2] + t / 2 + SUMS * (i % 2), scale ? scale[i % 2] : NULL,
				   out[i / 2][i % 2]);
}

/* V of 16 tokens and values, f16, times P. */
static void multiply_wide(struct mma_writer *x, wide_tiles p, const kit_op v[4], unsigned step)
{
	for (unsigned half = 0; half < 2; half++) {
		kit_op floats[2][2];
		for (unsigned tokens = 0; tokens < 2; tokens++)
			prefill_write_floats(x->w, v[2 * half + tokens], floats[tokens]);
		for (unsigned i = 0; i < 2 * WIDE_TERMS * x->subs; i++) {
			const unsigned s = i % x->subs, tokens = i / x->subs % 2, term = i / x->subs / 2;
			const kit_op *sums = x->o[s] + SUMS * (2 * step + half);
			tcb_kit_multiply(&x->w->kit.b, "tf32", 8, sums, sums, p[s][tokens][term], floats[tokens]);
		}
	}
}

/* Contract f32: in tf32; V's scales, where it has them, go into the weights. */
static void add_values_wide(struct mma_writer *x, score_tiles weights)
{
	const struct prefill_gpu *g = x->w->g;
	const int has_scales = g->has_scales[1];
	kit_op of_slot = has_scales ? scales_of_slot(x) : I(0);
	if (has_scales && g->splits > 1)
		of_slot = u_mad(&x->w->kit.b, x->part, I(g->own_v / ATTENTION_BLOCK * g->scale_pitch), of_slot);
	struct steps steps = open_steps(x, g->own_v);
	kit_op at[VARIANTS];
	fragments_of_slot(x, 1, at);
	for (unsigned t = 0; t < g->kv; t += 16) {
		wide_tiles p;
		if (!has_scales)
			write_wide(x, weights, t, NULL, p);
		for (unsigned step = 0; step < x->o_steps; step++) {
			kit_op v[4], scale[2][2];
			begin_step(x, &steps, step);
			if (has_scales && step % BLOCK_STEPS == 0) {
				prefill_load_scales(x->w, of_slot, 1, step / BLOCK_STEPS, t, scale);
				write_wide(x, weights, t, scale, p);
			}
			load_fragment(x, at, 1, t, step, v);
			multiply_wide(x, p, v, step);
			end_step(x, &steps, step);
		}
	}
}

static void write_tile(struct mma_writer *x, int is_masked)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct prefill_gpu *g = x->w->g;
	kit_op p[SUBS_MAX][PREFILL_KV_MAX / 4];
	score_tiles scores;
	(!g->is_f32 ? write_scores : g->has_scales[0] ? write_scores_of_codes : write_scores_of_terms)(x, scores);
	for (unsigned s = 0; s < x->subs; s++) {
		kit_op factor[2];
		prefill_write_weights(x->w, &x->rows[s], scores[s], g->kv / 2, x->first, is_masked, factor);
		for (unsigned i = 0; i < g->own_v / 2; i++)
			f_mul_to(b, x->o[s][i], x->o[s][i], factor[i / 2 % 2]);
		for (unsigned i = 0; i < g->kv / 4 && !g->is_f32; i++)
			p[s][i] = tcb_ptx_reg(b, "b32");
		if (!g->is_f32)
			prefill_write_packed(x->w, scores[s], g->kv / 2, p[s]);
	}
	if (!g->is_f32)
		add_values(x, p);
	else
		(g->is_wide ? add_values_wide : add_values_narrow)(x, scores);
}

/* Tile INDEX is there, and a later one on its way; with one stage it comes now, when all have done with the last. */
static void next_tile(struct mma_writer *x, kit_op index)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const unsigned stages = x->w->g->stages;
	if (stages == 1) {
		tcb_kit_block_barrier(b);
		fill(x, index);
	}
	copies_wait(b, I(stages > 1 ? stages - 2 : 0));
	tcb_kit_block_barrier(b);
	if (stages > 1)
		fill(x, u_add(b, index, I(stages - 1)));
}

/* Tiles FROM to TO - 1 of all, counted from the last token. */
static void write_steps(struct mma_writer *x, kit_op from, kit_op to, int is_masked)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct prefill_gpu *g = x->w->g;
	const kit_op loop = tcb_ptx_for_begin(b, from, to, I(1), 0);
	tcb_kit_nounroll(b);
	next_tile(x, loop);
	write_tile(x, is_masked);
	u_sub_to(b, x->first, x->first, I(g->kv));
	next_slot(x, x->slot);
	tcb_ptx_for_end(b);
}

static void open_rows(struct mma_writer *x)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const kit_op quad = u_shr(b, w->kit.lane, I(2));
	if (g->q_at)
		x->q_at = u_add(b,
				u_mad(b, rows_warp(x), I(g->own_rows * x->steps * PREFILL_STEP * 2 * g->terms),
				      u_mad(b, w->kit.lane, I(CHUNK), w->kit.shared)),
				I(g->q_at));
	for (unsigned s = 0; s < x->subs; s++) {
		const kit_op row = u_mad(b, rows_warp(x), I(g->own_rows), quad);
		prefill_rows_open(w, &x->rows[s], s ? u_add(b, row, I(PREFILL_ROWS * s)) : row);
		prefill_rows_clear(w, &x->rows[s]);
		load_q(x, s);
		for (unsigned i = 0; i < g->own_v / 2; i++)
			x->o[s][i] = f_set(b, F(0));
	}
}

/* --- blocks that stay --- */

/* is_dynamic: the next tile's number, of thread 0, which is there when this one is done. */
static kit_op draw(struct mma_writer *x, struct prefill_items *items)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	if (!x->w->g->is_dynamic)
		return I(0);
	const kit_op drawn = u_set(b, I(0));
	tcb_kit_one_begin(&x->w->kit);
	u_set_to(b, drawn, prefill_items_draw(x->w, items));
	tcb_ptx_if_end(b);
	return drawn;
}

/* All have done with the slots, and know the next tile. */
static void end_tile(struct mma_writer *x, struct prefill_items *items, kit_op drawn)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	if (x->w->g->is_dynamic) {
		tcb_kit_one_begin(&x->w->kit);
		tcb_kit_put(b, TCB_KIT_SHARED, "u32", tcb_ptx_assume_aligned(b, x->item, ITEM_WORD), drawn);
		tcb_ptx_if_end(b);
	}
	if (x->w->g->resident)
		tcb_kit_block_barrier(b);
	if (x->w->g->is_dynamic) {
		tcb_kit_load_into(b, TCB_KIT_SHARED, "u32", tcb_ptx_assume_aligned(b, x->item, ITEM_WORD), &items->next,
				  1);
		u_xor_to(b, x->item, x->item, I(ITEM_WORD));
	}
}

/* With splits each warp stores its columns. */
static void write_out(struct mma_writer *x, unsigned sub)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct prefill_gpu *g = x->w->g;
	if (g->splits == 1) {
		prefill_write_out(x->w, &x->rows[sub], x->o[sub], 0, g->v);
		return;
	}
	for (unsigned i = 0; i * g->own_v < g->v; i++) {
		tcb_ptx_if_begin(b, u_eq(b, x->part, I(i)));
		prefill_write_out(x->w, &x->rows[sub], x->o[sub], i * g->own_v,
				  (unsigned)tcb_least(g->own_v, g->v - i * g->own_v));
		tcb_ptx_if_end(b);
	}
}

static void open_shape(struct mma_writer *x)
{
	const struct prefill_gpu *g = x->w->g;
	x->subs = g->own_rows / PREFILL_ROWS;
	x->steps = (unsigned)tcb_div_up(g->k, PREFILL_STEP);
	x->o_steps = g->own_v / PREFILL_STEP;
}

void prefill_write_mma(struct prefill_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	struct mma_writer x = { .w = w };
	struct prefill_items items;
	open_shape(&x);
	tcb_kit_depend(&w->kit);
	if (g->is_dynamic)
		x.item = u_add(b, w->kit.shared, I(g->item_at));
	prefill_items_begin(w, &items);
	const kit_op drawn = draw(&x, &items);
	prefill_copies_open(w, &x.copies);
	prefill_copies_of_tile(&x.copies);
	open_fragments(&x);
	if (g->splits > 1)
		x.part = u_rem(b, w->kit.warp, I(g->splits));
	x.zero = f_set(b, F(0));
	x.slot = u_set(b, w->kit.shared);
	x.fill_slot = u_set(b, w->kit.shared);
	x.last_slot = u_add(b, w->kit.shared, I((int64_t)(g->stages - 1) * g->slot_bytes));
	for (unsigned i = 0; i + 1 < g->stages; i++)
		fill(&x, I(i));
	open_rows(&x);
	x.first = u_mad(b, u_sub(b, w->count, I(1)), I(g->kv), w->begin);
	write_steps(&x, I(0), u_min(b, w->masked, w->count), 1);
	write_steps(&x, w->masked, w->unmasked_to, 0);
	if (g->window)
		write_steps(&x, w->unmasked_to, w->count, 1);
	for (unsigned s = 0; s < x.subs; s++)
		write_out(&x, s);
	end_tile(&x, &items, drawn);
	prefill_items_end(w, &items);
}
