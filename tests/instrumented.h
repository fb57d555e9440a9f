/* SPDX-License-Identifier: MIT
 *
 * Whether this is built with a sanitizer that makes it several times slower:
 * then tests repeat the same thing less often; the plain build has all of it.
 */
#ifndef TCB_TESTS_INSTRUMENTED_H
#define TCB_TESTS_INSTRUMENTED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { TEST_IS_INSTRUMENTED = 1 };
#else
enum { TEST_IS_INSTRUMENTED = 0 };
#endif

#endif
