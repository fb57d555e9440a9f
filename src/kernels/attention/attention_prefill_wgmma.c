/* SPDX-License-Identifier: MIT
 *
 * attention_prefill with wgmma: tiles of query rows come in, their results go out.
 *
 * The last warpgroup copies (one thread of it), the others multiply 64 query rows
 * each.  Q is swizzled as k / 64 boxes of the block's rows, a tile of K or V as k / 64
 * boxes of its KV tokens, all in rows of 64 values.  S = Q K^T takes both along the
 * head; P V has P in registers and V along the result.
 *
 * A step of the loop has two products in flight: S of this tile, then P V of the one
 * before, whose weights are in registers; while P V is multiplied, S becomes weights.
 */
#include "base/sizes.h"
#include "kernels/attention/attention_prefill_gpu.h"
#include "kernels/gpu/tile_ring.h"

enum {
	GROUP_WARPS = 4,
	GROUP_THREADS = 128,
	TURN_BARRIER = 1,    /* named barrier of the first warpgroup */
	WORKERS_BARRIER = 8, /* of all that multiply */
	ITEM_EMPTY = 8,      /* bytes behind item_at, where the barrier is that says that there is a number */
	ITEM_NUMBER = 16,
	RAW_RANK = 3,
	RAW_ALIGN = 16 /* bytes of where a box begins */
};

struct wgmma_writer {
	struct prefill_writer *w;
	struct tcb_kit_tiles k, v, raw; /* raw: blocks, as stored */
	kit_op q_full, q_empty, q_parity;
	kit_op item, item_parity; /* is_dynamic: where the next tile's number is */
	/* of a warpgroup that multiplies */
	kit_op index, part;         /* which one; with splits, which columns of V it has */
	kit_op q16, k16, v16, high; /* descriptors: where Q begins; what is added to a slot / 16; upper word */
	kit_op always, never;       /* predicates */
	kit_op s[PREFILL_KV_MAX / 2], p[PREFILL_KV_MAX / 4], o[ATTENTION_HEAD_MAX / 2];
	struct prefill_rows rows;
	kit_op first; /* token of the tile whose S is worked on */
};

static void open_rings(struct wgmma_writer *x)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const kit_op shared = w->kit.shared;
	x->k = (struct tcb_kit_tiles){ .stages = g->stages, .slot_bytes = g->k_bytes };
	x->v = (struct tcb_kit_tiles){ .stages = g->stages, .slot_bytes = g->is_view ? g->k_bytes : g->v_bytes };
	tcb_kit_tiles_open(b, &x->k, u_add(b, shared, I(g->k_at)), shared, g->barrier_at);
	/* With vk the same tiles, a place behind. */
	tcb_kit_tiles_open(b, &x->v, u_add(b, shared, I(g->is_view ? g->k_at : g->v_at)), shared,
			   g->barrier_at + (g->is_view ? 0 : TCB_KIT_TILE_BARRIERS * g->stages));
	x->q_full = u_add(b, shared, I(g->barrier_at + 2 * TCB_KIT_TILE_BARRIERS * g->stages));
	x->q_empty = u_add(b, x->q_full, I(8));
	x->q_parity = u_set(b, I(0));
	if (g->converts) {
		x->raw = (struct tcb_kit_tiles){ .stages = PREFILL_RAW_STAGES, .slot_bytes = g->raw_bytes };
		tcb_kit_tiles_open(b, &x->raw, u_add(b, shared, I(g->raw_at)), shared,
				   g->barrier_at + 2 * TCB_KIT_TILE_BARRIERS * g->stages + 16);
	}
	if (g->is_dynamic) {
		x->item = u_add(b, shared, I(g->item_at));
		x->item_parity = u_set(b, I(0));
	}
	tcb_kit_one_begin(&w->kit);
	tcb_kit_tiles_init_for(b, &x->k, g->converts ? GROUP_WARPS : 1, GROUP_WARPS * g->workers);
	if (!g->is_view)
		tcb_kit_tiles_init_for(b, &x->v, g->converts ? GROUP_WARPS : 1, GROUP_WARPS * g->workers);
	if (g->converts)
		tcb_kit_tiles_init(b, &x->raw, GROUP_WARPS);
	tcb_kit_barriers_init(b, tcb_ptx_at(x->q_full, 0), 1, 1);
	tcb_kit_barriers_init(b, tcb_ptx_at(x->q_empty, 0), 1, GROUP_WARPS * g->workers);
	if (g->is_dynamic) {
		tcb_kit_barriers_init(b, tcb_ptx_at(x->item, 0), 1, 1);
		tcb_kit_barriers_init(b, tcb_ptx_at(x->item, ITEM_EMPTY), 1,
				      GROUP_WARPS * (g->workers + (g->converts ? 1 : 0)));
	}
	tcb_kit_barriers_ready(b);
	tcb_ptx_if_end(b);
	tcb_kit_block_barrier(b);
}

