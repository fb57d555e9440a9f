/* SPDX-License-Identifier: MIT
 *
 * Chunks of tokens on a GPU: the kernel's frame.  Keys and queries come in by copies in the background, as they are,
 * two chunks in turn; norms are factors of products.  From them the block works out what its tokens have to do with
 * each other, which all its warps then apply to values of their own (delta_chunk_gpu_math.c).
 *
 * A ratio of decays is 2^x of x = log2(e) (G_i - G_j), G sums of g in double, each kept as a multiple of 2^-8 and a
 * rest: the first parts' difference is exact, and so is, in two parts, its product with log2(e).
 */
#include "kernels/delta/delta_chunk_gpu.h"

#include <math.h>

#include "base/sizes.h"

/* Below the one and above the other exp is 0 and infinite; of 64 tokens the sum is rounded to 2^-8 by ROUNDER. */
#define G_LEAST -200.0f
#define G_MOST 100.0f
#define ROUNDER 49152.0f
#define LOG2_E_HIGH 1.44269502f
#define LOG2_E_LOW 1.92596303e-8f
enum { PARTS = 4 /* lanes that share a token's norms */, WIDE = 4 /* floats of an access */ };

/* --- keys and queries --- */

/* Floats of a piece that rows are aligned to. */
static unsigned piece_of(const struct delta_gpu *g)
{
	return g->row % 4 == 0 ? 4 : g->row % 2 == 0 ? 2 : 1;
}

/* Of the chunk from FIRST on, to SLOT; zeros where there is no token. */
static void copy_chunk(struct chunk_writer *w, kit_op slot, kit_op first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned piece = piece_of(g), columns = g->k / piece, across = (unsigned)tcb_least(columns, g->threads);
	const unsigned rows = (unsigned)tcb_least(g->threads / across, g->chunk);
	const struct kit_split own = u_split(b, w->kit.tid, I(across));
	const kit_op is_copier = u_lt(b, own.whole, I(rows));
	for (unsigned is_query = 0; is_query < 2; is_query++)
		for (unsigned column = 0; column < columns; column += across) {
			const kit_op at = column ? u_add(b, own.rest, I(column)) : own.rest;
			const kit_op within = u_mul(b, at, I(4 * piece));
			const kit_op from = u_add(b, w->query_at, I(is_query ? 0 : g->key_heads * g->k));
			const kit_op token = u_add(b, first, own.whole);
			kit_op source = tcb_kit_behind(
				b, tcb_kit_element(b, w->qkv, u_mad(b, token, I(g->row), from), 4), within);
			const kit_op to = u_add(b, u_mad(b, own.whole, I(chunk_key_pitch(g)), slot), within);
			for (unsigned row = 0; row < g->chunk; row += rows) {
				const kit_op is_token = u_lt(b, row ? u_add(b, token, I(row)) : token, w->count);
				const kit_op bytes = u_select(b, I(4 * piece), I(0), is_token);
				kit_op is_own = is_copier;
				if (row + rows > g->chunk)
					is_own = u_lt_and(b, own.whole, I(g->chunk - row), is_own);
				if (column + across > columns)
					is_own = u_lt_and(b, at, I(columns), is_own);
				tcb_ptx_guard(b, is_own);
				tcb_kit_copy(b,
					     tcb_ptx_at(tcb_ptx_assume_aligned(b, to, 4 * piece),
							(int64_t)(is_query * g->chunk + row) * chunk_key_pitch(g)),
					     tcb_ptx_at(tcb_ptx_assume_aligned(
								b,
								row ? l_add(b, source, I((int64_t)row * g->row * 4))
								    : source,
								4 * piece),
							0),
					     4 * piece, 0, &bytes);
				tcb_ptx_unguard(b);
			}
		}
	copies_commit(b);
}

/* --- numbers --- */

/* Warps that prepare. */
static unsigned preparers(const struct delta_gpu *g)
{
	return g->helpers ? g->helpers : g->warps;
}

static int64_t number_at(const struct chunk_writer *w, unsigned which)
{
	return (int64_t)which * w->g->chunk * 4;
}

static void put_number(struct chunk_writer *w, kit_op at, unsigned which, kit_op value)
{
	tcb_kit_put(&w->kit.b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, number_at(w, which)), value);
}

