/* SPDX-License-Identifier: MIT
 *
 * Gathering, for the products of experts on GPUs.  The image has tiles of 8 tokens
 * by 64 of k, or records of 8 by 256, whose 16-byte pieces trade places by a
 * token's last three bits: there of its number in x, here of its place in the
 * chunk.  A warp takes four rows of eight pieces at a time; warps that do not
 * share the rows of a tile share the tiles along k.
 *
 * Records of contract q8 have scales and sums besides (quant_matmul_gpu_x_s8.c):
 * each row's go to the row's place, 4 or 16 bytes at a time.
 */
#include "kernels/quant_experts/quant_experts_gpu_gather.h"

#include "kernels/gpu/barrier.h"
#include "kernels/quant_matmul/quant_matmul_gpu_x.h"

enum { PIECE = 16, WORD = 4, TOKEN_BYTES = 128, TOKEN_PIECES = TOKEN_BYTES / PIECE, SUM_BYTES = 32, PARTS_MAX = 5 };

void qex_copy(struct qex_writer *x, kit_op to, kit_op from, unsigned bytes, const kit_op *some)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const unsigned words = bytes / WORD;
	kit_op word[PIECE / WORD];
	if (x->g->has_groups) {
		tcb_kit_copy(b, to, from, bytes, 0, some);
		return;
	}
	for (unsigned i = 0; i < words; i++)
		word[i] = u_set(b, I(0));
	if (some)
		tcb_kit_load_where(b, u_ne(b, *some, I(0)), TCB_KIT_GLOBAL, "u32", from, word, words);
	else
		tcb_kit_load_into(b, TCB_KIT_GLOBAL, "u32", from, word, words);
	tcb_kit_store(b, TCB_KIT_SHARED, "u32", to, word, words);
}

void qex_gather_open(struct qex_writer *x, struct qex_gather *gather)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	if (g->is_in_block)
		return;
	for (unsigned i = 0; i < g->fours; i++) {
		gather->product[i] = u_set(b, I(0));
		gather->token[i] = l_set(b, x->w.x);
		gather->bytes[i] = u_set(b, I(0));
		if (g->tile.group) {
			gather->record[i] = l_set(b, x->w.x);
			gather->source[i] = u_set(b, I(0));
		}
	}
	gather->four = u_rem(b, x->w.kit.warp, I(g->across));
	gather->deep = u_div(b, x->w.kit.warp, I(g->across));
	gather->to = u_mad(b, gather->deep, I(g->tile.x_tile_bytes), u_add(b, x->w.kit.shared, I(g->slot_x_at)));
	gather->piece = u_and(b, x->w.kit.lane, I(TOKEN_PIECES - 1));
	gather->pitch = l_mul_wide(b, u_shr(b, x->w.padded, I(3)), I(g->image.x_group_bytes));
}

/* --- what is gathered --- */

/* The row of a chunk that the lane copies of, in its warp's four number I. */
static kit_op row_of(struct qex_writer *x, const struct qex_gather *gather, unsigned i)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const kit_op four = i ? u_add(b, gather->four, I(i * x->g->across)) : gather->four;
	return u_mad(b, four, I(QEX_GATHER_ROWS), u_shr(b, x->w.kit.lane, I(3)));
}

static kit_op of_eight(struct qex_writer *x, kit_op row)
{
	return u_and(&x->w.kit.b, row, I(QMM_GROUP_TOKENS - 1));
}

/* Where the lane's piece of row ROW of 8 is in its tile. */
static kit_op place_of(struct qex_writer *x, const struct qex_gather *gather, kit_op row)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	return u_mad(b, row, I(TOKEN_BYTES), u_shl(b, u_xor(b, gather->piece, row), I(4)));
}

void qex_gather_fetch(struct qex_writer *x, struct qex_gather *gather, kit_op chunk, kit_op count)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const kit_op first = u_mul(b, chunk, I(x->g->tile.tokens));
	for (unsigned i = 0; i < x->g->fours; i++) {
		const kit_op row = row_of(x, gather, i);
		const kit_op from = qex_route_at(x, x->order, u_add(b, first, row), WORD);
		if (x->g->routes_itself) /* COUNT is there as soon as the number */
			tcb_kit_load_where(b, u_lt(b, row, count), x->route_memory, "u32", from, &gather->product[i],
					   1);
		else
			tcb_kit_load_into(b, x->route_memory, "u32", from, &gather->product[i], 1);
	}
}

