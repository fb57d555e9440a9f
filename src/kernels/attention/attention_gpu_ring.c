/* SPDX-License-Identifier: MIT
 *
 * K and V of attention on their way through shared memory.  A piece's number comes in;
 * what copies its rows to a slot of the warp's ring goes out.
 *
 * A row of a KV head is `units` copies of `unit` bytes; a piece's, one behind the other,
 * are lane 0's, lane 1's, and so on.  Where rows lie one behind the other and are
 * aligned to 4 bytes, what a lane copies is at the same places in each piece, worked out
 * once; past the last token there are zeros.  Otherwise (pages, or rows of an odd number
 * of blocks) a lane looks up the row of one token, the others ask it, and past the last
 * token there is that one again.  A row that begins between two words is copied from
 * the word on that it begins in, and the slot says by how many bits it is off; if rows of
 * all tokens begin at the same place of 16 bytes, 16 bytes at a time from these on.
 */
#include "base/sizes.h"
#include "kernels/attention/attention_gpu.h"
#include "kernels/gpu/tile_ring.h"

enum { BOX_RANK = 3, BOXES_RANK = 4, UNIT = 16, TURN_BARRIER = 1 /* named barrier of the first turn */ };

static int is_in_line(const struct attention_gpu *g)
{
	return !g->page && ((!g->is_odd[0] && !g->is_odd[1]) || g->is_within);
}

kit_op attention_row_of(struct attention_reader *r, kit_op t)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op token = u_min(b, t, r->last);
	if (!g->page)
		return token;
	const struct kit_split page = u_split(b, token, I(g->page));
	const kit_op number = tcb_kit_entry(b, tcb_kit_input(g->pdl), r->table, page.whole);
	return u_mad(b, number, I(g->page), page.rest);
}

/* Copy J of a lane, of K or of V (V): its token, and which of the row's copies it is. */
static void unit_of(struct attention_reader *r, unsigned v, unsigned j, kit_op *token, kit_op *within)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op unit = u_add(b, r->thread, I(g->team * WARP * j));
	const struct kit_split of_token = u_split(b, unit, I(g->units[v]));
	*token = of_token.whole;
	*within = of_token.rest;
}

/* Places of copy J, but for the slot and the piece: from the piece's first row on, and of K's and V's part of a slot.
 */
static void write_places(struct attention_reader *r, unsigned v, unsigned j, kit_op *token, kit_op *from, kit_op to[2])
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	kit_op within;
	unit_of(r, v, j, token, &within);
	const kit_op bytes = u_mul(b, within, I(g->unit[v]));
	*from = is_in_line(g) ? u_mad(b, *token, I(g->token_bytes[v]), bytes) : bytes;
	if (g->v_own || g->is_view) {
		to[v] = u_mad(b, *token, I(g->pitch[v]), bytes);
		return;
	}
	to[0] = u_mad(b, *token, I(g->pitch[0]), bytes);
	to[1] = g->pitch[0] == g->pitch[1] ? to[0] : u_mad(b, *token, I(g->pitch[1]), bytes);
}

/* What heads are short of whole blocks becomes zeros in all slots; no copy gets there. */
static void clear_rests(struct attention_reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned threads = g->team * WARP;
	for (unsigned v = 0; v < (g->is_view ? 1 : 2); v++) {
		const unsigned blocks = v ? g->v_blocks : g->k_blocks;
		const unsigned size = g->is_short[v] ? UNIT / 2 : UNIT;
		const unsigned units = (blocks * g->block_bytes[v] - g->row_bytes[v]) / size;
		for (unsigned j = 0; j < tcb_div_up(g->kv * units, threads); j++) {
			const kit_op unit = u_add(b, r->thread, I(threads * j)), zero = u_set(b, I(0));
			const struct kit_split of_token = u_split(b, unit, I(units));
			const kit_op zeros[] = { zero, zero, zero, zero };
			const kit_op at = u_mad(b, of_token.whole, I(g->pitch[v]), u_mul(b, of_token.rest, I(size)));
			const kit_op is_one = u_lt(b, unit, I(g->kv * units));
			for (unsigned i = 0; i < g->stages; i++) {
				const struct tcb_kit_slot slot = tcb_kit_ring_slot(&r->ring, (int)i);
				const kit_op to = tcb_ptx_assume_aligned(b, u_add(b, slot.base, at), size);
				tcb_kit_store_where(b, is_one, TCB_KIT_SHARED, "u32",
						    tcb_ptx_at(to, slot.at + (v ? g->v_at : 0) + g->row_bytes[v]),
						    zeros, size / 4);
			}
		}
	}
}

