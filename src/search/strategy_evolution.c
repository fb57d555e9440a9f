/* SPDX-License-Identifier: MIT
 *
 * Differential evolution (Storn and Price, 1997; best/1/bin) on the ranks of
 * values: a member competes with a point that has parameters of its own and of
 * the best plus a part of the difference of two others, rounded, clipped, and
 * moved to the nearest candidate that exists.  A population that no longer changes
 * is renewed around its best.  Each cache state has a population of its own.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "search/history.h"

enum {
	MEMBERS = 30,
	REDRAWS = 8,        /* of a point that was tried before */
	IDLE = 2 * MEMBERS, /* competitions without a new member, after which all but the best are renewed */
	NOBODY = UCHAR_MAX,
};
static const double STEP = 0.7, CROSSOVER = 0.6; /* F and CR */

struct population {
	size_t member[MEMBERS], count, next, idle;
};

struct evolution {
	struct tcb_deck deck;
	struct tcb_history history;
	const struct tcb_lattice *lattice;
	struct tcb_rng rng;
	uint16_t *point;
	struct population population[TCB_STATE_COUNT];
	unsigned char
		*rival; /* [index]: the member, times the number of states plus the state, that it competes with */
};

static void evolution_destroy(void *self)
{
	struct evolution *e = self;
	if (!e)
		return;
	tcb_deck_fini(&e->deck);
	tcb_history_fini(&e->history);
	free(e->point);
	free(e->rival);
	free(e);
}

static enum tcb_status evolution_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	struct evolution *e = calloc(1, sizeof *e);
	if (!e)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	e->lattice = setup->lattice;
	tcb_rng_init(&e->rng, ~setup->seed);
	enum tcb_status status = tcb_deck_init(&e->deck, setup->lattice->count, setup->seed, err);
	if (status == TCB_OK)
		status = tcb_history_init(&e->history, setup, err);
	e->point = malloc(setup->lattice->fields * sizeof *e->point + 1);
	e->rival = malloc(setup->lattice->count + 1);
	if (status == TCB_OK && (!e->point || !e->rival))
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	if (e->rival)
		memset(e->rival, NOBODY, setup->lattice->count);
	if (status != TCB_OK) {
		evolution_destroy(e);
		return status;
	}
	*out = e;
	return TCB_OK;
}

static size_t best_member(const struct evolution *e, unsigned state)
{
	const struct population *p = &e->population[state];
	size_t best = 0;
	for (size_t i = 1; i < p->count; i++)
		if (tcb_history_cost(&e->history, p->member[i], state) <
		    tcb_history_cost(&e->history, p->member[best], state))
			best = i;
	return best;
}

static void make_point(struct evolution *e, unsigned state, size_t target)
{
	const struct tcb_lattice *lattice = e->lattice;
	const struct population *p = &e->population[state];
	const size_t fields = lattice->fields, forced = fields ? tcb_rng_below(&e->rng, fields) : 0;
	const uint16_t *own = lattice->coordinate + p->member[target] * fields;
	const uint16_t *best = lattice->coordinate + p->member[best_member(e, state)] * fields;
	const uint16_t *a = lattice->coordinate + p->member[tcb_rng_below(&e->rng, MEMBERS)] * fields;
	const uint16_t *b = lattice->coordinate + p->member[tcb_rng_below(&e->rng, MEMBERS)] * fields;
	for (size_t f = 0; f < fields; f++) {
		const double moved = round(best[f] + STEP * ((double)a[f] - b[f]));
		const int is_moved = f == forced || tcb_rng_unit(&e->rng) < CROSSOVER;
		e->point[f] = is_moved ? (uint16_t)fmin(fmax(moved, 0), lattice->top[f]) : own[f];
	}
}

/* All but the best are to be drawn again. */
static void renew(struct evolution *e, unsigned state)
{
	struct population *p = &e->population[state];
	p->member[0] = p->member[best_member(e, state)];
	p->count = 1;
	p->idle = 0;
}

static size_t evolution_ask(void *self, double spent)
{
	struct evolution *e = self;
	(void)spent;
	const unsigned state = tcb_history_turn(&e->history);
	struct population *p = &e->population[state];
	if (p->idle > IDLE)
		renew(e, state);
	if (p->count < MEMBERS)
		return tcb_deck_deal(&e->deck);
	const size_t target = p->next++ % MEMBERS;
	size_t index = TCB_ASK_NONE;
	for (int draw = 0; draw < REDRAWS && index == TCB_ASK_NONE; draw++) {
		make_point(e, state, target);
		index = tcb_lattice_nearest(e->lattice, e->point);
		if (e->deck.taken[index])
			index = TCB_ASK_NONE;
	}
	if (index == TCB_ASK_NONE)
		index = tcb_deck_deal_nearest(&e->deck, e->lattice, e->point, SIZE_MAX);
	if (index != TCB_ASK_NONE) {
		tcb_deck_take(&e->deck, index);
		e->rival[index] = (unsigned char)(target * TCB_STATE_COUNT + state);
	}
	return index;
}

static void evolution_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct evolution *e = self;
	tcb_deck_take(&e->deck, index);
	tcb_history_tell(&e->history, index, told);
	for (unsigned s = 0; s < TCB_STATE_COUNT; s++) {
		struct population *p = &e->population[s];
		const double cost = tcb_history_cost(&e->history, index, s);
		const int is_rival = e->rival[index] != NOBODY && e->rival[index] % TCB_STATE_COUNT == s;
		if (p->count < MEMBERS) {
			if (cost < INFINITY)
				p->member[p->count++] = index;
			continue;
		}
		/* Who was asked for by nobody here competes with the member whose turn it is. */
		size_t *member = &p->member[is_rival ? e->rival[index] / TCB_STATE_COUNT : p->next % MEMBERS];
		p->idle++;
		if (cost < tcb_history_cost(&e->history, *member, s)) {
			*member = index;
			p->idle = 0;
		}
	}
}

const struct tcb_strategy tcb_strategy_evolution = {
	.name = "evolution",
	.summary = "differential evolution on the ranks of values",
	.create = evolution_create,
	.ask = evolution_ask,
	.tell = evolution_tell,
	.destroy = evolution_destroy,
};
