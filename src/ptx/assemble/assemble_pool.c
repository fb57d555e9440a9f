/* SPDX-License-Identifier: MIT
 *
 * In: jobs, one after another.  Out: their assemblies in the same order.
 *
 * Slots form a list: the submitting thread appends, workers take the oldest
 * that waits, and the reader removes the head once it is done.  Only the jobs
 * that still wait are bounded, not the results that nobody has read, so a
 * caller may submit everything first and read afterwards.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ptx/assemble/assemble_private.h"

enum slot_state { SLOT_WAITING, SLOT_RUNNING, SLOT_DONE };

struct slot {
	struct slot *next;
	enum slot_state state;
	char *ptx;
	size_t length;
	struct tcb_ptx_target target;
	struct tcb_assembly assembly;
};

struct worker {
	struct tcb_assemble_pool *pool;
	pthread_t thread;
	struct tcb_nvjitlink_server server; /* of NVJITLINK; a job starts it again where it is gone */
};

struct tcb_assemble_pool {
	struct tcb_assembler_info info;
	double seconds_limit;
	unsigned worker_count, server_count, waiting;
	struct worker *workers;
	pthread_mutex_t lock;
	pthread_cond_t work, room, done; /* a job waits; one was taken; the oldest may be done */
	struct slot *head, *tail;        /* oldest first, until read */
	struct slot *first_waiting;
	atomic_int stop;
};

static void slot_free(struct slot *slot)
{
	free(slot->ptx);
	if (slot->state == SLOT_DONE)
		tcb_assembly_fini(&slot->assembly);
	free(slot);
}

static struct slot *take(struct tcb_assemble_pool *pool)
{
	struct slot *slot;

	while (!pool->first_waiting && !atomic_load(&pool->stop))
		pthread_cond_wait(&pool->work, &pool->lock);
	if (atomic_load(&pool->stop))
		return NULL;
	slot = pool->first_waiting;
	pool->first_waiting = slot->next;
	pool->waiting--;
	slot->state = SLOT_RUNNING;
	pthread_cond_signal(&pool->room);
	return slot;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct tcb_assemble_pool *pool = worker->pool;
	struct slot *slot;

	pthread_mutex_lock(&pool->lock);
	while ((slot = take(pool))) {
		struct tcb_assembly assembly;
		const struct tcb_assemble_job job = {
			.ptx = slot->ptx,
			.length = slot->length,
			.target = slot->target,
			.seconds_limit = pool->seconds_limit,
			.stop = &pool->stop,
		};
		pthread_mutex_unlock(&pool->lock);
		tcb_assemble_job_run(&pool->info, &worker->server, &job, &assembly);
		pthread_mutex_lock(&pool->lock);
		free(slot->ptx);
		slot->ptx = NULL;
		slot->assembly = assembly;
		slot->state = SLOT_DONE;
		pthread_cond_signal(&pool->done);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

enum tcb_status tcb_assemble_pool_create(const struct tcb_assembler_info *info, unsigned workers, double seconds_limit,
					 struct tcb_assemble_pool **out, struct tcb_error *err)
{
	struct tcb_assemble_pool *pool = calloc(1, sizeof *pool);

	*out = NULL;
	if (pool && workers)
		pool->workers = calloc(workers, sizeof *pool->workers);
	if (!pool || !pool->workers) {
		free(pool);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	}
	pool->info = *info;
	pool->seconds_limit = seconds_limit;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->room, NULL);
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->done, &attributes);
	pthread_condattr_destroy(&attributes);
	/* All processes now; the threads with the first job, so that the caller can fork until then. */
	for (unsigned i = 0; i < workers; i++) {
		pool->workers[i].pool = pool;
		if (info->kind == TCB_ASSEMBLER_NVJITLINK)
			(void)tcb_nvjitlink_server_start(info->library, &pool->workers[i].server, NULL);
	}
	pool->server_count = workers;
	*out = pool;
	return TCB_OK;
}

void tcb_assemble_pool_destroy(struct tcb_assemble_pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	atomic_store(&pool->stop, 1);
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->worker_count; i++)
		pthread_join(pool->workers[i].thread, NULL);
	for (unsigned i = 0; i < pool->server_count; i++)
		tcb_nvjitlink_server_stop(&pool->workers[i].server);
	for (struct slot *slot = pool->head, *next; slot; slot = next) {
		next = slot->next;
		slot_free(slot);
	}
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->room);
	pthread_cond_destroy(&pool->done);
	pthread_mutex_destroy(&pool->lock);
	free(pool->workers);
	free(pool);
}

/* Locked. */
static void start_threads(struct tcb_assemble_pool *pool)
{
	while (pool->worker_count < pool->server_count &&
	       pthread_create(&pool->workers[pool->worker_count].thread, NULL, work,
			      &pool->workers[pool->worker_count]) == 0)
		pool->worker_count++;
}

enum tcb_status tcb_assemble_submit(struct tcb_assemble_pool *pool, const char *ptx, size_t length,
				    const struct tcb_ptx_target *target, struct tcb_error *err)
{
	struct slot *slot = calloc(1, sizeof *slot);

	if (slot)
		slot->ptx = malloc(length + 1);
	if (!slot || !slot->ptx) {
		free(slot);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	}
	memcpy(slot->ptx, ptx, length);
	slot->ptx[length] = '\0';
	slot->length = length;
	slot->target = *target;
	pthread_mutex_lock(&pool->lock);
	if (!pool->worker_count)
		start_threads(pool);
	if (!pool->worker_count) {
		pthread_mutex_unlock(&pool->lock);
		slot_free(slot);
		return tcb_fail(err, TCB_E_FAILED, "cannot start a thread for the assembler");
	}
	while (pool->waiting >= 4 * pool->worker_count)
		pthread_cond_wait(&pool->room, &pool->lock);
	if (pool->tail)
		pool->tail->next = slot;
	else
		pool->head = slot;
	pool->tail = slot;
	if (!pool->first_waiting)
		pool->first_waiting = slot;
	pool->waiting++;
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	return TCB_OK;
}

int tcb_assemble_wait(struct tcb_assemble_pool *pool, uint64_t deadline_ns)
{
	const struct timespec deadline = { (time_t)(deadline_ns / 1000000000), (long)(deadline_ns % 1000000000) };
	int is_late = 0;

	pthread_mutex_lock(&pool->lock);
	while (pool->head && pool->head->state != SLOT_DONE && !is_late)
		is_late = pthread_cond_timedwait(&pool->done, &pool->lock, &deadline) == ETIMEDOUT;
	const int is_there = !pool->head || pool->head->state == SLOT_DONE;
	pthread_mutex_unlock(&pool->lock);
	return is_there;
}

enum tcb_status tcb_assemble_next(struct tcb_assemble_pool *pool, struct tcb_assembly *out, struct tcb_error *err)
{
	struct slot *slot;

	pthread_mutex_lock(&pool->lock);
	slot = pool->head;
	while (slot && slot->state != SLOT_DONE)
		pthread_cond_wait(&pool->done, &pool->lock);
	if (slot) {
		pool->head = slot->next;
		if (!pool->head)
			pool->tail = NULL;
	}
	pthread_mutex_unlock(&pool->lock);
	if (!slot)
		return tcb_fail(err, TCB_E_NOT_FOUND, "no job was submitted");
	*out = slot->assembly;
	free(slot);
	return TCB_OK;
}
