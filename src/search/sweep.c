/* SPDX-License-Identifier: MIT
 *
 * One sweep, in the order it happens: enumerate the space, take over what is
 * known, start the worker, screen what won elsewhere or a model thinks best and
 * then what the strategy proposes, on a GPU the best of it once more with
 * passes=all, hold the finals in each cache state.
 *
 * Screening takes a few samples of each candidate, over minutes, while the
 * machine's speed drifts.  The default geometry is measured again several
 * times a second as an anchor, and candidates are compared by their ratio to
 * it.  What screening cannot hold apart, the finals measure side by side.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/stats.h"
#include "base/util.h"
#include "search/sweep_state.h"

enum {
	SAMPLES_LEAST = 3, /* of one candidate in one state; the finals measure again what may win */
	SAMPLES_MIN = 6,   /* from here on the interval of the median has its 95 % */
	SAMPLES_MAX = 8,   /* more in a row tell little: noise comes in bursts that hit them all */
	SAMPLES_USUAL = 4, /* about so many calls are enough for most */
	ANCHOR_ROUNDS = 5,
	CHALLENGE_ROUNDS = 5,
	CHALLENGE_ROUNDS_GPU = 3, /* whose samples hardly differ */
};
static const double SCREEN_WIDTH = 0.02; /* of the interval: enough to tell whether a candidate goes to the finals */
static const double LOSE_MARGIN = 1.2;   /* over the best: drift since the last look at the anchor, and bursts */
static const double ANCHOR_EVERY_S = 0.3, ANCHOR_SHARE = 0.05; /* seconds; of the time, at most */
static const double LONG_ROUND = 0.003; /* of the budget: then the finals have few rounds, and less of the time */
/* The finals' part of a budget: a quarter, but 8 s if that is no more than two fifths; and what they use at most. */
static const double FINALS_SHARE = 0.25, FINALS_SHARE_MOST = 0.4, FINALS_LEAST_S = 8, FINALS_MOST_S = 100;
static const double ENDING_SHARE = 0.03; /* of a budget, for freeing the worker's memory and storing the winners */
static const double PASSES_SHARE = 0.3;  /* of the finals' part, for candidates with passes=all */
static const double TRY_WEIGHT = 0.05;   /* of the latest candidate in the mean of what one takes */
/* Of the finals' part: what begins before it and takes longer is given up. */
static const double OVERTIME_SHARE = 0.2;
static const double LATE = 0.9; /* of the screening: code of what there is no time for would be in the way of others' */

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

static double finals_reserve(const struct tcb_sweep *sweep)
{
	const double budget_s = sweep->options->budget_s;
	const double most =
		sweep->kind->has_threads ? FINALS_SHARE_MOST : FINALS_SHARE; /* a GPU's samples hardly differ */
	return fmax(FINALS_SHARE * budget_s, fmin(most * budget_s, FINALS_LEAST_S));
}

/* What a candidate takes; before one of a known layout was tried, by the calls of the anchor. */
static double try_s(const struct tcb_sweep *sweep)
{
	double seconds = 0;
	if (sweep->try_s > 0)
		return sweep->try_s;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		seconds += SAMPLES_USUAL * sweep->round_s[s];
	return seconds;
}

static enum tcb_layout layout_of(const struct tcb_geometry *geometry)
{
	const int32_t layout = geometry->knob[TCB_KNOB_LAYOUT];
	return layout == TCB_KNOB_UNSET ? TCB_LAYOUT_NATIVE : (enum tcb_layout)layout;
}

static double screening_left(const struct tcb_sweep *sweep)
{
	if (sweep->out->tried == 0)
		return -1;
	size_t rest = sweep->space->count - sweep->progress.done;
	if (sweep->options->max_trials && rest > sweep->options->max_trials - sweep->out->tried)
		rest = sweep->options->max_trials - sweep->out->tried;
	double screening = (double)rest * try_s(sweep);
	double finals = FINALS_MOST_S;
	if (sweep->options->budget_s > 0) {
		screening = fmin(screening, fmax(0, sweep->screen_end_s - now_s()));
		finals = fmin(finals, finals_reserve(sweep));
	}
	return screening + finals;
}

/* --- what the strategy is told ---------------------------------------------------------------------------------- */

