/* SPDX-License-Identifier: MIT
 *
 * The thread pool, and gangs.  A run of a pool opens a gate with a new generation
 * number, which the workers watch.  Who comes while it is open joins, claims parts
 * of the work until none is left, and leaves; the caller claims too, then closes
 * the gate and waits for those that joined.  So a worker that others keep from its
 * processor holds nothing up unless it is in the middle of a task.  Waiting spins
 * first (a kernel call takes tens of microseconds, so do the gaps between calls),
 * then offers the processor to others, then sleeps on a futex.  No lock is taken,
 * and no system call is made by who need not wait and finds nobody asleep.  A run
 * of a gang is this thread's share and a barrier.
 */
#include "base/pool.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/gang.h"
#include "base/util.h"

#if defined(__x86_64__) || defined(__i386__)
#define cpu_relax() __builtin_ia32_pause()
#else
#define cpu_relax() atomic_signal_fence(memory_order_seq_cst)
#endif

enum {
	/* Pauses before a thread that waits offers its processor to others, 20 to 50 us: threads that have processors
	 * of their own come back from any share by then. */
	SPINS = 1024,
	SPIN_BATCH = 64,        /* pauses between looks at the clock */
	IDLE_NS = 200000,       /* before a worker sleeps: longer than the gap between the calls of one measurement */
	STRAGGLER_NS = 1000000, /* before the caller does, whom waking would cost as much as a short share */
	CHUNKS = 16,            /* that a thread's share is claimed in */
};

/*
 * The gate: the generation, and below it who joined and who left.  Written whole only when nobody is inside and nobody
 * can join.
 */
#define GATE_JOINED ((uint64_t)1 << 16)
#define GATE_CLOSED ((uint64_t)1 << 31)
#define GATE_ASLEEP ((uint64_t)1 << 15) /* the caller is, and whoever leaves wakes it */
enum { GATE_COUNT = 0x7fff, SHARE_BITS = 16 };

static uint32_t gate_generation(uint64_t gate)
{
	return (uint32_t)(gate >> 32);
}

static unsigned gate_joined(uint64_t gate)
{
	return (unsigned)(gate >> 16) & GATE_COUNT;
}

static unsigned gate_left(uint64_t gate)
{
	return (unsigned)gate & GATE_COUNT;
}

struct job {
	tcb_task_fn *fn;
	void *ctx;
	size_t tasks;
	unsigned threads;
	enum tcb_sched sched;
	int everyone;    /* one task each, whoever comes late */
	int is_last;     /* of a call: a gang does not meet */
	uint64_t number; /* of the pool's jobs */
};

struct worker {
	struct tcb_crew *crew;
	pthread_t thread;
	unsigned index;
};

/* What is claimed of a thread's share of a static job: the job's number, and in the SHARE_BITS below it how many
 * chunks. */
struct share {
	_Alignas(64) _Atomic uint64_t claimed;
};

