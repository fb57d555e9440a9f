/* SPDX-License-Identifier: MIT
 *
 * What the emulator counts, against figures known from the definition: banks and
 * sectors for strides, widths and offsets; instructions by class and by line;
 * divergent branches.
 */
#include "emu_bench.h"

/* One access of a warp: lane i at STRIDE bytes * i + OFFSET. */
static struct tcb_ptx_counts request(const char *access, unsigned stride, unsigned offset, unsigned threads)
{
	static uint32_t buffer[8192];
	struct tcb_ptx_counts counts;
	char text[800];
	struct emu_bench b;

	snprintf(text, sizeof text,
		 ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
		 ".reg .b32 %%r<9>; .reg .b64 %%d<9>; .reg .b16 %%h<3>; .shared .align 128 .b8 tile[16384];\n"
		 "ld.param.u64 %%d1, [p]; mov.u32 %%r1, %%tid.x; mul.lo.u32 %%r2, %%r1, %u; add.u32 %%r2, %%r2, %u;\n"
		 "cvt.u64.u32 %%d2, %%r2; add.u64 %%d1, %%d1, %%d2; mov.u32 %%r3, tile; add.u32 %%r3, %%r3, %%r2;\n"
		 "mov.u32 %%r4, 0; mov.u32 %%r5, 0; mov.u32 %%r6, 0; mov.u32 %%r7, 0; mov.u64 %%d3, 0; mov.u16 %%h1, "
		 "0;\n%s\nret;\n}\n",
		 stride, offset, access);
	emu_open(&b, text, "k", threads);
	emu_buffer(&b, "p", buffer, sizeof buffer, TCB_PTX_MAY_WRITE);
	emu_run(&b);
	assert_int_equal(b.errors, b.found[TCB_PTX_RULE_RACE] + b.found[TCB_PTX_RULE_UNWRITTEN_SHARED]);
	counts = b.out.by_ins[b.out.ins_count - 2];
	assert_int_equal(counts.requests, 1);
	assert_int_equal(counts.threads, threads);
	emu_close(&b);
	return counts;
}

