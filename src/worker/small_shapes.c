/* SPDX-License-Identifier: MIT
 *
 * The small shapes that a candidate is verified on.  In: an op, a problem, a
 * geometry; out: shapes that cut its tiles at every edge, and the geometry as
 * it would be in the space of such a shape.
 */
#include "base/sizes.h"
#include "worker/verify.h"

enum {
	SMALL_ELEMENTS = 1 << 20, /* largest m*n*k of a small shape: about a millisecond of scalar code */
	MOST_ELEMENTS = 16 << 20, /* of one whose tiles of k and registers leave no smaller one */
	COLUMNS = 37,
	ROW_UNIT = 16,      /* ops deal rows of weights in groups of as many, even where registers hold fewer */
	STEP_SEARCH = 4096, /* how far to look for a legal size */
	FEW_HEADS = 3,
	SEQUENCES = 5, /* with lengths of their own: of all tokens, of some, of one and of none */
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

/* 1 where the op has no threads. */
static size_t threads_of(const struct tcb_geometry *geometry)
{
	return geometry->knob[TCB_KNOB_THREADS] > 0 ? (size_t)geometry->knob[TCB_KNOB_THREADS] : 1;
}

/* What a CPU's tiles of n are multiples of. */
static size_t row_unit(const struct tcb_geometry *geometry)
{
	const size_t n = tcb_most(geometry->tile[TCB_MICRO].n, 1);
	return geometry->knob[TCB_KNOB_THREADS] > 0 ? tcb_round_up(ROW_UNIT, n) : n;
}

/* EXTRA more than TILE.  A tile that covers the problem's whole dimension must cover the small one, too: a plan may
 * rely on it (one thread, no partial sums); then one less than the problem has, unless that alone makes it fit into
 * UNIT, the registers, where it is another kernel's work. */
static size_t past_tile(size_t tile, size_t dimension, size_t extra, size_t unit)
{
	if (tile < dimension)
		return tile + extra;
	return dimension == unit + 1 || dimension == 1 ? dimension : dimension - 1;
}

/* The smallest n or m that is a whole register tile and a cut one, in a macro tile for each of THREADS if the problem
 * has as many: what a dimension keeps when the others are large. */
static size_t least_size(size_t dimension, size_t macro, size_t unit, size_t threads, size_t extra)
{
	const size_t parts = macro ? tcb_least(tcb_div_up(dimension, macro), threads) : 1;
	return tcb_least(dimension, (tcb_most(parts, 2) - 1) * unit + extra);
}

/* Large ones to be small: fewer columns, then fewer rows.  KEPT columns are left at least, or as many as LEAST. */
static struct tcb_shape shrink(struct tcb_shape want, const struct tcb_shape *least_shape, size_t kept)
{
	const size_t k = want.k ? want.k : 1, fewest = tcb_least(want.n, tcb_most(kept, least_shape->n));
	size_t m_most = SMALL_ELEMENTS / k / tcb_most(fewest, 1);
	if (want.m > m_most)
		want.m = tcb_least(want.m, tcb_most(m_most | 1, least_shape->m));
	const size_t n_most = SMALL_ELEMENTS / k / want.m;
	if (want.n > n_most)
		want.n = tcb_least(want.n, tcb_most(n_most | 1, tcb_most(least_shape->n, COLUMNS)));
	return want;
}

/* Adds SHAPE to the COUNT of OUT, unless it is there; returns how many there are. */
static size_t add_shape(const struct tcb_shape *shape, struct tcb_shape out[TCB_VERIFY_SHAPES_MAX], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (tcb_shape_equal(&out[i], shape))
			return count;
	out[count] = *shape;
	return count + 1;
}

/* Of a shape with words: few KV heads, the group as it is, sequences of several lengths; one token, a few with the
 * smallest head, and what is just past a tile and a part of n, where that is not much work. */
static size_t worded_shapes(const struct tcb_op *op, const struct tcb_shape *problem,
			    const struct tcb_geometry *geometry, struct tcb_shape out[TCB_VERIFY_SHAPES_MAX])
{
	const size_t tile = geometry->tile[TCB_MIDI].n, part = geometry->tile[TCB_MACRO].n;
	const size_t wanted[TCB_VERIFY_SHAPES_MAX] = { 1, COLUMNS, tile + 3, part + COLUMNS };
	struct tcb_shape shape = *problem, least_k = *problem;
	struct tcb_words *words = &shape.words;
	size_t count = 0;
	const uint32_t group = words->query / words->kv;
	words->kv = (uint32_t)tcb_least(words->kv, FEW_HEADS);
	words->query = words->kv * group;
	words->sequences = SEQUENCES;
	words->ragged = 1;
	if (raise_dimension(op, &least_k, 2, 1) != 0)
		return 0;
	for (size_t i = 0; i < TCB_VERIFY_SHAPES_MAX; i++) {
		shape.n = tcb_least(wanted[i], problem->n);
		shape.k = i == 1 ? least_k.k : problem->k;
		const size_t each = shape.m * words->query * SEQUENCES * shape.k;
		if ((i < 2 || shape.n <= MOST_ELEMENTS / each) && op->check_shape(op, &shape, NULL) == TCB_OK)
			count = add_shape(&shape, out, count);
	}
	return count;
}

size_t tcb_verify_shapes(const struct tcb_op *op, const struct tcb_shape *problem, const struct tcb_geometry *geometry,
			 struct tcb_shape out[TCB_VERIFY_SHAPES_MAX])
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI],
			      *micro = &geometry->tile[TCB_MICRO];
	const size_t threads = threads_of(geometry);
	size_t k_unit = 0;
	struct tcb_shape smallest = *problem;
	if (op->is_of_its_shape)
		return 0;
	if (problem->words.query)
		return worded_shapes(op, problem, geometry, out);
	if (problem->k > 0) {
		if (raise_dimension(op, &smallest, 2, 1) != 0)
			return 0;
		k_unit = smallest.k;
	}
	/* Where the problem's k is cut into blocks, so is the small one's: whole blocks, which H2 asks for. */
	size_t k_split = tcb_least(5 * k_unit, problem->k);
	if (k_unit > 0 && midi->k < problem->k)
		k_split = 2 * midi->k;
	struct tcb_shape fewest = { least_size(problem->m, macro->m, micro->m, threads, 1),
				    least_size(problem->n, macro->n, row_unit(geometry), threads, 5), 0 };
	if (MOST_ELEMENTS / tcb_most(k_split, 1) / fewest.n < fewest.m)
		fewest.m = 1;
	if (MOST_ELEMENTS / tcb_most(k_split, 1) < fewest.n)
		fewest.n = 1;
	struct tcb_shape wanted[TCB_VERIFY_SHAPES_MAX] = {
		{ 1, 1, k_unit },
		{ tcb_least(3, problem->m), tcb_least(COLUMNS, problem->n), tcb_least(3 * k_unit, problem->k) },
		{ past_tile(midi->m, problem->m, 1, micro->m), past_tile(midi->n, problem->n, 3, micro->n), k_split },
		{ past_tile(macro->m, problem->m, 1, micro->m), past_tile(macro->n, problem->n, COLUMNS, micro->n),
		  k_unit },
	};
	for (int i = 2; i < 4; i++) {
		if (macro->m < problem->m)
			wanted[i].m = tcb_most(wanted[i].m, fewest.m);
		if (macro->n < problem->n)
			wanted[i].n = tcb_most(wanted[i].n, fewest.n);
	}
	size_t count = 0;
	for (size_t i = 0; i < TCB_VERIFY_SHAPES_MAX; i++) {
		/* The last one keeps its columns, so that there are as many macro tiles as a plan for several threads
		 * may ask for. */
		const int keeps = i == 3 && k_unit > 0;
		const struct tcb_shape want = shrink(wanted[i], &fewest, keeps ? SIZE_MAX : COLUMNS);
		struct tcb_shape shape = *problem;
		if (k_unit > 0 && raise_dimension(op, &shape, 2, want.k) != 0)
			continue;
		if (raise_dimension(op, &shape, 1, want.n) != 0 || raise_dimension(op, &shape, 0, want.m) != 0)
			continue;
		count = add_shape(&shape, out, count);
	}
	return count;
}

