/* SPDX-License-Identifier: MIT
 *
 * A geometry for weights that are packed already: the tuned one comes in, which
 * may want another layout; the nearest legal one of the wanted layout goes out.
 * And the layout that serves any number of tokens.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/default_rules.h"
#include "rt/rt_plan.h"
#include "rt/runtime.h"

/* Doublings between the register tiles; another instruction family is further than any tile. */
static double distance(const struct tcb_geometry *geometry, const struct tcb_variant *variant)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const double m = log2((double)variant->micro.m / (double)micro->m),
		     n = log2((double)variant->micro.n / (double)micro->n);
	const double unroll = log2((double)(variant->unroll > 0 ? variant->unroll : 1));

	return fabs(m) + fabs(n) + 0.25 * unroll + ((int32_t)variant->isa == geometry->knob[TCB_KNOB_ISA] ? 0 : 100);
}

/* GEOMETRY with VARIANT's kernel; the tiles above it grow to whole register tiles. */
static struct tcb_geometry with_variant(const struct tcb_geometry *geometry, const struct tcb_variant *variant)
{
	struct tcb_geometry out = *geometry;
	struct tcb_tile *macro = &out.tile[TCB_MACRO], *midi = &out.tile[TCB_MIDI], *micro = &out.tile[TCB_MICRO];

	out.knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
	out.knob[TCB_KNOB_LAYOUT] = (int32_t)variant->layout;
	/* Codes are decoded in registers from packed lines only. */
	if (out.knob[TCB_KNOB_DECODE] != TCB_KNOB_UNSET && variant->layout == TCB_LAYOUT_NATIVE)
		out.knob[TCB_KNOB_DECODE] = TCB_DECODE_PANEL;
	if (out.knob[TCB_KNOB_UNROLL] != TCB_KNOB_UNSET)
		out.knob[TCB_KNOB_UNROLL] = variant->unroll;
	*micro = variant->micro;
	midi->m = tcb_round_up(midi->m, micro->m);
	midi->n = tcb_round_up(midi->n, micro->n);
	macro->m = tcb_round_up(macro->m, midi->m);
	macro->n = tcb_round_up(macro->n, midi->n);
	return out;
}

int rt_take_layout(const struct tcb_problem *problem, const struct tcb_target *target, enum tcb_layout layout,
		   struct tcb_geometry *geometry)
{
	const struct tcb_op *op = problem->op;
	const struct tcb_geometry from = *geometry;
	const int32_t has = from.knob[TCB_KNOB_LAYOUT];
	const struct tcb_variant *variant;
	double least = INFINITY;

	if ((has == TCB_KNOB_UNSET ? TCB_LAYOUT_NATIVE : (enum tcb_layout)has) == layout)
		return 1;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)); i++) {
		const double far = distance(&from, variant);
		struct tcb_geometry to;

		if (variant->layout != layout || variant->contract != problem->contract || far >= least ||
		    !tcb_target_has(target, variant->isa))
			continue;
		to = with_variant(&from, variant);
		if (!rt_is_legal(op, problem, target, &to, NULL))
			continue;
		least = far;
		*geometry = to;
	}
	return isfinite(least);
}

/* ---- any M ---- */

enum { MANY_TOKENS = 32 };

/* Has the op of NAME a kernel that reads these weights in LAYOUT, at M tokens and with CONTRACT? */
static int reads_with(const struct tcb_op *op, enum tcb_contract contract, const struct tcb_problem *weights, size_t m,
		      const struct tcb_target *target, enum tcb_layout layout)
{
	const struct tcb_shape shape = {
		.m = m, .n = weights->shape.n, .k = weights->shape.k, .words.bits = weights->shape.words.bits
	};
	struct tcb_geometry geometry;
	struct tcb_problem problem;

	if (tcb_problem_init(op, contract, &shape, &problem, NULL) != TCB_OK)
		return 0;
	tcb_default_geometry(&problem, target, &geometry);
	return rt_take_layout(&problem, target, layout, &geometry);
}

/* With their contract or, since one of open contracts may have kernels for many tokens alone, with its own. */
static int reads(const struct tcbrt *rt, const char *name, const struct tcb_problem *weights, size_t m,
		 const struct tcb_target *target, enum tcb_layout layout)
{
	const uint32_t index = rt_op_find(rt, name);
	const struct tcb_op *op = index == RT_NONE ? NULL : rt->ops[index].op;

	return op && (reads_with(op, weights->contract, weights, m, target, layout) ||
		      reads_with(op, op->default_contract, weights, m, target, layout));
}

static int is_of_any_m(const struct tcbrt *rt, const struct tcb_problem *problem, const struct tcb_target *target,
		       enum tcb_layout layout)
{
	const int prefix = (int)strcspn(problem->op->name, "_");
	char one[TCB_OP_NAME_MAX], many[TCB_OP_NAME_MAX];
	struct tcb_geometry geometry;

	(void)snprintf(one, sizeof(one), "%.*s_matvec", prefix, problem->op->name);
	(void)snprintf(many, sizeof(many), "%.*s_matmul", prefix, problem->op->name);
	tcb_default_geometry(problem, target, &geometry);
	return rt_take_layout(problem, target, layout, &geometry) && reads(rt, one, problem, 1, target, layout) &&
	       reads(rt, many, problem, MANY_TOKENS, target, layout);
}

enum tcb_status rt_layout_any_m(const struct tcbrt *rt, const struct tcb_problem *problem,
				const struct tcb_target *target, const char **out, struct tcb_error *err)
{
	const char *word;

	if (!problem->op->format)
		return tcb_fail(err, TCB_E_USAGE, "query.layout is %s, which is for weights in blocks: op %s has none",
				TCBRT_LAYOUT_ANY_M, problem->op->name);
	/* Packed ones first. */
	for (int32_t layout = TCB_LAYOUT_NATIVE + 1; (word = tcb_knob_word(TCB_KNOB_LAYOUT, layout)); layout++)
		if (is_of_any_m(rt, problem, target, (enum tcb_layout)layout)) {
			*out = word;
			return TCB_OK;
		}
	*out = tcb_knob_word(TCB_KNOB_LAYOUT, TCB_LAYOUT_NATIVE);
	return TCB_OK;
}
