/* SPDX-License-Identifier: MIT
 *
 * Which products are which expert's, on a GPU: ids come in, and chunks of up to
 * micro.m products of one expert go out, those of no expert behind all others.
 * A block counts in shared memory, turns counts into first chunks, and puts
 * each product at a place of its expert's chunks, each of which has micro.m.  Where one block does it for all, that
 * is the next free one: in which order an expert's products come is chance then,
 * and does not show, since each is a column of its own.  Where each block does it
 * for itself, all must come to the same chunks, so products keep their order: the
 * first warp goes over them, and lanes tell how many before them are alike.
 */
#include "base/sizes.h"
#include "kernels/gpu/barrier.h"
#include "kernels/quant_experts/quant_experts_gpu_writer.h"

enum { WORD = 4, GROUPS_MOST = QEX_IN_BLOCK_MOST / WARP };

kit_op qex_route_at(struct qex_writer *x, kit_op base, kit_op index, unsigned bytes)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	if (x->route_memory == TCB_KIT_SHARED)
		return tcb_ptx_assume_aligned(b, u_mad(b, index, I(bytes), base), bytes);
	return tcb_kit_element(b, base, index, bytes);
}

/* Words in shared memory: of expert I its first place in the order (at first its count), its first chunk, its count. */
static kit_op first_at(struct qex_writer *x, kit_op i)
{
	return u_mad(&x->w.kit.b, i, I(WORD), x->counts);
}

static kit_op chunk_at(struct qex_writer *x, kit_op i)
{
	return tcb_ptx_at(first_at(x, i), (int64_t)x->g->route_entries * WORD);
}

static kit_op count_at(struct qex_writer *x, kit_op i)
{
	return tcb_ptx_at(first_at(x, i), 2 * (int64_t)x->g->route_entries * WORD);
}

static void clear(struct qex_writer *x)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const kit_op loop = tcb_ptx_for_begin(b, x->w.kit.tid, I(x->g->route_entries), I(x->route_threads), 0);
	tcb_kit_put(b, TCB_KIT_SHARED, "u32", first_at(x, loop), I(0));
	tcb_ptx_for_end(b);
	tcb_kit_block_barrier(b);
}

/* routes_itself: products of the first warp's lanes, a group of 32 behind the other: their experts, and how many of the
 * products before each have the same. */
struct ranked {
	unsigned groups;
	kit_op product[GROUPS_MOST], has[GROUPS_MOST], expert[GROUPS_MOST], rank[GROUPS_MOST];
};

/* Adds up counts on the way. */
static void rank_products(struct qex_writer *x, kit_op ids, kit_op count, struct ranked *r)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const kit_op lane = x->w.kit.lane;
	kit_op id[GROUPS_MOST];
	r->groups = (unsigned)tcb_div_up(x->g->pairs, WARP);
	for (unsigned i = 0; i < r->groups; i++) {
		r->product[i] = i ? u_add(b, lane, I(i * WARP)) : lane;
		r->has[i] = u_lt(b, r->product[i], count);
		r->expert[i] = u_set(b, I(0));
		r->rank[i] = u_set(b, I(0));
		id[i] = u_set(b, I(0));
	}
	tcb_ptx_if_begin(b, u_lt(b, x->w.kit.tid, I(WARP)));
	for (unsigned i = 0; i < r->groups; i++)
		tcb_kit_load_where(b, r->has[i], tcb_kit_input(x->g->tile.pdl), "u32",
				   tcb_kit_element(b, ids, r->product[i], WORD), &id[i], 1);
	for (unsigned i = 0; i < r->groups; i++) {
		/* Lanes without a product are like no other. */
		const kit_op none = u_add(b, lane, I(x->g->experts + 1));
		u_select_to(b, r->expert[i], u_min(b, id[i], I(x->g->experts)), none, r->has[i]);
		const kit_op alike = u_lanes_alike(b, r->expert[i]), at = first_at(x, r->expert[i]);
		const kit_op before = u_bits(b, u_and(b, alike, u_lanes_below(b)));
		tcb_kit_load_where(b, r->has[i], TCB_KIT_SHARED, "u32", at, &r->rank[i], 1);
		tcb_kit_warp_barrier(b);
		tcb_kit_put_where(b, u_eq_and(b, before, I(0), r->has[i]), TCB_KIT_SHARED, "u32", at,
				  u_add(b, r->rank[i], u_bits(b, alike)));
		u_add_to(b, r->rank[i], r->rank[i], before);
		tcb_kit_warp_barrier(b);
	}
	tcb_ptx_if_end(b);
}

