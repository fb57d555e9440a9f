/* SPDX-License-Identifier: MIT
 *
 * The quantised MatVecs in WGSL: a geometry comes in, a module and its launches
 * go out.  quant_matvec_wgsl.h says how the geometry drives them.
 */
#include "kernels/quant_matvec/quant_matvec_wgsl.h"

#include <stdio.h>

#include "base/sizes.h"
#include "kernels/quant_matvec/quant_matvec_planes.h"
#include "kernels/wgsl/wgsl_quant.h"

struct writer {
	struct tcb_wgsl w;
	const struct qmv_wgsl *g;
	int weights, x, y, codes, scales; /* bindings; the last two of the workspace, 0: none */
};

/* --- products of a piece --- */

/* In workgroup memory all low sixteens come before all high ones, so that those of lanes follow each other. */
static void write_place_of(struct writer *w)
{
	const unsigned apart = tcb_wgsl_apart(w->g->format);

	tcb_wgsl_add(&w->w,
		     "\n"
		     "// Where a sixteen is kept: the low ones of all pieces, then the high ones.\n"
		     "fn place_of(sixteen: u32) -> u32 {\n"
		     "let of_two = sixteen %% %uu;\n"
		     "return sixteen / %uu * %uu + of_two %% %uu + select(0u, %uu, of_two >= %uu);\n"
		     "}\n",
		     2 * apart, 2 * apart, apart, apart, w->g->pieces, apart);
}

static void write_add_q8(struct writer *w)
{
	const unsigned apart = tcb_wgsl_apart(w->g->format);
	const int in_shared = w->g->x_in_shared;
	const int has_offset = tcb_wgsl_has_offset(w->g->format);

	tcb_wgsl_add(&w->w,
		     "\n"
		     "// The activations that a piece meets.\n"
		     "struct Met {\n"
		     "low: vec4<u32>,\n"
		     "high: vec4<u32>,\n"
		     "scale: vec2<f32>,\n"
		     "%s}\n"
		     "\n"
		     "// Of a token, whose first sixteen is token_at.\n"
		     "fn met_by(piece: u32, token_at: u32) -> Met {\n"
		     "let low = token_at + %s;\n"
		     "let high = low + %uu;\n"
		     "let low_scale = x_scales[low];\n"
		     "let high_scale = x_scales[high];\n"
		     "return Met(x_codes[low], x_codes[high], vec2<f32>(low_scale.x, high_scale.x)%s);\n"
		     "}\n"
		     "\n"
		     "fn product_of(stored: Stored, piece: u32, x: Met) -> f32 {\n"
		     "let w = decode(stored, piece);\n"
		     "let sums = vec2<f32>(vec2<i32>(dot_of(w.low, x.low), dot_of(w.high, x.high)));\n"
		     "let both = w.scale * x.scale * sums;\n",
		     has_offset ? "sum: vec2<f32>,\n" : "", in_shared ? "piece" : "first_of(piece)",
		     in_shared ? w->g->pieces : apart, has_offset ? ", vec2<f32>(low_scale.y, high_scale.y)" : "");
	if (has_offset)
		tcb_wgsl_add(&w->w, "let offsets = w.offset * x.sum;\n"
				    "return (both.x - offsets.x) + (both.y - offsets.y);\n"
				    "}\n");
	else
		tcb_wgsl_add(&w->w, "return both.x + both.y;\n"
				    "}\n");
}

static void write_add_f32(struct writer *w)
{
	static const char *const half[] = { "low", "high" };
	const char *values = w->g->x_in_shared ? "x_values" : "x";

	tcb_wgsl_add(&w->w,
		     "\n"
		     "// A piece times the activations of a token, whose first sixteen is token_at.\n"
		     "fn product_of(stored: Stored, piece: u32, token_at: u32) -> f32 {\n"
		     "let w = decode(stored, piece);\n"
		     "let low = (token_at + first_of(piece)) * 4u;\n"
		     "let high = low + %uu;\n"
		     "var sum = vec4<f32>(0.0);\n",
		     4 * tcb_wgsl_apart(w->g->format));
	for (int h = 0; h < 2; h++)
		for (int i = 0; i < 4; i++) {
			const char at = "xyzw"[i], of = "xy"[h];

			if (tcb_wgsl_has_offset(w->g->format))
				tcb_wgsl_add(&w->w,
					     "sum += %s[%s + %du] * fma(floats_of(w.%s.%c), vec4<f32>(w.scale.%c), "
					     "vec4<f32>(-w.offset.%c));\n",
					     values, half[h], i, half[h], at, of, of);
			else
				tcb_wgsl_add(&w->w, "sum += %s[%s + %du] * (floats_of(w.%s.%c) * w.scale.%c);\n",
					     values, half[h], i, half[h], at, of);
		}
	tcb_wgsl_add(&w->w, "return (sum.x + sum.y) + (sum.z + sum.w);\n"
			    "}\n");
}

