/* SPDX-License-Identifier: MIT
 *
 * Chunks of tokens on a GPU, the second launch: a block has values of a head, whose part of the state it takes from
 * chunk to chunk (delta_chunk_gpu.h).  A warp has 16 tokens and some of the values; of the state, in registers, it has
 * all of these for some of the keys.  What another warp has goes through shared memory as terms: the state, turned, so
 * that keys are rows' columns, before each chunk, V - K S, and U as it is and as it is left.
 */
#include "base/sizes.h"
#include "kernels/delta/delta_chunk_gpu.h"

/* --- states --- */

/* Value 16 TILE + 8 R of the lane's in SLOT of POOL, at its first pair of keys. */
static kit_op state_address(struct chunk_writer *w, kit_op pool, kit_op slot, kit_op value)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned element = (unsigned)tcb_type_bytes(g->state);
	const kit_op base = l_mad_wide(b, slot, I((int64_t)g->heads * g->n * g->k * element), pool);
	const kit_op row = l_mad_wide(b, u_mad(b, w->head, I(g->n), value), I(g->k * element), base);
	return l_mad_wide(b, w->pair, I(2 * element), row);
}

/* Number WHICH of the sequence's row of slots. */
static kit_op slot_of(struct chunk_writer *w, unsigned which)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op at = u_mad(b, w->sequence, I(w->g->slots), I(which));
	return tcb_kit_get(b, tcb_kit_input(w->g->pdl), "s32", tcb_kit_element(b, w->slots, at, 4));
}

/* Its values, of tile TILE, at the group of keys number GROUP of the warp. */
static kit_op pair_address(struct chunk_writer *w, kit_op row, unsigned group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned element = (unsigned)tcb_type_bytes(w->g->state);
	return tcb_ptx_assume_aligned(b, l_mad_wide(b, w->group[group], I(CHUNK_TILE * element), row), 2 * element);
}

static void load_pair(struct chunk_writer *w, kit_op where, kit_op from, kit_op to[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->state == TCB_TYPE_F32) {
		tcb_kit_load_where(b, where, TCB_KIT_GLOBAL_ONCE, "f32", from, to, 2);
		return;
	}
	const kit_op word = b_set(b, I(0));
	tcb_kit_load_where(b, where, TCB_KIT_GLOBAL_ONCE, "b32", from, &word, 1);
	f_set_to(b, to[0], b_set(b, u_shl(b, word, I(16))));
	f_set_to(b, to[1], b_set(b, u_and(b, word, I((int64_t)0xffff0000))));
}

static void load_state(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const int64_t eight = CHUNK_EIGHT * (int64_t)tcb_type_bytes(g->state);
	const kit_op slot = slot_of(w, 0), goes_on = s_gt(b, slot, I(-1)), from = b_set(b, s_max(b, slot, I(0)));
	for (unsigned t = 0; t < g->tile / CHUNK_TILE; t++)
		for (unsigned r = 0; r < 2; r++) {
			const kit_op value = u_add(b, w->value, I(CHUNK_TILE * t + CHUNK_EIGHT * r));
			const kit_op row = state_address(w, w->states, from, value);
			const kit_op is_there = u_lt_and(b, value, I(g->n), goes_on);
			for (unsigned i = 0; i < g->key_groups; i++) {
				const kit_op at = pair_address(w, row, i);
				for (unsigned half = 0; half < 2; half++) {
					kit_op *to = &w->state[i][t][half][2 * r];
					to[0] = f_set(b, F(0));
					to[1] = f_set(b, F(0));
					load_pair(w, is_there, tcb_ptx_at(at, half * eight), to);
				}
			}
		}
}

/* Opens a scope for warps that have their group of keys number GROUP, and no one else has. */
static void owned_begin(struct chunk_writer *w, unsigned group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op own = group ? u_add(b, w->kit.warp, I(group * w->g->warps)) : w->kit.warp;
	tcb_ptx_if_begin(b, u_lt(b, own, I(w->g->k / CHUNK_TILE)));
}

