/* SPDX-License-Identifier: MIT
 *
 * Statistics of kernel times: medians with distribution-free intervals, and
 * paired comparisons.  Times on a busy machine have heavy tails, so nothing
 * here assumes a distribution; drift cancels where samples are paired.
 * NaN samples (a candidate that failed in that round) are skipped everywhere.
 */
#ifndef TCB_BASE_STATS_H
#define TCB_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>

#include "base/trial.h"

/* For qsort: doubles in ascending order. */
int tcb_ascending(const void *a, const void *b);
/* The median of the samples that are no NaN (the mean of the middle two of an even count); NaN of none. */
double tcb_median(const double *samples, size_t n);
/* The value that a tenth of the samples that are no NaN are below; NaN of none. */
double tcb_low_decile(const double *samples, size_t n);
/* The median of at least one value, none of them NaN, in linear time; their order is lost. */
double tcb_median_reordering(double *values, size_t n);

/*
 * The median with the narrowest pair of order statistics that covers it with 95 % for any continuous distribution.
 * With fewer than 6 samples no pair does: lo and hi are then the smallest and the largest, whose coverage is
 * 1 - 2^(1-n): 94 % of 5, 88 % of 4, 75 % of 3, 50 % of 2, none of 1.  All NaN without a sample.
 */
struct tcb_interval tcb_median_interval(const double *samples, size_t n);

/* The median of the paired ratios a[i] / b[i] with its interval; pairs with a NaN are skipped. */
struct tcb_interval tcb_ratio_interval(const double *a, const double *b, size_t n);

/*
 * How many times A's low values B's are: the ratio of their lower quartiles, with an interval that misses it with
 * MISS at most, if both are samples of one distribution but for that factor; it needs nothing else of that
 * distribution. Low ones, because what disturbs a machine only makes it slower.  LO is B's least over the j-th of A,
 * the smallest j for which it is improbable that the j least of all are A's (a precedence test; Balakrishnan and Ng,
 * Precedence-Type Tests, chapter 2); 0 and infinity where they are too few.  Sorts both.
 */
struct tcb_interval tcb_precedence_interval(double *a, size_t a_count, double *b, size_t b_count, double miss);
/* How many of each that needs at least. */
size_t tcb_precedence_least(double miss);

#endif
