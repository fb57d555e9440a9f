/* SPDX-License-Identifier: MIT
 *
 * Every task runs exactly once and its writes are seen by the caller; also after
 * the workers fell asleep, and where one is kept from its processor, which a
 * signal handler that does not return stands for.
 */
#include "cmocka_all.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"

enum { TASKS_MAX = 1000 };

struct record {
	unsigned runs[TASKS_MAX], thread[TASKS_MAX]; /* plain: TSan proves that the pool orders them */
};

static void note(void *ctx, size_t task, unsigned thread)
{
	struct record *record = ctx;

	record->runs[task]++;
	record->thread[task] = thread;
}

static void check_run(struct tcb_pool *pool, unsigned threads, enum tcb_sched sched, size_t tasks)
{
	struct record record;

	memset(&record, 0, sizeof record);
	tcb_pool_run(pool, threads, sched, tasks, note, &record);
	for (size_t task = 0; task < tasks; task++) {
		assert_int_equal(record.runs[task], 1);
		assert_true(record.thread[task] < threads);
		if (tasks == 1)
			assert_int_equal(record.thread[task], 0);
	}
}

static void every_task_runs_once(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 7, 64, 1000 };

	(void)state;
	for (unsigned threads = 1; threads <= 5; threads++) {
		struct tcb_pool *pool;

		assert_int_equal(tcb_pool_create(threads, NULL, &pool, NULL), TCB_OK);
		assert_int_equal(tcb_pool_threads(pool), threads);
		for (int round = 0; round < 50; round++)
			for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
				for (unsigned use = 1; use <= threads; use++) {
					check_run(pool, use, TCB_SCHED_STATIC, counts[c]);
					check_run(pool, use, TCB_SCHED_DYNAMIC, counts[c]);
				}
		tcb_pool_destroy(pool);
	}
	tcb_pool_destroy(NULL);
}

static void sleeping_workers_wake_up(void **state)
{
	struct tcb_pool *pool;

	(void)state;
	assert_int_equal(tcb_pool_create(3, NULL, &pool, NULL), TCB_OK);
	for (int round = 0; round < 20; round++) {
		usleep(2000); /* longer than the workers spin */
		check_run(pool, 3, TCB_SCHED_STATIC, 9);
	}
	usleep(2000);
	tcb_pool_destroy(pool);
}

/* ---- workers that come late ---- */

static pthread_t ids[3];
static atomic_uint held;
static atomic_int is_free;

static void take_id(void *ctx, size_t task, unsigned thread)
{
	(void)ctx;
	ids[task] = pthread_self();
	(void)thread;
}

/* What a thread that gets no processor time looks like from outside. */
static void hold(int number)
{
	(void)number;
	atomic_fetch_add(&held, 1);
	while (!atomic_load(&is_free))
		;
}

static void hold_worker(unsigned thread)
{
	struct sigaction action = { .sa_handler = hold };
	const unsigned before = atomic_load(&held);

	atomic_store(&is_free, 0);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(pthread_kill(ids[thread], SIGUSR1), 0);
	while (atomic_load(&held) == before)
		sched_yield();
}

/* One task for each thread, and many. */
static void late_workers_hold_nothing_up(void **state)
{
	static const size_t counts[] = { 3, 100 };
	struct tcb_pool *pool;

	(void)state;
	alarm(60); /* a pool that waits for them hangs */
	assert_int_equal(tcb_pool_create(3, NULL, &pool, NULL), TCB_OK);
	tcb_pool_each(pool, 3, take_id, NULL);
	for (unsigned late = 1; late < 3; late++) {
		hold_worker(late);
		for (size_t c = 0; c < 2; c++)
			for (enum tcb_sched sched = TCB_SCHED_STATIC; sched <= TCB_SCHED_DYNAMIC; sched++) {
				struct record record;

				memset(&record, 0, sizeof record);
				tcb_pool_run(pool, 3, sched, counts[c], note, &record);
				for (size_t task = 0; task < counts[c]; task++) {
					assert_int_equal(record.runs[task], 1);
					assert_int_not_equal(record.thread[task], late);
				}
			}
		atomic_store(&is_free, 1);
		check_run(pool, 3, TCB_SCHED_STATIC, 9);
	}
	tcb_pool_destroy(pool);
	alarm(0);
}

struct long_task {
	atomic_uint begun;
	unsigned done; /* plain */
};

/* The worker's is in its middle when the caller has done its own. */
static void be_long(void *ctx, size_t task, unsigned thread)
{
	struct long_task *job = ctx;

	(void)task;
	if (thread == 0) {
		while (atomic_load(&job->begun) == 0)
			sched_yield();
		return;
	}
	atomic_store(&job->begun, 1);
	usleep(20000); /* so long that the caller goes to sleep */
	job->done++;
}

