/* SPDX-License-Identifier: MIT
 *
 * tcbtune replay --until-stable: when the rule that ends a sweep would have
 * ended it, and how far it was from the optimum then.
 */
#ifndef TCB_CLI_REPLAY_STABLE_H
#define TCB_CLI_REPLAY_STABLE_H

#include "base/pool.h"
#include "search/replay/replay.h"

/* What is run; all lent. */
struct cli_stable {
	const struct tcb_recorded *spaces;
	size_t space_count;
	const struct tcb_strategy *const *strategies;
	size_t strategy_count;
	size_t repeats;
	uint64_t seed;
	double until; /* the expected gain below which a run stops, as a ratio - 1 */
	struct tcb_pool *pool;
};
/* Runs it all and prints a table, or JSON. */
enum tcb_status cli_replay_stable(const struct cli_stable *stable, int json, struct tcb_error *err);

#endif