/* --- tiles that are drawn --- */

/* The next tile's number, of the thread that IS_ONE; it comes while copies are asked for. */
static kit_op draw_item(struct wgmma_writer *x, struct prefill_items *items, kit_op is_one)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const kit_op drawn = u_set(b, I(0));
	tcb_ptx_if_begin(b, is_one);
	u_set_to(b, drawn, prefill_items_draw(x->w, items));
	tcb_ptx_if_end(b);
	return drawn;
}

/* DRAWN to the others, by the thread that drew, when they know the one before. */
static void tell_item(struct wgmma_writer *x, kit_op drawn)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	tcb_kit_wait(b, tcb_ptx_at(x->item, ITEM_EMPTY), u_xor(b, x->item_parity, I(1)));
	tcb_kit_put(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(x->item, ITEM_NUMBER), drawn);
	barrier_arrive_to(b, tcb_ptx_sink_operand(), tcb_ptx_at(x->item, 0));
}

static void hear_item(struct wgmma_writer *x, struct prefill_items *items)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	tcb_kit_wait(b, tcb_ptx_at(x->item, 0), x->item_parity);
	tcb_kit_load_into(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(x->item, ITEM_NUMBER), &items->next, 1);
	tcb_kit_warp_barrier(b);
	tcb_kit_release(&x->w->kit, u_add(b, x->item, I(ITEM_EMPTY)));
	u_xor_to(b, x->item_parity, x->item_parity, I(1));
}

/* --- the thread that copies --- */

/* What a page holds of a tile from TOKEN on, to SLOT; past the length is past all pages, where a copy gives zeros. */
static void copy_page(struct wgmma_writer *x, const struct tcb_kit_tiles *r, kit_op map, unsigned boxes, kit_op token,
		      kit_op slot)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const kit_op page = u_div(b, token, I(g->page));
	const kit_op within = u_rem(b, token, I(g->page));
	const kit_op number = u_set(b, I((int64_t)g->sequences * g->pages));
	tcb_ptx_guard(b, u_lt(b, token, w->length));
	tcb_kit_load_into(b, tcb_kit_input(g->pdl), "u32",
			  tcb_kit_element(b, w->table, u_mad(b, w->sequence, w->per_sequence, page), 4), &number, 1);
	tcb_ptx_unguard(b);
	for (unsigned i = 0; i < boxes; i++) {
		const kit_op where[] = { I(PREFILL_BOX * i), w->kv_head, within, number };
		tcb_kit_copy_box(b, slot, i * g->kv * PREFILL_BOX_BYTES, map, where, 4, r->full, NULL);
	}
}

