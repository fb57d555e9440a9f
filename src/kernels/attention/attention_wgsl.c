/* SPDX-License-Identifier: MIT
 *
 * The functions of WGSL that both attention ops have, and the rules about them.
 */
#include "kernels/attention/attention_wgsl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/wgsl/wgsl_quant.h"

enum { FOUR = ATTENTION_WGSL_FOUR, WORD = 4, HALF = 2, ROWS_MOST = 64 };

/* --- plan --- */

static unsigned value_bytes(enum tcb_kv kv)
{
	return tcb_kv_has_blocks(kv) ? 1 : HALF;
}

void attention_wgsl_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			 struct attention_wgsl *out)
{
	const struct tcb_shape *s = &problem->shape;
	struct attention_wgsl *g = out;

	memset(g, 0, sizeof *g);
	g->kv = attention_of(problem)->kv;
	g->io = attention_io_type(problem);
	g->has_pages = s->words.page != 0;
	g->k = (unsigned)s->k;
	g->width = (unsigned)tcb_most(KNOB(VEC) / value_bytes(g->kv), FOUR);
	g->tokens = (unsigned)tcb_most(geometry->tile[TCB_MIDI].m, 1);
	g->heads = KNOB_COUNT(HEADS);
	g->rows = g->tokens * g->heads;
	g->workgroup = KNOB_COUNT(WORKGROUP);
	g->tree = (enum tcb_tree)KNOB(TREE);
	g->queries = (unsigned)s->m;
	g->sequences = s->words.sequences;
	g->kv_heads = s->words.kv;
	g->sharing = (unsigned)attention_group(s);
	g->token_tiles = (unsigned)tcb_div_up(g->queries, g->tokens);
	g->head_tiles = (unsigned)tcb_div_up(g->sharing, g->heads);
}

/*
 * A weight is off by its exponential's error, and by those of the rescales between its own maximum and the last one,
 * whose depths add up to its own; weights count in the sum of p v and in that of p.
 */
double attention_wgsl_chain(double steps, double added)
{
	const double exps = TCB_WGSL_EXP_ULPS * (1 + steps) + TCB_WGSL_EXP_DEPTH * TCB_WGSL_DEPTH_MOST;

	return 2 * exps + steps + added + TCB_WGSL_DIVISION + 1;
}

/* --- values --- */

static void write_q(struct attention_wgsl_writer *w)
{
	const int is_f32 = w->g->io == TCB_TYPE_F32;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_add(t,
		     "\n"
		     "// A row of q and out.\n"
		     "fn row_of(sequence: u32, kv_head: u32, token: u32, head: u32) -> u32 {\n"
		     "return ((sequence * queries + token) * kv_heads + kv_head) * sharing + head;\n"
		     "}\n"
		     "\n"
		     "// Four values of q, times 1 / sqrt(%u).\n"
		     "fn q_at(row: u32, four: u32) -> vec4<f32> {\n"
		     "return %sq[row * %uu + four]%s * %.9g;\n"
		     "}\n"
		     "\n"
		     "fn put(row: u32, four: u32, values: vec4<f32>) {\n"
		     "out[row * %uu + four] = %svalues%s;\n"
		     "}\n",
		     w->g->k, is_f32 ? "" : "from_halves(", w->g->k / FOUR, is_f32 ? "" : ")", 1 / sqrt(w->g->k),
		     w->g->k / FOUR, is_f32 ? "" : "to_halves(", is_f32 ? "" : ")");
}

/* Blocks begin at any two bytes. */
static void write_blocks(struct attention_wgsl_writer *w, const char *name)
{
	const struct tcb_format *f = tcb_kv_format(w->g->kv);
	const unsigned words = w->g->width / WORD, in_block = (unsigned)f->block_values / w->g->width;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_add(t,
		     "\n"
		     "fn %s_at(row: u32, vector: u32) -> Stored {\n"
		     "let block = (row * %uu + vector / %uu) * %zuu;\n"
		     "let at = block + %zuu + vector %% %uu * %uu;\n"
		     "let word = at / 4u;\n"
		     "var stored: Stored;\n"
		     "%s low = %s[word];\n",
		     name, w->g->k / (unsigned)f->block_values, in_block, f->block_bytes, f->codes_at, in_block,
		     w->g->width, words > 1 ? "var" : "let", name);
	for (unsigned i = 0; i < words; i++) {
		if (i + 1 < words)
			tcb_wgsl_add(t, "let high%u = %s[word + %uu];\n", i, name, i + 1);
		else /* none is read behind the codes' own */
			tcb_wgsl_add(t, "let high%u = %s[(at + %uu) / 4u];\n", i, name, w->g->width - 1);
		tcb_wgsl_add(t, "stored.codes%u = select((low >> 16u) | (high%u << 16u), low, at %% 4u == 0u);\n", i,
			     i);
		if (i + 1 < words)
			tcb_wgsl_add(t, "low = high%u;\n", i);
	}
	tcb_wgsl_add(t,
		     "let scale_at = block + %zuu;\n"
		     "stored.scale = unpack2x16float(%s[scale_at / 4u] >> (scale_at %% 4u * 8u)).x;\n"
		     "return stored;\n"
		     "}\n",
		     f->d_at, name);
}

