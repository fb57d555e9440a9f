/* SPDX-License-Identifier: MIT
 *
 * Which KV tokens a query of attention_decode sees; and for sched=streamk: the lengths
 * come in; out goes which pieces of KV are this block's, so that all blocks have equally
 * many, however long the sequences are (as Stream-K deals steps of products: Osama et al.
 * 2023; Flash-Decoding's splits have one size for all sequences).
 *
 * Pieces are counted over all sequences, in each over its tiles, in each tile from the
 * first; a sequence of which nothing is seen counts as one for each tile, so that its
 * zeros are somebody's business.  Blocks have even parts of that order, so one may have
 * the end of a tile, some whole ones, and the beginning of another.  A tile's parts are
 * those of blocks that follow each other.  Block b's part of tile t is number b + t of
 * all: from one part to the next either b or t is one more.
 */
#include "kernels/attention/attention_gpu.h"
#include "kernels/attention/attention_gpu_visible.h"
#include "kernels/gpu/barrier.h"

void attention_write_visible(struct attention_writer *w, kit_op length, kit_op prefix, kit_op i, kit_op *begin,
			     kit_op *end)
{
	const struct attention_gpu *g = w->g;
	attention_visible_write(&w->kit.b, g->causal, g->window, g->has_prefix ? &prefix : NULL, length, I(g->m), i,
				begin, end);
}

/* Pieces of a tile of a sequence of LENGTH with a PREFIX, at least 1: as many as all its query tokens together see. */
static kit_op pieces_of(struct attention_writer *w, kit_op length, kit_op prefix)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	kit_op begin, end, unused;
	attention_write_visible(w, length, prefix, u_set(b, I(0)), &begin, &unused);
	attention_write_visible(w, length, prefix, u_set(b, I(g->m - 1)), &unused, &end);
	return u_max(b, u_div_up(b, u_sub(b, end, begin), g->kv), I(1));
}

static kit_op load_length(struct attention_writer *w, kit_op lengths, kit_op sequence)
{
	return tcb_kit_entry(&w->kit.b, tcb_kit_input(w->g->pdl), lengths, sequence);
}

static kit_op load_prefix(struct attention_writer *w, const struct attention_deal *d, kit_op sequence)
{
	return w->g->has_prefix ? load_length(w, d->prefixes, sequence) : I(0);
}

/* pieces_of of sequence FIRST + lane, 0 past the last. */
static kit_op lane_pieces(struct attention_writer *w, const struct attention_deal *d, kit_op first, kit_op *sequence)
{
	struct tcb_ptx_build *b = &w->kit.b;
	*sequence = u_add(b, first, w->kit.lane);
	const kit_op is_there = u_lt(b, *sequence, d->sequences);
	const kit_op last = u_sub(b, d->sequences, I(1));
	const kit_op own = u_min(b, *sequence, last), length = load_length(w, d->lengths, own);
	return u_select(b, pieces_of(w, length, load_prefix(w, d, own)), I(0), is_there);
}

/* Of VALUE over the lanes up to this one. */
static kit_op sum_up_to(struct attention_writer *w, kit_op value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sum = value;
	for (unsigned step = 1; step < WARP; step *= 2) {
		const kit_op other = u_lane_before(b, sum, I(step));
		const kit_op is_there = u_ge(b, w->kit.lane, I(step));
		sum = u_add(b, sum, u_select(b, other, I(0), is_there));
	}
	return sum;
}

/* Pieces of one tile of each sequence. */
static kit_op write_all(struct attention_writer *w, struct attention_deal *d)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sequence;
	const kit_op sum = u_set(b, I(0));
	const kit_op loop = tcb_ptx_for_begin(b, I(0), d->sequences, I(WARP), 1);
	tcb_kit_nounroll(b);
	u_add_to(b, sum, sum, lane_pieces(w, d, loop, &sequence));
	tcb_ptx_for_end(b);
	return tcb_kit_over_lanes(b, u_add, sum, WARP);
}

