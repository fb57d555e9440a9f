/* SPDX-License-Identifier: MIT
 *
 * Legality (SPEC section 2): one row per constraint, each a function of its
 * own with a message that names it.  Hard constraints decide what the space
 * contains; soft ones are numbers for reports and models.
 */
#ifndef TCB_KERNELS_CONSTRAINT_H
#define TCB_KERNELS_CONSTRAINT_H

#include "kernels/op.h"

struct tcb_candidate {
	const struct tcb_op *op;
	const struct tcb_problem *problem;
	const struct tcb_target *target;
	const struct tcb_geometry *geometry;
	struct tcb_footprint footprint; /* as the op computes it */
	int any_size;                   /* --any-size: H15 is lifted */
};

enum { TCB_WHY_MAX = 256 };

struct tcb_constraint {
	const char *id;    /* "H4" */
	const char *title; /* "superblock" */
	/* 0 if it holds (or does not apply), else -1 with the reason and the nearest legal value in WHY. */
	int (*check)(const struct tcb_candidate *candidate, char why[TCB_WHY_MAX]);
};

const struct tcb_constraint *tcb_constraints(size_t *count_out); /* the hard ones, in SPEC's order */

/* The first hard constraint that GEOMETRY violates, or NULL.  WHY is filled then ("H4 superblock: ..."). */
const struct tcb_constraint *tcb_constraint_violated(const struct tcb_op *op, const struct tcb_problem *problem,
						     const struct tcb_target *target,
						     const struct tcb_geometry *geometry, int any_size,
						     char why[TCB_WHY_MAX]);

/* Soft constraints that a CPU has: S4 padding waste (0 to 1), S5 footprint over cache size per level (0 where the
 * size is unknown), S7 accumulators over the 8 that hide FMA latency. */
struct tcb_soft {
	double padding_waste;
	double cache_fraction[TCB_LEVEL_COUNT];
	double accumulator_fraction;
};
void tcb_constraint_soft(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, struct tcb_soft *out);

#endif
