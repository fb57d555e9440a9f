/* SPDX-License-Identifier: MIT
 *
 * Reading back for a resumed sweep: the newest row per geometry, its newest
 * measurement per state and stage, of this device and problem only.
 */
#include <math.h>

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

static void put(int64_t sweep, size_t i, double ns, enum tcb_stage stage, const char *signature,
		enum tcb_outcome outcome)
{
	struct tcb_measurement measurement;
	struct tcb_trial trial;
	struct tcb_counter counter = { "cycles", "papi", TCB_COLD, ns };
	double samples[3];

	fixture_trial(i, ns, &measurement, samples, &trial);
	measurement.stage = stage;
	strcpy(trial.signature, signature);
	trial.outcome = outcome;
	if (outcome != TCB_OUTCOME_OK)
		trial.measurement_count = 0;
	if (stage == TCB_STAGE_FINAL) {
		trial.counter_count = 1;
		trial.counters = &counter;
	}
	assert_int_equal(tcb_db_trial_put(db, sweep, &trial, &err), TCB_OK);
}

/* Beside each measurement the anchor's of the same sweep: of two machines one may be slower as a whole. */
static void test_anchor_of_the_same_sweep(void **state)
{
	struct tcb_trial *trials;
	struct tcb_geometry anchor;
	char text[TCB_GEOMETRY_TEXT_MAX];
	size_t count;

	(void)state;
	fixture_geometry(0, &anchor);
	tcb_geometry_print(&anchor, text);
	for (size_t i = 0; i < 3; i++) {
		int64_t sweep = fixture_sweep(db, &device, &problem, &err);

		if (i < 2) /* the third resumes, and does not measure it */
			assert_int_equal(fixture_put(db, sweep, 0, 1000 * (double)(i + 1), &err), TCB_OK);
		assert_int_equal(fixture_put(db, sweep, 1 + i, 500, &err), TCB_OK);
	}
	assert_int_equal(tcb_db_trials_anchored(db, &device, &problem, FIXTURE_ROTATION, text, &trials, &count, &err),
			 TCB_OK);
	assert_int_equal(count, 4);
	for (size_t i = 0; i < count; i++) {
		const size_t number = trials[i].geometry.tile[TCB_MIDI].n - 1;
		const double want[] = { 2000, 1000, 2000, 0 };

		assert_true(trials[i].measurements->anchor_ns == want[number]);
	}
	tcb_db_trials_free(trials, count);
	assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err), TCB_OK);
	assert_true(count == 4 && trials->measurements->anchor_ns == 0);
	tcb_db_trials_free(trials, count);
}

static void test_round_trip(void **state)
{
	int64_t sweep = fixture_sweep(db, &device, &problem, &err);
	struct tcb_trial *trials;
	struct tcb_geometry geometry;
	size_t count;

	(void)state;
	assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err), TCB_OK);
	assert_int_equal(count, 0);
	tcb_db_trials_free(trials, count);
	for (size_t i = 0; i < 50; i++)
		assert_int_equal(fixture_put(db, sweep, i, 1000 + (double)i, &err), TCB_OK);
	assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err), TCB_OK);
	assert_int_equal(count, 50);
	tcb_db_trials_free(trials, count);
	/* Cold times of another rotation are of another kind. */
	assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION + 1, &trials, &count, &err), TCB_OK);
	assert_int_equal(count, 0);
	tcb_db_trials_free(trials, count);
	assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err), TCB_OK);
	assert_int_equal(count, 50);
	for (size_t i = 0; i < count; i++) {
		fixture_geometry(i, &geometry);
		assert_true(tcb_geometry_equal(&trials[i].geometry, &geometry));
		assert_string_equal(trials[i].variant, "q4k_matvec_test");
		assert_string_equal(trials[i].signature, "signature-1");
		assert_int_equal(trials[i].outcome, TCB_OUTCOME_OK);
		assert_int_equal(trials[i].class_checked, TCB_CLASS_BOUNDED);
		assert_true(trials[i].error_ratio == 0.25);
		assert_true(trials[i].prepare_ns == 7e6 && isnan(trials[i].verify_ns));
		assert_int_equal(trials[i].counter_count, 0);
		assert_int_equal(trials[i].measurement_count, 1);
		assert_int_equal(trials[i].measurements->sample_count, 3);
		assert_true(trials[i].measurements->ns.median == 1000 + (double)i);
		assert_true(trials[i].measurements->samples[0] == 1010 + (double)i);
		assert_true(trials[i].measurements->samples[2] == 990 + (double)i);
	}
	tcb_db_trials_free(trials, count);
	tcb_db_trials_free(NULL, 0);
}

