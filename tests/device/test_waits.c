/* SPDX-License-Identifier: MIT
 *
 * What others took, from counts that the test makes up, and from the kernel's.
 */
#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "device/waits.h"

enum { THREADS = 3 };
struct counts {
	double waited_ns[THREADS], stolen;
	size_t looks;
};

static double waited_ns(void *ctx, size_t thread)
{
	struct counts *counts = ctx;

	counts->looks += thread == 0;
	return counts->waited_ns[thread];
}

static double stolen(void *ctx)
{
	return ((struct counts *)ctx)->stolen;
}

static void pass_ns(uint64_t ns)
{
	const uint64_t start = tcb_clock_ns();

	while (tcb_clock_ns() - start < ns)
		;
}

/* Of several threads the one counts that waited longest: a call is over when all of them are. */
static void test_share(void **state)
{
	struct counts counts = { .waited_ns = { 5e9, 0, 7e9 } };
	struct tcb_waits waits = { .threads = THREADS, .waited_ns = waited_ns, .ctx = &counts };

	(void)state;
	tcb_waits_begin(&waits);
	pass_ns(1000000);
	assert_true(tcb_waits_look(&waits, 1) == 0);
	pass_ns(1000000);
	counts.waited_ns[1] += 400000;
	counts.waited_ns[2] += 500000;
	const double share = tcb_waits_look(&waits, 1); /* at most half: the time since may be longer here */
	assert_true(share > 0 && share <= 0.5);
	assert_true(tcb_waits_look(&waits, 1) == 0); /* told once */
	counts.waited_ns[0] += 1e12;
	assert_true(tcb_waits_look(&waits, 1) == 1);
	waits.stolen = stolen;
	counts.stolen = 0.3;
	assert_true(tcb_waits_look(&waits, 1) == 0.3);
}

/* No look where it would cost more than a hundredth of the time since the last, unless it must be. */
static void test_cost(void **state)
{
	struct counts counts = { .looks = 0 };
	struct tcb_waits waits = { .threads = THREADS, .waited_ns = waited_ns, .ctx = &counts, .cost_ns = 1e12 };

	(void)state;
	tcb_waits_begin(&waits);
	const size_t before = counts.looks;
	assert_true(tcb_waits_look(&waits, 0) == -1);
	assert_int_equal(counts.looks, before);
	assert_true(tcb_waits_look(&waits, 1) == 0);
	waits.cost_ns = 0;
	assert_true(tcb_waits_look(&waits, 0) == 0);
}

static void test_unknown(void **state)
{
	struct tcb_waits waits = { .threads = 0 };

	(void)state;
	tcb_waits_begin(&waits);
	assert_true(isnan(tcb_waits_look(&waits, 0)) && isnan(tcb_waits_look(&waits, 1)));
}

/* Whatever this system has: a share, or that it is unknown. */
static void test_of_this_process(void **state)
{
	struct tcb_waits waits;

	setenv("TCBTUNE_OTHERS", "ignore", 1);
	tcb_waits_open((const int[]){ 0 }, 1, &waits);
	assert_true(waits.threads == 0 && !waits.source);
	tcb_waits_close(&waits);
	unsetenv("TCBTUNE_OTHERS");

	(void)state;
	tcb_waits_open((const int[]){ 0 }, 1, &waits);
	assert_int_equal(waits.threads > 0, waits.source != NULL);
	tcb_waits_begin(&waits);
	pass_ns(2000000);
	const double share = tcb_waits_look(&waits, 1);
	assert_true(waits.threads ? share >= 0 && share <= 1 : isnan(share));
	tcb_waits_close(&waits);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_share), cmocka_unit_test(test_cost),
					    cmocka_unit_test(test_unknown), cmocka_unit_test(test_of_this_process) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
