/* SPDX-License-Identifier: MIT
 *
 * attention_decode in WGSL: a geometry comes in, a module and its launches go out.
 * attention_decode_wgsl.h says how the geometry drives them.
 */
#include "kernels/attention/attention_decode_wgsl.h"

#include <stdio.h>

#include "base/sizes.h"
#include "kernels/wgsl/wgsl_team.h"

enum { FOUR = ATTENTION_WGSL_FOUR };

struct writer {
	struct attention_wgsl_writer a;
	const struct attention_decode_wgsl *g;
	int parts, statistics; /* bindings of the workspace; 0: none */
};

/* --- functions of the module --- */

static void write_functions(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	struct tcb_wgsl_tree tree = { .tree = g->a.tree, .workgroup = g->a.workgroup };

	if (g->team > 1 && !g->exchanges) {
		tree.name = "sum_of_team";
		tree.type = attention_wgsl_chunk_type(g->a.rows * g->together);
		tree.operation = TCB_WGSL_SUM;
		tcb_wgsl_add_team_tree(&w->a.w, &tree, g->team);
	}
	tree.name = "largest_of";
	tree.type = attention_wgsl_chunk_type(g->a.rows);
	tree.operation = TCB_WGSL_MAX;
	tcb_wgsl_add_tree(&w->a.w, &tree);
	tree.name = "sum_of";
	tree.operation = TCB_WGSL_SUM;
	tcb_wgsl_add_tree(&w->a.w, &tree);
	tcb_wgsl_add(
		&w->a.w,
		"\n"
		"// Of every team the sums of %u query row%s; of every row the largest score and the sum of weights.\n"
		"var<workgroup> of_teams: array<vec4<f32>, %u>;\n"
		"var<workgroup> of_rows: array<vec2<f32>, %u>;\n",
		g->merged, g->merged == 1 ? "" : "s", g->merged * g->teams * g->a.k / FOUR, g->a.rows);
}

/* --- pieces --- */

/* Four values number F of an invocation's: which of the head's. */
static unsigned per_vector(const struct attention_decode_wgsl *g)
{
	return g->a.width / FOUR;
}

static void write_four_at(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;

	for (unsigned f = 0; f < g->fours; f++)
		tcb_wgsl_add(&w->a.w, "let four%u = (member + %uu) * %uu + %uu;\n", f, f / per_vector(g) * g->team,
			     per_vector(g), f % per_vector(g));
}

/* Vectors of NAME, k or v, of the tokens whose rows are in ROW0, ...; LET: "let " or "" where they were before. */
static void write_loads(struct writer *w, const char *let, const char *name, const char *row)
{
	const struct attention_decode_wgsl *g = w->g;

	for (unsigned j = 0; j < g->together; j++)
		for (unsigned v = 0; v < g->vectors; v++)
			tcb_wgsl_add(&w->a.w, "%s%s%u_%u = %s_at(%s%u, member + %uu);\n", let, name, j, v, name, row, j,
				     v * g->team);
}

/* Where tokens of PIECE are: TOKEN0, ..., and ROW0, ...  */
static void write_rows(struct writer *w, const char *token, const char *row, const char *piece)
{
	const struct attention_decode_wgsl *g = w->g;

	for (unsigned j = 0; j < g->together; j++)
		tcb_wgsl_add(&w->a.w,
			     "let %s%u = begin + %s * %uu + %uu + team;\n"
			     "let %s%u = kv_row(sequence, min(%s%u, end - 1u), kv_head);\n",
			     token, j, piece, g->piece, j * g->teams, row, j, token, j);
}

/*
 * Lanes give each other halves of what they have until each has the sums of the scores own0, own1, ...: score
 * own of (member / alike) * own + C, which is token score / rows and row score % rows.
 */
