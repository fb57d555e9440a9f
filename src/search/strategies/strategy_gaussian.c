/* SPDX-License-Identifier: MIT
 *
 * Bayesian optimisation with a Gaussian process (Jones, Schonlau and Welch,
 * "Efficient Global Optimization", 1998) for the first hundred trials, where a
 * forest has too little to learn from.  Between two candidates costs are alike
 * by exp(-sum of weight times distance) over the fields; the weights are moved
 * while that makes what is known more likely, so a field that does not matter
 * is soon told from one that does.  That candidate is tried next of which the
 * largest improvement is expected.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "search/strategies/learner.h"

enum {
	FIRST = 5,     /* random trials before the first fit */
	MOST = 96,     /* candidates that are learned from */
	BEST = 40,     /* of them the best, where there are more; the others are the newest */
	ATTEMPTS = 3,  /* to move a weight, times the fields */
	CENTRES = 3,   /* the best, whose neighbours are candidates */
	SINGLE = 60,   /* of each centre's points that differ in one field */
	ADJACENT = 30, /* of each centre's points at most one rank away in each field */
	RANDOM = 120,  /* candidates from anywhere */
	POOL = RANDOM + CENTRES * (SINGLE + ADJACENT),
	FINALISTS = 60, /* those with the best mean, of which the variance is computed */
};
static const double NOISE = 0.02; /* variance of a measurement, where that of the costs is 1 */
/* Weights before anything is known.  Small ones let few trials tell of much: with 1 instead, of 19 fields, two
 * candidates would have nothing to do with one another until the weights that do not matter were found. */
static const double WEIGHT = 0.2;
static const double PRIOR = 0.5; /* precision of the logarithm of a weight, about that of WEIGHT */
static const double CLIP = 1;    /* over the median, in distances of the best from it: there all costs are the same */
static const double RENEWED = 1.15; /* weights are moved when this many times as much is known */

struct gaussian {
	struct tcb_learner learner;
	double weight[TCB_LATTICE_FIELDS], per_step[TCB_LATTICE_FIELDS]; /* weight: from the first rank to the last */
	size_t weighed;                                                  /* known when the weights were moved last */
	size_t known[MOST], count;                                       /* that were learned from */
	size_t seen;                                                     /* told when they were */
	unsigned state;
	double y[MOST], alpha[MOST], factor[MOST * MOST]; /* K = factor factor'; alpha = K^-1 y */
	double least;
	size_t pool[POOL], pool_count;
	double mean[POOL];
	unsigned char *in_pool; /* [index]; owned */
};

static void gaussian_destroy(void *self)
{
	struct gaussian *g = self;
	if (!g)
		return;
	free(g->in_pool);
	tcb_learner_destroy(g);
}

/* --- the process --- */

static double likeness(const struct gaussian *g, size_t a, size_t b)
{
	const struct tcb_lattice *lattice = g->learner.lattice;
	const uint16_t *x = tcb_learner_row(&g->learner, a), *y = tcb_learner_row(&g->learner, b);
	double sum = 0;
	for (size_t f = 0; f < lattice->fields; f++) {
		const int steps = abs((int)x[f] - (int)y[f]);
		sum += g->per_step[f] * (lattice->named[f] ? steps != 0 : steps);
	}
	return exp(-sum);
}

static void set_weight(struct gaussian *g, size_t field, double weight)
{
	const struct tcb_lattice *lattice = g->learner.lattice;
	g->weight[field] = weight;
	g->per_step[field] = lattice->named[field] ? weight : weight / lattice->top[field];
}

