/* SPDX-License-Identifier: MIT
 *
 * In: accesses whose address is a multiple of what an atomic addition returned.
 * Out: those outside their variable.
 *
 * A counter in shared memory that begins as one number, and to which a number is
 * added once by each of N threads in one place, gives them the N numbers from there
 * on, in some order.  If all of them surely come to an access that the number leads
 * to, one comes with the last.
 */
#include "ptx/analyse/bounds_tickets.h"

#include "ptx/analyse/values/linear.h"
#include "ptx/ir/opcodes.h"

enum { COUNTER_BYTES = 4 };

struct tickets {
	struct tcb_ptx_function *function;
	struct tcb_ptx_affine *affine;
	const struct tcb_ptx_coming *coming;
	const struct tcb_ptx_sink *sink;
};

/* A counter's additions. */
struct counter {
	const struct tcb_ptx_ins *atom;
	const struct tcb_ptx_symbol *variable;
	uint64_t offset, first, step, takers;
};

/* How many threads surely run INS, once; 0 when others may, or it is repeated. */
static uint64_t who_surely_runs(const struct tickets *t, const struct tcb_ptx_ins *ins)
{
	const uint64_t *may = tcb_ptx_affine_active(t->affine, ins->block),
		       *must = tcb_ptx_must_of(t->coming, ins->block);
	uint64_t count = 0;

	if (ins->guard != TCB_PTX_NO_REG || ins->block->loop)
		return 0;
	for (uint32_t i = 0; i < t->coming->words; i++) {
		if (may[i] != must[i])
			return 0;
		count += (uint64_t)__builtin_popcountll(may[i]);
	}
	return count;
}

/* Whether a barrier of all threads lies between X and Y on each way to Y. */
static int barrier_between(const struct tickets *t, const struct tcb_ptx_ins *x, const struct tcb_ptx_ins *y)
{
	const struct tcb_ptx_dominators *d = tcb_ptx_affine_dominators(t->affine);

	for (uint32_t i = 0; i < t->function->reachable_count; i++) {
		const struct tcb_ptx_block *block = t->function->order[i];

		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if (ins->op == TCB_PTX_OP_BAR_SYNC && ins->operand_count == 1 && ins->guard == TCB_PTX_NO_REG &&
			    ins->number > x->number && !block->loop && tcb_ptx_dominates(d, block, y->block) &&
			    (block != y->block || ins->number < y->number) &&
			    tcb_ptx_affine_presence(t->affine, block) == TCB_PTX_ALL_ALIKE)
				return 1;
	}
	return 0;
}

/* The number that INS stores. */
static int stores_number(const struct tcb_ptx_ins *ins, uint64_t *out)
{
	*out = ins->operand_count > 1 ? ins->operands[1].bits : 0;
	return ins->op == TCB_PTX_OP_ST && ins->operands[1].kind == TCB_PTX_O_INT;
}

/* Whether nothing but numbers that are all the same is stored to the counter, and before the additions; that number is
 * its first. */
static int begins_as_number(const struct tickets *t, struct counter *c)
{
	int found = 0;

	for (uint32_t i = 0; i < t->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = t->function->order[i]->first; ins; ins = ins->next)
			for (unsigned k = 0; k < ins->operand_count; k++) {
				struct tcb_ptx_access access;
				struct tcb_ptx_linear at;
				uint64_t number;

				if (ins == c->atom || !tcb_ptx_access(ins, k, &access) || !access.writes)
					continue;
				if (!tcb_ptx_linear_of(t->function, &ins->operands[k], &at)) {
					if (access.space != TCB_PTX_GLOBAL && access.space != TCB_PTX_LOCAL &&
					    access.space != TCB_PTX_PARAM)
						return 0; /* it may be anywhere */
					continue;
				}
				if (at.variable != c->variable ||
				    (!at.factor &&
				     (at.number + access.bytes <= c->offset || at.number >= c->offset + COUNTER_BYTES)))
					continue;
				if (at.factor || at.number != c->offset || !stores_number(ins, &number) ||
				    (found && number != c->first) || !barrier_between(t, ins, c->atom))
					return 0;
				c->first = number;
				found = 1;
			}
	return found;
}

static int is_counter(const struct tickets *t, const struct tcb_ptx_ins *atom, struct counter *out)
{
	struct tcb_ptx_linear at;

	if (!atom || atom->op != TCB_PTX_OP_ATOM || tcb_ptx_mod(atom, TCB_PTX_SLOT_ATOMIC) != TCB_PTX_ADD ||
	    tcb_ptx_type_bits(tcb_ptx_mod(atom, TCB_PTX_SLOT_TYPE)) != 32 ||
	    tcb_ptx_type_class(tcb_ptx_mod(atom, TCB_PTX_SLOT_TYPE)) == TCB_PTX_CLASS_FLOAT ||
	    atom->operands[2].kind != TCB_PTX_O_INT || !tcb_ptx_linear_of(t->function, &atom->operands[1], &at) ||
	    at.factor || at.variable->space != TCB_PTX_SHARED || !tcb_ptx_symbol_bytes(at.variable))
		return 0;
	*out = (struct counter){ .atom = atom, .variable = at.variable, .offset = at.number };
	out->step = atom->operands[2].bits;
	out->takers = who_surely_runs(t, atom);
	return out->takers && out->step < (1u << 16) && begins_as_number(t, out) && out->first < (1u << 30);
}

static void check_operand(const struct tickets *t, const struct tcb_ptx_ins *ins, unsigned index)
{
	struct tcb_ptx_access access;
	struct tcb_ptx_linear at;
	struct counter counter;
	uint64_t last, end, size;

	if (!tcb_ptx_access(ins, index, &access) || !access.bytes ||
	    !tcb_ptx_linear_of(t->function, &ins->operands[index], &at) || !at.factor || at.factor > 1u << 16 ||
	    at.number > 1u << 30)
		return;
	size = tcb_ptx_symbol_bytes(at.variable);
	if (!size ||
	    !is_counter(t, t->function->regs[at.reg].defs == 1 ? t->function->regs[at.reg].def : NULL, &counter) ||
	    who_surely_runs(t, ins) != counter.takers ||
	    !tcb_ptx_dominates(tcb_ptx_affine_dominators(t->affine), counter.atom->block, ins->block))
		return;
	last = counter.first + counter.step * (counter.takers - 1);
	end = at.number + at.factor * last + access.bytes;
	if (end > size)
		tcb_ptx_report(
			t->sink, TCB_PTX_RULE_OUT_OF_BOUNDS, TCB_PTX_ERROR, t->function, ins,
			"of the %llu threads that take a number in line %u one gets %llu and %s %u bytes at offset "
			"%llu of '%s', which has %llu",
			(unsigned long long)counter.takers, counter.atom->line, (unsigned long long)last,
			access.writes ? "writes" : "reads", access.bytes, (unsigned long long)(end - access.bytes),
			at.variable->name, (unsigned long long)size);
}

void tcb_ptx_bounds_tickets(struct tcb_ptx_function *function, struct tcb_ptx_affine *affine,
			    const struct tcb_ptx_coming *coming, const struct tcb_ptx_sink *sink)
{
	const struct tickets t = { function, affine, coming, sink };
	int has_atoms = 0;

	for (uint32_t i = 0; i < function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next)
			has_atoms |= ins->op == TCB_PTX_OP_ATOM;
	for (uint32_t i = 0; i < function->reachable_count && has_atoms; i++)
		for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next)
			for (unsigned k = 0; k < ins->operand_count; k++)
				check_operand(&t, ins, k);
}