/* --- sums of lanes --- */

/* In lane 0 it is that of all. */
static void write_of_lanes(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	if (g->tree == TCB_TREE_SUBGROUP) {
		tcb_wgsl_need(t, TCB_WGPU_SUBGROUPS);
		tcb_wgsl_add(t, "\nfn of_lanes(value: f32, local: u32) -> f32 {\n"
				"var sum = value;\n");
		for (unsigned left = g->lanes / 2; left; left /= 2)
			tcb_wgsl_add(t, "sum += subgroupShuffleXor(sum, %uu);\n", left);
		tcb_wgsl_add(t, "return sum;\n}\n");
		return;
	}
	tcb_wgsl_add(t,
		     "\n"
		     "var<workgroup> parts: array<f32, %u>;\n"
		     "\n"
		     "fn of_lanes(value: f32, local: u32) -> f32 {\n"
		     "workgroupBarrier();\n"
		     "parts[local] = value;\n"
		     "for (var left = %uu; left > 0u; left /= 2u) {\n"
		     "workgroupBarrier();\n"
		     "if (local %% %uu < left) {\n"
		     "parts[local] += parts[local + left];\n"
		     "}\n"
		     "}\n"
		     "return parts[local];\n"
		     "}\n",
		     g->workgroup, g->lanes / 2, g->lanes);
}

/* --- the entry --- */

/* All lanes take part in each turn: what they exchange is in uniform control flow. */
static void write_eights(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;
	const unsigned eights = g->k / TCB_WGSL_EIGHT;
	const unsigned all = (unsigned)tcb_round_up(eights, g->workgroup);

	if (all == eights)
		tcb_wgsl_each(&w->w, all, g->workgroup, "quantize(group.y * %uu + i * 2u, i, true);\n", g->k / 4);
	else
		tcb_wgsl_each(&w->w, all, g->workgroup, "quantize(group.y * %uu + min(i, %uu) * 2u, i, i < %uu);\n",
			      g->k / 4, eights - 1, eights);
}

/* The token's activations to where product_of reads them, and token_at. */
static void write_activations(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_weights_begin(t, g->format, g->workgroup);
	if (g->x_by_lanes)
		write_eights(w);
	else if (g->x_in_shared && g->is_q8 && !g->own_launch)
		tcb_wgsl_each(t, g->k / g->group, g->workgroup, "quantize(group.y * %uu + i * %uu, i * %uu);\n",
			      g->k / 4, g->group / 4, g->group / 16);
	else if (g->x_in_shared && g->is_q8)
		tcb_wgsl_each(t, g->k / TCB_WGSL_SIXTEEN, g->workgroup,
			      "x_codes[place_of(i)] = all_codes[group.y * %uu + i];\n"
			      "x_scales[place_of(i)] = all_scales[group.y * %uu + i];\n",
			      g->k / TCB_WGSL_SIXTEEN, g->k / TCB_WGSL_SIXTEEN);
	else if (g->x_in_shared)
		tcb_wgsl_each(t, g->k / 4, g->workgroup, "x_values[i] = x[group.y * %uu + i];\n", g->k / 4);
	if (g->x_in_shared || tcb_wgsl_weights_bytes(g->format))
		tcb_wgsl_add(t, "workgroupBarrier();\n");
	if (g->x_in_shared)
		tcb_wgsl_add(t, "let token_at = 0u;\n");
	else
		tcb_wgsl_add(t, "let token_at = group.y * %uu;\n", g->k / TCB_WGSL_SIXTEEN);
}

