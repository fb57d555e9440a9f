/* SPDX-License-Identifier: MIT
 *
 * What CUPTI counts for single accesses of shared memory beside what the
 * emulator counts: where the rule of ptx/analyse/wavefronts.c comes from.
 *
 *   shared_patterns [--emulate]
 *
 * Each kernel takes the offset of each lane from the buffer, and makes ACCESSES
 * accesses of one kind there, in every warp; others copy or shuffle or wait.
 * Printed are sums divided by the accesses of all warps.  --emulate: without a
 * GPU, the emulator's column alone.
 *
 * Exit: 0 all wavefronts agree, 4 some do not, 77 without a GPU or profiler, 1 else.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare_gpu.h"
#include "base/util.h"
#include "device/cupti.h"
#include "ptx/emulate/emulate.h"
#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

enum { SKIP = 77, LANES = 32, ACCESSES = 16, BLOCK = 128, GRID = 16, CALLS = 2, BUFFER = 1 << 20, SHARED = 32768 };
enum { OFF = 1 << 30, TEXT = 480 }; /* an offset that takes the lane out */
static const double TOLERANCE = 0.02;

/* --- kernels --- */

enum kind { LOAD, STORE, SHUFFLE, MATRIX_LOAD, ASYNC, ASYNC_WIDE, BULK, SPIN, KINDS };
static const char *const kind_names[KINDS] = {
	"ld", "st", "shfl", "ldmatrix", "cp.async", "cp.async.cg", "bulk", "wait"
};

struct pattern {
	const char *name;
	enum kind kind;
	unsigned bytes;
	uint32_t offset[LANES];
};

static const char *vector(unsigned bytes)
{
	return bytes == 16 ? "v4.b32" : bytes == 8 ? "v2.b32" : bytes == 2 ? "b16" : "b32";
}

static const char *values(unsigned bytes)
{
	return bytes == 16 ? "{%r0, %r1, %r2, %r3}" : bytes == 8 ? "{%r0, %r1}" : bytes == 2 ? "%h0" : "%r0";
}

static void add_access(struct tcb_str *text, const struct pattern *p, int number)
{
	switch (p->kind) {
	case LOAD:
		tcb_str_addf(text, "\t@%%p0 ld.volatile.shared.%s %s, [%%t2];\n", vector(p->bytes), values(p->bytes));
		return;
	case STORE:
		tcb_str_addf(text, "\t@%%p0 st.volatile.shared.%s [%%t2], %s;\n", vector(p->bytes), values(p->bytes));
		return;
	case SHUFFLE:
		tcb_str_add(text, "\tshfl.sync.bfly.b32 %r0, %r0, 1, 31, -1;\n");
		return;
	case MATRIX_LOAD:
		tcb_str_addf(text,
			     "\tldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%r0, %%r1, %%r2, %%r3}, [%%t2];\n"
			     "\txor.b32 %%t9, %%r0, %%r1;\n\txor.b32 %%t8, %%t8, %%t9;\n\tadd.u32 %%t2, %%t2, %%t8;\n");
		return;
	case ASYNC:
	case ASYNC_WIDE:
		tcb_str_addf(text, "\t@%%p0 cp.async.%s.shared.global [%%t2], [%%d3], %u;\n",
			     p->kind == ASYNC_WIDE ? "cg" : "ca", p->bytes);
		return;
	case BULK:
		tcb_str_addf(text,
			     "\t@%%p1 mbarrier.arrive.expect_tx.shared.b64 %%d9, [%%t3], 512;\n"
			     "\t@%%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%t4], "
			     "[%%d4], 512, [%%t3];\n"
			     "wait%d:\n\tmbarrier.try_wait.parity.shared.b64 %%p2, [%%t3], %d;\n\t@!%%p2 bra wait%d;\n",
			     number, number & 1, number);
		return;
	case SPIN: /* lane 0 arrives late, after a way to the memory and back */
		tcb_str_addf(
			text,
			"\t@!%%p1 bra wait%d;\n\tld.volatile.global.b32 %%r0, [%%d0];\n\tadd.u32 %%t3, %%t3, %%r0;\n"
			"\tmbarrier.arrive.shared.b64 %%d9, [%%t3];\n"
			"wait%d:\n\tmbarrier.try_wait.parity.shared.b64 %%p2, [%%t3], %d;\n\t@!%%p2 bra wait%d;\n",
			number, number, number & 1, number);
		return;
	default:
		return;
	}
}

