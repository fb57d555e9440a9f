/* SPDX-License-Identifier: MIT
 *
 * Merging: all of it or nothing, the same winners in any order, nothing twice,
 * and a winner that says when finals are outstanding.
 */
#include <signal.h>
#include <sys/wait.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "db/db_private.h"
#include "db_fixture.h"
#include "instrumented.h"

enum { FILES = 4 };

static struct fixture files[FILES], target;
static struct tcb_error err;

static int setup(void **state)
{
	(void)state;
	fixture_init(&target);
	for (size_t i = 0; i < FILES; i++)
		fixture_init(&files[i]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_fini(&target);
	for (size_t i = 0; i < FILES; i++)
		fixture_fini(&files[i]);
	return 0;
}

static struct tcb_db *opened(const struct fixture *fixture)
{
	struct tcb_db *db;

	if (tcb_db_open(fixture->path, TCB_DB_WRITE, &db, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return db;
}

static void run_sql(struct tcb_db *db, const char *sql)
{
	if (tcb_db_exec(db, sql, "testing", &err) != TCB_OK)
		fail_msg("%s: %s", sql, err.message);
}

/* What sweeps are made of: of problem N (its n) trials FIRST to FIRST + COUNT, the first of which won. */
struct plan {
	size_t n, first, count;
	const char *settings, *status; /* NULL: running */
	double speedup;
	int provisional, modelled;
};

static void put_sweep(struct tcb_db *db, const struct plan *plan)
{
	struct tcb_device device;
	struct tcb_problem problem = fixture_problem(plan->n, 4096);
	static int put; /* each has a later time than those before */
	char sql[500];
	int64_t sweep;

	fixture_device(&device);
	sweep = fixture_sweep(db, &device, &problem, &err);
	assert_int_not_equal(sweep, 0);
	for (size_t i = plan->first; i < plan->first + plan->count && !plan->modelled; i++)
		assert_int_equal(fixture_put(db, sweep, i, 1000 + (double)i, &err), TCB_OK);
	if (fixture_put_best(db, sweep, plan->first, 1000, plan->modelled, &err) != TCB_OK)
		fail_msg("%s", err.message);
	snprintf(sql, sizeof sql,
		 "UPDATE sweep SET settings = '%s' WHERE id = %lld; UPDATE best SET speedup = %g, speedup_lo = 0,"
		 " speedup_hi = 9, provisional = %d,"
		 " measured_at = strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', '2026-01-01', '+%d seconds') WHERE sweep_id = "
		 "%lld",
		 plan->settings ? plan->settings : "{}", (long long)sweep, plan->speedup, plan->provisional, ++put,
		 (long long)sweep);
	run_sql(db, sql);
	if (plan->status)
		assert_int_equal(tcb_db_sweep_end(db, sweep, plan->status, &err), TCB_OK);
}

static struct tcb_db_merged merge(const struct fixture *into, const struct fixture *const *from, size_t count)
{
	const char *paths[FILES];
	struct tcb_db_merged merged;
	struct tcb_db *db = opened(into);

	for (size_t i = 0; i < count; i++)
		paths[i] = from[i]->path;
	if (tcb_db_merge(db, paths, count, &merged, &err) != TCB_OK)
		fail_msg("%s", err.message);
	if (tcb_db_check(db, NULL, NULL, &err) != TCB_OK)
		fail_msg("%s", err.message);
	tcb_db_close(db);
	return merged;
}

static struct tcb_db_merged merge_one(const struct fixture *into, const struct fixture *from)
{
	return merge(into, &from, 1);
}

/* What SQL selects, a line a row. */
static char *listed(const struct fixture *fixture, const char *sql)
{
	struct tcb_str out = { 0 };
	struct tcb_db *db = opened(fixture);
	sqlite3_stmt *stmt;
	int row;

	assert_int_equal(sqlite3_prepare_v2(db->sql, sql, -1, &stmt, NULL), SQLITE_OK);
	tcb_str_add(&out, "");
	while (tcb_db_step(db, stmt, &row, "", &err) == TCB_OK && row)
		for (int i = 0; i < sqlite3_column_count(stmt); i++)
			tcb_str_addf(&out, "%s%s", (const char *)sqlite3_column_text(stmt, i),
				     i + 1 < sqlite3_column_count(stmt) ? " " : "\n");
	sqlite3_finalize(stmt);
	tcb_db_close(db);
	return out.data;
}

/* All that a winner says, row numbers left out. */
static char *winners(const struct fixture *fixture)
{
	return listed(fixture,
		      "SELECT d.key, d.name, d.threads, p.op, p.contract, p.m, p.n, p.k, b.state, s.uid, b.geometry,"
		      " b.signature, b.modelled, b.provisional, b.median_ns, ifnull(b.speedup, '-'), b.measured_at,"
		      " ifnull(t.finished_at, '-'), b.tie_count, (SELECT group_concat(geometry, ' | ') FROM (SELECT"
		      " geometry FROM tie_set WHERE best_id = b.id ORDER BY position)) FROM best b JOIN device d ON"
		      " d.id = b.device_id JOIN problem p ON p.id = b.problem_id JOIN sweep s ON s.id = b.sweep_id"
		      " LEFT JOIN trial t ON t.id = b.trial_id ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9");
}

/* Sweeps with where they come from, what they knew, and their trials with samples. */
static char *all_rows(const struct fixture *fixture)
{
	return listed(fixture,
		      "SELECT 'sweep', s.uid, s.status, s.started_at, s.settings, s.seed, u.git_commit, o.signature"
		      " FROM sweep s JOIN build u ON u.id = s.build_id JOIN op o ON o.id = s.op_id UNION ALL"
		      " SELECT 'knows', s.uid, k.known_uid, 0, 0, 0, 0, 0 FROM sweep_known k JOIN sweep s ON s.id ="
		      " k.sweep_id UNION ALL"
		      " SELECT 'trial', s.uid, t.geometry, t.outcome, t.finished_at, m.state, m.stage, m.samples"
		      " FROM trial t JOIN sweep s ON s.id = t.sweep_id JOIN measurement m ON m.trial_id = t.id"
		      " ORDER BY 1, 2, 3, 4, 5, 6, 7, 8");
}

static void forget(const struct fixture *fixture)
{
	static const char *const endings[] = { "", "-wal", "-shm" };
	char path[160];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s%s", fixture->path, endings[i]);
		unlink(path);
	}
}

/*
 * Four databases that overlap.  Problem 64: shards of two machines, one of them killed and run again; 128: the same
 * space swept twice, on two machines; 192: modelled here, measured there; 256: in one file only; 320: one sweep knows
 * the other.
 */
static void make_four(void)
{
	static const char first[] = "{\"shard\":\"1/2\"}", second[] = "{\"shard\":\"2/2\"}";
	struct tcb_db *db = opened(&files[0]);

	put_sweep(db, &(struct plan){ 64, 0, 6, first, "complete", 1.5, 1, 0 });
	put_sweep(db, &(struct plan){ 128, 0, 5, NULL, "complete", 2, 0, 0 });
	put_sweep(db, &(struct plan){ 320, 0, 5, NULL, "budget", 2, 0, 0 });
	tcb_db_close(db);
	merge_one(&files[1], &files[0]);
	db = opened(&files[1]);
	put_sweep(db, &(struct plan){ 64, 10, 3, second, NULL, 1.9, 1, 0 });
	put_sweep(db, &(struct plan){ 192, 0, 5, NULL, "complete", 3, 0, 1 });
	put_sweep(db, &(struct plan){ 320, 5, 5, NULL, "complete", 2, 0, 0 });
	tcb_db_close(db);
	db = opened(&files[2]);
	put_sweep(db, &(struct plan){ 64, 10, 6, second, "complete", 1.7, 1, 0 });
	put_sweep(db, &(struct plan){ 128, 3, 5, NULL, "complete", 1.1, 0, 0 });
	put_sweep(db, &(struct plan){ 192, 2, 5, NULL, "complete", 1.2, 0, 0 });
	tcb_db_close(db);
	merge_one(&files[3], &files[2]);
	db = opened(&files[3]);
	put_sweep(db, &(struct plan){ 256, 0, 5, NULL, "interrupted", 2, 1, 0 });
	put_sweep(db, &(struct plan){ 64, 0, 4, first, "budget", 1.2, 1, 0 });
	tcb_db_close(db);
}

static void test_24_orders(void **state)
{
	char *best = NULL, *rows = NULL;
	size_t orders = 0;

	(void)state;
	make_four();
	for (size_t code = 0; code < 256; code++) {
		const size_t order[FILES] = { code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6 };
		const struct fixture *from[FILES];
		unsigned seen = 0;

		for (size_t i = 0; i < FILES; i++) {
			seen |= 1u << order[i];
			from[i] = &files[order[i]];
		}
		if (seen != 15)
			continue;
		/* One after the other, two by two, and all at once. */
		if (orders % 3 == 0) {
			for (size_t i = 0; i < FILES; i++)
				merge_one(&target, from[i]);
		} else if (orders % 3 == 1) {
			merge(&target, from, 2);
			merge(&target, from + 2, 2);
		} else {
			merge(&target, from, FILES);
		}
		char *best_now = winners(&target), *rows_now = all_rows(&target);
		if (!best) {
			best = best_now;
			rows = rows_now;
		} else {
			assert_string_equal(best_now, best);
			assert_string_equal(rows_now, rows);
			free(best_now);
			free(rows_now);
		}
		forget(&target);
		orders++;
	}
	assert_int_equal(orders, 24);
	free(best);
	free(rows);
}

static void assert_listed(const char *sql, const char *want)
{
	char *have = listed(&target, sql);

	assert_string_equal(have, want);
	free(have);
}

static void test_which_winner_stays(void **state)
{
	const struct fixture *all[FILES] = { &files[0], &files[1], &files[2], &files[3] };

	(void)state;
	make_four();
	merge(&target, all, FILES);
	assert_listed(
		"SELECT p.n, b.speedup, b.provisional, b.modelled FROM best b JOIN problem p ON p.id = b.problem_id"
		" ORDER BY 1",
		"64 1.7 1 0\n"    /* of the shards that ended, the one that gained most; finals are outstanding */
		"128 1.1 1 0\n"   /* the later of two machines', which never met */
		"192 1.2 0 0\n"   /* measured, not modelled */
		"256 2.0 1 0\n"   /* as it was */
		"320 2.0 0 0\n"); /* its finals knew the other */
}

static void test_nothing_is_added_twice(void **state)
{
	struct tcb_db_merged merged;

	(void)state;
	make_four();
	merged = merge_one(&target, &files[1]);
	assert_int_equal(merged.sweeps, 6);
	assert_int_equal(merged.trials, 6 + 5 + 5 + 3 + 5);
	assert_int_equal(merged.best, 4);
	char *best = winners(&target), *rows = all_rows(&target);
	for (int i = 0; i < 2; i++) {
		merged = merge_one(&target, i == 0 ? &files[1] : &target);
		assert_int_equal(merged.sweeps + merged.trials + merged.best, 0);
		char *best_now = winners(&target), *rows_now = all_rows(&target);
		assert_string_equal(best_now, best);
		assert_string_equal(rows_now, rows);
		free(best_now);
		free(rows_now);
	}
	/* What it was made of. */
	merged = merge_one(&target, &files[0]);
	assert_int_equal(merged.sweeps + merged.trials, 0);
	free(best);
	free(rows);
}

/* Once finals were held among all that were merged, the parts change nothing any more. */
static void test_finals_settle_it(void **state)
{
	const struct fixture *all[FILES] = { &files[0], &files[1], &files[2], &files[3] };
	struct tcb_db *db;
	char *best;

	(void)state;
	make_four();
	merge(&target, all, FILES);
	db = opened(&target);
	put_sweep(db, &(struct plan){ 64, 0, 1, NULL, "complete", 1.1, 0, 0 });
	put_sweep(db, &(struct plan){ 128, 0, 1, NULL, "complete", 1.1, 0, 0 });
	tcb_db_close(db);
	best = winners(&target);
	for (size_t i = 0; i < FILES; i++)
		assert_int_equal(merge_one(&target, all[i]).best, 0);
	char *now = winners(&target);
	assert_string_equal(now, best);
	free(now);
	/* The other way round: the finals come to a part. */
	merge_one(&files[0], &target);
	now = winners(&files[0]);
	assert_string_equal(now, best);
	free(now);
	free(best);
	/* A sweep that they did not know makes them provisional again. */
	db = opened(&files[1]);
	put_sweep(db, &(struct plan){ 64, 30, 1, NULL, "complete", 3, 0, 0 });
	tcb_db_close(db);
	merge_one(&target, &files[1]);
	assert_listed(
		"SELECT b.speedup, b.provisional FROM best b JOIN problem p ON p.id = b.problem_id WHERE p.n = 64",
		"3.0 1\n");
}

/* A file that was copied while its sweep ran, then again: the sweep is one, and has ended. */
static void test_a_sweep_goes_on(void **state)
{
	struct tcb_device device;
	struct tcb_problem problem = fixture_problem(64, 4096);
	struct tcb_db *db = opened(&files[0]);
	struct tcb_db_merged merged;
	int64_t sweep;

	(void)state;
	fixture_device(&device);
	sweep = fixture_sweep(db, &device, &problem, &err);
	for (size_t i = 0; i < 3; i++) /* the same candidate, twice in a millisecond perhaps */
		assert_int_equal(fixture_put(db, sweep, i / 2, 1000, &err), TCB_OK);
	merged = merge_one(&target, &files[0]);
	assert_true(merged.sweeps == 1 && merged.trials == 3);
	assert_int_equal(fixture_put(db, sweep, 1, 1000, &err), TCB_OK);
	assert_int_equal(tcb_db_sweep_end(db, sweep, "complete", &err), TCB_OK);
	merged = merge_one(&target, &files[0]);
	assert_true(merged.sweeps == 0 && merged.trials == 1);
	assert_listed("SELECT status, ended_at IS NOT NULL FROM sweep", "complete 1\n");
	tcb_db_close(db);
}

/* The newest trial of a geometry is the newest by time, whichever file came first. */
static void test_newest_trial(void **state)
{
	struct tcb_device device;
	struct tcb_problem problem = fixture_problem(64, 4096);
	struct tcb_trial *trials;
	size_t count;

	(void)state;
	fixture_device(&device);
	for (size_t i = 0; i < 2; i++) {
		struct tcb_db *db = opened(&files[i]);
		int64_t sweep = fixture_sweep(db, &device, &problem, &err);

		assert_int_equal(fixture_put(db, sweep, 7, i ? 2000 : 1000, &err), TCB_OK);
		run_sql(db, i ? "UPDATE trial SET finished_at = '2026-01-02T00:00:00.000Z'"
			      : "UPDATE trial SET finished_at = '2026-01-01T00:00:00.000Z'");
		tcb_db_close(db);
	}
	for (int order = 0; order < 2; order++) {
		merge_one(&target, &files[order]);
		merge_one(&target, &files[!order]);
		struct tcb_db *db = opened(&target);
		assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err), TCB_OK);
		assert_int_equal(count, 1);
		assert_true(trials->measurement_count == 1 && trials->measurements->ns.median == 2000);
		tcb_db_trials_free(trials, count);
		tcb_db_close(db);
		forget(&target);
	}
}

