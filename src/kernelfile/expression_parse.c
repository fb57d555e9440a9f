/* SPDX-License-Identifier: MIT
 *
 * A text in, the tree of an expression out; by Python's grammar of expressions
 * (The Python Language Reference, section 6), of which it takes a part.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "kernelfile/expression_tree.h"

enum { DEPTH_MAX = 300 };

struct reader {
	struct tcb_expression *expression;
	const char *text, *at;
	const char *const *names;
	size_t name_count;
	char *quoted; /* where the next text in quotes goes */
	unsigned depth;
	struct tcb_error *err;
	int failed;
};

static int read_choice(struct reader *reader);

static int fail(struct reader *reader, const char *what)
{
	if (!reader->failed)
		tcb_fail(reader->err, TCB_E_USAGE, "expression '%.200s', at character %zu: %s", reader->text,
			 (size_t)(reader->at - reader->text) + 1, what);
	reader->failed = 1;
	return -1;
}

static int add_node(struct reader *reader, const struct tcb_node *node)
{
	struct tcb_expression *expression = reader->expression;
	struct tcb_node *nodes;

	if (reader->failed)
		return -1;
	nodes = tcb_grow(expression->nodes, expression->count, &expression->capacity, 16, sizeof *nodes);
	if (!nodes)
		return fail(reader, "out of memory");
	expression->nodes = nodes;
	nodes[expression->count] = *node;
	return (int)expression->count++;
}

static int add(struct reader *reader, enum tcb_node_kind kind, int left, int right)
{
	return add_node(reader, &(struct tcb_node){ .kind = kind, .left = left, .right = right, .next = -1 });
}

/* --- words and signs --- */

static void skip_space(struct reader *reader)
{
	while (isspace((unsigned char)*reader->at))
		reader->at++;
}

static int is_in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Takes SIGN, or WORD whole, if it is what comes. */
static int take(struct reader *reader, const char *sign)
{
	const size_t length = strlen(sign);

	skip_space(reader);
	if (strncmp(reader->at, sign, length) != 0 || (is_in_word(*sign) && is_in_word(reader->at[length])))
		return 0;
	reader->at += length;
	return 1;
}

struct sign {
	const char *text;
	enum tcb_node_kind kind;
	const char *unless; /* characters that make it another sign */
};

/* Of SIGNS, up to one without a text, that which comes; NULL: none. */
static const struct sign *take_one(struct reader *reader, const struct sign *signs)
{
	for (skip_space(reader); signs->text; signs++) {
		const char *at = reader->at;

		if (!take(reader, signs->text))
			continue;
		if (!signs->unless || !*reader->at || !strchr(signs->unless, *reader->at))
			return signs;
		reader->at = at;
	}
	return NULL;
}

/* --- what is not made of others --- */

static int read_number(struct reader *reader)
{
	struct tcb_node node = { .kind = TCB_NODE_VALUE, .left = -1, .right = -1, .next = -1 };
	const size_t digits = strspn(reader->at, "0123456789");
	const int is_hex = reader->at[0] == '0' && (reader->at[1] | 32) == 'x';
	const int is_real = !is_hex && (reader->at[digits] == '.' || (reader->at[digits] | 32) == 'e');
	char *end;

	errno = 0;
	if (is_real) {
		node.value = (struct tcb_value){ .type = TCB_VALUE_REAL, .real = strtod(reader->at, &end) };
	} else {
		if (!is_hex && reader->at[0] == '0' && digits > strspn(reader->at, "0"))
			return fail(reader, "a number with a zero in front");
		node.value = (struct tcb_value){ .whole = strtoll(reader->at, &end, is_hex ? 16 : 10) };
		if (errno)
			return fail(reader, "a number of more than 64 bits");
	}
	if (is_in_word(*end) || *end == '.')
		return fail(reader, "an invalid number");
	reader->at = end;
	return add_node(reader, &node);
}

