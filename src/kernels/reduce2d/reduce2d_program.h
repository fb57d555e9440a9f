/* SPDX-License-Identifier: MIT
 *
 * A reduction of one's own (seed 003: ReduceOp): an identity and how two values are
 * combined, an expression over a and b, as a short program for a stack machine that the CPU
 * interprets on vectors, a GPU's emitter writes as instructions, and the reference runs in
 * double.
 *
 *   expression  term, or sums and differences of terms
 *   term        factor, or products of factors
 *   factor      a, b, a number, -factor, (expression), abs(e), min(e, e), max(e, e)
 *
 * min and max are those of IEEE 754-2019: NaN if one is, -0 < +0.
 *
 * That the order of combining does not matter is the user's statement.  Refused is what is
 * seen not to be so: elements come to a partial result through combine(partial, element),
 * partial results in any order, and identities between them must change nothing; that is
 * tried with a few numbers.  So a - b, a + b * b and (a + b) / 2 are refused, and
 * max(abs(a), abs(b)) with 0 is not: every element is combined with something.
 */
#ifndef TCB_KERNELS_REDUCE2D_PROGRAM_H
#define TCB_KERNELS_REDUCE2D_PROGRAM_H

#include "base/status.h"

/* X(code, name, operands) */
#define REDUCE2D_CODES(X) \
	X(A, "a", 0)      \
	X(B, "b", 0)      \
	X(NUMBER, "", 0)  \
	X(NEG, "-", 1) X(ABS, "abs", 1) X(ADD, "+", 2) X(SUB, "-", 2) X(MUL, "*", 2) X(MIN, "min", 2) X(MAX, "max", 2)
enum reduce2d_code {
#define REDUCE2D_CODE(code, name, operands) REDUCE2D_CODE_##code,
	REDUCE2D_CODES(REDUCE2D_CODE)
#undef REDUCE2D_CODE
};
enum { REDUCE2D_PROGRAM_MAX = 32, REDUCE2D_STACK_MAX = 8, REDUCE2D_TEXT_MAX = 512 };

/* Postfix: each takes its operands from the stack and leaves its result there. */
struct reduce2d_program {
	float identity;
	unsigned count;
	struct {
		enum reduce2d_code code;
		float value; /* of a NUMBER */
	} step[REDUCE2D_PROGRAM_MAX];
};

/* TCB_E_USAGE with the column, or with what COMBINE is seen to do. */
enum tcb_status reduce2d_program_parse(const char *identity, const char *combine, struct reduce2d_program *out,
				       struct tcb_error *err);
/* "0: max(abs(a), abs(b))", which parses to the same program. */
void reduce2d_program_print(const struct reduce2d_program *program, char out[REDUCE2D_TEXT_MAX]);

int reduce2d_code_operands(enum reduce2d_code code);
double reduce2d_program_run(const struct reduce2d_program *program, double a, double b);
/* What no partial result of these magnitudes is larger than, however they came about. */
double reduce2d_program_magnitude(const struct reduce2d_program *program, double a, double b);
/* Roundings of one combine that a term goes through, at most; 0: it rounds nothing. */
unsigned reduce2d_program_roundings(const struct reduce2d_program *program);
/* Is a product of both a and b in it, whose error is that of all that either has been through? */
int reduce2d_program_multiplies(const struct reduce2d_program *program);

#endif