static int all_own(const struct delta_gpu *g)
{
	return g->key_groups * g->warps * CHUNK_TILE == g->k;
}

static void store_state(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const int64_t eight = CHUNK_EIGHT * (int64_t)tcb_type_bytes(g->state);
	const enum tcb_kit_memory memory = g->stream ? TCB_KIT_STREAM : TCB_KIT_GLOBAL;
	const kit_op slot = slot_of(w, 1);
	tcb_ptx_if_begin(b, s_gt(b, slot, I(-1)));
	for (unsigned i = 0; i < g->key_groups; i++) {
		owned_begin(w, i);
		for (unsigned t = 0; t < g->tile / CHUNK_TILE; t++)
			for (unsigned r = 0; r < 2; r++) {
				const kit_op value = u_add(b, w->value, I(CHUNK_TILE * t + CHUNK_EIGHT * r));
				const kit_op row = state_address(w, w->states_out, b_set(b, slot), value);
				const kit_op at = pair_address(w, row, i), is_there = u_lt(b, value, I(g->n));
				for (unsigned half = 0; half < 2; half++) {
					const kit_op *from = &w->state[i][t][half][2 * r];
					const kit_op to = tcb_ptx_at(at, half * eight);
					if (g->state == TCB_TYPE_F32)
						tcb_kit_store_where(b, is_there, memory, "f32", to, from, 2);
					else
						tcb_kit_put_where(b, is_there, memory, "b32", to,
								  tcb_kit_pack(b, "bf16", from[0], from[1]));
				}
			}
		tcb_ptx_if_end(b);
	}
	tcb_ptx_if_end(b);
}

/* The state as terms, for all warps. */
static void share_state(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	for (unsigned i = 0; i < g->key_groups; i++) {
		if (!all_own(g))
			owned_begin(w, i);
		const kit_op to = tcb_ptx_assume_aligned(b, u_mad(b, w->group[i], I(2 * CHUNK_TILE), w->states_to), 4);
		for (unsigned t = 0; t < g->tile / CHUNK_TILE; t++)
			for (unsigned half = 0; half < 2; half++)
				for (unsigned r = 0; r < 2; r++) {
					const kit_op *from = &w->state[i][t][half][2 * r];
					const struct chunk_words words = chunk_split_pair(b, from[0], from[1]);
					const int64_t at = (int64_t)(CHUNK_TILE * t + CHUNK_EIGHT * r) * chunk_row(g) +
							   2 * CHUNK_EIGHT * (int64_t)half;
					tcb_kit_put(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(to, at), words.high);
					tcb_kit_put(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(to, at + 2 * (int64_t)g->k),
						    words.low);
				}
		if (!all_own(g))
			tcb_ptx_if_end(b);
	}
}

/* --- values --- */

static unsigned eights(const struct delta_gpu *g)
{
	return g->warp_values / CHUNK_EIGHT;
}

/* Do pairs of values lie at multiples of eight bytes?  Then these come and go together. */
static unsigned together(const struct delta_gpu *g)
{
	return g->n % 2 ? 1 : 2;
}

/* Where there are the lane's row R of the chunk that is FIRST from the lane's token, and its value I of eight E. */
static kit_op is_there(struct chunk_writer *w, kit_op is_token, unsigned e, unsigned i)
{
	const struct delta_gpu *g = w->g;
	return g->n % g->tile ? p_and(&w->kit.b, is_token, w->has_value[e][i]) : is_token;
}

static kit_op is_token_of(struct chunk_writer *w, kit_op first, unsigned r)
{
	struct tcb_ptx_build *b = &w->kit.b;
	return u_lt(b, u_add(b, first, u_mad(b, w->tile, I(CHUNK_TILE), u_add(b, w->quad, I(CHUNK_EIGHT * r)))),
		    w->count);
}

