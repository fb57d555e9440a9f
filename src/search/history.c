/* SPDX-License-Identifier: MIT
 *
 * The memory of strategies that learn.
 */
#include "search/history.h"

#include <math.h>
#include <stdlib.h>

enum tcb_status tcb_history_init(struct tcb_history *history, const struct tcb_strategy_setup *setup,
				 struct tcb_error *err)
{
	const size_t count = setup->lattice->count;
	*history = (struct tcb_history){ .states = setup->states, .state = TCB_STATE_COUNT - 1 };
	history->index = malloc((count + 1) * sizeof *history->index);
	history->cost = malloc((count + 1) * TCB_STATE_COUNT * sizeof *history->cost);
	if (!history->index || !history->cost) {
		tcb_history_fini(history);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the costs of %zu candidates", count);
	}
	for (size_t i = 0; i < count * TCB_STATE_COUNT; i++)
		history->cost[i] = INFINITY;
	return TCB_OK;
}

void tcb_history_fini(struct tcb_history *history)
{
	free(history->index);
	free(history->cost);
	*history = (struct tcb_history){ 0 };
}

void tcb_history_tell(struct tcb_history *history, size_t index, const struct tcb_told *told)
{
	history->index[history->count++] = index;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		if (told->outcome == TCB_OUTCOME_OK && !isnan(told->cost[s]))
			history->cost[index * TCB_STATE_COUNT + (size_t)s] = told->cost[s];
}

unsigned tcb_history_turn(struct tcb_history *history)
{
	do
		history->state = (history->state + 1) % TCB_STATE_COUNT;
	while (!(history->states >> history->state & 1u));
	return history->state;
}

size_t tcb_history_best(const struct tcb_history *history, unsigned state, size_t most, size_t *out)
{
	size_t count = 0;
	for (size_t i = 0; i < history->count; i++) {
		const size_t index = history->index[i];
		const double cost = tcb_history_cost(history, index, state);
		if (!(cost < INFINITY) || (count == most && cost >= tcb_history_cost(history, out[most - 1], state)))
			continue;
		size_t at = count < most ? count++ : most - 1;
		for (; at > 0 && cost < tcb_history_cost(history, out[at - 1], state); at--)
			out[at] = out[at - 1];
		out[at] = index;
	}
	return count;
}
