/* SPDX-License-Identifier: MIT
 *
 * The OpenMP runtime of a host, as far as the plug-in uses it: every thread of a
 * region is started for it, and ends with it.
 */
#include "cmocka_all.h"

#include <pthread.h>

#include "fake_bench.h"

enum { REGION_THREADS_MAX = 3 };

__attribute__((visibility("default"))) void GOMP_parallel(void (*fn)(void *), void *data, unsigned threads,
							  unsigned flags);
__attribute__((visibility("default"))) int omp_get_thread_num(void);
__attribute__((visibility("default"))) int omp_get_num_threads(void);

struct seat {
	void (*fn)(void *);
	void *data;
	int thread, threads;
};

static _Thread_local const struct seat *own_seat;
unsigned fake_omp_regions;

static void *run_seat(void *arg)
{
	own_seat = arg;
	own_seat->fn(own_seat->data);
	return NULL;
}

void GOMP_parallel(void (*fn)(void *), void *data, unsigned threads, unsigned flags)
{
	struct seat seats[REGION_THREADS_MAX];
	pthread_t started[REGION_THREADS_MAX];

	assert_in_range(threads, 2, REGION_THREADS_MAX);
	assert_int_equal(flags, 0);
	fake_omp_regions++;
	for (unsigned t = 0; t < threads; t++)
		seats[t] = (struct seat){ fn, data, (int)t, (int)threads };
	for (unsigned t = 1; t < threads; t++)
		assert_int_equal(pthread_create(&started[t], NULL, run_seat, &seats[t]), 0);
	run_seat(&seats[0]);
	for (unsigned t = 1; t < threads; t++)
		pthread_join(started[t], NULL);
}

int omp_get_thread_num(void)
{
	return own_seat->thread;
}

int omp_get_num_threads(void)
{
	return own_seat->threads;
}
