/* SPDX-License-Identifier: MIT
 *
 * The rule that ends a sweep when going on is not expected to gain much
 * (gain.h), over recorded spaces, where it is known what going on would have
 * brought.
 */
#ifndef TCB_SEARCH_REPLAY_STOP_H
#define TCB_SEARCH_REPLAY_STOP_H

#include "search/replay/replay.h"

enum { TCB_REPLAY_STOP_MOST = 3000 /* trials; then the run has not stopped */ };

/* One run until the rule would have stopped it, and as many trials again. */
struct tcb_replay_stop {
	int is_stopped; /* 0: the rest means nothing */
	size_t trials;
	double predicted; /* the gain that was expected when it stopped, a ratio - 1 */
	double gap;       /* its best then over the optimum, a ratio - 1 */
	double again;     /* its best then over that after twice as many trials, a ratio - 1 */
};
/* UNTIL: the expected gain below which it stops, as a ratio - 1. */
enum tcb_status tcb_replay_stop(const struct tcb_replay *replay, const struct tcb_strategy *strategy, uint64_t seed,
				double until, struct tcb_replay_stop *out, struct tcb_error *err);

/* Of COUNT runs, those that stopped; NaN where none did. */
struct tcb_replay_stops {
	size_t count, stopped, exceeded;   /* exceeded: as many trials again brought more than was predicted */
	double trials_median, trials_high; /* high: the 90th percentile */
	double predicted;                  /* mean */
	double gap_median, gap_high;
	double again, again_high; /* again: mean */
};
enum tcb_status tcb_replay_stops_judge(const struct tcb_replay_stop *runs, size_t count, struct tcb_replay_stops *out,
				       struct tcb_error *err);

#endif
