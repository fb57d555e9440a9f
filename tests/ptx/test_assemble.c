/* SPDX-License-Identifier: MIT
 *
 * Assembling: the real nvJitLink and ptxas where they are (else a visible
 * skip), and for what those will not do on command, false ones that crash,
 * hang, babble and refuse.
 */
#include "cmocka_all.h"

#include <sys/stat.h>
#include <time.h>

#include "ptx/assemble/assemble_private.h"
#include "ptx/findings.h"

static const char kernel[] = ".version 7.0\n"
			     ".target sm_75\n"
			     ".address_size 64\n"
			     ".visible .entry k(.param .u64 p, .param .u32 n)\n"
			     "{\n"
			     "	.reg .b64 %rd<4>;\n"
			     "	.reg .b32 %r<8>;\n"
			     "	.shared .align 4 .b8 s[1024];\n"
			     "	ld.param.u64 %rd1, [p];\n"
			     "	mov.u32 %r1, %tid.x;\n"
			     "	shl.b32 %r3, %r1, 2;\n"
			     "	mov.u32 %r4, s;\n"
			     "	add.u32 %r5, %r4, %r3;\n"
			     "	st.shared.u32 [%r5], %r1;\n"
			     "	bar.sync 0;\n"
			     "	mul.wide.u32 %rd2, %r1, 4;\n"
			     "	add.u64 %rd3, %rd1, %rd2;\n"
			     "	ld.shared.u32 %r6, [s];\n"
			     "	st.global.u32 [%rd3], %r6;\n"
			     "	ret;\n"
			     "}\n";

static const struct tcb_ptx_target sm_89 = { 89, 0 };

static const struct tcb_assembler_info *find(enum tcb_assembler kind)
{
	static struct tcb_assembler_info found[3];
	struct tcb_error err;

	if (found[kind].kind == TCB_ASSEMBLER_NONE && tcb_assembler_find_kind(kind, &found[kind], &err) != TCB_OK) {
		print_message("%s\n", err.message);
		return NULL;
	}
	return &found[kind];
}

struct seen {
	unsigned count;
	uint32_t line[8];
	enum tcb_ptx_severity severity[8];
	char message[400];
};

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct seen *seen = ctx;

	if (seen->count < 8) {
		seen->line[seen->count] = finding->line;
		seen->severity[seen->count] = finding->severity;
	}
	if (!seen->count++)
		strcpy(seen->message, finding->message);
}

/* ---- the log, as text ---- */

static int read_log(const char *log, const char *entry, struct tcb_ptx_resources *out)
{
	char copy[4096];
	const struct tcb_assembly assembly = { .log = copy };

	assert_true(strlen(log) < sizeof copy);
	strcpy(copy, log);
	return tcb_assembly_resources(&assembly, entry, out);
}

static void log_of_two_entries(void **state)
{
	const char *log = "ptxas info    : 0 bytes gmem, 24 bytes cmem[4]\n"
			  "ptxas info    : Compiling entry function 'first' for 'sm_90a'\n"
			  "ptxas info    : Function properties for helper\n"
			  "    64 bytes stack frame, 60 bytes spill stores, 56 bytes spill loads\n"
			  "ptxas info    : Function properties for first\n"
			  "    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
			  "ptxas info    : Used 168 registers, used 3 barriers, 16 bytes cumulative stack size, "
			  "49152 bytes smem, 560 bytes cmem[0], 40 bytes cmem[2]\n"
			  "ptxas info    : Compiling entry function 'first_too' for 'sm_90a'\n"
			  "ptxas info    : Function properties for first_too\n"
			  "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
			  "ptxas info    : Used 10 registers, 528 bytes cmem[0]\n"
			  "info    : Function properties for 'first':\n"
			  "info    : used 9 registers, 0 stack, 0 bytes smem\n";
	struct tcb_ptx_resources r;

	(void)state;
	assert_true(read_log(log, NULL, &r));
	assert_int_equal(r.registers, 168);
	assert_int_equal(r.barriers, 3);
	assert_int_equal(r.stack_bytes, 16);
	assert_int_equal(r.spill_store_bytes, 12);
	assert_int_equal(r.spill_load_bytes, 8);
	assert_int_equal(r.shared_bytes, 49152);
	assert_int_equal(r.constant_bytes, 600);
	assert_true(read_log(log, "first_too", &r));
	assert_int_equal(r.registers, 10);
	assert_int_equal(r.barriers, 0);
	assert_int_equal(r.shared_bytes, 0);
	assert_false(read_log(log, "firs", &r));
	assert_false(read_log(log, "second", &r));
	assert_false(read_log("", NULL, &r));
	assert_false(read_log("ptxas info    : Compiling entry function '", NULL, &r));
}

