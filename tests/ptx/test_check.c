/* SPDX-License-Identifier: MIT
 *
 * The pipeline of `ptx check`: figures of kernels, launches, targets, and that
 * it is linear in the text.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ptx/analyse/check.h"
#include "ptx/text/text.h"

static const char two_kernels[] = ".version 7.8\n"
				  ".target sm_75\n"
				  ".address_size 64\n"
				  ".shared .align 4 .b8 both[256];\n"
				  ".extern .shared .align 16 .b8 dynamic[];\n"
				  ".visible .entry first(.param .u64 p)\n"
				  "{\n"
				  "	.reg .b32 %r<3>;\n"
				  "	.shared .align 4 .b8 own[128];\n"
				  "	mov.u32 %r1, both;\n"
				  "	ld.shared.u32 %r2, [own];\n"
				  "	st.shared.u32 [%r1], %r2;\n"
				  "	st.shared.u32 [both+4], %r2;\n"
				  "	ret;\n"
				  "}\n"
				  ".visible .entry second(.param .u64 p) .reqntid 32, 4, 1\n"
				  "{\n"
				  "	.reg .b32 %r<3>;\n"
				  "	.reg .pred %p1;\n"
				  "	mov.u32 %r1, 0;\n"
				  "again:\n"
				  "	st.shared.u32 [dynamic], %r1;\n"
				  "	add.u32 %r1, %r1, 1;\n"
				  "	setp.lt.u32 %p1, %r1, 10;\n"
				  "	@%p1 bra again;\n"
				  "	ret;\n"
				  "}\n";

struct seen {
	unsigned count, rules[TCB_PTX_RULE_COUNT];
	char message[400];
};

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct seen *seen = ctx;

	seen->count++;
	seen->rules[finding->rule]++;
	strcpy(seen->message, finding->message);
}

/* REPORT's kernels live as long as the module. */
static struct tcb_ptx_module *check(const char *text, const struct tcb_ptx_check_options *options,
				    struct tcb_ptx_check_report *report, struct seen *seen)
{
	const struct tcb_ptx_sink sink = { see, seen };
	struct tcb_ptx_module *module;
	struct tcb_error err;

