/* SPDX-License-Identifier: MIT
 *
 * That the read limit is a limit on reading: every loop reads every line
 * exactly once, a call reads all its bytes and walks through the rotation,
 * and the time is that of the reading; and that the copy limit copies.  How fast it is, is measured by
 * `tcbtune bench`, not here.
 */
#include "device/device.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/pool.h"
#include "base/util.h"
#include "cmocka_all.h"
#include "device/bandwidth_loops.h"

static uint64_t sum_of(const char *data, size_t bytes)
{
	uint64_t sum = 0, word;
	for (size_t i = 0; i < bytes; i += sizeof word) {
		memcpy(&word, data + i, sizeof word);
		sum ^= word;
	}
	return sum;
}

/* Every loop of this host, at sizes that leave every kind of remainder, between inaccessible pages. */
static void test_loops_read_everything_once(void **state)
{
	(void)state;
	enum { LINES_MAX = 24, STREAMS_MAX = 8 };
	struct tcb_rng rng;
	size_t loops = 0;
	tcb_rng_init(&rng, 3);
	for (size_t lines = 0; lines <= LINES_MAX; lines++) {
		for (const struct tcb_read_loop *const *list = tcb_bandwidth_lists(); *list; list++) {
			assert_int_equal((*list)[0].streams, 1);
			assert_null((*list)[0].hint);
			for (const struct tcb_read_loop *loop = *list; loop->read; loop++, loops++) {
				struct tcb_buffer buffer;
				size_t bytes = lines * loop->streams * TCB_READ_LINE;
				assert_in_range(loop->streams, 1, STREAMS_MAX);
				assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, &buffer, NULL), TCB_OK);
				for (size_t i = 0; i < bytes / 8; i++)
					((uint64_t *)buffer.data)[i] = tcb_rng_next(&rng);
				uint64_t sum =
					loop->read(buffer.data, lines, lines * TCB_READ_LINE, loop->hint ? 2048 : 0);
				if (sum != sum_of(buffer.data, bytes))
					fail_msg("%s, %u streams of %zu lines, %s: not all was read",
						 tcb_isa_text(loop->isa), loop->streams, lines,
						 loop->hint ? loop->hint : "no prefetch");
				tcb_buffer_free(&buffer);
			}
		}
	}
	assert_true(loops >= (LINES_MAX + 1) * 16);
}

/* Every copy loop, at sizes that leave every kind of remainder, between inaccessible pages. */
static void test_loops_copy_everything(void **state)
{
	(void)state;
	static const size_t blocks[] = { 0, 1, 3, 8, 64 };
	struct tcb_rng rng;
	size_t loops = 0;
	tcb_rng_init(&rng, 4);
	for (size_t lines = 0; lines <= 24; lines++) {
		for (const struct tcb_copy_loop *const *list = tcb_bandwidth_copy_lists(); *list; list++) {
			for (const struct tcb_copy_loop *loop = *list; loop->copy; loop++) {
				struct tcb_buffer from, to;
				size_t bytes = lines * TCB_READ_LINE;
				assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, &from, NULL), TCB_OK);
				assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, &to, NULL), TCB_OK);
				for (size_t i = 0; i < bytes / 8; i++)
					((uint64_t *)from.data)[i] = tcb_rng_next(&rng);
				size_t block = blocks[loops++ % (sizeof blocks / sizeof *blocks)];
				loop->copy(to.data, from.data, lines, loop->hint ? 2048 : 0, block);
				assert_memory_equal(to.data, from.data, bytes);
				assert_int_equal(tcb_buffer_check(&to), 0);
				tcb_buffer_free(&from);
				tcb_buffer_free(&to);
			}
		}
	}
	assert_true(loops >= 25 * 5);
}

static void test_copy_calls(void **state)
{
	(void)state;
	static const size_t sizes[] = { 1, 64 * 7 + 8, 300000, 4 << 20 };
	struct tcb_pool *pool;
	struct tcb_bandwidth *b;
	const char *data;
	size_t lines;
	assert_int_equal(tcb_pool_create(2, NULL, &pool, NULL), TCB_OK);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(tcb_bandwidth_create(pool, 1 + i % 2, TCB_TRAFFIC_COPY, sizes[i], 3 * sizes[i], NULL,
						      0, &b, NULL),
				 TCB_OK);
		assert_int_equal(strncmp(tcb_bandwidth_method(b), "copy ", 5), 0);
		for (int call = 0; call < 4; call++) {
			assert_true(tcb_bandwidth_call(b) > 0);
			tcb_bandwidth_last_sum(b, &data, &lines);
			assert_true(lines % 2 == 0 && lines * TCB_READ_LINE >= sizes[i]);
			assert_memory_equal(data, data + lines / 2 * TCB_READ_LINE, lines / 2 * TCB_READ_LINE);
		}
		tcb_bandwidth_destroy(b);
	}
	tcb_pool_destroy(pool);
}

