/* SPDX-License-Identifier: MIT
 *
 * What a search may still gain by going on, from how its best so far came about.
 */
#ifndef TCB_SEARCH_GAIN_H
#define TCB_SEARCH_GAIN_H

#include <stddef.h>

enum { TCB_GAIN_RECORDS = 64 };

/* Zeroed: nothing was tried. */
struct tcb_gain {
	/* private */
	size_t trials, records; /* records: all that there were, of which the last TCB_GAIN_RECORDS are kept */
	double best;            /* 0: none */
	struct {
		size_t trial;
		double log; /* of the best before over this one */
	} record[TCB_GAIN_RECORDS];
};

/* One more trial, after which the best so far is BEST (infinite or NaN: nothing was measured yet). */
void tcb_gain_add(struct tcb_gain *gain, double best);
/* How much faster, as a ratio - 1, the best is expected to become in as many trials again as there were, or in those
 * that are left of SPACE candidates, if these are fewer; NaN while there are too few to tell. */
double tcb_gain_expected(const struct tcb_gain *gain, size_t space);

#endif
