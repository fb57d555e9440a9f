/* SPDX-License-Identifier: MIT
 *
 * Counted loops that ask about their counter, split by the pass loop_split and
 * run in the emulator, a loop a thread, beside the same loops in C.
 */
#ifndef TCB_VERIFY_MEASURE_SPLIT_H
#define TCB_VERIFY_MEASURE_SPLIT_H

#include "verify/specimen.h"

/* do { iv QUESTION limit ? ... : ...; iv += step; } while (iv AGAIN bound), by numbers of BITS. */
struct tcb_split_loop {
	const char *question, *again; /* lt le gt ge eq ne */
	char type;                    /* u or s */
	unsigned bits;                /* 16, 32, 64 */
	int is_swapped;               /* limit and counter stand the other way round in the question */
	int has_branches;             /* the two sides are branches, else guarded instructions */
};

/* Begin, bound, step and limit of a thread; the low BITS of each count. */
struct tcb_split_case {
	uint64_t begin, bound, step, limit;
};
enum { TCB_SPLIT_CASES = 128, TCB_SPLIT_ROUNDS = 24 /* after which a loop is left */ };

/* What is compared of the split loop, and what is wrong with it. */
enum tcb_split_against { TCB_SPLIT_AGAINST_C, TCB_SPLIT_AGAINST_UNSPLIT };
enum tcb_split_defect {
	TCB_SPLIT_SOUND,
	TCB_SPLIT_LIMIT_OFF_BY_ONE, /* the limit is one too large */
	TCB_SPLIT_LIMIT_WRAPS,      /* the limit less a step, which may be below zero */
	TCB_SPLIT_ANSWER_TURNED     /* one of the two loops has the other's answer */
};

struct tcb_split_sum {
	unsigned kernels, unsplit; /* measured; of which the pass left alone */
	unsigned loops, wrong;     /* threads; with other results */
};

/* Adds to SUM; 0 after a failure, of which OUT tells. */
int tcb_split_measure(const struct tcb_split_loop *loop, const struct tcb_split_case cases[TCB_SPLIT_CASES],
		      enum tcb_split_against against, enum tcb_split_defect defect, struct tcb_split_sum *sum,
		      struct tcb_finding *out);
/* Instructions that are answers of split questions: predicates set to a constant. */
unsigned tcb_split_answers(const struct tcb_specimen *specimen);

#endif
