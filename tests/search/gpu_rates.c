/* SPDX-License-Identifier: MIT
 *
 * What single instructions and memory accesses cost on the attached GPU: where
 * the constants of ptx/model/simulate_time.c and ptx/model/simulate_decode.c come from.
 *
 *   gpu_rates [--texts FOLDER]
 *
 * --texts: needs no GPU; writes the kernels into FOLDER.
 * Prints: the latency of an instruction (a chain in one warp), cycles from one
 * to the next on a quarter of a multiprocessor (eight chains in each of 16
 * warps), alone and mixed with others, which tells what shares a pipe; straight
 * code the first and the second time round; bandwidth and latency of loads and
 * of bulk copies against the bytes in flight.
 *
 * Exit: 0, 77 without a GPU of capability 9.0 or later, 1 else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bare_gpu.h"
#include "base/util.h"

enum { SKIP = 77, CHAINS = 8, BODY = 64, ROUNDS = 64, WARP = 32, REPEATS = 3, MIB = 1024 * 1024 };

static const char header[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

/*
 * One step of chain i; %s's are its registers: r (32 bits), f (f32), h (f16).  %[rfh] stand for chain i's,
 * a and b for operands that do not change.
 */
static const struct instruction {
	const char *name, *text;
} instructions[] = {
	{ "fma.f32", "fma.rn.f32 %f@, %f@, %fa, %fb;" },
	{ "add.f32", "add.rn.f32 %f@, %f@, %fa;" },
	{ "lop3", "lop3.b32 %r@, %r@, %ra, %rb, 0x6a;" },
	{ "shf", "shf.l.wrap.b32 %r@, %r@, %ra, %rb;" },
	{ "iadd", "add.s32 %r@, %r@, %rc@;" },
	{ "imad", "mad.lo.s32 %r@, %r@, %ra, %rb;" },
	{ "prmt", "prmt.b32 %r@, %r@, %ra, %rb;" },
	{ "dp4a", "dp4a.s32.s32 %r@, %ra, %rb, %r@;" },
	{ "max.s32", "max.s32 %r@, %r@, %rc@; xor.b32 %rc@, %rc@, %r@;" },
	{ "cvt.f32.f16", "mov.b32 {%h@, %g@}, %f@; cvt.f32.f16 %f@, %h@;" },
	{ "cvt.rn.f32.u32", "cvt.rn.f32.u32 %f@, %r@; mov.b32 %r@, %f@;" },
	{ "cvt.rni.s32.f32", "cvt.rni.s32.f32 %r@, %f@; mov.b32 %f@, %r@;" },
	{ "ex2.approx", "ex2.approx.ftz.f32 %f@, %f@;" },
	{ "shfl", "shfl.sync.idx.b32 %r@, %r@, %ra, 31, -1;" },
	{ "redux", "redux.sync.add.s32 %r@, %r@, -1;" },
	{ "ld.shared.b32", "ld.shared.b32 %r@, [%r@];" },
	{ "ld.shared.v4", "ld.shared.v4.b32 {%r@, %ra, %rb, %rd}, [%r@];" },
	{ "cvt.f32.f16 + fma", "mov.b32 {%h@, %g@}, %f@; cvt.f32.f16 %f@, %h@; fma.rn.f32 %e@, %e@, %fa, %fb;" },
	{ "cvt.f32.f16 + lop3", "mov.b32 {%h@, %g@}, %f@; cvt.f32.f16 %f@, %h@; lop3.b32 %r@, %r@, %ra, %rb, 0x6a;" },
	{ "lop3 + fma", "lop3.b32 %r@, %r@, %ra, %rb, 0x6a; fma.rn.f32 %e@, %e@, %fa, %fb;" },
	{ "lop3 + imad", "lop3.b32 %r@, %r@, %ra, %rb, 0x6a; mad.lo.s32 %rc@, %rc@, %ra, %rb;" },
	{ "lop3 + dp4a", "lop3.b32 %r@, %r@, %ra, %rb, 0x6a; dp4a.s32.s32 %rc@, %ra, %rb, %rc@;" },
	{ "dp4a + imad", "dp4a.s32.s32 %r@, %ra, %rb, %r@; mad.lo.s32 %rc@, %rc@, %ra, %rb;" },
	{ "dp4a + fma", "dp4a.s32.s32 %r@, %ra, %rb, %r@; fma.rn.f32 %e@, %e@, %fa, %fb;" },
	{ "cvt.rn.f32.u32 + lop3", "cvt.rn.f32.u32 %f@, %r@; mov.b32 %r@, %f@; lop3.b32 %rc@, %rc@, %ra, %rb, 0x6a;" },
	{ "cvt.rn.f32.u32 + imad", "cvt.rn.f32.u32 %f@, %r@; mov.b32 %r@, %f@; mad.lo.s32 %rc@, %rc@, %ra, %rb;" },
	{ "cvt.f32.f16 + 2 fma", "mov.b32 {%h@, %g@}, %f@; cvt.f32.f16 %f@, %h@; fma.rn.f32 %e@, %e@, %fa, %fb; "
				 "fma.rn.f32 %e@, %e@, %fa, %fb;" },
	{ "cvt.f32.f16 + imad", "mov.b32 {%h@, %g@}, %f@; cvt.f32.f16 %f@, %h@; mad.lo.s32 %r@, %r@, %ra, %rb;" },
	{ "mma.m16n8k16.f16", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r@, %rc@}, {%ra, %rb, %ra, %rb}, "
			      "{%ra, %rb}, {%r@, %rc@};" },
	{ "mma.m16n8k8.f16", "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r@, %rc@}, {%ra, %rb}, {%ra}, "
			     "{%r@, %rc@};" },
	{ "lop3 + shfl", "lop3.b32 %rc@, %rc@, %ra, %rb, 0x6a; shfl.sync.idx.b32 %r@, %r@, %ra, 31, -1;" },
};
enum { INSTRUCTIONS = sizeof instructions / sizeof *instructions };

