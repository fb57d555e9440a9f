/* SPDX-License-Identifier: MIT
 *
 * The search space of one problem on one target: the product of the op's axes,
 * filtered by the hard constraints.
 */
#ifndef TCB_KERNELS_SPACE_H
#define TCB_KERNELS_SPACE_H

#include "kernels/constraint.h"

struct tcb_space {
	struct tcb_geometry *geometries; /* every legal one, each once, and what was added; owned */
	size_t count;
	size_t ordered;   /* so many are in axis order; then come a default that no axis reaches, and what was added */
	size_t raw_count; /* size of the unfiltered product */
	size_t axis_count;
	struct tcb_axis axes[TCB_AXES_MAX];
	size_t default_index; /* the default geometry (default_rules.h) is always an element */
};

/* TCB_E_NOT_FOUND if nothing is legal; TCB_E_OVERFLOW for a product beyond 2^32. */
enum tcb_status tcb_space_create(const struct tcb_op *op, const struct tcb_problem *problem,
				 const struct tcb_target *target, int any_size, struct tcb_space **out,
				 struct tcb_error *err);
void tcb_space_destroy(struct tcb_space *space); /* NULL is fine */
/* Appends GEOMETRY, which no axis reaches and which is not there yet.  Pointers into GEOMETRIES are stale then. */
enum tcb_status tcb_space_add(struct tcb_space *space, const struct tcb_geometry *geometry, struct tcb_error *err);
/* Drops all but the default and the COUNT geometries of ONLY; those of ONLY that SPACE does not have are no matter. */
void tcb_space_keep(struct tcb_space *space, const struct tcb_geometry *only, size_t count);
/* Index of GEOMETRY, or SIZE_MAX. */
size_t tcb_space_find(const struct tcb_space *space, const struct tcb_geometry *geometry);

#endif
