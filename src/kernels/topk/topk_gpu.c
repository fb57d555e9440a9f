/* SPDX-License-Identifier: MIT
 *
 * topk on a GPU: a geometry comes in, a module of PTX and its launch go out.  topk_gpu.h says how the geometry drives
 * it and how the best are found.
 */
#include "kernels/topk/topk_gpu.h"

#include <math.h>

#include "base/sizes.h"

#include "kernels/gpu/barrier.h"
#include "kernels/gpu/frame.h"

enum { KEY_BYTES = 8, COUNT_UNROLL = 8 };
#define LEAST_KEY ((int64_t)1 << 32) /* of a NaN; below it there is none */

struct writer {
	struct tcb_kit kit;
	const struct topk_gpu *g;
	kit_op x, values, columns; /* the row's */
	kit_op keys, counters;     /* the workspace's; keys: the row's */
	kit_op row, part;
	kit_op group, share; /* the thread's, and which of its lanes it is */
	kit_op rank[TOPK_GPU_VALUES_MOST];
};

static kit_op shared_at(struct writer *w, unsigned at)
{
	return tcb_ptx_at(w->kit.shared, at);
}

static kit_op key_at(struct writer *w, unsigned at, kit_op index)
{
	return tcb_ptx_at(u_mad(&w->kit.b, index, I(KEY_BYTES), w->kit.shared), at);
}

/* Is it the first lane of its group? */
static kit_op is_first(struct writer *w)
{
	return u_eq(&w->kit.b, w->share, I(0));
}

/* --- scores in registers --- */

/* A float's bits in the order of floats, -0 as +0; of NaNs 1, below -inf. */
static kit_op rank_of(struct writer *w, kit_op value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op bits = b_set(b, f_add(b, value, F(0)));
	const kit_op flip = u_or(b, s_shr(b, bits, I(31)), I((int64_t)0x80000000));
	return b_select(b, I(1), u_xor(b, bits, flip), f_unordered(b, value, value));
}

/* The column of score I of the thread, in the row. */
static kit_op column_of(struct writer *w, kit_op first, unsigned i)
{
	const struct topk_gpu *g = w->g;
	return u_add(&w->kit.b, first, I(i / g->width * g->pass + i % g->width));
}

/* The slice's scores as ranks, 0 where the row has ended; returns the thread's largest key.  FIRST: its first column.
 */
static kit_op load_slice(struct writer *w, kit_op first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct topk_gpu *g = w->g;
	const kit_op from = l_mad_wide(b, first, I(4), w->x);
	kit_op value[TOPK_GPU_VALUES_MOST], is_there[TOPK_GPU_VALUES_MOST], best = I(0), low = u_set(b, I(0));
	for (unsigned v = 0; v < g->unroll; v++) {
		const int is_sure = (g->slices - 1) * g->slice + (v + 1) * g->pass <= g->n;
		kit_op *to = value + v * g->width;
		for (unsigned j = 0; j < g->width; j++) {
			to[j] = tcb_ptx_reg(b, "f32");
			if (!is_sure)
				f_set_to(b, to[j], F(0));
		}
		is_there[v] = is_sure ? (kit_op){ 0 } : u_lt(b, u_add(b, first, I(v * g->pass)), I(g->n));
		if (!is_sure)
			tcb_ptx_guard(b, is_there[v]);
		tcb_kit_load_into(b, tcb_kit_input_once(g->pdl), "f32", tcb_ptx_at(from, (int64_t)v * g->pass * 4), to,
				  g->width);
		tcb_ptx_unguard(b);
	}
	for (unsigned i = 0; i < g->unroll * g->width; i++) {
		const kit_op there = is_there[i / g->width];
		w->rank[i] = rank_of(w, value[i]);
		if (there.kind)
			w->rank[i] = u_select(b, w->rank[i], I(0), there);
		const kit_op is_more = i ? u_gt(b, w->rank[i], best) : u_ne(b, w->rank[i], I(0));
		best = i ? u_max(b, best, w->rank[i]) : w->rank[0];
		low = u_select(b, u_not(b, column_of(w, first, i)), low, is_more);
	}
	return tcb_kit_wide(b, low, best);
}

/* --- finding the best --- */

/* COUNT += 1 where the key at AT is above KEY. */
static void count_larger(struct writer *w, kit_op other, kit_op key, kit_op count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_ptx_guard(b, l_gt(b, other, key));
	u_add_to(b, count, count, I(1));
	tcb_ptx_unguard(b);
}