/* All pages of a tile, one after the other: the thread that copies has few registers. */
static void copy_pages(struct wgmma_writer *x, const struct tcb_kit_tiles *r, kit_op map, unsigned boxes, kit_op first)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct prefill_gpu *g = x->w->g;
	if (g->page >= g->kv) {
		copy_page(x, r, map, boxes, first, r->slot);
		return;
	}
	const kit_op loop = tcb_ptx_for_begin(b, I(0), I(g->kv), I(g->page), 1);
	tcb_kit_nounroll(b);
	copy_page(x, r, map, boxes, u_add(b, first, loop), u_mad(b, loop, I(PREFILL_BOX_BYTES), r->slot));
	tcb_ptx_for_end(b);
}

static void copy_tile(struct wgmma_writer *x, struct tcb_kit_tiles *r, kit_op map, kit_op first)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const unsigned boxes = r->slot_bytes / (g->kv * PREFILL_BOX_BYTES);
	tcb_kit_wait(b, tcb_ptx_at(r->empty, 0), u_xor(b, r->parity, I(1)));
	tcb_kit_expect(b, tcb_ptx_at(r->full, 0), I(r->slot_bytes));
	if (g->page)
		copy_pages(x, r, map, boxes, first);
	for (unsigned i = 0; !g->page && i < boxes; i++) {
		const kit_op where[] = { I(PREFILL_BOX * i), w->kv_head, first, w->sequence };
		tcb_kit_copy_box(b, r->slot, i * g->kv * PREFILL_BOX_BYTES, map, where, 4, r->full, NULL);
	}
	tcb_kit_tiles_next(b, r);
}

/* Of Q, and of K as it is multiplied. */
static unsigned q_boxes(const struct prefill_gpu *g)
{
	return (unsigned)tcb_div_up(g->k, PREFILL_BOX);
}

/* V's; with vk it comes as K. */
static void copy_v(struct wgmma_writer *x, kit_op first)
{
	if (!x->w->g->is_view)
		copy_tile(x, &x->v, x->w->v, first);
}

static void copy_q(struct wgmma_writer *x)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	tcb_kit_wait(b, tcb_ptx_at(x->q_empty, 0), u_xor(b, x->q_parity, I(1)));
	tcb_kit_expect(b, tcb_ptx_at(x->q_full, 0), I((int64_t)g->rows * q_boxes(g) * PREFILL_BOX_BYTES));
	for (unsigned j = 0; j < g->workers / g->splits; j++)
		for (unsigned i = 0; i < q_boxes(g); i++) {
			const kit_op where[] = { I(PREFILL_BOX * i), w->head,
						 j ? u_add(b, w->first_token, I(j * g->own_rows / g->heads))
						   : w->first_token,
						 w->sequence };
			tcb_kit_copy_box(b, w->kit.shared, (i * g->rows + j * g->own_rows) * PREFILL_BOX_BYTES, w->q,
					 where, 4, x->q_full, NULL);
		}
	u_xor_to(b, x->q_parity, x->q_parity, I(1));
}

/* K of a tile comes before V of the tile before it. */
static void write_copier(struct wgmma_writer *x)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	struct prefill_items items;
	if (g->of_copier)
		registers_fewer(b, I(g->of_copier));
	tcb_ptx_if_begin(b, u_eq(b, w->kit.tid, I(GROUP_THREADS * g->workers)));
	prefill_items_begin(w, &items);
	kit_op drawn = I(0);
	if (g->is_dynamic) /* it comes while copies are asked for */
		drawn = prefill_items_draw(w, &items);
	tcb_ptx_if_begin(b, u_gt(b, w->count, I(0)));
	copy_q(x);
	const kit_op first = u_mad(b, u_sub(b, w->count, I(1)), I(g->kv), w->begin);
	copy_tile(x, &x->k, w->k, first);
	tcb_ptx_for_begin(b, I(1), w->count, I(1), 0);
	tcb_kit_nounroll(b);
	const kit_op next = u_sub(b, first, I(g->kv));
	copy_tile(x, &x->k, w->k, next);
	copy_v(x, first);
	u_set_to(b, first, next);
	tcb_ptx_for_end(b);
	copy_v(x, first);
	tcb_ptx_if_end(b);
	if (g->is_dynamic) {
		tell_item(x, drawn);
		u_set_to(b, items.next, drawn);
		u_xor_to(b, x->item_parity, x->item_parity, I(1));
	}
	prefill_items_end(w, &items);
	tcb_ptx_if_end(b);
}

