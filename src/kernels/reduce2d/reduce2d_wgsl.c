/* SPDX-License-Identifier: MIT
 *
 * The reduce2d ops in WGSL: a geometry comes in, a module and its launches go
 * out.  reduce2d_wgsl.h says how the geometry drives them.
 */
#include "kernels/reduce2d/reduce2d_wgsl.h"

#include <stdio.h>

struct writer {
	struct tcb_wgsl w;
	const struct reduce2d_wgsl *g;
	int is_sum;
	char vector[16]; /* the type of an invocation's vector: "vec4<f32>" */
	const char *scalar;
	char none[16]; /* what changes nothing */
};

static int is_kahan(const struct writer *w)
{
	return w->is_sum && w->g->form == TCB_FORM_KAHAN;
}

/* --- what elements become --- */

/* The operation on maxima and minima alike is max. */
static void write_order(struct writer *w, int is_min)
{
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_add(t,
		     "\n"
		     "// A value's bits as a word that is the larger the %s it is, above 0; a NaN's is the largest.\n"
		     "fn order_of(bits: u32) -> u32 {\n"
		     "let word = bits ^ (select(0u, 0xffffffffu, bits >> 31u == 1u) | 0x80000000u);\n"
		     "return select(%sword, 0xffffffffu, (bits & 0x7fffffffu) > 0x7f800000u);\n"
		     "}\n"
		     "\n"
		     "fn value_of(order: u32) -> u32 {\n"
		     "let word = %sorder;\n"
		     "let bits = word ^ (select(0xffffffffu, 0u, word >> 31u == 1u) | 0x80000000u);\n"
		     "return select(bits, 0x7fc00000u, order == 0xffffffffu);\n"
		     "}\n",
		     is_min ? "smaller" : "larger", is_min ? "~" : "", is_min ? "~" : "");
}

/* The vector of elements AT, of which all are there; and of which some are, with what changes nothing for the others.
 */
static void write_loads(struct writer *w)
{
	static const char *const places[] = { "0u", "0u, 1u", "", "0u, 1u, 2u, 3u" };
	struct tcb_wgsl *t = &w->w;
	const unsigned width = w->g->width;
	const char *none = w->none;

	tcb_wgsl_add(t, "\nfn load(at: u32) -> %s {\n", w->vector);
	if (w->is_sum || w->g->program)
		tcb_wgsl_add(t, "return x[at];\n}\n");
	else if (width == 1)
		tcb_wgsl_add(t, "return order_of(x[at]);\n}\n");
	else
		tcb_wgsl_add(t, "let bits = x[at];\nreturn vec%u<u32>(%s);\n}\n", width,
			     width == 2 ? "order_of(bits.x), order_of(bits.y)"
					: "order_of(bits.x), order_of(bits.y), order_of(bits.z), order_of(bits.w)");
	tcb_wgsl_add(t,
		     "\n"
		     "// The same where the matrix ends.\n"
		     "fn load_end(at: u32) -> %s {\n"
		     "if (at * %uu >= count) {\n"
		     "return %s(%s);\n"
		     "}\n",
		     w->vector, width, w->vector, none);
	if (width == 1)
		tcb_wgsl_add(t, "return load(at);\n}\n");
	else
		tcb_wgsl_add(t,
			     "let place = vec%u<u32>(at * %uu) + vec%u<u32>(%s);\n"
			     "return select(%s(%s), load(at), place < vec%u<u32>(count));\n"
			     "}\n",
			     width, width, width, places[width - 1], w->vector, none, width);
}

/* --- an invocation's accumulators --- */

static void open_sums(struct writer *w, unsigned count, const char *type)
{
	for (unsigned i = 0; i < count; i++) {
		tcb_wgsl_add(&w->w, "var sum%u = %s(%s);\n", i, type, w->none);
		if (is_kahan(w))
			tcb_wgsl_add(&w->w, "var lost%u = %s(0.0);\n", i, type);
	}
}

/* The function that brings two together, vectors or scalars, of what is no sum. */
static const char *function(const struct writer *w, int is_vector)
{
	return !w->g->program ? "max" : is_vector ? "combine_each" : "combine";
}