static void write_exchange(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->a.w;
	unsigned count = g->together * g->a.rows, mask = g->team / 2, step = 0;

	for (; mask > 0 && count > 1; mask /= 2, count /= 2, step++) {
		char from[24] = "product";

		if (step)
			snprintf(from, sizeof from, "half%u_", step);
		tcb_wgsl_add(t, "let upper%u = (member & %uu) != 0u;\n", step, mask);
		for (unsigned i = 0; i < count / 2; i++) {
			char low[sizeof from + 10], high[sizeof from + 10];

			snprintf(low, sizeof low, "%s%u", from, i);
			snprintf(high, sizeof high, "%s%u", from, i + count / 2);
			tcb_wgsl_add(t,
				     "let half%u_%u = select(%s, %s, upper%u) + "
				     "subgroupShuffleXor(select(%s, %s, upper%u), %uu);\n",
				     step + 1, i, low, high, step, high, low, step, mask);
		}
	}
	for (unsigned c = 0; c < g->own; c++)
		if (step)
			tcb_wgsl_add(t, "var score%u = half%u_%u;\n", c, step, c);
		else
			tcb_wgsl_add(t, "var score%u = product%u;\n", c, c);
	for (; mask > 0; mask /= 2)
		tcb_wgsl_add(t, "score0 += subgroupShuffleXor(score0, %uu);\n", mask);
}

static void write_scores(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->a.w;
	char name[24], values[ATTENTION_WGSL_EXPRESSION_MAX];

	for (unsigned j = 0; j < g->together; j++)
		for (unsigned f = 0; f < g->fours; f++) {
			snprintf(name, sizeof name, "k%u_%u", j, f / per_vector(g));
			attention_wgsl_four(&g->a, name, f % per_vector(g), values);
			tcb_wgsl_add(t, "let key%u_%u = %s;\n", j, f, values);
		}
	for (unsigned j = 0; j < g->together; j++)
		for (unsigned r = 0; r < g->a.rows; r++) {
			const unsigned i = j * g->a.rows + r;

			tcb_wgsl_add(t, "var product%u = dot(q%u_0, key%u_0);\n", i, r, j);
			for (unsigned f = 1; f < g->fours; f++)
				tcb_wgsl_add(t, "product%u += dot(q%u_%u, key%u_%u);\n", i, r, f, j, f);
		}
	if (g->exchanges)
		write_exchange(w);
	else if (g->team > 1)
		attention_wgsl_together(&w->a, "score", "sum_of_team", "product", g->together * g->a.rows);
	else
		for (unsigned i = 0; i < g->together * g->a.rows; i++)
			tcb_wgsl_add(t, "let score%u = product%u;\n", i, i);
}

/* The lane that has score I after the exchange, the first of those alike. */
static unsigned lane_of(const struct attention_decode_wgsl *g, unsigned i)
{
	return i / g->own * g->alike;
}

/* VALUE number FROM of LANE of each team, told to the others as NAME number I; IS_KNOWN: all have the same. */
static void write_told(struct writer *w, const char *name, unsigned i, const char *value, unsigned from, unsigned lane,
		       int is_known)
{
	if (is_known)
		tcb_wgsl_add(&w->a.w, "let %s%u = %s%u;\n", name, i, value, from);
	else
		tcb_wgsl_add(&w->a.w, "let %s%u = subgroupShuffle(%s%u, team_lane + %uu);\n", name, i, value, from,
			     lane);
}

/* As write_weights(), where each lane has own scores of its own. */
static void write_exchanged_weights(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	struct tcb_str grown = { 0 };
	struct tcb_wgsl *t = &w->a.w;

	for (unsigned c = 0; c < g->own; c++)
		tcb_wgsl_add(t,
			     "let token_of%u = begin + piece * %uu + (first_score + %uu) / %uu * %uu + team;\n"
			     "let seen%u = token_of%u >= own_from%u && token_of%u < own_to%u;\n"
			     "let logit%u = select(" TCB_WGSL_LOWEST ", capped(score%u), seen%u);\n",
			     c, g->piece, c, g->a.rows, g->teams, c, c, c % g->states, c, c % g->states, c, c, c);
	for (unsigned s = 0; s < g->states; s++) {
		tcb_wgsl_add(t, "var now%u = max(own_largest%u, logit%u);\n", s, s, s);
		for (unsigned c = s + g->states; c < g->own; c += g->states)
			tcb_wgsl_add(t, "now%u = max(now%u, logit%u);\n", s, s, c);
		for (unsigned mask = g->alike * g->a.rows / g->states; mask < g->team; mask *= 2)
			tcb_wgsl_add(t, "now%u = max(now%u, subgroupShuffleXor(now%u, %uu));\n", s, s, s, mask);
		tcb_wgsl_add(t,
			     "let own_shrink%u = exp(own_largest%u - now%u);\n"
			     "own_largest%u = now%u;\n"
			     "own_sum%u *= own_shrink%u;\n",
			     s, s, s, s, s, s, s);
	}
	for (unsigned r = 0; r < g->a.rows; r++) {
		write_told(w, "shrink", r, "own_shrink", r % g->states, lane_of(g, r), g->states == g->a.rows);
		tcb_str_addf(&grown, "%sshrink%u < 1.0", r ? " || " : "", r);
	}
	tcb_wgsl_add(t, "if (%s) {\n", grown.data);
	for (unsigned r = 0; r < g->a.rows; r++)
		for (unsigned f = 0; f < g->fours; f++)
			tcb_wgsl_add(t, "o%u_%u *= shrink%u;\n", r, f, r);
	tcb_wgsl_add(t, "}\n");
	for (unsigned c = 0; c < g->own; c++)
		tcb_wgsl_add(t,
			     "let own_weight%u = select(0.0, exp(logit%u - own_largest%u), seen%u);\n"
			     "own_sum%u += own_weight%u;\n",
			     c, c, c % g->states, c, c % g->states, c);
	for (unsigned i = 0; i < g->together * g->a.rows; i++)
		write_told(w, "weight", i, "own_weight", i % g->own, lane_of(g, i), g->together * g->a.rows == 1);
	tcb_str_fini(&grown);
}