/* --- the warpgroup that converts, with prep=warps --- */

/* Where rows of the KV head begin among those of a token; bytes. */
static kit_op row_in_token(struct wgmma_writer *x)
{
	const unsigned bytes = (unsigned)tcb_kv_bytes(x->w->g->cache, x->w->g->k);
	return u_mul(&x->w->kit.b, x->w->kv_head, I(bytes));
}

/*
 * Tile number ENTRY of those that are copied, K and V by turns: K of the last tile; K of tiles down to the first, each
 * before V of the tile above it; V of the first.
 */
static void copy_raw(struct wgmma_writer *x, kit_op entry, kit_op slot, kit_op full)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const kit_op half = u_shr(b, u_add(b, entry, I(1)), I(1));
	const kit_op is_odd = u_ne(b, u_and(b, entry, I(1)), I(0));
	const kit_op k_tile = u_sub(b, u_sub(b, w->count, I(1)), half);
	kit_op tile = u_select(b, k_tile, u_sub(b, w->count, half), is_odd);
	const kit_op is_k = u_lt_and(b, half, w->count, is_odd);
	tile = u_select(b, I(0), tile, u_eq(b, half, w->count));
	const kit_op is_first = u_eq(b, entry, I(0));
	tile = u_select(b, u_sub(b, w->count, I(1)), tile, is_first);
	const kit_op first = u_mad(b, tile, I(g->kv), w->begin);
	const kit_op pair = u_shr(b, u_and(b, row_in_token(x), I(-RAW_ALIGN)), I(1));
	const kit_op where[] = { pair, first, w->sequence };
	tcb_kit_expect(b, tcb_ptx_at(full, 0), I((int64_t)g->kv * g->raw_pitch));
	tcb_ptx_if_begin(b, p_or(b, is_first, is_k));
	tcb_kit_copy_box(b, slot, 0, w->k, where, RAW_RANK, full, NULL);
	tcb_ptx_if_else(b);
	tcb_kit_copy_box(b, slot, 0, w->v, where, RAW_RANK, full, NULL);
	tcb_ptx_if_end(b);
}

/* The blocks in use to R's slot, when it is empty. */
static void convert_tile(struct wgmma_writer *x, struct prefill_converter *c, struct tcb_kit_tiles *r)
{
	struct tcb_kit *kit = &x->w->kit;
	tcb_kit_wait(&kit->b, tcb_ptx_at(r->empty, 0), u_xor(&kit->b, r->parity, I(1)));
	const kit_op within = u_and(&kit->b, row_in_token(x), I(RAW_ALIGN - 1));
	prefill_convert_tile(c, u_add(&kit->b, x->raw.slot, within), r->slot);
	fence_async_shared(&kit->b);
	tcb_kit_warp_barrier(&kit->b);
	tcb_kit_release(kit, r->full);
	tcb_kit_release(kit, x->raw.empty);
	tcb_kit_tiles_next(&kit->b, r);
}

/* The first two tiles of blocks, and Q; by one thread. */
static void copy_first(struct wgmma_writer *x)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const kit_op before = u_xor(b, x->raw.parity, I(1));
	copy_q(x);
	for (unsigned i = 0; i < PREFILL_RAW_STAGES; i++) {
		const kit_op full = u_add(b, x->raw.first_full, I(8 * i));
		tcb_kit_wait(b, tcb_ptx_at(u_add(b, x->raw.first_empty, I(8 * i)), 0), before);
		copy_raw(x, u_set(b, I(i)), u_add(b, x->raw.first_slot, I((int64_t)i * x->raw.slot_bytes)), full);
	}
}

