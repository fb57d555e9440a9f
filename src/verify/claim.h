/* SPDX-License-Identifier: MIT
 *
 * Falsification: every claim of the specification (F301 to F382) and of the
 * checklist of the tile documents (I001 to I115) as a row with a function that
 * measures it.  The same function, with a planted defect, is the negative
 * control: a check that does not see the defect cannot fail, and proves nothing.
 *
 *     struct tcb_claim_lab lab = { .place = &place };
 *     tcb_claim_check(claim, &lab, &outcome);
 */
#ifndef TCB_VERIFY_CLAIM_H
#define TCB_VERIFY_CLAIM_H

#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "device/device.h"
#include "kernels/op.h"
#include "ptx/assemble/assemble.h"

enum { TCB_CLAIM_TEXT_MAX = 320, TCB_CLAIM_ID_MAX = 8 };

/* X(id, text) */
#define TCB_CLAIM_RESULT_LIST(X)    \
	X(PASS, "PASS")             \
	X(FAIL, "FAIL")             \
	X(REFUTED, "REFUTED CLAIM") \
	X(NOT_RUN, "NOT RUN")

enum tcb_claim_result {
#define TCB_CLAIM_RESULT_ENUM(id, text) TCB_CLAIM_##id,
	TCB_CLAIM_RESULT_LIST(TCB_CLAIM_RESULT_ENUM)
#undef TCB_CLAIM_RESULT_ENUM
		TCB_CLAIM_RESULT_COUNT
};

/* Whose claim it is: where OURS does not hold, the program is wrong; where the SOURCE's does not, the source is. */
enum tcb_claim_kind { TCB_CLAIM_OURS, TCB_CLAIM_SOURCE };

/* What is measured: the claim itself; the same with a planted defect, which must not hold; or, of a source's claim that
 * did not hold, a planted case in which it is true. */
enum tcb_plant { TCB_PLANT_NONE, TCB_PLANT_DEFECT, TCB_PLANT_TRUTH };

struct tcb_claim_lab {
	const struct tcb_place *place; /* the CPU, or the GPU that was asked for */
	const struct tcb_op *op;       /* kernels of this op only; NULL: of all */
	uint64_t seed;
	struct tcb_assembler_info assembler; /* kind NONE: there is none */
	char no_assembler[160];              /* why */
};

/* What one measurement found. */
struct tcb_finding {
	int is_run; /* 0: TEXT says why not */
	int holds;
	char text[TCB_CLAIM_TEXT_MAX]; /* the figure and what it is of */
};

struct tcb_claim {
	const char *id;        /* "F301", "I001" */
	const char *claim;     /* in a line of our own */
	const char *threshold; /* when it holds */
	const char *method;    /* A: CPU; B: assembler; C: GPU, CUPTI; D: the processor's own counters */
	enum tcb_claim_kind kind;
	void (*measure)(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out);
	const char *not_run; /* why it is never run; NULL where there is a function */
};

struct tcb_claim_outcome {
	enum tcb_claim_result result;
	char evidence[TCB_CLAIM_TEXT_MAX];
	char control[TCB_CLAIM_TEXT_MAX]; /* what the negative control did; empty: none was run */
	double seconds;
};

/* claims.c: claim INDEX of all, in the order of their ids; NULL past the end. */
const struct tcb_claim *tcb_claim_at(size_t index);
const struct tcb_claim *tcb_claim_find(const char *id); /* NULL if unknown */
const char *tcb_claim_result_text(enum tcb_claim_result result);
/* TCB_CLAIM_RESULT_COUNT if TEXT is none. */
enum tcb_claim_result tcb_claim_result_find(const char *text);

/* claims.c, of one claim: measures it and its control. */
void tcb_claim_check(const struct tcb_claim *claim, struct tcb_claim_lab *lab, struct tcb_claim_outcome *out);
/* For measure functions: what was found. */
void tcb_found(struct tcb_finding *out, int holds, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Whether the lab's place is a processor; if not, OUT says that the claim is measured there. */
int tcb_found_on_cpu(const struct tcb_claim_lab *lab, struct tcb_finding *out);
/* Why it could not be run. */
void tcb_found_nothing(struct tcb_finding *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Groups of claims, one a file; each ends with a row without an id. */
extern const struct tcb_claim tcb_claims_criteria[];
extern const struct tcb_claim tcb_claims_tiles[];
extern const struct tcb_claim tcb_claims_fusion[];
extern const struct tcb_claim tcb_claims_views[];
extern const struct tcb_claim tcb_claims_splitting[];
extern const struct tcb_claim tcb_claims_tokens[];
extern const struct tcb_claim tcb_claims_backends[];
extern const struct tcb_claim tcb_claims_numbers[];
extern const struct tcb_claim tcb_claims_barriers[];

#endif
