/* SPDX-License-Identifier: MIT
 *
 * The activations of the quantised matmuls' GPU kernels: floats in global memory
 * come in, tiles of halves go out: [64 of k][8 tokens] of 1024 bytes, 128 a
 * token, its 16-byte chunks exchanged by the token's last three bits, which is
 * what ldmatrix wants against bank conflicts and wgmma calls a swizzle of 128
 * bytes.  Tokens and values that there are none of are zeros.
 *
 * A warp takes a token's 256 values, a lane four of each half: pairs that go to four
 * places (qmm_k_of()).  Contract q8: 8 consecutive ones, which
 * quant_matmul_gpu_x_s8.c makes bytes and stores in a record.  Where activations are sums of terms of bf16 (struct
 * qmm_unit), a tile has each 64 of k of each term, one after the other.
 */
#include "kernels/quant_matmul/quant_matmul_gpu_x.h"
#include "base/sizes.h"
#include "kernels/gpu/quant_gpu.h"
#include "kernels/quant.h"
#include "kernels/quant_matmul/quant_matmul_gpu_weights.h"

enum { AHEAD = 8, TOKEN_BYTES = 128, CHUNK_BYTES = 16, LANE_FLOATS = 4, PAIRS_MAX = LANE_FLOATS * QMM_TERMS_MAX };

/* A lane's part of a token's values of one unit. */
struct lane_values {
	kit_op value[2 * LANE_FLOATS]; /* of the unit's first half, of its second one */
};

/* Where a lane reads: of a token and a unit of the row, its first value. */
struct lane_source {
	kit_op token, first; /* of all; value of the row, known where K ends within a unit */
	kit_op at;
};

static void source_of(struct qmm_writer *w, kit_op token, kit_op unit, struct lane_source *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned each = w->g->x_bytes;
	const kit_op row = l_mad_wide(b, token, I((int64_t)w->g->x_stride * each), w->x);
	out->token = token;
	out->first = u_mad(b, unit, I(QMM_UNIT_VALUES), u_shl(b, w->kit.lane, I(w->g->group ? 3 : 2)));
	out->at = tcb_kit_element(b, row, out->first, each);
}

/* Those of a token and a unit further on, if HAS (none: always) and there is such a token; else zeros.  To the
 * registers that OUT has, or new ones where it has none (zeroed). */
static void load_values(struct qmm_writer *w, const struct lane_source *from, unsigned tokens_on, unsigned units_on,
			kit_op has, struct lane_values *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op token = tokens_on ? u_add(b, from->token, I(tokens_on)) : from->token;
	const unsigned each = w->g->x_bytes;
	const int64_t at = ((int64_t)tokens_on * w->g->x_stride + (int64_t)units_on * QMM_UNIT_VALUES) * each;
	has = has.kind ? u_lt_and(b, token, w->tokens, has) : u_lt(b, token, w->tokens);
	for (unsigned i = 0; i < 2 * LANE_FLOATS; i++)
		if (out->value[i].kind)
			f_set_to(b, out->value[i], F(0));
		else
			out->value[i] = f_set(b, F(0));
	/* Rows of values may have any length, and then begin and end anywhere. */
	const unsigned together = w->g->k % LANE_FLOATS || w->g->x_stride % LANE_FLOATS ? 1 : LANE_FLOATS;
	for (unsigned i = 0; i < 2 * LANE_FLOATS; i += together) {
		const unsigned on =
			i / LANE_FLOATS * (w->g->group ? LANE_FLOATS : QMM_UNIT_VALUES / 2) + i % LANE_FLOATS;
		kit_op guard = has;
		if (w->g->k % QMM_UNIT_VALUES) /* signed: this may begin behind the row's end */
			guard = s_lt_and(b, from->first, I((int64_t)w->g->k - units_on * QMM_UNIT_VALUES - on), has);
		tcb_quant_load_floats(b, &guard, TCB_KIT_GLOBAL, w->g->x_type, tcb_ptx_at(from->at, at + on * each),
				      out->value + i, together);
	}
}

