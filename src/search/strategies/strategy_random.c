/* SPDX-License-Identifier: MIT
 *
 * A uniform sample without replacement that never looks at a result: the
 * baseline that other strategies must beat.
 */
#include <stdlib.h>

#include "search/strategy.h"

static void random_destroy(void *self)
{
	struct tcb_deck *deck = self;
	if (!deck)
		return;
	tcb_deck_fini(deck);
	free(deck);
}

static enum tcb_status random_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	struct tcb_deck *deck = calloc(1, sizeof *deck);
	if (!deck)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	enum tcb_status status = tcb_deck_init(deck, setup->lattice->count, setup->seed, err);
	if (status != TCB_OK) {
		random_destroy(deck);
		return status;
	}
	*out = deck;
	return TCB_OK;
}

static size_t random_ask(void *self, double spent)
{
	(void)spent;
	return tcb_deck_deal(self);
}

static void random_tell(void *self, size_t index, const struct tcb_told *told)
{
	(void)told;
	tcb_deck_take(self, index);
}

const struct tcb_strategy tcb_strategy_random = {
	.name = "random",
	.summary = "a uniform sample of the space until the budget is spent",
	.create = random_create,
	.ask = random_ask,
	.tell = random_tell,
	.destroy = random_destroy,
};
