/* SPDX-License-Identifier: MIT
 *
 * Where the database is: precedence, and that only writers create folders.
 */
#include <sys/stat.h>

#include "cmocka_all.h"
#include "db_fixture.h"

static void test_precedence(void **state)
{
	char path[512];
	struct tcb_error err;

	(void)state;
	setenv("TCBTUNE_DB", "/from/variable.db", 1);
	setenv("XDG_DATA_HOME", "/from/xdg", 1);
	setenv("HOME", "/from/home", 1);
	assert_int_equal(tcb_db_path("option.db", TCB_DB_READ, path, sizeof(path), &err), TCB_OK);
	assert_string_equal(path, "option.db");
	assert_int_equal(tcb_db_path(NULL, TCB_DB_READ, path, sizeof(path), &err), TCB_OK);
	assert_string_equal(path, "/from/variable.db");
	setenv("TCBTUNE_DB", "", 1);
	assert_int_equal(tcb_db_path(NULL, TCB_DB_READ, path, sizeof(path), &err), TCB_OK);
	assert_string_equal(path, "/from/xdg/tcbtune/tuning.db");
	setenv("XDG_DATA_HOME", "relative/is/ignored", 1);
	assert_int_equal(tcb_db_path(NULL, TCB_DB_READ, path, sizeof(path), &err), TCB_OK);
	assert_string_equal(path, "/from/home/.local/share/tcbtune/tuning.db");
	unsetenv("XDG_DATA_HOME");
	assert_int_equal(tcb_db_path(NULL, TCB_DB_READ, path, sizeof(path), &err), TCB_OK);
	assert_string_equal(path, "/from/home/.local/share/tcbtune/tuning.db");
	unsetenv("HOME");
	assert_int_equal(tcb_db_path(NULL, TCB_DB_READ, path, sizeof(path), &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, "TCBTUNE_DB"));
	assert_int_equal(tcb_db_path("", TCB_DB_READ, path, sizeof(path), &err), TCB_E_USAGE);
	assert_int_equal(tcb_db_path("too-long", TCB_DB_READ, path, 8, &err), TCB_E_USAGE);
}

static void test_folders(void **state)
{
	struct fixture fixture;
	struct stat info;
	char path[512], home[128], folder[160];
	struct tcb_error err;

	(void)state;
	fixture_init(&fixture);
	snprintf(home, sizeof(home), "%s/new", fixture.folder);
	snprintf(folder, sizeof(folder), "%s/tcbtune", home);
	unsetenv("TCBTUNE_DB");
	setenv("XDG_DATA_HOME", home, 1);
	assert_int_equal(tcb_db_path(NULL, TCB_DB_READ, path, sizeof(path), &err), TCB_OK);
	assert_int_not_equal(stat(home, &info), 0);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(tcb_db_path(NULL, TCB_DB_WRITE, path, sizeof(path), &err), TCB_OK);
		assert_int_equal(stat(folder, &info), 0);
		assert_true(S_ISDIR(info.st_mode));
	}
	rmdir(folder);
	rmdir(home);
	/* A file where a folder should be. */
	fclose(fopen(home, "w"));
	assert_int_equal(tcb_db_path(NULL, TCB_DB_WRITE, path, sizeof(path), &err), TCB_E_IO);
	assert_non_null(strstr(err.message, "--db"));
	unlink(home);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_precedence),
		cmocka_unit_test(test_folders),
	};
	return cmocka_run_group_tests_name("db.location", tests, NULL, NULL);
}