static void add_step(struct tcb_str *text, const char *step, int chain)
{
	tcb_str_add(text, "\t");
	for (; *step; step++) {
		if (*step == '@')
			tcb_str_addf(text, "%d", chain);
		else
			tcb_str_addf(text, "%c", *step);
	}
	tcb_str_add(text, "\n");
}

static void add_head(struct tcb_str *text, unsigned block)
{
	tcb_str_addf(text,
		     "%s.extern .shared .align 128 .b8 memory[];\n"
		     ".visible .entry k(.param .u64 buffer, .param .u64 out)\n.reqntid %u, 1, 1\n{\n"
		     "\t.reg .u64 %%d<40>;\n\t.reg .pred %%p<4>;\n\t.reg .b32 %%t<40>;\n\t.reg .b32 %%v<132>;\n"
		     "\t.reg .b32 %%r<%d>, %%rc<%d>;\n\t.reg .f32 %%f<%d>, %%e<%d>;\n\t.reg .b16 %%h<%d>, %%g<%d>;\n"
		     "\t.reg .b32 %%ra, %%rb, %%rd;\n\t.reg .f32 %%fa, %%fb;\n"
		     "\tld.param.u64 %%d0, [buffer];\n\tld.param.u64 %%d1, [out];\n\tmov.u32 %%t0, %%tid.x;\n",
		     header, block, CHAINS, CHAINS, CHAINS, CHAINS, CHAINS, CHAINS);
}

