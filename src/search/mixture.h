/* SPDX-License-Identifier: MIT
 *
 * What many noisy values tell of each single one.  The true values come from a distribution of which nothing is known;
 * it is estimated from all of them (the nonparametric maximum likelihood of Kiefer and Wolfowitz 1956, on a grid, by
 * expectation maximisation), and then each value's own posterior is what they would be drawn from.  So the lowest of a
 * thousand equal ones is not believed to be low, and one that lies far from the rest is.
 */
#ifndef TCB_SEARCH_MIXTURE_H
#define TCB_SEARCH_MIXTURE_H

#include <stddef.h>

#include "base/status.h"
#include "base/util.h"

/* A value with the standard deviation of its noise, above 0. */
struct tcb_noisy {
	double value, noise;
};

struct tcb_mixture;

/* Of COUNT values, at least one.  TCB_E_NOMEM. */
enum tcb_status tcb_mixture_create(const struct tcb_noisy *values, size_t count, struct tcb_mixture **out,
				   struct tcb_error *err);
void tcb_mixture_destroy(struct tcb_mixture *mixture); /* accepts NULL */
/* A true value of the one that was given as INDEX, drawn from its posterior. */
double tcb_mixture_draw(const struct tcb_mixture *mixture, size_t index, struct tcb_rng *rng);

#endif
