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
 *   finals  the best few and the anchor, until it is clear: in legs, each in a worker process of its own, the first of
 *           them with the read limit
 *
 * Where there is no time for that, the best few scores go to the finals at once, and there are fewer rounds: long calls
 * are less noisy.
 *
 * The best of thousands of noisy numbers looks better than it is.  So evidence is never judged by the numbers that
 * selected its reference: the leader of a rung is chosen before the rung, and only the rung's own rounds count against
 * it; the finals count their own rounds only, and of these what others did not disturb, where
 * that is enough.
 */
#include "search/race.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "base/util.h"

enum {
	PROBES = 8,
	PROBE_ROUNDS = 9, /* the least with an interval that may lose its extremes */
	HEAT_ROWS = 512,
	RUNG_LEAST = 3,
	HEAT_ROUNDS = 6,  /* the interval is the whole range */
	FINAL_STEP = 10,  /* rounds between two looks at the intervals */
	FINAL_LEAST = 30, /* rounds */
	FINAL_FEW = 3,    /* where there is no time for more */
	FEW = 1,          /* finalists beside the anchor, likewise */
	FINAL_MOST = 300, /* beyond, drift between processes outweighs what more rounds tell */
	AGAIN = 3,        /* times as many rounds as are wanted, where others disturb them */
	LEGS_LEAST = 3,   /* two tell next to nothing of how far a third is from them */
	LEGS_ENOUGH = 6,
	LEG_LEAST = 8, /* rounds */
	LEG_MOST = 20, /* then a leg takes about as long as its worker's start */
};
static const size_t RUNGS[] = { 12, 24, 48 }; /* rounds */
enum { RUNG_COUNT = sizeof RUNGS / sizeof *RUNGS };
static const double HOPELESS = 1.5;        /* times the reachable level: no burst explains that */
static const double LEAST_S = 0.5;         /* however little time is left: enough for all rounds of short calls */
static const double LEAST_SHARE = 0.1;     /* of the time for the finals proper, however long the rungs took */
static const double SLACK = 1.3;           /* for the first rounds: what the very first took is a rough estimate */
static const double QUALIFY_SHARE = 0.8;   /* of the time, for all before the finals proper: beyond, it is given up */
static const double PROBE_SHARE = 0.3;     /* of the time: a probe that takes longer is not held */
static const double HEATS_SHARE = 0.6;     /* of the time */
static const double RUNG_SHARE = 0.7;      /* of the time left, for one rung at most; the rest is for the finals */
static const double LUCK_MOST = 0.08;      /* of a ratio in one process */
static const double LEAST_RENEW_S = 0.001; /* seconds: the start of a process */
static const double CHANGE_SHARE = 0.25;   /* of the time, for changing the worker before a rung */
static const double LEGS_SHARE = 0.3;      /* of the time: kept for legs by those who race */
static const double TIGHT_WIDTH = 0.01;    /* of the ratio's interval: more rounds would not change the tie set */

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

/* --- probe, heats, rungs ---------------------------------------------------------------------------------------- */

static int has_chance(const struct race *race, size_t index)
{
	return race->setup->score[index].lo <= race->reachable * HOPELESS;
}

/* By the scores: which level is reached, and the call time of the candidates that may reach it, as long as the
 * anchor's at least.  Where few were tried, there are some among the best few that take a hundred times as long. */
static void expect(struct race *race, const struct ranked *field, size_t count)
{
	const struct tcb_finals_setup *setup = race->setup;
	double sum = 1;
	size_t summed = 1;
	race->reachable = INFINITY;
	for (size_t i = 0; i < count; i++)
		race->reachable = fmin(race->reachable, setup->score[field[i].item].hi);
	for (size_t i = 0; i < count && summed <= PROBES; i++) {
		if (field[i].item == setup->anchor || !has_chance(race, field[i].item))
			continue;
		sum += field[i].key;
		summed++;
	}
	race->call_s = (setup->round_s > 0 ? setup->round_s : 1e-9 * setup->anchor_ns) * fmax(1, sum / (double)summed);
}

/*
 * The best few scores against the anchor: which level is certainly reached, and who leads, as space indices, the best
 * first.
 */
