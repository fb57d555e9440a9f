/* SPDX-License-Identifier: MIT
 *
 * Variable neighbourhoods with a screen of nearest neighbours (the idea of
 * HybridVNDX): of some neighbours of the current candidate, crossings of two good
 * ones and random candidates, that one is tried which the nearest known ones say
 * most of.  It is accepted as in annealing; which kind of neighbours is looked at
 * goes by weights that follow success; after many refusals it starts again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "search/history.h"

enum {
	FIRST = 10,   /* random trials before the first pool */
	POOL = 60,    /* candidates that are screened for one trial */
	CROSSED = 12, /* of them crossings of two of the elite */
	RANDOM = 8,   /* of them from anywhere */
	ELITE = 5,
	NEAREST = 5,  /* known candidates that speak for one */
	REFUSED = 30, /* in a row, before a restart */
};
static const double COOLING = 0.99, WARM = 0.02; /* WARM: of a loss of 2 %, one in e is accepted in the beginning */

/* What differs from the current one: some ranks by one, one parameter, one parameter by one rank. */
enum reach { ADJACENT, ONE, ONE_BY_ONE, REACHES };

struct descent {
	struct tcb_deck deck;
	struct tcb_history history;
	const struct tcb_lattice *lattice;
	struct tcb_rng rng;
	uint16_t *point;
	unsigned state;
	size_t current, refused;
	double warmth, weight[REACHES];
	enum reach reach;
	size_t pool[POOL], pool_count;
};

static int is_within(const struct descent *d, enum reach reach, size_t index)
{
	const size_t fields = d->lattice->fields;
	const uint16_t *x = d->lattice->coordinate + d->current * fields, *y = d->lattice->coordinate + index * fields;
	size_t differ = 0;
	for (size_t f = 0; f < fields; f++) {
		const int step = abs((int)x[f] - (int)y[f]);
		differ += step != 0;
		if ((differ > 1 && reach != ADJACENT) || (step > 1 && !d->lattice->named[f] && reach != ONE))
			return 0;
	}
	return 1;
}

static enum reach choose_reach(struct descent *d)
{
	double at = tcb_rng_unit(&d->rng) * (d->weight[0] + d->weight[1] + d->weight[2]);
	for (int r = 0; r < REACHES - 1; r++) {
		at -= d->weight[r];
		if (at < 0)
			return (enum reach)r;
	}
	return REACHES - 1;
}

static void add_to_pool(struct descent *d, size_t index)
{
	if (d->pool_count < POOL && !d->deck.taken[index])
		d->pool[d->pool_count++] = index;
}

static void add_neighbours(struct descent *d)
{
	const size_t most = POOL - CROSSED - RANDOM;
	size_t seen = 0;
	for (size_t i = 0; i < d->lattice->count; i++) {
		if (d->deck.taken[i] || !is_within(d, d->reach, i))
			continue;
		const size_t at = seen < most ? seen : tcb_rng_below(&d->rng, seen + 1); /* a random sample */
		seen++;
		if (at < most)
			d->pool[at] = i;
	}
	d->pool_count = seen < most ? seen : most;
}

static void add_crossed(struct descent *d)
{
	size_t elite[ELITE];
	const size_t count = tcb_history_best(&d->history, d->state, ELITE, elite);
	const struct tcb_lattice *lattice = d->lattice;
	for (int i = 0; i < CROSSED && count > 1; i++) {
		const size_t a = elite[tcb_rng_below(&d->rng, count)], b = elite[tcb_rng_below(&d->rng, count)];
		for (size_t f = 0; f < lattice->fields; f++)
			d->point[f] = lattice->coordinate[(tcb_rng_below(&d->rng, 2) ? a : b) * lattice->fields + f];
		add_to_pool(d, tcb_lattice_nearest(lattice, d->point));
	}
}

/* The mean logarithm of the costs of those known candidates that are nearest; of failures, twice the worst found. */
static double promise(const struct descent *d, size_t index, double failed)
{
	size_t distance[NEAREST], count = 0;
	double cost[NEAREST], sum = 0;
	for (size_t i = 0; i < d->history.count; i++) {
		const size_t known = d->history.index[i], far = tcb_lattice_distance(d->lattice, index, known);
		if (count == NEAREST && far >= distance[NEAREST - 1])
			continue;
		size_t at = count < NEAREST ? count++ : NEAREST - 1;
		for (; at > 0 && far < distance[at - 1]; at--) {
			distance[at] = distance[at - 1];
			cost[at] = cost[at - 1];
		}
		distance[at] = far;
		cost[at] = fmin(log(tcb_history_cost(&d->history, known, d->state)), failed);
	}
	for (size_t i = 0; i < count; i++)
		sum += cost[i];
	return count ? sum / (double)count : 0;
}

