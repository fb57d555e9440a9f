/* SPDX-License-Identifier: MIT
 *
 * One problem in memory: random operands between guard pages, inputs
 * read-only, the double reference beside them, and the weights packed once per
 * layout.  The full-size problem and each small shape of the verification is
 * one instance.
 */
#ifndef TCB_WORKER_INSTANCE_H
#define TCB_WORKER_INSTANCE_H

#include "base/buffer.h"
#include "kernels/op.h"
#include "worker/draw.h"

/* The weights in one layout, each operand by itself. */
struct tcb_packed {
	struct tcb_buffer buffer[TCB_OPERANDS_MAX]; /* guarded, read-only; map NULL until made, or as stored */
	double pack_ns;                             /* of all of them */
};

/* An output that was found right, by which bound and how far off: many others are the same bit by bit. */
struct tcb_right {
	struct tcb_buffer output; /* read-only; map NULL: none yet */
	double chain, ulps, error_ratio;
};

/* An output of an instance. */
struct tcb_output {
	size_t operand;         /* its index */
	size_t count;           /* its elements */
	struct tcb_right right; /* judge.c */
	struct tcb_buffer
		start; /* read-only: what one that is updated begins with, or a poison of its own; map NULL: poison */
};

/* The reference of one problem, for workers that follow each other; tcb_shared_reference_create. */
struct tcb_shared_reference;

struct tcb_instance {
	const struct tcb_op *op;
	struct tcb_problem problem;
	uint64_t seed; /* of the operands: with op and shape it says all of them */
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	size_t operand_count;
	struct tcb_output output[TCB_OUTPUTS_MAX]; /* in the operands' order */
	size_t output_count;
	struct tcb_buffer data[TCB_OPERANDS_MAX];
	struct tcb_packed packed[TCB_LAYOUT_COUNT];
	struct tcb_reference reference[TCB_OUTPUTS_MAX]; /* of each output; NULLs until tcb_instance_reference */
	/* Lent; NULL: every element is compared.  Else there is one output, of its reference there are only these, and
	 * the arrays of REFERENCE hold them all. */
	const struct tcb_draw *draw;
	struct tcb_reference drawn[TCB_DRAW_GRIDS], sums;
	struct tcb_buffer reference_data;
	struct tcb_shared_reference *shared; /* lent; NULL: the reference is this process's own */
};

/* POOL's threads fill the operands; NULL: the caller.  TCB_E_UNSUPPORTED if the op's operands break the contract (no
 * output, more than TCB_OUTPUTS_MAX, one that cannot be judged). */
enum tcb_status tcb_instance_create(const struct tcb_op *op, const struct tcb_problem *problem, uint64_t seed,
				    struct tcb_pool *pool, struct tcb_instance **out, struct tcb_error *err);
void tcb_instance_destroy(struct tcb_instance *instance); /* NULL is fine */

/* Computes the reference unless it is there, with POOL's threads; in memory that is shared, if SHARED is set.
 * TCB_E_FAILED where the op gave none. */
enum tcb_status tcb_instance_reference(struct tcb_instance *instance, struct tcb_pool *pool, struct tcb_error *err);
/* Room for the weights in LAYOUT, PACKED_BYTES of each operand (struct tcb_plan): tcb_instance_pack fills it, unless
 * IS_PACKED_OUT says that it was filled before.  Two steps, so that the caller can tell the op's time from its own. */
enum tcb_status tcb_instance_pack_prepare(struct tcb_instance *instance, enum tcb_layout layout,
					  const size_t packed_bytes[TCB_OPERANDS_MAX], int *is_packed_out,
					  struct tcb_error *err);
enum tcb_status tcb_instance_pack(struct tcb_instance *instance, enum tcb_layout layout, struct tcb_error *err);
/* Both, where that was not done before; lent.  For a GPU, which has no plan. */
enum tcb_status tcb_instance_packed(struct tcb_instance *instance, enum tcb_layout layout,
				    const size_t packed_bytes[TCB_OPERANDS_MAX], const struct tcb_packed **out,
				    struct tcb_error *err);
/* The buffer that PLAN's run reads or writes for operand INDEX: the packed copy for packed weights. */
struct tcb_buffer *tcb_instance_buffer(struct tcb_instance *instance, const struct tcb_plan *plan, size_t index);
/* What output operand INDEX begins with before a call, as many bytes as it has; NULL: poison. */
const void *tcb_instance_start(const struct tcb_instance *instance, size_t index);
/* Does a call of the op read what the one before left? */
int tcb_instance_is_updated(const struct tcb_instance *instance);
/* The reference of OUT's grid, into arrays of the caller's; or OUT's failure. */
void tcb_instance_refer(const struct tcb_instance *instance, struct tcb_reference *out);
/* Memory that processes forked later share: the first of them computes the reference (of what DRAW says, where it is
 * not NULL), the others find it.  NULL where there is none: each computes its own. */
struct tcb_shared_reference *tcb_shared_reference_create(const struct tcb_op *op, const struct tcb_problem *problem,
							 const struct tcb_draw *draw);
void tcb_shared_reference_destroy(struct tcb_shared_reference *shared); /* NULL is fine */

#endif
