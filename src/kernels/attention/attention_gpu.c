/* SPDX-License-Identifier: MIT
 *
 * attention_decode on a GPU: a geometry comes in, a module of PTX and its launches
 * go out.  attention_gpu.h says how they work; here is a warp's way through its
 * pieces of KV, attention_gpu_merge.c has what comes after.
 *
 * Fragments, with lane = 4 g + c:
 *   K     a lane loads 16 bytes of token g (of eight), from value 32 i + 8 c of the head on: two steps of k
 *   q     the same of query rows g and g + 8
 *   S     query rows g, g + 8 by tokens 2c, 2c + 1: as 16 bits, what P^T wants
 *   V     16 bytes (or 8) of tokens 2c, 2c + 1, 2c + 8, 2c + 9, from value 64 i + 8 g (32 i + 4 g) on
 *   O^T   these values by query rows 2c, 2c + 1
 */
#include "kernels/attention/attention_gpu.h"

#include <float.h>
#include <math.h>

#include "kernels/gpu/barrier.h"

enum {
	COLUMNS_MAX = 4, /* in mma's columns */
	SUBS_MAX = 4,
	HALVES = 2,   /* of 16 tokens: a lane's rows of K */
	V_TOKENS = 4, /* of 16 that a lane loads V of; of 8, the first two */
	K_BLOCK = 32, /* values of a head that four lanes load together */
	K_BLOCKS_MAX = ATTENTION_HEAD_MAX / K_BLOCK,
	SUMS = 4,
	PAIR = 2 /* query rows of a lane in an mma's columns */
};
#define LOG2_E 1.4426950408889634

struct reader {
	struct attention_writer *w;
	kit_op c, g;
	kit_op k, v, table;        /* .u64: of the sequence, KV head and lane */
	kit_op row_bytes;          /* of K and V; .u32 */
	kit_op last;               /* the last token that is seen; .u32 */
	kit_op first_seen, length; /* .u32 */
	/* what is loaded: K by piece, block, half, word; V by piece, block, token, word */
	kit_op k_words[SUBS_MAX][K_BLOCKS_MAX][HALVES][4], v_words[SUBS_MAX][K_BLOCKS_MAX][V_TOKENS][4];
	kit_op q[COLUMNS_MAX][K_BLOCKS_MAX][4]; /* by mma's columns */
	kit_op acc[COLUMNS_MAX][ATTENTION_HEAD_MAX / 16][SUMS];
	kit_op max[COLUMNS_MAX], sum[COLUMNS_MAX]; /* of query row g; the sums of this lane's tokens */
	kit_op from[COLUMNS_MAX], to[COLUMNS_MAX]; /* tokens that it sees; .s32 */
	kit_op zero, nothing;                      /* .f32; two halves of 0 */
};

static const char *load_prefix(const struct attention_gpu *g)
{
	return g->pdl ? "ld.global.L1::no_allocate" : "ld.global.nc.L1::no_allocate";
}

static const char *type_word(const struct attention_gpu *g)
{
	return g->type == TCB_TYPE_F16 ? "f16" : "bf16";
}

/* --- what is seen --- */

/* BEGIN and END of what query token I sees, of the reader's length; .u32 both, as attention_visible has it. */
static void write_visible(struct reader *r, kit_op i, kit_op *begin, kit_op *end)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op next = OP2(b, "add.s32", OP2(b, "sub.s32", r->length, I(g->m)), OP2(b, "add.u32", i, I(1)));
	*end = g->causal ? OP2(b, "max.s32", next, I(0)) : r->length;
	*begin = g->window ? OP2(b, "max.s32", OP2(b, "sub.s32", next, I(g->window)), I(0))
			   : tcb_kit_constant(b, "u32", I(0));
	if (g->window)
		*begin = OP2(b, "min.s32", *begin, *end);
}

/* The query token of row ROW of the tile; at most the last. */
static kit_op token_of(struct attention_writer *w, kit_op row)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op i = OP2(b, "add.u32", w->first_token, OP2(b, "div.u32", row, I(w->g->heads)));
	return OP2(b, "min.u32", i, I(w->g->m - 1));
}

