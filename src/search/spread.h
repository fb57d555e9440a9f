/* SPDX-License-Identifier: MIT
 *
 * How far calls lie above what a candidate takes, as the anchor shows it: the
 * fastest of a few in a row is too slow only where the machine was busy with
 * something else all the time.  From that follows after how few samples a
 * candidate has certainly lost.
 */
#ifndef TCB_SEARCH_SPREAD_H
#define TCB_SEARCH_SPREAD_H

#include <stddef.h>

#include "worker/evaluate.h"

/* A zeroed struct is an empty record. */
struct tcb_spread {
	size_t looks;
	double worst[TCB_SCREEN_CALLS]; /* of the fastest of so many calls and one before them, over the level */
};

/* ROUNDS calls of the anchor in a row, at a time when it takes LEVEL; NaN where that is not known yet. */
void tcb_spread_add(struct tcb_spread *spread, const double *ns, size_t rounds, double level);
/* For a screening rule: OUT is all 0 as long as too little is known. */
void tcb_spread_bounds(const struct tcb_spread *spread, double out[TCB_SCREEN_CALLS]);

#endif