static void log_of_errors(void **state)
{
	const char *log = "ptxas kernel.ptx, line 13; error   : Not a name of any known instruction: 'addd'\n"
			  "ptxas kernel.ptx, line 21; warning : something odd\n"
			  "ptxas fatal   : Ptx assembly aborted due to errors\n";
	struct seen seen = { 0 };
	const struct tcb_ptx_sink sink = { see, &seen };

	(void)state;
	assert_int_equal(tcb_assemble_log_findings(log, &sink), 1);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.line[0], 13);
	assert_int_equal(seen.severity[0], TCB_PTX_ERROR);
	assert_string_equal(seen.message, "assembler: Not a name of any known instruction: 'addd'");
	assert_int_equal(seen.line[1], 21);
	assert_int_equal(seen.severity[1], TCB_PTX_WARNING);
	seen = (struct seen){ 0 };
	assert_int_equal(tcb_assemble_log_findings("ptxas fatal   : Value 'sm_7' is not defined\n", &sink), 1);
	assert_int_equal(seen.line[0], 0);
	assert_int_equal(tcb_assemble_log_findings("ptxas info    : 0 bytes gmem\n", &sink), 0);
}

/* ---- the real ones ---- */

static void finds(enum tcb_assembler kind)
{
	const struct tcb_assembler_info *info = find(kind);

	if (!info)
		skip_because("no %s here", tcb_assembler_text(kind));
	print_message("%s %u.%u at %s:", tcb_assembler_text(kind), info->version / 10, info->version % 10, info->path);
	for (unsigned i = 0; i < info->target_count; i++)
		print_message(" sm_%u", info->targets[i]);
	print_message("\n");
	assert_true(info->version >= 120);
	assert_true(tcb_assembler_knows(info, 75));
	assert_true(tcb_assembler_knows(info, 89));
	assert_false(tcb_assembler_knows(info, 77));
	for (unsigned i = 1; i < info->target_count; i++)
		assert_true(info->targets[i - 1] < info->targets[i]);
}

static void assembles(enum tcb_assembler kind)
{
	const struct tcb_assembler_info *info = find(kind);

	if (!info)
		skip_because("no %s here", tcb_assembler_text(kind));
	for (unsigned i = 0; i < info->target_count; i++) {
		struct tcb_ptx_target target = { info->targets[i], 0 };
		struct tcb_assembly a;
		tcb_assemble(info, kernel, strlen(kernel), &target, 60, &a);
		if (a.status != TCB_OK)
			fail_msg("sm_%u: %s", target.sm, a.log);
		assert_true(a.resources.registers >= 4 && a.resources.registers <= 32);
		assert_true(a.resources.shared_bytes >= 1024 && a.resources.shared_bytes <= 2048);
		assert_int_equal(a.resources.barriers, 1);
		assert_int_equal(a.resources.spill_store_bytes, 0);
		assert_true(a.resources.constant_bytes > 12);
		/* Where the log says it, the cubin says the same. */
		assert_int_equal(a.resources.constant_bytes, tcb_assemble_cubin_constants(a.cubin, a.cubin_bytes, "k"));
		assert_int_equal(tcb_assemble_cubin_constants(a.cubin, a.cubin_bytes, "kk"), 0);
		/* Cut anywhere, copied so that a sanitizer sees a read beyond: never a wrong number. */
		for (size_t cut = 0; cut < a.cubin_bytes; cut += 61) {
			unsigned char *copy = malloc(cut ? cut : 1);
			memcpy(copy, a.cubin, cut);
			unsigned bytes = tcb_assemble_cubin_constants(copy, cut, "k");
			assert_true(!bytes || bytes == a.resources.constant_bytes);
			free(copy);
		}
		assert_true(a.cubin_bytes > 500);
		assert_memory_equal(a.cubin, "\177ELF", 4);
		assert_true(a.seconds > 0);
		tcb_assembly_fini(&a);
	}
}

