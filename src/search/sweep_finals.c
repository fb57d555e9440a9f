/* SPDX-License-Identifier: MIT
 *
 * The end of a sweep: what finals_elimination.c is told of its candidates, what it found
 * out to the sink, and the counters of those that it chose.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/util.h"
#include "kernels/signature.h"
#include "search/sweep_state.h"

enum { FINALISTS = 12, COUNTER_CALLS = 20 };

/* Of a budget, and at most: what the finals of one state take where the screening left them nothing. */
static const double LEAST_SHARE = 0.05, LEAST_S = 0.5;
static const double START_S = 0.002;      /* of a process */
static const double OVERTIME_SHARE = 0.2; /* of what the finals of one state have, if those of another follow */
/* Calls that are counted take so long together, where they are long, and no more of a budget. */
static const double COUNTER_NS = 0.2e9, COUNTER_SHARE = 0.01;

static int finals_tick(void *ctx, double left_s)
{
	struct tcb_sweep *sweep = ctx;
	size_t states_after = sweep->state_count - sweep->states_judged - 1;
	tcb_sweep_progress(sweep, "finals", left_s * (double)(1 + states_after), 0);
	return tcb_sweep_is_stopped(sweep);
}

/* A candidate that was ok in the screening failed beside others: finds out how, so that it is not tried again. */
static enum tcb_status report_failure(struct tcb_sweep *sweep, size_t index, struct tcb_error *err)
{
	struct tcb_sweep_entry *entry = &sweep->entries[index];
	if (entry->outcome != TCB_OUTCOME_OK)
		return TCB_OK;
	struct tcb_screen_rule rule = { .samples_min = 3, .samples_max = 3 };
	const struct tcb_trial *trial;
	TCB_TRY(tcb_evaluator_try(tcb_sweep_lead(sweep), &sweep->space->geometries[index], &rule, &trial, err));
	struct tcb_trial failure = *trial;
	if (failure.outcome == TCB_OUTCOME_OK) {
		failure.outcome = TCB_OUTCOME_CRASHED;
		failure.measurement_count = 0;
		strcpy(failure.message, "failed when it was measured again beside other candidates");
	}
	entry->outcome = failure.outcome;
	sweep->out->failed++;
	sweep->progress.failed++;
	return tcb_sweep_send(sweep, &failure, err);
}

/* Sends what the finals added to a trial that the sink has already: same geometry, the new measurement and counters. */
static enum tcb_status finals_report(void *ctx, size_t index, size_t rank, const struct tcb_measurement *measurement,
				     struct tcb_error *err)
{
	struct tcb_sweep *sweep = ctx;
	if (!measurement)
		return report_failure(sweep, index, err);
	const struct tcb_sweep_entry *entry = &sweep->entries[index];
	struct tcb_trial trial = {
		.geometry = sweep->space->geometries[index],
		.outcome = TCB_OUTCOME_OK,
		.class_checked = entry->class_checked,
		.error_ratio = entry->error_ratio,
		.pack_ns = entry->pack_ns,
		.prepare_ns = entry->prepare_ns,
		.verify_ns = entry->verify_ns,
		.measurement_count = measurement->sample_count > 0, /* not of one that was no finalist */
		.measurements = measurement,
	};
	struct tcb_packings packings = { .is_known = { 0 } };
	TCB_TRY(tcb_candidate_identify(sweep->problem, sweep->target, &trial.geometry, &packings, trial.variant,
				       trial.signature, err));
	const double budget_s = sweep->options->budget_s;
	const double most_ns = budget_s > 0 ? fmin(COUNTER_NS, 1e9 * COUNTER_SHARE * budget_s) : COUNTER_NS;
	const double fit = measurement->ns.median > 0 ? most_ns / measurement->ns.median : COUNTER_CALLS;
	const unsigned calls = (unsigned)fmin(fmax(fit, 1), COUNTER_CALLS);
	enum tcb_counters_mode mode = sweep->options->counters;
	const int has_time = budget_s <= 0 || 1e-9 * (double)tcb_clock_ns() < sweep->end_s;
	if (mode == TCB_COUNTERS_ALL || (mode == TCB_COUNTERS_BEST && rank == 0 && has_time)) {
		tcb_sweep_progress(sweep, "counters", -1, 0);
		enum tcb_status status =
			tcb_evaluator_counters(tcb_sweep_lead(sweep), &trial.geometry, measurement->state, calls,
					       &trial.counters, &trial.counter_count, err);
		if (status == TCB_E_FAILED) /* the candidate died while it was counted: its times stand */
			trial.counter_count = 0;
		else if (status != TCB_OK)
			return status;
	}
	if (rank == 0) {
		sweep->progress.best[measurement->state] = &sweep->space->geometries[index];
		sweep->progress.best_ns[measurement->state] = measurement->ns.median;
	}
	return tcb_sweep_send(sweep, &trial, err);
}

