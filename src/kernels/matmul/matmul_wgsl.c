/* SPDX-License-Identifier: MIT
 *
 * The dense products in WGSL: a geometry comes in, a module and its launch go
 * out.  matmul_wgsl.h says how the geometry drives them.
 */
#include "kernels/matmul/matmul_wgsl.h"

#include "kernels/wgsl/wgsl.h"

struct writer {
	struct tcb_wgsl w;
	const struct matmul_wgsl *g;
	int a, b, c; /* bindings */
};

static const char parts[] = "xyzw";

/* --- operands --- */

/* Vectors of four elements are loaded and stored. */
static void write_wide(struct writer *w)
{
	const int is_f32 = w->g->type == TCB_TYPE_F32;
	const char *from = is_f32 ? "" : "from_halves(", *to = is_f32 ? "" : "to_halves(", *end = is_f32 ? "" : ")";

	tcb_wgsl_add(&w->w,
		     "\n"
		     "// Four values of a row of A from 4 * VECTOR on; what is not there counts as zeros.\n"
		     "fn a_at(row: u32, vector: u32) -> vec4<f32> {\n"
		     "var values = vec4<f32>(0.0);\n"
		     "if (whole == 1u || (row < m && vector * 4u < k)) {\n"
		     "values = %sa[row * (k / 4u) + vector]%s;\n"
		     "}\n"
		     "return values;\n"
		     "}\n"
		     "\n"
		     "fn b_at(row: u32, vector: u32) -> vec4<f32> {\n"
		     "var values = vec4<f32>(0.0);\n"
		     "if (whole == 1u || (row < k && vector * 4u < n)) {\n"
		     "values = %sb[row * (n / 4u) + vector]%s;\n"
		     "}\n"
		     "return values;\n"
		     "}\n"
		     "\n"
		     "fn put(row: u32, vector: u32, values: vec4<f32>) {\n"
		     "if (whole == 1u || (row < m && vector * 4u < n)) {\n"
		     "c[row * (n / 4u) + vector] = %svalues%s;\n"
		     "}\n"
		     "}\n",
		     from, end, from, end, to, end);
}

/* One element by one. */
static void write_narrow(struct writer *w)
{
	const int is_f32 = w->g->type == TCB_TYPE_F32;
	const char *of_a = is_f32 ? "a[at]" : "from_halves(vec2<u32>(a[at / 2u] >> (at % 2u * 16u), 0u)).x";
	const char *of_b = is_f32 ? "b[at]" : "from_halves(vec2<u32>(b[at / 2u] >> (at % 2u * 16u), 0u)).x";
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_add(t,
		     "\n"
		     "// Four values of a row of A from 4 * VECTOR on; what is not there counts as zeros.\n"
		     "fn a_at(row: u32, vector: u32) -> vec4<f32> {\n"
		     "var values = vec4<f32>(0.0);\n"
		     "for (var i = 0u; i < 4u; i++) {\n"
		     "let at = row * k + vector * 4u + i;\n"
		     "if (whole == 1u || (row < m && vector * 4u + i < k)) {\n"
		     "values[i] = %s;\n"
		     "}\n"
		     "}\n"
		     "return values;\n"
		     "}\n"
		     "\n"
		     "fn b_at(row: u32, vector: u32) -> vec4<f32> {\n"
		     "var values = vec4<f32>(0.0);\n"
		     "for (var i = 0u; i < 4u; i++) {\n"
		     "let at = row * n + vector * 4u + i;\n"
		     "if (whole == 1u || (row < k && vector * 4u + i < n)) {\n"
		     "values[i] = %s;\n"
		     "}\n"
		     "}\n"
		     "return values;\n"
		     "}\n",
		     of_a, of_b);
	if (!is_f32)
		tcb_wgsl_add(t, "\n// Another workgroup may be storing the word's other half.\n");
	tcb_wgsl_add(t, "%sfn put(row: u32, vector: u32, values: vec4<f32>) {\n", is_f32 ? "\n" : "");
	if (!is_f32)
		tcb_wgsl_add(t, "let words = to_halves(values);\n");
	tcb_wgsl_add(t,
		     "for (var i = 0u; i < 4u; i++) {\n"
		     "let at = row * n + vector * 4u + i;\n"
		     "if (whole == 1u || (row < m && vector * 4u + i < n)) {\n"
		     "%s"
		     "}\n"
		     "}\n"
		     "}\n",
		     is_f32 ? "c[at] = values[i];\n"
			    : "let half = (select(words.x, words.y, i >= 2u) >> (i % 2u * 16u)) & 0xffffu;\n"
			      "atomicAnd(&c[at / 2u], 0xffff0000u >> (at % 2u * 16u));\n"
			      "atomicOr(&c[at / 2u], half << (at % 2u * 16u));\n");
}

