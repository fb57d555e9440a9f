/* SPDX-License-Identifier: MIT
 *
 * How many thread-instructions per second the emulator executes on one core, with
 * all checks on: arithmetic in registers, dot products of bytes from global
 * memory, and a tiled product through shared memory with barriers.
 *
 *     bench_emulate [seconds for each, default 0.5]
 */
#include "emu_bench.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q)\n{\n"

static const char registers[] =
	HEAD "	.reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;\n"
	     "	ld.param.u64 %d1, [q];\n"
	     "	mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F7FF000; mov.f32 %f3, 0f3F000000;\n"
	     "	mov.u32 %r2, 0; mov.u32 %r3, 7;\n"
	     "L:	fma.rn.f32 %f1, %f1, %f2, %f3; mul.f32 %f4, %f1, %f2; add.f32 %f1, %f4, %f3;\n"
	     "	xor.b32 %r3, %r3, %r2; shl.b32 %r4, %r3, 1; mad.lo.s32 %r3, %r4, %r1, %r2; and.b32 %r3, %r3, 65535;\n"
	     "	add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 1000; @%p1 bra L;\n"
	     "	cvt.rn.f32.u32 %f5, %r3; add.f32 %f1, %f1, %f5;\n"
	     "	mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2; st.global.f32 [%d3], %f1; ret;\n}\n";

static const char dots[] =
	HEAD "	.reg .b32 %r<19>; .reg .b64 %d<9>; .reg .pred %p<3>;\n"
	     "	ld.param.u64 %d1, [p]; ld.param.u64 %d4, [q];\n"
	     "	mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 16; add.u64 %d3, %d1, %d2;\n"
	     "	mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
	     "L:	ld.global.nc.v4.u32 {%r4, %r5, %r6, %r7}, [%d3];\n"
	     "	and.b32 %r8, %r4, 252645135; shr.u32 %r9, %r4, 4; and.b32 %r9, %r9, 252645135;\n"
	     "	dp4a.s32.s32 %r3, %r8, %r5, %r3; dp4a.s32.s32 %r3, %r9, %r6, %r3; dp4a.s32.s32 %r3, %r7, %r7, %r3;\n"
	     "	add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 200; @%p1 bra L;\n"
	     "	mul.wide.u32 %d2, %r1, 4; add.u64 %d5, %d4, %d2; st.global.u32 [%d5], %r3; ret;\n}\n";

static const char shared[] =
	HEAD "	.reg .f32 %f<9>; .reg .b32 %r<19>; .reg .b64 %d<9>; .reg .pred %p<3>;\n"
	     "	.shared .align 16 .f32 tile[2048];\n"
	     "	ld.param.u64 %d1, [p]; ld.param.u64 %d4, [q];\n"
	     "	mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;\n"
	     "	mov.u32 %r10, tile; shl.b32 %r11, %r1, 2; add.u32 %r12, %r10, %r11;\n"
	     "	and.b32 %r13, %r1, 31; shl.b32 %r13, %r13, 2; add.u32 %r14, %r10, %r13; mov.f32 %f1, 0f00000000;\n"
	     "	mov.u32 %r2, 0;\n"
	     "L:	ld.global.f32 %f2, [%d3]; st.shared.f32 [%r12], %f2; bar.sync 0;\n"
	     "	mov.u32 %r3, 0; mov.u32 %r15, %r14;\n"
	     "M:	ld.shared.f32 %f3, [%r15]; ld.shared.f32 %f4, [%r10]; fma.rn.f32 %f1, %f3, %f4, %f1;\n"
	     "	add.u32 %r15, %r15, 128; add.s32 %r3, %r3, 1; setp.lt.s32 %p2, %r3, 8; @%p2 bra M;\n"
	     "	bar.sync 0; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 40; @%p1 bra L;\n"
	     "	add.u64 %d5, %d4, %d2; st.global.f32 [%d5], %f1; ret;\n}\n";

static void measure(const char *name, const char *text, double seconds)
{
	static uint32_t in[4096 * 4], out[4096];
	struct emu_bench b;
	uint64_t begin = tcb_clock_ns(), threads = 0, spent;
	unsigned runs = 0;

	emu_open(&b, text, "k", 256);
	b.launch.step_limit = 0;
	emu_buffer(&b, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	do {
		emu_run_clean(&b);
		threads += b.out.total.threads;
		runs++;
		spent = tcb_clock_ns() - begin;
	} while ((double)spent < seconds * 1e9);
	printf("%-10s %8.1f million thread-instructions/s (%u launches of %llu)\n", name,
	       (double)threads * 1e3 / (double)spent, runs, (unsigned long long)b.out.total.threads);
	emu_close(&b);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0.5;

	measure("registers", registers, seconds);
	measure("dots", dots, seconds);
	measure("shared", shared, seconds);
	return 0;
}