static int read_quoted(struct reader *reader)
{
	struct tcb_node node = { .kind = TCB_NODE_VALUE, .left = -1, .right = -1, .next = -1 };
	const char *end = strchr(reader->at + 1, *reader->at);
	const size_t length = end ? (size_t)(end - reader->at) - 1 : 0;

	if (!end)
		return fail(reader, "a quote without its end");
	if (memchr(reader->at, '\\', length))
		return fail(reader, "a backslash in a text");
	node.value = (struct tcb_value){ .type = TCB_VALUE_TEXT, .text = reader->quoted };
	memcpy(reader->quoted, reader->at + 1, length);
	reader->quoted += length;
	*reader->quoted++ = '\0';
	reader->at = end + 1;
	return add_node(reader, &node);
}

/* ITEMs up to CLOSE; the first, -1 where there are none. */
static int read_items(struct reader *reader, const char *close, unsigned *count_out)
{
	int first = -1, last = -1;

	*count_out = 0;
	while (!reader->failed && !take(reader, close)) {
		const int item = add(reader, TCB_NODE_ITEM, read_choice(reader), -1);

		if (item < 0)
			return -1;
		if (first < 0)
			first = item;
		else
			reader->expression->nodes[last].next = item;
		last = item;
		++*count_out;
		if (!take(reader, ",") && !take(reader, close))
			return fail(reader, "',' or a closing bracket is missing");
		if (reader->at[-1] == *close)
			break;
	}
	return first;
}

static const struct function {
	const char *name;
	unsigned least, most; /* arguments */
} functions[TCB_FUNCTION_COUNT] = {
	[TCB_FUNCTION_MIN] = { "min", 2, 64 },    [TCB_FUNCTION_MAX] = { "max", 2, 64 },
	[TCB_FUNCTION_ABS] = { "abs", 1, 1 },     [TCB_FUNCTION_INT] = { "int", 1, 1 },
	[TCB_FUNCTION_FLOAT] = { "float", 1, 1 }, [TCB_FUNCTION_ROUND] = { "round", 1, 1 },
	[TCB_FUNCTION_CEIL] = { "ceil", 1, 1 },   [TCB_FUNCTION_FLOOR] = { "floor", 1, 1 },
	[TCB_FUNCTION_SQRT] = { "sqrt", 1, 1 },   [TCB_FUNCTION_LOG2] = { "log2", 1, 1 },
};

static int read_call(struct reader *reader, enum tcb_node_function function)
{
	unsigned count;
	const int first = read_items(reader, ")", &count);
	struct tcb_node node = { .kind = TCB_NODE_CALL, .left = first, .right = -1, .next = -1, .function = function };

	if (count < functions[function].least || count > functions[function].most)
		return fail(reader, "a function with too few or too many arguments");
	return add_node(reader, &node);
}

static int read_word(struct reader *reader)
{
	static const char *const taken[] = { "and", "or", "not", "if", "else", "in", "is", "lambda", "for", NULL };
	struct tcb_node node = { .kind = TCB_NODE_NAME, .left = -1, .right = -1, .next = -1 };
	const char *word = reader->at;
	size_t length = 0;

	while (is_in_word(word[length]))
		length++;
	for (const char *const *other = taken; *other; other++)
		if (strlen(*other) == length && memcmp(*other, word, length) == 0)
			return fail(reader, "an operand is missing");
	for (; node.name < reader->name_count; node.name++) {
		const char *name = reader->names[node.name];

		if (strlen(name) == length && memcmp(name, word, length) == 0) {
			reader->at += length;
			reader->expression->reads |= (uint64_t)1 << node.name;
			return add_node(reader, &node);
		}
	}
	if (take(reader, "True") || take(reader, "False")) {
		node.kind = TCB_NODE_VALUE;
		node.value = (struct tcb_value){ .whole = *word == 'T' };
		return add_node(reader, &node);
	}
	for (int i = 0; i < TCB_FUNCTION_COUNT; i++)
		if (take(reader, functions[i].name))
			return take(reader, "(") ? read_call(reader, (enum tcb_node_function)i)
						 : fail(reader, "'(' is missing behind a function");
	return fail(reader, "an unknown name");
}

static int read_atom(struct reader *reader)
{
	skip_space(reader);
	if (isdigit((unsigned char)*reader->at) || (*reader->at == '.' && isdigit((unsigned char)reader->at[1])))
		return read_number(reader);
	if (*reader->at == '\'' || *reader->at == '"')
		return read_quoted(reader);
	if (is_in_word(*reader->at))
		return read_word(reader);
	if (take(reader, "(")) {
		const int inner = read_choice(reader);

		return reader->failed || take(reader, ")") ? inner : fail(reader, "')' is missing");
	}
	return fail(reader, *reader->at ? "an operand is missing" : "an operand is missing at the end");
}