/* Broken text, a target too old for it, a target that does not exist: rejected, with what it says and where. */
static void rejects(enum tcb_assembler kind)
{
	const struct tcb_assembler_info *info = find(kind);
	char *bad;
	struct tcb_assembly a;
	struct seen seen = { 0 };
	const struct tcb_ptx_sink sink = { see, &seen };

	if (!info)
		skip_because("no %s here", tcb_assembler_text(kind));
	bad = strdup(kernel);
	memcpy(strstr(bad, "bar.sync"), "bar.sink", 8);
	tcb_assemble(info, bad, strlen(bad), &sm_89, 60, &a);
	assert_int_equal(a.status, TCB_E_FORMAT);
	assert_null(a.cubin);
	assert_null(strstr(a.log, "/proc"));
	assert_true(tcb_assemble_log_findings(a.log, &sink) > 0);
	assert_int_equal(seen.line[0], 15);
	tcb_assembly_fini(&a);
	memcpy(strstr(bad, "bar.sink"), "bar.sync", 8);
	memcpy(strstr(bad, "sm_75"), "sm_90", 5);
	tcb_assemble(info, bad, strlen(bad), &sm_89, 60, &a);
	assert_int_equal(a.status, TCB_E_FORMAT);
	tcb_assembly_fini(&a);
	tcb_assemble(info, kernel, strlen(kernel), &(struct tcb_ptx_target){ 77, 0 }, 60, &a);
	assert_int_equal(a.status, TCB_E_FORMAT);
	assert_non_null(a.log);
	tcb_assembly_fini(&a);
	tcb_assemble(info, "", 0, &sm_89, 60, &a);
	assert_int_equal(a.status, TCB_E_FORMAT);
	tcb_assembly_fini(&a);
	free(bad);
}

/* A text that takes seconds, and a limit of a fifth. */
static void is_killed(enum tcb_assembler kind)
{
	const struct tcb_assembler_info *info = find(kind);
	struct tcb_str text = { 0 };
	struct tcb_assembly a;

	if (!info)
		skip_because("no %s here", tcb_assembler_text(kind));
	tcb_str_add(&text, ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
			   "	.reg .b64 %rd<2>;\n	.reg .f32 %f<500>;\n	ld.param.u64 %rd1, [p];\n");
	for (int i = 0; i < 60000; i++)
		tcb_str_addf(&text, "	fma.rn.f32 %%f%d, %%f%d, %%f%d, %%f%d;\n", i * 7 % 499, i * 13 % 499,
			     i * 17 % 499, i * 29 % 499);
	for (int i = 0; i < 499; i++)
		tcb_str_addf(&text, "	st.global.f32 [%%rd1+%d], %%f%d;\n", 4 * i, i);
	tcb_str_add(&text, "	ret;\n}\n");
	tcb_assemble(info, text.data, text.length, &sm_89, 0.2, &a);
	assert_int_equal(a.status, TCB_E_FAILED);
	assert_true(a.timed_out);
	assert_true(a.seconds < 2);
	assert_non_null(strstr(a.log, "longer than 0.2 s"));
	tcb_assembly_fini(&a);
	tcb_str_fini(&text);
}

