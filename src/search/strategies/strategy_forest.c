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

#include "search/strategies/forest.h"
#include "search/strategies/learner.h"

enum {
	FIRST = 10, /* random trials before the first round */
	BATCH = 4,  /* trials of a round, in the beginning */
	BATCH_MOST = 24,
	ROUNDS = 32,   /* as many trials as are known, over this, are a round if that is more */
	CENTRES = 5,   /* the best, whose neighbours are candidates */
	ADJACENT = 80, /* of each centre's points at most one rank away in each field */
	SINGLE = 400,  /* of each centre's points that differ in one field */
	RANDOM = 1000, /* candidates from anywhere */
	POOL = RANDOM + CENTRES * (ADJACENT + SINGLE),
	GLANCE = 8,      /* trees that see all of the pool */
	FINALISTS = 256, /* the best by these, which all trees see */
	STEPS = 64,      /* of probability, by which these are found */
	EXAMPLES = 400,  /* that the forest learns from */
};
static const double GOOD_PART = 0.1; /* of what is known */
static const float SPREAD = 0.3f;    /* what sharing all leaves with one that is chosen costs, as a probability */

struct member {
	size_t index;
	float good;
	uint32_t leaves[TCB_FOREST_TREES];
};

struct forest_search {
	struct tcb_learner learner;
	struct tcb_forest *forest;
	size_t queue[BATCH_MOST], queued;
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
	tcb_forest_destroy(f->forest);
	free(f->examples);
	free(f->in_pool);
	free(f->pool);
	tcb_learner_destroy(f);
}

static enum tcb_status allocate(struct forest_search *f, const struct tcb_lattice *lattice, struct tcb_error *err)
{
	TCB_TRY(tcb_forest_create(lattice, EXAMPLES, &f->forest, err));
	f->examples = malloc(EXAMPLES * sizeof *f->examples);
	f->in_pool = calloc(lattice->count + 1, 1);
	f->pool = malloc(POOL * sizeof *f->pool);
	if (!f->examples || !f->in_pool || !f->pool)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	return TCB_OK;
}

static enum tcb_status forest_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	void *self;
	TCB_TRY(tcb_learner_create(setup, sizeof(struct forest_search), &self, err));
	enum tcb_status status = allocate(self, setup->lattice, err);
	if (status == TCB_OK)
		*out = self;
	else
		forest_destroy(self);
	return status;
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
	const double bound = log(tcb_learner_cost(&f->learner, best[count - 1], state));
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += bound - log(tcb_learner_cost(&f->learner, best[i], state));
	for (size_t i = 0; i < count; i++) {
		const double ahead = bound - log(tcb_learner_cost(&f->learner, best[i], state));
		add_example(f, best[i], sum > 0 ? 0.1 + 0.9 * ahead * (double)count / sum : 1, 0);
	}
}