static void write_converters(struct wgmma_writer *x)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	struct prefill_converter converter;
	struct prefill_items items;
	if (g->of_copier)
		registers_fewer(b, I(g->of_copier));
	prefill_convert_open(w, &converter);
	const kit_op is_one = u_eq(b, w->kit.tid, I(GROUP_THREADS * g->workers));
	kit_op drawn = I(0);
	prefill_items_begin(w, &items);
	if (g->is_dynamic)
		drawn = draw_item(x, &items, is_one);
	const kit_op all = u_shl(b, w->count, I(1));
	tcb_ptx_if_begin(b, u_gt(b, w->count, I(0)));
	tcb_ptx_if_begin(b, is_one);
	copy_first(x);
	tcb_ptx_if_end(b);
	const kit_op loop = tcb_ptx_for_begin(b, I(0), all, I(1), 1);
	tcb_kit_nounroll(b);
	const kit_op entry = loop, is_even = u_eq(b, u_and(b, entry, I(1)), I(0));
	const kit_op is_last = u_eq(b, u_add(b, entry, I(1)), all);
	const kit_op is_v = p_or(b, u_ne_and(b, entry, I(0), is_even), is_last);
	tcb_kit_wait(b, tcb_ptx_at(x->raw.full, 0), x->raw.parity);
	tcb_ptx_if_begin(b, is_v);
	convert_tile(x, &converter, &x->v);
	tcb_ptx_if_else(b);
	convert_tile(x, &converter, &x->k);
	tcb_ptx_if_end(b);
	const kit_op next = u_add(b, entry, I(PREFILL_RAW_STAGES));
	tcb_ptx_if_begin(b, u_lt_and(b, next, all, is_one));
	tcb_kit_wait(b, tcb_ptx_at(x->raw.empty, 0), x->raw.parity);
	copy_raw(x, next, x->raw.slot, x->raw.full);
	tcb_ptx_if_end(b);
	tcb_kit_tiles_next(b, &x->raw);
	tcb_ptx_for_end(b);
	tcb_ptx_if_end(b);
	if (g->is_dynamic) {
		tcb_ptx_if_begin(b, is_one);
		tell_item(x, drawn);
		tcb_ptx_if_end(b);
		hear_item(x, &items);
	}
	prefill_items_end(w, &items);
}

/* --- the warpgroups that multiply --- */

/* SLOT / 16 without the upper bits, which in a cluster say whose memory it is; and what MORE has in them. */
static kit_op slot16(struct tcb_ptx_build *b, kit_op slot, kit_op more)
{
	return u_add(b, u_shr(b, u_and(b, slot, I(0x3ffff)), I(4)), more);
}

static kit_op descriptor(struct wgmma_writer *x, kit_op low, unsigned bytes)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	return tcb_kit_descriptor(b, bytes ? u_add(b, low, I(bytes / 16)) : low, x->high);
}

/* S of K's slot in use, as a group. */
static void issue_scores(struct wgmma_writer *x)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct prefill_gpu *g = x->w->g;
	const kit_op k = slot16(b, x->k.slot, x->k16);
	wgmma_begin(b);
	for (unsigned i = 0; i < tcb_div_up(g->k, PREFILL_STEP); i++) {
		const unsigned box = i / 4, within = i % 4 * 32;
		const kit_op rows = descriptor(x, x->q16, box * g->rows * PREFILL_BOX_BYTES + within);
		const kit_op tokens = descriptor(x, k, box * g->kv * PREFILL_BOX_BYTES + within);
		tcb_kit_multiply_group(b, prefill_type_word(g), g->kv, x->s, rows, tokens, i ? x->always : x->never, 0);
	}
	wgmma_commit(b);
}

/* O += P V of V's slot in use, as a group. */
static void issue_values(struct wgmma_writer *x)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct prefill_gpu *g = x->w->g;
	const kit_op v = slot16(b, x->v.slot, x->v16);
	wgmma_begin(b);
	for (unsigned i = 0; i < g->kv / 16; i++)
		tcb_kit_multiply_group(b, prefill_type_word(g), g->own_v, x->o, tcb_ptx_vector(b, x->p + 4 * i, 4),
				       descriptor(x, v, 2 * i * TCB_KIT_EIGHT_ROWS), x->always, 1);
	wgmma_commit(b);
}

