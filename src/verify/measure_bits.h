/* SPDX-License-Identifier: MIT
 *
 * The word bits: results of the same rows, in problems of other M, batches, threads and geometries, bit by bit.
 */
#ifndef TCB_VERIFY_MEASURE_BITS_H
#define TCB_VERIFY_MEASURE_BITS_H

#include "verify/claim.h"

struct tcb_bits_sum {
	unsigned ops, shapes, runs;     /* runs: geometries of all problems */
	uint64_t values, differing;     /* results that were compared */
	char first[TCB_CLAIM_TEXT_MAX]; /* which geometry was the first that differed; empty: none */
};

/* What is drawn of each op and contract: shapes, of each PROBLEMS of the same family, of each GEOMETRIES and the
 * default. */
struct tcb_bits_draw {
	unsigned shapes, problems, geometries;
	size_t m_most;
	int is_free; /* without the word: nothing is promised */
};

/* Do shapes of OP take the word, and are there kernels under CONTRACT for the place of LAB? */
int tcb_bits_are_promised(const struct tcb_claim_lab *lab, const struct tcb_op *op, enum tcb_contract contract);
/* OP under CONTRACT on the processor of LAB, with 1 and 2 threads.  0: OUT says why nothing could be run. */
int tcb_bits_measure(struct tcb_claim_lab *lab, const struct tcb_op *op, enum tcb_contract contract,
		     const struct tcb_bits_draw *draw, struct tcb_bits_sum *sum, struct tcb_finding *out);

/* For struct tcb_claim. */
void tcb_claim_same_bits(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out);

#endif
