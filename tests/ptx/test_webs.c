/* SPDX-License-Identifier: MIT
 *
 * Splitting registers by webs: what becomes uniform by it, and that random
 * programs compute the same bits before and after it.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "ptx/analyse/flow/webs.h"
#include "ptx/text/text.h"
#include "random_cfg.h"
#include "run_kernel.h"

enum { PROGRAMS = 300, THREADS = 64 };

static struct tcb_ptx_module *parse(const char *text)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;

	if (tcb_ptx_parse("test", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s\n%s", err.message, text);
	return module;
}

static void split(struct tcb_ptx_function *function)
{
	struct tcb_ptx_dominators d;
	struct tcb_error err;

	assert_int_equal(tcb_ptx_dominators(function, &d, &err), TCB_OK);
	if (tcb_ptx_split_webs(function, &d, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_ptx_cfg(function, &err), TCB_OK);
}

/* The worst branch in which threads of a warp part. */
static enum tcb_ptx_variance worst_branch(struct tcb_ptx_function *function)
{
	struct tcb_ptx_dominators d;
	struct tcb_ptx_uniformity u;
	struct tcb_error err;
	enum tcb_ptx_variance worst = TCB_PTX_UNIFORM_GRID;

	assert_int_equal(tcb_ptx_dominators(function, &d, &err), TCB_OK);
	assert_int_equal(tcb_ptx_uniformity(function, &d, &u, &err), TCB_OK);
	for (struct tcb_ptx_block *block = function->first; block; block = block->next) {
		enum tcb_ptx_variance variance = tcb_ptx_branch_variance(&u, block);
		worst = variance > worst ? variance : worst;
	}
	return worst;
}

