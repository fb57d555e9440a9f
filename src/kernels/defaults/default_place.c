/* SPDX-License-Identifier: MIT
 *
 * A geometry that was good somewhere to an element of the default space at
 * another problem: numbers that the space does not have there are moved to the
 * nearest that it has, tiles from the smallest; on a GPU one or two numbers more
 * are changed where that makes it legal.
 */
#include "kernels/defaults/default_place.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/kind.h"

/* Of its bit. */
static size_t number(struct tcb_field field)
{
	return field.kind == TCB_AXIS_KNOB ? 3 * TCB_LEVEL_COUNT + (size_t)field.which
					   : 3 * (size_t)field.which + (size_t)field.kind;
}

void tcb_default_place_init(struct tcb_default_place *place, const struct tcb_problem *problem,
			    const struct tcb_target *target)
{
	place->problem = problem;
	place->axis_count = tcb_space_of(problem, target, NULL)->axes(problem, target, place->axes);
	memset(place->axis_of, 0, sizeof place->axis_of);
	for (size_t a = 0; a < place->axis_count; a++)
		place->axis_of[number((struct tcb_field){ place->axes[a].kind, place->axes[a].which })] =
			(uint8_t)(a + 1);
	tcb_geometry_init(&place->standard);
	tcb_op_standard(problem, target, &place->standard);
}

const struct tcb_axis *tcb_default_axis(const struct tcb_default_place *place, struct tcb_field field)
{
	const size_t at = place->axis_of[number(field)];
	return at ? &place->axes[at - 1] : NULL;
}

/* Numbers may be moved to the nearest of their axis; a word is one of it or not. */
int tcb_default_is_number(const struct tcb_default_place *place, struct tcb_field field)
{
	return field.kind != TCB_AXIS_KNOB || !tcb_geometry_word(&place->standard, field.which, 0);
}

/* How far VALUE is from WANTED; of a tile that is to be as large as the shape those that are not are farther. */
static double distance(int64_t value, int64_t wanted, int is_whole)
{
	const double doublings = log2((double)value + 1) - log2((double)wanted + 1);
	return is_whole && doublings < 0 ? 64 - doublings : fabs(doublings);
}

/* The value of AXIS nearest to WANTED among the multiples of BELOW; WANTED if there is none. */
int64_t tcb_default_nearest(const struct tcb_axis *axis, int64_t wanted, int is_whole, int64_t below)
{
	int64_t best = wanted;
	double least = INFINITY;
	for (size_t v = 0; v < axis->count; v++)
		if (axis->values[v] == wanted && wanted % below == 0)
			return wanted;
	for (size_t v = 0; v < axis->count; v++) {
		const double far = distance(axis->values[v], wanted, is_whole);
		if (far < least && axis->values[v] % below == 0) {
			best = axis->values[v];
			least = far;
		}
	}
	return best;
}

/* Moves the field into the space; 0 where that is a word. */
static int move_in(const struct tcb_default_place *place, struct tcb_field field, int is_whole,
		   struct tcb_geometry *geometry)
{
	const struct tcb_axis *axis = tcb_default_axis(place, field);
	const int64_t value = tcb_field_get(field, geometry);
	struct tcb_field below = { field.kind, field.which + 1 };
	int64_t wanted = axis ? value : tcb_field_get(field, &place->standard);
	if (axis && value != TCB_KNOB_UNSET)
		wanted = tcb_default_nearest(
			axis, value, is_whole,
			field.kind != TCB_AXIS_KNOB && field.which < TCB_MICRO ? tcb_field_get(below, geometry) : 1);
	tcb_field_set(field, wanted, geometry);
	return wanted == value || tcb_default_is_number(place, field);
}

/* Tiles from the smallest, since each is to be a multiple of the one below. */
int tcb_default_move(const struct tcb_default_place *place, tcb_fields whole, struct tcb_geometry *geometry)
{
	for (int level = TCB_LEVEL_COUNT - 1; level >= 0; level--)
		for (int kind = TCB_AXIS_TILE_M; kind <= TCB_AXIS_TILE_K; kind++) {
			const struct tcb_field field = { (enum tcb_axis_kind)kind, level };
			if (!move_in(place, field, (whole & tcb_field_bit(field)) != 0, geometry))
				return 0;
		}
	for (int knob = 0; knob < tcb_geometry_knobs(&place->standard); knob++)
		if (!move_in(place, (struct tcb_field){ TCB_AXIS_KNOB, knob }, 0, geometry))
			return 0;
	return 1;
}

/* What LETTER stands for in a tile: M, N and K for the shape's size, * for what the op's own default has. */
static size_t number_of(const struct tcb_default_place *place, char letter, struct tcb_field field)
{
	const struct tcb_shape *shape = &place->problem->shape;
	if (letter == '*')
		return (size_t)tcb_field_get(field, &place->standard);
	return letter == 'M' ? shape->m : letter == 'N' ? shape->n : shape->k;
}

