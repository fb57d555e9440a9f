/* SPDX-License-Identifier: MIT
 *
 * What the emulator finds: for each of its detectors a kernel that trips it,
 * under the right rule and nothing else, and a twin in which only the mistake is
 * mended, about which it must keep silent.  Both under several orders of warps.
 */
#include "emu_bench.h"

/* %r1 tid, %r2 this thread's word of the tile, %r3 ctaid, %r4 the tile; %d1 and %d2 the buffers, %d3 and %d4 this
 * thread's words of them.  Both have 256 words; the first may only be read. */
#define HEAD                                                                                          \
	".version 8.0\n.target sm_80\n.address_size 64\n"                                             \
	".visible .entry k(.param .u64 p, .param .u64 q)\n{\n"                                        \
	".reg .b32 %r<20>; .reg .b64 %d<12>; .reg .f32 %f<10>; .reg .pred %p<10>; .reg .b16 %h<4>;\n" \
	".shared .align 16 .b8 tile[1024];\n"                                                         \
	"ld.param.u64 %d1, [p]; ld.param.u64 %d2, [q]; mov.u32 %r1, %tid.x; mov.u32 %r4, tile;\n"     \
	"shl.b32 %r5, %r1, 2; add.u32 %r2, %r4, %r5; mov.u32 %r3, %ctaid.x;\n"                        \
	"mul.wide.u32 %d5, %r1, 4; add.u64 %d3, %d1, %d5; add.u64 %d4, %d2, %d5; mov.u32 %r10, 1;\n"
#define TAIL "\nret;\n}\n"
#define STORE "st.global.u32 [%d4], %r6;"
/* The neighbour's word: of lane ^ 1, and of the next warp. */
#define LANE "xor.b32 %r7, %r2, 4; ld.shared.u32 %r6, [%r7];"
#define WARP "xor.b32 %r7, %r2, 128; ld.shared.u32 %r6, [%r7];"
#define FLAG_CLEARED \
	"setp.ne.u32 %p1, %r1, 0; mov.u32 %r11, 0; @%p1 bra C; st.shared.u32 [%r4+768], %r11; C: bar.sync 0; "
#define PUT "st.shared.u32 [%r2], %r1;"

