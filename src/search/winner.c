/* SPDX-License-Identifier: MIT
 *
 * The same rule chooses the winner of the rounds as they were and of each
 * resample of them (a paired bootstrap: legs, of which each is a process of its
 * own, are drawn with replacement, or the rounds of the only one, and all
 * candidates of a round stay together, so drift cancels).  So the
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
static const double SCORE_SIGMAS = 3;         /* in the interval of a score, which is of three to eight samples */
static const double SCORE_NOISE_LEAST = 0.01; /* of a score, as a ratio: drift and bursts hit all of its samples */
static const double APART_LEAST = 0.003;      /* no two kernels are equally fast: the spread of levels at least */
static const double TIE_BREAK_WIDTH = 0.5;    /* of the margin: how much slower by median the simpler one may be */

struct contest {
	size_t count, rounds;
	const double *samples;
	struct tcb_legs legs;
	size_t *simplicity; /* [candidate]: its place among all, the simplest 0 */
	double *ratio;      /* [candidate * rounds + round]: over the median of the round */
	double *level;      /* [candidate]: median ratio of the rounds that were picked */
	double *room;       /* of the larger of count and what may be picked, twice */
	size_t *pick;       /* [as many as may be]: the first picked of it count */
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

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static void contest_fini(struct contest *contest)
{
	free(contest->simplicity);
	free(contest->ratio);
	free(contest->level);
	free(contest->room);
	free(contest->pick);
}

static enum tcb_status contest_init(struct contest *contest, const struct tcb_winner_field *field,
				    struct tcb_error *err)
{
	const size_t count = field->count, rounds = field->rounds;
	const double *samples = field->samples;
	size_t most = rounds;
	*contest = (struct contest){ .count = count, .rounds = rounds, .samples = samples };
	if (field->legs)
		contest->legs = *field->legs;
	for (size_t leg = 0; leg < contest->legs.count; leg++) /* the longest, drawn every time */
		most = larger(most, contest->legs.count * tcb_legs_rounds(&contest->legs, leg, rounds));
	contest->simplicity = calloc(count, sizeof *contest->simplicity);
	contest->ratio = malloc((count * rounds + 1) * sizeof *contest->ratio);
	contest->level = malloc(count * sizeof *contest->level);
	contest->room = malloc((count + most) * sizeof *contest->room);
	contest->pick = malloc((most + 1) * sizeof *contest->pick);
	contest->picked = rounds;
	if (!contest->simplicity || !contest->ratio || !contest->level || !contest->room || !contest->pick)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals' samples");
	for (size_t a = 0; a < count; a++)
		for (size_t b = 0; b < count; b++)
			contest->simplicity[a] += b != a && is_simpler(&field->geometries[b], &field->geometries[a]);
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

/* COUNT legs with replacement, or, of one leg, rounds; their winner. */
static size_t choose_again(struct contest *contest, size_t count, struct tcb_rng *rng, size_t *fastest_out)
{
	const struct tcb_legs *legs = &contest->legs;
	contest->picked = 0;
	for (size_t i = 0; i < count; i++) {
		size_t begin = 0, end = 1;
		if (legs->count > 1) {
			const size_t leg = (size_t)tcb_rng_below(rng, legs->count);
			begin = legs->first[leg];
			end = begin + tcb_legs_rounds(legs, leg, contest->rounds);
		} else {
			begin = (size_t)tcb_rng_below(rng, contest->rounds);
			end = begin + 1;
		}
		for (size_t r = begin; r < end; r++)
			contest->pick[contest->picked++] = r;
	}
	return choose(contest, fastest_out);
}

/*
 * How many to draw for the noise of finals like these, and for that of the difference of two, which has twice the
 * variance: half as many.  Of few, the scatter about their own mean is too small by one: the legs are one fewer
 * (REPEATs in turn where half of them is no whole number).
 */
static size_t draws(const struct contest *contest, int twice, int repeat)
{
	if (contest->legs.count < 2)
		return twice ? (contest->rounds + 1) / 2 : contest->rounds;
	const size_t count = contest->legs.count - 1;
	return twice ? larger(1, (count + (size_t)(repeat % 2)) / 2) : count;
}

enum tcb_status tcb_winner_choose(const struct tcb_winner_field *field, size_t *winner_out, struct tcb_error *err)
{
	struct contest contest;
	size_t fastest;
	enum tcb_status status = contest_init(&contest, field, err);
	if (status == TCB_OK)
		*winner_out = choose(&contest, &fastest);
	contest_fini(&contest);
	return status;
}

/* What the scores of the others tell of their levels, in logarithms: they scatter by noise, and lie apart. */
struct prior {
	double mean, variance; /* of the levels */
};

static double log_of(const struct tcb_interval *score)
{
	return log(score->median);
}

static double noise_of(const struct tcb_interval *score)
{
	return fmax(log(score->hi / score->lo) / SCORE_SIGMAS, SCORE_NOISE_LEAST);
}

/* By how much scores were off, in logarithms: the finals know the candidates' times over the anchor's better.  All
 * scores are over the same few looks at the anchor, and what is too low is chosen for the finals. */
static double bias_of(const struct tcb_winner_field *field, const double *level, double *room)
{
	size_t count = 0;
	for (size_t g = 0; g < field->count; g++)
		if (g != field->anchor && field->scores[g] > 0)
			room[count++] = log(level[g] / level[field->anchor] / field->scores[g]);
	return count ? tcb_median_reordering(room, count) : 0;
}

/* The lowest of many noisy scores is too low: each is drawn towards their mean, as far as noise explains their scatter.
 */
static struct prior prior_of(const struct tcb_interval *others, size_t count)
{
	double mean = 0, scatter = 0, noise = 0;
	for (size_t i = 0; i < count; i++)
		mean += log_of(&others[i]) / (double)count;
	for (size_t i = 0; i < count; i++) {
		scatter += pow(log_of(&others[i]) - mean, 2) / (double)count;
		noise += pow(noise_of(&others[i]), 2) / (double)count;
	}
	return (struct prior){ mean, fmax(scatter - noise, APART_LEAST * APART_LEAST) };
}

/* The lowest level that the others reach when they are measured MORE times the noise of their scores. */
static double lowest_of_others(const struct tcb_winner_field *field, const struct prior *prior, double anchor_level,
			       double more, struct tcb_rng *rng)
{
	double lowest = INFINITY;
	for (size_t i = 0; i < field->other_count; i++) {
		const double noise = pow(noise_of(&field->others[i]), 2);
		const double trust = prior->variance / (prior->variance + noise);
		const double level = prior->mean + trust * (log_of(&field->others[i]) - prior->mean);
		lowest = fmin(lowest, level + sqrt(more * trust * noise) * tcb_rng_normal(rng));
	}
	return anchor_level * exp(lowest);
}

enum tcb_status tcb_winner_judge(const struct tcb_winner_field *field, size_t winner, uint64_t seed, double *regret_out,
				 double *flip_out, struct tcb_error *err)
{
	struct contest contest;
	struct tcb_rng rng;
	size_t fastest, flips = 0;
	double loss = 0;
	enum tcb_status status = contest_init(&contest, field, err);
	*regret_out = *flip_out = NAN;
	if (status != TCB_OK || field->count + field->other_count < 2 ||
	    (field->other_count > 0 && field->anchor >= field->count))
		goto done;
	const struct prior prior = prior_of(field->others, field->other_count);
	const double *level = contest.level;
	double bias = 0;
	if (field->other_count > 0) {
		choose(&contest, &fastest);
		bias = exp(bias_of(field, level, contest.room));
	}
	tcb_rng_init(&rng, seed);
	for (int repeat = 0; repeat < REPEATS; repeat++) {
		choose_again(&contest, draws(&contest, 0, repeat), &rng, &fastest);
		double lowest =
			lowest_of_others(field, &prior, field->other_count ? bias * level[field->anchor] : 0, 1, &rng);
		loss += level[winner] / fmin(level[fastest], lowest) - 1;
		const size_t again = choose_again(&contest, draws(&contest, 1, repeat), &rng, &fastest);
		lowest = lowest_of_others(field, &prior, field->other_count ? bias * level[field->anchor] : 0, 2, &rng);
		flips += again != winner || lowest < level[again];
	}
	*regret_out = loss / REPEATS;
	*flip_out = (double)flips / REPEATS;
done:
	contest_fini(&contest);
	return status;
}