/* is_in_block: the numbers alone, by the first threads. */
static void look_up_products(struct qex_writer *x, kit_op entry, kit_op chunk, kit_op count)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const kit_op first = u_mul(b, chunk, I(x->g->tile.tokens));
	const kit_op row = tcb_ptx_for_begin(b, x->w.kit.tid, count, I(x->g->tile.threads), 0);
	const kit_op product =
		tcb_kit_get(b, x->route_memory, "u32", qex_route_at(x, x->order, u_add(b, first, row), WORD));
	tcb_kit_put(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(u_mad(b, row, I(WORD), entry), QEX_ITEM_BYTES), product);
	tcb_ptx_for_end(b);
}

void qex_gather_look_up(struct qex_writer *x, struct qex_gather *gather, kit_op entry, kit_op chunk, kit_op count)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	if (g->is_in_block) {
		look_up_products(x, entry, chunk, count);
		return;
	}
	const kit_op tells = u_eq_and(b, gather->deep, I(0), u_eq(b, gather->piece, I(0)));
	for (unsigned i = 0; i < g->fours; i++) {
		const kit_op row = row_of(x, gather, i), has = u_lt(b, row, count);
		const kit_op product = u_select(b, gather->product[i], I(0), has);
		const kit_op token = g->has_rows_each ? product : u_div(b, product, I(g->used));
		const kit_op source = of_eight(x, token), at = u_mad(b, row, I(WORD), entry);
		kit_op from = tcb_kit_element(b, x->w.x, u_shr(b, token, I(3)), g->image.x_group_bytes);
		from = l_add(b, from, l_mul(b, l_from_u(b, gather->deep), gather->pitch));
		l_add_to(b, gather->token[i], from, l_from_u(b, place_of(x, gather, source)));
		u_select_to(b, gather->bytes[i], I(PIECE), I(0), has);
		if (g->tile.group) {
			l_set_to(b, gather->record[i], from);
			u_set_to(b, gather->source[i], source);
		}
		tcb_kit_put_where(b, tells, TCB_KIT_SHARED, "u32", tcb_ptx_at(at, QEX_ITEM_BYTES), product);
	}
}

/* --- copies --- */

/* Of a record: BYTES at AT and where a lane of the first LANES of a row has them, by the row. */
struct part {
	unsigned at, bytes, lanes;
	kit_op (*place)(struct qex_writer *x, const struct qex_gather *gather, kit_op row);
};

static kit_op place_of_sums(struct qex_writer *x, const struct qex_gather *gather, kit_op row)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	return u_mad(b, row, I(SUM_BYTES), u_shl(b, gather->piece, I(4)));
}

/* Of two tokens side by side. */
static kit_op place_of_scale(struct qex_writer *x, const struct qex_gather *gather, kit_op row)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	(void)gather;
	return u_mad(b, u_shr(b, row, I(1)), I(QMM_SCALE_STRIDE), u_shl(b, u_and(b, row, I(1)), I(2)));
}

/* Run PIECE's: of an even and the odd one 8 bytes apart. */
static kit_op place_of_fine(struct qex_writer *x, const struct qex_gather *gather, kit_op row)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const kit_op runs = u_mad(b, u_shr(b, gather->piece, I(1)), I(QMM_GROUP_TOKENS / 2 * QMM_SCALE_STRIDE),
				  u_shl(b, u_and(b, gather->piece, I(1)), I(3)));
	return u_add(b, runs, place_of_scale(x, gather, row));
}

/* What of a record is no codes of the first 128 of k. */
static unsigned parts_of(const struct qmm_gpu *t, struct part out[PARTS_MAX])
{
	const int is_fine = t->group == 32, has_sums = tcb_format(t->unit.format)->has_offsets;
	unsigned count = 0;
	out[count++] = (struct part){ QMM_TILE_BYTES, PIECE, TOKEN_PIECES, place_of };
	out[count++] = is_fine ? (struct part){ t->x_scale_at, WORD, TOKEN_PIECES, place_of_fine }
			       : (struct part){ t->x_scale_at, WORD, 1, place_of_scale };
	if (has_sums)
		out[count++] = (struct part){ t->x_sum_at, PIECE, SUM_BYTES / PIECE, place_of_sums };
	if (has_sums && is_fine)
		out[count++] = (struct part){ t->x_power_at, WORD, 1, place_of_scale };
	return count;
}

/* Of record I, whose part of this warp begins at RECORD, to the row ROW of that at TO. */
static void copy_parts(struct qex_writer *x, const struct qex_gather *gather, unsigned i, kit_op record, kit_op to,
		       kit_op row)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	struct part parts[PARTS_MAX];
	const unsigned count = parts_of(&x->g->tile, parts);
	for (unsigned j = 0; j < count; j++) {
		const struct part *part = &parts[j];
		const kit_op at = part->place(x, gather, row), source = part->place(x, gather, gather->source[i]);
		const kit_op from = tcb_ptx_assume_aligned(b, l_add(b, record, l_from_u(b, source)), part->bytes);
		const kit_op some = part->bytes == PIECE ? gather->bytes[i] : u_shr(b, gather->bytes[i], I(2));
		if (part->lanes < TOKEN_PIECES)
			tcb_ptx_if_begin(b, u_lt(b, gather->piece, I(part->lanes)));
		qex_copy(x, tcb_ptx_at(tcb_ptx_assume_aligned(b, u_add(b, to, at), part->bytes), part->at),
			 tcb_ptx_at(from, part->at), part->bytes, &some);
		if (part->lanes < TOKEN_PIECES)
			tcb_ptx_if_end(b);
	}
}