/* Those of the chunk at token FIRST, to which the addresses go on behind. */
static void load_values(struct chunk_writer *w, kit_op first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	for (unsigned r = 0; r < 2; r++) {
		const kit_op is_token = is_token_of(w, first, r);
		for (unsigned e = 0; e < eights(g); e++)
			for (unsigned i = 0; i < 2; i += together(g)) {
				kit_op *to = &w->v[e][2 * r + i];
				for (unsigned j = 0; j < together(g); j++)
					f_set_to(b, to[j], F(0));
				tcb_kit_load_where(b, is_there(w, is_token, e, i), tcb_kit_input_once(g->pdl), "f32",
						   tcb_ptx_at(w->v_at[r], 4 * (int64_t)(CHUNK_EIGHT * e + i)), to,
						   together(g));
			}
		l_add_to(b, w->v_at[r], w->v_at[r], I((int64_t)g->chunk * g->row * 4));
	}
}

static void store_y(struct chunk_writer *w, kit_op first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	for (unsigned r = 0; r < 2; r++) {
		const kit_op is_token = is_token_of(w, first, r);
		for (unsigned e = 0; e < eights(g); e++)
			for (unsigned i = 0; i < 2; i += together(g))
				tcb_kit_store_where(b, is_there(w, is_token, e, i), TCB_KIT_GLOBAL, "f32",
						    tcb_ptx_at(w->y_at[r], 4 * (int64_t)(CHUNK_EIGHT * e + i)),
						    &w->out[e][2 * r + i], together(g));
		l_add_to(b, w->y_at[r], w->y_at[r], I((int64_t)g->chunk * g->heads * g->n * 4));
	}
}

/* Sums of tokens by values as terms to TO, for all warps. */
static void share(struct chunk_writer *w, kit_op to, kit_op sums[][4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	for (unsigned e = 0; e < eights(g); e++)
		for (unsigned r = 0; r < 2; r++) {
			const struct chunk_words words = chunk_split_pair(b, sums[e][2 * r], sums[e][2 * r + 1]);
			const int64_t at = (int64_t)CHUNK_EIGHT * r * chunk_value_row(g) + 2 * CHUNK_EIGHT * (int64_t)e;
			tcb_kit_put(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(to, at), words.high);
			tcb_kit_put(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(to, at + 2 * (int64_t)g->tile), words.low);
		}
}

/* --- copies --- */

/* All warps that have tokens, which with copy=bulk are not all of the block. */
static void block_barrier(struct chunk_writer *w)
{
	if (w->g->is_bulk)
		barrier_named(&w->kit.b, I(CHUNK_BARRIER), I(w->g->warps * WARP));
	else
		tcb_kit_block_barrier(&w->kit.b);
}

static void next_asked(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	l_add_to(b, w->rows_at, w->rows_at, I((int64_t)g->key_heads * chunk_rows_bytes(g)));
	l_add_to(b, w->records_at, w->records_at, I((int64_t)g->heads * chunk_record_bytes(g)));
}

/* copy=async: BYTES by all threads, 16 each at a time. */
static void copy_by_all(struct chunk_writer *w, kit_op to, kit_op from, unsigned bytes)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned step = 16 * w->g->threads;
	const kit_op within = u_mul(b, w->kit.tid, I(16)), at = u_add(b, to, within);
	from = tcb_kit_behind(b, from, within);
	for (unsigned done = 0; done < bytes; done += step) {
		if (bytes - done < step)
			tcb_ptx_guard(b, u_lt(b, within, I(bytes - done)));
		tcb_kit_copy(b, tcb_ptx_at(at, done), tcb_ptx_at(from, done), 16, 0, NULL);
		if (bytes - done < step)
			tcb_ptx_unguard(b);
	}
}

/* The next chunk, if there is one, into SLOT. */
static void ask(struct chunk_writer *w, struct tcb_kit_slot slot)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned rows = chunk_rows_bytes(g);
	tcb_ptx_if_begin(b, u_lt(b, w->asked, w->count));
	const kit_op to = tcb_ptx_assume_aligned(b, u_add(b, slot.base, I(slot.at)), 16);
	copy_by_all(w, to, w->rows_at, rows);
	copy_by_all(w, u_add(b, to, I(rows)), w->records_at, chunk_record_bytes(g));
	tcb_ptx_if_end(b);
	copies_commit(b);
	u_add_to(b, w->asked, w->asked, I(g->chunk));
	next_asked(w);
}

