/* SPDX-License-Identifier: MIT
 *
 * Ops on rows in WGSL: a geometry comes in, a module and its launches go out.
 * rows_wgsl.h says how the geometry drives them.
 */
#include "kernels/rows/rows_wgsl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/rows/rows_op.h"
#include "kernels/wgsl/wgsl_team.h"

static const char *const weight_names[ROWS_WGSL_WEIGHTS_MAX] = { "w", "b" };

/* --- expressions --- */

/* NAMEfirst ... COUNT of them, brought together in halves. */
static void fold(struct tcb_str *out, const char *name, unsigned first, unsigned count, int is_sum, int is_inner)
{
	if (count == 1) {
		tcb_str_addf(out, "%s%u", name, first);
		return;
	}
	tcb_str_add(out, is_sum ? (is_inner ? "(" : "") : "max(");
	fold(out, name, first, count / 2, is_sum, 1);
	tcb_str_add(out, is_sum ? " + " : ", ");
	fold(out, name, first + count / 2, count / 2, is_sum, 1);
	tcb_str_add(out, is_sum && !is_inner ? "" : ")");
}

static void print_fold(const struct rows_wgsl_writer *w, const char *name, int is_sum,
		       char out[ROWS_WGSL_EXPRESSION_MAX])
{
	struct tcb_str text = { 0 };

	fold(&text, name, 0, w->g->unroll, is_sum, 0);
	snprintf(out, ROWS_WGSL_EXPRESSION_MAX, "%s", text.data ? text.data : "");
	tcb_str_fini(&text);
}

void rows_wgsl_sum(const struct rows_wgsl_writer *w, const char *name, char out[ROWS_WGSL_EXPRESSION_MAX])
{
	print_fold(w, name, 1, out);
}

void rows_wgsl_largest(const struct rows_wgsl_writer *w, const char *name, char out[ROWS_WGSL_EXPRESSION_MAX])
{
	print_fold(w, name, 0, out);
}

/* --- functions of the module --- */

static void write_functions(struct rows_wgsl_writer *w)
{
	static const char *const sums[] = { "v", "v.x + v.y", "", "(v.x + v.y) + (v.z + v.w)" };
	static const char *const maxima[] = { "v", "max(v.x, v.y)", "", "max(max(v.x, v.y), max(v.z, v.w))" };
	const struct rows_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	if (g->x_type != TCB_TYPE_F32)
		tcb_wgsl_add_from_halves(t, "from_x", g->x_type, g->width);
	if (g->x_type != TCB_TYPE_F32 && g->is_added)
		tcb_wgsl_add_to_halves(t, "to_x", g->x_type, g->width);
	if (g->y_type != TCB_TYPE_F32)
		tcb_wgsl_add_to_halves(t, "to_y", g->y_type, g->width);
	tcb_wgsl_add(t,
		     "\n"
		     "// Is a vector at AT one of those up to END?\n"
		     "fn is_there(at: u32, end: u32) -> bool {\n"
		     "return whole == 1u || at < end;\n"
		     "}\n"
		     "\n"
		     "fn sum_of(v: %s) -> f32 {\n"
		     "return %s;\n"
		     "}\n",
		     w->vector, sums[g->width - 1]);
	if (w->math->has_max)
		tcb_wgsl_add(t, "\nfn largest_of(v: %s) -> f32 {\nreturn %s;\n}\n", w->vector, maxima[g->width - 1]);
	tcb_wgsl_add_team_tree(t,
			       &(struct tcb_wgsl_tree){ .name = "sum_of_row",
							.type = "f32",
							.operation = TCB_WGSL_SUM,
							.tree = g->tree,
							.workgroup = g->workgroup },
			       g->team);
	if (w->math->has_max)
		tcb_wgsl_add_team_tree(t,
				       &(struct tcb_wgsl_tree){ .name = "largest_of_row",
								.type = "f32",
								.operation = TCB_WGSL_MAX,
								.tree = g->tree,
								.workgroup = g->workgroup },
				       g->team);
}

