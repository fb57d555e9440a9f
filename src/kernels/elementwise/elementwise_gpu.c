/* SPDX-License-Identifier: MIT
 *
 * The element-wise ops on a GPU: a geometry comes in, a module of PTX and its launch go
 * out.  elementwise_gpu.h says how the geometry drives it.
 */
#include "kernels/elementwise/elementwise_gpu.h"

#include <string.h>

#include "kernels/gpu/frame.h"

/*
 * ex2.approx is within 2 ulp (CUDA C++ Programming Guide 13.0, table of functions: exp2f), rcp.approx within 1; the sum
 * and the product half an ulp each, and what these make of each other.  The argument of silu's power has one rounding
 * and its constant's, gelu's four and its constants'.
 */
#define LOGISTIC_ULPS 4.1
#define SOFTPLUS_ULPS 7 /* some roundings more */
#define GATE_ULPS 0.5
#define SILU_CHAIN 1.3
#define GELU_CHAIN 5.1
#define LOG2_E 1.4426950408889634

enum { WORDS_MAX = ELEMENTWISE_UNROLL_MAX * ELEMENTWISE_WORDS_MAX };

struct writer {
	struct tcb_kit kit;
	const struct elementwise_gpu *g;
	kit_op input[2], y;
	kit_op vectors, rest;
	kit_op block, blocks;
};

/* x / (1 + 2^-(z log2(e))): where the power is infinite, x 0. */
static kit_op logistic(struct writer *w, kit_op x)
{
	struct tcb_ptx_build *b = &w->kit.b;
	kit_op slope = F((float)-LOG2_E);
	if (elementwise_is_gelu(w->g->kind))
		slope = f_fma(b, f_mul(b, x, x), F((float)(-LOG2_E * TCB_GELU_Z3)), F((float)(-LOG2_E * TCB_GELU_Z1)));
	const kit_op power = f_power2(b, f_mul(b, x, slope));
	return f_mul(b, x, f_reciprocal_near(b, f_add(b, power, F(1))));
}

static kit_op sigmoid(struct tcb_ptx_build *b, kit_op x)
{
	return f_reciprocal_near(b, f_add(b, f_power2(b, f_mul(b, x, F((float)-LOG2_E))), F(1)));
}

static kit_op softplus(struct tcb_ptx_build *b, kit_op x)
{
	const kit_op t = f_power2(b, f_mul(b, f_abs(b, x), F((float)-LOG2_E)));
	const kit_op s = f_mul(b, t, f_reciprocal_near(b, f_add(b, t, F(2)))), square = f_mul(b, s, s);
	kit_op sum = F(2.0f / ELEMENTWISE_ATANH_LAST);
	for (int i = ELEMENTWISE_ATANH_LAST - 2; i > 0; i -= 2)
		sum = f_fma(b, sum, square, F(2.0f / (float)i));
	return f_fma(b, s, sum, f_max(b, x, F(0)));
}

static kit_op relu(struct writer *w, kit_op x)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (b->module->target.sm >= 80)
		return f_max_nan(b, x, F(0));
	return f_select(b, x, f_max(b, x, F(0)), f_unordered(b, x, x));
}

/* Of one element in f32. */
static kit_op one_result(struct writer *w, kit_op x, kit_op other)
{
	struct tcb_ptx_build *b = &w->kit.b;
	switch (w->g->kind) {
	case ELEMENTWISE_RELU:
		return relu(w, x);
	case ELEMENTWISE_ADD:
		return f_add(b, x, other);
	case ELEMENTWISE_MUL:
		return f_mul(b, x, other);
	case ELEMENTWISE_SILU_MUL:
	case ELEMENTWISE_GELU_MUL:
		return f_mul(b, logistic(w, x), other);
	case ELEMENTWISE_SIGMOID_MUL:
		return f_mul(b, sigmoid(b, x), other);
	case ELEMENTWISE_SOFTPLUS_MUL:
		return f_mul(b, softplus(b, x), other);
	default:
		return logistic(w, x);
	}
}

