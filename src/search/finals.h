/* SPDX-License-Identifier: MIT
 *
 * From screening scores to a decision in one cache state: paired, interleaved
 * rungs that exclude what is measurably slower, then the finals of the best
 * few (SPEC section 7).
 */
#ifndef TCB_SEARCH_FINALS_H
#define TCB_SEARCH_FINALS_H

#include "search/search.h"

/*
 * Two candidates are practically equal below this difference: a tie set names what an interval cannot hold apart from
 * the winner by more.  The ratio of two candidates differs by a third of this from one process to the next, when their
 * buffers land on other pages.
 */
#define TCB_TIE_MARGIN 0.01

struct tcb_finals_setup {
	struct tcb_evaluator *evaluator;
	const struct tcb_op *op;
	const struct tcb_problem *problem;
	const struct tcb_target *target;
	const struct tcb_space *space;
	enum tcb_state state;
	/* [space index]: time over the anchor's at the same moment, with its interval; median NaN: not a candidate. */
	const struct tcb_interval *score;
	double score_noise; /* of a score beside its interval, as the standard deviation of its logarithm; 0: unknown */
	size_t anchor;      /* a candidate: the default geometry where it works, else any */
	double anchor_ns;   /* its time, roughly */
	double round_s; /* what a round of the anchor alone takes, the calls that are not timed included; 0: unknown */
	size_t finalists; /* the anchor comes on top */
	double renew_s;   /* what a new worker takes until it can measure, roughly; 0: the finals have one only */
	double least_s;   /* used in any case, however little time there is; 0: half a second */
	struct tcb_deadline
		end;    /* the evaluator gives up what takes longer; the last part of SECONDS is the finalists' */
	double seconds; /* may be used; a few rounds of the best and the anchor are held in any case */
	uint64_t seed;
	void *ctx;
	/* Called about twice a second with the seconds left; nonzero ends the finals with TCB_E_INTERRUPTED. */
	int (*tick)(void *ctx, double left_s);
	size_t reported; /* so many at least: where fewer are left in the finals, the best by their scores besides */
	/* Called for each finalist when the finals are over, the winner first (RANK 0), with its samples of stage
	 * final; then for others, with a measurement without samples; and with RANK SIZE_MAX and no measurement for
	 * each candidate that was ok before and fails now. */
	enum tcb_status (*report)(void *ctx, size_t index, size_t rank, const struct tcb_measurement *measurement,
				  struct tcb_error *err);
};

/* OUT->valid is 0 if there is no candidate, or no round was held for want of time.  OUT is to be freed with
 * tcb_decision_fini in every case. */
enum tcb_status tcb_finals_run(const struct tcb_finals_setup *setup, struct tcb_decision *out, struct tcb_error *err);
void tcb_decision_fini(struct tcb_decision *decision);

#endif
