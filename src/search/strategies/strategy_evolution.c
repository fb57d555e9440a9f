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

#include "search/strategies/learner.h"

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
	struct tcb_learner learner;
	struct population population[TCB_STATE_COUNT];
	unsigned char
		*rival; /* [index]: the member, times the number of states plus the state, that it competes with */
};

static void evolution_destroy(void *self)
{
	struct evolution *e = self;
	if (!e)
		return;
	free(e->rival);
	tcb_learner_destroy(e);
}

static enum tcb_status evolution_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	void *self;
	TCB_TRY(tcb_learner_create(setup, sizeof(struct evolution), &self, err));
	struct evolution *e = self;
	e->rival = malloc(setup->lattice->count + 1);
	if (!e->rival) {
		evolution_destroy(e);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	}
	memset(e->rival, NOBODY, setup->lattice->count);
	*out = e;
	return TCB_OK;
}

static size_t best_member(const struct evolution *e, unsigned state)
{
	const struct population *p = &e->population[state];
	size_t best = 0;
	for (size_t i = 1; i < p->count; i++)
		if (tcb_learner_cost(&e->learner, p->member[i], state) <
		    tcb_learner_cost(&e->learner, p->member[best], state))
			best = i;
	return best;
}

static void make_point(struct evolution *e, unsigned state, size_t target, uint16_t *point)
{
	struct tcb_learner *l = &e->learner;
	const struct population *p = &e->population[state];
	const size_t fields = l->lattice->fields, forced = fields ? tcb_rng_below(&l->rng, fields) : 0;
	const uint16_t *own = tcb_learner_row(l, p->member[target]);
	const uint16_t *best = tcb_learner_row(l, p->member[best_member(e, state)]);
	const uint16_t *a = tcb_learner_row(l, p->member[tcb_rng_below(&l->rng, MEMBERS)]);
	const uint16_t *b = tcb_learner_row(l, p->member[tcb_rng_below(&l->rng, MEMBERS)]);
	for (size_t f = 0; f < fields; f++) {
		const double moved = round(best[f] + STEP * ((double)a[f] - b[f]));
		const int is_moved = f == forced || tcb_rng_unit(&l->rng) < CROSSOVER;
		point[f] = is_moved ? (uint16_t)fmin(fmax(moved, 0), l->lattice->top[f]) : own[f];
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
	struct tcb_learner *l = &e->learner;
	uint16_t point[TCB_LATTICE_FIELDS];
	(void)spent;
	const unsigned state = tcb_learner_turn(l);
	struct population *p = &e->population[state];
	if (p->idle > IDLE)
		renew(e, state);
	if (p->count < MEMBERS)
		return tcb_deck_deal(&l->deck);
	const size_t target = p->next++ % MEMBERS;
	size_t index = TCB_ASK_NONE;
	for (int draw = 0; draw < REDRAWS && index == TCB_ASK_NONE; draw++) {
		make_point(e, state, target, point);
		index = tcb_lattice_nearest(l->lattice, point, NULL);
		if (l->deck.taken[index])
			index = TCB_ASK_NONE;
	}
	if (index == TCB_ASK_NONE)
		index = tcb_lattice_nearest(l->lattice, point, l->deck.taken);
	if (index != TCB_ASK_NONE)
		e->rival[tcb_learner_take(l, index)] = (unsigned char)(target * TCB_STATE_COUNT + state);
	return index;
}

static void evolution_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct evolution *e = self;
	tcb_learner_tell(&e->learner, index, told);
	for (unsigned s = 0; s < TCB_STATE_COUNT; s++) {
		struct population *p = &e->population[s];
		const double cost = tcb_learner_cost(&e->learner, index, s);
		const int is_rival = e->rival[index] != NOBODY && e->rival[index] % TCB_STATE_COUNT == s;
		if (p->count < MEMBERS) {
			if (cost < INFINITY)
				p->member[p->count++] = index;
			continue;
		}
		/* Who was asked for by nobody here competes with the member whose turn it is. */
		size_t *member = &p->member[is_rival ? e->rival[index] / TCB_STATE_COUNT : p->next % MEMBERS];
		p->idle++;
		if (cost < tcb_learner_cost(&e->learner, *member, s)) {
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
