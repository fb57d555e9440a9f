/* SPDX-License-Identifier: MIT
 *
 * The quantised matmuls in WGSL: a geometry comes in, a module and its launches go
 * out.  quant_matmul_wgsl.h says how the geometry drives them.
 */
#include "kernels/quant_matmul/quant_matmul_wgsl.h"

#include <stdio.h>

#include "base/sizes.h"
#include "kernels/wgsl/wgsl_quant.h"

enum { X_GROUP = 32, TEXT_DOTS = 64 /* of an invocation and a step, that are written one after another */ };

struct writer {
	struct tcb_wgsl w;
	const struct qmm_wgsl *g;
	int weights, x, y, codes, scales, parts; /* bindings */
};

/* --- workgroup memory --- */

static void write_memory(struct writer *w)
{
	const struct qmm_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	if (!g->is_q8) {
		tcb_wgsl_add(t,
			     "\n"
			     "// A step's values, four of a row or a token each: those that lie across k follow each "
			     "other.\n"
			     "var<workgroup> w_values: array<vec4<f32>, %u>;\n"
			     "var<workgroup> x_values: array<vec4<f32>, %u>;\n",
			     g->vectors * g->pitch_n, g->vectors * g->pitch_m);
		return;
	}
	tcb_wgsl_add(t,
		     "\n"
		     "// A step's codes, sixteen of a row or a token each, and of %u values the scale%s; for tokens "
		     "the scale\n"
		     "// times the sum of the codes, too.  Those that lie across k follow each other.\n"
		     "var<workgroup> w_codes: array<vec4<u32>, %u>;\n"
		     "var<workgroup> w_scales: array<%s, %u>;\n"
		     "var<workgroup> x_codes: array<vec4<u32>, %u>;\n"
		     "var<workgroup> x_scales: array<vec2<f32>, %u>;\n",
		     g->run * TCB_WGSL_SIXTEEN, g->has_offset ? " and the offset" : "", g->sixteens * g->pitch_n,
		     g->has_offset ? "vec2<f32>" : "f32", g->runs * g->pitch_n, g->sixteens * g->pitch_m,
		     g->runs * g->pitch_m);
}

/* --- weights --- */

/* Of the low sixteen of a piece, then of the high one; of runs of 32, those pieces write that have a run's first
 * sixteen. */
static void write_keep_scales(struct writer *w)
{
	const struct qmm_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	const unsigned apart = tcb_wgsl_apart(g->format);
	const int is_pair = apart == 2;

	if (is_pair)
		tcb_wgsl_add(t, "if ((piece & 1u) == 0u) {\n");
	for (unsigned half = 0; half < (apart > 1 ? 2u : 1u); half++) {
		const char of = "xy"[half];

		char value[64];

		snprintf(value, sizeof value, g->has_offset ? "vec2<f32>(w.scale.%c, w.offset.%c)" : "w.scale.%c", of,
			 of);
		tcb_wgsl_add(t, "w_scales[(s / %uu + %uu) * %uu + row] = %s;\n", g->run, half * apart / g->run,
			     g->pitch_n, value);
	}
	if (is_pair)
		tcb_wgsl_add(t, "}\n");
}

static void write_keep(struct writer *w)
{
	static const char *const half[] = { "low", "high" };
	const struct qmm_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	const unsigned apart = tcb_wgsl_apart(g->format);

	tcb_wgsl_add(t,
		     "\n"
		     "// A piece of a row of the tile to workgroup memory.\n"
		     "fn keep(stored: Stored, row: u32, piece: u32, step: u32) {\n"
		     "let w = decode(stored, piece);\n"
		     "let s = first_of(piece) - step * %uu;\n",
		     g->sixteens);
	if (g->is_q8) {
		tcb_wgsl_add(t,
			     "w_codes[s * %uu + row] = w.low;\n"
			     "w_codes[(s + %uu) * %uu + row] = w.high;\n",
			     g->pitch_n, apart, g->pitch_n);
		write_keep_scales(w);
	} else {
		for (int h = 0; h < 2; h++)
			for (unsigned i = 0; i < 4; i++) {
				const char of = "xy"[h], at = "xyzw"[i];
				char value[96];

				snprintf(value, sizeof value,
					 g->has_offset ? "fma(floats_of(w.%s.%c), vec4<f32>(w.scale.%c), "
							 "vec4<f32>(-w.offset.%c))"
						       : "floats_of(w.%s.%c) * w.scale.%c",
					 half[h], at, of, of);
				tcb_wgsl_add(t, "w_values[(s * 4u + %uu) * %uu + row] = %s;\n",
					     4 * apart * (unsigned)h + i, g->pitch_n, value);
			}
	}
	tcb_wgsl_add(t, "}\n");
}

