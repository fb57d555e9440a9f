/* SPDX-License-Identifier: MIT
 *
 * Legs as samples: each is one look at where the memory may lie, however many rounds it has.
 */
#include "search/legs.h"

#include <math.h>

#include "base/stats.h"

enum { ORDERED = 6 /* legs with an interval of order statistics that holds with 95 % */ };
/* Student's 97.5 % quantile over the root of the number of legs. */
static const double STUDENT[ORDERED] = { 0, 0, 12.706 / 1.4142, 4.303 / 1.7321, 3.182 / 2, 2.776 / 2.2361 };
static const double INTERVAL_SIGMAS = 4; /* in an interval of 95 % */

size_t tcb_legs_rounds(const struct tcb_legs *legs, size_t leg, size_t rounds)
{
	return (leg + 1 < legs->count ? legs->first[leg + 1] : rounds) - legs->first[leg];
}

/* The logarithms of the legs' medians, of those with a sample; how many there are.  NOISE_OUT: the mean variance that
 * they have by the noise within their legs. */
static size_t medians_of(const struct tcb_legs *legs, const double *a, const double *b, size_t rounds,
			 double out[TCB_LEGS_MOST], double *noise_out)
{
	size_t count = 0;
	*noise_out = 0;
	for (size_t leg = 0; leg < legs->count; leg++) {
		const size_t first = legs->first[leg], held = tcb_legs_rounds(legs, leg, rounds);
		const struct tcb_interval of_leg =
			b ? tcb_ratio_interval(a + first, b + first, held) : tcb_median_interval(a + first, held);
		if (!(of_leg.median > 0))
			continue;
		out[count++] = log(of_leg.median);
		*noise_out += pow(log(of_leg.hi / of_leg.lo) / INTERVAL_SIGMAS, 2);
	}
	*noise_out /= (double)(count ? count : 1);
	return count;
}

/* Of at least two. */
static double variance_of(const double *values, size_t count, double *mean_out)
{
	double mean = 0, variance = 0;
	for (size_t i = 0; i < count; i++)
		mean += values[i] / (double)count;
	for (size_t i = 0; i < count; i++)
		variance += (values[i] - mean) * (values[i] - mean) / (double)(count - 1);
	*mean_out = mean;
	return variance;
}

struct tcb_interval tcb_legs_interval(const struct tcb_legs *legs, const double *a, const double *b, size_t rounds)
{
	double values[TCB_LEGS_MOST], mean, noise;
	const size_t count = medians_of(legs, a, b, rounds, values, &noise);
	struct tcb_interval both = b ? tcb_ratio_interval(a, b, rounds) : tcb_median_interval(a, rounds);
	if (count < 2)
		return both;
	struct tcb_interval over_legs = tcb_median_interval(values, count);
	if (count < ORDERED) {
		const double half = STUDENT[count] * sqrt(variance_of(values, count, &mean));
		over_legs = (struct tcb_interval){ mean, mean - half, mean + half };
	}
	both.lo = fmin(both.lo, exp(over_legs.lo));
	both.hi = fmax(both.hi, exp(over_legs.hi));
	return both;
}

double tcb_legs_spread(const struct tcb_legs *legs, const double *a, const double *b, size_t rounds)
{
	double values[TCB_LEGS_MOST], mean, noise;
	const size_t count = medians_of(legs, a, b, rounds, values, &noise);
	return count < 2 ? 0 : sqrt(fmax(0, variance_of(values, count, &mean) - noise));
}
