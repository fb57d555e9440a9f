/* SPDX-License-Identifier: MIT
 *
 * The table is row-major, so that the samples of one geometry lie together for
 * the statistics; columns grow by doubling.
 */
#include "search/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 };

static enum tcb_status no_memory(const struct tcb_rounds *rounds, struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for the samples of %zu geometries", rounds->rows);
}

static enum tcb_status reserve_rounds(struct tcb_rounds *rounds, size_t count, struct tcb_error *err)
{
	size_t capacity = rounds->capacity;
	if (count <= capacity)
		return TCB_OK;
	while (capacity < count)
		capacity *= 2;
	double *limit = realloc(rounds->limit, capacity * sizeof *limit);
	if (!limit)
		return no_memory(rounds, err);
	rounds->limit = limit;
	double *ns = malloc(rounds->rows * capacity * sizeof *ns);
	if (!ns)
		return no_memory(rounds, err);
	for (size_t row = 0; row < rounds->rows; row++)
		memcpy(ns + row * capacity, rounds->ns + row * rounds->capacity, rounds->rounds * sizeof *ns);
	free(rounds->ns);
	rounds->ns = ns;
	rounds->capacity = capacity;
	return TCB_OK;
}

enum tcb_status tcb_rounds_init(struct tcb_rounds *rounds, const struct tcb_geometry *geometries, size_t rows,
				struct tcb_error *err)
{
	*rounds = (struct tcb_rounds){ .geometries = geometries, .rows = rows, .capacity = FIRST_CAPACITY };
	rounds->ns = malloc((rows * FIRST_CAPACITY + 1) * sizeof *rounds->ns);
	rounds->limit = malloc(FIRST_CAPACITY * sizeof *rounds->limit);
	rounds->active_geometries = malloc((rows + 1) * sizeof *rounds->active_geometries);
	if (!rounds->ns || !rounds->limit || !rounds->active_geometries) {
		tcb_rounds_fini(rounds);
		return no_memory(rounds, err);
	}
	return TCB_OK;
}

void tcb_rounds_fini(struct tcb_rounds *rounds)
{
	free(rounds->ns);
	free(rounds->limit);
	free(rounds->active_geometries);
	free(rounds->fresh);
	*rounds = (struct tcb_rounds){ 0 };
}

enum tcb_status tcb_rounds_add(struct tcb_rounds *rounds, struct tcb_evaluator *evaluator, enum tcb_state state,
			       const size_t *active, size_t active_count, size_t count, int with_limit, uint64_t seed,
			       struct tcb_error *err)
{
	TCB_TRY(reserve_rounds(rounds, rounds->rounds + count, err));
	if (active_count * count > rounds->fresh_capacity) {
		double *fresh = realloc(rounds->fresh, active_count * count * sizeof *fresh);
		if (!fresh)
			return no_memory(rounds, err);
		rounds->fresh = fresh;
		rounds->fresh_capacity = active_count * count;
	}
	for (size_t a = 0; a < active_count; a++)
		rounds->active_geometries[a] = rounds->geometries[active[a]];
	double *limit = rounds->limit + rounds->rounds;
	for (size_t r = 0; r < count; r++)
		limit[r] = NAN;
	TCB_TRY(tcb_evaluator_interleave(evaluator, rounds->active_geometries, active_count, state, count, seed,
					 rounds->fresh, with_limit ? limit : NULL, err));
	const size_t held = tcb_evaluator_held(evaluator);
	for (size_t row = 0; row < rounds->rows; row++)
		for (size_t r = 0; r < held; r++)
			rounds->ns[row * rounds->capacity + rounds->rounds + r] = NAN;
	for (size_t a = 0; a < active_count; a++)
		memcpy(rounds->ns + active[a] * rounds->capacity + rounds->rounds, rounds->fresh + a * count,
		       held * sizeof *rounds->ns);
	rounds->rounds += held;
	return TCB_OK;
}

const double *tcb_rounds_row(const struct tcb_rounds *rounds, size_t row, size_t first)
{
	return rounds->ns + row * rounds->capacity + first;
}
