/* SPDX-License-Identifier: MIT
 *
 * A geometry for weights that are packed already: the tuned one comes in, which
 * may want another layout; the nearest legal one of the wanted layout goes out.
 */
#include <math.h>

#include "base/sizes.h"
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