/* 2^(log2(e) (HIGH + LOW)), of a HIGH that is exact. */
static kit_op ratio_of(struct tcb_ptx_build *b, kit_op high, kit_op low)
{
	const kit_op x = f_mul(b, high, F(LOG2_E_HIGH));
	const kit_op lost = f_fma(b, high, F(LOG2_E_HIGH), f_neg(b, x));
	const kit_op rest = f_fma(b, low, F(LOG2_E_HIGH), f_fma(b, high, F(LOG2_E_LOW), lost));
	return f_mul(b, f_power2(b, x), f_power2(b, rest));
}

/* X'X of row TOKEN at ROWS, over the lanes that share it. */
static kit_op squares_of(struct chunk_writer *w, kit_op row)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sum[WIDE], x[WIDE];
	for (unsigned i = 0; i < w->g->k / (WIDE * PARTS); i++) {
		tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(row, (int64_t)i * WIDE * PARTS * 4), x, WIDE);
		for (unsigned j = 0; j < WIDE; j++)
			sum[j] = i ? f_fma(b, x[j], x[j], sum[j]) : f_mul(b, x[j], x[j]);
	}
	const kit_op all = f_add(b, f_add(b, sum[0], sum[1]), f_add(b, sum[2], sum[3]));
	return tcb_kit_over_lanes(b, f_add, all, PARTS);
}

/* Norms of keys and queries as factors, by four lanes a row. */
static void write_norms(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned each = WARP / PARTS;
	const kit_op base =
		tcb_ptx_for_begin(b, u_mul(b, w->preparer, I(each)), I(g->chunk), I((int64_t)each * preparers(g)), 0);
	tcb_kit_nounroll(b);
	const kit_op token = u_add(b, base, w->quad);
	const kit_op row = u_mad(b, token, I(chunk_key_pitch(g)), u_mad(b, w->pair, I(4 * WIDE), w->slot));
	const kit_op rows[2] = { row, u_add(b, row, I((int64_t)g->chunk * chunk_key_pitch(g))) };
	const kit_op to = tcb_ptx_assume_aligned(b, u_mad(b, token, I(4), w->numbers), 4);
	kit_op factor[2];
	for (unsigned i = 0; i < 2; i++)
		factor[i] = f_rsqrt_near(b, f_add(b, squares_of(w, tcb_ptx_assume_aligned(b, rows[i], 4 * WIDE)),
						  F(DELTA_NORM_EPSILON)));
	tcb_ptx_if_begin(b, u_eq(b, w->pair, I(0)));
	put_number(w, to, CHUNK_KEY, factor[0]);
	put_number(w, to, CHUNK_QUERY, f_mul(b, factor[1], F(1 / sqrtf((float)g->k))));
	tcb_ptx_if_end(b);
	tcb_ptx_for_end(b);
}

