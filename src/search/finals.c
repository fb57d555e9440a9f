/* SPDX-License-Identifier: MIT
 *
 * In: one screening score per candidate, noisy, taken over minutes.  Out: the winner with intervals, and the set of all
 * candidates that cannot be told from it.  The method is successive elimination (Even-Dar, Mannor and Mansour 2006) on
 * paired samples:
 *
 *   probe   the best few scores against the anchor: which level can be reached
 *   heats   the others, best scores first, some hundreds at a time, as long as there is time: who is certainly slower
 *           than the leader leaves
 *   rungs   all who are left, each round all of them once; twice as many rounds on the next rung
 *   finals  the best few and the anchor, with the read limit, until it is clear
 *
 * Where there is no time for that, the best few scores go to the finals at once, and there are fewer rounds: long calls
 * are less noisy.
 *
 * The best of thousands of noisy numbers looks better than it is.  So evidence is never judged by the numbers that
 * selected its reference: the leader of a rung is chosen before the rung, and only the rung's own rounds count against
 * it; the finals count their own rounds only.
 */
#include "search/finals.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/util.h"
#include "kernels/signature.h"
#include "search/rounds.h"
#include "search/winner.h"

enum {
	PROBES = 8,
	PROBE_ROUNDS = 9, /* the least with an interval that may lose its extremes */
	LEADERS = 7,
	HEAT_ROWS = 512,
	WARM_ROUNDS = 3, /* what it takes before the first round of a piece, about */
	RUNG_LEAST = 3,
	HEAT_ROUNDS = 6,  /* the interval is the whole range */
	FINAL_STEP = 10,  /* rounds between two looks at the intervals */
	FINAL_LEAST = 30, /* rounds */
	FINAL_FEW = 3,    /* where there is no time for more */
	FEW = 1,          /* finalists beside the anchor, likewise */
	FINAL_MOST = 300, /* beyond, drift between processes outweighs what more rounds tell */
};
static const size_t RUNGS[] = { 12, 24, 48 }; /* rounds */
enum { RUNG_COUNT = sizeof RUNGS / sizeof *RUNGS };
/* A score is of a few calls in a row.  Bursts of other load that last for tens of milliseconds hit all of them, so its
 * interval says little: seen on a shared machine, up to 17 %, besides the drift since the last look at the anchor. */
static const double SCORE_MARGIN = 0.25;
static const double HOPELESS = 1.5;     /* times the reachable level: no burst explains that */
static const double LEAST_S = 0.5;      /* however little time is left: enough for all rounds of short calls */
static const double LEAST_SHARE = 0.1;  /* of the time for the finals proper, however long the rungs took */
static const double PROBE_SHARE = 0.3;  /* of the time: a probe that takes longer is not held */
static const double HEATS_SHARE = 0.6;  /* of the time */
static const double RUNG_SHARE = 0.7;   /* of the time left, for one rung at most; the rest is for the finals */
static const double TIGHT_WIDTH = 0.01; /* of the ratio's interval: more rounds would not change the tie set */
static const double LONG_CALL_S = 0.02; /* with what is not timed: such calls need next to no warming up */
static const double PIECE_SECONDS = 4;  /* between two looks at the clock; each piece warms up again */

struct ranked {
	double key;
	size_t item;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->item > y->item) - (x->item < y->item);
}

enum row_state { ROW_WAITING, ROW_IN, ROW_OUT, ROW_FAILED };

struct race {
	const struct tcb_finals_setup *setup;
	size_t rows;
	size_t *index;                 /* [row]: space index */
	struct tcb_geometry *geometry; /* [row] */
	enum row_state *state;         /* [row] */
	double *level;                 /* [row]: median time over the centre of its round */
	size_t *active;                /* rows on this rung; active_count of them */
	size_t active_count;
	size_t leaders[LEADERS], leader_count; /* rows; chosen before the rounds that are judged by them */
	size_t anchor;                         /* row */
	struct tcb_rounds rounds;
	struct ranked *ranked; /* room for sorting */
	double *room, *centre;
	size_t centre_capacity;
	double deadline_s, call_s; /* seconds of one call, overhead included */
	double reachable;          /* a time over the anchor's that some candidate certainly reaches */
};

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