/* What a new worker would take, roughly: cold the copies of the layout that took longest, hot to fill the operands and
 * to pack them; as slow as memory is that is got for the first time.  On a GPU there is one worker only: a context
 * takes half a second, and operands lie in pages of two megabytes. */
static double renewal_s(const struct tcb_sweep *sweep, enum tcb_state state)
{
	double layout_ns = 0;
	if (!sweep->kind->has_threads)
		return 0;
	for (size_t i = 0; i < sweep->space->count; i++)
		layout_ns = fmax(layout_ns,
				 state == TCB_HOT ? 2 * sweep->entries[i].pack_ns : sweep->entries[i].prepare_ns);
	return START_S + 1e-9 * layout_ns;
}

/* Whatever the finals of a state are at then is given up. */
static struct tcb_deadline end_of(const struct tcb_sweep *sweep, double seconds)
{
	const double budget_s = sweep->options->budget_s;
	const int is_last = sweep->states_judged + 1 == sweep->state_count;
	if (budget_s <= 0)
		return (struct tcb_deadline){ 0 };
	return tcb_deadline_in(
		fmax(is_last ? seconds : (1 + OVERTIME_SHARE) * seconds, fmin(LEAST_S, LEAST_SHARE * budget_s)));
}

enum tcb_status tcb_sweep_judge(struct tcb_sweep *sweep, enum tcb_state state, double seconds, struct tcb_error *err)
{
	struct tcb_interval *score = malloc(sweep->space->count * sizeof *score);
	if (!score)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the scores of %zu geometries",
				sweep->space->count);
	for (size_t i = 0; i < sweep->space->count; i++)
		score[i] = tcb_sweep_score(sweep, i, state);
	const struct tcb_sweep_entry *anchor = &sweep->entries[sweep->anchor];
	struct tcb_finals_setup setup = {
		.op = sweep->op,
		.problem = sweep->problem,
		.target = sweep->target,
		.space = sweep->space,
		.state = state,
		.score = score,
		.score_noise = tcb_drift_scatter(&sweep->drift[tcb_team_lead(sweep->team)][state]),
		.anchor = sweep->anchor,
		.anchor_ns = anchor->ns[state].median,
		.round_s = sweep->round_s[state],
		.finalists = sweep->options->finalists ? sweep->options->finalists : FINALISTS,
		.reported = sweep->options->counters == TCB_COUNTERS_ALL ? sweep->options->finalists : 0,
		.least_s = fmin(LEAST_S, LEAST_SHARE * sweep->options->budget_s), /* without a budget: as always */
		.renew_s = renewal_s(sweep, state),
		.end = end_of(sweep, seconds),
		.seconds = seconds,
		.seed = sweep->options->seed,
		.ctx = sweep,
		.tick = finals_tick,
		.report = finals_report,
	};
	struct tcb_decision *decision = &sweep->out->decision[state];
	struct tcb_error why;
	enum tcb_status status;
	int again = 0;
	do { /* a GPU that dies in its finals leaves them to the next */
		if (again)
			tcb_decision_fini(decision);
		setup.evaluator = tcb_sweep_lead(sweep);
		status = tcb_finals_run(&setup, decision, &why);
		again = status != TCB_OK && tcb_team_next_lead(sweep->team, status, &why);
	} while (again);
	free(score);
	sweep->states_judged++;
	if (status != TCB_OK)
		return tcb_fail(err, status, "%s", why.message);
	if (!decision->valid)
		return tcb_sweep_decide_by_screening(sweep, state, decision, err);
	if (sweep->anchor != sweep->space->default_index) /* the default does not work: there is its name alone */
		decision->fallback.geometry = sweep->space->geometries[sweep->space->default_index];
	decision->expected_gain = tcb_gain_expected(&sweep->gain[state], sweep->space->count);
	return tcb_cards_compare(sweep->team, decision, sweep->options->seed, sweep->out, err);
}
