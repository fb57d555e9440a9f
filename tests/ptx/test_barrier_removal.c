/* SPDX-License-Identifier: MIT
 *
 * Barrier removal, judged by the emulator: the same results and no race with
 * the barriers that it takes away gone; a race where one that it keeps goes,
 * too.  On kernels with known answers and on random ones.
 */
#include "hazard_cases.h"
#include "ptx_tools.h"
#include "run_kernel.h"

#include "ptx/ir/opcodes.h"
#include "ptx/optimise/passes.h"
#include "ptx/text/text.h"

enum { THREADS = 256, N = 4 };

static struct tcb_ptx_module *parse(const char *text)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;

	if (tcb_ptx_parse("test", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s\n%s", err.message, text);
	return module;
}

/* Takes the barrier N away; 0 when there are fewer. */
static int remove_barrier(struct tcb_ptx_function *f, unsigned n)
{
	struct tcb_error err;

	for (struct tcb_ptx_block *block = f->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if ((ins->op == TCB_PTX_OP_BAR_SYNC || ins->op == TCB_PTX_OP_BARRIER_SYNC) && n-- == 0) {
				tcb_ptx_ins_remove(ins);
				assert_int_equal(tcb_ptx_cfg(f, &err), TCB_OK);
				tcb_ptx_number(f);
				return 1;
			}
	return 0;
}

static unsigned optimise(struct tcb_ptx_function *f)
{
	struct tcb_ptx_pass_options options;
	struct tcb_error err;
	unsigned changed, again;

	tcb_ptx_pass_defaults(&options);
	if (tcb_ptx_barrier_removal(f, &options, &changed, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_ptx_barrier_removal(f, &options, &again, &err), TCB_OK);
	assert_int_equal(again, 0);
	assert_int_equal(tcb_ptx_cfg(f, &err), TCB_OK);
	tcb_ptx_number(f);
	return changed;
}

static const struct {
	const char *name, *text;
	unsigned barriers, redundant;
	int race;
} cases[] = {
#define CASE_ROW(name, barriers, redundant, race, body) { #name, HAZARD_KERNEL(body), barriers, redundant, race },
	HAZARD_CASES(CASE_ROW)
#undef CASE_ROW
};

static void known_kernels(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tcb_ptx_module *module = parse(cases[i].text);
		struct kernel_run before = { 0 }, after = { 0 };
		unsigned removed;

		if (strcmp(cases[i].name, "half_the_block") == 0) { /* waits for n threads only: cannot run */
			assert_int_equal(optimise(module->functions), cases[i].redundant);
			tcb_ptx_module_destroy(module);
			continue;
		}
		run_kernel(module->functions, THREADS, N, 0, &before);
		if (before.races || before.others)
			fail_msg("%s, as it is: %s", cases[i].name, before.last);
		removed = optimise(module->functions);
		if (removed != cases[i].redundant)
			fail_msg("%s: %u removed, not %u", cases[i].name, removed, cases[i].redundant);
		for (uint64_t seed = 0; seed < 3; seed++) {
			run_kernel(module->functions, THREADS, N, seed, &after);
			if (after.races || after.others)
				fail_msg("%s, with %u removed: %s", cases[i].name, removed, after.last);
			assert_memory_equal(before.out, after.out, sizeof before.out);
		}
		/* negative control: with the rest gone, too, the emulator sees the race */
		while (remove_barrier(module->functions, 0))
			;
		run_kernel(module->functions, THREADS, N, 0, &after);
		if (cases[i].race && !after.races)
			fail_msg("%s without barriers: no race seen", cases[i].name);
		tcb_ptx_module_destroy(module);
	}
}

/* What lies in Tensor Memory is no access that is followed: barriers around it stay. */
static void tensor_memory(void **state)
{
	char *text = ptx_read(TCB_SOURCE_DIR "/tests/ptx/judged/tensor_product.ptx");
	struct tcb_ptx_module *module;

	(void)state;
	assert_non_null(text);
	module = parse(text);
	assert_int_equal(optimise(module->functions), 0);
	tcb_ptx_module_destroy(module);
	free(text);
}

/* --- random kernels --- */

/* Accesses of two arrays at permutations of the threads, at places that move with the rounds of a loop, and in one of
 * two stages; and barriers. */
static void random_ops(struct tcb_rng *rng, struct tcb_str *out, unsigned ops, int in_loop)
{
	/* tile: own, mirrored; other: own, mirrored; neighbours of each; two stages; a row per round: own, mirrored,
	 * mirrored in the next row */
	static const char *const where[] = { "%r4",  "%r6",  "%r7",  "%r8",  "%r12", "%r13", "%r17",
					     "%r18", "%r16", "%r21", "%r22", "%r16", "%r22" };

	for (unsigned i = 0; i < ops; i++) {
		unsigned how = (unsigned)tcb_rng_below(rng, 8);
		const char *at = where[in_loop ? 4 + tcb_rng_below(rng, 9) : tcb_rng_below(rng, 6)];

		if (how < 3)
			tcb_str_add(out, "\tbar.sync 0;\n");
		else if (how < 5)
			tcb_str_addf(out, "\tadd.u32 %%r10, %%r1, %u;\n\tst.shared.u32 [%s], %%r10;\n", i, at);
		else
			tcb_str_addf(out, "\tld.shared.u32 %%r10, [%s];\n\tmad.lo.u32 %%r9, %%r9, 3, %%r10;\n", at);
	}
}

/* Some operations, a loop of N rounds with a smaller one inside or none, some more. */
static void random_body(struct tcb_rng *rng, struct tcb_str *out)
{
	random_ops(rng, out, (unsigned)tcb_rng_below(rng, 4), 0);
	if (tcb_rng_below(rng, 4)) {
		tcb_str_add(out, "LOOP:\n"
				 "\tand.b32 %r19, %r11, 1;\n"
				 "\tmad.lo.u32 %r16, %r11, 1024, %r4;\n"
				 "\tmad.lo.u32 %r17, %r19, 1024, %r4;\n"
				 "\txor.b32 %r19, %r19, 1;\n"
				 "\tmad.lo.u32 %r18, %r19, 1024, %r6;\n"
				 "\tmad.lo.u32 %r21, %r11, 1024, %r6;\n\tadd.u32 %r22, %r21, 1024;\n");
		random_ops(rng, out, 1 + (unsigned)tcb_rng_below(rng, 5), 1);
		if (tcb_rng_below(rng, 3) == 0) {
			tcb_str_add(out, "\tmov.u32 %r20, 0;\nINNER:\n");
			random_ops(rng, out, 1 + (unsigned)tcb_rng_below(rng, 3), 1);
			tcb_str_add(out, "\tadd.u32 %r20, %r20, 1;\n\tsetp.lt.u32 %p1, %r20, 2;\n\t@%p1 bra INNER;\n");
		}
		tcb_str_add(out, "\tadd.u32 %r11, %r11, 1;\n\tsetp.lt.u32 %p0, %r11, %r0;\n\t@%p0 bra LOOP;\n");
	}
	random_ops(rng, out, (unsigned)tcb_rng_below(rng, 4), 0);
}

static void write_random(struct tcb_rng *rng, struct tcb_str *out)
{
	const char *frame = HAZARD_KERNEL("\txor.b32 %r14, %r1, 1;\n\tmad.lo.u32 %r12, %r14, 4, %r2;\n"
					  "\txor.b32 %r14, %r1, 64;\n\tmad.lo.u32 %r13, %r14, 4, %r3;\n"
					  "\tst.shared.u32 [%r4], %r1;\n\tst.shared.u32 [%r7], %r1;\n"
					  "\tst.shared.u32 [%r4+1024], %r1;\n\tst.shared.u32 [%r4+2048], %r1;\n"
					  "\tst.shared.u32 [%r4+3072], %r1;\n\tst.shared.u32 [%r4+4096], %r1;\n"
					  "\tbar.sync 0;\n@");
	const char *cut = strchr(frame, '@');

	tcb_str_addf(out, "%.*s", (int)(cut - frame), frame);
	random_body(rng, out);
	tcb_str_add(out, cut + 1);
}

static void random_kernels(void **state)
{
	unsigned clean = 0, removed = 0, kept = 0, needed = 0;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 21);
	for (unsigned round = 0; round < 1500; round++) {
		struct tcb_str text = { 0 }, thin = { 0 };
		struct tcb_ptx_module *module;
		struct kernel_run before = { 0 }, after = { 0 };

		write_random(&rng, &text);
		module = parse(text.data);
		run_kernel(module->functions, THREADS, N, 0, &before);
		assert_int_equal(before.others, 0);
		if (before.races) {
			tcb_ptx_module_destroy(module);
			tcb_str_fini(&text);
			continue;
		}
		clean++;
		removed += optimise(module->functions);
		run_kernel(module->functions, THREADS, N, round, &after);
		if (after.races || after.others || memcmp(before.out, after.out, sizeof before.out) != 0) {
			tcb_ptx_print(module, &thin);
			fail_msg("%s\n%s\nafter:\n%s", after.last, text.data, thin.data);
		}
		tcb_ptx_print(module, &thin);
		tcb_ptx_module_destroy(module);
		/* each barrier that is left, taken away alone */
		for (unsigned n = 0;; n++) {
			module = parse(thin.data);
			if (!remove_barrier(module->functions, n)) {
				tcb_ptx_module_destroy(module);
				break;
			}
			run_kernel(module->functions, THREADS, N, 0, &after);
			kept++;
			needed += after.races > 0;
			tcb_ptx_module_destroy(module);
		}
		tcb_str_fini(&text);
		tcb_str_fini(&thin);
	}
	print_message("%u kernels without races: %u barriers removed, %u kept, of which %u are needed\n", clean,
		      removed, kept, needed);
	assert_true(clean > 100 && removed > 100 && needed * 10 > kept * 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_kernels),
		cmocka_unit_test(tensor_memory),
		cmocka_unit_test(random_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