static void tell(struct tcb_sweep *sweep, size_t index)
{
	const struct tcb_sweep_entry *entry = &sweep->entries[index];
	/* Without what follows a trial that seems to be the best so far: to find one should not make a strategy dear.
	 */
	struct tcb_told told = { .outcome = entry->outcome, .seconds = entry->took_s };
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		double score =
			tcb_sweep_measures(sweep, s) ? tcb_sweep_score(sweep, index, (enum tcb_state)s).median : NAN;
		told.cost[s] = entry->outcome == TCB_OUTCOME_OK || !tcb_sweep_measures(sweep, s) ? score : INFINITY;
		if (index == sweep->space->default_index && !isnan(score))
			sweep->progress.default_ns[s] = entry->ns[s].median;
	}
	sweep->strategy.tell(sweep->strategist, index, &told);
}

/* --- screening -------------------------------------------------------------------------------------------------- */

/* One measurement of the anchor in STATE on each member, in ROUNDS rounds; NS has room for them. */
static enum tcb_status look_at_anchor(struct tcb_sweep *sweep, enum tcb_state state, size_t rounds, double *ns,
				      struct tcb_error *err)
{
	double start = now_s();
	TCB_TRY(tcb_team_interleave_each(sweep->team, &sweep->space->geometries[sweep->anchor], 1, state, rounds,
					 sweep->options->seed + sweep->out->tried, ns, err));
	const double took_s = now_s() - start;
	size_t most_held = 0;
	for (size_t i = 0; i < tcb_team_size(sweep->team); i++) {
		if (tcb_team_lost(sweep->team, i))
			continue;
		struct tcb_drift *drift = &sweep->drift[i][state];
		size_t held = 0;
		while (held < rounds && !isnan(ns[i * rounds + held]))
			held++;
		most_held = held > most_held ? held : most_held;
		tcb_spread_add(&sweep->spread[state], ns + i * rounds, held, tcb_drift_at(drift, now_s()));
		TCB_TRY(tcb_drift_add(drift, now_s(), tcb_median(ns + i * rounds, held), err));
	}
	if (most_held > 0)
		sweep->round_s[state] = took_s / (double)most_held;
	return TCB_OK;
}

static enum tcb_status measure_anchor(struct tcb_sweep *sweep, struct tcb_error *err)
{
	double start = now_s(), *ns = malloc(tcb_team_size(sweep->team) * ANCHOR_ROUNDS * sizeof *ns);
	enum tcb_status status = ns ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for the anchor's times");
	for (int s = 0; s < TCB_STATE_COUNT && status == TCB_OK; s++) {
		if (!tcb_sweep_measures(sweep, s))
			continue;
		/* The first round tells how long one takes. */
		const int is_first = sweep->round_s[s] <= 0;
		if (is_first)
			status = look_at_anchor(sweep, (enum tcb_state)s, 1, ns, err);
		const size_t rounds = tcb_sweep_rounds_for(sweep, (enum tcb_state)s, 1, ANCHOR_ROUNDS);
		if (status == TCB_OK && (rounds > 0 || !is_first))
			status = look_at_anchor(sweep, (enum tcb_state)s, rounds > 0 ? rounds : 1, ns, err);
	}
	free(ns);
	double end = now_s();
	sweep->next_anchor_s = end + fmax(ANCHOR_EVERY_S, (end - start) / ANCHOR_SHARE);
	return status;
}

static void set_best(struct tcb_sweep *sweep, size_t index, enum tcb_state state, double score, double ns)
{
	sweep->best[state] = index;
	sweep->best_score[state] = score;
	sweep->progress.best[state] = &sweep->space->geometries[index];
	sweep->progress.best_ns[state] = ns;
}

/*
 * Whoever seems to be clearly the best so far is measured side by side with the best and the anchor: the luckiest of
 * thousands of scores is far too low (copies that happen to be in the cache), and losers are dropped by it.  Where
 * calls are so long that this takes too much of the budget, candidates are few and their scores good.
 */