/* --- activations --- */

/* What is behind a token's last value counts as zeros. */
static void write_x_at(struct writer *w)
{
	struct tcb_wgsl *t = &w->w;

	if (!w->g->is_q8) {
		tcb_wgsl_add(t, "\n"
				"fn x_at(token: u32, vector: u32) -> vec4<f32> {\n"
				"let at = min(token, tokens - 1u) * pieces * 8u + min(vector, pieces * 8u - 1u);\n"
				"return select(vec4<f32>(0.0), x[at], vector < pieces * 8u);\n"
				"}\n");
		return;
	}
	tcb_wgsl_add(t, "\n"
			"fn codes_at(token: u32, sixteen: u32) -> vec4<u32> {\n"
			"let at = min(token, tokens - 1u) * pieces * 2u + min(sixteen, pieces * 2u - 1u);\n"
			"return select(vec4<u32>(0u), all_codes[at], sixteen < pieces * 2u);\n"
			"}\n");
	tcb_wgsl_add(t, "\n"
			"fn scales_at_run(token: u32, run: u32) -> vec2<f32> {\n");
	if (w->g->run == 2)
		tcb_wgsl_add(t, "let at = (min(token, tokens - 1u) * pieces + min(run, pieces - 1u)) * 2u;\n"
				"let scale = all_scales[at];\n"
				"return select(vec2<f32>(0.0), vec2<f32>(scale.x, scale.y + all_scales[at + 1u].y), "
				"run < pieces);\n"
				"}\n");
	else
		tcb_wgsl_add(t, "let at = min(token, tokens - 1u) * pieces * 2u + min(run, pieces * 2u - 1u);\n"
				"return select(vec2<f32>(0.0), all_scales[at], run < pieces * 2u);\n"
				"}\n");
}

/* --- a step --- */

struct share {
	unsigned of_each, count, loads; /* parts that lie together; all of them; of an invocation */
};

static struct share share(const struct qmm_wgsl *g, unsigned of_each, unsigned each)
{
	return (struct share){ of_each, of_each * each, (unsigned)tcb_div_up((size_t)of_each * each, g->workgroup) };
}

static struct share weight_share(const struct qmm_wgsl *g)
{
	return share(g, g->pieces, g->tile_n);
}
static struct share x_share(const struct qmm_wgsl *g)
{
	return share(g, g->is_q8 ? g->sixteens : g->vectors, g->tile_m);
}
static struct share scale_share(const struct qmm_wgsl *g)
{
	return share(g, g->runs, g->tile_m);
}

/* STEP's weights and activations, into variables; LET: "let " where they are new. */
static void write_loads(struct writer *w, const char *let, const char *step)
{
	const struct qmm_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	const struct share ws = weight_share(g), xs = x_share(g), ss = scale_share(g);

	for (unsigned c = 0; c < ws.loads; c++)
		tcb_wgsl_add(t,
			     "%sw_next%u = load(min(first_row + (local + %uu) / %uu, rows - 1u), "
			     "min(%s * %uu + (local + %uu) %% %uu, pieces - 1u));\n",
			     let, c, c * g->workgroup, ws.of_each, step, ws.of_each, c * g->workgroup, ws.of_each);
	for (unsigned c = 0; c < xs.loads; c++)
		tcb_wgsl_add(t,
			     "%sx_next%u = %s(first_token + (local + %uu) / %uu, %s * %uu + (local + %uu) %% %uu);\n",
			     let, c, g->is_q8 ? "codes_at" : "x_at", c * g->workgroup, xs.of_each, step, xs.of_each,
			     c * g->workgroup, xs.of_each);
	for (unsigned c = 0; g->is_q8 && c < ss.loads; c++)
		tcb_wgsl_add(
			t,
			"%ss_next%u = scales_at_run(first_token + (local + %uu) / %uu, %s * %uu + (local + %uu) %% "
			"%uu);\n",
			let, c, c * g->workgroup, ss.of_each, step, ss.of_each, c * g->workgroup, ss.of_each);
}

static void begin_part(struct writer *w, const struct share *s, unsigned c)
{
	if ((c + 1) * w->g->workgroup > s->count)
		tcb_wgsl_add(&w->w, "if (local + %uu < %uu) {\n", c * w->g->workgroup, s->count);
}