/* Scores become weights against the new maximum; sums so far are brought to it, where it is a new one. */
static void write_weights(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	struct tcb_str grown = { 0 };
	struct tcb_wgsl *t = &w->a.w;

	for (unsigned i = 0; i < g->together * g->a.rows; i++)
		tcb_wgsl_add(t,
			     "let seen%u = token%u >= from%u && token%u < to%u;\n"
			     "let logit%u = select(" TCB_WGSL_LOWEST ", capped(score%u), seen%u);\n",
			     i, i / g->a.rows, i % g->a.rows, i / g->a.rows, i % g->a.rows, i, i, i);
	for (unsigned r = 0; r < g->a.rows; r++) {
		tcb_wgsl_add(t, "var now%u = max(largest%u, logit%u);\n", r, r, r);
		for (unsigned j = 1; j < g->together; j++)
			tcb_wgsl_add(t, "now%u = max(now%u, logit%u);\n", r, r, j * g->a.rows + r);
		tcb_str_addf(&grown, "%snow%u > largest%u", r ? " || " : "", r, r);
	}
	tcb_wgsl_add(t, "if (%s) {\n", grown.data);
	for (unsigned r = 0; r < g->a.rows; r++) {
		tcb_wgsl_add(t,
			     "let shrink%u = exp(largest%u - now%u);\n"
			     "largest%u = now%u;\n"
			     "sum%u *= shrink%u;\n",
			     r, r, r, r, r, r, r);
		for (unsigned f = 0; f < g->fours; f++)
			tcb_wgsl_add(t, "o%u_%u *= shrink%u;\n", r, f, r);
	}
	tcb_wgsl_add(t, "}\n");
	for (unsigned i = 0; i < g->together * g->a.rows; i++)
		tcb_wgsl_add(t,
			     "let weight%u = select(0.0, exp(logit%u - largest%u), seen%u);\n"
			     "sum%u += weight%u;\n",
			     i, i, i % g->a.rows, i, i % g->a.rows, i);
	tcb_str_fini(&grown);
}

static void write_values(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->a.w;
	char name[24], values[ATTENTION_WGSL_EXPRESSION_MAX];

	for (unsigned f = 0; f < g->fours; f++) {
		for (unsigned j = 0; j < g->together; j++) {
			snprintf(name, sizeof name, "v%u_%u", j, f / per_vector(g));
			attention_wgsl_four(&g->a, name, f % per_vector(g), values);
			tcb_wgsl_add(t, "let value%u_%u = %s;\n", j, f, values);
			for (unsigned r = 0; r < g->a.rows; r++)
				tcb_wgsl_add(t, "o%u_%u = fma(vec4<f32>(weight%u), value%u_%u, o%u_%u);\n", r, f,
					     j * g->a.rows + r, j, f, r, f);
		}
	}
}

