/* SPDX-License-Identifier: MIT
 *
 * tcbtune ptx --op OP: the PTX of a geometry, and with --check what can be
 * said of it without a GPU.  tcbtune ptx check FILE: the same for anybody's.
 */
#include <string.h>

#include "cli/cmd_ptx.h"

static const struct cli_option options[] = {
	{ .argument = "check FILE...",
	  .kind = CLI_LIST,
	  .offset = offsetof(struct ptx_args, words),
	  .note = "with --op, the op's kernel",
	  .help = "judge PTX files (- for standard input; 'build/*.ptx' in quotes is expanded too)" },
	CLI_OPTION_OP(struct ptx_args, 0, "the op whose kernel is wanted"),
	{ .name = "target",
	  .argument = "SM",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct ptx_args, target),
	  .note = "of a file, its own .target",
	  .help = "the capability to emit, assemble and judge for: sm_89, sm_90a" },
	{ .name = "shape",
	  .argument = "MxNxK",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct ptx_args, shape),
	  .note = "the op's first default shape",
	  .help = "the problem's shape" },
	CLI_OPTION_CONTRACT(struct ptx_args),
	{ .name = "geometry",
	  .argument = "G",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct ptx_args, geometry),
	  .note = "the op's default for that target",
	  .help = "the geometry to emit" },
	{ .name = "check",
	  .kind = CLI_FLAG,
	  .offset = offsetof(struct ptx_args, check),
	  .help = "assemble, analyse and emulate the op's kernel against its reference" },
	{ .name = "out",
	  .argument = "FILE",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct ptx_args, out),
	  .note = "standard output",
	  .help = "where the PTX of an op goes" },
	{ .name = "optimise",
	  .kind = CLI_FLAG,
	  .offset = offsetof(struct ptx_args, optimise),
	  .help = "run the optimiser's passes over the op's kernel, which a sweep measures as it was emitted" },
	{ .name = "dump-after",
	  .argument = "PASS",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct ptx_args, dump_after),
	  .help = "optimise, and print the kernel on standard error after this pass (all: after each)" },
	{ .name = "stop-after",
	  .argument = "PASS",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct ptx_args, stop_after),
	  .help = "optimise up to this pass" },
	{ .name = "block",
	  .argument = "XxYxZ",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct ptx_args, block),
	  .note = "the file's .reqntid or .maxntid, else 256",
	  .help = "threads of a block, for judging a file" },
	{ .name = "dynamic-shared",
	  .argument = "BYTES",
	  .kind = CLI_BYTES,
	  .offset = offsetof(struct ptx_args, dynamic_shared),
	  .fallback = "0",
	  .help = "dynamic shared memory of a launch, for judging a file" },
	{ .name = "ptxas-options",
	  .argument = "FLAGS",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct ptx_args, ptxas_options),
	  .help = "the flags that your build gives ptxas, as '-maxrregcount=64 -O2' (-c: nvcc -rdc=true), for judging "
		  "a "
		  "file" },
	{ .name = "format",
	  .argument = "F",
	  .kind = CLI_WORD,
	  .offset = offsetof(struct ptx_args, format),
	  .words = PTX_FORMATS,
	  .fallback = "text",
	  .help = "how files' findings are printed; gcc: file:line:column: error: message [rule]" },
	{ .name = "locate",
	  .argument = "WHERE",
	  .kind = CLI_WORD,
	  .offset = offsetof(struct ptx_args, locate),
	  .words = "ptx|source",
	  .fallback = "ptx",
	  .help = "which place gcc's form and SARIF show first, where the text has .loc (nvcc -lineinfo)" },
	{ .name = "fail-on",
	  .argument = "S",
	  .kind = CLI_WORD,
	  .offset = offsetof(struct ptx_args, fail_on),
	  .words = "error|warning|advice|never",
	  .fallback = "error",
	  .help = "the least severity that makes the exit status 4" },
	{ .name = "rule",
	  .argument = "RULES",
	  .kind = CLI_LIST,
	  .offset = offsetof(struct ptx_args, rules),
	  .note = "all",
	  .help = "only these, as shared-race,bank-conflict (that a text cannot be read is told too)" },
	{ .name = "no-rule",
	  .argument = "RULES",
	  .kind = CLI_LIST,
	  .offset = offsetof(struct ptx_args, no_rules),
	  .note = "none",
	  .help = "all but these" },
	{ .name = "suppress",
	  .argument = "FILE",
	  .kind = CLI_LIST,
	  .offset = offsetof(struct ptx_args, suppress),
	  .note = "none",
	  .help = "findings that do not count: each line a rule or *, then file=, kernel= or source= with a pattern" },
	{ .name = "baseline",
	  .argument = "FILE",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct ptx_args, baseline),
	  .note = "none",
	  .help = "what is known already, and does not count" },
	{ .name = "write-baseline",
	  .kind = CLI_FLAG,
	  .offset = offsetof(struct ptx_args, write_baseline),
	  .help = "write what is found now to the file of --baseline, and fail for none of it" },
	CLI_OPTION_JSON(struct ptx_args),
	CLI_OPTION_END,
};

