/* SPDX-License-Identifier: MIT
 *
 * tcbtune db info|check|merge|export|import|forget|prune|diff: what a database
 * holds, whether it is sound, and what goes into it and out of it.
 */
#include "cli/core/cli.h"

#include <string.h>

#include "cli/core/emit.h"
#include "cli/db/db_actions.h"

static const struct cli_option options[] = {
	{ NULL, "ACTION", CLI_WORD, offsetof(struct cli_db_args, action),
	  "info: what the database holds; check: whether all of it is sound; merge: add what the FILEs hold; export: "
	  "its winners for other machines and programs; import: add the winners of exports, or results of other "
	  "tuners; "
	  "forget: take a selection "
	  "out; prune: take out what nobody can use; diff: how the winners of two differ",
	  .words = "info|check|merge|export|import|forget|prune|diff", .required = 1 },
	{ NULL, "FILE...", CLI_LIST, offsetof(struct cli_db_args, files),
	  "of merge: databases whose sweeps, trials and winners are added to --db; of import: exports, T4 files, "
	  "caches of Kernel Tuner; of diff: two databases, or one, which is compared with --db" },
	CLI_OPTION_DB(struct cli_db_args),
	{ "format", "FORMAT", CLI_WORD, offsetof(struct cli_db_args, format),
	  "of export: a C header with the winners, the rules of defaults, and a lookup; or, for import, the winners "
	  "and where they come from, as JSON or as a small database; or all results of one op on one device, as T4 or "
	  "as "
	  "a cache of Kernel Tuner",
	  .words = "c-header|json|db|t4|kernel-tuner", .fallback = "c-header" },
	CLI_OPTION_OP(struct cli_db_args, 0,
		      "of export, forget, diff: of this op only; of import: whose results a T4 or cache file has"),
	{ "device", "DEV", CLI_TEXT, offsetof(struct cli_db_args, device),
	  "of export, forget, diff: of devices of this name or key only; of import: on what a T4 or cache file was "
	  "measured",
	  .names = CLI_NAMES_DEVICE },
	{ "shape", "MxNxK", CLI_TEXT, offsetof(struct cli_db_args, shape),
	  "of export, forget, diff: of this shape only" },
	{ "state", "STATE", CLI_WORD, offsetof(struct cli_db_args, state),
	  "of export, forget, diff: winners of this cache state only", .words = "both|cold|hot", .fallback = "both" },
	{ "stale", NULL, CLI_FLAG, offsetof(struct cli_db_args, stale),
	  "of export: also winners whose kernels have changed; of forget: only what is of such kernels" },
	{ "ties", "N", CLI_COUNT, offsetof(struct cli_db_args, ties),
	  "of export: of the geometries that cannot be told from a winner, itself included, the first N",
	  .fallback = "1000", .least = 1 },
	{ "all", NULL, CLI_FLAG, offsetof(struct cli_db_args, all), "of forget: everything" },
	{ "keep-samples", NULL, CLI_FLAG, offsetof(struct cli_db_args, keep_samples),
	  "of prune: samples of sweeps that decided no winner stay" },
	{ "dry-run", NULL, CLI_FLAG, offsetof(struct cli_db_args, dry_run),
	  "of forget and prune: only say what would be taken out" },
	{ "out", "FILE", CLI_TEXT, offsetof(struct cli_db_args, out), "of export: where it goes", .note = "stdout" },
	CLI_OPTION_JSON(struct cli_db_args),
	CLI_OPTION_END,
};

struct count_row {
	const char *key, *title;
	uint64_t value;
};

static enum tcb_status print_info(struct tcb_db *db, const char *path, int as_json, struct tcb_error *err)
{
	struct tcb_db_info info;
	char bytes[CLI_NUMBER_MAX];
	struct tcb_str out = { 0 };
	int failed = 0;
	json_t *root;

