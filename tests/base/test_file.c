/* SPDX-License-Identifier: MIT
 *
 * The user's cache folder, and programs found by their name.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/program.h"

enum { ROOM = 256 };
static char folder[] = "/tmp/tcb-test-file-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[ROOM];
	(void)state;
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

static void cache_folder(void **state)
{
	char path[2 * ROOM], want[2 * ROOM], parent[ROOM];
	struct stat info;
	(void)state;
	snprintf(parent, sizeof parent, "%s/cache", folder);
	setenv("XDG_CACHE_HOME", parent, 1);
	setenv("HOME", folder, 1);
	snprintf(want, sizeof want, "%s/tcbtune/things", parent);
	assert_true(tcb_file_in_cache("things", 0, path, sizeof path));
	assert_string_equal(path, want);
	assert_int_equal(stat(parent, &info), -1); /* not asked for */
	assert_true(tcb_file_in_cache("things", 1, path, sizeof path));
	assert_string_equal(path, want);
	snprintf(want, sizeof want, "%s/tcbtune", parent);
	assert_int_equal(stat(want, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0700);
	assert_false(tcb_file_in_cache("things", 0, path, strlen(want)));
	setenv("XDG_CACHE_HOME", "relative", 1); /* the specification has these ignored */
	snprintf(want, sizeof want, "%s/.cache/tcbtune/things", folder);
	assert_true(tcb_file_in_cache("things", 0, path, sizeof path));
	assert_string_equal(path, want);
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "", 1);
	assert_false(tcb_file_in_cache("things", 1, path, sizeof path));
}

static void write_program(const char *path, mode_t mode)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(chmod(path, mode), 0);
}

/* The first of PATH that can be run; not a folder, and not a file that cannot. */
static void programs(void **state)
{
	char path[ROOM], list[2 * ROOM], name[ROOM];
	(void)state;
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%d", folder, i);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(path, sizeof path, "%s/%d/tool", folder, i);
		if (i == 0)
			assert_int_equal(mkdir(path, 0700), 0);
		else
			write_program(path, i == 1 ? 0600 : 0700);
	}
	snprintf(list, sizeof list, ":%s/0::%s/1:%s/2", folder, folder, folder);
	setenv("PATH", list, 1);
	assert_int_equal(tcb_program_find("tool", name, sizeof name), 0);
	assert_string_equal(name, path);
	assert_int_equal(tcb_program_find(path, name, sizeof name), 0);
	assert_string_equal(name, path);
	assert_int_equal(tcb_program_find("tool", name, strlen(path)), -1);
	assert_int_equal(tcb_program_find("none", name, sizeof name), -1);
	snprintf(path, sizeof path, "%s/0/tool", folder);
	assert_int_equal(tcb_program_find(path, name, sizeof name), -1);
	unsetenv("PATH");
	assert_int_equal(tcb_program_find("tool", name, sizeof name), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(cache_folder), cmocka_unit_test(programs) };
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
