/* SPDX-License-Identifier: MIT
 *
 * Migrations: version 6 and 7 of an imagined future are applied, or leave the
 * file untouched; a database of version 1 or 2 becomes what version 5 says, for
 * a reader without a change of its file.
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

/* Those of this build and one or two of its future: SQL of version NOW + 1 and, unless it is NULL, NOW + 2. */
enum { FUTURE = 2, MIGRATIONS_MAX = 32 };
struct future {
	struct tcb_migration list[MIGRATIONS_MAX];
	char sql[FUTURE][160];
	int count;
};

/* What %d stands for in SQL is its version. */
static void look_ahead(struct future *out, const char *const sql[FUTURE])
{
	assert_true(tcb_migration_count + FUTURE <= MIGRATIONS_MAX);
	memcpy(out->list, tcb_migrations, (size_t)tcb_migration_count * sizeof *out->list);
	out->count = tcb_migration_count;
	for (int i = 0; i < FUTURE && sql[i]; i++) {
		const char *mark = strstr(sql[i], "%d");

		snprintf(out->sql[i], sizeof out->sql[i], "%.*s", (int)(mark ? mark - sql[i] : 100), sql[i]);
		if (mark)
			snprintf(out->sql[i] + strlen(out->sql[i]), 12, "%d", out->count + 1);
		out->list[out->count] = (struct tcb_migration){ out->count + 1, out->sql[i] };
		out->count++;
	}
}

#define SIX "CREATE TABLE six (x); PRAGMA user_version = %d"

static void test_forward(void **state)
{
	struct fixture *fixture = *state;
	struct future future;
	struct tcb_error err;
	struct tcb_db *db;

	look_ahead(&future, (const char *const[]){ SIX, "CREATE TABLE seven (x); PRAGMA user_version = %d" });
	assert_int_equal(tcb_db_open(fixture->path, TCB_DB_WRITE, &db, &err), TCB_OK);
	assert_int_equal(version_of(db), tcb_migration_count);
	assert_int_equal(tcb_db_migrate(db, future.list, future.count, &err), TCB_OK);
	assert_int_equal(version_of(db), tcb_migration_count + 2);
	assert_true(has_table(db, "six") && has_table(db, "seven") && has_table(db, "trial"));
	assert_int_equal(tcb_db_migrate(db, future.list, future.count, &err), TCB_OK);
	/* To a build of the past it is too new. */
	assert_int_equal(tcb_db_migrate(db, future.list, tcb_migration_count, &err), TCB_E_VERSION);
	tcb_db_close(db);
}

static void test_all_or_nothing(void **state)
{
	struct fixture *fixture = *state;
	char seventh[64];
	struct {
		const char *sql[FUTURE];
		const char *message;
	} cases[] = { { { SIX, "CREATE TABLE seven (x); CREATE TABEL typo" }, seventh },
		      { { "CREATE TABLE six (x)" }, "user_version" },
		      { { "INSERT INTO tie_set VALUES (99, 0, ''); PRAGMA user_version = %d" }, "missing rows" } };
	struct tcb_error err;
	struct tcb_db *db;

	assert_int_equal(tcb_db_open(fixture->path, TCB_DB_WRITE, &db, &err), TCB_OK);
	sqlite3_exec(db->sql, "PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
	snprintf(seventh, sizeof seventh, "migrating it to schema version %d", tcb_migration_count + 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct future future;

		look_ahead(&future, cases[i].sql);
		assert_int_not_equal(tcb_db_migrate(db, future.list, future.count, &err), TCB_OK);
		if (!strstr(err.message, cases[i].message))
			fail_msg("%s", err.message);
		assert_int_equal(version_of(db), tcb_migration_count);
		assert_false(has_table(db, "six"));
		assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
	}
	tcb_db_close(db);
}

/* The file's bytes, for assert_unchanged; free them. */
static char *read_bytes(const char *path, size_t *count)
{
	FILE *file = fopen(path, "rb");
	char *bytes;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	*count = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*count);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *count, file), *count);
	fclose(file);
	return bytes;
}

