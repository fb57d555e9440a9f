/* SPDX-License-Identifier: MIT
 *
 * Which operation a reduce2d op is: what its CPU side, its GPU side and its space
 * all ask.
 */
#ifndef TCB_KERNELS_REDUCE2D_OPERATION_H
#define TCB_KERNELS_REDUCE2D_OPERATION_H

#include "kernels/op.h"
#include "kernels/reduce2d/reduce2d_program.h"

/*
 * An associative operation of one's own (seed 003: ReduceOp): combine(identity, a) is a.  Three ops are instances with
 * micro-kernels of their own; the others are programs.
 */
struct reduce2d_operation {
	const char *name; /* "sum" */
	double identity;
	double (*combine)(double a, double b); /* NULL: it is a struct reduce2d_own */
};
struct reduce2d_own {
	struct reduce2d_operation operation;
	struct reduce2d_program program;
};

extern const struct reduce2d_operation reduce2d_sum, reduce2d_max, reduce2d_min; /* reduce2d_ops.c */

static inline const struct reduce2d_operation *reduce2d_operation(const struct tcb_problem *problem)
{
	return problem->op->member;
}
/* NULL: it is no program. */
static inline const struct reduce2d_program *reduce2d_program(const struct reduce2d_operation *operation)
{
	return operation->combine ? NULL : &((const struct reduce2d_own *)operation)->program;
}
static inline double reduce2d_combine(const struct reduce2d_operation *operation, double a, double b)
{
	const struct reduce2d_program *program = reduce2d_program(operation);
	return program ? reduce2d_program_run(program, a, b) : operation->combine(a, b);
}
static inline int reduce2d_is_sum(const struct tcb_problem *problem)
{
	return problem->op->member == &reduce2d_sum;
}

#endif
