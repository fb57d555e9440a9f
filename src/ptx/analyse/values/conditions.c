/* SPDX-License-Identifier: MIT
 *
 * In: an instruction.  Out: the comparisons that decide whether it runs.
 *
 * A branch decides if the instruction lies behind one of its sides and does not
 * come on every way.  A predicate that must hold and is a conjunction has all its
 * parts, one that must not hold and is a disjunction has none.
 */
#include "ptx/analyse/values/conditions.h"

#include "ptx/ir/integers.h"
#include "ptx/ir/opcodes.h"

enum { PARTS_DEPTH = 6 };

struct asking {
	struct tcb_ptx_function *function;
	struct tcb_ptx_affine *affine;
	tcb_ptx_condition_see see;
	void *ctx;
};

/* Comparison HOW, or its contrary, in the words of signed numbers; NO_WORD: none of these. */
static enum tcb_ptx_word in_words(enum tcb_ptx_word how, int is_contrary)
{
	enum tcb_ptx_word plain = tcb_ptx_compare_plain(how);

	if (!tcb_ptx_compare_is_plain(plain))
		return TCB_PTX_NO_WORD;
	return is_contrary ? tcb_ptx_compare_inverse(plain) : plain;
}

static int see_predicate(const struct asking *a, uint32_t reg, int wanted, unsigned depth);

static int see_operand(const struct asking *a, const struct tcb_ptx_operand *operand, int wanted, unsigned depth)
{
	return operand->kind == TCB_PTX_O_REG &&
	       see_predicate(a, operand->reg, operand->negated ? !wanted : wanted, depth);
}

static int see_comparison(const struct asking *a, const struct tcb_ptx_ins *setp, int wanted, unsigned depth)
{
	enum tcb_ptx_word type = tcb_ptx_mod(setp, TCB_PTX_SLOT_TYPE), joins = tcb_ptx_mod(setp, TCB_PTX_SLOT_BOOL);
	unsigned bits = tcb_ptx_type_bits(type);
	struct tcb_ptx_condition c = { .setp = setp };
	struct tcb_ptx_value x, y;

	if (tcb_ptx_type_class(type) == TCB_PTX_CLASS_FLOAT || bits < 16 || bits > 64 ||
	    setp->operands[0].kind != TCB_PTX_O_REG ||
	    (joins != TCB_PTX_NO_WORD && joins != (wanted ? TCB_PTX_AND : TCB_PTX_OR)))
		return 0;
	c.how = in_words(tcb_ptx_mod(setp, TCB_PTX_SLOT_COMPARE), !wanted);
	x = tcb_ptx_affine_operand(a->affine, setp, &setp->operands[1]);
	y = tcb_ptx_affine_operand(a->affine, setp, &setp->operands[2]);
	if (!x.known || !y.known || c.how == TCB_PTX_NO_WORD)
		return 0;
	x = tcb_ptx_value_convert(a->affine, &x, x.bits < bits ? x.bits : bits, bits, 0);
	y = tcb_ptx_value_convert(a->affine, &y, y.bits < bits ? y.bits : bits, bits, 0);
	c.apart = tcb_ptx_value_sub(a->affine, &x, &y);
	return c.apart.known && a->see(a->ctx, &c) &&
	       (joins == TCB_PTX_NO_WORD || see_operand(a, &setp->operands[3], wanted, depth + 1));
}

/* Predicate REG must be WANTED. */
static int see_predicate(const struct asking *a, uint32_t reg, int wanted, unsigned depth)
{
	const struct tcb_ptx_reg *r = &a->function->regs[reg];
	const struct tcb_ptx_ins *def = r->defs == 1 ? r->def : NULL;
	int is_joined, is_not;

	if (!def || def->guard != TCB_PTX_NO_REG || depth == PARTS_DEPTH)
		return 0;
	if (def->op == TCB_PTX_OP_SETP)
		return see_comparison(a, def, wanted, depth);
	is_joined = def->op == (wanted ? TCB_PTX_OP_AND : TCB_PTX_OP_OR);
	is_not = def->op == TCB_PTX_OP_NOT;
	if (!is_joined && !is_not && def->op != TCB_PTX_OP_MOV)
		return 0;
	for (unsigned i = 1; i < def->operand_count; i++)
		if (!see_operand(a, &def->operands[i], is_not ? !wanted : wanted, depth + 1))
			return 0;
	return 1;
}

/* The branch at the end of BLOCK must (IS_TAKEN) be taken, or must not. */
static int see_branch(const struct asking *a, const struct tcb_ptx_block *block, int is_taken)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);

	return see_predicate(a, end->guard, is_taken != end->guard_negated, 0);
}

static int is_branch(const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);

	return end && end->op == TCB_PTX_OP_BRA && end->guard != TCB_PTX_NO_REG && block->next;
}

/* The branches that BLOCK depends on. */
static int see_branches_to(const struct asking *a, const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(a->affine);

	for (const struct tcb_ptx_block *at = d->idom[block->number]; at; at = d->idom[at->number]) {
		const struct tcb_ptx_ins *end = tcb_ptx_terminator(at);
		int is_taken;

		if (at->succ_count < 2 && (!end || end->guard == TCB_PTX_NO_REG))
			continue;
		if (end && end->op != TCB_PTX_OP_BRA && end->guard != TCB_PTX_NO_REG) { /* who did not end there */
			if (!see_predicate(a, end->guard, end->guard_negated, 0))
				return 0;
			continue;
		}
		if (tcb_ptx_post_dominates(d, block, at))
			continue;
		if (!is_branch(at))
			return 0;
		is_taken = tcb_ptx_dominates(d, end->operands[0].block, block);
		if (is_taken == tcb_ptx_dominates(d, at->next, block) || !see_branch(a, at, is_taken))
			return 0;
	}
	return 1;
}

/* The branches by which threads leave LOOP. */
static int see_exits(const struct asking *a, const struct tcb_ptx_loop *loop)
{
	for (uint32_t i = 0; i < a->function->reachable_count; i++) {
		const struct tcb_ptx_block *block = a->function->order[i];
		int is_exit = 0;

		if (!tcb_ptx_affine_is_inside(block, loop))
			continue;
		for (uint32_t s = 0; s < block->succ_count; s++)
			is_exit |= !tcb_ptx_affine_is_inside(block->succ[s], loop);
		if (is_exit &&
		    (!is_branch(block) ||
		     !see_branch(a, block,
				 tcb_ptx_affine_is_inside(tcb_ptx_terminator(block)->operands[0].block, loop))))
			return 0;
	}
	return 1;
}

int tcb_ptx_conditions(struct tcb_ptx_function *function, struct tcb_ptx_affine *affine, const struct tcb_ptx_ins *ins,
		       const struct tcb_ptx_loop *loop, tcb_ptx_condition_see see, void *ctx)
{
	const struct asking a = { function, affine, see, ctx };

	return (ins->guard == TCB_PTX_NO_REG || see_predicate(&a, ins->guard, !ins->guard_negated, 0)) &&
	       see_branches_to(&a, ins->block) && (!loop || see_exits(&a, loop));
}
