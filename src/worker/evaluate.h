/* SPDX-License-Identifier: MIT
 *
 * Evaluating candidates in a worker process (evaluate_trial.c drives, worker_main.c runs
 * in the child).  The worker owns the buffers, the thread pool and the
 * reference results; a candidate that crashes, hangs or is wrong costs only
 * its own trial: the worker is replaced and the buffers are made again.
 */
#ifndef TCB_WORKER_EVALUATE_H
#define TCB_WORKER_EVALUATE_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/trial.h"
#include "device/device.h"
#include "device/energy/meter.h"
#include "kernels/op.h"
#include "kernels/static_facts.h"

struct tcb_evaluator;

struct tcb_evaluate_options {
	unsigned states;              /* bit 1u << enum tcb_state */
	size_t rotation_bytes;        /* 0: tcb_rotation_size() of the place, at most a quarter of the RAM */
	double timeout_s;             /* one candidate's limit; 0: 20 s */
	double budget_s;              /* of the sweep that it is done for; 0: none */
	struct tcb_deadline deadline; /* of it: by then everything should be over */
	uint64_t seed;
	const struct tcb_require *require; /* of candidates for GPUs whose code is PTX; NULL: nothing; lent */
	const volatile sig_atomic_t *stop; /* nonzero ends what is going on; may be NULL */
};

/* What candidates are measured beside: reading their bytes, on a GPU also with overlapping launches; computing
 * as many operations; the first of them itself, each call of which writes memory of its own, so that none waits for
 * another (kind->has_free_calls). */
enum tcb_limit { TCB_LIMIT_NONE, TCB_LIMIT_READ, TCB_LIMIT_OVERLAP, TCB_LIMIT_COMPUTE, TCB_LIMIT_INDEPENDENT };

/* The worker is started here. */
enum tcb_status tcb_evaluator_create(const struct tcb_op *op, const struct tcb_problem *problem,
				     const struct tcb_place *place, const struct tcb_evaluate_options *options,
				     struct tcb_evaluator **out, struct tcb_error *err);
/* The same problem on PLACE, a GPU identical to FIRST's: the code is compiled once for both.  Each of them may be used
 * by a thread of its own, which must live as long as it is used: a worker dies with the thread that started it. */
enum tcb_status tcb_evaluator_create_beside(const struct tcb_evaluator *first, const struct tcb_place *place,
					    struct tcb_evaluator **out, struct tcb_error *err);
/* Does its device still work?  Starts the worker where there is none; the error says what is wrong. */
enum tcb_status tcb_evaluator_check(struct tcb_evaluator *evaluator, struct tcb_error *err);
/* The next request has a new worker, whose memory lies on other pages. */
void tcb_evaluator_renew(struct tcb_evaluator *evaluator);
void tcb_evaluator_destroy(struct tcb_evaluator *evaluator); /* NULL is fine */
/*
 * From now on no request takes longer than until then, whatever the worker is at (preparing copies, computing a
 * reference, choosing a loop): what is not answered is given up together with the worker, and the next request has a
 * new one.  All zeros: requests take as long as they take, as at the beginning.
 */
void tcb_evaluator_until(struct tcb_evaluator *evaluator, struct tcb_deadline deadline);
/* Whether the last trial was given up so (then nothing is known of the candidate), and how many rounds the last
 * interleaving has held: fewer than asked for only because of that. */
int tcb_evaluator_was_late(const struct tcb_evaluator *evaluator);
/* Whether the last trial was not made, since the candidate is not as it is required to be: its message says why. */
int tcb_evaluator_was_refused(const struct tcb_evaluator *evaluator);
size_t tcb_evaluator_held(const struct tcb_evaluator *evaluator);

/*
 * When to stop sampling a candidate in the screening: it has certainly lost against LOSE_NS of that state.  OVER: by
 * what factor the fastest of one, two, and three or more samples and of a call before them may be too slow; 0: unknown.
 */
enum { TCB_SCREEN_CALLS = 3 };
struct tcb_screen_rule {
	size_t samples_min, samples_max; /* calls to time in each state */
	double width;                    /* stop early once (hi - lo) / median of the interval is below this */
	double lose_ns[TCB_STATE_COUNT]; /* 0: none */
	double over[TCB_STATE_COUNT][TCB_SCREEN_CALLS];
};

/* Candidates that should be named ahead of their turn, so that their code is ready then; 1 where nothing is compiled.
 */
size_t tcb_evaluator_ahead(const struct tcb_evaluator *evaluator);
/* Names one of them. */
enum tcb_status tcb_evaluator_want(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				   struct tcb_error *err);
/* No more of them are tried: nothing is compiled on the processors of this host beside what is measured now. */
void tcb_evaluator_rest(struct tcb_evaluator *evaluator);

/*
 * Plans, verifies (odd sizes with guard zones and poisoned outputs, then the problem itself) and measures one
 * candidate in the states asked for at creation.  OUT and what it points to are valid until the next call.  The
 * status is an error of the tuner (out of memory, the worker cannot be started, TCB_E_INTERRUPTED); what the
 * candidate did is OUT->outcome; too_slow where tcb_evaluator_was_late().
 */
enum tcb_status tcb_evaluator_try(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				  const struct tcb_screen_rule *rule, const struct tcb_trial **out,
				  struct tcb_error *err);

/*
 * Paired, interleaved samples: in each of ROUNDS rounds every geometry is called once, in an order shuffled again from
 * SEED, and the limit once if LIMIT_OUT is not NULL.  NS_OUT[g * ROUNDS + r] is the time of geometry g in
 * round r.  Who is disturbed by others is called again, a few times.  LOST_OUT (nullable): [g * ROUNDS + r], the
 * share of the time around it that others took all the same, NaN where it is unknown; g = COUNT is the limit.
 * All geometries must have been tried with outcome ok; one that fails now gets NaN from then on, and
 * so do all in rounds that there was no time for.
 */
enum tcb_status tcb_evaluator_interleave(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometries,
					 size_t count, enum tcb_state state, size_t rounds, uint64_t seed,
					 double *ns_out, double *limit_out, double *lost_out, struct tcb_error *err);
/* Which limit LIMIT_OUT is from now on.  0 if the device has it. */
int tcb_evaluator_use_limit(struct tcb_evaluator *evaluator, enum tcb_limit limit);
/* The loop behind LIMIT_OUT; "" before the first interleave with one. */
const char *tcb_evaluator_limit_method(const struct tcb_evaluator *evaluator, enum tcb_state state);

/* Counters of CALLS calls; *COUNT_OUT of them, lent until the next call. */
enum tcb_status tcb_evaluator_counters(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				       enum tcb_state state, unsigned calls, const struct tcb_counter **out,
				       size_t *count_out, struct tcb_error *err);

/* What a run of one candidate took, at least SECONDS of it, call after call; joules NaN: the candidate failed, or there
 * was no time.  TCB_E_UNSUPPORTED: the device cannot be metered. */
struct tcb_energy {
	struct tcb_metered metered;
	char source[TCB_METER_SOURCE_MAX];
};
enum tcb_status tcb_evaluator_meter(struct tcb_evaluator *evaluator, const struct tcb_geometry *geometry,
				    enum tcb_state state, double seconds, struct tcb_energy *out,
				    struct tcb_error *err);

#endif
