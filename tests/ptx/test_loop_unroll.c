/* SPDX-License-Identifier: MIT
 *
 * Loop unrolling: the text of one loop unrolled wholly and one in part, and
 * what is left alone.  That unrolled loops compute the same is held in
 * test_pass_loops.c.
 */
#include "pass_tools.h"

static const struct pass_golden golden[] = {
	{ "constant bounds",
	  "mov.u32 %x4, 0;\nmov.u32 %x5, 0;\nloop:\nmul.lo.u32 %x6, %x4, %x0;\nadd.u32 %x5, %x5, %x6;\nadd.u32 %x4, "
	  "%x4, 2;\n"
	  "setp.lt.u32 %q2, %x4, 5;\n@%q2 bra loop;\nst.global.u32 [%z0], %x5;\n",
	  "mov.u32 %x4, 0;\nmov.u32 %x5, 0;\n"
	  "mul.lo.u32 %r0, %x4, %x0;\nadd.u32 %x5, %x5, %r0;\nadd.u32 %x4, %x4, 2;\nsetp.lt.u32 %p0, %x4, 5;\n"
	  "mul.lo.u32 %r1, %x4, %x0;\nadd.u32 %x5, %x5, %r1;\nadd.u32 %x4, %x4, 2;\nsetp.lt.u32 %p1, %x4, 5;\n"
	  "loop:\nmul.lo.u32 %x6, %x4, %x0;\nadd.u32 %x5, %x5, %x6;\nadd.u32 %x4, %x4, 2;\nsetp.lt.u32 %q2, %x4, 5;\n"
	  "st.global.u32 [%z0], %x5;\n" },
	{ "once",
	  "mov.u32 %x4, 7;\nloop:\nst.global.u32 [%z0], %x4;\nadd.u32 %x4, %x4, 1;\nsetp.lt.u32 %q2, %x4, 5;\n@%q2 bra "
	  "loop;\n",
	  "mov.u32 %x4, 7;\nloop:\nst.global.u32 [%z0], %x4;\nadd.u32 %x4, %x4, 1;\nsetp.lt.u32 %q2, %x4, 5;\n" },
	{ "a bound that is unknown",
	  "mov.u32 %x4, 0;\nmov.u64 %z4, %z0;\nloop:\nst.global.u32 [%z4], %x4;\nadd.s64 %z4, %z4, 4;\nadd.u32 %x4, "
	  "%x4, 3;\n"
	  "setp.lt.u32 %q2, %x4, %x0;\n@%q2 bra loop;\n",
	  "mov.u32 %x4, 0;\nmov.u64 %z4, %z0;\nsub.u32 %r0, %x0, %x4;\nsetp.lt.u32 %p1, %x4, %x0;\nsetp.gt.and.u32 "
	  "%p0, %r0, 3, %p1;\n"
	  "@!%p0 bra loop;\n$loop_1:\n.pragma \"nounroll\";\n"
	  "st.global.u32 [%z4], %x4;\nadd.s64 %z4, %z4, 4;\nadd.u32 %x4, %x4, 3;\nsetp.lt.u32 %p2, %x4, %x0;\n"
	  "st.global.u32 [%z4], %x4;\nadd.s64 %z4, %z4, 4;\nadd.u32 %x4, %x4, 3;\nsetp.lt.u32 %p3, %x4, %x0;\n@!%p3 "
	  "bra $loop_0;\n"
	  "sub.u32 %r1, %x0, %x4;\nsetp.gt.u32 %p4, %r1, 3;\n@%p4 bra $loop_1;\n"
	  "loop:\n.pragma \"nounroll\";\nst.global.u32 [%z4], %x4;\nadd.s64 %z4, %z4, 4;\nadd.u32 %x4, %x4, 3;\n"
	  "setp.lt.u32 %q2, %x4, %x0;\n@%q2 bra loop;\n$loop_0:\n" },
	{ "asked not to",
	  "mov.u32 %x4, 0;\nloop:\n.pragma \"nounroll\";\nst.global.u32 [%z0], %x4;\nadd.u32 %x4, %x4, 1;\nsetp.lt.u32 "
	  "%q2, %x4, 2;\n@%q2 bra loop;\n",
	  NULL },
	{ "a step that is unknown",
	  "mov.u32 %x4, 0;\nloop:\nst.global.u32 [%z0], %x4;\nadd.u32 %x4, %x4, %x1;\nsetp.lt.u32 %q2, %x4, %x0;\n@%q2 "
	  "bra loop;\n",
	  NULL },
	{ "away from the bound",
	  "mov.u32 %x4, 0;\nloop:\nst.global.u32 [%z0], %x4;\nadd.u32 %x4, %x4, -1;\nsetp.lt.u32 %q2, %x4, %x0;\n@%q2 "
	  "bra loop;\n",
	  NULL },
	{ "a barrier, and threads that disagree",
	  "mov.u32 %x5, %tid.x;\nmov.u32 %x4, 0;\nloop:\nbar.sync 0;\nadd.u32 %x4, %x4, 1;\nsetp.lt.u32 %q2, %x4, "
	  "%x5;\n@%q2 bra loop;\n",
	  NULL },
};

static void text_of_unrolled_loops(void **state)
{
	const struct tcb_ptx_pass_options options = { .unroll_limit = 15, .split_min_body = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof golden / sizeof *golden; i++)
		pass_check_with("loop_unroll", &golden[i], &options);
}

static void a_limit_of_zero_means_none(void **state)
{
	const struct tcb_ptx_pass_options options = { .unroll_limit = 0 };
	struct pass_golden once = golden[1];

	(void)state;
	once.after = NULL;
	pass_check_with("loop_unroll", &once, &options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_of_unrolled_loops),
		cmocka_unit_test(a_limit_of_zero_means_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