/* Which of a unit's tiles a lane's first pair goes to (qmm_k_of()), and how many further on its pair I. */
static kit_op first_tile(struct qmm_writer *w)
{
	return w->g->group || w->g->unit.run == WARP ? I(0)
						     : u_and(&w->kit.b, u_shr(&w->kit.b, w->kit.lane, I(3)), I(2));
}

static unsigned tile_of_pair(const struct qmm_gpu *g, unsigned i)
{
	return g->unit.x_terms > 1 || g->unit.run == WARP ? i : i / 2;
}

/* A lane's pairs of a token: all terms of one, then of the next. */
static unsigned pair_count(const struct qmm_gpu *g)
{
	return LANE_FLOATS * g->unit.x_terms;
}

/* Which of a lane's places pair I goes to. */
static unsigned place_of_pair(const struct qmm_gpu *g, unsigned i)
{
	return i / g->unit.x_terms % 2;
}

/* Bytes from a tile's start to where a lane's even and odd pairs of TOKEN go. */
struct lane_places {
	kit_op place[2];
};

static void places_of(struct qmm_writer *w, kit_op token, struct lane_places *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int is_short = w->g->unit.run < WARP;
	const kit_op row = u_and(b, token, I(QMM_GROUP_TOKENS - 1));
	const kit_op runs = u_and(b, u_shr(b, w->kit.lane, I(is_short ? 2 : 3)), I(3));
	const kit_op base = u_mad(b, row, I(TOKEN_BYTES), u_shl(b, runs, I(2)));
	kit_op chunk = u_and(b, w->kit.lane, I(7));
	if (is_short) /* lane / 16 is the half */
		chunk = u_mad(b, u_shr(b, w->kit.lane, I(4)), I(4), u_and(b, w->kit.lane, I(3)));
	chunk = u_shl(b, u_xor(b, chunk, row), I(4));
	out->place[0] = u_add(b, base, chunk);
	out->place[1] = out->place[0];
	if (is_short)
		out->place[1] = u_add(b, base, u_xor(b, chunk, I(TOKEN_BYTES / 2)));
}

static void pairs_of(struct qmm_writer *w, const struct lane_values *values, kit_op pair[PAIRS_MAX])
{
	const unsigned terms = w->g->unit.x_terms;
	for (unsigned i = 0; i < LANE_FLOATS; i++) {
		kit_op low = values->value[i], high = values->value[LANE_FLOATS + i];
		if (terms == 1)
			pair[i] = tcb_kit_pack_f16(&w->kit.b, low, high);
		for (unsigned term = 0; terms > 1 && term < terms; term++)
			pair[i * terms + term] = qmm_write_pair_term(w, &low, &high);
	}
}

/* How a block's warps share the activations: ACROSS tokens by DEEP units at a time, some such rounds ahead. */
struct deal {
	unsigned warps; /* a power of two: the others have none */
	unsigned across, deep, tokens_ahead, units_ahead;
};

static void deal_out(const struct qmm_gpu *g, struct deal *out)
{
	unsigned turns;
	out->warps = (unsigned)tcb_power_of_two_up(g->warps / 2 + 1);
	out->across = g->tokens < out->warps ? g->tokens : out->warps;
	out->deep = out->warps / out->across;
	turns = g->tokens / out->across;
	out->tokens_ahead = turns < AHEAD ? turns : AHEAD;
	out->units_ahead = AHEAD / out->tokens_ahead;
	if (out->units_ahead > tcb_div_up(g->slice, out->deep))
		out->units_ahead = tcb_div_up(g->slice, out->deep);
}

/* To the record at RECORD, if HAS (none: always). */
static void store_codes(struct qmm_writer *w, int is_global, kit_op record, kit_op token, kit_op has,
			const struct lane_values *values)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (has.kind)
		tcb_ptx_if_begin(b, has);
	qmm_write_x_codes(w, is_global, record, u_and(b, token, I(QMM_GROUP_TOKENS - 1)), values->value);
	if (has.kind)
		tcb_ptx_if_end(b);
}

