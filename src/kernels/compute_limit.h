/* SPDX-License-Identifier: MIT
 *
 * What a device can do at best with a problem's arithmetic.  compute_limit.c says
 * which arithmetic the problem's contract asks for; compute_limit_gpu.c writes
 * kernels for a GPU that do nothing else, in registers (and shared memory, where
 * the instruction takes its operands there).  Measured, they are the compute
 * limit that results are compared with.
 */
#ifndef TCB_KERNELS_COMPUTE_LIMIT_H
#define TCB_KERNELS_COMPUTE_LIMIT_H

#include "base/compute.h"
#include "kernels/op.h"

/* KIND: the fastest arithmetic that the contract allows; OPERATIONS of that kind, a call: those of the op, times the
 * terms that its operands are split into; 0: it is not known what bounds them. */
struct tcb_compute_need {
	enum tcb_compute_kind kind;
	double operations;
};
/* PROBLEM has its op. */
struct tcb_compute_need tcb_compute_need(const struct tcb_problem *problem, const struct tcb_target *target);

#endif