/* 0 if nothing worked so far: then there is nothing to learn. */
static int learn(struct forest_search *f, unsigned state)
{
	const struct tcb_learner *l = &f->learner;
	const size_t *best;
	const size_t good = tcb_learner_best(l, state, (size_t)ceil(GOOD_PART * (double)l->count), &best);
	f->example_count = 0;
	if (!good)
		return 0;
	add_good(f, best, good, state);
	const double bound = tcb_learner_cost(l, best[good - 1], state);
	for (size_t i = 0; i < l->count && f->example_count < EXAMPLES; i++) {
		/* the newest first: where there are too many, the old ones are far from where the search is */
		const size_t index = l->index[l->count - 1 - i];
		if (!(tcb_learner_cost(l, index, state) <= bound))
			add_example(f, index, 0, 1);
	}
	tcb_forest_grow(f->forest, f->examples, f->example_count, &f->learner.rng);
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

/* One more of a stream of which a random sample of MOST is kept. */
static void sample(struct forest_search *f, size_t *kept, size_t *seen, size_t most, size_t index)
{
	const size_t at = *seen < most ? *seen : tcb_rng_below(&f->learner.rng, *seen + 1);
	++*seen;
	if (at < most)
		kept[at] = index;
}

/* A random sample of at most MOST of those within REACH of CENTRE. */
static void add_neighbours(struct forest_search *f, size_t centre, enum tcb_reach reach, size_t limit, size_t most)
{
	size_t kept[SINGLE], seen = 0, index;
	struct tcb_walk walk;
	tcb_walk_init(&walk, f->learner.lattice, tcb_learner_row(&f->learner, centre), reach, limit);
	while ((index = tcb_walk_next(&walk)) != TCB_ASK_NONE)
		if (!f->learner.deck.taken[index] && !f->in_pool[index])
			sample(f, kept, &seen, most, index);
	for (size_t i = 0; i < seen && i < most; i++)
		add_member(f, kept[i]);
}

static void fill_pool(struct forest_search *f, unsigned state)
{
	const size_t *centres;
	const size_t count = tcb_learner_best(&f->learner, state, CENTRES, &centres);
	f->pool_count = 0;
	for (size_t c = 0; c < count; c++) {
		add_neighbours(f, centres[c], TCB_REACH_ONE, 1, SINGLE);
		add_neighbours(f, centres[c], TCB_REACH_ADJACENT, 0, ADJACENT);
	}
	for (size_t i = 0; i < RANDOM; i++) {
		const size_t index = tcb_rng_below(&f->learner.rng, f->learner.lattice->count);
		if (!f->learner.deck.taken[index])
			add_member(f, index);
	}
	for (size_t i = 0; i < f->pool_count; i++) {
		struct member *m = &f->pool[i];
		f->in_pool[m->index] = 0;
		m->good = tcb_forest_judge(f->forest, m->index, GLANCE, NULL);
	}
}

static size_t step_of(const struct member *m)
{
	return (size_t)(m->good * (STEPS - 1));
}

/* Who a few trees say least of goes, and all trees look at the rest. */
static void judge_pool(struct forest_search *f)
{
	size_t on_step[STEPS] = { 0 }, step = STEPS, room = FINALISTS, left = 0;
	for (size_t i = 0; i < f->pool_count; i++)
		on_step[step_of(&f->pool[i])]++;
	while (step > 0 && on_step[step - 1] <= room)
		room -= on_step[--step];
	for (size_t i = 0; i < f->pool_count; i++) {
		const size_t at = step_of(&f->pool[i]);
		if (at + 1 < step || (at + 1 == step && room == 0))
			continue;
		room -= at + 1 == step;
		const size_t index = f->pool[i].index;
		struct member *m = &f->pool[left++];
		m->index = index;
		m->good = tcb_forest_judge(f->forest, index, TCB_FOREST_TREES, m->leaves);
	}
	f->pool_count = left;
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
	const size_t round = f->learner.count / ROUNDS;
	const size_t batch = round < BATCH ? BATCH : round < BATCH_MOST ? round : BATCH_MOST;
	while (f->queued < batch && f->pool_count) {
		size_t best = 0;
		for (size_t i = 1; i < f->pool_count; i++)
			if (f->pool[i].good > f->pool[best].good)
				best = i;
		const struct member chosen = f->pool[best];
		f->pool[best] = f->pool[--f->pool_count];
		f->queue[f->queued++] = chosen.index;
		tcb_deck_take(&f->learner.deck, chosen.index);
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
	if (!f->queued && f->learner.count >= FIRST) {
		const unsigned state = tcb_learner_turn(&f->learner);
		if (learn(f, state)) {
			fill_pool(f, state);
			judge_pool(f);
			choose(f);
		}
	}
	return f->queued ? f->queue[--f->queued] : tcb_deck_deal(&f->learner.deck);
}

const struct tcb_strategy tcb_strategy_forest = {
	.name = "forest",
	.summary = "a forest of classification trees says which neighbours of the best are likely to be good",
	.create = forest_create,
	.ask = forest_ask,
	.tell = tcb_learner_tell,
	.destroy = forest_destroy,
};
