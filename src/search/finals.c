/* SPDX-License-Identifier: MIT
 *
 * In: one screening score per candidate, noisy, taken over minutes.  Out: the
 * winner with intervals, and the set of all candidates that cannot be told
 * from it.  The method is successive elimination (Even-Dar, Mannor and
 * Mansour 2006) on paired samples:
 *
 *   probe   the best few scores against the anchor: which level can be reached
 *   rungs   all candidates whose score does not exclude that level, each round all of them once; who is certainly
 *           slower than the leader leaves; twice as many rounds on the next rung
 *   finals  the best few and the anchor, with the read limit, until it is clear
 *
 * The best of thousands of noisy numbers looks better than it is.  So evidence
 * is never judged by the numbers that selected its reference: the leader of a
 * rung is chosen before the rung, and only the rung's own rounds count against
 * it; the finals count their own rounds only.
 */
#include "search/finals.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "search/rounds.h"
#include "search/stats.h"

enum {
	PROBES = 8,
	PROBE_ROUNDS = 9, /* the least with an interval that may lose its extremes */
	ROWS_MAX = 4096,  /* candidates on the first rung */
	FINAL_STEP = 10,  /* rounds between two looks at the intervals */
	FINAL_LEAST = 30, /* rounds */
	FINAL_MOST = 300, /* beyond, drift between processes outweighs what more rounds tell */
};
static const size_t RUNGS[] = { 6, 12, 24, 48 }; /* rounds; with 6 the interval is the whole range */
enum { RUNG_COUNT = sizeof RUNGS / sizeof *RUNGS };

/* Scores were normalised by an anchor measured up to a second away: what drift and its own noise may leave. */
static const double SCORE_MARGIN = 0.03;
static const double RUNG_SHARE = 0.7;      /* of the time left, for one rung at most; the rest is for the finals */
static const double TIGHT_WIDTH = 0.01;    /* of the ratio's interval: more rounds would not change the tie set */
static const double TIE_BREAK_WIDTH = 0.5; /* of the margin: how much slower by median the simpler one may be */
static const double CHUNK_SECONDS = 3;     /* each chunk warms its candidates up anew */

enum row_state { ROW_IN, ROW_OUT, ROW_FAILED };

struct race {
	const struct tcb_finals_setup *setup;
	size_t rows;
	size_t *index;                 /* [row]: space index */
	struct tcb_geometry *geometry; /* [row] */
	enum row_state *state;         /* [row] */
	double *level;                 /* [row]: median time over the centre of its round */
	size_t *active;                /* rows on this rung; active_count of them */
	size_t active_count;
	size_t anchor; /* row */
	struct tcb_rounds rounds;
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
	free(race->centre);
	tcb_rounds_fini(&race->rounds);
}