static const struct pair {
	const char *name, *bad, *good;
	enum tcb_ptx_rule rule;
	unsigned threads, blocks;
} pairs[] = {
	{ "one element past the end", "ld.global.u32 %r6, [%d3+4];" STORE, "ld.global.u32 %r6, [%d3];" STORE,
	  TCB_PTX_RULE_OUT_OF_BOUNDS, 256, 1 },
	{ "a store before the beginning", "st.global.u32 [%d4+-4], %r1;", "st.global.u32 [%d4], %r1;",
	  TCB_PTX_RULE_OUT_OF_BOUNDS, 32, 1 },
	{ "a vector over the end",
	  "mul.wide.u32 %d6, %r1, 16; add.u64 %d7, %d1, %d6; ld.global.v4.u32 {%r6, %r7, %r8, %r9}, [%d7];" STORE,
	  "and.b32 %r1, %r1, 63; mul.wide.u32 %d6, %r1, 16; add.u64 %d7, %d1, %d6; ld.global.v4.u32 {%r6, %r7, %r8, "
	  "%r9}, [%d7];" STORE,
	  TCB_PTX_RULE_OUT_OF_BOUNDS, 96, 1 },
	{ "shared memory past its end", "st.shared.u32 [%r2+4], %r1;", PUT, TCB_PTX_RULE_OUT_OF_BOUNDS, 256, 1 },
	{ "shared memory at raw offset 0", "st.shared.u32 [%r5], %r1;", PUT, TCB_PTX_RULE_OUT_OF_BOUNDS, 32, 1 },
	{ "generic address of nothing", "mov.u64 %d6, 4096; ld.u32 %r6, [%d6];" STORE, "ld.u32 %r6, [%d3];" STORE,
	  TCB_PTX_RULE_OUT_OF_BOUNDS, 32, 1 },
	{ "a store to what may only be read", "st.global.u32 [%d3], %r1;", "st.global.u32 [%d4], %r1;",
	  TCB_PTX_RULE_READ_ONLY, 32, 1 },
	{ "a vector off its alignment", "ld.global.v2.u32 {%r6, %r7}, [%d1+4];" STORE,
	  "ld.global.v2.u32 {%r6, %r7}, [%d1+8];" STORE, TCB_PTX_RULE_MISALIGNED, 32, 1 },
	{ "shared vector off its alignment", PUT "st.shared.v4.u32 [%r4+8], {%r1, %r1, %r1, %r1};",
	  "st.shared.v4.u32 [%r4+16], {%r10, %r10, %r10, %r10};", TCB_PTX_RULE_MISALIGNED, 1, 1 },
	{ "shared memory that nobody wrote", "ld.shared.u32 %r6, [%r2];" STORE, PUT "ld.shared.u32 %r6, [%r2];" STORE,
	  TCB_PTX_RULE_UNWRITTEN_SHARED, 32, 1 },
	{ "shared memory that another block wrote",
	  "setp.ne.u32 %p1, %r3, 0; @%p1 bra L; " PUT
	  " L: ld.shared.u32 %r6, [%r2]; atom.global.add.u32 %r7, [%d4], %r6;",
	  PUT "ld.shared.u32 %r6, [%r2]; atom.global.add.u32 %r7, [%d4], %r6;", TCB_PTX_RULE_UNWRITTEN_SHARED, 32, 2 },
	{ "a register written on one path only", "setp.lt.u32 %p1, %r1, 7; @%p1 mov.u32 %r6, 3;" STORE,
	  "setp.lt.u32 %p1, %r1, 7; @%p1 mov.u32 %r6, 3; @!%p1 mov.u32 %r6, 4;" STORE, TCB_PTX_RULE_UNWRITTEN_REGISTER,
	  32, 1 },
	{ "a copy of what was written on one path only is used, or is not",
	  "setp.lt.u32 %p1, %r1, 7; @%p1 mov.u32 %r6, 3; mov.u32 %r7, %r6; add.u32 %r6, %r7, 1;" STORE,
	  "setp.lt.u32 %p1, %r1, 7; @%p1 mov.u32 %r6, 3; mov.u32 %r7, %r6; mov.u32 %r6, 4;" STORE,
	  TCB_PTX_RULE_UNWRITTEN_REGISTER, 32, 1 },
	{ "a guard that was never set", "@%p5 mov.u32 %r6, 3; mov.u32 %r6, 1;" STORE,
	  "setp.eq.u32 %p5, %r1, 1; @%p5 mov.u32 %r6, 3; mov.u32 %r6, 1;" STORE, TCB_PTX_RULE_UNWRITTEN_REGISTER, 32,
	  1 },
	{ "no barrier between warps", PUT WARP STORE, PUT "bar.sync 0;" WARP STORE, TCB_PTX_RULE_RACE, 64, 1 },
	{ "no barrier before the tile is written again", PUT "bar.sync 0;" WARP PUT STORE,
	  PUT "bar.sync 0;" WARP "bar.sync 0;" PUT STORE, TCB_PTX_RULE_RACE, 64, 1 },
	{ "no sync between lanes", PUT LANE STORE, PUT "bar.warp.sync 0xffffffff;" LANE STORE, TCB_PTX_RULE_RACE, 32,
	  1 },
	{ "a lane writes what its neighbour and it read",
	  PUT "bar.sync 0; ld.shared.u32 %r6, [%r2];" LANE "st.shared.u32 [%r2], %r6;",
	  PUT "bar.sync 0; ld.shared.u32 %r6, [%r2]; st.shared.u32 [%r2], %r6; bar.sync 0;" LANE, TCB_PTX_RULE_RACE, 32,
	  1 },
	{ "a warp writes what it and the next warp read",
	  PUT "bar.sync 0;" WARP "ld.shared.u32 %r6, [%r2]; st.shared.u32 [%r2], %r6;",
	  PUT "bar.sync 0;" WARP "bar.sync 0; ld.shared.u32 %r6, [%r2]; st.shared.u32 [%r2], %r6;", TCB_PTX_RULE_RACE,
	  64, 1 },
	{ "a sync of other lanes only",
	  PUT "setp.lt.u32 %p1, %r1, 16; @!%p1 bra L; bar.warp.sync 0xffff; L: " LANE STORE,
	  PUT
	  "setp.lt.u32 %p1, %r1, 16; @!%p1 bra L; bar.warp.sync 0xffff; bra M; L: bar.warp.sync 0xffff0000; M: " LANE
		  STORE,
	  TCB_PTX_RULE_RACE, 32, 1 },
	{ "a shuffle orders no memory", PUT "shfl.sync.idx.b32 %r8, %r1, 0, 31, 0xffffffff;" LANE STORE,
	  PUT "shfl.sync.idx.b32 %r8, %r1, 0, 31, 0xffffffff; bar.warp.sync 0xffffffff;" LANE STORE, TCB_PTX_RULE_RACE,
	  32, 1 },
	{ "the wrong named barrier",
	  "shr.u32 %r8, %r1, 5; setp.eq.u32 %p1, %r8, 0; @!%p1 bra L; bar.sync 2, 64; " PUT
	  "bar.arrive 1, 64; bra M; L: bar.sync 2, 64; " WARP STORE "bar.sync 1, 64; M:",
	  "shr.u32 %r8, %r1, 5; setp.eq.u32 %p1, %r8, 0; @!%p1 bra L; bar.sync 2, 64; " PUT
	  "bar.arrive 1, 64; bra M; L: bar.sync 2, 64; bar.sync 1, 64; " WARP STORE "M:",
	  TCB_PTX_RULE_RACE, 64, 1 },
	{ "two lanes write different values to one word", "st.shared.u32 [%r4], %r1;", "st.shared.u32 [%r4], %r10;",
	  TCB_PTX_RULE_RACE, 32, 1 },
	{ "blocks write the same words", "add.u32 %r6, %r1, %r3;" STORE, "red.global.add.u32 [%d4], %r1;",
	  TCB_PTX_RULE_RACE, 32, 2 },
	{ "a block reads what another wrote",
	  "setp.ne.u32 %p1, %r3, 0; @%p1 bra L; mov.u32 %r6, 1; " STORE
	  "bra M; L: ld.global.u32 %r7, [%d4]; st.global.u32 [%d4+512], %r7; M:",
	  "setp.ne.u32 %p1, %r3, 0; @%p1 bra L; mov.u32 %r6, 1; " STORE
	  "bra M; L: ld.global.u32 %r7, [%d3]; st.global.u32 [%d4+512], %r7; M:",
	  TCB_PTX_RULE_RACE, 32, 2 },
	/* every block writes its word, a fence, a ticket; the last one sums up: without the fence nothing is passed on
	 */
	{ "a ticket without a fence",
	  "mul.wide.u32 %d6, %r3, 4; add.u64 %d7, %d2, %d6; st.global.u32 [%d7], %r10; atom.global.add.u32 %r6, "
	  "[%d2+512], %r10; setp.ne.u32 %p1, %r6, 3; @%p1 ret; ld.global.u32 %r7, [%d2]; st.global.u32 [%d2+768], %r7;",
	  "mul.wide.u32 %d6, %r3, 4; add.u64 %d7, %d2, %d6; st.global.u32 [%d7], %r10; membar.gl; atom.global.add.u32 "
	  "%r6, [%d2+512], %r10; setp.ne.u32 %p1, %r6, 3; @%p1 ret; membar.gl; ld.global.u32 %r7, [%d2]; st.global.u32 "
	  "[%d2+768], %r7;",
	  TCB_PTX_RULE_RACE, 1, 4 },
	{ "the read-only cache on what is written",
	  "mov.u32 %r6, 2;" STORE "ld.global.nc.u32 %r7, [%d4]; st.global.u32 [%d4], %r7;",
	  "mov.u32 %r6, 2;" STORE "ld.global.u32 %r7, [%d4]; st.global.u32 [%d4], %r7;", TCB_PTX_RULE_RACE, 32, 1 },
	{ "a barrier in a divergent branch", "setp.lt.u32 %p1, %r1, 16; @%p1 bra L; bar.sync 0; L: bar.sync 0;",
	  "setp.lt.u32 %p1, %r1, 16; @%p1 bra L; mov.u32 %r6, 0; L: bar.sync 0; bar.sync 0;",
	  TCB_PTX_RULE_BARRIER_DIVERGENT, 32, 1 },
	{ "a predicated barrier", "setp.lt.u32 %p1, %r1, 16; @%p1 bar.sync 0; @!%p1 bar.sync 0;",
	  "setp.lt.u32 %p1, %r1, 64; @%p1 bar.sync 0;", TCB_PTX_RULE_BARRIER_DIVERGENT, 32, 1 },
	{ "barriers with different counts",
	  "setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 1, 64; bra M; L: bar.sync 1, 96; M:",
	  "setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 1, 64; bra M; L: bar.sync 1, 64; M:",
	  TCB_PTX_RULE_BARRIER_DIVERGENT, 64, 1 },
	{ "a barrier to which too few come", "bar.sync 1, 96;", "bar.sync 1, 64;", TCB_PTX_RULE_DEADLOCK, 64, 1 },
	{ "warps that wait crosswise",
	  "setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 1, 64; bar.sync 2, 64; bra M; L: bar.sync 2, 64; bar.sync 1, "
	  "64; M:",
	  "setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 1, 64; bar.sync 2, 64; bra M; L: bar.sync 1, 64; bar.sync 2, "
	  "64; M:",
	  TCB_PTX_RULE_DEADLOCK, 64, 1 },
	{ "a shuffle from lanes that have left",
	  "setp.gt.u32 %p1, %r1, 20; @%p1 ret; shfl.sync.down.b32 %r6, %r1, 8, 31, 0xffffffff;" STORE,
	  "shfl.sync.down.b32 %r6, %r1, 8, 31, 0xffffffff; setp.gt.u32 %p1, %r1, 20; @%p1 ret;" STORE,
	  TCB_PTX_RULE_SHUFFLE_EXITED, 32, 1 },
	{ "a full-mask shuffle in one branch",
	  "setp.gt.u32 %p1, %r1, 15; mov.u32 %r6, 0; @%p1 bra L; shfl.sync.bfly.b32 %r6, %r1, 1, 31, 0xffffffff; "
	  "L: " STORE,
	  "setp.gt.u32 %p1, %r1, 15; mov.u32 %r6, 0; @%p1 bra L; shfl.sync.bfly.b32 %r6, %r1, 1, 31, 0xffff; L: " STORE,
	  TCB_PTX_RULE_SHUFFLE_DIVERGENT, 32, 1 },
	{ "a lane that is not in its own mask", "shfl.sync.bfly.b32 %r6, %r1, 1, 31, 0xfffffffe;" STORE,
	  "shfl.sync.bfly.b32 %r6, %r1, 1, 31, 0xffffffff;" STORE, TCB_PTX_RULE_SHUFFLE_DIVERGENT, 32, 1 },
	{ "a copy that nobody waited for",
	  "cp.async.ca.shared.global [%r2], [%d3], 4; cp.async.commit_group; ld.shared.u32 %r6, [%r2];" STORE,
	  "cp.async.ca.shared.global [%r2], [%d3], 4; cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 %r6, "
	  "[%r2];" STORE,
	  TCB_PTX_RULE_ASYNC_PENDING, 32, 1 },
	{ "a wait that is one group short",
	  "cp.async.ca.shared.global [%r2], [%d3], 4; cp.async.commit_group; cp.async.ca.shared.global [%r2+512], "
	  "[%d3], 4; cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r6, [%r2+512];" STORE,
	  "cp.async.ca.shared.global [%r2], [%d3], 4; cp.async.commit_group; cp.async.ca.shared.global [%r2+512], "
	  "[%d3], 4; cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r6, [%r2];" STORE,
	  TCB_PTX_RULE_ASYNC_PENDING, 32, 1 },
	{ "a copy waited for, without a barrier",
	  "cp.async.ca.shared.global [%r2], [%d3], 4; cp.async.wait_all; " WARP STORE,
	  "cp.async.ca.shared.global [%r2], [%d3], 4; cp.async.wait_all; bar.sync 0; " WARP STORE, TCB_PTX_RULE_RACE,
	  64, 1 },
	{ "a loop without end", "L: add.u32 %r10, %r10, 1; bra L;",
	  "L: add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 1000; @%p1 bra L;", TCB_PTX_RULE_STEP_LIMIT, 32, 1 },
	{ "a trap", "setp.eq.u32 %p1, %r1, 31; @%p1 trap;", "setp.eq.u32 %p1, %r1, 32; @%p1 trap;", TCB_PTX_RULE_TRAP,
	  32, 1 },
	{ "a flag without release",
	  FLAG_CLEARED
	  "setp.lt.u32 %p1, %r1, 32; @!%p1 bra L; setp.ne.u32 %p2, %r1, 0; @%p2 ret; st.shared.u32 [%r4+512], %r10; "
	  "st.relaxed.cta.shared.u32 [%r4+768], %r10; ret; L: setp.ne.u32 %p2, %r1, 32; @%p2 ret; M: "
	  "ld.acquire.cta.shared.u32 %r6, [%r4+768]; setp.ne.u32 %p3, %r6, 1; @%p3 bra M; ld.shared.u32 %r6, "
	  "[%r4+512];" STORE,
	  FLAG_CLEARED
	  "setp.lt.u32 %p1, %r1, 32; @!%p1 bra L; setp.ne.u32 %p2, %r1, 0; @%p2 ret; st.shared.u32 [%r4+512], %r10; "
	  "st.release.cta.shared.u32 [%r4+768], %r10; ret; L: setp.ne.u32 %p2, %r1, 32; @%p2 ret; M: "
	  "ld.acquire.cta.shared.u32 %r6, [%r4+768]; setp.ne.u32 %p3, %r6, 1; @%p3 bra M; ld.shared.u32 %r6, "
	  "[%r4+512];" STORE,
	  TCB_PTX_RULE_RACE, 64, 1 },
};