static void wait_groups(struct wgmma_writer *x, unsigned left)
{
	wgmma_wait(&x->w->kit.b, I(left));
}

/* With vk K's tile is V's, too, until that is multiplied. */
static void release(struct wgmma_writer *x, struct tcb_kit_tiles *r)
{
	if (!x->w->g->is_view || r == &x->v)
		tcb_kit_release(&x->w->kit, r->empty);
	tcb_kit_tiles_next(&x->w->kit.b, r);
}

/* Rows of the last tile of V past the length are zeros, since 0 times NaN is none.  All that multiply share them. */
static void clear_past_length(struct wgmma_writer *x)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const unsigned box_bytes = g->kv * PREFILL_BOX_BYTES;
	tcb_ptx_if_begin(b, u_gt(b, u_add(b, x->first, I(g->kv)), w->length));
	tcb_kit_wait(b, tcb_ptx_at(x->v.full, 0), x->v.parity);
	if (g->is_view) /* all have their scores of it */
		barrier_named(b, I(WORKERS_BARRIER), I(GROUP_THREADS * g->workers));
	const kit_op rows = u_sub(b, w->length, x->first);
	const kit_op own = u_mad(b, w->kit.tid, I(16), u_mul(b, rows, I(PREFILL_BOX_BYTES)));
	const kit_op zero = b_set(b, I(0)), zeros[] = { zero, zero, zero, zero };
	const kit_op loop = tcb_ptx_for_begin(b, own, I(box_bytes), I((int64_t)GROUP_THREADS * g->workers * 16), 0);
	const kit_op at = tcb_ptx_assume_aligned(b, u_add(b, x->v.slot, loop), 16);
	for (unsigned i = 0; i < g->v_columns / PREFILL_BOX; i++)
		tcb_kit_store(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(at, i * box_bytes), zeros, 4);
	tcb_ptx_for_end(b);
	fence_async_shared(b);
	barrier_named(b, I(WORKERS_BARRIER), I(GROUP_THREADS * g->workers));
	tcb_ptx_if_end(b);
}

/* Warpgroups take turns: each waits for its barrier, where the one before it arrives. */
static void take_turn(struct wgmma_writer *x)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	if (x->w->g->turns)
		barrier_named(b, u_add(b, x->index, I(TURN_BARRIER)), I(2 * GROUP_THREADS));
}

static void hand_on(struct wgmma_writer *x)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	if (!x->w->g->turns)
		return;
	const kit_op next = u_add(b, x->index, I(1));
	const kit_op other = u_select(b, I(0), next, u_eq(b, next, I(x->w->g->workers)));
	barrier_named_arrive(b, u_add(b, other, I(TURN_BARRIER)), I(2 * GROUP_THREADS));
}

/* The first warpgroup's turn comes first; whose it is at the end is taken back. */
static void open_turns(struct wgmma_writer *x, int is_end)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct prefill_gpu *g = x->w->g;
	if (!g->turns)
		return;
	tcb_ptx_if_begin(b, u_eq(b, x->index, I(is_end ? 0 : g->workers - 1)));
	if (is_end)
		take_turn(x);
	else
		hand_on(x);
	tcb_ptx_if_end(b);
}

/* The first tile: S, its weights. */
static void write_first(struct wgmma_writer *x)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct prefill_gpu *g = x->w->g;
	kit_op scores[PREFILL_KV_MAX / 2], factor[2];
	tcb_kit_wait(b, tcb_ptx_at(x->q_full, 0), x->q_parity);
	tcb_kit_wait(b, tcb_ptx_at(x->k.full, 0), x->k.parity);
	issue_scores(x);
	wait_groups(x, 0);
	release(x, &x->k);
	clear_past_length(x);
	for (unsigned i = 0; i < g->kv / 2; i++)
		scores[i] = x->s[i];
	prefill_write_weights(x->w, &x->rows, scores, g->kv / 2, x->first, 1, factor);
	prefill_write_packed(x->w, scores, g->kv / 2, x->p);
}

