/* SPDX-License-Identifier: MIT
 *
 * The recurrent ops on GPUs for a few tokens: a geometry comes in, a module of PTX and its
 * launch go out.  delta_gpu_plan.h says how the geometry drives it, delta_kernels.c why y comes of the
 * state before.
 *
 * Norms are factors of the products with query and key, not of their numbers.
 */
#include "kernels/delta/delta_gpu.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/delta/delta_chunk_gpu.h"
#include "kernels/gpu/frame.h"

enum { PIECE = 4 /* words of an access */ };
#define LOG2_E 1.44269504f

/* What a thread has of a token. */
struct token {
	kit_op query[DELTA_NUMBERS_MAX], key[DELTA_NUMBERS_MAX], v[DELTA_VALUES_MAX];
	kit_op g, beta;
};

struct writer {
	struct tcb_kit kit;
	const struct delta_gpu *g;
	kit_op qkv, decay, beta, key_heads, counts, slots, states, y, states_out, skips;
	kit_op head, sequence, count, part; /* part: which of the lanes of a value */
	kit_op value[DELTA_VALUES_MAX], is_there[DELTA_VALUES_MAX], is_stored[DELTA_VALUES_MAX];
	kit_op query_at, key_at, v_at, number_at, y_at; /* of the sequence's first token: elements of arrays */
	kit_op skip;
	kit_op state[DELTA_VALUES_MAX][DELTA_NUMBERS_MAX];
};

static enum tcb_kit_memory input(const struct writer *w)
{
	return tcb_kit_input(w->g->pdl);
}

static unsigned numbers(const struct delta_gpu *g)
{
	return g->vectors * g->width;
}

/* --- states --- */

/* SLOT of POOL, at the thread's first vector of value U. */
static kit_op state_address(struct writer *w, kit_op pool, kit_op slot, unsigned u)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned element = (unsigned)tcb_type_bytes(g->state), vec = g->width * element;
	const kit_op base = l_mad_wide(b, slot, I((int64_t)g->heads * g->n * g->k * element), pool);
	const kit_op row = l_mad_wide(b, u_mad(b, w->head, I(g->n), w->value[u]), I(g->k * element), base);
	return l_mad_wide(b, w->part, I(vec), row);
}

/* WORD, two bf16, as floats. */
static void unpack(struct writer *w, kit_op word, kit_op out[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	f_set_to(b, out[0], b_set(b, u_shl(b, word, I(16))));
	f_set_to(b, out[1], b_set(b, u_and(b, word, I((int64_t)0xffff0000))));
}

/* What the sequence goes on from; zeros, where that is nothing. */
static void load_states(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned words = g->width * (unsigned)tcb_type_bytes(g->state) / 4, step = 4 * words * g->lanes;
	kit_op word[DELTA_VALUES_MAX][DELTA_NUMBERS_MAX];
	const kit_op at = u_mul(b, w->sequence, I(g->slots));
	const kit_op slot = tcb_kit_get(b, input(w), "s32", tcb_kit_element(b, w->slots, at, 4));
	const kit_op goes_on = s_gt(b, slot, I(-1)), from = b_set(b, s_max(b, slot, I(0)));
	for (unsigned u = 0; u < g->unroll; u++) {
		const kit_op address = state_address(w, w->states, from, u);
		for (unsigned i = 0; i < g->vectors; i++) {
			for (unsigned j = 0; j < words; j++)
				word[u][i * words + j] = b_set(b, I(0));
			tcb_kit_load_where(b, goes_on, TCB_KIT_GLOBAL_ONCE, "b32", tcb_ptx_at(address, i * step),
					   &word[u][i * words], words);
		}
	}
	for (unsigned u = 0; u < g->unroll; u++)
		for (unsigned i = 0; i < numbers(g); i++)
			w->state[u][i] = tcb_ptx_reg(b, "f32");
	for (unsigned u = 0; u < g->unroll; u++)
		for (unsigned i = 0; i < g->vectors * words; i++) {
			if (g->state == TCB_TYPE_F32)
				f_set_to(b, w->state[u][i], word[u][i]);
			else
				unpack(w, word[u][i], &w->state[u][2 * i]);
		}
}

/* To the slot that is number WHICH of the sequence's row. */
static void store_states(struct writer *w, kit_op which)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const unsigned words = g->width * (unsigned)tcb_type_bytes(g->state) / 4, step = 4 * words * g->lanes;
	const enum tcb_kit_memory memory = g->stream ? TCB_KIT_STREAM : TCB_KIT_GLOBAL;
	const kit_op at = u_mad(b, w->sequence, I(g->slots), which);
	const kit_op slot = tcb_kit_get(b, input(w), "s32", tcb_kit_element(b, w->slots, at, 4));
	tcb_ptx_if_begin(b, s_gt(b, slot, I(-1)));
	for (unsigned u = 0; u < g->unroll; u++) {
		const kit_op address = state_address(w, w->states_out, b_set(b, slot), u);
		for (unsigned i = 0; i < g->vectors; i++) {
			const kit_op *number = &w->state[u][i * g->width];
			kit_op word[PIECE];
			for (unsigned j = 0; j < words; j++)
				word[j] = g->state == TCB_TYPE_F32
						  ? number[j]
						  : tcb_kit_pack(b, "bf16", number[2 * j], number[2 * j + 1]);
			tcb_kit_store_where(b, w->is_there[u], memory, g->state == TCB_TYPE_F32 ? "f32" : "b32",
					    tcb_ptx_at(address, i * step), word, words);
		}
	}
	tcb_ptx_if_end(b);
}

