/* SPDX-License-Identifier: MIT
 *
 * attention_prefill in WGSL: a geometry comes in, a module and its launch go out.
 * attention_prefill_wgsl.h says how the geometry drives it.
 */
#include "kernels/attention/attention_prefill_wgsl.h"

#include "base/sizes.h"
#include "kernels/wgsl/wgsl_team.h"

enum { FOUR = ATTENTION_WGSL_FOUR };

struct writer {
	struct attention_wgsl_writer a;
	const struct attention_prefill_wgsl *g;
};

/* --- functions of the module --- */

static void write_functions(struct writer *w)
{
	const struct attention_prefill_wgsl *g = w->g;
	struct tcb_wgsl_tree tree = { .name = "largest_of",
				      .type = attention_wgsl_chunk_type(g->own),
				      .operation = TCB_WGSL_MAX,
				      .tree = g->a.tree,
				      .workgroup = g->a.workgroup };

	tcb_wgsl_add_team_tree(&w->a.w, &tree, g->team);
	tree.name = "sum_of";
	tree.operation = TCB_WGSL_SUM;
	tcb_wgsl_add_team_tree(&w->a.w, &tree, g->team);
	tcb_wgsl_add(&w->a.w,
		     "\n"
		     "// A step's values of q, row by row, and behind them K's; or V of some tokens.\n"
		     "var<workgroup> values: array<vec4<f32>, %u>;\n"
		     "// Of each row, four tokens together.\n"
		     "var<workgroup> weights: array<vec4<f32>, %u>;\n",
		     g->tile_fours, g->weight_fours);
}

/* --- scores --- */

/* COUNT vectors that the workgroup's invocations share, and what becomes of number "i". */
static void open_share(struct writer *w, unsigned count)
{
	tcb_wgsl_add(&w->a.w, "for (var i = local; i < %uu; i += %uu) {\n", count, w->g->a.workgroup);
}

/* The fours of a vector "stored" from TO on. */
static void write_fours(struct writer *w, const char *to)
{
	char four[ATTENTION_WGSL_EXPRESSION_MAX];

	for (unsigned j = 0; j < w->g->a.width / FOUR; j++) {
		attention_wgsl_four(&w->g->a, "stored", j, four);
		tcb_wgsl_add(&w->a.w, "values[%s + %uu] = %s;\n", to, j, four);
	}
}

static void write_step(struct writer *w)
{
	const struct attention_prefill_wgsl *g = w->g;
	const unsigned vectors = g->step * FOUR / g->a.width, width = g->a.width / FOUR;
	struct tcb_wgsl *t = &w->a.w;

	tcb_wgsl_add(t, "workgroupBarrier();\n");
	open_share(w, g->a.rows * g->step);
	tcb_wgsl_add(t,
		     "let row = i / %uu;\n"
		     "let query = min(first_query + row / %uu, queries - 1u);\n"
		     "let head = min(first_head + row %% %uu, sharing - 1u);\n"
		     "values[row * %uu + i %% %uu] = q_at(row_of(sequence, kv_head, query, head), step + i %% %uu);\n"
		     "}\n",
		     g->step, g->a.heads, g->a.heads, g->pitch, g->step, g->step);
	open_share(w, g->tile * vectors);
	/* An invocation's tokens are next to each other, those that are read at a time lie so. */
	tcb_wgsl_add(t,
		     "let token = i / %uu;\n"
		     "let place = %uu + token %% %uu * %uu + token / %uu;\n"
		     "let to = place * %uu + i %% %uu * %uu;\n"
		     "let row = kv_row(sequence, min(here + token, end - 1u), kv_head);\n"
		     "let stored = k_at(row, step / %uu + i %% %uu);\n",
		     vectors, g->a.rows, g->keys, g->team, g->keys, g->pitch, vectors, width, width, vectors);
	write_fours(w, "to");
	tcb_wgsl_add(t, "}\n"
			"workgroupBarrier();\n");
	tcb_wgsl_add(t, "for (var f = 0u; f < %uu; f++) {\n", g->step);
	for (unsigned r = 0; r < g->own; r++)
		tcb_wgsl_add(t, "let q%u = values[(at_row + %uu) * %uu + f];\n", r, r * g->teams, g->pitch);
	for (unsigned c = 0; c < g->keys; c++)
		tcb_wgsl_add(t, "let key%u = values[(%uu + member) * %uu + f];\n", c, g->a.rows + c * g->team,
			     g->pitch);
	for (unsigned r = 0; r < g->own; r++)
		for (unsigned c = 0; c < g->keys; c++)
			tcb_wgsl_add(t, "score%u_%u += dot(q%u, key%u);\n", r, c, r, c);
	tcb_wgsl_add(t, "}\n");
}

