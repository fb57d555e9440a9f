/* SPDX-License-Identifier: MIT
 *
 * The rule chooses the winner of the rounds as they were.  How sure that is comes of what would happen if the same
 * sweep were held again: from everything that was measured, what each candidate's level may truly be (mixture.h: by the
 * finals, whose noise the legs tell, each a process of its own; of the others by the scores or rungs that kept them
 * out); then, drawn again and again, who gets into the next finals by its score or rung with the noise of those, what
 * these finals show, and who wins by the same rule, with its preference for the simpler of two that are equally fast.
 */
#include "search/winner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/util.h"
#include "search/finals.h"
#include "search/mixture.h"

enum { REPEATS = 400, NOISE_REPEATS = 100 };
static const double SCORE_SIGMAS = 3;           /* in the interval of a score, which is of three to eight samples */
static const double SCORE_NOISE_LEAST = 0.01;   /* of a score, as a ratio: drift and bursts hit all of its samples */
static const double RUNGS_SIGMAS = 4;           /* in the interval of a level, which is one of 95 % */
static const double UNKNOWN_WIDTH = 1;          /* of an interval without an end */
static const double LEVEL_NOISE_LEAST = 0.0003; /* of a level in the finals, which no number of rounds goes below */
static const double TIE_BREAK_WIDTH = 0.5;      /* of the margin: how much slower by median the simpler one may be */

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
	for (int knob = 0; knob < TCB_KNOBS_MAX; knob++)
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

/* level[] by the rounds that were picked. */
static void fill_levels(const struct contest *contest)
{
	for (size_t g = 0; g < contest->count; g++) {
		const double *ratio = contest->ratio + g * contest->rounds;
		for (size_t r = 0; r < contest->picked; r++)
			contest->room[r] = ratio[contest->pick[r]];
		contest->level[g] = tcb_median_reordering(contest->room, contest->picked);
	}
}

/* The winner of all rounds. */
static size_t choose(const struct contest *contest)
{
	size_t fastest = 0, winner;
	fill_levels(contest);
	for (size_t g = 1; g < contest->count; g++)
		if (contest->level[g] < contest->level[fastest])
			fastest = g;
	winner = fastest;
	for (size_t g = 0; g < contest->count; g++) {
		if (contest->simplicity[g] >= contest->simplicity[winner])
			continue;
		const struct tcb_interval ratio = ratio_of(contest, g, fastest);
		if (ratio.lo <= 1 && ratio.median <= 1 + TIE_BREAK_WIDTH * TCB_TIE_MARGIN)
			winner = g;
	}
	return winner;
}

/* Levels by legs drawn with replacement, one fewer than there are, since few scatter too little about their own mean,
 * or, of one leg, by rounds. */
static void draw_levels(struct contest *contest, struct tcb_rng *rng)
{
	const struct tcb_legs *legs = &contest->legs;
	const size_t count = legs->count > 1 ? legs->count - 1 : contest->rounds;
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
	fill_levels(contest);
}

enum tcb_status tcb_winner_choose(const struct tcb_winner_field *field, size_t *winner_out, struct tcb_error *err)
{
	struct contest contest;
	enum tcb_status status = contest_init(&contest, field, err);
	if (status == TCB_OK)
		*winner_out = choose(&contest);
	contest_fini(&contest);
	return status;
}

/* --- what is known of all of them --------------------------------------------------------------------------------- */

/* Noise of a key's logarithm, as a standard deviation; rungs are held in several processes, which differ by SPREAD. */
static double noise_of(const struct tcb_winner_field *field, enum tcb_winner_key kind, const struct tcb_interval *key)
{
	const double width = key->lo > 0 && isfinite(key->hi) ? log(key->hi / key->lo) : UNKNOWN_WIDTH;
	return kind == TCB_KEY_SCORE ? fmax(hypot(width / SCORE_SIGMAS, field->score_noise), SCORE_NOISE_LEAST)
				     : hypot(width / RUNGS_SIGMAS, field->spread);
}

/* The noise of the key that a finalist was chosen by, the later one; 0: it has none, and is there in any case. */
static double key_noise(const struct tcb_winner_field *field, size_t g)
{
	for (int kind = TCB_KEY_COUNT - 1; kind >= 0 && g != field->anchor; kind--)
		if (field->keys[kind] && field->keys[kind][g].median > 0)
			return noise_of(field, (enum tcb_winner_key)kind, &field->keys[kind][g]);
	return 0;
}