/* Lane's offset from buffer[lane]; each warp has 8 KiB of shared memory of its own, and an mbarrier after them all. */
static void add_kernel(struct tcb_str *text, const struct pattern *p)
{
	tcb_str_addf(text,
		     ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 memory[%d];\n"
		     ".visible .entry k(.param .u64 buffer, .param .u64 out)\n.reqntid %d, 1, 1\n{\n"
		     "\t.reg .u64 %%d<10>;\n\t.reg .pred %%p<4>;\n\t.reg .b32 %%t<12>;\n\t.reg .b32 %%r<4>;\n"
		     "\t.reg .b16 %%h<2>;\n"
		     "\tld.param.u64 %%d0, [buffer];\n\tcvta.to.global.u64 %%d0, %%d0;\n"
		     "\tld.param.u64 %%d1, [out];\n\tcvta.to.global.u64 %%d1, %%d1;\n"
		     "\tmov.u32 %%t0, %%tid.x;\n\tand.b32 %%t1, %%t0, 31;\n\tshr.u32 %%t5, %%t0, 5;\n"
		     "\tmul.wide.u32 %%d2, %%t1, 4;\n\tadd.u64 %%d3, %%d0, %%d2;\n\tld.global.b32 %%t6, [%%d3];\n"
		     "\tsetp.lt.u32 %%p0, %%t6, %d;\n\tsetp.eq.u32 %%p1, %%t1, 0;\n"
		     "\tmov.u32 %%t3, memory;\n\tmad.lo.u32 %%t4, %%t5, 8192, %%t3;\n\tadd.u32 %%t2, %%t4, %%t6;\n"
		     "\tmad.lo.u32 %%t3, %%t5, 8, %%t3;\n\tadd.u32 %%t3, %%t3, 32768;\n"
		     "\tmul.wide.u32 %%d2, %%t1, 16;\n\tadd.u64 %%d3, %%d0, %%d2;\n\tadd.u64 %%d3, %%d3, 4096;\n"
		     "\tadd.u64 %%d4, %%d0, 65536;\n\tmov.u32 %%t8, 0;\n\tmov.u16 %%h0, 0;\n"
		     "\tmov.b32 %%r0, %%t1;\n\tmov.b32 %%r1, 0;\n\tmov.b32 %%r2, 0;\n\tmov.b32 %%r3, 0;\n",
		     SHARED + 64, BLOCK, OFF);
	if (p->kind == BULK || p->kind == SPIN)
		tcb_str_add(text, "\t@%p1 mbarrier.init.shared.b64 [%t3], 1;\n\tfence.proxy.async;\n");
	if (p->kind == MATRIX_LOAD) /* what is added to addresses is 0 */
		for (unsigned i = 0; i < 4; i++)
			tcb_str_addf(text, "\tst.shared.v4.b32 [%%t2+%u], {%%r1, %%r1, %%r1, %%r1};\n", 0u);
	tcb_str_add(text, "\tbar.sync 0;\n");
	for (int i = 0; i < ACCESSES; i++)
		add_access(text, p, i);
	if (p->kind == ASYNC || p->kind == ASYNC_WIDE)
		tcb_str_add(text, "\tcp.async.wait_all;\n");
	tcb_str_add(text, "\tmov.u32 %t9, %ctaid.x;\n\tmad.lo.u32 %t9, %t9, 128, %t0;\n\tmul.wide.u32 %d2, %t9, 4;\n"
			  "\tadd.u64 %d2, %d1, %d2;\n\tadd.u32 %r0, %r0, %r1;\n\tadd.u32 %r2, %r2, %r3;\n"
			  "\tadd.u32 %r0, %r0, %r2;\n\tst.global.b32 [%d2], %r0;\n\tret;\n}\n");
}

/* --- patterns --- */

enum { PATTERNS_MAX = 200 };

struct patterns {
	struct pattern list[PATTERNS_MAX];
	size_t count;
};

static struct pattern *add(struct patterns *patterns, const char *name, enum kind kind, unsigned bytes)
{
	struct pattern *p = &patterns->list[patterns->count++];
	*p = (struct pattern){ .name = name, .kind = kind, .bytes = bytes };
	return p;
}