static void write_scores(struct writer *w)
{
	const struct attention_prefill_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->a.w;

	for (unsigned r = 0; r < g->own; r++)
		for (unsigned c = 0; c < g->keys; c++)
			tcb_wgsl_add(t, "var score%u_%u = 0.0;\n", r, c);
	tcb_wgsl_add(t, "for (var step = 0u; step < %uu; step += %uu) {\n", g->a.k / FOUR, g->step);
	write_step(w);
	tcb_wgsl_add(t, "}\n");
}

/* --- weights --- */

static void write_weights(struct writer *w)
{
	const struct attention_prefill_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->a.w;

	for (unsigned c = 0; c < g->keys; c++)
		tcb_wgsl_add(t, "let token%u = here + member * %uu + %uu;\n", c, g->keys, c);
	for (unsigned r = 0; r < g->own; r++) {
		tcb_wgsl_add(t, "var most%u = largest%u;\n", r, r);
		for (unsigned c = 0; c < g->keys; c++)
			tcb_wgsl_add(t,
				     "let seen%u_%u = token%u >= from%u && token%u < to%u;\n"
				     "score%u_%u = select(" TCB_WGSL_LOWEST ", capped(score%u_%u), seen%u_%u);\n"
				     "most%u = max(most%u, score%u_%u);\n",
				     r, c, c, r, c, r, r, c, r, c, r, c, r, r, r, c);
	}
	attention_wgsl_together(&w->a, "now", "largest_of", "most", g->own);
	for (unsigned r = 0; r < g->own; r++) {
		tcb_wgsl_add(t,
			     "let shrink%u = exp(largest%u - now%u);\n"
			     "largest%u = now%u;\n"
			     "sum%u *= shrink%u;\n",
			     r, r, r, r, r, r, r);
		for (unsigned c = 0; c < g->columns; c++)
			tcb_wgsl_add(t, "o%u_%u *= shrink%u;\n", r, c, r);
		for (unsigned c = 0; c < g->keys; c++)
			tcb_wgsl_add(t, "let weight%u_%u = select(0.0, exp(score%u_%u - now%u), seen%u_%u);\n", r, c, r,
				     c, r, r, c);
		for (unsigned c = 0; c < g->keys; c += FOUR)
			tcb_wgsl_add(t,
				     "sum%u += (weight%u_%u + weight%u_%u) + (weight%u_%u + weight%u_%u);\n"
				     "weights[(at_row + %uu) * %uu + member * %uu + %uu] = vec4<f32>(weight%u_%u, "
				     "weight%u_%u, weight%u_%u, weight%u_%u);\n",
				     r, r, c, r, c + 1, r, c + 2, r, c + 3, r * g->teams, g->p_pitch, g->keys / FOUR,
				     c / FOUR, r, c, r, c + 1, r, c + 2, r, c + 3);
	}
}

/* --- values --- */

static void write_values(struct writer *w)
{
	const struct attention_prefill_wgsl *g = w->g;
	const unsigned vectors = g->a.k / g->a.width, fours = g->a.k / FOUR;
	struct tcb_wgsl *t = &w->a.w;

	tcb_wgsl_add(t, "for (var part = 0u; part < %uu; part += %uu) {\n", g->tile, g->v_tokens);
	tcb_wgsl_add(t, "workgroupBarrier();\n");
	open_share(w, g->v_tokens * vectors);
	tcb_wgsl_add(t,
		     "let token = min(here + part + i / %uu, end - 1u);\n"
		     "let stored = v_at(kv_row(sequence, token, kv_head), i %% %uu);\n"
		     "let to = i * %uu;\n",
		     vectors, vectors, g->a.width / FOUR);
	write_fours(w, "to");
	tcb_wgsl_add(t, "}\n"
			"workgroupBarrier();\n");
	tcb_wgsl_add(t, "for (var f = 0u; f < %uu; f++) {\n", g->v_tokens / FOUR);
	for (unsigned r = 0; r < g->own; r++)
		tcb_wgsl_add(t, "let p%u = weights[(at_row + %uu) * %uu + part / 4u + f];\n", r, r * g->teams,
			     g->p_pitch);
	for (unsigned j = 0; j < FOUR; j++)
		for (unsigned c = 0; c < g->columns; c++) {
			tcb_wgsl_add(t, "let value%u_%u = values[(f * 4u + %uu) * %uu + member + %uu];\n", j, c, j,
				     fours, c * g->team);
			for (unsigned r = 0; r < g->own; r++)
				tcb_wgsl_add(t, "o%u_%u = fma(vec4<f32>(p%u.%c), value%u_%u, o%u_%u);\n", r, c, r,
					     "xyzw"[j], j, c, r, c);
		}
	tcb_wgsl_add(t, "}\n}\n");
}

