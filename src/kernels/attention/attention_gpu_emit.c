/* SPDX-License-Identifier: MIT
 *
 * attention_decode on a GPU: a geometry comes in, a module of PTX and its launches
 * go out.  attention_gpu.h says how they work; here are the kernel's frame and a warp's
 * way through its pieces of KV, attention_gpu_read.c and _math.c have what it does with
 * one, attention_gpu_merge.c what comes after.
 */
#include "kernels/attention/attention_gpu_wgmma.h"

#include <float.h>
#include <math.h>

#include "base/sizes.h"
#include "kernels/gpu/barrier.h"

enum { PAIR = ATTENTION_PAIR, SUMS = ATTENTION_SUMS };
#define LOG2_E 1.4426950408889634f

/* --- what is seen --- */

static void write_limits(struct attention_reader *r, kit_op *begin, kit_op *end)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	kit_op unused;
	const kit_op last = u_min(b, u_add(b, r->w->first_token, I(g->tokens - 1)), I(g->m - 1));
	attention_write_visible(r->w, r->length, r->prefix, r->w->first_token, begin, end);
	if (g->has_own_limits)
		attention_write_visible(r->w, r->length, r->prefix, last, &unused, end);
	for (unsigned n = 0; n < g->columns; n++) {
		r->from[n] = *begin;
		r->to[n] = *end;
		if (g->has_own_limits)
			attention_write_visible(r->w, r->length, r->prefix,
						attention_token_of(r->w, attention_row(r, r->g, ATTENTION_COLUMNS * n)),
						&r->from[n], &r->to[n]);
	}
}

/* --- all pieces --- */

static void write_registers(struct attention_reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	r->zero = f_set(b, F(0));
	if (g->is_coded)
		r->whole = s_set(b, I(ATTENTION_WHOLE));
	for (unsigned n = 0; n < g->columns; n++) {
		for (unsigned i = 0; i < g->v_part / 16 * SUMS; i++)
			r->acc[n][i / SUMS][i % SUMS] = f_set(b, F(0));
		r->max[n] = f_set(b, F(-FLT_MAX));
		r->sum[n] = f_set(b, F(0));
	}
}

/* A sink is the first score of the part that begins with the tile's first piece; a lane of four counts it. */
static void write_sinks(struct attention_reader *r, kit_op sinks)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op before = g->is_dealt ? r->w->first_piece : r->w->split;
	const kit_op is_first = u_eq(b, u_or(b, before, r->turn), I(0));
	const kit_op is_counted = u_eq_and(b, r->c, I(0), is_first);
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op sink =
			f_mul(b, tcb_kit_get(b, tcb_kit_input(g->pdl), "f32", tcb_kit_element(b, sinks, r->head[n], 4)),
			      F(LOG2_E));
		const kit_op top = f_max(b, sink, F(-FLT_MAX));
		const kit_op weight = f_power2(b, f_sub(b, sink, top));
		f_select_to(b, r->max[n], top, r->max[n], is_first);
		f_select_to(b, r->sum[n], weight, r->sum[n], is_counted);
	}
}

static void write_slopes(struct attention_reader *r, kit_op slopes)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op slope =
			tcb_kit_get(b, tcb_kit_input(g->pdl), "f32", tcb_kit_element(b, slopes, r->head[n], 4));
		const kit_op token = attention_token_of(r->w, attention_row(r, r->g, ATTENTION_COLUMNS * n));
		r->slope[n] = f_mul(b, slope, F(-LOG2_E));
		r->place[n] = s_add(b, s_sub(b, r->length, I(g->m)), token);
	}
}

/* pdl=4: all that is read of the queries, and of what each head has. */
static void write_queries(struct attention_reader *r)
{
	struct attention_writer *w = r->w;
	attention_load_q(r, w->q);
	if (w->g->has_sinks)
		write_sinks(r, w->sinks);
	if (w->g->has_slopes)
		write_slopes(r, w->slopes);
	if (w->g->q_block)
		tcb_kit_block_barrier(&w->kit.b); /* q is there */
}

/*
 * Pieces FIRST to END - 1 of those from token BEGIN on, every STEPth.
 *
 * pdl=4 is for chains in which the call before is the rope_append that adds the queries' tokens to K and V, and in
 * which nothing else writes these, or lengths: then what was there before, and lengths, is read without a wait.
 */
