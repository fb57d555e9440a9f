/* SPDX-License-Identifier: MIT
 *
 * tcbtune ptx --op OP: the PTX of a geometry, and with --check what can be
 * said of it without a GPU.  tcbtune ptx check FILE: the same for anybody's;
 * tcbtune ptx run FILE: executes it in the emulator on their data.
 */
#include <string.h>

#include "cli/ptx/cmd_ptx.h"

static const struct cli_option options[] = {
	{ NULL, "check|run FILE...", CLI_LIST, offsetof(struct ptx_args, words),
	  "judge PTX files (- for standard input; 'build/*.ptx' in quotes is expanded too)",
	  .note = "with --op, the op's kernel" },
	CLI_OPTION_OP(struct ptx_args, 0, "the op whose kernel is wanted"),
	{ "target", "SM", CLI_TEXT, offsetof(struct ptx_args, target),
	  "the capability to emit, assemble and judge for: sm_89, sm_90a", .note = "of a file, its own .target" },
	{ "shape", "MxNxK", CLI_TEXT, offsetof(struct ptx_args, shape), "the problem's shape",
	  .note = "the op's first default shape" },
	CLI_OPTION_CONTRACT(struct ptx_args),
	{ "geometry", "G", CLI_TEXT, offsetof(struct ptx_args, geometry), "the geometry to emit",
	  .note = "the op's default for that target" },
	{ "check", NULL, CLI_FLAG, offsetof(struct ptx_args, check),
	  "assemble, analyse and emulate the op's kernel against its reference" },
	{ "out", "FILE", CLI_LIST, offsetof(struct ptx_args, out),
	  "where the PTX of an op goes; of a run, I=FILE: where argument I's memory goes (.npy or raw)",
	  .note = "standard output" },
	{ "optimise", NULL, CLI_FLAG, offsetof(struct ptx_args, optimise),
	  "run the optimiser's passes over the op's kernel, which a sweep measures as it was emitted" },
	{ "dump-after", "PASS", CLI_TEXT, offsetof(struct ptx_args, dump_after),
	  "optimise, and print the kernel on standard error after this pass (all: after each)" },
	{ "stop-after", "PASS", CLI_TEXT, offsetof(struct ptx_args, stop_after), "optimise up to this pass" },
	{ "block", "XxYxZ", CLI_LIST, offsetof(struct ptx_args, blocks),
	  "threads of a block, for judging or running a file; of the kernel that the --kernel beside it names",
	  .note = "the file's .reqntid or .maxntid, else 256" },
	{ "kernel", "NAME", CLI_LIST, offsetof(struct ptx_args, kernels),
	  "the kernel to run, as the text or as its author calls it; of check, the kernels that a --block each is for: "
	  "a name or a pattern",
	  .note = "to run: the file's only one" },
	{ "launches", "FILE", CLI_TEXT, offsetof(struct ptx_args, launches),
	  "the blocks of kernels to judge: lines of a block, perhaps dynamic shared memory, and a kernel's name or "
	  "pattern",
	  .note = "none" },
	{ "grid", "XxYxZ", CLI_TEXT, offsetof(struct ptx_args, grid), "blocks of a run", .note = "1" },
	{ "cluster", "XxYxZ", CLI_TEXT, offsetof(struct ptx_args, cluster), "blocks of a cluster, for a run",
	  .note = "the file's .reqnctapercluster, else none" },
	{ "arg", "A", CLI_LIST, offsetof(struct ptx_args, arguments),
	  "the next parameter of a run: buf:f32[1024]=random, buf:u8[64x64]:ro=@FILE, u32=5, b8[16]=hex:.., "
	  "tmap:0:f16[64x64]:box=64x8:swizzle=128",
	  .note = "none" },
	{ "expect", "I@FILE", CLI_LIST, offsetof(struct ptx_args, expect),
	  "what argument I's memory must hold after a run", .note = "none" },
	{ "tolerance", "T", CLI_NUMBER, offsetof(struct ptx_args, tolerance),
	  "for --expect: |result - expected| <= T (1 + |expected|)", .note = "none: equal" },
	CLI_OPTION_SEED(struct ptx_args, "for a run's random memory, and its order of warps when that is shuffled"),
	{ "order", "O", CLI_WORD, offsetof(struct ptx_args, order), "in which order a run's warps take turns",
	  .words = "shuffled|ascending", .fallback = "shuffled" },
	{ "step-limit", "N", CLI_COUNT, offsetof(struct ptx_args, step_limit),
	  "warp instructions after which a run is stopped as one that never ends", .fallback = "0",
	  .note = "about 2^32" },
	{ "threads", "N", CLI_COUNT, offsetof(struct ptx_args, threads),
	  "host threads that run blocks which do not depend on each other; nothing else changes with them",
	  .fallback = "0", .note = "one for each core that may be used" },
	{ "progress", NULL, CLI_FLAG, offsetof(struct ptx_args, progress), "tell how far a run is, as on a terminal" },
	{ "cooperative", NULL, CLI_FLAG, offsetof(struct ptx_args, cooperative),
	  "all blocks of a run are there at once, as cudaLaunchCooperativeKernel has them for grid.sync()" },
	{ "dynamic-shared", "BYTES", CLI_BYTES, offsetof(struct ptx_args, dynamic_shared),
	  "dynamic shared memory of a launch, for judging a file", .fallback = "0" },
	{ "ptxas-options", "FLAGS", CLI_TEXT, offsetof(struct ptx_args, ptxas_options),
	  "the flags that your build gives ptxas, as '-maxrregcount=64 -O2' (-c: nvcc -rdc=true), for judging a file" },
	{ "format", "F", CLI_WORD, offsetof(struct ptx_args, format),
	  "how files' findings are printed; gcc: file:line:column: error: message [rule]", .words = PTX_FORMATS,
	  .fallback = "text" },
	{ "locate", "WHERE", CLI_WORD, offsetof(struct ptx_args, locate),
	  "which place gcc's form and SARIF show first, where the text has .loc (nvcc -lineinfo)",
	  .words = "ptx|source", .fallback = "ptx" },
	{ "fail-on", "S", CLI_WORD, offsetof(struct ptx_args, fail_on),
	  "the least severity that makes the exit status 4", .words = "error|warning|advice|never",
	  .fallback = "error" },
	{ "rule", "RULES", CLI_LIST, offsetof(struct ptx_args, rules),
	  "only these, as shared-race,bank-conflict (that a text cannot be read is told too)", .note = "all" },
	{ "no-rule", "RULES", CLI_LIST, offsetof(struct ptx_args, no_rules), "all but these", .note = "none" },
	{ "suppress", "FILE", CLI_LIST, offsetof(struct ptx_args, suppress),
	  "findings that do not count: each line a rule or *, then file=, kernel= or source= with a pattern",
	  .note = "none" },
	{ "baseline", "FILE", CLI_TEXT, offsetof(struct ptx_args, baseline),
	  "what is known already, and does not count", .note = "none" },
	{ "write-baseline", NULL, CLI_FLAG, offsetof(struct ptx_args, write_baseline),
	  "write what is found now to the file of --baseline, and fail for none of it" },
	CLI_OPTION_JSON(struct ptx_args),
	CLI_OPTION_END,
};

