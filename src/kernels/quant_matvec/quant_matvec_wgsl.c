/* SPDX-License-Identifier: MIT
 *
 * The quantised MatVecs in WGSL: a geometry comes in, a module and its launches
 * go out.  quant_matvec_wgsl.h says how the geometry drives them.
 */
#include "kernels/quant_matvec/quant_matvec_wgsl.h"

#include "base/sizes.h"
#include "kernels/quant_matvec/quant_matvec_planes.h"
#include "kernels/wgsl/wgsl_quant.h"

struct writer {
	struct tcb_wgsl w;
	const struct qmv_wgsl *g;
	int weights, x, y, codes, scales; /* bindings; the last two of the workspace, 0: none */
};

/* --- products of a piece --- */

static void write_add_q8(struct writer *w)
{
	const unsigned apart = tcb_wgsl_apart(w->g->format);

	tcb_wgsl_add(&w->w,
		     "\n"
		     "// A piece times the activations of a token, whose first sixteen is token_at.\n"
		     "fn product_of(stored: Stored, piece: u32, token_at: u32) -> f32 {\n"
		     "let w = decode(stored, piece);\n"
		     "let low = token_at + first_of(piece);\n"
		     "let high = low + %uu;\n"
		     "let low_scale = x_scales[low];\n"
		     "let high_scale = x_scales[high];\n"
		     "let sums = vec2<f32>(vec2<i32>(dot_of(w.low, x_codes[low]), dot_of(w.high, x_codes[high])));\n"
		     "let both = w.scale * vec2<f32>(low_scale.x, high_scale.x) * sums;\n",
		     apart);
	if (tcb_wgsl_has_offset(w->g->format))
		tcb_wgsl_add(&w->w, "let offsets = w.offset * vec2<f32>(low_scale.y, high_scale.y);\n"
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

/* The token's activations to where product_of reads them, and token_at. */
static void write_activations(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_weights_begin(t, g->format, g->workgroup);
	if (g->x_in_shared && g->is_q8 && !g->own_launch)
		tcb_wgsl_add(t,
			     "for (var i = local; i < pieces * 32u / %uu; i += %uu) {\n"
			     "quantize(group.y * pieces * 8u + i * %uu, i * %uu);\n"
			     "}\n",
			     g->group, g->workgroup, g->group / 4, g->group / 16);
	else if (g->x_in_shared && g->is_q8)
		tcb_wgsl_add(t,
			     "for (var i = local; i < pieces * 2u; i += %uu) {\n"
			     "x_codes[i] = all_codes[group.y * pieces * 2u + i];\n"
			     "x_scales[i] = all_scales[group.y * pieces * 2u + i];\n"
			     "}\n",
			     g->workgroup);
	else if (g->x_in_shared)
		tcb_wgsl_add(t,
			     "for (var i = local; i < pieces * 8u; i += %uu) {\n"
			     "x_values[i] = x[group.y * pieces * 8u + i];\n"
			     "}\n",
			     g->workgroup);
	if (g->x_in_shared || tcb_wgsl_weights_bytes(g->format))
		tcb_wgsl_add(t, "workgroupBarrier();\n");
	tcb_wgsl_add(t, g->x_in_shared ? "let token_at = 0u;\n" : "let token_at = group.y * pieces * 2u;\n");
}

/* The pieces of a step, from lane's first one (FIRST) on, of rows from FROM on, into NAME0_0, ... */
static void write_loads(struct writer *w, const char *name, const char *from, const char *first)
{
	const struct qmv_wgsl *g = w->g;

	for (unsigned u = 0; u < g->unroll; u++)
		for (unsigned r = 0; r < g->rows; r++)
			tcb_wgsl_add(&w->w, "%s%u_%u = load(row_at(%s + %uu), piece_at(%s + %uu));\n", name, u, r, from,
				     r, first, u * g->lanes);
}

static void write_products(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;

	for (unsigned u = 0; u < g->unroll; u++) {
		tcb_wgsl_add(&w->w, "if (is_there(first + %uu)) {\n", u * g->lanes);
		for (unsigned r = 0; r < g->rows; r++)
			tcb_wgsl_add(&w->w, "sum%u += product_of(now%u_%u, first + %uu, token_at);\n", r, u, r,
				     u * g->lanes);
		tcb_wgsl_add(&w->w, "}\n");
	}
}

/* What is beyond the matrix is loaded from its end, and not used. */
static void write_ends(struct writer *w)
{
	tcb_wgsl_add(&w->w,
		     "\n"
		     "fn row_at(row: u32) -> u32 {\n"
		     "return min(row, rows - 1u);\n"
		     "}\n"
		     "\n"
		     "fn is_there(piece: u32) -> bool {\n"
		     "return pieces %% %uu == 0u || piece < pieces;\n"
		     "}\n"
		     "\n"
		     "fn piece_at(piece: u32) -> u32 {\n"
		     "return select(min(piece, pieces - 1u), piece, pieces %% %uu == 0u);\n"
		     "}\n",
		     w->g->step, w->g->step);
}

static void write_rounds(struct writer *w)
{
	const struct qmv_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_add(t, "for (var round = 0u; round < %uu; round++) {\n", g->rounds);
	for (unsigned r = 0; r < g->rows; r++)
		tcb_wgsl_add(t, "var sum%u = 0.0;\n", r);
	tcb_wgsl_add(t,
		     "for (var step = 0u; step < steps; step++) {\n"
		     "let first = step * %uu + lane;\n",
		     g->step);
	if (g->stages == 1) {
		write_loads(w, "let now", "row", "first");
	} else {
		for (unsigned i = 0; i < g->unroll * g->rows; i++)
			tcb_wgsl_add(t, "let now%u_%u = next%u_%u;\n", i / g->rows, i % g->rows, i / g->rows,
				     i % g->rows);
		tcb_wgsl_add(t, "if (step + 1u < steps) {\n");
		tcb_wgsl_add(t, "let after = first + %uu;\n", g->step);
		write_loads(w, "next", "row", "after");
		if (g->rounds > 1) {
			tcb_wgsl_add(t,
				     "} else if (round + 1u < %uu) {\n"
				     "let below = row + %uu;\n",
				     g->rounds, g->at_once);
			write_loads(w, "next", "below", "lane");
		}
		tcb_wgsl_add(t, "}\n");
	}
	write_products(w);
	tcb_wgsl_add(t, "}\n");
	for (unsigned r = 0; r < g->rows; r++)
		tcb_wgsl_add(t,
			     "let total%u = of_lanes(sum%u, local);\n"
			     "if (lane == 0u && row + %uu < rows) {\n"
			     "y[group.y * rows + row + %uu] = total%u;\n"
			     "}\n",
			     r, r, r, r, r);
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
		     "var row = group.x * %uu + (local / %uu) * %uu;\n",
		     g->lanes, g->at_once * g->rounds, g->lanes, g->rows);
	if (g->stages > 1) {
		for (unsigned i = 0; i < g->unroll * g->rows; i++)
			tcb_wgsl_add(t, "var next%u_%u: Stored;\n", i / g->rows, i % g->rows);
		write_loads(w, "next", "row", "lane");
	}
	write_activations(w);
	write_rounds(w);
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
						    .group = g->group,
						    .is_dp4a = g->is_dp4a };

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
	tcb_wgsl_number(t, "pieces", g.pieces);
	tcb_wgsl_number(t, "steps", g.steps);
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
TCB_FORMAT_LIST(SIDE)
