/* SPDX-License-Identifier: MIT
 *
 * Rules for CPUs (struct tcb_rule) that several ops list, for problems whose first operand is M x N floats.
 */
#ifndef TCB_KERNELS_CPU_RULES_H
#define TCB_KERNELS_CPU_RULES_H

#include "kernels/op.h"

/* Scalar code is for where there is nothing else.  Reads isa. */
const char *tcb_cpu_policy_scalar(const struct tcb_problem *problem, const struct tcb_target *target,
				  const struct tcb_geometry *geometry);
/* Prefetches that begin past the end.  Reads prefetch. */
const char *tcb_cpu_policy_ahead(const struct tcb_problem *problem, const struct tcb_target *target,
				 const struct tcb_geometry *geometry);

#endif
