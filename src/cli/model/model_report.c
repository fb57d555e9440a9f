/* SPDX-License-Identifier: MIT
 *
 * Tables and lines of a whole model.  What a projection leaves out is said
 * beside it: products without kernels, problems without proof, and all that is
 * not a product.
 */
#include "cli/model/model_report.h"

#include <stdio.h>

#include "base/kind.h"
#include "kernels/formats.h"

static const double GB = 1e9;

size_t cli_model_open_count(const struct cli_model_told *told)
{
	struct cli_model_group group;
	size_t open = 0;

	for (size_t at = 0; cli_model_next(told->plan, told->is_modelled, &at, &group);)
		open += told->is_retuned || group.open;
	return open;
}

/* Of the weights that a token goes through, how much the products are. */
static double covered(const struct cli_model *model)
{
	const double all = model->token_bytes + model->left_out_token_bytes;

	return all > 0 ? model->token_bytes / all : 0;
}

static void add_model(const struct cli_model_told *told, struct tcb_str *out)
{
	const struct cli_model *model = told->plan->model;
	size_t tensors = 0;
	double bytes = 0;

	for (size_t i = 0; i < model->product_count; i++) {
		tensors += model->products[i].tensors;
		bytes += (double)model->products[i].bytes;
	}
	cli_add_line(out, "%s: %zu tensors%s%s%s%s", told->source, model->tensors, model->name[0] ? ", " : "",
		     model->name, model->architecture[0] ? ", " : "", model->architecture);
	cli_add_line(out,
		     "products: %zu tensors of %zu formats and shapes, %.3g GB; a token goes through %.3g GB, %.1f %% "
		     "of the model's weights that are multiplied",
		     tensors, model->product_count, bytes / GB, model->token_bytes / GB, 100 * covered(model));
	if (model->experts)
		cli_add_line(
			out,
			"a mixture: each token goes through %zu of %zu experts; more tokens are taken to spread %s",
			model->experts_used, model->experts,
			told->plan->has_routing ? "unevenly, the r-th expert as 1 / r (zipf1.0)" : "evenly");
	if (model->is_tied)
		cli_add_line(out, "token_embd is the output head too");
	for (size_t i = 0; i < model->left_out_count; i++) {
		const struct cli_left_out *row = &model->left_out[i];
		cli_add_line(out, "left out: %zu of type %s, such as %s: %s", row->tensors, row->type, row->first,
			     cli_left_out_text(row->why));
	}
}

/* One column for each count of tokens, with the calls. */
static enum tcb_status add_problems(const struct cli_model_told *told, struct tcb_str *out, struct tcb_error *err)
{
	const struct cli_model_plan *plan = told->plan;
	char titles[CLI_TOKENS_MAX][32], label[CLI_LABEL_MAX];
	struct cli_column columns[CLI_TOKENS_MAX + 4] = { { "PROBLEM", 0 } };
	struct cli_table table;
	size_t count = 1;

	for (size_t t = 0; t < plan->token_count; t++) {
		(void)snprintf(titles[t], sizeof titles[t], "CALLS AT %zu", plan->tokens[t]);
		columns[count++] = (struct cli_column){ titles[t], 1 };
	}
	columns[count++] = (struct cli_column){ "% OF BUDGET", 1 };
	columns[count++] = (struct cli_column){ "KNOWN", 0 };
	columns[count++] = (struct cli_column){ "SUCH AS", 0, 1 };
	cli_table_init(&table, columns, count);
	for (size_t i = 0; i < plan->count; i++) {
		const struct cli_model_problem *item = &plan->list[i];
		if (!item->is_chosen)
			continue;
		cli_problem_label(&item->problem.problem, label);
		cli_table_cell(&table, "%s", label);
		for (size_t t = 0; t < plan->token_count; t++)
			cli_table_cell(&table, item->calls[t] > 0 ? "%.0f" : "-", item->calls[t]);
		cli_table_cell(&table, "%.1f", 100 * item->share);
		cli_table_cell(&table, "%s", cli_known_text(item->known));
		cli_table_cell(&table, "%s", item->product->first);
	}
	return cli_table_finish(&table, CLI_TABLE_TEXT, out, err);
}

enum tcb_status cli_model_add_plan(const struct cli_model_told *told, struct tcb_str *out, struct tcb_error *err)
{
	const size_t open = cli_model_open_count(told);
	char budget[CLI_NUMBER_MAX], each[CLI_NUMBER_MAX], threads[32] = "";