/* --- parts of an entry --- */

static void begin_entry(struct rows_wgsl_writer *w, const char *name, const int uses[])
{
	const struct rows_wgsl *g = w->g;
	struct tcb_wgsl_entry entry = { .workgroup = g->workgroup, .subgroups = g->tree == TCB_TREE_SUBGROUP };
	struct tcb_wgsl *t = &w->w;

	memcpy(entry.grid, g->grid, sizeof entry.grid);
	for (size_t i = 0; uses[i]; i++)
		entry.uses[i] = uses[i];
	tcb_wgsl_begin(t, name, &entry);
	if (g->rows == 1)
		tcb_wgsl_add(t, "let row = group.y + group.z * across;\n"
				"let member = local;\n");
	else
		tcb_wgsl_add(t,
			     "let row = (group.y + group.z * across) * %uu + local / %uu;\n"
			     "let member = local %% %uu; // of the row's team\n",
			     g->rows, g->team, g->team);
	tcb_wgsl_add(t, "let base = row * columns;\n");
	if (g->splitk == 1)
		tcb_wgsl_add(t, "let first = 0u;\n"
				"let end = select(0u, columns, row < rows);\n");
	else
		tcb_wgsl_add(t, "let first = group.x * slice;\n"
				"let end = select(first, min(first + slice, columns), row < rows);\n");
}

/* The weights of vector I, W0 and B0: they are the same for every row. */
static void write_weights(struct rows_wgsl_writer *w, unsigned i)
{
	for (unsigned k = 0; k < w->math->weights; k++)
		tcb_wgsl_add(&w->w,
			     "var %s%u = %s(0.0);\n"
			     "if (has%u) {\n"
			     "%s%u = %s[at%u];\n"
			     "}\n",
			     weight_names[k], i, w->vector, i, weight_names[k], i, weight_names[k], i);
}

/* Vector number I of a row, as floats; with the word add rounded to the type of both. */
static void print_value(const struct rows_wgsl_writer *w, unsigned i, char *out, size_t bytes)
{
	const struct rows_wgsl *g = w->g;

	if (g->x_type == TCB_TYPE_F32)
		snprintf(out, bytes, g->is_added ? "x[base + at%u] + added[base + at%u]" : "x[base + at%u]", i, i);
	else
		snprintf(out, bytes,
			 g->is_added ? "from_x(to_x(from_x(x[base + at%u]) + from_x(added[base + at%u])))"
				     : "from_x(x[base + at%u])",
			 i, i);
}

/* A step's vectors from AT on.  IS_SURE: the first is there. */
static void write_loads(struct rows_wgsl_writer *w, const char *at, int is_sure)
{
	struct tcb_wgsl *t = &w->w;
	char value[128];

	for (unsigned i = 0; i < w->g->unroll; i++) {
		tcb_wgsl_add(t, i ? "let at%u = %s + %uu;\n" : "let at%u = %s;\n", i, at, i * w->g->team);
		if (i == 0 && is_sure)
			tcb_wgsl_add(t, "let has0 = true;\n");
		else
			tcb_wgsl_add(t, "let has%u = is_there(at%u, end);\n", i, i);
	}
	for (unsigned i = 0; i < w->g->unroll; i++) {
		print_value(w, i, value, sizeof value);
		tcb_wgsl_add(t,
			     "var v%u = %s(%s);\n"
			     "if (has%u) {\n"
			     "v%u = %s;\n"
			     "}\n",
			     i, w->vector, w->math->absent, i, i, value);
	}
	if (w->g->lead)
		for (unsigned i = 0; i < w->g->unroll; i++)
			write_weights(w, i);
}

