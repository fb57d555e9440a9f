/* SPDX-License-Identifier: MIT
 *
 * What becomes of the parts of a tile: sums of weighted values, not yet divided, with
 * the maximum that their weights are against and the sum of these.  Four values of a
 * query row, an item, are a thread's: it brings the parts to a common maximum, adds
 * them up, and hands them on or divides and stores.
 */
#include <float.h>

#include "base/sizes.h"
#include "kernels/attention/attention_gpu.h"
#include "kernels/gpu/barrier.h"

enum {
	ITEM = 4,
	BATCH = 8,         /* parts that are loaded together, beside what was merged before */
	SECOND_SHARED = 4, /* threads of an item, at least */
	SECOND_THREADS = 256,
	SECOND_ITEMS = 8 /* of a block, in units of these: each has 32 values, as V's have */
};

struct part {
	kit_op max, sum, o[ITEM];
};

/* Parts that lie one behind the other. */
struct source {
	enum tcb_kit_memory memory;
	kit_op o, ml; /* addresses of the first one's item */
	unsigned o_step, ml_step;
	int is_of_cluster; /* the same place in the blocks of the cluster */
};

/* The part against which nothing counts. */
static struct part neutral_part(struct tcb_ptx_build *b)
{
	struct part part = { f_set(b, F(-FLT_MAX)), f_set(b, F(0)), { I(0) } };
	for (unsigned i = 0; i < ITEM; i++)
		part.o[i] = f_set(b, F(0));
	return part;
}

static void load_into(struct attention_writer *w, const struct source *from, unsigned index, struct part *part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op o = from->o, ml = from->ml;
	const kit_op stat[2] = { part->max, part->sum };
	if (from->is_of_cluster) {
		o = u_in_rank(b, o, I(index));
		ml = u_in_rank(b, ml, I(index));
		index = 0;
	}
	tcb_kit_load_into(b, from->memory, "f32",
			  tcb_ptx_at(tcb_ptx_assume_aligned(b, ml, 8), (int64_t)index * from->ml_step), stat, 2);
	tcb_kit_load_into(b, from->memory, "f32",
			  tcb_ptx_at(tcb_ptx_assume_aligned(b, o, 16), (int64_t)index * from->o_step), part->o, ITEM);
}

static struct part load_part(struct attention_writer *w, const struct source *from, unsigned index)
{
	struct part part = { tcb_ptx_reg(&w->kit.b, "f32"), tcb_ptx_reg(&w->kit.b, "f32"), { I(0) } };
	for (unsigned i = 0; i < ITEM; i++)
		part.o[i] = tcb_ptx_reg(&w->kit.b, "f32");
	load_into(w, from, index, &part);
	return part;
}

static struct part merge(struct attention_writer *w, const struct part *parts, unsigned count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op all[BATCH + 1] = { parts[0].max };
	struct part to = parts[0];
	if (count == 1)
		return to;
	for (unsigned i = 1; i < count; i++)
		all[i] = parts[i].max;
	to.max = tcb_kit_fold(b, f_max, all, count);
	for (unsigned i = 0; i < count; i++) {
		const kit_op factor = f_power2(b, f_sub(b, parts[i].max, to.max));
		to.sum = i ? f_fma(b, parts[i].sum, factor, to.sum) : f_mul(b, parts[i].sum, factor);
		for (unsigned j = 0; j < ITEM; j++)
			to.o[j] = i ? f_fma(b, parts[i].o[j], factor, to.o[j]) : f_mul(b, parts[i].o[j], factor);
	}
	return to;
}

static struct part merge_all(struct attention_writer *w, const struct source *from, unsigned count)
{
	struct part parts[BATCH + 1];
	unsigned have = 0;
	for (unsigned i = 0; i < count; i++) {
		parts[have++] = load_part(w, from, i);
		if (have > BATCH || i + 1 == count) {
			parts[0] = merge(w, parts, have);
			have = 1;
		}
	}
	return parts[0];
}

