/* SPDX-License-Identifier: MIT
 *
 * Work that needs more stack than a thread of somebody else's may have: emitters
 * of PTX take up to 400 KiB, and a program may call from threads of 128 KiB or
 * run where `ulimit -s` is small.
 */
#ifndef TCB_BASE_STACK_H
#define TCB_BASE_STACK_H

#include "base/status.h"

enum { TCB_STACK_BYTES = 8 << 20, TCB_STACK_LEAST = 2 << 20 };

/*
 * Calls FN(CTX) and returns when it has: here, if TCB_STACK_LEAST bytes of this thread's stack are left, else in a
 * thread of TCB_STACK_BYTES, which signals for this one go to meanwhile.  TCB_E_NOMEM: there can be none, and FN was
 * not called.
 */
enum tcb_status tcb_stack_call(void (*fn)(void *ctx), void *ctx, struct tcb_error *err);

/* Threads that this process makes from now on have TCB_STACK_BYTES at least, whatever `ulimit -s` says.  For programs,
 * not for libraries. */
void tcb_stack_of_threads(void);

#endif
