/* SPDX-License-Identifier: MIT
 *
 * The orthogonal line search of ATLAS (Whaley, Petitet and Dongarra, 2001): from
 * the default, or what is best by then, one parameter after the other takes each
 * of its values while the others keep theirs, and stays at the best.  When no
 * parameter moves any more, again from a random candidate.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "search/history.h"

enum { STARTS = 5 /* random trials, of which the best begins, where there is no default and for each restart */ };

struct line_search {
	struct tcb_deck deck;
	struct tcb_history history;
	const struct tcb_lattice *lattice;
	struct tcb_rng rng;
	uint16_t *point;
	unsigned state;
	size_t current, starts;     /* starts: random trials that are left before the next search begins */
	size_t field, value, still; /* still: parameters in a row that did not move */
	size_t at_field;            /* current when the field began */
};

/* The next value of the line through the current candidate at which one is left to be tried. */
static size_t next_of_line(struct line_search *l)
{
	const struct tcb_lattice *lattice = l->lattice;
	const uint16_t *row = lattice->coordinate + l->current * lattice->fields;
	while (l->value <= lattice->top[l->field]) {
		memcpy(l->point, row, lattice->fields * sizeof *row);
		l->point[l->field] = (uint16_t)l->value++;
		const size_t index = tcb_lattice_nearest(lattice, l->point);
		if (!l->deck.taken[index])
			return index;
	}
	return TCB_ASK_NONE;
}

static void next_field(struct line_search *l)
{
	l->still = l->current == l->at_field ? l->still + 1 : 0;
	l->field = (l->field + 1) % l->lattice->fields;
	l->value = 0;
	l->at_field = l->current;
}

static void restart(struct line_search *l)
{
	l->state = tcb_history_turn(&l->history);
	l->starts = STARTS;
	l->still = 0;
	l->current = TCB_ASK_NONE;
}

static size_t line_ask(void *self, double spent)
{
	struct line_search *l = self;
	(void)spent;
	while (l->lattice->fields && !l->starts && l->current != TCB_ASK_NONE) {
		const size_t index = next_of_line(l);
		if (index != TCB_ASK_NONE) {
			tcb_deck_take(&l->deck, index);
			return index;
		}
		next_field(l);
		if (l->still >= l->lattice->fields)
			restart(l);
	}
	if (l->starts)
		l->starts--;
	return tcb_deck_deal(&l->deck);
}

static void line_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct line_search *l = self;
	tcb_deck_take(&l->deck, index);
	tcb_history_tell(&l->history, index, told);
	const double cost = tcb_history_cost(&l->history, index, l->state);
	if (cost < (l->current == TCB_ASK_NONE ? INFINITY : tcb_history_cost(&l->history, l->current, l->state)))
		l->current = index;
}

static void line_destroy(void *self)
{
	struct line_search *l = self;
	if (!l)
		return;
	tcb_deck_fini(&l->deck);
	tcb_history_fini(&l->history);
	free(l->point);
	free(l);
}

static enum tcb_status line_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	struct line_search *l = calloc(1, sizeof *l);
	if (!l)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	l->lattice = setup->lattice;
	tcb_rng_init(&l->rng, ~setup->seed);
	enum tcb_status status = tcb_deck_init(&l->deck, setup->lattice->count, setup->seed, err);
	if (status == TCB_OK)
		status = tcb_history_init(&l->history, setup, err);
	l->point = malloc(setup->lattice->fields * sizeof *l->point + 1);
	if (status == TCB_OK && !l->point)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	if (status == TCB_OK)
		restart(l);
	if (status != TCB_OK) {
		line_destroy(l);
		return status;
	}
	*out = l;
	return TCB_OK;
}

const struct tcb_strategy tcb_strategy_line = {
	.name = "line",
	.summary = "from the default one parameter after the other, each at all its values; restarts at random",
	.create = line_create,
	.ask = line_ask,
	.tell = line_tell,
	.destroy = line_destroy,
};
