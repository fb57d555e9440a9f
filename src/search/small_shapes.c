/* SPDX-License-Identifier: MIT
 *
 * The small shapes that a candidate is verified on.  In: an op, a problem, a
 * geometry; out: shapes that cut its tiles at every edge, and the geometry as
 * it would be in the space of such a shape.
 */
#include "search/verify.h"

enum {
	SMALL_ELEMENTS = 1 << 20, /* largest m*n*k of a small shape: about a millisecond of scalar code */
	STEP_SEARCH = 4096,       /* how far to look for a legal size */
};

static size_t *dimension(struct tcb_shape *shape, int which)
{
	return which == 0 ? &shape->m : which == 1 ? &shape->n : &shape->k;
}

/* Raises one dimension of SHAPE from WANT on until the op accepts the shape; 0 on success. */
static int raise_dimension(const struct tcb_op *op, struct tcb_shape *shape, int which, size_t want)
{
	for (size_t value = want; value < want + STEP_SEARCH; value++) {
		*dimension(shape, which) = value;
		if (op->check_shape(op, shape, NULL) == TCB_OK)
			return 0;
	}
	return -1;
}

static int same_shape(const struct tcb_shape *a, const struct tcb_shape *b)
{
	return a->m == b->m && a->n == b->n && a->k == b->k;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* EXTRA more than TILE.  A tile that covers the problem's whole dimension must cover the small one, too: a plan may
 * rely on it (one thread, no partial sums); then one less than the problem has. */
static size_t past_tile(size_t tile, size_t dimension, size_t extra)
{
	if (tile < dimension)
		return tile + extra;
	return dimension > 1 ? dimension - 1 : 1;
}

size_t tcb_verify_shapes(const struct tcb_op *op, const struct tcb_shape *problem, const struct tcb_geometry *geometry,
			 struct tcb_shape out[TCB_VERIFY_SHAPES_MAX])
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	size_t k_unit = 0;
	struct tcb_shape smallest = *problem;
	if (problem->k > 0) {
		if (raise_dimension(op, &smallest, 2, 1) != 0)
			return 0;
		k_unit = smallest.k;
	}
	/* Where the problem's k is cut into blocks, so is the small one's: whole blocks, which H2 asks for. */
	size_t k_split = least(5 * k_unit, problem->k);
	if (k_unit > 0 && midi->k < problem->k)
		k_split = 2 * midi->k;
	const struct tcb_shape wanted[TCB_VERIFY_SHAPES_MAX] = {
		{ 1, 1, k_unit },
		{ least(3, problem->m), least(37, problem->n), least(3 * k_unit, problem->k) },
		{ past_tile(midi->m, problem->m, 1), past_tile(midi->n, problem->n, 3), k_split },
		{ past_tile(macro->m, problem->m, 1), past_tile(macro->n, problem->n, 37), k_unit },
	};
	size_t count = 0;
	for (size_t i = 0; i < TCB_VERIFY_SHAPES_MAX; i++) {
		struct tcb_shape want = wanted[i], shape = *problem;
		/* Too large to be small: fewer columns, then fewer rows.  The last one keeps its columns, so that there
		 * are as many macro tiles as a plan for several threads may ask for. */
		size_t k = want.k ? want.k : 1, kept = i == 3 && k_unit > 0 ? least(want.n, SMALL_ELEMENTS / k) : 37;
		size_t m_most = kept ? SMALL_ELEMENTS / k / kept : 0;
		if (want.m > m_most)
			want.m = m_most ? m_most | 1 : 1;
		size_t n_most = SMALL_ELEMENTS / k / want.m;
		if (want.n > n_most)
			want.n = n_most > 37 ? n_most | 1 : 37;
		if (k_unit > 0 && raise_dimension(op, &shape, 2, want.k) != 0)
			continue;
		if (raise_dimension(op, &shape, 1, want.n) != 0 || raise_dimension(op, &shape, 0, want.m) != 0)
			continue;
		size_t seen = 0;
		while (seen < count && !same_shape(&out[seen], &shape))
			seen++;
		if (seen == count)
			out[count++] = shape;
	}
	return count;
}

static size_t round_up(size_t value, size_t step)
{
	return step > 1 ? (value + step - 1) / step * step : value;
}

void tcb_verify_fit(const struct tcb_shape *from, const struct tcb_shape *to, struct tcb_geometry *geometry)
{
	const size_t was[] = { from->m, from->n, from->k }, is[] = { to->m, to->n, to->k };
	struct tcb_tile *tile = geometry->tile;
	size_t *macro[] = { &tile[TCB_MACRO].m, &tile[TCB_MACRO].n, &tile[TCB_MACRO].k };
	size_t *midi[] = { &tile[TCB_MIDI].m, &tile[TCB_MIDI].n, &tile[TCB_MIDI].k };
	const size_t micro[] = { tile[TCB_MICRO].m, tile[TCB_MICRO].n, tile[TCB_MICRO].k };
	for (int d = 0; d < 3; d++) {
		if (was[d] == 0 || *macro[d] == 0 || *midi[d] == 0)
			continue;
		size_t parts = (was[d] + *macro[d] - 1) / *macro[d];
		if (*midi[d] >= was[d])
			*midi[d] = round_up(is[d], micro[d]);
		*macro[d] = round_up((is[d] + parts - 1) / parts, *midi[d]);
	}
}

size_t tcb_verify_gpu_shapes(const struct tcb_op *op, const struct tcb_problem *problem,
			     const struct tcb_geometry *geometry, struct tcb_shape shapes[TCB_CODE_UNITS_MAX],
			     struct tcb_geometry fitted[TCB_CODE_UNITS_MAX])
{
	const struct tcb_shape *whole = &problem->shape;
	/* Row ops have rows m; the others outputs n.  The last is for kernels that copy vectors of 16 bytes and refuse
	 * the others. */
	const struct tcb_shape wanted[] = {
		{ whole->k ? whole->m : 1, whole->k ? 1 : whole->n, whole->k },
		{ whole->k ? whole->m : least(37, whole->m), whole->k ? least(1009, whole->n) : whole->n, whole->k },
		{ whole->k && whole->m > 1 ? least(201, whole->m) : whole->m,
		  whole->k && whole->m > 1 ? least(1000, whole->n) : whole->n, whole->k },
	};
	size_t count = 0;
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		if (same_shape(&wanted[i], whole) || op->check_shape(op, &wanted[i], NULL) != TCB_OK)
			continue;
		shapes[count] = wanted[i];
		fitted[count] = *geometry;
		tcb_verify_fit(whole, &wanted[i], &fitted[count]);
		count++;
	}
	return count;
}