/* --- operators, from the tightest on --- */

static int read_unary(struct reader *reader);

static int read_power(struct reader *reader)
{
	const int base = read_atom(reader);

	return take(reader, "**") ? add(reader, TCB_NODE_POWER, base, read_unary(reader)) : base;
}

static int is_too_deep(struct reader *reader)
{
	if (++reader->depth <= DEPTH_MAX)
		return 0;
	fail(reader, "too many operators within operators");
	return 1;
}

static int read_unary(struct reader *reader)
{
	static const struct sign signs[] = { { "-", TCB_NODE_MINUS, NULL },
					     { "+", TCB_NODE_PLUS, NULL },
					     { "~", TCB_NODE_INVERT, NULL },
					     { NULL, TCB_NODE_VALUE, NULL } };
	const struct sign *sign = take_one(reader, signs);
	int node = -1;

	if (!is_too_deep(reader))
		node = sign ? add(reader, sign->kind, read_unary(reader), -1) : read_power(reader);
	reader->depth--;
	return node;
}

static const struct sign products[] = { { "//", TCB_NODE_FLOOR_DIVIDE, NULL },
					{ "*", TCB_NODE_MULTIPLY, "*" },
					{ "/", TCB_NODE_DIVIDE, NULL },
					{ "%", TCB_NODE_REMAINDER, NULL },
					{ NULL, TCB_NODE_VALUE, NULL } };
static const struct sign sums[] = { { "+", TCB_NODE_ADD, NULL },
				    { "-", TCB_NODE_SUBTRACT, NULL },
				    { NULL, TCB_NODE_VALUE, NULL } };
static const struct sign shifts[] = { { "<<", TCB_NODE_SHIFT_LEFT, NULL },
				      { ">>", TCB_NODE_SHIFT_RIGHT, NULL },
				      { NULL, TCB_NODE_VALUE, NULL } };
static const struct sign ands_of_bits[] = { { "&", TCB_NODE_BIT_AND, "&" }, { NULL, TCB_NODE_VALUE, NULL } };
static const struct sign xors_of_bits[] = { { "^", TCB_NODE_BIT_XOR, NULL }, { NULL, TCB_NODE_VALUE, NULL } };
static const struct sign ors_of_bits[] = { { "|", TCB_NODE_BIT_OR, "|" }, { NULL, TCB_NODE_VALUE, NULL } };
static const struct sign *const levels[] = { ors_of_bits, xors_of_bits, ands_of_bits, shifts, sums, products };
enum { LEVELS = sizeof levels / sizeof *levels };

/* Operators of LEVEL and of those that bind more tightly, from left to right. */
static int read_level(struct reader *reader, size_t level)
{
	const struct sign *sign;
	int left;

	if (level == LEVELS)
		return read_unary(reader);
	left = read_level(reader, level + 1);
	while (!reader->failed && (sign = take_one(reader, levels[level])))
		left = add(reader, sign->kind, left, read_level(reader, level + 1));
	return left;
}

/* The list behind "in"; its link. */
static int read_membership(struct reader *reader, enum tcb_node_kind kind)
{
	unsigned count;

	if (take(reader, "("))
		return add(reader, kind, read_items(reader, ")", &count), -1);
	if (take(reader, "["))
		return add(reader, kind, read_items(reader, "]", &count), -1);
	return fail(reader, "a list in brackets is missing behind 'in'");
}

/* The next link of comparisons; -1: there is none. */
static int read_link(struct reader *reader)
{
	static const struct sign signs[] = {
		{ "==", TCB_NODE_EQUAL, NULL },      { "!=", TCB_NODE_UNEQUAL, NULL },
		{ "<=", TCB_NODE_LESS_EQUAL, NULL }, { ">=", TCB_NODE_GREATER_EQUAL, NULL },
		{ "<", TCB_NODE_LESS, NULL },        { ">", TCB_NODE_GREATER, NULL },
		{ NULL, TCB_NODE_VALUE, NULL }
	};
	const char *before = reader->at;
	const struct sign *sign;

	if (take(reader, "in"))
		return read_membership(reader, TCB_NODE_IN);
	if (take(reader, "not")) {
		if (take(reader, "in"))
			return read_membership(reader, TCB_NODE_NOT_IN);
		reader->at = before;
		return -1;
	}
	sign = take_one(reader, signs);
	return sign ? add(reader, sign->kind, read_level(reader, 0), -1) : -1;
}

