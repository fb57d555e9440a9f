/* SPDX-License-Identifier: MIT
 *
 * Strategies over recorded spaces.  A run asks, looks the answer up, and adds
 * what it took when it was measured to its clock; many runs with different
 * seeds make a score.
 *
 * The score is that of the auto-tuning community's methodology (Willemsen et
 * al., "A methodology for comparing optimization algorithms for auto-tuning"):
 * at 1,000 moments between that at which random search is expected to have come
 * 1 % of the way from the median to the optimum and that of 95 %, how far the
 * mean of the runs is from what random search has then (0) to the optimum (1).
 */
#ifndef TCB_SEARCH_REPLAY_H
#define TCB_SEARCH_REPLAY_H

#include "search/replay/recorded.h"

enum { TCB_REPLAY_MOMENTS = 1000, TCB_REPLAY_MARKS = 4 };
extern const size_t tcb_replay_marks[TCB_REPLAY_MARKS]; /* trials after which curves are taken: 10, 30, 100, 300 */

/* A strategy at work over a recorded space.  Both are lent. */
struct tcb_replay_walk {
	const struct tcb_recorded *space;
	const struct tcb_strategy *strategy;
	void *self;
	double best, clock; /* so far: the least value, infinite until there is one; the sum of the prices */
	size_t trials;
};
enum tcb_status tcb_replay_walk_init(struct tcb_replay_walk *walk, const struct tcb_recorded *space,
				     const struct tcb_strategy *strategy, uint64_t seed, struct tcb_error *err);
void tcb_replay_walk_fini(struct tcb_replay_walk *walk);
/* One more trial: the default, the starts, then what the strategy proposes; 0: there is none.  SPENT: for ask(). */
int tcb_replay_walk_next(struct tcb_replay_walk *walk, double spent);

/* A recorded space, ready for runs over it.  SPACE is lent. */
struct tcb_replay {
	const struct tcb_recorded *space;
	double *descending; /* values of those that did not fail, the worst first; owned */
	double optimum, median;
	double from, until; /* the clock at the first and last moment of the score */
	double margin;      /* share of both by which points may lie outside: they hold the curve at its ends */
	double trial;       /* mean price of a random trial, failures shared out */
	size_t trials;      /* of random search until the last moment */
};
/* TCB_E_FORMAT where fewer than two candidates have different values: nothing can be searched. */
enum tcb_status tcb_replay_init(struct tcb_replay *replay, const struct tcb_recorded *space, struct tcb_error *err);
void tcb_replay_fini(struct tcb_replay *replay);
/* The value that random search has reached at TIME (of the clock) with the probability SHARE, 0 < SHARE < 1: exact for
 * draws without putting back, of as many trials as that time holds on average. */
double tcb_replay_random(const struct tcb_replay *replay, double time, double share);

/* One run: after its trials, how good the best was; and the best itself after so many, infinite until there is one. */
struct tcb_replay_point {
	double clock, rank; /* when a trial ended; how many candidates are better than the best so far */
};
struct tcb_replay_run {
	struct tcb_replay_point *points; /* around the moments of the score, from the first result on; owned */
	size_t count;
	double after[TCB_REPLAY_MARKS];
};
enum tcb_status tcb_replay_run(const struct tcb_replay *replay, const struct tcb_strategy *strategy, uint64_t seed,
			       struct tcb_replay_run *out, struct tcb_error *err);
void tcb_replay_run_fini(struct tcb_replay_run *run);

/* Sorts VALUES: their median and 90th percentile, NaN of none. */
void tcb_replay_spread(double *values, size_t count, double *median_out, double *high_out);

/* What COUNT runs of one strategy come to.  After so many trials: the best over the optimum. */
struct tcb_replay_score {
	double score;
	double median[TCB_REPLAY_MARKS], worst[TCB_REPLAY_MARKS]; /* over the runs; worst: the 90th percentile */
};
enum tcb_status tcb_replay_judge(const struct tcb_replay *replay, const struct tcb_replay_run *runs, size_t count,
				 struct tcb_replay_score *out, struct tcb_error *err);

#endif