/* BODY steps over CHAINS chains, ROUNDS times; the clock of the warp into out[warp of the grid]. */
static void chain_text(struct tcb_str *text, const struct instruction *ins, unsigned block, int chains)
{
	add_head(text, block);
	tcb_str_add(text, "\tmul.wide.u32 %d2, %t0, 4;\n\tadd.u64 %d0, %d0, %d2;\n" /* or all would be uniform */
			  "\tld.global.b32 %ra, [%d0];\n\tld.global.b32 %rb, [%d0+4];\n\tld.global.f32 %fa, [%d0];\n"
			  "\tld.global.f32 %fb, [%d0+4];\n\tmov.b32 %rd, %ra;\n");
	for (int i = 0; i < chains; i++)
		tcb_str_addf(text,
			     "\tmov.u32 %%r%d, memory;\n\tld.global.f32 %%f%d, [%%d0+%d];\n\tld.global.b32 %%rc%d, "
			     "[%%d0+%d];\n\tmov.b32 %%e%d, %%rc%d;\n",
			     i, i, 8 + 4 * i, i, 128 + 4 * i, i, i);
	tcb_str_add(text, "\tmov.u32 %t1, memory;\n\tst.shared.b32 [%t1], %t1;\n\tbar.sync 0;\n\tmov.u32 %t2, 0;\n"
			  "\tmov.u32 %t3, %clock;\nloop:\n");
	for (int i = 0; i < BODY; i++)
		add_step(text, ins->text, i % chains);
	tcb_str_addf(text, "\tadd.u32 %%t2, %%t2, 1;\n\tsetp.lt.u32 %%p0, %%t2, %d;\n\t@%%p0 bra loop;\n", ROUNDS);
	tcb_str_add(text, "\tmov.u32 %t4, %clock;\n\tsub.u32 %t4, %t4, %t3;\n\tmov.b32 %t5, 0;\n");
	for (int i = 0; i < chains; i++)
		tcb_str_addf(text,
			     "\txor.b32 %%t5, %%t5, %%r%d;\n\tmov.b32 %%t6, %%f%d;\n\txor.b32 %%t5, %%t5, %%t6;\n"
			     "\txor.b32 %%t5, %%t5, %%rc%d;\n\tmov.b32 %%t6, %%e%d;\n\txor.b32 %%t5, %%t5, %%t6;\n",
			     i, i, i, i);
	tcb_str_add(text, "\txor.b32 %t5, %t5, %ra;\n\txor.b32 %t5, %t5, %rb;\n\tshr.u32 %t7, %t0, 5;\n"
			  "\tmul.wide.u32 %d2, %t7, 8;\n\tadd.u64 %d3, %d1, %d2;\n\tst.global.b32 [%d3], %t4;\n"
			  "\tst.global.b32 [%d3+4], %t5;\n\tret;\n}\n");
}

/* The most cycles that a warp of KERNEL took, of the best of REPEATS. */
static enum tcb_status cycles_of(const struct bare_gpu *gpu, const char *text, unsigned block, unsigned stride,
				 unsigned values, uint32_t *best, struct tcb_error *err)
{
	struct bare_kernel kernel;
	uint32_t words[1024];
	enum tcb_status status = bare_kernel_load(gpu, text, &kernel, err);
	for (unsigned v = 0; v < values; v++)
		best[v] = UINT32_MAX;
	kernel.grid = 1;
	kernel.block = block;
	kernel.shared_bytes = 1024;
	for (int i = 0; i < REPEATS && status == TCB_OK; i++) {
		double seconds;
		status = bare_kernel_run(gpu, &kernel, &seconds, err);
		if (status == TCB_OK)
			status = bare_gpu_read(gpu, words, sizeof words / sizeof *words, err);
		for (unsigned v = 0; v < values && status == TCB_OK; v++) {
			uint32_t most = 0;
			for (unsigned w = 0; w < block / WARP; w++)
				most = words[w * stride + v] > most ? words[w * stride + v] : most;
			best[v] = most < best[v] ? most : best[v];
		}
	}
	bare_kernel_unload(gpu, &kernel);
	return status;
}

