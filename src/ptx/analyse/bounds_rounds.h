/* SPDX-License-Identifier: MIT
 *
 * Of bounds.h: the rounds of loops in which a thread surely comes to a block.
 */
#ifndef TCB_PTX_BOUNDS_ROUNDS_H
#define TCB_PTX_BOUNDS_ROUNDS_H

#include "ptx/analyse/values/affine.h"

struct tcb_ptx_rounds {
	struct tcb_ptx_function *function;
	struct tcb_ptx_affine *affine;
	uint64_t *rounds; /* by place of a loop, then by thread; */
	uint8_t *has_rounds;
	const struct tcb_ptx_block **exits;
};

/* 0 when there is no memory in ARENA. */
int tcb_ptx_rounds_init(struct tcb_ptx_rounds *r, struct tcb_ptx_function *function, struct tcb_ptx_affine *affine,
			struct tcb_arena *arena);
/* Whether each round of the loop of HEADER passes BLOCK. */
int tcb_ptx_rounds_has_first(const struct tcb_ptx_rounds *r, const struct tcb_ptx_block *header,
			     const struct tcb_ptx_block *block);
/* The last round, counted from 0, in which THREAD, if it comes to the loop, surely comes to BLOCK; it comes in all
 * before.  0 when a round need not pass BLOCK. */
int tcb_ptx_rounds_last(struct tcb_ptx_rounds *r, const struct tcb_ptx_block *header, const struct tcb_ptx_block *block,
			uint32_t thread, uint64_t *out);

#endif
