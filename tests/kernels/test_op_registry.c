/* SPDX-License-Identifier: MIT
 *
 * Registries: this build's ops come first and in their order, others are found
 * beside them, and what is not an op is refused and leaves the rest as it was.
 */
#include "kernels/op_registry.h"

#include "cmocka_all.h"

#include <string.h>

static void test_built_in(void **state)
{
	const struct tcb_registry registry = tcb_registry_built_in();
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);

	(void)state;
	assert_int_equal(registry.count, count);
	for (size_t i = 0; i <= count; i++)
		assert_ptr_equal(registry.ops[i], ops[i]);
	assert_ptr_equal(tcb_registry_find(&registry, "softmax"), tcb_op_find("softmax"));
	assert_null(tcb_registry_find(&registry, "soft"));
}

static void test_added(void **state)
{
	struct tcb_registry registry = tcb_registry_built_in();
	const size_t before = registry.count;
	struct tcb_op first = *tcb_op_find("softmax"), second = first;
	struct tcb_op_names names;

	(void)state;
	first.name = "mine";
	second.name = "mine_2";
	assert_int_equal(tcb_registry_add(&registry, &first, NULL), TCB_OK);
	assert_int_equal(tcb_registry_add(&registry, &second, NULL), TCB_OK);
	assert_int_equal(registry.count, before + 2);
	assert_ptr_equal(registry.ops[before], &first);
	assert_null(registry.ops[before + 2]);
	assert_ptr_equal(tcb_registry_find(&registry, "mine"), &first);
	assert_ptr_equal(tcb_registry_find(&registry, "mine_2"), &second);
	assert_ptr_equal(tcb_registry_find(&registry, "rmsnorm"), tcb_op_find("rmsnorm"));
	names = tcb_registry_names(&registry);
	assert_ptr_equal(names.find(names.ctx, "mine_2"), &second);
	assert_null(names.find(names.ctx, "mine_3"));
	/* The build's own list is as it was. */
	assert_null(tcb_op_find("mine"));
	tcb_registry_fini(&registry);
}

static void test_refused(void **state)
{
	static const char *const names[] = { NULL,    "",        "all",     "Mine",
					     "my-op", "softmax", "op name", "a_name_that_is_longer_than_fits_" };
	struct tcb_registry registry = tcb_registry_built_in();
	const size_t before = registry.count;
	struct tcb_op op = *tcb_op_find("softmax");
	struct tcb_error err;

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		op.name = names[i];
		assert_int_equal(tcb_registry_add(&registry, &op, &err), TCB_E_USAGE);
	}
	assert_non_null(strstr(err.message, "cannot be an op's name"));
	op.name = "mine";
	op.reference = NULL;
	assert_int_equal(tcb_registry_add(&registry, &op, &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, "lacks"));
	op = *tcb_op_find("softmax");
	op.name = "mine";
	op.default_contract = TCB_CONTRACT_Q8; /* which softmax does not have */
	assert_int_equal(tcb_registry_add(&registry, &op, &err), TCB_E_USAGE);
	assert_int_equal(registry.count, before);
	tcb_registry_fini(&registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built_in),
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
