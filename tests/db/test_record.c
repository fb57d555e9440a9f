/* SPDX-License-Identifier: MIT
 *
 * What is written arrives as SQL sees it: rows, samples as a JSON array, one
 * row per distinct device, build, op and problem.
 */
#include <math.h>
#include <sqlite3.h>

#include "cmocka_all.h"
#include "db/db_private.h"
#include "db_fixture.h"

static struct fixture fixture;
static struct tcb_db *db;
static struct tcb_device device;
static struct tcb_problem problem;
static struct tcb_error err;

static int setup(void **state)
{
	(void)state;
	fixture_init(&fixture);
	fixture_device(&device);
	problem = fixture_problem(4096, 4096);
	return tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err) == TCB_OK ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	tcb_db_close(db);
	fixture_fini(&fixture);
	return 0;
}

/* The first column of the first row of SQL, as another program would see it now. */
static const char *ask(const char *sql)
{
	static char answer[1024];
	sqlite3 *other;
	sqlite3_stmt *stmt;
	const unsigned char *text;

	assert_int_equal(sqlite3_open(fixture.path, &other), SQLITE_OK);
	if (sqlite3_prepare_v2(other, sql, -1, &stmt, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(other));
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	text = sqlite3_column_text(stmt, 0);
	snprintf(answer, sizeof(answer), "%s", text ? (const char *)text : "NULL");
	sqlite3_finalize(stmt);
	sqlite3_close(other);
	return answer;
}

static void test_sweep_rows(void **state)
{
	struct tcb_problem other = fixture_problem(4096, 14336);
	int64_t first = fixture_sweep(db, &device, &problem, &err);
	int64_t second = fixture_sweep(db, &device, &problem, &err);
	int64_t third = fixture_sweep(db, &device, &other, &err);

	(void)state;
	assert_true(first > 0 && second > first && third > second);
	strcpy(device.os, "Linux 6.2"); /* of the sweep, not of the hardware */
	assert_true(fixture_sweep(db, &device, &problem, &err) > 0);
	assert_string_equal(ask("SELECT count(*) FROM device"), "1");
	assert_string_equal(ask("SELECT group_concat(DISTINCT os) FROM sweep"), "Linux 6.1,Linux 6.2");
	device.target.threads = 1;
	assert_true(fixture_sweep(db, &device, &problem, &err) > 0);
	assert_string_equal(ask("SELECT count(*) FROM device"), "2");
	assert_string_equal(ask("SELECT count(*) FROM problem"), "2");
	assert_string_equal(ask("SELECT count(*) FROM build"), "1");
	assert_string_equal(ask("SELECT count(*) FROM op"), "1");
	assert_string_equal(ask("SELECT isa FROM device"), "[\"scalar\",\"avx2\"]");
	assert_string_equal(ask("SELECT seed FROM sweep"), "18446744073709551615");
	assert_string_equal(ask("SELECT rotation_bytes FROM sweep"), "1");
}

static void test_sweep_end(void **state)
{
	int64_t sweep = fixture_sweep(db, &device, &problem, &err);

	(void)state;
	assert_string_equal(ask("SELECT status || ifnull(ended_at, ' -') FROM sweep"), "running -");
	assert_int_equal(tcb_db_sweep_end(db, sweep, "complete", &err), TCB_OK);
	assert_string_equal(ask("SELECT status || (ended_at >= started_at) FROM sweep"), "complete1");
	assert_int_equal(tcb_db_sweep_end(db, sweep, "no such status", &err), TCB_E_FAILED);
	assert_int_equal(tcb_db_sweep_end(db, sweep + 1, "complete", &err), TCB_E_NOT_FOUND);
}

static void test_trial(void **state)
{
	double samples[] = { 1200.4, 1199.6, NAN, 0 };
	struct tcb_measurement measurements[] = {
		{ .state = TCB_COLD,
		  .stage = TCB_STAGE_SCREEN,
		  .ns = { 1200, 1199, 1201 },
		  .sample_count = 4,
		  .samples = samples,
		  .dropped_early = 1 },
		{ .state = TCB_HOT, .stage = TCB_STAGE_FINAL, .ns = { NAN, NAN, NAN } }
	};
	struct tcb_counter counters[] = { { "page-faults", "perf-software", TCB_COLD, 12.5 } };
	struct tcb_trial trial = { .variant = "v",
				   .signature = "s",
				   .outcome = TCB_OUTCOME_OK,
				   .class_checked = TCB_CLASS_EXACT,
				   .pack_ns = 5e6,
				   .prepare_ns = 7e6,
				   .verify_ns = NAN,
				   .measurement_count = 2,
				   .measurements = measurements,
				   .counter_count = 1,
				   .counters = counters };
	int64_t sweep = fixture_sweep(db, &device, &problem, &err);

	(void)state;
	fixture_geometry(3, &trial.geometry);
	assert_int_equal(tcb_db_trial_put(db, sweep, &trial, &err), TCB_OK);
	/* Visible to others at once. */
	assert_string_equal(ask("SELECT geometry FROM trial"),
			    "macro=1x4096x4096,midi=1x4x4096,micro=1x1x256,isa=avx2,layout=native,prefetch=512");
	assert_string_equal(ask("SELECT samples FROM measurement WHERE state = 'cold'"), "[1200,1200,null,0]");
	assert_string_equal(ask("SELECT total(value) FROM measurement, json_each(samples)"), "2400.0");
	assert_string_equal(ask("SELECT dropped_early || sample_count FROM measurement WHERE stage = 'screen'"), "14");
	assert_string_equal(ask("SELECT samples || ifnull(median_ns, ' none') FROM measurement WHERE state = 'hot'"),
			    "[] none");
	assert_string_equal(ask("SELECT name || ' ' || value FROM counter WHERE source = 'perf-software'"),
			    "page-faults 12.5");
	assert_string_equal(ask("SELECT class || pack_ns FROM trial"), "exact5000000.0");
	assert_string_equal(ask("SELECT prepare_ns || ifnull(verify_ns, ' unknown') FROM trial"), "7000000.0 unknown");
}

/* One trial a second is synced to the disk; whatever else is written, always. */
static void test_syncs(void **state)
{
	struct tcb_trial trial = { .variant = "v", .signature = "s", .outcome = TCB_OUTCOME_WRONG };
	int64_t sweep = fixture_sweep(db, &device, &problem, &err), level;

	(void)state;
	fixture_geometry(4, &trial.geometry);
	assert_int_equal(db->next_sync_ns, 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(tcb_db_trial_put(db, sweep, &trial, &err), TCB_OK);
		assert_true(db->next_sync_ns > 0);
		assert_int_equal(tcb_db_pragma(db, "synchronous", &level), SQLITE_OK);
		assert_int_equal(level, 2);
	}
	assert_string_equal(ask("SELECT count(*) FROM trial"), "3");
}

static void test_failed_trial(void **state)
{
	struct tcb_trial trial = { .variant = "v",
				   .signature = "s",
				   .outcome = TCB_OUTCOME_CRASHED,
				   .message = "signal 11 at 'x'; DROP TABLE trial",
				   .class_checked = TCB_CLASS_BOUNDED,
				   .error_ratio = INFINITY };
	int64_t sweep = fixture_sweep(db, &device, &problem, &err);

	(void)state;
	fixture_geometry(3, &trial.geometry);
	assert_int_equal(tcb_db_trial_put(db, sweep, &trial, &err), TCB_OK);
	assert_string_equal(ask("SELECT outcome || ': ' || message FROM trial"),
			    "crashed: signal 11 at 'x'; DROP TABLE trial");
	assert_string_equal(ask("SELECT error_ratio > 1e308 FROM trial"), "1");
}

/* A trial that cannot be stored whole is not stored at all. */
static void test_rolled_back(void **state)
{
	int64_t sweep = fixture_sweep(db, &device, &problem, &err);

	(void)state;
	assert_int_not_equal(fixture_put(db, sweep + 1, 0, 1000, &err), TCB_OK);
	assert_non_null(strstr(err.message, "FOREIGN KEY"));
	assert_string_equal(ask("SELECT count(*) FROM trial"), "0");
	assert_int_equal(fixture_put(db, sweep, 0, 1000, &err), TCB_OK);
	assert_string_equal(ask("SELECT count(*) FROM trial"), "1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sweep_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sweep_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trial, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_trial, setup, teardown),
		cmocka_unit_test_setup_teardown(test_syncs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rolled_back, setup, teardown),
	};
	return cmocka_run_group_tests_name("db.record", tests, NULL, NULL);
}
