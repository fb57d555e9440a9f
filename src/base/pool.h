/* SPDX-License-Identifier: MIT
 *
 * A small pool of pinned threads that run the tiles of one kernel call.  The
 * caller is thread 0.  Workers spin for a short while between calls, then
 * sleep, so that back-to-back kernel calls start within a microsecond.
 */
#ifndef TCB_BASE_POOL_H
#define TCB_BASE_POOL_H

#include <stddef.h>

#include "base/geometry.h"
#include "base/status.h"

struct tcb_pool;

typedef void tcb_task_fn(void *ctx, size_t task, unsigned thread);

/*
 * THREADS >= 1, the caller included.  CPUS: THREADS OS processor numbers to pin
 * to (the caller is pinned too), or NULL for no pinning.
 */
enum tcb_status tcb_pool_create(unsigned threads, const int *cpus, struct tcb_pool **out, struct tcb_error *err);
void tcb_pool_destroy(struct tcb_pool *pool); /* NULL is fine; the caller's affinity is restored */
unsigned tcb_pool_threads(const struct tcb_pool *pool);

/*
 * Runs FN for every task 0..TASKS-1 on THREADS <= pool size threads and
 * returns when all are done (their writes are visible to the caller).
 * STATIC: thread t gets the contiguous range [t*TASKS/T, (t+1)*TASKS/T).
 * DYNAMIC: tasks are taken in order, one at a time.
 */
void tcb_pool_run(struct tcb_pool *pool, unsigned threads, enum tcb_sched sched, size_t tasks, tcb_task_fn *fn,
		  void *ctx);

#endif