/* What may come along with a mistake: who is not ordered may also come too early, and who diverges may wait forever. */
static int comes_along(const struct pair *pair, unsigned rule)
{
	return (pair->rule == TCB_PTX_RULE_RACE && rule == TCB_PTX_RULE_UNWRITTEN_SHARED) ||
	       (pair->rule == TCB_PTX_RULE_BARRIER_DIVERGENT && rule == TCB_PTX_RULE_DEADLOCK);
}

static void run(const struct pair *pair, const char *body, uint64_t seed, struct emu_bench *b)
{
	static uint32_t in[256], out[256];
	struct tcb_str text = { 0 };

	memset(out, 0, sizeof out);
	tcb_str_addf(&text, "%s%s%s", HEAD, body, TAIL);
	emu_open(b, text.data, "k", pair->threads);
	tcb_str_fini(&text);
	b->launch.grid[0] = pair->blocks;
	b->launch.seed = seed;
	b->launch.step_limit = 100000;
	emu_buffer(b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run(b);
}

static void mistakes_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		for (uint64_t seed = 0; seed < 4; seed++) {
			struct emu_bench b;

			run(&pairs[i], pairs[i].bad, seed, &b);
			if (!b.found[pairs[i].rule])
				fail_msg("%s: not found (seed %d; %s)", pairs[i].name, (int)seed, b.first);
			for (unsigned rule = 0; rule < TCB_PTX_RULE_COUNT; rule++)
				if (rule != pairs[i].rule && b.found[rule] && !comes_along(&pairs[i], rule))
					fail_msg("%s: also %s: %s", pairs[i].name,
						 tcb_ptx_rule_name((enum tcb_ptx_rule)rule), b.first);
			emu_close(&b);
		}
}

static void what_is_right_is_not_reported(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		for (uint64_t seed = 0; seed < 4; seed++) {
			struct emu_bench b;

			run(&pairs[i], pairs[i].good, seed, &b);
			for (unsigned rule = 0; rule < TCB_PTX_RULE_COUNT; rule++)
				if (b.found[rule])
					fail_msg("%s, mended: %s", pairs[i].name, b.first);
			emu_close(&b);
		}
}

/* A finding names the line, the block, the warp and the thread. */
static void a_finding_says_where(void **state)
{
	struct emu_bench b;

	(void)state;
	run(&pairs[0], "\n\nld.global.u32 %r6, [%d3+4];" STORE, 0, &b);
	assert_int_equal(b.line, 13);
	assert_non_null(strstr(b.first,
			       "out-of-bounds: 4 bytes at offset 1024 of 'in', which has 1024 (block (0,0,0), warp 7, "
			       "thread (255,0,0))"));
	emu_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mistakes_are_found),
		cmocka_unit_test(what_is_right_is_not_reported),
		cmocka_unit_test(a_finding_says_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