/* copy=bulk: a warp of its own, of which one lane asks for all chunks, or this block's part of them for the cluster. */
static void write_copies(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned rows = chunk_rows_bytes(g) / g->cluster, record = chunk_record_bytes(g) / g->cluster;
	const kit_op rank = g->cluster > 1 ? u_cluster_rank(b) : I(0);
	const kit_op all = g->cluster > 1 ? u16_set(b, I((1 << g->cluster) - 1)) : I(0);
	struct tcb_kit_tiles *r = &w->tiles;
	tcb_ptx_if_begin(b, u_eq(b, w->kit.lane, I(0)));
	if (g->cluster > 1) {
		w->rows_at = l_mad_wide(b, rank, I(rows), w->rows_at);
		w->records_at = l_mad_wide(b, rank, I(record), w->records_at);
	}
	(void)tcb_ptx_for_begin(b, I(0), w->count, I(g->chunk), 1);
	tcb_kit_nounroll(b);
	(g->cluster > 1 ? tcb_kit_wait_cluster : tcb_kit_wait)(b, tcb_ptx_at(r->empty, 0), u_xor(b, r->parity, I(1)));
	tcb_kit_expect(b, tcb_ptx_at(r->full, 0), I(g->cluster * (rows + record)));
	const kit_op rows_to = g->cluster > 1 ? u_mad(b, rank, I(rows), r->slot) : r->slot;
	const kit_op record_to = g->cluster > 1 ? u_mad(b, rank, I(record), r->slot) : r->slot;
	tcb_kit_copy_bulk(b, tcb_ptx_at(tcb_ptx_assume_aligned(b, rows_to, 16), 0), w->rows_at, I(rows),
			  tcb_ptx_at(r->full, 0), g->cluster > 1 ? &all : NULL);
	tcb_kit_copy_bulk(b, tcb_ptx_at(tcb_ptx_assume_aligned(b, record_to, 16), chunk_rows_bytes(g)), w->records_at,
			  I(record), tcb_ptx_at(r->full, 0), g->cluster > 1 ? &all : NULL);
	next_asked(w);
	tcb_kit_tiles_next(b, r);
	tcb_ptx_for_end(b);
	tcb_ptx_if_end(b);
}

/* Until the chunk is there, and all have done with the one before and shared their states. */
static void wait_for_chunk(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->is_bulk)
		tcb_kit_wait(b, tcb_ptx_at(w->tiles.full, 0), w->tiles.parity);
	else
		copies_wait(b, I(w->g->stages - 2));
	block_barrier(w);
}

/* The warp has done with the chunk: it says so in every block that has it. */
static void release(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	if (!g->is_bulk)
		return;
	tcb_kit_warp_barrier(b);
	if (g->cluster == 1) {
		tcb_kit_release(&w->kit, w->tiles.empty);
		return;
	}
	const kit_op there = u_in_rank(b, w->tiles.empty, u_and(b, w->kit.lane, I(g->cluster - 1)));
	tcb_ptx_guard(b, u_lt(b, w->kit.lane, I(g->cluster)));
	barrier_arrive_release_to(b, tcb_ptx_sink_operand(), tcb_ptx_at(there, 0));
	tcb_ptx_unguard(b);
}

/* --- chunks --- */

