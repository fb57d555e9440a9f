/* SPDX-License-Identifier: MIT
 *
 * tcbtune db info|check|merge|export: what a database holds, whether it is
 * sound, others added to it, and its winners for other programs.
 */
#include "cli/cli.h"
#include "cli/db_export.h"
#include "cli/emit.h"
#include "cli/setup.h"

enum action { ACTION_INFO, ACTION_CHECK, ACTION_MERGE, ACTION_EXPORT };

struct db_args {
	int action; /* enum action */
	struct cli_list files;
	const char *db, *op, *out;
	int format; /* of export; there is one */
	int json;
};

static const struct cli_option options[] = {
	{ .argument = "ACTION",
	  .kind = CLI_WORD,
	  .offset = offsetof(struct db_args, action),
	  .words = "info|check|merge|export",
	  .required = 1,
	  .help = "info: what the database holds; check: whether all of it is sound; merge: add what the FILEs hold; "
		  "export: its winners for other programs" },
	{ .argument = "FILE...",
	  .kind = CLI_LIST,
	  .offset = offsetof(struct db_args, files),
	  .help = "of merge: databases whose sweeps, trials and winners are added to --db" },
	CLI_OPTION_DB(struct db_args),
	{ .name = "format",
	  .argument = "FORMAT",
	  .kind = CLI_WORD,
	  .offset = offsetof(struct db_args, format),
	  .words = "c-header",
	  .fallback = "c-header",
	  .help = "of export: a C header with the winners, the rules of defaults, and a lookup" },
	CLI_OPTION_OP(struct db_args, 0, "of export: of this op only"),
	{ .name = "out",
	  .argument = "FILE",
	  .kind = CLI_TEXT,
	  .offset = offsetof(struct db_args, out),
	  .note = "stdout",
	  .help = "of export: where it goes" },
	CLI_OPTION_JSON(struct db_args),
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
	};
	if (!as_json) {
		cli_text_bytes(info.file_bytes, bytes);
		tcb_str_addf(&out, "%s: %s, schema %d, journal %s, SQLite %s\n", path, bytes, info.schema_version,
			     info.journal_mode, info.sqlite_version);
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			tcb_str_addf(&out, "  %-32s %12llu\n", rows[i].title, (unsigned long long)rows[i].value);
		return cli_emit(&out, err);
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
			tcb_str_addf(&findings.text, "%s: sound\n", path);
		status = cli_emit(&findings.text, found == TCB_OK ? err : NULL);
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
		{ "provisional", "best rows that are provisional", merged->provisional },
	};
	struct tcb_str out = { 0 };
	int failed = 0;
	json_t *root;

	if (!as_json) {
		tcb_str_addf(&out, "%s: %zu database%s merged\n", path, files, files == 1 ? "" : "s");
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			tcb_str_addf(&out, "  %-32s %12llu\n", rows[i].title, (unsigned long long)rows[i].value);
		return cli_emit(&out, err);
	}
	root = cli_json_start("tcbtune.db-merge.1", &failed);
	cli_json_set(root, "path", cli_json_text(path), &failed);
	cli_json_set(root, "files", cli_json_size(files), &failed);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cli_json_set(root, rows[i].key, cli_json_size(rows[i].value), &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

static enum tcb_status merge(const struct db_args *args, struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	struct tcb_db_merged merged;
	struct tcb_db *db = NULL;
	enum tcb_status status;

	if (args->files.count == 0)
		return tcb_fail(err, TCB_E_USAGE, "'db merge' needs FILE...: databases to be added to --db");
	TCB_TRY(cli_open_db(args->db, TCB_DB_WRITE, path, &db, err));
	status = tcb_db_merge(db, args->files.items, args->files.count, &merged, err);
	tcb_db_close(db);
	if (status == TCB_OK && merged.provisional)
		cli_say("%zu best row%s provisional: no finals were held among all that is known; 'tcbtune sweep "
			"--finals-only' holds them",
			merged.provisional, merged.provisional == 1 ? " is" : "s are");
	return status == TCB_OK ? print_merged(&merged, path, args->files.count, args->json, err) : status;
}

static enum tcb_status export_header(const struct db_args *args, struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	const struct tcb_op *op;
	struct tcb_db *db = NULL;

	if (args->json)
		return tcb_fail(err, TCB_E_USAGE, "'db export' prints no JSON; 'tcbtune report --json' does");
	if (args->op)
		TCB_TRY(cli_find_op(args->op, &op, err));
	TCB_TRY(cli_check_out_db(args->out, args->db, err));
	TCB_TRY(cli_open_db(args->db, TCB_DB_READ, path, &db, err));
	enum tcb_status status = cli_export_header(db, args->op, args->out, err);
	cli_close_db(db);
	return status;
}

static enum tcb_status run_db(const void *arguments, struct tcb_error *err)
{
	const struct db_args *args = arguments;
	char path[CLI_PATH_MAX];
	struct tcb_db *db = NULL;
	enum tcb_status status;

	if (args->action == ACTION_MERGE)
		return merge(args, err);
	if (args->files.count)
		return tcb_fail(err, TCB_E_USAGE, "only 'db merge' takes FILEs, but got '%s'; --db names the database",
				args->files.items[0]);
	if (args->action == ACTION_EXPORT)
		return export_header(args, err);
	TCB_TRY(cli_open_db(args->db, TCB_DB_READ, path, &db, err));
	status = args->action == ACTION_INFO ? print_info(db, path, args->json, err)
					     : print_check(db, path, args->json, err);
	tcb_db_close(db);
	return status;
}

const struct cli_command cli_command_db = {
	.name = "db",
	.summary = "look into a tuning database, check it, merge others into it, or export it",
	.description =
		"info prints the file, its schema and how many rows of each kind it holds.  check reads everything: "
		"SQLite's integrity and foreign keys, and tcbtune's own rules; it prints each finding and exits "
		"with 1 if there is one.  "
		"merge adds to --db (made if need be) what the FILEs hold and it does not: all of it, or nothing.  In "
		"any order, and merged again, the same results.  Of two winners of one problem, device and state a "
		"measured one stays before a modelled one, one of the whole space before a shard's, then the later, of "
		"shards' the one that gained most over the default geometry; it is provisional where another sweep's "
		"trials were not in its finals (docs/many-machines.md).  "
		"export writes its winners and the rules of defaults for a program that has no SQLite "
		"(docs/defaults.md).",
	.examples = "  tcbtune db info\n  tcbtune db check --db tuning.db --json\n"
		    "  tcbtune db merge shard1.db shard2.db --db all.db\n"
		    "  tcbtune db export --format c-header --op @OP --out geometries.h\n",
	.options = options,
	.args_bytes = sizeof(struct db_args),
	.run = run_db,
};