void attention_write_tile(struct attention_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	const struct kit_split of_head = u_split(b, w->tile, I(g->token_tiles));
	w->first_token = u_mul(b, of_head.rest, I(g->tokens));
	const struct kit_split head = u_split(b, of_head.whole, I(g->head_tiles));
	w->kv_head = head.whole;
	w->first_head = u_mul(b, head.rest, I(g->heads));
}

/* --- where items are --- */

struct item {
	kit_op row, within; /* of the tile; bytes of f32 into it */
};

static struct item item_of(struct attention_writer *w, kit_op index)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned each = w->g->v_wide / ITEM;
	const struct kit_split row = u_split(b, index, I(each));
	return (struct item){ row.whole, u_mul(b, row.rest, I(4 * ITEM)) };
}

/* What is turned round in the place of a row's vectors in shared memory, by exclusive or: four rows that a warp stores
 * at the same time are in other banks. */
kit_op attention_write_turned(struct attention_writer *w, kit_op row)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op two = u_and(b, u_shr(b, row, I(1)), I(3));
	if (w->g->v_words < 4) /* lanes of a row are one vector apart, else two */
		return u_shl(b, two, I(5));
	return u_or(b, u_shl(b, u_and(b, two, I(1)), I(4)), u_shl(b, u_and(b, two, I(2)), I(5)));
}

/* A row's place in shared memory: O from O_AT on, statistics from ML_AT on. */
static struct source shared_source(struct attention_writer *w, const struct item *item, unsigned o_at, unsigned ml_at)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	struct source from = { TCB_KIT_SHARED, I(0), I(0), g->rows * g->v_wide * 4, g->rows * 8, 0 };
	const kit_op within = u_xor(b, item->within, attention_write_turned(w, item->row));
	from.o = u_add(b, u_mad(b, item->row, I(g->v_wide * 4), within), u_add(b, w->kit.shared, I(o_at)));
	from.ml = u_mad(b, item->row, I(8), u_add(b, w->kit.shared, I(ml_at)));
	return from;
}

/* The same in the workspace: of part SLOT of this tile, is_dealt: of all. */
static struct source slot_source(struct attention_writer *w, const struct item *item, kit_op slot)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	struct source from = { TCB_KIT_OTHERS, I(0), I(0), g->rows * g->v_wide * 4, g->rows * 8, 0 };
	kit_op number = slot;
	if (!g->is_dealt) {
		const kit_op tile = u_mad(b, w->sequence, I(g->tiles), w->tile);
		number = u_mad(b, tile, I(g->slots), slot);
	}
	const kit_op row = u_mad(b, number, I(g->rows), item->row);
	from.o = tcb_kit_behind(b, tcb_kit_element(b, w->parts, row, g->v_wide * 4), item->within);
	from.ml = tcb_kit_element(b, w->parts_ml, row, 8);
	return from;
}

/* --- what becomes of a merged item --- */

static void store_slot(struct attention_writer *w, const struct item *item, const struct part *part, kit_op slot)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct source to = slot_source(w, item, slot);
	const kit_op stat[2] = { part->max, part->sum };
	tcb_kit_store(b, TCB_KIT_GLOBAL, "f32", tcb_ptx_assume_aligned(b, to.o, 16), part->o, ITEM);
	tcb_kit_store_where(b, u_eq(b, item->within, I(0)), TCB_KIT_GLOBAL, "f32", tcb_ptx_assume_aligned(b, to.ml, 8),
			    stat, 2);
}

/* Divided; zeros where no weight is.  Rows past the problem's tokens or heads, and values past
 * a head's, are not stored. */
