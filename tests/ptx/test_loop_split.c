/* SPDX-License-Identifier: MIT
 *
 * Loop splitting: the text of one split, and what is left alone.  That split
 * loops compute the same is held in test_pass_loops.c.
 */
#include "pass_tools.h"

#define BEGIN "mov.u32 %x4, %x0;\nmov.u64 %z4, %z0;\n"
#define REST "add.s64 %z4, %z4, 4;\nadd.u32 %x4, %x4, %x2;\nsetp.lt.u32 %q3, %x4, %x1;\n@%q3 bra loop;\n"

static const struct pass_golden golden[] = {
	{ "iv < s, loop iv < n: one bound",
	  BEGIN "loop:\nsetp.lt.u32 %q2, %x4, %x3;\n@%q2 st.global.u32 [%z4], %x4;\n" REST,
	  "mov.u32 %x4, %x0;\nmov.u64 %z4, %z0;\n"
	  "$loop_1:\nmin.u32 %r0, %x3, %x1;\nsetp.lt.u32 %p0, %x4, %x3;\n@!%p0 bra loop;\n"
	  "$loop_0:\nmov.pred %p1, 1;\n@%p1 st.global.u32 [%z4], %x4;\nadd.s64 %z4, %z4, 4;\nadd.u32 %x4, %x4, %x2;\n"
	  "setp.lt.u32 %p3, %x4, %r0;\n@%p3 bra $loop_0;\n"
	  "setp.lt.u32 %p2, %x4, %x1;\n@%p2 bra $loop_1;\nbra $loop_2;\n"
	  "loop:\nmov.pred %q2, 0;\n@%q2 st.global.u32 [%z4], %x4;\nadd.s64 %z4, %z4, 4;\nadd.u32 %x4, %x4, %x2;\n"
	  "setp.lt.u32 %q3, %x4, %x1;\nsetp.ge.and.u32 %p4, %x4, %x3, %q3;\n@%p4 bra loop;\n@%q3 bra $loop_1;\n"
	  "$loop_2:\n" },
};

static const struct pass_golden left_alone[] = {
	{ "data-dependent",
	  BEGIN "loop:\nld.global.u32 %x5, [%z4];\nsetp.lt.u32 %q2, %x5, %x3;\n@%q2 st.global.u32 [%z4], %x4;\n" REST,
	  NULL },
	{ "the limit changes in the loop",
	  "mov.u32 %x6, %x3;\n" BEGIN
	  "loop:\nadd.u32 %x6, %x6, 1;\nsetp.lt.u32 %q2, %x4, %x6;\n@%q2 st.global.u32 [%z4], %x4;\n" REST,
	  NULL },
	{ "the counter is written twice",
	  BEGIN "loop:\nsetp.lt.u32 %q2, %x4, %x3;\n@%q2 add.u32 %x4, %x4, 1;\nst.global.u32 [%z4], %x4;\n" REST,
	  NULL },
	{ "nothing is guarded",
	  BEGIN "loop:\nsetp.lt.u32 %q2, %x4, %x3;\nselp.u32 %x5, 1, 2, %q2;\nst.global.u32 [%z4], %x5;\n" REST, NULL },
	{ "a barrier, and threads that disagree",
	  "mov.u32 %x5, %tid.x;\n" BEGIN
	  "loop:\nbar.sync 0;\nsetp.lt.u32 %q2, %x4, %x5;\n@%q2 st.global.u32 [%z4], %x4;\n" REST,
	  NULL },
	{ "a light body",
	  "mov.u32 %x4, %x0;\nmov.u32 %x5, 0;\nloop:\nsetp.lt.u32 %q2, %x4, %x3;\n@%q2 add.u32 %x5, %x5, 1;\nadd.u32 "
	  "%x4, %x4, 1;\n"
	  "setp.lt.u32 %q3, %x4, %x1;\n@%q3 bra loop;\nst.global.u32 [%z0], %x5;\n",
	  NULL },
	{ "asked after the increment",
	  BEGIN "loop:\nadd.s64 %z4, %z4, 4;\nadd.u32 %x4, %x4, %x2;\nsetp.lt.u32 %q2, %x4, %x3;\n@%q2 st.global.u32 "
		"[%z4], %x4;\n"
		"setp.lt.u32 %q3, %x4, %x1;\n@%q3 bra loop;\n",
	  NULL },
};

static void text_of_a_split(void **state)
{
	(void)state;
	pass_check("loop_split", golden, sizeof golden / sizeof *golden);
}

static void others_are_left_alone(void **state)
{
	(void)state;
	pass_check("loop_split", left_alone, sizeof left_alone / sizeof *left_alone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_a_split),
		cmocka_unit_test(others_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
