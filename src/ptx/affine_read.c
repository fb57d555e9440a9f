/* SPDX-License-Identifier: MIT
 *
 * In: an operand where it stands.  Out: its value: numbers, addresses of
 * variables, special registers (for each thread, or a symbol where all threads
 * of a block read the same), and registers as affine.c finds them.
 */
#include "ptx/affine_private.h"

/* Kinds of keys of symbols; others are in affine.c, affine_ops.c and affine_eval.c. */
#define KEY_SPECIAL (UINT64_C(9) << 32)
#define KEY_ADDRESS (UINT64_C(10) << 32)

static struct tcb_ptx_value uniform_special(struct tcb_ptx_affine *a, enum tcb_ptx_special special)
{
	unsigned bits = tcb_ptx_type_bits(tcb_ptx_special_type(special));
	struct tcb_ptx_symbolic like = { .kind = TCB_PTX_Y_SPECIAL, .align = 1, .max = UINT64_MAX };
	uint64_t key[2] = { KEY_SPECIAL, (uint64_t)special };

	if (bits == 32) /* PTX ISA: grids have at most 2^31 - 1 blocks along x */
		like.max = INT32_MAX;
	return tcb_ptx_value_symbol(a, bits, tcb_ptx_affine_symbol_for(a, key, 2, &like));
}

static uint64_t special_of_thread(const struct tcb_ptx_affine *a, enum tcb_ptx_special special, uint32_t thread)
{
	uint32_t lane = thread % TCB_PTX_WARP;
	uint64_t bit = UINT64_C(1) << lane;

	switch (special) {
	case TCB_PTX_SR_TID_X:
		return thread % a->block[0];
	case TCB_PTX_SR_TID_Y:
		return thread / a->block[0] % a->block[1];
	case TCB_PTX_SR_TID_Z:
		return thread / a->block[0] / a->block[1];
	case TCB_PTX_SR_LANEMASK_EQ:
		return bit;
	case TCB_PTX_SR_LANEMASK_LT:
		return bit - 1;
	case TCB_PTX_SR_LANEMASK_LE:
		return bit | (bit - 1);
	case TCB_PTX_SR_LANEMASK_GT:
		return UINT32_MAX & ~(bit | (bit - 1));
	case TCB_PTX_SR_LANEMASK_GE:
		return UINT32_MAX & ~(bit - 1);
	default: /* LANEID */
		return lane;
	}
}

static struct tcb_ptx_value special_value(struct tcb_ptx_affine *a, enum tcb_ptx_special special)
{
	unsigned bits = tcb_ptx_type_bits(tcb_ptx_special_type(special));

	switch (special) {
	case TCB_PTX_SR_TID_X:
	case TCB_PTX_SR_TID_Y:
	case TCB_PTX_SR_TID_Z:
	case TCB_PTX_SR_LANEID:
	case TCB_PTX_SR_LANEMASK_EQ:
	case TCB_PTX_SR_LANEMASK_LE:
	case TCB_PTX_SR_LANEMASK_LT:
	case TCB_PTX_SR_LANEMASK_GE:
	case TCB_PTX_SR_LANEMASK_GT:
		if (!tcb_ptx_affine_threads(a))
			return tcb_ptx_value_unknown(bits);
		for (uint32_t t = 0; t < a->threads; t++)
			a->scratch[t] = special_of_thread(a, special, t);
		return tcb_ptx_value_of_lanes(a, bits, a->scratch);
	case TCB_PTX_SR_NTID_X:
	case TCB_PTX_SR_NTID_Y:
	case TCB_PTX_SR_NTID_Z:
		if (a->exact)
			return tcb_ptx_value_number(bits, a->block[special - TCB_PTX_SR_NTID_X]);
		return uniform_special(a, special);
	case TCB_PTX_SR_WARPID: /* may change while a thread runs, as the manual says */
	case TCB_PTX_SR_CLOCK:
	case TCB_PTX_SR_CLOCK_HI:
	case TCB_PTX_SR_CLOCK64:
	case TCB_PTX_SR_GLOBALTIMER:
	case TCB_PTX_SR_GLOBALTIMER_LO:
	case TCB_PTX_SR_GLOBALTIMER_HI:
	case TCB_PTX_SR_SMID:
		return tcb_ptx_value_unknown(bits);
	default:
		return uniform_special(a, special);
	}
}