/* Whether rows of a tile see different tokens. */
static int has_own_limits(const struct attention_gpu *g)
{
	return g->tokens > 1 && (g->causal || g->window);
}

static void write_limits(struct reader *r, kit_op *begin, kit_op *end)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	kit_op unused;
	const kit_op last = OP2(b, "min.u32", OP2(b, "add.u32", r->w->first_token, I(g->tokens - 1)), I(g->m - 1));
	write_visible(r, r->w->first_token, begin, end);
	if (has_own_limits(g))
		write_visible(r, last, &unused, end);
	for (unsigned n = 0; n < g->columns; n++) {
		r->from[n] = *begin;
		r->to[n] = *end;
		if (has_own_limits(g))
			write_visible(r, token_of(r->w, OP2(b, "add.u32", r->g, I(ATTENTION_COLUMNS * n))), &r->from[n],
				      &r->to[n]);
	}
}

/* --- loads --- */

/* BASE + the row of token T, or of the last that is seen. */
static kit_op row_at(struct reader *r, kit_op base, kit_op t)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	kit_op token = OP2(b, "min.u32", t, r->last);
	if (g->page) {
		const kit_op page = OP2(b, "div.u32", token, I(g->page));
		const kit_op within = OP2(b, "sub.u32", token, OP2(b, "mul.lo.u32", page, I(g->page)));
		kit_op number;
		tcb_kit_load(b, g->pdl ? "ld.global" : "ld.global.nc", "u32",
			     tcb_ptx_at(tcb_kit_element(b, r->table, page, 4), 0), &number, 1);
		token = OP3(b, "mad.lo.u32", number, I(g->page), within);
	}
	return tcb_ptx_assume_aligned(b, OP3(b, "mad.wide.u32", token, r->row_bytes, base), 4 * g->v_words);
}

/* COUNT pieces of WIDTH words, STEP bytes apart, from ROW on, where CONDITION holds (NULL: everywhere). */
static void load_row(struct reader *r, kit_op row, kit_op (*to)[4], unsigned to_step, unsigned count, unsigned width,
		     unsigned step, const kit_op *condition)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	if (condition)
		tcb_ptx_guard(b, *condition);
	for (unsigned i = 0; i < count; i++)
		tcb_kit_load_into(b, load_prefix(r->w->g), "b32", tcb_ptx_at(row, step * i), to[i * to_step], width);
	if (condition)
		tcb_ptx_unguard(b);
}

static void load_k(struct reader *r, kit_op first, const kit_op *condition)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op own = OP2(b, "add.u32", first, r->g);
	for (unsigned s = 0; s < g->subs; s++)
		for (unsigned h = 0; h < g->halves; h++) {
			const kit_op row = row_at(r, r->k, OP2(b, "add.u32", own, I(16 * s + 8 * h)));
			load_row(r, row, &r->k_words[s][0][h], HALVES, g->k / K_BLOCK, 4, 2 * K_BLOCK, condition);
		}
}

static void load_v(struct reader *r, kit_op first, const kit_op *condition)
{
	static const unsigned own[V_TOKENS] = { 0, 1, 8, 9 };
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned block_bytes = 8 * 4 * g->v_words;
	const kit_op mine = OP3(b, "mad.lo.u32", r->c, I(2), first);
	for (unsigned s = 0; s < g->subs; s++)
		for (unsigned t = 0; t < 2 * g->halves; t++) {
			const kit_op row = row_at(r, r->v, OP2(b, "add.u32", mine, I(16 * s + own[t])));
			load_row(r, row, &r->v_words[s][0][t], V_TOKENS, 2 * g->k / block_bytes, g->v_words,
				 block_bytes, condition);
		}
}

