/* SPDX-License-Identifier: MIT
 *
 * Pruning takes out what nobody can read: what a resumed sweep knows and what
 * winners say is the same before and after.  Forgetting takes out a selection.
 */
#include "base/util.h"
#include "cmocka_all.h"
#include "db/db_private.h"
#include "db/travel.h"
#include "db_fixture.h"

static struct fixture fixture;
static struct tcb_error err;
static struct tcb_device device;
static const struct tcb_db_selection all;

static int setup(void **state)
{
	(void)state;
	fixture_init(&fixture);
	fixture_device(&device);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fixture_fini(&fixture);
	return 0;
}

static void must(enum tcb_status status)
{
	if (status != TCB_OK)
		fail_msg("%s", err.message);
}

static int64_t number(struct tcb_db *db, const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t value = -1;

	must(tcb_db_query(db, &stmt, "testing", &err, sql, ""));
	must(tcb_db_finish(db, stmt, &value, "testing", &err));
	return value;
}

enum what { COUNTED, COLD, COLD_AND_HOT };

/* Trial I of SWEEP with signature SIGNATURE and time NS; one that is COUNTED is not timed. */
static void put(struct tcb_db *db, int64_t sweep, size_t i, double ns, const char *signature, enum what what)
{
	struct tcb_measurement measurements[2];
	struct tcb_counter counter = { "cycles", "papi", TCB_COLD, ns };
	struct tcb_trial trial;
	double samples[3];

	fixture_trial(i, ns, &measurements[0], samples, &trial);
	measurements[1] = measurements[0];
	measurements[1].state = TCB_HOT;
	trial.measurement_count = what;
	trial.counters = &counter;
	trial.counter_count = what == COUNTED;
	snprintf(trial.signature, sizeof trial.signature, "%s", signature);
	must(tcb_db_trial_put(db, sweep, &trial, &err));
}

enum { GEOMETRIES = 7, DEFAULT = 2 }; /* the last is of the older kernel alone; DEFAULT: of fixture_put_best */

/* Three sweeps that try the same again: the first of an older kernel; what the last did not time the second did. */
static struct tcb_db *make(void)
{
	const struct tcb_problem problem = fixture_problem(4096, 4096);
	struct tcb_db *db;

	must(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err));
	for (int round = 0; round < 3; round++) {
		const int64_t sweep = fixture_sweep(db, &device, &problem, &err);

		assert_true(sweep > 0);
		if (round == 1)
			put(db, sweep, 3, 1003, "signature-1", COUNTED);
		for (size_t i = 0; i < GEOMETRIES; i++)
			if (round == 0 || (round == 1 && i < GEOMETRIES - 1) || i % 2 || i == DEFAULT)
				put(db, sweep, i, 1000 + 100 * round + (double)i, round ? "signature-1" : "signature-0",
				    round == 1 || i == DEFAULT ? COLD_AND_HOT : COLD);
		if (round)
			must(fixture_put_best(db, sweep, 1, 1001, 0, &err));
		must(tcb_db_sweep_end(db, sweep, "complete", &err));
	}
	return db;
}

/* Kernels of signature-0 have changed. */
static enum tcb_status judge(void *ctx, const struct tcb_tried *of, struct tcb_trial *trials, size_t count,
			     size_t *stale_out, struct tcb_error *error)
{
	size_t current = 0;

	(void)error;
	assert_string_equal(of->device.key, device.key);
	assert_int_equal(of->problem.shape.n, 4096);
	for (size_t i = 0; i < count; i++) {
		const struct tcb_trial trial = trials[i];
		if (strcmp(trial.signature, "signature-0") == 0)
			continue;
		trials[i] = trials[current];
		trials[current++] = trial;
	}
	*stale_out = current;
	*(size_t *)ctx += count;
	return TCB_OK;
}

/* What a resumed sweep and a report would read, as one text. */
static void describe(struct tcb_db *db, int keep_samples, struct tcb_str *out)
{
	const struct tcb_problem problem = fixture_problem(4096, 4096);
	struct tcb_trial *trials;
	struct tcb_geometry anchor;
	size_t count;
	char geometry[TCB_GEOMETRY_TEXT_MAX];

	fixture_geometry(DEFAULT, &anchor);
	tcb_geometry_print(&anchor, geometry);
	must(tcb_db_trials_anchored(db, &device, &problem, FIXTURE_ROTATION, geometry, &trials, &count, &err));
	for (size_t i = 0; i < count; i++) {
		if (strcmp(trials[i].signature, "signature-0") == 0)
			continue;
		tcb_geometry_print(&trials[i].geometry, geometry);
		tcb_str_addf(out, "%s %s %s", geometry, trials[i].signature, tcb_outcome_text(trials[i].outcome));
		for (size_t m = 0; m < trials[i].measurement_count; m++)
			tcb_str_addf(out, " %d %g of %g, %zu", trials[i].measurements[m].state,
				     trials[i].measurements[m].ns.median, trials[i].measurements[m].anchor_ns,
				     keep_samples ? trials[i].measurements[m].sample_count : 0);
		for (size_t c = 0; c < trials[i].counter_count; c++)
			tcb_str_addf(out, " %s %g", trials[i].counters[c].name, trials[i].counters[c].value);
		tcb_str_addf(out, "\n");
	}
	tcb_db_trials_free(trials, count);
}

