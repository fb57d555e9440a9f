/* SPDX-License-Identifier: MIT
 *
 * In: the best so far after each trial.  Out: the gain to expect of as many
 * trials again.
 *
 * Seen over the logarithm of the number of trials, the records of a search come
 * at a slowly falling rate (of random draws: the n-th trial is one with
 * probability 1/n, whatever the distribution).  So the gains of the last two
 * doublings tell that of the next: their mean, one more record as large as the
 * last three added, which may be due (without it a plateau would promise that
 * nothing comes), and times what a doubling brings less than the one before.
 * Where less than a doubling is left of the space, it brings that part of it.
 *
 * The constants were chosen over 120 runs of `auto` on 30 recorded spaces;
 * 'tcbtune replay --until-stable' tests them, and docs/search.md has what it found
 * there with other seeds.
 */
#include "search/gain.h"

#include <math.h>

enum { TRIALS_LEAST = 60, WINDOW = 4, DOUBLINGS = 2, LAST = 3 }; /* WINDOW: trials now over those at its beginning */
static const double FALL = 0.7;
static const double UNKNOWN = 0.05; /* of a record, where there was none */

void tcb_gain_add(struct tcb_gain *gain, double best)
{
	gain->trials++;
	if (!(best > 0) || !isfinite(best) || (gain->best > 0 && best >= gain->best))
		return;
	if (gain->best > 0) {
		const size_t at = gain->records++ % TCB_GAIN_RECORDS;
		gain->record[at].trial = gain->trials;
		gain->record[at].log = log(gain->best / best);
	}
	gain->best = best;
}

double tcb_gain_expected(const struct tcb_gain *gain, size_t space)
{
	const size_t kept = gain->records < TCB_GAIN_RECORDS ? gain->records : TCB_GAIN_RECORDS;
	double recent = 0, last = 0;
	if (gain->trials < TRIALS_LEAST || !(gain->best > 0))
		return NAN;
	for (size_t i = 0; i < kept; i++) { /* from the last one back */
		const size_t at = (gain->records - 1 - i) % TCB_GAIN_RECORDS;
		if (gain->record[at].trial * WINDOW > gain->trials)
			recent += gain->record[at].log;
		if (i < LAST)
			last += gain->record[at].log / (double)(kept < LAST ? kept : LAST);
	}
	const double doublings = log2(fmin(2, fmax(1, (double)space / (double)gain->trials)));
	return expm1(doublings * FALL * (recent + (kept ? last : UNKNOWN)) / DOUBLINGS);
}
