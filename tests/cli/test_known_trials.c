/* SPDX-License-Identifier: MIT
 *
 * What shards measured is compared by the default geometry that each of them
 * measured: where a rule picks it, not the op's own.
 */
#include "cmocka_all.h"

#include <string.h>

#include "cli/core/emit.h"
#include "cli/tune/sweep_shards.h"
#include "db/db_fixture.h"
#include "kernels/default_rules.h"

/* What the file asks of the rest of the program, and this test does not. */
void cli_say(const char *format, ...)
{
	fail_msg("said: %s", format);
}

void cli_problem_label(const struct tcb_problem *problem, char out[CLI_LABEL_MAX])
{
	fail_msg("%s is named", problem->op_name);
	out[0] = '\0';
}

static void put(struct tcb_db *db, int64_t sweep, const struct tcb_geometry *geometry, double ns)
{
	struct tcb_measurement measurement;
	struct tcb_error err = { .message = "" };
	struct tcb_trial trial;
	double samples[3];

	fixture_trial(0, ns, &measurement, samples, &trial);
	trial.geometry = *geometry;
	if (tcb_db_trial_put(db, sweep, &trial, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

/* Two shards: each measured the default, one the op's own, too, the other a third. */
static void anchors_are_the_default_that_all_measured(void **state)
{
	const struct tcb_shape shape = { 1, 4096, 4096 };
	struct cli_problem problem = { .op = tcb_op_find("iq4xs_matvec") };
	struct tcb_geometry fallback, own, other;
	struct tcb_error err = { .message = "" };
	struct tcb_device device;
	struct fixture fixture;
	struct tcb_trial *trials;
	struct tcb_db *db;
	int64_t sweeps[2];
	size_t count;

	(void)state;
	fixture_init(&fixture);
	fixture_device(&device);
	device.target = (struct tcb_target){ .kind = TCB_TARGET_CPU,
					     .isa_mask = 1u << TCB_ISA_SCALAR | 1u << TCB_ISA_AVX2 |
							 1u << TCB_ISA_AVX512 | 1u << TCB_ISA_AVX512VNNI,
					     .threads = 1,
					     .line_bytes = 64,
					     .llc_bytes = 32 << 20 };
	assert_int_equal(tcb_problem_init(problem.op, TCB_CONTRACT_Q8, &shape, &problem.problem, &err), TCB_OK);
	tcb_geometry_init(&own);
	tcb_op_standard(&problem.problem, &device.target, &own);
	assert_non_null(tcb_default_geometry(&problem.problem, &device.target, &fallback).rule);
	assert_false(tcb_geometry_equal(&own, &fallback));
	fixture_geometry(7, &other);

	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, &err), TCB_OK);
	for (size_t i = 0; i < 2; i++) {
		sweeps[i] = fixture_sweep(db, &device, &problem.problem, &err);
		put(db, sweeps[i], &fallback, i ? 3000 : 1000);
	}
	put(db, sweeps[0], &own, 1500);
	put(db, sweeps[1], &other, 3300);
	if (cli_known_trials(db, &problem, &device, FIXTURE_ROTATION, &trials, &count, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < count; i++) {
		const struct tcb_measurement *m = &trials[i].measurements[0];
		assert_int_equal(trials[i].measurement_count, 1);
		assert_true(m->anchor_ns == (tcb_geometry_equal(&trials[i].geometry, &own) ? 1000 : 3000));
	}
	tcb_db_trials_free(trials, count);
	tcb_db_close(db);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(anchors_are_the_default_that_all_measured) };
	return cmocka_run_group_tests_name("cli.known_trials", tests, NULL, NULL);
}