/* How many groups' keys are larger than KEY, the group's: each of its lanes counts a share of them, two at a time. */
static kit_op count_groups(struct writer *w, kit_op key)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct topk_gpu *g = w->g;
	const unsigned pairs = g->groups / 2 / g->sharers, unroll = pairs < COUNT_UNROLL ? pairs : COUNT_UNROLL;
	const kit_op count = u_set(b, I(0)), first = u_mad(b, w->share, I(2 * KEY_BYTES), w->kit.shared);
	kit_op from = first;
	if (pairs > unroll) {
		const kit_op loop = tcb_ptx_for_begin(b, I(0), I(pairs / unroll), I(1), 1);
		from = u_mad(b, loop, I(unroll * g->sharers * 2 * KEY_BYTES), first);
	}
	for (unsigned i = 0; i < unroll; i++) {
		kit_op pair[2];
		tcb_kit_load(b, TCB_KIT_SHARED, "u64",
			     tcb_ptx_at(from, g->groups_at + (int64_t)i * g->sharers * 2 * KEY_BYTES), pair, 2);
		for (unsigned j = 0; j < 2; j++)
			count_larger(w, pair[j], key, count);
	}
	if (pairs > unroll)
		tcb_ptx_for_end(b);
	return tcb_kit_over_lanes(b, u_add, count, g->sharers);
}

/* A key that K keys of the block are no smaller than, by OWN, the thread's largest. */
static kit_op write_least(struct writer *w, kit_op own)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct topk_gpu *g = w->g;
	const kit_op key = tcb_kit_largest_wide(b, own, g->sharers), zero = I(0), least = l_set(b, I(LEAST_KEY));
	tcb_kit_one_begin(&w->kit);
	tcb_kit_put(b, TCB_KIT_SHARED, "u32", shared_at(w, g->count_at), zero);
	tcb_kit_put(b, TCB_KIT_SHARED, "u64", shared_at(w, g->least_at), least);
	tcb_ptx_if_end(b);
	if (g->groups >= g->k)
		tcb_kit_put_where(b, is_first(w), TCB_KIT_SHARED, "u64", key_at(w, g->groups_at, w->group), key);
	tcb_kit_block_barrier(b);
	if (g->groups < g->k)
		return least;
	const kit_op is_kth = u_eq(b, count_groups(w, key), I(g->k - 1));
	const kit_op is_key = p_and(b, is_kth, l_ge(b, key, least));
	tcb_kit_put_where(b, p_and(b, is_key, is_first(w)), TCB_KIT_SHARED, "u64", shared_at(w, g->least_at), key);
	tcb_kit_block_barrier(b);
	return tcb_kit_get(b, TCB_KIT_SHARED, "u64", shared_at(w, g->least_at));
}

/* KEY to those that gather, where it is no smaller than LEAST. */
static void gather(struct writer *w, kit_op key, kit_op least)
{
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_ptx_if_begin(b, l_ge(b, key, least));
	const kit_op place = u_shared_add(b, shared_at(w, w->g->count_at), I(1));
	tcb_kit_put(b, TCB_KIT_SHARED, "u64", key_at(w, w->g->keys_at, place), key);
	tcb_ptx_if_end(b);
}

/* Where the best go. */
enum target { TO_ROW, TO_SLICE, TO_SHARED };

/* Place PLACE of the row gets KEY's score and column. */
static void put_result(struct writer *w, kit_op place, kit_op key)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op word[2];
	tcb_kit_words(b, key, word);
	const kit_op column = u_not(b, word[0]);
	const kit_op value = tcb_kit_get(b, tcb_kit_input(w->g->pdl), "b32", tcb_kit_element(b, w->x, column, 4));
	tcb_kit_put(b, TCB_KIT_GLOBAL, "b32", tcb_kit_element(b, w->values, place, 4), value);
	tcb_kit_put(b, TCB_KIT_GLOBAL, "u32", tcb_kit_element(b, w->columns, place, 4), column);
}

static void put_no_result(struct writer *w, kit_op place)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op value = f_set(b, F(NAN)), column = u_set(b, I(-1));
	tcb_kit_put(b, TCB_KIT_GLOBAL, "f32", tcb_kit_element(b, w->values, place, 4), value);
	tcb_kit_put(b, TCB_KIT_GLOBAL, "u32", tcb_kit_element(b, w->columns, place, 4), column);
}

