/* SPDX-License-Identifier: MIT
 *
 * Threads that run the tiles of one kernel call: a small pool's own, or a gang of
 * the caller's.  Of a pool the caller is thread 0; its workers spin for a short
 * while between calls, then sleep, so that back-to-back kernel calls start within
 * a microsecond.  Who comes late finds its share taken by the others.  A gang's
 * threads all make the same calls, each with a seat of its own.
 */
#ifndef TCB_BASE_POOL_H
#define TCB_BASE_POOL_H

#include <stdatomic.h>
#include <stddef.h>

#include "base/geometry.h"
#include "base/status.h"

struct tcb_crew; /* a pool's own threads */

/* What a gang's threads share; all zeros before the first call, and left ready for the next one.  Written by different
 * threads: each on a cache line of its own. */
struct tcb_gang {
	_Alignas(64) atomic_uint generation;
	_Alignas(64) atomic_uint arrived;
	_Alignas(64) atomic_size_t next_task;
};

/* From tcb_pool_create, or a seat in a gang from tcb_pool_seat. */
struct tcb_pool {
	unsigned threads;
	struct tcb_crew *crew; /* NULL: a seat */
	struct tcb_gang *gang; /* of a seat */
	unsigned thread;       /* of a seat: whose it is */
};

typedef void tcb_task_fn(void *ctx, size_t task, unsigned thread);

/*
 * THREADS >= 1, the caller included.  CPUS: THREADS OS processor numbers to pin
 * to (the caller is pinned too), or NULL for no pinning.
 */
enum tcb_status tcb_pool_create(unsigned threads, const int *cpus, struct tcb_pool **out, struct tcb_error *err);
void tcb_pool_destroy(struct tcb_pool *pool); /* NULL is fine; the caller's affinity is restored */
/* Pins worker THREAD, 1 to threads - 1, to a processor by its OS number, instead of what it was pinned to; returns an
 * errno value. */
int tcb_pool_pin(struct tcb_pool *pool, unsigned thread, int cpu);
unsigned tcb_pool_threads(const struct tcb_pool *pool);

/* Thread THREAD of the THREADS (>= 1) of TEAM, which is lent; nothing to destroy. */
struct tcb_pool tcb_pool_seat(struct tcb_gang *gang, unsigned thread, unsigned threads);

/*
 * Runs FN for every task 0..TASKS-1 on THREADS threads and returns when all are
 * done (their writes are visible to the caller), or on all where there are fewer.
 * STATIC: the contiguous range [t*TASKS/T, (t+1)*TASKS/T) is thread t's, in chunks;
 * a thread of a pool that has done its own takes chunks that others have not begun.
 * DYNAMIC: tasks are taken in order, one at a time.
 * A single task is thread 0's, which is how a call does something once.
 */
void tcb_pool_run(struct tcb_pool *pool, unsigned threads, enum tcb_sched sched, size_t tasks, tcb_task_fn *fn,
		  void *ctx);

/* Runs FN once on each of THREADS threads, at most the pool's, as task and thread t; waits for those that come late. */
void tcb_pool_each(struct tcb_pool *pool, unsigned threads, tcb_task_fn *fn, void *ctx);

#endif
