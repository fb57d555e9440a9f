/* SPDX-License-Identifier: MIT
 *
 * cmocka with the headers that it wants first, and with an exit status that
 * hides nothing: 1 if any test failed, whatever was skipped; else TEST_SKIPPED
 * if a test was skipped, which ctest shows as skipped; else 0.
 *
 * A test skips itself with skip_because(), which wants the reason; scripts/test.sh
 * lists the reasons.  cmocka's own skip() is undefined here.
 */
#ifndef TCB_TESTS_CMOCKA_ALL_H
#define TCB_TESTS_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { TEST_SKIPPED = 77 };

/* One for the whole program, of however many sources. */
__attribute__((weak)) unsigned test_skips;

__attribute__((noreturn, format(printf, 1, 2))) static inline void skip_because(const char *format, ...)
{
	char reason[256];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof reason, format, args);
	va_end(args);
	print_message("SKIPPED: %s\n", reason);
	test_skips++;
	_skip(__FILE__, __LINE__);
	__builtin_unreachable();
}

/* FAILED is cmocka's number of failed tests, which an exit status would cut to eight bits. */
static inline int test_status(int failed)
{
	if (failed)
		return 1;
	return test_skips ? TEST_SKIPPED : 0;
}

#undef skip
#undef cmocka_run_group_tests
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
	test_status(_cmocka_run_group_tests(name, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown))
#define cmocka_run_group_tests(tests, setup, teardown) cmocka_run_group_tests_name(#tests, tests, setup, teardown)

#endif
