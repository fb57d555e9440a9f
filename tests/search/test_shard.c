/* SPDX-License-Identifier: MIT
 *
 * Shards of real spaces: disjoint but for the default, together the space, much
 * alike in size, and the same whatever else differs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/problem.h"
#include "cmocka_all.h"
#include "kernels/op.h"
#include "search/shard.h"

static struct tcb_space *space_of(const char *op_name, struct tcb_shape shape)
{
	const struct tcb_op *op = tcb_op_find(op_name);
	const struct tcb_target target = { .kind = TCB_TARGET_CPU, .isa_mask = 1u << TCB_ISA_SCALAR, .threads = 2 };
	struct tcb_problem problem;
	struct tcb_space *space;
	struct tcb_error err;

	assert_non_null(op);
	assert_int_equal(tcb_problem_init(op, op->default_contract, &shape, &problem, &err), TCB_OK);
	if (tcb_space_create(op, &problem, &target, 0, &space, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return space;
}

static void check_cover(const char *op, struct tcb_shape shape, unsigned shards)
{
	struct tcb_space *whole = space_of(op, shape);
	unsigned char *seen = calloc(whole->count, 1);
	size_t sum = 0;

	for (unsigned i = 1; i <= shards; i++) {
		const struct tcb_shard shard = { i, shards };
		struct tcb_space *part = space_of(op, shape);

		tcb_shard_narrow(&shard, part);
		assert_true(tcb_geometry_equal(&part->geometries[part->default_index],
					       &whole->geometries[whole->default_index]));
		for (size_t g = 0; g < part->count; g++) {
			const size_t index = tcb_space_find(whole, &part->geometries[g]);

			assert_true(index != SIZE_MAX);
			/* Finding still works in what is left, which is in the order of the axes. */
			assert_int_equal(tcb_space_find(part, &part->geometries[g]), g);
			assert_true(!seen[index] || index == whole->default_index);
			seen[index] = 1;
		}
		sum += part->count;
		if (whole->count > 100 * shards)
			assert_true(part->count > whole->count / shards / 2 && part->count < 2 * whole->count / shards);
		tcb_space_destroy(part);
	}
	assert_null(memchr(seen, 0, whole->count));
	/* The default is in each shard. */
	assert_int_equal(sum, whole->count + shards - 1);
	free(seen);
	tcb_space_destroy(whole);
}

static void test_shards_are_disjoint_and_cover_the_space(void **state)
{
	(void)state;
	for (unsigned shards = 1; shards <= 7; shards++) {
		check_cover("softmax", (struct tcb_shape){ 1, 64, 0 }, shards);
		check_cover("q4k_matvec", (struct tcb_shape){ 1, 4096, 4096 }, shards);
	}
	check_cover("softmax", (struct tcb_shape){ 1, 64, 0 }, 1000); /* most have the default only */
}

static void test_no_shard_is_the_whole_space(void **state)
{
	const struct tcb_shard none = { 0, 0 };
	struct tcb_space *space = space_of("softmax", (struct tcb_shape){ 1, 64, 0 });
	const size_t count = space->count;

	(void)state;
	tcb_shard_narrow(&none, space);
	assert_int_equal(space->count, count);
	tcb_space_destroy(space);
}

/* What was measured by one release is not measured again by the next. */
static void test_the_hash_stays(void **state)
{
	static const char text[] = "macro=1x4096x4096,midi=1x16x4096,micro=1x1x256,isa=avx2,layout=native";
	struct tcb_geometry geometry;

	(void)state;
	assert_int_equal(tcb_geometry_parse(text, &geometry, NULL), TCB_OK);
	for (unsigned i = 1; i <= 1000; i++)
		assert_int_equal(tcb_shard_has(&(struct tcb_shard){ i, 1000 }, &geometry), i == 197);
}

static void test_texts(void **state)
{
	static const char *const bad[] = { "",     "/",   "1",    "1/",   "/4",   "0/4",     "5/4",          "-1/4",
					   "1/-4", "1/0", " 1/4", "1/4 ", "1/4x", "1/65537", "4294967297/4", "a/b" };
	struct tcb_shard shard;
	struct tcb_error err;
	char text[TCB_SHARD_TEXT_MAX];

	(void)state;
	assert_int_equal(tcb_shard_parse("03/4", &shard, &err), TCB_OK);
	assert_true(shard.index == 3 && shard.count == 4);
	tcb_shard_print(&shard, text);
	assert_string_equal(text, "3/4");
	assert_int_equal(tcb_shard_parse("65536/65536", &shard, &err), TCB_OK);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(tcb_shard_parse(bad[i], &shard, &err), TCB_E_USAGE);
		assert_non_null(strstr(err.message, "3/4 for the third of four"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shards_are_disjoint_and_cover_the_space),
		cmocka_unit_test(test_no_shard_is_the_whole_space),
		cmocka_unit_test(test_the_hash_stays),
		cmocka_unit_test(test_texts),
	};
	return cmocka_run_group_tests_name("search.shard", tests, NULL, NULL);
}