static void write_pieces(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->a.w;

	if (g->stages == 2) {
		for (unsigned j = 0; j < g->together; j++)
			for (unsigned v = 0; v < g->vectors; v++)
				tcb_wgsl_add(t, "var k%u_%u: Stored;\n", j, v);
		tcb_wgsl_add(t, "if (first < last) {\n");
		write_rows(w, "first_token", "first_row", "first");
		write_loads(w, "", "k", "first_row");
		tcb_wgsl_add(t, "}\n");
	}
	tcb_wgsl_add(t, "for (var piece = first; piece < last; piece++) {\n");
	write_rows(w, "token", "row", "piece");
	if (g->stages == 1)
		write_loads(w, "let ", "k", "row");
	else
		write_loads(w, "let ", "v", "row");
	write_scores(w);
	if (g->stages == 2) {
		tcb_wgsl_add(t, "if (piece + 1u < last) {\n");
		write_rows(w, "next_token", "next_row", "(piece + 1u)");
		write_loads(w, "", "k", "next_row");
		tcb_wgsl_add(t, "}\n");
	} else
		write_loads(w, "let ", "v", "row");
	(g->exchanges ? write_exchanged_weights : write_weights)(w);
	write_values(w);
	tcb_wgsl_add(t, "}\n");
}

/* --- the first entry --- */

static void write_tile(struct writer *w)
{
	const struct attention_wgsl *g = &w->g->a;
	struct tcb_wgsl *t = &w->a.w;

	tcb_wgsl_add(t, "let token_tiles = (queries + %uu) / %uu;\n", g->tokens - 1, g->tokens);
	attention_wgsl_tile(&w->a, "group.z / token_tiles", "group.z % token_tiles");
	tcb_wgsl_add(t, "let pieces = (end - min(begin, end) + %uu) / %uu;\n", w->g->piece - 1, w->g->piece);
	if (w->g->splitk == 1)
		tcb_wgsl_add(t, "let first = 0u;\n"
				"let last = pieces;\n");
	else
		tcb_wgsl_add(t,
			     "let each = (pieces + %uu) / %uu;\n"
			     "let first = group.x * each;\n"
			     "let last = min(first + each, pieces);\n",
			     w->g->splitk - 1, w->g->splitk);
	tcb_wgsl_add(t,
		     "let team = local / %uu;\n"
		     "let member = local %% %uu; // of the team\n",
		     w->g->team, w->g->team);
}

/* q of each row, and what it sees. */
static void write_queries(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->a.w;

	for (unsigned r = 0; r < g->a.rows; r++) {
		tcb_wgsl_add(t,
			     "let query%u = min(first_query + %uu, queries - 1u);\n"
			     "let from%u = begin_of(length, query%u);\n"
			     "let to%u = end_of(length, query%u);\n"
			     "let of%u = row_of(sequence, kv_head, query%u, min(first_head + %uu, sharing - 1u));\n",
			     r, r / g->a.heads, r, r, r, r, r, r, r % g->a.heads);
		for (unsigned f = 0; f < g->fours; f++)
			tcb_wgsl_add(t,
				     "let q%u_%u = q_at(of%u, four%u);\n"
				     "var o%u_%u = vec4<f32>(0.0);\n",
				     r, f, r, f, r, f);
		if (!g->exchanges)
			tcb_wgsl_add(t,
				     "var largest%u = " TCB_WGSL_LOWEST ";\n"
				     "var sum%u = 0.0;\n",
				     r, r);
	}
	if (!g->exchanges)
		return;
	tcb_wgsl_add(t,
		     "let team_lane = lane - member;\n"
		     "let first_score = member / %uu * %uu;\n",
		     g->alike, g->own);
	for (unsigned s = 0; s < g->states; s++)
		tcb_wgsl_add(t,
			     "let own_query%u = min(first_query + (first_score + %uu) %% %uu / %uu, queries - 1u);\n"
			     "let own_from%u = begin_of(length, own_query%u);\n"
			     "let own_to%u = end_of(length, own_query%u);\n"
			     "var own_largest%u = " TCB_WGSL_LOWEST ";\n"
			     "var own_sum%u = 0.0;\n",
			     s, s, g->a.rows, g->a.heads, s, s, s, s, s, s);
}

/* What each lane has of its rows, to each row's in all lanes: the largest score; the sum in one lane alone. */
static void write_gathered(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->a.w;

	tcb_wgsl_add(t, "let is_first = member %% %uu == 0u;\n", g->alike);
	for (unsigned r = 0; r < g->a.rows; r++) {
		write_told(w, "largest", r, "own_largest", r % g->states, lane_of(g, r), g->states == g->a.rows);
		tcb_wgsl_add(t, "let sum%u = select(0.0, own_sum%u, is_first && first_score %% %uu == %uu);\n", r,
			     r % g->states, g->a.rows, r - r % g->states);
	}
}

