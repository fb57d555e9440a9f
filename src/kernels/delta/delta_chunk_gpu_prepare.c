/* SPDX-License-Identifier: MIT
 *
 * Chunks of tokens on a GPU, the first launch: a block has a chunk's tokens and a head of keys, and goes over the heads
 * of values that have these.  Keys and queries are normed, split and stored as rows of terms.  Half of the warps then
 * have products of keys with keys, which become T, the others of queries with keys, which become P; each has 16 rows,
 * such that what lies left of the diagonal is as much for those of two warps together everywhere.
 *
 * A ratio of decays is 2^x of x = log2(e) (G_i - G_j), G sums of g, each of which is a multiple of 2^-8 and a rest:
 * sums of the first parts are exact, those of the rests below 2^-3, and so is, in two parts, the product with log2(e).
 */
#include "kernels/delta/delta_chunk_gpu.h"

#include <math.h>

#include "base/sizes.h"

/* Below the one and above the other exp is 0 and infinite; ROUNDER rounds to 2^-8. */
#define G_LEAST -200.0f
#define G_MOST 100.0f
#define ROUNDER 49152.0f
enum { PARTS = 4 /* lanes that share a row */, WIDE = 4 /* floats that these have in turn */, BOTH_MAX = 128 };

/* --- keys and queries --- */

/* What a lane has of a row. */
struct row {
	kit_op x[DELTA_KEY_MAX / PARTS];
};

static void load_row(struct chunk_preparer *w, unsigned is_query, struct row *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned piece = g->row % 4 == 0 ? 4 : g->row % 2 == 0 ? 2 : 1;
	const kit_op token = u_add(b, w->first, u_mad(b, w->kit.warp, I(CHUNK_EIGHT), w->quad));
	const kit_op is_there = u_lt(b, token, w->count);
	const kit_op in_row =
		u_mad(b, w->key_head, I(g->k), u_mad(b, w->pair, I(WIDE), I(is_query ? 0 : g->key_heads * g->k)));
	const kit_op at = u_mad(b, u_mad(b, w->sequence, I(g->m), token), I(g->row), in_row);
	const kit_op from = tcb_ptx_assume_aligned(b, tcb_kit_element(b, w->qkv, at, 4), 4 * piece);
	for (unsigned i = 0; i < g->k / PARTS; i++)
		out->x[i] = f_set(b, F(0));
	for (unsigned i = 0; i < g->k / PARTS; i += piece)
		tcb_kit_load_where(b, is_there, tcb_kit_input(g->pdl), "f32",
				   tcb_ptx_at(from, 4 * (int64_t)(i / WIDE * WIDE * PARTS + i % WIDE)), &out->x[i],
				   piece);
}

/* Normed where that is asked for, as terms: to shared memory, and by the blocks of the first part to the workspace. */
static void store_row(struct chunk_preparer *w, unsigned is_query, struct row *row, kit_op is_first_part)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const kit_op token = u_mad(b, w->kit.warp, I(CHUNK_EIGHT), w->quad);
	const kit_op within = u_mad(b, is_query ? u_add(b, token, I(g->chunk)) : token, I(chunk_row(g)),
				    u_mul(b, w->pair, I(2 * WIDE)));
	const kit_op to = tcb_ptx_assume_aligned(b, u_add(b, w->keys, within), 2 * WIDE);
	const kit_op far = tcb_ptx_assume_aligned(b, tcb_kit_behind(b, w->rows, within), 2 * WIDE);
	if (g->has_correction) {
		kit_op sum[WIDE];
		for (unsigned i = 0; i < g->k / PARTS; i++)
			sum[i % WIDE] = i < WIDE ? f_mul(b, row->x[i], row->x[i])
						 : f_fma(b, row->x[i], row->x[i], sum[i % WIDE]);
		const kit_op squares = tcb_kit_over_lanes(b, f_add, tcb_kit_fold(b, f_add, sum, WIDE), PARTS);
		kit_op factor = f_rsqrt_near(b, f_add(b, squares, F(DELTA_NORM_EPSILON)));
		if (is_query)
			factor = f_mul(b, factor, F(1 / sqrtf((float)g->k)));
		for (unsigned i = 0; i < g->k / PARTS; i++)
			row->x[i] = f_mul(b, row->x[i], factor);
	}
	for (unsigned i = 0; i < g->k / PARTS; i += WIDE) {
		kit_op term[2][2];
		for (unsigned j = 0; j < 2; j++) {
			const struct chunk_words words = chunk_split_pair(b, row->x[i + 2 * j], row->x[i + 2 * j + 1]);
			term[0][j] = words.high;
			term[1][j] = words.low;
		}
		for (unsigned t = 0; t < 2; t++) {
			const int64_t at = 2 * (int64_t)(i * PARTS + t * g->k);
			tcb_kit_store(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(to, at), term[t], 2);
			tcb_kit_store_where(b, is_first_part, TCB_KIT_GLOBAL, "b32", tcb_ptx_at(far, at), term[t], 2);
		}
	}
}

