/* SPDX-License-Identifier: MIT
 *
 * How many thread-instructions per second the emulator executes on one core, with
 * all checks on, and how much sooner two threads are done.  By processor time, so
 * that what else runs does not show; the two threads' ratio is of times on the
 * clock and needs two free cores.  "cost" is what both threads spent over what one
 * did.  What tensor cores do is one instruction of 32 threads, however large its
 * product: "products" are its multiply-adds.  Three mixes of instructions by themselves, then plain kernels as nvcc
 * writes them and kernels as Triton does, which have a limit to keep to.
 *
 *     bench_emulate [seconds for each, default 0.5 [a kernel's name]]
 */
#include <time.h>

#include "ptx/emulate/tensor/emu_matrix.h"
#include "ptx/ir/opcodes.h"
#include "ptx/run/run.h"
#include "ptx/text/text.h"
#include "ptx_tools.h"

/* Million thread-instructions per second that a core shall do of a plain kernel. */
static const double limit = 50;

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 q)\n{\n"

static const char registers[] =
	HEAD "	.reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>;\n"
	     "	ld.param.u64 %d1, [q];\n"
	     "	mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3F7FF000; mov.f32 %f3, 0f3F000000;\n"
	     "	mov.u32 %r2, 0; mov.u32 %r3, 7;\n"
	     "L:	fma.rn.f32 %f1, %f1, %f2, %f3; mul.f32 %f4, %f1, %f2; add.f32 %f1, %f4, %f3;\n"
	     "	xor.b32 %r3, %r3, %r2; shl.b32 %r4, %r3, 1; mad.lo.s32 %r3, %r4, %r1, %r2; and.b32 %r3, %r3, 65535;\n"
	     "	add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 1000; @%p1 bra L;\n"
	     "	cvt.rn.f32.u32 %f5, %r3; add.f32 %f1, %f1, %f5; mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ntid.x;\n"
	     "	mad.lo.u32 %r1, %r5, %r6, %r1;\n"
	     "	mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2; st.global.f32 [%d3], %f1; ret;\n}\n";

static const char dots[] =
	HEAD "	.reg .b32 %r<19>; .reg .b64 %d<9>; .reg .pred %p<3>;\n"
	     "	ld.param.u64 %d1, [p]; ld.param.u64 %d4, [q];\n"
	     "	mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 16; add.u64 %d3, %d1, %d2;\n"
	     "	mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
	     "L:	ld.global.nc.v4.u32 {%r4, %r5, %r6, %r7}, [%d3];\n"
	     "	and.b32 %r8, %r4, 252645135; shr.u32 %r9, %r4, 4; and.b32 %r9, %r9, 252645135;\n"
	     "	dp4a.s32.s32 %r3, %r8, %r5, %r3; dp4a.s32.s32 %r3, %r9, %r6, %r3; dp4a.s32.s32 %r3, %r7, %r7, %r3;\n"
	     "	add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 200; @%p1 bra L; mov.u32 %r5, %ctaid.x;\n"
	     "	mov.u32 %r6, %ntid.x; mad.lo.u32 %r1, %r5, %r6, %r1;\n"
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
	     "	bar.sync 0; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, 40; @%p1 bra L; mov.u32 %r5, %ctaid.x;\n"
	     "	mov.u32 %r6, %ntid.x; mad.lo.u32 %r1, %r5, %r6, %r1; mul.wide.u32 %d2, %r1, 4;\n"
	     "	add.u64 %d5, %d4, %d2; st.global.f32 [%d5], %f1; ret;\n}\n";

enum { ARGUMENTS = 12 };

struct kernel {
	const char *name, *text, *file, *entry; /* FILE, under tests, unless there is TEXT */
	uint32_t grid[2], block[2];
	uint32_t dynamic_shared;
	const char *arguments[ARGUMENTS];
};

#define IN "buf:f32[65536]:ro=random"
#define OUT "buf:f32[65536]=zero"
#define IN4 "buf:f32[262144]:ro=random"
#define OUT4 "buf:f32[262144]=zero"

static const struct kernel mixes[] = {
	{ "registers", registers, NULL, "k", { 8, 1 }, { 256, 1 }, 0, { IN, OUT } },
	{ "dots", dots, NULL, "k", { 16, 1 }, { 256, 1 }, 0, { IN, OUT } },
	{ "shared", shared, NULL, "k", { 16, 1 }, { 256, 1 }, 0, { IN, OUT } },
};

static const struct kernel plain[] = {
	{ "saxpy", NULL, "cli/ptx/saxpy", "saxpy", { 256, 1 }, { 256, 1 }, 0, { IN, OUT, "f32=2", "u32=65536" } },
	{ "reduction",
	  NULL,
	  "ptx/corpus/block_reduce",
	  "tree",
	  { 128, 1 },
	  { 256, 1 },
	  1024,
	  { IN, OUT, "u32=65536" } },
	{ "sum of rows",
	  NULL,
	  "ptx/corpus/block_reduce",
	  "block_a_row",
	  { 32, 1 },
	  { 256, 1 },
	  0,
	  { IN, OUT, "u32=2048" } },
	{ "matmul",
	  NULL,
	  "ptx/corpus/tiled_gemm",
	  "gemm_edges",
	  { 6, 6 },
	  { 16, 16 },
	  0,
	  { IN, IN, OUT, "u32=96", "u32=96", "u32=96" } },
	{ "matmul 8x8",
	  NULL,
	  "ptx/corpus/tiled_gemm",
	  "gemm_registers",
	  { 2, 2 },
	  { 256, 1 },
	  0,
	  { IN, IN, OUT, "u32=64", "u32=16" } },
	{ "transpose",
	  NULL,
	  "ptx/corpus/tiled_transpose",
	  "tiled_transpose",
	  { 8, 8 },
	  { 32, 8 },
	  0,
	  { IN, OUT, "u32=256", "u32=256" } },
	{ "histogram",
	  NULL,
	  "ptx/whole/histogram",
	  "histogram",
	  { 16, 1 },
	  { 192, 1 },
	  0,
	  { "buf:u8[262144]:ro=random", "buf:u32[256]=zero", "s32=262144" } },
	{ "scan",
	  NULL,
	  "ptx/whole/scan",
	  "scan",
	  { 64, 1 },
	  { 512, 1 },
	  0,
	  { "buf:u32[32768]:ro=random", "buf:u32[32768]=zero", "buf:u64[64]=zero", "buf:u32[1]=zero", "s32=32768" } },
};

#define HALVES_IN "buf:f16[262144]:ro=random"
#define HALVES_OUT "buf:f16[262144]=zero"
/* What Triton's launcher adds to each kernel: scratch memory that these do not use. */
#define SCRATCH "u64=0", "u64=0"

static const struct kernel triton[] = {
	{ "add", NULL, "ptx/triton/add", "add", { 256, 1 }, { 128, 1 }, 0, { IN4, IN4, OUT4, "u32=262144", SCRATCH } },
	{ "softmax",
	  NULL,
	  "ptx/triton/softmax",
	  "softmax",
	  { 128, 1 },
	  { 128, 1 },
	  16,
	  { OUT4, IN4, "u32=1024", "u32=1024", "u32=1000", SCRATCH } },
	{ "layernorm",
	  NULL,
	  "ptx/triton/layernorm",
	  "layernorm",
	  { 256, 1 },
	  { 128, 1 },
	  16,
	  { HALVES_IN, HALVES_OUT, HALVES_IN, HALVES_IN, "u32=1024", "f32=1e-5", SCRATCH } },
	{ "matmul",
	  NULL,
	  "ptx/triton/matmul",
	  "matmul",
	  { 4, 4 },
	  { 128, 1 },
	  24576,
	  { HALVES_IN, HALVES_IN, HALVES_OUT, "u32=256", "u32=256", "u32=256", "u32=256", "u32=256", "u32=256",
	    SCRATCH } },
	{ "matmul 90",
	  NULL,
	  "ptx/triton/matmul_sm90",
	  "matmul",
	  { 4, 4 },
	  { 128, 1 },
	  24576,
	  { HALVES_IN, HALVES_IN, HALVES_OUT, "u32=256", "u32=256", "u32=256", "u32=256", "u32=256", "u32=256",
	    SCRATCH } },
	{ "attention",
	  NULL,
	  "ptx/triton/attention",
	  "attention",
	  { 4, 4 },
	  { 128, 1 },
	  40960,
	  { HALVES_IN, HALVES_IN, HALVES_IN, HALVES_OUT, "f32=0.1", "u32=256", SCRATCH } },
	{ "attention 90",
	  NULL,
	  "ptx/triton/attention_sm90",
	  "attention",
	  { 4, 4 },
	  { 128, 1 },
	  57344,
	  { HALVES_IN, HALVES_IN, HALVES_IN, HALVES_OUT, "f32=0.1", "u32=256", SCRATCH } },
};

static const struct group {
	const struct kernel *kernels;
	size_t count;
	int is_plain;
	const char *title;
} groups[] = {
	{ mixes, sizeof mixes / sizeof *mixes, 0, "" },
	{ plain, sizeof plain / sizeof *plain, 1, "" },
	{ triton, sizeof triton / sizeof *triton, 1, "As Triton writes them\n" },
};

static double processor_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The kernel's text; TCB_SOURCE_DIR's file or a copy. */
static char *text_of(const struct kernel *kernel)
{
	char path[512], *text;

	if (kernel->text)
		return strdup(kernel->text);
	snprintf(path, sizeof path, "%s/tests/%s.ptx", TCB_SOURCE_DIR, kernel->file);
	text = ptx_read(path);
	if (!text)
		fail_msg("%s cannot be read", path);
	return text;
}

struct spent {
	double processor, clock; /* seconds */
	uint64_t threads;        /* thread-instructions of a launch */
	uint64_t products;       /* multiply-adds of tensor cores */
};

static uint64_t products_of(const struct tcb_ptx_function *entry, const struct tcb_ptx_emulation *counts)
{
	struct tcb_ptx_product product;
	uint64_t sum = 0;

	for (const struct tcb_ptx_block *block = entry->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if (tcb_ptx_product_of(ins, &product)) /* of wgmma by four warps */
				sum += counts->by_ins[ins->number].warps * product.m * product.n * product.k /
				       (ins->op == TCB_PTX_OP_WGMMA ? 4 : 1);
	return sum;
}

/* A launch on new arguments, without what it takes to read the kernel. */
static struct spent launch(const struct kernel *kernel, struct tcb_ptx_function *entry, unsigned threads)
{
	struct tcb_ptx_launch launch = { .grid = { kernel->grid[0], kernel->grid[1], 1 },
					 .block = { kernel->block[0], kernel->block[1], 1 },
					 .dynamic_shared = kernel->dynamic_shared,
					 .seed = 1,
					 .threads = threads };
	struct tcb_ptx_emulation counts;
	struct tcb_error err = { TCB_OK, "" };
	struct spent spent;
	struct tcb_ptx_run *run;
	uint64_t begin;

	if (tcb_ptx_run_open(entry, &run, &err) != TCB_OK)
		fail_msg("%s", err.message);
	for (unsigned i = 0; i < ARGUMENTS && kernel->arguments[i]; i++)
		if (tcb_ptx_run_argument(run, kernel->arguments[i], 1, &err) != TCB_OK)
			fail_msg("%s: %s", kernel->name, err.message);
	begin = tcb_clock_ns();
	spent.processor = processor_seconds();
	if (tcb_ptx_run_launch(run, &launch, NULL, &counts, &err) != TCB_OK)
		fail_msg("%s: %s", kernel->name, err.message);
	spent.processor = processor_seconds() - spent.processor;
	spent.clock = (double)(tcb_clock_ns() - begin) / 1e9;
	spent.threads = counts.total.threads;
	spent.products = products_of(entry, &counts);
	if (counts.findings)
		fail_msg("%s: %llu findings", kernel->name, (unsigned long long)counts.findings);
	tcb_ptx_run_close(run);
	return spent;
}

/* Launches by one thread and by two in turns; of each the least. */
static void measure(const struct kernel *kernel, double seconds, int is_plain)
{
	struct tcb_error err = { TCB_OK, "" };
	struct tcb_ptx_module *module;
	struct tcb_ptx_function *entry;
	struct spent best[2] = { { 1e9, 1e9, 0, 0 }, { 1e9, 1e9, 0, 0 } };
	const uint64_t begin = tcb_clock_ns();
	char *text = text_of(kernel);
	double rate;

	if (tcb_ptx_parse(kernel->name, text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	for (entry = module->functions; entry && strcmp(entry->symbol->name, kernel->entry) != 0;)
		entry = entry->next;
	do {
		for (unsigned i = 0; i < 2; i++) {
			const struct spent now = launch(kernel, entry, i + 1);

			best[i].threads = now.threads;
			best[i].products = now.products;
			best[i].processor = now.processor < best[i].processor ? now.processor : best[i].processor;
			best[i].clock = now.clock < best[i].clock ? now.clock : best[i].clock;
		}
	} while ((double)(tcb_clock_ns() - begin) < seconds * 1e9);
	rate = (double)best[0].threads / best[0].processor / 1e6;
	printf("%-12s %10.1f %10.2f %8.2f %10.2f %10.0f%s\n", kernel->name, rate, best[0].clock / best[1].clock,
	       best[1].processor / best[0].processor, (double)best[0].threads / 1e6,
	       (double)best[0].products / best[0].processor / 1e6, is_plain && rate < limit ? "  below the limit" : "");
	tcb_ptx_module_destroy(module);
	free(text);
}

int main(int argc, char **argv)
{
	const double seconds = argc > 1 ? atof(argv[1]) : 0.5;

	printf("Million thread-instructions per second on a core; the limit for the kernels is %g.\n", limit);
	printf("%-12s %10s %10s %8s %10s %10s\n", "", "per second", "2 threads", "cost", "a launch", "products");
	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
		printf("%s", groups[g].title);
		for (size_t i = 0; i < groups[g].count; i++)
			if (argc < 3 || strcmp(groups[g].kernels[i].name, argv[2]) == 0)
				measure(&groups[g].kernels[i], seconds, groups[g].is_plain);
	}
	return 0;
}
