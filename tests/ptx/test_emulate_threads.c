/* SPDX-License-Identifier: MIT
 *
 * A launch is the same for any number of host threads: what memory holds, what
 * was counted, and which findings came in which order.  And blocks that wait for
 * later ones are given them.
 */
#include "emu_bench.h"
#include "ptx/emulate/emu_program.h"

enum { ELEMENTS = 4096, FINDINGS = 32 };

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q)\n{\n"
/* r1: the thread, r2: the block, r3: the thread among all; d1, d2: the buffers; d3, d4: this thread's elements */
#define PLACES                                                                                              \
	HEAD "	.reg .f32 %f<9>; .reg .b32 %r<19>; .reg .b64 %d<9>; .reg .pred %p<9>;\n"                     \
	     "	.shared .align 4 .u32 tile[64];\n"                                                           \
	     "	ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n" \
	     "	mov.u32 %r4, %ntid.x; mad.lo.u32 %r3, %r2, %r4, %r1; mul.wide.u32 %d5, %r3, 4;\n"            \
	     "	add.u64 %d3, %d1, %d5; add.u64 %d4, %d2, %d5; mov.u32 %r10, tile; shl.b32 %r11, %r1, 2;\n"   \
	     "	add.u32 %r10, %r10, %r11;\n"

/* The results of one launch. */
struct result {
	uint32_t memory[ELEMENTS];
	struct tcb_ptx_emulation counts;
	struct tcb_ptx_counts by_ins[64];
	char findings[FINDINGS][420];
	unsigned found, errors;
};

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct result *result = ctx;

	assert_true(result->found < FINDINGS);
	snprintf(result->findings[result->found++], sizeof result->findings[0], "%u %d %s", finding->line,
		 (int)finding->severity, finding->message);
	result->errors += finding->severity == TCB_PTX_ERROR;
}

static uint64_t step_limit = 1u << 24;
static int was_done_by_one; /* though there were several threads */

static void launch(const char *text, unsigned blocks, uint64_t seed, unsigned threads, struct result *out)
{
	static uint32_t in[ELEMENTS];
	struct emu_bench b;

	memset(out, 0, sizeof *out);
	for (uint32_t i = 0; i < ELEMENTS; i++)
		in[i] = i * 2654435761u >> 20;
	emu_open(&b, text, "k", 64);
	b.sink = (struct tcb_ptx_sink){ see, out };
	b.launch.grid[0] = blocks;
	b.launch.seed = seed;
	b.launch.threads = threads;
	b.launch.step_limit = step_limit;
	emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out->memory, sizeof out->memory, TCB_PTX_MAY_WRITE);
	emu_run(&b);
	was_done_by_one = b.program->clusters_depend;
	out->counts = b.out;
	assert_true(b.out.ins_count <= 64);
	memcpy(out->by_ins, b.out.by_ins, b.out.ins_count * sizeof *out->by_ins);
	out->counts.by_ins = NULL;
	emu_close(&b);
}

/* Runs TEXT by one thread, which is left in ONE, and by more, which must be the same. */
static void hold(const char *text, unsigned blocks, struct result *one)
{
	static struct result many;

	for (uint64_t seed = 0; seed < 3; seed++) {
		launch(text, blocks, seed, 1, one);
		for (unsigned threads = 2; threads <= 8; threads += 3) {
			launch(text, blocks, seed, threads, &many);
			assert_int_equal(many.found, one->found);
			for (unsigned i = 0; i < one->found; i++)
				assert_string_equal(many.findings[i], one->findings[i]);
			assert_memory_equal(&many, one, sizeof many);
		}
	}
}

static void hold_clean(const char *text, unsigned blocks, struct result *one)
{
	hold(text, blocks, one);
	if (one->found)
		fail_msg("%s", one->findings[0]);
}

static struct result one;

static void test_independent_blocks(void **state)
{
	(void)state;
	hold_clean(PLACES "	ld.global.u32 %r5, [%d3]; add.u32 %r5, %r5, %r2; st.shared.u32 [%r10], %r5;\n"
			  "	bar.sync 0; xor.b32 %r6, %r10, 128; ld.shared.u32 %r7, [%r6];\n"
			  "	st.global.u32 [%d4], %r7; ret;\n}\n",
		   ELEMENTS / 64, &one);
	assert_false(was_done_by_one);
	assert_int_equal(one.memory[64], (96u * 2654435761u >> 20) + 1);
}

/* Whoever comes last, sums and maxima are the same; so these run at once. */
static void test_reductions(void **state)
{
	uint32_t sum = 0;

	(void)state;
	hold_clean(PLACES
		   "	ld.global.u32 %r5, [%d3]; and.b32 %r6, %r5, 15; mul.wide.u32 %d6, %r6, 4;\n"
		   "	add.u64 %d6, %d2, %d6; red.global.add.u32 [%d6], %r5;\n"
		   "	atom.global.max.u32 %r7, [%d2+64], %r5; atom.global.add.u64 %d7, [%d2+72], 1; ret;\n}\n",
		   ELEMENTS / 64, &one);
	assert_false(was_done_by_one);
	for (unsigned i = 0; i < 16; i++)
		sum += one.memory[i];
	for (uint32_t i = 0; i < ELEMENTS; i++)
		sum -= i * 2654435761u >> 20;
	assert_int_equal(sum, 0);
	assert_int_equal(one.memory[18], ELEMENTS);
}

