/* SPDX-License-Identifier: MIT
 *
 * What others took of the processors of this process's threads: the share of a
 * short time in which one of them was ready to run and had to wait.  Read
 * around samples, never inside, and no oftener than costs a hundredth.
 */
#ifndef TCB_DEVICE_WAITS_H
#define TCB_DEVICE_WAITS_H

#include <stddef.h>
#include <stdint.h>

enum { TCB_WAITS_THREADS_MAX = 256 };

/* From tcb_waits_open, or zeroed with a source of the caller's own. */
struct tcb_waits {
	size_t threads; /* 0: nothing can be known here */
	/* Nanoseconds for which THREAD has been ready and waited so far. */
	double (*waited_ns)(void *ctx, size_t thread);
	/* The share that the host of a virtual machine took of the processors lately, 0 to 1; NULL: never asked. */
	double (*stolen)(void *ctx);
	void *ctx;
	double cost_ns;     /* of a look */
	const char *source; /* "schedstat", "switches"; NULL: none */
	/* private */
	uint64_t looked_ns;
	double before[TCB_WAITS_THREADS_MAX];
};

/* Of the threads that this process has now, of which CPUS are the processors; what cannot be read leaves OUT->threads
 * 0.  To be closed. */
void tcb_waits_open(const int *cpus, unsigned cpu_count, struct tcb_waits *out);
void tcb_waits_close(struct tcb_waits *waits);

/* From now on. */
void tcb_waits_begin(struct tcb_waits *waits);
/* The share since the last look that the thread which waited longest waited, 0 to 1, NaN where it is unknown; or -1,
 * and no look, where the last one is so near that this one would cost more than a hundredth; not if MUST. */
double tcb_waits_look(struct tcb_waits *waits, int must);

#endif