static void write_pieces(struct attention_reader *r, kit_op begin, kit_op first, kit_op end)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op step = I(g->turns);
	if (g->is_early) {
		attention_read_old(r, begin, first, end);
		tcb_kit_depend(&r->w->kit);
		write_queries(r);
	}
	tcb_ptx_if_begin(b, u_lt(b, first, end));
	(g->is_early ? attention_read_new : attention_read_first)(r, begin, first, end);
	attention_make_q(r);
	if (g->is_early)
		copies_wait(b, I(0));
	const kit_op loop = tcb_ptx_for_begin(b, first, end, step, 1);
	tcb_kit_nounroll(b);
	attention_scores scores;
	attention_read_piece(r, begin, loop, end);
	attention_write_scores(r, scores);
	attention_read_k_done(r, begin, loop, end);
	attention_write_weights(r, scores, u_mad(b, loop, I(g->kv), begin));
	attention_add_values(r, scores);
	attention_read_v_done(r, begin, loop, end);
	tcb_ptx_for_end(b);
	tcb_ptx_if_end(b);
}

/* Whose turn this warp's is, and which of those that have it together it is. */
static void write_turn(struct attention_reader *r)
{
	struct attention_writer *w = r->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	r->turn = w->kit.warp;
	r->thread = w->kit.lane;
	if (g->team == 1)
		return;
	const struct kit_split warp = u_split(b, w->kit.warp, I(g->team));
	kit_op rows = warp.rest;
	r->turn = warp.whole;
	r->thread = u_mad(b, warp.rest, I(WARP), w->kit.lane);
	if (g->value_warps > 1) {
		const struct kit_split part = u_split(b, warp.rest, I(g->value_warps));
		rows = part.whole;
		r->part = part.rest;
	}
	r->first_row = u_mul(b, rows, I(g->own_rows));
}

/* The warp's sums to shared memory, where attention_gpu_merge.c takes them from. */
static void store_part(struct attention_reader *r)
{
	struct attention_writer *w = r->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	const unsigned each = 2 * g->v_words; /* values that lie side by side */
	kit_op o = u_mad(b, r->turn, I(g->rows * g->v_wide * 4), w->kit.shared);
	const kit_op ml = u_mad(b, r->turn, I(g->rows * 8), w->kit.shared);
	if (g->value_warps > 1) {
		o = u_mad(b, r->part, I(g->v_part * 4), o);
	}
	for (unsigned n = 0; n < g->columns; n++) {
		const kit_op own = u_add(b, r->g, I(ATTENTION_COLUMNS * n));
		const kit_op of_tile = attention_row(r, r->g, ATTENTION_COLUMNS * n);
		const kit_op stat[2] = { r->max[n], tcb_kit_over_lanes(b, f_add, r->sum[n], 4) };
		kit_op has_stat = u_lt_and(b, own, I(g->own_rows), u_eq(b, r->c, I(0)));
		if (g->value_warps > 1)
			has_stat = u_eq_and(b, r->part, I(0), has_stat);
		tcb_ptx_guard(b, has_stat);
		tcb_kit_store(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(u_mad(b, of_tile, I(8), ml), g->ml_at), stat, 2);
		tcb_ptx_unguard(b);
		for (unsigned x = 0; x < PAIR; x++) {
			const kit_op row = u_mad(b, r->c, I(PAIR), I(ATTENTION_COLUMNS * n + x));
			const kit_op to_row = attention_row(r, row, 0);
			const kit_op from = u_mad(b, to_row, I(g->v_wide * 4), o);
			const kit_op turned = attention_write_turned(w, to_row);
			kit_op at[2]; /* of the first and the second vector of what lies side by side */
			for (unsigned v = 0; v < each / 4; v++)
				at[v] = u_add(b, from, u_xor(b, u_mad(b, r->g, I(each * 4), I(16 * v)), turned));
			tcb_ptx_guard(b, u_lt(b, row, I(g->own_rows)));
			for (unsigned i = 0; i < g->v_part / 16; i += 2) {
				const kit_op values[4] = { r->acc[n][i][x], r->acc[n][i][2 + x], r->acc[n][i + 1][x],
							   r->acc[n][i + 1][2 + x] };
				const unsigned block = i / g->v_words, within = i % g->v_words * 2;
				tcb_kit_store(b, TCB_KIT_SHARED, "f32",
					      tcb_ptx_at(tcb_ptx_assume_aligned(b, at[within / 4], 16),
							 g->o_at + block * 8 * each * 4),
					      values, 4);
			}
			tcb_ptx_unguard(b);
		}
	}
}

