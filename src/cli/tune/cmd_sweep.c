/* SPDX-License-Identifier: MIT
 *
 * tcbtune sweep: one problem after the other, then the winners are printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/cli.h"
#include "cli/core/stop.h"
#include "cli/model/model_shapes.h"
#include "cli/report/best_table.h"
#include "cli/tune/shard_option.h"
#include "cli/tune/sweep_run.h"
#include "kernels/formats.h"

/* The winners so far; STATUS is how the sweeps ended. */
static enum tcb_status print_winners(struct cli_sweeping *run, enum tcb_status status, struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	json_t *root;
	enum tcb_status printed;

	if (run->sweeps) {
		root = cli_json_start("tcbtune.sweep.1", &run->json_failed);
		cli_json_set(root, "database", cli_json_text(run->db_path), &run->json_failed);
		cli_json_set(root, "interrupted", json_boolean(status == TCB_E_INTERRUPTED), &run->json_failed);
		cli_json_set(root, "sweeps", run->sweeps, &run->json_failed);
		if (run->args->effort == CLI_EFFORT_ESTIMATE)
			cli_json_set(root, "estimates", cli_estimates_json(&run->estimates, &run->json_failed),
				     &run->json_failed);
		run->sweeps = NULL;
		return cli_emit_json(cli_json_end(root, run->json_failed), err);
	}
	if (run->estimates.count)
		TCB_TRY(cli_estimates_print(&run->estimates, err));
	if (run->rows.count == 0)
		return TCB_OK;
	printed = cli_best_table(&run->rows, &(struct cli_best_view){ .is_colored = cli_wants_color(NULL) }, &out, err);
	cli_best_verdicts(&run->rows, run->args->db, "", &out);
	return cli_emit_made(printed, &out, err);
}

/* Of each shape whose contract was left open, which is the fastest, cold. */
static void say_fastest(const struct cli_sweeping *run, const struct cli_problems *problems)
{
	for (size_t i = 0; i < problems->count; i++) {
		const struct cli_problem *problem = &problems->list[i];
		const struct tcb_best *fastest = NULL;
		char us[CLI_NUMBER_MAX], shape[TCB_SHAPE_TEXT_MAX];
		size_t contracts = 0;

		if (!problem->asked.is_auto || problem->problem.contract != problem->asked.least)
			continue;
		for (size_t k = 0; k < run->rows.count; k++) {
			const struct tcb_best *best = &run->rows.rows[k].best;
			if (best->state != TCB_COLD || strcmp(best->problem.op_name, problem->op->name) != 0 ||
			    !tcb_shape_equal(&best->problem.shape, &problem->problem.shape))
				continue;
			contracts++;
			if (!fastest || best->ns.median < fastest->ns.median)
				fastest = best;
		}
		if (contracts < 2)
			continue;
		tcb_shape_print(&problem->problem.shape, shape);
		cli_text_us(fastest->ns.median, us);
		cli_say("%s %s: contract %s is the fastest of %zu, %s µs cold", problem->op->name, shape,
			tcb_contract_text(fastest->problem.contract), contracts, us);
	}
}

static enum tcb_status run_problems(struct cli_sweeping *run, const struct cli_problems *problems,
				    struct tcb_error *err)
{
	enum tcb_status status = TCB_OK, printed;

	cli_stop_catch();
	run->quiet.left_s = run->args->wait_quiet_s;
	for (size_t i = 0; i < problems->count && status == TCB_OK; i++) {
		if (!cli_sweeping_is_modelled(run) && run->args->effort != CLI_EFFORT_ESTIMATE)
			run->begun_ns += (uint64_t)(1e9 * cli_quiet_wait(&run->quiet, &run->place));
		status = cli_sweep_problem(run, &problems->list[i], err);
		run->begun_ns = tcb_clock_ns();
		if (status == TCB_OK && cli_stop_asked && i + 1 < problems->count)
			status = TCB_E_INTERRUPTED;
	}
	if (status != TCB_OK && status != TCB_E_INTERRUPTED)
		return status;
	printed = print_winners(run, status, err);
	say_fastest(run, problems);
	if (status == TCB_E_INTERRUPTED)
		return tcb_fail(err, status,
				"interrupted; every finished trial is in %s, and the same command goes on from there",
				run->db_path);
	if (printed == TCB_OK && run->refuted)
		return tcb_fail(err, TCB_E_FAILED, "%zu stored decision%s not hold; what was found now is stored",
				run->refuted, run->refuted == 1 ? " does" : "s do");
	return printed;
}

static int has_format(const struct cli_problems *problems, const struct tcb_format *format)
{
	for (size_t i = 0; i < problems->count; i++)
		if (problems->list[i].op->format == format)
			return 1;
	return 0;
}

