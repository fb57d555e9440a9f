/* SPDX-License-Identifier: MIT
 *
 * tcbtune compare OLD NEW: which problems became slower or faster from one
 * database to the other, and whether a change may go in.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/setup.h"
#include "cli/report/compare.h"

enum format { FORMAT_TABLE, FORMAT_MD, FORMAT_JSON };

struct compare_args {
	const struct tcb_registry *ops;
	const char *old_path, *new_path, *fail_over, *op, *shape, *device, *out;
	uint64_t threads;
	int state;  /* 0: both, else 1 + enum tcb_state */
	int format; /* enum format */
	int json;
};

static const struct cli_option options[] = {
	{ NULL, "OLD", CLI_TEXT, offsetof(struct compare_args, old_path), "the database from before", .required = 1 },
	{ NULL, "NEW", CLI_TEXT, offsetof(struct compare_args, new_path), "the database to judge", .required = 1 },
	{ "fail-over", "PERCENT", CLI_TEXT, offsetof(struct compare_args, fail_over),
	  "exit with 4 where a problem is slower by more than this for certain", .fallback = "3%" },
	CLI_OPTION_OP(struct compare_args, 0, "only this op"),
	{ "shape", "MxNxK", CLI_TEXT, offsetof(struct compare_args, shape), "only this shape", .note = "all" },
	{ "device", "DEV", CLI_TEXT, offsetof(struct compare_args, device), "only devices of this name or key",
	  .note = "all", .names = CLI_NAMES_DEVICE },
	{ "threads", "N", CLI_COUNT, offsetof(struct compare_args, threads), "only results of so many threads",
	  .fallback = "0", .note = "all" },
	{ "state", "STATE", CLI_WORD, offsetof(struct compare_args, state), "only this cache state",
	  .words = "both|cold|hot", .fallback = "both" },
	{ "format", "F", CLI_WORD, offsetof(struct compare_args, format), "how to print it", .words = "table|md|json",
	  .fallback = "table" },
	{ "out", "FILE", CLI_TEXT, offsetof(struct compare_args, out),
	  "write the comparison to a file, whole or not at all", .note = "standard output" },
	{ "json", NULL, CLI_FLAG, offsetof(struct compare_args, json), "the same as --format json" },
	CLI_OPTION_END,
};

/* "3%", "3" or "2.5%" as 0.03, 0.03, 0.025. */
static enum tcb_status parse_percent(const char *text, double *out, struct tcb_error *err)
{
	char *end;
	const double value = strtod(text, &end);

	if (end == text || strcmp(*end == '%' ? end + 1 : end, "") != 0 || !(value >= 0) || value > 1000)
		return tcb_fail(err, TCB_E_USAGE,
				"--fail-over: invalid percentage '%.40s': give one from 0 to 1000, as in 3%%", text);
	*out = value / 100;
	return TCB_OK;
}

static enum tcb_status check(struct compare_args *args, struct tcb_error *err)
{
	const struct tcb_op *op;

	if (args->json && args->format != FORMAT_TABLE && args->format != FORMAT_JSON)
		return tcb_fail(err, TCB_E_USAGE, "--json contradicts --format; give one of them");
	if (args->json)
		args->format = FORMAT_JSON;
	if (args->op)
		TCB_TRY(cli_find_op(args->ops, args->op, &op, err));
	TCB_TRY(cli_check_out_db(args->out, args->old_path, err));
	return cli_check_out_db(args->out, args->new_path, err);
}

static enum tcb_status print(const struct cli_comparison *comparison, const struct compare_args *args,
			     struct tcb_error *err)
{
	struct tcb_str out = { 0 };

	if (args->format == FORMAT_JSON)
		return cli_emit_json_to(args->out, cli_comparison_json(comparison), err);
	enum tcb_status status =
		cli_comparison_table(comparison, args->format == FORMAT_MD ? CLI_TABLE_MD : CLI_TABLE_TEXT, &out, err);
	if (status == TCB_OK)
		return args->format == FORMAT_MD ? cli_emit_to(args->out, &out, err)
						 : cli_emit_text_to(args->out, &out, err);
	tcb_str_fini(&out);
	return status;
}