/* Row g of each of the tile's columns; rows past the tile, and heads past the group, are others again. */
static void load_q(struct reader *r, kit_op q)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op row = OP2(b, "min.u32", OP2(b, "add.u32", r->g, I(ATTENTION_COLUMNS * n)), I(g->rows - 1));
		const kit_op head = OP2(b, "add.u32", r->w->first_head, OP2(b, "rem.u32", row, I(g->heads)));
		const kit_op in_kv = OP2(b, "min.u32", head, I(g->group - 1));
		const kit_op all = OP3(b, "mad.lo.u32", r->w->kv_head, I(g->group), in_kv);
		const kit_op at =
			OP3(b, "mad.lo.u32", OP3(b, "mad.lo.u32", r->w->sequence, I(g->m), token_of(r->w, row)),
			    I(g->kv_heads * g->group), all);
		const kit_op lane = OP3(b, "mad.wide.u32", r->c, I(16), q);
		const kit_op from = tcb_ptx_assume_aligned(b, tcb_kit_element(b, lane, at, 2 * g->k), 16);
		for (unsigned i = 0; i < g->k / K_BLOCK; i++)
			tcb_kit_load(b, g->pdl ? "ld.global" : "ld.global.nc", "b32", tcb_ptx_at(from, 2 * K_BLOCK * i),
				     r->q[n][i], 4);
	}
}

/* --- a piece of KV --- */

/* SUMS = BEFORE + A * X, over 16 of k, or 8. */
static void multiply(struct reader *r, kit_op sums[SUMS], const kit_op *before, const kit_op a[4], const kit_op x[2],
		     unsigned k)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const char *type = type_word(r->w->g);
	const kit_op all[4] = { tcb_ptx_vector(b, sums, SUMS), tcb_ptx_vector(b, a, k / 4), tcb_ptx_vector(b, x, k / 8),
				tcb_ptx_vector(b, before, SUMS) };
	tcb_ptx_into(b, tcb_ptx_namef(b, "mma.sync.aligned.m16n8k%u.row.col.f32.%s.%s.f32", k, type, type), 4, all);
}

/* By piece, its half, mma's columns, token 2c or 2c + 1 of the half; of query row g. */
typedef kit_op scores_t[SUBS_MAX][HALVES][COLUMNS_MAX][PAIR];

/* Two of mma's columns are its 16 rows; where there is one, zeros are the other. */
static void write_scores(struct reader *r, scores_t scores)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op zeros[SUMS] = { r->zero, r->zero, r->zero, r->zero };
	for (unsigned s = 0; s < g->subs; s++)
		for (unsigned h = 0; h < g->halves; h++)
			for (unsigned n = 0; n < g->columns; n += 2) {
				const int has_other = n + 1 < g->columns;
				kit_op sums[SUMS];
				for (unsigned i = 0; i < SUMS; i++)
					sums[i] = tcb_ptx_reg(b, "f32");
				for (unsigned step = 0; step < g->k / 16; step++) {
					const unsigned i = step / 2, w = step % 2 * 2;
					const kit_op *q = r->q[n][i], *other = r->q[n + has_other][i];
					const kit_op a[4] = { q[w], has_other ? other[w] : r->nothing, q[w + 1],
							      has_other ? other[w + 1] : r->nothing };
					multiply(r, sums, step ? sums : zeros, a, r->k_words[s][i][h] + w, 16);
				}
				for (unsigned i = 0; i < (has_other ? SUMS : PAIR); i++)
					scores[s][h][n + i / PAIR][i % PAIR] = sums[i];
			}
}

/* cap * tanh(score / (cap sqrt(k))) in units of log2(e): 1 - 2 / (1 + e^2x), which ends in 1 and -1. */
static kit_op capped(struct reader *r, kit_op score)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const double cap = r->w->g->cap, inner = 2 * LOG2_E / (cap * sqrt((double)r->w->g->k));
	const kit_op power = OP1(b, "ex2.approx.ftz.f32", OP2(b, "mul.rn.f32", score, F((float)inner)));
	const kit_op part = OP1(b, "rcp.approx.ftz.f32", OP2(b, "add.rn.f32", power, F(1)));
	return OP3(b, "fma.rn.f32", part, F((float)(-2 * cap * LOG2_E)), F((float)(cap * LOG2_E)));
}

