/* SPDX-License-Identifier: MIT
 *
 * The rows of a race and their rounds.
 */
#include "search/race.h"

#include <math.h>
#include <stdlib.h>

#include "base/stats.h"
#include "base/util.h"

enum { WARM_ROUNDS = 3 /* what it takes before the first round of a piece, about */ };
static const double LONG_CALL_S = 0.02; /* with what is not timed: such calls need next to no warming up */
static const double PIECE_SECONDS = 4;  /* between two looks at the clock; each piece warms up again */

static double now_s(void)
{
	return 1e-9 * (double)tcb_clock_ns();
}

int tcb_compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->item > y->item) - (x->item < y->item);
}

double tcb_race_left_s(const struct race *race)
{
	return fmax(0, race->deadline_s - now_s());
}

void tcb_race_fini(struct race *race)
{
	free(race->index);
	free(race->geometry);
	free(race->state);
	free(race->level);
	free(race->out_lo);
	free(race->active);
	free(race->room);
	free(race->ranked);
	free(race->centre);
	tcb_rounds_fini(&race->rounds);
}

enum tcb_status tcb_race_init(struct race *race, const struct tcb_finals_setup *setup, size_t capacity,
			      struct tcb_error *err)
{
	*race = (struct race){ .setup = setup, .anchor = SIZE_MAX };
	race->index = malloc(capacity * sizeof *race->index);
	race->geometry = malloc(capacity * sizeof *race->geometry);
	race->state = calloc(capacity, sizeof *race->state);
	race->level = calloc(capacity, sizeof *race->level);
	race->out_lo = calloc(capacity, sizeof *race->out_lo);
	race->active = malloc(capacity * sizeof *race->active);
	race->room = malloc(capacity * sizeof *race->room);
	race->ranked = malloc(capacity * sizeof *race->ranked);
	if (!race->index || !race->geometry || !race->state || !race->level || !race->out_lo || !race->active ||
	    !race->room || !race->ranked)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the finals of %zu geometries", capacity);
	return TCB_OK;
}

void tcb_race_add_row(struct race *race, size_t index)
{
	size_t row = race->rows++;
	race->index[row] = index;
	race->geometry[row] = race->setup->space->geometries[index];
	if (index == race->setup->anchor)
		race->anchor = row;
}

/* The rows from FIRST up to END that are in STATE. */
void tcb_race_activate(struct race *race, enum row_state state, size_t first, size_t end)
{
	race->active_count = 0;
	for (size_t row = first; row < end && row < race->rows; row++)
		if (race->state[row] == state)
			race->active[race->active_count++] = row;
}

/* Takes out of the race whoever failed since round FIRST. */
static enum tcb_status drop_failed(struct race *race, size_t first, struct tcb_error *err)
{
	size_t kept = 0;
	for (size_t a = 0; a < race->active_count; a++) {
		size_t row = race->active[a];
		const double *ns = tcb_rounds_all(&race->rounds, row, first);
		int failed = 0;
		for (size_t r = first; r < race->rounds.rounds; r++)
			failed |= isnan(ns[r - first]);
		if (!failed) {
			race->active[kept++] = row;
			continue;
		}
		race->state[row] = ROW_FAILED;
		if (race->setup->report)
			TCB_TRY(race->setup->report(race->setup->ctx, race->index[row], SIZE_MAX, NULL, err));
	}
	race->active_count = kept;
	return TCB_OK;
}

/* Seconds of ROUNDS rounds of COUNT rows in one piece. */
double tcb_race_cost_s(const struct race *race, size_t rounds, size_t count)
{
	return race->call_s * (double)((rounds + (race->call_s > LONG_CALL_S ? 1 : WARM_ROUNDS)) * count);
}

enum tcb_status tcb_race_run(struct race *race, size_t count, int with_limit, int timed, struct tcb_error *err)
{
	const struct tcb_finals_setup *setup = race->setup;
	size_t pieces = (size_t)(tcb_race_cost_s(race, count, race->active_count) / PIECE_SECONDS) + 1;
	size_t piece = (count + pieces - 1) / pieces;
	for (size_t done = 0; done < count && race->active_count > 0 && !race->is_over; done += piece) {
		size_t first = race->rounds.rounds;
		double start = now_s(), before = tcb_race_cost_s(race, piece, race->active_count);
		TCB_TRY(tcb_rounds_add(&race->rounds, setup->evaluator, setup->state, race->active, race->active_count,
				       piece, with_limit, setup->seed + first, err));
		const size_t held = race->rounds.rounds - first;
		race->is_over = held < piece;
		if (!race->is_over)
			race->call_s *= (now_s() - start) / before;
		TCB_TRY(drop_failed(race, first, err));
		if (setup->tick && setup->tick(setup->ctx, tcb_race_left_s(race)))
			return tcb_fail(err, TCB_E_INTERRUPTED, "interrupted in the finals");
		if (timed && tcb_race_left_s(race) <= 0)
			break;
	}
	return TCB_OK;
}

