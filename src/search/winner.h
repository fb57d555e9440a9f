/* SPDX-License-Identifier: MIT
 *
 * Who wins the finals, and how sure that is.
 */
#ifndef TCB_SEARCH_WINNER_H
#define TCB_SEARCH_WINNER_H

#include <stddef.h>
#include <stdint.h>

#include "base/geometry.h"
#include "base/status.h"

struct tcb_winner {
	size_t index;
	/* As resampling the rounds tells; both NaN of one candidate alone. */
	double regret; /* how much slower the winner is than the fastest, in the mean, as a ratio - 1 */
	double flip;   /* how probable it is that the same finals, held again, have another winner */
};

/*
 * SAMPLES[g * ROUNDS + r] is the time of candidate g in round r; none is NaN.  The winner is the fastest, by the median
 * of its times over the median of each round, or of those that cannot be told from it and are nearly as fast the
 * simplest: that is the one which the next finals choose, too.  TCB_E_NOMEM.
 */
enum tcb_status tcb_winner_choose(const double *samples, const struct tcb_geometry *geometries, size_t count,
				  size_t rounds, uint64_t seed, struct tcb_winner *out, struct tcb_error *err);

#endif
