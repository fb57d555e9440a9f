/* SPDX-License-Identifier: MIT
 *
 * What threads do whatever the launch's arguments, its grid and its memory are.
 * Values that depend on those are unknown, lane by lane, and so is what is
 * computed from them.  An instruction that only computes, or reaches memory at
 * an unknown place, is left out for the lanes that would have to know; one by
 * which threads wait for each other, or part, is where they end, and nothing is
 * said of who waits for them.  What is found until then happens in every launch.
 */
#include "ptx/emulate/emu_program.h"

/* How much of its operands an instruction must know. */
enum need {
	NEED_NOTHING, /* to be left out: it only computes */
	NEED_PLACE,   /* addresses; data may be unknown.  Without them it is left out */
	NEED_LAST,    /* the last operand, a mask of lanes: values may be unknown.  Without it the lanes end */
	NEED_WIDE,    /* registers of 64 bits: descriptors.  Without them it is left out */
	NEED_OURS,    /* all but the place in global memory.  Without them the lanes end */
	NEED_SIZE,    /* the same of cp.async, whose last operand may be unknown, too */
	NEED_NAME,    /* barrier and count, not what is voted.  Without them the lanes end */
	NEED_CALLEE,
	NEED_ALL /* without it the lanes end */
};

/* Does something besides computing its results; a carry is one of these. */
static int has_effect(const struct tcb_ptx_ins *ins)
{
	const unsigned effects = TCB_PTX_F_EFFECT | TCB_PTX_F_WRITE | TCB_PTX_F_BARRIER | TCB_PTX_F_FENCE |
				 TCB_PTX_F_ASYNC | TCB_PTX_F_TERMINATOR;

	return !ins->mod[TCB_PTX_SLOT_CARRY] && (tcb_ptx_has(ins, effects) || !ins->result_count);
}

static enum need need_of(const struct tcb_ptx_ins *ins)
{
	if (tcb_ptx_is_access(ins))
		return NEED_PLACE;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_PREFETCH:
	case TCB_PTX_OP_PREFETCHU:
	case TCB_PTX_OP_CP_ASYNC_BULK_PREFETCH:
	case TCB_PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR:
		return NEED_PLACE;
	case TCB_PTX_OP_SHFL:
	case TCB_PTX_OP_VOTE:
	case TCB_PTX_OP_REDUX:
	case TCB_PTX_OP_MATCH_ANY:
	case TCB_PTX_OP_MATCH_ALL:
		return NEED_LAST;
	case TCB_PTX_OP_WGMMA:
		return NEED_WIDE;
	case TCB_PTX_OP_CP_ASYNC:
		return NEED_SIZE;
	case TCB_PTX_OP_CP_ASYNC_BULK:
	case TCB_PTX_OP_CP_REDUCE_ASYNC_BULK:
		return NEED_OURS;
	case TCB_PTX_OP_BAR_RED:
	case TCB_PTX_OP_BARRIER_RED:
		return NEED_NAME;
	case TCB_PTX_OP_CALL:
		return NEED_CALLEE;
	case TCB_PTX_OP_MMA:
	case TCB_PTX_OP_MOVMATRIX:
	case TCB_PTX_OP_NANOSLEEP:
		return NEED_NOTHING;
	default:
		return has_effect(ins) ? NEED_ALL : NEED_NOTHING;
	}
}

static uint32_t unknown_in(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op)
{
	uint32_t lanes = 0;

	if ((op->kind == TCB_EMU_REG || op->kind == TCB_EMU_ADDRESS) && op->reg != TCB_PTX_NO_REG && !op->is_pool)
		lanes = warp->frame->unknown[op->reg];
	for (unsigned i = 0; i < op->count; i++)
		lanes |= unknown_in(warp, &op->items[i]);
	return lanes;
}

/* Whether operand INDEX of IN, a copy, is its place in global memory. */
static int is_global_place(const struct tcb_ptx_ins *ins, unsigned index)
{
	struct tcb_ptx_access access;

	return tcb_ptx_access(ins, index, &access) && access.space == TCB_PTX_GLOBAL;
}

/* The lanes in which operand INDEX, a source, is unknown and must not be. */
static uint32_t missing_in(const struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned index,
			   enum need need)
{
	const struct tcb_emu_operand *op = &in->op[index];
	const unsigned last = in->op_count - 1u;

	switch (need) {
	case NEED_PLACE:
		return op->kind == TCB_EMU_ADDRESS ? unknown_in(warp, op) : 0;
	case NEED_LAST:
		return index == last ? unknown_in(warp, op) : 0;
	case NEED_WIDE:
		return op->kind == TCB_EMU_REG && op->bits == 64 ? unknown_in(warp, op) : 0;
	case NEED_SIZE:
		return is_global_place(in->ins, index) || index > 1 ? 0 : unknown_in(warp, op);
	case NEED_OURS:
		return is_global_place(in->ins, index) ? 0 : unknown_in(warp, op);
	case NEED_NAME:
		return op->bits == 1 ? 0 : unknown_in(warp, op);
	case NEED_CALLEE:
		return index == 1 ? unknown_in(warp, op) : 0;
	default:
		return unknown_in(warp, op);
	}
}

