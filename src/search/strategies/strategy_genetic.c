/* SPDX-License-Identifier: MIT
 *
 * A genetic algorithm in its steady form: the parents are the best that are
 * known, chosen by rank; a child has one's parameters up to some point and the
 * other's after it, a few of them mutated; and it is tried at the nearest
 * candidate that exists.
 */
#include "search/strategies/learner.h"

enum {
	PARENTS = 26, /* also the random trials before the first child */
	REDRAWS = 8,  /* of a child that was tried before */
};
static const double MUTATION = 1.0 / 55; /* of a parameter */

static enum tcb_status genetic_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	return tcb_learner_create(setup, sizeof(struct tcb_learner), out, err);
}

/* One of COUNT by rank: the first is twice as likely as one in the middle. */
static size_t choose_rank(struct tcb_rng *rng, size_t count)
{
	const size_t a = tcb_rng_below(rng, count), b = tcb_rng_below(rng, count);
	return a < b ? a : b;
}

static void make_child(struct tcb_learner *l, size_t mother, size_t father, uint16_t *child)
{
	const size_t fields = l->lattice->fields, point = tcb_rng_below(&l->rng, fields + 1);
	for (size_t f = 0; f < fields; f++) {
		child[f] = tcb_learner_row(l, f < point ? mother : father)[f];
		if (tcb_rng_unit(&l->rng) < MUTATION)
			child[f] = (uint16_t)tcb_rng_below(&l->rng, l->lattice->top[f] + 1u);
	}
}

static size_t genetic_ask(void *self, double spent)
{
	struct tcb_learner *l = self;
	const size_t *parents;
	uint16_t child[TCB_LATTICE_FIELDS];
	(void)spent;
	const unsigned state = tcb_learner_turn(l);
	const size_t count = l->count < PARENTS ? 0 : tcb_learner_best(l, state, PARENTS, &parents);
	if (count < 2)
		return tcb_deck_deal(&l->deck);
	for (int draw = 0; draw < REDRAWS; draw++) {
		make_child(l, parents[choose_rank(&l->rng, count)], parents[choose_rank(&l->rng, count)], child);
		const size_t index = tcb_lattice_nearest(l->lattice, child, NULL);
		if (!l->deck.taken[index])
			return tcb_learner_take(l, index);
	}
	const size_t index = tcb_lattice_nearest(l->lattice, child, l->deck.taken);
	return index == TCB_ASK_NONE ? index : tcb_learner_take(l, index);
}

const struct tcb_strategy tcb_strategy_genetic = {
	.name = "genetic",
	.summary = "a genetic algorithm: children of the best known, tried at the nearest that exists",
	.create = genetic_create,
	.ask = genetic_ask,
	.tell = tcb_learner_tell,
	.destroy = tcb_learner_destroy,
};