/* Tiles FROM to TO - 1 of all, counted from the last token. */
static void write_steps(struct wgmma_writer *x, kit_op from, kit_op to, int is_masked)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct prefill_gpu *g = x->w->g;
	kit_op scores[PREFILL_KV_MAX / 2], factor[2];
	tcb_ptx_for_begin(b, from, to, I(1), 0);
	tcb_kit_nounroll(b);
	u_sub_to(b, x->first, x->first, I(g->kv));
	tcb_kit_wait(b, tcb_ptx_at(x->k.full, 0), x->k.parity);
	take_turn(x);
	issue_scores(x);
	tcb_kit_wait(b, tcb_ptx_at(x->v.full, 0), x->v.parity);
	issue_values(x);
	hand_on(x);
	wait_groups(x, 1);
	release(x, &x->k);
	for (unsigned i = 0; i < g->kv / 2; i++)
		scores[i] = x->s[i];
	prefill_write_weights(x->w, &x->rows, scores, g->kv / 2, x->first, is_masked, factor);
	wait_groups(x, 0);
	release(x, &x->v);
	for (unsigned i = 0; i < g->own_v / 2; i++)
		f_mul_to(b, x->o[i], x->o[i], factor[i / 2 % 2]);
	prefill_write_packed(x->w, scores, g->kv / 2, x->p);
	tcb_ptx_for_end(b);
}

static void write_last(struct wgmma_writer *x)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	tcb_kit_release(&x->w->kit, x->q_empty);
	u_xor_to(b, x->q_parity, x->q_parity, I(1));
	tcb_kit_wait(b, tcb_ptx_at(x->v.full, 0), x->v.parity);
	issue_values(x);
	wait_groups(x, 0);
	release(x, &x->v);
}

static void open_worker(struct wgmma_writer *x)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	x->index = u_shr(b, w->kit.warp, I(2));
	x->high = u_set(b, I(TCB_KIT_DESCRIPTOR_HIGH));
	x->k16 = u_set(b, I(1 << 16));
	x->v16 = u_set(b, I((int64_t)(g->kv * PREFILL_BOX_BYTES / 16) << 16));
	const kit_op rows = g->splits > 1 ? u_div(b, x->index, I(g->splits)) : x->index;
	if (g->splits > 1) {
		x->part = u_rem(b, x->index, I(g->splits));
		x->v16 = u_mad(b, x->part, I(g->own_v / PREFILL_BOX * (g->kv * PREFILL_BOX_BYTES / 16)), x->v16);
	}
	x->q16 = slot16(b, u_mad(b, rows, I(PREFILL_GROUP_ROWS * PREFILL_BOX_BYTES), w->kit.shared), x->k16);
	x->always = u_ne(b, w->width, I(0));
	x->never = u_eq(b, w->width, I(0));
	for (unsigned i = 0; i < g->kv / 2; i++)
		x->s[i] = f_set(b, F(0));
	for (unsigned i = 0; i < g->kv / 4; i++)
		x->p[i] = tcb_ptx_reg(b, "b32");
	for (unsigned i = 0; i < g->own_v / 2; i++)
		x->o[i] = tcb_ptx_reg(b, "f32");
	x->first = tcb_ptx_reg(b, "u32");
}

/* Of which 16 rows the warp has products. */
static kit_op rows_warp(struct wgmma_writer *x)
{
	struct tcb_kit *kit = &x->w->kit;
	const unsigned splits = x->w->g->splits;
	if (splits == 1)
		return kit->warp;
	const kit_op group = u_div(&kit->b, x->index, I(splits));
	return u_mad(&kit->b, group, I(GROUP_WARPS), u_and(&kit->b, kit->warp, I(GROUP_WARPS - 1)));
}