	add_model(told, out);
	TCB_TRY(add_problems(told, out, err));
	if (tcb_kind_of(&told->device->target)->has_threads)
		(void)snprintf(threads, sizeof threads, " with %u thread%s", told->device->target.threads,
			       told->device->target.threads == 1 ? "" : "s");
	cli_text_duration(told->budget_s, budget);
	cli_text_duration(told->budget_s / (double)(open ? open : 1), each);
	if (open == 0)
		cli_add_line(out, "%zu problems on %s%s: all are known; --retune goes on with them", told->plan->groups,
			     told->device->name, threads);
	else if (told->budget_s > 0)
		cli_add_line(out, "%zu problems on %s%s: %zu to sweep within %s, %s each on average",
			     told->plan->groups, told->device->name, threads, open, budget, each);
	else
		cli_add_line(out, "%zu problems on %s%s: %zu to sweep, without a limit of time", told->plan->groups,
			     told->device->name, threads, open);
	return TCB_OK;
}

static void add_time(struct cli_table *table, const char *sign, double ns)
{
	char text[CLI_NUMBER_MAX];

	cli_text_us(ns, text);
	if (ns > 0)
		cli_table_cell(table, "%s%s", sign, text);
	else
		cli_table_cell(table, "-");
}

static void add_ratio(struct cli_table *table, double over, double under)
{
	char text[CLI_NUMBER_MAX];

	cli_text_ratio(over > 0 && under > 0 ? over / under : 0, text);
	cli_table_cell(table, "%s", text);
}

static void add_percent(struct cli_table *table, double part, double whole)
{
	char text[CLI_NUMBER_MAX];

	cli_text_percent(part > 0 && whole > 0 ? part / whole : 0, text);
	cli_table_cell(table, "%s", text);
}

static void add_of_limit(struct cli_table *table, const struct cli_limit *limit)
{
	char text[CLI_NUMBER_MAX];

	cli_limit_text(limit, text);
	cli_table_cell(table, "%s", text);
}

static enum tcb_status add_times(const struct cli_model_told *told, size_t t, struct tcb_str *out,
				 struct tcb_error *err)
{
	static const struct cli_column columns[] = {
		{ "PROBLEM", 0 }, { "CALLS", 1 },       { "µs TUNED", 1 },  { "µs DEFAULT", 1, 1 }, { "x DEFAULT", 1 },
		{ "% LIMIT", 1 }, { "µs LIMIT", 1, 1 }, { "% OF TIME", 1 }, { "KNOWN", 0, 1 },
	};
	const struct cli_projection all = cli_model_project(told->plan, t, told->is_modelled);
	struct cli_table table;
	char label[CLI_LABEL_MAX];

	cli_add_line(out, "%zu token%s (%s)", told->plan->tokens[t], told->plan->tokens[t] == 1 ? "" : "s",
		     told->plan->tokens[t] == 1 ? "decode" : "prompt");
	cli_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < told->plan->count; i++) {
		const struct cli_model_problem *item = &told->plan->list[i];
		if (!(item->calls[t] > 0) || !item->is_chosen)
			continue;
		cli_problem_label(&item->problem.problem, label);
		cli_table_cell(&table, "%s", label);
		cli_table_cell(&table, "%.0f", item->calls[t]);
		add_time(&table, item->is_estimated ? "~" : "", item->tuned_ns);
		add_time(&table, item->is_estimated ? "~" : "", item->default_ns);
		add_ratio(&table, item->default_ns, item->tuned_ns);
		add_of_limit(&table, &item->limit);
		add_time(&table, "", item->limit_ns);
		add_percent(&table, item->calls[t] * item->tuned_ns, all.tuned_ns);
		cli_table_cell(&table, "%s%s%s%s", cli_known_text(item->known),
			       item->known >= CLI_KNOWN_THIN && !item->is_served ? ", default served" : "",
			       item->is_estimated ? ", estimated" : "", item->failure[0] ? ", failed" : "");
	}
	return cli_table_finish(&table, CLI_TABLE_TEXT, out, err);
}

static double per_second(const struct cli_model_plan *plan, size_t t, double ns)
{
	return ns > 0 ? 1e9 * (double)plan->tokens[t] / ns : 0;
}

static void add_rate(struct cli_table *table, double rate)
{
	if (rate > 0)
		cli_table_cell(table, "%.*f", rate < 100 ? 2 : 0, rate);
	else
		cli_table_cell(table, "-");
}

static enum tcb_status add_projections(const struct cli_model_told *told, struct tcb_str *out, struct tcb_error *err)
{
	static const struct cli_column columns[] = { { "TOKENS", 1 },        { "WHAT", 0, 1 },   { "tok/s TUNED", 1 },
						     { "tok/s DEFAULT", 1 }, { "x DEFAULT", 1 }, { "tok/s LIMIT", 1 },
						     { "% LIMIT", 1 },       { "PROVEN", 0 } };
	struct cli_table table;

