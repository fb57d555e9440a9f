/* SPDX-License-Identifier: MIT
 *
 * Private to src/rt: a program's pool, whose workers keep off the processor that
 * the program's thread is on.
 */
#ifndef TCB_RT_RT_POOL_H
#define TCB_RT_RT_POOL_H

#include "base/pool.h"
#include "rt/runtime.h"

enum { RT_NO_SLOT = 0xffff };

/*
 * A slot is a processor for one of the threads.  The workers are pinned to all slots but one, which is left to the
 * caller.  The caller is not pinned: where it is found on another slot than that, the worker of that slot moves.
 */
struct tcbrt_pool {
	struct tcb_pool *threads;
	int is_pinned;
	unsigned free_slot;
	int cpu[RT_THREADS_MAX];             /* of each slot */
	uint16_t worker[RT_THREADS_MAX];     /* whom each slot but the free one has */
	uint16_t slot_of[RT_PROCESSORS_MAX]; /* that a processor is, or is of the same core as; RT_NO_SLOT */
};

/* Moves the worker, if there is one, that is on the core of processor CPU, where the caller runs. */
void rt_pool_make_way(struct tcbrt_pool *pool, int cpu);

/* What executions with POOL run on, with room made for the calling thread. */
static inline struct tcb_pool *rt_pool_enter(struct tcbrt_pool *pool)
{
	if (pool->is_pinned) {
		const int cpu = sched_getcpu(); /* not a system call */

		if (cpu >= 0 && cpu < RT_PROCESSORS_MAX && pool->slot_of[cpu] != pool->free_slot &&
		    pool->slot_of[cpu] != RT_NO_SLOT)
			rt_pool_make_way(pool, cpu);
	}
	return pool->threads;
}

#endif
