/* SPDX-License-Identifier: MIT
 *
 * Default geometries that were learned: of a few hundred that won somewhere, moved into the space of a problem that
 * nobody swept, and of what would be the default without them, the one whose time is predicted to be the least.  The
 * predictor is a sum of decision trees, made of stored trials by scripts/train-defaults.py, a table for each family of
 * ops and architecture (docs/defaults.md).  All levels of a tree ask the same for all of its nodes, so that its leaf's
 * number is its answers, a bit each.
 */
#ifndef TCB_KERNELS_DEFAULTS_LEARNED_H
#define TCB_KERNELS_DEFAULTS_LEARNED_H

#include "kernels/constraint.h"

enum {
	TCB_LEARNED_DEPTH = 6,
	TCB_LEARNED_LEAVES = 1 << TCB_LEARNED_DEPTH,
	TCB_LEARNED_FIELDS_MAX = 32,
	TCB_LEARNED_FASTEST_MAX = 16
};

struct tcb_learned_tree {
	uint8_t feature[TCB_LEARNED_DEPTH]; /* enum tcb_learned_feature */
	int16_t bound[TCB_LEARNED_DEPTH];   /* bit I of the leaf: is feature I more than this? */
	int16_t leaf[TCB_LEARNED_LEAVES];   /* added up: of the time's logarithm, TCB_LEARNED_ONE is 1 */
};
enum { TCB_LEARNED_ONE = 16384 };

/* What it lost, over the best that was measured, at shapes that it was not made of. */
struct tcb_learned_loss {
	size_t m; /* of shapes with as many rows at most; 0: with any more */
	unsigned shapes;
	double mean, tail, worst; /* 0.05: 5 %; tail: nine of ten lost less */
};

struct tcb_learned {
	const char *family;           /* of the space of its ops' geometries */
	const char *arch;             /* as tcb_target_arch gives it */
	unsigned contracts;           /* bits of those that were learned from, */
	uint64_t words;               /* and of words */
	int32_t margin;               /* what is the default without it stays, unless another takes so much less */
	struct tcb_shape least, most; /* it says nothing of smaller and larger ones */
	size_t loss_count;
	const struct tcb_learned_loss *losses; /* by m */
	size_t field_count;
	const struct tcb_field *fields; /* tiles from the smallest */
	size_t form_count;
	/* Geometries, the values of FIELDS of each; a tile of 0 is as large as the shape, one of -3 as a third of it.
	 */
	const int16_t *forms;
	size_t tree_count;
	const struct tcb_learned_tree *trees;
};

/* defaults/: the tables. */
extern const struct tcb_learned tcb_learned_sm_90_matmul, tcb_learned_sm_90_quant_matmul,
	tcb_learned_sm_90_quant_matvec;

/* learned.c: table INDEX, NULL past the end. */
const struct tcb_learned *tcb_learned_at(size_t index);
/* Was anything learned of such problems? */
int tcb_learned_has(const struct tcb_problem *problem, const struct tcb_target *target);
/* The geometry that is predicted to be the fastest for PROBLEM, legal there, or OTHER, which is legal, too (NULL: there
 * is none); returns what such a choice is expected to lose.  NULL: nothing was learned of such problems, and OUT is
 * unspecified. */
const struct tcb_learned_loss *tcb_learned_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
						    const struct tcb_geometry *other, struct tcb_geometry *out);
/* Of COUNT GEOMETRIES, all legal for PROBLEM, the MOST that are predicted to be the fastest, by their places, the
 * fastest first; returns how many that are, 0 where nothing was learned of such problems. */
size_t tcb_learned_fastest(const struct tcb_problem *problem, const struct tcb_target *target,
			   const struct tcb_geometry *geometries, size_t count, size_t most, size_t *out);
/* The logarithm of the time that TABLE predicts for a candidate with FEATURES, less what only shape and device say of
 * it; in parts of TCB_LEARNED_ONE. */
int32_t tcb_learned_predict(const struct tcb_learned *table, const int16_t *features);

#endif
