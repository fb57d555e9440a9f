/* SPDX-License-Identifier: MIT
 *
 * Everything, in a seeded random order: a budget that ends early has then seen an unbiased sample.  The last quarter
 * of a limited budget goes to the neighbours of the best found instead, one
 * cache state after the other.
 */
#include <math.h>
#include <stdlib.h>

#include "search/strategy.h"

struct exhaustive {
	struct tcb_deck deck;
	const struct tcb_lattice *lattice;
	unsigned states, turn;
	size_t best[TCB_STATE_COUNT];
	double cost[TCB_STATE_COUNT];
};

static const double NEIGHBOURS_FROM = 0.75; /* of the budget; measured by tests/search/test_strategy.c */

static void exhaustive_destroy(void *self)
{
	struct exhaustive *all = self;
	if (!all)
		return;
	tcb_deck_fini(&all->deck);
	free(all);
}

static enum tcb_status exhaustive_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	struct exhaustive *all = calloc(1, sizeof *all);
	if (!all)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	all->states = setup->states;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		all->cost[s] = INFINITY;
	all->lattice = setup->lattice;
	enum tcb_status status = tcb_deck_init(&all->deck, setup->lattice->count, setup->seed, err);
	if (status != TCB_OK) {
		exhaustive_destroy(all);
		return status;
	}
	*out = all;
	return TCB_OK;
}

static size_t exhaustive_ask(void *self, double spent)
{
	struct exhaustive *all = self;
	if (spent < NEIGHBOURS_FROM)
		return tcb_deck_deal(&all->deck);
	for (int tries = 0; tries < TCB_STATE_COUNT; tries++) {
		unsigned state = all->turn++ % TCB_STATE_COUNT;
		if ((all->states >> state & 1u) && all->cost[state] < INFINITY)
			return tcb_deck_deal_near(&all->deck, all->lattice, all->best[state], SIZE_MAX);
	}
	return tcb_deck_deal(&all->deck);
}

static void exhaustive_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct exhaustive *all = self;
	tcb_deck_take(&all->deck, index);
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		if (told->cost[s] < all->cost[s]) {
			all->cost[s] = told->cost[s];
			all->best[s] = index;
		}
	}
}

const struct tcb_strategy tcb_strategy_exhaustive = {
	.name = "exhaustive",
	.summary = "every geometry in random order; the last quarter of a budget goes to neighbours of the best",
	.create = exhaustive_create,
	.ask = exhaustive_ask,
	.tell = exhaustive_tell,
	.destroy = exhaustive_destroy,
};
