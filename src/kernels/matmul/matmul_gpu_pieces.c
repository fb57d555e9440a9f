/* SPDX-License-Identifier: MIT
 *
 * The pieces of a block of the dense products (wgmma), and how the sums of a
 * tile's pieces come together.
 *
 * A warpgroup's sums lie in the workspace as its threads have them: four at a
 * time, thread by thread.  The flag of a range is set once its part is there and
 * cleared by the only one who waits for it, so that every call leaves zeros.
 */
#include "kernels/matmul/matmul_gpu_pieces.h"

enum { GROUP_THREADS = 128, WIDE = 4 /* values of an access */ };

void mm_write_pieces_parameters(struct mm_writer *w, struct mm_pieces *p)
{
	const struct matmul_gpu *g = w->g;
	if (!g->is_dealt)
		return;
	p->shared = tcb_kit_number(&w->kit, "shared", g->dealt_tiles);
	p->share = tcb_kit_number(&w->kit, "share", g->share);
	p->spare = tcb_kit_number(&w->kit, "spare", g->spare);
	p->parts = tcb_kit_workspace(&w->kit, "parts", 16, 0);
	p->flags = tcb_kit_workspace(&w->kit, "flags", 4, g->counters_at);
}

void mm_write_pieces_open(struct mm_writer *w, struct mm_pieces *p)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	p->number = u_block_x(b);
	p->blocks = u_blocks_x(b);
	p->tiles = u_mul(b, w->tiles_m, w->tiles_n);
	p->rank = I(0);
	if (g->cluster > 1) {
		p->rank = u_cluster_rank(b);
		p->number = u_div(b, p->number, I(g->cluster));
		p->blocks = u_div(b, p->blocks, I(g->cluster));
	}
}

/* --- the loop --- */

/* Steps of range RANGE. */
static kit_op range_steps(struct mm_writer *w, const struct mm_pieces *p, kit_op range)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op more = u_select(b, I(1), I(0), u_lt(b, range, p->spare));
	return u_add(b, p->share, more);
}

static void begin_dealt(struct mm_writer *w, struct mm_pieces *p)
{
	struct tcb_ptx_build *b = &w->kit.b;
	p->range = u_sub(b, u_sub(b, p->blocks, p->number), I(1));
	const kit_op first = u_mad(b, p->range, p->share, u_min(b, p->range, p->spare));
	p->left = range_steps(w, p, p->range);
	const struct kit_split at = u_split(b, first, w->steps);
	p->tile = at.whole;
	p->step = at.rest;
	p->count = u_min(b, u_sub(b, w->steps, p->step), p->left);
	p->whole = u_add(b, p->shared, p->number);
	tcb_ptx_repeat_begin(b);
}

/* The next piece: of the range, then whole tiles. */
static void end_dealt(struct mm_writer *w, struct mm_pieces *p)
{
	struct tcb_ptx_build *b = &w->kit.b;
	u_sub_to(b, p->left, p->left, p->count);
	const kit_op is_dealt = u_ne(b, p->left, I(0));
	u_select_to(b, p->tile, u_add(b, p->tile, I(1)), p->whole, is_dealt);
	u_select_to(b, p->whole, p->whole, u_add(b, p->whole, p->blocks), is_dealt);
	u_select_to(b, p->left, p->left, w->steps, is_dealt);
	u_set_to(b, p->step, I(0));
	u_min_to(b, p->count, w->steps, p->left);
	tcb_ptx_repeat_end(b, u_lt(b, p->tile, p->tiles));
}

void mm_write_pieces_begin(struct mm_writer *w, struct mm_pieces *p)
{
	if (w->g->is_dealt) {
		begin_dealt(w, p);
		return;
	}
	p->tile = tcb_ptx_for_begin(&w->kit.b, p->number, p->tiles, p->blocks, 0);
	p->step = I(0);
	p->count = w->steps;
}

void mm_write_pieces_end(struct mm_writer *w, struct mm_pieces *p)
{
	if (w->g->is_dealt)
		end_dealt(w, p);
	else
		tcb_ptx_for_end(&w->kit.b);
}

void mm_write_piece_place(struct mm_writer *w, const struct mm_pieces *p)
{
	mm_write_tile(w, p->tile);
	if (w->g->cluster > 1)
		w->row = u_mad(&w->kit.b, p->rank, I(w->g->bm), w->row);
}

/* --- parts --- */

