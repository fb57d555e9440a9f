/* SPDX-License-Identifier: MIT
 *
 * What is taken out of a database: a selection that the user names, or what
 * nobody can use.  A dry run does the same to a copy in memory.
 */
#include <string.h>

#include "base/kind.h"
#include "cli/core/emit.h"
#include "cli/db/db_actions.h"
#include "kernels/signature.h"

/* A kernel that this build does not have (of another architecture, say) may be another build's: nobody knows. */
static size_t set_unknown_aside(const struct tcb_problem *problem, struct tcb_trial *trials, size_t count)
{
	size_t unknown = 0;

	for (size_t i = 0; i < count; i++) {
		if (problem->op && tcb_variant_find(problem->op, problem->contract, &trials[i].geometry))
			continue;
		const struct tcb_trial trial = trials[i];
		trials[i] = trials[unknown];
		trials[unknown++] = trial;
	}
	return unknown;
}

struct judging {
	size_t unknown;
	int is_said;
};

/* For tcb_db_judge_kernels: kernels that this build does not have are not called stale. */
static enum tcb_status judge_kernels(void *ctx, const struct tcb_tried *of, struct tcb_trial *trials, size_t count,
				     size_t *stale_out, struct tcb_error *err)
{
	const struct tcb_op *op = of->problem.op;
	struct tcb_problem problem = { 0 };
	struct tcb_current current = { 0 };
	struct judging *judging = ctx;

	if (op && tcb_problem_init(op, of->problem.contract, &of->problem.shape, &problem, NULL) != TCB_OK)
		problem.op = NULL;
	const size_t unknown = set_unknown_aside(&problem, trials, count);
	judging->unknown += unknown;
	*stale_out = count;
	if (unknown == count)
		return TCB_OK;
	if (tcb_kind_of(&of->device.target)->is_emitted && !judging->is_said++)
		cli_say("looking for kernels that have changed; of a GPU's this takes some milliseconds each");
	TCB_TRY(tcb_trials_current(&problem, &of->device.target, trials + unknown, count - unknown, 0, &current, err));
	*stale_out = unknown + current.count;
	return TCB_OK;
}

/* The database itself, of *BYTES_OUT; or, in a dry run, a copy. */
static enum tcb_status open_to_trim(const struct cli_db_args *args, char path[CLI_PATH_MAX], struct tcb_db **out,
				    uint64_t *bytes_out, struct tcb_error *err)
{
	struct tcb_db *db;

	/* What does not exist is not made to be emptied. */
	TCB_TRY(cli_open_db(args->ops, args->db, TCB_DB_READ, path, &db, err));
	*bytes_out = tcb_db_size(db);
	const enum tcb_status status = args->dry_run ? tcb_db_copy(db, out, err) : TCB_OK;
	tcb_db_close(db);
	return args->dry_run || status != TCB_OK ? status : cli_open_db_file(args->ops, path, TCB_DB_WRITE, out, err);
}

struct count_row {
	const char *key, *title;
	uint64_t value;
};

struct trimmed {
	const char *path, *schema, *done; /* "pruned" */
	const struct tcb_db_removed *removed;
	uint64_t before, after; /* bytes */
};

static enum tcb_status print_trimmed(const struct cli_db_args *args, const struct trimmed *trimmed,
				     struct tcb_error *err)
{
	const struct tcb_db_removed *removed = trimmed->removed;
	const struct count_row rows[] = {
		{ "winners", "winners", removed->winners },          { "trials", "trials", removed->trials },
		{ "samples", "samples", removed->samples },          { "sweeps", "sweeps", removed->sweeps },
		{ "problems", "problems", removed->problems },       { "devices", "devices", removed->devices },
		{ "recordings", "recordings", removed->recordings },
	};
	char before[CLI_NUMBER_MAX], after[CLI_NUMBER_MAX];
	struct tcb_str out = { 0 };
	int failed = 0;

