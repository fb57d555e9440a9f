/* SPDX-License-Identifier: MIT
 *
 * Chunks of tokens on a GPU: what a warp does with its 16 values, all in registers (delta_chunk_gpu.h).
 */
#include "kernels/delta/delta_chunk_gpu.h"

/* The registers of sums as those of a factor, in the order of columns that these have. */
static void split_factor(struct tcb_ptx_build *b, const kit_op sums[4], struct chunk_terms out[4])
{
	static const unsigned from[4] = { 0, 2, 1, 3 };
	for (unsigned i = 0; i < 4; i++)
		chunk_split(b, sums[from[i]], &out[i]);
}

static unsigned groups(const struct delta_gpu *g)
{
	return g->chunk / CHUNK_EIGHT;
}

static void load_numbers(struct chunk_writer *w, unsigned which, unsigned group, kit_op out[2])
{
	tcb_kit_load(
		&w->kit.b, TCB_KIT_SHARED, "f32",
		tcb_ptx_at(w->numbers_of_pair, (int64_t)which * w->g->chunk * 4 + (int64_t)4 * CHUNK_EIGHT * group),
		out, 2);
}

/* --- states --- */

/* Value R of SLOT of POOL, at the lane's first pair of keys. */
static kit_op state_address(struct chunk_writer *w, kit_op pool, kit_op slot, unsigned r)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned element = (unsigned)tcb_type_bytes(g->state);
	const kit_op base = l_mad_wide(b, slot, I((int64_t)g->heads * g->n * g->k * element), pool);
	const kit_op row = l_mad_wide(b, u_mad(b, w->head, I(g->n), w->value[r]), I(g->k * element), base);
	return tcb_ptx_assume_aligned(b, l_mad_wide(b, w->pair, I(2 * element), row), 2 * element);
}

/* Number WHICH of the sequence's row of slots. */
static kit_op slot_of(struct chunk_writer *w, unsigned which)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op at = u_mad(b, w->sequence, I(w->g->slots), I(which));
	return tcb_kit_get(b, tcb_kit_input(w->g->pdl), "s32", tcb_kit_element(b, w->slots, at, 4));
}

void chunk_load_state(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned tiles = g->k / CHUNK_EIGHT, bytes = CHUNK_EIGHT * (unsigned)tcb_type_bytes(g->state);
	const kit_op slot = slot_of(w, 0), goes_on = s_gt(b, slot, I(-1)), from = b_set(b, s_max(b, slot, I(0)));
	for (unsigned t = 0; t < tiles; t++)
		for (unsigned i = 0; i < 4; i++)
			w->state[t][i] = f_set(b, F(0));
	for (unsigned r = 0; r < 2; r++) {
		const kit_op address = state_address(w, w->states, from, r);
		for (unsigned t = 0; t < tiles; t++) {
			kit_op *to = &w->state[t][2 * r];
			if (g->state == TCB_TYPE_F32) {
				tcb_kit_load_where(b, goes_on, TCB_KIT_GLOBAL_ONCE, "f32",
						   tcb_ptx_at(address, (int64_t)t * bytes), to, 2);
				continue;
			}
			const kit_op word = b_set(b, I(0));
			tcb_kit_load_where(b, goes_on, TCB_KIT_GLOBAL_ONCE, "b32",
					   tcb_ptx_at(address, (int64_t)t * bytes), &word, 1);
			f_set_to(b, to[0], b_set(b, u_shl(b, word, I(16))));
			f_set_to(b, to[1], b_set(b, u_and(b, word, I((int64_t)0xffff0000))));
		}
	}
}

void chunk_store_state(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned tiles = g->k / CHUNK_EIGHT, bytes = CHUNK_EIGHT * (unsigned)tcb_type_bytes(g->state);
	const enum tcb_kit_memory memory = g->stream ? TCB_KIT_STREAM : TCB_KIT_GLOBAL;
	const kit_op slot = slot_of(w, 1);
	tcb_ptx_if_begin(b, s_gt(b, slot, I(-1)));
	for (unsigned r = 0; r < 2; r++) {
		const kit_op address = state_address(w, w->states_out, b_set(b, slot), r);
		for (unsigned t = 0; t < tiles; t++) {
			const kit_op *from = &w->state[t][2 * r], to = tcb_ptx_at(address, (int64_t)t * bytes);
			if (g->state == TCB_TYPE_F32)
				tcb_kit_store_where(b, w->is_there[r], memory, "f32", to, from, 2);
			else
				tcb_kit_put_where(b, w->is_there[r], memory, "b32", to,
						  tcb_kit_pack(b, "bf16", from[0], from[1]));
		}
	}
	tcb_ptx_if_end(b);
}

