/* SPDX-License-Identifier: MIT
 *
 * rope_append on GPUs: a geometry comes in, a module of PTX and its launches go out.  A kernel
 * is one pass over heads of qkv's rows: values, a token's position, its cos and sin and its
 * place in the cache, results.
 */
#include "kernels/rope/rope_gpu.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/rope/rope_gpu_writer.h"

enum { PIECE = 4 /* words of an access */ };

static enum tcb_type from_type(const struct rope_writer *w)
{
	return w->launch->from == ROPE_WORKSPACE ? TCB_TYPE_F32 : w->g->io;
}

static enum tcb_type to_type(const struct rope_writer *w)
{
	if (w->launch->to == ROPE_WORKSPACE)
		return TCB_TYPE_F32;
	return w->launch->first < w->g->query ? w->g->q : tcb_kv_kind_row(rope_gpu_kind(w->g, w->launch))->type;
}

/* Rows are another kernel's results, which under dependent launch may be written while this one is there. */
static enum tcb_kit_memory memory_of(const struct rope_writer *w)
{
	return tcb_kit_input(w->g->pdl || w->launch->from == ROPE_WORKSPACE);
}

/* --- values in memory --- */

/* WIDTH values of TYPE at ADDRESS as floats. */
static void load_values(struct rope_writer *w, enum tcb_type type, enum tcb_kit_memory memory, kit_op address,
			kit_op *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned words = type == TCB_TYPE_F32 ? w->g->width : w->g->width / 2;
	kit_op word[ROPE_WIDTH_MAX];
	for (unsigned i = 0; i < words; i += PIECE)
		tcb_kit_load(b, memory, type == TCB_TYPE_F32 ? "f32" : "b32", tcb_ptx_at(address, 4 * i), word + i,
			     (unsigned)tcb_least(words, PIECE));
	for (unsigned i = 0; i < words; i++) {
		if (type == TCB_TYPE_F32) {
			out[i] = word[i];
		} else if (type == TCB_TYPE_F16) {
			tcb_kit_floats(b, word[i], out + 2 * i);
		} else {
			out[2 * i] = b_set(b, u_shl(b, word[i], I(16)));
			out[2 * i + 1] = b_set(b, u_and(b, word[i], I((int64_t)0xffff0000)));
		}
	}
}

static void store_values(struct rope_writer *w, kit_op address, const kit_op *values)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const enum tcb_type type = to_type(w);
	const unsigned words = type == TCB_TYPE_F32 ? w->g->width : w->g->width / 2;
	const enum tcb_kit_memory memory =
		w->g->stream && w->launch->to == ROPE_TO_OUTPUTS ? TCB_KIT_STREAM : TCB_KIT_GLOBAL;
	kit_op word[ROPE_WIDTH_MAX];
	if (type == TCB_TYPE_E4M3) {
		rope_store_bytes(w, memory, address, values);
		return;
	}
	for (unsigned i = 0; i < words; i++) {
		if (type == TCB_TYPE_F32)
			word[i] = values[i];
		else
			word[i] = tcb_kit_pack(b, type == TCB_TYPE_F16 ? "f16" : "bf16", values[2 * i],
					       values[2 * i + 1]);
	}
	for (unsigned i = 0; i < words; i += PIECE)
		tcb_kit_store(b, memory, type == TCB_TYPE_F32 ? "f32" : "b32", tcb_ptx_at(address, 4 * i), word + i,
			      (unsigned)tcb_least(words, PIECE));
}

/* BASE plus heads HEAD of values of TYPE, at the thread's chunk, which has VECTORS vectors side by side. */
static kit_op chunk_address(struct rope_writer *w, kit_op base, kit_op head, enum tcb_type type, unsigned vectors)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned bytes = (unsigned)tcb_type_bytes(type);
	return l_mad_wide(b, w->chunk, I(vectors * w->g->width * bytes), l_mad_wide(b, head, I(w->g->k * bytes), base));
}

/* Are a thread's two vectors of a head where the chunk alone tells? */
static int is_even(const struct rope_writer *w)
{
	return w->g->is_pairs || !rope_gpu_has_rest(w->g);
}

