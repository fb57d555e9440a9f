/* SPDX-License-Identifier: MIT
 *
 * In: a recorded space, a strategy and a threshold; out: after how many trials
 * the rule of --until-stable ends the search, and how good the best was then.
 */
#include "search/replay/replay_stop.h"

#include <math.h>
#include <stdlib.h>

#include "search/gain.h"

enum tcb_status tcb_replay_stop(const struct tcb_replay *replay, const struct tcb_strategy *strategy, uint64_t seed,
				double until, struct tcb_replay_stop *out, struct tcb_error *err)
{
	struct tcb_replay_walk walk;
	struct tcb_gain gain = { 0 };
	*out = (struct tcb_replay_stop){ 0 };
	TCB_TRY(tcb_replay_walk_init(&walk, replay->space, strategy, seed, err));
	/* Nothing is ever spent: there is no limit but the rule. */
	while (!out->is_stopped && walk.trials < TCB_REPLAY_STOP_MOST && tcb_replay_walk_next(&walk, 0)) {
		tcb_gain_add(&gain, walk.best);
		out->predicted = tcb_gain_expected(&gain, replay->space->lattice.count);
		out->is_stopped = out->predicted < until && walk.trials < replay->space->lattice.count;
	}
	out->trials = walk.trials;
	if (out->is_stopped) {
		const double best = walk.best;
		while (walk.trials < 2 * out->trials && tcb_replay_walk_next(&walk, 0))
			;
		out->gap = best / replay->optimum - 1;
		out->again = best / walk.best - 1;
	}
	const enum tcb_status status = tcb_strategy_failed(strategy, walk.self, err);
	tcb_replay_walk_fini(&walk);
	return status;
}

static double mean_of(const double *values, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : NAN;
}

enum tcb_status tcb_replay_stops_judge(const struct tcb_replay_stop *runs, size_t count, struct tcb_replay_stops *out,
				       struct tcb_error *err)
{
	enum { TRIALS, PREDICTED, GAP, AGAIN, KINDS };
	double unused, *values = malloc((KINDS * count + 1) * sizeof *values);
	if (!values)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu runs", count);
	size_t stopped = 0, exceeded = 0;
	for (size_t r = 0; r < count; r++) {
		if (!runs[r].is_stopped)
			continue;
		values[TRIALS * count + stopped] = (double)runs[r].trials;
		values[PREDICTED * count + stopped] = runs[r].predicted;
		values[GAP * count + stopped] = runs[r].gap;
		values[AGAIN * count + stopped++] = runs[r].again;
		exceeded += runs[r].again > runs[r].predicted;
	}
	*out = (struct tcb_replay_stops){ .count = count,
					  .stopped = stopped,
					  .exceeded = exceeded,
					  .predicted = mean_of(values + PREDICTED * count, stopped),
					  .again = mean_of(values + AGAIN * count, stopped) };
	tcb_replay_spread(values + TRIALS * count, stopped, &out->trials_median, &out->trials_high);
	tcb_replay_spread(values + GAP * count, stopped, &out->gap_median, &out->gap_high);
	tcb_replay_spread(values + AGAIN * count, stopped, &unused, &out->again_high);
	free(values);
	return TCB_OK;
}