/* -inf for tokens that a query row does not see; FIRST is the piece's first. */
static void mask(struct reader *r, scores_t scores, kit_op first)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op own = OP3(b, "mad.lo.u32", r->c, I(PAIR), first);
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op left = OP2(b, "sub.s32", r->to[n], own), before = OP2(b, "sub.s32", r->from[n], own);
		for (unsigned i = 0; i < g->subs * g->halves * PAIR; i++) {
			kit_op *score = &scores[i / 4][i / 2 % 2][n][i % 2];
			const unsigned token = i / 2 * 8 + i % 2;
			kit_op seen = OP2(b, "setp.gt.s32", left, I(token));
			if (has_own_limits(g) && g->window)
				seen = OP3(b, "setp.le.and.s32", before, I(token), seen);
			*score = OP3(b, "selp.f32", *score, F(-INFINITY), seen);
		}
	}
}

/* What was summed against the maxima so far, for those that became NEXT. */
static void rescale(struct reader *r, const kit_op next[COLUMNS_MAX], kit_op is_more)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	struct tcb_ptx_if scope;
	tcb_ptx_if_begin(b, &scope, OP2(b, "vote.sync.any.pred", is_more, I(-1)));
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op factor = OP1(b, "ex2.approx.ftz.f32", OP2(b, "sub.rn.f32", r->max[n], next[n]));
		tcb_ptx_into2(b, "mul.rn.f32", r->sum[n], r->sum[n], factor);
		tcb_ptx_into1(b, "mov.f32", r->max[n], next[n]);
		for (unsigned x = 0; x < PAIR; x++) {
			const kit_op lane = OP3(b, "mad.lo.u32", r->c, I(8), I(4 * x)); /* g = 2c + x */
			const kit_op own = OP4(b, "shfl.sync.idx.b32", factor, lane, I(WARP - 1), I(-1));
			for (unsigned i = 0; i < g->k / 16; i++)
				for (unsigned half = 0; half < 2; half++) {
					const kit_op sum = r->acc[n][i][2 * half + x];
					tcb_ptx_into2(b, "mul.rn.f32", sum, sum, own);
				}
		}
	}
	tcb_ptx_if_end(b, &scope);
}

/* Scores become weights; what they are against rises where it must.  Without a cap scores are still to be scaled. */
static void write_weights(struct reader *r, scores_t scores)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op scale = F(g->cap ? 1.0f : (float)(LOG2_E / sqrt((double)g->k)));
	const unsigned count = g->subs * g->halves * PAIR;
	kit_op next[COLUMNS_MAX], is_more = I(0);
	for (unsigned n = 0; n < g->columns; n++) {
		kit_op all[SUBS_MAX * HALVES * PAIR];
		for (unsigned i = 0; i < count; i++)
			all[i] = scores[i / 4][i / 2 % 2][n][i % 2];
		kit_op top = tcb_kit_over_lanes(b, "max.f32", tcb_kit_fold(b, "max.f32", all, count), 4);
		if (!g->cap)
			top = OP2(b, "mul.rn.f32", top, scale);
		next[n] = OP2(b, "max.f32", top, r->max[n]);
		is_more = n ? OP3(b, "setp.gt.or.f32", next[n], r->max[n], is_more)
			    : OP2(b, "setp.gt.f32", next[n], r->max[n]);
	}
	rescale(r, next, is_more);
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op against = OP1(b, "neg.f32", r->max[n]);
		for (unsigned i = 0; i < count; i++) {
			kit_op *score = &scores[i / 4][i / 2 % 2][n][i % 2];
			*score = OP1(b, "ex2.approx.ftz.f32",
				     g->cap ? OP2(b, "add.rn.f32", *score, against)
					    : OP3(b, "fma.rn.f32", *score, scale, against));
			tcb_ptx_into2(b, "add.rn.f32", r->sum[n], r->sum[n], *score);
		}
	}
}

/* Value 2 i (+ 1) of a lane's values of V, of two tokens side by side. */
static kit_op pair_of(struct reader *r, const kit_op *first, const kit_op *second, unsigned value)
{
	return OP3(&r->w->kit.b, "prmt.b32", first[value / 2], second[value / 2], I(value % 2 ? 0x7632 : 0x5410));
}