static void test_outcomes(void **state)
{
	int64_t sweep = fixture_sweep(db, &device, &problem, &err);
	struct tcb_db_info info;
	struct tcb_trial *trials;
	size_t count;

	(void)state;
	for (size_t i = 0; i < TCB_OUTCOME_COUNT; i++)
		put(sweep, i, 1000, TCB_STAGE_SCREEN, "s", (enum tcb_outcome)i);
	assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err), TCB_OK);
	assert_int_equal(count, TCB_OUTCOME_COUNT);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(trials[i].outcome, i);
	tcb_db_trials_free(trials, count);
	/* What was too slow has not failed. */
	assert_int_equal(tcb_db_info(db, &info, &err), TCB_OK);
	assert_int_equal(info.trials_failed, TCB_OUTCOME_COUNT - 2);
}

static void test_newest(void **state)
{
	int64_t first = fixture_sweep(db, &device, &problem, &err);
	int64_t second = fixture_sweep(db, &device, &problem, &err);
	struct tcb_trial *trials;
	size_t count;

	(void)state;
	put(first, 0, 1000, TCB_STAGE_SCREEN, "old", TCB_OUTCOME_OK);
	put(first, 1, 2000, TCB_STAGE_SCREEN, "same", TCB_OUTCOME_OK);
	put(first, 2, 3000, TCB_STAGE_SCREEN, "same", TCB_OUTCOME_OK);
	put(second, 0, 1100, TCB_STAGE_SCREEN, "new", TCB_OUTCOME_OK);
	put(second, 1, 0, TCB_STAGE_SCREEN, "same", TCB_OUTCOME_CRASHED);
	put(second, 2, 2900, TCB_STAGE_FINAL, "same", TCB_OUTCOME_OK);
	assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err), TCB_OK);
	assert_int_equal(count, 3);
	/* A changed kernel: nothing of the old one. */
	assert_string_equal(trials[0].signature, "new");
	assert_int_equal(trials[0].measurement_count, 1);
	assert_true(trials[0].measurements[0].ns.median == 1100);
	/* It crashed since: its earlier time means nothing. */
	assert_int_equal(trials[1].outcome, TCB_OUTCOME_CRASHED);
	assert_int_equal(trials[1].measurement_count, 0);
	/* Screened in one sweep and timed in the finals of another: both, and the counters. */
	assert_int_equal(trials[2].measurement_count, 2);
	assert_int_equal(trials[2].measurements[0].stage, TCB_STAGE_FINAL);
	assert_true(trials[2].measurements[0].ns.median == 2900);
	assert_int_equal(trials[2].measurements[1].stage, TCB_STAGE_SCREEN);
	assert_true(trials[2].measurements[1].ns.median == 3000);
	assert_int_equal(trials[2].counter_count, 1);
	assert_string_equal(trials[2].counters[0].name, "cycles");
	assert_string_equal(trials[2].counters[0].source, "papi");
	assert_true(trials[2].counters[0].value == 2900);
	tcb_db_trials_free(trials, count);
}

