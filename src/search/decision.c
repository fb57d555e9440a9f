/* SPDX-License-Identifier: MIT
 *
 * What the finals found out: the winner, intervals, the tie set, and how sure
 * all that is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "kernels/signature.h"
#include "search/race.h"
#include "search/winner.h"

/* A score is of a few calls in a row.  Bursts of other load that last for tens of milliseconds hit all of them, so its
 * interval says little: seen on a shared machine, up to 17 %, besides the drift since the last look at the anchor. */
static const double SCORE_MARGIN = 0.25;
static const double LUCK_SIGMAS = 2;

/* What the winner is chosen from and judged by. */
struct evidence {
	struct tcb_winner_field lent; /* of what follows */
	struct tcb_legs legs;         /* by the rounds that count */
	double *samples;
	struct tcb_geometry *geometries;
	struct tcb_interval *keys[TCB_KEY_COUNT];
	struct tcb_winner_other *others;
};

static void evidence_fini(struct evidence *evidence)
{
	free(evidence->samples);
	free(evidence->geometries);
	for (int kind = 0; kind < TCB_KEY_COUNT; kind++)
		free(evidence->keys[kind]);
	free(evidence->others);
}

static int was_on_rungs(const struct race *race, size_t row)
{
	const double *ns = tcb_rounds_all(&race->rounds, row, race->first_rung);
	for (size_t r = race->first_rung; r < race->end_of_rungs; r++)
		if (isnan(ns[r - race->first_rung]))
			return 0;
	return race->first_rung < race->end_of_rungs;
}

/* ROW's level on the rungs, over the centre of the finalists there; NaN where it was not on all of them. */
static struct tcb_interval level_on_rungs(const struct race *race, size_t row)
{
	if (!was_on_rungs(race, row))
		return (struct tcb_interval){ NAN, NAN, NAN };
	return tcb_ratio_interval(tcb_rounds_row(&race->rounds, row, race->first_rung), race->centre,
				  race->end_of_rungs - race->first_rung);
}

/* The centre of the finalists from the first rung on. */
static enum tcb_status fill_rungs_centre(struct race *race, struct tcb_error *err)
{
	size_t count = 0, *rows = malloc((race->active_count + 1) * sizeof *rows);
	enum tcb_status status = rows ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals");
	for (size_t a = 0; rows && a < race->active_count; a++)
		if (was_on_rungs(race, race->active[a]))
			rows[count++] = race->active[a];
	if (count > 0)
		status = tcb_race_fill_centre(race, rows, count, race->first_rung, err);
	free(rows);
	return status;
}

/* Does ROUND of those from FIRST on count? */
static int counts(const struct race *race, size_t first, size_t round)
{
	for (size_t a = 0; a < race->active_count; a++)
		if (isnan(tcb_rounds_row(&race->rounds, race->active[a], first)[round]))
			return 0;
	return 1;
}

/* Legs of the rounds that count only; one that has none of them goes. */
static void shorten_legs(const struct race *race, size_t first, struct tcb_legs *out)
{
	size_t kept = 0;
	out->count = 0;
	for (size_t leg = 0; leg < race->legs.count; leg++) {
		const size_t begin = race->legs.first[leg];
		const size_t end = begin + tcb_legs_rounds(&race->legs, leg, race->rounds.rounds - first);
		const size_t before = kept;
		for (size_t round = begin; round < end; round++)
			kept += (size_t)counts(race, first, round);
		if (kept > before)
			out->first[out->count++] = before;
	}
}