/* Of a register of each input: one f32, or two f16. */
static kit_op word_result(struct writer *w, kit_op x, kit_op other)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const enum elementwise_kind kind = w->g->kind;
	kit_op from[2][2], to[2];
	if (w->g->type == TCB_TYPE_F32)
		return one_result(w, x, other);
	if (kind == ELEMENTWISE_ADD || kind == ELEMENTWISE_MUL)
		return (kind == ELEMENTWISE_ADD ? h_add : h_mul)(b, x, other);
	tcb_kit_floats(b, x, from[ELEMENTWISE_X]);
	if (w->g->inputs > 1)
		tcb_kit_floats(b, other, from[ELEMENTWISE_B]);
	for (int i = 0; i < 2; i++)
		to[i] = one_result(w, from[ELEMENTWISE_X][i],
				   from[w->g->inputs > 1 ? ELEMENTWISE_B : ELEMENTWISE_X][i]);
	return tcb_kit_pack_f16(b, to[0], to[1]);
}

/* The block's step number STEP; IS_CUT: as far as there are vectors. */
static void write_step(struct writer *w, kit_op step, int is_cut)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct elementwise_gpu *g = w->g;
	const char *type = g->type == TCB_TYPE_F32 ? "f32" : "b32";
	const kit_op first = u_mad(b, step, I(g->step), w->kit.tid);
	const int64_t apart = (int64_t)g->threads * g->vec;
	kit_op value[2][WORDS_MAX], inside[ELEMENTWISE_UNROLL_MAX], result[ELEMENTWISE_WORDS_MAX];
	for (unsigned i = 0; is_cut && i < g->unroll; i++)
		inside[i] = u_lt(b, u_add(b, first, I(i * g->threads)), w->vectors);
	for (unsigned o = 0; o < g->inputs; o++)
		for (unsigned i = 0; i < g->unroll * g->words; i++)
			value[o][i] = !is_cut                   ? tcb_ptx_reg(b, type)
				      : g->type == TCB_TYPE_F32 ? f_set(b, F(0))
								: b_set(b, I(0));
	for (unsigned o = 0; o < g->inputs; o++) {
		const kit_op from = l_mad_wide(b, first, I(g->vec), w->input[o]);
		for (unsigned i = 0; i < g->unroll; i++) {
			if (is_cut)
				tcb_ptx_guard(b, inside[i]);
			tcb_kit_load_into(b, tcb_kit_input_once(g->pdl), type, tcb_ptx_at(from, i * apart),
					  value[o] + i * g->words, g->words);
			tcb_ptx_unguard(b);
		}
	}
	const kit_op to = l_mad_wide(b, first, I(g->vec), w->y);
	for (unsigned i = 0; i < g->unroll; i++) {
		for (unsigned j = 0; j < g->words; j++)
			result[j] = word_result(w, value[ELEMENTWISE_X][i * g->words + j],
						value[g->inputs - 1][i * g->words + j]);
		if (is_cut)
			tcb_ptx_guard(b, inside[i]);
		tcb_kit_store(b, g->stream ? TCB_KIT_STREAM : TCB_KIT_GLOBAL, type, tcb_ptx_at(to, i * apart), result,
			      g->words);
		tcb_ptx_unguard(b);
	}
}

/* Whole steps in turn, then the cut one, which is the next block's turn. */
static void write_steps(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (!w->g->resident) {
		write_step(w, w->block, 1);
		return;
	}
	const kit_op whole = u_div(b, w->vectors, I(w->g->step));
	const kit_op loop = tcb_ptx_for_begin(b, w->block, whole, w->blocks, 0);
	tcb_kit_nounroll(b);
	write_step(w, loop, 0);
	tcb_ptx_for_end(b);
	tcb_ptx_if_begin(b, u_eq(b, u_rem(b, whole, w->blocks), w->block));
	write_step(w, whole, 1);
	tcb_ptx_if_end(b);
}

