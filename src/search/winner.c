/* SPDX-License-Identifier: MIT
 *
 * The same rule chooses the winner of the rounds as they were and of each
 * resample of them (a paired bootstrap: rounds are drawn with replacement, and
 * all candidates of a round stay together, so drift cancels).  So the
 * probability of another winner is that of the rule, with its preference for
 * the simpler of two that are equally fast.
 */
#include "search/winner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/util.h"
#include "search/finals.h"

enum { REPEATS = 400 };
static const double TIE_BREAK_WIDTH = 0.5; /* of the margin: how much slower by median the simpler one may be */

struct contest {
	size_t count, rounds;
	const double *samples;
	size_t *simplicity; /* [candidate]: its place among all, the simplest 0 */
	double *ratio;      /* [candidate * rounds + round]: over the median of the round */
	double *level;      /* [candidate]: median ratio of the rounds that were picked */
	double *room;       /* of the larger of count and rounds, twice */
	size_t *pick;       /* [rounds]: the first picked of it count */
	size_t picked;
};

/* Which of two equally fast geometries to keep: the lower knob values, which need less, in the order of the knobs. */
static int is_simpler(const struct tcb_geometry *a, const struct tcb_geometry *b)
{
	for (int knob = 0; knob < TCB_KNOB_COUNT; knob++)
		if (a->knob[knob] != b->knob[knob])
			return a->knob[knob] < b->knob[knob];
	char text_a[TCB_GEOMETRY_TEXT_MAX], text_b[TCB_GEOMETRY_TEXT_MAX];
	tcb_geometry_print(a, text_a);
	tcb_geometry_print(b, text_b);
	return strcmp(text_a, text_b) < 0;
}

static void contest_fini(struct contest *contest)
{
	free(contest->simplicity);
	free(contest->ratio);
	free(contest->level);
	free(contest->room);
	free(contest->pick);
}

static enum tcb_status contest_init(struct contest *contest, const double *samples,
				    const struct tcb_geometry *geometries, size_t count, size_t rounds,
				    struct tcb_error *err)
{
	*contest = (struct contest){ .count = count, .rounds = rounds, .samples = samples };
	contest->simplicity = calloc(count, sizeof *contest->simplicity);
	contest->ratio = malloc((count * rounds + 1) * sizeof *contest->ratio);
	contest->level = malloc(count * sizeof *contest->level);
	contest->room = malloc((count + rounds) * sizeof *contest->room);
	contest->pick = malloc((rounds + 1) * sizeof *contest->pick);
	contest->picked = rounds;
	if (!contest->simplicity || !contest->ratio || !contest->level || !contest->room || !contest->pick)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals' samples");
	for (size_t a = 0; a < count; a++)
		for (size_t b = 0; b < count; b++)
			contest->simplicity[a] += b != a && is_simpler(&geometries[b], &geometries[a]);
	for (size_t r = 0; r < rounds; r++) {
		for (size_t g = 0; g < count; g++)
			contest->room[g] = samples[g * rounds + r];
		const double centre = tcb_median(contest->room, count);
		for (size_t g = 0; g < count; g++)
			contest->ratio[g * rounds + r] = samples[g * rounds + r] / centre;
		contest->pick[r] = r;
	}
	return TCB_OK;
}

/* The times of A over those of B in the rounds that were picked. */
static struct tcb_interval ratio_of(const struct contest *contest, size_t a, size_t b)
{
	const double *x = contest->samples + a * contest->rounds, *y = contest->samples + b * contest->rounds;
	for (size_t r = 0; r < contest->picked; r++)
		contest->room[r] = x[contest->pick[r]] / y[contest->pick[r]];
	return tcb_median_interval(contest->room, contest->picked);
}

/* The winner of the rounds that were picked; fills level[]. */
static size_t choose(const struct contest *contest, size_t *fastest_out)
{
	size_t fastest = 0, winner;
	for (size_t g = 0; g < contest->count; g++) {
		const double *ratio = contest->ratio + g * contest->rounds;
		for (size_t r = 0; r < contest->picked; r++)
			contest->room[r] = ratio[contest->pick[r]];
		contest->level[g] = tcb_median_reordering(contest->room, contest->picked);
		if (contest->level[g] < contest->level[fastest])
			fastest = g;
	}
	winner = fastest;
	for (size_t g = 0; g < contest->count; g++) {
		if (contest->simplicity[g] >= contest->simplicity[winner])
			continue;
		const struct tcb_interval ratio = ratio_of(contest, g, fastest);
		if (ratio.lo <= 1 && ratio.median <= 1 + TIE_BREAK_WIDTH * TCB_TIE_MARGIN)
			winner = g;
	}
	*fastest_out = fastest;
	return winner;
}

/* PICKED rounds with replacement; their winner. */
static size_t choose_again(struct contest *contest, size_t picked, struct tcb_rng *rng, size_t *fastest_out)
{
	contest->picked = picked;
	for (size_t r = 0; r < picked; r++)
		contest->pick[r] = (size_t)tcb_rng_below(rng, contest->rounds);
	return choose(contest, fastest_out);
}

enum tcb_status tcb_winner_choose(const double *samples, const struct tcb_geometry *geometries, size_t count,
				  size_t rounds, uint64_t seed, struct tcb_winner *out, struct tcb_error *err)
{
	struct contest contest;
	struct tcb_rng rng;
	size_t fastest, flips = 0;
	double loss = 0;
	enum tcb_status status = contest_init(&contest, samples, geometries, count, rounds, err);
	if (status != TCB_OK)
		goto done;
	*out = (struct tcb_winner){ choose(&contest, &fastest), NAN, NAN };
	if (count < 2)
		goto done;
	tcb_rng_init(&rng, seed);
	for (int repeat = 0; repeat < REPEATS; repeat++) {
		choose_again(&contest, rounds, &rng, &fastest);
		loss += contest.level[out->index] / contest.level[fastest] - 1;
		/* Two finals differ by the noise of both: half of the rounds have twice the variance. */
		flips += choose_again(&contest, (rounds + 1) / 2, &rng, &fastest) != out->index;
	}
	out->regret = loss / REPEATS;
	out->flip = (double)flips / REPEATS;
done:
	contest_fini(&contest);
	return status;
}
