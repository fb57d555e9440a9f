/* SPDX-License-Identifier: MIT
 *
 * FMA fusion: the forms that are fused (items 16, 22, 26, 29 of the seed), and
 * beside each the neighbour that must not be (18, 19).
 */
#include "pass_tools.h"

static const struct pass_golden golden[] = {
	{ "product first", "mul.f32 %y4, %y0, %y1;\nadd.f32 %y5, %y4, %y2;\n", "fma.rn.f32 %y5, %y0, %y1, %y2;\n" },
	{ "product second", "mul.f32 %y4, %y0, %y1;\nadd.f32 %y5, %y2, %y4;\n", "fma.rn.f32 %y5, %y0, %y1, %y2;\n" },
	{ "product minus", "mul.f32 %y4, %y0, %y1;\nsub.f32 %y5, %y4, %y2;\n",
	  "neg.f32 %f0, %y2;\nfma.rn.f32 %y5, %y0, %y1, %f0;\n" },
	{ "minus product", "mul.f32 %y4, %y0, %y1;\nsub.f32 %y5, %y2, %y4;\n",
	  "neg.f32 %f0, %y0;\nfma.rn.f32 %y5, %f0, %y1, %y2;\n" },
	{ "minus product by a constant", "mul.f32 %y4, %y0, 0f40400000;\nsub.f32 %y5, %y2, %y4;\n",
	  "fma.rn.f32 %y5, %y0, 0fC0400000, %y2;\n" },
	{ "product minus a constant", "mul.f64 %w4, %w0, %w1;\nsub.f64 %w5, %w4, 0d3FF0000000000000;\n",
	  "fma.rn.f64 %w5, %w0, %w1, 0dBFF0000000000000;\n" },
	{ "explicit rounding of the product", "mul.rn.f32 %y4, %y0, %y1;\nadd.f32 %y5, %y4, %y2;\n", NULL },
	{ "explicit rounding of the sum", "mul.f32 %y4, %y0, %y1;\nadd.rn.f32 %y5, %y4, %y2;\n", NULL },
	{ "both rounded to zero", "mul.rz.f32 %y4, %y0, %y1;\nadd.rz.f32 %y5, %y4, %y2;\n", NULL },
	{ "ftz of both", "mul.ftz.f32 %y4, %y0, %y1;\nadd.ftz.f32 %y5, %y4, %y2;\n",
	  "fma.rn.ftz.f32 %y5, %y0, %y1, %y2;\n" },
	{ "ftz of one", "mul.ftz.f32 %y4, %y0, %y1;\nadd.f32 %y5, %y4, %y2;\n", NULL },
	{ "sat of the sum", "mul.f32 %y4, %y0, %y1;\nadd.sat.f32 %y5, %y4, %y2;\n",
	  "fma.rn.sat.f32 %y5, %y0, %y1, %y2;\n" },
	{ "sat of the product", "mul.sat.f32 %y4, %y0, %y1;\nadd.f32 %y5, %y4, %y2;\n", NULL },
	{ "two uses", "mul.f32 %y4, %y0, %y1;\nadd.f32 %y5, %y4, %y2;\nadd.f32 %y6, %y4, %y3;\n", NULL },
	{ "twice the product", "mul.f32 %y4, %y0, %y1;\nadd.f32 %y5, %y4, %y4;\n", NULL },
	{ "a factor is written in between",
	  "mov.f32 %y7, %y0;\nmul.f32 %y4, %y7, %y1;\nmov.f32 %y7, %y3;\nadd.f32 %y5, %y4, %y2;\n", NULL },
	{ "the addend is written in between",
	  "mov.f32 %y7, %y0;\nmul.f32 %y4, %y2, %y1;\nmov.f32 %y7, %y3;\nadd.f32 %y5, %y4, %y7;\n",
	  "mov.f32 %y7, %y0;\nmov.f32 %y7, %y3;\nfma.rn.f32 %y5, %y2, %y1, %y7;\n" },
	{ "into itself", "mov.f32 %y5, %y3;\nmul.f32 %y4, %y0, %y1;\nadd.f32 %y5, %y5, %y4;\n",
	  "mov.f32 %y5, %y3;\nfma.rn.f32 %y5, %y0, %y1, %y5;\n" },
	{ "two products: the first one", "mul.f32 %y4, %y0, %y1;\nmul.f32 %y5, %y2, %y3;\nadd.f32 %y6, %y4, %y5;\n",
	  "mul.f32 %y5, %y2, %y3;\nfma.rn.f32 %y6, %y0, %y1, %y5;\n" },
	{ "nested", "mul.f32 %y4, %y0, %y1;\nadd.f32 %y5, %y4, %y2;\nmul.f32 %y6, %y5, %y3;\nadd.f32 %y7, %y6, %y0;\n",
	  "fma.rn.f32 %y5, %y0, %y1, %y2;\nfma.rn.f32 %y7, %y5, %y3, %y0;\n" },
	{ "another block", "mul.f32 %y4, %y0, %y1;\n@%q0 bra done;\nadd.f32 %y5, %y4, %y2;\ndone:\n", NULL },
	{ "one guard", "mov.f32 %y5, %y3;\n@%q0 mul.f32 %y4, %y0, %y1;\n@%q0 add.f32 %y5, %y4, %y2;\n",
	  "mov.f32 %y5, %y3;\n@%q0 fma.rn.f32 %y5, %y0, %y1, %y2;\n" },
	{ "two guards", "mov.f32 %y5, %y3;\n@%q0 mul.f32 %y4, %y0, %y1;\n@%q1 add.f32 %y5, %y4, %y2;\n", NULL },
	{ "the sum alone is guarded", "mov.f32 %y5, %y3;\nmul.f32 %y4, %y0, %y1;\n@!%q0 add.f32 %y5, %y4, %y2;\n",
	  "mov.f32 %y5, %y3;\n@!%q0 fma.rn.f32 %y5, %y0, %y1, %y2;\n" },
	{ "a guard that changes",
	  "setp.lt.u32 %q2, %x0, 3;\nmov.f32 %y5, %y3;\n@%q2 mul.f32 %y4, %y0, %y1;\n"
	  "setp.lt.u32 %q2, %x1, 3;\n@%q2 add.f32 %y5, %y4, %y2;\n",
	  NULL },
	{ "other types", "mul.f32 %y4, %y0, %y1;\nmul.f64 %w4, %w0, %w1;\nadd.f64 %w5, %w4, %w2;\n",
	  "mul.f32 %y4, %y0, %y1;\nfma.rn.f64 %w5, %w0, %w1, %w2;\n" },
	{ "halves", "mov.b32 %x4, %x0;\nmul.f16x2 %x5, %x4, %x1;\nadd.f16x2 %x6, %x5, %x2;\n",
	  "mov.b32 %x4, %x0;\nfma.rn.f16x2 %x6, %x4, %x1, %x2;\n" },
	{ "integers", "mul.lo.s32 %x4, %x0, %x1;\nadd.s32 %x5, %x4, %x2;\n", NULL },
};