/* What is to be added to a key's logarithm, so that it is a level's: the finals know the candidates' times better.  All
 * scores are over the same few looks at the anchor, and what is too low is chosen for the finals. */
static double bias_of(const struct tcb_winner_field *field, enum tcb_winner_key kind, const double *level, double *room)
{
	size_t count = 0;
	for (size_t g = 0; g < field->count; g++)
		if (g != field->anchor && field->keys[kind] && field->keys[kind][g].median > 0)
			room[count++] = log(level[g] / field->keys[kind][g].median);
	return count ? tcb_median_reordering(room, count) : 0;
}

/* One who asks for a place in the next finals: first the finalists of these, then the others. */
struct entrant {
	struct tcb_noisy level;    /* what is known of its level, as logarithms */
	double key_noise;          /* of what it asks for a place with; 0: it gets one */
	int is_winner, is_simpler; /* than the winner */
	double key, again;         /* drawn: its key and its level in the next finals */
};

struct again {
	const struct tcb_winner_field *field;
	struct contest *contest;
	size_t winner, count;
	struct entrant *entrants;
	const struct entrant **in; /* who gets in, the lowest key first */
	size_t in_count, places;
	struct tcb_mixture *mixture;
	double final_noise; /* of a level in finals like these */
	double room;        /* tie_room() */
};

/* The finalists' levels and, by drawing legs (or rounds) again and again, their noise: own and that of the one in the
 * middle together, since few legs tell little of one. */
static void know_finalists(struct again *again, struct tcb_rng *rng)
{
	struct contest *contest = again->contest;
	for (size_t g = 0; g < contest->count; g++)
		again->entrants[g] =
			(struct entrant){ .level = { log(contest->level[g]), 0 },
					  .key_noise = key_noise(again->field, g),
					  .is_winner = g == again->winner,
					  .is_simpler = contest->simplicity[g] < contest->simplicity[again->winner] };
	for (int repeat = 0; repeat < NOISE_REPEATS; repeat++) {
		draw_levels(contest, rng);
		for (size_t g = 0; g < contest->count; g++) {
			const double off = log(contest->level[g]) - again->entrants[g].level.value;
			again->entrants[g].level.noise += off * off / NOISE_REPEATS;
		}
	}
	for (size_t g = 0; g < contest->count; g++)
		contest->room[g] = again->entrants[g].level.noise;
	const double middle = tcb_median_reordering(contest->room, contest->count);
	again->final_noise = fmax(sqrt(middle), LEVEL_NOISE_LEAST);
	for (size_t g = 0; g < contest->count; g++)
		again->entrants[g].level.noise =
			fmax(sqrt((again->entrants[g].level.noise + middle) / 2), LEVEL_NOISE_LEAST);
}

static void know_others(struct again *again)
{
	const struct tcb_winner_field *field = again->field;
	struct contest *contest = again->contest;
	double bias[TCB_KEY_COUNT];
	for (int kind = 0; kind < TCB_KEY_COUNT; kind++)
		bias[kind] = bias_of(field, (enum tcb_winner_key)kind, contest->level, contest->room);
	again->count = field->count;
	for (size_t i = 0; i < field->other_count; i++) {
		const struct tcb_winner_other *other = &field->others[i];
		const double noise = noise_of(field, other->kind, &other->key);
		again->entrants[again->count++] = (struct entrant){
			.level = { log(other->key.median) + bias[other->kind], fmax(noise, LEVEL_NOISE_LEAST) },
			.key_noise = noise,
			.is_simpler = is_simpler(&other->geometry, &field->geometries[again->winner]),
		};
	}
}

/* By how much, in logarithms, a simpler one may be slower than the fastest and wins: as choose() has it. */
static double tie_room(const struct contest *contest, size_t winner)
{
	size_t count = 0;
	double *half = contest->level; /* which is not used any more */
	for (size_t g = 0; g < contest->count; g++) {
		if (g == winner)
			continue;
		const struct tcb_interval ratio = ratio_of(contest, g, winner);
		half[count++] = log(ratio.median / ratio.lo);
	}
	return fmin(log(1 + TIE_BREAK_WIDTH * TCB_TIE_MARGIN), count ? tcb_median_reordering(half, count) : 0);
}