static enum tcb_status probe(struct race *race, const struct ranked *field, size_t count,
			     size_t leaders[TCB_RACE_LEADERS], size_t *leader_count, struct tcb_error *err)
{
	struct race trial;
	enum tcb_status status = tcb_race_init(&trial, race->setup, PROBES + 1, err);
	if (status != TCB_OK)
		goto done;
	trial.deadline_s = race->deadline_s;
	trial.call_s = race->call_s;
	tcb_race_add_row(&trial, race->setup->anchor);
	for (size_t i = 0; i < count && trial.rows <= PROBES; i++)
		if (field[i].item != race->setup->anchor && has_chance(race, field[i].item))
			tcb_race_add_row(&trial, field[i].item);
	tcb_race_activate(&trial, ROW_WAITING, 0, trial.rows);
	status = tcb_rounds_init(&trial.rounds, trial.geometry, trial.rows, err);
	if (status == TCB_OK) /* which makes the copies of the operands: no part of what calls take */
		status = tcb_race_run(&trial, 1, 0, 0, err);
	if (status == TCB_OK)
		status = tcb_race_run(&trial, PROBE_ROUNDS - 1, 0, 0, err);
	race->is_over = trial.is_over;
	if (status == TCB_OK && trial.active_count > 0)
		status = tcb_race_fill_levels(&trial, 0, err);
	if (status != TCB_OK)
		goto done;
	race->call_s = trial.call_s;
	race->reachable = trial.state[trial.anchor] == ROW_FAILED ? INFINITY : 1.0;
	for (size_t a = 0; a < trial.active_count; a++) /* fmin ignores the NaN of a failed anchor */
		race->reachable = fmin(race->reachable, tcb_race_ratio(&trial, trial.active[a], trial.anchor, 0).hi);
	tcb_race_sort(&trial);
	for (*leader_count = 0; *leader_count < TCB_RACE_LEADERS && *leader_count < trial.active_count; ++*leader_count)
		leaders[*leader_count] = trial.index[trial.active[*leader_count]];
done:
	tcb_race_fini(&trial);
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
		if (is_leader || index == setup->anchor || has_chance(race, index))
			tcb_race_add_row(race, index);
	}
	if (race->anchor == SIZE_MAX)
		tcb_race_add_row(race, setup->anchor);
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
	tcb_race_sort(race);
	race->leader_count = race->active_count < TCB_RACE_LEADERS ? race->active_count : TCB_RACE_LEADERS;
	memcpy(race->leaders, race->active, race->leader_count * sizeof *race->leaders);
}

static int may_change(const struct race *race)
{
	return race->renew_s > 0 && race->renew_s <= CHANGE_SHARE * tcb_race_left_s(race);
}

/* COUNT rounds of the active rows in a new worker; race->renew_s learns what its start takes. */
static enum tcb_status run_in_new_worker(struct race *race, size_t count, struct tcb_error *err)
{
	const size_t before = race->rounds.rounds;
	const double start_s = now_s(), call_s = race->call_s,
		     calls_s = tcb_race_cost_s(race, count, race->active_count);
	tcb_evaluator_renew(race->setup->evaluator);
	enum tcb_status status = tcb_race_run(race, count, 0, 0, err);
	if (status == TCB_OK && race->rounds.rounds - before == count)
		race->renew_s = fmax(LEAST_RENEW_S, now_s() - start_s - calls_s);
	race->call_s = call_s;
	return status;
}

/*
 * Of the active rows, who is certainly slower by the rounds from FIRST on than the leaders' median in the same rounds,
 * which no burst on one of them moves, or than the first of them, leaves.  In one process that may be bad luck with its
 * memory: where there are several, it takes two of them, or a difference that is beyond luck.
 */
static enum tcb_status exclude(struct race *race, size_t first, struct tcb_error *err)
{
	TCB_TRY(tcb_race_fill_centre(race, race->leaders, race->leader_count, first, err));
	size_t kept = 0;
	for (size_t a = 0; a < race->active_count; a++) {
		size_t row = race->active[a];
		const double before = race->out_lo[row],
			     lo = fmax(tcb_race_ratio_to_centre(race, row, first).lo,
				       tcb_race_ratio(race, row, race->leaders[0], first).lo);
		const int is_slow = lo > 1 + TCB_TIE_MARGIN, was_slow = before > 1 + TCB_TIE_MARGIN;
		const int is_sure = !race->changes || lo > 1 + LUCK_MOST || (race->is_new && was_slow);
		const int is_out = is_slow && is_sure;
		race->out_lo[row] = race->is_new ? fmax(lo, before) : lo;
		race->state[row] = is_out ? ROW_OUT : ROW_IN;
		if (!is_out)
			race->active[kept++] = row;
	}
	race->active_count = kept;
	return TCB_OK;
}

