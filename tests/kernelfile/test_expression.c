/* SPDX-License-Identifier: MIT
 *
 * Expressions: what test_expressions.py cannot hold against Python, which has no such signs and other messages.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "kernelfile/expression.h"

static const char *const names[] = { "tile_m", "tile_n", "order" };
static const struct tcb_value values[] = { { .whole = 64 },
					   { .whole = 48 },
					   { .type = TCB_VALUE_TEXT, .text = "row" } };

static int64_t whole_of(const char *text)
{
	struct tcb_expression *expression;
	struct tcb_value value = { .whole = -1 };
	struct tcb_error err = { TCB_OK, "" };

	assert_int_equal(tcb_expression_create(text, names, 3, &expression, &err), TCB_OK);
	assert_int_equal(tcb_expression_value(expression, values, &value, &err), TCB_OK);
	assert_int_equal(value.type, TCB_VALUE_WHOLE);
	tcb_expression_destroy(expression);
	return value.whole;
}

static void expect_error(const char *text, const char *part)
{
	struct tcb_expression *expression = NULL;
	struct tcb_value value;
	struct tcb_error err = { TCB_OK, "" };
	enum tcb_status status = tcb_expression_create(text, names, 3, &expression, &err);

	if (status == TCB_OK)
		status = tcb_expression_value(expression, values, &value, &err);
	assert_int_equal(status, TCB_E_USAGE);
	if (!strstr(err.message, part))
		fail_msg("'%s' is not in '%s'", part, err.message);
	tcb_expression_destroy(expression);
}

static void signs_of_c_are_taken(void **state)
{
	(void)state;
	assert_int_equal(whole_of("tile_m >= 64 && tile_n < 64"), 1);
	assert_int_equal(whole_of("!(tile_m == 64) || tile_n != 48"), 0);
	assert_int_equal(whole_of("!tile_m"), 0);
	assert_int_equal(whole_of("tile_m & 64 && 1"), 1);
}

static void errors_say_where_and_why(void **state)
{
	(void)state;
	expect_error("tile_m %% 2", "at character 9: an operand is missing");
	expect_error("tile_k", "at character 1: an unknown name");
	expect_error("tile_m tile_n", "at character 8: an operator is missing");
	expect_error("(tile_m", "')' is missing");
	expect_error("max(tile_m)", "too few or too many arguments");
	expect_error("tile_m / (tile_n - 48)", "a division by zero");
	expect_error("2 ** 63", "more than 64 bits");
	expect_error("order + 1", "a text among numbers");
	expect_error("order < 1", "a text among numbers");
	expect_error("__import__('os')", "an unknown name");
	expect_error("", "an operand is missing at the end");
}

static void nesting_ends(void **state)
{
	char text[2048];

	(void)state;
	memset(text, '(', 1000);
	snprintf(text + 1000, sizeof text - 1000, "1");
	expect_error(text, "too many operators within operators");
	memset(text, '-', 1000);
	expect_error(text, "too many operators within operators");
}

static void names_that_are_read_are_told(void **state)
{
	struct tcb_expression *expression;
	int64_t size = 0;

	(void)state;
	assert_int_equal(tcb_expression_create("(tile_m * 4) / 8", names, 3, &expression, NULL), TCB_OK);
	assert_int_equal(tcb_expression_reads(expression), 1);
	assert_int_equal(tcb_expression_size(expression, values, 1, &size, NULL), TCB_OK);
	assert_int_equal(size, 32);
	assert_int_equal(tcb_expression_size(expression, values, 33, &size, NULL), TCB_E_USAGE);
	tcb_expression_destroy(expression);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signs_of_c_are_taken),
		cmocka_unit_test(errors_say_where_and_why),
		cmocka_unit_test(nesting_ends),
		cmocka_unit_test(names_that_are_read_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
