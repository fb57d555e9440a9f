/* SPDX-License-Identifier: MIT
 *
 * tcbtune trial: what became of one candidate, or of those that failed.
 */
#include <math.h>
#include <stdio.h>

#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/setup.h"
#include "db/told.h"

struct trial_args {
	const struct tcb_registry *ops;
	uint64_t number;
	const char *op, *db;
	int json;
};

static const struct cli_option options[] = {
	{ NULL, "N", CLI_COUNT, offsetof(struct trial_args, number), "the trial's number; else all that failed",
	  .fallback = "0" },
	CLI_OPTION_OP(struct trial_args, 0, "only failures of this op"),
	CLI_OPTION_DB(struct trial_args),
	CLI_OPTION_JSON(struct trial_args),
	CLI_OPTION_END,
};

struct telling {
	const struct trial_args *args;
	struct tcb_str text;
	json_t *list; /* NULL: text */
	size_t count;
	int failed;
};

static json_t *json_of(const struct tcb_told *told, int *failed)
{
	json_t *row = json_object();

	cli_json_set(row, "trial", cli_json_size((uint64_t)told->id), failed);
	cli_json_set(row, "op", cli_json_text(told->op), failed);
	cli_json_set(row, "contract", cli_json_text(told->contract), failed);
	cli_json_set(row, "shape", cli_json_shape(&told->shape), failed);
	cli_json_set(row, "device", cli_json_text(told->device), failed);
	cli_json_set(row, "device_key", cli_json_text(told->key), failed);
	cli_json_set(row, "threads", cli_json_size(told->threads), failed);
	cli_json_set(row, "geometry", cli_json_text(told->geometry), failed);
	cli_json_set(row, "variant", cli_json_text(told->variant), failed);
	cli_json_set(row, "signature", cli_json_text(told->signature), failed);
	cli_json_set(row, "outcome", cli_json_text(told->outcome), failed);
	cli_json_set(row, "message", cli_json_text(told->message), failed);
	cli_json_set(row, "finished_at", cli_json_text(told->finished_at), failed);
	cli_json_set(row, "error_ratio", cli_json_real(told->error_ratio), failed);
	cli_json_set(row, "cold_ns", cli_json_real(told->ns[TCB_COLD]), failed);
	cli_json_set(row, "hot_ns", cli_json_real(told->ns[TCB_HOT]), failed);
	return row;
}

static void add_text(const struct tcb_told *told, int is_whole, struct tcb_str *out)
{
	char shape[TCB_SHAPE_TEXT_MAX], number[CLI_NUMBER_MAX];

	tcb_shape_print(&told->shape, shape);
	cli_add_line(out, "trial %lld: %s %s on %s, %s%s%s", (long long)told->id, told->op, shape, told->device,
		     told->outcome, told->message[0] ? ": " : "", told->message);
	cli_add_line(out, "  geometry %s", told->geometry);
	if (!is_whole)
		return;
	cli_add_line(out, "  finished %s, kernel %s %s", told->finished_at, told->variant, told->signature);
	if (!isnan(told->error_ratio))
		cli_add_line(out, "  largest error %.3g of what is allowed", told->error_ratio);
	for (int state = 0; state < TCB_STATE_COUNT; state++) {
		if (isnan(told->ns[state]))
			continue;
		cli_text_us(told->ns[state], number);
		cli_add_line(out, "  %s %s µs", tcb_state_text((enum tcb_state)state), number);
	}
}

static int tell(void *ctx, const struct tcb_told *told)
{
	struct telling *telling = ctx;

	telling->count++;
	if (telling->list)
		cli_json_add(telling->list, json_of(told, &telling->failed), &telling->failed);
	else
		add_text(told, telling->args->number != 0, &telling->text);
	return 0;
}

static enum tcb_status emit(struct telling *telling, struct tcb_error *err)
{
	if (!telling->list)
		return cli_emit_text(&telling->text, err);
	json_t *root = cli_json_start("tcbtune.trial.1", &telling->failed);
	cli_json_set(root, "trials", telling->list, &telling->failed);
	return cli_emit_json(cli_json_end(root, telling->failed), err);
}

static enum tcb_status run_trial(const void *arguments, struct tcb_error *err)
{
	const struct trial_args *args = arguments;
	struct telling telling = { .args = args };
	char path[CLI_PATH_MAX] = "";
	struct tcb_db *db = NULL;
	enum tcb_status status;

	TCB_TRY(cli_open_db(args->ops, args->db, TCB_DB_READ, path, &db, err));
	if (args->json && !(telling.list = json_array()))
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory");
	else
		status = tcb_db_told_each(db, (int64_t)args->number, args->op, tell, &telling, err);
	if (status == TCB_OK && !telling.count)
		status = args->number ? tcb_fail(err, TCB_E_NOT_FOUND,
						 "%.200s has no trial %llu; 'tcbtune trial' lists those that failed",
						 path, (unsigned long long)args->number)
				      : tcb_fail(err, TCB_E_NOT_FOUND, "%.200s has no trial that failed%s%.60s", path,
						 args->op ? " of " : "", args->op ? args->op : "");
	if (status == TCB_OK) {
		status = emit(&telling, err);
	} else {
		json_decref(telling.list);
		tcb_str_fini(&telling.text);
	}
	cli_close_db(db);
	return status;
}

const struct cli_command cli_command_trial = {
	.name = "trial",
	.summary = "show what became of one candidate, or of all that failed",
	.description =
		"Of each trial its number, op, shape and device, how it ended and what was said of it: what a "
		"compiler complained of, where an output was wrong, how a candidate crashed; and its geometry. Of "
		"one that is asked for by its number its times and its kernel, too. Numbers are of one database. "
		"Exits with 3 if there is no such trial.",
	.examples = "  tcbtune trial\n  tcbtune trial 17\n",
	.options = options,
	.args_bytes = sizeof(struct trial_args),
	.run = run_trial,
};
