/* SPDX-License-Identifier: MIT
 *
 * How the plans of all ops on CPUs begin: the variant, the knobs that are needed, as many threads as there are tasks.
 */
#include "kernels/cpu/cpu_plan.h"

#include <string.h>

static enum tcb_status check_knobs(const struct tcb_problem *problem, const int32_t *knob, uint64_t needs,
				   struct tcb_error *err)
{
	if (knob[TCB_KNOB_THREADS] < 1)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s needs the knob threads, at least 1", problem->op_name);
	for (int i = 0; i < TCB_KNOB_COUNT; i++)
		if (needs >> i & 1u && knob[i] < 0)
			return tcb_fail(err, TCB_E_ILLEGAL, "%s needs the knob %s", problem->op_name,
					tcb_knob_key((enum tcb_knob)i));
	if (needs & TCB_NEEDS(STREAM) && knob[TCB_KNOB_STREAM] > 1)
		return tcb_fail(err, TCB_E_ILLEGAL, "stream=%d must be 0 or 1", knob[TCB_KNOB_STREAM]);
	return TCB_OK;
}

enum tcb_status tcb_cpu_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, uint64_t needs,
			     struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const struct tcb_variant *variant = tcb_variant_find(problem->op, problem->contract, geometry);
	memset(out, 0, sizeof(*out));
	if (!variant || !variant->entry)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no kernel for this isa, layout and micro=%zux%zu",
				problem->op_name, micro->m, micro->n);
	TCB_TRY(check_knobs(problem, geometry->knob, needs | TCB_NEEDS(SCHED), err));
	out->problem = *problem;
	out->geometry = *geometry;
	out->variant = variant;
	out->threads = (unsigned)geometry->knob[TCB_KNOB_THREADS];
	return TCB_OK;
}

enum tcb_status tcb_cpu_plan_shares(const struct tcb_plan *plan, size_t tasks, const char *tiles, struct tcb_error *err)
{
	if (plan->threads <= tasks)
		return TCB_OK;
	return tcb_fail(err, TCB_E_ILLEGAL, "threads=%u, but %s of this size makes only %zu tasks", plan->threads,
			tiles, tasks);
}
