/* SPDX-License-Identifier: MIT
 *
 * The speed of the machine over time, from one anchor candidate that is
 * measured every fraction of a second.  Times of candidates that were measured
 * minutes apart are compared as ratios to the anchor's time then.
 */
#ifndef TCB_SEARCH_DRIFT_H
#define TCB_SEARCH_DRIFT_H

#include <stddef.h>

#include "base/status.h"

struct tcb_drift {
	size_t count;
	/* private */
	size_t capacity;
	double *when, *level;
};

/* A zeroed struct is an empty record.  Times must not decrease. */
enum tcb_status tcb_drift_add(struct tcb_drift *drift, double when_s, double anchor_ns, struct tcb_error *err);
/* The anchor's time at WHEN_S: medians of three neighbouring measurements, interpolated.  NaN of an empty record. */
double tcb_drift_at(const struct tcb_drift *drift, double when_s);
/* How far one look at the anchor is from its neighbours, as the standard deviation of the logarithm: bursts that hit
 * all samples of a look do not show in the look's own interval.  0 of less than three looks. */
double tcb_drift_scatter(const struct tcb_drift *drift);
void tcb_drift_fini(struct tcb_drift *drift);

#endif
