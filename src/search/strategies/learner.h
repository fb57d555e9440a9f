/* SPDX-License-Identifier: MIT
 *
 * What strategies that learn have in common, the first member of each: who was
 * told, in which order, what it cost in each cache state, who is the best, and
 * who is left.
 */
#ifndef TCB_SEARCH_LEARNER_H
#define TCB_SEARCH_LEARNER_H

#include "base/util.h"
#include "search/strategy.h"

enum { TCB_LEARNER_BEST = 256 /* remembered in their order */ };

struct tcb_learner {
	const struct tcb_lattice *lattice;
	struct tcb_deck deck;
	struct tcb_rng rng;
	size_t count;  /* told so far */
	size_t *index; /* [order]: of the lattice; owned */
	double *cost;  /* [index * TCB_STATE_COUNT + state]: infinite until told, and of failures; owned */
	size_t best[TCB_STATE_COUNT][TCB_LEARNER_BEST], best_count[TCB_STATE_COUNT]; /* without failures */
	double worst[TCB_STATE_COUNT]; /* largest cost that is no failure's; 0 while there is none */
	unsigned states, state;
};

/* BYTES of zeros that begin with a learner; destroy frees them. */
enum tcb_status tcb_learner_create(const struct tcb_strategy_setup *setup, size_t bytes, void **out,
				   struct tcb_error *err);
void tcb_learner_destroy(void *self); /* NULL is fine */
void tcb_learner_tell(void *self, size_t index, const struct tcb_told *told);

static inline double tcb_learner_cost(const struct tcb_learner *learner, size_t index, unsigned state)
{
	return learner->cost[index * TCB_STATE_COUNT + state];
}
static inline const uint16_t *tcb_learner_row(const struct tcb_learner *learner, size_t index)
{
	return learner->lattice->coordinate + index * learner->lattice->fields;
}
/* INDEX, which is out of the deck from now on. */
size_t tcb_learner_take(struct tcb_learner *learner, size_t index);
/* The next state that is measured, in turn. */
unsigned tcb_learner_turn(struct tcb_learner *learner);
/* The MOST best in STATE, at most TCB_LEARNER_BEST, the best first, without failures; returns how many. */
size_t tcb_learner_best(const struct tcb_learner *learner, unsigned state, size_t most, const size_t **out);
/* How many are better than COST in STATE; TCB_LEARNER_BEST for more. */
size_t tcb_learner_rank(const struct tcb_learner *learner, double cost, unsigned state);

#endif
