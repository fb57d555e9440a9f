/* SPDX-License-Identifier: MIT
 *
 * Questions and answers, by futexes on memory that both sides have.
 */
#include "judge/party_page.h"

#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ANY_MS = 1000 };

void tcb_party_page_wake(atomic_uint *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void tcb_party_page_sleep(atomic_uint *word, unsigned value, unsigned ms)
{
	const struct timespec most = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	(void)syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

unsigned tcb_party_page_wait(struct tcb_party_page *page, unsigned seen)
{
	while (atomic_load(&page->asked) == seen)
		tcb_party_page_sleep(&page->asked, seen, ANY_MS);
	return atomic_load(&page->asked);
}

void tcb_party_page_answer(struct tcb_party_page *page, unsigned asked)
{
	atomic_store(&page->answered, asked);
	tcb_party_page_wake(&page->answered);
}

void tcb_party_page_set(struct tcb_party_page *page, enum tcb_party_state state)
{
	atomic_store(&page->state, state);
	tcb_party_page_wake(&page->state);
}

void tcb_party_page_fail(struct tcb_party_page *page, enum tcb_party_state state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(page->words, sizeof page->words, format, args);
	va_end(args);
	tcb_party_page_set(page, state);
}
