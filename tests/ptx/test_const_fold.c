/* SPDX-License-Identifier: MIT
 *
 * Constant folding and copy propagation: each rule beside the neighbour where
 * it must not apply.
 */
#include "pass_tools.h"

static const struct pass_golden golden[] = {
	/* constants */
	{ "sum", "mov.u32 %x4, 5;\nadd.s32 %x5, %x4, 7;\n", "mov.u32 %x4, 5;\nmov.b32 %x5, 12;\n" },
	{ "wraps", "mov.u32 %x4, -1;\nadd.u32 %x5, %x4, 2;\n", "mov.u32 %x4, -1;\nmov.b32 %x5, 1;\n" },
	{ "high half, signed", "mul.hi.s32 %x5, -2, 3;\n", "mov.b32 %x5, -1;\n" },
	{ "high half, unsigned", "mul.hi.u32 %x5, -2, 3;\n", "mov.b32 %x5, 2;\n" },
	{ "wide, signed", "mul.wide.s32 %z5, -2, 3;\n", "mov.b64 %z5, -6;\n" },
	{ "division by zero", "div.s32 %x5, 3, 0;\n", NULL },
	{ "the least number by -1", "div.s32 %x5, 0x80000000, -1;\n", NULL },
	{ "shift by more than there is", "shl.b32 %x5, 3, 32;\nshr.s32 %x6, -3, 77;\n",
	  "mov.b32 %x5, 0;\nmov.b32 %x6, -1;\n" },
	{ "bits",
	  "popc.b32 %x5, 0xff;\nclz.b32 %x6, 0xff;\nbrev.b32 %x7, 1;\nprmt.b32 %x8, 0x03020100, 0x07060504, 0xb054;\n"
	  "lop3.b32 %x9, 0xf0, 0xcc, 0xaa, 0x96;\n",
	  "mov.b32 %x5, 8;\nmov.b32 %x6, 24;\nmov.b32 %x7, -2147483648;\nmov.b32 %x8, 1284;\nmov.b32 %x9, 150;\n" },
	{ "to a narrower integer", "cvt.s8.s32 %x5, 0x1ff;\ncvt.sat.u8.s32 %x6, -3;\n",
	  "mov.b32 %x5, -1;\nmov.b32 %x6, 0;\n" },
	{ "single, rounding modes",
	  "add.rn.f32 %y5, 0f3F800000, 0f33000000;\nadd.rp.f32 %y6, 0f3F800000, 0f33000000;\n",
	  "mov.f32 %y5, 0f3F800000;\nmov.f32 %y6, 0f3F800001;\n" },
	{ "single, fused", "fma.rn.f32 %y5, 0f3F800001, 0f3F800001, 0fBF800002;\n", "mov.f32 %y5, 0f28800000;\n" },
	{ "a NaN is left to the device", "mul.f32 %y5, 0f7F800000, 0f00000000;\n", NULL },
	{ "a NaN that is compared",
	  "setp.neu.f32 %q5, 0f7FC00000, 0f7FC00000;\nsetp.ne.f32 %q6, 0f7FC00000, 0f00000000;\n",
	  "mov.pred %q5, 1;\nmov.pred %q6, 0;\n" },
	{ "ftz next to the least normal number", "mul.ftz.f32 %y5, 0f00800000, 0f3F7FFFFF;\n", NULL },
	{ "the same without ftz", "mul.f32 %y5, 0f00800000, 0f3F000000;\n", "mov.f32 %y5, 0f00400000;\n" },
	{ "approximations", "rcp.approx.f32 %y5, 0f40000000;\n", NULL },
	{ "division", "div.rn.f32 %y5, 0f3F800000, 0f40400000;\n", "mov.f32 %y5, 0f3EAAAAAB;\n" },
	{ "double", "add.f64 %w5, 0d3FF0000000000000, 0d3FF0000000000000;\n", "mov.f64 %w5, 0d4000000000000000;\n" },
	{ "double, another rounding", "add.rz.f64 %w5, 0d3FF0000000000000, 0d3FF0000000000000;\n", NULL },
	{ "from integer", "cvt.rn.f32.s32 %y5, -3;\ncvt.rz.f32.u32 %y6, 16777217;\ncvt.rp.f32.u32 %y7, 16777217;\n",
	  "mov.f32 %y5, 0fC0400000;\nmov.f32 %y6, 0f4B800000;\nmov.f32 %y7, 0f4B800001;\n" },
	{ "to integer", "cvt.rni.s32.f32 %x5, 0fC0200000;\ncvt.rzi.u32.f32 %x6, 0f40700000;\n",
	  "mov.b32 %x5, -2;\nmov.b32 %x6, 3;\n" },
	/* identities */
	{ "nothing happens",
	  "add.s32 %x4, %x0, 0;\nsub.s32 %x5, %x0, 0;\nmul.lo.s32 %x6, 1, %x0;\nand.b32 %x7, %x0, -1;\n"
	  "shl.b32 %x8, %x0, 0;\ndiv.u32 %x9, %x0, 1;\ncvt.u32.s32 %x10, %x0;\n",
	  "mov.b32 %x4, %x0;\nmov.b32 %x5, %x0;\nmov.b32 %x6, %x0;\nmov.b32 %x7, %x0;\nmov.b32 %x8, %x0;\n"
	  "mov.b32 %x9, %x0;\nmov.b32 %x10, %x0;\n" },
	{ "a constant whatever x is",
	  "mul.lo.s32 %x4, %x0, 0;\nsub.s32 %x5, %x0, %x0;\nsetp.le.s32 %q5, %x0, %x0;\nrem.u32 %x6, %x0, 1;\n",
	  "mov.b32 %x4, 0;\nmov.b32 %x5, 0;\nmov.pred %q5, 1;\nmov.b32 %x6, 0;\n" },
	{ "not of floats",
	  "mul.f32 %y4, %y0, 0f3F800000;\nadd.f32 %y5, %y0, 0f00000000;\nsub.f32 %y6, %y0, %y0;\nsetp.eq.f32 %q5, %y0, "
	  "%y0;\n",
	  NULL },
	{ "zero minus", "sub.s32 %x4, 0, %x0;\nshl.b32 %x5, 0, %x0;\n", NULL },
	{ "16 bits of an amount", "cvt.u16.u32 %h4, %x0;\nshl.b16 %h5, %h4, 65536;\n", NULL },
	{ "products with a sum",
	  "mad.lo.s32 %x4, %x0, 1, %x1;\nmad.lo.s32 %x5, %x0, 0, %x1;\nmad.lo.s32 %x6, %x0, %x1, 0;\n",
	  "add.s32 %x4, %x0, %x1;\nmov.b32 %x5, %x1;\nmul.lo.s32 %x6, %x0, %x1;\n" },
	{ "saturating", "add.sat.s32 %x4, %x0, 0;\n", NULL },
	/* copies */
	{ "a copy", "mov.u32 %x4, %x0;\nadd.s32 %x5, %x4, %x4;\n", "mov.u32 %x4, %x0;\nadd.s32 %x5, %x0, %x0;\n" },
	{ "a copy of a copy", "mov.u32 %x4, %x0;\nmov.u32 %x5, %x4;\nadd.s32 %x6, %x5, 1;\n",
	  "mov.u32 %x4, %x0;\nmov.u32 %x5, %x0;\nadd.s32 %x6, %x0, 1;\n" },
	{ "the source is written after",
	  "mov.u32 %x5, %x0;\nmov.u32 %x4, %x5;\nadd.s32 %x5, %x5, 1;\nadd.s32 %x6, %x4, 1;\n",
	  "mov.u32 %x5, %x0;\nmov.u32 %x4, %x0;\nadd.s32 %x5, %x0, 1;\nadd.s32 %x6, %x0, 1;\n" },
	{ "the source is written, and unknown",
	  "ld.global.u32 %x5, [%z0];\nmov.u32 %x4, %x5;\nadd.s32 %x5, %x5, 1;\nadd.s32 %x6, %x4, 1;\n", NULL },
	{ "a guarded copy", "mov.u32 %x4, %x1;\n@%q0 mov.u32 %x4, %x0;\nadd.s32 %x5, %x4, 1;\n", NULL },
	{ "a guarded constant", "mov.u32 %x4, 1;\n@%q0 mov.u32 %x4, 2;\nadd.s32 %x5, %x4, 1;\n", NULL },
	{ "through blocks", "mov.u32 %x4, 3;\n@%q0 bra done;\nadd.s32 %x5, %x4, %x0;\ndone:\nadd.s32 %x6, %x4, %x1;\n",
	  "mov.u32 %x4, 3;\n@%q0 bra done;\nadd.s32 %x5, 3, %x0;\ndone:\nadd.s32 %x6, 3, %x1;\n" },
	{ "two constants meet", "mov.u32 %x4, 3;\n@%q0 bra done;\nmov.u32 %x4, 4;\ndone:\nadd.s32 %x6, %x4, %x1;\n",
	  NULL },
	{ "a counter", "mov.u32 %x4, 0;\nloop:\nadd.s32 %x4, %x4, 1;\nsetp.lt.u32 %q2, %x4, %x0;\n@%q2 bra loop;\n",
	  NULL },
	{ "the last round's value",
	  "mov.u32 %x4, %x0;\nmov.u32 %x6, 0;\nloop:\nadd.s32 %x6, %x6, %x4;\nld.global.u32 %x5, [%z0];\nmov.u32 %x4, "
	  "%x5;\n"
	  "setp.lt.u32 %q2, %x6, %x0;\n@%q2 bra loop;\n",
	  NULL },
	{ "of an address", "mov.u64 %z4, %z0;\nld.global.u32 %x5, [%z4+4];\n",
	  "mov.u64 %z4, %z0;\nld.global.u32 %x5, [%z0+4];\n" },
	{ "of a stored value", "mov.f32 %y4, 0f3F800000;\nst.global.f32 [%z0], %y4;\n",
	  "mov.f32 %y4, 0f3F800000;\nst.global.f32 [%z0], 0f3F800000;\n" },
	{ "of other class", "mov.b32 %x4, %y0;\nadd.s32 %x5, %x4, 1;\nshl.b32 %x6, %x4, 1;\n",
	  "mov.b32 %x4, %y0;\nadd.s32 %x5, %x4, 1;\nshl.b32 %x6, %y0, 1;\n" },
	{ "of a guard", "mov.pred %q4, %q0;\nmov.u32 %x4, 1;\n@%q4 mov.u32 %x4, 2;\n",
	  "mov.pred %q4, %q0;\nmov.u32 %x4, 1;\n@%q0 mov.u32 %x4, 2;\n" },
	/* guards, branches, predicates */
	{ "always", "setp.lt.u32 %q4, 1, 2;\n@%q4 add.s32 %x5, %x0, 1;\n", "mov.pred %q4, 1;\nadd.s32 %x5, %x0, 1;\n" },
	{ "never", "setp.lt.u32 %q4, 1, 2;\nmov.u32 %x5, %x1;\n@!%q4 add.s32 %x5, %x0, 1;\n",
	  "mov.pred %q4, 1;\nmov.u32 %x5, %x1;\n" },
	{ "a branch that is never taken",
	  "mov.u32 %x4, 3;\nsetp.gt.u32 %q4, 1, 2;\n@%q4 bra skip;\nadd.s32 %x6, %x4, 1;\nskip:\nadd.s32 %x7, %x0, "
	  "1;\n",
	  "mov.u32 %x4, 3;\nmov.pred %q4, 0;\nmov.b32 %x6, 4;\nskip:\nadd.s32 %x7, %x0, 1;\n" },
	{ "logic of predicates",
	  "setp.lt.u32 %q4, 1, 2;\nand.pred %q5, %q0, %q4;\nor.pred %q6, %q0, %q4;\nnot.pred %q7, %q4;\n",
	  "mov.pred %q4, 1;\nmov.pred %q5, %q0;\nmov.pred %q6, 1;\nmov.pred %q7, 0;\n" },
	{ "selecting",
	  "setp.lt.u32 %q4, 1, 2;\nselp.b32 %x4, %x0, %x1, %q4;\nselp.b32 %x5, %x2, %x2, %q0;\nselp.b32 %x6, %x0, %x1, "
	  "%q0;\n",
	  "mov.pred %q4, 1;\nmov.b32 %x4, %x0;\nmov.b32 %x5, %x2;\nselp.b32 %x6, %x0, %x1, %q0;\n" },
	{ "compares with a known predicate",
	  "setp.lt.u32 %q4, 1, 2;\nsetp.lt.and.u32 %q5, %x0, %x1, %q4;\nsetp.lt.or.u32 %q6, %x0, %x1, %q4;\n"
	  "setp.lt.and.u32 %q7, %x0, %x1, !%q4;\n",
	  "mov.pred %q4, 1;\nsetp.lt.u32 %q5, %x0, %x1;\nmov.pred %q6, 1;\nmov.pred %q7, 0;\n" },
};

static void each_rule_applies_or_does_not(void **state)
{
	(void)state;
	pass_check("const_fold", golden, sizeof golden / sizeof *golden);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_applies_or_does_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