/* Rounds from token FROM and unit UNIT on, UNIT counted from the warp's first; tiles at TO. */
static void prepare_rounds(struct qmm_writer *w, const struct deal *d, const struct lane_source *from, kit_op to,
			   kit_op token, kit_op unit, kit_op first_unit)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const int is_whole = g->slice % (d->deep * d->units_ahead) == 0;
	struct lane_values values[AHEAD] = { 0 };
	kit_op has[AHEAD] = { 0 };
	for (unsigned i = 0; i < d->tokens_ahead * d->units_ahead; i++) {
		const unsigned units_on = i / d->tokens_ahead * d->deep;
		if (!is_whole)
			has[i] = s_lt(b, u_add(b, unit, first_unit), I((int64_t)g->slice - units_on));
		load_values(w, from, i % d->tokens_ahead * d->across, units_on, has[i], &values[i]);
	}
	for (unsigned i = 0; i < d->tokens_ahead * d->units_ahead; i++) {
		const unsigned tokens_on = i % d->tokens_ahead * d->across, units_on = i / d->tokens_ahead * d->deep;
		const unsigned at = units_on * g->unit_tiles * g->x_tile_bytes + tokens_on / 8 * g->x_group_bytes;
		const kit_op this = tokens_on % 8 ? u_add(b, token, I(tokens_on % 8)) : token;
		struct lane_places places;
		kit_op pair[PAIRS_MAX];
		if (g->group) {
			store_codes(w, 0, u_add(b, to, I(at)), this, has[i], &values[i]);
			continue;
		}
		places_of(w, this, &places);
		pairs_of(w, &values[i], pair);
		if (!is_whole)
			tcb_ptx_guard(b, has[i]);
		for (unsigned j = 0; j < pair_count(g); j++) {
			const kit_op base = u_add(b, to, places.place[place_of_pair(g, j)]);
			tcb_kit_put(b, TCB_KIT_SHARED, "b32",
				    tcb_ptx_at(base, at + tile_of_pair(g, j) * g->x_tile_bytes), pair[j]);
		}
		if (!is_whole)
			tcb_ptx_unguard(b);
	}
}

void qmm_write_x_prepare(struct qmm_writer *w, kit_op image)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	struct deal d;
	struct lane_source from;
	kit_op token_on = I(0), unit_on = I(0), to;
	deal_out(g, &d);
	const int has_tokens = g->tokens > d.tokens_ahead * d.across, has_units = g->slice > d.units_ahead * d.deep;
	if (d.warps < g->warps)
		tcb_ptx_if_begin(b, u_lt(b, w->kit.warp, I(d.warps)));
	const kit_op token = u_rem(b, w->kit.warp, I(d.across)), unit = u_div(b, w->kit.warp, I(d.across));
	if (has_tokens) {
		const kit_op tokens = tcb_ptx_for_begin(b, I(0), I(g->tokens), I(d.tokens_ahead * d.across), 1);
		token_on = tokens;
	}
	if (has_units) {
		const kit_op units = tcb_ptx_for_begin(b, I(0), I(g->slice), I(d.units_ahead * d.deep), 1);
		unit_on = units;
	}
	const kit_op of_block = u_add(b, token, token_on), of_slice = u_add(b, unit, unit_on);
	source_of(w, u_add(b, of_block, w->first_token), of_slice, &from);
	to = u_mad(b, of_slice, I(g->unit_tiles), first_tile(w));
	to = u_mad(b, to, I(g->x_tile_bytes), image);
	to = u_mad(b, u_shr(b, of_block, I(3)), I(g->x_group_bytes), to);
	prepare_rounds(w, &d, &from, to, token, unit_on, unit);
	if (has_units)
		tcb_ptx_for_end(b);
	if (has_tokens)
		tcb_ptx_for_end(b);
	if (d.warps < g->warps)
		tcb_ptx_if_end(b);
}

void qmm_write_row_load(struct qmm_writer *w, kit_op token, kit_op unit, kit_op has, kit_op value[])
{
	struct lane_values values = { 0 };
	struct lane_source from;
	source_of(w, token, unit, &from);
	load_values(w, &from, 0, 0, has, &values);
	for (unsigned i = 0; i < 2 * LANE_FLOATS; i++)
		value[i] = values.value[i];
}

