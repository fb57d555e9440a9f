/* SPDX-License-Identifier: MIT
 *
 * Shapes, contracts, states and checked arithmetic.
 */
#include "cmocka_all.h"

#include <string.h>

#include "base/problem.h"

static void shapes_round_trip(void **state)
{
	static const char *const good[] = { "1x4096x4096",
					    "512x4096",
					    "1x1",
					    "8x14336x4096",
					    "1x1x1",
					    "1x4096x128,h32/8",
					    "512x512x64,h1/1,b65535,p16,w1024,c50,causal" };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct tcb_shape shape;
		char text[TCB_SHAPE_TEXT_MAX];

		assert_int_equal(tcb_shape_parse(good[i], &shape, NULL), TCB_OK);
		tcb_shape_print(&shape, text);
		assert_string_equal(text, good[i]);
	}
}

static void malformed_shapes_are_refused(void **state)
{
	static const char *const bad[] = { "",        "4096",   "0x1x1",  "1x0x4",  "1x4096x", "x1x2",
					   "1x2x3x4", "1 x2x3", "-1x2x3", "01x2x3", "1x2x3 ",  "axb",
					   "1xx2",    "1x+2x3", "1X2X3",  "1x2x3," };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct tcb_shape shape;
		struct tcb_error err;

		assert_int_equal(tcb_shape_parse(bad[i], &shape, &err), TCB_E_USAGE);
		assert_non_null(strstr(err.message, "MxNxK"));
	}
}

static void equal_shapes(void **state)
{
	struct tcb_shape a, b;

	(void)state;
	assert_int_equal(tcb_shape_parse("1x4096x128,h32/8,b1", &a, NULL), TCB_OK);
	assert_int_equal(tcb_shape_parse("1x4096x128,h32/8", &b, NULL), TCB_OK);
	assert_true(tcb_shape_equal(&a, &b));
	b.words.window = 1;
	assert_false(tcb_shape_equal(&a, &b));
}

static void overflowing_shapes_are_refused(void **state)
{
	struct tcb_shape shape;
	struct tcb_error err;

	(void)state;
	assert_int_equal(tcb_shape_parse("4294967296x4294967296x4294967296", &shape, &err), TCB_E_OVERFLOW);
	assert_int_equal(tcb_shape_parse("1x99999999999999999999x1", &shape, &err), TCB_E_USAGE);
}

static void words_round_trip(void **state)
{
	(void)state;
	for (int i = 0; i < TCB_CONTRACT_COUNT; i++) {
		enum tcb_contract contract;

		assert_int_equal(tcb_contract_parse(tcb_contract_text((enum tcb_contract)i), &contract, NULL), TCB_OK);
		assert_int_equal(contract, i);
	}
	for (int i = 0; i < TCB_STATE_COUNT; i++) {
		enum tcb_state parsed;

		assert_int_equal(tcb_state_parse(tcb_state_text((enum tcb_state)i), &parsed, NULL), TCB_OK);
		assert_int_equal(parsed, i);
	}
	assert_int_equal(tcb_contract_parse("int3", &(enum tcb_contract){ 0 }, NULL), TCB_E_USAGE);
	assert_int_equal(tcb_state_parse("warm", &(enum tcb_state){ 0 }, NULL), TCB_E_USAGE);
}

static void arithmetic_reports_overflow(void **state)
{
	size_t out;

	(void)state;
	assert_int_equal(tcb_mul_size(SIZE_MAX / 2, 2, &out), 0);
	assert_int_equal(tcb_mul_size(SIZE_MAX / 2 + 1, 2, &out), -1);
	assert_int_equal(tcb_add_size(SIZE_MAX - 1, 1, &out), 0);
	assert_int_equal(tcb_add_size(SIZE_MAX, 1, &out), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_round_trip), cmocka_unit_test(malformed_shapes_are_refused),
		cmocka_unit_test(equal_shapes),      cmocka_unit_test(overflowing_shapes_are_refused),
		cmocka_unit_test(words_round_trip),  cmocka_unit_test(arithmetic_reports_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
