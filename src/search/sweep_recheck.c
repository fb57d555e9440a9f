/* SPDX-License-Identifier: MIT
 *
 * The best of an earlier sweep, measured once more before anything else: what
 * is stored was true of the machine as it was then.
 */
#include "base/stats.h"
#include "search/sweep_state.h"

enum { ROUNDS = 11 };

static enum tcb_status recheck_state(struct tcb_sweep *sweep, enum tcb_state state, struct tcb_error *err)
{
	const struct tcb_geometry *former = &sweep->options->former[state].geometry;
	struct tcb_recheck *recheck = &sweep->out->recheck[state];
	size_t index = tcb_space_find(sweep->space, former);
	const size_t rounds = tcb_sweep_rounds_for(sweep, state, 2, ROUNDS);
	double ns[2 * ROUNDS];
	/* It takes part in a sweep that knows nothing. */
	if (index == SIZE_MAX && former->knob[TCB_KNOB_PASSES] == TCB_PASSES_ALL)
		TCB_TRY(tcb_sweep_add(sweep, former, &index, err));
	if (index == SIZE_MAX)
		return TCB_OK; /* of another space: --any-size, a shard */
	if (!sweep->entries[index].decided)
		TCB_TRY(tcb_sweep_screen(sweep, &index, 1, err));
	if (rounds == 0 || sweep->entries[index].outcome != TCB_OUTCOME_OK)
		return TCB_OK;
	const struct tcb_geometry side_by_side[] = { sweep->space->geometries[sweep->anchor], *former };
	TCB_TRY(tcb_team_interleave(sweep->team, side_by_side, 2, state, rounds, sweep->options->seed, ns, err));
	recheck->ns = tcb_median_interval(ns + rounds, rounds);
	recheck->speedup = tcb_ratio_interval(ns, ns + rounds, rounds);
	recheck->valid = recheck->ns.median > 0;
	return TCB_OK;
}

enum tcb_status tcb_sweep_recheck(struct tcb_sweep *sweep, struct tcb_error *err)
{
	if (!sweep->options->former || sweep->anchor != sweep->space->default_index)
		return TCB_OK;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		if (tcb_sweep_measures(sweep, s) && sweep->options->former[s].valid)
			TCB_TRY(recheck_state(sweep, (enum tcb_state)s, err));
	return TCB_OK;
}
