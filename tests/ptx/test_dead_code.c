/* SPDX-License-Identifier: MIT
 *
 * Dead code: what goes and, as its control, what stays beside it.
 */
#include "pass_tools.h"

static const struct pass_golden golden[] = {
	{ "a chain that nobody reads", "add.s32 %x4, %x0, 1;\nmul.lo.s32 %x5, %x4, %x4;\nst.global.u32 [%z0], %x0;\n",
	  "st.global.u32 [%z0], %x0;\n" },
	{ "a chain that is stored", "add.s32 %x4, %x0, 1;\nmul.lo.s32 %x5, %x4, %x4;\nst.global.u32 [%z0], %x5;\n",
	  NULL },
	{ "a weak load", "ld.global.u32 %x4, [%z0];\nst.global.u32 [%z0], %x0;\n", "st.global.u32 [%z0], %x0;\n" },
	{ "a volatile load", "ld.volatile.global.u32 %x4, [%z0];\n", NULL },
	{ "an ordered load", "ld.acquire.gpu.global.u32 %x4, [%z0];\n", NULL },
	{ "an atomic whose result nobody reads", "atom.global.add.u32 %x4, [%z0], 1;\n", NULL },
	{ "a carry that somebody reads",
	  "add.cc.u32 %x4, %x0, %x1;\naddc.u32 %x5, %x2, %x3;\nst.global.u32 [%z0], %x5;\n", NULL },
	{ "a shuffle whose result nobody reads",
	  "shfl.sync.bfly.b32 %x4|%q2, %x0, 1, 31, -1;\nst.global.u32 [%z0], %x0;\n", NULL },
	{ "one register written twice, the first unread",
	  "add.s32 %x4, %x0, 1;\nadd.s32 %x4, %x0, 2;\nst.global.u32 [%z0], %x4;\n",
	  "add.s32 %x4, %x0, 2;\nst.global.u32 [%z0], %x4;\n" },
	{ "the second write is guarded", "add.s32 %x4, %x0, 1;\n@%q0 add.s32 %x4, %x0, 2;\nst.global.u32 [%z0], %x4;\n",
	  NULL },
	{ "the second write reads the first", "add.s32 %x4, %x0, 1;\nadd.s32 %x4, %x4, 2;\nst.global.u32 [%z0], %x4;\n",
	  NULL },
	{ "a counter that only counts",
	  "mov.u32 %x4, 0;\nmov.u32 %x5, 0;\nloop:\nadd.s32 %x5, %x5, %x4;\nadd.s32 %x4, %x4, 1;\n"
	  "setp.lt.u32 %q2, %x4, %x0;\n@%q2 bra loop;\nst.global.u32 [%z0], %x4;\n",
	  "mov.u32 %x4, 0;\nloop:\nadd.s32 %x4, %x4, 1;\nsetp.lt.u32 %q2, %x4, %x0;\n@%q2 bra loop;\n"
	  "st.global.u32 [%z0], %x4;\n" },
	{ "a copy to itself", "mov.u32 %x0, %x0;\nst.global.u32 [%z0], %x0;\n", "st.global.u32 [%z0], %x0;\n" },
	{ "a block that nobody reaches", "bra done;\nst.global.u32 [%z0], %x0;\ndone:\nst.global.u32 [%z0], %x1;\n",
	  "st.global.u32 [%z0], %x1;\n" },
	{ "a block that is reached on one side",
	  "@%q0 bra done;\nst.global.u32 [%z0], %x0;\ndone:\nst.global.u32 [%z0], %x1;\n", NULL },
	{ "a branch over nothing", "@%q0 bra done;\ndone:\nst.global.u32 [%z0], %x1;\n",
	  "st.global.u32 [%z0], %x1;\n" },
	{ "an arm that becomes empty",
	  "@%q0 bra other;\nadd.s32 %x4, %x0, 1;\nbra done;\nother:\nadd.s32 %x4, %x0, 2;\ndone:\n"
	  "st.global.u32 [%z0], %x1;\n",
	  "st.global.u32 [%z0], %x1;\n" },
	{ "a barrier", "bar.sync 0;\n", NULL },
};

static void each_line_goes_or_stays(void **state)
{
	(void)state;
	pass_check("dead_code", golden, sizeof golden / sizeof *golden);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_goes_or_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