/* Do all lanes have the pieces from AT on, counted in a row, at which lane 0 has one? */
static int are_there(const struct qmv_wgsl *g, unsigned at)
{
	return at + g->lanes <= g->pieces;
}

/* The pieces of a step into NAME0_0, ..., of rows ROW rows below FROM; FIRST: lane's first one, or "lane + N". */
static void write_loads(struct writer *w, const char *name, const char *from, unsigned row, const char *first,
			int are_all_there)
{
	const struct qmv_wgsl *g = w->g;

	for (unsigned u = 0; u < g->unroll; u++)
		for (unsigned r = 0; r < g->rows; r++)
			tcb_wgsl_add(&w->w,
				     are_all_there ? "%s%u_%u = load(row_at(%s + %uu), %s + %uu);\n"
						   : "%s%u_%u = load(row_at(%s + %uu), piece_at(%s + %uu));\n",
				     name, u, r, from, row + r, first, u * g->lanes);
}

/* What is beyond the matrix is loaded from its end, and not used. */
static void write_ends(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;

	tcb_wgsl_add(&w->w, "\n"
			    "fn row_at(row: u32) -> u32 {\n"
			    "return min(row, rows - 1u);\n"
			    "}\n");
	if (g->pieces % g->step)
		tcb_wgsl_add(&w->w,
			     "\n"
			     "fn piece_at(piece: u32) -> u32 {\n"
			     "return min(piece, %uu);\n"
			     "}\n",
			     g->pieces - 1);
}

/* What lanes have of rows ROW rows below "row", in NAME0, ..., to results. */
static void write_results(struct writer *w, const char *name, unsigned row)
{
	for (unsigned r = 0; r < w->g->rows; r++)
		tcb_wgsl_add(&w->w,
			     "let total_%s%u = of_lanes(%s%u, local);\n"
			     "if (lane == 0u && row + %uu < rows) {\n"
			     "y[group.y * rows + row + %uu] = total_%s%u;\n"
			     "}\n",
			     name, r, name, r, row + r, row + r, name, r);
}

/* --- all rounds and steps, one after another in the text --- */

/* Turn TURN's pieces: TURN counts steps, then rounds. */
static void write_turn_loads(struct writer *w, unsigned turn)
{
	const struct qmv_wgsl *g = w->g;
	const unsigned at = turn % g->steps * g->step;
	char name[32], first[32];

	snprintf(name, sizeof name, "let w%u_", turn);
	snprintf(first, sizeof first, "lane + %uu", at);
	write_loads(w, name, "row", turn / g->steps * g->at_once, first, are_there(g, at + g->step - g->lanes));
}

static void write_turn(struct writer *w, unsigned turn)
{
	const struct qmv_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	const unsigned step = turn % g->steps, round = turn / g->steps;

	for (unsigned u = 0; u < g->unroll; u++) {
		const unsigned at = step * g->step + u * g->lanes, kept = step * g->unroll + u;
		char x[48];

		if (!g->is_q8)
			snprintf(x, sizeof x, "token_at");
		else if (g->keeps_x)
			snprintf(x, sizeof x, "x%u", kept);
		else
			snprintf(x, sizeof x, "met_by(lane + %uu, token_at)", at);
		if (!are_there(g, at))
			tcb_wgsl_add(t, "if (lane + %uu < %uu) {\n", at, g->pieces);
		for (unsigned r = 0; r < g->rows; r++)
			tcb_wgsl_add(t, "sum%u_%u += product_of(w%u_%u_%u, lane + %uu, %s);\n", round, r, turn, u, r,
				     at, x);
		if (!are_there(g, at))
			tcb_wgsl_add(t, "}\n");
	}
}