/* The sums of g up to TOKEN of the chunk and up to its end, as HIGH and LOW; each lane brings a token's. */
static void write_sums(struct chunk_writer *w, kit_op token, kit_op high[2], kit_op low[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	kit_op sum[2], x[DELTA_CHUNK_MAX / WARP];
	for (unsigned i = 0; i < tcb_div_up(g->chunk, WARP); i++) {
		const kit_op in_prompt = u_add(b, u_add(b, w->first, w->kit.lane), I(i * WARP));
		const kit_op number = u_mad(b, in_prompt, I(g->heads), w->number_at);
		x[i] = f_set(b, F(0));
		tcb_kit_load_where(b, u_lt(b, in_prompt, w->count), tcb_kit_input(g->pdl), "f32",
				   tcb_ptx_at(tcb_kit_element(b, w->decay, number, 4), 0), &x[i], 1);
		x[i] = f_min_nan(b, f_max_nan(b, x[i], F(G_LEAST)), F(G_MOST));
	}
	for (unsigned i = 0; i < 2; i++)
		sum[i] = d_from_f(b, F(0));
	for (unsigned j = 0; j < g->chunk; j++) {
		const kit_op known = f_set(b, b_set(b, u_lane(b, x[j / WARP], I(j % WARP))));
		const kit_op g_j = d_from_f(b, known);
		d_add_to(b, sum[1], sum[1], g_j);
		tcb_ptx_guard(b, u_ge(b, token, I(j)));
		d_add_to(b, sum[0], sum[0], g_j);
		tcb_ptx_unguard(b);
	}
	for (unsigned i = 0; i < 2; i++) {
		high[i] = f_sub(b, f_add(b, f_from_d(b, sum[i]), F(ROUNDER)), F(ROUNDER));
		low[i] = f_from_d(b, d_sub(b, sum[i], d_from_f(b, high[i])));
	}
}

/* Of a lane's token, whose norms are there. */
static void write_numbers_of(struct chunk_writer *w, kit_op token)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const kit_op at = tcb_ptx_assume_aligned(b, u_mad(b, token, I(4), w->numbers), 4);
	kit_op high[2], low[2], key = f_set(b, F(1)), query = f_set(b, F(1));
	write_sums(w, token, high, low);
	const kit_op beta = f_set(b, F(0)), in_prompt = u_add(b, w->first, token);
	const kit_op number = u_mad(b, in_prompt, I(g->heads), w->number_at);
	tcb_kit_load_where(b, u_lt(b, in_prompt, w->count), tcb_kit_input(g->pdl), "f32",
			   tcb_ptx_at(tcb_kit_element(b, w->beta, number, 4), 0), &beta, 1);
	const kit_op decay = ratio_of(b, high[0], low[0]);
	const kit_op left = ratio_of(b, f_sub(b, high[1], high[0]), f_sub(b, low[1], low[0]));
	const kit_op end = ratio_of(b, high[1], low[1]);
	tcb_ptx_if_begin(b, u_lt(b, token, I(g->chunk)));
	if (g->has_correction) {
		tcb_kit_load_into(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, number_at(w, CHUNK_KEY)), &key, 1);
		tcb_kit_load_into(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, number_at(w, CHUNK_QUERY)), &query, 1);
	} else {
		put_number(w, at, CHUNK_KEY, key);
		put_number(w, at, CHUNK_QUERY, query);
	}
	put_number(w, at, CHUNK_HIGH, high[0]);
	put_number(w, at, CHUNK_LOW, low[0]);
	put_number(w, at, CHUNK_OWN, f_neg(b, f_mul(b, beta, key)));
	put_number(w, at, CHUNK_BETA, beta);
	put_number(w, at, CHUNK_RHS, f_neg(b, f_mul(b, decay, key)));
	put_number(w, at, CHUNK_OUT, f_mul(b, decay, query));
	put_number(w, at, CHUNK_LEFT, f_mul(b, left, key));
	put_number(w, at, CHUNK_END, end);
	tcb_ptx_if_end(b);
}

static void write_numbers(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op base = tcb_ptx_for_begin(b, u_mul(b, w->preparer, I(WARP)), I(w->g->chunk),
					      I((int64_t)WARP * preparers(w->g)), 0);
	tcb_kit_nounroll(b);
	write_numbers_of(w, u_add(b, base, w->kit.lane));
	tcb_ptx_for_end(b);
}

/* --- what tokens have to do with each other --- */

/* Number WHICH of the tokens that a lane has of rows 16 TILE on, and of columns from COLUMN on. */
static void load_columns(struct chunk_writer *w, unsigned which, unsigned column, kit_op out[2])
{
	tcb_kit_load(&w->kit.b, TCB_KIT_SHARED, "f32", tcb_ptx_at(w->numbers_of_pair, number_at(w, which) + 4 * column),
		     out, 2);
}

