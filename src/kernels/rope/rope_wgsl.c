/* SPDX-License-Identifier: MIT
 *
 * rope_append in WGSL: a geometry comes in, a module and its launches go out.
 * rope_wgsl.h says how the geometry drives them.
 */
#include "kernels/rope/rope_wgsl.h"

#include <stdio.h>

#include "base/sizes.h"
#include "kernels/wgsl/wgsl_quant.h"

enum { FOUR = ROPE_WGSL_FOUR, FOURS_OF_BLOCK = ROPE_BLOCK / FOUR };

struct writer {
	struct tcb_wgsl w;
	const struct rope_wgsl *g;
	int qkv, rotation, lengths, q, k, v, pages; /* bindings; pages: 0 where there are none */
};

static unsigned fours(const struct rope_wgsl *g)
{
	return g->width / FOUR;
}

/* Vectors of TYPE, and how many values one has. */
static const char *vectors(const struct rope_wgsl *g, enum tcb_type type)
{
	if (type == TCB_TYPE_F32)
		return "array<vec4<f32>>";
	return fours(g) == 1 ? "array<vec2<u32>>" : "array<vec4<u32>>";
}

static unsigned vector_values(const struct rope_wgsl *g, enum tcb_type type)
{
	return type == TCB_TYPE_F32 ? FOUR : g->width;
}

/* --- where things are --- */

static void write_places(struct writer *w)
{
	tcb_wgsl_add(&w->w,
		     "\n"
		     "// The position of a new token of all sequences; below 0: there is none.\n"
		     "fn position_of(token: u32) -> i32 {\n"
		     "return i32(lengths[token / news]) - i32(news) + i32(token %% news);\n"
		     "}\n"
		     "\n"
		     "// Where the cache has a token.\n"
		     "fn cache_token(sequence: u32, position: u32) -> u32 {\n"
		     "return %s;\n"
		     "}\n",
		     w->g->has_pages ? "pages[sequence * room + position / page] * page + position % page"
				     : "sequence * room + position");
}

/* What the invocation is of all, and for what ITEM stands for. */
static void write_item(struct writer *w, const char *across)
{
	tcb_wgsl_add(&w->w, "let item = (group.x + group.y * %s) * %uu + local;\n", across, w->g->workgroup);
}

/* --- heads --- */

/* The vectors of head U, FIRST at the place "at", as they are and as fours NAME0, ... */
static void write_load(struct writer *w, const char *name, unsigned u, const char *at)
{
	const struct rope_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	if (g->io == TCB_TYPE_F32) {
		for (unsigned i = 0; i < fours(g); i++)
			tcb_wgsl_add(t, "let %s%u_%u = qkv[%s + %uu];\n", name, u, i, at, i);
		return;
	}
	tcb_wgsl_add(t, "let %s_words%u = qkv[%s];\n", name, u, at);
	for (unsigned i = 0; i < fours(g); i++)
		tcb_wgsl_add(t, "let %s%u_%u = from_halves(%s_words%u%s);\n", name, u, i, name, u,
			     fours(g) == 1 ? ""
			     : i           ? ".zw"
					   : ".xy");
}

/* Angles I of head U: of what is low in them, and what high. */
static void write_rotate(struct writer *w, unsigned u, unsigned i)
{
	struct tcb_wgsl *t = &w->w;
	const unsigned f = fours(w->g);
	const char one = 2 * i < f ? 'a' : 'b', other = 2 * i + 1 < f ? 'a' : 'b';

	if (w->g->is_pairs)
		tcb_wgsl_add(t,
			     "let low%u_%u = vec4<f32>(%c%u_%u.xz, %c%u_%u.xz);\n"
			     "let high%u_%u = vec4<f32>(%c%u_%u.yw, %c%u_%u.yw);\n",
			     u, i, one, u, 2 * i % f, other, u, (2 * i + 1) % f, u, i, one, u, 2 * i % f, other, u,
			     (2 * i + 1) % f);
	else
		tcb_wgsl_add(t,
			     "let low%u_%u = a%u_%u;\n"
			     "let high%u_%u = b%u_%u;\n",
			     u, i, u, i, u, i, u, i);
	tcb_wgsl_add(t,
		     "let new_low%u_%u = low%u_%u * cos%u_%u - high%u_%u * sin%u_%u;\n"
		     "let new_high%u_%u = high%u_%u * cos%u_%u + low%u_%u * sin%u_%u;\n",
		     u, i, u, i, u, i, u, i, u, i, u, i, u, i, u, i, u, i, u, i);
}

