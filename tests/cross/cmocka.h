/* SPDX-License-Identifier: MIT
 *
 * As much of cmocka's interface as the tests of the kernels use, for
 * processors that this machine has a compiler for, but no libraries
 * (tests/cross/CMakeLists.txt).  One program is one source file, so all is
 * static.  A test ends at its first failure; a group's result is the number of
 * tests that failed.  Tests include it as cmocka_all.h.
 */
#ifndef TCB_TESTS_CROSS_CMOCKA_H
#define TCB_TESTS_CROSS_CMOCKA_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*test_func)(void **state);
	int (*setup_func)(void **state);
	int (*teardown_func)(void **state);
	void *initial_state;
};

enum cross_outcome { CROSS_PASSED, CROSS_FAILED, CROSS_SKIPPED };
static jmp_buf cross_end;

static inline void cross_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void cross_message(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	fflush(stdout);
}

__attribute__((noreturn)) static inline void cross_finish(enum cross_outcome outcome)
{
	longjmp(cross_end, (int)outcome);
}

__attribute__((noreturn)) static inline void cross_fail(const char *file, int line, const char *what)
{
	cross_message("%s:%d: %s\n", file, line, what);
	cross_finish(CROSS_FAILED);
}

static inline void cross_expect(int holds, const char *file, int line, const char *what)
{
	if (!holds)
		cross_fail(file, line, what);
}

__attribute__((noreturn)) static inline void _skip(const char *file, int line)
{
	(void)file;
	(void)line;
	cross_finish(CROSS_SKIPPED);
}

#define print_message(...) cross_message(__VA_ARGS__)
#define fail_msg(...)                                          \
	do {                                                   \
		cross_message("ERROR: " __VA_ARGS__);          \
		cross_fail(__FILE__, __LINE__, ": a failure"); \
	} while (0)
#define assert_true(c) cross_expect(!!(c), __FILE__, __LINE__, #c)
#define assert_false(c) cross_expect(!(c), __FILE__, __LINE__, "not " #c)
#define assert_int_equal(a, b) cross_expect((uintmax_t)(a) == (uintmax_t)(b), __FILE__, __LINE__, #a " == " #b)
#define assert_ptr_equal(a, b) cross_expect((const void *)(a) == (const void *)(b), __FILE__, __LINE__, #a " == " #b)
#define assert_null(p) cross_expect(!(p), __FILE__, __LINE__, #p " is NULL")
#define assert_non_null(p) cross_expect(!!(p), __FILE__, __LINE__, #p " is not NULL")
#define assert_in_range(v, low, high)                                                                               \
	cross_expect((uintmax_t)(v) >= (uintmax_t)(low) && (uintmax_t)(v) <= (uintmax_t)(high), __FILE__, __LINE__, \
		     #v " from " #low " to " #high)
#define assert_float_equal(a, b, within) \
	cross_expect(fabs((double)(a) - (double)(b)) <= (within), __FILE__, __LINE__, #a " is about " #b)
#define test_malloc(size) malloc(size)
#define test_free(p) free(p)
#define assert_memory_equal(a, b, size) \
	cross_expect(memcmp(a, b, size) == 0, __FILE__, __LINE__, #a " and " #b " hold the same")
#define assert_string_equal(a, b) cross_expect(strcmp(a, b) == 0, __FILE__, __LINE__, #a " and " #b " are the same")

#define cmocka_unit_test(function)                    \
	{                                             \
#function, function, NULL, NULL, NULL \
	}

static inline int cross_run(const struct CMUnitTest *test)
{
	void *state = test->initial_state;
	const int outcome = setjmp(cross_end);
	if (outcome)
		return outcome;
	test->test_func(&state);
	return CROSS_PASSED;
}

static inline int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
					  int (*setup)(void **state), int (*teardown)(void **state))
{
	static const char *const texts[] = { "ok", "FAILED", "skipped" };
	size_t counts[3] = { 0 };
	(void)setup;
	(void)teardown;
	for (size_t i = 0; i < count; i++) {
		const int outcome = cross_run(&tests[i]);
		cross_message("%s %s: %s\n", name, tests[i].name, texts[outcome]);
		counts[outcome]++;
	}
	cross_message("%zu passed, %zu failed, %zu skipped\n", counts[0], counts[1], counts[2]);
	return (int)counts[CROSS_FAILED];
}

#endif