static enum tcb_status instruction_costs(const struct bare_gpu *gpu, struct tcb_error *err)
{
	static const struct {
		unsigned block;
		int chains;
	} runs[] = { { 32, 1 }, { 32, CHAINS }, { 128, CHAINS }, { 256, CHAINS }, { 512, CHAINS } };
	enum { RUNS = sizeof runs / sizeof *runs };
	printf("instruction            latency   one warp   cycles of a quarter from one to the next, 1, 2, 4 warps on "
	       "it\n");
	for (size_t i = 0; i < INSTRUCTIONS; i++) {
		double value[RUNS];
		for (size_t r = 0; r < RUNS; r++) {
			struct tcb_str text = { 0 };
			uint32_t cycles;
			chain_text(&text, &instructions[i], runs[r].block, runs[r].chains);
			enum tcb_status status = cycles_of(gpu, text.data, runs[r].block, 2, 1, &cycles, err);
			tcb_str_fini(&text);
			TCB_TRY(status);
			const double quarter = runs[r].block > 128 ? runs[r].block / 128.0 : 1;
			value[r] = cycles / (double)(BODY * ROUNDS) / quarter;
		}
		printf("%-22s %7.2f    %7.2f    %7.2f %7.2f %7.2f\n", instructions[i].name, value[0], value[1],
		       value[2], value[3], value[4]);
	}
	return TCB_OK;
}

/* --- straight code --- */

static enum tcb_status straight_code(const struct bare_gpu *gpu, struct tcb_error *err)
{
	static const int lengths[] = { 256, 512, 1024, 2048, 4096, 8192, 16384 };
	printf("straight code: cycles per instruction, first time round and second, 1 and 8 warps of 1 block\n");
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		double value[4];
		for (int b = 0; b < 2; b++) {
			const unsigned block = b ? 256 : 32;
			struct tcb_str text = { 0 };
			uint32_t cycles[2];
			add_head(&text, block);
			for (int c = 0; c < CHAINS; c++)
				tcb_str_addf(&text, "\tld.global.f32 %%f%d, [%%d0+%d];\n", c, 4 * c);
			tcb_str_add(&text, "\tld.global.f32 %fa, [%d0+64];\n\tld.global.f32 %fb, [%d0+68];\n"
					   "\tmov.u32 %t2, 0;\n\tmov.u32 %t10, 0;\n\tmov.u32 %t11, 0;\n"
					   "\tadd.f32 %e0, %fa, %fb;\n\tbar.sync 0;\nloop:\n"
					   "\tmov.u32 %t10, %t11;\n\tmov.u32 %t3, %clock;\n");
			for (int n = 0; n < lengths[i]; n++)
				tcb_str_addf(&text, "\tfma.rn.f32 %%f%d, %%f%d, %%fa, %%fb;\n", n % CHAINS, n % CHAINS);
			tcb_str_add(&text, "\tmov.u32 %t4, %clock;\n\tsub.u32 %t11, %t4, %t3;\n"
					   "\tadd.u32 %t2, %t2, 1;\n\tsetp.lt.u32 %p0, %t2, 2;\n\t@%p0 bra loop;\n");
			for (int c = 1; c < CHAINS; c++)
				tcb_str_addf(&text, "\tadd.f32 %%f0, %%f0, %%f%d;\n", c);
			tcb_str_add(&text,
				    "\tshr.u32 %t7, %t0, 5;\n\tmul.wide.u32 %d2, %t7, 12;\n"
				    "\tadd.u64 %d3, %d1, %d2;\n\tst.global.b32 [%d3], %t10;\n"
				    "\tst.global.b32 [%d3+4], %t11;\n\tst.global.f32 [%d3+8], %f0;\n\tret;\n}\n");
			enum tcb_status status = cycles_of(gpu, text.data, block, 3, 2, cycles, err);
			tcb_str_fini(&text);
			TCB_TRY(status);
			value[2 * b] = cycles[0] / (double)lengths[i];
			value[2 * b + 1] = cycles[1] / (double)lengths[i];
		}
		printf("%6d instructions   1 warp %6.2f %6.2f   8 warps %6.2f %6.2f\n", lengths[i], value[0], value[1],
		       value[2], value[3]);
	}
	return TCB_OK;
}