/* Two workers: the order is that of submission, a rejected text between good ones costs nobody anything. */
static void pool_keeps_order(enum tcb_assembler kind)
{
	enum { JOBS = 40 };
	const struct tcb_assembler_info *info = find(kind);
	struct tcb_assemble_pool *pool;
	struct tcb_assembly a;
	struct tcb_error err;
	uint64_t start = tcb_clock_ns();

	if (!info)
		skip_because("no %s here", tcb_assembler_text(kind));
	assert_int_equal(tcb_assemble_pool_create(info, 2, 60, &pool, &err), TCB_OK);
	for (int i = 0; i < JOBS; i++) {
		struct tcb_str text = { 0 };
		const char *at = strstr(kernel, "s[1024]");
		tcb_str_addf(&text, "%.*ss[%d]%s", (int)(at - kernel), kernel, 1024 + 16 * i, at + strlen("s[1024]"));
		if (i % 10 == 3)
			tcb_str_add(&text, "nonsense\n");
		assert_int_equal(tcb_assemble_submit(pool, text.data, text.length, &sm_89, &err), TCB_OK);
		tcb_str_fini(&text);
	}
	for (int i = 0; i < JOBS; i++) {
		assert_int_equal(tcb_assemble_next(pool, &a, &err), TCB_OK);
		assert_int_equal(a.status, i % 10 == 3 ? TCB_E_FORMAT : TCB_OK);
		if (a.status == TCB_OK)
			assert_int_equal(a.resources.shared_bytes, 1024 + 16 * i);
		tcb_assembly_fini(&a);
	}
	print_message("%s: %.0f small kernels a second with 2 workers, starting them included\n",
		      tcb_assembler_text(kind), JOBS / ((double)(tcb_clock_ns() - start) * 1e-9));
	assert_int_equal(tcb_assemble_next(pool, &a, &err), TCB_E_NOT_FOUND);
	tcb_assemble_pool_destroy(pool);
}