/* --- tokens --- */

static void make_token(struct writer *w, struct token *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned i = 0; i < numbers(w->g); i++) {
		out->query[i] = tcb_ptx_reg(b, "f32");
		out->key[i] = tcb_ptx_reg(b, "f32");
	}
	for (unsigned u = 0; u < w->g->unroll; u++)
		out->v[u] = tcb_ptx_reg(b, "f32");
	out->g = tcb_ptx_reg(b, "f32");
	out->beta = tcb_ptx_reg(b, "f32");
}

/* The thread's numbers from AT on of a row of K, vectors of all lanes in turn. */
static void load_row(struct writer *w, kit_op at, const kit_op *to)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	/* Rows begin at multiples of no more, where values are odd in number. */
	const unsigned even = g->row % 4 == 0 ? 4 : g->row % 2 == 0 ? 2 : 1;
	const unsigned piece = (unsigned)tcb_least(g->width, tcb_least(even, PIECE));
	const kit_op address = l_mad_wide(b, w->part, I(4 * g->width), tcb_kit_element(b, w->qkv, at, 4));
	for (unsigned i = 0; i < g->vectors; i++)
		for (unsigned j = 0; j < g->width; j += piece)
			tcb_kit_load_into(b, input(w), "f32",
					  tcb_ptx_at(address, 4 * ((int64_t)i * g->lanes * g->width + j)),
					  to + i * g->width + j, piece);
}

/* Token INDEX of the sequence's. */
static void load_token(struct writer *w, kit_op index, const struct token *to)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const kit_op row = u_mul(b, index, I(g->row)), number = u_mad(b, index, I(g->heads), w->number_at);
	load_row(w, u_add(b, w->key_at, row), to->key);
	load_row(w, u_add(b, w->query_at, row), to->query);
	for (unsigned u = 0; u < g->unroll; u++) {
		const kit_op at = u_add(b, u_add(b, w->v_at, row), w->value[u]);
		tcb_kit_load_into(b, input(w), "f32", tcb_ptx_at(tcb_kit_element(b, w->qkv, at, 4), 0), &to->v[u], 1);
	}
	tcb_kit_load_into(b, input(w), "f32", tcb_ptx_at(tcb_kit_element(b, w->decay, number, 4), 0), &to->g, 1);
	tcb_kit_load_into(b, input(w), "f32", tcb_ptx_at(tcb_kit_element(b, w->beta, number, 4), 0), &to->beta, 1);
}

static void copy_token(struct writer *w, const struct token *from, const struct token *to)
{
	struct tcb_ptx_build *b = &w->kit.b;
	for (unsigned i = 0; i < numbers(w->g); i++) {
		f_set_to(b, to->query[i], from->query[i]);
		f_set_to(b, to->key[i], from->key[i]);
	}
	for (unsigned u = 0; u < w->g->unroll; u++)
		f_set_to(b, to->v[u], from->v[u]);
	f_set_to(b, to->g, from->g);
	f_set_to(b, to->beta, from->beta);
}

