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

/*
 * Of shapes with the word bits (struct tcb_side_space): why GEOMETRY's family rounds otherwise than the others of
 * TARGET do that have kernels under PROBLEM's contract, or NULL.  All with vectors fuse products and additions and have
 * a lane for each sum; scalar code does not.
 */
const char *tcb_cpu_reorders_products(const struct tcb_problem *problem, const struct tcb_target *target,
				      const struct tcb_geometry *geometry);
/* The same of what adds up lanes or has functions of its own: they depend on the width of vectors, which is the widest.
 */
const char *tcb_cpu_reorders_lanes(const struct tcb_problem *problem, const struct tcb_target *target,
				   const struct tcb_geometry *geometry);

#endif
