/* SPDX-License-Identifier: MIT
 *
 * Samples of a large output against the one that was right: how much is fetched,
 * what is found, and what nothing can be said of.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cmocka_all.h"

#include "base/util.h"
#include "worker/look_again.h"

enum { BYTES = (256 << 20) + 12345, STRETCH = BYTES / 2048, MOST_FETCHED = 2049 * (16 << 10) };

static struct tcb_instance instance; /* but for what was right, nothing of it is looked at */
static struct tcb_buffer now;
static struct tcb_rng rng;
static size_t fetched;
static const struct tcb_plan plan = { .chain = 10, .ulps = 1 };

static enum tcb_status fetch(void *ctx, size_t first, size_t bytes, void *to, struct tcb_error *err)
{
	(void)err;
	assert_true(first + bytes <= now.bytes);
	fetched += bytes;
	memcpy(to, (const char *)ctx + first, bytes);
	return TCB_OK;
}

static enum tcb_status fetch_nothing(void *ctx, size_t first, size_t bytes, void *to, struct tcb_error *err)
{
	(void)ctx;
	(void)first;
	(void)bytes;
	(void)to;
	return tcb_fail(err, TCB_E_FAILED, "the GPU is gone");
}

static int is_same(void)
{
	int same = -1;
	assert_int_equal(tcb_look_again(&instance, &plan, &rng, fetch, now.data, &same, NULL), TCB_OK);
	return same;
}

static void same_bits_are_the_same(void **state)
{
	(void)state;
	fetched = 0;
	assert_int_equal(is_same(), 1);
	/* A part of it, though of every stretch. */
	assert_in_range(fetched, MOST_FETCHED / 2, MOST_FETCHED);
}

static void faults_are_found(void **state)
{
	(void)state;
	const size_t places[] = { 0, STRETCH * 700, BYTES - 2 * STRETCH };
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		char *at = (char *)now.data + places[i]; /* rows that were not written in the second call */
		memset(at, TCB_POISON, 2 * STRETCH);
		assert_int_equal(is_same(), 0);
		memset(at, 0, 2 * STRETCH);
	}
	/* The first and the last output are looked at each time. */
	char *ends[] = { now.data, (char *)now.data + BYTES - 1 };
	for (size_t i = 0; i < 2; i++) {
		*ends[i] = 1;
		assert_int_equal(is_same(), 0);
		*ends[i] = 0;
	}
	/* One byte in some stretch: by one look of eight, which are of other places each. */
	size_t found = 0;
	*((char *)now.data + BYTES / 3) = 1;
	for (int i = 0; i < 160; i++)
		found += !is_same();
	*((char *)now.data + BYTES / 3) = 0;
	assert_in_range(found, 5, 50);
}

static void small_ones_are_fetched_whole_instead(void **state)
{
	(void)state;
	const size_t large = instance.right.output.bytes;
	instance.right.output.bytes = (256 << 20) - 1;
	fetched = 0;
	assert_int_equal(is_same(), 0);
	assert_int_equal(fetched, 0);
	instance.right.output.bytes = large;
}

static void what_was_not_right_by_this_bound_says_nothing(void **state)
{
	(void)state;
	int same = 1;
	fetched = 0;
	instance.right.chain = plan.chain + 1; /* it may have been right by the wider bound only */
	assert_int_equal(is_same(), 0);
	instance.right.chain = plan.chain;
	instance.right.ulps = plan.ulps + 1;
	assert_int_equal(is_same(), 0);
	instance.right.ulps = plan.ulps;
	void *map = instance.right.output.map;
	instance.right.output.map = NULL; /* nothing was found right yet */
	assert_int_equal(is_same(), 0);
	instance.right.output.map = map;
	assert_int_equal(fetched, 0);
	assert_int_equal(tcb_look_again(&instance, &plan, &rng, fetch_nothing, NULL, &same, NULL), TCB_E_FAILED);
}

static int set_up(void **state)
{
	(void)state;
	tcb_rng_init(&rng, 1);
	instance.right.chain = plan.chain;
	instance.right.ulps = plan.ulps;
	return tcb_buffer_alloc(TCB_BUFFER_PLAIN, BYTES, &instance.right.output, NULL) == TCB_OK &&
			       tcb_buffer_alloc(TCB_BUFFER_PLAIN, BYTES, &now, NULL) == TCB_OK
		       ? 0
		       : -1;
}

static int tear_down(void **state)
{
	(void)state;
	tcb_buffer_free(&instance.right.output);
	tcb_buffer_free(&now);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_bits_are_the_same),
		cmocka_unit_test(faults_are_found),
		cmocka_unit_test(small_ones_are_fetched_whole_instead),
		cmocka_unit_test(what_was_not_right_by_this_bound_says_nothing),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
