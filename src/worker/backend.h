/* SPDX-License-Identifier: MIT
 *
 * What the worker process does with a candidate, per kind of device: one
 * table of functions on the processors (backend_cpu.c), others on GPUs
 * (backend_gpu.c).  worker_main.c reads requests and writes replies; here they are
 * carried out.  A status other than TCB_OK is the tuner's trouble; what a
 * candidate does wrong is an outcome.
 */
#ifndef TCB_WORKER_BACKEND_H
#define TCB_WORKER_BACKEND_H

#include <stdio.h>

#include "base/util.h"
#include "worker/worker.h"

/* A candidate as a request brings it. */
struct tcb_work {
	struct tcb_geometry geometry;
	/* GPU: its machine code, a struct tcb_code_image and what follows it (kernels/code.h); NULL on a CPU. */
	const void *code;
	size_t code_bytes;
};

/* Adds the time since *SINCE to *NS; from now on it counts from here. */
static inline void tcb_spend(double *ns, uint64_t *since)
{
	const uint64_t now = tcb_clock_ns();
	*ns += (double)(now - *since);
	*since = now;
}

/* What is right by some of its outputs says so. */
static inline void tcb_say_drawn(const struct tcb_worker_config *config, struct tcb_trial_reply *reply)
{
	if (config->draw && reply->outcome == TCB_OUTCOME_OK)
		snprintf(reply->message, sizeof reply->message, "%s", config->draw->text);
}

struct tcb_backend {
	double timeout_s; /* of a candidate, unless the sweep says */
	enum tcb_status (*create)(const struct tcb_worker_config *config, void **self_out, struct tcb_error *err);
	/* Verifies and measures; SAMPLES has room for rule->samples_max of each state, and LOST, all NaN, for what
	 * others took of each. */
	enum tcb_status (*attempt)(void *self, const struct tcb_work *work, const struct tcb_screen_rule *rule,
				   struct tcb_trial_reply *reply, double *samples, double *lost, struct tcb_error *err);
	/* Makes COUNT candidates and LIMIT (with the code after theirs) ready to be timed in turns. */
	enum tcb_status (*prepare)(void *self, enum tcb_state state, const struct tcb_work *work, size_t count,
				   enum tcb_limit limit, char limit_method[64], struct tcb_error *err);
	/* Nanoseconds of a call of the candidate INDEX of those prepared, or of the limit (TCB_ROUND_LIMIT). */
	enum tcb_status (*time)(void *self, uint32_t index, double *ns_out, struct tcb_error *err);
	/* A sample of the first candidate prepared, in a long run of it alone; *CALLS_OUT: of how many calls. */
	enum tcb_status (*go_on)(void *self, size_t *calls_out, struct tcb_error *err);
	/* The share that others took since the last look, as tcb_waits_look has it; NULL: nobody knows.  The first of
	 * a round, which MUST look, says nothing. */
	double (*look)(void *self, int must);
	/* Lets go of what prepare made. */
	void (*release)(void *self);
	/* Counters of CALLS calls, at most CAPACITY. */
	enum tcb_status (*count)(void *self, const struct tcb_work *work, enum tcb_state state, unsigned calls,
				 struct tcb_counter *out, size_t capacity, size_t *count_out, struct tcb_error *err);
	/* One call in this process, where no candidate is meant; NULL: the op's own function does it.  HOST: the
	 * operands in the op's order, weights as stored; the outputs are written.  PACK_NS_OUT: repacking on the host,
	 * RUN_NS_OUT: the call and its end, after a first one that is not timed. */
	enum tcb_status (*run)(const struct tcb_op *op, const struct tcb_problem *problem,
			       const struct tcb_geometry *geometry, const struct tcb_place *place, void *const host[],
			       double *pack_ns_out, double *run_ns_out, struct tcb_error *err);
};

extern const struct tcb_backend *const tcb_backends[]; /* backends.c: by enum tcb_target_kind */
extern const struct tcb_backend tcb_backend_cpu, tcb_backend_cuda, tcb_backend_wgpu, tcb_backend_opencl;

#endif