/* X'Y over all lanes of a value. */
static kit_op product(struct writer *w, const kit_op *x, const kit_op *y)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op sum[2];
	for (unsigned i = 0; i < numbers(w->g); i++) /* two chains */
		sum[i % 2] = i < 2 ? f_mul(b, x[i], y[i]) : f_fma(b, x[i], y[i], sum[i % 2]);
	return tcb_kit_over_lanes(b, f_add, numbers(w->g) > 1 ? f_add(b, sum[0], sum[1]) : sum[0], w->g->lanes);
}

static kit_op norm_factor(struct writer *w, const kit_op *x)
{
	struct tcb_ptx_build *b = &w->kit.b;
	return f_rsqrt_near(b, f_add(b, product(w, x, x), F(DELTA_NORM_EPSILON)));
}

/* Token INDEX through the state: y, and what becomes of it. */
static void write_token(struct writer *w, const struct token *t, kit_op index)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const float scale = g->has_correction ? 1 / sqrtf((float)g->k) : 1;
	const kit_op key_factor = g->has_correction ? norm_factor(w, t->key) : F(1);
	const kit_op query_factor = g->has_correction ? f_mul(b, norm_factor(w, t->query), F(scale)) : F(scale);
	const kit_op a = f_power2(b, f_mul(b, t->g, F(LOG2_E)));
	const kit_op both = f_mul(b, f_mul(b, product(w, t->key, t->query), key_factor), query_factor);
	const kit_op y_row = u_mad(b, index, I((int64_t)g->heads * g->n), w->y_at);
	for (unsigned u = 0; u < g->unroll; u++) {
		kit_op rest = t->v[u];
		const kit_op by_query = f_mul(b, product(w, w->state[u], t->query), query_factor);
		if (g->has_correction) {
			const kit_op old = f_mul(b, product(w, w->state[u], t->key), key_factor);
			rest = f_sub(b, rest, f_mul(b, a, old));
		}
		const kit_op d = f_mul(b, t->beta, rest);
		kit_op y = f_fma(b, both, d, f_mul(b, a, by_query));
		if (!g->has_correction)
			y = f_fma(b, w->skip, t->v[u], y);
		const kit_op to = tcb_kit_element(b, w->y, u_add(b, y_row, w->value[u]), 4);
		tcb_kit_put_where(b, w->is_stored[u], TCB_KIT_GLOBAL, "f32", tcb_ptx_at(to, 0), y);
		const kit_op by_key = f_mul(b, d, key_factor);
		for (unsigned i = 0; i < numbers(g); i++)
			f_fma_to(b, w->state[u][i], t->key[i], by_key, f_mul(b, w->state[u][i], a));
	}
}

/* --- the kernel --- */

static void declare(struct writer *w)
{
	const struct delta_gpu *g = w->g;
	w->qkv = tcb_kit_operand(&w->kit, "qkv", 16, DELTA_QKV);
	w->decay = tcb_kit_operand(&w->kit, "g", 4, DELTA_G);
	w->beta = tcb_kit_operand(&w->kit, "beta", 4, DELTA_BETA);
	w->key_heads = tcb_kit_operand(&w->kit, "key_heads", 4, DELTA_KEY_HEADS);
	w->counts = tcb_kit_operand(&w->kit, "counts", 4, DELTA_COUNTS);
	w->slots = tcb_kit_operand(&w->kit, "slots", 4, DELTA_SLOTS);
	w->states = tcb_kit_operand(&w->kit, "states", 16, DELTA_STATES);
	w->y = tcb_kit_operand(&w->kit, "y", 4, DELTA_Y);
	w->states_out = tcb_kit_operand(&w->kit, "states_out", 16, DELTA_STATES_OUT);
	if (!g->has_correction)
		w->skips = tcb_kit_operand(&w->kit, "skip", 4, DELTA_SKIP);
	tcb_kit_dependents(&w->kit, 1);
}