static void wavefronts(void **state)
{
	static const struct {
		const char *access;
		unsigned stride, offset, threads, wavefronts, ideal;
	} rows[] = {
		{ "st.shared.u32 [%r3], %r4;", 4, 0, 32, 1, 1 },
		{ "st.shared.u32 [%r3], %r4;", 8, 0, 32, 2, 1 },
		{ "st.shared.u32 [%r3], %r4;", 16, 0, 32, 4, 1 },
		{ "st.shared.u32 [%r3], %r4;", 128, 0, 32, 32, 1 },
		{ "st.shared.u32 [%r3], %r4;", 132, 0, 32, 1, 1 },
		{ "ld.shared.u32 %r4, [%r3];", 0, 64, 32, 1, 1 },
		{ "st.shared.u32 [%r3], %r4;", 256, 4, 7, 7, 1 },
		{ "st.shared.u8 [%r3], %r4;", 1, 0, 32, 1, 1 },
		{ "st.shared.u16 [%r3], %h1;", 128, 2, 32, 32, 1 },
		{ "st.shared.v2.u32 [%r3], {%r4, %r5};", 8, 0, 32, 2, 2 },
		{ "st.shared.u64 [%r3], %d3;", 128, 0, 32, 32, 2 },
		{ "st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};", 16, 0, 32, 4, 4 },
		/* one address: a store takes all its turns, a load half as many */
		{ "st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};", 0, 0, 32, 4, 4 },
		{ "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];", 0, 0, 32, 2, 2 },
		{ "ld.shared.v2.u32 {%r4, %r5}, [%r3];", 0, 0, 32, 1, 1 },
		{ "ld.shared.v2.u32 {%r4, %r5}, [%r3];", 8, 0, 32, 2, 2 },
		{ "st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};", 128, 0, 32, 32, 4 },
		{ "st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};", 144, 0, 32, 4, 4 },
		{ "st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};", 16, 0, 9, 2, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct tcb_ptx_counts c = request(rows[i].access, rows[i].stride, rows[i].offset, rows[i].threads);

		assert_int_equal(c.wavefronts, rows[i].wavefronts);
		assert_int_equal(c.wavefronts_ideal, rows[i].ideal);
		assert_int_equal(c.sectors, 0);
	}
}

static void sectors(void **state)
{
	/* buffers begin at an odd multiple of 256 */
	static const struct {
		const char *access;
		unsigned stride, offset, threads, sectors, ideal;
	} rows[] = {
		{ "ld.global.u32 %r4, [%d1];", 4, 0, 32, 4, 4 },
		{ "ld.global.u32 %r4, [%d1];", 4, 4, 32, 5, 4 },
		{ "ld.global.u32 %r4, [%d1];", 8, 0, 32, 8, 4 },
		{ "ld.global.u32 %r4, [%d1];", 32, 0, 32, 32, 4 },
		{ "ld.global.u32 %r4, [%d1];", 128, 28, 32, 32, 4 },
		{ "ld.global.u32 %r4, [%d1];", 0, 0, 32, 1, 1 },
		{ "ld.global.u8 %r4, [%d1];", 1, 0, 32, 1, 1 },
		{ "ld.global.u8 %r4, [%d1];", 1, 31, 32, 2, 1 },
		{ "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d1];", 16, 0, 32, 16, 16 },
		{ "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d1];", 16, 16, 32, 17, 16 },
		{ "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%d1];", 64, 0, 5, 5, 3 },
		{ "st.global.u32 [%d1], %r4;", 4, 0, 9, 2, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct tcb_ptx_counts c = request(rows[i].access, rows[i].stride, rows[i].offset, rows[i].threads);

		assert_int_equal(c.sectors, rows[i].sectors);
		assert_int_equal(c.sectors_ideal, rows[i].ideal);
		assert_int_equal(c.wavefronts, 0);
	}
}

static void classes(void **state)
{
	static const char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
		".reg .b32 %r<9>; .reg .f32 %f<4>; .reg .b64 %d<9>; .reg .pred %p<3>; .shared .b32 word;\n"
		"mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; mul.f32 %f2, %f1, %f1; add.u32 %r2, %r1, 1;\n"
		"setp.lt.u32 %p1, %r1, 40; @%p1 bra L; add.u32 %r2, %r2, 1; L: bar.sync 0;\n"
		"shfl.sync.bfly.b32 %r3, %r2, 1, 31, 0xffffffff; @%p1 red.shared.add.u32 [word], %r3;\n"
		"ret;\n}\n";
	struct emu_bench b;

	(void)state;
	emu_open(&b, text, "k", 64);
	emu_param(&b, "\0\0\0\0\0\0\0", 8);
	emu_run(&b);
	assert_int_equal(b.out.by_class[TCB_PTX_COUNT_OTHER], 2); /* mov */
	assert_int_equal(b.out.by_class[TCB_PTX_COUNT_CONVERT], 2);
	assert_int_equal(b.out.by_class[TCB_PTX_COUNT_FLOAT], 2);
	assert_int_equal(b.out.by_class[TCB_PTX_COUNT_INTEGER], 5); /* one add by the second warp alone */
	assert_int_equal(b.out.by_class[TCB_PTX_COUNT_BARRIER], 2);
	assert_int_equal(b.out.by_class[TCB_PTX_COUNT_SHUFFLE], 2);
	assert_int_equal(b.out.by_class[TCB_PTX_COUNT_ATOMIC], 2);
	assert_int_equal(b.out.by_class[TCB_PTX_COUNT_CONTROL], 4);
	assert_int_equal(b.out.total.divergent, 1); /* 40 is within the second warp */
	assert_int_equal(b.out.total.warps, 21);
	assert_int_equal(b.out.by_ins[6].threads, 24);
	assert_int_equal(b.out.by_ins[9].threads, 40);
	emu_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wavefronts),
		cmocka_unit_test(sectors),
		cmocka_unit_test(classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
