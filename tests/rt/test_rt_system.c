/* SPDX-License-Identifier: MIT
 *
 * The system's database below the user's: who answers, what the reason says,
 * and that nothing is written beside it.
 */
#include <dirent.h>

#include "cmocka_all.h"
#include "rt_fixture.h"

static struct fixture user, system_one;

static int setup(void **state)
{
	(void)state;
	fixture_init(&user);
	fixture_init(&system_one);
	setenv("TCBTUNE_DB", user.path, 1);
	setenv("TCBTUNE_SYSTEM_DB", system_one.path, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_fini(&user);
	fixture_fini(&system_one);
	unsetenv("TCBTUNE_DB");
	unsetenv("TCBTUNE_SYSTEM_DB");
	return 0;
}

static void put(struct fixture *fixture, struct winner winner)
{
	winner.k = 4096;
	fixture_put(fixture, &winner);
}

static struct tcbrt_tuning ask(const char *path, size_t n)
{
	const struct tcbrt_query query = { .op = "fake_matvec", .threads = 1, .m = 1, .n = n, .k = 4096 };
	struct tcbrt_error err;
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;

	if (tcbrt_open(path, &rt, &err) != TCBRT_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcbrt_lookup(rt, &query, &tuning), TCBRT_OK);
	tcbrt_close(rt);
	return tuning;
}

static void assert_answer(const struct tcbrt_tuning *tuning, enum tcbrt_source source, double ns, int is_system)
{
	if (tuning->source != source || tuning->expected_ns != ns ||
	    (strstr(tuning->reason, "system database") != NULL) != is_system)
		fail_msg("%s, %.0f ns: %s", tcbrt_source_text(tuning->source), tuning->expected_ns, tuning->reason);
}

static void test_layers(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put(&system_one, (struct winner){ .n = 4096, .ns = 70 });
	put(&system_one, (struct winner){ .n = 8192, .ns = 71 });
	put(&user, (struct winner){ .n = 4096, .ns = 90 });
	tuning = ask(NULL, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 90, 0);
	tuning = ask(NULL, 8192);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 71, 1);
	tuning = ask(NULL, 9216);
	assert_answer(&tuning, TCBRT_SOURCE_NEAREST, 0, 1);
	tuning = ask(NULL, 3072);
	assert_answer(&tuning, TCBRT_SOURCE_NEAREST, 0, 0);
	/* A path is that file alone. */
	tuning = ask(user.path, 8192);
	assert_answer(&tuning, TCBRT_SOURCE_NEAREST, 0, 0);
	/* What the user has is less proven, or stale. */
	put(&user, (struct winner){ .n = 8192, .ns = 10, .provisional = 1 });
	tuning = ask(NULL, 8192);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 71, 1);
	put(&user, (struct winner){ .n = 4096, .ns = 10, .signature = "old" });
	tuning = ask(NULL, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 70, 1);
	setenv("TCBTUNE_SYSTEM_DB", "", 1);
	tuning = ask(NULL, 8192);
	assert_answer(&tuning, TCBRT_SOURCE_PROVISIONAL, 10, 0);
}

/* Another machine's are said to be one's. */
static void test_foreign_machine(void **state)
{
	struct tcbrt_tuning tuning;

	(void)state;
	put(&system_one, (struct winner){ .n = 4096, .other_key = "ffffffffffffffff", .model = "Another CPU" });
	tuning = ask(NULL, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_ARCHITECTURE, 0, 1);
	assert_non_null(strstr(tuning.reason, "measured on Another CPU (key ffffffffffffffff)"));
}

static void test_one_is_missing(void **state)
{
	struct tcbrt_tuning tuning;
	struct tcbrt_error err;
	struct tcbrt *rt;

	(void)state;
	put(&system_one, (struct winner){ .n = 4096, .ns = 70 });
	setenv("TCBTUNE_DB", "/no/such/file.db", 1);
	tuning = ask(NULL, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 70, 1);
	setenv("TCBTUNE_SYSTEM_DB", "/no/such/system.db", 1);
	assert_int_equal(tcbrt_open(NULL, &rt, &err), TCBRT_E_NOT_FOUND);
	assert_non_null(strstr(err.message, "/no/such/file.db"));
	setenv("TCBTUNE_DB", user.path, 1);
	tuning = ask(NULL, 4096);
	assert_int_equal(tuning.source, TCBRT_SOURCE_DEFAULT);
	assert_non_null(strstr(tuning.reason, "the system database is left out: /no/such/system.db"));
	/* One that is damaged costs itself only. */
	setenv("TCBTUNE_SYSTEM_DB", TCB_SOURCE_DIR "/LICENSE", 1);
	tuning = ask(NULL, 4096);
	assert_non_null(strstr(tuning.reason, "the system database is left out"));
}

static int count_system(void *ctx, const struct tcbrt_entry *entry)
{
	size_t *count = ctx;

	count[entry->is_system]++;
	assert_string_equal(entry->database, entry->is_system ? system_one.path : user.path);
	return 0;
}

static void test_each(void **state)
{
	size_t count[2] = { 0 };
	struct tcbrt *rt;

	(void)state;
	put(&user, (struct winner){ .n = 4096 });
	put(&system_one, (struct winner){ .n = 4096 });
	put(&system_one, (struct winner){ .n = 8192, .signature = "old" });
	assert_int_equal(tcbrt_open(NULL, &rt, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_each(rt, count_system, count), 0);
	assert_true(count[0] == 1 && count[1] == 2);
	assert_int_equal(tcbrt_count(rt, &count[0]), 3);
	assert_int_equal(count[0], 1);
	tcbrt_close(rt);
}

static void test_nothing_is_written(void **state)
{
	struct tcbrt_tuning tuning;
	DIR *folder;

	(void)state;
	put(&system_one, (struct winner){ .n = 4096, .ns = 70 });
	tcb_db_close(system_one.db); /* its log goes with it */
	system_one.db = NULL;
	tuning = ask(NULL, 4096);
	assert_answer(&tuning, TCBRT_SOURCE_EXACT, 70, 1);
	folder = opendir(system_one.folder);
	for (struct dirent *entry; (entry = readdir(folder));)
		if (entry->d_name[0] != '.')
			assert_string_equal(entry->d_name, "tuning.db");
	closedir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_layers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_is_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_each, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_written, setup, teardown),
	};
	return cmocka_run_group_tests_name("rt.rt_system", tests, NULL, NULL);
}
