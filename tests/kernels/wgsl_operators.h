/* SPDX-License-Identifier: MIT
 *
 * Operators that WGSL's grammar keeps apart and some compilers do not: & | ^ stand with
 * nothing else, a shift with no arithmetic and no other shift, && with no ||, unless
 * there are parentheses.  Text is as emitters write it, with a blank on both sides of
 * an operator of two operands.
 */
#ifndef TCB_TESTS_WGSL_OPERATORS_H
#define TCB_TESTS_WGSL_OPERATORS_H

#include <string.h>

enum {
	WGSL_AND = 1,
	WGSL_OR = 2,
	WGSL_XOR = 4,
	WGSL_SHIFT = 8,
	WGSL_ARITHMETIC = 16,
	WGSL_RELATION = 32,
	WGSL_BOTH = 64,
	WGSL_EITHER = 128
};
enum { WGSL_LEVELS = 64 };

/* What operator begins at AT, behind a blank; 0: none does. */
static inline unsigned wgsl_operator(const char *at)
{
	static const struct {
		const char *text;
		unsigned kind;
	} rows[] = { { "& ", WGSL_AND },        { "| ", WGSL_OR },         { "^ ", WGSL_XOR },
		     { "<< ", WGSL_SHIFT },     { ">> ", WGSL_SHIFT },     { "+ ", WGSL_ARITHMETIC },
		     { "- ", WGSL_ARITHMETIC }, { "* ", WGSL_ARITHMETIC }, { "/ ", WGSL_ARITHMETIC },
		     { "% ", WGSL_ARITHMETIC }, { "< ", WGSL_RELATION },   { "> ", WGSL_RELATION },
		     { "<= ", WGSL_RELATION },  { ">= ", WGSL_RELATION },  { "== ", WGSL_RELATION },
		     { "!= ", WGSL_RELATION },  { "&& ", WGSL_BOTH },      { "|| ", WGSL_EITHER } };

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strncmp(at, rows[i].text, strlen(rows[i].text)) == 0)
			return rows[i].kind;
	return 0;
}

/* May KIND follow what an expression has SEEN at its level, and, since the last relation, its OPERAND? */
static inline int wgsl_is_kept_apart(unsigned seen, unsigned operand, unsigned kind)
{
	const unsigned bits = WGSL_AND | WGSL_OR | WGSL_XOR;

	if ((kind & bits && seen & ~kind) || (!(kind & bits) && seen & bits))
		return 0;
	if ((kind == WGSL_SHIFT && operand) || (kind == WGSL_ARITHMETIC && operand & WGSL_SHIFT))
		return 0;
	return !(kind == WGSL_BOTH && seen & WGSL_EITHER) && !(kind == WGSL_EITHER && seen & WGSL_BOTH);
}

/* The first operator of TEXT that lacks parentheses; NULL: none does. */
static inline const char *wgsl_unparenthesised(const char *text)
{
	unsigned seen[WGSL_LEVELS] = { 0 }, operand[WGSL_LEVELS] = { 0 };
	size_t level = 0;

	for (const char *at = text; *at; at++) {
		const unsigned kind = at > text && at[-1] == ' ' ? wgsl_operator(at) : 0;

		if (at[0] == '/' && at[1] == '/') {
			at += strcspn(at, "\n") - 1;
		} else if (strchr("([", *at)) {
			level += level + 1 < WGSL_LEVELS;
			seen[level] = operand[level] = 0;
		} else if (strchr(")]", *at)) {
			level -= level > 0;
		} else if (strchr(",;{}", *at) || (*at == '=' && at[1] == ' ' && !strchr("=<>!", at[-1]))) {
			seen[level] = operand[level] = 0;
		} else if (kind) {
			if (!wgsl_is_kept_apart(seen[level], operand[level], kind))
				return at;
			seen[level] |= kind;
			operand[level] = kind >= WGSL_RELATION ? 0 : operand[level] | kind;
		}
	}
	return NULL;
}

#endif