static void end_part(struct writer *w, const struct share *s, unsigned c)
{
	if ((c + 1) * w->g->workgroup > s->count)
		tcb_wgsl_add(&w->w, "}\n");
}

/* What was loaded to workgroup memory. */
static void write_keeps(struct writer *w)
{
	const struct qmm_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	const struct share ws = weight_share(g), xs = x_share(g), ss = scale_share(g);

	for (unsigned c = 0; c < ws.loads; c++) {
		begin_part(w, &ws, c);
		tcb_wgsl_add(t, "keep(w_next%u, (local + %uu) / %uu, step * %uu + (local + %uu) %% %uu, step);\n", c,
			     c * g->workgroup, ws.of_each, ws.of_each, c * g->workgroup, ws.of_each);
		end_part(w, &ws, c);
	}
	for (unsigned c = 0; c < xs.loads; c++) {
		begin_part(w, &xs, c);
		tcb_wgsl_add(t, "%s[((local + %uu) %% %uu) * %uu + (local + %uu) / %uu] = x_next%u;\n",
			     g->is_q8 ? "x_codes" : "x_values", c * g->workgroup, xs.of_each, g->pitch_m,
			     c * g->workgroup, xs.of_each, c);
		end_part(w, &xs, c);
	}
	for (unsigned c = 0; g->is_q8 && c < ss.loads; c++) {
		begin_part(w, &ss, c);
		tcb_wgsl_add(t, "x_scales[((local + %uu) %% %uu) * %uu + (local + %uu) / %uu] = s_next%u;\n",
			     c * g->workgroup, ss.of_each, g->pitch_m, c * g->workgroup, ss.of_each, c);
		end_part(w, &ss, c);
	}
}

static void write_products_f32(struct writer *w)
{
	const struct qmm_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_add(t, "for (var v = 0u; v < %uu; v++) {\n", g->vectors);
	for (unsigned j = 0; j < g->micro_n; j++)
		tcb_wgsl_add(t, "let w%u = w_values[v * %uu + at_n + %uu];\n", j, g->pitch_n, j * g->across_n);
	for (unsigned i = 0; i < g->micro_m; i++) {
		tcb_wgsl_add(t, "let x%u = x_values[v * %uu + at_m + %uu];\n", i, g->pitch_m, i * g->across_m);
		for (unsigned j = 0; j < g->micro_n; j++)
			tcb_wgsl_add(t, "sum%u_%u += dot(x%u, w%u);\n", i, j, i, j);
	}
	tcb_wgsl_add(t, "}\n");
}

/* Of run R of a step, or IS_LOOPED of run r of the text on top of it. */
static void write_run(struct writer *w, unsigned r, int is_looped)
{
	const struct qmm_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	const char *scale = g->has_offset ? ".x" : "";
	const char *codes_n = is_looped ? "codes_n" : "at_n", *codes_m = is_looped ? "codes_m" : "at_m";
	const char *scales_n = is_looped ? "scales_n" : "at_n", *scales_m = is_looped ? "scales_m" : "at_m";

	if (is_looped)
		tcb_wgsl_add(t,
			     "let scales_n = r * %uu + at_n;\n"
			     "let scales_m = r * %uu + at_m;\n"
			     "let codes_n = r * %uu + at_n;\n"
			     "let codes_m = r * %uu + at_m;\n",
			     g->pitch_n, g->pitch_m, g->run * g->pitch_n, g->run * g->pitch_m);
	for (unsigned j = 0; j < g->micro_n; j++) {
		tcb_wgsl_add(t, "let w_scale%u = w_scales[%s + %uu];\n", j, scales_n, r * g->pitch_n + j * g->across_n);
		for (unsigned h = 0; h < g->run; h++)
			tcb_wgsl_add(t, "let w%u_%u = w_codes[%s + %uu];\n", h, j, codes_n,
				     (r * g->run + h) * g->pitch_n + j * g->across_n);
	}
	for (unsigned i = 0; i < g->micro_m; i++) {
		tcb_wgsl_add(t, "let x_scale%u = x_scales[%s + %uu];\n", i, scales_m, r * g->pitch_m + i * g->across_m);
		for (unsigned h = 0; h < g->run; h++)
			tcb_wgsl_add(t, "let x%u_%u = x_codes[%s + %uu];\n", h, i, codes_m,
				     (r * g->run + h) * g->pitch_m + i * g->across_m);
		for (unsigned j = 0; j < g->micro_n; j++) {
			if (g->run == 2)
				tcb_wgsl_add(t, "let dot%u_%u = f32(dot_of(w0_%u, x0_%u) + dot_of(w1_%u, x1_%u));\n", i,
					     j, j, i, j, i);
			else
				tcb_wgsl_add(t, "let dot%u_%u = f32(dot_of(w0_%u, x0_%u));\n", i, j, j, i);
		}
		for (unsigned j = 0; j < g->micro_n; j++) {
			char take[64] = "";

			if (g->has_offset)
				snprintf(take, sizeof take, " - w_scale%u.y * x_scale%u.y", j, i);
			tcb_wgsl_add(t, "sum%u_%u += w_scale%u%s * x_scale%u.x * dot%u_%u%s;\n", i, j, j, scale, i, i,
				     j, take);
		}
	}
}