static void store_result(struct attention_writer *w, const struct item *item, const struct part *part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	const unsigned bytes = (unsigned)tcb_type_bytes(g->io);
	const kit_op of_token = u_div(b, item->row, I(g->heads));
	const kit_op token = u_add(b, w->first_token, of_token);
	const kit_op head = u_add(b, w->first_head, u_sub(b, item->row, u_mul(b, of_token, I(g->heads))));
	kit_op is_inside = u_lt_and(b, head, I(g->group), u_lt(b, token, I(g->m)));
	if (g->v < g->v_wide)
		is_inside = u_lt_and(b, item->within, I(g->v * 4), is_inside);
	const kit_op factor = f_select(b, F(0), f_reciprocal(b, part->sum), f_eq(b, part->sum, F(0)));
	const kit_op all = u_mad(b, w->kv_head, I(g->group), head);
	const kit_op of_all = u_mad(b, w->sequence, I(g->m), token);
	const kit_op row = u_mad(b, of_all, I(g->kv_heads * g->group), all);
	kit_op values[ITEM];
	for (unsigned i = 0; i < ITEM; i++)
		values[i] = f_mul(b, part->o[i], factor);
	for (unsigned i = 0; i < ITEM / 2 && bytes == 2; i++)
		values[i] = tcb_kit_pack(b, attention_word(g), values[2 * i], values[2 * i + 1]);
	const kit_op within = bytes == 2 ? u_shr(b, item->within, I(1)) : item->within;
	const kit_op out = tcb_kit_past_gaps(b, w->out, of_all, g->out_gap);
	const kit_op at = tcb_kit_behind(b, tcb_kit_element(b, out, row, bytes * g->v), within);
	tcb_kit_store_where(b, is_inside, TCB_KIT_GLOBAL, bytes == 2 ? "b32" : "f32",
			    tcb_ptx_assume_aligned(b, at, ITEM * bytes), values, bytes == 2 ? ITEM / 2 : ITEM);
}

static void store_block(struct attention_writer *w, const struct item *item, const struct part *part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct source to = shared_source(w, item, w->g->block_o_at, w->g->block_ml_at);
	const kit_op stat[2] = { part->max, part->sum };
	tcb_kit_store(b, TCB_KIT_SHARED, "f32", tcb_ptx_assume_aligned(b, to.o, 16), part->o, ITEM);
	tcb_kit_store_where(b, u_eq(b, item->within, I(0)), TCB_KIT_SHARED, "f32", tcb_ptx_assume_aligned(b, to.ml, 8),
			    stat, 2);
}

/* --- the block's --- */

static void hand_on(struct attention_writer *w, const struct item *item, const struct part *part)
{
	const struct attention_gpu *g = w->g;
	if (g->is_dealt) {
		tcb_ptx_if_begin(&w->kit.b, u_eq(&w->kit.b, w->parts_count, I(1)));
		store_result(w, item, part);
		tcb_ptx_if_else(&w->kit.b);
		store_slot(w, item, part, w->split);
		tcb_ptx_if_end(&w->kit.b);
	} else if (g->slots == 1)
		store_result(w, item, part);
	else
		store_slot(w, item, part, g->cluster > 1 ? u_div(&w->kit.b, w->split, I(g->cluster)) : w->split);
}

static void merge_turns(struct attention_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	const kit_op loop = tcb_ptx_for_begin(b, w->kit.tid, I(g->rows * g->v_wide / ITEM), I(g->threads), 0);
	tcb_kit_nounroll(b);
	const struct item item = item_of(w, loop);
	const struct source from = shared_source(w, &item, g->o_at, g->ml_at);
	const struct part part = merge_all(w, &from, g->turns);
	if (g->cluster > 1)
		store_block(w, &item, &part);
	else
		hand_on(w, &item, &part);
	tcb_ptx_for_end(b);
}

