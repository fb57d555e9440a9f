/* SPDX-License-Identifier: MIT
 *
 * Alignment: accesses with the finding marked in the text beside ones that are
 * right; what pointers from outside are supposed to be; what is stored of
 * registers; and random address arithmetic, where no thread may ever see a
 * value that is not a multiple of what was proved.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/findings.h"
#include "ptx/random_cfg.h"
#include "ptx/thread_run.h"

/* %rd0 is the pointer PARAM, %rd1 a 64-bit number, %r0 a 32-bit one, %r1 tid.x; s 1 KiB of shared memory aligned to 16.
 */
static void check(const char *pointer, const char *body)
{
	struct tcb_str text = { 0 };

	tcb_str_addf(&text,
		     ".version 8.0\n.target sm_90\n.address_size 64\n"
		     ".visible .entry k(.param .u64 %s in, .param .u64 size, .param .u32 n)\n{\n"
		     "\t.reg .b32 %%r<30>;\n\t.reg .b64 %%rd<20>;\n\t.reg .f32 %%f<9>;\n\t.reg .pred %%p<9>;\n"
		     "\t.shared .align 16 .b8 s[1024];\n\tld.param.u64 %%rd0, [in];\n\tld.param.u64 %%rd1, [size];\n"
		     "\tld.param.u32 %%r0, [n];\n\tmov.u32 %%r1, %%tid.x;\n%s\tret;\n}\n",
		     pointer, body);
	check_marks(text.data);
	tcb_str_fini(&text);
}

#define V4 "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, "

static void offsets_from_a_pointer(void **state)
{
	(void)state;
	check("", "\t" V4 "[%rd0];\n\t" V4 "[%rd0+16];\n\t" V4 "[%rd0+20]; // ! misaligned\n");
	check("", "\tcvta.to.global.u64 %rd2, %rd0;\n\tmul.wide.u32 %rd3, %r1, 16;\n\tadd.s64 %rd4, %rd2, %rd3;\n\t" V4
		  "[%rd4];\n\t" V4 "[%rd4+8]; // ! misaligned\n");
	check("", "\tmul.wide.u32 %rd3, %r1, 4;\n\tadd.s64 %rd4, %rd0, %rd3;\n\t" V4 "[%rd4]; // ! alignment-unproved\n"
		  "\tld.global.f32 %f0, [%rd4];\n\tld.global.f32 %f0, [%rd4+2]; // ! misaligned\n");
	check("", "\tshl.b32 %r2, %r1, 2;\n\tmul.lo.s32 %r3, %r2, %r0;\n\tmul.wide.s32 %rd3, %r3, 4;\n"
		  "\tadd.s64 %rd4, %rd3, %rd0;\n\t" V4 "[%rd4];\n");
	check("", "\tand.b32 %r2, %r1, -4;\n\tmad.wide.s32 %rd4, %r2, 4, %rd0;\n\t" V4 "[%rd4];\n"
		  "\tor.b32 %r3, %r2, 2;\n\tmad.wide.s32 %rd5, %r3, 4, %rd0;\n\t" V4 "[%rd5]; // ! misaligned\n");
	/* absolute addresses, and a scalar that nobody can follow */
	check("", "\tmov.b64 %rd5, 4104;\n\t" V4 "[%rd5]; // ! misaligned\n\tadd.s64 %rd6, %rd0, %rd1;\n"
		  "\tld.global.f32 %f0, [%rd6];\n");
}

static void what_pointers_are_supposed_to_be(void **state)
{
	(void)state;
	/* what is stated counts, 1 is nvcc's way of saying nothing */
	check(".ptr .global .align 16", "\t" V4 "[%rd0];\n");
	check(".ptr .global .align 4", "\t" V4 "[%rd0]; // ! alignment-unproved\n");
	check(".ptr .align 1", "\t" V4 "[%rd0];\n");
	/* a number of bytes is no pointer: beside one that is, and beside one that may be */
	check("", "\tcvta.to.global.u64 %rd2, %rd0;\n\tadd.s64 %rd3, %rd2, %rd1;\n\t" V4
		  "[%rd3]; // ! alignment-unproved\n");
	check("", "\tadd.s64 %rd3, %rd0, %rd1;\n\t" V4 "[%rd3]; // ! alignment-unproved\n");
	check("", "\tshl.b64 %rd4, %rd1, 4;\n\tadd.s64 %rd3, %rd0, %rd4;\n\t" V4 "[%rd3];\n");
	check("",
	      "\tmul.lo.s64 %rd4, %rd1, 12;\n\tadd.s64 %rd3, %rd0, %rd4;\n\t" V4 "[%rd3]; // ! alignment-unproved\n");
	/* a pointer out of memory */
	check("", "\tld.global.u64 %rd2, [%rd0];\n\t" V4 "[%rd2];\n");
}

