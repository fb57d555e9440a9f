/* SPDX-License-Identifier: MIT
 *
 * The thread pool, and gangs.  A run of a pool publishes a job and bumps a generation number that
 * the workers watch; each worker that takes part counts down `running` when it
 * is done.  Both waits spin first (a kernel call takes tens of microseconds,
 * so do the gaps between calls) and then sleep on a condition variable.  A run
 * of a gang is this thread's share and a barrier: no lock and, unless others
 * keep it waiting for long, no system call.
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
	/* Pauses of a thread that has done its share before it leaves its processor to others: some 0.1 ms, in which
	 * threads that have processors of their own come back from any share. */
	SPIN_SHARES = 4096,
};

struct job {
	tcb_task_fn *fn;
	void *ctx;
	size_t tasks;
	unsigned threads;
	enum tcb_sched sched;
};

struct worker {
	struct tcb_crew *crew;
	pthread_t thread;
	unsigned index;
};

struct tcb_crew {
	struct tcb_pool pool;   /* what the user has */
	struct worker *workers; /* pool.threads - 1 of them, indices 1.. */
	cpu_set_t caller_affinity;
	int pinned;
	unsigned born; /* forks before it was made */
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

/* fork() leaves the child the calling thread alone: a crew's workers are not there, whatever its counts say. */
static atomic_uint forks;

static void count_fork(void)
{
	atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, count_fork);
}

static int is_of_this_process(const struct tcb_crew *crew)
{
	return crew->born == atomic_load_explicit(&forks, memory_order_relaxed);
}