static double least_s(const struct tcb_finals_setup *setup)
{
	return setup->least_s > 0 ? setup->least_s : LEAST_S;
}

/* What the finals proper may take. */
static double finals_s(const struct race *race)
{
	return fmax(tcb_race_left_s(race), fmax(least_s(race->setup), LEAST_SHARE * race->setup->seconds));
}

/* As many finalists as ROUNDS rounds of them, the anchor and the limit leave time for. */
static size_t finalists_in_time(const struct race *race, size_t rounds)
{
	size_t count = race->setup->finalists;
	while (count > FEW && tcb_race_cost_s(race, rounds, count + 2) > finals_s(race))
		count--;
	return count;
}

/* The rows in slices, each against the leaders of the slices before. */
static enum tcb_status run_heats(struct race *race, struct tcb_error *err)
{
	double spare_s = (1 - HEATS_SHARE) * tcb_race_left_s(race);
	for (size_t start = 0; start < race->rows; start += HEAT_ROWS) {
		size_t end = start + HEAT_ROWS;
		if (tcb_race_cost_s(race, HEAT_ROUNDS, HEAT_ROWS) > tcb_race_left_s(race) - spare_s) {
			if (start > 0)
				break;
			end = finalists_in_time(race, HEAT_ROUNDS + FINAL_LEAST); /* no time for one heat */
		}
		tcb_race_activate(race, ROW_WAITING, start, end);
		for (size_t i = 0; i < race->leader_count; i++)
			if (race->leaders[i] < start || race->leaders[i] >= end)
				race->active[race->active_count++] = race->leaders[i];
		size_t first = race->rounds.rounds;
		TCB_TRY(tcb_race_run(race, HEAT_ROUNDS, 0, 0, err));
		if (race->active_count == 0)
			continue;
		TCB_TRY(tcb_race_fill_levels(race, first, err));
		if (race->is_over)
			return TCB_OK; /* fewer rounds than it takes to exclude anybody */
		TCB_TRY(exclude(race, first, err));
		choose_leaders(race);
		if (end < start + HEAT_ROWS)
			break;
	}
	return TCB_OK;
}

static enum tcb_status run_rungs(struct race *race, struct tcb_error *err)
{
	const size_t first_rung = race->first_rung = race->end_of_rungs = race->rounds.rounds;
	tcb_race_activate(race, ROW_IN, 0, race->rows);
	for (size_t rung = 0; rung < RUNG_COUNT && race->active_count > race->setup->finalists; rung++) {
		size_t first = race->rounds.rounds, count = RUNGS[rung];
		while (count > RUNG_LEAST &&
		       tcb_race_cost_s(race, count, race->active_count) > RUNG_SHARE * tcb_race_left_s(race))
			count--;
		if (rung > 0 && count < HEAT_ROUNDS)
			break;
		race->is_new = race->changes = may_change(race);
		/* The first is held in any case: the levels of different heats cannot be compared. */
		TCB_TRY(race->is_new ? run_in_new_worker(race, count, err) : tcb_race_run(race, count, 0, 0, err));
		if (race->active_count == 0 || race->is_over)
			break;
		if (count >= HEAT_ROUNDS)
			TCB_TRY(exclude(race, first, err));
		TCB_TRY(tcb_race_fill_levels(race, first_rung, err));
		choose_leaders(race);
		race->end_of_rungs = race->rounds.rounds;
	}
	return TCB_OK;
}

/* --- finals ----------------------------------------------------------------------------------------------------- */

/* Keeps the best finalists active, and the anchor.  The others stay ROW_IN: nothing excluded them. */
static void choose_finalists(struct race *race)
{
	const size_t most = finalists_in_time(race, FINAL_LEAST + 2 * FINAL_FEW); /* in two pieces */
	race->places = most;
	if (race->active_count > most) {
		tcb_race_sort(race);
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
		struct tcb_interval ratio = tcb_race_final(race, race->active[a], fastest, first);
		if (race->active[a] != fastest && ratio.lo <= 1 + TCB_TIE_MARGIN && ratio.hi - ratio.lo > TIGHT_WIDTH)
			return 0;
	}
	return 1;
}

/* How many rounds up to MOST fit into SECONDS. */
static size_t rounds_in_time(const struct race *race, size_t most, double seconds)
{
	while (most > 0 && tcb_race_cost_s(race, most, race->active_count + 1) > seconds)
		most--;
	return most;
}