static double left_s(const struct race *race)
{
	return fmax(0, race->deadline_s - now_s());
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

static void race_fini(struct race *race)
{
	free(race->index);
	free(race->geometry);
	free(race->state);
	free(race->level);
	free(race->active);
	free(race->room);
	free(race->ranked);
	free(race->centre);
	tcb_rounds_fini(&race->rounds);
}

static enum tcb_status race_init(struct race *race, const struct tcb_finals_setup *setup, size_t capacity,
				 struct tcb_error *err)
{
	*race = (struct race){ .setup = setup, .anchor = SIZE_MAX };
	race->index = malloc(capacity * sizeof *race->index);
	race->geometry = malloc(capacity * sizeof *race->geometry);
	race->state = calloc(capacity, sizeof *race->state);
	race->level = calloc(capacity, sizeof *race->level);
	race->active = malloc(capacity * sizeof *race->active);
	race->room = malloc(capacity * sizeof *race->room);
	race->ranked = malloc(capacity * sizeof *race->ranked);
	if (!race->index || !race->geometry || !race->state || !race->level || !race->active || !race->room ||
	    !race->ranked)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals of %zu geometries", capacity);
	return TCB_OK;
}

static void add_row(struct race *race, size_t index)
{
	size_t row = race->rows++;
	race->index[row] = index;
	race->geometry[row] = race->setup->space->geometries[index];
	if (index == race->setup->anchor)
		race->anchor = row;
}

/* The rows from FIRST up to END that are in STATE. */
static void activate(struct race *race, enum row_state state, size_t first, size_t end)
{
	race->active_count = 0;
	for (size_t row = first; row < end && row < race->rows; row++)
		if (race->state[row] == state)
			race->active[race->active_count++] = row;
}

/* --- rounds ----------------------------------------------------------------------------------------------------- */

/* Takes out of the race whoever failed since round FIRST. */
static enum tcb_status drop_failed(struct race *race, size_t first, struct tcb_error *err)
{
	size_t kept = 0;
	for (size_t a = 0; a < race->active_count; a++) {
		size_t row = race->active[a];
		const double *ns = tcb_rounds_row(&race->rounds, row, first);
		int failed = 0;
		for (size_t r = first; r < race->rounds.rounds; r++)
			failed |= isnan(ns[r - first]);
		if (!failed) {
			race->active[kept++] = row;
			continue;
		}
		race->state[row] = ROW_FAILED;
		if (race->setup->report)
			TCB_TRY(race->setup->report(race->setup->ctx, race->index[row], SIZE_MAX, NULL, err));
	}
	race->active_count = kept;
	return TCB_OK;
}

/* Seconds of ROUNDS rounds of COUNT rows in one piece. */
static double cost_s(const struct race *race, size_t rounds, size_t count)
{
	return race->call_s * (double)((rounds + (race->call_s > LONG_CALL_S ? 1 : WARM_ROUNDS)) * count);
}

/* COUNT rounds of the active rows, fewer if TIMED and the time is over.  In pieces of equal size that take a few
 * seconds each. */
static enum tcb_status run_rounds(struct race *race, size_t count, int with_limit, int timed, struct tcb_error *err)
{
	const struct tcb_finals_setup *setup = race->setup;
	size_t pieces = (size_t)(cost_s(race, count, race->active_count) / PIECE_SECONDS) + 1;
	size_t piece = (count + pieces - 1) / pieces;
	for (size_t done = 0; done < count && race->active_count > 0; done += piece) {
		size_t first = race->rounds.rounds;
		double start = now_s(), before = cost_s(race, piece, race->active_count);
		TCB_TRY(tcb_rounds_add(&race->rounds, setup->evaluator, setup->state, race->active, race->active_count,
				       piece, with_limit, setup->seed + first, err));
		race->call_s *= (now_s() - start) / before;
		TCB_TRY(drop_failed(race, first, err));
		if (setup->tick && setup->tick(setup->ctx, left_s(race)))
			return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted in the finals");
		if (timed && left_s(race) <= 0)
			break;
	}
	return TCB_OK;
}

/* Fills centre[] with the medians of ROWS in each round from FIRST on. */
static enum tcb_status fill_centre(struct race *race, const size_t *rows, size_t row_count, size_t first,
				   struct tcb_error *err)
{
	size_t count = race->rounds.rounds - first;
	if (count > race->centre_capacity) {
		double *centre = realloc(race->centre, 2 * count * sizeof *centre);
		if (!centre)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu rounds of the finals", count);
		race->centre = centre;
		race->centre_capacity = 2 * count;
	}
	for (size_t r = 0; r < count; r++) {
		for (size_t i = 0; i < row_count; i++)
			race->room[i] = tcb_rounds_row(&race->rounds, rows[i], first)[r];
		race->centre[r] = tcb_median(race->room, row_count);
	}
	return TCB_OK;
}

static struct tcb_interval ratio_to_centre(const struct race *race, size_t row, size_t first)
{
	return tcb_ratio_interval(tcb_rounds_row(&race->rounds, row, first), race->centre, race->rounds.rounds - first);
}

/* Fills level[] of the active rows from round FIRST on: relative to the round's median, which takes the drift out and
 * adds next to no noise. */
static enum tcb_status compute_levels(struct race *race, size_t first, struct tcb_error *err)
{
	TCB_TRY(fill_centre(race, race->active, race->active_count, first, err));
	for (size_t a = 0; a < race->active_count; a++)
		race->level[race->active[a]] = ratio_to_centre(race, race->active[a], first).median;
	return TCB_OK;
}

static struct tcb_interval ratio_since(const struct race *race, size_t row, size_t reference, size_t first)
{
	return tcb_ratio_interval(tcb_rounds_row(&race->rounds, row, first),
				  tcb_rounds_row(&race->rounds, reference, first), race->rounds.rounds - first);
}

static size_t lowest_level(const struct race *race)
{
	size_t lowest = race->active[0];
	for (size_t a = 1; a < race->active_count; a++)
		if (race->level[race->active[a]] < race->level[lowest])
			lowest = race->active[a];
	return lowest;
}

/* The active rows by their levels, the lowest first. */
static void sort_active(struct race *race)
{
	for (size_t a = 0; a < race->active_count; a++)
		race->ranked[a] = (struct ranked){ race->level[race->active[a]], race->active[a] };
	qsort(race->ranked, race->active_count, sizeof *race->ranked, compare_ranked);
	for (size_t a = 0; a < race->active_count; a++)
		race->active[a] = race->ranked[a].item;
}

/* --- probe, heats, rungs ---------------------------------------------------------------------------------------- */

/*
 * The best few scores against the anchor: which level is certainly reached, and who leads, as space indices, the best
 * first.
 */
static enum tcb_status probe(struct race *race, const struct ranked *field, size_t count, size_t leaders[LEADERS],
			     size_t *leader_count, struct tcb_error *err)
{
	struct race trial;
	enum tcb_status status = race_init(&trial, race->setup, PROBES + 1, err);
	if (status != TCB_OK)
		goto done;
	trial.deadline_s = race->deadline_s;
	trial.call_s = race->call_s;
	add_row(&trial, race->setup->anchor);
	for (size_t i = 0; i < count && trial.rows <= PROBES; i++)
		if (field[i].item != race->setup->anchor)
			add_row(&trial, field[i].item);
	activate(&trial, ROW_WAITING, 0, trial.rows);
	status = tcb_rounds_init(&trial.rounds, trial.geometry, trial.rows, err);
	if (status == TCB_OK)
		status = run_rounds(&trial, PROBE_ROUNDS, 0, 0, err);
	if (status == TCB_OK && trial.active_count > 0)
		status = compute_levels(&trial, 0, err);
	if (status != TCB_OK)
		goto done;
	race->call_s = trial.call_s;
	race->reachable = trial.state[trial.anchor] == ROW_FAILED ? INFINITY : 1.0;
	for (size_t a = 0; a < trial.active_count; a++) /* fmin ignores the NaN of a failed anchor */
		race->reachable = fmin(race->reachable, ratio_since(&trial, trial.active[a], trial.anchor, 0).hi);
	sort_active(&trial);
	for (*leader_count = 0; *leader_count < LEADERS && *leader_count < trial.active_count; ++*leader_count)
		leaders[*leader_count] = trial.index[trial.active[*leader_count]];
done:
	race_fini(&trial);
	return status;
}

/* Rows: all candidates that are not hopeless, best scores first, the leaders and the anchor. */
static enum tcb_status admit(struct race *race, const struct ranked *field, size_t count, const size_t *leaders,
			     size_t leader_count, struct tcb_error *err)
{
	const struct tcb_finals_setup *setup = race->setup;
	for (size_t i = 0; i < count; i++) {
		size_t index = field[i].item;
		int is_leader = 0;
		for (size_t l = 0; l < leader_count; l++)
			is_leader |= leaders[l] == index;
		if (is_leader)
			race->leaders[race->leader_count++] = race->rows;
		if (is_leader || index == setup->anchor || setup->score[index].lo <= race->reachable * HOPELESS)
			add_row(race, index);
	}
	if (race->anchor == SIZE_MAX)
		add_row(race, setup->anchor);
	for (size_t l = 1; l < race->leader_count; l++) { /* the first one counts: the best */
		if (race->index[race->leaders[l]] == leaders[0]) {
			size_t best = race->leaders[l];
			race->leaders[l] = race->leaders[0];
			race->leaders[0] = best;
		}
	}
	return tcb_rounds_init(&race->rounds, race->geometry, race->rows, err);
}

/* The active rows with the lowest levels lead from now on, the best first. */
static void choose_leaders(struct race *race)
{
	sort_active(race);
	race->leader_count = race->active_count < LEADERS ? race->active_count : LEADERS;
	memcpy(race->leaders, race->active, race->leader_count * sizeof *race->leaders);
}

/*
 * Of the active rows, who is certainly slower by the rounds from FIRST on than the leaders' median in the same rounds,
 * which no burst on one of them moves, or than the first of them, leaves.
 */
static enum tcb_status exclude(struct race *race, size_t first, struct tcb_error *err)
{
	TCB_TRY(fill_centre(race, race->leaders, race->leader_count, first, err));
	size_t kept = 0;
	for (size_t a = 0; a < race->active_count; a++) {
		size_t row = race->active[a];
		int is_out = ratio_to_centre(race, row, first).lo > 1 + TCB_TIE_MARGIN ||
			     ratio_since(race, row, race->leaders[0], first).lo > 1 + TCB_TIE_MARGIN;
		race->state[row] = is_out ? ROW_OUT : ROW_IN;
		if (!is_out)
			race->active[kept++] = row;
	}
	race->active_count = kept;
	return TCB_OK;
}

/* What the finals proper may take. */
static double finals_s(const struct race *race)
{
	return fmax(left_s(race), fmax(LEAST_S, LEAST_SHARE * race->setup->seconds));
}

/* As many finalists as ROUNDS rounds of them, the anchor and the limit leave time for. */
static size_t finalists_in_time(const struct race *race, size_t rounds)
{
	size_t count = race->setup->finalists;
	while (count > FEW && cost_s(race, rounds, count + 2) > finals_s(race))
		count--;
	return count;
}

/* The rows in slices, each against the leaders of the slices before. */
static enum tcb_status run_heats(struct race *race, struct tcb_error *err)
{
	double spare_s = (1 - HEATS_SHARE) * left_s(race);
	for (size_t start = 0; start < race->rows; start += HEAT_ROWS) {
		size_t end = start + HEAT_ROWS;
		if (cost_s(race, HEAT_ROUNDS, HEAT_ROWS) > left_s(race) - spare_s) {
			if (start > 0)
				break;
			end = finalists_in_time(race, HEAT_ROUNDS + FINAL_LEAST); /* no time for one heat */
		}
		activate(race, ROW_WAITING, start, end);
		for (size_t i = 0; i < race->leader_count; i++)
			if (race->leaders[i] < start || race->leaders[i] >= end)
				race->active[race->active_count++] = race->leaders[i];
		size_t first = race->rounds.rounds;
		TCB_TRY(run_rounds(race, HEAT_ROUNDS, 0, 0, err));
		if (race->active_count == 0)
			continue;
		TCB_TRY(compute_levels(race, first, err));
		TCB_TRY(exclude(race, first, err));
		choose_leaders(race);
		if (end < start + HEAT_ROWS)
			break;
	}
	return TCB_OK;
}

static enum tcb_status run_rungs(struct race *race, struct tcb_error *err)
{
	size_t first_rung = race->rounds.rounds;
	activate(race, ROW_IN, 0, race->rows);
	for (size_t rung = 0; rung < RUNG_COUNT && race->active_count > race->setup->finalists; rung++) {
		size_t first = race->rounds.rounds, count = RUNGS[rung];
		while (count > RUNG_LEAST && cost_s(race, count, race->active_count) > RUNG_SHARE * left_s(race))
			count--;
		if (rung > 0 && count < HEAT_ROUNDS)
			break;
		/* The first is held in any case: the levels of different heats cannot be compared. */
		TCB_TRY(run_rounds(race, count, 0, 0, err));
		if (race->active_count == 0)
			break;
		if (count >= HEAT_ROUNDS)
			TCB_TRY(exclude(race, first, err));
		TCB_TRY(compute_levels(race, first_rung, err));
		choose_leaders(race);
	}
	return TCB_OK;
}

/* --- finals ----------------------------------------------------------------------------------------------------- */

/* Keeps the best finalists active, and the anchor.  The others stay ROW_IN: nothing excluded them. */
static void choose_finalists(struct race *race)
{
	const size_t most = finalists_in_time(race, FINAL_LEAST);
	if (race->active_count > most) {
		sort_active(race);
		race->active_count = most;
	}
	if (race->state[race->anchor] == ROW_FAILED)
		return;
	for (size_t a = 0; a < race->active_count; a++)
		if (race->active[a] == race->anchor)
			return;
	race->active[race->active_count++] = race->anchor;
}

static int is_clear(const struct race *race, size_t fastest, size_t first)
{
	for (size_t a = 0; a < race->active_count; a++) {
		struct tcb_interval ratio = ratio_since(race, race->active[a], fastest, first);
		if (race->active[a] != fastest && ratio.lo <= 1 + TCB_TIE_MARGIN && ratio.hi - ratio.lo > TIGHT_WIDTH)
			return 0;
	}
	return 1;
}

static enum tcb_status run_finals(struct race *race, size_t first, struct tcb_error *err)
{
	size_t least = FINAL_LEAST;
	while (least > FINAL_FEW && cost_s(race, least, race->active_count + 1) > finals_s(race))
		least--;
	const size_t step = least < FINAL_STEP ? least : FINAL_STEP;
	do {
		TCB_TRY(run_rounds(race, step, 1, race->rounds.rounds - first >= least, err));
		if (race->active_count == 0)
			return TCB_OK;
		TCB_TRY(compute_levels(race, first, err));
	} while (race->rounds.rounds - first < least || (race->rounds.rounds - first < FINAL_MOST && left_s(race) > 0 &&
							 !is_clear(race, lowest_level(race), first)));
	return TCB_OK;
}

/* --- verdict ---------------------------------------------------------------------------------------------------- */

/* Of the active rows, by the rounds from FIRST on. */
static enum tcb_status choose_winner(const struct race *race, size_t first, struct tcb_winner *out,
				     struct tcb_error *err)
{
	const size_t rounds = race->rounds.rounds - first;
	double *samples = malloc(race->active_count * rounds * sizeof *samples);
	struct tcb_geometry *geometries = malloc(race->active_count * sizeof *geometries);
	enum tcb_status status =
		samples && geometries ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals' samples");
	for (size_t a = 0; a < race->active_count && status == TCB_OK; a++) {
		memcpy(samples + a * rounds, tcb_rounds_row(&race->rounds, race->active[a], first),
		       rounds * sizeof *samples);
		geometries[a] = race->geometry[race->active[a]];
	}
	if (status == TCB_OK)
		status =
			tcb_winner_choose(samples, geometries, race->active_count, rounds, race->setup->seed, out, err);
	free(samples);
	free(geometries);
	return status;
}

static enum tcb_status describe(const struct race *race, size_t row, size_t winner, size_t first,
				struct tcb_finalist *out, struct tcb_error *err)
{
	*out = (struct tcb_finalist){ .geometry = race->geometry[row] };
	out->ns = tcb_median_interval(tcb_rounds_row(&race->rounds, row, first), race->rounds.rounds - first);
	out->ratio = ratio_since(race, row, winner, first);
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
		race->level[row] = row == winner ? 0 : ratio_since(race, row, winner, first).median;
	}
	sort_active(race);
}

