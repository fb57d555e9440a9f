/* SPDX-License-Identifier: MIT
 *
 * What a judged kernel's process may ask of the system: memory, its own threads and
 * the time.  Anything else ends it with SIGSYS (seccomp(2)).
 */
#ifndef TCB_JUDGE_SANDBOX_H
#define TCB_JUDGE_SANDBOX_H

enum tcb_sandbox_stage {
	TCB_SANDBOX_LOADING, /* files may be read: libraries */
	TCB_SANDBOX_RUNNING  /* behind the other one: none may be opened any more, and this is the last stage */
};
/* -1: this system has no such filters. */
int tcb_sandbox_enter(enum tcb_sandbox_stage stage);
/* What the forbidden system call NUMBER does: "starts a process". */
const char *tcb_sandbox_tells(long number);

#endif