/* Each product to the place that its expert's first one and its rank say. */
static void place_ranked(struct qex_writer *x, const struct ranked *r)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	tcb_ptx_if_begin(b, u_lt(b, x->w.kit.tid, I(WARP)));
	for (unsigned i = 0; i < r->groups; i++) {
		const kit_op first = u_set(b, I(0));
		tcb_kit_load_where(b, r->has[i], TCB_KIT_SHARED, "u32", first_at(x, r->expert[i]), &first, 1);
		const kit_op place = u_add(b, first, r->rank[i]);
		tcb_kit_put_where(b, r->has[i], TCB_KIT_SHARED, "u32", qex_route_at(x, x->order, place, WORD),
				  r->product[i]);
	}
	tcb_ptx_if_end(b);
}

/* Adds 1 to each product's expert; with IS_PLACED what was there is the product's place. */
static void go_over(struct qex_writer *x, kit_op ids, kit_op count, int is_placed)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const enum tcb_kit_memory input = tcb_kit_input(x->g->tile.pdl);
	const unsigned rounds = tcb_div_up(x->g->pairs, x->route_threads);
	const unsigned ahead = rounds < QEX_ROUTE_AHEAD ? rounds : QEX_ROUTE_AHEAD;
	kit_op product[QEX_ROUTE_AHEAD], has[QEX_ROUTE_AHEAD], id[QEX_ROUTE_AHEAD];
	const kit_op loop = tcb_ptx_for_begin(b, x->w.kit.tid, count, I(ahead * x->route_threads), 0);
	for (unsigned i = 0; i < ahead; i++) {
		product[i] = i ? u_add(b, loop, I(i * x->route_threads)) : loop;
		has[i] = u_lt(b, product[i], count);
		id[i] = u_set(b, I(0));
		tcb_kit_load_where(b, has[i], input, "u32", tcb_kit_element(b, ids, product[i], WORD), &id[i], 1);
	}
	for (unsigned i = 0; i < ahead; i++) {
		const kit_op expert = u_min(b, id[i], I(x->g->experts));
		const kit_op at = first_at(x, expert), one = I(1), place = u_set(b, I(0));
		tcb_ptx_guard(b, has[i]);
		u_shared_add_to(b, place, tcb_ptx_at(at, 0), one);
		tcb_ptx_unguard(b);
		if (is_placed)
			tcb_kit_put_where(b, has[i], x->route_memory, "u32", qex_route_at(x, x->order, place, WORD),
					  product[i]);
	}
	tcb_ptx_for_end(b);
}

/* VALUE of the lanes before this one, added. */
static kit_op sum_before(struct qex_writer *x, kit_op value)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	kit_op sum = value;
	for (unsigned distance = 1; distance < WARP; distance *= 2) {
		const kit_op before = u_lane_before(b, sum, I(distance));
		const kit_op is_there = u_ge(b, x->w.kit.lane, I(distance));
		sum = u_add(b, sum, u_select(b, before, I(0), is_there));
	}
	return u_sub(b, sum, value);
}

/* Counts to first chunks and places, by the first warp, each lane of as many experts behind each other. */
static void scan(struct qex_writer *x)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const unsigned each = x->g->route_entries / WARP, tokens = x->g->tile.tokens;
	const int64_t pitch = (int64_t)x->g->route_entries * WORD;
	const kit_op chunk = u_set(b, I(0));
	tcb_ptx_if_begin(b, u_lt(b, x->w.kit.tid, I(WARP)));
	const kit_op at = first_at(x, u_mul(b, x->w.kit.lane, I(each)));
	kit_op entry = u_set(b, at), count;
	tcb_ptx_for_begin(b, I(0), I(each), I(1), 1);
	count = tcb_kit_get(b, TCB_KIT_SHARED, "u32", entry);
	u_add_to(b, chunk, chunk, u_div_up(b, count, tokens));
	u_add_to(b, entry, entry, I(WORD));
	tcb_ptx_for_end(b);
	u_set_to(b, chunk, sum_before(x, chunk));
	u_set_to(b, entry, at);
	tcb_ptx_for_begin(b, I(0), I(each), I(1), 1);
	count = tcb_kit_get(b, TCB_KIT_SHARED, "u32", entry);
	tcb_kit_put(b, TCB_KIT_SHARED, "u32", entry, u_mul(b, chunk, I(tokens)));
	tcb_kit_put(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(entry, pitch), chunk);
	tcb_kit_put(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(entry, 2 * pitch), count);
	u_add_to(b, chunk, chunk, u_div_up(b, count, tokens));
	u_add_to(b, entry, entry, I(WORD));
	tcb_ptx_for_end(b);
	tcb_ptx_if_end(b);
	tcb_kit_block_barrier(b);
}

