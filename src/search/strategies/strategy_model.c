/* SPDX-License-Identifier: MIT
 *
 * The order that the model of an absent GPU (model.h) would have them in, best
 * first: a short budget on an attached GPU goes to what is likely to win.  A
 * candidate counts by the cache state that it is better in.
 *
 * Threads of low priority model the space, in a random order, while the GPU
 * measures: what is asked for is the best of what they have done, and with
 * nothing done yet the first of the random order.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "search/model.h"
#include "search/strategy.h"

enum { THREADS_MOST = 32, PRIORITY = 10 /* nice: assemblers and the GPU's worker come first */ };

struct ranking {
	struct tcb_deck deck;
	const struct tcb_space *space;
	unsigned states;
	struct tcb_model model;
	double *ns[TCB_STATE_COUNT]; /* [index]; of those that are done */
	atomic_uchar *is_done;       /* [index] */
	atomic_size_t next;          /* in the deck's order: to be modelled */
	atomic_int stop;
	pthread_t thread[THREADS_MOST];
	unsigned thread_count;
};

/* --- modelling --- */

static void model_one(struct ranking *r, size_t index)
{
	double ns[TCB_STATE_COUNT];
	(void)tcb_model_time(&r->model, &r->space->geometries[index], 0, ns, NULL);
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		r->ns[s][index] = ns[s];
	atomic_store_explicit(&r->is_done[index], 1, memory_order_release);
}

static void *model_some(void *argument)
{
	struct ranking *r = argument;
	(void)setpriority(PRIO_PROCESS, 0, PRIORITY); /* of this thread; where it may not, it competes */
	while (!atomic_load(&r->stop)) {
		const size_t at = atomic_fetch_add(&r->next, 1);
		if (at >= r->space->count)
			break;
		model_one(r, r->deck.order[at]);
	}
	return NULL;
}

/* Threads that cannot be started leave their part to the others, and all of it to chance. */
static void start_threads(struct ranking *r)
{
	unsigned wanted = tcb_model_processors() / 2;
	wanted = wanted < 1 ? 1 : wanted > THREADS_MOST ? THREADS_MOST : wanted;
	while (r->thread_count < wanted && pthread_create(&r->thread[r->thread_count], NULL, model_some, r) == 0)
		r->thread_count++;
}

static void join_threads(struct ranking *r)
{
	while (r->thread_count)
		pthread_join(r->thread[--r->thread_count], NULL);
}

void tcb_strategy_model_wait(void *self)
{
	join_threads(self);
}

static enum tcb_status start_ranking(struct ranking *r, const struct tcb_strategy_setup *setup, struct tcb_error *err)
{
	TCB_TRY(tcb_model_init(&r->model, setup->op, setup->problem, setup->modelled, err));
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		r->ns[s] = malloc(setup->space->count * sizeof *r->ns[s]);
	r->is_done = calloc(setup->space->count, sizeof *r->is_done);
	if (!r->is_done || !r->ns[TCB_COLD] || !r->ns[TCB_HOT])
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the model's times");
	/* Here, so that what is made once in a process is made before workers are forked beside the threads. */
	model_one(r, setup->space->default_index);
	start_threads(r);
	return TCB_OK;
}

/* --- the strategy --- */

static void model_destroy(void *self)
{
	struct ranking *r = self;
	if (!r)
		return;
	atomic_store(&r->stop, 1);
	join_threads(r);
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		free(r->ns[s]);
	free(r->is_done);
	tcb_deck_fini(&r->deck);
	free(r);
}

static enum tcb_status model_create(const struct tcb_strategy_setup *setup, void **out, struct tcb_error *err)
{
	struct ranking *r = calloc(1, sizeof *r);
	if (!r)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the search strategy");
	r->space = setup->space;
	r->states = setup->states;
	enum tcb_status status = tcb_deck_init(&r->deck, setup->lattice->count, setup->seed, err);
	if (status == TCB_OK && setup->modelled)
		status = start_ranking(r, setup, err);
	if (status != TCB_OK) {
		model_destroy(r);
		return status;
	}
	*out = r;
	return TCB_OK;
}

static int is_ranked(const struct ranking *r, size_t index)
{
	return r->is_done && atomic_load_explicit(&r->is_done[index], memory_order_acquire);
}

/* The best of the done ones that are left, the first in the deck's order among equals; TCB_ASK_NONE if there is none.
 */
static size_t best_left(const struct ranking *r)
{
	double least[TCB_STATE_COUNT], best_score = INFINITY;
	size_t best = TCB_ASK_NONE;
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		least[s] = INFINITY;
		for (size_t i = 0; i < r->space->count; i++)
			if (is_ranked(r, i) && r->ns[s][i] < least[s])
				least[s] = r->ns[s][i];
	}
	for (size_t at = 0; at < r->deck.count; at++) {
		const size_t index = r->deck.order[at];
		if (r->deck.taken[index] || !is_ranked(r, index))
			continue;
		for (int s = 0; s < TCB_STATE_COUNT; s++) {
			const double score = r->ns[s][index] / least[s];
			if (!(r->states >> s & 1u) || !(score < best_score))
				continue;
			best_score = score;
			best = index;
		}
	}
	return best;
}

static size_t model_ask(void *self, double spent)
{
	struct ranking *r = self;
	(void)spent;
	const size_t best = best_left(r);
	if (best == TCB_ASK_NONE) /* those that cannot be modelled come last */
		return tcb_deck_deal(&r->deck);
	tcb_deck_take(&r->deck, best);
	return best;
}

static void model_tell(void *self, size_t index, const struct tcb_told *told)
{
	struct ranking *r = self;
	(void)told;
	tcb_deck_take(&r->deck, index);
}

const struct tcb_strategy tcb_strategy_model = {
	.name = "model",
	.summary = "on a GPU, everything in the order of a model's times, the fastest first",
	.needs_model = 1,
	.create = model_create,
	.ask = model_ask,
	.tell = model_tell,
	.destroy = model_destroy,
};