static enum tcb_status challenge(struct tcb_sweep *sweep, size_t index, enum tcb_state state, struct tcb_error *err)
{
	const struct tcb_interval found = tcb_sweep_score(sweep, index, state);
	const double score = found.median;
	if (!(found.hi < sweep->best_score[state]))
		return TCB_OK;
	const struct tcb_geometry *geometries = sweep->space->geometries;
	const size_t best = sweep->best_score[state] < INFINITY ? sweep->best[state] : sweep->anchor;
	const size_t count = best == sweep->anchor ? 2 : 3;
	const size_t most = sweep->kind->has_threads ? CHALLENGE_ROUNDS : CHALLENGE_ROUNDS_GPU;
	const size_t rounds = index == sweep->anchor ? 0 : tcb_sweep_rounds_for(sweep, state, count, most);
	if (rounds == 0) {
		set_best(sweep, index, state, score, sweep->entries[index].ns[state].median);
		return TCB_OK;
	}
	const struct tcb_geometry side_by_side[] = { geometries[sweep->anchor], geometries[index], geometries[best] };
	double ns[3 * CHALLENGE_ROUNDS];
	TCB_TRY(tcb_team_interleave(sweep->team, side_by_side, count, state, rounds, sweep->options->seed + index, ns,
				    err));
	if (isnan(ns[rounds])) /* there was no time for it */
		return TCB_OK;
	const double *anchor_ns = ns, *index_ns = ns + rounds, *best_ns = count == 2 ? anchor_ns : ns + 2 * rounds;
	sweep->entries[index].checked[state] = tcb_ratio_interval(index_ns, anchor_ns, rounds);
	int is_first = sweep->best_score[state] == INFINITY;
	if (is_first || tcb_ratio_interval(index_ns, best_ns, rounds).median < 1)
		set_best(sweep, index, state, sweep->entries[index].checked[state].median,
			 tcb_median(index_ns, rounds));
	return TCB_OK;
}

static enum tcb_status challenge_all(struct tcb_sweep *sweep, size_t index, struct tcb_error *err)
{
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		if (tcb_sweep_measures(sweep, s))
			TCB_TRY(challenge(sweep, index, (enum tcb_state)s, err));
	return TCB_OK;
}

static struct tcb_screen_rule screen_rule(const struct tcb_sweep *sweep, size_t member)
{
	struct tcb_screen_rule rule = {
		.samples_min = sweep->samples_max < SAMPLES_MIN ? sweep->samples_max : SAMPLES_MIN,
		.samples_max = sweep->samples_max,
		.width = SCREEN_WIDTH,
	};
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		if (sweep->best_score[s] < INFINITY)
			rule.lose_ns[s] =
				LOSE_MARGIN * sweep->best_score[s] * tcb_drift_at(&sweep->drift[member][s], now_s());
		tcb_spread_bounds(&sweep->spread[s], rule.over[s]);
	}
	return rule;
}

/* More samples while the rest of the space fits into the time, fewer when it does not. */
static void adapt_samples(struct tcb_sweep *sweep)
{
	size_t rest = sweep->space->count - sweep->progress.done;
	if (sweep->options->budget_s <= 0 || rest == 0)
		return;
	double allowed_s = (sweep->screen_end_s - now_s()) / (double)rest;
	if (sweep->try_s > allowed_s && sweep->samples_max > SAMPLES_LEAST)
		sweep->samples_max--;
	else if (sweep->try_s < 0.9 * allowed_s && sweep->samples_max < SAMPLES_MAX)
		sweep->samples_max++;
}

/* The very first candidate computes the reference, too, and the first of a layout on a CPU packs and copies weights:
 * what that takes says nothing of the others. */
static void learn_cost(struct tcb_sweep *sweep, const struct tcb_trial *trial, double took_s)
{
	const size_t before = sweep->out->tried + sweep->out->with_passes;
	const int is_new = sweep->kind->has_threads && !sweep->has_layout[layout_of(&trial->geometry)];
	if (is_new && trial->outcome == TCB_OUTCOME_OK) {
		const double extra_s =
			before > 0 ? took_s - try_s(sweep) : 1e-9 * (trial->prepare_ns + fmax(trial->pack_ns, 0));
		sweep->has_layout[layout_of(&trial->geometry)] = 1;
		sweep->layout_s = fmax(sweep->layout_s, extra_s);
	}
	if (before == 0 || is_new)
		return;
	const double weight = sweep->try_s > 0 ? fmax(TRY_WEIGHT, 1 / (double)(before + 1)) : 1;
	sweep->try_s += weight * (took_s - sweep->try_s);
}

