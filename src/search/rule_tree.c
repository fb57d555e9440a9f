/* SPDX-License-Identifier: MIT
 *
 * The exact search for the tree: a set of shapes is either one leaf or cut in
 * two at a bound of m, n, k or m * n, and what is best for a set with so many leaves
 * is worked out once and kept.  Cuts along the axes of a few dozen shapes make
 * some hundreds of sets.
 *
 * A tree is written as rows with upper bounds only: the lower half of each cut
 * comes first and has all that is within its bound, so that the upper half needs
 * none.
 */
#include "search/rule_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a cell that was not measured, or where the candidate cannot be used, is taken for. */
static const double UNKNOWN = 1.5;
/* So little less of the worst loss is not worth another leaf. */
static const double WORTH = 0.005;
/* How much it counts what a leaf's candidate loses elsewhere: of equals the one that is good at most shapes.  There a
 * measured loss counts up to so much, which is less than one that nobody knows, and that less than what cannot be. */
static const double ELSEWHERE = 0.1, ELSEWHERE_MOST = 2, ELSEWHERE_UNKNOWN = 2.5, ELSEWHERE_NEVER = 3;
/* And that it cannot be used near by, where the op's own default would take its place. */
static const double NARROW = 0.2;

struct split {
	double over, sum; /* the largest loss above the bound; all losses */
	size_t leaves;    /* 1: a leaf */
	size_t candidate; /* of a leaf */
	int dim;          /* of a cut */
	size_t bound;
	tcb_rule_set low; /* the shapes within BOUND */
	size_t low_leaves;
};

struct known {
	tcb_rule_set set;
	struct split best[TCB_RULE_LEAVES_MAX + 1]; /* [leaves]: with at most so many */
};

struct learning {
	const struct tcb_rule_cells *cells;
	tcb_rule_set train;
	double limit[TCB_RULE_SHAPES_MAX]; /* of each shape */
	double *mean;                      /* [candidate]: over all of TRAIN */
	struct known *known;
	size_t known_count, known_capacity;
	int failed;
};

static double loss_at(const struct tcb_rule_cells *cells, size_t candidate, size_t shape)
{
	return cells->loss[candidate * cells->shape_count + shape];
}

static double cost_at(const struct tcb_rule_cells *cells, size_t candidate, size_t shape)
{
	const double loss = loss_at(cells, candidate, shape);
	return isfinite(loss) ? loss : UNKNOWN;
}

static double narrowness(const struct tcb_rule_cells *cells, size_t candidate, size_t shape)
{
	return cells->reach ? NARROW * (1 - cells->reach[candidate * cells->shape_count + shape]) : 0;
}

static double elsewhere(double loss)
{
	return isinf(loss) ? ELSEWHERE_NEVER : isnan(loss) ? ELSEWHERE_UNKNOWN : fmin(loss, ELSEWHERE_MOST);
}

static int is_found(const struct learning *l, size_t candidate)
{
	const tcb_rule_set origin = l->cells->origin[candidate];
	return !origin || (origin & l->train);
}

enum { DIMS = 4 };

static size_t dim_of(const struct tcb_shape *shape, int dim)
{
	const size_t of[DIMS] = { shape->m, shape->n, shape->k, shape->m * shape->n };
	return of[dim];
}

static int is_better(const struct split *a, const struct split *b)
{
	return a->over < b->over - 1e-9 || (a->over < b->over + 1e-9 && a->sum < b->sum - 1e-9);
}

static struct split leaf_of(const struct learning *l, tcb_rule_set set)
{
	struct split best = { .over = INFINITY, .sum = INFINITY, .leaves = 1 };
	for (size_t c = 0; c < l->cells->candidate_count; c++) {
		struct split leaf = { .sum = ELSEWHERE * l->mean[c], .leaves = 1, .candidate = c };
		if (!is_found(l, c))
			continue;
		for (size_t s = 0; s < l->cells->shape_count && leaf.over < best.over + 1e-9; s++) {
			const double cost = set & TCB_RULE_BIT(s) ? cost_at(l->cells, c, s) : 0;
			leaf.sum += cost + (cost > 0 ? narrowness(l->cells, c, s) : 0);
			leaf.over = cost > 0 ? fmax(leaf.over, cost - l->limit[s]) : leaf.over;
		}
		if (is_better(&leaf, &best))
			best = leaf;
	}
	return best;
}

