/* SPDX-License-Identifier: MIT
 *
 * A test program that does what its arguments say, each in a test of its own:
 * pass, skip, fail.  test_skips.py sees what ctest makes of it.
 */
#include <string.h>

#include "cmocka_all.h"

enum { TESTS_MAX = 300 };

static void passes(void **state)
{
	(void)state;
	assert_true(1);
}

static void skips(void **state)
{
	(void)state;
	skip_because("it was %s", "told to");
}

static void fails(void **state)
{
	(void)state;
	assert_true(0);
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[TESTS_MAX];
	int count = 0;

	for (; count < argc - 1 && count < TESTS_MAX; count++) {
		const char *does = argv[count + 1];
		tests[count] = (struct CMUnitTest){ does, passes, NULL, NULL, NULL };
		if (strcmp(does, "skip") == 0)
			tests[count].test_func = skips;
		else if (strcmp(does, "pass") != 0)
			tests[count].test_func = fails;
	}
	return test_status(_cmocka_run_group_tests("sample", tests, (size_t)count, NULL, NULL));
}