/* The thread's two vectors of head HEAD, of values of TYPE. */
static void head_addresses(struct rope_writer *w, kit_op base, kit_op head, enum tcb_type type, kit_op out[2])
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	const int64_t bytes = (int64_t)tcb_type_bytes(type);
	if (is_even(w)) {
		out[0] = chunk_address(w, base, head, type, g->is_pairs ? 2 : 1);
		out[1] = tcb_ptx_at(out[0], (g->is_pairs ? g->width : g->k / 2) * bytes);
		return;
	}
	out[0] = l_mad_wide(b, w->offset, I(bytes), l_mad_wide(b, head, I(g->k * bytes), base));
	out[1] = l_mad_wide(b, w->apart, I(bytes), out[0]);
}

/* --- what a thread has --- */

/* Chunks of a head's rest are behind those of its rotated part, each part with its own halves. */
static void write_rest(struct rope_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	const unsigned half = g->rotated / 2;
	w->is_rest = u_ge(b, w->chunk, I(half / g->width));
	if (g->is_pairs)
		return;
	w->offset = u_mul(b, w->chunk, I(g->width));
	w->offset = u_select(b, u_add(b, w->offset, I(half)), w->offset, w->is_rest);
	w->apart = u_select(b, I((g->k - g->rotated) / 2), I(half), w->is_rest);
}

/* The thread's number is that of its chunk, group of heads and token, in this order; blocks of threads
 * count from *FIRST on (NULL: 0). */
static void write_places(struct rope_writer *w, const kit_op *first)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	const unsigned groups = tcb_div_up(w->launch->heads, g->unroll), lanes = rope_gpu_lanes(g, w->launch);
	const kit_op tid = u_thread(b), number = u_block_x(b);
	const kit_op block = first ? u_sub(b, number, *first) : number;
	const kit_op item = u_mad(b, block, I(g->threads), tid);
	const struct kit_split group = u_split(b, item, I(lanes));
	w->chunk = group.rest;
	if (rope_gpu_has_split_block(g))
		w->lane = u_and(b, item, I(WARP - 1));
	if (lanes > g->chunks) {
		w->has_chunk = u_lt(b, w->chunk, I(g->chunks));
		w->chunk = u_min(b, w->chunk, I(g->chunks - 1));
	}
	if (rope_gpu_has_rest(g))
		write_rest(w);
	const struct kit_split token = u_split(b, group.whole, I(groups));
	w->first = u_mul(b, token.rest, I(g->unroll));
	w->has_token = u_lt(b, token.whole, w->tokens);
	w->token = u_min(b, token.whole, u_sub(b, w->tokens, I(1)));
}

static void write_position(struct rope_writer *w, kit_op lengths)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op length;
	w->sequence = u_div(b, w->token, w->m);
	length = tcb_kit_get(b, tcb_kit_input(w->g->pdl), "u32", tcb_kit_element(b, lengths, w->sequence, 4));
	const kit_op index = u_sub(b, w->token, u_mul(b, w->sequence, w->m));
	w->position = u_add(b, u_sub(b, length, w->m), index);
	w->is_new = s_ge_and(b, w->position, I(0), w->has_token);
}

/* Row POSITION of the table, or its elements of the rows that the token's three positions name. */
static void load_rotation_of(struct rope_writer *w, kit_op position, kit_op chunk)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	const enum tcb_kit_memory memory = tcb_kit_input(g->pdl);
	const kit_op row = l_mad_wide(b, position, I(g->rotated * 4), w->rotation);
	const kit_op at = l_mad_wide(b, chunk, I(g->width * 4), row);
	load_values(w, TCB_TYPE_F32, memory, at, w->cosine);
	load_values(w, TCB_TYPE_F32, memory, tcb_ptx_at(at, g->rotated / 2 * 4), w->sine);
}