/* Pieces *FIRST to *LAST - 1 of those of LEFT tokens are this block's: an even part. */
static void split_pieces(struct attention_writer *w, kit_op left, kit_op *first, kit_op *last)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	const kit_op pieces = u_div_up(b, left, g->kv);
	*first = u_set(b, I(0));
	*last = pieces;
	if (g->splitk > 1) {
		const kit_op each = u_div(b, pieces, I(g->splitk)), more = u_rem(b, pieces, I(g->splitk));
		*first = u_mad(b, w->split, each, u_min(b, w->split, more));
		*last = u_add(b, u_add(b, *first, each), u_select(b, I(1), I(0), u_lt(b, w->split, more)));
	}
}

/* Tokens FROM to TO - 1, a part of which is each tile's, in K or V at BASE: all heads of a token lie side by side. */
static void ask_l2(struct attention_reader *r, unsigned v, kit_op base, kit_op tokens, kit_op from, kit_op count)
{
	struct attention_writer *w = r->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned each = w->g->token_bytes[v];
	const kit_op first = u_mad(b, w->sequence, tokens, from);
	const kit_op at = l_mad_wide(b, first, I((int64_t)each), base);
	ahead_global(b, tcb_ptx_assume_aligned(b, at, 16), u_mul(b, count, I(each)));
}

/*
 * lead: the block's first pieces on their way to the L2.  LENGTHS may still be written to: it is a length as good as
 * another, up to as many TOKENS as there is memory for.
 */
static void write_lead(struct attention_reader *r, kit_op lengths, kit_op tokens)
{
	struct attention_writer *w = r->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	const unsigned together = g->lead * g->turns * g->kv, own = (unsigned)tcb_div_up(together, g->tiles);
	kit_op begin, end, first, last;
	r->length = u_min(b, tcb_kit_entry(b, TCB_KIT_RELAXED, lengths, w->sequence), tokens);
	write_limits(r, &begin, &end);
	split_pieces(w, u_sub(b, end, begin), &first, &last);
	if (g->is_boxed) {
		tcb_ptx_if_begin(b, u_eq(b, r->thread, I(0)));
		for (unsigned i = 0; i < g->lead; i++) {
			const kit_op piece = u_add(b, u_add(b, first, r->turn), I(i * g->turns));
			tcb_ptx_if_begin(b, u_lt(b, piece, last));
			attention_ring_ahead(r, u_mad(b, piece, I(g->kv), begin));
			tcb_ptx_if_end(b);
		}
		tcb_ptx_if_end(b);
		return;
	}
	const kit_op from = u_mad(b, w->tile, I(own), u_mad(b, first, I(g->kv), begin));
	const kit_op all =
		u_min(b, end, u_mad(b, u_min(b, last, u_add(b, first, I(g->lead * g->turns))), I(g->kv), begin));
	const kit_op left = u_min(b, u_sub(b, all, from), I(own));
	tcb_ptx_if_begin(b, u_lt_and(b, from, all, u_eq(b, w->kit.tid, I(0))));
	for (unsigned v = 0; v < (g->is_view ? 1 : 2); v++)
		ask_l2(r, v, v ? r->v : r->k, tokens, from, left);
	tcb_ptx_if_end(b);
}

/* This block's pieces: its even part of all that the tile sees. */
static void write_part(struct attention_reader *r)
{
	struct attention_writer *w = r->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	kit_op begin, end, first, last;
	write_limits(r, &begin, &end);
	r->last = s_max(b, s_sub(b, end, I(1)), I(0));
	const kit_op left = u_sub(b, end, begin);
	if (g->is_dealt) {
		const kit_op pieces = u_div_up(b, left, g->kv);
		write_pieces(r, begin, u_add(b, w->first_piece, r->turn), u_min(b, w->end_piece, pieces));
		return;
	}
	split_pieces(w, left, &first, &last);
	write_pieces(r, begin, u_add(b, first, r->turn), last);
}

