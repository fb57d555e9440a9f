/* SPDX-License-Identifier: MIT
 *
 * What strategies share: coordinates and distances of the geometries of a
 * space, and a shuffled deck of its indices.
 *
 * A space is no full grid: constraints cut holes into it, and knobs that pick
 * a compiled variant change together.  So neighbours are found by distance
 * over the geometries that exist, not by stepping along axes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "search/strategy.h"

enum { FIELDS = 3 * TCB_LEVEL_COUNT + TCB_KNOB_COUNT };

static int64_t field_value(const struct tcb_geometry *geometry, size_t field)
{
	if (field >= 3 * TCB_LEVEL_COUNT)
		return geometry->knob[field - 3 * TCB_LEVEL_COUNT];
	const struct tcb_tile *tile = &geometry->tile[field / 3];
	return (int64_t)(field % 3 == 0 ? tile->m : field % 3 == 1 ? tile->n : tile->k);
}

static int compare_values(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* The different values of FIELD in the space, ascending, into VALUES; returns how many. */
static size_t distinct_values(const struct tcb_space *space, size_t field, int64_t *values)
{
	for (size_t i = 0; i < space->count; i++)
		values[i] = field_value(&space->geometries[i], field);
	qsort(values, space->count, sizeof *values, compare_values);
	size_t distinct = 0;
	for (size_t i = 0; i < space->count; i++)
		if (i == 0 || values[i] != values[i - 1])
			values[distinct++] = values[i];
	return distinct;
}

enum tcb_status tcb_lattice_init(struct tcb_lattice *lattice, const struct tcb_space *space, struct tcb_error *err)
{
	*lattice = (struct tcb_lattice){ .count = space->count };
	int64_t *values = malloc(space->count * sizeof *values);
	lattice->coordinate = calloc(space->count * FIELDS, sizeof *lattice->coordinate);
	lattice->named = calloc(FIELDS, 1);
	if (!values || !lattice->coordinate || !lattice->named) {
		free(values);
		tcb_lattice_fini(lattice);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the coordinates of %zu geometries", space->count);
	}
	size_t varying[FIELDS], fields = 0;
	for (size_t field = 0; field < FIELDS; field++)
		if (distinct_values(space, field, values) > 1)
			varying[fields++] = field;
	for (size_t f = 0; f < fields; f++) {
		size_t field = varying[f], distinct = distinct_values(space, field, values);
		for (size_t i = 0; i < space->count; i++) {
			int64_t value = field_value(&space->geometries[i], field);
			const int64_t *at = bsearch(&value, values, distinct, sizeof *values, compare_values);
			lattice->coordinate[i * fields + f] = (uint16_t)(at - values);
		}
		lattice->named[f] = field >= 3 * TCB_LEVEL_COUNT &&
				    tcb_knob_word((enum tcb_knob)(field - 3 * TCB_LEVEL_COUNT), 0) != NULL;
	}
	lattice->fields = fields;
	free(values);
	return TCB_OK;
}

void tcb_lattice_fini(struct tcb_lattice *lattice)
{
	free(lattice->coordinate);
	free(lattice->named);
	*lattice = (struct tcb_lattice){ 0 };
}

size_t tcb_lattice_distance(const struct tcb_lattice *lattice, size_t a, size_t b)
{
	const uint16_t *x = lattice->coordinate + a * lattice->fields, *y = lattice->coordinate + b * lattice->fields;
	size_t distance = 0;
	for (size_t f = 0; f < lattice->fields; f++) {
		size_t steps = x[f] > y[f] ? (size_t)(x[f] - y[f]) : (size_t)(y[f] - x[f]);
		distance += lattice->named[f] ? steps != 0 : steps;
	}
	return distance;
}

enum tcb_status tcb_deck_init(struct tcb_deck *deck, size_t count, uint64_t seed, struct tcb_error *err)
{
	*deck = (struct tcb_deck){ .count = count };
	deck->order = malloc((count + 1) * sizeof *deck->order);
	deck->taken = calloc(count + 1, 1);
	if (!deck->order || !deck->taken) {
		tcb_deck_fini(deck);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the order of %zu geometries", count);
	}
	struct tcb_rng rng;
	tcb_rng_init(&rng, seed);
	for (size_t i = 0; i < count; i++) { /* Fisher and Yates, inside out */
		size_t j = (size_t)tcb_rng_below(&rng, i + 1);
		deck->order[i] = deck->order[j];
		deck->order[j] = i;
	}
	return TCB_OK;
}

void tcb_deck_fini(struct tcb_deck *deck)
{
	free(deck->order);
	free(deck->taken);
	*deck = (struct tcb_deck){ 0 };
}

void tcb_deck_take(struct tcb_deck *deck, size_t index)
{
	deck->taken[index] = 1;
}

size_t tcb_deck_deal(struct tcb_deck *deck)
{
	while (deck->next < deck->count) {
		size_t index = deck->order[deck->next++];
		if (!deck->taken[index]) {
			deck->taken[index] = 1;
			return index;
		}
	}
	return TCB_ASK_NONE;
}

size_t tcb_deck_deal_near(struct tcb_deck *deck, const struct tcb_lattice *lattice, size_t from, size_t radius)
{
	size_t nearest = TCB_ASK_NONE, least = radius;
	for (size_t i = deck->next; i < deck->count; i++) {
		size_t index = deck->order[i];
		if (deck->taken[index])
			continue;
		size_t distance = tcb_lattice_distance(lattice, from, index);
		if (distance < least || (distance == least && nearest == TCB_ASK_NONE)) {
			nearest = index;
			least = distance;
		}
	}
	if (nearest != TCB_ASK_NONE)
		deck->taken[nearest] = 1;
	return nearest;
}