/* Fills centre[] with the medians of ROWS in each round from FIRST on; where others disturbed them all, of all. */
enum tcb_status tcb_race_fill_centre(struct race *race, const size_t *rows, size_t row_count, size_t first,
				     struct tcb_error *err)
{
	size_t count = race->rounds.rounds - first;
	if (count > race->centre_capacity) {
		double *centre = realloc(race->centre, 2 * count * sizeof *centre);
		if (!centre)
			return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu rounds of the finals", count);
		race->centre = centre;
		race->centre_capacity = 2 * count;
	}
	for (size_t r = 0; r < count; r++) {
		for (size_t i = 0; i < row_count; i++)
			race->room[i] = tcb_rounds_row(&race->rounds, rows[i], first)[r];
		race->centre[r] = tcb_median(race->room, row_count);
		if (!isnan(race->centre[r]))
			continue;
		for (size_t i = 0; i < row_count; i++)
			race->room[i] = tcb_rounds_all(&race->rounds, rows[i], first)[r];
		race->centre[r] = tcb_median(race->room, row_count);
	}
	return TCB_OK;
}

/* By the rounds in which nobody disturbed ROW, or by all of them where there is none. */
struct tcb_interval tcb_race_ratio_to_centre(const struct race *race, size_t row, size_t first)
{
	const size_t count = race->rounds.rounds - first;
	const struct tcb_interval quiet =
		tcb_ratio_interval(tcb_rounds_row(&race->rounds, row, first), race->centre, count);
	return isnan(quiet.median) ? tcb_ratio_interval(tcb_rounds_all(&race->rounds, row, first), race->centre, count)
				   : quiet;
}

/* Fills level[] of the active rows from round FIRST on: relative to the round's median, which takes the drift out and
 * adds next to no noise. */
enum tcb_status tcb_race_fill_levels(struct race *race, size_t first, struct tcb_error *err)
{
	TCB_TRY(tcb_race_fill_centre(race, race->active, race->active_count, first, err));
	for (size_t a = 0; a < race->active_count; a++)
		race->level[race->active[a]] = tcb_race_ratio_to_centre(race, race->active[a], first).median;
	return TCB_OK;
}

struct tcb_interval tcb_race_ratio(const struct race *race, size_t row, size_t reference, size_t first)
{
	const size_t count = race->rounds.rounds - first;
	const struct tcb_interval quiet = tcb_ratio_interval(tcb_rounds_row(&race->rounds, row, first),
							     tcb_rounds_row(&race->rounds, reference, first), count);
	return isnan(quiet.median) ? tcb_ratio_interval(tcb_rounds_all(&race->rounds, row, first),
							tcb_rounds_all(&race->rounds, reference, first), count)
				   : quiet;
}

size_t tcb_race_quiet(const struct race *race, size_t first)
{
	return tcb_rounds_quiet(&race->rounds, race->active, race->active_count, first);
}

struct tcb_interval tcb_race_final(const struct race *race, size_t row, size_t reference, size_t first)
{
	return tcb_legs_interval(&race->legs, tcb_rounds_row(&race->rounds, row, first),
				 reference == SIZE_MAX ? NULL : tcb_rounds_row(&race->rounds, reference, first),
				 race->rounds.rounds - first);
}

size_t tcb_race_lowest(const struct race *race)
{
	size_t lowest = race->active[0];
	for (size_t a = 1; a < race->active_count; a++)
		if (race->level[race->active[a]] < race->level[lowest])
			lowest = race->active[a];
	return lowest;
}

/* The active rows by their levels, the lowest first. */
void tcb_race_sort(struct race *race)
{
	for (size_t a = 0; a < race->active_count; a++)
		race->ranked[a] = (struct ranked){ race->level[race->active[a]], race->active[a] };
	qsort(race->ranked, race->active_count, sizeof *race->ranked, tcb_compare_ranked);
	for (size_t a = 0; a < race->active_count; a++)
		race->active[a] = race->ranked[a].item;
}
