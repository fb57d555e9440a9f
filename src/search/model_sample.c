/* SPDX-License-Identifier: MIT
 *
 * What the model thinks of a sample of a space, before anything of it was
 * measured.  In: a space, and how many seconds there are; out: the sample, the
 * best first, as many as there was time for.
 *
 * The space is cut into as many stretches as the sample is large, of each of
 * which one candidate is taken: neighbours in a space are alike.
 */
#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "search/model.h"
#include "search/strategy.h"

struct sampled {
	size_t index;
	int is_done;
	double ns[TCB_STATE_COUNT]; /* NaN: it cannot be modelled */
};

struct sampling {
	const struct tcb_model *model;
	const struct tcb_model_sampling *setup;
	struct sampled *items;
	double until_s;
};

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

static void model_one(void *ctx, size_t task, unsigned thread)
{
	const struct sampling *s = ctx;
	struct sampled *item = &s->items[task];
	(void)thread;
	if (now_s() >= s->until_s || (s->setup->stop && *s->setup->stop))
		return;
	(void)tcb_model_time(s->model, &s->setup->space->geometries[item->index], 0, item->ns, NULL);
	item->is_done = 1;
}

/* One of each stretch; the stretches in a random order, as time may end before they do. */
static enum tcb_status draw(const struct tcb_model_sampling *setup, size_t count, struct sampled *items,
			    struct tcb_error *err)
{
	const size_t all = setup->space->count;
	struct tcb_deck deck;
	struct tcb_rng rng;
	TCB_TRY(tcb_deck_init(&deck, count, setup->seed, err));
	tcb_rng_init(&rng, setup->seed);
	for (size_t i = 0; i < count; i++) {
		const size_t from = deck.order[i] * all / count, until = (deck.order[i] + 1) * all / count;
		items[i].index = from + (size_t)tcb_rng_below(&rng, until - from);
	}
	tcb_deck_fini(&deck);
	return TCB_OK;
}

/* The fastest in STATE of those that are left; COUNT: there is none. */
static size_t fastest(const struct sampled *items, size_t count, int state)
{
	size_t best = count;
	for (size_t i = 0; i < count; i++)
		if (items[i].is_done && (best == count || items[i].ns[state] < items[best].ns[state]))
			best = i;
	return best;
}

/* By turns the best of each cache state that is measured. */
static size_t order(const struct tcb_model_sampling *setup, struct sampled *items, size_t count,
		    size_t best[TCB_MODEL_SAMPLE])
{
	size_t found = 0;
	for (size_t i = 0; i < count; i++)
		items[i].is_done = items[i].is_done && !isnan(items[i].ns[TCB_COLD] + items[i].ns[TCB_HOT]);
	for (size_t before = SIZE_MAX; found != before;) {
		before = found;
		for (int s = 0; s < TCB_STATE_COUNT; s++) {
			const size_t next = setup->states >> s & 1u ? fastest(items, count, s) : count;
			if (next == count)
				continue;
			best[found++] = items[next].index;
			items[next].is_done = 0;
		}
	}
	return found;
}

enum tcb_status tcb_model_sample(const struct tcb_model *model, const struct tcb_model_sampling *setup,
				 size_t best[TCB_MODEL_SAMPLE], size_t *best_count, size_t *modelled,
				 struct tcb_error *err)
{
	const size_t count = setup->space->count < TCB_MODEL_SAMPLE ? setup->space->count : TCB_MODEL_SAMPLE;
	struct sampled items[TCB_MODEL_SAMPLE] = { { 0 } };
	struct tcb_model in_time = *model;
	struct sampling sampling = { &in_time, setup, items, now_s() + setup->seconds };
	struct tcb_pool *pool;
	in_time.machine.until_ns =
		(uint64_t)(1e9 * sampling.until_s); /* one that is simulated for seconds is given up */
	TCB_TRY(draw(setup, count, items, err));
	TCB_TRY(tcb_pool_create(tcb_model_processors(), NULL, &pool, err));
	tcb_pool_run(pool, tcb_pool_threads(pool), TCB_SCHED_DYNAMIC, count, model_one, &sampling);
	tcb_pool_destroy(pool);
	*modelled = 0;
	for (size_t i = 0; i < count; i++)
		*modelled += (size_t)items[i].is_done;
	*best_count = order(setup, items, count, best);
	return TCB_OK;
}
