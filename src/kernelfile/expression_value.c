/* SPDX-License-Identifier: MIT
 *
 * What an expression's tree is with these values.  Numbers are as Python's, but
 * that whole ones end at 64 bits.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernelfile/expression_tree.h"

struct evaluation {
	const struct tcb_expression *expression;
	const struct tcb_value *values;
	struct tcb_error *err;
};

static int evaluate(const struct evaluation *of, int at, struct tcb_value *out);

static const struct tcb_node *node_at(const struct evaluation *of, int at)
{
	return &of->expression->nodes[at];
}

static int fail(const struct evaluation *of, const char *what)
{
	tcb_fail(of->err, TCB_E_USAGE, "expression '%.200s': %s", of->expression->text, what);
	return -1;
}

static int too_large(const struct evaluation *of)
{
	return fail(of, "a number of more than 64 bits");
}

static int give_whole(struct tcb_value *out, int64_t whole)
{
	*out = (struct tcb_value){ .type = TCB_VALUE_WHOLE, .whole = whole };
	return 0;
}

static int give_real(struct tcb_value *out, double real)
{
	*out = (struct tcb_value){ .type = TCB_VALUE_REAL, .real = real };
	return 0;
}

static double real_of(const struct tcb_value *value)
{
	return value->type == TCB_VALUE_REAL ? value->real : (double)value->whole;
}

int tcb_value_is_true(const struct tcb_value *value)
{
	if (value->type == TCB_VALUE_TEXT)
		return value->text[0] != '\0';
	return value->type == TCB_VALUE_REAL ? value->real != 0 : value->whole != 0;
}

void tcb_value_print(const struct tcb_value *value, struct tcb_str *out)
{
	if (value->type == TCB_VALUE_TEXT)
		tcb_str_add(out, value->text);
	else if (value->type == TCB_VALUE_REAL)
		tcb_str_addf(out, "%.17g", value->real);
	else
		tcb_str_addf(out, "%" PRId64, value->whole);
}

/* What is whole in REAL, without a rest. */
static int give_whole_of(const struct evaluation *of, double real, struct tcb_value *out)
{
	if (!(real >= -0x1p63 && real < 0x1p63))
		return isnan(real) ? fail(of, "not a number") : too_large(of);
	return give_whole(out, (int64_t)real);
}

/* --- arithmetic of whole numbers --- */

/* The nearest double: A / B as doubles would round twice. */
static double divide_whole(int64_t a, int64_t b)
{
	const int is_negative = (a < 0) != (b < 0);
	uint64_t above = a < 0 ? -(uint64_t)a : (uint64_t)a;
	const uint64_t below = b < 0 ? -(uint64_t)b : (uint64_t)b;
	int shift = 64;
	double quotient;

	if (a == 0)
		return is_negative ? -0.0 : 0.0;
	for (; !(above >> 63); above <<= 1)
		shift++;
	__extension__ unsigned __int128 whole = (__extension__(unsigned __int128) above << 64) / below;
	if ((__extension__(unsigned __int128) above << 64) % below)
		whole |= 1; /* so far below all that counts that it only tells a tie from more */
	quotient = ldexp((double)whole, -shift);
	return is_negative ? -quotient : quotient;
}

