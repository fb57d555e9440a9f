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
#include "ptx/analyse/hazards/hazards_private.h"

#include "ptx/ir/opcodes.h"

static void find_indices(struct tcb_ptx_grid *g)
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

/* Whether E surely happens once in each block, at an address of which only the block's indices change between blocks.
 */
static int is_followed(const struct tcb_ptx_grid *g, const struct tcb_ptx_event *e)
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

/* --- pairs --- */

static void tell(const struct tcb_ptx_grid *g, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b,
		 const uint32_t pair[2], unsigned d)
{
	tcb_ptx_report(
		g->sink, TCB_PTX_RULE_RACE, TCB_PTX_WARNING, g->h->function, a->ins,
		"thread %u of one block writes what thread %u of the next block along %c %s in global memory, and "
		"nothing orders blocks (harmless only in a grid of one block along %c)",
		pair[0], pair[1], 'x' + (char)d, b->writes ? "writes" : "reads", 'x' + (char)d);
}

static int find_pair(const struct tcb_ptx_grid *g, const struct tcb_ptx_event *a, const struct tcb_ptx_event *b,
		     unsigned d)
{
	int64_t factor = tcb_ptx_grid_factor(g, &a->address, d);
	uint32_t pair[2];

	if (a != b && (b->writes || !factor || !tcb_ptx_grid_same_terms(&a->address, &b->address)))
		return 0;
	if (a == b && (a->ins->op != TCB_PTX_OP_ST || !tcb_ptx_grid_rests_on_index(g, a, d)))
		return 0;
	if (!tcb_ptx_meet_shifted(g->h, a, b, factor, pair) &&
	    !(a != b && tcb_ptx_meet_shifted(g->h, a, b, -factor, pair)))
		return 0;
	tell(g, a, b, pair, d);
	return 1;
}

/* --- scopes --- */

static void check_scope(const struct tcb_ptx_grid *g, const struct tcb_ptx_event *e)
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
	struct tcb_ptx_grid g = { .h = h, .sink = sink };

	if (h->is_hopeless)
		return;
	find_indices(&g);
	for (uint32_t i = 0; i < h->event_count; i++) {
		const struct tcb_ptx_event *a = &h->events[i];
		int is_told = 0;

		check_scope(&g, a);
		if (g.orders_blocks || !a->writes)
			continue;
		for (unsigned d = 0; d < 3 && !is_told; d++)
			is_told = g.is_read[d] && tcb_ptx_grid_stride(&g, a, d);
		if (!is_followed(&g, a))
			continue;
		for (unsigned d = 0; d < 3 && !is_told; d++)
			for (uint32_t k = 0; k < h->event_count && g.is_read[d] && !is_told && h->budget; k++) {
				h->budget--;
				is_told = (k == i || is_followed(&g, &h->events[k])) &&
					  find_pair(&g, a, &h->events[k], d);
			}
	}
}
