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
	double *samples;
	struct tcb_geometry *geometries;
	double *scores;
	struct tcb_interval *others;
};

static void evidence_fini(struct evidence *evidence)
{
	free(evidence->samples);
	free(evidence->geometries);
	free(evidence->scores);
	free(evidence->others);
}

/* The active rows with their rounds from FIRST on, and room for COUNT others. */
static enum tcb_status evidence_init(struct evidence *evidence, const struct race *race, size_t first, size_t count,
				     struct tcb_error *err)
{
	const size_t rounds = race->rounds.rounds - first;
	*evidence = (struct evidence){ .samples = malloc(race->active_count * rounds * sizeof *evidence->samples),
				       .geometries = malloc(race->active_count * sizeof *evidence->geometries),
				       .scores = malloc(race->active_count * sizeof *evidence->scores),
				       .others = malloc((count + 1) * sizeof *evidence->others) };
	if (!evidence->samples || !evidence->geometries || !evidence->scores || !evidence->others)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals' samples");
	evidence->lent = (struct tcb_winner_field){ .samples = evidence->samples,
						    .geometries = evidence->geometries,
						    .scores = evidence->scores,
						    .others = evidence->others,
						    .count = race->active_count,
						    .rounds = rounds,
						    .legs = &race->legs,
						    .anchor = SIZE_MAX };
	for (size_t a = 0; a < race->active_count; a++) {
		memcpy(evidence->samples + a * rounds, tcb_rounds_row(&race->rounds, race->active[a], first),
		       rounds * sizeof *evidence->samples);
		evidence->geometries[a] = race->geometry[race->active[a]];
		evidence->scores[a] = race->setup->score[race->index[race->active[a]]].median;
		if (race->active[a] == race->anchor)
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

/* By what factor the ratio of two candidates may differ in one process from what it is in the mean: that of the
 * finalist in the middle, since few of them jump between processes far more than the rest. */
static double luck_of(struct race *race, size_t winner, size_t first)
{
	const double *reference = tcb_rounds_row(&race->rounds, winner, first);
	size_t count = 0;
	for (size_t a = 0; a < race->active_count; a++)
		if (race->active[a] != winner)
			race->room[count++] =
				tcb_legs_spread(&race->legs, tcb_rounds_row(&race->rounds, race->active[a], first),
						reference, race->rounds.rounds - first);
	return count ? exp(LUCK_SIGMAS * tcb_median_reordering(race->room, count)) : 1;
}

static void add_other(const struct race *race, size_t index, struct evidence *evidence, struct tcb_decision *out)
{
	out->tie_set[out->tie_count++] = race->setup->space->geometries[index];
	evidence->others[evidence->lent.other_count++] = race->setup->score[index];
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
		if (race->state[row] == ROW_IN)
			add_other(race, race->index[row], evidence, out);
		else if (race->state[row] == ROW_OUT && race->out_lo[row] <= luck * (1 + TCB_TIE_MARGIN))
			out->tie_set[out->tie_count++] = race->geometry[row];
	}
	for (size_t i = 0; i < count; i++) {
		size_t index = field[i].item;
		if (!settled[index] && race->setup->score[index].lo <= winner_score * (1 + SCORE_MARGIN))
			add_other(race, index, evidence, out);
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
			.samples = tcb_rounds_row(&race->rounds, race->active[rank], first),
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
	if (race->state[race->anchor] != ROW_FAILED) {
		struct tcb_interval speedup = tcb_race_final(race, race->anchor, winner, first);
		winner_score = 1 / speedup.median;
		if (setup->anchor == setup->space->default_index) {
			TCB_TRY(describe(race, race->anchor, winner, first, &out->fallback, err));
			out->speedup = speedup;
		}
	}
	out->limit_ns = tcb_median_interval(race->rounds.limit + first, race->rounds.rounds - first);
	strncpy(out->limit_method, tcb_evaluator_limit_method(setup->evaluator, setup->state),
		sizeof out->limit_method - 1);
	TCB_TRY(fill_tie_set(race, field, count, winner_score, luck_of(race, winner, first), evidence, out, err));
	TCB_TRY(tcb_winner_judge(&evidence->lent, chosen, setup->seed, &out->regret, &out->flip_probability, err));
	out->valid = 1;
	TCB_TRY(report_finalists(race, first, out, err));
	return report_others(race, field, count, err);
}

enum tcb_status tcb_decision_fill(struct race *race, const struct ranked *field, size_t count, size_t first,
				  struct tcb_decision *out, struct tcb_error *err)
{
	struct evidence evidence;
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
