/* SPDX-License-Identifier: MIT
 *
 * Legality (SPEC section 2): one row per constraint, each a function of its
 * own with a message that names it.  Hard constraints decide what the space
 * contains; soft ones are numbers for reports and models.
 *
 * Beside SPEC's H-numbers, what an op can run adds:
 *   V1  a variant was built for isa, layout, micro tile and unroll, and the target has its ISA
 *   V2  a knob without effect has its first value (hint without prefetch, sched on one thread), so that no two legal
 *       geometries are the same computation
 *   V3  the op's plan() accepts it
 *   V4  the rules that the op lists for GPUs or for CPUs (struct tcb_rule)
 *   V5  with the word bits, sums in the one order that K says (struct tcb_side_space)
 */
#ifndef TCB_KERNELS_CONSTRAINT_H
#define TCB_KERNELS_CONSTRAINT_H

#include "kernels/op.h"

struct tcb_candidate {
	const struct tcb_op *op;
	const struct tcb_problem *problem;
	const struct tcb_target *target;
	const struct tcb_geometry *geometry;
	struct tcb_footprint footprint; /* as the op computes it */
	int any_size;                   /* --any-size: H15 is lifted */
	int is_walk;                    /* constraints and rules with READS were checked on the way here */
	int is_kernel;                  /* for emit: what tcb_constraint_require leaves out */
	int is_placed;                  /* knobs have values of the space's axes or of the op's own default */
};

enum { TCB_WHY_MAX = 256 };

/* One number of a geometry, named as an axis names it, and its bit in a set of fields. */
struct tcb_field {
	enum tcb_axis_kind kind;
	int which; /* as in struct tcb_axis */
};
/* Tiles and knobs; and the parameters of an op behind them. */
enum { TCB_FIELD_COUNT = 3 * TCB_LEVEL_COUNT + TCB_KNOB_COUNT, TCB_FIELDS_MAX = 3 * TCB_LEVEL_COUNT + TCB_KNOBS_MAX };
_Static_assert(TCB_FIELDS_MAX <= 8 * sizeof(tcb_fields), "a bit for each");
#define TCB_FIELD_BIT(number) ((tcb_fields)1 << (number))
#define TCB_FIELD_TILES (TCB_FIELD_BIT(3 * TCB_LEVEL_COUNT) - 1)
#define TCB_FIELD_MIDI_M TCB_FIELD_BIT(3 * TCB_MIDI)
#define TCB_FIELD_MIDI_N TCB_FIELD_BIT(3 * TCB_MIDI + 1)
#define TCB_FIELD_MICRO_M TCB_FIELD_BIT(3 * TCB_MICRO)
#define TCB_FIELD_MICRO_N TCB_FIELD_BIT(3 * TCB_MICRO + 1)
#define TCB_FIELD_KNOB(id) TCB_FIELD_BIT(3 * TCB_LEVEL_COUNT + TCB_KNOB_##id)

tcb_fields tcb_field_bit(struct tcb_field field);
struct tcb_field tcb_field_at(unsigned bit_number); /* bit_number < TCB_FIELDS_MAX */
int64_t tcb_field_get(struct tcb_field field, const struct tcb_geometry *geometry);
void tcb_field_set(struct tcb_field field, int64_t value, struct tcb_geometry *geometry);

struct tcb_constraint {
	const char *id;    /* "H4" */
	const char *title; /* "superblock" */
	/* The fields that alone decide it; 0: the whole geometry and its footprint do. */
	tcb_fields reads;
	/* 0 if it holds (or does not apply), else -1 with the reason in WHY (may be NULL).  Those with READS do not
	 * look at the footprint; the others may assume H1 and H2. */
	int (*check)(const struct tcb_candidate *candidate, char why[TCB_WHY_MAX]);
	/* Of those that look at the tiles of each dimension by themselves: the same for DIM, 0 to 2; else NULL. */
	int (*check_dim)(const struct tcb_candidate *candidate, int dim, char why[TCB_WHY_MAX]);
};

const struct tcb_constraint *tcb_constraints(
	size_t *count_out); /* the hard ones, in the order in which they are checked */

/* The first of them that CANDIDATE violates, or NULL; its footprint is computed on the way.  REASON may be NULL. */
const struct tcb_constraint *tcb_constraint_first(struct tcb_candidate *candidate, char reason[TCB_WHY_MAX]);

/*
 * constraint_fix.c: the first hard constraint that GEOMETRY violates, or NULL.  WHY (may be NULL) is filled then:
 *     H2 nesting: midi.n=48 does not divide macro.n=4096; nearest legal: midi.n=64
 * What follows "nearest legal: " is one or more KEY=VALUE separated by commas; with these replaced the geometry
 * satisfies every constraint.  If no such small change exists, the message says so and names the default geometry,
 * where that is legal.
 */
const struct tcb_constraint *tcb_constraint_violated(const struct tcb_op *op, const struct tcb_problem *problem,
						     const struct tcb_target *target,
						     const struct tcb_geometry *geometry, int any_size,
						     char why[TCB_WHY_MAX]);

/*
 * TCB_E_ILLEGAL, with the constraint and the reason, unless PROBLEM is one of its op's and GEOMETRY satisfies there
 * what a GPU kernel needs: every hard constraint but those that only shape spaces (policies, H15, rules of kind DOUBLE,
 * tiles larger than the problem needs, and H7, an estimate: the assembler has the last word).  Each op's emit begins
 * with it, so that whoever asks, no kernel is written for what its plan, its arrays or its divisions do not hold.
 */
enum tcb_status tcb_constraint_require(const struct tcb_problem *problem, const struct tcb_target *target,
				       const struct tcb_geometry *geometry, struct tcb_error *err);

/* H1 of one value of KNOB: 0, or -1 and the reason in WHY (nullable). */
int tcb_constraint_knob(const struct tcb_target *target, enum tcb_knob knob, int32_t value, char *why);

/* tcb_constraint_first for the candidate of a walk (is_walk) through a space, which has pruned by those with READS. */
const struct tcb_constraint *tcb_constraint_left(struct tcb_candidate *candidate);

/* Most dynamic shared memory a block may opt in to: as the device says, else by capability (SPEC H5). */
size_t tcb_shared_limit(const struct tcb_target *target);

/* Soft constraints that a CPU has: S4 padding waste (0 to 1), S5 footprint over cache size per level (0 where the
 * size is unknown), S7 accumulators over the 8 that hide FMA latency. */
struct tcb_soft {
	double padding_waste;
	double cache_fraction[TCB_LEVEL_COUNT];
	double accumulator_fraction;
};
void tcb_constraint_soft(const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, struct tcb_soft *out);

#endif
