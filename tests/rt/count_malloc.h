/* SPDX-License-Identifier: MIT
 *
 * Counts the calls of malloc and its kin in the whole process, glibc's own
 * included, by standing in front of them.  Sanitizers do the same, so that
 * under them COUNTS_MALLOC is 0 and nothing is counted.
 */
#ifndef TCB_TESTS_COUNT_MALLOC_H
#define TCB_TESTS_COUNT_MALLOC_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_MALLOC 0
#else
#define COUNTS_MALLOC 1
#endif
#else
#define COUNTS_MALLOC 1
#endif

static atomic_size_t malloc_calls;

#if COUNTS_MALLOC
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes)
{
	malloc_calls++;
	return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	malloc_calls++;
	return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
	malloc_calls++;
	return __libc_realloc(old, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	malloc_calls++;
	return __libc_memalign(alignment, bytes);
}
#endif

#endif
