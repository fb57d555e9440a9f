/* SPDX-License-Identifier: MIT
 *
 * Winners: stored with ties, replaced, never replaced by a model, and backed
 * by a trial.
 */
#include <math.h>

#include "cmocka_all.h"
#include "db_fixture.h"

static struct fixture fixture;
static struct tcb_db *db;
static struct tcb_device device;
static struct tcb_problem problem;
static struct tcb_error err;
static int64_t sweep;

static int setup(void **state)
{
	(void)state;
	fixture_init(&fixture);
	fixture_device(&device);
	problem = fixture_problem(4096, 4096);
	if (tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err) != TCB_OK)
		return -1;
	sweep = fixture_sweep(db, &device, &problem, &err);
	return sweep > 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	tcb_db_close(db);
	fixture_fini(&fixture);
	return 0;
}

struct seen {
	size_t count;
	struct tcb_best best[8];
	char ties[8][TCB_GEOMETRY_TEXT_MAX];
	struct tcb_counter counters[8];
};

static int see_best(void *ctx, const struct tcb_best *best)
{
	struct seen *seen = ctx;

	assert_true(seen->count < 8);
	seen->best[seen->count++] = *best;
	return 0;
}

static int see_first(void *ctx, const struct tcb_best *best)
{
	see_best(ctx, best);
	return 1;
}

static int see_tie(void *ctx, const char *geometry)
{
	struct seen *seen = ctx;

	strcpy(seen->ties[seen->count++], geometry);
	return 0;
}

static int see_counter(void *ctx, const struct tcb_counter *counter)
{
	struct seen *seen = ctx;

	seen->counters[seen->count++] = *counter;
	return 0;
}

static void read_all(struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	assert_int_equal(tcb_db_best_each(db, NULL, see_best, seen, &err), TCB_OK);
}

static void test_put_and_replace(void **state)
{
	struct seen seen = { 0 }, ties = { 0 };
	struct tcb_geometry geometry;
	char text[TCB_GEOMETRY_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fixture_put(db, sweep, i, 1000, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, sweep, 0, 1000, 0, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, sweep, 1, 900, 0, &err), TCB_OK);
	read_all(&seen);
	assert_int_equal(seen.count, 1);
	fixture_geometry(1, &geometry);
	tcb_geometry_print(&geometry, text);
	assert_string_equal(seen.best[0].geometry, text);
	assert_string_equal(seen.best[0].device_key, device.key);
	assert_string_equal(seen.best[0].arch, "x86_64-avx2");
	assert_int_equal(seen.best[0].threads, 2);
	assert_string_equal(seen.best[0].problem.op_name, "q4k_matvec");
	assert_int_equal(seen.best[0].problem.contract, TCB_CONTRACT_Q8);
	assert_int_equal(seen.best[0].problem.shape.n, 4096);
	assert_true(seen.best[0].ns.lo == 890 && seen.best[0].ns.median == 900 && seen.best[0].ns.hi == 910);
	assert_true(seen.best[0].default_ns.median == 1800 && seen.best[0].speedup.lo == 1.9);
	assert_true(seen.best[0].limit_ns.hi == 110 && seen.best[0].bytes == 1000 && seen.best[0].regret == 0.001);
	assert_string_equal(seen.best[0].limit_method, "avx2");
	assert_int_equal(seen.best[0].tie_count, 2);
	assert_int_equal(seen.best[0].space_count, 20);
	assert_string_equal(seen.best[0].git_commit, "abc123");
	assert_int_equal(strlen(seen.best[0].measured_at), strlen("2026-01-01T00:00:00.000Z"));

	assert_int_equal(tcb_db_ties_each(db, &seen.best[0], see_tie, &ties, &err), TCB_OK);
	assert_int_equal(ties.count, 2);
	assert_string_equal(ties.ties[0], text);
	fixture_geometry(2, &geometry);
	tcb_geometry_print(&geometry, text);
	assert_string_equal(ties.ties[1], text);
	assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
}

static const char known; /* stands for an op: nobody looks into it here */

static const struct tcb_op *find_known(const void *ctx, const char *name)
{
	return strcmp(name, ctx) == 0 ? (const struct tcb_op *)&known : NULL;
}

/* Rows have their ops once the database was told who knows them. */
static void test_names_ops(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(fixture_put(db, sweep, 0, 1000, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, sweep, 0, 1000, 0, &err), TCB_OK);
	read_all(&seen);
	assert_null(seen.best[0].problem.op);
	tcb_db_know_ops(db, &(struct tcb_op_names){ .find = find_known, .ctx = "q4k_matvec" });
	read_all(&seen);
	assert_ptr_equal(seen.best[0].problem.op, &known);
	tcb_db_know_ops(db, &(struct tcb_op_names){ .find = find_known, .ctx = "another" });
	read_all(&seen);
	assert_null(seen.best[0].problem.op);
}