/* --- the entry --- */

static void write_rows(struct writer *w)
{
	const struct attention_prefill_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->a.w;

	for (unsigned r = 0; r < g->own; r++) {
		tcb_wgsl_add(t,
			     "let query%u = min(first_query + (at_row + %uu) / %uu, queries - 1u);\n"
			     "let from%u = begin_of(length, query%u);\n"
			     "let to%u = end_of(length, query%u);\n"
			     "var largest%u = " TCB_WGSL_LOWEST ";\n"
			     "var sum%u = 0.0;\n",
			     r, r * g->teams, g->a.heads, r, r, r, r, r, r);
		for (unsigned c = 0; c < g->columns; c++)
			tcb_wgsl_add(t, "var o%u_%u = vec4<f32>(0.0);\n", r, c);
	}
}

static void write_results(struct writer *w)
{
	const struct attention_prefill_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->a.w;

	attention_wgsl_together(&w->a, "total", "sum_of", "sum", g->own);
	for (unsigned r = 0; r < g->own; r++) {
		tcb_wgsl_add(t,
			     "let head%u = first_head + (at_row + %uu) %% %uu;\n"
			     "if (first_query + (at_row + %uu) / %uu < queries && head%u < sharing) {\n"
			     "let scale = select(1.0 / total%u, 0.0, total%u == 0.0);\n"
			     "let row = row_of(sequence, kv_head, query%u, head%u);\n",
			     r, r * g->teams, g->a.heads, r * g->teams, g->a.heads, r, r, r, r, r);
		for (unsigned c = 0; c < g->columns; c++)
			tcb_wgsl_add(t, "put(row, member + %uu, o%u_%u * scale);\n", c * g->team, r, c);
		tcb_wgsl_add(t, "}\n");
	}
}

static void write_attend(struct writer *w)
{
	const struct attention_prefill_wgsl *g = w->g;
	struct tcb_wgsl_entry entry = { .workgroup = g->a.workgroup,
					.grid = { g->a.token_tiles, g->a.kv_heads * g->a.head_tiles, g->a.sequences },
					.subgroups = g->a.tree == TCB_TREE_SUBGROUP };
	struct tcb_wgsl *t = &w->a.w;

	attention_wgsl_uses(&w->a, w->a.out, 0, entry.uses);
	tcb_wgsl_begin(t, "attend", &entry);
	attention_wgsl_tile(&w->a, "group.z", "group.x");
	tcb_wgsl_add(t,
		     "let member = local %% %uu; // of the team that has some rows\n"
		     "let at_row = local / %uu;\n",
		     g->team, g->team);
	write_rows(w);
	tcb_wgsl_add(t, "for (var here = begin; here < end; here += %uu) {\n", g->tile);
	write_scores(w);
	write_weights(w);
	write_values(w);
	tcb_wgsl_add(t, "}\n");
	write_results(w);
	tcb_wgsl_end(t);
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct attention_prefill_wgsl g;
	struct writer w = { .g = &g, .a.g = &g.a };
	(void)target;

	attention_prefill_wgsl_plan(problem, geometry, &g);
	TCB_TRY(attention_wgsl_open(&w.a, problem, geometry, out, err));
	attention_wgsl_functions(&w.a);
	write_functions(&w);
	write_attend(&w);
	out->class = TCB_CLASS_BOUNDED;
	out->chain = attention_prefill_wgsl_chain(problem, &g);
	return tcb_wgsl_close(&w.a.w, err);
}

#define SIDE(kv, ...)                                                                                                \
	const struct tcb_side attention_prefill_##kv##_wgsl = {                                                      \
		.variants = TCB_EMITTED(TCB_EMITTED_ROW("attention_prefill_" #kv "_f32_wgsl", F32, WGSL, BOUNDED),   \
					TCB_EMITTED_ROW("attention_prefill_" #kv "_half_wgsl", F16, WGSL, BOUNDED)), \
		.space = &attention_prefill_wgsl_space,                                                              \
		.emit = emit,                                                                                        \
	};
TCB_KV_ALL_LIST(SIDE, )
