/* SPDX-License-Identifier: MIT
 *
 * The check finds what it should: each way to break a database is planted and
 * must be found, flipped bytes included; a sound one has no findings.
 */
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "db_fixture.h"

static struct fixture fixture;
static struct tcb_error err;

static int setup(void **state)
{
	struct tcb_device device;
	struct tcb_problem problem = fixture_problem(4096, 4096), other = fixture_problem(1024, 1024);
	struct tcb_db *db;
	int64_t sweep;

	(void)state;
	fixture_init(&fixture);
	fixture_device(&device);
	if (tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err) != TCB_OK)
		return -1;
	sweep = fixture_sweep(db, &device, &problem, &err);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(fixture_put(db, sweep, i, 1000, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, sweep, 0, 1000, 0, &err), TCB_OK);
	assert_true(fixture_sweep(db, &device, &other, &err) > 0);
	tcb_db_close(db);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_fini(&fixture);
	return 0;
}

struct findings {
	size_t count;
	char first[400];
};

static void note(void *ctx, const char *finding)
{
	struct findings *findings = ctx;

	if (findings->count++ == 0)
		snprintf(findings->first, sizeof(findings->first), "%s", finding);
}

static enum tcb_status check(struct findings *findings)
{
	struct tcb_db *db;
	enum tcb_status status = tcb_db_open(fixture.path, TCB_DB_READ, &db, &err);

	memset(findings, 0, sizeof(*findings));
	if (status == TCB_OK)
		status = tcb_db_check(db, note, findings, &err);
	tcb_db_close(db);
	return status;
}

static void test_sound(void **state)
{
	struct findings findings;
	struct tcb_db *db;
	struct tcb_db_info info;

	(void)state;
	assert_int_equal(check(&findings), TCB_OK);
	assert_int_equal(findings.count, 0);
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_READ, &db, &err), TCB_OK);
	assert_int_equal(tcb_db_info(db, &info, &err), TCB_OK);
	assert_int_equal(info.devices, 1);
	assert_int_equal(info.problems, 2);
	assert_int_equal(info.sweeps, 2);
	assert_int_equal(info.sweeps_running, 2);
	assert_int_equal(info.trials, 20);
	assert_int_equal(info.trials_failed, 0);
	assert_int_equal(info.samples, 60);
	assert_int_equal(info.best, 1);
	assert_true(info.file_bytes > 4096);
	tcb_db_close(db);
}