static struct tcb_ptx_value symbol_address(struct tcb_ptx_affine *a, const struct tcb_ptx_symbol *symbol)
{
	struct tcb_ptx_symbolic like = { .kind = TCB_PTX_Y_ADDRESS, .max = UINT64_MAX, .variable = symbol };
	uint64_t key[2] = { KEY_ADDRESS, (uintptr_t)symbol };

	like.align = tcb_ptx_symbol_align(symbol);
	if (symbol->space == TCB_PTX_SHARED) {
		like.max = (1 << 24) - 1;
		if (symbol->linkage == TCB_PTX_EXTERN) /* all dynamic shared memory begins at one place */
			key[1] = 1;
	}
	return tcb_ptx_value_symbol(a, 64, tcb_ptx_affine_symbol_for(a, key, 2, &like));
}

/* Whether all threads of a block leave LOOP in the same round: no branch in it differs between threads, unless both
 * ways meet again inside. */
static int find_leaves_together(struct tcb_ptx_affine *a, const struct tcb_ptx_loop *loop)
{
	uint32_t header = loop->header->number;
	const struct tcb_ptx_block *end_at = a->loop_last[header] ? a->loop_last[header]->next : NULL;

	for (const struct tcb_ptx_block *block = a->loop_first[header]; block != end_at; block = block->next) {
		const struct tcb_ptx_ins *end;
		const struct tcb_ptx_block *meet = a->dominators.ipdom[block->number];
		struct tcb_ptx_value guard;

		if (block->succ_count < 2 || !tcb_ptx_affine_is_inside(block, loop) || block->order == UINT32_MAX ||
		    !(end = tcb_ptx_terminator(block)))
			continue;
		if (!a->fuel)
			return 0;
		a->fuel--;
		if (meet && tcb_ptx_affine_is_inside(meet, loop) && meet != loop->header)
			continue;
		guard = tcb_ptx_affine_guard(a, end);
		if (end->op == TCB_PTX_OP_BRX || !tcb_ptx_value_is_uniform(&guard))
			return 0;
	}
	return 1;
}

/* The answer for a loop asks for those that its branches read from, so each is kept, or a row of loops would take
 * exponential time.  What rests on an assumption that is not settled is not kept: there the fuel is the bound. */
static int leaves_together(struct tcb_ptx_affine *a, const struct tcb_ptx_loop *loop)
{
	uint8_t *memo = &a->together[loop->header->number];
	int together;

	if (*memo)
		return *memo == TCB_PTX_TOGETHER;
	if (a->open_count)
		return find_leaves_together(a, loop);
	*memo = TCB_PTX_NOT_TOGETHER; /* while it is asked for */
	together = find_leaves_together(a, loop);
	*memo = together ? TCB_PTX_TOGETHER : TCB_PTX_NOT_TOGETHER;
	return together;
}

/* V as it is seen in BLOCK: unknown when it comes out of a loop that threads leave in different rounds. */
static struct tcb_ptx_value seen_in(struct tcb_ptx_affine *a, struct tcb_ptx_value v, const struct tcb_ptx_block *block)
{
	uint64_t left = v.known ? tcb_ptx_value_loops(a, &v) & ~tcb_ptx_affine_loops_of(a, block) : 0;

	if (!left)
		return v;
	if (a->open_count) /* what the branches depend on may rest on any assumption */
		v.open = 0;
	for (const struct tcb_ptx_loop *loop = a->function->loops; loop && v.known; loop = loop->next)
		if (left & tcb_ptx_affine_loop_bit(a, loop->header) && !leaves_together(a, loop))
			v.known = 0;
	return v;
}

