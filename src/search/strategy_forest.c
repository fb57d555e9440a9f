/* SPDX-License-Identifier: MIT
 *
 * Likelihood-free Bayesian optimisation (Song et al., 2022): instead of a model
 * of times, a classifier of good and bad candidates is asked where a good one
 * is likely.  After some random trials, in rounds: the best tenth of what is
 * known is good, weighted by how far it is ahead of the rest; all else, every
 * failure included, is bad; a forest of trees learns to tell them; and of the
 * neighbours of the best and some random candidates those are tried next that
 * it finds most likely to be good, a few at a time, which are spread by how
 * often they come to the same leaves.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "search/forest.h"
#include "search/history.h"

enum {
	FIRST = 10,    /* random trials before the first round */
	BATCH = 4,     /* trials of a round */
	CENTRES = 5,   /* the best, whose neighbours are candidates */
	ADJACENT = 80, /* of each centre's points at most one rank away in each field */
	SINGLE = 400,  /* of each centre's points that differ in one field */
	RANDOM = 1000, /* candidates from anywhere */
	POOL = RANDOM + CENTRES * (ADJACENT + SINGLE),
	EXAMPLES = 2000, /* that the forest learns from */
};
static const double GOOD_PART = 0.1; /* of what is known */
static const float SPREAD = 0.3f;    /* what sharing all leaves with one that is chosen costs, as a probability */

struct member {
	size_t index;
	float good;
	uint32_t leaves[TCB_FOREST_TREES];
};

struct forest_search {
	struct tcb_deck deck;
	struct tcb_history history;
	const struct tcb_lattice *lattice;
	struct tcb_forest *forest;
	struct tcb_rng rng;
	size_t queue[BATCH], queued;
	size_t *by_cost; /* [history order] */
	struct tcb_example *examples;
	size_t example_count;
	unsigned char *in_pool; /* [index] */
	struct member *pool;
	size_t pool_count;
};

static void forest_destroy(void *self)
{
	struct forest_search *f = self;
	if (!f)
		return;
	tcb_deck_fini(&f->deck);
	tcb_history_fini(&f->history);
	tcb_forest_destroy(f->forest);
	free(f->by_cost);
	free(f->examples);
	free(f->in_pool);
	free(f->pool);
	free(f);
}

static enum tcb_status allocate(struct forest_search *f, const struct tcb_strategy_setup *setup, struct tcb_error *err)
{
	const size_t count = setup->lattice->count;
	TCB_TRY(tcb_deck_init(&f->deck, count, setup->seed, err));
	TCB_TRY(tcb_history_init(&f->history, setup, err));
	TCB_TRY(tcb_forest_create(setup->lattice, EXAMPLES, &f->forest, err));
	f->by_cost = malloc((count + 1) * sizeof *f->by_cost);
	f->examples = malloc(EXAMPLES * sizeof *f->examples);
	f->in_pool = calloc(count + 1, 1);
	f->pool = malloc(POOL * sizeof *f->pool);
	if (!f->by_cost || !f->examples || !f->in_pool || !f->pool)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	return TCB_OK;
}

static enum tcb_status forest_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	struct forest_search *f = calloc(1, sizeof *f);
	if (!f)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	f->lattice = setup->lattice;
	tcb_rng_init(&f->rng, ~setup->seed);
	enum tcb_status status = allocate(f, setup, err);
	if (status != TCB_OK) {
		forest_destroy(f);
		return status;
	}
	*out = f;
	return TCB_OK;
}

/* --- what the forest learns from --- */

static void add_example(struct forest_search *f, size_t index, double good, double bad)
{
	f->examples[f->example_count++] =
		(struct tcb_example){ .index = index, .good = (float)good, .bad = (float)bad };
}

/* The best COUNT are good, weighted by how far they are ahead of the next one, 1 in the mean. */
static void add_good(struct forest_search *f, const size_t *best, size_t count, unsigned state)
{
	const double bound = log(tcb_history_cost(&f->history, best[count - 1], state));
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += bound - log(tcb_history_cost(&f->history, best[i], state));
	for (size_t i = 0; i < count; i++) {
		const double ahead = bound - log(tcb_history_cost(&f->history, best[i], state));
		add_example(f, best[i], sum > 0 ? 0.1 + 0.9 * ahead * (double)count / sum : 1, 0);
	}
}

/* 0 if nothing worked so far: then there is nothing to learn. */
static int learn(struct forest_search *f, unsigned state)
{
	const struct tcb_history *h = &f->history;
	size_t wanted = (size_t)ceil(GOOD_PART * (double)h->count);
	wanted = wanted < EXAMPLES / 4 ? wanted : EXAMPLES / 4;
	const size_t good = tcb_history_best(h, state, wanted, f->by_cost);
	f->example_count = 0;
	if (!good)
		return 0;
	add_good(f, f->by_cost, good, state);
	const double bound = tcb_history_cost(h, f->by_cost[good - 1], state);
	for (size_t i = 0; i < h->count && f->example_count < EXAMPLES; i++) {
		/* the newest first: where there are too many, the old ones are far from where the search is */
		const size_t index = h->index[h->count - 1 - i];
		if (!(tcb_history_cost(h, index, state) <= bound))
			add_example(f, index, 0, 1);
	}
	tcb_forest_grow(f->forest, f->examples, f->example_count, &f->rng);
	return 1;
}