static void test_planted(void **state)
{
	static const struct {
		const char *sql, *finding;
	} cases[] = {
		{ "PRAGMA foreign_keys = OFF; UPDATE trial SET sweep_id = 99 WHERE id = 7", "trial row 7" },
		{ "UPDATE sweep SET op_id = (SELECT max(id) FROM op)", "its op is softmax" },
		{ "UPDATE sweep SET ended_at = 'x' WHERE id = 1", "'running' and ended" },
		{ "UPDATE measurement SET lost = '[0,12]' WHERE id = 3", "measurement 3: has 3 samples and says of 2" },
		{ "UPDATE measurement SET lost = '[0' WHERE id = 3", "measurement 3: what others took is not JSON" },
		{ "UPDATE measurement SET sample_count = 4 WHERE id = 3", "measurement 3: says 4 samples and has 3" },
		{ "UPDATE measurement SET samples = '[1,2.5,3]' WHERE id = 3", "measurement 3: samples" },
		{ "UPDATE measurement SET samples = '{\"a\":1}', sample_count = 0 WHERE id = 3",
		  "measurement 3: samples" },
		{ "UPDATE measurement SET samples = '[1,2' WHERE id = 3", "measurement 3: samples are not JSON" },
		{ "UPDATE sweep SET settings = 'x' WHERE id = 2", "sweep 2: settings are not JSON" },
		{ "UPDATE device SET isa = ''", "device 1: isa is not JSON" },
		{ "UPDATE measurement SET lo_ns = 5000 WHERE id = 2", "measurement 2: its median" },
		{ "UPDATE best SET speedup_hi = 0.5", "best 1: its winner" },
		{ "UPDATE best SET sweep_id = 2", "best 1: belongs to another" },
		{ "UPDATE best SET trial_id = 5", "best 1: trial 5 is not an ok trial" },
		{ "UPDATE trial SET outcome = 'wrong' WHERE id = 1", "best 1: trial 1 is not an ok trial" },
		{ "DELETE FROM measurement WHERE trial_id = 1", "trial 1 has no measurement" },
		{ "DELETE FROM tie_set WHERE position = 1", "best 1: says 2 ties and has 1" },
		{ "UPDATE tie_set SET geometry = (SELECT geometry FROM trial WHERE id = 9) WHERE position = 0",
		  "another geometry" },
		{ "UPDATE trial SET geometry = 'nonsense' WHERE id = 7", "trial 7: geometry" },
		{ "UPDATE trial SET geometry = 'micro=1x1x256,midi=1x4x4096,macro=1x4096x4096' WHERE id = 7",
		  "trial 7: geometry is not in canonical form" },
		{ "UPDATE best SET modelled = 1, provisional = 1", "best 1: is modelled and provisional" },
		{ "UPDATE best SET flip_probability = 1.5", "best 1: its flip probability" },
		{ "UPDATE best SET others_busy = -0.1", "best 1: the share of others" },
		{ "UPDATE best SET held_back = 2", "best 1: the share of time with clocks held back" },
		{ "UPDATE device SET key = 'XYZ'", "device 1: bad key" },
		{ "DROP INDEX trial_by_sweep", "schema:" },
		{ "CREATE TABLE extra (x)", "schema:" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct findings findings;
		char *message = NULL;
		sqlite3 *sql;

		if (i > 0)
			setup(NULL);
		assert_int_equal(sqlite3_open(fixture.path, &sql), SQLITE_OK);
		sqlite3_exec(sql, "INSERT INTO op (name, signature) VALUES ('softmax', '')", NULL, NULL, NULL);
		if (sqlite3_exec(sql, cases[i].sql, NULL, NULL, &message) != SQLITE_OK)
			fail_msg("%s: %s", cases[i].sql, message);
		assert_int_equal(sqlite3_close(sql), SQLITE_OK);
		assert_int_equal(check(&findings), TCB_E_FORMAT);
		if (findings.count == 0 || !strstr(findings.first, cases[i].finding))
			fail_msg("%s: %zu findings: %s / %s", cases[i].sql, findings.count, findings.first,
				 err.message);
		assert_non_null(strstr(err.message, cases[i].finding));
		fixture_fini(&fixture);
	}
	setup(NULL);
}

static const char known; /* stands for an op */

static const struct tcb_op *find_known(const void *ctx, const char *name)
{
	return strcmp(name, ctx) == 0 ? (const struct tcb_op *)&known : NULL;
}

static const struct tcb_parameter *parameters_of(const struct tcb_op *op)
{
	static const struct tcb_parameter own[] = { { "chunk", "", NULL }, { NULL, NULL, NULL } };

	return op ? own : NULL;
}

/* An op that is known has the parameters that it has; of another nobody can say. */
static void test_parameters(void **state)
{
	static const struct {
		const char *text, *op;
		int is_sound;
	} cases[] = {
		{ ",chunk=5", "q4k_matvec", 1 }, { ",chunk=5,what=7", "q4k_matvec", 0 },
		{ ",what=7", "q4k_matvec", 0 },  { ",chunk=5,chunk=6", "q4k_matvec", 0 },
		{ ",what=7", "another", 1 },     { ",what", "another", 0 },
		{ ",what=7", NULL, 1 },          { ",threads=2", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct tcb_op_names names = { cases[i].op ? find_known : NULL, parameters_of, cases[i].op };
		char change[128];
		struct tcb_db *db;
		sqlite3 *sql;

		if (i > 0)
			setup(NULL);
		snprintf(change, sizeof(change), "UPDATE trial SET geometry = geometry || '%s' WHERE id = 7",
			 cases[i].text);
		assert_int_equal(sqlite3_open(fixture.path, &sql), SQLITE_OK);
		assert_int_equal(sqlite3_exec(sql, change, NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_close(sql), SQLITE_OK);
		assert_int_equal(tcb_db_open(fixture.path, TCB_DB_READ, &db, &err), TCB_OK);
		tcb_db_know_ops(db, &names);
		if (tcb_db_check(db, NULL, NULL, &err) != (cases[i].is_sound ? TCB_OK : TCB_E_FORMAT))
			fail_msg("%s, case %zu: %s", cases[i].text, i, err.message);
		tcb_db_close(db);
		fixture_fini(&fixture);
	}
	setup(NULL);
}

/*
 * Single flipped bytes anywhere: never a crash or a hang, and whatever reads
 * the file ends with a status.  Bytes of free space or of a text may go unseen,
 * but a good part of the flips must be found.
 */
static void test_flipped_bytes(void **state)
{
	struct stat info;
	struct tcb_rng rng;
	unsigned char *bytes;
	FILE *file = fopen(fixture.path, "rb");
	size_t size, flips = 150, seen = 0;

	(void)state;
	assert_int_equal(stat(fixture.path, &info), 0);
	size = (size_t)info.st_size;
	bytes = malloc(size);
	assert_int_equal(fread(bytes, 1, size, file), size);
	fclose(file);
	tcb_rng_init(&rng, 12345);
	for (size_t i = 0; i < flips; i++) {
		struct findings findings;
		size_t at = tcb_rng_below(&rng, size);
		unsigned char mask = (unsigned char)(1 + tcb_rng_below(&rng, 255));
		struct tcb_db *db;

		bytes[at] ^= mask;
		file = fopen(fixture.path, "wb");
		assert_int_equal(fwrite(bytes, 1, size, file), size);
		fclose(file);
		seen += check(&findings) != TCB_OK;
		if (tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err) == TCB_OK) {
			struct tcb_device device;
			struct tcb_problem problem = fixture_problem(4096, 4096);
			struct tcb_trial *trials;
			size_t count;

			fixture_device(&device);
			if (tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err) == TCB_OK)
				tcb_db_trials_free(trials, count);
			tcb_db_close(db);
		}
		bytes[at] ^= mask;
		{
			char log[160];

			snprintf(log, sizeof(log), "%s-wal", fixture.path);
			unlink(log);
			snprintf(log, sizeof(log), "%s-shm", fixture.path);
			unlink(log);
		}
	}
	free(bytes);
	print_message("%zu of %zu flips found\n", seen, flips);
	assert_true(seen > flips / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_sound, setup, teardown),
		cmocka_unit_test_setup_teardown(test_planted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parameters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flipped_bytes, setup, teardown),
	};
	return cmocka_run_group_tests_name("db.audit", tests, NULL, NULL);
}