/* Four results, number I of vector NAME ('a' or 'b') of head U. */
static void name_result(const struct writer *w, char name, unsigned u, unsigned i, char out[96])
{
	const unsigned at = (name == 'b' ? fours(w->g) : 0) + i;

	if (!w->g->is_pairs)
		snprintf(out, 96, "new_%s%u_%u", name == 'a' ? "low" : "high", u, i);
	else
		snprintf(out, 96,
			 at % 2 ? "vec4<f32>(new_low%u_%u.z, new_high%u_%u.z, new_low%u_%u.w, new_high%u_%u.w)"
				: "vec4<f32>(new_low%u_%u.x, new_high%u_%u.x, new_low%u_%u.y, new_high%u_%u.y)",
			 u, at / 2, u, at / 2, u, at / 2, u, at / 2);
}

/* Vector NAME of head U as it is stored, TO_NAMEu or, of f32, as fours. */
static void write_result(struct writer *w, char name, unsigned u)
{
	const struct rope_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	char values[96];

	for (unsigned i = 0; i < fours(g); i++) {
		name_result(w, name, u, i, values);
		tcb_wgsl_add(t,
			     g->q == TCB_TYPE_F32 ? "let to_%c%u_%u = %s;\n" : "let halves_%c%u_%u = to_halves(%s);\n",
			     name, u, i, values);
	}
	if (g->q == TCB_TYPE_F32)
		return;
	if (fours(g) == 1)
		tcb_wgsl_add(t, "var to_%c%u = halves_%c%u_0;\n", name, u, name, u);
	else
		tcb_wgsl_add(t, "var to_%c%u = vec4<u32>(halves_%c%u_0, halves_%c%u_1);\n", name, u, name, u, name, u);
	/* V, bit by bit */
	if (g->kv != TCB_TYPE_BLOCKS && g->io != TCB_TYPE_F32)
		tcb_wgsl_add(t, "to_%c%u = select(to_%c%u, %c_words%u, is_plain%u);\n", name, u, name, u, name, u, u);
}

/* To head HEAD of output NAME. */
static void write_store(struct writer *w, const char *name, const char *head, unsigned u)
{
	const struct rope_wgsl *g = w->g;
	const unsigned each = vector_values(g, g->q), apart = g->is_pairs ? g->width / each : g->k / 2 / each;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_add(t, "let to = (%s) * %uu + chunk * %uu;\n", head, g->k / each,
		     (g->is_pairs ? 2 * g->width : g->width) / each);
	for (const char *vector = "ab"; *vector; vector++)
		if (g->q == TCB_TYPE_F32)
			for (unsigned i = 0; i < fours(g); i++)
				tcb_wgsl_add(t, "%s[to + %uu] = to_%c%u_%u;\n", name, (*vector == 'b' ? apart : 0) + i,
					     *vector, u, i);
		else
			tcb_wgsl_add(t, "%s[to + %uu] = to_%c%u;\n", name, *vector == 'b' ? apart : 0, *vector, u);
}

static void write_stores(struct writer *w, unsigned u)
{
	struct tcb_wgsl *t = &w->w;
	char head[48];

	tcb_wgsl_add(t, "if (first_head + %uu < heads) {\n", u);
	if (w->g->kv == TCB_TYPE_BLOCKS) {
		snprintf(head, sizeof head, "token * query + head%u", u);
		write_store(w, "q", head, u);
		tcb_wgsl_add(t, "}\n");
		return;
	}
	tcb_wgsl_add(t, "if (head%u < query) {\n", u);
	snprintf(head, sizeof head, "token * query + head%u", u);
	write_store(w, "q", head, u);
	tcb_wgsl_add(t, "} else if (head%u < query + kv_heads) {\n", u);
	snprintf(head, sizeof head, "cache + head%u - query", u);
	write_store(w, "k", head, u);
	tcb_wgsl_add(t, "} else {\n");
	snprintf(head, sizeof head, "cache + head%u - query - kv_heads", u);
	write_store(w, "v", head, u);
	tcb_wgsl_add(t, "}\n}\n");
}

