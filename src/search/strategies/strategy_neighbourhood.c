/* SPDX-License-Identifier: MIT
 *
 * Variable neighbourhoods with a screen of nearest neighbours (the idea of
 * HybridVNDX): of some neighbours of the current candidate, crossings of two good
 * ones and random candidates, that one is tried which the nearest known ones say
 * most of.  It is accepted as in annealing; which kind of neighbours is looked at
 * goes by weights that follow success; after many refusals it starts again.
 */
#include <math.h>

#include "search/strategies/learner.h"

enum {
	FIRST = 10,   /* random trials before the first pool */
	POOL = 60,    /* candidates that are screened for one trial */
	CROSSED = 12, /* of them crossings of two of the elite */
	RANDOM = 8,   /* of them from anywhere */
	ELITE = 5,
	NEAREST = 5,  /* known candidates that speak for one */
	KNOWN = 300,  /* the newest, among which they are looked for */
	REFUSED = 30, /* in a row, before a restart */
};
static const double COOLING = 0.99, WARM = 0.02; /* WARM: of a loss of 2 %, one in e is accepted in the beginning */

static const enum tcb_reach REACHES[] = { TCB_REACH_ADJACENT, TCB_REACH_ONE, TCB_REACH_ONE_BY_ONE };
enum { REACH_COUNT = sizeof REACHES / sizeof *REACHES };

struct descent {
	struct tcb_learner learner;
	unsigned state;
	size_t current, refused;
	double warmth, weight[REACH_COUNT];
	size_t reach; /* of REACHES, in the last trial */
	size_t pool[POOL], pool_count;
};

static size_t choose_reach(struct descent *d)
{
	double at = tcb_rng_unit(&d->learner.rng) * (d->weight[0] + d->weight[1] + d->weight[2]);
	for (size_t r = 0; r < REACH_COUNT - 1; r++) {
		at -= d->weight[r];
		if (at < 0)
			return r;
	}
	return REACH_COUNT - 1;
}

static void add_to_pool(struct descent *d, size_t index)
{
	if (d->pool_count < POOL && !d->learner.deck.taken[index])
		d->pool[d->pool_count++] = index;
}

static void add_neighbours(struct descent *d)
{
	const size_t most = POOL - CROSSED - RANDOM;
	const enum tcb_reach reach = REACHES[d->reach];
	struct tcb_learner *l = &d->learner;
	struct tcb_walk walk;
	size_t seen = 0, index;
	tcb_walk_init(&walk, l->lattice, tcb_learner_row(l, d->current), reach, reach == TCB_REACH_ADJACENT ? 0 : 1);
	while ((index = tcb_walk_next(&walk)) != TCB_ASK_NONE) {
		if (l->deck.taken[index])
			continue;
		const size_t at = seen < most ? seen : tcb_rng_below(&l->rng, seen + 1); /* a random sample */
		seen++;
		if (at < most)
			d->pool[at] = index;
	}
	d->pool_count = seen < most ? seen : most;
}

static void add_crossed(struct descent *d)
{
	struct tcb_learner *l = &d->learner;
	const size_t *elite;
	const size_t count = tcb_learner_best(l, d->state, ELITE, &elite);
	uint16_t point[TCB_LATTICE_FIELDS];
	for (int i = 0; i < CROSSED && count > 1; i++) {
		const size_t a = elite[tcb_rng_below(&l->rng, count)], b = elite[tcb_rng_below(&l->rng, count)];
		for (size_t f = 0; f < l->lattice->fields; f++)
			point[f] = tcb_learner_row(l, tcb_rng_below(&l->rng, 2) ? a : b)[f];
		add_to_pool(d, tcb_lattice_nearest(l->lattice, point, NULL));
	}
}

