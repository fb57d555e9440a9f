/* SPDX-License-Identifier: MIT
 *
 * isa=mma of attention_prefill: tiles of K and V come in, by cp.async (attention_prefill_copy.h).
 */
#include "kernels/attention/attention_prefill_copy.h"

#include "base/sizes.h"

enum { CHUNK = PREFILL_CHUNK, VARIANTS = PREFILL_VARIANTS };

kit_op prefill_swizzle(struct tcb_ptx_build *b, const struct prefill_tile_rows *rows, kit_op row)
{
	return rows->variants == VARIANTS ? u_and(b, row, I(7)) : u_and(b, u_shr(b, row, I(1)), I(3));
}
static unsigned swizzle_of(const struct prefill_tile_rows *rows, unsigned row)
{
	return rows->variants == VARIANTS ? row & 7 : row >> 1 & 3;
}

/* Heads of VALUES, COLUMNS of them with zeros, APART from the next. */
static struct prefill_tile_rows plan_rows(const struct prefill_gpu *g, unsigned values, unsigned columns,
					  unsigned apart)
{
	struct prefill_tile_rows out = { .values = values, .pitch = apart * 2, .chunks = columns / 8 };
	out.variants = apart % 64 || (g->splits > 1 && g->own_v % 64) ? VARIANTS / 2 : VARIANTS;
	out.chunks_each = out.chunks;
	if (out.chunks > g->threads) /* in whole groups of those that are exchanged */
		out.chunks_each = g->threads;
	out.rows_each = (unsigned)tcb_least(tcb_power_of_two_up(g->threads / out.chunks_each / 2 + 1), g->kv);
	while (g->kv % out.rows_each)
		out.rows_each /= 2;
	out.passes = g->kv / out.rows_each;
	return out;
}

/* This thread copies chunk tid % chunks of row tid / chunks, and of every rows_each-th from there on. */
static void open_rows(struct prefill_copies *c, struct prefill_tile_rows *rows)
{
	struct tcb_ptx_build *b = &c->w->kit.b;
	const struct prefill_gpu *g = c->w->g;
	rows->chunk = u_rem(b, c->w->kit.tid, I(rows->chunks_each));
	rows->row = u_div(b, c->w->kit.tid, I(rows->chunks_each));
	rows->is_copier = u_lt(b, rows->row, I(rows->rows_each));
	rows->at = u_mul(b, u_xor(b, rows->chunk, prefill_swizzle(b, rows, rows->row)), I(CHUNK));
	rows->row_at = u_mul(b, rows->row, I(rows->pitch));
	rows->row_bytes = u_set(b, I((int64_t)g->kv_heads * rows->values * 2));
}

void prefill_copies_open(struct prefill_writer *w, struct prefill_copies *c)
{
	const struct prefill_gpu *g = w->g;
	c->w = w;
	c->v_at = g->is_view ? 0 : g->k_bytes;
	c->are_alike = !g->is_view && g->v == g->k && g->v_columns == g->k_columns;
	c->of_tile[0] = plan_rows(g, g->k, g->k_columns, g->k_apart);
	open_rows(c, &c->of_tile[0]);
	if (g->is_view || c->are_alike) {
		c->of_tile[1] = c->of_tile[0];
		return;
	}
	c->of_tile[1] = plan_rows(g, g->v, g->v_columns, g->v_apart);
	open_rows(c, &c->of_tile[1]);
}

/* Of the tile's sequence and KV head: where this thread's chunk of token 0 is, or of a page's first. */
void prefill_copies_of_tile(struct prefill_copies *c)
{
	struct prefill_writer *w = c->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const unsigned operands = g->is_view ? 1 : 2;
	kit_op within[2];
	for (unsigned v = 0; v < (c->are_alike ? 1 : operands); v++) {
		const struct prefill_tile_rows *rows = &c->of_tile[v];
		within[v] = u_mad(b, rows->chunk, I(CHUNK), u_mul(b, w->kv_head, I(rows->values * 2)));
	}
	const kit_op before = u_mul(b, w->sequence, w->per_sequence);
	c->k = tcb_kit_behind(b, w->k, within[0]);
	if (operands > 1)
		c->v = tcb_kit_behind(b, w->v, within[c->are_alike ? 0 : 1]);
	if (g->page) {
		c->table = tcb_kit_element(b, w->table, before, 4);
		return;
	}
	c->k = l_mad_wide(b, before, c->of_tile[0].row_bytes, c->k);
	if (operands > 1)
		c->v = l_mad_wide(b, before, c->of_tile[1].row_bytes, c->v);
}

