/* SPDX-License-Identifier: MIT
 *
 * Rules that all WGSL kernels keep.
 */
#include "kernels/wgsl/wgsl_rules.h"

#include "kernels/axes.h"

enum { WORKGROUP_MOST = 1024 };

int tcb_wgsl_sets_knobs(const struct tcb_geometry *geometry, uint64_t set, uint64_t free)
{
	return tcb_gpu_sets_knobs(geometry, set, free) && geometry->knob[TCB_KNOB_PASSES] == TCB_KNOB_UNSET;
}

const char *tcb_wgsl_rule_workgroup(const struct tcb_problem *problem, const struct tcb_target *target,
				    const struct tcb_geometry *geometry)
{
	(void)problem, (void)target;
	return tcb_is_power_of_two(KNOB(WORKGROUP)) && KNOB(WORKGROUP) <= WORKGROUP_MOST
		       ? NULL
		       : "workgroup must be a power of two up to 1024";
}

static int has_subgroups(const struct tcb_target *target)
{
	return target->wgpu.features >> TCB_WGPU_SUBGROUPS & 1u;
}

struct tcb_axis *tcb_wgsl_axis_tree(struct tcb_axis *out, size_t *count, const struct tcb_target *target)
{
	struct tcb_axis *axis = tcb_axis_knob(out, count, TCB_KNOB_TREE);

	tcb_axis_add(axis, TCB_TREE_SHARED);
	if (has_subgroups(target))
		tcb_axis_add(axis, TCB_TREE_SUBGROUP);
	return axis;
}

const char *tcb_wgsl_rule_tree(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	(void)problem;
	if (geometry->knob[TCB_KNOB_TREE] == TCB_TREE_EXCHANGE)
		return "tree must be shared or subgroup";
	if (geometry->knob[TCB_KNOB_TREE] != TCB_TREE_SUBGROUP)
		return NULL;
	if (!has_subgroups(target))
		return "the device has no subgroups";
	return KNOB(WORKGROUP) < target->wgpu.subgroup_most ? "a workgroup must have whole subgroups with tree=subgroup"
							    : NULL;
}

const char *tcb_wgsl_rule_bindings(const struct tcb_problem *problem, const struct tcb_target *target,
				   const struct tcb_geometry *geometry)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	const size_t count = problem->op->operands(problem, operands);

	(void)geometry;
	for (size_t i = 0; i < count; i++)
		if (operands[i].bytes > target->wgpu.binding_bytes)
			return "an operand is larger than what the device binds";
	return NULL;
}

const char *tcb_wgsl_rule_size(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	const size_t count = problem->op->operands(problem, operands);

	(void)target, (void)geometry;
	for (size_t i = 0; i < count; i++)
		if (operands[i].bytes > UINT32_MAX - UINT16_MAX)
			return "operands are counted in bytes of 32 bits";
	return NULL;
}
