/* SPDX-License-Identifier: MIT
 *
 * tcbtune verify: tries to show that what the specification and its sources
 * claim is false, each claim with a negative control, and stores and prints
 * what came of it.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/build_info.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/progress.h"
#include "cli/core/setup.h"
#include "cli/tune/verify_report.h"

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_MD };

struct verify_args {
	const struct tcb_registry *ops;
	const char *op, *device, *only, *out, *db;
	struct cli_list from;
	uint64_t seed;
	int format; /* enum format */
	int json, stored;
};

static const struct cli_option options[] = {
	CLI_OPTION_OP(struct verify_args, 0, "look at the kernels of this op only"),
	CLI_OPTION_DEVICE(struct verify_args),
	{ "only", "ID,ID", CLI_TEXT, offsetof(struct verify_args, only), "only these claims, as in I031,I042",
	  .note = "all" },
	{ "from", "FILE", CLI_LIST, offsetof(struct verify_args, from),
	  "measure nothing: print what --json wrote into FILE, several beside each other" },
	{ "stored", NULL, CLI_FLAG, offsetof(struct verify_args, stored),
	  "measure nothing: print the newest results in the database" },
	{ "format", "F", CLI_WORD, offsetof(struct verify_args, format),
	  "how to print it; md has all claims, also those that were not asked for", .words = "table|json|md",
	  .fallback = "table" },
	{ "out", "FILE", CLI_TEXT, offsetof(struct verify_args, out), "write it to a file, whole or not at all",
	  .note = "standard output" },
	CLI_OPTION_SEED(struct verify_args, "seed of random data and shapes"),
	CLI_OPTION_DB(struct verify_args),
	{ "json", NULL, CLI_FLAG, offsetof(struct verify_args, json), "the same as --format json" },
	CLI_OPTION_END,
};

/* --- measuring --- */

static int is_asked_for(const char *only, const char *id)
{
	const size_t length = strlen(id);
	while (only && *only) {
		const size_t word = strcspn(only, ",");
		if (word == length && !strncasecmp(only, id, length))
			return 1;
		only += word + (only[word] == ',');
	}
	return !only;
}

static enum tcb_status check_only(const char *only, struct tcb_error *err)
{
	while (only && *only) {
		char id[16];
		const size_t word = strcspn(only, ",");
		(void)snprintf(id, sizeof id, "%.*s", (int)word, only);
		for (char *c = id; *c; c++)
			*c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
		if (!tcb_claim_find(id))
			return tcb_fail(err, TCB_E_USAGE,
					"--only: unknown claim '%s'; 'tcbtune verify' lists those that there are", id);
		only += word + (only[word] == ',');
	}
	return TCB_OK;
}

static void describe(const struct tcb_claim_lab *lab, struct tcb_verified_run *run)
{
	const struct tcb_device *device = &lab->place->device;
	const struct tcb_assembler_info *assembler = &lab->assembler;
	memset(run, 0, sizeof *run);
	(void)snprintf(run->device, sizeof run->device, "%s", device->name);
	(void)snprintf(run->device_key, sizeof run->device_key, "%s", device->key);
	(void)snprintf(run->model, sizeof run->model, "%s", device->model);
	if (assembler->kind != TCB_ASSEMBLER_NONE)
		(void)snprintf(run->assembler, sizeof run->assembler, "%s %u.%u", tcb_assembler_text(assembler->kind),
			       assembler->version / 10, assembler->version % 10);
	(void)snprintf(run->git_commit, sizeof run->git_commit, "%s", tcb_build_info()->commit);
	cli_text_now(run->measured_at);
}

static void check_claim(const struct tcb_claim *claim, struct tcb_claim_lab *lab, struct tcb_verified *row)
{
	struct tcb_claim_outcome outcome;
	tcb_claim_check(claim, lab, &outcome);
	memset(row, 0, sizeof *row);
	(void)snprintf(row->id, sizeof row->id, "%s", claim->id);
	(void)snprintf(row->result, sizeof row->result, "%s", tcb_claim_result_text(outcome.result));
	(void)snprintf(row->evidence, sizeof row->evidence, "%s", outcome.evidence);
	(void)snprintf(row->control, sizeof row->control, "%s", outcome.control);
	row->seconds = outcome.seconds;
}

static enum tcb_status measure(const struct verify_args *args, struct cli_verify_reports *reports,
			       struct tcb_error *err)
{
	struct tcb_place place;
	struct tcb_claim_lab lab = { .place = &place, .seed = args->seed };
	struct tcb_verified_run run;
	struct cli_verify_report *report;
	struct tcb_error why;
	const struct tcb_claim *claim;
	struct cli_progress progress;
	size_t asked = 0;
	TCB_TRY(check_only(args->only, err));
	if (args->op)
		TCB_TRY(cli_find_op(args->ops, args->op, &lab.op, err));
	TCB_TRY(cli_open_device(args->device, 0, &place, err));
	/* ptxas tells registers and spills whatever the version */
	if (tcb_assembler_find_first(TCB_ASSEMBLER_PTXAS, &lab.assembler, &why) != TCB_OK) {
		lab.assembler.kind = TCB_ASSEMBLER_NONE;
		(void)snprintf(lab.no_assembler, sizeof lab.no_assembler, "%.150s", why.message);
	}
	describe(&lab, &run);
	TCB_TRY(cli_verify_reports_add(reports, &run, &report, err));
	for (size_t i = 0; (claim = tcb_claim_at(i)); i++)
		asked += (size_t)is_asked_for(args->only, claim->id);
	cli_progress_begin(&progress, "claim", 0);
	for (size_t i = 0; (claim = tcb_claim_at(i)); i++) {
		if (!is_asked_for(args->only, claim->id))
			continue;
		cli_progress_count(&progress, report->count, asked, claim->id);
		check_claim(claim, &lab, &report->rows[report->count++]);
	}
	cli_progress_end(&progress);
	return TCB_OK;
}