static void load_rotations(struct rope_writer *w, kit_op chunk)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	const enum tcb_kit_memory memory = tcb_kit_input(g->pdl);
	kit_op position[ROPE_POSITIONS_OF_TOKEN], section[ROPE_WIDTH_MAX];
	for (unsigned i = 0; i < ROPE_POSITIONS_OF_TOKEN; i++) {
		const kit_op at = i ? u_mad(b, w->tokens, I(i), w->token) : w->token;
		position[i] = u_set(b, I(0)); /* not only those with a token may come here */
		tcb_kit_load_where(b, w->is_new, memory, "u32", tcb_kit_element(b, w->positions, at, 4), &position[i],
				   1);
	}
	for (unsigned i = 0; i < g->width; i += PIECE)
		tcb_kit_load(b, memory, "u32", tcb_ptx_at(l_mad_wide(b, chunk, I(g->width * 4), w->sections), 4 * i),
			     section + i, (unsigned)tcb_least(g->width, PIECE));
	for (unsigned i = 0; i < g->width; i++) {
		const kit_op is_last = u_eq(b, section[i], I(2)), is_second = u_eq(b, section[i], I(1));
		const kit_op first_two = u_select(b, position[1], position[0], is_second);
		const kit_op row = u_select(b, position[2], first_two, is_last);
		const kit_op at =
			l_mad_wide(b, chunk, I(g->width * 4), l_mad_wide(b, row, I(g->rotated * 4), w->rotation));
		w->cosine[i] = tcb_kit_get(b, memory, "f32", tcb_ptx_at(at, 4 * i));
		w->sine[i] = tcb_kit_get(b, memory, "f32", tcb_ptx_at(at, g->rotated / 2 * 4 + 4 * i));
	}
}

static void load_rotation(struct rope_writer *w, kit_op position)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	/* What is not rotated has no angles: any will do. */
	const kit_op chunk = rope_gpu_has_rest(g) ? u_min(b, w->chunk, I(g->rotated / 2 / g->width - 1)) : w->chunk;
	if (g->has_mrope)
		load_rotations(w, chunk);
	else
		load_rotation_of(w, position, chunk);
}

/* The cache's token of the thread's. */
static kit_op write_cache_token(struct rope_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	kit_op page;
	if (!g->page)
		return u_mad(b, w->sequence, w->cache, w->position);
	const struct kit_split at = u_split(b, w->position, I(g->page));
	const kit_op entry = u_mad(b, w->sequence, w->cache, at.whole);
	const kit_op address = tcb_ptx_at(tcb_kit_element(b, w->table, entry, 4), 0);
	const enum tcb_kit_memory memory = tcb_kit_input(g->pdl);
	if (!rope_gpu_has_blocks(g, w->launch)) {
		page = tcb_kit_get(b, memory, "u32", address);
	} else { /* not only those with a token come here */
		page = u_set(b, I(0));
		tcb_kit_load_where(b, w->is_new, memory, "u32", address, &page, 1);
	}
	return u_mad(b, page, I(g->page), at.rest);
}

/* BASE, of new tokens' rows of TYPE with a GAP between them, where the token's heads are as if there were none. */
static kit_op past_gaps(struct rope_writer *w, kit_op base, enum tcb_type type, unsigned gap)
{
	return tcb_kit_past_gaps(&w->kit.b, base, w->token, gap * tcb_type_bytes(type));
}

/* Which head of *BASE the launch's head HEAD of the row is: BASES are q's, K's and V's; AT: the token of K and V. */
static kit_op write_head_place(struct rope_writer *w, kit_op head, kit_op at, const kit_op bases[3], kit_op *base)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	const unsigned first = w->launch->first, end = first + w->launch->heads;
	const unsigned v = g->query + g->kv_heads;
	const kit_op of_q = first < g->query ? u_mad(b, w->token, I(g->query), head) : I(0);
	*base = bases[0];
	if (end <= g->query)
		return of_q;
	const kit_op row = u_mad(b, at, I(g->kv_heads), head);
	kit_op cache = first < v ? bases[1] : bases[2], before = I(first < v ? g->query : v);
	if (first < v && end > v) {
		const kit_op is_v = u_ge(b, head, I(v));
		cache = l_select(b, bases[2], bases[1], is_v);
		before = u_select(b, I(v), I(g->query), is_v);
	}
	const kit_op of_cache = u_sub(b, row, before);
	*base = cache;
	if (first >= g->query)
		return of_cache;
	const kit_op is_q = u_lt(b, head, I(g->query));
	*base = l_select(b, bases[0], cache, is_q);
	return u_select(b, of_q, of_cache, is_q);
}

/* The head of *BASE that head HEAD of the row is written to; AT: the cache's token. */
static kit_op write_goal(struct rope_writer *w, kit_op head, kit_op at, kit_op *base)
{
	const int has_q = w->launch->first < w->g->query && w->launch->to == ROPE_TO_OUTPUTS;
	const kit_op q = has_q ? past_gaps(w, w->q, w->g->q, w->g->q_gap) : w->q, outputs[3] = { q, w->k, w->v };
	if (w->launch->to == ROPE_TO_OUTPUTS)
		return write_head_place(w, head, at, outputs, base);
	*base = w->workspace;
	return u_mad(&w->kit.b, w->token, I(w->g->kv_heads), u_sub(&w->kit.b, head, I(w->g->query)));
}

