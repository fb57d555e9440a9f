/* SPDX-License-Identifier: MIT
 *
 * The inside of the backend for GPUs, shared by its files: backend_gpu.c (the worker, its finals and counters),
 * gpu_trial.c (a candidate verified and screened), gpu_graph.c (a candidate's calls made ready to be timed).
 */
#ifndef TCB_WORKER_GPU_WORKER_H
#define TCB_WORKER_GPU_WORKER_H

#include "worker/backend.h"
#include "worker/gpu_runner.h"

enum { TCB_GPU_CASES_MAX = 24 /* small instances kept */ };

/* A problem on the host and on the device. */
struct tcb_gpu_case {
	struct tcb_instance *instance;
	struct tcb_gpu_memory *memory;
};

struct tcb_gpu_worker {
	const struct tcb_worker_config *config;
	struct tcb_gpu_session session;
	struct tcb_pool *pool; /* of host threads */
	struct tcb_gpu_case full;
	struct tcb_gpu_case small[TCB_GPU_CASES_MAX]; /* a ring */
	size_t small_count, small_next;
	size_t rotation_bytes;
	struct tcb_gpu_buffer flush;             /* made when first needed */
	struct tcb_rng rng;                      /* of samples of outputs */
	struct tcb_buffer got[TCB_OPERANDS_MAX]; /* outputs on the host */
	/* prepared */
	enum tcb_state state;
	struct tcb_gpu_runner *runners;
	size_t runner_count;
	struct tcb_gpu_runner limit;
	struct tcb_gpu_own own; /* of its calls, where they are independent */
	/* Of the compute limit: what the op's operations are of those of one call; 0 of the other limits. */
	double compute_share;
	void **images; /* owned copies of the codes that the runners lend; the limit's last */
	size_t image_count;
};

/* gpu_graph.c */

/* Whether what failed with STATUS failed since the device is gone. */
int tcb_gpu_is_lost(const struct tcb_gpu_worker *worker, enum tcb_status status);
/* Copies that UNIT's calls in STATE go over. */
size_t tcb_gpu_copies(const struct tcb_gpu_worker *worker, const struct tcb_code_unit *unit, enum tcb_state state);
/*
 * RUNNER's graph for STATE, of as few calls as are some milliseconds: what lies between two of them, and the clock, are
 * thousandths of that.  A candidate that is screened is alone, so that half a one does, and not all copies of the
 * rotation are in each sample where its driver goes on with the others in the next; in the finals whoever is next
 * begins with the same copies, and each sample has whole turns.
 */
enum tcb_gpu_stage { TCB_GPU_SCREENED, TCB_GPU_FINALIST };
enum tcb_status tcb_gpu_record(struct tcb_gpu_worker *worker, struct tcb_gpu_runner *runner, enum tcb_state state,
			       enum tcb_gpu_stage stage, double *pack_ns, enum tcb_gpu_fault *fault_out, char why[256],
			       struct tcb_error *err);
/* Nanoseconds of a call, with the caches as STATE says; negative when it faulted. */
double tcb_gpu_sample(struct tcb_gpu_runner *runner, enum tcb_state state, char why[256]);

/* gpu_trial.c */

/* PROBLEM, filled by SEED, on the host and on the device. */
enum tcb_status tcb_gpu_case_create(struct tcb_gpu_worker *worker, const struct tcb_problem *problem, uint64_t seed,
				    struct tcb_gpu_case *out, struct tcb_error *err);
/* As the backend's attempt. */
enum tcb_status tcb_gpu_try(struct tcb_gpu_worker *worker, const struct tcb_work *work,
			    const struct tcb_screen_rule *rule, struct tcb_trial_reply *reply, double *samples,
			    struct tcb_error *err);

#endif
