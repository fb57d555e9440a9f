/* SPDX-License-Identifier: MIT
 *
 * Other programs, run with a time limit: assemblers, compilers; and processes for libraries that may crash or hang.
 */
#ifndef TCB_BASE_PROGRAM_H
#define TCB_BASE_PROGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/util.h"

enum {
	TCB_PROGRAM_SAID_MAX = 1 << 24, /* of what it says: thousands of lines with C++ names; the rest is dropped */
	TCB_PROGRAM_STEP_MS = 50,       /* how often who waits looks for a request to stop */
	TCB_PROGRAM_FD = 3              /* in a fork, behind the standard streams */
};

/* The program NAME, a path or found in PATH: 0 with its path, or -1. */
int tcb_program_find(const char *name, char *out, size_t capacity);
/* Starts PATH with ARGV, waits for it, and gives what it said on both streams.  KEEP_FDS stay open in it.  TCB_E_FAILED
 * when it could not be started, ran longer than the limit (*TIMED_OUT is 1) or was stopped (STOP, nullable, is not 0);
 * WAIT_STATUS as of waitpid. */
enum tcb_status tcb_program_run(const char *path, const char *const argv[], const int *keep_fds, size_t keep_count,
				double seconds_limit, const atomic_int *stop, struct tcb_str *said, int *wait_status,
				int *timed_out, struct tcb_error *err);
/* fork() for calls of a library that may crash, hang or leave anything behind: 0 in the child, named NAME, which keeps
 * FD alone, as TCB_PROGRAM_FD, has signals as programs start with them but for SIGINT and SIGHUP (the caller stops it),
 * and ends with the thread that calls this; it ends with _exit. -1: errno. */
pid_t tcb_program_fork(const char *name, int fd);
/* The first line of what a compiler SAID (NULL: nothing) that has an error, else its first; without its end. */
void tcb_program_complaint(const char *said, char *out, size_t capacity);
/* "was killed by signal 11 (Segmentation fault)", "ended with exit status 2" */
void tcb_program_describe_exit(int wait_status, char out[64]);
/* A duplicate of FD behind the standard streams, which a program's own will take; FD is closed. */
int tcb_fd_above_standard(int fd);

/* On the clock of tcb_clock_ns. */
uint64_t tcb_program_deadline(double seconds);
/* Milliseconds until DEADLINE_NS, at most TCB_PROGRAM_STEP_MS; 0 when it has passed. */
int tcb_program_wait_ms(uint64_t deadline_ns);

#endif