/* FORM with numbers for its letters; WHOLE_OUT: the fields that are to be as large as the shape. */
int tcb_default_fill_in(const char *form, const struct tcb_default_place *place, struct tcb_geometry *out,
			tcb_fields *whole_out)
{
	char text[TCB_GEOMETRY_TEXT_MAX];
	size_t used = 0;
	int level = -1, dim = 0; /* tiles come first, the largest before the others */
	*whole_out = 0;
	for (; *form && used + 24 < sizeof text; form++) {
		level += *form == '=';
		dim = *form == '=' ? 0 : dim + (*form == 'x');
		if (!strchr("MNK*", *form)) {
			text[used++] = *form;
			continue;
		}
		if (level < 0 || level >= TCB_LEVEL_COUNT || dim > 2)
			return 0;
		const struct tcb_field field = { (enum tcb_axis_kind)(TCB_AXIS_TILE_M + dim), level };
		if (*form != '*')
			*whole_out |= tcb_field_bit(field);
		used += (size_t)snprintf(text + used, sizeof text - used, "%zu", number_of(place, *form, field));
	}
	text[used] = '\0';
	return !*form && tcb_geometry_parse_of(text, place->problem->op->parameters, out, NULL) == TCB_OK;
}

int tcb_default_is_legal(const struct tcb_default_place *place, const struct tcb_target *target,
			 const struct tcb_geometry *geometry)
{
	struct tcb_candidate candidate = { .op = place->problem->op,
					   .problem = place->problem,
					   .target = target,
					   .geometry = geometry,
					   .is_placed = 1 };
	return !tcb_constraint_first(&candidate, NULL);
}

/* --- numbers that do not go with each other at another shape --- */

/* A number of an axis other than the geometry's, or another join. */
struct change {
	struct tcb_field field;
	int64_t value;
	double far;
};

enum { CHANGES_MAX = TCB_AXES_MAX * TCB_AXIS_VALUES_MAX };

static size_t list_changes(const struct tcb_default_place *place, const struct tcb_geometry *geometry,
			   struct change changes[CHANGES_MAX])
{
	size_t count = 0;
	for (size_t a = 0; a < place->axis_count; a++) {
		const struct tcb_axis *axis = &place->axes[a];
		const struct tcb_field field = { axis->kind, axis->which };
		const int64_t value = tcb_field_get(field, geometry);
		const int is_join = field.kind == TCB_AXIS_KNOB && field.which == TCB_KNOB_JOIN; /* goes with splitk */
		for (size_t v = 0;
		     v < axis->count && (is_join || tcb_default_is_number(place, field)) && value != TCB_KNOB_UNSET;
		     v++)
			if (axis->values[v] != value && axis->values[v] != TCB_KNOB_UNSET)
				changes[count++] =
					(struct change){ field, axis->values[v], distance(axis->values[v], value, 0) };
	}
	return count;
}

/* GEOMETRY with the change of one number, or else of two, that makes it legal and is the smallest; 0: there is none.
 * So a split of k goes on to serve a k of which it is no divisor. */
static int mend(const struct tcb_default_place *place, const struct tcb_target *target, struct tcb_geometry *geometry)
{
	struct change changes[CHANGES_MAX];
	const size_t count = list_changes(place, geometry, changes);
	const struct tcb_geometry from = *geometry;
	double least = INFINITY;
	for (int two = 0; two < 2 && least == INFINITY; two++)
		for (size_t i = 0; i < count; i++)
			for (size_t j = two ? i + 1 : count; j <= count; j++) {
				struct tcb_geometry to = from;
				const double far = changes[i].far + (j < count ? changes[j].far : 0);
				if (far >= least || two != (j < count))
					continue;
				tcb_field_set(changes[i].field, changes[i].value, &to);
				if (j < count)
					tcb_field_set(changes[j].field, changes[j].value, &to);
				if (!tcb_default_is_legal(place, target, &to))
					continue;
				least = far;
				*geometry = to;
			}
	return least < INFINITY;
}

/* GEOMETRY moved into the space.  Rows that are not whole lines cannot be streamed; all else holds for them, too. */
int tcb_default_settle(const struct tcb_default_place *place, const struct tcb_target *target, tcb_fields whole,
		       int mends, struct tcb_geometry *geometry)
{
	if (!tcb_default_move(place, whole, geometry))
		return 0;
	if (tcb_default_is_legal(place, target, geometry))
		return 1;
	if (geometry->knob[TCB_KNOB_STREAM] == 1) {
		geometry->knob[TCB_KNOB_STREAM] = 0;
		if (tcb_default_is_legal(place, target, geometry))
			return 1;
		geometry->knob[TCB_KNOB_STREAM] = 1;
	}
	return mends && tcb_kind_of(target)->is_emitted && mend(place, target, geometry);
}
