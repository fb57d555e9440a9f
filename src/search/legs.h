/* SPDX-License-Identifier: MIT
 *
 * The finals' rounds in several worker processes, one leg in each.  Within a process the ratio of two candidates is
 * steady; from one to the next it moves by up to some per cent, since their memory lies on other pages.  What rounds of
 * one process tell is the ratio there; what is asked for is the ratio in the next.
 */
#ifndef TCB_SEARCH_LEGS_H
#define TCB_SEARCH_LEGS_H

#include <stddef.h>

#include "base/trial.h"

enum { TCB_LEGS_MOST = 12 };
struct tcb_legs {
	size_t count;                /* 0 and 1: there are no others to compare with */
	size_t first[TCB_LEGS_MOST]; /* [leg]: its first round; it ends where the next begins */
};

/* LEG's rounds of ROUNDS in all. */
size_t tcb_legs_rounds(const struct tcb_legs *legs, size_t leg, size_t rounds);
/*
 * The median of A[round] / B[round] (A alone where B is NULL) of ROUNDS rounds, with an interval that holds within a
 * process and from one to the next: that of the rounds and that of the legs' medians together.  The latter is of order
 * statistics from six legs on, below of Student's distribution, whose few degrees of freedom make it wide.
 */
struct tcb_interval tcb_legs_interval(const struct tcb_legs *legs, const double *a, const double *b, size_t rounds);
/* The standard deviation of the logarithm of that ratio from one leg to the next, what the noise within them explains
 * left out; 0 of fewer than two. */
double tcb_legs_spread(const struct tcb_legs *legs, const double *a, const double *b, size_t rounds);

#endif