/* A call of BYTES reads all of them; ROTATION bytes apart it comes back to the same place. */
static void check_calls(unsigned threads, size_t bytes, size_t rotation)
{
	struct tcb_pool *pool;
	struct tcb_bandwidth *b;
	struct tcb_error err;
	const char *data, *first = NULL, *last = NULL;
	size_t lines, slot = (bytes + TCB_READ_LINE - 1) / TCB_READ_LINE * TCB_READ_LINE;
	size_t slots = rotation <= bytes ? 1 : (rotation + slot - 1) / slot;
	assert_int_equal(tcb_pool_create(threads, NULL, &pool, &err), TCB_OK);
	if (tcb_bandwidth_create(pool, threads, TCB_TRAFFIC_READ, bytes, rotation, NULL, 0, &b, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_true(strlen(tcb_bandwidth_method(b)) > 6);
	for (size_t call = 0; call < 2 * slots; call++) {
		uint64_t start = tcb_clock_ns();
		double ns = tcb_bandwidth_call(b);
		double around = (double)(tcb_clock_ns() - start);
		assert_true(ns > 0 && ns <= around);
		uint64_t sum = tcb_bandwidth_last_sum(b, &data, &lines);
		assert_int_equal(lines * TCB_READ_LINE, slot);
		assert_int_equal((uintptr_t)data % TCB_READ_LINE, 0);
		assert_int_equal(sum, sum_of(data, lines * TCB_READ_LINE));
		if (call == 0)
			first = data;
		else if (call % slots == 0)
			assert_ptr_equal(data, first);
		else
			assert_ptr_equal(data, last + lines * TCB_READ_LINE);
		last = data;
	}
	tcb_bandwidth_destroy(b);
	tcb_pool_destroy(pool);
}

static void test_calls(void **state)
{
	(void)state;
	check_calls(1, 1, 0);
	check_calls(1, 64 * 7 + 8, 4096);
	check_calls(1, 300000, 0);
	check_calls(2, 300000, 2000000);
	check_calls(3, 64, 640);
	check_calls(2, 4 << 20, 16 << 20); /* large enough for pieces */
}

static void test_more_bytes_take_longer(void **state)
{
	(void)state;
	struct tcb_pool *pool;
	struct tcb_bandwidth *small, *large;
	double fastest[2] = { 1e18, 1e18 };
	assert_int_equal(tcb_pool_create(1, NULL, &pool, NULL), TCB_OK);
	assert_int_equal(tcb_bandwidth_create(pool, 1, TCB_TRAFFIC_READ, 64 << 10, 0, NULL, 0, &small, NULL), TCB_OK);
	assert_int_equal(tcb_bandwidth_create(pool, 1, TCB_TRAFFIC_READ, 2 << 20, 0, NULL, 0, &large, NULL), TCB_OK);
	for (int i = 0; i < 50; i++) {
		double ns[2] = { tcb_bandwidth_call(small), tcb_bandwidth_call(large) };
		for (int j = 0; j < 2; j++)
			fastest[j] = ns[j] < fastest[j] ? ns[j] : fastest[j];
	}
	assert_true(fastest[1] > 8 * fastest[0]); /* 32 times the bytes */
	tcb_bandwidth_destroy(small);
	tcb_bandwidth_destroy(large);
	tcb_bandwidth_destroy(NULL);
	tcb_pool_destroy(pool);
}

static void test_refused(void **state)
{
	(void)state;
	struct tcb_pool *pool;
	struct tcb_bandwidth *b;
	struct tcb_error err;
	assert_int_equal(tcb_pool_create(1, NULL, &pool, NULL), TCB_OK);
	assert_int_equal(tcb_bandwidth_create(pool, 2, TCB_TRAFFIC_READ, 64, 0, NULL, 0, &b, &err), TCB_E_USAGE);
	assert_int_equal(tcb_bandwidth_create(pool, 0, TCB_TRAFFIC_READ, 64, 0, NULL, 0, &b, &err), TCB_E_USAGE);
	assert_int_equal(tcb_bandwidth_create(pool, 1, TCB_TRAFFIC_READ, 0, 0, NULL, 0, &b, &err), TCB_E_USAGE);
	assert_int_equal(tcb_bandwidth_create(pool, 1, TCB_TRAFFIC_READ, SIZE_MAX, 0, NULL, 0, &b, &err), TCB_E_USAGE);
	assert_int_equal(tcb_bandwidth_create(pool, 1, TCB_TRAFFIC_READ, 64, SIZE_MAX, NULL, 0, &b, &err),
			 TCB_E_OVERFLOW);
	assert_int_equal(tcb_bandwidth_create(pool, 1, TCB_TRAFFIC_READ, 64, SIZE_MAX / 4, NULL, 0, &b, &err),
			 TCB_E_NOMEM);
	assert_null(b);
	assert_non_null(strstr(err.message, "cannot get"));
	tcb_pool_destroy(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loops_read_everything_once),
		cmocka_unit_test(test_loops_copy_everything),
		cmocka_unit_test(test_copy_calls),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_more_bytes_take_longer),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
