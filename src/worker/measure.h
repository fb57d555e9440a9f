/* SPDX-License-Identifier: MIT
 *
 * Timing one candidate: the clock around the op's run, cold over rotating copies or
 * hot on one, in the calling process.  A sample is long against the timer:
 * short calls are timed in batches.
 */
#ifndef TCB_WORKER_MEASURE_H
#define TCB_WORKER_MEASURE_H

#include "device/waits.h"
#include "worker/evaluate.h"
#include "worker/rotation.h"

/*
 * So long a call is a sample of its own, and needs no other calls before it: that the machine does not know it yet, or
 * that others used the caches before, is soon made up for, and time slices given to others are small against it.
 */
#define TCB_LONG_CALL_NS 10e6

/* A candidate ready to be called in one cache state. */
struct tcb_runner {
	const struct tcb_op *op;
	struct tcb_plan plan;
	struct tcb_pool *pool;
	struct tcb_copies *copies; /* lent by the rotation */
	struct tcb_buffer workspace;
	enum tcb_state state;
	size_t hot_copy; /* the copy that hot calls use, modulo how many there are; set by the caller, 0 at first */
	size_t batch;    /* calls in a sample */
	/* The fastest call of the warm-up, the first left out.  Before the warm-up, what the caller knows of a call's
	 * length, 0: nothing; a long one needs none. */
	double warm_ns;
	struct tcb_waits *waits; /* of the pool's threads, lent; NULL: nobody looks what others take */
	double *lost; /* of tcb_measure's samples, as struct tcb_measurement has it; room for as many; NULL: not wanted
		       */
};

/* PLAN's weights must be packed in the rotation's instance.  Free with tcb_runner_fini in every case. */
enum tcb_status tcb_runner_init(struct tcb_runner *runner, const struct tcb_op *op, const struct tcb_plan *plan,
				struct tcb_pool *pool, struct tcb_rotation *rotation, enum tcb_state state,
				struct tcb_error *err);
void tcb_runner_fini(struct tcb_runner *runner);

/* One call, on the next copy when cold. */
void tcb_runner_call(struct tcb_runner *runner);
/* Untimed calls (page faults, frequency, a hot cache), then decides the batch. */
void tcb_runner_warm(struct tcb_runner *runner);
/* One timed sample: nanoseconds of a call. */
double tcb_runner_sample(struct tcb_runner *runner);
/* Makes a hot runner's next copy hot before a sample among other candidates: some calls, or, where these are long, a
 * look at each of its operands. */
void tcb_runner_heat(struct tcb_runner *runner);

/*
 * Warms RUNNER up and takes samples into SAMPLES (room for rule->samples_max) until RULE says that it is enough.  Those
 * that others disturbed are taken again, as many as RULE allows samples at most; then they stay, and runner->lost
 * tells. Returns how many; DROPPED_OUT: stopped because the candidate had certainly lost.  OPERAND: that of a call
 * after the samples, on other memory than the verification's, with its outputs, poisoned before; where calls are long
 * (runner->warm_ns says so before), that call is the first of the samples, and the only one if it took as long as the
 * caller says or has lost.
 */
size_t tcb_measure(struct tcb_runner *runner, const struct tcb_screen_rule *rule, double *samples, int *dropped_out,
		   void *operand[TCB_OPERANDS_MAX]);

/* Has a candidate with these samples, and no call faster than WARM_NS before them, certainly lost against LOSE_NS (0:
 * never)?  OVER (nullable): of the rule, what is known of the machine's noise. */
int tcb_measure_has_lost(const double *samples, size_t count, double warm_ns, double lose_ns,
			 const double over[TCB_SCREEN_CALLS]);
/* Are COUNT samples with this INTERVAL of their median enough? */
int tcb_measure_is_enough(const struct tcb_interval *interval, size_t count, const struct tcb_screen_rule *rule);

/*
 * A look at a candidate before it is measured: COUNT calls, one after another on the same operands, than which none is
 * faster in any state.  LOST: it has, in all STATES, and the calls but the first are its samples.  ON: one more may
 * tell. OVER: it is worth measuring.
 */
enum tcb_look { TCB_LOOK_ON, TCB_LOOK_LOST, TCB_LOOK_OVER };
enum { TCB_LOOK_CALLS = TCB_SCREEN_CALLS + 1 };
enum tcb_look tcb_measure_look(const double *calls, size_t count, unsigned states, const struct tcb_screen_rule *rule);

#endif
