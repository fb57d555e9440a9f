/* SPDX-License-Identifier: MIT
 *
 * The small shapes that a GPU's candidate is verified at.  In: an op, a problem,
 * a geometry; out: shapes of few rows and columns, an odd number where the
 * kernel serves any, and the geometry as it is in the space of such a shape.  All
 * of k stays, and with it what is compiled; only grids and arguments differ.  Where
 * the shape has words, heads stay, and there are sequences of several lengths.
 */
#include "base/sizes.h"
#include "kernels/constraint.h"
#include "worker/verify.h"

enum {
	SEQUENCES = 5, /* with lengths of their own: of all tokens, of some, of one and of none */
	MUCH = 1 << 16 /* m * k * heads of which a thousand tokens take the reference a second */
};

/* WANT, or more where TILE is more than that needs (H2): an odd number of which a power of two has a whole tile. */
static size_t fill_half(size_t want, size_t tile, size_t whole)
{
	return tcb_least(tcb_most(want, (tile / 2 + 1) | 1), whole);
}

/* A macro tile of what is there, or of a part of it that is not larger. */
static void fit_macro(size_t from, size_t to, size_t *macro)
{
	if (from != to)
		*macro = tcb_least(*macro, tcb_power_of_two_up(to));
}

int tcb_verify_gpu_fit(const struct tcb_problem *problem, const struct tcb_target *target, struct tcb_shape *shape,
		       struct tcb_geometry *geometry)
{
	const struct tcb_shape *whole = &problem->shape;
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI];
	struct tcb_tile *macro = &geometry->tile[TCB_MACRO];
	const int32_t cluster = geometry->knob[TCB_KNOB_CLUSTER];
	const size_t together = cluster > 1 ? (size_t)cluster : 1;
	struct tcb_problem small = *problem;
	shape->m = fill_half(shape->m, midi->m * together, whole->m);
	shape->n = fill_half(shape->n, midi->n * together, whole->n);
	fit_macro(whole->m, shape->m, &macro->m);
	fit_macro(whole->n, shape->n, &macro->n);
	small.shape = *shape;
	return tcb_constraint_require(&small, target, geometry, NULL) == TCB_OK ? 0 : -1;
}

size_t tcb_verify_gpu_shapes(const struct tcb_problem *problem, const struct tcb_target *target,
			     const struct tcb_geometry *geometry, struct tcb_shape shapes[TCB_CODE_UNITS_MAX],
			     struct tcb_geometry fitted[TCB_CODE_UNITS_MAX])
{
	const struct tcb_shape *whole = &problem->shape;
	if (problem->op->is_of_its_shape)
		return 0;
	/* Row ops have rows m; the others outputs n.  The last is for kernels that copy vectors of 16 bytes and are not
	 * for the others. */
	const struct tcb_shape of_rows[] = { { 1, whole->n, 0 }, { tcb_least(37, whole->m), whole->n, 0 } };
	const struct tcb_shape of_products[] = { { whole->m, 1, whole->k },
						 { whole->m, tcb_least(1009, whole->n), whole->k },
						 { tcb_least(201, whole->m), tcb_least(1000, whole->n), whole->k } };
	const size_t each = whole->m * whole->k * tcb_most(whole->words.query, 1);
	const struct tcb_shape worded[] = { { whole->m, 1, whole->k },
					    { whole->m, tcb_least(each > MUCH ? 37 : 1009, whole->n), whole->k } };
	const int has_words = whole->words.query > 0;
	const struct tcb_shape *wanted = has_words ? worded : whole->k ? of_products : of_rows;
	const size_t wanted_count = whole->k && !has_words ? 3 : 2;
	size_t count = 0;
	for (size_t i = 0; i < wanted_count; i++) {
		struct tcb_shape shape = wanted[i];
		shape.words = whole->words;
		if (has_words) {
			shape.words.sequences = SEQUENCES;
			shape.words.ragged = 1;
		}
		if (i == 2 && whole->m == 1 && count > 0) /* the last adds nothing */
			break;
		fitted[count] = *geometry;
		if (tcb_verify_gpu_fit(problem, target, &shape, &fitted[count]) != 0 || tcb_shape_equal(&shape, whole))
			continue;
		size_t seen = 0;
		while (seen < count && !tcb_shape_equal(&shapes[seen], &shape))
			seen++;
		if (seen == count)
			shapes[count++] = shape;
	}
	return count;
}
