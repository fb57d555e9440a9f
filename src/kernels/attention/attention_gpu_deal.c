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
#include "kernels/gpu/barrier.h"

void attention_write_visible(struct attention_writer *w, kit_op length, kit_op i, kit_op *begin, kit_op *end)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	const kit_op next = OP2(b, "add.s32", OP2(b, "sub.s32", length, I(g->m)), OP2(b, "add.u32", i, I(1)));
	*end = g->causal ? OP2(b, "max.s32", next, I(0)) : length;
	*begin = g->window ? OP2(b, "max.s32", OP2(b, "sub.s32", next, I(g->window)), I(0))
			   : tcb_kit_constant(b, "u32", I(0));
	if (g->window)
		*begin = OP2(b, "min.s32", *begin, *end);
}

/* Pieces of a tile of a sequence of LENGTH, at least 1: as many as all its query tokens together see. */
static kit_op pieces_of(struct attention_writer *w, kit_op length)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	kit_op begin, end, unused;
	attention_write_visible(w, length, tcb_kit_constant(b, "u32", I(0)), &begin, &unused);
	attention_write_visible(w, length, tcb_kit_constant(b, "u32", I(g->m - 1)), &unused, &end);
	const kit_op left = OP2(b, "add.u32", OP2(b, "sub.u32", end, begin), I(g->kv - 1));
	return OP2(b, "max.u32", OP2(b, "div.u32", left, I(g->kv)), I(1));
}

static kit_op load_length(struct attention_writer *w, kit_op lengths, kit_op sequence)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op length;
	tcb_kit_load(b, w->g->pdl ? "ld.global" : "ld.global.nc", "u32",
		     tcb_ptx_at(tcb_kit_element(b, lengths, sequence, 4), 0), &length, 1);
	return length;
}

/* pieces_of of sequence FIRST + lane, 0 past the last. */
static kit_op lane_pieces(struct attention_writer *w, const struct attention_deal *d, kit_op first, kit_op *sequence)
{
	struct tcb_ptx_build *b = &w->kit.b;
	*sequence = OP2(b, "add.u32", first, w->kit.lane);
	const kit_op is_there = OP2(b, "setp.lt.u32", *sequence, d->sequences);
	const kit_op last = OP2(b, "sub.u32", d->sequences, I(1));
	const kit_op length = load_length(w, d->lengths, OP2(b, "min.u32", *sequence, last));
	return OP3(b, "selp.u32", pieces_of(w, length), I(0), is_there);
}

/* Of VALUE over the lanes up to this one. */
static kit_op sum_up_to(struct attention_writer *w, kit_op value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sum = value;
	for (unsigned step = 1; step < WARP; step *= 2) {
		const kit_op other = OP4(b, "shfl.sync.up.b32", sum, I(step), I(0), I(-1));
		const kit_op is_there = OP2(b, "setp.ge.u32", w->kit.lane, I(step));
		sum = OP2(b, "add.u32", sum, OP3(b, "selp.u32", other, I(0), is_there));
	}
	return sum;
}

/* Pieces of one tile of each sequence. */
static kit_op write_all(struct attention_writer *w, struct attention_deal *d)
{
	struct tcb_ptx_build *b = &w->kit.b;
	struct tcb_ptx_for loop;
	kit_op sequence;
	const kit_op sum = tcb_kit_constant(b, "u32", I(0));
	tcb_ptx_for_begin(b, &loop, I(0), d->sequences, I(WARP), 1);
	tcb_kit_nounroll(b);
	tcb_ptx_into2(b, "add.u32", sum, sum, lane_pieces(w, d, loop.iv, &sequence));
	tcb_ptx_for_end(b, &loop);
	return tcb_kit_over_lanes(b, "add.u32", sum, WARP);
}

/* The sequence in whose tiles piece FIRST of all is, and the pieces of one tile of those before it. */
static void write_find(struct attention_writer *w, struct attention_deal *d, kit_op first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	struct tcb_ptx_for loop;
	kit_op sequence;
	const kit_op wanted = OP2(b, "div.u32", first, I(w->g->tiles)), all = tcb_kit_constant(b, "u32", I(0));
	const kit_op own = tcb_kit_constant(b, "u32", I(0)), before = tcb_kit_constant(b, "u32", I(0));
	tcb_ptx_for_begin(b, &loop, I(0), d->sequences, I(WARP), 1);
	tcb_kit_nounroll(b);
	const kit_op pieces = lane_pieces(w, d, loop.iv, &sequence);
	const kit_op end = OP2(b, "add.u32", all, sum_up_to(w, pieces)), begin = OP2(b, "sub.u32", end, pieces);
	const kit_op is_it =
		OP3(b, "setp.le.and.u32", begin, wanted, OP2(b, "setp.gt.u32", end, wanted)); /* one lane, once */
	tcb_ptx_into3(b, "selp.u32", own, sequence, own, is_it);
	tcb_ptx_into3(b, "selp.u32", before, begin, before, is_it);
	tcb_ptx_into1(b, "mov.u32", all, OP4(b, "shfl.sync.idx.b32", end, I(WARP - 1), I(WARP - 1), I(-1)));
	tcb_ptx_for_end(b, &loop);
	d->sequence = OP1(b, "mov.u32", tcb_kit_over_lanes(b, "add.u32", own, WARP));
	d->before = OP1(b, "mov.u32", tcb_kit_over_lanes(b, "add.u32", before, WARP));
}