static void write_kv(struct attention_wgsl_writer *w)
{
	static const char *const names[] = { "k", "v" };
	const struct attention_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_add(t,
		     "\n"
		     "// A row of K and V: a token's of a KV head.\n"
		     "fn kv_row(sequence: u32, token: u32, kv_head: u32) -> u32 {\n"
		     "return (%s) * kv_heads + kv_head;\n"
		     "}\n",
		     g->has_pages ? "pages[sequence * room + token / page] * page + token % page"
				  : "sequence * room + token");
	tcb_wgsl_add(t, "\n// A vector of K or V, as loaded.\n");
	if (!tcb_kv_has_blocks(g->kv)) {
		tcb_wgsl_add(t, "alias Stored = vec%u<u32>;\n", g->width / HALF);
		for (int i = 0; i < 2; i++)
			tcb_wgsl_add(t,
				     "\n"
				     "fn %s_at(row: u32, vector: u32) -> Stored {\n"
				     "return %s[row * %uu + vector];\n"
				     "}\n",
				     names[i], names[i], g->k / g->width);
		return;
	}
	tcb_wgsl_add(t, "struct Stored {\n");
	for (unsigned i = 0; i < g->width / WORD; i++)
		tcb_wgsl_add(t, "codes%u: u32,\n", i);
	tcb_wgsl_add(t, "scale: f32,\n}\n");
	for (int i = 0; i < 2; i++)
		write_blocks(w, names[i]);
}

void attention_wgsl_four(const struct attention_wgsl *g, const char *name, unsigned i,
			 char out[ATTENTION_WGSL_EXPRESSION_MAX])
{
	if (tcb_kv_has_blocks(g->kv))
		snprintf(out, ATTENTION_WGSL_EXPRESSION_MAX, "floats_of(%s.codes%u) * %s.scale", name, i, name);
	else if (g->width == FOUR)
		snprintf(out, ATTENTION_WGSL_EXPRESSION_MAX, "from_halves(%s)", name);
	else
		snprintf(out, ATTENTION_WGSL_EXPRESSION_MAX, "from_halves(%s.%s)", name, i ? "zw" : "xy");
}

/* --- values that are brought together several at a time --- */

unsigned attention_wgsl_chunk(unsigned count)
{
	return count % FOUR == 0 ? FOUR : count % 2 == 0 ? 2 : 1;
}

const char *attention_wgsl_chunk_type(unsigned count)
{
	static const char *const types[] = { "", "f32", "vec2<f32>", "", "vec4<f32>" };

	return types[attention_wgsl_chunk(count)];
}

void attention_wgsl_together(struct attention_wgsl_writer *w, const char *to, const char *function, const char *name,
			     unsigned count)
{
	const unsigned chunk = attention_wgsl_chunk(count);
	struct tcb_wgsl *t = &w->w;

	for (unsigned i = 0; i < count; i += chunk) {
		struct tcb_str values = { 0 };

		for (unsigned j = 0; j < chunk; j++)
			tcb_str_addf(&values, "%s%s%u", j ? ", " : "", name, i + j);
		tcb_wgsl_add(t, "let %s_of%u = %s(%s(%s), %s);\n", to, i, function, attention_wgsl_chunk_type(count),
			     values.data ? values.data : "", w->here);
		tcb_str_fini(&values);
		for (unsigned j = 0; j < chunk; j++)
			if (chunk == 1)
				tcb_wgsl_add(t, "let %s%u = %s_of%u;\n", to, i, to, i);
			else
				tcb_wgsl_add(t, "let %s%u = %s_of%u.%c;\n", to, i + j, to, i, "xyzw"[j]);
	}
}

/* --- what is seen --- */

/* As attention_visible() has it.  tanh by exp: the language's is off by more. */
static void write_seen(struct attention_wgsl_writer *w)
{
	tcb_wgsl_add(&w->w,
		     "\n"
		     "// The end of the tokens that query token TOKEN of a sequence of LENGTH sees; where they begin.\n"
		     "fn end_of(length: u32, token: u32) -> u32 {\n"
		     "let end = i32(length) - i32(queries) + i32(token) + 1;\n"
		     "return select(length, u32(max(end, 0)), causal == 1u);\n"
		     "}\n"
		     "\n"
		     "fn begin_of(length: u32, token: u32) -> u32 {\n"
		     "let end = end_of(length, token);\n"
		     "return select(0u, end - min(end, window), window > 0u);\n"
		     "}\n"
		     "\n"
		     "fn capped(score: f32) -> f32 {\n"
		     "if (cap == 0u) {\n"
		     "return score;\n"
		     "}\n"
		     "let twice = clamp(score / f32(cap), -20.0, 20.0) * 2.0;\n"
		     "return f32(cap) * (1.0 - 2.0 / (exp(twice) + 1.0));\n"
		     "}\n");
}

/* --- a module --- */

static const char *kv_type(const struct attention_wgsl *g)
{
	if (tcb_kv_has_blocks(g->kv))
		return "array<u32>";
	return g->width == FOUR ? "array<vec2<u32>>" : "array<vec4<u32>>";
}