/* What came of candidate INDEX into its entry and to the sink. */
static enum tcb_status take_result(struct tcb_sweep *sweep, size_t index, const struct tcb_team_task *task,
				   double took_s, struct tcb_error *err)
{
	struct tcb_sweep_entry *entry = &sweep->entries[index];
	tcb_sweep_entry_fill(entry, task);
	if (task->is_refused)
		return tcb_sweep_refuse(sweep, task);
	TCB_TRY(tcb_sweep_send(sweep, &task->trial, err));
	learn_cost(sweep, &task->trial, took_s);
	if (index < sweep->out->space_count)
		sweep->out->tried++;
	else
		sweep->out->with_passes++;
	sweep->progress.done++;
	if (sweep->out->card_count)
		sweep->out->cards[task->member].tried++;
	if (entry->outcome == TCB_OUTCOME_TOO_SLOW) {
		sweep->out->too_slow++;
		sweep->progress.too_slow++;
	} else if (entry->outcome != TCB_OUTCOME_OK) {
		sweep->out->failed++;
		sweep->progress.failed++;
	} else if (sweep->anchor == SIZE_MAX) {
		sweep->anchor = index; /* the default geometry is broken, and nothing known is ok */
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			TCB_TRY(tcb_drift_add(&sweep->drift[task->member][s], entry->when_s, entry->ns[s].median, err));
	}
	adapt_samples(sweep);
	return TCB_OK;
}

/* Tries COUNT candidates; what is done is taken over in their order, also when not all could be. */
static enum tcb_status screen_batch(struct tcb_sweep *sweep, const size_t *indices, size_t count, struct tcb_error *err)
{
	size_t size = tcb_team_size(sweep->team);
	struct tcb_team_task *tasks = calloc(count, sizeof *tasks);
	struct tcb_screen_rule *rules = calloc(size, sizeof *rules);
	double start = now_s();
	enum tcb_status status = tasks && rules ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for candidates");
	for (size_t i = 0; i < size && status == TCB_OK; i++)
		rules[i] = screen_rule(sweep, i);
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		tasks[i].geometry = &sweep->space->geometries[indices[i]];
	if (status == TCB_OK) {
		status = tcb_team_try(sweep->team, tasks, count, rules, err);
		double took_s = (now_s() - start) / (double)count;
		enum tcb_status taken = TCB_OK;
		for (size_t i = 0; i < count && taken == TCB_OK; i++)
			if (tasks[i].is_done && !tasks[i].was_late)
				taken = take_result(sweep, indices[i], &tasks[i], took_s,
						    status == TCB_OK ? err : NULL);
		status = status == TCB_OK ? taken : status;
	}
	for (size_t i = 0; tasks && i < count; i++)
		tcb_team_task_fini(&tasks[i]);
	free(tasks);
	free(rules);
	return status;
}

/* The default geometry is tried before all others; where it does not work, another candidate anchors the scores. */
static enum tcb_status find_anchor(struct tcb_sweep *sweep, struct tcb_error *err)
{
	size_t fallback = sweep->space->default_index;
	const double first_s = sweep->options->first_s > 0 ? sweep->options->first_s : TCB_FIRST_S;
	if (sweep->options->budget_s > 0)
		tcb_team_until(sweep->team, tcb_deadline_at(fmax(sweep->end_s, sweep->start_s + first_s)));
	if (!sweep->entries[fallback].decided)
		TCB_TRY(screen_batch(sweep, &fallback, 1, err));
	if (!sweep->entries[fallback].decided)
		return tcb_fail(err, TCB_E_FAILED,
				"%.1f s were over before the default geometry was verified and measured once: give it "
				"more --budget, or wait until the machine is less busy",
				now_s() - sweep->start_s);
	if (sweep->entries[fallback].outcome == TCB_OUTCOME_OK)
		sweep->anchor = fallback;
	for (size_t i = 0; i < sweep->space->count && sweep->anchor == SIZE_MAX; i++)
		if (sweep->entries[i].decided && sweep->entries[i].outcome == TCB_OUTCOME_OK)
			sweep->anchor = i;
	if (sweep->anchor == SIZE_MAX)
		return TCB_OK;
	TCB_TRY(tcb_sweep_keep_best(sweep, 1, err));
	TCB_TRY(measure_anchor(sweep, err));
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		sweep->is_long |=
			sweep->options->budget_s > 0 && sweep->round_s[s] > LONG_ROUND * sweep->options->budget_s;
	if (sweep->is_long)
		sweep->screen_end_s = sweep->end_s - FINALS_SHARE * sweep->options->budget_s;
	return TCB_OK;
}