static size_t choose_from_pool(const struct descent *d)
{
	double worst = 0, least = INFINITY;
	size_t best = d->pool[0];
	for (size_t i = 0; i < d->history.count; i++) {
		const double cost = tcb_history_cost(&d->history, d->history.index[i], d->state);
		worst = cost < INFINITY ? fmax(worst, cost) : worst;
	}
	for (size_t i = 0; i < d->pool_count; i++) {
		const double said = promise(d, d->pool[i], log(2 * worst));
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
	size_t elite[ELITE];
	d->state = tcb_history_turn(&d->history);
	const size_t count = tcb_history_best(&d->history, d->state, ELITE, elite);
	d->current = count && tcb_rng_below(&d->rng, 2) ? elite[tcb_rng_below(&d->rng, count)] : TCB_ASK_NONE;
	d->refused = 0;
	d->warmth = WARM;
	for (int r = 0; r < REACHES; r++)
		d->weight[r] = 1;
}

static size_t neighbourhood_ask(void *self, double spent)
{
	struct descent *d = self;
	(void)spent;
	if (d->history.count < FIRST)
		return tcb_deck_deal(&d->deck);
	if (d->refused > REFUSED)
		restart(d);
	if (d->current == TCB_ASK_NONE)
		return tcb_deck_deal(&d->deck);
	d->reach = choose_reach(d);
	d->pool_count = 0;
	add_neighbours(d);
	add_crossed(d);
	for (int i = 0; i < RANDOM; i++)
		add_to_pool(d, tcb_rng_below(&d->rng, d->lattice->count));
	if (!d->pool_count)
		return tcb_deck_deal(&d->deck);
	const size_t index = choose_from_pool(d);
	tcb_deck_take(&d->deck, index);
	return index;
}

static void neighbourhood_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct descent *d = self;
	tcb_deck_take(&d->deck, index);
	tcb_history_tell(&d->history, index, told);
	const double cost = tcb_history_cost(&d->history, index, d->state);
	const double now = d->current == TCB_ASK_NONE ? INFINITY : tcb_history_cost(&d->history, d->current, d->state);
	const int is_better = cost < now;
	const int is_accepted = is_better || tcb_rng_unit(&d->rng) < exp((1 - cost / now) / d->warmth);
	d->warmth *= COOLING;
	d->weight[d->reach] *= is_better ? 1.1 : 0.9;
	d->weight[d->reach] = fmin(fmax(d->weight[d->reach], 0.1), 10);
	d->refused = is_accepted ? 0 : d->refused + 1;
	if (is_accepted && cost < INFINITY)
		d->current = index;
}

static void neighbourhood_destroy(void *self)
{
	struct descent *d = self;
	if (!d)
		return;
	tcb_deck_fini(&d->deck);
	tcb_history_fini(&d->history);
	free(d->point);
	free(d);
}

static enum tcb_status neighbourhood_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	struct descent *d = calloc(1, sizeof *d);
	if (!d)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	d->lattice = setup->lattice;
	tcb_rng_init(&d->rng, ~setup->seed);
	enum tcb_status status = tcb_deck_init(&d->deck, setup->lattice->count, setup->seed, err);
	if (status == TCB_OK)
		status = tcb_history_init(&d->history, setup, err);
	d->point = malloc(setup->lattice->fields * sizeof *d->point + 1);
	if (status == TCB_OK && !d->point)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	d->current = TCB_ASK_NONE;
	if (status == TCB_OK)
		restart(d);
	if (status != TCB_OK) {
		neighbourhood_destroy(d);
		return status;
	}
	*out = d;
	return TCB_OK;
}

const struct tcb_strategy tcb_strategy_neighbourhood = {
	.name = "neighbourhood",
	.summary = "variable neighbourhoods, screened by the nearest known candidates, accepted as in annealing",
	.create = neighbourhood_create,
	.ask = neighbourhood_ask,
	.tell = neighbourhood_tell,
	.destroy = neighbourhood_destroy,
};
