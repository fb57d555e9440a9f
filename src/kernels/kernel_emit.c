/* SPDX-License-Identifier: MIT
 *
 * The one way from a candidate to its kernel: what the op emits, and, where the
 * geometry has passes=all, what the optimiser makes of it.  Whoever signs,
 * compiles, models or runs a kernel comes by here.
 */
#include "kernels/op.h"
#include "ptx/optimise/passes.h"

enum tcb_status tcb_kernel_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	TCB_TRY(problem->op->emit(problem, target, geometry, out, err));
	if (geometry->knob[TCB_KNOB_PASSES] != TCB_PASSES_ALL)
		return TCB_OK;
	enum tcb_status status = tcb_ptx_optimise(out->module, NULL, NULL, err);
	if (status != TCB_OK)
		tcb_kernel_fini(out);
	return status;
}