/* X(name, the granule of lane L) */
#define GRANULE_LIST(X)                                                     \
	X("linear", L)                                                      \
	X("all the same", 0)                                                \
	X("pairs, L^1", L / 2)                                              \
	X("pairs, L^2", (L & 1) | (L >> 2 << 1))                            \
	X("pairs, L^4", (L & 3) | (L >> 3 << 2))                            \
	X("pairs, L^8", (L & 7) | (L >> 4 << 3))                            \
	X("halves the same", L % 16)                                        \
	X("quads", L / 4)                                                   \
	X("eights", L / 8)                                                  \
	X("sixteens", L / 16)                                               \
	X("L % 8", L % 8)                                                   \
	X("L % 4", L % 4)                                                   \
	X("L % 2", L % 2)                                                   \
	X("half linear, half the same", L < 16 ? L : 16)                    \
	X("half pairs, half linear", L < 16 ? L / 2 : L)                    \
	X("pairs L^1, the halves 128 bytes apart", L / 2 % 8 + L / 16 * 32) \
	X("pairs in first half only", L < 16 ? L / 2 : L - 8)               \
	X("8 bytes a quarter, 128 apart", L % 8 + L / 8 * 32)               \
	X("reversed", 31 - L)                                               \
	X("every 2nd", 2 * L)                                               \
	X("every 4th", 4 * L)                                               \
	X("every 8th", 8 * L)                                               \
	X("every 16th", 16 * L)                                             \
	X("every 32nd", L * 32 % 512)                                       \
	X("every 33rd", L * 33 % 512)                                       \
	X("every 9th", 9 * L)                                               \
	X("pairs L^1, every 32nd", L / 2 * 32 % 512)                        \
	X("lower half there", L < 16 ? L : 4096)                            \
	X("even lanes there", L % 2 ? 4096 : L)                             \
	X("even lanes there, pairs", L % 2 ? 4096 : L / 2)                  \
	X("lane 0 there", L ? 4096 : 0)                                     \
	X("quarter there", L < 8 ? L : 4096)                                \
	X("one of eight there, every 8th", L % 8 ? 4096 : L)

#define GRANULE_FUNCTION(name, expression) (expression),
static void granules_of(unsigned L, unsigned *out)
{
	const unsigned all[] = { GRANULE_LIST(GRANULE_FUNCTION) };
	memcpy(out, all, sizeof all);
}
#undef GRANULE_FUNCTION

#define GRANULE_NAME(name, expression) name,
static const char *const granule_names[] = { GRANULE_LIST(GRANULE_NAME) };
#undef GRANULE_NAME
enum { GRANULES = sizeof granule_names / sizeof *granule_names };

static void add_tables(struct patterns *patterns)
{
	static const struct {
		enum kind kind;
		unsigned bytes;
		size_t most;
	} tables[] = { { LOAD, 4, GRANULES }, { LOAD, 8, GRANULES },  { LOAD, 16, GRANULES },
		       { STORE, 4, 8 },       { STORE, 8, GRANULES }, { STORE, 16, GRANULES } };
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
		for (size_t g = 0; g < tables[t].most; g++) {
			struct pattern *p = add(patterns, granule_names[g], tables[t].kind, tables[t].bytes);
			for (unsigned lane = 0; lane < LANES; lane++) {
				unsigned granules[GRANULES];
				granules_of(lane, granules);
				p->offset[lane] = granules[g] >= 4096 ? OFF : granules[g] * p->bytes;
			}
		}
	}
}

/* Offsets by chance: the rule's test, not its source. */
static void add_random(struct patterns *patterns, enum kind kind, unsigned bytes, unsigned range, uint64_t seed)
{
	struct pattern *p = add(patterns, "random", kind, bytes);
	for (unsigned lane = 0; lane < LANES; lane++) {
		seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		p->offset[lane] = (uint32_t)(seed >> 33) % range * bytes;
	}
}

static void add_others(struct patterns *patterns)
{
	static const unsigned ranges[] = { 4, 12, 64, 400 };
	for (unsigned r = 0; r < 4; r++)
		for (unsigned bytes = 4; bytes <= 16; bytes *= 2)
			add_random(patterns, LOAD, bytes, ranges[r], 17 + r + bytes);
	add(patterns, "halfwords", LOAD, 2);
	for (unsigned lane = 0; lane < LANES; lane++)
		patterns->list[patterns->count - 1].offset[lane] = 2 * lane;
	add(patterns, "", SHUFFLE, 4);
	struct pattern *linear = add(patterns, "x4, rows after each other", MATRIX_LOAD, 16);
	struct pattern *strided = add(patterns, "x4, rows 128 bytes apart", MATRIX_LOAD, 16);
	struct pattern *async = add(patterns, "linear", ASYNC, 4);
	struct pattern *wide = add(patterns, "linear", ASYNC_WIDE, 16);
	struct pattern *apart = add(patterns, "128 bytes apart", ASYNC_WIDE, 16);
	for (unsigned lane = 0; lane < LANES; lane++) {
		linear->offset[lane] = wide->offset[lane] = 16 * lane;
		strided->offset[lane] = apart->offset[lane] = 128 * lane;
		async->offset[lane] = 4 * lane;
	}
	add(patterns, "512 bytes per warp", BULK, 16);
	add(patterns, "for a lane that comes late", SPIN, 8);
}

