/* SPDX-License-Identifier: MIT
 *
 * A running median of three takes out single bad anchor measurements; between
 * them the level is interpolated.
 */
#include "search/drift.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats.h"

enum tcb_status tcb_drift_add(struct tcb_drift *drift, double when_s, double anchor_ns, struct tcb_error *err)
{
	if (isnan(anchor_ns))
		return TCB_OK;
	if (drift->count == drift->capacity) {
		size_t capacity = drift->capacity ? 2 * drift->capacity : 64;
		double *when = realloc(drift->when, capacity * sizeof *when);
		if (when)
			drift->when = when;
		double *level = realloc(drift->level, capacity * sizeof *level);
		if (level)
			drift->level = level;
		if (!when || !level)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for the record of the machine's speed");
		drift->capacity = capacity;
	}
	drift->when[drift->count] = when_s;
	drift->level[drift->count++] = anchor_ns;
	return TCB_OK;
}

static double smooth_level(const struct tcb_drift *drift, size_t i)
{
	size_t first = i > 0 ? i - 1 : 0, last = i + 1 < drift->count ? i + 1 : i;
	return tcb_median(drift->level + first, last - first + 1);
}

double tcb_drift_at(const struct tcb_drift *drift, double when_s)
{
	if (drift->count == 0)
		return NAN;
	size_t below = 0, above = drift->count - 1;
	if (when_s >= drift->when[above])
		return smooth_level(drift, above);
	if (when_s <= drift->when[0])
		return smooth_level(drift, 0);
	while (above - below > 1) {
		size_t middle = below + (above - below) / 2;
		if (drift->when[middle] <= when_s)
			below = middle;
		else
			above = middle;
	}
	double span = drift->when[above] - drift->when[below];
	double share = span > 0 ? (when_s - drift->when[below]) / span : 0;
	return (1 - share) * smooth_level(drift, below) + share * smooth_level(drift, above);
}

double tcb_drift_scatter(const struct tcb_drift *drift)
{
	double sum = 0;
	if (drift->count < 3)
		return 0;
	for (size_t i = 1; i + 1 < drift->count; i++) {
		const double level = drift->level[i], around = sqrt(drift->level[i - 1] * drift->level[i + 1]);
		sum += pow(log(level / around), 2);
	}
	return sqrt(sum / (double)(drift->count - 2));
}

void tcb_drift_fini(struct tcb_drift *drift)
{
	free(drift->when);
	free(drift->level);
	*drift = (struct tcb_drift){ 0 };
}
