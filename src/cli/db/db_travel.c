/* SPDX-License-Identifier: MIT
 *
 * Winners that leave a database and enter another: as JSON that people and
 * programs read, or as a small database.  Both are made of the same records in
 * the same order, so two exports of one database are the same bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build_info.h"
#include "base/kind.h"
#include "cli/core/emit.h"
#include "cli/db/db_actions.h"
#include "cli/db/db_export.h"
#include "cli/report/best_rows.h"

/* --- export --- */

struct exporting {
	const struct cli_db_args *args;
	json_t *list;          /* of JSON */
	struct tcb_db *memory; /* of a database */
	size_t count, stale;
	int failed;
	enum tcb_status status;
	struct tcb_error *err;
};

static int copy_text(const struct tcb_winner *winner, const char *group, const char *name, char *out, size_t capacity)
{
	const char *text = tcb_winner_value(winner, group, name)->text;

	return text && strlen(text) < capacity ? (strcpy(out, text), 0) : -1;
}

/* What tells whether its kernel is today's.  -1: it cannot be read. */
static int read_kernel(const struct tcb_registry *ops, const struct tcb_winner *winner, struct tcb_best *out)
{
	char contract[16];
	const struct {
		const char *name;
		size_t *out;
	} sizes[] = { { "m", &out->problem.shape.m }, { "n", &out->problem.shape.n }, { "k", &out->problem.shape.k } };
	struct tcb_target *target = &out->target;

	char words[TCB_WORDS_TEXT_MAX];
	*out = (struct tcb_best){ 0 };
	if (copy_text(winner, "problem", "words", words, sizeof words) != 0 ||
	    tcb_words_parse(words, &out->problem.shape.words, NULL) != TCB_OK ||
	    copy_text(winner, "problem", "op", out->problem.op_name, sizeof out->problem.op_name) != 0 ||
	    copy_text(winner, "problem", "contract", contract, sizeof contract) != 0 ||
	    tcb_contract_parse(contract, &out->problem.contract, NULL) != TCB_OK ||
	    copy_text(winner, "best", "geometry", out->geometry, sizeof out->geometry) != 0 ||
	    copy_text(winner, "best", "variant", out->variant, sizeof out->variant) != 0 ||
	    copy_text(winner, "best", "signature", out->signature, sizeof out->signature) != 0)
		return -1;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		*sizes[i].out = (size_t)tcb_winner_value(winner, "problem", sizes[i].name)->integer;
	out->problem.op = tcb_registry_find(ops, out->problem.op_name);
	const char *kind = tcb_winner_value(winner, "device", "kind")->text;
	const char *limits = tcb_winner_value(winner, "device", "limits")->text;
	if (!kind || !limits || tcb_kind_find(kind, &target->kind) != 0)
		return -1;
	target->threads = (unsigned)tcb_winner_value(winner, "device", "threads")->integer;
	return tcb_kind_read_limits(limits, target);
}

static int export_winner(void *ctx, const struct tcb_winner *winner)
{
	struct exporting *exporting = ctx;
	struct tcb_winner cut = *winner;
	struct tcb_best kernel;

	if (!exporting->args->stale && (read_kernel(exporting->args->ops, winner, &kernel) != 0 || !kernel.problem.op ||
					cli_best_is_stale(&kernel))) {
		exporting->stale++;
		return 0;
	}
	if (cut.tie_count > exporting->args->ties)
		cut.tie_count = (size_t)exporting->args->ties;
	exporting->count++;
	if (exporting->memory)
		exporting->status = tcb_db_winner_put(exporting->memory, &cut, exporting->err);
	else
		cli_json_add(exporting->list, cli_winner_json(&cut, &exporting->failed), &exporting->failed);
	return exporting->status != TCB_OK;
}

static enum tcb_status emit_winners(struct exporting *exporting, struct tcb_error *err)
{
	const char *out = exporting->args->out;
	json_t *root;
	void *bytes;
	size_t count;

	if (!exporting->memory) {
		int failed = exporting->failed;

		root = cli_json_start(CLI_DB_EXPORT_SCHEMA, &failed);
		cli_json_set(root, "tcbtune", json_string(tcb_build_info()->version), &failed);
		cli_json_set(root, "winners", json_incref(exporting->list), &failed);
		return cli_emit_json_to(out, cli_json_end(root, failed), err);
	}
	TCB_TRY(tcb_db_bytes(exporting->memory, &bytes, &count, err));
	const enum tcb_status status = cli_write_file(out, bytes, count, err);
	free(bytes);
	return status;
}

static enum tcb_status export_winners(const struct cli_db_args *args, struct tcb_db *db, struct tcb_error *err)
{
	struct exporting exporting = { .args = args, .list = json_array(), .err = err };
	struct tcb_db_selection selection;
	struct tcb_shape shape;
	size_t others = 0;
	enum tcb_status status = cli_db_select(args, &shape, &selection, err);