/* --- which heads --- */

/* By the first warp: the heads of these keys, in order, and behind all heads' places how many. */
static void write_list(struct chunk_preparer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	tcb_ptx_if_begin(b, u_eq(b, w->kit.warp, I(0)));
	const kit_op count = u_set(b, I(0));
	const kit_op base = tcb_ptx_for_begin(b, I(0), I(g->heads), I(WARP), 1);
	tcb_kit_nounroll(b);
	const kit_op head = u_add(b, base, w->kit.lane), keys = u_set(b, I(-1));
	tcb_kit_load_where(b, u_lt(b, head, I(g->heads)), tcb_kit_input(g->pdl), "u32",
			   tcb_ptx_at(tcb_kit_element(b, w->key_heads, head, 4), 0), &keys, 1);
	const kit_op is_own = u_eq(b, keys, w->key_head), all = u_set(b, u_lanes_where(b, is_own));
	const kit_op place = u_add(b, count, u_bits(b, u_and(b, all, u_lanes_below(b))));
	tcb_kit_put_where(b, is_own, TCB_KIT_SHARED, "u32",
			  tcb_ptx_at(tcb_ptx_assume_aligned(b, u_mad(b, place, I(4), w->list), 4), 0), head);
	u_add_to(b, count, count, u_bits(b, all));
	tcb_ptx_for_end(b);
	tcb_kit_put_where(b, u_eq(b, w->kit.lane, I(0)), TCB_KIT_SHARED, "u32",
			  tcb_ptx_at(w->list, 4 * (int64_t)g->heads), count);
	tcb_ptx_if_end(b);
}

/* Head number PLACE of those that are being taken, at its own record of the chunk. */
static kit_op record_of(struct chunk_preparer *w, kit_op first, kit_op place)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op entry = u_mad(b, u_add(b, first, place), I(4), w->list);
	const kit_op head = tcb_kit_get(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(tcb_ptx_assume_aligned(b, entry, 4), 0));
	return tcb_ptx_assume_aligned(b, l_mad_wide(b, head, I(chunk_record_bytes(w->g)), w->records), 16);
}

static kit_op numbers_of(struct chunk_preparer *w, kit_op place)
{
	struct tcb_ptx_build *b = &w->kit.b;
	return tcb_ptx_assume_aligned(b, u_mad(b, place, I(4 * CHUNK_NUMBERS * w->g->chunk), w->numbers), 16);
}

/* --- numbers --- */

static int64_t number_at(const struct chunk_preparer *w, unsigned which)
{
	return (int64_t)which * w->g->chunk * 4;
}

/* X and what the lanes before have of it. */
static kit_op sum_before(struct tcb_ptx_build *b, kit_op x, kit_op lane)
{
	for (unsigned distance = 1; distance < WARP; distance *= 2) {
		const kit_op more = f_add(b, x, u_lane_before(b, x, I(distance)));
		x = f_select(b, more, x, u_ge(b, lane, I(distance)));
	}
	return x;
}

