/* SPDX-License-Identifier: MIT
 *
 * In: loops.  Out: the rounds in which a thread surely comes to a block of theirs:
 * all that its one exit gives it, else the first, where each round passes the block.
 */
#include "ptx/analyse/bounds_rounds.h"

int tcb_ptx_rounds_init(struct tcb_ptx_rounds *r, struct tcb_ptx_function *function, struct tcb_ptx_affine *affine,
			struct tcb_arena *arena)
{
	uint32_t loops = 0;

	*r = (struct tcb_ptx_rounds){ .function = function, .affine = affine };
	for (const struct tcb_ptx_loop *loop = function->loops; loop; loop = loop->next)
		loops++;
	r->rounds = tcb_arena_array(arena, (size_t)loops * TCB_PTX_BLOCK_THREADS_MAX, sizeof *r->rounds);
	r->has_rounds = tcb_arena_array(arena, loops, sizeof *r->has_rounds);
	r->exits = tcb_arena_array(arena, loops, sizeof(const struct tcb_ptx_block *));
	return !arena->failed;
}

static const struct tcb_ptx_loop *loop_of(const struct tcb_ptx_rounds *r, const struct tcb_ptx_block *header,
					  uint32_t *place)
{
	*place = 0;
	for (const struct tcb_ptx_loop *loop = r->function->loops; loop; loop = loop->next, ++*place)
		if (loop->header == header)
			return loop;
	return NULL;
}

static int is_in_each_round(const struct tcb_ptx_rounds *r, const struct tcb_ptx_loop *loop,
			    const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(r->affine);

	if (!tcb_ptx_affine_is_inside(block, loop))
		return 0;
	for (uint32_t i = 0; i < loop->header->pred_count; i++)
		if (tcb_ptx_affine_is_inside(loop->header->pred[i], loop) &&
		    !tcb_ptx_dominates(d, block, loop->header->pred[i]))
			return 0;
	return 1;
}

int tcb_ptx_rounds_has_first(const struct tcb_ptx_rounds *r, const struct tcb_ptx_block *header,
			     const struct tcb_ptx_block *block)
{
	uint32_t place;
	const struct tcb_ptx_loop *loop = loop_of(r, header, &place);

	return loop && is_in_each_round(r, loop, block);
}

int tcb_ptx_rounds_last(struct tcb_ptx_rounds *r, const struct tcb_ptx_block *header, const struct tcb_ptx_block *block,
			uint32_t thread, uint64_t *out)
{
	uint32_t place;
	const struct tcb_ptx_loop *loop = loop_of(r, header, &place);
	uint64_t *rounds = r->rounds + (size_t)place * TCB_PTX_BLOCK_THREADS_MAX;

	*out = 0;
	if (!loop || !is_in_each_round(r, loop, block))
		return 0;
	if (!r->has_rounds[place]) {
		r->exits[place] = tcb_ptx_affine_rounds(r->affine, loop, rounds);
		r->has_rounds[place] = 1;
	}
	if (!r->exits[place])
		return 1;
	*out = rounds[thread];
	if (rounds[thread] && !tcb_ptx_dominates(tcb_ptx_affine_dominators(r->affine), block, r->exits[place]))
		*out = rounds[thread] - 1;
	return 1;
}