	TCB_TRY(tcb_db_info(db, &info, err));
	const struct count_row rows[] = {
		{ "devices", "devices", info.devices },
		{ "problems", "problems", info.problems },
		{ "sweeps", "sweeps", info.sweeps },
		{ "sweeps_running", "  not ended (running, or killed)", info.sweeps_running },
		{ "trials", "trials", info.trials },
		{ "trials_failed", "  that failed", info.trials_failed },
		{ "samples", "samples", info.samples },
		{ "best", "best rows", info.best },
		{ "claims", "results of tcbtune verify", info.claims },
		{ "recordings", "recordings of other tuners", info.recordings },
	};
	if (!as_json) {
		tcb_size_text(info.file_bytes, bytes);
		cli_add_line(&out, "%s: %s, schema %d, journal %s, SQLite %s", path, bytes, info.schema_version,
			     info.journal_mode, info.sqlite_version);
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			tcb_str_addf(&out, "  %-32s %12llu\n", rows[i].title, (unsigned long long)rows[i].value);
		return cli_emit_text(&out, err);
	}
	root = cli_json_start("tcbtune.db-info.1", &failed);
	cli_json_set(root, "path", cli_json_text(path), &failed);
	cli_json_set(root, "schema_version", json_integer(info.schema_version), &failed);
	cli_json_set(root, "journal_mode", cli_json_text(info.journal_mode), &failed);
	cli_json_set(root, "sqlite_version", cli_json_text(info.sqlite_version), &failed);
	cli_json_set(root, "file_bytes", cli_json_size(info.file_bytes), &failed);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cli_json_set(root, rows[i].key, cli_json_size(rows[i].value), &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

struct findings {
	json_t *list;
	struct tcb_str text;
	int failed;
};

static void add_finding(void *ctx, const char *finding)
{
	struct findings *findings = ctx;

	cli_json_add(findings->list, cli_json_text(finding), &findings->failed);
	cli_add_line(&findings->text, "%s", finding);
}

static enum tcb_status print_check(struct tcb_db *db, const char *path, int as_json, struct tcb_error *err)
{
	struct findings findings = { .list = json_array() };
	enum tcb_status found = tcb_db_check(db, add_finding, &findings, err), status;
	json_t *root;

	if (as_json) {
		root = cli_json_start("tcbtune.db-check.1", &findings.failed);
		cli_json_set(root, "path", cli_json_text(path), &findings.failed);
		cli_json_set(root, "sound", json_boolean(found == TCB_OK), &findings.failed);
		cli_json_set(root, "findings", findings.list, &findings.failed);
		tcb_str_fini(&findings.text);
		status = cli_emit_json(cli_json_end(root, findings.failed), found == TCB_OK ? err : NULL);
	} else {
		json_decref(findings.list);
		if (found == TCB_OK)
			cli_add_line(&findings.text, "%s: sound", path);
		status = cli_emit_text(&findings.text, found == TCB_OK ? err : NULL);
	}
	return found != TCB_OK ? found : status;
}

static enum tcb_status print_merged(const struct tcb_db_merged *merged, const char *path, size_t files, int as_json,
				    struct tcb_error *err)
{
	const struct count_row rows[] = {
		{ "sweeps", "sweeps added", merged->sweeps },
		{ "trials", "trials added", merged->trials },
		{ "best", "best rows added or replaced", merged->best },
		{ "claims", "results of verify added", merged->claims },
		{ "provisional", "best rows that are provisional", merged->provisional },
	};
	struct tcb_str out = { 0 };
	int failed = 0;
	json_t *root;

	if (!as_json) {
		cli_add_line(&out, "%s: %zu database%s merged", path, files, files == 1 ? "" : "s");
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			tcb_str_addf(&out, "  %-32s %12llu\n", rows[i].title, (unsigned long long)rows[i].value);
		return cli_emit_text(&out, err);
	}
	root = cli_json_start("tcbtune.db-merge.1", &failed);
	cli_json_set(root, "path", cli_json_text(path), &failed);
	cli_json_set(root, "files", cli_json_size(files), &failed);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cli_json_set(root, rows[i].key, cli_json_size(rows[i].value), &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

static enum tcb_status merge(const struct cli_db_args *args, struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	struct tcb_db_merged merged;
	struct tcb_db *db = NULL;
	enum tcb_status status;

	if (args->files.count == 0)
		return tcb_fail(err, TCB_E_USAGE, "'db merge' needs FILE...: databases to be added to --db");
	TCB_TRY(cli_open_db(args->ops, args->db, TCB_DB_WRITE, path, &db, err));
	status = tcb_db_merge(db, args->files.items, args->files.count, &merged, err);
	tcb_db_close(db);
	if (status == TCB_OK && merged.provisional)
		cli_say("%zu best row%s provisional: no finals were held among all that is known; 'tcbtune sweep "
			"--finals-only' holds them",
			merged.provisional, merged.provisional == 1 ? " is" : "s are");
	return status == TCB_OK ? print_merged(&merged, path, args->files.count, args->json, err) : status;
}

enum tcb_status cli_db_select(const struct cli_db_args *args, struct tcb_shape *shape, struct tcb_db_selection *out,
			      struct tcb_error *err)
{
	*out = (struct tcb_db_selection){
		.op = args->op,
		.device = args->device,
		.state = args->state ? tcb_state_text((enum tcb_state)(args->state - 1)) : NULL,
	};
	if (!args->shape)
		return TCB_OK;
	out->shape = shape;
	return cli_read_shape(args->op ? tcb_registry_find(args->ops, args->op) : NULL, args->shape, shape, err);
}

#define OF(action) (1u << CLI_DB_##action)

/* An option that the action would ignore is a mistake. */
static enum tcb_status check_options(const struct cli_db_args *args, struct tcb_error *err)
{
	const unsigned selecting = OF(EXPORT) | OF(FORGET) | OF(DIFF);
	const struct {
		const char *name;
		int is_given;
		unsigned of;
	} rows[] = {
		{ "--format", args->format != 0, OF(EXPORT) },
		{ "--op", args->op != NULL, selecting | OF(IMPORT) },
		{ "--device", args->device != NULL, selecting | OF(IMPORT) },
		{ "--shape", args->shape != NULL, selecting },
		{ "--state", args->state != 0, selecting },
		{ "--stale", args->stale, OF(EXPORT) | OF(FORGET) },
		{ "--all", args->all, OF(FORGET) },
		{ "--keep-samples", args->keep_samples, OF(PRUNE) },
		{ "--dry-run", args->dry_run, OF(FORGET) | OF(PRUNE) },
		{ "--out", args->out != NULL, OF(EXPORT) },
	};
	static const char *const names[] = { "info", "check", "merge", "export", "import", "forget", "prune", "diff" };

	if (args->files.count && !((OF(MERGE) | OF(IMPORT) | OF(DIFF)) & (1u << args->action)))
		return tcb_fail(err, TCB_E_USAGE,
				"'db %s' takes no FILE, but got '%s'; --db names the database, and merge, import and "
				"diff take FILEs",
				names[args->action], args->files.items[0]);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].is_given && !(rows[i].of & (1u << args->action)))
			return tcb_fail(err, TCB_E_USAGE, "'db %s' has no %s", names[args->action], rows[i].name);
	return TCB_OK;
}

static enum tcb_status look(const struct cli_db_args *args, struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	struct tcb_db *db = NULL;

	TCB_TRY(cli_open_db(args->ops, args->db, TCB_DB_READ, path, &db, err));
	const enum tcb_status status = args->action == CLI_DB_INFO ? print_info(db, path, args->json, err)
								   : print_check(db, path, args->json, err);
	tcb_db_close(db);
	return status;
}

static enum tcb_status run_db(const void *arguments, struct tcb_error *err)
{
	static enum tcb_status (*const actions[])(const struct cli_db_args *args, struct tcb_error *err) = {
		[CLI_DB_INFO] = look,
		[CLI_DB_CHECK] = look,
		[CLI_DB_MERGE] = merge,
		[CLI_DB_EXPORT] = cli_db_export,
		[CLI_DB_IMPORT] = cli_db_import,
		[CLI_DB_FORGET] = cli_db_forget,
		[CLI_DB_PRUNE] = cli_db_prune,
		[CLI_DB_DIFF] = cli_db_diff,
	};
	const struct cli_db_args *args = arguments;

	TCB_TRY(check_options(args, err));
	return actions[args->action](args, err);
}

const struct cli_command cli_command_db = {
	.name = "db",
	.summary = "look into a tuning database, check it, and carry results into it and out of it",
	.description =
		"info prints the file, its schema and how many rows of each kind it holds.  check reads everything: "
		"SQLite's integrity and foreign keys, and tcbtune's own rules; it prints each finding and exits with 1 "
		"if there is one.  merge adds to --db (made if need be) what the FILEs hold and it does not: all of "
		"it, or nothing.  In any order, and merged again, the same results.  Of two winners of one problem, "
		"device and state a measured one stays before a modelled one, one of the whole space before a shard's, "
		"then the later, of shards' the one that gained most over the default geometry; it is provisional "
		"where another sweep's trials were not in its finals (docs/many-machines.md).  export writes its "
		"winners: with the rules of defaults for a program that has no SQLite (docs/defaults.md), or with all "
		"that a stranger needs to judge them, as JSON or a small database.  import adds such winners to --db "
		"(made if need be) by the rules of merge, all of the FILEs or nothing; they keep the keys of their "
		"devices, so on another machine lookups use them as what they are.  Results of other tuners (T4, "
		"caches of "
		"Kernel Tuner, plain or gz) are kept apart: for replays, and for where a search begins, never as "
		"measurements of a device here; export --format t4 or kernel-tuner writes them, or what was measured "
		"here "
		"of one op, shape, device and state.  forget takes winners and trials of "
		"a selection out; with --state only winners, since trials are of both states.  prune takes out what no "
		"lookup and no resumed sweep can use, and gives the space back; kernels that this build does not have "
		"are left alone.  diff lists problems whose winners differ and exits with 4 if there is one, 3 if "
		"neither database has a winner.",
	.examples = "  tcbtune db info\n  tcbtune db check --db tuning.db --json\n"
		    "  tcbtune db merge shard1.db shard2.db --db all.db\n"
		    "  tcbtune db export --format c-header --op @OP --out geometries.h\n"
		    "  tcbtune db export --format json --device cpu --out mine.json\n"
		    "  tcbtune db import mine.json --db there.db\n"
		    "  tcbtune db import gemm_T4.json.gz --op own_gemm --device A100\n"
		    "  tcbtune db export --format t4 --op @OP --out results_T4.json\n"
		    "  tcbtune db forget --stale --dry-run\n"
		    "  tcbtune db diff before.db after.db\n",
	.options = options,
	.args_bytes = sizeof(struct cli_db_args),
	.run = run_db,
};