struct tcb_crew {
	struct tcb_pool pool;   /* what the user has */
	struct worker *workers; /* pool.threads - 1 of them, indices 1.. */
	struct share *shares;   /* pool.threads of them */
	cpu_set_t caller_affinity;
	int pinned;
	unsigned born;        /* forks before it was made */
	atomic_uint sleepers; /* workers that wait on `alarm` */
	atomic_uint alarm, homecoming;
	atomic_int stop;
	/* Written by different threads: each on a cache line of its own, but what a worker reads with the gate. */
	_Alignas(64) _Atomic uint64_t gate;
	struct job job;
	_Alignas(64) atomic_size_t next_task; /* of a dynamic job */
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

/* ---- waiting ---- */

static void sleep_while(atomic_uint *word, unsigned value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake_all(atomic_uint *word)
{
	atomic_fetch_add(word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Once around a loop that waits, for the SPINS-th time, counted from 0. */
static void relax(unsigned spins)
{
	cpu_relax();
	if (spins >= SPINS)
		sched_yield();
}

/* Waits until the gate is another than GATE, for about NS; returns the gate. */
static uint64_t watch_gate(struct tcb_crew *crew, uint64_t gate, uint64_t ns)
{
	uint64_t deadline = 0, now = gate;

	for (unsigned spins = 0; now == gate; spins++) {
		if ((now = atomic_load_explicit(&crew->gate, memory_order_acquire)) != gate)
			break;
		if (spins % SPIN_BATCH == SPIN_BATCH - 1 || spins >= SPINS) {
			if (!deadline)
				deadline = tcb_clock_ns() + ns;
			else if (tcb_clock_ns() > deadline)
				break;
		}
		relax(spins);
	}
	return now;
}

/* The gate of a job after the one of generation SEEN. */
static uint64_t wait_for_job(struct tcb_crew *crew, uint32_t seen)
{
	uint64_t gate = atomic_load_explicit(&crew->gate, memory_order_acquire);

	while (gate_generation(gate) == seen) {
		const uint64_t before = gate; /* it changes, too, as others leave the job */

		if ((gate = watch_gate(crew, before, IDLE_NS)) != before)
			continue;
		const unsigned alarm = atomic_load(&crew->alarm);

		/* Counted as a sleeper before the last look: either it sees the new job or it is seen. */
		atomic_fetch_add(&crew->sleepers, 1);
		if (gate_generation(atomic_load(&crew->gate)) == seen)
			sleep_while(&crew->alarm, alarm);
		atomic_fetch_sub(&crew->sleepers, 1);
		gate = atomic_load_explicit(&crew->gate, memory_order_acquire);
	}
	return gate;
}

/* ---- sharing ---- */

static size_t share_begin(const struct job *job, unsigned thread)
{
	return job->tasks * thread / job->threads;
}

/* The next chunk of the share of thread OF, to be run by THREAD; 0: all are claimed. */
static int run_chunk(struct tcb_crew *crew, const struct job *job, unsigned of, unsigned thread)
{
	const size_t begin = share_begin(job, of), tasks = share_begin(job, of + 1) - begin;
	const size_t chunks = tasks < CHUNKS ? tasks : CHUNKS;
	const uint64_t none = job->number << SHARE_BITS;
	_Atomic uint64_t *claimed = &crew->shares[of].claimed;
	uint64_t seen = atomic_load_explicit(claimed, memory_order_relaxed);

	/* Nobody claims of another job while this one runs. */
	while (seen < none &&
	       !atomic_compare_exchange_weak_explicit(claimed, &seen, none, memory_order_relaxed, memory_order_relaxed))
		;
	if (seen >= none + chunks)
		return 0;
	const size_t chunk = atomic_fetch_add_explicit(claimed, 1, memory_order_relaxed) - none;
	if (chunk >= chunks)
		return 0;
	for (size_t task = tasks * chunk / chunks; task < tasks * (chunk + 1) / chunks; task++)
		job->fn(job->ctx, begin + task, thread);
	return 1;
}

static void run_static(struct tcb_crew *crew, const struct job *job, unsigned thread)
{
	while (run_chunk(crew, job, thread, thread))
		;
	/* Where all have come and each has one task, all have begun. */
	if (job->tasks <= job->threads &&
	    gate_joined(atomic_load_explicit(&crew->gate, memory_order_acquire)) + 1 == crew->pool.threads)
		return;
	for (unsigned i = 1; i < job->threads; i++)
		while (run_chunk(crew, job, (thread + i) % job->threads, thread))
			;
}

static void run_dynamic(const struct job *job, atomic_size_t *next_task, unsigned thread)
{
	for (;;) {
		size_t task = atomic_fetch_add_explicit(next_task, 1, memory_order_relaxed);

		if (task >= job->tasks)
			return;
		job->fn(job->ctx, task, thread);
	}
}

/* What THREAD, which is inside, does of the job. */
static void take_part(struct tcb_crew *crew, unsigned thread)
{
	const struct job *job = &crew->job;

	if (thread >= job->threads)
		return;
	if (job->everyone)
		job->fn(job->ctx, thread, thread);
	else if (job->sched == TCB_SCHED_STATIC)
		run_static(crew, job, thread);
	else
		run_dynamic(job, &crew->next_task, thread);
}

/* ---- the crew ---- */

static int join(struct tcb_crew *crew, uint64_t *gate)
{
	while (!(*gate & GATE_CLOSED))
		if (atomic_compare_exchange_weak_explicit(&crew->gate, gate, *gate + GATE_JOINED, memory_order_acquire,
							  memory_order_acquire))
			return 1;
	return 0;
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct tcb_crew *crew = worker->crew;
	uint32_t seen = 0;

	for (;;) {
		uint64_t gate = wait_for_job(crew, seen);

		if (atomic_load_explicit(&crew->stop, memory_order_relaxed))
			return NULL;
		const int joined = join(crew, &gate);

		seen = gate_generation(gate);
		if (!joined)
			continue;
		take_part(crew, worker->index);
		if (atomic_fetch_add_explicit(&crew->gate, 1, memory_order_release) & GATE_ASLEEP)
			wake_all(&crew->homecoming);
	}
}

/* A new generation, with the bits of STATE. */
static void publish(struct tcb_crew *crew, uint64_t state)
{
	const uint64_t gate = atomic_load_explicit(&crew->gate, memory_order_relaxed);

	atomic_exchange(&crew->gate, (uint64_t)(gate_generation(gate) + 1) << 32 | state);
	if (atomic_load(&crew->sleepers))
		wake_all(&crew->alarm);
}

/* Who joined has left; of a job for everyone, all have come, too. */
static int is_done(const struct tcb_crew *crew, uint64_t gate)
{
	return gate_left(gate) == (crew->job.everyone ? crew->pool.threads - 1 : gate_joined(gate));
}

static void wait_for_workers(struct tcb_crew *crew)
{
	uint64_t gate = atomic_load_explicit(&crew->gate, memory_order_acquire);

	if (!crew->job.everyone && gate_joined(gate) != crew->pool.threads - 1)
		gate = atomic_fetch_or_explicit(&crew->gate, GATE_CLOSED, memory_order_acquire) | GATE_CLOSED;
	while (!is_done(crew, gate)) {
		const unsigned homecoming = atomic_load(&crew->homecoming);
		const uint64_t before = gate;

		if ((gate = watch_gate(crew, before, STRAGGLER_NS)) != before)
			continue;
		/* Who leaves from now on sees it. */
		if (!is_done(crew, atomic_fetch_or(&crew->gate, GATE_ASLEEP)))
			sleep_while(&crew->homecoming, homecoming);
		gate = atomic_fetch_and_explicit(&crew->gate, ~GATE_ASLEEP, memory_order_acquire) & ~GATE_ASLEEP;
	}
}

static void run_crew(struct tcb_crew *crew, const struct job *job)
{
	const uint64_t number = crew->job.number + 1;

	crew->job = *job;
	crew->job.number = number;
	atomic_store_explicit(&crew->next_task, 0, memory_order_relaxed);
	publish(crew, 0);
	take_part(crew, 0);
	wait_for_workers(crew);
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

int tcb_pool_pin(struct tcb_pool *pool, unsigned thread, int cpu)
{
	assert(thread >= 1 && thread < pool->threads);
	return is_of_this_process(pool->crew) ? pin(pool->crew->workers[thread].thread, cpu) : 0;
}

static struct tcb_crew *crew_create(unsigned threads)
{
	struct tcb_crew *crew = aligned_alloc(64, sizeof *crew);

	if (!crew)
		return NULL;
	memset(crew, 0, sizeof *crew);
	crew->born = atomic_load_explicit(&forks, memory_order_relaxed);
	crew->pool = (struct tcb_pool){ .threads = 1, .crew = crew };
	atomic_init(&crew->gate, GATE_CLOSED);
	crew->workers = calloc(threads, sizeof *crew->workers);
	crew->shares = aligned_alloc(64, threads * sizeof *crew->shares);
	if (!crew->workers || !crew->shares) {
		tcb_pool_destroy(&crew->pool);
		return NULL;
	}
	memset(crew->shares, 0, threads * sizeof *crew->shares);
	return crew;
}

/* Of all threads and the caller. */
static int pin_all(struct tcb_crew *crew, const int *cpus)
{
	int error;

	crew->pinned =
		pthread_getaffinity_np(pthread_self(), sizeof crew->caller_affinity, &crew->caller_affinity) == 0;
	error = pin(pthread_self(), cpus[0]);
	for (unsigned i = 1; i < crew->pool.threads && !error; i++)
		error = pin(crew->workers[i].thread, cpus[i]);
	return error;
}

enum tcb_status tcb_pool_create(unsigned threads, const int *cpus, struct tcb_pool **out, struct tcb_error *err)
{
	static pthread_once_t watching = PTHREAD_ONCE_INIT;
	struct tcb_crew *crew;
	unsigned started = 1;
	int error = 0;

	assert(threads >= 1 && threads <= GATE_COUNT);
	pthread_once(&watching, watch_forks);
	if (!(crew = crew_create(threads)))
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a pool of %u threads", threads);
	crew->pool.threads = threads; /* workers read it */
	for (; started < threads && !error; started += !error) {
		struct worker *worker = &crew->workers[started];

		*worker = (struct worker){ .crew = crew, .index = started };
		error = pthread_create(&worker->thread, NULL, worker_main, worker);
	}
	if (error) {
		crew->pool.threads = started;
		tcb_pool_destroy(&crew->pool);
		return tcb_fail(err, TCB_E_FAILED, "cannot start thread %u of %u (%s): use fewer --threads", started,
				threads, strerror(error));
	}
	if (cpus && (error = pin_all(crew, cpus))) {
		tcb_pool_destroy(&crew->pool);
		return tcb_fail(err, TCB_E_FAILED, "cannot pin threads to their processors: %s", strerror(error));
	}
	*out = &crew->pool;
	return TCB_OK;
}

void tcb_pool_destroy(struct tcb_pool *pool)
{
	if (!pool)
		return;
	struct tcb_crew *crew = pool->crew;
	if (is_of_this_process(crew)) {
		atomic_store(&crew->stop, 1);
		publish(crew, GATE_CLOSED);
		for (unsigned i = 1; i < pool->threads; i++)
			pthread_join(crew->workers[i].thread, NULL);
		if (crew->pinned)
			pthread_setaffinity_np(pthread_self(), sizeof crew->caller_affinity, &crew->caller_affinity);
	}
	free(crew->shares);
	free(crew->workers);
	free(crew);
}

unsigned tcb_pool_threads(const struct tcb_pool *pool)
{
	return pool->threads;
}

unsigned tcb_pool_present(const struct tcb_pool *pool)
{
	return !pool->crew || is_of_this_process(pool->crew) ? pool->threads : 1;
}

/* ---- gangs ---- */

struct tcb_pool tcb_pool_seat(struct tcb_gang *gang, unsigned thread, unsigned threads)
{
	assert(thread < threads);
	return (struct tcb_pool){ .threads = threads, .gang = gang, .thread = thread };
}

/* Until all have come.  The last one makes the gang, and COUNT other GANGS, ready for the next run before it lets the
 * others go. */
static void meet(struct tcb_gang *gang, unsigned threads, struct tcb_gang *const gangs[], size_t count)
{
	const unsigned generation = atomic_load_explicit(&gang->generation, memory_order_relaxed);

	if (atomic_fetch_add_explicit(&gang->arrived, 1, memory_order_acq_rel) + 1 == threads) {
		atomic_store_explicit(&gang->arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&gang->next_task, 0, memory_order_relaxed);
		for (size_t i = 0; i < count; i++)
			atomic_store_explicit(&gangs[i]->next_task, 0, memory_order_relaxed);
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
	if (seat->thread < job->threads && job->sched == TCB_SCHED_STATIC) {
		const size_t end = share_begin(job, seat->thread + 1);

		for (size_t task = share_begin(job, seat->thread); task < end; task++)
			job->fn(job->ctx, task, seat->thread);
	} else if (seat->thread < job->threads) {
		run_dynamic(job, &seat->gang->next_task, seat->thread);
	}
	if (!job->is_last)
		meet(seat->gang, seat->threads, NULL, 0);
}

void tcb_pool_meet(const struct tcb_pool *seat, struct tcb_gang *const gangs[], size_t count)
{
	if (seat->threads > 1)
		meet(seat->gang, seat->threads, gangs, count);
}

/* ---- either ---- */

static void run(struct tcb_pool *pool, struct job *job)
{
	if (pool->threads > 1 && pool->gang) {
		run_gang(pool, job);
	} else if (job->threads > 1 && job->tasks > 1 && is_of_this_process(pool->crew)) {
		run_crew(pool->crew, job);
	} else {
		for (size_t task = 0; task < job->tasks; task++)
			job->fn(job->ctx, task, 0);
	}
}

static struct job shared_job(const struct tcb_pool *pool, unsigned threads, enum tcb_sched sched, size_t tasks,
			     tcb_task_fn *fn, void *ctx)
{
	assert(threads >= 1);
	return (struct job){ .fn = fn,
			     .ctx = ctx,
			     .tasks = tasks,
			     .threads = threads < pool->threads ? threads : pool->threads,
			     .sched = sched };
}

void tcb_pool_run(struct tcb_pool *pool, unsigned threads, enum tcb_sched sched, size_t tasks, tcb_task_fn *fn,
		  void *ctx)
{
	struct job job = shared_job(pool, threads, sched, tasks, fn, ctx);

	run(pool, &job);
}

void tcb_pool_run_last(struct tcb_pool *pool, unsigned threads, enum tcb_sched sched, size_t tasks, tcb_task_fn *fn,
		       void *ctx)
{
	struct job job = shared_job(pool, threads, sched, tasks, fn, ctx);

	job.is_last = 1;
	run(pool, &job);
}

void tcb_pool_each(struct tcb_pool *pool, unsigned threads, tcb_task_fn *fn, void *ctx)
{
	struct job job = {
		.fn = fn, .ctx = ctx, .tasks = threads, .threads = threads, .sched = TCB_SCHED_STATIC, .everyone = 1
	};

	assert(threads >= 1 && threads <= pool->threads);
	run(pool, &job);
}