/* cos and sin of head U; of V, which is not rotated, 1 and 0. */
static void write_angles(struct writer *w, unsigned u)
{
	const int has_plain = w->g->kv != TCB_TYPE_BLOCKS;
	struct tcb_wgsl *t = &w->w;

	if (has_plain)
		tcb_wgsl_add(t, "let is_plain%u = head%u >= query + kv_heads;\n", u, u);
	for (unsigned i = 0; i < fours(w->g); i++)
		if (has_plain)
			tcb_wgsl_add(t,
				     "let cos%u_%u = select(cosine%u, vec4<f32>(1.0), is_plain%u);\n"
				     "let sin%u_%u = select(sine%u, vec4<f32>(0.0), is_plain%u);\n",
				     u, i, i, u, u, i, i, u);
		else
			tcb_wgsl_add(t,
				     "let cos%u_%u = cosine%u;\n"
				     "let sin%u_%u = sine%u;\n",
				     u, i, i, u, i, i);
}

static void write_head_loads(struct writer *w)
{
	const struct rope_wgsl *g = w->g;
	const unsigned each = vector_values(g, g->io), apart = g->is_pairs ? g->width / each : g->k / 2 / each;
	struct tcb_wgsl *t = &w->w;
	char at[48];

	for (unsigned u = 0; u < g->unroll; u++) {
		tcb_wgsl_add(t,
			     "let head%u = min(first_head + %uu, heads - 1u);\n"
			     "let from%u = (token * (query + 2u * kv_heads) + head%u) * %uu + chunk * %uu;\n",
			     u, u, u, u, g->k / each, (g->is_pairs ? 2 * g->width : g->width) / each);
		snprintf(at, sizeof at, "from%u", u);
		write_load(w, "a", u, at);
		snprintf(at, sizeof at, "from%u + %uu", u, apart);
		write_load(w, "b", u, at);
	}
}

/* Rows of qkv, or of a cache of blocks their q. */
static void write_heads(struct writer *w)
{
	const struct rope_wgsl *g = w->g;
	const int is_q = g->kv == TCB_TYPE_BLOCKS;
	struct tcb_wgsl *t = &w->w;
	struct tcb_wgsl_entry entry = { .workgroup = g->workgroup,
					.grid = { g->heads.grid[0], g->heads.grid[1] },
					.uses = { w->qkv, w->rotation, w->lengths, w->q } };

	if (!is_q) {
		entry.uses[4] = w->k;
		entry.uses[5] = w->v;
		entry.uses[6] = w->pages;
	}
	tcb_wgsl_begin(t, is_q ? "rope_q" : "rope_append", &entry);
	write_item(w, "across");
	tcb_wgsl_add(t,
		     "let heads = %s;\n"
		     "let head_groups = (heads + %uu) / %uu;\n"
		     "let chunk = item %% %uu;\n"
		     "let first_head = item / %uu %% head_groups * %uu;\n"
		     "let token = item / %uu / head_groups;\n"
		     "if (token >= tokens || position_of(token) < 0) {\n"
		     "return;\n"
		     "}\n"
		     "let position = u32(position_of(token));\n"
		     "let angle = position * %uu + chunk * %uu;\n",
		     is_q ? "query" : "query + 2u * kv_heads", g->unroll - 1, g->unroll, g->chunks, g->chunks,
		     g->unroll, g->chunks, g->k / FOUR, fours(g));
	for (unsigned i = 0; i < fours(g); i++)
		tcb_wgsl_add(t,
			     "let cosine%u = rotation[angle + %uu];\n"
			     "let sine%u = rotation[angle + %uu];\n",
			     i, i, i, g->k / 2 / FOUR + i);
	write_head_loads(w);
	if (!is_q)
		tcb_wgsl_add(t, "let cache = cache_token(token / news, position) * kv_heads;\n");
	for (unsigned u = 0; u < g->unroll; u++) {
		write_angles(w, u);
		for (unsigned i = 0; i < fours(g); i++)
			write_rotate(w, u, i);
		write_result(w, 'a', u);
		write_result(w, 'b', u);
		write_stores(w, u);
	}
	tcb_wgsl_end(t);
}

/* --- blocks --- */

