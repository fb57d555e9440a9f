/* SPDX-License-Identifier: MIT
 *
 * Exit statuses are part of the command line's contract (SPEC section 10).
 */
#include "cmocka_all.h"

#include <string.h>

#include "base/status.h"

static void exit_statuses_are_pinned(void **state)
{
	(void)state;
	assert_int_equal(tcb_status_exit(TCB_OK), 0);
	assert_int_equal(tcb_status_exit(TCB_E_FAILED), 1);
	assert_int_equal(tcb_status_exit(TCB_E_USAGE), 2);
	assert_int_equal(tcb_status_exit(TCB_E_NOT_FOUND), 3);
	assert_int_equal(tcb_status_exit(TCB_E_VERIFY), 4);
	assert_int_equal(tcb_status_exit(TCB_E_INTERRUPTED), 130);
	for (int i = 0; i < TCB_STATUS_COUNT; i++)
		assert_true(strlen(tcb_status_text((enum tcb_status)i)) > 0);
}

static void fail_fills_and_cuts(void **state)
{
	struct tcb_error err;
	char huge[2000];

	(void)state;
	memset(huge, 'a', sizeof huge - 1);
	huge[sizeof huge - 1] = '\0';
	assert_int_equal(tcb_fail(&err, TCB_E_IO, "%s %d", "x", 7), TCB_E_IO);
	assert_int_equal(err.status, TCB_E_IO);
	assert_string_equal(err.message, "x 7");
	tcb_fail(&err, TCB_E_IO, "%s", huge);
	assert_int_equal(strlen(err.message), sizeof err.message - 1);
	assert_int_equal(tcb_fail(NULL, TCB_E_BUSY, "nobody listens"), TCB_E_BUSY);
}

/* What others wrote cannot make a second line of it, nor move the cursor; letters of other alphabets stay. */
static void a_message_is_one_line(void **state)
{
	struct tcb_error err;

	(void)state;
	tcb_fail(&err, TCB_E_FORMAT, "%s is damaged", "a\n\tb\x1b[2J\x7f\xc3\xa4\r");
	assert_string_equal(err.message, "a  b [2J \xc3\xa4  is damaged");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_statuses_are_pinned),
		cmocka_unit_test(fail_fills_and_cuts),
		cmocka_unit_test(a_message_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