/* Rows FIRST and on, g->merged of them, of all teams, to where they go. */
static void write_rows_of(struct writer *w, unsigned first)
{
	const struct attention_decode_wgsl *g = w->g;
	const unsigned fours = g->a.k / FOUR;
	struct tcb_wgsl *t = &w->a.w;

	tcb_wgsl_add(t, "workgroupBarrier();\n");
	for (unsigned r = 0; r < g->merged; r++)
		for (unsigned f = 0; f < g->fours; f++)
			tcb_wgsl_add(t, "of_teams[team * %uu + four%u + %uu] = o%u_%u * shrink%u;\n", fours, f,
				     r * g->teams * fours, first + r, f, first + r);
	tcb_wgsl_add(t,
		     "workgroupBarrier();\n"
		     "for (var i = local; i < %uu; i += %uu) {\n"
		     "let row = i / %uu;\n"
		     "let four = i %% %uu;\n"
		     "var all = of_teams[row * %uu + four];\n"
		     "for (var j = 1u; j < %uu; j++) {\n"
		     "all += of_teams[row * %uu + j * %uu + four];\n"
		     "}\n"
		     "let query = first_query + (row + %uu) / %uu;\n"
		     "let head = first_head + (row + %uu) %% %uu;\n"
		     "if (query < queries && head < sharing) {\n"
		     "let at = row_of(sequence, kv_head, query, head);\n",
		     g->merged * fours, g->a.workgroup, fours, fours, g->teams * fours, g->teams, g->teams * fours,
		     fours, first, g->a.heads, first, g->a.heads);
	if (g->splitk == 1)
		tcb_wgsl_add(t,
			     "let total = of_rows[row + %uu].y;\n"
			     "put(at, four, all * select(1.0 / total, 0.0, total == 0.0));\n",
			     first);
	else
		tcb_wgsl_add(t,
			     "parts[(at * %uu + group.x) * %uu + four] = all;\n"
			     "if (four == 0u) {\n"
			     "statistics[at * %uu + group.x] = of_rows[row + %uu];\n"
			     "}\n",
			     g->splitk, fours, g->splitk, first);
	tcb_wgsl_add(t, "}\n"
			"}\n");
}

static void write_results(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->a.w;

	if (g->exchanges)
		write_gathered(w);
	attention_wgsl_together(&w->a, "top", "largest_of", "largest", g->a.rows);
	for (unsigned r = 0; r < g->a.rows; r++) {
		tcb_wgsl_add(t, "let shrink%u = exp(largest%u - top%u);\n", r, r, r);
		if (g->exchanges)
			tcb_wgsl_add(t, "let own%u = sum%u * shrink%u;\n", r, r, r);
		else
			tcb_wgsl_add(t, "let own%u = select(0.0, sum%u * shrink%u, member == 0u);\n", r, r, r);
	}
	attention_wgsl_together(&w->a, "total", "sum_of", "own", g->a.rows);
	tcb_wgsl_add(t, "if (local == 0u) {\n");
	for (unsigned r = 0; r < g->a.rows; r++)
		tcb_wgsl_add(t, "of_rows[%u] = vec2<f32>(top%u, total%u);\n", r, r, r);
	tcb_wgsl_add(t, "}\n");
	for (unsigned r = 0; r < g->a.rows; r += g->merged)
		write_rows_of(w, r);
}

static void write_attend(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	struct tcb_wgsl_entry entry = { .workgroup = g->a.workgroup,
					.grid = { g->grid[0], g->grid[1], g->grid[2] },
					.subgroups = g->a.tree == TCB_TREE_SUBGROUP };

	attention_wgsl_uses(&w->a, g->splitk == 1 ? w->a.out : w->parts, w->statistics, entry.uses);
	tcb_wgsl_begin(&w->a.w, "attend", &entry);
	write_tile(w);
	write_four_at(w);
	write_queries(w);
	write_pieces(w);
	write_results(w);
	tcb_wgsl_end(&w->a.w);
}

/* --- the second --- */

