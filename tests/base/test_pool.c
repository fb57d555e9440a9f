/* SPDX-License-Identifier: MIT
 *
 * Every task runs exactly once, on the thread the schedule says, and its
 * writes are seen by the caller; also after the workers fell asleep.
 */
#include "cmocka_all.h"

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
		if (sched == TCB_SCHED_STATIC) {
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_task_runs_once),
		cmocka_unit_test(sleeping_workers_wake_up),
		cmocka_unit_test(pinning_is_undone),
		cmocka_unit_test(absent_processors_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