	if (status == TCB_OK && args->format == CLI_DB_FILE)
		status = tcb_db_memory("the export", &exporting.memory, err);
	if (status == TCB_OK)
		status = tcb_db_winner_each(db, &selection, export_winner, &exporting, &others, err);
	if (status == TCB_OK)
		status = exporting.status;
	if (status == TCB_OK)
		status = emit_winners(&exporting, err);
	json_decref(exporting.list);
	tcb_db_close(exporting.memory);
	TCB_TRY(status);
	cli_say("%zu winner%s exported", exporting.count, exporting.count == 1 ? "" : "s");
	if (exporting.stale)
		cli_say("%zu left out: this build has other kernels for them than were measured; --stale takes them "
			"too",
			exporting.stale);
	if (others)
		cli_say("%zu left out: modelled, or provisional", others);
	return TCB_OK;
}

enum tcb_status cli_db_export(const struct cli_db_args *args, struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	const struct tcb_op *op;
	struct tcb_db *db = NULL;
	struct cli_db_args asked = *args;

	if (args->json && args->format != CLI_DB_T4 && args->format != CLI_DB_CACHE)
		asked.format = CLI_DB_JSON;
	const int is_results = asked.format == CLI_DB_T4 || asked.format == CLI_DB_CACHE;
	if (args->op && !is_results) /* else it may be an op that is not ours */
		TCB_TRY(cli_find_op(args->ops, args->op, &op, err));
	if (asked.format == CLI_DB_HEADER && (args->device || args->shape || args->state || args->stale))
		return tcb_fail(err, TCB_E_USAGE,
				"a C header has the winners of all devices, shapes and states: "
				"--device, --shape, --state and --stale are for other formats");
	if (asked.format == CLI_DB_FILE && !args->out)
		return tcb_fail(err, TCB_E_USAGE, "--format db needs --out FILE: the name of the database to be made");
	TCB_TRY(cli_check_out_db(args->out, args->db, err));
	TCB_TRY(cli_open_db(args->ops, args->db, TCB_DB_READ, path, &db, err));
	const enum tcb_status status = is_results                      ? cli_recording_export(&asked, db, err)
				       : asked.format == CLI_DB_HEADER ? cli_export_header(db, args->op, args->out, err)
								       : export_winners(&asked, db, err);
	cli_close_db(db);
	return status;
}

/* --- import --- */

static enum tcb_status read_file(const char *path, struct tcb_str *out, struct tcb_error *err)
{
	FILE *file = fopen(path, "rb");
	char block[65536];
	size_t count;

	if (!file)
		return tcb_fail(err, errno == ENOENT ? TCB_E_NOT_FOUND : TCB_E_IO, "cannot read %.300s: %s", path,
				strerror(errno));
	while ((count = fread(block, 1, sizeof block, file)) > 0 && !out->failed)
		tcb_str_add_bytes(out, block, count);
	const int failed = ferror(file) ? errno : 0;
	fclose(file);
	if (failed)
		return tcb_fail(err, TCB_E_IO, "cannot read %.300s: %s", path, strerror(failed));
	return out->failed ? tcb_fail(err, TCB_E_NOMEM, "%.300s: out of memory", path) : TCB_OK;
}

/* What there was in the files. */
struct imported {
	size_t winners, recordings, results;
};

struct copying {
	struct tcb_db *memory;
	size_t count;
	enum tcb_status status;
	struct tcb_error *err;
};

static int copy_winner(void *ctx, const struct tcb_winner *winner)
{
	struct copying *copying = ctx;

	copying->count++;
	copying->status = tcb_db_winner_put(copying->memory, winner, copying->err);
	return copying->status != TCB_OK;
}

/* A database: what export made, or one that was swept into. */
static enum tcb_status read_database(const struct tcb_registry *ops, const char *path, struct tcb_db *memory,
				     size_t *count_out, struct tcb_error *err)
{
	static const struct tcb_db_selection all = { 0 };
	struct copying copying = { .memory = memory, .err = err };
	struct tcb_db *source;
	struct tcb_error why;
	size_t others;

	TCB_TRY(cli_open_db_file(ops, path, TCB_DB_READ, &source, err));
	enum tcb_status status = tcb_db_check(source, NULL, NULL, &why);
	if (status != TCB_OK)
		tcb_fail(err, status, "%.440s: nothing was imported", why.message);
	else
		status = tcb_db_winner_each(source, &all, copy_winner, &copying, &others, err);
	tcb_db_close(source);
	*count_out = copying.count;
	return status == TCB_OK ? copying.status : status;
}