static void each_form_is_fused_or_left(void **state)
{
	(void)state;
	pass_check("fma_fusion", golden, sizeof golden / sizeof *golden);
}

/* Item 16: a dot product of n terms is 2n instructions unfused and n+1 fused; the claimed third is the case of two
 * products and their sum (3 become 2). */
static void instructions_are_counted(void **state)
{
	struct tcb_str body = { 0 };
	struct tcb_ptx_module *module;
	uint32_t before;
	const uint32_t terms = 16;

	(void)state;
	tcb_str_add(&body, "mov.f32 %y8, %y3;\n");
	for (uint32_t i = 0; i < terms; i++)
		tcb_str_addf(&body, "mul.f32 %%y%u, %%y0, %%y1;\nadd.f32 %%y8, %%y8, %%y%u;\n", 20 + i, 20 + i);
	tcb_str_add(&body, "st.global.f32 [%z0], %y8;\n");
	module = pass_kernel(body.data);
	before = module->functions->ins_count;
	assert_int_equal(pass_run("fma_fusion", module, NULL), 2 * terms);
	assert_int_equal(module->functions->ins_count, before - terms);
	tcb_ptx_module_destroy(module);
	tcb_str_fini(&body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_is_fused_or_left),
		cmocka_unit_test(instructions_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