static int read_comparison(struct reader *reader)
{
	const int first = read_level(reader, 0);
	int compared, last;

	if (reader->failed || (last = read_link(reader)) < 0)
		return first;
	compared = add(reader, TCB_NODE_COMPARED, first, -1);
	if (compared < 0)
		return -1;
	reader->expression->nodes[compared].next = last;
	for (int link; !reader->failed && (link = read_link(reader)) >= 0; last = link)
		reader->expression->nodes[last].next = link;
	return compared;
}

static int read_not(struct reader *reader)
{
	int node = -1;

	if (!is_too_deep(reader)) {
		skip_space(reader);
		const int is_sign = reader->at[0] == '!' && reader->at[1] != '=';

		if (take(reader, "not") || (is_sign && take(reader, "!")))
			node = add(reader, TCB_NODE_NOT, read_not(reader), -1);
		else
			node = read_comparison(reader);
	}
	reader->depth--;
	return node;
}

static int read_and(struct reader *reader)
{
	int left = read_not(reader);

	while (!reader->failed && (take(reader, "and") || take(reader, "&&")))
		left = add(reader, TCB_NODE_AND, left, read_not(reader));
	return left;
}

static int read_or(struct reader *reader)
{
	int left = read_and(reader);

	while (!reader->failed && (take(reader, "or") || take(reader, "||")))
		left = add(reader, TCB_NODE_OR, left, read_and(reader));
	return left;
}

static int read_choice(struct reader *reader)
{
	int node = -1;

	if (!is_too_deep(reader)) {
		node = read_or(reader);
		if (!reader->failed && take(reader, "if")) {
			const int condition = read_or(reader);

			if (!take(reader, "else"))
				fail(reader, "'else' is missing behind 'if'");
			else
				node = add_node(reader, &(struct tcb_node){ .kind = TCB_NODE_CHOICE,
									    .left = node,
									    .right = condition,
									    .next = read_choice(reader) });
		}
	}
	reader->depth--;
	return node;
}

/* --- the whole --- */

enum tcb_status tcb_expression_create(const char *text, const char *const *names, size_t count,
				      struct tcb_expression **out, struct tcb_error *err)
{
	struct tcb_expression *expression;
	struct reader reader = { .text = text, .at = text, .names = names, .name_count = count, .err = err };

	*out = NULL;
	if (strlen(text) >= TCB_EXPRESSION_TEXT_MAX)
		return tcb_fail(err, TCB_E_USAGE, "an expression of %zu characters is longer than %d", strlen(text),
				TCB_EXPRESSION_TEXT_MAX - 1);
	if (count > TCB_EXPRESSION_NAMES_MAX)
		return tcb_fail(err, TCB_E_USAGE, "%zu names are more than expressions may have, %d", count,
				TCB_EXPRESSION_NAMES_MAX);
	expression = calloc(1, sizeof *expression);
	if (expression) {
		expression->text = strdup(text);
		expression->quoted = malloc(strlen(text) + 1);
	}
	if (!expression || !expression->text || !expression->quoted) {
		tcb_expression_destroy(expression);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for an expression");
	}
	reader.expression = expression;
	reader.quoted = expression->quoted;
	expression->root = read_choice(&reader);
	skip_space(&reader);
	if (!reader.failed && *reader.at)
		fail(&reader, "an operator is missing, or this is more than an expression");
	if (reader.failed) {
		tcb_expression_destroy(expression);
		return TCB_E_USAGE;
	}
	*out = expression;
	return TCB_OK;
}

void tcb_expression_destroy(struct tcb_expression *expression)
{
	if (!expression)
		return;
	free(expression->nodes);
	free(expression->text);
	free(expression->quoted);
	free(expression);
}