/* The row of TOKEN from there on, which nobody asks for but where it IS_SEEN. */
static kit_op row_of_token(struct prefill_copies *c, kit_op token, kit_op is_seen)
{
	struct prefill_writer *w = c->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	if (!g->page)
		return token;
	const struct kit_split page = u_split(b, token, I(g->page));
	const kit_op number = u_set(b, I(0));
	tcb_ptx_guard(b, is_seen);
	tcb_kit_load_into(b, tcb_kit_input(g->pdl), "u32", tcb_kit_element(b, c->table, page.whole, 4), &number, 1);
	tcb_ptx_unguard(b);
	return u_mad(b, number, I(g->page), page.rest);
}

/* This thread's chunk of a row, and those chunks_each further, of K (FROM 0), V (FROM 1), or both: zeros behind the
 * head and where the token is not IS_SEEN. */
static void copy_chunks(struct prefill_copies *c, const struct prefill_tile_rows *rows, kit_op to, unsigned more,
			kit_op token, kit_op is_seen, unsigned from, unsigned end)
{
	struct tcb_ptx_build *b = &c->w->kit.b;
	kit_op row = token;
	for (unsigned done = 0; done < rows->chunks; done += rows->chunks_each) {
		const unsigned left = rows->chunks - done, values = rows->values / 8 - done;
		kit_op is_copied = is_seen;
		if (left < rows->chunks_each)
			tcb_ptx_if_begin(b, u_lt(b, rows->chunk, I(left)));
		if (values < tcb_least(left, rows->chunks_each))
			is_copied = u_lt_and(b, rows->chunk, I(values), is_seen);
		const kit_op bytes = u_select(b, I(CHUNK), I(0), is_copied);
		if (!done)
			row = row_of_token(c, token, is_seen);
		for (unsigned v = from; v < end; v++) {
			const kit_op at = l_mad_wide(b, row, rows->row_bytes, v ? c->v : c->k);
			tcb_kit_copy(b, tcb_ptx_at(to, (int64_t)more + done * CHUNK + (v ? c->v_at : 0)),
				     tcb_ptx_at(tcb_ptx_assume_aligned(b, at, CHUNK), done * CHUNK), CHUNK, 0, &bytes);
		}
		if (left < rows->chunks_each)
			tcb_ptx_if_end(b);
	}
}

/* Of K (FROM 0), V (FROM 1), or both, which are alike. */
static void copy_rows(struct prefill_copies *c, const struct prefill_tile_rows *rows, kit_op slot, kit_op first,
		      unsigned from, unsigned end)
{
	struct prefill_writer *w = c->w;
	struct tcb_ptx_build *b = &w->kit.b;
	const struct prefill_gpu *g = w->g;
	const int are_all = rows->rows_each * rows->chunks_each == g->threads;
	kit_op to[8];
	if (!are_all)
		tcb_ptx_if_begin(b, rows->is_copier);
	const kit_op row_at = u_add(b, slot, rows->row_at);
	const kit_op token = u_add(b, first, rows->row);
	for (unsigned i = 0; i < rows->passes; i++) {
		const unsigned before = i * rows->rows_each, by = swizzle_of(rows, before);
		if (i == 0 || (by && i < 8 / rows->rows_each))
			to[by] = tcb_ptx_assume_aligned(
				b, u_add(b, row_at, by ? u_xor(b, rows->at, I(by * CHUNK)) : rows->at), CHUNK);
		const kit_op own = i ? u_add(b, token, I(before)) : token;
		const kit_op is_seen = u_lt(b, own, w->end);
		copy_chunks(c, rows, to[by], before * rows->pitch, own, is_seen, from, end);
	}
	if (!are_all)
		tcb_ptx_if_end(b);
}

/* K and V of the tile from token FIRST on to SLOT; zeros for what nobody sees. */
void prefill_copy_tile(struct prefill_copies *c, kit_op slot, kit_op first)
{
	const struct prefill_gpu *g = c->w->g;
	copy_rows(c, &c->of_tile[0], slot, first, 0, c->are_alike ? 2 : 1);
	if (!c->are_alike && !g->is_view)
		copy_rows(c, &c->of_tile[1], slot, first, 1, 2);
	if (g->has_scales[0] || g->has_scales[1])
		prefill_copy_scales(c->w, slot, first);
}