/* The gate: names the worst of the confirmed slowdowns. */
static enum tcb_status verdict(const struct cli_comparison *comparison, struct tcb_error *err)
{
	const struct cli_row *worst = NULL;
	char label[CLI_ROW_LABEL_MAX];

	for (size_t i = 0; i < comparison->count; i++)
		if (comparison->rows[i].is_over && (!worst || comparison->rows[i].ratio.lo > worst->ratio.lo))
			worst = &comparison->rows[i];
	if (!worst)
		return TCB_OK;
	cli_row_label(&worst->new_side->best.problem, label);
	return tcb_fail(err, TCB_E_VERIFY, "%zu of %zu slower by more than %.3g %%, %s %s by at least %.1f %%",
			comparison->over, comparison->judged, 100 * comparison->fail_over, label,
			tcb_state_text(worst->new_side->best.state), 100 * (worst->ratio.lo - 1));
}

static enum tcb_status compare(const struct compare_args *args, struct cli_comparison *comparison,
			       struct tcb_error *err)
{
	struct tcb_shape shape;
	struct cli_wanted wanted = {
		.ops = args->ops,
		.op = args->op,
		.device = args->device,
		.state = args->state ? tcb_state_text((enum tcb_state)(args->state - 1)) : NULL,
		.threads = args->threads,
	};

	if (args->shape) {
		TCB_TRY(cli_read_shape(args->op ? tcb_registry_find(args->ops, args->op) : NULL, args->shape, &shape,
				       err));
		wanted.shape = &shape;
	}
	TCB_TRY(parse_percent(args->fail_over, &comparison->fail_over, err));
	TCB_TRY(cli_comparison_read(args->old_path, args->new_path, &wanted, comparison, err));
	if (comparison->count == 0)
		return tcb_fail(err, TCB_E_NOT_FOUND, "neither database has a winner of that");
	TCB_TRY(cli_comparison_judge(comparison, err));
	TCB_TRY(print(comparison, args, err));
	if (comparison->counts[CLI_COMPARED_ONLY_OLD] + comparison->counts[CLI_COMPARED_ONLY_NEW] == comparison->count)
		return tcb_fail(err, TCB_E_NOT_FOUND, "no problem is in both databases, so nothing was compared");
	return verdict(comparison, err);
}

static enum tcb_status run_compare(const void *arguments, struct tcb_error *err)
{
	struct compare_args args = *(const struct compare_args *)arguments;
	struct cli_comparison comparison = { .count = 0 };

	TCB_TRY(check(&args, err));
	enum tcb_status status = compare(&args, &comparison, err);
	cli_comparison_fini(&comparison);
	return status;
}

const struct cli_command cli_command_compare = {
	.name = "compare",
	.summary = "say what became slower or faster from one database to another",
	.description =
		"One row for each op, contract, shape, device, number of threads and cache state that either database "
		"has a winner of: both times, NEW's over OLD's with an interval, and SLOWER, FASTER, SAME or "
		"UNDECIDED; below, what changed: kernel, geometry, build, compiler, driver. The intervals hold for all "
		"rows together with 95 %.  Two sweeps at different times differ by what the machine did meanwhile. So "
		"one sweep each decides only what stands out by far beside the problems whose kernels did not change. "
		"Finals that were held in turn (OLD's program with --db OLD, NEW's with --db NEW, again and again: "
		"'tcbtune sweep --finals-only') decide small changes: docs/how-to/gate-ci.md.  Exits with 4 if a "
		"slowdown over --fail-over is confirmed, with 3 if no problem is in both. Neither file is changed.",
	.examples = "  tcbtune compare before.db after.db\n"
		    "  tcbtune compare before.db after.db --fail-over 5% --format md --out compare.md\n",
	.options = options,
	.args_bytes = sizeof(struct compare_args),
	.run = run_compare,
};
