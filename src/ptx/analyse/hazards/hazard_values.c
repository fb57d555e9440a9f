/* SPDX-License-Identifier: MIT
 *
 * In: stores of two threads to one place.  Out: whether they write different
 * values.
 *
 * Where the values are known they are compared.  Others are followed back: what
 * is computed from loads at different addresses, or from different numbers, may
 * by chance be the same, but nobody relies on that.  What lanes exchange may well
 * be made the same by that.
 */
#include "ptx/analyse/hazards/hazards_private.h"

#include "ptx/ir/opcodes.h"

enum { TRACE_MAX = 64 };

/* The value that a store or exchange writes; unknown for what is none of one register. */
static struct tcb_ptx_value stored(struct tcb_ptx_hazards *h, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_value unknown = { 0 };

	if (ins->op == TCB_PTX_OP_ATOM && tcb_ptx_mod(ins, TCB_PTX_SLOT_ATOMIC) == TCB_PTX_EXCH)
		return tcb_ptx_affine_operand(h->affine, ins, &ins->operands[2]);
	if (ins->op != TCB_PTX_OP_ST || ins->operands[1].kind == TCB_PTX_O_VECTOR)
		return unknown;
	return tcb_ptx_affine_operand(h->affine, ins, &ins->operands[1]);
}

static int differs(const struct tcb_ptx_value *v, const uint32_t pair[2])
{
	return v->known && !v->assumes && tcb_ptx_value_lane(v, pair[0]) != tcb_ptx_value_lane(v, pair[1]);
}

struct trace {
	struct tcb_ptx_hazards *h;
	const uint32_t *pair;
	int left;
	int is_exchanged; /* between lanes, or atomically */
};

/* Whether OPERAND of INS rests on something that is known to differ between the two. */
static int rests_on_differing(struct trace *t, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *operand)
{
	const struct tcb_ptx_ins *def;
	struct tcb_ptx_value v;
	int found = 0;

	if (operand->kind == TCB_PTX_O_VECTOR) {
		for (uint32_t i = 0; i < operand->count; i++)
			found |= rests_on_differing(t, ins, &operand->items[i]);
		return found;
	}
	if (operand->kind != TCB_PTX_O_REG || t->left-- <= 0)
		return 0;
	v = tcb_ptx_affine_operand(t->h->affine, ins, operand);
	if (v.known)
		return differs(&v, t->pair);
	def = t->h->function->regs[operand->reg].def;
	if (!def)
		return 0;
	if (tcb_ptx_has(def, TCB_PTX_F_CONVERGENT | TCB_PTX_F_WRITE | TCB_PTX_F_BARRIER) ||
	    def->op == TCB_PTX_OP_CALL || def->op == TCB_PTX_OP_OPAQUE) {
		t->is_exchanged = 1;
		return 0;
	}
	if (def->op == TCB_PTX_OP_LD || def->op == TCB_PTX_OP_LDU) {
		v = tcb_ptx_affine_address(t->h->affine, def, 1);
		return differs(&v, t->pair);
	}
	if (tcb_ptx_has(def, TCB_PTX_F_READ))
		return 0;
	for (unsigned i = def->result_count; i < def->operand_count; i++)
		found |= rests_on_differing(t, def, &def->operands[i]);
	return found;
}

enum tcb_ptx_differing tcb_ptx_writes_differ(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a,
					     const struct tcb_ptx_event *b, const uint32_t pair[2])
{
	struct tcb_ptx_value x = stored(h, a->ins), y = stored(h, b->ins);
	struct trace trace = { .h = h, .pair = pair, .left = TRACE_MAX };

	if (a->ins != b->ins)
		return !tcb_ptx_value_is_uniform(&x) || x.term_count || !tcb_ptx_value_is_uniform(&y) || y.term_count ||
				       x.constant != y.constant
			       ? TCB_PTX_DIFFERENT
			       : TCB_PTX_SAME;
	if (x.known && x.term_count == 0)
		return differs(&x, pair) ? TCB_PTX_DIFFERENT : TCB_PTX_SAME;
	if (a->ins->op != TCB_PTX_OP_ST || x.known || !rests_on_differing(&trace, a->ins, &a->ins->operands[1]) ||
	    trace.is_exchanged)
		return TCB_PTX_SAME;
	return TCB_PTX_LIKELY_DIFFERENT;
}

/* Whether both are at the same distance from what their threads know. */
static int have_same_terms(const struct tcb_ptx_value *x, const struct tcb_ptx_value *y)
{
	if (x->term_count != y->term_count)
		return 0;
	for (uint32_t i = 0; i < x->term_count; i++)
		if (x->terms[i].symbol != y->terms[i].symbol || x->terms[i].factor != y->terms[i].factor ||
		    x->terms[i].lanes || y->terms[i].lanes)
			return 0;
	return 1;
}

int tcb_ptx_reads_its_own(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b)
{
	struct tcb_ptx_value x = stored(h, a->ins);
	int64_t at[TCB_PTX_BLOCK_THREADS_MAX];
	uint8_t has[TCB_PTX_BLOCK_THREADS_MAX] = { 0 };

	if (!a->is_sure || b->writes || !tcb_ptx_value_is_uniform(&x) || x.term_count ||
	    !have_same_terms(&a->address, &b->address) ||
	    !tcb_ptx_dominates(tcb_ptx_affine_dominators(h->affine), a->ins->block, b->ins->block) ||
	    (a->ins->block == b->ins->block && a->ins->number > b->ins->number))
		return 0;
	for (uint32_t i = 0; i < a->start_count; i++) {
		at[a->starts[i].thread] = a->starts[i].at;
		has[a->starts[i].thread] = 1;
	}
	for (uint32_t i = 0; i < b->start_count; i++) {
		const struct tcb_ptx_start *read = &b->starts[i];

		if (has[read->thread] && read->at >= at[read->thread] &&
		    read->at + (int64_t)b->bytes <= at[read->thread] + (int64_t)a->bytes)
			continue;
		for (uint32_t k = 0; k < a->start_count; k++)
			if (a->starts[k].at < read->at + (int64_t)b->bytes &&
			    read->at < a->starts[k].at + (int64_t)a->bytes)
				return 0;
	}
	return 1;
}