/* What is AT bytes into the workspace: an argument, or where there are too many behind the first one. */
static kit_op of_workspace(struct attention_writer *w, const char *name, unsigned align, size_t at)
{
	const struct attention_gpu *g = w->g;
	if (!g->has_sinks && !g->has_slopes && !g->has_prefix)
		return tcb_kit_workspace(&w->kit, name, align, at);
	return tcb_ptx_assume_aligned(&w->kit.b, l_add(&w->kit.b, w->parts, I((int64_t)at)), align);
}

static void write_kernel(struct attention_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	struct attention_reader r = { .w = w };
	struct attention_deal deal;
	tcb_kit_begin(&w->kit, tcb_ptx_namef(b, "attention_decode_%s", tcb_kv_row(g->cache)->word),
		      &(struct tcb_kit_kernel){ .threads = g->threads,
						.blocks_together = g->occ,
						.grid = { g->grid[0], g->grid[1], g->grid[2] },
						.cluster = { g->cluster > 1 ? g->cluster : 0 },
						.shared_bytes = g->shared_bytes,
						.is_dependent = g->pdl });
	w->kit.own->lengths = 1u << attention_at(g->words, ATTENTION_LENGTHS);
	if (g->is_early) {
		w->kit.own->early = w->kit.own->lengths;
		w->kit.own->early_old = 1u << ATTENTION_K | (g->is_view ? 0 : 1u << ATTENTION_V);
	}
	const kit_op q = tcb_kit_operand(&w->kit, "q", 16, ATTENTION_Q);
	const int is_bulk = g->copy == TCB_COPY_BULK;
	r.k = is_bulk ? attention_ring_tensor(w, "k", ATTENTION_K) : tcb_kit_operand(&w->kit, "k", 16, ATTENTION_K);
	if (!g->is_view)
		r.v = is_bulk ? attention_ring_tensor(w, "v", ATTENTION_V)
			      : tcb_kit_operand(&w->kit, "v", 16, ATTENTION_V);
	const kit_op lengths = attention_operand_of(w, "lengths", 4, ATTENTION_LENGTHS);
	if (g->slots == 1 || g->join == TCB_JOIN_LAST)
		w->out = attention_operand_of(w, "out", 16, ATTENTION_OUT);
	r.table = attention_operand_of(w, "pages", 4, ATTENTION_TABLE);
	const kit_op sinks = attention_operand_of(w, "sinks", 4, ATTENTION_SINKS);
	const kit_op slopes = attention_operand_of(w, "slopes", 4, ATTENTION_SLOPES);
	const kit_op prefixes = attention_operand_of(w, "prefix", 4, ATTENTION_PREFIX);
	if (g->has_parts) {
		w->parts = tcb_kit_workspace(&w->kit, "parts", 16, 0);
		w->parts_ml = of_workspace(w, "parts_ml", 16, g->parts_ml_at);
	}
	if (g->has_parts && g->join == TCB_JOIN_LAST)
		w->counters = of_workspace(w, "counters", 4, g->counters_at);
	r.tokens = tcb_kit_number(&w->kit, "tokens", g->page ? g->pages : g->n);
	if (g->is_dealt)
		deal = (struct attention_deal){ .lengths = lengths,
						.prefixes = prefixes,
						.sequences = tcb_kit_number(&w->kit, "sequences", g->sequences) };
	tcb_kit_memory(&w->kit, g->is_boxed ? ATTENTION_BOX_ALIGN : is_bulk ? ATTENTION_BULK_ALIGN : 16);
	tcb_kit_dependents(&w->kit, !g->is_early && !g->lead);
	tcb_kit_threads(&w->kit);
	tcb_kit_uniform_warp(&w->kit);
	r.g = u_shr(b, w->kit.lane, I(2));
	r.c = u_and(b, w->kit.lane, I(3));
	write_turn(&r);
	if (g->is_dealt) {
		attention_deal_begin(w, &deal);
		attention_write_tile(w);
		r.length = deal.length;
		r.prefix = deal.prefix;
	} else {
		w->split = u_block_x(b);
		w->tile = u_block_y(b);
		w->sequence = u_block_z(b);
		attention_write_tile(w);
		if (g->lead) {
			write_lead(&r, lengths, r.tokens);
			tcb_kit_depend(&w->kit);
		}
		r.length = tcb_kit_entry(b, tcb_kit_input(g->pdl), lengths, w->sequence);
		if (g->has_prefix)
			r.prefix = tcb_kit_entry(b, tcb_kit_input(g->pdl), prefixes, w->sequence);
	}
	w->q = q;
	w->sinks = sinks;
	w->slopes = slopes;
	if (!g->is_early)
		attention_load_q(&r, q);
	r.row_bytes[0] = u_set(b, I(g->token_bytes[0]));
	r.row_bytes[1] = g->v_own ? u_set(b, I(g->token_bytes[1])) : r.row_bytes[0];
	kit_op head = l_mul_wide(b, w->kv_head, I(g->head_bytes[0]));
	const kit_op before = u_mul(b, w->sequence, r.tokens);
	if (g->page)
		r.table = tcb_kit_element(b, r.table, before, 4);
	for (unsigned i = 0; i < (g->is_view ? 1 : 2) && !is_bulk; i++) {
		kit_op *base = i ? &r.v : &r.k;
		if (i && g->v_own)
			head = l_mul_wide(b, w->kv_head, I(g->head_bytes[1]));
		*base = l_add(b, *base, head);
		if (!g->page)
			*base = l_mad_wide(b, before, r.row_bytes[i], *base);
	}
	if (g->is_view)
		r.v = r.k;
	write_registers(&r);
	if (g->has_sinks && !g->is_early)
		write_sinks(&r, sinks);
	if (g->has_slopes && !g->is_early)
		write_slopes(&r, slopes);
	attention_read_begin(&r);
	if (g->q_block && !g->is_early)
		tcb_kit_block_barrier(b); /* q is there */
	write_part(&r);
	store_part(&r);
	tcb_kit_block_barrier(b);
	attention_write_merge(w);
	if (g->is_dealt) {
		attention_read_end(&r);
		attention_deal_end(w, &deal);
	}
	tcb_kit_end(&w->kit);
}

