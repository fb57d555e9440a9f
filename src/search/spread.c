/* SPDX-License-Identifier: MIT
 *
 * The worst that was seen of the anchor, and twice its excess as a bound for
 * others.  A machine on which calls are hit in a row gets wide bounds by
 * itself, which are then no better than those of a rule that knows nothing.
 */
#include "search/spread.h"

#include <math.h>

enum { LOOKS_LEAST = 8 };
static const double SAFETY = 2; /* of the excess that was seen */
/* A bound is no nearer than that, and than so much over the number of looks: what few looks have not seen may be. */
static const double LEAST = 1.05, UNSEEN = 4;

static double fastest_of(const double *ns, size_t count)
{
	double fastest = INFINITY;
	for (size_t i = 0; i < count; i++)
		fastest = fmin(fastest, ns[i]);
	return fastest;
}

void tcb_spread_add(struct tcb_spread *spread, const double *ns, size_t rounds, double level)
{
	if (!(level > 0) || rounds <= TCB_SCREEN_CALLS)
		return;
	for (size_t calls = 1; calls <= TCB_SCREEN_CALLS; calls++) {
		double *worst = &spread->worst[calls - 1];
		for (size_t at = 0; at + calls < rounds; at++)
			*worst = fmax(*worst, fastest_of(ns + at, calls + 1) / level);
	}
	spread->looks++;
}

void tcb_spread_bounds(const struct tcb_spread *spread, double out[TCB_SCREEN_CALLS])
{
	const double least = fmax(LEAST, 1 + UNSEEN / (double)spread->looks);
	for (size_t i = 0; i < TCB_SCREEN_CALLS; i++)
		out[i] = spread->looks < LOOKS_LEAST ? 0 : fmax(least, 1 + SAFETY * (spread->worst[i] - 1));
}
