/* SPDX-License-Identifier: MIT
 *
 * A genetic algorithm in its steady form: the parents are the best that are
 * known, chosen by rank; a child has one's parameters up to some point and the
 * other's after it, a few of them mutated; and it is tried at the nearest
 * candidate that exists.
 */
#include <stdlib.h>

#include "base/util.h"
#include "search/history.h"

enum {
	PARENTS = 26, /* also the random trials before the first child */
	REDRAWS = 8,  /* of a child that was tried before */
};
static const double MUTATION = 1.0 / 55; /* of a parameter */

struct breeding {
	struct tcb_deck deck;
	struct tcb_history history;
	const struct tcb_lattice *lattice;
	struct tcb_rng rng;
	uint16_t *child;
};

static void genetic_destroy(void *self)
{
	struct breeding *b = self;
	if (!b)
		return;
	tcb_deck_fini(&b->deck);
	tcb_history_fini(&b->history);
	free(b->child);
	free(b);
}

static enum tcb_status genetic_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	struct breeding *b = calloc(1, sizeof *b);
	if (!b)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	b->lattice = setup->lattice;
	tcb_rng_init(&b->rng, ~setup->seed);
	enum tcb_status status = tcb_deck_init(&b->deck, setup->lattice->count, setup->seed, err);
	if (status == TCB_OK)
		status = tcb_history_init(&b->history, setup, err);
	b->child = malloc(setup->lattice->fields * sizeof *b->child + 1);
	if (status == TCB_OK && !b->child)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	if (status != TCB_OK) {
		genetic_destroy(b);
		return status;
	}
	*out = b;
	return TCB_OK;
}

/* One of COUNT by rank: the first is twice as likely as one in the middle. */
static size_t choose_rank(struct tcb_rng *rng, size_t count)
{
	const size_t a = tcb_rng_below(rng, count), b = tcb_rng_below(rng, count);
	return a < b ? a : b;
}

static void make_child(struct breeding *b, size_t mother, size_t father)
{
	const struct tcb_lattice *lattice = b->lattice;
	const size_t point = tcb_rng_below(&b->rng, lattice->fields + 1);
	for (size_t f = 0; f < lattice->fields; f++) {
		b->child[f] = lattice->coordinate[(f < point ? mother : father) * lattice->fields + f];
		if (tcb_rng_unit(&b->rng) < MUTATION)
			b->child[f] = (uint16_t)tcb_rng_below(&b->rng, lattice->top[f] + 1u);
	}
}

static size_t genetic_ask(void *self, double spent)
{
	struct breeding *b = self;
	size_t parents[PARENTS];
	(void)spent;
	const unsigned state = tcb_history_turn(&b->history);
	const size_t count = b->history.count < PARENTS ? 0 : tcb_history_best(&b->history, state, PARENTS, parents);
	if (count < 2)
		return tcb_deck_deal(&b->deck);
	for (int draw = 0; draw < REDRAWS; draw++) {
		make_child(b, parents[choose_rank(&b->rng, count)], parents[choose_rank(&b->rng, count)]);
		const size_t index = tcb_lattice_nearest(b->lattice, b->child);
		if (!b->deck.taken[index]) {
			tcb_deck_take(&b->deck, index);
			return index;
		}
	}
	return tcb_deck_deal_nearest(&b->deck, b->lattice, b->child, SIZE_MAX);
}

static void genetic_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct breeding *b = self;
	tcb_deck_take(&b->deck, index);
	tcb_history_tell(&b->history, index, told);
}

const struct tcb_strategy tcb_strategy_genetic = {
	.name = "genetic",
	.summary = "a genetic algorithm: children of the best known, tried at the nearest that exists",
	.create = genetic_create,
	.ask = genetic_ask,
	.tell = genetic_tell,
	.destroy = genetic_destroy,
};
