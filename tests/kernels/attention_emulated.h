/* SPDX-License-Identifier: MIT
 *
 * One geometry of an attention in the emulator: legal, without findings, the same twice, within its bound.
 */
#ifndef TCB_TEST_ATTENTION_EMULATED_H
#define TCB_TEST_ATTENTION_EMULATED_H

#include "attention_case.h"
#include "kernels/constraint.h"
#include "kernels/emulation.h"

/* OP: PROBLEM's, or one with another reference. */
static inline void attention_emulate(const struct tcb_op *op, const struct tcb_problem *problem,
				     const struct tcb_target *target, const struct tcb_geometry *geometry,
				     const char *shape)
{
	const struct tcb_ptx_sink sink = { attention_print_finding, NULL };
	struct tcb_kernel_emulation emulation;
	struct tcb_kernel kernel;
	struct tcb_error err;
	char text[TCB_GEOMETRY_TEXT_MAX];
	tcb_geometry_print(geometry, text);
	if (tcb_constraint_require(problem, target, geometry, &err) != TCB_OK ||
	    tcb_kernel_emit(problem, target, geometry, &kernel, &err) != TCB_OK ||
	    tcb_kernel_emulate(op, &kernel, NULL, ATTENTION_SEED, &sink, &emulation, &err) != TCB_OK)
		fail_msg("%s %s %s: %s", problem->op_name, shape, text, err.message);
	if (emulation.findings || emulation.calls_differ || !(emulation.error_ratio <= 1))
		fail_msg("%s %s %s sm_%u %s: %g of what is allowed", problem->op_name,
			 tcb_contract_text(problem->contract), shape, target->cuda.capability, text,
			 emulation.error_ratio);
	tcb_kernel_fini(&kernel);
}

#endif