/* The thread's two vectors, FIRST and SECOND, rotated; where IS_PLAIN (NULL: nowhere) as they are. */
static void rotate(struct rope_writer *w, kit_op *first, kit_op *second, const kit_op *is_plain)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned width = w->g->width;
	for (unsigned i = 0; i < width; i++) {
		kit_op *low = &first[i], *high = &second[i];
		if (w->g->is_pairs) {
			low = 2 * i < width ? &first[2 * i] : &second[2 * i - width];
			high = low + 1;
		}
		const kit_op x = *low, y = *high;
		const kit_op minus = f_neg(b, f_mul(b, y, w->sine[i]));
		*low = f_fma(b, x, w->cosine[i], minus);
		*high = f_fma(b, y, w->cosine[i], f_mul(b, x, w->sine[i]));
		if (is_plain) {
			*low = f_select(b, x, *low, *is_plain);
			*high = f_select(b, y, *high, *is_plain);
		}
	}
}

/* --- a kernel --- */

/* A thread's heads: their number in a row of qkv, whether there is one, its two vectors. */
struct heads {
	int is_cut;
	kit_op head[ROPE_HEADS_MAX], has_head[ROPE_HEADS_MAX];
	kit_op low[ROPE_HEADS_MAX][ROPE_WIDTH_MAX], high[ROPE_HEADS_MAX][ROPE_WIDTH_MAX];
};

static void load_heads(struct rope_writer *w, struct heads *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	const struct rope_launch *launch = w->launch;
	const int is_workspace = launch->from == ROPE_WORKSPACE;
	const unsigned end = launch->first + launch->heads, v = g->query + g->kv_heads;
	const int has[3] = { launch->first<g->query, launch->first<v && end> g->query, end> v };
	kit_op inputs[3] = { w->from, w->new_k, w->new_v };
	for (unsigned i = 0; i < 3 && !is_workspace; i++)
		if (g->is_apart ? has[i] : i == 0)
			inputs[i] = past_gaps(w, inputs[i], g->io, g->x_gap[i]);
	const kit_op row = g->is_apart && !is_workspace
				   ? I(0)
				   : u_mul(b, w->token, I(is_workspace ? g->kv_heads : g->query + 2 * g->kv_heads));
	out->is_cut = launch->heads % g->unroll != 0;
	for (unsigned u = 0; u < g->unroll; u++) {
		kit_op index = u ? u_add(b, w->first, I(u)) : w->first;
		if (out->is_cut) {
			out->has_head[u] = u_lt(b, index, I(launch->heads));
			index = u_min(b, index, I(launch->heads - 1));
		}
		out->head[u] = launch->first ? u_add(b, index, I(launch->first)) : index;
		kit_op from[2], base = inputs[0];
		const kit_op head = g->is_apart && !is_workspace
					    ? write_head_place(w, out->head[u], w->token, inputs, &base)
					    : u_add(b, row, is_workspace ? index : out->head[u]);
		head_addresses(w, base, head, from_type(w), from);
		load_values(w, from_type(w), memory_of(w), from[0], out->low[u]);
		load_values(w, from_type(w), memory_of(w), from[1], out->high[u]);
	}
}

/* Where head U of the thread's is V's; 0: none of the launch's is. */
static int write_is_v(struct rope_writer *w, const struct heads *heads, unsigned u, kit_op *out)
{
	const struct rope_launch *launch = w->launch;
	if (launch->rotated == launch->heads)
		return 0;
	*out = u_ge(&w->kit.b, heads->head[u], I(launch->first + launch->rotated));
	return 1;
}

/* Sum of the squares of the thread's two vectors, in up to four chains. */
static kit_op write_squares(struct rope_writer *w, const kit_op *low, const kit_op *high)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned count = 2 * w->g->width, chains = 4;
	kit_op chain[4];
	for (unsigned i = 0; i < count; i++) {
		const kit_op x = i % 2 ? high[i / 2] : low[i / 2];
		chain[i % chains] = i < chains ? f_mul(b, x, x) : f_fma(b, x, x, chain[i % chains]);
	}
	return tcb_kit_fold(b, f_add, chain, chains);
}

