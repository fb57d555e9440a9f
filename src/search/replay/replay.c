/* SPDX-License-Identifier: MIT
 *
 * Runs of strategies over a recorded space, and the score that they come to.
 * What random search is expected to have is computed, not run: of M candidates
 * drawn from N without putting back, the best has the rank M (N + 1) / (M + 1)
 * from the worst.  What a strategy has is fitted to the points of all its runs.
 */
#include "search/replay/replay.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "search/isotonic.h"

const size_t tcb_replay_marks[TCB_REPLAY_MARKS] = { 10, 30, 100, 300 };

static const double FIRST = 0.01, LAST = 0.95;          /* of the way from the median to the optimum: the community's */
static const double HIGH = 0.9;                         /* percentile of the worse side */
static const double MARGIN = 0.1, MARGIN_OF_FEW = 0.25; /* around the moments, and for each trial's part: theirs too */

static int descending(const void *a, const void *b)
{
	return tcb_ascending(b, a);
}

static double median_of(const double *sorted, size_t count)
{
	return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

void tcb_replay_spread(double *values, size_t count, double *median_out, double *high_out)
{
	qsort(values, count, sizeof *values, tcb_ascending);
	*median_out = count ? median_of(values, count) : NAN;
	*high_out = count ? values[(size_t)(HIGH * (double)(count - 1) + 0.5)] : NAN;
}

/* Trials that random search is expected to need for PART of the way. */
static size_t random_trials(const struct tcb_replay *replay, double part)
{
	const size_t count = replay->space->valid;
	const double target = replay->optimum + (replay->median - replay->optimum) * (1 - part);
	size_t rank = 0;
	while (rank + 1 < count && replay->descending[rank] > target)
		rank++;
	const size_t trials = count / (count + 1 - rank); /* rank / (count + 1 - rank), rounded up */
	return trials ? trials : 1;
}

/* What random search is expected to have at TIME. */
static double random_value(const struct tcb_replay *replay, double time)
{
	const double count = (double)replay->space->valid;
	const double trials = rint(fmax(time / replay->trial, 1));
	const double rank = fmin(count - 1, rint(trials * (count + 1) / (trials + 1)));
	return replay->descending[(size_t)rank];
}

/* The probability that TRIALS of COUNT, drawn without putting back, miss the TOP best. */
static double misses(double count, double top, double trials)
{
	if (trials > count - top)
		return 0;
	return exp(lgamma(count - top + 1) - lgamma(count - top - trials + 1) - lgamma(count + 1) +
		   lgamma(count - trials + 1));
}

double tcb_replay_random(const struct tcb_replay *replay, double time, double share)
{
	const size_t count = replay->space->valid;
	const double trials = fmin(fmax(round(time / replay->trial), 1), (double)count);
	size_t least = 1, most = count; /* of the best, as many as are needed */

	while (least < most) {
		const size_t middle = least + (most - least) / 2;
		if (1 - misses((double)count, (double)middle, trials) >= share)
			most = middle;
		else
			least = middle + 1;
	}
	return replay->descending[count - least];
}

static enum tcb_status set_clock(struct tcb_replay *replay, struct tcb_error *err)
{
	const struct tcb_recorded *space = replay->space;
	const size_t count = space->lattice.count, failed = count - space->valid;
	double valid_sum = 0, failed_sum = 0;
	double *prices = malloc(count * sizeof *prices);
	if (!prices)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu prices", count);
	for (size_t i = 0; i < count; i++) {
		prices[i] = space->price[i];
		*(space->value[i] < INFINITY ? &valid_sum : &failed_sum) += prices[i];
	}
	qsort(prices, count, sizeof *prices, tcb_ascending);
	const double typical = median_of(prices, count);
	free(prices);
	replay->trial = valid_sum / (double)space->valid + failed_sum / (double)count;
	if (!(typical > 0) || !isfinite(valid_sum + failed_sum))
		return tcb_fail(err, TCB_E_FORMAT, "%s: does not say how long its %zu candidates (%zu failed) took",
				space->name, count, failed);
	replay->trials = random_trials(replay, LAST);
	replay->from = (double)random_trials(replay, FIRST) * typical;
	replay->until = (double)replay->trials * typical;
	replay->margin = MARGIN + MARGIN_OF_FEW / (double)replay->trials;
	return TCB_OK;
}

enum tcb_status tcb_replay_init(struct tcb_replay *replay, const struct tcb_recorded *space, struct tcb_error *err)
{
	*replay = (struct tcb_replay){ .space = space };
	replay->descending = malloc(space->valid * sizeof *replay->descending + 1);
	if (!replay->descending)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu values", space->valid);
	size_t count = 0;
	for (size_t i = 0; i < space->lattice.count; i++)
		if (space->value[i] < INFINITY)
			replay->descending[count++] = space->value[i];
	qsort(replay->descending, count, sizeof *replay->descending, descending);
	enum tcb_status status = TCB_OK;
	if (count >= 2) {
		replay->optimum = replay->descending[count - 1];
		replay->median = median_of(replay->descending, count);
	}
	if (count < 2 || !(replay->optimum < replay->median))
		status = tcb_fail(err, TCB_E_FORMAT,
				  "%s: nothing to search: %zu of %zu candidates have a time, half of them the best",
				  space->name, count, space->lattice.count);
	else
		status = set_clock(replay, err);
	if (status != TCB_OK)
		tcb_replay_fini(replay);
	return status;
}

void tcb_replay_fini(struct tcb_replay *replay)
{
	free(replay->descending);
	*replay = (struct tcb_replay){ 0 };
}

static double moment(const struct tcb_replay *replay, size_t at)
{
	return replay->from + (replay->until - replay->from) * (double)at / (TCB_REPLAY_MOMENTS - 1);
}

/* INDEX is tried: looked up, told, and paid for. */
static void try(struct tcb_replay_walk *walk, size_t index)
{
	const struct tcb_recorded *space = walk->space;
	struct tcb_told told = { .outcome = TCB_OUTCOME_OK,
				 .cost = { space->value[index], NAN },
				 .seconds = space->price[index] };
	if (!(space->value[index] < INFINITY))
		told.outcome = TCB_OUTCOME_LAUNCH_FAILED;
	walk->clock += space->price[index];
	walk->best = fmin(walk->best, space->value[index]);
	walk->trials++;
	walk->strategy->tell(walk->self, index, &told);
}

enum tcb_status tcb_replay_walk_init(struct tcb_replay_walk *walk, const struct tcb_recorded *space,
				     const struct tcb_strategy *strategy, uint64_t seed, struct tcb_error *err)
{
	const struct tcb_named_space named = tcb_recorded_named(space);
	const struct tcb_strategy_setup setup = { .lattice = &space->lattice,
						  .named = &named,
						  .program = strategy->program,
						  .start = space->start,
						  .states = 1u << TCB_COLD,
						  .seed = seed };
	*walk = (struct tcb_replay_walk){ .space = space, .strategy = strategy, .best = INFINITY };
	return strategy->create(&setup, &walk->self, err);
}

void tcb_replay_walk_fini(struct tcb_replay_walk *walk)
{
	walk->strategy->destroy(walk->self);
	walk->self = NULL;
}

int tcb_replay_walk_next(struct tcb_replay_walk *walk, double spent)
{
	const struct tcb_recorded *space = walk->space;
	const size_t defaults = space->start != TCB_ASK_NONE, known = walk->trials;
	size_t index;
	if (known < defaults)
		index = space->start;
	else if (known < defaults + space->start_count)
		index = space->starts[known - defaults];
	else
		index = walk->strategy->ask(walk->self, spent);
	if (index == TCB_ASK_NONE)
		return 0;
	try(walk, index);
	return 1;
}

/* How many values are less than VALUE. */
static double rank_of(const struct tcb_replay *replay, double value)
{
	size_t above = 0, end = replay->space->valid; /* of the values in descending order: first that is not greater */
	while (above < end) {
		const size_t middle = above + (end - above) / 2;
		if (replay->descending[middle] >= value)
			above = middle + 1;
		else
			end = middle;
	}
	return (double)(replay->space->valid - above);
}

/* What the trial that WALK has just made shows, if it lies where the curve is fitted. */
static enum tcb_status add_point(const struct tcb_replay *replay, const struct tcb_replay_walk *walk,
				 struct tcb_replay_run *run, size_t *capacity, struct tcb_error *err)
{
	if (!(walk->best < INFINITY) || walk->clock < replay->from * (1 - replay->margin) ||
	    walk->clock > replay->until * (1 + replay->margin))
		return TCB_OK;
	if (run->count == *capacity) {
		const size_t more = 2 * *capacity + 64;
		struct tcb_replay_point *points = realloc(run->points, more * sizeof *points);
		if (!points)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu points of a run", more);
		run->points = points;
		*capacity = more;
	}
	run->points[run->count++] = (struct tcb_replay_point){ walk->clock, rank_of(replay, walk->best) };
	return TCB_OK;
}

enum tcb_status tcb_replay_run(const struct tcb_replay *replay, const struct tcb_strategy *strategy, uint64_t seed,
			       struct tcb_replay_run *out, struct tcb_error *err)
{
	const double end = replay->until * (1 + replay->margin);
	struct tcb_replay_walk walk;
	size_t marks = 0, capacity = 0; /* marks: done */
	enum tcb_status status = TCB_OK;
	*out = (struct tcb_replay_run){ 0 };
	TCB_TRY(tcb_replay_walk_init(&walk, replay->space, strategy, seed, err));
	while (status == TCB_OK && (walk.clock <= end || marks < TCB_REPLAY_MARKS)) {
		if (!tcb_replay_walk_next(&walk, fmin(1, walk.clock / replay->until)))
			break;
		status = add_point(replay, &walk, out, &capacity, err);
		if (marks < TCB_REPLAY_MARKS && walk.trials == tcb_replay_marks[marks])
			out->after[marks++] = walk.best;
	}
	while (marks < TCB_REPLAY_MARKS)
		out->after[marks++] = walk.best;
	if (status == TCB_OK)
		status = tcb_strategy_failed(strategy, walk.self, err);
	tcb_replay_walk_fini(&walk);
	return status;
}

void tcb_replay_run_fini(struct tcb_replay_run *run)
{
	free(run->points);
	*run = (struct tcb_replay_run){ 0 };
}

/* What strategies have at a moment: the rank of a value among all. */
struct curve {
	struct tcb_isotonic_point *points; /* owned */
	size_t count;
};

/* How the rank of RUNS falls with time. */
static enum tcb_status fit(const struct tcb_replay_run *runs, size_t count, struct curve *out, struct tcb_error *err)
{
	size_t points = 0;
	for (size_t r = 0; r < count; r++)
		points += runs[r].count;
	*out = (struct curve){ .points = malloc(points * sizeof *out->points + 1) };
	if (!out->points)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a curve of %zu points", points);
	for (size_t r = 0; r < count; r++)
		for (size_t i = 0; i < runs[r].count; i++)
			out->points[out->count++] =
				(struct tcb_isotonic_point){ runs[r].points[i].clock, runs[r].points[i].rank, 1 };
	return tcb_isotonic_fit(out->points, &out->count, err);
}

/* The mean over the moments of what CURVE has, between random search (0) and the optimum (1).  Where no run had a
 * result, that is what one random trial is expected to have, as in the baseline. */
static double score_of(const struct tcb_replay *replay, const struct curve *curve)
{
	double sum = 0;
	for (size_t t = 0; t < TCB_REPLAY_MOMENTS; t++) {
		const double time = moment(replay, t), random = random_value(replay, time);
		double value = replay->median;
		if (curve->count) {
			const size_t rank = (size_t)rint(tcb_isotonic_at(curve->points, curve->count, time));
			value = replay->descending[replay->space->valid - 1 - rank];
		}
		/* Where random search is expected to have the optimum, there is nothing left to gain. */
		sum += random > replay->optimum ? (random - value) / (random - replay->optimum) : 0;
	}
	return sum / TCB_REPLAY_MOMENTS;
}

enum tcb_status tcb_replay_judge(const struct tcb_replay *replay, const struct tcb_replay_run *runs, size_t count,
				 struct tcb_replay_score *out, struct tcb_error *err)
{
	struct curve curve;
	enum tcb_status status = fit(runs, count, &curve, err);
	if (status == TCB_OK)
		out->score = score_of(replay, &curve);
	free(curve.points);
	TCB_TRY(status);
	double *ratios = malloc(count * sizeof *ratios + 1);
	if (!ratios)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu runs", count);
	for (size_t m = 0; m < TCB_REPLAY_MARKS; m++) {
		for (size_t r = 0; r < count; r++)
			ratios[r] = (runs[r].after[m] < INFINITY ? runs[r].after[m] : replay->median) / replay->optimum;
		tcb_replay_spread(ratios, count, &out->median[m], &out->worst[m]);
	}
	free(ratios);
	return TCB_OK;
}