static void assert_unchanged(const char *path, const char *before, size_t count_before)
{
	size_t count;
	char *now = read_bytes(path, &count);

	assert_int_equal(count, count_before);
	assert_memory_equal(now, before, count);
	free(now);
}

static void test_reader_migrates_a_copy(void **state)
{
	struct fixture *fixture = *state;
	struct future future;
	struct tcb_error err;
	struct tcb_db *db;
	size_t count;
	char *before = read_bytes(fixture->path, &count);

	assert_int_equal(tcb_db_open(fixture->path, TCB_DB_READ, &db, &err), TCB_OK);
	look_ahead(&future, (const char *const[]){ SIX, NULL });
	assert_int_equal(tcb_db_migrate(db, future.list, future.count, &err), TCB_OK);
	assert_int_equal(version_of(db), future.count);
	assert_true(has_table(db, "six"));
	/* Nothing is written into what is lost at the end. */
	assert_int_not_equal(tcb_db_exec(db, "DELETE FROM trial", "", &err), TCB_OK);
	tcb_db_close(db);
	assert_unchanged(fixture->path, before, count);
	free(before);
}

/* Rows of version 1 and what becomes of them: the columns that a migration may change. */
static const struct old_trial {
	int problem; /* 1: reduce2d_max 3x1, 2: softmax 511x17, 3: q4k_matvec 1x64x512; sweep of the same number */
	const char *outcome, *class, *message, *signature_after, *outcome_after, *message_after;
} old_trials[] = {
	{ 3, "ok", "bounded", "", "s", "ok", "" },
	{ 3, "timeout", "bounded", "too slow: right on small shapes", "s", "too_slow", "right on small shapes" },
	{ 3, "timeout", "bounded", "right on small shapes, by which a call would take more than 2 s, far", "s",
	  "too_slow", "right on small shapes, by which a call would take more than 2 s, far" },
	{ 3, "timeout", "bounded", "no answer for 10 s: too slow: ?", "s", "timeout",
	  "no answer for 10 s: too slow: ?" },
	{ 3, "crashed", "bounded", "too slow: no", "s", "crashed", "too slow: no" },
	{ 1, "wrong", "exact", "at 3x1 output [0][0] is 1 (3f800000), not exactly 2 (40000000)", "", "wrong",
	  "at 3x1 output [0][0] is 1 (3f800000), not exactly 2 (40000000)" },
	/* These are right to be wrong: another place, a small shape, a bound, another op. */
	{ 1, "wrong", "exact", "at 3x1 output [1][0] is 1 (3f800000), not exactly 2 (40000000)", "s", "wrong",
	  "at 3x1 output [1][0] is 1 (3f800000), not exactly 2 (40000000)" },
	{ 1, "wrong", "exact", "at 5x1 output [0][0] is 1 (3f800000), not exactly 2 (40000000)", "s", "wrong",
	  "at 5x1 output [0][0] is 1 (3f800000), not exactly 2 (40000000)" },
	{ 1, "wrong", "bounded", "at 3x1 output [0][0] is 1 (3f800000), not exactly 2 (40000000)", "s", "wrong",
	  "at 3x1 output [0][0] is 1 (3f800000), not exactly 2 (40000000)" },
	{ 2, "wrong", "exact", "at 511x17 output [0][0] is 1 (3f800000), not exactly 2 (40000000)", "s", "wrong",
	  "at 511x17 output [0][0] is 1 (3f800000), not exactly 2 (40000000)" },
	{ 2, "launch_failed", "bounded", "cannot be verified at any small shape: rows", "", "launch_failed",
	  "cannot be verified at any small shape: rows" },
	{ 2, "launch_failed", "bounded", "too many threads", "s", "launch_failed", "too many threads" },
};
enum { OLD_TRIALS = sizeof(old_trials) / sizeof(old_trials[0]) };

