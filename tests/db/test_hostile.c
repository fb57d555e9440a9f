/* SPDX-License-Identifier: MIT
 *
 * Databases that somebody tampered with: what is no table of the schema is
 * refused before it is read, a row that cannot be read costs itself only, is
 * counted, and `db check` names it.
 */
#include <sqlite3.h>

#include "cmocka_all.h"
#include "db_fixture.h"

static struct fixture fixture;
static struct tcb_device device;
static struct tcb_problem problem;
static struct tcb_error err;

/* Two winners and their trials; a counter of the first. */
static int setup(void **state)
{
	struct tcb_counter counter = { "cycles", "papi", TCB_COLD, 7 };
	struct tcb_measurement measurement;
	struct tcb_trial trial;
	struct tcb_db *db;
	double samples[3];

	(void)state;
	fixture_init(&fixture);
	fixture_device(&device);
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err), TCB_OK);
	for (size_t i = 0; i < 2; i++) {
		struct tcb_problem other = fixture_problem(4096, 4096 << i);
		int64_t sweep = fixture_sweep(db, &device, &other, &err);

		fixture_trial(i, 1000, &measurement, samples, &trial);
		trial.counter_count = 1;
		trial.counters = &counter;
		assert_int_equal(tcb_db_trial_put(db, sweep, &trial, &err), TCB_OK);
		assert_int_equal(fixture_put(db, sweep, i + 1, 1000, &err), TCB_OK);
		assert_int_equal(fixture_put_best(db, sweep, i, 1000, 0, &err), TCB_OK);
	}
	tcb_db_close(db);
	problem = fixture_problem(4096, 4096);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_fini(&fixture);
	return 0;
}

static void tamper(const char *text)
{
	char *message = NULL;
	sqlite3 *sql;

	assert_int_equal(sqlite3_open(fixture.path, &sql), SQLITE_OK);
	if (sqlite3_exec(sql, text, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", text, message);
	assert_int_equal(sqlite3_close(sql), SQLITE_OK);
}

static void test_schema(void **state)
{
	static const struct {
		const char *sql, *says;
	} cases[] = {
		{ "DROP TABLE tie_set; CREATE VIEW tie_set AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 "
		  "FROM c) SELECT 1 AS best_id, x AS position, 'x' AS geometry FROM c",
		  "tie_set is not the table" },
		{ "ALTER TABLE counter ADD COLUMN much TEXT AS (hex(zeroblob(1000000)))", "counter is not the table" },
		{ "DROP TABLE counter", "counter is not the table" },
		{ "CREATE TRIGGER slow AFTER INSERT ON sweep BEGIN SELECT 1; END", "triggers" },
	};
	static const enum tcb_db_mode modes[] = { TCB_DB_READ, TCB_DB_WRITE };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		teardown(state);
		setup(state);
		tamper(cases[i].sql);
		for (size_t m = 0; m < 2; m++) {
			struct tcb_db *db;

			assert_int_equal(tcb_db_open(fixture.path, modes[m], &db, &err), TCB_E_FORMAT);
			if (!strstr(err.message, cases[i].says) || !strstr(err.message, fixture.path))
				fail_msg("%s: %s", cases[i].sql, err.message);
		}
	}
}

/* What a user keeps beside our tables is none of our business. */
static void test_own_objects(void **state)
{
	struct tcb_db *db;

	(void)state;
	tamper("CREATE TABLE notes (x); CREATE VIEW fast AS SELECT * FROM best; CREATE INDEX own ON trial (outcome)");
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err), TCB_OK);
	tcb_db_close(db);
}

static int count_best(void *ctx, const struct tcb_best *best)
{
	(void)best;
	(*(size_t *)ctx)++;
	return 0;
}

static int count_counter(void *ctx, const struct tcb_counter *counter)
{
	(void)counter;
	(*(size_t *)ctx)++;
	return 0;
}

static void find_line(void *ctx, const char *line)
{
	const char **wanted = ctx;

	if (*wanted && strstr(line, *wanted))
		*wanted = NULL;
}

/* The check finds WHAT. */
static void assert_named(struct tcb_db *db, const char *what)
{
	const char *wanted = what;

	assert_int_equal(tcb_db_check(db, find_line, &wanted, &err), TCB_E_FORMAT);
	if (wanted)
		fail_msg("no finding says: %s", what);
}

/* 200 characters, more than any text but messages and geometries has. */
#define LONG "hex(zeroblob(100))"

