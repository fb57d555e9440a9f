/* SPDX-License-Identifier: MIT
 *
 * Expressions over named values, as files that describe kernels have them:
 * conditions, sizes, grids.  What they mean is what Python makes of them, so that a
 * file's writer can try them there: true division and floor division, the
 * remainder's sign, chained comparisons, `and` and `or` that hand on an operand,
 * `a if c else b`, `in (1, 2)`; min, max, abs, int, float, round, ceil, floor,
 * sqrt, log2.  `&&`, `||` and `!` are taken for and, or, not.  There is nothing else:
 * no attribute, no assignment, no loop; what an expression costs is what its text is long.
 *
 * Whole numbers have 64 bits: what needs more is an error, not another number.
 */
#ifndef TCB_KERNELFILE_EXPRESSION_H
#define TCB_KERNELFILE_EXPRESSION_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/util.h"

enum { TCB_EXPRESSION_NAMES_MAX = 64, TCB_EXPRESSION_TEXT_MAX = 4096 };

enum tcb_value_type { TCB_VALUE_WHOLE, TCB_VALUE_REAL, TCB_VALUE_TEXT };
struct tcb_value {
	enum tcb_value_type type;
	union {
		int64_t whole;
		double real;
		const char *text; /* lent, by whoever made the value */
	};
};

struct tcb_expression;

/* Of TEXT, whose names are among the COUNT of NAMES; destroy OUT.  TCB_E_USAGE with the position of what is wrong. */
enum tcb_status tcb_expression_create(const char *text, const char *const *names, size_t count,
				      struct tcb_expression **out, struct tcb_error *err);
void tcb_expression_destroy(struct tcb_expression *expression); /* NULL is fine */
const char *tcb_expression_text(const struct tcb_expression *expression);
/* Bit 1 << I: it reads name I. */
uint64_t tcb_expression_reads(const struct tcb_expression *expression);

/* With VALUES by the names' places.  Texts that come out are lent by EXPRESSION or by VALUES.  TCB_E_USAGE where there
 * is none: a division by zero, more than 64 bits, a text among numbers. */
enum tcb_status tcb_expression_value(const struct tcb_expression *expression, const struct tcb_value *values,
				     struct tcb_value *out, struct tcb_error *err);
/* The same where a size or a count is wanted: whole (4.0 is), and at least LEAST. */
enum tcb_status tcb_expression_size(const struct tcb_expression *expression, const struct tcb_value *values,
				    int64_t least, int64_t *out, struct tcb_error *err);
int tcb_value_is_true(const struct tcb_value *value);
/* VALUE as a source or a command line has it. */
void tcb_value_print(const struct tcb_value *value, struct tcb_str *out);

#endif
