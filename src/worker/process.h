/* SPDX-License-Identifier: MIT
 *
 * The life of the worker process: started by its nursery, cut off from terminal
 * and files, dead when the tuner is, and its death put into words.
 */
#ifndef TCB_WORKER_PROCESS_H
#define TCB_WORKER_PROCESS_H

#include <sys/types.h>

#include "worker/nursery.h"

struct tcb_process {
	struct tcb_nursery *nursery; /* whose child it is */
	pid_t pid;                   /* 0: none */
	int fd;                      /* our end of the socket */
	int log_fd;                  /* what it wrote to standard output and error, -1: discarded */
};

/* PROCESS starts zeroed or retired. */
enum tcb_status tcb_process_start(struct tcb_process *process, struct tcb_nursery *nursery, struct tcb_error *err);
/* Kills and reaps it.  WHAT (nullable, BYTES long) tells how it had ended if it was dead already: "SIGSEGV",
 * "exit status 0"; "" if it was killed here. */
void tcb_process_retire(struct tcb_process *process, char *what, size_t bytes);
/* Waits for the death of a process that has hung up, then retires it. */
void tcb_process_reap(struct tcb_process *process, char *what, size_t bytes);
/* The last line it wrote, printable, "" if there is none.  Before it is retired. */
void tcb_process_last_words(const struct tcb_process *process, char *line, size_t bytes);
/* Forgets what it wrote so far. */
void tcb_process_clear_words(const struct tcb_process *process);

#endif