void qex_gather_copy(struct qex_writer *x, struct qex_gather *gather, kit_op slot)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const struct qmm_gpu *t = &g->tile;
	const unsigned tiles = t->ksplit * t->unit_tiles, deep = g->gatherers / g->across;
	const kit_op base = u_add(b, gather->to, slot), deep_pitch = l_mul(b, gather->pitch, I(deep));
	if (g->gatherers < t->warps)
		tcb_ptx_if_begin(b, u_lt(b, x->w.kit.warp, I(g->gatherers)));
	for (unsigned i = 0; i < g->fours; i++) {
		const kit_op row = row_of(x, gather, i), eighth = of_eight(x, row);
		const kit_op to = u_mad(b, u_shr(b, row, I(3)), I(t->x_group_bytes), base);
		const kit_op place = tcb_ptx_assume_aligned(b, u_add(b, to, place_of(x, gather, eighth)), PIECE);
		kit_op from = l_set(b, gather->token[i]), record = from;
		if (t->group)
			record = l_set(b, gather->record[i]);
		for (unsigned tile = 0; tile < tiles; tile += deep) {
			const int is_checked = tile + deep > tiles;
			if (is_checked)
				tcb_ptx_if_begin(b, u_lt(b, gather->deep, I(tiles - tile)));
			qex_copy(x, tcb_ptx_at(place, tile * t->x_tile_bytes), tcb_ptx_assume_aligned(b, from, PIECE),
				 PIECE, &gather->bytes[i]);
			if (t->group)
				copy_parts(x, gather, i, record, u_add(b, to, I(tile * t->x_tile_bytes)), eighth);
			if (is_checked)
				tcb_ptx_if_end(b);
			from = l_add(b, from, deep_pitch);
			if (t->group)
				record = l_add(b, record, deep_pitch);
		}
		l_add_to(b, gather->token[i], gather->token[i], l_mul(b, gather->pitch, I(tiles)));
		if (t->group)
			l_add_to(b, gather->record[i], gather->record[i], l_mul(b, gather->pitch, I(tiles)));
	}
	if (g->gatherers < t->warps)
		tcb_ptx_if_end(b);
}

/* --- all at once --- */

void qex_gather_whole(struct qex_writer *x, kit_op entry)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const struct qmm_gpu *t = &g->tile;
	const kit_op tokens = tcb_kit_get(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(entry, WORD));
	const kit_op all = u_mul(b, tokens, I(t->row_units)), x_at = u_add(b, x->w.kit.shared, I(g->x_at));
	kit_op has[QEX_X_AHEAD], row[QEX_X_AHEAD], unit[QEX_X_AHEAD], value[QEX_X_AHEAD][8];
	const kit_op loop = tcb_ptx_for_begin(b, x->w.kit.warp, all, I(QEX_X_AHEAD * t->warps), 0);
	for (unsigned i = 0; i < QEX_X_AHEAD; i++) {
		const kit_op task = i ? u_add(b, loop, I(i * t->warps)) : loop, product = u_set(b, I(0));
		const struct kit_split at = u_split(b, task, I(t->row_units));
		has[i] = u_lt(b, task, all);
		row[i] = at.whole;
		unit[i] = at.rest;
		const kit_op from = u_mad(b, row[i], I(WORD), entry);
		tcb_kit_load_where(b, has[i], TCB_KIT_SHARED, "u32", tcb_ptx_at(from, QEX_ITEM_BYTES), &product, 1);
		qmm_write_row_load(&x->w, g->has_rows_each ? product : u_div(b, product, I(g->used)), unit[i], has[i],
				   value[i]);
	}
	for (unsigned i = 0; i < QEX_X_AHEAD; i++) {
		if (i)
			tcb_ptx_if_begin(b, has[i]);
		qmm_write_row_store(&x->w, u_mad(b, unit[i], I(t->unit_tiles * t->x_tile_bytes), x_at), row[i],
				    value[i]);
		if (i)
			tcb_ptx_if_end(b);
	}
	tcb_ptx_for_end(b);
	if (t->is_wgmma)
		fence_async_shared(b); /* which reads what this thread stored */
	tcb_kit_block_barrier(b);
}