static void write_put(struct writer *w, const char *name)
{
	tcb_wgsl_add(&w->w,
		     "\n"
		     "// A block from byte AT on, a multiple of 2: of a word that it shares with another, its half.\n"
		     "fn put_%s(at: u32, scale: u32, codes: ptr<function, array<u32, %u>>) {\n"
		     "let word = at / 4u;\n"
		     "if (at %% 4u == 0u) {\n"
		     "atomicStore(&%s[word], scale | ((*codes)[0] << 16u));\n"
		     "for (var i = 1u; i < %uu; i++) {\n"
		     "atomicStore(&%s[word + i], ((*codes)[i - 1u] >> 16u) | ((*codes)[i] << 16u));\n"
		     "}\n"
		     "atomicAnd(&%s[word + %uu], 0xffff0000u);\n"
		     "atomicOr(&%s[word + %uu], (*codes)[%u] >> 16u);\n"
		     "} else {\n"
		     "atomicAnd(&%s[word], 0xffffu);\n"
		     "atomicOr(&%s[word], scale << 16u);\n"
		     "for (var i = 0u; i < %uu; i++) {\n"
		     "atomicStore(&%s[word + 1u + i], (*codes)[i]);\n"
		     "}\n"
		     "}\n"
		     "}\n",
		     name, FOURS_OF_BLOCK, name, FOURS_OF_BLOCK, name, name, FOURS_OF_BLOCK, name, FOURS_OF_BLOCK,
		     FOURS_OF_BLOCK - 1, name, name, FOURS_OF_BLOCK, name);
}

static void write_block_functions(struct writer *w)
{
	const struct rope_wgsl *g = w->g;
	const unsigned in_row = g->k / FOUR, half = in_row / 2;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_add(t, "\n"
			"// Four values of a head of qkv.\n"
			"fn x_at(head: u32, four: u32) -> vec4<f32> {\n");
	if (g->io == TCB_TYPE_F32)
		tcb_wgsl_add(t, "return qkv[head * %uu + four];\n}\n", in_row);
	else if (fours(g) == 1)
		tcb_wgsl_add(t, "return from_halves(qkv[head * %uu + four]);\n}\n", in_row);
	else
		tcb_wgsl_add(t,
			     "let words = qkv[head * %uu + four / 2u];\n"
			     "return from_halves(select(words.xy, words.zw, four %% 2u == 1u));\n"
			     "}\n",
			     half);
	tcb_wgsl_add(t, "\n"
			"// The same, rotated.\n"
			"fn rotated_at(head: u32, four: u32, position: u32) -> vec4<f32> {\n"
			"let x = x_at(head, four);\n");
	if (g->is_pairs)
		tcb_wgsl_add(t,
			     "let cosines = rotation[position * %uu + four / 2u];\n"
			     "let sines = rotation[position * %uu + %uu + four / 2u];\n"
			     "let c = select(cosines.xxyy, cosines.zzww, four %% 2u == 1u);\n"
			     "let s = select(sines.xxyy, sines.zzww, four %% 2u == 1u);\n"
			     "return x * c + vec4<f32>(-x.y, x.x, -x.w, x.z) * s;\n",
			     in_row, in_row, half);
	else
		tcb_wgsl_add(t,
			     "let is_low = four < %uu;\n"
			     "let other = x_at(head, select(four - %uu, four + %uu, is_low));\n"
			     "let angle = position * %uu + four %% %uu;\n"
			     "return x * rotation[angle] + select(other, -other, is_low) * rotation[angle + %uu];\n",
			     half, half, half, in_row, half, half);
	tcb_wgsl_add(t, "}\n");
	tcb_wgsl_add_codes(t, 0);
	write_put(w, "k");
	write_put(w, "v");
}

static void write_blocks(struct writer *w)
{
	const struct rope_wgsl *g = w->g;
	const unsigned blocks = g->k / ROPE_BLOCK;
	struct tcb_wgsl *t = &w->w;
	const struct tcb_format *format = tcb_kv_format(rope_kv(&t->out->problem));

	tcb_wgsl_begin(t, "append",
		       &(struct tcb_wgsl_entry){ .workgroup = g->workgroup,
						 .grid = { g->blocks.grid[0], g->blocks.grid[1] },
						 .uses = { w->qkv, w->rotation, w->lengths, w->k, w->v, w->pages } });
	write_item(w, "blocks_across");
	tcb_wgsl_add(t,
		     "let block = item %% %uu;\n"
		     "let head = item / %uu %% (2u * kv_heads); // K's, then V's\n"
		     "let token = item / %uu / (2u * kv_heads);\n"
		     "if (token >= tokens || position_of(token) < 0) {\n"
		     "return;\n"
		     "}\n"
		     "let position = u32(position_of(token));\n"
		     "let is_v = head >= kv_heads;\n"
		     "let source = token * (query + 2u * kv_heads) + query + head;\n"
		     "var values: array<vec4<f32>, %u>;\n"
		     "var most = vec4<u32>(0u);\n"
		     "for (var i = 0u; i < %uu; i++) {\n"
		     "let four = block * %uu + i;\n"
		     "if (is_v) {\n"
		     "values[i] = x_at(source, four);\n"
		     "} else {\n"
		     "values[i] = rotated_at(source, four, position);\n"
		     "}\n"
		     "most = max(most, size_of(values[i]));\n"
		     "}\n"
		     "let both = scale_of(most);\n"
		     "var codes: array<u32, %u>;\n"
		     "for (var i = 0u; i < %uu; i++) {\n"
		     "codes[i] = pack(vec4<i32>(round(values[i] * both.y)));\n"
		     "}\n",
		     blocks, blocks, blocks, FOURS_OF_BLOCK, FOURS_OF_BLOCK, FOURS_OF_BLOCK, FOURS_OF_BLOCK,
		     FOURS_OF_BLOCK);
	tcb_wgsl_add(t,
		     "let is_finite = both.y != 0.0 || bitcast<u32>(both.x) == 0u;\n"
		     "let scale = select(0x7e00u, to_halves(vec4<f32>(both.x)).x & 0xffffu, is_finite);\n"
		     "let cache = cache_token(token / news, position) * kv_heads;\n"
		     "if (is_v) {\n"
		     "put_v(((cache + head - kv_heads) * %uu + block) * %zuu, scale, &codes);\n"
		     "} else {\n"
		     "put_k(((cache + head) * %uu + block) * %zuu, scale, &codes);\n"
		     "}\n",
		     blocks, format->block_bytes, blocks, format->block_bytes);
	tcb_wgsl_end(t);
}