/* With splits each warpgroup stores its columns. */
static void write_out(struct wgmma_writer *x)
{
	struct tcb_ptx_build *b = &x->w->kit.b;
	const struct prefill_gpu *g = x->w->g;
	void (*const store)(struct prefill_writer *, struct prefill_rows *, const kit_op *, unsigned, unsigned) =
		g->kv_parts ? prefill_write_part : prefill_write_out;
	if (g->splits == 1) {
		store(x->w, &x->rows, x->o, 0, g->v);
		return;
	}
	for (unsigned i = 0; i * g->own_v < g->v; i++) {
		tcb_ptx_if_begin(b, u_eq(b, x->part, I(i)));
		store(x->w, &x->rows, x->o, i * g->own_v, (unsigned)tcb_least(g->own_v, g->v - i * g->own_v));
		tcb_ptx_if_end(b);
	}
}

static void write_worker(struct wgmma_writer *x)
{
	struct prefill_writer *w = x->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	struct prefill_items items;
	if (g->of_worker)
		registers_more(b, I(g->of_worker));
	open_worker(x);
	open_turns(x, 0);
	prefill_items_begin(w, &items);
	const kit_op quad = u_shr(b, w->kit.lane, I(2));
	prefill_rows_open(w, &x->rows, u_mad(b, rows_warp(x), I(PREFILL_ROWS), quad));
	prefill_rows_clear(w, &x->rows);
	for (unsigned i = 0; i < g->own_v / 2; i++)
		f_set_to(b, x->o[i], F(0));
	tcb_ptx_if_begin(b, u_gt(b, w->count, I(0)));
	u_mad_to(b, x->first, u_sub(b, w->count, I(1)), I(g->kv), w->begin);
	write_first(x);
	write_steps(x, I(1), w->masked, 1);
	write_steps(x, w->masked, w->unmasked_to, 0);
	if (g->window)
		write_steps(x, w->unmasked_to, w->count, 1);
	write_last(x);
	tcb_ptx_if_end(b);
	write_out(x);
	if (g->is_dynamic)
		hear_item(x, &items);
	prefill_items_end(w, &items);
	open_turns(x, 1);
}

/* lead: the last tiles of the block's part, which come first, by the thread that copies. */
static void write_lead(struct prefill_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	tcb_ptx_if_begin(b, u_eq(b, w->kit.tid, I(GROUP_THREADS * g->workers)));
	prefill_write_tile_ahead(w, u_block_x(b));
	for (unsigned t = 1; t <= g->lead; t++) {
		tcb_ptx_if_begin(b, u_ge(b, w->count, I(t)));
		const kit_op first = u_mad(b, u_sub(b, w->count, I(t)), I(g->kv), w->begin);
		for (unsigned v = 0; v < (g->is_view ? 1 : 2); v++)
			for (unsigned i = 0; i < (v ? g->v_bytes : g->k_bytes) / (g->kv * PREFILL_BOX_BYTES); i++) {
				const kit_op where[] = { I(PREFILL_BOX * i), w->kv_head, first, w->sequence };
				tcb_kit_box_ahead(b, v ? w->v : w->k, where, 4);
			}
		tcb_ptx_if_end(b);
	}
	tcb_ptx_if_end(b);
}

void prefill_write_wgmma(struct prefill_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	struct wgmma_writer x = { .w = w };
	if (w->g->lead)
		write_lead(w);
	open_rings(&x);
	tcb_kit_depend(&w->kit);
	tcb_ptx_if_begin(b, u_ge(b, w->kit.warp, I(GROUP_WARPS * w->g->workers)));
	(w->g->converts ? write_converters : write_copier)(&x);
	tcb_ptx_if_else(b);
	write_worker(&x);
	tcb_ptx_if_end(b);
}
