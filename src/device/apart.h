/* SPDX-License-Identifier: MIT
 *
 * A driver asked in a process that ends at once: the tuner forks its workers,
 * and a process that has started a driver must not.
 */
#ifndef TCB_DEVICE_APART_H
#define TCB_DEVICE_APART_H

#include <stddef.h>

#include "base/status.h"

/* Fills at most CAPACITY items; pointers in them mean nothing to who asked. */
typedef enum tcb_status tcb_ask_fn(void *items, size_t capacity, size_t *count_out, struct tcb_error *err);

/* What ASK answers in a child; TCB_E_FAILED with DIED where that dies of it. */
enum tcb_status tcb_ask_apart(tcb_ask_fn *ask, void *items, size_t item_bytes, size_t capacity, size_t *count_out,
			      const char *died, struct tcb_error *err);

#endif