/* The active rows with their rounds from FIRST on that count, their keys, and room for COUNT others. */
static enum tcb_status evidence_init(struct evidence *evidence, struct race *race, size_t first, size_t count,
				     struct tcb_error *err)
{
	const size_t active = race->active_count;
	size_t rounds = 0;
	for (size_t round = 0; round < race->rounds.rounds - first; round++)
		rounds += (size_t)counts(race, first, round);
	*evidence = (struct evidence){ .samples = malloc((active * rounds + 1) * sizeof *evidence->samples),
				       .geometries = malloc(active * sizeof *evidence->geometries),
				       .others = malloc((count + 1) * sizeof *evidence->others) };
	for (int kind = 0; kind < TCB_KEY_COUNT; kind++)
		evidence->keys[kind] = malloc(active * sizeof *evidence->keys[kind]);
	if (!evidence->samples || !evidence->geometries || !evidence->keys[TCB_KEY_SCORE] ||
	    !evidence->keys[TCB_KEY_RUNGS] || !evidence->others)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals' samples");
	evidence->lent = (struct tcb_winner_field){ .samples = evidence->samples,
						    .geometries = evidence->geometries,
						    .keys = { evidence->keys[0], evidence->keys[1] },
						    .others = evidence->others,
						    .count = active,
						    .rounds = rounds,
						    .legs = &evidence->legs,
						    .anchor = SIZE_MAX,
						    .places = race->places,
						    .score_noise = race->setup->score_noise };
	shorten_legs(race, first, &evidence->legs);
	TCB_TRY(fill_rungs_centre(race, err));
	for (size_t a = 0; a < active; a++) {
		const size_t row = race->active[a];
		const double *ns = tcb_rounds_row(&race->rounds, row, first);
		double *at = evidence->samples + a * rounds;
		for (size_t round = 0; round < race->rounds.rounds - first; round++)
			if (counts(race, first, round))
				*at++ = ns[round];
		evidence->geometries[a] = race->geometry[row];
		evidence->keys[TCB_KEY_SCORE][a] = race->setup->score[race->index[row]];
		evidence->keys[TCB_KEY_RUNGS][a] = level_on_rungs(race, row);
		if (row == race->anchor)
			evidence->lent.anchor = a;
	}
	return TCB_OK;
}

static enum tcb_status describe(const struct race *race, size_t row, size_t winner, size_t first,
				struct tcb_finalist *out, struct tcb_error *err)
{
	*out = (struct tcb_finalist){ .geometry = race->geometry[row] };
	out->ns = tcb_race_final(race, row, SIZE_MAX, first);
	out->ratio = tcb_race_final(race, row, winner, first);
	out->tied = row == winner || out->ratio.lo <= 1 + TCB_TIE_MARGIN;
	struct tcb_packings packings = { .is_known = { 0 } };
	return tcb_candidate_identify(race->setup->problem, race->setup->target, &out->geometry, &packings,
				      out->variant, out->signature, err);
}

/* The active rows by their ratio to the winner, the winner first. */
static void rank_finalists(struct race *race, size_t winner, size_t first)
{
	for (size_t a = 0; a < race->active_count; a++) {
		size_t row = race->active[a];
		race->level[row] = row == winner ? 0 : tcb_race_ratio(race, row, winner, first).median;
	}
	tcb_race_sort(race);
}

/* How far the ratio of two candidates in one process is from what it is in the mean, as the standard deviation of its
 * logarithm: that of the finalist in the middle, since few of them jump between processes far more than the rest. */
static double spread_of(struct race *race, size_t winner, size_t first)
{
	const double *reference = tcb_rounds_row(&race->rounds, winner, first);
	size_t count = 0;
	for (size_t a = 0; a < race->active_count; a++)
		if (race->active[a] != winner)
			race->room[count++] =
				tcb_legs_spread(&race->legs, tcb_rounds_row(&race->rounds, race->active[a], first),
						reference, race->rounds.rounds - first);
	return count ? tcb_median_reordering(race->room, count) : 0;
}

/*
 * The same where the finals were in one process, which tells nothing of it: how far their ratios to the anchor are from
 * what the scores say, which were taken before, in another process where there was time to begin one.  Their noise is
 * in it.
 */