/* KEY, which may be none, to place PLACE of a slice's or of the best so far. */
static void put_key(struct writer *w, enum target target, kit_op place, kit_op key)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct topk_gpu *g = w->g;
	if (target == TO_SHARED)
		tcb_kit_put(b, TCB_KIT_SHARED, "u64", key_at(w, g->best_at, place), key);
	else
		tcb_kit_put(b, TCB_KIT_GLOBAL, "u64",
			    tcb_kit_element(b, w->keys, u_mad(b, w->part, I(g->k), place), KEY_BYTES), key);
}

/* Places that there are no keys for. */
static void put_none(struct writer *w, enum target target, kit_op count)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct topk_gpu *g = w->g;
	const kit_op none = l_set(b, I(0));
	const kit_op place = tcb_ptx_for_begin(b, u_add(b, w->kit.tid, count), I(g->k), I(g->threads), 0);
	if (target == TO_ROW)
		put_no_result(w, place);
	else
		put_key(w, target, place, none);
	tcb_ptx_for_end(b);
}

/* What gathered, each key by a group, to its place. */
static void write_best(struct writer *w, enum target target)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct topk_gpu *g = w->g;
	tcb_kit_block_barrier(b);
	const kit_op all = tcb_kit_get(b, TCB_KIT_SHARED, "u32", shared_at(w, g->count_at));
	const kit_op loop = tcb_ptx_for_begin(b, I(0), all, I(g->groups), 0);
	const kit_op mine = u_add(b, loop, w->group), key = l_set(b, I(0)), count = u_set(b, I(0));
	const kit_op is_key = u_lt(b, mine, all);
	tcb_kit_load_where(b, is_key, TCB_KIT_SHARED, "u64", key_at(w, g->keys_at, mine), &key, 1);
	const kit_op other = tcb_ptx_for_begin(b, w->share, all, I(g->sharers), 0);
	count_larger(w, tcb_kit_get(b, TCB_KIT_SHARED, "u64", key_at(w, g->keys_at, other)), key, count);
	tcb_ptx_for_end(b);
	const kit_op place = tcb_kit_over_lanes(b, u_add, count, g->sharers);
	const kit_op is_best = u_lt_and(b, place, I(g->k), is_key);
	tcb_ptx_if_begin(b, p_and(b, is_best, is_first(w)));
	if (target == TO_ROW)
		put_result(w, place, key);
	else
		put_key(w, target, place, key);
	tcb_ptx_if_end(b);
	tcb_ptx_for_end(b);
	put_none(w, target, all);
}

/* Of the block's slice. */
static void write_slice(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct topk_gpu *g = w->g;
	kit_op first = u_mul(b, w->kit.tid, I(g->width));
	if (g->slices > 1)
		first = u_mad(b, w->part, I(g->slice), first);
	const kit_op own = load_slice(w, first), least = write_least(w, own);
	tcb_ptx_if_begin(b, l_ge(b, own, least));
	for (unsigned i = 0; i < g->unroll * g->width; i++)
		gather(w, tcb_kit_wide(b, u_not(b, column_of(w, first, i)), w->rank[i]), least);
	tcb_ptx_if_end(b);
	write_best(w, g->slices > 1 ? TO_SLICE : TO_ROW);
}

/* The thread's of the slices' keys from FIRST on, which it asks for together; 0 behind the last. */
static void load_joined(struct writer *w, kit_op first, kit_op *keys)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct topk_gpu *g = w->g;
	const kit_op at = u_add(b, first, w->kit.tid), from = tcb_kit_element(b, w->keys, at, KEY_BYTES);
	for (unsigned i = 0; i < g->ahead; i++) {
		const unsigned on = i * g->threads;
		keys[i] = l_set(b, I(0));
		tcb_kit_load_where(b, u_lt(b, u_add(b, at, I(on)), I(g->joined)), TCB_KIT_OTHERS, "u64",
				   tcb_ptx_at(from, (int64_t)on * KEY_BYTES), &keys[i], 1);
	}
}

/* The best of COUNT keys of each thread. */
static void write_best_of(struct writer *w, const kit_op *keys, unsigned count, enum target target)
{
	kit_op own = keys[0];
	for (unsigned i = 1; i < count; i++)
		own = l_max(&w->kit.b, own, keys[i]);
	const kit_op least = write_least(w, own);
	for (unsigned i = 0; i < count; i++)
		gather(w, keys[i], least);
	write_best(w, target);
}

/* The best so far: to KEY, of the thread's place; there are as many threads as places. */
static void load_best(struct writer *w, kit_op key)
{
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_kit_load_where(b, u_lt(b, w->kit.tid, I(w->g->k)), TCB_KIT_SHARED, "u64",
			   key_at(w, w->g->best_at, w->kit.tid), &key, 1);
}