static void shared_memory_and_instructions(void **state)
{
	(void)state;
	check("", "\tmov.u32 %r2, s;\n\tshl.b32 %r3, %r1, 4;\n\tadd.s32 %r4, %r2, %r3;\n"
		  "\tst.shared.v4.f32 [%r4], {%f0, %f1, %f2, %f3};\n"
		  "\tst.shared.v2.f32 [%r4+4], {%f0, %f1}; // ! misaligned\n"
		  "\tmad.lo.s32 %r5, %r1, 132, %r2;\n\tst.shared.v4.f32 [%r5], {%f0, %f1, %f2, %f3}; // ! "
		  "alignment-unproved\n"
		  "\tcp.async.cg.shared.global [%r4], [%rd0], 16;\n"
		  "\tcp.async.cg.shared.global [%r4+8], [%rd0], 16; // ! misaligned\n"
		  "\tcp.async.ca.shared.global [%r5], [%rd0+4], 4;\n"
		  "\tldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r4];\n"
		  "\tldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r5]; // ! alignment-unproved\n"
		  "\tatom.shared.add.u32 %r7, [%r4+2], 1; // ! misaligned\n"
		  "\tmbarrier.init.shared.b64 [s+8], 1;\n\tmbarrier.init.shared.b64 [%r4+4], 1; // ! misaligned\n");
}

static void pointers_that_loops_move(void **state)
{
	(void)state;
	check("",
	      "\tmov.b64 %rd2, %rd0;\nL:\n\t" V4 "[%rd2];\n\tadd.s64 %rd2, %rd2, 512;\n\tsetp.lt.u64 %p0, %rd2, %rd1;\n"
	      "\t@%p0 bra L;\n");
	check("", "\tmov.b64 %rd2, %rd0;\nL:\n\t" V4 "[%rd2]; // ! alignment-unproved\n\tadd.s64 %rd2, %rd2, 8;\n"
		  "\tsetp.lt.u64 %p0, %rd2, %rd1;\n\t@%p0 bra L;\n");
	check("", "\tadd.s64 %rd2, %rd0, 4;\nL:\n\t" V4 "[%rd2]; // ! misaligned\n\tadd.s64 %rd2, %rd2, 64;\n"
		  "\tsetp.lt.u64 %p0, %rd2, %rd1;\n\t@%p0 bra L;\n");
	check("", "\tmov.b64 %rd2, %rd0;\n\tsetp.eq.u32 %p1, %r1, 0;\n\t@%p1 add.s64 %rd2, %rd2, 8;\n\t" V4
		  "[%rd2]; // ! alignment-unproved\n");
}

static void what_is_proved_is_stored(void **state)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in)\n{\n"
		"\t.reg .b32 %r<5>;\n\t.reg .b64 %rd<3>;\n\t.reg .f32 %f<4>;\n"
		"\tld.param.u64 %rd0, [in];\n\tmov.u32 %r0, %tid.x;\n\tshl.b32 %r1, %r0, 5;\n"
		"\tor.b32 %r2, %r1, 4;\n\tld.global.f32 %f0, [%rd0];\n\tret;\n}\n";
	static struct findings found;
	struct tcb_ptx_module *module;
	struct tcb_ptx_function *f;

	(void)state;
	assert_int_equal(tcb_ptx_parse("text", text, strlen(text), &module, NULL), TCB_OK);
	f = module->functions;
	find_all(f, &found);
	assert_int_equal(f->regs[0].align, 0); /* tid.x */
	assert_int_equal(f->regs[1].align, 32);
	assert_int_equal(f->regs[2].align, 4);
	assert_int_equal(f->regs[5].align, 256); /* the pointer */
	assert_int_equal(f->regs[6].align, 0);   /* never written */
	find_all(f, &found);                     /* again: the same */
	assert_int_equal(f->regs[2].align, 4);
	tcb_ptx_module_destroy(module);
}

/* --- random address arithmetic --- */

enum { WORDS = 6, LONGS = 5 };

static unsigned any(struct tcb_rng *rng, unsigned bound)
{
	return (unsigned)tcb_rng_below(rng, bound);
}

