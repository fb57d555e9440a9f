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
	/* Both are told, and what is to be done about the noise comes first. */
	expect(&best, 0, TCB_VERDICT_NOISY, "times as fast as the default; thin, too: 1 of 5058 tried, too few");
	best.speedup = sound().speedup;
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

/* However tight the interval of samples that others disturbed is. */
static void test_disturbed_finals(void **state)
{
	struct tcb_best best = sound();

	(void)state;
	best.final_rounds = 60;
	best.quiet_rounds = 8;
	expect(&best, 0, TCB_VERDICT_NOISY, "others disturbed 52 of the 60 rounds");
	best.quiet_rounds = 9; /* these are enough, and the decision rests on them alone */
	expect(&best, 0, TCB_VERDICT_TUNED, "");
	best.final_rounds = best.quiet_rounds = 3; /* of long calls there are no more */
	expect(&best, 0, TCB_VERDICT_TUNED, "");
	best.quiet_rounds = 2;
	expect(&best, 0, TCB_VERDICT_NOISY, "disturbed 1 of the 3");
	best.quiet_rounds = 0;
	expect(&best, 0, TCB_VERDICT_NOISY, "disturbed 3 of the 3");
}

static void expect_served(const struct tcb_best *best, enum tcb_unserved unserved)
{
	assert_string_equal(tcb_unserved_text(tcb_best_unserved(best, 0, 0)), tcb_unserved_text(unserved));
}

static void on_threads(int threads, char out[TCB_GEOMETRY_TEXT_MAX])
{
	struct tcb_geometry geometry;

	tcb_geometry_init(&geometry);
	geometry.knob[TCB_KNOB_THREADS] = threads;
	tcb_geometry_print(&geometry, out);
}

static void test_what_is_served(void **state)
{
	struct tcb_best best = sound();

	(void)state;
	expect_served(&best, TCB_UNSERVED_NOT);
	assert_int_equal(tcb_best_unserved(&best, 1, 0), TCB_UNSERVED_STALE);
	best.speedup.lo = 0.99;
	expect_served(&best, TCB_UNSERVED_SLOWER);
	best.provisional = 1; /* of which nothing is certain */
	expect_served(&best, TCB_UNSERVED_NOT);
	/* A wide interval of undisturbed samples says what it says, of others nothing. */
	best = sound();
	best.speedup = (struct tcb_interval){ 7.483, 4.073, 9 };
	expect_served(&best, TCB_UNSERVED_NOT);
	best.others_busy = 0.9;
	expect_served(&best, TCB_UNSERVED_NOISY);
	best = sound();
	best.final_rounds = 40;
	expect_served(&best, TCB_UNSERVED_NOISY);
	/* Fewer threads of few candidates. */
	best = sound();
	best.threads = 2;
	on_threads(1, best.geometry);
	expect_served(&best, TCB_UNSERVED_NOT);
	best.tried = 4;
	expect_served(&best, TCB_UNSERVED_FEWER_THREADS);
	best.space_count = 4; /* there are no others */
	expect_served(&best, TCB_UNSERVED_NOT);
	best.space_count = 3132;
	on_threads(2, best.geometry);
	expect_served(&best, TCB_UNSERVED_NOT);
	assert_int_equal(tcb_best_unserved(&best, 0, 1), TCB_UNSERVED_OTHER_DEFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_order), cmocka_unit_test(test_thin),
					    cmocka_unit_test(test_noisy), cmocka_unit_test(test_disturbed_finals),
					    cmocka_unit_test(test_what_is_served) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