/* Rounds in the worker that is there, up to MOST that nobody disturbs, until it is clear or the time is over: the first
 * few tell what the others cost, the limit's calls included. */
static enum tcb_status run_rounds(struct race *race, size_t first, size_t most, double end_s, struct tcb_error *err)
{
	const size_t begun = race->rounds.rounds;
	size_t held = tcb_race_quiet(race, first), step = begun > first ? FINAL_STEP : FINAL_FEW;
	const size_t least = most < FINAL_LEAST ? most : FINAL_LEAST;
	const int with_limit = race->legs.count == 1;
	while (step > 0 && !race->is_over) {
		TCB_TRY(tcb_race_run(race, step, with_limit, held >= least, err));
		if (race->active_count == 0)
			return TCB_OK;
		TCB_TRY(tcb_race_fill_levels(race, first, err));
		held = tcb_race_quiet(race, first);
		if (held >= most || race->rounds.rounds - begun >= AGAIN * most ||
		    (held >= least && (tcb_race_left_s(race) <= 0 || is_clear(race, tcb_race_lowest(race), first))))
			return TCB_OK;
		step = held < least ? rounds_in_time(race, least - held, SLACK * (end_s - now_s()))
				    : rounds_in_time(race, FINAL_STEP, end_s - now_s());
	}
	return TCB_OK;
}

/* How many rounds the next leg has; 0: there is no time for it. */
static size_t rounds_of_leg(const struct race *race, double seconds)
{
	const size_t held = race->legs.count;
	const double wanted = held < LEGS_LEAST ? (double)(LEGS_LEAST - held) : 1;
	const double more = held < LEGS_ENOUGH ? (double)(LEGS_ENOUGH - held) : 1;
	size_t rounds = LEG_MOST;
	if (race->renew_s <= 0 || held >= TCB_LEGS_MOST ||
	    wanted * (race->renew_s + tcb_race_cost_s(race, LEG_LEAST, race->active_count)) > seconds)
		return 0;
	while (rounds > LEG_LEAST &&
	       more * (race->renew_s + tcb_race_cost_s(race, rounds, race->active_count)) > seconds)
		rounds--;
	return rounds;
}

/* The legs after the first.  One that fails brings nothing: what those before it tell still holds. */
static enum tcb_status run_legs(struct race *race, size_t first, double end_s, struct tcb_error *err)
{
	for (;;) {
		const size_t before = race->rounds.rounds, count = rounds_of_leg(race, end_s - now_s());
		struct tcb_error why;
		if (count == 0 || (race->legs.count >= LEGS_ENOUGH && is_clear(race, tcb_race_lowest(race), first)))
			return TCB_OK;
		race->legs.first[race->legs.count++] = before - first;
		enum tcb_status status = run_in_new_worker(race, count, &why);
		race->legs.count -= race->rounds.rounds == before;
		if (status == TCB_E_INTERRUPTED)
			return tcb_fail(err, status, "%s", why.message);
		if (race->active_count == 0)
			return TCB_OK;
		TCB_TRY(tcb_race_fill_levels(race, first, err));
		if (status != TCB_OK || race->is_over)
			return TCB_OK;
	}
}

/* Where no rung had a worker of its own, the one that is there took the scores: its luck chose the finalists, and must
 * not judge them as well. */
static enum tcb_status begin_first_leg(struct race *race, struct tcb_error *err)
{
	const int has_own = race->changes && race->end_of_rungs > race->first_rung;
	return has_own || !may_change(race) ? TCB_OK : run_in_new_worker(race, 1, err);
}

static enum tcb_status run_finals(struct race *race, size_t first, struct tcb_error *err)
{
	const double end_s = now_s() + finals_s(race);
	race->legs = (struct tcb_legs){ .count = 1 };
	TCB_TRY(begin_first_leg(race, err));
	if (race->renew_s > 0)
		TCB_TRY(run_rounds(race, first, LEG_LEAST, end_s, err));
	if (race->active_count > 0)
		TCB_TRY(run_legs(race, first, end_s, err));
	if (race->active_count > 0 && (race->legs.count == 1 || tcb_race_quiet(race, first) < FINAL_LEAST))
		TCB_TRY(run_rounds(race, first, race->legs.count == 1 ? FINAL_MOST : FINAL_LEAST, end_s, err));
	return TCB_OK;
}

