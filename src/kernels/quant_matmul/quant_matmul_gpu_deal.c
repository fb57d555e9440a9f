/* SPDX-License-Identifier: MIT
 *
 * Units dealt to blocks, and the joining of tiles that several of them have parts of.
 *
 * Warps join by themselves, since each has its own rows: its sums go to a place of its block, as they lie in its
 * registers, 16 bytes per lane; then it counts itself in, and the one that finds all others counted adds up their
 * sums and stores y.  A block has two such places: of its first tile, and of its last one.  Most tiles that are cut
 * are two blocks': then the second to come keeps its sums, and waits for no more than the other's stores, which are
 * under way.
 */
#include "kernels/quant_matmul/quant_matmul_gpu_deal.h"

#include "kernels/quant_matmul/quant_matmul_gpu_join.h"

enum { LANE_SUMS = 4, LANE_SUM_BYTES = 16, ARRIVED = 0, STORED = 1 /* words of a warp's */ };

/* The first of BLOCK's units. */
static kit_op begin_of(struct qmm_writer *w, kit_op block)
{
	struct tcb_ptx_build *b = &w->kit.b;
	return u_mad(b, block, w->least, u_min(b, block, w->longer));
}

/* The block that has UNIT: the first LONGER ones have one more each. */
static kit_op owner_of(struct qmm_writer *w, kit_op unit)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op more = u_add(b, w->least, I(1)), of_longer = u_mul(b, w->longer, more);
	const kit_op beyond = u_sub(b, u_max(b, unit, of_longer), of_longer);
	return u_select(b, u_div(b, unit, more), u_add(b, w->longer, u_div(b, beyond, w->least)),
			u_lt(b, unit, of_longer));
}

void qmm_write_deal_open(struct qmm_writer *w, struct qmm_deal *d)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op block = u_block_x(b);
	d->begin = begin_of(w, block);
	d->end = begin_of(w, u_add(b, block, I(1)));
}

void qmm_write_tile_at(struct qmm_writer *w, kit_op tile, struct qmm_tile_at *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct kit_split at = u_split(b, tile, u_div_up(b, w->tokens, w->g->tokens));
	out->group = u_mul(b, at.whole, I(w->g->side));
	out->first_token = u_mul(b, at.rest, I(w->g->tokens));
}

/* Where the calling lane's sums of this warp are in place PLACE. */
static kit_op place_at(struct qmm_writer *w, kit_op place)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op warp = u_mad(b, place, I(w->g->warps), w->kit.warp);
	const kit_op at = tcb_kit_element(b, w->slices, warp, w->g->part_bytes / w->g->warps);
	return tcb_ptx_assume_aligned(b, tcb_kit_element(b, at, w->kit.lane, LANE_SUM_BYTES), LANE_SUM_BYTES);
}

static void store_sums(struct qmm_writer *w, kit_op at, struct qmm_sums *sums)
{
	const struct qmm_gpu *g = w->g;
	for (unsigned i = 0; i < g->row_tiles; i++)
		for (unsigned group8 = 0; group8 < g->token_groups; group8++)
			tcb_kit_store(&w->kit.b, TCB_KIT_GLOBAL, "f32",
				      tcb_ptx_at(at, WARP * LANE_SUM_BYTES * (i * g->token_groups + group8)),
				      sums->of[0][i][group8], LANE_SUMS);
}

static void add_sums(struct qmm_writer *w, kit_op at, struct qmm_sums *sums)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmm_gpu *g = w->g;
	for (unsigned i = 0; i < g->row_tiles; i++)
		for (unsigned group8 = 0; group8 < g->token_groups; group8++) {
			kit_op part[LANE_SUMS];
			tcb_kit_load(b, TCB_KIT_OTHERS, "f32",
				     tcb_ptx_at(at, WARP * LANE_SUM_BYTES * (i * g->token_groups + group8)), part,
				     LANE_SUMS);
			for (unsigned k = 0; k < LANE_SUMS; k++) {
				kit_op *sum = &sums->of[0][i][group8][k];
				f_add_to(b, *sum, *sum, part[k]);
			}
		}
}

static void zero_sums(struct qmm_writer *w, struct qmm_sums *sums)
{
	for (unsigned i = 0; i < w->g->row_tiles; i++)
		for (unsigned group8 = 0; group8 < w->g->token_groups; group8++)
			for (unsigned k = 0; k < LANE_SUMS; k++)
				f_set_to(&w->kit.b, sums->of[0][i][group8][k], F(0));
}

/* This warp's word number WORD of TILE. */
static kit_op word_at(struct qmm_writer *w, kit_op tile, unsigned word)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op warp = u_mad(b, tile, I(w->g->warps), w->kit.warp);
	return tcb_ptx_at(tcb_kit_element(b, w->counters, warp, 4 * QMM_DEAL_WORDS), 4 * (int64_t)word);
}

/* How many of this warp of COUNT + 1 blocks came before; the word is 0 again after the last. */
static kit_op count_in(struct qmm_writer *w, kit_op tile, kit_op count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op word = word_at(w, tile, ARRIVED), seen = u_set(b, I(0));
	tcb_kit_warp_barrier(b);
	tcb_ptx_if_begin(b, u_eq(b, w->kit.lane, I(0)));
	fence_gpu(b); /* behind the barrier: of what the other lanes stored, too */
	u_add_to(b, seen, tcb_kit_arrive(b, word, count), I(0));
	tcb_ptx_if_end(b);
	tcb_kit_warp_barrier(b);
	return u_lane(b, seen, I(0));
}

