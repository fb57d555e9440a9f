/* SPDX-License-Identifier: MIT
 *
 * tcbtune model: all matrix products of a model as problems, one sweep after
 * the other within one budget, and what the times come to for the whole model.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cli/core/aliases.h"
#include "cli/core/cli.h"
#include "cli/core/stop.h"
#include "cli/model/model_presets.h"
#include "cli/model/model_report.h"
#include "cli/tune/sweep_run.h"

struct model_args {
	const struct tcb_registry *ops;
	struct cli_list files;
	const char *name, *device, *contract, *tokens, *db;
	uint64_t threads, seed, rotation;
	double budget_s, timeout_s, wait_quiet_s;
	int effort; /* index in the words below */
	int plan, retune, all_logits, joined, json;
};

static const struct cli_option options[] = {
	{ NULL, "FILE.gguf", CLI_LIST, offsetof(struct model_args, files),
	  "the model, all parts of it; its beginning is enough, since only names, types and shapes are read" },
	{ "model", "NAME", CLI_TEXT, offsetof(struct model_args, name),
	  "a well-known model's shapes instead of a file; list: prints the names" },
	CLI_OPTION_DEVICE(struct model_args),
	CLI_OPTION_THREADS(struct model_args),
	{ "tokens", "M,...", CLI_TEXT, offsetof(struct model_args, tokens),
	  "how many tokens go through the model at once: 1 is decoding, more are prompts", .fallback = "1,512" },
	{ "all-logits", NULL, CLI_FLAG, offsetof(struct model_args, all_logits),
	  "all tokens go through the output head, as where many sequences decode together; else the last one" },
	{ "joined", NULL, CLI_FLAG, offsetof(struct model_args, joined),
	  "for an engine that joins calls: up to 8 tokens go through gate and up, and through what is behind a norm, "
	  "with that norm" },
	CLI_OPTION_CONTRACTS(struct model_args, "auto"),
	{ "effort", "E", CLI_WORD, offsetof(struct model_args, effort), "as of 'tcbtune sweep'",
	  .words = "quick|normal|thorough", .fallback = "normal" },
	{ "budget", "TIME", CLI_SECONDS, offsetof(struct model_args, budget_s),
	  "time for all problems together, as in 10m; those that take more of the model's time get more",
	  .words = "none", .note = "the effort's for each problem" },
	{ "retune", NULL, CLI_FLAG, offsetof(struct model_args, retune), "go on with problems that are tuned, too" },
	{ "plan", NULL, CLI_FLAG, offsetof(struct model_args, plan),
	  "print the plan and what is known, and sweep nothing" },
	CLI_OPTION_SEED(struct model_args, "seed of data, order and finals"),
	CLI_OPTION_DB(struct model_args),
	CLI_OPTION_ROTATION(struct model_args),
	CLI_OPTION_TIMEOUT(struct model_args),
	CLI_OPTION_WAIT_QUIET(struct model_args),
	CLI_OPTION_JSON(struct model_args),
	CLI_OPTION_END,
};

enum { NAMES_MAX = 64 };
static const double LEAST_S = 1;    /* with less left nothing can be tuned */
static const double BEYOND_S = 0.3; /* the budget, a problem whose default has no result yet is given up */
static const double PROBE = 0.25;   /* of its part, in which a contract shows whether it may be the fastest */

static enum tcb_status print_presets(struct tcb_error *err)
{
	const char *names[NAMES_MAX];
	size_t count = cli_preset_names(names, NAMES_MAX);
	struct tcb_str out = { 0 };

	for (size_t i = 0; i < count && i < NAMES_MAX; i++) {
		char text[CLI_PRESET_TEXT_MAX];
		cli_preset_text(names[i], text);
		cli_add_line(&out, "%-19s  %s", names[i], text);
	}
	return cli_emit_text(&out, err);
}

static enum tcb_status preset_unknown(const char *name, struct tcb_error *err)
{
	const char *names[NAMES_MAX];
	size_t count = cli_preset_names(names, NAMES_MAX);
	char suggestion[CLI_ADVICE_MAX];

	count = count < NAMES_MAX ? count : NAMES_MAX;
	cli_suggestion(name, names, count, suggestion, sizeof suggestion);
	return tcb_fail(
		err, TCB_E_USAGE,
		"unknown model '%.60s'%s; 'tcbtune model --model list' prints the %zu that there are; or give the "
		"model's file",
		name, suggestion, count);
}

static enum tcb_status read_model(const struct model_args *args, struct cli_model *out, struct tcb_error *err)
{
	int is_found = 0;