static enum tcb_status read_winners(const struct tcb_registry *ops, const char *path, struct tcb_db *memory,
				    size_t *count_out, struct tcb_error *err)
{
	struct tcb_str text = { 0 };
	enum tcb_status status = read_file(path, &text, err);

	if (status == TCB_OK && text.length >= 16 && memcmp(text.data, "SQLite format 3", 16) == 0)
		status = read_database(ops, path, memory, count_out, err);
	else if (status == TCB_OK && text.length >= 2 &&
		 (memcmp(text.data, "\x1f\x8b", 2) == 0 || memcmp(text.data,
								  "\xfd"
								  "7",
								  2) == 0))
		status = tcb_fail(err, TCB_E_FORMAT, "%.300s: is compressed: unpack it first", path);
	else if (status == TCB_OK)
		status = cli_winners_parse(path, text.length ? text.data : "", text.length, memory, count_out, err);
	tcb_str_fini(&text);
	return status;
}

/* What PATH has into TOGETHER: results of another tuner, or winners, which are marked. */
static enum tcb_status add_file(const struct cli_db_args *args, const char *path, struct tcb_db *together,
				struct imported *imported, struct tcb_error *err)
{
	const struct tcb_op_names names = tcb_registry_names(args->ops);
	struct tcb_db_merged ignored;
	struct tcb_db *memory;
	char name[CLI_PATH_MAX + 16];
	size_t more = 0, results;

	TCB_TRY(cli_recording_import(args, path, together, &results, err));
	imported->recordings += results > 0;
	imported->results += results;
	if (results)
		return TCB_OK;
	if (args->op || args->device)
		return tcb_fail(err, TCB_E_USAGE,
				"%.300s holds winners, which say themselves of what op and device they are: --op and "
				"--device are for T4 and cache files",
				path);
	snprintf(name, sizeof name, "winners of %s", path);
	TCB_TRY(tcb_db_memory(name, &memory, err));
	tcb_db_know_ops(memory, &names);
	enum tcb_status status = read_winners(args->ops, path, memory, &more, err);
	if (status == TCB_OK)
		status = tcb_db_mark_imported(memory, path, err);
	if (status == TCB_OK)
		status = tcb_db_import(together, memory, &ignored, err);
	tcb_db_close(memory);
	imported->winners += more;
	return status;
}

static enum tcb_status print_imported(const struct cli_db_args *args, const char *path, const struct imported *imported,
				      const struct tcb_db_merged *merged, struct tcb_error *err)
{
	const size_t winners = imported->winners, left = winners - merged->best;
	struct tcb_str out = { 0 };
	int failed = 0;

	if (merged->provisional)
		cli_say("%zu best row%s provisional: no finals were held among all that is known; 'tcbtune sweep "
			"--finals-only' holds them",
			merged->provisional, merged->provisional == 1 ? " is" : "s are");
	if (!args->json) {
		cli_add_line(&out, "%s: %zu file%s imported", path, args->files.count,
			     args->files.count == 1 ? "" : "s");
		if (winners || !imported->recordings)
			tcb_str_addf(&out, "  %-40s %8zu\n  %-40s %8zu\n  %-40s %8zu\n", "winners read", winners,
				     "winners added or replaced", merged->best, "left out: as good a proof is here",
				     left);
		if (imported->recordings)
			cli_add_wrapped(
				&out, 4,
				"  %zu result%s of other tuners, in %zu file%s: for replays and starts of searches, "
				"not measured here",
				imported->results, imported->results == 1 ? "" : "s", imported->recordings,
				imported->recordings == 1 ? "" : "s");
		return cli_emit_text(&out, err);
	}
	json_t *root = cli_json_start("tcbtune.db-import.1", &failed);
	cli_json_set(root, "path", cli_json_text(path), &failed);
	cli_json_set(root, "files", cli_json_size(args->files.count), &failed);
	cli_json_set(root, "winners", cli_json_size(winners), &failed);
	cli_json_set(root, "best", cli_json_size(merged->best), &failed);
	cli_json_set(root, "left_out", cli_json_size(left), &failed);
	cli_json_set(root, "provisional", cli_json_size(merged->provisional), &failed);
	cli_json_set(root, "recordings", cli_json_size(imported->recordings), &failed);
	cli_json_set(root, "results", cli_json_size(imported->results), &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

enum tcb_status cli_db_import(const struct cli_db_args *args, struct tcb_error *err)
{
	char path[CLI_PATH_MAX];
	struct tcb_db_merged merged;
	struct tcb_db *together, *db = NULL;
	struct imported imported = { 0 };

	if (args->files.count == 0)
		return tcb_fail(
			err, TCB_E_USAGE,
			"'db import' needs FILE...: what 'db export' wrote as JSON or database, or T4 and cache "
			"files of other tuners");
	TCB_TRY(tcb_db_memory("what is to be imported", &together, err));
	enum tcb_status status = TCB_OK;
	for (size_t i = 0; i < args->files.count && status == TCB_OK; i++)
		status = add_file(args, args->files.items[i], together, &imported, err);
	if (status == TCB_OK)
		status = cli_open_db(args->ops, args->db, TCB_DB_WRITE, path, &db, err);
	if (status == TCB_OK)
		status = tcb_db_import(db, together, &merged, err);
	tcb_db_close(db);
	tcb_db_close(together);
	return status == TCB_OK ? print_imported(args, path, &imported, &merged, err) : status;
}
