/* SPDX-License-Identifier: MIT
 *
 * Winners of other problems to candidates of this one.  In: winners and a
 * space; out: the nearest winners' geometries, each carried over as a lookup
 * does it: tiles as large as the shape grow with it; else as it is; else the
 * nearest candidate that the space has.
 */
#include "search/starts.h"

#include <math.h>
#include <stdint.h>

#include "kernels/op.h"

/* In factors of two of a dimension: chosen by leave-one-out over the recorded spaces (docs/search.md). */
static const double OTHER_FORMAT = 0.5, OTHER_CONTRACT = 1, SAME_ARCH = 0.25, OTHER_ARCH = 0.5, THREADS = 0.25;
static const double RANK = 0.5; /* of a tie set: its members are alike, so later ones tell little */
/* A winner of fewer may be no good; per factor of two of what is missing. */
static const double TRIED_ENOUGH = 256, TOO_FEW = 0.5;
static const double THREADS_APART = 8; /* steps: tiles follow the number of threads, not the other way round */
static const double KNOB_MOST = 2;     /* numbers of a knob are no further apart: 0 often means another way */

static double log2_apart(size_t a, size_t b)
{
	return a == b ? 0 : fabs(log2(((double)a + (a == 0)) / ((double)b + (b == 0))));
}

double tcb_start_distance(const struct tcb_start_winner *winner, const struct tcb_problem *problem, unsigned threads)
{
	static const double DEVICE[] = { 0, SAME_ARCH, OTHER_ARCH };
	const struct tcb_shape *from = &winner->problem.shape, *to = &problem->shape;
	if (!winner->problem.op || !tcb_op_is_like(winner->problem.op, problem->op) || !threads != !winner->threads ||
	    !from->words.query != !to->words.query)
		return INFINITY;
	const double m = log2_apart(from->m, to->m), n = log2_apart(from->n, to->n), k = log2_apart(from->k, to->k);
	double distance = sqrt(m * m + n * n + k * k) + DEVICE[winner->device] + RANK * winner->rank;
	distance += winner->problem.op == problem->op ? 0 : OTHER_FORMAT;
	distance += winner->problem.contract == problem->contract ? 0 : OTHER_CONTRACT;
	if ((double)winner->tried < TRIED_ENOUGH)
		distance += TOO_FEW * log2(TRIED_ENOUGH / (double)(winner->tried + !winner->tried));
	return distance + THREADS * log2_apart(winner->threads, threads);
}

/* --- from a geometry to a candidate --- */

/* Steps between two geometries: factors of two of tiles and numbers, one for each word that differs; what is MOST or
 * more may be given as less than it is. */
static double steps_apart(const struct tcb_geometry *a, const struct tcb_geometry *b, double most)
{
	double steps = 0;
	for (int knob = 0; knob < TCB_KNOBS_MAX && steps < most; knob++) {
		const int32_t x = a->knob[knob], y = b->knob[knob];
		const int is_number = x >= 0 && y >= 0 && !tcb_geometry_word(a, knob, 0);
		if (x != y && knob == TCB_KNOB_THREADS)
			steps += THREADS_APART;
		else if (x != y)
			steps += is_number ? fmin(KNOB_MOST, log2_apart((size_t)x, (size_t)y)) : 1;
	}
	for (int level = 0; level < TCB_LEVEL_COUNT && steps < most; level++) {
		const struct tcb_tile *x = &a->tile[level], *y = &b->tile[level];
		steps += log2_apart(x->m, y->m) + log2_apart(x->n, y->n) + log2_apart(x->k, y->k);
	}
	return steps;
}

static size_t find_nearest(const struct tcb_start_space *space, const struct tcb_geometry *geometry, int *is_same_out)
{
	size_t nearest = SIZE_MAX;
	double least = INFINITY;
	for (size_t i = 0; i < space->count && least > 0; i++) {
		const double steps = steps_apart(&space->geometries[i], geometry, least);
		if (steps < least) {
			least = steps;
			nearest = i;
		}
	}
	*is_same_out = least == 0;
	return nearest;
}

/* WINNER's geometry for this sweep: its number of threads, and none of the optimiser's passes, which come later. */
static struct tcb_geometry adapt(const struct tcb_start_space *space, const struct tcb_start_winner *winner)
{
	struct tcb_geometry geometry = winner->geometry;
	if (geometry.knob[TCB_KNOB_THREADS] > 0 && winner->threads != space->threads)
		geometry.knob[TCB_KNOB_THREADS] = (int32_t)space->threads;
	geometry.knob[TCB_KNOB_PASSES] = TCB_KNOB_UNSET;
	return geometry;
}

static struct tcb_start carry_over(const struct tcb_start_space *space, const struct tcb_start_winner *winner)
{
	struct tcb_start start = { .index = SIZE_MAX };
	const struct tcb_geometry plain = adapt(space, winner);
	struct tcb_geometry carried = plain;
	tcb_geometry_carry_over(&carried, &winner->problem.shape, &space->problem->shape);
	const size_t nearest = find_nearest(space, &carried, &start.is_carried);
	if (!start.is_carried)
		start.index = find_nearest(space, &plain, &start.is_carried);
	if (!start.is_carried || start.index == SIZE_MAX)
		start.index = nearest;
	return start;
}

/* --- the list --- */

/* The next of the winners by distance, after the one at LAST with distance FAR; COUNT: there is none. */
static size_t next_winner(const struct tcb_start_space *space, const struct tcb_start_winner *winners, size_t count,
			  size_t last, double *far)
{
	size_t next = count;
	double least = INFINITY;
	for (size_t i = 0; i < count; i++) {
		const double distance = tcb_start_distance(&winners[i], space->problem, space->threads);
		const int is_after = distance > *far || (distance == *far && (last == SIZE_MAX || i > last));
		if (is_after && distance < least) {
			least = distance;
			next = i;
		}
	}
	*far = least;
	return next;
}

static int is_new(const struct tcb_start *starts, size_t count, size_t index)
{
	for (size_t i = 0; i < count; i++)
		if (starts[i].index == index)
			return 0;
	return 1;
}

size_t tcb_starts_choose(const struct tcb_start_space *space, const struct tcb_start_winner *winners, size_t count,
			 size_t most, struct tcb_start out[TCB_STARTS_MAX])
{
	size_t found = 0, last = SIZE_MAX;
	double far = 0;
	most = most < TCB_STARTS_MAX ? most : TCB_STARTS_MAX;
	while (found < most && (last = next_winner(space, winners, count, last, &far)) < count) {
		struct tcb_start start = carry_over(space, &winners[last]);
		start.winner = last;
		if (start.index != SIZE_MAX && start.index != space->fallback && is_new(out, found, start.index))
			out[found++] = start;
	}
	return found;
}
