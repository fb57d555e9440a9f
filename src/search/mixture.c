/* SPDX-License-Identifier: MIT
 *
 * The estimated distribution is a weight for each point of a grid between the lowest and the highest value.  It starts
 * uniform, and a few dozen steps of expectation maximisation bring it close to the most likely one; more would sharpen
 * it to a few spikes, which the data do not ask for (Laird 1978).
 */
#include "search/mixture.h"

#include <math.h>
#include <stdlib.h>

enum { POINTS_MOST = 128, STEPS = 40 };
static const double UNSEEN =
	1; /* as much as so many values say that it may be anywhere: a few must not seem to be equal */
static const double POINTS_IN_NOISE = 2; /* of the least noise */

struct tcb_mixture {
	size_t count, points;
	double first, step;
	double *weight;    /* [point] */
	float *cumulative; /* [value * points + point], the last 1 */
};

void tcb_mixture_destroy(struct tcb_mixture *mixture)
{
	if (!mixture)
		return;
	free(mixture->weight);
	free(mixture->cumulative);
	free(mixture);
}

static void make_grid(struct tcb_mixture *mixture, const struct tcb_noisy *values, size_t count)
{
	double lowest = INFINITY, highest = -INFINITY, noise = INFINITY;
	for (size_t i = 0; i < count; i++) {
		lowest = fmin(lowest, values[i].value);
		highest = fmax(highest, values[i].value);
		noise = fmin(noise, values[i].noise);
	}
	const double points = 1 + ceil(POINTS_IN_NOISE * (highest - lowest) / noise);
	mixture->points = points < POINTS_MOST ? (size_t)points : POINTS_MOST;
	mixture->first = lowest;
	mixture->step = mixture->points > 1 ? (highest - lowest) / (double)(mixture->points - 1) : 0;
}

/* How likely each point makes the value, but for a factor; where all are so far away that nothing is left, the nearest
 * has it. */
static void fill_likelihood(const struct tcb_mixture *mixture, const struct tcb_noisy *value, float *out)
{
	/* A point stands for the whole step. */
	const double noise = hypot(value->noise, mixture->step / sqrt(12));
	for (size_t p = 0; p < mixture->points; p++) {
		const double off = (mixture->first + mixture->step * (double)p - value->value) / noise;
		out[p] = (float)(exp(-0.5 * off * off) / noise);
	}
	const double at = mixture->step > 0 ? round((value->value - mixture->first) / mixture->step) : 0;
	const size_t nearest = (size_t)fmax(0, fmin(at, (double)(mixture->points - 1)));
	if (out[nearest] <= 0)
		out[nearest] = 1;
}

/* One step: each value's share goes to the points by their likelihood and weight. */
static void improve(struct tcb_mixture *mixture, double *next)
{
	for (size_t p = 0; p < mixture->points; p++)
		next[p] = UNSEEN / (double)mixture->points;
	for (size_t i = 0; i < mixture->count; i++) {
		const float *likelihood = mixture->cumulative + i * mixture->points;
		double sum = 0;
		for (size_t p = 0; p < mixture->points; p++)
			sum += mixture->weight[p] * likelihood[p];
		for (size_t p = 0; p < mixture->points && sum > 0; p++)
			next[p] += mixture->weight[p] * likelihood[p] / sum;
	}
	for (size_t p = 0; p < mixture->points; p++)
		mixture->weight[p] = next[p] / ((double)mixture->count + UNSEEN);
}

/* From the likelihoods of a value to its posterior, summed up. */
static void accumulate(const struct tcb_mixture *mixture, float *row)
{
	double sum = 0, total = 0;
	for (size_t p = 0; p < mixture->points; p++)
		total += mixture->weight[p] * row[p];
	for (size_t p = 0; p < mixture->points; p++) {
		sum += mixture->weight[p] * row[p];
		row[p] = (float)(sum / total);
	}
	row[mixture->points - 1] = 1;
}

enum tcb_status tcb_mixture_create(const struct tcb_noisy *values, size_t count, struct tcb_mixture **out,
				   struct tcb_error *err)
{
	struct tcb_mixture *mixture = calloc(1, sizeof *mixture);
	double next[POINTS_MOST];
	*out = mixture;
	if (!mixture)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a distribution");
	mixture->count = count;
	make_grid(mixture, values, count);
	mixture->weight = malloc(mixture->points * sizeof *mixture->weight);
	mixture->cumulative = malloc(count * mixture->points * sizeof *mixture->cumulative);
	if (!mixture->weight || !mixture->cumulative) {
		tcb_mixture_destroy(mixture);
		*out = NULL;
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a distribution of %zu values", count);
	}
	for (size_t p = 0; p < mixture->points; p++)
		mixture->weight[p] = 1 / (double)mixture->points;
	for (size_t i = 0; i < count; i++)
		fill_likelihood(mixture, &values[i], mixture->cumulative + i * mixture->points);
	for (int step = 0; step < STEPS; step++)
		improve(mixture, next);
	for (size_t i = 0; i < count; i++)
		accumulate(mixture, mixture->cumulative + i * mixture->points);
	return TCB_OK;
}

double tcb_mixture_draw(const struct tcb_mixture *mixture, size_t index, struct tcb_rng *rng)
{
	const float *row = mixture->cumulative + index * mixture->points;
	const double u = tcb_rng_unit(rng);
	size_t low = 0, high = mixture->points - 1;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (row[middle] > u)
			high = middle;
		else
			low = middle + 1;
	}
	return mixture->first + mixture->step * ((double)low + tcb_rng_unit(rng) - 0.5);
}
