/* SPDX-License-Identifier: MIT
 *
 * For tests of saved plans: saving one, and one that is refused.
 */
#ifndef TCB_TESTS_SAVED_PLANS_H
#define TCB_TESTS_SAVED_PLANS_H

#include "base/buffer.h"
#include "cmocka_all.h"
#include "tcbrt.h"

/* Free it with tcb_buffer_free. */
static inline struct tcb_buffer save_plan(const struct tcbrt_plan *plan, size_t *bytes)
{
	struct tcb_buffer blob;
	size_t less;

	assert_int_equal(tcbrt_plan_save(plan, NULL, 0, bytes), TCBRT_OK);
	assert_int_equal(tcb_buffer_alloc(TCB_BUFFER_PLAIN, *bytes, &blob, NULL), TCB_OK);
	assert_int_equal(tcbrt_plan_save(plan, blob.data, *bytes - 1, &less), TCBRT_E_OVERFLOW);
	assert_int_equal(tcbrt_plan_save(plan, blob.data, *bytes, &less), TCBRT_OK);
	assert_int_equal(less, *bytes);
	return blob;
}

static inline void expect_refused(const struct tcbrt *rt, const void *blob, size_t bytes, int code)
{
	struct tcbrt_plan *plan;
	struct tcbrt_error err;

	assert_int_equal(tcbrt_plan_load(rt, blob, bytes, &plan, &err), code);
	assert_null(plan);
	assert_true(err.message[0] != '\0');
}

#endif