/* The largest size of DIM in SET that is less than ABOVE; 0: none. */
static size_t next_below(const struct learning *l, tcb_rule_set set, int dim, size_t above)
{
	size_t most = 0;
	for (size_t s = 0; s < l->cells->shape_count; s++) {
		const size_t size = dim_of(&l->cells->shapes[s], dim);
		if ((set & TCB_RULE_BIT(s)) && size < above && size > most)
			most = size;
	}
	return most;
}

static tcb_rule_set within(const struct learning *l, tcb_rule_set set, int dim, size_t bound)
{
	tcb_rule_set low = 0;
	for (size_t s = 0; s < l->cells->shape_count; s++)
		if ((set & TCB_RULE_BIT(s)) && dim_of(&l->cells->shapes[s], dim) <= bound)
			low |= TCB_RULE_BIT(s);
	return low;
}

/* The index of what is known of SET, SIZE_MAX without memory: pointers would go stale. */
static size_t solve(struct learning *l, tcb_rule_set set);

static void try_cut(struct learning *l, size_t at, tcb_rule_set set, int dim, size_t bound)
{
	const tcb_rule_set low = within(l, set, dim, bound);
	const size_t a = solve(l, low), b = solve(l, set & ~low);
	for (size_t leaves = 2; !l->failed && leaves <= TCB_RULE_LEAVES_MAX; leaves++)
		for (size_t i = 1; i < leaves; i++) {
			const struct split *x = &l->known[a].best[i], *y = &l->known[b].best[leaves - i];
			struct split cut = { .over = fmax(x->over, y->over),
					     .sum = x->sum + y->sum,
					     .leaves = leaves,
					     .dim = dim,
					     .bound = bound,
					     .low = low,
					     .low_leaves = i };
			if (is_better(&cut, &l->known[at].best[leaves]))
				l->known[at].best[leaves] = cut;
		}
}

static size_t add_known(struct learning *l, tcb_rule_set set)
{
	if (l->known_count == l->known_capacity) {
		const size_t capacity = 2 * l->known_capacity + 64;
		struct known *grown = realloc(l->known, capacity * sizeof *grown);
		if (!grown) {
			l->failed = 1;
			return SIZE_MAX;
		}
		l->known = grown;
		l->known_capacity = capacity;
	}
	const struct split leaf = leaf_of(l, set);
	l->known[l->known_count].set = set;
	for (size_t leaves = 0; leaves <= TCB_RULE_LEAVES_MAX; leaves++)
		l->known[l->known_count].best[leaves] = leaf;
	return l->known_count++;
}

static size_t solve(struct learning *l, tcb_rule_set set)
{
	for (size_t i = 0; i < l->known_count; i++)
		if (l->known[i].set == set)
			return i;
	const size_t at = add_known(l, set);
	for (int dim = 0; dim < DIMS; dim++) {
		size_t high = next_below(l, set, dim, SIZE_MAX), low;
		for (; !l->failed && high && (low = next_below(l, set, dim, high)); high = low)
			try_cut(l, at, set, dim, (size_t)sqrt((double)low * (double)high));
	}
	/* More leaves may be had, but need not be used. */
	for (size_t leaves = 2; !l->failed && leaves <= TCB_RULE_LEAVES_MAX; leaves++)
		if (!is_better(&l->known[at].best[leaves], &l->known[at].best[leaves - 1]))
			l->known[at].best[leaves] = l->known[at].best[leaves - 1];
	return at;
}

static size_t least(size_t bound, size_t other)
{
	return bound && bound < other ? bound : other;
}

static void write_rows(struct learning *l, tcb_rule_set set, size_t leaves, struct tcb_rule_leaf box,
		       struct tcb_rule_tree *out)
{
	const struct split split = l->known[solve(l, set)].best[leaves];
	struct tcb_rule_leaf low = box;
	if (split.leaves == 1) {
		box.candidate = split.candidate;
		out->leaf[out->count++] = box;
		return;
	}
	size_t *const bounds[DIMS] = { &low.m, &low.n, &low.k, &low.mn }, *const bound = bounds[split.dim];
	*bound = least(*bound, split.bound);
	write_rows(l, split.low, split.low_leaves, low, out);
	write_rows(l, set & ~split.low, split.leaves - split.low_leaves, box, out);
}