/* --- the emulator --- */

struct counted {
	double ld, st, ld_ideal, st_ideal, instructions, threads, divergent;
};

/* What is read was never written, and lanes write to one place: that is meant. */
static void keep_finding(void *ctx, const struct tcb_ptx_finding *finding)
{
	char *message = ctx;
	if (finding->severity == TCB_PTX_ERROR && finding->rule != TCB_PTX_RULE_UNWRITTEN_SHARED &&
	    finding->rule != TCB_PTX_RULE_RACE && finding->rule != TCB_PTX_RULE_ASYNC_PENDING)
		snprintf(message, TEXT, "line %u: %s", finding->line, finding->message);
}

static enum tcb_status emulate(const char *text, const struct pattern *p, struct counted *out, struct tcb_error *err)
{
	static _Alignas(256) unsigned char buffer[BUFFER], result[BARE_OUT];
	struct tcb_ptx_module *module;
	struct tcb_ptx_program *program = NULL;
	struct tcb_ptx_memory *memory = NULL;
	struct tcb_ptx_emulation counts;
	uint64_t params[2];
	const struct tcb_ptx_launch launch = {
		.grid = { GRID, 1, 1 }, .block = { BLOCK, 1, 1 }, .params = params, .param_bytes = sizeof params
	};
	char found[TEXT] = "";
	const struct tcb_ptx_sink sink = { keep_finding, found };
	memcpy(buffer, p->offset, sizeof p->offset);
	memset(out, 0, sizeof *out);
	TCB_TRY(tcb_ptx_parse("pattern", text, strlen(text), &module, err));
	struct tcb_ptx_function *function = tcb_ptx_function_find(module, "k");
	enum tcb_status status = tcb_ptx_program_create(function, &program, err);
	if (status == TCB_OK)
		status = tcb_ptx_memory_create(&memory, err);
	if (status == TCB_OK)
		status = tcb_ptx_memory_add(memory, "buffer", buffer, BUFFER, 256, TCB_PTX_READ_ONLY, &params[0], err);
	if (status == TCB_OK)
		status = tcb_ptx_memory_add(memory, "out", result, BARE_OUT, 256, TCB_PTX_MAY_WRITE, &params[1], err);
	if (status == TCB_OK)
		status = tcb_ptx_emulate(program, &launch, memory, &sink, &counts, err);
	if (status == TCB_OK && found[0])
		status = tcb_fail(err, TCB_E_VERIFY, "%s %s: %s", kind_names[p->kind], p->name, found);
	for (const struct tcb_ptx_block *b = function->first; b && status == TCB_OK; b = b->next) {
		for (const struct tcb_ptx_ins *ins = b->first; ins; ins = ins->next) {
			const struct tcb_ptx_counts *c = &counts.by_ins[ins->number];
			const int is_store = ins->op == TCB_PTX_OP_ST;
			out->instructions += (double)c->warps;
			out->threads += (double)c->threads;
			out->divergent += (double)c->divergent;
			*(is_store ? &out->st : &out->ld) += (double)c->wavefronts;
			*(is_store ? &out->st_ideal : &out->ld_ideal) += (double)c->wavefronts_ideal;
		}
	}
	tcb_ptx_memory_destroy(memory);
	tcb_ptx_program_destroy(program);
	tcb_ptx_module_destroy(module);
	return status;
}

/* --- the profiler --- */

