/* SPDX-License-Identifier: MIT
 *
 * Whether a program may be handed a geometry: a database may be damaged or
 * come from anyone, and what is in it sizes the program's loops and buffers.
 */
#include <stdio.h>

#include "rt/runtime.h"

/* Does the op use KNOB here?  It is an axis of the space, or the default geometry has it. */
static int is_used(const struct tcb_geometry *standard, const struct tcb_axis *axes, size_t axis_count, int knob)
{
	if (standard->knob[knob] != TCB_KNOB_UNSET)
		return 1;
	for (size_t i = 0; i < axis_count; i++)
		if (axes[i].kind == TCB_AXIS_KNOB && axes[i].which == knob)
			return 1;
	return 0;
}

/* Knobs that the op does not use are held against nothing by the constraints.  passes is every GPU kernel's. */
static int has_foreign_knob(const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry)
{
	struct tcb_axis axes[TCB_AXES_MAX];
	struct tcb_geometry standard;
	size_t axis_count = tcb_space_of(problem, target, NULL)->axes(problem, target, axes);

	tcb_geometry_init(&standard);
	tcb_op_standard(problem, target, &standard);
	for (int knob = 0; knob < TCB_KNOB_COUNT; knob++)
		if (geometry->knob[knob] != TCB_KNOB_UNSET && knob != TCB_KNOB_PASSES &&
		    !is_used(&standard, axes, axis_count, knob))
			return 1;
	return 0;
}

int rt_is_legal(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_target *target,
		const struct tcb_geometry *geometry, char why[TCB_WHY_MAX])
{
	if (target->threads > RT_THREADS_MAX) {
		if (why)
			snprintf(why, TCB_WHY_MAX, "it is for more than %d threads", RT_THREADS_MAX);
		return 0;
	}
	/* Power-of-two sizes are a policy of the default space, not a need of the kernels. */
	if (tcb_constraint_violated(op, problem, target, geometry, 1, why))
		return 0;
	if (!has_foreign_knob(problem, target, geometry))
		return 1;
	if (why)
		snprintf(why, TCB_WHY_MAX, "it sets a knob that op %s does not use", op->name);
	return 0;
}