enum tcb_status attention_wgsl_open(struct attention_wgsl_writer *w, const struct tcb_problem *problem,
				    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const struct attention_wgsl *g = w->g;
	const struct tcb_words *words = &problem->shape.words;
	const char *io = g->io == TCB_TYPE_F32 ? "array<vec4<f32>>" : "array<vec2<u32>>";
	struct tcb_wgsl *t = &w->w;

	TCB_TRY(tcb_wgsl_open(t, problem, geometry, out, err));
	w->here = tcb_wgsl_here(g->tree);
	w->q = tcb_wgsl_input(t, "q", io, ATTENTION_Q);
	w->k = tcb_wgsl_input(t, "k", kv_type(g), ATTENTION_K);
	w->v = tcb_wgsl_input(t, "v", kv_type(g), ATTENTION_V);
	w->lengths = tcb_wgsl_input(t, "lengths", "array<u32>", ATTENTION_LENGTHS);
	w->out = tcb_wgsl_output(t, "out", io, ATTENTION_OUT);
	if (g->has_pages)
		w->pages = tcb_wgsl_input(t, "pages", "array<u32>", ATTENTION_TABLE);
	tcb_wgsl_number(t, "queries", g->queries);
	tcb_wgsl_number(t, "kv_heads", g->kv_heads);
	tcb_wgsl_number(t, "sharing", g->sharing); /* query heads of a KV head */
	tcb_wgsl_number(t, "room", g->has_pages ? tcb_kv_pages(&problem->shape) : problem->shape.n);
	if (g->has_pages)
		tcb_wgsl_number(t, "page", words->page);
	tcb_wgsl_number(t, "causal", words->causal);
	tcb_wgsl_number(t, "window", words->window);
	tcb_wgsl_number(t, "cap", words->cap);
	return TCB_OK;
}

void attention_wgsl_functions(struct attention_wgsl_writer *w)
{
	const struct attention_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	if (tcb_kv_has_blocks(g->kv))
		tcb_wgsl_add_floats_of(t);
	if (g->io != TCB_TYPE_F32 || !tcb_kv_has_blocks(g->kv))
		tcb_wgsl_add_from_halves(t, "from_halves", tcb_kv_row(g->kv)->io, 4);
	if (g->io != TCB_TYPE_F32)
		tcb_wgsl_add_to_halves(t, "to_halves", g->io, 4);
	write_q(w);
	write_kv(w);
	write_seen(w);
}

void attention_wgsl_uses(const struct attention_wgsl_writer *w, int to, int other, int uses[TCB_WGSL_BINDINGS_MAX + 1])
{
	const int all[] = { w->q, w->k, w->v, w->lengths, w->pages, to, other };

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i])
			*uses++ = all[i];
	*uses = 0;
}

void attention_wgsl_tile(struct attention_wgsl_writer *w, const char *sequence, const char *tile)
{
	const struct attention_wgsl *g = w->g;

	tcb_wgsl_add(&w->w,
		     "let head_tiles = (sharing + %uu) / %uu;\n"
		     "let kv_head = group.y / head_tiles;\n"
		     "let first_head = group.y %% head_tiles * %uu;\n"
		     "let sequence = %s;\n"
		     "let first_query = %s * %uu;\n"
		     "let length = lengths[sequence];\n"
		     "let begin = begin_of(length, first_query);\n"
		     "let end = end_of(length, min(first_query + %uu, queries - 1u));\n",
		     g->heads - 1, g->heads, g->heads, sequence, tile, g->tokens, g->tokens - 1);
}

/* --- rules --- */

unsigned attention_wgsl_vec_least(const struct tcb_problem *problem)
{
	return FOUR * value_bytes(attention_of(problem)->kv);
}

const char *attention_wgsl_rule_vec(const struct tcb_problem *problem, const struct tcb_target *target,
				    const struct tcb_geometry *geometry)
{
	(void)target;
	if (!tcb_is_power_of_two(KNOB(VEC)) || KNOB(VEC) > ATTENTION_WGSL_VEC_MOST)
		return "vec must be 4, 8 or 16";
	return KNOB(VEC) < attention_wgsl_vec_least(problem) ? "vec must be four values at least" : NULL;
}

const char *attention_wgsl_rule_heads(const struct tcb_problem *problem, const struct tcb_target *target,
				      const struct tcb_geometry *geometry)
{
	const unsigned heads = KNOB(HEADS);

	(void)target;
	if (!tcb_is_power_of_two(heads) || heads > tcb_power_of_two_up(attention_group(&problem->shape)))
		return "heads must be a power of two, no more than the query heads of a KV head take";
	if (!tcb_is_power_of_two(geometry->tile[TCB_MIDI].m) || geometry->tile[TCB_MIDI].m * heads > ROWS_MOST)
		return "midi.m, a workgroup's query tokens, must be a power of two, and midi.m * heads at most 64";
	return geometry->tile[TCB_MACRO].m != geometry->tile[TCB_MIDI].m ? "macro.m must be midi.m" : NULL;
}