/* One register for the thread's index and then for other things. */
static void facts_are_kept_apart(void **state)
{
	static const struct {
		const char *body;
		enum tcb_ptx_variance before, after;
	} rows[] = {
		/* two webs */
		{ "mov.u32 %r1, %tid.x;\n st.global.u32 [%rd1], %r1;\n mov.u32 %r1, %ctaid.x;\n"
		  "setp.eq.u32 %p1, %r1, 0;\n @%p1 bra OUT;\n",
		  TCB_PTX_VARYING, TCB_PTX_UNIFORM_BLOCK },
		/* one web, and a read of its first write alone */
		{ "mov.u32 %r1, %ctaid.x;\n setp.eq.u32 %p1, %r1, 0;\n @%p1 bra OUT;\n"
		  "AGAIN: st.global.u32 [%rd1], %r1;\n add.u32 %r1, %r1, %r2;\n bra AGAIN;\n",
		  TCB_PTX_VARYING, TCB_PTX_UNIFORM_BLOCK },
		/* the control: it does depend on the thread */
		{ "mov.u32 %r1, %tid.x;\n setp.eq.u32 %p1, %r1, 0;\n @%p1 bra OUT;\n mov.u32 %r1, 0;\n"
		  "st.global.u32 [%rd1], %r1;\n",
		  TCB_PTX_VARYING, TCB_PTX_VARYING },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct tcb_str text = { 0 };
		struct tcb_ptx_module *module;
		tcb_str_addf(&text,
			     ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
			     ".reg .b64 %%rd<2>;\n.reg .b32 %%r<4>;\n.reg .pred %%p<2>;\n ld.param.u64 %%rd1, [p];\n"
			     "mov.u32 %%r2, %%tid.x;\n%sOUT: ret;\n}\n",
			     rows[i].body);
		module = parse(text.data);
		assert_int_equal(worst_branch(module->functions), rows[i].before);
		split(module->functions);
		assert_int_equal(worst_branch(module->functions), rows[i].after);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
}

/* The text that is printed names what it named. */
static void names_stay(void **state)
{
	const char *text =
		".version 8.0\n.target sm_80\n.address_size 64\n\n.visible .entry k(\n\t.param .u64 p\n)\n{\n"
		"	.reg .b32 %r<3>;\n	mov.u32 %r1, %tid.x;\n	mov.u32 %r2, %r1;\n"
		"	mov.u32 %r1, 0;\n	mov.u32 %r2, %r1;\n	ret;\n}\n";
	struct tcb_ptx_module *module = parse(text);
	struct tcb_str before = { 0 }, after = { 0 };
	uint32_t count = module->functions->reg_count;

	(void)state;
	tcb_ptx_print(module, &before);
	split(module->functions);
	tcb_ptx_print(module, &after);
	assert_string_equal(before.data, after.data);
	assert_true(module->functions->reg_count > count);
	tcb_str_fini(&before);
	tcb_str_fini(&after);
	tcb_ptx_module_destroy(module);
}

/* Registers 0 to 7, set from the thread's index; blocks that jump anywhere, at most 40 of them; a hash at the end. */
static void random_program(struct tcb_rng *rng, struct tcb_str *out)
{
	unsigned blocks = 2 + (unsigned)tcb_rng_below(rng, 8);

	tcb_str_add(out, ".version 8.0\n.target sm_80\n.address_size 64\n");
	tcb_str_add(out, ".visible .entry k(.param .u64 out, .param .u32 n)\n{\n");
	tcb_str_add(out, "	.reg .b32 %r<12>;\n	.reg .b64 %rd<4>;\n	.reg .pred %p<4>;\n");
	tcb_str_add(out, "	mov.u32 %r8, 40;\n	mov.b64 %rd0, 5;\n	mov.b64 %rd1, 9;\n");
	for (unsigned i = 0; i < RANDOM_REGS; i++)
		tcb_str_addf(out, "	mov.u32 %%r%u, %%tid.x;\n	xor.b32 %%r%u, %%r%u, %u;\n", i, i, i,
			     (unsigned)tcb_rng_below(rng, 64));
	for (unsigned i = 0; i < RANDOM_PREDICATES; i++)
		tcb_str_addf(out, "	setp.lt.u32 %%p%u, %%r%u, 24;\n", i, i);
	for (unsigned i = 0; i < blocks; i++) {
		tcb_str_addf(out, "B%u:\n	sub.u32 %%r8, %%r8, 1;\n", i);
		tcb_str_add(out, "	setp.eq.u32 %p3, %r8, 0;\n	@%p3 bra OUT;\n");
		for (uint64_t k = tcb_rng_below(rng, 6); k; k--)
			random_ins(rng, out);
		tcb_str_addf(out, "	@%%p%u bra B%u;\n", (unsigned)tcb_rng_below(rng, RANDOM_PREDICATES),
			     (unsigned)tcb_rng_below(rng, blocks));
	}
	tcb_str_add(out, "OUT:\n	mov.u32 %r9, 17;\n");
	for (unsigned i = 0; i < RANDOM_REGS; i++)
		tcb_str_addf(out, "	mad.lo.u32 %%r9, %%r9, 31, %%r%u;\n", i);
	tcb_str_add(out,
		    "	selp.b32 %r10, 1, 2, %p0;\n	add.u32 %r9, %r9, %r10;\n	mov.u32 %r10, %tid.x;\n"
		    "	ld.param.u64 %rd2, [out];\n	mul.wide.u32 %rd3, %r10, 4;\n	add.u64 %rd2, %rd2, %rd3;\n"
		    "	st.global.u32 [%rd2], %r9;\n	ret;\n}\n");
}

static void the_same_bits(void **state)
{
	static struct kernel_run before, after;
	unsigned more = 0;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 20);
	for (unsigned i = 0; i < PROGRAMS; i++) {
		struct tcb_str text = { 0 };
		struct tcb_ptx_module *module;
		uint32_t count;
		random_program(&rng, &text);
		module = parse(text.data);
		count = module->functions->reg_count;
		run_kernel(module->functions, THREADS, 0, 0, &before);
		split(module->functions);
		run_kernel(module->functions, THREADS, 0, 0, &after);
		if (before.others || after.others || memcmp(before.out, after.out, sizeof before.out) != 0)
			fail_msg("program %u: %s\n%s", i, after.last, text.data);
		more += module->functions->reg_count > count;
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
	print_message("%u of %u programs have more registers\n", more, PROGRAMS);
	assert_true(more > PROGRAMS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_are_kept_apart),
		cmocka_unit_test(names_stay),
		cmocka_unit_test(the_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