	memset(out, 0, sizeof *out);
	if (args->name && args->files.count)
		return tcb_fail(err, TCB_E_USAGE, "--model and a file exclude each other; give one of them");
	if (!args->name && !args->files.count)
		return tcb_fail(err, TCB_E_USAGE,
				"'model' needs FILE.gguf, or --model NAME for a well-known model's shapes; --model "
				"list prints the names");
	if (!args->name)
		return cli_model_read(args->files.items, args->files.count, args->joined, out, err);
	TCB_TRY(cli_preset_model(args->name, args->joined, out, &is_found, err));
	return is_found ? TCB_OK : preset_unknown(args->name, err);
}

static enum tcb_status no_products(const struct cli_model_told *told, struct tcb_error *err)
{
	const struct cli_model *model = told->plan->model;

	for (size_t i = 0; i < model->left_out_count; i++) {
		const struct cli_left_out *row = &model->left_out[i];
		if (cli_left_out_is_product(row->why))
			return tcb_fail(err, TCB_E_NOT_FOUND,
					"%s has no product that there are kernels for; its %s weights: %s",
					told->source, row->type, cli_left_out_text(row->why));
	}
	return tcb_fail(err, TCB_E_NOT_FOUND, "%s has no weights that are multiplied, in %zu tensors", told->source,
			model->tensors);
}

/* One run of the command. */
struct modelling {
	const struct model_args *args;
	struct cli_model_plan plan;
	struct cli_model_told told;
	struct cli_sweep_args sweep_args;
	struct cli_sweeping sweeping;
	size_t failed, left; /* left: begun, and cut short by the end of the budget */
	uint64_t begun_ns;   /* the command: its budget counts from there */
};

/* A problem's failure is no reason to leave the others; that of the database or of memory would meet them too. */
static int is_of_problem(enum tcb_status status)
{
	return status == TCB_E_FAILED || status == TCB_E_VERIFY || status == TCB_E_UNSUPPORTED ||
	       status == TCB_E_ILLEGAL || status == TCB_E_NOT_FOUND;
}

static int is_to_sweep(const struct modelling *m, const struct cli_model_problem *item)
{
	return m->args->retune || cli_model_is_open(item, m->told.is_modelled);
}

/* The part of LEFT_S of the group at AT, which the groups from there on share. */
static double part_of(const struct modelling *m, size_t at, double left_s)
{
	const double share = m->plan.list[at].share;
	struct cli_model_group group;
	double shares = 0;

	while (cli_model_next(&m->plan, m->told.is_modelled, &at, &group))
		shares += m->args->retune || group.open ? group.chosen->share : 0;
	return left_s * share / shares;
}

/* Seconds that are left of the command's budget. */
static double left_s(const struct modelling *m)
{
	return m->told.budget_s - (1e-9 * (double)(tcb_clock_ns() - m->begun_ns) - m->sweeping.quiet.waited_s);
}

/* Nothing can be tuned in what is left. */
static int is_spent(const struct modelling *m)
{
	return m->told.budget_s > 0 && left_s(m) < LEAST_S;
}

/* A problem that the end of the budget cuts short has not failed: it is left. */
static enum tcb_status sweep_item(struct modelling *m, struct cli_model_problem *item, struct tcb_error *err)
{
	struct tcb_error own = { .message = "" };
	enum tcb_status status = cli_sweep_problem(&m->sweeping, &item->problem, &own);

	if (status == TCB_OK || !is_of_problem(status)) {
		if (status != TCB_OK && err)
			*err = own;
		return status;
	}
	if (is_spent(m)) {
		m->left++;
		return TCB_OK;
	}
	cli_say("%s", own.message);
	(void)snprintf(item->failure, sizeof item->failure, "%.*s", (int)sizeof item->failure - 1, own.message);
	m->failed++;
	return TCB_OK;
}

/* ITEM, which has PART_S of the time. */
static enum tcb_status sweep_for(struct modelling *m, struct cli_model_problem *item, double part_s,
				 struct tcb_error *err)
{
	if (m->told.budget_s > 0) {
		const double left = left_s(m);

		m->sweeping.limits.budget_s = part_s;
		m->sweeping.later_s = left - part_s;
		m->sweeping.first_s = left + BEYOND_S;
	}
	m->sweeping.begun_ns = tcb_clock_ns();
	TCB_TRY(sweep_item(m, item, err));
	return m->sweeping.db ? cli_model_plan_look(&m->plan, m->sweeping.db, m->told.device, m->told.is_modelled, err)
			      : TCB_OK;
}

