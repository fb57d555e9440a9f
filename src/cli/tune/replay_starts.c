/* SPDX-License-Identifier: MIT
 *
 * Leave-one-out over recorded problems: what a sweep of each would have begun
 * with, had the others been swept before.
 */
#include "cli/tune/replay_starts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 4 }; /* the winner and three of those that come next, as of a tie set */

/* --- the winners --- */

static double median_in(const struct tcb_trial *trial, enum tcb_state state, enum tcb_stage stage)
{
	for (size_t m = 0; m < trial->measurement_count && trial->outcome == TCB_OUTCOME_OK; m++)
		if (trial->measurements[m].state == state && trial->measurements[m].stage == stage &&
		    trial->measurements[m].ns.median > 0)
			return trial->measurements[m].ns.median;
	return INFINITY;
}

static int has_stage(const struct tcb_trial *trials, size_t count, enum tcb_state state, enum tcb_stage stage)
{
	for (size_t i = 0; i < count; i++)
		if (median_in(&trials[i], state, stage) < INFINITY)
			return 1;
	return 0;
}

/* The fastest but for those that are no slower than LAST, at TIME; COUNT: there is none. */
static size_t next_fastest(const struct tcb_trial *trials, size_t count, enum tcb_state state, enum tcb_stage stage,
			   size_t last, double *time)
{
	size_t next = count;
	double least = INFINITY;
	for (size_t i = 0; i < count; i++) {
		const double ns = median_in(&trials[i], state, stage);
		const int is_after = ns > *time || (ns == *time && last != SIZE_MAX && i > last);
		if (is_after && ns < least) {
			least = ns;
			next = i;
		}
	}
	*time = least;
	return next;
}

static enum tcb_status add(struct cli_replay_winners *winners, const struct cli_replay_winner *winner,
			   struct tcb_error *err)
{
	struct cli_replay_winner *items = realloc(winners->items, (winners->count + 1) * sizeof *items);
	if (!items)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu winners", winners->count + 1);
	winners->items = items;
	items[winners->count++] = *winner;
	return TCB_OK;
}

enum tcb_status cli_replay_winners_add(struct cli_replay_winners *winners, const struct tcb_problem *problem,
				       const struct tcb_device *device, const struct tcb_trial *trials, size_t count,
				       struct tcb_error *err)
{
	struct cli_replay_winner winner = {
		.winner = { .problem = *problem, .threads = device->target.threads, .tried = count },
		.kind = device->target.kind
	};
	memcpy(winner.device_key, device->key, sizeof winner.device_key);
	memcpy(winner.arch, device->arch, sizeof winner.arch);
	for (int s = 0; s < TCB_STATE_COUNT; s++) {
		const enum tcb_state state = (enum tcb_state)s;
		const enum tcb_stage stage =
			has_stage(trials, count, state, TCB_STAGE_FINAL) ? TCB_STAGE_FINAL : TCB_STAGE_SCREEN;
		size_t last = SIZE_MAX;
		double time = 0;
		for (unsigned rank = 0; rank < RANKS; rank++) {
			last = next_fastest(trials, count, state, stage, last, &time);
			if (last == count)
				break;
			winner.winner.geometry = trials[last].geometry;
			winner.winner.rank = rank;
			TCB_TRY(add(winners, &winner, err));
		}
	}
	return TCB_OK;
}

void cli_replay_winners_fini(struct cli_replay_winners *winners)
{
	free(winners->items);
	*winners = (struct cli_replay_winners){ 0 };
}

/* --- the starts of one space --- */

/* The same problem, on whatever device: what is to be shown is what the others tell of it. */
static int is_own(const struct cli_replay_winner *winner, const struct cli_origin *origin)
{
	const struct tcb_problem *a = &winner->winner.problem, *b = &origin->problem;
	return a->op == b->op && a->contract == b->contract && tcb_shape_equal(&a->shape, &b->shape);
}

static enum tcb_start_device compare_devices(const struct cli_replay_winner *winner, const struct tcb_device *device)
{
	if (!strcmp(winner->device_key, device->key))
		return TCB_START_OWN;
	return strcmp(winner->arch, device->arch) == 0 ? TCB_START_SAME_ARCH : TCB_START_OTHER_ARCH;
}

enum tcb_status cli_replay_starts(const struct cli_replay_winners *winners, const struct cli_origin *origin,
				  struct tcb_recorded *space, struct tcb_error *err)
{
	if (!origin->geometries || !origin->problem.op)
		return TCB_OK;
	const struct tcb_start_space to = { .problem = &origin->problem,
					    .threads = origin->device.target.threads,
					    .geometries = origin->geometries,
					    .count = space->lattice.count,
					    .fallback = space->start };
	struct tcb_start_winner *others = malloc((winners->count + 1) * sizeof *others);
	if (!others)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu winners", winners->count);
	size_t count = 0;
	for (size_t i = 0; i < winners->count; i++) {
		if (winners->items[i].kind != origin->device.target.kind || is_own(&winners->items[i], origin))
			continue;
		others[count] = winners->items[i].winner;
		others[count++].device = compare_devices(&winners->items[i], &origin->device);
	}
	struct tcb_start starts[TCB_STARTS_MAX];
	space->start_count = tcb_starts_choose(&to, others, count, TCB_STARTS_MAX, starts);
	for (size_t i = 0; i < space->start_count; i++)
		space->starts[i] = starts[i].index;
	free(others);
	return TCB_OK;
}
