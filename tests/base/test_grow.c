/* SPDX-License-Identifier: MIT
 *
 * Arrays that grow: what they hold stays, and so does all where there is no memory.
 */
#include "cmocka_all.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/grow.h"

static void test_keeps_what_it_has(void **state)
{
	int *array = NULL;
	size_t capacity = 0;
	(void)state;
	for (int i = 0; i < 1000; i++) {
		int *grown = tcb_grow(array, (size_t)i, &capacity, 3, sizeof *array);
		assert_non_null(grown);
		assert_true(capacity > (size_t)i);
		assert_true(capacity == 3 || capacity <= 2 * (size_t)i);
		array = grown;
		array[i] = i;
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(array[i], i);
	free(array);
}

/* More than any machine has, and more than a size can say. */
static void test_no_memory(void **state)
{
	int array[2] = { 0 };
	size_t capacity = SIZE_MAX / 4;
	(void)state;
	assert_null(tcb_grow(array, capacity, &capacity, 2, 64));
	assert_true(capacity == SIZE_MAX / 4);
	assert_ptr_equal(tcb_grow(array, 1, &capacity, 2, 64), array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_what_it_has),
		cmocka_unit_test(test_no_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