static void add_values(struct reader *r, scores_t weights)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const char *pack = g->type == TCB_TYPE_F16 ? "cvt.rn.f16x2.f32" : "cvt.rn.bf16x2.f32";
	for (unsigned s = 0; s < g->subs; s++) {
		kit_op p[COLUMNS_MAX][HALVES];
		for (unsigned n = 0; n < g->columns; n++)
			for (unsigned h = 0; h < g->halves; h++)
				p[n][h] = OP2(b, pack, weights[s][h][n][1], weights[s][h][n][0]);
		for (unsigned step = 0; step < g->k / 16; step++) {
			kit_op(*v)[4] = r->v_words[s][step / g->v_words];
			const unsigned value = step % g->v_words * 2;
			kit_op a[4];
			for (unsigned i = 0; i < 2 * g->halves; i++)
				a[i] = pair_of(r, v[i / 2 * 2], v[i / 2 * 2 + 1], value + i % 2);
			for (unsigned n = 0; n < g->columns; n++)
				multiply(r, r->acc[n][step], r->acc[n][step], a, p[n], 8 * g->halves);
		}
	}
}

/* --- all pieces --- */

static void write_registers(struct reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	r->zero = tcb_kit_constant(b, "f32", F(0));
	r->nothing = tcb_kit_constant(b, "b32", I(0));
	for (unsigned i = 0; i < g->subs * K_BLOCKS_MAX * HALVES * 4; i++)
		(&r->k_words[0][0][0][0])[i] = tcb_ptx_reg(b, "b32");
	for (unsigned i = 0; i < g->subs * K_BLOCKS_MAX * V_TOKENS * 4; i++)
		(&r->v_words[0][0][0][0])[i] = tcb_ptx_reg(b, "b32");
	for (unsigned n = 0; n < g->columns; n++) {
		for (unsigned i = 0; i < g->k / 16 * SUMS; i++)
			r->acc[n][i / SUMS][i % SUMS] = tcb_kit_constant(b, "f32", F(0));
		r->max[n] = tcb_kit_constant(b, "f32", F(-FLT_MAX));
		r->sum[n] = tcb_kit_constant(b, "f32", F(0));
	}
}

/* Pieces FIRST to END - 1 of those from token BEGIN on, every STEPth. */
static void write_pieces(struct reader *r, kit_op begin, kit_op first, kit_op end)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op step = I(g->warps);
	struct tcb_ptx_for loop;
	struct tcb_ptx_if scope;
	tcb_ptx_if_begin(b, &scope, OP2(b, "setp.lt.u32", first, end));
	const kit_op ahead = OP3(b, "mad.lo.u32", first, I(g->kv), begin);
	load_k(r, ahead, NULL);
	load_v(r, ahead, NULL);
	tcb_ptx_for_begin(b, &loop, first, end, step, 1);
	tcb_kit_nounroll(b);
	const kit_op here = OP3(b, "mad.lo.u32", loop.iv, I(g->kv), begin);
	const kit_op next = OP2(b, "add.u32", here, I(g->warps * g->kv));
	const kit_op has_next = OP2(b, "setp.lt.u32", OP2(b, "add.u32", loop.iv, step), end);
	scores_t scores;
	write_scores(r, scores);
	load_k(r, next, &has_next);
	for (unsigned i = 0; g->cap && i < g->subs * g->halves * PAIR * g->columns; i++) {
		kit_op *score = &scores[i / g->columns / 4][i / g->columns / 2 % 2][i % g->columns][i / g->columns % 2];
		*score = capped(r, *score);
	}
	mask(r, scores, here);
	write_weights(r, scores);
	add_values(r, scores);
	load_v(r, next, &has_next);
	tcb_ptx_for_end(b, &loop);
	tcb_ptx_if_end(b, &scope);
}