/* A function that calls itself: it keeps registers of its own only as an object, and a frame in both ways. */
static const char recursive[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".func (.param .b32 r) sum(.param .b32 n)\n{\n"
	"	.reg .b32 %r<6>;\n	.reg .pred %p;\n	ld.param.u32 %r1, [n];\n"
	"	setp.eq.u32 %p, %r1, 0;\n	mov.u32 %r4, 0;\n	@%p bra done;\n	add.u32 %r2, %r1, -1;\n"
	"	{\n	.param .b32 a;\n	.param .b32 b;\n	st.param.b32 [a], %r2;\n"
	"	call.uni (b), sum, (a);\n	ld.param.b32 %r3, [b];\n	}\n	mad.lo.u32 %r4, %r3, %r1, "
	"%r1;\n"
	"done:\n	st.param.b32 [r], %r4;\n	ret;\n}\n"
	".visible .entry k(.param .u64 p)\n{\n	.reg .b32 %r<3>;\n	.reg .b64 %rd;\n"
	"	ld.param.u64 %rd, [p];\n	ld.global.u32 %r1, [%rd];\n	{\n	.param .b32 a;\n	.param "
	".b32 b;\n"
	"	st.param.b32 [a], %r1;\n	call.uni (b), sum, (a);\n	ld.param.b32 %r2, [b];\n	}\n"
	"	st.global.u32 [%rd], %r2;\n	ret;\n}\n";

static void tells_of_functions(enum tcb_assembler kind)
{
	const struct tcb_assembler_info *info = find(kind);
	struct tcb_assemble_build build;
	struct tcb_ptx_called *functions;
	struct tcb_assembly a;
	size_t count;

	if (!info)
		skip_because("no %s here", tcb_assembler_text(kind));
	for (int is_object = 0; is_object < 2; is_object++) {
		assert_int_equal(tcb_assemble_build(is_object ? "-c" : "", &build, NULL), TCB_OK);
		tcb_assemble_as(info, recursive, strlen(recursive), &sm_89, &build, 60, &a);
		if (a.status != TCB_OK)
			fail_msg("%s", a.log);
		assert_int_equal(tcb_assembly_functions(&a, &functions, &count, NULL), TCB_OK);
		assert_int_equal(count, 1);
		assert_int_equal(functions[0].name_length, 3);
		assert_memory_equal(functions[0].name, "sum", 3);
		assert_true(functions[0].stack_bytes > 0);
		if (is_object)
			assert_true(functions[0].registers >= 16);
		else
			assert_int_equal(functions[0].registers, 0);
		free(functions);
		/* Cut anywhere: never a wrong number. */
		const unsigned whole = tcb_assemble_cubin_registers(a.cubin, a.cubin_bytes, "k", 1);
		assert_true(whole > 0);
		for (size_t cut = 0; cut < a.cubin_bytes; cut += 61) {
			unsigned char *copy = malloc(cut ? cut : 1);
			memcpy(copy, a.cubin, cut);
			const unsigned found = tcb_assemble_cubin_registers(copy, cut, "k", 1);
			assert_true(!found || found == whole);
			free(copy);
		}
		tcb_assembly_fini(&a);
	}
}

#define BOTH(name)                                 \
	static void ptxas_##name(void **state)     \
	{                                          \
		(void)state;                       \
		name(TCB_ASSEMBLER_PTXAS);         \
	}                                          \
	static void nvjitlink_##name(void **state) \
	{                                          \
		(void)state;                       \
		name(TCB_ASSEMBLER_NVJITLINK);     \
	}
BOTH(finds)
BOTH(assembles)
BOTH(rejects)
BOTH(is_killed)
BOTH(pool_keeps_order)
BOTH(tells_of_functions)

/* Both are the same compiler, so they must say the same where they have the same version. */
static void both_agree(void **state)
{
	const struct tcb_assembler_info *ptxas = find(TCB_ASSEMBLER_PTXAS), *jit = find(TCB_ASSEMBLER_NVJITLINK);
	struct tcb_assembly a, b;

	(void)state;
	if (!ptxas || !jit || ptxas->version != jit->version)
		skip_because("there are no ptxas and nvJitLink of the same version");
	assert_int_equal(ptxas->target_count, jit->target_count);
	for (unsigned i = 0; i < ptxas->target_count; i++) {
		struct tcb_ptx_target target = { ptxas->targets[i], 0 };
		assert_int_equal(ptxas->targets[i], jit->targets[i]);
		tcb_assemble(ptxas, kernel, strlen(kernel), &target, 60, &a);
		tcb_assemble(jit, kernel, strlen(kernel), &target, 60, &b);
		assert_memory_equal(&a.resources, &b.resources, sizeof a.resources);
		tcb_assembly_fini(&a);
		tcb_assembly_fini(&b);
	}
}

/* What LIBRARY says of TEXT as FLAGS build it, in RESOURCES of its entries in the order of NAMES. */
static void build_all(const struct tcb_assembler_info *info, const char *text, const char *flags,
		      const struct tcb_ptx_module *module, struct tcb_ptx_resources *out)
{
	struct tcb_assemble_build build;
	struct tcb_assembly a;
	struct tcb_error err;

	assert_int_equal(tcb_assemble_build(flags, &build, &err), TCB_OK);
	tcb_assemble_as(info, text, strlen(text), &module->target, &build, 60, &a);
	if (a.status != TCB_OK)
		fail_msg("%s: %s", tcb_assembler_text(info->kind), a.log);
	assert_int_equal(a.is_whole, !strstr(flags, "-c"));
	for (const struct tcb_ptx_function *f = module->functions; f; f = f->next)
		if (f->is_entry && !f->is_declaration)
			assert_true(tcb_assembly_resources(&a, f->symbol->name, out++));
	tcb_assembly_fini(&a);
}

/* A file's kernels as somebody's build compiles them: the same from both, whatever its flags. */
static void both_build_alike(void **state)
{
	static const char *const flags[] = { "", "-O1", "-maxrregcount=32,-O2", "--compile-only", "-c -O1" };
	const struct tcb_assembler_info *ptxas = find(TCB_ASSEMBLER_PTXAS), *jit = find(TCB_ASSEMBLER_NVJITLINK);
	unsigned kernels = 0, moved = 0;

	(void)state;
	if (!ptxas || !jit || ptxas->version != jit->version)
		skip_because("there are no ptxas and nvJitLink of the same version");
	for (unsigned i = 0; i < CORPUS_NAMES; i++) {
		struct tcb_ptx_module *module = read_corpus(corpus_names[i]);
		struct tcb_ptx_resources plain[64] = { 0 }, a[64] = { 0 }, b[64] = { 0 };
		char path[512], *text;

		snprintf(path, sizeof path, "%s/tests/ptx/corpus/%s.ptx", TCB_SOURCE_DIR, corpus_names[i]);
		text = ptx_read(path);
		build_all(ptxas, text, "", module, plain);
		for (unsigned k = 0; k < sizeof flags / sizeof *flags; k++) {
			build_all(ptxas, text, flags[k], module, a);
			build_all(jit, text, flags[k], module, b);
			assert_memory_equal(a, b, sizeof a);
			for (unsigned n = 0; n < 64; n++) {
				kernels += a[n].registers != 0;
				moved += a[n].registers != plain[n].registers;
			}
		}
		free(text);
		tcb_ptx_module_destroy(module);
	}
	print_message("%u kernels, of which flags change the registers of %u\n", kernels, moved);
	assert_true(moved > 10); /* so they were heard */
}

static void flags_are_words(void **state)
{
	static const char *const bad[] = { "kernel.ptx", "-o x", "-O1 --output-file=x", "-arch=sm_80", "-O1,-ias=x" };
	struct tcb_assemble_build build;
	struct tcb_error err;
	char longer[600];

	(void)state;
	assert_int_equal(tcb_assemble_build(NULL, &build, &err), TCB_OK);
	assert_true(build.is_whole && !build.flags[0]);
	assert_int_equal(tcb_assemble_build("  -O1,-v -maxntid=128,1,1\t-maxrregcount 32 ", &build, &err), TCB_OK);
	assert_true(build.is_whole);
	assert_memory_equal(build.flags, "-O1\0-v\0-maxntid=128,1,1\0-maxrregcount\00032\0", 42);
	assert_int_equal(tcb_assemble_build("-O1 --compile-only", &build, &err), TCB_OK);
	assert_false(build.is_whole);
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(tcb_assemble_build(bad[i], &build, &err), TCB_E_USAGE);
	memset(longer, '-', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	assert_int_equal(tcb_assemble_build(longer, &build, &err), TCB_E_USAGE);
}

/* ---- false ones ---- */

static void use(const char *path, struct tcb_assembler_info *info)
{
	struct tcb_error err;

	setenv("TCBTUNE_ASSEMBLER", path, 1);
	if (tcb_assembler_find(info, &err) != TCB_OK)
		fail_msg("%s", err.message);
	unsetenv("TCBTUNE_ASSEMBLER");
}

static enum tcb_status one(const struct tcb_assembler_info *info, const char *text, double limit, const char *words)
{
	struct tcb_assembly a;
	enum tcb_status status;

	tcb_assemble(info, text, strlen(text), &sm_89, limit, &a);
	if (words && !strstr(a.log, words))
		fail_msg("'%s' is not in: %s", words, a.log);
	assert_true((a.cubin != NULL) == (a.status == TCB_OK));
	status = a.status;
	tcb_assembly_fini(&a);
	return status;
}

static void false_nvjitlink(void **state)
{
	struct tcb_assembler_info info;

	(void)state;
	use(FAKE_NVJITLINK_PATH, &info);
	assert_int_equal(info.kind, TCB_ASSEMBLER_NVJITLINK);
	assert_int_equal(info.version, 129);
	assert_int_equal(info.target_count, 2);
	assert_int_equal(info.targets[1], 90);
	assert_int_equal(one(&info, "fine", 5, "Used 104 registers"), TCB_OK);
	assert_int_equal(one(&info, "CRASH", 5, "killed by signal 11"), TCB_E_FAILED);
	assert_int_equal(one(&info, "EXIT", 5, "exit status 7"), TCB_E_FAILED);
	assert_int_equal(one(&info, "HANG", 0.2, "longer than 0.2 s"), TCB_E_FAILED);
	assert_int_equal(one(&info, "REJECT", 5, "it says REJECT"), TCB_E_FORMAT);
}

/* One that does not read LTO-IR, or fails or crashes with it, compiles an object. */
static void false_nvjitlink_of_old(void **state)
{
	static const struct {
		const char *text;
		int is_whole;
		unsigned registers;
	} rows[] = { { "fine", 1, 106 }, { "OLD", 0, 5 }, { "LATE", 0, 6 }, { "WEAK", 0, 6 } };
	struct tcb_assembler_info info;
	struct tcb_assemble_build build;
	struct tcb_assembly a;

	(void)state;
	use(FAKE_NVJITLINK_PATH, &info);
	assert_int_equal(tcb_assemble_build("-O1 -v", &build, NULL), TCB_OK);
	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		tcb_assemble_as(&info, rows[i].text, strlen(rows[i].text), &sm_89, &build, 5, &a);
		if (a.status != TCB_OK)
			fail_msg("%s: %s", rows[i].text, a.log);
		assert_int_equal(a.is_whole, rows[i].is_whole);
		assert_int_equal(a.resources.registers, rows[i].registers);
		tcb_assembly_fini(&a);
	}
	tcb_assemble_as(&info, "REJECT", 6, &sm_89, &build, 5, &a);
	assert_int_equal(a.status, TCB_E_FORMAT);
	assert_true(a.is_whole);
	tcb_assembly_fini(&a);
	tcb_assemble_as(&info, "CRASH", 5, &sm_89, &build, 5, &a);
	assert_int_equal(a.status, TCB_E_FAILED);
	assert_non_null(strstr(a.log, "killed by signal 11"));
	tcb_assembly_fini(&a);
}

/* Whatever happens to one job, those before and after it are served; a pool full of hanging jobs ends at once. */
static void false_nvjitlink_in_a_pool(void **state)
{
	static const char *const texts[] = { "fine", "CRASH", "fine!", "HANG", "fine!!", "EXIT", "fine!!!", "REJECT" };
	enum { TEXTS = sizeof texts / sizeof *texts };
	struct tcb_assembler_info info;
	struct tcb_assemble_pool *pool;
	struct tcb_assembly a;
	struct tcb_error err;
	uint64_t start;

	(void)state;
	use(FAKE_NVJITLINK_PATH, &info);
	assert_int_equal(tcb_assemble_pool_create(&info, 2, 0.2, &pool, &err), TCB_OK);
	for (int i = 0; i < 3 * TEXTS; i++)
		assert_int_equal(tcb_assemble_submit(pool, texts[i % TEXTS], strlen(texts[i % TEXTS]), &sm_89, &err),
				 TCB_OK);
	for (int i = 0; i < 3 * TEXTS; i++) {
		if (i % 2)
			assert_true(tcb_assemble_wait(pool, INT64_MAX));
		assert_int_equal(tcb_assemble_next(pool, &a, &err), TCB_OK);
		const char *text = texts[i % TEXTS];
		assert_int_equal(a.status, text[0] == 'f'                ? TCB_OK
					   : strcmp(text, "REJECT") == 0 ? TCB_E_FORMAT
									 : TCB_E_FAILED);
		assert_int_equal(a.timed_out, strcmp(text, "HANG") == 0);
		if (a.status == TCB_OK)
			assert_int_equal(a.resources.registers, strlen(text) + 100); /* as a whole program */
		tcb_assembly_fini(&a);
	}
	assert_true(tcb_assemble_wait(pool, 0)); /* nothing to wait for */
	tcb_assemble_pool_destroy(pool);
	assert_int_equal(tcb_assemble_pool_create(&info, 2, 60, &pool, &err), TCB_OK);
	for (int i = 0; i < 4; i++)
		assert_int_equal(tcb_assemble_submit(pool, "HANG", 4, &sm_89, &err), TCB_OK);
	start = tcb_clock_ns();
	assert_false(tcb_assemble_wait(pool, start + 20000000));
	assert_true(tcb_clock_ns() >= start + 20000000);
	assert_false(tcb_assemble_wait(pool, 0));
	tcb_assemble_pool_destroy(pool);
	assert_true(tcb_clock_ns() - start < 2000000000);
}

/* A shell script in ptxas' place. */
static void false_ptxas(void **state)
{
	static const char script[] =
		"#!/bin/sh\n"
		"case \"$*\" in\n"
		"*--version*) echo 'Cuda compilation tools, release 12.3, V12.3.1'; exit 0 ;;\n"
		"*--help*) echo \"'compute_89','sm_90','sm_89','sm_90a'\"; exit 0 ;;\n"
		"esac\n"
		"case \"$(cat \"$3\")\" in\n"
		"CRASH) kill -SEGV $$ ;;\n"
		"HANG) sleep 100 & sleep 100 ;;\n"
		"DEAF) exec >&- 2>&-; sleep 100 ;;\n"
		"BABBLE) yes 'ptxas warning : it babbles' | head -c 30000000; exit 3 ;;\n"
		"NOTHING) exit 0 ;;\n"
		"SILENT) printf '\\177ELF' >\"$5\"; echo 'ptxas info    : Compiling entry function k' ;;\n"
		"*) printf '\\177ELF' >\"$5\" ;;\n"
		"esac\n";
	char folder[] = "/tmp/tcbtune-ptxas-XXXXXX", path[64];
	struct tcb_assembler_info info;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/ptxas", folder);
	ptx_write(path, script);
	assert_int_equal(chmod(path, 0755), 0);
	use(path, &info);
	assert_int_equal(info.kind, TCB_ASSEMBLER_PTXAS);
	assert_int_equal(info.version, 123);
	assert_int_equal(info.target_count, 2);
	assert_int_equal(info.targets[0], 89);
	assert_int_equal(one(&info, "fine", 5, NULL), TCB_OK);
	assert_int_equal(one(&info, "CRASH", 5, "killed by signal 11"), TCB_E_FAILED);
	assert_int_equal(one(&info, "HANG", 0.3, "longer than 0.3 s"), TCB_E_FAILED);
	assert_int_equal(one(&info, "DEAF", 0.3, "longer than 0.3 s"), TCB_E_FAILED);
	assert_int_equal(one(&info, "BABBLE", 20, "exit status 3"), TCB_E_FORMAT);
	assert_int_equal(one(&info, "NOTHING", 5, "wrote nothing"), TCB_E_FAILED);
	assert_int_equal(one(&info, "SILENT", 5, "does not say"), TCB_E_FAILED);
	unlink(path);
	rmdir(folder);
}

static void environment_is_obeyed(void **state)
{
	struct tcb_assembler_info info;
	struct tcb_error err;

	(void)state;
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	assert_int_equal(tcb_assembler_find(&info, &err), TCB_E_NOT_FOUND);
	assert_int_equal(info.kind, TCB_ASSEMBLER_NONE);
	setenv("TCBTUNE_ASSEMBLER", "gas", 1);
	assert_int_equal(tcb_assembler_find(&info, &err), TCB_E_USAGE);
	setenv("TCBTUNE_ASSEMBLER", "/nowhere/ptxas", 1);
	assert_int_equal(tcb_assembler_find(&info, &err), TCB_E_NOT_FOUND);
	setenv("TCBTUNE_ASSEMBLER", "/nowhere/libnvJitLink.so.13", 1);
	assert_int_equal(tcb_assembler_find(&info, &err), TCB_E_NOT_FOUND);
	setenv("TCBTUNE_ASSEMBLER", "/bin/true", 1);
	assert_int_equal(tcb_assembler_find(&info, &err), TCB_E_FAILED);
	unsetenv("TCBTUNE_ASSEMBLER");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_of_two_entries),
		cmocka_unit_test(log_of_errors),
		cmocka_unit_test(ptxas_finds),
		cmocka_unit_test(nvjitlink_finds),
		cmocka_unit_test(ptxas_assembles),
		cmocka_unit_test(nvjitlink_assembles),
		cmocka_unit_test(ptxas_rejects),
		cmocka_unit_test(nvjitlink_rejects),
		cmocka_unit_test(ptxas_is_killed),
		cmocka_unit_test(nvjitlink_is_killed),
		cmocka_unit_test(ptxas_pool_keeps_order),
		cmocka_unit_test(nvjitlink_pool_keeps_order),
		cmocka_unit_test(ptxas_tells_of_functions),
		cmocka_unit_test(nvjitlink_tells_of_functions),
		cmocka_unit_test(both_agree),
		cmocka_unit_test(both_build_alike),
		cmocka_unit_test(flags_are_words),
		cmocka_unit_test(false_nvjitlink),
		cmocka_unit_test(false_nvjitlink_of_old),
		cmocka_unit_test(false_nvjitlink_in_a_pool),
		cmocka_unit_test(false_ptxas),
		cmocka_unit_test(environment_is_obeyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
