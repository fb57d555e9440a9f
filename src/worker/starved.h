/* SPDX-License-Identifier: MIT
 *
 * How long a process was kept from running by others, so that it is not taken to hang for that.
 */
#ifndef TCB_WORKER_STARVED_H
#define TCB_WORKER_STARVED_H

#include <sys/types.h>

enum { TCB_STARVED_THREADS_MAX = 256 };

struct tcb_starved {
	struct {
		pid_t thread;
		double waited_ns;
	} seen[TCB_STARVED_THREADS_MAX]; /* at the last look */
	unsigned count;
};

/*
 * starved.c: nanoseconds since the last look at PID that the one of its threads waited for a processor which waited
 * most: ready to run, while others ran.  0 at the first look, and where the system does not tell.  STARVED is zeroed
 * before the first look.
 */
double tcb_starved_look(struct tcb_starved *starved, pid_t pid);

#endif
