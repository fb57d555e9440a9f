/* SPDX-License-Identifier: MIT
 *
 * What screening and finals ask of a sweep's state: scores, progress, where
 * trials go, waiting.
 */
#include "search/sweep_state.h"

#include <math.h>
#include <string.h>

#include "base/util.h"

static const double KNOWN_MARGIN = 0.05; /* what drift may have done to samples of earlier sweeps, either way */
static const double PROGRESS_EVERY_S = 0.25;
static const double ROUNDS_SHARE = 0.02; /* of the budget, for one look at a few candidates side by side */

void tcb_sweep_progress(struct tcb_sweep *sweep, const char *phase, double left_s, int now)
{
	const double time = 1e-9 * (double)tcb_clock_ns();
	if (!sweep->options->progress || (!now && time < sweep->next_progress_s))
		return;
	sweep->next_progress_s = time + PROGRESS_EVERY_S;
	sweep->progress.phase = phase;
	sweep->progress.elapsed_s = time - sweep->start_s - sweep->waited_s;
	sweep->progress.left_s = left_s;
	sweep->options->progress(sweep->options->progress_ctx, &sweep->progress);
}

void tcb_sweep_await_quiet(struct tcb_sweep *sweep)
{
	const struct tcb_sweep_options *options = sweep->options;
	const double waited_s = options->await_quiet ? options->await_quiet(options->await_ctx) : 0;
	sweep->waited_s += waited_s;
	sweep->screen_end_s += waited_s;
	sweep->end_s += waited_s;
	if (options->budget_s > 0)
		tcb_team_until(sweep->team, tcb_deadline_at(sweep->end_s));
}

size_t tcb_sweep_rounds_for(const struct tcb_sweep *sweep, enum tcb_state state, size_t count, size_t most)
{
	const double round_s = (double)count * sweep->round_s[state];
	if (sweep->options->budget_s <= 0 || (double)most * round_s <= ROUNDS_SHARE * sweep->options->budget_s)
		return most;
	return (size_t)(ROUNDS_SHARE * sweep->options->budget_s / round_s);
}

struct tcb_interval tcb_sweep_score(const struct tcb_sweep *sweep, size_t index, enum tcb_state state)
{
	const struct tcb_sweep_entry *entry = &sweep->entries[index];
	struct tcb_interval score = entry->ns[state];
	if (!entry->decided || entry->outcome != TCB_OUTCOME_OK || sweep->anchor == SIZE_MAX)
		return (struct tcb_interval){ NAN, NAN, NAN };
	if (!isnan(entry->checked[state].median))
		return entry->checked[state];
	double level, margin = 0;
	if (entry->known) {
		const struct tcb_sweep_entry *anchor = &sweep->entries[sweep->anchor];
		size_t lead = tcb_team_lead(sweep->team);
		/* Best is the anchor of the same sweep, perhaps of another machine. */
		level = entry->anchor_ns[state] > 0 && sweep->anchor == sweep->space->default_index
				? entry->anchor_ns[state]
			: anchor->known ? anchor->ns[state].median
					: tcb_drift_at(&sweep->drift[lead][state], sweep->start_s);
		margin = KNOWN_MARGIN;
	} else {
		level = tcb_drift_at(&sweep->drift[entry->member][state], entry->when_s);
	}
	return (struct tcb_interval){ score.median / level, score.lo / level * (1 - margin),
				      score.hi / level * (1 + margin) };
}

enum tcb_status tcb_sweep_send(struct tcb_sweep *sweep, const struct tcb_trial *trial, struct tcb_error *err)
{
	return sweep->sink && sweep->sink->trial ? sweep->sink->trial(sweep->sink->ctx, trial, err) : TCB_OK;
}

void tcb_sweep_result_fini(struct tcb_sweep_result *result)
{
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		tcb_decision_fini(&result->decision[s]);
	tcb_cards_fini(result);
}

enum tcb_status tcb_sweep_refuse(struct tcb_sweep *sweep, const struct tcb_team_task *task)
{
	struct tcb_sweep_result *out = sweep->out;

	if (out->refused++ == 0)
		memcpy(out->refusal, task->trial.message, sizeof out->refusal);
	sweep->progress.done++;
	return TCB_OK;
}