void qmm_write_row_store(struct qmm_writer *w, kit_op unit, kit_op row, const kit_op value[])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const kit_op group = u_mad(b, u_shr(b, row, I(3)), I(g->x_group_bytes), unit);
	struct lane_values values;
	struct lane_places places;
	kit_op pair[PAIRS_MAX];
	for (unsigned i = 0; i < 2 * LANE_FLOATS; i++)
		values.value[i] = value[i];
	if (g->group) {
		store_codes(w, 0, group, row, (kit_op){ 0 }, &values);
		return;
	}
	const kit_op to = u_mad(b, first_tile(w), I(g->x_tile_bytes), group);
	places_of(w, row, &places);
	pairs_of(w, &values, pair);
	for (unsigned i = 0; i < pair_count(g); i++) {
		const kit_op base = u_add(b, to, places.place[place_of_pair(g, i)]);
		tcb_kit_put(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(base, tile_of_pair(g, i) * g->x_tile_bytes), pair[i]);
	}
}

/* Which unit of the slice comes Ith: those that warps of a group begin with come first. */
static kit_op unit_in_turn(struct qmm_writer *w, kit_op i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned ksplit = w->g->ksplit;
	return ksplit == 1 ? i : u_mad(b, u_rem(b, i, I(ksplit)), I(w->g->share), u_div(b, i, I(ksplit)));
}

/* --- by warps beside those that multiply --- */

enum { ROUND_TOKENS = QMM_BESIDE_TOKENS / 2 }; /* that a warp has values of in one set of registers of two */

struct beside {
	kit_op image, token; /* the warp's first of the block: it has every eighth, or every fourth, from there on */
	unsigned round;      /* tokens that it takes at a time */
	kit_op first_tile;
	kit_op row[2];                /* of eight that a token is: eight warps have one of them each, four have two */
	struct lane_places places[2]; /* the same */
	struct lane_values values[2][ROUND_TOKENS];
};

/* Values of the Ith unit, of round ROUND of its tokens, to set SET, if HAS (none: always). */
static void beside_load(struct qmm_writer *w, struct beside *s, unsigned set, kit_op i, unsigned round, kit_op has)
{
	struct lane_source from;
	source_of(w, u_add(&w->kit.b, s->token, w->first_token), unit_in_turn(w, i), &from);
	for (unsigned j = 0; j < s->round; j++)
		load_values(w, &from, (round * s->round + j) * w->g->beside, 0, has, &s->values[set][j]);
}

static void beside_store(struct qmm_writer *w, struct beside *s, unsigned set, kit_op i, unsigned round)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	kit_op to = u_mad(b, unit_in_turn(w, i), I(g->unit_tiles), s->first_tile);
	to = u_mad(b, to, I(g->x_tile_bytes), s->image);
	for (unsigned j = 0; j < s->round; j++) {
		const unsigned token_on = (round * s->round + j) * g->beside, odd = token_on % QMM_GROUP_TOKENS != 0;
		const unsigned at = token_on / QMM_GROUP_TOKENS * g->x_group_bytes;
		kit_op pair[PAIRS_MAX];
		if (g->group) {
			store_codes(w, 0, u_add(b, to, I(at)), s->row[odd], (kit_op){ 0 }, &s->values[set][j]);
			continue;
		}
		pairs_of(w, &s->values[set][j], pair);
		for (unsigned p = 0; p < pair_count(g); p++) {
			const kit_op base = u_add(b, to, s->places[odd].place[place_of_pair(g, p)]);
			tcb_kit_put(b, TCB_KIT_SHARED, "b32",
				    tcb_ptx_at(base, at + tile_of_pair(g, p) * g->x_tile_bytes), pair[p]);
		}
	}
}

static void beside_arrive(struct qmm_writer *w, kit_op i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op barrier = u_mad(b, unit_in_turn(w, i), I(8), w->x_barrier);
	if (w->g->is_wgmma)
		fence_async_shared(b);
	tcb_kit_warp_barrier(b);
	tcb_ptx_guard(b, u_eq(b, w->kit.lane, I(0)));
	barrier_arrive(b, tcb_ptx_at(barrier, 0));
	tcb_ptx_unguard(b);
}