/* Each block of the cluster has a share of the items of all. */
static void merge_cluster(struct attention_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	const kit_op rank = u_rem(b, w->split, I(g->cluster));
	tcb_kit_warp_barrier(b);
	tcb_kit_cluster_barrier(b);
	const kit_op loop = tcb_ptx_for_begin(b, u_mad(b, rank, I(g->threads), w->kit.tid),
					      I(g->rows * g->v_wide / ITEM), I(g->threads * g->cluster), 0);
	tcb_kit_nounroll(b);
	const struct item item = item_of(w, loop);
	struct source from = shared_source(w, &item, g->block_o_at, g->block_ml_at);
	from.memory = TCB_KIT_CLUSTER;
	from.is_of_cluster = 1;
	const struct part part = merge_all(w, &from, g->cluster);
	hand_on(w, &item, &part);
	tcb_ptx_for_end(b);
	tcb_kit_warp_barrier(b);
	tcb_kit_cluster_barrier(b); /* others read this block's memory until here */
}

/* is_dealt: as many parts as there are. */
static struct part merge_dealt(struct attention_writer *w, const struct item *item)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct part sum = neutral_part(b);
	const kit_op loop = tcb_ptx_for_begin(b, I(0), w->parts_count, I(BATCH), 1);
	tcb_kit_nounroll(b);
	const struct source from = slot_source(w, item, u_add(b, w->first_part, loop));
	const kit_op left = u_sub(b, w->parts_count, loop);
	struct part parts[BATCH + 1] = { sum };
	for (unsigned i = 0; i < BATCH; i++) {
		parts[i + 1] = neutral_part(b);
		tcb_ptx_guard(b, u_gt(b, left, I(i)));
		load_into(w, &from, i, &parts[i + 1]);
		tcb_ptx_unguard(b);
	}
	const struct part all = merge(w, parts, BATCH + 1);
	f_set_to(b, sum.max, all.max);
	f_set_to(b, sum.sum, all.sum);
	for (unsigned i = 0; i < ITEM; i++)
		f_set_to(b, sum.o[i], all.o[i]);
	tcb_ptx_for_end(b);
	return sum;
}

static void merge_slots(struct attention_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	kit_op last = I(g->splitk - 1);
	if (g->is_dealt) {
		last = u_sub(b, w->parts_count, I(1));
		tcb_ptx_if_begin(b, u_gt(b, last, I(0)));
	}
	if (g->cluster == 1)
		tcb_kit_block_barrier(b);
	tcb_kit_last_begin(&w->kit);
	const kit_op tile = u_mad(b, w->sequence, I(g->tiles), w->tile);
	tcb_kit_last_of(&w->kit, tcb_ptx_at(tcb_kit_element(b, w->counters, tile, 4), 0), last, g->flag_at);
	const kit_op loop = tcb_ptx_for_begin(b, w->kit.tid, I(g->rows * g->v_wide / ITEM), I(g->threads), 0);
	tcb_kit_nounroll(b);
	const struct item item = item_of(w, loop);
	struct part part;
	if (g->is_dealt) {
		part = merge_dealt(w, &item);
	} else {
		const struct source from = slot_source(w, &item, I(0));
		part = merge_all(w, &from, g->slots);
	}
	store_result(w, &item, &part);
	tcb_ptx_for_end(b);
	tcb_ptx_if_end(b);
	if (g->is_dealt)
		tcb_ptx_if_end(b);
}

void attention_write_merge(struct attention_writer *w)
{
	merge_turns(w);
	if (w->g->cluster > 1)
		merge_cluster(w);
	if (w->g->has_parts && w->g->join == TCB_JOIN_LAST)
		merge_slots(w);
}

/* --- the second launch --- */

/* How items of a row are dealt: `shared` threads have one, each every so many'th of the parts, all of which are loaded
 * at once; a block has `items` of a row's, one of `chunks`. */
struct second {
	unsigned shared, items, chunks;
};

