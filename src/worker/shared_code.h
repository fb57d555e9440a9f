/* SPDX-License-Identifier: MIT
 *
 * A GPU's code: compiled once for all evaluators of a problem on identical
 * cards, which may be used at the same time.
 */
#ifndef TCB_WORKER_SHARED_CODE_H
#define TCB_WORKER_SHARED_CODE_H

#include "kernels/code.h"

struct tcb_shared_code;

/* With one user.  No thread begins before the first candidate, so that the caller can fork until then. */
enum tcb_status tcb_shared_code_create(const struct tcb_problem *problem, const struct tcb_target *target,
				       int wants_facts, struct tcb_shared_code **out, struct tcb_error *err);
void tcb_shared_code_use(struct tcb_shared_code *shared);   /* one user more */
void tcb_shared_code_leave(struct tcb_shared_code *shared); /* one less; the last frees it.  NULL is fine */

/* Candidates that should be named ahead of their turn. */
size_t tcb_shared_code_ahead(struct tcb_shared_code *shared);
/* Names one of them. */
enum tcb_status tcb_shared_code_want(struct tcb_shared_code *shared, const struct tcb_geometry *geometry,
				     struct tcb_error *err);
/* GEOMETRY's code; USE is called with it, and it may go when USE returns. */
enum tcb_status tcb_shared_code_get(struct tcb_shared_code *shared, const struct tcb_geometry *geometry,
				    void (*use)(const struct tcb_code *code, void *ctx), void *ctx,
				    struct tcb_error *err);
/* Is there a limit with programmatic dependent launch? */
int tcb_shared_code_has_overlap(const struct tcb_shared_code *shared);
/* The GPU's read limit, plain or with programmatic dependent launch, lent; compiled beside the first candidates, and
 * waited for here. */
enum tcb_status tcb_shared_code_limit(struct tcb_shared_code *shared, int overlap, const struct tcb_code_image **out,
				      struct tcb_error *err);
/* Its compute limit, lent; compiled at the first call. */
enum tcb_status tcb_shared_code_compute(struct tcb_shared_code *shared, const struct tcb_code_image **out,
					struct tcb_error *err);

#endif
