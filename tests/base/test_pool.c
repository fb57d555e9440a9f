/* SPDX-License-Identifier: MIT
 *
 * Every task runs exactly once, on the thread the schedule says, and its
 * writes are seen by the caller; also after the workers fell asleep.
 */
#include "cmocka_all.h"

#include <pthread.h>
#include <sched.h>
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
		if (tasks == 1) {
			assert_int_equal(record.thread[task], 0);
		} else if (sched == TCB_SCHED_STATIC) {
			unsigned thread = record.thread[task];

			assert_true(tasks * thread / threads <= task && task < tasks * (thread + 1) / threads);
		}
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
		cmocka_unit_test(every_task_runs_once),  cmocka_unit_test(sleeping_workers_wake_up),
		cmocka_unit_test(pinning_is_undone),     cmocka_unit_test(absent_processors_are_an_error),
		cmocka_unit_test(gangs_share_every_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