static void write_stores(struct rows_wgsl_writer *w, int is_held)
{
	const char *to_x = w->g->x_type == TCB_TYPE_F32 ? "" : "to_x(",
		   *to_y = w->g->y_type == TCB_TYPE_F32 ? "" : "to_y(";
	char result[ROWS_WGSL_EXPRESSION_MAX], text[ROWS_WGSL_WEIGHTS_MAX][24];
	const char *weights[ROWS_WGSL_WEIGHTS_MAX];

	for (unsigned i = 0; i < w->g->unroll; i++) {
		for (unsigned k = 0; k < w->math->weights; k++) {
			snprintf(text[k], sizeof text[k], w->g->lead ? "%s%u" : "%s[at%u]", weight_names[k], i);
			weights[k] = text[k];
		}
		w->math->result(w, i, is_held, weights, result);
		tcb_wgsl_add(&w->w, "if (has%u) {\n", i);
		if (w->g->is_added)
			tcb_wgsl_add(&w->w, "sums[base + at%u] = %sv%u%s;\n", i, to_x, i, *to_x ? ")" : "");
		tcb_wgsl_add(&w->w, "y[base + at%u] = %s%s%s;\n}\n", i, to_y, result, *to_y ? ")" : "");
	}
}

static void open_loop(struct rows_wgsl_writer *w)
{
	tcb_wgsl_add(&w->w, "for (var at = first + member; at < end; at += %uu) {\n", w->g->step);
	write_loads(w, "at", 1);
}

static void write_sweep(struct rows_wgsl_writer *w, enum rows_wgsl_sweep sweep)
{
	w->math->begin(w, sweep);
	open_loop(w);
	w->math->add(w, sweep);
	tcb_wgsl_add(&w->w, "}\n");
	w->math->close(w, sweep);
}

static void write_size(struct rows_wgsl_writer *w)
{
	if (w->math->has_size)
		tcb_wgsl_add(&w->w, "let size = f32((end - first) * %uu);\n", w->g->width);
}

/* Statistics of what the workgroup reads more than once. */
static void write_sweeps(struct rows_wgsl_writer *w)
{
	write_size(w);
	if (w->math->has_sweeps && w->g->form == TCB_FORM_TWOPASS) {
		write_sweep(w, ROWS_WGSL_FIRST);
		write_sweep(w, ROWS_WGSL_SECOND);
	} else
		write_sweep(w, ROWS_WGSL_ONLINE);
}

static void write_results(struct rows_wgsl_writer *w)
{
	w->math->finish(w);
	open_loop(w);
	write_stores(w, 0);
	tcb_wgsl_add(&w->w, "}\n");
}

/* --- entries --- */

/* Uses: X (0: not), Y or the parts, the weights. */
static void uses_of(const struct rows_wgsl_writer *w, int parts, int y, int out[TCB_WGSL_BINDINGS_MAX + 1])
{
	size_t count = 0;

	out[count++] = w->x;
	if (w->added)
		out[count++] = w->added;
	if (parts)
		out[count++] = parts;
	if (y)
		out[count++] = y;
	if (y && w->sum)
		out[count++] = w->sum;
	for (unsigned k = 0; y && k < w->math->weights; k++)
		out[count++] = w->weight[k];
	out[count] = 0;
}

static void write_held(struct rows_wgsl_writer *w)
{
	const struct rows_wgsl_math *math = w->math;

	write_loads(w, "member", 0);
	write_size(w);
	for (int sweep = math->has_sweeps ? ROWS_WGSL_FIRST : ROWS_WGSL_ONLINE;
	     sweep <= (math->has_sweeps ? ROWS_WGSL_SECOND : ROWS_WGSL_ONLINE); sweep++) {
		math->begin(w, (enum rows_wgsl_sweep)sweep);
		math->add(w, (enum rows_wgsl_sweep)sweep);
		math->close(w, (enum rows_wgsl_sweep)sweep);
	}
	math->finish(w);
	write_stores(w, 1);
}

static void write_whole_rows(struct rows_wgsl_writer *w)
{
	int uses[TCB_WGSL_BINDINGS_MAX + 1];

	uses_of(w, 0, w->y, uses);
	begin_entry(w, w->math->name, uses);
	if (w->g->is_held)
		write_held(w);
	else {
		write_sweeps(w);
		write_results(w);
	}
	tcb_wgsl_end(&w->w);
}