static void run_share(const struct job *job, atomic_size_t *next_task, unsigned thread)
{

	if (job->sched == TCB_SCHED_STATIC) {
		size_t begin = job->tasks * thread / job->threads;
		size_t end = job->tasks * (thread + 1) / job->threads;

		for (size_t task = begin; task < end; task++)
			job->fn(job->ctx, task, thread);
		return;
	}
	for (;;) {
		size_t task = atomic_fetch_add_explicit(next_task, 1, memory_order_relaxed);

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

static unsigned wait_for_job(struct tcb_crew *crew, unsigned seen)
{
	if (!spin_while_equal(&crew->generation, seen)) {
		pthread_mutex_lock(&crew->lock);
		atomic_fetch_add(&crew->sleepers, 1);
		while (atomic_load(&crew->generation) == seen)
			pthread_cond_wait(&crew->wake, &crew->lock);
		atomic_fetch_sub(&crew->sleepers, 1);
		pthread_mutex_unlock(&crew->lock);
	}
	return atomic_load_explicit(&crew->generation, memory_order_acquire);
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct tcb_crew *crew = worker->crew;
	unsigned seen = 0;

	for (;;) {
		seen = wait_for_job(crew, seen);
		if (atomic_load_explicit(&crew->stop, memory_order_relaxed))
			return NULL;
		if (worker->index < crew->job.threads)
			run_share(&crew->job, &crew->next_task, worker->index);
		/* Every worker reports, also one that has no share: the job may not change under it. */
		atomic_fetch_sub_explicit(&crew->running, 1, memory_order_release);
	}
}

static void publish(struct tcb_crew *crew)
{
	atomic_fetch_add(&crew->generation, 1);
	/* A worker counts itself as a sleeper before it looks at the generation for the last time, so either it
	 * sees the new number or it is seen here. */
	if (atomic_load(&crew->sleepers)) {
		pthread_mutex_lock(&crew->lock);
		pthread_cond_broadcast(&crew->wake);
		pthread_mutex_unlock(&crew->lock);
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
	static pthread_once_t watching = PTHREAD_ONCE_INIT;
	struct tcb_crew *crew = aligned_alloc(64, sizeof *crew);
	unsigned started = 1;
	int error = 0;

	assert(threads >= 1);
	if (!crew)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a pool of %u threads", threads);
	memset(crew, 0, sizeof *crew);
	pthread_once(&watching, watch_forks);
	crew->born = atomic_load_explicit(&forks, memory_order_relaxed);
	crew->pool = (struct tcb_pool){ .threads = 1, .crew = crew };
	crew->workers = calloc(threads, sizeof *crew->workers);
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->wake, NULL);
	if (!crew->workers) {
		tcb_pool_destroy(&crew->pool);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a pool of %u threads", threads);
	}
	for (; started < threads && !error; started += !error) {
		struct worker *worker = &crew->workers[started];

		*worker = (struct worker){ .crew = crew, .index = started };
		error = pthread_create(&worker->thread, NULL, worker_main, worker);
	}
	crew->pool.threads = started;
	if (error) {
		tcb_pool_destroy(&crew->pool);
		return tcb_fail(err, TCB_E_FAILED, "cannot start thread %u of %u (%s): use fewer --threads", started,
				threads, strerror(error));
	}
	if (cpus) {
		crew->pinned = pthread_getaffinity_np(pthread_self(), sizeof crew->caller_affinity,
						      &crew->caller_affinity) == 0;
		error = pin(pthread_self(), cpus[0]);
		for (unsigned i = 1; i < threads && !error; i++)
			error = pin(crew->workers[i].thread, cpus[i]);
		if (error) {
			tcb_pool_destroy(&crew->pool);
			return tcb_fail(err, TCB_E_FAILED, "cannot pin threads to their processors: %s",
					strerror(error));
		}
	}
	*out = &crew->pool;
	return TCB_OK;
}

void tcb_pool_destroy(struct tcb_pool *pool)
{
	if (!pool)
		return;
	struct tcb_crew *crew = pool->crew;
	if (!is_of_this_process(crew)) {
		/* Its lock may be held by a thread that is not there. */
		free(crew->workers);
		free(crew);
		return;
	}
	if (crew->workers) {
		atomic_store(&crew->stop, 1);
		publish(crew);
		for (unsigned i = 1; i < pool->threads; i++)
			pthread_join(crew->workers[i].thread, NULL);
	}
	if (crew->pinned)
		pthread_setaffinity_np(pthread_self(), sizeof crew->caller_affinity, &crew->caller_affinity);
	pthread_cond_destroy(&crew->wake);
	pthread_mutex_destroy(&crew->lock);
	free(crew->workers);
	free(crew);
}

unsigned tcb_pool_threads(const struct tcb_pool *pool)
{
	return pool->threads;
}

static void relax(unsigned spins)
{
	cpu_relax();
	if (spins >= SPIN_SHARES)
		sched_yield();
}

static void run_crew(struct tcb_crew *crew, const struct job *job)
{
	crew->job = *job;
	atomic_store_explicit(&crew->next_task, 0, memory_order_relaxed);
	atomic_store_explicit(&crew->running, crew->pool.threads - 1, memory_order_relaxed);
	publish(crew);
	run_share(job, &crew->next_task, 0);
	for (unsigned spins = 0; atomic_load_explicit(&crew->running, memory_order_acquire); spins++)
		relax(spins);
}

/* ---- gangs ---- */

struct tcb_pool tcb_pool_seat(struct tcb_gang *gang, unsigned thread, unsigned threads)
{
	assert(thread < threads);
	return (struct tcb_pool){ .threads = threads, .gang = gang, .thread = thread };
}

/* Until all have come.  The last one makes the gang ready for the next run before it lets the others go. */
static void meet(struct tcb_gang *gang, unsigned threads)
{
	const unsigned generation = atomic_load_explicit(&gang->generation, memory_order_relaxed);

	if (atomic_fetch_add_explicit(&gang->arrived, 1, memory_order_acq_rel) + 1 == threads) {
		atomic_store_explicit(&gang->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&gang->next_task, 0, memory_order_relaxed);
		atomic_store_explicit(&gang->generation, generation + 1, memory_order_release);
		return;
	}
	for (unsigned spins = 0; atomic_load_explicit(&gang->generation, memory_order_acquire) == generation; spins++)
		relax(spins);
}

static void run_gang(const struct tcb_pool *seat, struct job *job)
{
	if (job->tasks == 1)
		job->sched = TCB_SCHED_STATIC, job->threads = 1;
	if (seat->thread < job->threads)
		run_share(job, &seat->gang->next_task, seat->thread);
	meet(seat->gang, seat->threads);
}

void tcb_pool_run(struct tcb_pool *pool, unsigned threads, enum tcb_sched sched, size_t tasks, tcb_task_fn *fn,
		  void *ctx)
{
	struct job job = { fn, ctx, tasks, threads < pool->threads ? threads : pool->threads, sched };

	assert(threads >= 1);
	if (pool->threads > 1 && pool->gang) {
		run_gang(pool, &job);
	} else if (job.threads > 1 && tasks > 1 && is_of_this_process(pool->crew)) {
		run_crew(pool->crew, &job);
	} else {
		for (size_t task = 0; task < tasks; task++)
			fn(ctx, task, 0);
	}
}