void qmm_write_x_beside(struct qmm_writer *w, kit_op image)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	struct beside side = { .image = image }, *s = &side;
	const unsigned of_warp = g->tokens / g->beside; /* of each unit: one round of tokens, or two */
	const unsigned step = of_warp > ROUND_TOKENS ? 1 : 2;
	s->round = of_warp > ROUND_TOKENS ? ROUND_TOKENS : of_warp;
	s->token = u_sub(b, w->kit.warp, I(g->warps));
	s->first_tile = first_tile(w);
	for (unsigned i = 0; i < QMM_BESIDE_WARPS / g->beside; i++) {
		s->row[i] = i ? u_add(b, s->token, I(i * g->beside)) : s->token;
		if (!g->group)
			places_of(w, s->row[i], &s->places[i]);
	}
	beside_load(w, s, 0, I(0), 0, (kit_op){ 0 });
	if (step == 2) /* the loop's first loads to this set have registers to go to */
		for (unsigned j = 0; j < s->round; j++)
			for (unsigned i = 0; i < 2 * LANE_FLOATS; i++)
				s->values[1][j].value[i] = f_set(b, F(0));
	const kit_op loop = tcb_ptx_for_begin(b, I(0), I(g->slice), I(step), 1);
	const kit_op second = step == 2 ? u_add(b, loop, I(1)) : loop;
	const kit_op next = u_add(b, loop, I(step));
	kit_op has = { 0 };
	if (step == 2)
		has = u_lt(b, second, I(g->slice));
	beside_load(w, s, 1, second, step == 2 ? 0 : 1, has);
	beside_store(w, s, 0, loop, 0);
	if (step == 2)
		beside_arrive(w, loop);
	beside_load(w, s, 0, next, 0, u_lt(b, next, I(g->slice)));
	if (step == 2)
		tcb_ptx_if_begin(b, has);
	beside_store(w, s, 1, second, step == 2 ? 0 : 1);
	beside_arrive(w, second);
	if (step == 2)
		tcb_ptx_if_end(b);
	tcb_ptx_for_end(b);
}

/* Tile or record I of the block's in the image. */
static kit_op tile_at(struct qmm_writer *w, kit_op i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op groups = u_shr(b, w->padded, I(3)), first = u_shr(b, w->first_token, I(3));
	return tcb_kit_element(b, w->x, u_mad(b, i, groups, first), w->g->x_group_bytes);
}

/* By all threads, 16 bytes at a time, several asked for before the first is stored. */
static void copy_by_threads(struct qmm_writer *w, kit_op image)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const unsigned pieces = g->x_tile_bytes / CHUNK_BYTES, all = g->slice * g->unit_tiles * pieces;
	kit_op word[AHEAD][4], piece[AHEAD], has[AHEAD];
	const kit_op loop = tcb_ptx_for_begin(b, w->kit.tid, I(all), I(AHEAD * g->threads), 0);
	for (unsigned i = 0; i < AHEAD; i++) {
		kit_op from;
		piece[i] = u_add(b, loop, I(i * g->threads));
		has[i] = u_lt(b, piece[i], I(all));
		from = tile_at(w, u_div(b, piece[i], I(pieces)));
		from = tcb_kit_element(b, from, u_rem(b, piece[i], I(pieces)), CHUNK_BYTES);
		for (unsigned j = 0; j < 4; j++)
			word[i][j] = tcb_ptx_reg(b, "b32");
		tcb_kit_load_where(b, has[i], TCB_KIT_GLOBAL, "b32", from, word[i], 4);
	}
	for (unsigned i = 0; i < AHEAD; i++) {
		const kit_op to = u_mad(b, piece[i], I(CHUNK_BYTES), image);
		tcb_kit_store_where(b, has[i], TCB_KIT_SHARED, "b32", to, word[i], 4);
	}
	tcb_ptx_for_end(b);
}

static unsigned copiers(const struct qmm_gpu *g)
{
	return g->by_grid ? g->sharers : g->warps;
}