enum { USE_OP = 1, USE_CHECK = 2, USE_RUN = 4 };

/* Options that only make sense with another use of the command. */
static enum tcb_status check_mixture(const struct ptx_args *args, int use, struct tcb_error *err)
{
	static const char *const names[] = { [USE_OP] = "--op OP", [USE_CHECK] = "check FILE", [USE_RUN] = "run FILE" };
	const struct {
		const char *name;
		int given, uses;
	} rows[] = {
		{ "op", args->op != NULL, USE_OP },
		{ "shape", args->shape != NULL, USE_OP },
		{ "contract", args->contract != NULL, USE_OP },
		{ "geometry", args->geometry != NULL, USE_OP },
		{ "check", args->check, USE_OP },
		{ "out", args->out.count != 0, USE_OP | USE_RUN },
		{ "optimise", args->optimise, USE_OP },
		{ "dump-after", args->dump_after != NULL, USE_OP },
		{ "stop-after", args->stop_after != NULL, USE_OP },
		{ "block", args->blocks.count != 0, USE_CHECK | USE_RUN },
		{ "launches", args->launches != NULL, USE_CHECK },
		{ "dynamic-shared", args->dynamic_shared != 0, USE_CHECK | USE_RUN },
		{ "ptxas-options", args->ptxas_options != NULL, USE_CHECK },
		{ "format", args->format != PTX_FORMAT_TEXT, USE_CHECK },
		{ "locate", args->locate != 0, USE_CHECK },
		{ "fail-on", args->fail_on != TCB_PTX_ERROR, USE_CHECK },
		{ "rule", args->rules.count != 0, USE_CHECK },
		{ "no-rule", args->no_rules.count != 0, USE_CHECK },
		{ "suppress", args->suppress.count != 0, USE_CHECK },
		{ "baseline", args->baseline != NULL, USE_CHECK },
		{ "write-baseline", args->write_baseline, USE_CHECK },
		{ "kernel", args->kernels.count != 0, USE_CHECK | USE_RUN },
		{ "grid", args->grid != NULL, USE_RUN },
		{ "cluster", args->cluster != NULL, USE_RUN },
		{ "cooperative", args->cooperative, USE_RUN },
		{ "arg", args->arguments.count != 0, USE_RUN },
		{ "expect", args->expect.count != 0, USE_RUN },
		{ "tolerance", args->tolerance != 0, USE_RUN },
		{ "seed", args->seed != 1, USE_RUN },
		{ "order", args->order != 0, USE_RUN },
		{ "step-limit", args->step_limit != 0, USE_RUN },
		{ "threads", args->threads != 0, USE_RUN },
		{ "progress", args->progress, USE_RUN },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].given && !(rows[i].uses & use))
			return tcb_fail(err, TCB_E_USAGE, "--%s goes with 'ptx %s', not with 'ptx %s'", rows[i].name,
					names[rows[i].uses & USE_OP      ? USE_OP
					      : rows[i].uses & USE_CHECK ? USE_CHECK
									 : USE_RUN],
					names[use]);
	if (args->tolerance != 0 && !args->expect.count)
		return tcb_fail(err, TCB_E_USAGE,
				"--tolerance goes with --expect: without a file there is nothing to compare");
	if (use == USE_RUN && (args->kernels.count > 1 || args->blocks.count > 1))
		return tcb_fail(err, TCB_E_USAGE, "a run has one --kernel and one --block");
	if (use == USE_OP && args->out.count > 1)
		return tcb_fail(err, TCB_E_USAGE, "--out may be given once with 'ptx --op OP'");
	return TCB_OK;
}

