/* SPDX-License-Identifier: MIT
 *
 * A forest of classification trees over the coordinates of a lattice: which
 * candidates are good?  Grown from labelled and weighted examples, each tree
 * from a bootstrap sample of them, with half of the fields tried at each split
 * (Breiman, "Random Forests", 2001).
 */
#ifndef TCB_SEARCH_FOREST_H
#define TCB_SEARCH_FOREST_H

#include "base/util.h"
#include "search/strategy.h"

enum { TCB_FOREST_TREES = 40 };

struct tcb_example {
	size_t index;    /* of the lattice */
	float good, bad; /* weight, one of them 0 */
};

struct tcb_forest;
/* For up to MOST examples. */
enum tcb_status tcb_forest_create(const struct tcb_lattice *lattice, size_t most, struct tcb_forest **out,
				  struct tcb_error *err);
void tcb_forest_destroy(struct tcb_forest *forest); /* NULL is fine */
void tcb_forest_grow(struct tcb_forest *forest, const struct tcb_example *examples, size_t count, struct tcb_rng *rng);
/* The mean over the first TREES trees of the share of good weight in the leaf that candidate INDEX comes to; LEAVES
 * (nullable) gets the leaf in each. */
float tcb_forest_judge(const struct tcb_forest *forest, size_t index, size_t trees, uint32_t *leaves);

#endif
