/* SPDX-License-Identifier: MIT
 *
 * tcbtune history: one problem over the sweeps of a database, a line for each
 * that held finals.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/nearby.h"
#include "cli/core/setup.h"
#include "cli/report/best_data.h"
#include "cli/report/bound_facts.h"
#include "cli/report/compare.h"
#include "db/verdict.h"

enum { COMMIT_SHOWN = 7, SIGNATURE_SHOWN = 6 };

struct history_args {
	const struct tcb_registry *ops;
	const char *op, *shape, *contract, *device, *db;
	uint64_t threads;
	int state; /* 0: both, else 1 + enum tcb_state */
	int format, json;
};
enum format { FORMAT_TABLE, FORMAT_JSON };

static const struct cli_option options[] = {
	CLI_OPTION_OP(struct history_args, 1, "the op"),
	{ "shape", "MxNxK", CLI_TEXT, offsetof(struct history_args, shape), "the shape", .required = 1 },
	{ "contract", "C", CLI_TEXT, offsetof(struct history_args, contract), "only this contract: f32, f16 or q8",
	  .names = CLI_NAMES_CONTRACT, .note = "all" },
	{ "device", "DEV", CLI_TEXT, offsetof(struct history_args, device), "only devices of this name or key",
	  .note = "all", .names = CLI_NAMES_DEVICE },
	{ "threads", "N", CLI_COUNT, offsetof(struct history_args, threads), "only results of so many threads",
	  .fallback = "0", .note = "all" },
	{ "state", "STATE", CLI_WORD, offsetof(struct history_args, state), "only this cache state",
	  .words = "both|cold|hot", .fallback = "both" },
	CLI_OPTION_DB(struct history_args),
	{ "format", "F", CLI_WORD, offsetof(struct history_args, format), "how to print it", .words = "table|json",
	  .fallback = "table" },
	CLI_OPTION_JSON(struct history_args),
	CLI_OPTION_END,
};

/* The sweeps of one winner's problem, device and state. */
struct history {
	const struct tcb_best *best;
	char decided_by[sizeof((struct tcb_origin *)NULL)->uid];
	struct tcb_held *held;
	size_t count;
	int is_full;
};

static int add_held(void *ctx, const struct tcb_held *held)
{
	struct history *history = ctx;
	struct tcb_held *grown = realloc(history->held, (history->count + 1) * sizeof *grown);

	if (!grown) {
		history->is_full = 1;
		return 1;
	}
	history->held = grown;
	grown[history->count] = *held;
	if (strcmp(held->origin.uid, history->decided_by) == 0)
		grown[history->count].speedup = history->best->speedup; /* it knows of the processes, too */
	history->count++;
	return 0;
}

static int is_decisive(const struct history *history, const struct tcb_held *held)
{
	return strcmp(held->origin.uid, history->decided_by) == 0;
}

/* The first sweep that the geometry of sweep I won. */
static size_t first_of(const struct history *history, size_t i)
{
	size_t first = 0;

	while (strcmp(history->held[first].geometry, history->held[i].geometry) != 0)
		first++;
	return first;
}

/* Which of the winning geometries that of sweep I is, from 1. */
static size_t number_of(const struct history *history, size_t i)
{
	size_t number = 1;

	for (size_t earlier = 0; earlier < first_of(history, i); earlier++)
		number += (size_t)(first_of(history, earlier) == earlier);
	return number;
}

/* Each winning geometry once: the first whole, the others by what they have else. */
static void add_geometries(const struct history *history, struct tcb_str *out)
{
	for (size_t i = 0; i < history->count; i++) {
		struct tcb_str line = { 0 };

		if (first_of(history, i) != i)
			continue;
		tcb_str_addf(&line, "geometry %zu: ", number_of(history, i));
		if (i)
			cli_add_knobs(&line, history->held[0].geometry, history->held[i].geometry);
		else
			tcb_str_add(&line, history->held[i].geometry);
		if (line.data)
			cli_add_note(out, CLI_TABLE_TEXT, line.data);
		out->failed |= line.failed;
		tcb_str_fini(&line);
	}
}

static void add_row(struct cli_table *table, const struct history *history, size_t i)
{
	const struct tcb_held *held = &history->held[i];
	const char *commit = held->origin.git_commit;
	char number[CLI_NUMBER_MAX];

	cli_table_cell(table, "%.10s %.5s", held->origin.started_at,
		       strlen(held->origin.started_at) > 11 ? held->origin.started_at + 11 : "");
	cli_table_cell(table, "%.*s%s", COMMIT_SHOWN, commit, strstr(commit, "-dirty") ? "+" : "");
	cli_table_cell(table, "%.*s", SIGNATURE_SHOWN, held->signature);
	cli_text_us_interval(&held->ns, number);
	cli_table_cell(table, "%s", number);
	cli_text_ratio(held->speedup.median, number);
	cli_table_cell(table, "%s", number);
	cli_table_cell(table, "%zu/%zu", held->tried, history->best->space_count);
	cli_table_cell(table, "%zu", number_of(history, i));
}

