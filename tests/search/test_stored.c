/* SPDX-License-Identifier: MIT
 *
 * Candidates out of a database: the finals' before the others, each by its cold
 * time; those that were wrong or are of other kernels stay out.
 */
#include <math.h>

#include "cmocka_all.h"
#include "db/db_fixture.h"
#include "device/gpu.h"
#include "kernels/signature.h"
#include "stored.h"

static struct fixture fixture;
static struct tcb_db *db;
static struct tcb_device device;
static struct tcb_problem problem;
static struct tcb_error err;
static const struct tcb_op *op;

static int setup(void **state)
{
	struct tcb_gpu gpu;

	(void)state;
	fixture_init(&fixture);
	problem = fixture_problem(4096, 4096);
	op = problem.op = tcb_op_find(problem.op_name);
	if (!op || tcb_gpu_table(90, &gpu, &err) != TCB_OK)
		return -1;
	device = gpu.device;
	return tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err) == TCB_OK ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	tcb_db_close(db);
	fixture_fini(&fixture);
	return 0;
}

static int64_t begin(void)
{
	struct tcb_sweep_record record = { .device = &device,
					   .problem = &problem,
					   .op_signature = "op-signature",
					   .git_commit = "abc123",
					   .compiler = "GNU-12",
					   .version = "0.1.0",
					   .strategy = "random",
					   .settings_json = "{}" };
	int64_t sweep = 0;

	assert_int_equal(tcb_db_sweep_begin(db, &record, &sweep, &err), TCB_OK);
	return sweep;
}

/* The default geometry with other tiles: WARPS tells candidates apart. */
static void make_geometry(int warps, struct tcb_geometry *geometry)
{
	tcb_op_standard(&problem, &device.target, geometry);
	geometry->tile[TCB_MIDI].n = (size_t)warps;
	geometry->knob[TCB_KNOB_WARPS] = warps;
	geometry->knob[TCB_KNOB_UNROLL] = geometry->knob[TCB_KNOB_OCC] = 1; /* the registers do for 32 warps */
}