/* Those of the head at PLACE, by a warp, whose lanes bring a token or two each. */
static void write_numbers_of(struct chunk_preparer *w, kit_op first_head, kit_op place)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned parts = (unsigned)tcb_div_up(g->chunk, WARP);
	const kit_op entry = u_mad(b, u_add(b, first_head, place), I(4), w->list);
	const kit_op head = tcb_kit_get(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(tcb_ptx_assume_aligned(b, entry, 4), 0));
	const kit_op record = tcb_ptx_assume_aligned(b, l_mad_wide(b, head, I(chunk_record_bytes(g)), w->records), 16);
	const kit_op own = u_mad(b, w->kit.lane, I(4), numbers_of(w, place));
	const kit_op to = tcb_ptx_assume_aligned(b, own, 4);
	const kit_op far = tcb_ptx_assume_aligned(b, l_mad_wide(b, w->kit.lane, I(4), record), 4);
	const kit_op is_in_chunk = u_lt(b, w->kit.lane, I(g->chunk));
	kit_op high[DELTA_CHUNK_MAX / WARP], low[DELTA_CHUNK_MAX / WARP], beta[DELTA_CHUNK_MAX / WARP];
	for (unsigned i = 0; i < parts; i++) {
		const kit_op token = u_add(b, w->first, u_add(b, w->kit.lane, I(i * WARP)));
		const kit_op at = u_mad(b, u_mad(b, w->sequence, I(g->m), token), I(g->heads), head);
		const kit_op is_there = u_lt_and(b, token, w->count, is_in_chunk);
		high[i] = f_set(b, F(0));
		beta[i] = f_set(b, F(0));
		tcb_kit_load_where(b, is_there, tcb_kit_input(g->pdl), "f32",
				   tcb_ptx_at(tcb_kit_element(b, w->decay, at, 4), 0), &high[i], 1);
		tcb_kit_load_where(b, is_there, tcb_kit_input(g->pdl), "f32",
				   tcb_ptx_at(tcb_kit_element(b, w->beta, at, 4), 0), &beta[i], 1);
	}
	for (unsigned i = 0; i < parts; i++) {
		const kit_op x = f_min_nan(b, f_max_nan(b, high[i], F(G_LEAST)), F(G_MOST));
		const kit_op near = f_sub(b, f_add(b, x, F(ROUNDER)), F(ROUNDER));
		high[i] = sum_before(b, near, w->kit.lane);
		low[i] = sum_before(b, f_sub(b, x, near), w->kit.lane);
		if (i) {
			high[i] = f_add(b, high[i], u_lane(b, high[i - 1], I(WARP - 1)));
			low[i] = f_add(b, low[i], u_lane(b, low[i - 1], I(WARP - 1)));
		}
	}
	const kit_op end_high = f_set(b, b_set(b, u_lane(b, high[parts - 1], I(WARP - 1))));
	const kit_op end_low = f_set(b, b_set(b, u_lane(b, low[parts - 1], I(WARP - 1))));
	for (unsigned i = 0; i < parts; i++) {
		const int64_t at = 4 * WARP * (int64_t)i;
		const kit_op left = chunk_ratio(b, f_sub(b, end_high, high[i]), f_sub(b, end_low, low[i]));
		const kit_op all[] = { high[i], low[i], beta[i] };
		for (unsigned n = 0; n < CHUNK_NUMBERS; n++)
			tcb_kit_put_where(b, is_in_chunk, TCB_KIT_SHARED, "f32", tcb_ptx_at(to, number_at(w, n) + at),
					  all[n]);
		tcb_kit_put_where(b, is_in_chunk, TCB_KIT_GLOBAL, "f32", tcb_ptx_at(far, chunk_out_at(g) + at),
				  chunk_ratio(b, high[i], low[i]));
		tcb_kit_put_where(b, is_in_chunk, TCB_KIT_GLOBAL, "f32", tcb_ptx_at(far, chunk_left_at(g) + at), left);
		if (!g->has_correction)
			tcb_kit_put_where(b, is_in_chunk, TCB_KIT_GLOBAL, "f32", tcb_ptx_at(far, chunk_beta_at(g) + at),
					  beta[i]);
	}
	tcb_kit_put_where(b, u_eq(b, w->kit.lane, I(0)), TCB_KIT_GLOBAL, "f32", tcb_ptx_at(record, chunk_end_at(g)),
			  chunk_ratio(b, end_high, end_low));
}

