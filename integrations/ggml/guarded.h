/* SPDX-License-Identifier: MIT
 *
 * Calling what may crash: in a child of this process, which has all that the process
 * has and takes nothing with it when it dies.
 */
#ifndef TCB_GGML_GUARDED_H
#define TCB_GGML_GUARDED_H

#include <stddef.h>

/* How the child ended. */
enum guarded_end { GUARDED_RETURNED, GUARDED_CRASHED, GUARDED_HUNG, GUARDED_NOT_STARTED };

/* BYTES of zeros that the child's writes to are seen by its parent; NULL: no memory.  Freed by guarded_free. */
void *guarded_alloc(size_t bytes);
void guarded_free(void *memory, size_t bytes);

/*
 * FN(CTX) in a child, for some seconds at most.  It must not print, must not wait for other threads (there are none)
 * and not return by any other way; what it has to say it writes to memory of guarded_alloc.
 */
enum guarded_end guarded_run(void (*fn)(void *ctx), void *ctx);

#endif