static void identify(const struct tcb_geometry *geometry, char variant[TCB_VARIANT_NAME_MAX],
		     char signature[TCB_SIGNATURE_MAX])
{
	struct tcb_packings packings = { .is_known = { 0 } };

	if (tcb_candidate_identify(&problem, &device.target, geometry, &packings, variant, signature, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static void put(int64_t sweep, int warps, double ns, enum tcb_stage stage, enum tcb_outcome outcome, int is_stale)
{
	struct tcb_measurement measurement;
	struct tcb_trial trial;
	double samples[3];
	struct tcb_counter counter = { "l1tex__x.sum", "cupti", TCB_COLD, 7 };

	fixture_trial(0, ns, &measurement, samples, &trial);
	measurement.stage = stage;
	make_geometry(warps, &trial.geometry);
	identify(&trial.geometry, trial.variant, trial.signature);
	if (is_stale)
		strcpy(trial.signature, "another");
	trial.outcome = outcome;
	if (outcome != TCB_OUTCOME_OK)
		trial.measurement_count = 0;
	trial.counters = &counter;
	trial.counter_count = stage == TCB_STAGE_FINAL;
	assert_int_equal(tcb_db_trial_put(db, sweep, &trial, &err), TCB_OK);
}

static void put_best(int64_t sweep, int warps)
{
	struct tcb_best best;
	struct tcb_geometry geometry;

	memset(&best, 0, sizeof best);
	make_geometry(warps, &geometry);
	tcb_geometry_print(&geometry, best.geometry);
	identify(&geometry, best.variant, best.signature);
	memcpy(best.default_geometry, best.geometry, sizeof best.default_geometry);
	best.ns = (struct tcb_interval){ 900, 890, 910 };
	for (int state = 0; state < TCB_STATE_COUNT; state++) {
		best.state = (enum tcb_state)state;
		assert_int_equal(tcb_db_best_put(db, sweep, &best, NULL, 0, &err), TCB_OK);
	}
}

static void in_order(void **state)
{
	static const int wanted[] = { 1, 2, 8, 4 }; /* the finals' two, then by time */
	struct stored_problem problems[STORED_PROBLEMS_MAX];
	struct stored_list list;
	struct stored_filter any = { NULL };
	int64_t sweep = begin();
	size_t count;

	(void)state;
	put(sweep, 1, 1000, TCB_STAGE_SCREEN, TCB_OUTCOME_OK, 0);
	put(sweep, 1, 900, TCB_STAGE_FINAL, TCB_OUTCOME_OK, 0);
	put(sweep, 2, 500, TCB_STAGE_SCREEN, TCB_OUTCOME_OK, 0); /* lucky; the finals corrected it */
	put(sweep, 2, 950, TCB_STAGE_FINAL, TCB_OUTCOME_OK, 0);
	put(sweep, 4, 800, TCB_STAGE_SCREEN, TCB_OUTCOME_OK, 0);
	put(sweep, 8, 700, TCB_STAGE_SCREEN, TCB_OUTCOME_OK, 0);
	put(sweep, 16, 100, TCB_STAGE_SCREEN, TCB_OUTCOME_WRONG, 0);
	put(sweep, 32, 100, TCB_STAGE_SCREEN, TCB_OUTCOME_OK, 1);
	assert_int_equal(stored_problems(db, &any, problems, &count, &err), TCB_OK);
	assert_int_equal(count, 0); /* nothing was decided yet */
	put_best(sweep, 1);
	assert_int_equal(stored_problems(db, &any, problems, &count, &err), TCB_OK);
	assert_int_equal(count, 1); /* once, for both cache states */
	assert_ptr_equal(problems[0].op, op);
	assert_string_equal(problems[0].device_name, "sm_90");

	assert_int_equal(stored_candidates(db, &problems[0], STORED_LEAVE_STALE, &list, &err), TCB_OK);
	assert_int_equal(list.count, 4);
	assert_int_equal(list.stale, 1);
	for (size_t i = 0; i < list.count; i++)
		assert_int_equal(list.candidates[i].trial->geometry.knob[TCB_KNOB_WARPS], wanted[i]);
	assert_true(list.candidates[1].is_final && list.candidates[1].ns == 950);
	assert_true(!list.candidates[2].is_final && list.candidates[2].ns == 700);
	assert_true(stored_counter(list.candidates[0].trial, TCB_COLD, "cupti", "l1tex__x.sum") == 7);
	assert_true(isnan(stored_counter(list.candidates[0].trial, TCB_HOT, "cupti", "l1tex__x.sum")));
	assert_true(isnan(stored_counter(list.candidates[2].trial, TCB_COLD, "cupti", "l1tex__x.sum")));
	stored_list_fini(&list);
}

static void filtered(void **state)
{
	struct stored_problem problems[STORED_PROBLEMS_MAX];
	struct tcb_shape other = { 1, 4096, 8192 };
	struct stored_filter filters[] = {
		{ .op = "softmax" }, { .device_name = "sm_80" }, { .contract = "f32" }, { .shape = &other }
	};
	struct stored_filter mine = { "q4k_matvec", "sm_90", "q8", &problem.shape };
	int64_t sweep = begin();
	size_t count;

	(void)state;
	put(sweep, 1, 1000, TCB_STAGE_SCREEN, TCB_OUTCOME_OK, 0);
	put_best(sweep, 1);
	assert_int_equal(stored_problems(db, &mine, problems, &count, &err), TCB_OK);
	assert_int_equal(count, 1);
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
		assert_int_equal(stored_problems(db, &filters[i], problems, &count, &err), TCB_OK);
		assert_int_equal(count, 0);
	}
}

/* What was measured on a GPU is looked at with its own numbers, not with those of the first of its capability. */
static void gpu_is_the_measured_one(void **state)
{
	static const struct {
		const char *device, *model, *taken;
	} cases[] = { { "sm_90", "NVIDIA H200", "NVIDIA H200" },
		      { "cuda:0", "NVIDIA H200", "NVIDIA H200" },
		      { "sm_90", "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3" },
		      { "sm_90", "NVIDIA H900", "NVIDIA H100 80GB HBM3" } };
	struct stored_problem stored = { 0 };
	struct tcb_gpu gpu;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(stored.device_name, sizeof stored.device_name, "%s", cases[i].device);
		snprintf(stored.model, sizeof stored.model, "%s", cases[i].model);
		assert_int_equal(stored_gpu(&stored, &gpu, &err), TCB_OK);
		assert_string_equal(gpu.device.model, cases[i].taken);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(filtered, setup, teardown),
		cmocka_unit_test(gpu_is_the_measured_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
