/* SPDX-License-Identifier: MIT
 *
 * The element-wise ops in WGSL: a geometry comes in, a module and its launch go out.
 * elementwise_wgsl.h says how the geometry drives it.
 */
#include "kernels/elementwise/elementwise_wgsl.h"

#include <stdio.h>

#include "kernels/wgsl/wgsl.h"

/*
 * WGSL, "Accuracy of Concrete Floating Point Expressions": exp(z) is within 3 + 2 |z| ulp, of which 2 |z| are 4
 * roundings of z; a quotient within 2.5; sums and products within 1, since they are rounded either way.  z of gelu has
 * five such and its constants in each term, silu's none.  The last rounding to f16 may be to the other side, too: half
 * a unit of f16, 2^-11, beside what the reference allows it, or for sums and products alone a whole one.
 */
#define LOGISTIC_ULPS 6.6
#define SOFTPLUS_ULPS 16 /* seven terms of a sum, each with a product */
#define SUM_ULPS 1
#define GATE_ULPS 1
#define SILU_CHAIN 4.1
#define GELU_CHAIN 14.1
#define HALF_UNIT_ULPS 4096

struct writer {
	struct tcb_wgsl w;
	const struct elementwise_wgsl *g;
	char vector[16]; /* what an invocation loads: "vec4<f32>" */
	char values[16]; /* what is computed at a time */
};

static void name_vector(char out[16], unsigned width, const char *scalar)
{
	if (width == 1)
		snprintf(out, 16, "%s", scalar);
	else
		snprintf(out, 16, "vec%u<%s>", width, scalar);
}

/* --- functions of the module --- */

/* relu of bits: what is from -0 to -inf becomes 0. */
static void write_relu(struct writer *w)
{
	const char *v = w->vector;

	if (w->g->type == TCB_TYPE_F32)
		tcb_wgsl_add(&w->w,
			     "\n"
			     "// 0 for the bits from those of -0 on to those of -inf.\n"
			     "fn result(x: %s) -> %s {\n"
			     "return select(x, %s(0u), (x - %s(0x80000000u)) <= %s(0x7f800000u));\n"
			     "}\n",
			     v, v, v, v, v);
	else
		tcb_wgsl_add(&w->w,
			     "\n"
			     "// 0 for the bits from those of -0 on to those of -inf.\n"
			     "fn halves(x: %s) -> %s {\n"
			     "return select(x, %s(0u), (x - %s(0x8000u)) <= %s(0x7c00u));\n"
			     "}\n"
			     "\n"
			     "fn result(x: %s) -> %s {\n"
			     "return halves(x & %s(0xffffu)) | (halves(x >> %s(16u)) << %s(16u));\n"
			     "}\n",
			     v, v, v, v, v, v, v, v, v, v);
}

/* log(1 + exp(x)): elementwise.h */
static void write_softplus(struct writer *w)
{
	const char *v = w->values;

	tcb_wgsl_add(&w->w,
		     "\n"
		     "fn softplus(x: %s) -> %s {\n"
		     "let t = exp(-min(abs(x), %s(87.3)));\n"
		     "let s = t / (%s(2.0) + t);\n"
		     "var sum = %s(%.9g);\n",
		     v, v, v, v, v, 2.0 / ELEMENTWISE_ATANH_LAST);
	for (int i = ELEMENTWISE_ATANH_LAST - 2; i > 0; i -= 2)
		tcb_wgsl_add(&w->w, "sum = sum * (s * s) + %s(%.9g);\n", v, 2.0 / i);
	tcb_wgsl_add(&w->w, "return max(x, %s(0.0)) + s * sum;\n}\n", v);
}

/* x / (1 + exp(-z)), and sigmoid's 1 / (1 + exp(-x)) */
static void write_logistic(struct writer *w)
{
	const char *v = w->values;

	if (w->g->kind == ELEMENTWISE_SOFTPLUS_MUL)
		write_softplus(w);
	else if (w->g->kind == ELEMENTWISE_SIGMOID_MUL)
		tcb_wgsl_add(&w->w,
			     "\n"
			     "fn sigmoid(x: %s) -> %s {\n"
			     "return %s(1.0) / (%s(1.0) + exp(-clamp(x, %s(-87.3), %s(87.3)))); // exp is below 2^126\n"
			     "}\n",
			     v, v, v, v, v, v);
	else if (elementwise_is_gelu(w->g->kind))
		tcb_wgsl_add(&w->w,
			     "\n"
			     "fn gelu(x: %s) -> %s {\n"
			     "let near = clamp(x, %s(-10.0), %s(10.0)); // exp(-z) is below 2^126\n"
			     "let z = near * (%s(%.9g) + %s(%.9g) * near * near);\n"
			     "return select(x / (%s(1.0) + exp(-z)), %s(0.0), x < %s(-10.0));\n"
			     "}\n",
			     v, v, v, v, v, TCB_GELU_Z1, v, TCB_GELU_Z3, v, v, v);
	else
		tcb_wgsl_add(&w->w,
			     "\n"
			     "fn silu(x: %s) -> %s {\n"
			     "let near = clamp(x, %s(-87.3), %s(87.3)); // exp(-near) is below 2^126\n"
			     "return select(x / (%s(1.0) + exp(-near)), %s(0.0), x < %s(-87.3));\n"
			     "}\n",
			     v, v, v, v, v, v, v);
}