static enum tcb_status race_init(struct race *race, const struct tcb_finals_setup *setup, size_t capacity,
				 struct tcb_error *err)
{
	*race = (struct race){ .setup = setup };
	race->index = malloc(capacity * sizeof *race->index);
	race->geometry = malloc(capacity * sizeof *race->geometry);
	race->state = calloc(capacity, sizeof *race->state);
	race->level = calloc(capacity, sizeof *race->level);
	race->active = malloc(capacity * sizeof *race->active);
	race->room = malloc(capacity * sizeof *race->room);
	if (!race->index || !race->geometry || !race->state || !race->level || !race->active || !race->room)
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

static size_t row_of(const struct race *race, size_t index)
{
	for (size_t row = 0; row < race->rows; row++)
		if (race->index[row] == index)
			return row;
	return SIZE_MAX;
}

static void activate_all(struct race *race)
{
	race->active_count = 0;
	for (size_t row = 0; row < race->rows; row++)
		if (race->state[row] == ROW_IN)
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

/* COUNT rounds of the active rows, fewer if TIMED and the time is over. */
static enum tcb_status run_rounds(struct race *race, size_t count, int with_limit, int timed, struct tcb_error *err)
{
	const struct tcb_finals_setup *setup = race->setup;
	size_t done = 0;
	while (done < count && race->active_count > 0) {
		double fit = CHUNK_SECONDS / (race->call_s * (double)race->active_count);
		size_t chunk = fit < 1 ? 1 : fit > (double)(count - done) ? count - done : (size_t)fit;
		double start = now_s();
		size_t first = race->rounds.rounds;
		TCB_TRY(tcb_rounds_add(&race->rounds, setup->evaluator, setup->state, race->active, race->active_count,
				       chunk, with_limit, setup->seed + first, err));
		race->call_s = (now_s() - start) / (double)(chunk * race->active_count);
		done += chunk;
		TCB_TRY(drop_failed(race, first, err));
		if (setup->tick && setup->tick(setup->ctx, left_s(race)))
			return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted in the finals");
		if (timed && left_s(race) <= 0)
			break;
	}
	return TCB_OK;
}

/*
 * Fills level[] of the active rows from round FIRST on.  The centre of a round is the median of the active rows in it:
 * dividing by it takes the drift out and adds next to no noise.
 */
static enum tcb_status compute_levels(struct race *race, size_t first, struct tcb_error *err)
{
	size_t count = race->rounds.rounds - first;
	if (2 * count > race->centre_capacity) {
		double *centre = realloc(race->centre, 2 * count * sizeof *centre);
		if (!centre)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu rounds of the finals", count);
		race->centre = centre;
		race->centre_capacity = 2 * count;
	}
	for (size_t r = 0; r < count; r++) {
		for (size_t a = 0; a < race->active_count; a++)
			race->room[a] = tcb_rounds_row(&race->rounds, race->active[a], first)[r];
		race->centre[r] = tcb_median(race->room, race->active_count);
	}
	for (size_t a = 0; a < race->active_count; a++) {
		size_t row = race->active[a];
		race->level[row] =
			tcb_ratio_interval(tcb_rounds_row(&race->rounds, row, first), race->centre, count).median;
	}
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

/* --- probe and rungs -------------------------------------------------------------------------------------------- */

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

/* The best few scores against the anchor.  LEADER_OUT: the space index of the best of them. */
static enum tcb_status probe(struct race *race, const struct ranked *field, size_t count, size_t *leader_out,
			     struct tcb_error *err)
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
	activate_all(&trial);
	status = tcb_rounds_init(&trial.rounds, trial.geometry, trial.rows, err);
	if (status == TCB_OK)
		status = run_rounds(&trial, PROBE_ROUNDS, 0, 0, err);
	if (status != TCB_OK)
		goto done;
	*leader_out = race->setup->anchor;
	race->reachable = trial.state[0] == ROW_IN ? 1.0 : INFINITY;
	double best = 1.0;
	for (size_t a = 0; a < trial.active_count; a++) {
		struct tcb_interval ratio = ratio_since(&trial, trial.active[a], trial.anchor, 0);
		race->reachable = fmin(race->reachable, ratio.hi); /* fmin ignores the NaN of a failed anchor */
		if (ratio.median < best) {
			best = ratio.median;
			*leader_out = trial.index[trial.active[a]];
		}
	}
	race->call_s = trial.call_s;
done:
	race_fini(&trial);
	return status;
}

/* Rows: all candidates whose score reaches down to the reachable level, best scores first, and the anchor. */
static enum tcb_status admit(struct race *race, const struct ranked *field, size_t count, size_t leader,
			     struct tcb_error *err)
{
	const struct tcb_finals_setup *setup = race->setup;
	double per_row = race->call_s * (double)RUNGS[0];
	double fit = RUNG_SHARE * left_s(race) / per_row;
	size_t most = fit < ROWS_MAX ? (size_t)fit : ROWS_MAX;
	if (most < setup->finalists)
		most = setup->finalists;
	for (size_t i = 0; i < count && race->rows < most; i++) {
		size_t index = field[i].item;
		if (index == setup->anchor || index == leader ||
		    setup->score[index].lo <= race->reachable * (1 + SCORE_MARGIN))
			add_row(race, index);
	}
	if (row_of(race, leader) == SIZE_MAX)
		add_row(race, leader);
	if (row_of(race, setup->anchor) == SIZE_MAX)
		add_row(race, setup->anchor);
	activate_all(race);
	return tcb_rounds_init(&race->rounds, race->geometry, race->rows, err);
}

/* Who is certainly slower than LEADER, by the rounds from FIRST on, leaves. */
static void exclude(struct race *race, size_t leader, size_t first)
{
	size_t kept = 0;
	for (size_t a = 0; a < race->active_count; a++) {
		size_t row = race->active[a];
		if (row != leader && ratio_since(race, row, leader, first).lo > 1 + TCB_TIE_MARGIN)
			race->state[row] = ROW_OUT;
		else
			race->active[kept++] = row;
	}
	race->active_count = kept;
}

static enum tcb_status run_rungs(struct race *race, size_t leader_index, struct tcb_error *err)
{
	size_t leader = row_of(race, leader_index);
	for (size_t rung = 0; rung < RUNG_COUNT && race->active_count > race->setup->finalists; rung++) {
		size_t first = race->rounds.rounds;
		double cost = race->call_s * (double)(race->active_count * RUNGS[rung]);
		if (rung > 0 && cost > RUNG_SHARE * left_s(race))
			break;
		TCB_TRY(run_rounds(race, RUNGS[rung], 0, 0, err));
		if (race->active_count == 0)
			break;
		if (race->state[leader] == ROW_IN)
			exclude(race, leader, first);
		TCB_TRY(compute_levels(race, 0, err));
		leader = lowest_level(race);
	}
	return TCB_OK;
}

/* --- finals ----------------------------------------------------------------------------------------------------- */

/* Keeps the best finalists active, and the anchor.  The others stay ROW_IN: nothing excluded them. */
static enum tcb_status choose_finalists(struct race *race, struct tcb_error *err)
{
	size_t most = race->setup->finalists;
	if (race->active_count > most) {
		struct ranked *ranked = malloc(race->active_count * sizeof *ranked);
		if (!ranked)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals");
		for (size_t a = 0; a < race->active_count; a++)
			ranked[a] = (struct ranked){ race->level[race->active[a]], race->active[a] };
		qsort(ranked, race->active_count, sizeof *ranked, compare_ranked);
		for (size_t a = 0; a < most; a++)
			race->active[a] = ranked[a].item;
		race->active_count = most;
		free(ranked);
	}
	if (race->state[race->anchor] == ROW_FAILED)
		return TCB_OK;
	for (size_t a = 0; a < race->active_count; a++)
		if (race->active[a] == race->anchor)
			return TCB_OK;
	race->active[race->active_count++] = race->anchor;
	return TCB_OK;
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
	do {
		TCB_TRY(run_rounds(race, FINAL_STEP, 1, race->rounds.rounds - first >= FINAL_LEAST, err));
		if (race->active_count == 0)
			return TCB_OK;
		TCB_TRY(compute_levels(race, first, err));
	} while (race->rounds.rounds - first < FINAL_LEAST ||
		 (race->rounds.rounds - first < FINAL_MOST && left_s(race) > 0 &&
		  !is_clear(race, lowest_level(race), first)));
	return TCB_OK;
}

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

static size_t choose_winner(const struct race *race, size_t first)
{
	size_t fastest = lowest_level(race), winner = fastest;
	for (size_t a = 0; a < race->active_count; a++) {
		size_t row = race->active[a];
		struct tcb_interval ratio = ratio_since(race, row, fastest, first);
		if (ratio.lo <= 1 && ratio.median <= 1 + TIE_BREAK_WIDTH * TCB_TIE_MARGIN &&
		    is_simpler(&race->geometry[row], &race->geometry[winner]))
			winner = row;
	}
	return winner;
}

/* --- verdict ---------------------------------------------------------------------------------------------------- */

static void describe(const struct race *race, size_t row, size_t winner, size_t first, struct tcb_finalist *out)
{
	*out = (struct tcb_finalist){ .geometry = race->geometry[row] };
	const struct tcb_variant *variant =
		tcb_variant_find(race->setup->op, race->setup->problem->contract, &out->geometry);
	if (variant) {
		strncpy(out->variant, variant->name, sizeof out->variant - 1);
		strncpy(out->signature, variant->signature, sizeof out->signature - 1);
	}
	out->ns = tcb_median_interval(tcb_rounds_row(&race->rounds, row, first), race->rounds.rounds - first);
	out->ratio = ratio_since(race, row, winner, first);
	out->tied = row == winner || out->ratio.lo <= 1 + TCB_TIE_MARGIN;
}

/* The active rows by their ratio to the winner, the winner first. */
static enum tcb_status rank_finalists(struct race *race, size_t winner, size_t first, struct tcb_error *err)
{
	struct ranked *ranked = malloc(race->active_count * sizeof *ranked);
	if (!ranked)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finalists");
	for (size_t a = 0; a < race->active_count; a++) {
		size_t row = race->active[a];
		ranked[a] = (struct ranked){ row == winner ? 0 : ratio_since(race, row, winner, first).median, row };
	}
	qsort(ranked, race->active_count, sizeof *ranked, compare_ranked);
	for (size_t a = 0; a < race->active_count; a++)
		race->active[a] = ranked[a].item;
	free(ranked);
	return TCB_OK;
}

static enum tcb_status fill_regret(const struct race *race, size_t first, struct tcb_verdict *out,
				   struct tcb_error *err)
{
	size_t rounds = race->rounds.rounds - first;
	double *samples = malloc(race->active_count * rounds * sizeof *samples);
	if (!samples)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals' samples");
	for (size_t a = 0; a < race->active_count; a++)
		memcpy(samples + a * rounds, tcb_rounds_row(&race->rounds, race->active[a], first),
		       rounds * sizeof *samples);
	out->regret = tcb_expected_regret(samples, race->active_count, rounds, 0, race->setup->seed);
	free(samples);
	return TCB_OK;
}

/*
 * The winner; finalists that are tied; contenders that no rung excluded; and candidates that had no place on the first
 * rung, if their score reaches down to the winner's.
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
		if (settled[race->index[row]])
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
	size_t winner = choose_winner(race, first);
	TCB_TRY(rank_finalists(race, winner, first, err));
	out->finalists = calloc(race->active_count, sizeof *out->finalists);
	if (!out->finalists)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finalists");
	out->finalist_count = race->active_count;
	for (size_t a = 0; a < race->active_count; a++)
		describe(race, race->active[a], winner, first, &out->finalists[a]);
	double winner_score = race->reachable;
	if (race->state[race->anchor] != ROW_FAILED) {
		struct tcb_interval speedup = ratio_since(race, race->anchor, winner, first);
		winner_score = 1 / speedup.median;
		if (setup->anchor == setup->space->default_index) {
			describe(race, race->anchor, winner, first, &out->fallback);
			out->speedup = speedup;
		}
	}
	out->limit_ns = tcb_median_interval(race->rounds.limit + first, race->rounds.rounds - first);
	strncpy(out->limit_method, tcb_evaluator_limit_method(setup->evaluator, setup->state),
		sizeof out->limit_method - 1);
	TCB_TRY(fill_regret(race, first, out, err));
	TCB_TRY(fill_tie_set(race, field, count, winner_score, out, err));
	out->valid = 1;
	return report_finalists(race, first, out, err);
}

enum tcb_status tcb_finals_run(const struct tcb_finals_setup *setup, struct tcb_verdict *out, struct tcb_error *err)
{
	*out = (struct tcb_verdict){ .state = setup->state };
	struct race race;
	struct ranked *field = malloc((setup->space->count + 1) * sizeof *field);
	enum tcb_status status = race_init(&race, setup, setup->space->count + 1, err);
	if (!field || status != TCB_OK) {
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals");
		goto done;
	}
	race.call_s = 2e-9 * setup->anchor_ns; /* until measured */
	race.deadline_s = now_s() + setup->seconds;
	size_t count = 0, leader = setup->anchor;
	for (size_t i = 0; i < setup->space->count; i++)
		if (!isnan(setup->score[i].median))
			field[count++] = (struct ranked){ setup->score[i].median, i };
	if (count == 0)
		goto done;
	qsort(field, count, sizeof *field, compare_ranked);
	if ((status = probe(&race, field, count, &leader, err)) != TCB_OK ||
	    (status = admit(&race, field, count, leader, err)) != TCB_OK ||
	    (status = run_rungs(&race, leader, err)) != TCB_OK || (status = choose_finalists(&race, err)) != TCB_OK)
		goto done;
	size_t first = race.rounds.rounds;
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