void attention_ring_begin(struct attention_reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	if (g->is_boxed) /* what heads are short of whole boxes copies make zeros */
		return;
	if (g->copy == TCB_COPY_BULK) {
		const kit_op row = u_mul(b, r->w->kv_head, I(g->row_bytes[0]));
		r->within[0] = r->within[1] = u_and(b, row, I(UNIT - 1));
		r->box = u_shr(b, u_and(b, row, I(-UNIT)), I(1));
	} else if (g->is_within) {
		r->within[0] = u_and(b, u_from_l(b, r->k), I(15));
		r->within[1] = g->v_own ? u_and(b, u_from_l(b, r->v), I(15)) : r->within[0];
		r->k = l_and(b, r->k, I(-16));
		r->v = l_and(b, r->v, I(-16));
	}
	for (int v = 0; v < 2 && g->is_within; v++)
		if (g->is_odd[v])
			r->shift[v] = v && !g->v_own ? r->shift[0] : u_shl(b, u_and(b, r->within[v], I(2)), I(3));
	clear_rests(r);
	for (unsigned j = 0; g->is_kept && j < g->copies[0]; j++) {
		kit_op to[2];
		write_places(r, 0, j, &r->unit_token[j], &r->unit_from[j], to);
		r->unit_to[0][j] = to[0];
		r->unit_to[1][j] = g->is_view ? to[0] : to[1];
	}
}

/* One copy of K, or of V (V), to AT bytes behind TO, where IS_OWN holds; BYTES: of these, then zeros.  NULL:
 * everywhere; all. */
static void copy(struct attention_reader *r, unsigned v, kit_op to, unsigned at, kit_op from, const kit_op *bytes,
		 const kit_op *is_own)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	if (is_own)
		tcb_ptx_guard(b, *is_own);
	/* Neighbours' copies share sectors where rows begin anywhere. */
	tcb_kit_copy(b, tcb_ptx_at(tcb_ptx_assume_aligned(b, to, g->unit[v]), at),
		     tcb_ptx_assume_aligned(b, from, g->unit[v]), g->unit[v], g->is_within, bytes);
	if (is_own)
		tcb_ptx_unguard(b);
}

/* Whether half of a row's last word may be nobody's: rows of an odd number of halves where a sequence's tokens, or a
 * page's, may be one. */
static int has_ends(const struct attention_gpu *g, unsigned v)
{
	return g->is_odd[v] && !g->is_within && g->row_bytes[v] == g->head_bytes[v] && g->token_bytes[v] % 4 &&
	       (!g->page || g->page % 2);
}

/* Whether ROW of this lane, number NUMBER, has such a word: it is the last head's of the last token, and not off. */
static kit_op is_end(struct attention_reader *r, kit_op number, kit_op row)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op token = g->page ? u_rem(b, number, I(g->page)) : number;
	const kit_op last = g->page ? I(g->page - 1) : u_sub(b, r->tokens, I(1));
	const kit_op is_even = u_eq(b, u_and(b, u_from_l(b, row), I(2)), I(0));
	return u_eq_and(b, token, last, u_eq_and(b, r->w->kv_head, I(g->kv_heads - 1), is_even));
}

/* A row, which begins between two words or not, in words from where it begins on; of ENDS, bits of the piece's tokens
 * (NULL: there are none), all but the last word. */
static void copy_odd(struct attention_reader *r, unsigned v, kit_op to, unsigned at, kit_op row, kit_op token,
		     kit_op within, const kit_op *ends, const kit_op *is_own)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op from = tcb_kit_behind(b, l_and(b, row, I(-4)), within);
	kit_op is_copied = I(0);
	if (ends) {
		is_copied = p_or(b, u_ne(b, within, I((int64_t)g->unit[v] * (g->units[v] - 1))),
				 u_eq(b, u_and(b, u_shr(b, *ends, token), I(1)), I(0)));
		if (is_own)
			is_copied = p_and(b, is_copied, *is_own);
	}
	copy(r, v, to, at, from, NULL, ends ? &is_copied : is_own);
}