static double luck_by_scores(const struct race *race, size_t first)
{
	const struct tcb_interval *score = race->setup->score;
	double sum = 0;
	size_t count = 0;
	if (race->setup->renew_s <= 0 || race->state[race->anchor] == ROW_FAILED)
		return 0; /* all processes are alike */
	for (size_t a = 0; a < race->active_count; a++) {
		const size_t row = race->active[a];
		const double off = log(tcb_race_final(race, row, race->anchor, first).median *
				       score[race->index[race->anchor]].median / score[race->index[row]].median);
		if (row == race->anchor || isnan(off))
			continue;
		sum += off * off;
		count++;
	}
	return count ? sqrt(sum / (double)count) : 0;
}

/* RUNGS: its level there, NaN: it was on none. */
static void add_other(const struct race *race, size_t index, const struct tcb_interval *rungs,
		      struct evidence *evidence, struct tcb_decision *out)
{
	const struct tcb_geometry *geometry = &race->setup->space->geometries[index];
	const int by_rungs = rungs && rungs->median > 0;
	out->tie_set[out->tie_count++] = *geometry;
	evidence->others[evidence->lent.other_count++] =
		(struct tcb_winner_other){ .geometry = *geometry,
					   .kind = by_rungs ? TCB_KEY_RUNGS : TCB_KEY_SCORE,
					   .key = by_rungs ? *rungs : race->setup->score[index] };
}

/*
 * The winner; finalists that are tied; who was excluded by no heat and no rung, or only by what may have been the luck
 * of their process; and candidates that there was no time for, if their score reaches down to the winner's.  The others
 * of EVIDENCE are those of them who are neither finalists nor excluded.
 */
static enum tcb_status fill_tie_set(const struct race *race, const struct ranked *field, size_t count,
				    double winner_score, double luck, struct evidence *evidence,
				    struct tcb_decision *out, struct tcb_error *err)
{
	unsigned char *settled = calloc(race->setup->space->count, 1);
	out->tie_set = malloc((count + 1) * sizeof *out->tie_set);
	if (!settled || !out->tie_set) {
		free(settled);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the tie set");
	}
	for (size_t f = 0; f < out->finalist_count; f++) {
		settled[race->index[race->active[f]]] = 1;
		if (out->finalists[f].tied)
			out->tie_set[out->tie_count++] = out->finalists[f].geometry;
	}
	for (size_t row = 0; row < race->rows; row++) {
		if (settled[race->index[row]] || race->state[row] == ROW_WAITING)
			continue;
		settled[race->index[row]] = 1;
		const struct tcb_interval rungs = level_on_rungs(race, row);
		if (race->state[row] == ROW_IN)
			add_other(race, race->index[row], &rungs, evidence, out);
		else if (race->state[row] == ROW_OUT && race->out_lo[row] <= luck * (1 + TCB_TIE_MARGIN))
			out->tie_set[out->tie_count++] = race->geometry[row];
	}
	for (size_t i = 0; i < count; i++) {
		size_t index = field[i].item;
		if (!settled[index] && race->setup->score[index].lo <= winner_score * (1 + SCORE_MARGIN))
			add_other(race, index, NULL, evidence, out);
	}
	free(settled);
	return TCB_OK;
}

/* The best by their scores of those that were not finalists, until as many as the setup wants are reported. */
static enum tcb_status report_others(const struct race *race, const struct ranked *field, size_t count,
				     struct tcb_error *err)
{
	const struct tcb_measurement none = { .state = race->setup->state, .stage = TCB_STAGE_FINAL };
	size_t reported = race->active_count;
	for (size_t i = 0; race->setup->report && i < count && reported < race->setup->reported; i++) {
		int known = 0;
		for (size_t a = 0; a < race->active_count; a++)
			known |= race->index[race->active[a]] == field[i].item;
		if (known)
			continue;
		TCB_TRY(race->setup->report(race->setup->ctx, field[i].item, reported++, &none, err));
	}
	return TCB_OK;
}

