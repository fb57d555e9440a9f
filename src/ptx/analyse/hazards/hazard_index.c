/* SPDX-License-Identifier: MIT
 *
 * In: an address or a value.  Out: what the block's index does to it.
 */
#include "ptx/analyse/hazards/hazards_private.h"

#include "ptx/ir/opcodes.h"

enum { TRACE_MAX = 64 };

int64_t tcb_ptx_grid_factor(const struct tcb_ptx_grid *g, const struct tcb_ptx_value *v, unsigned d)
{
	for (uint32_t i = 0; i < v->term_count; i++)
		if (v->terms[i].symbol == g->index[d])
			return (int64_t)v->terms[i].factor;
	return 0;
}

int tcb_ptx_grid_same_terms(const struct tcb_ptx_value *x, const struct tcb_ptx_value *y)
{
	if (x->term_count != y->term_count)
		return 0;
	for (uint32_t i = 0; i < x->term_count; i++)
		if (x->terms[i].symbol != y->terms[i].symbol || x->terms[i].factor != y->terms[i].factor)
			return 0;
	return 1;
}

struct trace {
	const struct tcb_ptx_grid *g;
	const struct tcb_ptx_event *store;
	unsigned d;
	int left;
};

/* Whether REG is computed from the block's index by instructions that are each the only one to write their register. */
static int is_made_of_index(struct trace *t, uint32_t reg)
{
	const struct tcb_ptx_ins *def = t->g->h->function->regs[reg].def;
	int found = 0;

	if (!def || t->g->h->function->regs[reg].defs != 1 || t->left-- <= 0 ||
	    tcb_ptx_has(def, TCB_PTX_F_READ | TCB_PTX_F_CONVERGENT))
		return 0;
	for (unsigned i = def->result_count; i < def->operand_count && !found; i++)
		if (def->operands[i].kind == TCB_PTX_O_REG)
			found = is_made_of_index(t, def->operands[i].reg);
		else
			found = def->operands[i].kind == TCB_PTX_O_SPECIAL &&
				def->operands[i].special == TCB_PTX_SR_CTAID_X + t->d;
	return found;
}

/* Whether what the LOAD brings differs between two blocks whose stores meet: it moves with the block's index in another
 * way than the store does, or brings what the store changes. */
static int brings_another(struct trace *t, const struct tcb_ptx_ins *load)
{
	struct tcb_ptx_value from = tcb_ptx_affine_address(t->g->h->affine, load, 1);
	const struct tcb_ptx_value *to = &t->store->address;
	uint32_t first = t->store->starts[0].thread;

	if (!from.known)
		return 0;
	if (tcb_ptx_grid_factor(t->g, &from, t->d) != tcb_ptx_grid_factor(t->g, to, t->d))
		return 1;
	/* a product of the index and a parameter is a symbol of its own */
	if (!tcb_ptx_grid_factor(t->g, to, t->d) && load->operands[1].reg != TCB_PTX_NO_REG &&
	    is_made_of_index(t, load->operands[1].reg))
		return 1;
	return tcb_ptx_grid_same_terms(&from, to) && tcb_ptx_value_lane(&from, first) == tcb_ptx_value_lane(to, first);
}

/* Whether OPERAND of INS rests on the block's index, so that two blocks write different values. */
static int rests_on_index(struct trace *t, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *operand)
{
	const struct tcb_ptx_ins *def;
	struct tcb_ptx_value v;
	int found = 0;

	if (operand->kind == TCB_PTX_O_VECTOR) {
		for (uint32_t i = 0; i < operand->count; i++)
			found |= rests_on_index(t, ins, &operand->items[i]);
		return found;
	}
	if ((operand->kind != TCB_PTX_O_REG && operand->kind != TCB_PTX_O_SPECIAL) || t->left-- <= 0)
		return 0;
	v = tcb_ptx_affine_operand(t->g->h->affine, ins, operand);
	if (v.known)
		return tcb_ptx_grid_factor(t->g, &v, t->d) != 0;
	def = operand->kind == TCB_PTX_O_REG ? t->g->h->function->regs[operand->reg].def : NULL;
	if (!def || def->op == TCB_PTX_OP_CALL || def->op == TCB_PTX_OP_OPAQUE)
		return 0;
	if (def->op == TCB_PTX_OP_LD || def->op == TCB_PTX_OP_LDU)
		return brings_another(t, def);
	for (unsigned i = def->result_count; i < def->operand_count && !tcb_ptx_has(def, TCB_PTX_F_READ); i++)
		found |= rests_on_index(t, def, &def->operands[i]);
	return found;
}

int tcb_ptx_grid_rests_on_index(const struct tcb_ptx_grid *g, const struct tcb_ptx_event *store, unsigned d)
{
	struct trace trace = { g, store, d, TRACE_MAX };

	return rests_on_index(&trace, store->ins, &store->ins->operands[1]);
}

int tcb_ptx_meet_shifted(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b,
			 int64_t shift, uint32_t pair[2])
{
	uint32_t j = 0;

	for (uint32_t i = 0; i < b->start_count; i++) {
		int64_t at = b->starts[i].at + shift;

		h->budget -= h->budget != 0;
		while (j < a->start_count && a->starts[j].at + (int64_t)a->bytes <= at)
			j++;
		if (j < a->start_count && a->starts[j].at < at + (int64_t)b->bytes) {
			pair[0] = a->starts[j].thread;
			pair[1] = b->starts[i].thread;
			return 1;
		}
	}
	return 0;
}
