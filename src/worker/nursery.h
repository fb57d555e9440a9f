/* SPDX-License-Identifier: MIT
 *
 * The process that forks workers.  A worker is a fork without exec, and the
 * copy of a process whose other threads were in the middle of something (an
 * allocation, dlopen) may find their locks held for ever.  So the tuner forks
 * this process while it has no other threads, and asks it for every worker.
 */
#ifndef TCB_WORKER_NURSERY_H
#define TCB_WORKER_NURSERY_H

#include <sys/types.h>

#include "worker/worker.h"

struct tcb_nursery {
	pid_t pid; /* 0: none */
	int fd;    /* our end of the socket */
	const struct tcb_worker_config *config;
};

/* Every worker inherits CONFIG as it is now. */
enum tcb_status tcb_nursery_create(const struct tcb_worker_config *config, struct tcb_nursery *out,
				   struct tcb_error *err);
/* A worker that answers on FD and writes to LOG_FD (-1: nowhere); both stay the caller's.  -1 with errno if it
 * cannot be started.  A nursery that is gone is replaced: the tuner may have threads by then, but a new one that found
 * their locks held would only be a worker that never answers. */
pid_t tcb_nursery_start(struct tcb_nursery *nursery, int fd, int log_fd);
/* Was it killed, and its workers with it? */
int tcb_nursery_is_gone(const struct tcb_nursery *nursery);
/* waitpid of a worker: OPTIONS 0 or WNOHANG. */
pid_t tcb_nursery_wait(const struct tcb_nursery *nursery, pid_t worker, int *status, int options);
/* Its workers die with it. */
void tcb_nursery_destroy(struct tcb_nursery *nursery);

#endif