/* --- the database --- */

static enum tcb_status store(const struct verify_args *args, const struct cli_verify_report *report,
			     struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	struct tcb_db *db;
	TCB_TRY(cli_open_db(args->ops, args->db, TCB_DB_WRITE, path, &db, err));
	const enum tcb_status status = tcb_db_verified_put(db, &report->run, report->rows, report->count, err);
	cli_close_db(db);
	return status;
}

struct loading {
	struct cli_verify_reports *reports;
	struct tcb_error *err;
	enum tcb_status status;
};

static int load_row(void *ctx, const struct tcb_verified_run *run, const struct tcb_verified *row)
{
	struct loading *loading = ctx;
	struct cli_verify_reports *reports = loading->reports;
	struct cli_verify_report *report = reports->count ? &reports->items[reports->count - 1] : NULL;
	if (!tcb_claim_find(row->id))
		return 0;
	if (!report || strcmp(report->run.device, run->device) != 0 ||
	    strcmp(report->run.device_key, run->device_key) != 0)
		loading->status = cli_verify_reports_add(reports, run, &report, loading->err);
	if (loading->status == TCB_OK)
		report->rows[report->count++] = *row;
	return loading->status != TCB_OK;
}

static enum tcb_status load(const struct verify_args *args, struct cli_verify_reports *reports, struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	struct tcb_db *db;
	struct loading loading = { reports, err, TCB_OK };
	TCB_TRY(cli_open_db(args->ops, args->db, TCB_DB_READ, path, &db, err));
	enum tcb_status status = tcb_db_verified_each(db, load_row, &loading, err);
	cli_close_db(db);
	if (status == TCB_OK)
		status = loading.status;
	if (status == TCB_OK && reports->count == 0)
		return tcb_fail(err, TCB_E_NOT_FOUND, "%s: holds no results of tcbtune verify", path);
	return status;
}

/* --- the whole --- */

static enum tcb_status collect(const struct verify_args *args, struct cli_verify_reports *reports,
			       struct tcb_error *err)
{
	if (args->stored)
		return load(args, reports, err);
	for (size_t i = 0; i < args->from.count; i++)
		TCB_TRY(cli_verify_read(args->from.items[i], reports, err));
	if (args->from.count)
		return TCB_OK;
	TCB_TRY(measure(args, reports, err));
	return store(args, &reports->items[0], err);
}

static enum tcb_status print(const struct verify_args *args, const struct cli_verify_reports *reports,
			     struct tcb_error *err)
{
	if (args->json || args->format == FORMAT_JSON)
		return cli_verify_print_json(reports, args->out, err);
	if (args->format == FORMAT_MD)
		return cli_verify_print_md(reports, args->out, err);
	return cli_verify_print_table(reports, args->out, err);
}

static enum tcb_status run_verify(const void *arguments, struct tcb_error *err)
{
	const struct verify_args *args = arguments;
	struct cli_verify_reports reports = { .count = 0 };
	size_t failed = 0;
	TCB_TRY(cli_check_out_db(args->out, args->db, err));
	enum tcb_status status = collect(args, &reports, err);
	if (status == TCB_OK)
		status = print(args, &reports, err);
	for (size_t i = 0; i < reports.count; i++)
		failed += cli_verify_count(&reports.items[i], TCB_CLAIM_FAIL);
	cli_verify_reports_fini(&reports);
	if (status == TCB_OK && failed)
		return tcb_fail(err, TCB_E_VERIFY, "%zu check%s FAIL", failed, failed == 1 ? "" : "s");
	return status;
}

const struct cli_command cli_command_verify = {
	.name = "verify",
	.summary = "try to falsify what the specification and its sources claim",
	.description =
		"Measures each claim of the specification, section 11 (the criteria F301 to F382 and items 1 to 115), "
		"and says PASS, FAIL, REFUTED CLAIM (a claim of the project's sources that is false) or NOT RUN with "
		"the reason, and the figure behind it.  It takes about two minutes.  Each check has a negative "
		"control: the same measurement of a planted defect; a check that the defect passes is a FAIL itself. "
		"Results are stored in the database. Exits with 4 if anything is a FAIL.",
	.examples = "  tcbtune verify\n  tcbtune verify --only I031,I034\n"
		    "  tcbtune verify --from here.json --from there.json --format md --out claims.md\n",
	.options = options,
	.args_bytes = sizeof(struct verify_args),
	.run = run_verify,
};
