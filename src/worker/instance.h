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

struct tcb_packed {
	struct tcb_buffer buffer; /* guarded, read-only; map NULL until made */
	double pack_ns;
};

/* An output that was found right, by which bound and how far off: many others are the same bit by bit. */
struct tcb_right {
	struct tcb_buffer output; /* read-only; map NULL: none yet */
	double chain, ulps, error_ratio;
};

/* The reference of one problem, for workers that follow each other; tcb_shared_reference_create. */
struct tcb_shared_reference;

struct tcb_instance {
	const struct tcb_op *op;
	struct tcb_problem problem;
	uint64_t seed; /* of the operands: with op and shape it says all of them */
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	size_t operand_count;
	size_t output;       /* index of the output */
	size_t output_count; /* its elements */
	int weights;         /* index of the weights, -1 if there are none */
	struct tcb_buffer data[TCB_OPERANDS_MAX];
	struct tcb_packed packed[TCB_LAYOUT_COUNT];
	struct tcb_reference reference; /* NULLs until tcb_instance_reference */
	const struct tcb_draw *draw;    /* lent; NULL: every output is compared.  Else, of the reference there are */
	struct tcb_reference drawn[TCB_DRAW_GRIDS], sums; /* only these, and the arrays of REFERENCE hold them all */
	struct tcb_buffer reference_data;
	struct tcb_shared_reference *shared; /* lent; NULL: the reference is this process's own */
	struct tcb_right right;              /* judge.c */
};

/* POOL's threads fill the operands; NULL: the caller.  TCB_E_UNSUPPORTED if the op's operands break the contract (no
 * output, or more than one). */
enum tcb_status tcb_instance_create(const struct tcb_op *op, const struct tcb_problem *problem, uint64_t seed,
				    struct tcb_pool *pool, struct tcb_instance **out, struct tcb_error *err);
void tcb_instance_destroy(struct tcb_instance *instance); /* NULL is fine */

/* Computes the reference unless it is there, with POOL's threads; in memory that is shared, if SHARED is set. */
enum tcb_status tcb_instance_reference(struct tcb_instance *instance, struct tcb_pool *pool, struct tcb_error *err);
/* Room for the packed weights of PLAN's layout: tcb_instance_pack fills it, unless IS_PACKED_OUT says that it was
 * filled before.  Two steps, so that the caller can tell the op's time from its own. */
enum tcb_status tcb_instance_pack_prepare(struct tcb_instance *instance, const struct tcb_plan *plan,
					  int *is_packed_out, struct tcb_error *err);
enum tcb_status tcb_instance_pack(struct tcb_instance *instance, const struct tcb_plan *plan, struct tcb_error *err);
/* The weights in LAYOUT, PACKED_BYTES of them, packed unless that was done before; lent.  For a GPU, which has no plan.
 */
enum tcb_status tcb_instance_packed(struct tcb_instance *instance, enum tcb_layout layout, size_t packed_bytes,
				    const void **out, double *pack_ns_out, struct tcb_error *err);
/* The buffer that PLAN's run reads or writes for operand INDEX: the packed copy for packed weights. */
struct tcb_buffer *tcb_instance_buffer(struct tcb_instance *instance, const struct tcb_plan *plan, size_t index);
/* The reference of OUT's grid, into arrays of the caller's. */
void tcb_instance_refer(const struct tcb_instance *instance, struct tcb_reference *out);
/* Memory that processes forked later share: the first of them computes the reference (of what DRAW says, where it is
 * not NULL), the others find it.  NULL where there is none: each computes its own. */
struct tcb_shared_reference *tcb_shared_reference_create(const struct tcb_op *op, const struct tcb_problem *problem,
							 const struct tcb_draw *draw);
void tcb_shared_reference_destroy(struct tcb_shared_reference *shared); /* NULL is fine */

size_t tcb_instance_bytes(const struct tcb_instance *instance);

#endif
