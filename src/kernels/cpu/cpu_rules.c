/* SPDX-License-Identifier: MIT
 *
 * In: a geometry; out: the rule that it breaks, in words, or NULL.
 */
#include "kernels/cpu/cpu_rules.h"

#include "base/cpu_isas.h"
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

const char *tcb_cpu_reorders_products(const struct tcb_problem *problem, const struct tcb_target *target,
				      const struct tcb_geometry *geometry)
{
	const struct tcb_variant *variant;
	for (size_t i = 0;
	     geometry->knob[TCB_KNOB_ISA] == TCB_ISA_SCALAR && (variant = tcb_variant_at(tcb_op_cpu(problem->op), i));
	     i++)
		if (variant->contract == problem->contract && variant->isa != TCB_ISA_SCALAR &&
		    tcb_target_has(target, variant->isa))
			return "isa=scalar rounds products before they are added";
	return NULL;
}

const char *tcb_cpu_reorders_lanes(const struct tcb_problem *problem, const struct tcb_target *target,
				   const struct tcb_geometry *geometry)
{
	(void)problem;
	return tcb_cpu_isa(geometry->knob[TCB_KNOB_ISA])->floats != tcb_float_isa(target)
		       ? "isa must have the widest vectors that there are: their width is part of the order"
		       : NULL;
}