	if (args->json) {
		json_t *root = cli_json_start(trimmed->schema, &failed);

		cli_json_set(root, "path", cli_json_text(trimmed->path), &failed);
		cli_json_set(root, "dry_run", json_boolean(args->dry_run), &failed);
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			cli_json_set(root, rows[i].key, cli_json_size(rows[i].value), &failed);
		cli_json_set(root, "bytes_before", cli_json_size(trimmed->before), &failed);
		cli_json_set(root, "bytes_after", cli_json_size(trimmed->after), &failed);
		return cli_emit_json(cli_json_end(root, failed), err);
	}
	tcb_size_text(trimmed->before, before);
	tcb_size_text(trimmed->after, after);
	cli_add_line(&out, "%s: %s%s, %s before, %s %s", trimmed->path, args->dry_run ? "would be " : "", trimmed->done,
		     before, after, args->dry_run ? "then" : "now");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		tcb_str_addf(&out, "  %-24s %12llu\n", rows[i].title, (unsigned long long)rows[i].value);
	return cli_emit_text(&out, err);
}

static enum tcb_status judge(struct tcb_db *db, const struct tcb_db_selection *selection, struct tcb_error *err)
{
	struct judging judging = { 0 };

	TCB_TRY(tcb_db_judge_kernels(db, selection, judge_kernels, &judging, err));
	if (judging.unknown)
		cli_say("%zu candidates stay whose kernels this build does not have", judging.unknown);
	return TCB_OK;
}

/* What was taken out is gone, whether or not the file can be made smaller. */
static void shrink(struct tcb_db *db, uint64_t *bytes_out)
{
	struct tcb_error err;

	if (tcb_db_shrink(db, bytes_out, &err) != TCB_OK)
		cli_say("done, but the file keeps its size: %s", err.message);
}

enum tcb_status cli_db_forget(const struct cli_db_args *args, struct tcb_error *err)
{
	struct tcb_db_selection selection;
	struct tcb_db_removed removed;
	struct tcb_shape shape;
	struct tcb_db *db = NULL;
	char path[CLI_PATH_MAX];

	TCB_TRY(cli_db_select(args, &shape, &selection, err));
	if (!args->all && !args->stale && !selection.op && !selection.device && !selection.shape && !selection.state)
		return tcb_fail(err, TCB_E_USAGE,
				"what is to be forgotten? --op, --device, --shape, --state, --stale, or --all");
	struct trimmed trimmed = { path, "tcbtune.db-forget.1", "thinned", &removed, 0, 0 };
	TCB_TRY(open_to_trim(args, path, &db, &trimmed.before, err));
	enum tcb_status status = args->stale ? judge(db, &selection, err) : TCB_OK;
	if (status == TCB_OK)
		status = tcb_db_forget(db, &selection, args->stale, &removed, err);
	if (status == TCB_OK && removed.winners + removed.trials + removed.recordings == 0)
		status = tcb_fail(err, TCB_E_NOT_FOUND, "%s: nothing of that is in it", path);
	if (status == TCB_OK)
		shrink(db, &trimmed.after);
	tcb_db_close(db);
	return status == TCB_OK ? print_trimmed(args, &trimmed, err) : status;
}

enum tcb_status cli_db_prune(const struct cli_db_args *args, struct tcb_error *err)
{
	static const struct tcb_db_selection all = { 0 };
	struct tcb_db_removed removed;
	struct tcb_db *db = NULL;
	char path[CLI_PATH_MAX];

	struct trimmed trimmed = { path, "tcbtune.db-prune.1", "pruned", &removed, 0, 0 };
	TCB_TRY(open_to_trim(args, path, &db, &trimmed.before, err));
	enum tcb_status status = judge(db, &all, err);
	if (status == TCB_OK)
		status = tcb_db_prune(db, args->keep_samples, &removed, err);
	if (status == TCB_OK)
		shrink(db, &trimmed.after);
	tcb_db_close(db);
	return status == TCB_OK ? print_trimmed(args, &trimmed, err) : status;
}