static void test_needs_a_trial(void **state)
{
	struct seen seen;
	struct tcb_trial failed = { .signature = "signature-1", .outcome = TCB_OUTCOME_WRONG };

	(void)state;
	assert_int_equal(fixture_put_best(db, sweep, 0, 1000, 0, &err), TCB_E_NOT_FOUND);
	fixture_geometry(0, &failed.geometry);
	assert_int_equal(tcb_db_trial_put(db, sweep, &failed, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, sweep, 0, 1000, 0, &err), TCB_E_NOT_FOUND);
	read_all(&seen);
	assert_int_equal(seen.count, 0);
}

static void test_trial_of_an_earlier_sweep(void **state)
{
	int64_t later;

	(void)state;
	assert_int_equal(fixture_put(db, sweep, 0, 1000, &err), TCB_OK);
	later = fixture_sweep(db, &device, &problem, &err);
	assert_int_equal(fixture_put_best(db, later, 0, 1000, 0, &err), TCB_OK);
	assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
}

static void test_modelled(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(fixture_put_best(db, sweep, 5, 500, 1, &err), TCB_OK);
	read_all(&seen);
	assert_int_equal(seen.count, 1);
	assert_true(seen.best[0].modelled && seen.best[0].ns.median == 500);
	/* A measurement replaces it although it is slower ... */
	assert_int_equal(fixture_put(db, sweep, 0, 1000, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, sweep, 0, 1000, 0, &err), TCB_OK);
	read_all(&seen);
	assert_true(seen.count == 1 && !seen.best[0].modelled && seen.best[0].ns.median == 1000);
	/* ... and is not replaced by a model. */
	assert_int_equal(fixture_put_best(db, sweep, 5, 500, 1, &err), TCB_OK);
	read_all(&seen);
	assert_true(seen.count == 1 && !seen.best[0].modelled && seen.best[0].ns.median == 1000);
	assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
}

/* A model stands for a kind of device: the measurement of any device of that name replaces it, and keeps it out. */
static void test_modelled_by_name(void **state)
{
	struct tcb_device other = device;
	struct seen seen;
	int64_t measured, other_name;

	(void)state;
	strcpy(other.key, "ffffffffffffffff");
	measured = fixture_sweep(db, &other, &problem, &err);
	strcpy(other.name, "cpu:avx2");
	other_name = fixture_sweep(db, &other, &problem, &err);
	assert_int_equal(fixture_put_best(db, sweep, 5, 500, 1, &err), TCB_OK);
	/* Another name is another kind. */
	assert_int_equal(fixture_put(db, other_name, 0, 1000, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, other_name, 0, 1000, 0, &err), TCB_OK);
	read_all(&seen);
	assert_int_equal(seen.count, 2);
	assert_int_equal(fixture_put(db, measured, 0, 1000, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, measured, 0, 1000, 0, &err), TCB_OK);
	read_all(&seen);
	assert_true(seen.count == 2 && !seen.best[0].modelled && !seen.best[1].modelled);
	assert_int_equal(fixture_put_best(db, sweep, 5, 500, 1, &err), TCB_OK);
	read_all(&seen);
	assert_true(seen.count == 2 && !seen.best[0].modelled && !seen.best[1].modelled);
	assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
}

static enum tcb_status put_provisional(int64_t of_sweep, size_t i, double ns)
{
	struct tcb_best best = { .state = TCB_COLD,
				 .provisional = 1,
				 .ns = { ns, ns, ns },
				 .speedup = { NAN, NAN, NAN },
				 .flip_probability = NAN,
				 .expected_gain = 0.07,
				 .others_busy = 0.25,
				 .held_back = NAN };
	struct tcb_geometry geometry;
	const char *const ties[] = { best.geometry };

	fixture_geometry(i, &geometry);
	tcb_geometry_print(&geometry, best.geometry);
	strcpy(best.signature, "signature-1");
	return tcb_db_best_put(db, of_sweep, &best, ties, 1, &err);
}

