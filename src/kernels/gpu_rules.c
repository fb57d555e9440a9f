/* SPDX-License-Identifier: MIT
 *
 * In: a geometry; out: the rule that it breaks, in words, or NULL.
 */
#include "kernels/gpu_rules.h"

unsigned tcb_gpu_knob(const struct tcb_geometry *geometry, enum tcb_knob which)
{
	return geometry->knob[which] < 0 ? 0 : (unsigned)geometry->knob[which];
}

/* Warps that an SM holds (technical specifications per compute capability, CUDA C++ Programming Guide 13.0). */
static unsigned warps_together(unsigned capability)
{
	return capability < 80 ? 32 : capability == 86 || capability == 89 || capability >= 120 ? 48 : 64;
}

const char *tcb_gpu_rule_occ(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry)
{
	const unsigned occ = tcb_gpu_knob(geometry, TCB_KNOB_OCC), resident = tcb_gpu_knob(geometry, TCB_KNOB_BLOCKS);
	(void)problem;
	if (occ < 1 || occ * tcb_gpu_knob(geometry, TCB_KNOB_WARPS) > warps_together(target->capability))
		return "occ blocks have more warps than an SM holds";
	return resident && occ != resident ? "occ must be as many as blocks, if these stay" : NULL;
}
