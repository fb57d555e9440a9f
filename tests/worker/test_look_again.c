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

static enum tcb_status fetch(void *ctx, size_t output, size_t first, size_t bytes, void *to, struct tcb_error *err)
{
	(void)err;
	assert_int_equal(output, 0);
	assert_true(first + bytes <= now.bytes);
	fetched += bytes;
	memcpy(to, (const char *)ctx + first, bytes);
	return TCB_OK;
}

static enum tcb_status fetch_nothing(void *ctx, size_t output, size_t first, size_t bytes, void *to,
				     struct tcb_error *err)
{
	(void)ctx;
	(void)output;
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
	const size_t large = instance.output[0].right.output.bytes;
	instance.output[0].right.output.bytes = (256 << 20) - 1;
	fetched = 0;
	assert_int_equal(is_same(), 0);
	assert_int_equal(fetched, 0);
	instance.output[0].right.output.bytes = large;
}

static void what_was_not_right_by_this_bound_says_nothing(void **state)
{
	(void)state;
	int same = 1;
	fetched = 0;
	instance.output[0].right.chain = plan.chain + 1; /* it may have been right by the wider bound only */
	assert_int_equal(is_same(), 0);
	instance.output[0].right.chain = plan.chain;
	instance.output[0].right.ulps = plan.ulps + 1;
	assert_int_equal(is_same(), 0);
	instance.output[0].right.ulps = plan.ulps;
	void *map = instance.output[0].right.output.map;
	instance.output[0].right.output.map = NULL; /* nothing was found right yet */
	assert_int_equal(is_same(), 0);
	instance.output[0].right.output.map = map;
	assert_int_equal(fetched, 0);
	assert_int_equal(tcb_look_again(&instance, &plan, &rng, fetch_nothing, NULL, &same, NULL), TCB_E_FAILED);
}

/* --- several outputs --- */

static struct tcb_buffer *outputs_now[3];

static enum tcb_status fetch_any(void *ctx, size_t output, size_t first, size_t bytes, void *to, struct tcb_error *err)
{
	const struct tcb_buffer *from = outputs_now[output / 2];
	(void)ctx, (void)err;
	assert_int_equal(output % 2, 0);
	assert_true(first + bytes <= from->bytes);
	fetched += bytes;
	memcpy(to, (const char *)from->data + first, bytes);
	return TCB_OK;
}

/* A large one and two that are less than a piece and less than all looks: these are looked at whole. */
static void each_output_is_looked_at(void **state)
{
	static const size_t bytes[] = { 0, 100, 100000 };
	struct tcb_buffer more[3] = { { .map = NULL } };
	int same;
	(void)state;
	outputs_now[0] = &now;
	instance.output_count = 3;
	for (size_t o = 1; o < 3; o++) {
		struct tcb_right *right = &instance.output[o].right;
		assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_PLAIN, bytes[o], &right->output, NULL), TCB_OK);
		assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_PLAIN, bytes[o], &more[o], NULL), TCB_OK);
		right->chain = plan.chain;
		right->ulps = plan.ulps;
		instance.output[o].operand = 2 * o;
		outputs_now[o] = &more[o];
	}
	assert_int_equal(tcb_look_again(&instance, &plan, &rng, fetch_any, NULL, &same, NULL), TCB_OK);
	assert_int_equal(same, 1);
	for (size_t o = 1; o < 3; o++)
		for (size_t at = 0; at < bytes[o]; at += bytes[o] / 10 - 1) {
			((char *)more[o].data)[at] = 1;
			assert_int_equal(tcb_look_again(&instance, &plan, &rng, fetch_any, NULL, &same, NULL), TCB_OK);
			assert_int_equal(same, 0);
			((char *)more[o].data)[at] = 0;
		}
	fetched = 0;
	instance.output[2].right.ulps = plan.ulps + 1; /* of one nothing is known: all are judged */
	assert_int_equal(tcb_look_again(&instance, &plan, &rng, fetch_any, NULL, &same, NULL), TCB_OK);
	assert_int_equal(same + (int)fetched, 0);
	for (size_t o = 1; o < 3; o++) {
		tcb_buffer_free(&instance.output[o].right.output);
		tcb_buffer_free(&more[o]);
	}
	instance.output_count = 1;
}

static int set_up(void **state)
{
	(void)state;
	tcb_rng_init(&rng, 1);
	instance.output_count = 1;
	instance.output[0].right.chain = plan.chain;
	instance.output[0].right.ulps = plan.ulps;
	return tcb_buffer_alloc(TCB_BUFFER_PLAIN, BYTES, &instance.output[0].right.output, NULL) == TCB_OK &&
			       tcb_buffer_alloc(TCB_BUFFER_PLAIN, BYTES, &now, NULL) == TCB_OK
		       ? 0
		       : -1;
}

static int tear_down(void **state)
{
	(void)state;
	tcb_buffer_free(&instance.output[0].right.output);
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
		cmocka_unit_test(each_output_is_looked_at),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