/* What copy_odd leaves out of ROW, the lane's, where IS_LEFT: its last half, by a load (a copy of two bytes of four is
 * one of four to tools that watch memory). */
static void copy_end(struct attention_reader *r, unsigned v, kit_op row, kit_op is_left,
		     const struct tcb_kit_slot *slot)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned at = slot->at + (v ? g->v_at : 0) + g->unit[v] * (g->units[v] - 1);
	tcb_ptx_if_begin(b, u_lt_and(b, r->thread, I(g->kv), is_left));
	const kit_op half = tcb_kit_get(b, tcb_kit_input(g->pdl), "u16",
					tcb_ptx_at(tcb_ptx_assume_aligned(b, row, 2), g->row_bytes[v] - 2));
	const kit_op to = u_mad(b, r->w->kit.lane, I(g->pitch[v]), slot->base);
	tcb_kit_put(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(tcb_ptx_assume_aligned(b, to, 4), at), u_from_u16(b, half));
	tcb_ptx_if_end(b);
}

/* Whether the last of a row's copies is one too many for some heads. */
static int has_spare(const struct attention_gpu *g, unsigned v)
{
	return g->is_within && g->row_bytes[v] <= (g->units[v] - 1) * g->unit[v];
}

/* Copy J of this lane, to TO in a slot's K, or V of rows of its own (V): *IS_OWN tells whether it is one of the
 * piece's.  0: all lanes' are. */
static int tell_own(struct attention_reader *r, unsigned v, unsigned j, kit_op token, kit_op to, kit_op *is_own)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned threads = g->team * WARP, rest = g->kv * g->units[v] - threads * j;
	if (rest >= threads && !has_spare(g, v))
		return 0;
	*is_own = u_lt(b, r->thread, I(rest));
	if (has_spare(g, v)) {
		const kit_op at = u_sub(b, to, u_mul(b, token, I(g->pitch[v])));
		*is_own = u_lt_and(b, at, u_add(b, r->within[v], I(g->row_bytes[v])), *is_own);
	}
	return 1;
}

/* All copies of a piece; LEFT: tokens that there are from FIRST on, NULL: as many as a piece has or more.  ROW: of this
 * lane's token of the piece. */
static void fill(struct attention_reader *r, kit_op first, const struct tcb_kit_slot *slot, const kit_op *left,
		 kit_op row)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	for (unsigned v = 0; v < (g->is_view ? 1 : 2); v++) {
		const unsigned own_rows = g->v_own ? v : 0; /* whose widths V's rows have */
		const kit_op all = v ? r->v : r->k;
		const kit_op base = is_in_line(g) ? l_mad_wide(b, first, r->row_bytes[v], all) : all;
		kit_op ends, own_row, is_left;
		if (has_ends(g, v)) {
			own_row = l_mad_wide(b, row, r->row_bytes[v], base);
			is_left = is_end(r, row, own_row);
			ends = u_lanes_where(b, is_left);
		}
		for (unsigned j = 0; j < g->copies[v]; j++) {
			kit_op token = r->unit_token[j % ATTENTION_UNITS_MAX], from, to[2];
			if (g->is_kept) {
				from = r->unit_from[j];
				to[0] = r->unit_to[0][j];
				to[1] = r->unit_to[1][j];
			} else {
				write_places(r, own_rows, j, &token, &from, to);
			}
			const kit_op place = u_add(b, slot->base, to[v]);
			const unsigned at = slot->at + (v ? g->v_at : 0);
			kit_op own = row, bytes, is_own;
			if (!is_in_line(g))
				own = l_mad_wide(b, u_lane(b, row, token), r->row_bytes[v], base);
			if (left)
				bytes = u_select(b, I(g->unit[v]), I(0), u_lt(b, token, *left));
			const kit_op *guard = tell_own(r, own_rows, j, token, to[own_rows], &is_own) ? &is_own : NULL;
			if (g->is_odd[v] && !g->is_within)
				copy_odd(r, v, place, at, own, token, from, has_ends(g, v) ? &ends : NULL, guard);
			else
				copy(r, v, place, at, tcb_kit_behind(b, is_in_line(g) ? base : own, from),
				     left ? &bytes : NULL, guard);
		}
		if (has_ends(g, v))
			copy_end(r, v, own_row, is_left, slot);
	}
}

