/* SPDX-License-Identifier: MIT
 *
 * Verdicts on winners as their rows have them.
 */
#include "cmocka_all.h"

#include <math.h>
#include <string.h>

#include "db/verdict.h"

/* A winner with nothing to be said against it. */
static struct tcb_best sound(void)
{
	return (struct tcb_best){ .ns = { 100e3, 99e3, 101e3 },
				  .speedup = { 1.3, 1.28, 1.32 },
				  .tried = 400,
				  .space_count = 5058,
				  .expected_gain = 0.01,
				  .others_busy = 0.02,
				  .held_back = NAN };
}

static void expect(const struct tcb_best *best, int is_stale, enum tcb_verdict verdict, const char *reason)
{
	char said[TCB_VERDICT_REASON_MAX];

	assert_string_equal(tcb_verdict_text(tcb_best_verdict(best, is_stale)), tcb_verdict_text(verdict));
	tcb_verdict_reason(best, verdict, said);
	if (!strstr(said, reason))
		fail_msg("'%s' is not in '%s'", reason, said);
}

static void test_order(void **state)
{
	struct tcb_best best = sound();

	(void)state;
	expect(&best, 0, TCB_VERDICT_TUNED, "400 of 5058 tried; as many again should gain 1.0 %");
	best.speedup = (struct tcb_interval){ 1, 0.672, 583 };
	expect(&best, 0, TCB_VERDICT_NOISY, "between 0.672 and 583 times as fast as the default");
	best.tried = 1;
	best.expected_gain = NAN;
	expect(&best, 0, TCB_VERDICT_THIN, "1 of 5058 tried, too few");
	best.provisional = 1;
	expect(&best, 0, TCB_VERDICT_PROVISIONAL, "no finals");
	best.provisional = 0;
	best.modelled = 1;
	expect(&best, 0, TCB_VERDICT_MODELLED, "nothing was measured");
	expect(&best, 1, TCB_VERDICT_STALE, "has changed");
}

static void test_thin(void **state)
{
	struct tcb_best best = sound();

	(void)state;
	best.expected_gain = 0.12;
	expect(&best, 0, TCB_VERDICT_THIN, "should gain 12.0 %");
	best.tried = best.space_count; /* nothing is left to gain it from */
	expect(&best, 0, TCB_VERDICT_TUNED, "all 5058 tried");
	best = sound();
	best.expected_gain = NAN; /* of a database of the past */
	expect(&best, 0, TCB_VERDICT_TUNED, "400 of 5058 tried");
	best.tried = 59;
	expect(&best, 0, TCB_VERDICT_THIN, "too few");
	best.space_count = 59;
	expect(&best, 0, TCB_VERDICT_TUNED, "all 59");
}

static void test_noisy(void **state)
{
	struct tcb_best best = sound();

	(void)state;
	best.ns = (struct tcb_interval){ 100e3, 80e3, 121e3 };
	expect(&best, 0, TCB_VERDICT_NOISY, "between 80 and 121 µs");
	best.ns.hi = 119e3;
	expect(&best, 0, TCB_VERDICT_TUNED, "");
	best.others_busy = 0.4; /* then less is enough */
	expect(&best, 0, TCB_VERDICT_NOISY, "others had 40 % of the processors' time");
	best = sound();
	best.speedup.hi = 1.28 * 1.2;
	expect(&best, 0, TCB_VERDICT_TUNED, "");
	best.held_back = 0.5;
	expect(&best, 0, TCB_VERDICT_NOISY, "the clocks were held back 50 % of the time");
	best = sound();
	best.speedup = (struct tcb_interval){ NAN, NAN, NAN }; /* the default could not be measured */
	expect(&best, 0, TCB_VERDICT_TUNED, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order), cmocka_unit_test(test_thin),
					    cmocka_unit_test(test_noisy) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
