/* SPDX-License-Identifier: MIT
 *
 * What a database says is held against the op's constraints before a program
 * gets it, and a shape that no kernel computes is an error, not a default.
 */
#include <sqlite3.h>

#include "cmocka_all.h"
#include "rt_fixture.h"

static struct fixture fixture;

static int setup(void **state)
{
	(void)state;
	fixture_init(&fixture);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_fini(&fixture);
	return 0;
}

static struct tcbrt_tuning ask(const char *device, size_t n, int code)
{
	struct tcbrt_query query = { .op = "fake_matvec", .device = device, .threads = 1, .m = 1, .n = n, .k = 4096 };
	struct tcbrt *rt = fixture_open(&fixture);
	struct tcbrt_tuning tuning;

	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), code);
	tcbrt_close(rt);
	return tuning;
}

static void test_exact_is_held_against_the_constraints(void **state)
{
	static const struct {
		const char *gpu, *geometry;
	} cases[] = {
		{ NULL, "macro=1x18446744073709551615x1,midi=1x1x1,micro=1x1x256,isa=scalar,threads=1" },
		{ NULL, "macro=1x8192x4096,midi=1x8x4096,micro=1x1x256,isa=scalar,threads=1" },
		{ NULL, "macro=1x4096x4096,midi=1x3x4096,micro=1x1x256,isa=scalar,threads=1" },
		{ NULL, "macro=1x4096x4096,midi=1x8x4096,micro=1x1x256,isa=scalar,threads=2147483647" },
		{ NULL, "macro=1x4096x4096,midi=1x8x4096,micro=1x1x256,isa=scalar,threads=1,warps=2147483647" },
		{ "sm_90", "macro=1x4096x4096,midi=1x8x4096,micro=1x1x256,isa=fma,threads=2147483647,warps=4" },
		{ "sm_90", "macro=1x18446744073709551615x1,midi=1x1x1,micro=1x1x256,isa=fma,warps=4" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tcbrt_tuning tuning;

		teardown(state);
		setup(state);
		fixture_put(
			&fixture,
			&(struct winner){ .n = 4096, .k = 4096, .gpu = cases[i].gpu, .geometry = cases[i].geometry });
		tuning = ask(cases[i].gpu ? FIXTURE_GPU : NULL, 4096, TCBRT_OK);
		if (tuning.source != TCBRT_SOURCE_DEFAULT || !strstr(tuning.reason, "not legal"))
			fail_msg("%s: %s", cases[i].geometry, tuning.reason);
		assert_true(tuning.threads <= 1);
	}
}

/* The row of a GPU that claims processors. */
static void test_threads_of_a_gpu(void **state)
{
	struct tcbrt_tuning tuning;
	sqlite3 *sql;

	(void)state;
	fixture_put(&fixture,
		    &(struct winner){ .n = 4096,
				      .k = 4096,
				      .gpu = "sm_90",
				      .geometry = "macro=1x4096x4096,midi=1x8x4096,micro=1x1x256,isa=fma,warps=4" });
	tuning = ask(FIXTURE_GPU, 4096, TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	assert_int_equal(sqlite3_open(fixture.path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, "UPDATE device SET threads = 1", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(sql);
	tuning = ask(FIXTURE_GPU, 4096, TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_int_equal(tuning.threads, 0);
}

static void test_no_kernel(void **state)
{
	struct tcbrt_tuning tuning = ask(NULL, 7, TCBRT_E_NOT_FOUND);

	(void)state;
	assert_int_equal(tuning.source, TCBRT_SOURCE_NONE);
	if (!strstr(tuning.reason, "op fake_matvec has no kernel for 1x7x4096 with contract q8 on cpu: V3"))
		fail_msg("reason: %s", tuning.reason);
	assert_null(strstr(tuning.reason, "default"));
}

/* One row that cannot be read hides no other. */
static void test_unreadable(void **state)
{
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;
	sqlite3 *sql;
	size_t refused;

	(void)state;
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096 });
	fixture_put(&fixture, &(struct winner){ .n = 65536, .k = 4096 });
	assert_int_equal(sqlite3_open(fixture.path, &sql), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(sql, "UPDATE best SET variant = hex(zeroblob(100)) WHERE id = 2", NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(sql);
	tuning = ask(NULL, 4096, TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	tuning = ask(NULL, 65536, TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	rt = fixture_open(&fixture);
	assert_int_equal(tcbrt_count(rt, &refused), 2);
	assert_int_equal(refused, 1);
	tcbrt_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_exact_is_held_against_the_constraints, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads_of_a_gpu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable, setup, teardown),
	};
	return cmocka_run_group_tests_name("rt.rt_legal", tests, NULL, NULL);
}
