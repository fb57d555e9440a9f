/* SPDX-License-Identifier: MIT
 *
 * In: a geometry; out: the rule that it breaks, in words, or NULL.
 */
#include "kernels/cpu_rules.h"

#include "kernels/simd/isas.h"

const char *tcb_cpu_policy_scalar(const struct tcb_problem *problem, const struct tcb_target *target,
				  const struct tcb_geometry *geometry)
{
	(void)problem;
	return geometry->knob[TCB_KNOB_ISA] == TCB_ISA_SCALAR && tcb_float_isa(target) != TCB_ISA_SCALAR
		       ? "isa=scalar is slower than any vectors"
		       : NULL;
}

const char *tcb_cpu_policy_ahead(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry)
{
	const size_t bytes = problem->shape.m * problem->shape.n * sizeof(float);
	(void)target;
	return geometry->knob[TCB_KNOB_PREFETCH] > 0 && (size_t)geometry->knob[TCB_KNOB_PREFETCH] >= bytes
		       ? "prefetch is past the end of x"
		       : NULL;
}
