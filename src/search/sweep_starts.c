/* SPDX-License-Identifier: MIT
 *
 * Which candidates a sweep begins with: what won elsewhere, carried over to
 * this space; then what is predicted to be the fastest by what was learned of
 * other problems, or else, on a GPU where little is known near by, what a model
 * of it thinks best of a sample.
 */
#include <math.h>

#include "base/util.h"
#include "kernels/defaults/learned.h"
#include "search/model.h"
#include "search/sweep_state.h"

enum {
	NEAR_ENOUGH = 4,     /* so many near winners tell more than the model */
	MODELLED_LEAST = 24, /* the best of 12 are no better than 10 random ones (docs/model.md) */
	FIELDS_APART = 3     /* where the model is wrong, it is wrong of all that are alike */
};
static const double NEAR = 4;                             /* factors of two: tcb_start_distance */
static const double MODEL_SHARE = 0.03, MODEL_MOST_S = 1; /* of the budget, and seconds */

static void add(struct tcb_sweep *sweep, size_t chosen[TCB_SWEEP_STARTS_MAX], size_t *count, size_t index,
		struct tcb_sweep_start start)
{
	start.geometry = sweep->space->geometries[index];
	chosen[*count] = index;
	sweep->out->starts[(*count)++] = start;
}

/* Returns how many of them are near. */
static size_t choose_winners(struct tcb_sweep *sweep, size_t most, size_t chosen[TCB_SWEEP_STARTS_MAX], size_t *count)
{
	const struct tcb_sweep_options *options = sweep->options;
	const struct tcb_start_space space = { .problem = sweep->problem,
					       .threads = sweep->target->threads,
					       .geometries = sweep->space->geometries,
					       .count = sweep->space->count,
					       .fallback = sweep->space->default_index };
	struct tcb_start starts[TCB_STARTS_MAX];
	size_t near = 0;
	const size_t found = tcb_starts_choose(&space, options->winners, options->winner_count, TCB_STARTS_MAX, starts);
	for (size_t i = 0; i < found; i++) {
		const struct tcb_start_winner *winner = &options->winners[starts[i].winner];
		near += tcb_start_distance(winner, sweep->problem, sweep->target->threads) <= NEAR;
		if (*count < most && !sweep->entries[starts[i].index].decided)
			add(sweep, chosen, count, starts[i].index,
			    (struct tcb_sweep_start){ .winner = starts[i].winner, .is_carried = starts[i].is_carried });
	}
	return near;
}

/* By so many FIELDS from all that are chosen. */
static int is_apart(const struct tcb_sweep *sweep, const size_t *chosen, size_t count, size_t index, size_t fields)
{
	for (size_t i = 0; i < count; i++)
		if (tcb_lattice_differ(&sweep->lattice, chosen[i], index) < fields)
			return 0;
	return 1;
}

static enum tcb_status choose_modelled(struct tcb_sweep *sweep, size_t most, size_t chosen[TCB_SWEEP_STARTS_MAX],
				       size_t *count, struct tcb_error *err)
{
	const double budget_s = sweep->options->budget_s;
	const struct tcb_model_sampling sampling = {
		.space = sweep->space,
		.states = sweep->options->states,
		.seed = sweep->options->seed,
		.seconds = budget_s > 0 ? fmin(MODEL_MOST_S, MODEL_SHARE * budget_s) : MODEL_MOST_S,
		.stop = sweep->options->stop,
	};
	const uint64_t start_ns = tcb_clock_ns();
	size_t best[TCB_MODEL_SAMPLE], found;
	struct tcb_model model;
	TCB_TRY(tcb_model_init(&model, sweep->op, sweep->problem, sweep->modelled, err));
	TCB_TRY(tcb_model_sample(&model, &sampling, best, &found, &sweep->out->modelled, err));
	sweep->out->modelled_s = 1e-9 * (double)(tcb_clock_ns() - start_ns);
	if (sweep->out->modelled < MODELLED_LEAST && sweep->out->modelled < sweep->space->count)
		return TCB_OK;
	most = most < *count + TCB_STARTS_MODELLED ? most : *count + TCB_STARTS_MODELLED;
	for (size_t i = 0; i < found && *count < most; i++)
		if (!sweep->entries[best[i]].decided && is_apart(sweep, chosen, *count, best[i], FIELDS_APART))
			add(sweep, chosen, count, best[i], (struct tcb_sweep_start){ .is_modelled = 1 });
	return TCB_OK;
}

/* What was learned of other problems' trials takes milliseconds; returns how many are chosen.  At shapes that it was
 * not learned from, the best of these was within 3 % of the best in nine of ten (docs/defaults.md). */
static size_t choose_learned(struct tcb_sweep *sweep, size_t most, size_t chosen[TCB_SWEEP_STARTS_MAX], size_t *count)
{
	size_t best[TCB_STARTS_LEARNED];
	const size_t before = *count;
	const size_t found = tcb_learned_fastest(sweep->problem, sweep->target, sweep->space->geometries,
						 sweep->space->count, TCB_STARTS_LEARNED, best);
	for (size_t i = 0; i < found && *count < most; i++)
		if (!sweep->entries[best[i]].decided && is_apart(sweep, chosen, *count, best[i], 1))
			add(sweep, chosen, count, best[i], (struct tcb_sweep_start){ .is_learned = 1 });
	return *count - before;
}

enum tcb_status tcb_sweep_choose_starts(struct tcb_sweep *sweep, size_t chosen[TCB_SWEEP_STARTS_MAX], size_t *count_out,
					struct tcb_error *err)
{
	const struct tcb_sweep_options *options = sweep->options;
	size_t most = TCB_SWEEP_STARTS_MAX;
	if (options->max_trials && most > options->max_trials - sweep->out->tried)
		most = options->max_trials - sweep->out->tried;
	*count_out = 0;
	const size_t near = choose_winners(sweep, most, chosen, count_out);
	const int is_new = sweep->out->known == 0; /* else an earlier sweep began so */
	if (!options->model_starts || !is_new || *count_out == most || choose_learned(sweep, most, chosen, count_out))
		return TCB_OK;
	if (!sweep->modelled || near >= NEAR_ENOUGH)
		return TCB_OK;
	return choose_modelled(sweep, most, chosen, count_out, err);
}