/* Each in a block of its own, where they are few: a loop is counted once more in pages, and not unrolled. */
static void write_products_q8(struct writer *w)
{
	const struct qmm_wgsl *g = w->g;
	const int is_looped = g->runs * g->micro_m * g->micro_n > TEXT_DOTS;

	for (unsigned r = 0; r < (is_looped ? 1 : g->runs); r++) {
		if (is_looped)
			tcb_wgsl_add(&w->w, "for (var r = 0u; r < %uu; r++) {\n", g->runs);
		else
			tcb_wgsl_add(&w->w, "{\n");
		write_run(w, r, is_looped);
		tcb_wgsl_add(&w->w, "}\n");
	}
}

/* --- the entry --- */

static void write_results(struct writer *w)
{
	const struct qmm_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	if (g->splitk > 1)
		tcb_wgsl_add(t, "let own_part = group.z * tokens;\n");
	for (unsigned i = 0; i < g->micro_m; i++) {
		tcb_wgsl_add(t,
			     "let token%u = first_token + at_m + %uu;\n"
			     "if (token%u < tokens) {\n",
			     i, i * g->across_m, i);
		for (unsigned j = 0; j < g->micro_n; j++)
			tcb_wgsl_add(t,
				     "if (first_row + at_n + %uu < rows) {\n"
				     "%stoken%u%s * rows + first_row + at_n + %uu] = sum%u_%u;\n"
				     "}\n",
				     j * g->across_n, g->splitk > 1 ? "parts[(own_part + " : "y[", i,
				     g->splitk > 1 ? ")" : "", j * g->across_n, i, j);
		tcb_wgsl_add(t, "}\n");
	}
}

static void write_matmul(struct writer *w)
{
	const struct qmm_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	const char *first = g->splitk > 1 ? "first_step" : "0u", *last = g->splitk > 1 ? "last_step" : "steps";

	tcb_wgsl_begin(t, "matmul",
		       &(struct tcb_wgsl_entry){ .workgroup = g->workgroup,
						 .grid = { g->groups_n, g->groups_m, g->splitk },
						 .uses = { w->weights, g->splitk > 1 ? w->parts : w->y,
							   g->is_q8 ? w->codes : w->x, w->scales } });
	tcb_wgsl_add(t,
		     "let first_row = group.x * %uu;\n"
		     "let first_token = group.y * %uu;\n"
		     "let at_n = local %% %uu;\n"
		     "let at_m = local / %uu;\n",
		     g->tile_n, g->tile_m, g->across_n, g->across_n);
	for (unsigned i = 0; i < g->micro_m; i++)
		for (unsigned j = 0; j < g->micro_n; j++)
			tcb_wgsl_add(t, "var sum%u_%u = 0.0;\n", i, j);
	if (g->splitk > 1)
		tcb_wgsl_add(t,
			     "let steps_each = (steps + %uu) / %uu;\n"
			     "let first_step = min(group.z * steps_each, steps);\n"
			     "let last_step = min(first_step + steps_each, steps);\n",
			     g->splitk - 1, g->splitk);
	if (g->stages == 2)
		write_loads(w, "var ", first);
	tcb_wgsl_weights_begin(t, g->format, g->workgroup);
	tcb_wgsl_add(t, "for (var step = %s; step < %s; step++) {\n", first, last);
	if (g->stages == 1)
		write_loads(w, "let ", "step");
	tcb_wgsl_add(t, "workgroupBarrier();\n");
	write_keeps(w);
	tcb_wgsl_add(t, "workgroupBarrier();\n");
	if (g->stages == 2) {
		tcb_wgsl_add(t,
			     "if (step + 1u < %s) {\n"
			     "let after = step + 1u;\n",
			     last);
		write_loads(w, "", "after");
		tcb_wgsl_add(t, "}\n");
	}
	(g->is_q8 ? write_products_q8 : write_products_f32)(w);
	tcb_wgsl_add(t, "}\n");
	write_results(w);
	tcb_wgsl_end(t);
}