/* --- values --- */

/* Where there is token 2 PAIR + I of GROUP. */
static kit_op token_of(struct chunk_writer *w, unsigned group, unsigned i)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op own = u_mad(b, w->pair, I(2), w->first);
	return u_add(b, own, I(CHUNK_EIGHT * group + i));
}

void chunk_load_values(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	for (unsigned t = 0; t < groups(g); t++)
		for (unsigned i = 0; i < 4; i++) {
			const kit_op token = token_of(w, t, i % 2);
			const kit_op at = u_add(b, u_mad(b, token, I(g->row), w->v_at), w->value[i / 2]);
			w->v[t][i] = f_set(b, F(0));
			tcb_kit_load_where(b, u_lt(b, token, w->count), tcb_kit_input(g->pdl), "f32",
					   tcb_ptx_at(tcb_kit_element(b, w->qkv, at, 4), 0), &w->v[t][i], 1);
		}
}

/* --- products with the state --- */

/* The state before the chunk with its keys, where tokens need that, and queries. */
void chunk_multiply_state(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned pitch = chunk_key_pitch(g);
	const kit_op x = tcb_ptx_assume_aligned(b, u_mad(b, w->quad, I(pitch), u_mad(b, w->pair, I(8), w->slot)), 8);
	for (unsigned t = 0; t < groups(g); t++)
		for (unsigned i = 0; i < 4; i++) {
			w->added[t][i] = f_set(b, F(0));
			w->out[t][i] = f_set(b, F(0));
		}
	for (unsigned step = 0; step < g->k / CHUNK_EIGHT; step++) {
		struct chunk_terms state[4], pair[2];
		split_factor(b, w->state[step], state);
		for (unsigned t = 0; t < groups(g); t++) {
			const int64_t at = (int64_t)t * CHUNK_EIGHT * pitch + 32 * step;
			if (g->has_correction) {
				chunk_load_pair(b, x, at, pair);
				chunk_multiply(b, w->added[t], state, pair);
			}
			chunk_load_pair(b, x, at + (int64_t)g->chunk * pitch, pair);
			chunk_multiply(b, w->out[t], state, pair);
		}
	}
}

/* --- what tokens add --- */

/* From products with the state to what the system has on its right; without the correction what tokens add. */
static void write_right(struct chunk_writer *w, unsigned t)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op beta[2], decay[2];
	load_numbers(w, CHUNK_BETA, t, beta);
	if (w->g->has_correction)
		load_numbers(w, CHUNK_RHS, t, decay);
	for (unsigned i = 0; i < 4; i++) {
		kit_op rest = w->v[t][i];
		if (w->g->has_correction)
			rest = f_fma(b, decay[i % 2], w->added[t][i], rest);
		f_mul_to(b, w->added[t][i], beta[i % 2], rest);
	}
}

/* Eight tokens, one after the other: each lane of four has two of them. */
static void solve_group(struct chunk_writer *w, unsigned t)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned pitch = chunk_token_pitch(w->g);
	const kit_op rows = tcb_ptx_assume_aligned(b, u_mad(b, w->pair, I(2 * pitch), w->by_keys), 16);
	const kit_op four = u_and(b, w->kit.lane, I(28));
	kit_op *added = w->added[t], weight[2][CHUNK_EIGHT];
	for (unsigned row = 0; row < 2; row++)
		for (unsigned i = 0; i < CHUNK_EIGHT; i += 4)
			tcb_kit_load(
				b, TCB_KIT_SHARED, "f32",
				tcb_ptx_at(rows, (int64_t)(CHUNK_EIGHT * t + row) * pitch + 4 * (CHUNK_EIGHT * t + i)),
				&weight[row][i], 4);
	for (unsigned i = 0; i + 1 < CHUNK_EIGHT; i++) {
		const kit_op from = i / 2 ? u_add(b, four, I(i / 2)) : four;
		for (unsigned r = 0; r < 2; r++) {
			const kit_op known = b_set(b, u_lane(b, added[2 * r + i % 2], from));
			const kit_op x = f_set(b, known);
			for (unsigned row = 0; row < 2; row++)
				f_fma_to(b, added[2 * r + row], weight[row][i], x, added[2 * r + row]);
		}
	}
}