static enum tcb_status add_table(const struct history *history, struct tcb_str *out, struct tcb_error *err)
{
	static const struct cli_column columns[] = { { "SWEPT", 0 },     { "COMMIT", 0 },    { "KERNEL", 0 },
						     { "µs [95 %]", 1 }, { "x DEFAULT", 1 }, { "TRIED", 1 },
						     { "G", 1 } };
	const struct tcb_best *best = history->best;
	const enum tcb_verdict verdict = tcb_best_verdict(best, cli_best_is_stale(best));
	char label[CLI_ROW_LABEL_MAX], line[CLI_ROW_LABEL_MAX + TCB_VERDICT_REASON_MAX], reason[TCB_VERDICT_REASON_MAX];
	char threads[CLI_NUMBER_MAX];
	struct cli_table table;

	cli_row_label(&best->problem, label);
	tcb_str_add(out, out->length ? "\n" : "");
	cli_threads_text(best->threads, threads);
	cli_add_line(out, "%s %s on %s, %.30s%s", label, tcb_state_text(best->state), best->device_name, best->model,
		     threads);
	cli_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < history->count; i++)
		add_row(&table, history, i);
	enum tcb_status status = cli_table_finish(&table, CLI_TABLE_TEXT, out, err);
	add_geometries(history, out);
	tcb_verdict_reason(best, verdict, reason);
	(void)snprintf(line, sizeof line, "now %s: %s", tcb_verdict_text(verdict), reason);
	cli_add_note(out, CLI_TABLE_TEXT, line);
	return status;
}

static json_t *held_json(const struct history *history, const struct tcb_held *held, int *failed)
{
	const struct {
		const char *key, *text;
	} texts[] = {
		{ "uid", held->origin.uid },
		{ "started_at", held->origin.started_at },
		{ "status", held->origin.status },
		{ "version", held->origin.version },
		{ "git_commit", held->origin.git_commit },
		{ "compiler", held->origin.compiler },
		{ "os", held->origin.os },
		{ "driver", held->origin.driver },
		{ "strategy", held->origin.strategy },
		{ "geometry", held->geometry },
		{ "variant", held->variant },
		{ "signature", held->signature },
	};
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cli_json_set(object, texts[i].key, cli_json_text(texts[i].text), failed);
	cli_json_set(object, "rotation_bytes", cli_json_size(held->origin.rotation_bytes), failed);
	cli_json_set(object, "ns", cli_json_interval(&held->ns), failed);
	cli_json_set(object, "default_ns",
		     held->default_ns.median > 0 ? cli_json_interval(&held->default_ns) : json_null(), failed);
	cli_json_set(object, "speedup", held->speedup.median > 0 ? cli_json_interval(&held->speedup) : json_null(),
		     failed);
	cli_json_set(object, "tried", cli_json_size(held->tried), failed);
	cli_json_set(object, "is_best", json_boolean(is_decisive(history, held)), failed);
	return object;
}

static json_t *history_json(const struct history *history, int *failed)
{
	const struct tcb_best *best = history->best;
	const enum tcb_verdict verdict = tcb_best_verdict(best, cli_best_is_stale(best));
	json_t *object = cli_best_json_head(best, 0, failed), *list = json_array();
	char reason[TCB_VERDICT_REASON_MAX];

	tcb_verdict_reason(best, verdict, reason);
	cli_best_json_named(object, best, (const char *const[]){ "default_geometry", "space_count", NULL }, failed);
	cli_json_set(object, "verdict", json_string(tcb_verdict_text(verdict)), failed);
	cli_json_set(object, "verdict_reason", cli_json_text(reason), failed);
	for (size_t i = 0; i < history->count; i++)
		cli_json_add(list, held_json(history, &history->held[i], failed), failed);
	cli_json_set(object, "sweeps", list, failed);
	return object;
}

/* What is printed: either. */
struct telling {
	struct tcb_str text;
	json_t *list;
	int failed;
};

static enum tcb_status tell(struct tcb_db *db, const struct tcb_best *best, struct telling *telling,
			    struct tcb_error *err)
{
	struct history history = { .best = best };
	struct tcb_origin origin;

	TCB_TRY(tcb_db_origin(db, best, &origin, err));
	memcpy(history.decided_by, origin.uid, sizeof history.decided_by);
	enum tcb_status status = tcb_db_held_each(db, best, add_held, &history, err);
	if (status == TCB_OK && history.is_full)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the sweeps");
	if (status == TCB_OK && telling->list)
		cli_json_add(telling->list, history_json(&history, &telling->failed), &telling->failed);
	else if (status == TCB_OK)
		status = add_table(&history, &telling->text, err);
	free(history.held);
	return status;
}

struct wanted {
	const struct history_args *args;
	struct tcb_shape shape;
	struct cli_best_rows rows;
	int is_full;
};