/* Head U over its root mean square and times its weights, if it is q's or K's.  All lanes come here. */
static void norm_head(struct rope_writer *w, struct heads *heads, unsigned u)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	const struct rope_launch *launch = w->launch;
	const unsigned lanes = rope_gpu_lanes(g, launch), rotated_end = launch->first + launch->rotated;
	kit_op *const vector[2] = { heads->low[u], heads->high[u] };
	kit_op weight[ROPE_WIDTH_MAX], at[2], is_v, squares = write_squares(w, vector[0], vector[1]);
	kit_op from = launch->first < g->query ? w->q_norm : w->k_norm;
	const int has_v = write_is_v(w, heads, u, &is_v);
	if (lanes > g->chunks)
		squares = f_select(b, squares, F(0), w->has_chunk);
	squares = tcb_kit_over_lanes(b, f_add, squares, lanes);
	const kit_op factor = f_rsqrt_near(b, f_fma(b, squares, F((float)(1.0 / g->k)), F(g->eps)));
	if (launch->first < g->query && rotated_end > g->query)
		from = l_select(b, w->q_norm, w->k_norm, u_lt(b, heads->head[u], I(g->query)));
	head_addresses(w, from, I(0), TCB_TYPE_F32, at);
	for (unsigned i = 0; i < 2; i++) {
		load_values(w, TCB_TYPE_F32, tcb_kit_input(g->pdl), at[i], weight);
		for (unsigned j = 0; j < g->width; j++) {
			const kit_op x = vector[i][j], normed = f_mul(b, f_mul(b, x, factor), weight[j]);
			vector[i][j] = has_v ? f_select(b, x, normed, is_v) : normed;
		}
	}
}

/* All lanes come here, before any of them knows whether it has a token. */
static void norm_heads(struct rope_writer *w, struct heads *heads)
{
	for (unsigned u = 0; rope_gpu_norms(w->g, w->launch) && u < w->g->unroll; u++)
		norm_head(w, heads, u);
}

static void rotate_head(struct rope_writer *w, struct heads *heads, unsigned u)
{
	const int has_rest = rope_gpu_has_rest(w->g);
	kit_op is_plain;
	if (!w->launch->rotated)
		return;
	const int has_v = write_is_v(w, heads, u, &is_plain);
	if (has_rest)
		is_plain = has_v ? p_or(&w->kit.b, is_plain, w->is_rest) : w->is_rest;
	rotate(w, heads->low[u], heads->high[u], has_v || has_rest ? &is_plain : NULL);
}

/* Has the thread a new token, and something of it? */
static kit_op write_is_there(struct rope_writer *w)
{
	return rope_gpu_lanes(w->g, w->launch) > w->g->chunks ? p_and(&w->kit.b, w->is_new, w->has_chunk) : w->is_new;
}

/* pdl=4 is for chains in which nothing writes lengths and rotation: they are read before the wait. */
static void write_early(struct rope_writer *w, kit_op lengths)
{
	write_position(w, lengths);
	if (w->launch->rotated)
		load_rotation(w, s_max(&w->kit.b, w->position, I(0)));
	tcb_kit_depend(&w->kit);
}

static void write_heads(struct rope_writer *w, kit_op lengths)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	struct heads heads;
	kit_op at = I(0);
	if (g->is_early)
		write_early(w, lengths);
	load_heads(w, &heads);
	if (!g->is_early)
		write_position(w, lengths);
	norm_heads(w, &heads);
	tcb_ptx_if_begin(b, write_is_there(w));
	if (w->launch->rotated && !g->is_early)
		load_rotation(w, w->position);
	if (rope_gpu_is_to_cache(w->g, w->launch))
		at = write_cache_token(w);
	for (unsigned u = 0; u < g->unroll; u++) {
		kit_op base, to[2];
		const kit_op goal = write_goal(w, heads.head[u], at, &base);
		head_addresses(w, base, goal, to_type(w), to);
		rotate_head(w, &heads, u);
		if (heads.is_cut)
			tcb_ptx_guard(b, heads.has_head[u]);
		store_values(w, to[0], heads.low[u]);
		store_values(w, to[1], heads.high[u]);
		tcb_ptx_unguard(b);
	}
	tcb_ptx_if_end(b);
}

/* Lanes need each other's largest magnitudes, so all compute, and who has a token stores.  The page is asked for while
 * values are on their way. */