/* The warp's sums to shared memory, where attention_gpu_merge.c takes them from. */
static void store_part(struct reader *r)
{
	struct attention_writer *w = r->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	const unsigned each = 2 * g->v_words; /* values that lie side by side */
	const kit_op o = OP3(b, "mad.lo.u32", w->kit.warp, I(g->rows * g->k * 4), w->kit.shared);
	const kit_op ml = OP3(b, "mad.lo.u32", w->kit.warp, I(g->rows * 8), w->kit.shared);
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op own = OP2(b, "add.u32", r->g, I(ATTENTION_COLUMNS * n));
		const kit_op stat[2] = { r->max[n], tcb_kit_over_lanes(b, "add.rn.f32", r->sum[n], 4) };
		tcb_ptx_guard(b, OP3(b, "setp.lt.and.u32", own, I(g->rows), OP2(b, "setp.eq.u32", r->c, I(0))));
		tcb_kit_store(b, "st.shared", "f32", tcb_ptx_at(OP3(b, "mad.lo.u32", own, I(8), ml), g->ml_at), stat,
			      2);
		tcb_ptx_unguard(b);
		for (unsigned x = 0; x < PAIR; x++) {
			const kit_op row = OP3(b, "mad.lo.u32", r->c, I(PAIR), I(ATTENTION_COLUMNS * n + x));
			const kit_op at =
				OP3(b, "mad.lo.u32", r->g, I(each * 4), OP3(b, "mad.lo.u32", row, I(g->k * 4), o));
			tcb_ptx_guard(b, OP2(b, "setp.lt.u32", row, I(g->rows)));
			for (unsigned i = 0; i < g->k / 16; i += 2) {
				const kit_op values[4] = { r->acc[n][i][x], r->acc[n][i][2 + x], r->acc[n][i + 1][x],
							   r->acc[n][i + 1][2 + x] };
				const unsigned block = i / g->v_words, within = i % g->v_words * 2;
				tcb_kit_store(b, "st.shared", "f32",
					      tcb_ptx_at(at, g->o_at + (block * 8 * each + within) * 4), values, 4);
			}
			tcb_ptx_unguard(b);
		}
	}
}

/* This block's pieces: its even part of all that the tile sees. */
static void write_part(struct reader *r)
{
	struct attention_writer *w = r->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	kit_op begin, end;
	write_limits(r, &begin, &end);
	r->last = OP2(b, "max.s32", OP2(b, "sub.s32", end, I(1)), I(0));
	const kit_op left = OP2(b, "sub.u32", end, begin);
	const kit_op pieces = OP2(b, "div.u32", OP2(b, "add.u32", left, I(g->kv - 1)), I(g->kv));
	kit_op first = tcb_kit_constant(b, "u32", I(0)), last = pieces;
	if (g->splitk > 1) {
		const kit_op each = OP2(b, "div.u32", pieces, I(g->splitk)),
			     more = OP2(b, "rem.u32", pieces, I(g->splitk));
		first = OP3(b, "mad.lo.u32", w->split, each, OP2(b, "min.u32", w->split, more));
		last = OP2(b, "add.u32", OP2(b, "add.u32", first, each),
			   OP3(b, "selp.u32", I(1), I(0), OP2(b, "setp.lt.u32", w->split, more)));
	}
	write_pieces(r, begin, OP2(b, "add.u32", first, w->kit.warp), last);
}