	cli_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (size_t t = 0; t < told->plan->token_count; t++) {
		const struct cli_projection made = cli_model_project(told->plan, t, told->is_modelled);
		cli_table_cell(&table, "%zu", told->plan->tokens[t]);
		cli_table_cell(&table, "%s", told->plan->tokens[t] == 1 ? "decode" : "prompt");
		add_rate(&table, per_second(told->plan, t, made.tuned_ns));
		add_rate(&table, per_second(told->plan, t, made.default_ns));
		add_ratio(&table, made.default_ns, made.tuned_ns);
		add_rate(&table, per_second(told->plan, t, made.limit_ns));
		add_of_limit(&table, &made.limit);
		cli_table_cell(&table, "%zu of %zu", made.proven, made.problems);
	}
	return cli_table_finish(&table, CLI_TABLE_TEXT, out, err);
}

/* "12 of 13 problems are not tuned: 4 thin, 8 with the default's time; ..." */
static void add_open(struct tcb_str *out, size_t count, size_t open, size_t thin, int is_estimated)
{
	struct tcb_str parts = { 0 };

	if (thin)
		tcb_str_addf(&parts, "%zu thin%s", thin, open > thin ? ", " : "");
	if (open > thin)
		tcb_str_addf(&parts, "%zu with the default's time%s", open - thin,
			     is_estimated ? " (~: estimated from other problems')" : "");
	if (open)
		cli_add_line(out, "%zu of %zu problems %s not tuned: %s; the same command goes on with %s.", open,
			     count, open == 1 ? "is" : "are", parts.data ? parts.data : "", open == 1 ? "it" : "them");
	out->failed |= parts.failed;
	tcb_str_fini(&parts);
}

static void add_notes(const struct cli_model_told *told, struct tcb_str *out)
{
	const struct cli_model_plan *plan = told->plan;
	size_t open = 0, thin = 0, estimated = 0, several = 0, exacter = 0;
	struct cli_model_group group;

	for (size_t at = 0; cli_model_next(plan, told->is_modelled, &at, &group);) {
		open += group.open > 0;
		thin += group.open && group.chosen->known == CLI_KNOWN_THIN;
		estimated += group.chosen->is_estimated;
		several += group.count > 1;
		for (size_t i = 0; i < group.count; i++)
			if (plan->list[group.first + i].problem.problem.contract >
			    group.chosen->problem.problem.contract) {
				exacter++;
				break;
			}
	}
	cli_add_line(
		out,
		"Matrix products alone, one after the other, weights cold: attention, norms and sampling come on top.");
	if (plan->model->left_out_token_bytes > 0)
		cli_add_line(
			out,
			"Products without kernels are not in it: %.1f %% of the weights that a token goes through.",
			100 * (1 - covered(plan->model)));
	if (plan->tokens[plan->token_count - 1] > 1)
		cli_add_line(out, "The read limit is that of one pass over weights and activations; of many tokens "
				  "arithmetic takes longer.");
	if (told->is_modelled)
		cli_add_line(out, "Modelled: nothing was measured, because %s is not attached.", told->device->name);
	for (size_t i = 0; i < plan->count; i++)
		if (plan->list[i].limit.is_specified) {
			cli_add_line(out, "%s", plan->list[i].limit.note);
			break;
		}
	add_open(out, plan->groups, open, thin, estimated > 0);
	if (several)
		cli_add_line(
			out,
			"Contract auto: of %zu of %zu problems a contract is taken that is more exact than the one "
			"asked for, since it is faster.",
			exacter, plan->groups);
	for (size_t i = 0; i < plan->count; i++)
		if (plan->list[i].failure[0] && plan->list[i].is_chosen)
			cli_add_line(out, "failed: %s", plan->list[i].failure);
}

enum tcb_status cli_model_add_results(const struct cli_model_told *told, struct tcb_str *out, struct tcb_error *err)
{
	for (size_t t = 0; t < told->plan->token_count; t++) {
		TCB_TRY(add_times(told, t, out, err));
		tcb_str_add(out, "\n");
	}
	TCB_TRY(add_projections(told, out, err));
	add_notes(told, out);
	return TCB_OK;
}

static json_t *real_or_null(double value)
{
	return value > 0 ? cli_json_real(value) : json_null();
}

