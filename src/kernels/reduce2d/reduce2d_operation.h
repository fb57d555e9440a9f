/* SPDX-License-Identifier: MIT
 *
 * Which operation a reduce2d op is: what its CPU side, its GPU side and its space
 * all ask.
 */
#ifndef TCB_KERNELS_REDUCE2D_OPERATION_H
#define TCB_KERNELS_REDUCE2D_OPERATION_H

#include "kernels/op.h"

/*
 * An associative operation of one's own (seed 003: ReduceOp): combine(identity, a) is a.  The three ops are instances;
 * their micro-kernels are what makes them fast.
 */
struct reduce2d_operation {
	const char *name; /* "sum" */
	double identity;
	double (*combine)(double a, double b);
};

extern const struct reduce2d_operation reduce2d_sum, reduce2d_max, reduce2d_min; /* reduce2d_ops.c */

static inline int reduce2d_is_sum(const struct tcb_problem *problem)
{
	return problem->op->member == &reduce2d_sum;
}

#endif
