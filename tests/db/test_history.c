/* SPDX-License-Identifier: MIT
 *
 * What a database says of one problem over time: finals of its sweeps with the
 * winner first, trials of one geometry, and rows that somebody tampered with.
 */
#include <sqlite3.h>

#include "cmocka_all.h"
#include "db/history.h"
#include "db_fixture.h"

enum { ROUNDS = 20 };

static struct fixture fixture;
static struct tcb_device device;
static struct tcb_problem problem;
static struct tcb_db *db;
static struct tcb_error err;
static struct tcb_best best;

/* A measurement of the finals: ROUNDS samples from NS on, each 1 % of it more. */
static void put_final(int64_t sweep, size_t i, double ns)
{
	struct tcb_measurement measurement;
	struct tcb_trial trial;
	double samples[ROUNDS], unused[3];

	fixture_trial(i, ns, &measurement, unused, &trial);
	for (size_t r = 0; r < ROUNDS; r++)
		samples[r] = ns * (1 + 0.01 * (double)r);
	measurement.stage = TCB_STAGE_FINAL;
	measurement.samples = samples;
	measurement.sample_count = ROUNDS;
	assert_int_equal(tcb_db_trial_put(db, sweep, &trial, &err), TCB_OK);
}

static int keep_best(void *ctx, const struct tcb_best *row)
{
	*(struct tcb_best *)ctx = *row;
	return 0;
}

/* Two sweeps: geometry 0 won the first, geometry 1 the second, geometry 2 is the default and takes twice as long. */
static int setup(void **state)
{
	(void)state;
	fixture_init(&fixture);
	fixture_device(&device);
	problem = fixture_problem(4096, 4096);
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err), TCB_OK);
	for (size_t s = 0; s < 2; s++) {
		const int64_t sweep = fixture_sweep(db, &device, &problem, &err);
		const double ns = s ? 1000 : 2000;

		assert_int_equal(fixture_put(db, sweep, s, 900, &err), TCB_OK); /* of the screening */
		put_final(sweep, s, ns);
		put_final(sweep, 2, 2 * ns);
		assert_int_equal(fixture_put_best(db, sweep, s, ns, 0, &err), TCB_OK);
	}
	assert_int_equal(tcb_db_best_each(db, NULL, keep_best, &best, &err), TCB_OK);
	struct tcb_geometry geometry;
	fixture_geometry(2, &geometry);
	tcb_geometry_print(&geometry, best.default_geometry);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tcb_db_close(db);
	fixture_fini(&fixture);
	return 0;
}

struct seen {
	struct tcb_held held[4];
	size_t count;
};

static int see_held(void *ctx, const struct tcb_held *held)
{
	struct seen *seen = ctx;

	seen->held[seen->count++] = *held;
	return 0;
}

static struct seen all_held(void)
{
	struct seen seen = { .count = 0 };

	assert_int_equal(tcb_db_held_each(db, &best, see_held, &seen, &err), TCB_OK);
	return seen;
}

static void test_finals_of_each_sweep(void **state)
{
	(void)state;
	const struct seen seen = all_held();
	char geometry[TCB_GEOMETRY_TEXT_MAX];
	struct tcb_geometry won;

	assert_int_equal(seen.count, 2);
	for (size_t s = 0; s < 2; s++) {
		const struct tcb_held *held = &seen.held[s];
		fixture_geometry(s, &won);
		tcb_geometry_print(&won, geometry);
		assert_string_equal(held->geometry, geometry);
		assert_true(held->ns.median == (s ? 1000 : 2000));
		assert_true(held->low_ns == held->ns.median * 1.01); /* of 20 samples the second */
		assert_true(fabs(held->speedup.median - 2) < 1e-9);
		assert_true(held->default_ns.median == 2 * held->ns.median);
		assert_int_equal(held->tried, 2);
		assert_string_equal(held->origin.git_commit, "abc123");
		assert_string_equal(held->origin.os, "Linux 6.1");
		assert_string_equal(held->origin.op_signature, "op-signature");
		assert_int_equal(held->origin.rotation_bytes, FIXTURE_ROTATION);
	}
	struct tcb_origin origin;
	assert_int_equal(tcb_db_origin(db, &best, &origin, &err), TCB_OK);
	assert_string_equal(origin.uid, seen.held[1].origin.uid);
	assert_string_not_equal(origin.uid, seen.held[0].origin.uid);
}

static int count_try(void *ctx, const struct tcb_try *one)
{
	assert_int_equal(one->outcome, TCB_OUTCOME_OK);
	++*(size_t *)ctx;
	return 0;
}

static void test_tries_of_a_geometry(void **state)
{
	(void)state;
	size_t count = 0;

	assert_int_equal(tcb_db_tries_each(db, &best, best.default_geometry, count_try, &count, &err), TCB_OK);
	assert_int_equal(count, 2);
	count = 0;
	assert_int_equal(tcb_db_tries_each(db, &best, best.geometry, count_try, &count, &err), TCB_OK);
	assert_int_equal(count, 2); /* screened, and in the finals */
	assert_int_equal(tcb_db_tries_each(db, &best, "another", count_try, &count, &err), TCB_OK);
	assert_int_equal(count, 2);
}

static void tamper(const char *text)
{
	sqlite3 *sql;

	assert_int_equal(sqlite3_open(fixture.path, &sql), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sql, text, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(sql);
}

/* Samples that are gone, or no such array, cost what is drawn from them. */
static void test_samples_that_are_gone(void **state)
{
	(void)state;
	static const char *const changes[] = {
		"UPDATE measurement SET samples = '[]', sample_count = 0",
		"UPDATE measurement SET samples = '[1,2', sample_count = 2",
		"UPDATE measurement SET sample_count = 1000000000000",
	};

	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		tamper(changes[i]);
		const struct seen seen = all_held();
		assert_int_equal(seen.count, 2);
		assert_true(isnan(seen.held[0].low_ns) && isnan(seen.held[0].speedup.median));
		assert_true(seen.held[0].ns.median == 2000);
	}
}

static void test_rows_that_cannot_be_read(void **state)
{
	(void)state;
	size_t count = 0;

	tamper("PRAGMA ignore_check_constraints = ON; UPDATE trial SET outcome = 'odd' WHERE sweep_id = 1");
	assert_int_equal(tcb_db_tries_each(db, &best, best.default_geometry, count_try, &count, &err), TCB_OK);
	assert_int_equal(count, 1);
	assert_int_equal(tcb_db_unreadable(db, NULL), 1);
	tamper("UPDATE sweep SET os = hex(zeroblob(4000)) WHERE id = 2");
	assert_int_equal(all_held().count, 0); /* the first sweep has no ok trial now */
	assert_int_equal(tcb_db_unreadable(db, NULL), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_finals_of_each_sweep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tries_of_a_geometry, setup, teardown),
		cmocka_unit_test_setup_teardown(test_samples_that_are_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rows_that_cannot_be_read, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