/* --- what it is asked about --- */

static void add_member(struct forest_search *f, size_t index)
{
	if (f->pool_count == POOL || f->in_pool[index])
		return;
	f->in_pool[index] = 1;
	f->pool[f->pool_count++].index = index;
}

enum kind { FAR, ONE_FIELD, ADJACENT_POINT };

static enum kind kind_of(const struct tcb_lattice *lattice, size_t a, size_t b)
{
	const uint16_t *x = lattice->coordinate + a * lattice->fields, *y = lattice->coordinate + b * lattice->fields;
	size_t fields = 0;
	int is_far = 0;
	for (size_t f = 0; f < lattice->fields; f++) {
		if (x[f] == y[f])
			continue;
		fields++;
		is_far |= !lattice->named[f] && x[f] - y[f] != 1 && y[f] - x[f] != 1;
		if (is_far && fields > 1)
			return FAR;
	}
	return fields == 1 ? ONE_FIELD : ADJACENT_POINT;
}

/* One more of a stream of which a random sample of MOST is kept. */
static void sample(struct forest_search *f, size_t *kept, size_t *seen, size_t most, size_t index)
{
	const size_t at = *seen < most ? *seen : tcb_rng_below(&f->rng, *seen + 1);
	++*seen;
	if (at < most)
		kept[at] = index;
}

static void add_neighbours(struct forest_search *f, size_t centre)
{
	size_t single[SINGLE], adjacent[ADJACENT], singles = 0, adjacents = 0;
	for (size_t i = 0; i < f->lattice->count; i++) {
		if (f->deck.taken[i] || f->in_pool[i])
			continue;
		const enum kind kind = kind_of(f->lattice, centre, i);
		if (kind == ONE_FIELD)
			sample(f, single, &singles, SINGLE, i);
		else if (kind == ADJACENT_POINT)
			sample(f, adjacent, &adjacents, ADJACENT, i);
	}
	for (size_t i = 0; i < singles && i < SINGLE; i++)
		add_member(f, single[i]);
	for (size_t i = 0; i < adjacents && i < ADJACENT; i++)
		add_member(f, adjacent[i]);
}

static void fill_pool(struct forest_search *f, unsigned state)
{
	size_t centres[CENTRES];
	const size_t count = tcb_history_best(&f->history, state, CENTRES, centres);
	f->pool_count = 0;
	for (size_t c = 0; c < count; c++)
		add_neighbours(f, centres[c]);
	for (size_t i = 0; i < RANDOM; i++) {
		const size_t index = tcb_rng_below(&f->rng, f->lattice->count);
		if (!f->deck.taken[index])
			add_member(f, index);
	}
	for (size_t i = 0; i < f->pool_count; i++) {
		struct member *m = &f->pool[i];
		f->in_pool[m->index] = 0;
		m->good = tcb_forest_judge(f->forest, m->index, m->leaves);
	}
}

/* --- rounds --- */

/* Members that share leaves with the CHOSEN one become less wanted by it. */
static void spread(struct forest_search *f, const struct member *chosen)
{
	for (size_t i = 0; i < f->pool_count; i++) {
		size_t shared = 0;
		for (size_t t = 0; t < TCB_FOREST_TREES; t++)
			shared += f->pool[i].leaves[t] == chosen->leaves[t];
		f->pool[i].good -= SPREAD * (float)shared / TCB_FOREST_TREES;
	}
}

static void choose(struct forest_search *f)
{
	while (f->queued < BATCH && f->pool_count) {
		size_t best = 0;
		for (size_t i = 1; i < f->pool_count; i++)
			if (f->pool[i].good > f->pool[best].good)
				best = i;
		const struct member chosen = f->pool[best];
		f->pool[best] = f->pool[--f->pool_count];
		f->queue[f->queued++] = chosen.index;
		tcb_deck_take(&f->deck, chosen.index);
		spread(f, &chosen);
	}
	for (size_t i = 0; i < f->queued / 2; i++) { /* the best is asked for first */
		const size_t last = f->queue[f->queued - 1 - i];
		f->queue[f->queued - 1 - i] = f->queue[i];
		f->queue[i] = last;
	}
}

static size_t forest_ask(void *self, double spent)
{
	struct forest_search *f = self;
	(void)spent;
	if (!f->queued && f->history.count >= FIRST) {
		const unsigned state = tcb_history_turn(&f->history);
		if (learn(f, state)) {
			fill_pool(f, state);
			choose(f);
		}
	}
	return f->queued ? f->queue[--f->queued] : tcb_deck_deal(&f->deck);
}

static void forest_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct forest_search *f = self;
	tcb_deck_take(&f->deck, index);
	tcb_history_tell(&f->history, index, told);
}

const struct tcb_strategy tcb_strategy_forest = {
	.name = "forest",
	.summary = "a forest of classification trees says which neighbours of the best are likely to be good",
	.create = forest_create,
	.ask = forest_ask,
	.tell = forest_tell,
	.destroy = forest_destroy,
};