static enum tcb_status run_ptx(const void *arguments, struct tcb_error *err)
{
	const struct ptx_args *args = arguments;
	const char *word = args->words.count ? args->words.items[0] : NULL;
	const int use = !word ? USE_OP : strcmp(word, "run") == 0 ? USE_RUN : USE_CHECK;

	if (word && use == USE_CHECK && strcmp(word, "check") != 0)
		return tcb_fail(err, TCB_E_USAGE,
				"'ptx %s' is unknown; it is 'ptx check FILE', 'ptx run FILE' or 'ptx --op OP'", word);
	if (args->words.count == 1)
		return tcb_fail(err, TCB_E_USAGE, "'ptx %s' needs FILE: a PTX file, or - for standard input", word);
	if (!word && !args->op)
		return tcb_fail(err, TCB_E_USAGE,
				"'ptx' needs --op OP, 'check FILE' or 'run FILE'; see 'tcbtune help ptx'");
	TCB_TRY(check_mixture(args, use, err));
	return use == USE_OP    ? ptx_emit_op(args, err)
	       : use == USE_RUN ? ptx_run_file(args, err)
				: ptx_check_files(args, err);
}

const struct cli_command cli_command_ptx = {
	.name = "ptx",
	.summary = "print the PTX of an op's kernel, or judge or run a PTX file",
	.description =
		"With --op it prints the PTX that a geometry becomes on a target; with --check it also assembles it, "
		"analyses it, and runs it in the emulator against the op's reference, with guard zones around every "
		"buffer.  'check FILE' judges PTX that anybody wrote: whether it is legal, whether its barriers and "
		"shuffles are safe, alignment, bank conflicts and coalescing, registers (estimated and by the "
		"assembler), occupancy; every finding names its line.  Neither needs a GPU; assembling needs ptxas or "
		"nvJitLink (TCBTUNE_ASSEMBLER chooses one); a file is compiled as 'nvcc' would, with the flags of "
		"--ptxas-options.  Several files and quoted patterns may be given; what cannot be read is told, and "
		"the others are judged.  Where the text has .loc (nvcc -lineinfo) findings show the source's lines.  A "
		"comment '// tcbtune: allow RULE' in the text, --suppress and --baseline say what does not count.  It "
		"exits with 4 if there is an error among the findings that count (--fail-on: or a warning, or advice), "
		"else with 1 if a file could not be read.  'run FILE' executes a kernel in the emulator on the data "
		"that --arg describes: it tells races, accesses out of bounds, what was never written and copies that "
		"are not waited for, counts wavefronts and sectors by line, and exits with 4 for errors and for what "
		"is not as --expect says.",
	.examples = "  tcbtune ptx --op @OP --target sm_89\n  tcbtune ptx --op @OP --target sm_90 --check\n"
		    "  tcbtune ptx check kernel.ptx\n"
		    "  tcbtune ptx check kernel.ptx --target sm_89 --block 32x8 --dynamic-shared 64K --json\n"
		    "  tcbtune ptx check kernels.ptx --kernel saxpy --block 256 --kernel 'transpose*' --block 32x8\n"
		    "  tcbtune ptx check 'build/*.ptx' --format sarif --locate source --fail-on warning\n"
		    "  tcbtune ptx check 'build/*.ptx' --baseline known.json --write-baseline\n"
		    "  tcbtune ptx run saxpy.ptx --grid 8 --block 128 --arg buf:f32[1024]:ro=random --arg "
		    "buf:f32[1024]=iota --arg f32=2 --arg u32=1024 --out 1=y.npy\n",
	.options = options,
	.args_bytes = sizeof(struct ptx_args),
	.run = run_ptx,
};