static void write_blocks(struct rope_writer *w, kit_op lengths)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct rope_gpu *g = w->g;
	struct rope_codes codes[ROPE_HEADS_MAX];
	struct heads heads;
	if (g->is_early)
		write_early(w, lengths);
	load_heads(w, &heads);
	if (!g->is_early)
		write_position(w, lengths);
	norm_heads(w, &heads);
	if (w->launch->rotated && !g->is_early)
		load_rotation(w, s_max(b, w->position, I(0)));
	const kit_op at = write_cache_token(w);
	for (unsigned u = 0; u < g->unroll; u++) {
		rotate_head(w, &heads, u);
		rope_write_codes(w, heads.low[u], heads.high[u], &codes[u]);
	}
	tcb_ptx_if_begin(b, write_is_there(w));
	for (unsigned u = 0; u < g->unroll; u++) {
		kit_op cache;
		const kit_op goal = write_goal(w, heads.head[u], at, &cache);
		rope_store_codes(w, cache, goal, &codes[u], heads.is_cut ? &heads.has_head[u] : NULL);
	}
	tcb_ptx_if_end(b);
}

/* What the blocks of threads from *FIRST on (NULL: all) do for w->launch. */
static void write_part(struct rope_writer *w, const kit_op *first, kit_op lengths)
{
	write_places(w, first);
	if (rope_gpu_has_blocks(w->g, w->launch))
		write_blocks(w, lengths);
	else
		write_heads(w, lengths);
}

/* Those that heads FIRST to END of rows of qkv go to. */
static void declare_outputs(struct rope_writer *w, unsigned first, unsigned end)
{
	const unsigned k = w->g->query, v = k + w->g->kv_heads;
	if (first < k)
		w->q = tcb_kit_operand(&w->kit, "q", 16, ROPE_Q);
	if (first < v && end > k)
		w->k = tcb_kit_operand(&w->kit, "k", 16, ROPE_K);
	if (end > v)
		w->v = tcb_kit_operand(&w->kit, "v", 16, ROPE_V);
}

/* Of what the words qknorm and mrope ask for. */
static void declare_more(struct rope_writer *w, unsigned first, unsigned end)
{
	const struct tcb_words *words = &w->kit.out->problem.shape.words;
	if (w->g->has_norm && first < w->g->query)
		w->q_norm = tcb_kit_operand(&w->kit, "q_norm", 16, rope_operand(words, ROPE_Q_NORM));
	if (w->g->has_norm && end > w->g->query)
		w->k_norm = tcb_kit_operand(&w->kit, "k_norm", 16, rope_operand(words, ROPE_K_NORM));
	if (!w->g->has_mrope)
		return;
	w->positions = tcb_kit_operand(&w->kit, "positions", 4, rope_operand(words, ROPE_POSITIONS));
	w->sections = tcb_kit_operand(&w->kit, "sections", 16, rope_operand(words, ROPE_SECTIONS));
}

/* K's and V's inputs, of heads FIRST to END of a token. */
static void declare_new(struct rope_writer *w, unsigned first, unsigned end)
{
	const struct tcb_words *words = &w->kit.out->problem.shape.words;
	const unsigned v = w->g->query + w->g->kv_heads;
	if (first < v && end > w->g->query)
		w->new_k = tcb_kit_operand(&w->kit, "new_k", 16, rope_operand(words, ROPE_NEW_K));
	if (end > v)
		w->new_v = tcb_kit_operand(&w->kit, "new_v", 16, rope_operand(words, ROPE_NEW_V));
}

/* A number that is not in the PTX; but where operands are so many that a launch has no room for it. */
static kit_op number(struct rope_writer *w, const char *name, unsigned value)
{
	return w->g->has_norm || w->g->has_mrope || w->g->is_apart ? I(value) : tcb_kit_number(&w->kit, name, value);
}

/* The first COUNT of LAUNCHES, from number AT on, whose blocks of threads begin where BEGIN says, each behind the one
 * before. */
static void write_parts(struct rope_writer *w, const struct rope_launch *launches, unsigned count, unsigned at,
			const kit_op begin[ROPE_TOGETHER_MAX], kit_op lengths)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int is_last = at + 1 == count;
	if (!is_last)
		tcb_ptx_if_begin(b, u_lt(b, u_block_x(b), begin[at + 1]));
	w->launch = &launches[at];
	write_part(w, at ? &begin[at] : NULL, lengths);
	if (is_last)
		return;
	tcb_ptx_if_else(b);
	write_parts(w, launches, count, at + 1, begin, lengths);
	tcb_ptx_if_end(b);
}

