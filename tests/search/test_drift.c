/* SPDX-License-Identifier: MIT
 *
 * The record of the machine's speed: interpolation, robustness, ends.
 */
#include <math.h>
#include <stddef.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "search/drift.h"

static void test_empty_and_single(void **state)
{
	(void)state;
	struct tcb_drift drift = { 0 };
	assert_true(isnan(tcb_drift_at(&drift, 1)));
	assert_int_equal(tcb_drift_add(&drift, 1, NAN, NULL), TCB_OK); /* a failed measurement is none */
	assert_int_equal(drift.count, 0);
	assert_int_equal(tcb_drift_add(&drift, 1, 100, NULL), TCB_OK);
	assert_true(tcb_drift_at(&drift, 0) == 100 && tcb_drift_at(&drift, 9) == 100);
	tcb_drift_fini(&drift);
}

static void test_follows_a_slope(void **state)
{
	(void)state;
	struct tcb_drift drift = { 0 };
	for (int i = 0; i < 200; i++)
		assert_int_equal(tcb_drift_add(&drift, 0.5 * i, 100 + i, NULL), TCB_OK);
	for (double when = 1; when < 98; when += 0.37)
		assert_true(fabs(tcb_drift_at(&drift, when) - (100 + 2 * when)) < 1e-9);
	tcb_drift_fini(&drift);
}

static void test_one_bad_measurement_does_not_show(void **state)
{
	(void)state;
	struct tcb_drift drift = { 0 };
	for (int i = 0; i < 10; i++)
		assert_int_equal(tcb_drift_add(&drift, i, i == 5 ? 900 : 100, NULL), TCB_OK);
	for (double when = 0; when < 9; when += 0.25)
		assert_true(tcb_drift_at(&drift, when) == 100);
	/* Two in a row are a change of the machine. */
	assert_int_equal(tcb_drift_add(&drift, 10, 200, NULL), TCB_OK);
	assert_int_equal(tcb_drift_add(&drift, 11, 200, NULL), TCB_OK);
	assert_true(tcb_drift_at(&drift, 11) == 200);
	tcb_drift_fini(&drift);
}

/* Looks that scatter by two per cent say so, those that only drift do not. */
static void test_scatter(void **state)
{
	struct tcb_drift drift = { 0 }, noisy = { 0 };
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 4);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tcb_drift_add(&drift, i, 100, NULL), TCB_OK);
		assert_true(tcb_drift_scatter(&drift) == 0);
	}
	for (int i = 2; i < 400; i++)
		assert_int_equal(tcb_drift_add(&drift, i, 100 + 0.1 * i, NULL), TCB_OK);
	for (int i = 0; i < 400; i++)
		assert_int_equal(tcb_drift_add(&noisy, i, 100 * exp(0.02 * tcb_rng_normal(&rng)), NULL), TCB_OK);
	assert_true(tcb_drift_scatter(&drift) < 0.001);
	/* The look's own noise, and that of the mean of two. */
	assert_true(fabs(tcb_drift_scatter(&noisy) / (0.02 * sqrt(1.5)) - 1) < 0.15);
	tcb_drift_fini(&drift);
	tcb_drift_fini(&noisy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_and_single),
		cmocka_unit_test(test_follows_a_slope),
		cmocka_unit_test(test_one_bad_measurement_does_not_show),
		cmocka_unit_test(test_scatter),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