/* --- loads --- */

/*
 * Each warp reads its share of BYTES in rounds of DEPTH pieces of 512 bytes, waits for all of a round, and sums the
 * cycles that each took: out[2 * warp] the sum, out[2 * warp + 1] keeps the values alive.
 */
static void load_text(struct tcb_str *text, unsigned block, unsigned grid, unsigned depth, size_t bytes, int rounds)
{
	const unsigned long long step = (unsigned long long)grid * block * 16;
	add_head(text, block);
	tcb_str_addf(text,
		     "\tmov.u32 %%t1, %%ctaid.x;\n\tmad.lo.u32 %%t2, %%t1, %u, %%t0;\n\tmul.wide.u32 %%d2, %%t2, 16;\n"
		     "\tmov.u32 %%t3, 0;\n\tmov.u32 %%t4, 0;\n\tmov.u32 %%t5, 0;\nloop:\n\tmov.u32 %%t6, %%clock;\n",
		     block);
	for (unsigned i = 0; i < depth; i++)
		tcb_str_addf(text,
			     "\tadd.u64 %%d%u, %%d0, %%d2;\n"
			     "\tld.global.nc.L1::no_allocate.v4.b32 {%%v%u, %%v%u, %%v%u, %%v%u}, [%%d%u];\n"
			     "\tadd.u64 %%d2, %%d2, %llu;\n\tand.b64 %%d2, %%d2, %llu;\n",
			     4 + i, 4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3, 4 + i, step, (unsigned long long)bytes - 1);
	for (unsigned i = 0; i < 4 * depth; i++)
		tcb_str_addf(text, "\txor.b32 %%t4, %%t4, %%v%u;\n", i);
	tcb_str_addf(text,
		     "\tsetp.eq.u32 %%p1, %%t4, 12345;\n\t@%%p1 bra loop;\n\tmov.u32 %%t8, %%clock;\n"
		     "\tsub.u32 %%t8, %%t8, %%t6;\n\tadd.u32 %%t5, %%t5, %%t8;\n\tcvt.u64.u32 %%d3, %%t4;\n"
		     "\tadd.u64 %%d2, %%d2, %%d3;\n\tadd.u32 %%t3, %%t3, 1;\n"
		     "\tsetp.lt.u32 %%p0, %%t3, %d;\n\t@%%p0 bra loop;\n"
		     "\tshr.u32 %%t9, %%t2, 5;\n\tand.b32 %%t9, %%t9, 1023;\n\tmul.wide.u32 %%d3, %%t9, 8;\n"
		     "\tadd.u64 %%d3, %%d1, %%d3;\n"
		     "\tst.global.b32 [%%d3], %%t5;\n\tst.global.b32 [%%d3+4], %%t4;\n\tret;\n}\n",
		     rounds);
}

static enum tcb_status time_memory(const struct bare_gpu *gpu, const char *text, unsigned grid, unsigned block,
				   unsigned shared, double *seconds, double *cycles, struct tcb_error *err)
{
	struct bare_kernel kernel;
	uint32_t words[64];
	enum tcb_status status = bare_kernel_load(gpu, text, &kernel, err);
	*seconds = 1e9;
	kernel.grid = grid;
	kernel.block = block;
	kernel.shared_bytes = shared;
	for (int i = 0; i < REPEATS && status == TCB_OK; i++) {
		double now;
		status = bare_kernel_run(gpu, &kernel, &now, err);
		*seconds = now < *seconds ? now : *seconds;
	}
	if (status == TCB_OK)
		status = bare_gpu_read(gpu, words, sizeof words / sizeof *words, err);
	*cycles = status == TCB_OK ? words[0] : 0;
	bare_kernel_unload(gpu, &kernel);
	return status;
}