/*
 * A group's problems differ by contract.  The one that is usually the fastest comes first; of each other the first
 * candidates, which begin with its default, tell whether it is worth its part.
 */
static enum tcb_status sweep_group(struct modelling *m, const struct cli_model_group *group, struct tcb_error *err)
{
	const double part_s = m->told.budget_s > 0 ? part_of(m, group->first, left_s(m)) : 0;
	const size_t left = m->left;
	size_t to_sweep = 0;
	enum tcb_status status = TCB_OK;

	for (size_t i = 0; i < group->count; i++)
		to_sweep += (size_t)is_to_sweep(m, &m->plan.list[group->first + i]);
	const double each_s = part_s / (double)(to_sweep ? to_sweep : 1);
	for (size_t i = 0; i < group->count && status == TCB_OK && !cli_stop_asked; i++) {
		struct cli_model_problem *item = &m->plan.list[group->first + i];

		if (!is_to_sweep(m, item) || (i && is_spent(m)))
			continue;
		if (i && m->told.budget_s > 0) {
			status = sweep_for(m, item, PROBE * each_s, err);
			if (status == TCB_OK && !item->is_lost && !is_spent(m))
				status = sweep_for(m, item, (1 - PROBE) * each_s, err);
		} else {
			status = sweep_for(m, item, each_s, err);
		}
	}
	if (m->left > left)
		m->left = left + 1;
	return status;
}

static enum tcb_status sweep_all(struct modelling *m, struct tcb_error *err)
{
	const size_t open = cli_model_open_count(&m->told);
	struct cli_model_group group;
	size_t number = 0;
	enum tcb_status status = TCB_OK;

	cli_stop_catch();
	m->sweeping.quiet.left_s = m->args->wait_quiet_s;
	for (size_t at = 0; status == TCB_OK && cli_model_next(&m->plan, m->told.is_modelled, &at, &group);) {
		if (!m->args->retune && !group.open)
			continue;
		if (!m->told.is_modelled)
			(void)cli_quiet_wait(&m->sweeping.quiet, &m->sweeping.place);
		if (is_spent(m))
			break;
		number++;
		(void)snprintf(m->sweeping.part, sizeof m->sweeping.part, "problem %zu of %zu: ", number, open);
		status = sweep_group(m, &group, err);
		if (status == TCB_OK && cli_stop_asked && number < open)
			status = TCB_E_INTERRUPTED;
	}
	if (status == TCB_OK && number - m->left < open)
		cli_say("the budget is spent; %zu of %zu problems are left", open - number + m->left, open);
	return status;
}

static enum tcb_status print_results(struct modelling *m, struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	int failed = 0;
	enum tcb_status status;

	if (m->args->json) {
		json_t *root = cli_model_json(&m->told, &failed);
		return cli_emit_json(cli_json_end(root, failed), err);
	}
	status = m->args->plan ? cli_model_add_plan(&m->told, &out, err) : TCB_OK;
	if (status == TCB_OK && (!m->args->plan || cli_model_open_count(&m->told) < m->plan.groups))
		status = cli_model_add_results(&m->told, &out, err);
	return cli_emit_made(status, &out, err);
}

/* The plan to stderr: stdout is for the results. */
static enum tcb_status say_plan(const struct modelling *m, struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	enum tcb_status status = cli_model_add_plan(&m->told, &out, err);

	cli_fold(&out, STDERR_FILENO);
	if (status == TCB_OK && !out.failed)
		fputs(out.data, stderr);
	tcb_str_fini(&out);
	return status;
}

static enum tcb_status sweep_and_print(struct modelling *m, struct tcb_error *err)
{
	enum tcb_status status, printed;

	TCB_TRY(say_plan(m, err));
	status = sweep_all(m, err);
	m->told.is_interrupted = status == TCB_E_INTERRUPTED;
	if (status != TCB_OK && !m->told.is_interrupted)
		return status;
	TCB_TRY(cli_model_plan_look(&m->plan, m->sweeping.db, m->told.device, m->told.is_modelled, err));
	printed = print_results(m, err);
	if (m->told.is_interrupted)
		return tcb_fail(err, status,
				"interrupted; every finished trial is in %s, and the same command goes on from there",
				m->sweeping.db_path);
	if (printed == TCB_OK && m->failed)
		return tcb_fail(err, TCB_E_FAILED, "%zu of %zu problems could not be tuned; the reasons are above",
				m->failed, m->plan.groups);
	return printed;
}

static enum tcb_status open_db(struct modelling *m, struct tcb_error *err)
{
	struct cli_sweeping *run = &m->sweeping;
	enum tcb_status status;