/* The lane's two rows' numbers AT of the record. */
static void load_numbers(struct chunk_writer *w, unsigned at, kit_op out[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op row = u_mad(b, w->tile, I(4 * CHUNK_TILE), u_mad(b, w->quad, I(4), w->slot));
	const kit_op from = tcb_ptx_assume_aligned(b, row, 4);
	for (unsigned r = 0; r < 2; r++)
		out[r] = tcb_kit_get(b, TCB_KIT_SHARED, "f32",
				     tcb_ptx_at(from, (int64_t)chunk_rows_bytes(w->g) + at + 4 * CHUNK_EIGHT * r));
}

/* The state before the chunk with the warp's queries, and its keys where that is needed. */
static void multiply_state(struct chunk_writer *w, kit_op by_keys[][4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned pitch = chunk_row(g);
	const int64_t low = 2 * (int64_t)g->k;
	const kit_op lane = u_add(b, w->slot, chunk_lane_down(b, w->kit.lane, pitch));
	const kit_op rows = tcb_ptx_assume_aligned(b, u_mad(b, w->tile, I(CHUNK_TILE * pitch), lane), 16);
	for (unsigned e = 0; e < eights(g); e++)
		for (unsigned i = 0; i < 4; i++) {
			by_keys[e][i] = f_set(b, F(0));
			w->out[e][i] = f_set(b, F(0));
		}
	for (unsigned step = 0; step < g->k / CHUNK_TILE; step++) {
		const int64_t at = 2 * CHUNK_TILE * (int64_t)step;
		kit_op keys[2][4], queries[2][4], state[DELTA_TILE_MAX / CHUNK_TILE][2][4];
		struct chunk_product products[2 * DELTA_TILE_MAX / CHUNK_EIGHT];
		unsigned count = 0;
		if (g->has_correction)
			chunk_load(b, 0, rows, at, low, keys);
		chunk_load(b, 0, rows, at + (int64_t)g->chunk * pitch, low, queries);
		for (unsigned e = 0; e < eights(g); e++) {
			kit_op(*terms)[4] = state[e / 2];
			const kit_op *high = &terms[0][e % 2 * 2], *small = &terms[1][e % 2 * 2];
			if (e % 2 == 0)
				chunk_load(b, 0, w->states_from, (int64_t)CHUNK_EIGHT * e * pitch + at, low, terms);
			if (g->has_correction)
				products[count++] = (struct chunk_product){ by_keys[e], keys, high, small };
			products[count++] = (struct chunk_product){ w->out[e], queries, high, small };
		}
		chunk_multiply(b, products, count);
	}
}

/* A tile of a matrix of tokens by tokens, and what it is multiplied with, on their way to registers. */
struct tokens {
	kit_op matrix[2][4], other[DELTA_TILE_MAX / CHUNK_TILE][2][4];
};

static void open_tokens(struct chunk_writer *w, struct tokens *t)
{
	for (unsigned i = 0; i < 8; i++)
		t->matrix[i / 4][i % 4] = tcb_ptx_reg(&w->kit.b, "b32");
	for (unsigned e = 0; e < eights(w->g) / 2; e++)
		for (unsigned i = 0; i < 8; i++)
			t->other[e][i / 4][i % 4] = tcb_ptx_reg(&w->kit.b, "b32");
}

/* Tile C of those at ROWS, and the values of its tokens. */
static void load_tokens(struct chunk_writer *w, kit_op rows, int64_t at, kit_op from, unsigned c, struct tokens *t)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	for (unsigned i = 0; i < 2; i++)
		tcb_kit_load_into(b, TCB_KIT_SHARED, "b32",
				  tcb_ptx_at(rows, at + (int64_t)(2 * c + i) * CHUNK_TILE_BYTES / 2), t->matrix[i], 4);
	for (unsigned e = 0; e < eights(g) / 2; e++)
		for (unsigned i = 0; i < 2; i++)
			tcb_kit_load_matrices_into(b, 1,
						   tcb_ptx_at(from, (int64_t)CHUNK_TILE * c * chunk_value_row(g) +
									    2 * CHUNK_TILE * (int64_t)e +
									    2 * (int64_t)i * g->tile),
						   t->other[e][i], 4);
}

/* SUMS += the warp's rows of the matrix AT of the record, times what FROM has of each token up to these: of each tile
 * while the next one's values are on their way. */
static void multiply_tokens(struct chunk_writer *w, unsigned at, kit_op from, kit_op sums[][4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const kit_op above = u_shr(b, u_mul(b, w->tile, u_add(b, w->tile, I(1))), I(1));
	const kit_op row = u_mad(b, above, I(CHUNK_TILE_BYTES), u_mad(b, w->kit.lane, I(16), w->slot));
	const kit_op rows = tcb_ptx_assume_aligned(b, row, 16);
	const int64_t in_slot = (int64_t)chunk_rows_bytes(g) + at;
	struct tokens tokens[2];
	kit_op small[DELTA_TILE_MAX / CHUNK_EIGHT][4];
	for (unsigned e = 0; e < eights(g); e++)
		for (unsigned i = 0; i < 4; i++)
			small[e][i] = f_set(b, F(0));
	for (unsigned i = 0; i < 2; i++)
		open_tokens(w, &tokens[i]);
	load_tokens(w, rows, in_slot, from, 0, &tokens[0]);
	for (unsigned c = 0; c < chunk_tiles(g); c++) {
		struct chunk_product products[DELTA_TILE_MAX / CHUNK_EIGHT];
		struct tokens *t = &tokens[c % 2];
		const int has_next = c + 1 < chunk_tiles(g);
		const kit_op is_next = has_next ? u_gt(b, w->tile, I(c)) : I(0);
		if (has_next) {
			tcb_ptx_guard(b, is_next);
			load_tokens(w, rows, in_slot, from, c + 1, &tokens[(c + 1) % 2]);
			tcb_ptx_unguard(b);
		}
		for (unsigned e = 0; e < eights(g); e++)
			products[e] = (struct chunk_product){ sums[e], t->matrix, &t->other[e / 2][0][e % 2 * 2],
							      &t->other[e / 2][1][e % 2 * 2] };
		chunk_multiply_apart(b, products, eights(g), small);
		if (has_next)
			tcb_ptx_if_begin(b, is_next);
	}
	for (unsigned c = 0; c + 1 < chunk_tiles(g); c++)
		tcb_ptx_if_end(b);
	for (unsigned e = 0; e < eights(g); e++)
		for (unsigned i = 0; i < 4; i++)
			f_add_to(b, sums[e][i], sums[e][i], small[e][i]);
}

/* The state becomes that behind the chunk. */
static void update_state(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned pitch = chunk_row(g);
	const kit_op decay = tcb_kit_get(
		b, TCB_KIT_SHARED, "f32",
		tcb_ptx_at(tcb_ptx_assume_aligned(b, w->slot, 16), (int64_t)chunk_rows_bytes(g) + chunk_end_at(g)));
	const kit_op lane = u_add(b, w->slot, chunk_lane_down(b, w->kit.lane, pitch));
	kit_op keys_from[CHUNK_KEY_GROUPS_MAX];
	for (unsigned i = 0; i < g->key_groups; i++) {
		keys_from[i] = tcb_ptx_assume_aligned(b, u_mad(b, w->group[i], I(2 * CHUNK_TILE), lane), 16);
		for (unsigned t = 0; t < g->tile / CHUNK_TILE; t++)
			for (unsigned j = 0; j < 8; j++)
				f_mul_to(b, w->state[i][t][j / 4][j % 4], w->state[i][t][j / 4][j % 4], decay);
	}
	for (unsigned c = 0; c < chunk_tiles(g); c++) {
		kit_op left[DELTA_TILE_MAX / CHUNK_TILE][2][4];
		for (unsigned t = 0; t < g->tile / CHUNK_TILE; t++)
			chunk_load(b, 1, w->left_from,
				   (int64_t)CHUNK_TILE * c * chunk_value_row(g) + 2 * CHUNK_TILE * (int64_t)t,
				   2 * (int64_t)g->tile, left[t]);
		for (unsigned i = 0; i < g->key_groups; i++) {
			struct chunk_product products[DELTA_TILE_MAX / CHUNK_EIGHT];
			kit_op keys[2][4];
			chunk_load(b, 1, keys_from[i], (int64_t)CHUNK_TILE * c * pitch, 2 * (int64_t)g->k, keys);
			for (unsigned j = 0; j < g->tile / CHUNK_EIGHT; j++)
				products[j] = (struct chunk_product){ w->state[i][j / 2][j % 2], left[j / 2],
								      &keys[0][j % 2 * 2], &keys[1][j % 2 * 2] };
			chunk_multiply(b, products, g->tile / CHUNK_EIGHT);
		}
	}
}

/* What the warp's tokens add: of the correction once the others have theirs. */
static void write_added(struct chunk_writer *w, kit_op by_keys[][4], const kit_op decay[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	if (!g->has_correction) {
		kit_op beta[2];
		load_numbers(w, chunk_beta_at(g), beta);
		for (unsigned e = 0; e < eights(g); e++)
			for (unsigned i = 0; i < 4; i++)
				w->added[e][i] = f_mul(b, beta[i / 2], w->v[e][i]);
		return;
	}
	const kit_op negative[2] = { f_neg(b, decay[0]), f_neg(b, decay[1]) };
	for (unsigned e = 0; e < eights(g); e++)
		for (unsigned i = 0; i < 4; i++) {
			by_keys[e][i] = f_fma(b, negative[i / 2], by_keys[e][i], w->v[e][i]);
			w->added[e][i] = f_set(b, F(0));
		}
	share(w, w->right_to, by_keys);
	block_barrier(w);
	multiply_tokens(w, 0, w->right_from, w->added);
}

/* The chunk in the slot in use, from token FIRST on. */
static void write_chunk(struct chunk_writer *w, kit_op first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	kit_op by_keys[DELTA_TILE_MAX / CHUNK_EIGHT][4], left_over[DELTA_TILE_MAX / CHUNK_EIGHT][4], decay[2], left[2];
	multiply_state(w, by_keys);
	load_numbers(w, chunk_out_at(g), decay);
	for (unsigned e = 0; e < eights(g); e++)
		for (unsigned i = 0; i < 4; i++)
			w->out[e][i] = g->has_correction
					       ? f_mul(b, decay[i / 2], w->out[e][i])
					       : f_fma(b, decay[i / 2], w->out[e][i], f_mul(b, w->skip, w->v[e][i]));
	write_added(w, by_keys, decay);
	load_numbers(w, chunk_left_at(g), left);
	for (unsigned e = 0; e < eights(g); e++)
		for (unsigned i = 0; i < 4; i++)
			left_over[e][i] = f_mul(b, left[i / 2], w->added[e][i]);
	share(w, w->added_to, w->added);
	share(w, w->left_to, left_over);
	load_values(w, u_add(b, first, I(g->chunk)));
	block_barrier(w);
	multiply_tokens(w, chunk_weights_at(g), w->added_from, w->out);
	store_y(w, first);
	update_state(w);
	release(w);
	share_state(w);
}

/* --- the kernel --- */

static void write_chunks(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	w->slot = g->is_bulk ? w->tiles.slot : w->ring.slot;
	for (unsigned i = 0; i + 1 < g->stages && !g->is_bulk; i++)
		ask(w, tcb_kit_ring_slot(&w->ring, (int)i));
	load_state(w);
	for (unsigned e = 0; e < eights(g); e++)
		for (unsigned i = 0; i < 4; i++)
			w->v[e][i] = f_set(b, F(0));
	load_values(w, I(0));
	share_state(w);
	const kit_op first = tcb_ptx_for_begin(b, I(0), w->count, I(g->chunk), 1);
	tcb_kit_nounroll(b);
	wait_for_chunk(w);
	if (!g->is_bulk)
		ask(w, tcb_kit_ring_slot(&w->ring, TCB_KIT_SLOT_BEFORE));
	write_chunk(w, first);
	if (g->is_bulk)
		tcb_kit_tiles_next(b, &w->tiles);
	else
		tcb_kit_ring_next(b, &w->ring);
	tcb_ptx_for_end(b);
	if (!g->is_bulk)
		copies_wait_all(b);
	store_state(w);
}

void chunk_write_states(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (!w->g->is_bulk) {
		write_chunks(w);
		return;
	}
	tcb_ptx_if_begin(b, u_ge(b, w->kit.warp, I(w->g->warps)));
	write_copies(w);
	tcb_ptx_if_else(b);
	write_chunks(w);
	tcb_ptx_if_end(b);
}
