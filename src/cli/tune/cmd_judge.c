/* SPDX-License-Identifier: MIT
 *
 * tcbtune judge: whether a kernel that a model or a stranger wrote is right, and how fast
 * beside what it is compared with.
 */
#include <math.h>

#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/kernel_option.h"
#include "cli/core/setup.h"
#include "cli/tune/judge_files.h"
#include "cli/tune/judge_report.h"
#include "judge/judge_kernel.h"

struct judge_args {
	const struct tcb_registry *ops;
	const char *kernel, *against, *device, *problem;
	uint64_t threads, seed, memory;
	double at_least, budget_s, timeout_s;
	int state, json;
};

static const struct cli_option options[] = {
	{ NULL, "KERNEL", CLI_TEXT, offsetof(struct judge_args, kernel),
	  "the kernel to judge: its file (JSON), or a source that takes the place of --against's kernel",
	  .required = 1 },
	{ "against", "FILE.json", CLI_TEXT, offsetof(struct judge_args, against),
	  "the kernel's file that says sizes, arguments, tolerances and what is right, and whose kernel is the one to "
	  "beat",
	  .note = "KERNEL's own, with its Reference" },
	{ "device", "DEV", CLI_TEXT, offsetof(struct judge_args, device), "where it runs: cpu, cuda:0 or wgpu:0",
	  .names = CLI_NAMES_DEVICE, .note = "by the kernel's language: cpu, cuda:0, wgpu:0" },
	{ "problem", "SIZES", CLI_TEXT, offsetof(struct judge_args, problem), "the sizes to time, as in M=512,N=512",
	  .note = "the file's" },
	{ "threads", "N", CLI_COUNT, offsetof(struct judge_args, threads),
	  "threads that it may have, as many processors as it gets", .fallback = "1", .least = 1, .most = 1024 },
	{ "state", "STATE", CLI_WORD, offsetof(struct judge_args, state), "caches before each batch of calls",
	  .words = "cold|hot", .fallback = "cold" },
	{ "at-least", "X", CLI_NUMBER, offsetof(struct judge_args, at_least),
	  "accept it only if it is certainly X times as fast", .note = "whatever its speed" },
	{ "budget", "TIME", CLI_SECONDS, offsetof(struct judge_args, budget_s), "for the timed calls",
	  .fallback = "5s" },
	CLI_OPTION_TIMEOUT(struct judge_args),
	{ "memory", "BYTES", CLI_BYTES, offsetof(struct judge_args, memory), "that the values of calls may take",
	  .fallback = "256M" },
	{ "seed", "N", CLI_COUNT, offsetof(struct judge_args, seed),
	  "draw values and sizes as an earlier judge did, whose seed this is", .fallback = "0",
	  .note = "what the system draws, so that no kernel can know them" },
	CLI_OPTION_JSON(struct judge_args),
	CLI_OPTION_END,
};

static const char *device_of(enum tcb_file_language language)
{
	return language == TCB_FILE_C || language == TCB_FILE_CXX ? "cpu"
	       : language == TCB_FILE_WGSL                        ? "wgpu:0"
								  : "cuda:0";
}

static enum tcb_status open_places(const struct judge_args *args, enum tcb_file_language language,
				   struct tcb_place *place, struct tcb_place *host, struct tcb_error *err)
{
	const char *device = args->device ? args->device : device_of(language);
	const int is_host = language == TCB_FILE_C || language == TCB_FILE_CXX;

	TCB_TRY(cli_open_device(is_host ? device : "cpu", args->threads, host, err));
	*place = *host;
	if (!is_host)
		TCB_TRY(cli_open_device(device, 0, place, err));
	return place->is_absent ? tcb_fail(err, TCB_E_NOT_FOUND, "%s is not attached, so nothing can run on it", device)
				: TCB_OK;
}

static enum tcb_status set_shape(const struct judge_args *args, struct tcb_judge_options *out, struct tcb_error *err)
{
	size_t size[TCB_FILE_SIZES_MAX];

	if (args->problem) {
		TCB_TRY(cli_kernel_sizes(args->problem, out->task, size, err));
		out->shape = tcb_kernel_file_shape(out->task, size);
	}
	for (int seat = 0; seat < TCB_SEAT_COUNT; seat++)
		if (out->kernel[seat].file)
			TCB_TRY(tcb_op_check_shape(tcb_file_op(out->kernel[seat].made), &out->shape, err));
	return TCB_OK;
}

static enum tcb_status say(const struct judge_args *args, const struct tcb_judge_options *judged,
			   const struct tcb_ruling *verdict, struct tcb_error *err)
{
	struct tcb_str text = { 0 };
	const enum tcb_status status = cli_judge_status(judged, verdict);

	if (args->json) {
		TCB_TRY(cli_emit_json(cli_judge_json(args->kernel, judged, verdict), err));
	} else {
		cli_judge_text(args->kernel, judged, verdict, &text);
		TCB_TRY(cli_emit_text(&text, err));
	}
	if (status == TCB_E_NOT_FASTER)
		return tcb_fail(err, status, "it is right, but not certainly %.3g times as fast: %.3g [%.3g, %.3g]",
				args->at_least, verdict->ratio.median, verdict->ratio.lo, verdict->ratio.hi);
	return status == TCB_OK ? TCB_OK : tcb_fail(err, status, "%s", verdict->reason);
}

static enum tcb_status run_judge(const void *arguments, struct tcb_error *err)
{
	const struct judge_args *args = arguments;
	struct tcb_judge_options judged = { .threads = (unsigned)args->threads,
					    .state = args->state ? TCB_HOT : TCB_COLD,
					    .seed = args->seed,
					    .budget_s = args->budget_s,
					    .timeout_s = args->timeout_s,
					    .at_least = args->at_least,
					    .memory_bytes = args->memory };
	struct cli_judge_files files = { NULL, NULL };
	struct tcb_place place, host;
	struct tcb_ruling verdict;
	enum tcb_status status = cli_judge_open(args->kernel, args->against, &files, &judged, err);

	if (status == TCB_OK)
		status = open_places(args, judged.kernel[TCB_SEAT_JUDGED].file->kernel.language, &place, &host, err);
	if (status == TCB_OK)
		status = set_shape(args, &judged, err);
	judged.place = &place;
	judged.host = &host;
	if (status == TCB_OK)
		status = tcb_judge_kernel(&judged, &verdict, err);
	if (status == TCB_OK)
		status = say(args, &judged, &verdict, err);
	cli_judge_close(&files);
	return status;
}

const struct cli_command cli_command_judge = {
	.name = "judge",
	.summary = "whether a stranger's kernel is right, and how fast",
	.description =
		"Runs the kernel in a process of its own, which has nothing but its inputs, on values and sizes that "
		"it "
		"has not seen, looks at all that it writes and asks for, and times it from outside, in turns with what "
		"it is compared with, on new values in every call.  Exit status: 0 it is right (and certainly X times "
		"as fast, with --at-least X), 4 it is wrong, 5 it cheats, 6 it is right but not fast enough, 7 it "
		"could not be judged; 1 to 3 as always.  docs/judging.md has all that is tried.",
	.examples = "  tcbtune judge submission.c --against problem.json --at-least 1.2\n"
		    "  tcbtune judge kernel.json --json\n",
	.options = options,
	.args_bytes = sizeof(struct judge_args),
	.run = run_judge,
};