/* The best few scores and the anchor, as many as there is time for, straight to the finals. */
static enum tcb_status admit_few(struct race *race, const struct ranked *field, size_t count, struct tcb_error *err)
{
	race->places = finalists_in_time(race, FINAL_FEW);
	for (size_t i = 0; i < count && race->rows < race->places; i++)
		if (field[i].item == race->setup->anchor || has_chance(race, field[i].item))
			tcb_race_add_row(race, field[i].item);
	if (race->anchor == SIZE_MAX)
		tcb_race_add_row(race, race->setup->anchor);
	for (size_t row = 0; row < race->rows; row++)
		race->state[row] = ROW_IN;
	tcb_race_activate(race, ROW_IN, 0, race->rows);
	return tcb_rounds_init(&race->rounds, race->geometry, race->rows, err);
}

/* Where there was no time to qualify: the first rows, whose scores are the best, of those that nothing excluded. */
static void choose_by_scores(struct race *race)
{
	const size_t most = finalists_in_time(race, FINAL_FEW);
	race->active_count = 0;
	for (size_t row = 0; row < race->rows; row++) {
		const int is_in = race->state[row] == ROW_WAITING || race->state[row] == ROW_IN;
		if (!is_in || (race->active_count >= most && row != race->anchor))
			continue;
		race->state[row] = ROW_IN;
		race->active[race->active_count++] = row;
	}
}

static enum tcb_status race_to_finals(struct race *race, const struct ranked *field, size_t count,
				      struct tcb_error *err)
{
	size_t leaders[TCB_RACE_LEADERS], leader_count = 0;
	TCB_TRY(probe(race, field, count, leaders, &leader_count, err));
	if (race->is_over)
		return admit_few(race, field, count, err);
	TCB_TRY(admit(race, field, count, leaders, leader_count, err));
	TCB_TRY(run_heats(race, err));
	if (!race->is_over)
		TCB_TRY(run_rungs(race, err));
	if (race->is_over)
		choose_by_scores(race);
	else
		choose_finalists(race);
	return TCB_OK;
}

/* From all candidates to the finalists.  What takes too long, preparing the operands of many layouts for one, is given
 * up: the finals proper have a part of the time for themselves. */
static enum tcb_status qualify(struct race *race, const struct ranked *field, size_t count, struct tcb_error *err)
{
	const struct tcb_finals_setup *setup = race->setup;
	const size_t probed = count < PROBES ? count : PROBES;
	if (tcb_race_cost_s(race, PROBE_ROUNDS, probed + 1) > PROBE_SHARE * tcb_race_left_s(race))
		return admit_few(race, field, count, err);
	if (setup->end.ns)
		tcb_evaluator_until(setup->evaluator, tcb_deadline_in(QUALIFY_SHARE * tcb_deadline_left_s(setup->end)));
	TCB_TRY(race_to_finals(race, field, count, err));
	tcb_evaluator_until(setup->evaluator, setup->end);
	race->is_over = 0;
	return TCB_OK;
}

enum tcb_status tcb_finals_run(const struct tcb_finals_setup *setup, struct tcb_decision *out, struct tcb_error *err)
{
	*out = (struct tcb_decision){ .state = setup->state };
	struct race race;
	struct ranked *field = malloc((setup->space->count + 1) * sizeof *field);
	enum tcb_status status = tcb_race_init(&race, setup, setup->space->count + 1, err);
	if (!field)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals");
	if (status != TCB_OK)
		goto done;
	race.deadline_s = now_s() + fmax(setup->seconds, least_s(setup));
	const double kept_s = fmin(LEGS_SHARE * setup->seconds, LEGS_ENOUGH * setup->renew_s);
	race.renew_s = setup->renew_s;
	race.changes = may_change(&race);
	race.deadline_s -= kept_s;
	size_t count = 0;
	for (size_t i = 0; i < setup->space->count; i++)
		if (!isnan(setup->score[i].median))
			field[count++] = (struct ranked){ setup->score[i].median, i };
	if (count == 0)
		goto done;
	qsort(field, count, sizeof *field, tcb_compare_ranked);
	expect(&race, field, count);
	tcb_evaluator_until(setup->evaluator, setup->end);
	status = qualify(&race, field, count, err);
	size_t first = race.rounds.rounds;
	race.deadline_s += kept_s;
	if (status == TCB_OK)
		status = run_finals(&race, first, err);
	/* Without a round, what the screening says stands. */
	if (status == TCB_OK && race.active_count > 0 && race.rounds.rounds > first)
		status = tcb_decision_fill(&race, field, count, first, out, err);
done:
	free(field);
	tcb_race_fini(&race);
	return status;
}
