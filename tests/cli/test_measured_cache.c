/* SPDX-License-Identifier: MIT
 *
 * Who measures a cache, and where it is stored: the next command does not
 * measure again, and a command that otherwise only reads changes no more.
 */
#include "cmocka_all.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tune/measured_cache.h"
#include "db/db_fixture.h"
#include "db/db_private.h"
#include "db/known_cache.h"
#include "device/cache.h"

enum { FOUND = 96 << 20 };

static size_t measured;
static int is_sure;

/* In place of the machine. */
static enum tcb_status measure_cache(const struct tcb_place *place, struct tcb_deadline deadline, struct tcb_cache *out,
				     struct tcb_error *err)
{
	(void)place, (void)deadline, (void)err;
	measured++;
	*out = (struct tcb_cache){ .bytes = FOUND, .is_sure = is_sure };
	return TCB_OK;
}

static const struct tcb_device_kind kind = { .measure_cache = measure_cache };
const struct tcb_device_kind *const tcb_device_kinds[] = { &kind };

static struct fixture fixture;

static int set_up(void **state)
{
	(void)state;
	fixture_init(&fixture);
	measured = 0;
	is_sure = 1;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_fini(&fixture);
	return 0;
}

static void make_database(void)
{
	struct tcb_db *db;

	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, NULL), TCB_OK);
	tcb_db_close(db);
}

/* As bench does it. */
static void know(size_t measured_then)
{
	struct tcb_place place = { .cache_bytes = 0 };
	struct tcb_error err;

	fixture_device(&place.device);
	assert_int_equal(cli_cache_know_from(fixture.path, 1, &place, &err), TCB_OK);
	assert_int_equal(place.cache_bytes, FOUND);
	assert_int_equal(measured, measured_then);
}

static void test_is_stored(void **state)
{
	struct tcb_place place = { .cache_bytes = 0 };
	struct tcb_db *db;

	(void)state;
	make_database();
	is_sure = 0;
	know(1);
	is_sure = 1;
	know(2); /* the machine was busy the first time */
	know(2);
	/* Others know it, too. */
	fixture_device(&place.device);
	assert_int_equal(cli_cache_recall_from(fixture.path, &place, NULL), TCB_OK);
	assert_int_equal(place.cache_bytes, FOUND);
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, NULL), TCB_OK);
	assert_int_equal(cli_cache_know(db, 1, &place, NULL), TCB_OK);
	place.device.target.threads = 1;
	assert_int_equal(measured, 2);
	assert_int_equal(cli_cache_know(db, 1, &place, NULL), TCB_OK);
	assert_int_equal(measured, 3);
	tcb_db_close(db);
}

static void test_none_is_made(void **state)
{
	struct stat info;

	(void)state;
	know(1);
	assert_int_equal(stat(fixture.path, &info), -1);
}

/* What has not been migrated yet is not for this. */
static void test_none_is_migrated(void **state)
{
	const struct tcb_migration *newest = &tcb_migrations[tcb_migration_count - 1];
	struct tcb_db_info info;
	struct tcb_db *db;
	sqlite3 *sql;

	(void)state;
	assert_int_equal(sqlite3_open(fixture.path, &sql), SQLITE_OK);
	for (const struct tcb_migration *each = tcb_migrations; each < newest; each++)
		assert_int_equal(sqlite3_exec(sql, each->sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(sql), SQLITE_OK);
	know(1);
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_READ, &db, NULL), TCB_OK);
	assert_int_equal(tcb_db_info(db, &info, NULL), TCB_OK);
	assert_int_equal(info.schema_version, newest->version - 1);
	tcb_db_close(db);
}

/* As an ordinary user, if we are root, whom nothing refuses. */
static void test_one_that_cannot_be_written(void **state)
{
	int status;

	(void)state;
	make_database();
	assert_int_equal(chmod(fixture.path, 0444), 0);
	assert_int_equal(chmod(fixture.folder, 0555), 0);
	const pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(2);
		know(1);
		know(2);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(chmod(fixture.folder, 0755), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_is_stored, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_none_is_made, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_none_is_migrated, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_that_cannot_be_written, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("cli.measured_cache", tests, NULL, NULL);
}
