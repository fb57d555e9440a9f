/* SPDX-License-Identifier: MIT
 *
 * Of async.h: masks of shuffles, votes and the like.  PTX ISA 9.0, sections
 * 9.7.9.6 and 9.7.13: whoever executes one is named by its own mask, and what a
 * lane outside the mask would have given is undefined.
 */
#include "ptx/analyse/async/async_private.h"
#include "ptx/ir/opcodes.h"

const struct tcb_ptx_operand *tcb_ptx_async_mask(const struct tcb_ptx_ins *ins)
{
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_BAR_WARP_SYNC:
	case TCB_PTX_OP_SHFL:
	case TCB_PTX_OP_VOTE:
	case TCB_PTX_OP_MATCH_ANY:
	case TCB_PTX_OP_MATCH_ALL:
	case TCB_PTX_OP_REDUX:
	case TCB_PTX_OP_ELECT:
		return ins->operand_count ? &ins->operands[ins->operand_count - 1] : NULL;
	default:
		return NULL;
	}
}

/* How a shuffle finds the lane that it reads. */
static enum tcb_ptx_word mode_of(const struct tcb_ptx_ins *shfl)
{
	for (int slot = 0; slot < TCB_PTX_SLOT_COUNT; slot++)
		switch ((int)shfl->mod[slot]) {
		case TCB_PTX_IDX:
		case TCB_PTX_BFLY:
		case TCB_PTX_UP:
		case TCB_PTX_DOWN:
			return (enum tcb_ptx_word)shfl->mod[slot];
		}
	return TCB_PTX_NO_WORD;
}

/* PTX ISA 9.0, 9.7.9.6. */
unsigned tcb_ptx_async_source_lane(const struct tcb_ptx_ins *shfl, unsigned lane, uint64_t by, uint64_t clamp)
{
	unsigned segment = (unsigned)(clamp >> 8 & 31), last = (unsigned)(clamp & 31),
		 limit = (lane & segment) | (last & ~segment);
	int to;

	by &= 31;
	switch ((int)mode_of(shfl)) {
	case TCB_PTX_UP:
		to = (int)lane - (int)by;
		return to >= (int)limit ? (unsigned)to : lane;
	case TCB_PTX_DOWN:
		to = (int)lane + (int)by;
		break;
	case TCB_PTX_BFLY:
		to = (int)(lane ^ (unsigned)by);
		break;
	default:
		to = (int)((lane & segment) | ((unsigned)by & ~segment & 31));
		break;
	}
	return to <= (int)limit ? (unsigned)to : lane;
}

static void check_sources(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins, const uint64_t *set,
			  const struct tcb_ptx_value *mask)
{
	uint32_t threads = tcb_ptx_affine_threads(a->affine);
	enum tcb_ptx_word mode = mode_of(ins);
	struct tcb_ptx_value by;
	uint64_t clamp;

	/* up and down run over the edge by design: who uses that value is another question */
	if ((mode != TCB_PTX_IDX && mode != TCB_PTX_BFLY) || !tcb_ptx_async_constant(a, ins, &ins->operands[3], &clamp))
		return;
	by = tcb_ptx_affine_operand(a->affine, ins, &ins->operands[2]);
	if (!by.known || by.term_count)
		return;
	for (uint32_t t = 0; t < threads; t++) {
		uint64_t named = tcb_ptx_value_lane(mask, t);
		unsigned from = tcb_ptx_async_source_lane(ins, t % 32, tcb_ptx_value_lane(&by, t), clamp);

		if (!tcb_ptx_async_is_in(set, t) || named >> from & 1)
			continue;
		tcb_ptx_report(a->block_sink, TCB_PTX_RULE_SHUFFLE_MASK, TCB_PTX_WARNING, a->function, ins,
			       "thread %u reads lane %u, which its mask 0x%08x does not name: the value is undefined",
			       t, from, (unsigned)named);
		return;
	}
}

static void check_mask(struct tcb_ptx_async *a, const struct tcb_ptx_ins *ins)
{
	uint32_t threads = tcb_ptx_affine_threads(a->affine);
	uint64_t set[TCB_PTX_ASYNC_SET_WORDS];
	struct tcb_ptx_value mask;

	if (!tcb_ptx_async_present(a, ins, set))
		return;
	mask = tcb_ptx_affine_operand(a->affine, ins, tcb_ptx_async_mask(ins));
	if (!mask.known || mask.term_count)
		return;
	for (uint32_t t = 0; t < threads; t++) {
		uint64_t named = tcb_ptx_value_lane(&mask, t);

		if (!tcb_ptx_async_is_in(set, t) || named >> (t % 32) & 1)
			continue;
		tcb_ptx_report(a->block_sink, TCB_PTX_RULE_SHUFFLE_MASK, TCB_PTX_ERROR, a->function, ins,
			       "thread %u, lane %u of its warp, runs this with the mask 0x%08x, which does not name it",
			       t, t % 32, (unsigned)named);
		return;
	}
	if (ins->op == TCB_PTX_OP_SHFL)
		check_sources(a, ins, set, &mask);
}

void tcb_ptx_async_masks(struct tcb_ptx_async *a)
{
	for (uint32_t i = 0; i < a->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = a->function->order[i]->first; ins; ins = ins->next)
			if (tcb_ptx_async_mask(ins))
				check_mask(a, ins);
}