/* Bulk copies of units are asked for by a lane of each warp by turns: one thread alone would take longer than they do.
 */
static kit_op turn_of_warp(struct qmm_writer *w, unsigned i)
{
	return i ? u_add(&w->kit.b, w->kit.warp, I(i * copiers(w->g))) : w->kit.warp;
}

void qmm_write_x_open(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	if (!g->x_is_counted)
		return;
	w->x_barrier = u_add(b, w->kit.shared, I(g->x_barrier_at));
	if (g->beside) {
		tcb_ptx_guard(b, u_eq(b, w->kit.tid, I(0)));
		tcb_kit_barriers_init(b, w->x_barrier, g->slice, g->beside);
		tcb_kit_barriers_ready(b);
		tcb_ptx_unguard(b);
		return;
	}
	kit_op first = u_eq(b, w->kit.lane, I(0));
	if (g->by_grid)
		first = u_lt_and(b, w->kit.warp, I(g->sharers), first);
	for (unsigned i = 0; i * copiers(g) < g->slice; i++) {
		const kit_op turn = turn_of_warp(w, i);
		const kit_op barrier = u_mad(b, unit_in_turn(w, turn), I(8), w->x_barrier);
		tcb_ptx_guard(b, u_lt_and(b, turn, I(g->slice), first));
		tcb_kit_barriers_init(b, barrier, 1, 1);
		tcb_ptx_unguard(b);
	}
	tcb_ptx_guard(b, first);
	tcb_kit_barriers_ready(b);
	tcb_ptx_unguard(b);
}

/* The tiles of unit UNIT, counted by its barrier. */
static void copy_unit(struct qmm_writer *w, kit_op image, kit_op unit)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const kit_op barrier = tcb_ptx_at(u_mad(b, unit, I(8), w->x_barrier), 0);
	const kit_op first = u_mul(b, unit, I(g->unit_tiles));
	tcb_kit_expect(b, barrier, I(g->unit_tiles * g->x_tile_bytes));
	for (unsigned i = 0; i < g->unit_tiles; i++) {
		const kit_op tile = i ? u_add(b, first, I(i)) : first;
		tcb_kit_copy_bulk(b, tcb_ptx_at(u_mad(b, tile, I(g->x_tile_bytes), image), 0), tile_at(w, tile),
				  I(g->x_tile_bytes), barrier, NULL);
	}
}

/* prep=grid: the same warps take their share first, and ask for a unit when all of it is there. */
static void copy_shared(struct qmm_writer *w, kit_op image)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	tcb_ptx_if_begin(b, u_lt(b, w->kit.warp, I(g->sharers)));
	qmm_write_x_share(w);
	tcb_ptx_if_begin(b, u_eq(b, w->kit.lane, I(0)));
	const kit_op loop = tcb_ptx_for_begin(b, w->kit.warp, I(g->slice), I(g->sharers), 0);
	const kit_op unit = unit_in_turn(w, loop);
	qmm_write_x_ready(w, unit);
	copy_unit(w, image, unit);
	tcb_ptx_for_end(b);
	qmm_write_x_done(w);
	tcb_ptx_if_end(b);
	tcb_ptx_if_end(b);
}

void qmm_write_x_copy(struct qmm_writer *w, kit_op image)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	if (!g->x_is_bulk) {
		copy_by_threads(w, image);
		return;
	}
	if (g->by_grid) {
		copy_shared(w, image);
		return;
	}
	tcb_ptx_if_begin(b, u_eq(b, w->kit.lane, I(0)));
	const kit_op loop = tcb_ptx_for_begin(b, w->kit.warp, I(g->slice), I(g->warps), 0);
	copy_unit(w, image, unit_in_turn(w, loop));
	tcb_ptx_for_end(b);
	tcb_ptx_if_end(b);
}

