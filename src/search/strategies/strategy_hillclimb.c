/* SPDX-License-Identifier: MIT
 *
 * Local search: from the default geometry, try the untried neighbours nearest
 * first and move to the first that is better.  When none within reach is left,
 * start again: in the next cache state, at the best known there while it has
 * untried neighbours, else at a random geometry.  Ends after a number of
 * starts in a row that found nothing better than is known.
 */
#include <math.h>
#include <stdlib.h>

#include "search/strategy.h"

enum {
	REACH = 2,        /* steps: one axis by two or two axes by one; at one, linked knobs cut the space to pieces */
	IDLE_STARTS = 12, /* in a row, over all states */
};

struct hillclimb {
	struct tcb_deck deck;
	const struct tcb_lattice *lattice;
	unsigned states, state, idle_starts;
	size_t current;
	double *cost; /* [index * TCB_STATE_COUNT + state], infinite until told */
	size_t best[TCB_STATE_COUNT];
	double least[TCB_STATE_COUNT]; /* cost of best */
	int found;                     /* since the last start: something better than all known */
};

static void hillclimb_destroy(void *self)
{
	struct hillclimb *climb = self;
	if (!climb)
		return;
	tcb_deck_fini(&climb->deck);
	free(climb->cost);
	free(climb);
}

static void next_state(struct hillclimb *climb)
{
	do
		climb->state = (climb->state + 1) % TCB_STATE_COUNT;
	while (!(climb->states >> climb->state & 1u));
}

static enum tcb_status hillclimb_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	struct hillclimb *climb = calloc(1, sizeof *climb);
	if (!climb)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	size_t count = setup->lattice->count;
	climb->states = setup->states;
	climb->state = TCB_STATE_COUNT - 1;
	next_state(climb);
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		climb->least[s] = INFINITY;
	climb->lattice = setup->lattice;
	enum tcb_status status = tcb_deck_init(&climb->deck, count, setup->seed, err);
	climb->cost = malloc(count * TCB_STATE_COUNT * sizeof *climb->cost);
	if (status == TCB_OK && !climb->cost)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the costs of %zu geometries", count);
	if (status != TCB_OK) {
		hillclimb_destroy(climb);
		return status;
	}
	for (size_t i = 0; i < count * TCB_STATE_COUNT; i++)
		climb->cost[i] = INFINITY;
	climb->current = setup->start != TCB_ASK_NONE ? setup->start : climb->deck.order[0];
	*out = climb;
	return TCB_OK;
}

static size_t hillclimb_ask(void *self, double spent)
{
	struct hillclimb *climb = self;
	(void)spent;
	size_t index = tcb_deck_deal_near(&climb->deck, climb->lattice, climb->current, REACH);
	if (index != TCB_ASK_NONE)
		return index;
	climb->idle_starts = climb->found ? 0 : climb->idle_starts + 1;
	climb->found = 0;
	if (climb->idle_starts >= IDLE_STARTS)
		return TCB_ASK_NONE;
	next_state(climb);
	if (climb->least[climb->state] < INFINITY) {
		climb->current = climb->best[climb->state];
		index = tcb_deck_deal_near(&climb->deck, climb->lattice, climb->current, REACH);
		if (index != TCB_ASK_NONE)
			return index;
	}
	index = tcb_deck_deal(&climb->deck);
	if (index != TCB_ASK_NONE)
		climb->current = index;
	return index;
}

static void hillclimb_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct hillclimb *climb = self;
	tcb_deck_take(&climb->deck, index);
	for (unsigned s = 0; s < TCB_STATE_COUNT; s++) {
		double cost = isnan(told->cost[s]) ? INFINITY : told->cost[s];
		climb->cost[index * TCB_STATE_COUNT + s] = cost;
		if (cost < climb->least[s]) {
			climb->least[s] = cost;
			climb->best[s] = index;
			climb->found = 1;
		}
	}
	if (climb->cost[index * TCB_STATE_COUNT + climb->state] <
	    climb->cost[climb->current * TCB_STATE_COUNT + climb->state])
		climb->current = index;
}

const struct tcb_strategy tcb_strategy_hillclimb = {
	.name = "hillclimb",
	.summary = "local search from the default geometry with random restarts",
	.create = hillclimb_create,
	.ask = hillclimb_ask,
	.tell = hillclimb_tell,
	.destroy = hillclimb_destroy,
};
