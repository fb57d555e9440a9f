/* SPDX-License-Identifier: MIT
 *
 * Explains memory faults of candidates: a handler in the worker compares the
 * address with the buffers of the running candidate, writes one line to
 * standard error (which the tuner collects) and lets the signal kill the
 * worker.
 */
#ifndef TCB_WORKER_FAULT_H
#define TCB_WORKER_FAULT_H

#include <stddef.h>

#include "base/buffer.h"

enum { TCB_FAULT_REGIONS_MAX = 16 };

struct tcb_fault_region {
	const char *name; /* "output 'y'" */
	int read_only;
	const struct tcb_buffer *buffer;
};

/* Installs the handler for SIGSEGV and SIGBUS.  Once per process. */
void tcb_fault_install(void);
/* The buffers of the candidate that runs next; copied, at most TCB_FAULT_REGIONS_MAX. */
void tcb_fault_regions(const struct tcb_fault_region *regions, size_t count);

#endif