/* What the rows are off by, in bits, to the slot. */
static void store_shifts(struct attention_reader *r, kit_op row, const struct tcb_kit_slot *slot)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	for (int v = 0; v < (g->v_own ? 2 : 1); v++) {
		if (!g->is_odd[v])
			continue;
		const kit_op at = u_from_l(b, l_mad_wide(b, row, r->row_bytes[v], v ? r->v : r->k));
		const kit_op shift = u_shl(b, u_and(b, at, I(2)), I(3));
		tcb_ptx_guard(b, u_lt(b, r->thread, I(g->kv)));
		tcb_kit_put(b, TCB_KIT_SHARED, "b32",
			    tcb_ptx_at(tcb_ptx_assume_aligned(b, u_mad(b, r->w->kit.lane, I(4), slot->base), 4),
				       slot->at + g->shifts_at[v]),
			    shift);
		tcb_ptx_unguard(b);
	}
}

void attention_ring_barrier(struct attention_reader *r)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	if (g->team > 1)
		barrier_named(b, u_add(b, r->turn, I(TURN_BARRIER)), I(g->team * WARP));
	else
		tcb_kit_warp_barrier(b);
}

/* --- copy=bulk --- */

kit_op attention_ring_tensor(struct attention_writer *w, const char *name, size_t operand)
{
	const struct attention_gpu *g = w->g;
	const uint64_t row = (operand == ATTENTION_V ? g->v : g->k) * 2, token = row * g->kv_heads;
	const struct tcb_tensor boxes = { operand,
					  { .type = g->is_bf16 ? TCB_PTX_BF16 : TCB_PTX_F16,
					    .rank = BOXES_RANK,
					    .size = { row / 2, g->kv_heads, g->n, g->sequences },
					    .stride = { 0, row, token, token * g->n },
					    .box = { ATTENTION_BOX, 1, g->kv, 1 },
					    .swizzle = ATTENTION_BOX_BYTES } };
	const struct tcb_tensor tensor = { operand,
					   { .type = TCB_PTX_U16,
					     .rank = BOX_RANK,
					     .size = { g->token_bytes[0] / 2, g->n, g->sequences },
					     .stride = { 0, g->token_bytes[0], (uint64_t)g->token_bytes[0] * g->n },
					     .box = { g->pitch[0] / 2, g->kv, 1 } } };
	return tcb_kit_tensor(&w->kit, name, g->is_boxed ? &boxes : &tensor);
}

/* The box of K's values, or V's (V), numbered I of a piece from token FIRST on. */
static void box_at(struct attention_reader *r, unsigned i, kit_op first, kit_op out[BOXES_RANK])
{
	out[0] = I(ATTENTION_BOX * i);
	out[1] = r->w->kv_head;
	out[2] = first;
	out[3] = r->w->sequence;
}

static void fill_boxes(struct attention_reader *r, kit_op first, const struct tcb_kit_slot *slot)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const unsigned bytes = g->kv * ATTENTION_BOX_BYTES;
	kit_op where[BOXES_RANK];
	tcb_ptx_if_begin(b, u_eq(b, r->thread, I(0)));
	tcb_kit_expect(b, slot->barrier, I(g->slot_bytes));
	for (unsigned v = 0; v < (g->is_view ? 1 : 2); v++)
		for (unsigned i = 0; i < g->boxes[v]; i++) {
			box_at(r, i, first, where);
			tcb_kit_copy_box(b, slot->base, slot->at + (v ? g->v_at : 0) + i * bytes, v ? r->v : r->k,
					 where, BOXES_RANK, slot->barrier, NULL);
		}
	tcb_ptx_if_end(b);
}

void attention_ring_ahead(struct attention_reader *r, kit_op first)
{
	const struct attention_gpu *g = r->w->g;
	kit_op where[BOXES_RANK];
	for (unsigned v = 0; v < (g->is_view ? 1 : 2); v++)
		for (unsigned i = 0; i < g->boxes[v]; i++) {
			box_at(r, i, first, where);
			tcb_kit_box_ahead(&r->w->kit.b, v ? r->v : r->k, where, BOXES_RANK);
		}
}