void qmm_write_x_ask(struct qmm_writer *w, kit_op slot, kit_op unit)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	const unsigned pieces = g->x_tile_bytes / CHUNK_BYTES, all = g->unit_tiles * pieces;
	const kit_op first = u_mul(b, unit, I(g->unit_tiles));
	for (unsigned at = 0; at < all; at += g->threads) {
		const kit_op piece = u_add(b, w->kit.tid, I(at));
		const kit_op tile = g->unit_tiles > 1 ? u_div(b, piece, I(pieces)) : I(0);
		const kit_op within = g->unit_tiles > 1 ? u_rem(b, piece, I(pieces)) : piece;
		const kit_op from = tile_at(w, g->unit_tiles > 1 ? u_add(b, first, tile) : first);
		if (all - at < g->threads)
			tcb_ptx_guard(b, u_lt(b, piece, I(all)));
		tcb_kit_copy(b, u_mad(b, piece, I(CHUNK_BYTES), slot),
			     tcb_ptx_assume_aligned(b, tcb_kit_element(b, from, within, CHUNK_BYTES), CHUNK_BYTES),
			     CHUNK_BYTES, 0, NULL);
		if (all - at < g->threads)
			tcb_ptx_unguard(b);
	}
}

void qmm_write_lane_rows(struct qmm_writer *w, kit_op base, kit_op out[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op row = u_and(b, w->kit.lane, I(7)), chunk = u_shr(b, w->kit.lane, I(3));
	const kit_op place = u_shl(b, u_xor(b, chunk, row), I(4));
	const kit_op at = u_mad(b, row, I(TOKEN_BYTES), base);
	out[0] = tcb_ptx_assume_aligned(b, u_add(b, at, place), 16);
	out[1] = tcb_ptx_assume_aligned(b, u_add(b, at, u_xor(b, place, I(TOKEN_BYTES / 2))), 16);
}

void qmm_write_into_image(struct qmm_writer *w, kit_op image, kit_op unit, kit_op first, unsigned count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	struct lane_values values[QMM_PREPARE_TOKENS] = { 0 };
	struct lane_source from;
	kit_op tiles[QMM_CHUNKS * QMM_TERMS_MAX];
	source_of(w, first, unit, &from);
	for (unsigned i = 0; i < count; i++)
		load_values(w, &from, i, 0, (kit_op){ 0 }, &values[i]);
	const kit_op groups = u_shr(b, w->padded, I(3)), tile = u_mad(b, unit, I(g->unit_tiles), first_tile(w));
	const kit_op pitch = l_mul_wide(b, groups, I(g->x_group_bytes));
	tiles[0] = tcb_kit_element(b, image, u_mad(b, tile, groups, u_shr(b, first, I(3))), g->x_group_bytes);
	for (unsigned i = 1; i < g->unit_tiles; i++)
		tiles[i] = l_add(b, tiles[i - 1], pitch);
	for (unsigned i = 0; i < count; i++) {
		const kit_op token = u_add(b, first, I(i));
		const kit_op has = u_lt(b, token, w->padded);
		struct lane_places places;
		kit_op pair[PAIRS_MAX];
		if (g->group) {
			store_codes(w, 1, tiles[0], token, has, &values[i]);
			continue;
		}
		places_of(w, token, &places);
		pairs_of(w, &values[i], pair);
		tcb_ptx_guard(b, has);
		for (unsigned j = 0; j < pair_count(g); j++)
			tcb_kit_put(b, TCB_KIT_GLOBAL, "b32",
				    tcb_kit_element(b, tiles[tile_of_pair(g, j)], places.place[place_of_pair(g, j)], 1),
				    pair[j]);
		tcb_ptx_unguard(b);
	}
}

void qmm_write_prepare_kernel(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	kit_op image, unit, first;
	const unsigned padded = g->token_tiles * g->tokens, each = qmm_prepare_tokens(g);
	tcb_kit_begin(&w->kit, "qmm_prepare",
		      &(struct tcb_kit_kernel){ .threads = QMM_PREPARE_WARPS * WARP,
						.blocks_together = qmm_prepare_together(g),
						.grid = { g->row_units, qmm_prepare_blocks(g) },
						.is_dependent = g->pdl });
	w->x = tcb_kit_operand(&w->kit, "x", 16, TCB_QUANT_X);
	image = tcb_kit_workspace(&w->kit, "image", 256, 0);
	w->tokens = tcb_kit_number(&w->kit, "tokens", g->m);
	w->padded = tcb_kit_number(&w->kit, "padded", padded);
	tcb_kit_dependents(&w->kit, 1);
	tcb_kit_threads(&w->kit);
	unit = u_block_x(b);
	first = u_mad(b, u_block_y(b), I(QMM_PREPARE_WARPS), w->kit.warp);
	first = u_mul(b, first, I(each));
	qmm_write_into_image(w, image, unit, first, each);
	tcb_kit_end(&w->kit);
}

/* --- by warps of all blocks --- */

static kit_op claim_word(kit_op claims, unsigned word)
{
	return tcb_ptx_at(claims, 4 * (int64_t)word);
}

static kit_op ready_of(struct qmm_writer *w, kit_op unit)
{
	return tcb_ptx_at(tcb_kit_element(&w->kit.b, w->claims, unit, 4), 4 * (int64_t)QMM_CLAIM_WORDS);
}

/* Pieces of a unit: it is ready when they all are. */
static kit_op pieces_of_unit(struct qmm_writer *w)
{
	return u_div(&w->kit.b, w->padded, I(qmm_share_tokens(w->g)));
}

void qmm_write_x_share(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op of_unit = pieces_of_unit(w), all = u_mul(b, of_unit, I(w->g->row_units));
	const kit_op first = u_eq(b, w->kit.lane, I(0)), image_before = w->x, one = I(1);
	const kit_op taken = u_set(b, I(0));
	w->x = w->floats;
	tcb_ptx_repeat_begin(b);
	tcb_ptx_guard(b, first);
	u_atomic_add_to(b, taken, claim_word(w->claims, 0), one);
	tcb_ptx_unguard(b);
	const kit_op piece = u_lane(b, taken, I(0));
	const kit_op has = u_lt(b, piece, all);
	tcb_ptx_if_begin(b, has);
	const struct kit_split at = u_split(b, piece, of_unit);
	const kit_op unit = at.whole, within = at.rest;
	const unsigned tokens = qmm_share_tokens(w->g);
	qmm_write_into_image(w, w->image, unit, u_mul(b, within, I(tokens)), tokens);
	tcb_kit_warp_barrier(b);
	tcb_ptx_guard(b, first);
	fence_gpu(b); /* behind a barrier: of what the other lanes stored, too */
	u_atomic_add_relaxed(b, ready_of(w, unit), one);
	tcb_ptx_unguard(b);
	tcb_ptx_if_end(b);
	tcb_ptx_repeat_end(b, has);
	w->x = image_before;
}

void qmm_write_x_ready(struct qmm_writer *w, kit_op unit)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op all = pieces_of_unit(w);
	if (w->g->splitk > 1)
		unit = u_mad(b, u_block_y(b), I(w->g->slice), unit);
	const kit_op ready = ready_of(w, unit);
	kit_op seen;
	tcb_ptx_repeat_begin(b);
	seen = tcb_kit_get(b, TCB_KIT_ACQUIRE, "u32", ready);
	tcb_ptx_repeat_end(b, u_ne(b, seen, all));
	fence_async(b); /* bulk copies read what others' stores wrote */
}

void qmm_write_x_done(struct qmm_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op zero = I(0);
	kit_op blocks = u_mul(b, u_blocks_x(b), u_blocks_y(b));
	blocks = u_mul(b, blocks, u_blocks_z(b));
	const kit_op last = u_sub(b, u_mul(b, blocks, I(w->g->sharers)), I(1));
	fence_gpu(b);
	const kit_op arrived = tcb_kit_arrive(b, claim_word(w->claims, 1), last);
	tcb_ptx_if_begin(b, u_eq(b, arrived, last));
	tcb_kit_put(b, TCB_KIT_GLOBAL, "u32", claim_word(w->claims, 0), zero);
	const kit_op loop = tcb_ptx_for_begin(b, I(0), I(w->g->row_units), I(1), 1);
	tcb_kit_put(b, TCB_KIT_GLOBAL, "u32", ready_of(w, loop), zero);
	tcb_ptx_for_end(b);
	tcb_ptx_if_end(b);
}