/* The mean logarithm of the costs of those known candidates that are nearest; of failures, twice the worst found. */
static double promise(const struct descent *d, size_t index, double failed)
{
	const struct tcb_learner *l = &d->learner;
	size_t distance[NEAREST], count = 0;
	double cost[NEAREST], sum = 0;
	for (size_t i = l->count > KNOWN ? l->count - KNOWN : 0; i < l->count; i++) {
		const size_t known = l->index[i], far = tcb_lattice_distance(l->lattice, index, known);
		if (count == NEAREST && far >= distance[NEAREST - 1])
			continue;
		size_t at = count < NEAREST ? count++ : NEAREST - 1;
		for (; at > 0 && far < distance[at - 1]; at--) {
			distance[at] = distance[at - 1];
			cost[at] = cost[at - 1];
		}
		distance[at] = far;
		cost[at] = fmin(log(tcb_learner_cost(l, known, d->state)), failed);
	}
	for (size_t i = 0; i < count; i++)
		sum += cost[i];
	return count ? sum / (double)count : 0;
}

static size_t choose_from_pool(const struct descent *d)
{
	double least = INFINITY;
	size_t best = d->pool[0];
	for (size_t i = 0; i < d->pool_count; i++) {
		const double said = promise(d, d->pool[i], log(2 * d->learner.worst[d->state]));
		if (said < least) {
			least = said;
			best = d->pool[i];
		}
	}
	return best;
}

/* At a random candidate, to be found by the next trials, or at one of the elite. */
static void restart(struct descent *d)
{
	struct tcb_learner *l = &d->learner;
	const size_t *elite;
	d->state = tcb_learner_turn(l);
	const size_t count = tcb_learner_best(l, d->state, ELITE, &elite);
	d->current = count && tcb_rng_below(&l->rng, 2) ? elite[tcb_rng_below(&l->rng, count)] : TCB_ASK_NONE;
	d->refused = 0;
	d->warmth = WARM;
	for (size_t r = 0; r < REACH_COUNT; r++)
		d->weight[r] = 1;
}

static size_t neighbourhood_ask(void *self, double spent)
{
	struct descent *d = self;
	struct tcb_learner *l = &d->learner;
	(void)spent;
	if (l->count < FIRST)
		return tcb_deck_deal(&l->deck);
	if (d->refused > REFUSED)
		restart(d);
	if (d->current == TCB_ASK_NONE)
		return tcb_deck_deal(&l->deck);
	d->reach = choose_reach(d);
	d->pool_count = 0;
	add_neighbours(d);
	add_crossed(d);
	for (int i = 0; i < RANDOM; i++)
		add_to_pool(d, tcb_rng_below(&l->rng, l->lattice->count));
	return d->pool_count ? tcb_learner_take(l, choose_from_pool(d)) : tcb_deck_deal(&l->deck);
}

static void neighbourhood_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct descent *d = self;
	tcb_learner_tell(&d->learner, index, told);
	const double cost = tcb_learner_cost(&d->learner, index, d->state);
	const double now = d->current == TCB_ASK_NONE ? INFINITY : tcb_learner_cost(&d->learner, d->current, d->state);
	const int is_better = cost < now;
	const int is_accepted = is_better || tcb_rng_unit(&d->learner.rng) < exp((1 - cost / now) / d->warmth);
	d->warmth *= COOLING;
	d->weight[d->reach] *= is_better ? 1.1 : 0.9;
	d->weight[d->reach] = fmin(fmax(d->weight[d->reach], 0.1), 10);
	d->refused = is_accepted ? 0 : d->refused + 1;
	if (is_accepted && cost < INFINITY)
		d->current = index;
}

static enum tcb_status neighbourhood_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	TCB_TRY(tcb_learner_create(setup, sizeof(struct descent), out, err));
	restart(*out);
	return TCB_OK;
}

const struct tcb_strategy tcb_strategy_neighbourhood = {
	.name = "neighbourhood",
	.summary = "variable neighbourhoods, screened by the nearest known candidates, accepted as in annealing",
	.create = neighbourhood_create,
	.ask = neighbourhood_ask,
	.tell = neighbourhood_tell,
	.destroy = tcb_learner_destroy,
};