/* The first COUNT of LAUNCHES in one kernel: blocks of threads have the one, then the next. */
static void write_kernel(struct rope_writer *w, const struct rope_launch *launches, unsigned count)
{
	const struct rope_gpu *g = w->g;
	const struct rope_launch *launch = w->launch = &launches[count - 1];
	static const char *const names[ROPE_TOGETHER_MAX] = { "", "first_blocks", "second_blocks" };
	unsigned blocks[ROPE_TOGETHER_MAX + 1] = { 0 };
	kit_op begin[ROPE_TOGETHER_MAX] = { { 0 } };
	for (unsigned i = 0; i < count; i++)
		blocks[i + 1] = blocks[i] + rope_gpu_blocks(g, &launches[i]);
	tcb_kit_begin(&w->kit, launch->name,
		      &(struct tcb_kit_kernel){ .threads = g->threads,
						.blocks_together = 1,
						.grid = { blocks[count] },
						.is_dependent = g->pdl });
	w->kit.own->lengths = 1u << ROPE_LENGTHS;
	w->kit.own->appended = 1u << ROPE_K | 1u << ROPE_V;
	if (g->is_early)
		w->kit.own->early = 1u << ROPE_LENGTHS | 1u << ROPE_ROTATION;
	w->from = launch->from == ROPE_WORKSPACE ? tcb_kit_workspace(&w->kit, "from", 16, 0)
						 : tcb_kit_operand(&w->kit, "qkv", 16, ROPE_QKV);
	if (g->is_apart && launch->from == ROPE_FROM_QKV)
		declare_new(w, launches[0].first, launch->first + launch->heads);
	if (launch->to == ROPE_WORKSPACE)
		w->workspace = tcb_kit_workspace(&w->kit, "to", 16, 0);
	else
		declare_outputs(w, launches[0].first, launch->first + launch->heads);
	if (launches[0].rotated) {
		w->rotation = tcb_kit_operand(&w->kit, "rotation", 16, ROPE_ROTATION);
		declare_more(w, launches[0].first, launch->first + launch->rotated);
	}
	const kit_op lengths = tcb_kit_operand(&w->kit, "lengths", 4, ROPE_LENGTHS);
	if (rope_gpu_is_to_cache(w->g, w->launch) && g->page)
		w->table = tcb_kit_operand(&w->kit, "pages", 4, ROPE_MORE + ROPE_TABLE);
	w->m = number(w, "m", g->m);
	if (rope_gpu_is_to_cache(w->g, w->launch))
		w->cache = number(w, g->page ? "table_pages" : "cache_tokens", g->cache);
	w->tokens = number(w, "tokens", g->tokens);
	for (unsigned i = 1; i < count; i++)
		begin[i] = number(w, names[i], blocks[i]);
	tcb_kit_dependents(&w->kit, !g->is_early);
	write_parts(w, launches, count, 0, begin, lengths);
	tcb_kit_end(&w->kit);
}

static enum tcb_status rope_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct rope_gpu g;
	struct rope_launch launches[ROPE_LAUNCHES_MAX];
	struct rope_writer w = { .g = &g };
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	rope_gpu_plan(problem, geometry, &g);
	const unsigned count = rope_gpu_launches(&g, launches);
	for (unsigned i = 0, parts; i < count; i += parts) {
		for (parts = 1; i + parts < count && launches[i + parts].is_behind;)
			parts++;
		write_kernel(&w, launches + i, parts);
	}
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = rope_chain(&problem->shape, g.chunks);
	return tcb_kit_close(&w.kit, err);
}

#define SIDE(kv, ...)                                                                                        \
	const struct tcb_side rope_##kv##_gpu = {                                                            \
		.variants = TCB_EMITTED(TCB_EMITTED_ROW("rope_append_" #kv "_f32_ptx", F32, FMA, BOUNDED),   \
					TCB_EMITTED_ROW("rope_append_" #kv "_half_ptx", F16, FMA, BOUNDED)), \
		.space = &rope_gpu_space,                                                                    \
		.emit = rope_emit                                                                            \
	};
TCB_KV_LIST(SIDE, )
