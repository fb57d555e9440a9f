/* SPDX-License-Identifier: MIT
 *
 * Proofs that threads part: for a block of the flow graph two threads of which
 * one surely comes there and the other surely does not.
 */
#ifndef TCB_PTX_WITNESS_H
#define TCB_PTX_WITNESS_H

#include "ptx/analyse/flow/joins.h"
#include "ptx/analyse/values/affine.h"

/* By block->number the threads that surely come, as in tcb_ptx_affine_active. */
struct tcb_ptx_coming {
	uint64_t *must;
	uint32_t words;
};

static inline uint64_t *tcb_ptx_must_of(const struct tcb_ptx_coming *coming, const struct tcb_ptx_block *block)
{
	return coming->must + (size_t)block->number * coming->words;
}

/* The result is in the module's arena. */
enum tcb_status tcb_ptx_coming_find(struct tcb_ptx_function *function, const struct tcb_ptx_affine *affine,
				    struct tcb_ptx_coming *out, struct tcb_error *err);

struct tcb_ptx_witness {
	uint32_t comes, stays; /* threads; both 0: there is no proof */
	uint32_t line;         /* of the branch that parts them; 0: none alone */
};

struct tcb_ptx_witnesses {
	const struct tcb_ptx_affine *affine; /* NULL: the block's size is not certain, and nothing is proved */
	struct tcb_ptx_coming coming;
	/* by block->number.  ABSENT: of one warp, the other has ended or goes elsewhere.  PARTED: of one warp, the
	 * other goes elsewhere.  SKIPPED: of one block, the other meets no barrier until they are together again. */
	struct tcb_ptx_witness *absent, *parted, *skipped;
	int same_barriers; /* the whole way of each thread is known, and all meet the same bar.sync in the same order */
};

/* AFFINE may be NULL.  JOINS is only a workspace.  The results are in the module's arena; AFFINE must outlive them. */
enum tcb_status tcb_ptx_witnesses_find(struct tcb_ptx_function *function, struct tcb_ptx_affine *affine,
				       struct tcb_ptx_joins *joins, struct tcb_ptx_witnesses *out,
				       struct tcb_error *err);
/* Of the threads that surely come to INS one whose guard holds and one whose guard does not; IN_WARP: of one warp. */
int tcb_ptx_witness_guard(const struct tcb_ptx_witnesses *witnesses, struct tcb_ptx_affine *affine,
			  const struct tcb_ptx_ins *ins, int in_warp, struct tcb_ptx_witness *out);

#endif