/* A provisional row is replaced by the next one and by a proven one, and never the other way round. */
static void test_provisional(void **state)
{
	int64_t later = fixture_sweep(db, &device, &problem, &err);
	struct seen seen;

	(void)state;
	assert_int_equal(put_provisional(sweep, 0, 1000), TCB_E_NOT_FOUND); /* no trial of it */
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fixture_put(db, sweep, i, 1000, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, sweep, 5, 500, 1, &err), TCB_OK); /* modelled */
	assert_int_equal(put_provisional(sweep, 0, 1000), TCB_OK);
	assert_int_equal(put_provisional(later, 1, 1100), TCB_OK);
	assert_int_equal(fixture_put_best(db, sweep, 5, 500, 1, &err), TCB_OK); /* not taken */
	read_all(&seen);
	assert_true(seen.count == 1 && seen.best[0].provisional && !seen.best[0].modelled);
	assert_true(seen.best[0].ns.median == 1100 && isnan(seen.best[0].flip_probability));
	assert_true(seen.best[0].expected_gain == 0.07 && seen.best[0].others_busy == 0.25 &&
		    isnan(seen.best[0].held_back));
	assert_int_equal(seen.best[0].tie_count, 1);
	assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, sweep, 0, 1000, 0, &err), TCB_OK);
	assert_int_equal(put_provisional(later, 2, 900), TCB_OK);
	read_all(&seen);
	assert_true(seen.count == 1 && !seen.best[0].provisional && seen.best[0].ns.median == 1000);
	assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
}

/* Geometry I, which takes NS, with SPEEDUP, of ROUNDS rounds of which QUIET were not disturbed. */
static enum tcb_status put_found(size_t i, double ns, struct tcb_interval speedup, size_t rounds, size_t quiet)
{
	struct tcb_best best = { .state = TCB_COLD,
				 .ns = { ns, 0.99 * ns, 1.01 * ns },
				 .speedup = speedup,
				 .flip_probability = NAN,
				 .expected_gain = NAN,
				 .others_busy = NAN,
				 .held_back = NAN,
				 .final_rounds = rounds,
				 .quiet_rounds = quiet,
				 .signature = "signature-1" };
	struct tcb_geometry geometry;
	const char *const ties[] = { best.geometry };

	fixture_geometry(i, &geometry);
	tcb_geometry_print(&geometry, best.geometry);
	return tcb_db_best_put(db, sweep, &best, ties, 1, &err);
}

/* What is known well stays when it is measured again on a busy machine; another clear one takes its place. */
static void test_noisy_replaces_noisy_only(void **state)
{
	const struct tcb_interval clear = { 1.3, 1.28, 1.32 }, wide = { 2, 0.6, 6 };
	struct seen seen;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(fixture_put(db, sweep, i, 1000, &err), TCB_OK);
	assert_int_equal(put_found(0, 6493, wide, 0, 0), TCB_OK);
	assert_int_equal(put_found(1, 5000, wide, 0, 0), TCB_OK);
	read_all(&seen);
	assert_true(seen.count == 1 && seen.best[0].ns.median == 5000 && seen.best[0].final_rounds == 0);
	assert_int_equal(put_found(0, 459, clear, 40, 37), TCB_OK);
	assert_int_equal(put_found(1, 6493, wide, 0, 0), TCB_OK);
	assert_int_equal(put_found(2, 300, clear, 40, 3), TCB_OK); /* tight, and disturbed */
	read_all(&seen);
	assert_true(seen.count == 1 && seen.best[0].ns.median == 459);
	assert_int_equal(seen.best[0].final_rounds, 40);
	assert_int_equal(seen.best[0].quiet_rounds, 37);
	assert_int_equal(put_found(1, 470, clear, 40, 40), TCB_OK);
	read_all(&seen);
	assert_true(seen.count == 1 && seen.best[0].ns.median == 470);
	assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
}

/* Lookups do not answer with a row whose kernel has changed: a provisional one takes its place. */
static void test_provisional_for_stale(void **state)
{
	struct tcb_best best = { .state = TCB_COLD, .provisional = 1, .ns = { 1100, 1100, 1100 }, .signature = "new" };
	struct tcb_trial trial = { .signature = "new", .outcome = TCB_OUTCOME_OK };
	const char *const ties[] = { best.geometry };
	struct seen seen;

	(void)state;
	assert_int_equal(fixture_put(db, sweep, 0, 1000, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, sweep, 0, 1000, 0, &err), TCB_OK); /* of signature-1 */
	fixture_geometry(0, &trial.geometry);
	tcb_geometry_print(&trial.geometry, best.geometry);
	assert_int_equal(tcb_db_trial_put(db, sweep, &trial, &err), TCB_OK);
	strcpy(best.replaces, "signature-2");
	assert_int_equal(tcb_db_best_put(db, sweep, &best, ties, 1, &err), TCB_OK);
	read_all(&seen);
	assert_true(seen.count == 1 && !seen.best[0].provisional && seen.best[0].ns.median == 1000);
	strcpy(best.replaces, "signature-1");
	assert_int_equal(tcb_db_best_put(db, sweep, &best, ties, 1, &err), TCB_OK);
	read_all(&seen);
	assert_true(seen.count == 1 && seen.best[0].provisional && seen.best[0].ns.median == 1100);
	assert_int_equal(tcb_db_check(db, NULL, NULL, &err), TCB_OK);
}