/* --- a step --- */

static void write_memory(struct writer *w)
{
	const struct matmul_wgsl *g = w->g;

	tcb_wgsl_add(&w->w,
		     "\n"
		     "// A step's values: of each k four rows of A, and four columns of B, together.\n"
		     "var<workgroup> a_values: array<vec4<f32>, %u>;\n"
		     "var<workgroup> b_values: array<vec4<f32>, %u>;\n",
		     g->step * g->pitch_a, g->step * g->pitch_b);
}

/* STEP's values, into variables; LET: "let " or "var " where they are new. */
static void write_loads(struct writer *w, const char *let, const char *step)
{
	const struct matmul_wgsl *g = w->g;
	const unsigned of_row = g->step / MATMUL_WGSL_FOUR;
	struct tcb_wgsl *t = &w->w;

	for (unsigned i = 0; i < g->a_loads; i++)
		tcb_wgsl_add(t,
			     "%sa_next%u = a_at(first_row + (local + %uu) / %uu, %s * %uu + (local + %uu) %% %uu);\n",
			     let, i, i * g->workgroup, of_row, step, of_row, i * g->workgroup, of_row);
	for (unsigned i = 0; i < g->b_loads; i++)
		tcb_wgsl_add(
			t, "%sb_next%u = b_at(%s * %uu + (local + %uu) / %uu, first_vector + (local + %uu) %% %uu);\n",
			let, i, step, g->step, i * g->workgroup, g->pitch_b, i * g->workgroup, g->pitch_b);
}

/* What was loaded to workgroup memory, A's transposed. */
static void write_keeps(struct writer *w)
{
	const struct matmul_wgsl *g = w->g;
	const unsigned of_row = g->step / MATMUL_WGSL_FOUR;
	struct tcb_wgsl *t = &w->w;

	for (unsigned i = 0; i < g->a_loads; i++) {
		tcb_wgsl_add(t,
			     "let row%u = (local + %uu) / %uu;\n"
			     "let to%u = (local + %uu) %% %uu * %uu + row%u / 4u;\n",
			     i, i * g->workgroup, of_row, i, i * g->workgroup, of_row, MATMUL_WGSL_FOUR * g->pitch_a,
			     i);
		for (unsigned v = 0; v < MATMUL_WGSL_FOUR; v++)
			tcb_wgsl_add(t, "a_values[to%u + %uu][row%u %% 4u] = a_next%u.%c;\n", i, v * g->pitch_a, i, i,
				     parts[v]);
	}
	for (unsigned i = 0; i < g->b_loads; i++)
		tcb_wgsl_add(t, "b_values[local + %uu] = b_next%u;\n", i * g->workgroup, i);
}

static void write_products(struct writer *w)
{
	const struct matmul_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	for (unsigned k = 0; k < g->step; k++) {
		tcb_wgsl_add(t, "{\n");
		for (unsigned r = 0; r < g->rows; r++)
			tcb_wgsl_add(t, "let a%u = a_values[at_m + %uu];\n", r, k * g->pitch_a + r * g->across_m);
		for (unsigned c = 0; c < g->columns; c++)
			tcb_wgsl_add(t, "let b%u = b_values[at_n + %uu];\n", c, k * g->pitch_b + c * g->across_n);
		for (unsigned r = 0; r < g->rows * MATMUL_WGSL_FOUR; r++)
			for (unsigned c = 0; c < g->columns; c++)
				tcb_wgsl_add(t, "sum%u_%u = fma(vec4<f32>(a%u.%c), b%u, sum%u_%u);\n", r, c,
					     r / MATMUL_WGSL_FOUR, parts[r % MATMUL_WGSL_FOUR], c, r, c);
		tcb_wgsl_add(t, "}\n");
	}
}