static enum tcb_status report_finalists(const struct race *race, size_t first, const struct tcb_decision *decision,
					struct tcb_error *err)
{
	for (size_t rank = 0; race->setup->report && rank < race->active_count; rank++) {
		struct tcb_measurement measurement = {
			.state = race->setup->state,
			.stage = TCB_STAGE_FINAL,
			.ns = decision->finalists[rank].ns,
			.sample_count = race->rounds.rounds - first,
			.samples = tcb_rounds_all(&race->rounds, race->active[rank], first),
			.lost = race->rounds.knows_lost ? tcb_rounds_lost(&race->rounds, race->active[rank], first)
							: NULL,
		};
		TCB_TRY(race->setup->report(race->setup->ctx, race->index[race->active[rank]], rank, &measurement,
					    err));
	}
	return TCB_OK;
}

static enum tcb_status fill(struct race *race, const struct ranked *field, size_t count, size_t first,
			    struct evidence *evidence, struct tcb_decision *out, struct tcb_error *err)
{
	const struct tcb_finals_setup *setup = race->setup;
	size_t chosen;
	TCB_TRY(tcb_winner_choose(&evidence->lent, &chosen, err));
	const size_t winner = race->active[chosen];
	rank_finalists(race, winner, first);
	out->finalists = calloc(race->active_count, sizeof *out->finalists);
	if (!out->finalists)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finalists");
	out->finalist_count = race->active_count;
	for (size_t a = 0; a < race->active_count; a++)
		TCB_TRY(describe(race, race->active[a], winner, first, &out->finalists[a], err));
	double winner_score = race->reachable;
	const double luck = evidence->legs.count < 2 ? luck_by_scores(race, first) : 0;
	if (race->state[race->anchor] != ROW_FAILED) {
		struct tcb_interval speedup = tcb_race_final(race, race->anchor, winner, first);
		winner_score = 1 / speedup.median;
		if (winner != race->anchor) {
			speedup.lo *= exp(-LUCK_SIGMAS * luck);
			speedup.hi *= exp(LUCK_SIGMAS * luck);
		}
		if (setup->anchor == setup->space->default_index) {
			TCB_TRY(describe(race, race->anchor, winner, first, &out->fallback, err));
			out->speedup = speedup;
		}
	}
	out->limit_ns = tcb_median_interval(race->rounds.limit + first, race->rounds.rounds - first);
	strncpy(out->limit_method, tcb_evaluator_limit_method(setup->evaluator, setup->state),
		sizeof out->limit_method - 1);
	evidence->lent.spread = fmax(luck, spread_of(race, winner, first));
	TCB_TRY(fill_rungs_centre(race, err));
	TCB_TRY(fill_tie_set(race, field, count, winner_score, exp(LUCK_SIGMAS * evidence->lent.spread), evidence, out,
			     err));
	TCB_TRY(tcb_winner_judge(&evidence->lent, chosen, setup->seed, &out->regret, &out->flip_probability, err));
	out->valid = 1;
	TCB_TRY(report_finalists(race, first, out, err));
	return report_others(race, field, count, err);
}

enum tcb_status tcb_decision_fill(struct race *race, const struct ranked *field, size_t count, size_t first,
				  struct tcb_decision *out, struct tcb_error *err)
{
	struct evidence evidence;
	const size_t quiet = tcb_rounds_settle(&race->rounds, race->active, race->active_count, first);
	out->rounds = race->rounds.knows_lost ? race->rounds.rounds - first : 0;
	out->quiet_rounds = race->rounds.knows_lost ? quiet : 0;
	enum tcb_status status = evidence_init(&evidence, race, first, count, err);
	if (status == TCB_OK)
		status = fill(race, field, count, first, &evidence, out, err);
	evidence_fini(&evidence);
	return status;
}

void tcb_decision_fini(struct tcb_decision *decision)
{
	free(decision->finalists);
	free(decision->tie_set);
	*decision = (struct tcb_decision){ .state = decision->state };
}
