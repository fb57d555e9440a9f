/* SPDX-License-Identifier: MIT
 *
 * Which products are which expert's, on a GPU: ids come in, and chunks of up to
 * micro.m products of one expert go out, those of no expert behind all others.
 * One block counts in shared memory, turns counts into first places, and puts
 * each product at the next place of its expert.  In which order the products of
 * an expert come is chance, and does not show: each is a column of its own.
 */
#include "kernels/gpu/barrier.h"
#include "kernels/quant_experts/quant_experts_gpu_writer.h"

enum { THREADS = QMM_PREPARE_WARPS * WARP, WORD = 4 };

/* Words in shared memory: of expert I its first product (at first its count), its first chunk. */
static kit_op first_at(struct qex_writer *x, kit_op i)
{
	return u_mad(&x->w.kit.b, i, I(WORD), x->w.kit.shared);
}

static kit_op chunk_at(struct qex_writer *x, kit_op i)
{
	return tcb_ptx_at(first_at(x, i), (int64_t)x->g->route_entries * WORD);
}

static void clear(struct qex_writer *x)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const kit_op loop = tcb_ptx_for_begin(b, x->w.kit.tid, I(x->g->experts + 2), I(THREADS), 0);
	tcb_kit_put(b, TCB_KIT_SHARED, "u32", first_at(x, loop), I(0));
	tcb_ptx_for_end(b);
	tcb_kit_block_barrier(b);
}

/* Adds 1 to each product's expert; with IS_PLACED what was there is the product's place. */
static void go_over(struct qex_writer *x, kit_op ids, kit_op count, int is_placed)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const enum tcb_kit_memory input = tcb_kit_input(x->g->tile.pdl);
	kit_op product[QEX_ROUTE_AHEAD], has[QEX_ROUTE_AHEAD], id[QEX_ROUTE_AHEAD];
	const kit_op loop = tcb_ptx_for_begin(b, x->w.kit.tid, count, I(QEX_ROUTE_AHEAD * THREADS), 0);
	for (unsigned i = 0; i < QEX_ROUTE_AHEAD; i++) {
		product[i] = i ? u_add(b, loop, I(i * THREADS)) : loop;
		has[i] = u_lt(b, product[i], count);
		id[i] = u_set(b, I(0));
		tcb_kit_load_where(b, has[i], input, "u32", tcb_kit_element(b, ids, product[i], WORD), &id[i], 1);
	}
	for (unsigned i = 0; i < QEX_ROUTE_AHEAD; i++) {
		const kit_op expert = u_min(b, id[i], I(x->g->experts));
		const kit_op at = first_at(x, expert), one = I(1), place = u_set(b, I(0));
		tcb_ptx_guard(b, has[i]);
		u_shared_add_to(b, place, tcb_ptx_at(at, 0), one);
		tcb_ptx_unguard(b);
		if (is_placed)
			tcb_kit_put_where(b, has[i], TCB_KIT_GLOBAL, "u32", tcb_kit_element(b, x->order, place, WORD),
					  product[i]);
	}
	tcb_ptx_for_end(b);
}

/* VALUE of the lanes up to this one, added. */
static kit_op sum_up_to(struct qex_writer *x, kit_op value)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	for (unsigned distance = 1; distance < WARP; distance *= 2) {
		const kit_op before = u_lane_before(b, value, I(distance));
		const kit_op is_there = u_ge(b, x->w.kit.lane, I(distance));
		value = u_add(b, value, u_select(b, before, I(0), is_there));
	}
	return value;
}

/* Counts to first places, and first chunks, by the first warp; how many chunks there are goes to AT. */
static void scan(struct qex_writer *x, kit_op at)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const unsigned tokens = x->g->tile.tokens, entries = x->g->experts + 2;
	tcb_ptx_if_begin(b, u_eq(b, x->w.kit.warp, I(0)));
	const kit_op first = u_set(b, I(0)), chunk = u_set(b, I(0));
	const kit_op loop = tcb_ptx_for_begin(b, I(0), I(entries), I(WARP), 1);
	const kit_op expert = u_add(b, loop, x->w.kit.lane), has = u_lt(b, expert, I(entries));
	const kit_op count = u_set(b, I(0));
	tcb_kit_load_where(b, has, TCB_KIT_SHARED, "u32", first_at(x, expert), &count, 1);
	const kit_op chunks = u_div_up(b, count, tokens);
	const kit_op counts_up = sum_up_to(x, count), chunks_up = sum_up_to(x, chunks);
	tcb_kit_put_where(b, has, TCB_KIT_SHARED, "u32", first_at(x, expert),
			  u_add(b, first, u_sub(b, counts_up, count)));
	tcb_kit_put_where(b, has, TCB_KIT_SHARED, "u32", chunk_at(x, expert),
			  u_add(b, chunk, u_sub(b, chunks_up, chunks)));
	u_add_to(b, first, first, u_lane(b, counts_up, I(WARP - 1)));
	u_add_to(b, chunk, chunk, u_lane(b, chunks_up, I(WARP - 1)));
	tcb_ptx_for_end(b);
	tcb_kit_put_where(b, u_eq(b, x->w.kit.lane, I(0)), TCB_KIT_GLOBAL, "u32", at, chunk);
	tcb_ptx_if_end(b);
	tcb_kit_block_barrier(b);
}

/* Each expert's chunks to the table. */
static void cut(struct qex_writer *x)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const unsigned tokens = x->g->tile.tokens;
	const kit_op expert = tcb_ptx_for_begin(b, x->w.kit.tid, I(x->g->experts + 1), I(THREADS), 0);
	const kit_op at = first_at(x, expert), chunk = chunk_at(x, expert);
	const kit_op first = tcb_kit_get(b, TCB_KIT_SHARED, "u32", at);
	const kit_op end = tcb_kit_get(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(at, WORD));
	const kit_op to =
		tcb_kit_element(b, x->table, tcb_kit_get(b, TCB_KIT_SHARED, "u32", chunk), QEX_CHUNK_WORDS * WORD);
	const kit_op entry = l_set(b, to);
	const kit_op loop = tcb_ptx_for_begin(b, first, end, I(tokens), 0);
	const kit_op left = u_min(b, u_sub(b, end, loop), I(tokens));
	tcb_kit_store(b, TCB_KIT_GLOBAL, "u32", tcb_ptx_assume_aligned(b, entry, QEX_CHUNK_WORDS * WORD),
		      (const kit_op[]){ expert, loop, left, left }, QEX_CHUNK_WORDS);
	l_add_to(b, entry, entry, I(QEX_CHUNK_WORDS * WORD));
	tcb_ptx_for_end(b);
	tcb_ptx_for_end(b);
	tcb_kit_block_barrier(b);
}

void qex_write_route(struct qex_writer *x, kit_op ids, kit_op count, kit_op at)
{
	clear(x);
	go_over(x, ids, count, 0);
	tcb_kit_block_barrier(&x->w.kit.b);
	scan(x, at);
	cut(x);
	go_over(x, ids, count, 1);
}