static enum tcb_status loads(const struct bare_gpu *gpu, size_t bytes, const char *where, struct tcb_error *err)
{
	static const unsigned depths[] = { 1, 2, 4, 8 };
	printf("loads of 16 bytes per lane from %s: warps of a multiprocessor, deep, bytes in flight, GB/s, cycles of "
	       "a "
	       "round\n",
	       where);
	for (unsigned warps = 1; warps <= 32; warps *= 2) {
		for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
			const unsigned grid = (unsigned)gpu->multiprocessors, block = warps * WARP, depth = depths[d];
			const int rounds = (int)(4096 / (warps * depth) < 64 ? 64 : 4096 / (warps * depth));
			struct tcb_str text = { 0 };
			double seconds, cycles;
			load_text(&text, block, grid, depth, bytes, rounds);
			enum tcb_status status = time_memory(gpu, text.data, grid, block, 0, &seconds, &cycles, err);
			tcb_str_fini(&text);
			TCB_TRY(status);
			printf("%3u %3u %7u %8.0f %8.0f\n", warps, depth, warps * depth * 512,
			       1e-9 * rounds * depth * 512.0 * warps * grid / seconds, cycles / rounds);
		}
	}
	return TCB_OK;
}

/* --- bulk copies --- */

/* One thread of each block keeps STAGES copies of PIECE bytes in flight, over the whole buffer. */
static void bulk_text(struct tcb_str *text, unsigned grid, unsigned stages, unsigned piece, size_t bytes, int rounds)
{
	add_head(text, WARP);
	tcb_str_addf(
		text,
		"\tsetp.ne.u32 %%p0, %%t0, 0;\n\t@%%p0 ret;\n\tmov.u32 %%t1, %%ctaid.x;\n"
		"\tmul.wide.u32 %%d2, %%t1, %u;\n\tmov.u32 %%t2, memory;\n\tmov.u32 %%t3, 0;\n\tmov.u32 %%t5, 0;\n",
		piece);
	for (unsigned i = 0; i < stages; i++)
		tcb_str_addf(text, "\tmbarrier.init.shared.b64 [%%t2+%u], 1;\n", 8 * i);
	tcb_str_add(text, "\tfence.proxy.async;\n\tmov.u32 %t4, 0;\n");
	for (unsigned i = 0; i < stages; i++)
		tcb_str_addf(
			text,
			"\tmbarrier.arrive.expect_tx.shared.b64 %%d9, [%%t2+%u], %u;\n\tadd.u64 %%d3, %%d0, %%d2;\n"
			"\tadd.u32 %%t6, %%t2, %u;\n\tadd.u32 %%t7, %%t2, %u;\n"
			"\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%t6], [%%d3], %u, "
			"[%%t7];\n\tadd.u64 %%d2, %%d2, %llu;\n\tand.b64 %%d2, %%d2, %llu;\n",
			8 * i, piece, 1024 + i * piece, 8 * i, piece, (unsigned long long)grid * piece,
			(unsigned long long)bytes - 1);
	tcb_str_add(text, "loop:\n");
	for (unsigned i = 0; i < stages; i++)
		tcb_str_addf(
			text,
			"wait%u:\n\tmbarrier.try_wait.parity.shared.b64 %%p1, [%%t2+%u], %%t4;\n\t@!%%p1 bra "
			"wait%u;\n\tmov.u32 %%t8, %%clock;\n"
			"\tmbarrier.arrive.expect_tx.shared.b64 %%d9, [%%t2+%u], %u;\n\tadd.u64 %%d3, %%d0, %%d2;\n"
			"\tadd.u32 %%t6, %%t2, %u;\n\tadd.u32 %%t7, %%t2, %u;\n"
			"\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%t6], [%%d3], %u, "
			"[%%t7];\n\tadd.u64 %%d2, %%d2, %llu;\n\tand.b64 %%d2, %%d2, %llu;\n",
			i, 8 * i, i, 8 * i, piece, 1024 + i * piece, 8 * i, piece, (unsigned long long)grid * piece,
			(unsigned long long)bytes - 1);
	tcb_str_addf(text,
		     "\txor.b32 %%t4, %%t4, 1;\n\tadd.u32 %%t3, %%t3, 1;\n\tsetp.lt.u32 %%p2, %%t3, %d;\n"
		     "\t@%%p2 bra loop;\n",
		     rounds);
	for (unsigned i = 0; i < stages; i++)
		tcb_str_addf(text,
			     "last%u:\n\tmbarrier.try_wait.parity.shared.b64 %%p1, [%%t2+%u], %%t4;\n\t@!%%p1 bra "
			     "last%u;\n",
			     i, 8 * i, i);
	tcb_str_add(text, "\tret;\n}\n");
}

