/* SPDX-License-Identifier: MIT
 *
 * The order that the model of an absent GPU (model.h) would have them in, best
 * first: a short budget on an attached GPU goes to what is likely to win.  A
 * candidate counts by the cache state that it is better in.
 */
#include <math.h>
#include <stdlib.h>

#include "search/model.h"
#include "search/strategy.h"

struct ranked {
	double score;
	size_t index, place; /* in the random order that breaks ties */
};

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->score != y->score)
		return x->score < y->score ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static void model_destroy(void *self)
{
	struct tcb_deck *deck = self;
	if (!deck)
		return;
	tcb_deck_fini(deck);
	free(deck);
}

/* The best time of STATE. */
static double least_of(const double *ns, size_t count)
{
	double least = INFINITY;
	for (size_t i = 0; i < count; i++)
		if (ns[i] < least)
			least = ns[i];
	return least;
}

/* Puts DECK in the order of the times NS; those that cannot be modelled come last. */
static enum tcb_status order_deck(struct tcb_deck *deck, double *const ns[TCB_STATE_COUNT], unsigned states,
				  struct tcb_error *err)
{
	struct ranked *ranked = malloc(deck->count * sizeof *ranked);
	if (!ranked)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the order of %zu candidates", deck->count);
	for (size_t i = 0; i < deck->count; i++)
		ranked[i] = (struct ranked){ INFINITY, deck->order[i], i };
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		if (!(states >> s & 1u))
			continue;
		const double least = least_of(ns[s], deck->count);
		for (size_t i = 0; i < deck->count; i++)
			if (ns[s][ranked[i].index] / least < ranked[i].score)
				ranked[i].score = ns[s][ranked[i].index] / least;
	}
	qsort(ranked, deck->count, sizeof *ranked, compare);
	for (size_t i = 0; i < deck->count; i++)
		deck->order[i] = ranked[i].index;
	free(ranked);
	return TCB_OK;
}

static enum tcb_status score_space(const struct tcb_strategy_setup *setup, double *const ns[TCB_STATE_COUNT],
				   struct tcb_error *err)
{
	struct tcb_model model;
	struct tcb_codes *codes;
	TCB_TRY(tcb_model_init(&model, setup->op, setup->problem, setup->gpu, err));
	TCB_TRY(tcb_model_codes(&model, &codes, err));
	enum tcb_status status =
		tcb_model_calibrate(&model, codes, setup->space, setup->space->count, setup->seed, err);
	tcb_codes_destroy(codes);
	return status == TCB_OK ? tcb_model_scores(&model, setup->space, ns, err) : status;
}

static enum tcb_status order_by_model(struct tcb_deck *deck, const struct tcb_strategy_setup *setup,
				      struct tcb_error *err)
{
	double *ns[TCB_STATE_COUNT] = { NULL };
	enum tcb_status status = TCB_OK;
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		ns[s] = malloc(deck->count * sizeof *ns[s]);
		if (!ns[s])
			status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the model's times");
	}
	if (status == TCB_OK)
		status = score_space(setup, ns, err);
	if (status == TCB_OK)
		status = order_deck(deck, ns, setup->states, err);
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		free(ns[s]);
	return status;
}

static enum tcb_status model_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	struct tcb_deck *deck = calloc(1, sizeof *deck);
	if (!deck)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	enum tcb_status status = tcb_deck_init(deck, setup->space->count, setup->seed, err);
	if (status == TCB_OK && setup->gpu)
		status = order_by_model(deck, setup, err);
	if (status != TCB_OK) {
		model_destroy(deck);
		return status;
	}
	*out = deck;
	return TCB_OK;
}

static size_t model_ask(void *self, double spent)
{
	(void)spent;
	return tcb_deck_deal(self);
}

static void model_tell(void *self, size_t index, const struct tcb_told *told)
{
	(void)told;
	tcb_deck_take(self, index);
}

const struct tcb_strategy tcb_strategy_model = {
	.name = "model",
	.summary = "on a GPU, everything in the order of a model's times, the fastest first",
	.needs_gpu = 1,
	.create = model_create,
	.ask = model_ask,
	.tell = model_tell,
	.destroy = model_destroy,
};