static void write_join(struct writer *w)
{
	const struct attention_decode_wgsl *g = w->g;
	const unsigned fours = g->a.k / FOUR, workgroup = ATTENTION_DECODE_WGSL_JOIN_WORKGROUP;
	struct tcb_wgsl *t = &w->a.w;

	tcb_wgsl_add(
		t,
		"\n"
		"// Of each part of a row: the largest score and the sum, then what its values are multiplied by.\n"
		"var<workgroup> of_parts: array<vec2<f32>, %u>;\n"
		"var<workgroup> weights: array<f32, %u>;\n"
		"var<workgroup> shares: array<vec4<f32>, %u>;\n",
		g->splitk, g->splitk, workgroup);
	tcb_wgsl_begin(t, "join",
		       &(struct tcb_wgsl_entry){ .workgroup = workgroup,
						 .grid = { g->join_rows },
						 .uses = { w->a.out, w->parts, w->statistics } });
	/* All that it reads is asked for before anything is waited for. */
	tcb_wgsl_add(t,
		     "let row = group.x;\n"
		     "let four = local %% %uu;\n"
		     "let share = min(local / %uu, %uu);\n",
		     fours, fours, g->join_shares - 1);
	for (unsigned i = 0; i < g->splitk / g->join_shares; i++)
		tcb_wgsl_add(t, "let part%u = parts[(row * %uu + share + %uu) * %uu + four];\n", i, g->splitk,
			     i * g->join_shares, fours);
	tcb_wgsl_add(t,
		     "if (local < %uu) {\n"
		     "of_parts[local] = statistics[row * %uu + local];\n"
		     "}\n"
		     "workgroupBarrier();\n"
		     "var top = " TCB_WGSL_LOWEST ";\n"
		     "for (var i = 0u; i < %uu; i++) {\n"
		     "top = max(top, of_parts[i].x);\n"
		     "}\n"
		     "if (local < %uu) {\n"
		     "weights[local] = exp(of_parts[local].x - top);\n"
		     "}\n"
		     "workgroupBarrier();\n"
		     "var total = 0.0;\n"
		     "for (var i = 0u; i < %uu; i++) {\n"
		     "total += of_parts[i].y * weights[i];\n"
		     "}\n"
		     "var all = part0 * weights[share];\n",
		     g->splitk, g->splitk, g->splitk, g->splitk, g->splitk);
	for (unsigned i = 1; i < g->splitk / g->join_shares; i++)
		tcb_wgsl_add(t, "all += part%u * weights[share + %uu];\n", i, i * g->join_shares);
	tcb_wgsl_add(t,
		     "shares[local] = all;\n"
		     "workgroupBarrier();\n"
		     "if (local < %uu) {\n"
		     "for (var i = 1u; i < %uu; i++) {\n"
		     "all += shares[i * %uu + four];\n"
		     "}\n"
		     "put(row, four, all * select(1.0 / total, 0.0, total == 0.0));\n"
		     "}\n",
		     fours, g->join_shares, fours);
	tcb_wgsl_end(t);
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct attention_decode_wgsl g;
	struct writer w = { .g = &g, .a.g = &g.a };
	struct tcb_wgsl *t = &w.a.w;
	(void)target;

	attention_decode_wgsl_plan(problem, geometry, &g);
	TCB_TRY(attention_wgsl_open(&w.a, problem, geometry, out, err));
	if (g.splitk > 1) {
		const size_t rows = (size_t)g.a.sequences * g.a.queries * g.a.kv_heads * g.a.sharing;

		w.parts = tcb_wgsl_workspace(t, "parts", "array<vec4<f32>>", rows * g.splitk * g.a.k * sizeof(float));
		w.statistics =
			tcb_wgsl_workspace(t, "statistics", "array<vec2<f32>>", rows * g.splitk * 2 * sizeof(float));
	}
	attention_wgsl_functions(&w.a);
	write_functions(&w);
	write_attend(&w);
	if (g.splitk > 1)
		write_join(&w);
	out->class = TCB_CLASS_BOUNDED;
	out->chain = attention_decode_wgsl_chain(&g);
	return tcb_wgsl_close(t, err);
}

#define SIDE(kv, ...)                                                                                               \
	const struct tcb_side attention_decode_##kv##_wgsl = {                                                      \
		.variants = TCB_EMITTED(TCB_EMITTED_ROW("attention_decode_" #kv "_f32_wgsl", F32, WGSL, BOUNDED),   \
					TCB_EMITTED_ROW("attention_decode_" #kv "_half_wgsl", F16, WGSL, BOUNDED)), \
		.space = &attention_decode_wgsl_space,                                                              \
		.emit = emit,                                                                                       \
	};
TCB_KV_ALL_LIST(SIDE, )