/* From now on nothing is waited for that leaves the finals too little time. */
static void screen_until(const struct tcb_sweep *sweep)
{
	const double overtime_s = OVERTIME_SHARE * (sweep->end_s - sweep->screen_end_s);
	if (sweep->options->budget_s > 0)
		tcb_team_until(sweep->team, tcb_deadline_at(sweep->screen_end_s + overtime_s));
}

/* The former best of each state, which then takes part also in a sweep that knows nothing, and what it takes now. */
static enum tcb_status screen_former(struct tcb_sweep *sweep, struct tcb_error *err)
{
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		size_t index;
		TCB_TRY(tcb_sweep_find_former(sweep, (enum tcb_state)s, &index, err));
		if (index == SIZE_MAX)
			continue;
		if (!sweep->entries[index].decided)
			TCB_TRY(screen_batch(sweep, &index, 1, err));
		if (sweep->entries[index].decided && sweep->entries[index].outcome == TCB_OUTCOME_OK)
			TCB_TRY(tcb_sweep_recheck(sweep, index, (enum tcb_state)s, err));
	}
	return TCB_OK;
}

/* The share of the budget that is gone; 1: stop screening. */
static double budget_spent(const struct tcb_sweep *sweep)
{
	double spent = 0;
	if (sweep->options->budget_s > 0)
		spent = (now_s() - sweep->start_s) / (sweep->screen_end_s - sweep->start_s);
	/* However long the preparations took, one is tried: the same command again gets on. */
	if (sweep->out->tried == 0)
		spent = fmin(spent, 0.99);
	if (sweep->options->max_trials)
		spent = fmax(spent, (double)sweep->out->tried / (double)sweep->options->max_trials);
	return spent;
}

/* Candidates that the strategy named and that wait for their turn. */
struct ahead {
	size_t *index, count, room; /* in the order in which they were named */
};

static enum tcb_status prepare_ahead(struct tcb_sweep *sweep, const struct ahead *ahead, struct tcb_error *err)
{
	for (size_t i = 0; i < ahead->count; i++)
		TCB_TRY(tcb_evaluator_want(tcb_team_evaluator(sweep->team, 0),
					   &sweep->space->geometries[ahead->index[i]], err));
	return TCB_OK;
}

/* Can COUNT be tried until UNTIL_S? */
static int has_time(const struct tcb_sweep *sweep, size_t count, double until_s)
{
	return sweep->options->budget_s <= 0 || now_s() + (double)count * try_s(sweep) < until_s;
}

/* Can candidate INDEX be tried before the screening ends, also where it is the first of its layout? */
static int fits(const struct tcb_sweep *sweep, size_t index)
{
	const int is_new = sweep->kind->has_threads && !sweep->has_layout[layout_of(&sweep->space->geometries[index])];
	if (sweep->out->tried == 0 || !is_new)
		return 1;
	return has_time(sweep, 1, sweep->screen_end_s - sweep->layout_s);
}

/* There is no time for candidate INDEX: the strategy should go elsewhere.  Nothing is known of it. */
static void skip(struct tcb_sweep *sweep, size_t index)
{
	struct tcb_told told = { .outcome = TCB_OUTCOME_TOO_SLOW, .seconds = NAN };
	sweep->has_skipped = 1;
	if (index >= sweep->out->space_count) /* with passes=all: not of the strategy */
		return;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		told.cost[s] = tcb_sweep_measures(sweep, s) ? INFINITY : NAN;
	sweep->strategy.tell(sweep->strategist, index, &told);
}

/* Asks for candidates until as many wait as can be prepared for. */
static enum tcb_status look_ahead(struct tcb_sweep *sweep, struct ahead *ahead, struct tcb_error *err)
{
	double spent = budget_spent(sweep);
	while (spent < 1 && ahead->count < ahead->room) {
		if (sweep->options->max_trials && sweep->out->tried + ahead->count >= sweep->options->max_trials)
			break;
		if (spent > LATE && ahead->count > 0 && !has_time(sweep, ahead->count, sweep->screen_end_s))
			break;
		size_t index = sweep->strategy.ask(sweep->strategist, spent);
		if (index == TCB_ASK_NONE)
			break;
		assert(index < sweep->space->count && !sweep->entries[index].decided);
		if (fits(sweep, index))
			ahead->index[ahead->count++] = index;
		else
			skip(sweep, index);
		spent = budget_spent(sweep);
	}
	TCB_TRY(tcb_strategy_failed(&sweep->strategy, sweep->strategist, err));
	return prepare_ahead(sweep, ahead, err);
}

