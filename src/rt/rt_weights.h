/* SPDX-License-Identifier: MIT
 *
 * Private to src/rt: what memory for weights asks of the kernel, which tests
 * stand in for.
 */
#ifndef TCB_RT_RT_WEIGHTS_H
#define TCB_RT_RT_WEIGHTS_H

#include <stddef.h>
#include <stdint.h>

struct rt_weights_kernel {
	uint64_t (*spent_ns)(void);              /* processor time of this thread */
	int (*advise)(void *page, size_t bytes); /* nonzero: it has no large pages */
	uint64_t (*faults)(void);                /* that this thread has had */
};

/* The first pages may take as long as this many may, before an average means anything. */
enum { RT_WEIGHTS_GRACE = 8 };

/* Asks for and touches PAGES pages of 2 MiB from AT on, as long as they take no more than TCBRT_HUGE_PAGE_MS on
 * average; returns how many were given. */
size_t rt_weights_ask(const struct rt_weights_kernel *kernel, char *at, size_t pages);

#endif
