/* SPDX-License-Identifier: MIT
 *
 * What strategies share: coordinates and distances of the candidates of a
 * space, and a shuffled deck of its indices.
 *
 * A space is no full grid: constraints cut holes into it, and knobs that pick
 * a compiled variant change together.  So neighbours are found by distance
 * over the candidates that exist, not by stepping along axes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "search/strategy.h"

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The different values of FIELD in the space, ascending, into VALUES; returns how many. */
static size_t distinct_values(const struct tcb_lattice_source *source, size_t field, double *values)
{
	for (size_t i = 0; i < source->count; i++)
		values[i] = source->value(source->ctx, i, field);
	qsort(values, source->count, sizeof *values, compare_values);
	size_t distinct = 0;
	for (size_t i = 0; i < source->count; i++)
		if (i == 0 || values[i] != values[distinct - 1])
			values[distinct++] = values[i];
	return distinct;
}

/* Is field A of LATTICE, whose rows have STRIDE coordinates, the same as field B? */
static int are_same(const struct tcb_lattice *lattice, size_t stride, size_t a, size_t b)
{
	if (lattice->top[a] != lattice->top[b] || lattice->named[a] != lattice->named[b])
		return 0;
	for (size_t i = 0; i < lattice->count; i++)
		if (lattice->coordinate[i * stride + a] != lattice->coordinate[i * stride + b])
			return 0;
	return 1;
}

/* Fills the next field of LATTICE with the ranks of SOURCE's FIELD among its DISTINCT VALUES, unless another one has
 * the same. */
static void add_field(struct tcb_lattice *lattice, const struct tcb_lattice_source *source, size_t field,
		      const double *values, size_t distinct)
{
	const size_t to = lattice->fields;
	for (size_t i = 0; i < source->count; i++) {
		double value = source->value(source->ctx, i, field);
		const double *at = bsearch(&value, values, distinct, sizeof *values, compare_values);
		lattice->coordinate[i * source->fields + to] = (uint16_t)(at - values);
	}
	lattice->top[to] = (uint16_t)(distinct - 1);
	lattice->named[to] = source->is_named(source->ctx, field) != 0;
	for (size_t other = 0; other < to; other++)
		if (are_same(lattice, source->fields, other, to))
			return;
	lattice->fields++;
}

/* Rows of FIELDS coordinates become rows of as many as there are. */
static void close_rows(struct tcb_lattice *lattice, size_t fields)
{
	for (size_t i = 1; i < lattice->count && lattice->fields < fields; i++)
		memmove(lattice->coordinate + i * lattice->fields, lattice->coordinate + i * fields,
			lattice->fields * sizeof *lattice->coordinate);
}

enum tcb_status tcb_lattice_init(struct tcb_lattice *lattice, const struct tcb_lattice_source *source,
				 struct tcb_error *err)
{
	*lattice = (struct tcb_lattice){ .count = source->count };
	double *values = malloc(source->count * sizeof *values + 1);
	lattice->coordinate = calloc(source->count * source->fields + 1, sizeof *lattice->coordinate);
	lattice->top = calloc(source->fields + 1, sizeof *lattice->top);
	lattice->named = calloc(source->fields + 1, 1);
	enum tcb_status status = TCB_OK;
	if (!values || !lattice->coordinate || !lattice->top || !lattice->named)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the coordinates of %zu candidates",
				  source->count);
	for (size_t field = 0; status == TCB_OK && field < source->fields; field++) {
		const size_t distinct = distinct_values(source, field, values);
		if (distinct > UINT16_MAX)
			status = tcb_fail(err, TCB_E_FORMAT, "a parameter with %zu values; at most %d are searched",
					  distinct, UINT16_MAX);
		else if (distinct > 1 && lattice->fields == TCB_LATTICE_FIELDS)
			status = tcb_fail(err, TCB_E_FORMAT,
					  "a space of more than %d parameters; at most that many are searched",
					  TCB_LATTICE_FIELDS);
		else if (distinct > 1)
			add_field(lattice, source, field, values, distinct);
	}
	free(values);
	if (status == TCB_OK) {
		close_rows(lattice, source->fields);
		status = tcb_lattice_order(lattice, err);
	}
	if (status != TCB_OK)
		tcb_lattice_fini(lattice);
	return status;
}

static double geometry_value(const void *ctx, size_t index, size_t field)
{
	const struct tcb_geometry *geometry = (const struct tcb_geometry *)ctx + index;
	if (field >= 3 * TCB_LEVEL_COUNT)
		return (double)geometry->knob[field - 3 * TCB_LEVEL_COUNT];
	const struct tcb_tile *tile = &geometry->tile[field / 3];
	return (double)(field % 3 == 0 ? tile->m : field % 3 == 1 ? tile->n : tile->k);
}

static int geometry_is_named(const void *ctx, size_t field)
{
	return field >= 3 * TCB_LEVEL_COUNT && tcb_geometry_word(ctx, (int)field - 3 * TCB_LEVEL_COUNT, 0) != NULL;
}

static const char *geometry_name(const void *ctx, size_t field, char room[TCB_NAMED_ROOM])
{
	if (field >= 3 * TCB_LEVEL_COUNT)
		return tcb_geometry_key(ctx, (int)field - 3 * TCB_LEVEL_COUNT);
	(void)snprintf(room, TCB_NAMED_ROOM, "%s.%c", tcb_level_text((enum tcb_level)(field / 3)), "mnk"[field % 3]);
	return room;
}

static struct tcb_named_value geometry_named_value(const void *ctx, size_t index, size_t field)
{
	const struct tcb_geometry *geometry = (const struct tcb_geometry *)ctx + index;
	struct tcb_named_value value = { .number = geometry_value(ctx, index, field) };
	if (field < 3 * TCB_LEVEL_COUNT)
		return value;
	const int knob = (int)field - 3 * TCB_LEVEL_COUNT;
	value.is_missing = geometry->knob[knob] == TCB_KNOB_UNSET;
	value.word = value.is_missing ? NULL : tcb_geometry_word(geometry, knob, geometry->knob[knob]);
	return value;
}

struct tcb_named_space tcb_named_geometries(const struct tcb_geometry *geometries, size_t count)
{
	const size_t fields = 3 * TCB_LEVEL_COUNT + (count ? (size_t)tcb_geometry_knobs(geometries) : 0);
	return (struct tcb_named_space){ count, fields, geometry_name, geometry_named_value, geometries };
}

enum tcb_status tcb_lattice_of_geometries(struct tcb_lattice *lattice, const struct tcb_geometry *geometries,
					  size_t count, struct tcb_error *err)
{
	const size_t fields = 3 * TCB_LEVEL_COUNT + (count ? (size_t)tcb_geometry_knobs(geometries) : 0);
	const struct tcb_lattice_source source = { count, fields, geometry_value, geometry_is_named, geometries };
	return tcb_lattice_init(lattice, &source, err);
}

void tcb_lattice_fini(struct tcb_lattice *lattice)
{
	free(lattice->coordinate);
	free(lattice->top);
	free(lattice->named);
	free(lattice->order);
	free(lattice->skip);
	*lattice = (struct tcb_lattice){ 0 };
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
