/* SPDX-License-Identifier: MIT
 *
 * Expressions over a and b: text to a program and back, the program in double, what its
 * roundings are, and whether its results depend on the order.
 */
#include "kernels/reduce2d/reduce2d_program.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static const struct {
	const char *name;
	int operands;
} codes[] = {
#define ROW(code, name, operands) { name, operands },
	REDUCE2D_CODES(ROW)
#undef ROW
};

int reduce2d_code_operands(enum reduce2d_code code)
{
	return codes[code].operands;
}

/* --- text to program --- */

/* More than a program has steps, so that what is printed of one, in all its parentheses, can be read. */
enum { NESTING_MAX = 40, NUMBER_MAX = 40 };

struct parser {
	const char *text, *at;
	struct reduce2d_program *out;
	struct tcb_error *err;
	int nesting, stack;
};

static enum tcb_status fail_at(const struct parser *p, const char *what)
{
	return tcb_fail(
		p->err, TCB_E_USAGE,
		"combine, column %zu: %s; it is an expression of a, b, numbers, + - *, abs(), min(,) and max(,)",
		(size_t)(p->at - p->text) + 1, what);
}

static void skip_spaces(struct parser *p)
{
	while (*p->at == ' ')
		p->at++;
}

static int takes(struct parser *p, const char *word)
{
	skip_spaces(p);
	const size_t length = strlen(word);
	if (strncmp(p->at, word, length) != 0 ||
	    (isalpha((unsigned char)*word) && isalnum((unsigned char)p->at[length])))
		return 0;
	p->at += length;
	return 1;
}

static enum tcb_status append(struct parser *p, enum reduce2d_code code, float value)
{
	struct reduce2d_program *out = p->out;
	p->stack += 1 - codes[code].operands;
	if (out->count == REDUCE2D_PROGRAM_MAX || p->stack > REDUCE2D_STACK_MAX)
		return fail_at(p, "the expression is too long");
	out->step[out->count].code = code;
	out->step[out->count++].value = value;
	return TCB_OK;
}

/* A decimal number at *AT, which is moved past it: digits, a point, an exponent, and nothing that strtof alone takes.
 */
static int read_number(const char **at, float *out)
{
	char text[NUMBER_MAX], *end;
	const size_t length = strspn(*at, "0123456789.");
	size_t all = length;
	if (!length || length >= sizeof text)
		return 0;
	if ((*at)[all] == 'e') {
		all += 1 + ((*at)[all + 1] == '-');
		all += strspn(*at + all, "0123456789");
	}
	if (all >= sizeof text)
		return 0;
	snprintf(text, sizeof text, "%.*s", (int)all, *at);
	*out = strtof(text, &end);
	if (*end || !isfinite(*out))
		return 0;
	*at += all;
	return 1;
}

static enum tcb_status parse_sum(struct parser *p);

static enum tcb_status parse_call(struct parser *p, enum reduce2d_code code)
{
	for (int i = 0; i < codes[code].operands; i++) {
		if (!takes(p, i ? "," : "("))
			return fail_at(p, i ? "',' is expected" : "'(' is expected");
		TCB_TRY(parse_sum(p));
	}
	return takes(p, ")") ? append(p, code, 0) : fail_at(p, "')' is expected");
}

static enum tcb_status parse_factor(struct parser *p)
{
	enum tcb_status status;
	float value;
	if (++p->nesting > NESTING_MAX)
		return fail_at(p, "the expression is nested too deeply");
	skip_spaces(p);
	if (takes(p, "abs")) {
		status = parse_call(p, REDUCE2D_CODE_ABS);
	} else if (takes(p, "min")) {
		status = parse_call(p, REDUCE2D_CODE_MIN);
	} else if (takes(p, "max")) {
		status = parse_call(p, REDUCE2D_CODE_MAX);
	} else if (takes(p, "a")) {
		status = append(p, REDUCE2D_CODE_A, 0);
	} else if (takes(p, "b")) {
		status = append(p, REDUCE2D_CODE_B, 0);
	} else if (takes(p, "-")) {
		status = parse_factor(p);
		status = status == TCB_OK ? append(p, REDUCE2D_CODE_NEG, 0) : status;
	} else if (takes(p, "(")) {
		status = parse_sum(p);
		if (status == TCB_OK && !takes(p, ")"))
			status = fail_at(p, "')' is expected");
	} else if (read_number(&p->at, &value)) {
		status = append(p, REDUCE2D_CODE_NUMBER, value);
	} else {
		status = fail_at(p, "a, b, a number or a function is expected");
	}
	p->nesting--;
	return status;
}