static json_t *problem_json(const struct cli_model_plan *plan, const struct cli_model_problem *item, int *failed)
{
	const struct tcb_problem *problem = &item->problem.problem;
	json_t *object = json_object(), *calls = json_array();

	for (size_t t = 0; t < plan->token_count; t++)
		cli_json_add(calls, cli_json_real(item->calls[t]), failed);
	cli_json_set(object, "op", cli_json_text(problem->op_name), failed);
	cli_json_set(object, "contract", json_string(tcb_contract_text(problem->contract)), failed);
	cli_json_set(object, "shape", cli_json_shape(&problem->shape), failed);
	cli_json_set(object, "tensor", cli_json_text(item->product->first), failed);
	cli_json_set(object, "calls", calls, failed);
	cli_json_set(object, "budget_share", cli_json_real(item->share), failed);
	cli_json_set(object, "known", json_string(cli_known_text(item->known)), failed);
	cli_json_set(object, "geometry",
		     item->known >= CLI_KNOWN_THIN ? cli_json_text(item->best.geometry) : json_null(), failed);
	cli_json_set(object, "tuned_ns", real_or_null(item->tuned_ns), failed);
	cli_json_set(object, "default_ns", real_or_null(item->default_ns), failed);
	cli_json_set(object, "limit_ns", real_or_null(item->limit_ns), failed);
	cli_json_set(object, "estimated", json_boolean(item->is_estimated), failed);
	cli_json_set(object, "served", json_boolean(item->is_served), failed);
	cli_json_set(object, "failure", item->failure[0] ? cli_json_text(item->failure) : json_null(), failed);
	return object;
}

static json_t *model_json(const struct cli_model_told *told, int *failed)
{
	const struct cli_model *model = told->plan->model;
	json_t *object = json_object(), *left_out = json_array();

	for (size_t i = 0; i < model->left_out_count; i++) {
		const struct cli_left_out *row = &model->left_out[i];
		cli_json_add(left_out,
			     json_pack("{s:o, s:o, s:o, s:o, s:b, s:o}", "type", cli_json_text(row->type), "tensors",
				       cli_json_size(row->tensors), "bytes", cli_json_size(row->bytes), "why",
				       cli_json_text(cli_left_out_text(row->why)), "is_product",
				       cli_left_out_is_product(row->why), "tensor", cli_json_text(row->first)),
			     failed);
	}
	cli_json_set(object, "source", cli_json_text(told->source), failed);
	cli_json_set(object, "name", cli_json_text(model->name), failed);
	cli_json_set(object, "architecture", cli_json_text(model->architecture), failed);
	cli_json_set(object, "tensors", cli_json_size(model->tensors), failed);
	cli_json_set(object, "experts", cli_json_size(model->experts), failed);
	cli_json_set(object, "experts_used", cli_json_size(model->experts_used), failed);
	cli_json_set(object, "tied", json_boolean(model->is_tied), failed);
	cli_json_set(object, "token_bytes", cli_json_real(model->token_bytes), failed);
	cli_json_set(object, "covered", cli_json_real(covered(model)), failed);
	cli_json_set(object, "left_out", left_out, failed);
	return object;
}

json_t *cli_model_json(const struct cli_model_told *told, int *failed)
{
	const struct cli_model_plan *plan = told->plan;
	json_t *root = cli_json_start("tcbtune.model.1", failed), *problems = json_array(), *projections = json_array();

	for (size_t i = 0; i < plan->count; i++)
		if (plan->list[i].is_chosen)
			cli_json_add(problems, problem_json(plan, &plan->list[i], failed), failed);
	for (size_t t = 0; t < plan->token_count; t++) {
		const struct cli_projection made = cli_model_project(plan, t, told->is_modelled);
		cli_json_add(projections,
			     json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "tokens", cli_json_size(plan->tokens[t]),
				       "tuned_per_s", real_or_null(per_second(plan, t, made.tuned_ns)), "default_per_s",
				       real_or_null(per_second(plan, t, made.default_ns)), "limit_per_s",
				       real_or_null(per_second(plan, t, made.limit_ns)), "problems",
				       cli_json_size(made.problems), "proven", cli_json_size(made.proven), "estimated",
				       cli_json_size(made.estimated)),
			     failed);
	}
	cli_json_set(root, "database", told->db_path[0] ? cli_json_text(told->db_path) : json_null(), failed);
	cli_json_set(root, "device", cli_json_text(told->device->name), failed);
	cli_json_set(root, "device_key", cli_json_text(told->device->key), failed);
	cli_json_set(root, "threads", cli_json_size(told->device->target.threads), failed);
	cli_json_set(root, "modelled", json_boolean(told->is_modelled), failed);
	cli_json_set(root, "plan_only", json_boolean(told->is_plan), failed);
	cli_json_set(root, "interrupted", json_boolean(told->is_interrupted), failed);
	cli_json_set(root, "budget_s", real_or_null(told->budget_s), failed);
	cli_json_set(root, "model", model_json(told, failed), failed);
	cli_json_set(root, "problems", problems, failed);
	cli_json_set(root, "projections", projections, failed);
	return root;
}