/* Rows of V from the one numbered LEFT on. */
static void clear_boxes(struct attention_reader *r, kit_op left)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op zero = b_set(b, I(0)), zeros[] = { zero, zero, zero, zero };
	const unsigned bytes = g->kv * ATTENTION_BOX_BYTES;
	const kit_op own = u_mad(b, r->thread, I(UNIT), u_mul(b, left, I(ATTENTION_BOX_BYTES)));
	const kit_op loop = tcb_ptx_for_begin(b, own, I(bytes), I((int64_t)g->team * WARP * UNIT), 0);
	const kit_op at = tcb_ptx_assume_aligned(b, u_add(b, r->ring.slot, loop), UNIT);
	for (unsigned i = 0; i < g->boxes[1]; i++)
		tcb_kit_store(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(at, g->v_at + i * bytes), zeros, 4);
	tcb_ptx_for_end(b);
}

/* Boxes begin at 16 bytes of a token, the row within them. */
static void fill_bulk(struct attention_reader *r, kit_op first, const struct tcb_kit_slot *slot)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op where[BOX_RANK] = { r->box, first, r->w->sequence };
	tcb_ptx_if_begin(b, u_eq(b, r->thread, I(0)));
	tcb_kit_expect(b, slot->barrier, I((int64_t)(g->is_view ? 1 : 2) * g->kv * g->pitch[0]));
	for (unsigned v = 0; v < (g->is_view ? 1 : 2); v++)
		tcb_kit_copy_box(b, slot->base, slot->at + (v ? g->v_at : 0), v ? r->v : r->k, where, BOX_RANK,
				 slot->barrier, NULL);
	tcb_ptx_if_end(b);
}

/* Of blocks a scale of 0 is enough in V, whose codes are numbers whatever they are; scores are masked. */
void attention_ring_clear(struct attention_reader *r, kit_op first)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	const kit_op left = u_sub(b, u_add(b, r->last, I(1)), first);
	const kit_op zero = b16_set(b, I(0));
	tcb_ptx_if_begin(b, u_lt(b, left, I(g->kv)));
	if (g->is_boxed) {
		clear_boxes(r, left);
		attention_ring_barrier(r);
		tcb_ptx_if_end(b);
		return;
	}
	const kit_op row = u_mad(b, r->thread, I(g->pitch[1]), u_add(b, r->ring.slot, r->within[1]));
	tcb_ptx_guard(b, u_ge_and(b, r->thread, left, u_lt(b, r->thread, I(g->kv))));
	for (unsigned i = 0; i < g->v_blocks; i++)
		tcb_kit_put(b, TCB_KIT_SHARED, "b16",
			    tcb_ptx_at(tcb_ptx_assume_aligned(b, row, 2), g->v_at + g->block_bytes[1] * i), zero);
	tcb_ptx_unguard(b);
	attention_ring_barrier(r);
	tcb_ptx_if_end(b);
}

void attention_ring_fill_before(struct attention_reader *r, kit_op first, kit_op end, const struct tcb_kit_slot *slot)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const kit_op left = s_max(b, s_sub(b, end, first), I(0));
	fill(r, first, slot, &left, I(0));
}

void attention_ring_fill(struct attention_reader *r, kit_op first, const struct tcb_kit_slot *slot)
{
	struct tcb_ptx_build *b = &r->w->kit.b;
	const struct attention_gpu *g = r->w->g;
	if (g->copy == TCB_COPY_BULK) {
		(g->is_boxed ? fill_boxes : fill_bulk)(r, first, slot);
		return;
	}
	if (!is_in_line(g)) {
		const kit_op own = u_rem(b, r->w->kit.lane, I(g->kv));
		const kit_op row = attention_row_of(r, u_add(b, first, own));
		if (!g->is_within)
			store_shifts(r, row, slot);
		fill(r, first, slot, NULL, row);
		return;
	}
	const kit_op left = u_sub(b, u_add(b, r->last, I(1)), first);
	tcb_ptx_if_begin(b, u_ge(b, left, I(g->kv)));
	fill(r, first, slot, NULL, I(0));
	tcb_ptx_if_else(b);
	fill(r, first, slot, &left, I(0));
	tcb_ptx_if_end(b);
}