/* SUMS, products of rows ROW and ROW + 8 with the keys of eight tokens from COLUMN on, weighted and stored. */
static void write_weights(struct chunk_writer *w, kit_op is_query, kit_op row, kit_op row_at, kit_op to,
			  unsigned column, const kit_op sums[4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	kit_op high[2], low[2], key[2];
	load_columns(w, CHUNK_HIGH, column, high);
	load_columns(w, CHUNK_LOW, column, low);
	load_columns(w, CHUNK_KEY, column, key);
	for (unsigned r = 0; r < 2; r++) {
		kit_op weight[2];
		const kit_op own = r ? u_add(b, row, I(CHUNK_EIGHT)) : row;
		const kit_op number = tcb_ptx_assume_aligned(b, row_at, 4);
		const int64_t at = 4 * CHUNK_EIGHT * r;
		const kit_op own_high =
			tcb_kit_get(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(number, number_at(w, CHUNK_HIGH) + at));
		const kit_op own_low =
			tcb_kit_get(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(number, number_at(w, CHUNK_LOW) + at));
		const kit_op of_query =
			tcb_kit_get(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(number, number_at(w, CHUNK_QUERY) + at));
		const kit_op of_key =
			tcb_kit_get(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(number, number_at(w, CHUNK_OWN) + at));
		const kit_op factor = f_select(b, of_query, of_key, is_query);
		for (unsigned i = 0; i < 2; i++) {
			/* A token has itself in y alone. */
			const kit_op token = u_mad(b, w->pair, I(2), I(column + i));
			const kit_op least = u_select(b, token, u_add(b, token, I(1)), is_query);
			const kit_op ratio = ratio_of(b, f_sub(b, own_high, high[i]), f_sub(b, own_low, low[i]));
			const kit_op product = f_mul(b, f_mul(b, sums[2 * r + i], key[i]), f_mul(b, factor, ratio));
			weight[i] = f_select(b, product, F(0), u_ge(b, own, least));
		}
		tcb_kit_store(b, TCB_KIT_SHARED, "f32",
			      tcb_ptx_at(to, (int64_t)r * CHUNK_EIGHT * chunk_token_pitch(g) + 4 * column), weight, 2);
	}
}

/* Sixteen rows of one of both matrices: ITEM, of the keys' first. */
static void write_rows(struct chunk_writer *w, kit_op item)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned tiles = g->chunk / 16, columns = g->chunk / CHUNK_EIGHT, pitch = chunk_key_pitch(g);
	const kit_op matrix = g->has_correction ? item : u_add(b, item, I(tiles));
	const kit_op is_query = u_ge(b, matrix, I(tiles));
	const kit_op tile = u_select(b, u_sub(b, matrix, I(tiles)), matrix, is_query);
	const kit_op row = u_mad(b, tile, I(16), w->quad);
	const kit_op pairs = u_mad(b, w->quad, I(pitch), u_mad(b, w->pair, I(8), w->slot));
	const kit_op x = tcb_ptx_assume_aligned(b, pairs, 8);
	const kit_op a = tcb_ptx_assume_aligned(b, u_mad(b, matrix, I(16 * pitch), pairs), 8);
	kit_op sums[DELTA_CHUNK_MAX / CHUNK_EIGHT][4];
	for (unsigned c = 0; c < columns; c++)
		for (unsigned i = 0; i < 4; i++)
			sums[c][i] = f_set(b, F(0));
	for (unsigned step = 0; step < g->k / CHUNK_EIGHT; step++) {
		struct chunk_terms rows[2][2];
		for (unsigned r = 0; r < 2; r++)
			chunk_load_pair(b, a, (int64_t)r * CHUNK_EIGHT * pitch + 32 * step, rows[r]);
		const struct chunk_terms factor[4] = { rows[0][0], rows[1][0], rows[0][1], rows[1][1] };
		for (unsigned c = 0; c < columns; c++) {
			struct chunk_terms keys[2];
			chunk_load_pair(b, x, (int64_t)c * CHUNK_EIGHT * pitch + 32 * step, keys);
			chunk_multiply(b, sums[c], factor, keys);
		}
	}
	const kit_op base = u_select(b, w->by_queries, w->by_keys, is_query);
	const kit_op to =
		tcb_ptx_assume_aligned(b, u_mad(b, row, I(chunk_token_pitch(g)), u_mad(b, w->pair, I(8), base)), 8);
	const kit_op row_at = u_mad(b, row, I(4), w->numbers);
	for (unsigned c = 0; c < columns; c++)
		write_weights(w, is_query, row, row_at, to, CHUNK_EIGHT * c, sums[c]);
}

static void write_products(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned items = (w->g->has_correction ? 2 : 1) * w->g->chunk / 16;
	const kit_op item = tcb_ptx_for_begin(b, w->preparer, I(items), I(preparers(w->g)), 0);
	tcb_kit_nounroll(b);
	write_rows(w, item);
	tcb_ptx_for_end(b);
}

/* --- the kernel --- */