/* Each expert's chunks to the table. */
static void cut(struct qex_writer *x)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const unsigned tokens = x->g->tile.tokens, bytes = QEX_CHUNK_WORDS * WORD;
	const kit_op expert = tcb_ptx_for_begin(b, x->w.kit.tid, I(x->g->experts + 1), I(x->route_threads), 0);
	const kit_op first_chunk = chunk_at(x, expert), of_expert = count_at(x, expert);
	const kit_op chunk = tcb_kit_get(b, TCB_KIT_SHARED, "u32", first_chunk);
	const kit_op count = tcb_kit_get(b, TCB_KIT_SHARED, "u32", of_expert);
	const kit_op loop = tcb_ptx_for_begin(b, I(0), count, I(tokens), 0);
	const kit_op left = u_min(b, u_sub(b, count, loop), I(tokens));
	tcb_kit_store(b, x->route_memory, "u32",
		      tcb_ptx_assume_aligned(b, qex_route_at(x, x->table, chunk, bytes), bytes),
		      (const kit_op[]){ expert, left }, QEX_CHUNK_WORDS);
	u_add_to(b, chunk, chunk, I(1));
	tcb_ptx_for_end(b);
	tcb_ptx_for_end(b);
}

/*
 * In a block of its own, no more products than a warp has lanes: each lane has one, whose rank among those alike says
 * whether a chunk begins with it.  The first warp writes.
 */
static void route_lanes(struct qex_writer *x, kit_op ids, kit_op count)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const unsigned tokens = x->g->tile.tokens, bytes = QEX_CHUNK_WORDS * WORD;
	const kit_op lane = x->w.kit.lane;
	tcb_ptx_if_begin(b, u_lt(b, x->w.kit.tid, I(WARP)));
	const kit_op has = u_lt(b, lane, count), id = u_set(b, I(0));
	tcb_kit_load_where(b, has, tcb_kit_input(x->g->tile.pdl), "u32", tcb_kit_element(b, ids, lane, WORD), &id, 1);
	/* Lanes without a product are like no other. */
	const kit_op expert = u_select(b, u_min(b, id, I(x->g->experts)), u_add(b, lane, I(x->g->experts + 1)), has);
	const kit_op alike = u_lanes_alike(b, expert), rank = u_bits(b, u_and(b, alike, u_lanes_below(b)));
	const kit_op in_chunk = u_and(b, rank, I(tokens - 1)), begins = u_eq_and(b, in_chunk, I(0), has);
	const kit_op firsts = u_lanes_where(b, begins);
	const kit_op own = u_highest(b, u_and(b, u_and(b, firsts, alike), u_lanes_up_to(b)));
	const kit_op chunk = u_bits(b, u_and(b, firsts, u_sub(b, u_shl(b, I(1), own), I(1))));
	const kit_op left = u_min(b, u_sub(b, u_bits(b, alike), rank), I(tokens));
	tcb_kit_put_where(b, has, TCB_KIT_SHARED, "u32",
			  qex_route_at(x, x->order, u_mad(b, chunk, I(tokens), in_chunk), WORD), lane);
	tcb_kit_store_where(b, begins, TCB_KIT_SHARED, "u32",
			    tcb_ptx_assume_aligned(b, qex_route_at(x, x->table, chunk, bytes), bytes),
			    (const kit_op[]){ expert, left }, QEX_CHUNK_WORDS);
	tcb_kit_put_where(b, u_eq(b, lane, I(0)), TCB_KIT_SHARED, "u32", x->counts, u_bits(b, firsts));
	tcb_ptx_if_end(b);
	tcb_kit_block_barrier(b);
	x->chunks = tcb_kit_get(b, TCB_KIT_SHARED, "u32", x->counts);
}

void qex_write_route(struct qex_writer *x, kit_op ids, kit_op count)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	struct ranked ranked;
	if (x->g->routes_itself && x->g->pairs <= WARP) {
		route_lanes(x, ids, count);
		return;
	}
	clear(x);
	if (x->g->routes_itself) {
		rank_products(x, ids, count, &ranked);
	} else {
		go_over(x, ids, count, 0);
		tcb_kit_block_barrier(b);
	}
	scan(x);
	cut(x);
	if (x->g->routes_itself)
		place_ranked(x, &ranked);
	else
		go_over(x, ids, count, 1);
	tcb_kit_block_barrier(b);
	x->chunks = tcb_kit_get(b, TCB_KIT_SHARED, "u32", chunk_at(x, I(x->g->experts + 1)));
}