static void write_turns(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	const unsigned turns = g->rounds * g->steps;

	for (unsigned p = 0; g->keeps_x && p < g->steps * g->unroll; p++)
		tcb_wgsl_add(t,
			     are_there(g, p * g->lanes) ? "let x%u = met_by(lane + %uu, token_at);\n"
							: "let x%u = met_by(piece_at(lane + %uu), token_at);\n",
			     p, p * g->lanes);
	for (unsigned turn = 0; turn < turns; turn++) {
		const unsigned round = turn / g->steps;
		char name[32];

		for (unsigned r = 0; turn % g->steps == 0 && r < g->rows; r++)
			tcb_wgsl_add(t, "var sum%u_%u = 0.0;\n", round, r);
		if (g->stages == 1)
			write_turn_loads(w, turn);
		else if (turn + 1 < turns)
			write_turn_loads(w, turn + 1);
		write_turn(w, turn);
		snprintf(name, sizeof name, "sum%u_", round);
		if ((turn + 1) % g->steps == 0)
			write_results(w, name, round * g->at_once);
	}
}

/* --- or in loops --- */

static void write_products(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;
	const int are_whole = g->pieces % g->step == 0;

	for (unsigned u = 0; u < g->unroll; u++) {
		if (!are_whole)
			tcb_wgsl_add(&w->w, "if (first + %uu < %uu) {\n", u * g->lanes, g->pieces);
		for (unsigned r = 0; r < g->rows; r++)
			tcb_wgsl_add(&w->w,
				     g->is_q8 ? "sum%u += product_of(now%u_%u, first + %uu, met_by(first + %uu, "
						"token_at));\n"
					      : "sum%u += product_of(now%u_%u, first + %uu, token_at);\n",
				     r, u, r, u * g->lanes, u * g->lanes);
		if (!are_whole)
			tcb_wgsl_add(&w->w, "}\n");
	}
}

static void write_rounds(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	const int are_whole = g->pieces % g->step == 0;

	tcb_wgsl_add(t, "for (var round = 0u; round < %uu; round++) {\n", g->rounds);
	for (unsigned r = 0; r < g->rows; r++)
		tcb_wgsl_add(t, "var sum%u = 0.0;\n", r);
	tcb_wgsl_add(t,
		     "for (var step = 0u; step < %uu; step++) {\n"
		     "let first = step * %uu + lane;\n",
		     g->steps, g->step);
	if (g->stages == 1) {
		write_loads(w, "let now", "row", 0, "first", are_whole);
	} else {
		for (unsigned i = 0; i < g->unroll * g->rows; i++)
			tcb_wgsl_add(t, "let now%u_%u = next%u_%u;\n", i / g->rows, i % g->rows, i / g->rows,
				     i % g->rows);
		tcb_wgsl_add(t, "if (step + 1u < %uu) {\n", g->steps);
		tcb_wgsl_add(t, "let after = first + %uu;\n", g->step);
		write_loads(w, "next", "row", 0, "after", are_whole);
		if (g->rounds > 1) {
			tcb_wgsl_add(t, "} else if (round + 1u < %uu) {\n", g->rounds);
			write_loads(w, "next", "row", g->at_once, "lane", are_whole);
		}
		tcb_wgsl_add(t, "}\n");
	}
	write_products(w);
	tcb_wgsl_add(t, "}\n");
	write_results(w, "sum", 0);
	tcb_wgsl_add(t, "row += %uu;\n}\n", g->at_once);
}

static void write_matvec(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	struct tcb_wgsl_entry entry = { .workgroup = g->workgroup,
					.grid = { g->groups, g->tokens },
					.uses = { w->weights, w->y, g->own_launch ? w->codes : w->x, w->scales } };

	tcb_wgsl_begin(t, "matvec", &entry);
	tcb_wgsl_add(t,
		     "let lane = local %% %uu;\n"
		     "%s row = group.x * %uu + (local / %uu) * %uu;\n",
		     g->lanes, g->is_looped ? "var" : "let", g->at_once * g->rounds, g->lanes, g->rows);
	if (g->stages > 1 && g->is_looped)
		write_loads(w, "var next", "row", 0, "lane", g->pieces % g->step == 0);
	else if (g->stages > 1)
		write_turn_loads(w, 0);
	write_activations(w);
	(g->is_looped ? write_rounds : write_turns)(w);
	tcb_wgsl_end(t);
}

/* --- a module --- */