	memset(seen, 0, sizeof *seen);
	if (tcb_ptx_parse("test", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_ptx_check(module, options, &sink, report, &err), TCB_OK);
	assert_int_equal(report->count[0] + report->count[1] + report->count[2], seen->count);
	return module;
}

static void figures(void **state)
{
	const struct tcb_ptx_check_options options = { .launches = NULL };
	struct tcb_ptx_check_report report;
	struct seen seen;
	struct tcb_ptx_module *module = check(two_kernels, &options, &report, &seen);
	const struct tcb_ptx_check_kernel *k = report.kernels;

	(void)state;
	assert_int_equal(report.kernel_count, 2);
	assert_int_equal(report.count[TCB_PTX_ERROR], 0);
	assert_string_equal(k[0].function->symbol->name, "first");
	assert_int_equal(k[0].instructions, 5);
	assert_int_equal(k[0].loops, 0);
	assert_int_equal(k[0].shared_static, 256 + 128);
	assert_false(k[0].uses_dynamic_shared);
	assert_int_equal(k[0].block[0], 256);
	assert_int_equal(k[0].block_source, TCB_PTX_BLOCK_ASSUMED);
	assert_int_equal(k[1].loops, 1);
	assert_int_equal(k[1].shared_static, 0);
	assert_true(k[1].uses_dynamic_shared);
	assert_int_equal(k[1].block[0], 32);
	assert_int_equal(k[1].block[1], 4);
	assert_int_equal(k[1].block_source, TCB_PTX_BLOCK_BOUNDS);
	assert_true(k[1].pressure >= 1 && k[1].register_estimate >= k[1].pressure);
	tcb_ptx_module_destroy(module);
}

static void launches(void **state)
{
	const struct tcb_ptx_check_launch rows[] = { { "second", { 64, 1, 1 }, 4096 }, { NULL, { 8, 0, 0 }, 16 } };
	const struct tcb_ptx_check_options options = { .launches = rows, .launch_count = 2 };
	struct tcb_ptx_check_report report;
	struct seen seen;
	struct tcb_ptx_module *module = check(two_kernels, &options, &report, &seen);

	(void)state;
	assert_int_equal(report.kernels[0].block[0], 8);
	assert_int_equal(report.kernels[0].block[1], 1);
	assert_int_equal(report.kernels[0].dynamic_shared, 16);
	assert_int_equal(report.kernels[0].block_source, TCB_PTX_BLOCK_GIVEN);
	assert_int_equal(report.kernels[1].block[0], 64);
	assert_int_equal(report.kernels[1].dynamic_shared, 4096);
	tcb_ptx_module_destroy(module);
}

static void targets(void **state)
{
	static const struct {
		const char *from;
		struct tcb_ptx_target to;
		int fits;
	} rows[] = {
		{ "sm_75", { 0, 0 }, 1 },      { "sm_75", { 75, 0 }, 1 },      { "sm_75", { 90, 'a' }, 1 },
		{ "sm_90", { 89, 0 }, 0 },     { "sm_90a", { 90, 'a' }, 1 },   { "sm_90a", { 90, 0 }, 0 },
		{ "sm_90a", { 100, 'a' }, 0 }, { "sm_100f", { 103, 0 }, 1 },   { "sm_100f", { 103, 'a' }, 1 },
		{ "sm_100f", { 120, 0 }, 0 },  { "sm_103f", { 100, 'f' }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct tcb_ptx_check_options options = { .target = rows[i].to };
		struct tcb_ptx_check_report report;
		struct seen seen;
		char text[200];
		snprintf(text, sizeof text,
			 ".version 9.0\n.target %s\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n",
			 rows[i].from);
		tcb_ptx_module_destroy(check(text, &options, &report, &seen));
		if (seen.rules[TCB_PTX_RULE_TARGET] != !rows[i].fits)
			fail_msg("%s on sm_%u: %s", rows[i].from, rows[i].to.sm, seen.message);
	}
}

static void what_the_verifier_finds_is_counted(void **state)
{
	const struct tcb_ptx_check_options options = { .launches = NULL };
	struct tcb_ptx_check_report report;
	struct seen seen;
	struct tcb_ptx_module *module = check(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n"
					      "	.reg .b32 %r<3>;\n	add.u32 %r1, %r2, 1;\n	ret;\n}\n",
					      &options, &report, &seen);

	(void)state;
	assert_int_equal(report.count[TCB_PTX_ERROR], 1);
	assert_int_equal(seen.rules[TCB_PTX_RULE_UNDEFINED], 1);
	tcb_ptx_module_destroy(module);
}

static const char race[] = ".version 7.8\n"
			   ".target sm_75\n"
			   ".address_size 64\n"
			   ".visible .entry k(.param .u64 p) %s\n"
			   "{\n"
			   "	.reg .b32 %%r<6>;\n"
			   "	.shared .align 4 .b8 s[4096];\n"
			   "	mov.u32 %%r1, %%tid.x;\n"
			   "	and.b32 %%r4, %%r1, 127;\n"
			   "	shl.b32 %%r4, %%r4, 2;\n"
			   "	mov.u32 %%r2, s;\n"
			   "	add.u32 %%r3, %%r2, %%r4;\n"
			   "	st.shared.u32 [%%r3], %%r1;\n"
			   "	ret;\n"
			   "}\n";

/* Threads 128 apart write the same word: an error in a block that is known to have them, a warning where the size is
 * assumed or only bounded, and nothing in smaller blocks. */
static void a_race_needs_the_threads(void **state)
{
	static const struct {
		const char *bounds;
		uint32_t block;
		int errors, warnings;
	} rows[] = {
		{ "", 256, 1, 0 },           { ".reqntid 256", 0, 1, 0 }, { "", 0, 0, 1 },
		{ ".maxntid 256", 0, 0, 1 }, { "", 128, 0, 0 },           { ".reqntid 128", 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct tcb_ptx_check_launch launch = { .block = { rows[i].block, 0, 0 } };
		const struct tcb_ptx_check_options options = { .launches = &launch, .launch_count = 1 };
		struct tcb_ptx_check_report report;
		struct seen seen;
		char text[1024];
		snprintf(text, sizeof text, race, rows[i].bounds);
		tcb_ptx_module_destroy(check(text, &options, &report, &seen));
		if ((int)report.count[TCB_PTX_ERROR] != rows[i].errors ||
		    (int)report.count[TCB_PTX_WARNING] != rows[i].warnings)
			fail_msg("'%s', block %u: %u errors, %u warnings, %s", rows[i].bounds, rows[i].block,
				 report.count[TCB_PTX_ERROR], report.count[TCB_PTX_WARNING], seen.message);
	}
}

/* SHAPE 0: one long block; 1: many small loops one after another; 2: many small functions. */
static double seconds_of(int shape, unsigned instructions)
{
	const struct tcb_ptx_check_options options = { .launches = NULL };
	struct tcb_ptx_check_report report;
	struct tcb_str text = { 0 };
	struct seen seen;
	clock_t start;

	tcb_str_add(&text, ".version 7.0\n.target sm_75\n.address_size 64\n");
	if (shape < 2)
		tcb_str_add(&text, ".visible .entry k()\n{\n\t.reg .b32 %r<9>;\n\t.reg .pred %p1;\n"
				   "	mov.u32 %r0, 0;\n	mov.u32 %r1, 0;\n");
	for (unsigned i = 0; i < instructions / 4; i++) {
		if (shape == 0)
			tcb_str_add(&text, "	add.u32 %r1, %r1, %r0;\n	mul.lo.u32 %r0, %r1, 3;\n"
					   "	xor.b32 %r1, %r0, %r1;\n	shl.b32 %r0, %r1, 1;\n");
		else if (shape == 1 && i % 8)
			tcb_str_add(&text, "	add.u32 %r0, %r0, %r1;\n	xor.b32 %r0, %r0, %r1;\n"
					   "	shl.b32 %r0, %r0, 1;\n	add.u32 %r0, %r0, 3;\n");
		else if (shape == 1)
			tcb_str_addf(&text,
				     "L%u:\n	add.u32 %%r1, %%r1, 1;\n	xor.b32 %%r0, %%r0, %%r1;\n"
				     "	setp.lt.u32 %%p1, %%r1, 8;\n	@%%p1 bra L%u;\n",
				     i, i);
		else
			tcb_str_addf(&text,
				     ".visible .entry k%u()\n{\n	.reg .b32 %%r<3>;\n	mov.u32 %%r1, 1;\n"
				     "	add.u32 %%r1, %%r1, 1;\n	add.u32 %%r1, %%r1, 1;\n	ret;\n}\n",
				     i);
	}
	if (shape < 2)
		tcb_str_add(&text, "	ret;\n}\n");
	start = clock(); /* of this process, whatever others have */
	tcb_ptx_module_destroy(check(text.data, &options, &report, &seen));
	tcb_str_fini(&text);
	return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void is_linear(void **state)
{
	(void)state;
	for (int shape = 0; shape < 3; shape++) {
		double few = seconds_of(shape, 1000), some = seconds_of(shape, 10000), many = seconds_of(shape, 100000);
		print_message("shape %d: %.0f, %.0f, %.0f ns an instruction for 1 k, 10 k, 100 k\n", shape, few * 1e6,
			      some * 1e5, many * 1e4);
		/* Ten times as much may take twice as long for each, as caches are left, but not ten times. */
		if (many > 40 * some && many > 1)
			fail_msg("not linear: %g s for 10 k instructions, %g s for 100 k", some, many);
	}
}

static void every_rule_has_a_name_and_a_help(void **state)
{
	(void)state;
	for (int i = 0; i < TCB_PTX_RULE_COUNT; i++) {
		const char *name = tcb_ptx_rule_name((enum tcb_ptx_rule)i);

		if (!tcb_ptx_rule_help((enum tcb_ptx_rule)i))
			fail_msg("finding_help.c has nothing about %s", name);
		assert_int_equal(tcb_ptx_rule_find(name, strlen(name)), i);
	}
	assert_int_equal(tcb_ptx_rule_find("shared-rac", 10), TCB_PTX_RULE_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures),
		cmocka_unit_test(launches),
		cmocka_unit_test(targets),
		cmocka_unit_test(what_the_verifier_finds_is_counted),
		cmocka_unit_test(a_race_needs_the_threads),
		cmocka_unit_test(is_linear),
		cmocka_unit_test(every_rule_has_a_name_and_a_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