/*
 * A product of tensor cores cuts sums towards zero: four units a token, as in matmul_gpu_work.c.  A rescale is an
 * exponential and a product; so is what a part goes through when parts are merged.
 */
static double chain(const struct attention_gpu *g)
{
	const double pieces = ceil((double)g->n / g->kv), of_block = floor(pieces / g->splitk) + 1;
	const double of_warp = floor(of_block / g->turns) + 1;
	const double parts = g->is_dealt ? fmin(pieces, g->grid[0]) : g->splitk;
	return of_warp * (4.0 * g->kv * g->weight_terms + 8) + 8.0 * (g->turns + parts) + 16;
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct attention_gpu g;
	struct attention_writer w = { .g = &g };
	struct prefill_gpu tiles;
	const int is_wgmma = attention_is_wgmma(geometry);
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, is_wgmma ? 'a' : 0, geometry, out, err));
	attention_gpu_plan(problem, target, geometry, &g);
	if (is_wgmma) {
		attention_wgmma_plan(problem, target, geometry, &g, &tiles);
		attention_write_wgmma(&w, &tiles);
	} else {
		write_kernel(&w);
		if (g.slots > 1 && g.join == TCB_JOIN_LAUNCH)
			attention_write_second(&w);
	}
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = is_wgmma ? attention_wgmma_chain(&g, &tiles) : chain(&g);
	if (g.is_dealt)
		out->not_simulated = "the simulation does not follow pieces that are dealt by lengths";
	return tcb_kit_close(&w.kit, err);
}

#define ROW(type, word, contract, isa) TCB_EMITTED_ROW("attention_decode_" #type word, contract, isa, BOUNDED)
#define SIDE(kv, ...)                                                                                     \
	const struct tcb_side attention_decode_##kv##_gpu = {                                             \
		.variants = TCB_EMITTED(ROW(kv, "_ptx_mma", F16, MMA), ROW(kv, "_ptx_wgmma", F16, WGMMA), \
					ROW(kv, "_f32_ptx_mma", F32, MMA)),                               \
		.space = &attention_gpu_space,                                                            \
		.emit = emit                                                                              \
	};
TCB_KV_LIST(SIDE, )