static void test_unreadable_best(void **state)
{
	static const struct {
		const char *sql, *line;
	} cases[] = {
		{ "UPDATE best SET variant = " LONG " WHERE id = 1", "best 1: its variant cannot be read" },
		{ "UPDATE best SET signature = 'a' || char(0) || 'b' WHERE id = 1", "best 1: its signature" },
		{ "UPDATE best SET tried = -1 WHERE id = 1", "best 1: its tried" },
		{ "UPDATE problem SET op = " LONG " WHERE id = 1", "best 1: its op" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *first;
		size_t count = 0;
		struct tcb_db *db;

		teardown(state);
		setup(state);
		tamper(cases[i].sql);
		assert_int_equal(tcb_db_open(fixture.path, TCB_DB_READ, &db, &err), TCB_OK);
		assert_int_equal(tcb_db_unreadable(db, NULL), 0);
		assert_int_equal(tcb_db_best_each(db, NULL, count_best, &count, &err), TCB_OK);
		assert_int_equal(count, 1);
		assert_int_equal(tcb_db_unreadable(db, &first), 1);
		assert_non_null(strstr(first, cases[i].line));
		assert_named(db, cases[i].line);
		tcb_db_close(db);
	}
}

static void test_unreadable_trial(void **state)
{
	struct tcb_trial *trials;
	struct tcb_db *db;
	size_t count;

	(void)state;
	tamper("UPDATE trial SET variant = " LONG " WHERE id = 1");
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_READ, &db, &err), TCB_OK);
	assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err), TCB_OK);
	/* The other one of this problem, with what belongs to it. */
	assert_int_equal(count, 1);
	assert_int_equal(trials[0].geometry.tile[TCB_MIDI].n, 2);
	assert_int_equal(trials[0].measurement_count, 1);
	assert_int_equal(trials[0].counter_count, 0);
	assert_int_equal(tcb_db_unreadable(db, NULL), 1);
	tcb_db_trials_free(trials, count);
	assert_named(db, "trial 1: its variant");
	tcb_db_close(db);
}

static void test_unreadable_parts(void **state)
{
	struct tcb_best best = { .state = TCB_COLD, .problem = problem, .threads = device.target.threads };
	struct tcb_trial *trials;
	struct tcb_db *db;
	size_t count;

	(void)state;
	best.problem = problem;
	strcpy(best.device_key, device.key);
	strcpy(best.device_name, device.name);
	tamper("UPDATE measurement SET samples = '[1,99999999999999999999,3]' WHERE trial_id = 1;"
	       "UPDATE counter SET name = " LONG " WHERE trial_id = 1");
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_READ, &db, &err), TCB_OK);
	assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err), TCB_OK);
	assert_int_equal(count, 2);
	assert_int_equal(trials[0].measurement_count, 0);
	assert_int_equal(trials[0].counter_count, 0);
	assert_int_equal(trials[1].measurement_count, 1);
	assert_true(trials[1].measurements[0].samples[1] == 1000);
	assert_int_equal(tcb_db_unreadable(db, NULL), 2);
	tcb_db_trials_free(trials, count);
	count = 0;
	assert_int_equal(tcb_db_counters_each(db, &best, count_counter, &count, &err), TCB_OK);
	assert_int_equal(count, 0);
	assert_named(db, "measurement 1: samples");
	assert_named(db, "counter of trial 1: its name");
	tcb_db_close(db);
}

static int count_tie(void *ctx, const char *geometry)
{
	(void)geometry;
	(*(size_t *)ctx)++;
	return 0;
}

static int keep_best(void *ctx, const struct tcb_best *best)
{
	*(struct tcb_best *)ctx = *best;
	return 1;
}

static void test_many_ties(void **state)
{
	struct tcb_best best;
	struct tcb_db *db;
	size_t count = 0;

	(void)state;
	tamper("WITH RECURSIVE c(x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM c WHERE x < 100000)"
	       " INSERT INTO tie_set SELECT id, x, 'x' FROM c, best");
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_READ, &db, &err), TCB_OK);
	assert_int_equal(tcb_db_best_each(db, NULL, keep_best, &best, &err), TCB_OK);
	assert_int_equal(tcb_db_ties_each(db, &best, count_tie, &count, &err), TCB_OK);
	assert_int_equal(count, TCB_DB_TIES_MAX);
	tcb_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_schema, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_objects, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable_best, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable_trial, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreadable_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_ties, setup, teardown),
	};
	return cmocka_run_group_tests_name("db.hostile", tests, NULL, NULL);
}
