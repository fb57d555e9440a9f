/* SPDX-License-Identifier: MIT
 *
 * The thread pool.  A run publishes a job and bumps a generation number that
 * the workers watch; each worker that takes part counts down `running` when it
 * is done.  Both waits spin first (a kernel call takes tens of microseconds,
 * so do the gaps between calls) and then sleep on a condition variable.
 */
#include "base/pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#if defined(__x86_64__) || defined(__i386__)
#define cpu_relax() __builtin_ia32_pause()
#else
#define cpu_relax() atomic_signal_fence(memory_order_seq_cst)
#endif

enum {
	SPIN_NS = 200000, /* longer than the gap between the calls of one measurement */
	SPIN_BATCH = 64,  /* pauses between looks at the clock */
};

struct job {
	tcb_task_fn *fn;
	void *ctx;
	size_t tasks;
	unsigned threads;
	enum tcb_sched sched;
};

struct worker {
	struct tcb_pool *pool;
	pthread_t thread;
	unsigned index;
};

struct tcb_pool {
	unsigned threads;
	struct worker *workers; /* threads - 1 of them, indices 1.. */
	cpu_set_t caller_affinity;
	int pinned;
	struct job job;
	/* Written by different threads: each on a cache line of its own. */
	_Alignas(64) atomic_uint generation;
	_Alignas(64) atomic_size_t next_task;
	_Alignas(64) atomic_uint running;
	_Alignas(64) atomic_uint sleepers; /* workers that wait on `wake` */
	atomic_int stop;
	pthread_mutex_t lock;
	pthread_cond_t wake;
};

static void run_share(struct tcb_pool *pool, unsigned thread)
{
	const struct job *job = &pool->job;

	if (job->sched == TCB_SCHED_STATIC) {
		size_t begin = job->tasks * thread / job->threads;
		size_t end = job->tasks * (thread + 1) / job->threads;

		for (size_t task = begin; task < end; task++)
			job->fn(job->ctx, task, thread);
		return;
	}
	for (;;) {
		size_t task = atomic_fetch_add_explicit(&pool->next_task, 1, memory_order_relaxed);

		if (task >= job->tasks)
			return;
		job->fn(job->ctx, task, thread);
	}
}

/* Spins until *WORD differs from OLD or the spin time is over. */
static int spin_while_equal(atomic_uint *word, unsigned old)
{
	uint64_t deadline = 0;

	for (;;) {
		for (int i = 0; i < SPIN_BATCH; i++) {
			if (atomic_load_explicit(word, memory_order_acquire) != old)
				return 1;
			cpu_relax();
		}
		if (!deadline)
			deadline = tcb_clock_ns() + SPIN_NS;
		else if (tcb_clock_ns() > deadline)
			return 0;
	}
}

static unsigned wait_for_job(struct tcb_pool *pool, unsigned seen)
{
	if (!spin_while_equal(&pool->generation, seen)) {
		pthread_mutex_lock(&pool->lock);
		atomic_fetch_add(&pool->sleepers, 1);
		while (atomic_load(&pool->generation) == seen)
			pthread_cond_wait(&pool->wake, &pool->lock);
		atomic_fetch_sub(&pool->sleepers, 1);
		pthread_mutex_unlock(&pool->lock);
	}
	return atomic_load_explicit(&pool->generation, memory_order_acquire);
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct tcb_pool *pool = worker->pool;
	unsigned seen = 0;

	for (;;) {
		seen = wait_for_job(pool, seen);
		if (atomic_load_explicit(&pool->stop, memory_order_relaxed))
			return NULL;
		if (worker->index < pool->job.threads)
			run_share(pool, worker->index);
		/* Every worker reports, also one that has no share: the job may not change under it. */
		atomic_fetch_sub_explicit(&pool->running, 1, memory_order_release);
	}
}

static void publish(struct tcb_pool *pool)
{
	atomic_fetch_add(&pool->generation, 1);
	/* A worker counts itself as a sleeper before it looks at the generation for the last time, so either it
	 * sees the new number or it is seen here. */
	if (atomic_load(&pool->sleepers)) {
		pthread_mutex_lock(&pool->lock);
		pthread_cond_broadcast(&pool->wake);
		pthread_mutex_unlock(&pool->lock);
	}
}

static int pin(pthread_t thread, int cpu)
{
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
	size_t bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
	int error;

	if (!set)
		return ENOMEM;
	CPU_ZERO_S(bytes, set);
	CPU_SET_S((size_t)cpu, bytes, set);
	error = pthread_setaffinity_np(thread, bytes, set);
	CPU_FREE(set);
	return error;
}

enum tcb_status tcb_pool_create(unsigned threads, const int *cpus, struct tcb_pool **out, struct tcb_error *err)
{
	struct tcb_pool *pool = aligned_alloc(64, sizeof *pool);
	unsigned started = 1;
	int error = 0;

	assert(threads >= 1);
	if (!pool)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a pool of %u threads", threads);
	memset(pool, 0, sizeof *pool);
	pool->threads = threads;
	pool->workers = calloc(threads, sizeof *pool->workers);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	if (!pool->workers) {
		tcb_pool_destroy(pool);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a pool of %u threads", threads);
	}
	for (; started < threads && !error; started += !error) {
		struct worker *worker = &pool->workers[started];

		*worker = (struct worker){ .pool = pool, .index = started };
		error = pthread_create(&worker->thread, NULL, worker_main, worker);
	}
	pool->threads = started;
	if (error) {
		tcb_pool_destroy(pool);
		return tcb_fail(err, TCB_E_FAILED, "cannot start thread %u of %u (%s): use fewer --threads", started,
				threads, strerror(error));
	}
	if (cpus) {
		pool->pinned = pthread_getaffinity_np(pthread_self(), sizeof pool->caller_affinity,
						      &pool->caller_affinity) == 0;
		error = pin(pthread_self(), cpus[0]);
		for (unsigned i = 1; i < threads && !error; i++)
			error = pin(pool->workers[i].thread, cpus[i]);
		if (error) {
			tcb_pool_destroy(pool);
			return tcb_fail(err, TCB_E_FAILED, "cannot pin threads to their processors: %s",
					strerror(error));
		}
	}
	*out = pool;
	return TCB_OK;
}

void tcb_pool_destroy(struct tcb_pool *pool)
{
	if (!pool)
		return;
	if (pool->workers) {
		atomic_store(&pool->stop, 1);
		publish(pool);
		for (unsigned i = 1; i < pool->threads; i++)
			pthread_join(pool->workers[i].thread, NULL);
	}
	if (pool->pinned)
		pthread_setaffinity_np(pthread_self(), sizeof pool->caller_affinity, &pool->caller_affinity);
	pthread_cond_destroy(&pool->wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool->workers);
	free(pool);
}

unsigned tcb_pool_threads(const struct tcb_pool *pool)
{
	return pool->threads;
}

void tcb_pool_run(struct tcb_pool *pool, unsigned threads, enum tcb_sched sched, size_t tasks, tcb_task_fn *fn,
		  void *ctx)
{
	assert(threads >= 1 && threads <= pool->threads);
	pool->job = (struct job){ fn, ctx, tasks, threads, sched };
	atomic_store_explicit(&pool->next_task, 0, memory_order_relaxed);
	if (threads == 1) {
		run_share(pool, 0);
		return;
	}
	atomic_store_explicit(&pool->running, pool->threads - 1, memory_order_relaxed);
	publish(pool);
	run_share(pool, 0);
	while (atomic_load_explicit(&pool->running, memory_order_acquire))
		cpu_relax();
}