static void random_addresses(struct tcb_rng *rng, struct tcb_str *out)
{
	static const char *const ops[] = {
		"add.s32", "sub.s32", "mul.lo.s32", "and.b32", "or.b32", "xor.b32", "shl.b32"
	};

	tcb_str_addf(out,
		     ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 in)\n{\n"
		     "\t.reg .b32 %%r<%d>;\n\t.reg .b64 %%rd<%d>;\n\t.reg .pred %%p<2>;\n\tmov.u32 %%r0, %%tid.x;\n"
		     "\tmov.u32 %%r1, %%ctaid.x;\n\tmov.b32 %%r2, %u;\n\tshl.b32 %%r3, %%r0, %u;\n"
		     "\tmul.lo.s32 %%r4, %%r1, %u;\n\tadd.s32 %%r5, %%r3, %u;\n\tsetp.lt.u32 %%p0, %%r0, 9;\n"
		     "\tmul.wide.u32 %%rd0, %%r3, 4;\n\tmul.wide.u32 %%rd1, %%r4, 16;\n\tmov.b64 %%rd2, 4096;\n"
		     "\tadd.s64 %%rd3, %%rd0, %%rd1;\n\tmov.b64 %%rd4, %%rd2;\n\tmov.b32 %%r2, 0;\nL:\n",
		     WORDS, LONGS, any(rng, 64), any(rng, 6), 4 * any(rng, 9), 8 * any(rng, 9));
	for (unsigned i = 0; i < 8; i++) {
		unsigned d = any(rng, LONGS), a = any(rng, LONGS), b = any(rng, LONGS), r = any(rng, WORDS);

		switch (any(rng, 6)) {
		case 0:
			tcb_str_addf(out, "\tadd.s64 %%rd%u, %%rd%u, %%rd%u;\n", d, a, b);
			break;
		case 1:
			tcb_str_addf(out, "\tadd.s64 %%rd%u, %%rd%u, %u;\n", d, a, 4u << any(rng, 6));
			break;
		case 2:
			tcb_str_addf(out, "\tmad.wide.s32 %%rd%u, %%r%u, %u, %%rd%u;\n", d, r, 2u << any(rng, 5), a);
			break;
		case 3:
			tcb_str_addf(out, "\t@%%p0 sub.s64 %%rd%u, %%rd%u, %u;\n", d, a, 16 * any(rng, 9));
			break;
		default:
			tcb_str_addf(out, "\t%s %%r%u, %%r%u, %u;\n", ops[any(rng, 7)], 3 + any(rng, 3), r,
				     any(rng, 34));
		}
	}
	tcb_str_add(out, "\tadd.s32 %r2, %r2, 8;\n\tsetp.lt.u32 %p1, %r2, 24;\n\t@%p1 bra L;\n\tret;\n}\n");
}

struct watch {
	const struct tcb_ptx_function *function;
	const char *text;
	unsigned checked;
};

static void watch_align(void *ctx, const struct thread *thread, const struct tcb_ptx_ins *ins)
{
	struct watch *watch = ctx;

	(void)ins;
	for (uint32_t r = 0; r < watch->function->reg_count; r++) {
		uint32_t align = watch->function->regs[r].align;

		if (!(thread->written >> r & 1) || !align)
			continue;
		watch->checked++;
		if (thread->reg[r] & (align - 1)) {
			fputs(watch->text, stderr);
			fail_msg("register %u was %llx, no multiple of %u", r, (unsigned long long)thread->reg[r],
				 align);
		}
	}
}

static void random_addresses_are_multiples(void **state)
{
	static struct findings found;
	struct watch watch = { NULL, NULL, 0 };
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 5);
	for (unsigned round = 0; round < 600; round++) {
		struct tcb_str text = { 0 };
		struct tcb_ptx_module *module;

		random_addresses(&rng, &text);
		module = random_parse(&text);
		found.count = 0;
		find_all(module->functions, &found);
		watch.function = module->functions;
		watch.text = text.data;
		for (uint32_t tid = 0; tid < 40; tid += 3) {
			struct thread t = { .tid = { tid, 0, 0 }, .ntid = { 64, 1, 1 }, .ctaid = tid % 7 };

			t.see = watch_align;
			t.ctx = &watch;
			assert_true(thread_run(&t, module->functions, 500));
		}
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
	print_message("%u values were multiples of what was proved\n", watch.checked);
	assert_true(watch.checked > 100000);
}

static void time_grows_with_the_text(void **state)
{
	(void)state;
	for (unsigned shape = 0; shape < BIG_SHAPES; shape++) {
		static struct findings found;
		const struct tcb_ptx_sink sink = { see_finding, &found };
		struct tcb_str text = { 0 };
		struct tcb_ptx_module *module;
		double seconds;

		big_function((enum big_shape)shape, 100000, &text);
		module = random_parse(&text);
		seconds = cpu_seconds();
		assert_int_equal(tcb_ptx_alignment(module->functions, &sink, NULL), TCB_OK);
		seconds = cpu_seconds() - seconds;
		print_message("shape %u: %.3f s\n", shape, seconds);
		assert_true(seconds < 1);
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_from_a_pointer),         cmocka_unit_test(what_pointers_are_supposed_to_be),
		cmocka_unit_test(shared_memory_and_instructions), cmocka_unit_test(pointers_that_loops_move),
		cmocka_unit_test(what_is_proved_is_stored),       cmocka_unit_test(random_addresses_are_multiples),
		cmocka_unit_test(time_grows_with_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
