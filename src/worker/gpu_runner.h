/* SPDX-License-Identifier: MIT
 *
 * One candidate on a GPU: its code loaded, called, and timed with many calls in
 * a row, so that the gaps between them are as in real decoding: cold over
 * rotating copies, hot on one.
 */
#ifndef TCB_WORKER_GPU_RUNNER_H
#define TCB_WORKER_GPU_RUNNER_H

#include "worker/gpu_memory.h"

/* Whatever it returns, OUT is for tcb_gpu_session_close. */
enum tcb_status tcb_gpu_session_open(const struct tcb_place *place, struct tcb_gpu_session *out, struct tcb_error *err);
/* An all-zero session is left alone. */
void tcb_gpu_session_close(struct tcb_gpu_session *session);

/* FAULT_OUT tells a candidate's fault from the tuner's trouble (a status); WHY says it. */
enum tcb_status tcb_gpu_runner_init(struct tcb_gpu_runner *runner, struct tcb_gpu_session *session,
				    const struct tcb_code_image *image, size_t unit, enum tcb_gpu_fault *fault_out,
				    char why[TCB_GPU_WHY_MAX], struct tcb_error *err);
void tcb_gpu_runner_fini(struct tcb_gpu_runner *runner); /* zeroed is fine */
/* One call on OPERAND; does not wait.  OVERLAP: launches that may be dependent are. */
enum tcb_gpu_fault tcb_gpu_runner_call(struct tcb_gpu_runner *runner,
				       const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX], int overlap,
				       char why[TCB_GPU_WHY_MAX]);
/* Waits for all calls. */
enum tcb_gpu_fault tcb_gpu_wait(struct tcb_gpu_session *session, char why[TCB_GPU_WHY_MAX]);
/* One call on OPERAND, waited for; NS_OUT: how long it took, its launch included. */
enum tcb_gpu_fault tcb_gpu_runner_once(struct tcb_gpu_runner *runner,
				       const struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX], double *ns_out,
				       char why[TCB_GPU_WHY_MAX]);
/* CALLS calls over copies 0, 1, ... COPIES - 1, 0, ... of LAYOUT in a sample, warmed up. */
enum tcb_gpu_fault tcb_gpu_runner_record(struct tcb_gpu_runner *runner, const struct tcb_gpu_memory *memory,
					 enum tcb_layout layout, size_t copies, size_t calls,
					 char why[TCB_GPU_WHY_MAX]);
/*
 * The same of calls each of which has a workspace of its own, and outputs of its own: none waits for another, where the
 * driver lets them.  At most CALLS, and as few as memory is for.  RUNNER has OWN, zeroed, until tcb_gpu_own_fini.
 */
struct tcb_gpu_own {
	struct tcb_gpu_buffer *outputs, *workspaces; /* OPERANDS_MAX of a call, and one */
	size_t calls;
};
enum tcb_status tcb_gpu_runner_record_independent(struct tcb_gpu_runner *runner, const struct tcb_gpu_memory *memory,
						  enum tcb_layout layout, size_t copies, size_t calls,
						  struct tcb_gpu_own *own, enum tcb_gpu_fault *fault_out,
						  char why[TCB_GPU_WHY_MAX], struct tcb_error *err);
void tcb_gpu_own_fini(const struct tcb_gpu_session *session, struct tcb_gpu_own *own); /* zeroed is fine */
/* Where calls go on from what the last one left (tcb_instance_is_updated), no timed one is to be compared: one more
 * call of RUNNER, on outputs as they begin.  Else nothing. */
enum tcb_status tcb_gpu_runner_begin_anew(struct tcb_gpu_runner *runner, struct tcb_gpu_memory *memory,
					  const struct tcb_instance *instance, enum tcb_gpu_fault *fault_out,
					  char why[TCB_GPU_WHY_MAX], struct tcb_error *err);
/* Nanoseconds of a call; negative when it faulted. */
double tcb_gpu_runner_sample(struct tcb_gpu_runner *runner, char why[TCB_GPU_WHY_MAX]);

#endif
