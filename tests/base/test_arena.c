/* SPDX-License-Identifier: MIT
 *
 * Arena: objects are zeroed, aligned, disjoint and survive growth; sizes that
 * overflow fail instead of wrapping.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/util.h"

static void objects_are_zeroed_aligned_and_disjoint(void **state)
{
	enum { COUNT = 4000 };
	static unsigned char *object[COUNT];
	static size_t bytes[COUNT];
	struct tcb_arena arena = { 0 };
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 1);
	for (size_t i = 0; i < COUNT; i++) {
		/* now and then one that is larger than any chunk */
		bytes[i] = i % 1000 == 7 ? (3u << 20) + i : tcb_rng_below(&rng, 300);
		object[i] = tcb_arena_alloc(&arena, bytes[i]);
		assert_non_null(object[i]);
		assert_int_equal((uintptr_t)object[i] % 16, 0);
		for (size_t k = 0; k < bytes[i]; k++)
			assert_int_equal(object[i][k], 0);
		memset(object[i], (int)(i % 251) + 1, bytes[i]);
	}
	for (size_t i = 0; i < COUNT; i++)
		for (size_t k = 0; k < bytes[i]; k++)
			assert_int_equal(object[i][k], (unsigned char)(i % 251 + 1));
	assert_false(arena.failed);
	tcb_arena_fini(&arena);
	assert_null(arena.chunk);
	assert_non_null(tcb_arena_alloc(&arena, 0)); /* usable again */
	tcb_arena_fini(&arena);
}

static void texts_and_arrays(void **state)
{
	struct tcb_arena arena = { 0 };
	int *numbers, *more;

	(void)state;
	assert_string_equal(tcb_arena_text(&arena, "registers", 3), "reg");
	assert_string_equal(tcb_arena_textf(&arena, "%s%u", "%r", 17u), "%r17");
	numbers = tcb_arena_array(&arena, 3, sizeof *numbers);
	numbers[0] = 5;
	numbers[2] = 7;
	more = tcb_arena_regrow(&arena, numbers, 3, 100, sizeof *more);
	assert_int_equal(more[0], 5);
	assert_int_equal(more[2], 7);
	assert_int_equal(more[99], 0);
	tcb_arena_fini(&arena);
}

static void overflow_fails_and_is_remembered(void **state)
{
	struct tcb_arena arena = { 0 };

	(void)state;
	assert_null(tcb_arena_array(&arena, SIZE_MAX / 4, 8));
	assert_true(arena.failed);
	tcb_arena_fini(&arena);
	assert_null(tcb_arena_alloc(&arena, SIZE_MAX - 3));
	assert_true(arena.failed);
	tcb_arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_are_zeroed_aligned_and_disjoint),
		cmocka_unit_test(texts_and_arrays),
		cmocka_unit_test(overflow_fails_and_is_remembered),
	};

	return cmocka_run_group_tests_name("base.arena", tests, NULL, NULL);
}
