/* SPDX-License-Identifier: MIT
 *
 * Rules from small matrices of losses, where the right tree is plain to see.
 */
#include <math.h>
#include <string.h>

#include "cmocka_all.h"
#include "search/rule_tree.h"

enum { SHAPES = 4, MOST = 5, OWN = 0 };
#define U NAN
#define NEVER INFINITY

static const struct tcb_shape tokens[SHAPES] = {
	{ 1, 4096, 4096 }, { 4, 4096, 4096 }, { 16, 4096, 4096 }, { 64, 4096, 4096 }
};
static const tcb_rule_set all = (1u << SHAPES) - 1;

static struct tcb_rule_tree learn(const double (*loss)[SHAPES], size_t candidates, const tcb_rule_set *origin,
				  tcb_rule_set train)
{
	static const tcb_rule_set anywhere[MOST] = { 0 };
	const struct tcb_rule_cells cells = { SHAPES, candidates, tokens, loss[0], NULL, origin ? origin : anywhere };
	struct tcb_rule_tree tree;
	assert_int_equal(tcb_rule_learn(&cells, train, 1.1, &tree, NULL), TCB_OK);
	return tree;
}

static void one_is_enough(void **state)
{
	static const double loss[][SHAPES] = { { 1, 1, 2, 3 }, { 1.09, 1.05, 1.02, 1.1 }, { 3, 3, 1, 1 } };
	(void)state;
	const struct tcb_rule_tree tree = learn(loss, 3, NULL, all);
	assert_int_equal(tree.count, 1);
	assert_int_equal(tree.leaf[0].candidate, 1);
	assert_int_equal(tree.leaf[0].m | tree.leaf[0].n | tree.leaf[0].k, 0);
	assert_int_equal(tree.least.m, 0); /* 1 / 4 */
	assert_int_equal(tree.most.m, 256);
	assert_int_equal(tree.least.n, 1024);
	assert_int_equal(tree.most.k, 16384);
}

static void cuts_where_it_must(void **state)
{
	static const double loss[][SHAPES] = { { 1.05, 1, 2, 3 }, { 1.3, 1.05, 1.5, 1.1 }, { 3, 3, 1, 1.02 } };
	(void)state;
	const struct tcb_rule_tree tree = learn(loss, 3, NULL, all);
	assert_int_equal(tree.count, 2);
	assert_int_equal(tree.leaf[0].m, 8); /* between 4 and 16 */
	assert_int_equal(tree.leaf[0].candidate, 0);
	assert_int_equal(tree.leaf[1].m, 0);
	assert_int_equal(tree.leaf[1].candidate, 2);
}

/* A bad but known candidate loses against one of the bound, an unknown cell against both. */
static void unknown_is_never_good(void **state)
{
	static const double loss[][SHAPES] = { { 1.2, 1.2, 1.2, 1.2 }, { 1, 1, 1, U }, { 1, NEVER, U, 1 } };
	(void)state;
	const struct tcb_rule_tree tree = learn(loss, 2, NULL, all);
	assert_int_equal(tree.count, 2);
	assert_int_equal(tree.leaf[0].candidate, 1);
	assert_int_equal(tree.leaf[0].m, 32);
	assert_int_equal(tree.leaf[1].candidate, 0);
	const struct tcb_rule_tree with_last = learn(loss, 3, NULL, all);
	assert_int_equal(with_last.leaf[with_last.count - 1].candidate, 2);
}

/* What no candidate reaches does not make more leaves than it needs. */
static void the_least_where_nothing_is_good(void **state)
{
	static const double loss[][SHAPES] = { { 1.4, 1, 1, 1 }, { 1.401, 1.2, 1.2, 1.2 } };
	(void)state;
	const struct tcb_rule_tree tree = learn(loss, 2, NULL, all);
	assert_int_equal(tree.count, 1);
	assert_int_equal(tree.leaf[0].candidate, 0);
}

static void learns_from_train_only(void **state)
{
	static const double loss[][SHAPES] = { { 1.5, 1.5, 1.5, 1.5 }, { 1, 1, 1.09, 1 }, { 1.05, 1.05, 1.05, 1 } };
	static const tcb_rule_set origin[] = { 0, TCB_RULE_BIT(3), TCB_RULE_BIT(0) };
	(void)state;
	const struct tcb_rule_tree tree = learn(loss, 3, origin, all & ~TCB_RULE_BIT(3));
	assert_int_equal(tree.count, 1);
	assert_int_equal(tree.leaf[0].candidate, 2); /* the other was found at the shape that is left out */
}

static void passes_over_what_cannot_be(void **state)
{
	static const double loss[][SHAPES] = { { 1.5, 1.6, 1.7, 9 }, { NEVER, 1, NEVER, 1 }, { 1, 1.2, NEVER, 1.3 } };
	static const tcb_rule_set anywhere[MOST] = { 0 };
	const struct tcb_rule_cells cells = { SHAPES, 3, tokens, loss[0], NULL, anywhere };
	const struct tcb_rule_tree tree = { .most = { 32, 8192, 8192 },
					    .count = 2,
					    .leaf = { { .m = 16, .candidate = 1 }, { .candidate = 2 } } };
	size_t candidate;
	(void)state;
	assert_true(tcb_rule_loss(&cells, &tree, 0, OWN, &candidate) == 1);
	assert_int_equal(candidate, 2);
	assert_true(tcb_rule_loss(&cells, &tree, 1, OWN, &candidate) == 1);
	assert_int_equal(candidate, 1);
	assert_true(tcb_rule_loss(&cells, &tree, 2, OWN, &candidate) == 1.7);
	assert_int_equal(candidate, OWN);
	assert_true(tcb_rule_loss(&cells, &tree, 3, OWN, &candidate) == 9); /* beyond 32 tokens */
	assert_int_equal(candidate, OWN);
}

/* Of equal losses the candidate that can be used around the shape. */
static void prefers_reach(void **state)
{
	static const double loss[][SHAPES] = { { 2, 2, 2, 2 }, { 1, 1, 1, 1 }, { 1.01, 1.01, 1.01, 1.01 } };
	static const double reach[][SHAPES] = { { 1, 1, 1, 1 }, { 0, 0, 0.2, 0 }, { 1, 1, 1, 1 } };
	static const tcb_rule_set anywhere[MOST] = { 0 };
	const struct tcb_rule_cells cells = { SHAPES, 3, tokens, loss[0], reach[0], anywhere };
	struct tcb_rule_tree tree;
	(void)state;
	assert_int_equal(tcb_rule_learn(&cells, all, 1.1, &tree, NULL), TCB_OK);
	assert_int_equal(tree.count, 1);
	assert_int_equal(tree.leaf[0].candidate, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_is_enough),          cmocka_unit_test(cuts_where_it_must),
		cmocka_unit_test(unknown_is_never_good),  cmocka_unit_test(the_least_where_nothing_is_good),
		cmocka_unit_test(learns_from_train_only), cmocka_unit_test(passes_over_what_cannot_be),
		cmocka_unit_test(prefers_reach),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
