/* SPDX-License-Identifier: MIT
 *
 * Who is near to a point?  The candidates, ordered by their coordinates, are
 * walked as a tree: candidates that have their first fields in common are one
 * branch, and where these fields are too far from the point already, the whole
 * branch is passed over.
 */
#include <stdlib.h>

#include "search/strategy.h"

/* ORDER by the coordinates of FIELD; equal ones stay as they were. */
static void sort_by_field(const struct tcb_lattice *lattice, size_t field, const uint32_t *order, uint32_t *out,
			  uint32_t *begins)
{
	const uint16_t *column = lattice->coordinate + field;
	for (size_t v = 0; v <= lattice->top[field] + 1u; v++)
		begins[v] = 0;
	for (size_t i = 0; i < lattice->count; i++)
		begins[column[i * lattice->fields] + 1u]++;
	for (size_t v = 0; v < lattice->top[field]; v++)
		begins[v + 1] += begins[v];
	for (size_t i = 0; i < lattice->count; i++)
		out[begins[column[order[i] * lattice->fields]]++] = order[i];
}

/* For each place of the order and each field: how many places on somebody differs in this field or an earlier one. */
static void find_branches(struct tcb_lattice *lattice)
{
	const size_t fields = lattice->fields, count = lattice->count;
	for (size_t f = 0; f < fields; f++)
		lattice->skip[(count - 1) * fields + f] = (uint32_t)count;
	for (size_t at = count - 1; at-- > 0;) {
		const uint16_t *row = lattice->coordinate + lattice->order[at] * fields;
		const uint16_t *next = lattice->coordinate + lattice->order[at + 1] * fields;
		size_t shared = 0;
		for (; shared < fields && row[shared] == next[shared]; shared++)
			lattice->skip[at * fields + shared] = lattice->skip[(at + 1) * fields + shared];
		for (size_t f = shared; f < fields; f++)
			lattice->skip[at * fields + f] = (uint32_t)(at + 1);
	}
}

enum tcb_status tcb_lattice_order(struct tcb_lattice *lattice, struct tcb_error *err)
{
	const size_t count = lattice->count;
	uint32_t *other = malloc((count + 1) * sizeof *other);
	uint32_t *begins = malloc((UINT16_MAX + 2u) * sizeof *begins);
	lattice->order = malloc((count + 1) * sizeof *lattice->order);
	lattice->skip = malloc((count * lattice->fields + 1) * sizeof *lattice->skip);
	enum tcb_status status = TCB_OK;
	if (count >= UINT32_MAX)
		status = tcb_fail(err, TCB_E_FORMAT, "a space of %zu candidates is too large to be searched", count);
	else if (!other || !begins || !lattice->order || !lattice->skip)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the order of %zu candidates", count);
	for (size_t i = 0; status == TCB_OK && i < count; i++)
		lattice->order[i] = (uint32_t)i;
	for (size_t f = lattice->fields; status == TCB_OK && f-- > 0;) {
		sort_by_field(lattice, f, lattice->order, other, begins);
		uint32_t *sorted = other;
		other = lattice->order;
		lattice->order = sorted;
	}
	if (status == TCB_OK && count && lattice->fields)
		find_branches(lattice);
	free(other);
	free(begins);
	return status;
}

void tcb_walk_init(struct tcb_walk *walk, const struct tcb_lattice *lattice, const uint16_t *point,
		   enum tcb_reach reach, size_t limit)
{
	*walk = (struct tcb_walk){ .lattice = lattice, .point = point, .reach = reach, .limit = limit };
	walk->steps_most = reach == TCB_REACH_ADJACENT || reach == TCB_REACH_ONE_BY_ONE ? 1 : SIZE_MAX;
}

size_t tcb_walk_next(struct tcb_walk *walk)
{
	const struct tcb_lattice *lattice = walk->lattice;
	const size_t fields = lattice->fields;
	while (walk->at < lattice->count) {
		const uint16_t *row = lattice->coordinate + lattice->order[walk->at] * fields;
		size_t f = walk->field;
		for (; f < fields; f++) {
			const int apart = abs((int)row[f] - (int)walk->point[f]);
			const size_t steps = lattice->named[f] ? apart != 0 : (size_t)apart;
			const size_t cost = walk->reach == TCB_REACH_STEPS      ? steps
					    : walk->reach == TCB_REACH_ADJACENT ? 0
										: steps != 0;
			walk->spent[f + 1] = walk->spent[f] + cost;
			if (steps > walk->steps_most || walk->spent[f + 1] > walk->limit)
				break;
		}
		const int is_near = f == fields;
		const size_t found = lattice->order[walk->at];
		walk->distance = walk->spent[f];
		/* On to the next branch, which has fewer fields in common with this one than its own depth. */
		walk->at = is_near ? walk->at + 1 : lattice->skip[walk->at * fields + f];
		walk->field = 0;
		if (walk->at < lattice->count) {
			const uint16_t *next = lattice->coordinate + lattice->order[walk->at] * fields;
			const size_t deep = is_near ? fields : f;
			while (walk->field < deep && next[walk->field] == row[walk->field])
				walk->field++;
		}
		if (is_near)
			return found;
	}
	return TCB_ASK_NONE;
}

/* Within LIMIT steps; TCB_ASK_NONE if there is none. */
static size_t nearest_within(const struct tcb_lattice *lattice, const uint16_t *point, const unsigned char *taken,
			     size_t limit)
{
	struct tcb_walk walk;
	size_t nearest = TCB_ASK_NONE, index;
	tcb_walk_init(&walk, lattice, point, TCB_REACH_STEPS, limit);
	while ((index = tcb_walk_next(&walk)) != TCB_ASK_NONE) {
		if (taken && taken[index])
			continue;
		if (nearest == TCB_ASK_NONE || walk.distance < walk.limit || index < nearest)
			nearest = index;
		walk.limit = walk.distance;
	}
	return nearest;
}

size_t tcb_lattice_nearest(const struct tcb_lattice *lattice, const uint16_t *point, const unsigned char *taken)
{
	size_t farthest = 0, nearest = TCB_ASK_NONE;
	for (size_t f = 0; f < lattice->fields; f++)
		farthest += lattice->named[f] ? 1u : (size_t)(point[f] > lattice->top[f] ? point[f] : lattice->top[f]);
	for (size_t limit = 0; nearest == TCB_ASK_NONE; limit = 2 * limit + 1) {
		nearest = nearest_within(lattice, point, taken, limit);
		if (limit >= farthest)
			break;
	}
	return nearest;
}
