/* SPDX-License-Identifier: MIT
 *
 * The expected gain: unknown at first, large while a search improves, small on
 * a plateau, and over random draws near what really comes.
 */
#include <math.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "search/gain.h"

enum { MANY = 1000000 }; /* candidates, more than are tried */

static void test_too_few(void **state)
{
	struct tcb_gain gain = { 0 };

	(void)state;
	assert_true(isnan(tcb_gain_expected(&gain, MANY)));
	for (int i = 0; i < 100; i++) /* everything fails */
		tcb_gain_add(&gain, i % 2 ? INFINITY : NAN);
	assert_true(isnan(tcb_gain_expected(&gain, MANY)));
	gain = (struct tcb_gain){ 0 };
	for (int i = 0; i < 59; i++)
		tcb_gain_add(&gain, 5);
	assert_true(isnan(tcb_gain_expected(&gain, MANY)));
	tcb_gain_add(&gain, 5);
	assert_true(tcb_gain_expected(&gain, MANY) > 0);
}

/* Improving by 1 % a trial promises much; 1,000 trials without any after that promise less than the last ones brought.
 */
static void test_plateau(void **state)
{
	struct tcb_gain gain = { 0 };
	double best = 100, improving;

	(void)state;
	for (int i = 0; i < 200; i++)
		tcb_gain_add(&gain, best *= 0.99);
	improving = tcb_gain_expected(&gain, MANY);
	/* What is left of the space limits it. */
	assert_true(tcb_gain_expected(&gain, 400) == improving);
	assert_true(tcb_gain_expected(&gain, 220) > 0 && tcb_gain_expected(&gain, 220) < improving / 5);
	assert_true(tcb_gain_expected(&gain, 200) == 0);
	assert_true(improving > 0.2 && isfinite(improving));
	for (int i = 0; i < 1000; i++)
		tcb_gain_add(&gain, best);
	assert_true(tcb_gain_expected(&gain, MANY) > 0 && tcb_gain_expected(&gain, MANY) < 0.01);
}

/* Random draws of a lower-bounded distribution: over many searches the mean of what as many trials again brought is of
 * the size that was predicted, and where less than 1 % was predicted not much more came. */
static void test_random_draws(void **state)
{
	double predicted = 0, came = 0, came_after_stable = 0;
	size_t runs = 0, stable = 0;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 7);
	for (; runs < 400; runs++) {
		struct tcb_gain gain = { 0 };
		double best = INFINITY, then, expected;
		for (int i = 0; i < 200; i++) {
			best = fmin(best, 1 + pow((double)tcb_rng_below(&rng, 1000000) / 1e6, 2));
			tcb_gain_add(&gain, best);
		}
		expected = tcb_gain_expected(&gain, MANY);
		then = best;
		for (int i = 0; i < 200; i++)
			best = fmin(best, 1 + pow((double)tcb_rng_below(&rng, 1000000) / 1e6, 2));
		predicted += expected;
		came += then / best - 1;
		stable += expected < 0.01;
		came_after_stable += expected < 0.01 ? then / best - 1 : 0;
	}
	print_message("predicted %.3f %%, came %.3f %%\n", 100 * predicted / (double)runs, 100 * came / (double)runs);
	assert_true(came / (double)runs < predicted / (double)runs);
	assert_true(stable > runs / 2);
	assert_true(came_after_stable / (double)stable < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_plateau),
		cmocka_unit_test(test_random_draws),
	};
	return cmocka_run_group_tests_name("search.gain", tests, NULL, NULL);
}
