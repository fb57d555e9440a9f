/* SPDX-License-Identifier: MIT
 *
 * In: the accesses of global memory.  Out: what blocks of one grid do to each
 * other.
 *
 * The addresses of two neighbouring blocks differ by what the block's index is
 * multiplied by, where nothing else in them changes from block to block.  How
 * many blocks there are nobody knows from the text, so all of these are
 * warnings.  A kernel that orders blocks by itself (global atomics, fences) is
 * left alone, but for atomics of one block's scope where all blocks meet.
 */
#include "ptx/analyse/hazards_private.h"

#include "ptx/ir/opcodes.h"

enum { TRACE_MAX = 64 };

struct grid {
	struct tcb_ptx_hazards *h;
	const struct tcb_ptx_sink *sink;
	uint32_t index[3]; /* symbols of %ctaid */
	uint8_t is_read[3];
	int orders_blocks;
};

static void find_indices(struct grid *g)
{
	for (unsigned d = 0; d < 3; d++) {
		struct tcb_ptx_value v = tcb_ptx_affine_special(g->h->affine, TCB_PTX_SR_CTAID_X + d);

		g->index[d] = v.term_count ? v.terms[0].symbol : UINT32_MAX;
	}
	for (const struct tcb_ptx_block *block = g->h->function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			for (unsigned i = 0; i < ins->operand_count; i++)
				for (unsigned d = 0; d < 3; d++)
					g->is_read[d] |= ins->operands[i].kind == TCB_PTX_O_SPECIAL &&
							 ins->operands[i].special == TCB_PTX_SR_CTAID_X + d;
	for (uint32_t i = 0; i < g->h->event_count; i++) {
		const struct tcb_ptx_event *e = &g->h->events[i];

		g->orders_blocks |= e->is_opaque || (e->is_ordered && e->spaces & TCB_PTX_IN_GLOBAL);
	}
}

/* What index D is multiplied by in V, or 0. */
static int64_t factor_of(const struct grid *g, const struct tcb_ptx_value *v, unsigned d)
{
	for (uint32_t i = 0; i < v->term_count; i++)
		if (v->terms[i].symbol == g->index[d])
			return (int64_t)v->terms[i].factor;
	return 0;
}

/* Whether E surely happens once in each block, at an address of which only the block's indices change between blocks.
 */
static int is_followed(const struct grid *g, const struct tcb_ptx_event *e)
{
	if (!e->is_known || !e->is_sure || e->is_opaque || e->is_ordered || e->spaces != TCB_PTX_IN_GLOBAL ||
	    !e->start_count || e->ins->block->loop || tcb_ptx_affine_is_optional(g->h->affine, e->ins->block) ||
	    e->address.bits != 64)
		return 0;
	for (uint32_t i = 0; i < e->address.term_count; i++) {
		const struct tcb_ptx_term *term = &e->address.terms[i];
		enum tcb_ptx_symbol_kind kind = tcb_ptx_affine_symbol(g->h->affine, term->symbol)->kind;
		int is_index = 0;

		for (unsigned d = 0; d < 3; d++)
			is_index |= term->symbol == g->index[d];
		if (term->lanes || (kind != TCB_PTX_Y_PARAM && kind != TCB_PTX_Y_ADDRESS && !is_index))
			return 0;
	}
	return 1;
}

static int have_same_terms(const struct tcb_ptx_value *x, const struct tcb_ptx_value *y)
{
	if (x->term_count != y->term_count)
		return 0;
	for (uint32_t i = 0; i < x->term_count; i++)
		if (x->terms[i].symbol != y->terms[i].symbol || x->terms[i].factor != y->terms[i].factor)
			return 0;
	return 1;
}

/* --- values --- */

struct trace {
	const struct grid *g;
	const struct tcb_ptx_event *store;
	unsigned d;
	int left;
};

/* Whether what the LOAD brings differs between two blocks whose stores meet: it moves with the block's index in another
 * way than the store does, or brings what the store changes. */
static int brings_another(const struct trace *t, const struct tcb_ptx_ins *load)
{
	struct tcb_ptx_value from = tcb_ptx_affine_address(t->g->h->affine, load, 1);
	const struct tcb_ptx_value *to = &t->store->address;
	uint32_t first = t->store->starts[0].thread;

	if (!from.known)
		return 0;
	if (factor_of(t->g, &from, t->d) != factor_of(t->g, to, t->d))
		return 1;
	return have_same_terms(&from, to) && tcb_ptx_value_lane(&from, first) == tcb_ptx_value_lane(to, first);
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
		return factor_of(t->g, &v, t->d) != 0;
	def = operand->kind == TCB_PTX_O_REG ? t->g->h->function->regs[operand->reg].def : NULL;
	if (!def || def->op == TCB_PTX_OP_CALL || def->op == TCB_PTX_OP_OPAQUE)
		return 0;
	if (def->op == TCB_PTX_OP_LD || def->op == TCB_PTX_OP_LDU)
		return brings_another(t, def);
	for (unsigned i = def->result_count; i < def->operand_count && !tcb_ptx_has(def, TCB_PTX_F_READ); i++)
		found |= rests_on_index(t, def, &def->operands[i]);
	return found;
}

/* --- pairs --- */

/* Whether a thread's B in the block that is SHIFT on touches what any thread's A does. */
static int meet_shifted(struct tcb_ptx_hazards *h, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b,
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

static void tell(const struct grid *g, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b,
		 const uint32_t pair[2], unsigned d)
{
	tcb_ptx_report(
		g->sink, TCB_PTX_RULE_RACE, TCB_PTX_WARNING, g->h->function, a->ins,
		"thread %u of one block writes what thread %u of the next block along %c %s in global memory, and "
		"nothing orders blocks (harmless only in a grid of one block along %c)",
		pair[0], pair[1], 'x' + (char)d, b->writes ? "writes" : "reads", 'x' + (char)d);
}

static int find_pair(const struct grid *g, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b, unsigned d)
{
	struct trace trace = { g, a, d, TRACE_MAX };
	int64_t factor = factor_of(g, &a->address, d);
	uint32_t pair[2];

	if (a != b && (b->writes || !factor || !have_same_terms(&a->address, &b->address)))
		return 0;
	if (a == b && (a->ins->op != TCB_PTX_OP_ST || !rests_on_index(&trace, a->ins, &a->ins->operands[1])))
		return 0;
	if (!meet_shifted(g->h, a, b, factor, pair) && !(a != b && meet_shifted(g->h, a, b, -factor, pair)))
		return 0;
	tell(g, a, b, pair, d);
	return 1;
}

/* --- scopes --- */

static void check_scope(const struct grid *g, const struct tcb_ptx_event *e)
{
	if ((e->ins->op != TCB_PTX_OP_ATOM && e->ins->op != TCB_PTX_OP_RED) || e->spaces != TCB_PTX_IN_GLOBAL ||
	    tcb_ptx_mod(e->ins, TCB_PTX_SLOT_SCOPE) != TCB_PTX_CTA || !e->is_known)
		return;
	for (uint32_t i = 0; i < e->address.term_count; i++)
		if (tcb_ptx_affine_symbol(g->h->affine, e->address.terms[i].symbol)->kind != TCB_PTX_Y_PARAM &&
		    tcb_ptx_affine_symbol(g->h->affine, e->address.terms[i].symbol)->kind != TCB_PTX_Y_ADDRESS)
			return;
	tcb_ptx_report(
		g->sink, TCB_PTX_RULE_RACE, TCB_PTX_WARNING, g->h->function, e->ins,
		"this atomic is one within the block only (.cta), and all blocks access the same place (harmless "
		"only in a grid of one block): leave the scope out");
}

void tcb_ptx_grid_races(struct tcb_ptx_hazards *h, const struct tcb_ptx_sink *sink)
{
	struct grid g = { .h = h, .sink = sink };

	if (h->is_hopeless)
		return;
	find_indices(&g);
	for (uint32_t i = 0; i < h->event_count; i++) {
		const struct tcb_ptx_event *a = &h->events[i];
		int is_told = 0;

		check_scope(&g, a);
		if (g.orders_blocks || !a->writes || !is_followed(&g, a))
			continue;
		for (unsigned d = 0; d < 3 && !is_told; d++)
			for (uint32_t k = 0; k < h->event_count && g.is_read[d] && !is_told && h->budget; k++) {
				h->budget--;
				is_told = (k == i || is_followed(&g, &h->events[k])) &&
					  find_pair(&g, a, &h->events[k], d);
			}
	}
}
