/* SPDX-License-Identifier: MIT
 *
 * Memory for weights: what asking the kernel for large pages does with a kernel
 * that gives, refuses, gives small ones or takes long, and what this host's
 * kernel really gave, by /proc/self/smaps.
 */
#include "cmocka_all.h"
#include "instrumented.h"

#include <stdlib.h>
#include <string.h>

#include "rt/rt_weights.h"
#include "tcbrt.h"

enum { HUGE_PAGE = 2 << 20, PAGES = 24 };

/* A kernel of the test's own. */
static struct {
	uint64_t ns, ns_per_page, faults;
	unsigned advised, refuse_from, small_from, looks;
	int counts_nothing;
} fake;

static uint64_t fake_spent(void)
{
	return fake.ns;
}

static int fake_advise(void *page, size_t bytes)
{
	(void)page;
	assert_int_equal(bytes, HUGE_PAGE);
	if (fake.advised >= fake.refuse_from)
		return -1;
	fake.advised++;
	fake.ns += fake.ns_per_page;
	fake.looks = 0;
	return 0;
}

/* Looked at before the first touch, after it, and after the last. */
static uint64_t fake_faults(void)
{
	const unsigned look = fake.looks++;

	if (fake.counts_nothing)
		return 0;
	fake.faults += look == 1 || (look == 2 && fake.advised > fake.small_from);
	return fake.faults;
}

static const struct rt_weights_kernel kernel = { fake_spent, fake_advise, fake_faults };

static size_t ask(uint64_t ns_per_page, unsigned refuse_from, unsigned small_from, int counts_nothing)
{
	static char memory[PAGES * (size_t)HUGE_PAGE];

	memset(&fake, 0, sizeof(fake));
	fake.ns_per_page = ns_per_page;
	fake.refuse_from = refuse_from;
	fake.small_from = small_from;
	fake.counts_nothing = counts_nothing;
	return rt_weights_ask(&kernel, memory, PAGES);
}

static void counts_what_was_given(void **state)
{
	(void)state;
	assert_int_equal(ask(0, PAGES, PAGES, 0), PAGES);
	assert_int_equal(ask(0, 5, PAGES, 0), 5);
	assert_int_equal(ask(0, 0, PAGES, 0), 0);
	assert_int_equal(ask(0, PAGES, 7, 0), 7);
	assert_int_equal(fake.advised, PAGES); /* the next may be large again */
	assert_int_equal(ask(0, PAGES, PAGES, 1), 0);
}

static void gives_up_where_it_takes_long(void **state)
{
	const uint64_t limit = (uint64_t)TCBRT_HUGE_PAGE_MS * 1000000;

	(void)state;
	assert_int_equal(ask(limit, PAGES, PAGES, 0), PAGES);
	ask(3 * limit, PAGES, PAGES, 0);
	assert_true(fake.advised < PAGES);
	/* All in all no longer than it may, and a page. */
	assert_true(fake.ns <= (fake.advised + RT_WEIGHTS_GRACE) * limit + 3 * limit);
	ask(1000 * limit, PAGES, PAGES, 0);
	assert_int_equal(fake.advised, 1);
}

/* Bytes of large pages from AT on, by the kernel's word; -1: it says nothing. */
static long huge_bytes(const char *at, size_t bytes)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	char line[512];
	int is_inside = 0;
	long sum = 0, lines = 0;

	while (maps && fgets(line, sizeof(line), maps)) {
		unsigned long from, to;
		long kib;

		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			is_inside = from >= (uintptr_t)at && from < (uintptr_t)at + bytes;
		else if (is_inside && sscanf(line, "AnonHugePages: %ld kB", &kib) == 1) {
			sum += kib << 10;
			lines++;
		}
	}
	if (maps)
		fclose(maps);
	return lines ? sum : -1;
}

static void is_aligned_and_zero(void **state)
{
	static const size_t sizes[] = { 1,         100,           HUGE_PAGE / 2,      HUGE_PAGE - 1,
					HUGE_PAGE, HUGE_PAGE + 1, 5 * HUGE_PAGE / 2U, 9 * (size_t)HUGE_PAGE };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const size_t bytes = sizes[i];
		size_t huge = 1;
		void *memory;
		struct tcbrt_error err;

		if (tcbrt_weights_alloc(bytes, &memory, &huge, &err) != TCBRT_OK)
			fail_msg("%zu: %s", bytes, err.message);
		assert_int_equal((uintptr_t)memory % TCBRT_ALIGNMENT, 0);
		assert_true(huge <= bytes);
		if (bytes < HUGE_PAGE / 2)
			assert_int_equal(huge, 0);
		for (size_t b = 0; b < bytes; b++)
			if (((const char *)memory)[b])
				fail_msg("byte %zu of %zu is not 0", b, bytes);
		const long said = huge_bytes(memory, bytes);
		if (said >= 0 && said < (long)(huge / HUGE_PAGE * HUGE_PAGE))
			fail_msg("%zu of %zu bytes are said to be in large pages, %ld are", huge, bytes, said);
		/* Nothing else merges or parts pages so soon; but a sanitizer's shadow faults in between, and counts.
		 */
		if (!TEST_IS_INSTRUMENTED && said > 0 && huge == 0)
			fail_msg("%ld of %zu bytes are in large pages, and nothing is said of it", said, bytes);
		memset(memory, 0xff, bytes);
		tcbrt_weights_free(memory);
	}
}

static void refuses(void **state)
{
	struct tcbrt_error err;
	void *memory = &err;

	(void)state;
	tcbrt_weights_free(NULL);
	assert_int_equal(tcbrt_weights_alloc(0, &memory, NULL, &err), TCBRT_E_USAGE);
	assert_null(memory);
	assert_non_null(strstr(err.message, "packed_bytes"));
	assert_int_equal(tcbrt_weights_alloc(1, NULL, NULL, &err), TCBRT_E_USAGE);
	assert_int_equal(tcbrt_weights_alloc(SIZE_MAX, &memory, NULL, &err), TCBRT_E_OVERFLOW);
	assert_int_equal(tcbrt_weights_alloc(SIZE_MAX / 4, &memory, NULL, &err), TCBRT_E_NOMEM);
	assert_null(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_what_was_given),
		cmocka_unit_test(gives_up_where_it_takes_long),
		cmocka_unit_test(is_aligned_and_zero),
		cmocka_unit_test(refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