/* Where activations are, prepared or not, and what prepares them. */
static void write_x(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	const size_t sixteens = g->k / TCB_WGSL_SIXTEEN, all = g->tokens * sixteens;
	const char *codes = g->x_in_shared ? "all_codes" : "x_codes",
		   *scales = g->x_in_shared ? "all_scales" : "x_scales";

	const struct tcb_wgsl_quantize quantize = { .codes = g->own_launch ? codes : "x_codes",
						    .scales = g->own_launch ? scales : "x_scales",
						    .place = g->x_in_shared && !g->own_launch ? "place_of" : NULL,
						    .group = g->group,
						    .is_dp4a = g->is_dp4a,
						    .is_shared = g->x_by_lanes };

	if (g->own_launch) {
		w->codes = tcb_wgsl_workspace(t, codes, "array<vec4<u32>>", 16 * all);
		w->scales = tcb_wgsl_workspace(t, scales, "array<vec2<f32>>", 8 * all);
	}
	if (g->x_in_shared && g->is_q8)
		tcb_wgsl_add(t,
			     "\n"
			     "// The activations of a token: codes of 8 bits, four a word, and of sixteen at a time "
			     "the scale, and\n"
			     "// that times the sum of the codes.\n"
			     "var<workgroup> x_codes: array<vec4<u32>, %zu>;\n"
			     "var<workgroup> x_scales: array<vec2<f32>, %zu>;\n",
			     sixteens, sixteens);
	else if (g->x_in_shared)
		tcb_wgsl_add(t, "\nvar<workgroup> x_values: array<vec4<f32>, %zu>;\n", 4 * sixteens);
	if (g->is_q8 && g->x_in_shared)
		write_place_of(w);
	if (g->is_q8)
		tcb_wgsl_add_quantize(t, &quantize);
	if (g->own_launch)
		tcb_wgsl_prepare(t, &quantize, all * TCB_WGSL_SIXTEEN, w->x, w->codes, w->scales);
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct qmv_wgsl g;
	struct writer w = { .g = &g };
	struct tcb_wgsl *t = &w.w;
	struct tcb_wgsl_weights weights = { .format = problem->op->format };
	(void)target;

	qmv_wgsl_plan(problem, geometry, &g);
	weights.layout = g.layout;
	weights.k = g.k;
	for (int i = 0; i < 3; i++)
		weights.plane[i] = qmv_plane_at(problem, (enum qmv_part)(QMV_HIGH + i));
	TCB_TRY(tcb_wgsl_open(t, problem, geometry, out, err));
	w.x = tcb_wgsl_input(t, "x", "array<vec4<f32>>", TCB_QUANT_X);
	w.y = tcb_wgsl_output(t, "y", "array<f32>", TCB_QUANT_Y);
	tcb_wgsl_number(t, "rows", g.n);
	w.weights = tcb_wgsl_weights(t, &weights);
	write_x(&w);
	if (g.is_q8)
		tcb_wgsl_add_dot_of(t, g.is_dp4a);
	else
		tcb_wgsl_add_floats_of(t);
	(g.is_q8 ? write_add_q8 : write_add_f32)(&w);
	write_of_lanes(&w);
	write_ends(&w);
	write_matvec(&w);
	out->packed_bytes[TCB_QUANT_WEIGHTS] = g.layout == TCB_LAYOUT_NATIVE ? 0 : qmv_packed_bytes(problem, g.layout);
	out->class = TCB_CLASS_BOUNDED;
	out->chain = qmv_wgsl_chain(&g);
	return tcb_wgsl_close(t, err);
}

#define SIDE(id, name_, op, ...)                                                                             \
	const struct tcb_side qmv_##op##_wgsl = {                                                            \
		.variants = TCB_EMITTED(TCB_EMITTED_ROW(#op "_matvec_q8_wgsl_dp4a", Q8, WGSL_DP4A, BOUNDED), \
					TCB_EMITTED_ROW(#op "_matvec_q8_wgsl", Q8, WGSL, BOUNDED),           \
					TCB_EMITTED_ROW(#op "_matvec_f32_wgsl", F32, WGSL, BOUNDED)),        \
		.space = &qmv_wgsl_space,                                                                    \
		.emit = emit,                                                                                \
	};
TCB_FORMAT_FIELD_LIST(SIDE)