static enum tcb_status check_stop(const struct tcb_sweep *sweep, struct tcb_error *err)
{
	if (!tcb_sweep_is_stopped(sweep))
		return TCB_OK;
	return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted after %zu of %zu candidates; what is finished is kept",
			sweep->progress.done, sweep->space->count);
}

/* Tries the first of those that wait, and compares them with the best. */
static enum tcb_status screen_next(struct tcb_sweep *sweep, struct ahead *ahead, struct tcb_error *err)
{
	if (sweep->anchor != SIZE_MAX && now_s() >= sweep->next_anchor_s)
		TCB_TRY(measure_anchor(sweep, err));
	int had_anchor = sweep->anchor != SIZE_MAX;
	size_t batch = tcb_team_batch(sweep->team);
	batch = batch < ahead->count ? batch : ahead->count;
	TCB_TRY(screen_batch(sweep, ahead->index, batch, err));
	if (!had_anchor && sweep->anchor != SIZE_MAX && batch > 1)
		TCB_TRY(measure_anchor(sweep, err)); /* for those that the others screened */
	for (size_t i = 0; i < batch; i++) {
		if (!sweep->entries[ahead->index[i]].decided) { /* it was given up */
			skip(sweep, ahead->index[i]);
			continue;
		}
		TCB_TRY(challenge_all(sweep, ahead->index[i], err));
		if (ahead->index[i] < sweep->out->space_count)
			tell(sweep, ahead->index[i]);
		tcb_sweep_count_trial(sweep);
	}
	TCB_TRY(tcb_sweep_keep_best(sweep, 0, err));
	ahead->count -= batch;
	memmove(ahead->index, ahead->index + batch, ahead->count * sizeof *ahead->index);
	tcb_sweep_progress(sweep, "screen", screening_left(sweep), 0);
	return TCB_OK;
}

static enum tcb_status screen_all(struct tcb_sweep *sweep, struct ahead *ahead, struct tcb_error *err)
{
	for (;;) {
		TCB_TRY(check_stop(sweep, err));
		TCB_TRY(look_ahead(sweep, ahead, err));
		if (ahead->count == 0 || budget_spent(sweep) >= 1 || tcb_sweep_is_enough(sweep) ||
		    (sweep->out->tried > 0 && !has_time(sweep, 1, sweep->screen_end_s)))
			return TCB_OK;
		TCB_TRY(screen_next(sweep, ahead, err));
	}
}

/* What won elsewhere, and what a model thinks best, is tried, and told, before the strategy is asked. */
static enum tcb_status screen_starts(struct tcb_sweep *sweep, struct tcb_error *err)
{
	size_t chosen[TCB_SWEEP_STARTS_MAX];
	struct ahead ahead = { .index = chosen };
	TCB_TRY(tcb_sweep_choose_starts(sweep, chosen, &ahead.count, err));
	while (ahead.count > 0 && budget_spent(sweep) < 1 && !tcb_sweep_is_enough(sweep)) {
		TCB_TRY(check_stop(sweep, err));
		if (sweep->out->tried > 0 && (!fits(sweep, chosen[0]) || !has_time(sweep, 1, sweep->screen_end_s)))
			return TCB_OK; /* the others are farther away */
		TCB_TRY(prepare_ahead(sweep, &ahead, err));
		const size_t waiting = ahead.count;
		TCB_TRY(screen_next(sweep, &ahead, err));
		sweep->out->start_count += waiting - ahead.count;
	}
	return TCB_OK;
}

static enum tcb_status screen(struct tcb_sweep *sweep, struct tcb_error *err)
{
	size_t batch = tcb_team_batch(sweep->team);
	struct ahead ahead = { .room = tcb_evaluator_ahead(tcb_team_evaluator(sweep->team, 0)) };
	if (batch > 1 && ahead.room < 2 * batch)
		ahead.room = 2 * batch;
	ahead.index = calloc(ahead.room, sizeof *ahead.index);
	if (!ahead.index)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu candidates", ahead.room);
	enum tcb_status status = screen_all(sweep, &ahead, err);
	free(ahead.index);
	return status;
}

