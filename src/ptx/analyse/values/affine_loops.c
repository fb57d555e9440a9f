/* SPDX-License-Identifier: MIT
 *
 * In: a block, a loop.  Out: the bits that stand for loops, and the symbol for
 * how often a loop went round.
 */
#include "ptx/analyse/values/affine_loops.h"
#include "ptx/analyse/values/affine_intern.h"
#include "ptx/analyse/values/affine_state.h"

enum { LOOP_BITS = 64 };

#define KEY_COUNTER (UINT64_C(6) << 32)

uint64_t tcb_ptx_affine_loop_bit(const struct tcb_ptx_affine *a, const struct tcb_ptx_block *header)
{
	uint32_t place = a->loop_of[header->number];

	return UINT64_C(1) << (place < LOOP_BITS ? place : LOOP_BITS - 1);
}

uint64_t tcb_ptx_affine_loops_of(const struct tcb_ptx_affine *a, const struct tcb_ptx_block *block)
{
	uint64_t loops = 0;

	for (const struct tcb_ptx_loop *loop = block->loop; loop; loop = loop->parent)
		loops |= tcb_ptx_affine_loop_bit(a, loop->header);
	return loops;
}

uint32_t tcb_ptx_affine_counter(struct tcb_ptx_affine *a, const struct tcb_ptx_block *header)
{
	struct tcb_ptx_symbolic like = { .kind = TCB_PTX_Y_COUNTER, .align = 1, .max = UINT64_MAX, .header = header };
	uint64_t key[2] = { KEY_COUNTER, header->number };

	like.loops = tcb_ptx_affine_loop_bit(a, header);
	return tcb_ptx_affine_symbol_for(a, key, 2, &like);
}

int tcb_ptx_affine_is_inside(const struct tcb_ptx_block *block, const struct tcb_ptx_loop *loop)
{
	const struct tcb_ptx_loop *at = block->loop;

	while (at && at != loop)
		at = at->parent;
	return at != NULL;
}
