/* SPDX-License-Identifier: MIT
 *
 * Which of many like cases a test takes: all of them, unless this is built with
 * a sanitizer or for an emulated processor, which makes it several times slower
 * (a sixth and a third then), or unless TCB_TEST_HALF is 1 or 2 (that half of them: the tests
 * that developers wait for take the first, those labelled slow the second).
 */
#ifndef TCB_TESTS_INSTRUMENTED_H
#define TCB_TESTS_INSTRUMENTED_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_IS_INSTRUMENTED = 1, TEST_TAKES_ONE_OF = 6 };
#elif defined(TCB_TEST_EMULATED)
enum { TEST_IS_INSTRUMENTED = 1, TEST_TAKES_ONE_OF = 3 };
#else
enum { TEST_IS_INSTRUMENTED = 0, TEST_TAKES_ONE_OF = 1 };
#endif

/* 0: no half in particular. */
static inline unsigned test_half(void)
{
	const char *half = getenv("TCB_TEST_HALF");
	return !TEST_IS_INSTRUMENTED && half ? (unsigned)strtoul(half, NULL, 10) : 0;
}

static inline int test_takes_all(void)
{
	return !TEST_IS_INSTRUMENTED && !test_half();
}

/* What a test of many like cases leaves out, in no order: where instrumented most numbers, never 0; else what is not of
 * the half that is asked for. */
static inline int test_leaves_out(size_t i)
{
	const uint32_t drawn = (uint32_t)i * 2654435761u >> 16;
	if (TEST_IS_INSTRUMENTED)
		return drawn % TEST_TAKES_ONE_OF != 0;
	return test_half() && drawn % 2 + 1 != test_half();
}

/* How many of COUNT like cases a test has taken at least when it is done: half of its share, which is drawn. */
static inline size_t test_least_of(size_t count)
{
	return test_takes_all() ? count : count / 2 / (TEST_IS_INSTRUMENTED ? TEST_TAKES_ONE_OF : 2);
}

#endif
