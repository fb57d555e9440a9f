/* SPDX-License-Identifier: MIT
 *
 * Isotonic regression: of all functions that never rise, the one with the least
 * sum of squared distances from points, found by pooling adjacent violators
 * (Barlow, Bartholomew, Bremner and Brunk, "Statistical Inference under Order
 * Restrictions", 1972).  Between points the function is a straight line, outside
 * them it keeps the value of the nearest.
 */
#ifndef TCB_SEARCH_ISOTONIC_H
#define TCB_SEARCH_ISOTONIC_H

#include <stddef.h>

#include "base/status.h"

struct tcb_isotonic_point {
	double x, y;
	double weight; /* 1 for a point by itself */
};

/* COUNT points, in any order, into the function: sorted, those of equal x made one of their mean, each y replaced. */
enum tcb_status tcb_isotonic_fit(struct tcb_isotonic_point *points, size_t *count, struct tcb_error *err);
/* The function at X; COUNT is at least 1. */
double tcb_isotonic_at(const struct tcb_isotonic_point *points, size_t count, double x);

#endif
