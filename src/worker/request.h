/* SPDX-License-Identifier: MIT
 *
 * A request to the worker as it grows: a struct, then what has no fixed size.
 */
#ifndef TCB_WORKER_REQUEST_H
#define TCB_WORKER_REQUEST_H

#include "kernels/code.h"

/* Starts zeroed; free() data. */
struct tcb_request {
	char *data;
	size_t bytes, capacity;
	int failed; /* out of memory */
};

void tcb_request_add(struct tcb_request *request, const void *data, size_t bytes);
/* A candidate's code: its length, then itself; NULL: none, as on a CPU. */
void tcb_request_code(struct tcb_request *request, const struct tcb_code_image *image);

#endif