static enum tcb_status prepare(struct learning *l, double worst, struct tcb_error *err)
{
	const struct tcb_rule_cells *cells = l->cells;
	size_t count = 0;
	l->mean = calloc(cells->candidate_count + 1, sizeof *l->mean);
	if (!l->mean)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu candidates", cells->candidate_count);
	for (size_t s = 0; s < cells->shape_count; s++) {
		double best = INFINITY;
		if (!(l->train & TCB_RULE_BIT(s)))
			continue;
		count++;
		for (size_t c = 0; c < cells->candidate_count; c++) {
			const double cost = cost_at(cells, c, s);
			l->mean[c] += elsewhere(loss_at(cells, c, s));
			if (is_found(l, c))
				best = fmin(best, cost);
		}
		l->limit[s] = fmax(worst, best + WORTH);
	}
	for (size_t c = 0; c < cells->candidate_count; c++)
		l->mean[c] /= count ? (double)count : 1;
	return TCB_OK;
}

static void widen(size_t size, size_t *least, size_t *most)
{
	const size_t less = size / TCB_RULE_REACH, more = size * TCB_RULE_REACH;
	*least = *most ? (less < *least ? less : *least) : less;
	*most = more > *most ? more : *most;
}

static void set_reach(const struct tcb_rule_cells *cells, tcb_rule_set train, struct tcb_rule_tree *out)
{
	for (size_t s = 0; s < cells->shape_count; s++) {
		const struct tcb_shape *shape = &cells->shapes[s];
		if (!(train & TCB_RULE_BIT(s)))
			continue;
		widen(shape->m, &out->least.m, &out->most.m);
		widen(shape->n, &out->least.n, &out->most.n);
		widen(shape->k, &out->least.k, &out->most.k);
	}
}

enum tcb_status tcb_rule_learn(const struct tcb_rule_cells *cells, tcb_rule_set train, double worst,
			       struct tcb_rule_tree *out, struct tcb_error *err)
{
	struct learning l = { .cells = cells, .train = train };
	*out = (struct tcb_rule_tree){ 0 };
	set_reach(cells, train, out);
	enum tcb_status status = prepare(&l, worst, err);
	if (status == TCB_OK && train) {
		const size_t at = solve(&l, train);
		size_t leaves = 1;
		while (!l.failed && leaves < TCB_RULE_LEAVES_MAX &&
		       l.known[at].best[leaves].over > fmax(0, l.known[at].best[TCB_RULE_LEAVES_MAX].over) + WORTH)
			leaves++;
		if (!l.failed)
			write_rows(&l, train, leaves, (struct tcb_rule_leaf){ 0 }, out);
	}
	if (l.failed)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for a rule of %zu shapes", cells->shape_count);
	free(l.mean);
	free(l.known);
	return status;
}

double tcb_rule_loss(const struct tcb_rule_cells *cells, const struct tcb_rule_tree *tree, size_t shape, size_t last,
		     size_t *candidate_out)
{
	const struct tcb_shape *size = &cells->shapes[shape];
	const int is_near = size->m >= tree->least.m && size->m <= tree->most.m && size->n >= tree->least.n &&
			    size->n <= tree->most.n && size->k >= tree->least.k && size->k <= tree->most.k;
	size_t candidate = last;
	for (size_t i = 0; is_near && i < tree->count; i++) {
		const struct tcb_rule_leaf *leaf = &tree->leaf[i];
		if ((leaf->m && size->m > leaf->m) || (leaf->n && size->n > leaf->n) ||
		    (leaf->k && size->k > leaf->k) || (leaf->mn && size->m * size->n > leaf->mn))
			continue;
		candidate = leaf->candidate;
		if (candidate == last || !isinf(loss_at(cells, candidate, shape)))
			break;
		candidate = last;
	}
	if (candidate_out)
		*candidate_out = candidate;
	return loss_at(cells, candidate, shape);
}