static int power_whole(const struct evaluation *of, int64_t base, int64_t exponent, struct tcb_value *out)
{
	int64_t result = 1;

	while (exponent > 0) {
		if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
			return too_large(of);
		exponent >>= 1;
		if (exponent && __builtin_mul_overflow(base, base, &base))
			return too_large(of);
	}
	return give_whole(out, result);
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
	return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int shift_left(const struct evaluation *of, int64_t a, int64_t b, struct tcb_value *out)
{
	if (b < 0)
		return fail(of, "a shift by less than nothing");
	if (a == 0)
		return give_whole(out, 0);
	if (b > 62 || a > INT64_MAX >> b || a < INT64_MIN >> b)
		return a == -1 && b == 63 ? give_whole(out, INT64_MIN) : too_large(of);
	return give_whole(out, a * ((int64_t)1 << b));
}

static int of_bits(const struct evaluation *of, enum tcb_node_kind kind, int64_t a, int64_t b, struct tcb_value *out)
{
	switch (kind) {
	case TCB_NODE_BIT_AND:
		return give_whole(out, a & b);
	case TCB_NODE_BIT_OR:
		return give_whole(out, a | b);
	case TCB_NODE_BIT_XOR:
		return give_whole(out, a ^ b);
	case TCB_NODE_SHIFT_LEFT:
		return shift_left(of, a, b, out);
	default:
		if (b < 0)
			return fail(of, "a shift by less than nothing");
		return give_whole(out, a >> (b > 63 ? 63 : b));
	}
}

static int of_whole(const struct evaluation *of, enum tcb_node_kind kind, int64_t a, int64_t b, struct tcb_value *out)
{
	int64_t result = 0;
	int is_over = 0;

	if (b == 0 && (kind == TCB_NODE_DIVIDE || kind == TCB_NODE_FLOOR_DIVIDE || kind == TCB_NODE_REMAINDER))
		return fail(of, "a division by zero");
	switch (kind) {
	case TCB_NODE_ADD:
		is_over = __builtin_add_overflow(a, b, &result);
		break;
	case TCB_NODE_SUBTRACT:
		is_over = __builtin_sub_overflow(a, b, &result);
		break;
	case TCB_NODE_MULTIPLY:
		is_over = __builtin_mul_overflow(a, b, &result);
		break;
	case TCB_NODE_DIVIDE:
		return give_real(out, divide_whole(a, b));
	case TCB_NODE_FLOOR_DIVIDE:
		is_over = a == INT64_MIN && b == -1;
		result = is_over ? 0 : floor_quotient(a, b);
		break;
	case TCB_NODE_REMAINDER:
		result = b == -1 ? 0 : a - floor_quotient(a, b) * b;
		break;
	default:
		return power_whole(of, a, b, out);
	}
	return is_over ? too_large(of) : give_whole(out, result);
}

/* --- of real ones --- */

/* As Python has it: the remainder has the sign of B, the quotient is whole. */
static double remainder_real(double a, double b, double *quotient_out)
{
	double rest = fmod(a, b), quotient = (a - rest) / b, whole;

	if (rest != 0 && (b < 0) != (rest < 0)) {
		rest += b;
		quotient -= 1;
	}
	if (rest == 0)
		rest = copysign(0, b);
	whole = floor(quotient);
	if (quotient == 0)
		whole = copysign(0, a / b);
	else if (quotient - whole > 0.5)
		whole += 1;
	*quotient_out = whole;
	return rest;
}

static int power_real(const struct evaluation *of, double a, double b, struct tcb_value *out)
{
	const double result = pow(a, b);

	if (a == 0 && b < 0)
		return fail(of, "zero to a negative power");
	if (a < 0 && isfinite(a) && isfinite(b) && floor(b) != b)
		return fail(of, "a negative number to a power that is not whole");
	if (isinf(result) && isfinite(a) && isfinite(b))
		return fail(of, "a number too large");
	return give_real(out, result);
}

static int of_real(const struct evaluation *of, enum tcb_node_kind kind, double a, double b, struct tcb_value *out)
{
	double quotient;

	if (b == 0 && (kind == TCB_NODE_DIVIDE || kind == TCB_NODE_FLOOR_DIVIDE || kind == TCB_NODE_REMAINDER))
		return fail(of, "a division by zero");
	switch (kind) {
	case TCB_NODE_ADD:
		return give_real(out, a + b);
	case TCB_NODE_SUBTRACT:
		return give_real(out, a - b);
	case TCB_NODE_MULTIPLY:
		return give_real(out, a * b);
	case TCB_NODE_DIVIDE:
		return give_real(out, a / b);
	case TCB_NODE_FLOOR_DIVIDE:
		(void)remainder_real(a, b, &quotient);
		return give_real(out, quotient);
	case TCB_NODE_REMAINDER:
		return give_real(out, remainder_real(a, b, &quotient));
	default:
		return power_real(of, a, b, out);
	}
}

/* --- operators --- */

static int is_of_bits(enum tcb_node_kind kind)
{
	return kind >= TCB_NODE_SHIFT_LEFT && kind <= TCB_NODE_BIT_OR;
}

static int of_two(const struct evaluation *of, const struct tcb_node *node, struct tcb_value *out)
{
	struct tcb_value a, b;

	if (evaluate(of, node->left, &a) != 0 || evaluate(of, node->right, &b) != 0)
		return -1;
	if (a.type == TCB_VALUE_TEXT || b.type == TCB_VALUE_TEXT)
		return fail(of, "a text among numbers");
	const int is_whole = a.type == TCB_VALUE_WHOLE && b.type == TCB_VALUE_WHOLE;

	if (is_of_bits(node->kind))
		return is_whole ? of_bits(of, node->kind, a.whole, b.whole, out)
				: fail(of, "bits of a number that is not whole");
	if (!is_whole || (node->kind == TCB_NODE_POWER && b.whole < 0))
		return of_real(of, node->kind, real_of(&a), real_of(&b), out);
	return of_whole(of, node->kind, a.whole, b.whole, out);
}

static int of_one(const struct evaluation *of, const struct tcb_node *node, struct tcb_value *out)
{
	struct tcb_value a;

	if (evaluate(of, node->left, &a) != 0)
		return -1;
	if (node->kind == TCB_NODE_NOT)
		return give_whole(out, !tcb_value_is_true(&a));
	if (a.type == TCB_VALUE_TEXT)
		return fail(of, "a text among numbers");
	if (node->kind == TCB_NODE_INVERT)
		return a.type == TCB_VALUE_WHOLE ? give_whole(out, ~a.whole)
						 : fail(of, "bits of a number that is not whole");
	*out = a;
	if (node->kind == TCB_NODE_PLUS)
		return 0;
	if (a.type == TCB_VALUE_REAL)
		return give_real(out, -a.real);
	return a.whole == INT64_MIN ? too_large(of) : give_whole(out, -a.whole);
}

/* --- comparisons --- */

/* Below 0, 0 or above as WHOLE is less than, as large as or more than REAL, which is a number. */
static int compare_mixed(int64_t whole, double real)
{
	if (real >= 0x1p63)
		return -1;
	if (real < -0x1p63)
		return 1;
	const int64_t floored = (int64_t)floor(real);

	if (whole != floored)
		return whole < floored ? -1 : 1;
	return real > floor(real) ? -1 : 0;
}

/* As compare_mixed; of texts and numbers only that they differ is known (UNORDERED), and of what is not a number. */
enum { UNORDERED = 2 };
static int compare(const struct tcb_value *a, const struct tcb_value *b)
{
	if (a->type == TCB_VALUE_TEXT || b->type == TCB_VALUE_TEXT) {
		if (a->type != b->type)
			return UNORDERED;
		const int order = strcmp(a->text, b->text);

		return (order > 0) - (order < 0);
	}
	if (a->type == TCB_VALUE_WHOLE && b->type == TCB_VALUE_WHOLE)
		return (a->whole > b->whole) - (a->whole < b->whole);
	if (isnan(real_of(a)) || isnan(real_of(b)))
		return UNORDERED;
	if (a->type == TCB_VALUE_WHOLE)
		return compare_mixed(a->whole, b->real);
	if (b->type == TCB_VALUE_WHOLE)
		return -compare_mixed(b->whole, a->real);
	return (a->real > b->real) - (a->real < b->real);
}

static int holds(enum tcb_node_kind kind, int order)
{
	switch (kind) {
	case TCB_NODE_EQUAL:
		return order == 0;
	case TCB_NODE_UNEQUAL:
		return order != 0;
	case TCB_NODE_LESS:
		return order == -1;
	case TCB_NODE_LESS_EQUAL:
		return order == -1 || order == 0;
	case TCB_NODE_GREATER:
		return order == 1;
	default:
		return order == 1 || order == 0;
	}
}

/* 1, 0 or, after a failure, -1. */
static int is_among(const struct evaluation *of, const struct tcb_value *value, int item)
{
	int found = 0;

	for (; item >= 0; item = node_at(of, item)->next) { /* all are evaluated, as Python does */
		struct tcb_value other;

		if (evaluate(of, node_at(of, item)->left, &other) != 0)
			return -1;
		found |= compare(value, &other) == 0;
	}
	return found;
}

static int of_comparisons(const struct evaluation *of, const struct tcb_node *node, struct tcb_value *out)
{
	struct tcb_value left, right;

	if (evaluate(of, node->left, &left) != 0)
		return -1;
	for (int link = node->next; link >= 0; link = node_at(of, link)->next) {
		const struct tcb_node *with = node_at(of, link);
		int is_true;

		if (with->kind == TCB_NODE_IN || with->kind == TCB_NODE_NOT_IN) {
			is_true = is_among(of, &left, with->left);
			if (is_true < 0)
				return -1;
			if (with->next >= 0)
				return fail(of, "a comparison behind 'in'");
			return give_whole(out, is_true == (with->kind == TCB_NODE_IN));
		}
		if (evaluate(of, with->left, &right) != 0)
			return -1;
		if ((left.type == TCB_VALUE_TEXT) != (right.type == TCB_VALUE_TEXT) && with->kind != TCB_NODE_EQUAL &&
		    with->kind != TCB_NODE_UNEQUAL)
			return fail(of, "a text among numbers");
		if (!holds(with->kind, compare(&left, &right)))
			return give_whole(out, 0);
		left = right;
	}
	return give_whole(out, 1);
}

/* --- functions --- */

/* The least or the most of the ITEMs. */
static int extreme(const struct evaluation *of, enum tcb_node_function function, int item, struct tcb_value *out)
{
	const enum tcb_node_kind wanted = function == TCB_FUNCTION_MIN ? TCB_NODE_LESS : TCB_NODE_GREATER;

	if (evaluate(of, node_at(of, item)->left, out) != 0)
		return -1;
	while ((item = node_at(of, item)->next) >= 0) {
		struct tcb_value other;

		if (evaluate(of, node_at(of, item)->left, &other) != 0)
			return -1;
		if ((other.type == TCB_VALUE_TEXT) != (out->type == TCB_VALUE_TEXT))
			return fail(of, "a text among numbers");
		if (holds(wanted, compare(&other, out)))
			*out = other;
	}
	return 0;
}

static int of_root(const struct evaluation *of, enum tcb_node_function function, double x, struct tcb_value *out)
{
	if (function == TCB_FUNCTION_SQRT)
		return x < 0 ? fail(of, "the root of a negative number") : give_real(out, sqrt(x));
	return x > 0 ? give_real(out, log2(x)) : fail(of, "the logarithm of zero or less");
}

static int of_function(const struct evaluation *of, const struct tcb_node *node, struct tcb_value *out)
{
	struct tcb_value x;

	if (node->function == TCB_FUNCTION_MIN || node->function == TCB_FUNCTION_MAX)
		return extreme(of, node->function, node->left, out);
	if (evaluate(of, node_at(of, node->left)->left, &x) != 0)
		return -1;
	if (x.type == TCB_VALUE_TEXT)
		return fail(of, "a text among numbers");
	*out = x;
	switch (node->function) {
	case TCB_FUNCTION_ABS:
		if (x.type == TCB_VALUE_REAL)
			return give_real(out, fabs(x.real));
		return x.whole == INT64_MIN ? too_large(of) : give_whole(out, x.whole < 0 ? -x.whole : x.whole);
	case TCB_FUNCTION_FLOAT:
		return give_real(out, real_of(&x));
	case TCB_FUNCTION_INT:
		return x.type == TCB_VALUE_WHOLE ? 0 : give_whole_of(of, trunc(x.real), out);
	case TCB_FUNCTION_ROUND:
		return x.type == TCB_VALUE_WHOLE ? 0 : give_whole_of(of, nearbyint(x.real), out);
	case TCB_FUNCTION_CEIL:
		return x.type == TCB_VALUE_WHOLE ? 0 : give_whole_of(of, ceil(x.real), out);
	case TCB_FUNCTION_FLOOR:
		return x.type == TCB_VALUE_WHOLE ? 0 : give_whole_of(of, floor(x.real), out);
	default:
		return of_root(of, node->function, real_of(&x), out);
	}
}

/* --- a node --- */

static int of_choice(const struct evaluation *of, const struct tcb_node *node, struct tcb_value *out)
{
	struct tcb_value condition;

	if (evaluate(of, node->right, &condition) != 0)
		return -1;
	return evaluate(of, tcb_value_is_true(&condition) ? node->left : node->next, out);
}

static int evaluate(const struct evaluation *of, int at, struct tcb_value *out)
{
	const struct tcb_node *node = node_at(of, at);

	switch (node->kind) {
	case TCB_NODE_VALUE:
		*out = node->value;
		return 0;
	case TCB_NODE_NAME:
		*out = of->values[node->name];
		return 0;
	case TCB_NODE_NOT:
	case TCB_NODE_PLUS:
	case TCB_NODE_MINUS:
	case TCB_NODE_INVERT:
		return of_one(of, node, out);
	case TCB_NODE_AND:
	case TCB_NODE_OR:
		if (evaluate(of, node->left, out) != 0)
			return -1;
		if (tcb_value_is_true(out) == (node->kind == TCB_NODE_OR))
			return 0;
		return evaluate(of, node->right, out);
	case TCB_NODE_CHOICE:
		return of_choice(of, node, out);
	case TCB_NODE_COMPARED:
		return of_comparisons(of, node, out);
	case TCB_NODE_CALL:
		return of_function(of, node, out);
	default:
		return of_two(of, node, out);
	}
}

enum tcb_status tcb_expression_value(const struct tcb_expression *expression, const struct tcb_value *values,
				     struct tcb_value *out, struct tcb_error *err)
{
	const struct evaluation of = { expression, values, err };

	return evaluate(&of, expression->root, out) == 0 ? TCB_OK : TCB_E_USAGE;
}

enum tcb_status tcb_expression_size(const struct tcb_expression *expression, const struct tcb_value *values,
				    int64_t least, int64_t *out, struct tcb_error *err)
{
	struct tcb_value value;

	TCB_TRY(tcb_expression_value(expression, values, &value, err));
	if (value.type == TCB_VALUE_REAL && value.real >= -0x1p62 && value.real <= 0x1p62 &&
	    floor(value.real) == value.real)
		value = (struct tcb_value){ .whole = (int64_t)value.real };
	if (value.type != TCB_VALUE_WHOLE || value.whole < least)
		return tcb_fail(err, TCB_E_USAGE, "expression '%.200s' is not a whole number from %" PRId64 " on",
				expression->text, least);
	*out = value.whole;
	return TCB_OK;
}

const char *tcb_expression_text(const struct tcb_expression *expression)
{
	return expression->text;
}

uint64_t tcb_expression_reads(const struct tcb_expression *expression)
{
	return expression->reads;
}
