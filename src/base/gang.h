/* SPDX-License-Identifier: MIT
 *
 * What calls of ops do with a pool that is a seat in a gang, beside running tasks (pool.h, whose
 * threads they are): end without a wait, so that
 * several calls can follow each other before all meet.
 */
#ifndef TCB_BASE_GANG_H
#define TCB_BASE_GANG_H

#include <stddef.h>

#include "base/geometry.h"

struct tcb_gang;
struct tcb_pool;

/*
 * tcb_pool_run for the last run of a call of an op, after which its threads read nothing of each other's: a gang's
 * threads go on when they have done their own.  Who made their seats has them meet before anybody reads what they
 * wrote.
 */
void tcb_pool_run_last(struct tcb_pool *pool, unsigned threads, enum tcb_sched sched, size_t tasks,
		       void (*fn)(void *ctx, size_t task, unsigned thread), void *ctx);

/* Waits for all seats of SEAT's gang; what they wrote is visible then.  GANGS, COUNT of them, are other gangs of the
 * same threads, whose calls have ended: they are left ready for their next one, as SEAT's own. */
void tcb_pool_meet(const struct tcb_pool *seat, struct tcb_gang *const gangs[], size_t count);

/* How many of a pool's threads there are: 1 in a child of fork(), which has none of its parent's workers. */
unsigned tcb_pool_present(const struct tcb_pool *pool);

#endif