/* What no analysis of one block can know. */
static int is_unknown_special(uint16_t special)
{
	const int is_size_of_grid = special >= TCB_PTX_SR_NCTAID_X && special <= TCB_PTX_SR_NCTAID_Z;
	const int is_size_of_clusters = special >= TCB_PTX_SR_NCLUSTERID_X && special <= TCB_PTX_SR_NCLUSTERID_Z;
	const int is_of_lane = special == TCB_PTX_SR_LANEID ||
			       (special >= TCB_PTX_SR_LANEMASK_EQ && special <= TCB_PTX_SR_LANEMASK_GT);

	/* of places the first block's are known, which every launch has */
	return (special > TCB_PTX_SR_CLUSTER_NCTARANK || is_size_of_grid || is_size_of_clusters) && !is_of_lane;
}

/* Whether what IN computes is unknown even where all its operands are known. */
static int comes_from_outside(const struct tcb_emu_ins *in)
{
	const struct tcb_ptx_ins *ins = in->ins;

	for (unsigned i = ins->result_count; i < ins->operand_count; i++)
		if (ins->operands[i].kind == TCB_PTX_O_SPECIAL && is_unknown_special(ins->operands[i].special))
			return 1;
	if (ins->op >= TCB_PTX_OP_MBARRIER_INIT && ins->op <= TCB_PTX_OP_MBARRIER_PENDING_COUNT)
		return 0;
	return ins->op == TCB_PTX_OP_ACTIVEMASK || ins->op == TCB_PTX_OP_BAR_RED || ins->op == TCB_PTX_OP_BARRIER_RED ||
	       ins->mod[TCB_PTX_SLOT_CARRY] || tcb_ptx_has(ins, TCB_PTX_F_READ | TCB_PTX_F_ASYNC);
}

/* What a copy needs of OP in LANES, where nobody knows it: VALUE. */
static void suppose(struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, uint32_t lanes, uint64_t value)
{
	uint8_t *at = warp->lanes + op->offset;

	lanes &= unknown_in(warp, op);
	if (op->is_pool || (op->kind != TCB_EMU_REG && op->kind != TCB_EMU_ADDRESS) || op->bits < 32)
		return;
	TCB_EMU_EACH(lane, lanes)
	{
		if (op->bits == 64)
			((uint64_t *)at)[lane] = value;
		else
			((uint32_t *)at)[lane] = (uint32_t)value;
	}
}

static void suppose_places(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active, enum need need)
{
	for (unsigned i = in->ins->result_count; i < in->op_count; i++)
		if (is_global_place(in->ins, i))
			suppose(warp, &in->op[i], active, warp->run->launch->anywhere);
	if (need == NEED_SIZE && in->op_count > 3 && in->op[2].kind == TCB_EMU_CONST)
		suppose(warp, &in->op[3], active, tcb_emu_get(warp, &in->op[2], 0));
}

static void mark(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active, uint32_t unknown)
{
	for (unsigned i = 0; i < in->result_count; i++) {
		uint32_t *lanes = &warp->frame->unknown[in->results[i]];

		*lanes = (*lanes & ~active) | (unknown & active);
	}
}

/* The running split goes no further than the instruction before the one at its place. */
static uint32_t end_here(struct tcb_emu_warp *warp)
{
	struct tcb_emu_split *split = &warp->split[warp->current];

	warp->pc--;
	tcb_emu_split_save(warp);
	split->state = TCB_EMU_ENDED;
	warp->current = UINT32_MAX;
	warp->stop = 1;
	warp->run->has_ended = 1;
	warp->run->progress++;
	return 0;
}

uint32_t tcb_emu_known_lanes(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const enum need need = need_of(in->ins);
	const int ends = need != NEED_NOTHING && need != NEED_PLACE && need != NEED_WIDE;
	uint32_t missing = 0, unknown = 0, doubt = 0;

	if (in->guard != UINT32_MAX)
		doubt = warp->mask & warp->frame->unknown[in->guard_reg];
	active &= ~doubt;
	for (unsigned i = in->ins->result_count; i < in->op_count; i++) {
		missing |= missing_in(warp, in, i, need) & active;
		unknown |= unknown_in(warp, &in->op[i]);
	}
	if (in->ins->op == TCB_PTX_OP_OPAQUE || (ends && (doubt | missing)))
		return end_here(warp);
	/* what a warp computes together is unknown to all as soon as it is to one */
	if (tcb_ptx_has(in->ins, TCB_PTX_F_CONVERGENT)) {
		unknown = unknown ? UINT32_MAX : 0;
		missing = missing ? active : 0;
	}
	mark(warp, in, active | doubt, comes_from_outside(in) ? UINT32_MAX : unknown | doubt);
	if (need == NEED_SIZE || need == NEED_OURS)
		suppose_places(warp, in, active, need);
	return active & ~(need == NEED_NOTHING ? unknown : missing);
}