static void test_refused(void **state)
{
	const char *paths[] = { files[0].path, files[1].path };
	struct tcb_db_merged merged;
	struct tcb_db *db;

	(void)state;
	make_four();
	db = opened(&files[1]);
	run_sql(db, "UPDATE best SET tie_count = 9");
	tcb_db_close(db);
	db = opened(&target);
	assert_int_equal(tcb_db_merge(db, paths, 2, &merged, &err), TCB_E_FORMAT);
	assert_non_null(strstr(err.message, files[1].path));
	assert_non_null(strstr(err.message, "nothing was merged"));
	paths[1] = "/nowhere/at.db";
	assert_int_equal(tcb_db_merge(db, paths, 2, &merged, &err), TCB_E_NOT_FOUND);
	assert_listed("SELECT count(*) FROM sweep", "0\n");
	/* Another sweep with the name of one that is here. */
	paths[1] = files[2].path;
	assert_int_equal(tcb_db_merge(db, paths, 1, &merged, &err), TCB_OK);
	tcb_db_close(db);
	db = opened(&files[2]);
	char *uid = listed(&target, "SELECT uid FROM sweep WHERE id = 2");
	uid[strlen(uid) - 1] = '\0';
	char *sql = sqlite3_mprintf("UPDATE sweep SET uid = %Q WHERE id = 1", uid);
	run_sql(db, sql);
	sqlite3_free(sql);
	free(uid);
	tcb_db_close(db);
	db = opened(&target);
	char *before = all_rows(&target);
	assert_int_equal(tcb_db_merge(db, paths + 1, 1, &merged, &err), TCB_E_FORMAT);
	tcb_db_close(db);
	char *after = all_rows(&target);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

/* A file of version 1 is merged, twice adds nothing, and stays as it was. */
static void test_old_version(void **state)
{
	static const struct fixture old = { .path = TCB_SOURCE_DIR "/tests/fuzz/corpus/db/version_1" };
	struct tcb_db_merged merged;

	(void)state;
	merged = merge_one(&target, &old);
	assert_true(merged.sweeps > 0 && merged.trials > 0 && merged.best > 0);
	merged = merge_one(&target, &old);
	assert_int_equal(merged.sweeps + merged.trials + merged.best, 0);
}

/* kill -9 at any moment: what was merged is there, or nothing of it is. */
static void test_kill(void **state)
{
	enum { KILLS = TEST_IS_INSTRUMENTED ? 5 : 16, EACH = 800 };
	const char *paths[] = { files[0].path, files[1].path };
	struct tcb_rng rng;
	size_t nothing = 0, all = 0;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct tcb_db *db = opened(&files[i]);
		run_sql(db, "PRAGMA synchronous = OFF");
		put_sweep(db, &(struct plan){ 64, i * EACH, EACH, NULL, "complete", 2, 0, 0 });
		tcb_db_close(db);
	}
	tcb_rng_init(&rng, tcb_clock_ns());
	uint64_t whole_us = 0;
	for (size_t i = 0; i <= KILLS; i++) {
		const uint64_t start = tcb_clock_ns();
		int status;

		tcb_db_close(opened(&target));
		pid_t child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			struct tcb_db_merged merged;
			struct tcb_db *db;

			_exit(tcb_db_open(target.path, TCB_DB_WRITE, &db, NULL) != TCB_OK ||
			      tcb_db_merge(db, paths, 2, &merged, NULL) != TCB_OK);
		}
		if (i > 0) { /* the first shows how long it takes */
			usleep((useconds_t)tcb_rng_below(&rng, whole_us + whole_us / 8 + 1));
			kill(child, SIGKILL);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		if (i == 0)
			whole_us = (tcb_clock_ns() - start) / 1000;
		char *have = listed(&target, "SELECT (SELECT count(*) FROM device), (SELECT count(*) FROM sweep),"
					     " (SELECT count(*) FROM trial), (SELECT count(*) FROM measurement),"
					     " (SELECT count(*) FROM best), (SELECT count(*) FROM tie_set)");
		char want[80];
		snprintf(want, sizeof want, "1 2 %d %d 1 2\n", 2 * EACH, 2 * EACH);
		if (strcmp(have, "0 0 0 0 0 0\n") == 0)
			nothing++;
		else if (strcmp(have, want) == 0)
			all++;
		else
			fail_msg("half done: %s", have);
		free(have);
		struct tcb_db *db = opened(&target);
		assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
		tcb_db_close(db);
		forget(&target);
	}
	print_message("of %d merges that were killed, %zu had done nothing and %zu all\n", KILLS, nothing, all - 1);
	assert_true(nothing > 0 && all > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_24_orders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_which_winner_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_added_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_finals_settle_it, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_sweep_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newest_trial, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_old_version, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kill, setup, teardown),
	};
	return cmocka_run_group_tests_name("db.merge", tests, NULL, NULL);
}