static void test_others_are_left_out(void **state)
{
	struct tcb_problem other_problem = problem;
	struct tcb_device other_device = device;
	struct tcb_trial *trials;
	size_t count;

	(void)state;
	put(fixture_sweep(db, &device, &problem, &err), 0, 1000, TCB_STAGE_SCREEN, "s", TCB_OUTCOME_OK);
	other_problem.contract = TCB_CONTRACT_F32;
	put(fixture_sweep(db, &device, &other_problem, &err), 1, 1000, TCB_STAGE_SCREEN, "s", TCB_OUTCOME_OK);
	other_problem = fixture_problem(4096, 8192);
	put(fixture_sweep(db, &device, &other_problem, &err), 2, 1000, TCB_STAGE_SCREEN, "s", TCB_OUTCOME_OK);
	other_device.target.threads = 1;
	put(fixture_sweep(db, &other_device, &problem, &err), 3, 1000, TCB_STAGE_SCREEN, "s", TCB_OUTCOME_OK);
	other_device = device;
	strcpy(other_device.name, "cpu:avx2");
	put(fixture_sweep(db, &other_device, &problem, &err), 4, 1000, TCB_STAGE_SCREEN, "s", TCB_OUTCOME_OK);
	assert_int_equal(tcb_db_trials(db, &device, &problem, FIXTURE_ROTATION, &trials, &count, &err), TCB_OK);
	assert_int_equal(count, 1);
	assert_int_equal(trials[0].geometry.tile[TCB_MIDI].n, 1);
	tcb_db_trials_free(trials, count);
}

static void test_samples_parse(void **state)
{
	static const char *const bad[] = {
		"",     "[", "[1", "[1,", "[,1]", "[1]x", "1", "[1 2]", "[1,,2]", "[\"1\"]", "[99999999999999999999]",
		"[nul]"
	};
	double out[4];

	(void)state;
	assert_int_equal(tcb_db_samples_parse("[]", out, 0), 0);
	assert_int_equal(tcb_db_samples_parse("[7]", out, 4), 1);
	assert_true(out[0] == 7);
	assert_int_equal(tcb_db_samples_parse("[1,null,3]", out, 3), 3);
	assert_true(out[0] == 1 && isnan(out[1]) && out[2] == 3);
	assert_int_equal(tcb_db_samples_parse("[1,2,3]", out, 2), -1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(tcb_db_samples_parse(bad[i], out, 4), -1);
}

static int note_tried(void *ctx, const struct tcb_tried *tried)
{
	struct tcb_trial *trials;
	size_t count;
	assert_string_equal(tried->device.key, device.key);
	assert_string_equal(tried->problem.op_name, "q4k_matvec");
	assert_null(tried->problem.op);
	assert_string_equal(tried->default_geometry, "");
	assert_int_equal(
		tcb_db_trials(db, &tried->device, &tried->problem, tried->rotation_bytes, &trials, &count, &err),
		TCB_OK);
	assert_int_equal(count, tried->problem.shape.n == 64 ? 2 : 1);
	tcb_db_trials_free(trials, count);
	return ++*(int *)ctx == 2;
}

/* Every problem that has trials, the smaller shape first; a sweep without trials is none. */
static void test_tried(void **state)
{
	const struct tcb_problem small = fixture_problem(64, 512), empty = fixture_problem(32, 512);
	int count = 0;

	(void)state;
	put(fixture_sweep(db, &device, &problem, &err), 1, 100, TCB_STAGE_SCREEN, "s", TCB_OUTCOME_OK);
	(void)fixture_sweep(db, &device, &empty, &err);
	put(fixture_sweep(db, &device, &small, &err), 1, 100, TCB_STAGE_SCREEN, "s", TCB_OUTCOME_OK);
	put(fixture_sweep(db, &device, &small, &err), 2, 100, TCB_STAGE_SCREEN, "s", TCB_OUTCOME_OK);
	assert_int_equal(tcb_db_tried_each(db, note_tried, &count, &err), TCB_OK);
	assert_int_equal(count, 2);
	count = 1; /* stops after one */
	assert_int_equal(tcb_db_tried_each(db, note_tried, &count, &err), TCB_OK);
	assert_int_equal(count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, setup, teardown),
		cmocka_unit_test_setup_teardown(test_anchor_of_the_same_sweep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_outcomes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_newest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others_are_left_out, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tried, setup, teardown),
		cmocka_unit_test(test_samples_parse),
	};
	return cmocka_run_group_tests_name("db.trials", tests, NULL, NULL);
}
