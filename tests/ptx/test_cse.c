/* SPDX-License-Identifier: MIT
 *
 * Common subexpressions: what is merged and, beside it, what looks like it and
 * is not the same.
 */
#include "pass_tools.h"

static const struct pass_golden golden[] = {
	{ "twice", "add.s32 %x4, %x0, %x1;\nadd.s32 %x5, %x0, %x1;\n", "add.s32 %x4, %x0, %x1;\nmov.b32 %x5, %x4;\n" },
	{ "swapped", "add.s32 %x4, %x0, %x1;\nadd.s32 %x5, %x1, %x0;\n",
	  "add.s32 %x4, %x0, %x1;\nmov.b32 %x5, %x4;\n" },
	{ "swapped, not commutative", "sub.s32 %x4, %x0, %x1;\nsub.s32 %x5, %x1, %x0;\n", NULL },
	{ "swapped factors of fma", "fma.rn.f32 %y4, %y0, %y1, %y2;\nfma.rn.f32 %y5, %y1, %y0, %y2;\n",
	  "fma.rn.f32 %y4, %y0, %y1, %y2;\nmov.f32 %y5, %y4;\n" },
	{ "swapped factor and addend of fma", "fma.rn.f32 %y4, %y0, %y1, %y2;\nfma.rn.f32 %y5, %y0, %y2, %y1;\n",
	  NULL },
	{ "swapped doubles, where a NaN's payload may tell", "add.f64 %w4, %w0, %w1;\nadd.f64 %w5, %w1, %w0;\n", NULL },
	{ "other modifiers", "add.f32 %y4, %y0, %y1;\nadd.rz.f32 %y5, %y0, %y1;\nadd.ftz.f32 %y6, %y0, %y1;\n", NULL },
	{ "other constants", "add.s32 %x4, %x0, 1;\nadd.s32 %x5, %x0, 2;\n", NULL },
	{ "chains",
	  "add.s32 %x4, %x0, 1;\nadd.s32 %x5, %x0, 1;\nmul.lo.s32 %x6, %x4, %x1;\nmul.lo.s32 %x7, %x5, %x1;\n",
	  "add.s32 %x4, %x0, 1;\nmov.b32 %x5, %x4;\nmul.lo.s32 %x6, %x4, %x1;\nmov.b32 %x7, %x6;\n" },
	{ "below", "add.s32 %x4, %x0, 1;\n@%q0 bra done;\nadd.s32 %x5, %x0, 1;\ndone:\nadd.s32 %x6, %x0, 1;\n",
	  "add.s32 %x4, %x0, 1;\n@%q0 bra done;\nmov.b32 %x5, %x4;\ndone:\nmov.b32 %x6, %x4;\n" },
	{ "beside",
	  "@%q0 bra other;\nadd.s32 %x4, %x0, 1;\nbra done;\nother:\nadd.s32 %x5, %x0, 1;\ndone:\nadd.s32 %x6, %x0, "
	  "1;\n",
	  NULL },
	{ "a source is written in between",
	  "mov.u32 %x4, %x0;\nadd.s32 %x5, %x4, 1;\nadd.s32 %x4, %x4, %x1;\nadd.s32 %x6, %x4, 1;\n", NULL },
	{ "a source with two writes, between them",
	  "mov.u32 %x4, %x0;\nadd.s32 %x5, %x4, 1;\nadd.s32 %x6, %x4, 1;\nadd.s32 %x4, %x4, %x1;\n",
	  "mov.u32 %x4, %x0;\nadd.s32 %x5, %x4, 1;\nmov.b32 %x6, %x5;\nadd.s32 %x4, %x4, %x1;\n" },
	{ "a counter, inside and after its loop",
	  "mov.u32 %x4, 0;\nloop:\nshl.b32 %x5, %x4, 2;\nshl.b32 %x6, %x4, 2;\nadd.s32 %x4, %x4, 1;\nsetp.lt.u32 %q2, "
	  "%x4, %x0;\n"
	  "@%q2 bra loop;\nshl.b32 %x7, %x4, 2;\n",
	  "mov.u32 %x4, 0;\nloop:\nshl.b32 %x5, %x4, 2;\nmov.b32 %x6, %x5;\nadd.s32 %x4, %x4, 1;\nsetp.lt.u32 %q2, "
	  "%x4, %x0;\n"
	  "@%q2 bra loop;\nshl.b32 %x7, %x4, 2;\n" },
	{ "blocks of the text in another order",
	  "mov.u32 %x4, 0;\nbra first;\nsecond:\nshl.b32 %x7, %x4, 2;\nbra done;\nfirst:\nadd.s32 %x4, %x4, "
	  "1;\nshl.b32 %x5, %x4, 2;\n"
	  "add.s32 %x4, %x4, 1;\nbra second;\ndone:\n",
	  NULL },
	{ "a guarded one", "mov.u32 %x5, 0;\nadd.s32 %x4, %x0, 1;\n@%q0 add.s32 %x5, %x0, 1;\n", NULL },
	{ "a result written twice", "add.s32 %x4, %x0, 1;\nadd.s32 %x4, %x0, 1;\n", NULL },
	{ "other type of result", "mov.b32 %x4, %x0;\nand.b32 %x5, %x4, 7;\nand.b32 %y5, %x4, 7;\n", NULL },
	/* memory */
	{ "parameters", "ld.param.u32 %x4, [in+36];\nld.param.u32 %x5, [in+36];\n",
	  "mov.b32 %x4, %x1;\nmov.b32 %x5, %x1;\n" },
	{ "a read-only load across a store",
	  "ld.global.nc.u32 %x4, [%z0];\nst.global.u32 [%z1], %x0;\nld.global.nc.u32 %x5, [%z0];\n",
	  "ld.global.nc.u32 %x4, [%z0];\nst.global.u32 [%z1], %x0;\nmov.b32 %x5, %x4;\n" },
	{ "a load", "ld.global.u32 %x4, [%z0];\nld.global.u32 %x5, [%z0];\n",
	  "ld.global.u32 %x4, [%z0];\nmov.b32 %x5, %x4;\n" },
	{ "a load across a store", "ld.global.u32 %x4, [%z0];\nst.global.u32 [%z1], %x0;\nld.global.u32 %x5, [%z0];\n",
	  NULL },
	{ "a load across a barrier", "ld.shared.u32 %x4, [tile];\nbar.sync 0;\nld.shared.u32 %x5, [tile];\n", NULL },
	{ "a load in the next block", "ld.global.u32 %x4, [%z0];\n@%q0 bra done;\nld.global.u32 %x5, [%z0];\ndone:\n",
	  NULL },
	{ "volatile loads", "ld.volatile.global.u32 %x4, [%z0];\nld.volatile.global.u32 %x5, [%z0];\n", NULL },
	{ "ordered loads", "ld.relaxed.gpu.global.u32 %x4, [%z0];\nld.relaxed.gpu.global.u32 %x5, [%z0];\n", NULL },
	{ "other offset", "ld.global.u32 %x4, [%z0];\nld.global.u32 %x5, [%z0+4];\n", NULL },
	/* what is not the same twice */
	{ "places", "mov.u32 %x4, %tid.x;\nmov.u32 %x5, %tid.x;\nmov.u32 %x6, %tid.y;\n",
	  "mov.u32 %x4, %tid.x;\nmov.b32 %x5, %x4;\nmov.u32 %x6, %tid.y;\n" },
	{ "clocks", "mov.u32 %x4, %clock;\nmov.u32 %x5, %clock;\n", NULL },
	{ "shuffles", "shfl.sync.bfly.b32 %x4, %x0, 1, 31, -1;\nshfl.sync.bfly.b32 %x5, %x0, 1, 31, -1;\n", NULL },
	{ "carries", "add.cc.u32 %x4, %x0, %x1;\naddc.u32 %x5, %x2, %x3;\naddc.u32 %x6, %x2, %x3;\n", NULL },
	{ "atomics", "atom.global.add.u32 %x4, [%z0], 1;\natom.global.add.u32 %x5, [%z0], 1;\n", NULL },
};

static void each_pair_is_merged_or_not(void **state)
{
	(void)state;
	pass_check("cse", golden, sizeof golden / sizeof *golden);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pair_is_merged_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