/* --- the next finals ---------------------------------------------------------------------------------------------- */

static void ask_for_place(struct again *again, const struct entrant *entrant)
{
	size_t at = again->in_count;
	if (at == again->places && entrant->key >= again->in[at - 1]->key)
		return;
	if (at < again->places)
		again->in_count++;
	else
		at--;
	for (; at > 0 && again->in[at - 1]->key > entrant->key; at--)
		again->in[at] = again->in[at - 1];
	again->in[at] = entrant;
}

/* Of those who got in the simplest wins that is no more than the tie's room slower than the fastest. */
static int is_winner_again(const struct again *again)
{
	double lowest = INFINITY;
	int wins = 0;
	for (size_t i = 0; i < again->in_count; i++)
		lowest = fmin(lowest, again->in[i]->again);
	for (size_t i = 0; i < again->in_count; i++) {
		if (again->in[i]->again > lowest + again->room)
			continue;
		if (again->in[i]->is_simpler)
			return 0;
		wins |= again->in[i]->is_winner;
	}
	return wins;
}

/* Draws what may be true, and then the finals of the same sweep, held again: who gets in, and whether the winner wins.
 * LOSS_OUT: by how much it is slower than the fastest of all, as a ratio - 1. */
static int wins_again(struct again *again, struct tcb_rng *rng, double *loss_out)
{
	double lowest = INFINITY, own = 0;
	again->in_count = 0;
	for (size_t i = 0; i < again->count; i++) {
		struct entrant *entrant = &again->entrants[i];
		const double truth = tcb_mixture_draw(again->mixture, i, rng);
		lowest = fmin(lowest, truth);
		own = entrant->is_winner ? truth : own;
		entrant->again = truth + again->final_noise * tcb_rng_normal(rng);
		entrant->key = entrant->key_noise > 0 ? truth + entrant->key_noise * tcb_rng_normal(rng) : -INFINITY;
		ask_for_place(again, entrant);
	}
	*loss_out = exp(own - lowest) - 1;
	return is_winner_again(again);
}

static enum tcb_status learn(struct again *again, struct tcb_rng *rng, struct tcb_error *err)
{
	struct tcb_noisy *levels = malloc((again->field->count + again->field->other_count) * sizeof *levels);
	if (!levels)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the candidates' levels");
	again->room = tie_room(again->contest, again->winner);
	fill_levels(again->contest);
	know_others(again);
	know_finalists(again, rng);
	for (size_t i = 0; i < again->count; i++)
		levels[i] = again->entrants[i].level;
	enum tcb_status status = tcb_mixture_create(levels, again->count, &again->mixture, err);
	free(levels);
	return status;
}

static enum tcb_status judge(struct again *again, uint64_t seed, double *regret_out, double *flip_out,
			     struct tcb_error *err)
{
	struct tcb_rng rng;
	size_t flips = 0;
	double sum = 0;
	tcb_rng_init(&rng, seed);
	TCB_TRY(learn(again, &rng, err));
	for (int repeat = 0; repeat < REPEATS; repeat++) {
		double loss;
		flips += !wins_again(again, &rng, &loss);
		sum += loss;
	}
	*regret_out = sum / REPEATS;
	*flip_out = (double)flips / REPEATS;
	return TCB_OK;
}

enum tcb_status tcb_winner_judge(const struct tcb_winner_field *field, size_t winner, uint64_t seed, double *regret_out,
				 double *flip_out, struct tcb_error *err)
{
	struct contest contest;
	struct again again = { .field = field,
			       .contest = &contest,
			       .winner = winner,
			       .places = larger(field->places, 1) + (field->anchor < field->count) };
	again.entrants = malloc((field->count + field->other_count) * sizeof *again.entrants);
	again.in = malloc(again.places * sizeof *again.in);
	enum tcb_status status = contest_init(&contest, field, err);
	*regret_out = *flip_out = NAN;
	if (status == TCB_OK && (!again.entrants || !again.in))
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals' samples");
	if (status == TCB_OK && field->count + field->other_count >= 2 &&
	    (field->other_count == 0 || field->anchor < field->count))
		status = judge(&again, seed, regret_out, flip_out, err);
	tcb_mixture_destroy(again.mixture);
	free(again.entrants);
	free(again.in);
	contest_fini(&contest);
	return status;
}