/* Numbers that blocks draw, and sums of reals: as one thread has them. */
static void test_order_that_shows(void **state)
{
	(void)state;
	hold_clean(PLACES "	atom.global.add.u32 %r5, [%d2], 1; add.u32 %r6, %r5, 64; mul.wide.u32 %d6, %r6, 4;\n"
			  "	add.u64 %d6, %d2, %d6; st.global.u32 [%d6], %r3; ret;\n}\n",
		   32, &one);
	assert_true(was_done_by_one);
	assert_int_equal(one.memory[0], 2048);
	hold_clean(PLACES "	cvt.rn.f32.u32 %f1, %r3; rcp.rn.f32 %f1, %f1; red.global.add.f32 [%d2], %f1; ret;\n}\n",
		   32, &one);
	hold_clean(PLACES "	mov.u32 %r5, %clock; st.global.u32 [%d4], %r5; ret;\n}\n", 16, &one);
}

static void test_findings(void **state)
{
	(void)state;
	/* in blocks from the third on, by another instruction in even ones */
	hold(PLACES "	setp.lt.u32 %p1, %r2, 3; @%p1 ret; and.b32 %r5, %r2, 1; setp.eq.u32 %p2, %r5, 0;\n"
		    "	st.shared.u32 [%r10], %r1; @%p2 st.shared.u32 [tile], %r1;\n"
		    "	@!%p2 st.shared.u32 [tile+4], %r1; ret;\n}\n",
	     32, &one);
	assert_true(one.errors >= 2);
	assert_non_null(strstr(one.findings[0], "block (3,0,0)"));
	assert_false(was_done_by_one);
	/* from one block to another */
	hold(PLACES "	shr.u32 %r5, %r2, 1; mul.wide.u32 %d6, %r5, 4; add.u64 %d6, %d2, %d6;\n"
		    "	st.global.u32 [%d6], %r3; ret;\n}\n",
	     8, &one);
	assert_true(one.errors >= 1);
	hold(PLACES "	ld.global.u32 %r5, [%d2+2048]; st.global.u32 [%d4], %r5; ret;\n}\n", 16, &one);
	assert_true(one.errors >= 1);
}

/* A launch ends where one thread ends it. */
static void test_faults(void **state)
{
	(void)state;
	hold(PLACES "	setp.ne.u32 %p1, %r2, 9; st.global.u32 [%d4], 7; @%p1 ret; st.global.u32 [%d3], 1; ret;\n}\n",
	     32, &one);
	assert_int_equal(one.errors, 1);
	assert_int_equal(one.memory[9 * 64], 7);
	assert_int_equal(one.memory[10 * 64], 0);
	step_limit = 1u << 16;
	hold(PLACES
	     "	setp.eq.u32 %p1, %r2, 5; st.global.u32 [%d4], 7; @!%p1 ret;\nL:	add.u32 %r1, %r1, 1; bra L;\n}\n",
	     8, &one);
	assert_int_equal(one.errors, 1);
	assert_non_null(strstr(one.findings[0], "step-limit"));
	step_limit = 1u << 24;
}

/* Block 0 waits for a flag that the last one sets, as in a product that is cut along K. */
static void test_waiting_for_later_blocks(void **state)
{
	(void)state;
	hold_clean(PLACES "	setp.ne.u32 %p1, %r1, 0; mov.u32 %r5, %nctaid.x; sub.u32 %r5, %r5, 1;\n"
			  "	setp.ne.u32 %p2, %r2, 0; @%p2 bra Set; @%p1 bra Met;\n"
			  "L:	ld.acquire.gpu.global.u32 %r6, [%d2]; setp.eq.u32 %p3, %r6, 0; @%p3 bra L;\n"
			  "Met:	bar.sync 0; ld.global.u32 %r7, [%d2+64]; st.global.u32 [%d4+256], %r7; ret;\n"
			  "Set:	setp.ne.u32 %p2, %r2, %r5; @%p2 ret; @%p1 ret;\n"
			  "	st.global.u32 [%d2+64], 5; st.release.gpu.global.u32 [%d2], 1; ret;\n}\n",
		   20, &one);
	assert_int_equal(one.memory[64], 5);
	/* nobody sets it; one thread waits, since each round of it is emulated */
	hold(PLACES "	setp.ne.u32 %p1, %r3, 0; @%p1 ret;\n"
		    "L:	ld.acquire.gpu.global.u32 %r6, [%d2]; setp.eq.u32 %p3, %r6, 0; @%p3 bra L; ret;\n}\n",
	     2, &one);
	assert_true(one.errors >= 1);
	assert_non_null(strstr(one.findings[0], "deadlock"));
}

/* Each block waits for the one before, which took its number by an atomic: a scan with look-back. */
static void test_waiting_for_earlier_blocks(void **state)
{
	(void)state;
	hold_clean(PLACES
		   "	setp.ne.u32 %p1, %r1, 0; @%p1 ret; atom.global.add.u32 %r5, [%d2], 1;\n"
		   "	mul.wide.u32 %d6, %r5, 4; add.u64 %d6, %d2, %d6; setp.eq.u32 %p2, %r5, 0; mov.u32 %r6, 100;\n"
		   "	@%p2 bra Go;\n"
		   "L:	ld.acquire.gpu.global.u32 %r6, [%d6+252]; setp.eq.u32 %p3, %r6, 0; @%p3 bra L;\n"
		   "Go:	add.u32 %r6, %r6, 1; st.release.gpu.global.u32 [%d6+256], %r6; ret;\n}\n",
		   40, &one);
	assert_int_equal(one.memory[64 + 39], 140);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_independent_blocks),
		cmocka_unit_test(test_reductions),
		cmocka_unit_test(test_order_that_shows),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_waiting_for_later_blocks),
		cmocka_unit_test(test_waiting_for_earlier_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
