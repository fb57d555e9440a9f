/* SPDX-License-Identifier: MIT
 *
 * In: stores to global memory in loops.  Out: loops in which blocks of one grid do
 * each other's work, since their step knows nothing of the grid.
 *
 * A loop over elements that begins at ctaid * B and goes on by S <= B comes, in some
 * block's later round, to where the next block has been.  That this round takes place
 * follows where each condition on the way compares what rises with the block's index
 * and with the round with a bound that is the same for all: then whoever is behind
 * comes, too.  A loop that ends where the next block begins has a bound of its own,
 * so nothing is said of it.
 *
 * A loop that goes over the same places in each block, and stores what depends on the
 * block's index there, is told as well.  How many blocks there are nobody knows from
 * the text, so both are warnings.
 */
#include "ptx/analyse/hazards/hazards_private.h"
#include "ptx/analyse/values/conditions.h"

#include "ptx/ir/opcodes.h"

/* --- conditions --- */

struct rising {
	const struct tcb_ptx_grid *g;
	const struct tcb_ptx_loop *loop;
	uint32_t counter;
	unsigned d;
	int rises;                    /* the address does, with the block's index */
	int64_t per_block, per_round; /* of the conditions that rise */
};

/* The factors of the block's index and of the loop's rounds in V; 0 when there is something else in it that may differ
 * between blocks. */
static int find_factors(const struct rising *r, const struct tcb_ptx_value *v, int64_t *per_block, int64_t *per_round)
{
	unsigned up = 64u - v->bits;

	*per_block = *per_round = 0;
	for (uint32_t i = 0; i < v->term_count; i++) {
		const struct tcb_ptx_term *term = &v->terms[i];
		const struct tcb_ptx_symbolic *s = tcb_ptx_affine_symbol(r->g->h->affine, term->symbol);
		int64_t factor = (int64_t)(term->factor << up) >> up;

		if (term->lanes)
			return 0;
		if (term->symbol == r->g->index[r->d])
			*per_block = factor;
		else if (term->symbol == r->counter)
			*per_round = factor;
		else if (s->kind != TCB_PTX_Y_PARAM && s->kind != TCB_PTX_Y_ADDRESS)
			return 0;
	}
	return 1;
}

/* Whether C is the same in all blocks, if the address is; else whether who fulfils it in the next block fulfils it in
 * this one, a round later, too. */
static int holds_before(void *ctx, const struct tcb_ptx_condition *c)
{
	struct rising *r = ctx;
	int64_t per_block, per_round;

	if (!find_factors(r, &c->apart, &per_block, &per_round))
		return 0;
	if (!r->rises || !per_block)
		return !per_block && (!r->rises || !per_round);
	if (c->how == TCB_PTX_GT || c->how == TCB_PTX_GE) {
		per_block = -per_block;
		per_round = -per_round;
	}
	if (c->how == TCB_PTX_EQ || c->how == TCB_PTX_NE || per_block < 0 || per_round < 0 || per_round > per_block ||
	    (r->per_block && r->per_block != per_block))
		return 0;
	r->per_block = per_block;
	r->per_round = per_round > r->per_round ? per_round : r->per_round;
	return 1;
}

/* --- stores --- */

/* The loop that E, a store whose address moves with it, is in; NULL: none, or more is unknown. */
static const struct tcb_ptx_loop *loop_of(const struct tcb_ptx_grid *g, const struct tcb_ptx_event *e)
{
	const struct tcb_ptx_loop *loop = e->ins->block->loop;

	if (!loop || loop->parent || e->ins->op != TCB_PTX_OP_ST || !e->is_known || !e->writes || e->is_ordered ||
	    e->spaces != TCB_PTX_IN_GLOBAL || !e->start_count || e->address.bits != 64)
		return NULL;
	return tcb_ptx_affine_threads(g->h->affine) ? loop : NULL;
}

static void tell(const struct rising *r, const struct tcb_ptx_event *e, int64_t per_block, int64_t per_round)
{
	char axis = (char)('x' + (char)r->d);

	tcb_ptx_report(
		r->g->sink, TCB_PTX_RULE_RACE, TCB_PTX_WARNING, r->g->h->function, e->ins,
		"each round goes on by %lld bytes, and the next block along %c begins %lld bytes on: a block's later "
		"rounds write what the blocks behind it write, too; the step must be that of the whole grid, with "
		"%%nctaid.%c (harmless only in a grid of one block along %c)",
		(long long)per_round, axis, (long long)per_block, axis, axis);
}

static void tell_same(const struct rising *r, const struct tcb_ptx_event *e)
{
	char axis = (char)('x' + (char)r->d);

	tcb_ptx_report(r->g->sink, TCB_PTX_RULE_RACE, TCB_PTX_WARNING, r->g->h->function, e->ins,
		       "the loop writes to the same places of global memory in each block along %c, and what it writes "
		       "depends on the block (harmless only in a grid of one block along %c)",
		       axis, axis);
}

/* Whether a later round of E in one block comes to what its first round writes in the next block. */
static int comes_to_next(const struct tcb_ptx_grid *g, const struct tcb_ptx_event *e, int64_t per_block,
			 int64_t per_round)
{
	uint32_t pair[2];

	return per_round > 0 && per_block >= per_round && tcb_ptx_meet_shifted(g->h, e, e, per_block - per_round, pair);
}

int tcb_ptx_grid_stride(const struct tcb_ptx_grid *g, const struct tcb_ptx_event *e, unsigned d)
{
	const struct tcb_ptx_loop *loop = loop_of(g, e);
	struct rising r = { .g = g, .loop = loop, .d = d };
	int64_t per_block, per_round;

	if (!loop || g->index[d] == UINT32_MAX)
		return 0;
	r.counter = tcb_ptx_affine_counter(g->h->affine, loop->header);
	if (!find_factors(&r, &e->address, &per_block, &per_round) || !per_round)
		return 0;
	if (per_block ? !comes_to_next(g, e, per_block, per_round) : !tcb_ptx_grid_rests_on_index(g, e, d))
		return 0;
	r.rises = per_block != 0;
	if (!tcb_ptx_conditions(g->h->function, g->h->affine, e->ins, loop, holds_before, &r) ||
	    (r.rises && !r.per_round))
		return 0;
	if (per_block)
		tell(&r, e, per_block, per_round);
	else
		tell_same(&r, e);
	return 1;
}