/* Warpgroups that the sums of a tile are spread over: with turns one has all. */
static unsigned groups_of_tile(const struct matmul_gpu *g)
{
	return g->warps_m * g->warps_n;
}

/* Which part is that of this warpgroup of cluster NUMBER's block here. */
static kit_op part_of(struct mm_writer *w, const struct mm_pieces *p, const struct mm_piece_group *group, kit_op number)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned groups = groups_of_tile(w->g);
	const kit_op block = w->g->cluster > 1 ? u_mad(b, number, I(w->g->cluster), p->rank) : number;
	return groups > 1 ? u_mad(b, block, I(groups), group->index) : block;
}

/* Where this thread's sums of PART begin. */
static kit_op sums_of(struct mm_writer *w, const struct mm_pieces *p, kit_op part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op thread = u_and(b, w->kit.tid, I(GROUP_THREADS - 1));
	const kit_op first = tcb_kit_element(b, p->parts, part, w->g->wm * w->g->wn * 4);
	return tcb_kit_element(b, first, thread, WIDE * 4);
}

static void leave_part(struct mm_writer *w, const struct mm_pieces *p, const struct mm_piece_group *group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op part = part_of(w, p, group, p->number), at = sums_of(w, p, part), there = I(1);
	for (unsigned i = 0; i < w->g->wm * w->g->wn / GROUP_THREADS; i += WIDE)
		tcb_kit_store(b, TCB_KIT_GLOBAL, "f32", tcb_ptx_at(at, (int64_t)i * GROUP_THREADS * 4), w->acc + i,
			      WIDE);
	barrier_named(b, group->barrier, I(GROUP_THREADS));
	tcb_ptx_if_begin(b, group->leader);
	fence_gpu(b); /* behind a barrier: of what the other threads stored, too */
	tcb_kit_put(b, TCB_KIT_RELAXED, "u32", tcb_kit_element(b, p->flags, part, 4), there);
	tcb_ptx_if_end(b);
}

/* Part PART, once it is there, added to the sums. */
static void add_part(struct mm_writer *w, const struct mm_pieces *p, const struct mm_piece_group *group, kit_op part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op flag = tcb_ptx_at(tcb_kit_element(b, p->flags, part, 4), 0), none = I(0);
	kit_op seen, values[WIDE];
	tcb_ptx_if_begin(b, group->leader);
	tcb_ptx_repeat_begin(b);
	seen = tcb_kit_get(b, TCB_KIT_ACQUIRE, "u32", flag);
	tcb_ptx_repeat_end(b, u_eq(b, seen, I(0)));
	tcb_kit_put(b, TCB_KIT_RELAXED, "u32", flag, none);
	tcb_ptx_if_end(b);
	barrier_named(b, group->barrier, I(GROUP_THREADS));
	const kit_op at = sums_of(w, p, part);
	for (unsigned i = 0; i < w->g->wm * w->g->wn / GROUP_THREADS; i += WIDE) {
		tcb_kit_load(b, TCB_KIT_OTHERS, "f32", tcb_ptx_at(at, (int64_t)i * GROUP_THREADS * 4), values, WIDE);
		for (unsigned j = 0; j < WIDE; j++)
			f_add_to(b, w->acc[i + j], w->acc[i + j], values[j]);
	}
}

/* The parts of the ranges above, from the next one up to the tile's end. */
static void add_parts(struct mm_writer *w, const struct mm_pieces *p, const struct mm_piece_group *group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op lacking = u_sub(b, w->steps, p->count);
	tcb_ptx_if_begin(b, u_ne(b, lacking, I(0)));
	const kit_op number = u_set(b, p->number), range = u_set(b, p->range);
	tcb_ptx_repeat_begin(b);
	u_sub_to(b, number, number, I(1));
	u_add_to(b, range, range, I(1));
	add_part(w, p, group, part_of(w, p, group, number));
	u_sub_to(b, lacking, lacking, u_min(b, lacking, range_steps(w, p, range)));
	tcb_ptx_repeat_end(b, u_ne(b, lacking, I(0)));
	tcb_ptx_if_end(b);
}

void mm_write_parts_begin(struct mm_writer *w, struct mm_pieces *p, const struct mm_piece_group *group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_ptx_if_begin(b, u_ne(b, p->step, I(0)));
	leave_part(w, p, group);
	tcb_ptx_if_else(b);
	add_parts(w, p, group);
}
