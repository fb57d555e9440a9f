/* SPDX-License-Identifier: MIT
 *
 * Migrations: version 2 and 3 of an imagined future are applied, or leave the
 * file untouched.
 */
#include <sqlite3.h>
#include <sys/wait.h>

#include "cmocka_all.h"
#include "db/db_private.h"
#include "db_fixture.h"

static int setup(void **state)
{
	static struct fixture fixture;
	struct tcb_error err;
	struct tcb_db *db;

	fixture_init(&fixture);
	*state = &fixture;
	if (tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err) != TCB_OK)
		return -1;
	tcb_db_close(db);
	return 0;
}

static int teardown(void **state)
{
	fixture_fini(*state);
	return 0;
}

static int64_t version_of(struct tcb_db *db)
{
	int64_t version = -1;

	assert_int_equal(tcb_db_pragma(db, "user_version", &version), SQLITE_OK);
	return version;
}

static int has_table(struct tcb_db *db, const char *name)
{
	sqlite3_stmt *stmt;
	int64_t count = 0;
	struct tcb_error err;

	assert_int_equal(
		tcb_db_query(db, &stmt, "", &err, "SELECT count(*) FROM sqlite_schema WHERE name = ?1", "t", name),
		TCB_OK);
	assert_int_equal(tcb_db_finish(db, stmt, &count, "", &err), TCB_OK);
	return count == 1;
}

static void test_forward(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_migration list[] = { tcb_migrations[0],
					{ 2, "CREATE TABLE two (x); PRAGMA user_version = 2" },
					{ 3, "CREATE TABLE three (x); PRAGMA user_version = 3" } };
	struct tcb_error err;
	struct tcb_db *db;

	assert_int_equal(tcb_migration_count, 1);
	assert_int_equal(tcb_db_open(fixture->path, TCB_DB_WRITE, &db, &err), TCB_OK);
	assert_int_equal(tcb_db_migrate(db, list, 3, &err), TCB_OK);
	assert_int_equal(version_of(db), 3);
	assert_true(has_table(db, "two") && has_table(db, "three") && has_table(db, "trial"));
	assert_int_equal(tcb_db_migrate(db, list, 3, &err), TCB_OK);
	/* To a build of the past it is too new. */
	assert_int_equal(tcb_db_migrate(db, list, 1, &err), TCB_E_VERSION);
	tcb_db_close(db);
}

static void test_all_or_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_migration broken_sql[] = { tcb_migrations[0],
					      { 2, "CREATE TABLE two (x); PRAGMA user_version = 2" },
					      { 3, "CREATE TABLE three (x); CREATE TABEL typo" } };
	struct tcb_migration broken_number[] = { tcb_migrations[0], { 2, "CREATE TABLE two (x)" } };
	struct tcb_migration broken_rows[] = {
		tcb_migrations[0], { 2, "INSERT INTO tie_set VALUES (99, 0, ''); PRAGMA user_version = 2" }
	};
	struct {
		struct tcb_migration *list;
		int count;
		const char *message;
	} cases[] = { { broken_sql, 3, "migrating it to schema version 3" },
		      { broken_number, 2, "user_version" },
		      { broken_rows, 2, "missing rows" } };
	struct tcb_error err;
	struct tcb_db *db;

	assert_int_equal(tcb_db_open(fixture->path, TCB_DB_WRITE, &db, &err), TCB_OK);
	sqlite3_exec(db->sql, "PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_not_equal(tcb_db_migrate(db, cases[i].list, cases[i].count, &err), TCB_OK);
		if (!strstr(err.message, cases[i].message))
			fail_msg("%s", err.message);
		assert_int_equal(version_of(db), 1);
		assert_false(has_table(db, "two"));
		assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
	}
	tcb_db_close(db);
}

static void test_reader_does_not_migrate(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_migration list[] = { tcb_migrations[0], { 2, "CREATE TABLE two (x); PRAGMA user_version = 2" } };
	struct tcb_error err;
	struct tcb_db *db;

	assert_int_equal(tcb_db_open(fixture->path, TCB_DB_READ, &db, &err), TCB_OK);
	assert_int_equal(tcb_db_migrate(db, list, 2, &err), TCB_E_VERSION);
	assert_non_null(strstr(err.message, "sweep"));
	assert_int_equal(version_of(db), 1);
	tcb_db_close(db);
}

/* Eight processes open a file that does not exist yet: one creates the schema, all succeed. */
static void test_concurrent_creation(void **state)
{
	struct fixture fixture;
	pid_t children[8];

	(void)state;
	for (int round = 0; round < 5; round++) {
		fixture_init(&fixture);
		for (size_t i = 0; i < 8; i++) {
			children[i] = fork();
			assert_true(children[i] >= 0);
			if (children[i] == 0) {
				struct tcb_error err;
				struct tcb_db *db;

				if (tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err) != TCB_OK) {
					fprintf(stderr, "%s\n", err.message);
					_exit(1);
				}
				tcb_db_close(db);
				_exit(0);
			}
		}
		for (size_t i = 0; i < 8; i++) {
			int status;

			assert_int_equal(waitpid(children[i], &status, 0), children[i]);
			assert_int_equal(status, 0);
		}
		fixture_fini(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_forward, setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_or_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reader_does_not_migrate, setup, teardown),
		cmocka_unit_test(test_concurrent_creation),
	};
	return cmocka_run_group_tests_name("db.migrate", tests, NULL, NULL);
}