/* Options that only make sense with the other use of the command. */
static enum tcb_status check_mixture(const struct ptx_args *args, int is_file, struct tcb_error *err)
{
	const struct {
		const char *name;
		int given, of_file;
	} rows[] = {
		{ "op", args->op != NULL, 0 },
		{ "shape", args->shape != NULL, 0 },
		{ "contract", args->contract != NULL, 0 },
		{ "geometry", args->geometry != NULL, 0 },
		{ "check", args->check, 0 },
		{ "out", args->out != NULL, 0 },
		{ "optimise", args->optimise, 0 },
		{ "dump-after", args->dump_after != NULL, 0 },
		{ "stop-after", args->stop_after != NULL, 0 },
		{ "block", args->block != NULL, 1 },
		{ "dynamic-shared", args->dynamic_shared != 0, 1 },
		{ "ptxas-options", args->ptxas_options != NULL, 1 },
		{ "format", args->format != PTX_FORMAT_TEXT, 1 },
		{ "locate", args->locate != 0, 1 },
		{ "fail-on", args->fail_on != TCB_PTX_ERROR, 1 },
		{ "rule", args->rules.count != 0, 1 },
		{ "no-rule", args->no_rules.count != 0, 1 },
		{ "suppress", args->suppress.count != 0, 1 },
		{ "baseline", args->baseline != NULL, 1 },
		{ "write-baseline", args->write_baseline, 1 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].given && rows[i].of_file != is_file)
			return tcb_fail(err, TCB_E_USAGE, "--%s goes with 'ptx %s', not with 'ptx %s'", rows[i].name,
					is_file ? "--op OP" : "check FILE", is_file ? "check FILE" : "--op OP");
	return TCB_OK;
}

static enum tcb_status run_ptx(const void *arguments, struct tcb_error *err)
{
	const struct ptx_args *args = arguments;

	if (args->words.count && strcmp(args->words.items[0], "check") != 0)
		return tcb_fail(err, TCB_E_USAGE, "'ptx %s' is unknown; it is 'ptx check FILE' or 'ptx --op OP'",
				args->words.items[0]);
	if (args->words.count == 1)
		return tcb_fail(err, TCB_E_USAGE, "'ptx check' needs FILE: a PTX file, or - for standard input");
	if (!args->words.count && !args->op)
		return tcb_fail(err, TCB_E_USAGE, "'ptx' needs --op OP, or 'check FILE'; see 'tcbtune help ptx'");
	TCB_TRY(check_mixture(args, args->words.count > 0, err));
	return args->words.count ? ptx_check_files(args, err) : ptx_emit_op(args, err);
}

const struct cli_command cli_command_ptx = {
	.name = "ptx",
	.summary = "print the PTX of an op's kernel, or judge a PTX file",
	.description =
		"With --op it prints the PTX that a geometry becomes on a target; with --check it also assembles it, "
		"analyses it, and runs it in the emulator against the op's reference, with guard zones around every "
		"buffer.  'check FILE' judges PTX that anybody wrote: whether it is legal, whether its barriers and "
		"shuffles are safe, alignment, bank conflicts and coalescing, registers (estimated and by the "
		"assembler), occupancy; every finding names its line.  Neither needs a GPU; assembling needs ptxas "
		"or nvJitLink (TCBTUNE_ASSEMBLER chooses one); a file is compiled as 'nvcc' would, with the flags of "
		"--ptxas-options.  Several files and quoted patterns may be given; what cannot be read is told, and "
		"the others are judged.  Where the text has .loc (nvcc -lineinfo) findings show the source's lines.  A "
		"comment '// tcbtune: allow RULE' in the text, --suppress and --baseline say what does not count.  It "
		"exits with 4 if there is an error among the findings that count (--fail-on: or a warning, or advice), "
		"else with 1 if a file could not be read.",
	.examples = "  tcbtune ptx --op @OP --target sm_89\n  tcbtune ptx --op @OP --target sm_90 --check\n"
		    "  tcbtune ptx check kernel.ptx\n"
		    "  tcbtune ptx check kernel.ptx --target sm_89 --block 32x8 --dynamic-shared 64K --json\n"
		    "  tcbtune ptx check 'build/*.ptx' --format sarif --locate source --fail-on warning\n"
		    "  tcbtune ptx check 'build/*.ptx' --baseline known.json --write-baseline\n",
	.options = options,
	.args_bytes = sizeof(struct ptx_args),
	.run = run_ptx,
};