static enum tcb_status bulk_copies(const struct bare_gpu *gpu, size_t bytes, const char *where, struct tcb_error *err)
{
	static const unsigned pieces[] = { 512, 1024, 2048, 4096, 16384 }, stages[] = { 1, 2, 4, 8 };
	printf("bulk copies from %s: bytes, in flight, GB/s, ns from one to the next of a block, with 1 block a "
	       "multiprocessor\n",
	       where);
	for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
		for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
			const unsigned grid = (unsigned)gpu->multiprocessors, in_flight = pieces[p] * stages[s];
			const int rounds = (int)(MIB / in_flight < 16    ? 16
						 : MIB / in_flight > 256 ? 256
									 : MIB / in_flight);
			struct tcb_str text = { 0 };
			double seconds, cycles;
			bulk_text(&text, grid, stages[s], pieces[p], bytes, rounds);
			enum tcb_status status =
				time_memory(gpu, text.data, grid, WARP, 1024 + in_flight, &seconds, &cycles, err);
			tcb_str_fini(&text);
			TCB_TRY(status);
			const double copies = (double)(rounds + 1) * stages[s];
			printf("%6u %3u %8.0f %8.1f\n", pieces[p], stages[s],
			       1e-9 * copies * pieces[p] * grid / seconds, 1e9 * seconds / copies);
		}
	}
	return TCB_OK;
}

int main(int argc, char **argv)
{
	struct bare_gpu gpu = { .multiprocessors = 132, .capability = 90, .clock_hz = 1e9 };
	struct tcb_error err;
	const size_t most = (size_t)1024 * MIB;
	const int writes = argc == 3 && strcmp(argv[1], "--texts") == 0;
	if (argc > 1 && !writes) {
		fprintf(stderr, "usage: gpu_rates [--texts FOLDER]\n");
		return tcb_status_exit(TCB_E_USAGE);
	}
	gpu.folder = writes ? argv[2] : NULL;
	enum tcb_status status = writes ? TCB_OK : bare_gpu_open(most, &gpu, &err);
	if (status != TCB_OK || gpu.capability < 90) {
		printf("SKIPPED: %s\n", status == TCB_OK ? "the GPU is older than sm_90" : err.message);
		bare_gpu_close(&gpu);
		return SKIP;
	}
	printf("sm_%d, %d multiprocessors, %.0f MHz at most\n", gpu.capability, gpu.multiprocessors,
	       1e-6 * gpu.clock_hz);
	status = instruction_costs(&gpu, &err);
	if (status == TCB_OK)
		status = straight_code(&gpu, &err);
	if (status == TCB_OK)
		status = loads(&gpu, most, "device memory", &err);
	if (status == TCB_OK)
		status = loads(&gpu, (size_t)16 * MIB, "the L2", &err);
	if (status == TCB_OK)
		status = bulk_copies(&gpu, most, "device memory", &err);
	if (status == TCB_OK)
		status = bulk_copies(&gpu, (size_t)16 * MIB, "the L2", &err);
	bare_gpu_close(&gpu);
	if (status != TCB_OK)
		fprintf(stderr, "gpu_rates: %s\n", err.message);
	return status == TCB_OK ? 0 : 1;
}
