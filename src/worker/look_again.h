/* SPDX-License-Identifier: MIT
 *
 * A large output that is far away, looked at again: a candidate's first output is
 * fetched and judged whole, and what its later calls leave is held against that by
 * random samples (docs/measuring.md, "Large problems").
 */
#ifndef TCB_WORKER_LOOK_AGAIN_H
#define TCB_WORKER_LOOK_AGAIN_H

#include "worker/instance.h"

/* Fetches BYTES bytes of the output from byte FIRST on. */
typedef enum tcb_status tcb_fetch_fn(void *ctx, size_t first, size_t bytes, void *to, struct tcb_error *err);

/*
 * Fetches a random piece of each of many even stretches of INSTANCE's output, ends included, until one differs from the
 * output that was found right last.  *IS_SAME_OUT: none does, and that was held to a bound no wider than PLAN's.  Never
 * of less than 256 MiB, which are fetched in a tenth of a second.  RNG goes on.
 */
enum tcb_status tcb_look_again(const struct tcb_instance *instance, const struct tcb_plan *plan, struct tcb_rng *rng,
			       tcb_fetch_fn *fetch, void *ctx, int *is_same_out, struct tcb_error *err);

#endif