/* VALUE, an expression of WIDTH elements, taken into accumulator I. */
static void take(struct writer *w, unsigned i, const char *value, unsigned width)
{
	struct tcb_wgsl *t = &w->w;

	if (!w->is_sum)
		tcb_wgsl_add(t, "sum%u = %s(sum%u, %s);\n", i, function(w, width > 1), i, value);
	else if (!is_kahan(w))
		tcb_wgsl_add(t, "sum%u += %s;\n", i, value);
	else
		tcb_wgsl_add(t,
			     "let value%u = %s - lost%u;\n"
			     "let total%u = sum%u + value%u;\n"
			     "lost%u = (total%u - sum%u) - value%u;\n"
			     "sum%u = total%u;\n",
			     i, value, i, i, i, i, i, i, i, i, i, i);
}

static const char *combined(const struct writer *w, const char *a, const char *b, int is_vector, char out[96])
{
	if (w->is_sum)
		snprintf(out, 96, "%s + %s", a, b);
	else
		snprintf(out, 96, "%s(%s, %s)", function(w, is_vector), a, b);
	return out;
}

/* All accumulators, of vectors of WIDTH, as the scalar "own". */
static void close_sums(struct writer *w, unsigned count, unsigned width)
{
	struct tcb_wgsl *t = &w->w;
	char a[16], b[16], both[96], halves[2][96];

	if (is_kahan(w)) /* what the sums are too large by */
		for (unsigned i = 0; i < count; i++)
			tcb_wgsl_add(t, "sum%u -= lost%u;\n", i, i);
	for (; count > 1; count /= 2)
		for (unsigned i = 0; i < count / 2; i++) {
			snprintf(a, sizeof a, "sum%u", i);
			snprintf(b, sizeof b, "sum%u", i + count / 2);
			tcb_wgsl_add(t, "sum%u = %s;\n", i, combined(w, a, b, width > 1, both));
		}
	if (width == 1)
		tcb_wgsl_add(t, "let own = sum0;\n");
	else if (width == 2)
		tcb_wgsl_add(t, "let own = %s;\n", combined(w, "sum0.x", "sum0.y", 0, both));
	else {
		(void)combined(w, "sum0.x", "sum0.y", 0, halves[0]);
		(void)combined(w, "sum0.z", "sum0.w", 0, halves[1]);
		if (w->is_sum)
			tcb_wgsl_add(t, "let own = (%s) + (%s);\n", halves[0], halves[1]);
		else
			tcb_wgsl_add(t, "let own = %s(%s, %s);\n", function(w, 0), halves[0], halves[1]);
	}
}

/* --- entries --- */

/* Step number STEP of all, by a function that loads. */
static void write_step(struct writer *w, const char *load)
{
	char value[64];

	for (unsigned i = 0; i < w->g->unroll; i++) {
		snprintf(value, sizeof value, i ? "%s(first + %uu)" : "%s(first)", load, i * w->g->workgroup);
		take(w, i, value, w->g->width);
	}
}

/* Invocation 0 leaves the workgroup's result in TO, an expression. */
static void write_result(struct writer *w, const char *to, int is_last)
{
	tcb_wgsl_add(&w->w, "let total = of_workgroup(own, %s);\n", tcb_wgsl_here(w->g->tree));
	tcb_wgsl_add(&w->w, "if (local == 0u) {\n%s = %s;\n}\n", to,
		     is_last && !w->is_sum && !w->g->program ? "value_of(total)" : "total");
}

/* Every groups-th step from the workgroup's own on: whole ones, then the one that is cut, in whose turn it is. */
static void write_reduce(struct writer *w, int x, int y, int partials)
{
	const struct reduce2d_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_begin(t, "reduce",
		       &(struct tcb_wgsl_entry){ .workgroup = g->workgroup,
						 .grid = { (uint32_t)g->groups },
						 .subgroups = g->tree == TCB_TREE_SUBGROUP,
						 .uses = { x, partials ? partials : y } });
	open_sums(w, g->unroll, w->vector);
	if (g->rounds > 1) {
		tcb_wgsl_add(t,
			     "let whole = count / %uu; // steps\n"
			     "for (var step = group.x; step < whole; step += groups) {\n"
			     "let first = step * %uu + local;\n",
			     g->step * g->width, g->step);
		write_step(w, "load");
		tcb_wgsl_add(t,
			     "}\n"
			     "if (whole %% groups == group.x) {\n"
			     "let first = whole * %uu + local;\n",
			     g->step);
		write_step(w, "load_end");
		tcb_wgsl_add(t, "}\n");
	} else {
		tcb_wgsl_add(t, "let first = group.x * %uu + local;\n", g->step);
		write_step(w, "load_end");
	}
	close_sums(w, g->unroll, g->width);
	write_result(w, partials ? "partials[group.x]" : "y[0]", !partials);
	tcb_wgsl_end(t);
}

