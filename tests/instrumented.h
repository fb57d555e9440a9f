/* SPDX-License-Identifier: MIT
 *
 * Which of many like cases a test takes: all of them, unless this is built with
 * a sanitizer or for an emulated processor, which makes it several times slower
 * (a sixteenth and a third then), or unless TCB_TEST_PART is 1 to 4: the tests that developers wait for take the
 * first, an eighth, those labelled slow the second, a quarter; the third and the fourth are by hand.
 */
#ifndef TCB_TESTS_INSTRUMENTED_H
#define TCB_TESTS_INSTRUMENTED_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_IS_INSTRUMENTED = 1, TEST_TAKES_ONE_OF = 16 };
#elif defined(TCB_TEST_EMULATED)
enum { TEST_IS_INSTRUMENTED = 1, TEST_TAKES_ONE_OF = 3 };
#else
enum { TEST_IS_INSTRUMENTED = 0, TEST_TAKES_ONE_OF = 1 };
#endif
enum { TEST_PARTS = 4, TEST_EIGHTHS = 8 };

/* 0: no part in particular. */
static inline unsigned test_part(void)
{
	const char *part = getenv("TCB_TEST_PART");
	return !TEST_IS_INSTRUMENTED && part ? (unsigned)strtoul(part, NULL, 10) : 0;
}

static inline int test_takes_all(void)
{
	return !TEST_IS_INSTRUMENTED && !test_part();
}

/* What a test of many like cases leaves out, in no order: where instrumented most numbers, never 0; else what is not of
 * the part that is asked for. */
static inline int test_leaves_out(size_t i)
{
	const uint32_t drawn = (uint32_t)i * 2654435761u >> 16;
	if (TEST_IS_INSTRUMENTED)
		return drawn % TEST_TAKES_ONE_OF != 0;
	static const unsigned part_of[TEST_EIGHTHS] = { 1, 2, 2, 3, 3, 4, 4, 4 };
	return test_part() && part_of[drawn % TEST_EIGHTHS] != test_part();
}

/* The same of cases that are not like others: what the first test leaves out the second one takes. */
static inline int test_defers(size_t i)
{
	const uint32_t drawn = (uint32_t)i * 2654435761u >> 16;
	if (TEST_IS_INSTRUMENTED)
		return drawn % TEST_TAKES_ONE_OF != 0;
	return test_part() && (drawn % TEST_PARTS == 0) != (test_part() == 1);
}

/* How many of COUNT like cases a test has taken at least when it is done: half of its share, which is drawn. */
static inline size_t test_least_of(size_t count)
{
	const size_t one_of = TEST_IS_INSTRUMENTED ? TEST_TAKES_ONE_OF : test_part() == 1 ? TEST_EIGHTHS : TEST_PARTS;
	return test_takes_all() ? count : count / 2 / one_of;
}

#endif