/* The model's row of another device stays until the finals: the first trial may be far slower. */
static void test_provisional_beside_modelled(void **state)
{
	struct tcb_device other = device;
	struct seen seen;
	int64_t modelled;

	(void)state;
	strcpy(other.key, "ffffffffffffffff");
	modelled = fixture_sweep(db, &other, &problem, &err);
	assert_int_equal(fixture_put_best(db, modelled, 5, 500, 1, &err), TCB_OK);
	assert_int_equal(fixture_put(db, sweep, 0, 1000, &err), TCB_OK);
	assert_int_equal(put_provisional(sweep, 0, 1000), TCB_OK);
	read_all(&seen);
	assert_int_equal(seen.count, 2);
	assert_int_equal(fixture_put_best(db, sweep, 0, 1000, 0, &err), TCB_OK);
	read_all(&seen);
	assert_int_equal(seen.count, 1);
}

static void test_order_filter_and_stop(void **state)
{
	struct tcb_best_filter filter = { .op = "q4k_matvec" };
	size_t sizes[] = { 14336, 1024, 4096 };
	struct seen seen;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct tcb_problem other = fixture_problem(sizes[i], 4096);
		int64_t id = fixture_sweep(db, &device, &other, &err);

		assert_int_equal(fixture_put(db, id, 0, 1000, &err), TCB_OK);
		assert_int_equal(fixture_put_best(db, id, 0, 1000, 0, &err), TCB_OK);
	}
	read_all(&seen);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.best[0].problem.shape.n, 1024);
	assert_int_equal(seen.best[2].problem.shape.n, 14336);
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(tcb_db_best_each(db, &filter, see_first, &seen, &err), TCB_OK);
	assert_int_equal(seen.count, 1);
	filter.op = "softmax";
	assert_int_equal(tcb_db_best_each(db, &filter, see_best, &seen, &err), TCB_OK);
	assert_int_equal(seen.count, 1);
	filter = (struct tcb_best_filter){ .device_name = "cpu:avx2" };
	assert_int_equal(tcb_db_best_each(db, &filter, see_best, &seen, &err), TCB_OK);
	assert_int_equal(seen.count, 1);
}

static void test_counters(void **state)
{
	struct tcb_counter counters[] = { { "cycles", "papi", TCB_COLD, 7 }, { "cycles", "papi", TCB_HOT, 5 } };
	struct tcb_measurement measurement;
	struct tcb_trial trial;
	struct seen seen, counted = { 0 };
	double samples[3];

	(void)state;
	assert_int_equal(fixture_put(db, sweep, 0, 1000, &err), TCB_OK);
	assert_int_equal(fixture_put_best(db, sweep, 0, 1000, 0, &err), TCB_OK);
	read_all(&seen);
	assert_int_equal(tcb_db_counters_each(db, &seen.best[0], see_counter, &counted, &err), TCB_OK);
	assert_int_equal(counted.count, 0);
	/* Counters come once the winner is known, in a row of their own. */
	fixture_trial(0, 1000, &measurement, samples, &trial);
	trial.counter_count = 2;
	trial.counters = counters;
	assert_int_equal(tcb_db_trial_put(db, sweep, &trial, &err), TCB_OK);
	assert_int_equal(tcb_db_counters_each(db, &seen.best[0], see_counter, &counted, &err), TCB_OK);
	assert_int_equal(counted.count, 1);
	assert_true(counted.counters[0].value == 7);
	assert_string_equal(counted.counters[0].source, "papi");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_put_and_replace, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names_ops, setup, teardown),
		cmocka_unit_test_setup_teardown(test_needs_a_trial, setup, teardown),
		cmocka_unit_test_setup_teardown(test_trial_of_an_earlier_sweep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modelled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modelled_by_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_provisional, setup, teardown),
		cmocka_unit_test_setup_teardown(test_noisy_replaces_noisy_only, setup, teardown),
		cmocka_unit_test_setup_teardown(test_provisional_for_stale, setup, teardown),
		cmocka_unit_test_setup_teardown(test_provisional_beside_modelled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order_filter_and_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counters, setup, teardown),
	};
	return cmocka_run_group_tests_name("db.best", tests, NULL, NULL);
}