static void callers_sleep_and_are_woken(void **state)
{
	struct long_task job = { 0 };
	struct tcb_pool *pool;

	(void)state;
	alarm(60);
	assert_int_equal(tcb_pool_create(2, NULL, &pool, NULL), TCB_OK);
	for (unsigned round = 0; round < 5; round++) {
		atomic_store(&job.begun, 0);
		tcb_pool_each(pool, 2, be_long, &job);
		assert_int_equal(job.done, round + 1);
	}
	tcb_pool_destroy(pool);
	alarm(0);
}

static void each_thread_has_its_task(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		struct tcb_pool *pool;

		assert_int_equal(tcb_pool_create(threads, NULL, &pool, NULL), TCB_OK);
		for (int round = 0; round < 50; round++)
			for (unsigned use = 1; use <= threads; use++) {
				struct record record;

				memset(&record, 0, sizeof record);
				tcb_pool_each(pool, use, note, &record);
				for (unsigned t = 0; t < use; t++) {
					assert_int_equal(record.runs[t], 1);
					assert_int_equal(record.thread[t], t);
				}
			}
		usleep(2000);
		tcb_pool_destroy(pool);
	}
}

/* ---- pinning ---- */

static void pinning_is_undone(void **state)
{
	struct tcb_pool *pool;
	cpu_set_t before, inside, after;
	int cpus[1] = { 0 };

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
	while (!CPU_ISSET(cpus[0], &before))
		cpus[0]++;
	assert_int_equal(tcb_pool_create(1, cpus, &pool, NULL), TCB_OK);
	assert_int_equal(sched_getaffinity(0, sizeof inside, &inside), 0);
	assert_int_equal(CPU_COUNT(&inside), 1);
	assert_true(CPU_ISSET(cpus[0], &inside));
	tcb_pool_destroy(pool);
	assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
}

static void absent_processors_are_an_error(void **state)
{
	struct tcb_pool *pool;
	struct tcb_error err;
	const int cpus[2] = { 0, 100000 };

	(void)state;
	assert_int_equal(tcb_pool_create(2, cpus, &pool, &err), TCB_E_FAILED);
	assert_non_null(strstr(err.message, "pin"));
}

/* ---- gangs: every thread makes the same runs ---- */

enum { ROUNDS = 200, GANG_TASKS = 37 };

struct member {
	struct tcb_gang *gang;
	unsigned thread, threads, job_threads;
	unsigned (*runs)[GANG_TASKS]; /* plain: TSan proves that a run's writes are seen after it */
	unsigned wrong;
};

struct round {
	unsigned *runs, add;
};

static void count_task(void *ctx, size_t task, unsigned thread)
{
	const struct round *round = ctx;

	(void)thread;
	round->runs[task] += round->add;
}

static void *take_part(void *arg)
{
	struct member *m = arg;
	struct tcb_pool seat = tcb_pool_seat(m->gang, m->thread, m->threads);

	for (unsigned r = 0; r < ROUNDS; r++) {
		const enum tcb_sched sched = r % 2 ? TCB_SCHED_DYNAMIC : TCB_SCHED_STATIC;
		struct round first = { m->runs[r], 1 }, second = { m->runs[r], 10 }, once = { m->runs[r], 100 };

		tcb_pool_run(&seat, m->job_threads, sched, GANG_TASKS, count_task, &first);
		tcb_pool_run(&seat, m->job_threads, TCB_SCHED_DYNAMIC, GANG_TASKS, count_task, &second);
		tcb_pool_run(&seat, m->job_threads, sched, 1, count_task, &once);
		for (size_t task = 0; task < GANG_TASKS; task++)
			m->wrong += m->runs[r][task] != (task ? 11u : 111u);
	}
	return NULL;
}

static void gangs_share_every_run(void **state)
{
	static unsigned runs[ROUNDS][GANG_TASKS];

	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++)
		for (unsigned job_threads = 1; job_threads <= 6; job_threads += 2) {
			static struct tcb_gang gang; /* left ready by whoever used it before */
			struct member members[4];
			pthread_t started[4];

			memset(runs, 0, sizeof runs);
			for (unsigned t = 0; t < threads; t++) {
				members[t] = (struct member){ &gang, t, threads, job_threads, runs, 0 };
				assert_int_equal(pthread_create(&started[t], NULL, take_part, &members[t]), 0);
			}
			for (unsigned t = 0; t < threads; t++) {
				assert_int_equal(pthread_join(started[t], NULL), 0);
				assert_int_equal(members[t].wrong, 0);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_task_runs_once),           cmocka_unit_test(sleeping_workers_wake_up),
		cmocka_unit_test(late_workers_hold_nothing_up),   cmocka_unit_test(callers_sleep_and_are_woken),
		cmocka_unit_test(each_thread_has_its_task),       cmocka_unit_test(pinning_is_undone),
		cmocka_unit_test(absent_processors_are_an_error), cmocka_unit_test(gangs_share_every_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
