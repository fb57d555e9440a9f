/* SPDX-License-Identifier: MIT
 *
 * Are outputs right?  By the error bound against the reference in double, or
 * bit by bit against the order-matched scalar chain (SPEC section 4).
 */
#ifndef TCB_WORKER_JUDGE_H
#define TCB_WORKER_JUDGE_H

#include "worker/instance.h"

struct tcb_check {
	enum tcb_outcome outcome; /* OK, WRONG, or LAUNCH_FAILED where the op cannot plan it */
	char message[256];
	enum tcb_class class_checked;
	double error_ratio; /* the largest of all outputs; where there are several, the message of OK says which has it
			     */
	double call_ns;     /* what the call at full size took, between guard pages */
	int damaged;        /* it wrote outside of its buffers: the process is not to be trusted any more */
};

/*
 * Judges what PLAN left for INSTANCE in the outputs among OPERAND, each by itself, by the error bound; CHECK's ratio
 * grows, its outcome turns WRONG, with the first output that is.  WHEN says when, for the message: "in the timed runs".
 * Each element is held against the reference, with POOL's threads, or, where the instance has a draw, those that were
 * drawn and what looks odd (judge_drawn.h); unless all of an output is bit by bit what was held against it before and
 * found right by a bound that was no wider.
 */
enum tcb_status tcb_judge_bound(struct tcb_instance *instance, const struct tcb_plan *plan, void *const operand[],
				struct tcb_pool *pool, const char *when, struct tcb_check *check,
				struct tcb_error *err);

/*
 * Order-matched results, each computed once: they depend on the instance's operands, on variant and the tiles' k only,
 * and cost far more than the candidate's own run.  All of one cache are of one op.
 */
struct tcb_exact_cache;
enum tcb_status tcb_exact_cache_create(struct tcb_exact_cache **out, struct tcb_error *err);
void tcb_exact_cache_destroy(struct tcb_exact_cache *cache); /* NULL is fine */

/* Judges GOT bit by bit. */
enum tcb_status tcb_judge_exact(struct tcb_exact_cache *cache, struct tcb_instance *instance,
				const struct tcb_plan *plan, const float *got, struct tcb_check *check,
				struct tcb_error *err);

#endif