/*
 * The winner; finalists that are tied; who was excluded by no heat and no rung; and candidates that there was no time
 * for, if their score reaches down to the winner's.
 */
static enum tcb_status fill_tie_set(const struct race *race, const struct ranked *field, size_t count,
				    double winner_score, struct tcb_verdict *out, struct tcb_error *err)
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
			out->tie_set[out->tie_count++] = race->geometry[row];
	}
	for (size_t i = 0; i < count; i++) {
		size_t index = field[i].item;
		if (!settled[index] && race->setup->score[index].lo <= winner_score * (1 + SCORE_MARGIN))
			out->tie_set[out->tie_count++] = race->setup->space->geometries[index];
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

static enum tcb_status report_finalists(const struct race *race, size_t first, const struct tcb_verdict *verdict,
					struct tcb_error *err)
{
	for (size_t rank = 0; race->setup->report && rank < race->active_count; rank++) {
		struct tcb_measurement measurement = {
			.state = race->setup->state,
			.stage = TCB_STAGE_FINAL,
			.ns = verdict->finalists[rank].ns,
			.sample_count = race->rounds.rounds - first,
			.samples = tcb_rounds_row(&race->rounds, race->active[rank], first),
		};
		TCB_TRY(race->setup->report(race->setup->ctx, race->index[race->active[rank]], rank, &measurement,
					    err));
	}
	return TCB_OK;
}

static enum tcb_status fill_verdict(struct race *race, const struct ranked *field, size_t count, size_t first,
				    struct tcb_verdict *out, struct tcb_error *err)
{
	const struct tcb_finals_setup *setup = race->setup;
	struct tcb_winner chosen;
	TCB_TRY(choose_winner(race, first, &chosen, err));
	const size_t winner = race->active[chosen.index];
	out->regret = chosen.regret;
	out->flip_probability = chosen.flip;
	rank_finalists(race, winner, first);
	out->finalists = calloc(race->active_count, sizeof *out->finalists);
	if (!out->finalists)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finalists");
	out->finalist_count = race->active_count;
	for (size_t a = 0; a < race->active_count; a++)
		TCB_TRY(describe(race, race->active[a], winner, first, &out->finalists[a], err));
	double winner_score = race->reachable;
	if (race->state[race->anchor] != ROW_FAILED) {
		struct tcb_interval speedup = ratio_since(race, race->anchor, winner, first);
		winner_score = 1 / speedup.median;
		if (setup->anchor == setup->space->default_index) {
			TCB_TRY(describe(race, race->anchor, winner, first, &out->fallback, err));
			out->speedup = speedup;
		}
	}
	out->limit_ns = tcb_median_interval(race->rounds.limit + first, race->rounds.rounds - first);
	strncpy(out->limit_method, tcb_evaluator_limit_method(setup->evaluator, setup->state),
		sizeof out->limit_method - 1);
	TCB_TRY(fill_tie_set(race, field, count, winner_score, out, err));
	out->valid = 1;
	TCB_TRY(report_finalists(race, first, out, err));
	return report_others(race, field, count, err);
}

/* The best few scores and the anchor, as many as there is time for, straight to the finals. */
static enum tcb_status admit_few(struct race *race, const struct ranked *field, size_t count, struct tcb_error *err)
{
	race->reachable = 1;
	for (size_t i = 0; i < count && race->rows < finalists_in_time(race, FINAL_FEW); i++)
		add_row(race, field[i].item);
	if (race->anchor == SIZE_MAX)
		add_row(race, race->setup->anchor);
	for (size_t row = 0; row < race->rows; row++)
		race->state[row] = ROW_IN;
	activate(race, ROW_IN, 0, race->rows);
	return tcb_rounds_init(&race->rounds, race->geometry, race->rows, err);
}

/* From all candidates to the finalists. */
static enum tcb_status qualify(struct race *race, const struct ranked *field, size_t count, struct tcb_error *err)
{
	const size_t probed = count < PROBES ? count : PROBES;
	size_t leaders[LEADERS], leader_count = 0;
	if (cost_s(race, PROBE_ROUNDS, probed + 1) > PROBE_SHARE * left_s(race))
		return admit_few(race, field, count, err);
	TCB_TRY(probe(race, field, count, leaders, &leader_count, err));
	TCB_TRY(admit(race, field, count, leaders, leader_count, err));
	TCB_TRY(run_heats(race, err));
	TCB_TRY(run_rungs(race, err));
	choose_finalists(race);
	return TCB_OK;
}

enum tcb_status tcb_finals_run(const struct tcb_finals_setup *setup, struct tcb_verdict *out, struct tcb_error *err)
{
	*out = (struct tcb_verdict){ .state = setup->state };
	struct race race;
	struct ranked *field = malloc((setup->space->count + 1) * sizeof *field);
	enum tcb_status status = race_init(&race, setup, setup->space->count + 1, err);
	if (!field)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals");
	if (status != TCB_OK)
		goto done;
	race.call_s = setup->round_s > 0 ? setup->round_s : 1e-9 * setup->anchor_ns; /* until measured */
	race.deadline_s = now_s() + fmax(setup->seconds, LEAST_S);
	size_t count = 0;
	for (size_t i = 0; i < setup->space->count; i++)
		if (!isnan(setup->score[i].median))
			field[count++] = (struct ranked){ setup->score[i].median, i };
	if (count == 0)
		goto done;
	qsort(field, count, sizeof *field, compare_ranked);
	status = qualify(&race, field, count, err);
	size_t first = race.rounds.rounds;
	if (status == TCB_OK)
		status = run_finals(&race, first, err);
	if (status == TCB_OK && race.active_count > 0)
		status = fill_verdict(&race, field, count, first, out, err);
done:
	free(field);
	race_fini(&race);
	return status;
}

void tcb_verdict_fini(struct tcb_verdict *verdict)
{
	free(verdict->finalists);
	free(verdict->tie_set);
	*verdict = (struct tcb_verdict){ .state = verdict->state };
}