/* What the tokens of GROUP add to those of later groups, and to y. */
static void spread_group(struct chunk_writer *w, unsigned group)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned pitch = chunk_token_pitch(g);
	const kit_op within = u_mad(b, w->quad, I(pitch), u_mul(b, w->pair, I(8)));
	const kit_op by_keys = tcb_ptx_assume_aligned(b, u_add(b, w->by_keys, within), 8);
	const kit_op by_queries = tcb_ptx_assume_aligned(b, u_add(b, w->by_queries, within), 8);
	struct chunk_terms added[4], pair[2];
	split_factor(b, w->added[group], added);
	for (unsigned t = group; t < groups(g); t++) {
		const int64_t at = (int64_t)t * CHUNK_EIGHT * pitch + 32 * group;
		if (t > group && g->has_correction) {
			chunk_load_pair(b, by_keys, at, pair);
			chunk_multiply(b, w->added[t], added, pair);
		}
		chunk_load_pair(b, by_queries, at, pair);
		chunk_multiply(b, w->out[t], added, pair);
	}
}

static void store_y(struct chunk_writer *w, unsigned t)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	for (unsigned i = 0; i < 4; i++) {
		const kit_op token = token_of(w, t, i % 2);
		const kit_op at = u_add(b, u_mad(b, token, I((int64_t)g->heads * g->n), w->y_at), w->value[i / 2]);
		const kit_op y = g->has_correction ? w->out[t][i] : f_fma(b, w->skip, w->v[t][i], w->out[t][i]);
		tcb_kit_put_where(b, u_lt_and(b, token, w->count, w->is_there[i / 2]), TCB_KIT_GLOBAL, "f32",
				  tcb_ptx_at(tcb_kit_element(b, w->y, at, 4), 0), y);
	}
}

/* The state becomes that behind the chunk. */
static void update_state(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned pitch = chunk_key_pitch(g);
	const kit_op decay =
		tcb_kit_get(b, TCB_KIT_SHARED, "f32",
			    tcb_ptx_at(tcb_ptx_assume_aligned(b, w->numbers, 4), (int64_t)CHUNK_END * g->chunk * 4));
	const kit_op rows =
		tcb_ptx_assume_aligned(b, u_mad(b, w->pair, I(2 * pitch), u_mad(b, w->quad, I(4), w->slot)), 4);
	for (unsigned t = 0; t < g->k / CHUNK_EIGHT; t++)
		for (unsigned i = 0; i < 4; i++)
			f_mul_to(b, w->state[t][i], w->state[t][i], decay);
	for (unsigned group = 0; group < groups(g); group++) {
		struct chunk_terms added[4];
		kit_op left[2];
		load_numbers(w, CHUNK_LEFT, group, left);
		for (unsigned i = 0; i < 4; i++)
			f_mul_to(b, w->added[group][i], w->added[group][i], left[i % 2]);
		split_factor(b, w->added[group], added);
		for (unsigned t = 0; t < g->k / CHUNK_EIGHT; t++) {
			struct chunk_terms keys[2];
			for (unsigned i = 0; i < 2; i++)
				chunk_split(b,
					    tcb_kit_get(b, TCB_KIT_SHARED, "f32",
							tcb_ptx_at(rows, (int64_t)(CHUNK_EIGHT * group + i) * pitch +
										 4 * CHUNK_EIGHT * t)),
					    &keys[i]);
			chunk_multiply(b, w->state[t], added, keys);
		}
	}
}

void chunk_write_rest(struct chunk_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	for (unsigned t = 0; t < groups(g); t++) {
		kit_op decay[2];
		write_right(w, t);
		load_numbers(w, CHUNK_OUT, t, decay);
		for (unsigned i = 0; i < 4; i++)
			f_mul_to(b, w->out[t][i], w->out[t][i], decay[i % 2]);
	}
	for (unsigned t = 0; t < groups(g); t++) {
		if (g->has_correction)
			solve_group(w, t);
		spread_group(w, t);
		store_y(w, t);
	}
	update_state(w);
}