static const char *expression(enum elementwise_kind kind)
{
	switch (kind) {
	case ELEMENTWISE_ADD:
		return "x + b";
	case ELEMENTWISE_MUL:
		return "x * b";
	case ELEMENTWISE_SILU_MUL:
		return "silu(x) * b";
	case ELEMENTWISE_GELU_MUL:
		return "gelu(x) * b";
	case ELEMENTWISE_SIGMOID_MUL:
		return "sigmoid(x) * b";
	case ELEMENTWISE_SOFTPLUS_MUL:
		return "softplus(x) * b";
	case ELEMENTWISE_GELU:
		return "gelu(x)";
	default:
		return "silu(x)";
	}
}

/* result(x, b) of vectors as they are loaded. */
static void write_result(struct writer *w)
{
	static const char *const words[] = { "", "", "pair(x.x), pair(x.y)", "",
					     "pair(x.x), pair(x.y), pair(x.z), pair(x.w)" };
	static const char *const both[] = { "", "", "pair(x.x, b.x), pair(x.y, b.y)", "",
					    "pair(x.x, b.x), pair(x.y, b.y), pair(x.z, b.z), pair(x.w, b.w)" };
	const struct elementwise_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	const int is_gated = g->inputs > 1;
	char second[24] = "";

	if (!elementwise_is_exact(g->kind))
		write_logistic(w);
	if (is_gated)
		snprintf(second, sizeof second, ", b: %s", w->values);
	tcb_wgsl_add(t, "\nfn %s(x: %s%s) -> %s {\nreturn %s;\n}\n", g->type == TCB_TYPE_F32 ? "result" : "values",
		     w->values, second, w->values, expression(g->kind));
	if (g->type == TCB_TYPE_F32)
		return;
	tcb_wgsl_add(t,
		     "\n"
		     "// Of two f16 in a word.\n"
		     "fn %s(x: u32%s) -> u32 {\n"
		     "return pack2x16float(values(unpack2x16float(x)%s));\n"
		     "}\n",
		     g->words == 1 ? "result" : "pair", is_gated ? ", b: u32" : "",
		     is_gated ? ", unpack2x16float(b)" : "");
	if (g->words > 1)
		tcb_wgsl_add(t, "\nfn result(x: %s%s%s) -> %s {\nreturn %s(%s);\n}\n", w->vector,
			     is_gated ? ", b: " : "", is_gated ? w->vector : "", w->vector, w->vector,
			     (is_gated ? both : words)[g->words]);
}

/* The vector at AT, of which the first LEFT elements are the matrix's. */
static void write_store_end(struct writer *w)
{
	static const char *const parts[] = { ".x", ".y", ".z", ".w" };
	const struct elementwise_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;

	tcb_wgsl_add(t,
		     "\n// Where the matrix ends: the first of a vector's elements, as many as are left.\n"
		     "fn store_end(at: u32, value: %s, left: u32) {\n",
		     w->vector);
	for (unsigned i = 0; i < g->words; i++) {
		const char *part = g->words > 1 ? parts[i] : "";

		if (g->type == TCB_TYPE_F32)
			tcb_wgsl_add(t, "if (left > %uu) {\ny[at]%s = value%s;\n}\n", i, part, part);
		else
			tcb_wgsl_add(t,
				     "if (left > %uu) {\n"
				     "y[at]%s = value%s;\n"
				     "} else if (left > %uu) {\n"
				     "y[at]%s = (y[at]%s & 0xffff0000u) | (value%s & 0xffffu);\n"
				     "}\n",
				     2 * i + 1, part, part, 2 * i, part, part, part);
	}
	tcb_wgsl_add(t, "}\n");
}

/* --- the entry --- */

