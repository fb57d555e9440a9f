/* SPDX-License-Identifier: MIT
 *
 * What can be known of a function without running it.  Each analysis is a file
 * of its name; its result lives in the module's arena, and is stale after the
 * function was changed.  All need tcb_ptx_cfg and tcb_ptx_number first.
 */
#ifndef TCB_PTX_ANALYSES_H
#define TCB_PTX_ANALYSES_H

#include "ptx/ir/finding.h"

/* --- dominators.c: immediate dominators and post-dominators (Lengauer, Tarjan), natural loops --- */
struct tcb_ptx_dominators {
	struct tcb_ptx_block **idom;  /* by block->number; NULL for the entry and unreachable blocks */
	struct tcb_ptx_block **ipdom; /* NULL: the end of the function, where guarded exits lead too */
	/* both trees: A is above B, or B, exactly if enter[A] <= enter[B] and leave[B] <= leave[A] */
	uint32_t *enter, *leave, *post_enter, *post_leave;
};
enum tcb_status tcb_ptx_dominators(struct tcb_ptx_function *function, struct tcb_ptx_dominators *out,
				   struct tcb_error *err);
/* In constant time; a block dominates itself; unreachable blocks neither dominate nor are dominated. */
int tcb_ptx_dominates(const struct tcb_ptx_dominators *d, const struct tcb_ptx_block *a, const struct tcb_ptx_block *b);
int tcb_ptx_post_dominates(const struct tcb_ptx_dominators *d, const struct tcb_ptx_block *a,
			   const struct tcb_ptx_block *b);
/* Fills function->loops (outer before inner) and block->loop from back edges.  A loop's latch and exit are NULL when
 * there are several. */
enum tcb_status tcb_ptx_loops(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
			      struct tcb_error *err);

/* --- liveness.c: a guarded write keeps the old value alive --- */
struct tcb_ptx_liveness {
	/* registers in ascending order, by block->number; empty for unreachable blocks */
	uint32_t **live_in, **live_out;
	uint32_t *live_in_count, *live_out_count;
	/* Most 32-bit registers and predicates live at once, and where. */
	unsigned pressure, predicate_pressure;
	const struct tcb_ptx_ins *peak; /* NULL when there is no instruction */
};
enum tcb_status tcb_ptx_liveness(struct tcb_ptx_function *function, struct tcb_ptx_liveness *out,
				 struct tcb_error *err);
int tcb_ptx_is_live_in(const struct tcb_ptx_liveness *liveness, const struct tcb_ptx_block *block, uint32_t reg);
int tcb_ptx_is_live_out(const struct tcb_ptx_liveness *liveness, const struct tcb_ptx_block *block, uint32_t reg);

/* --- register_estimate.c: what ptxas will probably allocate a thread on capability SM --- */
unsigned tcb_ptx_register_estimate(const struct tcb_ptx_function *function, const struct tcb_ptx_liveness *liveness,
				   unsigned sm);
/* Of ten kernels with that estimate ptxas gave nine a number from *LEAST to *MOST. */
void tcb_ptx_register_range(const struct tcb_ptx_function *function, unsigned estimate, unsigned *least,
			    unsigned *most);

/* --- uniformity.c --- */
enum tcb_ptx_variance {
	TCB_PTX_UNIFORM_GRID,  /* the same in all threads of the launch */
	TCB_PTX_UNIFORM_BLOCK, /* the same in all threads of a block */
	TCB_PTX_UNIFORM_WARP,  /* the same in all threads of a warp */
	TCB_PTX_VARYING
};
enum tcb_ptx_alike { TCB_PTX_NOT_ALIKE, TCB_PTX_ALIKE_IN_WARPS, TCB_PTX_ALIKE_IN_BLOCK };
/* What threads that run an instruction together agree about.  Suppositions: no data races (a weak load from one address
 * gives all threads of a block one value), and the shape of the block where .reqntid does not say it: a kernel that
 * reads neither %tid.y nor %tid.z has one-dimensional blocks of whole warps. */
struct tcb_ptx_uniformity {
	uint8_t *reg;        /* enum tcb_ptx_variance by register */
	uint64_t *lane_bits; /* by register: the bits in which threads of a warp may differ */
	/* by block->number: the worst branch whose ways run apart here.  Threads that have ended do not count:
	 * after "if (i >= n) return" control is uniform again... */
	uint8_t *control;
	uint8_t *exited; /* ...and this is the worst branch by which threads may have ended before */
	uint8_t *alike;  /* enum tcb_ptx_alike: what threads agree about the branch, whatever is known of its guard */
	struct tcb_ptx_block **splits, **leavers; /* the blocks that end in those branches; NULL where there is none */
};
/* Computes the loops too. */
enum tcb_status tcb_ptx_uniformity(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
				   struct tcb_ptx_uniformity *out, struct tcb_error *err);
/* As before, and AFFINE (or NULL) tells the predicates of each thread, where the shape of the block is known. */
struct tcb_ptx_affine;
enum tcb_status tcb_ptx_uniformity_in(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
				      struct tcb_ptx_affine *affine, struct tcb_ptx_uniformity *out,
				      struct tcb_error *err);
/* How the threads that reach the end of BLOCK disagree about where to go: UNIFORM_GRID when it does not branch. */
enum tcb_ptx_variance tcb_ptx_branch_variance(const struct tcb_ptx_uniformity *u, const struct tcb_ptx_block *block);

/* --- affine.c: values as a sum of coefficients times tid, ctaid, loop counters, plus parameters --- */
/* (the header of its result is the analysis' own: see affine.h) */

/* --- alignment.c: fills tcb_ptx_reg.align and reports accesses that are misaligned, and vectors that are unproved;
 * what it supposes of pointers from outside is at its head --- */
enum tcb_status tcb_ptx_alignment(struct tcb_ptx_function *function, const struct tcb_ptx_sink *sink,
				  struct tcb_error *err);

/* --- barrier_safety.c: every path of non-exited threads meets the same barriers; shuffles name live lanes --- */
/* barrier-divergent, barrier-predicated, shuffle-divergent (shfl, vote, mma and the like), shuffle-exited: errors where
 * AFFINE, of a block whose size is certain, shows two threads of which one comes and the other does not, else warnings
 * (AFFINE may be NULL).  A warning: barrier-skipped, by threads that have ended (they do not hang the others, but what
 * they should have loaded is missing).  In functions that are called all are warnings, since the callers decide what is
 * uniform. */
enum tcb_status tcb_ptx_barrier_safety(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
				       const struct tcb_ptx_uniformity *u, struct tcb_ptx_affine *affine,
				       const struct tcb_ptx_sink *sink, struct tcb_error *err);
/* Instructions at which threads of a block wait for each other. */
unsigned tcb_ptx_barrier_count(const struct tcb_ptx_function *function);

#endif