#define METRIC_LIST(X)                                                                        \
	X(LD, "ld", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")                   \
	X(ST, "st", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")                   \
	X(ALL, "all", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")                       \
	X(SASS_LD, "sass ld", "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum") \
	X(SASS_ST, "sass st", "sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum") \
	X(CONFLICTS, "conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum")       \
	X(CONFLICTS_LD, "of ld", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum")  \
	X(CONFLICTS_ST, "of st", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum")  \
	X(INS_LD, "ins ld", "sm__sass_inst_executed_op_shared_ld.sum")                        \
	X(INS_ST, "ins st", "sm__sass_inst_executed_op_shared_st.sum")                        \
	X(INS, "ins", "smsp__inst_executed.sum")                                              \
	X(THREADS, "threads", "smsp__thread_inst_executed_per_inst_executed.ratio")           \
	X(BRANCHES, "targets", "sm__sass_branch_targets.sum")                                 \
	X(DIVERGENT, "diverg.", "sm__sass_branch_targets_threads_divergent.sum")

enum metric {
#define METRIC_ENUM(id, title, name) METRIC_##id,
	METRIC_LIST(METRIC_ENUM)
#undef METRIC_ENUM
		METRIC_COUNT
};
static const char *const metric_titles[] = {
#define METRIC_TITLE(id, title, name) title,
	METRIC_LIST(METRIC_TITLE)
#undef METRIC_TITLE
};
static const char *const metric_names[] = {
#define METRIC_NAME(id, title, name) name,
	METRIC_LIST(METRIC_NAME)
#undef METRIC_NAME
};

struct calls {
	const struct bare_gpu *gpu;
	const struct bare_kernel *kernel;
	struct tcb_error *err;
};

static int make_calls(void *ctx)
{
	const struct calls *calls = ctx;
	double seconds;
	for (int i = 0; i < CALLS; i++)
		if (bare_kernel_run(calls->gpu, calls->kernel, &seconds, calls->err) != TCB_OK)
			return -1;
	return 0;
}

static enum tcb_status profile(const struct bare_gpu *gpu, struct tcb_cupti *cupti, const char *text,
			       const struct pattern *p, double value[METRIC_COUNT], struct tcb_error *err)
{
	struct bare_kernel kernel;
	struct calls calls = { gpu, &kernel, err };
	struct tcb_counter counters[64];
	size_t count = 0;
	for (int m = 0; m < METRIC_COUNT; m++)
		value[m] = NAN;
	TCB_TRY(tcb_cuda_check(gpu->cuda, gpu->cuda->copy_in(gpu->buffer, p->offset, sizeof p->offset), "cuMemcpyHtoD",
			       err));
	/* never unloaded: instructions of loaded modules are patched for some counters */
	TCB_TRY(bare_kernel_load(gpu, text, &kernel, err));
	kernel.grid = GRID;
	kernel.block = BLOCK;
	enum tcb_status status = tcb_cupti_measure(cupti, make_calls, &calls, CALLS, counters,
						   sizeof counters / sizeof *counters, &count, err);
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		for (int m = 0; m < METRIC_COUNT; m++)
			if (strcmp(counters[i].name, metric_names[m]) == 0)
				value[m] = counters[i].value;
	return status;
}

/* --- the table --- */

static void print_row(const struct pattern *p, const struct counted *c, const double *value, size_t *apart)
{
	const double warps = (double)GRID * BLOCK / LANES, all = warps * ACCESSES;
	const char *mark = "";
	if (value) {
		const double got = p->kind == STORE ? value[METRIC_ST] : value[METRIC_LD];
		const double want = p->kind == STORE ? c->st : c->ld;
		if ((p->kind == LOAD || p->kind == STORE || p->kind == MATRIX_LOAD) &&
		    !(fabs(got - want) <= TOLERANCE * want)) {
			mark = "!";
			++*apart;
		}
	}
	printf("%-11s %2u %-38s | %6.2f %6.2f %6.2f %6.2f %6.2f %6.2f%s |", kind_names[p->kind], p->bytes, p->name,
	       c->ld / all, c->st / all, c->ld_ideal / all + c->st_ideal / all, c->instructions / warps,
	       c->instructions > 0 ? c->threads / c->instructions : 0, c->divergent / warps, mark);
	for (int m = 0; value && m < METRIC_COUNT; m++) {
		const double per = m == METRIC_THREADS                                                ? 1
				   : m == METRIC_INS || m == METRIC_BRANCHES || m == METRIC_DIVERGENT ? warps
												      : all;
		printf(" %8.2f", value[m] / per);
	}
	printf("\n");
	fflush(stdout);
}

struct job {
	const struct patterns *patterns;
	const struct bare_gpu *gpu; /* NULL: the emulator alone */
	struct tcb_cupti *cupti;
};

/* What the processes have done: in memory that they share. */
struct progress {
	size_t next, apart;
	enum tcb_status status;
	struct tcb_error error;
};

static enum tcb_status run_from(const struct job *job, struct progress *progress, struct tcb_error *err)
{
	while (progress->next < job->patterns->count) {
		const struct pattern *p = &job->patterns->list[progress->next++];
		struct tcb_str text = { 0 };
		struct counted counted;
		double value[METRIC_COUNT];
		add_kernel(&text, p);
		enum tcb_status status = emulate(text.data, p, &counted, err);
		if (status == TCB_OK && job->gpu)
			status = profile(job->gpu, job->cupti, text.data, p, value, err);
		tcb_str_fini(&text);
		if (status != TCB_OK)
			return status;
		print_row(p, &counted, job->gpu ? value : NULL, &progress->apart);
	}
	return TCB_OK;
}

static enum tcb_status run_on_gpu(const struct patterns *patterns, struct progress *progress, struct tcb_error *err)
{
	struct bare_gpu gpu;
	struct job job = { patterns, &gpu, NULL };
	enum tcb_status status = bare_gpu_open(BUFFER, &gpu, err);
	if (status == TCB_OK && gpu.capability < 90)
		status = tcb_fail(err, TCB_E_UNSUPPORTED, "the GPU is older than sm_90");
	if (status == TCB_OK)
		status = tcb_cupti_open(gpu.context, gpu.device, &job.cupti, err);
	if (status == TCB_OK && progress->next == 0 && *tcb_cupti_note(job.cupti))
		printf("%s\n", tcb_cupti_note(job.cupti));
	if (status == TCB_OK)
		status = run_from(&job, progress, err);
	return status;
}

/* A process that the profiler's library takes down is followed by another one, which goes on behind its pattern. */
static enum tcb_status run_in_processes(const struct patterns *patterns, struct progress *progress)
{
	while (progress->next < patterns->count) {
		const size_t first = progress->next;
		int how = 0;
		fflush(stdout);
		const pid_t child = fork();
		if (child == 0) {
			progress->status = run_on_gpu(patterns, progress, &progress->error);
			fflush(stdout);
			_exit(0); /* the driver's and the profiler's ends are the process's */
		}
		if (child < 0 || waitpid(child, &how, 0) != child)
			return tcb_fail(&progress->error, TCB_E_FAILED, "no process for the GPU");
		if (WIFEXITED(how) && progress->status != TCB_OK)
			return progress->status;
		if (WIFSIGNALED(how) && progress->next == first)
			return tcb_fail(&progress->error, TCB_E_FAILED, "the process for the GPU ended: %s",
					strsignal(WTERMSIG(how)));
		if (WIFSIGNALED(how) && progress->next == first + 1)
			printf("(%s %s: %s)\n", kind_names[patterns->list[first].kind], patterns->list[first].name,
			       strsignal(WTERMSIG(how)));
		else if (WIFSIGNALED(how))
			progress->next--; /* it did others before: once more, in a process of its own */
	}
	return TCB_OK;
}

static void print_head(int has_gpu)
{
	printf("%-53s | emulator: ld, st, ideal, instructions, threads each, diverg. |", "");
	for (int m = 0; has_gpu && m < METRIC_COUNT; m++)
		printf(" %s", metric_titles[m]);
	printf("\n");
}

int main(int argc, char **argv)
{
	static struct patterns patterns;
	const int emulates = argc == 2 && strcmp(argv[1], "--emulate") == 0;
	struct progress *progress =
		mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc > 1 && !emulates) {
		fprintf(stderr, "usage: shared_patterns [--emulate]\n");
		return tcb_status_exit(TCB_E_USAGE);
	}
	if (progress == MAP_FAILED)
		return 1;
	add_tables(&patterns);
	add_others(&patterns);
	print_head(!emulates);
	const enum tcb_status status =
		emulates ? run_from(&(struct job){ .patterns = &patterns }, progress, &progress->error)
			 : run_in_processes(&patterns, progress);
	if (status == TCB_E_UNSUPPORTED || status == TCB_E_NOT_FOUND) {
		printf("SKIPPED: %s\n", progress->error.message);
		return SKIP;
	}
	if (status != TCB_OK) {
		fprintf(stderr, "shared_patterns: %s\n", progress->error.message);
		return 1;
	}
	if (!emulates)
		printf("wavefronts of loads and stores: %zu patterns apart by more than %.0f %%\n", progress->apart,
		       100 * TOLERANCE);
	return progress->apart ? tcb_status_exit(TCB_E_VERIFY) : 0;
}