static void write_entry(struct writer *w, const int uses[3])
{
	const struct elementwise_wgsl *g = w->g;
	struct tcb_wgsl *t = &w->w;
	struct tcb_wgsl_entry entry = { .workgroup = g->workgroup, .grid = { g->grid[0], g->grid[1] } };
	const char *other = g->inputs > 1 ? ", b[at]" : "";

	for (size_t i = 0; i <= g->inputs; i++)
		entry.uses[i] = uses[i];
	tcb_wgsl_begin(t, "elementwise", &entry);
	tcb_wgsl_add(t,
		     "let first = (group.x + group.y * across) * %uu + local;\n"
		     "if ((first + %uu) * %uu <= count) {\n",
		     g->step, g->workgroup * (g->unroll - 1) + 1, g->width);
	for (unsigned o = 0; o < g->inputs; o++)
		for (unsigned i = 0; i < g->unroll; i++)
			tcb_wgsl_add(t, "let %s%u = %s[first + %uu];\n", o ? "b" : "x", i, o ? "b" : "x",
				     i * g->workgroup);
	for (unsigned i = 0; i < g->unroll; i++)
		if (g->inputs > 1)
			tcb_wgsl_add(t, "y[first + %uu] = result(x%u, b%u);\n", i * g->workgroup, i, i);
		else
			tcb_wgsl_add(t, "y[first + %uu] = result(x%u);\n", i * g->workgroup, i);
	tcb_wgsl_add(t,
		     "} else {\n"
		     "for (var i = 0u; i < %uu; i++) {\n"
		     "let at = first + i * %uu;\n"
		     "if (at * %uu < count) {\n"
		     "store_end(at, result(x[at]%s), count - at * %uu);\n"
		     "}\n"
		     "}\n"
		     "}\n",
		     g->unroll, g->workgroup, g->width, other, g->width);
	tcb_wgsl_end(t);
}

static void set_bound(const struct elementwise_wgsl *g, struct tcb_kernel *out)
{
	const int is_half = g->type == TCB_TYPE_F16;

	out->class = g->kind == ELEMENTWISE_RELU ? TCB_CLASS_EXACT : TCB_CLASS_APPROX;
	if (g->kind == ELEMENTWISE_RELU)
		return;
	if (elementwise_is_exact(g->kind)) {
		out->ulps = is_half ? 2 * HALF_UNIT_ULPS : SUM_ULPS;
		return;
	}
	out->chain = elementwise_is_gelu(g->kind) ? GELU_CHAIN : SILU_CHAIN;
	out->ulps = (g->kind == ELEMENTWISE_SOFTPLUS_MUL ? SOFTPLUS_ULPS : LOGISTIC_ULPS) +
		    (elementwise_is_gated(g->kind) ? GATE_ULPS : 0) + (is_half ? HALF_UNIT_ULPS : 0);
}

static enum tcb_status emit(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct elementwise_wgsl g;
	struct writer w = { .g = &g };
	struct tcb_wgsl *t = &w.w;
	char type[32];
	int uses[3] = { 0 };
	(void)target;

	elementwise_wgsl_plan(problem, geometry, &g);
	const int is_words = g.type == TCB_TYPE_F16 || g.kind == ELEMENTWISE_RELU;
	name_vector(w.vector, g.words, is_words ? "u32" : "f32");
	name_vector(w.values, g.type == TCB_TYPE_F16 ? 2 : g.words, "f32");
	TCB_TRY(tcb_wgsl_open(t, problem, geometry, out, err));
	snprintf(type, sizeof type, "array<%s>", w.vector);
	for (unsigned o = 0; o < g.inputs; o++)
		uses[o] = tcb_wgsl_input(t, o == ELEMENTWISE_X ? "x" : "b", type, o);
	uses[g.inputs] = tcb_wgsl_output(t, "y", type, g.inputs);
	tcb_wgsl_number(t, "count", g.count);
	tcb_wgsl_number(t, "across", g.grid[0]);
	(g.kind == ELEMENTWISE_RELU ? write_relu : write_result)(&w);
	write_store_end(&w);
	write_entry(&w, uses);
	set_bound(&g, out);
	return tcb_wgsl_close(t, err);
}

#define SIDE(f, KIND, CLASS, its_type, TYPE, ...)                                                                  \
	const struct tcb_side elementwise_##f##_##its_type##_wgsl = {                                              \
		.variants = TCB_EMITTED(                                                                           \
			{ .name = "elementwise_" #f "_" #its_type "_wgsl",                                         \
			  .contract = TCB_CONTRACT_##TYPE,                                                         \
			  .isa = TCB_ISA_WGSL,                                                                     \
			  .class = ELEMENTWISE_##KIND == ELEMENTWISE_RELU ? TCB_CLASS_EXACT : TCB_CLASS_APPROX }), \
		.space = &elementwise_wgsl_space,                                                                  \
		.emit = emit,                                                                                      \
	};
ELEMENTWISE_LIST(SIDE, )
