/* SPDX-License-Identifier: MIT
 *
 * Whether this is built with a sanitizer that makes it several times slower:
 * then tests repeat the same thing less often; the plain build has all of it.
 */
#ifndef TCB_TESTS_INSTRUMENTED_H
#define TCB_TESTS_INSTRUMENTED_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_IS_INSTRUMENTED = 1 };
#else
enum { TEST_IS_INSTRUMENTED = 0 };
#endif

/* Two of three numbers, in no order, where instrumented: what a test of many like cases leaves out there.  Never 0. */
static inline int test_leaves_out(size_t i)
{
	return TEST_IS_INSTRUMENTED && ((uint32_t)i * 2654435761u >> 16) % 3 != 0;
}

#endif