static void run_sql(sqlite3 *sql, const char *text)
{
	char *message = NULL;

	if (sqlite3_exec(sql, text, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", text, message);
}

/* A database as version 1 made them, with a row of each kind, a winner, and a view of the user's on trials. */
static void make_old(const char *path)
{
	sqlite3 *sql;

	assert_int_equal(unlink(path), 0);
	assert_int_equal(sqlite3_open(path, &sql), SQLITE_OK);
	run_sql(sql, tcb_migrations[0].sql);
	run_sql(sql,
		"PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;"
		"CREATE VIEW mine AS SELECT geometry FROM trial;"
		"INSERT INTO device VALUES (1, '0123456789abcdef', 'cpu', 2, 'cpu', 'x86_64-avx2', 'Test CPU', '[]',"
		" 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1);"
		"INSERT INTO build VALUES (1, '0.1.0', 'abc', 'GNU');"
		"INSERT INTO op VALUES (1, 'reduce2d_max', 'o'), (2, 'softmax', 'o'), (3, 'q4k_matvec', 'o');"
		"INSERT INTO problem VALUES (1, 'reduce2d_max', 'f32', 3, 1, 0), (2, 'softmax', 'f32', 511, 17, 0),"
		" (3, 'q4k_matvec', 'q8', 1, 64, 512);"
		"INSERT INTO sweep SELECT id, 1, id, id, 1, '', '', 'random', '1', 1, '{}', 'complete', 'then', 'then'"
		" FROM problem;");
	for (size_t i = 0; i < OLD_TRIALS; i++) {
		const struct old_trial *old = &old_trials[i];
		struct tcb_geometry geometry;
		char text[TCB_GEOMETRY_TEXT_MAX];
		char *insert;

		fixture_geometry(i, &geometry);
		tcb_geometry_print(&geometry, text);
		insert = sqlite3_mprintf(
			"INSERT INTO trial VALUES (%d, %d, '%q', 'v', 's', '%q', '%q', '%q', 0, 0, 'then')", (int)i + 1,
			old->problem, text, old->outcome, old->message, old->class);
		run_sql(sql, insert);
		sqlite3_free(insert);
	}
	run_sql(sql,
		"INSERT INTO measurement VALUES (1, 1, 'cold', 'screen', 10, 9, 11, 0, 3, '[10,9,11]');"
		"INSERT INTO counter VALUES (1, 'cold', 'papi', 'cycles', 7);"
		"INSERT INTO best SELECT 1, 1, 3, 'cold', 3, 1, geometry, 'v', 's', 0, 10, 9, 11, '', NULL, NULL, NULL,"
		" NULL, NULL, NULL, 0, 0, 0, '', 1, 1, 0, 1, 1, 1, 'then' FROM trial WHERE id = 1;"
		"INSERT INTO tie_set SELECT id, 0, geometry FROM best");
	assert_int_equal(sqlite3_close(sql), SQLITE_OK);
}

static void assert_migrated(struct tcb_db *db)
{
	struct tcb_error err = { 0 };
	sqlite3_stmt *stmt;
	int row;

	assert_int_equal(version_of(db), tcb_migration_count);
	assert_int_equal(
		tcb_db_query(db, &stmt, "", &err, "SELECT id, signature, outcome, message FROM trial ORDER BY id", ""),
		TCB_OK);
	for (size_t i = 0; i < OLD_TRIALS; i++) {
		assert_int_equal(tcb_db_step(db, stmt, &row, "", &err), TCB_OK);
		assert_int_equal(row, 1);
		assert_int_equal(sqlite3_column_int(stmt, 0), i + 1);
		assert_string_equal(sqlite3_column_text(stmt, 1), old_trials[i].signature_after);
		assert_string_equal(sqlite3_column_text(stmt, 2), old_trials[i].outcome_after);
		assert_string_equal(sqlite3_column_text(stmt, 3), old_trials[i].message_after);
	}
	sqlite3_finalize(stmt);
	assert_int_equal(tcb_db_exec(db, "SELECT count(*) FROM mine", "", &err), TCB_OK);
}

/* What the check says of a migrated database: the user's view, and nothing else. */
static void see_finding(void *ctx, const char *finding)
{
	(void)ctx;
	if (strncmp(finding, "schema:", 7) != 0)
		fail_msg("%s", finding);
}

static void test_version_1(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_db_info info;
	struct tcb_error err;
	struct tcb_db *db;
	size_t count;
	char *before;

	make_old(fixture->path);
	before = read_bytes(fixture->path, &count);
	assert_int_equal(tcb_db_open(fixture->path, TCB_DB_READ, &db, &err), TCB_OK);
	assert_migrated(db);
	assert_int_equal(tcb_db_info(db, &info, &err), TCB_OK);
	assert_int_equal(info.schema_version, 1);
	assert_string_equal(info.journal_mode, "wal");
	assert_int_equal(info.trials, OLD_TRIALS);
	assert_int_equal(info.trials_failed, OLD_TRIALS - 3);
	tcb_db_check(db, see_finding, NULL, &err);
	tcb_db_close(db);
	assert_unchanged(fixture->path, before, count);
	free(before);

	assert_int_equal(tcb_db_open(fixture->path, TCB_DB_WRITE, &db, &err), TCB_OK);
	assert_migrated(db);
	/* What refers to a trial still does, and must. */
	assert_int_not_equal(tcb_db_exec(db, "DELETE FROM trial WHERE id = 1", "", &err), TCB_OK);
	assert_int_equal(tcb_db_exec(db, "DROP VIEW mine", "", &err), TCB_OK);
	if (tcb_db_check(db, NULL, NULL, &err) != TCB_OK)
		fail_msg("%s", err.message);
	tcb_db_close(db);
	assert_int_equal(tcb_db_open(fixture->path, TCB_DB_READ, &db, &err), TCB_OK);
	assert_int_equal(tcb_db_info(db, &info, &err), TCB_OK);
	assert_int_equal(info.schema_version, tcb_migration_count);
	tcb_db_close(db);
}

/* Versions 3 to 5 add columns: a winner of version 2 was decided by finals, and what its trial cost nobody knows. */
static void test_version_2(void **state)
{
	struct fixture *fixture = *state;
	struct tcb_error err;
	struct tcb_db *db;
	sqlite3 *sql;
	size_t count;
	char *before;

	make_old(fixture->path);
	assert_int_equal(sqlite3_open(fixture->path, &sql), SQLITE_OK);
	run_sql(sql, tcb_migrations[1].sql);
	assert_int_equal(sqlite3_close(sql), SQLITE_OK);
	before = read_bytes(fixture->path, &count);
	for (int mode = TCB_DB_READ; mode <= TCB_DB_WRITE; mode++) {
		sqlite3_stmt *stmt;
		int64_t matching = 0;

		assert_int_equal(tcb_db_open(fixture->path, (enum tcb_db_mode)mode, &db, &err), TCB_OK);
		assert_migrated(db);
		assert_int_equal(tcb_db_query(db, &stmt, "", &err,
					      "SELECT count(*) FROM best b JOIN trial t ON t.id = b.trial_id WHERE"
					      " b.provisional = 0 AND b.flip_probability IS NULL"
					      " AND t.prepare_ns IS NULL AND t.verify_ns IS NULL",
					      ""),
				 TCB_OK);
		assert_int_equal(tcb_db_finish(db, stmt, &matching, "", &err), TCB_OK);
		assert_int_equal(matching, 1);
		tcb_db_close(db);
		if (mode == TCB_DB_READ)
			assert_unchanged(fixture->path, before, count);
	}
	free(before);
}

/* Version 12: windows of one query token are written as causal; what was measured of others, or twice, goes. */
static void test_windows(void **state)
{
	enum { BEFORE = 11 };
	static const char *const left[] = { "h2/1,w4,causal", "h1/1,w4,causal,ragged" };
	struct fixture *fixture = *state;
	struct tcb_error err = { 0 };
	struct tcb_db *db;
	sqlite3 *sql;

	make_old(fixture->path);
	assert_int_equal(sqlite3_open(fixture->path, &sql), SQLITE_OK);
	run_sql(sql, "DROP VIEW mine");
	for (int i = 1; i < BEFORE; i++)
		run_sql(sql, tcb_migrations[i].sql);
	run_sql(sql, "UPDATE problem SET m = 1, words = 'h2/1,w4,causal'"
		     " WHERE id = 1;"
		     "UPDATE problem SET words = 'h1/1,w4' WHERE id = 2;"
		     "UPDATE problem SET words = 'h1/1,w4,ragged' WHERE id = 3;"
		     "INSERT INTO problem SELECT 4, op, contract, m, n, k, 'h2/1,w4' FROM problem WHERE id = 1;"
		     "UPDATE sweep SET problem_id = 4 WHERE problem_id = 2");
	assert_int_equal(sqlite3_close(sql), SQLITE_OK);
	for (int mode = TCB_DB_READ; mode <= TCB_DB_WRITE; mode++) {
		sqlite3_stmt *stmt;
		int row;

		assert_int_equal(tcb_db_open(fixture->path, (enum tcb_db_mode)mode, &db, &err), TCB_OK);
		assert_int_equal(
			tcb_db_query(db, &stmt, "", &err,
				     "SELECT words FROM problem p WHERE EXISTS (SELECT 1 FROM sweep s JOIN trial t ON"
				     " t.sweep_id = s.id WHERE s.problem_id = p.id) ORDER BY id",
				     ""),
			TCB_OK);
		for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
			assert_int_equal(tcb_db_step(db, stmt, &row, "", &err), TCB_OK);
			assert_int_equal(row, 1);
			assert_string_equal(sqlite3_column_text(stmt, 0), left[i]);
		}
		assert_int_equal(tcb_db_step(db, stmt, &row, "", &err), TCB_OK);
		assert_int_equal(row, 0);
		sqlite3_finalize(stmt);
		if (tcb_db_check(db, NULL, NULL, &err) != TCB_OK)
			fail_msg("%s", err.message);
		if (mode == TCB_DB_WRITE) { /* words that no lookup asks for are named */
			assert_int_equal(tcb_db_exec(db, "UPDATE problem SET words = 'h1/1,b1' WHERE id = 3", "", &err),
					 TCB_OK);
			assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_E_FORMAT);
		}
		tcb_db_close(db);
	}
}

