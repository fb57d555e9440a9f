/* SPDX-License-Identifier: MIT
 *
 * The table is row-major, so that the samples of one geometry lie together for
 * the statistics; columns grow by doubling.
 */
#include "search/rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/quiet.h"

enum { FIRST_CAPACITY = 64 };

static enum tcb_status no_memory(const struct tcb_rounds *rounds, struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for the samples of %zu geometries", rounds->rows);
}

/* *TABLE with room for CAPACITY columns; what is in it stays. */
static int widen(const struct tcb_rounds *rounds, double **table, size_t capacity)
{
	double *wide = malloc((rounds->rows * capacity + 1) * sizeof *wide);
	if (!wide)
		return -1;
	for (size_t row = 0; row < rounds->rows && *table; row++)
		memcpy(wide + row * capacity, *table + row * rounds->capacity, rounds->rounds * sizeof *wide);
	free(*table);
	*table = wide;
	return 0;
}

static enum tcb_status reserve_rounds(struct tcb_rounds *rounds, size_t count, struct tcb_error *err)
{
	size_t capacity = rounds->capacity;
	if (count <= capacity)
		return TCB_OK;
	while (capacity < count)
		capacity *= 2;
	for (double **of[] = { &rounds->limit, &rounds->limit_ns, NULL }, ***at = of; *at; at++) {
		double *limit = realloc(**at, capacity * sizeof *limit);
		if (!limit)
			return no_memory(rounds, err);
		**at = limit;
	}
	struct tcb_rounds old = *rounds;
	if (widen(&old, &rounds->ns, capacity) != 0)
		return no_memory(rounds, err);
	if (widen(&old, &rounds->lost, capacity) != 0 || widen(&old, &rounds->counted, capacity) != 0)
		return no_memory(rounds, err);
	rounds->capacity = capacity;
	return TCB_OK;
}

enum tcb_status tcb_rounds_init(struct tcb_rounds *rounds, const struct tcb_geometry *geometries, size_t rows,
				struct tcb_error *err)
{
	*rounds = (struct tcb_rounds){ .geometries = geometries, .rows = rows, .capacity = FIRST_CAPACITY };
	rounds->limit = malloc(FIRST_CAPACITY * sizeof *rounds->limit);
	rounds->limit_ns = malloc(FIRST_CAPACITY * sizeof *rounds->limit_ns);
	rounds->active_geometries = malloc((rows + 1) * sizeof *rounds->active_geometries);
	if (widen(rounds, &rounds->ns, FIRST_CAPACITY) != 0 || widen(rounds, &rounds->lost, FIRST_CAPACITY) != 0 ||
	    widen(rounds, &rounds->counted, FIRST_CAPACITY) != 0 || !rounds->limit || !rounds->limit_ns ||
	    !rounds->active_geometries) {
		tcb_rounds_fini(rounds);
		return no_memory(rounds, err);
	}
	return TCB_OK;
}

void tcb_rounds_fini(struct tcb_rounds *rounds)
{
	free(rounds->ns);
	free(rounds->lost);
	free(rounds->counted);
	free(rounds->limit);
	free(rounds->limit_ns);
	free(rounds->active_geometries);
	free(rounds->fresh);
	*rounds = (struct tcb_rounds){ 0 };
}

/* Round R of ROW as it was measured, with LOST.  What is disturbed does not count. */
static void put(struct tcb_rounds *rounds, size_t row, size_t round, double ns, double lost)
{
	const size_t at = row * rounds->capacity + round;
	rounds->ns[at] = ns;
	rounds->lost[at] = lost;
	rounds->counted[at] = tcb_is_disturbed(lost) ? NAN : ns;
	rounds->knows_lost |= !isnan(lost);
}

enum tcb_status tcb_rounds_add(struct tcb_rounds *rounds, struct tcb_evaluator *evaluator, enum tcb_state state,
			       const size_t *active, size_t active_count, size_t count, int with_limit, uint64_t seed,
			       struct tcb_error *err)
{
	const size_t cells = active_count * count;
	TCB_TRY(reserve_rounds(rounds, rounds->rounds + count, err));
	if (2 * cells + count > rounds->fresh_capacity) {
		double *fresh = realloc(rounds->fresh, (2 * cells + count) * sizeof *fresh);
		if (!fresh)
			return no_memory(rounds, err);
		rounds->fresh = fresh;
		rounds->fresh_capacity = 2 * cells + count;
	}
	for (size_t a = 0; a < active_count; a++)
		rounds->active_geometries[a] = rounds->geometries[active[a]];
	double *limit = rounds->limit_ns + rounds->rounds, *lost = rounds->fresh + cells;
	for (size_t r = 0; r < count; r++)
		limit[r] = NAN;
	TCB_TRY(tcb_evaluator_interleave(evaluator, rounds->active_geometries, active_count, state, count, seed,
					 rounds->fresh, with_limit ? limit : NULL, lost, err));
	const size_t held = tcb_evaluator_held(evaluator);
	for (size_t row = 0; row < rounds->rows; row++)
		for (size_t r = 0; r < held; r++)
			put(rounds, row, rounds->rounds + r, NAN, NAN);
	for (size_t a = 0; a < active_count; a++)
		for (size_t r = 0; r < held; r++)
			put(rounds, active[a], rounds->rounds + r, rounds->fresh[a * count + r], lost[a * count + r]);
	for (size_t r = 0; r < held; r++)
		rounds->limit[rounds->rounds + r] = tcb_is_disturbed(lost[cells + r]) ? NAN : limit[r];
	rounds->rounds += held;
	return TCB_OK;
}

const double *tcb_rounds_row(const struct tcb_rounds *rounds, size_t row, size_t first)
{
	return rounds->counted + row * rounds->capacity + first;
}

const double *tcb_rounds_all(const struct tcb_rounds *rounds, size_t row, size_t first)
{
	return rounds->ns + row * rounds->capacity + first;
}

const double *tcb_rounds_lost(const struct tcb_rounds *rounds, size_t row, size_t first)
{
	return rounds->lost + row * rounds->capacity + first;
}

static int is_quiet(const struct tcb_rounds *rounds, const size_t *active, size_t active_count, size_t round)
{
	for (size_t a = 0; a < active_count; a++)
		if (tcb_is_disturbed(rounds->lost[active[a] * rounds->capacity + round]))
			return 0;
	return 1;
}

size_t tcb_rounds_quiet(const struct tcb_rounds *rounds, const size_t *active, size_t active_count, size_t first)
{
	size_t quiet = 0;
	for (size_t round = first; round < rounds->rounds; round++)
		quiet += (size_t)is_quiet(rounds, active, active_count, round);
	return quiet;
}

size_t tcb_rounds_settle(struct tcb_rounds *rounds, const size_t *active, size_t active_count, size_t first)
{
	const size_t quiet = tcb_rounds_quiet(rounds, active, active_count, first);
	int has_limit = 0;
	for (size_t round = first; round < rounds->rounds; round++) {
		const int counts = quiet < TCB_QUIET_LEAST || is_quiet(rounds, active, active_count, round);
		for (size_t row = 0; row < rounds->rows; row++) {
			const size_t at = row * rounds->capacity + round;
			rounds->counted[at] = counts ? rounds->ns[at] : NAN;
		}
		has_limit |= !isnan(rounds->limit[round]);
	}
	for (size_t round = first; round < rounds->rounds && !has_limit; round++)
		rounds->limit[round] = rounds->limit_ns[round]; /* better a disturbed one than none */
	return quiet;
}
