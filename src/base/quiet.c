/* SPDX-License-Identifier: MIT
 *
 * In: samples with what others took.  Out: their median, of those that tell.
 */
#include "base/quiet.h"

#include "base/stats.h"

enum { SAMPLES_MOST = 256, LEAST = 3 };

struct tcb_interval tcb_quiet_interval(const double *samples, const double *lost, size_t count)
{
	double quiet[SAMPLES_MOST];
	size_t found = 0;

	for (size_t i = 0; lost && i < count && count <= SAMPLES_MOST; i++)
		if (!tcb_is_disturbed(lost[i]))
			quiet[found++] = samples[i];
	return found < LEAST || 2 * found < count ? tcb_median_interval(samples, count)
						  : tcb_median_interval(quiet, found);
}
