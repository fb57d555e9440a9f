/* SPDX-License-Identifier: MIT
 *
 * In: a geometry; out: the rule that it breaks, in words, or NULL.
 */
#include "kernels/gpu/gpu_rules.h"

unsigned tcb_gpu_knob(const struct tcb_geometry *geometry, enum tcb_knob which)
{
	return geometry->knob[which] < 0 ? 0 : (unsigned)geometry->knob[which];
}

int tcb_gpu_sets_knobs(const struct tcb_geometry *geometry, uint64_t set, uint64_t free)
{
	free |= KNOB_BIT(PASSES); /* no op's business */
	for (int k = 0; k < TCB_KNOB_COUNT; k++)
		if (!(free >> k & 1u) && (geometry->knob[k] != TCB_KNOB_UNSET) != (set >> k & 1u))
			return 0;
	return 1;
}

int tcb_gpu_is_default(const struct tcb_problem *problem, const struct tcb_target *target,
		       const struct tcb_geometry *geometry)
{
	struct tcb_geometry standard;
	tcb_op_standard(problem, target, &standard);
	standard.knob[TCB_KNOB_PASSES] = geometry->knob[TCB_KNOB_PASSES];
	return tcb_geometry_equal(&standard, geometry);
}

const char *tcb_gpu_unusual(unsigned unusual, const struct tcb_problem *problem, const struct tcb_target *target,
			    const struct tcb_geometry *geometry)
{
	return unusual <= 1 || tcb_gpu_is_default(problem, target, geometry)
		       ? NULL
		       : "more than one knob has an unusual value";
}

const char *tcb_gpu_rule_shape(const struct tcb_problem *problem, const struct tcb_target *target,
			       const struct tcb_geometry *geometry)
{
	const struct tcb_shape *shape = &problem->shape;
	(void)target, (void)geometry;
	return shape->m > INT32_MAX || shape->n > INT32_MAX || shape->k > INT32_MAX
		       ? "GPU kernels count rows and columns to 2^31 only"
		       : NULL;
}

const char *tcb_gpu_rule_isa(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry)
{
	(void)problem;
	return tcb_target_has(target, (enum tcb_isa)geometry->knob[TCB_KNOB_ISA])
		       ? NULL
		       : "the device has no such instructions";
}

/* Warps that an SM holds (technical specifications per compute capability, CUDA C++ Programming Guide 13.0). */
static unsigned warps_together(unsigned capability)
{
	return capability < 80 ? 32 : capability == 86 || capability == 89 || capability >= 120 ? 48 : 64;
}

const char *tcb_gpu_rule_occ(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry)
{
	(void)problem;
	if (KNOB(OCC) < 1 || KNOB(OCC) * KNOB(WARPS) > warps_together(target->cuda.capability))
		return "occ blocks have more warps than an SM holds";
	return KNOB(BLOCKS) && KNOB(OCC) != KNOB(BLOCKS) ? "occ must be as many as blocks, if these stay" : NULL;
}

unsigned tcb_gpu_cluster_sms(const struct tcb_target *target, unsigned size)
{
	const unsigned sms = target->cuda.sm_count ? target->cuda.sm_count : 1;
	return size > 2 && sms > 11 ? sms * 10 / 11 : sms;
}

const char *tcb_gpu_rule_pdl(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry)
{
	(void)problem;
	if (KNOB(PDL) > 1)
		return "pdl must be 0 or 1";
	return KNOB(PDL) && target->cuda.capability < 90 ? "pdl=1 needs sm_90" : NULL;
}

const char *tcb_gpu_rule_copy(const struct tcb_problem *problem, const struct tcb_target *target,
			      const struct tcb_geometry *geometry)
{
	(void)problem;
	if (KNOB(COPY) == TCB_COPY_ASYNC && target->cuda.capability < 80)
		return "copy=async needs sm_80";
	return KNOB(COPY) == TCB_COPY_BULK && target->cuda.capability < 90 ? "copy=bulk needs sm_90" : NULL;
}