static void declare(struct chunk_writer *w)
{
	struct tcb_kit *kit = &w->kit;
	w->qkv = tcb_kit_operand(kit, "qkv", 16, DELTA_QKV);
	w->decay = tcb_kit_operand(kit, "g", 4, DELTA_G);
	w->beta = tcb_kit_operand(kit, "beta", 4, DELTA_BETA);
	w->key_heads = tcb_kit_operand(kit, "key_heads", 4, DELTA_KEY_HEADS);
	w->counts = tcb_kit_operand(kit, "counts", 4, DELTA_COUNTS);
	w->slots = tcb_kit_operand(kit, "slots", 4, DELTA_SLOTS);
	w->states = tcb_kit_operand(kit, "states", 16, DELTA_STATES);
	w->y = tcb_kit_operand(kit, "y", 4, DELTA_Y);
	w->states_out = tcb_kit_operand(kit, "states_out", 16, DELTA_STATES_OUT);
	if (!w->g->has_correction)
		w->skips = tcb_kit_operand(kit, "skip", 4, DELTA_SKIP);
}

static void write_places(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const enum tcb_kit_memory input = tcb_kit_input(g->pdl);
	const struct kit_split block = u_split(b, u_block_x(b), I(g->tiles));
	w->head = block.whole;
	w->sequence = u_block_y(b);
	w->quad = u_shr(b, w->kit.lane, I(2));
	w->pair = u_and(b, w->kit.lane, I(3));
	const kit_op first = u_mad(b, block.rest, I(g->tile), u_mad(b, w->kit.warp, I(CHUNK_VALUES), w->quad));
	for (unsigned r = 0; r < 2; r++) {
		const kit_op value = r ? u_add(b, first, I(CHUNK_EIGHT)) : first;
		w->is_there[r] = u_lt(b, value, I(g->n));
		w->value[r] = u_min(b, value, I(g->n - 1));
	}
	const kit_op key_head = tcb_kit_entry(b, input, w->key_heads, w->head);
	const kit_op token = u_mul(b, w->sequence, I(g->m)), row = u_mul(b, token, I(g->row));
	w->query_at = u_mad(b, key_head, I(g->k), row);
	w->v_at = u_mad(b, w->head, I(g->n), u_add(b, row, I(2 * g->key_heads * g->k)));
	w->number_at = u_mad(b, token, I(g->heads), w->head);
	w->y_at = u_mul(b, w->number_at, I(g->n));
	w->count = tcb_kit_entry(b, input, w->counts, w->sequence);
	if (!g->has_correction)
		w->skip = tcb_kit_get(b, input, "f32", tcb_kit_element(b, w->skips, w->head, 4));
	w->preparer = g->helpers ? u_sub(b, w->kit.warp, I(g->warps)) : w->kit.warp;
	for (unsigned i = 0; i < chunk_slots(g); i++)
		w->ring[i] = u_add(b, w->kit.shared, I(i * chunk_slot_bytes(g)));
	w->set = u_add(b, w->kit.shared, I(chunk_slots(g) * chunk_slot_bytes(g)));
	w->sets_sum = u_add(b, u_add(b, w->set, w->set), I(chunk_set_bytes(g)));
}

/* The code that follows uses SLOT and SET. */
static void open_places(struct chunk_writer *w, kit_op slot, kit_op set)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	w->slot = slot;
	w->by_keys = set;
	w->by_queries = u_add(b, set, I(g->chunk * chunk_token_pitch(g)));
	w->numbers = u_add(b, w->by_queries, I(g->chunk * chunk_token_pitch(g)));
	w->numbers_of_pair = tcb_ptx_assume_aligned(b, u_mad(b, w->pair, I(8), w->numbers), 8);
}

static void next_slot(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op first = u_set(b, w->ring[0]);
	for (unsigned i = 0; i < chunk_slots(w->g); i++)
		u_set_to(b, w->ring[i], i + 1 < chunk_slots(w->g) ? w->ring[i + 1] : first);
}

static void preparers_barrier(struct chunk_writer *w)
{
	if (w->g->helpers)
		barrier_named(&w->kit.b, I(CHUNK_BARRIER), I(w->g->helpers * WARP));
	else
		tcb_kit_block_barrier(&w->kit.b);
}