/* --- a module --- */

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct rope_wgsl g;
	struct writer w = { .g = &g };
	struct tcb_wgsl *t = &w.w;
	(void)target;

	rope_wgsl_plan(problem, geometry, &g);
	const int is_blocks = g.kv == TCB_TYPE_BLOCKS;
	const char *q = vectors(&g, g.q);
	TCB_TRY(tcb_wgsl_open(t, problem, geometry, out, err));
	w.qkv = tcb_wgsl_input(t, "qkv", vectors(&g, g.io), ROPE_QKV);
	w.rotation = tcb_wgsl_input(t, "rotation", "array<vec4<f32>>", ROPE_ROTATION);
	w.lengths = tcb_wgsl_input(t, "lengths", "array<u32>", ROPE_LENGTHS);
	w.q = tcb_wgsl_output(t, "q", q, ROPE_Q);
	w.k = tcb_wgsl_output(t, "k", is_blocks ? "array<atomic<u32>>" : q, ROPE_K);
	w.v = tcb_wgsl_output(t, "v", is_blocks ? "array<atomic<u32>>" : q, ROPE_V);
	if (g.has_pages)
		w.pages = tcb_wgsl_input(t, "pages", "array<u32>", ROPE_MORE + ROPE_TABLE);
	tcb_wgsl_number(t, "tokens", g.tokens);
	tcb_wgsl_number(t, "news", g.m); /* new tokens of a sequence */
	tcb_wgsl_number(t, "query", g.query);
	tcb_wgsl_number(t, "kv_heads", g.kv_heads);
	tcb_wgsl_number(t, "room", g.has_pages ? tcb_kv_pages(&problem->shape) : problem->shape.n);
	if (g.has_pages)
		tcb_wgsl_number(t, "page", problem->shape.words.page);
	tcb_wgsl_number(t, "across", g.heads.grid[0]);
	if (is_blocks)
		tcb_wgsl_number(t, "blocks_across", g.blocks.grid[0]);
	if (g.io != TCB_TYPE_F32)
		tcb_wgsl_add_from_halves(t, "from_halves", g.io, 4);
	tcb_wgsl_add_to_halves(t, "to_halves", is_blocks ? TCB_TYPE_F16 : g.kv, 4);
	write_places(&w);
	if (is_blocks)
		write_block_functions(&w);
	write_heads(&w);
	if (is_blocks)
		write_blocks(&w);
	out->class = TCB_CLASS_BOUNDED;
	out->chain = 3; /* two products and their sum */
	return tcb_wgsl_close(t, err);
}

#define SIDE(kv, ...)                                                                                          \
	const struct tcb_side rope_##kv##_wgsl = {                                                             \
		.variants = TCB_EMITTED(TCB_EMITTED_ROW("rope_append_" #kv "_f32_wgsl", F32, WGSL, BOUNDED),   \
					TCB_EMITTED_ROW("rope_append_" #kv "_half_wgsl", F16, WGSL, BOUNDED)), \
		.space = &rope_wgsl_space,                                                                     \
		.emit = emit,                                                                                  \
	};
TCB_KV_ALL_LIST(SIDE, )