/* Version 13: limits are JSON, a kind is any name, and what a GPU's kernels depend on reads as before. */
static int take_gpu(void *ctx, const struct tcb_best *best)
{
	if (strcmp(best->device_name, "sm_90") == 0)
		*(struct tcb_target *)ctx = best->target;
	return 0;
}

static void find_unknown_kind(void *ctx, const char *finding)
{
	*(int *)ctx += strcmp(finding, "device 2: unknown kind abacus") == 0;
}

static void test_kinds(void **state)
{
	enum { BEFORE = 12 };
	static const char *const limits[] = {
		"{\"line_bytes\":64,\"l1d_bytes\":1,\"l2_bytes\":2,\"llc_bytes\":3}",
		"{\"capability\":90,\"sm_count\":132,\"shared_bytes\":232448,\"l2_bytes\":52428800}",
	};
	struct fixture *fixture = *state;
	struct tcb_error err = { 0 };
	struct tcb_target gpu = { 0 };
	struct tcb_db *db;
	sqlite3_stmt *stmt;
	sqlite3 *sql;
	int row, unknown = 0;

	make_old(fixture->path);
	assert_int_equal(sqlite3_open(fixture->path, &sql), SQLITE_OK);
	for (int i = 1; i < BEFORE; i++)
		run_sql(sql, tcb_migrations[i].sql);
	run_sql(sql, "UPDATE device SET line_bytes = 64, l1d_bytes = 1, l2_bytes = 2, llc_bytes = 3;"
		     "INSERT INTO device VALUES (2, '1123456789abcdef', 'sm_90', 0, 'cuda', 'sm_90', 'Test GPU', '[]',"
		     " 0, 0, 0, 132, 1, 0, 128, 0, 52428800, 52428800, 90, 132, 232448, 0, 1);"
		     "UPDATE best SET device_id = 2; UPDATE sweep SET device_id = 2 WHERE id = 3");
	assert_int_equal(sqlite3_close(sql), SQLITE_OK);
	assert_int_equal(tcb_db_open(fixture->path, TCB_DB_WRITE, &db, &err), TCB_OK);
	assert_int_equal(tcb_db_query(db, &stmt, "", &err, "SELECT limits FROM device ORDER BY id", ""), TCB_OK);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		assert_int_equal(tcb_db_step(db, stmt, &row, "", &err), TCB_OK);
		assert_int_equal(row, 1);
		assert_string_equal(sqlite3_column_text(stmt, 0), limits[i]);
	}
	sqlite3_finalize(stmt);
	assert_int_equal(tcb_db_best_each(db, NULL, take_gpu, &gpu, &err), TCB_OK);
	assert_int_equal(gpu.kind, TCB_TARGET_CUDA);
	assert_int_equal(gpu.cuda.capability, 90);
	assert_int_equal(gpu.cuda.shared_optin_bytes, 232448);
	assert_int_equal(gpu.cuda.block_threads_max, 1024);
	(void)tcb_db_check(db, find_unknown_kind, &unknown, &err);
	assert_int_equal(unknown, 0);
	/* What this build does not know is named, and left out when it is read. */
	assert_int_equal(tcb_db_exec(db, "UPDATE device SET kind = 'abacus' WHERE id = 2", "", &err), TCB_OK);
	assert_int_equal(tcb_db_check(db, find_unknown_kind, &unknown, &err), TCB_E_FORMAT);
	assert_int_equal(unknown, 1);
	gpu = (struct tcb_target){ 0 };
	assert_int_equal(tcb_db_best_each(db, NULL, take_gpu, &gpu, &err), TCB_OK);
	assert_int_equal(gpu.cuda.capability, 0);
	tcb_db_close(db);
}