/* All workgroups' results. */
static void write_join(struct writer *w, int y, int partials)
{
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_begin(t, "join",
		       &(struct tcb_wgsl_entry){ .workgroup = w->g->workgroup,
						 .subgroups = w->g->tree == TCB_TREE_SUBGROUP,
						 .uses = { partials, y } });
	open_sums(w, 1, w->scalar);
	tcb_wgsl_add(t, "for (var i = local; i < groups; i += %uu) {\n", w->g->workgroup);
	take(w, 0, "partials[i]", 1);
	tcb_wgsl_add(t, "}\n");
	close_sums(w, 1, 1);
	write_result(w, "y[0]", 1);
	tcb_wgsl_end(t);
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct reduce2d_wgsl g;
	struct writer w = { .g = &g, .is_sum = reduce2d_is_sum(problem) };
	struct tcb_wgsl *t = &w.w;
	char type[40], scalars[16];
	(void)target;

	reduce2d_wgsl_plan(problem, geometry, &g);
	w.scalar = w.is_sum ? "f32" : "u32";
	snprintf(w.none, sizeof w.none, w.is_sum ? "0.0" : "0u");
	if (g.program)
		snprintf(w.none, sizeof w.none, "0x%08xu", reduce2d_wgsl_bits(g.program->identity));
	snprintf(w.vector, sizeof w.vector, "vec%u<%s>", g.width, w.scalar);
	if (g.width == 1)
		snprintf(w.vector, sizeof w.vector, "%s", w.scalar);
	TCB_TRY(tcb_wgsl_open(t, problem, geometry, out, err));
	snprintf(type, sizeof type, "array<%s>", w.vector);
	snprintf(scalars, sizeof scalars, "array<%s>", w.scalar);
	const int x = tcb_wgsl_input(t, "x", type, REDUCE2D_X);
	const int y = tcb_wgsl_output(t, "y", scalars, REDUCE2D_Y);
	const int partials = g.has_join ? tcb_wgsl_workspace(t, "partials", scalars, g.groups * sizeof(float)) : 0;
	tcb_wgsl_number(t, "count", problem->shape.m * problem->shape.n);
	if (g.has_join || g.rounds > 1)
		tcb_wgsl_number(t, "groups", g.groups);
	if (g.program)
		reduce2d_wgsl_write_program(t, g.program, g.width);
	else if (!w.is_sum)
		write_order(&w, problem->op->member == &reduce2d_min);
	write_loads(&w);
	tcb_wgsl_add_tree(t, &(struct tcb_wgsl_tree){ .name = "of_workgroup",
						      .type = w.scalar,
						      .operation = w.is_sum ? TCB_WGSL_SUM : TCB_WGSL_MAX,
						      .function = g.program ? "combine" : NULL,
						      .tree = g.tree,
						      .workgroup = g.workgroup });
	write_reduce(&w, x, y, partials);
	if (partials)
		write_join(&w, y, partials);
	const int is_bounded = w.is_sum || (g.program && reduce2d_program_roundings(g.program));
	out->class = is_bounded ? TCB_CLASS_BOUNDED : TCB_CLASS_EXACT;
	out->chain = is_bounded ? reduce2d_wgsl_chain(&g) : 0;
	return tcb_wgsl_close(t, err);
}

#define SIDE(what, its_class)                                                                                  \
	const struct tcb_side reduce2d_##what##_wgsl = {                                                       \
		.variants = TCB_EMITTED(TCB_EMITTED_ROW("reduce2d_" #what "_f32_wgsl", F32, WGSL, its_class)), \
		.space = &reduce2d_wgsl_space,                                                                 \
		.emit = emit,                                                                                  \
	}
SIDE(sum, BOUNDED);
SIDE(max, EXACT);
SIDE(min, EXACT);
SIDE(absmax, EXACT);
