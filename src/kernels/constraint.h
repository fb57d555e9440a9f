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
};

enum { TCB_WHY_MAX = 256 };

/* One number of a geometry, named as an axis names it, and its bit in a set of fields. */
struct tcb_field {
	enum tcb_axis_kind kind;
	int which; /* enum tcb_level or enum tcb_knob */
};
enum { TCB_FIELD_COUNT = 3 * TCB_LEVEL_COUNT + TCB_KNOB_COUNT };
#define TCB_FIELD_TILES ((UINT64_C(1) << (3 * TCB_LEVEL_COUNT)) - 1)
#define TCB_FIELD_MIDI_M (UINT64_C(1) << (3 * TCB_MIDI))
#define TCB_FIELD_MIDI_N (UINT64_C(1) << (3 * TCB_MIDI + 1))
#define TCB_FIELD_MICRO_M (UINT64_C(1) << (3 * TCB_MICRO))
#define TCB_FIELD_MICRO_N (UINT64_C(1) << (3 * TCB_MICRO + 1))
#define TCB_FIELD_KNOB(id) (UINT64_C(1) << (3 * TCB_LEVEL_COUNT + TCB_KNOB_##id))

uint64_t tcb_field_bit(struct tcb_field field);
struct tcb_field tcb_field_at(unsigned bit_number); /* bit_number < TCB_FIELD_COUNT */
int64_t tcb_field_get(struct tcb_field field, const struct tcb_geometry *geometry);
void tcb_field_set(struct tcb_field field, int64_t value, struct tcb_geometry *geometry);

struct tcb_constraint {
	const char *id;    /* "H4" */
	const char *title; /* "superblock" */
	/* The fields that alone decide it; 0: the whole geometry and its footprint do. */
	uint64_t reads;
	/* 0 if it holds (or does not apply), else -1 with the reason in WHY (may be NULL).  Those with READS do not
	 * look at the footprint; the others may assume H1 and H2. */
	int (*check)(const struct tcb_candidate *candidate, char why[TCB_WHY_MAX]);
};

const struct tcb_constraint *tcb_constraints(
	size_t *count_out); /* the hard ones, in the order in which they are checked */

/*
 * The first hard constraint that GEOMETRY violates, or NULL.  WHY (may be NULL) is filled then:
 *     H2 nesting: midi.n=48 does not divide macro.n=4096; nearest legal: midi.n=64
 * What follows "nearest legal: " is one or more KEY=VALUE separated by commas; with these replaced the geometry
 * satisfies every constraint.  If no such small change exists, the message says so and names the default geometry.
 */
const struct tcb_constraint *tcb_constraint_violated(const struct tcb_op *op, const struct tcb_problem *problem,
						     const struct tcb_target *target,
						     const struct tcb_geometry *geometry, int any_size,
						     char why[TCB_WHY_MAX]);

/* The same for the candidate of a walk (is_walk) through a space, which has pruned by those with READS. */
const struct tcb_constraint *tcb_constraint_left(struct tcb_candidate *candidate);

/* constraint_fix.c: the smallest change of GEOMETRY that is legal: FIXED and its text ("midi.n=64"), or -1.  The fields
 * of PREFERRED are changed rather than others. */
int tcb_constraint_fix(const struct tcb_candidate *candidate, uint64_t preferred, struct tcb_geometry *fixed_out,
		       char text[TCB_WHY_MAX]);

/* Most dynamic shared memory a block may opt in to: as the device says, else by capability (SPEC H5). */
size_t tcb_shared_limit(const struct tcb_target *target);

/* Soft constraints that a CPU has: S4 padding waste (0 to 1), S5 footprint over cache size per level (0 where the
 * size is unknown), S7 accumulators over the 8 that hide FMA latency. */
struct tcb_soft {
	double padding_waste;
	double cache_fraction[TCB_LEVEL_COUNT];
	double accumulator_fraction;
};
void tcb_constraint_soft(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, struct tcb_soft *out);

#endif
