/* SPDX-License-Identifier: MIT
 *
 * What strategies that learn remember: who was told, in which order, and what
 * it cost in each cache state.
 */
#ifndef TCB_SEARCH_HISTORY_H
#define TCB_SEARCH_HISTORY_H

#include "search/strategy.h"

struct tcb_history {
	size_t count;  /* told so far */
	size_t *index; /* [order]: of the lattice; owned */
	double *cost;  /* [index * TCB_STATE_COUNT + state]: infinite until told, and of failures; owned */
	unsigned states, state;
};
enum tcb_status tcb_history_init(struct tcb_history *history, const struct tcb_strategy_setup *setup,
				 struct tcb_error *err);
void tcb_history_fini(struct tcb_history *history);
void tcb_history_tell(struct tcb_history *history, size_t index, const struct tcb_told *told);
static inline double tcb_history_cost(const struct tcb_history *history, size_t index, unsigned state)
{
	return history->cost[index * TCB_STATE_COUNT + state];
}
/* The next state that is measured, in turn. */
unsigned tcb_history_turn(struct tcb_history *history);
/* The MOST best in STATE, the best first, without failures; returns how many. */
size_t tcb_history_best(const struct tcb_history *history, unsigned state, size_t most, size_t *out);

#endif