/* Of two blocks the first one has stored its sums, and the other sees them. */
static void say_stored(struct qmm_writer *w, kit_op tile)
{
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_kit_warp_barrier(b);
	tcb_ptx_if_begin(b, u_eq(b, w->kit.lane, I(0)));
	fence_gpu(b);
	u_atomic_add_relaxed(b, word_at(w, tile, STORED), I(1));
	tcb_ptx_if_end(b);
}

static void wait_stored(struct qmm_writer *w, kit_op tile)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op word = word_at(w, tile, STORED);
	tcb_ptx_if_begin(b, u_eq(b, w->kit.lane, I(0)));
	tcb_ptx_repeat_begin(b);
	const kit_op stored = u_atomic_count(b, word, I(0)); /* which makes it 0 */
	tcb_ptx_repeat_end(b, u_eq(b, stored, I(0)));
	fence_gpu(b);
	tcb_ptx_if_end(b);
	tcb_kit_warp_barrier(b);
}

/* The blocks whose stored sums are still to be added: FIRST to LAST. */
struct owed {
	kit_op first, last;
};

/* One of two blocks: the first to come stores, the other keeps its sums.  What is added is the same either way. */
static void meet_one(struct qmm_writer *w, kit_op tile, kit_op arrived, kit_op other, kit_op is_last,
		     const struct owed *owed)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op is_second = u_ne(b, arrived, I(0));
	tcb_ptx_if_begin(b, is_second);
	wait_stored(w, tile);
	tcb_ptx_if_else(b);
	say_stored(w, tile);
	tcb_ptx_if_end(b);
	u_select_to(b, is_last, I(1), I(0), is_second);
	u_add_to(b, owed->first, other, I(0));
	u_add_to(b, owed->last, other, I(0));
}

/* One of many: all store, and the last adds up what all have. */
static void meet_many(struct qmm_writer *w, kit_op tile, kit_op others, kit_op is_last, struct qmm_sums *sums)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op seen = count_in(w, tile, others);
	u_select_to(b, is_last, I(1), I(0), u_eq(b, seen, others));
	zero_sums(w, sums);
}

/* Who of two blocks comes to TILE second: 1. */
static kit_op arrive(struct qmm_writer *w, kit_op tile)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op arrived = u_set(b, I(0)), word = word_at(w, tile, ARRIVED);
	tcb_ptx_if_begin(b, u_eq(b, w->kit.lane, I(0)));
	u_add_to(b, arrived, u_atomic_count(b, word, I(1)), I(0));
	tcb_ptx_if_end(b);
	tcb_kit_warp_barrier(b);
	return u_lane(b, arrived, I(0));
}

/* What the block has of the tile meets what others have; IS_LAST becomes 0 unless SUMS are then those of all. */
static void join(struct qmm_writer *w, const struct qmm_deal *d, kit_op tile, kit_op is_last, struct qmm_sums *sums)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op units = I(w->g->row_units), first = u_mul(b, tile, units), block = u_block_x(b);
	const kit_op from = owner_of(w, first), to = owner_of(w, u_add(b, first, u_sub(b, units, I(1))));
	const kit_op others = u_sub(b, to, from), is_pair = u_eq(b, others, I(1)), arrived = u_set(b, I(0));
	const struct owed owed = { u_set(b, from), u_set(b, to) };
	/* A block that begins before the tile has it as its last one. */
	const kit_op own = u_select(b, I(1), I(0), u_lt(b, d->begin, first));
	tcb_ptx_if_begin(b, is_pair);
	u_add_to(b, arrived, arrive(w, tile), I(0));
	tcb_ptx_if_end(b);
	tcb_ptx_if_begin(b, u_eq(b, arrived, I(0)));
	store_sums(w, place_at(w, u_mad(b, block, I(2), own)), sums);
	tcb_ptx_if_end(b);
	tcb_ptx_if_begin(b, is_pair);
	meet_one(w, tile, arrived, u_select(b, to, from, u_eq(b, block, from)), is_last, &owed);
	tcb_ptx_if_else(b);
	meet_many(w, tile, others, is_last, sums);
	tcb_ptx_if_end(b);
	tcb_ptx_if_begin(b, u_ne(b, is_last, I(0)));
	const kit_op part = tcb_ptx_for_begin(b, owed.first, u_add(b, owed.last, I(1)), I(1), 1);
	const kit_op last = u_select(b, I(1), I(0), u_lt(b, begin_of(w, part), first));
	add_sums(w, place_at(w, u_mad(b, part, I(2), last)), sums);
	tcb_ptx_for_end(b);
	tcb_ptx_if_end(b);
}

void qmm_write_dealt_results(struct qmm_writer *w, const struct qmm_deal *d, kit_op tile, kit_op whole,
			     struct qmm_sums *sums)
{
	struct tcb_ptx_build *b = &w->kit.b;
	struct qmm_tile_at at;
	qmm_write_tile_at(w, tile, &at);
	w->first_token = at.first_token;
	const kit_op is_there = u_set(b, I(1));
	tcb_ptx_if_begin(b, tcb_ptx_not(whole));
	join(w, d, tile, is_there, sums);
	tcb_ptx_if_end(b);
	tcb_ptx_if_begin(b, u_ne(b, is_there, I(0)));
	qmm_write_results(w, u_add(b, at.group, w->side), sums);
	tcb_ptx_if_end(b);
}