/* The block that has piece PIECE of all. */
static kit_op block_of(struct attention_writer *w, const struct attention_deal *d, kit_op piece)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op larger = OP2(b, "add.u32", d->each, I(1)), border = OP2(b, "mul.lo.u32", d->more, larger);
	const kit_op rest = OP2(b, "div.u32", OP2(b, "sub.u32", piece, border), OP2(b, "max.u32", d->each, I(1)));
	return OP3(b, "selp.u32", OP2(b, "div.u32", piece, larger), OP2(b, "add.u32", d->more, rest),
		   OP2(b, "setp.lt.u32", piece, border));
}

/* The tile that the block is at: which it is, which of its pieces are the block's, and who has the others. */
static void write_step(struct attention_writer *w, struct attention_deal *d)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned tiles = w->g->tiles;
	d->length = load_length(w, d->lengths, d->sequence);
	d->pieces = pieces_of(w, d->length);
	w->sequence = d->sequence;
	w->tile = OP2(b, "div.u32", d->within, d->pieces);
	const kit_op first = OP2(b, "mul.lo.u32", w->tile, d->pieces);
	w->first_piece = OP2(b, "sub.u32", d->within, first);
	d->taken = OP2(b, "min.u32", d->left, OP2(b, "sub.u32", d->pieces, w->first_piece));
	w->end_piece = OP2(b, "add.u32", w->first_piece, d->taken);
	const kit_op of_tile = OP3(b, "mad.lo.u32", d->before, I(tiles), first);
	const kit_op last = OP2(b, "sub.u32", OP2(b, "add.u32", of_tile, d->pieces), I(1));
	const kit_op from = block_of(w, d, of_tile), item = OP3(b, "mad.lo.u32", d->sequence, I(tiles), w->tile);
	w->parts_count = OP2(b, "add.u32", OP2(b, "sub.u32", block_of(w, d, last), from), I(1));
	w->first_part = OP2(b, "add.u32", from, item);
	w->split = OP2(b, "add.u32", d->block, item);
}

void attention_deal_begin(struct attention_writer *w, struct attention_deal *d)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op blocks = tcb_ptx_special(b, "nctaid.x");
	d->block = tcb_ptx_special(b, "ctaid.x");
	const kit_op all = OP2(b, "mul.lo.u32", write_all(w, d), I(w->g->tiles));
	d->each = OP2(b, "div.u32", all, blocks);
	d->more = OP2(b, "sub.u32", all, OP2(b, "mul.lo.u32", d->each, blocks));
	const kit_op first = OP3(b, "mad.lo.u32", d->block, d->each, OP2(b, "min.u32", d->block, d->more));
	d->left = OP2(b, "add.u32", d->each, OP3(b, "selp.u32", I(1), I(0), OP2(b, "setp.lt.u32", d->block, d->more)));
	write_find(w, d, first);
	d->within = OP2(b, "sub.u32", first, OP2(b, "mul.lo.u32", d->before, I(w->g->tiles)));
	tcb_ptx_if_begin(b, &d->some, OP2(b, "setp.gt.u32", d->left, I(0)));
	tcb_ptx_repeat_begin(b, &d->loop);
	write_step(w, d);
}

void attention_deal_end(struct attention_writer *w, struct attention_deal *d)
{
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_kit_block_barrier(b); /* all have done with what the next tile takes the place of */
	tcb_ptx_into2(b, "sub.u32", d->left, d->left, d->taken);
	tcb_ptx_into2(b, "add.u32", d->within, d->within, d->taken);
	const kit_op is_end = OP2(b, "setp.eq.u32", d->within, OP2(b, "mul.lo.u32", d->pieces, I(w->g->tiles)));
	tcb_ptx_guard(b, is_end);
	tcb_ptx_into2(b, "add.u32", d->sequence, d->sequence, I(1));
	tcb_ptx_into2(b, "add.u32", d->before, d->before, d->pieces);
	tcb_ptx_into1(b, "mov.u32", d->within, I(0));
	tcb_ptx_unguard(b);
	tcb_ptx_repeat_end(b, &d->loop, OP2(b, "setp.gt.u32", d->left, I(0)));
	tcb_ptx_if_end(b, &d->some);
}