/* Of all slices' best. */
static void write_row(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct topk_gpu *g = w->g;
	kit_op keys[TOPK_GPU_AHEAD_MOST + 1];
	if (!g->is_joined_in_turns) {
		load_joined(w, I(0), keys);
		write_best_of(w, keys, g->ahead, TO_ROW);
		return;
	}
	put_none(w, TO_SHARED, I(0));
	const kit_op first = tcb_ptx_for_begin(b, I(0), I(g->joined), I(g->ahead * g->threads), 1);
	tcb_kit_block_barrier(b);
	load_joined(w, first, keys);
	keys[g->ahead] = l_set(b, I(0));
	load_best(w, keys[g->ahead]);
	write_best_of(w, keys, g->ahead + 1, TO_SHARED);
	tcb_ptx_for_end(b);
	tcb_kit_block_barrier(b);
	const kit_op key = l_set(b, I(0));
	load_best(w, key);
	tcb_ptx_if_begin(b, u_lt(b, w->kit.tid, I(g->k)));
	tcb_ptx_if_begin(b, l_ge(b, key, l_set(b, I(LEAST_KEY))));
	put_result(w, w->kit.tid, key);
	tcb_ptx_if_else(b);
	put_no_result(w, w->kit.tid);
	tcb_ptx_if_end(b);
	tcb_ptx_if_end(b);
}

/* --- the kernel --- */

static void write_parameters(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct topk_gpu *g = w->g;
	const kit_op x = tcb_kit_operand(&w->kit, "x", 4 * g->width, TOPK_X);
	const kit_op values = tcb_kit_operand(&w->kit, "values", 4, TOPK_VALUES);
	const kit_op columns = tcb_kit_operand(&w->kit, "columns", 4, TOPK_COLUMNS);
	kit_op keys = { 0 };
	if (g->slices > 1) {
		keys = tcb_kit_workspace(&w->kit, "keys", 8, 0);
		w->counters = tcb_kit_workspace(&w->kit, "counters", 4, g->counters_at);
	}
	if (g->is_late)
		tcb_kit_depend(&w->kit);
	else
		tcb_kit_dependents(&w->kit, 1);
	tcb_kit_threads(&w->kit);
	tcb_kit_memory(&w->kit, 16);
	w->row = u_block_x(b);
	if (g->slices > 1) {
		const struct kit_split split = u_split(b, w->row, I(g->slices));
		w->row = split.whole;
		w->part = split.rest;
		w->keys = tcb_kit_element(b, keys, w->row, g->joined * KEY_BYTES);
	}
	w->x = tcb_kit_element(b, x, w->row, 4 * g->n);
	w->values = tcb_kit_element(b, values, w->row, 4 * g->k);
	w->columns = tcb_kit_element(b, columns, w->row, 4 * g->k);
	w->group = u_div(b, w->kit.tid, I(g->sharers));
	w->share = u_and(b, w->kit.tid, I(g->sharers - 1));
}

static enum tcb_status topk_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct topk_gpu g;
	struct writer w = { .g = &g };
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	topk_gpu_plan(problem, geometry, &g);
	tcb_kit_begin(&w.kit, "topk",
		      &(struct tcb_kit_kernel){ .threads = g.threads,
						.blocks_together = g.together,
						.grid = { (uint32_t)(g.m * g.slices) },
						.shared_bytes = g.shared_bytes,
						.is_dependent = g.pdl });
	write_parameters(&w);
	write_slice(&w);
	if (g.is_late)
		tcb_kit_dependents(&w.kit, 0);
	if (g.slices > 1) {
		tcb_kit_block_barrier(&w.kit.b);
		tcb_kit_last_begin(&w.kit);
		tcb_kit_last_of(&w.kit, tcb_ptx_at(tcb_kit_element(&w.kit.b, w.counters, w.row, 4), 0), I(g.slices - 1),
				g.flag_at);
		write_row(&w);
		tcb_ptx_if_end(&w.kit.b);
	}
	tcb_kit_end(&w.kit);
	out->class = TCB_CLASS_EXACT;
	out->workspace_bytes = g.workspace_bytes;
	return tcb_kit_close(&w.kit, err);
}

const struct tcb_side topk_gpu = {
	.variants = TCB_EMITTED(TCB_EMITTED_ROW("topk_f32_ptx", F32, FMA, EXACT)),
	.space = &topk_gpu_space,
	.emit = topk_emit,
};