/*
 * Tiles of one dimension, FROM's, for TO, in multiples of UNIT.  As many macro tiles; where TO is too small for one for
 * each of THREADS, of smaller midi tiles.
 */
static void fit_tiles(size_t from, size_t to, size_t unit, size_t threads, size_t *midi, size_t *macro)
{
	if (!from || !*midi || !*macro)
		return;
	const size_t parts = tcb_div_up(from, *macro), share = tcb_div_up(to, parts);
	if (*midi >= from)
		*midi = tcb_round_up(to, unit);
	while (*midi > unit && tcb_div_up(to, tcb_round_up(share, *midi)) < tcb_least(parts, threads))
		*midi = *midi % (2 * unit) == 0 ? *midi / 2 : unit;
	*macro = tcb_round_up(share, *midi);
}

void tcb_verify_fit(const struct tcb_shape *from, const struct tcb_shape *to, struct tcb_geometry *geometry)
{
	struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const size_t threads = threads_of(geometry);
	/* H2: blocks of k divide it. */
	if (midi->k && midi->k < from->k && to->k % midi->k != 0)
		midi->k = tcb_round_up(to->k, micro->k);
	fit_tiles(from->k, to->k, micro->k, 1, &midi->k, &macro->k);
	fit_tiles(from->m, to->m, micro->m, threads, &midi->m, &macro->m);
	fit_tiles(from->n, to->n, row_unit(geometry), threads, &midi->n, &macro->n);
}

enum tcb_status tcb_verify_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				const struct tcb_shape *shape, struct tcb_plan *out, struct tcb_error *err)
{
	struct tcb_problem small = *problem;
	struct tcb_geometry fitted = *geometry;
	small.shape = *shape;
	if (tcb_plan_make(&small, geometry, out, NULL) == TCB_OK)
		return TCB_OK;
	tcb_verify_fit(&problem->shape, shape, &fitted);
	enum tcb_status status = tcb_plan_make(&small, &fitted, out, err);
	while (status == TCB_E_ILLEGAL && fitted.knob[TCB_KNOB_THREADS] > 1) {
		fitted.knob[TCB_KNOB_THREADS]--;
		status = tcb_plan_make(&small, &fitted, out, NULL);
	}
	return status;
}