static kit_op heads_from(struct chunk_preparer *w, kit_op first_head)
{
	struct tcb_ptx_build *b = &w->kit.b;
	return u_min(b, u_sub(b, w->head_count, first_head), I(w->g->taken));
}

/* Those of all heads from FIRST_HEAD on that are taken together. */
static void write_numbers(struct chunk_preparer *w, kit_op first_head)
{
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_ptx_if_begin(b, u_lt(b, first_head, w->head_count));
	const kit_op place = tcb_ptx_for_begin(b, w->kit.warp, heads_from(w, first_head), I(2 * chunk_tiles(w->g)), 0);
	tcb_kit_nounroll(b);
	write_numbers_of(w, first_head, place);
	tcb_ptx_for_end(b);
	tcb_ptx_if_end(b);
}

/* --- products and weights --- */

static void write_products(struct chunk_preparer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned pitch = chunk_row(g);
	kit_op row = u_mul(b, w->tile, I(CHUNK_TILE));
	row = g->has_correction ? u_select(b, u_add(b, row, I(g->chunk)), row, w->is_query)
				: u_add(b, row, I(g->chunk));
	const kit_op rows = u_mad(b, row, I(pitch), u_add(b, w->keys, chunk_lane_down(b, w->kit.lane, pitch)));
	const kit_op a = tcb_ptx_assume_aligned(b, rows, 16);
	const kit_op x = tcb_ptx_assume_aligned(b, u_add(b, w->keys, chunk_lane_across(b, w->kit.lane, pitch)), 16);
	for (unsigned c = 0; c < chunk_tiles(g); c++)
		for (unsigned i = 0; i < 8; i++)
			w->product[c][i / 4][i % 4] = f_set(b, F(0));
	for (unsigned c = 0; c < chunk_tiles(g); c++) {
		kit_op small[2][4];
		tcb_ptx_if_begin(b, u_ge(b, w->tile, I(c)));
		for (unsigned i = 0; i < 8; i++)
			small[i / 4][i % 4] = f_set(b, F(0));
		for (unsigned step = 0; step < g->k / CHUNK_TILE; step++) {
			kit_op terms[2][4], keys[2][4];
			chunk_load(b, 0, a, 32 * (int64_t)step, 2 * (int64_t)g->k, terms);
			chunk_load(b, 0, x, (int64_t)c * CHUNK_TILE * pitch + 32 * (int64_t)step, 2 * (int64_t)g->k,
				   keys);
			const struct chunk_product products[2] = {
				{ w->product[c][0], terms, &keys[0][0], &keys[1][0] },
				{ w->product[c][1], terms, &keys[0][2], &keys[1][2] },
			};
			chunk_multiply_apart(b, products, 2, small);
		}
		for (unsigned i = 0; i < 8; i++)
			f_add_to(b, w->product[c][i / 4][i % 4], w->product[c][i / 4][i % 4], small[i / 4][i % 4]);
		tcb_ptx_if_end(b);
	}
}

/* A row's or a pair's of columns HIGH, LOW and BETA. */
struct numbers {
	kit_op high[2], low[2], beta[2];
};