	if (!m->args->plan)
		return cli_open_db(m->args->ops, m->args->db, TCB_DB_WRITE, run->db_path, &run->db, err);
	status = cli_open_db(m->args->ops, m->args->db, TCB_DB_READ, run->db_path, &run->db, err);
	return status == TCB_E_NOT_FOUND ? TCB_OK : status; /* nothing is known then */
}

/* Of all that is open; without an option the effort's for each problem. */
static void set_budget(struct modelling *m)
{
	const double given_s = m->args->budget_s;
	const size_t open = cli_model_open_count(&m->told);

	if (isinf(given_s))
		m->sweeping.limits.budget_s = 0;
	else if (open)
		m->told.budget_s = given_s > 0 ? given_s : m->sweeping.limits.budget_s * (double)open;
}

static enum tcb_status run_plan(struct modelling *m, struct tcb_error *err)
{
	const struct model_args *args = m->args;

	if (m->plan.count == 0)
		return no_products(&m->told, err);
	m->told.is_modelled = cli_sweeping_is_modelled(&m->sweeping);
	m->told.device = &m->sweeping.place.device;
	TCB_TRY(cli_model_plan_keep(&m->plan, &m->told.device->target, err));
	TCB_TRY(open_db(m, err));
	m->told.db_path = m->sweeping.db_path;
	TCB_TRY(cli_model_plan_look(&m->plan, m->sweeping.db, m->told.device, m->told.is_modelled, err));
	set_budget(m);
	return args->plan ? print_results(m, err) : sweep_and_print(m, err);
}

static enum tcb_status run_model(const void *arguments, struct tcb_error *err)
{
	const struct model_args *args = arguments;
	const enum cli_effort effort = (enum cli_effort)(CLI_EFFORT_QUICK + args->effort);
	struct cli_model model;
	struct modelling m = {
		.args = args,
		.told = { .plan = &m.plan,
			  .source = args->name          ? args->name
				    : args->files.count ? args->files.items[0]
							: "",
			  .is_plan = args->plan,
			  .is_retuned = args->retune },
		.sweep_args = { .ops = args->ops,
				.device = args->device,
				.db = args->db,
				.threads = args->threads,
				.seed = args->seed,
				.rotation = args->rotation,
				.timeout_s = args->timeout_s,
				.effort = (int)effort,
				.starts = 3 },
		.begun_ns = tcb_clock_ns(),
		.sweeping = { .args = &m.sweep_args, .limits = cli_effort_limits(effort, 0, 0, 0, NULL) },
	};
	enum tcb_status status;

	if (args->name && strcmp(args->name, "list") == 0)
		return print_presets(err);
	TCB_TRY(read_model(args, &model, err));
	status = cli_sweeping_open(&m.sweeping, err);
	if (status == TCB_OK)
		status = cli_model_plan_make(args->ops, &model, &m.sweeping.place.device.target, args->tokens,
					     args->contract, args->all_logits, &m.plan, err);
	if (status == TCB_OK)
		status = run_plan(&m, err);
	cli_sweeping_close(&m.sweeping);
	cli_model_plan_fini(&m.plan);
	cli_model_fini(&model);
	return status;
}

const struct cli_command cli_command_model = {
	.name = "model",
	.summary = "tune every matrix product of a model",
	.description =
		"Reads the tensors of a GGUF file, or takes a well-known model's shapes, and sweeps each matrix "
		"product once however many layers share it: the op for one token (q4k_matvec) at one token, the op for "
		"many (q4k_matmul) at more.  First says the plan: problems, calls, time, and what is left out and why. "
		" Then sweeps them within one budget, those first that take most of the time; what is tuned already "
		"and of today's kernels costs nothing, so that an interrupted run goes on with the same command.  At "
		"the end prints the times and the tokens per second that they come to: tuned, with the default "
		"geometries, and by the device's read limit, cold.  Each product is tuned under every contract that is "
		"at least as exact as the op's own (--contract auto), and the fastest counts.  These are matrix "
		"products alone: attention, norms "
		"and sampling come on top.  Plan and progress go to stderr; the results, or JSON, to stdout.",
	.examples = "  tcbtune model model.gguf --budget 10m\n"
		    "  tcbtune model --model llama-3-8b --device cuda:0 --tokens 1,32,512\n"
		    "  tcbtune model --model gpt-oss-20b --device sm_90 --plan\n"
		    "  tcbtune model --model list\n",
	.options = options,
	.args_bytes = sizeof(struct model_args),
	.run = run_model,
};
