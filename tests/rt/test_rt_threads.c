/* SPDX-License-Identifier: MIT
 *
 * Sixteen threads look up in one handle, whose entries nobody used yet, and get
 * what one thread gets, through hits and every kind of fall-back.  Meant for ThreadSanitizer above all.
 */
#include <pthread.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "rt_fixture.h"

enum { THREADS = 16, SHAPES = 64, LOOKUPS = 4000 };

static struct fixture fixture;
static struct tcbrt *rt;
static struct tcbrt_query queries[SHAPES];
static struct tcbrt_tuning expected[SHAPES];

static int setup(void **state)
{
	(void)state;
	fixture_init(&fixture);
	for (size_t i = 0; i < SHAPES; i++) {
		struct winner winner = { .n = 1024 * (i + 1), .k = 256, .midi_n = 4 << i % 3 };

		if (i % 8 == 0)
			winner.signature = "old";
		if (i % 8 == 1)
			winner.other_key = "ffffffffffffffff";
		if (i % 8 < 6)
			fixture_put(&fixture, &winner);
		queries[i] =
			(struct tcbrt_query){ .op = "fake_matvec", .threads = i & 1, .m = 1, .n = winner.n, .k = 256 };
		if (i % 16 == 15)
			queries[i].k = 255;
	}
	rt = fixture_open(&fixture);
	for (size_t i = 0; i < SHAPES; i++)
		tcbrt_lookup(rt, &queries[i], &expected[i]);
	tcbrt_close(rt);
	rt = fixture_open(&fixture);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tcbrt_close(rt);
	fixture_fini(&fixture);
	return 0;
}

static void *look_up(void *seed)
{
	struct tcb_rng rng;
	size_t wrong = 0;

	tcb_rng_init(&rng, *(const uint64_t *)seed);
	for (size_t i = 0; i < LOOKUPS; i++) {
		size_t at = tcb_rng_below(&rng, SHAPES);
		struct tcbrt_tuning tuning;

		tcbrt_lookup(rt, &queries[at], &tuning);
		wrong += tuning.source != expected[at].source || strcmp(tuning.reason, expected[at].reason) != 0 ||
			 (tuning.source != TCBRT_SOURCE_NONE &&
			  (strcmp(tuning.geometry, expected[at].geometry) != 0 ||
			   tcbrt_knob(&tuning, "prefetch") != tcbrt_knob(&expected[at], "prefetch")));
	}
	return wrong ? seed : NULL;
}

static void test_sixteen_threads(void **state)
{
	pthread_t threads[THREADS];
	uint64_t seeds[THREADS];
	unsigned seen[5] = { 0 };

	(void)state;
	for (size_t i = 0; i < SHAPES; i++)
		seen[expected[i].source]++;
	/* The mix holds hits, failures, and two kinds of fall-back at least. */
	assert_true(seen[TCBRT_SOURCE_EXACT] > 8 && seen[TCBRT_SOURCE_NEAREST] > 4 && seen[TCBRT_SOURCE_NONE] > 2);
	for (size_t i = 0; i < THREADS; i++) {
		seeds[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, look_up, &seeds[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_sixteen_threads) };

	return cmocka_run_group_tests_name("rt.rt_threads", tests, setup, teardown);
}
