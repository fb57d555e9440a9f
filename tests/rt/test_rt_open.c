/* SPDX-License-Identifier: MIT
 *
 * Opening: where the database is looked for, what is refused and with which
 * code, and that a handle is independent of the file afterwards.
 */
#include "cmocka_all.h"
#include "rt_fixture.h"

static struct fixture fixture;

static int setup(void **state)
{
	(void)state;
	fixture_init(&fixture);
	fixture_put(&fixture, &(struct winner){ .n = 4096, .k = 4096 });
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_fini(&fixture);
	return 0;
}

static void test_environment(void **state)
{
	struct tcbrt_error err;
	struct tcbrt *rt;

	(void)state;
	setenv("TCBTUNE_DB", fixture.path, 1);
	assert_int_equal(tcbrt_open(NULL, &rt, &err), TCBRT_OK);
	assert_int_equal(err.code, TCBRT_OK);
	assert_int_equal(tcbrt_count(rt, NULL), 1);
	tcbrt_close(rt);
	setenv("TCBTUNE_DB", "/no/such/file.db", 1);
	assert_int_equal(tcbrt_open(NULL, &rt, &err), TCBRT_E_NOT_FOUND);
	assert_null(rt);
	unsetenv("TCBTUNE_DB");
}

static void test_refused(void **state)
{
	struct tcbrt_error err;
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open("/no/such/file.db", &rt, &err), TCBRT_E_NOT_FOUND);
	assert_int_equal(err.code, TCBRT_E_NOT_FOUND);
	assert_non_null(strstr(err.message, "/no/such/file.db"));
	assert_null(rt);
	assert_int_equal(tcbrt_open("/no/such/file.db", &rt, NULL), TCBRT_E_NOT_FOUND);
	assert_int_equal(tcbrt_open(fixture.folder, &rt, &err), TCBRT_E_IO);
	assert_int_equal(tcbrt_open(TCB_SOURCE_DIR "/LICENSE", &rt, &err), TCBRT_E_FORMAT);
	assert_null(rt);
}

/* After opening, the file is not needed: neither its being locked nor its being gone matters. */
static void test_independent_of_the_file(void **state)
{
	struct tcbrt_query query = { .op = "fake_matvec", .threads = 1, .m = 1, .n = 4096, .k = 4096 };
	struct tcbrt_tuning tuning;
	struct tcbrt *rt = fixture_open(&fixture);

	(void)state;
	unlink(fixture.path);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
	tcbrt_close(rt);
	assert_string_equal(tuning.variant, "fake_q8_r1");
}

static void test_many(void **state)
{
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;

	(void)state;
	for (size_t i = 2; i <= 300; i++)
		fixture_put(&fixture,
			    &(struct winner){ .n = 8 * i, .k = 256, .ns = (double)i, .threads = fixture_cores() });
	rt = fixture_open(&fixture);
	assert_int_equal(tcbrt_count(rt, NULL), 300);
	for (size_t i = 2; i <= 300; i++) {
		for (unsigned open = 0; open < 2; open++) {
			struct tcbrt_query query = {
				.op = "fake_matvec", .threads = open ? 0 : fixture_cores(), .m = 1, .n = 8 * i, .k = 256
			};

			assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
			assert_int_equal(tuning.source, TCBRT_SOURCE_EXACT);
			assert_true(tuning.expected_ns == (double)i);
			assert_int_equal(tuning.macro.n, 8 * i);
		}
	}
	tcbrt_close(rt);
}

static void test_version_and_words(void **state)
{
	(void)state;
	assert_int_equal(tcbrt_version(), TCBRT_VERSION);
	assert_string_equal(tcbrt_source_text(TCBRT_SOURCE_NONE), "none");
	assert_string_equal(tcbrt_source_text(TCBRT_SOURCE_EXACT), "exact");
	assert_string_equal(tcbrt_source_text(TCBRT_SOURCE_NEAREST), "nearest");
	assert_string_equal(tcbrt_source_text(TCBRT_SOURCE_MODELLED), "modelled");
	assert_string_equal(tcbrt_source_text(TCBRT_SOURCE_ARCHITECTURE), "architecture");
	assert_string_equal(tcbrt_source_text(TCBRT_SOURCE_DEFAULT), "default");
	assert_string_equal(tcbrt_source_text((enum tcbrt_source)77), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_independent_of_the_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test(test_version_and_words),
	};
	return cmocka_run_group_tests_name("rt.rt_open", tests, NULL, NULL);
}
