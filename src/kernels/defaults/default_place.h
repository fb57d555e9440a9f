/* SPDX-License-Identifier: MIT
 *
 * What rules (default_rules.h) and what was learned (learned.h) name as geometries, at a problem: moved into the
 * default space of a target there.
 */
#ifndef TCB_KERNELS_DEFAULTS_DEFAULT_PLACE_H
#define TCB_KERNELS_DEFAULTS_DEFAULT_PLACE_H

#include "kernels/constraint.h"

/* The default space that a geometry is to be an element of. */
struct tcb_default_place {
	const struct tcb_problem *problem;
	struct tcb_axis axes[TCB_AXES_MAX];
	size_t axis_count;
	uint8_t axis_of[TCB_FIELDS_MAX]; /* by a field's bit number: which, from 1 on; 0: none */
	struct tcb_geometry standard;    /* the op's own default: what has no axis is as there */
};

void tcb_default_place_init(struct tcb_default_place *place, const struct tcb_problem *problem,
			    const struct tcb_target *target);
/* FIELD's values there; NULL: there is one, that of the op's own default. */
const struct tcb_axis *tcb_default_axis(const struct tcb_default_place *place, struct tcb_field field);
/* Is FIELD a number, which may be moved to the nearest of its axis?  A word is one of it or not. */
int tcb_default_is_number(const struct tcb_default_place *place, struct tcb_field field);
/* The value of AXIS nearest to WANTED among the multiples of BELOW, WANTED if there is none; IS_WHOLE: one that is not
 * smaller, if there is one. */
int64_t tcb_default_nearest(const struct tcb_axis *axis, int64_t wanted, int is_whole, int64_t below);
/* GEOMETRY's numbers become those of the space; of WHOLE tiles no smaller than the shape where there are such.  0 where
 * a word is not in the space. */
int tcb_default_move(const struct tcb_default_place *place, tcb_fields whole, struct tcb_geometry *geometry);
/* FORM, a row's text, with numbers for its letters; WHOLE_OUT: the fields that are to be as large as the shape. */
int tcb_default_fill_in(const char *form, const struct tcb_default_place *place, struct tcb_geometry *out,
			tcb_fields *whole_out);
int tcb_default_is_legal(const struct tcb_default_place *place, const struct tcb_target *target,
			 const struct tcb_geometry *geometry);
/* Moves GEOMETRY into the space, and where it MENDS changes what is not legal there, which takes up to 2 ms. */
int tcb_default_settle(const struct tcb_default_place *place, const struct tcb_target *target, tcb_fields whole,
		       int mends, struct tcb_geometry *geometry);

#endif
