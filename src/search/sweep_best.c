/* SPDX-License-Identifier: MIT
 *
 * The best so far of each cache state, to the sink while a sweep goes on: one
 * that is killed before its finals leaves it behind.  It is what the screening
 * says, so it proves nothing.
 */
#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "kernels/signature.h"
#include "search/sweep_state.h"

static const double KEEP_EVERY_S = 1; /* writing it durably takes milliseconds */

/* A candidate that was measured is better than none, also before it is known to be the best of two. */
static size_t best_so_far(const struct tcb_sweep *sweep, int state)
{
	if (sweep->best_score[state] < INFINITY)
		return sweep->best[state];
	return sweep->out->known == 0 ? sweep->anchor : SIZE_MAX;
}

/* The default's time over the candidate's, as far as the screening knows. */
static struct tcb_interval speedup(const struct tcb_sweep *sweep, size_t index, enum tcb_state state)
{
	const struct tcb_interval score = tcb_sweep_score(sweep, index, state);
	if (sweep->anchor != sweep->space->default_index || !(score.lo > 0))
		return (struct tcb_interval){ NAN, NAN, NAN };
	return (struct tcb_interval){ 1 / score.median, 1 / score.hi, 1 / score.lo };
}

/* What the screening says of candidate INDEX; BEST and TIE, one of each, are the caller's. */
static enum tcb_status describe(const struct tcb_sweep *sweep, size_t index, enum tcb_state state,
				struct tcb_finalist *best, struct tcb_geometry *tie, struct tcb_decision *out,
				struct tcb_error *err)
{
	*tie = sweep->space->geometries[index];
	*best = (struct tcb_finalist){ .geometry = *tie, .ns = sweep->entries[index].ns[state] };
	const size_t fallback = sweep->space->default_index;
	*out = (struct tcb_decision){
		.state = state,
		.valid = 1,
		.provisional = 1,
		.finalists = best,
		.finalist_count = 1,
		.fallback = { .geometry = sweep->space->geometries[fallback],
			      .ns = sweep->entries[fallback].ns[state] },
		.speedup = speedup(sweep, index, state),
		.tie_set = tie,
		.tie_count = 1,
		.regret = NAN,
		.flip_probability = NAN,
		.expected_gain = tcb_gain_expected(&sweep->gain[state], sweep->space->count),
	};
	struct tcb_packings packings = { .is_known = { 0 } };
	return tcb_candidate_identify(sweep->problem, sweep->target, tie, &packings, best->variant, best->signature,
				      err);
}

static enum tcb_status keep(const struct tcb_sweep *sweep, size_t index, enum tcb_state state, struct tcb_error *err)
{
	struct tcb_finalist best;
	struct tcb_geometry tie;
	struct tcb_decision decision;
	TCB_TRY(describe(sweep, index, state, &best, &tie, &decision, err));
	return sweep->sink->best(sweep->sink->ctx, &decision, err);
}

enum tcb_status tcb_sweep_decide_by_screening(const struct tcb_sweep *sweep, enum tcb_state state,
					      struct tcb_decision *out, struct tcb_error *err)
{
	const size_t index = sweep->best_score[state] < INFINITY ? sweep->best[state] : sweep->anchor;
	*out = (struct tcb_decision){ .state = state };
	if (isnan(sweep->entries[index].ns[state].median))
		return TCB_OK;
	struct tcb_finalist *best = malloc(sizeof *best);
	struct tcb_geometry *tie = malloc(sizeof *tie);
	if (best && tie)
		return describe(sweep, index, state, best, tie, out, err);
	free(best);
	free(tie);
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for a sweep's best");
}

enum tcb_status tcb_sweep_keep_best(struct tcb_sweep *sweep, int now, struct tcb_error *err)
{
	const double time_s = 1e-9 * (double)tcb_clock_ns();
	if (!sweep->sink || !sweep->sink->best || (!now && time_s < sweep->next_keep_s))
		return TCB_OK;
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		const size_t index = tcb_sweep_measures(sweep, s) ? best_so_far(sweep, s) : SIZE_MAX;
		if (index == SIZE_MAX || index == sweep->kept[s] || isnan(sweep->entries[index].ns[s].lo))
			continue;
		TCB_TRY(keep(sweep, index, (enum tcb_state)s, err));
		sweep->kept[s] = index;
		sweep->next_keep_s = time_s + KEEP_EVERY_S;
	}
	return TCB_OK;
}
