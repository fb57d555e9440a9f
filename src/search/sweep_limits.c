/* SPDX-License-Identifier: MIT
 *
 * How fast the device multiplies, where that is asked for; and when a sweep stops screening although there is time: the
 * best so far is near enough to what the device could do at all, or going on is not expected to gain much.
 */
#include <math.h>
#include <string.h>

#include "base/stats.h"
#include "base/util.h"
#include "kernels/compute_limit.h"
#include "search/sweep_state.h"

enum { ROUNDS = 7 };

/* The time of LIMIT over the anchor's; 0 where the device or the problem has no such limit. */
static enum tcb_status measure(struct tcb_sweep *sweep, enum tcb_state state, enum tcb_limit limit, double *ratio_out,
			       struct tcb_error *err)
{
	double anchor_ns[ROUNDS], limit_ns[ROUNDS];
	struct tcb_evaluator *lead = tcb_sweep_lead(sweep);
	*ratio_out = 0;
	if (limit == TCB_LIMIT_COMPUTE && !(tcb_compute_need(sweep->problem, sweep->target).operations > 0))
		return TCB_OK;
	if (tcb_evaluator_use_limit(lead, limit) != 0)
		return TCB_OK;
	enum tcb_status status = tcb_evaluator_interleave(lead, &sweep->space->geometries[sweep->anchor], 1, state,
							  ROUNDS, sweep->options->seed, anchor_ns, limit_ns, NULL, err);
	if (status == TCB_OK)
		*ratio_out = tcb_ratio_interval(limit_ns, anchor_ns, ROUNDS).median;
	(void)tcb_evaluator_use_limit(lead, TCB_LIMIT_READ);
	return status;
}

/* Nanoseconds of the compute limit for the op's operations, by itself; in no state more than in another. */
static enum tcb_status measure_compute(struct tcb_sweep *sweep, struct tcb_error *err)
{
	double ns[ROUNDS];
	const enum tcb_state state = tcb_sweep_measures(sweep, TCB_COLD) ? TCB_COLD : TCB_HOT;
	struct tcb_evaluator *lead = tcb_sweep_lead(sweep);
	const double operations = tcb_compute_need(sweep->problem, sweep->target).operations;
	if (!(operations > 0) || tcb_evaluator_use_limit(lead, TCB_LIMIT_COMPUTE) != 0)
		return TCB_OK;
	const enum tcb_status status =
		tcb_evaluator_interleave(lead, NULL, 0, state, ROUNDS, sweep->options->seed, NULL, ns, NULL, err);
	(void)tcb_evaluator_use_limit(lead, TCB_LIMIT_READ);
	if (status != TCB_OK)
		return status;
	double least = INFINITY; /* whatever else runs only makes it slower */
	for (size_t i = 0; i < ROUNDS; i++)
		least = fmin(least, ns[i]);
	sweep->out->compute_rate = operations / least;
	strncpy(sweep->out->compute_method, tcb_evaluator_limit_method(lead, state),
		sizeof sweep->out->compute_method - 1);
	return TCB_OK;
}

enum tcb_status tcb_sweep_measure_limits(struct tcb_sweep *sweep, struct tcb_error *err)
{
	if (sweep->options->wants_compute)
		TCB_TRY(measure_compute(sweep, err));
	if (!(sweep->options->target_ratio > 0) || sweep->anchor == SIZE_MAX)
		return TCB_OK;
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		double read, compute;
		if (!tcb_sweep_measures(sweep, s))
			continue;
		TCB_TRY(measure(sweep, (enum tcb_state)s, TCB_LIMIT_READ, &read, err));
		TCB_TRY(measure(sweep, (enum tcb_state)s, TCB_LIMIT_COMPUTE, &compute, err));
		sweep->limit_score[s] = fmax(read, compute);
	}
	return TCB_OK;
}

void tcb_sweep_count_trial(struct tcb_sweep *sweep)
{
	double most = 0;
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		if (!tcb_sweep_measures(sweep, s))
			continue;
		tcb_gain_add(&sweep->gain[s], sweep->best_score[s]);
		const double expected = tcb_gain_expected(&sweep->gain[s], sweep->space->count);
		most = isnan(expected) || isnan(most) ? NAN : fmax(most, expected);
		sweep->out->of_limit[s] = sweep->best_score[s] < INFINITY && sweep->limit_score[s] > 0
						  ? sweep->best_score[s] / sweep->limit_score[s]
						  : NAN;
	}
	sweep->out->expected_gain = sweep->progress.expected_gain = most;
}

static int is_at_target(const struct tcb_sweep *sweep)
{
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		if (tcb_sweep_measures(sweep, s) && !(sweep->out->of_limit[s] <= sweep->options->target_ratio))
			return 0;
	return sweep->options->target_ratio > 0 && sweep->out->tried > 0;
}

int tcb_sweep_is_enough(struct tcb_sweep *sweep)
{
	if (is_at_target(sweep))
		sweep->out->ended = TCB_ENDED_TARGET;
	else if (sweep->out->expected_gain < sweep->options->until_stable)
		sweep->out->ended = TCB_ENDED_STABLE;
	return sweep->out->ended == TCB_ENDED_TARGET || sweep->out->ended == TCB_ENDED_STABLE;
}

void tcb_sweep_say_ended(struct tcb_sweep *sweep, int spent)
{
	const size_t most = sweep->options->max_trials;
	if (sweep->out->complete)
		sweep->out->ended = TCB_ENDED_COMPLETE;
	else if (!tcb_sweep_is_enough(sweep))
		sweep->out->ended = most && sweep->out->tried >= most ? TCB_ENDED_TRIALS
				    : spent                           ? TCB_ENDED_BUDGET
								      : TCB_ENDED_STRATEGY;
}

const char *tcb_ended_text(enum tcb_ended ended)
{
#define TCB_ENDED_TEXT(id, text) text,
	static const char *const texts[] = { TCB_ENDED_LIST(TCB_ENDED_TEXT) };
#undef TCB_ENDED_TEXT
	return texts[ended];
}
