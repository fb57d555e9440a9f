/* SPDX-License-Identifier: MIT
 *
 * What passes for a right answer, and what does not, of every type of element.
 */
#include "cmocka_all.h"

#include <math.h>
#include <string.h>

#include "judge/party_values.h"

static const struct tcb_file_type types[] = {
	{ "float", 4, TCB_FILE_FLOAT, 4 },     { "half", 2, TCB_FILE_HALF, 2 },
	{ "double", 8, TCB_FILE_DOUBLE, 8 },   { "int8", 1, TCB_FILE_SIGNED, 1 },
	{ "int32", 4, TCB_FILE_SIGNED, 4 },    { "int64", 8, TCB_FILE_SIGNED, 8 },
	{ "uint16", 2, TCB_FILE_UNSIGNED, 2 }, { "uint64", 8, TCB_FILE_UNSIGNED, 8 },
};
enum { TYPES = sizeof types / sizeof *types, ELEMENTS = 100 };

static struct tcb_file_argument of(const struct tcb_file_type *type, double relative, double absolute)
{
	return (struct tcb_file_argument){
		.type = *type, .is_output = 1, .fill = TCB_FILE_RANDOM, .relative = relative, .absolute = absolute
	};
}

/* Wrong elements of values that are right but for element 7, which is OTHER. */
static struct tcb_values_miss compare(const struct tcb_file_argument *argument, double other)
{
	char right[8 * ELEMENTS], got[8 * ELEMENTS];
	struct tcb_values_bound bound;
	struct tcb_values_miss miss;

	for (size_t i = 0; i < ELEMENTS; i++)
		tcb_file_put(&argument->type, (double)(i % 50 + 1), right + i * argument->type.element_bytes);
	memcpy(got, right, sizeof got);
	tcb_file_put(&argument->type, other, got + 7 * argument->type.element_bytes);
	tcb_values_bound(argument, &bound);
	tcb_values_compare(argument, &bound, got, right, ELEMENTS, &miss);
	return miss;
}

static void compared(void **state)
{
	(void)state;
	for (size_t t = 0; t < TYPES; t++) {
		const struct tcb_file_argument plain = of(&types[t], NAN, NAN), wide = of(&types[t], 0, 2);

		assert_int_equal(compare(&plain, 8).wrong, 0);
		assert_int_equal(compare(&plain, 9).wrong, 1);
		assert_int_equal(compare(&plain, 9).first, 7);
		assert_int_equal(compare(&wide, 10).wrong, 0);
		assert_int_equal(compare(&wide, 11).wrong, 1);
		if (types[t].element >= TCB_FILE_SIGNED)
			continue;
		assert_int_equal(compare(&wide, NAN).wrong, 1);
		assert_int_equal(compare(&wide, INFINITY).wrong, 1);
		assert_int_equal(compare(&plain, 8 * (1 + 1e-2)).wrong, 1);
	}
}

static void poison_is_no_answer(void **state)
{
	struct tcb_rng rng;
	(void)state;

	tcb_rng_init(&rng, 3);
	for (size_t t = 0; t < TYPES; t++) {
		const struct tcb_file_argument argument = of(&types[t], 1, 1);
		const uint64_t word = tcb_values_poison(&types[t], &rng);
		const size_t bytes = types[t].element_bytes * ELEMENTS - 1;
		char values[8 * ELEMENTS] = { 0 };
		uint64_t some = 0;

		tcb_values_fill(word, bytes, values);
		assert_int_equal(tcb_values_left(word, values, bytes), bytes);
		memcpy(&some, values + 5, types[t].element_bytes);
		assert_true(tcb_values_is(word, 5, types[t].element_bytes, some));
		assert_false(tcb_values_is(word, 5, types[t].element_bytes, some ^ 1));
		values[3] ^= 1;
		assert_int_equal(tcb_values_left(word, values, bytes), bytes - 1);
		if (types[t].element < TCB_FILE_SIGNED) {
			double got = 0;

			memcpy(&got, values + 8, types[t].element_bytes);
			assert_int_equal(compare(&argument, types[t].element == TCB_FILE_DOUBLE ? got : NAN).wrong, 1);
		}
	}
}

/* All kinds stay in the range of a random fill, and differ from each other. */
static void drawn(void **state)
{
	const struct tcb_file_argument argument = of(&types[0], NAN, NAN);
	float values[ELEMENTS];
	struct tcb_rng rng;
	(void)state;

	tcb_rng_init(&rng, 9);
	for (int kind = TCB_VALUES_ANY; kind <= TCB_VALUES_POSITIVE; kind++) {
		size_t negative = 0, small = 0;

		assert_int_equal(
			tcb_values_draw(&argument, NULL, (enum tcb_values_kind)kind, ELEMENTS, &rng, values, NULL),
			TCB_OK);
		for (size_t i = 0; i < ELEMENTS; i++) {
			assert_true(fabsf(values[i]) <= 1);
			negative += values[i] < 0;
			small += fabsf(values[i]) < 1.0f / 64;
		}
		assert_int_equal(negative == 0, kind == TCB_VALUES_POSITIVE);
		assert_int_equal(small > ELEMENTS / 2, kind == TCB_VALUES_SPARSE);
	}
	for (int i = 0; i < 20; i++) {
		const float before = values[i];

		tcb_values_change(&argument, (size_t)i, &rng, values);
		assert_true(values[i] != before && fabsf(values[i]) >= 0.75f && fabsf(values[i]) <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compared),
		cmocka_unit_test(poison_is_no_answer),
		cmocka_unit_test(drawn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
