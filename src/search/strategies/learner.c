/* SPDX-License-Identifier: MIT
 *
 * The memory of strategies that learn.
 */
#include "search/strategies/learner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum tcb_status init(struct tcb_learner *learner, const struct tcb_strategy_setup *setup, struct tcb_error *err)
{
	const size_t count = setup->lattice->count;
	learner->lattice = setup->lattice;
	learner->states = setup->states;
	learner->state = TCB_STATE_COUNT - 1;
	tcb_rng_init(&learner->rng, ~setup->seed);
	TCB_TRY(tcb_deck_init(&learner->deck, count, setup->seed, err));
	learner->index = malloc((count + 1) * sizeof *learner->index);
	learner->cost = malloc((count + 1) * TCB_STATE_COUNT * sizeof *learner->cost);
	if (!learner->index || !learner->cost)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the costs of %zu candidates", count);
	for (size_t i = 0; i < count * TCB_STATE_COUNT; i++)
		learner->cost[i] = INFINITY;
	return TCB_OK;
}

enum tcb_status tcb_learner_create(const struct tcb_strategy_setup *setup, size_t bytes, void **out,
				   struct tcb_error *err)
{
	void *self = calloc(1, bytes);
	if (!self)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	enum tcb_status status = init(self, setup, err);
	if (status == TCB_OK)
		*out = self;
	else
		tcb_learner_destroy(self);
	return status;
}

void tcb_learner_destroy(void *self)
{
	struct tcb_learner *learner = self;
	if (!learner)
		return;
	tcb_deck_fini(&learner->deck);
	free(learner->index);
	free(learner->cost);
	free(learner);
}

size_t tcb_learner_rank(const struct tcb_learner *learner, double cost, unsigned state)
{
	size_t from = 0, to = learner->best_count[state];
	while (from < to) {
		const size_t middle = (from + to) / 2;
		if (tcb_learner_cost(learner, learner->best[state][middle], state) < cost)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Among the best in STATE, after those that are as good. */
static void insert(struct tcb_learner *learner, size_t index, unsigned state)
{
	const double cost = tcb_learner_cost(learner, index, state);
	size_t *best = learner->best[state], *count = &learner->best_count[state];
	size_t at = tcb_learner_rank(learner, cost, state);
	while (at < *count && tcb_learner_cost(learner, best[at], state) <= cost)
		at++;
	if (at == TCB_LEARNER_BEST)
		return;
	*count += *count < TCB_LEARNER_BEST;
	memmove(best + at + 1, best + at, (*count - at - 1) * sizeof *best);
	best[at] = index;
}

void tcb_learner_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct tcb_learner *learner = self;
	tcb_deck_take(&learner->deck, index);
	learner->index[learner->count++] = index;
	for (unsigned s = 0; s < TCB_STATE_COUNT; s++) {
		if (told->outcome != TCB_OUTCOME_OK || !(told->cost[s] < INFINITY))
			continue;
		learner->cost[index * TCB_STATE_COUNT + s] = told->cost[s];
		learner->worst[s] = fmax(learner->worst[s], told->cost[s]);
		insert(learner, index, s);
	}
}

size_t tcb_learner_take(struct tcb_learner *learner, size_t index)
{
	tcb_deck_take(&learner->deck, index);
	return index;
}

unsigned tcb_learner_turn(struct tcb_learner *learner)
{
	do
		learner->state = (learner->state + 1) % TCB_STATE_COUNT;
	while (!(learner->states >> learner->state & 1u));
	return learner->state;
}

size_t tcb_learner_best(const struct tcb_learner *learner, unsigned state, size_t most, const size_t **out)
{
	*out = learner->best[state];
	return most < learner->best_count[state] ? most : learner->best_count[state];
}
