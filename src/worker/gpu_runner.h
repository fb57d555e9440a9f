/* SPDX-License-Identifier: MIT
 *
 * One candidate on a GPU: its code loaded, launched, and timed as a graph of
 * launches, so that the gaps between launches are as in real decoding: cold
 * over rotating copies, hot on one.
 */
#ifndef TCB_WORKER_GPU_RUNNER_H
#define TCB_WORKER_GPU_RUNNER_H

#include "gpu/launch.h"
#include "worker/gpu_memory.h"

/* A GPU ready to work. */
struct tcb_gpu_session {
	const struct tcb_cuda *cuda;
	int device; /* the driver's handle */
	CUcontext context;
	CUstream stream;
	CUevent from, to;
};
/* Whatever it returns, OUT is for tcb_gpu_session_close. */
enum tcb_status tcb_gpu_session_open(int ordinal, struct tcb_gpu_session *out, struct tcb_error *err);
/* An all-zero session is left alone. */
void tcb_gpu_session_close(struct tcb_gpu_session *session);

/* One unit of an image, loaded. */
struct tcb_gpu_runner {
	struct tcb_gpu_session *session;
	struct tcb_gpu_code code;
	struct tcb_gpu_buffer workspace;
	/* after tcb_gpu_runner_record */
	CUgraph graph;
	CUgraphExec exec;
	size_t calls; /* in the graph */
	/* Written over before each sample, so that the L2 holds nothing of what the graph reads; 0 bytes: nothing. */
	uint64_t flush;
	size_t flush_bytes;
};

/* What a call of the driver says of a candidate. */
enum tcb_gpu_fault { TCB_GPU_FINE, TCB_GPU_NO_CODE, TCB_GPU_REFUSED, TCB_GPU_CRASHED };

/* FAULT_OUT tells a candidate's fault from the tuner's trouble (a status): NO_CODE: the driver cannot assemble or use
 * its code; REFUSED: cannot be launched as it is; CRASHED: it faulted, and the context is lost.  WHY (256 bytes) says
 * it. */
enum tcb_status tcb_gpu_runner_init(struct tcb_gpu_runner *runner, struct tcb_gpu_session *session,
				    const struct tcb_code_image *image, size_t unit, enum tcb_gpu_fault *fault_out,
				    char why[256], struct tcb_error *err);
void tcb_gpu_runner_fini(struct tcb_gpu_runner *runner); /* zeroed is fine */
/* One call on OPERAND, on the stream; does not wait.  OVERLAP: launches that may be dependent are. */
int tcb_gpu_runner_call(struct tcb_gpu_runner *runner, const uint64_t operand[TCB_OPERANDS_MAX], int overlap);
/* Waits for the stream. */
enum tcb_gpu_fault tcb_gpu_wait(struct tcb_gpu_session *session, char why[256]);
/* One call on OPERAND, waited for; NS_OUT: how long it took, its launch included. */
enum tcb_gpu_fault tcb_gpu_runner_once(struct tcb_gpu_runner *runner, const uint64_t operand[TCB_OPERANDS_MAX],
				       double *ns_out, char why[256]);
/* A graph of CALLS calls over copies 0, 1, ... COPIES - 1, 0, ... of LAYOUT, warmed up. */
enum tcb_gpu_fault tcb_gpu_runner_record(struct tcb_gpu_runner *runner, const struct tcb_gpu_memory *memory,
					 enum tcb_layout layout, size_t copies, size_t calls, char why[256]);
/* One run of the graph: nanoseconds of a call; negative when it faulted. */
double tcb_gpu_runner_sample(struct tcb_gpu_runner *runner, char why[256]);

#endif
