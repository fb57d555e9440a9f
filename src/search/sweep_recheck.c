/* SPDX-License-Identifier: MIT
 *
 * The best of an earlier sweep, measured once more before anything else: what
 * is stored was true of the machine as it was then.
 */
#include "base/stats.h"
#include "search/sweep_state.h"

enum { ROUNDS = 11 };

enum tcb_status tcb_sweep_find_former(struct tcb_sweep *sweep, enum tcb_state state, size_t *index_out,
				      struct tcb_error *err)
{
	const struct tcb_former *former = sweep->options->former;
	*index_out = SIZE_MAX;
	if (!former || !former[state].valid || !tcb_sweep_measures(sweep, state) ||
	    sweep->anchor != sweep->space->default_index)
		return TCB_OK;
	*index_out = tcb_space_find(sweep->space, &former[state].geometry);
	if (*index_out == SIZE_MAX && former[state].geometry.knob[TCB_KNOB_PASSES] == TCB_PASSES_ALL)
		return tcb_sweep_add(sweep, &former[state].geometry, index_out, err);
	return TCB_OK; /* not found: of another space, with --any-size or of another shard */
}

enum tcb_status tcb_sweep_recheck(struct tcb_sweep *sweep, size_t index, enum tcb_state state, struct tcb_error *err)
{
	const struct tcb_geometry *all = sweep->space->geometries, side_by_side[] = { all[sweep->anchor], all[index] };
	const size_t rounds = tcb_sweep_rounds_for(sweep, state, 2, ROUNDS);
	struct tcb_recheck *recheck = &sweep->out->recheck[state];
	double ns[2 * ROUNDS];
	if (rounds == 0)
		return TCB_OK;
	TCB_TRY(tcb_team_interleave(sweep->team, side_by_side, 2, state, rounds, sweep->options->seed, ns, err));
	recheck->ns = tcb_median_interval(ns + rounds, rounds);
	recheck->speedup = tcb_ratio_interval(ns, ns + rounds, rounds);
	recheck->valid = recheck->ns.median > 0;
	return TCB_OK;
}