/* The logarithm of the likelihood of what is known, up to a constant, with the prior of the weights. */
static double fit(struct gaussian *g)
{
	const size_t n = g->count;
	double *l = g->factor, z[MOST], said = 0;
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j <= i; j++) {
			double sum = i == j ? 1 + NOISE : likeness(g, g->known[i], g->known[j]);
			for (size_t k = 0; k < j; k++)
				sum -= l[i * MOST + k] * l[j * MOST + k];
			l[i * MOST + j] = i == j ? sqrt(fmax(sum, 1e-9)) : sum / l[j * MOST + j];
		}
		double sum = g->y[i];
		for (size_t k = 0; k < i; k++)
			sum -= l[i * MOST + k] * z[k];
		z[i] = sum / l[i * MOST + i];
		said -= 0.5 * z[i] * z[i] + log(l[i * MOST + i]);
	}
	for (size_t i = n; i-- > 0;) {
		double sum = z[i];
		for (size_t k = i + 1; k < n; k++)
			sum -= l[k * MOST + i] * g->alpha[k];
		g->alpha[i] = sum / l[i * MOST + i];
	}
	for (size_t f = 0; f < g->learner.lattice->fields; f++)
		said -= 0.5 * PRIOR * pow(log(g->weight[f] / WEIGHT), 2);
	return said;
}

static void choose_known(struct gaussian *g)
{
	const struct tcb_learner *l = &g->learner;
	const size_t *best;
	g->count = 0;
	if (l->count > MOST) {
		const size_t bests = tcb_learner_best(l, g->state, BEST, &best);
		for (size_t i = 0; i < bests; i++) {
			g->known[g->count++] = best[i];
			g->in_pool[best[i]] = 1;
		}
	}
	for (size_t i = l->count; i-- > 0 && g->count < MOST;)
		if (!g->in_pool[l->index[i]])
			g->known[g->count++] = l->index[i];
	for (size_t i = 0; i < g->count; i++)
		g->in_pool[g->known[i]] = 0;
}

/* Logarithms of the costs, in units of their spread; what is far worse than the median is all the same, as failures. */
static void set_values(struct gaussian *g)
{
	const struct tcb_learner *l = &g->learner;
	double sorted[MOST], sum = 0, squares = 0;
	for (size_t i = 0; i < g->count; i++)
		sorted[i] = log(fmin(tcb_learner_cost(l, g->known[i], g->state), l->worst[g->state]));
	memcpy(g->y, sorted, g->count * sizeof *sorted);
	qsort(sorted, g->count, sizeof *sorted, tcb_ascending);
	const double least = sorted[0], middle = sorted[g->count / 2];
	const double most = middle + CLIP * (middle - least);
	for (size_t i = 0; i < g->count; i++) {
		g->y[i] = fmin(g->y[i], most);
		sum += g->y[i];
	}
	const double mean = sum / (double)g->count;
	for (size_t i = 0; i < g->count; i++)
		squares += (g->y[i] - mean) * (g->y[i] - mean);
	const double spread = sqrt(squares / (double)g->count) + 1e-12;
	for (size_t i = 0; i < g->count; i++)
		g->y[i] = (g->y[i] - mean) / spread;
	g->least = (least - mean) / spread;
}

/* Some of the weights twice or half as large, where that makes what is known more likely. */
static void learn(struct gaussian *g)
{
	const size_t fields = g->learner.lattice->fields;
	choose_known(g);
	set_values(g);
	double said = fit(g);
	if ((double)g->count > RENEWED * (double)g->weighed) {
		for (size_t t = 0; t < ATTEMPTS * fields; t++) {
			const size_t field = tcb_rng_below(&g->learner.rng, fields);
			const double old = g->weight[field];
			set_weight(g, field, tcb_rng_below(&g->learner.rng, 2) ? 2 * old : 0.5 * old);
			const double now = fit(g);
			if (now > said)
				said = now;
			else
				set_weight(g, field, old);
		}
		g->weighed = g->count;
		(void)fit(g);
	}
	g->seen = g->learner.count;
}

/* --- what is tried --- */

static void add(struct gaussian *g, size_t index)
{
	if (g->pool_count == POOL || g->in_pool[index] || g->learner.deck.taken[index])
		return;
	g->in_pool[index] = 1;
	g->pool[g->pool_count++] = index;
}

static void add_neighbours(struct gaussian *g, size_t centre, enum tcb_reach reach, size_t limit, size_t most)
{
	struct tcb_learner *l = &g->learner;
	size_t kept[SINGLE], seen = 0, index;
	struct tcb_walk walk;
	tcb_walk_init(&walk, l->lattice, tcb_learner_row(l, centre), reach, limit);
	while ((index = tcb_walk_next(&walk)) != TCB_ASK_NONE) {
		if (l->deck.taken[index])
			continue;
		const size_t at = seen < most ? seen : tcb_rng_below(&l->rng, seen + 1);
		seen++;
		if (at < most)
			kept[at] = index;
	}
	for (size_t i = 0; i < seen && i < most; i++)
		add(g, kept[i]);
}

