/* SPDX-License-Identifier: MIT
 *
 * Reads an expression per line and prints what it is with the values of a to e, a number or a text, or "error".
 * test_expressions.py holds it against Python.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernelfile/expression.h"

static const char *const names[] = { "a", "b", "c", "d", "e" };
enum { NAMES = sizeof names / sizeof *names };
static const struct tcb_value values[NAMES] = { { .whole = 7 },
						{ .whole = -3 },
						{ .whole = 64 },
						{ .type = TCB_VALUE_REAL, .real = 2.5 },
						{ .type = TCB_VALUE_TEXT, .text = "row" } };

static void tell(const struct tcb_value *value)
{
	if (value->type == TCB_VALUE_WHOLE)
		printf("%" PRId64 "\n", value->whole);
	else if (value->type == TCB_VALUE_REAL)
		printf("%a\n", value->real);
	else
		printf("'%s'\n", value->text);
}

int main(void)
{
	char *line = NULL;
	size_t capacity = 0;

	while (getline(&line, &capacity, stdin) > 0) {
		struct tcb_expression *expression = NULL;
		struct tcb_value value;
		struct tcb_error error = { TCB_OK, "" };

		line[strcspn(line, "\n")] = '\0';
		if (tcb_expression_create(line, names, NAMES, &expression, &error) == TCB_OK &&
		    tcb_expression_value(expression, values, &value, &error) == TCB_OK)
			tell(&value);
		else
			printf("error: %s\n", error.message);
		tcb_expression_destroy(expression);
	}
	free(line);
	return 0;
}
