/* SPDX-License-Identifier: MIT
 *
 * A simulated machine behind worker/evaluate.h, for tests of the sweep.  Its
 * candidates have true times; samples add what real machines add: heavy-tailed
 * noise, slow drift, bursts of other load, outliers, and a factor per candidate and process (where
 * the buffers land).  Time is virtual: tcb_clock_ns() here is advanced by what
 * is measured, so that minutes of budget pass in milliseconds.
 *
 * A test that links fake_evaluator.c gets these definitions instead of those
 * in the library, whose evaluate_trial.c and clock.c are then never pulled in.
 */
#ifndef TCB_TESTS_FAKE_EVALUATOR_H
#define TCB_TESTS_FAKE_EVALUATOR_H

#include "search/search.h"
#include "worker/evaluate.h"

struct fake_world {
	uint64_t seed;
	/* Nanoseconds of a call without noise. */
	double (*true_ns)(const struct tcb_geometry *geometry, enum tcb_state state);
	/* NULL: all are ok. */
	enum tcb_outcome (*outcome)(const struct tcb_geometry *geometry);
	/* Share of calls that are hit, and by how much at most. */
	double outlier_share, outlier_most;
	/* Share of the cells of 50 ms in which the machine is busy with something else, and by how much at most. */
	double burst_share, burst_most;
	/* Others have the processors for so much of each slice (seconds), which a call has to wait through; 0: never.
	 */
	double others, slice_s;
	int others_unseen;            /* nobody knows what they took */
	int again_most;               /* a call that they disturbed is taken again so often */
	double noise;                 /* of one call, relative */
	double drift, drift_period_s; /* amplitude and period of the slow part */
	double placement;             /* of one candidate from process to process, relative */
	double renew_s;               /* what a new worker takes */
	size_t renewals_most;         /* after so many no worker can be had any more; 0: no end */
	double try_s;                 /* what verifying a candidate takes */
	double prepare_s;             /* what preparing each of those that are to be interleaved takes */
	size_t stop_after;            /* tries after which `stop` is set, 0 never */
	volatile sig_atomic_t stop;   /* for options->stop */
	size_t break_rounds_after;    /* rounds after which a geometry with `broken` fails; 0 never */
	int (*broken)(const struct tcb_geometry *geometry);
	double (*watts)(const struct tcb_geometry *geometry); /* for a meter; NULL: 1 */
	int (*refuses)(const struct tcb_geometry *geometry);  /* is not as required; NULL: all are */
	int counting_kills; /* tcb_evaluator_counters fails as if the candidate had died */
	/* what happened */
	size_t tries, calls, counted, created, renewals, metered;
	double now_s;
};
extern struct fake_world fake_world;

/* An op with a space of 2520 geometries: isa, layout, midi n, unroll, prefetch, hint, sched. */
extern const struct tcb_op fake_op;
extern const struct tcb_place fake_cpu;
/* A smooth landscape over fake_op's axes: 1 ms at best when cold, 0.5 hot, the default 1.6 times as long. */
double fake_landscape(const struct tcb_geometry *geometry, enum tcb_state state);
int fake_is_default(const struct tcb_geometry *geometry); /* at the shape of fake_world_reset's problem */
/* A number in [0, 1) that depends on the geometry only. */
double fake_hash(const struct tcb_geometry *geometry, uint64_t salt);
/* Fills PROBLEM and the world's defaults: 2 % noise, 5 % drift, 2 % outliers, 5 % bursts. */
void fake_world_reset(uint64_t seed, struct tcb_problem *problem);

#endif