/* How many more may be tried, each in the time that one takes; those with passes have a part of the finals' time. */
static size_t passes_left(const struct tcb_sweep *sweep)
{
	const struct tcb_sweep_options *options = sweep->options;
	const size_t tried = sweep->out->tried + sweep->out->with_passes;
	const double until_s = sweep->screen_end_s + PASSES_SHARE * (sweep->end_s - sweep->screen_end_s);
	if (options->finals_only || !has_time(sweep, 1, until_s))
		return 0;
	return options->max_trials ? options->max_trials - tried : TCB_SWEEP_PASSES;
}

static enum tcb_status screen_passes(struct tcb_sweep *sweep, struct tcb_error *err)
{
	size_t chosen[TCB_SWEEP_PASSES];
	struct ahead ahead = { .index = chosen };
	TCB_TRY(tcb_sweep_choose_passes(sweep, passes_left(sweep), chosen, &ahead.count, err));
	while (ahead.count > 0 && passes_left(sweep) > 0) {
		TCB_TRY(check_stop(sweep, err));
		TCB_TRY(prepare_ahead(sweep, &ahead, err));
		TCB_TRY(screen_next(sweep, &ahead, err));
	}
	return TCB_OK;
}

/* --- the sweep -------------------------------------------------------------------------------------------------- */

static enum tcb_status prepare(struct tcb_sweep *sweep, const struct tcb_place *place, struct tcb_error *err)
{
	const struct tcb_sweep_options *options = sweep->options;
	TCB_TRY(tcb_strategy_get(options->strategy, sweep->modelled, &sweep->strategy, err));
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		sweep->state_count += (size_t)tcb_sweep_measures(sweep, s);
	if (sweep->state_count == 0)
		return tcb_fail(err, TCB_E_USAGE, "no cache state to measure; ask for cold, hot or both");
	/* The workers begin to prepare while the space is enumerated. */
	TCB_TRY(tcb_team_create(sweep->op, sweep->problem, place, options, &sweep->team, err));
	TCB_TRY(tcb_space_create(sweep->op, sweep->problem, &place->device.target, options->any_size, &sweep->space,
				 err));
	tcb_shard_narrow(&options->shard, sweep->space);
	if (options->only)
		tcb_space_keep(sweep->space, options->only, options->only_count);
	sweep->out->space_count = sweep->progress.total = sweep->space->count;
	sweep->entries = malloc(sweep->space->count * sizeof *sweep->entries);
	if (!sweep->entries)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu candidates", sweep->space->count);
	tcb_sweep_take_over(sweep);
	sweep->progress.done = sweep->progress.known = sweep->out->known;
	sweep->progress.failed = sweep->out->failed;
	tcb_sweep_progress(sweep, "setup", -1, 1);
	TCB_TRY(tcb_cards_begin(sweep->team, place, options, sweep->out, err));
	sweep->drift = calloc(tcb_team_size(sweep->team), sizeof *sweep->drift);
	if (!sweep->drift)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a sweep");
	TCB_TRY(tcb_lattice_of_geometries(&sweep->lattice, sweep->space->geometries, sweep->space->count, err));
	const struct tcb_named_space named = tcb_named_geometries(sweep->space->geometries, sweep->space->count);
	struct tcb_strategy_setup setup = {
		.lattice = &sweep->lattice,
		.named = &named,
		.program = sweep->strategy.program,
		.answer_s = options->timeout_s,
		.start = sweep->space->default_index,
		.states = options->states,
		.seed = options->seed,
		.problem = sweep->problem,
		.space = sweep->space,
		.op = sweep->op,
		.modelled = sweep->modelled,
	};
	TCB_TRY(sweep->strategy.create(&setup, &sweep->strategist, err));
	TCB_TRY(find_anchor(sweep, err));
	screen_until(sweep);
	if (sweep->kind->has_passes)
		TCB_TRY(tcb_sweep_take_over_passes(sweep, err));
	TCB_TRY(screen_former(sweep, err));
	for (size_t i = 0; i < sweep->space->count; i++) {
		if (!sweep->entries[i].decided)
			continue;
		TCB_TRY(challenge_all(sweep, i, err));
		if (i < sweep->out->space_count)
			tell(sweep, i);
	}
	TCB_TRY(tcb_sweep_keep_best(sweep, 1, err));
	return tcb_sweep_measure_limits(sweep, err);
}