static enum tcb_status parse_product(struct parser *p)
{
	TCB_TRY(parse_factor(p));
	while (takes(p, "*")) {
		TCB_TRY(parse_factor(p));
		TCB_TRY(append(p, REDUCE2D_CODE_MUL, 0));
	}
	return TCB_OK;
}

static enum tcb_status parse_sum(struct parser *p)
{
	TCB_TRY(parse_product(p));
	for (;;) {
		const enum reduce2d_code code = takes(p, "+")   ? REDUCE2D_CODE_ADD
						: takes(p, "-") ? REDUCE2D_CODE_SUB
								: REDUCE2D_CODE_A;
		if (code == REDUCE2D_CODE_A)
			return TCB_OK;
		TCB_TRY(parse_product(p));
		TCB_TRY(append(p, code, 0));
	}
}

/* "-inf", "inf" or a number. */
static enum tcb_status parse_identity(const char *text, float *out, struct tcb_error *err)
{
	const int is_negative = *text == '-';
	const char *at = text + is_negative;
	if (strcmp(at, "inf") == 0)
		*out = INFINITY;
	else if (!read_number(&at, out) || *at)
		return tcb_fail(err, TCB_E_USAGE, "invalid identity '%.40s': give a number, inf or -inf", text);
	*out = is_negative ? -*out : *out;
	return TCB_OK;
}

/* --- what it does --- */

static double larger(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (double)NAN;
	return a > b || (a == b && signbit(b)) ? a : b;
}

static double smaller(double a, double b)
{
	if (isnan(a) || isnan(b))
		return (double)NAN;
	return a < b || (a == b && signbit(a)) ? a : b;
}

/* Of magnitudes differences are sums, and the larger of two is what min and max are at most. */
static double run(const struct reduce2d_program *program, double a, double b, int is_magnitude)
{
	double stack[REDUCE2D_STACK_MAX + 1] = { 0 };
	int top = 0;
	for (unsigned i = 0; i < program->count; i++) {
		const enum reduce2d_code code = program->step[i].code;
		top -= codes[code].operands;
		const double x = stack[top], y = stack[top + 1];
		double *to = &stack[top++];
		switch (code) {
		case REDUCE2D_CODE_A:
			*to = a;
			break;
		case REDUCE2D_CODE_B:
			*to = b;
			break;
		case REDUCE2D_CODE_NUMBER:
			*to = is_magnitude ? fabs((double)program->step[i].value) : (double)program->step[i].value;
			break;
		case REDUCE2D_CODE_NEG:
			*to = is_magnitude ? x : -x;
			break;
		case REDUCE2D_CODE_ABS:
			*to = fabs(x);
			break;
		case REDUCE2D_CODE_ADD:
			*to = x + y;
			break;
		case REDUCE2D_CODE_SUB:
			*to = is_magnitude ? x + y : x - y;
			break;
		case REDUCE2D_CODE_MUL:
			*to = x * y;
			break;
		case REDUCE2D_CODE_MIN:
			*to = is_magnitude ? larger(x, y) : smaller(x, y);
			break;
		case REDUCE2D_CODE_MAX:
			*to = larger(x, y);
			break;
		}
	}
	return stack[0];
}

double reduce2d_program_run(const struct reduce2d_program *program, double a, double b)
{
	return run(program, a, b, 0);
}

double reduce2d_program_magnitude(const struct reduce2d_program *program, double a, double b)
{
	return run(program, a, b, 1);
}

/* Of each place on the stack: roundings that its terms have; which of a (1) and b (2) it is made of. */
static unsigned roundings(const struct reduce2d_program *program, int *multiplies_out)
{
	unsigned count[REDUCE2D_STACK_MAX + 1] = { 0 }, of[REDUCE2D_STACK_MAX + 1] = { 0 };
	int top = 0;
	*multiplies_out = 0;
	for (unsigned i = 0; i < program->count; i++) {
		const enum reduce2d_code code = program->step[i].code;
		const int operands = codes[code].operands;
		top -= operands;
		const unsigned other = operands > 1 ? count[top + 1] : 0,
			       more = count[top] > other ? count[top] : other;
		const unsigned from = operands ? of[top] | (operands > 1 ? of[top + 1] : 0) : 0;
		*multiplies_out |= code == REDUCE2D_CODE_MUL && of[top] && of[top + 1];
		count[top] = code == REDUCE2D_CODE_MUL                                ? count[top] + other + 1
			     : code == REDUCE2D_CODE_ADD || code == REDUCE2D_CODE_SUB ? more + 1
			     : operands                                               ? more
										      : 0;
		of[top++] = code == REDUCE2D_CODE_A ? 1 : code == REDUCE2D_CODE_B ? 2 : from;
	}
	return count[0];
}

