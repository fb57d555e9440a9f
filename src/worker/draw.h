/* SPDX-License-Identifier: MIT
 *
 * Which outputs of a large problem are held against the reference: a cross of
 * some whole rows and some whole columns, fixed for a problem, so that what they
 * should be is computed once for all candidates (docs/measuring.md, "Large
 * problems").  All outputs are looked at besides (judge_drawn.h).
 */
#ifndef TCB_WORKER_DRAW_H
#define TCB_WORKER_DRAW_H

#include "kernels/op.h"

enum { TCB_DRAW_GRIDS = 2, TCB_DRAW_TEXT_MAX = 160 };

struct tcb_draw {
	size_t grid_count;
	struct tcb_grid grid[TCB_DRAW_GRIDS];
	size_t sums;      /* of each row: reference_sums; 0: none */
	size_t sum_count; /* of all rows */
	size_t count;     /* outputs in the grids and sums, that is elements of each array of the reference */
	char text[TCB_DRAW_TEXT_MAX]; /* for people: how many of what */
	uint32_t index[];             /* the grids' */
};

/*
 * What to draw of PROBLEM for a search of BUDGET_S seconds (0: none was set) from SEED.  *OUT is NULL, with TCB_OK,
 * where every output is compared: the op draws none, or its whole reference is cheap against the budget.  free() it.
 */
enum tcb_status tcb_draw_create(const struct tcb_problem *problem, double budget_s, uint64_t seed,
				struct tcb_draw **out, struct tcb_error *err);

#endif
