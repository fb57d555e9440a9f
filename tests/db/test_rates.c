/* SPDX-License-Identifier: MIT
 *
 * Compute rates, in and out: the fastest that a device's driver gave stays, and
 * comes with the winners of that device and of no other.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "db/rates.h"
#include "db_fixture.h"

static struct tcb_device device_of(unsigned threads, const char *driver)
{
	struct tcb_device device = { .key = "0123456789abcdef", .name = "sm_90" };
	device.target.threads = threads;
	snprintf(device.driver, sizeof device.driver, "%s", driver);
	return device;
}

static void put(struct tcb_db *db, const struct tcb_device *device, double value, const char *method)
{
	struct tcb_compute_rate rate = { .kind = TCB_COMPUTE_F16, .rate = value };
	struct tcb_error err;
	snprintf(rate.method, sizeof rate.method, "%s", method);
	if (tcb_db_rate_put(db, device, &rate, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static double get(struct tcb_db *db, const struct tcb_device *device, const char *method)
{
	struct tcb_compute_rate rate;
	int found;
	assert_int_equal(tcb_db_rate_get(db, device, TCB_COMPUTE_F16, &rate, &found, NULL), TCB_OK);
	assert_string_equal(rate.method, method);
	return found ? rate.rate : -1;
}

static void fastest_of_a_driver(void **state)
{
	struct fixture fixture;
	struct tcb_db *db;
	const struct tcb_device device = device_of(0, "one"), newer = device_of(0, "two"), other = device_of(1, "one");
	(void)state;
	fixture_init(&fixture);
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, NULL), TCB_OK);
	assert_true(get(db, &device, "") == -1);
	put(db, &device, 5, "mma");
	put(db, &device, 4, "slower");
	assert_true(get(db, &device, "mma") == 5);
	put(db, &device, 6, "wgmma");
	assert_true(get(db, &device, "wgmma") == 6);
	assert_true(get(db, &other, "") == -1);
	assert_true(get(db, &newer, "") == -1); /* another driver's is unknown */
	put(db, &newer, 3, "mma");
	assert_true(get(db, &newer, "mma") == 3);
	assert_true(get(db, &device, "") == -1);
	tcb_db_close(db);
	fixture_fini(&fixture);
}

static int see_rates(void *ctx, const struct tcb_best *best)
{
	double *rates = ctx;
	memcpy(rates, best->compute_rate, sizeof best->compute_rate);
	return 0;
}

static void comes_with_winners(void **state)
{
	struct fixture fixture;
	struct tcb_db *db;
	struct tcb_device device;
	const struct tcb_problem problem = fixture_problem(64, 256);
	struct tcb_best best = { .problem = problem, .state = TCB_COLD, .modelled = 1, .ns = { 2, 1, 3 } };
	struct tcb_error err;
	double rates[TCB_COMPUTE_COUNT] = { -1, -1, -1, -1 };
	(void)state;
	fixture_init(&fixture);
	assert_int_equal(tcb_db_open(fixture.path, TCB_DB_WRITE, &db, NULL), TCB_OK);
	fixture_device(&device);
	const int64_t sweep = fixture_sweep(db, &device, &problem, &err);
	if (!sweep || tcb_db_best_put(db, sweep, &best, (const char *const[]){ "" }, 1, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_db_best_each(db, NULL, see_rates, rates, NULL), TCB_OK);
	for (int kind = 0; kind < TCB_COMPUTE_COUNT; kind++)
		assert_true(rates[kind] == 0);
	put(db, &device, 7, "mma");
	assert_int_equal(tcb_db_best_each(db, NULL, see_rates, rates, NULL), TCB_OK);
	for (int kind = 0; kind < TCB_COMPUTE_COUNT; kind++)
		assert_true(rates[kind] == (kind == TCB_COMPUTE_F16 ? 7 : 0));
	tcb_db_close(db);
	fixture_fini(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(fastest_of_a_driver),
					    cmocka_unit_test(comes_with_winners) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
