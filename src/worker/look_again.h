/* SPDX-License-Identifier: MIT
 *
 * Large outputs that are far away, looked at again: a candidate's first ones are
 * fetched and judged whole, and what its later calls leave is held against those by
 * random samples (docs/measuring.md, "Large problems").
 */
#ifndef TCB_WORKER_LOOK_AGAIN_H
#define TCB_WORKER_LOOK_AGAIN_H

#include "worker/instance.h"

/* Fetches BYTES bytes of operand OUTPUT from byte FIRST on. */
typedef enum tcb_status tcb_fetch_fn(void *ctx, size_t output, size_t first, size_t bytes, void *to,
				     struct tcb_error *err);

/*
 * Fetches a random piece of each of many even stretches of each of INSTANCE's outputs, ends included, until one differs
 * from what was found right last.  *IS_SAME_OUT: none does, and that was held to a bound no wider than PLAN's.  Never
 * of less than 256 MiB together, which are fetched in a tenth of a second.  RNG goes on.
 */
enum tcb_status tcb_look_again(const struct tcb_instance *instance, const struct tcb_plan *plan, struct tcb_rng *rng,
			       tcb_fetch_fn *fetch, void *ctx, int *is_same_out, struct tcb_error *err);

#endif