static struct second plan_second(const struct attention_gpu *g)
{
	const unsigned all = g->v_wide / ITEM, each = (unsigned)tcb_div_up(g->slots, BATCH + 1);
	struct second out = { .shared = (unsigned)tcb_most(tcb_power_of_two_up(each), SECOND_SHARED), .items = all };
	while (out.items > SECOND_ITEMS && (all % out.items || out.items * out.shared > SECOND_THREADS))
		out.items -= SECOND_ITEMS;
	out.chunks = all / out.items;
	return out;
}

/* The thread's parts, from FROM on: those that all threads have, and one that only some do. */
static struct part merge_own(struct attention_writer *w, const struct source *from, unsigned count, const kit_op *more)
{
	struct tcb_ptx_build *b = &w->kit.b;
	struct part parts[BATCH + 1];
	for (unsigned i = 0; i < count; i++)
		parts[i] = load_part(w, from, i);
	if (more) {
		parts[count] = neutral_part(b);
		tcb_ptx_guard(b, *more);
		load_into(w, from, count, &parts[count]);
		tcb_ptx_unguard(b);
		count++;
	}
	return merge(w, parts, count);
}

static void write_second(struct attention_writer *w, const struct second *plan)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct attention_gpu *g = w->g;
	const unsigned items = plan->items, bytes = items * 4 * ITEM, rest = g->slots % plan->shared;
	tcb_kit_threads(&w->kit);
	w->tile = u_block_y(b);
	w->sequence = u_block_z(b);
	attention_write_tile(w);
	const struct kit_split own = u_split(b, w->kit.tid, I(items)),
			       block = u_split(b, u_block_x(b), I(plan->chunks));
	const struct item item = { block.whole, u_mul(b, u_mad(b, block.rest, I(items), own.rest), I(4 * ITEM)) };
	struct source from = slot_source(w, &item, own.whole);
	from.o_step *= plan->shared;
	from.ml_step *= plan->shared;
	const kit_op has_more = u_lt(b, own.whole, I(rest));
	struct part part = merge_own(w, &from, g->slots / plan->shared, rest ? &has_more : NULL);
	const kit_op stat[2] = { part.max, part.sum };
	const kit_op ml_at = u_add(b, w->kit.shared, I(plan->shared * bytes));
	tcb_kit_store(b, TCB_KIT_SHARED, "f32", u_mad(b, w->kit.tid, I(4 * ITEM), w->kit.shared), part.o, ITEM);
	tcb_kit_store(b, TCB_KIT_SHARED, "f32", u_mad(b, w->kit.tid, I(8), ml_at), stat, 2);
	tcb_kit_block_barrier(b);
	tcb_ptx_if_begin(b, u_lt(b, w->kit.tid, I(items)));
	from = (struct source){ TCB_KIT_SHARED,
				u_mad(b, w->kit.tid, I(4 * ITEM), w->kit.shared),
				u_mad(b, w->kit.tid, I(8), ml_at),
				bytes,
				8 * items,
				0 };
	part = merge_all(w, &from, plan->shared);
	store_result(w, &item, &part);
	tcb_ptx_if_end(b);
}

void attention_write_second(struct attention_writer *w)
{
	const struct attention_gpu *g = w->g;
	const struct second plan = plan_second(g);
	const unsigned threads = plan.shared * plan.items;
	tcb_kit_begin(&w->kit, "attention_merge",
		      &(struct tcb_kit_kernel){ .threads = threads,
						.blocks_together = 1,
						.grid = { g->rows * plan.chunks, g->tiles, g->sequences },
						.shared_bytes = threads * (4 * ITEM + 8),
						.is_dependent = g->pdl });
	w->out = attention_operand_of(w, "out", 16, ATTENTION_OUT);
	w->parts = tcb_kit_workspace(&w->kit, "parts", 16, 0);
	w->parts_ml = tcb_kit_workspace(&w->kit, "parts_ml", 16, g->parts_ml_at);
	tcb_kit_memory(&w->kit, 16);
	tcb_kit_dependents(&w->kit, 1);
	write_second(w, &plan);
	tcb_kit_end(&w->kit);
}