static void write_kernel(struct attention_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	struct reader r = { .w = w };
	tcb_kit_begin(&w->kit, tcb_ptx_namef(b, "attention_decode_%s", type_word(g)),
		      &(struct tcb_kit_kernel){ .threads = g->threads,
						.blocks_together = g->occ,
						.grid = { g->splitk, g->tiles, g->sequences },
						.cluster = { g->cluster > 1 ? g->cluster : 0 },
						.shared_bytes = g->shared_bytes,
						.is_dependent = g->pdl });
	const kit_op q = tcb_kit_operand(&w->kit, "q", 16, ATTENTION_Q);
	r.k = tcb_kit_operand(&w->kit, "k", 16, ATTENTION_K);
	r.v = tcb_kit_operand(&w->kit, "v", 16, ATTENTION_V);
	const kit_op lengths = tcb_kit_operand(&w->kit, "lengths", 4, ATTENTION_LENGTHS);
	if (g->slots == 1 || g->join == TCB_JOIN_LAST)
		w->out = tcb_kit_operand(&w->kit, "out", 16, ATTENTION_OUT);
	if (g->page)
		r.table = tcb_kit_operand(&w->kit, "pages", 4, ATTENTION_TABLE);
	if (g->slots > 1) {
		w->parts = tcb_kit_workspace(&w->kit, "parts", 16, 0);
		w->parts_ml = tcb_kit_workspace(&w->kit, "parts_ml", 16, g->parts_ml_at);
	}
	if (g->slots > 1 && g->join == TCB_JOIN_LAST)
		w->counters = tcb_kit_workspace(&w->kit, "counters", 4, g->counters_at);
	const kit_op tokens =
		tcb_kit_number(&w->kit, "tokens", g->page ? g->pages : g->n); /* or pages, of a sequence */
	tcb_kit_memory(&w->kit, 16);
	tcb_kit_dependents(&w->kit, 1);
	tcb_kit_threads(&w->kit);
	tcb_kit_uniform_warp(&w->kit);
	w->split = tcb_ptx_special(b, "ctaid.x");
	w->tile = tcb_ptx_special(b, "ctaid.y");
	w->sequence = tcb_ptx_special(b, "ctaid.z");
	attention_write_tile(w);
	tcb_kit_load(b, g->pdl ? "ld.global" : "ld.global.nc", "u32",
		     tcb_ptx_at(tcb_kit_element(b, lengths, w->sequence, 4), 0), &r.length, 1);
	r.g = OP2(b, "shr.u32", w->kit.lane, I(2));
	r.c = OP2(b, "and.b32", w->kit.lane, I(3));
	load_q(&r, q);
	r.row_bytes = tcb_kit_constant(b, "u32", I((int64_t)g->kv_heads * g->k * 2));
	const kit_op head = OP2(b, "mul.wide.u32", w->kv_head, I(g->k * 2));
	const kit_op before = OP2(b, "mul.lo.u32", w->sequence, tokens);
	if (g->page)
		r.table = tcb_kit_element(b, r.table, before, 4);
	for (unsigned i = 0; i < 2; i++) {
		kit_op *base = i ? &r.v : &r.k;
		const kit_op lane =
			i ? OP2(b, "mul.wide.u32", r.g, I(4 * g->v_words)) : OP2(b, "mul.wide.u32", r.c, I(16));
		*base = OP2(b, "add.u64", *base, OP2(b, "add.u64", head, lane));
		if (!g->page)
			*base = OP3(b, "mad.wide.u32", before, r.row_bytes, *base);
	}
	write_registers(&r);
	write_part(&r);
	store_part(&r);
	tcb_kit_block_barrier(b);
	attention_write_merge(w);
	tcb_kit_end(&w->kit);
}

/*
 * A product of tensor cores cuts sums towards zero: four units a token, as in matmul_gpu_plan.c.  A rescale is an
 * exponential and a product; so is what a part goes through when parts are merged.
 */
static double chain(const struct attention_gpu *g)
{
	const double pieces = ceil((double)g->n / g->kv), of_block = floor(pieces / g->splitk) + 1;
	const double of_warp = floor(of_block / g->warps) + 1;
	return of_warp * (4.0 * g->kv + 8) + 8.0 * (g->warps + g->splitk) + 16;
}

enum tcb_status attention_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct attention_gpu g;
	struct attention_writer w = { .g = &g };
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	attention_gpu_plan(problem, target, geometry, &g);
	write_kernel(&w);
	if (g.slots > 1 && g.join == TCB_JOIN_LAUNCH)
		attention_write_second(&w);
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = chain(&g);
	return tcb_kit_close(&w.kit, err);
}

#define VARIANT(type)                                           \
	{                                                       \
		{ .name = "attention_decode_" #type "_ptx_mma", \
		  .contract = TCB_CONTRACT_F16,                 \
		  .isa = TCB_ISA_MMA,                           \
		  .class = TCB_CLASS_BOUNDED },                 \
		{                                               \
			.name = NULL                            \
		}                                               \
	}
const struct tcb_variant attention_decode_f16_gpu_variants[] = VARIANT(f16);
const struct tcb_variant attention_decode_bf16_gpu_variants[] = VARIANT(bf16);