/* Which values the thread has a part of, and where its rows begin. */
static void write_places(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	const struct kit_split block = u_split(b, u_block_x(b), I(g->tiles));
	tcb_kit_threads(&w->kit);
	w->head = block.whole;
	w->sequence = u_block_y(b);
	w->part = u_and(b, w->kit.lane, I(g->lanes - 1));
	const kit_op beside = u_div(b, w->kit.lane, I(g->lanes));
	const kit_op of_warp = u_mad(b, w->kit.warp, I(g->unroll * g->beside), beside);
	const kit_op first = u_mad(b, block.rest, I(g->tile), of_warp);
	const kit_op is_first = u_eq(b, w->part, I(0));
	for (unsigned u = 0; u < g->unroll; u++) {
		const kit_op value = u ? u_add(b, first, I(u * g->beside)) : first;
		w->is_there[u] = u_lt(b, value, I(g->n));
		w->is_stored[u] = p_and(b, w->is_there[u], is_first);
		w->value[u] = u_min(b, value, I(g->n - 1));
	}
	const kit_op key_head = tcb_kit_entry(b, input(w), w->key_heads, w->head);
	const kit_op token = u_mul(b, w->sequence, I(g->m)), row = u_mul(b, token, I(g->row));
	w->query_at = u_mad(b, key_head, I(g->k), row);
	w->key_at = u_add(b, w->query_at, I(g->key_heads * g->k));
	w->v_at = u_mad(b, w->head, I(g->n), u_add(b, row, I(2 * g->key_heads * g->k)));
	w->number_at = u_mad(b, token, I(g->heads), w->head);
	w->y_at = u_mul(b, w->number_at, I(g->n));
	w->count = tcb_kit_entry(b, input(w), w->counts, w->sequence);
}

static void write_tokens(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct delta_gpu *g = w->g;
	struct token token, next;
	load_states(w);
	make_token(w, &token);
	load_token(w, I(0), &token);
	if (!g->has_correction)
		w->skip = tcb_kit_get(b, input(w), "f32", tcb_kit_element(b, w->skips, w->head, 4));
	if (g->m == 1) {
		write_token(w, &token, I(0));
		store_states(w, I(1));
		return;
	}
	make_token(w, &next);
	const kit_op last = u_sub(b, w->count, I(1));
	const kit_op t = tcb_ptx_for_begin(b, I(0), w->count, I(1), 1);
	const kit_op behind = u_add(b, t, I(1));
	tcb_kit_nounroll(b);
	load_token(w, u_min(b, behind, last), &next);
	write_token(w, &token, t);
	if (!g->is_prefill)
		store_states(w, behind);
	copy_token(w, &next, &token);
	tcb_ptx_for_end(b);
	if (g->is_prefill)
		store_states(w, I(1));
}

static enum tcb_status delta_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				  const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct delta_gpu g;
	struct writer w = { .g = &g };
	if (geometry->knob[TCB_KNOB_ISA] == TCB_ISA_MMA)
		return delta_chunk_emit(problem, target, geometry, out, err);
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	delta_gpu_plan(problem, geometry, &g);
	tcb_kit_begin(&w.kit, g.has_correction ? "delta_decode" : "ssd_decode",
		      &(struct tcb_kit_kernel){ .threads = g.threads,
						.blocks_together = 1,
						.grid = { g.tiles * g.heads, g.sequences },
						.is_dependent = g.pdl });
	declare(&w);
	write_places(&w);
	tcb_ptx_if_begin(&w.kit.b, u_gt(&w.kit.b, w.count, I(0)));
	write_tokens(&w);
	tcb_ptx_if_end(&w.kit.b);
	tcb_kit_end(&w.kit);
	out->class = TCB_CLASS_BOUNDED;
	out->chain = (double)problem->shape.k + DELTA_CHAIN;
	return tcb_kit_close(&w.kit, err);
}

#define ROW(text, isa) TCB_EMITTED_ROW(text, F32, isa, BOUNDED)
#define SIDE_OF(name, ...)                            \
	const struct tcb_side name##_gpu = {          \
		.variants = TCB_EMITTED(__VA_ARGS__), \
		.space = &delta_gpu_space,            \
		.emit = delta_emit,                   \
	};
#define SIDE(state, ID, type, text, rule)                                          \
	SIDE_OF(rule##_decode_##state, ROW(#rule "_decode_" #state "_ptx", FMA))   \
	SIDE_OF(rule##_prefill_##state, ROW(#rule "_prefill_" #state "_ptx", FMA), \
		ROW(#rule "_prefill_" #state "_mma", MMA))
DELTA_STATE_LIST(SIDE, delta)
DELTA_STATE_LIST(SIDE, ssd)