static int collect(void *ctx, const struct tcb_best *best)
{
	struct wanted *wanted = ctx;
	const struct history_args *args = wanted->args;
	if (!tcb_shape_equal(&best->problem.shape, &wanted->shape) ||
	    (args->contract && strcmp(args->contract, tcb_contract_text(best->problem.contract)) != 0) ||
	    (args->device && strcmp(args->device, best->device_name) != 0 &&
	     strcmp(args->device, best->device_key) != 0) ||
	    (args->threads && args->threads != best->threads) || (args->state && args->state != 1 + (int)best->state))
		return 0;
	wanted->is_full = !cli_best_rows_add(&wanted->rows, best);
	return wanted->is_full;
}

static enum tcb_status nothing_found(struct tcb_db *db, const char *path, const struct wanted *wanted,
				     struct tcb_error *err)
{
	const struct history_args *args = wanted->args;
	const int is_key = args->device && strlen(args->device) == TCB_DEVICE_KEY_MAX - 1 && !strchr(args->device, ':');
	struct cli_near_to near = { .op = args->op,
				    .device_name = is_key ? NULL : args->device,
				    .device_key = is_key ? args->device : NULL,
				    .threads = (unsigned)args->threads,
				    .contract = -1,
				    .state = args->state - 1,
				    .shape = &wanted->shape };
	struct cli_bounds all = { .failed = 0 };
	enum tcb_contract contract;
	char nearby[CLI_NEARBY_MAX] = "";

	if (args->contract && tcb_contract_parse(args->contract, &contract, NULL) == TCB_OK)
		near.contract = (int)contract;
	const enum tcb_status status = cli_bounds_load(db, &all, err);
	if (status == TCB_OK)
		cli_nearby(all.list, all.count, &near, nearby);
	cli_bounds_fini(&all);
	if (status != TCB_OK)
		return status;
	return tcb_fail(err, TCB_E_NOT_FOUND,
			"%.120s holds no winner of that%s%s%s; 'tcbtune report --op %s' lists those that it has", path,
			nearby[0] ? " (" : "", nearby, nearby[0] ? ")" : "", args->op);
}

static enum tcb_status tell_all(struct tcb_db *db, const char *path, struct wanted *wanted, struct tcb_error *err)
{
	const struct history_args *args = wanted->args;
	const struct tcb_best_filter filter = { .op = args->op };
	const int is_json = args->json || args->format == FORMAT_JSON;
	struct telling telling = { .failed = 0 };

	TCB_TRY(tcb_db_best_each(db, &filter, collect, wanted, err));
	if (wanted->is_full)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the winners");
	if (wanted->rows.count == 0)
		return nothing_found(db, path, wanted, err);
	telling.list = is_json ? json_array() : NULL;
	enum tcb_status status = is_json && !telling.list ? tcb_fail(err, TCB_E_NOMEM, "out of memory") : TCB_OK;
	for (size_t i = 0; i < wanted->rows.count && status == TCB_OK; i++)
		status = tell(db, &wanted->rows.rows[i].best, &telling, err);
	if (status != TCB_OK) {
		json_decref(telling.list);
		tcb_str_fini(&telling.text);
		return status;
	}
	if (!is_json)
		return cli_emit_text(&telling.text, err);
	json_t *root = cli_json_start("tcbtune.history.1", &telling.failed);
	cli_json_set(root, "histories", telling.list, &telling.failed);
	return cli_emit_json(cli_json_end(root, telling.failed), err);
}

static enum tcb_status run_history(const void *arguments, struct tcb_error *err)
{
	const struct history_args *args = arguments;
	struct wanted wanted = { .args = args };
	const struct tcb_op *op;
	char path[CLI_PATH_MAX] = "";
	struct tcb_db *db = NULL;

	TCB_TRY(cli_find_op(args->ops, args->op, &op, err));
	TCB_TRY(cli_read_shape(op, args->shape, &wanted.shape, err));
	TCB_TRY(cli_open_db(args->ops, args->db, TCB_DB_READ, path, &db, err));
	enum tcb_status status = tell_all(db, path, &wanted, err);
	cli_best_rows_fini(&wanted.rows);
	cli_close_db(db);
	return status;
}

const struct cli_command cli_command_history = {
	.name = "history",
	.summary = "show one problem over the sweeps of a database",
	.description = "For each device, number of threads, contract and cache state one line for each sweep that held "
		       "finals, the oldest first: when, the program's commit (+: with changes that were not "
		       "committed), the winner's kernel (the first digits of its signature), its time with its 95 % "
		       "interval, the speed-up over the default geometry in the same finals, and how many geometries "
		       "that sweep measured of how many there are. Below, where the winning geometry changed, and the "
		       "verdict on what is stored now. Times of different days differ by what the machine did "
		       "meanwhile; the speed-up does not.  Exits with 3 if there is no result.",
	.examples = "  tcbtune history --op @OP --shape 1x4096x4096\n",
	.options = options,
	.args_bytes = sizeof(struct history_args),
	.run = run_history,
};
