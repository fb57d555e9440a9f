/* SPDX-License-Identifier: MIT
 *
 * Times and allocations of functions: two functions called in turn, so that
 * drift cancels, and their ratio with an interval.  A claim about times is
 * decided only where the whole interval is on one side of the threshold.
 */
#ifndef TCB_VERIFY_MEASURE_TIME_H
#define TCB_VERIFY_MEASURE_TIME_H

#include "base/trial.h"
#include "verify/claim.h"

typedef void tcb_timed_fn(void *ctx);

/* The time of A over the time of B in PAIRS pairs (at most TCB_PAIRS_MAX), after one call of each. */
enum { TCB_PAIRS_MAX = 101 };
struct tcb_interval tcb_pair_time(tcb_timed_fn *a, tcb_timed_fn *b, void *ctx, size_t pairs);
struct tcb_interval tcb_pair_time_of(tcb_timed_fn *a, void *a_ctx, tcb_timed_fn *b, void *b_ctx, size_t pairs);
/* Holds where RATIO is below (at least) LIMIT, does not where it is not, and is undecided where the interval has it. */
void tcb_found_below(struct tcb_finding *out, const struct tcb_interval *ratio, double limit, const char *what);
void tcb_found_above(struct tcb_finding *out, const struct tcb_interval *ratio, double limit, const char *what);

/* Item 44. */
void tcb_claim_view_allocations(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out);

#endif