/* The sequence in whose tiles piece FIRST of all is, and the pieces of one tile of those before it. */
static void write_find(struct attention_writer *w, struct attention_deal *d, kit_op first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sequence;
	const kit_op wanted = u_div(b, first, I(w->g->tiles)), all = u_set(b, I(0));
	const kit_op own = u_set(b, I(0)), before = u_set(b, I(0));
	const kit_op loop = tcb_ptx_for_begin(b, I(0), d->sequences, I(WARP), 1);
	tcb_kit_nounroll(b);
	const kit_op pieces = lane_pieces(w, d, loop, &sequence);
	const kit_op end = u_add(b, all, sum_up_to(w, pieces)), begin = u_sub(b, end, pieces);
	const kit_op is_it = u_le_and(b, begin, wanted, u_gt(b, end, wanted)); /* one lane, once */
	u_select_to(b, own, sequence, own, is_it);
	u_select_to(b, before, begin, before, is_it);
	u_set_to(b, all, u_lane(b, end, I(WARP - 1)));
	tcb_ptx_for_end(b);
	d->sequence = u_set(b, tcb_kit_over_lanes(b, u_add, own, WARP));
	d->before = u_set(b, tcb_kit_over_lanes(b, u_add, before, WARP));
}

/* The block that has piece PIECE of all. */
static kit_op block_of(struct attention_writer *w, const struct attention_deal *d, kit_op piece)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op larger = u_add(b, d->each, I(1)), border = u_mul(b, d->more, larger);
	const kit_op rest = u_div(b, u_sub(b, piece, border), u_max(b, d->each, I(1)));
	return u_select(b, u_div(b, piece, larger), u_add(b, d->more, rest), u_lt(b, piece, border));
}

/* The tile that the block is at: which it is, which of its pieces are the block's, and who has the others. */
static void write_step(struct attention_writer *w, struct attention_deal *d)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned tiles = w->g->tiles;
	d->length = load_length(w, d->lengths, d->sequence);
	d->prefix = load_prefix(w, d, d->sequence);
	d->pieces = pieces_of(w, d->length, d->prefix);
	w->sequence = d->sequence;
	w->tile = u_div(b, d->within, d->pieces);
	const kit_op first = u_mul(b, w->tile, d->pieces);
	w->first_piece = u_sub(b, d->within, first);
	d->taken = u_min(b, d->left, u_sub(b, d->pieces, w->first_piece));
	w->end_piece = u_add(b, w->first_piece, d->taken);
	const kit_op of_tile = u_mad(b, d->before, I(tiles), first);
	const kit_op last = u_sub(b, u_add(b, of_tile, d->pieces), I(1));
	const kit_op from = block_of(w, d, of_tile), item = u_mad(b, d->sequence, I(tiles), w->tile);
	w->parts_count = u_add(b, u_sub(b, block_of(w, d, last), from), I(1));
	w->first_part = u_add(b, from, item);
	w->split = u_add(b, d->block, item);
}

void attention_deal_begin(struct attention_writer *w, struct attention_deal *d)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op blocks = u_blocks_x(b);
	d->block = u_block_x(b);
	const kit_op all = u_mul(b, write_all(w, d), I(w->g->tiles));
	const struct kit_split each = u_split(b, all, blocks);
	d->each = each.whole;
	d->more = each.rest;
	const kit_op first = u_mad(b, d->block, d->each, u_min(b, d->block, d->more));
	d->left = u_add(b, d->each, u_select(b, I(1), I(0), u_lt(b, d->block, d->more)));
	write_find(w, d, first);
	d->within = u_sub(b, first, u_mul(b, d->before, I(w->g->tiles)));
	tcb_ptx_if_begin(b, u_gt(b, d->left, I(0)));
	tcb_ptx_repeat_begin(b);
	write_step(w, d);
}

void attention_deal_end(struct attention_writer *w, struct attention_deal *d)
{
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_kit_block_barrier(b); /* all have done with what the next tile takes the place of */
	u_sub_to(b, d->left, d->left, d->taken);
	u_add_to(b, d->within, d->within, d->taken);
	const kit_op is_end = u_eq(b, d->within, u_mul(b, d->pieces, I(w->g->tiles)));
	tcb_ptx_guard(b, is_end);
	u_add_to(b, d->sequence, d->sequence, I(1));
	u_add_to(b, d->before, d->before, d->pieces);
	u_set_to(b, d->within, I(0));
	tcb_ptx_unguard(b);
	tcb_ptx_repeat_end(b, u_gt(b, d->left, I(0)));
	tcb_ptx_if_end(b);
}