static void prepare(struct chunk_writer *w)
{
	if (w->g->has_correction) {
		write_norms(w);
		preparers_barrier(w);
	}
	write_numbers(w);
	preparers_barrier(w);
	write_products(w);
}

/* prep=block: each chunk is prepared when it is there. */
static void write_chunks(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	copy_chunk(w, w->ring[0], I(0));
	chunk_load_state(w);
	w->first = tcb_ptx_for_begin(b, I(0), w->count, I(g->chunk), 1);
	tcb_kit_nounroll(b);
	copies_wait_all(b);
	tcb_kit_block_barrier(b); /* the chunk is there, and all have done with the one before */
	copy_chunk(w, w->ring[1], u_add(b, w->first, I(g->chunk)));
	open_places(w, w->ring[0], w->set);
	chunk_load_values(w);
	prepare(w);
	chunk_multiply_state(w);
	tcb_kit_block_barrier(b);
	chunk_write_rest(w);
	next_slot(w);
	tcb_ptx_for_end(b);
	copies_wait_all(b);
	chunk_store_state(w);
}

/* prep=warps: two warps prepare the next chunk while the others are at one. */
static void write_chunks_ahead(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const kit_op has_values = u_lt(b, w->kit.warp, I(g->warps)), next = u_set(b, I(0));
	copy_chunk(w, w->ring[0], I(0));
	copies_wait_all(b);
	tcb_kit_block_barrier(b);
	copy_chunk(w, w->ring[1], I(g->chunk));
	chunk_load_state(w);
	tcb_ptx_if_begin(b, u_ge(b, w->kit.warp, I(g->warps)));
	open_places(w, w->ring[0], w->set);
	w->first = next;
	prepare(w);
	tcb_ptx_if_end(b);
	const kit_op first = tcb_ptx_for_begin(b, I(0), w->count, I(g->chunk), 1);
	tcb_kit_nounroll(b);
	copies_wait_all(b);
	tcb_kit_block_barrier(b); /* the chunk is prepared, the next is there, and all have done with the one before */
	u_add_to(b, next, first, I(g->chunk));
	copy_chunk(w, w->ring[2], u_add(b, next, I(g->chunk)));
	tcb_ptx_if_begin(b, has_values);
	open_places(w, w->ring[0], w->set);
	w->first = first;
	chunk_load_values(w);
	chunk_multiply_state(w);
	chunk_write_rest(w);
	tcb_ptx_if_else(b);
	open_places(w, w->ring[1], u_sub(b, w->sets_sum, w->set));
	w->first = next;
	prepare(w); /* of a chunk behind the last one: zeros */
	tcb_ptx_if_end(b);
	next_slot(w);
	u_sub_to(b, w->set, w->sets_sum, w->set);
	tcb_ptx_for_end(b);
	copies_wait_all(b);
	tcb_ptx_if_begin(b, has_values);
	chunk_store_state(w);
	tcb_ptx_if_end(b);
}

enum tcb_status delta_chunk_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct delta_gpu g;
	struct chunk_writer w = { .g = &g };
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	delta_gpu_plan(problem, geometry, &g);
	tcb_kit_begin(&w.kit, g.has_correction ? "delta_chunks" : "ssd_chunks",
		      &(struct tcb_kit_kernel){ .threads = g.threads,
						.blocks_together = 1,
						.grid = { g.tiles * g.heads, g.sequences },
						.shared_bytes = g.shared_bytes,
						.is_dependent = g.pdl });
	declare(&w);
	tcb_kit_memory(&w.kit, 16);
	tcb_kit_dependents(&w.kit, 1);
	tcb_kit_threads(&w.kit);
	tcb_kit_uniform_warp(&w.kit);
	write_places(&w);
	tcb_ptx_if_begin(&w.kit.b, u_gt(&w.kit.b, w.count, I(0)));
	(g.helpers ? write_chunks_ahead : write_chunks)(&w);
	tcb_ptx_if_end(&w.kit.b);
	tcb_kit_end(&w.kit);
	out->class = TCB_CLASS_BOUNDED;
	/* Tensor cores cut sums towards zero, up to two units a step of eight and as much of what they add at a time;
	 * three products of terms lack 2^-22, and ratios of decays are off by some units. */
	out->chain = 4.0 * (g.k + g.chunk) + 64;
	return tcb_kit_close(&w.kit, err);
}