/* What is damaged in an old file costs itself only, and the check of the file finds it. */
static void test_damaged_old(void **state)
{
	static const char *const damages[] = {
		"PRAGMA ignore_check_constraints = ON; UPDATE trial SET outcome = 'fine' WHERE id = 1",
		"PRAGMA foreign_keys = OFF; UPDATE trial SET sweep_id = 99 WHERE id = 2",
		"PRAGMA ignore_check_constraints = ON; UPDATE best SET state = 'warm'",
	};
	static const char *const findings[] = { "CHECK", "missing sweep", "CHECK" };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct tcb_error err = { 0 };
		struct tcb_db *db;
		sqlite3 *sql;

		make_old(fixture->path);
		assert_int_equal(sqlite3_open(fixture->path, &sql), SQLITE_OK);
		run_sql(sql, "DROP VIEW mine");
		if (i == 2)
			run_sql(sql, tcb_migrations[1].sql);
		run_sql(sql, damages[i]);
		assert_int_equal(sqlite3_close(sql), SQLITE_OK);
		if (tcb_db_open(fixture->path, TCB_DB_READ, &db, &err) != TCB_OK)
			fail_msg("%s: %s", damages[i], err.message);
		assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_E_FORMAT);
		if (!strstr(err.message, findings[i]))
			fail_msg("%s: %s", damages[i], err.message);
		tcb_db_close(db);
	}
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
		cmocka_unit_test_setup_teardown(test_reader_migrates_a_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_version_1, setup, teardown),
		cmocka_unit_test_setup_teardown(test_version_2, setup, teardown),
		cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kinds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged_old, setup, teardown),
		cmocka_unit_test(test_concurrent_creation),
	};
	return cmocka_run_group_tests_name("db.migrate", tests, NULL, NULL);
}
