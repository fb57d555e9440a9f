/* SPDX-License-Identifier: MIT
 *
 * No lookup allocates, whatever it ends in.
 */
#include "cmocka_all.h"
#include "count_malloc.h"
#include "rt_fixture.h"

static void test_no_allocation(void **state)
{
	struct tcbrt_query queries[] = {
		{ .op = "fake_matvec", .threads = 1, .m = 1, .n = 4096, .k = 4096 },   /* exact */
		{ .op = "fake_matvec", .m = 1, .n = 4096, .k = 4096 },                 /* exact, any threads */
		{ .op = "fake_matvec", .threads = 1, .m = 1, .n = 5120, .k = 4096 },   /* nearest */
		{ .op = "fake_matvec", .threads = 1, .m = 1, .n = 512, .k = 256 },     /* architecture */
		{ .op = "fake_matvec", .threads = 1, .m = 1, .n = 65536, .k = 65536 }, /* default */
		{ .op = "fake_matvec", .threads = 1, .m = 1, .n = 4096, .k = 1 },      /* refused */
	};
	static const enum tcbrt_source sources[] = { TCBRT_SOURCE_EXACT,   TCBRT_SOURCE_EXACT,
						     TCBRT_SOURCE_NEAREST, TCBRT_SOURCE_ARCHITECTURE,
						     TCBRT_SOURCE_DEFAULT, TCBRT_SOURCE_NONE };
	struct tcbrt_tuning tuning;
	struct fixture fixture;
	struct tcbrt *rt;
	size_t before;

	(void)state;
	if (!COUNTS_MALLOC)
		skip_because("a sanitizer stands in front of malloc");
	fixture_init(&fixture);
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096 });
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096, .threads = fixture_cores(), .ns = 900 });
	fixture_put(&fixture, &(struct winner){ .n = 512, .k = 256, .other_key = "ffffffffffffffff" });
	before = malloc_calls;
	rt = fixture_open(&fixture);
	assert_true(malloc_calls > before); /* the counter counts */
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		before = malloc_calls;
		tcbrt_lookup(rt, &queries[i], &tuning);
		tcbrt_knob_word(&tuning, "isa");
		assert_int_equal(malloc_calls, before);
		assert_int_equal(tuning.source, sources[i]);
	}
	tcbrt_close(rt);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_no_allocation) };

	return cmocka_run_group_tests_name("rt.rt_malloc", tests, NULL, NULL);
}