static void load_rows(struct chunk_preparer *w, kit_op numbers, struct numbers *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op row = u_mad(b, w->tile, I(4 * CHUNK_TILE), u_mad(b, w->quad, I(4), numbers));
	const kit_op at = tcb_ptx_assume_aligned(b, row, 4);
	for (unsigned r = 0; r < 2; r++) {
		const int64_t of_row = 4 * CHUNK_EIGHT * (int64_t)r;
		out->high[r] = tcb_kit_get(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, number_at(w, CHUNK_HIGH) + of_row));
		out->low[r] = tcb_kit_get(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, number_at(w, CHUNK_LOW) + of_row));
		out->beta[r] = tcb_kit_get(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, number_at(w, CHUNK_BETA) + of_row));
	}
}

/* The products with the keys of tile C, weighted: those of a token with later ones, and of keys with itself, are 0. */
static void weigh(struct chunk_preparer *w, kit_op numbers, const struct numbers *rows, int is_query, unsigned c,
		  kit_op out[2][4])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op at = tcb_ptx_assume_aligned(b, u_mad(b, w->pair, I(8), numbers), 8);
	const kit_op row = u_mad(b, w->tile, I(CHUNK_TILE), w->quad);
	for (unsigned half = 0; half < 2; half++) {
		const int64_t of_columns = 4 * (int64_t)(CHUNK_TILE * c + CHUNK_EIGHT * half);
		kit_op high[2], low[2];
		tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, number_at(w, CHUNK_HIGH) + of_columns), high, 2);
		tcb_kit_load(b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, number_at(w, CHUNK_LOW) + of_columns), low, 2);
		for (unsigned i = 0; i < 4; i++) {
			const unsigned r = i / 2, j = i % 2;
			const kit_op column = u_mad(b, w->pair, I(2), I(CHUNK_TILE * c + CHUNK_EIGHT * half + j));
			const kit_op own = r ? u_add(b, row, I(CHUNK_EIGHT)) : row;
			kit_op weight =
				chunk_ratio(b, f_sub(b, rows->high[r], high[j]), f_sub(b, rows->low[r], low[j]));
			if (!is_query)
				weight = f_mul(b, weight, rows->beta[r]);
			weight = f_mul(b, weight, w->product[c][half][i]);
			out[half][i] =
				f_select(b, weight, F(0), is_query ? u_ge(b, own, column) : u_gt(b, own, column));
		}
	}
}

/* Rows of P. */
static void write_weights(struct chunk_preparer *w, kit_op place)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const kit_op numbers = numbers_of(w, place), record = record_of(w, w->first_head, place);
	const kit_op above = u_shr(b, u_mul(b, w->tile, u_add(b, w->tile, I(1))), I(1));
	const kit_op row = u_mad(b, above, I(CHUNK_TILE_BYTES), u_mul(b, w->kit.lane, I(16)));
	const kit_op to = tcb_ptx_assume_aligned(b, tcb_kit_behind(b, record, row), 16);
	struct numbers rows;
	load_rows(w, numbers, &rows);
	for (unsigned c = 0; c < chunk_tiles(g); c++) {
		kit_op weights[2][4];
		tcb_ptx_if_begin(b, u_ge(b, w->tile, I(c)));
		weigh(w, numbers, &rows, 1, c, weights);
		chunk_put_tile(b, tcb_ptx_at(to, chunk_weights_at(g) + (int64_t)c * CHUNK_TILE_BYTES), weights);
		tcb_ptx_if_end(b);
	}
}

/* Rows of A, of system SLOT. */
static void write_system(struct chunk_preparer *w, kit_op numbers, unsigned slot)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned pitch = chunk_system_row(g);
	const kit_op row = u_mad(b, w->tile, I(CHUNK_TILE), w->quad);
	const kit_op own = u_mad(b, row, I(pitch), u_mad(b, w->pair, I(8), w->systems));
	const kit_op to = tcb_ptx_assume_aligned(b, own, 8);
	struct numbers rows;
	load_rows(w, numbers, &rows);
	for (unsigned c = 0; c < chunk_tiles(g); c++) {
		kit_op weights[2][4];
		tcb_ptx_if_begin(b, u_ge(b, w->tile, I(c)));
		weigh(w, numbers, &rows, 0, c, weights);
		for (unsigned i = 0; i < 4; i++)
			tcb_kit_store(b, TCB_KIT_SHARED, "f32",
				      tcb_ptx_at(to, (int64_t)slot * chunk_system_bytes(g) +
							     (int64_t)(i % 2) * CHUNK_EIGHT * pitch +
							     4 * (int64_t)(CHUNK_TILE * c + CHUNK_EIGHT * (i / 2))),
				      &weights[i / 2][2 * (i % 2)], 2);
		tcb_ptx_if_end(b);
	}
}