static void fill_pool(struct gaussian *g)
{
	struct tcb_learner *l = &g->learner;
	const size_t *best;
	const size_t count = tcb_learner_best(l, g->state, CENTRES, &best);
	g->pool_count = 0;
	for (size_t c = 0; c < count; c++) {
		add_neighbours(g, best[c], TCB_REACH_ONE, 1, SINGLE);
		add_neighbours(g, best[c], TCB_REACH_ADJACENT, 0, ADJACENT);
	}
	for (size_t i = 0; i < RANDOM; i++)
		add(g, tcb_rng_below(&l->rng, l->lattice->count));
	for (size_t i = 0; i < g->pool_count; i++)
		g->in_pool[g->pool[i]] = 0;
}

static double expected_gain(const struct gaussian *g, size_t index)
{
	double z[MOST], mean = 0, variance = 1;
	for (size_t i = 0; i < g->count; i++) {
		double sum = likeness(g, index, g->known[i]);
		mean += sum * g->alpha[i];
		for (size_t k = 0; k < i; k++)
			sum -= g->factor[i * MOST + k] * z[k];
		z[i] = sum / g->factor[i * MOST + i];
		variance -= z[i] * z[i];
	}
	const double deviation = sqrt(fmax(variance, 1e-9)), ahead = (g->least - mean) / deviation;
	return deviation *
	       (ahead * 0.5 * erfc(-ahead / sqrt(2)) + exp(-0.5 * ahead * ahead) / sqrt(2 * 3.14159265358979));
}

static double mean_of(const struct gaussian *g, size_t index)
{
	double mean = 0;
	for (size_t i = 0; i < g->count; i++)
		mean += g->alpha[i] * likeness(g, index, g->known[i]);
	return mean;
}

static size_t choose(struct gaussian *g)
{
	double sorted[POOL], most = -1;
	size_t best = g->pool[0];
	for (size_t i = 0; i < g->pool_count; i++)
		sorted[i] = g->mean[i] = mean_of(g, g->pool[i]);
	qsort(sorted, g->pool_count, sizeof *sorted, tcb_ascending);
	for (size_t i = 0; i < g->pool_count; i++) {
		if (g->pool_count > FINALISTS && g->mean[i] > sorted[FINALISTS])
			continue;
		const double gain = expected_gain(g, g->pool[i]);
		if (gain > most) {
			most = gain;
			best = g->pool[i];
		}
	}
	return best;
}

static enum tcb_status gaussian_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	void *self;
	TCB_TRY(tcb_learner_create(setup, sizeof(struct gaussian), &self, err));
	struct gaussian *g = self;
	for (size_t f = 0; f < setup->lattice->fields; f++)
		set_weight(g, f, WEIGHT);
	g->in_pool = calloc(setup->lattice->count + 1, 1);
	if (!g->in_pool) {
		gaussian_destroy(g);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	}
	*out = g;
	return TCB_OK;
}

static size_t gaussian_ask(void *self, double spent)
{
	struct gaussian *g = self;
	struct tcb_learner *l = &g->learner;
	(void)spent;
	if (l->count < FIRST)
		return tcb_deck_deal(&l->deck);
	g->state = tcb_learner_turn(l);
	if (!l->best_count[g->state])
		return tcb_deck_deal(&l->deck);
	if (g->seen != l->count || (l->states & (l->states - 1)))
		learn(g);
	fill_pool(g);
	return g->pool_count ? tcb_learner_take(l, choose(g)) : tcb_deck_deal(&l->deck);
}

const struct tcb_strategy tcb_strategy_gaussian = {
	.name = "gaussian",
	.summary = "a Gaussian process on the ranks of values says where an improvement is to be expected",
	.create = gaussian_create,
	.ask = gaussian_ask,
	.tell = tcb_learner_tell,
	.destroy = gaussian_destroy,
};
