/* SPDX-License-Identifier: MIT
 *
 * The orthogonal line search of ATLAS (Whaley, Petitet and Dongarra, 2001): from
 * the default, or what is best by then, one parameter after the other takes each
 * of its values while the others keep theirs, and stays at the best.  When no
 * parameter moves any more, again from a random candidate.
 */
#include <math.h>
#include <string.h>

#include "search/strategies/learner.h"

enum { STARTS = 5 /* random trials, of which the best begins, where there is no default and for each restart */ };

struct line_search {
	struct tcb_learner learner;
	unsigned state;
	size_t current, starts;     /* starts: random trials that are left before the next search begins */
	size_t field, value, still; /* still: parameters in a row that did not move */
	size_t at_field;            /* current when the field began */
};

/* The next value of the line through the current candidate at which one is left to be tried. */
static size_t next_of_line(struct line_search *l)
{
	const struct tcb_lattice *lattice = l->learner.lattice;
	uint16_t point[TCB_LATTICE_FIELDS];
	memcpy(point, tcb_learner_row(&l->learner, l->current), lattice->fields * sizeof *point);
	while (l->value <= lattice->top[l->field]) {
		point[l->field] = (uint16_t)l->value++;
		const size_t index = tcb_lattice_nearest(lattice, point, NULL);
		if (!l->learner.deck.taken[index])
			return index;
	}
	return TCB_ASK_NONE;
}

static void next_field(struct line_search *l)
{
	l->still = l->current == l->at_field ? l->still + 1 : 0;
	l->field = (l->field + 1) % l->learner.lattice->fields;
	l->value = 0;
	l->at_field = l->current;
}

static void restart(struct line_search *l)
{
	l->state = tcb_learner_turn(&l->learner);
	l->starts = STARTS;
	l->still = 0;
	l->current = TCB_ASK_NONE;
}

static size_t line_ask(void *self, double spent)
{
	struct line_search *l = self;
	(void)spent;
	while (l->learner.lattice->fields && !l->starts && l->current != TCB_ASK_NONE) {
		const size_t index = next_of_line(l);
		if (index != TCB_ASK_NONE)
			return tcb_learner_take(&l->learner, index);
		next_field(l);
		if (l->still >= l->learner.lattice->fields)
			restart(l);
	}
	if (l->starts)
		l->starts--;
	return tcb_deck_deal(&l->learner.deck);
}

static void line_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct line_search *l = self;
	tcb_learner_tell(&l->learner, index, told);
	const double cost = tcb_learner_cost(&l->learner, index, l->state);
	if (cost < (l->current == TCB_ASK_NONE ? INFINITY : tcb_learner_cost(&l->learner, l->current, l->state)))
		l->current = index;
}

static enum tcb_status line_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	TCB_TRY(tcb_learner_create(setup, sizeof(struct line_search), out, err));
	restart(*out);
	return TCB_OK;
}

const struct tcb_strategy tcb_strategy_line = {
	.name = "line",
	.summary = "from the default one parameter after the other, each at all its values; restarts at random",
	.create = line_create,
	.ask = line_ask,
	.tell = line_tell,
	.destroy = tcb_learner_destroy,
};