/* What a model file has that these sweeps leave out. */
static void say_left_out(const char *path, const struct cli_problems *problems)
{
	struct cli_model model;

	/* What is wrong with its metadata is no reason not to sweep shapes. */
	if (cli_model_read(&path, 1, 0, &model, NULL) != TCB_OK)
		return;
	for (size_t i = 0; i < model.product_count; i++) {
		const struct cli_product *product = &model.products[i];
		if (!has_format(problems, product->format))
			cli_say("left out: %zu of type %s, %zux%zu, such as %s: not this op's weights",
				product->tensors, product->format->gguf_name, product->n, product->k, product->first);
	}
	for (size_t i = 0; i < model.left_out_count; i++)
		if (cli_left_out_is_product(model.left_out[i].why))
			cli_say("left out: %zu of type %s, such as %s: %s", model.left_out[i].tensors,
				model.left_out[i].type, model.left_out[i].first,
				cli_left_out_text(model.left_out[i].why));
	cli_model_fini(&model);
}

static void say_gguf(const struct cli_sweeping *run, const struct cli_problems *problems)
{
	char all[CLI_NUMBER_MAX], each[CLI_NUMBER_MAX];

	cli_text_duration(run->limits.budget_s, each);
	cli_text_duration(run->limits.budget_s * (double)problems->count, all);
	if (run->limits.budget_s > 0)
		cli_say("%zu shapes of %s, one token each, take up to %s, %s each", problems->count, run->args->gguf,
			all, each);
	else
		cli_say("%zu shapes of %s, one token each, without a limit of time", problems->count, run->args->gguf);
	say_left_out(run->args->gguf, problems);
	cli_say("'tcbtune model %s' tunes all its products, at any number of tokens, within one budget",
		run->args->gguf);
}

static enum tcb_status run_sweep(const void *arguments, struct tcb_error *err)
{
	const struct cli_sweep_args *args = arguments;
	struct cli_sweeping run = { .begun_ns = tcb_clock_ns(),
				    .args = args,
				    .limits = cli_effort_limits((enum cli_effort)args->effort, args->budget_s,
								args->until_stable, (unsigned)args->finalists,
								args->strategy) };
	struct cli_problems problems;
	enum tcb_status status;

	TCB_TRY(cli_sweep_args_check(args, err));
	TCB_TRY(cli_shard_find(args->shard, &run.shard, err));
	TCB_TRY(cli_problems_make(args->ops, args->op, args->contract, &args->shapes, args->gguf, &problems, err));
	status = cli_require_make(args->require, &run.require, err);
	if (status == TCB_OK)
		status = cli_sweeping_open(&run, err);
	if (status == TCB_OK)
		status = cli_problems_keep(&problems, &run.place.device.target, err);
	if (status == TCB_OK && args->effort == CLI_EFFORT_ESTIMATE &&
	    !cli_sweeping_is_modelled(&run)) /* nothing is stored */
		status = tcb_db_path(args->db, TCB_DB_READ, run.db_path, sizeof run.db_path, err);
	else if (status == TCB_OK)
		status = cli_open_db(args->ops, args->db, TCB_DB_WRITE, run.db_path, &run.db, err);
	if (status == TCB_OK && args->gguf && args->effort != CLI_EFFORT_ESTIMATE)
		say_gguf(&run, &problems);
	if (status == TCB_OK) {
		run.sweeps = args->json ? json_array() : NULL;
		status = run_problems(&run, &problems, err);
	}
	cli_sweeping_close(&run);
	cli_problems_fini(&problems);
	return status;
}

const struct cli_command cli_command_sweep = {
	.name = "sweep",
	.summary = "measure an op's candidates and keep the best",
	.description =
		"Enumerates the legal geometries of each shape, verifies and measures them in a worker process, cold "
		"(weights rotated beyond the last cache) and hot, and stores every trial and the winners in the "
		"database.  Trials of earlier sweeps are not repeated, so that a sweep that was interrupted goes on "
		"with the same command.  On a GPU that is not attached (sm_89) the space is ranked by a model instead, "
		"and the results are marked as modelled until a measured sweep replaces them.  On a GPU that is, the "
		"best are tried once more with the optimiser's passes (passes=all).  With cuda:all, identical GPUs "
		"share the candidates, one of them holds the finals, and at the end the winner is measured on each.  "
		"With --shard, several machines have a part of the space each (docs/many-machines.md); their winners "
		"are provisional until a sweep with --finals-only has compared them.  Progress goes to stderr; the "
		"winners' table, or JSON, to stdout.",
	.examples = "  tcbtune sweep --op @OP\n"
		    "  tcbtune sweep --op @OP --gguf model.gguf --budget 60s\n"
		    "  tcbtune sweep --op @OP --effort quick\n"
		    "  tcbtune sweep --op @OP --budget none --until-stable 0.5 --target-ratio 1.1\n"
		    "  tcbtune sweep --op @OP --device cpu:avx2 --threads 1 --shape 1x4096x4096\n",
	.options = cli_sweep_options,
	.table = cli_effort_add_table,
	.args_bytes = sizeof(struct cli_sweep_args),
	.run = run_sweep,
};
