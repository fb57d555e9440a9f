/* SPDX-License-Identifier: MIT
 *
 * The optimiser: one table of passes in the order in which they run, each a
 * file of its name, in place on one function.  A pass keeps what the function
 * computes, bit for bit (FMA fusion excepted, which only touches what carries
 * no rounding modifier), and is idempotent.
 */
#ifndef TCB_PTX_PASSES_H
#define TCB_PTX_PASSES_H

#include <stdio.h>

#include "ptx/ir/ir.h"

/* X(id, summary): in the order in which each runs first; passes.c lists the pipeline, where some run again. */
#define TCB_PTX_PASS_LIST(X)                                                      \
	X(const_fold, "constant folding and copy propagation")                    \
	X(loop_split, "loops with a compare of the counter, split at the change") \
	X(loop_unroll, "short counted loops, unrolled")                           \
	X(strength, "strength reduction of multiplication, division, remainder")  \
	X(fma_fusion, "mul and add into fma where ptxas may do so too")           \
	X(cse, "common subexpressions")                                           \
	X(barrier_removal, "barriers that order nothing")                         \
	X(dead_code, "instructions and blocks without effect")

struct tcb_ptx_pass_options {
	unsigned unroll_limit;   /* instructions that unrolling a loop may make; 0: no unrolling */
	unsigned split_min_body; /* instructions of a body that make splitting worth while */
	unsigned left_out;       /* bit i: the pipeline goes without row i of the list */
};

struct tcb_ptx_pass {
	const char *name, *summary;
	/* CHANGED_OUT: instructions changed or removed.  Leaves the control-flow graph, numbers and counts stale. */
	enum tcb_status (*run)(struct tcb_ptx_function *function, const struct tcb_ptx_pass_options *options,
			       unsigned *changed_out, struct tcb_error *err);
};

#define TCB_PTX_PASS_DECLARE(id, summary)                                                                           \
	enum tcb_status tcb_ptx_##id(struct tcb_ptx_function *function, const struct tcb_ptx_pass_options *options, \
				     unsigned *changed_out, struct tcb_error *err);
TCB_PTX_PASS_LIST(TCB_PTX_PASS_DECLARE)
#undef TCB_PTX_PASS_DECLARE

/* passes.c */
const struct tcb_ptx_pass *tcb_ptx_passes(unsigned *count_out);
const struct tcb_ptx_pass *tcb_ptx_pass_find(const char *name);
void tcb_ptx_pass_defaults(struct tcb_ptx_pass_options *out);

struct tcb_ptx_pipeline_debug {
	const char *dump_after; /* a pass' name or "all"; NULL: no dumps */
	const char *stop_after; /* a pass' name, the first time it runs; NULL: to the end */
	FILE *dump;             /* where dumps go */
	int verify;             /* run the verifier after each pass */
};
/* All passes on all functions with a body.  DEBUG may be NULL. */
enum tcb_status tcb_ptx_optimise(struct tcb_ptx_module *module, const struct tcb_ptx_pass_options *options,
				 const struct tcb_ptx_pipeline_debug *debug, struct tcb_error *err);

#endif
