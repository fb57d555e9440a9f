/* SPDX-License-Identifier: MIT
 *
 * Clock, random numbers, hashes and strings.
 */
#include "cmocka_all.h"

#include <math.h>
#include <string.h>

#include "base/util.h"

static void the_clock_does_not_go_back(void **state)
{
	uint64_t last = tcb_clock_ns();

	(void)state;
	for (int i = 0; i < 10000; i++) {
		uint64_t now = tcb_clock_ns();

		assert_true(now >= last);
		last = now;
	}
}

/* First outputs for the state {1, 2, 3, 4}, worked out by hand from the authors' definition:
 * rotl(2*5, 7)*9 = 11520; then s = {7, 0, 262146, 6*2^45}, whose s[1] = 0 gives 0. */
static void generator_is_xoshiro256starstar(void **state)
{
	struct tcb_rng rng = { { 1, 2, 3, 4 } };

	(void)state;
	assert_int_equal(tcb_rng_next(&rng), 11520);
	assert_int_equal(tcb_rng_next(&rng), 0);
}

static void draws_are_uniform_and_repeatable(void **state)
{
	struct tcb_rng a, b;
	unsigned counts[7] = { 0 };
	double sum = 0, square = 0;

	(void)state;
	tcb_rng_init(&a, 42);
	tcb_rng_init(&b, 42);
	for (int i = 0; i < 70000; i++) {
		uint64_t value = tcb_rng_below(&a, 7);

		assert_int_equal(value, tcb_rng_below(&b, 7));
		counts[value]++;
	}
	for (int i = 0; i < 7; i++)
		assert_in_range(counts[i], 9600, 10400); /* four standard deviations around 10,000 */
	for (int i = 0; i < 100000; i++) {
		double value = tcb_rng_normal(&a);

		assert_true(isfinite(value));
		sum += value;
		square += value * value;
	}
	assert_true(fabs(sum / 100000) < 0.013 && fabs(square / 100000 - 1) < 0.018);
	for (int i = 0; i < 1000; i++) {
		double unit = tcb_rng_unit(&a);

		assert_true(unit >= 0 && unit < 1);
	}
}

static void hashes_depend_on_every_byte(void **state)
{
	char text[64] = { 0 }, hex[17];
	uint64_t base = tcb_hash64(text, sizeof text, 0);

	(void)state;
	for (size_t i = 0; i < sizeof text; i++) {
		text[i] ^= 1;
		assert_int_not_equal(tcb_hash64(text, sizeof text, 0), base);
		text[i] ^= 1;
	}
	assert_int_not_equal(tcb_hash64(text, sizeof text, 1), base);
	/* The published XXH3 hash of nothing. */
	tcb_hash_hex("", 0, hex);
	assert_string_equal(hex, "2d06800538d394c2");
}

static void strings_grow(void **state)
{
	struct tcb_str str = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		tcb_str_addf(&str, "%d,", i % 10);
	tcb_str_add(&str, "end");
	assert_false(str.failed);
	assert_int_equal(str.length, 2003);
	assert_int_equal(strlen(str.data), 2003);
	assert_string_equal(str.data + 2000, "end");
	tcb_str_fini(&str);
	assert_null(str.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clock_does_not_go_back),
		cmocka_unit_test(generator_is_xoshiro256starstar),
		cmocka_unit_test(draws_are_uniform_and_repeatable),
		cmocka_unit_test(hashes_depend_on_every_byte),
		cmocka_unit_test(strings_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
