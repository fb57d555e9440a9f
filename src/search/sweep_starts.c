/* SPDX-License-Identifier: MIT
 *
 * Which candidates a sweep begins with: what won elsewhere, carried over to
 * this space.
 */
#include "search/sweep_state.h"

size_t tcb_sweep_choose_starts(struct tcb_sweep *sweep, size_t chosen[TCB_STARTS_MAX])
{
	const struct tcb_sweep_options *options = sweep->options;
	const struct tcb_start_space space = { .problem = sweep->problem,
					       .threads = sweep->target->threads,
					       .geometries = sweep->space->geometries,
					       .count = sweep->space->count,
					       .fallback = sweep->space->default_index };
	struct tcb_start starts[TCB_STARTS_MAX];
	size_t most = TCB_STARTS_MAX, count = 0;
	if (options->max_trials && most > options->max_trials - sweep->out->tried)
		most = options->max_trials - sweep->out->tried;
	const size_t found = tcb_starts_choose(&space, options->winners, options->winner_count, TCB_STARTS_MAX, starts);
	for (size_t i = 0; i < found && count < most; i++) {
		if (sweep->entries[starts[i].index].decided)
			continue;
		chosen[count] = starts[i].index;
		sweep->out->starts[count++] =
			(struct tcb_sweep_start){ .geometry = sweep->space->geometries[starts[i].index],
						  .winner = starts[i].winner,
						  .is_carried = starts[i].is_carried };
	}
	return count;
}