/* --- the entry --- */

static void write_matmul(struct writer *w)
{
	const struct matmul_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_begin(t, "matmul",
		       &(struct tcb_wgsl_entry){ .workgroup = g->workgroup,
						 .grid = { g->groups_n, g->groups_m },
						 .uses = { w->a, w->b, w->c } });
	tcb_wgsl_add(t,
		     "let first_row = group.y * %uu;\n"
		     "let first_vector = group.x * %uu; // of four columns\n"
		     "let at_n = local %% %uu;\n"
		     "let at_m = local / %uu;\n",
		     g->tile_m, g->pitch_b, g->across_n, g->across_n);
	for (unsigned r = 0; r < g->rows * MATMUL_WGSL_FOUR; r++)
		for (unsigned c = 0; c < g->columns; c++)
			tcb_wgsl_add(t, "var sum%u_%u = vec4<f32>(0.0);\n", r, c);
	if (g->stages == 2)
		write_loads(w, "var ", "0u");
	tcb_wgsl_add(t, "for (var step = 0u; step < steps; step++) {\n");
	if (g->stages == 1)
		write_loads(w, "let ", "step");
	tcb_wgsl_add(t, "workgroupBarrier();\n");
	write_keeps(w);
	tcb_wgsl_add(t, "workgroupBarrier();\n");
	if (g->stages == 2) {
		tcb_wgsl_add(t, "if (step + 1u < steps) {\n"
				"let after = step + 1u;\n");
		write_loads(w, "", "after");
		tcb_wgsl_add(t, "}\n");
	}
	write_products(w);
	tcb_wgsl_add(t, "}\n");
	for (unsigned r = 0; r < g->rows * MATMUL_WGSL_FOUR; r++)
		for (unsigned c = 0; c < g->columns; c++)
			tcb_wgsl_add(t,
				     "put(first_row + (at_m + %uu) * 4u + %uu, first_vector + at_n + %uu, sum%u_%u);\n",
				     r / MATMUL_WGSL_FOUR * g->across_m, r % MATMUL_WGSL_FOUR, c * g->across_n, r, c);
	tcb_wgsl_end(t);
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct matmul_wgsl g;
	struct writer w = { .g = &g };
	struct tcb_wgsl *t = &w.w;
	(void)target;

	matmul_wgsl_plan(problem, geometry, &g);
	const int is_f32 = g.type == TCB_TYPE_F32;
	const char *wide = is_f32 ? "array<vec4<f32>>" : "array<vec2<u32>>",
		   *narrow = is_f32 ? "array<f32>" : "array<u32>";
	const char *type = g.is_wide ? wide : narrow;
	TCB_TRY(tcb_wgsl_open(t, problem, geometry, out, err));
	w.a = tcb_wgsl_input(t, "a", type, MATMUL_A);
	w.b = tcb_wgsl_input(t, "b", type, MATMUL_B);
	w.c = tcb_wgsl_output(t, "c", is_f32 || g.is_wide ? type : "array<atomic<u32>>", MATMUL_C);
	tcb_wgsl_number(t, "m", g.m);
	tcb_wgsl_number(t, "n", g.n);
	tcb_wgsl_number(t, "k", g.k);
	tcb_wgsl_number(t, "steps", g.steps);
	tcb_wgsl_number(t, "whole", (size_t)g.is_whole);
	if (!is_f32) {
		tcb_wgsl_add_from_halves(t, "from_halves", g.type, 4);
		tcb_wgsl_add_to_halves(t, "to_halves", g.type, 4);
	}
	(g.is_wide ? write_wide : write_narrow)(&w);
	write_memory(&w);
	write_matmul(&w);
	out->class = TCB_CLASS_BOUNDED;
	out->chain = (double)g.k + 1; /* a product and an addition a step; fused ones round less */
	return tcb_wgsl_close(t, err);
}

#define SIDE(type, contract)                                                                                       \
	const struct tcb_side matmul_##type##_wgsl = { .variants = TCB_EMITTED(TCB_EMITTED_ROW(                    \
							       "matmul_" #type "_wgsl", contract, WGSL, BOUNDED)), \
						       .space = &matmul_wgsl_space,                                \
						       .emit = emit }
SIDE(f32, F32);
SIDE(f16, F16);
SIDE(bf16, F16);