/* What is not known yet: first what won elsewhere, then what the strategy proposes. */
static enum tcb_status try_new(struct tcb_sweep *sweep, struct tcb_error *err)
{
	TCB_TRY(screen_starts(sweep, err));
	return screen(sweep, err);
}

static enum tcb_status run(struct tcb_sweep *sweep, struct tcb_error *err)
{
	enum tcb_status status = sweep->options->finals_only ? TCB_OK : try_new(sweep, err);
	tcb_team_rest(sweep->team);
	sweep->out->complete = sweep->progress.done == sweep->space->count;
	tcb_sweep_say_ended(sweep,
			    budget_spent(sweep) >= 1 || sweep->has_skipped || !has_time(sweep, 1, sweep->screen_end_s));
	if (sweep->options->budget_s > 0) /* the finals take no more for the time that is left over */
		sweep->end_s = fmin(sweep->end_s, now_s() + finals_reserve(sweep));
	if (status != TCB_OK || sweep->anchor == SIZE_MAX)
		return status;
	if (sweep->options->budget_s > 0)
		tcb_team_until(sweep->team, tcb_deadline_at(sweep->end_s));
	if (sweep->kind->has_passes)
		TCB_TRY(screen_passes(sweep, err));
	TCB_TRY(tcb_sweep_keep_best(sweep, 1, err));
	if (!sweep->is_long) /* so that the last candidates lie between two measurements */
		TCB_TRY(measure_anchor(sweep, err));
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		double seconds = FINALS_MOST_S;
		if (!tcb_sweep_measures(sweep, s))
			continue;
		tcb_sweep_await_quiet(sweep);
		if (sweep->options->budget_s > 0)
			seconds = fmin(seconds, fmax(0, sweep->end_s - now_s()));
		seconds /= (double)(sweep->state_count - sweep->states_judged);
		TCB_TRY(tcb_sweep_judge(sweep, (enum tcb_state)s, seconds, err));
	}
	TCB_TRY(tcb_sweep_judge_energy(sweep, err));
	tcb_sweep_progress(sweep, "finals", 0, 1);
	return TCB_OK;
}

enum tcb_status tcb_sweep_run(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_place *place,
			      const struct tcb_sweep_options *options, const struct tcb_trial *known,
			      size_t known_count, const struct tcb_sink *sink, struct tcb_sweep_result *out,
			      struct tcb_error *err)
{
	*out = (struct tcb_sweep_result){ .expected_gain = NAN, .of_limit = { NAN, NAN } };
	struct tcb_sweep sweep = {
		.op = op,
		.problem = problem,
		.target = &place->device.target,
		.kind = tcb_kind_of(&place->device.target),
		.modelled = tcb_kind_of(&place->device.target)->has_model ? place : NULL,
		.options = options,
		.sink = sink,
		.out = out,
		.known = known,
		.known_count = known_count,
		.anchor = SIZE_MAX,
		.start_s = now_s() - options->spent_s,
		.samples_max = SAMPLES_MAX,
		.progress = { .expected_gain = NAN },
	};
	sweep.end_s = sweep.start_s + (1 - ENDING_SHARE) * options->budget_s;
	sweep.screen_end_s = sweep.end_s - finals_reserve(&sweep);
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		out->decision[s].state = (enum tcb_state)s;
		sweep.best_score[s] = INFINITY;
		sweep.kept[s] = SIZE_MAX;
	}
	enum tcb_status status = prepare(&sweep, place, err);
	out->prepare_s = now_s() - sweep.start_s;
	if (status == TCB_OK)
		status = run(&sweep, err);
	if (sweep.strategist)
		sweep.strategy.destroy(sweep.strategist);
	tcb_lattice_fini(&sweep.lattice);
	tcb_cards_end(sweep.team, out);
	for (size_t i = 0; sweep.drift && i < tcb_team_size(sweep.team); i++)
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			tcb_drift_fini(&sweep.drift[i][s]);
	free(sweep.drift);
	tcb_team_destroy(sweep.team);
	out->took_s = now_s() - sweep.start_s - sweep.waited_s;
	free(sweep.entries);
	tcb_space_destroy(sweep.space);
	return status;
}