/* The results of all parts of k. */
static void write_join(struct writer *w)
{
	const struct qmm_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_begin(t, "join",
		       &(struct tcb_wgsl_entry){ .workgroup = QMM_WGSL_JOIN_WORKGROUP,
						 .grid = { g->join_groups },
						 .uses = { w->parts, w->y } });
	tcb_wgsl_add(t,
		     "let at = group.x * %uu + local;\n"
		     "if (at < tokens * rows) {\n",
		     QMM_WGSL_JOIN_WORKGROUP);
	for (unsigned i = 0; i < g->splitk; i++)
		tcb_wgsl_add(t, "let part%u = parts[tokens * rows * %uu + at];\n", i, i);
	tcb_wgsl_add(t, "var sum = part0;\n");
	for (unsigned i = 1; i < g->splitk; i++)
		tcb_wgsl_add(t, "sum += part%u;\n", i);
	tcb_wgsl_add(t, "y[at] = sum;\n"
			"}\n");
	tcb_wgsl_end(t);
}

/* A sum's: of a run q8 has its scales and what it is taken off with; of four values f32 has three sums and a product.
 */
static double chain_of(const struct qmm_wgsl *g)
{
	const double steps = (double)tcb_div_up(g->steps, g->splitk);

	return 6 + (g->splitk - 1) + steps * (g->is_q8 ? g->runs : g->vectors);
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct qmm_wgsl g;
	struct writer w = { .g = &g };
	struct tcb_wgsl *t = &w.w;
	(void)target;

	qmm_wgsl_plan(problem, geometry, &g);
	const struct tcb_wgsl_weights weights = { .format = g.format, .layout = TCB_LAYOUT_NATIVE, .k = g.k };
	const struct tcb_wgsl_quantize quantize = {
		.codes = "all_codes", .scales = "all_scales", .group = X_GROUP, .is_dp4a = g.is_dp4a
	};
	const size_t values = (size_t)g.tokens * g.k;
	TCB_TRY(tcb_wgsl_open(t, problem, geometry, out, err));
	w.x = tcb_wgsl_input(t, "x", "array<vec4<f32>>", TCB_QUANT_X);
	w.y = tcb_wgsl_output(t, "y", "array<f32>", TCB_QUANT_Y);
	tcb_wgsl_number(t, "rows", g.n);
	tcb_wgsl_number(t, "tokens", g.tokens);
	tcb_wgsl_number(t, "pieces", g.k / TCB_WGSL_PIECE);
	tcb_wgsl_number(t, "steps", g.steps);
	w.weights = tcb_wgsl_weights(t, &weights);
	if (g.is_q8) {
		w.codes = tcb_wgsl_workspace(t, "all_codes", "array<vec4<u32>>", values);
		w.scales = tcb_wgsl_workspace(t, "all_scales", "array<vec2<f32>>", values / 2);
		tcb_wgsl_add_quantize(t, &quantize);
		tcb_wgsl_prepare(t, &quantize, values, w.x, w.codes, w.scales);
		tcb_wgsl_add_dot_of(t, g.is_dp4a);
	} else {
		tcb_wgsl_add_floats_of(t);
	}
	if (g.splitk > 1)
		w.parts =
			tcb_wgsl_workspace(t, "parts", "array<f32>", (size_t)g.splitk * g.tokens * g.n * sizeof(float));
	write_memory(&w);
	write_keep(&w);
	write_x_at(&w);
	write_matmul(&w);
	if (g.splitk > 1)
		write_join(&w);
	out->class = TCB_CLASS_BOUNDED;
	out->chain = chain_of(&g);
	return tcb_wgsl_close(t, err);
}

const struct tcb_side qmm_wgsl = {
	.variants = TCB_EMITTED(TCB_EMITTED_ROW("quant_matmul_q8_wgsl_dp4a", Q8, WGSL_DP4A, BOUNDED),
				TCB_EMITTED_ROW("quant_matmul_q8_wgsl", Q8, WGSL, BOUNDED),
				TCB_EMITTED_ROW("quant_matmul_f32_wgsl", F32, WGSL, BOUNDED)),
	.space = &qmm_wgsl_space,
	.emit = emit,
};
