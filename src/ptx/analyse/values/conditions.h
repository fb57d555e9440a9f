/* SPDX-License-Identifier: MIT
 *
 * The comparisons that decide whether an instruction runs, as numbers: what is
 * compared with 0, and how it must come out.
 */
#ifndef TCB_PTX_CONDITIONS_H
#define TCB_PTX_CONDITIONS_H

#include "ptx/analyse/values/affine.h"

struct tcb_ptx_condition {
	const struct tcb_ptx_ins *setp;
	struct tcb_ptx_value apart; /* the left side less the right one */
	enum tcb_ptx_word how;      /* LT, LE, GT, GE, EQ or NE, of APART and 0, where sums do not wrap */
};

/* SEE says whether to go on. */
typedef int (*tcb_ptx_condition_see)(void *ctx, const struct tcb_ptx_condition *condition);

/* Calls SEE for each comparison that must come out so for INS to run, that of its own guard first, then those of the
 * branches that it depends on, and of those by which threads leave LOOP, if that is not NULL.  Whether SEE always said
 * 1, and nothing else decides: all are comparisons of integers that are known, alone or joined by "and". */
int tcb_ptx_conditions(struct tcb_ptx_function *function, struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins,
		       const struct tcb_ptx_loop *loop, tcb_ptx_condition_see see, void *ctx);

#endif