static int add_winner(void *ctx, const struct tcb_best *best)
{
	tcb_str_addf(ctx, "%s %s %g %zu\n", best->geometry, best->signature, best->ns.median, best->tie_count);
	return 0;
}

static void test_prune(void **state)
{
	(void)state;
	for (int keep_samples = 0; keep_samples < 2; keep_samples++) {
		struct tcb_str before = { 0 }, after = { 0 };
		struct tcb_db_removed removed;
		struct tcb_db *db = make();
		size_t judged = 0;

		describe(db, keep_samples, &before);
		must(tcb_db_best_each(db, NULL, add_winner, &before, &err));
		must(tcb_db_judge_kernels(db, &all, judge, &judged, &err));
		assert_int_equal(judged, 2 * GEOMETRIES - 1);
		must(tcb_db_prune(db, keep_samples, &removed, &err));
		must(tcb_db_check(db, NULL, NULL, &err));
		describe(db, keep_samples, &after);
		must(tcb_db_best_each(db, NULL, add_winner, &after, &err));
		assert_string_equal(before.data, after.data);
		assert_int_equal(removed.trials, GEOMETRIES); /* those of the older kernel */
		assert_int_equal(removed.sweeps, 1);
		assert_int_equal(removed.winners, 0);
		/* Sweep 2 decided nothing in the end. */
		assert_int_equal(number(db, "SELECT count(*) FROM measurement WHERE sample_count = 0"),
				 keep_samples ? 0 : 2 * (GEOMETRIES - 1));
		must(tcb_db_prune(db, keep_samples, &removed, &err));
		assert_int_equal(removed.trials + removed.samples + removed.sweeps, 0);
		tcb_str_fini(&before);
		tcb_str_fini(&after);
		tcb_db_close(db);
		teardown(NULL);
		setup(NULL);
	}
}

/* Tried again with all that was known before: the older rows have nothing that is read. */
static void test_superseded(void **state)
{
	const struct tcb_problem problem = fixture_problem(4096, 4096);
	struct tcb_db_removed removed;
	struct tcb_db *db;
	int64_t sweep;

	(void)state;
	must(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err));
	for (int round = 0; round < 2; round++) {
		sweep = fixture_sweep(db, &device, &problem, &err);
		for (size_t i = 0; i < GEOMETRIES; i++)
			put(db, sweep, i, 1000 + (double)i, "signature-1", COLD);
		must(tcb_db_sweep_end(db, sweep, "complete", &err));
	}
	must(tcb_db_prune(db, 1, &removed, &err));
	assert_int_equal(removed.trials, GEOMETRIES);
	assert_int_equal(removed.sweeps, 1);
	/* A sweep that runs keeps what it has, though another has tried the same since. */
	sweep = fixture_sweep(db, &device, &problem, &err);
	put(db, sweep, 0, 1000, "signature-0", COLD);
	put(db, sweep, 0, 1000, "signature-1", COLD);
	must(tcb_db_prune(db, 1, &removed, &err));
	assert_int_equal(number(db, "SELECT count(*) FROM trial WHERE sweep_id = (SELECT max(id) FROM sweep)"), 2);
	must(tcb_db_check(db, NULL, NULL, &err));
	tcb_db_close(db);
}

static void test_forget(void **state)
{
	const struct tcb_shape other = { 1, 64, 512 }, this = { 1, 4096, 4096 };
	struct tcb_db_selection selection = { .shape = &other };
	struct tcb_db_removed removed;
	struct tcb_db *db = make();
	size_t judged = 0;

	(void)state;
	must(tcb_db_forget(db, &selection, 0, &removed, &err));
	assert_int_equal(removed.trials + removed.winners, 0);
	selection = (struct tcb_db_selection){ .device = "cpu", .state = "hot" };
	must(tcb_db_forget(db, &selection, 0, &removed, &err));
	assert_int_equal(removed.trials + removed.winners, 0);
	must(tcb_db_judge_kernels(db, &all, judge, &judged, &err));
	must(tcb_db_forget(db, &all, 1, &removed, &err));
	assert_int_equal(removed.trials, GEOMETRIES);
	assert_int_equal(removed.winners, 0);
	selection = (struct tcb_db_selection){ .op = "q4k_matvec", .device = device.key, .shape = &this };
	must(tcb_db_forget(db, &selection, 0, &removed, &err));
	assert_int_equal(removed.winners, 1);
	assert_int_equal(removed.devices + removed.problems, 2);
	assert_int_equal(number(db, "SELECT count(*) FROM trial"), 0);
	must(tcb_db_check(db, NULL, NULL, &err));
	tcb_db_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_prune, setup, teardown),
		cmocka_unit_test_setup_teardown(test_superseded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forget, setup, teardown),
	};
	return cmocka_run_group_tests_name("db.prune", tests, NULL, NULL);
}
