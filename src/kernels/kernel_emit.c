/* SPDX-License-Identifier: MIT
 *
 * The one way from a candidate to its kernel: what the op emits, and, where the
 * geometry has passes=all, what the optimiser makes of it.  Whoever signs,
 * compiles, models or runs a kernel comes by here, from a thread with whatever
 * stack: emitters take up to 400 KiB.
 */
#include "base/stack.h"
#include "kernels/language.h"
#include "kernels/op.h"

struct emitting {
	const struct tcb_problem *problem;
	const struct tcb_target *target;
	const struct tcb_geometry *geometry;
	struct tcb_kernel *out;
	struct tcb_error *err;
	enum tcb_status status;
};

static void emit(void *ctx)
{
	struct emitting *e = ctx;

	e->status = tcb_op_side(e->problem->op, e->target)->emit(e->problem, e->target, e->geometry, e->out, e->err);
	if (e->status != TCB_OK || e->geometry->knob[TCB_KNOB_PASSES] != TCB_PASSES_ALL)
		return;
	e->status = e->out->language->optimise(e->out->code, e->err);
	if (e->status != TCB_OK)
		tcb_kernel_fini(e->out);
}

enum tcb_status tcb_kernel_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	struct emitting emitting = { problem, target, geometry, out, err, TCB_OK };

	TCB_TRY(tcb_stack_call(emit, &emitting, err));
	return emitting.status;
}
