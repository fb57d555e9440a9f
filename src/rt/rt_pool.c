/* SPDX-License-Identifier: MIT
 *
 * Pools of programs: threads pinned to processors of the caller's affinity mask,
 * one per core, as `tcbtune bench` has them, except that the caller itself is
 * never pinned: its affinity is not ours to change.
 */
#include "rt/rt_pool.h"

#include <stdlib.h>

#include "rt/rt_plan.h"

/* Which slot each processor belongs to: its own, else one of its core. */
static void map_processors(struct tcbrt_pool *pool, const struct rt_processor *all, unsigned count, unsigned slots)
{
	for (unsigned cpu = 0; cpu < RT_PROCESSORS_MAX; cpu++)
		pool->slot_of[cpu] = RT_NO_SLOT;
	for (unsigned i = 0; i < count; i++)
		for (unsigned slot = 0; slot < slots && pool->slot_of[all[i].cpu] == RT_NO_SLOT; slot++)
			if (all[slot].core == all[i].core)
				pool->slot_of[all[i].cpu] = (uint16_t)slot;
	for (unsigned slot = 0; slot < slots; slot++)
		pool->slot_of[all[slot].cpu] = (uint16_t)slot;
}

/* Where there are fewer processors than threads, or they cannot be had, the scheduler places the threads. */
static void pin_workers(struct tcbrt_pool *pool)
{
	const unsigned threads = tcb_pool_threads(pool->threads);
	struct rt_processor all[RT_PROCESSORS_MAX];
	cpu_set_t allowed;
	unsigned count, slot = 0;
	int cpu;

	if (threads == 1 || sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return;
	count = rt_processors(RT_SYSFS_CPUS, &allowed, all);
	if (count < threads)
		return;
	rt_processors_order(RT_SYSFS_CPUS, all, count);
	map_processors(pool, all, count, threads);
	cpu = sched_getcpu();
	pool->free_slot =
		cpu >= 0 && cpu < RT_PROCESSORS_MAX && pool->slot_of[cpu] != RT_NO_SLOT ? pool->slot_of[cpu] : 0;
	for (unsigned worker = 1; worker < threads; worker++, slot++) {
		slot += slot == pool->free_slot;
		pool->worker[slot] = (uint16_t)worker;
		(void)tcb_pool_pin(pool->threads, worker, all[slot].cpu);
	}
	for (slot = 0; slot < threads; slot++)
		pool->cpu[slot] = all[slot].cpu;
	pool->is_pinned = 1;
}

void rt_pool_make_way(struct tcbrt_pool *pool, int cpu)
{
	const unsigned slot = pool->slot_of[cpu];

	/* A processor that went offline since: the worker stays. */
	if (tcb_pool_pin(pool->threads, pool->worker[slot], pool->cpu[pool->free_slot]) != 0)
		return;
	pool->worker[pool->free_slot] = pool->worker[slot];
	pool->free_slot = slot;
}

int tcbrt_pool_create_flags(unsigned threads, unsigned flags, struct tcbrt_pool **out, struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	struct tcbrt_pool *pool = NULL;
	enum tcb_status status = TCB_OK;

	if (!out || threads < 1 || threads > RT_THREADS_MAX)
		status = tcb_fail(&error, TCB_E_USAGE, "a pool wants %s",
				  out ? "1 to 1024 threads" : "a place: OUT is NULL");
	else if (flags & ~(unsigned)TCBRT_POOL_UNPINNED)
		status = tcb_fail(&error, TCB_E_USAGE, "unknown flags 0x%x: a pool takes TCBRT_POOL_UNPINNED or 0",
				  flags);
	else if (!(pool = calloc(1, sizeof(*pool))))
		status = tcb_fail(&error, TCB_E_NOMEM, "out of memory for a pool of %u threads", threads);
	else if ((status = tcb_pool_create(threads, NULL, &pool->threads, &error)) == TCB_OK &&
		 !(flags & TCBRT_POOL_UNPINNED))
		pin_workers(pool);
	if (status != TCB_OK) {
		free(pool);
		pool = NULL;
	}
	if (out)
		*out = pool;
	return rt_report(status, &error, err);
}

int tcbrt_pool_create(unsigned threads, struct tcbrt_pool **out, struct tcbrt_error *err)
{
	return tcbrt_pool_create_flags(threads, 0, out, err);
}

void tcbrt_pool_destroy(struct tcbrt_pool *pool)
{
	if (!pool)
		return;
	tcb_pool_destroy(pool->threads);
	free(pool);
}

unsigned tcbrt_pool_threads(const struct tcbrt_pool *pool)
{
	return pool ? tcb_pool_threads(pool->threads) : 1;
}

int tcbrt_pool_run(struct tcbrt_pool *pool, size_t tasks, tcbrt_task *task, void *ctx)
{
	struct tcb_pool alone = tcb_pool_seat(NULL, 0, 1);
	struct tcb_pool *threads = &alone;

	if (!task)
		return TCBRT_E_USAGE;
	if (pool && tasks > 1)
		threads = rt_pool_enter(pool);
	tcb_pool_run(threads, threads->threads, TCB_SCHED_DYNAMIC, tasks, task, ctx);
	return TCBRT_OK;
}