unsigned reduce2d_program_roundings(const struct reduce2d_program *program)
{
	int multiplies;
	return roundings(program, &multiplies);
}

int reduce2d_program_multiplies(const struct reduce2d_program *program)
{
	int multiplies;
	roundings(program, &multiplies);
	return multiplies;
}

/* --- whether the order matters --- */

static int is_near(double a, double b)
{
	return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

/* The first three numbers for which it is seen to matter, as a message. */
static enum tcb_status check_order(const struct reduce2d_program *p, struct tcb_error *err)
{
	static const double values[] = { 0, 1, -1, 0.375, -2.5, 3, 17, -0.015625, 1000 };
	enum { VALUES = sizeof values / sizeof *values };
	const double none = (double)p->identity;
	for (int i = 0; i < VALUES * VALUES * VALUES; i++) {
		const double x = values[i % VALUES], y = values[i / VALUES % VALUES], z = values[i / VALUES / VALUES];
		const double of_x = run(p, none, x, 0), of_y = run(p, none, y, 0), of_z = run(p, none, z, 0);
		const double in_order = run(p, run(p, of_x, y, 0), z, 0);
		const double apart = run(p, of_x, run(p, of_y, z, 0), 0), back = run(p, run(p, of_z, of_y, 0), x, 0);
		if (!is_near(run(p, of_x, none, 0), of_x))
			return tcb_fail(err, TCB_E_USAGE,
					"%g is not the identity of this combine: with it %g becomes %g, not %g", none,
					of_x, run(p, of_x, none, 0), of_x);
		const double behind = run(p, none, in_order, 0);
		if (!is_near(in_order, apart) || !is_near(in_order, back) || !is_near(in_order, behind))
			return tcb_fail(err, TCB_E_USAGE,
					"the order matters to this combine: of %g, %g and %g it makes %g, %g, %g or %g",
					x, y, z, in_order, apart, back, behind);
	}
	return TCB_OK;
}

enum tcb_status reduce2d_program_parse(const char *identity, const char *combine, struct reduce2d_program *out,
				       struct tcb_error *err)
{
	struct reduce2d_program program = { .count = 0 };
	struct parser p = { combine, combine, &program, err, 0, 0 };
	unsigned used = 0;
	TCB_TRY(parse_identity(identity, &program.identity, err));
	TCB_TRY(parse_sum(&p));
	skip_spaces(&p);
	if (*p.at)
		return fail_at(&p, "the end is expected");
	for (unsigned i = 0; i < program.count; i++)
		used |= program.step[i].code == REDUCE2D_CODE_A ? 1 : program.step[i].code == REDUCE2D_CODE_B ? 2 : 0;
	if (used != 3)
		return tcb_fail(err, TCB_E_USAGE, "combine '%.80s' must be made of a and of b", combine);
	TCB_TRY(check_order(&program, err));
	*out = program;
	return TCB_OK;
}

/* --- program to text --- */

/* The first step of what step LAST is made of. */
static unsigned first_of(const struct reduce2d_program *program, unsigned last)
{
	int needed = codes[program->step[last].code].operands;
	while (needed > 0)
		needed += codes[program->step[--last].code].operands - 1;
	return last;
}

/* Step LAST and what it is made of; sums, differences and products in parentheses. */
static void print(const struct reduce2d_program *program, unsigned last, struct tcb_str *out)
{
	const enum reduce2d_code code = program->step[last].code;
	const char *name = codes[code].name;
	const int operands = codes[code].operands, is_call = operands && isalpha((unsigned char)*name);
	if (code == REDUCE2D_CODE_NUMBER)
		tcb_str_addf(out, "%.9g", (double)program->step[last].value);
	if (is_call || operands < 2)
		tcb_str_addf(out, "%s", name);
	if (is_call || operands > 1)
		tcb_str_addf(out, "(");
	if (operands > 1) {
		print(program, first_of(program, last - 1) - 1, out);
		tcb_str_addf(out, "%s%s ", is_call ? "" : " ", is_call ? "," : name);
	}
	if (operands)
		print(program, last - 1, out);
	if (is_call || operands > 1)
		tcb_str_addf(out, ")");
}

void reduce2d_program_print(const struct reduce2d_program *program, char out[REDUCE2D_TEXT_MAX])
{
	struct tcb_str text = { 0 };
	tcb_str_addf(&text, "%.9g: ", (double)program->identity);
	print(program, program->count - 1, &text);
	snprintf(out, REDUCE2D_TEXT_MAX, "%s", text.data);
	tcb_str_fini(&text);
}
