/* SPDX-License-Identifier: MIT
 *
 * From what candidates cost at measured shapes to a rule that picks one of them
 * by the shape: a decision tree over m, n, k and m * n, the outputs, with as few
 * leaves as keep the worst loss within a bound.
 */
#ifndef TCB_SEARCH_RULE_TREE_H
#define TCB_SEARCH_RULE_TREE_H

#include <stdint.h>

#include "base/problem.h"
#include "base/status.h"

/* REACH: a rule holds for sizes this many times less or more than those it was made with, no farther. */
enum { TCB_RULE_SHAPES_MAX = 128, TCB_RULE_LEAVES_MAX = 8, TCB_RULE_REACH = 4 };
/* A set of shapes, a bit for each. */
__extension__ typedef unsigned __int128 tcb_rule_set;
#define TCB_RULE_BIT(shape) ((tcb_rule_set)1 << (shape))

struct tcb_rule_cells {
	size_t shape_count; /* at most TCB_RULE_SHAPES_MAX; one may be there more than once, from several devices */
	size_t candidate_count;
	const struct tcb_shape *shapes;
	/* [candidate * shape_count + shape]: its time there over the best one's; NaN: not measured; infinite: it cannot
	 * be used there. */
	const double *loss;
	const double *reach;        /* as loss: the part of the shapes near by for which it can be used; NULL: all */
	const tcb_rule_set *origin; /* [candidate]: the shapes at which it was found; 0: it needs none */
};

/* Of shapes from LEAST to MOST.  Rows in order: the first whose bounds (0: none) hold a shape has its candidate. */
struct tcb_rule_tree {
	struct tcb_shape least, most;
	size_t count;
	struct tcb_rule_leaf {
		size_t m, n, k, mn;
		size_t candidate;
	} leaf[TCB_RULE_LEAVES_MAX];
};

/*
 * The tree for the shapes of TRAIN (a bit for each), with candidates found there: of those with a loss of at most WORST
 * at each shape (1.1), or of what is least above that, one with the fewest leaves, and of these the least mean loss.
 * A cell that was not measured counts as bad.
 */
enum tcb_status tcb_rule_learn(const struct tcb_rule_cells *cells, tcb_rule_set train, double worst,
			       struct tcb_rule_tree *out, struct tcb_error *err);
/* What the rule's candidate loses at SHAPE, leaves whose candidates cannot be used there left out; *CANDIDATE_OUT
 * (nullable) which it is.  LAST is the candidate where no leaf is left. */
double tcb_rule_loss(const struct tcb_rule_cells *cells, const struct tcb_rule_tree *tree, size_t shape, size_t last,
		     size_t *candidate_out);

#endif