static void write_split_rows(struct rows_wgsl_writer *w)
{
	const struct rows_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	int uses[TCB_WGSL_BINDINGS_MAX + 1];

	uses_of(w, w->parts, 0, uses);
	begin_entry(w, "statistics", uses);
	write_sweeps(w);
	tcb_wgsl_add(t,
		     "if (member == 0u && row < rows) {\n"
		     "parts[row * %uu + group.x] = %s;\n"
		     "}\n",
		     g->splitk, w->math->part);
	tcb_wgsl_end(t);

	uses_of(w, w->parts, w->y, uses);
	begin_entry(w, "results", uses);
	if (w->math->has_size)
		tcb_wgsl_add(t, "let size = f32(columns * %uu);\n", g->width);
	w->math->begin(w, ROWS_WGSL_ONLINE);
	tcb_wgsl_add(t,
		     "for (var i = member; i < %uu && row < rows; i += %uu) {\n"
		     "let part = parts[row * %uu + i];\n",
		     g->splitk, g->team, g->splitk);
	w->math->take(w);
	tcb_wgsl_add(t, "}\n");
	w->math->close(w, ROWS_WGSL_ONLINE);
	write_results(w);
	tcb_wgsl_end(t);
}

/* The type of arrays of vectors of TYPE. */
static void print_array(const struct rows_wgsl_writer *w, enum tcb_type type, char out[32])
{
	snprintf(out, 32, "array<%s>", type == TCB_TYPE_F32 ? w->vector : w->g->width == 4 ? "vec2<u32>" : "u32");
}

enum tcb_status rows_wgsl_emit(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct rows_wgsl g;
	struct rows_wgsl_writer w = { .g = &g, .math = rows_of(problem)->wgsl };
	struct tcb_wgsl *t = &w.w;
	char type[32], x_type[32], y_type[32];
	(void)target;

	rows_wgsl_plan(problem, geometry, &g);
	w.here = tcb_wgsl_here(g.tree);
	snprintf(w.vector, sizeof w.vector, g.width == 1 ? "f32" : "vec%u<f32>", g.width);
	print_array(&w, TCB_TYPE_F32, type);
	print_array(&w, g.x_type, x_type);
	print_array(&w, g.y_type, y_type);
	TCB_TRY(tcb_wgsl_open(t, problem, geometry, out, err));
	w.x = tcb_wgsl_input(t, "x", x_type, w.math->input);
	for (unsigned k = 0; k < w.math->weights; k++)
		w.weight[k] = tcb_wgsl_input(t, weight_names[k], type, w.math->weight[k]);
	w.y = tcb_wgsl_output(t, "y", y_type, w.math->output);
	if (g.is_added) {
		w.added = tcb_wgsl_input(t, "added", x_type, rows_added(rows_of(problem)));
		w.sum = tcb_wgsl_output(t, "sums", x_type, rows_sum(rows_of(problem)));
	}
	if (g.splitk > 1)
		w.parts = tcb_wgsl_workspace(t, "parts", "array<vec2<f32>>",
					     problem->shape.m * g.splitk * 2 * sizeof(float));
	tcb_wgsl_number(t, "rows", problem->shape.m);
	tcb_wgsl_number(t, "columns", g.columns); /* vectors */
	if (g.splitk > 1)
		tcb_wgsl_number(t, "slice", g.slice);
	tcb_wgsl_number(t, "across", g.grid[1]);
	tcb_wgsl_number(t, "whole", (size_t)g.is_whole);
	write_functions(&w);
	(g.splitk > 1 ? write_split_rows : write_whole_rows)(&w);
	out->class = TCB_CLASS_APPROX;
	w.math->bound(&g, out);
	if (g.is_added) { /* a sum is rounded either way */
		out->chain += 4;
		out->ulps = fmax(out->ulps, 1.01);
	}
	return tcb_wgsl_close(t, err);
}