static void keys_barrier(struct chunk_preparer *w)
{
	barrier_named(&w->kit.b, I(CHUNK_BARRIER), I(chunk_tiles(w->g) * WARP));
}

/* T of two heads at a time; of an odd one twice, stored once. */
static void write_pairs(struct chunk_preparer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op place = tcb_ptx_for_begin(b, I(0), w->heads_here, I(2), 1);
	tcb_kit_nounroll(b);
	const kit_op next = u_add(b, place, I(1)), has_second = u_lt(b, next, w->heads_here);
	const kit_op places[2] = { place, u_select(b, next, place, has_second) };
	kit_op number[2], record[2];
	for (unsigned i = 0; i < 2; i++) {
		number[i] = numbers_of(w, places[i]);
		record[i] = record_of(w, w->first_head, places[i]);
		write_system(w, number[i], i);
	}
	keys_barrier(w);
	chunk_write_solution(w, record, number, has_second);
	keys_barrier(w);
	tcb_ptx_for_end(b);
}

static void write_heads(struct chunk_preparer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	if (g->has_correction)
		tcb_ptx_if_begin(b, w->is_query);
	/* Without the correction all have queries: every second head each. */
	const kit_op first = g->has_correction ? I(0) : u_div(b, w->kit.warp, I(chunk_tiles(g)));
	const kit_op place = tcb_ptx_for_begin(b, first, w->heads_here, I(g->has_correction ? 1 : 2), 0);
	tcb_kit_nounroll(b);
	write_weights(w, place);
	tcb_ptx_for_end(b);
	if (!g->has_correction)
		return;
	tcb_ptx_if_else(b);
	write_pairs(w);
	tcb_ptx_if_end(b);
}

/* --- the kernel --- */

void chunk_write_prepare(struct chunk_preparer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned tiles = chunk_tiles(g);
	const kit_op part = u_block_z(b), is_first_part = u_eq(b, part, I(0));
	struct row row[2];
	/* Warps of one part of a multiprocessor are four apart: the least of the one beside the most of the other. */
	w->is_query = u_ge(b, w->kit.warp, I(tiles));
	w->tile = u_select(b, u_sub(b, I(2 * tiles - 1), w->kit.warp), w->kit.warp, w->is_query);
	for (unsigned i = 0; i < 2 && g->k <= BOTH_MAX; i++)
		load_row(w, i, &row[i]);
	write_list(w);
	tcb_kit_block_barrier(b);
	w->head_count = tcb_kit_get(b, TCB_KIT_SHARED, "u32", tcb_ptx_at(w->list, 4 * (int64_t)g->heads));
	const kit_op first_head = u_mul(b, part, I(g->taken));
	write_numbers(w, first_head);
	for (unsigned i = 0; i < 2; i++) {
		if (g->k > BOTH_MAX)
			load_row(w, i, &row[i]);
		store_row(w, i, &row[i], is_first_part);
	}
	tcb_kit_block_barrier(b);
	write_products(w);
	w->first_head = tcb_ptx_for_begin(b, first_head, w->head_count, I((int64_t)g->taken * g->parts), 0);
	tcb_kit_nounroll(b);
	w->heads_here = heads_from(w, w->first_head);
	write_heads(w);
	tcb_kit_block_barrier(b); /* all have done with the numbers of these heads */
	write_numbers(w, u_add(b, w->first_head, I((int64_t)g->taken * g->parts)));
	tcb_kit_block_barrier(b);
	tcb_ptx_for_end(b);
}