/* Elements past the last whole vector: one each for the first threads of block 0. */
static void write_rest(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const unsigned bytes = (unsigned)tcb_type_bytes(w->g->type);
	const int is_half = w->g->type == TCB_TYPE_F16;
	const char *type = is_half ? "b16" : "f32";
	kit_op value[2];
	tcb_ptx_if_begin(b, u_lt_and(b, w->kit.tid, w->rest, u_eq(b, w->block, I(0))));
	const kit_op index = u_mad(b, w->vectors, I(w->g->width), w->kit.tid);
	for (unsigned o = 0; o < w->g->inputs; o++) {
		value[o] =
			tcb_kit_get(b, tcb_kit_input(w->g->pdl), type, tcb_kit_element(b, w->input[o], index, bytes));
		if (is_half)
			value[o] = f_from_f16(b, value[o]);
	}
	const kit_op result = one_result(w, value[0], value[w->g->inputs - 1]);
	tcb_kit_put(b, TCB_KIT_GLOBAL, type, tcb_kit_element(b, w->y, index, bytes),
		    is_half ? f16_from_f(b, result) : result);
	tcb_ptx_if_end(b);
}

static void write_kernel(struct writer *w)
{
	static const char *const names[] = { "x", "b" };
	const struct elementwise_gpu *g = w->g;
	struct tcb_ptx_build *b = &w->kit.b;
	tcb_kit_begin(&w->kit, "elementwise",
		      &(struct tcb_kit_kernel){ .threads = g->threads,
						.blocks_together = g->together,
						.grid = { g->grid },
						.is_dependent = g->pdl });
	for (unsigned o = 0; o < g->inputs; o++)
		w->input[o] = tcb_kit_operand(&w->kit, names[o], 16, o);
	w->y = tcb_kit_operand(&w->kit, "y", 16, g->inputs);
	w->vectors = tcb_kit_number(&w->kit, "vectors", g->vectors);
	if (g->width > 1)
		w->rest = tcb_kit_number(&w->kit, "rest", g->rest);
	tcb_kit_dependents(&w->kit, 1);
	w->kit.tid = u_thread(b);
	w->block = u_block_x(b);
	if (g->resident)
		w->blocks = u_blocks_x(b);
	write_steps(w);
	if (g->width > 1)
		write_rest(w);
	tcb_kit_end(&w->kit);
}

static enum tcb_status elementwise_emit(const struct tcb_problem *problem, const struct tcb_target *target,
					const struct tcb_geometry *geometry, struct tcb_kernel *out,
					struct tcb_error *err)
{
	struct elementwise_gpu g;
	struct writer w = { .g = &g };
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, 0, geometry, out, err));
	elementwise_gpu_plan(problem, target, geometry, &g);
	write_kernel(&w);
	out->class = TCB_CLASS_EXACT;
	if (!elementwise_is_exact(g.kind)) {
		out->class = TCB_CLASS_APPROX;
		out->chain = elementwise_is_gelu(g.kind) ? GELU_CHAIN : SILU_CHAIN;
		out->ulps = (g.kind == ELEMENTWISE_SOFTPLUS_MUL ? SOFTPLUS_ULPS : LOGISTIC_ULPS) +
			    (elementwise_is_gated(g.kind) ? GATE_ULPS : 0);
	}
	return tcb_kit_close(&w.kit, err);
}

#define SIDE(f, KIND, CLASS, its_type, TYPE, ...)                                                                 \
	static const struct tcb_variant f##_##its_type##_variants[] = { { .name = "elementwise_" #f "_" #its_type \
										  "_ptx",                         \
									  .contract = TCB_CONTRACT_##TYPE,        \
									  .isa = TCB_ISA_FMA,                     \
									  .class = TCB_CLASS_##CLASS },           \
									{ .name = NULL } };                       \
	const struct tcb_side elementwise_##f##_##its_type##_gpu = {                                              \
		.variants = TCB_VARIANT_LIST(f##_##its_type##_variants),                                          \
		.space = &elementwise_gpu_space,                                                                  \
		.emit = elementwise_emit,                                                                         \
	};
ELEMENTWISE_LIST(SIDE, )