static struct tcb_ptx_value read_reg(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint32_t reg, int negated)
{
	struct tcb_ptx_value v = tcb_ptx_affine_write(a, tcb_ptx_reaching_at(a->reaching, ins, reg), reg), one;

	if (!negated || !v.known)
		return v;
	one = tcb_ptx_value_number(v.bits, 1);
	return tcb_ptx_value_bitwise(a, TCB_PTX_OP_XOR, &v, &one);
}

struct tcb_ptx_value tcb_ptx_affine_operand(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins,
					    const struct tcb_ptx_operand *operand)
{
	struct tcb_ptx_value v, offset;

	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_REG:
		return read_reg(a, ins, operand->reg, operand->negated);
	case TCB_PTX_O_INT:
		return tcb_ptx_value_number(64, operand->bits);
	case TCB_PTX_O_SYMBOL:
		v = symbol_address(a, operand->symbol);
		offset = tcb_ptx_value_number(64, operand->bits);
		return tcb_ptx_value_add(a, &v, &offset);
	case TCB_PTX_O_SPECIAL:
		return special_value(a, (enum tcb_ptx_special)operand->special);
	default:
		return tcb_ptx_value_unknown(64);
	}
}

struct tcb_ptx_value tcb_ptx_affine_guard(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins)
{
	if (ins->guard == TCB_PTX_NO_REG)
		return tcb_ptx_value_number(1, 1);
	return seen_in(a, read_reg(a, ins, ins->guard, ins->guard_negated), ins->block);
}

struct tcb_ptx_value tcb_ptx_affine_address(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, unsigned index)
{
	const struct tcb_ptx_operand *operand = &ins->operands[index];
	struct tcb_ptx_value v, offset;

	if (operand->kind != TCB_PTX_O_ADDRESS)
		return tcb_ptx_value_unknown(64);
	if (operand->reg != TCB_PTX_NO_REG)
		v = read_reg(a, ins, operand->reg, 0);
	else if (operand->symbol)
		v = symbol_address(a, operand->symbol);
	else
		v = tcb_ptx_value_number(64, 0);
	offset = tcb_ptx_value_number(v.bits, operand->bits);
	v = tcb_ptx_value_add(a, &v, &offset);
	return seen_in(a, v, ins->block);
}

struct tcb_ptx_value tcb_ptx_affine_result(struct tcb_ptx_affine *a, const struct tcb_ptx_ins *ins, uint32_t reg)
{
	struct tcb_ptx_write write = { TCB_PTX_WRITE_INS, (struct tcb_ptx_ins *)(uintptr_t)ins, NULL };

	return seen_in(a, tcb_ptx_affine_write(a, write, reg), ins->block);
}

enum tcb_ptx_word tcb_ptx_affine_space(const struct tcb_ptx_affine *a, const struct tcb_ptx_value *address)
{
	enum tcb_ptx_word space = TCB_PTX_NO_WORD;
	int window = 0;

	if (!address->known)
		return TCB_PTX_NO_WORD;
	for (uint32_t i = 0; i < address->term_count; i++) {
		const struct tcb_ptx_symbolic *symbol = &a->symbols[address->terms[i].symbol];

		if (symbol->kind == TCB_PTX_Y_WINDOW)
			window = 1;
		else if (symbol->kind == TCB_PTX_Y_ADDRESS)
			space = symbol->variable->space;
		else if (symbol->kind == TCB_PTX_Y_PARAM && symbol->variable->is_pointer &&
			 symbol->variable->pointer_space)
			space = symbol->variable->pointer_space;
	}
	/* a variable's address is generic only with its window; global ones need none */
	return space == TCB_PTX_GLOBAL || window ? space : TCB_PTX_NO_WORD;
}
